#include "linear/hierarchy.h"

#include <math.h>

#include "linear/aggregation.h"
#include "math/dense.h"

enum { POWER_ITERATIONS = 20 };
enum { LARGEST_DENSE = 1500 };

// Couplings that are weaker than this part of √(a_ii a_jj) do not join a group; the coarser the
// level, the more couplings there are, and the weaker.
#define STRONG 0.08
// A row whose couplings add up to less than this part of its diagonal (mass dominates) is left to
// the smoother.
#define COUPLED 0.2
// Levels that shrink less than this are not worth having.
#define SHRINKS 0.8

// ---------------------------------------------------------------- the diagonal

static double entry_on_diagonal(const hk_sparse *a, int row)
{
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++)
        if (a->column[k] == row) return a->value[k];
    return 0;
}

static hk_status invert_diagonal(hk_level *l)
{
    l->inverse = HK_ARRAY(double, l->matrix.rows);
    if (!l->inverse) return HK_NO_MEMORY;
    for (int r = 0; r < l->matrix.rows; r++) {
        double d = entry_on_diagonal(&l->matrix, r);
        l->inverse[r] = d > 0 ? 1 / d : 0;
    }
    return HK_OK;
}

// The greatest sum of a row's absolute values bounds all eigenvalues of D⁻¹A.
static double row_bound(const hk_level *l)
{
    double most = 0;
    for (int r = 0; r < l->matrix.rows; r++) {
        double sum = 0;
        for (int64_t k = l->matrix.start[r]; k < l->matrix.start[r + 1]; k++)
            sum += fabs(l->matrix.value[k]);
        most = fmax(most, sum * l->inverse[r]);
    }
    return most;
}

// to = D⁻¹A from; returns ‖to‖.
static double multiply(const hk_level *l, int threads, const double *from, double *to)
{
    const hk_sparse *a = &l->matrix;
    double square = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int r = 0; r < a->rows; r++) {
        double sum = 0;
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++)
            sum += a->value[k] * from[a->column[k]];
        to[r] = sum * l->inverse[r];
    }
    for (int r = 0; r < a->rows; r++) square += to[r] * to[r];
    return sqrt(square);
}

// By the power method, which comes from below, hence a margin; and never above what is certain.
static hk_status find_greatest(hk_level *l, int threads)
{
    int n = l->matrix.rows;
    double *v = HK_ARRAY(double, n), *w = HK_ARRAY(double, n), norm = 0;
    if (v && w) {
        for (int64_t k = 0; k < n; k++)
            v[k] = l->inverse[k] > 0 ? (double)((uint64_t)k * 2654435761u >> 16 & 1023) - 511.5 : 0;
        for (int i = 0; i < POWER_ITERATIONS; i++) {
            norm = multiply(l, threads, v, w);
            for (int k = 0; k < n && norm > 0; k++) v[k] = w[k] / norm;
        }
        l->greatest = fmin(1.1 * norm, row_bound(l));
    }
    hk_status status = v && w ? HK_OK : HK_NO_MEMORY;
    hk_free(v);
    hk_free(w);
    return status;
}

// ---------------------------------------------------------------- groups

// Strong couplings, as a graph; rows that are left to the smoother have none and group −1.
typedef struct strength {
    int64_t *start;
    int32_t *neighbour;
    int32_t *group;
} strength;

static void strength_free(strength *s)
{
    hk_free(s->start);
    hk_free(s->neighbour);
    hk_free(s->group);
}

static bool is_coupled(const hk_level *l, int row)
{
    const hk_sparse *a = &l->matrix;
    double sum = 0;
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++)
        if (a->column[k] != row) sum += fabs(a->value[k]);
    return sum * l->inverse[row] > COUPLED;
}

static void list_strong(const hk_level *l, double threshold, strength *s)
{
    const hk_sparse *a = &l->matrix;
    for (int r = 0; r < a->rows; r++) s->group[r] = is_coupled(l, r) ? 0 : -1;
    int64_t at = 0;
    for (int r = 0; r < a->rows; r++) {
        s->start[r] = at;
        for (int64_t k = a->start[r]; k < a->start[r + 1] && s->group[r] >= 0; k++) {
            int32_t c = a->column[k];
            double square = a->value[k] * a->value[k] * l->inverse[r] * l->inverse[c];
            bool strong = a->value[k] < 0 && square > threshold * threshold;
            if (c != r && s->group[c] >= 0 && strong) s->neighbour[at++] = c;
        }
    }
    s->start[a->rows] = at;
}

