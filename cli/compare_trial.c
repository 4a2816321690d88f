// One method on the frozen problem: once recorded, with the energy after every iteration, and a
// few times timed, with a clock and nothing else.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

// A pose whose solve ends this near is at rounding's mercy; taking the load in shares would not
// bring it nearer.
#define ROUNDED_OFF 1e-6
// A reference that did not converge is a solution up to this relative residual: its energy is too
// high by about the square of it.
#define MOST_OF_A_SOLUTION 1e-4
// Timed runs are not repeated when they have taken this long together, s.
#define LONG_ENOUGH 2.0
// Nor are beginnings, s.
#define SHORT_BEGINNING 0.3

void compare_trial_free(compare_trial *trial)
{
    free(trial->points);
    *trial = (compare_trial){0};
}

static int budget_of(const compare_problem *problem, const compare_spec *spec)
{
    return spec->iterations > 0 ? spec->iterations : problem->iterations;
}

// ---------------------------------------------------------------- the world of a method

static bool is_common(const char *name)
{
    return strcmp(name, "start") == 0 || strcmp(name, "eta") == 0;
}

hk_option *compare_merge_options(const compare_problem *problem, const compare_spec *spec,
                                 int *count)
{
    const hk_solver_def *scene = &problem->scene_world->solver;
    size_t room = (size_t)scene->option_count + 2 + (size_t)spec->option_count;
    hk_option *options = cli_realloc(NULL, room, sizeof *options);
    *count = 0;
    // Of two options with the same name the later one holds.
    if (compare_find_method(scene->method) == spec->method)
        for (int i = 0; i < scene->option_count; ++i)
            if (!is_common(scene->options[i].name)) options[(*count)++] = scene->options[i];
    if (problem->start && compare_find_option(spec->method, "start"))
        options[(*count)++] = (hk_option){.name = "start", .text = problem->start};
    if (isfinite(problem->eta) && compare_find_option(spec->method, "eta"))
        options[(*count)++] = (hk_option){.name = "eta", .number = problem->eta};
    for (int i = 0; i < spec->option_count; ++i) options[(*count)++] = spec->options[i];
    return options;
}

hk_status compare_create_world(const compare_problem *problem, const compare_spec *spec,
                               hk_world **world)
{
    int count;
    hk_option *options = compare_merge_options(problem, spec, &count);
    hk_world_def def = *problem->scene_world;
    def.backend = HK_BACKEND_CPU;
    def.model = problem->model;
    if (problem->threads >= 0) def.threads = problem->threads;
    def.solver =
        (hk_solver_def){.def_size = sizeof(hk_solver_def),
                        .method = hk_method_name(spec->method),
                        .iterations = budget_of(problem, spec),
                        .tolerance = spec->tolerance > 0 ? spec->tolerance : problem->tolerance,
                        .options = options,
                        .option_count = count};
    hk_status status = hk_world_create(&def, world);
    free(options);
    return status;
}

// Solves once from the frozen state, with the monitor watching. `start`: the time of the call, s.
static hk_status solve(const compare_problem *problem, hk_world *world, hk_monitor_fn *monitor,
                       void *context, bool with_energy, double *start, hk_step_report *report)
{
    hk_status status = hk_world_copy_state(world, problem->state);
    if (status != HK_OK) return status;
    hk_world_watch_energy(world, with_energy);
    hk_world_set_monitor(world, monitor, context);
    *start = cli_now();
    status = problem->pose ? hk_world_pose(world, report) : hk_world_step(world, report);
    hk_world_set_monitor(world, NULL, NULL);
    return status;
}

static bool stop_at_once(void *context, const hk_iteration *now)
{
    (void)context;
    (void)now;
    return false;
}

bool compare_can_do(const compare_problem *problem, const compare_spec *spec, char *why,
                    size_t why_size)
{
    hk_world *world = NULL;
    hk_step_report report;
    double start;
    hk_status status = compare_create_world(problem, spec, &world);
    // Methods that have no poses say so when they are asked for one.
    if (status == HK_OK && problem->pose)
        status = solve(problem, world, stop_at_once, NULL, true, &start, &report);
    hk_world_free(world);
    if (status != HK_BAD_INPUT && status != HK_UNSUPPORTED) return true;
    snprintf(why, why_size, "%s", hk_error());
    return false;
}

// ---------------------------------------------------------------- recording

typedef struct recorder {
    const compare_problem *problem;
    compare_trial *trial;
    int budget;  // iterations in all
    bool given_up;
    double relative_residual;  // of the last point
    int stage;                 // of the solve
} recorder;

