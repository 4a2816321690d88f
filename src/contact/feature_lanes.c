// The kernels of feature_lanes.h; compiled once per instruction set, with HK_LANES and
// HK_FEATURE_TABLE set by cmake/lanes.cmake.
#include "contact/feature_lanes.h"

#include "contact/quick.h"
#include "math/mat3.h"

// As in quick.h: sines, squared, of what is not nearly parallel.
#define NOT_PARALLEL 1e-6
// What rounding may have taken from squares.
#define SLACK    (1 + 1e-9)
#define ROUNDING 1e-14
// Distances, squared and relative to what is near each other, below which rounding turns them so
// much that their direction is looked for elsewhere (slab.h).
#define SMALLEST 1e-10

// Whether a point at d from a line along e is farther than the root of `most` from it: then it is
// from every part of it.
static inline mask is_far(real dd, real de, real ee, real most)
{
    return dd * ee - de * de > (most + r_set(ROUNDING) * (dd + ee)) * ee;
}

// The same of the part of it from 0 to e.
static inline mask is_far_from_edge(real dd, real de, real ee, real most)
{
    real allowed = most + r_set(ROUNDING) * (dd + ee);
    mask before = de <= r_zero(), behind = de >= ee;
    mask ends = (before & (dd > allowed)) | (behind & (dd - r_set(2) * de + ee > allowed));
    return ends | (r_not(before | behind) & (dd * ee - de * de > allowed * ee));
}

// Weights of the closest points of a vertex and a triangle (quick_vertex_triangle); w between them.
// `far`: which are farther apart than the root of `most`.
static inline mask vertex_triangle(const vec3 x[4], real most, real c[4], vec3 *w, mask *far)
{
    vec3 e = v3_sub(x[2], x[1]), f = v3_sub(x[3], x[1]), a = v3_sub(x[0], x[1]);
    real ee = v3_dot(e, e), ff = v3_dot(f, f), ef = v3_dot(e, f), aa = v3_dot(a, a);
    real d1 = v3_dot(e, a), d2 = v3_dot(f, a), two = r_set(2), zero = r_zero(), one = r_set(1);
    real area = ee * ff - ef * ef, vb = ff * d1 - ef * d2, vc = ee * d2 - ef * d1;
    real va = area - vb - vc;
    mask wide = area > r_set(NOT_PARALLEL) * ee * ff;
    mask inside = (va > zero) & (vb > zero) & (vc > zero), plain = wide & inside;
    real third[3] = {aa - two * d1 + ee, d2 - d1 - ef + ee, ff - two * ef + ee};
    plain &= is_far(aa, d1, ee, most) & is_far(aa, d2, ff, most) &
             is_far(third[0], third[1], third[2], most);
    *far = wide & r_not(inside) & is_far_from_edge(aa, d1, ee, most) &
           is_far_from_edge(aa, d2, ff, most) &
           is_far_from_edge(third[0], third[1], third[2], most);
    real inverse = one / r_select(area > zero, area, one);
    c[0] = one;
    c[2] = -vb * inverse;
    c[3] = -vc * inverse;
    c[1] = -(one + c[2] + c[3]);
    *w = v3_add(a, v3_add(v3_scale(e, c[2]), v3_scale(f, c[3])));
    return plain & (v3_dot(*w, *w) > r_set(SMALLEST) * (ee + ff));
}

// Of two edges (quick_edge_edge).
static inline mask edge_edge(const vec3 x[4], real most, real parallel, real c[4], vec3 *w,
                             mask *far)
{
    vec3 a = v3_sub(x[1], x[0]), b = v3_sub(x[3], x[2]), d = v3_sub(x[0], x[2]);
    real aa = v3_dot(a, a), bb = v3_dot(b, b), ab = v3_dot(a, b), dd = v3_dot(d, d);
    real ad = v3_dot(a, d), bd = v3_dot(b, d), sine = aa * bb - ab * ab;
    real zero = r_zero(), one = r_set(1), two = r_set(2);
    mask crossing = sine > r_set(NOT_PARALLEL) * aa * bb;
    mask plain = crossing & (sine > r_set(SLACK) * parallel);
    real s = (ab * bd - bb * ad) / r_select(sine > zero, sine, one);
    real t = (ab * s + bd) / r_select(bb > zero, bb, one);
    mask inside = (s > zero) & (s < one) & (t > zero) & (t < one);
    real second = dd + two * ad + aa, fourth = dd - two * bd + bb;
    plain &= inside;
    plain &= is_far(dd, bd, bb, most) & is_far(second, bd + ab, bb, most) &
             is_far(dd, -ad, aa, most) & is_far(fourth, ab - ad, aa, most);
    *far = crossing & r_not(inside) & is_far_from_edge(dd, bd, bb, most) &
           is_far_from_edge(second, bd + ab, bb, most) & is_far_from_edge(dd, -ad, aa, most) &
           is_far_from_edge(fourth, ab - ad, aa, most);
    c[0] = one - s;
    c[1] = s;
    c[2] = t - one;
    c[3] = -t;
    *w = v3_add(d, v3_sub(v3_scale(a, s), v3_scale(b, t)));
    return plain & (v3_dot(*w, *w) > r_set(SMALLEST) * (aa + bb));
}

