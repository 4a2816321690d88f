// As rigid as possible, ψ = μ‖F − R‖² (QuasiNewton, projection on SO(3)). It has no λ: in small
// strain it is linear elasticity with ν = 0 and the given shear modulus.
enum { arap_uses = USES_S | USES_I };

HK_INLINE density arap_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]);
    density w = density_zero();
    w.value = mu * q.stretch;
    w.d[INV_S] = -2 * mu;
    w.d[INV_I] = mu;
    return w;
}
#define LAW arap
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
static void arap_from_lame(double mu, double lambda, hk_law_params *p)
{
    (void)lambda;
    p->c[0] = mu;
}
static double arap_projective(const hk_law_params *p)
{
    return 2 * p->c[0];
}
static const hk_law_info arap_info = {
    .name = "arap",
    .summary = "as rigid as possible: no resistance to volume change of its own",
    .formula = "mu |F-R|^2",
    .parameters = {"mu"},
    .positive = 1,
    .projective = arap_projective,
    .from_lame = arap_from_lame,
};
#endif
