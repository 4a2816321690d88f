// hooke compare: how fast methods come down to the minimum of one time step, or of one pose.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

static const char purpose[] =
    "Freezes one time step of the scene (or its pose), finds its solution by Newton's\n"
    "method to a tolerance of 1e-12, and lets every method run from the same start.\n"
    "Writes how the relative error (e - e*) / (e0 - e*) of the minimised energy falls\n"
    "with iterations and with milliseconds, and the time to relative residuals of 1e-2,\n"
    "1e-3 and 1e-4: tables, DIR/NAME.csv and DIR/NAME.svg.\n"
    "\n"
    "A method is NAME, then +WORD for an option that takes this word, then :KEY=VALUE\n"
    "for any option, iterations and tolerance too: lbfgs+jacobi:window=8:iterations=50.\n"
    "LABEL=NAME… calls it so in tables and plots.\n"
    "Without --methods all that can do the scene are compared; 'hooke help methods' lists them.\n"
    "\n"
    "With --frames N it does so in N consecutive steps, each from the solution of the one\n"
    "before, and tells the least error that every method comes to in each.";

static const char examples[] =
    "hooke compare scenes/swing.json\n"
    "hooke compare scenes/swing.json --methods newton,lbfgs+jacobi,lbfgs+none --step 40\n"
    "hooke compare scenes/beam.json --pose --methods newton,quasi_newton:window=0 --out /tmp/beam\n"
    "hooke compare scenes/swing.json --frames 50 --iterations 20 --methods lbfgs,quasi_newton";

static const char reference_name[] = "newton";
enum { DEFAULT_STEP = 10, DEFAULT_ITERATIONS = 200, REFERENCE_ITERATIONS = 1000 };
#define DEFAULT_TOLERANCE 1e-12

typedef struct compare_args {
    const char *scene_path;
    cli_texts sets, methods;
    const char *out, *name, *start, *march;
    bool pose, log_x;
    int step;        // -1: not given
    int frames;      // -1: not given
    int iterations;  // per method
    double tolerance;
    int repeats;
    int threads;  // -1: as the scene says
} compare_args;

typedef struct compare_job {
    compare_args args;
    compare_spec *specs;
    int spec_count;
    compare_spec march, reference;
    hk_scene *scene;
    hk_model *model;
    hk_world *state;  // marches to the frozen step
    compare_problem problem;
    compare_account account;
    compare_series series;  // of --frames
    json_t *left_out;       // [{method, reason}]
    cli_progress progress;
} compare_job;

// ---------------------------------------------------------------- arguments

static int check_arguments(const compare_args *args)
{
    if (args->pose && args->step >= 0)
        return cli_usage_error("compare", "--pose and --step exclude each other");
    if (args->pose && (args->march || args->start))
        return cli_usage_error("compare", "%s has no meaning with --pose",
                               args->march ? "--march" : "--start");
    if (args->pose && args->frames >= 0)
        return cli_usage_error("compare", "--pose and --frames exclude each other");
    if (args->frames == 0) return cli_usage_error("compare", "'--frames 0': expected at least 1");
    if (args->step == 0) return cli_usage_error("compare", "'--step 0': steps count from 1");
    if (args->iterations == 0)
        return cli_usage_error("compare", "'--iterations 0': expected at least 1");
    if (args->repeats == 0) return cli_usage_error("compare", "'--repeat 0': expected at least 1");
    if (!(args->tolerance > 0 && args->tolerance < 1))
        return cli_usage_error("compare", "'--tolerance %g': expected a number between 0 and 1",
                               args->tolerance);
    if (strchr(args->name, '/'))
        return cli_usage_error("compare", "'--name %s': folders are for --out", args->name);
    return cli_check_sets("compare", &args->sets);
}

