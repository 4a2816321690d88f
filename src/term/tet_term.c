// Tets with a material, as a term of ε.
#include <math.h>
#include <stdio.h>

#include "gpu/term.h"
#include "term/tet.h"

static hk_tet_term *tets(hk_term *term)
{
    return (hk_tet_term *)term;
}
static const hk_tet_term *const_tets(const hk_term *term)
{
    return (const hk_tet_term *)term;
}

// ---------------------------------------------------------------- creation and events

static hk_status add_base(hk_tet_term *t, const hk_frame *frame)
{
    for (int q = 0; q < t->batch_count; q++) {
        hk_tet_batch *b = &t->batches[q];
        size_t count = 9 * (size_t)b->blocks * (size_t)t->lanes->lanes;
        b->base = frame->displacement;
        b->start = hk_calloc(count, (size_t)t->lanes->scalar_size);
        if (!b->start) return HK_NO_MEMORY;
    }
    return HK_OK;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    hk_tet_term *t;
    HK_TRY(hk_tet_term_create(list->model, hk_lanes_best(list->precision), list->threads, &t));
    hk_status status = list->frame ? add_base(t, list->frame) : HK_OK;
    if (status != HK_OK) {
        hk_tet_term_free(t);
        return status;
    }
    *term = &t->base;
    return HK_OK;
}

static void release(hk_term *term)
{
    hk_tet_term_free(tets(term));
}

static void follow_base(hk_tet_term *t, const hk_frame *frame)
{
    if (!frame || t->base_version == frame->version) return;
    t->base_version = frame->version;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int k = 0; k < t->patch_count; k++)
        t->lanes->set_start(&t->batches[t->patches[k].batch], t->patches[k].first,
                            t->patches[k].last);
}

static hk_status follow(hk_term *term, const hk_term *from)
{
    follow_base(tets(term), term->list->frame);
    hk_tet_copy_blend(tets(term), const_tets(from));
    return HK_OK;
}

static void measure(hk_term *term)
{
    hk_tet_measure(tets(term));
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    hk_tet_begin_blend(tets(term), step->pose);
    return HK_OK;
}

static void take_materials(hk_term *term)
{
    hk_tet_take_materials(tets(term));
}

static bool update(hk_term *term, const void *x)
{
    return hk_tet_update_blend(tets(term), x);
}

// ---------------------------------------------------------------- the energy

static double energy(hk_term *term, const void *x)
{
    return hk_tet_energy(tets(term), x);
}

static void gradient(hk_term *term, const void *x, void *to, double *sum)
{
    hk_tet_gradient(tets(term), x, to, sum);
}

static void diagonal(hk_term *term, const void *x, void *to)
{
    hk_tet_diagonal(tets(term), x, to);
}

// ---------------------------------------------------------------- elements

static void stencils(const hk_term *term, hk_stencil_fn *visit, void *context)
{
    const hk_tet_term *t = const_tets(term);
    int width = t->lanes->lanes;
    int32_t vertex[4];
    hk_stencil s = {.vertex = vertex, .count = 4, .stride = width};
    for (int q = 0; q < t->batch_count; q++) {
        const hk_tet_batch *b = &t->batches[q];
        for (int k = 0; k < b->count; k++) {
            int64_t block = k / width, lane = k % width;
            for (int c = 0; c < 4; c++) vertex[c] = b->vertex[(block * 4 + c) * width + lane];
            s.at = t->stiffness_start[q] + block * HK_TET_STIFFNESS * width + lane;
            s.viscous = t->model->materials[t->model->tet_material[b->tet[k]]].viscous;
            visit(context, &s);
        }
    }
}

static int64_t block_size(const hk_term *term)
{
    return hk_tet_stiffness_size(const_tets(term));
}

// A tet whose material is not defined does not resist.
static void drop_undefined(const hk_tet_term *t, double *stiffness)
{
    int width = t->lanes->lanes;
    for (int q = 0; q < t->batch_count; q++) {
#pragma omp parallel for schedule(static) num_threads(t->threads)
        for (int k = 0; k < t->batches[q].count; k++) {
            double *values = stiffness + t->stiffness_start[q] +
                             (int64_t)(k / width) * HK_TET_STIFFNESS * width + k % width;
            double sum = 0;
            for (int i = 0; i < HK_TET_STIFFNESS; i++) sum += fabs(values[i * width]);
            for (int i = 0; i < HK_TET_STIFFNESS && !isfinite(sum); i++) values[i * width] = 0;
        }
    }
}

