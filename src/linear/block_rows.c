#include "linear/block_rows.h"

#include <omp.h>
#include <stdlib.h>

#include "linear/block_kernels.h"

// Rows that a thread takes at a time, whatever the number of threads.
enum { RUN = 128 };
// Numbers in a matrix from which on threads are worth waking.
enum { SMALLEST_FOR_THREADS = 100000 };
// Columns are read four numbers at a time, a few beyond the last block.
enum { PADDING = 8 };

static int team(const hk_block_rows *m)
{
    int64_t numbers = m->height * m->width * (m->start[m->rows] + m->rows);
    return numbers < SMALLEST_FOR_THREADS ? 1 : m->threads;
}

static int run_count(int rows)
{
    return (rows + RUN - 1) / RUN;
}

// ---------------------------------------------------------------- memory

void hk_block_rows_release(hk_block_rows *m)
{
    hk_free(m->start);
    hk_free(m->column);
    hk_free(m->value);
    hk_free(m->diagonal);
    *m = (hk_block_rows){0};
}

hk_status hk_block_rows_allocate(hk_block_rows *m, bool with_diagonal)
{
    size_t blocks = (size_t)m->start[m->rows], size = (size_t)(m->height * m->width);
    m->kernels = hk_block_kernels_best();
    m->column = HK_ARRAY(int32_t, blocks);
    m->value = HK_ARRAY(float, size *blocks + PADDING);
    if (m->value) memset(m->value + size * blocks, 0, PADDING * sizeof(float));
    if (with_diagonal) m->diagonal = HK_ZEROS(double, size *(size_t)m->rows + PADDING);
    return m->column && m->value && (m->diagonal || !with_diagonal) ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- from a lower triangle

static void count_blocks(const hk_pattern *p, hk_block_rows *m)
{
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            m->start[c + 1]++;
            m->start[p->row[k] + 1]++;
        }
    for (int c = 0; c < p->count; c++) m->start[c + 1] += m->start[c];
}

// Columns ascend in a row because those before the diagonal are entered while earlier columns are
// gone through.
static void fill_blocks(const hk_pattern *p, hk_block_rows *m, int32_t *source)
{
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t r = p->row[k];
            int64_t own = m->start[c]++, other = m->start[r]++;
            m->column[own] = r;
            m->column[other] = c;
            source[own] = source[other] = (int32_t)k;
        }
    // Filling moved every start to the next one's place.
    for (int c = p->count; c > 0; c--) m->start[c] = m->start[c - 1];
    m->start[0] = 0;
}

hk_status hk_block_rows_create(const hk_pattern *p, int threads, hk_block_rows *m, int32_t **source)
{
    if (p->start[p->count] > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "too many pairs of vertices");
    *m = (hk_block_rows){.rows = p->count,
                         .columns = p->count,
                         .height = 3,
                         .width = 3,
                         .threads = threads,
                         .start = HK_ZEROS(int64_t, p->count + 1)};
    if (!m->start) return HK_NO_MEMORY;
    count_blocks(p, m);
    hk_status status = hk_block_rows_allocate(m, true);
    int32_t *made = status == HK_OK ? HK_ARRAY(int32_t, m->start[m->rows]) : NULL;
    if (!made) {
        hk_block_rows_release(m);
        return HK_NO_MEMORY;
    }
    fill_blocks(p, m, made);
    *source = made;
    return HK_OK;
}

// Stores K_ij by columns; the diagonal takes up what rounding removes.
static void store_block(const double k[3][3], float *to, double *diagonal)
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) {
            to[3 * c + r] = (float)k[r][c];
            diagonal[3 * c + r] += k[r][c] - (double)to[3 * c + r];
        }
}

