// The inverse of the Cholesky factor of the constant matrix (laplacian.h).
#include <math.h>
#include <omp.h>

#include "gpu/laplacian.h"
#include "linear/direct.h"
#include "solver/constant_matrix.h"
#include "term/laplacian.h"

enum { COLUMNS = 16, EIGHT = 8, BLOCK = 32 };  // columns, rows, columns of L at a time

// ---------------------------------------------------------------- the factor

// The matrix over the free vertices in an order of elimination, and its factor.
typedef struct factored {
    hk_pattern pattern;
    double *value;
    hk_direct *direct;
    hk_supernodes nodes;
} factored;

static void factored_free(factored *f)
{
    hk_direct_free(f->direct);
    hk_pattern_free(&f->pattern);
    hk_free(f->value);
}

static const hk_links g_no_links = {.link_count = 0};

// vertex[k] becomes the k-th free vertex here in the order of elimination, unknown its inverse by
// places in the Morton order.
static hk_status order_vertices(const hk_gpu_matrix *from, hk_gpu_inverse *s, int32_t *unknown)
{
    const hk_model *m = from->model;
    int32_t *order = HK_ARRAY(int32_t, s->count), *free = HK_ARRAY(int32_t, s->count);
    hk_pattern pattern = {0};
    hk_status status = order && free ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        int count = 0;
        for (int k = 0; k < m->vertex_count; k++) {
            bool held = m->hold[m->order[from->place[k]]] != HK_FREE;
            unknown[from->place[k]] = held ? -1 : count;
            if (!held) free[count++] = k;
        }
        status = hk_laplacian_pattern(m, &g_no_links, unknown, s->count, &pattern);
    }
    if (status == HK_OK) status = hk_order_blocks(&pattern, order);
    for (int k = 0; k < s->count && status == HK_OK; k++) {
        s->vertex[k] = free[order[k]];
        unknown[from->place[s->vertex[k]]] = k;
    }
    hk_pattern_free(&pattern);
    hk_free(order);
    hk_free(free);
    return status;
}

static hk_status fill_matrix(const hk_gpu_matrix *from, const hk_gpu_inverse *s,
                             const int32_t *unknown, factored *f)
{
    const hk_model *m = from->model;
    HK_TRY(hk_laplacian_pattern(m, &g_no_links, unknown, s->count, &f->pattern));
    f->value = HK_ARRAY(double, hk_pattern_size(&f->pattern));
    if (!f->value) return HK_NO_MEMORY;
    hk_laplacian_numbers(m, &g_no_links, unknown, &f->pattern, from->weight, f->value);
    for (int k = 0; k < s->count; k++) {
        double mass = m->mass[m->order[from->place[s->vertex[k]]]];
        f->value[hk_pattern_column(&f->pattern, k, 0)] += from->inertia * mass + from->air;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- how large it will be

// Row i of S has a number for every descendant of i in the elimination tree, so that there are as
// many numbers as ancestors of all columns.
static int64_t count_ancestors(const hk_pattern *p, int32_t *depth)
{
    int64_t sum = 0;
    for (int c = p->count - 1; c >= 0; c--) {
        depth[c] = depth[c] >= 0 ? depth[depth[c]] + 1 : 1;  // it was the parent
        sum += depth[c];
    }
    return sum;
}

// Liu's elimination tree, row by row; rows of the lower triangle are columns of its transpose.
static hk_status estimate_size(const hk_pattern *p, int64_t *size)
{
    int64_t entries = p->start[p->count];
    int64_t *next = HK_ZEROS(int64_t, p->count + 2);
    int32_t *column = HK_ARRAY(int32_t, entries), *parent = HK_ARRAY(int32_t, p->count);
    int32_t *ancestor = HK_ARRAY(int32_t, p->count);
    hk_status status = next && column && parent && ancestor ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t k = 0; k < entries; k++) next[p->row[k] + 2]++;
        for (int r = 0; r < p->count; r++) next[r + 2] += next[r + 1];
        for (int c = 0; c < p->count; c++)
            for (int64_t k = p->start[c]; k < p->start[c + 1]; k++)
                column[next[p->row[k] + 1]++] = c;
        for (int r = 0; r < p->count; r++) {
            parent[r] = ancestor[r] = -1;
            for (int64_t k = next[r]; k < next[r + 1]; k++)
                for (int32_t i = column[k], up; i >= 0 && i < r; i = up) {
                    up = ancestor[i];
                    ancestor[i] = r;
                    if (up < 0) parent[i] = r;
                }
        }
        *size = count_ancestors(p, parent);
    }
    hk_free(next);
    hk_free(column);
    hk_free(parent);
    hk_free(ancestor);
    return status;
}

