// Backward Euler: x' = x + h v', v' = v + h M⁻¹ f(x') (Descent eq. 1–3). First order,
// unconditionally stable, damps.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    (void)number;
    double h = s->step;
    *to = (hk_stage){.weight = 1 / (h * h),
                     .y = {[HK_KNOWN_X] = 1, [HK_KNOWN_V] = h},
                     .from = {[HK_KNOWN_X] = 1},
                     .h = h,
                     .until = 1,
                     .contact = 1};
}

const hk_integrator hk_backward_euler = {
    .name = "backward_euler",
    .summary = "first order, unconditionally stable, damps: never surprises",
    .order = 1,
    .stages = 1,
    .extrapolate = 1,
    .stage = stage,
};
