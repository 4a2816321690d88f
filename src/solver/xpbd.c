// Extended position-based dynamics (Macklin, Müller & Chentanez 2016) in small steps (Macklin et
// al. 2019). A time step is cut into substeps; in each of them positions go where inertia and
// forces take them, and then all elements in turn move their vertices, each as if it were alone:
//
//   x ← x + h v + h² M⁻¹ f,    sweeps of Gauss–Seidel over the constraints,    v = Δx/h.
//
// A tet's constraint is its deformation along the direction of its stress, with the compliance that
// the material has there, and the stress itself is the multiplier (term/lanes_local.c): this serves
// every material by its energy and stress (as in Bender et al. 2014). A spring is ‖d‖ − r, as
// usual. With more sweeps a substep comes to the solution of backward Euler for the substep's h;
// with one sweep, which is the usual choice, stiff bodies are softer than they should be, the more
// so the finer the mesh. Every correction is made of internal forces, so that momentum is kept.
//
// Contacts are constraints, too, with normals of the state before the substep (contact/relax.c). A
// substep ends without intersections: what the sweeps found is taken if straight ways lead there,
// else every vertex goes as far as it may by itself; where something moves that does not let bodies
// stay even where they are, the substep is halved.
//
// Positions and velocities are kept in double precision; what the sweeps move, relative to each
// body, is single by default.
#include <math.h>
#include <stdio.h>

#include "integrator/damping.h"
#include "solver/line_search.h"
#include "term/relax.h"

enum { OPTION_SUBSTEPS, OPTION_PRECISION };

static const hk_option_info g_options[] = {
    [OPTION_SUBSTEPS] = {.name = "substeps",
                         .help = "steps that a time step is cut into, each with as many sweeps as "
                                 "there are iterations",
                         .minimum = 1,
                         .maximum = 10000,
                         .fallback = 5},
    [OPTION_PRECISION] = {.name = "precision",
                          .help = "of the elements: single is faster",
                          .words = hk_precisions,
                          .fallback = HK_SINGLE},
};

typedef struct xpbd {
    hk_problem *problem;
    hk_view *view;
    hk_settings settings;
    hk_relax *relax;
    double *before;    // [vertex_count][4] positions before the substep
    double *gradient;  // [vertex_count][4]
    double *seen;      // [vertex_count][4] positions after a sweep, for the monitor
    double *goal;      // [vertex_count][4] where the sweeps want to go, past what is in the way
    bool guarded;      // something is (hk_guard_ops)
    void *narrow;      // scalar[vertex_count][4] positions before the sweeps
    double *drag;      // [vertex_count] N s/m, Σ c over the dampers of a vertex
    double *pull;      // [vertex_count][4] N, Σ c V
} xpbd;

static void xpbd_free(void *solver)
{
    xpbd *s = solver;
    if (!s) return;
    hk_relax_free(s->relax);
    hk_view_free(s->view);
    hk_free(s->before);
    hk_free(s->gradient);
    hk_free(s->seen);
    hk_free(s->goal);
    hk_free(s->narrow);
    hk_free(s->drag);
    hk_free(s->pull);
    hk_free(s);
}

// ---------------------------------------------------------------- creation

static hk_status allocate(xpbd *s)
{
    hk_problem *p = s->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    HK_TRY(hk_view_for(p, &s->settings, &s->view));
    s->before = HK_ZEROS(double, size);
    s->gradient = HK_ZEROS(double, size);
    s->seen = HK_ZEROS(double, size);
    s->narrow = hk_calloc(size, hk_view_scalar_size(s->view));
    s->goal = HK_ZEROS(double, size);
    s->drag = HK_ZEROS(double, (size_t)p->vertex_count);
    s->pull = HK_ZEROS(double, size);
    if (!s->before || !s->gradient || !s->seen || !s->narrow || !s->goal || !s->drag || !s->pull)
        return HK_NO_MEMORY;
    return hk_relax_create(s->view->terms, "xpbd", &s->relax);
}

static hk_status xpbd_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    xpbd *s = HK_NEW(xpbd);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    hk_status status = allocate(s);
    if (status != HK_OK) {
        xpbd_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- a substep

static void add_damper(void *context, const hk_damper *d)
{
    xpbd *s = context;
    s->drag[d->vertex] += d->coefficient;
    for (int i = 0; i < 3; i++)
        s->pull[4 * (int64_t)d->vertex + i] += d->coefficient * d->velocity[i];
}

static void take_dampers(xpbd *s, double time, double h)
{
    size_t n = (size_t)s->problem->vertex_count;
    memset(s->drag, 0, sizeof(double) * n);
    memset(s->pull, 0, 4 * sizeof(double) * n);
    hk_terms_visit_dampers(s->problem->terms, time, h, add_damper, s);
}

// Backward Euler with air and dampers, m (x − x_t − h v)/h² + Σ c ((x − x_t)/h − V) = f, without
// elasticity: the mass m + c h takes part in what the constraints do.
static double inverse_mass(const xpbd *s, int vertex, double h, const hk_damping *air)
{
    const hk_problem *p = s->problem;
    double drag = hk_damping_drag(air, p->mass[vertex]) + s->drag[vertex];
    double mass = p->mass[vertex] + drag * h;
    return p->held[vertex] || !(p->mass[vertex] > 0) ? 0 : 1 / mass;
}

static void predict(const xpbd *s, double h, const hk_damping *air, const double *v, double *x)
{
    const hk_problem *p = s->problem;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++) {
        double w = inverse_mass(s, k, h, air);
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            x[i] += w * h * (p->mass[k] * v[i] + h * (p->force[i] + s->pull[i]));
    }
}

