// Calls of laws that users write (hk_custom_law), in double precision, one deformation gradient at
// a time. All take F row-major, and keep away from F that are not finite and from stresses where
// the law is not defined.
#ifndef HK_CUSTOM_CALL_H
#define HK_CUSTOM_CALL_H

#include "material/params.h"

#ifdef HK_HOST_PARAMS

// ψ; INFINITY where it is not defined.
double hk_custom_energy(const hk_custom_law *law, const double F[9]);
// ψ, and P; 0 where ψ is not defined.
double hk_custom_stress(const hk_custom_law *law, const double F[9], double P[9]);
// ∂P/∂F, made symmetric, with its negative eigenvalues times keep; 0 where ψ is not defined.
void hk_custom_hessian(const hk_custom_law *law, const double F[9], double keep, double H[81]);

// The law as methods that work tet by tet see it: (1 − l) ψ + l w‖F − R‖² (blend.h).
typedef struct hk_custom_blend {
    const hk_custom_law *law;
    double weight, stiffness;  // l, w
} hk_custom_blend;

// The z that is least in ψ(z) + k/2 ‖z − p‖² (prox.h); p where none is found.
void hk_custom_prox(const hk_custom_blend *blend, double k, const double p[9], double z[9]);
// Stress and positive semidefinite stiffness; those of w‖F − R‖² where ψ is not defined.
void hk_custom_response(const hk_custom_blend *blend, const double F[9], double P[9], double H[81]);

#endif
#endif
