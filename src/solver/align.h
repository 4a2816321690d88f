// Free bodies go where they are best as rigid ones (rigid.h), before the iterations of a time step
// and after them: methods that pass on forces from neighbour to neighbour do that last.
#ifndef HK_ALIGN_H
#define HK_ALIGN_H

#include "solver/start.h"

// Where there is any (hk_rigid_any). `start` has the energy ε; the one that is taken is the least
// of it, of it aligned, and of it with free bodies in the shape that they have in `x`. `workspace`
// is [vertex_count][4].
void hk_align_start(hk_problem *problem, const double *x, double energy, double *workspace,
                    double *start);
// The end of a solve that did not converge; the report is of the state after it.
void hk_align_end(hk_problem *problem, double tolerance, double *workspace, double *x,
                  hk_solve_report *report);

#endif
