// Constraints of vertices: planes, lines, spheres and cylinders that they stay on, and vertices
// that have one displacement.
#include <math.h>
#include <stdlib.h>

#include "core/def.h"
#include "mesh/select.h"
#include "model/constraints.h"

// Partners of a periodic constraint are this near to where they should be, relative to the extent
// of the body.
#define NEAR 1e-4

const char *hk_constraint_kind_name(int kind)
{
    static const char *const names[HK_CONSTRAINT_KINDS] = {
        "plane", "line", "sphere", "cylinder", "together", "periodic", "volume"};
    return kind >= 0 && kind < HK_CONSTRAINT_KINDS ? names[kind] : NULL;
}

typedef struct keeper {
    const hk_constraint_def *def;
    hk_model *model;
    const hk_body *body;
    hk_mesh *mesh;
    uint8_t *chosen, *other;  // [vertex_count of the body]
    double axis[3];           // unit
    int *next;                // entry of the constraints' list of vertices
} keeper;

static hk_status check_free(const keeper *k, int v)
{
    const hk_model *m = k->model;
    int64_t vertex = k->body->vertex_start + v;
    int part = m->constraints->part_of[vertex];
    if (part >= 0 && part < m->constraints->rigid_count)
        return hk_fail(HK_BAD_INPUT, "vertex %d is one of the rigid part %s already", v,
                       m->constraints->parts[part].name);
    if (part >= 0 || (m->constraints->cavity_of && m->constraints->cavity_of[vertex] >= 0))
        return hk_fail(HK_BAD_INPUT, "vertex %d has another constraint already", v);
    if (m->axes && m->axes[vertex] && m->hold[vertex] == HK_FREE)
        return hk_fail(HK_BAD_INPUT, "vertex %d has a fix with \"axes\" already", v);
    return HK_OK;
}

// Whether a vertex is one to take: held ones stay where they are.
static bool is_taken(const keeper *k, const uint8_t *chosen, int v)
{
    int64_t vertex = k->body->vertex_start + v;
    return chosen[v] && k->model->hold[vertex] == HK_FREE && k->model->mass[vertex] > 0;
}

static void put_vertex(keeper *k, int v, int part)
{
    hk_constraints *c = k->model->constraints;
    int32_t vertex = k->body->vertex_start + v;
    c->part_of[vertex] = part;
    c->vertices[(*k->next)++] = vertex;
}

static hk_part begin_part(const keeper *k, hk_freedom freedom)
{
    hk_part part = {.freedom = freedom,
                    .body = k->def->body,
                    .parent = HK_NO_PART,
                    .joint = -1,
                    .start = *k->next};
    memcpy(part.at, k->def->at, sizeof part.at);
    memcpy(part.axis, k->axis, sizeof part.axis);
    return part;
}

static const double *rest_of(const keeper *k, int v)
{
    return k->model->rest + 3 * (int64_t)(k->body->vertex_start + v);
}

// From the middle of the sphere, or from the axis of the cylinder.
static double distance_from(const keeper *k, const double *x)
{
    double d[3], along = 0, square = 0;
    for (int i = 0; i < 3; i++) {
        d[i] = x[i] - k->def->at[i];
        if (k->def->kind == HK_KEEP_CYLINDER) along += d[i] * k->axis[i];
    }
    for (int i = 0; i < 3; i++) square += pow(d[i] - along * k->axis[i], 2);
    return sqrt(square);
}

// A part for each vertex.
static hk_status keep_each(keeper *k, hk_freedom freedom)
{
    hk_constraints *c = k->model->constraints;
    bool round = k->def->kind == HK_KEEP_SPHERE || k->def->kind == HK_KEEP_CYLINDER;
    for (int v = 0; v < k->body->vertex_count; v++) {
        if (!is_taken(k, k->chosen, v)) continue;
        HK_TRY(check_free(k, v));
        if (round && !(distance_from(k, rest_of(k, v)) > 0))
            return hk_fail(HK_BAD_INPUT,
                           "vertex %d is at the middle of the %s: there is no "
                           "surface to stay on",
                           v, hk_constraint_kind_name(k->def->kind));
        hk_part part = begin_part(k, freedom);
        part.count = 1;
        memcpy(part.center, rest_of(k, v), sizeof part.center);
        HK_TRY(hk_constraints_add_part(c, &part));
        put_vertex(k, v, c->part_count - 1);
    }
    return HK_OK;
}

