// Newton's method: the ground truth that other methods are measured against.
//
// Each iteration solves H d = −g with a direct factorisation and goes along d as far as ε decreases
// (Armijo's rule, halving). H is the exact Hessian where that is positive definite, which gives
// quadratic convergence at a minimum. Elsewhere it is made positive by the gentlest rung of a
// ladder that suffices: first a little mass is added, which moves the few slow modes that buckle
// and leaves the others alone, so that steps along unstable directions are long; then the negative
// eigenvalues of every element's part are reduced, down to the full projection of Teran et
// al. 2005. The rung is found by trying: a factorisation that meets a negative pivot stops there.
// Trial states where a material is not defined (an inverted tet of a law with a barrier) have
// infinite energy and are rejected like any other.
#include <math.h>
#include <stdio.h>

#include "linear/direct.h"
#include "solver/line_search.h"
#include "term/assembly.h"

enum { OPTION_PROJECTION = HK_OPTION_AFTER_START };
enum { PROJECT_AUTO, PROJECT_ALWAYS };
enum { MOST_SHIFTS = 12, PATIENCE = 3, ROUNDING_PATIENCE = 2 };
#define LONGEST_STEP 1024

// From the exact Hessian to the projected one.
static const struct {
    double keep;  // of the elements' negative eigenvalues
    double mass;  // added, in units of the slowest rate
} g_ladder[] = {{1, 0}, {1, 1e-3}, {1, 3e-2}, {1, 1}, {0.7, 1}, {0.4, 0}, {0, 0}};
enum { EXACT = 0, PROJECTED = HK_COUNT_OF(g_ladder) - 1 };

static const char *const g_projection_words[] = {"auto", "always", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    [OPTION_PROJECTION] = {.name = "projection",
                           .help = "stiffness made positive: auto (only where needed) or always",
                           .words = g_projection_words},
};

typedef struct newton {
    hk_line_search search;
    hk_assembly *assembly;
    hk_direct *direct;
    double *blocks;        // [hk_terms_block_size]
    double *matrix;        // [hk_pattern_size]
    double *diagonal;      // [vertex_count] inertia and shift
    double *right;         // [3 free_count]
    int rung;              // of the ladder, in use
    int patience;          // iterations before a gentler one is tried again
    int64_t live_version;  // of the elements of the world that the pattern was seen to have
} newton;

static void newton_free(void *solver)
{
    newton *s = solver;
    if (!s) return;
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_free(s->blocks);
    hk_free(s->matrix);
    hk_free(s->diagonal);
    hk_free(s->right);
    hk_search_release(&s->search);
    hk_free(s);
}

static hk_status create_matrix(newton *s, hk_problem *p)
{
    HK_TRY(hk_assembly_create(p->terms, p->held, &s->assembly));
    if (p->free_count > 0) HK_TRY(hk_direct_create(&s->assembly->pattern, &s->direct));
    s->matrix = HK_ARRAY(double, hk_pattern_size(&s->assembly->pattern));
    s->live_version = p->terms->live ? p->terms->live->shape_version : 0;
    return s->matrix ? HK_OK : HK_NO_MEMORY;
}

static hk_status allocate(newton *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_search_init(&s->search, p, settings));
    s->search.patience = ROUNDING_PATIENCE;
    HK_TRY(create_matrix(s, p));
    s->blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    s->diagonal = HK_ARRAY(double, p->vertex_count);
    s->right = HK_ARRAY(double, 3 * (size_t)p->free_count);
    return s->blocks && s->diagonal && s->right ? HK_OK : HK_NO_MEMORY;
}

// A new pattern, where elements of the world join what no element joined before.
static hk_status take_live(newton *s)
{
    hk_problem *p = s->search.problem;
    const hk_live *live = p->terms->live;
    if (!live || live->shape_version == s->live_version) return HK_OK;
    s->live_version = live->shape_version;
    if (hk_assembly_has_live(s->assembly, p->terms)) return HK_OK;
    newton made = {0};
    hk_status status = create_matrix(&made, p);
    newton *old = status == HK_OK ? s : &made;
    hk_direct *direct = old->direct;
    hk_assembly *assembly = old->assembly;
    double *matrix = old->matrix;
    if (status == HK_OK) {
        s->direct = made.direct;
        s->assembly = made.assembly;
        s->matrix = made.matrix;
    } else {
        s->live_version = -1;  // once more, next time
    }
    hk_direct_free(direct);
    hk_assembly_free(assembly);
    hk_free(matrix);
    return status;
}

