// What the trials of `hooke compare` say: tables for people, JSON, CSV and a plot.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "plot.h"

const double compare_levels[COMPARE_LEVELS] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};
static const char *const level_names[COMPARE_LEVELS] = {"1e-1", "1e-2", "1e-3", "1e-4", "1e-6"};
const double compare_residuals[COMPARE_RESIDUALS] = {1e-2, 1e-3, 1e-4};
static const char *const residual_names[COMPARE_RESIDUALS] = {"1e-2", "1e-3", "1e-4"};
enum { FIRST_TIMED = 1, END_TIMED = 4, SPEED_LEVEL = 2 };  // of the levels
#define SMALLEST_ERROR 1e-14
// A trial that ends lower than the solution by this relative error ends in another minimum; what
// is nearer may be rounding.
#define OTHER_MINIMUM 1e-6

// ---------------------------------------------------------------- errors

bool compare_set_scale(compare_account *account, char *why, size_t why_size)
{
    const compare_trial *reference = &account->reference;
    account->best = INFINITY;
    account->first = NAN;
    for (int i = 0; i < reference->count; ++i) {
        const compare_point *point = &reference->points[i];
        if (!point->counts || !isfinite(point->energy)) continue;
        if (isnan(account->first)) account->first = point->energy;
        account->best = fmin(account->best, point->energy);
    }
    double span = account->first - account->best;
    // A sum of many terms carries an error of a few units in its last place.
    double rounding = 8 * DBL_EPSILON * fmax(fabs(account->first), fabs(account->best));
    if (!(span > 1e3 * rounding)) {
        char parts[64] = "";
        if (reference->solves > 1)
            snprintf(parts, sizeof parts, "the last of %d solves of ", reference->solves);
        snprintf(why, why_size, "there is nothing to compare: %sthe %s starts at its solution%s",
                 parts, account->problem->pose ? "pose" : "step",
                 account->problem->pose ? "" : "; choose another with --step");
        return false;
    }
    account->floor = pow(10, ceil(log10(fmax(SMALLEST_ERROR, rounding / span)) - 1e-9));
    return true;
}

static double error_of(const compare_account *account, const compare_point *point)
{
    if (!point->counts || !isfinite(point->energy)) return NAN;
    return (point->energy - account->best) / (account->first - account->best);
}

// The points of one precision begin at `from`; where they end.
static int end_of_stage(const compare_trial *trial, int from)
{
    int to = from + 1;
    while (to < trial->count && trial->points[to].solve == trial->points[from].solve &&
           trial->points[to].stage == trial->points[from].stage)
        ++to;
    return to;
}

// How far below the solution rounding took these points: above it, it does the same.
static double rounding_seen(const compare_account *account, const compare_trial *trial, int from,
                            int to)
{
    double lowest = 0;
    for (int k = from; k < to; ++k) {
        double error = error_of(account, &trial->points[k]);
        if (error < lowest && error > -OTHER_MINIMUM) lowest = error;
    }
    return -lowest;
}

static double raised(double floor, double seen)
{
    return 3 * seen > floor ? pow(10, ceil(log10(3 * seen) - 1e-9)) : floor;
}

// What single precision cannot tell apart is not told apart, until double precision takes over.
static void rate(const compare_account *account, compare_trial *trial)
{
    for (int from = 0, to; from < trial->count; from = to) {
        to = end_of_stage(trial, from);
        double floor = raised(account->floor, rounding_seen(account, trial, from, to));
        for (int i = from; i < to; ++i) {
            double error = error_of(account, &trial->points[i]);
            trial->points[i].error = fabs(error) < floor ? floor : error;
        }
    }
}

void compare_rate(compare_account *account)
{
    double seen = 0;
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        int last = 0;
        for (int from = 0; from < trial->count; from = end_of_stage(trial, from)) last = from;
        seen = fmax(seen, rounding_seen(account, trial, last, trial->count));
    }
    account->floor = raised(account->floor, seen);
    rate(account, &account->reference);
    for (int i = 0; i < account->count; ++i) rate(account, &account->trials[i]);
}

// ---------------------------------------------------------------- what is asked of a trial

static const compare_point *first_below(const compare_trial *trial, double level)
{
    for (int i = 0; i < trial->count; ++i)
        if (trial->points[i].error <= level) return &trial->points[i];
    return NULL;
}

// Whether it came to solve the whole problem, not only shares of it.
static bool is_rated(const compare_trial *trial)
{
    return first_below(trial, INFINITY) != NULL;
}

