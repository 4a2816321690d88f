// Shapes, steps and when to stop: what all ways to find a rest shape share.
#include <math.h>

#include "design/rest_solver.h"

// The largest turn or log-stretch that a step may make of a tet.
#define MOST_EXPONENT 3
// What may be left of the way to the answer, relative to the size of the bodies, is this part of
// what may be left of the load.
#define LENGTH 0.1
// Part of the merit that a full step must gain.
#define LEAST_GAIN 1e-4

static double longest_of(const double *v, int count)
{
    double square = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *u = v + 4 * k;
        square = fmax(square, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    }
    return sqrt(square);
}

bool hk_rest_evaluate_force(hk_rest_solver *s, hk_rest_shape *shape)
{
    double clock = hk_now();
    bool sound = hk_inverse_force(s->inverse, shape->X, shape->force, &shape->least);
    if (sound) shape->residual = hk_inverse_norm(s->inverse, shape->force);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return sound;
}

bool hk_rest_evaluate_pull(hk_rest_solver *s, hk_rest_shape *shape)
{
    double clock = hk_now();
    if (!s->factored) return true;
    if (hk_precondition_stiffness(s->precondition, shape->force, shape->pull) != HK_OK)
        return false;
    shape->merit = hk_inverse_norm(s->inverse, shape->pull);
    shape->length = longest_of(shape->pull, s->inverse->problem->vertex_count);
    s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return isfinite(shape->merit);
}

bool hk_rest_evaluate(hk_rest_solver *s, hk_rest_shape *shape)
{
    return hk_rest_evaluate_force(s, shape) && hk_rest_evaluate_pull(s, shape);
}

bool hk_rest_converged(const hk_rest_solver *s, double tolerance)
{
    const hk_rest_shape *now = &s->now;
    double load = fmax(s->inverse->load, 1e-3) * s->inverse->scale;
    if (!(now->residual <= tolerance * load)) return false;
    return !s->factored || now->length <= LENGTH * tolerance * s->inverse->problem->size;
}

void hk_rest_take_trial(hk_rest_solver *s)
{
    hk_rest_shape now = s->now;
    s->now = s->trial;
    s->trial = now;
}

bool hk_rest_try(hk_rest_solver *s, double *length)
{
    for (;;) {
        double clock = hk_now();
        double largest = hk_precondition_step(s->precondition, s->now.X, s->step, *length,
                                              MOST_EXPONENT, s->trial.X);
        s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
        if (!isfinite(largest)) return false;
        if (largest <= MOST_EXPONENT) break;
        *length *= fmin(0.5, 0.9 * MOST_EXPONENT / largest);
    }
    s->step_length = *length;
    s->trial.sound = hk_rest_evaluate(s, &s->trial);
    return true;
}

bool hk_rest_advance(hk_rest_solver *s, double shortest)
{
    double length = 1;
    while (length >= shortest && hk_rest_try(s, &length)) {
        if (s->trial.sound && s->trial.merit <= (1 - LEAST_GAIN * length) * s->now.merit) {
            hk_rest_take_trial(s);
            return true;
        }
        length *= 0.5;
        if (!hk_rest_go_on(s)) return false;
    }
    return false;
}

bool hk_rest_go_on(void *context)
{
    hk_rest_solver *s = context;
    if (s->stopped || !s->monitor) return !s->stopped;
    hk_iteration ask = {.energy = NAN,
                        .residual = NAN,
                        .relative_residual = NAN,
                        .step_length = NAN,
                        .load = s->inverse->load};
    s->stopped = !s->monitor(s->monitor_context, &ask);
    return !s->stopped;
}

bool hk_rest_tell(hk_rest_solver *s, int linear_iterations)
{
    hk_rest_report *r = s->report;
    r->iterations++;
    r->linear_iterations += linear_iterations;
    if (!s->monitor) return true;
    hk_iteration iteration = {.iteration = r->iterations,
                              .energy = NAN,
                              .residual = s->now.residual,
                              .relative_residual = s->now.residual / s->inverse->scale,
                              .step_length = s->step_length,
                              .load = s->inverse->load,
                              .linear_iterations = linear_iterations};
    s->stopped = !s->monitor(s->monitor_context, &iteration);
    return !s->stopped;
}
