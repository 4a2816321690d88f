// Vertex block descent (Chen, Liu, Yang & Yuksel 2024): vertex after vertex takes a step of
// Newton's method on ε as a function of its own position, all others at rest. A sweep over all
// vertices is an iteration; vertices of one colour, which share no element, are moved at once
// (term/vertex_blocks.h).
//
//   direction     Δx_i = −H_ii⁻¹ g_i with the exact 3×3 block of the Hessian, made positive
//                 definite where it is not
//   acceleration  after each sweep x̄: Nesterov's momentum, which needs no rate; or, as there,
//                 Chebyshev's x⁺ = ω (x̄ − x⁻) + x⁻ with ω from a rate ρ that the user gives
//
// Neither full steps nor the acceleration are sure to decrease ε. It is checked every few sweeps;
// where it rose these are undone, and the next have less acceleration. If the first ones after that
// fail as well, vertices take care: each halves its step until its own energy, that of ε but for
// what it does not touch, is less. Such a sweep without acceleration cannot raise ε.
//
// While elements are blended (term/blend.h) all vertices move at once, half as far: one after the
// other they would turn mirrored elements about one by one, each its own way, and end in knots.
#include <math.h>
#include <stdio.h>

#include "solver/checkpoint.h"
#include "solver/limit.h"
#include "solver/line_search.h"
#include "solver/manifold.h"
#include "solver/tied_vertices.h"
#include "solver/vbd.h"
#include "term/vertex_blocks.h"

enum { OPTION_ACCELERATION = HK_OPTION_AFTER_PRECISION, OPTION_RHO, OPTION_CHECK, OPTION_STEPS };

static const char *const g_accelerations[] = {"chebyshev", "nesterov", "none", NULL};
static const char *const g_steps[] = {"auto", "full", "careful", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_ACCELERATION),
    HK_PRECISION_OPTION(HK_SINGLE),
    [OPTION_ACCELERATION] = {.name = "acceleration",
                             .help = "of the sweeps; in poses nesterov stands for chebyshev",
                             .words = g_accelerations,
                             .fallback = HK_ACCELERATION_NESTEROV},
    [OPTION_RHO] = {.name = "rho",
                    .help = "rate at which sweeps converge, for the Chebyshev acceleration",
                    .maximum = 0.99999,
                    .fallback = 0.95},
    [OPTION_CHECK] = {.name = "check",
                      .help = "sweeps between two checks of the energy",
                      .minimum = 1,
                      .maximum = 1e6,
                      .fallback = 4},
    [OPTION_STEPS] = {.name = "steps",
                      .help = "of a vertex: full ones, careful ones that never raise the energy, "
                              "or auto: careful where full ones do",
                      .words = g_steps},
};

hk_vbd_rules hk_vbd_rules_of(const hk_settings *settings)
{
    const double *option = settings->option;
    return (hk_vbd_rules){.acceleration = (int)option[OPTION_ACCELERATION],
                          .check = (int)option[OPTION_CHECK],
                          .steps = (int)option[OPTION_STEPS],
                          .rho = option[OPTION_RHO]};
}

typedef struct vbd {
    hk_problem *problem;
    hk_view *view;
    hk_settings settings;
    hk_vertices vertices;
    hk_checkpoint checkpoint;
    hk_tied_vertices tied;
    uint8_t *own_held;   // [vertex_count] what sweeps leave alone: held and tied vertices
    int since_diagonal;  // sweeps
    hk_vertex_blocks *vertex_blocks;
    void *before;            // scalar[vertex_count][4] q before a sweep
    double *diagonal;        // [vertex_count][4] of the Hessian at rest, for the largest ρ,
    hk_quadratic estimated;  // found for these; NAN: not yet
    bool blended;            // some element is (term/blend.h)
    bool guarded;            // something is in the way (hk_guard_ops)
    int turns;               // times in a row that of two checks the second was undone
    hk_vbd_rules rules;
    hk_vbd_state state;
    int64_t live_version;  // of the elements of the world that the colours were seen to fit
} vbd;

static void vbd_free(void *solver)
{
    vbd *s = solver;
    if (!s) return;
    hk_vertex_blocks_free(s->vertex_blocks);
    hk_view_free(s->view);
    hk_vertices_release(&s->vertices);
    hk_tied_release(&s->tied);
    hk_free(s->own_held);
    hk_checkpoint_release(&s->checkpoint);
    hk_free(s->before);
    hk_free(s->diagonal);
    hk_free(s);
}

