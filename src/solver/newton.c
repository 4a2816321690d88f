// Newton's method: the ground truth that other methods are measured against.
//
// Each iteration solves H d = −g and goes along d as far as ε decreases (Armijo's rule, halving). H
// is the exact Hessian where that is positive definite, which gives quadratic convergence at a
// minimum. Elsewhere it is made positive by the gentlest rung of a ladder that suffices: first a
// little mass is added, which moves the few slow modes that buckle and leaves the others alone, so
// that steps along unstable directions are long; then the negative eigenvalues of every element's
// part are reduced, down to the full projection of Teran et al. 2005. The rung is found by trying:
// a factorisation that meets a negative pivot, or conjugate gradients that meet a direction of
// negative curvature, stop there. Trial states where a material is not defined (an inverted tet of
// a law with a barrier) have infinite energy and are rejected like any other.
//
// Small systems are solved by a direct factorisation, larger ones by conjugate gradients with
// multigrid (newton_matrix.h), no more exactly than the iteration deserves.
#include <math.h>
#include <stdio.h>

#include "model/partition.h"
#include "solver/line_search.h"
#include "solver/manifold.h"
#include "solver/newton_matrix.h"

enum { OPTION_PROJECTION = HK_OPTION_AFTER_START, OPTION_LINEAR };
enum { LINEAR_AUTO, LINEAR_DIRECT, LINEAR_MULTIGRID };
enum { PROJECT_AUTO, PROJECT_ALWAYS };
enum { MOST_SHIFTS = 12, PATIENCE = 3, ROUNDING_PATIENCE = 2 };
#define LONGEST_STEP 1024
// The part of a direction that has to be free, and directions that are tried where it is not.
#define BLOCKED 0.5
enum { MOST_LOOKS = 4 };
// Free vertices from which multigrid is usually faster than a factorisation. Where it takes more
// than so many iterations for one system, a factorisation is the better choice after all, as long
// as there is room for it.
enum { SMALLEST_FOR_MULTIGRID = 2000, TOO_MANY_ITERATIONS = 150, MOST_FOR_DIRECT = 60000 };
// Conjugate gradients go to these relative residuals: at first, at last, and for a start.
#define COARSE_FORCING 0.3
#define FINE_FORCING   1e-3
#define FOLLOWING      1e-3
#define ENOUGH         0.3  // of the tolerance

// From the exact Hessian to the projected one.
static const struct {
    double keep;   // of the elements' negative eigenvalues
    double loose;  // of those of contacts
    double mass;   // added, in units of the slowest rate
} g_ladder[] = {{1, 1, 0}, {1, 0, 0},   {1, 0, 1e-3}, {1, 0, 3e-2},
                {1, 0, 1}, {0.7, 0, 1}, {0.4, 0, 0},  {0, 0, 0}};
enum { EXACT = 0, WITHOUT_CONTACTS = 1, PROJECTED = HK_COUNT_OF(g_ladder) - 1 };

static const char *const g_projection_words[] = {"auto", "always", NULL};
static const char *const g_linear_words[] = {"auto", "direct", "multigrid", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    [OPTION_PROJECTION] = {.name = "projection",
                           .help = "stiffness made positive: auto (only where needed) or always",
                           .words = g_projection_words},
    [OPTION_LINEAR] = {.name = "linear",
                       .help = "how its systems are solved: direct (a factorisation), multigrid "
                               "(conjugate gradients with it, as exactly as an iteration needs), "
                               "or auto (by size)",
                       .words = g_linear_words},
};

enum { MOST_RANK_ONE = 8 };
// Conjugate gradients go at least so far where equations are taken out of their solutions.
#define WITH_EQUATIONS 1e-3

