// The alternating direction method of multipliers (Narain, Overby & Brown 2016: "ADMM ⊇ projective
// dynamics"). Every element e gets a deformation gradient z_e of its own, which is tied to that of
// the positions, D_e x, by a multiplier, here scaled: u_e. With weights w_e = k V_e an iteration is
//
//   local    z = argmin U(z) + ls/2 ‖D x + u − z‖²       element by element, in wide lanes
//   dual     u ← u + D x − z                            so that k u = P(z), the stress
//   global   A x = M/h² y + f + Σ ls Dᵀ(z − u)           A = M/h² + Σ ls DᵀD, factored once
//
// The global step is taken as x ← x − A⁻¹ g with the gradient g of the augmented function at x, so
// that a solve in single precision leaves no error behind. Springs, bending, attachments and
// viscosity are not split: they enter g as they are, and A with the constant matrices above their
// Hessians, as in projective dynamics (their quadratic ones exactly).
//
// A time step begins with u = P(D x)/k, for which z = D x: the first iteration is a step of
// projective dynamics from the start, and where that is the solution, it stays. Nothing is carried
// over from the step before, in which bodies may have turned.
//
// Contact is not split either, and no constant matrix is above its Hessian: the function of the
// global step, quadratic but for contact, is lowered by one step of Newton's method with its own
// line search (contact_pcg.h), within what the guard allows.
//
// ADMM does not decrease ε in every iteration. x becomes a later state only where ε is less; this
// is checked in the end, every `CHECK` iterations, and where the iteration seems to have
// converged. Where ε stays higher instead, it goes on from the best state with a descent step.
#include <math.h>
#include <stdio.h>

#include "solver/constant_matrix.h"
#include "solver/contact_pcg.h"
#include "solver/line_search.h"

enum { OPTION_WEIGHT = HK_OPTION_AFTER_PRECISION, OPTION_LOW, OPTION_HIGH, OPTION_REFINEMENT };
enum { CHECK = 16 };
// Checks in a row of states that are worse than the best before it goes back there, and checks
// without less energy or a smaller residual before it counts as stalled.
enum { TOLERATED = 2, PATIENCE = 32 };

static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_SINGLE),
    [OPTION_WEIGHT] = {.name = "weight",
                       .help = "of the tie between elements and positions, relative to the slope "
                               "of the material's stress",
                       .minimum = 0.01,
                       .maximum = 100,
                       .fallback = 0.5},
    [OPTION_LOW] = {.name = "stretch_low",
                    .help = "smallest stretch that is expected: the slope is taken from here",
                    .minimum = 0.05,
                    .maximum = 0.99,
                    .fallback = 0.5},
    [OPTION_HIGH] = {.name = "stretch_high",
                     .help = "to this largest stretch that is expected",
                     .minimum = 1.01,
                     .maximum = 10,
                     .fallback = 1.5},
    [OPTION_REFINEMENT] = HK_REFINEMENT_OPTION,
};

typedef struct admm {
    hk_line_search search;
    void **duals;  // [terms of the view]; NULL: the term has none
    hk_constant_matrix matrix;
    double *state;  // [vertex_count][4] x of the iteration; the caller's is the best
    hk_contact_pcg contacts;
    double *moving;  // [vertex_count][4] N, their part of a gradient; NULL: none
} admm;

// ---------------------------------------------------------------- creation

// The duals of the terms that have elements of their own, which add to weight[material_count].
static hk_status create_duals(admm *s, double *weight)
{
    hk_terms *terms = s->search.view->terms;
    const double *option = s->search.settings.option;
    hk_admm_def def = {option[OPTION_WEIGHT], option[OPTION_LOW], option[OPTION_HIGH]};
    s->duals = HK_ZEROS(void *, terms->count);
    if (!s->duals) return HK_NO_MEMORY;
    for (int k = 0; k < terms->count; k++)
        if (terms->term[k]->ops->admm)
            HK_TRY(terms->term[k]->ops->admm->create(terms->term[k], &def, weight, &s->duals[k]));
    return HK_OK;
}

static void free_duals(admm *s)
{
    const hk_terms *terms = s->duals ? s->search.view->terms : NULL;
    for (int k = 0; terms && k < terms->count; k++)
        if (s->duals[k]) terms->term[k]->ops->admm->free(s->duals[k]);
    hk_free(s->duals);
}

static void admm_free(void *solver)
{
    admm *s = solver;
    if (!s) return;
    free_duals(s);
    hk_search_release(&s->search);
    hk_constant_matrix_release(&s->matrix);
    hk_contact_pcg_release(&s->contacts);
    hk_free(s->moving);
    hk_free(s->state);
    hk_free(s);
}

