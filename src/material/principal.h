// Laws in principal stretches, ψ = Σ f(σᵢ) + Σ_{i<j} g(σᵢσⱼ) + h(σ₀σ₁σ₂) (Xu et al. 2015), with
// f, g, h as curves (params.h). `spline` and `polynomial` differ only in how a user gives them.
#ifndef HK_PRINCIPAL_H
#define HK_PRINCIPAL_H

#include "material/law.h"

typedef struct curve_point {
    real value, d, dd;  // φ, φ′, φ″
} curve_point;

// So many powers, and knots (which go into HK_CURVE_KNOTS), are added together.
enum { HK_CURVE_FEW = 3, HK_CURVE_SOME = 4 };

// Horner's rule for the value and both derivatives.
HK_INLINE void curve_add_power(const hk_law_curve *c, int k, const real *x, int count,
                               curve_point *r)
{
    real power = r_set(c->power[k]);
    for (int n = 0; n < count; n++) {
        real t = x[n] - 1;
        r[n].dd = r[n].dd * t + 2 * r[n].d;
        r[n].d = r[n].d * t + r[n].value;
        r[n].value = r[n].value * t + power;
    }
}

HK_INLINE void curve_add_knot(const hk_law_curve *c, int k, const real *x, int count,
                              curve_point *r)
{
    real knot = r_set(c->knot[k]), jump = r_set(c->jump[k]);
    for (int n = 0; n < count; n++) {
        real y = r_max(x[n] - knot, r_zero()), jy2 = jump * y * y;
        r[n].dd += 12 * jy2;
        r[n].d += 4 * jy2 * y;
        r[n].value += jy2 * y * y;
    }
}

// At `count` places at once, so that coefficients are read once for all of them. Powers and knots
// beyond those of the curve have coefficients 0; some of them may be added.
HK_INLINE void curve_at_places(const hk_law_curve *c, const real *x, int count, curve_point *r)
{
    for (int n = 0; n < count; n++) r[n].value = r[n].d = r[n].dd = r_zero();
    for (int k = c->powers - 1; k >= HK_CURVE_FEW; k--) curve_add_power(c, k, x, count, r);
    if (c->powers > 0)
        for (int k = HK_CURVE_FEW - 1; k >= 0; k--) curve_add_power(c, k, x, count, r);
    real most = x[0];
    for (int n = 1; n < count; n++) most = r_max(most, x[n]);
    // Knots are in order: none adds anything after one that lies beyond all places.
    for (int k = 0; k < c->knots && r_any(most > r_set(c->knot[k])); k += HK_CURVE_SOME)
        for (int i = 0; i < HK_CURVE_SOME; i++) curve_add_knot(c, k + i, x, count, r);
}

HK_SHARED curve_point curve_at(const hk_law_curve *c, real x)
{
    curve_point r;
    curve_at_places(c, &x, 1, &r);
    return r;
}

HK_SHARED void curve_at_three(const hk_law_curve *c, const real x[3], curve_point r[3])
{
    curve_at_places(c, x, 3, r);
}

// (φ′(x) − φ′(y))/(x − y); where x and y nearly agree, φ″ half-way.
HK_INLINE real curve_slope(const hk_law_curve *c, real x, real dx, real y, real dy)
{
    real difference = x - y;
    mask close = r_abs(difference) < (scalar)(HK_DOUBLE ? 1e-5 : 2e-2);
    real middle = curve_at(c, 0.5f * (x + y)).dd;
    return r_select(close, middle, (dx - dy) / r_select(close, r_set(1), difference));
}

// All curves at the stretches s.
typedef struct principal_curves {
    real product[3];  // σᵢσⱼ, by the number of the third
    curve_point f[3], g[3], h;
} principal_curves;

HK_INLINE principal_curves principal_curves_at(const hk_law_params *p, const real s[3])
{
    principal_curves c;
    for (int k = 0; k < 3; k++) c.product[k] = s[(k + 1) % 3] * s[(k + 2) % 3];
    curve_at_three(&p->curves[0], s, c.f);
    curve_at_three(&p->curves[1], c.product, c.g);
    c.h = curve_at(&p->curves[2], s[0] * s[1] * s[2]);
    return c;
}

// ∂ψ/∂σ_k, ∂²ψ/∂σ_k², and ∂²ψ/∂σᵢ∂σⱼ of the other two.
HK_INLINE real principal_force(const principal_curves *c, const real s[3], int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    return c->f[k].d + s[i] * c->g[j].d + s[j] * c->g[i].d + c->product[k] * c->h.d;
}
HK_INLINE real principal_scaling(const principal_curves *c, const real s[3], int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    return c->f[k].dd + s[i] * s[i] * c->g[j].dd + s[j] * s[j] * c->g[i].dd +
           c->product[k] * c->product[k] * c->h.dd;
}
HK_INLINE real principal_mixed(const principal_curves *c, const real s[3], int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    return c->g[k].d + c->product[k] * c->g[k].dd + s[k] * c->h.d +
           c->product[i] * c->product[j] * c->h.dd;
}

// Energy and stress; what is not asked for is dropped by the compiler.
HK_INLINE real principal_energy_stress(const hk_law_params *p, mat3 F, mat3 *P)
{
    svd3 f = law_svd(F);
    const real *s = f.s.v;
    principal_curves c = principal_curves_at(p, s);
    real sum = c.h.value;
    mat3 UD = f.u;
    for (int k = 0; k < 3; k++) {
        real d = principal_force(&c, s, k);
        for (int r = 0; r < 3; r++) UD.m[r][k] *= d;
        sum += c.f[k].value + c.g[k].value;
    }
    *P = m3_mult(UD, f.v);
    return sum;
}

HK_INLINE principal_stiffness principal_law_stiffness(const hk_law_params *p, svd3 f, double keep)
{
    const real *s = f.s.v;
    principal_curves c = principal_curves_at(p, s);
    mat3 scaling;
    real flip[3], twist[3];
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        scaling.m[k][k] = principal_scaling(&c, s, k);
        scaling.m[i][j] = scaling.m[j][i] = principal_mixed(&c, s, k);
        // g acts on σᵢσ_k (number j) and σⱼσ_k (number i).
        flip[k] = curve_slope(&p->curves[0], s[i], c.f[i].d, s[j], c.f[j].d) - c.g[k].d -
                  s[k] * c.h.d +
                  s[k] * s[k] *
                      curve_slope(&p->curves[1], c.product[j], c.g[j].d, c.product[i], c.g[i].d);
        twist[k] = guarded_ratio(c.f[i].d + c.f[j].d + s[k] * (c.g[i].d + c.g[j].d), s[i] + s[j]) +
                   c.g[k].d + s[k] * c.h.d;
    }
    return principal_stiffness_of(f, scaling, flip, twist, keep);
}

HK_SHARED void principal_stretches(const hk_law_params *p, const vec3 *at, stretch_form *form)
{
    const real *s = at->v;
    principal_curves c = principal_curves_at(p, s);
    form->value = c.h.value;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        form->value += c.f[k].value + c.g[k].value;
        form->d.v[k] = principal_force(&c, s, k);
        form->dd.m[k][k] = principal_scaling(&c, s, k);
        form->dd.m[i][j] = form->dd.m[j][i] = principal_mixed(&c, s, k);
    }
}

#endif