static double ms_to(const compare_trial *trial, double level)
{
    const compare_point *point = first_below(trial, level);
    return point ? point->ms : NAN;
}

// The same for relative residuals. Methods that measure them now and then only say at the end at
// the latest.
static const compare_point *first_at_residual(const compare_trial *trial, double level)
{
    for (int i = 0; i < trial->count; ++i) {
        const compare_point *point = &trial->points[i];
        if (point->counts && point->relative_residual <= level) return point;
    }
    const compare_point *last = trial->count > 0 ? &trial->points[trial->count - 1] : NULL;
    return last && last->counts && trial->relative_residual <= level ? last : NULL;
}

static double ms_to_residual(const compare_trial *trial, double level)
{
    const compare_point *point = first_at_residual(trial, level);
    return point ? point->ms : NAN;
}

static double final_error(const compare_trial *trial)
{
    return trial->count > 0 ? trial->points[trial->count - 1].error : NAN;
}

double compare_least_error(const compare_trial *trial)
{
    double least = NAN;
    for (int i = 0; i < trial->count; ++i) least = fmin(least, trial->points[i].error);
    return least;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ms(const compare_trial *trial)
{
    double *ms = cli_realloc(NULL, (size_t)trial->count + 1, sizeof *ms), before = 0;
    int count = 0;
    for (int i = 0; i < trial->count; ++i) {
        const compare_point *point = &trial->points[i];
        if (point->start || isnan(point->ms)) continue;
        ms[count++] = point->ms - before;
        before = point->ms;
    }
    qsort(ms, (size_t)count, sizeof *ms, compare_reals);
    double median = count > 0 ? 0.5 * (ms[(count - 1) / 2] + ms[count / 2]) : NAN;
    free(ms);
    return median;
}

// The trial of Newton's method that the others are measured by.
static const compare_trial *yardstick(const compare_account *account)
{
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        if (trial->spec->method == account->reference.spec->method && trial->failure[0] == '\0')
            return trial;
    }
    return &account->reference;
}

static double speed_of(const compare_account *account, const compare_trial *trial)
{
    return ms_to(yardstick(account), compare_levels[SPEED_LEVEL]) /
           ms_to(trial, compare_levels[SPEED_LEVEL]);
}

// Lower than rounding explains: then it is not Newton's minimum that was found.
static bool is_lower(const compare_account *account, const compare_trial *trial)
{
    return final_error(trial) < -fmax(OTHER_MINIMUM, 10 * account->floor);
}

// ---------------------------------------------------------------- tables

static const char dash[] = "\u2013";

// A dash takes one column but three bytes.
void compare_put_cell(FILE *stream, const char *text, int width)
{
    int columns = 0;
    for (const char *at = text; *at; ++at) columns += (*at & 0xc0) != 0x80;
    fprintf(stream, "%*s%s", width > columns ? width - columns : 0, "", text);
}

static void put_real(FILE *stream, double value, int width)
{
    char text[32];
    if (isnan(value))
        snprintf(text, sizeof text, "%s", dash);
    else if (value != 0 && fabs(value) < 0.0095)
        snprintf(text, sizeof text, "%.1e", value);
    else if (fabs(value) >= 999.5)
        snprintf(text, sizeof text, "%.0f", value);
    else
        snprintf(text, sizeof text, "%.*f",
                 fabs(value) < 0.995  ? 3
                 : fabs(value) < 9.95 ? 2
                                      : 1,
                 value);
    compare_put_cell(stream, text, width);
}

enum { MOST_NAME = 32 };

static int name_width(const compare_account *account)
{
    int width = 6;
    for (int i = 0; i < account->count; ++i) {
        int length = (int)strlen(account->trials[i].spec->label);
        if (length > width) width = length;
    }
    return width < MOST_NAME ? width : MOST_NAME;
}

// A name that is too long has a line of its own.
static void put_name(FILE *stream, const char *name, int width)
{
    if ((int)strlen(name) > width)
        fprintf(stream, "  %s\n  %*s", name, width, "");
    else
        fprintf(stream, "  %-*s", width, name);
}

static void put_error(FILE *stream, const compare_account *account, double error, int width)
{
    char text[32];
    if (isnan(error))
        snprintf(text, sizeof text, "%s", dash);
    else if (fabs(error) <= account->floor)
        snprintf(text, sizeof text, "< %.0e", account->floor);
    else
        snprintf(text, sizeof text, "%.1e", error);
    compare_put_cell(stream, text, width);
}

