// The laws of a membrane in its plane: energy per area of a 3×2 deformation gradient F = (f₀ f₁),
// its stress ∂ψ/∂f_j and its stiffness ∂²ψ/∂f_j∂f_l, written once over `real`.
//
// A sheet is thin: there is no stress across it, and its thickness is free (plane stress). With
// Lamé's μ, λ of the solid the law in the plane has μ and λ̄ = 2μλ/(λ + 2μ):
//
//   stvk         μ‖E‖² + λ̄/2 (tr E)²,  E = ½(FᵀF − 1)
//   orthotropic  ½(c₀₀E₀₀² + 2c₀₁E₀₀E₁₁ + c₁₁E₁₁²) + 2 G E₀₁², along warp and weft
//   corotated    μ Σ(σᵢ − 1)² + λ̄/2 (Σ(σᵢ − 1))²
//   arap         μ Σ(σᵢ − 1)²
//   neo_hookean  that of the solid, least over the stretch t of the thickness:
//                μ/2 (I + t² − 3) − μ ln(J t) + λ/2 ln²(J t),  I = σ₀² + σ₁², J = σ₀σ₁
//
// Beside it strands φ(‖F a‖) along directions a (as of orthotropic solids), and a limit of the
// stretches, k Σ (σᵢ − clamp(σᵢ))², the squared distance of F to those within [low, high]
// (QuasiNewton, "Strain limiting"; Bouaziz et al. 2014).
#ifndef HK_MEMBRANE_H
#define HK_MEMBRANE_H

#include "material/principal.h"
#include "material/sheet.h"

// In the frame of the principal stretches F = Σ σᵢ uᵢvᵢᵀ, with n across the sheet (see
// principal_stiffness in law.h): derivatives, and the eigenvalues of the modes u₀v₁ᵀ ± u₁v₀ᵀ (flip,
// twist) and n vᵢᵀ (across, ψᵢ/σᵢ: a sheet under compression buckles).
typedef struct membrane_form {
    real value, d[2];
    real dd[3];  // 00 01 11
    real flip, twist, across[2];
} membrane_form;

typedef struct membrane_frame {
    real s[2];     // σ
    vec3 u[3];     // u₀, u₁ and n; 0 where a stretch is
    real v[2][2];  // rows are v₀, v₁
} membrane_frame;

// Of C = FᵀF by one rotation; stretches are lengths of F vᵢ, which are accurate.
HK_INLINE membrane_frame membrane_frame_of(const vec3 f[2])
{
    membrane_frame r;
    real a = v3_dot(f[0], f[0]), b = v3_dot(f[0], f[1]), c = v3_dot(f[1], f[1]);
    real d = a - c, root = r_sqrt(d * d + 4 * b * b);
    mask round = r_not(root > (scalar)HK_TINY);
    real safe = r_select(round, r_set(1), root);
    // cos² or sin² of the angle, whichever is at least ½; the other from b.
    real large = r_sqrt(0.5f * (1 + r_abs(d) / safe)), small = b / (safe * large);
    mask first = d >= r_zero();
    real cosine = r_select(first, large, r_abs(small));
    real sine = r_select(first, small, r_copysign(large, b));
    cosine = r_select(round, r_set(1), cosine);
    sine = r_select(round, r_zero(), sine);
    r.v[0][0] = r.v[1][1] = cosine;
    r.v[0][1] = sine;
    r.v[1][0] = -sine;
    for (int i = 0; i < 2; i++)
        r.u[i] = v3_add(v3_scale(f[0], r.v[i][0]), v3_scale(f[1], r.v[i][1]));
    r.s[0] = v3_norm(r.u[0]);
    r.u[0] = v3_scale(r.u[0], r_reciprocal_or_zero(r.s[0]));
    r.u[1] = v3_sub(r.u[1], v3_scale(r.u[0], v3_dot(r.u[0], r.u[1])));
    r.s[1] = v3_norm(r.u[1]);
    r.u[1] = v3_scale(r.u[1], r_reciprocal_or_zero(r.s[1]));
    r.u[2] = v3_cross(r.u[0], r.u[1]);
    return r;
}

HK_INLINE void membrane_finish(const membrane_frame *r, membrane_form *w)
{
    w->twist = guarded_ratio(w->d[0] + w->d[1], r->s[0] + r->s[1]);
    for (int i = 0; i < 2; i++) w->across[i] = guarded_ratio(w->d[i], r->s[i]);
}

