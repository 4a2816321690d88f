// The coefficients of a law, as the registry prepares them and the kernels read them. Plain data:
// the same for all elements of a group, and for every backend.
#ifndef HK_PARAMS_H
#define HK_PARAMS_H

// The registry prepares them in double precision; kernels on the GPU read them in single.
#ifndef HK_PARAM
#define HK_PARAM       double
#define HK_HOST_PARAMS 1
#include "hooke/hooke.h"
#endif

enum { HK_LAW_COEFFICIENTS = 5, HK_CURVE_POWERS = 12, HK_CURVE_KNOTS = 24 };

// φ(x) = Σ_k power[k] (x − 1)^k + Σ_k jump[k] max(0, x − knot[k])⁴: a polynomial, or the integral
// of a natural cubic spline in truncated powers. No table look-up, hence no branch per lane.
typedef struct hk_law_curve {
    int powers, knots;
    HK_PARAM power[HK_CURVE_POWERS];
    HK_PARAM knot[HK_CURVE_KNOTS];
    HK_PARAM jump[HK_CURVE_KNOTS];
    HK_PARAM value, slope;  // φ(1), φ′(1)
} hk_law_curve;

typedef struct hk_law_params {
    HK_PARAM c[HK_LAW_COEFFICIENTS];  // in the order of the law's parameter names
    hk_law_curve curves[3];           // f, g, h of the laws in principal stretches
#ifdef HK_HOST_PARAMS
    hk_custom_law custom;  // of the law `custom`
#endif
} hk_law_params;

// Invertible model conversion (Descent section 5.1, see term/blend.h).
typedef struct hk_blend_law {
    HK_PARAM upper, lower;  // stretches where it begins and is complete; upper 0: never
    HK_PARAM decay;         // of the share l, an iteration
    HK_PARAM stiffness;     // Pa, w
    HK_PARAM modulus;       // Pa, Young's, of the law
    int steps_only;         // not in poses, where elements may come to rest between the two laws
} hk_blend_law;

#endif
