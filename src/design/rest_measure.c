// What a maker wants to know of a rest shape: how far it sags, how much it is stretched, and where.
#define HK_DOUBLE 1
#define HK_LANES  1
#include <math.h>

#include "design/rest_solver.h"
#include "math/svd.h"

static void measure_sag(const hk_model *m, const double *rest, hk_rest_report *r)
{
    for (int v = 0; v < m->vertex_count; v++) {
        const double *X = rest + 3 * (int64_t)v, *x = m->rest + 3 * (int64_t)v;
        double away = sqrt((X[0] - x[0]) * (X[0] - x[0]) + (X[1] - x[1]) * (X[1] - x[1]) +
                           (X[2] - x[2]) * (X[2] - x[2]));
        if (!(away > r->sag)) continue;
        r->sag = away;
        r->sag_vertex = v;
    }
}

// F of a tet from the rest shape to the loaded one.
static mat3 gradient_of(const hk_model *m, const double *rest, int t)
{
    const int32_t *c = m->tets + 4 * (int64_t)t;
    const double *corner[4];
    mat3 inverse, edges;
    double rows[9];
    for (int k = 0; k < 4; k++) corner[k] = rest + 3 * (int64_t)c[k];
    hk_corner_inverse(corner, rows);
    memcpy(inverse.m, rows, sizeof rows);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            edges.m[i][k] = m->rest[3 * (int64_t)c[k + 1] + i] - m->rest[3 * (int64_t)c[0] + i];
    return m3_mul(edges, inverse);
}

// A bound on the square of the largest stretch: the eigenvalues of FᵀF, of mean m and deviator D,
// are at most m + √⅔ ‖D‖.
static double bound_of(mat3 F)
{
    mat3 C = m3_tmul(F, F);
    double mean = (C.m[0][0] + C.m[1][1] + C.m[2][2]) / 3, square = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double d = C.m[i][j] - (i == j ? mean : 0);
            square += d * d;
        }
    return mean + sqrt(2 * square / 3);
}

static double stretch_of(const hk_model *m, const double *rest, int t)
{
    return svd3_of(gradient_of(m, rest, t)).s.v[0];
}

// The tet with the largest bound is nearly always the one; few others have to be looked at.
static void measure_stretch(const hk_model *m, const double *rest, const double *bound,
                            hk_rest_report *r)
{
    int first = 0;
    for (int t = 1; t < m->tet_count; t++)
        if (bound[t] > bound[first]) first = t;
    double least = stretch_of(m, rest, first);
    for (int t = 0; t < m->tet_count; t++) {
        if (!(bound[t] >= (1 - 1e-12) * least * least)) continue;
        double stretch = stretch_of(m, rest, t);
        if (!(stretch > r->greatest_stretch)) continue;
        r->greatest_stretch = stretch;
        r->greatest_stretch_tet = t;
    }
}

static void measure_volume(const hk_model *m, const double *volume, hk_rest_report *r)
{
    r->least_j = INFINITY;
    for (int t = 0; t < m->tet_count; t++) {
        if (!(volume[t] < r->least_j)) continue;
        r->least_j = volume[t];
        r->least_j_tet = t;
    }
}

void hk_rest_measure(const hk_model *m, const double *rest, int threads, double *workspace,
                     hk_rest_report *r)
{
    double *bound = workspace, *volume = workspace + m->tet_count;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < m->tet_count; t++) {
        mat3 F = gradient_of(m, rest, t);
        bound[t] = bound_of(F);
        volume[t] = m3_det(F);
    }
    r->sag = r->greatest_stretch = 0;
    measure_sag(m, rest, r);
    if (m->tet_count > 0) measure_stretch(m, rest, bound, r);
    measure_volume(m, volume, r);
}
