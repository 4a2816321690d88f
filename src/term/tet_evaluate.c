// Energies, gradients and Hessians of tets: patches of blocks in wide lanes, by several threads.
#include <math.h>
#include <omp.h>

#include "term/quadratic_tets.h"
#include "term/scalar.h"

static const hk_tet_kernels *patch_kernels(const hk_tet_term *term, const hk_tet_patch *patch,
                                           const hk_tet_batch **batch)
{
    *batch = &term->batches[patch->batch];
    return hk_batch_kernels(term->lanes, *batch);
}

// Patches are summed in their own order.
static double sum_partial(const hk_tet_term *term)
{
    double sum = 0;
    for (int k = 0; k < term->patch_count; k++) sum += term->partial[k];
    return isnan(sum) ? INFINITY : sum;
}

double hk_tet_energy(hk_tet_term *term, const void *x)
{
#pragma omp parallel for schedule(static) num_threads(term->threads)
    for (int k = 0; k < term->patch_count; k++) {
        const hk_tet_patch *p = &term->patches[k];
        const hk_tet_batch *batch;
        const hk_tet_kernels *kernels = patch_kernels(term, p, &batch);
        term->partial[k] = kernels->energy(batch, x, p->first, p->last);
    }
    return sum_partial(term);
}

// The slots of the calling thread.
static void *own_slots(const hk_tet_term *term)
{
    size_t size = 4 * (4 * HK_PATCH_TETS + 1) * (size_t)term->lanes->scalar_size;
    return (char *)term->slots + (size_t)omp_get_thread_num() * size;
}

static void sum_patch(const hk_tet_term *term, const hk_tet_patch *p, const void *slots, void *to)
{
    term->lanes->sum_patch(slots, term->patch_start + p->start_at,
                           term->patch_target + p->target_at, p->vertex_count, to, term->shared);
}

enum { SHARED_RUN = 512 };  // vertices a thread sums at a time

static void sum_shared(const hk_tet_term *term, void *to)
{
#pragma omp for schedule(static)
    for (int first = 0; first < term->shared_count; first += SHARED_RUN)
        term->lanes->sum_shared(term->shared, term->shared_start, term->shared_vertex, first,
                                hk_min_int(first + SHARED_RUN, term->shared_count), to);
}

static bool blends_with_gradient(const hk_tet_term *term)
{
    for (int q = 0; q < term->batch_count; q++)
        if (term->batches[q].converting) return true;
    return false;
}

void hk_tet_gradient(hk_tet_term *term, const void *x, void *gradient, double *energy)
{
#pragma omp parallel num_threads(term->threads)
    {
        void *slots = own_slots(term);
#pragma omp for schedule(static)
        for (int k = 0; k < term->patch_count; k++) {
            const hk_tet_patch *p = &term->patches[k];
            const hk_tet_batch *batch;
            const hk_tet_kernels *kernels = patch_kernels(term, p, &batch);
            kernels->gradient(batch, x, p->first, p->last, slots,
                              energy ? &term->partial[k] : NULL);
            sum_patch(term, p, slots, gradient);
        }
        sum_shared(term, gradient);
    }
    if (energy) *energy = sum_partial(term);
    if (blends_with_gradient(term)) hk_tet_hold_blend(term->batches, term->batch_count);
}

void hk_tet_admm_local(hk_tet_term *term, const hk_tet_duals *duals, bool fresh, const void *x,
                       void *gradient)
{
#pragma omp parallel num_threads(term->threads)
    {
        void *slots = own_slots(term);
#pragma omp for schedule(static)
        for (int k = 0; k < term->patch_count; k++) {
            const hk_tet_patch *p = &term->patches[k];
            const hk_tet_batch *batch = &term->batches[p->batch];
            int64_t at = duals->start[p->batch] + 9 * (int64_t)p->first * term->lanes->lanes;
            term->lanes->local->law[batch->law].admm_local(
                batch, x, p->first, p->last, duals->weight[p->batch], fresh,
                (char *)duals->u + at * term->lanes->scalar_size, slots);
            sum_patch(term, p, slots, gradient);
        }
        sum_shared(term, gradient);
    }
}

void hk_tet_diagonal(hk_tet_term *term, const void *x, void *diagonal)
{
#pragma omp parallel num_threads(term->threads)
    {
        void *slots = own_slots(term);
#pragma omp for schedule(static)
        for (int k = 0; k < term->patch_count; k++) {
            const hk_tet_patch *p = &term->patches[k];
            const hk_tet_batch *batch;
            const hk_tet_kernels *kernels = patch_kernels(term, p, &batch);
            kernels->diagonal(batch, x, p->first, p->last, slots);
            sum_patch(term, p, slots, diagonal);
        }
        sum_shared(term, diagonal);
    }
}

void hk_tet_gather(hk_tet_term *term, hk_patch_fn *fill, void *context, void *sums)
{
#pragma omp parallel num_threads(term->threads)
    {
        void *slots = own_slots(term);
#pragma omp for schedule(static)
        for (int k = 0; k < term->patch_count; k++) {
            fill(context, k, slots);
            sum_patch(term, &term->patches[k], slots, sums);
        }
        sum_shared(term, sums);
    }
}

