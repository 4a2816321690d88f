// What steers `descent` on the device: the rules of the method (rules/descent.h) over what goes
// from kernel to kernel in device memory. These functions run in one thread at the end of an
// iteration, so that no decision waits for the host. Plain C, so that the host's tests can run
// them.
#ifndef HK_CONTROL_H
#define HK_CONTROL_H

#include "rules/descent.h"
#include "rules/start.h"

typedef struct hk_gpu_settings {
    hk_descent_rules rules;
    double rounding;  // N, of the gradient's norm
    double noise;     // J, of the elastic energy of a body at rest
    int exact;        // energies are in double precision
} hk_gpu_settings;

enum {
    HK_GPU_GOING,
    HK_GPU_CONVERGED,
    HK_GPU_STALLED,
    HK_GPU_UNDEFINED,   // the energy of the start is not finite
    HK_GPU_NOT_FINITE,  // nor its gradient
    HK_GPU_SPENT,       // all iterations are
    HK_GPU_LIMITED,     // nothing decreases ε any more, and rounding is the reason
    HK_GPU_FIXED_WORK,  // a step that is not measured by its residual
};

// What a check finds of a state.
enum {
    HK_SUM_ELASTIC,    // J
    HK_SUM_QUADRATIC,  // J, inertia and loads
    HK_SUM_RESIDUAL,   // N², of the gradient over free vertices
    HK_SUM_ELASTIC_FORCE,
    HK_SUM_EXTERNAL_FORCE,
    HK_SUM_INERTIA_FORCE,  // N², all vertices
    HK_SUM_SLOPE,          // the gradient's product with the velocity, and
    HK_SUM_SLOPE_BEFORE,   // with the one before
    HK_SUM_BLENDED,        // patches with elements that are blended, now or in the state kept
    HK_SUM_WANTING,        // threads with elements that want to be
    HK_SUM_COUNT,
    HK_SUM_LEAST_J = HK_SUM_COUNT,  // not a sum
    HK_SUM_TERMS,  // J, terms beside tets (terms.h): known at the end of a check alone
    HK_SUM_WIDTH
};

typedef struct hk_gpu_control {
    int state;  // HK_GPU_GOING …
    int iterations;
    int good;       // which of the two buffers holds the last state that was kept
    int from_good;  // the next iteration begins there
    int refresh;    // the diagonal is to be evaluated before the next iteration
    int undecided;  // `compare` has the last word
    int lost;       // a stage of the step failed: so do those after it
    int idle;       // no forces are at work but rounding errors
    int linear;     // iterations of linear solves
    hk_descent_state descent;
    float length;               // α of the next iteration, and
    float weight;               // its ω (Nesterov: the momentum)
    double energy, elastic;     // of the good state
    double residual, scale;     // N
    double external;            // N², of external forces
    double sums[HK_SUM_WIDTH];  // of the last check
} hk_gpu_control;

HK_RULE double control_energy(const double *sums)
{
    return sums[HK_SUM_ELASTIC] + sums[HK_SUM_QUADRATIC] + sums[HK_SUM_TERMS];
}

HK_RULE double control_noise(const hk_gpu_settings *s, const double *sums)
{
    // Terms beside tets are in single precision all the same.
    double terms = fabs(sums[HK_SUM_TERMS]);
    if (s->exact)
        return 1e-13 * (fabs(sums[HK_SUM_ELASTIC]) + fabs(sums[HK_SUM_QUADRATIC])) +
               rule_single_noise(0, terms);
    return rule_single_noise(s->noise, fabs(sums[HK_SUM_ELASTIC]) + terms);
}

HK_RULE int control_converged(const hk_gpu_settings *s, const hk_gpu_control *c)
{
    return c->idle || rule_converged(c->residual, s->rules.tolerance, c->scale);
}

// The estimate of rounding is one over all bodies: it ends nothing, but tells why something ended.
HK_RULE int control_only_rounding(const hk_gpu_settings *s, const hk_gpu_control *c)
{
    return control_converged(s, c) || c->residual <= HK_SINGLE_ROUNDING_MARGIN * s->rounding;
}

HK_RULE int control_stalled(const hk_gpu_settings *s, const hk_gpu_control *c)
{
    if (control_converged(s, c)) return HK_GPU_CONVERGED;
    return control_only_rounding(s, c) ? HK_GPU_LIMITED : HK_GPU_STALLED;
}

HK_RULE double control_relative(const hk_gpu_control *c)
{
    return c->idle ? 0 : rule_relative(c->residual, c->scale);
}

