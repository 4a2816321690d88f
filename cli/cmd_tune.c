// hooke tune: finds the Chebyshev phases of method descent for a scene and writes them into it.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene_text.h"
#include "tune.h"

static const char purpose[] =
    "Finds the phases of method descent, how long each is and its rate rho, that leave\n"
    "the least error after the scene's iterations, and writes them into the scene file;\n"
    "nothing else in it changes. It simulates the scene with quasi_newton, takes a few\n"
    "states on the way, and changes one phase at a time as long as that lowers the mean\n"
    "error over those (Wang & Yang 2016, section 4.3).";

static const char examples[] =
    "hooke tune scene.json\n"
    "hooke tune scene.json --set solver.iterations=48 --dry-run\n"
    "hooke tune scene.json --phases 3 --samples 8 --time 600 --write tuned.json";

typedef struct tune_args {
    cli_texts sets;
    int threads;  // -1: as the scene says
    int phases, samples;
    int steps;  // -1: not given
    double time;
    bool dry_run;
    const char *write;
} tune_args;

typedef struct tuning {
    const char *path;
    tune_args args;
    char *text;  // of the scene file
    size_t length;
    hk_scene *scene;
    hk_model *model;
    tune_bench bench;
    tune_found found;
    bool written;
} tuning;

enum { MOST_STEPS_BY_DEFAULT = 60 };

// ---------------------------------------------------------------- arguments

static int check_arguments(const tune_args *args)
{
    for (int i = 0; i < args->sets.count; ++i) {
        const char *set = args->sets.items[i], *equals = strchr(set, '=');
        if (!equals || equals == set)
            return cli_usage_error(
                "tune", "'--set %s': expected path=value, as in solver.iterations=20", set);
    }
    if (args->phases < 1 || args->phases > TUNE_MOST_PHASES)
        return cli_usage_error("tune", "'--phases %d': expected 1 to %d", args->phases,
                               TUNE_MOST_PHASES);
    if (args->samples < 1 || args->samples > TUNE_MOST_SAMPLES)
        return cli_usage_error("tune", "'--samples %d': expected 1 to %d", args->samples,
                               TUNE_MOST_SAMPLES);
    if (args->steps == 0) return cli_usage_error("tune", "'--steps 0': expected at least 1");
    if (!(args->time > 0)) return cli_usage_error("tune", "'--time': expected more than 0");
    if (args->dry_run && args->write)
        return cli_usage_error("tune", "'--dry-run' and '--write' exclude each other");
    return -1;
}

