#include "design/gmres.h"

#include <math.h>

void hk_gmres_release(hk_gmres *g)
{
    for (int k = 0; k <= HK_GMRES_MOST; k++) hk_free(g->basis[k]);
    for (int k = 0; k < HK_GMRES_MOST; k++) {
        hk_free(g->change[k]);
        hk_free(g->space[k]);
    }
    *g = (hk_gmres){0};
}

void hk_gmres_forget(hk_gmres *g)
{
    g->kept = g->group_count = 0;
}

// ---------------------------------------------------------------- vectors

static int64_t size_of(const hk_gmres *g)
{
    return 4 * (int64_t)g->problem->vertex_count;
}

static hk_status need_vector(const hk_gmres *g, double **vector)
{
    if (!*vector) *vector = HK_ARRAY(double, size_of(g));
    return *vector ? HK_OK : HK_NO_MEMORY;
}

static void scale_vector(double *v, double factor, int64_t size)
{
    for (int64_t i = 0; i < size; i++) v[i] *= factor;
}

static void add_vector(double *v, double factor, const double *other, int64_t size)
{
    for (int64_t i = 0; i < size; i++) v[i] += factor * other[i];
}

// v = P v
static void improve(const hk_gmres *g, double *v)
{
    for (int q = 0, first = 0; q < g->group_count; first = g->group_end[q++]) {
        double along[HK_GMRES_MOST];
        for (int k = first; k < g->group_end[q]; k++)
            along[k] = hk_problem_dot(g->problem, g->space[k], v);
        for (int k = first; k < g->group_end[q]; k++)
            add_vector(v, along[k], g->change[k], size_of(g));
    }
}

// ---------------------------------------------------------------- Arnoldi's matrix

static void rotate(double c, double s, double *a, double *b)
{
    double first = c * *a + s * *b;
    *b = c * *b - s * *a;
    *a = first;
}

// Takes column k, [k + 2] numbers; |right[k + 1]| is the residual then.
static void add_column(hk_hessenberg *h, int k)
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

// R y = right, for the first `count` columns.
static void solve_triangle(const hk_hessenberg *h, int count, const double *right, double *y)
{
    for (int k = count - 1; k >= 0; k--) {
        double sum = right[k];
        for (int j = k + 1; j < count; j++) sum -= h->r[j][k] * y[j];
        y[k] = h->r[k][k] != 0 ? sum / h->r[k][k] : 0;
    }
}

// x = Σ y_k basis_k
static void combine(const hk_gmres *g, const double *y, int count, double *x)
{
    int64_t size = size_of(g);
    memset(x, 0, sizeof(double) * (size_t)size);
    for (int k = 0; k < count; k++) add_vector(x, y[k], g->basis[k], size);
}

// v less its parts along basis[0 .. k]; the coefficients are column k of Arnoldi's matrix.
static void orthogonalise(const hk_gmres *g, int k, double *v, double *column)
{
    for (int j = 0; j <= k; j++) {
        column[j] = hk_problem_dot(g->problem, g->basis[j], v);
        add_vector(v, -column[j], g->basis[j], size_of(g));
    }
    column[k + 1] = sqrt(hk_problem_dot(g->problem, v, v));
}

// ---------------------------------------------------------------- solves

hk_status hk_gmres_solve(hk_gmres *g, hk_operator_fn *apply, void *context, double tolerance,
                         int most, const double *b, double *x, int *iterations, double *left)
{
    hk_hessenberg *h = &g->matrix;
    int64_t size = size_of(g);
    HK_TRY(need_vector(g, &g->basis[0]));
    memcpy(g->basis[0], b, sizeof(double) * (size_t)size);
    improve(g, g->basis[0]);
    double norm = sqrt(hk_problem_dot(g->problem, g->basis[0], g->basis[0])), y[HK_GMRES_MOST];
    *iterations = g->last = 0;
    *left = 0;
    memset(x, 0, sizeof(double) * (size_t)size);
    if (!(norm > 0)) return HK_OK;
    scale_vector(g->basis[0], 1 / norm, size);
    h->right[0] = norm;
    most = hk_min_int(most, HK_GMRES_MOST);
    int k = 0;
    while (k < most) {
        HK_TRY(need_vector(g, &g->basis[k + 1]));
        double *next = g->basis[k + 1];
        HK_TRY(apply(context, g->basis[k], next));
        improve(g, next);
        orthogonalise(g, k, next, h->r[k]);
        double length = h->r[k][k + 1];
        add_column(h, k++);
        if (!(length > 1e-14 * norm)) break;
        scale_vector(next, 1 / length, size);
        if (!(fabs(h->right[k]) > tolerance * norm)) break;
        if (g->go_on && !g->go_on(g->context)) break;
    }
    solve_triangle(h, k, h->right, y);
    combine(g, y, k, x);
    *iterations = g->last = k;
    *left = fabs(h->right[k]) / norm;
    return HK_OK;
}

// Column k of Q, the product of the rotations: [count + 1] numbers.
static void column_of_q(const hk_hessenberg *h, int count, int k, double *q)
{
    memset(q, 0, sizeof(double) * ((size_t)count + 1));
    q[k] = 1;
    for (int j = count - 1; j >= 0; j--) rotate(h->cosine[j], -h->sine[j], &q[j], &q[j + 1]);
}

hk_status hk_gmres_keep(hk_gmres *g)
{
    const hk_hessenberg *h = &g->matrix;
    int count = g->last;
    if (count == 0 || g->kept + count > HK_GMRES_MOST) return HK_OK;
    for (int k = 0; k < count; k++) {
        double unit[HK_GMRES_MOST] = {0}, y[HK_GMRES_MOST], q[HK_GMRES_MOST + 1];
        double **space = &g->space[g->kept + k], **change = &g->change[g->kept + k];
        HK_TRY(need_vector(g, space));
        HK_TRY(need_vector(g, change));
        unit[k] = 1;
        solve_triangle(h, count, unit, y);
        column_of_q(h, count, k, q);
        combine(g, y, count, *change);
        combine(g, q, count + 1, *space);
        add_vector(*change, -1, *space, size_of(g));
    }
    g->kept += count;
    g->group_end[g->group_count++] = g->kept;
    g->last = 0;
    return HK_OK;
}
