#include "gpu/laplacian.h"

#include <math.h>
#include <omp.h>

#include "linear/hierarchy.h"
#include "term/laplacian.h"

enum { POWER_ITERATIONS = 30 };

static int threads_of(const hk_gpu_matrix *from)
{
    return from->threads > 0 ? from->threads : omp_get_num_procs();
}

// ---------------------------------------------------------------- the numbers

typedef hk_gpu_triangle triangle;

void hk_gpu_triangle_release(hk_gpu_triangle *t)
{
    hk_pattern_free(&t->pattern);
    hk_free(t->value);
    *t = (hk_gpu_triangle){0};
}

bool hk_gpu_matrix_is_free(const hk_gpu_matrix *from, int vertex)
{
    return from->model->hold[from->model->order[from->place[vertex]]] == HK_FREE;
}

static double inertia_of(const hk_gpu_matrix *from, int vertex)
{
    return from->inertia * from->model->mass[from->model->order[from->place[vertex]]] + from->air;
}

static hk_status fill_triangle(const hk_gpu_matrix *from, int32_t *unknown, hk_gpu_triangle *t)
{
    const hk_model *m = from->model;
    for (int k = 0; k < m->vertex_count; k++)
        unknown[from->place[k]] = hk_gpu_matrix_is_free(from, k) ? k : -1;
    HK_TRY(hk_laplacian_pattern(m, unknown, m->vertex_count, &t->pattern));
    t->value = HK_ARRAY(double, hk_pattern_size(&t->pattern));
    if (!t->value) return HK_NO_MEMORY;
    hk_laplacian_numbers(m, unknown, &t->pattern, from->weight, t->value);
    for (int64_t k = 0; k < hk_pattern_size(&t->pattern); k++) t->value[k] *= 1 + from->stiffening;
    for (int k = 0; k < m->vertex_count; k++)
        if (hk_gpu_matrix_is_free(from, k))
            t->value[hk_pattern_column(&t->pattern, k, 0)] += inertia_of(from, k);
    return HK_OK;
}

hk_status hk_gpu_triangle_create(const hk_gpu_matrix *from, hk_gpu_triangle *t)
{
    int32_t *unknown = HK_ARRAY(int32_t, from->model->vertex_count);
    *t = (hk_gpu_triangle){0};
    hk_status status = unknown ? fill_triangle(from, unknown, t) : HK_NO_MEMORY;
    hk_free(unknown);
    if (status != HK_OK) hk_gpu_triangle_release(t);
    return status;
}

// ---------------------------------------------------------------- rows

static double diagonal_of(const hk_gpu_triangle *t, int row)
{
    return t->value[hk_pattern_column(&t->pattern, row, 0)];
}

// How many entries each slice has in a row; `length` gets those of every row.
static hk_status measure_slices(const hk_gpu_triangle *t, hk_gpu_laplacian *l, int32_t *length)
{
    const hk_pattern *p = &t->pattern;
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            length[c]++;
            length[p->row[k]]++;
        }
    int64_t size = 0;
    for (int s = 0; s < hk_gpu_slices(l); s++) {
        int most = 0;
        for (int r = HK_GPU_ROWS * s; r < hk_min_int(l->count, HK_GPU_ROWS * (s + 1)); r++)
            most = hk_max_int(most, length[r]);
        l->start[s] = (int32_t)size;
        size += HK_GPU_ROWS * (int64_t)most;
        if (size > INT32_MAX)
            return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": the constant matrix is too large");
    }
    l->start[hk_gpu_slices(l)] = (int32_t)size;
    l->entries = HK_ARRAY(hk_gpu_entry, size);
    return l->entries ? HK_OK : HK_NO_MEMORY;
}

static hk_gpu_entry *entry_at(const hk_gpu_laplacian *l, int row, int k)
{
    return &l->entries[l->start[row / HK_GPU_ROWS] + (int64_t)HK_GPU_ROWS * k + row % HK_GPU_ROWS];
}

static void fill_slices(const hk_gpu_triangle *t, hk_gpu_laplacian *l, int32_t *length)
{
    const hk_pattern *p = &t->pattern;
    for (int s = 0; s < hk_gpu_slices(l); s++)
        for (int k = l->start[s]; k < l->start[s + 1]; k++) {
            int row = HK_GPU_ROWS * s + (k - l->start[s]) % HK_GPU_ROWS;
            l->entries[k] = (hk_gpu_entry){hk_min_int(row, l->count - 1), 0};
        }
    memset(length, 0, sizeof *length * (size_t)l->count);
    for (int c = 0; c < p->count; c++) {
        const double *column = t->value + hk_pattern_column(p, c, 0);
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t r = p->row[k];
            double a = column[1 + k - p->start[c]];
            *entry_at(l, c, length[c]++) = (hk_gpu_entry){r, (float)(a / diagonal_of(t, c))};
            *entry_at(l, r, length[r]++) = (hk_gpu_entry){c, (float)(a / diagonal_of(t, r))};
        }
    }
    for (int r = 0; r < l->count; r++)
        l->inverse[r] = diagonal_of(t, r) > 0 ? (float)(1 / diagonal_of(t, r)) : 0;
}