#if defined(HK_AVX) || defined(HK_AVX512)
// Four corners at x, `stride` numbers a point, of which one beyond the last three may be read:
// transposed in registers.
static inline void four_corners(const double *x, int stride, const int32_t *index, __m256d to[3])
{
    __m256d a = _mm256_loadu_pd(x + stride * (int64_t)index[0]);
    __m256d b = _mm256_loadu_pd(x + stride * (int64_t)index[1]);
    __m256d c = _mm256_loadu_pd(x + stride * (int64_t)index[2]);
    __m256d d = _mm256_loadu_pd(x + stride * (int64_t)index[3]);
    __m256d ab = _mm256_unpacklo_pd(a, b), cd = _mm256_unpacklo_pd(c, d);
    to[0] = _mm256_permute2f128_pd(ab, cd, 0x20);
    to[1] = _mm256_permute2f128_pd(_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d), 0x20);
    to[2] = _mm256_permute2f128_pd(ab, cd, 0x31);
}
#endif

static inline vec3 load_corner(const double *x, int stride, const int32_t *index)
{
    vec3 r;
#if defined(HK_AVX512)
    __m256d low[3], high[3];
    four_corners(x, stride, index, low);
    four_corners(x, stride, index + 4, high);
    for (int i = 0; i < 3; i++)
        r.v[i] = (real)_mm512_insertf64x4(_mm512_castpd256_pd512(low[i]), high[i], 1);
#elif defined(HK_AVX)
    __m256d all[3];
    four_corners(x, stride, index, all);
    for (int i = 0; i < 3; i++) r.v[i] = (real)all[i];
#else
    for (int i = 0; i < 3; i++)
        for (int l = 0; l < HK_LANES; l++)
            r_set_lane(&r.v[i], l, x[stride * (int64_t)index[l] + i]);
#endif
    return r;
}

static inline unsigned bits_of(mask lanes, int first)
{
    unsigned bits = 0;
    for (int l = 0; l < HK_LANES; l++) bits |= (lanes[l] != 0 ? 1u : 0u) << (first + l);
    return bits;
}

static inline unsigned find_lanes(const hk_feature_block *k, const double *place,
                                  const double *away, int first, hk_features *to)
{
    vec3 x[4], w, sum = v3_set(0, 0, 0);
    real c[4], reach = r_load(k->reach + first), most = reach * reach * r_set(SLACK);
    for (int v = 0; v < 4; v++) x[v] = load_corner(place, 4, k->point[v] + first);
    mask far, plain = k->kind == HK_VERTEX_TRIANGLE
                          ? vertex_triangle(x, most, c, &w, &far)
                          : edge_edge(x, most, r_load(k->parallel + first), c, &w, &far);
    to->far |= bits_of(far, first);
    real distance = r_sqrt(v3_dot(w, w));
    if (!r_any(plain)) return 0;
    vec3 normal = v3_scale(w, r_set(1) / r_select(plain, distance, r_set(1)));
    for (int v = 0; v < 4; v++)
        sum = v3_add(sum, v3_scale(load_corner(away, 4, k->point[v] + first), c[v]));
    for (int v = 0; v < 4; v++) r_store(to->c[v] + first, c[v]);
    for (int i = 0; i < 3; i++) r_store(to->normal[i] + first, normal.v[i]);
    r_store(to->distance + first, distance);
    r_store(to->reduced + first, distance - v3_dot(normal, sum));
    return bits_of(plain, first);
}

static unsigned find(const hk_feature_block *k, const double *x, const double *away,
                     hk_features *to)
{
    unsigned plain = 0;
    to->far = 0;
    if (k->kind == HK_VERTEX_PLANE) return 0;
    for (int first = 0; first < k->count; first += HK_LANES)
        plain |= find_lanes(k, x, away, first, to);
    return plain;
}

// ---------------------------------------------------------------- without a centre

// b, b′ and b″ at the gaps, which are finite and, of barriers, open.
typedef struct values {
    real energy, slope, curvature;
} values;

