#include "linear/multigrid.h"

#include <stdio.h>

enum { SMALLEST = 200, SMOOTHING = 2, LAST_SMOOTHING = HK_MOST_SMOOTHING };
enum { ROWS_FOR_THREADS = 2000 };  // below it is not worth waking them
#define REACH 6

typedef float quad __attribute__((vector_size(16)));

// Entries of a row, without the diagonal for a matrix.
typedef struct rows {
    int count;
    int64_t *start;
    int32_t *column;
    float *value;
} rows;

typedef struct level {
    int count;
    rows matrix;
    rows prolong, restricted;
    float *inverse;
    hk_smoother smoother;
    quad *x, *before;  // the iterate, and the one before it
    quad *right, *rest;
} level;

struct hk_multigrid {
    int threads;
    int count;
    level level[HK_MOST_LEVELS];
    float *dense;  // [n][n] of the last level, or NULL
    double complexity;
};

// ---------------------------------------------------------------- creation

static void rows_free(rows *r)
{
    hk_free(r->start);
    hk_free(r->column);
    hk_free(r->value);
}

static hk_status take_rows(const hk_sparse *m, bool diagonal, rows *r)
{
    r->count = m->rows;
    r->start = HK_ZEROS(int64_t, m->rows + 1);
    if (!r->start) return HK_NO_MEMORY;
    if (!m->start) return HK_OK;
    r->column = HK_ARRAY(int32_t, m->start[m->rows]);
    r->value = HK_ARRAY(float, m->start[m->rows]);
    if (!r->column || !r->value) return HK_NO_MEMORY;
    int64_t at = 0;
    for (int k = 0; k < m->rows; k++) {
        for (int64_t i = m->start[k]; i < m->start[k + 1]; i++) {
            if (!diagonal && m->column[i] == k) continue;
            r->column[at] = m->column[i];
            r->value[at++] = (float)m->value[i];
        }
        r->start[k + 1] = at;
    }
    return HK_OK;
}

static hk_status take_level(const hk_level *from, bool last, level *l)
{
    l->count = from->matrix.rows;
    size_t n = (size_t)l->count;
    HK_TRY(take_rows(&from->matrix, false, &l->matrix));
    HK_TRY(take_rows(&from->prolong, true, &l->prolong));
    HK_TRY(take_rows(&from->restricted, true, &l->restricted));
    l->smoother = hk_smoother_for(from->greatest, last ? 100 : REACH,
                                  last ? LAST_SMOOTHING : SMOOTHING);
    l->inverse = HK_ARRAY(float, n);
    l->x = HK_ZEROS(quad, n);
    l->before = HK_ZEROS(quad, n);
    l->right = HK_ZEROS(quad, n);
    l->rest = HK_ZEROS(quad, n);
    if (!l->inverse || !l->x || !l->before || !l->right || !l->rest) return HK_NO_MEMORY;
    for (size_t k = 0; k < n; k++) l->inverse[k] = (float)from->inverse[k];
    return HK_OK;
}

static hk_status take_hierarchy(const hk_hierarchy *h, hk_multigrid *m)
{
    m->count = h->count;
    m->complexity = hk_hierarchy_complexity(h);
    for (int k = 0; k < h->count; k++)
        HK_TRY(take_level(&h->level[k], k == h->count - 1, &m->level[k]));
    if (!h->dense) return HK_OK;
    size_t n = (size_t)m->level[m->count - 1].count;
    m->dense = HK_ARRAY(float, n *n);
    if (!m->dense) return HK_NO_MEMORY;
    for (size_t k = 0; k < n * n; k++) m->dense[k] = (float)h->dense[k];
    return HK_OK;
}

hk_status hk_multigrid_create(const hk_pattern *pattern, const double *lower, int threads,
                              hk_multigrid **multigrid)
{
    hk_hierarchy *h;
    HK_TRY(hk_hierarchy_create(pattern, lower, SMALLEST, threads, &h));
    hk_multigrid *m = HK_NEW(hk_multigrid);
    hk_status status = m ? take_hierarchy(h, m) : HK_NO_MEMORY;
    hk_hierarchy_free(h);
    if (status != HK_OK) {
        hk_multigrid_free(m);
        return status;
    }
    m->threads = threads;
    *multigrid = m;
    return HK_OK;
}

void hk_multigrid_free(hk_multigrid *m)
{
    if (!m) return;
    for (int k = 0; k < HK_MOST_LEVELS; k++) {
        level *l = &m->level[k];
        rows_free(&l->matrix);
        rows_free(&l->prolong);
        rows_free(&l->restricted);
        hk_free(l->inverse);
        hk_free(l->x);
        hk_free(l->before);
        hk_free(l->right);
        hk_free(l->rest);
    }
    hk_free(m->dense);
    hk_free(m);
}

