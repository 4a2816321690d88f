// Conjugate gradients, preconditioned. Where A is not positive along a direction the formulas still
// hold, and the report says so.
#include "linear/krylov_parts.h"

hk_krylov_end hk_krylov_cg(hk_krylov *k, double *r)
{
    double *z = k->vector[0], *p = k->vector[1], *q = k->vector[2];
    hk_krylov_precondition(k, r, z);
    memcpy(p, z, sizeof(double) * (size_t)k->size);
    double rz = hk_krylov_dot(k, r, z);
    for (;;) {
        hk_krylov_apply(k, p, q);
        double curvature = hk_krylov_dot(k, p, q);
        k->report->indefinite |= curvature < 0;
        if (curvature == 0 || rz == 0) return HK_KRYLOV_BROKEN;
        double length = rz / curvature;
        hk_krylov_add(k, length, p, k->x);
        hk_krylov_add(k, -length, q, r);
        if (hk_krylov_stops(k, hk_krylov_norm(k, r))) return HK_KRYLOV_DONE;
        hk_krylov_precondition(k, r, z);
        double next = hk_krylov_dot(k, r, z);
        hk_krylov_onto(k, z, next / rz, p);
        rz = next;
    }
}
