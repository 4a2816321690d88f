// Instantiates the kernels of corotation_lanes.h for one lane type of floats. Compiled several
// times, with HK_LANES, HK_COROTATION_TABLE and HK_LANE_NAME set by cmake/lanes.cmake.
#include "term/corotation_lanes.h"

#include "math/apd.h"
#include "math/mat3.h"
#include "term/cluster_rotation.h"
#include "term/corner4.h"

// A step of Newton's method leaves about the cube of what it turned by: where all lanes turned by
// less than this (radians), they are as good as single precision can tell in a time step.
#define CLOSE_ENOUGH   0.1f
#define MOST_APD_STEPS 16
// Elements of less than 1/WHOLE of their volume have less and less pressure (trace_pressure).
#define WHOLE 5

HK_INLINE mat3 edges_of(const float *x, const uint16_t *index)
{
    vec3 origin = corner_load(x, index);
    mat3 edges;
#pragma GCC unroll 3
    for (int c = 0; c < 3; c++)
        m3_set_column(&edges, c, v3_sub(corner_load(x, index + (c + 1) * HK_LANES), origin));
    return edges;
}

HK_INLINE mat3 inverse_of(const float *rest)
{
    mat3 inverse;
    for (int k = 0; k < 9; k++) inverse.m[k / 3][k % 3] = r_load(rest + k * HK_LANES);
    return inverse;
}

// R of a block by the analytic polar decomposition from the last one (Split Algorithm 3).
HK_INLINE mat3 rotate(const hk_corotation_patch *p, int block, mat3 F)
{
    float *at = p->quaternion + (int64_t)block * 4 * HK_LANES;
    quat q;
    q.x = r_load(at);
    q.y = r_load(at + HK_LANES);
    q.z = r_load(at + 2 * HK_LANES);
    q.w = r_load(at + 3 * HK_LANES);
    int steps;
    q = apd_rotation_within(F, q, CLOSE_ENOUGH, MOST_APD_STEPS, &steps);
    r_store(at, q.x);
    r_store(at + HK_LANES, q.y);
    r_store(at + 2 * HK_LANES, q.z);
    r_store(at + 3 * HK_LANES, q.w);
    return quat_rotation(q);
}

// Adds P Bᵀ to corners 1..3, and minus their sum to corner 0.
HK_INLINE void add_forces(mat3 P, mat3 inverse, const uint16_t *index, float *sums)
{
    mat3 forces = m3_mult(P, inverse);
    vec3 origin = {{r_zero(), r_zero(), r_zero()}};
#pragma GCC unroll 3
    for (int c = 0; c < 3; c++) {
        vec3 f = m3_column(forces, c);
        origin = v3_sub(origin, f);
        corner_add(sums, index + (c + 1) * HK_LANES, f);
    }
    corner_add(sums, index, origin);
}

// The positions of the patch, and sums that are 0; both have one more place for padding.
HK_INLINE float *take_in(const hk_corotation_patch *p, const float *x, float *workspace)
{
    float *sums = workspace + 4 * (p->vertex_count + 1);
    for (int k = 0; k < p->vertex_count; k++)
        quad_copy(workspace + 4 * k, x + 4 * (int64_t)p->vertex[k]);
    quad_zero(workspace + 4 * p->vertex_count);
    for (int k = 0; k <= p->vertex_count; k++) quad_zero(sums + 4 * k);
    return sums;
}

HK_INLINE void hand_out(const hk_corotation_patch *p, const float *sums, float *result,
                        float *shared)
{
    for (int k = 0; k < p->vertex_count; k++) {
        int64_t to = p->target[k];
        quad_copy(to >= 0 ? result + 4 * to : shared + 4 * (-1 - to), sums + 4 * k);
    }
}

// How far the multiplier of the last step is to be trusted in an element of J times its volume:
// fully up to twice the volume and where it is not inside out, less and less beyond, and not at all
// where the volume is off by three times itself. Bodies in wild disorder would explode otherwise.
HK_INLINE real trust(real J)
{
    return r_max(r_zero(), r_min(r_set(1), 1.5f - 0.5f * r_abs(J - 1)));
}