typedef struct newton {
    hk_line_search search;
    hk_newton_matrix *matrix;
    bool by_multigrid;
    double *diagonal;  // [vertex_count] inertia and shift
    double *aim;       // [vertex_count][4] the gradient with contacts ahead, where some are
    double *rank_one;  // [rank_one_room][vertex_count][4], 0: no term and no cavity has such
    double *factors;   // [rank_one_room]
    double *normal;    // [vertex_count][4] of a cavity
    int rank_one_room;
    const double *right;  // that, or the gradient as it is
    int rung;             // of the ladder, in use
    int patience;         // iterations before a gentler one is tried again
    double forcing;       // the relative residual that conjugate gradients go to
} newton;

static void newton_free(void *solver)
{
    newton *s = solver;
    if (!s) return;
    hk_newton_matrix_free(s->matrix);
    hk_free(s->diagonal);
    hk_free(s->aim);
    hk_free(s->rank_one);
    hk_free(s->factors);
    hk_free(s->normal);
    hk_search_release(&s->search);
    hk_free(s);
}

static bool wants_multigrid(const hk_problem *p, int linear)
{
    if (linear != LINEAR_AUTO) return linear == LINEAR_MULTIGRID;
    return !hk_direct_available() || p->unknown_vertices >= SMALLEST_FOR_MULTIGRID;
}

static hk_status allocate_rank_one(newton *s, const hk_problem *p)
{
    size_t size = 4 * (size_t)p->vertex_count;
    int cavities = p->manifold ? p->manifold->cavity_count : 0;
    s->rank_one_room = cavities + (hk_terms_has_rank_one(p->terms) ? MOST_RANK_ONE : 0);
    if (s->rank_one_room == 0) return HK_OK;
    s->rank_one = HK_ZEROS(double, size *(size_t)s->rank_one_room);
    s->factors = HK_ZEROS(double, s->rank_one_room);
    s->normal = HK_ZEROS(double, size);
    return s->rank_one && s->factors && s->normal ? HK_OK : HK_NO_MEMORY;
}

static hk_status allocate(newton *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_search_init(&s->search, p, settings));
    s->search.patience = ROUNDING_PATIENCE;
    s->by_multigrid = wants_multigrid(p, (int)settings->option[OPTION_LINEAR]);
    HK_TRY(hk_newton_matrix_create(p, s->by_multigrid, &s->matrix));
    s->diagonal = HK_ARRAY(double, p->vertex_count);
    if (!s->diagonal) return HK_NO_MEMORY;
    HK_TRY(allocate_rank_one(s, p));
    if (!hk_terms_guarded(p->terms)) return HK_OK;
    s->aim = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    return s->aim ? HK_OK : HK_NO_MEMORY;
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

// Makes the Hessian at x as the rung has it, plus `shift` a vertex.
static hk_status set_matrix(newton *s, const double *x, int rung, double shift, bool *positive,
                            double *phase_s)
{
    const hk_problem *p = s->search.problem;
    for (int k = 0; k < p->vertex_count; k++) {
        double own = p->inertia[k] + g_ladder[rung].mass * p->slow_rate * p->mass[k];
        s->diagonal[k] = hk_partition_counts(p->partition, k) ? own + p->shift + shift : 0;
    }
    return hk_newton_matrix_set(s->matrix, x, g_ladder[rung].keep, g_ladder[rung].loose,
                                s->diagonal, phase_s, positive);
}

// With (A + σ u uᵀ)⁻¹ = A⁻¹ − A⁻¹u σ (A⁻¹u)ᵀ/(1 + σ u·A⁻¹u) the direction goes from A to what a
// term has beside its elements (Sherman & Morrison 1950); one after the other, and with several of
// them to what the first had to say. The equation u·d = 0 of a cavity is the limit σ → ∞.
typedef struct rank_one_step {
    newton *solver;
    hk_status status;
    bool *positive;
    int count, most;
} rank_one_step;

