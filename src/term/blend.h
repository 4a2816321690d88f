// Invertible model conversion (Descent section 5.1): an element that is pressed flat or inside out
// turns from its own law W towards projective dynamics,
//
//   W_hybrid = (1 − l) W + l w Σ (σᵢ − 1)²,                                    (eq. 16, 18)
//
// which pulls it back to a rotation from wherever it is. l grows from 0 to 1 as the least stretch
// (signed: negative inside out) falls from `upper` to `lower`, and decays by at most `decay` an
// iteration (eq. 17), so that an element does not flicker between its two laws. Between updates l
// is a constant: energy, forces and diagonal (eq. 19) are those of one function.
#ifndef HK_BLEND_H
#define HK_BLEND_H

#include "material/law.h"
#include "term/lanes.h"

HK_INLINE real blend_share(const hk_tet_batch *batch, int block)
{
    return r_load((const scalar *)batch->blend + (int64_t)block * HK_LANES);
}

HK_INLINE bool is_blended(const hk_tet_batch *batch, int block)
{
    return batch->blend && batch->blended[block];
}

// The part of the law in the mixture; a law that is not defined takes no part where l = 1.
HK_INLINE real own_part(real l, real value)
{
    return r_select(l < 1, (1 - l) * value, r_zero());
}

HK_SHARED void blend_energy_stress(const hk_tet_batch *batch, int block, const mat3 *F, real *psi,
                                   mat3 *P)
{
    real l = blend_share(batch, block), w = l * r_set(batch->conversion.stiffness);
    svd3 f = law_svd(*F);
    real sum = r_zero();
    for (int k = 0; k < 3; k++) sum += (f.s.v[k] - 1) * (f.s.v[k] - 1);
    *psi = own_part(l, *psi) + w * sum;
    mat3 R = m3_mult(f.u, f.v);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            P->m[i][j] = own_part(l, P->m[i][j]) + 2 * w * (F->m[i][j] - R.m[i][j]);
}

HK_INLINE real blend_energy(const hk_tet_batch *batch, int block, mat3 F, real psi)
{
    mat3 P = m3_zero();
    blend_energy_stress(batch, block, &F, &psi, &P);
    return psi;
}

HK_INLINE mat3 blend_stress(const hk_tet_batch *batch, int block, mat3 F, mat3 P)
{
    real psi = r_zero();
    blend_energy_stress(batch, block, &F, &psi, &P);
    return P;
}

// The constant matrix AᵀA of projective dynamics stands for the second derivative of its energy.
HK_SHARED void blend_rows(const hk_tet_batch *batch, int block, row_forms *rows)
{
    real l = blend_share(batch, block), w = 2 * l * r_set(batch->conversion.stiffness);
    for (int i = 0; i < 3; i++)
        for (int q = 0; q < 6; q++)
            rows->d[i][q] = own_part(l, rows->d[i][q]) + (q < 3 ? w : r_zero());
}

// The same for the six blocks of corners 1..3, whose shape gradients are the rows of `inverse`.
HK_SHARED void blend_inner(const hk_tet_batch *batch, int block, const mat3 *inverse, mat3 inner[6])
{
    real l = blend_share(batch, block), w = 2 * l * r_set(batch->conversion.stiffness);
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

HK_SHARED void convert_slowly(const hk_tet_batch *batch, int block, const mat3 *F)
{
    const hk_conversion *c = &batch->conversion;
    svd3 f = law_svd(*F);
    real least = r_min(f.s.v[0], r_min(f.s.v[1], f.s.v[2]));
    real wanted = (r_set(c->upper) - least) * r_set(1 / (c->upper - c->lower));
    real l = r_max(blend_share(batch, block) - r_set(c->decay), wanted);
    l = r_min(r_max(l, r_zero()), r_set(1));
    r_store((scalar *)batch->blend + (int64_t)block * HK_LANES, l);
    batch->blended[block] = r_any(l > 0) != 0;
}

// eq. 17. Most elements need no stretches for it: σ₁σ₂ ≤ ‖F‖²/2, so the least is ≥ 2 J/‖F‖².
HK_INLINE void convert_block(const hk_tet_batch *batch, int block, mat3 F)
{
    real bound = 2 * m3_det(F) - r_set(batch->conversion.upper) * m3_dot(F, F);
    if (batch->blended[block] || !r_all(bound > 0)) convert_slowly(batch, block, &F);
}

#endif
