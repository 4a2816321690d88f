// Neo-Hookean, the textbook compressible form: ψ = μ/2 (I − 3) − μ ln J + λ/2 (ln J)².
enum { neo_hookean_uses = USES_I | USES_J };

HK_INLINE density neo_hookean_density(const hk_law_params *p, invariants q)
{
    real mu = r_set(p->c[0]), lambda = r_set(p->c[1]);
    density w = density_zero();
    w.defined = q.j > -1;
    real j = r_select(w.defined, q.j, r_zero()), r = 1 / (1 + j), less, log_j = r_log1p(j, &less);
    // I − 3 − 2 ln J = (I − 3 − 2(J − 1)) + 2(J − 1 − ln J)
    w.value = 0.5f * mu * (q.shape + 2 * less) + 0.5f * lambda * log_j * log_j;
    w.d[INV_I] = 0.5f * mu;
    w.d[INV_J] = (lambda * log_j - mu) * r;
    w.uniform = (mu * j + lambda * log_j) * r;
    w.dd[INV_J][INV_J] = (mu + lambda * (1 - log_j)) * r * r;
    return w;
}
#define LAW neo_hookean
#include "material/isotropic.inl"

#ifdef HK_DESCRIBE_LAWS
static void neo_hookean_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = lambda;
}
static const hk_law_info neo_hookean_info = {
    .name = "neo_hookean",
    .summary = "rubber, with a logarithmic barrier against inversion",
    .formula = "mu/2 (I-3) - mu ln J + lambda/2 (ln J)^2",
    .parameters = {"mu", "lambda"},
    .positive = 1,
    .any_sign = 2,
    .barrier = true,
    .from_lame = neo_hookean_from_lame,
};
#endif
