// Neo-Hookean of Descent, ψ = s₀(J^{−2/3} I − 3) + s₁(J − 1)² (eq. 13, corrected). Its shear
// modulus is 2 s₀, its bulk modulus 2 s₁. Mooney–Rivlin and Fung add to it.
enum { neo_hookean_wy_uses = USES_I | USES_J };

// Ī = J^{−2/3} I and its derivatives.
typedef struct distortion {
    real m;         // J^{−2/3}
    real m_less;    // m − 1
    real m_more;    // m − 1 + 2/3 ln J, quadratic near rest
    real log_less;  // J − 1 − ln J, the same
    real r;         // 1/J
    real value;     // Ī − 3
    real d_i, d_j, d_ij, d_jj;
    real uniform;  // 2 d_i + d_j
    mask defined;
} distortion;

HK_INLINE distortion distortion_of(invariants q)
{
    distortion t;
    t.defined = q.j > -1;
    real j = r_select(t.defined, q.j, r_zero());
    real power = r_set(-2.0 / 3) * r_log1p(j, &t.log_less);
    t.r = 1 / (1 + j);
    t.m_more = r_exp_excess(power);
    t.m_less = power + t.m_more;
    t.m = 1 + t.m_less;
    // m (3 + i) − 3 with i = I − 3, and 3(m − 1) = −2(J − 1) + 2(J − 1 − ln J) + 3 m_more
    t.value = q.shape + 2 * t.log_less + 3 * t.m_more + t.m_less * q.i;
    real whole = t.m * (3 + q.i);
    t.d_i = t.m;
    t.d_j = r_set(-2.0 / 3) * whole * t.r;
    t.uniform = t.m * t.r * (2 * j - r_set(2.0 / 3) * q.i);
    t.d_ij = r_set(-2.0 / 3) * t.m * t.r;
    t.d_jj = r_set(10.0 / 9) * whole * t.r * t.r;
    return t;
}

HK_INLINE density neo_hookean_wy_terms(const hk_law_params *p, invariants q, const distortion *t)
{
    real s0 = r_set(p->c[0]), s1 = r_set(p->c[1]);
    density w = density_zero();
    w.defined = t->defined;
    w.value = s0 * t->value + s1 * q.j * q.j;
    w.d[INV_I] = s0 * t->d_i;
    w.d[INV_J] = s0 * t->d_j + 2 * s1 * q.j;
    w.uniform = s0 * t->uniform + 2 * s1 * q.j;
    w.dd[INV_I][INV_J] = s0 * t->d_ij;
    w.dd[INV_J][INV_J] = s0 * t->d_jj + 2 * s1;
    return w;
}

HK_INLINE density neo_hookean_wy_density(const hk_law_params *p, invariants q)
{
    distortion t = distortion_of(q);
    return neo_hookean_wy_terms(p, q, &t);
}
#define LAW neo_hookean_wy
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
static void neo_hookean_wy_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu / 2;
    p->c[1] = (lambda + 2 * mu / 3) / 2;
}
static const hk_law_info neo_hookean_wy_info = {
    .name = "neo_hookean_wy",
    .summary = "rubber with shape and volume apart, as in Wang & Yang 2016",
    .formula = "s0 (J^(-2/3) I - 3) + s1 (J-1)^2",
    .parameters = {"s0", "s1"},
    .positive = 1 | 2,
    .barrier = true,
    .from_lame = neo_hookean_wy_from_lame,
};
#endif