static hk_status keep_together(keeper *k)
{
    hk_constraints *c = k->model->constraints;
    hk_part part = begin_part(k, HK_MOVES_TOGETHER);
    for (int v = 0; v < k->body->vertex_count; v++) {
        if (k->chosen[v] && k->model->hold[k->body->vertex_start + v] != HK_FREE)
            return hk_fail(HK_BAD_INPUT,
                           "vertex %d is held, and the others would be with it: fix "
                           "them, or leave it out",
                           v);
        if (!is_taken(k, k->chosen, v)) continue;
        HK_TRY(check_free(k, v));
        put_vertex(k, v, c->part_count);
    }
    part.count = *k->next - part.start;
    return hk_constraints_add_part(c, &part);
}

// The vertex of `other` that is nearest to a place; −1: there is none within `most`.
static int partner_of(const keeper *k, const double *at, double most)
{
    int found = -1;
    for (int v = 0; v < k->body->vertex_count; v++) {
        if (!k->other[v]) continue;
        const double *x = rest_of(k, v);
        double d = hypot(hypot(x[0] - at[0], x[1] - at[1]), x[2] - at[2]);
        if (d > most) continue;
        most = d;
        found = v;
    }
    return found;
}

static double extent_of(const keeper *k)
{
    double most = 0;
    for (int v = 1; v < k->body->vertex_count; v++)
        for (int i = 0; i < 3; i++) most = fmax(most, fabs(rest_of(k, v)[i] - rest_of(k, 0)[i]));
    return most;
}

// Chains (corners of a cell that is periodic along two axes) become one part: to the part that one
// of a pair has already the other is added. Parts are runs of the list of vertices, so that they
// are found first (`of`, a union-find) and written then.
static int32_t find(int32_t *of, int32_t v)
{
    while (of[v] != v) v = of[v] = of[of[v]];
    return v;
}

static hk_status pair_up(const keeper *k, int32_t *of)
{
    double most = NEAR * extent_of(k);
    for (int v = 0; v < k->body->vertex_count; v++) {
        if (!k->chosen[v]) continue;
        double at[3];
        for (int i = 0; i < 3; i++) at[i] = rest_of(k, v)[i] + k->def->axis[i];
        int partner = partner_of(k, at, most);
        if (partner < 0)
            return hk_fail(HK_BAD_INPUT,
                           "vertex %d has no partner among \"other\" at %g %g %g (\"axis\" leads "
                           "from one to the other)",
                           v, at[0], at[1], at[2]);
        bool held = k->model->hold[k->body->vertex_start + v] != HK_FREE;
        if (held != (k->model->hold[k->body->vertex_start + partner] != HK_FREE))
            return hk_fail(HK_BAD_INPUT, "of vertex %d and its partner %d one is held", v, partner);
        if (held) continue;
        int32_t a = find(of, v), b = find(of, partner);
        if (a != b) of[a > b ? a : b] = a < b ? a : b;
    }
    return HK_OK;
}

static hk_status write_pairs(keeper *k, int32_t *of)
{
    hk_constraints *c = k->model->constraints;
    int count = k->body->vertex_count;
    for (int v = 0; v < count; v++) of[v] = find(of, v);
    for (int v = 0; v < count; v++) {
        if (of[v] != v) continue;
        hk_part part = begin_part(k, HK_MOVES_TOGETHER);
        for (int u = v; u < count; u++)
            if (of[u] == v && (k->chosen[u] || k->other[u]) &&
                k->model->hold[k->body->vertex_start + u] == HK_FREE)
                part.count++;
        if (part.count < 2) continue;
        for (int u = v; u < count; u++)
            if (of[u] == v) {
                HK_TRY(check_free(k, u));
                put_vertex(k, u, c->part_count);
            }
        HK_TRY(hk_constraints_add_part(c, &part));
    }
    return HK_OK;
}

