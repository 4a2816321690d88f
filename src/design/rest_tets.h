// The tets of a model whose rest shape is the loaded shape x of an inverse problem: forces as a
// function of the true rest shape X, their derivatives, and steps of X (see rest_lanes.h). Vectors
// are double[vertex_count][4] in the model's Morton order, the fourth number 0. The bits are the
// same for any number of threads.
#ifndef HK_REST_TETS_H
#define HK_REST_TETS_H

#include "design/rest_lanes.h"
#include "term/tet.h"

typedef struct hk_rest_tets {
    hk_tet_term *tets;  // borrowed
    double gravity[3];  // m/s², that is at work
    double *partial;    // [patch_count]
    int64_t *start;     // [batch_count + 1] where the Jacobian of a batch begins
    double *jacobian;   // [start[batch_count]], of hk_rest_tets_linearise; NULL: none yet
    double *turn;       // of hk_rest_tets_turn; NULL: none yet
    double *volume;     // [vertex_count] m³ of the loaded tets around a vertex
} hk_rest_tets;

hk_status hk_rest_tets_create(hk_tet_term *tets, hk_rest_tets **rest);
void hk_rest_tets_free(hk_rest_tets *rest);
// The loaded shape is another one, and the term of the tets has it already.
void hk_rest_tets_measure(hk_rest_tets *rest);

// Overwrites `force` by elastic forces and weight. Returns the least det F̂: where it is not
// positive, or NaN, the forces mean nothing.
double hk_rest_tets_force(hk_rest_tets *rest, const double *X, double *force);
// ∂f/∂X at X, with the components wanted (HK_WHOLE_JACOBIAN).
hk_status hk_rest_tets_linearise(hk_rest_tets *rest, const double *X, int components);
// Overwrites `force` by ∂f/∂X displacement.
void hk_rest_tets_product(hk_rest_tets *rest, const double *displacement, double *force);
// The blocks of all tets, ∂f_a/∂X_b for vertices a, b in Morton order; in a fixed order.
void hk_rest_tets_visit(const hk_rest_tets *rest, hk_block_fn *visit, void *context);
// to = F̂ from, with F̂ the mean around each vertex. They may not be the same.
void hk_rest_tets_carry(hk_rest_tets *rest, const double *X, const double *from, double *to);
// Right-hand sides of the Poisson equation for what a rotation–strain step is more than
// length × step; returns the largest entry of its exponents.
double hk_rest_tets_bend(hk_rest_tets *rest, const double *X, const double *step, double length,
                         double *right);

// ---- from an older loaded shape x0 to x (warp.h says what for)

hk_status hk_rest_tets_turn(hk_rest_tets *rest, const double *x0, const double *x);
// Sums over the tets around each vertex, with the rotations R of the last turn: what the kernels of
// the same names say (rest_lanes.h).
void hk_rest_tets_spin(hk_rest_tets *rest, const double *vector, double *to);
void hk_rest_tets_whirl(hk_rest_tets *rest, const double *u, double *to);
void hk_rest_tets_twist(hk_rest_tets *rest, const double *u, double *to);
void hk_rest_tets_warp(hk_rest_tets *rest, const double *u, const double *whirl0,
                       const double *whirl1, double *to);
void hk_rest_tets_unwarp(hk_rest_tets *rest, const double *u, const double *twisted,
                         const double *whirl0, double *to);
// Right-hand sides of the Poisson equation for X − x such that ∂X/∂x is that of the pair x0, X0.
void hk_rest_tets_follow(hk_rest_tets *rest, const double *x0, const double *X0, double *right);

#endif
