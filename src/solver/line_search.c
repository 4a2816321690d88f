#include "solver/line_search.h"

#include <math.h>
#include <stdio.h>

#include "solver/limit.h"

// Rounding of positions, which are kept in double precision whatever the view has.
#define DOUBLE_EPSILON 1.1e-16
// Iterations at the limit of precision that bring nothing. (A slow method goes on for hundreds of
// iterations whose decrease of ε nobody can see.)
enum { PATIENCE = 50 };

hk_status hk_search_init(hk_line_search *s, hk_problem *problem, const hk_settings *settings)
{
    size_t size = 4 * (size_t)problem->vertex_count;
    s->problem = problem;
    s->settings = *settings;
    s->armijo = 1e-4;
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

static hk_evaluation evaluate(hk_line_search *s, const double *x, double *gradient)
{
    hk_evaluation at = {.exact = NAN};
    double clock = hk_now();
    hk_view_gradient(s->view, x, gradient, &at.energy, &at.scale);
    at.residual = sqrt(hk_problem_dot(s->problem, gradient, gradient));
    at.excess = hk_all_beyond(at.residual);
    if (hk_may_be_rounding(&at, s->settings.tolerance, hk_view_rounding(s->view)))
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

void hk_search_try(hk_line_search *s, const double *x, double length)
{
    const double *d = s->direction;
    double *to = s->trial;
    int64_t size = 4 * (int64_t)s->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < size; k++) to[k] = x[k] + length * d[k];
    s->next = evaluate(s, s->trial, s->trial_gradient);
}

static double trial_slope(const hk_line_search *s)
{
    return hk_problem_dot(s->problem, s->trial_gradient, s->direction);
}

static double lengthen(hk_line_search *s, const double *x, double length, double longest,
                       double slope)
{
    longest = hk_terms_limit(s->problem->terms, x, s->direction, longest);
    while (2 * length <= longest) {
        if (!(trial_slope(s) < 0.3 * slope)) return length;
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

double hk_search_length(hk_line_search *s, const double *x, bool fresh, double length,
                        double longest)
{
    double slope = hk_problem_dot(s->problem, s->gradient, s->direction);
    hk_search_state from = {s->at.energy, s->at.residual, slope, s->armijo};
    if (!(slope < 0)) return 0;
    double first = length = hk_terms_limit(s->problem->terms, x, s->direction, length);
    while (length > search_shortest(fresh) * first) {
        hk_search_try(s, x, length);
        double noise =
            s->view->energy_rounding + 1e-10 * fmax(fabs(s->at.energy), fabs(s->next.energy));
        if (search_acceptable(&from, length, s->next.energy, s->next.residual, noise) ||
            search_slope_fell(&from, length, s->next.energy, trial_slope(s), noise))
            return length == first ? lengthen(s, x, length, longest, slope) : length;
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
                          .load = p->load_fraction};
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
        HK_TRY(rule->choose(solver, s, x, fresh));
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
