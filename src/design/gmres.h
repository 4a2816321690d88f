// GMRES with modified Gram–Schmidt for vectors double[count][4], 0 where nothing is to be solved
// for.
#ifndef HK_GMRES_H
#define HK_GMRES_H

#include "solver/problem.h"

enum { HK_GMRES_MOST = 40 };  // iterations

typedef struct hk_gmres {
    hk_problem *problem;               // for dot products over its free vertices
    double *basis[HK_GMRES_MOST + 1];  // made when needed
} hk_gmres;

// to = A from
typedef hk_status hk_operator_fn(void *context, const double *from, double *to);

void hk_gmres_release(hk_gmres *gmres);
// x = A⁻¹ b up to ‖b − A x‖ ≤ tolerance ‖b‖, from x = 0, in at most `most` iterations; their number
// and what is left of ‖b‖.
hk_status hk_gmres_solve(hk_gmres *gmres, hk_operator_fn *apply, void *context, double tolerance,
                         int most, const double *b, double *x, int *iterations, double *left);

#endif
