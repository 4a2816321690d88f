#include "linear/sparse.h"

void hk_sparse_free(hk_sparse *m)
{
    hk_free(m->start);
    hk_free(m->column);
    hk_free(m->value);
    *m = (hk_sparse){0};
}

static hk_status allocate_entries(hk_sparse *m)
{
    m->column = HK_ARRAY(int32_t, m->start[m->rows]);
    m->value = HK_ARRAY(double, m->start[m->rows]);
    return m->column && m->value ? HK_OK : HK_NO_MEMORY;
}

// Counts at start[row + 1] become starts.
static void add_up(hk_sparse *m)
{
    for (int r = 0; r < m->rows; r++) m->start[r + 1] += m->start[r];
}

// ---------------------------------------------------------------- both triangles

// Columns before rows, so that every row gets its entries in ascending order.
static void fill_both(const hk_pattern *p, const double *lower, hk_sparse *m, int64_t *next)
{
    memcpy(next, m->start, sizeof *next * (size_t)m->rows);
    for (int c = 0; c < p->count; c++) {
        const double *column = lower + hk_pattern_column(p, c, 0);
        m->column[next[c]] = c;
        m->value[next[c]++] = column[0];
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t r = p->row[k];
            m->column[next[r]] = c;
            m->value[next[r]++] = column[1 + k - p->start[c]];
            m->column[next[c]] = r;
            m->value[next[c]++] = column[1 + k - p->start[c]];
        }
    }
}

hk_status hk_sparse_from_lower(const hk_pattern *p, const double *lower, hk_sparse *matrix)
{
    hk_sparse m = {.rows = p->count, .columns = p->count};
    int64_t *next = HK_ARRAY(int64_t, p->count);
    m.start = HK_ZEROS(int64_t, p->count + 1);
    hk_status status = next && m.start ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int c = 0; c < p->count; c++) {
            m.start[c + 1] += 1 + p->start[c + 1] - p->start[c];
            for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) m.start[p->row[k] + 1]++;
        }
        add_up(&m);
        status = allocate_entries(&m);
    }
    if (status == HK_OK) fill_both(p, lower, &m, next);
    hk_free(next);
    if (status != HK_OK) hk_sparse_free(&m);
    *matrix = m;
    return status;
}

// ---------------------------------------------------------------- the transpose

hk_status hk_sparse_transpose(const hk_sparse *m, hk_sparse *transposed)
{
    hk_sparse t = {.rows = m->columns, .columns = m->rows};
    // Shifted by one, so that filling leaves the starts where they belong.
    t.start = HK_ZEROS(int64_t, t.rows + 2);
    hk_status status = t.start ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t k = 0; k < m->start[m->rows]; k++) t.start[m->column[k] + 2]++;
        for (int r = 0; r < t.rows; r++) t.start[r + 2] += t.start[r + 1];
        t.column = HK_ARRAY(int32_t, m->start[m->rows]);
        t.value = HK_ARRAY(double, m->start[m->rows]);
        status = t.column && t.value ? HK_OK : HK_NO_MEMORY;
    }
    for (int r = 0; r < m->rows && status == HK_OK; r++)
        for (int64_t k = m->start[r]; k < m->start[r + 1]; k++) {
            int64_t at = t.start[m->column[k] + 1]++;
            t.column[at] = r;
            t.value[at] = m->value[k];
        }
    if (status != HK_OK) hk_sparse_free(&t);
    *transposed = t;
    return status;
}

// ---------------------------------------------------------------- products

// What a thread needs for a row of a product: where each column was met, −1 for never, and its sum.
typedef struct row_sum {
    int64_t *place;  // [columns]
    double *sum;     // [columns]
    int32_t *met;    // [columns] in the order in which they were met
} row_sum;

static hk_status row_sum_init(row_sum *s, int columns)
{
    s->place = HK_ARRAY(int64_t, columns);
    s->sum = HK_ARRAY(double, columns);
    s->met = HK_ARRAY(int32_t, columns);
    if (!s->place || !s->sum || !s->met) return HK_NO_MEMORY;
    for (int c = 0; c < columns; c++) s->place[c] = -1;
    return HK_OK;
}

static void row_sum_release(row_sum *s)
{
    hk_free(s->place);
    hk_free(s->sum);
    hk_free(s->met);
}

// The sums of a row of a b; returns how many columns it has.
static int add_row(const hk_sparse *a, const hk_sparse *b, int row, row_sum *s)
{
    int count = 0;
    for (int64_t i = a->start[row]; i < a->start[row + 1]; i++) {
        int32_t middle = a->column[i];
        for (int64_t k = b->start[middle]; k < b->start[middle + 1]; k++) {
            int32_t c = b->column[k];
            if (s->place[c] < 0) {
                s->place[c] = count;
                s->met[count] = c;
                s->sum[count++] = 0;
            }
            s->sum[s->place[c]] += a->value[i] * b->value[k];
        }
    }
    for (int k = 0; k < count; k++) s->place[s->met[k]] = -1;
    return count;
}

enum { CHUNK = 512 };  // rows

static void count_rows(const hk_sparse *a, const hk_sparse *b, row_sum *s, hk_sparse *m)
{
#pragma omp for schedule(dynamic, CHUNK)
    for (int r = 0; r < a->rows; r++) m->start[r + 1] = add_row(a, b, r, s);
}

static void fill_rows(const hk_sparse *a, const hk_sparse *b, row_sum *s, hk_sparse *m)
{
#pragma omp for schedule(dynamic, CHUNK)
    for (int r = 0; r < a->rows; r++) {
        int count = add_row(a, b, r, s);
        memcpy(m->column + m->start[r], s->met, sizeof *s->met * (size_t)count);
        memcpy(m->value + m->start[r], s->sum, sizeof *s->sum * (size_t)count);
    }
}

hk_status hk_sparse_multiply(const hk_sparse *a, const hk_sparse *b, int threads,
                             hk_sparse *product)
{
    hk_sparse m = {.rows = a->rows, .columns = b->columns};
    m.start = HK_ZEROS(int64_t, m.rows + 1);
    row_sum *sums = HK_ZEROS(row_sum, threads);
    hk_status status = m.start && sums ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < threads && status == HK_OK; k++) status = row_sum_init(&sums[k], m.columns);
    int next = 0;
    if (status == HK_OK) {
#pragma omp parallel num_threads(threads)
        {
            int mine;
#pragma omp atomic capture
            mine = next++;
            count_rows(a, b, &sums[mine], &m);
        }
        add_up(&m);
        status = allocate_entries(&m);
    }
    next = 0;
    if (status == HK_OK) {
#pragma omp parallel num_threads(threads)
        {
            int mine;
#pragma omp atomic capture
            mine = next++;
            fill_rows(a, b, &sums[mine], &m);
        }
    }
    for (int k = 0; k < threads && sums; k++) row_sum_release(&sums[k]);
    hk_free(sums);
    if (status != HK_OK) hk_sparse_free(&m);
    *product = m;
    return status;
}
