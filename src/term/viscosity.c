#include "term/viscosity.h"

#include <math.h>

enum { RUN = 1024 };  // vertices a thread takes at a time, whatever the number of threads

static int run_count(int items)
{
    return (items + RUN - 1) / RUN;
}

#define SCALAR  double
#define NAME(x) x##_f64
#define BLOCKS  blocks
#include "term/viscosity_kernels.inl"
#undef SCALAR
#undef NAME
#undef BLOCKS
#define SCALAR  float
#define NAME(x) x##_f32
#define BLOCKS  single_blocks
#include "term/viscosity_kernels.inl"
#undef SCALAR
#undef NAME
#undef BLOCKS

// ---------------------------------------------------------------- creation

// Each block below the diagonal is in two rows. Columns ascend in a row because those before the
// diagonal were entered while earlier columns were gone through.
static void fill_rows(hk_viscosity *t)
{
    const hk_pattern *p = &t->assembly->pattern;
    int count = t->vertex_count;
    for (int c = 0; c < count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            t->start[c + 1]++;
            t->start[p->row[k] + 1]++;
        }
    for (int v = 0; v < count; v++) t->start[v + 1] += t->start[v];
    for (int c = 0; c < count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t r = p->row[k];
            int64_t in_own = t->start[c]++, in_other = t->start[r]++;
            t->column[in_own] = r;
            t->column[in_other] = c;
            t->below[in_own] = t->below[in_other] = k;
        }
    // Filling moved every start to the next one's place.
    for (int v = count; v > 0; v--) t->start[v] = t->start[v - 1];
    t->start[0] = 0;
}

static int32_t find_anchor(int32_t *anchor, int32_t v)
{
    while (anchor[v] != v) v = anchor[v] = anchor[anchor[v]];
    return v;
}

static void fill_anchors(hk_viscosity *t)
{
    for (int v = 0; v < t->vertex_count; v++) t->anchor[v] = v;
    for (int v = 0; v < t->vertex_count; v++)
        for (int64_t k = t->start[v]; k < t->start[v + 1]; k++) {
            int32_t a = find_anchor(t->anchor, v), b = find_anchor(t->anchor, t->column[k]);
            if (a != b) t->anchor[a > b ? a : b] = a < b ? a : b;
        }
    for (int v = 0; v < t->vertex_count; v++) t->anchor[v] = find_anchor(t->anchor, v);
}

static hk_status build(hk_viscosity *t)
{
    size_t n = (size_t)t->vertex_count;
    HK_TRY(hk_assembly_create(t->tets, t->links, NULL, &t->assembly));
    size_t entries = 2 * (size_t)t->assembly->pattern.start[n];
    t->stiffness = HK_ARRAY(double, hk_tet_stiffness_size(t->tets) +
                                        HK_LINK_STIFFNESS * (int64_t)t->links->link_count);
    t->matrix = HK_ARRAY(double, hk_pattern_size(&t->assembly->pattern));
    t->no_weight = HK_ZEROS(double, n);
    t->start = HK_ZEROS(int64_t, n + 1);
    t->column = HK_ARRAY(int32_t, entries);
    t->below = HK_ARRAY(int64_t, entries);
    t->blocks = HK_ZEROS(double, 9 * entries);
    t->diagonal = HK_ZEROS(double, 4 * n);
    t->before = HK_ZEROS(double, 4 * n);
    t->anchor = HK_ARRAY(int32_t, n);
    t->step = HK_ZEROS(double, 4 * n);
    t->partial = HK_ARRAY(double, run_count(t->vertex_count));
    if (!t->stiffness || !t->matrix || !t->no_weight || !t->start || !t->column || !t->below ||
        !t->blocks || !t->diagonal || !t->before || !t->anchor || !t->step || !t->partial)
        return HK_NO_MEMORY;
    fill_rows(t);
    fill_anchors(t);
    return HK_OK;
}

hk_status hk_viscosity_create(hk_tet_term *tets, hk_links *links, hk_viscosity **viscosity)
{
    hk_viscosity *t = HK_NEW(hk_viscosity);
    if (!t) return HK_NO_MEMORY;
    t->tets = tets;
    t->links = links;
    t->threads = tets->threads;
    t->vertex_count = tets->vertex_count;
    hk_status status = build(t);
    if (status != HK_OK) {
        hk_viscosity_free(t);
        return status;
    }
    *viscosity = t;
    return HK_OK;
}

