// Bathe 2007 (TR-BDF2 with equal halves): the trapezoidal rule to the middle of the step, then
//
//   v' = (x − 4 x_m + 3 x')/h,    a' = (v − 4 v_m + 3 v')/h,    M a' = f(x').
//
// Second order, damps what is too fast for the time step and little else; two solves per step.
#include "integrator/integrator.h"

static void stage(const hk_integrator_settings *s, int number, hk_stage *to)
{
    double h = s->step;
    if (number == 0) {
        hk_integrator_settings half = {.step = h / 2, .beta = 0.25, .gamma = 0.5};
        hk_newmark.stage(&half, 0, to);
        to->until = 0.5;
        return;
    }
    *to = (hk_stage){.weight = 9 / (h * h),
                     .y = {[HK_KNOWN_X] = -1.0 / 3,
                           [HK_KNOWN_V] = -h / 9,
                           [HK_KNOWN_X_STAGE] = 4.0 / 3,
                           [HK_KNOWN_V_STAGE] = 4 * h / 9},
                     .from = {[HK_KNOWN_X] = -1.0 / 3, [HK_KNOWN_X_STAGE] = 4.0 / 3},
                     .h = h / 3,
                     .until = 1,
                     .contact = 1};
}

const hk_integrator hk_trbdf2 = {
    .name = "trbdf2",
    .summary = "Bathe's: second order, damps what the time step cannot follow; two solves per step",
    .order = 2,
    .stages = 2,
    .accelerations = true,
    .extrapolate = 1,
    .stage = stage,
};