static hk_status check_size(double size, int64_t most)
{
    if (size <= (double)most) return HK_OK;
    return hk_fail(HK_UNSUPPORTED,
                   "backend \"cuda\": the inverse factor would have %.0f million numbers, more "
                   "than %.0f: use \"global\": \"chebyshev\"",
                   1e-6 * size, 1e-6 * (double)most);
}

// ---------------------------------------------------------------- panels

static int node_rows(const hk_supernodes *n, int k)
{
    return n->row_start[k + 1] - n->row_start[k];
}

static int node_columns(const hk_supernodes *n, int k)
{
    return n->first[k + 1] - n->first[k];
}

static int node_of(const hk_supernodes *n, int column)
{
    int low = 0, high = n->count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (n->first[middle] <= column)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int rounded_up(int a)
{
    return (a + HK_GPU_ALIGNED - 1) / HK_GPU_ALIGNED * HK_GPU_ALIGNED;
}

// The supernodes are postordered: all descendants of one come right before it.
static hk_status make_panels(const hk_supernodes *n, int64_t most, hk_gpu_inverse *s)
{
    s->panel_count = n->count;
    s->panels = HK_ARRAY(hk_gpu_panel, n->count);
    if (!s->panels) return HK_NO_MEMORY;
    for (int k = 0; k < n->count; k++) {
        bool root = node_rows(n, k) == node_columns(n, k);
        s->panels[k] = (hk_gpu_panel){
            .row = n->first[k],
            .rows = node_columns(n, k),
            .column = n->first[k],
            .parent = root ? -1 : node_of(n, n->row[n->row_start[k] + node_columns(n, k)])};
    }
    for (int k = 0; k < n->count; k++) {
        hk_gpu_panel *p = &s->panels[k];
        if (p->parent >= 0 && p->column < s->panels[p->parent].column)
            s->panels[p->parent].column = p->column;
        p->column = p->column / HK_GPU_ALIGNED * HK_GPU_ALIGNED;
        p->width = rounded_up(p->row + p->rows - p->column);
        p->start = s->size;
        s->size += (int64_t)p->width * p->rows;
    }
    HK_TRY(check_size((double)s->size, most));
    s->value = HK_ZEROS(float, s->size);
    return s->value ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- numbers

// x[row] −= Σ l x[c] over the columns of a supernode, for eight rows of x at once, two of their
// columns at a time: the sums stay in registers, and the factor is read by whole cache lines.
typedef double pair __attribute__((vector_size(16)));

static void subtract_eight(const double *value, int stride, int columns, const double *own,
                           const int *row, double *x)
{
    for (int q = 0; q < COLUMNS / 2; q++) {
        pair sum[EIGHT] = {{0}};
        const double *v = value;
        const pair *from = (const pair *)own + q;
        for (int c = 0; c < columns; c++, v += stride, from += COLUMNS / 2) {
            pair f = *from;
            for (int i = 0; i < EIGHT; i++) sum[i] += v[i] * f;
        }
        for (int i = 0; i < EIGHT; i++) ((pair *)(x + (int64_t)COLUMNS * row[i]))[q] -= sum[i];
    }
}

static void subtract_one(const double *value, int stride, int columns, const double *own,
                         double *restrict to)
{
    for (int c = 0; c < columns; c++, own += COLUMNS)
        for (int q = 0; q < COLUMNS; q++) to[q] -= value[(int64_t)stride * c] * own[q];
}

// x := L_ss⁻¹ x for the columns of supernode k, a few at a time, and what they take from the rows
// below them; x is [count][COLUMNS].
static void substitute(const hk_supernodes *n, int k, double *x)
{
    int rows = node_rows(n, k), columns = node_columns(n, k);
    const int *row = n->row + n->row_start[k];
    for (int first = 0; first < columns; first += BLOCK) {
        int last = hk_min_int(first + BLOCK, columns), r = first;
        const double *value = n->value + n->value_start[k] + (int64_t)rows * first;
        double *own = x + (int64_t)COLUMNS * row[first];
        for (; r < last; r++) {
            double *to = x + (int64_t)COLUMNS * row[r];
            double inverse = 1 / value[r + (int64_t)rows * (r - first)];
            subtract_one(value + r, rows, r - first, own, to);
            for (int q = 0; q < COLUMNS; q++) to[q] *= inverse;
        }
        for (; r + EIGHT <= rows; r += EIGHT)
            subtract_eight(value + r, rows, last - first, own, row + r, x);
        for (; r < rows; r++)
            subtract_one(value + r, rows, last - first, own, x + (int64_t)COLUMNS * row[r]);
    }
}

// Columns [first, last) of S, from supernode k up to the root. x is 0 before and after.
static void invert_columns(const hk_supernodes *n, hk_gpu_inverse *s, int k, int first, int last,
                           double *x)
{
    for (int c = first; c < last; c++) x[(int64_t)COLUMNS * c + c - first] = 1;
    for (; k >= 0; k = s->panels[k].parent) {
        const hk_gpu_panel *p = &s->panels[k];
        substitute(n, k, x);
        for (int r = 0; r < p->rows; r++) {
            double *from = x + (int64_t)COLUMNS * (p->row + r);
            float *to = s->value + p->start + (int64_t)p->width * r - p->column;
            for (int c = first; c < last; c++)
                if (c <= p->row + r) to[c] = (float)from[c - first];
            memset(from, 0, COLUMNS * sizeof *from);
        }
    }
}

static hk_status invert(const hk_supernodes *n, int threads, hk_gpu_inverse *s)
{
    hk_status worst = HK_OK;
#pragma omp parallel num_threads(threads)
    {
        double *x = HK_ZEROS(double, COLUMNS *(size_t)s->count);
        if (!x) {
#pragma omp atomic write
            worst = HK_NO_MEMORY;
        }
#pragma omp for schedule(dynamic, 16)
        for (int k = 0; k < n->count; k++)
            for (int c = n->first[k]; x && c < n->first[k + 1]; c += COLUMNS)
                invert_columns(n, s, k, c, hk_min_int(c + COLUMNS, n->first[k + 1]), x);
        hk_free(x);
    }
    return worst == HK_OK ? HK_OK : hk_no_memory();
}

// ---------------------------------------------------------------- tasks

static int groups_of(const hk_gpu_panel *p)
{
    return (p->rows + HK_GPU_TASK_ROWS - 1) / HK_GPU_TASK_ROWS;
}

// Columns that are not 0 in the rows of a group.
static int columns_of(const hk_gpu_panel *p, int group)
{
    int rows = hk_min_int(p->rows, HK_GPU_TASK_ROWS * (group + 1));
    return p->row + rows - p->column;
}

static int parts_of(int columns)
{
    return (columns + HK_GPU_TASK_COLUMNS - 1) / HK_GPU_TASK_COLUMNS;
}

static hk_status make_tasks(hk_gpu_inverse *s)
{
    int64_t count = 0;
    for (int k = 0; k < s->panel_count; k++)
        for (int g = 0; g < groups_of(&s->panels[k]); g++)
            count += parts_of(columns_of(&s->panels[k], g));
    if (count * HK_GPU_TASK_ROWS > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": the inverse factor is too large");
    s->tasks = HK_ARRAY(hk_gpu_task, count);
    s->row_task = HK_ARRAY(int32_t, s->count);
    s->row_parts = HK_ARRAY(int32_t, s->count);
    if (!s->tasks || !s->row_task || !s->row_parts) return HK_NO_MEMORY;
    for (int k = 0; k < s->panel_count; k++)
        for (int g = 0; g < groups_of(&s->panels[k]); g++) {
            const hk_gpu_panel *p = &s->panels[k];
            int first = HK_GPU_TASK_ROWS * g, columns = columns_of(p, g);
            int rows = hk_min_int(HK_GPU_TASK_ROWS, p->rows - first);
            for (int r = 0; r < rows; r++) {
                s->row_task[p->row + first + r] = HK_GPU_TASK_ROWS * s->task_count + r;
                s->row_parts[p->row + first + r] = parts_of(columns);
            }
            for (int c = 0; c < columns; c += HK_GPU_TASK_COLUMNS)
                s->tasks[s->task_count++] =
                    (hk_gpu_task){.value = p->start + (int64_t)p->width * first + c,
                                  .rows = rows,
                                  .width = p->width,
                                  .column = p->column + c,
                                  .columns = hk_min_int(HK_GPU_TASK_COLUMNS, columns - c)};
        }
    return HK_OK;
}

// The panels of a tile of columns, counted (to is NULL) or written: those of its columns' own
// supernodes and of all their ancestors, each once. `seen` is the last tile that saw a panel.
static int list_segments(const hk_gpu_inverse *s, const int32_t *panel_of, int tile, int32_t *seen,
                         hk_gpu_segment *to)
{
    int count = 0, last = hk_min_int(s->count, HK_GPU_TILE * (tile + 1));
    for (int c = HK_GPU_TILE * tile; c < last; c++)
        for (int k = panel_of[c]; k >= 0 && seen[k] != tile; k = s->panels[k].parent) {
            const hk_gpu_panel *p = &s->panels[k];
            seen[k] = tile;
            if (to)
                to[count] = (hk_gpu_segment){.value = p->start - p->column,
                                             .row = p->row,
                                             .rows = p->rows,
                                             .width = p->width,
                                             .first = p->column,
                                             .last = p->row + p->rows};
            count++;
        }
    return count;
}

static hk_status list_all_segments(hk_gpu_inverse *s, int32_t *panel_of, int32_t *seen)
{
    int tiles = (s->count + HK_GPU_TILE - 1) / HK_GPU_TILE;
    int64_t count = 0;
    for (int k = 0; k < s->panel_count; k++) {
        seen[k] = -1;
        for (int r = 0; r < s->panels[k].rows; r++) panel_of[s->panels[k].row + r] = k;
    }
    s->segment_start = HK_ZEROS(int32_t, tiles + 1);
    if (!s->segment_start) return HK_NO_MEMORY;
    for (int t = 0; t < tiles; t++) {
        count += list_segments(s, panel_of, t, seen, NULL);
        if (count > INT32_MAX)
            return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": the inverse factor is too large");
        s->segment_start[t + 1] = (int32_t)count;
    }
    s->segment_count = (int)count;
    s->segments = HK_ARRAY(hk_gpu_segment, count);
    if (!s->segments) return HK_NO_MEMORY;
    for (int k = 0; k < s->panel_count; k++) seen[k] = -1;
    for (int t = 0; t < tiles; t++)
        list_segments(s, panel_of, t, seen, s->segments + s->segment_start[t]);
    return HK_OK;
}

static hk_status make_segments(hk_gpu_inverse *s)
{
    int32_t *panel_of = HK_ARRAY(int32_t, s->count), *seen = HK_ARRAY(int32_t, s->panel_count);
    hk_status status = panel_of && seen ? list_all_segments(s, panel_of, seen) : HK_NO_MEMORY;
    hk_free(panel_of);
    hk_free(seen);
    return status;
}

// ---------------------------------------------------------------- creation

static hk_status build(const hk_gpu_matrix *from, int64_t most, int32_t *unknown, factored *f,
                       hk_gpu_inverse *s)
{
    // Compact bodies have about 2 n^5/3. What is far above the limit is not worth ordering.
    int64_t size;
    HK_TRY(check_size(0.25 * pow(s->count, 5.0 / 3), most));
    HK_TRY(order_vertices(from, s, unknown));
    HK_TRY(fill_matrix(from, s, unknown, f));
    HK_TRY(estimate_size(&f->pattern, &size));
    HK_TRY(check_size((double)size, most));
    HK_TRY(hk_direct_create(&f->pattern, &f->direct));
    HK_TRY(hk_direct_factor_shifted(f->direct, &f->pattern, f->value, "quasi_newton"));
    HK_TRY(hk_direct_supernodes(f->direct, &f->nodes));
    HK_TRY(make_panels(&f->nodes, most, s));
    HK_TRY(invert(&f->nodes, from->threads > 0 ? from->threads : omp_get_num_procs(), s));
    HK_TRY(make_tasks(s));
    return make_segments(s);
}

hk_status hk_gpu_inverse_create(const hk_gpu_matrix *from, int64_t most, hk_gpu_inverse **inverse)
{
    const hk_model *m = from->model;
#ifndef HOOKE_DIRECT
    return hk_fail(HK_UNSUPPORTED,
                   "backend \"cuda\": this build has no direct solver, which \"global\": "
                   "\"inverse\" needs; use \"chebyshev\"");
#endif
    hk_gpu_inverse *s = HK_NEW(hk_gpu_inverse);
    if (!s) return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++) s->count += m->hold[v] == HK_FREE;
    int32_t *unknown = HK_ARRAY(int32_t, m->vertex_count);
    s->vertex = HK_ARRAY(int32_t, s->count);
    factored f = {0};
    hk_status status = unknown && s->vertex ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK && s->count > 0) status = build(from, most, unknown, &f, s);
    factored_free(&f);
    hk_free(unknown);
    if (status != HK_OK) {
        hk_gpu_inverse_free(s);
        return status;
    }
    *inverse = s;
    return HK_OK;
}

void hk_gpu_inverse_free(hk_gpu_inverse *s)
{
    if (!s) return;
    hk_free(s->vertex);
    hk_free(s->panels);
    hk_free(s->tasks);
    hk_free(s->row_task);
    hk_free(s->row_parts);
    hk_free(s->segment_start);
    hk_free(s->segments);
    hk_free(s->value);
    hk_free(s);
}
