// The rules of `vbd` (solver/vbd.c): acceleration of sweeps, careful steps, what becomes of the
// sweeps since the last check of ε.
#ifndef HK_RULES_VBD_H
#define HK_RULES_VBD_H

#include "rules/rules.h"

enum { HK_VBD_AUTO, HK_VBD_FULL, HK_VBD_CAREFUL };  // steps of a vertex
enum { HK_VBD_PATIENCE = 4, HK_VBD_MOST_PATIENCE = 64 };
#define HK_VBD_SHORTEST 1e-4

typedef struct hk_vbd_rules {
    int acceleration;  // HK_ACCELERATION_…
    int check;         // sweeps between two checks of ε
    int steps;         // HK_VBD_…
    double rho;        // of Chebyshev's acceleration
    double slowest;    // the largest ρ that inertia allows
} hk_vbd_rules;

typedef struct hk_vbd_state {
    int careful;    // vertices take care, until
    int streak;     // checks since then
    int patience;   // are this many
    double length;  // of steps where elements are blended, relative to what is usual
    // Of the acceleration:
    int since_restart;
    int fresh;  // nothing was kept since it began
    int quiet;  // none until the next check
    double omega;
    double caution;  // 1 − ρ is taken times this
} hk_vbd_state;

// Inertia takes a part m of every vertex's stiffness, the least of all vertices: Jacobi's iteration
// then has no mode slower than 1 − m, and one of Gauss–Seidel does the work of two. A larger ρ
// would only slow down the others.
HK_RULE double vbd_slowest(double least_part)
{
    return (1 - least_part) * (1 - least_part);
}

HK_RULE int vbd_is_careful(const hk_vbd_rules *r, const hk_vbd_state *s)
{
    return r->steps == HK_VBD_CAREFUL || (r->steps == HK_VBD_AUTO && s->careful);
}

// Steps of vertices, relative to Newton's. While elements are blended all vertices move at once,
// half as far: one after the other they would turn mirrored elements about one by one, each its own
// way, and end in knots.
HK_RULE double vbd_length(const hk_vbd_state *s, int blended)
{
    return blended ? 0.5 * s->length : s->length;
}

HK_RULE void vbd_restart(hk_vbd_state *s)
{
    s->since_restart = 0;
    s->fresh = 1;
    s->omega = 1;
}

// Before the first sweep of a step; carefulness goes on from the last one.
HK_RULE void vbd_begin(hk_vbd_state *s)
{
    s->caution = s->length = 1;
    s->quiet = 0;
    if (s->patience < HK_VBD_PATIENCE) s->patience = HK_VBD_PATIENCE;
    vbd_restart(s);
}

// What is used after the next sweep.
HK_RULE int vbd_acceleration(const hk_vbd_rules *r, const hk_vbd_state *s)
{
    return s->quiet ? HK_ACCELERATION_NONE : r->acceleration;
}

// Chebyshev's ω or Nesterov's momentum after a sweep.
HK_RULE double vbd_accelerate(const hk_vbd_rules *r, hk_vbd_state *s)
{
    int kind = vbd_acceleration(r, s), n = s->since_restart++;
    if (kind == HK_ACCELERATION_NESTEROV) return rule_momentum(n);
    if (kind != HK_ACCELERATION_CHEBYSHEV) return 1;
    double rho = rule_cautious(fmin(r->rho, r->slowest), s->caution);
    return s->omega = rule_omega(rho, n, s->omega);
}

// ε has fallen. `too_far`: the momentum went too far all the same (rule_went_too_far). True: the
// acceleration begins anew.
HK_RULE int vbd_keep(hk_vbd_state *s, int too_far)
{
    int restart = s->quiet || too_far;
    if (restart) vbd_restart(s);
    s->fresh = s->quiet = 0;
    s->length = fmin(1.0, 2 * s->length);
    if (s->careful && ++s->streak >= s->patience) s->careful = 0;
    return restart;
}

// ε has risen: back to the state that was kept. False: there is no more cautious way on.
HK_RULE int vbd_undo(const hk_vbd_rules *r, hk_vbd_state *s, int blended)
{
    int first = s->fresh, careful = s->careful || r->steps != HK_VBD_AUTO;
    vbd_restart(s);
    s->caution *= 2;
    if (!first) return 1;
    if (careful && s->quiet) {
        // Without blended elements that was rounding.
        if (!blended) return 0;
        s->length *= 0.5;
        return s->length >= HK_VBD_SHORTEST;
    }
    if (!s->careful && s->streak > 0)
        s->patience =
            2 * s->patience < HK_VBD_MOST_PATIENCE ? 2 * s->patience : HK_VBD_MOST_PATIENCE;
    s->careful = s->quiet = 1;
    s->streak = 0;
    return 1;
}

#endif