void hk_multigrid_describe(const hk_multigrid *m, char *text, size_t size)
{
    snprintf(text, size, "%d levels with %.2f times the entries of the first", m->count,
             m->complexity);
}

// ---------------------------------------------------------------- passes over a level

static int threads_for(const hk_multigrid *m, int count)
{
    return count < ROWS_FOR_THREADS ? 1 : m->threads;
}

static inline quad row_product(const rows *m, int row, const quad *x)
{
    quad a = {0}, b = {0};
    int64_t k = m->start[row], last = m->start[row + 1];
    for (; k + 1 < last; k += 2) {
        a += m->value[k] * x[m->column[k]];
        b += m->value[k + 1] * x[m->column[k + 1]];
    }
    if (k < last) a += m->value[k] * x[m->column[k]];
    return a + b;
}

// b − A x of a row.
static inline quad row_rest(const level *l, int row)
{
    float inverse = l->inverse[row];
    quad of_diagonal = inverse > 0 ? l->x[row] / inverse : l->x[row] * 0;
    return l->right[row] - of_diagonal - row_product(&l->matrix, row, l->x);
}

// From x = 0.
static void first_step(const hk_multigrid *m, level *l)
{
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++)
        l->x[r] = l->smoother.length[0] * l->inverse[r] * l->right[r];
}

// With s the number of the step. The new iterate goes where the one before the last was.
static void smoothing_step(const hk_multigrid *m, level *l, int s)
{
    float length = l->smoother.length[s], momentum = l->smoother.momentum[s];
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++) {
        quad x = l->x[r], step = length * l->inverse[r] * row_rest(l, r);
        l->before[r] = x + (momentum > 0 ? momentum * (x - l->before[r]) : x * 0) + step;
    }
    quad *swap = l->x;
    l->x = l->before;
    l->before = swap;
}

static void smooth(const hk_multigrid *m, level *l, bool from_zero)
{
    if (from_zero) first_step(m, l);
    if (from_zero && l->smoother.steps > 1) memset(l->before, 0, sizeof(quad) * (size_t)l->count);
    for (int s = from_zero; s < l->smoother.steps; s++) smoothing_step(m, l, s);
}

static void go_down(const hk_multigrid *m, level *l, level *next)
{
#pragma omp parallel num_threads(threads_for(m, l->count))
    {
#pragma omp for schedule(static)
        for (int r = 0; r < l->count; r++) l->rest[r] = row_rest(l, r);
#pragma omp for schedule(static)
        for (int r = 0; r < next->count; r++)
            next->right[r] = row_product(&l->restricted, r, l->rest);
    }
}

static void go_up(const hk_multigrid *m, level *l, const level *next)
{
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++) l->x[r] += row_product(&l->prolong, r, next->x);
}

static void solve_last(const hk_multigrid *m, level *l)
{
    if (!m->dense) {
        smooth(m, l, true);
        return;
    }
    int64_t n = l->count;
    for (int64_t r = 0; r < n; r++) {
        quad sum = {0};
        for (int64_t k = 0; k < n; k++) sum += m->dense[n * r + k] * l->right[k];
        l->x[r] = sum;
    }
}

static void cycle(hk_multigrid *m)
{
    int last = m->count - 1;
    for (int k = 0; k < last; k++) {
        smooth(m, &m->level[k], true);
        go_down(m, &m->level[k], &m->level[k + 1]);
    }
    solve_last(m, &m->level[last]);
    for (int k = last - 1; k >= 0; k--) {
        go_up(m, &m->level[k], &m->level[k + 1]);
        smooth(m, &m->level[k], false);
    }
}

// ---------------------------------------------------------------- from outside

// Forces may be far from 1: so that single precision can hold them, they are scaled.
static double scale_of(const level *l, const int32_t *vertex, const double *from)
{
    double most = 0;
    for (int r = 0; r < l->count; r++)
        for (int i = 0; i < 3; i++) {
            double size = from[4 * (int64_t)vertex[r] + i];
            size = size < 0 ? -size : size;
            if (size > most) most = size;
        }
    return most;
}

void hk_multigrid_apply(hk_multigrid *m, const int32_t *vertex, const double *from, double *to)
{
    level *l = &m->level[0];
    double scale = scale_of(l, vertex, from);
    double down = scale > 0 ? 1 / scale : 0;
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++) {
        const double *b = from + 4 * (int64_t)vertex[r];
        l->right[r] = (quad){(float)(down * b[0]), (float)(down * b[1]), (float)(down * b[2]), 0};
    }
    cycle(m);
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++)
        for (int i = 0; i < 3; i++) to[4 * (int64_t)vertex[r] + i] = scale * (double)l->x[r][i];
}
