// How a refinement is solved for: the rest shape by hk_rest, the loaded shape by a pose.
#include <math.h>
#include <stdio.h>

#include "design/equilibrium.h"
#include "design/refine.h"
#include "design/rest_solver.h"

static bool go_on(void *context, const hk_iteration *iteration)
{
    hk_refiner *r = context;
    bool cancelled = atomic_load(&r->cancelled);
    if (!cancelled && isfinite(iteration->relative_residual)) {
        pthread_mutex_lock(&r->lock);
        if (r->job.version == r->view.version) {
            r->view.relative_residual = iteration->relative_residual;
            r->view.iterations = iteration->iteration;
            r->view.sequence++;
        }
        pthread_mutex_unlock(&r->lock);
    }
    return !cancelled;
}

static void tell_failure(hk_design_view *view)
{
    view->state = HK_DESIGN_FAILED;
    view->reason = HK_NOT_FINITE;
    snprintf(view->detail, sizeof view->detail, "%.150s", hk_error());
}

// The shape that was drawn cannot be one: what to do about it comes before where.
static hk_status refuse_shape(hk_status status)
{
    char where[80];
    if (status != HK_BAD_INPUT) return status;
    snprintf(where, sizeof where, "%.79s", hk_error());
    char *bracket = strrchr(where, '(');
    if (bracket > where && !strchr(bracket, ')')) bracket[-1] = 0;  // what was cut within it
    return hk_fail(status, "the edit turns tets inside out: drag less far, or a larger region (%s)",
                   where);
}

// ---------------------------------------------------------------- the rest shape

// Whether only loads and gravity differ: then matrices have the same pattern and numbers.
static bool is_like(const hk_model *a, const hk_model *b)
{
    size_t n = (size_t)a->vertex_count, tets = (size_t)a->tet_count;
    return a->material_count == b->material_count &&
           memcmp(a->hold, b->hold, sizeof *a->hold * n) == 0 &&
           memcmp(a->tet_material, b->tet_material, sizeof *a->tet_material * tets) == 0 &&
           memcmp(a->materials, b->materials, sizeof *a->materials * (size_t)a->material_count) ==
               0;
}

static void forget_rest(hk_refiner *r)
{
    hk_rest_free(r->rest);
    hk_model_free(r->rest_model);
    r->rest = NULL;
    r->rest_model = NULL;
}

// hk_rest for the job's model.
static hk_status need_rest(hk_refiner *r)
{
    hk_model *model = r->job.model;
    if (r->rest && r->rest_model == model) return HK_OK;
    if (r->rest && is_like(r->rest_model, model)) {
        hk_rest_take_loads(r->rest, model);
    } else {
        forget_rest(r);
        hk_rest_def def = hk_default_rest_def();
        def.model = model;
        def.threads = r->threads;
        def.tolerance = r->tolerance;
        HK_TRY(hk_rest_create(&def, &r->rest));
        hk_rest_set_monitor(r->rest, go_on, r);
    }
    hk_model_free(r->rest_model);
    hk_model_retain(model);
    r->rest_model = model;
    return HK_OK;
}

static void take_rest_report(const hk_rest_report *report, hk_design_view *view)
{
    bool converged = hk_reason_outcome(report->reason) == HK_OUTCOME_CONVERGED;
    view->state = converged ? HK_DESIGN_CONVERGED : HK_DESIGN_FAILED;
    view->reason = report->reason;
    snprintf(view->detail, sizeof view->detail, "%s", report->detail);
    view->iterations = report->iterations;
    view->relative_residual = report->relative_residual;
    view->load_reached = report->load_reached;
    view->sag = report->sag;
    view->least_j = report->least_j;
    view->greatest_stretch = report->greatest_stretch;
}

static hk_status find_rest(hk_refiner *r, double *found, hk_design_view *view)
{
    hk_rest_report report;
    HK_TRY(need_rest(r));
    HK_TRY(refuse_shape(hk_rest_set_shape(r->rest, r->job.shape)));
    HK_TRY(hk_rest_solve(r->rest, r->job.start, &report));
    memcpy(found, hk_rest_positions(r->rest), 3 * sizeof(double) * (size_t)r->vertex_count);
    take_rest_report(&report, view);
    return HK_OK;
}

// ---------------------------------------------------------------- the loaded shape

static void forget_equilibrium(hk_refiner *r)
{
    hk_equilibrium_free(r->equilibrium);
    r->equilibrium = NULL;
}