static hk_status newton_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    newton *s = HK_NEW(newton);
    if (!s) return HK_NO_MEMORY;
    hk_status status = allocate(s, problem, settings);
    if (status != HK_OK) {
        newton_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- direction

// Factors the Hessian at x as the rung has it, plus `shift` a vertex.
static hk_status factor(newton *s, const double *x, int rung, double shift, bool *positive,
                        double *phase_s)
{
    hk_problem *p = s->search.problem;
    double clock = hk_now();
    hk_problem_blocks(p, x, g_ladder[rung].keep, s->blocks);
    phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    for (int k = 0; k < p->vertex_count; k++)
        s->diagonal[k] =
            p->inertia[k] + g_ladder[rung].mass * p->slow_rate * p->mass[k] + p->shift + shift;
    hk_assemble(s->assembly, s->blocks, s->diagonal, s->matrix);
    hk_assemble_live(s->assembly, p->terms, x, g_ladder[rung].keep, s->matrix);
    phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    hk_status status = hk_direct_factor(s->direct, s->matrix, positive);
    phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
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
    if (s->search.settings.option[OPTION_PROJECTION] == PROJECT_ALWAYS) s->rung = PROJECTED;
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
    memset(direction, 0, 4 * sizeof(double) * (size_t)s->search.problem->vertex_count);
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) direction[4 * (int64_t)a->vertex[b] + i] = s->right[3 * b + i];
    phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- the iteration

// A last step with the factor at hand costs a solve and gains some digits.
static hk_status polish(newton *s, double *x)
{
    hk_line_search *ls = &s->search;
    HK_TRY(solve(s, ls->gradient, ls->direction, ls->phase_s));
    hk_search_try(ls, x, 1);
    double noise = ls->view->energy_rounding + 1e-12 * fabs(ls->at.energy);
    if (ls->next.energy <= ls->at.energy + noise && ls->next.residual < ls->at.residual)
        hk_search_accept(ls, x);
    return HK_OK;
}

// One step from x; `end` says whether the solve is over.
static hk_status iterate(newton *s, double *x, hk_solve_report *report, bool *end)
{
    hk_line_search *ls = &s->search;
    bool positive;
    HK_TRY(factor_some(s, x, &positive, ls->phase_s));
    if (!positive) {
        report->reason = HK_STALLED;
        snprintf(report->detail, sizeof report->detail, "the stiffness matrix is singular");
        *end = true;
        return HK_OK;
    }
    bool projected = s->rung > EXACT;
    HK_TRY(solve(s, ls->gradient, ls->direction, ls->phase_s));
    // A Hessian made positive gives steps that are too short along unstable directions.
    double length = hk_search_length(ls, x, true, 1, projected ? LONGEST_STEP : 1);
    if (length == 0 && s->rung < PROJECTED) {
        // The direction may come from an exact Hessian that is barely positive.
        s->rung = PROJECTED;
        s->patience = PATIENCE;
        return HK_OK;
    }
    if (length == 0) {
        hk_search_stalled(ls, report);
        *end = true;
        return HK_OK;
    }
    step_down(s, length, ls->next.residual / ls->at.residual);
    hk_search_accept(ls, x);
    *end = hk_search_count(ls, length, projected, report);
    return HK_OK;
}

static hk_status newton_minimise(void *solver, double *x, hk_solve_report *report)
{
    newton *s = solver;
    hk_line_search *ls = &s->search;
    int before = report->iterations;
    s->rung = EXACT;
    HK_TRY(take_live(s));
    HK_TRY(hk_search_begin(ls, x, report));
    bool end = false;
    // An attempt that led nowhere is no iteration; there is at most one between two iterations.
    while (!end && !hk_search_over(ls, x, report->iterations - before, report))
        HK_TRY(iterate(s, x, report, &end));
    if (report->reason == HK_CONVERGED && report->iterations > before) HK_TRY(polish(s, x));
    hk_search_end(ls, report);
    return HK_OK;
}

// force += block × step, for a pair of vertices.
typedef struct live_product {
    const double *step;
    double *force;
} live_product;

static void add_live_product(void *context, int32_t a, int32_t b, const double block[9])
{
    const live_product *l = context;
    int64_t u = 4 * (int64_t)a, v = 4 * (int64_t)b;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            l->force[u + i] += block[3 * i + j] * l->step[v + j];
            if (a != b) l->force[v + j] += block[3 * i + j] * l->step[u + i];
        }
}

// The tangent answer to a displacement of held vertices: H_ff d_f = −H_fc d_c. The right side is
// H d at free vertices.
static hk_status newton_follow(void *solver, const double *x, double *step)
{
    newton *s = solver;
    if (s->search.problem->free_count == 0) return HK_OK;
    double phase_s[HK_PHASE_COUNT] = {0};
    bool positive;
    HK_TRY(take_live(s));
    s->rung = PROJECTED;
    HK_TRY(factor_some(s, x, &positive, phase_s));
    s->rung = EXACT;
    if (!positive) return HK_OK;
    const hk_problem *p = s->search.problem;
    memset(s->search.gradient, 0, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_terms_add_product(p->terms, s->blocks, step, s->search.gradient);
    live_product live = {step, s->search.gradient};
    hk_terms_visit_blocks(p->terms, x, 0, add_live_product, &live);
    HK_TRY(solve(s, s->search.gradient, s->search.direction, phase_s));
    for (int64_t k = 0; k < 4 * (int64_t)s->search.problem->vertex_count; k++)
        step[k] += s->search.direction[k];
    return HK_OK;
}

static hk_view *newton_view(void *solver)
{
    return ((newton *)solver)->search.view;
}

static void newton_describe(const void *solver, char *text, size_t size)
{
    const newton *s = solver;
    snprintf(
        text, size,
        "newton: at most %d iterations, tolerance %g, projection %s; %d unknowns, %lld numbers "
        "in the factor",
        s->search.settings.iterations, s->search.settings.tolerance,
        g_projection_words[(int)s->search.settings.option[OPTION_PROJECTION]],
        3 * s->search.problem->free_count,
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
    .view = newton_view,
    .describe = newton_describe,
};
