// Rest shapes, as users see them.
#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "core/def.h"
#include "design/rest.h"
#include "design/rest_lengths.h"
#include "design/rest_solver.h"
#include "design/rest_stability.h"
#include "linear/direct.h"

enum { ITERATIONS = 50, LOAD_STEPS = 60, MOST_THREADS = 1024 };
// Free vertices from which on a solve with the old factor, warped, is faster than a factorisation
// and a solve with the new one: the one grows with the mesh, the other faster than that.
enum { WARP_FROM = 5000 };
#define TOLERANCE 1e-8

static const struct {
    const char *name, *summary;
} g_methods[HK_REST_METHODS] = {
    [HK_REST_AUTO] = {"auto", "fixed_point, then newton_gmres, then the load in steps, as needed"},
    [HK_REST_FIXED_POINT] = {"fixed_point", "one factor for all iterations, and no derivative"},
    [HK_REST_NEWTON_GMRES] = {"newton_gmres",
                              "Newton's method; the same factor, and a few Krylov iterations"},
    [HK_REST_NEWTON_LU] = {"newton_lu", "Newton's method with a direct LU factorisation"},
};

struct hk_rest {
    hk_model *model;             // the users': its rest shape is the loaded shape
    hk_rest_solver *solver;      // of bodies of tets; NULL: there are none
    hk_rest_lengths lengths;     // of sheets
    hk_reason solids;            // how the last solve of those of tets ended
    hk_rest_overlaps *overlaps;  // NULL: nobody asked yet
    hk_rest_settings settings;
    int threads;
    double *positions;  // [vertex_count][3]
    double *before;     // [vertex_count][3] the loaded shape before this one, to go back to
    bool unmeasured;    // the solver has yet to take the loaded shape
    double *workspace;  // [2 tet_count]
    hk_monitor_fn *monitor;
    void *monitor_context;
    double setup_ms;
};

void hk_fill_rest_def(hk_rest_def *def, size_t size)
{
    const hk_rest_def standard = {.method = "auto", .linear = "auto"};
    hk_def_fill(&hk_def_rest, &standard, def, size);
}

int hk_rest_method_count(void)
{
    return HK_REST_METHODS;
}
const char *hk_rest_method_name(int method)
{
    return method >= 0 && method < HK_REST_METHODS ? g_methods[method].name : "";
}
const char *hk_rest_method_summary(int method)
{
    return method >= 0 && method < HK_REST_METHODS ? g_methods[method].summary : "";
}

// ---------------------------------------------------------------- creation

static hk_status find_method(const char *name, hk_rest_method *method)
{
    for (int k = 0; k < HK_REST_METHODS; k++)
        if (name && strcmp(name, g_methods[k].name) == 0) {
            *method = (hk_rest_method)k;
            return HK_OK;
        }
    return hk_fail(HK_BAD_INPUT,
                   "unknown method %s for rest shapes (known: auto, fixed_point, newton_gmres, "
                   "newton_lu)",
                   name ? name : "(null)");
}

static hk_status find_linear(const char *name, hk_rest_linear *linear)
{
    static const char *const names[HK_REST_LINEAR_WAYS] = {"auto", "direct", "multigrid"};
    for (int k = 0; k < HK_REST_LINEAR_WAYS; k++)
        if (name && strcmp(name, names[k]) == 0) *linear = (hk_rest_linear)k;
    if (*linear == HK_REST_LINEAR_WAYS)
        return hk_fail(HK_BAD_INPUT,
                       "unknown linear solver %s for rest shapes (known: auto, direct, multigrid)",
                       name ? name : "(null)");
    if (*linear == HK_REST_DIRECT && !hk_direct_available())
        return hk_fail(HK_UNSUPPORTED, "this build has no direct solver (it was configured with "
                                       "HOOKE_DIRECT=OFF): rest shapes use multigrid");
    return HK_OK;
}

