#include "solver/line_search.h"

#include <math.h>
#include <stdio.h>

#include "solver/limit.h"
#include "solver/manifold.h"

// Rounding of positions, which are kept in double precision whatever the view has.
#define DOUBLE_EPSILON 1.1e-16
// Iterations at the limit of precision that bring nothing. (A slow method goes on for hundreds of
// iterations whose decrease of ε nobody can see.)
enum { PATIENCE = 50 };
#define NEAR_TOLERANCE 1e4
// Lengths at which a way counts as blocked, and what another must promise more.
#define BLOCKED 0.5
#define BETTER  2
// What is left for chords to differ from straight ways, where something is near.
#define SHORTER 0.9
// Trials between a length that is too short and one that is too long, and a slope that is flat
// enough, of that at the start.
enum { MOST_GOES = 12 };
#define FLAT 0.3

hk_status hk_search_init(hk_line_search *s, hk_problem *problem, const hk_settings *settings)
{
    size_t size = 4 * (size_t)problem->vertex_count;
    s->problem = problem;
    s->settings = *settings;
    s->armijo = 1e-4;
    s->limit = NAN;
    s->patience = PATIENCE;
    s->gradient = HK_ZEROS(double, size);
    s->trial_gradient = HK_ZEROS(double, size);
    s->direction = HK_ZEROS(double, size);
    s->trial = HK_ZEROS(double, size);
    if (!s->gradient || !s->trial_gradient || !s->direction || !s->trial) return HK_NO_MEMORY;
    // Methods without the option work in double precision.
    double precision = hk_setting(settings, "precision");
    return hk_view_create(problem, precision == HK_SINGLE ? HK_SINGLE : HK_DOUBLE_PRECISION,
                          &s->view);
}

void hk_search_release(hk_line_search *s)
{
    hk_view_free(s->view);
    hk_free(s->gradient);
    hk_free(s->trial_gradient);
    hk_free(s->direction);
    hk_free(s->trial);
}

double hk_lap(double *since)
{
    double now = hk_now(), spent = now - *since;
    *since = now;
    return spent;
}

// Contact is as stiff as it is at the moment: whether a residual can be due to rounding of it is
// asked where little is missing.
static bool may_be_contact(const hk_line_search *s, const hk_evaluation *at)
{
    double near = NEAR_TOLERANCE * s->settings.tolerance * at->scale;
    return s->view->touching && at->residual <= near &&
           at->residual > s->settings.tolerance * at->scale;
}

static hk_evaluation evaluate(hk_line_search *s, const double *x, double *gradient)
{
    hk_evaluation at = {.exact = NAN};
    double clock = hk_now();
    hk_view_gradient(s->view, x, gradient, &at.energy, &at.scale);
    at.residual = sqrt(hk_problem_dot(s->problem, gradient, gradient));
    at.excess = hk_all_beyond(at.residual);
    if (hk_may_be_rounding(&at, s->settings.tolerance, hk_view_rounding(s->view)) ||
        may_be_contact(s, &at))
        at.excess = hk_view_excess(s->view, x, gradient, DOUBLE_EPSILON);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return at;
}

hk_status hk_search_begin(hk_line_search *s, const double *x, hk_solve_report *report)
{
    s->phase_s = report->phase_s;
    s->linear_iterations = 0;
    report->detail[0] = '\0';
    HK_TRY(hk_view_begin(s->view, x));
    s->at = evaluate(s, x, s->gradient);
    s->best = s->at.energy;
    s->least = s->at.residual;
    s->since = 0;
    hk_tell_start(s->problem, s->at.energy, s->at.residual, s->at.scale);
    return HK_OK;
}

// On a manifold the way to the trial state is no straight one: whether something is in the way of
// the chord. (It is certain of the straight way along the direction.)
static bool is_blocked(hk_line_search *s, const double *x)
{
    hk_problem *p = s->problem;
    if (!p->manifold || !hk_terms_guarded(p->terms)) return false;
    double *chord = p->manifold->vector;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) chord[k] = s->trial[k] - x[k];
    return hk_terms_limit(p->terms, x, chord, 1) < 1;
}

void hk_search_try(hk_line_search *s, const double *x, double length)
{
    const double *d = s->direction;
    double *to = s->trial;
    int64_t size = 4 * (int64_t)s->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < size; k++) to[k] = x[k] + length * d[k];
    bool there = hk_problem_retract(s->problem, to);
    s->next = evaluate(s, s->trial, s->trial_gradient);
    if (!there || is_blocked(s, x)) s->next.energy = s->next.residual = INFINITY;
}

// What rounding does to ε between two states, J. The estimate of bodies is for any state; where
// they touch, ε has to be known better than that: then it is positions that are rounded, each
// against the forces on it.
static double energy_noise(const hk_line_search *s, const hk_evaluation *a, const hk_evaluation *b)
{
    const hk_problem *p = s->problem;
    double rounding = s->view->energy_rounding;
    if (s->view->touching && !s->view->single) {
        double forces = sqrt(3.0 * p->vertex_count) * fmax(a->scale, b->scale);
        rounding = fmin(rounding, 8 * DOUBLE_EPSILON * s->view->away * p->reach * forces);
    }
    return rounding + 1e-10 * fmax(fabs(a->energy), fabs(b->energy));
}

