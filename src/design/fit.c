// Fits of materials to observed shapes, as users see them.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/def.h"
#include "design/fit.h"
#include "model/constraints.h"

enum { ITERATIONS = 60, MOST_THREADS = 1024 };
#define TOLERANCE 1e-6
// Poses are to be so exact that differences of them tell derivatives.
#define POSE_TOLERANCE 1e-10
#define OUTLIER        5

void hk_fill_fit_def(hk_fit_def *def, size_t size)
{
    const hk_fit_def standard = {.vary = "young"};
    hk_def_fill(&hk_def_fit, &standard, def, size);
}

// ---------------------------------------------------------------- creation

static hk_status take_def(const hk_fit_def *def, hk_fit *fit)
{
    hk_fit_settings *s = &fit->settings;
    if (!(def->tolerance >= 0 && def->tolerance < 1))
        return hk_fail(HK_BAD_INPUT, "hk_fit_def: tolerance must be in [0, 1) (is %g)",
                       def->tolerance);
    if (!isfinite(def->outlier))
        return hk_fail(HK_BAD_INPUT, "hk_fit_def: outlier must be finite (is %g)", def->outlier);
    if (def->iterations < 0)
        return hk_fail(HK_BAD_INPUT, "hk_fit_def: iterations must not be negative");
    if (def->threads < 0 || def->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_fit_def: threads must be 0 to %d (is %d)", MOST_THREADS,
                       def->threads);
    s->tolerance = def->tolerance > 0 ? def->tolerance : TOLERANCE;
    s->outlier = def->outlier == 0 ? OUTLIER : def->outlier;
    s->iterations = def->iterations > 0 ? def->iterations : ITERATIONS;
    fit->threads = def->threads ? def->threads : omp_get_num_procs();
    return HK_OK;
}

static hk_status check_bodies(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].sag_free)
            return hk_fail(
                HK_UNSUPPORTED,
                "body %d (%s) has its mesh for the loaded shape (\"rest\": \"solve\"): a "
                "fit needs the rest shape as the mesh, and the loaded one as the target",
                b, m->bodies[b].name);
    HK_TRY(hk_model_need_free(m, "a fit"));
    if (m->axes)
        return hk_fail(HK_UNSUPPORTED, "fits know of no fixes with \"axes\": fix whole vertices");
    if (m->tet_count == 0)
        return hk_fail(HK_UNSUPPORTED, "there are no tets, and fits are for materials of tets");
    return HK_OK;
}

// The iterations of poses are none of the fit, but they may be stopped.
static bool watch_pose(void *context, const hk_iteration *iteration)
{
    (void)iteration;
    hk_fit *fit = context;
    if (fit->monitor && !fit->monitor(fit->monitor_context, &fit->iteration)) fit->stopped = true;
    return !fit->stopped;
}

static hk_status allocate(hk_fit *fit)
{
    const hk_model *m = fit->equilibrium->model;
    size_t n = (size_t)m->vertex_count, tets = 9 * (size_t)m->tet_count;
    size_t k = (size_t)fit->variable_count;
    fit->slope = HK_ZEROS(double, tets *(size_t)fit->colour_count);
    fit->P = HK_ARRAY(double, tets);
    fit->F = HK_ARRAY(double, tets);
    fit->force = HK_ZEROS(double, 4 * n);
    fit->sensitivity = HK_ZEROS(double, 4 * n * k);
    fit->best_x = HK_ZEROS(double, 4 * n);
    fit->start_x = HK_ZEROS(double, 4 * n);
    fit->positions = HK_ARRAY(double, 3 * n);
    fit->distances = HK_ARRAY(double, n);
    double **vectors[] = {&fit->theta, &fit->trial, &fit->step, &fit->gradient, &fit->norm};
    double **matrices[] = {&fit->normal, &fit->values, &fit->vectors, &fit->covariance};
    bool complete = fit->slope && fit->P && fit->F && fit->force && fit->sensitivity &&
                    fit->best_x && fit->start_x && fit->positions && fit->distances;
    for (int i = 0; i < HK_COUNT_OF(vectors); i++)
        complete = (*vectors[i] = HK_ZEROS(double, k)) && complete;
    for (int i = 0; i < HK_COUNT_OF(matrices); i++)
        complete = (*matrices[i] = HK_ZEROS(double, k *k)) && complete;
    for (int i = 0; i < fit->variable_count; i++)
        fit->setting_count += fit->variables[i].material_count;
    fit->setting = hk_calloc((size_t)fit->setting_count, HK_FIT_SETTING);
    if (!complete || !fit->setting) return HK_NO_MEMORY;
    for (size_t i = 0; i < k * k; i++) fit->covariance[i] = NAN;
    return HK_OK;
}