static void put_count(FILE *stream, const compare_point *point, int width)
{
    char text[16];
    snprintf(text, sizeof text, "%d", point ? point->iteration : 0);
    compare_put_cell(stream, point ? text : dash, width);
}

static void print_iterations(FILE *stream, const compare_account *account, int width)
{
    fprintf(stream, "\n  %-*s  iterations to a relative error of\n  %-*s", width, "", width,
            "method");
    for (int k = 0; k < COMPARE_LEVELS; ++k) fprintf(stream, "%7s", level_names[k]);
    fprintf(stream, "%8s%10s   %s\n", "all", "error", "end");
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        put_name(stream, trial->spec->label, width);
        if (trial->failure[0] != '\0') {
            fprintf(stream, "   failed: %s\n", trial->failure);
            continue;
        }
        for (int k = 0; k < COMPARE_LEVELS; ++k)
            put_count(stream, first_below(trial, compare_levels[k]), 7);
        fprintf(stream, "%8d", trial->iterations);
        put_error(stream, account, final_error(trial), 10);
        fprintf(stream, "   %s", hk_reason_name(trial->reason));
        if (trial->solves > 1) fprintf(stream, ", in %d solves", trial->solves);
        fputc('\n', stream);
    }
}

static void print_times(FILE *stream, const compare_account *account, int width)
{
    fprintf(stream, "\n  %-*s  ms to a relative error of\n  %-*s", width, "", width, "method");
    for (int k = FIRST_TIMED; k < END_TIMED; ++k) fprintf(stream, "%10s", level_names[k]);
    fprintf(stream, "%14s%12s%18s\n", "ms/iteration", "set-up ms", "speed at 1e-3");
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        if (trial->failure[0] != '\0') continue;
        put_name(stream, trial->spec->label, width);
        for (int k = FIRST_TIMED; k < END_TIMED; ++k)
            put_real(stream, ms_to(trial, compare_levels[k]), 10);
        put_real(stream, median_ms(trial), 14);
        put_real(stream, trial->setup_ms, 12);
        double speed = speed_of(account, trial);
        put_real(stream, speed, 8);
        fprintf(stream, "%s\n", isnan(speed) ? "" : " \u00d7 newton");
    }
}

static void print_residuals(FILE *stream, const compare_account *account, int width)
{
    fprintf(stream, "\n  %-*s  ms to a relative residual of      iterations to it\n  %-*s", width,
            "", width, "method");
    for (int k = 0; k < COMPARE_RESIDUALS; ++k) fprintf(stream, "%10s", residual_names[k]);
    for (int k = 0; k < COMPARE_RESIDUALS; ++k)
        fprintf(stream, "%*s", k == 0 ? 10 : 7, residual_names[k]);
    fprintf(stream, "%11s\n", "residual");
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        if (trial->failure[0] != '\0') continue;
        put_name(stream, trial->spec->label, width);
        for (int k = 0; k < COMPARE_RESIDUALS; ++k)
            put_real(stream, ms_to_residual(trial, compare_residuals[k]), 10);
        for (int k = 0; k < COMPARE_RESIDUALS; ++k)
            put_count(stream, first_at_residual(trial, compare_residuals[k]), k == 0 ? 10 : 7);
        put_real(stream, trial->relative_residual, 11);
        fputc('\n', stream);
    }
}

static void print_remarks(FILE *stream, const compare_account *account)
{
    fputc('\n', stream);
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        const char *name = trial->spec->label;
        if (trial->failure[0] != '\0') continue;
        if (is_lower(account, trial))
            fprintf(stream, "  %s ends below Newton's minimum: it found another one\n", name);
        if (!is_rated(trial))
            fprintf(stream, "  %s spent its iterations on parts of the load, the last %.4g\n", name,
                    trial->points[trial->count - 1].load);
        else if (trial->solves > 1)
            fprintf(stream, "  %s took the way in parts: %d solves; those of the whole count\n",
                    name, trial->solves);
        if (!trial->same_iterations)
            fprintf(stream, "  %s took other iterations when timed: such runs are left out\n",
                    name);
    }
    if (account->csv) fprintf(stream, "  wrote       %s\n", cli_name(account->csv));
    if (account->svg) fprintf(stream, "  wrote       %s\n", cli_name(account->svg));
}

// "step 10, from t = 0.045 s"
static char *describe_problem(const compare_account *account)
{
    if (account->step == 0) return cli_format("pose");
    return cli_format("step %d, from t = %.6g s to %.6g s", account->step, account->time,
                      account->time + account->length);
}

