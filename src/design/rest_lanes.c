// Instantiates the kernels of the inverse problem for one lane type. Compiled several times, with
// HK_LANES and HK_REST_TABLE set by cmake/lanes.cmake.
#include "design/rest_lanes.h"

#include "material/laws.h"
#include "math/polar.h"
#include "term/tet_lanes.h"

// One block of tets between the loaded shape and the rest shape.
typedef struct rest_lanes {
    tet_lanes x;  // of the loaded shape: its F and H are F̂ and F̂ − 1
    mat3 F, H;    // F = F̂⁻¹, H = F − 1
    mat3 G;       // rows: the shape gradients of corners 1, 2, 3 in the rest shape
    real det;     // det F̂ = 1/J
} rest_lanes;

HK_INLINE rest_lanes rest_load(const hk_tet_batch *batch, const double *X, int block)
{
    rest_lanes t;
    t.x = tet_load(batch, X, block);
    mat3 cofactor = m3_cofactor(t.x.F);
    t.det = t.x.F.m[0][0] * cofactor.m[0][0] + t.x.F.m[0][1] * cofactor.m[0][1] +
            t.x.F.m[0][2] * cofactor.m[0][2];
    t.F = m3_scale(m3_transpose(cofactor), 1 / t.det);
    t.H = m3_scale(m3_mul(t.F, t.x.H), r_set(-1));  // F − 1 = −F (F̂ − 1), without cancellation
    t.G = m3_mul(t.x.inverse, t.F);
    return t;
}

HK_INLINE double least_of(real least)
{
    double result = INFINITY;
    for (int l = 0; l < HK_LANES; l++) {
        double j = r_lane(least, l);
        if (!(j >= result)) result = j;
    }
    return result;
}

// −v σ ∇N of corners 1..3 as columns: with J⁻¹ = det F̂ and Fᵀ ∇N = G that is −V P G.
HK_INLINE mat3 elastic_forces(const hk_tet_batch *batch, int block, const rest_lanes *t, mat3 P)
{
    return m3_mult(m3_scale(P, -tet_volume(batch, block) * t->det), t->G);
}

HK_INLINE void store_corners(const hk_tet_batch *batch, int block, mat3 forces, vec3 every,
                             double *slots)
{
    const uint16_t *slot = batch->slot + (int64_t)block * 4 * HK_LANES;
    vec3 origin = every;
    for (int c = 0; c < 3; c++) {
        vec3 f = m3_column(forces, c);
        origin = v3_sub(origin, f);
        corners_store(slots, slot + (c + 1) * HK_LANES, v3_add(every, f));
    }
    corners_store(slots, slot, origin);
}

HK_INLINE void store_rest_forces(const hk_tet_batch *batch, int block, const rest_lanes *t, mat3 P,
                                 const double weight[3], double *slots)
{
    real V = tet_volume(batch, block) * t->det;
    vec3 w = v3_scale(v3_set(weight[0], weight[1], weight[2]), V);
    store_corners(batch, block, elastic_forces(batch, block, t, P), w, slots);
}

// From the six stiffness blocks of corners 1..3 without volume.
HK_SHARED void store_jacobian(const hk_tet_batch *batch, int block, const rest_lanes *t,
                              const mat3 *P, const mat3 inner[6], int components, double *values)
{
    static const int number[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    real V = tet_volume(batch, block) * t->det;
    real stress = components & HK_OF_STRESS ? V : r_zero();
    real normals = r_set(components & HK_OF_NORMALS ? 1 : 0);
    real weight = components & HK_OF_WEIGHT ? V : r_zero();
    mat3 f = m3_scale(elastic_forces(batch, block, t, *P), normals);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            mat3 h = a <= b ? inner[number[a][b]] : m3_transpose(inner[number[a][b]]);
            mat3 j = m3_scale(m3_mul(h, t->F), stress);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) {
                    real n = f.m[i][a] * t->G.m[b][k] - f.m[i][b] * t->G.m[a][k];
                    r_store(values + (9 * (3 * a + b) + 3 * i + k) * HK_LANES, j.m[i][k] + n);
                }
        }
    for (int k = 0; k < 9; k++)
        r_store(values + (HK_REST_ELASTIC + k) * HK_LANES, weight * t->G.m[k / 3][k % 3]);
}

