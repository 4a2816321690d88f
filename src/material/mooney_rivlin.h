// Mooney–Rivlin: the neo-Hookean of Descent + s₂(½ J^{−4/3}(I² − II) − 3) (Descent eq. 14). Its
// shear modulus is 2 (s₀ + s₂).
enum { mooney_rivlin_uses = USES_I | USES_II | USES_J };

HK_INLINE density mooney_rivlin_density(const hk_law_params *p, invariants q)
{
    distortion t = distortion_of(q);
    density w = neo_hookean_wy_terms(p, q, &t);
    real s2 = r_set(p->c[2]);
    real m = s2 * t.m * t.m;  // s₂ J^{−4/3}
    // With i = I − 3: I² − II = 6 + 4i + i² − ‖C − 1‖². The linear parts of 3(J^{−4/3} − 1) and of
    // 2i cancel as in distortion_of; J^{−4/3} − 1 + 4/3 ln J is 2 m_more + m_less².
    real square = q.i * q.i - q.green, second = 0.5f * m * (6 + 4 * q.i + square);
    real m_less = t.m_less * (2 + t.m_less), m_more = 2 * t.m_more + t.m_less * t.m_less;
    w.value +=
        s2 * (2 * q.shape + 4 * t.log_less + 3 * m_more + 2 * m_less * q.i) + 0.5f * m * square;
    w.d[INV_I] += m * (3 + q.i);
    w.d[INV_II] += -0.5f * m;
    w.d[INV_J] += r_set(-4.0 / 3) * second * t.r;
    w.uniform += m * t.r * (4 * q.j + 2 * q.i * q.j - r_set(2.0 / 3) * (q.i + square));
    w.dd[INV_I][INV_I] += m;
    w.dd[INV_I][INV_J] += r_set(-4.0 / 3) * m * (3 + q.i) * t.r;
    w.dd[INV_II][INV_J] += r_set(2.0 / 3) * m * t.r;
    w.dd[INV_J][INV_J] += r_set(28.0 / 9) * second * t.r * t.r;
    return w;
}
#define LAW mooney_rivlin
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
// Half of the shear modulus in each of the two terms.
static void mooney_rivlin_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu / 4;
    p->c[1] = (lambda + 2 * mu / 3) / 2;
    p->c[2] = mu / 4;
}
static const hk_law_info mooney_rivlin_info = {
    .name = "mooney_rivlin",
    .summary = "rubber, with a term in the second invariant",
    .formula = "s0 (J^(-2/3) I - 3) + s1 (J-1)^2 + s2 (J^(-4/3) (I^2-II)/2 - 3)",
    .parameters = {"s0", "s1", "s2"},
    .positive = 1 | 2,
    .barrier = true,
    .from_lame = mooney_rivlin_from_lame,
};
#endif