static hk_status fill_surplus(const triangle *t, hk_gpu_laplacian *l)
{
    const hk_pattern *p = &t->pattern;
    double *sum = HK_ARRAY(double, l->count);
    if (!sum) return HK_NO_MEMORY;
    for (int c = 0; c < p->count; c++) sum[c] = diagonal_of(t, c);
    for (int c = 0; c < p->count; c++) {
        const double *column = t->value + hk_pattern_column(p, c, 0);
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            sum[c] += column[1 + k - p->start[c]];
            sum[p->row[k]] += column[1 + k - p->start[c]];
        }
    }
    for (int r = 0; r < l->count; r++)
        l->surplus[r] = diagonal_of(t, r) > 0 ? (float)(sum[r] / diagonal_of(t, r)) : 0;
    hk_free(sum);
    return HK_OK;
}

// ---------------------------------------------------------------- eigenvalues

// to = D⁻¹A from
static void multiply(const hk_gpu_laplacian *l, int threads, const double *from, double *to)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int s = 0; s < hk_gpu_slices(l); s++) {
        int rows = hk_min_int(HK_GPU_ROWS, l->count - HK_GPU_ROWS * s);
        double sum[HK_GPU_ROWS];
        for (int r = 0; r < rows; r++) {
            int row = HK_GPU_ROWS * s + r;
            sum[r] = l->inverse[row] > 0 ? from[row] : 0;
        }
        for (int64_t k = l->start[s]; k < l->start[s + 1]; k++) {
            int r = (int)((k - l->start[s]) % HK_GPU_ROWS);
            if (r < rows) sum[r] += (double)l->entries[k].value * from[l->entries[k].column];
        }
        for (int r = 0; r < rows; r++) to[HK_GPU_ROWS * s + r] = sum[r];
    }
}

// The greatest sum of a row's absolute values bounds all eigenvalues.
static double row_bound(const hk_gpu_laplacian *l)
{
    double most = 1, sum[HK_GPU_ROWS];
    for (int s = 0; s < hk_gpu_slices(l); s++) {
        for (int r = 0; r < HK_GPU_ROWS; r++) sum[r] = 1;
        for (int k = l->start[s]; k < l->start[s + 1]; k++)
            sum[(k - l->start[s]) % HK_GPU_ROWS] += fabs((double)l->entries[k].value);
        for (int r = 0; r < HK_GPU_ROWS; r++) most = fmax(most, sum[r]);
    }
    return most;
}

// By the power method, which comes from below, hence a margin; and never above what is certain.
static hk_status find_greatest(hk_gpu_laplacian *l, int threads)
{
    double *v = HK_ARRAY(double, l->count), *w = HK_ARRAY(double, l->count), ratio = 1;
    hk_status status = v && w ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t k = 0; k < l->count; k++)
            v[k] = l->inverse[k] > 0 ? (double)((uint64_t)k * 2654435761u >> 16 & 1023) - 511.5 : 0;
        for (int n = 0; n < POWER_ITERATIONS; n++) {
            double before = 0, after = 0;
            multiply(l, threads, v, w);
            for (int k = 0; k < l->count; k++) {
                before += v[k] * v[k];
                after += w[k] * w[k];
            }
            if (!(before > 0 && after > 0)) break;
            ratio = sqrt(after / before);
            for (int k = 0; k < l->count; k++) v[k] = w[k] / sqrt(after);
        }
        l->greatest = fmin(1.1 * ratio, row_bound(l));
    }
    hk_free(v);
    hk_free(w);
    return status;
}

// ---------------------------------------------------------------- creation