static hk_status allocate(vbd *s, hk_problem *p)
{
    HK_TRY(hk_view_for(p, &s->settings, &s->view));
    HK_TRY(hk_vertices_init(&s->vertices, s->view));
    HK_TRY(hk_checkpoint_init(&s->checkpoint, &s->vertices, s->settings.tolerance));
    HK_TRY(hk_tied_init(&s->tied, &s->vertices));
    s->before = hk_calloc(1, hk_vertices_bytes(&s->vertices));
    s->own_held = HK_ARRAY(uint8_t, p->vertex_count);
    s->diagonal = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!s->before || !s->diagonal || !s->own_held) return HK_NO_MEMORY;
    for (int k = 0; k < p->vertex_count; k++)
        s->own_held[k] = p->held[k] || (p->manifold && hk_manifold_ties(p->manifold, k));
    s->live_version = p->terms->live ? p->terms->live->shape_version : 0;
    return hk_vertex_blocks_create(s->view->terms, s->own_held, &s->vertex_blocks);
}

// Other colours, where elements of the world join vertices of one.
static hk_status take_live(vbd *s)
{
    const hk_problem *p = s->problem;
    const hk_live *live = p->terms->live;
    if (!live || live->shape_version == s->live_version) return HK_OK;
    bool fit = hk_colours_fit(p->model, live, s->vertex_blocks->colour_of);
    if (!fit) {
        hk_vertex_blocks *made;
        HK_TRY(hk_vertex_blocks_create(s->view->terms, s->own_held, &made));
        hk_vertex_blocks_free(s->vertex_blocks);
        s->vertex_blocks = made;
    }
    s->live_version = live->shape_version;
    return HK_OK;
}

static hk_status vbd_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    vbd *s = HK_NEW(vbd);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    s->estimated.weight = NAN;
    s->rules = hk_vbd_rules_of(settings);
    hk_status status = allocate(s, problem);
    if (status != HK_OK) {
        vbd_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- acceleration

// In poses, whose slowest modes are not known, Nesterov's stands in for Chebyshev's.
static void choose_acceleration(vbd *s)
{
    int kind = (int)s->settings.option[OPTION_ACCELERATION];
    bool pose = s->problem->weight == 0;
    s->rules.acceleration =
        kind == HK_ACCELERATION_CHEBYSHEV && pose ? HK_ACCELERATION_NESTEROV : kind;
}

static void forget_last(vbd *s)
{
    memcpy(s->vertices.last, s->vertices.q, hk_vertices_bytes(&s->vertices));
}

static void estimate_rate(vbd *s)
{
    hk_problem *p = s->problem;
    if (s->rules.acceleration != HK_ACCELERATION_CHEBYSHEV) return;
    if (hk_same_quadratic(s->estimated, hk_problem_quadratic(p))) return;
    s->estimated = hk_problem_quadratic(p);
    hk_terms_pause(p->terms, true);  // contacts are not those at rest
    hk_terms_diagonal(p->terms, p->rest, s->diagonal);
    hk_terms_pause(p->terms, false);
    double least = 1;
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *d = s->diagonal + 4 * k;
        double whole = (d[0] + d[1] + d[2]) / 3 + p->inertia[k] + p->shift;
        if (!p->held[k] && whole > 0) least = fmin(least, p->inertia[k] / whole);
    }
    s->rules.slowest = vbd_slowest(least);
}

static void accelerate(vbd *s)
{
    int kind = vbd_acceleration(&s->rules, &s->state);
    double weight = vbd_accelerate(&s->rules, &s->state);
    if (kind == HK_ACCELERATION_CHEBYSHEV)
        hk_vertices_accelerate(&s->vertices, s->before, weight);
    else if (kind == HK_ACCELERATION_NESTEROV)
        hk_vertices_extrapolate(&s->vertices, weight);
}

// ---------------------------------------------------------------- sweeps

enum { DIAGONAL_EVERY = 8 };

static void evaluate_elements(void *solver)
{
    hk_checkpoint_gradient(&((vbd *)solver)->checkpoint, NULL);
}