static int parse_arguments(tuning *t, int argc, char **argv)
{
    tune_args *args = &t->args;
    *args = (tune_args){.threads = -1, .phases = 4, .samples = 4, .steps = -1, .time = 120};
    const cli_option options[] = {
        {"set", 0, CLI_TEXTS, &args->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"phases", 0, CLI_INT, &args->phases, "P", "how many phases at most, 1 to 8 (default 4)"},
        {"samples", 0, CLI_INT, &args->samples, "S", "states to try them on (default 4)"},
        {"steps", 0, CLI_INT, &args->steps, "N",
         "of the pre-simulation (default: the scene's, at most 60)"},
        {"time", 0, CLI_REAL, &args->time, "SECONDS", "for the search (default 120)"},
        {"dry-run", 'n', CLI_FLAG, &args->dry_run, NULL, "print the phases, write nothing"},
        {"write", 0, CLI_TEXT, &args->write, "FILE", "write the scene here instead"},
        {"threads", 0, CLI_INT, &args->threads, "N", "threads to use; 0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the results as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    const cli_spec spec = {.command = "tune",
                           .arguments = "SCENE.json",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = sizeof options / sizeof options[0]};
    int result = cli_parse_one(spec, argc, argv, &t->path);
    if (result >= 0) return result;
    return check_arguments(args);
}

// ---------------------------------------------------------------- the scene

// `text` is to be freed either way.
static bool read_text(const char *path, char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t capacity = 0, got;
    do {
        if (*length == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            *text = cli_realloc(*text, capacity, 1);
        }
        got = fread(*text + *length, 1, capacity - *length, file);
        *length += got;
    } while (got > 0);
    bool good = !ferror(file);
    fclose(file);
    return good;
}

static const char *word_option(const hk_solver_def *solver, const char *name)
{
    for (int i = 0; i < solver->option_count; ++i)
        if (strcmp(solver->options[i].name, name) == 0) return solver->options[i].text;
    return NULL;
}

// Phases mean something to descent with Chebyshev's acceleration alone, and a file that names
// another method would not be valid with them.
static int check_solver(const tuning *t)
{
    const hk_solver_def *solver = &hk_scene_world(t->scene)->solver;
    char method[64];
    if (strcmp(solver->method, "descent") != 0)
        return cli_failure("%s: the method is %s, and only descent has phases: set \"solver\": "
                           "{\"method\": \"descent\"}",
                           t->path, solver->method);
    const char *acceleration = word_option(solver, "acceleration");
    if (acceleration && strcmp(acceleration, "chebyshev") != 0)
        return cli_failure("%s: solver.acceleration is \"%s\", and phases are those of "
                           "\"chebyshev\"",
                           t->path, acceleration);
    if (t->args.dry_run) return -1;
    if (!cli_text_method(t->text, t->length, method, sizeof method))
        return cli_failure("%s changed while it was read", t->path);
    if (strcmp(method, "descent") == 0) return -1;
    return cli_failure("%s itself does not name the method, only --set does: with phases alone it "
                       "would not be valid. Put \"solver\": {\"method\": \"descent\"} into it, or "
                       "use --dry-run",
                       t->path);
}

// ---------------------------------------------------------------- writing

// Under another name beside it first: only what is a valid scene in its place is written there.
static bool check_text(const char *path, const char *text, size_t length, char *why, size_t size)
{
    char *temporary = cli_format("%s.XXXXXX.json", path);
    int file = mkstemps(temporary, 5);
    hk_scene *scene = NULL;
    bool good = file >= 0 && close(file) == 0;
    if (!good) snprintf(why, size, "cannot write beside %s: %s", path, strerror(errno));
    if (good) good = cli_write_whole(temporary, text, length, why, size);
    cli_stop_log();  // what there is to say about the meshes has been said
    if (good && hk_scene_load(temporary, NULL, 0, &scene) != HK_OK) {
        snprintf(why, size, "%s would not be a valid scene: %s", path, hk_error());
        good = false;
    }
    hk_scene_free(scene);
    cli_start_log();
    if (file >= 0) unlink(temporary);
    free(temporary);
    return good;
}

static int check_output(const tuning *t)
{
    char why[512];
    if (t->args.dry_run) return -1;
    const char *path = t->args.write ? t->args.write : t->path;
    if (!cli_can_write(path, why, sizeof why)) return cli_failure("%s", why);
    const hk_model_def *model = hk_scene_model(t->scene);
    for (int i = 0; i < model->body_count; ++i) {
        const hk_body_def *body = hk_def_at(model->bodies, i);
        const char *mesh = hk_mesh_path(body->mesh);
        if (mesh && cli_same_file(path, mesh))
            return cli_failure("%s is a mesh of the scene: write the phases elsewhere", path);
    }
    // Meshes are found relative to the scene: elsewhere they may be out of reach.
    if (t->args.write && !check_text(path, t->text, t->length, why, sizeof why))
        return cli_failure("%s", why);
    return -1;
}

// The search takes minutes; the user may have gone on editing.
static bool is_unchanged(const tuning *t)
{
    char *text;
    size_t length;
    bool same = read_text(t->path, &text, &length) && length == t->length &&
                memcmp(text, t->text, length) == 0;
    free(text);
    return same;
}

static bool write_scene(tuning *t, char *why, size_t size)
{
    bool in_place = !t->args.write || cli_same_file(t->args.write, t->path);
    if (in_place && !is_unchanged(t)) {
        snprintf(why, size, "%s was changed meanwhile and is left as it is", t->path);
        return false;
    }
    size_t length;
    char *phases = tune_phases_text(&t->found.after);
    char *text = cli_text_with_phases(t->text, t->length, phases, &length, why, size);
    free(phases);
    if (!text) return false;
    const char *target = t->args.write ? t->args.write : t->path;
    // Meshes are found relative to what a link points to.
    char *real = realpath(target, NULL);
    t->written = check_text(real ? real : target, text, length, why, size) &&
                 cli_write_whole(target, text, length, why, size);
    free(real);
    free(text);
    return t->written;
}

// ---------------------------------------------------------------- loading

static int load(tuning *t)
{
    cli_start_log();
    if (strcmp(t->path, "-") == 0)
        return cli_failure("tune writes into the scene: it takes a file, not standard input");
    if (!read_text(t->path, &t->text, &t->length))
        return cli_failure("cannot read %s: %s", t->path, strerror(errno));
    if (hk_scene_load(t->path, t->args.sets.items, t->args.sets.count, &t->scene) != HK_OK)
        return cli_failure("%s", hk_error());
    if (cli_scene_tears(t->scene))
        return cli_failure("%s: its bodies may come apart, each time in another way: there is "
                           "nothing to tune by",
                           t->path);
    int result = check_solver(t);
    if (result < 0) result = check_output(t);
    if (result >= 0) return result;
    if (hk_model_create(hk_scene_model(t->scene), &t->model) != HK_OK)
        return cli_failure("%s: %s", t->path, hk_error());
    return -1;
}

// ---------------------------------------------------------------- results

static const char *end_name(tune_end end)
{
    switch (end) {
    case TUNE_NO_CHANGE_HELPS: return "no change helps any more";
    case TUNE_TIME_IS_UP: return "the time is up";
    case TUNE_INTERRUPTED: return "interrupted";
    case TUNE_FAILED: return "failed";
    }
    return "";
}

static bool is_better(const tune_found *found)
{
    return !tune_phases_equal(&found->before, &found->after);
}

static void print_table(FILE *stream, const tuning *t)
{
    const tune_found *found = &t->found;
    fprintf(stream, "\n  %-10s  %-10s  %-10s\n", "error at", "before", "after");
    for (int i = 0; i < t->bench.sample_count; ++i)
        fprintf(stream, "  step %-5d  %-10.2e  %-10.2e\n", t->bench.samples[i].step,
                found->errors_before[i], found->errors_after[i]);
    fprintf(stream, "  %-10s  %-10.2e  %-10.2e\n\n", "mean", pow(10, found->cost_before),
            pow(10, found->cost_after));
}

static void print_summary(const tuning *t)
{
    if (cli_talk.quiet) return;
    const tune_found *found = &t->found;
    FILE *stream = cli_text_stream();
    int threads = hk_world_threads(t->bench.trial);
    char *before = tune_phases_text(&found->before), *after = tune_phases_text(&found->after);
    fprintf(stream, "%s: %s\n", t->path, is_better(found) ? "tuned" : "nothing better was found");
    fprintf(stream, "  bodies      %d with %d vertices and %d tets\n",
            hk_model_body_count(t->model), hk_model_vertex_count(t->model),
            hk_model_tet_count(t->model));
    fprintf(stream, "  method      descent, %d iterations per step, %d thread%s\n",
            t->bench.iterations, threads, threads == 1 ? "" : "s");
    fprintf(stream, "  search      %d trials on %d sample%s in %.3g s; %s\n", found->trials,
            t->bench.sample_count, t->bench.sample_count == 1 ? "" : "s", found->seconds,
            end_name(found->end));
    fprintf(stream, "  before      %s\n  after       %s\n", before, after);
    print_table(stream, t);
    fprintf(stream, "\"phases\": %s\n", after);
    if (t->written) fprintf(stream, "  wrote       %s\n", t->args.write ? t->args.write : t->path);
    free(before);
    free(after);
}

static json_t *results_json(const tuning *t)
{
    const tune_found *found = &t->found;
    const char *target = t->args.write ? t->args.write : t->path;
    json_t *samples = json_array();
    for (int i = 0; i < t->bench.sample_count; ++i)
        json_array_append_new(samples,
                              json_pack("{s:i, s:o, s:o}", "step", t->bench.samples[i].step,
                                        "before", cli_json_real(found->errors_before[i]), "after",
                                        cli_json_real(found->errors_after[i])));
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:o}",
        "status", found->end == TUNE_NO_CHANGE_HELPS ? "converged" : "stopped", "reason",
        end_name(found->end), "method", "descent", "threads", hk_world_threads(t->bench.trial),
        "vertices", hk_model_vertex_count(t->model), "tets", hk_model_tet_count(t->model),
        "iterations", t->bench.iterations, "trials", found->trials, "seconds",
        cli_json_real(found->seconds), "phases", tune_phases_json(&found->after), "samples",
        samples, "before", "phases", tune_phases_json(&found->before), "error",
        cli_json_real(pow(10, found->cost_before)), "after", "phases",
        tune_phases_json(&found->after), "error", cli_json_real(pow(10, found->cost_after)),
        "wrote", t->written ? cli_json_text(target) : json_null());
}

