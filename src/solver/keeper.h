// The last state that was kept, for methods that take several steps before they look at ε, and
// whether ε fell since. The state is in the precision of the elements (vertex_pass.h); ε is
// compared in that precision, too, except where two values differ by less than it can tell.
#ifndef HK_KEEPER_H
#define HK_KEEPER_H

#include "solver/method.h"
#include "solver/vertex_pass.h"

// What is known of a state.
typedef struct hk_mark {
    double energy;    // J, relative, with the elements in their precision
    double elastic;   // J, that of the elements
    double exact;     // J, relative in double precision; NAN: not evaluated
    double residual;  // N
    double scale;     // N, of the forces at work
} hk_mark;

typedef struct hk_keeper {
    hk_problem *problem;
    hk_vertices *vertices;  // borrowed: q is the state that may be kept
    void *good;             // scalar[vertex_count][4] the last state that was kept
    double *wide;           // [vertex_count][4] a state in double precision
    bool converting;        // elements were converted at the last look
    float *shares;          // [tet_count] of conversion at `good`; NULL: no element converts
    float *shares_now, *shares_larger;
} hk_keeper;

hk_status hk_keeper_init(hk_keeper *k, hk_problem *problem, hk_vertices *vertices);
void hk_keeper_release(hk_keeper *k);

// Takes x, in double precision, for its state, and q for it in the precision of the elements.
void hk_keeper_begin(hk_keeper *k, const double *x);
// The gradient of the elements at q, into vertices->gradient, with conversion brought up to date;
// the energy may be NULL.
void hk_keeper_gradient(hk_keeper *k, double *elastic);
// With the gradient of the elements and their energy at q at hand.
hk_mark hk_keeper_measure(const hk_keeper *k, double elastic, double scale);
// ε in double precision.
double hk_keeper_energy(hk_keeper *k, const void *q);
// Whether ε fell from the state that was kept to q, the mark `now`.
bool hk_keeper_fell(hk_keeper *k, hk_mark *good, hk_mark *now);
void hk_keeper_keep(hk_keeper *k);
// q is again the state that was kept.
void hk_keeper_restore(hk_keeper *k);
// The end: x := the state that was kept.
void hk_keeper_store(hk_keeper *k, double *x);
// Whether the residual is as small as the tolerance, or as `margin` times what rounding leaves.
bool hk_keeper_converged(const hk_keeper *k, const hk_mark *at, double tolerance, double margin);

#endif
