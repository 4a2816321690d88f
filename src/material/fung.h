// Fung: the neo-Hookean of Descent + s₂(exp(s₃(J^{−2/3} I − 3)) − 1) (Descent eq. 15): soft tissue
// that stiffens exponentially. Its shear modulus is 2 (s₀ + s₂ s₃).
enum { fung_uses = USES_I | USES_J };

// Beyond this exponent the law counts as undefined, as at an inverted element: a trial state there
// is rejected before anything overflows, in single precision too.
#define FUNG_LARGEST_EXPONENT 60

HK_INLINE density fung_density(const hk_law_params *p, invariants q)
{
    distortion t = distortion_of(q);
    density w = neo_hookean_wy_terms(p, q, &t);
    real s2 = r_set(p->c[2]), s3 = r_set(p->c[3]);
    real exponent = s3 * t.value;
    mask fine = exponent < FUNG_LARGEST_EXPONENT;
    w.defined = w.defined & fine;
    exponent = r_select(fine, exponent, r_zero());
    real grown = exponent + r_exp_excess(exponent);  // exp − 1
    real a = s2 * s3 * (1 + grown), b = a * s3;
    w.value += s2 * grown;
    w.d[INV_I] += a * t.d_i;
    w.d[INV_J] += a * t.d_j;
    w.uniform += a * t.uniform;
    w.dd[INV_I][INV_I] += b * t.d_i * t.d_i;
    w.dd[INV_I][INV_J] += a * t.d_ij + b * t.d_i * t.d_j;
    w.dd[INV_J][INV_J] += a * t.d_jj + b * t.d_j * t.d_j;
    return w;
}
#define LAW fung
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
// Half of the shear modulus in each of the two terms, exponent rate 1.
static void fung_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu / 4;
    p->c[1] = (lambda + 2 * mu / 3) / 2;
    p->c[2] = mu / 4;
    p->c[3] = 1;
}
static const hk_law_info fung_info = {
    .name = "fung",
    .summary = "soft tissue that stiffens exponentially",
    .formula = "s0 (J^(-2/3) I - 3) + s1 (J-1)^2 + s2 (exp(s3 (J^(-2/3) I - 3)) - 1)",
    .parameters = {"s0", "s1", "s2", "s3"},
    .positive = 1 | 2,
    .barrier = true,
    .from_lame = fung_from_lame,
};
#endif
