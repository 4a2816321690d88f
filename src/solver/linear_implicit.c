// One linear step of backward Euler, for bodies that are crushed flat (Extreme): the equation of
// motion is expanded at the state before the step and solved for the displacement (linear_step.h)
// with a Krylov method that does not need the stiffness to be positive definite. So no law has to
// be made invertible; stvk with a volume penalty is defined everywhere.
//
// Where elements are deformed much in a step the linear answer throws vertices about. The
// nonlinearity correction (Extreme section 3.2, algorithm algUNC) compares it with what it leaves
// out, e = F(x + Δ) − F(x) − KΔ, and shortens the displacement of every vertex j by a factor λ_j
// until
//
//   λ ‖b_j + λ e_j‖ ≤ (‖b_j‖² + (tr A_jj V T)²)^½        (eq. 32 and 26)
//
// so that vertices do not move faster than V by error. That takes e to shrink with the square of
// λ_j, as if the neighbours were shortened like vertex j (the document's Assumption 1). They are
// not, and some vertices still dart about; so the left-hand side is evaluated again at the
// shortened displacement, as ‖(AΔ)_j + e_j‖, until no vertex has to be shortened any more, or
// correction_passes are over. It is one linear solve: the residual of the nonlinear step is what it
// is, and reported.
#include <math.h>
#include <stdio.h>

#include "solver/line_search.h"
#include "solver/linear_step.h"

enum {
    OPTION_LINEAR,
    OPTION_VELOCITY,
    OPTION_CORRECTIONS,
    OPTION_ALPHA,
    OPTION_BETA,
    OPTION_BUDGET,
    OPTION_ACCURACY,
    OPTION_PRECONDITIONER,
    OPTION_PASSES
};
enum { LINEAR_QMR, LINEAR_BICGSTAB, LINEAR_CG, LINEAR_MINRES, LINEAR_DIRECT };

static const char *const g_linear_words[] = {"qmr", "bicgstab", "cg", "minres", "direct", NULL};
static const char *const g_preconditioner_words[] = {"none", "jacobi", NULL};
static const hk_option_info g_options[] = {
    [OPTION_LINEAR] = {.name = "linear",
                       .help = "how the linear system is solved, which may be indefinite: qmr and "
                               "minres do not mind, cg and bicgstab are there to compare, direct "
                               "is LU",
                       .words = g_linear_words},
    [OPTION_VELOCITY] = {.name = "correction_velocity",
                         .help = "m/s, that a vertex may have whatever the linear step leaves out "
                                 "(V of the nonlinearity correction); 0: no correction",
                         .maximum = 1e9,
                         .fallback = 0.1},
    [OPTION_CORRECTIONS] = {.name = "correction_passes",
                            .help = "evaluations after which the correction looks whether vertices "
                                    "are still too fast, and shortens their ways again; 0: it does "
                                    "not look (as in the document)",
                            .maximum = 100,
                            .fallback = 5},
    [OPTION_ALPHA] = {.name = "alpha",
                      .help = "1/s, damping in proportion to mass",
                      .maximum = 1e9,
                      .fallback = 0},
    [OPTION_BETA] = {.name = "beta",
                     .help = "s, damping in proportion to the exact stiffness",
                     .maximum = 1e9,
                     .fallback = 0},
    [OPTION_BUDGET] = {.name = "budget",
                       .help = "s of the clock for a step: as many iterations as fit, at most as "
                               "many as are allowed; 0: no limit. Results then differ from run to "
                               "run",
                       .maximum = 1e9,
                       .fallback = 0},
    [OPTION_ACCURACY] = {.name = "accuracy",
                         .help = "residual of the linear system, relative to its right-hand side, "
                                 "at which iterations end early",
                         .maximum = 1,
                         .fallback = 1e-6},
    [OPTION_PRECONDITIONER] = {.name = "preconditioner",
                               .help = "of iterations: none, or jacobi (inverse blocks of the "
                                       "diagonal)",
                               .words = g_preconditioner_words},
    [OPTION_PASSES] = {.name = "contact_passes",
                       .help = "solves after which vertices that end inside obstacles by "
                               "spring_damper are found anew, so that a body follows what moves "
                               "away from it; 0: those that begin inside (as in the document)",
                       .maximum = 100,
                       .fallback = 0},
};

typedef struct linear_implicit {
    hk_problem *problem;
    hk_view *view;
    hk_settings settings;
    hk_linear_step step;
    double *before;            // [vertex_count][4] m, x at the beginning
    double *delta;             // [vertex_count][4] m
    double *force;             // [vertex_count][4] N, b
    double *gradient, *after;  // [vertex_count][4] N, ∇ε before and after
    double *product, *beyond;  // [vertex_count][4] N, AΔ, and its part that is not of ε
    double *ahead;             // [vertex_count][4] m, where the last solve but one led to
    double *lambda;            // [vertex_count] by which displacements are shortened
    bool looked;               // contacts are those of `ahead`
    double correcting_s;       // s, the correction of the last step
} linear_implicit;

