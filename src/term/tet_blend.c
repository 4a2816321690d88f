// The blend weights of invertible tets (term/blend.h).
#include "term/scalar.h"
#include "term/tet.h"

bool hk_tet_is_invertible(const hk_tet_term *term)
{
    return term->tet_blend != NULL;
}

void hk_tet_begin_blend(hk_tet_term *term, bool pose)
{
    for (int q = 0; q < term->batch_count; q++) {
        hk_tet_batch *b = &term->batches[q];
        b->asleep = b->blend && pose && b->blend_law.steps_only;
        if (!b->asleep) continue;
        memset(b->blended, 0, (size_t)b->blocks);
        memset(b->blend, 0,
               (size_t)b->blocks * (size_t)(term->lanes->lanes * term->lanes->scalar_size));
    }
}

bool hk_tet_blended(const hk_tet_term *term)
{
    for (int q = 0; q < term->batch_count && hk_tet_is_invertible(term); q++) {
        const hk_tet_batch *b = &term->batches[q];
        for (int k = 0; k < b->blocks && b->blend; k++)
            if (b->blended[k]) return true;
    }
    return false;
}

bool hk_tet_update_blend(hk_tet_term *term, const void *x)
{
    if (!hk_tet_is_invertible(term)) return false;
    bool before = hk_tet_blended(term);
#pragma omp parallel for schedule(static) num_threads(term->threads)
    for (int k = 0; k < term->patch_count; k++) {
        const hk_tet_patch *p = &term->patches[k];
        const hk_tet_batch *batch = &term->batches[p->batch];
        if (batch->blend && !batch->asleep)
            hk_batch_kernels(term->lanes, batch)->convert(batch, x, p->first, p->last);
    }
    hk_tet_hold_blend(term->batches, term->batch_count);
    return before || hk_tet_blended(term);
}

static bool wants_blend(const hk_tet_batch *b)
{
    for (int k = 0; k < b->blocks && b->blend; k++)
        if (b->blended[k] & HK_BLEND_WANTED) return true;
    return false;
}

void hk_tet_hold_blend(hk_tet_batch *batches, int count)
{
    bool some = false;
    for (int q = 0; q < count && !some; q++) some = wants_blend(&batches[q]);
    for (int q = 0; q < count; q++) batches[q].held = some;
}

void hk_tet_blend_with_gradient(hk_tet_term *term, bool on)
{
    for (int q = 0; q < term->batch_count; q++)
        term->batches[q].converting = on && term->batches[q].blend && !term->batches[q].asleep;
}

void hk_tet_read_blend(const hk_tet_term *term, float *weight)
{
    for (int q = 0; q < term->batch_count; q++) {
        const hk_tet_batch *b = &term->batches[q];
        for (int k = 0; k < b->count && b->blend; k++)
            weight[b->tet[k]] = (float)hk_load_scalar(b->blend, term->lanes->scalar_size, k);
    }
}

void hk_tet_write_blend(hk_tet_term *term, const float *weight)
{
    int width = term->lanes->lanes;
    for (int q = 0; q < term->batch_count; q++) {
        const hk_tet_batch *b = &term->batches[q];
        if (!b->blend) continue;
        memset(b->blended, 0, (size_t)b->blocks);
        for (int k = 0; k < b->blocks * width; k++) {
            float own = weight[b->tet[k]];
            hk_store_scalar(b->blend, term->lanes->scalar_size, k, (double)own);
            if (own > 0) b->blended[k / width] = HK_BLENDED;
        }
    }
}

void hk_tet_copy_blend(hk_tet_term *term, const hk_tet_term *from)
{
    for (int q = 0; q < term->batch_count; q++) {
        term->batches[q].held = from->batches[q].held;
        term->batches[q].asleep = from->batches[q].asleep;
    }
    if (!hk_tet_is_invertible(term) || !(hk_tet_blended(term) || hk_tet_blended(from))) return;
    hk_tet_read_blend(from, term->tet_blend);
    hk_tet_write_blend(term, term->tet_blend);
}
