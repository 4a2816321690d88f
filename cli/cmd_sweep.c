// hooke sweep: values of a scene varied, its pose or its motion computed for each, and what came of
// it side by side.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plot.h"
#include "sweep.h"

static const char purpose[] =
    "Varies values of the scene, finds the pose for each (or simulates the scene to its\n"
    "end), and writes what came of it: a table, DIR/NAME.csv and a plot, DIR/NAME.svg.\n"
    "\n"
    "PATH=FROM:TO:COUNT are COUNT values at equal distances, FROM:TO:COUNT:log at equal\n"
    "ratios, and A,B,C a list, of words and arrays too: gravity=[0,0,0]:[0,-20,0]:5.\n"
    "--vary given several times makes a grid: each value of one with each of the others.\n"
    "A pose starts from the one before it.\n"
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
    "hooke sweep scenes/beam.json --vary bodies.0.material.young=1e5,1e6 --vary gravity.1=0:-20:5\n"
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
    int place;            // in the grid
    char *name;           // of the values, for people
    double of[MOST_QUANTITIES];
    hk_reason reason;
    bool fresh;         // the pose started from the scene's own state
    char failure[512];  // "" if there is a state to tell of
} outcome;

typedef struct sweep {
    const char *scene_path;
    cli_texts sets;
    cli_texts vary;
    const char *command, *record, *out, *name;
    bool fresh;
    int threads;
    sweep_grid grid;
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

static int read_vary(sweep *s)
{
    int result = sweep_read_grid(&s->vary, &s->grid);
    if (result >= 0) return result;
    s->count = s->grid.count;
    s->outcomes = cli_realloc(NULL, (size_t)s->count, sizeof *s->outcomes);
    for (int i = 0; i < s->count; ++i)
        s->outcomes[i] = (outcome){.place = i, .name = sweep_place_name(&s->grid, i, -1)};
    return -1;
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
        {"vary", 0, CLI_TEXTS, &s->vary, "PATH=VALUES", "what to vary, and how; may be repeated"},
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
    for (int q = QUANTITIES; q < quantity_count; ++q) {
        if (cli_engineering_value(results, quantities[q].name, &of[q])) continue;
        char *names = cli_engineering_names(results);
        snprintf(o->failure, sizeof o->failure, "there is no %s; there are %s", quantities[q].name,
                 names);
        free(names);
    }
    json_decref(results);
}

typedef struct watch {
    sweep *owner;
    const outcome *of;
} watch;

static bool watch_iteration(void *context, const hk_iteration *now)
{
    watch *seen = context;
    cli_progress_text(&seen->owner->progress, "%s (%d of %d)  iteration %d  residual %.2e",
                      seen->of->name, seen->owner->done + 1, seen->owner->count, now->iteration,
                      now->relative_residual);
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
    o->failure[0] = '\0';
    measure(s, o, world, &report, report.iterations, report.ms);
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
        cli_progress_text(&s->progress, "%s (%d of %d)  step %d of %d", o->name, s->done + 1,
                          s->count, step, steps);
    }
    o->reason = worst;
    return true;
}

static bool try_value(sweep *s, outcome *o)
{
    size_t count = (size_t)s->sets.count, varied = (size_t)s->grid.axis_count;
    char *own[SWEEP_MOST_AXES];
    const char **sets = cli_realloc(NULL, count + varied, sizeof *sets);
    if (count > 0) memcpy(sets, s->sets.items, count * sizeof *sets);
    for (size_t k = 0; k < varied; ++k)
        sets[count + k] = own[k] =
            cli_format("%s=%s", s->grid.axes[k].path, sweep_text(&s->grid, o->place, (int)k));
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    bool going = true;
    for (int q = 0; q < MOST_QUANTITIES; ++q) o->of[q] = NAN;
    hk_status status = cli_scene_load(s->scene_path, sets, (int)(count + varied), &scene);
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
    for (size_t k = 0; k < varied; ++k) free(own[k]);
    return going;
}

// ---------------------------------------------------------------- what came of it

static bool is_short(const sweep *s, const outcome *o)
{
    return strcmp(s->command, "pose") == 0 && o->failure[0] == '\0' && o->reason != HK_CONVERGED;
}

