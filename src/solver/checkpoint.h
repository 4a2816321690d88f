// The last state that was kept, for methods that take several steps before they check ε, and
// whether ε fell since. The state is in the precision of the elements (vertex_pass.h); ε is
// compared in that precision, too, except where two values differ by less than it can tell.
#ifndef HK_CHECKPOINT_H
#define HK_CHECKPOINT_H

#include "solver/method.h"
#include "solver/vertex_pass.h"

typedef struct hk_checkpoint {
    hk_problem *problem;
    hk_view *view;          // borrowed
    hk_vertices *vertices;  // borrowed: q is the state that may be kept
    void *good;             // scalar[vertex_count][4] the last state that was kept
    double *wide;           // [vertex_count][4] a state in double precision
    double *force;          // [vertex_count][4] a gradient in double precision
    double tolerance;       // of the residual
    double least;           // N, the least residual of states that were kept in this solve
    double mark;            // N, the residual when there was progress last, and
    int since;              // checks since then
    bool blended;           // elements were at the last check
    float *blend;           // [tet_count] weights at `good`; NULL: no element is invertible
    float *blend_now, *blend_larger;
} hk_checkpoint;

hk_status hk_checkpoint_init(hk_checkpoint *k, hk_vertices *vertices, double tolerance);
void hk_checkpoint_release(hk_checkpoint *k);

// Takes x, in double precision, for its state, and q for it in the precision of the elements, with
// a residual of that.
void hk_checkpoint_begin(hk_checkpoint *k, const double *x, double residual);
// The gradient of the terms at q, into vertices->gradient, with blend weights brought up to date;
// the energy may be NULL.
void hk_checkpoint_gradient(hk_checkpoint *k, double *elastic);
// With the gradient of the terms and their energy at q at hand.
hk_evaluation hk_checkpoint_measure(hk_checkpoint *k, double elastic);
// ε in double precision.
double hk_checkpoint_energy(hk_checkpoint *k, const void *q);
// Whether ε fell from the state that was kept to q, evaluated as `now`. *unclear: energies differ
// by no more than rounding, which may have decided.
bool hk_checkpoint_fell(hk_checkpoint *k, hk_evaluation *good, hk_evaluation *now, bool *unclear);
void hk_checkpoint_keep(hk_checkpoint *k, const hk_evaluation *now);
// q is again the state that was kept.
void hk_checkpoint_restore(hk_checkpoint *k);
// The end: x := the state that was kept.
void hk_checkpoint_store(hk_checkpoint *k, double *x);
// Whether checks have brought nothing for long: energies cannot tell whether ε falls, and the
// residual hardly does.
bool hk_checkpoint_wanders(const hk_checkpoint *k);
// Whether the solve is over at a state: converged, or at the limit of single precision.
bool hk_checkpoint_over(const hk_checkpoint *k, const hk_evaluation *at, hk_solve_report *report);

#endif
