// The registry's view of a law (see law.h for the kernels' view). A law file ends with its
// description, compiled only where HK_DESCRIBE_LAWS is defined.
#ifndef HK_DESCRIBE_H
#define HK_DESCRIBE_H

#include "core/base.h"
#include "material/params.h"

typedef struct hk_law_info {
    const char *name;
    const char *summary;
    const char *formula;
    const char *parameters[HK_LAW_COEFFICIENTS + 1];  // names of params.c[], NULL-terminated
    unsigned positive;                                // bit k: c[k] must be > 0
    unsigned any_sign;   // bit k: c[k] may be negative; otherwise it must be ≥ 0
    unsigned optional;   // bit k: c[k] need not be named; without moduli, from_lame(0, 0)
    int element_values;  // per-element numbers that the kernels read (a fibre's direction)
    bool barrier;        // the energy is infinite for det F ≤ 0
    bool curves;         // takes f, g, h
    bool internal;       // not a material of its own
    bool converts;       // turns to projective dynamics when crushed unless told not to
    // w of the law as w/2 times a squared distance from a set (NULL: it is none).
    double (*projective)(const hk_law_params *p);
    // Coefficients from the Lamé constants of linear elasticity.
    void (*from_lame)(double mu, double lambda, hk_law_params *p);
    // What single coefficients must fulfil together (NULL: nothing).
    hk_status (*check)(const hk_law_params *p);
    // A curve as users of the law give it (laws with curves only); `name` is for messages.
    hk_status (*make_curve)(const char *name, const hk_curve *given, hk_law_curve *curve);
} hk_law_info;

#endif
