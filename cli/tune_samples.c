// The pre-simulation that trials of phases are made on, and one trial.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

#define MARCH_TOLERANCE     1e-6
#define REFERENCE_TOLERANCE 1e-9
#define LEAST_ERROR         1e-12
// In a step that is to be a sample, ε must fall by more than this much of the energies at work,
// more than this many times what rounding was seen to do, and more than what moving everything by
// this much of the bodies' size makes; or the error of a trial says nothing.
#define LEAST_FALL        1e-9
#define ROUNDING_DISTANCE 1e3
#define LEAST_MOTION      1e-7

enum { MARCH_ITERATIONS = 1000, REFERENCE_ITERATIONS = 20000 };

// ---------------------------------------------------------------- the march

// ε in the course of a reference step.
typedef struct course {
    double last;  // J
    double rise;  // J, the largest from one iteration to the next
} course;

static bool follow(void *context, const hk_iteration *iteration)
{
    course *c = context;
    if (iteration->iteration > 0) c->rise = fmax(c->rise, iteration->energy - c->last);
    c->last = iteration->energy;
    return true;
}

// L-BFGS from the Hessian of each step's start: of the starts that quasi_newton has, it takes by
// far the fewest iterations to tight tolerances.
static const hk_option g_initial = {.name = "initial", .text = "updating_hessian"};

static hk_solver_def march_solver(double tolerance, int iterations)
{
    return (hk_solver_def){.def_size = sizeof(hk_solver_def),
                           .method = "quasi_newton",
                           .iterations = iterations,
                           .tolerance = tolerance,
                           .options = &g_initial,
                           .option_count = 1};
}

static bool set_march(hk_world *world, double tolerance, int iterations)
{
    hk_solver_def solver = march_solver(tolerance, iterations);
    return hk_world_set_solver(world, &solver) == HK_OK;
}

// One step of the march; a state that fails has nothing to go on from.
static bool march_step(hk_world *world, int step, hk_step_report *report, char *why, size_t size)
{
    if (hk_world_step(world, report) != HK_OK) {
        snprintf(why, size, "step %d of the pre-simulation: %s", step, hk_error());
        return false;
    }
    if (hk_reason_outcome(report->reason) != HK_OUTCOME_FAILED) return true;
    snprintf(why, size, "step %d of the pre-simulation failed (%s)%s%s", step,
             hk_reason_name(report->reason), report->detail[0] ? ": " : "", report->detail);
    return false;
}

static bool copy_state(tune_bench *bench, const hk_world *from, tune_sample *sample, char *why,
                       size_t size)
{
    // It only holds the state; this method brings nothing along.
    hk_world_def def = bench->def;
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def), .method = "gradient_descent"};
    if (hk_world_create(&def, &sample->state) == HK_OK &&
        hk_world_copy_state(sample->state, from) == HK_OK)
        return true;
    snprintf(why, size, "%s", hk_error());
    return false;
}

// A step whose least energy is wanted.
static bool sample_step(tune_bench *bench, hk_world *world, int step, char *why, size_t size)
{
    tune_sample *sample = &bench->samples[bench->sample_count++];
    *sample = (tune_sample){.step = step};
    if (!copy_state(bench, world, sample, why, size)) return false;
    course c = {.last = NAN, .rise = 0};
    hk_step_report report;
    hk_world_set_monitor(world, follow, &c);
    hk_world_watch_energy(world, true);
    bool good = set_march(world, REFERENCE_TOLERANCE, REFERENCE_ITERATIONS);
    if (!good) snprintf(why, size, "%s", hk_error());
    if (good) good = march_step(world, step, &report, why, size);
    hk_world_set_monitor(world, NULL, NULL);
    hk_world_watch_energy(world, false);
    if (!good) return false;
    if (!set_march(world, MARCH_TOLERANCE, MARCH_ITERATIONS)) {
        snprintf(why, size, "%s", hk_error());
        return false;
    }
    sample->least = c.last;
    sample->rise = c.rise;
    sample->scale = fabs(report.energy.elastic) + fabs(report.energy.kinetic) + fabs(c.last);
    // Its error in ε goes with the square of the residual: the tolerance of the march is enough.
    if (report.reason == HK_CONVERGED || report.relative_residual <= MARCH_TOLERANCE) return true;
    cli_note("step %d does not converge (%s; relative residual %.1e): no sample", step,
             hk_reason_name(report.reason), report.relative_residual);
    hk_world_free(sample->state);
    bench->sample_count--;
    return true;
}

