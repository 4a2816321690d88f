// Saint Venant–Kirchhoff, ψ = λ/8 (I − 3)² + μ/4 (II − 2I + 3) (Descent eq. 12 with s₀ = λ/4),
// plus an optional volume penalty k (J − 1)² (Extreme section 4.1), which adds 2k to the bulk
// modulus.
enum { stvk_uses = USES_I | USES_II | USES_J };

HK_INLINE density stvk_density(const hk_law_params *p, invariants q)
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
#define LAW stvk
#include "material/isotropic.inl"

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
