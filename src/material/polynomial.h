// Polynomial material: ψ = Σ f(σᵢ) + Σ g(σᵢσⱼ) + h(J) with f, g, h polynomials in (s − 1): the
// special case of the spline material whose curves have no knots.
#define LAW polynomial
#include "material/principal.inl"

#ifdef HK_DESCRIBE_LAWS
static hk_status polynomial_curve(const char *name, const hk_curve *given, hk_law_curve *curve)
{
    if (given->count > HK_CURVE_POWERS)
        return hk_fail(HK_BAD_INPUT, "polynomial %s: at most %d coefficients (has %d)", name,
                       HK_CURVE_POWERS, given->count);
    *curve = (hk_law_curve){.powers = given->count};
    for (int k = 0; k < given->count; k++) {
        if (!isfinite(given->values[k]))
            return hk_fail(HK_BAD_INPUT, "polynomial %s: coefficient %d is not finite", name, k);
        curve->power[k] = given->values[k];
    }
    curve->value = curve->power[0];
    curve->slope = curve->power[1];
    return HK_OK;
}

static const hk_law_info polynomial_info = {
    .name = "polynomial",
    .summary = "f, g, h in principal stretches as polynomials of (s - 1)",
    .formula = "sum f(s_i) + sum g(s_i s_j) + h(J)",
    .curves = true,
    .from_lame = spline_from_lame,
    .make_curve = polynomial_curve,
};
#endif
