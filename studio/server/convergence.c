// Error against time: one step of the state that there is, by several methods, and by Newton's
// method to the end of precision for what is right.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { MOST_POINTS = 2000, REFERENCE_ITERATIONS = 200 };

typedef struct curve {
    int count;
    double energy[MOST_POINTS];  // J, of the function of the step
    double ms[MOST_POINTS];
    int iteration[MOST_POINTS];
    double start;
    st_session *session;
} curve;

static bool record(void *context, const hk_iteration *iteration)
{
    curve *c = context;
    if (c->count < MOST_POINTS) {
        c->energy[c->count] = iteration->energy;
        c->iteration[c->count] = iteration->iteration;
        c->ms[c->count++] = st_now() - c->start;
    }
    return st_keep_going(c->session, iteration);
}

// ---------------------------------------------------------------- a world like another

static bool copy_loads(st_session *s, hk_world *world)
{
    bool good = true;
    for (int b = 0; b < s->edits.body_count && good; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        if (!body->loads_changed) continue;
        hk_load_def *loads = st_edits_loads(body);
        good = hk_world_set_loads(world, b, loads, body->load_count) == HK_OK;
        free(loads);
    }
    return good;
}

static bool copy_holds(st_session *s, hk_world *world, const hk_world *from)
{
    const hk_model *model = hk_world_model(from);
    int n = hk_model_vertex_count(model), count = 0;
    int32_t *vertices = st_alloc((size_t)n, sizeof *vertices);
    double *places = st_alloc(3 * (size_t)n, sizeof *places);
    for (int b = 0; b < s->edits.body_count; ++b)
        for (int v = 0; v < s->edits.bodies[b].vertex_count; ++v) {
            if (s->edits.bodies[b].holds[v] != ST_HOLD_FIXED) continue;
            vertices[count] = hk_model_body_start(model, b) + v;
            memcpy(places + 3 * count, hk_world_positions(from) + 3 * (int64_t)vertices[count],
                   3 * sizeof *places);
            count++;
        }
    bool good = count == 0 || hk_world_set_targets(world, count, vertices, places) == HK_OK;
    free(places);
    free(vertices);
    return good;
}

static bool copy_grabs(st_session *s, hk_world *world)
{
    for (int k = 0; k < s->run->grab_count; ++k) {
        const st_grab *g = &s->run->grabs[k];
        hk_grab_def def = g->def;
        int number;
        memcpy(def.target, g->target, sizeof def.target);
        if (hk_world_grab(world, &def, &number) != HK_OK) return false;
    }
    return true;
}

static bool copy_world(st_session *s, const hk_world *from, const hk_solver_def *solver,
                       hk_world **world, st_why *why)
{
    hk_world_def def = st_edits_world(&s->edits, s->threads);
    def.model = hk_world_model(from);
    def.solver = *solver;
    def.conserve = false;
    st_scene_enter(&s->scene);
    bool good = hk_world_create(&def, world) == HK_OK;
    st_scene_leave();
    good = good &&
           (!s->edits.gravity_changed || hk_world_set_gravity(*world, s->edits.gravity) == HK_OK) &&
           copy_loads(s, *world) && copy_grabs(s, *world) &&
           hk_world_copy_state(*world, from) == HK_OK && copy_holds(s, *world, from);
    if (good) return true;
    st_fail_library(why);
    hk_world_free(*world);
    *world = NULL;
    return false;
}

// ---------------------------------------------------------------- curves

// Energies are watched in one step and times taken in another, for watching takes time.
static bool measure(st_session *s, const hk_world *from, const hk_solver_def *solver, bool timed,
                    curve *c, st_why *why)
{
    hk_world *world;
    hk_step_report report;
    if (!copy_world(s, from, solver, &world, why)) return false;
    *c = (curve){.session = s};
    hk_world_set_monitor(world, record, c);
    hk_world_watch_energy(world, !timed);
    hk_world_report_energy(world, false);
    c->start = st_now();
    bool good = hk_world_step(world, &report) == HK_OK || st_fail_library(why);
    hk_world_free(world);
    if (good && report.reason == HK_STOPPED) return st_fail(why, "it was interrupted");
    return good;
}

static double time_of(const curve *timed, int iteration)
{
    for (int k = 0; k < timed->count; ++k)
        if (timed->iteration[k] == iteration) return timed->ms[k];
    return iteration == 0 ? 0 : NAN;
}

static json_t *points_of(const curve *watched, const curve *timed, double least, double first)
{
    json_t *points = json_array();
    for (int k = 0; k < watched->count; ++k) {
        double error = (watched->energy[k] - least) / (first - least);
        const double point[3] = {watched->iteration[k], time_of(timed, watched->iteration[k]),
                                 fmax(error, 0)};
        if (isfinite(watched->energy[k])) json_array_append_new(points, st_json_vector(point, 3));
    }
    return points;
}

static double least_energy(const curve *c, double least)
{
    for (int k = 0; k < c->count; ++k)
        if (isfinite(c->energy[k])) least = fmin(least, c->energy[k]);
    return least;
}

static hk_solver_def solver_of(st_session *s, int world_count, int k)
{
    if (k == world_count) {
        hk_solver_def newton = hk_default_solver_def();
        newton.method = "newton";
        newton.iterations = REFERENCE_ITERATIONS;
        newton.tolerance = 1e-12;
        return newton;
    }
    return st_solver_def(world_count > 1 ? &s->run->solvers[k] : &s->edits.solver);
}

bool st_convergence(st_session *s, hk_world *const *worlds, int count, const char *const *names,
                    json_t **answer, st_why *why)
{
    curve *watched = st_alloc(ST_MOST_WORLDS + 1, sizeof *watched);
    curve *timed = st_alloc(ST_MOST_WORLDS + 1, sizeof *timed);
    bool good = true;
    st_tell_busy(s, "comparing methods");
    for (int k = 0; k <= count && good; ++k) {
        hk_solver_def solver = solver_of(s, count, k);
        good = measure(s, worlds[0], &solver, false, &watched[k], why) &&
               measure(s, worlds[0], &solver, true, &timed[k], why);
    }
    if (good && watched[count].count == 0) good = st_fail(why, "Newton's method took no step");
    if (good) {
        double least = least_energy(&watched[count], INFINITY), first = watched[count].energy[0];
        json_t *curves = json_array();
        for (int k = 0; k <= count; ++k)
            json_array_append_new(
                curves, json_pack("{s:s, s:b, s:o}", "method", k < count ? names[k] : "newton",
                                  "reference", (int)(k == count), "points",
                                  points_of(&watched[k], &timed[k], least, first)));
        *answer = json_pack("{s:o, s:s}", "curves", curves, "reference", "newton");
    }
    st_tell_busy(s, NULL);
    free(watched);
    free(timed);
    return good;
}
