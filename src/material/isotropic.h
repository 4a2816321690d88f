// Isotropic laws as a function of four invariants of F,
//   s = σ₀ + σ₁ + σ₂ = tr S,  I = Σ σᵢ² = tr C,  II = Σ σᵢ⁴ = tr C²,  J = σ₀σ₁σ₂ = det F
// (Descent eq. 11 and the trace of the polar stretch). From the density and its first and second
// derivatives everything else follows. A law says which invariants it uses, so that the others
// (the rotation above all) cost nothing. It gets them less what they are at rest, from H = F − 1
// or the strains without cancellation, and combinations in which their linear parts cancel.
#ifndef HK_ISOTROPIC_H
#define HK_ISOTROPIC_H

#include "material/law.h"

enum { USES_S = 1, USES_I = 2, USES_II = 4, USES_J = 8 };
enum { INV_S, INV_I, INV_II, INV_J, INV_COUNT };

typedef struct invariants {
    real s, i, j;  // s − 3, I − 3, J − 1
    real green;    // ‖C − 1‖² = II − 2I + 3
    real stretch;  // ‖S − 1‖² = I − 2s + 3
    real shape;    // I − 3 − 2(J − 1): what is left of I if J − 1 is taken care of
} invariants;

// Derivatives with respect to {s, I, II, J}. Only the upper triangle of dd is used.
typedef struct density {
    real value;
    real d[INV_COUNT];
    real uniform;  // ψ_s + 2ψ_I + 4ψ_II + ψ_J: the stress in F = 1 with these derivatives
    real dd[INV_COUNT][INV_COUNT];
    mask defined;
} density;

HK_INLINE density density_zero(void)
{
    density w;
    w.value = w.uniform = r_zero();
    for (int a = 0; a < INV_COUNT; a++) {
        w.d[a] = r_zero();
        for (int b = 0; b < INV_COUNT; b++) w.dd[a][b] = r_zero();
    }
    w.defined = r_zero() == r_zero();
    return w;
}

// For laws that do not use s. J − 1 = tr H + tr cof H + det H.
HK_INLINE invariants invariants_of(mat3 H, int uses)
{
    invariants q = {r_zero(), r_zero(), r_zero(), r_zero(), r_zero(), r_zero()};
    mat3 K = m3_cofactor(H);
    real trace = m3_trace(H), square = m3_dot(H, H), minors = m3_trace(K);
    real det = H.m[0][0] * K.m[0][0] + H.m[0][1] * K.m[0][1] + H.m[0][2] * K.m[0][2];
    q.i = 2 * trace + square;
    q.j = trace + (minors + det);
    q.shape = r_apart(square) - 2 * r_apart(minors + det);
    if (uses & USES_II) {
        mat3 A = m3_green(H);
        q.green = m3_dot(A, A);
    }
    return q;
}

HK_INLINE invariants invariants_of_strains(vec3 strain)
{
    const real *e = strain.v;
    real pairs = e[0] * e[1] + e[1] * e[2] + e[2] * e[0], all = e[0] * e[1] * e[2];
    invariants q;
    q.s = e[0] + e[1] + e[2];
    q.j = q.s + (pairs + all);
    q.stretch = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
    q.shape = q.stretch - 2 * (pairs + all);
    q.i = q.green = r_zero();
    for (int k = 0; k < 3; k++) {
        real c = e[k] * (2 + e[k]);
        q.i += c;
        q.green += c * c;
    }
    return q;
}

// For values that are not to change the bits of derivatives.
HK_INLINE invariants invariants_apart(invariants q)
{
    q.s = r_apart(q.s);
    q.i = r_apart(q.i);
    q.j = r_apart(q.j);
    q.green = r_apart(q.green);
    q.stretch = r_apart(q.stretch);
    q.shape = r_apart(q.shape);
    return q;
}

HK_INLINE vec3 strains_of_stretches(vec3 s)
{
    for (int k = 0; k < 3; k++) s.v[k] -= 1;
    return s;
}

// P = 2 ψ_I F + 4 ψ_II F C + ψ_J cof F for laws that do not use s. With F = 1 + H, C = 1 + A and
// cof F = 1 + (tr H) 1 − Hᵀ + cof H what is left at rest is `uniform`.
HK_INLINE mat3 isotropic_stress(mat3 H, const density *w, int uses)
{
    mat3 P = m3_zero();
    real of_h = 2 * w->d[INV_I], of_j = w->d[INV_J], diagonal = w->uniform;
    if (uses & USES_II) {
        real c = 4 * w->d[INV_II];
        P = m3_scale(m3_mul(m3_gradient(H), m3_green(H)), c);
        of_h += c;
    }
    P = m3_add_scaled(P, of_h, H);
    if (uses & USES_J) {
        mat3 K = m3_cofactor(H);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) P.m[i][j] += of_j * (K.m[i][j] - H.m[j][i]);
        diagonal += of_j * m3_trace(H);
    }
    P = m3_add_identity(P, diagonal);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) P.m[i][j] = r_select(w->defined, P.m[i][j], r_zero());
    return P;
}