static hk_status take_def(const hk_rest_def *def, hk_rest *r)
{
    hk_rest_settings *s = &r->settings;
    HK_TRY(find_method(def->method, &s->method));
    s->linear = HK_REST_LINEAR_WAYS;
    HK_TRY(find_linear(def->linear, &s->linear));
    if (!(def->tolerance >= 0 && def->tolerance < 1))
        return hk_fail(HK_BAD_INPUT, "hk_rest_def: tolerance must be in [0, 1) (is %g)",
                       def->tolerance);
    if (def->iterations < 0 || def->reuse < 0)
        return hk_fail(HK_BAD_INPUT, "hk_rest_def: iterations and reuse must not be negative");
    if (def->threads < 0 || def->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_rest_def: threads must be 0 to %d (is %d)", MOST_THREADS,
                       def->threads);
    if (s->method == HK_REST_NEWTON_LU && !hk_lu_available())
        return hk_fail(HK_UNSUPPORTED,
                       "method newton_lu needs UMFPACK, which this build does not have: use "
                       "method auto");
    s->tolerance = def->tolerance > 0 ? def->tolerance : TOLERANCE;
    s->iterations = def->iterations > 0 ? def->iterations : ITERATIONS;
    s->load_steps = def->load_steps < 0 ? 0 : def->load_steps > 0 ? def->load_steps : LOAD_STEPS;
    s->reuse = def->reuse;
    s->components = HK_WHOLE_JACOBIAN;
    s->warp_from = WARP_FROM;
    r->threads = def->threads ? def->threads : omp_get_num_procs();
    return HK_OK;
}

// The solver of all tets: sheets stay as they are.
static hk_status make_solver(const hk_model *model, int threads, hk_rest_solver **solver)
{
    *solver = NULL;
    HK_TRY(hk_inverse_check_holds(model));
    if (model->tet_count == 0) return HK_OK;
    hk_model *solids;
    HK_TRY(hk_model_copy(model, &solids));
    for (int b = 0; b < solids->body_count; b++) {
        const hk_body *body = &solids->bodies[b];
        for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            if (body->tet_count == 0) solids->hold[v] = HK_FIXED;
    }
    hk_status status = hk_rest_solver_create(solids, threads, solver);
    hk_model_free(solids);
    return status;
}

static hk_status build(const hk_rest_def *def, hk_rest *r)
{
    HK_TRY(take_def(def, r));
    if (def->model->contact)
        return hk_fail(HK_UNSUPPORTED,
                       "rest shapes are found without contact, and the model has contact or "
                       "obstacles: take them out");
    HK_TRY(hk_model_copy(def->model, &r->model));
    size_t count = 3 * (size_t)r->model->vertex_count;
    r->positions = HK_ARRAY(double, count);
    r->before = HK_ARRAY(double, count);
    r->workspace = HK_ARRAY(double, 2 * (size_t)r->model->tet_count);
    if (!r->positions || !r->before || !r->workspace) return HK_NO_MEMORY;
    memcpy(r->positions, r->model->rest, count * sizeof(double));
    HK_TRY(hk_rest_lengths_create(r->model, &r->lengths));
    return make_solver(r->model, r->threads, &r->solver);
}

hk_status hk_rest_create(const hk_rest_def *def, hk_rest **rest)
{
    if (!def || !rest) return hk_fail(HK_BAD_INPUT, "hk_rest_create: def and rest are needed");
    double start = hk_now();
    hk_rest_def own;
    hk_fill_rest_def(&own, sizeof own);
    HK_TRY(hk_def_take(&hk_def_rest, def, &own));
    if (!own.model) return hk_fail(HK_BAD_INPUT, "hk_rest_create: a model is needed");
    hk_rest *r = HK_NEW(hk_rest);
    if (!r) return HK_NO_MEMORY;
    hk_status status = build(&own, r);
    if (status != HK_OK) {
        hk_rest_free(r);
        return status;
    }
    r->setup_ms = 1e3 * (hk_now() - start);
    *rest = r;
    return HK_OK;
}

void hk_rest_free(hk_rest *r)
{
    if (!r) return;
    hk_rest_solver_free(r->solver);
    hk_rest_overlaps_free(r->overlaps);
    hk_rest_lengths_release(&r->lengths);
    hk_model_free(r->model);
    hk_free(r->positions);
    hk_free(r->before);
    hk_free(r->workspace);
    hk_free(r);
}

// ---------------------------------------------------------------- the loaded shape

// What only memory can prevent.
static hk_status measure(hk_rest *r)
{
    r->unmeasured = true;
    if (r->solver) HK_TRY(hk_rest_solver_set_shape(r->solver, r->model));
    r->unmeasured = false;
    return HK_OK;
}

