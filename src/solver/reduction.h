// Newton's matrix for the unknowns of a manifold: K = JᵀHJ + gᵀ ∂²x/∂q² from the matrix H over all
// free vertices. The unknowns are those of the vertices that nothing ties, a block of three each,
// and those of trees, in blocks of three as well; the last block of a tree is filled up with
// unknowns that stay 0.
#ifndef HK_REDUCTION_H
#define HK_REDUCTION_H

#include "solver/manifold.h"
#include "term/assembly.h"

typedef struct hk_reduction {
    hk_manifold *manifold;        // borrowed
    const hk_assembly *assembly;  // of H, borrowed; blocks in Morton order
    hk_pattern pattern;           // of K, in elimination order or as vertices come
    int32_t *own;                 // [assembly->pattern.count] K's block of an H's, -1: a tree's
    int32_t *of_tree;             // [manifold->block_count] K's block
    double *values;               // [hk_pattern_size(pattern)] K
    double *right;                // [3 pattern.count]
    double *matrix;               // [most][most] of one tree, workspace
    double *unknowns;             // [most]
    int32_t *block_of;            // [vertex_count] H's; -1: none. NULL: there are no cavities
} hk_reduction;

// ordered: for elimination.
hk_status hk_reduction_create(hk_manifold *manifold, const hk_assembly *assembly, bool ordered,
                              hk_reduction **reduction);
void hk_reduction_free(hk_reduction *reduction);
// K at the state x where the manifold stands, from H (lower) and the gradient over vertices, which
// may be NULL: without the curvature. (Of cavities it has that, too; their equations are for the
// solution.)
void hk_reduction_set(hk_reduction *r, const double *lower, const double *x,
                      const double *gradient);
// Where the blocks are, [pattern.count][4] m: vertices of their own, the middles of parts.
void hk_reduction_positions(const hk_reduction *r, const double *x, double *position);
// right = −Jᵀ gradient, and direction = J solution.
void hk_reduction_gather(hk_reduction *r, const double *gradient);
void hk_reduction_scatter(hk_reduction *r, double *direction);

#endif
