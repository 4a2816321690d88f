// Live edits: each goes to the worlds at once and is kept in the edits of the scene.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

// Whether a call went well for all worlds.
#define FOR_WORLDS(run, call)                                 \
    do {                                                      \
        for (int k = 0; k < (run)->world_count; ++k) {        \
            hk_world *world = (run)->worlds[k];               \
            if ((call) != HK_OK) return st_fail_library(why); \
        }                                                     \
    } while (0)

// ---------------------------------------------------------------- grabs

static st_grab *find_grab(st_run *run, int client, int number)
{
    for (int k = 0; k < run->grab_count; ++k)
        if (run->grabs[k].client == client && run->grabs[k].number == number) return &run->grabs[k];
    return NULL;
}

static void let_go(st_run *run, st_grab *grab)
{
    for (int k = 0; k < run->world_count; ++k)
        hk_world_release_grab(run->worlds[k], grab->grabs[k]);
    *grab = run->grabs[--run->grab_count];
}

// Of a client; 0: of all.
void st_run_release_all(st_session *s, int client)
{
    st_run *run = s->run;
    for (int k = run->grab_count - 1; k >= 0; --k)
        if (client == 0 || run->grabs[k].client == client) let_go(run, &run->grabs[k]);
    s->dirty = true;
}

static void note_echo(st_session *s, const st_command *c)
{
    s->heard = (st_echo){st_read_real(c->message, "sent", 0), c->arrived};
}

// E A over the length of a line, as the line itself has it.
static double rope_stiffness(const st_session *s, int body, double size)
{
    const hk_material_def *material = &s->edits.bodies[body].material;
    const st_part *part = &s->surface.parts[body];
    double radius = 0;
    for (int k = 0; k < s->surface.tube_count && radius == 0; ++k)
        if (s->surface.tubes[k].first_vertex == part->first_vertex)
            radius = s->surface.tubes[k].radius;
    for (int k = 0; k < material->parameter_count; ++k)
        if (strcmp(material->parameters[k].name, "stretch") == 0)
            return material->parameters[k].value / size;
    return material->young * M_PI * radius * radius / size;
}

// A spring that is stiffer than the body around it gains nothing: E times the size of an element.
static double usual_stiffness(const st_session *s, int body, double size)
{
    const hk_material_def *material = &s->edits.bodies[body].material;
    if (s->surface.parts[body].rope) return rope_stiffness(s, body, size);
    double young = isfinite(material->young) && material->young > 0 ? material->young : 1e5;
    return young * size;
}

bool st_run_grab(st_session *s, const st_command *c, st_why *why)
{
    st_run *run = s->run;
    const hk_model *model = hk_world_model(run->worlds[0]);
    int number = (int)st_read_real(c->message, "grab", 0), body;
    double size;
    st_grab grab = {.client = c->client, .number = number},
            *there = find_grab(run, c->client, number);
    if (there) let_go(run, there);
    if (run->grab_count == ST_MOST_GRABS) return st_fail(why, "too many grabs");
    if (!st_pick(s, c->message, model, &grab.point, &size, &body, why)) return false;
    hk_grab_def def = hk_default_grab_def();
    def.count = grab.point.count;
    memcpy(def.vertices, grab.point.vertices, sizeof def.vertices);
    memcpy(def.weights, grab.point.weights, sizeof def.weights);
    st_point_place(&grab.point, hk_world_positions(run->worlds[0]), def.target);
    st_read_vector(json_object_get(c->message, "target"), def.target, 3);
    def.stiffness = st_read_real(c->message, "stiffness", usual_stiffness(s, body, size));
    memcpy(grab.target, def.target, sizeof grab.target);
    grab.def = def;
    for (int k = 0; k < run->world_count; ++k) {
        if (hk_world_grab(run->worlds[k], &def, &grab.grabs[k]) == HK_OK) continue;
        st_fail_library(why);
        while (--k >= 0) hk_world_release_grab(run->worlds[k], grab.grabs[k]);
        return false;
    }
    run->grabs[run->grab_count++] = grab;
    note_echo(s, c);
    return s->dirty = true;
}

bool st_run_move(st_session *s, const st_command *c, st_why *why)
{
    st_run *run = s->run;
    st_grab *grab = find_grab(run, c->client, (int)st_read_real(c->message, "grab", 0));
    double target[3];
    if (!grab) return st_fail(why, "there is no such grab");
    if (!st_read_vector(json_object_get(c->message, "target"), target, 3))
        return st_fail(why, "\"target\": expected three numbers");
    FOR_WORLDS(run, hk_world_move_grab(world, grab->grabs[k], target));
    memcpy(grab->target, target, sizeof target);
    note_echo(s, c);
    s->dirty = s->dirty || !s->playing;  // else the next step shows it
    return true;
}