static double trial_slope(const hk_line_search *s)
{
    return hk_problem_dot(s->problem, s->trial_gradient, s->direction);
}

static double lengthen(hk_line_search *s, const double *x, double length, double longest,
                       double slope)
{
    hk_terms *terms = s->problem->terms;
    while (2 * length <= longest) {
        if (!(trial_slope(s) < 0.3 * slope)) return length;
        if (hk_terms_limit(terms, x, s->direction, 2 * length) < 2 * length) return length;
        hk_evaluation before = s->next;
        hk_search_try(s, x, 2 * length);
        if (!(s->next.energy < before.energy && isfinite(s->next.residual))) {
            hk_search_try(s, x, length);
            return length;
        }
        length *= 2;
    }
    return length;
}

// Where something is in the way of one body, others go on: their parts of the direction, each as
// long as it may be, if that promises more than one length for all. (It is a direction of descent
// all the same, if not the method's.)
static double go_by_bodies(hk_line_search *s, const double *x, double length, double limit,
                           double *slope)
{
    int64_t size = 4 * (int64_t)s->problem->vertex_count;
    // Joints may tie bodies to each other.
    if (limit > BLOCKED * length || s->problem->manifold) return limit;
    for (int64_t k = 0; k < size; k++) s->trial[k] = length * s->direction[k];
    hk_terms_shorten(s->problem->terms, x, s->trial);
    double promised = hk_problem_dot(s->problem, s->gradient, s->trial);
    if (!(promised < BETTER * limit * *slope)) return limit;
    memcpy(s->direction, s->trial, sizeof(double) * (size_t)size);
    *slope = promised;
    return hk_terms_limit(s->problem->terms, x, s->direction, 1);
}

// A length and the slope there.
typedef struct search_end {
    double length, slope;
} search_end;

// Where bodies are about to meet, ε has a kink: it falls up to there and rises steeply beyond.
// Halving ends before the kink again and again, with a direction that knows nothing of it. So the
// lowest point between is looked for (Illinois), which is behind the kink.
static double go_on(hk_line_search *s, const double *x, double length, search_end beyond,
                    double slope)
{
    search_end low = {length, trial_slope(s)}, high = beyond;
    double best = s->next.energy, tried = length;
    bool low_before = false, high_before = false;
    for (int k = 0; k < MOST_GOES && low.slope < FLAT * slope; k++) {
        double part = -low.slope / (high.slope - low.slope);
        if (!(part > 1e-3 && part < 0.999)) part = 0.5;
        tried = low.length + part * (high.length - low.length);
        hk_search_try(s, x, tried);
        double here = trial_slope(s);
        bool lower = s->next.energy <= best;
        if (lower && here >= 0) return tried;
        if (!lower) {
            if (high_before) low.slope *= 0.5;
            high = (search_end){tried, isfinite(here) && here > 0 ? here : high.slope};
            high_before = true, low_before = false;
            continue;
        }
        best = s->next.energy;
        length = tried;
        if (low_before) high.slope *= 0.5;
        low = (search_end){tried, here};
        low_before = true, high_before = false;
    }
    if (tried != length) hk_search_try(s, x, length);
    return length;
}

double hk_search_length(hk_line_search *s, const double *x, bool fresh, double length,
                        double longest)
{
    double slope = hk_problem_dot(s->problem, s->gradient, s->direction);
    double first = s->limit;
    if (isnan(first)) first = hk_terms_limit(s->problem->terms, x, s->direction, length);
    s->limit = NAN;
    if (s->problem->manifold && first < length) first *= SHORTER;
    if (!(slope < 0)) return 0;
    if (first < length) first = go_by_bodies(s, x, length, first, &slope);
    hk_search_state from = {s->at.energy, s->at.residual, slope, s->armijo};
    length = first;
    search_end beyond = {0};
    while (length > search_shortest(fresh) * first) {
        hk_search_try(s, x, length);
        double noise = energy_noise(s, &s->at, &s->next);
        if (search_acceptable(&from, length, s->next.energy, s->next.residual, noise) ||
            search_slope_fell(&from, length, s->next.energy, trial_slope(s), noise)) {
            if (length == first) return lengthen(s, x, length, longest, slope);
            return hk_terms_guarded(s->problem->terms) ? go_on(s, x, length, beyond, slope)
                                                       : length;
        }
        beyond = (search_end){length, trial_slope(s)};
        length = search_shorter(&from, length, s->next.energy);
    }
    return 0;
}

void hk_search_accept(hk_line_search *s, double *x)
{
    memcpy(x, s->trial, 4 * sizeof(double) * (size_t)s->problem->vertex_count);
    double *swap = s->gradient;
    s->gradient = s->trial_gradient;
    s->trial_gradient = swap;
    s->at = s->next;
    if (hk_view_update(s->view, x)) s->at = evaluate(s, x, s->gradient);
}

