#include "design/gmres.h"

#include <math.h>

void hk_gmres_release(hk_gmres *g)
{
    for (int k = 0; k <= HK_GMRES_MOST; k++) hk_free(g->basis[k]);
    *g = (hk_gmres){0};
}

// The least-squares problem ‖β e₁ − H y‖ of Arnoldi's matrix, by Givens rotations.
typedef struct hessenberg {
    double r[HK_GMRES_MOST][HK_GMRES_MOST + 1];  // columns
    double cosine[HK_GMRES_MOST], sine[HK_GMRES_MOST];
    double right[HK_GMRES_MOST + 1];
} hessenberg;

static void rotate(double c, double s, double *a, double *b)
{
    double first = c * *a + s * *b;
    *b = c * *b - s * *a;
    *a = first;
}

// Takes column k, [k + 2] numbers; |right[k + 1]| is the residual then.
static void add_column(hessenberg *h, int k)
{
    double *column = h->r[k];
    for (int j = 0; j < k; j++) rotate(h->cosine[j], h->sine[j], &column[j], &column[j + 1]);
    double length = hypot(column[k], column[k + 1]);
    h->cosine[k] = length > 0 ? column[k] / length : 1;
    h->sine[k] = length > 0 ? column[k + 1] / length : 0;
    rotate(h->cosine[k], h->sine[k], &column[k], &column[k + 1]);
    h->right[k + 1] = 0;
    rotate(h->cosine[k], h->sine[k], &h->right[k], &h->right[k + 1]);
}

static void combine(const hk_gmres *g, hessenberg *h, int count, double *x)
{
    double y[HK_GMRES_MOST];
    for (int k = count - 1; k >= 0; k--) {
        double sum = h->right[k];
        for (int j = k + 1; j < count; j++) sum -= h->r[j][k] * y[j];
        y[k] = h->r[k][k] != 0 ? sum / h->r[k][k] : 0;
    }
    int64_t size = 4 * (int64_t)g->problem->vertex_count;
    for (int64_t i = 0; i < size; i++) {
        double sum = 0;
        for (int k = 0; k < count; k++) sum += y[k] * g->basis[k][i];
        x[i] = sum;
    }
}

static hk_status need_vector(hk_gmres *g, int k)
{
    if (!g->basis[k]) g->basis[k] = HK_ARRAY(double, 4 * (size_t)g->problem->vertex_count);
    return g->basis[k] ? HK_OK : HK_NO_MEMORY;
}

static void scale_vector(double *v, double factor, int64_t size)
{
    for (int64_t i = 0; i < size; i++) v[i] *= factor;
}

// v less its parts along basis[0 .. k]; the coefficients are column k of Arnoldi's matrix.
static void orthogonalise(const hk_gmres *g, int k, double *v, double *column)
{
    int64_t size = 4 * (int64_t)g->problem->vertex_count;
    for (int j = 0; j <= k; j++) {
        double along = hk_problem_dot(g->problem, g->basis[j], v);
        column[j] = along;
        for (int64_t i = 0; i < size; i++) v[i] -= along * g->basis[j][i];
    }
    column[k + 1] = sqrt(hk_problem_dot(g->problem, v, v));
}

hk_status hk_gmres_solve(hk_gmres *g, hk_operator_fn *apply, void *context, double tolerance,
                         int most, const double *b, double *x, int *iterations, double *left)
{
    int64_t size = 4 * (int64_t)g->problem->vertex_count;
    hessenberg h;
    double norm = sqrt(hk_problem_dot(g->problem, b, b));
    *iterations = 0;
    *left = 0;
    memset(x, 0, sizeof(double) * (size_t)size);
    if (!(norm > 0)) return HK_OK;
    HK_TRY(need_vector(g, 0));
    memcpy(g->basis[0], b, sizeof(double) * (size_t)size);
    scale_vector(g->basis[0], 1 / norm, size);
    h.right[0] = norm;
    most = hk_min_int(most, HK_GMRES_MOST);
    int k = 0;
    while (k < most) {
        HK_TRY(need_vector(g, k + 1));
        HK_TRY(apply(context, g->basis[k], g->basis[k + 1]));
        orthogonalise(g, k, g->basis[k + 1], h.r[k]);
        double length = h.r[k][k + 1];
        add_column(&h, k++);
        if (!(length > 1e-14 * norm) || !(fabs(h.right[k]) > tolerance * norm)) break;
        scale_vector(g->basis[k], 1 / length, size);
    }
    combine(g, &h, k, x);
    *iterations = k;
    *left = fabs(h.right[k]) / norm;
    return HK_OK;
}
