#include "design/rest_tets.h"

#include <math.h>

// What a pass over all patches needs.
typedef struct pass {
    hk_rest_tets *rest;
    const double *X, *vector;
    const double *x0;  // an older loaded shape
    double length;
} pass;

static const hk_rest_table *kernels_of(const hk_rest_tets *rest)
{
    return rest->tets->lanes->rest;
}

static const hk_tet_batch *batch_of(const hk_rest_tets *rest, const hk_tet_patch *patch)
{
    return &rest->tets->batches[patch->batch];
}

static bool is_strands(const hk_tet_batch *batch)
{
    return batch->law == HK_LAW_fibre;
}

// ρ g/4, and nothing for strands: the law of their tets has the weight already.
static void weight_of(const hk_rest_tets *rest, const hk_tet_batch *batch, double weight[3])
{
    const hk_model *m = rest->tets->model;
    double density = is_strands(batch) ? 0 : m->materials[m->tet_material[batch->tet[0]]].density;
    for (int i = 0; i < 3; i++) weight[i] = 0.25 * density * rest->gravity[i];
}

// ---------------------------------------------------------------- creation

// Σ v of the tets around every vertex, from the tets of laws alone.
void hk_rest_tets_measure(hk_rest_tets *rest)
{
    const hk_model *m = rest->tets->model;
    memset(rest->volume, 0, sizeof(double) * (size_t)m->vertex_count);
    for (int t = 0; t < m->tet_count; t++)
        for (int c = 0; c < 4; c++)
            rest->volume[m->place[m->tets[4 * (int64_t)t + c]]] += m->volume[t];
}

hk_status hk_rest_tets_create(hk_tet_term *tets, hk_rest_tets **result)
{
    hk_rest_tets *rest = HK_NEW(hk_rest_tets);
    if (!rest) return HK_NO_MEMORY;
    rest->tets = tets;
    memcpy(rest->gravity, tets->model->gravity, sizeof rest->gravity);
    rest->partial = HK_ARRAY(double, tets->patch_count);
    rest->start = HK_ZEROS(int64_t, tets->batch_count + 1);
    rest->volume = HK_ARRAY(double, tets->vertex_count);
    if (!rest->partial || !rest->start || !rest->volume) {
        hk_rest_tets_free(rest);
        return HK_NO_MEMORY;
    }
    for (int q = 0; q < tets->batch_count; q++)
        rest->start[q + 1] = rest->start[q] + (int64_t)tets->batches[q].blocks * HK_REST_JACOBIAN *
                                                  tets->lanes->lanes;
    hk_rest_tets_measure(rest);
    *result = rest;
    return HK_OK;
}

void hk_rest_tets_free(hk_rest_tets *rest)
{
    if (!rest) return;
    hk_free(rest->partial);
    hk_free(rest->start);
    hk_free(rest->jacobian);
    hk_free(rest->turn);
    hk_free(rest->volume);
    hk_free(rest);
}

// ---------------------------------------------------------------- forces

static void fill_force(void *context, int k, void *slots)
{
    const pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    double weight[3];
    weight_of(p->rest, batch, weight);
    p->rest->partial[k] = kernels_of(p->rest)->law[batch->law].force(batch, p->X, patch->first,
                                                                     patch->last, weight, slots);
}

double hk_rest_tets_force(hk_rest_tets *rest, const double *X, double *force)
{
    pass p = {.rest = rest, .X = X};
    hk_tet_gather(rest->tets, fill_force, &p, force);
    double least = INFINITY;
    for (int k = 0; k < rest->tets->patch_count; k++)
        if (!(rest->partial[k] >= least)) least = rest->partial[k];  // also NaN
    return least;
}

// ---------------------------------------------------------------- derivatives

static double *jacobian_of(const hk_rest_tets *rest, const hk_tet_patch *patch)
{
    int64_t per_block = HK_REST_JACOBIAN * (int64_t)rest->tets->lanes->lanes;
    return rest->jacobian + rest->start[patch->batch] + patch->first * per_block;
}

hk_status hk_rest_tets_linearise(hk_rest_tets *rest, const double *X, int components)
{
    hk_tet_term *tets = rest->tets;
    if (!rest->jacobian) {
        rest->jacobian = HK_ARRAY(double, rest->start[tets->batch_count]);
        if (!rest->jacobian) return HK_NO_MEMORY;
    }
#pragma omp parallel for schedule(static) num_threads(tets->threads)
    for (int k = 0; k < tets->patch_count; k++) {
        const hk_tet_patch *patch = &tets->patches[k];
        const hk_tet_batch *batch = batch_of(rest, patch);
        kernels_of(rest)->law[batch->law].jacobian(batch, X, patch->first, patch->last, components,
                                                   jacobian_of(rest, patch));
    }
    return HK_OK;
}

