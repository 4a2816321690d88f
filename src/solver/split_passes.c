// More than one pass: the step goes to the minimiser of ε, the backward Euler step of the
// material's own energy. The matrix A of the one solve is a Hessian of ε but for the volume half,
// which makes it stiffer by up to 3λ/2μ, and for the rotations, which make it softer: turning a
// limb costs nothing but inertia, while A, which keeps rotations, resists. So a single solve lets a
// body swing too slowly, and plain passes x − A⁻¹∇ε take long to make up for it. What A leaves out
// lies in few directions that change slowly as the body moves: L-BFGS learns them, and here it
// keeps what it learnt from step to step. (On the small armadillo, ν = 0.1, that saves half of the
// passes. A start from x + h v is better than one from the document's solve, and windows over 8
// bring no more.)
//
// A pass is one gradient with new rotations and one solve. L-BFGS works in the metric of A: with
// z = A⁻¹y for every pair it needs A⁻¹∇ε alone, and its first guess γA⁻¹ has the right scale
// γ = s·y/y·z. ε never rises: a step that would is shortened.
#include <math.h>
#include <stdio.h>

#include "solver/split.h"

enum { RUN = 1024 };         // unknowns in a partial sum
enum { MOST_TRIALS = 8 };    // of step lengths
#define ENOUGH         1e-4  // of the decrease that the slope promises
#define SINGLE_EPSILON 6e-8

static int run_count(const hk_split *s)
{
    return (s->components->count + RUN - 1) / RUN;
}

hk_status hk_split_passes_init(hk_split *s)
{
    hk_split_passes *w = &s->passes;
    size_t size = 4 * (size_t)s->components->count;
    float **vectors[] = {&w->u, &w->trial, &w->gradient, &w->before, &w->solved, &w->direction};
    bool complete = true;
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) {
        *vectors[k] = HK_ZEROS(float, size);
        complete = complete && *vectors[k];
    }
    for (int k = 0; k < HK_SPLIT_WINDOW; k++) {
        w->s[k] = HK_ZEROS(float, size);
        w->y[k] = HK_ZEROS(float, size);
        w->z[k] = HK_ZEROS(float, size);
        complete = complete && w->s[k] && w->y[k] && w->z[k];
    }
    w->partial = HK_ARRAY(double, 4 * (size_t)run_count(s));
    return complete && w->partial ? HK_OK : HK_NO_MEMORY;
}

void hk_split_passes_release(hk_split *s)
{
    hk_split_passes *w = &s->passes;
    float *vectors[] = {w->u, w->trial, w->gradient, w->before, w->solved, w->direction};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) hk_free(vectors[k]);
    for (int k = 0; k < HK_SPLIT_WINDOW; k++) {
        hk_free(w->s[k]);
        hk_free(w->y[k]);
        hk_free(w->z[k]);
    }
    hk_free(w->partial);
}

void hk_split_passes_remember(hk_split *s, hk_stream *stream)
{
    hk_split_passes *w = &s->passes;
    size_t bytes = 4 * sizeof(float) * (size_t)s->components->count;
    hk_stream_expect(stream, w->u != NULL);
    if (!w->u) return;
    HK_STREAM(stream, w->count);
    HK_STREAM(stream, w->newest);
    HK_STREAM(stream, w->sy);
    for (int k = 0; k < HK_SPLIT_WINDOW; k++) {
        hk_stream_bytes(stream, w->s[k], bytes);
        hk_stream_bytes(stream, w->y[k], bytes);
        hk_stream_bytes(stream, w->z[k], bytes);
    }
}

// ---------------------------------------------------------------- vectors over the unknowns

static double sum_partial(const hk_split *s, int which)
{
    double sum = 0;
    for (int r = 0; r < run_count(s); r++) sum += s->passes.partial[4 * r + which];
    return sum;
}

static double dot(hk_split *s, const float *a, const float *b)
{
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int r = 0; r < run_count(s); r++) {
        double sum = 0;
        for (int64_t k = 4 * (int64_t)r * RUN;
             k < 4 * (int64_t)hk_min_int((r + 1) * RUN, s->components->count); k += 4)
            sum += (double)(a[k] * b[k] + a[k + 1] * b[k + 1] + a[k + 2] * b[k + 2]);
        s->passes.partial[4 * r] = sum;
    }
    return sum_partial(s, 0);
}

// to = a + scale × b; the fourth numbers are of no account.
static void combine(const hk_split *s, const float *a, double scale, const float *b, float *to)
{
    float f = (float)scale;
    int64_t size = 4 * (int64_t)s->components->count;
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < size; k++) to[k] = a[k] + f * b[k];
}

static void copy(const hk_split *s, const float *from, float *to)
{
    memcpy(to, from, 4 * sizeof(float) * (size_t)s->components->count);
}