// What iteration k needs.
HK_RULE void control_accelerate(const hk_gpu_settings *s, hk_gpu_control *c, int k)
{
    int restarts;  // ω is 1 there, which forgets what was before
    c->weight = (float)descent_accelerate(&s->rules, &c->descent, k, &restarts);
    c->length = (float)c->descent.length;
}

// Before the first iteration of a step; α goes on from the last one.
HK_RULE void control_begin(const hk_gpu_settings *s, hk_gpu_control *c, int good)
{
    descent_end(&c->descent, c->state == HK_GPU_CONVERGED || c->state == HK_GPU_LIMITED);
    c->iterations = c->linear = 0;
    c->good = good;
    c->from_good = 1;
    c->refresh = 0;
    if (!c->lost) c->state = HK_GPU_GOING;
    descent_begin(&s->rules, &c->descent);
    control_accelerate(s, c, 0);
}

// Whether a guess with these sums is fit to start from; here: those at the position, or NULL where
// nobody wants the better one of the two.
HK_RULE int control_fit(int kind, const double *sums, const double *here)
{
    return start_is_fit(kind, control_energy(sums), sums[HK_SUM_LEAST_J],
                        here ? control_energy(here) : 0);
}

// The check of the start: the scale of its forces, and whether there is anything to do.
HK_RULE void control_start(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums)
{
    if (c->state != HK_GPU_GOING) return;
    c->elastic = sums[HK_SUM_ELASTIC];
    c->energy = control_energy(sums);
    c->residual = sqrt(sums[HK_SUM_RESIDUAL]);
    c->scale = sqrt(fmax(sums[HK_SUM_ELASTIC_FORCE],
                         fmax(sums[HK_SUM_EXTERNAL_FORCE], sums[HK_SUM_INERTIA_FORCE])));
    c->external = sums[HK_SUM_EXTERNAL_FORCE];
    c->idle = sums[HK_SUM_EXTERNAL_FORCE] == 0 && c->scale <= s->rounding;
    if (!rule_finite(c->energy))
        c->state = HK_GPU_UNDEFINED;
    else if (!rule_finite(c->residual) || !rule_finite(c->scale))
        c->state = HK_GPU_NOT_FINITE;
    else if (control_converged(s, c))
        c->state = HK_GPU_CONVERGED;
}

// The state that was checked is the good one now. Forces at work are those there, not those of the
// start, which may be a poor one with great forces. (Inertia forces are at most about the sum of
// the others.)
HK_RULE void control_take(hk_gpu_control *c, const double *sums)
{
    c->elastic = sums[HK_SUM_ELASTIC];
    c->energy = control_energy(sums);
    c->residual = sqrt(sums[HK_SUM_RESIDUAL]);
    c->scale = sqrt(fmax(sums[HK_SUM_ELASTIC_FORCE], c->external));
}

HK_RULE void control_keep(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums)
{
    descent_keep(&s->rules, &c->descent, control_only_rounding(s, c));
    control_take(c, sums);
    c->good = 1 - c->good;
    if (control_converged(s, c)) c->state = HK_GPU_CONVERGED;
}

// Back to the last state that was kept. The iteration that the check belongs to counts already.
HK_RULE void control_undo(const hk_gpu_settings *s, hk_gpu_control *c)
{
    int rounding = control_only_rounding(s, c);
    c->from_good = 1;
    c->refresh = 1;
    if (!descent_undo(&s->rules, &c->descent, c->descent.since_restart - 1, rounding))
        c->state = control_stalled(s, c);
}

// Keeps or undoes the iterations since the last check. `good` is the energy of the state that was
// kept, by the function of now (elements that are blended make it another one).
HK_RULE void control_check(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums,
                           double energy, double good)
{
    hk_verdict verdict = rule_compare(energy, good, control_noise(s, sums));
    if (!rule_finite(sums[HK_SUM_RESIDUAL])) verdict = HK_ROSE;
    if (verdict == HK_UNCLEAR && rule_stays_near(sqrt(sums[HK_SUM_RESIDUAL]), c->residual))
        verdict = HK_FELL;
    if (verdict == HK_FELL)
        control_keep(s, c, sums);
    else
        control_undo(s, c);
}

// After iteration k: what the next one needs.
HK_RULE void control_advance(const hk_gpu_settings *s, hk_gpu_control *c, int k)
{
    control_accelerate(s, c, k + 1);
}

#endif
