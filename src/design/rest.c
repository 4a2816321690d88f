// Rest shapes, as users see them.
#include <math.h>
#include <omp.h>

#include "core/def.h"
#include "design/rest_solver.h"

enum { ITERATIONS = 50, LOAD_STEPS = 60, MOST_THREADS = 1024 };
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
    hk_model *model;  // the users': its rest shape is the loaded shape
    hk_rest_solver *solver;
    hk_rest_settings settings;
    int threads;
    double *positions;  // [vertex_count][3]
    double *workspace;  // [2 tet_count]
    hk_monitor_fn *monitor;
    void *monitor_context;
    double setup_ms;
};

void hk_fill_rest_def(hk_rest_def *def, size_t size)
{
    const hk_rest_def standard = {.method = "auto"};
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

static hk_status take_def(const hk_rest_def *def, hk_rest *r)
{
    hk_rest_settings *s = &r->settings;
    HK_TRY(find_method(def->method, &s->method));
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
    if (!hk_direct_available())
        return hk_fail(HK_UNSUPPORTED,
                       "rest shapes need a direct solver, and this build has no direct solver (it "
                       "was configured with HOOKE_DIRECT=OFF)");
    s->tolerance = def->tolerance > 0 ? def->tolerance : TOLERANCE;
    s->iterations = def->iterations > 0 ? def->iterations : ITERATIONS;
    s->load_steps = def->load_steps < 0 ? 0 : def->load_steps > 0 ? def->load_steps : LOAD_STEPS;
    s->reuse = def->reuse;
    s->components = HK_WHOLE_JACOBIAN;
    r->threads = def->threads ? def->threads : omp_get_num_procs();
    return HK_OK;
}

static hk_status build(const hk_rest_def *def, hk_rest *r)
{
    HK_TRY(take_def(def, r));
    HK_TRY(hk_model_copy(def->model, &r->model));
    size_t count = 3 * (size_t)r->model->vertex_count;
    r->positions = HK_ARRAY(double, count);
    r->workspace = HK_ARRAY(double, 2 * (size_t)r->model->tet_count);
    if (!r->positions || !r->workspace) return HK_NO_MEMORY;
    memcpy(r->positions, r->model->rest, count * sizeof(double));
    return hk_rest_solver_create(r->model, r->threads, &r->solver);
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
    hk_model_free(r->model);
    hk_free(r->positions);
    hk_free(r->workspace);
    hk_free(r);
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
    return HK_OK;
}

hk_status hk_rest_solve(hk_rest *r, const double *start, hk_rest_report *report)
{
    hk_rest_report own;
    if (!r) return hk_fail(HK_BAD_INPUT, "hk_rest_solve: rest is needed");
    if (!report) report = &own;
    HK_TRY(take_start(r, start));
    hk_rest_solver *s = r->solver;
    s->settings = r->settings;
    s->monitor = r->monitor;
    s->monitor_context = r->monitor_context;
    HK_TRY(hk_rest_solver_run(s, &own));
    const hk_model *m = r->model;
    for (int v = 0; v < m->vertex_count; v++)
        memcpy(r->positions + 3 * (int64_t)v, s->now.X + 4 * (int64_t)m->place[v],
               3 * sizeof(double));
    hk_rest_measure(m, r->positions, s->inverse->problem->threads, r->workspace, &own);
    *report = own;
    return HK_OK;
}

const double *hk_rest_positions(const hk_rest *r)
{
    return r ? r->positions : NULL;
}

hk_status hk_rest_set_shape(hk_rest *r, const double *positions)
{
    if (!r || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_rest_set_shape: rest and positions are needed");
    hk_model *model;
    hk_rest_solver *solver;
    HK_TRY(hk_model_copy(r->model, &model));
    hk_status status = hk_model_set_rest(model, positions);
    if (status == HK_OK) status = hk_rest_solver_create(model, r->threads, &solver);
    if (status != HK_OK) {
        hk_model_free(model);
        return status;
    }
    hk_rest_solver_inherit(solver, r->solver);
    hk_rest_solver_free(r->solver);
    hk_model_free(r->model);
    r->solver = solver;
    r->model = model;
    return HK_OK;
}

hk_status hk_rest_model(const hk_rest *r, hk_model **model)
{
    if (!r || !model) return hk_fail(HK_BAD_INPUT, "hk_rest_model: rest and model are needed");
    hk_model *made;
    HK_TRY(hk_model_copy(r->model, &made));
    hk_status status = hk_model_set_rest(made, r->positions);
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
