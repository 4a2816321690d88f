// A solve by a method in single precision, and where that is not enough the rest of it in double,
// by a twin of the method: the same settings, and as many iterations as are left. What single
// precision claims is checked in double.
#ifndef HK_PRECISE_H
#define HK_PRECISE_H

#include "core/stream.h"
#include "solver/method.h"

// The twin, made when it is first needed.
typedef struct hk_twin {
    const hk_method *method;
    void *solver;  // NULL: not made yet
    bool refused;  // it could not be made
} hk_twin;
void hk_twin_release(hk_twin *twin);

// ε, its gradient and what the limit of precision has to say about it, in double precision.
hk_evaluation hk_evaluate_exactly(hk_problem *problem, const double *x, double tolerance,
                                  double *gradient);

// A solver with all that its solves need.
typedef struct hk_solve {
    hk_problem *problem;
    const hk_method *method;
    const hk_settings *settings;
    void *solver;
    hk_twin *twin;      // NULL: what the method says stands
    double *workspace;  // [vertex_count][4]
} hk_solve;
// As hk_method.minimise.
hk_status hk_solve_precisely(const hk_solve *s, double *x, hk_solve_report *report);

// What the twin of a solve has learnt, to a file and back; it is made where it was.
void hk_twin_remember(const hk_solve *s, hk_stream *stream);

#endif