static void blocks(hk_term *term, const double *x, double keep, hk_blocks_for what, double *values)
{
    hk_tet_stiffness(tets(term), x, keep, values);
    if (what == HK_FOR_DAMPING) drop_undefined(tets(term), values);
}

// Shape-function gradients of a tet, 1/m.
static void shape_gradients(const hk_model *m, int tet, double g[4][3])
{
    double inverse[9];
    hk_rest_inverse(m, tet, inverse);
    for (int k = 0; k < 3; k++) memcpy(g[k + 1], inverse + 3 * k, sizeof g[0]);
    for (int i = 0; i < 3; i++) g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
}

// The Laplacian w V ∇φ_a·∇φ_b of every tet.
static void model_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                          void *context)
{
    for (int t = 0; t < m->tet_count; t++) {
        if (hk_model_is_quadratic(m, t) || hk_model_is_rigid(m, t)) continue;
        double g[4][3], weight[16], w = material_weight[m->tet_material[t]] * m->volume[t];
        int32_t vertex[4];
        shape_gradients(m, t, g);
        for (int a = 0; a < 4; a++) {
            vertex[a] = m->place[m->tets[4 * (int64_t)t + a]];
            for (int b = 0; b < 4; b++)
                weight[4 * a + b] = w * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
        }
        visit(context, &(hk_weights){.vertex = vertex, .count = 4, .weight = weight});
    }
}

static void model_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    for (int t = 0; t < m->tet_count; t++) {
        if (hk_model_is_quadratic(m, t) || hk_model_is_rigid(m, t)) continue;
        int32_t vertex[4];
        for (int c = 0; c < 4; c++) vertex[c] = m->place[m->tets[4 * (int64_t)t + c]];
        visit(context, &(hk_stencil){.vertex = vertex, .count = 4});
    }
}

static const hk_term_shape g_shape = {model_stencils, model_weights};

// ---------------------------------------------------------------- ADMM

static void free_duals(void *state)
{
    hk_tet_duals *duals = state;
    if (!duals) return;
    hk_free(duals->weight);
    hk_free(duals->start);
    hk_free(duals->u);
    hk_free(duals);
}

// One weight for the law of a material, one for each set of strands in it.
static void fill_dual_weights(const hk_tet_term *t, const hk_admm_def *def, hk_tet_duals *duals,
                              double *weight)
{
    const hk_model *m = t->model;
    for (int q = 0; q < t->batch_count; q++) {
        const hk_tet_batch *b = &t->batches[q];
        int32_t number = m->tet_material[b->tet[0]];
        const hk_material *material = &m->materials[number];
        double k = b->law == HK_LAW_fibre
                       ? def->weight * material->strand_modulus
                       : def->weight * hk_material_slope(material, def->low, def->high);
        duals->weight[q] = k;
        weight[number] += k;
    }
}

static hk_status build_duals(const hk_tet_term *t, hk_tet_duals *duals)
{
    duals->weight = HK_ZEROS(double, t->batch_count);
    duals->start = HK_ZEROS(int64_t, t->batch_count + 1);
    if (!duals->weight || !duals->start) return HK_NO_MEMORY;
    for (int q = 0; q < t->batch_count; q++)
        duals->start[q + 1] = duals->start[q] + 9 * (int64_t)t->batches[q].blocks * t->lanes->lanes;
    duals->u = hk_calloc((size_t)duals->start[t->batch_count], (size_t)t->lanes->scalar_size);
    return duals->u ? HK_OK : HK_NO_MEMORY;
}

static hk_status create_duals(hk_term *term, const hk_admm_def *def, double *weight, void **state)
{
    hk_tet_duals *duals = HK_NEW(hk_tet_duals);
    if (!duals) return HK_NO_MEMORY;
    hk_status status = build_duals(tets(term), duals);
    if (status != HK_OK) {
        free_duals(duals);
        return status;
    }
    fill_dual_weights(tets(term), def, duals, weight);
    *state = duals;
    return HK_OK;
}

static void admm_local(hk_term *term, void *duals, bool fresh, const void *x, void *to)
{
    hk_tet_admm_local(tets(term), duals, fresh, x, to);
}

static const hk_admm_ops g_admm = {create_duals, free_duals, admm_local};

// ---------------------------------------------------------------- blend weights

static bool blend_possible(const hk_term *term)
{
    return hk_tet_is_invertible(const_tets(term));
}

