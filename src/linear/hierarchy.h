// A matrix and ever coarser versions of it, by smoothed aggregation (Vaněk, Mandel & Brezina 1996),
// for matrices with one unknown a vertex that serves x, y and z: Laplacians with a mass on the
// diagonal. Groups of neighbours (aggregation.h) become one unknown; the piecewise constant
// interpolation T from these is smoothed by one step of Jacobi's method, P = (1 − ω A) T, and the
// coarse matrix is Pᵀ A P. Every level is scaled so that its diagonal is 1. Made on the CPU once;
// the cycles over it are elsewhere (multigrid.h, gpu/multigrid.cu).
//
// A V-cycle with one step of Jacobi's method before and after the coarse correction is a linear
// function of its right-hand side b. Multiplied out, with S = 1 − ω A,
//
//   down   b' = Pᵀ S b                       of the next level
//   up     x  = ω (b + S b) + S P x'         from the solution there
//
// it has two products a level, each of them one pass over the rows: few kernels on a GPU, and no
// more numbers to read than the steps one by one have. It is symmetric and positive definite.
#ifndef HK_HIERARCHY_H
#define HK_HIERARCHY_H

#include "linear/sparse.h"

enum { HK_MOST_LEVELS = 16 };
typedef struct hk_hierarchy hk_hierarchy;

typedef struct hk_level {
    int count;
    // ω (b + S b) = own b + smooth b: `smooth` has no diagonal.
    double own;
    hk_sparse smooth;
    // Pᵀ S and its transpose; empty on the last level.
    hk_sparse down, up;
} hk_level;

struct hk_hierarchy {
    int count;     // levels
    double *root;  // [rows] 1/√a_ii: scales right-hand side and solution; 0: the row is out
    hk_level level[HK_MOST_LEVELS];
    double *dense;  // [n][n] the inverse of the last level's matrix; NULL: it is too large for that
                    // (what is left of it is nearly diagonal) and is smoothed only
};

// From the numbers of a scalar pattern. Levels end at `smallest` unknowns. Rows whose diagonal is
// not positive (held vertices) are out.
hk_status hk_hierarchy_create(const hk_pattern *pattern, const double *lower, int smallest,
                              int threads, hk_hierarchy **hierarchy);
void hk_hierarchy_free(hk_hierarchy *hierarchy);
// Numbers that a cycle reads, over those of the matrix.
double hk_hierarchy_complexity(const hk_hierarchy *hierarchy);

#endif
