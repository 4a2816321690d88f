// A signed distance field at a point.
#include <math.h>

#include "contact/sdf.h"

// The four coefficients of a row, along x, two by two: registers that every processor has.
typedef double pair __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(8)));
typedef struct row {
    pair a, b;
} row;

static inline row load(const float *from)
{
    floats a, b;
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + 2, sizeof b);
    return (row){__builtin_convertvector(a, pair), __builtin_convertvector(b, pair)};
}

static inline void add(row *sum, double w, row r)
{
    sum->a += w * r.a;
    sum->b += w * r.b;
}

static inline double dot(const double w[4], row r)
{
    return w[0] * r.a[0] + w[1] * r.a[1] + (w[2] * r.b[0] + w[3] * r.b[1]);
}

// The cubic B-splines that are not 0 at t cells from a node, and their derivatives.
typedef struct basis {
    double value[4], first[4], second[4];
} basis;

static inline void evaluate_basis(double t, basis *b)
{
    double u = 1 - t, t2 = t * t, u2 = u * u;
    b->value[0] = u2 * u * (1.0 / 6);
    b->value[1] = 2.0 / 3 - t2 * (1 - 0.5 * t);
    b->value[2] = 2.0 / 3 - u2 * (1 - 0.5 * u);
    b->value[3] = t2 * t * (1.0 / 6);
    b->first[0] = -0.5 * u2;
    b->first[1] = t * (1.5 * t - 2);
    b->first[2] = u * (2 - 1.5 * u);
    b->first[3] = 0.5 * t2;
    b->second[0] = u;
    b->second[1] = 3 * t - 2;
    b->second[2] = 3 * u - 2;
    b->second[3] = t;
}

// Sums over y and z, for each x: the value and its derivatives.
typedef struct sums {
    row value, y, z, yy, yz, zz;
} sums;

static inline double spline(const float *c, const basis b[3], double scale, double *g, double *h,
                            bool with_hessian)
{
    sums s = {0};
    for (int k = 0; k < 4; k++) {
        row value = {0}, y = {0}, yy = {0};
        for (int j = 0; j < 4; j++) {
            row r = load(c + HK_SPLINE_WIDTH * (j + HK_SPLINE_WIDTH * k));
            add(&value, b[1].value[j], r);
            add(&y, b[1].first[j], r);
            if (with_hessian) add(&yy, b[1].second[j], r);
        }
        add(&s.value, b[2].value[k], value);
        add(&s.y, b[2].value[k], y);
        add(&s.z, b[2].first[k], value);
        if (!with_hessian) continue;
        add(&s.yy, b[2].value[k], yy);
        add(&s.yz, b[2].first[k], y);
        add(&s.zz, b[2].second[k], value);
    }
    if (g) {
        g[0] = scale * dot(b[0].first, s.value);
        g[1] = scale * dot(b[0].value, s.y);
        g[2] = scale * dot(b[0].value, s.z);
    }
    if (with_hessian) {
        double twice = scale * scale;
        h[0] = twice * dot(b[0].second, s.value);
        h[1] = h[3] = twice * dot(b[0].first, s.y);
        h[2] = h[6] = twice * dot(b[0].first, s.z);
        h[4] = twice * dot(b[0].value, s.yy);
        h[5] = h[7] = twice * dot(b[0].value, s.yz);
        h[8] = twice * dot(b[0].value, s.zz);
    }
    return dot(b[0].value, s.value);
}

// ---------------------------------------------------------------- beyond the band

static void make_unit(double *g)
{
    double length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int i = 0; i < 3; i++) g[i] = length > 0 ? g[i] / length : 0;
}

// Outside the grid: the distance from the bounds of the surface.
static double beyond_grid(const hk_sdf *s, const double p[3], double *g)
{
    double out[3], square = 0;
    for (int i = 0; i < 3; i++) {
        out[i] = p[i] > s->high[i] ? p[i] - s->high[i] : p[i] < s->low[i] ? p[i] - s->low[i] : 0;
        square += out[i] * out[i];
    }
    if (g) {
        memcpy(g, out, sizeof out);
        make_unit(g);
    }
    return sqrt(square);
}

