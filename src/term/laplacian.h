// The constant matrix of projective dynamics, and the stand-in for the Hessian of any material
// (QuasiNewton): a Laplacian with one number for each pair of vertices that serves x, y and z,
//
//   L_ab = Σ_tets w V ∇φ_a·∇φ_b + Σ_links w c_a c_b.
#ifndef HK_LAPLACIAN_H
#define HK_LAPLACIAN_H

#include "term/assembly.h"

// Fills the lower triangle `values` of `scalar`, a scalar pattern over the unknowns of the
// assembly. weight is [material_count], N/m² of each material.
void hk_laplacian_fill(const hk_model *model, const hk_links *links, const hk_assembly *assembly,
                       const hk_pattern *scalar, const double *weight, double *values);

#endif