static void add_point(compare_trial *trial, compare_point point)
{
    if (trial->count == trial->capacity) {
        trial->capacity = trial->capacity ? 2 * trial->capacity : 256;
        trial->points = cli_realloc(trial->points, (size_t)trial->capacity, sizeof *trial->points);
    }
    trial->points[trial->count++] = point;
}

// A pose that ends short of the tolerance is tried again in shares of the load. That is worth
// following as long as the iterations last, but not where only rounding kept it from the end.
static bool gives_up(const recorder *r)
{
    const compare_trial *trial = r->trial;
    if (!r->problem->pose || trial->count == 0) return false;
    const compare_point *last = &trial->points[trial->count - 1];
    return trial->iterations >= r->budget ||
           (!last->start && last->load >= 1 && r->relative_residual < ROUNDED_OFF);
}

static bool record(void *context, const hk_iteration *now)
{
    recorder *r = context;
    compare_trial *trial = r->trial;
    if (cli_interrupted()) trial->interrupted = true;
    bool resumed = now->iteration == 0 && now->resumed > 0;
    bool start = now->iteration == 0 && !resumed;
    if (start && gives_up(r)) r->given_up = true;
    if (r->problem->pose && now->iteration > r->budget) r->given_up = true;
    if (r->given_up || trial->interrupted) return false;
    if (start) trial->solves++;
    r->stage = start ? 0 : r->stage + resumed;
    if (now->iteration > 0) trial->iterations = now->iteration;
    add_point(trial, (compare_point){.iteration = trial->iterations,
                                     .solve = trial->solves,
                                     .stage = r->stage,
                                     .start = now->iteration == 0,
                                     .load = now->load,
                                     .ms = NAN,
                                     .energy = now->energy,
                                     .error = NAN,
                                     .residual = now->residual,
                                     .relative_residual = now->relative_residual});
    r->relative_residual = now->relative_residual;
    cli_progress_text(r->problem->progress, "%s  iteration %d of %d  relative residual %.2e",
                      trial->spec->label, trial->iterations, r->budget, now->relative_residual);
    return true;
}

// Only solves of the whole problem have comparable energies: of a pose those under the full load,
// of a time step, where prescribed motion may be taken in shares, the last.
static void mark_counting(const compare_problem *problem, compare_trial *trial)
{
    for (int i = 0; i < trial->count; ++i) {
        compare_point *point = &trial->points[i];
        point->counts = problem->pose ? point->load >= 1 : point->solve == trial->solves;
    }
}

bool compare_record(const compare_problem *problem, hk_world *world, compare_trial *trial)
{
    recorder r = {.problem = problem, .trial = trial, .budget = budget_of(problem, trial->spec)};
    hk_step_report report;
    double start;
    if (solve(problem, world, record, &r, true, &start, &report) != HK_OK) {
        snprintf(trial->failure, sizeof trial->failure, "%s", hk_error());
        return false;
    }
    trial->reason = report.reason;
    memcpy(trial->detail, report.detail, sizeof trial->detail);
    trial->relative_residual = r.given_up ? r.relative_residual : report.relative_residual;
    if (r.given_up) {
        trial->reason = trial->iterations >= r.budget ? HK_ITERATION_LIMIT : HK_STALLED;
        snprintf(trial->detail, sizeof trial->detail, "relative residual %.1e",
                 r.relative_residual);
    }
    if (trial->interrupted) return false;
    mark_counting(problem, trial);
    if (hk_reason_outcome(trial->reason) == HK_OUTCOME_FAILED) {
        snprintf(trial->failure, sizeof trial->failure, "%s%s%s", hk_reason_name(trial->reason),
                 trial->detail[0] ? ": " : "", trial->detail);
        return false;
    }
    return true;
}

bool compare_is_solution(const compare_trial *truth, char *why, size_t why_size)
{
    if (truth->failure[0] != '\0') {
        snprintf(why, why_size, "%s", truth->failure);
        return false;
    }
    bool at_rest = truth->reason == HK_CONVERGED || truth->reason == HK_PRECISION_LIMIT;
    if (at_rest || truth->relative_residual <= MOST_OF_A_SOLUTION) return true;
    snprintf(why, why_size, "%s after %d iterations with a relative residual of %.1e%s%s",
             hk_reason_name(truth->reason), truth->iterations, truth->relative_residual,
             truth->detail[0] ? ": " : "", truth->detail);
    return false;
}

// ---------------------------------------------------------------- timing

