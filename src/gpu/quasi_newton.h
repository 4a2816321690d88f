// What steers `quasi_newton` on the device (solver/quasi_newton.c, solver/line_search.c): the
// search for a step length, and the coefficients of L-BFGS. Plain C, so that the host's tests can
// run it.
//
// An evaluation is a fixed sequence of kernels. It either accepts the trial state, and the next
// direction is built from there, or shortens the step for the next evaluation.
//
// L-BFGS needs one product with A⁻¹ an iteration, p = A⁻¹ g. Beside the steps s and the changes y
// of the gradient it keeps z = A⁻¹ y, which is the change of p, and the two loops (Nocedal &
// Wright, algorithm 7.4) run over inner products alone:
//
//   −d = p − Σ αᵢ zᵢ + Σ (αᵢ − βᵢ) sᵢ
#ifndef HK_GPU_QUASI_NEWTON_H
#define HK_GPU_QUASI_NEWTON_H

#include "gpu/control.h"
#include "rules/line_search.h"

enum { HK_QN_MOST = 10 };  // pairs

#ifdef __CUDA_ARCH__
#define HK_UNROLL _Pragma("unroll")
#else
#define HK_UNROLL
#endif

typedef struct hk_qn_settings {
    int window;
    int budget;  // iterations
    int most;    // evaluations
    int blends;  // elements may be blended: the end is decided after that
} hk_qn_settings;

typedef struct hk_qn_control {
    hk_gpu_control base;  // what probes, the report and the end of the step check at
    int evaluations;
    int accepted;          // the trial state was: it is x now
    int redirect;          // a direction is to be built at x
    int fresh;             // the direction is −p
    int count;             // pairs
    int pair[HK_QN_MOST];  // their slots, the newest first
    int slot;              // of the next pair; −1: there is none
    double length, slope;  // of the trial; the derivative of ε along the direction
    double steepest;       // g·p
} hk_qn_control;

// Whether a state was accepted and the walk goes on: kernels that look for a direction do nothing
// otherwise.
HK_RULE int qn_wants_direction(const hk_qn_control *c)
{
    return c->accepted && c->base.state == HK_GPU_GOING;
}

// Products that the memory keeps, and the coefficients of the present direction.
typedef struct hk_qn_memory {
    double sy[HK_QN_MOST][HK_QN_MOST];      // sᵢ·yⱼ
    double yz[HK_QN_MOST][HK_QN_MOST];      // yᵢ·zⱼ
    double sg[HK_QN_MOST], yp[HK_QN_MOST];  // sᵢ·g, yᵢ·p at the state
    float of_z[HK_QN_MOST], of_s[HK_QN_MOST];
} hk_qn_memory;

// What is summed over the vertices: for every slot i, with the new pair n, and a few alone. The
// other products follow from what changed: sᵢ·yₙ is the change of sᵢ·g, yᵢ·zₙ that of yᵢ·p.
enum { HK_QN_SG, HK_QN_YP, HK_QN_YS, HK_QN_KINDS };
enum { HK_QN_GP, HK_QN_SS, HK_QN_YY, HK_QN_SY, HK_QN_YZ, HK_QN_SINGLES };
typedef struct hk_qn_dots {
    double of[HK_QN_KINDS][HK_QN_MOST];  // sᵢ·g, yᵢ·p, yᵢ·sₙ
    double single[HK_QN_SINGLES];        // g·p, sₙ·sₙ, yₙ·yₙ, sₙ·yₙ, yₙ·zₙ
} hk_qn_dots;

// ---------------------------------------------------------------- the search for a length

HK_RULE void qn_begin(hk_qn_control *c, const hk_gpu_control *from)
{
    c->base = *from;
    c->evaluations = c->accepted = c->redirect = c->count = 0;
    c->fresh = 1;
    c->slot = -1;
    c->length = 1;
    c->slope = c->steepest = 0;
}

// Whether the walk is over at the state that was accepted.
HK_RULE void qn_end(const hk_gpu_settings *s, const hk_qn_settings *q, hk_qn_control *c)
{
    hk_gpu_control *b = &c->base;
    if (b->state != HK_GPU_GOING) return;
    if (control_converged(s, b))
        b->state = HK_GPU_CONVERGED;
    else if (b->iterations >= q->budget || c->evaluations >= q->most)
        b->state = HK_GPU_SPENT;
}

HK_RULE hk_search_state qn_search(const hk_qn_control *c)
{
    hk_search_state s = {c->base.energy, c->base.residual, c->slope, 1e-4};
    return s;
}

// No step along the direction helps: the next one is −p, or there is no other.
HK_RULE void qn_give_up(const hk_gpu_settings *s, hk_qn_control *c)
{
    if (c->fresh) {
        c->base.state = control_stalled(s, &c->base);
        return;
    }
    c->count = 0;
    c->fresh = c->redirect = 1;
    c->length = 1;
    c->slope = -c->steepest;
}

// The slot of the pair that the accepted step will be; the oldest one's if there is no other.
HK_RULE void qn_take_slot(const hk_qn_settings *q, hk_qn_control *c)
{
    c->slot = -1;
    if (q->window == 0) return;
    if (c->count == q->window) {
        c->slot = c->pair[--c->count];
        return;
    }
    unsigned used = 0;
    for (int k = 0; k < c->count; k++) used |= 1u << c->pair[k];
    c->slot = 0;
    while (used >> c->slot & 1) c->slot++;
}

