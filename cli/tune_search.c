// The search of Descent section 4.3: change one phase at a time, accept the change after which the
// error is least, and begin anew, until no change helps. It begins with large changes, from the
// best of several lists of phases.
#include <math.h>
#include <string.h>

#include "tune.h"

// By how much the cost, a mean of log10, must fall for a change to count.
#define HELP 1e-3

enum { STARTS = 3 };

typedef struct start {
    tune_phases phases;
    double cost;
} start;

typedef struct search {
    tune_bench *bench;
    int count;             // of phases
    start starts[STARTS];  // the best ones first
    tune_phases best;
    double cost;  // of the best
    double deadline;
    tune_end end;
    cli_progress progress;
} search;

// ---------------------------------------------------------------- trials

// False: the search is over, and the cost is not known.
static bool attempt(search *s, const tune_phases *phases, double *cost)
{
    if (s->end != TUNE_NO_CHANGE_HELPS) return false;
    if (cli_interrupted())
        s->end = TUNE_INTERRUPTED;
    else if (cli_now() > s->deadline)
        s->end = TUNE_TIME_IS_UP;
    else {
        double errors[TUNE_MOST_SAMPLES];
        if (!tune_measure(s->bench, phases, errors, cost)) s->end = TUNE_FAILED;
    }
    if (s->end != TUNE_NO_CHANGE_HELPS) return false;
    cli_progress_text(&s->progress, "trial %d  error %.2e  %.1f s", s->bench->trials,
                      pow(10, fmin(s->cost, *cost)), cli_now() - s->progress.start);
    return true;
}

// Takes its place among the starts if it is good enough.
static void begin_with(search *s, const tune_phases *phases)
{
    start next = {.phases = *phases};
    if (phases->count > s->count || !attempt(s, phases, &next.cost)) return;
    for (int i = 0; i < STARTS; ++i)
        if (tune_phases_equal(&s->starts[i].phases, phases)) return;
    for (int i = 0; i < STARTS; ++i) {
        if (!(next.cost < s->starts[i].cost)) continue;
        start behind = s->starts[i];
        s->starts[i] = next;
        next = behind;
    }
    s->cost = s->starts[0].cost;
}

// ---------------------------------------------------------------- where to begin

// From 1 − ρ = 0.5 down to `least`, each phase by the same factor, all of the same length; or, with
// `growing`, each twice as long as the one before.
static tune_phases ladder(int count, int iterations, double least, bool growing)
{
    tune_phases phases = {.count = count};
    double parts = growing ? pow(2, count) - 1 : count;
    for (int i = 0, begin = 0; i < count; ++i) {
        double share = (growing ? pow(2, i + 1) - 1 : i + 1) / parts;
        int end = (int)lround(share * iterations);
        double gap = count > 1 ? 0.5 * pow(least / 0.5, i / (count - 1.0)) : least;
        phases.length[i] = end - begin;
        phases.rho[i] = tune_rate(gap);
        begin = end;
    }
    return phases;
}

static void begin_with_ladders(search *s)
{
    static const double gaps[] = {0.1, 0.03, 0.01, 0.003, 0.001, 0.0003};
    for (int i = 0; i < (int)(sizeof gaps / sizeof gaps[0]); ++i)
        for (int growing = 0; growing < 2; ++growing) {
            tune_phases phases = ladder(s->count, s->bench->iterations, gaps[i], growing);
            begin_with(s, &phases);
        }
}

// Phases that are missing are there with length 0, so that they can grow.
static void fill_up(tune_phases *p, int count)
{
    for (; p->count < count; ++p->count) {
        p->length[p->count] = 0;
        p->rho[p->count] = tune_rate(0.5 * (1 - p->rho[p->count - 1]));
    }
}

// ---------------------------------------------------------------- changes

