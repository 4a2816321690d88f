#include "solver/start.h"

#include <math.h>

#include "model/partition.h"
#include "solver/align.h"

// start = x + a v + b v₋₁ at free vertices.
static void predict(const hk_problem *p, const hk_moment *m, double a, double b, double *start)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 4; i++)
            start[i] = p->held[k] ? m->x[i] : m->x[i] + a * m->v[i] + b * m->v_before[i];
}

// How long vertices go along a velocity for the second derivatives of ε; 0: it is none.
static double probe_time(const hk_view *view, const double *v)
{
    hk_problem *p = view->problem;
    double count = fmax(1, (double)p->unknown_vertices);
    double speed = sqrt(hk_problem_dot(p, v, v) / count);
    return speed > 0 ? start_probe_time(view->single, p->size, speed) : 0;
}

// Slopes of ε along v and v₋₁ at x + a v + b v₋₁.
static void slopes_at(hk_view *view, const hk_moment *m, double a, double b, double *gradient,
                      double *start, double slope[2])
{
    predict(view->problem, m, a, b, start);
    hk_view_gradient(view, start, gradient, NULL, NULL);
    slope[0] = hk_problem_dot(view->problem, gradient, m->v);
    slope[1] = hk_problem_dot(view->problem, gradient, m->v_before);
}

// The best step along the last two velocities; second derivatives come from differences of
// gradients.
static void best_steps(hk_view *view, const hk_moment *m, double *gradient, double *start,
                       double *a, double *b)
{
    double here[2], ahead[2], aside[2] = {0, 0};
    double probe = probe_time(view, m->v), before = probe_time(view, m->v_before);
    *a = *b = 0;
    if (!(probe > 0)) return;
    slopes_at(view, m, 0, 0, gradient, start, here);
    slopes_at(view, m, probe, 0, gradient, start, ahead);
    if (before > 0) slopes_at(view, m, 0, before, gradient, start, aside);
    start_best_times(here, ahead, probe, aside, before, m->step, a, b);
}

// x + h v + h² a with a along the external acceleration e = f/m of a vertex: as much of it as the
// last step's acceleration had, between nothing (a body that lies on something) and all of it (one
// that falls).
static void predict_adaptively(const hk_problem *p, const hk_moment *m, double *start)
{
    double h = m->step;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++) {
        int64_t at = 4 * (int64_t)k;
        double along = 0, square = 0;
        for (int64_t i = at; i < at + 3; i++) {
            along += p->force[i] * (m->v[i] - m->v_before[i]) / h;
            square += p->force[i] * p->force[i];
        }
        double part = start_external_part(p->mass[k], along, square);
        double scale = p->mass[k] > 0 ? h * h * part / p->mass[k] : 0;
        for (int64_t i = at; i < at + 4; i++)
            start[i] = p->held[k] ? m->x[i] : m->x[i] + h * m->v[i] + scale * p->force[i];
    }
}

// Of ε at x, J.
static double inertia_at(const hk_problem *p, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * k; i < 4 * k + 3 && hk_partition_counts(p->partition, k); i++)
            sum += 0.5 * p->inertia[k] * (x[i] - p->y[i]) * (x[i] - p->y[i]);
    return hk_partition_sum_of(p->partition, sum);
}

// ε of the start that was chosen; NAN: it was not evaluated.
static double choose(hk_view *view, const hk_settings *settings, const hk_moment *m,
                     double *workspace, double *start)
{
    hk_problem *p = view->problem;
    int kind = (int)hk_setting(settings, "start");
    double a, b;
    start_factors(kind, m->step, hk_setting(settings, "eta"), &a, &b);
    if (kind == HK_START_OPTIMISED) best_steps(view, m, workspace, start, &a, &b);
    if (kind == HK_START_ADAPTIVE)
        predict_adaptively(p, m, start);
    else
        predict(p, m, a, b, start);
    // Where something may be in the way the continuation chooses, when it knows how far it gets.
    if (kind == HK_START_POSITION || hk_terms_guarded(p->terms)) return NAN;
    double there = hk_problem_energy(p, start), here = INFINITY;
    // Moderate ones need no comparison.
    if (kind == HK_START_AUTO || start_is_wild(there, inertia_at(p, m->x)))
        here = hk_problem_energy(p, m->x);
    if (start_is_fit(kind, there, hk_terms_least_j(p->terms, start), here) &&
        !start_is_wild(there, here))
        return there;
    predict(p, m, 0, 0, start);
    return isfinite(here) ? here : NAN;
}

void hk_choose_start(hk_view *view, const hk_settings *settings, const hk_moment *m,
                     double *workspace, double *start)
{
    hk_problem *p = view->problem;
    double energy = choose(view, settings, m, workspace, start);
    hk_problem_retract(p, start);
    if (!hk_rigid_any(p) || hk_terms_guarded(p->terms)) return;
    if (isnan(energy)) energy = hk_problem_energy(p, start);
    hk_align_start(p, m->x, energy, workspace, start);
}
