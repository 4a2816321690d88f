// A matrix and ever coarser versions of it, by smoothed aggregation (Vaněk, Mandel & Brezina 1996),
// for matrices with one unknown a vertex that serves x, y and z: Laplacians with a mass on the
// diagonal. Groups of neighbours (aggregation.h) become one unknown; the piecewise constant
// interpolation T from these is smoothed by one step of Jacobi's method, P = (1 − ω D⁻¹A) T, and
// the coarse matrix is Pᵀ A P. Made on the CPU once; the cycles over it are elsewhere (multigrid.h,
// gpu/multigrid.cu).
#ifndef HK_HIERARCHY_H
#define HK_HIERARCHY_H

#include "linear/sparse.h"

enum { HK_MOST_LEVELS = 16 };

typedef struct hk_level {
    hk_sparse matrix;      // A, symmetric
    double *inverse;       // [rows] 1 / a_ii; 0: the row is out (a held vertex)
    double greatest;       // bound of the eigenvalues of D⁻¹A
    hk_sparse prolong;     // P, from the next level; empty on the last one
    hk_sparse restricted;  // Pᵀ
} hk_level;

typedef struct hk_hierarchy {
    int count;  // levels
    hk_level level[HK_MOST_LEVELS];
    double *dense;  // [n][n] the inverse of the last level's matrix; NULL: it is too large for that
                    // (what is left of it is nearly diagonal) and is smoothed instead
} hk_hierarchy;

// From the numbers of a scalar pattern. Levels end at `smallest` unknowns. Rows whose diagonal is
// not positive are out.
hk_status hk_hierarchy_create(const hk_pattern *pattern, const double *lower, int smallest,
                              int threads, hk_hierarchy **hierarchy);
void hk_hierarchy_free(hk_hierarchy *hierarchy);
// Entries of all levels' matrices over those of the first: the operator complexity.
double hk_hierarchy_complexity(const hk_hierarchy *hierarchy);

// Chebyshev's smoother over Jacobi's method for the part of the spectrum of D⁻¹A from
// greatest / reach to greatest: x₁ = first D⁻¹b, or from another start x₁ = x + first D⁻¹(b − A x);
// then x⁺ = x + momentum (x − x₋) + length D⁻¹(b − A x). A fixed number of steps is a polynomial of
// D⁻¹A: before and after the coarse correction it makes a symmetric cycle.
enum { HK_MOST_SMOOTHING = 8 };
typedef struct hk_smoother {
    int steps;
    float length[HK_MOST_SMOOTHING];    // the first one is `first`
    float momentum[HK_MOST_SMOOTHING];  // the first one is 0
} hk_smoother;
hk_smoother hk_smoother_for(double greatest, double reach, int steps);

#endif
