// Spline material (Xu et al. 2015): ψ = Σ f(σᵢ) + Σ g(σᵢσⱼ) + h(J), where the user draws f′, g′ and
// h′ as natural cubic splines through control points; beyond the last points they go on straight.
#define LAW spline
#include "material/principal.inl"

#ifdef HK_DESCRIBE_LAWS
// Without control points: f = μ(s − 1)², h = λ/2 (s − 1)², which is the fixed corotated law.
static void spline_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->curves[0] = (hk_law_curve){.powers = 3, .power = {0, 0, mu}};
    p->curves[1] = (hk_law_curve){0};
    p->curves[2] = (hk_law_curve){.powers = 3, .power = {0, 0, lambda / 2}};
}

// Second derivatives m of the natural spline through (t, y): the tridiagonal system, solved by
// elimination.
static void natural_spline(int n, const double *t, const double *y, double *m)
{
    double upper[HK_CURVE_KNOTS] = {0}, right[HK_CURVE_KNOTS] = {0};
    m[0] = m[n - 1] = 0;
    for (int k = 1; k + 1 < n; k++) {
        double before = t[k] - t[k - 1], after = t[k + 1] - t[k];
        double bend = 6 * ((y[k + 1] - y[k]) / after - (y[k] - y[k - 1]) / before);
        double pivot = 2 * (before + after) - before * upper[k - 1];
        upper[k] = after / pivot;
        right[k] = (bend - before * right[k - 1]) / pivot;
    }
    for (int k = n - 2; k > 0; k--) m[k] = right[k] - upper[k] * m[k + 1];
}

// φ′ is the spline; φ its integral in truncated powers with φ(1) = 0. The third derivative of the
// spline jumps at knot k by the change of slope of m; (x − t)³₊ has third derivative 6.
static hk_status spline_curve(const char *name, const hk_curve *given, hk_law_curve *curve)
{
    int n = given->count;
    if (n < 2 || n > HK_CURVE_KNOTS)
        return hk_fail(HK_BAD_INPUT, "spline %s: needs 2 to %d control points (has %d)", name,
                       HK_CURVE_KNOTS, n);
    double t[HK_CURVE_KNOTS], y[HK_CURVE_KNOTS], m[HK_CURVE_KNOTS];
    for (int k = 0; k < n; k++) {
        t[k] = given->values[2 * k];
        y[k] = given->values[2 * k + 1];
        if (!isfinite(t[k]) || !isfinite(y[k]))
            return hk_fail(HK_BAD_INPUT, "spline %s: control point %d is not finite", name, k);
        if (k > 0 && !(t[k] > t[k - 1]))
            return hk_fail(HK_BAD_INPUT, "spline %s: control point %d is not beyond the one before",
                           name, k);
    }
    natural_spline(n, t, y, m);
    *curve = (hk_law_curve){.powers = 3, .knots = n};
    double slope_before = 0;
    for (int k = 0; k < n; k++) {
        double slope = k + 1 < n ? (m[k + 1] - m[k]) / (t[k + 1] - t[k]) : 0;
        curve->knot[k] = t[k];
        curve->jump[k] = (slope - slope_before) / 24;
        slope_before = slope;
    }
    // Left of the first knot φ′ is a straight line.
    double width = t[1] - t[0];
    double slope = (y[1] - y[0]) / width - width * (2 * m[0] + m[1]) / 6;
    curve->power[1] = y[0] + slope * (1 - t[0]);
    curve->power[2] = slope / 2;
    double at_one = 0;
    curve->slope = curve->power[1];
    for (int k = 0; k < n; k++) {
        double d = fmax(0, 1 - t[k]);
        at_one += curve->jump[k] * d * d * d * d;
        curve->slope += 4 * curve->jump[k] * d * d * d;
    }
    curve->power[0] = -at_one;
    return HK_OK;
}

static const hk_law_info spline_info = {
    .name = "spline",
    .summary = "f', g', h' in principal stretches drawn as cubic splines",
    .formula = "sum f(s_i) + sum g(s_i s_j) + h(J)",
    .curves = true,
    .from_lame = spline_from_lame,
    .make_curve = spline_curve,
};
#endif
