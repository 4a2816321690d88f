// The proximal map of a law: the z that is least in
//
//   ψ(z) + k/2 ‖z − p‖²                                    (Narain et al. 2016, eq. 10)
//
// For an isotropic ψ, z has the singular vectors of p, so that three stretches are left to find;
// here these are strains, less 1, which have their digits near rest.
// Newton's method does that for every law alike, with as much added to pivots as makes them
// positive, and half the step again wherever the function did not fall.
#ifndef HK_PROX_H
#define HK_PROX_H

#include <stdbool.h>

#include "material/law.h"

enum { HK_PROX_PASSES = 24 };
#define HK_PROX_TOLERANCE (scalar)(HK_DOUBLE ? 1e-13 : 2e-6)  // of the stress

// ψ over strains; with a share l of w Σ (σᵢ − 1)² where it is blended (term/blend.h).
typedef struct prox_law {
    stretch_law *law;
    const hk_law_params *params;
    bool isotropic;  // q and s are in the order of svd3
    bool blended;
    real share, stiffness;  // l, l × w
} prox_law;

HK_INLINE void prox_blend(const prox_law *law, const vec3 *e, stretch_form *f)
{
    real own = 1 - law->share, w = law->stiffness;
    mask all = law->share >= 1;  // the law takes no part, and need not be defined
    f->value = r_select(all, r_zero(), own * f->value);
    for (int i = 0; i < 3; i++) {
        f->value += w * e->v[i] * e->v[i];
        f->d.v[i] = r_select(all, r_zero(), own * f->d.v[i]) + 2 * w * e->v[i];
        for (int j = 0; j < 3; j++)
            f->dd.m[i][j] =
                r_select(all, r_zero(), own * f->dd.m[i][j]) + (i == j ? 2 * w : r_zero());
    }
}

// −(H + k)⁻¹ g by LDLᵀ with pivots of at least k/10: always downhill.
HK_INLINE vec3 prox_newton_step(const mat3 *h, real k, vec3 g)
{
    real least = 0.1f * k;
    real d0 = r_max(h->m[0][0] + k, least);
    real l10 = h->m[0][1] / d0, l20 = h->m[0][2] / d0;
    real d1 = r_max(h->m[1][1] + k - l10 * h->m[0][1], least);
    real l21 = (h->m[1][2] - l20 * h->m[0][1]) / d1;
    real d2 = r_max(h->m[2][2] + k - l20 * h->m[0][2] - l21 * l21 * d1, least);
    real y0 = -g.v[0], y1 = -g.v[1] - l10 * y0, y2 = -g.v[2] - l20 * y0 - l21 * y1;
    vec3 s;
    s.v[2] = y2 / d2;
    s.v[1] = y1 / d1 - l21 * s.v[2];
    s.v[0] = y0 / d0 - l10 * s.v[1] - l20 * s.v[2];
    return s;
}

HK_INLINE void prox_swap(mask m, real *a, real *b)
{
    real first = *a;
    *a = r_select(m, *b, first);
    *b = r_select(m, first, *b);
}
// With their signs changed: 1 + e becomes −(1 + e).
HK_INLINE void prox_swap_signed(mask m, real *a, real *b)
{
    real first = *a;
    *a = r_select(m, -2 - *b, first);
    *b = r_select(m, -2 - first, *b);
}

// Into the order of svd3, s₀ ≥ s₁ ≥ |s₂| with s = 1 + e: the density is the same, and as q is in
// this order e is not farther from it.
HK_INLINE void prox_sort(vec3 *e)
{
    real *v = e->v;
    prox_swap(v[0] < v[1], &v[0], &v[1]);
    prox_swap(v[1] < v[2], &v[1], &v[2]);
    prox_swap(v[0] < v[1], &v[0], &v[1]);
    prox_swap_signed(v[1] < -2 - v[2], &v[1], &v[2]);
    prox_swap(v[0] < v[1], &v[0], &v[1]);
}

// Where the first guess, q itself, is not defined: stretches that most laws can do, then rest.
HK_INLINE real prox_fallback(int pass, real q)
{
    return pass == 0 ? r_min(r_max(q, r_set(-0.9)), r_set(1)) : r_zero();
}

HK_INLINE real prox_largest(vec3 a)
{
    return r_max(r_abs(a.v[0]), r_max(r_abs(a.v[1]), r_abs(a.v[2])));
}

// From the strains q of p to those of z. Lanes that find none keep q.
HK_SHARED void prox_strains(const prox_law *law, real k, const vec3 *q, vec3 *s)
{
    vec3 trial = *q, step = v3_set(0, 0, 0);
    real least = r_set(INFINITY), flattest = r_set(INFINITY);
    *s = *q;
    for (int pass = 0; pass < HK_PROX_PASSES; pass++) {
        stretch_form f;
        law->law(law->params, &trial, &f);
        if (law->blended) prox_blend(law, &trial, &f);
        vec3 away = v3_sub(trial, *q);
        real merit = f.value + 0.5f * k * v3_dot(away, away);
        vec3 g = v3_add(f.d, v3_scale(away, k));
        real slope = prox_largest(g), size = prox_largest(trial) + prox_largest(*q);
        real tolerance = HK_PROX_TOLERANCE * r_max(prox_largest(f.d), k * prox_largest(away));
        // Within the rounding of ψ; where that is worse than this a smaller slope will do.
        real noise = 8 * (scalar)HK_EPSILON * (r_abs(merit) + k * size * size);
        mask finite = (r_abs(merit) < r_set(HUGE_VALF)) & (slope < r_set(HUGE_VALF));
        mask lower = (merit <= least + noise) |
                     ((slope <= 0.5f * flattest) & (merit <= least + (scalar)HK_EPSILON * 8 * k));
        mask good = finite & (r_not(least < r_set(INFINITY)) | lower);
        *s = v3_select(good, trial, *s);
        least = r_select(good, r_min(merit, least), least);
        flattest = r_select(good, slope, flattest);
        mask begun = least < r_set(INFINITY);
        if (r_all(good & (slope <= tolerance + (scalar)HK_SMALLEST_NORMAL))) return;
        vec3 newton = prox_newton_step(&f.dd, k, g);
        step = v3_select(good, newton, v3_scale(step, r_set(0.5)));
        for (int i = 0; i < 3; i++)
            trial.v[i] = r_select(begun, s->v[i] + step.v[i], prox_fallback(pass, q->v[i]));
        if (law->isotropic) prox_sort(&trial);
    }
}

#endif
