#include "term/laplacian.h"

#include <stdlib.h>

// ---------------------------------------------------------------- the pattern

// Pairs of unknowns, counted by column (rows is NULL) or stored; `next` is where a column goes on.
static void add_pair(int32_t a, int32_t b, int64_t *next, int32_t *rows)
{
    if (a < 0 || b < 0 || a == b) return;
    int32_t column = a < b ? a : b, row = a < b ? b : a;
    if (rows)
        rows[next[column]++] = row;
    else
        next[column + 1]++;
}

typedef struct lister {
    const int32_t *unknown;
    int64_t *next;
    int32_t *rows;
} lister;

static void list_stencil(void *context, const hk_stencil *s)
{
    lister *l = context;
    for (int a = 0; a < s->count; a++)
        for (int b = a + 1; b < s->count; b++)
            add_pair(l->unknown[s->vertex[a]], l->unknown[s->vertex[b]], l->next, l->rows);
}

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

// Sorts the rows of every column and leaves each but once; returns how many are left.
static int64_t compress(int64_t *start, int count, int32_t *rows)
{
    int64_t at = 0;
    for (int c = 0; c < count; c++) {
        int64_t begin = start[c], end = start[c + 1];
        qsort(rows + begin, (size_t)(end - begin), sizeof *rows, by_number);
        start[c] = at;
        for (int64_t k = begin; k < end; k++)
            if (k == begin || rows[k] != rows[k - 1]) rows[at++] = rows[k];
    }
    start[count] = at;
    return at;
}

hk_status hk_laplacian_pattern(const hk_model *model, const int32_t *unknown, int count,
                               hk_pattern *scalar)
{
    int64_t *start = HK_ZEROS(int64_t, (size_t)count + 2);
    if (!start) return HK_NO_MEMORY;
    // Shifted by two, so that filling leaves the starts where they belong.
    lister l = {unknown, start + 1, NULL};
    hk_model_stencils(model, list_stencil, &l);
    for (int c = 0; c < count; c++) start[c + 2] += start[c + 1];
    int32_t *rows = HK_ARRAY(int32_t, start[count + 1]);
    if (!rows) {
        hk_free(start);
        return HK_NO_MEMORY;
    }
    l.rows = rows;
    hk_model_stencils(model, list_stencil, &l);
    compress(start, count, rows);
    *scalar = (hk_pattern){true, count, start, rows};
    return HK_OK;
}

// ---------------------------------------------------------------- the numbers

int64_t hk_laplacian_entry(const hk_pattern *p, int32_t c, int32_t r)
{
    if (r == c) return hk_pattern_column(p, c, 0);
    int64_t low = p->start[c], high = p->start[c + 1];
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (p->row[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    if (low == high || p->row[low] != r) return -1;
    return hk_pattern_column(p, c, 0) + 1 + low - p->start[c];
}

typedef struct adder {
    const int32_t *unknown;
    const hk_pattern *scalar;
    double *values;
} adder;

static void add_weights(void *context, const hk_weights *w)
{
    adder *s = context;
    for (int a = 0; a < w->count; a++)
        for (int b = 0; b < w->count; b++) {
            int32_t r = s->unknown[w->vertex[a]], c = s->unknown[w->vertex[b]];
            if (r < c || c < 0) continue;
            s->values[hk_laplacian_entry(s->scalar, c, r)] += hk_weight_of(w, a, b);
        }
}

void hk_laplacian_numbers(const hk_model *model, const int32_t *unknown, const hk_pattern *scalar,
                          const double *weight, double *values)
{
    memset(values, 0, sizeof(double) * (size_t)hk_pattern_size(scalar));
    adder s = {unknown, scalar, values};
    hk_model_weights(model, weight, add_weights, &s);
}