void compare_print(const compare_account *account, FILE *stream)
{
    const hk_model *model = account->problem->model;
    const compare_trial *reference = &account->reference;
    int width = name_width(account), bodies = hk_model_body_count(model);
    char *what = describe_problem(account);
    fprintf(stream, "%s: %s\n", account->scene_path, what);
    free(what);
    fprintf(stream, "  bodies      %d with %d vertices and %d tets; %d thread%s\n", bodies,
            hk_model_vertex_count(model), hk_model_tet_count(model), account->threads,
            account->threads == 1 ? "" : "s");
    fprintf(stream, "  truth       %s, %d iterations, %s, relative residual %.1e\n",
            reference->spec->label, reference->iterations, hk_reason_name(reference->reason),
            reference->relative_residual);
    fprintf(stream, "  energy      \u03b5 from %.9g J", account->first);
    if (!account->problem->pose && account->problem->start)
        fprintf(stream, " (start: %s)", account->problem->start);
    fprintf(stream, " to %.9g J\n", account->best);
    print_iterations(stream, account, width);
    print_times(stream, account, width);
    print_residuals(stream, account, width);
    print_remarks(stream, account);
}

// ---------------------------------------------------------------- JSON

static void add_residuals(const compare_trial *trial, json_t *object)
{
    json_t *iterations = json_object(), *ms = json_object();
    for (int k = 0; k < COMPARE_RESIDUALS; ++k) {
        const compare_point *point = first_at_residual(trial, compare_residuals[k]);
        json_object_set_new(iterations, residual_names[k],
                            point ? json_integer(point->iteration) : json_null());
        json_object_set_new(ms, residual_names[k],
                            cli_json_real(ms_to_residual(trial, compare_residuals[k])));
    }
    json_object_set_new(object, "iterations_to_residual", iterations);
    json_object_set_new(object, "ms_to_residual", ms);
}

static json_t *trial_json(const compare_account *account, const compare_trial *trial)
{
    bool failed = trial->failure[0] != '\0';
    static const char *const outcomes[] = {"converged", "stopped", "failed"};
    const char *status = failed ? "failed" : outcomes[hk_reason_outcome(trial->reason)];
    json_t *object = json_pack("{s:o, s:s, s:s}", "spec", cli_json_text(trial->spec->label),
                               "method", hk_method_name(trial->spec->method), "status", status);
    if (!object) return NULL;
    if (failed) {
        json_object_set_new(object, "error", cli_json_text(trial->failure));
        return object;
    }
    json_t *iterations = json_object(), *ms = json_object();
    for (int k = 0; k < COMPARE_LEVELS; ++k) {
        const compare_point *point = first_below(trial, compare_levels[k]);
        json_object_set_new(iterations, level_names[k],
                            point ? json_integer(point->iteration) : json_null());
        json_object_set_new(ms, level_names[k], cli_json_real(ms_to(trial, compare_levels[k])));
    }
    json_t *rest = json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "reason",
        hk_reason_name(trial->reason), "iterations", trial->iterations, "solves", trial->solves,
        "final_error", cli_json_real(final_error(trial)), "relative_residual",
        cli_json_real(trial->relative_residual), "iterations_to", iterations, "ms_to", ms,
        "ms_per_iteration", cli_json_real(median_ms(trial)), "setup_ms",
        cli_json_real(trial->setup_ms), "speed", cli_json_real(speed_of(account, trial)),
        "below_newton", is_lower(account, trial));
    json_object_update(object, rest);
    json_decref(rest);
    add_residuals(trial, object);
    return object;
}

json_t *compare_json(const compare_account *account)
{
    const hk_model *model = account->problem->model;
    bool failed = false;
    json_t *methods = json_array();
    for (int i = 0; i < account->count; ++i) {
        json_array_append_new(methods, trial_json(account, &account->trials[i]));
        failed |= account->trials[i].failure[0] != '\0';
    }
    const compare_trial *reference = &account->reference;
    json_t *object = json_pack(
        "{s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:{s:s, s:i, s:s, s:o, s:o, s:o}, s:o}", "status",
        account->interrupted ? "stopped"
        : failed             ? "failed"
                             : "converged",
        "vertices", hk_model_vertex_count(model), "tets", hk_model_tet_count(model), "threads",
        account->threads, "step", account->step > 0 ? json_integer(account->step) : json_null(),
        "time", account->step > 0 ? cli_json_time(account->time) : json_null(), "start",
        account->step > 0 && account->problem->start ? json_string(account->problem->start)
                                                     : json_null(),
        "truth", "method", reference->spec->label, "iterations", reference->iterations, "reason",
        hk_reason_name(reference->reason), "start_energy", cli_json_real(account->first), "energy",
        cli_json_real(account->best), "smallest_error", cli_json_real(account->floor), "methods",
        methods);
    if (!object) return NULL;
    if (account->csv) json_object_set_new(object, "csv", cli_json_text(account->csv));
    if (account->svg) json_object_set_new(object, "svg", cli_json_text(account->svg));
    return object;
}

