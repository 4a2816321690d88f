// Going to a hard target in easy steps: when the full load or the full displacement of the held
// vertices does not converge at once, a part of it is tried, then the rest from there.
#ifndef HK_CONTINUATION_H
#define HK_CONTINUATION_H

#include "solver/precise.h"

typedef struct hk_continuation {
    hk_problem *problem;
    const hk_method *method;
    void *solver;
    // Where held vertices are at a fraction 0..1 of the way: written into x at held vertices. Also
    // sets the problem's load if that depends on it.
    void (*place)(void *context, double fraction, double *x);
    void *context;
    bool split_unconverged;  // quasistatics: smaller parts also where the budget ran out
    double *good, *step;     // [vertex_count][4] workspace
    // Where something may be in the way (hk_guard_ops): the state where it begins, from which x,
    // the start, is to be approached; and workspace. NULL: x is that state.
    const double *from;
    double *ahead;                // [vertex_count][4]
    const hk_settings *settings;  // of the method, for its
    hk_twin *twin;                // which goes on in double precision; NULL: there is none
} hk_continuation;

// From x to the state at the end. `steps` counts the parts that converged. On failure x is the
// last good state; when stopped by the monitor, the best of the part under way. The report is of
// the last solve.
hk_status hk_continue(hk_continuation *c, double *x, hk_solve_report *report, int *steps);

#endif