static double evaluate_energy(void *solver)
{
    vbd *s = solver;
    return hk_checkpoint_energy(&s->checkpoint, s->vertices.q);
}

// What is tied moves after the sweep, all at once.
static void move_tied(vbd *s, bool careful)
{
    const hk_tied_calls calls = {evaluate_elements, evaluate_energy, s};
    if (!s->tied.manifold) return;
    if (s->since_diagonal++ % DIAGONAL_EVERY == 0) {
        hk_view_diagonal(s->view, s->vertices.q, s->vertices.inverse);
        hk_vertices_invert(&s->vertices);
    }
    hk_tied_step(&s->tied, &calls, careful);
}

static void sweep(vbd *s, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    double clock = hk_now();
    hk_vertex_forces forces = {.target = s->vertices.target,
                               .force = s->vertices.force,
                               .shift = p->shift,
                               .axes = p->axes};
    bool careful = vbd_is_careful(&s->rules, &s->state);
    hk_vertex_sweep how = {.length = vbd_length(&s->state, s->blended),
                           .careful = careful && !s->blended,
                           .noise = s->view->strained,
                           .from = s->blended ? s->before : NULL,
                           .before = s->guarded ? s->before : NULL};
    memcpy(s->before, s->vertices.q, hk_vertices_bytes(&s->vertices));
    if (s->guarded) hk_terms_sweep(s->view->terms, s->before, s->vertex_blocks->colour_of);
    hk_vertex_blocks_sweep(s->vertex_blocks, &forces, &how, s->vertices.q);
    move_tied(s, careful);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    hk_tied_before(&s->tied);
    accelerate(s);
    hk_tied_after(&s->tied);
    if (s->guarded) {
        hk_terms_truncate(s->view->terms, s->vertices.q);
        hk_terms_center(s->view->terms, s->vertices.q, 0);
    }
    report->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
}

// The vertex blocks have elements of their own: they take the blend weights at every check.
static void share_blend(vbd *s)
{
    if (!s->checkpoint.blend) return;
    bool now = hk_terms_blended(s->view->terms), before = s->blended;
    s->blended = now;
    if (!now && !before) return;
    hk_terms_read_blend(s->view->terms, s->checkpoint.blend_now);
    hk_vertex_blocks_write_blend(s->vertex_blocks, s->checkpoint.blend_now);
}

static void gradient(vbd *s, double *energy, hk_solve_report *report)
{
    double clock = hk_now();
    hk_checkpoint_gradient(&s->checkpoint, energy);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
}

// ---------------------------------------------------------------- the descent loop

static bool tell(vbd *s, const hk_evaluation *now, hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    report->iterations++;
    if (!p->monitor) return true;
    double energy = p->watch_energy ? hk_checkpoint_energy(&s->checkpoint, s->vertices.q) : NAN;
    hk_iteration it = {.iteration = report->iterations,
                       .energy = energy,
                       .residual = now->residual,
                       .relative_residual = hk_relative_residual(now),
                       .step_length = 1,
                       .load = p->load_fraction};
    if (p->monitor(p->monitor_context, &it)) return true;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return false;
}

static void keep(vbd *s, const hk_evaluation *now, hk_evaluation *good)
{
    *good = *now;
    hk_checkpoint_keep(&s->checkpoint, good);
    if (vbd_keep(&s->state, false)) forget_last(s);
}

// Contacts that begin and end make full steps go in circles: a check falls, the next one rises and
// is undone, and so on. Then vertices take care, for longer every time.
static void break_circle(vbd *s)
{
    enum { MOST_TURNS = 3 };
    hk_vbd_state *state = &s->state;
    s->turns = state->since_restart <= 2 * s->rules.check ? s->turns + 1 : 0;
    if (!s->guarded || s->turns < MOST_TURNS || state->careful) return;
    state->careful = 1;
    state->patience = hk_min_int(2 * state->patience, HK_VBD_MOST_PATIENCE);
    state->streak = 0;
    s->turns = 0;
}

// Back to the last state that was kept. False: there is no more cautious way on.
static bool undo(vbd *s)
{
    break_circle(s);
    hk_checkpoint_restore(&s->checkpoint);
    if (s->guarded) hk_terms_center(s->view->terms, s->vertices.q, 0);
    forget_last(s);
    return vbd_undo(&s->rules, &s->state, s->blended);
}

