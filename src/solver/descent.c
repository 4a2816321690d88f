// The method of Descent (Wang & Yang 2016, sections 4.1–4.3): gradient descent with the Jacobi
// preconditioner and Chebyshev acceleration. An iteration needs no dot product.
//
//   direction     Δq = −P g, P the inverse diagonal of the Hessian, evaluated every M iterations
//   step length   α, the same for eight iterations; then ε is checked, and if it has not fallen
//                 the eight are undone and α becomes γα (eq. 7 with c = 0); α goes on from one time
//                 step to the next as α/γ
//   acceleration  q⁺ = ω (q + αΔq − q⁻) + q⁻ with ω from the rate ρ (Wang 2015), in phases that
//                 have a ρ of their own; or Nesterov's momentum. Both begin anew where ε rose.
//
// The state is kept in the precision of the elements, single by default. ε is then compared in
// single precision, too, except where two values differ by less than that can tell.
#include <math.h>
#include <stdio.h>

#include "solver/descent.h"
#include "rules/descent.h"
#include "solver/checkpoint.h"
#include "solver/limit.h"
#include "solver/line_search.h"
#include "solver/tied_vertices.h"

enum { PHASES = HK_DESCENT_PHASES };
enum {
    OPTION_ACCELERATION = HK_OPTION_AFTER_PRECISION,
    OPTION_REFRESH,
    OPTION_CHECK,
    OPTION_SHRINK,
    OPTION_SHORTEST,
    OPTION_PHASES,                                  // pairs: length and ρ
    OPTION_PERSISTENT = OPTION_PHASES + 2 * PHASES  // of the GPU's (gpu/persistent.cu)
};
enum { POWER_ITERATIONS = 20, VECTORS = 4 };

static const char *const g_accelerations[] = {"chebyshev", "nesterov", "none", NULL};
static const char *const g_residents[] = {"auto", "off", NULL};
#define LONGEST_PHASE 1e6
#define PHASE(n, usual_length, usual_rho)                                                  \
    {.name = "length" #n,                                                                  \
     .help = "iterations of phase " #n " of the Chebyshev acceleration; 0: there is none", \
     .maximum = LONGEST_PHASE,                                                             \
     .fallback = (usual_length)},                                                          \
    {                                                                                      \
        .name = "rho" #n,                                                                  \
        .help = "rate of phase " #n " (Descent eq. 8); the last phase goes on to the end", \
        .maximum = 0.99999, .fallback = (usual_rho)                                        \
    }
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_ACCELERATION),
    HK_PRECISION_OPTION(HK_SINGLE),
    [OPTION_ACCELERATION] = {.name = "acceleration",
                             .help = "of the descent",
                             .words = g_accelerations},
    [OPTION_REFRESH] = {.name = "refresh",
                        .help = "M: iterations between two evaluations of the diagonal",
                        .minimum = 1,
                        .maximum = 1e6,
                        .fallback = 32},
    [OPTION_CHECK] = {.name = "check",
                      .help = "iterations between two checks of the energy",
                      .minimum = 1,
                      .maximum = 1e6,
                      .fallback = 8},
    [OPTION_SHRINK] = {.name = "shrink",
                       .help = "gamma: factor of the step length where the energy rose",
                       .minimum = 0.1,
                       .maximum = 0.95,
                       .fallback = 0.7},
    [OPTION_SHORTEST] = {.name = "shortest",
                         .help = "step length that is not worth going on with",
                         .minimum = 1e-9,
                         .maximum = 0.5,
                         .fallback = 1e-5},
    PHASE(1, 8, 0.93),
    PHASE(2, 8, 0.99),
    PHASE(3, 80, 0.9999),
    PHASE(4, 0, 0.97),
    PHASE(5, 0, 0.97),
    PHASE(6, 0, 0.97),
    PHASE(7, 0, 0.97),
    PHASE(8, 0, 0.97),
    [OPTION_PERSISTENT] = {.name = "resident",
                           .help =
                               "on a GPU: auto: one kernel does all iterations of a time step if "
                               "the model fits into the multiprocessors' own memories; off: one "
                               "kernel per iteration",
                           .words = g_residents},
};

