// hooke compare --frames: the errors that methods come to in many consecutive steps. Every step is
// a frozen problem of its own, and the truth of one is where the next begins.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "plot.h"

// ---------------------------------------------------------------- the steps

// The worlds live through all steps: what a method carries from one to the next, it carries here.
typedef struct course {
    compare_series *series;
    hk_world **worlds;  // [spec_count]
    hk_world *truth;
    compare_account account;  // of one step
} course;

static void free_trials(course *c)
{
    for (int i = 0; i < c->account.count; ++i) compare_trial_free(&c->account.trials[i]);
    c->account.count = 0;
    compare_trial_free(&c->account.reference);
}

static bool give_up(compare_series *series, const char *who, const char *why)
{
    snprintf(series->failure, sizeof series->failure, "step %d: %s: %s",
             series->first + series->count, who, why);
    return false;
}

static bool record_one(course *c, const compare_spec *spec, hk_world *world, compare_trial *trial)
{
    *trial = (compare_trial){.spec = spec, .setup_ms = NAN, .relative_residual = NAN};
    bool good = compare_record(c->series->problem, world, trial);
    if (trial->interrupted) c->series->interrupted = true;
    return good;
}

// A method that fails in a step has no error there; without the truth there is no going on.
static bool run_step(course *c, const compare_spec *reference, hk_world *state)
{
    compare_series *series = c->series;
    compare_account *account = &c->account;
    if (!record_one(c, reference, c->truth, &account->reference))
        return !series->interrupted &&
               give_up(series, reference->label, account->reference.failure);
    char why[1024];
    if (!compare_is_solution(&account->reference, why, sizeof why)) {
        char *text = cli_format("no solution to compare with: %s", why);
        give_up(series, reference->label, text);
        free(text);
        return false;
    }
    bool rated = compare_set_scale(account, why, sizeof why);
    for (int i = 0; i < series->spec_count; ++i) {
        account->count = i + 1;
        if (rated) record_one(c, &series->specs[i], c->worlds[i], &account->trials[i]);
        if (series->interrupted) return false;
    }
    if (rated) compare_rate(account);
    for (int i = 0; i < series->spec_count; ++i) {
        const compare_trial *trial = &account->trials[i];
        int at = series->count * series->spec_count + i;
        bool good = rated && trial->failure[0] == '\0';
        series->errors[at] = good ? compare_least_error(trial) : NAN;
        series->iterations[at] = good ? trial->iterations : 0;
    }
    series->unrated += !rated;
    if (hk_world_copy_state(state, c->truth) != HK_OK)
        return give_up(series, reference->label, hk_error());
    series->count++;
    return true;
}

static bool create_worlds(course *c, const compare_spec *reference)
{
    compare_series *series = c->series;
    enum { REFERENCE_ITERATIONS = 1000 };
    compare_problem problem = *series->problem;
    if (problem.iterations < REFERENCE_ITERATIONS) problem.iterations = REFERENCE_ITERATIONS;
    problem.tolerance = 1e-12;
    if (compare_create_world(&problem, reference, &c->truth) != HK_OK)
        return give_up(series, reference->label, hk_error());
    for (int i = 0; i < series->spec_count; ++i)
        if (compare_create_world(series->problem, &series->specs[i], &c->worlds[i]) != HK_OK)
            return give_up(series, series->specs[i].label, hk_error());
    return true;
}

bool compare_run_series(compare_series *series, const compare_spec *reference, hk_world *state)
{
    size_t specs = (size_t)series->spec_count, cells = (size_t)series->wanted * specs;
    series->errors = cli_realloc(NULL, cells, sizeof *series->errors);
    series->iterations = cli_realloc(NULL, cells, sizeof *series->iterations);
    course c = {.series = series,
                .worlds = cli_realloc(NULL, specs, sizeof(hk_world *)),
                .account = {.problem = series->problem}};
    for (size_t i = 0; i < specs; ++i) c.worlds[i] = NULL;
    c.account.trials = cli_realloc(NULL, specs, sizeof *c.account.trials);
    memset(c.account.trials, 0, specs * sizeof *c.account.trials);
    bool going = create_worlds(&c, reference);
    while (going && series->count < series->wanted) {
        going = run_step(&c, reference, state);
        free_trials(&c);
    }
    for (size_t i = 0; i < specs; ++i) hk_world_free(c.worlds[i]);
    hk_world_free(c.truth);
    free(c.worlds);
    free(c.account.trials);
    return series->count > 0;
}