// Positions and inverse masses to where the sweeps work.
static void load_sweep(xpbd *s, double h, const hk_damping *air, const double *x)
{
    hk_problem *p = s->problem;
    int64_t size = 4 * (int64_t)p->vertex_count;
    if (s->view->single)
        hk_view_narrow(s->view, x, s->narrow);
    else
        memcpy(s->narrow, x, sizeof(double) * (size_t)size);
    float *single = s->relax->x;
    double *exact = s->relax->x;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++) {
        double w = inverse_mass(s, k, h, air);
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 4; i++)
            if (s->view->single)
                single[i] = i % 4 < 3 ? ((const float *)s->narrow)[i] : (float)w;
            else
                exact[i] = i % 4 < 3 ? ((const double *)s->narrow)[i] : w;
    }
}

// What the sweeps have moved is added to x: that is not rounded as positions are.
static void take_sweep(const xpbd *s, const double *x, double *to)
{
    const hk_problem *p = s->problem;
    const float *single = s->relax->x, *single_before = s->narrow;
    const double *exact = s->relax->x, *exact_before = s->narrow;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            double moved = s->view->single ? (double)(single[i] - single_before[i])
                                           : exact[i] - exact_before[i];
            to[i] = p->held[k] ? x[i] : x[i] + moved;
        }
}

// ---------------------------------------------------------------- the time step

// ε and its gradient are those of the whole step: they tell how far one step of backward Euler is.
static void tell(xpbd *s, const double *x, bool measured, hk_iteration *told)
{
    hk_problem *p = s->problem;
    double scale = NAN;
    *told =
        (hk_iteration){.energy = NAN, .residual = NAN, .step_length = 1, .load = p->load_fraction};
    if (measured) {
        // In double precision: single would tell of its own rounding.
        hk_problem_gradient(p, x, s->gradient, &told->energy, &scale);
        told->residual = sqrt(hk_problem_dot(p, s->gradient, s->gradient));
    }
    told->relative_residual = isnan(scale) ? NAN : rule_relative(told->residual, scale);
}

// After a sweep from x; true: stop.
static bool count(xpbd *s, const double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    report->iterations++;
    if (!p->monitor) return false;
    hk_iteration told;
    if (p->watch_energy) take_sweep(s, x, s->seen);
    tell(s, s->seen, p->watch_energy, &told);
    told.iteration = report->iterations;
    if (p->monitor(p->monitor_context, &told)) return false;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return true;
}

// ---------------------------------------------------------------- what is in the way

