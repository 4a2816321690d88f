// The rules of `descent` (solver/descent.c): step length, acceleration in phases, what becomes of
// the iterations since the last check of ε.
#ifndef HK_RULES_DESCENT_H
#define HK_RULES_DESCENT_H

#include "rules/rules.h"

enum { HK_DESCENT_PHASES = 8, HK_DESCENT_PATIENCE = 2, HK_DESCENT_MOST_PATIENCE = 64 };

typedef struct hk_descent_rules {
    int acceleration;  // HK_ACCELERATION_…
    int check;         // iterations between two checks of ε
    int refresh;       // iterations between two diagonals
    // Of the Chebyshev acceleration; a phase without length is none.
    double phase_length[HK_DESCENT_PHASES], phase_rate[HK_DESCENT_PHASES];
    double shrink;     // γ, of α where ε rose
    double shortest;   // α that is not worth going on with, relative to the longest
    double tolerance;  // of the residual, relative to the forces at work
    double longest;    // α that is stable at rest
    double slowest;    // least eigenvalue of P H that inertia alone allows
} hk_descent_rules;

typedef struct hk_descent_state {
    double length;   // α
    double carried;  // α that the next time step begins with; 0: the longest
    double working;  // the longest α of iterations of this step that were kept
    int streak;      // checks since α changed
    int patience;    // of them before a longer α is tried
    int grown;       // α was made longer at the last check
    // Of the acceleration:
    int since_restart;
    double omega;
    double caution;  // 1 − ρ is taken times this
} hk_descent_state;

// Jacobi's iteration is stable up to α = 2/λ, with λ the largest eigenvalue of P H, and with
// Nesterov's momentum up to 4/(3 λ). λ of deformed states is a sixth larger than at rest where it
// was looked at, and the power iteration ends a little below λ: hence 1.6. (With 1.8, a few
// compressed elements of a swaying figure were thrown inside out time and again.)
HK_RULE double descent_longest(double eigenvalue, int acceleration)
{
    return fmin(1.0, (acceleration == HK_ACCELERATION_NESTEROV ? 1.2 : 1.6) / eigenvalue);
}

// ---------------------------------------------------------------- acceleration

// ρ of iteration k, and whether its phase begins there.
HK_RULE double descent_phase(const hk_descent_rules *r, int k, int *first)
{
    double begin = 0, rate = 0;
    *first = 0;
    for (int n = 0; n < HK_DESCENT_PHASES; n++) {
        double length = r->phase_length[n];
        if (length == 0) continue;
        rate = r->phase_rate[n];
        *first = k == (int)begin;
        if (k < begin + length) return rate;
        begin += length;
    }
    *first = 0;
    return rate;
}

HK_RULE void descent_restart(hk_descent_state *s)
{
    s->since_restart = 0;
    s->omega = 1;
}

// ω of iteration k, Nesterov's momentum, or 1 without acceleration. *restarts: a phase begins, so
// that what was before is to be forgotten.
HK_RULE double descent_accelerate(const hk_descent_rules *r, hk_descent_state *s, int k,
                                  int *restarts)
{
    *restarts = 0;
    if (r->acceleration == HK_ACCELERATION_NONE) return 1;
    if (r->acceleration == HK_ACCELERATION_NESTEROV) return rule_momentum(s->since_restart++);
    // Modes are hardly slower than inertia has them (those that buckle may be): a larger ρ would
    // only slow down the others.
    double rho = fmin(descent_phase(r, k, restarts), 1 - 0.5 * r->longest * r->slowest);
    rho = rule_cautious(rho, s->caution);
    if (*restarts) descent_restart(s);
    int n = s->since_restart++;
    return s->omega = rule_omega(rho, n, s->omega);
}

// ---------------------------------------------------------------- step length

HK_RULE void descent_lengthen(const hk_descent_rules *r, hk_descent_state *s)
{
    s->length = fmin(r->longest, s->length / r->shrink);
    s->streak = 0;
}

// Before the first iteration of a step: α goes on from the one before (Descent section 4.2).
HK_RULE void descent_begin(const hk_descent_rules *r, hk_descent_state *s)
{
    s->length = s->carried > 0 ? s->carried : r->longest;
    s->caution = 1;
    s->working = 0;
    if (s->patience < HK_DESCENT_PATIENCE) s->patience = HK_DESCENT_PATIENCE;
    descent_lengthen(r, s);
    descent_restart(s);
}

// ε has fallen since the last check. `rounding`: only rounding was left of the state that was kept.
// Down there it is rounding that decides whether ε falls, and what becomes of α says nothing: it
// may shrink to all but nothing while there are iterations left, and the next time step is not to
// begin with that.
HK_RULE void descent_keep(const hk_descent_rules *r, hk_descent_state *s, int rounding)
{
    s->carried = rounding ? fmax(s->carried, s->length) : s->length;
    s->working = fmax(s->working, s->length);
    s->grown = ++s->streak >= s->patience && s->length < r->longest;
    if (s->grown) descent_lengthen(r, s);
}

// A longer α that turns out to be too long is tried again later and later.
HK_RULE void descent_shorten(const hk_descent_rules *r, hk_descent_state *s)
{
    s->length *= r->shrink;
    if (s->grown)
        s->patience =
            2 * s->patience < HK_DESCENT_MOST_PATIENCE ? 2 * s->patience : HK_DESCENT_MOST_PATIENCE;
    s->streak = 0;
    s->grown = 0;
}

// ε has risen: back to the state that was kept. Momentum that had gathered for long may be to blame
// (`gathered` iterations since it began); then it begins anew with the same α and with less of it
// (1 − ρ is doubled for the rest of the step), else α becomes shorter. False: that is too short.
HK_RULE int descent_undo(const hk_descent_rules *r, hk_descent_state *s, int gathered, int rounding)
{
    int momentum = r->acceleration != HK_ACCELERATION_NONE && gathered > r->check;
    descent_restart(s);
    if (momentum)
        s->caution *= 2;
    else
        descent_shorten(r, s);
    if (s->streak == 0 && !rounding) s->carried = fmin(s->carried, s->length);
    return s->length >= r->shortest * r->longest;
}

// After a step. Where only rounding is left, no α decreases ε any more, and it has become shorter
// and shorter: that is nothing for the next time step to begin with. (Where a step stalled far
// above rounding it is: a body that was turned inside out did not recover with a longer one.)
HK_RULE void descent_end(hk_descent_state *s, int converged)
{
    if (converged) s->carried = fmax(s->carried, s->working);
    // Only rounding makes α shorter than what is carried.
    if (converged || s->carried > s->length) s->patience = HK_DESCENT_PATIENCE;
}

#endif
