// The rules of line searches and of L-BFGS (solver/line_search.c, solver/curvature.c).
#ifndef HK_RULES_LINE_SEARCH_H
#define HK_RULES_LINE_SEARCH_H

#include "rules/rules.h"

// Step lengths that are not worth going on with, relative to the first one; a direction that was
// remembered rather than made from the gradient alone is given up earlier.
#define HK_SHORTEST_STEP            1e-9
#define HK_SHORTEST_REMEMBERED_STEP 1e-4

HK_RULE double search_shortest(int fresh)
{
    return fresh ? HK_SHORTEST_STEP : HK_SHORTEST_REMEMBERED_STEP;
}

// ε, residual and the derivative of ε along the direction where a search begins, and what is known
// of ε and residual at a length.
typedef struct hk_search_state {
    double energy, residual, slope;
    double armijo;  // c₁
} hk_search_state;

// Armijo's rule. Near a minimum the decrease drowns in the noise of ε; there a step counts that
// reduces the gradient instead (after Hager & Zhang 2005).
HK_RULE int search_acceptable(const hk_search_state *from, double length, double energy,
                              double residual, double noise)
{
    if (!rule_finite(energy) || !rule_finite(residual)) return 0;
    double promise = length * from->slope;
    if (energy <= from->energy + from->armijo * length * from->slope) return 1;
    return fabs(promise) <= noise && energy <= from->energy + noise && residual < from->residual;
}

// Where the decrease drowns in the noise of ε and the derivative of ε along the direction is known
// at the length, too: that of a parabola which fell by what Armijo's rule asks for (the approximate
// Wolfe condition of Hager & Zhang 2005).
HK_RULE int search_slope_fell(const hk_search_state *from, double length, double energy,
                              double slope, double noise)
{
    if (!rule_finite(energy) || !rule_finite(slope)) return 0;
    if (fabs(length * from->slope) > noise || energy > from->energy + noise) return 0;
    return slope <= (2 * from->armijo - 1) * from->slope;
}

// The next length to try: the minimum of the parabola through what is known, within bounds.
HK_RULE double search_shorter(const hk_search_state *from, double length, double energy)
{
    double low = 0.1 * length, high = 0.5 * length;
    if (!rule_finite(energy)) return high;
    double curvature = energy - from->energy - from->slope * length;
    double best = -from->slope * length * length / (2 * curvature);
    return rule_finite(best) ? fmin(fmax(best, low), high) : high;
}

// Whether a step s and the change y of the gradient along it are worth being remembered: there is
// positive curvature.
HK_RULE int lbfgs_takes_pair(double sy, double ss, double yy)
{
    return sy > 0 && sy * sy > 1e-16 * ss * yy;
}

#endif
