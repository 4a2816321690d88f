#include "solver/line_search.h"

#include <math.h>
#include <stdio.h>

// Relative to the first length.
#define SHORTEST_STEP 1e-9

hk_status hk_search_init(hk_line_search *w, hk_problem *problem, const hk_settings *settings)
{
    size_t size = 4 * (size_t)problem->vertex_count;
    w->problem = problem;
    w->settings = *settings;
    w->share = 1e-4;
    w->gradient = HK_ZEROS(double, size);
    w->trial_gradient = HK_ZEROS(double, size);
    w->direction = HK_ZEROS(double, size);
    w->trial = HK_ZEROS(double, size);
    return w->gradient && w->trial_gradient && w->direction && w->trial ? HK_OK : HK_NO_MEMORY;
}

void hk_search_release(hk_line_search *w)
{
    hk_free(w->gradient);
    hk_free(w->trial_gradient);
    hk_free(w->direction);
    hk_free(w->trial);
}

double hk_lap(double *since)
{
    double now = hk_now(), spent = now - *since;
    *since = now;
    return spent;
}

static hk_evaluation evaluate(hk_line_search *w, const double *x, double *gradient)
{
    hk_evaluation at;
    double clock = hk_now();
    hk_problem_gradient(w->problem, x, gradient, &at.energy, &at.scale);
    at.residual = sqrt(hk_problem_dot(w->problem, gradient, gradient));
    at.scale = fmax(at.scale, w->problem->rounding / w->settings.tolerance);
    w->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return at;
}

void hk_search_begin(hk_line_search *w, const double *x, hk_solve_report *report)
{
    w->phase_s = report->phase_s;
    report->detail[0] = '\0';
    if (w->problem->single) hk_problem_center(w->problem, x);
    hk_problem_update_blend(w->problem, x);
    w->at = evaluate(w, x, w->gradient);
    hk_tell_start(w->problem, w->at.energy, w->at.residual, w->at.scale);
}

void hk_search_try(hk_line_search *w, const double *x, double length)
{
    const double *d = w->direction;
    double *to = w->trial;
    int64_t size = 4 * (int64_t)w->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(w->problem->threads)
    for (int64_t k = 0; k < size; k++) to[k] = x[k] + length * d[k];
    w->next = evaluate(w, w->trial, w->trial_gradient);
}

// Armijo's rule. Near a minimum the decrease drowns in the rounding of ε; there a step counts that
// reduces the gradient instead (after Hager & Zhang 2005).
static bool acceptable(const hk_line_search *w, double length, double slope)
{
    const hk_evaluation *from = &w->at, *to = &w->next;
    if (!isfinite(to->energy) || !isfinite(to->residual)) return false;
    if (to->energy <= from->energy + w->share * length * slope) return true;
    double noise = w->problem->energy_rounding + 1e-10 * fmax(fabs(from->energy), fabs(to->energy));
    return fabs(length * slope) <= noise && to->energy <= from->energy + noise &&
           to->residual < from->residual;
}

// The next length to try: the minimum of the parabola through what is known, within bounds.
static double shorter(const hk_line_search *w, double length, double slope)
{
    double low = 0.1 * length, high = 0.5 * length;
    if (!isfinite(w->next.energy)) return high;
    double curvature = w->next.energy - w->at.energy - slope * length;
    double best = -slope * length * length / (2 * curvature);
    return isfinite(best) ? fmin(fmax(best, low), high) : high;
}

static double lengthen(hk_line_search *w, const double *x, double length, double longest,
                       double slope)
{
    while (2 * length <= longest) {
        double here = hk_problem_dot(w->problem, w->trial_gradient, w->direction);
        if (!(here < 0.3 * slope)) return length;
        hk_evaluation before = w->next;
        hk_search_try(w, x, 2 * length);
        if (!(w->next.energy < before.energy && isfinite(w->next.residual))) {
            hk_search_try(w, x, length);
            return length;
        }
        length *= 2;
    }
    return length;
}

double hk_search_length(hk_line_search *w, const double *x, double length, double longest)
{
    double slope = hk_problem_dot(w->problem, w->gradient, w->direction), first = length;
    if (!(slope < 0)) return 0;
    while (length > SHORTEST_STEP * first) {
        hk_search_try(w, x, length);
        if (acceptable(w, length, slope))
            return length == first ? lengthen(w, x, length, longest, slope) : length;
        length = shorter(w, length, slope);
    }
    return 0;
}

void hk_search_accept(hk_line_search *w, double *x)
{
    memcpy(x, w->trial, 4 * sizeof(double) * (size_t)w->problem->vertex_count);
    double *swap = w->gradient;
    w->gradient = w->trial_gradient;
    w->trial_gradient = swap;
    w->at = w->next;
    if (hk_problem_update_blend(w->problem, x)) w->at = evaluate(w, x, w->gradient);
}