#define HK_EACH_LAW "design/rest_kernels.inl"
#include "material/each_law.h"

// The edges of corners 1, 2, 3 from corner 0, as columns.
HK_INLINE mat3 edges_of(const hk_tet_batch *batch, const double *x, int block)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    return tet_edges(batch, x, vertex, corners_load(x, vertex));
}

static void product(const hk_tet_batch *batch, const double *values, const double *displacement,
                    int first, int last, const double weight[3], double *slots)
{
    vec3 w = v3_set(weight[0], weight[1], weight[2]);
    for (int b = first; b < last; b++) {
        const double *j = values + (int64_t)(b - first) * HK_REST_JACOBIAN * HK_LANES;
        mat3 d = edges_of(batch, displacement, b), forces = m3_zero();
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++)
                    for (int k = 0; k < 3; k++)
                        forces.m[i][a] +=
                            r_load(j + (9 * (3 * a + c) + 3 * i + k) * HK_LANES) * d.m[k][c];
        real growth = r_zero();
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                growth += r_load(j + (HK_REST_ELASTIC + 3 * c + k) * HK_LANES) * d.m[k][c];
        store_corners(batch, b, forces, v3_scale(w, growth), slots);
    }
}

static void carry(const hk_tet_batch *batch, const double *X, const double *vector, int first,
                  int last, double *slots)
{
    for (int b = first; b < last; b++) {
        const int32_t *vertex = batch->vertex + (int64_t)b * 4 * HK_LANES;
        const uint16_t *slot = batch->slot + (int64_t)b * 4 * HK_LANES;
        mat3 F = m3_scale(tet_load(batch, X, b).F, tet_volume(batch, b));
        for (int c = 0; c < 4; c++)
            corners_store(slots, slot + c * HK_LANES,
                          m3_apply(F, corners_load(vector, vertex + c * HK_LANES)));
    }
}

// v A ∇N of every corner, for the gradients in the rows of `gradients`.
HK_INLINE void store_divergence(const hk_tet_batch *batch, int block, mat3 A, mat3 gradients,
                                double *slots)
{
    vec3 none = {{r_zero(), r_zero(), r_zero()}};
    store_corners(batch, block, m3_mult(m3_scale(A, tet_volume(batch, block)), gradients), none,
                  slots);
}

// How e^A − 1 is found: by a series of so many terms for A/2^squarings.
typedef struct series {
    int terms, squarings;
} series;

// As much as double precision needs for matrices with entries up to `largest`, whose norm is at
// most three times that: ‖A‖ⁿ/(n + 1)! of the series is left. Most steps are short.
static series choose_series(double largest)
{
    static const struct {
        double most;
        series s;
    } choices[] = {{3e-6, {2, 0}}, {1e-4, {3, 0}}, {3e-3, {5, 0}}, {3e-2, {8, 0}}, {0.25, {9, 2}}};
    for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++)
        if (largest <= choices[k].most) return choices[k].s;
    return (series){9, 4};
}

HK_SHARED void exponential_less_one(const mat3 *A, series s, mat3 *result)
{
    mat3 a = m3_scale(*A, r_set(1.0 / (1 << s.squarings)));
    mat3 e = m3_scale(a, r_set(1.0 / s.terms));
    for (int n = s.terms - 1; n >= 1; n--)  // a (1 + a/2 (1 + a/3 (…)))
        e = m3_scale(m3_add(a, m3_mul(a, e)), r_set(1.0 / n));
    for (int k = 0; k < s.squarings; k++) e = m3_add(m3_scale(e, r_set(2)), m3_mul(e, e));
    *result = e;
}

