// How a solve may end: converged, at the limit of its precision, or neither.
#ifndef HK_LIMIT_H
#define HK_LIMIT_H

#include "solver/method.h"

// Of a residual far above rounding …
hk_excess hk_all_beyond(double residual);
// … which it is not where this is true: it may be within the margin of `rounding`, which is an
// estimate over all bodies, and a pass over the vertices (hk_view_excess) is called for.
bool hk_may_be_rounding(const hk_evaluation *at, double tolerance, double rounding);
// Whether it may be called converged: the residual is at most the tolerance times the forces at
// work, or there are no such forces.
bool hk_is_converged(const hk_evaluation *at, double tolerance);
// Whether rounding explains all of the residual but what the tolerance allows …
bool hk_is_at_limit(const hk_evaluation *at, double tolerance);
// … within the margin of the estimate: where nothing decreases ε any more, this is why.
bool hk_is_near_limit(const hk_evaluation *at, double tolerance);
double hk_relative_residual(const hk_evaluation *at);

// The end at the limit, with the number.
void hk_report_limit(bool single, const hk_evaluation *at, hk_solve_report *report);
// The end where nothing decreases ε any more: at the limit, or stalled for what `why` says.
void hk_report_no_decrease(const hk_view *view, const hk_evaluation *at, double tolerance,
                           const char *why, hk_solve_report *report);
// Residuals of the end.
void hk_report_residual(const hk_evaluation *at, hk_solve_report *report);

#endif