bool st_run_release(st_session *s, const st_command *c, st_why *why)
{
    st_grab *grab = find_grab(s->run, c->client, (int)st_read_real(c->message, "grab", 0));
    if (!grab) return st_fail(why, "there is no such grab");
    let_go(s->run, grab);
    return s->dirty = true;
}

// ---------------------------------------------------------------- what is fixed

static void keep_holds(st_session *s, const uint8_t *flags, st_hold hold)
{
    for (int b = 0; b < s->edits.body_count; ++b) {
        st_body_edits *body = &s->edits.bodies[b];
        int start = s->surface.parts[b].model_start;
        for (int v = 0; v < body->vertex_count; ++v) {
            if (!flags[start + v]) continue;
            body->holds[v] = (uint8_t)hold;
            body->holds_changed = true;
        }
    }
}

// Those that can be changed: vertices that move as prescribed stay what they are.
static int32_t *vertices_to_hold(st_session *s, uint8_t *flags, bool fix, int *count, st_why *why)
{
    const hk_model *model = hk_world_model(s->run->worlds[0]);
    int n = s->surface.model_vertex_count;
    uint8_t *holds = st_alloc((size_t)n, 1);
    if (hk_model_holds(model, holds) != HK_OK) memset(holds, 0, (size_t)n);
    for (int v = 0; v < n; ++v) {
        bool is_fixed = (holds[v] & HK_ALL_AXES) == HK_ALL_AXES;
        if ((holds[v] & HK_MOVED) || is_fixed == fix) flags[v] = 0;
    }
    free(holds);
    int32_t *vertices = st_selected(s, flags, count);
    if (*count == 0) {
        st_fail(why, fix ? "all of it is held already" : "nothing of it is fixed");
        free(vertices);
        return NULL;
    }
    return vertices;
}

static bool hold_worlds(st_run *run, bool fix, int count, const int32_t *vertices, st_why *why)
{
    FOR_WORLDS(run, fix ? hk_world_fix(world, count, vertices, NULL)
                        : hk_world_unfix(world, count, vertices));
    return true;
}

static bool hold(st_session *s, const json_t *message, bool fix, st_why *why)
{
    int count;
    uint8_t *flags = st_select(s, message, hk_world_positions(s->run->worlds[0]), false, why);
    int32_t *vertices = flags ? vertices_to_hold(s, flags, fix, &count, why) : NULL;
    bool good = vertices && hold_worlds(s->run, fix, count, vertices, why);
    if (good) keep_holds(s, flags, fix ? ST_HOLD_FIXED : ST_HOLD_FREED);
    free(vertices);
    free(flags);
    return good;
}

// What is kept by numbers of vertices would miss the new ones along a crack.
bool st_run_refuse_torn(st_why *why)
{
    return st_fail(why, "what has torn cannot be changed like that: go back to the start first");
}

// ---------------------------------------------------------------- materials

static bool set_worlds_material(st_run *run, int body, const hk_selector *region,
                                const hk_material_def *material, st_why *why)
{
    FOR_WORLDS(run, hk_world_set_material(world, body, region, material));
    return true;
}

// The regions of a body stay what they are when its own material changes.
static bool set_body_material(st_session *s, int b, const hk_material_def *material, st_why *why)
{
    st_body_edits *body = &s->edits.bodies[b];
    if (!set_worlds_material(s->run, b, NULL, material, why)) return false;
    for (int r = 0; r < body->region_count; ++r)
        if (!set_worlds_material(s->run, b, &body->regions[r].select, &body->regions[r].material,
                                 why))
            return false;
    body->material = *material;
    return body->material_changed = true;
}

static bool set_region_material(st_session *s, int b, int r, const hk_material_def *material,
                                st_why *why)
{
    st_body_edits *body = &s->edits.bodies[b];
    body->regions[r].material = *material;
    body->regions_changed = true;
    for (int k = r; k < body->region_count; ++k)
        if (!set_worlds_material(s->run, b, &body->regions[k].select, &body->regions[k].material,
                                 why))
            return false;
    return true;
}

