// Curves of how solvers of the inverse problem converge, for the figures of TwoWay: rows of
// solver,iteration,seconds,relative_residual in a file of comma-separated values; seconds are CPU
// time of all threads.
#ifndef HK_BENCH_DESIGN_CURVES_H
#define HK_BENCH_DESIGN_CURVES_H

#include <stdio.h>

#include "design/rest_solver.h"

typedef struct curve {
    FILE *file;  // with a heading already
    const char *solver;
    double start;    // s, bench_cpu() when it began
    double longest;  // s
    int iteration;
    double last;  // relative residual
} curve;

FILE *curve_file(const char *folder, const char *name);
void curve_begin(curve *c, FILE *file, const char *solver, double longest);
// One more row; false: the time is up, or the residual is below `enough`.
bool curve_add(curve *c, double relative_residual, double enough);
void curve_end(const curve *c);

// The ways that TwoWay's Figure 3 compares to Newton's method with a direct solver (solvers.c).
typedef struct descent_options {
    double tolerance;
    double longest;  // s
    int threads;
} descent_options;
void run_gradient_descent(const hk_model *model, const descent_options *o, FILE *file);
void run_nonlinear_cg(const hk_model *model, const descent_options *o, FILE *file);
void run_newton_jacobi(const hk_model *model, const descent_options *o, int sweeps, FILE *file);
void run_newton_bicgstab(const hk_model *model, const descent_options *o, int most, FILE *file);

#endif
