// What a run, a pose or a rest shape gathered, as JSON: the object of --json and the stats file.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// ---------------------------------------------------------------- gathering

static void worsen(cli_results *results, hk_outcome outcome)
{
    if (outcome > results->outcome) results->outcome = outcome;
}

void cli_results_add(cli_results *results, const hk_step_report *report)
{
    if (results->count == results->capacity) {
        results->capacity = results->capacity ? 2 * results->capacity : 256;
        results->records =
            cli_realloc(results->records, (size_t)results->capacity, sizeof *results->records);
    }
    cli_record *record = &results->records[results->count++];
    *record = (cli_record){.time = report->time,
                           .reason = report->reason,
                           .iterations = report->iterations,
                           .residual = report->residual,
                           .relative_residual = report->relative_residual,
                           .rounding = report->rounding,
                           .energy = report->energy,
                           .ms = report->ms};
    memcpy(record->phase_ms, report->phase_ms, sizeof record->phase_ms);
    results->iterations += report->iterations;
    results->linear_iterations += report->linear_iterations;
    results->relative_residual = report->relative_residual;
    hk_outcome outcome = hk_reason_outcome(report->reason);
    worsen(results, outcome);
    if (report->reason == HK_ITERATION_LIMIT) results->limited++;
    if (report->reason == HK_STALLED) results->stalled++;
    if (report->reason == HK_PRECISION_LIMIT) results->imprecise++;
    if (report->reason == HK_FIXED_WORK) results->fixed++;
    if (outcome == HK_OUTCOME_STOPPED && report->relative_residual > results->worst_relative)
        results->worst_relative = report->relative_residual;
}

void cli_results_fail(cli_results *results, const char *format, ...)
{
    worsen(results, HK_OUTCOME_FAILED);
    if (results->error[0] != '\0') return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(results->error, sizeof results->error, format, arguments);
    va_end(arguments);
}

void cli_results_free(cli_results *results)
{
    for (int i = 0; i < results->count; ++i) cli_contact_free(results->records[i].contact);
    free(results->records);
    json_decref(results->more);
    *results = (cli_results){0};
}

// ---------------------------------------------------------------- summing up

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cli_timing cli_results_timing(const cli_results *results)
{
    int count = results->count;
    if (count == 0) return (cli_timing){NAN, NAN, NAN, 0};
    double *ms = cli_realloc(NULL, (size_t)count, sizeof *ms), total = 0;
    for (int i = 0; i < count; ++i) total += ms[i] = results->records[i].ms;
    qsort(ms, (size_t)count, sizeof *ms, compare_reals);
    cli_timing timing = {0.5 * (ms[(count - 1) / 2] + ms[count / 2]), ms[0], ms[count - 1], total};
    free(ms);
    return timing;
}

hk_energy cli_results_energy(const cli_results *results, hk_world *world)
{
    if (results->count > 0) {
        // A step that failed left the state before it: its report is not about that state.
        const cli_record *last = &results->records[results->count - 1];
        bool failed = hk_reason_outcome(last->reason) == HK_OUTCOME_FAILED;
        if (!failed && !isnan(last->energy.total)) return last->energy;
    }
    hk_energy energy;
    if (hk_world_energy(world, &energy, NULL) != HK_OK)
        energy =
            (hk_energy){.elastic = NAN, .gravity = NAN, .load = NAN, .kinetic = NAN, .total = NAN};
    return energy;
}

const char *cli_results_status(const cli_results *results)
{
    if (results->outcome == HK_OUTCOME_FAILED) return "failed";
    if (results->interrupted || results->outcome == HK_OUTCOME_STOPPED) return "stopped";
    return "converged";
}

// ---------------------------------------------------------------- JSON

json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    // Names of files need not be UTF-8, JSON must be.
    char *plain = cli_format("%s", text);
    for (char *at = plain; *at; ++at)
        if ((unsigned char)*at >= 0x80) *at = '?';
    string = json_string(plain);
    free(plain);
    return string;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *energy_json(hk_energy energy, bool contact)
{
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "elastic", cli_json_real(energy.elastic), "gravity",
                  cli_json_real(energy.gravity), "load", cli_json_real(energy.load), "kinetic",
                  cli_json_real(energy.kinetic), "total", cli_json_real(energy.total));
    if (object && contact) json_object_set_new(object, "contact", cli_json_real(energy.contact));
    return object;
}

static json_t *phases_json(const double phase_ms[HK_MOST_PHASES], bool contact)
{
    json_t *phases = json_object();
    for (int i = 0; i < (contact ? HK_PHASE_COUNT : HK_PHASE_DETECTION); ++i)
        json_object_set_new(phases, hk_phase_name((hk_phase)i), cli_json_real(phase_ms[i]));
    return phases;
}

static json_t *record_json(const cli_record *record, const hk_model *model)
{
    bool contact = record->contact != NULL;
    json_t *object = json_pack(
        "{s:o, s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "t", cli_json_time(record->time), "iterations",
        record->iterations, "reason", hk_reason_name(record->reason), "residual",
        cli_json_real(record->residual), "relative_residual",
        cli_json_real(record->relative_residual), "energy", energy_json(record->energy, contact),
        "ms", cli_json_real(record->ms), "phases", phases_json(record->phase_ms, contact));
    if (!object || !contact) return object;
    json_object_set_new(object, "contact", cli_contact_json(record->contact));
    if (record->contact->obstacle_count > 0)
        json_object_set_new(object, "obstacles", cli_obstacles_json(record->contact, model));
    return object;
}

static json_t *history_json(const cli_results *results, const hk_model *model)
{
    json_t *history = json_array();
    for (int i = 0; i < results->count; ++i)
        json_array_append_new(history, record_json(&results->records[i], model));
    return history;
}

