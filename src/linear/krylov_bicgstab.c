// BiCGStab (van der Vorst 1992), preconditioned from the right, so that residuals are those of x.
#include "linear/krylov_parts.h"

hk_krylov_end hk_krylov_bicgstab(hk_krylov *k, double *r)
{
    double *shadow = k->vector[0], *p = k->vector[1], *v = k->vector[2], *s = k->vector[3];
    double *t = k->vector[4];
    size_t bytes = sizeof(double) * (size_t)k->size;
    double rho = hk_krylov_dot(k, r, r), first = rho;
    memcpy(shadow, r, bytes);
    memcpy(p, r, bytes);
    for (;;) {
        hk_krylov_precondition(k, p, s);
        hk_krylov_apply(k, s, v);
        double sigma = hk_krylov_dot(k, shadow, v);
        if (sigma == 0) return HK_KRYLOV_BROKEN;
        double alpha = rho / sigma;
        hk_krylov_add(k, alpha, s, k->x);
        hk_krylov_add(k, -alpha, v, r);
        double half = hk_krylov_norm(k, r);
        if (half <= k->goal || !isfinite(half)) return hk_krylov_stops(k, half), HK_KRYLOV_DONE;
        hk_krylov_precondition(k, r, s);
        hk_krylov_apply(k, s, t);
        double tt = hk_krylov_dot(k, t, t), omega = tt > 0 ? hk_krylov_dot(k, t, r) / tt : 0;
        hk_krylov_add(k, omega, s, k->x);
        hk_krylov_add(k, -omega, t, r);
        if (hk_krylov_stops(k, hk_krylov_norm(k, r))) return HK_KRYLOV_DONE;
        double next = hk_krylov_dot(k, shadow, r);
        // The shadow has turned away, or the last half has done nothing.
        if (omega == 0 || fabs(next) < 1e-30 * first) return HK_KRYLOV_BROKEN;
        hk_krylov_add(k, -omega, v, p);
        hk_krylov_onto(k, r, next / rho * (alpha / omega), p);
        rho = next;
    }
}
