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

static void list_pairs(const hk_model *m, const hk_links *links, const int32_t *unknown,
                       int64_t *next, int32_t *rows)
{
    for (int t = 0; t < m->tet_count; t++) {
        int32_t corner[4];
        for (int c = 0; c < 4; c++) corner[c] = unknown[m->place[m->tets[4 * (int64_t)t + c]]];
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) add_pair(corner[a], corner[b], next, rows);
    }
    for (int link = 0; link < links->link_count; link++)
        for (int a = links->start[link]; a < links->start[link + 1]; a++)
            for (int b = a + 1; b < links->start[link + 1]; b++)
                add_pair(unknown[links->vertex[a]], unknown[links->vertex[b]], next, rows);
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

hk_status hk_laplacian_pattern(const hk_model *m, const hk_links *links, const int32_t *unknown,
                               int count, hk_pattern *scalar)
{
    int64_t *start = HK_ZEROS(int64_t, (size_t)count + 2);
    if (!start) return HK_NO_MEMORY;
    // Shifted by two, so that filling leaves the starts where they belong.
    list_pairs(m, links, unknown, start + 1, NULL);
    for (int c = 0; c < count; c++) start[c + 2] += start[c + 1];
    int32_t *rows = HK_ARRAY(int32_t, start[count + 1]);
    if (!rows) {
        hk_free(start);
        return HK_NO_MEMORY;
    }
    list_pairs(m, links, unknown, start + 1, rows);
    compress(start, count, rows);
    *scalar = (hk_pattern){true, count, start, rows};
    return HK_OK;
}

// ---------------------------------------------------------------- the numbers

// Where row r of block column c stands.
static int64_t entry_of(const hk_pattern *p, int32_t c, int32_t r)
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
    return hk_pattern_column(p, c, 0) + 1 + low - p->start[c];
}

// Shape-function gradients of a tet, 1/m.
static void shape_gradients(const hk_model *m, int tet, double g[4][3])
{
    double inverse[9];
    hk_rest_inverse(m, tet, inverse);
    for (int k = 0; k < 3; k++) memcpy(g[k + 1], inverse + 3 * k, sizeof g[0]);
    for (int i = 0; i < 3; i++) g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
}

static void add_tets(const hk_model *m, const int32_t *unknown, const hk_pattern *scalar,
                     const double *weight, double *values)
{
    for (int t = 0; t < m->tet_count; t++) {
        double g[4][3], w = weight[m->tet_material[t]] * m->volume[t];
        shape_gradients(m, t, g);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int32_t r = unknown[m->place[m->tets[4 * (int64_t)t + a]]];
                int32_t c = unknown[m->place[m->tets[4 * (int64_t)t + b]]];
                if (r < c || c < 0) continue;
                values[entry_of(scalar, c, r)] +=
                    w * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
            }
    }
}

static void add_links(const hk_links *t, const int32_t *unknown, const hk_pattern *scalar,
                      double *values)
{
    for (int link = 0; link < t->link_count; link++)
        for (int a = t->start[link]; a < t->start[link + 1]; a++)
            for (int b = t->start[link]; b < t->start[link + 1]; b++) {
                int32_t r = unknown[t->vertex[a]];
                int32_t c = unknown[t->vertex[b]];
                if (r < c || c < 0) continue;
                values[entry_of(scalar, c, r)] +=
                    t->stiffness[link] * t->coefficient[a] * t->coefficient[b];
            }
}

void hk_laplacian_numbers(const hk_model *model, const hk_links *links, const int32_t *unknown,
                          const hk_pattern *scalar, const double *weight, double *values)
{
    memset(values, 0, sizeof(double) * (size_t)hk_pattern_size(scalar));
    add_tets(model, unknown, scalar, weight, values);
    add_links(links, unknown, scalar, values);
}

void hk_laplacian_fill(const hk_model *model, const hk_links *links, const hk_assembly *assembly,
                       const hk_pattern *scalar, const double *weight, double *values)
{
    hk_laplacian_numbers(model, links, assembly->unknown, scalar, weight, values);
}