static bool march(tune_bench *bench, hk_world *world, int samples, int steps, char *why,
                  size_t size)
{
    int last = 0, done = 0, unconverged = 0;
    cli_progress progress;
    cli_progress_begin(&progress, steps);
    // The middles of equal parts of the march; nothing is wanted from behind the last one.
    if (samples > steps) samples = steps;
    last = (int)((2 * (int64_t)samples - 1) * steps / (2 * samples)) + 1;
    bool good = true;
    for (int step = 1; good && step <= last; ++step) {
        if (cli_interrupted()) {
            good = false;
            break;
        }
        int due = (int)((2 * (int64_t)done + 1) * steps / (2 * samples)) + 1;
        hk_step_report report = {0};
        if (step == due) {
            ++done;
            good = sample_step(bench, world, step, why, size);
        } else {
            good = march_step(world, step, &report, why, size);
            if (good && report.reason != HK_CONVERGED) ++unconverged;
        }
        cli_progress_step(&progress, step, hk_world_time(world));
    }
    cli_progress_end(&progress);
    if (unconverged > 0)
        cli_note("%d of %d steps of the pre-simulation did not converge", unconverged, last);
    return good;
}

// ---------------------------------------------------------------- one trial

// ε in the course of a step of descent. It ends with the best of the states that it looks at: every
// `check` iterations and at the end of the budget. Between those ε is not needed, and not asked for
// in order to save time; the one after a look may also be the start of another solve.
typedef struct looks {
    hk_world *world;
    int check, budget;
    int done;             // iterations of this solve
    double start, least;  // J
} looks;

static bool is_look(const looks *l, int iteration)
{
    return iteration % l->check == 0 || iteration == l->budget;
}

static bool look(void *context, const hk_iteration *iteration)
{
    looks *l = context;
    l->done = iteration->iteration == 0 ? 0 : l->done + 1;
    if (l->done == 0) {
        if (isnan(l->start)) l->start = iteration->energy;
        l->least = iteration->energy;
    } else if (is_look(l, l->done)) {
        l->least = fmin(l->least, iteration->energy);
    }
    hk_world_watch_energy(l->world, is_look(l, l->done) || is_look(l, l->done + 1));
    return true;
}

static bool set_phases(tune_bench *bench, const tune_phases *phases)
{
    enum { PHASE_OPTIONS = 2 * TUNE_MOST_PHASES };
    static const char *const names[PHASE_OPTIONS] = {
        "length1", "rho1", "length2", "rho2", "length3", "rho3", "length4", "rho4",
        "length5", "rho5", "length6", "rho6", "length7", "rho7", "length8", "rho8"};
    hk_solver_def solver = bench->def.solver;
    size_t most = (size_t)solver.option_count + PHASE_OPTIONS;
    hk_option *options = cli_realloc(NULL, most, sizeof *options);
    int count = 0;
    for (int i = 0; i < solver.option_count; ++i) {
        const char *name = solver.options[i].name;
        if (strncmp(name, "length", 6) == 0 || strncmp(name, "rho", 3) == 0) continue;
        options[count++] = solver.options[i];
    }
    for (int i = 0; i < TUNE_MOST_PHASES; ++i) {
        bool given = i < phases->count;
        options[count++] =
            (hk_option){.name = names[2 * i], .number = given ? phases->length[i] : 0};
        options[count++] =
            (hk_option){.name = names[2 * i + 1], .number = given ? phases->rho[i] : 0};
    }
    solver.options = options;
    solver.option_count = count;
    bool good = hk_world_set_solver(bench->trial, &solver) == HK_OK;
    free(options);
    return good;
}

// A solver of its own for every trial: the step length that descent carries on would make the
// result depend on the trials before.
static bool try_sample(tune_bench *bench, const tune_phases *phases, const tune_sample *sample,
                       looks *l)
{
    *l = (looks){bench->trial, bench->check, bench->iterations, 0, NAN, NAN};
    if (!set_phases(bench, phases) || hk_world_copy_state(bench->trial, sample->state) != HK_OK)
        return false;
    hk_world_set_monitor(bench->trial, look, l);
    hk_world_watch_energy(bench->trial, true);
    hk_step_report report;
    if (hk_world_step(bench->trial, &report) != HK_OK) return false;
    // The state was kept: no progress.
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) l->least = l->start;
    return true;
}