static bool paint(st_session *s, int b, const json_t *message, const hk_material_def *material,
                  st_why *why)
{
    int count;
    uint8_t *flags = st_select(s, message, hk_world_positions(s->run->worlds[0]), true, why);
    if (!flags) return false;
    int32_t *vertices = st_selected_of_body(s, flags, b, &count);
    hk_selector select = {.kind = HK_SELECT_VERTICES, .vertices = vertices, .vertex_count = count};
    bool good = set_worlds_material(s->run, b, &select, material, why);
    if (good) st_edits_add_region(&s->edits.bodies[b], vertices, count, material);
    free(vertices);
    free(flags);
    return good;
}

bool st_has_selection(const json_t *message)
{
    return json_object_get(message, "vertices") || json_object_get(message, "triangles") ||
           json_object_get(message, "box") || json_object_get(message, "sphere");
}

static bool has_painted(const st_body_edits *body)
{
    for (int r = 0; r < body->region_count; ++r)
        if (body->regions[r].vertices) return true;
    return false;
}

static bool change_material(st_session *s, const json_t *message, st_why *why)
{
    int b = (int)st_read_real(message, "body", 0), r = (int)st_read_real(message, "region", -1);
    if (b < 0 || b >= s->edits.body_count) return st_fail(why, "there is no body %d", b);
    st_body_edits *body = &s->edits.bodies[b];
    if (r >= body->region_count) return st_fail(why, "there is no region %d", r);
    hk_material_def material = r >= 0 ? body->regions[r].material : body->material;
    if (!st_read_material(json_object_get(message, "material"), &material, why)) return false;
    if (st_run_is_torn(s->run) && (st_has_selection(message) || has_painted(body)))
        return st_run_refuse_torn(why);
    if (r >= 0) return set_region_material(s, b, r, &material, why);
    if (st_has_selection(message)) return paint(s, b, message, &material, why);
    return set_body_material(s, b, &material, why);
}

// ---------------------------------------------------------------- loads

// Those that a world has from its model and keeps: what follows the surface or the time.
static bool is_of_model(const hk_load_def *load)
{
    return load->pressure != 0 || load->air_density != 0 || load->gas != 0 ||
           load->factor.formula || load->factor.table_count > 0 || load->factor.over != 0;
}

static bool has_loads_of_model(const st_body_edits *body)
{
    for (int k = 0; k < body->load_count; ++k)
        if (is_of_model(&body->loads[k].def)) return true;
    return false;
}

static bool set_worlds_loads(st_session *s, int b, st_why *why)
{
    hk_load_def *loads = st_edits_loads(&s->edits.bodies[b]);
    hk_status status = HK_OK;
    int count = 0;
    for (int k = 0; k < s->edits.bodies[b].load_count; ++k)
        if (!is_of_model(&loads[k])) loads[count++] = loads[k];
    for (int k = 0; k < s->run->world_count && status == HK_OK; ++k)
        status = hk_world_set_loads(s->run->worlds[k], b, loads, count);
    free(loads);
    return status == HK_OK || st_fail_library(why);
}

// What was added last goes again, where the library refuses it.
static void take_back_load(st_body_edits *body)
{
    free(body->loads[--body->load_count].vertices);
}

bool st_read_load(const json_t *message, hk_load_def *load, st_why *why)
{
    *load = hk_default_load_def();
    load->pressure = st_read_real(message, "pressure", 0);
    if (json_object_get(message, "force") &&
        !st_read_vector(json_object_get(message, "force"), load->force, 3))
        return st_fail(why, "\"force\": expected three numbers");
    return isfinite(load->pressure) || st_fail(why, "\"pressure\": expected a number");
}

static bool change_loads(st_session *s, const json_t *message, st_why *why)
{
    hk_load_def load;
    int only = (int)st_read_real(message, "body", -1);
    if (st_run_is_torn(s->run)) return st_run_refuse_torn(why);
    if (only >= s->edits.body_count) return st_fail(why, "there is no body %d", only);
    if (json_is_true(json_object_get(message, "clear"))) {
        bool renew = false;
        for (int b = 0; b < s->edits.body_count; ++b) {
            if (only >= 0 && b != only) continue;
            renew = renew || has_loads_of_model(&s->edits.bodies[b]);
            st_edits_clear_loads(&s->edits.bodies[b]);
            if (!set_worlds_loads(s, b, why)) return false;
        }
        return !renew || st_run_renew(s, why);
    }
    if (!st_read_load(message, &load, why)) return false;
    uint8_t *flags = st_select(s, message, hk_world_positions(s->run->worlds[0]), false, why);
    bool good = flags != NULL;
    for (int b = 0; b < s->edits.body_count && good; ++b) {
        int count, before = s->edits.bodies[b].load_count;
        int32_t *vertices = st_selected_of_body(s, flags, b, &count);
        if (count > 0 && (only < 0 || b == only)) {
            st_edits_add_load(&s->edits.bodies[b], vertices, count, &load);
            if (s->edits.bodies[b].load_count == before)
                good = st_fail(why, "too many loads");
            else
                good = is_of_model(&load) ? st_run_renew(s, why) : set_worlds_loads(s, b, why);
            if (!good && s->edits.bodies[b].load_count > before)
                take_back_load(&s->edits.bodies[b]);
        }
        free(vertices);
    }
    free(flags);
    return good;
}

