// The method of Descent, for others to build on.
#ifndef HK_DESCENT_H
#define HK_DESCENT_H

#include "rules/descent.h"
#include "solver/method.h"

// The options of the method as its rules have them; longest and slowest are 0.
hk_descent_rules hk_descent_rules_of(const hk_settings *settings);
// Those of projective dynamics with Jacobi and Chebyshev of that rate (Wang 2015).
hk_descent_rules hk_descent_rules_projective(const hk_settings *settings, double rho);

// Jacobi with Chebyshev acceleration over a constant diagonal ([vertex_count] N/m, without inertia;
// it must outlive the solver): projective dynamics after Wang 2015. Start, precision, iterations
// and tolerance are those of `settings`.
hk_status hk_descent_create_projective(hk_problem *problem, const hk_settings *settings, double rho,
                                       const double *diagonal, void **solver);

#endif