static hk_status create_matrix(admm *s)
{
    hk_problem *p = s->search.problem;
    bool refined = s->search.settings.option[OPTION_REFINEMENT] > 0;
    double *weight = HK_ZEROS(double, p->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = create_duals(s, weight);
    if (status == HK_OK)
        status = hk_constant_matrix_init(&s->matrix, p, weight,
                                         HK_MATRIX_FACTORED | (refined ? HK_MATRIX_REFINED : 0));
    hk_free(weight);
    return status;
}

static hk_status allocate(admm *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_search_init(&s->search, p, settings));
    s->state = HK_ARRAY(double, 4 * (size_t)p->vertex_count);
    if (!s->state) return HK_NO_MEMORY;
    HK_TRY(hk_contact_pcg_init(&s->contacts, p));
    if (hk_terms_guarded(p->terms)) {
        s->moving = HK_ARRAY(double, 4 * (size_t)p->vertex_count);
        if (!s->moving) return HK_NO_MEMORY;
    }
    return create_matrix(s);
}

static hk_status admm_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    admm *s = HK_NEW(admm);
    if (!s) return HK_NO_MEMORY;
    hk_status status = allocate(s, problem, settings);
    if (status != HK_OK) {
        admm_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the global step

static hk_status apply_inverse(void *solver, double *q)
{
    return hk_constant_matrix_apply(&((admm *)solver)->matrix, q, q);
}

// direction := −(A + C)⁻¹ gradient, 0 at held vertices, with the stiffness C of what touches at x;
// square (may be NULL) is its product with A times itself.
static hk_status solve(admm *s, const double *x, const double *gradient, double *square)
{
    hk_line_search *ls = &s->search;
    hk_problem *p = ls->problem;
    double clock = hk_now();
    hk_problem_stand(p, x);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        ls->direction[k] = p->held[k / 4] ? 0 : -gradient[k];
    s->contacts.iterations = 0;
    HK_TRY(hk_contact_pcg_set(&s->contacts, x));
    HK_TRY(hk_contact_pcg_solve(&s->contacts, apply_inverse, s, ls->direction, square));
    ls->linear_iterations += s->contacts.iterations;
    ls->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

enum { MOST_HALVINGS = 20 };

// Shortens the direction from s->state so that nothing passes through anything, and that the
// function of the global step falls: −t (b + ∇C)ᵀd + t²/2 dᵀA d + C(x + t d), b = −gradient.
static void shorten(admm *s, const double *gradient, double square)
{
    hk_line_search *ls = &s->search;
    hk_problem *p = ls->problem;
    double *d = ls->direction;
    int64_t size = 4 * (int64_t)p->vertex_count;
    memset(s->moving, 0, sizeof(double) * (size_t)size);
    hk_terms_add_moving_gradient(p->terms, s->state, s->moving);
    double here = hk_terms_moving_energy(p->terms, s->state);
    double slope = hk_problem_dot(p, gradient, d);
    double smooth = slope - hk_problem_dot(p, s->moving, d);
    double t = hk_terms_limit(p->terms, s->state, d, 1);
    for (int n = 0; n < MOST_HALVINGS; n++, t *= 0.5) {
        for (int64_t k = 0; k < size; k++) ls->trial[k] = s->state[k] + t * d[k];
        double there = hk_terms_moving_energy(p->terms, ls->trial);
        double change = t * smooth + 0.5 * t * t * square + there - here;
        if (change <= 1e-4 * t * slope) break;
    }
    for (int64_t k = 0; k < size; k++) d[k] *= t;
}

// ---------------------------------------------------------------- the iteration

typedef struct progress {
    bool fresh;       // the duals begin anew
    double estimate;  // N, what the residual seems to be
    double scale;     // N, of the forces at work
    double least;     // N, the smallest residual seen in a check
    int since;        // checks without progress
} progress;

// Local, dual and global step: the direction from s->state.
static hk_status iterate(admm *s, progress *now)
{
    hk_line_search *ls = &s->search;
    double clock = hk_now();
    hk_view_admm_gradient(ls->view, s->duals, now->fresh, s->state, ls->trial_gradient,
                          &now->scale);
    now->estimate = sqrt(hk_problem_dot(ls->problem, ls->trial_gradient, ls->trial_gradient));
    now->fresh = false;
    ls->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    double square = 0;
    HK_TRY(solve(s, s->state, ls->trial_gradient, &square));
    if (s->moving) shorten(s, ls->trial_gradient, square);
    return HK_OK;
}

static void advance(admm *s)
{
    const double *d = s->search.direction;
    int64_t size = 4 * (int64_t)s->search.problem->vertex_count;
    for (int64_t k = 0; k < size; k++) s->state[k] += d[k];
    hk_problem_retract(s->search.problem, s->state);
}

// Whether the state ls->trial is to be preferred to the best, by ε, or within its rounding by the
// residual.
static bool is_better(const hk_line_search *ls)
{
    if (!isfinite(ls->next.energy) || !isfinite(ls->next.residual)) return false;
    double noise = ls->view->energy_rounding + 1e-10 * fabs(ls->at.energy);
    if (ls->next.energy < ls->at.energy - noise) return true;
    return ls->next.energy <= ls->at.energy + noise && ls->next.residual < ls->at.residual;
}

// Keeps the new state if it is better; else goes on from the best one by a step along −A⁻¹∇ε,
// which is downhill, and with new duals. *moved false: there is none.
static hk_status settle(admm *s, double *x, progress *now, bool *moved)
{
    hk_line_search *ls = &s->search;
    *moved = is_better(ls);
    if (*moved) {
        hk_search_accept(ls, x);
        return HK_OK;
    }
    HK_TRY(solve(s, x, ls->gradient, NULL));
    *moved = hk_search_length(ls, x, true, 1, 1) > 0;
    if (!*moved) return HK_OK;
    hk_search_accept(ls, x);
    memcpy(s->state, x, 4 * sizeof(double) * (size_t)ls->problem->vertex_count);
    now->fresh = true;
    return HK_OK;
}

// The new state's ε and residual are known where it was checked (ls->next).
static bool count(admm *s, const progress *now, bool known, hk_solve_report *report)
{
    const hk_problem *p = s->search.problem;
    report->iterations++;
    report->linear_iterations += s->search.linear_iterations;
    s->search.linear_iterations = 0;
    if (!p->monitor) return false;
    const hk_evaluation *at = &s->search.next;
    hk_iteration told = {.iteration = report->iterations,
                         .energy = known ? at->energy : NAN,
                         .residual = known ? at->residual : now->estimate,
                         .step_length = 1,
                         .load = p->load_fraction};
    told.relative_residual = rule_relative(told.residual, known ? at->scale : now->scale);
    if (p->monitor(p->monitor_context, &told)) return false;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return true;
}

// True: many checks have brought nothing.
static bool stalls(const hk_line_search *ls, double energy_before, progress *now)
{
    double noise = ls->view->energy_rounding + 1e-10 * fabs(ls->at.energy);
    bool better = ls->at.energy < energy_before - noise || ls->at.residual < 0.9 * now->least;
    now->least = fmin(now->least, ls->at.residual);
    now->since = better ? 0 : now->since + 1;
    return now->since > PATIENCE;
}

static hk_status run(admm *s, double *x, hk_solve_report *report)
{
    hk_line_search *ls = &s->search;
    hk_problem *p = ls->problem;
    progress now = {.fresh = true, .least = ls->at.residual};
    bool blends = hk_terms_blending(p->terms) != NULL;
    HK_TRY(hk_constant_matrix_prepare(&s->matrix, "admm", ls->phase_s, NULL));
    memcpy(s->state, x, 4 * sizeof(double) * (size_t)p->vertex_count);
    for (int k = 1; !hk_search_over(ls, x, k - 1, report); k++) {
        HK_TRY(iterate(s, &now));
        bool near = k > 1 && now.estimate <= ls->settings.tolerance * now.scale;
        bool check = near || k % CHECK == 0 || k == hk_search_budget(ls);
        // Blend weights (term/blend.h) follow the best state.
        bool known = check || blends || (p->monitor && p->watch_energy);
        if (known) hk_search_try(ls, s->state, 1);
        advance(s);
        if (count(s, &now, known, report)) {
            if (known && is_better(ls)) hk_search_accept(ls, x);
            break;
        }
        if (!check && blends && is_better(ls)) hk_search_accept(ls, x);
        if (!check) continue;
        bool moved;
        double before = ls->at.energy;
        HK_TRY(settle(s, x, &now, &moved));
        if (!moved || stalls(ls, before, &now)) {
            hk_search_stalled(ls, report);
            break;
        }
    }
    return HK_OK;
}

static hk_status admm_minimise(void *solver, double *x, hk_solve_report *report)
{
    admm *s = solver;
    HK_TRY(hk_search_begin(&s->search, x, report));
    HK_TRY(run(s, x, report));
    hk_search_end(&s->search, report);
    return HK_OK;
}

static hk_view *admm_view(void *solver)
{
    return ((admm *)solver)->search.view;
}

static void admm_describe(const void *solver, char *text, size_t size)
{
    const admm *s = solver;
    const hk_settings *o = &s->search.settings;
    snprintf(text, size,
             "admm: at most %d iterations, tolerance %g, %s precision, weight %g; %lld numbers in "
             "the factor",
             o->iterations, o->tolerance, hk_precisions[(int)o->option[HK_OPTION_PRECISION]],
             o->option[OPTION_WEIGHT],
             s->matrix.direct ? (long long)hk_direct_factor_size(s->matrix.direct) : 0);
}

const hk_method hk_admm = {
    .name = "admm",
    .takes_constraints = true,
    .guarded = true,
    .summary = "ADMM: elements solved one by one, tied together by a constant matrix",
    .iterations = 10,
    .pose_iterations = 5000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = admm_create,
    .free = admm_free,
    .minimise = admm_minimise,
    .view = admm_view,
    .describe = admm_describe,
};
