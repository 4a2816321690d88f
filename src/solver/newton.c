// Newton's method: the ground truth that other methods are measured against.
//
// Each iteration solves H d = −g with a direct factorisation and goes along d as far as ε decreases
// (Armijo's rule, halving). H is the exact Hessian where that is positive definite, which gives
// quadratic convergence at a minimum. Elsewhere it is made positive by the gentlest rung of a
// ladder that suffices: first a little mass is added, which moves the few slow modes that buckle
// and leaves the others alone, so that steps along unstable directions are long; then the negative
// eigenvalues of every tet's part are reduced, down to the full projection of Teran et al. 2005.
// The rung is found by trying: a factorisation that meets a negative pivot stops there. Trial
// states where a material is not defined (an inverted tet of a law with a barrier) have infinite
// energy and are rejected like any other.
#include <math.h>
#include <stdio.h>

#include "linear/direct.h"
#include "solver/method.h"
#include "term/assembly.h"

enum { OPTION_PROJECTION };
enum { PROJECT_AUTO, PROJECT_ALWAYS };
enum { MOST_SHIFTS = 12, PATIENCE = 3 };
#define SHORTEST_STEP 1e-9
#define LONGEST_STEP  1024

// From the exact Hessian to the projected one.
static const struct {
    double keep;  // of the tets' negative eigenvalues
    double mass;  // added, in units of the slowest rate
} g_ladder[] = {{1, 0}, {1, 1e-3}, {1, 3e-2}, {1, 1}, {0.7, 1}, {0.4, 0}, {0, 0}};
enum { EXACT = 0, PROJECTED = HK_COUNT_OF(g_ladder) - 1 };

static const char *const g_projection_words[] = {"auto", "always", NULL};
static const hk_option_info g_options[] = {
    [OPTION_PROJECTION] = {.name = "projection",
                           .help = "stiffness made positive: auto (only where needed) or always",
                           .words = g_projection_words},
};

typedef struct newton {
    hk_problem *problem;
    hk_settings settings;
    hk_assembly *assembly;
    hk_direct *direct;
    double *stiffness;                                      // [hk_tet_stiffness_size]
    double *matrix;                                         // [hk_pattern_size]
    double *diagonal;                                       // [vertex_count] inertia and shift
    double *right;                                          // [3 free_count]
    double *gradient, *trial_gradient, *direction, *trial;  // [vertex_count][4]
    int rung;                                               // of the ladder, in use
    int patience;  // iterations before a gentler one is tried again
} newton;

typedef struct point {  // what is known of a state
    double energy, residual, scale;
} point;

static void newton_free(void *solver)
{
    newton *s = solver;
    if (!s) return;
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_free(s->stiffness);
    hk_free(s->matrix);
    hk_free(s->diagonal);
    hk_free(s->right);
    hk_free(s->gradient);
    hk_free(s->trial_gradient);
    hk_free(s->direction);
    hk_free(s->trial);
    hk_free(s);
}

static hk_status allocate(newton *s)
{
    hk_problem *p = s->problem;
    size_t n = (size_t)p->vertex_count;
    HK_TRY(hk_assembly_create(p->tets, p->held, &s->assembly));
    if (p->free_count > 0) HK_TRY(hk_direct_create(&s->assembly->pattern, &s->direct));
    s->stiffness = HK_ARRAY(double, hk_tet_stiffness_size(p->tets));
    s->matrix = HK_ARRAY(double, hk_pattern_size(&s->assembly->pattern));
    s->diagonal = HK_ARRAY(double, n);
    s->right = HK_ARRAY(double, 3 * (size_t)p->free_count);
    s->gradient = HK_ZEROS(double, 4 * n);
    s->trial_gradient = HK_ZEROS(double, 4 * n);
    s->direction = HK_ZEROS(double, 4 * n);
    s->trial = HK_ZEROS(double, 4 * n);
    return s->stiffness && s->matrix && s->diagonal && s->right && s->gradient &&
                   s->trial_gradient && s->direction && s->trial
               ? HK_OK
               : HK_NO_MEMORY;
}