// The energy and the residual at the trial state are known now.
HK_RULE void qn_decide(const hk_gpu_settings *s, const hk_qn_settings *q, hk_qn_control *c,
                       const double *sums, int first)
{
    hk_gpu_control *b = &c->base;
    c->accepted = c->redirect = 0;
    if (b->state != HK_GPU_GOING) return;
    c->evaluations++;
    if (first) {
        control_start(s, b, sums);
        c->accepted = 1;
        c->slot = -1;
        return;
    }
    double energy = control_energy(sums), residual = sqrt(sums[HK_SUM_RESIDUAL]);
    double noise = control_noise(s, sums);
    hk_search_state from = qn_search(c);
    if (search_acceptable(&from, c->length, energy, residual, noise)) {
        c->accepted = 1;
        control_take(b, sums);
        b->iterations++;
        if (!q->blends) qn_end(s, q, c);
        qn_take_slot(q, c);
        return;
    }
    c->length = search_shorter(&from, c->length, energy);
    if (!(c->length > search_shortest(c->fresh))) qn_give_up(s, c);
    if (c->evaluations >= q->most && b->state == HK_GPU_GOING) b->state = HK_GPU_SPENT;
}

// Blend weights have changed at the state that was accepted: ε is another function.
HK_RULE void qn_blended(const hk_gpu_settings *s, const hk_qn_settings *q, hk_qn_control *c,
                        const double *sums)
{
    hk_gpu_control *b = &c->base;
    if (b->state != HK_GPU_GOING || !c->accepted) return;
    control_take(b, sums);
    if (!rule_finite(b->energy))
        b->state = HK_GPU_UNDEFINED;
    else if (!rule_finite(b->residual))
        b->state = HK_GPU_NOT_FINITE;
    qn_end(s, q, c);
}

// ---------------------------------------------------------------- L-BFGS

// Pairs without positive curvature are left out (hk_curvature_add).
HK_RULE void qn_add_pair(hk_qn_control *c, hk_qn_memory *m, const hk_qn_dots *d)
{
    int n = c->slot;
    if (n < 0) return;
    double sy = d->single[HK_QN_SY];
    if (!lbfgs_takes_pair(sy, d->single[HK_QN_SS], d->single[HK_QN_YY])) return;
    for (int k = c->count; k > 0; k--) c->pair[k] = c->pair[k - 1];
    c->pair[0] = n;
    c->count++;
    for (int k = 1; k < c->count; k++) {
        int i = c->pair[k];
        m->sy[i][n] = d->of[HK_QN_SG][i] - m->sg[i];
        m->sy[n][i] = d->of[HK_QN_YS][i];
        m->yz[i][n] = m->yz[n][i] = d->of[HK_QN_YP][i] - m->yp[i];
    }
    m->sy[n][n] = sy;
    m->yz[n][n] = d->single[HK_QN_YZ];
}

// alpha and beta of the pairs, the newest first; those beyond count are 0. `most` is a constant
// where this is compiled: without indices that depend on anything, all of it is in registers.
HK_RULE void qn_loops(const hk_qn_control *c, const hk_qn_memory *m, const hk_qn_dots *d, int most,
                      double *alpha, double *beta)
{
    double sy[HK_QN_MOST][HK_QN_MOST], yz[HK_QN_MOST][HK_QN_MOST], inverse[HK_QN_MOST];
    HK_UNROLL
    for (int k = 0; k < most; k++) {
        int i = k < c->count ? c->pair[k] : 0;
        inverse[k] = k < c->count ? 1 / m->sy[i][i] : 0;
        alpha[k] = d->of[HK_QN_SG][i];
        beta[k] = d->of[HK_QN_YP][i];
        HK_UNROLL
        for (int l = 0; l < most; l++) {
            int j = l < c->count ? c->pair[l] : 0;
            sy[k][l] = m->sy[i][j];
            yz[k][l] = m->yz[i][j];
        }
    }
    HK_UNROLL
    for (int k = 0; k < most; k++) {
        HK_UNROLL
        for (int l = 0; l < k; l++) alpha[k] -= alpha[l] * sy[k][l];
        alpha[k] *= inverse[k];
    }
    HK_UNROLL
    for (int k = most - 1; k >= 0; k--) {
        HK_UNROLL
        for (int l = 0; l < most; l++) beta[k] -= alpha[l] * yz[k][l];
        HK_UNROLL
        for (int l = most - 1; l > k; l--) beta[k] += (alpha[l] - beta[l]) * sy[l][k];
        beta[k] *= inverse[k];
    }
}

// The direction at the state that was accepted. g·z = p·y, for A⁻¹ is symmetric.
// most: pairs that there may be, a constant.
HK_RULE void qn_direct(hk_qn_control *c, hk_qn_memory *m, const hk_qn_dots *d, int most)
{
    double alpha[HK_QN_MOST], beta[HK_QN_MOST];
    qn_add_pair(c, m, d);
    for (int k = 0; k < c->count; k++) {
        m->sg[c->pair[k]] = d->of[HK_QN_SG][c->pair[k]];
        m->yp[c->pair[k]] = d->of[HK_QN_YP][c->pair[k]];
    }
    qn_loops(c, m, d, most, alpha, beta);
    c->steepest = d->single[HK_QN_GP];
    c->slope = -c->steepest;
    HK_UNROLL
    for (int k = 0; k < most; k++) {
        if (k >= c->count) continue;
        int i = c->pair[k];
        m->of_z[i] = (float)alpha[k];
        m->of_s[i] = (float)(beta[k] - alpha[k]);
        c->slope += alpha[k] * d->of[HK_QN_YP][i] + (beta[k] - alpha[k]) * d->of[HK_QN_SG][i];
    }
    c->redirect = 1;
    c->fresh = c->count == 0;
    c->length = 1;
    if (!(c->slope < 0)) {
        c->count = 0;
        c->fresh = 1;
        c->slope = -c->steepest;
    }
    if (!(c->slope < 0)) c->base.state = HK_GPU_STALLED;
}

#endif
