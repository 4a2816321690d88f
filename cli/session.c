// A scene from its file to its results: what `hooke run`, `hooke pose`, `hooke rest` and `hooke
// fit` share.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

// ---------------------------------------------------------------- interrupts

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    // Who asks twice does not want to wait for the step.
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void cli_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

// ---------------------------------------------------------------- beginning

void cli_scene_options(cli_scene_args *args, cli_option options[CLI_SCENE_OPTIONS])
{
    *args = (cli_scene_args){.threads = -1};
    const cli_option table[CLI_SCENE_OPTIONS] = {
        {"set", 0, CLI_TEXTS, &args->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"points", 0, CLI_TEXT, &args->points, "FILE.csv", "write the final positions"},
        {"skin", 0, CLI_TEXT, &args->skin, "FILE", "write the skin: .obj .stl .ply .glb …"},
        {"out", 0, CLI_TEXT, &args->out, "DIR", "where relative outputs go (default: here)"},
        {"threads", 0, CLI_INT, &args->threads, "N", "threads to use; 0: all cores"},
        {"backend", 0, CLI_TEXT, &args->backend, "NAME",
         "cpu, cuda, auto (a GPU if there is one) or petsc"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the results as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    memcpy(options, table, sizeof table);
}

static void free_session(cli_session *session)
{
    hk_world_free(session->world);
    hk_model_free(session->model);
    hk_scene_free(session->scene);
    cli_frames_free(&session->frames);
    cli_results_free(&session->results);
    cli_engineering_free(&session->engineering);
    cli_texts_free(&session->args.sets);
    free(session->points);
    free(session->stats);
    free(session->skin);
    free(session->reactions);
    free(session->probe_file);
    for (int i = 0; i < CLI_MORE_OUTPUTS; ++i) free(session->outputs[i]);
}

int cli_check_sets(const char *command, const cli_texts *sets)
{
    for (int i = 0; i < sets->count; ++i) {
        const char *equals = strchr(sets->items[i], '=');
        if (!equals || equals == sets->items[i])
            return cli_usage_error(command,
                                   "'--set %s': expected path=value, as in solver.iterations=20",
                                   sets->items[i]);
    }
    return -1;
}

// Returns false where there is no backend of this name.
static bool find_backend(const char *name, hk_backend *backend)
{
    static const char *const names[] = {"cpu", "cuda", "auto"};
    static const hk_backend backends[] = {HK_BACKEND_CPU, HK_BACKEND_CUDA, HK_BACKEND_AUTO};
    for (int i = 0; i < 3; ++i) {
        if (strcmp(name, names[i]) != 0) continue;
        *backend = backends[i];
        return true;
    }
    return false;
}

static int check_backend(const char *command, const char *name)
{
    hk_backend backend;
    if (!name || find_backend(name, &backend)) return -1;
    return cli_usage_error(command, "'--backend %s': expected cpu, cuda or auto%s", name,
                           strcmp(name, "petsc") == 0 ? "; petsc is for run and pose" : "");
}

static bool can_hold_skin(const char *path)
{
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format format = hk_mesh_format_at(i);
        if (format.writes && cli_ends_with(path, format.ending)) return true;
    }
    return false;
}

static int check_skin(const char *command, const char *path)
{
    if (!path || can_hold_skin(path)) return -1;
    return cli_usage_error(command, "'--skin %s': expected a name that ends in one of %s", path,
                           cli_formats(CLI_WRITING).text);
}

static int parse_arguments(cli_session *session, const char *purpose, const char *examples,
                           int argc, char **argv)
{
    cli_option options[CLI_MORE_OPTIONS + CLI_SCENE_OPTIONS];
    int more = session->more ? session->more->option_count : 0;
    for (int i = 0; i < more; ++i) options[i] = session->more->options[i];
    cli_scene_options(&session->args, options + more);
    const cli_spec spec = {.command = session->command,
                           .arguments = "SCENE.json",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = more + CLI_SCENE_OPTIONS};
    int result = cli_parse_one(spec, argc, argv, &session->scene_path);
    if (result < 0) result = check_backend(session->command, session->args.backend);
    if (result < 0) result = check_skin(session->command, session->args.skin);
    return result >= 0 ? result : cli_check_sets(session->command, &session->args.sets);
}

bool cli_write_text(char *text, char **path)
{
    char why[512];
    bool good = cli_write_whole(*path, text, strlen(text), why, sizeof why);
    free(text);
    if (good) return true;
    cli_say_error("%s", why);
    free(*path);
    *path = NULL;
    return false;
}

static bool has_skin(const hk_scene *scene)
{
    const hk_model_def *model = hk_scene_model(scene);
    for (int i = 0; i < model->body_count; ++i) {
        const hk_body_def *body = hk_def_at(model->bodies, i);
        if (body->skin) return true;
    }
    return false;
}

static bool is_run(const cli_session *session)
{
    return strcmp(session->command, "run") == 0;
}

enum { SKIN = 1 };  // among outputs

// A run has a frame at its start, one after every step at most, and that is its last state, too.
// outputs[SKIN] is the first of its own frames.
static bool frames_are_good(const cli_session *session, char **outputs, int count, char *why,
                            size_t size)
{
    const cli_frames *frames = &session->frames;
    int most = is_run(session) ? hk_scene_steps(session->scene) + 1 : 1;
    const cli_numbered all[] = {{frames->stem, ".vtu", most},
                                {frames->points, ".csv", most},
                                {frames->skin_stem, frames->skin_ending, most}};
    bool good = true;
    for (int k = 0; k < 3 && good; ++k) {
        char *skin = outputs[SKIN];
        if (!all[k].stem) continue;
        if (k == 2) outputs[SKIN] = NULL;
        good = cli_numbered_is_good(&all[k], outputs, count, session->scene, session->scene_path,
                                    why, size);
        outputs[SKIN] = skin;
    }
    return good;
}

// A file that has a row for every step of a run stays where another command would write its one.
static void step_aside(char **path, const char *command)
{
    char line[4096];
    struct stat about;
    bool plain = stat(*path, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = plain ? fopen(*path, "r") : NULL;
    int rows = -1;
    while (file && rows < 2 && fgets(line, sizeof line, file)) rows += strchr(line, '\n') != NULL;
    if (file) fclose(file);
    if (rows < 2) return;
    const char *ending = strrchr(cli_file_name(*path), '.');
    int stem = (int)(ending ? (size_t)(ending - *path) : strlen(*path));
    char *other = cli_format("%.*s_%s%s", stem, *path, command, ending ? ending : "");
    cli_note("%s has the steps of a run and stays; this goes to %s", *path, other);
    free(*path);
    *path = other;
}

// Reactions and probes: of commands that tell of a state.
static void name_rows(cli_session *session, const hk_output_def *output)
{
    const char *const files[] = {output->reactions, output->probe_file};
    char **const paths[] = {&session->reactions, &session->probe_file};
    bool pose = strcmp(session->command, "pose") == 0;
    for (int k = 0; k < 2 && (pose || is_run(session)); ++k) {
        if (!files[k]) continue;
        *paths[k] = cli_output_path(session->args.out, files[k]);
        if (pose) step_aside(paths[k], session->command);
    }
}

// Names the outputs and finds out now, not after the work, that one cannot be written.
static int prepare_outputs(cli_session *session)
{
    const hk_output_def *output = hk_scene_output(session->scene);
    const char *folder = session->args.out;
    if (output && output->skin && !can_hold_skin(output->skin))
        return cli_failure("%s: output.skin: \"%s\" should end in one of %s", session->scene_path,
                           output->skin, cli_formats(CLI_WRITING).text);
    cli_frames_begin(&session->frames, output, folder);
    if (!is_run(session)) cli_frames_step_aside(&session->frames, session->command);
    if (output && output->stats) session->stats = cli_output_path(folder, output->stats);
    if (output) name_rows(session, output);
    if (session->args.points) session->points = cli_output_path(folder, session->args.points);
    if (session->args.skin) session->skin = cli_output_path(folder, session->args.skin);
    if (session->skin && !has_skin(session->scene))
        return cli_failure(
            "%s: --skin: no body has a skin, as in --set bodies.0.skin.file=fine.obj",
            session->scene_path);
    const cli_frames *frames = &session->frames;
    enum { OWN = 7, OUTPUTS = OWN + CLI_MORE_OUTPUTS };
    char *outputs[OUTPUTS] = {
        frames->series ? cli_format("%s", frames->series) : NULL,
        frames->skin ? cli_format("%s", frames->skin) : NULL,
        session->stats ? cli_format("%s", session->stats) : NULL,
        session->points ? cli_format("%s", session->points) : NULL,
        session->skin ? cli_format("%s", session->skin) : NULL,
        session->reactions ? cli_format("%s", session->reactions) : NULL,
        session->probe_file ? cli_format("%s", session->probe_file) : NULL,
    };
    for (int i = 0; session->more && i < CLI_MORE_OUTPUTS; ++i) {
        const char **path = session->more->outputs[i];
        if (!path || !*path) continue;
        session->outputs[i] = cli_output_path(folder, *path);
        outputs[OWN + i] = cli_format("%s", session->outputs[i]);
    }
    char why[512];
    bool good = true;
    for (int i = 0; good && i < OUTPUTS; ++i)
        good = cli_output_is_good(outputs, i + 1, session->scene, session->scene_path, why,
                                  sizeof why);
    if (good) good = frames_are_good(session, outputs, OUTPUTS, why, sizeof why);
    for (int i = 0; i < OUTPUTS; ++i) free(outputs[i]);
    if (!good) return cli_failure("%s", why);
    return -1;
}

static void tell_notes(const hk_body_def *body, int number, const char *what, const hk_mesh *mesh)
{
    for (int k = 0; mesh && k < hk_mesh_note_count(mesh); ++k) {
        const char *note = hk_mesh_note(mesh, k);
        if (cli_was_told(note)) continue;
        if (body->name && body->name[0])
            cli_note("body \"%s\"%s: %s", body->name, what, note);
        else
            cli_note("body %d%s: %s", number, what, note);
    }
}

void cli_tell_mesh_notes(const hk_scene *scene)
{
    const hk_model_def *model = hk_scene_model(scene);
    for (int i = 0; i < model->body_count; ++i) {
        const hk_body_def *body = hk_def_at(model->bodies, i);
        tell_notes(body, i, "", body->mesh);
        tell_notes(body, i, ", skin", body->skin);
    }
}

hk_world_def cli_cpu_world(const hk_scene *scene, const char *command)
{
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    if (def.backend != HK_BACKEND_CPU) cli_note("%s works on the CPU", command);
    def.backend = HK_BACKEND_CPU;
    return def;
}

hk_world_def cli_session_world(const cli_session *session)
{
    hk_world_def def = hk_copy_world_def(hk_scene_world(session->scene));
    def.model = session->model;
    if (session->args.threads >= 0) def.threads = session->args.threads;
    if (session->args.backend) find_backend(session->args.backend, &def.backend);
    return def;
}

static int create_world(cli_session *session)
{
    if (hk_model_create(hk_scene_model(session->scene), &session->model) != HK_OK)
        return cli_failure("%s: %s", session->scene_path, hk_error());
    if (session->more && session->more->no_world) return -1;
    hk_world_def def = cli_session_world(session);
    if (hk_world_create(&def, &session->world) != HK_OK)
        return cli_failure("%s: %s", session->scene_path, hk_error());
    return -1;
}

// All of standard input, once: commands that load a scene again find it here.
static const char *standard_input(size_t *length)
{
    enum { PIECE = 1 << 16, MOST = 64 << 20 };  // more than a scene may be long
    static char *text;
    static size_t used;
    while (!text || (used < MOST && !feof(stdin) && !ferror(stdin))) {
        text = cli_realloc(text, used + PIECE, 1);
        used += fread(text + used, 1, PIECE, stdin);
    }
    *length = used;
    return text;
}

hk_status cli_scene_load(const char *path, const char *const *sets, int count, hk_scene **scene)
{
    if (strcmp(path, "-") != 0) return hk_scene_load(path, sets, count, scene);
    size_t length;
    const char *text = standard_input(&length);
    return hk_scene_parse(text, length, "standard input", sets, count, scene);
}

static bool material_tears(const hk_material_def *def)
{
    return def->tear_stress > 0 || def->tear_strain > 0;
}

bool cli_scene_tears(const hk_scene *scene)
{
    const hk_model_def *def = hk_scene_model(scene);
    if (def->tearing && def->tearing->cut_count > 0) return true;
    for (int b = 0; b < def->body_count; ++b) {
        const hk_body_def *body = hk_def_at(def->bodies, b);
        if (material_tears(&body->material)) return true;
        for (int r = 0; r < body->region_count; ++r) {
            const hk_region_def *region = hk_def_at(body->regions, r);
            if (material_tears(&region->material)) return true;
        }
    }
    return false;
}

int cli_session_begin(cli_session *session, const char *command, const char *purpose,
                      const char *examples, int argc, char **argv)
{
    return cli_session_begin_with(session, command, purpose, examples, NULL, argc, argv);
}

int cli_session_begin_with(cli_session *session, const char *command, const char *purpose,
                           const char *examples, const cli_more *more, int argc, char **argv)
{
    *session = (cli_session){.command = command, .more = more};
    int result = parse_arguments(session, purpose, examples, argc, argv);
    if (result < 0 && more && more->check) result = more->check(more->context);
    if (result < 0) {
        cli_start_log();
        if (cli_scene_load(session->scene_path, session->args.sets.items, session->args.sets.count,
                           &session->scene) != HK_OK)
            result = cli_failure("%s", hk_error());
        else
            cli_tell_mesh_notes(session->scene);
    }
    if (result < 0) result = prepare_outputs(session);
    if (result < 0) result = create_world(session);
    if (result >= 0) free_session(session);
    return result;
}

// ---------------------------------------------------------------- the summary

static void print_displacement(FILE *stream, const cli_session *session)
{
    const hk_model *model = hk_world_model(session->world);  // torn bodies have more vertices
    const double *from = hk_model_rest_positions(model);
    const double *to = hk_world_positions(session->world);
    double largest = -1;
    int where = -1;
    for (int i = 0; i < hk_model_vertex_count(model); ++i) {
        double d = hypot(hypot(to[3 * i] - from[3 * i], to[3 * i + 1] - from[3 * i + 1]),
                         to[3 * i + 2] - from[3 * i + 2]);
        if (d > largest) {
            largest = d;
            where = i;
        }
    }
    if (where < 0) return;
    int body = hk_model_body_count(model) - 1;
    while (body > 0 && where < hk_model_body_start(model, body)) --body;
    const hk_body_def *def = hk_def_at(hk_scene_model(session->scene)->bodies, body);
    const char *name = def->name;
    const double *a = from + 3 * where, *b = to + 3 * where;
    fprintf(stream, "  displaced   at most %.6g m: vertex %d", largest,
            where - hk_model_body_start(model, body));
    if (hk_model_body_count(model) > 1)
        fprintf(stream, " of body %d%s%s", body, name && name[0] ? ", " : "", cli_name(name));
    fprintf(stream, ", from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g)\n", a[0], a[1], a[2], b[0],
            b[1], b[2]);
}

static void print_tears(FILE *stream, const hk_world *world)
{
    hk_tear_report t;
    if (hk_world_tears(world, &t) != HK_OK || t.events + t.postponed == 0) return;
    fprintf(stream, "  torn        %d facet%s in %d event%s: %d vertices more; ", t.facets,
            t.facets == 1 ? "" : "s", t.events, t.events == 1 ? "" : "s", t.vertices);
    double before = t.steps_before ? (double)t.iterations_before / t.steps_before : NAN;
    double after = t.steps_after ? (double)t.iterations_after / t.steps_after : NAN;
    fprintf(stream, "%.3g iterations a step before and %.3g after", before, after);
    fprintf(stream, ", %d factorisation%s for it\n", t.factorisations,
            t.factorisations == 1 ? "" : "s");
    if (t.postponed > 0)
        fprintf(stream, "              %d time%s it was put off, for something was in the way\n",
                t.postponed, t.postponed == 1 ? "" : "s");
}

static void print_outputs(FILE *stream, const cli_session *session)
{
    const cli_frames *frames = &session->frames;
    const char *plural = frames->count == 1 ? "" : "s";
    if (frames->series && frames->count > 0)
        fprintf(stream, "  wrote       %s (%d frame%s)\n", cli_name(frames->series), frames->count,
                plural);
    if (frames->points && frames->count > 0)
        fprintf(stream, "  wrote       %s_0000.csv … (%d frame%s)\n", cli_name(frames->points),
                frames->count, plural);
    if (frames->skin && frames->count > 0)
        fprintf(stream, "  wrote       %s … (%d frame%s)\n", cli_name(frames->skin), frames->count,
                plural);
    if (session->points) fprintf(stream, "  wrote       %s\n", cli_name(session->points));
    if (session->stats) fprintf(stream, "  wrote       %s\n", cli_name(session->stats));
    if (session->skin) fprintf(stream, "  wrote       %s\n", cli_name(session->skin));
    if (session->reactions) fprintf(stream, "  wrote       %s\n", cli_name(session->reactions));
    if (session->probe_file) fprintf(stream, "  wrote       %s\n", cli_name(session->probe_file));
    for (int i = 0; i < CLI_MORE_OUTPUTS; ++i)
        if (session->outputs[i])
            fprintf(stream, "  wrote       %s\n", cli_name(session->outputs[i]));
}

static void print_work(FILE *stream, const cli_session *session)
{
    const cli_results *results = &session->results;
    const cli_record *last = results->count > 0 ? &results->records[results->count - 1] : NULL;
    cli_timing timing = cli_results_timing(results);
    bool pose = !is_run(session);
    const char *steps = session->steps ? session->steps : "load steps";
    fprintf(stream, "  %-10s  %d", pose ? steps : "steps", results->steps);
    if (!pose) fprintf(stream, " to t = %.6g s", hk_world_time(session->world));
    fprintf(stream, ", %lld iterations", (long long)results->iterations);
    if (!pose && results->count > 0)
        fprintf(stream, " (%.3g a step)", (double)results->iterations / results->count);
    if (results->linear_iterations > 0)
        fprintf(stream, ", %lld of linear solves", (long long)results->linear_iterations);
    fputc('\n', stream);
    if (last && isnan(last->residual))
        fprintf(stream, "  residual    not evaluated\n");
    else if (last)
        fprintf(stream, "  residual    %.4g N (relative %.3g%s)\n", last->residual,
                results->relative_residual,
                last->reason == HK_PRECISION_LIMIT ? "; the limit of precision" : "");
    hk_energy energy = cli_results_energy(results, session->world);
    fprintf(stream, "  energy      %.6g J: elastic %.6g, gravity %.6g, load %.6g, kinetic %.6g",
            energy.total, energy.elastic, energy.gravity, energy.load, energy.kinetic);
    if (cli_has_contact(session->world)) fprintf(stream, ", contact %.6g", energy.contact);
    fputc('\n', stream);
    bool long_work = timing.total >= 1e4;
    fprintf(stream, "  time        setup %.4g ms, solving %.4g %s",
            hk_world_setup_ms(session->world), timing.total * (long_work ? 1e-3 : 1),
            long_work ? "s" : "ms");
    if (!pose && results->count > 0)
        fprintf(stream, "; a step %.4g ms (%.4g to %.4g)", timing.median, timing.min, timing.max);
    fputc('\n', stream);
}

static void print_summary(const cli_session *session)
{
    if (cli_talk.quiet) return;
    FILE *stream = cli_text_stream();
    const cli_results *results = &session->results;
    const hk_world *world = session->world;
    int threads = hk_world_threads(world), bodies = hk_model_body_count(session->model);
    // Not cut short, but all that there is to do: "stopped" would mislead here.
    bool fixed = results->fixed > 0 && results->fixed == results->count && !results->interrupted;
    fprintf(stream, "%s: %s\n", session->scene_path,
            fixed ? "done (steps of fixed work, convergence not measured)"
                  : cli_results_status(results));
    int tets = hk_model_tet_count(session->model);
    int triangles = hk_model_triangle_count(session->model);
    fprintf(stream, "  bodies      %d with %d vertices and ", bodies,
            hk_model_vertex_count(session->model));
    if (tets > 0 || triangles == 0) fprintf(stream, "%d tets%s", tets, triangles ? ", " : "\n");
    int springs = hk_model_spring_count(session->model);
    if (triangles > 0 && springs > 0)
        fprintf(stream, "%d triangles with %d springs\n", triangles, springs);
    else if (triangles > 0)
        fprintf(stream, "%d triangles\n", triangles);
    if (session->print_method)
        session->print_method(stream, session->print_context);
    else
        fprintf(stream, "  method      %s on %s", hk_world_method(world), hk_world_backend(world));
    if (strcmp(hk_world_backend(world), "cpu") == 0)
        fprintf(stream, ", %d thread%s", threads, threads == 1 ? "" : "s");
    fputc('\n', stream);
    print_work(stream, session);
    cli_results_print_contact(stream, results, session->model);
    cli_rigid_print(stream, world);
    print_tears(stream, world);
    if (session->print_found)
        session->print_found(stream, session->print_context);
    else
        print_displacement(stream, session);
    if (session->tells_state) cli_engineering_print(stream, results->more);
    print_outputs(stream, session);
}

// ---------------------------------------------------------------- ending

static hk_status save_skin(const cli_session *session)
{
    const hk_model *model = hk_world_model(session->world);
    const double *shape = session->skin_shape;
    hk_mesh *mesh = NULL;
    hk_status status =
        hk_model_surface(model, shape ? shape : hk_world_positions(session->world), true, &mesh);
    if (status == HK_OK) status = hk_mesh_save(mesh, session->skin, NULL, 0);
    hk_mesh_free(mesh);
    return status;
}

static void write_results(cli_session *session)
{
    char why[512];
    cli_results *results = &session->results;
    if (session->points && !session->points_written &&
        hk_world_save_points(session->world, session->points) != HK_OK) {
        cli_results_fail(results, "%s", hk_error());
        free(session->points);
        session->points = NULL;
    }
    if (session->skin && save_skin(session) != HK_OK) {
        cli_results_fail(results, "%s", hk_error());
        free(session->skin);
        session->skin = NULL;
    }
    if (session->stats && !cli_json_write(cli_results_json(results, session->world, true),
                                          session->stats, why, sizeof why)) {
        cli_results_fail(results, "%s", why);
        free(session->stats);
        session->stats = NULL;
    }
}

static void tell_state(cli_session *session)
{
    char why[512];
    cli_results *results = &session->results;
    results->more = cli_engineering_json(session->world, session->scene);
    if (!cli_engineering_end(&session->engineering, session->reactions, session->probe_file, why,
                             sizeof why)) {
        cli_results_fail(results, "%s", why);
        free(session->reactions);
        free(session->probe_file);
        session->reactions = session->probe_file = NULL;
    }
}

int cli_session_end(cli_session *session, bool budget_is_fine)
{
    cli_results *results = &session->results;
    cli_progress_end(&session->progress);
    if (session->tells_state) tell_state(session);
    write_results(session);
    cli_frames_tell_stale(&session->frames);
    print_summary(session);
    if (results->error[0] != '\0') cli_say_error("%s", results->error);
    if (cli_talk.json && !cli_json_print(cli_results_json(results, session->world, false)))
        cli_results_fail(results, "cannot print the results");
    int status = CLI_DONE;
    if (results->outcome == HK_OUTCOME_FAILED || results->interrupted) status = CLI_FAILED;
    if (results->outcome == HK_OUTCOME_STOPPED && !budget_is_fine) status = CLI_FAILED;
    free_session(session);
    cli_stop_log();
    return status;
}

void cli_session_drop(cli_session *session)
{
    free_session(session);
    cli_stop_log();
}
