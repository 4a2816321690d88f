// The Chebyshev phases of method descent: what they cost on samples of a scene, and the search for
// better ones (Wang & Yang 2016, section 4.3, "Adaptive parameters").
#ifndef HOOKE_CLI_TUNE_H
#define HOOKE_CLI_TUNE_H

#include "cli.h"

enum { TUNE_MOST_PHASES = 8, TUNE_MOST_SAMPLES = 64, TUNE_DEFAULT_ITERATIONS = 96 };

// ---------------------------------------------------------------- phases (tune_phases.c)

typedef struct tune_phases {
    int count;
    int length[TUNE_MOST_PHASES];  // iterations; 0: there is none
    double rho[TUNE_MOST_PHASES];
} tune_phases;

// Those of a solver of method descent; what its options leave open is the method's default.
tune_phases tune_phases_of(const hk_solver_def *solver);
// The same course of `iterations` in phases that fill them, without empty ones.
tune_phases tune_phases_fit(const tune_phases *phases, int iterations);
bool tune_phases_equal(const tune_phases *a, const tune_phases *b);
// ρ with 1 − ρ = `gap` in three digits, from 0 to 0.9999: beyond that it makes no difference to
// some hundred iterations.
double tune_rate(double gap);
// "[[8, 0.5], [88, 0.97]]", which gives the same numbers when it is read. To be freed.
char *tune_phases_text(const tune_phases *phases);
json_t *tune_phases_json(const tune_phases *phases);
// A number of the option `name` of method descent: as the solver has it, or the default.
double tune_option(const hk_solver_def *solver, const char *name);

// ---------------------------------------------------------------- samples (tune_samples.c)

typedef struct tune_sample {
    int step;         // of the pre-simulation, from 1
    hk_world *state;  // before that step
    double least;     // J, ε* of the step
    double start;     // J, ε where descent starts
    double scale;     // J, of the energies at work: what rounding is relative to
    double rise;      // J, by which rounding was seen to raise ε
} tune_sample;

// What trials are made on.
typedef struct tune_bench {
    const hk_model *model;
    hk_world_def def;  // of the scene, with method descent
    hk_world *trial;
    tune_sample samples[TUNE_MOST_SAMPLES];
    int sample_count;
    int iterations, check;  // of descent: the budget, and how often it looks at ε
    int trials;             // so far
} tune_bench;

// Marches `steps` steps with quasi_newton and keeps the state before `samples` of them, evenly
// spaced, with the least energy of the step. Samples that are at rest or have no reference are left
// out with a note; one must remain. False: the reason is in `why`, "" if interrupted. To be freed
// either way.
bool tune_bench_begin(tune_bench *bench, const hk_scene *scene, const hk_model *model, int threads,
                      int samples, int steps, char *why, size_t size);
void tune_bench_free(tune_bench *bench);
// One step of descent with these phases from every sample: errors[sample_count] are
// (ε_end − ε*)/(ε_start − ε*), at least 1e-12, and the cost is the mean of their log10. False: a
// call of the library failed.
bool tune_measure(tune_bench *bench, const tune_phases *phases, double *errors, double *cost);

// ---------------------------------------------------------------- search (tune_search.c)

typedef enum tune_end {
    TUNE_NO_CHANGE_HELPS,
    TUNE_TIME_IS_UP,
    TUNE_INTERRUPTED,
    TUNE_FAILED
} tune_end;

typedef struct tune_found {
    tune_phases before, after;
    double errors_before[TUNE_MOST_SAMPLES], errors_after[TUNE_MOST_SAMPLES];
    double cost_before, cost_after;
    int trials;
    double seconds;
    tune_end end;
} tune_found;

// At most `count` phases; those of `solver` are the ones before. What it finds is never worse.
void tune_search(tune_bench *bench, const hk_solver_def *solver, int count, double seconds,
                 tune_found *found);

#endif
