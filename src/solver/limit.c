#include "solver/limit.h"

#include <math.h>
#include <stdio.h>

#include "rules/rules.h"

hk_excess hk_all_beyond(double residual)
{
    return (hk_excess){.rounding = NAN, .beyond = residual, .far = residual};
}

bool hk_may_be_rounding(const hk_evaluation *at, double tolerance, double rounding)
{
    // Twice: the norm over all bodies is as rough as an estimate by the vertex.
    if (rule_converged(at->residual, tolerance, at->scale)) return false;
    return at->residual <= 2 * HK_ROUNDING_MARGIN * rounding + tolerance * at->scale;
}

bool hk_is_converged(const hk_evaluation *at, double tolerance)
{
    return rule_converged(at->residual, tolerance, at->scale) || at->excess.idle;
}

bool hk_is_at_limit(const hk_evaluation *at, double tolerance)
{
    return rule_converged(at->excess.beyond, tolerance, at->scale);
}

bool hk_is_near_limit(const hk_evaluation *at, double tolerance)
{
    return rule_converged(at->excess.far, tolerance, at->scale);
}

double hk_relative_residual(const hk_evaluation *at)
{
    return at->excess.idle ? 0 : rule_relative(at->residual, at->scale);
}

void hk_report_limit(bool single, const hk_evaluation *at, hk_solve_report *report)
{
    report->reason = HK_PRECISION_LIMIT;
    snprintf(report->detail, sizeof report->detail,
             "%s precision leaves a residual of %.2g N (relative residual %.1e; rounding is "
             "estimated at %.2g N)",
             single ? "single" : "double", at->residual, hk_relative_residual(at),
             at->excess.rounding);
}

void hk_report_no_decrease(const hk_view *view, const hk_evaluation *at, double tolerance,
                           const char *why, hk_solve_report *report)
{
    if (hk_is_near_limit(at, tolerance)) {
        hk_report_limit(view->single, at, report);
        return;
    }
    report->reason = HK_STALLED;
    snprintf(report->detail, sizeof report->detail, "%s (relative residual %.1e)", why,
             hk_relative_residual(at));
}

void hk_report_residual(const hk_evaluation *at, hk_solve_report *report)
{
    report->residual = at->residual;
    report->relative_residual = hk_relative_residual(at);
    report->rounding = at->excess.rounding;
}