void compare_series_free(compare_series *series)
{
    free(series->errors);
    free(series->iterations);
    free(series->csv);
    free(series->svg);
    *series = (compare_series){0};
}

// ---------------------------------------------------------------- what came of it

typedef struct summary {
    int rated;  // steps with an error
    int least;  // steps in which no method has a smaller one
    double median, most_of_them, worst;
    double iterations;  // mean
} summary;

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_least(const compare_series *series, int step, int spec)
{
    const double *errors = series->errors + (size_t)step * (size_t)series->spec_count;
    for (int i = 0; i < series->spec_count; ++i)
        if (errors[i] < errors[spec]) return false;
    return !isnan(errors[spec]);
}

static summary summarise(const compare_series *series, int spec)
{
    summary s = {.median = NAN, .most_of_them = NAN, .worst = NAN, .iterations = NAN};
    double *sorted = cli_realloc(NULL, (size_t)series->count, sizeof *sorted), iterations = 0;
    for (int k = 0; k < series->count; ++k) {
        double error = series->errors[k * series->spec_count + spec];
        if (isnan(error)) continue;
        sorted[s.rated++] = error;
        s.least += is_least(series, k, spec);
        iterations += series->iterations[k * series->spec_count + spec];
    }
    qsort(sorted, (size_t)s.rated, sizeof *sorted, compare_reals);
    if (s.rated > 0) {
        s.median = 0.5 * (sorted[(s.rated - 1) / 2] + sorted[s.rated / 2]);
        // The smallest error that nine in ten do not exceed.
        s.most_of_them = sorted[(9 * s.rated + 9) / 10 - 1];
        s.worst = sorted[s.rated - 1];
        s.iterations = iterations / s.rated;
    }
    free(sorted);
    return s;
}

void compare_series_print(const compare_series *series, FILE *stream)
{
    const hk_model *model = series->problem->model;
    int width = 6;
    for (int i = 0; i < series->spec_count; ++i) {
        int length = (int)strlen(series->specs[i].label);
        if (length > width) width = length;
    }
    fprintf(stream, "%s: steps %d to %d, each from the solution of the one before\n",
            series->scene_path, series->first, series->first + series->count - 1);
    fprintf(stream, "  bodies      %d with %d vertices and %d tets; %d thread%s\n",
            hk_model_body_count(model), hk_model_vertex_count(model), hk_model_tet_count(model),
            series->threads, series->threads == 1 ? "" : "s");
    fprintf(stream, "  scale       an error of 1 is that of the start%s%s\n\n",
            series->problem->start ? ": " : "",
            series->problem->start ? series->problem->start : "");
    fprintf(stream, "  %-*s  least relative error in a step\n", width, "");
    fprintf(stream, "  %-*s%10s%10s%10s%12s%9s%12s\n", width, "method", "median", "90 %", "worst",
            "least in", "steps", "iterations");
    for (int i = 0; i < series->spec_count; ++i) {
        summary s = summarise(series, i);
        const double columns[] = {s.median, s.most_of_them, s.worst};
        fprintf(stream, "  %-*s", width, series->specs[i].label);
        for (int k = 0; k < 3; ++k) {
            char text[32];
            snprintf(text, sizeof text, "%.1e", columns[k]);
            compare_put_cell(stream, isnan(columns[k]) ? "\u2013" : text, 10);
        }
        fprintf(stream, "%12d%9d", s.least, s.rated);
        char text[32];
        snprintf(text, sizeof text, "%.1f", s.iterations);
        compare_put_cell(stream, isnan(s.iterations) ? "\u2013" : text, 12);
        fputc('\n', stream);
    }
    fputc('\n', stream);
    if (series->unrated > 0)
        fprintf(stream, "  %d of the steps start at their solution and have no error\n",
                series->unrated);
    if (series->csv) fprintf(stream, "  wrote       %s\n", cli_name(series->csv));
    if (series->svg) fprintf(stream, "  wrote       %s\n", cli_name(series->svg));
}