static bool blend_at_work(const hk_term *term)
{
    return hk_tet_blended(const_tets(term));
}

static void read_blend(const hk_term *term, float *weight)
{
    hk_tet_read_blend(const_tets(term), weight);
}

static void write_blend(hk_term *term, const float *weight)
{
    hk_tet_write_blend(tets(term), weight);
}

static void blend_with_gradient(hk_term *term, bool on)
{
    hk_tet_blend_with_gradient(tets(term), on);
}

static const hk_blend_ops g_blend = {blend_possible, blend_at_work, read_blend, write_blend,
                                     blend_with_gradient};

// ---------------------------------------------------------------- states and scales

// ‖H‖² of a tet of a batch at the base.
static double base_square(const hk_tet_term *t, const hk_tet_batch *b, int tet)
{
    int width = t->lanes->lanes;
    int64_t block = tet / width, lane = tet % width;
    const float *inverse = (const float *)b->inverse + block * 9 * width + lane, *u = b->base;
    const int32_t *vertex = b->vertex + block * 4 * width + lane;
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double first = (double)u[4 * (int64_t)vertex[0] + i], edge[3];
        for (int c = 0; c < 3; c++)
            edge[c] = (double)u[4 * (int64_t)vertex[(c + 1) * width] + i] - first;
        for (int j = 0; j < 3; j++) {
            double h = 0;
            for (int c = 0; c < 3; c++) h += edge[c] * (double)inverse[(3 * c + j) * width];
            square += h * h;
        }
    }
    return square;
}

// Of some hundred tets of each batch: it is for an estimate.
static double base_strain(const hk_term *term)
{
    enum { SAMPLES = 500 };
    const hk_tet_term *t = const_tets(term);
    double sum = 0;
    int count = 0;
    for (int q = 0; q < t->batch_count; q++) {
        const hk_tet_batch *b = &t->batches[q];
        for (int k = 0; k < b->count && b->base; k += 1 + b->count / SAMPLES, count++)
            sum += base_square(t, b, k);
    }
    return count > 0 ? sqrt(sum / count) : 0;
}

static double least_j(hk_term *term, const void *x)
{
    return hk_tet_least_j(tets(term), x);
}

static bool undefined(hk_term *term, const void *x, char *text, size_t size)
{
    int tet = hk_tet_first_undefined(tets(term), x);
    if (tet < 0) return false;
    snprintf(text, size, "tet %d is inverted (or overflows) where its material is not defined",
             tet);
    return true;
}

static double scales(const hk_term *term, double *stiffness)
{
    const hk_model *m = const_tets(term)->model;
    double rounding = 0;
    for (int t = 0; t < m->tet_count; t++) {
        if (hk_model_is_quadratic(m, t) || hk_model_is_rigid(m, t)) continue;
        const hk_material *material = &m->materials[m->tet_material[t]];
        rounding += 1e-15 * material->modulus * m->volume[t];
        double k = (material->modulus + material->strand_modulus) * cbrt(m->volume[t]);
        for (int c = 0; c < 4; c++) stiffness[m->tets[4 * (int64_t)t + c]] += k;
    }
    return rounding;
}

static double softest(const hk_term *term)
{
    const hk_model *m = const_tets(term)->model;
    double least = INFINITY;
    for (int t = 0; t < m->tet_count; t++)
        if (!hk_model_is_quadratic(m, t) && !hk_model_is_rigid(m, t))
            least = fmin(least, m->materials[m->tet_material[t]].modulus * cbrt(m->volume[t]));
    return least;
}

const hk_rest_ops hk_rest_with_tets = {NULL, NULL};

const hk_term_ops hk_tets_term = {
    .name = "tets",
    .part = HK_PART_ELASTIC,
    .device = &hk_gpu_builtin_term,
    .shape = &g_shape,
    .create = create,
    .free = release,
    .follow = follow,
    .measure = measure,
    .begin_step = begin_step,
    .take_materials = take_materials,
    .update = update,
    .energy = energy,
    .gradient = gradient,
    .diagonal = diagonal,
    .stencils = stencils,
    .block_size = block_size,
    .blocks = blocks,
    .relax = &hk_tet_relax,
    .admm = &g_admm,
    .blend = &g_blend,
    .rest = &hk_rest_with_tets,
    .base_strain = base_strain,
    .least_j = least_j,
    .undefined = undefined,
    .scales = scales,
    .softest = softest,
};