static hk_status keep_periodic(keeper *k)
{
    int count = k->body->vertex_count;
    HK_TRY(hk_select_vertices(k->mesh, &k->def->other, k->other));
    int32_t *of = HK_ARRAY(int32_t, count);
    if (!of) return HK_NO_MEMORY;
    for (int v = 0; v < count; v++) of[v] = v;
    hk_status status = pair_up(k, of);
    if (status == HK_OK) status = write_pairs(k, of);
    hk_free(of);
    return status;
}

static hk_status check_volume(const hk_constraint_def *def)
{
    bool timed = def->factor.formula || def->factor.table_count != 0 || def->factor.over != 0;
    if (def->kind != HK_KEEP_VOLUME && (def->volume != 0 || timed))
        return hk_fail(HK_BAD_INPUT,
                       "a volume and its factor are for kind \"volume\" (this is "
                       "\"%s\")",
                       hk_constraint_kind_name(def->kind));
    return HK_OK;
}

static hk_status keep(keeper *k)
{
    int before = *k->next;
    HK_TRY(check_volume(k->def));
    HK_TRY(hk_select_vertices(k->mesh, &k->def->select, k->chosen));
    if (k->def->kind == HK_KEEP_VOLUME)
        return hk_model_take_cavity(k->model, k->def, k->mesh, k->chosen);
    hk_status status = HK_OK;
    switch (k->def->kind) {
    case HK_KEEP_PLANE: status = keep_each(k, HK_MOVES_IN_PLANE); break;
    case HK_KEEP_LINE: status = keep_each(k, HK_MOVES_ON_LINE); break;
    case HK_KEEP_SPHERE: status = keep_each(k, HK_MOVES_ON_SPHERE); break;
    case HK_KEEP_CYLINDER: status = keep_each(k, HK_MOVES_ON_CYLINDER); break;
    case HK_KEEP_TOGETHER: status = keep_together(k); break;
    default: status = keep_periodic(k); break;
    }
    if (status == HK_OK && *k->next == before)
        return hk_select_none(k->mesh, "it selects no vertex that is free");
    return status;
}

static hk_status take_keep(const hk_constraint_def *def, hk_model *m, int *next)
{
    if (!hk_constraint_kind_name(def->kind))
        return hk_fail(HK_BAD_INPUT, "there is no kind of constraint %d", def->kind);
    if (def->body < 0 || def->body >= m->body_count)
        return hk_fail(HK_BAD_INPUT, "there is no body %d", def->body);
    keeper k = {.def = def, .model = m, .body = &m->bodies[def->body], .next = next};
    bool needs_axis =
        def->kind == HK_KEEP_PLANE || def->kind == HK_KEEP_LINE || def->kind == HK_KEEP_CYLINDER;
    if (needs_axis && !hk_unit3(def->axis, k.axis))
        return hk_fail(HK_BAD_INPUT, "its axis has no length");
    if (!hk_is_finite3(def->at)) return hk_fail(HK_BAD_INPUT, "its place is not finite");
    k.chosen = HK_ZEROS(uint8_t, k.body->vertex_count);
    k.other = HK_ZEROS(uint8_t, k.body->vertex_count);
    hk_status status = k.chosen && k.other ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_model_body_mesh(m, def->body, &k.mesh);
    if (status == HK_OK) status = keep(&k);
    hk_mesh_free(k.mesh);
    hk_free(k.chosen);
    hk_free(k.other);
    return status;
}

hk_status hk_model_take_keeps(const hk_model_def *def, hk_model *m, int *next)
{
    for (int k = 0; k < def->constraint_count; k++) {
        hk_constraint_def own = hk_default_constraint_def();
        HK_TRY(hk_def_take_at(&hk_def_constraint, def->constraints, k, &own));
        hk_status status = take_keep(&own, m, next);
        if (status != HK_OK)
            return hk_fail_within(status, "constraint %d (%s)", k, own.name ? own.name : "unnamed");
    }
    return HK_OK;
}
