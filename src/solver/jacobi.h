// The Jacobi preconditioner of Descent section 4.1: the inverse of the diagonal of the Hessian,
// refreshed every so many iterations.
#ifndef HK_JACOBI_H
#define HK_JACOBI_H

#include "solver/problem.h"

typedef struct hk_jacobi {
    double *inverse;  // [vertex_count][4], 0 at held vertices and in the padding
    int age;          // iterations since the last refresh
} hk_jacobi;

hk_status hk_jacobi_init(hk_jacobi *j, const hk_problem *problem);
void hk_jacobi_release(hk_jacobi *j);
// Evaluates the diagonal at x if it is new or `every` iterations old. Entries that are not positive
// (compressed elements) count by their size.
void hk_jacobi_refresh(hk_jacobi *j, hk_problem *problem, const double *x, bool fresh, int every);
// Without Hessian: one number for all vertices, so that a step of length 1 is about right.
void hk_jacobi_uniform(hk_jacobi *j, hk_problem *problem, const double *x);
// to = inverse × from
void hk_jacobi_apply(const hk_jacobi *j, const hk_problem *problem, const double *from, double *to);

#endif
