// Edits of a design: handles, what is held, materials, loads, undoing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"

// ---------------------------------------------------------------- undoing

// Edits of the scene go by names that begin with a number: "12:material".
const char *st_plain_name(const char *name)
{
    const char *colon = name ? strchr(name, ':') : NULL;
    return colon ? colon + 1 : name;
}

static void forget_mark(st_mark *mark)
{
    if (mark->number == 0) return;
    st_edits_free(&mark->before);
    st_edits_free(&mark->after);
    mark->number = 0;
}

void st_design_forget(st_design *d)
{
    for (int k = 0; k < ST_MOST_MARKS; ++k) forget_mark(&d->marks[k]);
}

// Before every call of the design that belongs to an edit of the scene.
static hk_design *marked(st_session *s)
{
    hk_design_mark(s->design->design, s->design->mark_name);
    return s->design->design;
}

static st_mark *begin_mark(st_session *s, const char *name)
{
    st_design *d = s->design;
    st_mark *mark = &d->marks[++d->mark_count % ST_MOST_MARKS];
    forget_mark(mark);
    snprintf(d->mark_name, sizeof d->mark_name, "%u:%s", d->mark_count, name);
    st_edits_copy(&mark->before, &s->edits);
    st_edits_copy(&mark->after, &s->edits);
    mark->number = d->mark_count;
    return mark;
}

static void end_mark(st_session *s, st_mark *mark, bool good)
{
    if (!good) {
        forget_mark(mark);
        return;
    }
    st_edits_free(&mark->after);
    st_edits_copy(&mark->after, &s->edits);
}

static void restore(st_session *s, uint32_t number, bool before)
{
    st_mark *mark = &s->design->marks[number % ST_MOST_MARKS];
    if (number == 0 || mark->number != number) return;
    st_edits_free(&s->edits);
    st_edits_copy(&s->edits, before ? &mark->before : &mark->after);
}

static void tell_edit(st_session *s)
{
    st_tell_scene(s, ST_ALL_CLIENTS, true);
    s->topology++;
    st_hub_forget_frames(s->hub);
    st_tell_topology(s, ST_ALL_CLIENTS);
}

// The model of the design with the rest positions of the scene: selections mean those.
bool st_design_refresh_model(st_session *s, st_why *why)
{
    hk_model *model = NULL;
    if (!st_edits_model(&s->edits, false, &model, why)) return false;
    // Skins belong to the model that was drawn first: it stays as long as they are drawn.
    for (int b = 0; b < s->surface.body_count; ++b)
        s->surface.parts[b].skin = hk_model_skin(model, b);
    hk_model_free(s->design->model);
    s->design->model = model;
    return true;
}

static uint32_t number_of(const char *name)
{
    unsigned number = 0;
    return name && strchr(name, ':') && sscanf(name, "%u:", &number) == 1 ? number : 0;
}

static const char *next_name(const st_design *d, bool back)
{
    return back ? hk_design_undo_name(d->design) : hk_design_redo_name(d->design);
}

// All calls of one edit at once.
static bool go(st_design *d, bool back, st_why *why)
{
    uint32_t number = number_of(next_name(d, back));
    do {
        hk_status status = back ? hk_design_undo(d->design) : hk_design_redo(d->design);
        if (status != HK_OK) return st_fail_library(why);
    } while (number > 0 && number_of(next_name(d, back)) == number);
    return true;
}

static bool undo(st_session *s, bool back, st_why *why)
{
    st_design *d = s->design;
    if (back) st_design_release_all(s, 0);
    uint32_t number = number_of(next_name(d, back));
    if (!go(d, back, why)) return false;
    restore(s, number, back);
    if (!st_design_refresh_model(s, why)) return false;
    tell_edit(s);
    return true;
}

// ---------------------------------------------------------------- handles

static st_handle *find_handle(st_design *d, int client, int number)
{
    for (int k = 0; k < d->handle_count; ++k)
        if (d->handles[k].client == client && d->handles[k].number == number) return &d->handles[k];
    return NULL;
}

static void let_go(st_design *d, st_handle *h)
{
    hk_design_release(d->design, h->handle);
    *h = d->handles[--d->handle_count];
}

