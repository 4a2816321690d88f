// hooke sweep: one value of a scene varied, its pose or its motion computed for each, and what came
// of it side by side.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plot.h"

static const char purpose[] =
    "Varies one value of the scene, finds the pose for each (or simulates the scene to its\n"
    "end), and writes what came of it: a table, DIR/NAME.csv and a plot, DIR/NAME.svg.\n"
    "\n"
    "PATH=FROM:TO:COUNT are COUNT values at equal distances, FROM:TO:COUNT:log at equal\n"
    "ratios, and A,B,C a list, of words too. A pose starts from the one before it.\n"
    "\n"
    "Quantities for --record: energy.elastic energy.gravity energy.load energy.kinetic\n"
    "energy.total (J), displacement (the largest, m), x.min x.max y.min y.max z.min z.max\n"
    "(bounds, m), residual (N), relative_residual, iterations, ms. The CSV has all of them.\n"
    "Besides: reactions.NAME.x|y|z and reactions.NAME.moment.x (of a fix or move), "
    "greatest.von_mises,\n"
    "greatest.displacement, probes.NAME.displacement.x, probes.NAME.von_mises.";

static const char examples[] =
    "hooke sweep scenes/beam.json --vary bodies.0.material.young=1e5:1e7:9:log\n"
    "hooke sweep scenes/beam.json --vary gravity.1=0:-20:11 --record y.min,energy.elastic\n"
    "hooke sweep scenes/swing.json --vary solver.method=newton,lbfgs --command run";

enum {
    ELASTIC,
    GRAVITY,
    LOAD,
    KINETIC,
    TOTAL,
    DISPLACEMENT,
    X_MIN,
    X_MAX,
    Y_MIN,
    Y_MAX,
    Z_MIN,
    Z_MAX,
    RESIDUAL,
    RELATIVE_RESIDUAL,
    ITERATIONS,
    MS,
    QUANTITIES,
    MOST_QUANTITIES = QUANTITIES + 16  // with those of reactions, stress and probes
};
static int quantity_count = QUANTITIES;
static struct {
    const char *name, *unit;
} quantities[MOST_QUANTITIES] = {
    {"energy.elastic", "J"}, {"energy.gravity", "J"},
    {"energy.load", "J"},    {"energy.kinetic", "J"},
    {"energy.total", "J"},   {"displacement", "m"},
    {"x.min", "m"},          {"x.max", "m"},
    {"y.min", "m"},          {"y.max", "m"},
    {"z.min", "m"},          {"z.max", "m"},
    {"residual", "N"},       {"relative_residual", ""},
    {"iterations", ""},      {"ms", ""},
};

typedef struct outcome {  // of one value
    char *text;           // as in --set
    double number;        // NAN for a word
    double of[MOST_QUANTITIES];
    hk_reason reason;
    bool fresh;         // the pose started from the scene's own state
    char failure[512];  // "" if there is a state to tell of
} outcome;

typedef struct sweep {
    const char *scene_path;
    cli_texts sets;
    const char *vary, *command, *record, *out, *name;
    bool fresh;
    int threads;
    char *path;  // what is varied
    bool logarithmic, numeric;
    outcome *outcomes;
    int count, done;
    int recorded[MOST_QUANTITIES];
    const hk_scene *scene;  // of the value at hand
    int recorded_count;
    hk_scene *last;     // of the last pose, or NULL
    double *positions;  // of the last pose, [vertex_count][3]; NULL: none
    char *csv, *svg;
    cli_progress progress;
} sweep;

// ---------------------------------------------------------------- arguments

static void add_value(sweep *s, char *text)
{
    char *end;
    double number = strtod(text, &end);
    bool good = end != text && *end == '\0' && isfinite(number);
    s->numeric &= good;
    s->outcomes = cli_realloc(s->outcomes, (size_t)s->count + 1, sizeof *s->outcomes);
    s->outcomes[s->count++] = (outcome){.text = text, .number = good ? number : NAN};
}

