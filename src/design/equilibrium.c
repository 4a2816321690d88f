#include "design/equilibrium.h"

#include <math.h>
#include <stdio.h>

#include "solver/held_components.h"

// K is taken again where a pose was corrected by more than this part of the model's size, so that
// derivatives are those of the corrected one; and that at most so often.
#define NEAR 1e-12
enum { MOST_CORRECTIONS = 4 };
// A pose that was refused its tolerance is good enough below this.
#define NEARLY 1e-7
// Free vertices up to which K is factored.
enum { MOST_FOR_DIRECT = 60000 };

// ---------------------------------------------------------------- creation

static hk_status build(hk_equilibrium *e, int threads, double tolerance)
{
    HK_TRY(hk_problem_create(e->model, threads, NULL, &e->problem));
    hk_problem *p = e->problem;
    size_t n = (size_t)p->vertex_count;
    hk_solver_def def = hk_default_solver_def();
    def.tolerance = tolerance;
    HK_TRY(hk_method_settings(&hk_newton, &def, &e->settings));
    HK_TRY(hk_newton.create(p, &e->settings, &e->solver));
    HK_TRY(hk_model_is_unheld(e->model, NULL, &e->unheld));
    e->diagonal = HK_ZEROS(double, n);
    e->x = HK_ZEROS(double, 4 * n);
    e->gradient = HK_ZEROS(double, 4 * n);
    e->step = HK_ZEROS(double, 4 * n);
    e->good = HK_ZEROS(double, 4 * n);
    if (!e->diagonal || !e->x || !e->gradient || !e->step || !e->good) return HK_NO_MEMORY;
    memcpy(e->x, p->rest, 4 * sizeof(double) * n);
    return HK_OK;
}

hk_status hk_equilibrium_create(hk_model *model, int threads, double tolerance,
                                hk_equilibrium **equilibrium)
{
    hk_equilibrium *e = HK_NEW(hk_equilibrium);
    if (!e) {
        hk_model_free(model);
        return HK_NO_MEMORY;
    }
    e->model = model;
    hk_status status = build(e, threads, tolerance);
    if (status != HK_OK) {
        hk_equilibrium_free(e);
        return status;
    }
    *equilibrium = e;
    return HK_OK;
}

void hk_equilibrium_free(hk_equilibrium *e)
{
    if (!e) return;
    if (e->solver) hk_newton.free(e->solver);
    hk_newton_matrix_free(e->matrix);
    hk_problem_free(e->problem);
    hk_model_free(e->model);
    hk_free(e->diagonal);
    hk_free(e->x);
    hk_free(e->gradient);
    hk_free(e->step);
    hk_free(e->good);
    hk_free(e);
}

hk_status hk_equilibrium_take_materials(hk_equilibrium *e)
{
    hk_model_weigh_tets(e->model);
    return hk_problem_take_materials(e->problem);
}

hk_status hk_equilibrium_set_shape(hk_equilibrium *e, const double *positions,
                                   const hk_model *loads)
{
    hk_model *m = e->model;
    memcpy(m->gravity, loads->gravity, sizeof m->gravity);
    memcpy(m->load, loads->load, 3 * sizeof(double) * (size_t)m->vertex_count);
    HK_TRY(hk_model_set_rest(m, positions));
    return hk_problem_measure(e->problem);
}

// ---------------------------------------------------------------- poses

static void place(void *context, double fraction, double *x)
{
    const hk_equilibrium *e = context;
    const hk_model *m = e->model;
    for (int k = 0; k < m->vertex_count; k++)
        if (e->problem->held[k])
            hk_model_held_position_at(m, m->order[k], fraction, x + 4 * (int64_t)k);
    hk_problem_set_load(e->problem, fraction);
    hk_terms_place(e->problem->terms, &(hk_when){.by_fraction = true, .fraction = fraction});
}

static void report_falling(const hk_model *m, int vertex, hk_solve_report *report)
{
    int body = 0;
    while (body + 1 < m->body_count && m->bodies[body + 1].vertex_start <= vertex) body++;
    report->reason = HK_NOT_HELD;
    snprintf(report->detail, sizeof report->detail,
             "body %d (%.40s): nothing holds the piece with vertex %d against its load; fix at "
             "least three vertices of it",
             body, m->bodies[body].name, vertex - m->bodies[body].vertex_start);
}