static json_t *method_json(const compare_series *series, int spec)
{
    summary s = summarise(series, spec);
    json_t *errors = json_array();
    for (int k = 0; k < series->count; ++k)
        json_array_append_new(errors, cli_json_real(series->errors[k * series->spec_count + spec]));
    return json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:i, s:o, s:o}", "spec",
                     cli_json_text(series->specs[spec].label), "method",
                     hk_method_name(series->specs[spec].method), "steps", s.rated, "median",
                     cli_json_real(s.median), "quantile90", cli_json_real(s.most_of_them), "worst",
                     cli_json_real(s.worst), "least_in", s.least, "iterations",
                     cli_json_real(s.iterations), "errors", errors);
}

json_t *compare_series_json(const compare_series *series)
{
    const hk_model *model = series->problem->model;
    json_t *methods = json_array();
    for (int i = 0; i < series->spec_count; ++i)
        json_array_append_new(methods, method_json(series, i));
    json_t *object = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o}", "status",
        series->interrupted  ? "stopped"
        : series->failure[0] ? "failed"
                             : "converged",
        "vertices", hk_model_vertex_count(model), "tets", hk_model_tet_count(model), "threads",
        series->threads, "step", series->first, "frames", series->count, "start",
        series->problem->start ? json_string(series->problem->start) : json_null(), "methods",
        methods);
    if (!object) return NULL;
    if (series->failure[0] != '\0')
        json_object_set_new(object, "error", cli_json_text(series->failure));
    if (series->csv) json_object_set_new(object, "csv", cli_json_text(series->csv));
    if (series->svg) json_object_set_new(object, "svg", cli_json_text(series->svg));
    return object;
}

char *compare_series_csv(const compare_series *series)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);  // says that there is no memory
    fputs("frame,method,error\n", out);
    for (int k = 0; k < series->count; ++k)
        for (int i = 0; i < series->spec_count; ++i) {
            double error = series->errors[k * series->spec_count + i];
            fprintf(out, "%d,%s,", series->first + k, series->specs[i].label);
            if (isfinite(error)) fprintf(out, "%.6g", error);
            fputc('\n', out);
        }
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad) return cli_realloc(text, (size_t)-1, 2);
    return text;
}

char *compare_series_svg(const compare_series *series)
{
    const hk_model *model = series->problem->model;
    size_t count = (size_t)series->count, specs = (size_t)series->spec_count;
    double *x = cli_realloc(NULL, count, sizeof *x);
    double *y = cli_realloc(NULL, count * specs, sizeof *y);
    plot_series *lines = cli_realloc(NULL, specs, sizeof *lines);
    for (size_t k = 0; k < count; ++k) x[k] = (double)series->first + (double)k;
    for (size_t i = 0; i < specs; ++i) {
        for (size_t k = 0; k < count; ++k) y[i * count + k] = series->errors[k * specs + i];
        lines[i] = (plot_series){series->specs[i].label, x, y + i * count, series->count};
    }
    char *subtitle = cli_format(
        "least error in each step, 1: that of the start%s%s; %d vertices, %d tets",
        series->problem->start ? " " : "", series->problem->start ? series->problem->start : "",
        hk_model_vertex_count(model), hk_model_tet_count(model));
    const plot_panel panel = {NULL,
                              {"step", false, NAN, NAN},
                              {"relative error", true, NAN, NAN},
                              lines,
                              series->spec_count};
    plot_figure figure = {cli_file_name(series->scene_path), subtitle, &panel, 1, false};
    char *text = plot_svg(&figure);
    free(subtitle);
    free(lines);
    free(x);
    free(y);
    return text;
}
