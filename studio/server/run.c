// The modes `live` and `compare`: how worlds begin, step and end.
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- beginning and end

static bool make_world(st_session *s, const hk_model *model, int k, st_why *why)
{
    hk_world_def def = st_edits_world(&s->edits, s->threads);
    def.model = model;
    if (s->run->world_count > 1) def.solver = st_solver_def(&s->run->solvers[k]);
    st_scene_enter(&s->scene);
    bool good = hk_world_create(&def, &s->run->worlds[k]) == HK_OK || st_fail_library(why);
    st_scene_leave();
    if (!good) return false;
    hk_world_report_energy(s->run->worlds[k], false);
    // Of two worlds none may fall behind the other.
    if (s->run->world_count == 1) hk_world_set_monitor(s->run->worlds[k], st_keep_going, s);
    return true;
}

static bool make_worlds(st_session *s, st_why *why)
{
    hk_model *model = NULL;
    bool good = st_edits_model(&s->edits, true, &model, why);
    for (int k = 0; k < s->run->world_count && good; ++k) good = make_world(s, model, k, why);
    hk_model_free(model);
    return good;
}

static void remember_start(st_run *run)
{
    run->start_count = hk_model_vertex_count(hk_world_model(run->worlds[0]));
    size_t n = 3 * (size_t)run->start_count;
    run->start = st_alloc(n, sizeof *run->start);
    run->start_velocity = st_alloc(n, sizeof *run->start);
    memcpy(run->start, hk_world_positions(run->worlds[0]), sizeof(double) * n);
    memcpy(run->start_velocity, hk_world_velocities(run->worlds[0]), sizeof(double) * n);
}

static void end(st_session *s)
{
    st_run *run = s->run;
    if (!run) return;
    for (int k = 0; k < run->world_count; ++k) hk_world_free(run->worlds[k]);
    free(run->start);
    free(run->start_velocity);
    free(run->rows);
    free(run);
    s->run = NULL;
}

static bool begin(st_session *s, int world_count, const json_t *methods, st_why *why)
{
    st_run *run = s->run = st_alloc(1, sizeof *run);
    run->world_count = world_count;
    run->row_stride = 1;
    bool good = true;
    for (int k = 0; k < world_count && good && methods; ++k)
        good = st_read_solver(json_array_get(methods, (size_t)k), &run->solvers[k], why);
    good = good && make_worlds(s, why);
    if (good)
        remember_start(run);
    else
        end(s);
    return good;
}

static bool begin_live(st_session *s, const json_t *message, st_why *why)
{
    (void)message;
    return begin(s, 1, NULL, why);
}

static bool begin_compare(st_session *s, const json_t *message, st_why *why)
{
    json_t *methods = json_object_get(message, "methods");
    json_t *usual = NULL;
    if (!methods)
        methods = usual = json_pack("[{s:s}, {s:s}]", "method", "split", "method", "newton");
    bool good = json_array_size(methods) == 2 ? begin(s, 2, methods, why)
                                              : st_fail(why, "\"methods\": expected two");
    json_decref(usual);
    return good;
}

// ---------------------------------------------------------------- reset

// What a user has fixed, at these positions, [n][3].
static bool hold_at(const st_session *s, hk_world *world, const double *x)
{
    const hk_model *model = hk_world_model(world);
    int n = hk_model_vertex_count(model), count = 0;
    int32_t *held = st_alloc((size_t)n, sizeof *held);
    double *places = st_alloc(3 * (size_t)n, sizeof *places);
    for (int b = 0; b < s->edits.body_count; ++b)
        for (int v = 0; v < s->edits.bodies[b].vertex_count; ++v) {
            if (s->edits.bodies[b].holds[v] != ST_HOLD_FIXED) continue;
            held[count] = hk_model_body_start(model, b) + v;
            memcpy(places + 3 * (size_t)count, x + 3 * (size_t)held[count], 3 * sizeof *places);
            count++;
        }
    bool good = count == 0 || hk_world_set_targets(world, count, held, places) == HK_OK;
    free(places);
    free(held);
    return good;
}

static bool mend_springs(hk_world *world)
{
    int count = hk_model_point_spring_count(hk_world_model(world));
    bool good = true;
    for (int k = 0; k < count && good && hk_world_broken_springs(world) > 0; ++k)
        good = hk_world_break_spring(world, k, false) == HK_OK;
    return good;
}

