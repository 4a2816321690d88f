// The implicit midpoint rule: forces are those of the middle z of the step,
//
//   z = x + h/2 u,    u = v + h/2 M⁻¹ f(z),    x' = 2 z − x,    v' = 2 u − v:
//
// half a step of backward Euler, and as much again. Second order, keeps momenta and, in linear
// problems, the energy: nothing is damped, stiff modes go on ringing.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    (void)number;
    double h = s->step / 2;
    *to = (hk_stage){.weight = 1 / (h * h),
                     .y = {[HK_KNOWN_X] = 1, [HK_KNOWN_V] = h},
                     .from = {[HK_KNOWN_X] = 1},
                     .h = h,
                     .until = 0.5,
                     .contact = 1};
}

const hk_integrator hk_implicit_midpoint = {
    .name = "implicit_midpoint",
    .summary = "second order, keeps energy and momenta of what is nearly linear; damps nothing",
    .order = 2,
    .stages = 1,
    .extrapolate = 2,
    .stage = stage,
};
