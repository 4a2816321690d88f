// The rules of where a time step starts from (Descent section 4.4).
#ifndef HK_RULES_START_H
#define HK_RULES_START_H

#include "rules/rules.h"

// As the option `start` numbers them (solver/method.h).
enum {
    HK_START_AUTO,          // velocity, or position where that has less energy
    HK_START_POSITION,      // x
    HK_START_VELOCITY,      // x + h v
    HK_START_ACCELERATION,  // x + h v + η h (v − v₋₁)
    HK_START_OPTIMISED,  // x + a v + b v₋₁ with the best a and b (Descent eq. 10 has a alone)
    HK_START_ADAPTIVE,   // x + h v + h² a, a what the last step had of the external acceleration
};

// x + a v + b v₋₁ for the kinds that are that alone.
HK_RULE void start_factors(int kind, double h, double eta, double *a, double *b)
{
    *a = kind == HK_START_POSITION ? 0 : kind == HK_START_ACCELERATION ? h + eta * h : h;
    *b = kind == HK_START_ACCELERATION ? -eta * h : 0;
}

// Whether a start with this energy and least det F is fit; `here`: the energy at the position.
HK_RULE int start_is_fit(int kind, double energy, double least_j, double here)
{
    if (!rule_finite(energy) || !(least_j > 0)) return 0;
    return kind != HK_START_AUTO || !rule_finite(here) || energy < here;
}

// A start that has a hundred times the energy of the position, or more, is none, whatever its kind:
// laws that grow like exp reach that within a step, and a budget of iterations does not bring it
// back.
HK_RULE int start_is_wild(double energy, double here)
{
    return rule_finite(here) && energy - here > 100 * fabs(here);
}

// Time over which the second derivative of ε along the velocity is taken from two slopes: vertices
// go so little of the body's size, at their mean speed, that it is that at x (Descent eq. 10), and
// so much that the difference does not drown in rounding.
HK_RULE double start_probe_time(int single, double size, double speed)
{
    return (single ? 3e-4 : 1e-6) * size / speed;
}

// The d that minimises ε(x + d v) as far as the second derivative tells; slopes at x and x + probe
// v.
HK_RULE double start_best_time(double slope, double slope_ahead, double probe, double step)
{
    double curvature = (slope_ahead - slope) / probe;
    double d = curvature > 0 ? -slope / curvature : step;
    return fabs(d) <= 10 * step ? d : step;
}

// The a and b that minimise ε(x + a v + b v₋₁) as far as second derivatives tell. Slopes along v
// and v₋₁ at x, at x + probe v, and at x + probe₋₁ v₋₁; probe₋₁ 0: there is no v₋₁.
HK_RULE void start_best_times(const double here[2], const double ahead[2], double probe,
                              const double aside[2], double probe_before, double step, double *a,
                              double *b)
{
    *a = probe > 0 ? start_best_time(here[0], ahead[0], probe, step) : 0;
    *b = 0;
    if (!(probe > 0 && probe_before > 0)) return;
    double h11 = (ahead[0] - here[0]) / probe, h22 = (aside[1] - here[1]) / probe_before;
    double h12 = 0.5 * ((ahead[1] - here[1]) / probe + (aside[0] - here[0]) / probe_before);
    double det = h11 * h22 - h12 * h12;
    // Two directions that are nearly one tell no more than one of them.
    if (!(h11 > 0 && h22 > 0 && det > 1e-4 * h11 * h22)) return;
    double first = (here[1] * h12 - here[0] * h22) / det;
    double second = (here[0] * h12 - here[1] * h11) / det;
    if (!(fabs(first) <= 10 * step && fabs(second) <= 10 * step)) return;
    *a = first;
    *b = second;
}

// The part 0..1 of a vertex's external acceleration e = f/m that the last step's acceleration a
// had: (a · e)/‖e‖² (Chen et al. 2024), from a · f and f · f.
HK_RULE double start_external_part(double mass, double along, double square)
{
    return square > 0 ? fmin(fmax(mass * along / square, 0.0), 1.0) : 0;
}

#endif
