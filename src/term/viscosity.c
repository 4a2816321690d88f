#include "gpu/term.h"
#include "term/damping_parts.h"
#include "term/viscosity.h"

#include <math.h>

enum { RUN = 1024 };  // vertices that a thread takes at a time, whatever the number of threads

static int run_count(int items)
{
    return (items + RUN - 1) / RUN;
}

static hk_viscosity *viscosity(hk_term *term)
{
    return (hk_viscosity *)term;
}
static const hk_viscosity *const_viscosity(const hk_term *term)
{
    return (const hk_viscosity *)term;
}

static const hk_viscosity *matrix_of(const hk_viscosity *t)
{
    return t->exact ? t->exact : t;
}

static const double *origin_of(const hk_viscosity *t, int v)
{
    static const double zero[3] = {0};
    const hk_frame *frame = t->base.list->frame;
    return frame ? frame->base + 4 * (int64_t)v : zero;
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
    HK_TRY(hk_assembly_create(t->base.list, NULL, &t->assembly));
    size_t entries = 2 * (size_t)t->assembly->pattern.start[n];
    t->stiffness = HK_ARRAY(double, hk_terms_block_size(t->base.list));
    t->matrix = HK_ARRAY(double, hk_pattern_size(&t->assembly->pattern));
    t->no_weight = HK_ZEROS(double, n);
    t->start = HK_ZEROS(int64_t, n + 1);
    t->column = HK_ARRAY(int32_t, entries);
    t->below = HK_ARRAY(int64_t, entries);
    t->blocks = HK_ZEROS(double, 9 * entries);
    t->diagonal = HK_ZEROS(double, 4 * n);
    t->from = HK_ZEROS(double, 4 * n);
    t->anchor = HK_ARRAY(int32_t, n);
    t->step = HK_ZEROS(double, 4 * n);
    t->partial = HK_ARRAY(double, run_count(t->vertex_count));
    if (!t->stiffness || !t->matrix || !t->no_weight || !t->start || !t->column || !t->below ||
        !t->blocks || !t->diagonal || !t->from || !t->anchor || !t->step || !t->partial)
        return HK_NO_MEMORY;
    fill_rows(t);
    fill_anchors(t);
    return HK_OK;
}

static void release_matrix(hk_viscosity *t)
{
    hk_assembly_free(t->assembly);
    hk_free(t->stiffness);
    hk_free(t->laplacian);
    hk_free(t->matrix);
    hk_free(t->no_weight);
    hk_free(t->start);
    hk_free(t->column);
    hk_free(t->below);
    hk_free(t->blocks);
    hk_free(t->single_blocks);
    hk_free(t->diagonal);
    hk_free(t->from);
    hk_free(t->anchor);
    hk_free(t->step);
    hk_free(t->partial);
    hk_term base = t->base;
    int threads = t->threads, vertex_count = t->vertex_count;
    *t = (hk_viscosity){.base = base, .threads = threads, .vertex_count = vertex_count};
}

// All of it or nothing: the next step may ask again.
static hk_status need_matrix(hk_viscosity *t)
{
    if (t->assembly) return HK_OK;
    hk_status status = build(t);
    if (status != HK_OK) release_matrix(t);
    return status;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    hk_viscosity *t = HK_NEW(hk_viscosity);
    if (!t) return HK_NO_MEMORY;
    t->threads = list->threads;
    t->vertex_count = list->vertex_count;
    *term = &t->base;
    return HK_OK;
}

static void release(hk_term *term)
{
    release_matrix(viscosity(term));
    hk_free(term);
}

// ---------------------------------------------------------------- the matrix

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
    }
}

static void fill_matrix(hk_viscosity *t, const hk_step_begin *step)
{
    memcpy(t->from, step->from, 4 * sizeof(double) * (size_t)t->vertex_count);
    hk_terms_blocks(t->base.list, step->state, 0, HK_FOR_DAMPING, t->stiffness);
    hk_damping_scale(t->base.list, t->reference, t->laplacian, t->stiffness);
    hk_assemble(t->assembly, t->stiffness, t->no_weight, t->matrix);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int v = 0; v < t->vertex_count; v++) fill_row(t, v);
}