// group[row] and their number.
static hk_status make_groups(const hk_level *l, double threshold, strength *s, int *count)
{
    size_t n = (size_t)l->matrix.rows;
    s->start = HK_ARRAY(int64_t, n + 1);
    s->neighbour = HK_ARRAY(int32_t, l->matrix.start[n]);
    s->group = HK_ARRAY(int32_t, n);
    if (!s->start || !s->neighbour || !s->group) return HK_NO_MEMORY;
    list_strong(l, threshold, s);
    hk_graph graph = {(int)n, s->start, s->neighbour};
    return hk_aggregate(&graph, s->group, count);
}

// ---------------------------------------------------------------- the next level

// T: one in the column of a row's group.
static hk_status constant_interpolation(const int32_t *group, int rows, int count, hk_sparse *t)
{
    *t = (hk_sparse){.rows = rows, .columns = count};
    t->start = HK_ZEROS(int64_t, rows + 1);
    t->column = HK_ARRAY(int32_t, rows);
    t->value = HK_ARRAY(double, rows);
    if (!t->start || !t->column || !t->value) return HK_NO_MEMORY;
    for (int r = 0; r < rows; r++) {
        int64_t at = t->start[r + 1] = t->start[r];
        if (group[r] < 0) continue;
        t->column[at] = group[r];
        t->value[at] = 1;
        t->start[r + 1]++;
    }
    return HK_OK;
}

// 1 − ω D⁻¹A
static hk_status jacobi_matrix(const hk_level *l, hk_sparse *s)
{
    const hk_sparse *a = &l->matrix;
    size_t entries = (size_t)a->start[a->rows];
    double omega = 4 / (3 * l->greatest);
    *s = (hk_sparse){.rows = a->rows, .columns = a->rows};
    s->start = HK_ARRAY(int64_t, a->rows + 1);
    s->column = HK_ARRAY(int32_t, entries);
    s->value = HK_ARRAY(double, entries);
    if (!s->start || !s->column || !s->value) return HK_NO_MEMORY;
    memcpy(s->start, a->start, sizeof(int64_t) * (size_t)(a->rows + 1));
    memcpy(s->column, a->column, sizeof(int32_t) * entries);
    for (int r = 0; r < a->rows; r++)
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++)
            s->value[k] = (a->column[k] == r) - omega * l->inverse[r] * a->value[k];
    return HK_OK;
}

static hk_status interpolate(hk_level *l, const int32_t *group, int count, int threads)
{
    hk_sparse t = {0}, s = {0};
    hk_status status = constant_interpolation(group, l->matrix.rows, count, &t);
    if (status == HK_OK) status = jacobi_matrix(l, &s);
    if (status == HK_OK) status = hk_sparse_multiply(&s, &t, threads, &l->prolong);
    if (status == HK_OK) status = hk_sparse_transpose(&l->prolong, &l->restricted);
    hk_sparse_free(&t);
    hk_sparse_free(&s);
    return status;
}

static hk_status coarsen(hk_level *l, int threads, hk_level *next)
{
    hk_sparse half;
    HK_TRY(hk_sparse_multiply(&l->matrix, &l->prolong, threads, &half));
    hk_status status = hk_sparse_multiply(&l->restricted, &half, threads, &next->matrix);
    hk_sparse_free(&half);
    return status;
}

static hk_status complete(hk_level *l, int threads)
{
    HK_TRY(invert_diagonal(l));
    return find_greatest(l, threads);
}

// ---------------------------------------------------------------- the coarsest level

static void fill_dense(const hk_level *l, double *full)
{
    int n = l->matrix.rows;
    for (int r = 0; r < n; r++) {
        for (int64_t k = l->matrix.start[r]; k < l->matrix.start[r + 1]; k++)
            full[(int64_t)n * r + l->matrix.column[k]] = l->matrix.value[k];
        if (l->inverse[r] == 0) full[(int64_t)n * r + r] = 1;
    }
}

