// Invertible model conversion (Descent section 5.1): an element that is pressed flat or inside out
// turns from its own law W towards projective dynamics,
//
//   W_hybrid = (1 − l) W + l w Σ (σᵢ − 1)²,                                    (eq. 16, 18)
//
// which pulls it back to a rotation from wherever it is. l grows from 0 to 1 as the least stretch
// (signed: negative inside out) falls from `upper` to `lower`, and decays by at most `decay` an
// iteration (eq. 17), so that an element does not flicker between its two laws. Between updates l
// is a constant: energy, forces and diagonal (eq. 19) are those of one function.
//
// Shares are held, and do not decay, while any element of the model wants one. (Where elements of a
// body that is inside out return one by one, the barriers of those that are back, log J say, lock
// in those that are not: of bodies mirrored with a little noise three quarters stayed folded.)
#ifndef HK_BLEND_H
#define HK_BLEND_H

#include "material/law.h"

// The part of the law in the mixture; a law that is not defined takes no part where l = 1.
HK_INLINE real own_part(real l, real value)
{
    return r_select(l < 1, (1 - l) * value, r_zero());
}

// Of F and its decomposition f.
HK_INLINE void blend_energy_stress_of(const hk_blend_law *c, real l, const mat3 *F, const svd3 *f,
                                      real *psi, mat3 *P)
{
    real w = l * r_set(c->stiffness);
    real sum = r_zero();
    for (int k = 0; k < 3; k++) sum += (f->s.v[k] - 1) * (f->s.v[k] - 1);
    *psi = own_part(l, *psi) + w * sum;
    mat3 R = m3_mult(f->u, f->v);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            P->m[i][j] = own_part(l, P->m[i][j]) + 2 * w * (F->m[i][j] - R.m[i][j]);
}

HK_SHARED void blend_energy_stress(const hk_blend_law *c, real l, const mat3 *F, real *psi, mat3 *P)
{
    svd3 f = law_svd(*F);
    blend_energy_stress_of(c, l, F, &f, psi, P);
}

// The constant matrix AᵀA of projective dynamics stands for the second derivative of its energy.
HK_SHARED void blend_rows(const hk_blend_law *c, real l, row_forms *rows)
{
    real w = 2 * l * r_set(c->stiffness);
    for (int i = 0; i < 3; i++)
        for (int q = 0; q < 6; q++)
            rows->d[i][q] = own_part(l, rows->d[i][q]) + (q < 3 ? w : r_zero());
}

// The rotation that an element is pulled to, as every vertex of it is to find it for itself. Turned
// inside out, with its two least stretches about equal (any mirror image of the rest is), there are
// many such rotations, and rounding would choose another one at every vertex, and in every element:
// forces of no energy. There the least stretch is the one nearest to a fixed axis, all but.
HK_INLINE mat3 blend_rotation(mat3 F)
{
    const scalar near = (scalar)1e-2;
    svd3 f = law_svd(F);
    mat3 R = polar_rotation_of(f);
    mask open = (f.s.v[2] < 0) & (f.s.v[1] + f.s.v[2] < near * f.s.v[0]);
    if (!r_any(open)) return R;
    mat3 stretched = m3_scale_columns(F, v3_set(1, 1 - 2 * near, 1 - 4 * near));
    return m3_select(open, polar_rotation_of(law_svd(stretched)), R);
}

// The same for what one vertex with shape gradient a needs (X_vertex of law.h).
HK_SHARED void blend_vertex(const hk_blend_law *c, real l, const mat3 *F, const vec3 *a,
                            vec3 *force, mat3 *block)
{
    real w = 2 * l * r_set(c->stiffness), sphere = w * v3_dot(*a, *a);
    vec3 turned = m3_apply(blend_rotation(*F), *a), stretched = m3_apply(*F, *a);
    for (int i = 0; i < 3; i++) {
        force->v[i] = own_part(l, force->v[i]) + w * (stretched.v[i] - turned.v[i]);
        for (int j = 0; j < 3; j++)
            block->m[i][j] = own_part(l, block->m[i][j]) + (i == j ? sphere : r_zero());
    }
}

// eq. 17: the share that an element with stretches s wants, and what becomes of a share l.
HK_INLINE real blend_wanted_of(const hk_blend_law *c, vec3 s)
{
    real least = r_min(s.v[0], r_min(s.v[1], s.v[2]));
    real wanted = (r_set(c->upper) - least) * r_set(1 / (c->upper - c->lower));
    return r_min(r_max(wanted, r_zero()), r_set(1));
}

HK_SHARED real blend_wanted(const hk_blend_law *c, const mat3 *F)
{
    return blend_wanted_of(c, law_svd(*F).s);
}

HK_INLINE real blend_next(const hk_blend_law *c, real l, real wanted, int held)
{
    return held ? r_max(l, wanted) : r_max(l - r_set(c->decay), wanted);
}

// Where an element may return to its law (l decay): not where that grows like exp and would throw
// the body about. Quartic ones like stvk are below this bound.
HK_INLINE mask blend_bounded(const hk_blend_law *c, mat3 F, real psi)
{
    real size = 1 + m3_dot(F, F);
    return psi < r_set(c->modulus) * size * size;
}

// Where an element that is not blended stays so without a look at its stretches: σ₁σ₂ ≤ ‖F‖²/2, so
// the least is ≥ 2 J/‖F‖².
HK_INLINE mask blend_far(const hk_blend_law *c, mat3 F)
{
    return 2 * m3_det(F) - r_set(c->upper) * m3_dot(F, F) > 0;
}

#endif
