// Stable neo-Hookean (Smith et al. 2018): ψ = μ/2 (I − 3) + λ/2 (J − a)² − μ/2 ln(I + 1) with
// a = 1 + μ/λ − μ/4λ, shifted by a constant so that ψ = 0 at rest. Defined for every F.
enum { stable_neo_hookean_uses = USES_I | USES_J };

HK_INLINE density stable_neo_hookean_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]), lambda = r_set(p->c[1]), over = 1 / (4 + q.i), less;
    r_log1p(0.25f * q.i, &less);
    density w = density_zero();
    // With i = I − 3, j = J − 1 and λ(a − 1) = 3/4 μ, the rest values taken out:
    // μ/2 (i − ln(1 + i/4)) + λ/2 j² − 3/4 μ j; ln(1 + i/4) = i/4 − less.
    w.value = 0.375f * mu * q.shape + 0.5f * mu * less + 0.5f * lambda * q.j * q.j;
    w.d[INV_I] = 0.5f * mu * (3 + q.i) * over;
    w.d[INV_J] = lambda * q.j - 0.75f * mu;
    w.uniform = 0.25f * mu * q.i * over + lambda * q.j;
    w.dd[INV_I][INV_I] = 0.5f * mu * over * over;
    w.dd[INV_J][INV_J] = lambda;
    return w;
}
#define LAW stable_neo_hookean
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
// Smith et al. 2018, section 3.4: their μ and λ that agree with linear elasticity at rest.
static void stable_neo_hookean_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = 4 * mu / 3;
    p->c[1] = lambda + 5 * mu / 6;
}
static const hk_law_info stable_neo_hookean_info = {
    .name = "stable_neo_hookean",
    .summary = "neo-Hookean that stays finite through inversion",
    .formula = "mu/2 (I-3) + lambda/2 (J-a)^2 - mu/2 ln(I+1), a = 1 + 3 mu / 4 lambda",
    .parameters = {"mu", "lambda"},
    .positive = 1 | 2,
    .from_lame = stable_neo_hookean_from_lame,
};
#endif