static void set_row(hk_block_rows *m, const hk_pattern *p, const int32_t *source,
                    const double *lower, int i)
{
    double *diagonal = m->diagonal + 9 * (int64_t)i;
    for (int c = 0; c < 3; c++)
        for (int r = c; r < 3; r++)
            diagonal[3 * c + r] = diagonal[3 * r + c] = lower[hk_pattern_column(p, i, c) + r - c];
    for (int64_t at = m->start[i]; at < m->start[i + 1]; at++) {
        bool mirrored = m->column[at] > i;
        int column = mirrored ? i : m->column[at];
        double block[3][3];
        for (int c = 0; c < 3; c++) {
            const double *from = lower + hk_pattern_column(p, column, c) + 3 - c +
                                 3 * (source[at] - p->start[column]);
            for (int r = 0; r < 3; r++) block[mirrored ? c : r][mirrored ? r : c] = from[r];
        }
        store_block((const double(*)[3])block, m->value + 9 * at, diagonal);
    }
}

void hk_block_rows_set(hk_block_rows *m, const hk_pattern *p, const int32_t *source,
                       const double *lower)
{
#pragma omp parallel for schedule(static, RUN) num_threads(team(m))
    for (int i = 0; i < m->rows; i++) set_row(m, p, source, lower, i);
}

// ---------------------------------------------------------------- vectors

void hk_block_product(const hk_block_rows *a, double sign, const double *base, const double *x,
                      double *y)
{
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++)
        a->kernels->product(a, k * RUN, hk_min_int((k + 1) * RUN, a->rows), sign, base, x, y);
}

int64_t hk_block_partials(int rows)
{
    return run_count(rows);
}

static double sum_partial(const double *partial, int rows)
{
    double total = 0;
    for (int k = 0; k < run_count(rows); k++) total += partial[k];
    return total;
}

// Of rows [first, last).
static double dot_of(int height, int first, int last, const double *x, const double *y)
{
    int stride = hk_block_stride(height);
    double sum[6] = {0};
    for (int64_t i = first; i < last; i++)
        for (int c = 0; c < height; c++) sum[c] += x[stride * i + c] * y[stride * i + c];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + (sum[4] + sum[5]);
}

double hk_block_dot(const hk_block_rows *a, const double *x, const double *y, double *partial)
{
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++)
        partial[k] = dot_of(a->height, k * RUN, hk_min_int((k + 1) * RUN, a->rows), x, y);
    return sum_partial(partial, a->rows);
}

double hk_block_product_dot(const hk_block_rows *a, const double *x, double *y, double *partial)
{
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++) {
        int first = k * RUN, last = hk_min_int(first + RUN, a->rows);
        a->kernels->product(a, first, last, 1, NULL, x, y);
        partial[k] = dot_of(a->height, first, last, x, y);
    }
    return sum_partial(partial, a->rows);
}

void hk_block_relax_rows(const hk_block_rows *a, const hk_block_relax *rule, const double *r,
                         double *step, double *y)
{
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++)
        a->kernels->relax(rule, k * RUN, hk_min_int((k + 1) * RUN, a->rows), r, step, y);
}

double hk_block_smooth(const hk_block_rows *a, const hk_block_relax *rule, const double *b,
                       const double *x, double *step, double *y, double *partial)
{
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++) {
        int first = k * RUN, last = hk_min_int(first + RUN, a->rows);
        a->kernels->smooth(a, rule, first, last, b, x, step, y);
        if (partial) partial[k] = dot_of(a->height, first, last, b, y);
    }
    return partial ? sum_partial(partial, a->rows) : 0;
}

double hk_block_go_along(const hk_block_rows *a, double length, const double *p, const double *q,
                         double *x, double *r, double *partial)
{
    int64_t stride = hk_block_stride(a->height);
#pragma omp parallel for schedule(static) num_threads(team(a))
    for (int k = 0; k < run_count(a->rows); k++) {
        int first = k * RUN, last = hk_min_int(first + RUN, a->rows);
        for (int64_t i = stride * first; i < stride * last; i++) {
            x[i] += length * p[i];
            r[i] -= length * q[i];
        }
        partial[k] = dot_of(a->height, first, last, r, r);
    }
    return sum_partial(partial, a->rows);
}