// As it was in the beginning, with the matrices that there are. Contact looks at what is between
// two states, so worlds with contact are made anew.
static bool go_back(st_session *s, hk_world *world)
{
    const hk_model *model = hk_world_model(world);
    if (hk_model_contact_distance(model) > 0) return false;
    if (hk_model_vertex_count(model) != s->run->start_count) return false;
    if (hk_world_set_time(world, 0) != HK_OK ||
        hk_world_set_positions(world, s->run->start) != HK_OK ||
        hk_world_set_velocities(world, s->run->start_velocity) != HK_OK || !mend_springs(world))
        return false;
    return hold_at(s, world, s->run->start);
}

// A new world in the state of another one: places, velocities, what broke, what is grabbed.
static bool take_over(st_session *s, hk_world *world, const hk_world *from, int k)
{
    bool good = hk_world_set_time(world, hk_world_time(from)) == HK_OK &&
                hk_world_set_positions(world, hk_world_positions(from)) == HK_OK &&
                hk_world_set_velocities(world, hk_world_velocities(from)) == HK_OK &&
                hold_at(s, world, hk_world_positions(from));
    int springs = hk_model_point_spring_count(hk_world_model(world));
    for (int i = 0; i < springs && good; ++i) {
        hk_spring_state now;
        good = hk_world_spring_state(from, i, &now) == HK_OK &&
               (!now.broken || hk_world_break_spring(world, i, true) == HK_OK);
    }
    for (int g = 0; g < s->run->grab_count && good; ++g) {
        st_grab *grab = &s->run->grabs[g];
        memcpy(grab->def.target, grab->target, sizeof grab->target);
        good = hk_world_grab(world, &grab->def, &grab->grabs[k]) == HK_OK;
    }
    return good;
}

// New worlds of the scene with its edits; where the old ones were, or at the start.
static bool remake(st_session *s, bool at_start, st_why *why)
{
    hk_world *before[ST_MOST_WORLDS] = {NULL};
    st_run *run = s->run;
    st_grab grabs[ST_MOST_GRABS];
    memcpy(grabs, run->grabs, sizeof grabs);
    for (int k = 0; k < run->world_count; ++k) before[k] = run->worlds[k], run->worlds[k] = NULL;
    bool good = make_worlds(s, why);
    for (int k = 0; k < run->world_count && good && !at_start; ++k)
        good = take_over(s, run->worlds[k], before[k], k) || st_fail_library(why);
    if (!good) memcpy(run->grabs, grabs, sizeof grabs);
    for (int k = 0; k < run->world_count; ++k) {
        hk_world_free(good ? before[k] : run->worlds[k]);
        if (!good) run->worlds[k] = before[k];
    }
    return good;
}

bool st_run_is_torn(const st_run *run)
{
    return hk_model_vertex_count(hk_world_model(run->worlds[0])) != run->start_count;
}

bool st_run_renew(st_session *s, st_why *why)
{
    if (st_run_is_torn(s->run)) return st_run_refuse_torn(why);
    return remake(s, false, why);
}

static bool reset(st_session *s, st_why *why)
{
    st_run *run = s->run;
    st_run_release_all(s, 0);
    bool good = true;
    for (int k = 0; k < run->world_count && good; ++k) good = go_back(s, run->worlds[k]);
    if (!good && !remake(s, true, why)) return false;
    run->row_count = run->recent_count = run->trouble = run->left = run->row_skip = run->broken = 0;
    run->row_stride = 1;
    s->now = 0;
    s->step = 0;
    s->heard = s->echo = (st_echo){.sent = 0};
    return true;
}

// ---------------------------------------------------------------- stepping

static void complain(st_session *s, const hk_step_report *report)
{
    st_run *run = s->run;
    hk_outcome outcome = hk_reason_outcome(report->reason);
    if (outcome == HK_OUTCOME_CONVERGED || report->reason == HK_FIXED_WORK) return;
    run->trouble++;
    if (st_now() < run->last_complaint + 2000) return;
    run->last_complaint = st_now();
    const char *colon = report->detail[0] ? ": " : "";
    st_tell_notice(s, outcome == HK_OUTCOME_FAILED ? "error" : "warning",
                   "step %u did not converge (%s)%s%s", s->step, hk_reason_name(report->reason),
                   colon, report->detail);
}

