#include "solver/continuation.h"

#include <math.h>
#include <stdio.h>

#include "model/partition.h"
#include "rules/continuation.h"
#include "solver/limit.h"

enum { MOST_BUDGETS = 6 };
// Solves at one and the same place, so that what is in the way gets out of it.
enum { MOST_WAITS = 100 };
// Parts that are tried after such a solve.
#define AFTER_WAITING (16 * HK_SMALLEST_PART)

static size_t bytes_of(const hk_problem *p)
{
    return 4 * sizeof(double) * (size_t)p->vertex_count;
}

static void add(const hk_problem *p, const double *a, const double *b, double *sum)
{
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) sum[k] = a[k] + b[k];
}

// The displacement of held vertices from the good state to their places at a fraction of the way.
static bool held_step(const hk_continuation *c, double fraction, double *x)
{
    const hk_problem *p = c->problem;
    memcpy(x, c->good, bytes_of(p));
    c->place(c->context, fraction, x);
    bool moved = false;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) {
        c->step[k] = x[k] - c->good[k];
        moved |= c->step[k] != 0;
    }
    return hk_partition_any(p->partition, moved);
}

// Large parts must not turn tets inside out, even where the material would allow it: from there a
// minimum is easily found that no slow motion would lead to.
static bool inside_out(const hk_continuation *c, double least_before, const double *x)
{
    return least_before > 0 && !(hk_terms_least_j(c->problem->terms, x) > 0);
}

// The better of two starts: free vertices left where they are, or following the held ones as the
// tangent stiffness has it. That costs a factorisation: in a time step, where held vertices go a
// little way, it is made only if the plain start is of no use.
static hk_status choose_start(const hk_continuation *c, double fraction, double least_before,
                              double *x, bool *moved)
{
    *moved = held_step(c, fraction, x);
    if (!*moved || !c->method->follow) return HK_OK;
    double plain = hk_problem_energy(c->problem, x);
    if (!c->split_unconverged && isfinite(plain) && !inside_out(c, least_before, x)) return HK_OK;
    HK_TRY(c->method->follow(c->solver, c->good, c->step));
    add(c->problem, c->good, c->step, x);
    if (hk_problem_energy(c->problem, x) < plain) return HK_OK;
    held_step(c, fraction, x);
    return HK_OK;
}

// ---------------------------------------------------------------- ways with something on them

// The start of a part, each vertex as far towards where it would go by itself as nothing is in the
// way, with a fraction `part` of the whole way ahead. Whether held vertices arrive.
static bool approach(const hk_continuation *c, double fraction, double part, double *x)
{
    held_step(c, fraction, x);
    for (int64_t k = 0; part > 0 && k < 4 * (int64_t)c->problem->vertex_count; k++)
        if (!c->problem->held[k / 4]) x[k] += part * c->ahead[k];
    // What is tied goes all the way or not at all.
    if (c->problem->manifold) {
        return hk_problem_retract(c->problem, x) && hk_terms_passes(c->problem->terms, x);
    }
    return hk_terms_approach(c->problem->terms, c->problem->held, x);
}

// Its energy; +inf: held vertices do not arrive.
static double approach_energy(const hk_continuation *c, double fraction, double part, double *x)
{
    return approach(c, fraction, part, x) ? hk_problem_energy(c->problem, x) : INFINITY;
}

// Held vertices with the free ones that follow them as the tangent stiffness has it.
static hk_status approach_following(const hk_continuation *c, double fraction, double *x,
                                    double *energy)
{
    *energy = INFINITY;
    if (!c->method->follow || !held_step(c, fraction, x)) return HK_OK;
    HK_TRY(c->method->follow(c->solver, c->good, c->step));
    add(c->problem, c->good, c->step, x);
    if (!hk_problem_retract(c->problem, x)) return HK_OK;
    if (c->problem->manifold ? hk_terms_passes(c->problem->terms, x)
                             : hk_terms_approach(c->problem->terms, c->problem->held, x))
        *energy = hk_problem_energy(c->problem, x);
    return HK_OK;
}

// The start of the part from `done` to `fraction`, of less energy: ahead, or not; else the tangent.
static hk_status choose_guarded(const hk_continuation *c, double done, double fraction, double *x,
                                bool *found)
{
    bool predicted = c->ahead != NULL;
    double plain = approach_energy(c, fraction, 0, x), energy = plain;
    if (predicted) {
        energy = approach_energy(c, fraction, fraction - done, x);
        if (!(energy < plain) && isfinite(plain))
            energy = approach(c, fraction, 0, x) ? plain : INFINITY;
    }
    if (!isfinite(energy)) HK_TRY(approach_following(c, fraction, x, &energy));
    *found = isfinite(energy);
    return HK_OK;
}

// Where it begins, and what the start is ahead of that.
static void begin_guarded(hk_continuation *c, const double *x)
{
    const double *from = c->from ? c->from : x;
    for (int64_t k = 0; c->ahead && k < 4 * (int64_t)c->problem->vertex_count; k++)
        c->ahead[k] = x[k] - from[k];
    memcpy(c->good, from, bytes_of(c->problem));
    hk_terms_keep(c->problem->terms, from);
}

static hk_status minimise(const hk_continuation *c, double *x, hk_solve_report *report)
{
    hk_solve s = {c->problem, c->method, c->settings, c->solver, c->twin, c->step};
    return hk_solve_precisely(&s, x, report);
}

// A solve that has come near is slow, not lost: smaller parts would not take it further.
static bool came_near(const hk_solve_report *r)
{
    return r->relative_residual < 1e-2;
}

static bool worth_splitting(const hk_continuation *c, const hk_solve_report *r)
{
    switch (r->reason) {
    case HK_INVERTED:
    case HK_NOT_FINITE: return true;
    case HK_ITERATION_LIMIT:
    case HK_STALLED: return c->split_unconverged && !came_near(r);
    default: return false;
    }
}

