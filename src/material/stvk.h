// Saint Venant–Kirchhoff, ψ = λ/8 (I − 3)² + μ/4 (II − 2I + 3) (Descent eq. 12 with s₀ = λ/4),
// plus an optional volume penalty k (J − 1)² (Extreme section 4.1), which adds 2k to the bulk
// modulus.
//
// ψ is quadratic in A = FᵀF − 1, twice the Green strain, which is linear in squared lengths (after
// Kikuuwe et al. 2009): ψ = λ/8 (tr A)² + μ/4 ‖A‖² and P = F S with S = λ/2 (tr A) 1 + μ A. Forces
// and the exact stiffness follow with a few products, without a decomposition. Only where negative
// eigenvalues are to be changed the law is one of invariants, as others are.
enum { stvk_by_invariants_uses = USES_I | USES_II | USES_J };

HK_INLINE density stvk_by_invariants_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]), lambda = r_set(p->c[1]), k = r_set(p->c[2]);
    density w = density_zero();
    w.value = 0.125f * lambda * q.i * q.i + 0.25f * mu * q.green + k * q.j * q.j;
    w.d[INV_I] = 0.25f * lambda * q.i - 0.5f * mu;
    w.d[INV_II] = 0.25f * mu;
    w.d[INV_J] = 2 * k * q.j;
    w.uniform = 0.5f * lambda * q.i + 2 * k * q.j;
    w.dd[INV_I][INV_I] = 0.25f * lambda;
    w.dd[INV_J][INV_J] = 2 * k;
    return w;
}
#define LAW stvk_by_invariants
#include "material/isotropic.inl"

enum { stvk_decomposes = 0 };

// The second Piola–Kirchhoff stress S and the energy of A, without the penalty. The energy leaves
// the bits of what else is computed from A as they are.
HK_INLINE mat3 stvk_second_stress(const hk_law_params *p, mat3 A)
{
    real lambda = r_set(p->c[1]);
    return m3_add_identity(m3_scale(A, r_set(p->c[0])), 0.5f * lambda * m3_trace(A));
}
HK_INLINE real stvk_strain_energy(const hk_law_params *p, mat3 A)
{
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) A.m[i][j] = A.m[j][i] = r_apart(A.m[i][j]);
    real trace = m3_trace(A);
    return 0.125f * r_set(p->c[1]) * trace * trace + 0.25f * r_set(p->c[0]) * m3_dot(A, A);
}

// Where there is no penalty nothing of it is computed.
HK_INLINE int stvk_has_penalty(const hk_law_params *p)
{
    return p->c[2] != 0;
}

// J − 1 and cof F of F = 1 + H, without cancellation.
HK_INLINE real stvk_volume(mat3 H, mat3 *cofactor)
{
    mat3 K = m3_cofactor(H);
    real trace = m3_trace(H);
    real det = H.m[0][0] * K.m[0][0] + H.m[0][1] * K.m[0][1] + H.m[0][2] * K.m[0][2];
    *cofactor = m3_add_identity(m3_sub(K, m3_transpose(H)), 1 + trace);
    return trace + (m3_trace(K) + det);
}

HK_INLINE real stvk_energy_stress(const hk_law_params *p, const real *element, mat3 H, mat3 *P)
{
    (void)element;
    mat3 A = m3_green(H);
    *P = m3_mul(m3_gradient(H), stvk_second_stress(p, A));
    real psi = stvk_strain_energy(p, A);
    if (stvk_has_penalty(p)) {
        mat3 K;
        real k = r_set(p->c[2]), j = stvk_volume(H, &K);
        *P = m3_add_scaled(*P, 2 * k * j, K);
        psi += k * r_apart(j) * r_apart(j);
    }
    return psi;
}
HK_ENERGY_AND_STRESS(stvk)

// With λ, μ, S and N = F Fᵀ the block of a, b is
//   (a·S b) 1 + λ (F a)(F b)ᵀ + μ (F b)(F a)ᵀ + μ (a·b) N,
// and of the penalty 2k (cof F a)(cof F b)ᵀ − 2k (J − 1) [F (a × b)]×.
typedef struct stvk_exact {
    int has_penalty;
    real mu, lambda;
    mat3 F, S, N;
    real penalty, pressure;  // 2k, 2k (J − 1)
    mat3 cofactor;
} stvk_exact;

// Of F with its A, and with J − 1 and cof F where there is a penalty; all blocks times `weight`.
HK_INLINE stvk_exact stvk_exact_at(const hk_law_params *p, mat3 F, mat3 A, real j, mat3 cofactor,
                                   real weight)
{
    stvk_exact s;
    s.has_penalty = stvk_has_penalty(p);
    s.mu = weight * r_set(p->c[0]);
    s.lambda = weight * r_set(p->c[1]);
    s.F = F;
    s.S = m3_scale(stvk_second_stress(p, A), weight);
    s.N = m3_mult(F, F);
    s.penalty = weight * r_set(2 * p->c[2]);
    s.pressure = s.penalty * j;
    s.cofactor = cofactor;
    return s;
}

HK_INLINE stvk_exact stvk_exact_of(const hk_law_params *p, mat3 H)
{
    mat3 cofactor = m3_zero();
    real j = stvk_has_penalty(p) ? stvk_volume(H, &cofactor) : r_zero();
    return stvk_exact_at(p, m3_gradient(H), m3_green(H), j, cofactor, r_set(1));
}

// What the blocks need of one vector a.
typedef struct stvk_side {
    vec3 a, Fa, Sa, Ka;
} stvk_side;