static int parse(compare_args *args, int argc, char **argv)
{
    *args = (compare_args){.step = -1,
                           .frames = -1,
                           .iterations = DEFAULT_ITERATIONS,
                           .tolerance = DEFAULT_TOLERANCE,
                           .repeats = 5,
                           .threads = -1,
                           .name = "compare"};
    const cli_option options[] = {
        {"methods", 'm', CLI_TEXTS, &args->methods, "SPEC,SPEC",
         "what to compare (default: all methods that can do the scene)"},
        {"step", 0, CLI_INT, &args->step, "N",
         "the time step to freeze (default: 10, or the last if there are less)"},
        {"frames", 0, CLI_INT, &args->frames, "N",
         "steps to compare in, from --step on; tells the least errors only"},
        {"pose", 0, CLI_FLAG, &args->pose, NULL, "the equilibrium instead of a time step"},
        {"march", 0, CLI_TEXT, &args->march, "SPEC",
         "the method of the steps before (default: the scene's)"},
        {"start", 0, CLI_TEXT, &args->start, "WORD",
         "first guess of the step (default: the scene's, or velocity)"},
        {"iterations", 0, CLI_INT, &args->iterations, "N",
         "of methods that do not give their own (default 200)"},
        {"tolerance", 0, CLI_REAL, &args->tolerance, "T", "likewise (default 1e-12)"},
        {"repeat", 0, CLI_INT, &args->repeats, "N", "timed runs of a method (default 5)"},
        {"log-x", 0, CLI_FLAG, &args->log_x, NULL,
         "plot iterations and time on logarithmic axes, too"},
        {"name", 0, CLI_TEXT, &args->name, "NAME", "of the files (default: compare)"},
        {"out", 0, CLI_TEXT, &args->out, "DIR", "where they go (default: here)"},
        {"set", 0, CLI_TEXTS, &args->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"threads", 0, CLI_INT, &args->threads, "N", "threads to use; 0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the results as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    const cli_spec spec = {.command = "compare",
                           .arguments = "SCENE.json",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = sizeof options / sizeof options[0]};
    int result = cli_parse_one(spec, argc, argv, &args->scene_path);
    if (result >= 0) return result;
    return check_arguments(args);
}

static int read_specs(compare_job *job)
{
    const compare_args *args = &job->args;
    char why[1500] = "";
    bool good = true;
    for (int i = 0; good && i < args->methods.count; ++i)
        good = compare_read_specs(args->methods.items[i], &job->specs, &job->spec_count, why,
                                  sizeof why);
    for (int i = 0; good && args->methods.count == 0 && i < hk_method_count(); ++i)
        good =
            compare_read_specs(hk_method_name(i), &job->specs, &job->spec_count, why, sizeof why);
    if (good && args->march)
        good = compare_read_spec(args->march, strlen(args->march), &job->march, why, sizeof why);
    if (good)
        good = compare_read_spec(reference_name, strlen(reference_name), &job->reference, why,
                                 sizeof why);
    return good ? -1 : cli_usage_error("compare", "%s", why);
}

// ---------------------------------------------------------------- the frozen problem

static const hk_option *scene_option(const compare_job *job, const char *name)
{
    const hk_solver_def *solver = &hk_scene_world(job->scene)->solver;
    for (int i = 0; i < solver->option_count; ++i)
        if (strcmp(solver->options[i].name, name) == 0) return &solver->options[i];
    return NULL;
}

// The common start: as asked for, else as the scene has it, else along the velocities.
static int choose_start(compare_job *job)
{
    const hk_option_info *info = compare_find_option(job->reference.method, "start");
    const hk_option *of_scene = scene_option(job, "start"), *eta = scene_option(job, "eta");
    const char *wanted = job->args.start ? job->args.start : of_scene ? of_scene->text : "velocity";
    job->problem.eta = eta ? eta->number : NAN;
    for (int i = 0; info && info->words && info->words[i]; ++i)
        if (strcmp(info->words[i], wanted) == 0) job->problem.start = info->words[i];
    if (job->problem.start || !job->args.start) return -1;
    char known[256] = "nothing to choose";
    if (info) compare_list_words(info, known, sizeof known);
    return cli_usage_error("compare", "'--start %s': expected one of %s", wanted, known);
}

static int load(compare_job *job)
{
    const compare_args *args = &job->args;
    if (cli_scene_load(args->scene_path, args->sets.items, args->sets.count, &job->scene) != HK_OK)
        return cli_failure("%s", hk_error());
    cli_tell_mesh_notes(job->scene);
    job->problem = (compare_problem){.scene_world = hk_scene_world(job->scene),
                                     .pose = args->pose,
                                     .threads = args->threads,
                                     .iterations = args->iterations,
                                     .tolerance = args->tolerance,
                                     .repeats = args->repeats,
                                     .progress = &job->progress};
    int result = choose_start(job);
    if (result >= 0) return result;
    compare_account *account = &job->account;
    account->csv = cli_format("%s.csv", args->name);
    account->svg = cli_format("%s.svg", args->name);
    char **files[] = {&account->csv, &account->svg};
    char *outputs[2], why[512];
    for (int i = 0; i < 2; ++i) {
        outputs[i] = cli_output_path(args->out, *files[i]);
        free(*files[i]);
        *files[i] = outputs[i];
        if (!cli_output_is_good(outputs, i + 1, job->scene, args->scene_path, why, sizeof why))
            return cli_failure("%s", why);
    }
    return -1;
}

// The world that goes to the frozen step, by the scene's method or that of --march.
static int create_state(compare_job *job)
{
    const compare_args *args = &job->args;
    if (cli_scene_tears(job->scene))
        return cli_failure("%s: its bodies may come apart, each method's in another way: there is "
                           "nothing to compare vertex by vertex (without \"tearing\" and \"tear\" "
                           "there is)",
                           args->scene_path);
    if (hk_model_create(hk_scene_model(job->scene), &job->model) != HK_OK)
        return cli_failure("%s: %s", args->scene_path, hk_error());
    job->problem.model = job->model;
    hk_world_def def = cli_cpu_world(job->scene, "compare");
    def.model = job->model;
    if (args->threads >= 0) def.threads = args->threads;
    hk_option *options = NULL;
    if (args->march) {
        bool same = compare_find_method(def.solver.method) == job->march.method;
        compare_problem own = {.scene_world = job->problem.scene_world, .eta = NAN};
        options = compare_merge_options(&own, &job->march, &def.solver.option_count);
        def.solver.options = options;
        def.solver.method = hk_method_name(job->march.method);
        if (!same) def.solver.iterations = 0, def.solver.tolerance = 0;
        if (job->march.iterations > 0) def.solver.iterations = job->march.iterations;
        if (job->march.tolerance > 0) def.solver.tolerance = job->march.tolerance;
    }
    hk_status status = hk_world_create(&def, &job->state);
    free(options);
    if (status != HK_OK) return cli_failure("%s: %s", args->scene_path, hk_error());
    job->problem.state = job->state;
    job->account.length = def.step;
    job->account.threads = hk_world_threads(job->state);
    return -1;
}

static int march(compare_job *job)
{
    int before = job->account.step - 1, short_of = 0;
    cli_progress_begin(&job->progress, before);
    for (int step = 1; step <= before; ++step) {
        hk_step_report report;
        if (cli_interrupted()) return cli_failure("stopped before step %d", step);
        if (hk_world_step(job->state, &report) != HK_OK)
            return cli_failure("step %d: %s", step, hk_error());
        hk_outcome outcome = hk_reason_outcome(report.reason);
        if (outcome == HK_OUTCOME_FAILED)
            return cli_failure("step %d failed (%s)%s%s; choose an earlier one with --step", step,
                               hk_reason_name(report.reason), report.detail[0] ? ": " : "",
                               report.detail);
        short_of += outcome == HK_OUTCOME_STOPPED;
        cli_progress_step(&job->progress, step, hk_world_time(job->state));
    }
    cli_progress_end(&job->progress);
    if (short_of > 0)
        cli_note("%d of the %d steps before ended short of the tolerance", short_of, before);
    return -1;
}

static int freeze(compare_job *job)
{
    int result = create_state(job);
    if (result >= 0) return result;
    int steps = hk_scene_steps(job->scene), step = job->args.step;
    if (step < 0) step = steps > 0 && steps < DEFAULT_STEP ? steps : DEFAULT_STEP;
    job->account.step = job->args.pose ? 0 : step;
    if (!job->args.pose) result = march(job);
    job->account.time = hk_world_time(job->state);
    return result;
}

// ---------------------------------------------------------------- the comparison

// The truth. It is timed only if no trial of the same method will be.
static int find_truth(compare_job *job)
{
    compare_account *account = &job->account;
    compare_problem problem = job->problem;
    if (problem.iterations < REFERENCE_ITERATIONS) problem.iterations = REFERENCE_ITERATIONS;
    problem.tolerance = DEFAULT_TOLERANCE;
    for (int i = 0; i < job->spec_count; ++i)
        if (job->specs[i].method == job->reference.method) problem.repeats = 0;
    compare_try(&problem, &job->reference, &account->reference);
    const compare_trial *truth = &account->reference;
    cli_progress_clear();
    if (truth->interrupted) return cli_failure("stopped before the solution was found");
    char why[1024];
    if (!compare_is_solution(truth, why, sizeof why))
        return cli_failure("%s finds no solution to compare with: %s", reference_name, why);
    if (!compare_set_scale(account, why, sizeof why)) return cli_failure("%s", why);
    if (truth->reason != HK_CONVERGED)
        cli_note("the solution by %s is not exact (%s); relative residual %.1e", reference_name,
                 hk_reason_name(truth->reason), truth->relative_residual);
    return -1;
}

// Without a list, those that cannot do the scene are no failure.
static int leave_out(compare_job *job)
{
    if (job->args.methods.count > 0) return -1;
    int kept = 0;
    for (int i = 0; i < job->spec_count; ++i) {
        char why[512];
        if (compare_can_do(&job->problem, &job->specs[i], why, sizeof why)) {
            job->specs[kept++] = job->specs[i];
            continue;
        }
        cli_note("%s is left out: %s", job->specs[i].label, why);
        json_array_append_new(
            job->left_out, json_pack("{s:s, s:s}", "method", job->specs[i].label, "reason", why));
        compare_spec_free(&job->specs[i]);
    }
    job->spec_count = kept;
    return kept > 0 ? -1 : cli_failure("no method can do this scene");
}

static int run_trials(compare_job *job)
{
    compare_account *account = &job->account;
    account->problem = &job->problem;
    account->scene_path = job->args.scene_path;
    account->log_x = job->args.log_x;
    cli_progress_begin(&job->progress, 0);
    int result = find_truth(job);
    if (result >= 0) return result;
    account->trials = cli_realloc(NULL, (size_t)job->spec_count, sizeof *account->trials);
    for (int i = 0; i < job->spec_count; ++i) {
        compare_trial *trial = &account->trials[account->count];
        compare_try(&job->problem, &job->specs[i], trial);
        if (trial->interrupted) {
            compare_trial_free(trial);
            account->interrupted = true;
            break;
        }
        account->count++;
    }
    cli_progress_end(&job->progress);
    compare_rate(account);
    if (account->count == 0) return cli_failure("stopped before a method was done");
    if (account->interrupted)
        cli_note("stopped after %d of %d methods", account->count, job->spec_count);
    return -1;
}

static json_t *with_left_out(const compare_job *job, json_t *results)
{
    if (json_array_size(job->left_out) > 0) json_object_set(results, "left_out", job->left_out);
    return results;
}

// --frames: many steps, and of each the least errors.
static int run_series(compare_job *job)
{
    compare_series *series = &job->series;
    *series = (compare_series){.scene_path = job->args.scene_path,
                               .problem = &job->problem,
                               .specs = job->specs,
                               .spec_count = job->spec_count,
                               .first = job->account.step,
                               .wanted = job->args.frames,
                               .threads = job->account.threads,
                               .csv = job->account.csv,
                               .svg = job->account.svg};
    job->account.csv = job->account.svg = NULL;
    cli_progress_begin(&job->progress, 0);
    bool any = compare_run_series(series, &job->reference, job->state);
    cli_progress_end(&job->progress);
    if (!any)
        return cli_failure("%s",
                           series->failure[0] ? series->failure : "stopped before a step was done");
    bool good = cli_write_text(compare_series_csv(series), &series->csv);
    good = cli_write_text(compare_series_svg(series), &series->svg) && good;
    if (!cli_talk.quiet) compare_series_print(series, cli_text_stream());
    if (series->interrupted)
        cli_note("stopped after %d of %d steps", series->count, series->wanted);
    if (series->failure[0] != '\0') cli_say_error("%s", series->failure);
    if (cli_talk.json && !cli_json_print(with_left_out(job, compare_series_json(series)))) {
        cli_say_error("cannot print the results");
        good = false;
    }
    return good && series->count == series->wanted ? CLI_DONE : CLI_FAILED;
}

static int finish(compare_job *job)
{
    compare_account *account = &job->account;
    bool any = false, good = true;
    for (int i = 0; i < account->count; ++i) any |= account->trials[i].failure[0] == '\0';
    if (any) {
        good = cli_write_text(compare_csv(account), &account->csv);
        good = cli_write_text(compare_svg(account), &account->svg) && good;
    } else {  // what an earlier comparison wrote stays
        free(account->csv);
        free(account->svg);
        account->csv = account->svg = NULL;
    }
    if (!cli_talk.quiet) compare_print(account, cli_text_stream());
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        if (trial->failure[0] == '\0') continue;
        cli_say_error("%s: %s", trial->spec->label, trial->failure);
        good = false;
    }
    if (cli_talk.json && !cli_json_print(with_left_out(job, compare_json(account)))) {
        cli_say_error("cannot print the results");
        good = false;
    }
    return good && !account->interrupted ? CLI_DONE : CLI_FAILED;
}