static hk_status newton_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    newton *s = HK_NEW(newton);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    hk_status status = allocate(s);
    if (status != HK_OK) {
        newton_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- direction

static double lap(double *since)
{
    double now = hk_now(), spent = now - *since;
    *since = now;
    return spent;
}

// Factors the Hessian at x as the rung has it, plus `shift` a vertex.
static hk_status factor(newton *s, const double *x, int rung, double shift, bool *positive,
                        double *phase_s)
{
    hk_problem *p = s->problem;
    double clock = hk_now();
    hk_tet_stiffness(p->tets, x, g_ladder[rung].keep, s->stiffness);
    phase_s[HK_PHASE_ELEMENTS] += lap(&clock);
    for (int k = 0; k < p->vertex_count; k++)
        s->diagonal[k] =
            (p->weight + g_ladder[rung].mass * p->slow_rate) * p->mass[k] + p->shift + shift;
    hk_assemble(s->assembly, s->stiffness, s->diagonal, s->matrix);
    phase_s[HK_PHASE_ASSEMBLY] += lap(&clock);
    hk_status status = hk_direct_factor(s->direct, s->matrix, positive);
    phase_s[HK_PHASE_FACTOR] += lap(&clock);
    return status;
}

static double largest_diagonal(const newton *s)
{
    const hk_pattern *pattern = &s->assembly->pattern;
    double largest = 0;
    for (int b = 0; b < pattern->count; b++)
        for (int c = 0; c < 3; c++)
            largest = fmax(largest, fabs(s->matrix[hk_pattern_column(pattern, b, c)]));
    return largest;
}

// From the current rung upwards until it is positive, and shifted if even the last is singular.
static hk_status factor_some(newton *s, const double *x, bool *positive, double *phase_s)
{
    if (s->settings.option[OPTION_PROJECTION] == PROJECT_ALWAYS) s->rung = PROJECTED;
    HK_TRY(factor(s, x, s->rung, 0, positive, phase_s));
    while (!*positive && s->rung < PROJECTED) {
        s->patience = PATIENCE;
        HK_TRY(factor(s, x, ++s->rung, 0, positive, phase_s));
    }
    double shift = 1e-10 * largest_diagonal(s);
    for (int k = 0; k < MOST_SHIFTS && !*positive && isfinite(shift); k++, shift *= 10)
        HK_TRY(factor(s, x, PROJECTED, shift, positive, phase_s));
    return HK_OK;
}

// Towards the exact Hessian again, at once where the iteration makes headway, else after a while.
static void step_down(newton *s, double length, double reduction)
{
    bool headway = length >= 1 && reduction < 0.5;
    if (s->patience > 0) s->patience--;
    if (s->rung > EXACT && (headway || s->patience == 0)) s->rung--;
}

// direction = −H⁻¹ gradient at free vertices, 0 at held ones.
static hk_status solve(newton *s, const double *gradient, double *direction, double *phase_s)
{
    const hk_assembly *a = s->assembly;
    double clock = hk_now();
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) s->right[3 * b + i] = -gradient[4 * (int64_t)a->vertex[b] + i];
    HK_TRY(hk_direct_solve(s->direct, s->right, s->right));
    memset(direction, 0, 4 * sizeof(double) * (size_t)s->problem->vertex_count);
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) direction[4 * (int64_t)a->vertex[b] + i] = s->right[3 * b + i];
    phase_s[HK_PHASE_SOLVE] += lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- step length

static point evaluate(newton *s, const double *x, double *gradient, double *phase_s)
{
    point at;
    double clock = hk_now();
    hk_problem_gradient(s->problem, x, gradient, &at.energy, &at.scale);
    at.residual = sqrt(hk_problem_dot(s->problem, gradient, gradient));
    at.scale = fmax(at.scale, s->problem->rounding / s->settings.tolerance);
    phase_s[HK_PHASE_ELEMENTS] += lap(&clock);
    return at;
}

static void set_trial(newton *s, const double *x, double length)
{
    const double *d = s->direction;
    double *to = s->trial;
    int64_t size = 4 * (int64_t)s->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < size; k++) to[k] = x[k] + length * d[k];
}

// Armijo's rule. Near a minimum the decrease drowns in the rounding of ε; there a step counts that
// reduces the gradient instead (after Hager & Zhang 2005).
static bool acceptable(const point *from, const point *to, double length, double slope,
                       double rounding)
{
    if (!isfinite(to->energy) || !isfinite(to->residual)) return false;
    if (to->energy <= from->energy + 1e-4 * length * slope) return true;
    double noise = rounding + 1e-10 * fmax(fabs(from->energy), fabs(to->energy));
    return fabs(length * slope) <= noise && to->energy <= from->energy + noise &&
           to->residual < from->residual;
}

// The next length to try: the minimum of the parabola through what is known, within bounds.
static double shorter(const point *from, const point *to, double length, double slope)
{
    double low = 0.1 * length, high = 0.5 * length;
    if (!isfinite(to->energy)) return high;
    double curvature = to->energy - from->energy - slope * length;
    double best = -slope * length * length / (2 * curvature);
    return isfinite(best) ? fmin(fmax(best, low), high) : high;
}

