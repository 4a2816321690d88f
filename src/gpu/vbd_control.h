// What steers `vbd` on the device (solver/vbd.c): acceleration, looks at the energy, careful steps.
// As control.h does for `descent`; plain C, too.
#ifndef HK_VBD_CONTROL_H
#define HK_VBD_CONTROL_H

#include "gpu/control.h"

enum { HK_VBD_STEPS_AUTO, HK_VBD_STEPS_FULL, HK_VBD_STEPS_CAREFUL };  // as vbd.c numbers them
enum { HK_VBD_LEAST_PATIENCE = 4, HK_VBD_MOST_PATIENCE = 64 };
#define HK_VBD_SHORTEST 1e-4f

typedef struct hk_gpu_vbd_settings {
    int acceleration;  // HK_GPU_CHEBYSHEV, HK_GPU_NESTEROV or HK_GPU_PLAIN
    int steps;         // HK_VBD_STEPS_…
    double rho;        // for Chebyshev
    double margin;     // of rounding, within which a walk that stalls has converged
} hk_gpu_vbd_settings;

typedef struct hk_gpu_vbd_control {
    hk_gpu_control shared;  // state, iterations, good, and energy, residual and scale of that
    int careful;            // vertices take care, until
    int streak;             // looks since then
    int patience;           // are this many
    int since_restart;      // sweeps of the acceleration
    int fresh;              // nothing was kept since it began
    int quiet;              // none until the next look
    double omega;           // of the last sweep before the last look
    double caution;         // 1 − ρ is taken times this
    // Of models whose elements convert:
    int converting;  // some do
    int undone;      // the last look went back
    float length;    // of steps, relative to what is usual
} hk_gpu_vbd_control;

// What a look decides.
enum {
    HK_VBD_KEEP = 1,    // the state becomes the good one
    HK_VBD_UNDO = 2,    // it is replaced by that
    HK_VBD_RESTART = 4  // the acceleration begins anew
};

HK_CONTROL int vbd_is_careful(const hk_gpu_vbd_settings *o, const hk_gpu_vbd_control *c)
{
    return o->steps == HK_VBD_STEPS_CAREFUL || (o->steps == HK_VBD_STEPS_AUTO && c->careful);
}

HK_CONTROL double vbd_next_omega(double rho, int n, double omega)
{
    return n == 0 ? 1 : n == 1 ? 2 / (2 - rho * rho) : 4 / (4 - rho * rho * omega);
}

HK_CONTROL double vbd_rate(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                           const hk_gpu_vbd_control *c)
{
    // What inertia allows (estimate_rate in vbd.c).
    double rho = fmin(o->rho, (1 - s->slowest) * (1 - s->slowest));
    return fmax(0.0, 1 - c->caution * (1 - rho));
}

// Chebyshev's ω, or Nesterov's momentum, after sweep k since the last look.
HK_CONTROL double vbd_weight(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                             const hk_gpu_vbd_control *c, int k)
{
    int n = c->since_restart;
    if (o->acceleration == HK_GPU_NESTEROV) return (n + k) / (n + k + 3.0);
    double rho = vbd_rate(s, o, c), omega = c->omega;
    for (int i = 0; i <= k; i++) omega = vbd_next_omega(rho, n + i, omega);
    return omega;
}

HK_CONTROL void vbd_restart(hk_gpu_vbd_control *c)
{
    c->since_restart = 0;
    c->fresh = 1;
    c->omega = 1;
}

// Before the first sweep of a step; carefulness goes on from the last one.
HK_CONTROL void vbd_begin(hk_gpu_vbd_control *c, const hk_gpu_control *chosen)
{
    c->shared = *chosen;
    c->caution = 1;
    c->length = 1;
    c->quiet = c->undone = 0;
    if (c->patience < HK_VBD_LEAST_PATIENCE) c->patience = HK_VBD_LEAST_PATIENCE;
    vbd_restart(c);
}

// After sweeps, before what comes of them is known.
HK_CONTROL void vbd_advance(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                            hk_gpu_vbd_control *c, int sweeps)
{
    if (o->acceleration == HK_GPU_CHEBYSHEV && sweeps > 0)
        c->omega = vbd_weight(s, o, c, sweeps - 1);
    c->since_restart += sweeps;
    c->shared.iterations += sweeps;
}

HK_CONTROL int vbd_keep(hk_gpu_vbd_control *c, int too_far)
{
    int restart = c->quiet || too_far;
    if (restart) vbd_restart(c);
    c->fresh = c->quiet = 0;
    c->length = fminf(1, 2 * c->length);
    if (c->careful && ++c->streak >= c->patience) c->careful = 0;
    return HK_VBD_KEEP | (restart ? HK_VBD_RESTART : 0);
}

HK_CONTROL int vbd_undo(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                        hk_gpu_vbd_control *c)
{
    hk_gpu_control *all = &c->shared;
    int first = c->fresh, careful = c->careful || o->steps != HK_VBD_STEPS_AUTO, over = 0;
    vbd_restart(c);
    c->caution *= 2;
    if (first && careful && c->quiet) {
        // Without conversion that was rounding.
        c->length *= 0.5f;
        over = !c->converting || c->length < HK_VBD_SHORTEST;
    } else if (first) {
        if (!c->careful && c->streak > 0)
            c->patience =
                2 * c->patience < HK_VBD_MOST_PATIENCE ? 2 * c->patience : HK_VBD_MOST_PATIENCE;
        c->careful = c->quiet = 1;
        c->streak = 0;
    }
    if (over) {
        double rounding = fmax(s->tolerance * all->scale, o->margin * s->rounding);
        all->state = all->residual <= rounding ? HK_GPU_CONVERGED : HK_GPU_STALLED;
    }
    return HK_VBD_UNDO | HK_VBD_RESTART;
}

// Keeps or undoes the `sweeps` since the last look.
HK_CONTROL int vbd_look(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                        hk_gpu_vbd_control *c, const double *sums, int sweeps)
{
    hk_gpu_control *all = &c->shared;
    double energy = sums[HK_SUM_ELASTIC] + sums[HK_SUM_QUADRATIC];
    double residual = sqrt(sums[HK_SUM_RESIDUAL]);
    double noise = s->noise + 1e-7 * fabs(sums[HK_SUM_ELASTIC]);
    vbd_advance(s, o, c, sweeps);
    for (int k = 0; k < HK_SUM_WIDTH; k++) all->sums[k] = sums[k];
    if (!control_finite(energy) || !control_finite(residual) || energy > all->energy + noise)
        return vbd_undo(s, o, c);
    // Where energies do not tell, a gradient that grows says that the momentum went too far.
    int too_far = energy > all->energy - noise && residual > 1.5 * all->residual;
    all->elastic = sums[HK_SUM_ELASTIC];
    all->energy = energy;
    all->residual = residual;
    if (residual <= fmax(s->tolerance * all->scale, s->rounding)) all->state = HK_GPU_CONVERGED;
    return vbd_keep(c, too_far);
}

// The same where elements convert: `looked` is what the look of `descent` and its comparison made
// of the shared part, which has another good state if the sweep is to be kept.
HK_CONTROL int vbd_take(const hk_gpu_settings *s, const hk_gpu_vbd_settings *o,
                        hk_gpu_vbd_control *c, const hk_gpu_control *looked)
{
    int iterations = c->shared.iterations, kept = looked->good != c->shared.good;
    c->shared = *looked;
    c->shared.iterations = iterations;
    c->shared.from_good = c->shared.refresh = 0;
    c->undone = !kept;
    return kept ? vbd_keep(c, 0) : vbd_undo(s, o, c);
}

#endif
