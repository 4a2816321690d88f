// Time integrators: where a body would go by inertia alone (y), how heavily a deviation weighs, and
// the velocity afterwards. Each is one file and one line in integrator.c. Vectors are double[n][4].
#ifndef HK_INTEGRATOR_H
#define HK_INTEGRATOR_H

#include "core/base.h"

typedef struct hk_integrator {
    const char *name;
    const char *summary;
    // Fills y for a step h from x and v; returns w, so that the step minimises
    // w/2 ‖x − y‖²_M + E(x).
    double (*predict)(double h, int64_t size, const double *x, const double *v, double *y);
    // Velocities after the step from `before` to `after`.
    void (*velocity)(double h, int64_t size, const double *before, const double *after, double *v);
} hk_integrator;

// Sets the error, listing the known ones, if there is none of that name.
hk_status hk_integrator_find(const char *name, const hk_integrator **integrator);

extern const hk_integrator hk_backward_euler;

#endif