// ---------------------------------------------------------------- creation

static void linear_implicit_free(void *solver)
{
    linear_implicit *s = solver;
    if (!s) return;
    hk_linear_step_release(&s->step);
    hk_view_free(s->view);
    double *const vectors[] = {s->before, s->delta,   s->force,  s->gradient,
                               s->after,  s->product, s->beyond, s->ahead};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) hk_free(vectors[k]);
    hk_free(s->lambda);
    hk_free(s);
}

static hk_linear_step_def step_def(const hk_settings *settings)
{
    static const hk_krylov_method methods[] = {[LINEAR_QMR] = HK_KRYLOV_QMR,
                                               [LINEAR_BICGSTAB] = HK_KRYLOV_BICGSTAB,
                                               [LINEAR_CG] = HK_KRYLOV_CG,
                                               [LINEAR_MINRES] = HK_KRYLOV_MINRES,
                                               [LINEAR_DIRECT] = HK_KRYLOV_QMR};
    const double *option = settings->option;
    int linear = (int)option[OPTION_LINEAR];
    return (hk_linear_step_def){.krylov = methods[linear],
                                .direct = linear == LINEAR_DIRECT,
                                .preconditioned = option[OPTION_PRECONDITIONER] != 0,
                                .alpha = option[OPTION_ALPHA],
                                .beta = option[OPTION_BETA]};
}

static hk_status allocate(linear_implicit *s)
{
    size_t size = 4 * (size_t)s->problem->vertex_count;
    hk_linear_step_def def = step_def(&s->settings);
    HK_TRY(hk_view_create(s->problem, HK_DOUBLE_PRECISION, &s->view));
    double **const vectors[] = {&s->before, &s->delta,   &s->force,  &s->gradient,
                                &s->after,  &s->product, &s->beyond, &s->ahead};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) {
        *vectors[k] = HK_ZEROS(double, size);
        if (!*vectors[k]) return HK_NO_MEMORY;
    }
    s->lambda = HK_ARRAY(double, (size_t)s->problem->vertex_count);
    if (!s->lambda) return HK_NO_MEMORY;
    return hk_linear_step_init(s->problem, &def, &s->step);
}