static hk_status fill(const hk_gpu_matrix *from, const hk_gpu_triangle *t, hk_gpu_laplacian *l)
{
    l->start = HK_ARRAY(int32_t, hk_gpu_slices(l) + 1);
    l->inverse = HK_ARRAY(float, l->count);
    l->surplus = HK_ARRAY(float, l->count);
    int32_t *length = HK_ZEROS(int32_t, l->count);
    hk_status status = l->start && l->inverse && l->surplus && length ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = measure_slices(t, l, length);
    if (status == HK_OK) fill_slices(t, l, length);
    if (status == HK_OK) status = fill_surplus(t, l);
    hk_free(length);
    HK_TRY(status);
    // L is not negative: xᵀA x ≥ Σ m x² ≥ min (m / a) xᵀD x.
    l->least = 1;
    for (int k = 0; k < l->count; k++)
        if (hk_gpu_matrix_is_free(from, k))
            l->least = fmin(l->least, inertia_of(from, k) / diagonal_of(t, k));
    return find_greatest(l, threads_of(from));
}

hk_status hk_gpu_laplacian_create(const hk_gpu_matrix *from, hk_gpu_laplacian **laplacian)
{
    hk_gpu_laplacian *l = HK_NEW(hk_gpu_laplacian);
    triangle t;
    if (!l) return HK_NO_MEMORY;
    l->count = from->model->vertex_count;
    hk_status status = hk_gpu_triangle_create(from, &t);
    if (status == HK_OK) status = fill(from, &t, l);
    hk_gpu_triangle_release(&t);
    if (status != HK_OK) {
        hk_gpu_laplacian_free(l);
        return status;
    }
    *laplacian = l;
    return HK_OK;
}

hk_status hk_gpu_triangle_hierarchy(const hk_gpu_triangle *t, int smallest,
                                    struct hk_hierarchy **hierarchy)
{
    return hk_hierarchy_create(&t->pattern, t->value, smallest, omp_get_num_procs(), hierarchy);
}

// r −= A x, [vertex_count][4] in Morton order.
static void subtract_product(const hk_gpu_matrix *from, const hk_gpu_triangle *t, const double *x,
                             double *r)
{
    const hk_pattern *p = &t->pattern;
    for (int c = 0; c < p->count; c++) {
        int64_t at = hk_pattern_column(p, c, 0), column = 4 * (int64_t)from->place[c];
        for (int i = 0; i < 3; i++) r[column + i] -= t->value[at] * x[column + i];
        for (int64_t e = p->start[c]; e < p->start[c + 1]; e++) {
            int64_t row = 4 * (int64_t)from->place[p->row[e]];
            double number = t->value[at + 1 + e - p->start[c]];
            for (int i = 0; i < 3; i++) {
                r[row + i] -= number * x[column + i];
                r[column + i] -= number * x[row + i];
            }
        }
    }
}

hk_status hk_gpu_triangle_solve(const hk_gpu_matrix *from, const hk_gpu_triangle *t,
                                hk_multigrid *multigrid, int cycles, const double *right, double *x)
{
    int64_t size = 4 * (int64_t)from->model->vertex_count;
    double *rest = HK_ARRAY(double, size);
    if (!rest) return HK_NO_MEMORY;
    memset(x, 0, sizeof(double) * (size_t)size);
    for (int n = 0; n < cycles; n++) {
        memcpy(rest, right, sizeof(double) * (size_t)size);
        if (n > 0) subtract_product(from, t, x, rest);
        hk_multigrid_apply(multigrid, from->place, rest, rest);
        for (int64_t k = 0; k < size; k++) x[k] += rest[k];
    }
    hk_free(rest);
    return HK_OK;
}

void hk_gpu_laplacian_free(hk_gpu_laplacian *l)
{
    if (!l) return;
    hk_free(l->start);
    hk_free(l->entries);
    hk_free(l->inverse);
    hk_free(l->surplus);
    hk_free(l);
}

// k iterations leave at most 2 exp(−2 k √(a/b)) of what lies between a and b. For L-BFGS half is
// enough, k = 0.7 √(b/a), and a need not be the least eigenvalue: with a fifth of the iterations
// that this one would ask for it takes hardly more steps than with A⁻¹ itself (boxes of 11 000 to
// 320 000 tets, h = 1/30 s).
hk_gpu_chebyshev hk_gpu_plan_chebyshev(const hk_gpu_laplacian *l, int inner)
{
    hk_gpu_chebyshev c = {.inner = inner};
    if (inner == 0) c.inner = (int)fmin(48, ceil(0.15 * sqrt(l->greatest / l->least)));
    c.inner = hk_max_int(inner == 0 ? 2 : 1, c.inner);
    double slowest = l->greatest * (0.7 / c.inner) * (0.7 / c.inner);
    double least = fmin(fmax(l->least, slowest), l->greatest);
    c.first = (float)(2 / (least + l->greatest));
    c.radius = (float)((l->greatest - least) / (l->greatest + least));
    return c;
}