hk_descent_rules hk_descent_rules_of(const hk_settings *settings)
{
    const double *option = settings->option;
    hk_descent_rules r = {.acceleration = (int)option[OPTION_ACCELERATION],
                          .check = (int)option[OPTION_CHECK],
                          .refresh = (int)option[OPTION_REFRESH],
                          .shrink = option[OPTION_SHRINK],
                          .shortest = option[OPTION_SHORTEST],
                          .tolerance = settings->tolerance};
    for (int n = 0; n < PHASES; n++) {
        r.phase_length[n] = option[OPTION_PHASES + 2 * n];
        r.phase_rate[n] = option[OPTION_PHASES + 2 * n + 1];
    }
    return r;
}

typedef struct descent {
    hk_problem *problem;
    hk_view *view;
    hk_settings settings;
    hk_vertices vertices;
    hk_checkpoint checkpoint;
    hk_tied_vertices tied;
    const double *diagonal;   // [vertex_count] a constant one instead of the Hessian, or NULL
    bool guarded;             // something is in the way (hk_guard_ops)
    double *vector[VECTORS];  // [vertex_count][4] workspace of the estimate of the longest α
    hk_quadratic estimated;   // which was made for these; NAN: not yet
    hk_descent_rules rules;
    double slowest;  // of the rules, where nothing is in the way
    bool renewed;    // the diagonal is another one than at the last step
    hk_descent_state state;
} descent;

static void descent_free(void *solver)
{
    descent *s = solver;
    if (!s) return;
    hk_view_free(s->view);
    hk_vertices_release(&s->vertices);
    hk_tied_release(&s->tied);
    hk_checkpoint_release(&s->checkpoint);
    hk_free(s->vertices.floor);
    for (int k = 0; k < VECTORS; k++) hk_free(s->vector[k]);
    hk_free(s);
}

static hk_status allocate(descent *s, hk_problem *p)
{
    HK_TRY(hk_view_for(p, &s->settings, &s->view));
    HK_TRY(hk_vertices_init(&s->vertices, s->view));
    HK_TRY(hk_checkpoint_init(&s->checkpoint, &s->vertices, s->settings.tolerance));
    HK_TRY(hk_tied_init(&s->tied, &s->vertices));
    for (int k = 0; k < VECTORS; k++) {
        s->vector[k] = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
        if (!s->vector[k]) return HK_NO_MEMORY;
    }
    s->vertices.floor = HK_ZEROS(double, p->vertex_count);
    return s->vertices.floor ? HK_OK : HK_NO_MEMORY;
}

