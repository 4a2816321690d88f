#include "solver/precise.h"

#include <math.h>
#include <stdio.h>

#include "solver/limit.h"

#define DOUBLE_EPSILON 1.1e-16

void hk_twin_release(hk_twin *twin)
{
    if (twin->solver) twin->method->free(twin->solver);
    *twin = (hk_twin){0};
}

hk_evaluation hk_evaluate_exactly(hk_problem *p, const double *x, double tolerance,
                                  double *gradient)
{
    hk_view view = {.problem = p, .terms = p->terms, .rounding = p->rounding, .away = 1};
    hk_evaluation at = {.exact = NAN};
    hk_problem_gradient(p, x, gradient, &at.energy, &at.scale);
    at.residual = sqrt(hk_problem_dot(p, gradient, gradient));
    at.excess = hk_all_beyond(at.residual);
    if (!rule_converged(at.residual, tolerance, at.scale))
        at.excess = hk_view_excess(&view, x, gradient, DOUBLE_EPSILON);
    return at;
}

// ---------------------------------------------------------------- the twin

static hk_status twin_settings(const hk_solve *s, hk_settings *settings)
{
    *settings = *s->settings;
    if (!s->method->finisher) {
        for (int k = 0; k < s->method->option_count; k++)
            if (strcmp(s->method->options[k].name, "precision") == 0)
                settings->option[k] = HK_DOUBLE_PRECISION;
        return HK_OK;
    }
    hk_solver_def def = hk_default_solver_def();
    HK_TRY(hk_method_settings(s->method->finisher, &def, settings));
    double passes = hk_setting(s->settings, "passes");
    settings->iterations = hk_max_int(s->settings->iterations, passes > 1 ? (int)passes : 1);
    settings->pose_iterations = s->settings->pose_iterations;
    settings->tolerance = s->settings->tolerance;
    return HK_OK;
}

// Where there is no memory for it, the state of single precision is what there is.
static bool have_twin(const hk_solve *s)
{
    hk_twin *twin = s->twin;
    if (twin->solver || twin->refused) return twin->solver != NULL;
    hk_settings settings;
    twin->method = s->method->finisher ? s->method->finisher : s->method;
    hk_status status = twin_settings(s, &settings);
    if (status == HK_OK) status = twin->method->create(s->problem, &settings, &twin->solver);
    twin->refused = status != HK_OK;
    if (twin->refused) hk_log(HK_LOG_WARNING, "no double precision for the solver: %s", hk_error());
    return !twin->refused;
}

// ---------------------------------------------------------------- the solve

static bool works_in_single(const hk_solve *s)
{
    bool passes = s->method->finisher && s->problem->weight > 0;
    return passes || s->method->view(s->solver)->single;
}

// What single precision may leave of a gradient's norm, N.
static double rounding_of(const hk_solve *s)
{
    const hk_view *view = s->method->view(s->solver);
    return view->single ? hk_view_rounding(view) : 6e-8 / 2.2e-16 * s->problem->rounding;
}

// Iterations of a whole solve.
static int budget_of(const hk_solve *s)
{
    double passes = hk_setting(s->settings, "passes");
    int of_step = s->settings->iterations;
    if (passes > of_step) of_step = (int)passes;
    return hk_problem_budget(s->problem, of_step, s->settings->pose_iterations);
}

// Whether the end is one that single precision may have made up, or made necessary. Where the
// iterations ended first, far above rounding, its numbers are good enough.
static bool is_in_doubt(const hk_solve *s, const hk_solve_report *r)
{
    switch (r->reason) {
    case HK_CONVERGED:
    case HK_STALLED:
    case HK_PRECISION_LIMIT: return true;
    case HK_ITERATION_LIMIT: break;
    default: return false;
    }
    double scale = r->residual / r->relative_residual;
    return !isnan(r->rounding) || !(fmin(r->residual, scale) > HK_ROUNDING_MARGIN * rounding_of(s));
}

// What the report has of the state in double precision; true: that is the end.
static bool is_settled(const hk_evaluation *at, double tolerance, int spent, int budget,
                       hk_solve_report *r)
{
    hk_report_residual(at, r);
    r->energy = at->energy;
    if (hk_is_converged(at, tolerance)) {
        r->reason = HK_CONVERGED;
        r->detail[0] = '\0';
        return true;
    }
    if (r->reason != HK_ITERATION_LIMIT && spent < budget) return false;
    r->reason = HK_ITERATION_LIMIT;
    snprintf(r->detail, sizeof r->detail, "%d iterations left a relative residual of %.1e", spent,
             r->relative_residual);
    return true;
}

static void say_double(hk_solve_report *r)
{
    size_t used = strlen(r->detail);
    const char *text = used ? " (finished in double precision)" : "finished in double precision";
    if (used + strlen(text) < sizeof r->detail) memcpy(r->detail + used, text, strlen(text) + 1);
}

// An element at the edge of where its material is defined, which single precision takes for
// defined: the state stays, and has not converged.
static void report_undefined(hk_solve_report *r)
{
    if (r->reason == HK_CONVERGED) r->reason = HK_STALLED;
    snprintf(r->detail, sizeof r->detail,
             "the state is defined in single precision only (there the relative residual is %.1e)",
             r->relative_residual);
}

// Smaller parts of the way may lead there.
static void report_unreachable(hk_solve_report *r)
{
    r->reason = HK_NOT_FINITE;
    r->energy = r->residual = r->relative_residual = INFINITY;
    snprintf(r->detail, sizeof r->detail,
             "a surface does not come to the volume that a constraint wants of it");
}

hk_status hk_solve_precisely(const hk_solve *s, double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    int before = report->iterations;
    if (!hk_problem_retract(p, x)) {
        report_unreachable(report);
        return HK_OK;
    }
    HK_TRY(s->method->minimise(s->solver, x, report));
    if (!s->twin || p->unknown_vertices == 0 || !works_in_single(s) || !is_in_doubt(s, report))
        return HK_OK;
    double clock = hk_now(), tolerance = s->settings->tolerance;
    hk_evaluation at = hk_evaluate_exactly(p, x, tolerance, s->workspace);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_now() - clock;
    if (!isfinite(at.energy) || !isfinite(at.residual)) {
        report_undefined(report);
        return HK_OK;
    }
    int spent = report->iterations - before;
    int budget = budget_of(s);
    double rounding = report->rounding;
    if (is_settled(&at, tolerance, spent, budget, report)) return HK_OK;
    if (!have_twin(s)) {
        at.excess.rounding = rounding;
        hk_report_limit(true, &at, report);
        hk_report_residual(&at, report);
        return HK_OK;
    }
    p->spent = spent;
    hk_status status = s->twin->method->minimise(s->twin->solver, x, report);
    p->spent = 0;
    if (status == HK_OK) say_double(report);
    return status;
}

void hk_twin_remember(const hk_solve *s, hk_stream *stream)
{
    hk_twin *twin = s->twin;
    bool there = twin->solver != NULL;
    HK_STREAM(stream, there);
    if (stream->status != HK_OK || !there) return;
    if (!have_twin(s)) {
        stream->status = HK_NO_MEMORY;
        return;
    }
    if (twin->method->view) hk_view_remember(twin->method->view(twin->solver), stream);
    if (twin->method->remember) twin->method->remember(twin->solver, stream);
}