static hk_status build_from(const hk_fit_def *def, const hk_model_input *input, hk_fit *fit)
{
    hk_model *model, *own;
    HK_TRY(hk_model_create(def->model, &model));
    hk_status status = check_bodies(model);
    if (status == HK_OK) status = hk_model_need_linear(model, "a fit");
    if (status == HK_OK) status = hk_model_copy(model, &own);
    hk_model_free(model);
    HK_TRY(status);
    HK_TRY(hk_equilibrium_create(own, fit->threads, POSE_TOLERANCE, &fit->equilibrium));
    fit->size = fit->equilibrium->problem->size;
    fit->equilibrium->problem->monitor = watch_pose;
    fit->equilibrium->problem->monitor_context = fit;
    HK_TRY(hk_fit_take_materials(fit, input));
    HK_TRY(hk_fit_take_variables(fit, def->vary));
    HK_TRY(hk_fit_color(fit));
    HK_TRY(allocate(fit));
    for (int k = 0; k < fit->variable_count; k++)
        fit->theta[k] = hk_fit_theta(&fit->variables[k], fit->variables[k].parameter.start);
    hk_fit_publish(fit);
    return HK_OK;
}

static hk_status build(const hk_fit_def *def, hk_fit *fit)
{
    HK_TRY(take_def(def, fit));
    if (!def->model) return hk_fail(HK_BAD_INPUT, "hk_fit_create: a model is needed");
    hk_model_input input;
    hk_status status = hk_model_input_take(def->model, &input);
    if (status == HK_OK) status = build_from(def, &input, fit);
    hk_model_input_release(&input);
    return status;
}

hk_status hk_fit_create(const hk_fit_def *def, hk_fit **fit)
{
    if (!def || !fit) return hk_fail(HK_BAD_INPUT, "hk_fit_create: def and fit are needed");
    double start = hk_now();
    hk_fit_def own;
    hk_fill_fit_def(&own, sizeof own);
    HK_TRY(hk_def_take(&hk_def_fit, def, &own));
    hk_fit *f = HK_NEW(hk_fit);
    if (!f) return HK_NO_MEMORY;
    hk_status status = build(&own, f);
    if (status != HK_OK) {
        hk_fit_free(f);
        return status;
    }
    f->setup_ms = 1e3 * (hk_now() - start);
    *fit = f;
    return HK_OK;
}

void hk_fit_free(hk_fit *f)
{
    if (!f) return;
    hk_fit_release_variables(f);
    hk_equilibrium_free(f->equilibrium);
    void *arrays[] = {f->theta,     f->setting,   f->vertex,   f->target,  f->variable_of,
                      f->slope,     f->P,         f->F,        f->force,   f->sensitivity,
                      f->residual,  f->weight,    f->distance, f->sort,    f->left_out,
                      f->best_x,    f->start_x,   f->trial,    f->step,    f->gradient,
                      f->norm,      f->normal,    f->values,   f->vectors, f->covariance,
                      f->positions, f->distances, f->outliers, f->ranks};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
    hk_free(f);
}

// ---------------------------------------------------------------- solving

// The gradient once more, by the adjoint state: what a claim of convergence stands on.
static hk_status check_gradient(hk_fit *fit, hk_fit_report *r)
{
    hk_fit_fill_pull(fit, fit->start_x);
    HK_TRY(hk_fit_find_adjoint(fit, fit->start_x, fit->trial));
    r->relative_gradient = hk_fit_relative(fit, fit->trial);
    if (r->reason == HK_CONVERGED && !(r->relative_gradient <= fit->settings.tolerance)) {
        r->reason = HK_STALLED;
        snprintf(r->detail, sizeof r->detail, "the gradient of the misfit is not exact enough");
    }
    return HK_OK;
}

// Whether the end of a search left something to judge: derivatives at a stable pose.
static bool has_derivatives(const hk_fit_end *end, const hk_fit *fit)
{
    return fit->moved >= 0 && hk_reason_outcome(end->reason) != HK_OUTCOME_FAILED;
}

static void forget_results(hk_fit *fit)
{
    size_t k = (size_t)fit->variable_count;
    for (size_t i = 0; i < k * k; i++) fit->covariance[i] = NAN;
    for (int i = 0; i < fit->variable_count; i++) {
        fit->variables[i].parameter.deviation = NAN;
        fit->variables[i].at_end = false;
    }
    fit->stopped = false;
    fit->moved = -1;  // no derivatives yet
    fit->iteration = (hk_iteration){.energy = NAN, .residual = NAN, .relative_residual = NAN};
}

