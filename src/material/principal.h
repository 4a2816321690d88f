// Laws in principal stretches, ψ = Σ f(σᵢ) + Σ_{i<j} g(σᵢσⱼ) + h(σ₀σ₁σ₂) (Xu et al. 2015), with
// f, g, h as curves (params.h). `spline` and `polynomial` differ only in how a user gives them.
#ifndef HK_PRINCIPAL_H
#define HK_PRINCIPAL_H

#include "material/law.h"

// At x = 1 + e, less its straight line at rest: φ(x) − φ(1) − φ′(1) e, φ′(x) − φ′(1), φ″(x). The
// lines of f, g and h cancel, all but.
typedef struct curve_point {
    real value, d, dd;
} curve_point;

// So many powers, and knots (which go into HK_CURVE_KNOTS), are added together.
enum { HK_CURVE_FEW = 3, HK_CURVE_SOME = 4 };

// Horner's rule for the value and both derivatives; the straight line has no part in it.
HK_INLINE void curve_add_power(const hk_law_curve *c, int k, const real *e, int count,
                               curve_point *r)
{
    real power = r_set(k < 2 ? 0 : c->power[k]);
    for (int n = 0; n < count; n++) {
        real t = e[n];
        r[n].dd = r[n].dd * t + 2 * r[n].d;
        r[n].d = r[n].d * t + r[n].value;
        r[n].value = r[n].value * t + power;
    }
}

// jump y⁴ with y = max(0, x − knot), which is y₁ at rest, less its line: with z = y − y₁ that is
// jump z² (y² + 2 y y₁ + 3 y₁²), but for what e goes beyond z below the knot.
HK_INLINE void curve_add_knot(const hk_law_curve *c, int k, const real *e, int count,
                              curve_point *r)
{
    real jump = r_set(c->jump[k]), to_rest = r_set(1 - c->knot[k]);
    real at_rest = r_max(to_rest, r_zero()), line = 4 * jump * at_rest * at_rest * at_rest;
    for (int n = 0; n < count; n++) {
        real y = r_max(e[n] + to_rest, r_zero());
        real z = r_select(to_rest > 0, r_max(e[n], -at_rest), y);
        r[n].dd += 12 * jump * y * y;
        r[n].d += 4 * jump * z * (y * y + at_rest * (y + at_rest));
        r[n].value += jump * z * z * (y * y + at_rest * (2 * y + 3 * at_rest)) -
                      r_select(to_rest > 0, line * (e[n] - z), r_zero());
    }
}

// At `count` places at once, so that coefficients are read once for all of them. Powers and knots
// beyond those of the curve have coefficients 0; some of them may be added.
HK_INLINE void curve_at_places(const hk_law_curve *c, const real *e, int count, curve_point *r)
{
    for (int n = 0; n < count; n++) r[n].value = r[n].d = r[n].dd = r_zero();
    for (int k = c->powers - 1; k >= HK_CURVE_FEW; k--) curve_add_power(c, k, e, count, r);
    if (c->powers > 0)
        for (int k = HK_CURVE_FEW - 1; k >= 0; k--) curve_add_power(c, k, e, count, r);
    real most = r_zero();  // rest is a place, too: lines are taken out there
    for (int n = 0; n < count; n++) most = r_max(most, e[n]);
    // Knots are in order: none adds anything after one that lies beyond all places.
    for (int k = 0; k < c->knots && r_any(most > r_set(c->knot[k] - 1)); k += HK_CURVE_SOME)
        for (int i = 0; i < HK_CURVE_SOME; i++) curve_add_knot(c, k + i, e, count, r);
}

HK_SHARED curve_point curve_at(const hk_law_curve *c, real e)
{
    curve_point r;
    curve_at_places(c, &e, 1, &r);
    return r;
}

HK_SHARED void curve_at_three(const hk_law_curve *c, const real e[3], curve_point r[3])
{
    curve_at_places(c, e, 3, r);
}

// (φ′(x) − φ′(y))/(x − y); where x and y nearly agree, φ″ half-way.
HK_INLINE real curve_slope(const hk_law_curve *c, real x, real dx, real y, real dy)
{
    real difference = x - y;
    mask close = r_abs(difference) < (scalar)(HK_DOUBLE ? 1e-5 : 2e-2);
    real middle = curve_at(c, 0.5f * (x + y)).dd;
    return r_select(close, middle, (dx - dy) / r_select(close, r_set(1), difference));
}

// All curves at the strains e.
typedef struct principal_curves {
    real s[3];        // σ
    real product[3];  // σᵢσⱼ, by the number of the third
    real excess[3];   // σᵢσⱼ − 1
    curve_point f[3], g[3], h;
    real slope_f, slope_g, slope_h;  // φ′(1)
    real rest;                       // the stress at rest: f′ + 2 g′ + h′ there
} principal_curves;

