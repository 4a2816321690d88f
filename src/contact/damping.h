// Damping of contact: the skin between two things resists being compressed with a force c v beside
// that of its spring k d, and gives nothing back of what that takes. A block of mass m that hits a
// skin at speed v0 and is damped while it is slowed down, not while it is pushed back, leaves with
//
//   e = v/v0 = ω d_max/v0 = exp(−ζ/√(1 − ζ²) arctan(√(1 − ζ²)/ζ)),   ω² = k/m, ζ = c/(2 m ω),
//
// (with artanh and √(ζ² − 1) where ζ > 1; about 1/2ζ there). That nothing damps the way out has two
// reasons: such a damper would hold on to things that leave, and the energy is a convex function of
// the step all the same, ½ c/h min(0, n · u)² along the normal n of the state before, u what the
// closest points move towards each other. See Schwager & Pöschel 2007 for the same with both.
#ifndef HK_CONTACT_DAMPING_H
#define HK_CONTACT_DAMPING_H

#include "rules/rules.h"

// The least restitution that is damped for: 0 would be a damper without end.
#define HK_LEAST_RESTITUTION 0.05

HK_RULE double contact_restitution_of(double ratio)
{
    double root = sqrt(fabs(1 - ratio * ratio));
    if (root < 1e-6) return exp(-1.0);
    if (!(ratio > 0)) return 1;
    return exp(-ratio / root * (ratio < 1 ? atan2(root, ratio) : atanh(root / ratio)));
}

// ζ for a restitution 0..1, by bisection: e falls as ζ rises.
HK_RULE double contact_damping_ratio(double restitution)
{
    double low = 0, high = 1 / HK_LEAST_RESTITUTION;
    if (restitution >= 1) return 0;
    if (restitution < HK_LEAST_RESTITUTION) restitution = HK_LEAST_RESTITUTION;
    for (int k = 0; k < 60; k++) {
        double ratio = 0.5 * (low + high);
        if (contact_restitution_of(ratio) > restitution)
            low = ratio;
        else
            high = ratio;
    }
    return 0.5 * (low + high);
}

// Backward Euler takes from an oscillation of frequency ω a factor 1/√(1 + (h ω)²) in every step: a
// skin that is so stiff that a step is this many times 1/ω long sends nothing back by itself.
#define HK_DEAD_STEPS 3

// c/k, s, for a skin whose frequency is ω, rad/s.
HK_RULE double contact_damping_time(double ratio, double frequency, double step)
{
    if (!(ratio > 0) || !rule_finite(frequency)) return 0;
    double left = 1 - step * frequency / HK_DEAD_STEPS;
    return left > 0 ? 2 * ratio * left / frequency : 0;
}

#endif