// hk_equilibrium for the job's model and its rest shape; that of the last job where only shapes and
// loads differ.
static hk_status need_equilibrium(hk_refiner *r)
{
    hk_equilibrium *e = r->equilibrium;
    if (e && !e->unheld && is_like(e->model, r->job.model)) {
        hk_status status = hk_equilibrium_set_shape(e, r->job.shape, r->job.model);
        if (status != HK_OK) forget_equilibrium(r);
        return refuse_shape(status);
    }
    forget_equilibrium(r);
    hk_model *model;
    HK_TRY(hk_model_copy(r->job.model, &model));
    for (int b = 0; b < model->body_count; b++) model->bodies[b].sag_free = false;
    hk_status status = hk_model_set_rest(model, r->job.shape);
    if (status != HK_OK) {
        hk_model_free(model);
        return refuse_shape(status);
    }
    HK_TRY(hk_equilibrium_create(model, r->threads, r->tolerance, &r->equilibrium));
    r->equilibrium->problem->monitor = go_on;
    r->equilibrium->problem->monitor_context = r;
    return HK_OK;
}

// From the guess; where that leads nowhere, from the rest shape.
static hk_status pose(hk_refiner *r, hk_solve_report *report)
{
    hk_equilibrium *e = r->equilibrium;
    bool found;
    for (int64_t v = 0; v < r->vertex_count; v++)
        memcpy(r->from + 4 * (int64_t)e->model->place[v], r->job.start + 3 * v, 3 * sizeof(double));
    HK_TRY(hk_equilibrium_find(e, r->from, report, &found));
    if (report->reason == HK_STOPPED || hk_reason_outcome(report->reason) == HK_OUTCOME_CONVERGED)
        return HK_OK;
    return hk_equilibrium_find(e, NULL, report, &found);
}

// Sag, stretches and volumes, which are told of a model that rests in its loaded shape.
static void measure(hk_refiner *r, const double *loaded, hk_design_view *view)
{
    hk_rest_report measured = {0};
    const hk_model *m = r->job.model;
    hk_model in_loaded = {.vertex_count = m->vertex_count,
                          .tet_count = m->tet_count,
                          .tets = m->tets,
                          .rest = (double *)(uintptr_t)loaded};  // read only
    hk_rest_measure(&in_loaded, r->job.shape, r->threads, r->workspace, &measured);
    view->sag = measured.sag;
    view->least_j = measured.least_j;
    view->greatest_stretch = measured.greatest_stretch;
}

static hk_status find_loaded(hk_refiner *r, double *found, hk_design_view *view)
{
    hk_solve_report report;
    HK_TRY(need_equilibrium(r));
    hk_status status = atomic_load(&r->cancelled) ? HK_OK : pose(r, &report);
    if (status != HK_OK || atomic_load(&r->cancelled)) {
        view->reason = HK_STOPPED;
        return status;
    }
    bool converged = hk_reason_outcome(report.reason) == HK_OUTCOME_CONVERGED;
    view->state = converged ? HK_DESIGN_CONVERGED : HK_DESIGN_FAILED;
    view->reason = report.reason;
    snprintf(view->detail, sizeof view->detail, "%s", report.detail);
    view->iterations = report.iterations;
    view->relative_residual = report.relative_residual;
    view->load_reached = converged;
    const hk_equilibrium *e = r->equilibrium;
    for (int64_t v = 0; v < r->vertex_count; v++)
        memcpy(found + 3 * v, e->x + 4 * (int64_t)e->model->place[v], 3 * sizeof(double));
    measure(r, found, view);
    return HK_OK;
}

// ---------------------------------------------------------------- both

void hk_refine_solve(hk_refiner *r, double *found, hk_design_view *view)
{
    view->state = HK_DESIGN_FAILED;
    if (atomic_load(&r->cancelled)) {
        view->reason = HK_STOPPED;
        return;
    }
    hk_status status =
        r->job.given == HK_LOADED_SHAPE ? find_rest(r, found, view) : find_loaded(r, found, view);
    if (status != HK_OK) tell_failure(view);
}

void hk_refine_prepare_next(hk_refiner *r)
{
    // The factor of this shape is a better one to warp than an older one. It fails only for want of
    // memory, and then the old one stays.
    if (r->job.given == HK_LOADED_SHAPE) hk_rest_refactor(r->rest);
}