static hk_status linear_implicit_create(hk_problem *problem, const hk_settings *settings,
                                        void **solver)
{
    const double *option = settings->option;
    if (option[OPTION_BUDGET] > 0 && (int)option[OPTION_LINEAR] == LINEAR_DIRECT)
        return hk_fail(HK_BAD_INPUT,
                       "linear_implicit: \"linear\": \"direct\" has no iterations that "
                       "a \"budget\" could end: take qmr, or leave the budget out");
    linear_implicit *s = HK_NEW(linear_implicit);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    hk_status status = allocate(s);
    if (status != HK_OK) {
        linear_implicit_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the linear step (algU)

// Δ from which iterations begin: T v, as in the document; that of held vertices is what it is.
static void begin_delta(linear_implicit *s, const hk_time_step *motion, const double *v, double *x)
{
    const hk_problem *p = s->problem;
    memcpy(s->before, x, 4 * sizeof(double) * (size_t)p->vertex_count);
    motion->place(motion->context, 1, x);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        s->delta[k] = p->held[k / 4] ? x[k] - s->before[k] : motion->step * v[k];
    hk_problem_mask(p, s->delta);
}

// Solves again with what touches at the end of the last solve in place of what did before.
static hk_status look_again(linear_implicit *s, const hk_krylov_limits *limits,
                            hk_krylov_report *solved, hk_solve_report *report)
{
    int64_t size = 4 * (int64_t)s->problem->vertex_count;
    for (int n = 0; n < (int)s->settings.option[OPTION_PASSES]; n++) {
        hk_krylov_report again;
        for (int64_t k = 0; k < size; k++) {
            s->ahead[k] = s->before[k] + s->delta[k];
            s->force[k] = -s->gradient[k];
        }
        s->looked = true;
        hk_linear_step_touch(&s->step, s->before, s->ahead, s->force);
        HK_TRY(hk_linear_step_solve(&s->step, s->before, s->force, limits, s->delta, &again,
                                    report->phase_s));
        again.iterations += solved->iterations;
        *solved = again;
    }
    return HK_OK;
}

static hk_status take_linear_step(linear_implicit *s, const hk_time_step *motion, double start,
                                  hk_krylov_report *solved, hk_solve_report *report)
{
    const double *option = s->settings.option;
    double clock = hk_now();
    s->looked = false;
    hk_problem_gradient(s->problem, s->before, s->gradient, NULL, NULL);
    for (int64_t k = 0; k < 4 * (int64_t)s->problem->vertex_count; k++)
        s->force[k] = -s->gradient[k];
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    HK_TRY(hk_linear_step_set(&s->step, motion->step, s->before, s->force, report->phase_s));
    double until = start + option[OPTION_BUDGET] - s->correcting_s;
    hk_krylov_limits limits = {.tolerance = option[OPTION_ACCURACY],
                               .iterations = s->settings.iterations,
                               .until = option[OPTION_BUDGET] > 0 ? until : 0};
    HK_TRY(hk_linear_step_solve(&s->step, s->before, s->force, &limits, s->delta, solved,
                                report->phase_s));
    return look_again(s, &limits, solved, report);
}

static void move(const linear_implicit *s, double *x)
{
    for (int64_t k = 0; k < 4 * (int64_t)s->problem->vertex_count; k++)
        x[k] = s->before[k] + s->delta[k];
}

// ---------------------------------------------------------------- the correction (algUNC)

// λ of one vertex, by which its displacement is shortened: λ² ‖b + λe‖² ≤ most.
static double shorten(const double b[3], const double e[3], double most)
{
    double bb = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
    double be = b[0] * e[0] + b[1] * e[1] + b[2] * e[2];
    double ee = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
    double lambda = 1;
    if (!isfinite(ee)) return 0;
    while (lambda * lambda * (bb + lambda * (2 * be + lambda * ee)) > most) lambda *= 0.9;
    return lambda;
}

// Shortens Δ, of which x is the end, where b and what is left out are too much together; b is
// `force` at first, and then AΔ, which has been shortened with Δ. Returns the least λ of this time.
static double shorten_all(linear_implicit *s, bool first, double *x)
{
    hk_problem *p = s->problem;
    const double *b = first ? s->force : s->product;
    double least = 1, step = s->step.h * s->settings.option[OPTION_VELOCITY];
    hk_problem_gradient(p, x, s->after, NULL, NULL);
    hk_linear_step_product(&s->step, s->delta, s->product);
    hk_linear_step_beyond_energy(&s->step, s->delta, s->product, s->beyond);
#pragma omp parallel for schedule(static) num_threads(p->threads) reduction(min : least)
    for (int k = 0; k < p->vertex_count; k++) {
        double e[3], most = 0;
        int64_t at = 4 * (int64_t)k;
        if (p->held[k]) continue;
        for (int64_t i = 0; i < 3; i++) {
            e[i] =
                s->after[at + i] - s->gradient[at + i] - (s->product[at + i] - s->beyond[at + i]);
            most += s->force[at + i] * s->force[at + i];
        }
        double allowed = step * hk_linear_step_trace(&s->step, k);
        double lambda = shorten(b + at, e, most + allowed * allowed);
        for (int64_t i = 0; i < 3; i++) s->delta[at + i] *= lambda;
        s->lambda[k] *= lambda;
        least = fmin(least, lambda);
    }
    if (least < 1) move(s, x);
    return least;
}

// Shortens Δ; returns the least λ. Passes end with the budget, too.
static double correct(linear_implicit *s, double start, double *x)
{
    const double *option = s->settings.option;
    int vertices = s->problem->vertex_count, passes = (int)option[OPTION_CORRECTIONS];
    double least = 1;
    for (int k = 0; k < vertices; k++) s->lambda[k] = 1;
    for (int n = 0; n <= passes; n++) {
        if (n > 0 && option[OPTION_BUDGET] > 0 && hk_now() > start + option[OPTION_BUDGET]) break;
        if (!(shorten_all(s, n == 0, x) < 1)) break;
    }
    for (int k = 0; k < vertices; k++) least = fmin(least, s->lambda[k]);
    return least;
}

// ---------------------------------------------------------------- what is left

static void subtract_force(void *context, const hk_vertex_force *f)
{
    const linear_implicit *s = context;
    int64_t at = 4 * (int64_t)f->vertex;
    for (int i = 0; i < 3; i++) {
        double force = f->force[i];
        for (int j = 0; j < 3; j++)
            force += f->by_velocity[3 * i + j] * s->delta[at + j] / s->step.h;
        s->after[at + i] -= force;
    }
}

// The residual of the step that is not linear: inertia, Rayleigh's damping with the stiffness
// before it, and all forces where the step ends.
static void measure(linear_implicit *s, const double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    double scale;
    hk_problem_gradient(p, x, s->after, &report->energy, &scale);
    hk_linear_step_product(&s->step, s->delta, s->product);
    hk_linear_step_beyond_energy(&s->step, s->delta, s->product, s->beyond);
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *t = s->step.touching + 9 * k, *d = s->delta + 4 * k;
        for (int64_t i = 0; i < 3; i++) {
            double touched = t[3 * i] * d[0] + t[3 * i + 1] * d[1] + t[3 * i + 2] * d[2];
            s->after[4 * k + i] += p->held[k] ? 0 : s->beyond[4 * k + i] - touched;
        }
    }
    hk_terms_visit_forces(p->terms, x, NULL, subtract_force, s);
    hk_problem_mask(p, s->after);
    report->residual = sqrt(hk_problem_dot(p, s->after, s->after));
    report->relative_residual = rule_relative(report->residual, scale);
    report->rounding = NAN;
}

static bool is_finite(const hk_problem *p, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) sum += 0 * x[k];
    return sum == 0;
}