static void fill_product(void *context, int k, void *slots)
{
    const pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    double weight[3];
    weight_of(p->rest, batch, weight);
    kernels_of(p->rest)->product(batch, jacobian_of(p->rest, patch), p->vector, patch->first,
                                 patch->last, weight, slots);
}

void hk_rest_tets_product(hk_rest_tets *rest, const double *displacement, double *force)
{
    pass p = {.rest = rest, .vector = displacement};
    hk_tet_gather(rest->tets, fill_product, &p, force);
}

// All 16 blocks of a tet from its numbers, `stride` apart: elastic rows and columns sum to zero,
// and the weight is the same for all rows.
static void expand_tet(const double *values, int stride, const double weight[3],
                       double block[4][4][9])
{
    memset(block, 0, 16 * sizeof block[0][0]);
    for (int a = 1; a < 4; a++)
        for (int b = 1; b < 4; b++)
            for (int k = 0; k < 9; k++) {
                double v = values[(9 * (3 * (a - 1) + b - 1) + k) * (int64_t)stride];
                block[a][b][k] = v;
                block[a][0][k] -= v;
                block[0][b][k] -= v;
                block[0][0][k] += v;
            }
    for (int b = 1; b < 4; b++)
        for (int k = 0; k < 3; k++) {
            double growth = values[(HK_REST_ELASTIC + 3 * (b - 1) + k) * (int64_t)stride];
            for (int a = 0; a < 4; a++)
                for (int i = 0; i < 3; i++) {
                    block[a][b][3 * i + k] += weight[i] * growth;
                    block[a][0][3 * i + k] -= weight[i] * growth;
                }
        }
}

void hk_rest_tets_visit(const hk_rest_tets *rest, hk_block_fn *visit, void *context)
{
    int width = rest->tets->lanes->lanes;
    for (int q = 0; q < rest->tets->batch_count; q++) {
        const hk_tet_batch *batch = &rest->tets->batches[q];
        double weight[3];
        weight_of(rest, batch, weight);
        for (int t = 0; t < batch->count; t++) {
            int64_t block = t / width, lane = t % width;
            const int32_t *vertex = batch->vertex + block * 4 * width + lane;
            double all[4][4][9];
            expand_tet(rest->jacobian + rest->start[q] + block * HK_REST_JACOBIAN * width + lane,
                       width, weight, all);
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++)
                    visit(context, vertex[a * width], vertex[b * width], all[a][b]);
        }
    }
}

// ---------------------------------------------------------------- steps

// The slots of all corners of a patch, whoever's batch it is.
static void clear_slots(const hk_rest_tets *rest, const hk_tet_patch *patch, double *slots)
{
    int count = (patch->last - patch->first) * rest->tets->lanes->lanes;
    memset(slots, 0, 16 * sizeof(double) * (size_t)count);
}

static void fill_carry(void *context, int k, void *slots)
{
    const pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    if (is_strands(batch))
        clear_slots(p->rest, patch, slots);
    else
        kernels_of(p->rest)->carry(batch, p->X, p->vector, patch->first, patch->last, slots);
}

void hk_rest_tets_carry(hk_rest_tets *rest, const double *X, const double *from, double *to)
{
    pass p = {.rest = rest, .X = X, .vector = from};
    hk_tet_gather(rest->tets, fill_carry, &p, to);
    for (int v = 0; v < rest->tets->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)v + i] = rest->volume[v] > 0 ? to[4 * (int64_t)v + i] / rest->volume[v]
                                                         : from[4 * (int64_t)v + i];
}

static void fill_bend(void *context, int k, void *slots)
{
    const pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    p->rest->partial[k] = 0;
    if (is_strands(batch))
        clear_slots(p->rest, patch, slots);
    else
        p->rest->partial[k] = kernels_of(p->rest)->bend(batch, p->X, p->vector, p->length,
                                                        patch->first, patch->last, slots);
}

double hk_rest_tets_bend(hk_rest_tets *rest, const double *X, const double *step, double length,
                         double *right)
{
    pass p = {.rest = rest, .X = X, .vector = step, .length = length};
    hk_tet_gather(rest->tets, fill_bend, &p, right);
    double largest = 0;
    for (int k = 0; k < rest->tets->patch_count; k++) largest = fmax(largest, rest->partial[k]);
    return largest;
}