HK_INLINE principal_curves principal_curves_at(const hk_law_params *p, const real e[3])
{
    const hk_law_curve *f = &p->curves[0], *g = &p->curves[1], *h = &p->curves[2];
    principal_curves c;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        c.s[k] = 1 + e[k];
        c.excess[k] = e[i] + e[j] + e[i] * e[j];
        c.product[k] = 1 + c.excess[k];
    }
    curve_at_three(f, e, c.f);
    curve_at_three(g, c.excess, c.g);
    c.h = curve_at(h, e[0] + c.s[0] * c.excess[0]);
    c.slope_f = r_set(f->slope);
    c.slope_g = r_set(g->slope);
    c.slope_h = r_set(h->slope);
    c.rest = r_set(f->slope + 2 * g->slope + h->slope);
    return c;
}

// Σ f + Σ g + h with the straight lines of all of them added up: rest Σ e and what products have
// beyond it.
HK_INLINE real principal_value(const hk_law_params *p, const principal_curves *c,
                               const real strain[3])
{
    real e[3] = {r_apart(strain[0]), r_apart(strain[1]), r_apart(strain[2])};
    real pairs = e[0] * e[1] + e[1] * e[2] + e[2] * e[0], all = e[0] * e[1] * e[2];
    real sum = c->h.value + c->rest * (e[0] + e[1] + e[2]) + (c->slope_g + c->slope_h) * pairs +
               c->slope_h * all;
    for (int k = 0; k < 3; k++) sum += c->f[k].value + c->g[k].value;
    return sum + r_set(3 * p->curves[0].value + 3 * p->curves[1].value + p->curves[2].value);
}

// ∂ψ/∂σ_k, ∂²ψ/∂σ_k², and ∂²ψ/∂σᵢ∂σⱼ of the other two.
HK_INLINE real principal_force(const principal_curves *c, const real e[3], int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    return c->rest + c->f[k].d + c->s[i] * c->g[j].d + c->s[j] * c->g[i].d +
           c->slope_g * (e[i] + e[j]) + c->product[k] * c->h.d + c->slope_h * c->excess[k];
}
HK_INLINE real principal_scaling(const principal_curves *c, int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    const real *s = c->s;
    return c->f[k].dd + s[i] * s[i] * c->g[j].dd + s[j] * s[j] * c->g[i].dd +
           c->product[k] * c->product[k] * c->h.dd;
}
HK_INLINE real principal_mixed(const principal_curves *c, int k)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    return c->slope_g + c->g[k].d + c->product[k] * c->g[k].dd + c->s[k] * (c->slope_h + c->h.d) +
           c->product[i] * c->product[j] * c->h.dd;
}

// Energy and stress; what is not asked for is dropped by the compiler.
HK_INLINE real principal_energy_stress(const hk_law_params *p, mat3 H, mat3 *P)
{
    vec3 strain, d;
    svd3 f = law_strains(H, &strain);
    principal_curves c = principal_curves_at(p, strain.v);
    for (int k = 0; k < 3; k++) d.v[k] = principal_force(&c, strain.v, k);
    *P = principal_stress(&f, d);
    return principal_value(p, &c, strain.v);
}

HK_INLINE principal_stiffness principal_law_stiffness(const hk_law_params *p, svd3 f, double keep)
{
    const real *s = f.s.v, e[3] = {s[0] - 1, s[1] - 1, s[2] - 1};
    principal_curves c = principal_curves_at(p, e);
    mat3 scaling;
    real flip[3], twist[3];
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        scaling.m[k][k] = principal_scaling(&c, k);
        scaling.m[i][j] = scaling.m[j][i] = principal_mixed(&c, k);
        // g acts on σᵢσ_k (number j) and σⱼσ_k (number i).
        real own = c.slope_g + c.g[k].d + s[k] * (c.slope_h + c.h.d);
        flip[k] =
            curve_slope(&p->curves[0], e[i], c.f[i].d, e[j], c.f[j].d) - own +
            s[k] * s[k] * curve_slope(&p->curves[1], c.excess[j], c.g[j].d, c.excess[i], c.g[i].d);
        real sum =
            2 * c.slope_f + c.f[i].d + c.f[j].d + s[k] * (2 * c.slope_g + c.g[i].d + c.g[j].d);
        twist[k] = guarded_ratio(sum, s[i] + s[j]) + own;
    }
    return principal_stiffness_of(f, scaling, flip, twist, keep);
}

HK_SHARED void principal_stretches(const hk_law_params *p, const vec3 *at, stretch_form *form)
{
    principal_curves c = principal_curves_at(p, at->v);
    form->value = principal_value(p, &c, at->v);
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        form->d.v[k] = principal_force(&c, at->v, k);
        form->dd.m[k][k] = principal_scaling(&c, k);
        form->dd.m[i][j] = form->dd.m[j][i] = principal_mixed(&c, k);
    }
}

#endif
