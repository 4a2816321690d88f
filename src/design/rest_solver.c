#include "design/rest_solver.h"

#include <math.h>
#include <stdio.h>

// ---------------------------------------------------------------- creation

static hk_status make_shape(hk_rest_shape *shape, size_t count)
{
    shape->X = HK_ZEROS(double, 4 * count);
    shape->force = HK_ZEROS(double, 4 * count);
    shape->pull = HK_ZEROS(double, 4 * count);
    return shape->X && shape->force && shape->pull ? HK_OK : HK_NO_MEMORY;
}

static void release_shape(hk_rest_shape *shape)
{
    hk_free(shape->X);
    hk_free(shape->force);
    hk_free(shape->pull);
}

static hk_status build(const hk_model *model, int threads, hk_rest_solver *s)
{
    size_t n = (size_t)model->vertex_count;
    HK_TRY(hk_inverse_create(model, threads, &s->inverse));
    HK_TRY(make_shape(&s->now, n));
    HK_TRY(make_shape(&s->trial, n));
    s->step = HK_ZEROS(double, 4 * n);
    s->right = HK_ZEROS(double, 4 * n);
    s->good = HK_ZEROS(double, 4 * n);
    s->before = HK_ZEROS(double, 4 * n);
    s->older = HK_ZEROS(double, 4 * n);
    s->old_x = HK_ARRAY(double, 4 * n);
    s->old = HK_ARRAY(double, 4 * n);
    bool complete = s->step && s->right && s->good && s->before && s->older && s->old_x && s->old;
    if (!complete) return HK_NO_MEMORY;
    hk_secant_init(&s->secant, 4 * (int64_t)n, s->inverse->problem->threads, HK_SECANT_MOST);
    s->gmres = (hk_gmres){.problem = s->inverse->problem, .go_on = hk_rest_go_on, .context = s};
    memcpy(s->now.X, s->inverse->x, 4 * sizeof(double) * n);
    return HK_OK;
}