// corotated, and arap with λ̄ = 0.
HK_INLINE membrane_form membrane_corotated(const hk_membrane *m, const membrane_frame *r)
{
    membrane_form w;
    real mu = r_set(m->mu), lambda = r_set(m->lambda);
    real e[2] = {r->s[0] - 1, r->s[1] - 1}, trace = e[0] + e[1];
    w.value = mu * (e[0] * e[0] + e[1] * e[1]) + 0.5f * lambda * trace * trace;
    for (int i = 0; i < 2; i++) w.d[i] = 2 * mu * e[i] + lambda * trace;
    w.dd[0] = w.dd[2] = 2 * mu + lambda;
    w.dd[1] = lambda;
    w.flip = 2 * mu;
    membrane_finish(r, &w);
    return w;
}

// The stretch t of the thickness for which there is no stress across: μ(t² − 1) + λ ln(J t) = 0, by
// Newton's method in ln t, from a bound where the sheet is squeezed. ψ' = −μt²/J by J alone.
HK_INLINE membrane_form membrane_neo_hookean(const hk_membrane *m, const membrane_frame *r)
{
    enum { ITERATIONS = 9 };
    membrane_form w;
    real mu = r_set(m->mu), lambda = r_set(m->solid_lambda), k = r_set(m->solid_lambda / m->mu);
    real J = r->s[0] * r->s[1], log_j = r_log(J);
    real u = -k * log_j / (2 + k), t2 = r_zero();
    u = r_min(u, r_select(log_j < 0, 0.5f * r_log(1 + r_max(-k * log_j, r_zero())), r_zero()));
    for (int n = 0; n < ITERATIONS; n++) {
        t2 = r_exp(2 * u);
        u -= (mu * (t2 - 1) + lambda * (log_j + u)) / (2 * mu * t2 + lambda);
    }
    t2 = r_exp(2 * u);
    real all = log_j + u, inverse = 1 / J;
    real d = -mu * t2 * inverse;
    real dd = -d * inverse * (1 + 2 * lambda / (2 * mu * t2 + lambda));
    w.value = 0.5f * mu * (r->s[0] * r->s[0] + r->s[1] * r->s[1] + t2 - 3) - mu * all +
              0.5f * lambda * all * all;
    for (int i = 0; i < 2; i++) {
        real other = r->s[1 - i];
        w.d[i] = mu * r->s[i] + d * other;
        w.dd[2 * i] = mu + dd * other * other;
        w.across[i] = mu + d * other / r->s[i];
    }
    w.dd[1] = d + dd * J;
    w.flip = mu - d;
    w.twist = mu + d;
    mask defined = J > 0;
    w.value = r_select(defined, w.value, r_set((double)INFINITY));
    return w;
}

// k Σ (σ − clamp(σ))², added.
HK_INLINE void membrane_add_limit(const hk_membrane *m, const membrane_frame *r, membrane_form *w)
{
    membrane_form l;
    real k = r_set(m->limit), low = r_set(m->low), high = r_set(m->high);
    l.value = l.dd[1] = r_zero();
    for (int i = 0; i < 2; i++) {
        real beyond = r_max(r->s[i] - high, r_zero()) + r_min(r->s[i] - low, r_zero());
        mask out = r_abs(beyond) > 0;
        l.value += k * beyond * beyond;
        l.d[i] = 2 * k * beyond;
        l.dd[2 * i] = r_select(out, 2 * k, r_zero());
    }
    real apart = r->s[0] - r->s[1];
    mask close = r_abs(apart) < (scalar)1e-6;
    l.flip = r_select(close, l.dd[0], (l.d[0] - l.d[1]) / r_select(close, r_set(1), apart));
    membrane_finish(r, &l);
    w->value += l.value;
    w->flip += l.flip;
    w->twist += l.twist;
    for (int i = 0; i < 2; i++) {
        w->d[i] += l.d[i];
        w->across[i] += l.across[i];
    }
    for (int i = 0; i < 3; i++) w->dd[i] += l.dd[i];
}

HK_INLINE membrane_form membrane_form_zero(void)
{
    membrane_form w;
    w.value = w.d[0] = w.d[1] = w.dd[0] = w.dd[1] = w.dd[2] = r_zero();
    w.flip = w.twist = w.across[0] = w.across[1] = r_zero();
    return w;
}

HK_INLINE membrane_form membrane_form_of(const hk_membrane *m, const membrane_frame *r)
{
    membrane_form w;
    if (m->law == HK_MEMBRANE_neo_hookean)
        w = membrane_neo_hookean(m, r);
    else if (m->law == HK_MEMBRANE_stvk || m->law == HK_MEMBRANE_orthotropic)
        w = membrane_form_zero();
    else
        w = membrane_corotated(m, r);
    if (m->limit > 0) membrane_add_limit(m, r, &w);
    return w;
}