// ---------------------------------------------------------------- patterns of products

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

// One row of a product: its columns are marked with the row's number, and listed if there is a
// list.
typedef struct row_lister {
    int32_t row;
    int32_t *marker;
    int32_t *to;
    int count;
} row_lister;

static void list_columns(row_lister *l, const hk_block_rows *b, int64_t row, int32_t left_out)
{
    for (int64_t k = b->start[row]; k < b->start[row + 1]; k++) {
        int32_t column = b->column[k];
        if (column == left_out || l->marker[column] == l->row) continue;
        l->marker[column] = l->row;
        if (l->to) l->to[l->count] = column;
        l->count++;
    }
}

static int list_row(const hk_block_rows *a, const hk_block_rows *b, bool diagonal, int i,
                    int32_t *marker, int32_t *to)
{
    row_lister l = {.row = i, .marker = marker, .to = to};
    int32_t left_out = diagonal ? i : -1;
    if (a->diagonal) list_columns(&l, b, i, left_out);
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
        list_columns(&l, b, a->column[k], left_out);
    if (to) qsort(to, (size_t)l.count, sizeof *to, by_number);
    return l.count;
}

// `fill`: the columns of every row; else their counts.
static void list_rows(const hk_block_rows *a, const hk_block_rows *b, bool diagonal, bool fill,
                      hk_block_rows *c, int32_t *marker)
{
#pragma omp parallel num_threads(team(c))
    {
        int32_t *own = marker + (int64_t)omp_get_thread_num() * c->columns;
        for (int k = 0; k < c->columns; k++) own[k] = -1;
#pragma omp for schedule(static, RUN)
        for (int i = 0; i < c->rows; i++) {
            int32_t *to = fill ? c->column + c->start[i] : NULL;
            int count = list_row(a, b, diagonal, i, own, to);
            if (!fill) c->start[i + 1] = count;
        }
    }
}

hk_status hk_block_multiply_pattern(const hk_block_rows *a, const hk_block_rows *b, bool diagonal,
                                    hk_block_rows *c)
{
    *c = (hk_block_rows){.rows = a->rows,
                         .columns = b->columns,
                         .height = a->height,
                         .width = b->width,
                         .threads = a->threads,
                         .start = HK_ZEROS(int64_t, a->rows + 1)};
    int32_t *marker = HK_ARRAY(int32_t, (size_t)a->threads * (size_t)b->columns);
    hk_status status = c->start && marker ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        list_rows(a, b, diagonal, false, c, marker);
        for (int i = 0; i < c->rows; i++) c->start[i + 1] += c->start[i];
        status = hk_block_rows_allocate(c, diagonal);
    }
    if (status == HK_OK) list_rows(a, b, diagonal, true, c, marker);
    hk_free(marker);
    if (status != HK_OK) hk_block_rows_release(c);
    return status;
}

hk_status hk_block_transpose_pattern(const hk_block_rows *b, hk_block_rows *t, int32_t **source)
{
    *t = (hk_block_rows){.rows = b->columns,
                         .columns = b->rows,
                         .height = b->width,
                         .width = b->height,
                         .threads = b->threads,
                         .start = HK_ZEROS(int64_t, b->columns + 1)};
    if (!t->start) return HK_NO_MEMORY;
    int64_t blocks = b->start[b->rows];
    for (int64_t k = 0; k < blocks; k++) t->start[b->column[k] + 1]++;
    for (int i = 0; i < t->rows; i++) t->start[i + 1] += t->start[i];
    int32_t *made = HK_ARRAY(int32_t, blocks);
    if (!made || hk_block_rows_allocate(t, false) != HK_OK) {
        hk_free(made);
        hk_block_rows_release(t);
        return HK_NO_MEMORY;
    }
    for (int i = 0; i < b->rows; i++)
        for (int64_t k = b->start[i]; k < b->start[i + 1]; k++) {
            int64_t at = t->start[b->column[k]]++;
            t->column[at] = i;
            made[at] = (int32_t)k;
        }
    for (int i = t->rows; i > 0; i--) t->start[i] = t->start[i - 1];
    t->start[0] = 0;
    *source = made;
    return HK_OK;
}

