// The two constant matrices of an inverse problem, made once for a loaded shape x:
//
//   K  the stiffness of x as if it were the rest shape. Elsewhere ∂f/∂X is about K F, so that
//      dX = −F⁻¹ K⁻¹ f is nearly Newton's step, F being the mean around each vertex.
//   L  the Laplacian of x, one unknown per vertex: it puts X together from what a rotation–strain
//      step wants of every tet.
//
// Both are factored in double and solved with in single precision: their solutions are corrections,
// of which the next evaluation of f, in double, shows what they left.
#ifndef HK_PRECONDITION_H
#define HK_PRECONDITION_H

#include "design/inverse.h"
#include "linear/factor.h"
#include "linear/fronts.h"
#include "term/assembly.h"

typedef struct hk_precondition {
    hk_inverse *inverse;
    hk_assembly *assembly;                           // pattern of both, in elimination order
    hk_pattern scalar;                               // borrows its arrays
    hk_direct *stiffness, *laplacian;                // that have analysed the pattern
    hk_fronts *stiffness_fronts, *laplacian_fronts;  // and factor it
    hk_factor *stiffness_factor, *laplacian_factor;  // 3 unknowns per vertex, and one
    double *blocks;                                  // of the elements, for K
    double *values;                                  // of K, and of L
    int32_t *entry;  // [tet_count][10] of a pair of corners in L, -1: held
    double *right;   // [vertex_count][4]
} hk_precondition;

hk_status hk_precondition_create(hk_inverse *inverse, hk_precondition **precondition);
void hk_precondition_free(hk_precondition *precondition);
// `positive` is false where K is singular: what is held does not hold the bodies.
hk_status hk_precondition_factor(hk_precondition *precondition, bool *positive);

// to = K⁻¹ from, 0 at held vertices; to may be from.
void hk_precondition_stiffness(hk_precondition *precondition, const double *from, double *to);
// x' = x + length × step + L⁻¹ (what the rotation–strain step has beyond that). Returns the largest
// entry of the exponents; where it is beyond `most`, nothing else is done.
double hk_precondition_step(hk_precondition *precondition, const double *X, const double *step,
                            double length, double most, double *moved);

#endif
