// Isotropic laws as a function of four invariants of F,
//   s = σ₀ + σ₁ + σ₂ = tr S,  I = Σ σᵢ² = tr C,  II = Σ σᵢ⁴ = tr C²,  J = σ₀σ₁σ₂ = det F
// (Descent eq. 11 and the trace of the polar stretch). From the density and its first and second
// derivatives everything else follows. A law says which invariants it uses, so that the others
// (the rotation above all) cost nothing.
#ifndef HK_ISOTROPIC_H
#define HK_ISOTROPIC_H

#include "material/law.h"

enum { USES_S = 1, USES_I = 2, USES_II = 4, USES_J = 8 };
enum { INV_S, INV_I, INV_II, INV_J, INV_COUNT };

typedef struct invariants {
    real s, i, ii, j;
} invariants;

// Derivatives with respect to {s, I, II, J}. Only the upper triangle of dd is used.
typedef struct density {
    real value;
    real d[INV_COUNT];
    real dd[INV_COUNT][INV_COUNT];
    mask defined;
} density;

HK_INLINE density density_zero(void)
{
    density w;
    w.value = r_zero();
    for (int a = 0; a < INV_COUNT; a++) {
        w.d[a] = r_zero();
        for (int b = 0; b < INV_COUNT; b++) w.dd[a][b] = r_zero();
    }
    w.defined = r_zero() == r_zero();
    return w;
}

HK_INLINE invariants invariants_of(mat3 F, mat3 R, int uses)
{
    invariants q = {r_zero(), r_zero(), r_zero(), r_zero()};
    if (uses & USES_S) q.s = m3_dot(R, F);
    if (uses & USES_I) q.i = m3_dot(F, F);
    if (uses & USES_II) {
        mat3 C = m3_tmul(F, F);
        q.ii = m3_dot(C, C);
    }
    if (uses & USES_J) q.j = m3_det(F);
    return q;
}

HK_INLINE invariants invariants_of_stretches(vec3 s)
{
    real a = s.v[0] * s.v[0], b = s.v[1] * s.v[1], c = s.v[2] * s.v[2];
    invariants q = {s.v[0] + s.v[1] + s.v[2], a + b + c, a * a + b * b + c * c,
                    s.v[0] * s.v[1] * s.v[2]};
    return q;
}

HK_INLINE mat3 isotropic_rotation(mat3 F, int uses)
{
    return (uses & USES_S) ? polar_rotation_of(law_svd(F)) : F;
}

// P = ψ_s R + 2 ψ_I F + 4 ψ_II F C + ψ_J cof F
HK_INLINE mat3 isotropic_stress(mat3 F, mat3 R, const density *w, int uses)
{
    mat3 P = m3_zero();
    if (uses & USES_I) P = m3_scale(F, 2 * w->d[INV_I]);
    if (uses & USES_II) P = m3_add_scaled(P, 4 * w->d[INV_II], m3_mul(F, m3_tmul(F, F)));
    if (uses & USES_J) P = m3_add_scaled(P, w->d[INV_J], m3_cofactor(F));
    if (uses & USES_S) P = m3_add_scaled(P, w->d[INV_S], R);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) P.m[i][j] = r_select(w->defined, P.m[i][j], r_zero());
    return P;
}