HK_INLINE int membrane_has_form(const hk_membrane *m)
{
    return !hk_membrane_is_quadratic(m) || m->limit > 0;
}

// Green's strain 00 11 01 and the second Piola–Kirchhoff stress of the laws quadratic in it.
HK_INLINE void membrane_green(const hk_membrane *m, const vec3 f[2], real e[3], real S[3])
{
    e[0] = 0.5f * (v3_dot(f[0], f[0]) - 1);
    e[1] = 0.5f * (v3_dot(f[1], f[1]) - 1);
    e[2] = 0.5f * v3_dot(f[0], f[1]);
    S[0] = r_set(m->green[0]) * e[0] + r_set(m->green[1]) * e[1];
    S[1] = r_set(m->green[1]) * e[0] + r_set(m->green[2]) * e[1];
    S[2] = 2 * r_set(m->green[3]) * e[2];
}

// A strand: y = F a, its length less 1, and its curve.
typedef struct membrane_strand {
    vec3 n;        // y/‖y‖
    real inverse;  // 1/‖y‖
    curve_point c;
} membrane_strand;

HK_INLINE membrane_strand membrane_strand_of(const hk_law_curve *curve, const vec3 f[2],
                                             const real a[2])
{
    membrane_strand s;
    vec3 y = v3_add(v3_scale(f[0], a[0]), v3_scale(f[1], a[1]));
    real length = v3_norm(y), strain = length - 1;
    s.inverse = r_reciprocal_or_zero(length);
    s.n = v3_scale(y, s.inverse);
    s.c = curve_at(curve, strain);
    s.c.value += r_set(curve->value) + r_set(curve->slope) * strain;
    s.c.d += r_set(curve->slope);
    return s;
}

// Energy per area and P = (p₀ p₁). Strands have directions a[strand_count][2] in the frame of F.
HK_INLINE real membrane_energy_stress(const hk_membrane *m, const vec3 f[2], const real (*a)[2],
                                      vec3 p[2])
{
    real psi = r_zero();
    p[0] = p[1] = v3_set(0, 0, 0);
    if (hk_membrane_is_quadratic(m)) {
        real e[3], S[3];
        membrane_green(m, f, e, S);
        psi = 0.5f * (S[0] * e[0] + S[1] * e[1]) + S[2] * e[2];
        p[0] = v3_add(v3_scale(f[0], S[0]), v3_scale(f[1], S[2]));
        p[1] = v3_add(v3_scale(f[0], S[2]), v3_scale(f[1], S[1]));
    }
    if (membrane_has_form(m)) {
        membrane_frame r = membrane_frame_of(f);
        membrane_form w = membrane_form_of(m, &r);
        psi += w.value;
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 2; i++) p[j] = v3_add(p[j], v3_scale(r.u[i], w.d[i] * r.v[i][j]));
    }
    for (int k = 0; k < m->strand_count; k++) {
        membrane_strand s = membrane_strand_of(&m->strand[k], f, a[k]);
        psi += s.c.value;
        for (int j = 0; j < 2; j++) p[j] = v3_add(p[j], v3_scale(s.n, s.c.d * a[k][j]));
    }
    return psi;
}

// ∂p_j/∂f_l for the pairs 00, 01, 11.
typedef struct membrane_stiffness {
    mat3 k[3];
} membrane_stiffness;

HK_INLINE real membrane_keep(real a, double keep)
{
    return keep < 1 ? r_max(a, a * r_set(keep)) : a;
}

// A symmetric 2×2 matrix 00 01 11 with its negative eigenvalues times keep.
HK_INLINE void membrane_project(real a[3], double keep)
{
    if (!(keep < 1)) return;
    real middle = 0.5f * (a[0] + a[2]), d = 0.5f * (a[0] - a[2]);
    real radius = r_sqrt(d * d + a[1] * a[1]);
    real more = r_max(-(middle - radius), r_zero()) * r_set(1 - keep);
    real most = r_max(-(middle + radius), r_zero()) * r_set(1 - keep);
    // The lower eigenvalue grows by `more`, the upper one by `most`: A + m 1 − n (A −
    // middle)/radius.
    real m = 0.5f * (more + most), n = 0.5f * (more - most) * r_reciprocal_or_zero(radius);
    a[0] += m - n * d;
    a[2] += m + n * d;
    a[1] -= n * a[1];
}

