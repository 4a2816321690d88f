// Invertible model conversion (material/blend.h) of a block of a batch.
#ifndef HK_BLEND_LANES_H
#define HK_BLEND_LANES_H

#include "material/blend.h"
#include "term/lanes.h"

HK_INLINE real blend_share(const hk_tet_batch *batch, int block)
{
    return r_load((const scalar *)batch->blend + (int64_t)block * HK_LANES);
}

HK_INLINE bool is_blended(const hk_tet_batch *batch, int block)
{
    return batch->blend && batch->blended[block];
}

HK_INLINE void blend_block(const hk_tet_batch *batch, int block, const mat3 *F, real *psi, mat3 *P)
{
    blend_energy_stress(&batch->blend_law, blend_share(batch, block), F, psi, P);
}

HK_INLINE real blend_energy(const hk_tet_batch *batch, int block, mat3 F, real psi)
{
    mat3 P = m3_zero();
    blend_block(batch, block, &F, &psi, &P);
    return psi;
}

HK_INLINE mat3 blend_stress(const hk_tet_batch *batch, int block, mat3 F, mat3 P)
{
    real psi = r_zero();
    blend_block(batch, block, &F, &psi, &P);
    return P;
}

// The matrix AᵀA (blend_rows) for the six blocks of corners 1..3, whose shape gradients are the
// rows of `inverse`.
HK_SHARED void blend_inner(const hk_tet_batch *batch, int block, const mat3 *inverse, mat3 inner[6])
{
    real l = blend_share(batch, block), w = 2 * l * r_set(batch->blend_law.stiffness);
    for (int a = 0, q = 0; a < 3; a++)
        for (int b = a; b < 3; b++, q++) {
            real product = r_zero();
            for (int k = 0; k < 3; k++) product += inverse->m[a][k] * inverse->m[b][k];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    inner[q].m[i][j] =
                        own_part(l, inner[q].m[i][j]) + (i == j ? w * product : r_zero());
        }
}

HK_INLINE bool may_convert(const hk_tet_batch *batch, int block, mat3 F)
{
    return batch->blended[block] || !r_all(blend_far(&batch->blend_law, F));
}

// tame: where the law is (blend_bounded).
HK_SHARED void convert_block(const hk_tet_batch *batch, int block, const mat3 *F, mask tame)
{
    const hk_blend_law *c = &batch->blend_law;
    real before = blend_share(batch, block), wanted = blend_wanted(c, F);
    real l = blend_next(c, before, wanted, batch->held);
    l = r_select(tame, l, r_max(l, before));
    r_store((scalar *)batch->blend + (int64_t)block * HK_LANES, l);
    batch->blended[block] =
        (uint8_t)((r_any(l > 0) ? HK_BLENDED : 0) | (r_any(wanted > 0) ? HK_BLEND_WANTED : 0));
}

#endif