// ---------------------------------------------------------------- ε

typedef struct point {
    double energy, residual, scale;  // in units of the elements
} point;

static void place(hk_split *s, const float *u)
{
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < s->components->count; k++) {
        int64_t v = 4 * (int64_t)s->vertex[k];
        for (int i = 0; i < 3; i++) s->x[v + i] = s->start[v + i] + u[4 * k + i];
    }
}

// Adds the quadratic part to the gradient of unknowns [first, last); sums gets its energy, and the
// squared norms of the whole, of elastic, and of the larger of external and inertia forces.
static void add_quadratic(const hk_split *s, const float *u, int first, int last, float *gradient,
                          double sums[4])
{
    const hk_problem *p = s->problem;
    double unit = 1 / s->length;
    for (int i = 0; i < 4; i++) sums[i] = 0;
    for (int64_t k = first; k < last; k++) {
        int64_t v = s->vertex[k];
        float inertia = (float)p->inertia[v];
        for (int64_t i = 0; i < 3; i++) {
            double elastic = (double)gradient[4 * k + i], pull = (double)(inertia * u[4 * k + i]);
            double force = unit * p->force[4 * v + i], whole = elastic + pull - force;
            sums[0] += (0.5 * pull - force) * (double)u[4 * k + i];
            sums[1] += whole * whole;
            sums[2] += elastic * elastic;
            sums[3] += fmax(force * force, pull * pull);
            gradient[4 * k + i] = (float)whole;
        }
        gradient[4 * k + 3] = 0;
    }
}

// ε, its gradient in the vector of the components, and norms.
static point evaluate(hk_split *s, const float *u, hk_solve_report *report)
{
    double clock = hk_now();
    float *gradient = s->components->vector;
    place(s, u);
    double energy = hk_corotation_gradient(s->elements, s->x, gradient);
    energy += hk_split_add_others(s, 1, gradient);
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int r = 0; r < run_count(s); r++)
        add_quadratic(s, u, r * RUN, hk_min_int((r + 1) * RUN, s->components->count), gradient,
                      s->passes.partial + 4 * r);
    point at = {energy + sum_partial(s, 0), sqrt(sum_partial(s, 1)),
                sqrt(fmax(sum_partial(s, 2), sum_partial(s, 3)))};
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return at;
}

// ---------------------------------------------------------------- L-BFGS

static int slot_of(const hk_split_passes *w, int k)
{
    return (w->newest - k + HK_SPLIT_WINDOW) % HK_SPLIT_WINDOW;
}

// The pair of the step `length` × direction, after which the gradient is w->gradient and A⁻¹ times
// it `solved`; both are kept.
static void remember(hk_split *s, double length, const float *solved)
{
    hk_split_passes *w = &s->passes;
    int slot = w->count == 0 ? 0 : (w->newest + 1) % HK_SPLIT_WINDOW;
    int64_t size = 4 * (int64_t)s->components->count;
    for (int64_t k = 0; k < size; k++) w->s[slot][k] = (float)length * w->direction[k];
    combine(s, w->gradient, -1, w->before, w->y[slot]);
    combine(s, solved, -1, w->solved, w->z[slot]);
    double sy = dot(s, w->s[slot], w->y[slot]), yz = dot(s, w->y[slot], w->z[slot]);
    if (!(sy > 0 && yz > 0 && isfinite(sy + yz))) {
        if (w->count == HK_SPLIT_WINDOW) w->count--;  // the oldest was overwritten
        return;
    }
    w->sy[slot] = sy;
    w->newest = slot;
    if (w->count < HK_SPLIT_WINDOW) w->count++;
}

// direction = −H ∇ε by the two loops (Nocedal & Wright, algorithm 7.4), where A⁻¹ is applied to
// each vector beforehand.
static void choose(hk_split *s, double first)
{
    hk_split_passes *w = &s->passes;
    double alpha[HK_SPLIT_WINDOW], scale = first;
    float *q = w->trial, *r = w->direction;
    copy(s, w->gradient, q);
    copy(s, w->solved, r);
    for (int k = 0; k < w->count; k++) {
        int slot = slot_of(w, k);
        alpha[slot] = dot(s, w->s[slot], q) / w->sy[slot];
        combine(s, q, -alpha[slot], w->y[slot], q);
        combine(s, r, -alpha[slot], w->z[slot], r);
    }
    if (w->count > 0) scale = w->sy[w->newest] / dot(s, w->y[w->newest], w->z[w->newest]);
    int64_t size = 4 * (int64_t)s->components->count;
    for (int64_t k = 0; k < size; k++) r[k] *= (float)scale;
    for (int k = w->count - 1; k >= 0; k--) {
        int slot = slot_of(w, k);
        double beta = dot(s, w->y[slot], r) / w->sy[slot];
        combine(s, r, alpha[slot] - beta, w->s[slot], r);
    }
    for (int64_t k = 0; k < size; k++) r[k] = -r[k];
}