int64_t hk_tet_stiffness_size(const hk_tet_term *term)
{
    return term->stiffness_start[term->batch_count];
}

void hk_tet_stiffness(hk_tet_term *term, const void *x, double keep, void *values)
{
#pragma omp parallel for schedule(static) num_threads(term->threads)
    for (int k = 0; k < term->patch_count; k++) {
        const hk_tet_patch *p = &term->patches[k];
        const hk_tet_batch *batch;
        const hk_tet_kernels *kernels = patch_kernels(term, p, &batch);
        int64_t at = term->stiffness_start[p->batch] +
                     (int64_t)p->first * HK_TET_STIFFNESS * term->lanes->lanes;
        kernels->stiffness(batch, x, p->first, p->last, keep,
                           (char *)values + at * term->lanes->scalar_size);
    }
}

enum { WIDEST = 16 };

static void block_stress(const hk_tet_term *term, int q, int block, const void *x, double *P,
                         double *F)
{
    const hk_tet_batch *b = &term->batches[q];
    int width = term->lanes->lanes;
    _Alignas(HK_ALIGNMENT) double workspace[18 * WIDEST];
    hk_batch_kernels(term->lanes, b)->stress(b, x, block, block + 1, workspace);
    for (int lane = 0; lane < width && block * width + lane < b->count; lane++) {
        int64_t tet = b->tet[(int64_t)block * width + lane];
        for (int k = 0; k < 9; k++) {
            P[9 * tet + k] += hk_load_scalar(workspace, term->lanes->scalar_size, k * width + lane);
            F[9 * tet + k] =
                hk_load_scalar(workspace, term->lanes->scalar_size, (9 + k) * width + lane);
        }
    }
}

void hk_tet_stress(hk_tet_term *term, const void *x, double *P, double *F)
{
    memset(P, 0, 9 * sizeof(double) * (size_t)term->tet_count);
    for (int q = 0; q < term->batch_count; q++) {
        // Tets of one batch are distinct, so threads write to different places.
#pragma omp parallel for schedule(static) num_threads(term->threads)
        for (int block = 0; block < term->batches[q].blocks; block++)
            block_stress(term, q, block, x, P, F);
    }
    if (!term->model->middles) return;
    hk_term *quadratic = hk_terms_find(term->base.list, &hk_quadratic_tets_term);
    if (quadratic) hk_quadratic_stress((hk_quadratic_term *)quadratic, x, P, F);
}

// The lane of a block whose energy is not finite, or -1: the energies of one lane at a time, the
// others with volume 0.
static int undefined_lane(const hk_tet_term *term, const hk_tet_batch *b, const void *x, int block)
{
    int width = term->lanes->lanes, size = term->lanes->scalar_size;
    int64_t at = (int64_t)block * width * size;
    _Alignas(HK_ALIGNMENT) double volume[WIDEST];
    hk_tet_batch one = *b;
    one.vertex = b->vertex + (int64_t)block * 4 * width;
    one.inverse = (char *)b->inverse + 9 * at;
    if (b->edge_inverse) one.edge_inverse = (char *)b->edge_inverse + 6 * at;
    if (b->start) one.start = (char *)b->start + 9 * at;
    one.element = (char *)b->element + b->element_values * at;
    one.volume = volume;
    if (b->blend) {
        one.blend = (char *)b->blend + at;
        one.blended = b->blended + block;
    }
    for (int lane = 0; lane < width; lane++) {
        if (!(hk_load_scalar(b->volume, size, (int64_t)block * width + lane) > 0)) continue;
        memset(volume, 0, sizeof volume);
        hk_store_scalar(volume, size, lane, 1);
        if (!isfinite(hk_batch_kernels(term->lanes, b)->energy(&one, x, 0, 1))) return lane;
    }
    return -1;
}

int hk_tet_first_undefined(hk_tet_term *term, const void *x)
{
    for (int q = 0; q < term->batch_count; q++) {
        const hk_tet_batch *b = &term->batches[q];
        const hk_tet_kernels *kernels = hk_batch_kernels(term->lanes, b);
        int width = term->lanes->lanes;
        for (int block = 0; block < b->blocks; block++) {
            if (isfinite(kernels->energy(b, x, block, block + 1))) continue;
            int lane = undefined_lane(term, b, x, block);
            if (lane >= 0) return b->tet[(int64_t)block * width + lane];
        }
    }
    return -1;
}

double hk_tet_least_j(hk_tet_term *term, const void *x)
{
#pragma omp parallel for schedule(static) num_threads(term->threads)
    for (int k = 0; k < term->patch_count; k++) {
        const hk_tet_patch *p = &term->patches[k];
        term->partial[k] = term->lanes->least_j(&term->batches[p->batch], x, p->first, p->last);
    }
    double least = INFINITY;
    for (int k = 0; k < term->patch_count; k++)
        if (!(term->partial[k] >= least)) least = term->partial[k];  // also NaN
    return least;
}