bool tune_measure(tune_bench *bench, const tune_phases *phases, double *errors, double *cost)
{
    double sum = 0;
    bench->trials++;
    for (int i = 0; i < bench->sample_count; ++i) {
        const tune_sample *sample = &bench->samples[i];
        looks l;
        if (!try_sample(bench, phases, sample, &l)) return false;
        double error = (l.least - sample->least) / (sample->start - sample->least);
        errors[i] = isfinite(error) ? fmax(error, LEAST_ERROR) : 1;
        sum += log10(errors[i]);
    }
    *cost = sum / bench->sample_count;
    return true;
}

// ---------------------------------------------------------------- beginning

// J, of the inertia where all vertices are off by LEAST_MOTION: ε − ε* of such a state is larger.
static double energy_of_least_motion(const tune_bench *bench)
{
    const double *x = hk_model_rest_positions(bench->model), *m = hk_model_masses(bench->model);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double mass = 0, square = 0;
    for (int v = 0; v < hk_model_vertex_count(bench->model); ++v) {
        const double *at = x + 3 * (size_t)v;
        mass += m[v];
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], at[i]);
            high[i] = fmax(high[i], at[i]);
        }
    }
    for (int i = 0; i < 3; ++i) square += (high[i] - low[i]) * (high[i] - low[i]);
    double speed = LEAST_MOTION * sqrt(square) / bench->def.step;
    return 0.5 * mass * speed * speed;
}

// Where descent starts from does not depend on the phases. Samples from where there is nowhere to
// go are left out.
static bool keep_moving(tune_bench *bench, char *why, size_t size)
{
    tune_phases phases = tune_phases_of(&bench->def.solver);
    double motion = energy_of_least_motion(bench);
    int kept = 0;
    bool good = true;
    for (int i = 0; i < bench->sample_count; ++i) {
        tune_sample *sample = &bench->samples[i];
        looks l = {.start = NAN};
        if (good) good = try_sample(bench, &phases, sample, &l);
        sample->start = l.start;
        double fall = l.start - sample->least;
        double least =
            fmax(LEAST_FALL * (sample->scale + fabs(l.start)), ROUNDING_DISTANCE * sample->rise);
        if (fall > fmax(least, motion)) {
            bench->samples[kept++] = *sample;
            continue;
        }
        if (good)
            cli_note("step %d is at rest, or all but solved where it starts: no sample",
                     sample->step);
        hk_world_free(sample->state);
    }
    bench->sample_count = kept;
    if (!good)
        snprintf(why, size, "%s", hk_error());
    else if (kept == 0)
        snprintf(why, size,
                 "no step of the pre-simulation can serve as a sample: the scene is at "
                 "rest, or its steps do not converge; try other --steps or --samples");
    return good && kept > 0;
}

bool tune_bench_begin(tune_bench *bench, const hk_scene *scene, const hk_model *model, int threads,
                      int samples, int steps, char *why, size_t size)
{
    *bench = (tune_bench){.model = model, .def = cli_cpu_world(scene, "tune")};
    hk_world_def *def = &bench->def;
    def->model = model;
    if (threads >= 0) def->threads = threads;
    if (def->solver.iterations == 0) def->solver.iterations = TUNE_DEFAULT_ITERATIONS;
    bench->iterations = def->solver.iterations;
    bench->check = (int)tune_option(&def->solver, "check");
    why[0] = '\0';
    hk_world_def reference = *def;
    reference.solver = march_solver(MARCH_TOLERANCE, MARCH_ITERATIONS);
    hk_world *world = NULL;
    bool good = hk_world_create(def, &bench->trial) == HK_OK &&
                hk_world_create(&reference, &world) == HK_OK;
    if (!good) snprintf(why, size, "%s", hk_error());
    good = good && march(bench, world, samples, steps, why, size);
    hk_world_free(world);
    return good && keep_moving(bench, why, size);
}

void tune_bench_free(tune_bench *bench)
{
    for (int i = 0; i < bench->sample_count; ++i) hk_world_free(bench->samples[i].state);
    hk_world_free(bench->trial);
    *bench = (tune_bench){0};
}