// Lane by lane: most are parabolas, and logarithms are those of single contacts.
static inline values values_of(hk_contact_law law, const double *width, real gap)
{
    double b[3][HK_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < HK_LANES; l++) {
        hk_contact_value at = contact_value(law, width[l], (double)r_lane(gap, l));
        b[0][l] = at.energy;
        b[1][l] = at.slope;
        b[2][l] = at.curvature;
    }
    return (values){r_load(b[0]), r_load(b[1]), r_load(b[2])};
}

// Contacts that are plain, and what they are like.
typedef struct found {
    vec3 x[4], normal;
    real c[4], distance, gap;
    mask plain;
} found;

static inline bool find_plain(const hk_feature_block *k, hk_contact_law law, const double *x,
                              int first, found *to)
{
    real reach = r_load(k->reach + first), most = reach * reach * r_set(SLACK), one = r_set(1);
    mask far;
    vec3 w;
    for (int v = 0; v < 4; v++) to->x[v] = load_corner(x, 3, k->point[v] + first);
    to->plain = k->kind == HK_VERTEX_TRIANGLE
                    ? vertex_triangle(to->x, most, to->c, &w, &far)
                    : edge_edge(to->x, most, r_load(k->parallel + first), to->c, &w, &far);
    real distance = r_sqrt(v3_dot(w, w));
    real gap = distance - r_load(k->thickness + first);
    if (law != HK_CONTACT_PENALTY) to->plain &= gap > r_zero();
    if (!r_any(to->plain)) return false;
    to->distance = r_select(to->plain, distance, one);
    to->gap = r_select(to->plain, gap, r_load(k->width + first));
    to->normal = v3_scale(w, one / to->distance);
    return true;
}

static unsigned evaluate(const hk_feature_block *k, hk_contact_law law, const double *x,
                         hk_feature_forces *to)
{
    unsigned plain = 0;
    if (k->kind == HK_VERTEX_PLANE) return 0;
    for (int first = 0; first < k->count; first += HK_LANES) {
        found f;
        if (!find_plain(k, law, x, first, &f)) continue;
        values b = values_of(law, k->width + first, f.gap);
        real stiffness = r_load(k->stiffness + first);
        r_store(to->gap + first, f.gap);
        r_store(to->energy + first, stiffness * b.energy);
        vec3 force = v3_scale(f.normal, stiffness * b.slope);
        for (int i = 0; i < 12; i++) r_store(to->gradient[i] + first, f.c[i / 3] * force.v[i % 3]);
        plain |= bits_of(f.plain, first);
    }
    return plain;
}

// a_k of closest.h over the corners, [4]; w_k in `along`.
static inline void turns_of(const found *f, const signed char turn[4], vec3 along, vec3 to[4])
{
    vec3 w = v3_scale(f->normal, f->distance);
    for (int u = 0; u < 4; u++)
        to[u] = v3_add(v3_scale(w, r_set(turn[u])), v3_scale(along, f->c[u]));
}

// The part of ∇²φ that is due to the closest points: Σ (G⁻¹)_kl a_k a_lᵀ as the squares of two
// vectors, a₀ − G₀₁/G₁₁ a₁ and a₁ (closest_add_hessian), with their factors.
static inline void turning_of(const hk_feature_block *k, const found *f, vec3 square[2][4],
                              real factor[2])
{
    static const signed char triangle[2][4] = {{0, 1, -1, 0}, {0, 1, 0, -1}};
    static const signed char edges[2][4] = {{-1, 1, 0, 0}, {0, 0, 1, -1}};
    bool by_edges = k->kind == HK_EDGE_EDGE;
    vec3 along[2] = {v3_sub(f->x[1], f->x[by_edges ? 0 : 2]),
                     v3_sub(f->x[by_edges ? 2 : 1], f->x[3])};
    real a = v3_dot(along[0], along[0]), b = v3_dot(along[0], along[1]);
    real c = v3_dot(along[1], along[1]), one = r_set(1);
    c = r_select(f->plain, c, one);
    real det = r_select(f->plain, a * c - b * b, one), t = -b / c;
    turns_of(f, by_edges ? edges[0] : triangle[0], along[0], square[0]);
    turns_of(f, by_edges ? edges[1] : triangle[1], along[1], square[1]);
    for (int u = 0; u < 4; u++) square[0][u] = v3_add(square[0][u], v3_scale(square[1][u], t));
    factor[0] = c / det;
    factor[1] = one / c;
}

