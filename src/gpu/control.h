// What steers `descent` on the device (solver/descent.c): step length, acceleration, and the looks
// at the energy. The state goes from kernel to kernel in device memory; these functions run in one
// thread at the end of an iteration, so that no decision waits for the host. Plain C, so that the
// host's tests can run them.
#ifndef HK_CONTROL_H
#define HK_CONTROL_H

#include <math.h>

#ifdef __CUDACC__
#define HK_CONTROL static __host__ __device__ __forceinline__ __attribute__((unused))
#else
#define HK_CONTROL static inline __attribute__((unused))
#endif

enum { HK_GPU_PHASES = 8 };
enum { HK_GPU_CHEBYSHEV, HK_GPU_NESTEROV, HK_GPU_PLAIN };  // as descent.c numbers them
enum { HK_GPU_START_AUTO, HK_GPU_START_POSITION };         // as method.h does

typedef struct hk_gpu_settings {
    int check;         // iterations between two looks
    int acceleration;  // one of the above
    int phase_length[HK_GPU_PHASES];
    double phase_rate[HK_GPU_PHASES];
    double shrink, shortest;
    double tolerance;
    double longest;   // α that is stable at rest
    double slowest;   // least eigenvalue of P H that inertia alone allows
    double rounding;  // N, of the gradient's norm
    double noise;     // J, of the elastic energy of a body at rest
} hk_gpu_settings;

enum {
    HK_GPU_GOING,
    HK_GPU_CONVERGED,
    HK_GPU_STALLED,
    HK_GPU_UNDEFINED,   // the energy of the start is not finite
    HK_GPU_NOT_FINITE,  // nor its gradient
    HK_GPU_SPENT,       // all iterations are
};

// What a look finds of a state.
enum {
    HK_SUM_ELASTIC,    // J
    HK_SUM_QUADRATIC,  // J, inertia and loads
    HK_SUM_RESIDUAL,   // N², of the gradient over free vertices
    HK_SUM_ELASTIC_FORCE,
    HK_SUM_EXTERNAL_FORCE,
    HK_SUM_INERTIA_FORCE,  // N², all vertices
    HK_SUM_SLOPE,          // the gradient's product with a direction
    HK_SUM_BLENDED,        // patches with elements that are converted, now or in the state kept
    HK_SUM_WANTING,        // threads with elements that want to be
    HK_SUM_COUNT,
    HK_SUM_LEAST_J = HK_SUM_COUNT,  // not a sum
    HK_SUM_WIDTH
};

typedef struct hk_gpu_control {
    int state;  // HK_GPU_GOING …
    int iterations;
    int good;       // which of the two buffers holds the last state that was kept
    int from_good;  // the next iteration begins there
    int refresh;    // the diagonal is to be evaluated before the next iteration
    int undecided;  // `compare` has the last word
    int since_restart;
    int streak, patience, grown;
    float length;  // α
    float weight;  // ω of the next iteration (Nesterov: the momentum)
    double omega, caution, carried, alpha;
    double working;             // the longest α of this step that was kept
    double energy, elastic;     // of the good state
    double residual, scale;     // N
    double sums[HK_SUM_WIDTH];  // of the last look
} hk_gpu_control;

HK_CONTROL int control_finite(double a)
{
    return a - a == 0;
}

// ρ of iteration k, and whether its phase begins there.
HK_CONTROL double control_rate(const hk_gpu_settings *s, int k, int *first)
{
    long begin = 0;
    double rate = 0;
    *first = 0;
    for (int n = 0; n < HK_GPU_PHASES; n++) {
        if (s->phase_length[n] == 0) continue;
        rate = s->phase_rate[n];
        *first = k == begin;
        if (k < begin + s->phase_length[n]) return rate;
        begin += s->phase_length[n];
    }
    *first = 0;
    return rate;
}

// ω (or Nesterov's momentum) of iteration k.
HK_CONTROL void control_accelerate(const hk_gpu_settings *s, hk_gpu_control *c, int k)
{
    if (s->acceleration == HK_GPU_PLAIN) {
        c->weight = 1;
        return;
    }
    int n;
    if (s->acceleration == HK_GPU_NESTEROV) {
        n = c->since_restart++;
        c->weight = (float)(n / (n + 3.0));
        return;
    }
    int first;
    double rho = fmin(control_rate(s, k, &first), 1 - 0.5 * s->longest * s->slowest);
    rho = fmax(0.0, 1 - c->caution * (1 - rho));
    if (first) c->since_restart = 0;
    n = c->since_restart++;
    c->omega = n == 0 ? 1 : n == 1 ? 2 / (2 - rho * rho) : 4 / (4 - rho * rho * c->omega);
    c->weight = (float)c->omega;
}

// In single precision (hk_rounding_margin). Down there it is rounding that decides whether ε falls,
// and what becomes of α is nothing for the next step to begin with (descent.c).
HK_CONTROL int control_only_rounding(const hk_gpu_settings *s, const hk_gpu_control *c)
{
    return c->residual <= fmax(s->tolerance * c->scale, 100 * s->rounding);
}