static void take_rank_one(void *context, double scale, const double *u)
{
    rank_one_step *r = context;
    newton *s = r->solver;
    hk_line_search *ls = &s->search;
    hk_problem *p = ls->problem;
    int64_t size = 4 * (int64_t)p->vertex_count;
    if (r->status != HK_OK || !*r->positive || r->count == r->most) return;
    double *w = s->rank_one + size * r->count;
    r->status = hk_newton_matrix_solve(s->matrix, s->forcing, u, w, ls->phase_s, r->positive);
    if (r->status != HK_OK || !*r->positive) return;
    ls->linear_iterations += s->matrix->cg_iterations;
    for (int64_t k = 0; k < size; k++) w[k] = -w[k];
    for (int n = 0; n < r->count; n++) {
        const double *solved = s->rank_one + size * n;
        double part = s->factors[n] * hk_problem_dot(p, u, solved);
        for (int64_t k = 0; k < size; k++) w[k] -= part * solved[k];
    }
    double square = hk_problem_dot(p, u, w);
    double factor = isfinite(scale) ? scale / (1 + scale * square) : square > 0 ? 1 / square : 0;
    double part = factor * hk_problem_dot(p, u, ls->direction);
    for (int64_t k = 0; k < size; k++) ls->direction[k] -= part * w[k];
    s->factors[r->count++] = factor;
}

static hk_status add_rank_one(newton *s, const double *x, bool *positive)
{
    hk_problem *p = s->search.problem;
    if (!s->rank_one || !*positive) return HK_OK;
    rank_one_step r = {.solver = s, .positive = positive, .most = MOST_RANK_ONE};
    if (hk_terms_has_rank_one(p->terms)) hk_terms_visit_rank_one(p->terms, x, take_rank_one, &r);
    r.most = s->rank_one_room;
    for (int n = 0; p->manifold && n < p->manifold->cavity_count; n++) {
        hk_manifold_normal(p->manifold, n, s->normal);
        take_rank_one(&r, INFINITY, s->normal);
    }
    return r.status;
}

// The direction with that Hessian; not positive: there is none.
static hk_status try_rung(newton *s, const double *x, int rung, double shift, bool *positive)
{
    hk_line_search *ls = &s->search;
    HK_TRY(set_matrix(s, x, rung, shift, positive, ls->phase_s));
    if (!*positive) return HK_OK;
    HK_TRY(hk_newton_matrix_solve(s->matrix, s->forcing, s->right, ls->direction, ls->phase_s,
                                  positive));
    ls->linear_iterations += s->matrix->cg_iterations;
    return add_rank_one(s, x, positive);
}

// Where the choice is ours: systems that are hard for multigrid (cells as flat as sheets of paper,
// materials that hardly change their volume) are factored from now on.
static hk_status reconsider(newton *s)
{
    hk_problem *p = s->search.problem;
    bool free_to_choose = !p->partition &&
                          s->search.settings.option[OPTION_LINEAR] == LINEAR_AUTO &&
                          hk_direct_available() && p->free_count <= MOST_FOR_DIRECT;
    if (!s->by_multigrid || !free_to_choose) return HK_OK;
    if (s->matrix->cg_iterations <= TOO_MANY_ITERATIONS) return HK_OK;
    hk_newton_matrix *made;
    HK_TRY(hk_newton_matrix_create(p, false, &made));
    hk_newton_matrix_free(s->matrix);
    s->matrix = made;
    s->by_multigrid = false;
    return HK_OK;
}

// The rung that only contacts know is left out where there are none.
static int next_rung(const newton *s, int way)
{
    int next = s->rung + way;
    bool skip = next == WITHOUT_CONTACTS && !hk_terms_guarded(s->search.problem->terms);
    return skip ? next + way : next;
}

// From the current rung upwards until it is positive, and shifted if even the last is singular.
static hk_status find_direction(newton *s, const double *x, bool *positive)
{
    if (s->search.settings.option[OPTION_PROJECTION] == PROJECT_ALWAYS) s->rung = PROJECTED;
    HK_TRY(try_rung(s, x, s->rung, 0, positive));
    while (!*positive && s->rung < PROJECTED) {
        s->patience = PATIENCE;
        s->rung = next_rung(s, 1);
        HK_TRY(try_rung(s, x, s->rung, 0, positive));
    }
    if (*positive) return HK_OK;
    double shift = 1e-10 * hk_newton_matrix_largest(s->matrix);
    for (int k = 0; k < MOST_SHIFTS && !*positive && isfinite(shift); k++, shift *= 10)
        HK_TRY(try_rung(s, x, PROJECTED, shift, positive));
    return HK_OK;
}