// ---------------------------------------------------------------- from one loaded shape to another

static double *turn_of(const hk_rest_tets *rest, const hk_tet_patch *patch)
{
    int64_t before = rest->start[patch->batch] / HK_REST_JACOBIAN * HK_REST_TURN;
    return rest->turn + before + patch->first * (HK_REST_TURN * (int64_t)rest->tets->lanes->lanes);
}

hk_status hk_rest_tets_turn(hk_rest_tets *rest, const double *x0, const double *x)
{
    hk_tet_term *tets = rest->tets;
    if (!rest->turn) {
        rest->turn =
            HK_ARRAY(double, rest->start[tets->batch_count] / HK_REST_JACOBIAN * HK_REST_TURN);
        if (!rest->turn) return HK_NO_MEMORY;
    }
#pragma omp parallel for schedule(static) num_threads(tets->threads)
    for (int k = 0; k < tets->patch_count; k++) {
        const hk_tet_patch *patch = &tets->patches[k];
        const hk_tet_batch *batch = batch_of(rest, patch);
        if (!is_strands(batch))
            kernels_of(rest)->turn(batch, x0, x, patch->first, patch->last, turn_of(rest, patch));
    }
    return HK_OK;
}

// The passes of warp.h: kernel number `what` over all patches.
typedef enum warping { SPIN, WHIRL, TWIST, WARP, UNWARP } warping;
typedef struct warp_pass {
    hk_rest_tets *rest;
    warping what;
    const double *u, *first, *second;
} warp_pass;

static void fill_warping(void *context, int k, void *slots)
{
    const warp_pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    const hk_rest_table *kernels = kernels_of(p->rest);
    const double *turn = turn_of(p->rest, patch);
    int first = patch->first, last = patch->last;
    if (is_strands(batch)) {
        clear_slots(p->rest, patch, slots);
        return;
    }
    switch (p->what) {
    case SPIN: kernels->spin(batch, turn, p->u, first, last, slots); break;
    case WHIRL: kernels->whirl(batch, turn, p->u, first, last, slots); break;
    case TWIST: kernels->twist(batch, p->u, first, last, slots); break;
    case WARP: kernels->warp(batch, turn, p->u, p->first, p->second, first, last, slots); break;
    case UNWARP: kernels->unwarp(batch, turn, p->u, p->first, p->second, first, last, slots); break;
    }
}

void hk_rest_tets_spin(hk_rest_tets *rest, const double *vector, double *to)
{
    hk_tet_gather(rest->tets, fill_warping, &(warp_pass){rest, SPIN, vector, NULL, NULL}, to);
}

void hk_rest_tets_whirl(hk_rest_tets *rest, const double *u, double *to)
{
    hk_tet_gather(rest->tets, fill_warping, &(warp_pass){rest, WHIRL, u, NULL, NULL}, to);
}

void hk_rest_tets_twist(hk_rest_tets *rest, const double *u, double *to)
{
    hk_tet_gather(rest->tets, fill_warping, &(warp_pass){rest, TWIST, u, NULL, NULL}, to);
}

void hk_rest_tets_warp(hk_rest_tets *rest, const double *u, const double *whirl0,
                       const double *whirl1, double *to)
{
    hk_tet_gather(rest->tets, fill_warping, &(warp_pass){rest, WARP, u, whirl0, whirl1}, to);
}

void hk_rest_tets_unwarp(hk_rest_tets *rest, const double *u, const double *twisted,
                         const double *whirl0, double *to)
{
    hk_tet_gather(rest->tets, fill_warping, &(warp_pass){rest, UNWARP, u, twisted, whirl0}, to);
}

static void fill_follow(void *context, int k, void *slots)
{
    const pass *p = context;
    const hk_tet_patch *patch = &p->rest->tets->patches[k];
    const hk_tet_batch *batch = batch_of(p->rest, patch);
    if (is_strands(batch))
        clear_slots(p->rest, patch, slots);
    else
        kernels_of(p->rest)->follow(batch, p->x0, p->X, patch->first, patch->last, slots);
}

void hk_rest_tets_follow(hk_rest_tets *rest, const double *x0, const double *X0, double *right)
{
    pass p = {.rest = rest, .X = X0, .x0 = x0};
    hk_tet_gather(rest->tets, fill_follow, &p, right);
}