// The words of the failure stay.
static hk_status go_back(hk_rest *r, hk_status failure)
{
    if (hk_model_set_rest(r->model, r->before) == HK_OK) measure(r);
    return failure;
}

hk_status hk_rest_set_shape(hk_rest *r, const double *positions)
{
    if (!r || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_rest_set_shape: rest and positions are needed");
    memcpy(r->before, r->model->rest, 3 * sizeof(double) * (size_t)r->model->vertex_count);
    hk_status status = hk_model_set_rest(r->model, positions);
    if (status == HK_OK) status = measure(r);
    return status == HK_OK ? HK_OK : go_back(r, status);
}

void hk_rest_take_loads(hk_rest *r, const hk_model *model)
{
    memcpy(r->model->gravity, model->gravity, sizeof r->model->gravity);
    memcpy(r->model->load, model->load, 3 * sizeof(double) * (size_t)model->vertex_count);
}

static hk_status prepare_solver(hk_rest *r)
{
    hk_rest_solver *s = r->solver;
    s->settings = r->settings;
    s->monitor = r->monitor;
    s->monitor_context = r->monitor_context;
    return r->unmeasured ? measure(r) : HK_OK;
}

hk_status hk_rest_refactor(hk_rest *r)
{
    if (!r) return hk_fail(HK_BAD_INPUT, "hk_rest_refactor: rest is needed");
    if (!r->solver) return HK_OK;
    HK_TRY(prepare_solver(r));
    return hk_rest_solver_factor(r->solver);
}

// ---------------------------------------------------------------- solving

static hk_status take_start(hk_rest *r, const double *start)
{
    const hk_model *m = r->model;
    double *X = r->solver->now.X;
    for (int64_t k = 0; start && k < 3 * (int64_t)m->vertex_count; k++)
        if (!isfinite(start[k]))
            return hk_fail(HK_BAD_INPUT, "hk_rest_solve: the start of vertex %lld is not finite",
                           (long long)(k / 3));
    for (int v = 0; v < m->vertex_count; v++) {
        const double *from = (start && m->hold[v] == HK_FREE ? start : m->rest) + 3 * (int64_t)v;
        memcpy(X + 4 * (int64_t)m->place[v], from, 3 * sizeof(double));
    }
    hk_rest_solver *s = r->solver;
    size_t bytes = 4 * sizeof(double) * (size_t)m->vertex_count;
    s->from_old = !start && s->has_old && memcmp(s->old_x, s->inverse->x, bytes) != 0;
    return HK_OK;
}

static hk_status solve_solids(hk_rest *r, const double *start, hk_rest_report *report)
{
    HK_TRY(prepare_solver(r));
    HK_TRY(take_start(r, start));
    hk_rest_solver *s = r->solver;
    const hk_model *m = r->model;
    HK_TRY(hk_rest_solver_run(s, report));
    for (int v = 0; v < m->vertex_count; v++)
        memcpy(r->positions + 3 * (int64_t)v, s->now.X + 4 * (int64_t)m->place[v],
               3 * sizeof(double));
    hk_rest_measure(m, r->positions, s->inverse->problem->threads, r->workspace, report);
    return HK_OK;
}

// Residuals of sheets beside those of tets, and what their springs cannot do.
static void report_sheets(const hk_rest *r, hk_rest_report *report)
{
    const hk_rest_lengths *l = &r->lengths;
    double load = r->solver ? r->solver->inverse->scale : 0;
    report->residual = hypot(report->residual, l->left);
    load = hypot(load, l->load);
    report->relative_residual = load > 0 ? report->residual / load : 0;
    report->sheet_residual = l->load > 0 ? l->left / l->load : 0;
    report->sheet_vertex = l->worst;
    report->least_rest_length = l->least;
    report->greatest_rest_length = l->greatest;
    report->pushing_springs = l->pushing;
    bool balanced = report->sheet_residual <= l->tolerance && !l->buckles;
    if (report->reason != HK_CONVERGED || balanced) return;
    report->reason = HK_STALLED;
    hk_rest_lengths_describe(r->model, l, report->detail, sizeof report->detail);
}

static hk_status solve_sheets(hk_rest *r, hk_rest_report *report)
{
    if (!r->lengths.wanted) return HK_OK;
    HK_TRY(hk_rest_lengths_find(r->model, r->settings.tolerance, r->threads, &r->lengths));
    hk_rest_note(report, "rest lengths");
    report_sheets(r, report);
    return HK_OK;
}

hk_status hk_rest_solve(hk_rest *r, const double *start, hk_rest_report *report)
{
    if (!r) return hk_fail(HK_BAD_INPUT, "hk_rest_solve: rest is needed");
    double began = hk_now();
    hk_rest_report own = {.load_steps = 1,
                          .load_reached = 1,
                          .correction = NAN,
                          .least_j = NAN,
                          .greatest_stretch = NAN};
    if (r->solver) HK_TRY(solve_solids(r, start, &own));
    own.least_rest_length = own.greatest_rest_length = 1;
    own.sheet_vertex = -1;
    r->solids = own.reason;
    HK_TRY(solve_sheets(r, &own));
    double ms = 1e3 * (hk_now() - began);
    own.phase_ms[HK_PHASE_OTHER] += ms - own.ms;
    own.ms = ms;
    if (report) *report = own;
    return HK_OK;
}

hk_status hk_rest_find_overlaps(hk_rest *r, hk_rest_report *report)
{
    if (!r || !report)
        return hk_fail(HK_BAD_INPUT, "hk_rest_find_overlaps: rest and report are needed");
    if (!r->overlaps) HK_TRY(hk_rest_overlaps_create(r->model, r->threads, &r->overlaps));
    return hk_rest_overlaps_find(r->overlaps, r->positions, report);
}

// What a body does that is balanced, and does not stay.
static const char unstable[] =
    "the loaded shape is an unstable equilibrium: made like that, the body goes elsewhere; make it "
    "stiffer or lighter, or hold it in more places";

hk_status hk_rest_find_stability(hk_rest *r, hk_rest_report *report)
{
    if (!r || !report)
        return hk_fail(HK_BAD_INPUT, "hk_rest_find_stability: rest and report are needed");
    report->unstable = 0;
    if (!r->solver || hk_reason_outcome(r->solids) == HK_OUTCOME_FAILED) return HK_OK;
    hk_model *made;
    bool stable = true;
    HK_TRY(hk_rest_model(r, &made));
    hk_status status = hk_rest_look_whether_stable(made, r->model, r->threads, &stable);
    hk_model_free(made);
    HK_TRY(status);
    report->unstable = !stable;
    if (!stable && !report->detail[0])
        snprintf(report->detail, sizeof report->detail, "%s", unstable);
    return HK_OK;
}

void hk_rest_warp_from(hk_rest *r, int free_vertices)
{
    r->settings.warp_from = free_vertices;
}

hk_reason hk_rest_solids_reason(const hk_rest *r)
{
    return r->solids;
}

const double *hk_rest_positions(const hk_rest *r)
{
    return r ? r->positions : NULL;
}

hk_status hk_rest_apply(const hk_rest *r, hk_model *model)
{
    HK_TRY(hk_model_set_rest(model, r->positions));
    if (!r->lengths.wanted) return HK_OK;
    return hk_model_set_length_factors(model, r->lengths.spring, r->lengths.bend);
}

hk_status hk_rest_model(const hk_rest *r, hk_model **model)
{
    if (!r || !model) return hk_fail(HK_BAD_INPUT, "hk_rest_model: rest and model are needed");
    hk_model *made;
    HK_TRY(hk_model_copy(r->model, &made));
    hk_status status = hk_rest_apply(r, made);
    if (status != HK_OK) {
        hk_model_free(made);
        return status;
    }
    for (int b = 0; b < made->body_count; b++) made->bodies[b].sag_free = false;
    *model = made;
    return HK_OK;
}

void hk_rest_set_monitor(hk_rest *r, hk_monitor_fn *fn, void *context)
{
    if (!r) return;
    r->monitor = fn;
    r->monitor_context = context;
}

double hk_rest_setup_ms(const hk_rest *r)
{
    return r ? r->setup_ms : 0;
}
int hk_rest_threads(const hk_rest *r)
{
    return r ? r->threads : 0;
}
