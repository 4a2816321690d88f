// The rotation correction of method split (rotation_correction.h, where the formulas are) for
// preconditioners: A resists turning as it resists stretching, which no material does. With
// B_c u the mean spin of a cluster, C = 2 W_c and constants P = A⁻¹ g, τ = gᵀ P
//
//   (A − Bᵀ C B)⁻¹ = A⁻¹ + Q (C⁻¹ − B Q)⁻¹ Qᵀ,   Q = A⁻¹ Bᵀ,
//
// where Q has the columns of P times the clusters' rotations. It is symmetric and positive definite
// whatever stands in for the first A⁻¹, so that may be a cycle of multigrid; P is better than that.
#ifndef HK_SPIN_CORRECTION_H
#define HK_SPIN_CORRECTION_H

#include "solver/constant_matrix.h"
#include "solver/spin_bodies.h"

typedef struct hk_spin_state hk_spin_state;
typedef struct hk_spin_correction {
    hk_constant_matrix *matrix;  // A, borrowed
    hk_spin_bodies bodies;
    hk_spin_state *states;  // [bodies.count]
    double *partial;        // sums over runs of vertices
    hk_quadratic prepared;  // that of A when P was made; NAN: not yet
} hk_spin_correction;

// At most `clusters` of a body; stiffness is [material_count], the weights of A, N/m². On failure
// the caller releases it.
hk_status hk_spin_correction_init(hk_spin_correction *s, hk_constant_matrix *matrix,
                                  const double *stiffness, int clusters);
void hk_spin_correction_release(hk_spin_correction *s);
// P and τ for A as it is now; anew (may be NULL) says whether there was anything to do.
hk_status hk_spin_correction_prepare(hk_spin_correction *s, bool *anew);
// Rotations at x, [vertex_count][4].
void hk_spin_correction_turn(hk_spin_correction *s, const double *x);
// Of right-hand side q and t = A⁻¹ q: adds to t. Before it, t may be q; so it is in two parts.
void hk_spin_correction_gather(hk_spin_correction *s, const double *q);
void hk_spin_correction_add(hk_spin_correction *s, double *t);

#endif
