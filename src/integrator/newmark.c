// Newmark's family,
//
//   x' = x + h v + h² ((½ − β) a + β a'),    v' = v + h ((1 − γ) a + γ a'),    M a' = f(x').
//
// β = ¼, γ = ½ is the trapezoidal rule: second order, bounded energy, no damping. γ > ½ damps, and
// is of first order.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    (void)number;
    double h = s->step, beta = s->beta, gamma = s->gamma, own = beta * h / gamma;
    *to = (hk_stage){.weight = 1 / (beta * h * h),
                     .y = {[HK_KNOWN_X] = 1, [HK_KNOWN_V] = h, [HK_KNOWN_A] = h * h * (0.5 - beta)},
                     .h = own,
                     .until = 1};
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