void hk_report_undefined(hk_problem *problem, const double *x, double residual,
                         hk_solve_report *report)
{
    report->reason = isfinite(residual) ? HK_INVERTED : HK_NOT_FINITE;
    report->energy = INFINITY;
    int tet = hk_tet_first_undefined(problem->tets, x);
    if (tet >= 0)
        snprintf(report->detail, sizeof report->detail,
                 "tet %d is inverted (or overflows) where its material is not defined", tet);
    else
        snprintf(report->detail, sizeof report->detail, "the start has no finite energy");
}

int hk_search_budget(const hk_line_search *w)
{
    return w->problem->weight > 0 ? w->settings.iterations : w->settings.pose_iterations;
}

bool hk_search_over(hk_line_search *w, const double *x, int iterations, hk_solve_report *report)
{
    if (!isfinite(w->at.energy) || !isfinite(w->at.residual)) {
        hk_report_undefined(w->problem, x, w->at.residual, report);
        return true;
    }
    if (w->at.residual <= w->settings.tolerance * w->at.scale) {
        report->reason = HK_CONVERGED;
        return true;
    }
    if (iterations >= hk_search_budget(w)) {
        report->reason = HK_ITERATION_LIMIT;
        snprintf(report->detail, sizeof report->detail,
                 "%d iterations left a relative residual of %.1e", hk_search_budget(w),
                 w->at.residual / w->at.scale);
        return true;
    }
    return false;
}

void hk_tell_start(const hk_problem *p, double energy, double residual, double scale)
{
    if (!p->monitor || !p->watch_energy) return;
    hk_iteration start = {0, energy, residual, residual / scale, 0, false, p->load_fraction};
    p->monitor(p->monitor_context, &start);
}

bool hk_search_count(hk_line_search *w, double length, bool projected, hk_solve_report *report)
{
    const hk_problem *p = w->problem;
    report->iterations++;
    if (!p->monitor) return false;
    hk_iteration now = {
        report->iterations, w->at.energy,    w->at.residual, w->at.residual / w->at.scale, length,
        projected,          p->load_fraction};
    if (p->monitor(p->monitor_context, &now)) return false;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return true;
}

double hk_rounding_margin(const hk_problem *p)
{
    return p->single ? HK_SINGLE_ROUNDING_MARGIN : HK_ROUNDING_MARGIN;
}

void hk_search_stalled(const hk_line_search *w, hk_solve_report *report)
{
    report->reason = HK_CONVERGED;
    if (w->at.residual <= hk_rounding_margin(w->problem) * w->problem->rounding) return;
    report->reason = HK_STALLED;
    snprintf(report->detail, sizeof report->detail,
             "no step length decreases the energy (relative residual %.1e)",
             w->at.residual / w->at.scale);
}

void hk_search_end(const hk_line_search *w, hk_solve_report *report)
{
    report->energy = w->at.energy;
    report->residual = w->at.residual;
    report->relative_residual = w->at.residual / w->at.scale;
}

double hk_full_length(void *solver, hk_line_search *w, const double *x)
{
    (void)solver, (void)w, (void)x;
    return 1;
}

// In single precision ε ends by wandering within its rounding. True: it has done so for long.
enum { PATIENCE = 50 };
static bool wanders(const hk_line_search *w, double *best, int *since)
{
    if (!w->problem->single) return false;
    double noise = w->problem->energy_rounding + 1e-7 * fabs(w->at.energy);
    if (w->at.energy < *best - noise) {
        *best = w->at.energy;
        *since = 0;
    }
    return ++*since > PATIENCE &&
           w->at.residual <= hk_rounding_margin(w->problem) * w->problem->rounding;
}

hk_status hk_search_descend(hk_line_search *w, const hk_direction *rule, void *solver, double *x,
                            hk_solve_report *report)
{
    int before = report->iterations;
    bool fresh = true;
    hk_search_begin(w, x, report);
    double best = w->at.energy;
    int since = 0;
    while (!hk_search_over(w, x, report->iterations - before, report)) {
        HK_TRY(rule->choose(solver, w, x, fresh));
        double first = rule->length(solver, w, x);
        double length = hk_search_length(w, x, first, first);
        if (length == 0 && fresh) {
            hk_search_stalled(w, report);
            break;
        }
        fresh = length == 0;
        if (fresh) continue;
        if (rule->taken) rule->taken(solver, w, length);
        hk_search_accept(w, x);
        if (hk_search_count(w, length, false, report)) break;
        if (wanders(w, &best, &since)) {
            hk_search_stalled(w, report);
            break;
        }
    }
    hk_search_end(w, report);
    return HK_OK;
}
