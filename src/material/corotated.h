// Corotated linear elasticity, ψ = μ‖F − R‖² + λ/2 tr(RᵀF − I)² (Split eq. 3).
// With s = tr(RᵀF): ‖F − R‖² = I − 2 s + 3.
enum { corotated_uses = USES_S | USES_I };

HK_INLINE density corotated_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]), lambda = r_set(p->c[1]);
    density w = density_zero();
    w.value = mu * q.stretch + 0.5f * lambda * q.s * q.s;
    w.d[INV_S] = lambda * q.s - 2 * mu;
    w.d[INV_I] = mu;
    w.uniform = lambda * q.s;
    w.dd[INV_S][INV_S] = lambda;
    return w;
}
#define LAW corotated
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
static void corotated_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = lambda;
}
static const hk_law_info corotated_info = {
    .name = "corotated",
    .summary = "linear elasticity in the rotated frame of each element",
    .formula = "mu |F-R|^2 + lambda/2 tr(R'F-I)^2",
    .parameters = {"mu", "lambda"},
    .positive = 1,
    .any_sign = 2,
    .from_lame = corotated_from_lame,
};
#endif