// Changes 2i and 2i + 1 lower and raise ρ of phase i (Descent eq. 9); those behind move the end of
// a phase back and forth. False: there is no such change.
static bool change(const search *s, int which, double epsilon, int shift, tune_phases *phases)
{
    *phases = s->best;
    int i = which / 2, sign = which % 2 ? -1 : 1;
    if (i < s->count) {
        phases->rho[i] = tune_rate((1 + sign * epsilon) * (1 - phases->rho[i]));
        return phases->length[i] > 0 && phases->rho[i] != s->best.rho[i];
    }
    i -= s->count;
    int *from = &phases->length[sign > 0 ? i : i + 1], *to = &phases->length[sign > 0 ? i + 1 : i];
    if (shift > *from) shift = *from;
    *from -= shift;
    *to += shift;
    return shift > 0;
}

// Whether one of the changes helped.
static bool cycle(search *s, double epsilon, int shift)
{
    tune_phases best = s->best;
    double cost = s->cost - HELP;
    bool helped = false;
    for (int which = 0; which < 2 * s->count + 2 * (s->count - 1); ++which) {
        tune_phases phases;
        double trial;
        if (!change(s, which, epsilon, shift, &phases)) continue;
        if (!attempt(s, &phases, &trial)) break;
        if (!(trial < cost)) continue;
        cost = trial;
        best = phases;
        helped = true;
    }
    if (!helped) return false;
    s->cost = cost;
    s->best = best;
    return true;
}

// The document's ε is that of the last stage. Shifts are for 96 iterations.
static const struct {
    double epsilon;
    int shift;
} g_stages[] = {{0.5, 16}, {0.25, 6}, {0.1, 3}, {0.05, 1}};
enum { STAGES = sizeof g_stages / sizeof g_stages[0] };

static void refine(search *s, int stage)
{
    int shift = (int)lround(g_stages[stage].shift * s->bench->iterations / 96.0);
    // The last stage moves by one iteration, whatever their number.
    if (shift < 1 || stage == STAGES - 1) shift = 1;
    while (s->end == TUNE_NO_CHANGE_HELPS && cycle(s, g_stages[stage].epsilon, shift)) {
    }
}

static void descend(search *s)
{
    start best = s->starts[0];
    for (int i = 0; i < STARTS && isfinite(s->starts[i].cost); ++i) {
        s->best = s->starts[i].phases;
        s->cost = s->starts[i].cost;
        fill_up(&s->best, s->count);
        refine(s, 0);
        if (s->cost < best.cost) best = (start){s->best, s->cost};
    }
    s->best = best.phases;
    s->cost = best.cost;
    fill_up(&s->best, s->count);
    for (int stage = 1; stage < STAGES; ++stage) refine(s, stage);
}

// ---------------------------------------------------------------- the whole

void tune_search(tune_bench *bench, const hk_solver_def *solver, int count, double seconds,
                 tune_found *found)
{
    *found = (tune_found){0};
    int first = bench->trials;
    double clock = cli_now();
    search s = {.bench = bench, .count = count, .deadline = clock + seconds, .cost = INFINITY};
    for (int i = 0; i < STARTS; ++i) s.starts[i].cost = INFINITY;
    tune_phases present = tune_phases_of(solver);
    found->before = tune_phases_fit(&present, bench->iterations);
    cli_progress_begin(&s.progress, 0);
    if (!tune_measure(bench, &found->before, found->errors_before, &found->cost_before))
        s.end = TUNE_FAILED;
    begin_with(&s, &found->before);
    tune_phases usual =
        tune_phases_of(&(hk_solver_def){.def_size = sizeof(hk_solver_def), .method = "descent"});
    usual = tune_phases_fit(&usual, bench->iterations);
    begin_with(&s, &usual);
    begin_with_ladders(&s);
    if (isfinite(s.cost)) descend(&s);
    found->after = tune_phases_fit(&s.best, bench->iterations);
    found->end = s.end;
    // The phases before stay if they are the better ones: there may have been more of them.
    if (!(s.cost < found->cost_before)) found->after = found->before;
    if (s.end != TUNE_FAILED &&
        !tune_measure(bench, &found->after, found->errors_after, &found->cost_after))
        found->end = TUNE_FAILED;
    cli_progress_end(&s.progress);
    found->trials = bench->trials - first;
    found->seconds = cli_now() - clock;
}