// The shortest text that is this number.
static char *number_text(double number)
{
    char text[40];
    for (int digits = 6; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    return cli_format("%s", text);
}

static int wrong_range(const char *values)
{
    return cli_usage_error("sweep",
                           "'--vary …=%s': expected FROM:TO:COUNT, FROM:TO:COUNT:log with both "
                           "ends of one sign, or values separated by commas",
                           values);
}

static int read_range(sweep *s, const char *values)
{
    enum { MOST_VALUES = 100000 };
    double from, to;
    int count, used = 0;
    if (sscanf(values, "%lf:%lf:%d%n", &from, &to, &count, &used) != 3 || !isfinite(from) ||
        !isfinite(to) || count < 2 || count > MOST_VALUES)
        return wrong_range(values);
    s->logarithmic = strcmp(values + used, ":log") == 0;
    if (values[used] != '\0' && !s->logarithmic) return wrong_range(values);
    if (s->logarithmic && !(from / to > 0)) return wrong_range(values);
    for (int i = 0; i < count; ++i) {
        double share = i / (count - 1.0);
        double value = s->logarithmic ? from * pow(to / from, share) : from + share * (to - from);
        if (i + 1 == count) value = to;
        // Ten digits: steps such as 0.1 + 0.2 are meant to be round.
        add_value(s, i == 0 || i + 1 == count ? number_text(value) : cli_format("%.10g", value));
    }
    return -1;
}

static int read_vary(sweep *s)
{
    if (!s->vary)
        return cli_usage_error("sweep", "what is to be varied? --vary PATH=FROM:TO:COUNT");
    const char *equals = strchr(s->vary, '=');
    if (!equals || equals == s->vary || equals[1] == '\0')
        return cli_usage_error("sweep", "'--vary %s': expected PATH=FROM:TO:COUNT", s->vary);
    s->path = cli_format("%.*s", (int)(equals - s->vary), s->vary);
    s->numeric = true;
    if (strchr(equals + 1, ':')) return read_range(s, equals + 1);
    for (const char *at = equals + 1;;) {
        size_t length = strcspn(at, ",");
        if (length == 0) return wrong_range(equals + 1);
        add_value(s, cli_format("%.*s", (int)length, at));
        at += length;
        if (*at++ == '\0') return -1;
    }
}

// A number of the engineering results joins the quantities: reactions.wall.y, greatest.von_mises.
static void add_quantity(const char *text, size_t length)
{
    char *name = cli_format("%.*s", (int)length, text);
    bool known = !cli_engineering_is(name) || quantity_count == MOST_QUANTITIES;
    for (int q = 0; q < quantity_count; ++q) known |= strcmp(quantities[q].name, name) == 0;
    if (known) {
        free(name);
        return;
    }
    quantities[quantity_count].name = name;  // until the program ends
    quantities[quantity_count++].unit = cli_engineering_unit(name);
}

static int read_record(sweep *s)
{
    for (const char *at = s->record;;) {
        size_t length = strcspn(at, ",");
        int found = -1;
        add_quantity(at, length);
        for (int q = 0; q < quantity_count; ++q)
            if (strlen(quantities[q].name) == length &&
                strncmp(quantities[q].name, at, length) == 0)
                found = q;
        for (int i = 0; i < s->recorded_count; ++i)
            if (s->recorded[i] == found) found = -1;
        if (found < 0) {
            const char *names[MOST_QUANTITIES];
            for (int q = 0; q < quantity_count; ++q) names[q] = quantities[q].name;
            char *word = cli_format("%.*s", (int)length, at);
            const char *nearest = cli_nearest(word, names, quantity_count);
            int status =
                cli_usage_error("sweep", "'--record %s': '%s' is no quantity, or named twice%s%s%s",
                                s->record, word, nearest ? "; did you mean '" : "",
                                nearest ? nearest : "", nearest ? "'?" : "");
            free(word);
            return status;
        }
        s->recorded[s->recorded_count++] = found;
        at += length;
        if (*at++ == '\0') return -1;
    }
}

static int parse(sweep *s, int argc, char **argv)
{
    *s = (sweep){.threads = -1,
                 .command = "pose",
                 .name = "sweep",
                 .record = "displacement,energy.elastic,iterations,relative_residual"};
    const cli_option options[] = {
        {"vary", 0, CLI_TEXT, &s->vary, "PATH=VALUES", "what to vary, and how"},
        {"command", 0, CLI_TEXT, &s->command, "pose|run", "what to do for each (default: pose)"},
        {"record", 0, CLI_TEXT, &s->record, "X,Y",
         "what the table shows; the first two are plotted"},
        {"fresh", 0, CLI_FLAG, &s->fresh, NULL, "start each pose from the scene's own state"},
        {"name", 0, CLI_TEXT, &s->name, "NAME", "of the files (default: sweep)"},
        {"out", 0, CLI_TEXT, &s->out, "DIR", "where they go (default: here)"},
        {"set", 0, CLI_TEXTS, &s->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"threads", 0, CLI_INT, &s->threads, "N", "threads to use; 0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the results as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    const cli_spec spec = {.command = "sweep",
                           .arguments = "SCENE.json",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = sizeof options / sizeof options[0]};
    int result = cli_parse_one(spec, argc, argv, &s->scene_path);
    if (result >= 0) return result;
    if (strcmp(s->command, "pose") != 0 && strcmp(s->command, "run") != 0)
        return cli_usage_error("sweep", "'--command %s': expected pose or run", s->command);
    if (strchr(s->name, '/'))
        return cli_usage_error("sweep", "'--name %s': folders are for --out", s->name);
    result = cli_check_sets("sweep", &s->sets);
    if (result < 0) result = read_vary(s);
    return result < 0 ? read_record(s) : result;
}

// ---------------------------------------------------------------- one value

static void measure(const sweep *s, outcome *o, hk_world *world, const hk_step_report *report,
                    int iterations, double ms)
{
    const hk_model *model = hk_world_model(world);
    const double *rest = hk_model_rest_positions(model), *now = hk_world_positions(world);
    double *of = o->of;
    of[ELASTIC] = report->energy.elastic;
    of[GRAVITY] = report->energy.gravity;
    of[LOAD] = report->energy.load;
    of[KINETIC] = report->energy.kinetic;
    of[TOTAL] = report->energy.total;
    of[RESIDUAL] = report->residual;
    of[RELATIVE_RESIDUAL] = report->relative_residual;
    of[ITERATIONS] = iterations;
    of[MS] = ms;
    of[DISPLACEMENT] = 0;
    for (int c = 0; c < 3; ++c) of[X_MIN + 2 * c] = INFINITY, of[X_MAX + 2 * c] = -INFINITY;
    for (int i = 0; i < hk_model_vertex_count(model); ++i) {
        double squares = 0;
        for (int c = 0; c < 3; ++c) {
            double x = now[3 * i + c], step = x - rest[3 * i + c];
            squares += step * step;
            of[X_MIN + 2 * c] = fmin(of[X_MIN + 2 * c], x);
            of[X_MAX + 2 * c] = fmax(of[X_MAX + 2 * c], x);
        }
        of[DISPLACEMENT] = fmax(of[DISPLACEMENT], sqrt(squares));
    }
    o->reason = report->reason;
    if (quantity_count == QUANTITIES) return;
    json_t *results = cli_engineering_json(world, s->scene);
    for (int q = QUANTITIES; q < quantity_count; ++q)
        of[q] = cli_engineering_value(results, quantities[q].name);
    json_decref(results);
}

typedef struct watch {
    sweep *owner;
    const outcome *of;
} watch;

static bool watch_iteration(void *context, const hk_iteration *now)
{
    watch *seen = context;
    cli_progress_text(&seen->owner->progress, "%s = %s (%d of %d)  iteration %d  residual %.2e",
                      seen->owner->path, seen->of->text, seen->owner->done + 1, seen->owner->count,
                      now->iteration, now->relative_residual);
    return !cli_interrupted();
}

// True when there is a result, of whatever kind; false when interrupted.
static bool find_pose(sweep *s, outcome *o, hk_world *world)
{
    watch seen = {s, o};
    hk_step_report report;
    hk_world_set_monitor(world, watch_iteration, &seen);
    hk_status status = hk_world_pose(world, &report);
    hk_world_set_monitor(world, NULL, NULL);
    if (status != HK_OK) {
        snprintf(o->failure, sizeof o->failure, "%s", hk_error());
        return true;
    }
    if (report.reason == HK_STOPPED) return false;
    measure(s, o, world, &report, report.iterations, report.ms);
    o->failure[0] = '\0';
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
        snprintf(o->failure, sizeof o->failure, "no pose (%s)%s%s", hk_reason_name(report.reason),
                 report.detail[0] ? ": " : "", report.detail);
    return true;
}

// Whether the tets of both scenes have the same corners, so that a state of one makes sense in the
// other.
static bool same_elements(const hk_scene *a, const hk_scene *b)
{
    const hk_model_def *one = hk_scene_model(a), *other = hk_scene_model(b);
    if (!one || !other || one->body_count != other->body_count) return false;
    for (int i = 0; i < one->body_count; ++i) {
        const hk_body_def *a_body = hk_def_at(one->bodies, i);
        const hk_body_def *b_body = hk_def_at(other->bodies, i);
        const hk_mesh *m = a_body->mesh, *n = b_body->mesh;
        int tets = hk_mesh_tet_count(m);
        if (tets != hk_mesh_tet_count(n) || hk_mesh_vertex_count(m) != hk_mesh_vertex_count(n))
            return false;
        if (tets > 0 &&
            memcmp(hk_mesh_tets(m), hk_mesh_tets(n), 4 * (size_t)tets * sizeof(int32_t)) != 0)
            return false;
    }
    return true;
}

static double *copy_positions(const hk_world *world)
{
    size_t count = 3 * (size_t)hk_model_vertex_count(hk_world_model(world));
    double *copy = cli_realloc(NULL, count, sizeof *copy);
    memcpy(copy, hk_world_positions(world), count * sizeof *copy);
    return copy;
}

// From the pose before it, where the elements are the same; from the scene's own state if that
// leads nowhere. Takes the scene over if it is the one to follow next.
static bool pose_one(sweep *s, outcome *o, hk_scene **scene, hk_world *world)
{
    double *own = copy_positions(world);
    bool follows = s->positions && !s->fresh && same_elements(s->last, *scene) &&
                   hk_world_set_positions(world, s->positions) == HK_OK;
    bool going = find_pose(s, o, world);
    if (going && follows && (o->failure[0] != '\0' || o->reason != HK_CONVERGED) &&
        hk_world_set_positions(world, own) == HK_OK)
        going = find_pose(s, o, world);
    free(own);
    if (going && o->failure[0] == '\0' && o->reason == HK_CONVERGED) {
        free(s->positions);
        s->positions = copy_positions(world);
        hk_scene_free(s->last);
        s->last = *scene;
        *scene = NULL;
    }
    return going;
}

static bool run_one(sweep *s, outcome *o, hk_world *world, int steps)
{
    int iterations = 0;
    double ms = 0;
    hk_reason worst = HK_CONVERGED;
    for (int step = 1; step <= steps; ++step) {
        hk_step_report report;
        if (cli_interrupted()) return false;
        if (hk_world_step(world, &report) != HK_OK) {
            snprintf(o->failure, sizeof o->failure, "step %d: %s", step, hk_error());
            return true;
        }
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) {
            snprintf(o->failure, sizeof o->failure, "step %d failed (%s)%s%s", step,
                     hk_reason_name(report.reason), report.detail[0] ? ": " : "", report.detail);
            return true;
        }
        iterations += report.iterations;
        ms += report.ms;
        if (report.reason != HK_CONVERGED) worst = report.reason;
        if (step == steps) measure(s, o, world, &report, iterations, ms);
        cli_progress_text(&s->progress, "%s = %s (%d of %d)  step %d of %d", s->path, o->text,
                          s->done + 1, s->count, step, steps);
    }
    o->reason = worst;
    return true;
}

static bool try_value(sweep *s, outcome *o)
{
    char *set = cli_format("%s=%s", s->path, o->text);
    size_t count = (size_t)s->sets.count;
    const char **sets = cli_realloc(NULL, count + 1, sizeof *sets);
    if (count > 0) memcpy(sets, s->sets.items, count * sizeof *sets);
    sets[count] = set;
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    bool going = true;
    for (int q = 0; q < MOST_QUANTITIES; ++q) o->of[q] = NAN;
    hk_status status = hk_scene_load(s->scene_path, sets, (int)count + 1, &scene);
    if (status == HK_OK) status = hk_model_create(hk_scene_model(scene), &model);
    if (status == HK_OK) {
        hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
        def.model = model;
        if (s->threads >= 0) def.threads = s->threads;
        status = hk_world_create(&def, &world);
    }
    s->scene = scene;
    if (status != HK_OK)
        snprintf(o->failure, sizeof o->failure, "%s", hk_error());
    else if (strcmp(s->command, "run") == 0)
        going = run_one(s, o, world, hk_scene_steps(scene));
    else
        going = pose_one(s, o, &scene, world);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
    free(sets);
    free(set);
    return going;
}

// ---------------------------------------------------------------- what came of it

static bool is_short(const sweep *s, const outcome *o)
{
    return strcmp(s->command, "pose") == 0 && o->failure[0] == '\0' && o->reason != HK_CONVERGED;
}

static void print_table(const sweep *s, FILE *stream)
{
    int width = (int)strlen(s->path);
    for (int i = 0; i < s->done; ++i) {
        int length = (int)strlen(s->outcomes[i].text);
        if (length > width) width = length;
    }
    fprintf(stream, "%s: %d of %d values\n\n  %*s", s->scene_path, s->done, s->count, width,
            s->path);
    for (int i = 0; i < s->recorded_count; ++i) {
        char head[64];
        const char *unit = quantities[s->recorded[i]].unit;
        snprintf(head, sizeof head, "%s%s%s", quantities[s->recorded[i]].name, unit[0] ? ", " : "",
                 unit);
        fprintf(stream, "  %17s", head);
    }
    fprintf(stream, "  end\n");
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        fprintf(stream, "  %*s", width, o->text);
        for (int k = 0; o->failure[0] == '\0' && k < s->recorded_count; ++k)
            fprintf(stream, "  %17.8g", o->of[s->recorded[k]]);
        fprintf(stream, "  %s%s\n", o->failure[0] ? "failed: " : hk_reason_name(o->reason),
                o->failure);
    }
    fputc('\n', stream);
    if (s->csv) fprintf(stream, "  wrote       %s\n", s->csv);
    if (s->svg) fprintf(stream, "  wrote       %s\n", s->svg);
}