HK_INLINE stvk_side stvk_side_of(const stvk_exact *s, vec3 a)
{
    stvk_side side;
    side.a = a;
    side.Fa = m3_apply(s->F, a);
    side.Sa = m3_apply(s->S, a);
    side.Ka = m3_apply(s->cofactor, a);
    return side;
}

// a = b: the block is symmetric, and J, linear in one vertex, has no second derivative.
HK_INLINE mat3 stvk_own_block(const stvk_exact *s, const stvk_side *a)
{
    real both = s->lambda + s->mu, shared = s->mu * v3_dot(a->a, a->a);
    vec3 row = v3_scale(a->Fa, both);
    mat3 block;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) block.m[i][j] = row.v[i] * a->Fa.v[j] + shared * s->N.m[i][j];
    if (s->has_penalty) {
        row = v3_scale(a->Ka, s->penalty);
        for (int i = 0; i < 3; i++)
            for (int j = i; j < 3; j++) block.m[i][j] += row.v[i] * a->Ka.v[j];
    }
    return m3_from_upper(m3_add_identity(block, v3_dot(a->a, a->Sa)));
}

HK_INLINE mat3 stvk_mixed_block(const stvk_exact *s, const stvk_side *a, const stvk_side *b)
{
    vec3 first = v3_scale(a->Fa, s->lambda), second = v3_scale(b->Fa, s->mu);
    real shared = s->mu * v3_dot(a->a, b->a);
    mat3 block;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            block.m[i][j] =
                first.v[i] * b->Fa.v[j] + second.v[i] * a->Fa.v[j] + shared * s->N.m[i][j];
    if (s->has_penalty) {
        mat3 turn = m3_skew(v3_scale(m3_apply(s->F, v3_cross(a->a, b->a)), s->pressure));
        block = m3_sub(m3_add(block, m3_outer(v3_scale(a->Ka, s->penalty), b->Ka)), turn);
    }
    return m3_add_identity(block, v3_dot(a->a, b->Sa));
}

// Exact, or with the eigenvalues of the modes changed.
typedef struct stvk_stiffness {
    int is_exact;
    stvk_exact exact;
    principal_stiffness modes;
} stvk_stiffness;

HK_INLINE stvk_stiffness stvk_stiffness_of(const hk_law_params *p, const real *element, mat3 F,
                                           double keep)
{
    (void)element;
    stvk_stiffness s;
    s.is_exact = keep >= 1;
    if (s.is_exact) {
        s.exact = stvk_exact_of(p, m3_displacement(F));
    } else {
        svd3 f = law_svd(F);
        invariants q = invariants_of_strains(strains_of_stretches(f.s));
        density w = stvk_by_invariants_density(p, q);
        isotropic_stiffness(&f, &w, keep, &s.modes);
    }
    return s;
}

HK_INLINE mat3 stvk_block(const stvk_stiffness *s, vec3 a, vec3 b)
{
    if (!s->is_exact) return principal_block(&s->modes, a, b);
    stvk_side left = stvk_side_of(&s->exact, a), right = stvk_side_of(&s->exact, b);
    return stvk_mixed_block(&s->exact, &left, &right);
}

HK_INLINE void stvk_inner(const stvk_stiffness *s, const mat3 *inverse, mat3 inner[6])
{
    if (!s->is_exact) {
        principal_inner(&s->modes, inverse, inner);
        return;
    }
    stvk_side side[3];
    for (int c = 0; c < 3; c++)
        side[c] = stvk_side_of(&s->exact, m3_column(m3_transpose(*inverse), c));
    for (int i = 0, q = 0; i < 3; i++)
        for (int j = i; j < 3; j++, q++)
            inner[q] = i == j ? stvk_own_block(&s->exact, &side[i])
                              : stvk_mixed_block(&s->exact, &side[i], &side[j]);
}

HK_INLINE row_forms stvk_diagonal(const hk_law_params *p, const real *element, mat3 F)
{
    (void)element;
    stvk_exact s = stvk_exact_of(p, m3_displacement(F));
    row_forms rows;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) rows.d[i][j] = s.S.m[j][j] + s.mu * s.N.m[i][i];
        rows.d[i][3] = s.S.m[1][2];
        rows.d[i][4] = s.S.m[0][2];
        rows.d[i][5] = s.S.m[0][1];
    }
    row_forms_add(&rows, s.lambda + s.mu, F, F);
    if (s.has_penalty) row_forms_add(&rows, s.penalty, s.cofactor, s.cofactor);
    return rows;
}

HK_INLINE void stvk_vertex(const hk_law_params *p, const real *element, mat3 H, vec3 a, vec3 *force,
                           mat3 *block)
{
    (void)element;
    stvk_exact s = stvk_exact_of(p, H);
    stvk_side side = stvk_side_of(&s, a);
    *force = m3_apply(s.F, side.Sa);
    if (s.has_penalty) *force = v3_add(*force, v3_scale(side.Ka, s.pressure));
    *block = stvk_own_block(&s, &side);
}

HK_SHARED void stvk_stretches(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    stvk_by_invariants_stretches(p, e, form);
}

#ifdef HK_DESCRIBE_LAWS
static void stvk_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = lambda;
    p->c[2] = 0;
}
static const hk_law_info stvk_info = {
    .name = "stvk",
    .summary = "Saint Venant-Kirchhoff: linear in the Green strain; soft under compression",
    .formula = "lambda/8 (I-3)^2 + mu/4 (II-2I+3) + volume_penalty (J-1)^2",
    .parameters = {"mu", "lambda", "volume_penalty"},
    .positive = 1,
    .any_sign = 2,
    .optional = 4,
    .converts = true,  // it resists ever less when crushed, and rests inside out as well
    .from_lame = stvk_from_lame,
};
#endif