// What the last step, however it ended, has to forget: `forget_rounding` in descent.c.
HK_CONTROL void control_forget(const hk_gpu_settings *s, hk_gpu_control *c)
{
    int over = c->state == HK_GPU_CONVERGED;
    if (!(c->carried > 0)) c->carried = s->longest;
    if (over) c->carried = fmax(c->carried, c->working);
    // Only rounding makes α shorter than what is carried.
    if (over || c->carried > c->alpha || c->patience < 2) c->patience = 2;
}

// Before the first iteration of a step; α goes on from the last one.
HK_CONTROL void control_begin(const hk_gpu_settings *s, hk_gpu_control *c, int good)
{
    c->iterations = 0;
    c->good = good;
    c->from_good = 1;
    c->refresh = 0;
    c->since_restart = 0;
    c->caution = 1;
    c->omega = 1;
    c->streak = c->grown = 0;
    control_forget(s, c);
    c->working = 0;
    c->state = HK_GPU_GOING;
    c->alpha = fmin(s->longest, c->carried / s->shrink);
    c->length = (float)c->alpha;
    control_accelerate(s, c, 0);
}

// Whether a guess with these sums is fit to start from; here: those of the position where the
// better one of the two is wanted, else NULL (hk_choose_start in solver/start.c).
HK_CONTROL int control_fit(const double *sums, const double *here)
{
    double energy = sums[HK_SUM_ELASTIC] + sums[HK_SUM_QUADRATIC];
    if (!control_finite(energy) || !(sums[HK_SUM_LEAST_J] > 0)) return 0;
    if (!here) return 1;
    double there = here[HK_SUM_ELASTIC] + here[HK_SUM_QUADRATIC];
    return energy < there || !control_finite(there);
}

// The look at the start: the scale of its forces, and whether there is anything to do.
HK_CONTROL void control_start(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums)
{
    c->elastic = sums[HK_SUM_ELASTIC];
    c->energy = sums[HK_SUM_ELASTIC] + sums[HK_SUM_QUADRATIC];
    c->residual = sqrt(sums[HK_SUM_RESIDUAL]);
    c->scale = sqrt(fmax(sums[HK_SUM_ELASTIC_FORCE],
                         fmax(sums[HK_SUM_EXTERNAL_FORCE], sums[HK_SUM_INERTIA_FORCE])));
    if (!control_finite(c->energy))
        c->state = HK_GPU_UNDEFINED;
    else if (!control_finite(c->residual))
        c->state = HK_GPU_NOT_FINITE;
    else if (c->residual <= fmax(s->tolerance * c->scale, s->rounding))
        c->state = HK_GPU_CONVERGED;
}

HK_CONTROL void control_keep(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums)
{
    c->carried = control_only_rounding(s, c) ? fmax(c->carried, c->alpha) : c->alpha;
    c->elastic = sums[HK_SUM_ELASTIC];
    c->energy = sums[HK_SUM_ELASTIC] + sums[HK_SUM_QUADRATIC];
    c->residual = sqrt(sums[HK_SUM_RESIDUAL]);
    c->good = 1 - c->good;
    c->working = fmax(c->working, c->alpha);
    c->grown = ++c->streak >= c->patience && c->alpha < s->longest;
    if (c->grown) {
        c->alpha = fmin(s->longest, c->alpha / s->shrink);
        c->streak = 0;
    }
    if (c->residual <= fmax(s->tolerance * c->scale, s->rounding)) c->state = HK_GPU_CONVERGED;
}

// Back to the last state that was kept: see `undo` in descent.c.
HK_CONTROL void control_undo(const hk_gpu_settings *s, hk_gpu_control *c)
{
    // The iteration that the look belongs to counts already.
    int gathered = s->acceleration != HK_GPU_PLAIN && c->since_restart > s->check + 1;
    c->from_good = 1;
    c->refresh = 1;
    c->since_restart = 0;
    if (gathered) {
        c->caution *= 2;
    } else {
        c->alpha *= s->shrink;
        if (c->grown) c->patience = c->patience < 32 ? 2 * c->patience : 64;
        c->streak = 0;
        c->grown = 0;
    }
    int rounding = control_only_rounding(s, c);
    if (c->streak == 0 && !rounding) c->carried = fmin(c->carried, c->alpha);
    if (c->alpha < s->shortest * s->longest)
        c->state = rounding ? HK_GPU_CONVERGED : HK_GPU_STALLED;
}

// Keeps or undoes the iterations since the last look. `good` is the energy of the state that was
// kept, by the function of now (elements that convert make it another one).
HK_CONTROL void control_look(const hk_gpu_settings *s, hk_gpu_control *c, const double *sums,
                             double energy, double good)
{
    double noise = s->noise + 1e-7 * fabs(sums[HK_SUM_ELASTIC]);
    int fine = control_finite(energy) && control_finite(sums[HK_SUM_RESIDUAL]);
    // Where energies differ by rounding alone, the gradient decides; it may rise for a while.
    if (fabs(energy - good) <= noise) fine = fine && sqrt(sums[HK_SUM_RESIDUAL]) <= 2 * c->residual;
    if (fine && (energy <= good + noise || !control_finite(good)))
        control_keep(s, c, sums);
    else
        control_undo(s, c);
}

// After iteration k: what the next one needs.
HK_CONTROL void control_advance(const hk_gpu_settings *s, hk_gpu_control *c, int k)
{
    c->length = (float)c->alpha;
    control_accelerate(s, c, k + 1);
}

#endif