HK_INLINE double largest_of(real v)
{
    double result = 0;
    for (int l = 0; l < HK_LANES; l++) result = fmax(result, r_lane(v, l));
    return result;
}

static double bend(const hk_tet_batch *batch, const double *X, const double *step, double length,
                   int first, int last, double *slots)
{
    real largest = r_zero();
    for (int b = first; b < last; b++) {
        rest_lanes t = rest_load(batch, X, b);
        mat3 change = m3_scale(m3_mul(edges_of(batch, step, b), t.x.inverse), r_set(length));
        mat3 A = m3_mul(change, t.F), S = m3_symmetric(A), W = m3_add_scaled(A, r_set(-1), S), s, w;
        real most = m3_max_abs(A);
        largest = r_max(most, largest);
        series how = choose_series(largest_of(most));
        exponential_less_one(&S, how, &s);
        exponential_less_one(&W, how, &w);
        mat3 more = m3_add(m3_add(s, w), m3_mul(w, s));  // e^W e^S − 1
        mat3 rest = m3_add_scaled(m3_mul(more, t.x.F), r_set(-1), change);
        store_divergence(batch, b, rest, t.x.inverse, slots);
    }
    return largest_of(largest);
}

// ---------------------------------------------------------------- from one loaded shape to another

HK_INLINE mat3 load_matrix(const double *values)
{
    mat3 a;
    for (int k = 0; k < 9; k++) a.m[k / 3][k % 3] = r_load(values + k * HK_LANES);
    return a;
}

HK_INLINE const double *turn_of(const double *values, int block, int first)
{
    return values + (int64_t)(block - first) * HK_REST_TURN * HK_LANES;
}

static void turn(const hk_tet_batch *batch, const double *x0, const double *x, int first, int last,
                 double *values)
{
    for (int b = first; b < last; b++) {
        double *to = values + (int64_t)(b - first) * HK_REST_TURN * HK_LANES;
        mat3 inverse = m3_inverse(edges_of(batch, x0, b));
        mat3 R = polar_rotation(m3_mul(edges_of(batch, x, b), inverse));
        mat3 gradients = m3_mult(inverse, R);
        for (int k = 0; k < 9; k++) {
            r_store(to + k * HK_LANES, R.m[k / 3][k % 3]);
            r_store(to + (9 + k) * HK_LANES, gradients.m[k / 3][k % 3]);
        }
    }
}

// The vector of the skew part of A: A = symmetric + skew(w).
HK_INLINE vec3 axial(mat3 A)
{
    vec3 w;
    for (int i = 0; i < 3; i++)
        w.v[i] = r_set(0.5) * (A.m[(i + 2) % 3][(i + 1) % 3] - A.m[(i + 1) % 3][(i + 2) % 3]);
    return w;
}

HK_INLINE void store_every(const hk_tet_batch *batch, int block, vec3 w, double *slots)
{
    const uint16_t *slot = batch->slot + (int64_t)block * 4 * HK_LANES;
    for (int c = 0; c < 4; c++) corners_store(slots, slot + c * HK_LANES, w);
}

HK_INLINE vec3 corner_sum(const hk_tet_batch *batch, const double *vector, int block)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    vec3 sum = corners_load(vector, vertex);
    for (int c = 1; c < 4; c++) sum = v3_add(sum, corners_load(vector, vertex + c * HK_LANES));
    return sum;
}

static void spin(const hk_tet_batch *batch, const double *values, const double *vector, int first,
                 int last, double *slots)
{
    for (int b = first; b < last; b++) {
        const int32_t *vertex = batch->vertex + (int64_t)b * 4 * HK_LANES;
        const uint16_t *slot = batch->slot + (int64_t)b * 4 * HK_LANES;
        mat3 R = m3_scale(load_matrix(turn_of(values, b, first)), tet_volume(batch, b));
        for (int c = 0; c < 4; c++)
            corners_store(slots, slot + c * HK_LANES,
                          m3_apply(R, corners_load(vector, vertex + c * HK_LANES)));
    }
}