static char *csv_text(const sweep *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);  // says that there is no memory
    fputs("value", out);
    for (int q = 0; q < quantity_count; ++q) fprintf(out, ",%s", quantities[q].name);
    fputs(",status\n", out);
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        // A word may hold a quote; a comma it cannot.
        if (strchr(o->text, '"')) {
            fputc('"', out);
            for (const char *at = o->text; *at; ++at) fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
            fputc('"', out);
        } else {
            fputs(o->text, out);
        }
        for (int q = 0; q < quantity_count; ++q) {
            fputc(',', out);
            if (isfinite(o->of[q]) && o->failure[0] == '\0') fprintf(out, "%.17g", o->of[q]);
        }
        fprintf(out, ",%s\n", o->failure[0] ? "failed" : hk_reason_name(o->reason));
    }
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad) return cli_realloc(text, (size_t)-1, 2);
    return text;
}

// The first two recorded quantities, each in a panel of its own.
static char *svg_text(const sweep *s)
{
    enum { PANELS = 2 };
    int panels = s->recorded_count < PANELS ? s->recorded_count : PANELS;
    size_t count = (size_t)s->done;
    double *x = cli_realloc(NULL, count, sizeof *x), *y[PANELS] = {NULL, NULL};
    plot_series series[PANELS];
    plot_panel panel[PANELS];
    char *labels[PANELS] = {NULL, NULL};
    for (int i = 0; i < s->done; ++i) x[i] = s->outcomes[i].number;
    for (int p = 0; p < panels; ++p) {
        int q = s->recorded[p];
        y[p] = cli_realloc(NULL, count, sizeof *y[p]);
        for (int i = 0; i < s->done; ++i)
            y[p][i] = s->outcomes[i].failure[0] ? NAN : s->outcomes[i].of[q];
        labels[p] = cli_format("%s%s%s", quantities[q].name, quantities[q].unit[0] ? ", " : "",
                               quantities[q].unit);
        series[p] = (plot_series){NULL, x, y[p], s->done};
        bool log_x = s->logarithmic && s->outcomes[0].number > 0;
        panel[p] = (plot_panel){
            NULL, {s->path, log_x, NAN, NAN}, {labels[p], false, NAN, NAN}, &series[p], 1};
    }
    plot_figure figure = {cli_file_name(s->scene_path), NULL, panel, panels, false};
    char *text = plot_svg(&figure);
    free(x);
    for (int p = 0; p < PANELS; ++p) {
        free(y[p]);
        free(labels[p]);
    }
    return text;
}

