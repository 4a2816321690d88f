// Newmark's family,
//
//   x' = x + h v + h² ((½ − β) a + β a'),    v' = v + h ((1 − γ) a + γ a'),    M a' = f(x').
//
// β = ¼, γ = ½ is the trapezoidal rule: second order, bounded energy, no damping. γ > ½ damps, and
// is of first order.
//
// Forces of contact are not in a, but implicit altogether: whatever a body meets within a step is a
// thing of that step, and its force must not push once more in the next one (a body that comes with
// v from where it touches, and has v' = −v after the step, would have −3 v after the next). With
// them alone, v' = v + h a' and x' = x + h v + h² β/γ a', which is stable, and gives back no more
// than |v| as long as 2 β ≥ γ (Kane et al. 1999 have the same for β = ½, γ = 1). In terms of ε, the
// energy of contact counts 1/γ times.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    (void)number;
    double h = s->step, beta = s->beta, gamma = s->gamma, own = beta * h / gamma;
    *to = (hk_stage){.weight = 1 / (beta * h * h),
                     .y = {[HK_KNOWN_X] = 1, [HK_KNOWN_V] = h, [HK_KNOWN_A] = h * h * (0.5 - beta)},
                     .h = own,
                     .until = 1,
                     .contact = 1 / gamma};
    // v' = (x' − y)/own + v + h (1 − γ) a = (x' − from)/own
    memcpy(to->from, to->y, sizeof to->from);
    to->from[HK_KNOWN_V] -= own;
    to->from[HK_KNOWN_A] -= own * h * (1 - gamma);
}

const hk_integrator hk_newmark = {
    .name = "newmark",
    .summary = "Newmark's family (beta, gamma); 0.25 and 0.5: the trapezoidal rule, no damping",
    .order = 2,  // with γ = ½
    .stages = 1,
    .accelerations = true,
    .parameters = true,
    .extrapolate = 1,
    .stage = stage,
};