void st_design_release_all(st_session *s, int client)
{
    st_design *d = s->design;
    for (int k = d->handle_count - 1; k >= 0; --k)
        if (client == 0 || d->handles[k].client == client) let_go(d, &d->handles[k]);
    d->hurry = true;
    s->dirty = true;
}

static void note_echo(st_session *s, const st_command *c)
{
    s->heard = (st_echo){st_read_real(c->message, "sent", 0), c->arrived};
}

static bool grab_point(st_session *s, const json_t *message, st_handle *h, st_why *why)
{
    st_design *d = s->design;
    double size;
    int body;
    if (!st_pick(s, message, d->model, &h->point, &size, &body, why)) return false;
    hk_handle_def def = hk_default_handle_def();
    def.side = h->side;
    def.count = h->point.count;
    def.vertices = h->point.vertices;
    def.weights = h->point.weights;
    if (hk_design_grab(d->design, &def, &h->handle) != HK_OK) return st_fail_library(why);
    st_point_place(&h->point, d->shapes[h->side], h->target);
    return true;
}

static bool grab_region(st_session *s, const json_t *message, st_handle *h, st_why *why)
{
    st_design *d = s->design;
    const double *x = d->shapes[h->side];
    uint8_t *flags = st_select(s, message, x, false, why);
    if (!flags) return false;
    hk_handle_def def = hk_default_handle_def();
    int32_t *vertices = st_selected(s, flags, &def.count);
    def.side = h->side;
    def.vertices = vertices;
    bool good = hk_design_grab(d->design, &def, &h->handle) == HK_OK || st_fail_library(why);
    for (int k = 0; k < def.count && good; ++k)
        for (int i = 0; i < 3; ++i) h->target[i] += x[3 * (int64_t)vertices[k] + i] / def.count;
    h->region = true;
    h->point.count = def.count < 4 ? def.count : 4;
    for (int k = 0; k < h->point.count; ++k) {
        h->point.vertices[k] = vertices[k];
        h->point.weights[k] = 1.0 / h->point.count;
    }
    free(vertices);
    free(flags);
    return good;
}

static bool drag(st_session *s, st_handle *h, const json_t *message, st_why *why)
{
    st_design *d = s->design;
    double target[3], transform[12];
    hk_status status;
    if (st_read_vector(json_object_get(message, "transform"), transform, 12) && h->region) {
        status = hk_design_drag_frame(d->design, h->handle, transform);
    } else if (st_read_vector(json_object_get(message, "target"), target, 3)) {
        status = hk_design_drag(d->design, h->handle, target);
        if (status == HK_OK) memcpy(h->target, target, sizeof target);
    } else {
        return st_fail(why, "\"target\": expected three numbers");
    }
    return status == HK_OK || st_fail_library(why);
}

static bool grab(st_session *s, const st_command *c, st_why *why)
{
    st_design *d = s->design;
    const json_t *m = c->message;
    double shape = st_read_real(m, "shape", 0);
    if (shape != 0 && shape != 1) return st_fail(why, "\"shape\": expected 0 or 1");
    st_handle h = {.client = c->client,
                   .number = (int)st_read_real(m, "grab", 0),
                   .side = shape == 1 ? HK_REST_SHAPE : HK_LOADED_SHAPE};
    st_handle *there = find_handle(d, h.client, h.number);
    if (there) let_go(d, there);
    if (d->handle_count == ST_MOST_HANDLES) return st_fail(why, "too many handles");
    bool point = json_object_get(m, "triangle") != NULL;
    if (!(point ? grab_point(s, m, &h, why) : grab_region(s, m, &h, why))) return false;
    d->handles[d->handle_count++] = h;
    note_echo(s, c);
    return !json_object_get(m, "target") || drag(s, &d->handles[d->handle_count - 1], m, why);
}

static bool move(st_session *s, const st_command *c, st_why *why)
{
    st_handle *h = find_handle(s->design, c->client, (int)st_read_real(c->message, "grab", 0));
    if (!h) return st_fail(why, "there is no such handle");
    if (!drag(s, h, c->message, why)) return false;
    note_echo(s, c);
    return true;
}