// In a brick without a spline. A distance changes no faster than the place: each corner gives a
// lower bound, and so does the band. The direction is the gradient of what is linear between them.
static double beyond_band(const hk_sdf *s, const int brick[3], const double p[3], double *g)
{
    double at[3], edge = HK_BRICK * s->cell, bound = s->band, sign = 1, slope[3] = {0};
    for (int i = 0; i < 3; i++) at[i] = (p[i] - s->origin[i]) / edge - brick[i];
    for (int k = 0; k < 8; k++) {
        int x = k & 1, y = k >> 1 & 1, z = k >> 2;
        double corner = s->corner[hk_sdf_corner_at(s, brick[0] + x, brick[1] + y, brick[2] + z)];
        double d[3] = {at[0] - x, at[1] - y, at[2] - z};
        double here = fabs(corner) - edge * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        bound = here > bound ? here : bound;
        if (corner < 0) sign = -1;
        double w[3] = {x ? at[0] : 1 - at[0], y ? at[1] : 1 - at[1], z ? at[2] : 1 - at[2]};
        slope[0] += (x ? corner : -corner) * w[1] * w[2];
        slope[1] += (y ? corner : -corner) * w[0] * w[2];
        slope[2] += (z ? corner : -corner) * w[0] * w[1];
    }
    if (g) {
        memcpy(g, slope, sizeof slope);
        make_unit(g);
    }
    return sign * bound;
}

// ---------------------------------------------------------------- for users

// The cell of a point, and where in it; false outside the grid.
static inline bool find_cell(const hk_sdf *s, const double p[3], int cell[3], double t[3])
{
    for (int i = 0; i < 3; i++) {
        double u = (p[i] - s->origin[i]) * s->inverse;
        int most = HK_BRICK * s->bricks[i];
        if (!(u >= 0 && u <= most)) return false;
        cell[i] = u < most ? (int)u : most - 1;
        t[i] = u - cell[i];
    }
    return true;
}

static inline int32_t brick_of(const hk_sdf *s, const int cell[3])
{
    return s->brick[hk_sdf_brick_at(s, cell[0] >> 3, cell[1] >> 3, cell[2] >> 3)];
}

static double far_value(const hk_sdf *s, const int *cell, const double p[3], double *g, double *h)
{
    if (h) memset(h, 0, 9 * sizeof *h);
    if (cell) return beyond_band(s, (int[3]){cell[0] >> 3, cell[1] >> 3, cell[2] >> 3}, p, g);
    if (isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) return beyond_grid(s, p, g);
    if (g) memset(g, 0, 3 * sizeof *g);
    return INFINITY;
}

double hk_sdf_value(const hk_sdf *sdf, const double point[3], double *gradient, double *hessian)
{
    int cell[3];
    double t[3];
    if (!find_cell(sdf, point, cell, t)) return far_value(sdf, NULL, point, gradient, hessian);
    int32_t brick = brick_of(sdf, cell);
    if (brick < 0) return far_value(sdf, cell, point, gradient, hessian);
    basis b[3];
    for (int i = 0; i < 3; i++) evaluate_basis(t[i], &b[i]);
    const float *c = sdf->coefficients + (size_t)brick * HK_SPLINE_SIZE + (cell[0] & 7) +
                     HK_SPLINE_WIDTH * ((cell[1] & 7) + HK_SPLINE_WIDTH * (cell[2] & 7));
    return hessian ? spline(c, b, sdf->inverse, gradient, hessian, true)
                   : spline(c, b, sdf->inverse, gradient, NULL, false);
}

bool hk_sdf_covers(const hk_sdf *sdf, const double point[3])
{
    int cell[3];
    double t[3];
    return find_cell(sdf, point, cell, t) && brick_of(sdf, cell) >= 0;
}
