// The method of Descent, for others to build on.
#ifndef HK_DESCENT_H
#define HK_DESCENT_H

#include "solver/method.h"

// Jacobi with Chebyshev acceleration over a constant diagonal ([vertex_count] N/m, without inertia;
// it must outlive the solver): projective dynamics after Wang 2015. Start, precision, iterations
// and tolerance are those of `settings`.
hk_status hk_descent_create_projective(hk_problem *problem, const hk_settings *settings, double rho,
                                       const double *diagonal, void **solver);

#endif
