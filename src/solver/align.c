#include "solver/align.h"

#include <math.h>
#include <stdio.h>

#include "solver/limit.h"
#include "solver/precise.h"

// Energies of elements do not change where bodies move rigidly, so that ε cannot rise but by terms
// that bodies feel without being tied (those of users, viscosity).
static bool fell(const hk_problem *p, double now, double before, bool clearly)
{
    double noise = rule_double_noise(p->energy_rounding, now, before);
    hk_verdict verdict = rule_compare(now, before, noise);
    return verdict == HK_FELL || (!clearly && verdict == HK_UNCLEAR);
}

void hk_align_start(hk_problem *p, const double *x, double energy, double *workspace, double *start)
{
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    memcpy(workspace, start, bytes);
    hk_rigid_align(p, workspace);
    hk_problem_retract(p, workspace);
    double moved = hk_problem_energy(p, workspace);
    bool better = fell(p, moved, energy, false);
    // What spins is strained by going straight ahead, all the more the stiffer it is.
    memcpy(p->rigid->other, start, bytes);
    hk_rigid_copy(p, x, p->rigid->other);
    hk_rigid_align(p, p->rigid->other);
    hk_problem_retract(p, p->rigid->other);
    double kept = hk_problem_energy(p, p->rigid->other);
    if (fell(p, kept, better ? moved : energy, true))
        memcpy(start, p->rigid->other, bytes);
    else if (better)
        memcpy(start, workspace, bytes);
}

static bool is_unfinished(const hk_solve_report *r)
{
    return r->reason == HK_ITERATION_LIMIT || r->reason == HK_STALLED ||
           r->reason == HK_PRECISION_LIMIT;
}

void hk_align_end(hk_problem *p, double tolerance, double *workspace, double *x,
                  hk_solve_report *report)
{
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    if (!is_unfinished(report) || !hk_rigid_any(p) || hk_terms_guarded(p->terms)) return;
    double before = hk_problem_energy(p, x);
    memcpy(p->rigid->other, x, bytes);
    hk_rigid_align(p, p->rigid->other);
    hk_problem_retract(p, p->rigid->other);
    hk_evaluation at = hk_evaluate_exactly(p, p->rigid->other, tolerance, workspace);
    if (!isfinite(at.residual) || !fell(p, at.energy, before, false)) return;
    memcpy(x, p->rigid->other, bytes);
    report->energy = at.energy;
    hk_report_residual(&at, report);
    if (!hk_is_converged(&at, tolerance)) return;
    report->reason = HK_CONVERGED;
    report->detail[0] = '\0';
}