static hk_status create(hk_problem *problem, const hk_settings *settings, const double *diagonal,
                        void **solver)
{
    descent *s = HK_NEW(descent);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    s->diagonal = diagonal;
    s->estimated.weight = NAN;
    s->rules = hk_descent_rules_of(settings);
    hk_status status = allocate(s, problem);
    if (status != HK_OK) {
        descent_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

static hk_status descent_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    return create(problem, settings, NULL, solver);
}

// The settings of this method for projective dynamics, which has a table of its own.
static hk_settings projective_settings(const hk_settings *settings, double rho)
{
    hk_settings own = *settings;
    own.method = &hk_descent;
    own.option[HK_OPTION_START] = hk_setting(settings, "start");
    own.option[HK_OPTION_ETA] = hk_setting(settings, "eta");
    own.option[HK_OPTION_PRECISION] = hk_setting(settings, "precision");
    for (int k = HK_OPTION_AFTER_PRECISION; k < HK_COUNT_OF(g_options); k++)
        own.option[k] = g_options[k].fallback;
    for (int n = 0; n < PHASES; n++) own.option[OPTION_PHASES + 2 * n] = 0;
    own.option[OPTION_PHASES] = LONGEST_PHASE;
    own.option[OPTION_PHASES + 1] = rho;
    return own;
}

hk_descent_rules hk_descent_rules_projective(const hk_settings *settings, double rho)
{
    hk_settings own = projective_settings(settings, rho);
    return hk_descent_rules_of(&own);
}

hk_status hk_descent_create_projective(hk_problem *problem, const hk_settings *settings, double rho,
                                       const double *diagonal, void **solver)
{
    hk_settings own = projective_settings(settings, rho);
    return create(problem, &own, diagonal, solver);
}

// ---------------------------------------------------------------- acceleration

// Phases are for the iterations of a time step. A pose takes as many as it needs, and its slowest
// modes are not known: there Nesterov's momentum, which needs no rate, stands in for Chebyshev's.
static void choose_acceleration(descent *s)
{
    int kind = (int)s->settings.option[OPTION_ACCELERATION];
    bool pose = s->problem->weight == 0;
    s->rules.acceleration =
        kind == HK_ACCELERATION_CHEBYSHEV && pose ? HK_ACCELERATION_NESTEROV : kind;
}

static void forget_last(descent *s)
{
    memcpy(s->vertices.last, s->vertices.q, hk_vertices_bytes(&s->vertices));
}

// Every vertex goes as far as it may by itself: before the first gradient, after steps, and where a
// centre is too far away by then around a new one.
static void truncate(descent *s)
{
    if (!s->guarded) return;
    bool many = hk_terms_truncate(s->view->terms, s->vertices.q);
    if (hk_tied_shortened(&s->tied) || many) hk_terms_center(s->view->terms, s->vertices.q, 0);
}

// Contacts join the diagonal. Where they have made it larger, modes that they do not hold are
// slower than before.
static void precondition(descent *s)
{
    const hk_vertices *v = &s->vertices;
    hk_jacobi_step step = {v->q, v->inverse, v->target, v->force, v->gradient, s->renewed};
    s->renewed = false;
    s->rules.slowest = fmin(s->slowest, hk_terms_precondition(s->view->terms, &step));
}

static void step(descent *s, int k)
{
    int restarts;
    hk_tied_keep_gradient(&s->tied);
    if (s->guarded) precondition(s);
    if (s->guarded) hk_tied_soften(&s->tied);
    double weight = descent_accelerate(&s->rules, &s->state, k, &restarts);
    if (restarts) forget_last(s);
    hk_tied_before(&s->tied);
    if (s->rules.acceleration == HK_ACCELERATION_NESTEROV)
        hk_vertices_step_momentum(&s->vertices, s->state.length, weight);
    else
        hk_vertices_step(&s->vertices, s->state.length, weight);
    hk_tied_after(&s->tied);
    hk_tied_restore(&s->tied);
    truncate(s);
}

// ---------------------------------------------------------------- the longest step

// The inverse of the diagonal at rest, and from it the least stiffness of a vertex that the
// preconditioner assumes. Compressed elements have small or negative entries in their diagonal
// while they are coupled to their neighbours as before; taken as they are, such entries make steps
// that no length makes stable.
static void rest_diagonal(descent *s, double *inverse)
{
    hk_problem *p = s->problem;
    if (!s->diagonal) hk_terms_diagonal(p->terms, p->rest, inverse);
    for (int64_t k = 0; k < p->vertex_count; k++) {
        double sum = 0;
        for (int i = 0; i < 3 && s->diagonal; i++)
            inverse[4 * k + i] = (1 + p->stiffening) * s->diagonal[k];
        for (int i = 0; i < 4; i++) {
            double whole = inverse[4 * k + i] + p->inertia[k] + p->shift;
            if (i < 3) sum += whole;
            bool moves = i < 3 && !p->held[k] && !(hk_problem_axes(p, k) >> i & 1);
            inverse[4 * k + i] = moves && whole > 0 ? 1 / whole : 0;
        }
        s->vertices.floor[k] = sum / 3;
        if (!p->held[k] && sum > 0)
            s->rules.slowest = fmin(s->rules.slowest, 3 * p->inertia[k] / sum);
    }
}

// The largest eigenvalue of P H at rest, by power iteration with differences of gradients.
static double largest_eigenvalue(descent *s)
{
    hk_problem *p = s->problem;
    int64_t size = 4 * (int64_t)p->vertex_count;
    double *x = s->checkpoint.wide, *v = s->vector[0], *from = s->vector[1], *to = s->vector[2],
           *inverse = s->vector[3];
    rest_diagonal(s, inverse);
    // Any vector will do that has a share of the mode: here one without pattern.
    for (int64_t k = 0; k < size; k++)
        v[k] = inverse[k] > 0 ? (double)(((uint64_t)k * 2654435761u >> 16) % 1001) / 500 - 1 : 0;
    hk_tied_at_rest(&s->tied, inverse, v);
    hk_problem_gradient(p, p->rest, from, NULL, NULL);
    double eigenvalue = 1, h = 1e-7 * p->size * sqrt(3.0 * p->free_count);
    for (int n = 0; n < POWER_ITERATIONS; n++) {
        double norm = sqrt(hk_problem_dot(p, v, v));
        if (!(norm > 0)) return 1;
        for (int64_t k = 0; k < size; k++) x[k] = p->rest[k] + h / norm * v[k];
        hk_problem_gradient(p, x, to, NULL, NULL);
        for (int64_t k = 0; k < size; k++) v[k] = inverse[k] * (to[k] - from[k]) / h;
        hk_tied_at_rest(&s->tied, inverse, v);
        eigenvalue = sqrt(hk_problem_dot(p, v, v));
    }
    return isfinite(eigenvalue) && eigenvalue > 1 ? eigenvalue : 1;
}

static void estimate_length(descent *s)
{
    const hk_problem *p = s->problem;
    if (hk_same_quadratic(s->estimated, hk_problem_quadratic(p))) return;
    s->estimated = hk_problem_quadratic(p);
    s->rules.slowest = 1;
    // Contacts are not those at rest, and have a bound of their own in the diagonal.
    hk_terms_pause(s->problem->terms, true);
    s->rules.longest = descent_longest(largest_eigenvalue(s), s->rules.acceleration);
    hk_terms_pause(s->problem->terms, false);
    s->slowest = s->rules.slowest;
    s->state.carried = s->rules.longest;
}

// ---------------------------------------------------------------- the descent loop

static void gradient(descent *s, double *energy, hk_solve_report *report)
{
    double clock = hk_now();
    hk_checkpoint_gradient(&s->checkpoint, energy);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
}

static void refresh(descent *s, hk_solve_report *report)
{
    double clock = hk_now();
    if (s->diagonal)
        hk_vertices_fill(&s->vertices, s->diagonal, 1 + s->problem->stiffening);
    else
        hk_view_diagonal(s->view, s->vertices.q, s->vertices.inverse);
    hk_vertices_invert(&s->vertices);
    s->renewed = true;
    report->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
}

static bool tell(descent *s, const hk_evaluation *now, hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    report->iterations++;
    if (!p->monitor) return true;
    double energy = p->watch_energy ? hk_checkpoint_energy(&s->checkpoint, s->vertices.q) : NAN;
    hk_iteration it = {.iteration = report->iterations,
                       .energy = energy,
                       .residual = now->residual,
                       .relative_residual = hk_relative_residual(now),
                       .step_length = s->state.length,
                       .load = p->load_fraction};
    if (p->monitor(p->monitor_context, &it)) return true;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return false;
}

static bool only_rounding_is_left(const descent *s, const hk_evaluation *good)
{
    return hk_is_converged(good, s->settings.tolerance) ||
           hk_is_near_limit(good, s->settings.tolerance);
}

// Back to the last state that was kept. False: the step length has become too short.
static bool undo(descent *s, bool rounding)
{
    hk_checkpoint_restore(&s->checkpoint);
    forget_last(s);
    return descent_undo(&s->rules, &s->state, s->state.since_restart, rounding);
}

static void keep(descent *s, const hk_evaluation *now, bool rounding, hk_evaluation *good)
{
    descent_keep(&s->rules, &s->state, rounding);
    *good = *now;
    hk_checkpoint_keep(&s->checkpoint, good);
}

static void report_stalled(const descent *s, const hk_evaluation *good, bool fell,
                           hk_solve_report *report)
{
    hk_report_no_decrease(s->view, good, s->settings.tolerance,
                          fell ? "neither energy nor residual becomes less"
                               : "the shortest step length does not decrease the energy",
                          report);
}

// Keeps or undoes the iterations since the last check, with gradient and energy of q at hand.
// False: the solve is over.
static bool check(descent *s, double elastic, hk_evaluation *good, hk_solve_report *report)
{
    hk_evaluation now = hk_checkpoint_measure(&s->checkpoint, elastic);
    bool unclear, fell = hk_checkpoint_fell(&s->checkpoint, good, &now, &unclear);
    bool rounding = unclear || only_rounding_is_left(s, good);
    if (fell) {
        keep(s, &now, rounding, good);
        if (hk_checkpoint_over(&s->checkpoint, good, report)) return false;
    }
    bool going = (fell || undo(s, rounding)) && !hk_checkpoint_wanders(&s->checkpoint);
    if (!going) report_stalled(s, good, fell, report);
    if (fell || !going) return going;
    double elastic_again;  // where something is in the way its forces are those of a state with it
    gradient(s, s->guarded ? &elastic_again : NULL, report);
    refresh(s, report);
    return true;
}

static void descend(descent *s, hk_evaluation *good, hk_solve_report *report)
{
    const hk_settings *o = &s->settings;
    int budget = hk_problem_budget(s->problem, o->iterations, o->pose_iterations);
    for (int k = 0;; k++) {
        bool due = k > 0 && (k % s->rules.check == 0 || k == budget);
        if (k > 0) {
            double elastic;
            gradient(s, due ? &elastic : NULL, report);
            if (due && !check(s, elastic, good, report)) return;
        }
        if (k == budget) break;
        if (k % s->rules.refresh == 0) refresh(s, report);
        double clock = hk_now();
        step(s, k);
        report->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
        if (!tell(s, good, report)) return;
    }
    report->reason = HK_ITERATION_LIMIT;
    snprintf(report->detail, sizeof report->detail,
             "%d iterations left a relative residual of %.1e", budget, hk_relative_residual(good));
}

// From x, which is a good state.
static void minimise(descent *s, double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    hk_vertices_load(&s->vertices, x);
    double elastic;
    gradient(s, &elastic, report);
    hk_evaluation good = hk_checkpoint_measure(&s->checkpoint, elastic);
    hk_checkpoint_begin(&s->checkpoint, x, good.residual);
    if (!isfinite(good.energy) || !isfinite(good.residual) || !isfinite(good.scale)) {
        hk_report_undefined(p, x, fmax(good.residual, good.scale), report);
        return;
    }
    if (p->monitor && p->watch_energy)
        hk_tell_start(p, hk_checkpoint_energy(&s->checkpoint, s->checkpoint.good), good.residual,
                      good.scale);
    if (!hk_checkpoint_over(&s->checkpoint, &good, report)) {
        descent_begin(&s->rules, &s->state);
        forget_last(s);
        descend(s, &good, report);
        descent_end(&s->state, only_rounding_is_left(s, &good));
        hk_checkpoint_store(&s->checkpoint, x);
    }
    report->energy = good.energy;  // relative: who needs it evaluates it
    hk_report_residual(&good, report);
}

static hk_status descent_minimise(void *solver, double *x, hk_solve_report *report)
{
    descent *s = solver;
    report->detail[0] = '\0';
    HK_TRY(hk_view_begin(s->view, x));
    s->guarded = hk_terms_guarded(s->problem->terms);
    choose_acceleration(s);
    estimate_length(s);
    if (s->guarded) hk_terms_guide(s->view->terms, true);
    minimise(s, x, report);
    if (s->guarded) hk_terms_guide(s->view->terms, false);
    return HK_OK;
}

static void descent_remember(void *solver, hk_stream *stream)
{
    descent *s = solver;
    HK_STREAM(stream, s->estimated);
    HK_STREAM(stream, s->rules.longest);
    HK_STREAM(stream, s->rules.slowest);
    HK_STREAM(stream, s->slowest);
    HK_STREAM(stream, s->state);
    HK_STREAM(stream, s->checkpoint.blended);
    hk_stream_bytes(stream, s->vertices.floor, sizeof(double) * (size_t)s->problem->vertex_count);
}

static hk_view *descent_view(void *solver)
{
    return ((descent *)solver)->view;
}

static void descent_describe(const void *solver, char *text, size_t size)
{
    const descent *s = solver;
    const hk_settings *o = &s->settings;
    snprintf(text, size, "descent: %d iterations, tolerance %g, %s precision, acceleration %s",
             o->iterations, o->tolerance,
             hk_precisions[s->view->single ? HK_SINGLE : HK_DOUBLE_PRECISION],
             g_accelerations[(int)o->option[OPTION_ACCELERATION]]);
}

const hk_method hk_descent = {
    .name = "descent",
    .takes_rank_one = true,
    .summary = "Jacobi-preconditioned gradient descent with Chebyshev acceleration: real time",
    .iterations = 96,
    .pose_iterations = 50000,
    .tolerance = 1e-6,
    .takes_constraints = true,
    .guarded = true,
    .by_regions = true,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = descent_create,
    .free = descent_free,
    .minimise = descent_minimise,
    .view = descent_view,
    .remember = descent_remember,
    .gpu = &hk_gpu_descent,
    .describe = descent_describe,
};