// A matrix that is singular to rounding (a free body without mass) gets more on its diagonal.
static bool factor_shifted(const hk_level *l, double *full)
{
    int n = l->matrix.rows;
    double shift = 0;
    for (int k = 0; k < 10; k++, shift = shift > 0 ? 10 * shift : 1e-10) {
        memset(full, 0, sizeof(double) * (size_t)n * (size_t)n);
        fill_dense(l, full);
        for (int64_t r = 0; r < n; r++) full[n * r + r] *= 1 + shift;
        if (hk_dense_factor(full, n)) return true;
    }
    return false;
}

static hk_status invert_coarsest(hk_hierarchy *h, int threads)
{
    const hk_level *l = &h->level[h->count - 1];
    int n = l->matrix.rows;
    if (n > LARGEST_DENSE) return HK_OK;
    double *factor = HK_ARRAY(double, (size_t)n *(size_t)n);
    h->dense = HK_ZEROS(double, (size_t)n *(size_t)n);
    hk_status status = factor && h->dense ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK && !factor_shifted(l, factor))
        status = hk_fail(HK_INTERNAL, "multigrid: the coarsest matrix is not positive");
    if (status == HK_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (int64_t r = 0; r < n; r++) {
            h->dense[n * r + r] = l->inverse[r] > 0;
            if (l->inverse[r] > 0) hk_dense_solve(factor, n, h->dense + n * r);
        }
    }
    hk_free(factor);
    return status;
}

// ---------------------------------------------------------------- creation

// One level more; `end`: there is none.
static hk_status add_level(hk_hierarchy *h, int smallest, int threads, bool *end)
{
    hk_level *l = &h->level[h->count - 1];
    int n = l->matrix.rows, count = 0;
    *end = true;
    if (n <= smallest || h->count == HK_MOST_LEVELS) return HK_OK;
    strength s = {0};
    hk_status status = make_groups(l, STRONG * pow(0.5, h->count - 1), &s, &count);
    bool worth = status == HK_OK && count > 0 && count < SHRINKS * n;
    if (worth) status = interpolate(l, s.group, count, threads);
    strength_free(&s);
    if (!worth || status != HK_OK) return status;
    *end = false;
    HK_TRY(coarsen(l, threads, &h->level[h->count]));
    return complete(&h->level[h->count++], threads);
}

static hk_status build(hk_hierarchy *h, int smallest, int threads)
{
    HK_TRY(complete(&h->level[0], threads));
    bool end = false;
    while (!end) HK_TRY(add_level(h, smallest, threads, &end));
    return invert_coarsest(h, threads);
}

hk_status hk_hierarchy_create(const hk_pattern *pattern, const double *lower, int smallest,
                              int threads, hk_hierarchy **hierarchy)
{
    hk_hierarchy *h = HK_NEW(hk_hierarchy);
    if (!h) return HK_NO_MEMORY;
    h->count = 1;
    hk_status status = hk_sparse_from_lower(pattern, lower, &h->level[0].matrix);
    if (status == HK_OK) status = build(h, smallest, threads);
    if (status != HK_OK) {
        hk_hierarchy_free(h);
        return status;
    }
    *hierarchy = h;
    return HK_OK;
}

void hk_hierarchy_free(hk_hierarchy *h)
{
    if (!h) return;
    for (int k = 0; k < HK_MOST_LEVELS; k++) {
        hk_sparse_free(&h->level[k].matrix);
        hk_sparse_free(&h->level[k].prolong);
        hk_sparse_free(&h->level[k].restricted);
        hk_free(h->level[k].inverse);
    }
    hk_free(h->dense);
    hk_free(h);
}

double hk_hierarchy_complexity(const hk_hierarchy *h)
{
    double entries = 0;
    for (int k = 0; k < h->count; k++)
        entries += (double)h->level[k].matrix.start[h->level[k].matrix.rows];
    return entries / (double)h->level[0].matrix.start[h->level[0].matrix.rows];
}

hk_smoother hk_smoother_for(double greatest, double reach, int steps)
{
    hk_smoother s = {.steps = steps};
    double least = greatest / reach, middle = 0.5 * (greatest + least);
    double half = 0.5 * (greatest - least), sigma = middle / half, rho = 1 / sigma;
    s.length[0] = (float)(1 / middle);
    for (int k = 1; k < steps; k++) {
        double next = 1 / (2 * sigma - rho);
        s.momentum[k] = (float)(next * rho);
        s.length[k] = (float)(2 * next / half);
        rho = next;
    }
    return s;
}