// A shape that is let go stays as the last preview has it: it first goes to where the pointer went.
static void settle(st_design *d)
{
    enum { MOST_PREVIEWS = 60, MOST_MS = 200 };
    double start = st_now();
    for (int k = 0; k < MOST_PREVIEWS && st_now() < start + MOST_MS; ++k) {
        hk_design_view view = {.loaded = NULL};
        if (hk_design_preview(d->design) != HK_OK) return;
        if (hk_design_snapshot(d->design, &view) != HK_OK) return;
        if (view.state != HK_DESIGN_PREVIEW) return;
    }
}

static bool release(st_session *s, const st_command *c, st_why *why)
{
    st_handle *h = find_handle(s->design, c->client, (int)st_read_real(c->message, "grab", 0));
    if (!h) return st_fail(why, "there is no such handle");
    settle(s->design);
    let_go(s->design, h);
    return true;
}

// ---------------------------------------------------------------- edits of the scene

static const double *given_shape(st_session *s, const json_t *message)
{
    return s->design->shapes[st_read_real(message, "shape", 0) == 1 ? 1 : 0];
}

static bool hold(st_session *s, const json_t *message, bool fix, st_why *why)
{
    st_design *d = s->design;
    int n = s->surface.model_vertex_count, count;
    uint8_t *flags = st_select(s, message, given_shape(s, message), false, why);
    if (!flags) return false;
    uint8_t *holds = st_alloc((size_t)n, 1);
    if (hk_model_holds(d->model, holds) != HK_OK) memset(holds, 0, (size_t)n);
    for (int v = 0; v < n; ++v)
        if (((holds[v] & HK_ALL_AXES) == HK_ALL_AXES) == fix) flags[v] = 0;
    int32_t *vertices = st_selected(s, flags, &count);
    bool good =
        count > 0 || st_fail(why, fix ? "all of it is held already" : "nothing of it is fixed");
    good = good && ((fix ? hk_design_fix(marked(s), count, vertices)
                         : hk_design_unfix(marked(s), count, vertices)) == HK_OK ||
                    st_fail_library(why));
    for (int b = 0; b < s->edits.body_count && good; ++b) {
        st_body_edits *body = &s->edits.bodies[b];
        for (int v = 0; v < body->vertex_count; ++v) {
            if (!flags[s->surface.parts[b].model_start + v]) continue;
            body->holds[v] = fix ? ST_HOLD_FIXED : ST_HOLD_FREED;
            body->holds_changed = true;
        }
    }
    free(vertices);
    free(holds);
    free(flags);
    return good;
}

static bool set_material(st_session *s, int b, const hk_selector *select,
                         const hk_material_def *material, st_why *why)
{
    return hk_design_set_material(marked(s), b, select, material) == HK_OK || st_fail_library(why);
}

// Regions after the first stay on top of what changes below them.
static bool set_regions(st_session *s, int b, int first, st_why *why)
{
    st_body_edits *body = &s->edits.bodies[b];
    for (int r = first; r < body->region_count; ++r)
        if (!set_material(s, b, &body->regions[r].select, &body->regions[r].material, why))
            return false;
    return true;
}

static bool paint(st_session *s, int b, const json_t *message, const hk_material_def *material,
                  st_why *why)
{
    int count;
    uint8_t *flags = st_select(s, message, given_shape(s, message), true, why);
    if (!flags) return false;
    int32_t *vertices = st_selected_of_body(s, flags, b, &count);
    hk_selector select = {.kind = HK_SELECT_VERTICES, .vertices = vertices, .vertex_count = count};
    bool good = set_material(s, b, &select, material, why);
    if (good) st_edits_add_region(&s->edits.bodies[b], vertices, count, material);
    free(vertices);
    free(flags);
    return good;
}

static bool change_material(st_session *s, const json_t *message, st_why *why)
{
    int b = (int)st_read_real(message, "body", 0), r = (int)st_read_real(message, "region", -1);
    if (b < 0 || b >= s->edits.body_count) return st_fail(why, "there is no body %d", b);
    st_body_edits *body = &s->edits.bodies[b];
    if (r >= body->region_count) return st_fail(why, "there is no region %d", r);
    hk_material_def material = r >= 0 ? body->regions[r].material : body->material;
    if (!st_read_material(json_object_get(message, "material"), &material, why)) return false;
    if (r < 0 && st_has_selection(message)) return paint(s, b, message, &material, why);
    if (r >= 0) {
        body->regions[r].material = material;
        body->regions_changed = true;
        return set_regions(s, b, r, why);
    }
    if (!set_material(s, b, NULL, &material, why)) return false;
    body->material = material;
    body->material_changed = true;
    return set_regions(s, b, 0, why);
}