// C = 6V (J − 1): κ ∂C/∂F = 6V κ cof F, over V.
HK_INLINE mat3 carried_pressure(const hk_corotation_patch *p, int block, mat3 F)
{
    real kappa = r_load(p->multiplier + (int64_t)block * HK_LANES);
    mat3 cofactor = m3_cofactor(F);
    real J =
        F.m[0][0] * cofactor.m[0][0] + F.m[0][1] * cofactor.m[0][1] + F.m[0][2] * cofactor.m[0][2];
    return m3_scale(cofactor, 6 * kappa * trust(J));
}

// −λ tr(RᵀF − I) R. Where (2μ + 3λ)|δF|² is to bound the second derivative of the whole energy (a
// constant matrix does, solver/rotation_correction.c), pressure must be bounded: turning an element
// in the plane of its stretches s_i, s_j has the second derivative
//   (2μ (s_i + s_j − 2) + 2λ tr)/(s_i + s_j),
// which is at most 2μ, however small s_i + s_j is, as long as λ tr ≤ 2μ. That is a tension of 2/3
// of Young's modulus and more, beyond what bodies in order have. Elements that are inside out have
// no pressure: with it they could be in equilibrium.
HK_INLINE mat3 trace_pressure(const hk_corotation_patch *p, mat3 F, mat3 R)
{
    real trace = m3_dot(R, F) - 3, most = r_set(2 * (double)p->mu);
    real pressure = r_min(r_set((double)p->lambda) * trace, most);
    real inside = r_max(r_zero(), r_min(r_set(1), WHOLE * m3_det(F)));
    return m3_scale(R, -pressure * inside);
}

static void stretch(const hk_corotation_patch *p, hk_pressure pressure, const float *x,
                    float *workspace, float *result, float *shared)
{
    float *sums = take_in(p, x, workspace);
    real stiffness = r_set((double)(2 * p->mu));
    for (int b = 0; b < p->blocks; b++) {
        const uint16_t *index = p->index + (int64_t)b * 4 * HK_LANES;
        const float *rest = p->rest + (int64_t)b * 10 * HK_LANES;
        mat3 inverse = inverse_of(rest), F = m3_mul(edges_of(workspace, index), inverse);
        real volume = r_load(rest + 9 * HK_LANES);
        mat3 R = rotate(p, b, F), P = m3_scale(m3_sub(R, F), stiffness);
        if (pressure == HK_PRESSURE_CARRIED)
            P = m3_add(P, carried_pressure(p, b, F));
        else if (pressure == HK_PRESSURE_TRACE)
            P = m3_add(P, trace_pressure(p, F, R));
        add_forces(m3_scale(P, volume), inverse, index, sums);
    }
    hand_out(p, sums, result, shared);
}

static void rotate_only(const hk_corotation_patch *p, const float *x, float *workspace)
{
    take_in(p, x, workspace);
    for (int b = 0; b < p->blocks; b++) {
        const uint16_t *index = p->index + (int64_t)b * 4 * HK_LANES;
        mat3 inverse = inverse_of(p->rest + (int64_t)b * 10 * HK_LANES);
        rotate(p, b, m3_mul(edges_of(workspace, index), inverse));
    }
}

// ψ and P = ∂ψ/∂F of the whole energy.
HK_INLINE real energy_stress(const hk_corotation_patch *p, mat3 F, mat3 R, mat3 *P)
{
    real lambda = r_set((double)p->lambda), mu = r_set((double)p->mu);
    mat3 off = m3_sub(F, R);
    *P = m3_scale(off, 2 * mu);
    real psi = mu * m3_dot(off, off);
    if (p->law == HK_VOLUME_TRACE) {
        real trace = m3_dot(R, off);  // tr(Rᵀ(F − R)) = tr(RᵀF − I)
        *P = m3_add_scaled(*P, lambda * trace, R);
        psi += 0.5f * lambda * trace * trace;
    } else if (p->law == HK_VOLUME_J) {
        mat3 cofactor = m3_cofactor(F);
        real change = F.m[0][0] * cofactor.m[0][0] + F.m[0][1] * cofactor.m[0][1] +
                      F.m[0][2] * cofactor.m[0][2] - 1;
        *P = m3_add_scaled(*P, lambda * change, cofactor);
        psi += 0.5f * lambda * change * change;
    }
    return psi;
}