// What came apart, if anything did.
static void put_tears(const hk_world *world, json_t *object)
{
    hk_tear_report t;
    if (hk_world_tears(world, &t) != HK_OK || t.events + t.postponed == 0) return;
    json_object_set_new(object, "tears",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "events",
                                  t.events, "facets", t.facets, "vertices", t.vertices, "postponed",
                                  t.postponed, "factorisations", t.factorisations, "renewals",
                                  t.renewals, "steps_before", t.steps_before, "iterations_before",
                                  t.iterations_before, "steps_after", t.steps_after,
                                  "iterations_after", t.iterations_after));
}

json_t *cli_results_json(const cli_results *results, hk_world *world, bool with_history)
{
    const hk_model *model = hk_world_model(world);
    const cli_record *last = results->count > 0 ? &results->records[results->count - 1] : NULL;
    cli_timing timing = cli_results_timing(results);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}}",
                  "status", cli_results_status(results), "method", hk_world_method(world),
                  "backend", hk_world_backend(world), "threads", hk_world_threads(world),
                  "vertices", hk_model_vertex_count(model), "tets", hk_model_tet_count(model),
                  "steps", results->steps, "iterations", (json_int_t)results->iterations,
                  "residual", cli_json_real(last ? last->residual : NAN), "relative_residual",
                  cli_json_real(last ? results->relative_residual : NAN), "energy",
                  energy_json(cli_results_energy(results, world), cli_has_contact(world)),
                  "setup_ms", cli_json_real(hk_world_setup_ms(world)), "ms_per_step", "median",
                  cli_json_real(timing.median), "min", cli_json_real(timing.min), "max",
                  cli_json_real(timing.max));
    if (!object) return NULL;
    if (results->linear_iterations > 0)
        json_object_set_new(object, "linear_iterations", json_integer(results->linear_iterations));
    if (hk_model_triangle_count(model) > 0) {
        json_object_set_new(object, "triangles", json_integer(hk_model_triangle_count(model)));
        json_object_set_new(object, "springs", json_integer(hk_model_spring_count(model)));
    }
    if (results->interrupted)
        json_object_set_new(object, "reason", json_string("interrupted"));
    else if (last)
        json_object_set_new(object, "reason", json_string(hk_reason_name(last->reason)));
    if (last && last->reason == HK_PRECISION_LIMIT)
        json_object_set_new(object, "rounding", cli_json_real(last->rounding));
    if (results->error[0] != '\0')
        json_object_set_new(object, "error", cli_json_text(results->error));
    cli_results_put_contact(results, model, object);
    put_tears(world, object);
    if (results->more) json_object_update(object, results->more);
    if (with_history) json_object_set_new(object, "history", history_json(results, model));
    return object;
}

// ---------------------------------------------------------------- text of JSON

enum { NUMBER_SIZE = 40, DIGITS_KEPT = 17, DIGITS_OF_TIMES = 15 };

// The shortest text that is this number: 0.2, not 0.20000000000000001.
static void shorten(const char *number, char *text)
{
    double value = strtod(number, NULL);
    for (int digits = DIGITS_OF_TIMES; digits <= DIGITS_KEPT; ++digits) {
        snprintf(text, NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    if (!strpbrk(text, ".e")) strcat(text, ".0");  // a real stays one
}

// Shortens the real numbers of a JSON text, in place: none becomes longer.
static void shorten_numbers(char *json)
{
    char *to = json;
    bool quoted = false;
    for (const char *at = json; *at;) {
        size_t length =
            quoted || (*at != '-' && (*at < '0' || *at > '9')) ? 0 : strspn(at, "+-0123456789.eE");
        if (length > 0 && length < NUMBER_SIZE - 4 && memchr(at, '.', length)) {
            char number[NUMBER_SIZE], text[NUMBER_SIZE];
            snprintf(number, sizeof number, "%.*s", (int)length, at);
            shorten(number, text);
            size_t kept = strlen(text);
            if (kept > length) memcpy(text, number, kept = length);
            memcpy(to, text, kept);
            to += kept;
            at += length;
            continue;
        }
        if (*at == '\\' && quoted)
            *to++ = *at++;
        else if (*at == '"')
            quoted = !quoted;
        length = length > 0 ? length : 1;
        memmove(to, at, length);
        to += length;
        at += length;
    }
    *to = '\0';
}

json_t *cli_json_time(double time)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%.*g", DIGITS_OF_TIMES, time);
    return cli_json_real(strtod(text, NULL));
}

// The text of an object with the version of what made it; NULL: no memory. Takes the object over.
static char *text_of(json_t *object, size_t indent)
{
    if (json_is_object(object) && !json_object_get(object, "version"))
        json_object_set_new(object, "version", json_string(hk_version()));
    char *text =
        object ? json_dumps(object, JSON_INDENT(indent) | JSON_REAL_PRECISION(DIGITS_KEPT)) : NULL;
    json_decref(object);
    if (text) shorten_numbers(text);
    return text;
}

bool cli_json_print(json_t *object)
{
    char *text = text_of(object, 2);
    bool good = text && puts(text) >= 0;
    free(text);
    return good;
}

bool cli_json_write(json_t *object, const char *path, char *why, size_t why_size)
{
    // 1: a history of many steps is read by programs, and half as long as with two.
    char *text = text_of(object, 1);
    if (!text) {
        snprintf(why, why_size, "cannot write %s: out of memory", path);
        return false;
    }
    size_t length = strlen(text);
    text[length] = '\n';  // in the place of the '\0': the file ends with a line's end
    bool good = cli_write_whole(path, text, length + 1, why, why_size);
    free(text);
    return good;
}
