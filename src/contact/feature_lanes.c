// The kernels of feature_lanes.h; compiled once per instruction set, with HK_LANES and
// HK_FEATURE_TABLE set by cmake/lanes.cmake.
#include "contact/feature_lanes.h"

#include "term/corners.h"

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

// Weights of the closest points of a vertex and a triangle (quick_vertex_triangle); w between them.
static inline mask vertex_triangle(const vec3 x[4], real most, real c[4], vec3 *w)
{
    vec3 e = v3_sub(x[2], x[1]), f = v3_sub(x[3], x[1]), a = v3_sub(x[0], x[1]);
    real ee = v3_dot(e, e), ff = v3_dot(f, f), ef = v3_dot(e, f), aa = v3_dot(a, a);
    real d1 = v3_dot(e, a), d2 = v3_dot(f, a), two = r_set(2), zero = r_zero(), one = r_set(1);
    real area = ee * ff - ef * ef, vb = ff * d1 - ef * d2, vc = ee * d2 - ef * d1;
    real va = area - vb - vc;
    mask plain = (area > r_set(NOT_PARALLEL) * ee * ff) & (va > zero) & (vb > zero) & (vc > zero);
    plain &= is_far(aa, d1, ee, most) & is_far(aa, d2, ff, most) &
             is_far(aa - two * d1 + ee, d2 - d1 - ef + ee, ff - two * ef + ee, most);
    real inverse = one / r_select(area > zero, area, one);
    c[0] = one;
    c[2] = -vb * inverse;
    c[3] = -vc * inverse;
    c[1] = -(one + c[2] + c[3]);
    *w = v3_add(a, v3_add(v3_scale(e, c[2]), v3_scale(f, c[3])));
    return plain & (v3_dot(*w, *w) > r_set(SMALLEST) * (ee + ff));
}

// Of two edges (quick_edge_edge).
static inline mask edge_edge(const vec3 x[4], real most, real parallel, real c[4], vec3 *w)
{
    vec3 a = v3_sub(x[1], x[0]), b = v3_sub(x[3], x[2]), d = v3_sub(x[0], x[2]);
    real aa = v3_dot(a, a), bb = v3_dot(b, b), ab = v3_dot(a, b), dd = v3_dot(d, d);
    real ad = v3_dot(a, d), bd = v3_dot(b, d), sine = aa * bb - ab * ab;
    real zero = r_zero(), one = r_set(1), two = r_set(2);
    mask plain = (sine > r_set(NOT_PARALLEL) * aa * bb) & (sine > r_set(SLACK) * parallel);
    real s = (ab * bd - bb * ad) / r_select(sine > zero, sine, one);
    real t = (ab * s + bd) / r_select(bb > zero, bb, one);
    plain &= (s > zero) & (s < one) & (t > zero) & (t < one);
    plain &= is_far(dd, bd, bb, most) & is_far(dd + two * ad + aa, bd + ab, bb, most) &
             is_far(dd, ad, aa, most) & is_far(dd - two * bd + bb, ab - ad, aa, most);
    c[0] = one - s;
    c[1] = s;
    c[2] = t - one;
    c[3] = -t;
    *w = v3_add(d, v3_sub(v3_scale(a, s), v3_scale(b, t)));
    return plain & (v3_dot(*w, *w) > r_set(SMALLEST) * (aa + bb));
}

static inline unsigned find_lanes(const hk_feature_block *k, const double *place,
                                  const double *away, int first, hk_features *to)
{
    vec3 x[4], w, sum = v3_set(0, 0, 0);
    real c[4], reach = r_load(k->reach + first), most = reach * reach * r_set(SLACK);
    for (int v = 0; v < 4; v++) x[v] = corners_load(place, k->point[v] + first);
    mask plain = k->kind == HK_VERTEX_TRIANGLE
                     ? vertex_triangle(x, most, c, &w)
                     : edge_edge(x, most, r_load(k->parallel + first), c, &w);
    real distance = r_sqrt(v3_dot(w, w));
    if (!r_any(plain)) return 0;
    vec3 normal = v3_scale(w, r_set(1) / r_select(plain, distance, r_set(1)));
    for (int v = 0; v < 4; v++)
        sum = v3_add(sum, v3_scale(corners_load(away, k->point[v] + first), c[v]));
    for (int v = 0; v < 4; v++) r_store(to->c[v] + first, c[v]);
    for (int i = 0; i < 3; i++) r_store(to->normal[i] + first, normal.v[i]);
    r_store(to->distance + first, distance);
    r_store(to->reduced + first, distance - v3_dot(normal, sum));
    unsigned bits = 0;
    for (int l = 0; l < HK_LANES; l++) bits |= (plain[l] != 0 ? 1u : 0u) << (first + l);
    return bits;
}

static unsigned find(const hk_feature_block *k, const double *x, const double *away,
                     hk_features *to)
{
    unsigned plain = 0;
    if (k->kind == HK_VERTEX_PLANE) return 0;
    for (int first = 0; first < k->count; first += HK_LANES)
        plain |= find_lanes(k, x, away, first, to);
    return plain;
}

extern const hk_feature_table HK_FEATURE_TABLE;
const hk_feature_table HK_FEATURE_TABLE = {.find = find};