static double gradient(const hk_corotation_patch *p, const float *x, float *workspace,
                       float *result, float *shared)
{
    float *sums = take_in(p, x, workspace);
    double energy = 0;
    for (int b = 0; b < p->blocks; b++) {
        const uint16_t *index = p->index + (int64_t)b * 4 * HK_LANES;
        const float *rest = p->rest + (int64_t)b * 10 * HK_LANES;
        mat3 inverse = inverse_of(rest), F = m3_mul(edges_of(workspace, index), inverse), P;
        mat3 R = rotate(p, b, F);
        real volume = r_load(rest + 9 * HK_LANES), psi = energy_stress(p, F, R, &P);
        energy += r_sum(volume * psi);
        add_forces(m3_scale(P, volume), inverse, index, sums);
    }
    hand_out(p, sums, result, shared);
    return energy;
}

// ---------------------------------------------------------------- volume

// The compliant constraint C = 6 (volume − rest volume) of Split eq. 14, 15 with the energy of
// eq. 13, λ/2 V (J − 1)² = C²/2α, hence α = 6 (6V)/λ:
//   Δκ = −(C + α κ)/(Σ w ‖∇C‖² + α),   x += w ∇C Δκ
// (the signs of XPBD), where w is the inverse of a vertex's inertia, h²/m. C is signed: a tet that
// is inside out is pushed back through the plane.
static void volume(const hk_corotation_patch *p, int reset, float *x, float *workspace)
{
    for (int k = 0; k < p->vertex_count; k++)
        quad_copy(workspace + 4 * k, x + 4 * (int64_t)p->vertex[k]);
    quad_zero(workspace + 4 * p->vertex_count);
    const real softness = r_set(6 / (double)p->lambda);
    for (int g = 0; g < p->groups; g++) {
        const uint16_t *index = p->group_index + (int64_t)g * 4 * HK_LANES;
        const uint16_t *tet = p->group_tet + (int64_t)g * HK_LANES;
        real rest = r_load(p->group_volume + (int64_t)g * HK_LANES), alpha = softness * rest;
        corner4 at[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) at[c] = corner4_load(workspace, index + c * HK_LANES);
        vec3 e1 = v3_sub(at[1].x, at[0].x), e2 = v3_sub(at[2].x, at[0].x);
        vec3 e3 = v3_sub(at[3].x, at[0].x), slope[4];
        slope[1] = v3_cross(e2, e3);
        slope[2] = v3_cross(e3, e1);
        slope[3] = v3_cross(e1, e2);
        slope[0] = v3_scale(v3_add(slope[1], v3_add(slope[2], slope[3])), r_set(-1));
        real now = v3_dot(e1, slope[1]), below = alpha;
        real kappa = reset ? r_zero() : numbers_load(p->multiplier, tet);
        kappa = kappa * trust(now * r_reciprocal_or_zero(rest));
        real wrong = now - rest + alpha * kappa;
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) below += at[c].w * v3_dot(slope[c], slope[c]);
        real change = -wrong * r_reciprocal_or_zero(below);
        numbers_store(p->multiplier, tet, kappa + change);
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
            at[c].x = v3_add(at[c].x, v3_scale(slope[c], at[c].w * change));
            corner4_store(workspace, index + c * HK_LANES, at[c]);
        }
    }
    for (int k = 0; k < p->vertex_count; k++)
        quad_copy(x + 4 * (int64_t)p->vertex[k], workspace + 4 * k);
}

// ---------------------------------------------------------------- clusters

static void rotations(const float *matrix, int stride, float *rotation)
{
    mat3 F;
    for (int k = 0; k < 9; k++) F.m[k / 3][k % 3] = r_load(matrix + (int64_t)k * stride);
    mat3 R = cluster_rotation(F);
    for (int k = 0; k < 9; k++) r_store(rotation + (int64_t)k * stride, R.m[k / 3][k % 3]);
}

extern const hk_corotation_table HK_COROTATION_TABLE;
const hk_corotation_table HK_COROTATION_TABLE = {
    .name = HK_LANE_NAME,
    .lanes = HK_LANES,
    .stretch = stretch,
    .rotate = rotate_only,
    .gradient = gradient,
    .volume = volume,
    .rotations = rotations,
};
