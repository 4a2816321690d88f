// Laws in principal stretches, ψ = Σ f(σᵢ) + Σ_{i<j} g(σᵢσⱼ) + h(σ₀σ₁σ₂) (Xu et al. 2015), with
// f, g, h as curves (params.h). `spline` and `polynomial` differ only in how a user gives them.
#ifndef HK_PRINCIPAL_H
#define HK_PRINCIPAL_H

#include "material/law.h"

typedef struct curve_point {
    real value, d, dd;  // φ, φ′, φ″
} curve_point;

HK_SHARED curve_point curve_at(const hk_law_curve *c, real x)
{
    curve_point r = {r_zero(), r_zero(), r_zero()};
    real t = x - 1;
    // Horner for the value and both derivatives.
    for (int k = c->powers - 1; k >= 0; k--) {
        r.dd = r.dd * t + 2 * r.d;
        r.d = r.d * t + r.value;
        r.value = r.value * t + r_set(c->power[k]);
    }
    for (int k = 0; k < c->knots; k++) {
        real y = r_max(x - r_set(c->knot[k]), r_zero()), jump = r_set(c->jump[k]);
        real jy2 = jump * y * y;
        r.dd += 12 * jy2;
        r.d += 4 * jy2 * y;
        r.value += jy2 * y * y;
    }
    return r;
}

// (φ′(x) − φ′(y))/(x − y); where x and y nearly agree, φ″ half-way.
HK_INLINE real curve_slope(const hk_law_curve *c, real x, real dx, real y, real dy)
{
    real difference = x - y;
    mask close = r_abs(difference) < (scalar)(HK_DOUBLE ? 1e-5 : 2e-2);
    real middle = curve_at(c, 0.5f * (x + y)).dd;
    return r_select(close, middle, (dx - dy) / r_select(close, r_set(1), difference));
}

// Energy and stress; what is not asked for is dropped by the compiler.
HK_INLINE real principal_energy_stress(const hk_law_params *p, mat3 F, mat3 *P)
{
    svd3 f = law_svd(F);
    const real *s = f.s.v;
    curve_point a[3], g[3], h = curve_at(&p->curves[2], s[0] * s[1] * s[2]);
    real sum = h.value;
    for (int k = 0; k < 3; k++) {
        a[k] = curve_at(&p->curves[0], s[k]);
        g[k] = curve_at(&p->curves[1], s[(k + 1) % 3] * s[(k + 2) % 3]);
        sum += a[k].value + g[k].value;
    }
    mat3 UD = f.u;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        real d = a[i].d + s[j] * g[k].d + s[k] * g[j].d + s[j] * s[k] * h.d;
        for (int r = 0; r < 3; r++) UD.m[r][i] *= d;
    }
    *P = m3_mult(UD, f.v);
    return sum;
}

HK_INLINE principal_stiffness principal_law_stiffness(const hk_law_params *p, svd3 f, double keep)
{
    const real *s = f.s.v;
    real product[3];
    curve_point a[3], g[3], h = curve_at(&p->curves[2], s[0] * s[1] * s[2]);
    for (int k = 0; k < 3; k++) {
        product[k] = s[(k + 1) % 3] * s[(k + 2) % 3];
        a[k] = curve_at(&p->curves[0], s[k]);
        g[k] = curve_at(&p->curves[1], product[k]);
    }
    mat3 scaling;
    real flip[3], twist[3];
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        scaling.m[k][k] = a[k].dd + s[i] * s[i] * g[j].dd + s[j] * s[j] * g[i].dd +
                          product[k] * product[k] * h.dd;
        scaling.m[i][j] = scaling.m[j][i] =
            g[k].d + product[k] * g[k].dd + s[k] * h.d + product[i] * product[j] * h.dd;
        // g acts on σᵢσ_k (number j) and σⱼσ_k (number i).
        flip[k] = curve_slope(&p->curves[0], s[i], a[i].d, s[j], a[j].d) - g[k].d - s[k] * h.d +
                  s[k] * s[k] * curve_slope(&p->curves[1], product[j], g[j].d, product[i], g[i].d);
        twist[k] = guarded_ratio(a[i].d + a[j].d + s[k] * (g[i].d + g[j].d), s[i] + s[j]) + g[k].d +
                   s[k] * h.d;
    }
    return principal_stiffness_of(f, scaling, flip, twist, keep);
}

HK_SHARED void principal_stretches(const hk_law_params *p, const vec3 *at, stretch_form *form)
{
    const real *s = at->v;
    real product[3];
    curve_point a[3], g[3], h = curve_at(&p->curves[2], s[0] * s[1] * s[2]);
    form->value = h.value;
    for (int k = 0; k < 3; k++) {
        product[k] = s[(k + 1) % 3] * s[(k + 2) % 3];
        a[k] = curve_at(&p->curves[0], s[k]);
        g[k] = curve_at(&p->curves[1], product[k]);
        form->value += a[k].value + g[k].value;
    }
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        form->d.v[k] = a[k].d + s[i] * g[j].d + s[j] * g[i].d + product[k] * h.d;
        form->dd.m[k][k] = a[k].dd + s[i] * s[i] * g[j].dd + s[j] * s[j] * g[i].dd +
                           product[k] * product[k] * h.dd;
        form->dd.m[i][j] = form->dd.m[j][i] =
            g[k].d + product[k] * g[k].dd + s[k] * h.d + product[i] * product[j] * h.dd;
    }
}

#define HK_PRINCIPAL_LAW(X)                                                                        \
    enum { X##_decomposes = 1 };                                                                   \
    typedef principal_stiffness X##_stiffness;                                                     \
    HK_INLINE real X##_energy_stress(const hk_law_params *p, const real *element, mat3 F, mat3 *P) \
    {                                                                                              \
        (void)element;                                                                             \
        return principal_energy_stress(p, F, P);                                                   \
    }                                                                                              \
    HK_ENERGY_AND_STRESS(X)                                                                        \
    HK_INLINE principal_stiffness X##_stiffness_of(const hk_law_params *p, const real *element,    \
                                                   mat3 F, double keep)                            \
    {                                                                                              \
        (void)element;                                                                             \
        return principal_law_stiffness(p, law_svd(F), keep);                                       \
    }                                                                                              \
    HK_PRINCIPAL_BLOCKS(X)                                                                         \
    HK_INLINE void X##_vertex(const hk_law_params *p, const real *element, mat3 F, vec3 a,         \
                              vec3 *force, mat3 *block)                                            \
    {                                                                                              \
        (void)element;                                                                             \
        svd3 f = law_svd(F);                                                                       \
        principal_stiffness s = principal_law_stiffness(p, f, 1);                                  \
        stretch_form form;                                                                         \
        principal_stretches(p, &f.s, &form);                                                       \
        principal_vertex(&s, &form, a, force, block);                                              \
    }                                                                                              \
    HK_INLINE void X##_stretches(const hk_law_params *p, const vec3 *s, stretch_form *form)        \
    {                                                                                              \
        principal_stretches(p, s, form);                                                           \
    }                                                                                              \
    HK_INLINE row_forms X##_diagonal(const hk_law_params *p, const real *element, mat3 F)          \
    {                                                                                              \
        (void)element;                                                                             \
        principal_stiffness s = principal_law_stiffness(p, law_svd(F), 1);                         \
        row_forms rows;                                                                            \
        principal_rows(&s, &rows);                                                                 \
        return rows;                                                                               \
    }

#endif
