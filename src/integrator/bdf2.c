// The second backward differentiation formula,
//
//   x' − a x + b x₋ = c h v',    v' − a v + b v₋ = c h M⁻¹ f(x'),
//
// with a = (1 + r)²/(1 + 2r), b = r²/(1 + 2r), c = (1 + r)/(1 + 2r) for steps h = r h₋ (4/3, 1/3
// and 2/3 for equal ones). Second order, stable, damps what is fast and hardly what is slow. The
// first step, which has no step before, is one of backward Euler.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    if (!(s->before > 0)) {
        hk_backward_euler.stage(s, number, to);
        return;
    }
    double h = s->step, r = h / s->before;
    double a = (1 + r) * (1 + r) / (1 + 2 * r), b = r * r / (1 + 2 * r);
    double own = h * (1 + r) / (1 + 2 * r);  // c h
    *to = (hk_stage){.weight = 1 / (own * own),
                     .y = {[HK_KNOWN_X] = a,
                           [HK_KNOWN_V] = own * a,
                           [HK_KNOWN_X_BEFORE] = -b,
                           [HK_KNOWN_V_BEFORE] = -own * b},
                     .from = {[HK_KNOWN_X] = a, [HK_KNOWN_X_BEFORE] = -b},
                     .h = own,
                     .until = 1,
                     .contact = 1};
}

const hk_integrator hk_bdf2 = {
    .name = "bdf2",
    .summary = "second order, damps fast modes: as sturdy as backward Euler, far more accurate",
    .order = 2,
    .stages = 1,
    .positions = true,
    .extrapolate = 1,
    .stage = stage,
};