static bool set_loads(st_session *s, int b, st_why *why)
{
    hk_load_def *loads = st_edits_loads(&s->edits.bodies[b]);
    bool good = hk_design_set_loads(marked(s), b, loads, s->edits.bodies[b].load_count) == HK_OK ||
                st_fail_library(why);
    free(loads);
    return good;
}

static bool change_loads(st_session *s, const json_t *message, st_why *why)
{
    hk_load_def load;
    int only = (int)st_read_real(message, "body", -1);
    bool good = true, clear = json_is_true(json_object_get(message, "clear"));
    if (only >= s->edits.body_count) return st_fail(why, "there is no body %d", only);
    if (!clear && !st_read_load(message, &load, why)) return false;
    uint8_t *flags = clear ? NULL : st_select(s, message, given_shape(s, message), false, why);
    if (!clear && !flags) return false;
    for (int b = 0; b < s->edits.body_count && good; ++b) {
        int count = 0;
        if (only >= 0 && b != only) continue;
        int32_t *vertices = clear ? NULL : st_selected_of_body(s, flags, b, &count);
        if (clear) st_edits_clear_loads(&s->edits.bodies[b]);
        if (count > 0) st_edits_add_load(&s->edits.bodies[b], vertices, count, &load);
        if (clear || count > 0) good = set_loads(s, b, why);
        free(vertices);
    }
    free(flags);
    return good;
}

static bool set_gravity(st_session *s, const json_t *message, st_why *why)
{
    double gravity[3];
    if (!st_read_vector(json_object_get(message, "value"), gravity, 3))
        return st_fail(why, "\"value\": expected three numbers");
    if (hk_design_set_gravity(marked(s), gravity) != HK_OK) return st_fail_library(why);
    memcpy(s->edits.gravity, gravity, sizeof gravity);
    return s->edits.gravity_changed = true;
}

// An edit of the scene, which can be undone as one. Where it fails the scene's edits are as they
// were; what the design took of it goes with an undo.
static bool edit_scene(st_session *s, const char *type, const json_t *m, st_why *why)
{
    st_mark *mark = begin_mark(s, type);
    uint32_t number = mark->number;
    bool good = strcmp(type, "fix") == 0        ? hold(s, m, true, why)
                : strcmp(type, "unfix") == 0    ? hold(s, m, false, why)
                : strcmp(type, "material") == 0 ? change_material(s, m, why)
                : strcmp(type, "load") == 0     ? change_loads(s, m, why)
                                                : set_gravity(s, m, why);
    if (!good) {
        st_why ignored;
        if (number_of(hk_design_undo_name(s->design->design)) == number)
            go(s->design, true, &ignored);
        st_edits_free(&s->edits);
        st_edits_copy(&s->edits, &mark->before);
    }
    end_mark(s, mark, good);
    if (!good || !st_design_refresh_model(s, why)) return false;
    tell_edit(s);
    return true;
}

int st_design_edit(st_session *s, const st_command *c, st_why *why)
{
    static const char *const scene_edits[] = {"fix", "unfix", "material", "load", "gravity"};
    const char *type = st_read_text(c->message, "type");
    for (size_t i = 0; i < sizeof scene_edits / sizeof scene_edits[0]; ++i)
        if (strcmp(type, scene_edits[i]) == 0) return edit_scene(s, type, c->message, why);
    if (strcmp(type, "grab") == 0) return grab(s, c, why);
    if (strcmp(type, "move") == 0) return move(s, c, why);
    if (strcmp(type, "release") == 0) return release(s, c, why);
    if (strcmp(type, "undo") == 0) return undo(s, true, why);
    if (strcmp(type, "redo") == 0) return undo(s, false, why);
    if (strcmp(type, "/left") == 0) st_design_release_all(s, c->client);
    if (strcmp(type, "mark") == 0) {
        const char *name = st_read_text(c->message, "name");
        return hk_design_mark(s->design->design, name && !strchr(name, ':') ? name : "edit") ==
               HK_OK;
    }
    return strcmp(type, "/left") == 0 ? 1 : -1;
}