hk_status hk_rest_solver_create(const hk_model *model, int threads, hk_rest_solver **solver)
{
    HK_TRY(hk_model_need_linear(model, "the search for a rest shape"));
    hk_rest_solver *s = HK_NEW(hk_rest_solver);
    if (!s) return HK_NO_MEMORY;
    hk_status status = build(model, threads, s);
    if (status != HK_OK) {
        hk_rest_solver_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

void hk_rest_solver_free(hk_rest_solver *s)
{
    if (!s) return;
    hk_rest_lu_free(s->lu);
    hk_secant_release(&s->secant);
    hk_gmres_release(&s->gmres);
    hk_precondition_free(s->precondition);
    hk_inverse_free(s->inverse);
    release_shape(&s->now);
    release_shape(&s->trial);
    hk_free(s->step);
    hk_free(s->right);
    hk_free(s->good);
    hk_free(s->before);
    hk_free(s->older);
    hk_free(s->old_x);
    hk_free(s->old);
    hk_free(s);
}

hk_status hk_rest_solver_set_shape(hk_rest_solver *s, const hk_model *model)
{
    s->factored = false;
    if (s->precondition) hk_precondition_forget(s->precondition);
    return hk_inverse_set_shape(s->inverse, model);
}

// ---------------------------------------------------------------- attempts

void hk_rest_note(hk_rest_report *r, const char *name)
{
    size_t length = strlen(r->attempts);
    snprintf(r->attempts + length, sizeof r->attempts - length, "%s%s", length ? ", " : "", name);
}

static void go_to_loaded(hk_rest_solver *s)
{
    memcpy(s->now.X, s->inverse->x, 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count);
    hk_rest_evaluate(s, &s->now);
}

static bool is_over(hk_rest_end end)
{
    return end == HK_REST_DONE || end == HK_REST_STOPPED;
}

static bool is_rounding(const hk_rest_solver *s)
{
    return s->now.residual <= 100 * s->inverse->problem->rounding;
}

// The full load at once, the cheapest way first.
static hk_status attempt_at_once(hk_rest_solver *s, hk_rest_end *end)
{
    hk_rest_method method = s->settings.method;
    if (method != HK_REST_NEWTON_GMRES) {
        hk_rest_note(s->report, "fixed_point");
        HK_TRY(hk_rest_fixed_point(s, end));
        if (method == HK_REST_FIXED_POINT || is_over(*end)) return HK_OK;
    }
    hk_rest_note(s->report, "newton_gmres");
    return hk_rest_newton_gmres(s, s->settings.tolerance, s->settings.iterations, end);
}

// The cheapest first, and what is left where one fails.
static hk_status attempt(hk_rest_solver *s, hk_rest_end *end)
{
    hk_rest_report *r = s->report;
    if (s->settings.method == HK_REST_NEWTON_LU) {
        hk_rest_note(r, "newton_lu");
        return hk_rest_newton_lu(s, end);
    }
    HK_TRY(attempt_at_once(s, end));
    if (is_over(*end)) return HK_OK;
    if (s->precondition->warped) {
        bool made;
        hk_rest_note(r, "new factor");
        HK_TRY(hk_rest_prepare(s, false, &made));
        *end = s->stopped ? HK_REST_STOPPED : HK_REST_STUCK;
        if (!made) return HK_OK;
        hk_gmres_forget(&s->gmres);
        hk_rest_evaluate(s, &s->now);
        HK_TRY(attempt_at_once(s, end));
    }
    bool final = s->settings.method == HK_REST_FIXED_POINT || s->settings.load_steps == 0;
    if (is_over(*end) || final || is_rounding(s)) return HK_OK;
    hk_rest_note(r, "load steps");
    return hk_rest_load_steps(s, end);
}

// ---------------------------------------------------------------- a whole solve

// Reason and detail from how the last attempt ended, where it has not said so itself.
static void describe_end(const hk_rest_solver *s, hk_rest_end end)
{
    static const hk_reason reasons[] = {[HK_REST_DONE] = HK_CONVERGED,
                                        [HK_REST_SLOW] = HK_STALLED,
                                        [HK_REST_STUCK] = HK_STALLED,
                                        [HK_REST_SPENT] = HK_ITERATION_LIMIT,
                                        [HK_REST_STOPPED] = HK_STOPPED};
    hk_rest_report *r = s->report;
    if (r->reason == HK_LOAD_STEP_LIMIT && end != HK_REST_DONE) return;
    r->reason = reasons[end];
    if (end == HK_REST_STUCK && is_rounding(s)) r->reason = HK_PRECISION_LIMIT;
    if (r->reason == HK_PRECISION_LIMIT)
        snprintf(r->detail, sizeof r->detail,
                 "rounding leaves %.2g of the load: ask for a tolerance no smaller than that",
                 s->now.residual / s->inverse->scale);
    if (r->reason == HK_ITERATION_LIMIT)
        snprintf(r->detail, sizeof r->detail,
                 "%.2g of the load is left after %d iterations: allow more of them, or try method "
                 "auto, which also takes the load in steps",
                 s->now.residual / s->inverse->scale, r->iterations);
    if (r->reason == HK_STALLED)
        snprintf(r->detail, sizeof r->detail,
                 "no step brings the shape nearer to equilibrium: try method auto, which also "
                 "takes the load in steps");
}

// Without a force anywhere the loaded shape is the rest shape; it is the trial then.
static bool has_no_load(hk_rest_solver *s)
{
    memcpy(s->trial.X, s->inverse->x,
           4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count);
    s->trial.sound = hk_rest_evaluate_force(s, &s->trial);
    if (!s->trial.sound) return false;
    return s->inverse->problem->free_count == 0 ||
           s->trial.residual <= s->inverse->problem->rounding;
}

// The rest shape that was found for another loaded shape, carried over: X from a Poisson equation
// such that tets have the ∂X/∂x that they had there (TwoWay eq. 16). Most of it is what the load
// does, which did not turn with the tets: turning ∂X/∂x with them starts from farther away. False:
// that is no shape to start from.
static bool start_from_old(hk_rest_solver *s)
{
    const hk_problem *p = s->inverse->problem;
    double clock = hk_now();
    hk_rest_tets_follow(s->inverse->tets, s->old_x, s->old, s->right);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    hk_precondition_laplacian(s->precondition, s->right, s->right);
    for (int64_t i = 0; i < 4 * (int64_t)p->vertex_count; i++)
        s->now.X[i] = s->inverse->x[i] + s->right[i];
    s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return hk_rest_evaluate(s, &s->now);
}

// The force at the loaded shape is known already (has_no_load).
static bool evaluate_start(hk_rest_solver *s)
{
    size_t bytes = 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
    if (!s->trial.sound || memcmp(s->now.X, s->trial.X, bytes) != 0)
        return hk_rest_evaluate(s, &s->now);
    hk_rest_take_trial(s);
    return hk_rest_evaluate_pull(s, &s->now);
}

static void choose_start(hk_rest_solver *s)
{
    if (s->from_old && s->factored) {
        if (!start_from_old(s)) go_to_loaded(s);
        return;
    }
    if (evaluate_start(s)) return;
    hk_log(HK_LOG_WARNING,
           "the rest shape to start from has tets that are inside out (det %g): "
           "the loaded shape is taken instead",
           s->now.least);
    go_to_loaded(s);
}

static hk_status solve(hk_rest_solver *s)
{
    hk_rest_report *r = s->report;
    bool made;
    hk_rest_end end;
    if (has_no_load(s)) {
        go_to_loaded(s);
        r->reason = HK_CONVERGED;
        return HK_OK;
    }
    HK_TRY(hk_rest_prepare(s, true, &made));
    if (!made) return HK_OK;
    if (s->precondition->warped) hk_rest_note(r, "warped");
    choose_start(s);
    HK_TRY(attempt(s, &end));
    if (r->reason != HK_NOT_HELD) describe_end(s, end);
    return HK_OK;
}

// For the next loaded shape.
static void keep_pair(hk_rest_solver *s)
{
    size_t bytes = 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
    memcpy(s->old_x, s->inverse->x, bytes);
    memcpy(s->old, s->now.X, bytes);
    s->has_old = true;
}

hk_status hk_rest_solver_run(hk_rest_solver *s, hk_rest_report *report)
{
    double start = hk_now(), rest = 0;
    *report = (hk_rest_report){.load_steps = 1, .load_reached = 1, .correction = NAN};
    s->report = report;
    s->stopped = false;
    s->warped_krylov = 0;
    hk_gmres_forget(&s->gmres);
    memset(s->phase_s, 0, sizeof s->phase_s);
    hk_inverse_set_load(s->inverse, 1);
    HK_TRY(solve(s));
    if (report->reason == HK_CONVERGED) keep_pair(s);
    if (report->reason == HK_NOT_HELD) report->load_reached = 0;
    report->residual = s->now.residual;
    report->relative_residual = s->inverse->scale > 0 ? s->now.residual / s->inverse->scale : 0;
    if (s->factored) report->correction = s->now.length;
    report->ms = 1e3 * (hk_now() - start);
    for (int k = 0; k < HK_PHASE_COUNT; k++) rest += s->phase_s[k];
    s->phase_s[HK_PHASE_OTHER] += fmax(0, report->ms / 1e3 - rest);
    for (int k = 0; k < HK_PHASE_COUNT; k++) report->phase_ms[k] = 1e3 * s->phase_s[k];
    return HK_OK;
}