static double longest_way(const hk_problem *p, const double *from, const double *to)
{
    double square = 0;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k += 4) {
        double d[3] = {to[k] - from[k], to[k + 1] - from[k + 1], to[k + 2] - from[k + 2]};
        square = fmax(square, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    return sqrt(square);
}

// From s->before, which was kept, as far towards x as nothing is in the way. False: held vertices
// or obstacles do not come to where they should be.
static bool get_past(xpbd *s, double *x)
{
    return hk_terms_approach(s->problem->terms, s->problem->held, x);
}

// ---------------------------------------------------------------- substeps

typedef struct interval {
    const hk_time_step *motion;
    double from, to;  // fractions of the time step
    double h;         // s, between them
} interval;

// *stuck: something was in the way, and x is again what it was.
static hk_status substep(xpbd *s, const interval *i, double *x, double *v, hk_solve_report *report,
                         bool *stop, bool *stuck)
{
    hk_problem *p = s->problem;
    const hk_time_step *motion = i->motion;
    const hk_damping *air = motion->damping;
    double h = i->h, clock = hk_now();
    bool several = s->settings.iterations > 1;
    int64_t size = 4 * (int64_t)p->vertex_count;
    memcpy(s->before, x, sizeof(double) * (size_t)size);
    take_dampers(s, motion->time + i->to * motion->step, h);
    predict(s, h, air, v, x);
    if (s->guarded) {
        hk_terms_keep(p->terms, s->before);
        hk_terms_center(p->terms, s->before, longest_way(p, s->before, x));
    }
    motion->place(motion->context, i->to, x);
    HK_TRY(hk_view_center(s->view, x));
    load_sweep(s, h, air, x);
    hk_relax_begin(s->relax, several);
    for (int k = 0; k < s->settings.iterations && !*stop; k++) {
        hk_relax_sweep(s->relax, h, several);
        *stop = count(s, x, report);
    }
    take_sweep(s, x, x);
    *stuck = s->guarded && !get_past(s, x);
    if (*stuck)
        memcpy(x, s->before, sizeof(double) * (size_t)size);
    else
        for (int64_t k = 0; k < size; k++) v[k] = (x[k] - s->before[k]) / h;
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return HK_OK;
}

enum { MOST_HALVINGS = 8 };

static hk_status advance(xpbd *s, const interval *i, int halvings, double *x, double *v,
                         hk_solve_report *report, bool *stop)
{
    bool stuck;
    HK_TRY(substep(s, i, x, v, report, stop, &stuck));
    if (!stuck || *stop) return HK_OK;
    i->motion->place(i->motion->context, i->from, s->goal);  // not x: held vertices are there
    if (halvings == MOST_HALVINGS) {
        *stop = true;
        report->reason = HK_STALLED;
        snprintf(report->detail, sizeof report->detail,
                 "what moves presses bodies where they cannot go");
        return HK_OK;
    }
    double middle = 0.5 * (i->from + i->to), h = 0.5 * i->h;
    interval first = {i->motion, i->from, middle, h}, second = {i->motion, middle, i->to, h};
    HK_TRY(advance(s, &first, halvings + 1, x, v, report, stop));
    return *stop ? HK_OK : advance(s, &second, halvings + 1, x, v, report, stop);
}

static bool all_finite(const hk_problem *p, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) sum += 0 * x[k];
    return sum == 0;
}

static void finish(xpbd *s, const double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    if (!all_finite(p, x)) {
        report->reason = HK_NOT_FINITE;
        snprintf(report->detail, sizeof report->detail, "positions are not finite");
        return;
    }
    hk_iteration at;
    hk_view_update(s->view, x);
    tell(s, x, true, &at);
    report->energy = at.energy;
    report->residual = at.residual;
    report->relative_residual = at.relative_residual;
    report->reason = HK_CONVERGED;
    report->rounding = NAN;
    if (!isfinite(at.energy)) {
        // Forces of such elements do not count, and the others' alone do not tell of a solution.
        report->reason = HK_ITERATION_LIMIT;
        report->residual = report->relative_residual = NAN;
        if (!hk_terms_undefined(p->terms, x, report->detail, sizeof report->detail))
            snprintf(report->detail, sizeof report->detail, "the energy is not finite");
        return;
    }
    if (at.relative_residual <= s->settings.tolerance) return;
    report->reason = HK_ITERATION_LIMIT;
    snprintf(
        report->detail, sizeof report->detail,
        "%d sweeps in %d substeps; against one step of backward Euler the relative residual is "
        "%.1e",
        report->iterations, (int)s->settings.option[OPTION_SUBSTEPS], at.relative_residual);
}

static hk_status xpbd_integrate(void *solver, const hk_time_step *motion, double *x, double *v,
                                hk_solve_report *report)
{
    xpbd *s = solver;
    hk_problem *p = s->problem;
    int count_of = (int)s->settings.option[OPTION_SUBSTEPS];
    HK_TRY(hk_view_center(s->view, x));
    hk_iteration start;
    if (p->monitor && p->watch_energy) {
        tell(s, x, true, &start);
        p->monitor(p->monitor_context, &start);
    }
    bool stop = false;
    s->guarded = hk_terms_guarded(p->terms);
    for (int k = 0; k < count_of && !stop; k++) {
        interval i = {motion, (double)k / count_of, (double)(k + 1) / count_of,
                      motion->step / count_of};
        HK_TRY(advance(s, &i, 0, x, v, report, &stop));
    }
    if (stop) return HK_OK;
    double clock = hk_now();
    finish(s, x, report);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return HK_OK;
}

static hk_view *xpbd_view(void *solver)
{
    return ((xpbd *)solver)->view;
}

static void xpbd_describe(const void *solver, char *text, size_t size)
{
    const xpbd *s = solver;
    const double *option = s->settings.option;
    snprintf(text, size, "xpbd: %d substeps of %d sweeps, %s precision, %d colours",
             (int)option[OPTION_SUBSTEPS], s->settings.iterations,
             hk_precisions[(int)option[OPTION_PRECISION]], hk_relax_colours(s->relax));
}

const hk_method hk_xpbd = {
    .name = "xpbd",
    .whole_vertices = true,
    .summary = "position-based dynamics in substeps, one constraint a tet; no poses",
    .iterations = 1,
    .tolerance = 1e-6,
    .guarded = true,
    .by_regions = true,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = xpbd_create,
    .free = xpbd_free,
    .integrate = xpbd_integrate,
    .view = xpbd_view,
    .describe = xpbd_describe,
};