static void free_job(compare_job *job)
{
    compare_account *account = &job->account;
    for (int i = 0; i < account->count; ++i) compare_trial_free(&account->trials[i]);
    free(account->trials);
    compare_trial_free(&account->reference);
    compare_series_free(&job->series);
    free(account->csv);
    free(account->svg);
    for (int i = 0; i < job->spec_count; ++i) compare_spec_free(&job->specs[i]);
    free(job->specs);
    compare_spec_free(&job->march);
    compare_spec_free(&job->reference);
    json_decref(job->left_out);
    hk_world_free(job->state);
    hk_model_free(job->model);
    hk_scene_free(job->scene);
    cli_texts_free(&job->args.sets);
    cli_texts_free(&job->args.methods);
}

int cmd_compare(int argc, char **argv)
{
    compare_job job = {.left_out = json_array()};
    int result = parse(&job.args, argc, argv);
    if (result < 0) result = read_specs(&job);
    if (result < 0) {
        cli_start_log();
        cli_catch_interrupts();
        result = load(&job);
    }
    if (result < 0) result = freeze(&job);
    if (result < 0) result = leave_out(&job);
    if (result < 0 && job.args.frames > 0) {
        result = run_series(&job);
    } else if (result < 0) {
        result = run_trials(&job);
        if (result < 0) result = finish(&job);
    }
    cli_progress_end(&job.progress);
    free_job(&job);
    cli_stop_log();
    return result;
}