static json_t *results_json(const sweep *s, bool failed, bool halted)
{
    json_t *values = json_array();
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        json_t *value = json_object();
        json_object_set_new(value, "value",
                            isnan(o->number) ? cli_json_text(o->text) : json_real(o->number));
        if (o->failure[0] != '\0') {
            json_object_set_new(value, "error", cli_json_text(o->failure));
        } else {
            json_object_set_new(value, "reason", json_string(hk_reason_name(o->reason)));
            for (int q = 0; q < quantity_count; ++q)
                json_object_set_new(value, quantities[q].name,
                                    q == ITERATIONS ? json_integer((json_int_t)o->of[q])
                                                    : cli_json_real(o->of[q]));
        }
        json_array_append_new(values, value);
    }
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:o}", "status",
                  failed   ? "failed"
                  : halted ? "stopped"
                           : "converged",
                  "command", s->command, "vary", cli_json_text(s->path), "values", values);
    if (object && s->csv) json_object_set_new(object, "csv", cli_json_text(s->csv));
    if (object && s->svg) json_object_set_new(object, "svg", cli_json_text(s->svg));
    return object;
}

// ---------------------------------------------------------------- the command

// The scene as it is must be sound before anything is varied; the outputs must be writable.
static int prepare(sweep *s)
{
    hk_scene *scene;
    if (hk_scene_load(s->scene_path, s->sets.items, s->sets.count, &scene) != HK_OK)
        return cli_failure("%s", hk_error());
    cli_tell_mesh_notes(scene);
    char *csv = cli_format("%s.csv", s->name), *svg = cli_format("%s.svg", s->name), why[512];
    s->csv = cli_output_path(s->out, csv);
    s->svg = s->numeric ? cli_output_path(s->out, svg) : NULL;
    free(csv);
    free(svg);
    char *outputs[] = {s->csv, s->svg};
    bool good = cli_output_is_good(outputs, 1, scene, s->scene_path, why, sizeof why) &&
                cli_output_is_good(outputs, 2, scene, s->scene_path, why, sizeof why);
    hk_scene_free(scene);
    return good ? -1 : cli_failure("%s", why);
}