// ∂ψ/∂σ and ∂²ψ/∂σ².
HK_INLINE void isotropic_stretch_derivatives(const real s[3], const density *w, vec3 *d, mat3 *dd)
{
    real g[INV_COUNT][3];  // ∂ invariant / ∂ σ_i
    for (int i = 0; i < 3; i++) {
        g[INV_S][i] = r_set(1);
        g[INV_I][i] = 2 * s[i];
        g[INV_II][i] = 4 * s[i] * s[i] * s[i];
        g[INV_J][i] = s[(i + 1) % 3] * s[(i + 2) % 3];
    }
    for (int i = 0; i < 3; i++) {
        d->v[i] = r_zero();
        for (int a = 0; a < INV_COUNT; a++) d->v[i] += w->d[a] * g[a][i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            real sum = r_zero();
            for (int a = 0; a < INV_COUNT; a++) {
                sum += w->dd[a][a] * g[a][i] * g[a][j];
                for (int b = a + 1; b < INV_COUNT; b++)
                    sum += w->dd[a][b] * (g[a][i] * g[b][j] + g[b][i] * g[a][j]);
            }
            if (i == j)
                sum += 2 * w->d[INV_I] + 12 * s[i] * s[i] * w->d[INV_II];
            else
                sum += s[3 - i - j] * w->d[INV_J];
            dd->m[i][j] = dd->m[j][i] = sum;
        }
}

HK_SHARED void isotropic_stiffness(const svd3 *f, const density *w, double keep,
                                   principal_stiffness *stiffness)
{
    const real *s = f->s.v;
    vec3 unused;
    mat3 scaling;
    isotropic_stretch_derivatives(s, w, &unused, &scaling);
    real flip[3], twist[3];
    for (int k = 0; k < 3; k++) {
        // The quotients are divided out, so repeated stretches need no care.
        real p = s[(k + 1) % 3], q = s[(k + 2) % 3];
        flip[k] = 2 * w->d[INV_I] + 4 * (p * p + p * q + q * q) * w->d[INV_II] - s[k] * w->d[INV_J];
        twist[k] = 2 * w->d[INV_I] + 4 * (p * p - p * q + q * q) * w->d[INV_II] +
                   s[k] * w->d[INV_J] + guarded_ratio(2 * w->d[INV_S], p + q);
    }
    *stiffness = principal_stiffness_of(*f, scaling, flip, twist, keep);
}

// Without a decomposition, for laws that do not use s. Rows of one i only: the second derivative
// of J has none, and ∂(F C)_ij/∂F_il = C_jl + F_ij F_il + (F Fᵀ)_ii δ_jl.
HK_INLINE row_forms isotropic_rows(mat3 F, const density *w, int uses)
{
    mat3 C = m3_tmul(F, F), FC = m3_mul(F, C), K = m3_cofactor(F);
    mat3 g[INV_COUNT];
    g[INV_S] = m3_zero();
    g[INV_I] = m3_scale(F, r_set(2));
    g[INV_II] = m3_scale(FC, r_set(4));
    g[INV_J] = K;
    row_forms f;
    for (int i = 0; i < 3; i++) {
        real rows = F.m[i][0] * F.m[i][0] + F.m[i][1] * F.m[i][1] + F.m[i][2] * F.m[i][2];
        for (int q = 0; q < 6; q++) f.d[i][q] = r_zero();
        for (int j = 0; j < 3; j++) f.d[i][j] = 2 * w->d[INV_I];
        if (uses & USES_II) {
            real c = 4 * w->d[INV_II];
            const real *x = F.m[i];
            for (int j = 0; j < 3; j++) f.d[i][j] += c * (C.m[j][j] + x[j] * x[j] + rows);
            f.d[i][3] += c * (C.m[1][2] + x[1] * x[2]);
            f.d[i][4] += c * (C.m[0][2] + x[0] * x[2]);
            f.d[i][5] += c * (C.m[0][1] + x[0] * x[1]);
        }
    }
    for (int a = 1; a < INV_COUNT; a++) {
        if (!(uses & (1 << a))) continue;
        row_forms_add(&f, w->dd[a][a], g[a], g[a]);
        for (int b = a + 1; b < INV_COUNT; b++)
            if (uses & (1 << b)) row_forms_add(&f, 2 * w->dd[a][b], g[a], g[b]);
    }
    return f;
}

// P a and the block of a, a of ∂P/∂F. With the derivatives of the invariants along one vertex,
// g_s = R a, g_I = 2 F a, g_II = 4 F C a, g_J = cof F a, the first is Σ ψ_α g_α and the second
// Σ ψ_αβ g_α g_βᵀ with the second derivatives of the invariants: J has none, for it is linear in
// one vertex, and that of s has the modes of the polar rotation alone (see principal_stiffness).
HK_INLINE void isotropic_vertex(mat3 F, const svd3 *f, const density *w, int uses, vec3 a,
                                vec3 *force, mat3 *block)
{
    vec3 g[INV_COUNT], Fa = m3_apply(F, a);
    real aa = v3_dot(a, a), sphere = 2 * w->d[INV_I] * aa;
    mat3 b = m3_zero();
    g[INV_I] = v3_scale(Fa, r_set(2));
    if (uses & USES_II) {
        real c = 4 * w->d[INV_II];
        g[INV_II] = v3_scale(m3_apply(F, m3_tapply(F, Fa)), r_set(4));
        b = m3_add_scaled(m3_scale(m3_outer(Fa, Fa), c), c * aa, m3_mult(F, F));
        sphere += c * v3_dot(Fa, Fa);
    }
    if (uses & USES_J) g[INV_J] = m3_apply(m3_cofactor(F), a);
    if (uses & USES_S) {
        vec3 x = m3_tapply(f->v, a);
        g[INV_S] = m3_apply(polar_rotation_of(*f), a);
        for (int k = 0; k < 3; k++) {
            int i = (k + 1) % 3, j = (k + 2) % 3;
            real twist = guarded_ratio(w->d[INV_S], f->s.v[i] + f->s.v[j]);
            vec3 mode =
                v3_sub(v3_scale(m3_column(f->u, i), x.v[j]), v3_scale(m3_column(f->u, j), x.v[i]));
            b = m3_add_scaled(b, twist, m3_outer(mode, mode));
        }
    }
    for (int i = 0; i < 3; i++) b.m[i][i] += sphere;
    *force = v3_set(0, 0, 0);
    for (int p = 0; p < INV_COUNT; p++) {
        if (!(uses & (1 << p))) continue;
        *force = v3_add(*force, v3_scale(g[p], w->d[p]));
        // Σ over q ≥ p: of the mixed ones both halves.
        vec3 row = v3_scale(g[p], 0.5f * w->dd[p][p]);
        for (int q = p + 1; q < INV_COUNT; q++)
            if (uses & (1 << q)) row = v3_add(row, v3_scale(g[q], w->dd[p][q]));
        mat3 half = m3_outer(g[p], row);
        b = m3_add(b, m3_add(half, m3_transpose(half)));
    }
    for (int i = 0; i < 3; i++) {
        force->v[i] = r_select(w->defined, force->v[i], r_zero());
        for (int j = 0; j < 3; j++) block->m[i][j] = r_select(w->defined, b.m[i][j], r_zero());
    }
}

#endif
