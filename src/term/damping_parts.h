// What the matrix of viscous damping (viscosity.h) is made of, element by element:
//
//   β K = Σ_e (viscous + viscous of e's material) K_e(x) + laplacian Σ_e L_e
//
// with one β of reference. L is a constant Laplacian with one unknown per vertex, as Li et al. 2018
// damp with that of projective dynamics: L_e has a third of the trace of each 3×3 block of K_e at
// rest, which for a tet is V (4μ + λ)/3 ∇N_a·∇N_b. It damps motions of a body against its rest
// shape as it lies in space, rotations among them, and the same in all directions.
#ifndef HK_DAMPING_PARTS_H
#define HK_DAMPING_PARTS_H

#include "term/terms.h"

// β: that of the list, or else the largest of a material or of the Laplacian; 0: nothing is damped.
double hk_damping_reference(const hk_terms *list);
// The most that an element is damped, s.
double hk_damping_most(const hk_terms *list);
// The blocks of L; in double precision.
hk_status hk_laplacian_blocks(hk_terms *list, double **blocks);
// The blocks K_e become those of K; `laplacian` may be NULL.
void hk_damping_scale(const hk_terms *list, double reference, const double *laplacian,
                      double *blocks);

#endif
