// What a material law is, in the write-once form (see math/real.h).
//
// A law X is one file material/X.h that defines, over one deformation gradient F = 1 + H per lane,
//
//   real        X_energy   (p, element, H)           energy density, J/m³; +inf where undefined
//   mat3        X_stress   (p, element, H)           first Piola–Kirchhoff stress P = ∂ψ/∂F
//   real        X_energy_stress (p, element, H, &P)  both at once
//   X_stiffness X_stiffness_of (p, element, F, keep) a form of ∂P/∂F with its negative eigenvalues
//                                                    times keep: 1 exact, 0 the nearest positive
//                                                    semidefinite
//   mat3        X_block    (&stiffness, a, b)        Σ_jl a_j b_l ∂P_ij/∂F_kl, as a matrix (i, k):
//                                                    with shape-function gradients a and b this is
//                                                    the 3×3 block of an element's Hessian
//   void        X_inner    (&stiffness, &inverse, inner)  six such blocks at once: of corners 1..3,
//                                                    whose shape gradients are the rows of inverse
//   row_forms   X_diagonal (p, element, F)           ∂P_ij/∂F_il for each i: what the diagonal of
//                                                    the Hessian needs
//   void        X_vertex   (p, element, H, a, &force, &block)  P a and the exact block of a, a at
//                                                    once: what one vertex of an element needs
//   void        X_stretches (p, &e, &form)           density over the strains e = σ − 1 of the
//                                                    principal stretches (fibre: e₀ = ‖F a‖ − 1)
//                                                    with derivatives
//
// Energies and forces take the displacement gradient H and are to have their digits relative to
// themselves, in single precision, too, where strains are far below its rounding of F: terms that
// cancel at rest are combined by hand (after Shakeri et al. 2024). For stiffness F is good enough.
//
// and, once, in the part for the registry, its name, parameters and how they follow from E and ν.
// Isotropic laws get all of these functions from one density by isotropic.inl or principal.inl.
#ifndef HK_LAW_H
#define HK_LAW_H

#include "material/params.h"
#include "math/eigen3.h"
#include "math/mat3.h"
#include "math/polar.h"
#include "math/svd.h"

// The decompositions are long: one copy of each in a translation unit, called by all laws.
#if defined(HK_SHARED)  // chosen already
#elif defined(__CUDACC__)
#define HK_SHARED static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define HK_SHARED static __attribute__((noinline, unused))
#endif

HK_SHARED void stretches_of(const mat3 *F, svd3 *f)
{
    *f = svd3_of(*F);
}
HK_SHARED void make_positive(mat3 *sym)
{
    *sym = psd3(*sym);
}

HK_SHARED void strains_of(const mat3 *H, svd3 *f, vec3 *strain)
{
    *f = svd3_of_displacement(*H, strain);
}

HK_INLINE svd3 law_svd(mat3 F)
{
    svd3 f;
    stretches_of(&F, &f);
    return f;
}
HK_INLINE svd3 law_strains(mat3 H, vec3 *strain)
{
    svd3 f;
    strains_of(&H, &f, strain);
    return f;
}

// U diag(d) Vᵀ
HK_INLINE mat3 principal_stress(const svd3 *f, vec3 d)
{
    return m3_mult(m3_scale_columns(f->u, d), f->v);
}

// Energy and stress alone, from both at once: the compiler drops what is not asked for.
#define HK_ENERGY_AND_STRESS(X) HK_ENERGY_AND_STRESS_OF(X)
#define HK_ENERGY_AND_STRESS_OF(X)                                                 \
    HK_INLINE real X##_energy(const hk_law_params *p, const real *element, mat3 H) \
    {                                                                              \
        mat3 P;                                                                    \
        return X##_energy_stress(p, element, H, &P);                               \
    }                                                                              \
    HK_INLINE mat3 X##_stress(const hk_law_params *p, const real *element, mat3 H) \
    {                                                                              \
        mat3 P;                                                                    \
        X##_energy_stress(p, element, H, &P);                                      \
        return P;                                                                  \
    }

// The functions of the law that LAW names, in files that are included for several: LAW_FN(energy).
#define LAW_PASTE_(law, name) law##_##name
#define LAW_PASTE(law, name)  LAW_PASTE_(law, name)
#define LAW_FN(name)          LAW_PASTE(LAW, name)
#define LAW_NUMBER            LAW_PASTE(HK_LAW, LAW)

// ψ over the strains of the principal stretches, its gradient and Hessian; +inf where undefined.
typedef struct stretch_form {
    real value;
    vec3 d;
    mat3 dd;
} stretch_form;
typedef void stretch_law(const hk_law_params *p, const vec3 *e, stretch_form *form);

// Per row i of F the symmetric matrix ∂P_ij/∂F_il as {00, 11, 22, 12, 02, 01}.
typedef struct row_forms {
    real d[3][6];
} row_forms;

// Σ_jl a_j a_l D_i[jl]: the i-th diagonal entry of the block of a vertex with shape gradient a.
HK_INLINE real row_form_value(const row_forms *f, int i, vec3 a)
{
    const real *d = f->d[i];
    return a.v[0] * a.v[0] * d[0] + a.v[1] * a.v[1] * d[1] + a.v[2] * a.v[2] * d[2] +
           2 * (a.v[1] * a.v[2] * d[3] + a.v[0] * a.v[2] * d[4] + a.v[0] * a.v[1] * d[5]);
}