// ∂ψ/∂σ, of which `uniform` is left at rest.
HK_INLINE vec3 isotropic_principal_forces(vec3 strain, const density *w)
{
    const real *e = strain.v;
    vec3 d;
    for (int k = 0; k < 3; k++) {
        real p = e[(k + 1) % 3], q = e[(k + 2) % 3];
        d.v[k] = w->uniform + 2 * w->d[INV_I] * e[k] +
                 4 * w->d[INV_II] * e[k] * (3 + e[k] * (3 + e[k])) + w->d[INV_J] * (p + q + p * q);
        d.v[k] = r_select(w->defined, d.v[k], r_zero());
    }
    return d;
}

// ∂²ψ/∂σ².
HK_INLINE mat3 isotropic_scaling(const real s[3], const density *w)
{
    real g[INV_COUNT][3];  // ∂ invariant / ∂ σ_i
    mat3 dd;
    for (int i = 0; i < 3; i++) {
        g[INV_S][i] = r_set(1);
        g[INV_I][i] = 2 * s[i];
        g[INV_II][i] = 4 * s[i] * s[i] * s[i];
        g[INV_J][i] = s[(i + 1) % 3] * s[(i + 2) % 3];
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
            dd.m[i][j] = dd.m[j][i] = sum;
        }
    return dd;
}

HK_SHARED void isotropic_stiffness(const svd3 *f, const density *w, double keep,
                                   principal_stiffness *stiffness)
{
    const real *s = f->s.v;
    mat3 scaling = isotropic_scaling(s, w);
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

// P a with P as in isotropic_stress, and (cof F) a.
HK_INLINE vec3 isotropic_force(mat3 H, const density *w, int uses, vec3 a, vec3 *of_j)
{
    vec3 Ha = m3_apply(H, a), back = m3_tapply(H, a);
    vec3 force = v3_add(v3_scale(a, w->uniform), v3_scale(Ha, 2 * w->d[INV_I]));
    if (uses & USES_II) {
        real c = 4 * w->d[INV_II];
        vec3 Aa = v3_add(v3_add(Ha, back), m3_tapply(H, Ha));
        force = v3_add(force, v3_scale(v3_add(v3_add(Ha, Aa), m3_apply(H, Aa)), c));
    }
    if (uses & USES_J) {
        vec3 more = v3_sub(m3_apply(m3_cofactor(H), a), back);
        more = v3_add(more, v3_scale(a, m3_trace(H)));
        force = v3_add(force, v3_scale(more, w->d[INV_J]));
        *of_j = v3_add(a, more);
    }
    return force;
}

// P a and the block of a, a of ∂P/∂F. With the derivatives of the invariants along one vertex,
// g_s = R a, g_I = 2 F a, g_II = 4 F C a, g_J = cof F a, the first is Σ ψ_α g_α and the second
// Σ ψ_αβ g_α g_βᵀ with the second derivatives of the invariants: J has none, for it is linear in
// one vertex, and that of s has the modes of the polar rotation alone (see principal_stiffness).
// For laws that use s, f and strain are the decomposition.
HK_INLINE void isotropic_vertex(mat3 H, const svd3 *f, const vec3 *strain, const density *w,
                                int uses, vec3 a, vec3 *force, mat3 *block)
{
    mat3 F = m3_gradient(H);
    vec3 g[INV_COUNT], Fa = m3_apply(F, a);
    real aa = v3_dot(a, a), sphere = 2 * w->d[INV_I] * aa;
    mat3 b = m3_zero();
    *force = isotropic_force(H, w, uses, a, &g[INV_J]);
    g[INV_I] = v3_scale(Fa, r_set(2));
    if (uses & USES_II) {
        real c = 4 * w->d[INV_II];
        g[INV_II] = v3_scale(m3_apply(F, m3_tapply(F, Fa)), r_set(4));
        b = m3_add_scaled(m3_scale(m3_outer(Fa, Fa), c), c * aa, m3_mult(F, F));
        sphere += c * v3_dot(Fa, Fa);
    }
    if (uses & USES_S) {
        vec3 x = m3_tapply(f->v, a), d = isotropic_principal_forces(*strain, w), pushed;
        g[INV_S] = m3_apply(f->u, x);
        for (int k = 0; k < 3; k++) {
            int i = (k + 1) % 3, j = (k + 2) % 3;
            real twist = guarded_ratio(w->d[INV_S], f->s.v[i] + f->s.v[j]);
            vec3 mode =
                v3_sub(v3_scale(m3_column(f->u, i), x.v[j]), v3_scale(m3_column(f->u, j), x.v[i]));
            b = m3_add_scaled(b, twist, m3_outer(mode, mode));
            pushed.v[k] = d.v[k] * x.v[k];
        }
        *force = m3_apply(f->u, pushed);
    }
    for (int i = 0; i < 3; i++) b.m[i][i] += sphere;
    for (int p = 0; p < INV_COUNT; p++) {
        if (!(uses & (1 << p))) continue;
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
