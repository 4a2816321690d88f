// Conjugate gradients with a cycle of multigrid (multigrid.h) as the preconditioner, in double
// precision: solves with a constant matrix as exactly as a factor would, in memory that grows with
// the matrix. The bits do not depend on the number of threads.
#ifndef HK_MULTIGRID_CG_H
#define HK_MULTIGRID_CG_H

#include "linear/multigrid.h"

typedef struct hk_multigrid_cg hk_multigrid_cg;

// The pattern is a scalar one; nothing is kept of the arguments.
hk_status hk_multigrid_cg_create(const hk_pattern *pattern, const double *lower, int threads,
                                 hk_multigrid_cg **solver);
void hk_multigrid_cg_free(hk_multigrid_cg *solver);
// x = A⁻¹ b until each of the three residuals is at most `tolerance` of its right-hand side, or
// nothing comes nearer. double[count][4] both, the fourth numbers are of no account; x is 0 in rows
// whose diagonal is not positive. Returns the iterations.
int hk_multigrid_cg_solve(hk_multigrid_cg *solver, double tolerance, const double *b, double *x);

#endif