static bool is_found(const hk_solve_report *r)
{
    if (r->reason == HK_CONVERGED || r->reason == HK_PRECISION_LIMIT) return true;
    bool short_of_it = r->reason == HK_STALLED || r->reason == HK_ITERATION_LIMIT;
    return short_of_it && r->relative_residual <= NEARLY;
}

hk_status hk_equilibrium_find(hk_equilibrium *e, const double *start, hk_solve_report *report,
                              bool *found)
{
    hk_problem *p = e->problem;
    int falling, load_steps;
    *found = false;
    *report = (hk_solve_report){.energy = NAN, .rounding = NAN};
    HK_TRY(hk_model_find_falling(e->model, NULL, p->full_force, &falling));
    if (falling >= 0) {
        report_falling(e->model, falling, report);
        return HK_OK;
    }
    HK_TRY(hk_problem_begin_pose(p));
    // As the poses of worlds have it: free rotations must not make the matrix singular.
    p->shift = e->unheld ? 1e-7 * hk_terms_softest(p->terms) : 0;
    if (start != e->x)
        memcpy(e->x, start ? start : p->rest, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_continuation c = {.problem = p,
                         .method = &hk_newton,
                         .solver = e->solver,
                         .place = place,
                         .context = e,
                         .split_unconverged = true,
                         .good = e->good,
                         .step = e->step,
                         .settings = &e->settings};
    HK_TRY(hk_continue(&c, e->x, report, &load_steps));
    e->poses++;
    e->iterations += report->iterations;
    for (int k = 0; k < HK_PHASE_COUNT; k++) e->phase_s[k] += report->phase_s[k];
    *found = is_found(report);
    return HK_OK;
}

double hk_equilibrium_residual(hk_equilibrium *e, double *relative)
{
    double scale;
    hk_problem_gradient(e->problem, e->x, e->gradient, NULL, &scale);
    double norm = sqrt(hk_problem_dot(e->problem, e->gradient, e->gradient));
    *relative = scale > 0 ? norm / scale : 0;
    return norm;
}

// ---------------------------------------------------------------- response

// x += −K⁻¹ g, unless that leaves more of g: then it is rounding, and `moved` is false.
static hk_status correct(hk_equilibrium *e, bool *moved)
{
    hk_problem *p = e->problem;
    int64_t size = 4 * (int64_t)p->vertex_count;
    double relative, before = hk_equilibrium_residual(e, &relative);
    HK_TRY(hk_equilibrium_respond(e, e->gradient, e->step));
    e->correction = sqrt(hk_problem_dot(p, e->step, e->step) / hk_max_int(p->free_count, 1));
    memcpy(e->good, e->x, sizeof(double) * (size_t)size);
    for (int64_t k = 0; k < size; k++) e->x[k] += e->step[k];
    *moved = hk_equilibrium_residual(e, &relative) < before;
    if (!*moved) memcpy(e->x, e->good, sizeof(double) * (size_t)size);
    return HK_OK;
}

hk_status hk_equilibrium_linearise(hk_equilibrium *e, bool *stable)
{
    hk_problem *p = e->problem;
    bool direct = hk_direct_available() && p->free_count <= MOST_FOR_DIRECT;
    if (!e->matrix) HK_TRY(hk_newton_matrix_create(p, !direct, &e->matrix));
    for (int k = 0; k < p->vertex_count; k++) e->diagonal[k] = p->inertia[k] + p->shift;
    for (int k = 0; k < MOST_CORRECTIONS; k++) {
        HK_TRY(hk_newton_matrix_set(e->matrix, e->x, 1, 1, e->diagonal, e->phase_s, stable));
        e->factorisations++;
        if (!*stable) return HK_OK;
        bool moved;
        HK_TRY(correct(e, &moved));
        if (!moved || e->correction <= NEAR * p->size) break;
    }
    return HK_OK;
}

hk_status hk_equilibrium_respond(hk_equilibrium *e, const double *gradient, double *response)
{
    bool positive;
    HK_TRY(hk_newton_matrix_solve_exactly(e->matrix, gradient, response, e->phase_s, &positive));
    if (!positive)
        return hk_fail(HK_UNSUPPORTED, "the pose is not stable: its stiffness is not positive");
    return HK_OK;
}