void hk_block_transpose(const hk_block_rows *b, const int32_t *source, hk_block_rows *t)
{
    int high = b->height, wide = b->width;
    int64_t blocks = t->start[t->rows];
#pragma omp parallel for schedule(static) num_threads(team(b))
    for (int64_t k = 0; k < blocks; k++) {
        const float *from = b->value + high * wide * (int64_t)source[k];
        float *to = t->value + high * wide * k;
        for (int c = 0; c < wide; c++)
            for (int r = 0; r < high; r++) to[wide * r + c] = from[high * c + r];
    }
}

// ---------------------------------------------------------------- numbers of products

// Sums of a row: that of the diagonal first, six columns of hk_block_stride numbers each.
static int sum_size(const hk_block_rows *c)
{
    return 6 * hk_block_stride(c->height);
}

int64_t hk_block_sums(const hk_block_rows *c)
{
    int64_t most = 0;
    for (int i = 0; i < c->rows; i++) {
        int64_t count = c->start[i + 1] - c->start[i];
        if (count > most) most = count;
    }
    return (most + 1) * sum_size(c);
}

static void store_sums(const double *sums, int height, float *to)
{
    for (int c = 0; c < 6; c++)
        for (int r = 0; r < height; r++)
            to[height * c + r] = (float)sums[hk_block_stride(height) * c + r];
}

static void store_exact_sums(const double *sums, int height, double *to)
{
    for (int c = 0; c < 6; c++)
        for (int r = 0; r < height; r++) to[height * c + r] = sums[hk_block_stride(height) * c + r];
}

static void multiply_row(const hk_block_rows *a, const hk_block_rows *b, hk_block_rows *c,
                         int64_t i, int32_t *marker, double *sums)
{
    const hk_block_kernels *kernels = a->kernels;
    int64_t first = c->start[i], count = c->start[i + 1] - first;
    int size = sum_size(c), a_size = a->height * a->width, b_size = b->height * b->width;
    memset(sums, 0, sizeof(double) * (size_t)((count + 1) * size));
    for (int64_t k = 0; k < count; k++) marker[c->column[first + k]] = (int32_t)k + 1;
    if (c->diagonal) marker[i] = 0;
    if (a->diagonal)
        for (int64_t k = b->start[i]; k < b->start[i + 1]; k++)
            kernels->multiply_exact(a->height, a->width, a->diagonal + a_size * i,
                                    b->value + b_size * k,
                                    sums + (int64_t)size * marker[b->column[k]]);
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
        for (int64_t l = b->start[a->column[k]]; l < b->start[a->column[k] + 1]; l++)
            kernels->multiply(a->height, a->width, a->value + a_size * k, b->value + b_size * l,
                              sums + (int64_t)size * marker[b->column[l]]);
    for (int64_t k = 0; k < count; k++) {
        marker[c->column[first + k]] = -1;
        store_sums(sums + size * (k + 1), c->height, c->value + 6 * c->height * (first + k));
    }
    if (!c->diagonal) return;
    marker[i] = -1;
    store_exact_sums(sums, c->height, c->diagonal + 6 * c->height * i);
}

void hk_block_multiply(const hk_block_rows *a, const hk_block_rows *b, hk_block_rows *c,
                       int32_t *marker, double *sums)
{
    int64_t size = hk_block_sums(c);
#pragma omp parallel num_threads(team(c))
    {
        int64_t thread = omp_get_thread_num();
#pragma omp for schedule(static, RUN)
        for (int i = 0; i < c->rows; i++)
            multiply_row(a, b, c, i, marker + thread * c->columns, sums + thread * size);
    }
}