// ---------------------------------------------------------------- CSV

static void put_value(FILE *out, double value, int digits)
{
    if (isfinite(value)) fprintf(out, "%.*g", digits, value);
}

char *compare_csv(const compare_account *account)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);  // says that there is no memory
    fputs("method,iteration,ms,energy,relative_error,residual,relative_residual\n", out);
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        for (int k = 0; trial->failure[0] == '\0' && k < trial->count; ++k) {
            const compare_point *point = &trial->points[k];
            fprintf(out, "%s,%d,", trial->spec->label, point->iteration);
            put_value(out, point->ms, 6);
            fputc(',', out);
            put_value(out, point->energy, 17);
            fputc(',', out);
            put_value(out, point->error, 6);
            fputc(',', out);
            put_value(out, point->residual, 6);
            fputc(',', out);
            put_value(out, point->relative_residual, 6);
            fputc('\n', out);
        }
    }
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad) return cli_realloc(text, (size_t)-1, 2);
    return text;
}

// ---------------------------------------------------------------- the plot

typedef struct curve {
    double *iterations, *ms, *errors;  // [count]
    int count;
} curve;

// Down to where rounding begins: what follows is noise.
static curve curve_of(const compare_account *account, const compare_trial *trial)
{
    size_t count = (size_t)trial->count;
    curve c = {cli_realloc(NULL, count, sizeof(double)), cli_realloc(NULL, count, sizeof(double)),
               cli_realloc(NULL, count, sizeof(double)), 0};
    for (int i = 0; i < trial->count; ++i) {
        const compare_point *point = &trial->points[i];
        c.iterations[c.count] = point->iteration;
        c.ms[c.count] = point->ms;
        c.errors[c.count++] = point->error;
        if (point->error <= account->floor && point->error > 0) break;
    }
    return c;
}

static char *subtitle_of(const compare_account *account)
{
    const hk_model *model = account->problem->model;
    char *what = describe_problem(account);
    char *text =
        cli_format("%s; %d vertices, %d tets; %d thread%s", what, hk_model_vertex_count(model),
                   hk_model_tet_count(model), account->threads, account->threads == 1 ? "" : "s");
    free(what);
    return text;
}

char *compare_svg(const compare_account *account)
{
    size_t count = (size_t)account->count;
    curve *curves = cli_realloc(NULL, count, sizeof *curves);
    plot_series *by_iteration = cli_realloc(NULL, count, sizeof *by_iteration);
    plot_series *by_time = cli_realloc(NULL, count, sizeof *by_time);
    int shown = 0;
    for (int i = 0; i < account->count; ++i) {
        const compare_trial *trial = &account->trials[i];
        if (trial->failure[0] != '\0' || !is_rated(trial)) continue;
        curve *c = &curves[shown];
        *c = curve_of(account, trial);
        const char *label = trial->spec->label;
        by_iteration[shown] = (plot_series){label, c->iterations, c->errors, c->count};
        by_time[shown++] = (plot_series){label, c->ms, c->errors, c->count};
    }
    const char *name = "relative error  (\u03b5 \u2212 \u03b5*) / (\u03b5\u2070 \u2212 \u03b5*)";
    plot_axis y = {name, true, NAN, NAN};
    double from = account->log_x ? NAN : 0;
    const plot_panel panels[] = {
        {NULL, {"iterations", account->log_x, from, NAN}, y, by_iteration, shown},
        {NULL, {"time, ms", account->log_x, from, NAN}, y, by_time, shown},
    };
    char *subtitle = subtitle_of(account);
    plot_figure figure = {cli_file_name(account->scene_path), subtitle, panels, 2, true};
    char *text = plot_svg(&figure);
    for (int i = 0; i < shown; ++i) {
        free(curves[i].iterations);
        free(curves[i].ms);
        free(curves[i].errors);
    }
    free(curves);
    free(by_iteration);
    free(by_time);
    free(subtitle);
    return text;
}