// ---------------------------------------------------------------- settings

static bool set_gravity(st_session *s, const json_t *message, st_why *why)
{
    double gravity[3];
    if (!st_read_vector(json_object_get(message, "value"), gravity, 3))
        return st_fail(why, "\"value\": expected three numbers");
    FOR_WORLDS(s->run, hk_world_set_gravity(world, gravity));
    memcpy(s->edits.gravity, gravity, sizeof gravity);
    return s->edits.gravity_changed = true;
}

static bool set_damping(st_session *s, const json_t *message, st_why *why)
{
    hk_damping d = s->edits.damping;
    d.air = st_read_real(message, "air", d.air);
    d.viscous = st_read_real(message, "viscous", d.viscous);
    d.ether = st_read_real(message, "ether", d.ether);
    d.pbd = st_read_real(message, "pbd", d.pbd);
    d.air_per_vertex = st_read_real(message, "air_per_vertex", d.air_per_vertex);
    FOR_WORLDS(s->run, hk_world_set_damping(world, &d));
    s->edits.damping = d;
    return s->edits.damping_changed = true;
}

static bool set_step(st_session *s, const json_t *message, st_why *why)
{
    double step = st_read_real(message, "value", NAN);
    if (!(step > 0)) return st_fail(why, "\"value\": expected seconds");
    FOR_WORLDS(s->run, hk_world_set_step(world, step));
    s->edits.step = step;
    return s->edits.step_changed = true;
}

static bool set_solver(st_session *s, const json_t *message, st_why *why)
{
    st_solver solver;
    double number = st_read_real(message, "world", 0);
    if (!st_read_solver(message, &solver, why)) return false;
    if (!(number >= 0 && number < s->run->world_count))
        return st_fail(why, "\"world\": expected 0 or 1");
    hk_solver_def def = st_solver_def(&solver);
    int k = (int)number;
    if (hk_world_set_solver(s->run->worlds[k], &def) != HK_OK) return st_fail_library(why);
    s->run->solvers[k] = solver;
    if (s->run->world_count > 1) return true;
    s->edits.solver = solver;
    return s->edits.solver_changed = true;
}

// ---------------------------------------------------------------- all of them

// Steps that are cheap to make up for afterwards; the others say what they are at.
static bool do_edit(st_session *s, const char *type, const json_t *message, st_why *why)
{
    if (strcmp(type, "fix") == 0) return hold(s, message, true, why);
    if (strcmp(type, "unfix") == 0) return hold(s, message, false, why);
    if (strcmp(type, "load") == 0) return change_loads(s, message, why);
    if (strcmp(type, "material") == 0) return change_material(s, message, why);
    if (strcmp(type, "gravity") == 0) return set_gravity(s, message, why);
    if (strcmp(type, "damping") == 0) return set_damping(s, message, why);
    if (strcmp(type, "time_step") == 0) return set_step(s, message, why);
    return set_solver(s, message, why);
}

int st_run_edit(st_session *s, const st_command *c, st_why *why)
{
    static const char *const topological[] = {"fix", "unfix", "load", "material"};
    static const char *const others[] = {"gravity", "damping", "time_step", "solver"};
    const char *type = st_read_text(c->message, "type");
    bool known = false, changes_topology = false;
    for (int i = 0; i < 4; ++i) {
        changes_topology = changes_topology || strcmp(type, topological[i]) == 0;
        known = known || strcmp(type, others[i]) == 0;
    }
    if (!known && !changes_topology) return -1;
    if (!do_edit(s, type, c->message, why)) return 0;
    st_tell_scene(s, ST_ALL_CLIENTS, true);
    if (changes_topology) {
        s->topology++;
        st_hub_forget_frames(s->hub);
        st_tell_topology(s, ST_ALL_CLIENTS);
    }
    s->dirty = true;
    return 1;
}