HK_INLINE void membrane_add_green(const hk_membrane *m, const vec3 f[2], double keep,
                                  membrane_stiffness *s)
{
    real e[3], S[3];
    membrane_green(m, f, e, S);
    real g[3] = {S[0], S[2], S[1]}, shear = r_set(m->green[3]);
    membrane_project(g, keep);
    for (int q = 0; q < 3; q++) s->k[q] = m3_add_identity(s->k[q], g[q]);
    s->k[0] = m3_add_scaled(s->k[0], r_set(m->green[0]), m3_outer(f[0], f[0]));
    s->k[0] = m3_add_scaled(s->k[0], shear, m3_outer(f[1], f[1]));
    s->k[1] = m3_add_scaled(s->k[1], r_set(m->green[1]), m3_outer(f[0], f[1]));
    s->k[1] = m3_add_scaled(s->k[1], shear, m3_outer(f[1], f[0]));
    s->k[2] = m3_add_scaled(s->k[2], r_set(m->green[2]), m3_outer(f[1], f[1]));
    s->k[2] = m3_add_scaled(s->k[2], shear, m3_outer(f[0], f[0]));
}

HK_INLINE void membrane_add_form(const hk_membrane *m, const vec3 f[2], double keep,
                                 membrane_stiffness *s)
{
    static const int first[3] = {0, 0, 1}, second[3] = {0, 1, 1};
    membrane_frame r = membrane_frame_of(f);
    membrane_form w = membrane_form_of(m, &r);
    membrane_project(w.dd, keep);
    real flip = membrane_keep(w.flip, keep), twist = membrane_keep(w.twist, keep);
    real same = 0.5f * (flip + twist), cross = 0.5f * (flip - twist);
    real across[2] = {membrane_keep(w.across[0], keep), membrane_keep(w.across[1], keep)};
    for (int q = 0; q < 3; q++) {
        int j = first[q], l = second[q];
        real a0 = r.v[0][j], a1 = r.v[1][j], b0 = r.v[0][l], b1 = r.v[1][l];
        mat3 k = m3_scale(m3_outer(r.u[0], r.u[0]), w.dd[0] * a0 * b0 + same * a1 * b1);
        k = m3_add_scaled(k, w.dd[2] * a1 * b1 + same * a0 * b0, m3_outer(r.u[1], r.u[1]));
        k = m3_add_scaled(k, w.dd[1] * a0 * b1 + cross * a1 * b0, m3_outer(r.u[0], r.u[1]));
        k = m3_add_scaled(k, w.dd[1] * a1 * b0 + cross * a0 * b1, m3_outer(r.u[1], r.u[0]));
        k = m3_add_scaled(k, across[0] * a0 * b0 + across[1] * a1 * b1, m3_outer(r.u[2], r.u[2]));
        s->k[q] = m3_add(s->k[q], k);
    }
}

// Negative eigenvalues of each of the parts times keep: 1 exact, 0 positive semidefinite.
HK_INLINE membrane_stiffness membrane_stiffness_of(const hk_membrane *m, const vec3 f[2],
                                                   const real (*a)[2], double keep)
{
    static const int first[3] = {0, 0, 1}, second[3] = {0, 1, 1};
    membrane_stiffness s;
    for (int q = 0; q < 3; q++) s.k[q] = m3_zero();
    if (hk_membrane_is_quadratic(m)) membrane_add_green(m, f, keep, &s);
    if (membrane_has_form(m)) membrane_add_form(m, f, keep, &s);
    for (int n = 0; n < m->strand_count; n++) {
        membrane_strand t = membrane_strand_of(&m->strand[n], f, a[n]);
        real along = membrane_keep(t.c.dd, keep), beside = membrane_keep(t.c.d * t.inverse, keep);
        mat3 k = m3_scale(m3_outer(t.n, t.n), along - beside);
        k = m3_add_identity(k, beside);
        for (int q = 0; q < 3; q++)
            s.k[q] = m3_add_scaled(s.k[q], a[n][first[q]] * a[n][second[q]], k);
    }
    return s;
}

// Σ a_j b_l ∂p_j/∂f_l: the 3×3 block of two corners with shape gradients a and b.
HK_INLINE mat3 membrane_block(const membrane_stiffness *s, const real a[2], const real b[2])
{
    mat3 k = m3_scale(s->k[0], a[0] * b[0]);
    k = m3_add_scaled(k, a[0] * b[1], s->k[1]);
    k = m3_add_scaled(k, a[1] * b[0], m3_transpose(s->k[1]));
    return m3_add_scaled(k, a[1] * b[1], s->k[2]);
}

#endif