// R ∇₀u Rᵀ
HK_INLINE mat3 turned_gradient(const hk_tet_batch *batch, int block, const double *values,
                               const double *u)
{
    mat3 turned = m3_mul(load_matrix(values), edges_of(batch, u, block));
    return m3_mul(turned, load_matrix(values + 9 * HK_LANES));
}

static void whirl(const hk_tet_batch *batch, const double *values, const double *u, int first,
                  int last, double *slots)
{
    for (int b = first; b < last; b++) {
        const double *v = turn_of(values, b, first);
        vec3 turned = axial(turned_gradient(batch, b, v, u));  // R w, for R is a rotation
        store_every(batch, b, v3_scale(m3_tapply(load_matrix(v), turned), tet_volume(batch, b)),
                    slots);
    }
}

static void twist(const hk_tet_batch *batch, const double *u, int first, int last, double *slots)
{
    for (int b = first; b < last; b++) {
        vec3 w = axial(m3_mul(edges_of(batch, u, b), tet_inverse(batch, b)));
        store_every(batch, b, v3_scale(w, r_set(0.5) * tet_volume(batch, b)), slots);
    }
}

static void warp(const hk_tet_batch *batch, const double *values, const double *u,
                 const double *whirl0, const double *whirl1, int first, int last, double *slots)
{
    for (int b = first; b < last; b++) {
        const double *v = turn_of(values, b, first);
        mat3 A = turned_gradient(batch, b, v, u);
        if (whirl0) {
            vec3 old = m3_apply(load_matrix(v), corner_sum(batch, whirl0, b));
            vec3 more = v3_sub(corner_sum(batch, whirl1, b), old);
            A = m3_add(A, m3_skew(v3_scale(more, r_set(0.25))));
        }
        store_divergence(batch, b, A, tet_inverse(batch, b), slots);
    }
}

static void unwarp(const hk_tet_batch *batch, const double *values, const double *u,
                   const double *twisted, const double *whirl0, int first, int last, double *slots)
{
    for (int b = first; b < last; b++) {
        const double *v = turn_of(values, b, first);
        mat3 R = load_matrix(v), inverse = tet_inverse(batch, b);
        mat3 A = m3_mul(edges_of(batch, u, b), inverse);
        vec3 every = {{r_zero(), r_zero(), r_zero()}};
        real volume = tet_volume(batch, b);
        if (twisted) {
            vec3 w = axial(m3_mul(edges_of(batch, twisted, b), inverse));
            every = v3_scale(m3_tapply(R, w), r_set(-0.5) * volume);
        }
        if (whirl0) {
            vec3 half = v3_scale(corner_sum(batch, whirl0, b), r_set(0.5));
            A = m3_add(A, m3_skew(m3_apply(R, half)));
        }
        mat3 back = m3_scale(m3_tmul(R, A), volume);
        store_corners(batch, b, m3_mult(back, load_matrix(v + 9 * HK_LANES)), every, slots);
    }
}

static void follow(const hk_tet_batch *batch, const double *x0, const double *X0, int first,
                   int last, double *slots)
{
    for (int b = first; b < last; b++) {
        mat3 F = m3_mul(edges_of(batch, X0, b), m3_inverse(edges_of(batch, x0, b)));
        store_divergence(batch, b, m3_displacement(F), tet_inverse(batch, b), slots);
    }
}

#define TABLE_ENTRY(X) [HK_LAW_##X] = {X##_rest_force, X##_rest_jacobian},

extern const hk_rest_table HK_REST_TABLE;
const hk_rest_table HK_REST_TABLE = {
    .name = HK_LANE_NAME,
    .law = {HK_LAWS(TABLE_ENTRY)},
    .product = product,
    .carry = carry,
    .bend = bend,
    .turn = turn,
    .spin = spin,
    .whirl = whirl,
    .twist = twist,
    .warp = warp,
    .unwarp = unwarp,
    .follow = follow,
};