// A Hessian made positive gives steps that are too short along unstable directions: while the
// energy still falls steeply there, twice as far.
static double lengthen(newton *s, const double *x, point *to, double slope, double *phase_s)
{
    double length = 1;
    while (length < LONGEST_STEP) {
        double here = hk_problem_dot(s->problem, s->trial_gradient, s->direction);
        if (!(here < 0.3 * slope)) return length;
        set_trial(s, x, 2 * length);
        point next = evaluate(s, s->trial, s->trial_gradient, phase_s);
        if (!(next.energy < to->energy && isfinite(next.residual))) break;
        length *= 2;
        *to = next;
    }
    set_trial(s, x, length);
    *to = evaluate(s, s->trial, s->trial_gradient, phase_s);
    return length;
}

// On success trial and trial_gradient hold the accepted state; otherwise the length is 0.
static double search(newton *s, const double *x, const point *from, point *to, double *phase_s)
{
    double slope = hk_problem_dot(s->problem, s->gradient, s->direction), length = 1;
    if (!(slope < 0)) return 0;
    while (length > SHORTEST_STEP) {
        set_trial(s, x, length);
        *to = evaluate(s, s->trial, s->trial_gradient, phase_s);
        if (acceptable(from, to, length, slope, s->problem->energy_rounding))
            return length == 1 && s->rung > EXACT ? lengthen(s, x, to, slope, phase_s) : length;
        length = shorter(from, to, length, slope);
    }
    return 0;
}

// ---------------------------------------------------------------- the iteration

static bool tell_monitor(const newton *s, int iteration, const point *at, double length,
                         bool projected)
{
    const hk_problem *p = s->problem;
    if (!p->monitor) return true;
    hk_iteration now = {iteration, at->energy, at->residual, at->residual / at->scale,
                        length,    projected,  p->load_share};
    return p->monitor(p->monitor_context, &now);
}

static void describe_undefined(newton *s, const double *x, hk_solve_report *report)
{
    int tet = hk_tet_first_undefined(s->problem->tets, x);
    if (tet >= 0)
        snprintf(report->detail, sizeof report->detail,
                 "tet %d is inverted (or overflows) where its material is not defined", tet);
    else
        snprintf(report->detail, sizeof report->detail, "the start has no finite energy");
}

static void accept_trial(newton *s, double *x, const point *next, point *at)
{
    memcpy(x, s->trial, 4 * sizeof(double) * (size_t)s->problem->vertex_count);
    double *swap = s->gradient;
    s->gradient = s->trial_gradient;
    s->trial_gradient = swap;
    *at = *next;
}

// A last step with the factor at hand costs a solve and gains some digits.
static hk_status polish(newton *s, double *x, point *at, double *phase_s)
{
    HK_TRY(solve(s, s->gradient, s->direction, phase_s));
    set_trial(s, x, 1);
    point next = evaluate(s, s->trial, s->trial_gradient, phase_s);
    if (isfinite(next.energy) && next.residual < at->residual) accept_trial(s, x, &next, at);
    return HK_OK;
}

// One step from x; says in `reason` whether and why to end.
static hk_status iterate(newton *s, double *x, point *at, hk_solve_report *report, bool *end)
{
    bool positive;
    HK_TRY(factor_some(s, x, &positive, report->phase_s));
    if (!positive) {
        report->reason = HK_STALLED;
        snprintf(report->detail, sizeof report->detail, "the stiffness matrix is singular");
        *end = true;
        return HK_OK;
    }
    bool projected = s->rung > EXACT;
    HK_TRY(solve(s, s->gradient, s->direction, report->phase_s));
    point next;
    double length = search(s, x, at, &next, report->phase_s);
    if (length == 0) {
        // A poor direction may come from an exact Hessian that is barely positive.
        if (s->rung < PROJECTED) {
            s->rung = PROJECTED;
            s->patience = PATIENCE;
            return HK_OK;
        }
        report->reason = HK_STALLED;
        snprintf(report->detail, sizeof report->detail,
                 "no step length decreases the energy (relative residual %.1e)",
                 at->residual / at->scale);
        *end = true;
        return HK_OK;
    }
    report->iterations++;
    step_down(s, length, next.residual / at->residual);
    accept_trial(s, x, &next, at);
    if (!tell_monitor(s, report->iterations, at, length, projected)) {
        report->reason = HK_STOPPED;
        snprintf(report->detail, sizeof report->detail, "stopped on request");
        *end = true;
    }
    return HK_OK;
}

