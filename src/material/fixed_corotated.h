// Fixed corotated, ψ = μ‖F − R‖² + λ/2 (J − 1)² (its volume half is Split eq. 13).
enum { fixed_corotated_uses = USES_S | USES_I | USES_J };

HK_INLINE density fixed_corotated_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]), lambda = r_set(p->c[1]);
    density w = density_zero();
    w.value = mu * q.stretch + 0.5f * lambda * q.j * q.j;
    w.d[INV_S] = -2 * mu;
    w.d[INV_I] = mu;
    w.d[INV_J] = lambda * q.j;
    w.uniform = lambda * q.j;
    w.dd[INV_J][INV_J] = lambda;
    return w;
}
#define LAW fixed_corotated
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
static void fixed_corotated_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = lambda;
}
static const hk_law_info fixed_corotated_info = {
    .name = "fixed_corotated",
    .summary = "corotated with a volume term that resists inversion properly",
    .formula = "mu |F-R|^2 + lambda/2 (J-1)^2",
    .parameters = {"mu", "lambda"},
    .positive = 1,
    .any_sign = 2,
    .from_lame = fixed_corotated_from_lame,
};
#endif
