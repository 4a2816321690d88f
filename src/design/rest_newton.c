// The fixed point and Newton–GMRES, both with rotation–strain steps and the merit ‖K⁻¹ f‖.
#include <math.h>

#include "design/rest_solver.h"

// What Newton's steps are solved to, relative to their right-hand side, and in how many iterations.
#define FORCING 1e-2
enum { MOST_GMRES = 40 };
// What is left of the right-hand side then where a factorisation is worth its while.
#define POOR                 0.1
#define SHORTEST_FIXED_POINT 0.25
#define SHORTEST_NEWTON      (1.0 / 256)
// A fixed point that gains less than this per iteration is slower than Newton's method.
#define SLOW_RATE 0.5

// to = −F̂ from, the mean of F̂ = F⁻¹ around each vertex.
static void carry_back(hk_rest_solver *s, const double *X, const double *from, double *to)
{
    const hk_problem *p = s->inverse->problem;
    hk_rest_tets_carry(s->inverse->tets, X, from, to);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 4; i++)
            to[i] = p->held[k] ? 0 : -to[i];
}

hk_status hk_rest_fixed_point(hk_rest_solver *s, hk_rest_end *end)
{
    bool may_leave = s->settings.method == HK_REST_AUTO;
    for (int k = 0; k < s->settings.iterations; k++) {
        if (hk_rest_converged(s, s->settings.tolerance)) {
            *end = HK_REST_DONE;
            return HK_OK;
        }
        double merit = s->now.merit, clock = hk_now();
        carry_back(s, s->now.X, s->now.pull, s->step);
        s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
        *end = HK_REST_STUCK;
        if (!hk_rest_advance(s, may_leave ? SHORTEST_FIXED_POINT : SHORTEST_NEWTON)) return HK_OK;
        *end = HK_REST_STOPPED;
        if (!hk_rest_tell(s, 0)) return HK_OK;
        *end = HK_REST_SLOW;
        if (may_leave && k > 0 && s->now.merit > SLOW_RATE * merit) return HK_OK;
    }
    *end = hk_rest_converged(s, s->settings.tolerance) ? HK_REST_DONE : HK_REST_SPENT;
    return HK_OK;
}

// to = F̂ K⁻¹ (∂f/∂X from), the mean of F̂ around each vertex.
static hk_status apply_preconditioned(void *context, const double *from, double *to)
{
    hk_rest_solver *s = context;
    double clock = hk_now();
    hk_inverse_product(s->inverse, from, s->trial.force);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    hk_precondition_stiffness(s->precondition, s->trial.force, s->trial.pull);
    s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    carry_back(s, s->now.X, s->trial.pull, to);
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++) to[i] = -to[i];
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return HK_OK;
}

// By a factorisation, unless that finds the derivative singular.
static hk_status improve_step(hk_rest_solver *s)
{
    size_t bytes = 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
    bool regular;
    memcpy(s->right, s->step, bytes);
    if (!strstr(s->report->attempts, "LU steps")) hk_rest_note(s->report, "LU steps");
    HK_TRY(hk_rest_lu_step(s, &regular));
    if (!regular) memcpy(s->step, s->right, bytes);
    return HK_OK;
}

// Newton's step at `now`; trial is workspace.
static hk_status newton_step(hk_rest_solver *s, int *iterations)
{
    double clock = hk_now(), left;
    HK_TRY(hk_inverse_linearise(s->inverse, s->now.X, s->settings.components));
    carry_back(s, s->now.X, s->now.pull, s->right);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    HK_TRY(hk_gmres_solve(&s->gmres, apply_preconditioned, s, FORCING, MOST_GMRES, s->right,
                          s->step, iterations, &left));
    // Where the body is stretched many times over K is no longer like ∂f/∂X.
    return left > POOR && hk_lu_available() ? improve_step(s) : HK_OK;
}

hk_status hk_rest_newton_gmres(hk_rest_solver *s, double tolerance, int most, hk_rest_end *end)
{
    for (int k = 0; k < most; k++) {
        if (hk_rest_converged(s, tolerance)) {
            *end = HK_REST_DONE;
            return HK_OK;
        }
        int iterations;
        HK_TRY(newton_step(s, &iterations));
        *end = HK_REST_STUCK;
        if (!hk_rest_advance(s, SHORTEST_NEWTON)) return HK_OK;
        *end = HK_REST_STOPPED;
        if (!hk_rest_tell(s, iterations)) return HK_OK;
    }
    *end = hk_rest_converged(s, tolerance) ? HK_REST_DONE : HK_REST_SPENT;
    return HK_OK;
}
