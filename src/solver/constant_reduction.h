// A constant matrix A (constant_matrix.h) for the unknowns of a manifold. J changes as parts turn,
// but the columns of J at a part are affine functions of its rest positions: with the four
// functions φ = (1, X − C) of each part as unknowns of A in the place of its vertices,
//
//   A = | A_ss  B |,   B = A_sc φ,  G = φᵀ A_cc φ,
//       | Bᵀ    G |
//
// is constant as well, and is eliminated once: W = A_ss⁻¹ B, S = G − BᵀW. What depends on the state
// is a small dense system over the unknowns q of the trees, κᵀ S κ with their coefficients κ(R) in
// φ. A solve costs one with A_ss and some products with W. A_ss is the matrix with tied vertices
// held.
#ifndef HK_CONSTANT_REDUCTION_H
#define HK_CONSTANT_REDUCTION_H

#include "solver/manifold.h"
#include "solver/problem.h"

typedef struct hk_constant_reduction {
    hk_problem *problem;  // borrowed
    hk_manifold *manifold;
    int part_count;     // heavy parts
    int32_t *parts;     // their numbers
    int32_t *place;     // [all parts] in `parts`, -1: none
    int count;          // unknowns of heavy trees
    int32_t *first;     // [trees] the first of a tree, -1: light
    double *border;     // [4 part_count][vertex_count] B, then W
    double *gram;       // [4 part_count][4 part_count] G, then S
    double *kappa;      // [4 part_count][3][count]
    double *half;       // [4 part_count][3][count] S κ
    double *system;     // [count][count] factor of κᵀ S κ,
    int64_t version;    // at this state of the manifold
    double *unknowns;   // [count]
    double *sums;       // [4 part_count][3]
    double *laplacian;  // [4 part_count][vertex_count] B of L alone
    double *of_gram;    // [4 part_count][4 part_count] G of L alone
} hk_constant_reduction;

// Solves with A_ss: to = A_ss⁻¹ from, both [vertex_count][4], 0 at held and heavily tied vertices.
typedef hk_status hk_inner_solve_fn(void *context, const double *from, double *to);

// weight is [material_count], of L.
hk_status hk_constant_reduction_create(hk_problem *problem, const double *weight,
                                       hk_constant_reduction **reduction);
void hk_constant_reduction_free(hk_constant_reduction *reduction);
// For another inertia or damping: W and S again. stiffening is that of L.
hk_status hk_constant_reduction_prepare(hk_constant_reduction *r, hk_inner_solve_fn *solve,
                                        void *context);
// to = J (JᵀAJ)⁻¹ Jᵀ from over the unknowns of heavy trees and of the vertices that nothing ties,
// at the state where the manifold stands. `solved` is A_ss⁻¹ from; to may be it.
hk_status hk_constant_reduction_apply(hk_constant_reduction *r, const double *from,
                                      const double *solved, double *to);

#endif
