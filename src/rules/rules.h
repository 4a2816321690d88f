// The decisions of the methods, written once in plain C: the solvers of the CPU call them, and so
// do the kernels of the GPU, in one thread (src/gpu). They know numbers, no vectors: what a step
// length, an acceleration or a check of the energy comes to follows from a few sums.
#ifndef HK_RULES_H
#define HK_RULES_H

#include <math.h>

#ifdef __CUDACC__
#define HK_RULE static __host__ __device__ __forceinline__ __attribute__((unused))
#else
#define HK_RULE static inline __attribute__((unused))
#endif

HK_RULE int rule_finite(double a)
{
    return a - a == 0;
}

// ---------------------------------------------------------------- the end

// Whether a residual is as small as the tolerance asks for, relative to the forces at work. Forces
// that overflow are no scale.
HK_RULE int rule_converged(double residual, double tolerance, double scale)
{
    return rule_finite(scale) && residual <= tolerance * scale;
}

// What reports have of it.
HK_RULE double rule_relative(double residual, double scale)
{
    if (!rule_finite(scale)) return NAN;
    return scale > 0 ? residual / scale : residual > 0 ? HUGE_VAL : 0;
}

// Where no step decreases ε any more, a residual up to so many times its estimated rounding is at
// the limit of precision. Residuals as small as rounding are up to LIMIT times the estimate here
// and there. (On the GPU, where the estimate is one number over all bodies, it is a
// rough one.)
#define HK_ROUNDING_LIMIT         3
#define HK_ROUNDING_MARGIN        10
#define HK_SINGLE_ROUNDING_MARGIN 100

// ---------------------------------------------------------------- energies

// What is known of ε at two states, the second later.
typedef enum hk_verdict { HK_ROSE, HK_FELL, HK_UNCLEAR } hk_verdict;

// By energies that are known up to `noise`.
HK_RULE hk_verdict rule_compare(double now, double before, double noise)
{
    if (!rule_finite(now)) return HK_ROSE;
    if (!rule_finite(before)) return HK_FELL;
    if (fabs(now - before) > noise) return now < before ? HK_FELL : HK_ROSE;
    return HK_UNCLEAR;
}

// The noise of energies in double precision; `rounding` is that of bodies at rest, which stiff ones
// have much of.
HK_RULE double rule_double_noise(double rounding, double now, double before)
{
    return rounding + 1e-14 * (fabs(now) + fabs(before));
}

// Where energies cannot tell and there are no better ones: a gradient may rise for a while, but not
// for long.
HK_RULE int rule_stays_near(double residual, double residual_before)
{
    return residual <= 2 * residual_before;
}

// Of accelerated iterations there: the momentum has carried too far.
HK_RULE int rule_went_too_far(double residual, double residual_before)
{
    return residual > 1.5 * residual_before;
}

// The noise of an energy of elements that was added up in single precision; `rounding` is that of
// bodies at rest. (Inertia and loads are summed up in double precision.)
HK_RULE double rule_single_noise(double rounding, double elastic)
{
    return rounding + 1e-7 * fabs(elastic);
}

// ---------------------------------------------------------------- acceleration

enum { HK_ACCELERATION_CHEBYSHEV, HK_ACCELERATION_NESTEROV, HK_ACCELERATION_NONE };

// Chebyshev's ω of the n-th iteration since it began, from the one before: ω₁ = 1, ω₂ = 2/(2 − ρ²),
// then 4/(4 − ρ²ω) (Wang 2015).
HK_RULE double rule_omega(double rho, int n, double omega)
{
    return n == 0 ? 1 : n == 1 ? 2 / (2 - rho * rho) : 4 / (4 - rho * rho * omega);
}

// Nesterov's momentum of the n-th iteration since it began.
HK_RULE double rule_momentum(int n)
{
    return n / (n + 3.0);
}

// A rate ρ with 1 − ρ taken `caution` times.
HK_RULE double rule_cautious(double rho, double caution)
{
    return fmax(0.0, 1 - caution * (1 - rho));
}

#endif