typedef struct stopwatch {
    double start;  // s
    double *ms;    // [most] after iteration k + 1
    int count;
    int most;
    bool ran_over;  // there were more iterations
} stopwatch;

static bool note_time(void *context, const hk_iteration *now)
{
    stopwatch *watch = context;
    (void)now;
    if (watch->count == watch->most) {
        watch->ran_over = true;
        return false;
    }
    watch->ms[watch->count++] = 1e3 * (cli_now() - watch->start);
    return !cli_interrupted();
}

// How long a method takes from nothing to the end of its first iteration.
typedef struct beginning {
    double create_ms;
    double first_ms;  // with creation, and what the first solve builds that later ones find
} beginning;

static hk_status begin(const compare_problem *problem, const compare_spec *spec, hk_world **world,
                       beginning *took)
{
    hk_status status = compare_create_world(problem, spec, world);
    if (status != HK_OK) return status;
    double first = 0;
    stopwatch watch = {.ms = &first, .most = 1};
    hk_step_report report;
    // What goes wrong here does so again in the recorded run, which tells it.
    if (solve(problem, *world, note_time, &watch, false, &watch.start, &report) != HK_OK) first = 0;
    double create = hk_world_setup_ms(*world);
    *took = (beginning){create, create + first};
    return HK_OK;
}

// A few times, unless it takes long; the shortest counts.
static hk_status begin_best(const compare_problem *problem, const compare_spec *spec,
                            hk_world **world, beginning *best)
{
    double start = cli_now();
    hk_status status = begin(problem, spec, world, best);
    for (int k = 1; k < problem->repeats && status == HK_OK; ++k) {
        if (cli_now() - start > SHORT_BEGINNING || cli_interrupted()) break;
        hk_world_free(*world);
        beginning took;
        status = begin(problem, spec, world, &took);
        if (status != HK_OK) break;
        best->create_ms = fmin(best->create_ms, took.create_ms);
        best->first_ms = fmin(best->first_ms, took.first_ms);
    }
    return status;
}

// Every run does the same work, and what disturbs one makes it slower only: for each iteration the
// shortest duration counts.
static void keep_shortest(const double *ms, int count, bool first, double *durations)
{
    for (int k = 0; k < count; ++k) {
        double duration = ms[k] - (k > 0 ? ms[k - 1] : 0);
        if (first || duration < durations[k]) durations[k] = duration;
    }
}

static void set_times(compare_trial *trial, const double *durations)
{
    double now = 0;
    int done = 0;
    for (int i = 0; i < trial->count; ++i) {
        compare_point *point = &trial->points[i];
        for (; done < point->iteration; ++done) now += durations[done];
        point->ms = now;
    }
}

static void run_timed(const compare_problem *problem, hk_world *world, compare_trial *trial)
{
    int most = trial->iterations;
    double *durations = cli_realloc(NULL, (size_t)most + 1, sizeof *durations);
    double *ms = cli_realloc(NULL, (size_t)most + 1, sizeof *ms);
    double begin = cli_now();
    bool have = false;
    trial->same_iterations = true;
    for (int k = 0; k < problem->repeats; ++k) {
        stopwatch watch = {.ms = ms, .most = most};
        hk_step_report report;
        hk_status status = solve(problem, world, note_time, &watch, false, &watch.start, &report);
        if (cli_interrupted()) trial->interrupted = true;
        if (status != HK_OK || trial->interrupted) break;
        // A pose that was given up goes on into the next share, which is not of interest.
        if (watch.count == most && (!watch.ran_over || problem->pose)) {
            keep_shortest(ms, most, !have, durations);
            have = true;
        } else {
            trial->same_iterations = false;
        }
        if (cli_now() - begin > LONG_ENOUGH) break;
    }
    if (have) set_times(trial, durations);
    free(durations);
    free(ms);
}

void compare_try(const compare_problem *problem, const compare_spec *spec, compare_trial *trial)
{
    *trial = (compare_trial){.spec = spec, .setup_ms = NAN, .relative_residual = NAN};
    hk_world *world;
    beginning took;
    if (begin_best(problem, spec, &world, &took) != HK_OK) {
        snprintf(trial->failure, sizeof trial->failure, "%s", hk_error());
        return;
    }
    if (compare_record(problem, world, trial)) {
        run_timed(problem, world, trial);
        double first = 0;
        for (int i = 0; i < trial->count && first == 0; ++i)
            if (trial->points[i].iteration == 1) first = trial->points[i].ms;
        trial->setup_ms = fmax(took.create_ms, took.first_ms - first);
    }
    hk_world_free(world);
}