// Adds c g_ij h_il, symmetrised in j and l, to every row form.
HK_INLINE void row_forms_add(row_forms *f, real c, mat3 g, mat3 h)
{
    for (int i = 0; i < 3; i++) {
        const real *a = g.m[i], *b = h.m[i];
        for (int j = 0; j < 3; j++) f->d[i][j] += c * a[j] * b[j];
        f->d[i][3] += c * 0.5f * (a[1] * b[2] + a[2] * b[1]);
        f->d[i][4] += c * 0.5f * (a[0] * b[2] + a[2] * b[0]);
        f->d[i][5] += c * 0.5f * (a[0] * b[1] + a[1] * b[0]);
    }
}

// The stiffness of an isotropic law in the frame of the principal stretches, F = U Σ Vᵀ:
// the nine modes u_i v_jᵀ couple only as (ii)–(jj) and (ij)–(ji). With ψ_i = ∂ψ/∂σ_i,
//   scaling  ψ_ij
//   flip     (ψ_i − ψ_j)/(σ_i − σ_j), eigenmode (u_i v_jᵀ + u_j v_iᵀ)/√2
//   twist    (ψ_i + ψ_j)/(σ_i + σ_j), eigenmode (u_i v_jᵀ − u_j v_iᵀ)/√2
// (Teran et al. 2005; Smith et al. 2019). Pairs are numbered by the third index k.
typedef struct principal_stiffness {
    mat3 u, v;
    mat3 scaling;
    real same[3];   // (flip + twist)/2: (ij)–(ij)
    real cross[3];  // (flip − twist)/2: (ij)–(ji)
} principal_stiffness;

HK_INLINE principal_stiffness principal_stiffness_of(svd3 f, mat3 scaling, const real flip[3],
                                                     const real twist[3], double keep)
{
    principal_stiffness s;
    s.u = f.u;
    s.v = f.v;
    s.scaling = scaling;
    if (keep < 1) {
        make_positive(&s.scaling);
        s.scaling = m3_add_scaled(m3_scale(scaling, r_set(keep)), r_set(1 - keep), s.scaling);
    }
    for (int k = 0; k < 3; k++) {
        real a = flip[k], b = twist[k];
        if (keep < 1) {
            a = r_max(a, a * r_set(keep));
            b = r_max(b, b * r_set(keep));
        }
        s.same[k] = 0.5f * (a + b);
        s.cross[k] = 0.5f * (a - b);
    }
    return s;
}

HK_INLINE mat3 principal_block(const principal_stiffness *s, vec3 a, vec3 b)
{
    // In the frame of u, with a and b turned into the frame of v.
    vec3 x, y;
    for (int j = 0; j < 3; j++) {
        x.v[j] = v3_dot(m3_column(s->v, j), a);
        y.v[j] = v3_dot(m3_column(s->v, j), b);
    }
    mat3 k;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        k.m[i][i] = s->scaling.m[i][i] * x.v[i] * y.v[i] + s->same[l] * x.v[j] * y.v[j] +
                    s->same[j] * x.v[l] * y.v[l];
        k.m[i][j] = s->scaling.m[i][j] * x.v[i] * y.v[j] + s->cross[l] * x.v[j] * y.v[i];
        k.m[i][l] = s->scaling.m[i][l] * x.v[i] * y.v[l] + s->cross[j] * x.v[l] * y.v[i];
    }
    return m3_mult(m3_mul(s->u, k), s->u);
}

// The blocks 11, 12, 13, 22, 23, 33 of a tet whose corners have the rows of `inverse` as shape
// gradients.
HK_SHARED void principal_inner(const principal_stiffness *s, const mat3 *inverse, mat3 inner[6])
{
    vec3 a[3];
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < 3; j++) a[c].v[j] = inverse->m[c][j];
    for (int i = 0, q = 0; i < 3; i++)
        for (int j = i; j < 3; j++, q++) inner[q] = principal_block(s, a[i], a[j]);
}

// The row forms of a principal stiffness, by contraction with unit vectors.
HK_SHARED void principal_rows(const principal_stiffness *s, row_forms *f)
{
    static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    for (int q = 0; q < 6; q++) {
        vec3 a = {{r_zero(), r_zero(), r_zero()}}, b = a;
        a.v[pairs[q][0]] = r_set(1);
        b.v[pairs[q][1]] = r_set(1);
        mat3 block = principal_block(s, a, b);
        for (int i = 0; i < 3; i++) f->d[i][q] = block.m[i][i];
    }
}

// The last functions of every law with a principal stiffness.
#define HK_PRINCIPAL_BLOCKS(X) HK_PRINCIPAL_BLOCKS_OF(X)
#define HK_PRINCIPAL_BLOCKS_OF(X)                                                              \
    HK_INLINE mat3 X##_block(const principal_stiffness *s, vec3 a, vec3 b)                     \
    {                                                                                          \
        return principal_block(s, a, b);                                                       \
    }                                                                                          \
    HK_INLINE void X##_inner(const principal_stiffness *s, const mat3 *inverse, mat3 inner[6]) \
    {                                                                                          \
        principal_inner(s, inverse, inner);                                                    \
    }

// From the stiffness in the frame of the stretches and the derivatives of the density there.
HK_INLINE void principal_vertex(const principal_stiffness *s, const stretch_form *form, vec3 a,
                                vec3 *force, mat3 *block)
{
    vec3 x = m3_tapply(s->v, a);
    for (int k = 0; k < 3; k++) x.v[k] *= form->d.v[k];
    *force = m3_apply(s->u, x);
    *block = principal_block(s, a, a);
}

// x / y, with y kept away from 0: the rotation of F is not defined where two stretches cancel.
HK_INLINE real guarded_ratio(real x, real y)
{
    real least = r_set(HK_DOUBLE ? 1e-9 : 1e-4);
    real safe = r_select(y < 0, r_min(y, -least), r_max(y, least));
    return x / safe;
}

#endif
