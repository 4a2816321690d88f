// What steers `vbd` on the device: the rules of the method (rules/vbd.h), as control.h does for
// `descent`; plain C, too.
#ifndef HK_VBD_CONTROL_H
#define HK_VBD_CONTROL_H

#include "gpu/control.h"
#include "rules/vbd.h"

typedef struct hk_gpu_vbd_control {
    hk_gpu_control shared;  // state, iterations, good, and energy, residual and scale of that
    hk_vbd_state vbd;
    // Of models whose elements may be blended:
    int blended;  // some are
    int undone;   // the last check went back
} hk_gpu_vbd_control;

// What a check decides.
enum {
    HK_VBD_KEEP = 1,    // the state becomes the good one
    HK_VBD_UNDO = 2,    // it is replaced by that
    HK_VBD_RESTART = 4  // the acceleration begins anew
};

// Before the first sweep of a step; carefulness goes on from the last one.
HK_RULE void vbd_control_begin(hk_gpu_vbd_control *c, const hk_gpu_control *chosen)
{
    c->shared = *chosen;
    c->undone = 0;
    vbd_begin(&c->vbd);
}

// Chebyshev's ω, or Nesterov's momentum, after sweep k since the last check.
HK_RULE double vbd_control_weight(const hk_vbd_rules *r, const hk_gpu_vbd_control *c, int k)
{
    hk_vbd_state s = c->vbd;
    double weight = 1;
    for (int i = 0; i <= k; i++) weight = vbd_accelerate(r, &s);
    return weight;
}

// After sweeps, before what comes of them is known.
HK_RULE void vbd_control_advance(const hk_vbd_rules *r, hk_gpu_vbd_control *c, int sweeps)
{
    for (int k = 0; k < sweeps; k++) vbd_accelerate(r, &c->vbd);
    c->shared.iterations += sweeps;
}

HK_RULE int vbd_control_keep(hk_gpu_vbd_control *c, int too_far)
{
    return HK_VBD_KEEP | (vbd_keep(&c->vbd, too_far) ? HK_VBD_RESTART : 0);
}

HK_RULE int vbd_control_undo(const hk_gpu_settings *s, const hk_vbd_rules *r, hk_gpu_vbd_control *c)
{
    if (!vbd_undo(r, &c->vbd, c->blended)) c->shared.state = control_stalled(s, &c->shared);
    return HK_VBD_UNDO | HK_VBD_RESTART;
}

// Keeps or undoes the `sweeps` since the last check.
HK_RULE int vbd_control_check(const hk_gpu_settings *s, const hk_vbd_rules *r,
                              hk_gpu_vbd_control *c, const double *sums, int sweeps)
{
    hk_gpu_control *all = &c->shared;
    double energy = control_energy(sums), residual = sqrt(sums[HK_SUM_RESIDUAL]);
    hk_verdict verdict = rule_compare(energy, all->energy, control_noise(s, sums));
    vbd_control_advance(r, c, sweeps);
    for (int k = 0; k < HK_SUM_WIDTH; k++) all->sums[k] = sums[k];
    if (verdict == HK_ROSE || !rule_finite(residual)) return vbd_control_undo(s, r, c);
    int too_far = verdict == HK_UNCLEAR && rule_went_too_far(residual, all->residual);
    control_take(all, sums);
    if (control_converged(s, all)) all->state = HK_GPU_CONVERGED;
    return vbd_control_keep(c, too_far);
}

// The same where elements are blended: `checked` is what the check of `descent` and its comparison
// made of the shared part, which has another good state if the sweep is to be kept.
HK_RULE int vbd_control_take(const hk_gpu_settings *s, const hk_vbd_rules *r, hk_gpu_vbd_control *c,
                             const hk_gpu_control *checked)
{
    int iterations = c->shared.iterations, kept = checked->good != c->shared.good;
    c->shared = *checked;
    c->shared.iterations = iterations;
    c->shared.from_good = c->shared.refresh = 0;
    c->undone = !kept;
    return kept ? vbd_control_keep(c, 0) : vbd_control_undo(s, r, c);
}

#endif
