// Instantiates the kernels of shape_lanes.h for one lane type. Compiled several times, with
// HK_LANES and HK_SHAPE_TABLE set by cmake/lanes.cmake.
#include "design/shape_lanes.h"

#include "math/apd.h"
#include "math/polar.h"
#include "term/tet_lanes.h"

// A step of the polar decomposition leaves about the cube of what it turned by, and the next pass
// begins there: 1e-5 while a shape moves, and nothing but rounding where it settles, for turns are
// shorter then.
#define CLOSE_ENOUGH   2e-2
#define MOST_APD_STEPS 24

HK_INLINE quat quat_load(const scalar *from)
{
    quat q = {r_load(from), r_load(from + HK_LANES), r_load(from + 2 * HK_LANES),
              r_load(from + 3 * HK_LANES)};
    return q;
}

HK_INLINE void quat_store(scalar *to, quat q)
{
    r_store(to, q.x);
    r_store(to + HK_LANES, q.y);
    r_store(to + 2 * HK_LANES, q.z);
    r_store(to + 3 * HK_LANES, q.w);
}

// The rotation nearest to F, from the one that is there to the one that is there then.
HK_INLINE mat3 follow(mat3 F, scalar *turn)
{
    int steps;
    quat q = apd_rotation_within(F, quat_load(turn), CLOSE_ENOUGH, MOST_APD_STEPS, &steps);
    quat_store(turn, q);
    return quat_rotation(q);
}

HK_INLINE mat3 gradient_of(const hk_tet_batch *batch, const double *x, int block, mat3 inverse)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    return m3_mul(tet_edges(batch, x, vertex, corners_load(x, vertex)), inverse);
}

HK_INLINE void store_wish(const hk_tet_batch *batch, int block, mat3 inverse, mat3 wish,
                          double *slots)
{
    tet_lanes t = {.inverse = inverse};
    store_forces(batch, block, &t, wish, slots);
}

// 0 where a has no inverse.
HK_INLINE mat3 inverse_or_zero(mat3 a)
{
    mat3 cofactor = m3_cofactor(a);
    real det =
        a.m[0][0] * cofactor.m[0][0] + a.m[0][1] * cofactor.m[0][1] + a.m[0][2] * cofactor.m[0][2];
    return m3_scale(m3_transpose(cofactor), r_reciprocal_or_zero(det));
}

// ---------------------------------------------------------------- as rigid as possible

static double rigid(const hk_tet_batch *batch, const hk_rigid_pass *p, int first, int last,
                    double *slots)
{
    double energy = 0;
    for (int b = first; b < last; b++) {
        mat3 inverse = tet_inverse(batch, b);
        mat3 base = gradient_of(batch, p->base, b, inverse);
        mat3 G = gradient_of(batch, p->x, b, inverse);
        mat3 R = follow(m3_mult(G, base), p->turn + (int64_t)b * 4 * HK_LANES);
        if (p->at != p->x) G = gradient_of(batch, p->at, b, inverse);
        mat3 wish = m3_sub(m3_mul(R, base), G);
        energy += weighted_sum(tet_volume(batch, b), (scalar)0.5 * m3_dot(wish, wish));
        store_wish(batch, b, inverse, wish, slots);
    }
    return energy;
}

// ---------------------------------------------------------------- similar deformations

// The part of a rotation that turns about an axis (its twist; a swing is what is left). None where
// the swing is by 180 degrees.
HK_INLINE mat3 turn_about(quat q, vec3 axis)
{
    vec3 v = {{q.x, q.y, q.z}};
    real along = v3_dot(v, axis), n = along * along + q.w * q.w;
    mask fine = n > (scalar)1e-6;
    real s = r_select(fine, 1 / r_sqrt(r_select(fine, n, r_set(1))), r_zero());
    quat t = {s * along * axis.v[0], s * along * axis.v[1], s * along * axis.v[2],
              r_select(fine, s * q.w, r_set(1))};
    return quat_rotation(t);
}

// What F = Q S of the old pair is to be now that the tet has turned by R. Its strain S goes with
// the material. Its rotation Q is what the load made of the body as a whole: it goes with turns
// about the direction H of the load, under which the problem is the same, and stays in space under
// others: a bar that is twisted about itself still hangs down.
HK_INLINE mat3 carried(const hk_similar_pass *p, mat3 Q, mat3 S, quat turned)
{
    mat3 R = quat_rotation(turned), H = R;
    if (p->upright) H = turn_about(turned, v3_set(p->axis[0], p->axis[1], p->axis[2]));
    mat3 rotation = m3_mult(m3_mul(H, Q), H), strain = m3_mult(m3_mul(R, S), R);
    return m3_mul(rotation, strain);
}