// A state that is not the end, but has finite numbers.
static bool is_something(const hk_solve_report *r)
{
    return (r->reason == HK_ITERATION_LIMIT || r->reason == HK_STALLED) && isfinite(r->energy);
}

// The good state stays, or if there was none the last attempt; the report tells its energy and
// residual, and what stopped the way on.
static void report_stuck(const hk_continuation *c, double done, double tried, double *x,
                         hk_solve_report *report)
{
    bool attempt = c->split_unconverged && done == 0 && is_something(report);
    char why[sizeof report->detail];
    memcpy(why, report->detail, sizeof why);
    snprintf(report->detail, sizeof report->detail,
             attempt ? "no part converged, the last attempt at %.4g of the way is kept: %s"
                     : "stuck at %.4g of the way: %s",
             attempt ? tried : done, why);
    if (c->split_unconverged) report->reason = HK_LOAD_STEP_LIMIT;
    if (!attempt) {
        c->place(c->context, done, x);  // for the load; the positions are the good ones
        memcpy(x, c->good, bytes_of(c->problem));
    }
    hk_evaluation at = hk_evaluate_exactly(c->problem, x, 0, c->step);
    report->energy = at.energy;
    hk_report_residual(&at, report);
}

static void report_blocked(hk_solve_report *report)
{
    report->reason = HK_INTERSECTION;
    snprintf(report->detail, sizeof report->detail, "something is in the way of what is moved");
}

// Whether the way from what is done to the end of the part changes the problem at all: held
// vertices, the load, what terms are tied to. Where it does not, smaller parts are the same solve
// again. Leaves everything as at the end of the part.
static bool leads_elsewhere(const hk_continuation *c, const hk_parts *parts, double *x)
{
    hk_problem *p = c->problem;
    double there = hk_problem_energy(p, x);
    memcpy(c->step, x, bytes_of(p));
    c->place(c->context, parts->done, c->step);
    bool same = hk_partition_all(p->partition, memcmp(c->step, x, bytes_of(p)) == 0);
    same = same && hk_problem_energy(p, c->step) == there;
    c->place(c->context, parts_next(parts), x);
    return !same;
}

// Whether what was found at the end of a part is to be tried in smaller ones.
static bool is_refused(const hk_continuation *c, const hk_parts *parts, double least,
                       const hk_solve_report *report, double *x)
{
    if (worth_splitting(c, report)) return true;
    return report->reason == HK_CONVERGED && parts->size > HK_CAREFUL_END &&
           inside_out(c, least, x) && leads_elsewhere(c, parts, x);
}

// A solve that was ended before its time leaves bodies where they are pushed away from, and nothing
// can move on: it goes on where things are. Whether that brought something.
static hk_status wait_there(const hk_continuation *c, double done, double *x,
                            hk_solve_report *report, bool *better)
{
    memcpy(x, c->good, bytes_of(c->problem));
    c->place(c->context, done, x);
    double before = hk_problem_energy(c->problem, x);
    HK_TRY(minimise(c, x, report));
    *better = isfinite(report->energy) && report->energy < before;
    if (!*better) return HK_OK;
    memcpy(c->good, x, bytes_of(c->problem));
    hk_terms_keep(c->problem->terms, x);
    return HK_OK;
}

// Parts that end at the iteration limit have all taken the whole budget of a pose: a few of them
// are enough.
static bool is_spent(const hk_continuation *c, const hk_solve_report *report, int first)
{
    return c->settings && report->reason == HK_ITERATION_LIMIT &&
           report->iterations - first >= MOST_BUDGETS * c->settings->pose_iterations;
}

hk_status hk_continue(hk_continuation *c, double *x, hk_solve_report *report, int *steps)
{
    hk_parts parts = parts_begin();
    int first = report->iterations, waits = 0;
    *steps = 0;
    bool guarded = hk_terms_guarded(c->problem->terms);
    if (guarded)
        begin_guarded(c, x);
    else
        memcpy(c->good, x, bytes_of(c->problem));
    double least = hk_terms_least_j(c->problem->terms, c->good);
    while (parts.done < 1) {
        bool moved = true, found = true;
        if (guarded)
            HK_TRY(choose_guarded(c, parts.done, parts_next(&parts), x, &found));
        else
            HK_TRY(choose_start(c, parts_next(&parts), least, x, &moved));
        bool refused = moved && parts.size > HK_CAREFUL_START && inside_out(c, least, x);
        bool blocked = !refused && !found;
        refused = refused || !found;
        if (!refused) {
            HK_TRY(minimise(c, x, report));
            refused = is_refused(c, &parts, least, report, x);
        }
        double tried = parts_next(&parts);
        if (blocked && parts.size < 2 * HK_SMALLEST_PART && waits++ < MOST_WAITS) {
            bool better;
            HK_TRY(wait_there(c, parts.done, x, report, &better));
            if (report->reason == HK_STOPPED) return HK_OK;
            if (better) parts.size = AFTER_WAITING;
        }
        if (refused && (!parts_refuse(&parts) || is_spent(c, report, first))) {
            if (blocked) report_blocked(report);
            report_stuck(c, parts.done, tried, x, report);
            return HK_OK;
        }
        if (refused) continue;
        if (report->reason == HK_STOPPED) return HK_OK;
        parts_accept(&parts);
        first = report->iterations;
        *steps += report->reason == HK_CONVERGED;
        if (guarded) hk_terms_keep(c->problem->terms, x);
        if (parts.done < 1) {
            memcpy(c->good, x, bytes_of(c->problem));
            least = hk_terms_least_j(c->problem->terms, x);
        }
    }
    return HK_OK;
}
