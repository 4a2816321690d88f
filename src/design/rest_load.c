// Load stepping: from the loaded shape, which is its own rest shape without a load, to the full
// load in steps that grow and shrink, and what to say where the branch of solutions ends.
//
// It ends in a fold: two solutions meet there, and beyond it there is none near. Along the branch
// the load s is then a function of the way y with a maximum, s ≈ s* − a (y* − y)², and dX/ds grows
// like 1/√(s* − s). A parabola through the last three solutions, as s over y, has its top at the
// fold: the steps are chosen so that they close in on it, and when it is near it is told as what it
// is. Where steps fail far from a fold, or without one, it was Newton's method that failed.
#include <math.h>
#include <stdio.h>

#include "design/rest_solver.h"

#define FIRST_STEP         0.4
#define MOST_EXPONENT      1  // of an extrapolation
#define SHRINK             0.4
#define GROW               1.5
#define SHORTEST_STEP      1e-3
#define SHORTEST_NEAR_FOLD 1e-4  // relative to the load there, which may be small
// Of the loads on the way, which nobody asked for. Near a fold they are solved better: the way to
// the answer goes like the root of what is left.
#define WAY_TOLERANCE  1e-5
#define FOLD_TOLERANCE 1e-7
enum { WAY_ITERATIONS = 20 };
// The part of the way to an expected fold that a step may take, and how near it is told.
#define TOWARDS_FOLD 0.6
#define AT_FOLD      1e-3

// The way so far.
typedef struct way {
    double load[3];  // of the last solutions, the present one last: good, before, older
    int known;       // of them
    double fold;     // where it is expected; INFINITY: nowhere
    double failed;   // the least load that failed since the last step
} way;

static size_t bytes_of(const hk_rest_solver *s)
{
    return 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
}

// The top of s(y) through the last three solutions: y along the last step, 0 at its start.
static double expect_fold(const hk_rest_solver *s, const way *w)
{
    if (w->known < 3) return INFINITY;
    double along = 0, back = 0;
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++) {
        double step = s->good[i] - s->before[i];
        along += step * step;
        back += step * (s->before[i] - s->older[i]);
    }
    double last = sqrt(along), before = back / last;  // lengths of the last two steps
    if (!(last > 0 && before > 0)) return INFINITY;
    double slope = (w->load[0] - w->load[1]) / last, old = (w->load[1] - w->load[2]) / before;
    double bend = (slope - old) / (last + before), end = slope + bend * last;
    return bend < 0 && end > 0 ? w->load[0] - end * end / (4 * bend) : INFINITY;
}

// Puts now.X where the next load is expected to have it: along the last step, farther where a fold
// is near, or where it is.
static bool predict(hk_rest_solver *s, const way *w, double step)
{
    int64_t size = 4 * (int64_t)s->inverse->problem->vertex_count;
    if (w->known > 1) {
        double far = step / (w->load[0] - w->load[1]), left = w->fold - w->load[0];
        if (step < left) {
            double a = sqrt(w->fold - w->load[1]), b = sqrt(left), c = sqrt(left - step);
            far = (b - c) / (a - b);
        }
        for (int64_t i = 0; i < size; i++) s->step[i] = s->good[i] - s->before[i];
        double largest =
            hk_precondition_step(s->precondition, s->good, s->step, far, MOST_EXPONENT, s->now.X);
        if (largest <= MOST_EXPONENT && hk_rest_evaluate(s, &s->now)) return true;
    }
    memcpy(s->now.X, s->good, bytes_of(s));
    return hk_rest_evaluate(s, &s->now);
}

// One step; `now` is the shape at its end where that was found.
static hk_status take_step(hk_rest_solver *s, const way *w, double step, hk_rest_end *end)
{
    bool last = w->load[0] + step >= 1;
    double tolerance = isfinite(w->fold) ? FOLD_TOLERANCE : WAY_TOLERANCE;
    hk_inverse_set_load(s->inverse, last ? 1 : w->load[0] + step);
    *end = HK_REST_STUCK;
    if (!predict(s, w, step)) return HK_OK;
    return hk_rest_newton_gmres(s, last ? s->settings.tolerance : tolerance,
                                last ? s->settings.iterations : WAY_ITERATIONS, end);
}

