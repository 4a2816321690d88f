// Load stepping: from the loaded shape, which is its own rest shape without a load, to the full
// load in steps that grow and shrink, and what to say where the branch of solutions ends.
#include <math.h>
#include <stdio.h>

#include "design/rest_solver.h"

#define FIRST_STEP    0.4
#define MOST_EXPONENT 1  // of an extrapolation
#define SHRINK        0.4
#define GROW          1.5
#define SHORTEST_STEP 1e-3
// Of the loads on the way, which nobody asked for.
#define WAY_TOLERANCE 1e-5
enum { WAY_ITERATIONS = 20 };
// At a fold solutions end like a square root: dX/ds grows beyond all bounds. Where it has grown so
// many times over its mean, that is what happened.
#define FOLD_GROWTH 2.5

// The way so far.
typedef struct way {
    double reached, last;  // fractions of the load, the last step
    double speed, sum;     // ‖dX‖/ds of the last step, and ∫ ‖dX‖
    bool extrapolates;     // there is a step to extend
} way;

static size_t bytes_of(const hk_rest_solver *s)
{
    return 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
}

static double distance(const hk_rest_solver *s, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

// Puts now.X where the next load is expected to have it: along the last step, or where it is.
static bool predict(hk_rest_solver *s, const way *w, double step)
{
    int64_t size = 4 * (int64_t)s->inverse->problem->vertex_count;
    if (w->extrapolates) {
        for (int64_t i = 0; i < size; i++) s->step[i] = s->good[i] - s->before[i];
        double largest = hk_precondition_step(s->precondition, s->good, s->step, step / w->last,
                                              MOST_EXPONENT, s->now.X);
        if (largest <= MOST_EXPONENT && hk_rest_evaluate(s, &s->now)) return true;
    }
    memcpy(s->now.X, s->good, bytes_of(s));
    return hk_rest_evaluate(s, &s->now);
}

// One step; `now` is the shape at its end where that was found.
static hk_status take_step(hk_rest_solver *s, const way *w, double step, hk_rest_end *end)
{
    bool last = w->reached + step >= 1;
    hk_inverse_set_load(s->inverse, last ? 1 : w->reached + step);
    *end = HK_REST_STUCK;
    if (!predict(s, w, step)) return HK_OK;
    return hk_rest_newton_gmres(s, last ? s->settings.tolerance : WAY_TOLERANCE,
                                last ? s->settings.iterations : WAY_ITERATIONS, end);
}

static void keep_step(hk_rest_solver *s, way *w, double step)
{
    double moved = distance(s, s->now.X, s->good);
    w->speed = moved / step;
    w->sum += moved;
    w->last = step;
    w->extrapolates = true;
    w->reached = s->inverse->load;
    double *old = s->before;
    s->before = s->good;
    s->good = old;
    memcpy(s->good, s->now.X, bytes_of(s));
}

static void describe_end(hk_rest_solver *s, const way *w)
{
    hk_rest_report *r = s->report;
    bool fold = w->reached > 0 && w->speed > FOLD_GROWTH * w->sum / w->reached;
    r->reason = HK_LOAD_STEP_LIMIT;
    if (fold)
        snprintf(r->detail, sizeof r->detail,
                 "no rest shape beyond %.3g %% of the load (solutions fold back there): make it "
                 "stiffer or lighter, or hold it in more places",
                 100 * w->reached);
    else
        snprintf(r->detail, sizeof r->detail,
                 "no rest shape was found beyond %.3g %% of the load: make it stiffer or lighter, "
                 "hold it in more places, or refine the mesh",
                 100 * w->reached);
}

hk_status hk_rest_load_steps(hk_rest_solver *s, hk_rest_end *end)
{
    way w = {0};
    double step = FIRST_STEP;
    memcpy(s->good, s->inverse->x, bytes_of(s));
    s->report->load_steps = 0;
    *end = HK_REST_SPENT;
    while (w.reached < 1 && step >= SHORTEST_STEP &&
           s->report->load_steps < s->settings.load_steps) {
        step = fmin(step, 1 - w.reached);
        s->report->load_steps++;
        HK_TRY(take_step(s, &w, step, end));
        if (*end == HK_REST_STOPPED) break;
        if (*end == HK_REST_DONE) keep_step(s, &w, step);
        step *= *end == HK_REST_DONE ? GROW : SHRINK;
    }
    s->report->load_reached = w.reached;
    if (w.reached >= 1) return HK_OK;
    // The last shape that is one, and its load.
    hk_inverse_set_load(s->inverse, w.reached);
    memcpy(s->now.X, s->good, bytes_of(s));
    hk_rest_evaluate(s, &s->now);
    if (*end != HK_REST_STOPPED) {
        *end = HK_REST_STUCK;
        describe_end(s, &w);
    }
    return HK_OK;
}