static bool is_blocked(newton *s, const double *x)
{
    hk_terms *terms = s->search.problem->terms;
    if (!hk_terms_guarded(terms)) return false;
    s->search.limit = hk_terms_limit(terms, x, s->search.direction, 1);
    return s->search.limit < BLOCKED;
}

// A direction that something is in the way of is found once more with what it would touch, until it
// touches no more than that. (Where ε would rise along it, the one without stays.)
static hk_status look_ahead(newton *s, const double *x, bool *positive)
{
    hk_line_search *ls = &s->search;
    hk_problem *p = ls->problem;
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    ls->limit = NAN;
    for (int n = 0; n < MOST_LOOKS && *positive; n++) {
        if (!hk_terms_foresee(p->terms, x, ls->direction)) break;
        memset(s->aim, 0, bytes);
        hk_terms_add_foreseen(p->terms, s->aim);
        hk_partition_share(p->partition, s->aim);
        for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) s->aim[k] += ls->gradient[k];
        s->right = s->aim;
        HK_TRY(find_direction(s, x, positive));
    }
    bool falls = hk_problem_dot(p, ls->gradient, ls->direction) < 0;
    hk_terms_forget_foreseen(p->terms);
    s->right = ls->gradient;
    return *positive && falls ? HK_OK : find_direction(s, x, positive);
}

// Towards the exact Hessian again, at once where the iteration makes headway, else after a while.
static void step_down(newton *s, double length, double reduction)
{
    bool headway = length >= 1 && reduction < 0.5;
    if (s->patience > 0) s->patience--;
    if (s->rung > EXACT && (headway || s->patience == 0)) s->rung = next_rung(s, -1);
}

// ---------------------------------------------------------------- the iteration

// A last step with the factor at hand costs a solve and gains some digits.
static hk_status polish(newton *s, double *x)
{
    hk_line_search *ls = &s->search;
    bool positive;
    HK_TRY(hk_newton_matrix_solve(s->matrix, s->forcing, ls->gradient, ls->direction, ls->phase_s,
                                  &positive));
    HK_TRY(add_rank_one(s, x, &positive));
    if (!positive) return HK_OK;
    hk_search_try(ls, x, 1);
    double noise = ls->view->energy_rounding + 1e-12 * fabs(ls->at.energy);
    if (ls->next.energy <= ls->at.energy + noise && ls->next.residual < ls->at.residual)
        hk_search_accept(ls, x);
    return HK_OK;
}

// A direction that is not quite A⁻¹g need not go down any more when an equation is taken out of it.
static double coarse_forcing(const newton *s)
{
    const hk_manifold *m = s->search.problem->manifold;
    return m && m->cavity_count > 0 ? WITH_EQUATIONS : COARSE_FORCING;
}

// After Eisenstat and Walker (1996): as exact as the last iteration was good, and no more exact
// than the tolerance asks for.
static void choose_forcing(newton *s, double before)
{
    const hk_evaluation *at = &s->search.at;
    double ratio = at->residual / before;
    double enough = ENOUGH * s->search.settings.tolerance * at->scale / at->residual;
    s->forcing = fmax(FINE_FORCING, fmin(coarse_forcing(s), fmax(enough, 0.9 * ratio * ratio)));
}

// One step from x; `end` says whether the solve is over.
static hk_status iterate(newton *s, double *x, hk_solve_report *report, bool *end)
{
    hk_line_search *ls = &s->search;
    bool positive;
    HK_TRY(reconsider(s));
    s->right = ls->gradient;
    HK_TRY(find_direction(s, x, &positive));
    if (positive && is_blocked(s, x)) HK_TRY(look_ahead(s, x, &positive));
    if (!positive) {
        report->reason = HK_STALLED;
        snprintf(report->detail, sizeof report->detail, "the stiffness matrix is singular");
        *end = true;
        return HK_OK;
    }
    bool projected = s->rung > EXACT;
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
    double before = ls->at.residual;
    hk_search_accept(ls, x);
    choose_forcing(s, before);
    *end = hk_search_count(ls, length, projected, report);
    return HK_OK;
}