static void tell_broken(st_session *s)
{
    int broken = hk_world_broken_springs(s->run->worlds[0]), more = broken - s->run->broken;
    s->run->broken = broken;
    if (more > 0)
        st_tell_notice(s, "info", more == 1 ? "%d spring broke" : "%d springs broke", more);
}

// Vertices that are new stand at the end of their bodies, and those of later bodies move up.
static bool follow_tears(st_session *s, st_why *why)
{
    const hk_model *model = hk_world_model(s->run->worlds[0]);
    if (hk_model_vertex_count(model) == s->surface.model_vertex_count) return true;
    for (int k = 0; k < s->run->grab_count; ++k) {
        st_point *point = &s->run->grabs[k].point;
        for (int i = 0; i < point->count; ++i) {
            int b = st_surface_body_of(&s->surface, point->vertices[i]);
            point->vertices[i] += hk_model_body_start(model, b) - s->surface.parts[b].model_start;
        }
    }
    st_recording_end(s);
    return st_renew_surface(s, why);
}

// Whether the step was taken. A step that failed leaves the state; then the world pauses, since
// the next one would fail, too.
static bool take_step(st_session *s)
{
    st_run *run = s->run;
    hk_step_report reports[ST_MOST_WORLDS];
    for (int k = 0; k < run->world_count; ++k) {
        if (hk_world_step(run->worlds[k], &reports[k]) != HK_OK) {
            s->playing = false;
            run->left = 0;
            st_tell_notice(s, "error", "%s", hk_error());
            st_tell_status(s);
            return false;
        }
        run->ms[k] = reports[k].ms;
    }
    if (reports[0].reason == HK_STOPPED && atomic_load(&s->urgent)) return false;
    s->step++;
    s->echo = s->heard;
    s->now = hk_world_time(run->worlds[0]);
    st_why why;
    if (!follow_tears(s, &why)) st_tell_notice(s, "error", "%s", why.text);
    s->step_ms = reports[0].ms;
    run->report = reports[0];
    run->steps_since++;
    for (int k = 0; k < run->world_count; ++k) complain(s, &reports[k]);
    tell_broken(s);
    st_run_note(s, &reports[0]);
    st_recording_add(s);
    s->dirty = true;
    return true;
}

static void pause_after_steps(st_session *s)
{
    if (s->run->left <= 0 || --s->run->left > 0) return;
    s->playing = false;
    st_run_tell_stats(s, true);
    st_tell_status(s);
}

static double tick(st_session *s)
{
    st_run *run = s->run;
    if (!s->playing) {
        if (run->recent_count > 0) st_run_tell_stats(s, true);
        return 1000;
    }
    double now = st_now(), step_ms = s->speed > 0 ? 1000 * s->edits.step / s->speed : 0;
    bool free_run = s->speed == 0 || run->left > 0;
    if (!free_run && run->due > now + 0.2) return run->due - now;
    if (run->due < now - fmax(100, 2 * step_ms)) run->due = now;  // it does not keep up
    if (take_step(s)) pause_after_steps(s);
    run->due += step_ms;
    st_run_tell_stats(s, false);
    return !s->playing ? 1000 : free_run ? 0 : fmax(0, run->due - st_now());
}

// ---------------------------------------------------------------- messages

static void play(st_session *s, bool playing, int steps)
{
    s->playing = playing;
    s->run->left = steps;
    s->run->due = st_now();
    st_tell_status(s);
}

static int command(st_session *s, const st_command *c, json_t **answer, st_why *why)
{
    const char *type = st_read_text(c->message, "type");
    const char *names[ST_MOST_WORLDS];
    if (strcmp(type, "play") == 0) {
        play(s, true, 0);
    } else if (strcmp(type, "pause") == 0) {
        play(s, false, 0);
    } else if (strcmp(type, "step") == 0) {
        double count = st_read_real(c->message, "count", 1);
        if (!(count >= 1 && count <= 1e6)) return st_fail(why, "\"count\": expected 1 or more");
        play(s, true, (int)count);
    } else if (strcmp(type, "grab") == 0) {
        return st_run_grab(s, c, why);
    } else if (strcmp(type, "move") == 0) {
        return st_run_move(s, c, why);
    } else if (strcmp(type, "release") == 0) {
        return st_run_release(s, c, why);
    } else if (strcmp(type, "/left") == 0) {
        st_run_release_all(s, c->client);
    } else if (strcmp(type, "convergence") == 0) {
        for (int k = 0; k < s->run->world_count; ++k) names[k] = hk_world_method(s->run->worlds[k]);
        return st_convergence(s, s->run->worlds, s->run->world_count, names, answer, why);
    } else {
        return st_run_edit(s, c, why);
    }
    return 1;
}