static void describe_end(linear_implicit *s, const double *x, const hk_krylov_report *solved,
                         double least, hk_solve_report *report)
{
    char correction[48] = "";
    report->iterations += solved->iterations;
    report->linear_iterations += solved->iterations;
    if (solved->reason == HK_KRYLOV_NOT_FINITE || !is_finite(s->problem, x)) {
        report->reason = HK_NOT_FINITE;
        snprintf(report->detail, sizeof report->detail, "the linear system is not finite");
        return;
    }
    measure(s, x, report);
    report->reason = HK_CONVERGED;
    if (report->relative_residual <= s->settings.tolerance) return;
    report->reason = HK_FIXED_WORK;
    if (least < 1) snprintf(correction, sizeof correction, ", shortened to %.2g at least", least);
    snprintf(report->detail, sizeof report->detail,
             "linear system: %s after %d iterations, residual %.1e%s; nonlinear residual %.1e",
             hk_krylov_reason_name(solved->reason), solved->iterations, solved->relative,
             correction, report->relative_residual);
}

static void tell(const linear_implicit *s, hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    if (!p->monitor) return;
    hk_iteration told = {.iteration = report->iterations,
                         .energy = report->energy,
                         .residual = report->residual,
                         .relative_residual = report->relative_residual,
                         .step_length = 1,
                         .load = p->load_fraction,
                         .linear_iterations = report->linear_iterations};
    if (p->monitor(p->monitor_context, &told)) return;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
}

static hk_status linear_implicit_integrate(void *solver, const hk_time_step *motion, double *x,
                                           double *v, hk_solve_report *report)
{
    linear_implicit *s = solver;
    hk_problem *p = s->problem;
    hk_krylov_report solved = {0};
    double start = hk_now(), least = 1;
    begin_delta(s, motion, v, x);
    HK_TRY(hk_view_center(s->view, s->before));
    HK_TRY(take_linear_step(s, motion, start, &solved, report));
    move(s, x);
    double clock = hk_now();
    if (s->settings.option[OPTION_VELOCITY] > 0 && is_finite(p, x)) least = correct(s, start, x);
    describe_end(s, x, &solved, least, report);
    s->correcting_s = hk_now() - clock;
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) v[k] = s->delta[k] / motion->step;
    tell(s, report);
    return HK_OK;
}

static hk_linear_step *linear_implicit_step(void *solver, const double **from, const double **delta,
                                            const double **ahead)
{
    linear_implicit *s = solver;
    *from = s->before;
    *delta = s->delta;
    *ahead = s->looked ? s->ahead : NULL;
    return &s->step;
}

static hk_view *linear_implicit_view(void *solver)
{
    return ((linear_implicit *)solver)->view;
}

static void linear_implicit_describe(const void *solver, char *text, size_t size)
{
    const linear_implicit *s = solver;
    const double *option = s->settings.option;
    char budget[48] = "", correction[48] = "no correction";
    if (option[OPTION_BUDGET] > 0)
        snprintf(budget, sizeof budget, ", %g ms of the clock", 1e3 * option[OPTION_BUDGET]);
    if (option[OPTION_VELOCITY] > 0)
        snprintf(correction, sizeof correction, "corrected beyond %g m/s", option[OPTION_VELOCITY]);
    snprintf(text, size, "linear_implicit: %s, at most %d iterations%s, %s; %d unknowns",
             g_linear_words[(int)option[OPTION_LINEAR]], s->settings.iterations, budget, correction,
             3 * s->problem->free_count);
}

const hk_method hk_linear_implicit = {
    .name = "linear_implicit",
    .summary = "one linear step by QMR, corrected where it errs: for bodies crushed flat; no poses",
    .iterations = 100,
    .tolerance = 1e-6,
    .takes_forces = true,
    .takes_quadratic = true,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = linear_implicit_create,
    .free = linear_implicit_free,
    .integrate = linear_implicit_integrate,
    .linear_step = linear_implicit_step,
    .view = linear_implicit_view,
    .describe = linear_implicit_describe,
};
