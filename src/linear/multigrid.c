#include "linear/multigrid.h"

#include <stdio.h>

enum { SMALLEST = 200 };
enum { ROWS_FOR_THREADS = 2000 };  // below it is not worth waking them

typedef float quad __attribute__((vector_size(16)));

typedef struct rows {
    int64_t *start;
    int32_t *column;
    float *value;
} rows;

typedef struct level {
    int count;
    float own;
    rows smooth, down, up;
    quad *right, *solution;
} level;

struct hk_multigrid {
    int threads;
    int count;
    float *root;
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

static float *narrow(const double *from, size_t count)
{
    float *to = HK_ARRAY(float, count);
    for (size_t k = 0; k < count && to; k++) to[k] = (float)from[k];
    return to;
}

// Takes starts and columns over.
static hk_status take_rows(hk_sparse *m, rows *r)
{
    if (!m->start) return HK_OK;
    r->value = narrow(m->value, (size_t)m->start[m->rows]);
    r->start = m->start;
    r->column = m->column;
    m->start = NULL;
    m->column = NULL;
    return r->value ? HK_OK : HK_NO_MEMORY;
}

static hk_status take_level(hk_level *from, level *l)
{
    l->count = from->count;
    l->own = (float)from->own;
    HK_TRY(take_rows(&from->smooth, &l->smooth));
    HK_TRY(take_rows(&from->down, &l->down));
    HK_TRY(take_rows(&from->up, &l->up));
    l->right = HK_ZEROS(quad, l->count);
    l->solution = HK_ZEROS(quad, l->count);
    return l->right && l->solution ? HK_OK : HK_NO_MEMORY;
}

static hk_status take_hierarchy(hk_hierarchy *h, hk_multigrid *m)
{
    m->count = h->count;
    m->complexity = hk_hierarchy_complexity(h);
    m->root = narrow(h->root, (size_t)h->level[0].count);
    if (!m->root) return HK_NO_MEMORY;
    for (int k = 0; k < h->count; k++) HK_TRY(take_level(&h->level[k], &m->level[k]));
    if (!h->dense) return HK_OK;
    size_t n = (size_t)m->level[m->count - 1].count;
    m->dense = narrow(h->dense, n * n);
    return m->dense ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_multigrid_create(const hk_pattern *pattern, const double *lower, int threads,
                              hk_multigrid **multigrid)
{
    hk_hierarchy *h;
    HK_TRY(hk_hierarchy_create(pattern, lower, SMALLEST, threads, &h));
    hk_status status = hk_multigrid_take(h, threads, multigrid);
    hk_hierarchy_free(h);
    return status;
}

hk_status hk_multigrid_take(hk_hierarchy *h, int threads, hk_multigrid **multigrid)
{
    hk_multigrid *m = HK_NEW(hk_multigrid);
    hk_status status = m ? take_hierarchy(h, m) : HK_NO_MEMORY;
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
        rows_free(&l->smooth);
        rows_free(&l->down);
        rows_free(&l->up);
        hk_free(l->right);
        hk_free(l->solution);
    }
    hk_free(m->root);
    hk_free(m->dense);
    hk_free(m);
}

void hk_multigrid_describe(const hk_multigrid *m, char *text, size_t size)
{
    snprintf(text, size, "multigrid with %d levels, a cycle reads %.1f times the matrix", m->count,
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

static void go_down(const hk_multigrid *m, const level *l, level *next)
{
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < next->count; r++) next->right[r] = row_product(&l->down, r, l->right);
}

static inline quad smoothed(const level *l, int row)
{
    return l->own * l->right[row] + row_product(&l->smooth, row, l->right);
}

static void go_up(const hk_multigrid *m, level *l, const level *next)
{
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++)
        l->solution[r] = smoothed(l, r) + row_product(&l->up, r, next->solution);
}

static void solve_last(const hk_multigrid *m, level *l)
{
    int64_t n = l->count;
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int64_t r = 0; r < n; r++) {
        quad sum = {0};
        for (int64_t k = 0; k < n && m->dense; k++) sum += m->dense[n * r + k] * l->right[k];
        l->solution[r] = m->dense ? sum : smoothed(l, (int)r);
    }
}

static void cycle(hk_multigrid *m)
{
    int last = m->count - 1;
    for (int k = 0; k < last; k++) go_down(m, &m->level[k], &m->level[k + 1]);
    solve_last(m, &m->level[last]);
    for (int k = last - 1; k >= 0; k--) go_up(m, &m->level[k], &m->level[k + 1]);
}

// ---------------------------------------------------------------- from outside

// Forces may be far from 1: so that single precision can hold them, they are scaled.
static double largest_of(const level *l, const int32_t *vertex, const double *from)
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
    double largest = largest_of(l, vertex, from), down = largest > 0 ? 1 / largest : 0;
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++) {
        const double *b = from + 4 * (int64_t)vertex[r];
        quad scaled = {(float)(down * b[0]), (float)(down * b[1]), (float)(down * b[2]), 0};
        l->right[r] = m->root[r] * scaled;
    }
    cycle(m);
#pragma omp parallel for schedule(static) num_threads(threads_for(m, l->count))
    for (int r = 0; r < l->count; r++) {
        quad x = m->root[r] * l->solution[r];
        for (int i = 0; i < 3; i++) to[4 * (int64_t)vertex[r] + i] = largest * (double)x[i];
    }
}
