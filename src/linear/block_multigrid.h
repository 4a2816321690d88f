// Algebraic multigrid for Hessians of elastic bodies: smoothed aggregation with rigid-body modes.
//
// Vertices are grouped with their neighbours (linear/aggregation.h); a group moves as a rigid body,
// with six unknowns, and so do groups of groups. Such piecewise rigid motions are smoothed by one
// step of damped Jacobi and span the coarser level, whose matrix is Pᵀ A P (Vaněk, Mandel and
// Brezina 1996). A V-cycle with Chebyshev polynomials over the inverses of the diagonal blocks is
// symmetric and positive definite: a preconditioner for conjugate gradients whose iterations hardly
// grow with the mesh.
#ifndef HK_BLOCK_MULTIGRID_H
#define HK_BLOCK_MULTIGRID_H

#include "linear/block_rows.h"

typedef struct hk_block_multigrid hk_block_multigrid;

// The hierarchy for matrices with the pattern of `a`, which has to outlive it. `start` and `column`
// of a matter, its numbers do not.
hk_status hk_block_multigrid_create(const hk_block_rows *a, hk_block_multigrid **multigrid);
void hk_block_multigrid_free(hk_block_multigrid *multigrid);

// Takes the numbers of the matrix; x [rows][4] are the positions of its vertices, m. `positive`:
// whether it is as positive definite as was noticed; if not, there is nothing to cycle with.
void hk_block_multigrid_set(hk_block_multigrid *multigrid, const double *x, bool *positive);
// Takes them on the finest level alone; the coarser ones stay those of an earlier matrix. A
// fraction of the work, and as good for matrices that are alike.
void hk_block_multigrid_refresh(hk_block_multigrid *multigrid, bool *positive);

// z = B r: one V-cycle from zero. Vectors are [rows][4], the fourth number 0 in r; z may not be r.
void hk_block_multigrid_cycle(hk_block_multigrid *multigrid, const double *r, double *z);

int hk_block_multigrid_levels(const hk_block_multigrid *multigrid);
int hk_block_multigrid_rows(const hk_block_multigrid *multigrid, int level);
// Blocks of all levels (as 3×3 ones) per block of the finest.
double hk_block_multigrid_complexity(const hk_block_multigrid *multigrid);
// What a level stands for on the one above it, for tests: fine = P coarse.
void hk_block_multigrid_prolong(const hk_block_multigrid *multigrid, int level,
                                const double *coarse, double *fine);
// The rigid-body modes of a level, [rows][6][size] by columns.
const double *hk_block_multigrid_modes(const hk_block_multigrid *multigrid, int level);

// Conjugate gradients with it.
typedef struct hk_block_cg {
    double tolerance;  // of ‖r‖/‖b‖
    int most;          // iterations
    int iterations;    // that it took
    double residual;   // ‖r‖/‖b‖ at the end
    bool indefinite;   // a direction of negative curvature turned up; x is what was found before
} hk_block_cg;
// From x = 0. b and x are [rows][4]; b becomes the residual.
void hk_block_multigrid_solve(hk_block_multigrid *multigrid, hk_block_cg *cg, double *b, double *x);

#endif