static hk_status newton_minimise(void *solver, double *x, hk_solve_report *report)
{
    newton *s = solver;
    hk_line_search *ls = &s->search;
    int before = report->iterations;
    s->rung = EXACT;
    s->forcing = coarse_forcing(s);
    HK_TRY(hk_search_begin(ls, x, report));
    bool end = false;
    // An attempt that led nowhere is no iteration; there is at most one between two iterations.
    while (!end && !hk_search_over(ls, x, report->iterations - before, report))
        HK_TRY(iterate(s, x, report, &end));
    bool polished = report->reason == HK_CONVERGED && report->iterations > before;
    if (polished && !s->by_multigrid) HK_TRY(polish(s, x));
    hk_search_end(ls, report);
    return HK_OK;
}

// The tangent answer to a displacement of held vertices: H_ff d_f = −H_fc d_c. The right side is
// H d at free vertices.
static hk_status newton_follow(void *solver, const double *x, double *step)
{
    newton *s = solver;
    if (s->search.problem->unknown_vertices == 0) return HK_OK;
    hk_problem *p = s->search.problem;
    double phase_s[HK_PHASE_COUNT] = {0}, *gradient = s->search.gradient;
    bool positive;
    HK_TRY(set_matrix(s, x, PROJECTED, 0, &positive, phase_s));
    if (!positive) return HK_OK;
    memset(gradient, 0, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_newton_matrix_add_product(s->matrix, x, g_ladder[PROJECTED].loose, step, gradient);
    HK_TRY(hk_newton_matrix_solve(s->matrix, FOLLOWING, gradient, s->search.direction, phase_s,
                                  &positive));
    if (!positive) return HK_OK;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) step[k] += s->search.direction[k];
    return HK_OK;
}

static void newton_remember(void *solver, hk_stream *stream)
{
    newton *s = solver;
    hk_newton_matrix_remember(&s->matrix, stream);
    s->by_multigrid = s->matrix->by_multigrid;
    HK_STREAM(stream, s->patience);
}

static hk_view *newton_view(void *solver)
{
    return ((newton *)solver)->search.view;
}

static void newton_describe(const void *solver, char *text, size_t size)
{
    const newton *s = solver;
    const hk_newton_matrix *m = s->matrix;
    char linear[96] = "";
    if (m->partition)
        m->partition->ops->matrix.describe(m->of_partition, linear, sizeof linear);
    else if (m->multigrid)
        snprintf(linear, sizeof linear, "multigrid with %d levels and %.2f times the matrix",
                 hk_block_multigrid_levels(m->multigrid),
                 hk_block_multigrid_complexity(m->multigrid));
    else
        snprintf(linear, sizeof linear, "%lld numbers in the factor",
                 m->direct ? (long long)hk_direct_factor_size(m->direct) : 0LL);
    snprintf(text, size,
             "newton: at most %d iterations, tolerance %g, projection %s; %lld unknowns, %s",
             s->search.settings.iterations, s->search.settings.tolerance,
             g_projection_words[(int)s->search.settings.option[OPTION_PROJECTION]],
             3 * (long long)s->search.problem->unknown_vertices, linear);
}

const hk_method hk_newton = {
    .name = "newton",
    .takes_rank_one = true,
    .takes_constraints = true,
    .guarded = true,
    .takes_quadratic = true,
    .summary = "projected Newton with line search, by factors or multigrid: the reference",
    .iterations = 100,
    .pose_iterations = 200,  // soft and slender bodies that fall over take more than 100
    .tolerance = 1e-8,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = newton_create,
    .free = newton_free,
    .minimise = newton_minimise,
    .follow = newton_follow,
    .view = newton_view,
    .remember = newton_remember,
    .describe = newton_describe,
};