static void print_table(const sweep *s, FILE *stream)
{
    const sweep_grid *grid = &s->grid;
    int width[SWEEP_MOST_AXES];
    fprintf(stream, "%s: %d of %d values\n\n", s->scene_path, s->done, s->count);
    for (int k = 0; k < grid->axis_count; ++k) {
        width[k] = (int)strlen(grid->axes[k].path);
        for (int i = 0; i < grid->axes[k].count; ++i) {
            int length = (int)strlen(grid->axes[k].texts[i]);
            if (length > width[k]) width[k] = length;
        }
        fprintf(stream, "  %*s", width[k], grid->axes[k].path);
    }
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
        for (int k = 0; k < grid->axis_count; ++k)
            fprintf(stream, "  %*s", width[k], sweep_text(grid, o->place, k));
        for (int k = 0; o->failure[0] == '\0' && k < s->recorded_count; ++k)
            fprintf(stream, "  %17.8g", o->of[s->recorded[k]]);
        fprintf(stream, "  %s%s\n", o->failure[0] ? "failed: " : hk_reason_name(o->reason),
                o->failure);
    }
    fputc('\n', stream);
    if (s->csv) fprintf(stream, "  wrote       %s\n", cli_name(s->csv));
    if (s->svg) fprintf(stream, "  wrote       %s\n", cli_name(s->svg));
}

// What holds a comma or a quote, as arrays and words may, is put into quotes.
static void put_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *at = text; *at; ++at) fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
    fputc('"', out);
}

