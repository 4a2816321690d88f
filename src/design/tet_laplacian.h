// The Laplacian of the tets of a model, v ∇N_a · ∇N_b, one unknown per vertex: without weights of
// materials and without other terms, which term/laplacian.h has.
#ifndef HK_TET_LAPLACIAN_H
#define HK_TET_LAPLACIAN_H

#include "linear/pattern.h"
#include "model/model.h"

// The part of one tet.
void hk_tet_laplacian(const hk_model *model, int tet, double weight[4][4]);
// Where the pairs of corners (hk_tet_pairs) of every tet stand in a scalar pattern over the
// unknowns, [tet_count][10], -1: one of them is none. The caller frees it; NULL: no memory.
int32_t *hk_tet_laplacian_entries(const hk_model *model, const int32_t *unknown,
                                  const hk_pattern *scalar, int threads);
// Overwrites the lower triangle `values`.
void hk_tet_laplacian_numbers(const hk_model *model, const hk_pattern *scalar,
                              const int32_t *entries, double *values);

#endif