static hk_status solve(hk_fit *fit, hk_fit_report *r)
{
    hk_equilibrium *e = fit->equilibrium;
    hk_fit_end end;
    HK_TRY(hk_fit_run(fit, &r->iterations, &end));
    r->reason = end.reason;
    memcpy(r->detail, end.detail, sizeof r->detail);
    hk_fit_find_residuals(fit);
    hk_fit_publish(fit);
    hk_fit_measure(fit, r);
    r->noise = r->relative_gradient = NAN;
    if (has_derivatives(&end, fit)) {
        HK_TRY(check_gradient(fit, r));
        hk_fit_judge(fit, r);
    }
    r->residual = hk_equilibrium_residual(e, &r->relative_residual);
    r->poses = e->poses;
    r->pose_iterations = e->iterations;
    r->factorisations = e->factorisations;
    return HK_OK;
}

hk_status hk_fit_solve(hk_fit *fit, hk_fit_report *report)
{
    if (!fit) return hk_fail(HK_BAD_INPUT, "hk_fit_solve: fit is needed");
    if (fit->given_count == 0)
        return hk_fail(HK_BAD_INPUT, "hk_fit_solve: there is no target: call hk_fit_set_target or "
                                     "hk_fit_load_target first");
    double start = hk_now();
    hk_equilibrium *e = fit->equilibrium;
    hk_fit_report own = {0};
    e->poses = e->iterations = e->factorisations = 0;
    memset(e->phase_s, 0, sizeof e->phase_s);
    forget_results(fit);
    HK_TRY(solve(fit, &own));
    own.ms = 1e3 * (hk_now() - start);
    double known = 0;
    for (int k = 0; k < HK_PHASE_COUNT; k++) {
        own.phase_ms[k] = 1e3 * e->phase_s[k];
        known += k == HK_PHASE_OTHER ? 0 : own.phase_ms[k];
    }
    own.phase_ms[HK_PHASE_OTHER] = fmax(0, own.ms - known);
    if (report) *report = own;
    return HK_OK;
}

// ---------------------------------------------------------------- derivatives for others

static hk_status pose_at(hk_fit *fit, const double *values)
{
    hk_solve_report report;
    bool found;
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        fit->theta[k] = hk_fit_theta(v, values[k]);
        if (!isfinite(fit->theta[k]))
            return hk_fail(HK_BAD_INPUT, "%s cannot be %g", v->name, values[k]);
    }
    HK_TRY(hk_fit_apply(fit, fit->theta));
    HK_TRY(hk_equilibrium_find(fit->equilibrium, fit->equilibrium->x, &report, &found));
    if (!found) HK_TRY(hk_equilibrium_find(fit->equilibrium, NULL, &report, &found));
    if (!found)
        return hk_fail(HK_UNSUPPORTED, "no pose at these values (%s): %s",
                       hk_reason_name(report.reason), report.detail);
    return HK_OK;
}

static hk_status linearise(hk_fit *fit)
{
    bool stable;
    HK_TRY(hk_fit_linearise(fit, &stable));
    return stable ? HK_OK : hk_fail(HK_UNSUPPORTED, "the pose at these values is not stable");
}

hk_status hk_fit_misfit(hk_fit *fit, const double *values, double *misfit, double *gradient)
{
    if (!fit || !values || !misfit)
        return hk_fail(HK_BAD_INPUT, "hk_fit_misfit: fit, values and misfit are needed");
    if (fit->given_count == 0) return hk_fail(HK_BAD_INPUT, "hk_fit_misfit: there is no target");
    forget_results(fit);
    HK_TRY(pose_at(fit, values));
    HK_TRY(linearise(fit));
    memset(fit->left_out, 0, (size_t)fit->observed_count);
    fit->outlier_count = 0;
    double sum = hk_fit_find_residuals(fit);
    hk_fit_weigh(fit, 0);
    hk_fit_publish(fit);
    if (gradient) {
        hk_fit_fill_pull(fit, fit->start_x);
        HK_TRY(hk_fit_find_adjoint(fit, fit->start_x, gradient));
        for (int k = 0; k < fit->variable_count; k++)
            gradient[k] /= hk_fit_rate(&fit->variables[k], fit->theta[k]);
    }
    *misfit = 0.5 * sum;
    return HK_OK;
}

hk_status hk_fit_sensitivity(hk_fit *fit, double *sensitivity)
{
    if (!fit || !sensitivity)
        return hk_fail(HK_BAD_INPUT, "hk_fit_sensitivity: fit and sensitivity are needed");
    HK_TRY(linearise(fit));
    HK_TRY(hk_fit_find_sensitivity(fit));
    const hk_model *m = fit->equilibrium->model;
    for (int k = 0; k < fit->variable_count; k++) {
        double rate = hk_fit_rate(&fit->variables[k], fit->theta[k]);
        for (int v = 0; v < m->vertex_count; v++) {
            int64_t row = (int64_t)k * m->vertex_count;
            for (int i = 0; i < 3; i++)
                sensitivity[3 * (row + v) + i] =
                    fit->sensitivity[4 * (row + m->place[v]) + i] / rate;
        }
    }
    return HK_OK;
}