static void keep_step(hk_rest_solver *s, way *w)
{
    w->load[2] = w->load[1];
    w->load[1] = w->load[0];
    w->load[0] = s->inverse->load;
    w->known = hk_min_int(w->known + 1, 3);
    double *free = s->older;
    s->older = s->before;
    s->before = s->good;
    s->good = free;
    memcpy(s->good, s->now.X, bytes_of(s));
    w->fold = expect_fold(s, w);
    w->failed = INFINITY;
}

static bool is_at_fold(const way *w)
{
    return w->fold < 1 && w->fold - w->load[0] < AT_FOLD * w->fold;
}

static void describe_end(hk_rest_solver *s, const way *w)
{
    static const char advice[] = "make it stiffer or lighter, or hold it in more places";
    hk_rest_report *r = s->report;
    // What failed lies beyond the fold, or nearly.
    bool fold = is_at_fold(w) || (w->fold < 1 && w->failed > w->fold - AT_FOLD);
    bool spent = r->load_steps >= s->settings.load_steps;
    r->reason = HK_LOAD_STEP_LIMIT;
    if (fold)
        snprintf(r->detail, sizeof r->detail,
                 "no rest shape beyond %.3g %% of the load (solutions fold back there): %s",
                 100 * w->fold, advice);
    else if (spent)
        snprintf(r->detail, sizeof r->detail,
                 "%d load steps led to %.3g %% of the load, and no fold is in sight: allow more of "
                 "them, or %s",
                 r->load_steps, 100 * w->load[0], advice);
    else
        snprintf(r->detail, sizeof r->detail,
                 "no rest shape was found beyond %.3g %% of the load: %s, or refine the mesh",
                 100 * w->load[0], advice);
}

// The next step: longer after success, shorter after failure, and towards a fold at most a part of
// the way.
static double next_step(const way *w, double step, bool success)
{
    step *= success ? GROW : SHRINK;
    if (w->fold < w->load[0] + 2 * step && w->failed == INFINITY)
        step = fmin(step, TOWARDS_FOLD * (w->fold - w->load[0]));
    return step;
}

static double shortest_step(const way *w)
{
    bool near = w->fold < 1.05 * w->load[0];
    return near ? SHORTEST_NEAR_FOLD * w->load[0] : SHORTEST_STEP * fmax(w->load[0], SHORTEST_STEP);
}

hk_status hk_rest_load_steps(hk_rest_solver *s, hk_rest_end *end)
{
    way w = {.known = 1, .fold = INFINITY, .failed = INFINITY};
    double step = FIRST_STEP;
    memcpy(s->good, s->inverse->x, bytes_of(s));
    s->report->load_steps = 0;
    *end = HK_REST_SPENT;
    while (w.load[0] < 1 && step >= shortest_step(&w) && !is_at_fold(&w) &&
           s->report->load_steps < s->settings.load_steps) {
        step = fmin(step, 1 - w.load[0]);
        s->report->load_steps++;
        HK_TRY(take_step(s, &w, step, end));
        if (*end == HK_REST_STOPPED) break;
        if (*end == HK_REST_DONE)
            keep_step(s, &w);
        else
            w.failed = fmin(w.failed, w.load[0] + step);
        step = next_step(&w, step, *end == HK_REST_DONE);
    }
    s->report->load_reached = w.load[0];
    if (w.load[0] >= 1) return HK_OK;
    // The last shape that is one, and its load.
    hk_inverse_set_load(s->inverse, w.load[0]);
    memcpy(s->now.X, s->good, bytes_of(s));
    hk_rest_evaluate(s, &s->now);
    if (*end != HK_REST_STOPPED) {
        *end = HK_REST_STUCK;
        describe_end(s, &w);
    }
    return HK_OK;
}
