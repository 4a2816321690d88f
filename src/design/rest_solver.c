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
    if (!s->step || !s->right || !s->good || !s->before) return HK_NO_MEMORY;
    s->gmres.problem = s->inverse->problem;
    memcpy(s->now.X, s->inverse->x, 4 * sizeof(double) * n);
    return HK_OK;
}

hk_status hk_rest_solver_create(const hk_model *model, int threads, hk_rest_solver **solver)
{
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
    hk_gmres_release(&s->gmres);
    hk_precondition_free(s->precondition);
    hk_inverse_free(s->inverse);
    release_shape(&s->now);
    release_shape(&s->trial);
    hk_free(s->step);
    hk_free(s->right);
    hk_free(s->good);
    hk_free(s->before);
    hk_free(s);
}

void hk_rest_solver_inherit(hk_rest_solver *s, hk_rest_solver *from)
{
    s->precondition = from->precondition;
    s->lu = from->lu;
    from->precondition = NULL;
    from->lu = NULL;
    if (s->precondition) s->precondition->inverse = s->inverse;
    for (int k = 0; k <= HK_GMRES_MOST; k++) {
        s->gmres.basis[k] = from->gmres.basis[k];
        from->gmres.basis[k] = NULL;
    }
}

// ---------------------------------------------------------------- what holds the bodies

static void describe_loose(hk_rest_solver *s, int vertex)
{
    const hk_model *m = s->inverse->model;
    int b = 0;
    while (b + 1 < m->body_count && m->bodies[b + 1].vertex_start <= vertex) b++;
    s->report->reason = HK_NOT_HELD;
    snprintf(s->report->detail, sizeof s->report->detail,
             "body %d (%.40s): fix at least three vertices, not all in one line, of the piece with "
             "vertex %d: nothing holds it against its load",
             b, m->bodies[b].name, vertex - m->bodies[b].vertex_start);
}

// Makes the constant matrices. False, with the report filled: nothing holds the bodies.
static hk_status prepare(hk_rest_solver *s, bool *held)
{
    int loose;
    bool for_lu = s->settings.method == HK_REST_NEWTON_LU;
    *held = true;
    if (s->factored || (for_lu && s->precondition)) return HK_OK;
    HK_TRY(hk_rest_find_loose(s->inverse->model, &loose));
    *held = loose < 0;
    if (!*held) describe_loose(s, loose);
    if (!*held) return HK_OK;
    double clock = hk_now();
    if (!s->precondition) HK_TRY(hk_precondition_create(s->inverse, &s->precondition));
    s->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    if (for_lu) return HK_OK;
    HK_TRY(hk_precondition_factor(s->precondition, held));
    s->report->factorisations++;
    s->phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    s->factored = *held;
    if (*held) return HK_OK;
    s->report->reason = HK_NOT_HELD;
    snprintf(s->report->detail, sizeof s->report->detail,
             "the stiffness of the loaded shape is singular: fix more vertices, or take another "
             "material");
    return HK_OK;
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

// The cheapest first, and what is left where one fails.
static hk_status attempt(hk_rest_solver *s, hk_rest_end *end)
{
    hk_rest_method method = s->settings.method;
    hk_rest_report *r = s->report;
    if (method == HK_REST_NEWTON_LU) {
        hk_rest_note(r, "newton_lu");
        return hk_rest_newton_lu(s, end);
    }
    if (method != HK_REST_NEWTON_GMRES) {
        hk_rest_note(r, "fixed_point");
        HK_TRY(hk_rest_fixed_point(s, end));
        if (method == HK_REST_FIXED_POINT || *end == HK_REST_DONE || *end == HK_REST_STOPPED)
            return HK_OK;
    }
    hk_rest_note(r, "newton_gmres");
    HK_TRY(hk_rest_newton_gmres(s, s->settings.tolerance, s->settings.iterations, end));
    if (*end == HK_REST_DONE || *end == HK_REST_STOPPED || s->settings.load_steps == 0)
        return HK_OK;
    if (s->now.residual <= 100 * s->inverse->problem->rounding) return HK_OK;
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
    bool rounding = s->now.residual <= 100 * s->inverse->problem->rounding;
    if (end == HK_REST_STUCK && rounding) r->reason = HK_PRECISION_LIMIT;
    if (r->reason == HK_PRECISION_LIMIT)
        snprintf(r->detail, sizeof r->detail,
                 "rounding leaves %.2g of the load: ask for a tolerance no smaller than that",
                 s->now.residual / s->inverse->scale);
    if (r->reason == HK_STALLED)
        snprintf(r->detail, sizeof r->detail,
                 "no step brings the shape nearer to equilibrium: try method auto, which also "
                 "takes the load in steps");
}

// Without a force anywhere the loaded shape is the rest shape.
static bool has_no_load(hk_rest_solver *s)
{
    memcpy(s->trial.X, s->inverse->x,
           4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count);
    if (!hk_rest_evaluate(s, &s->trial)) return false;
    return s->inverse->problem->free_count == 0 ||
           s->trial.residual <= s->inverse->problem->rounding;
}

static hk_status solve(hk_rest_solver *s)
{
    hk_rest_report *r = s->report;
    bool held;
    hk_rest_end end;
    if (has_no_load(s)) {
        go_to_loaded(s);
        r->reason = HK_CONVERGED;
        return HK_OK;
    }
    HK_TRY(prepare(s, &held));
    if (!held) return HK_OK;
    bool sound = hk_rest_evaluate(s, &s->now);
    if (!sound) {
        hk_log(HK_LOG_WARNING,
               "the rest shape to start from has tets that are inside out (det %g): "
               "the loaded shape is taken instead",
               s->now.least);
        go_to_loaded(s);
    }
    HK_TRY(attempt(s, &end));
    describe_end(s, end);
    return HK_OK;
}

hk_status hk_rest_solver_run(hk_rest_solver *s, hk_rest_report *report)
{
    double start = hk_now(), rest = 0;
    *report = (hk_rest_report){.load_steps = 1, .load_reached = 1, .correction = NAN};
    s->report = report;
    memset(s->phase_s, 0, sizeof s->phase_s);
    hk_inverse_set_load(s->inverse, 1);
    HK_TRY(solve(s));
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
