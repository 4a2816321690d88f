// What a run or a pose has to tell of contact.
#include <math.h>
#include <stdlib.h>

#include "cli.h"

bool cli_has_contact(const hk_world *world)
{
    return hk_model_contact_distance(hk_world_model(world)) > 0;
}

// ---------------------------------------------------------------- gathering

void cli_results_add_contact(cli_results *results, hk_world *world)
{
    if (results->count == 0 || !cli_has_contact(world)) return;
    cli_record *record = &results->records[results->count - 1];
    int count = hk_model_obstacle_count(hk_world_model(world));
    cli_contact *c = cli_realloc(NULL, 1, sizeof *c);
    *c = (cli_contact){.obstacle_count = count};
    c->loads = cli_realloc(NULL, (size_t)count + 1, sizeof *c->loads);
    record->contact = c;
    hk_status status = hk_world_contact(world, &c->report);
    for (int k = 0; k < count && status == HK_OK; ++k)
        status = hk_world_obstacle_load(world, k, &c->loads[k]);
    if (status != HK_OK) cli_results_fail(results, "contact: %s", hk_error());
    const hk_contact_report *r = &c->report;
    cli_contact_sum *sum = &results->contact;
    if (results->count == 1) sum->least_gap = INFINITY;
    sum->clamped += r->clamped;
    sum->detections += r->detections;
    sum->ms += r->detection_ms + r->pairs_ms + r->guard_ms + r->certificate_ms;
    if (r->recovering) return;
    sum->records++;
    sum->certified += r->certified;
    sum->least_gap = fmin(sum->least_gap, r->least_gap);
}

void cli_contact_free(cli_contact *contact)
{
    if (!contact) return;
    free(contact->loads);
    free(contact);
}

// ---------------------------------------------------------------- JSON

static json_t *vector_json(const double v[3])
{
    return json_pack("[o, o, o]", cli_json_real(v[0]), cli_json_real(v[1]), cli_json_real(v[2]));
}

json_t *cli_contact_json(const cli_contact *c)
{
    const hk_contact_report *r = &c->report;
    json_t *object = json_pack("{s:I, s:I, s:o, s:I, s:I, s:b}", "pairs", (json_int_t)r->pairs,
                               "candidates", (json_int_t)r->candidates, "least_gap",
                               cli_json_real(r->least_gap), "clamped", (json_int_t)r->clamped,
                               "detections", (json_int_t)r->detections, "certified", r->certified);
    if (object && r->recovering) json_object_set_new(object, "recovering", json_true());
    return object;
}

json_t *cli_obstacles_json(const cli_contact *c, const hk_model *model)
{
    json_t *list = json_array();
    for (int k = 0; k < c->obstacle_count; ++k) {
        const hk_obstacle_load *load = &c->loads[k];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o}", "name",
                                              cli_json_text(hk_model_obstacle_name(model, k)),
                                              "force", vector_json(load->force), "torque",
                                              vector_json(load->torque), "center",
                                              vector_json(load->center)));
    }
    return list;
}

static bool is_certified(const cli_contact_sum *sum)
{
    return sum->records > 0 && sum->certified == sum->records;
}

// Of all steps: pairs and gap are those of the last, work is that of all, and it is certified if
// every step was, or every one since bodies that overlapped have come apart.
static json_t *sum_json(const cli_results *results, const cli_contact *last)
{
    const cli_contact_sum *sum = &results->contact;
    const hk_contact_report *r = &last->report;
    json_t *object = cli_contact_json(last);
    if (!object) return NULL;
    json_object_set_new(object, "clamped", json_integer(sum->clamped));
    json_object_set_new(object, "detections", json_integer(sum->detections));
    json_object_set_new(object, "certified", json_boolean(is_certified(sum)));
    json_object_set_new(object, "least_gap_ever", cli_json_real(sum->least_gap));
    json_object_set_new(object, "ms", cli_json_real(sum->ms));
    if (r->recovery_steps > 0)
        json_object_set_new(object, "recovery",
                            json_pack("{s:b, s:i, s:o}", "done", !r->recovering, "steps",
                                      r->recovery_steps, "time", cli_json_time(r->recovered_time)));
    return object;
}

static const cli_contact *last_contact(const cli_results *results)
{
    return results->count > 0 ? results->records[results->count - 1].contact : NULL;
}

void cli_results_put_contact(const cli_results *results, const hk_model *model, json_t *object)
{
    const cli_contact *last = last_contact(results);
    if (!last) return;
    json_object_set_new(object, "contact", sum_json(results, last));
    if (last->obstacle_count > 0)
        json_object_set_new(object, "obstacles", cli_obstacles_json(last, model));
}

// ---------------------------------------------------------------- the summary

static void print_recovery(FILE *stream, const hk_contact_report *r)
{
    if (r->recovery_steps == 0) return;
    if (r->recovering)
        fprintf(stream, "  overlap     not yet apart after %d steps\n", r->recovery_steps);
    else
        fprintf(stream, "  overlap     pushed apart in %d step%s, at t = %.6g s\n",
                r->recovery_steps, r->recovery_steps == 1 ? "" : "s", r->recovered_time);
}

void cli_results_print_contact(FILE *stream, const cli_results *results, const hk_model *model)
{
    const cli_contact *last = last_contact(results);
    if (!last) return;
    const cli_contact_sum *sum = &results->contact;
    const hk_contact_report *r = &last->report;
    fprintf(stream, "  contact     %lld pair%s", (long long)r->pairs, r->pairs == 1 ? "" : "s");
    if (isfinite(r->least_gap)) fprintf(stream, ", least gap %.4g m", r->least_gap);
    if (sum->records > 1 && sum->least_gap < r->least_gap)
        fprintf(stream, " (%.4g of all steps)", sum->least_gap);
    fprintf(stream, "; %lld detections, %lld clamped, %.4g ms", (long long)sum->detections,
            (long long)sum->clamped, sum->ms);
    if (is_certified(sum)) fprintf(stream, "; certified");
    fputc('\n', stream);
    print_recovery(stream, r);
    enum { MOST = 6 };
    for (int k = 0; k < last->obstacle_count && k < MOST; ++k) {
        const double *f = last->loads[k].force;
        fprintf(stream, "  obstacle    %s: force (%.6g, %.6g, %.6g) N\n",
                cli_name(hk_model_obstacle_name(model, k)), f[0], f[1], f[2]);
    }
    if (last->obstacle_count > MOST)
        fprintf(stream, "  obstacle    … %d more\n", last->obstacle_count - MOST);
}
