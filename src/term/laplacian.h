// The constant matrix of projective dynamics, and the stand-in for the Hessian of any material
// (QuasiNewton): a Laplacian with one number for each pair of vertices that serves x, y and z, the
// sum of what the terms bound their Hessians by (hk_weights in term.h):
//
//   L_ab = Σ_tets w V ∇φ_a·∇φ_b + Σ_links w c_a c_b + …
#ifndef HK_LAPLACIAN_H
#define HK_LAPLACIAN_H

#include "term/assembly.h"

// The pattern over `count` unknowns, the vertices (Morton order) where unknown[] is not -1.
hk_status hk_laplacian_pattern(const hk_model *model, const int32_t *unknown, int count,
                               hk_pattern *scalar);
// Fills the lower triangle `values` of `scalar`, a scalar pattern over such unknowns. weight is
// [material_count], N/m² of each material.
void hk_laplacian_numbers(const hk_model *model, const int32_t *unknown, const hk_pattern *scalar,
                          const double *weight, double *values);
// Where row r ≥ c of column c of a scalar pattern stands; -1: it has none there.
int64_t hk_laplacian_entry(const hk_pattern *scalar, int32_t c, int32_t r);

#endif