static hk_status newton_minimise(void *solver, double *x, hk_solve_report *report)
{
    newton *s = solver;
    int before = report->iterations;
    point at = evaluate(s, x, s->gradient, report->phase_s);
    report->detail[0] = '\0';
    s->rung = EXACT;
    hk_status status = HK_OK;
    bool end = false;
    // An attempt with the exact Hessian that led nowhere is no iteration, so attempts are bounded.
    for (int attempts = 0; status == HK_OK && !end; attempts++) {
        if (!isfinite(at.energy) || !isfinite(at.residual)) {
            report->reason = isfinite(at.residual) ? HK_INVERTED : HK_NOT_FINITE;
            describe_undefined(s, x, report);
            break;
        }
        if (at.residual <= s->settings.tolerance * at.scale) {
            report->reason = HK_CONVERGED;
            if (report->iterations > before) status = polish(s, x, &at, report->phase_s);
            break;
        }
        if (report->iterations - before >= s->settings.iterations ||
            attempts > 2 * s->settings.iterations) {
            report->reason = HK_ITERATION_LIMIT;
            snprintf(report->detail, sizeof report->detail,
                     "%d iterations left a relative residual of %.1e", s->settings.iterations,
                     at.residual / at.scale);
            break;
        }
        status = iterate(s, x, &at, report, &end);
    }
    report->energy = at.energy;
    report->residual = at.residual;
    report->relative_residual = at.residual / at.scale;
    return status;
}

// The tangent answer to a displacement of held vertices: H_ff d_f = −H_fc d_c. The right side is
// H d at free vertices, summed tet by tet over those that touch a displaced vertex.
static void coupling_forces(const newton *s, const double *step, double *force)
{
    const hk_tet_term *term = s->problem->tets;
    static const int first[HK_TET_PAIRS] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3};
    static const int second[HK_TET_PAIRS] = {0, 1, 2, 3, 1, 2, 3, 2, 3, 3};
    int width = term->lanes->lanes;
    for (int q = 0; q < term->batch_count; q++) {
        const hk_tet_batch *b = &term->batches[q];
        for (int k = 0; k < b->count; k++) {
            int64_t block = k / width, lane = k % width;
            const int32_t *vertex = b->vertex + block * 4 * width + lane;
            const double *values =
                s->stiffness + term->stiffness_start[q] + block * HK_TET_STIFFNESS * width + lane;
            for (int pair = 0; pair < HK_TET_PAIRS; pair++) {
                int64_t u = vertex[first[pair] * width], v = vertex[second[pair] * width];
                const double *h = values + 9 * pair * width;
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++) {
                        double entry = h[(3 * i + j) * width];
                        force[4 * u + i] += entry * step[4 * v + j];
                        if (u != v) force[4 * v + j] += entry * step[4 * u + i];
                    }
            }
        }
    }
}

static hk_status newton_follow(void *solver, const double *x, double *step)
{
    newton *s = solver;
    if (s->problem->free_count == 0) return HK_OK;
    double phase_s[HK_PHASE_COUNT] = {0};
    bool positive;
    s->rung = PROJECTED;
    HK_TRY(factor_some(s, x, &positive, phase_s));
    s->rung = EXACT;
    if (!positive) return HK_OK;
    memset(s->gradient, 0, 4 * sizeof(double) * (size_t)s->problem->vertex_count);
    coupling_forces(s, step, s->gradient);
    HK_TRY(solve(s, s->gradient, s->direction, phase_s));
    for (int64_t k = 0; k < 4 * (int64_t)s->problem->vertex_count; k++) step[k] += s->direction[k];
    return HK_OK;
}

static void newton_describe(const void *solver, char *text, size_t size)
{
    const newton *s = solver;
    snprintf(
        text, size,
        "newton: at most %d iterations, tolerance %g, projection %s; %d unknowns, %lld numbers "
        "in the factor",
        s->settings.iterations, s->settings.tolerance,
        g_projection_words[(int)s->settings.option[OPTION_PROJECTION]], 3 * s->problem->free_count,
        s->direct ? (long long)hk_direct_factor_size(s->direct) : 0LL);
}

const hk_method hk_newton = {
    .name = "newton",
    .summary = "projected Newton with line search and a direct solver: the reference",
    .iterations = 100,
    .tolerance = 1e-8,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = newton_create,
    .free = newton_free,
    .minimise = newton_minimise,
    .follow = newton_follow,
    .describe = newton_describe,
};