static char *csv_text(const sweep *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);  // says that there is no memory
    int axes = s->grid.axis_count;
    if (axes == 1) fputs("value", out);
    for (int k = 0; axes > 1 && k < axes; ++k) {
        if (k > 0) fputc(',', out);
        put_csv(out, s->grid.axes[k].path);
    }
    for (int q = 0; q < quantity_count; ++q) fprintf(out, ",%s", quantities[q].name);
    fputs(",status\n", out);
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        for (int k = 0; k < axes; ++k) {
            if (k > 0) fputc(',', out);
            put_csv(out, sweep_text(&s->grid, o->place, k));
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

// The first two recorded quantities, each in a panel of its own, with a curve for every value of
// what is not plotted against.
static char *svg_text(const sweep *s)
{
    enum { PANELS = 2 };
    int panels = s->recorded_count < PANELS ? s->recorded_count : PANELS;
    int below = sweep_plotted_axis(&s->grid);
    const sweep_axis *axis = &s->grid.axes[below];
    size_t length = (size_t)axis->count, curves = (size_t)(s->grid.count / axis->count);
    double *x = cli_realloc(NULL, curves * length, sizeof *x), *y[PANELS] = {NULL, NULL};
    char **names = cli_realloc(NULL, curves, sizeof *names);
    plot_series *series[PANELS] = {NULL, NULL};
    plot_panel panel[PANELS];
    char *labels[PANELS] = {NULL, NULL};
    size_t stride = 1;  // between neighbours on the axis
    for (int k = below + 1; k < s->grid.axis_count; ++k) stride *= (size_t)s->grid.axes[k].count;
    for (size_t c = 0; c < curves; ++c) {
        int first = (int)(c / stride * stride * length + c % stride);
        names[c] = curves > 1 ? sweep_place_name(&s->grid, first, below) : NULL;
    }
    for (int p = 0; p < panels; ++p) {
        int q = s->recorded[p];
        y[p] = cli_realloc(NULL, curves * length, sizeof *y[p]);
        series[p] = cli_realloc(NULL, curves, sizeof *series[p]);
        for (size_t c = 0; c < curves; ++c) {
            size_t first = c / stride * stride * length + c % stride;
            for (size_t i = 0; i < length; ++i) {
                const outcome *o = &s->outcomes[first + i * stride];
                bool there = o->place < s->done && o->failure[0] == '\0';
                x[c * length + i] = axis->values[i];
                y[p][c * length + i] = there ? o->of[q] : NAN;
            }
            series[p][c] = (plot_series){names[c], x + c * length, y[p] + c * length, axis->count};
        }
        labels[p] = cli_format("%s%s%s", quantities[q].name, quantities[q].unit[0] ? ", " : "",
                               quantities[q].unit);
        bool log_x = axis->logarithmic && axis->values[0] > 0;
        panel[p] = (plot_panel){NULL,
                                {axis->path, log_x, NAN, NAN},
                                {labels[p], false, NAN, NAN},
                                series[p],
                                (int)curves};
    }
    plot_figure figure = {cli_file_name(s->scene_path), NULL, panel, panels, false};
    char *text = plot_svg(&figure);
    for (size_t c = 0; c < curves; ++c) free(names[c]);
    free(names);
    free(x);
    for (int p = 0; p < PANELS; ++p) {
        free(y[p]);
        free(series[p]);
        free(labels[p]);
    }
    return text;
}

// A number, an array of them, or a word.
static json_t *value_json(const sweep_axis *axis, int i)
{
    if (!isnan(axis->values[i])) return json_real(axis->values[i]);
    json_t *value = json_loads(axis->texts[i], JSON_DECODE_ANY, NULL);
    return json_is_array(value) ? value : (json_decref(value), cli_json_text(axis->texts[i]));
}

static json_t *values_json(const sweep *s, int place)
{
    const sweep_grid *grid = &s->grid;
    if (grid->axis_count == 1) return value_json(&grid->axes[0], place);
    json_t *values = json_array();
    for (int k = 0; k < grid->axis_count; ++k)
        json_array_append_new(values, value_json(&grid->axes[k], sweep_index(grid, place, k)));
    return values;
}

// The path, or with several of them an array.
static json_t *paths_json(const sweep_grid *grid)
{
    if (grid->axis_count == 1) return cli_json_text(grid->axes[0].path);
    json_t *paths = json_array();
    for (int k = 0; k < grid->axis_count; ++k)
        json_array_append_new(paths, cli_json_text(grid->axes[k].path));
    return paths;
}

static json_t *results_json(const sweep *s, bool failed, bool halted)
{
    json_t *values = json_array();
    for (int i = 0; i < s->done; ++i) {
        const outcome *o = &s->outcomes[i];
        json_t *value = json_object();
        json_object_set_new(value, "value", values_json(s, o->place));
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
                  "command", s->command, "vary", paths_json(&s->grid), "values", values);
    if (object && s->csv) json_object_set_new(object, "csv", cli_json_text(s->csv));
    if (object && s->svg) json_object_set_new(object, "svg", cli_json_text(s->svg));
    return object;
}

// ---------------------------------------------------------------- the command

// The scene as it is must be sound before anything is varied; the outputs must be writable.
static int prepare(sweep *s)
{
    hk_scene *scene;
    if (cli_scene_load(s->scene_path, s->sets.items, s->sets.count, &scene) != HK_OK)
        return cli_failure("%s", hk_error());
    cli_tell_mesh_notes(scene);
    char *csv = cli_format("%s.csv", s->name), *svg = cli_format("%s.svg", s->name), why[512];
    s->csv = cli_output_path(s->out, csv);
    s->svg = sweep_plotted_axis(&s->grid) >= 0 ? cli_output_path(s->out, svg) : NULL;
    free(csv);
    free(svg);
    char *outputs[] = {s->csv, s->svg};
    bool good = cli_output_is_good(outputs, 1, scene, s->scene_path, why, sizeof why) &&
                cli_output_is_good(outputs, 2, scene, s->scene_path, why, sizeof why);
    hk_scene_free(scene);
    return good ? -1 : cli_failure("%s", why);
}

// Where nothing came of it, what an earlier sweep wrote stays.
static bool write_results(sweep *s)
{
    bool any = false;
    for (int i = 0; i < s->done; ++i) any |= s->outcomes[i].failure[0] == '\0';
    if (!any) {
        cli_note("all values failed: nothing is written");
        free(s->csv);
        free(s->svg);
        s->csv = s->svg = NULL;
        return true;
    }
    bool good = cli_write_text(csv_text(s), &s->csv);
    if (s->svg && !cli_write_text(svg_text(s), &s->svg)) good = false;
    return good;
}

static int finish(sweep *s)
{
    bool good = write_results(s), halted = s->done < s->count;
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
        cli_say_error("%d of %d values failed; %s: %s", failed, s->done, first->name,
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
    for (int i = 0; i < s.count; ++i) free(s.outcomes[i].name);
    free(s.outcomes);
    free(s.positions);
    hk_scene_free(s.last);
    sweep_grid_free(&s.grid);
    cli_texts_free(&s.vary);
    free(s.csv);
    free(s.svg);
    cli_texts_free(&s.sets);
    return result;
}
