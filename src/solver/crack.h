// The matrix A' = M/h² + L of a torn mesh, in the rows near its cracks: what the constant matrix of
// the whole bodies knows least (untorn.h). Sweeps of Gauss and Seidel over these rows, before and
// after B and the other way round, make of B
//
//   I − B̂A' = (I − GᵀA')(I − BA')(I − GA'),
//
// which is symmetric and positive definite whatever the sweeps leave (they never raise the energy
// xᵀA'x/2 − bᵀx), and costs no factorisation.
#ifndef HK_CRACK_H
#define HK_CRACK_H

#include "solver/problem.h"

typedef struct hk_crack {
    int count;             // of rows; 0: the others are NULL
    int32_t *vertex;       // [count] of a row, Morton order, rising
    int32_t *row;          // [vertex_count] of a vertex, -1: it is none of them
    int64_t *start;        // [count + 1] in
    int32_t *column;       // vertices, beside the row's own
    double *number;        // of L
    double *diagonal;      // [count] of L
    double *given, *left;  // [vertex_count][4]
} hk_crack;

// The rows within some elements of vertices that are `torn` [vertex_count]; `weight` is that of the
// materials.
hk_status hk_crack_init(hk_crack *crack, const hk_problem *problem, const double *weight,
                        const uint8_t *torn);
void hk_crack_release(hk_crack *crack);
// x from 0 by sweeps over b, and left = b − A'x; b is kept as `given`. (Those that `held` are 0.)
void hk_crack_before(hk_crack *crack, const hk_problem *p, const uint8_t *held, const double *b,
                     double *x);
// x by the same sweeps backwards, with b.
void hk_crack_after(hk_crack *crack, const hk_problem *p, const uint8_t *held, double *x);

#endif