// Keeps or undoes the sweeps since the last check. False: the solve is over.
static bool check(vbd *s, hk_evaluation *good, hk_solve_report *report)
{
    double elastic;
    gradient(s, &elastic, report);
    hk_evaluation now = hk_checkpoint_measure(&s->checkpoint, elastic);
    bool unclear, fell = hk_checkpoint_fell(&s->checkpoint, good, &now, &unclear);
    if (fell) keep(s, &now, good);
    if ((!fell && !undo(s)) || hk_checkpoint_wanders(&s->checkpoint)) {
        if (fell && hk_checkpoint_over(&s->checkpoint, good, report)) return false;
        hk_report_no_decrease(s->view, good, s->settings.tolerance,
                              "sweeps do not decrease the energy any more", report);
        return false;
    }
    share_blend(s);
    return !fell || !hk_checkpoint_over(&s->checkpoint, good, report);
}

static void descend(vbd *s, hk_evaluation *good, hk_solve_report *report)
{
    const hk_settings *o = &s->settings;
    int budget = hk_problem_budget(s->problem, o->iterations, o->pose_iterations);
    for (int k = 0;; k++) {
        bool due = k > 0 && (k % s->rules.check == 0 || k == budget || s->blended);
        if (due && !check(s, good, report)) return;
        if (k == budget) break;
        sweep(s, report);
        if (!tell(s, good, report)) return;
    }
    report->reason = HK_ITERATION_LIMIT;
    snprintf(report->detail, sizeof report->detail, "%d sweeps left a relative residual of %.1e",
             budget, hk_relative_residual(good));
}

// From x, which is a good state.
static void minimise(vbd *s, double *x, hk_solve_report *report)
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
        s->turns = 0;
        s->since_diagonal = 0;
        vbd_begin(&s->state);
        share_blend(s);
        forget_last(s);
        descend(s, &good, report);
        hk_checkpoint_store(&s->checkpoint, x);
    }
    report->energy = good.energy;  // relative: who needs it evaluates it
    hk_report_residual(&good, report);
}

static hk_status vbd_minimise(void *solver, double *x, hk_solve_report *report)
{
    vbd *s = solver;
    report->detail[0] = '\0';
    HK_TRY(take_live(s));
    HK_TRY(hk_view_begin(s->view, x));
    s->guarded = hk_terms_guarded(s->problem->terms);
    choose_acceleration(s);
    estimate_rate(s);
    if (s->guarded) hk_terms_guide(s->view->terms, true);
    minimise(s, x, report);
    if (s->guarded) hk_terms_guide(s->view->terms, false);
    return HK_OK;
}

static void vbd_remember(void *solver, hk_stream *stream)
{
    vbd *s = solver;
    HK_STREAM(stream, s->estimated);
    HK_STREAM(stream, s->rules.slowest);
    HK_STREAM(stream, s->state);
    HK_STREAM(stream, s->turns);
    HK_STREAM(stream, s->blended);
    HK_STREAM(stream, s->checkpoint.blended);
}

static hk_view *vbd_view(void *solver)
{
    return ((vbd *)solver)->view;
}

static void vbd_describe(const void *solver, char *text, size_t size)
{
    const vbd *s = solver;
    const double *option = s->settings.option;
    snprintf(text, size,
             "vbd: %d sweeps over %d colours, tolerance %g, %s precision, acceleration %s",
             s->settings.iterations, s->vertex_blocks->colours.colour_count, s->settings.tolerance,
             hk_precisions[s->view->single ? HK_SINGLE : HK_DOUBLE_PRECISION],
             g_accelerations[(int)option[OPTION_ACCELERATION]]);
}

const hk_method hk_vbd = {
    .name = "vbd",
    .summary = "vertex block descent: Newton's method vertex by vertex, with acceleration",
    .iterations = 24,
    .pose_iterations = 20000,
    .tolerance = 1e-6,
    .takes_constraints = true,
    .guarded = true,
    .by_regions = true,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = vbd_create,
    .free = vbd_free,
    .minimise = vbd_minimise,
    .view = vbd_view,
    .remember = vbd_remember,
    .gpu = &hk_gpu_vbd,
    .describe = vbd_describe,
};