void hk_viscosity_free(hk_viscosity *t)
{
    if (!t) return;
    hk_assembly_free(t->assembly);
    hk_free(t->stiffness);
    hk_free(t->matrix);
    hk_free(t->no_weight);
    hk_free(t->start);
    hk_free(t->column);
    hk_free(t->below);
    hk_free(t->blocks);
    hk_free(t->single_blocks);
    hk_free(t->diagonal);
    hk_free(t->before);
    hk_free(t->anchor);
    hk_free(t->step);
    hk_free(t->partial);
    hk_free(t);
}

hk_status hk_viscosity_allow_single(hk_viscosity *t)
{
    if (!t->single_blocks) t->single_blocks = HK_ZEROS(float, 9 * t->start[t->vertex_count]);
    return t->single_blocks ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- the matrix

// A tet whose material is not defined at x_t does not resist.
static void drop_undefined(hk_viscosity *t)
{
    const hk_tet_term *term = t->tets;
    int width = term->lanes->lanes;
    for (int q = 0; q < term->batch_count; q++) {
#pragma omp parallel for schedule(static) num_threads(t->threads)
        for (int k = 0; k < term->batches[q].count; k++) {
            double *values = t->stiffness + term->stiffness_start[q] +
                             (int64_t)(k / width) * HK_TET_STIFFNESS * width + k % width;
            double sum = 0;
            for (int i = 0; i < HK_TET_STIFFNESS; i++) sum += fabs(values[i * width]);
            for (int i = 0; i < HK_TET_STIFFNESS && !isfinite(sum); i++) values[i * width] = 0;
        }
    }
}

static void fill_stiffness(hk_viscosity *t, const double *x)
{
    int64_t tet_values = hk_tet_stiffness_size(t->tets);
    hk_tet_stiffness(t->tets, x, 0, t->stiffness);
    drop_undefined(t);
    hk_links_stiffness(t->links, x, 0, t->stiffness + tet_values);
    int tied = t->links->attachment_count;
    memset(t->stiffness + tet_values + HK_LINK_STIFFNESS * (int64_t)(t->links->link_count - tied),
           0, sizeof(double) * HK_LINK_STIFFNESS * (size_t)tied);
}

// Row v of K from the columns of its lower triangle.
static void fill_row(hk_viscosity *t, int v)
{
    const hk_pattern *p = &t->assembly->pattern;
    for (int i = 0; i < 3; i++)
        t->diagonal[4 * (int64_t)v + i] = t->matrix[hk_pattern_column(p, v, i)];
    for (int64_t k = t->start[v]; k < t->start[v + 1]; k++) {
        bool mirrored = t->column[k] > v;
        int column = mirrored ? v : t->column[k];
        double *block = t->blocks + 9 * k;
        for (int c = 0; c < 3; c++) {
            const double *from = t->matrix + hk_pattern_column(p, column, c) + 3 - c +
                                 3 * (t->below[k] - p->start[column]);
            for (int r = 0; r < 3; r++) block[mirrored ? 3 * c + r : 3 * r + c] = from[r];
        }
        for (int i = 0; i < 9 && t->single_blocks; i++)
            t->single_blocks[9 * k + i] = (float)block[i];
    }
}

void hk_viscosity_begin(hk_viscosity *t, const double *x, double rate)
{
    t->rate = rate;
    memcpy(t->before, x, 4 * sizeof(double) * (size_t)t->vertex_count);
    fill_stiffness(t, x);
    hk_assemble(t->assembly, t->stiffness, t->no_weight, t->matrix);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int v = 0; v < t->vertex_count; v++) fill_row(t, v);
}

// ---------------------------------------------------------------- evaluation

double hk_viscosity_energy(hk_viscosity *t, const double *x)
{
    return add_product_f64(t, NULL, x, NULL);
}

void hk_viscosity_add_gradient(hk_viscosity *t, const double *x, double *gradient, double *energy)
{
    double sum = add_product_f64(t, NULL, x, gradient);
    if (energy) *energy = sum;
}

void hk_viscosity_add_diagonal(const hk_viscosity *t, double *diagonal)
{
    add_diagonal_f64(t, diagonal);
}

void hk_viscosity_add_stiffness(const hk_viscosity *t, double *values)
{
    int64_t size =
        hk_tet_stiffness_size(t->tets) + HK_LINK_STIFFNESS * (int64_t)t->links->link_count;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t k = 0; k < size; k++) values[k] += t->rate * t->stiffness[k];
}

void hk_viscosity_add_gradient_single(hk_viscosity *t, const hk_single_frame *frame, const float *x,
                                      float *gradient, double *energy)
{
    double sum = add_product_f32(t, frame, x, gradient);
    if (energy) *energy = sum;
}

void hk_viscosity_add_diagonal_single(const hk_viscosity *t, float *diagonal)
{
    add_diagonal_f32(t, diagonal);
}