static int finish(sweep *s)
{
    bool good = cli_write_text(csv_text(s), &s->csv), halted = s->done < s->count;
    if (s->svg && !cli_write_text(svg_text(s), &s->svg)) good = false;
    if (!cli_talk.quiet) print_table(s, cli_text_stream());
    if (halted) cli_note("stopped after %d of %d values", s->done, s->count);
    // Failures are in the table; of many, the first is enough to say what is wrong.
    int failed = 0, unconverged = 0;
    const outcome *first = NULL;
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        failed += o->failure[0] != '\0';
        unconverged += is_short(s, o);
        if (!first && o->failure[0] != '\0') first = o;
    }
    if (first)
        cli_say_error("%d of %d values failed; %s = %s: %s", failed, s->done, s->path, first->text,
                      first->failure);
    if (unconverged > 0) cli_say_error("%d of %d poses did not converge", unconverged, s->done);
    halted |= unconverged > 0;
    if (cli_talk.json && !cli_json_print(results_json(s, failed > 0, halted))) {
        cli_say_error("cannot print the results");
        good = false;
    }
    return good && failed == 0 && !halted ? CLI_DONE : CLI_FAILED;
}

static int run_values(sweep *s)
{
    int result = prepare(s);
    if (result >= 0) return result;
    cli_progress_begin(&s->progress, s->count);
    while (s->done < s->count && try_value(s, &s->outcomes[s->done])) s->done++;
    cli_progress_end(&s->progress);
    if (s->done == 0) return cli_failure("stopped before a value was done");
    return finish(s);
}

int cmd_sweep(int argc, char **argv)
{
    sweep s;
    int result = parse(&s, argc, argv);
    if (result < 0) {
        cli_start_log();
        cli_catch_interrupts();
        result = run_values(&s);
        cli_stop_log();
    }
    for (int i = 0; i < s.count; ++i) free(s.outcomes[i].text);
    free(s.outcomes);
    free(s.positions);
    hk_scene_free(s.last);
    free(s.path);
    free(s.csv);
    free(s.svg);
    cli_texts_free(&s.sets);
    return result;
}
