// Neo-Hookean of Descent, ψ = s₀(J^{−2/3} I − 3) + s₁(J − 1)² (eq. 13, corrected). Its shear
// modulus is 2 s₀, its bulk modulus 2 s₁. Mooney–Rivlin and Fung add to it.
enum { neo_hookean_wy_uses = USES_I | USES_J };

// Ī = J^{−2/3} I and its derivatives.
typedef struct distortion {
    real m;  // J^{−2/3}
    real r;  // 1/J
    real value, d_i, d_j, d_ij, d_jj;
    mask defined;
} distortion;

HK_INLINE distortion distortion_of(invariants q)
{
    distortion t;
    t.defined = q.j > 0;
    real j = r_select(t.defined, q.j, r_set(1));
    t.r = 1 / j;
    t.m = r_exp(r_set(-2.0 / 3) * r_log(j));
    t.value = t.m * q.i;
    t.d_i = t.m;
    t.d_j = r_set(-2.0 / 3) * t.value * t.r;
    t.d_ij = r_set(-2.0 / 3) * t.m * t.r;
    t.d_jj = r_set(10.0 / 9) * t.value * t.r * t.r;
    return t;
}

HK_INLINE density neo_hookean_wy_terms(const hk_law_params *p, invariants q, const distortion *t)
{
    real s0 = r_set(p->c[0]), s1 = r_set(p->c[1]);
    density w = density_zero();
    w.defined = t->defined;
    w.value = s0 * (t->value - 3) + s1 * (q.j - 1) * (q.j - 1);
    w.d[INV_I] = s0 * t->d_i;
    w.d[INV_J] = s0 * t->d_j + 2 * s1 * (q.j - 1);
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