// ---------------------------------------------------------------- what there is to see

static const double *positions(st_session *s, int shape)
{
    return hk_world_positions(s->run->worlds[shape]);
}

static void norms(const double *vectors, int count, double *values)
{
    for (int v = 0; v < count; ++v) {
        const double *x = vectors + 3 * (int64_t)v;
        values[v] = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    }
}

// The largest stretch, from the largest eigenvalue of the Green strain: σ² = 1 + 2 e.
static bool stretch_field(hk_world *world, const st_surface *f, double *tets)
{
    double *strain = st_alloc(9 * (size_t)f->tet_count, sizeof *strain);
    bool good = hk_world_field(world, "strain", strain) == HK_OK;
    for (int t = 0; t < f->tet_count && good; ++t) {
        const double *e = strain + 9 * (int64_t)t;
        double q = (e[0] + e[4] + e[8]) / 3, p = 0;
        double a = e[0] - q, b = e[4] - q, c = e[8] - q, d = e[1], g = e[2], h = e[5];
        p = sqrt((a * a + b * b + c * c + 2 * (d * d + g * g + h * h)) / 6);
        double det = a * (b * c - h * h) - d * (d * c - h * g) + g * (d * h - b * g);
        double r = p > 0 ? fmax(-1, fmin(1, det / (2 * p * p * p))) : 0;
        double largest = q + 2 * p * cos(acos(r) / 3);
        tets[t] = sqrt(fmax(0, 1 + 2 * largest));
    }
    free(strain);
    return good;
}

static bool tet_field(hk_world *world, const st_surface *f, const char *name, double *values)
{
    double *tets = st_alloc((size_t)f->tet_count, sizeof *tets);
    bool good = f->tet_count == 0 ||
                (strcmp(name, "stretch") == 0 ? stretch_field(world, f, tets)
                                              : hk_world_field(world, name, tets) == HK_OK);
    if (good) st_surface_average(f, tets, values);
    free(tets);
    return good;
}

bool st_world_field(hk_world *world, const st_surface *f, const char *name, double *values)
{
    if (strcmp(name, "von_mises") == 0 || strcmp(name, "J") == 0 || strcmp(name, "stretch") == 0)
        return tet_field(world, f, name, values);
    double *vectors = st_alloc(3 * (size_t)f->model_vertex_count, sizeof *vectors);
    bool good = hk_world_field(world, name, vectors) == HK_OK;
    if (good) norms(vectors, f->model_vertex_count, values);
    free(vectors);
    return good;
}

static bool field(st_session *s, int shape, const char *name, double *values)
{
    return st_world_field(s->run->worlds[shape], &s->surface, name, values);
}

static int grabs(st_session *s, int shape, float (*list)[10], int most)
{
    st_run *run = s->run;
    const double *x = hk_world_positions(run->worlds[shape]);
    int count = run->grab_count < most ? run->grab_count : most;
    for (int k = 0; k < count; ++k) {
        const st_grab *g = &run->grabs[k];
        double place[3], force[3] = {0};
        st_point_place(&g->point, x, place);
        if (hk_world_grab_force(run->worlds[shape], g->grabs[shape], force) != HK_OK) force[0] = 0;
        list[k][0] = (float)g->number;
        for (int i = 0; i < 3; ++i) {
            list[k][1 + i] = (float)place[i];
            list[k][4 + i] = (float)g->target[i];
            list[k][7 + i] = (float)force[i];
        }
    }
    return count;
}