static bool wanted(const hk_term *term)
{
    return hk_damping_reference(term->list) > 0;
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    hk_viscosity *t = viscosity(term);
    t->rate = 0;
    if (step->pose || !wanted(term)) return HK_OK;
    HK_TRY(need_matrix(t));
    if (term->list->laplacian > 0 && !t->laplacian)
        HK_TRY(hk_laplacian_blocks(term->list, &t->laplacian));
    t->reference = hk_damping_reference(term->list);
    t->rate = t->reference / step->h;
    t->most = hk_damping_most(term->list) / step->h;
    t->version++;
    fill_matrix(t, step);
    return HK_OK;
}

// Those of the Laplacian are others then.
static void take_materials(hk_term *term)
{
    hk_free(viscosity(term)->laplacian);
    viscosity(term)->laplacian = NULL;
}

// In single precision.
static hk_status follow(hk_term *term, const hk_term *from)
{
    hk_viscosity *t = viscosity(term);
    const hk_viscosity *exact = const_viscosity(from);
    t->exact = exact;
    if (!(exact->rate > 0) || t->version == exact->version) return HK_OK;
    int64_t size = 9 * exact->start[exact->vertex_count];
    if (!t->single_blocks) t->single_blocks = HK_ARRAY(float, size);
    if (!t->step) t->step = HK_ZEROS(float, 4 * (size_t)t->vertex_count);
    if (!t->partial) t->partial = HK_ARRAY(double, run_count(t->vertex_count));
    if (!t->single_blocks || !t->step || !t->partial) return HK_NO_MEMORY;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t k = 0; k < size; k++) t->single_blocks[k] = (float)exact->blocks[k];
    t->version = exact->version;
    return HK_OK;
}

// ---------------------------------------------------------------- evaluation

static bool active(const hk_term *term)
{
    return matrix_of(const_viscosity(term))->rate > 0;
}

static bool is_single(const hk_term *term)
{
    return term->list->precision == HK_SINGLE;
}

static double energy(hk_term *term, const void *x)
{
    if (!active(term)) return 0;
    return is_single(term) ? add_product_f32(viscosity(term), x, NULL)
                           : add_product_f64(viscosity(term), x, NULL);
}

static void add_gradient(hk_term *term, const void *x, void *gradient, double *sum)
{
    double found = is_single(term) ? add_product_f32(viscosity(term), x, gradient)
                                   : add_product_f64(viscosity(term), x, gradient);
    if (sum) *sum = found;
}

static void add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    (void)x;
    if (is_single(term))
        add_diagonal_f32(viscosity(term), diagonal);
    else
        add_diagonal_f64(viscosity(term), diagonal);
}

// r K, by the elements of the list.
static void amend_blocks(const hk_term *term, double *values)
{
    const hk_viscosity *t = const_viscosity(term);
    int64_t size = hk_terms_block_size(term->list);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t k = 0; k < size; k++) values[k] += t->rate * t->stiffness[k];
}

static double stiffening(const hk_term *term)
{
    const hk_viscosity *t = const_viscosity(term);
    return t->rate > 0 ? t->most : 0;
}

static bool vertex(const hk_term *term, int v, const void *x, double gradient[3], double block[6])
{
    if (!active(term)) return false;
    if (is_single(term))
        push_f32(const_viscosity(term), v, x, gradient, block);
    else
        push_f64(const_viscosity(term), v, x, gradient, block);
    return true;
}

const hk_term_ops hk_viscosity_term = {
    .name = "viscous damping",
    .part = HK_PART_DAMPING,
    .device = &hk_gpu_builtin_term,
    .of_displacement = true,
    .advice = "set \"viscous\" and \"laplacian\" to 0 (air, ether and pbd are possible)",
    .create = create,
    .free = release,
    .follow = follow,
    .begin_step = begin_step,
    .take_materials = take_materials,
    .active = active,
    .wanted = wanted,
    .energy = energy,
    .add_gradient = add_gradient,
    .add_diagonal = add_diagonal,
    .amend_blocks = amend_blocks,
    .stiffening = stiffening,
    .vertex = vertex,
};