// c_u c_v (along n nᵀ + all) + weight_u weight_v slide, of corners u and v.
static inline void factored_block(const found *f, real along, real all,
                                  const hk_feature_stiffness *s, int first, const int corner[2],
                                  real block[9])
{
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    real both = f->c[corner[0]] * f->c[corner[1]];
    real slides = r_load(s->weight[corner[0]] + first) * r_load(s->weight[corner[1]] + first);
    for (int i = 0; i < 9; i++) {
        real sum = both * along * f->normal.v[i / 3] * f->normal.v[i % 3];
        if (i % 4 == 0) sum += both * all;
        block[i] = sum + slides * r_load(s->slide[symmetric[i]] + first);
    }
}

static inline void stiffen_lanes(const hk_feature_block *k, const found *f, const values *b,
                                 double keep, int first, hk_feature_stiffness *to)
{
    real stiffness = r_load(k->stiffness + first);
    real bend = r_set(keep) * stiffness * b->slope / f->distance, factor[2];
    vec3 square[2][4];
    if (keep != 0) turning_of(k, f, square, factor);
    for (int u = 0, pair = 0; u < 4; u++)
        for (int v = u; v < 4; v++, pair++) {
            real block[9];
            factored_block(f, stiffness * b->curvature - bend, bend, to, first, (int[2]){u, v},
                           block);
            for (int n = 0; n < 2 && keep != 0; n++)
                for (int i = 0; i < 9; i++)
                    block[i] -= bend * factor[n] * square[n][u].v[i / 3] * square[n][v].v[i % 3];
            for (int i = 0; i < 9; i++) r_store(to->value[pair][i] + first, block[i]);
        }
}

static unsigned stiffen(const hk_feature_block *k, hk_contact_law law, double keep, const double *x,
                        hk_feature_stiffness *to)
{
    unsigned plain = 0;
    if (k->kind == HK_VERTEX_PLANE) return 0;
    for (int first = 0; first < k->count; first += HK_LANES) {
        found f;
        if (!find_plain(k, law, x, first, &f)) continue;
        values b = values_of(law, k->width + first, f.gap);
        stiffen_lanes(k, &f, &b, keep, first, to);
        plain |= bits_of(f.plain, first);
    }
    return plain;
}

static void stiffen_one(const hk_pair *pair, double keep, const double x[4][3], int lane,
                        hk_feature_stiffness *to)
{
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    double h[144];
    hk_pair_state at = pair_state(pair, x);
    if (at.b.energy != 0)
        pair_upper_hessian(pair, &at, keep, h);
    else
        memset(h, 0, sizeof h);
    for (int u = 0, n = 0; u < 4; u++)
        for (int v = u; v < 4; v++, n++) {
            double slides = to->weight[u][lane] * to->weight[v][lane];
            for (int i = 0; i < 9; i++)
                to->value[n][i][lane] = h[12 * (3 * u + i / 3) + 3 * v + i % 3] +
                                        slides * to->slide[symmetric[i]][lane];
        }
}

static double evaluate_one(const hk_pair *pair, const double x[4][3], double *gradient, double *gap)
{
    return quick_evaluate(pair, x, gradient, gap);
}

// ---------------------------------------------------------------- friction

typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(8)));

static inline double find_slide(const hk_friction *f, const int32_t point[4], const double *x,
                                const double *from, double to[3])
{
    four sum = {0, 0, 0, 0};
    for (int v = 0; v < 4; v++) {
        int64_t at = 3 * (int64_t)point[v];
        sum += f->c[v] * (*(const four *)(x + at) - *(const four *)(from + at));
    }
    double through = sum[0] * f->normal[0] + sum[1] * f->normal[1] + sum[2] * f->normal[2];
    for (int i = 0; i < 3; i++) to[i] = sum[i] - through * f->normal[i];
    return through < 0 ? through : 0;
}

static double slide(const hk_friction *f, const int32_t point[4], const double *x,
                    const double *from, double *gradient)
{
    double s[3], nearer = find_slide(f, point, x, from, s);
    if (gradient) friction_gradient(f, s, nearer, gradient);
    return friction_energy(f, s, nearer);
}

static void stiffen_slide(const hk_friction *f, const int32_t point[4], const double *x,
                          const double *from, double block[6])
{
    double s[3], b[3][3], nearer = find_slide(f, point, x, from, s);
    friction_block(f, s, nearer, b);
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++) block[k++] = b[i][j];
}

extern const hk_feature_table HK_FEATURE_TABLE;
const hk_feature_table HK_FEATURE_TABLE = {
    .find = find,
    .evaluate = evaluate,
    .stiffen = stiffen,
    .stiffen_one = stiffen_one,
    .evaluate_one = evaluate_one,
    .slide = slide,
    .stiffen_slide = stiffen_slide,
};