void hk_report_undefined(hk_problem *problem, const double *x, double residual,
                         hk_solve_report *report)
{
    report->reason = isfinite(residual) ? HK_INVERTED : HK_NOT_FINITE;
    report->energy = INFINITY;
    if (!hk_terms_undefined(problem->terms, x, report->detail, sizeof report->detail))
        snprintf(report->detail, sizeof report->detail, "energy or forces are not finite");
}

int hk_search_budget(const hk_line_search *s)
{
    return hk_problem_budget(s->problem, s->settings.iterations, s->settings.pose_iterations);
}

// At the limit of precision, where ε and the gradient end by wandering within their rounding. In
// single precision that is reason enough to end there and then; in double, where the estimate may
// be a pessimistic one, it goes on as long as that brings something.
static bool at_the_end(hk_line_search *s)
{
    if (s->view->single && hk_is_at_limit(&s->at, s->settings.tolerance)) return true;
    double noise = rule_single_noise(s->view->energy_rounding, s->at.energy);
    if (!s->view->single) noise = s->view->energy_rounding + 1e-10 * fabs(s->at.energy);
    bool better = s->at.energy < s->best - noise || s->at.residual < 0.9 * s->least;
    if (better) {
        s->best = s->at.energy;
        s->least = s->at.residual;
    }
    s->since = better ? 0 : s->since + 1;
    return s->since > s->patience && hk_is_near_limit(&s->at, s->settings.tolerance);
}

bool hk_search_over(hk_line_search *s, const double *x, int iterations, hk_solve_report *report)
{
    if (!isfinite(s->at.energy) || !isfinite(s->at.residual) || !isfinite(s->at.scale)) {
        hk_report_undefined(s->problem, x, fmax(s->at.residual, s->at.scale), report);
        return true;
    }
    if (hk_is_converged(&s->at, s->settings.tolerance)) {
        report->reason = HK_CONVERGED;
        return true;
    }
    if (at_the_end(s)) {
        hk_report_limit(s->view->single, &s->at, report);
        return true;
    }
    if (iterations >= hk_search_budget(s)) {
        report->reason = HK_ITERATION_LIMIT;
        snprintf(report->detail, sizeof report->detail,
                 "%d iterations left a relative residual of %.1e", hk_search_budget(s),
                 hk_relative_residual(&s->at));
        return true;
    }
    return false;
}

void hk_tell_start(const hk_problem *p, double energy, double residual, double scale)
{
    if (!p->monitor || !p->watch_energy) return;
    hk_iteration start = {.energy = energy,
                          .residual = residual,
                          .relative_residual = rule_relative(residual, scale),
                          .load = p->load_fraction,
                          .resumed = p->spent};
    p->monitor(p->monitor_context, &start);
}

bool hk_search_count(hk_line_search *s, double length, bool projected, hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    int linear_iterations = s->linear_iterations;
    report->iterations++;
    report->linear_iterations += linear_iterations;
    s->linear_iterations = 0;
    if (!p->monitor) return false;
    hk_iteration now = {.iteration = report->iterations,
                        .energy = s->at.energy,
                        .residual = s->at.residual,
                        .relative_residual = hk_relative_residual(&s->at),
                        .step_length = length,
                        .projected = projected,
                        .load = p->load_fraction,
                        .linear_iterations = linear_iterations};
    if (p->monitor(p->monitor_context, &now)) return false;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return true;
}

void hk_search_stalled(const hk_line_search *s, hk_solve_report *report)
{
    hk_report_no_decrease(s->view, &s->at, s->settings.tolerance,
                          "no step length decreases the energy", report);
}

void hk_search_end(const hk_line_search *s, hk_solve_report *report)
{
    report->energy = s->at.energy;
    hk_report_residual(&s->at, report);
}

double hk_full_length(void *solver, hk_line_search *s, const double *x)
{
    (void)solver, (void)s, (void)x;
    return 1;
}

hk_status hk_search_descend(hk_line_search *s, const hk_direction *rule, void *solver, double *x,
                            hk_solve_report *report)
{
    int before = report->iterations;
    bool fresh = true;
    HK_TRY(hk_search_begin(s, x, report));
    while (!hk_search_over(s, x, report->iterations - before, report)) {
        hk_problem_stand(s->problem, x);
        HK_TRY(rule->choose(solver, s, x, fresh));
        hk_problem_tangent(s->problem, s->direction);
        double first = rule->length(solver, s, x);
        double length = hk_search_length(s, x, fresh, first, first);
        if (length == 0 && fresh) {
            hk_search_stalled(s, report);
            break;
        }
        fresh = length == 0;
        if (fresh) continue;
        if (rule->taken) rule->taken(solver, s, length);
        hk_search_accept(s, x);
        if (hk_search_count(s, length, false, report)) break;
    }
    hk_search_end(s, report);
    return HK_OK;
}