static int contacts(st_session *s, int shape, float **list)
{
    const st_surface *f = &s->surface;
    hk_world *world = s->run->worlds[shape];
    if (!(hk_model_contact_distance(hk_world_model(world)) > 0)) return 0;
    double *forces = st_alloc(3 * (size_t)f->model_vertex_count, sizeof *forces);
    const double *x = hk_world_positions(world);
    int count = 0;
    float(*rows)[7] = st_alloc((size_t)f->vertex_count, sizeof *rows);
    bool good = hk_world_field(world, "contact_force", forces) == HK_OK;
    for (int v = 0; v < f->vertex_count && good; ++v) {
        int32_t from = f->vertices[v];
        const double *force = forces + 3 * (int64_t)(from < 0 ? 0 : from);
        if (from < 0 || (v > 0 && from == f->vertices[v - 1])) continue;  // once around a tube
        if (force[0] == 0 && force[1] == 0 && force[2] == 0) continue;
        rows[count][0] = (float)v;
        for (int i = 0; i < 3; ++i) {
            rows[count][1 + i] = (float)x[3 * (int64_t)from + i];
            rows[count][4 + i] = (float)force[i];
        }
        count++;
    }
    free(forces);
    *list = (float *)rows;
    return count;
}

// Of one that broke the force is NAN.
static int springs(st_session *s, int shape, float **list)
{
    const hk_world *world = s->run->worlds[shape];
    int count = hk_model_point_spring_count(hk_world_model(world));
    if (count == 0) return 0;
    float(*rows)[8] = st_alloc((size_t)count, sizeof *rows);
    for (int k = 0; k < count; ++k) {
        hk_spring_state now;
        if (hk_world_spring_state(world, k, &now) != HK_OK) continue;
        for (int i = 0; i < 6; ++i) rows[k][i] = (float)now.ends[i / 3][i % 3];
        rows[k][6] = now.broken ? NAN : (float)now.tension;
        rows[k][7] = (float)now.rest;
    }
    *list = (float *)rows;
    return count;
}

static bool world_model(st_session *s, const hk_model **model)
{
    *model = s->run ? hk_world_model(s->run->worlds[0]) : NULL;
    return *model != NULL;
}

static void describe(st_session *s, json_t *scene)
{
    hk_world *world = s->run->worlds[0];
    json_object_set_new(scene, "describe", st_json_text(hk_world_describe(world)));
    json_object_set_new(scene, "setup_ms", st_json_real(hk_world_setup_ms(world)));
    json_object_set_new(scene, "threads", json_integer(hk_world_threads(world)));
    json_object_set_new(scene, "backend", json_string(hk_world_backend(world)));
    if (s->run->world_count < 2) return;
    json_t *list = json_array();
    for (int k = 0; k < 2; ++k) {
        hk_solver_def def = st_solver_def(&s->run->solvers[k]);
        json_array_append_new(list, st_solver_json(&def));
    }
    json_object_set_new(scene, "solvers", list);
}

static hk_status mesh(st_session *s, hk_mesh **made)
{
    return hk_world_mesh(s->run->worlds[0], made);
}

static bool save(st_session *s, int shape, const char *what, const char *path, st_why *why)
{
    hk_world *world = s->run->worlds[shape];
    hk_status status;
    if (strcmp(what, "points.csv") == 0)
        status = hk_world_save_points(world, path);
    else if (strcmp(what, "state.hks") == 0)
        status = hk_world_save_state(world, path);
    else
        status = hk_world_save(world, path);
    return status == HK_OK || st_fail_library(why);
}

const st_mode st_live_mode = {.name = "live",
                              .begin = begin_live,
                              .end = end,
                              .command = command,
                              .tick = tick,
                              .reset = reset,
                              .shape_count = 1,
                              .shapes = {"now"},
                              .positions = positions,
                              .field = field,
                              .grabs = grabs,
                              .contacts = contacts,
                              .springs = springs,
                              .describe = describe,
                              .world_model = world_model,
                              .mesh = mesh,
                              .save = save};

const st_mode st_compare_mode = {.name = "compare",
                                 .begin = begin_compare,
                                 .end = end,
                                 .command = command,
                                 .tick = tick,
                                 .reset = reset,
                                 .shape_count = 2,
                                 .shapes = {"a", "b"},
                                 .positions = positions,
                                 .field = field,
                                 .grabs = grabs,
                                 .contacts = contacts,
                                 .springs = springs,
                                 .describe = describe,
                                 .world_model = world_model,
                                 .mesh = mesh,
                                 .save = save};