static void similar(const hk_tet_batch *batch, const hk_similar_pass *p, int first, int last,
                    double *slots)
{
    for (int b = first; b < last; b++) {
        scalar *turn = p->turn + (int64_t)b * 8 * HK_LANES;
        mat3 inverse = tet_inverse(batch, b), G = gradient_of(batch, p->from, b, inverse);
        mat3 old = inverse_or_zero(gradient_of(batch, p->old_from, b, inverse));
        mat3 F = m3_mul(gradient_of(batch, p->old_to, b, inverse), old);
        mat3 Q = p->known ? quat_rotation(quat_load(turn)) : follow(F, turn);
        follow(m3_mul(G, old), turn + 4 * HK_LANES);
        mat3 now = carried(p, Q, m3_tmul(Q, F), quat_load(turn + 4 * HK_LANES));
        mat3 wish = m3_sub(m3_mul(now, G), gradient_of(batch, p->to, b, inverse));
        store_wish(batch, b, inverse, wish, slots);
    }
}

// ---------------------------------------------------------------- strain limits

// Whether all eigenvalues of a symmetric matrix are positive.
HK_INLINE mask is_positive(mat3 a)
{
    return (a.m[0][0] > 0) & (a.m[0][0] * a.m[1][1] - a.m[0][1] * a.m[1][0] > 0) & (m3_det(a) > 0);
}

// Whether stretches are within bounds, without finding them.
HK_INLINE mask is_within(mat3 F, real least, real most)
{
    mat3 C = m3_tmul(F, F);
    mat3 above = m3_add_identity(C, -least * least);
    mat3 below = m3_add_identity(m3_scale(C, r_set(-1)), most * most);
    return is_positive(above) & is_positive(below) & (m3_det(F) > 0);
}

HK_INLINE int count_of(mask m, real volume)
{
    real one = r_select(m & (volume > 0), r_set(1), r_zero());
    return (int)r_sum(one);
}

static int limit(const hk_tet_batch *batch, const hk_limit_pass *p, int first, int last,
                 double *slots)
{
    const uint16_t *slot = batch->slot;
    real least = r_set(p->least), most = r_set(p->most);
    int count = 0;
    for (int b = first; b < last; b++) {
        mat3 inverse = tet_inverse(batch, b), G = gradient_of(batch, p->from, b, inverse);
        mat3 F = m3_mul(gradient_of(batch, p->to, b, inverse), inverse_or_zero(G));
        // Where `from` has no volume there is no deformation, and nothing to limit.
        mask out = r_not(is_within(F, least, most)) & (m3_max_abs(F) > 0);
        if (!r_any(out)) {
            vec3 none = {{r_zero(), r_zero(), r_zero()}};
            for (int c = 0; c < 4; c++)
                corners_store(slots, slot + ((int64_t)b * 4 + c) * HK_LANES, none);
            continue;
        }
        count += count_of(out, tet_volume(batch, b));
        svd3 s = svd3_of(m3_select(out, F, m3_identity()));
        vec3 d;
        for (int k = 0; k < 3; k++) d.v[k] = r_min(r_max(s.s.v[k], least), most) - s.s.v[k];
        mat3 wish = m3_mul(m3_mult(m3_scale_columns(s.u, d), s.v), G);
        store_wish(batch, b, inverse, m3_select(out, wish, m3_zero()), slots);
    }
    return count;
}

static void range(const hk_tet_batch *batch, const hk_limit_pass *p, int first, int last,
                  double bounds[2])
{
    for (int b = first; b < last; b++) {
        mat3 inverse = tet_inverse(batch, b), G = gradient_of(batch, p->from, b, inverse);
        mat3 F = m3_mul(gradient_of(batch, p->to, b, inverse), inverse_or_zero(G));
        if (r_all(is_within(F, r_set(bounds[0]), r_set(bounds[1])))) continue;
        svd3 s = svd3_of(F);
        for (int l = 0; l < HK_LANES; l++) {
            bounds[0] = fmin(bounds[0], (double)r_lane(s.s.v[2], l));
            bounds[1] = fmax(bounds[1], (double)r_lane(s.s.v[0], l));
        }
    }
}

extern const hk_shape_table HK_SHAPE_TABLE;
const hk_shape_table HK_SHAPE_TABLE = {
    .name = HK_LANE_NAME,
    .rigid = rigid,
    .similar = similar,
    .limit = limit,
    .range = range,
};
