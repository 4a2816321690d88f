// What is told of steps: plots and numbers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static void measure_distance(const st_run *run, st_row *row)
{
    row->distance_rms = row->distance_max = row->ms_b = NAN;
    if (run->world_count < 2) return;
    const double *a = hk_world_positions(run->worlds[0]), *b = hk_world_positions(run->worlds[1]);
    int n = hk_model_vertex_count(hk_world_model(run->worlds[0]));
    double sum = 0, most = 0;
    for (int v = 0; v < n; ++v) {
        double d = 0;
        for (int i = 0; i < 3; ++i)
            d += (a[3 * v + i] - b[3 * v + i]) * (a[3 * v + i] - b[3 * v + i]);
        sum += d;
        most = fmax(most, d);
    }
    row->distance_rms = sqrt(sum / n);
    row->distance_max = sqrt(most);
    row->ms_b = run->ms[1];
}

// Rows are kept for all time: when there are too many every second one goes.
static void keep_row(st_run *run, const st_row *row)
{
    if (run->row_skip-- > 0) return;
    run->row_skip = run->row_stride - 1;
    if (run->row_count == ST_MOST_ROWS) {
        for (int k = 0; k < ST_MOST_ROWS / 2; ++k) run->rows[k] = run->rows[2 * k];
        run->row_count = ST_MOST_ROWS / 2;
        run->row_stride *= 2;
    }
    if (run->row_count == run->row_capacity) {
        run->row_capacity = run->row_capacity ? 2 * run->row_capacity : 256;
        run->rows = st_realloc(run->rows, (size_t)run->row_capacity, sizeof *run->rows);
    }
    run->rows[run->row_count++] = *row;
}

void st_run_note(st_session *s, const hk_step_report *report)
{
    enum { RECENT = sizeof s->run->recent / sizeof s->run->recent[0] };
    st_run *run = s->run;
    const hk_energy unknown = {
        .elastic = NAN, .gravity = NAN, .load = NAN, .kinetic = NAN, .total = NAN, .contact = NAN};
    st_row row = {.time = report->time,
                  .residual = report->residual,
                  .least_gap = NAN,
                  .relative = report->relative_residual,
                  .ms = run->ms[0],
                  .energy = unknown,
                  .iterations = report->iterations,
                  .reason = report->reason};
    measure_distance(run, &row);
    keep_row(run, &row);
    if (run->recent_count == RECENT) {
        for (int k = 0; k < RECENT / 2; ++k) run->recent[k] = run->recent[2 * k + 1];
        run->recent_count = RECENT / 2;
    }
    run->recent[run->recent_count++] = row;
}

// ---------------------------------------------------------------- messages

static void append(json_t *list, double value)
{
    json_array_append_new(list, st_json_real(value));
}

static json_t *row_json(const st_row *row)
{
    json_t *list = json_array();
    const double values[] = {row->time,         row->energy.elastic, row->energy.gravity,
                             row->energy.load,  row->energy.contact, row->energy.kinetic,
                             row->energy.total, row->residual,       row->relative};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) append(list, values[i]);
    json_array_append_new(list, json_integer(row->iterations));
    append(list, row->ms);
    append(list, row->least_gap);
    json_array_append_new(list, json_string(hk_reason_name(row->reason)));
    return list;
}

static json_t *compare_json(const st_run *run)
{
    json_t *history = json_array();
    for (int k = 0; k < run->recent_count; ++k) {
        const st_row *r = &run->recent[k];
        const double values[5] = {r->time, r->distance_rms, r->distance_max, r->ms, r->ms_b};
        json_array_append_new(history, st_json_vector(values, 5));
    }
    return json_pack("{s:[s,s], s:[f,f], s:o}", "methods", hk_world_method(run->worlds[0]),
                     hk_world_method(run->worlds[1]), "ms_per_step", run->ms[0], run->ms[1],
                     "history", history);
}

// Energies and gaps cost a pass over all elements: the last row alone has them.
static json_t *measure(st_session *s)
{
    st_run *run = s->run;
    hk_world *world = run->worlds[0];
    st_row *row = run->recent_count > 0 ? &run->recent[run->recent_count - 1] : NULL;
    hk_contact_report contact;
    bool has_contact = hk_model_contact_distance(hk_world_model(world)) > 0 &&
                       hk_world_contact(world, &contact) == HK_OK;
    if (row && hk_world_energy(world, &row->energy, NULL) != HK_OK) row->energy.total = NAN;
    if (row && has_contact) row->least_gap = contact.least_gap;
    if (row && run->row_count > 0 && run->rows[run->row_count - 1].time == row->time)
        run->rows[run->row_count - 1] = *row;
    if (!has_contact) return json_null();
    return json_pack("{s:I, s:o, s:I}", "pairs", (json_int_t)contact.pairs, "least_gap",
                     st_json_real(contact.least_gap), "clamped", (json_int_t)contact.clamped);
}

void st_run_tell_stats(st_session *s, bool at_once)
{
    st_run *run = s->run;
    double now = st_now(), passed = fmax(1, now - run->last_stats);
    if (!at_once && passed < 100) return;
    json_t *contact = measure(s), *history = json_array();
    for (int k = 0; k < run->recent_count; ++k)
        json_array_append_new(history, row_json(&run->recent[k]));
    const hk_step_report *r = &run->report;
    static const char *const outcomes[] = {"converged", "stopped", "failed"};
    hk_outcome outcome = hk_reason_outcome(r->reason);
    json_t *object =
        json_pack("{s:s, s:f, s:i, s:i, s:o, s:f, s:f, s:f, s:s, s:o, s:s, s:i, s:o}", "type",
                  "stats", "time", s->now, "step", (int)s->step, "frame", (int)s->frame, "history",
                  history, "rate", 1000 * (s->frame - run->frames_then) / passed, "realtime",
                  1000 * fmax(0, s->now - run->last_stats_time) / passed, "ms_per_step", s->step_ms,
                  "reason", hk_reason_name(r->reason), "detail", st_json_text(r->detail), "outcome",
                  outcomes[outcome], "trouble", run->trouble, "contact", contact);
    if (run->world_count > 1) json_object_set_new(object, "compare", compare_json(run));
    st_send(s->hub, ST_ALL_CLIENTS, object);
    run->recent_count = 0;
    run->last_stats = now;
    run->last_stats_time = s->now;
    run->frames_then = s->frame;
}

// ---------------------------------------------------------------- CSV

static void put_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, ",%.9g", value);
    else
        fprintf(file, ",");
}

char *st_run_history(st_session *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = s->run ? open_memstream(&text, &size) : NULL;
    if (!file) return NULL;
    fprintf(file, "time,elastic,gravity,load,contact,kinetic,total,residual,relative_residual,"
                  "iterations,ms,least_gap,reason,distance_rms,distance_max,ms_b\n");
    for (int k = 0; k < s->run->row_count; ++k) {
        const st_row *r = &s->run->rows[k];
        const double values[] = {r->energy.elastic, r->energy.gravity, r->energy.load,
                                 r->energy.contact, r->energy.kinetic, r->energy.total,
                                 r->residual,       r->relative};
        fprintf(file, "%.9g", r->time);
        for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) put_number(file, values[i]);
        fprintf(file, ",%d", r->iterations);
        put_number(file, r->ms);
        put_number(file, r->least_gap);
        fprintf(file, ",%s", hk_reason_name(r->reason));
        put_number(file, r->distance_rms);
        put_number(file, r->distance_max);
        put_number(file, r->ms_b);
        fprintf(file, "\n");
    }
    fclose(file);
    return text;
}