// ---------------------------------------------------------------- passes

// What rounding of positions and sums does to ε.
static double noise_of(const point *at)
{
    return 8 * SINGLE_EPSILON * fabs(at->energy);
}

// A length that lowers ε, 0 if there is none; w->trial is the state, *next what is known of it.
static double search(hk_split *s, const point *at, point *next, hk_solve_report *report)
{
    hk_split_passes *w = &s->passes;
    double slope = dot(s, w->gradient, w->direction), length = 1;
    if (!(slope < 0)) return 0;
    for (int n = 0; n < MOST_TRIALS; n++) {
        combine(s, w->u, length, w->direction, w->trial);
        *next = evaluate(s, w->trial, report);
        double noise = noise_of(at), rise = next->energy - at->energy;
        bool finite = isfinite(next->energy) && isfinite(next->residual);
        if (finite && rise <= ENOUGH * length * slope) return length;
        if (finite && fabs(length * slope) <= noise && rise <= noise &&
            next->residual < at->residual)
            return length;
        double best = -slope * length * length / (2 * (rise - slope * length));
        length =
            finite && isfinite(best) ? fmin(fmax(best, 0.1 * length), 0.5 * length) : 0.1 * length;
    }
    return 0;
}

// Counts a pass and tells the monitor; false: stop.
static bool tell(hk_split *s, const point *at, double length, hk_solve_report *report)
{
    double energy = at->energy * s->length * s->length, residual = at->residual * s->length;
    if (s->problem->watch_energy) energy = hk_split_energy(s);
    double relative = rule_relative(at->residual, at->scale);
    return hk_split_tell(s, energy, residual, relative, length, report);
}

static bool over(const hk_split *s, const point *at, hk_solve_report *report)
{
    if (!isfinite(at->energy) || !isfinite(at->residual)) {
        report->reason = HK_NOT_FINITE;
        report->energy = INFINITY;
        snprintf(report->detail, sizeof report->detail,
                 "the start of the step has no finite energy: the state before it is kept");
        return true;
    }
    if (!rule_converged(at->residual, s->settings.tolerance, at->scale)) return false;
    report->reason = HK_CONVERGED;
    return true;
}

// Whether that is rounding is seen in double precision (precise.h).
static void stall(const point *at, hk_solve_report *report)
{
    report->reason = HK_STALLED;
    snprintf(report->detail, sizeof report->detail,
             "no further pass lowers the energy (relative residual %.1e)",
             rule_relative(at->residual, at->scale));
}

// A⁻¹ ∇ε, where ∇ε is in the vector of the components.
static const float *solve(hk_split *s, hk_solve_report *report)
{
    double clock = hk_now();
    float *vector = s->components->vector;
    copy(s, vector, s->passes.gradient);
    hk_split_solve(s);
    report->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return vector;
}

// The direction with all that is remembered, or once more without; returns the length of the step.
static double go_on(hk_split *s, const point *at, point *next, hk_solve_report *report)
{
    double first = 2 / (1 + s->stiffest), length;
    do {
        choose(s, first);
        length = search(s, at, next, report);
        if (length > 0 || s->passes.count == 0) return length;
        s->passes.count = 0;
    } while (true);
}

void hk_split_descend(hk_split *s, int count, hk_solve_report *report)
{
    hk_split_passes *w = &s->passes;
    memset(w->u, 0, 4 * sizeof(float) * (size_t)s->components->count);
    point at = evaluate(s, w->u, report), next;
    hk_tell_start(s->problem, hk_split_energy(s), at.residual * s->length, at.scale * s->length);
    double length = 0;
    report->reason = HK_ITERATION_LIMIT;
    for (int n = 0; n < count && !over(s, &at, report); n++) {
        const float *solved = solve(s, report);
        if (length > 0) remember(s, length, solved);
        copy(s, solved, w->solved);
        copy(s, w->gradient, w->before);
        length = go_on(s, &at, &next, report);
        if (length == 0) {
            stall(&at, report);
            break;
        }
        copy(s, w->trial, w->u);
        at = next;
        if (!tell(s, &at, length, report)) break;
    }
    if (report->reason == HK_NOT_FINITE) return;
    place(s, w->u);
    report->energy = at.energy * s->length * s->length;
    report->residual = at.residual * s->length;
    report->relative_residual = rule_relative(at.residual, at.scale);
    report->rounding = NAN;
    if (report->reason == HK_ITERATION_LIMIT && !over(s, &at, report))
        snprintf(report->detail, sizeof report->detail,
                 "%d passes left a relative residual of %.1e", count, report->relative_residual);
}