// ---------------------------------------------------------------- the command

static int tune(tuning *t)
{
    const tune_args *args = &t->args;
    char why[1024];
    int steps = args->steps;
    if (steps < 0) {
        steps = hk_scene_steps(t->scene);
        if (steps > MOST_STEPS_BY_DEFAULT) steps = MOST_STEPS_BY_DEFAULT;
        if (steps < 1) return cli_failure("%s has no time steps: say --steps N", t->path);
    }
    cli_catch_interrupts();
    if (!tune_bench_begin(&t->bench, t->scene, t->model, args->threads, args->samples, steps, why,
                          sizeof why))
        return cli_interrupted() ? cli_failure("interrupted; nothing was written")
                                 : cli_failure("%s: %s", t->path, why);
    tune_search(&t->bench, &hk_scene_world(t->scene)->solver, args->phases, args->time, &t->found);
    const tune_found *found = &t->found;
    if (found->end == TUNE_FAILED) return cli_failure("%s: %s", t->path, hk_error());
    // Interrupted, it prints what it has; the file is not touched. Another file is always written.
    bool wanted = is_better(found) || args->write;
    bool good = !wanted || args->dry_run || found->end == TUNE_INTERRUPTED ||
                write_scene(t, why, sizeof why);
    print_summary(t);
    if (!good) return cli_failure("%s", why);
    if (found->end == TUNE_INTERRUPTED) cli_note("interrupted; nothing was written");
    if (cli_talk.json && !cli_json_print(results_json(t)))
        return cli_failure("cannot print the results");
    return found->end == TUNE_INTERRUPTED ? CLI_FAILED : CLI_DONE;
}

int cmd_tune(int argc, char **argv)
{
    tuning t = {0};
    int result = parse_arguments(&t, argc, argv);
    if (result < 0) result = load(&t);
    if (result < 0) result = tune(&t);
    tune_bench_free(&t.bench);
    hk_model_free(t.model);
    hk_scene_free(t.scene);
    cli_texts_free(&t.args.sets);
    free(t.text);
    cli_stop_log();
    return result;
}
