// Contact of a part: the settings and obstacles of the whole model, and the part of the surface
// that it looks after.
#include "cluster/part_stream.h"
#include "model/contact.h"

// ---------------------------------------------------------------- what cannot be cut

// Pairs of bodies would have to be found over processes; what a body does to an obstacle, which all
// of them know, is in one part.
const char *hk_part_contact_unknown(const hk_model *m)
{
    const hk_model_contact *c = m->contact;
    if (!c) return NULL;
    if (c->when == HK_CONTACT_AFTER)
        return "contact is an energy here (\"when\": \"during\"), and nothing is put right after "
               "steps: set contact.when, or use backend cpu";
    if (c->law == HK_CONTACT_SPRING_DAMPER || (c->law == HK_CONTACT_PENALTY && c->body_count > 1))
        return "contact of several bodies is by barriers, and no law spring_damper is there: set "
               "contact.law to two_stage or log, or use backend cpu";
    if (c->overlap != HK_OVERLAP_REFUSE)
        return "what overlaps at the start is not pushed apart: set contact.overlap to \"refuse\", "
               "or use backend cpu";
    if (c->self)
        return "bodies touch obstacles, and not themselves: set contact.self to false, or use "
               "backend cpu";
    for (int a = 0; a < c->body_count; a++)
        for (int b = a + 1; b < c->body_count; b++)
            if (hk_contact_touches(c, a, b))
                return "bodies touch obstacles, and not each other: let them ignore each other "
                       "(contact.between: {\"bodies\": […], \"ignore\": true}), or use backend cpu";
    return NULL;
}

// ---------------------------------------------------------------- cutting

static bool has_edge(const hk_part_source *s, int number, int edge)
{
    return s->owner[s->surface->edge_home[edge]] == number;
}

static bool has_triangle(const hk_part_source *s, int number, int triangle)
{
    return s->owner[s->surface->triangle_home[triangle]] == number;
}

void hk_part_surface_vertices(const hk_part_source *s, int number, int32_t *local)
{
    const hk_part_surface *w = s->surface;
    if (!w) return;
    for (int e = 0; e < w->edge_count; e++)
        for (int k = 0; k < 2 && has_edge(s, number, e); k++)
            local[w->edges[2 * (size_t)e + (size_t)k]] = 0;
    for (int t = 0; t < w->triangle_count; t++)
        for (int k = 0; k < 3 && has_triangle(s, number, t); k++)
            local[w->triangles[3 * (size_t)t + (size_t)k]] = 0;
}

static hk_status allocate(const hk_part_source *s, int number, const int32_t *local,
                          hk_part_surface *to)
{
    const hk_part_surface *w = s->surface;
    for (int k = 0; k < w->point_count; k++) to->point_count += local[w->vertices[k]] >= 0;
    for (int e = 0; e < w->edge_count; e++) to->edge_count += has_edge(s, number, e);
    for (int t = 0; t < w->triangle_count; t++) to->triangle_count += has_triangle(s, number, t);
    to->mean_edge = w->mean_edge;
    to->vertices = HK_ARRAY(int32_t, to->point_count);
    to->area = HK_ARRAY(double, to->point_count);
    to->end_common = HK_ARRAY(float, to->point_count);
    to->edges = HK_ARRAY(int32_t, 2 * (size_t)to->edge_count);
    to->edge_area = HK_ARRAY(double, to->edge_count);
    to->triangles = HK_ARRAY(int32_t, 3 * (size_t)to->triangle_count);
    to->triangle_common = HK_ARRAY(float, 6 * (size_t)to->triangle_count);
    bool complete = to->vertices && to->area && to->end_common && to->edges && to->edge_area &&
                    to->triangles && to->triangle_common;
    return complete ? HK_OK : HK_NO_MEMORY;
}

static void take_points(const hk_part_surface *w, const int32_t *local, hk_part_surface *to)
{
    for (int k = 0, n = 0; k < w->point_count; k++) {
        if (local[w->vertices[k]] < 0) continue;
        to->vertices[n] = local[w->vertices[k]];
        to->area[n] = w->area[k];
        to->end_common[n++] = w->end_common[k];
    }
}

static void take_features(const hk_part_source *s, int number, const int32_t *local,
                          hk_part_surface *to)
{
    const hk_part_surface *w = s->surface;
    for (int e = 0, n = 0; e < w->edge_count; e++) {
        if (!has_edge(s, number, e)) continue;
        to->edge_area[n] = w->edge_area[e];
        for (int k = 0; k < 2; k++)
            to->edges[2 * n + k] = local[w->edges[2 * (size_t)e + (size_t)k]];
        n++;
    }
    for (int t = 0, n = 0; t < w->triangle_count; t++) {
        if (!has_triangle(s, number, t)) continue;
        size_t at = 3 * (size_t)t, own = 3 * (size_t)n++;
        for (size_t k = 0; k < 3; k++) to->triangles[own + k] = local[w->triangles[at + k]];
        memcpy(to->triangle_common + 2 * own, w->triangle_common + 2 * at, 6 * sizeof(float));
    }
}

hk_status hk_part_take_contact(const hk_part_source *s, int number, const int32_t *local,
                               hk_cluster_part *part)
{
    if (!s->surface) return HK_OK;
    hk_part_surface *to = part->partition.surface = HK_NEW(hk_part_surface);
    if (!to) return HK_NO_MEMORY;
    HK_TRY(allocate(s, number, local, to));
    take_points(s->surface, local, to);
    take_features(s, number, local, to);
    return hk_model_contact_copy(s->model->contact, &part->model->contact);
}

// ---------------------------------------------------------------- as bytes

static void put_motion(hk_stream *s, hk_motion *m)
{
    hk_time_factor *factor = m->factor;
    HK_STREAM(s, *m);
    m->factor = factor;  // not the pointer of another process
    hk_put_factor(s, &m->factor);
}

static void put_formula(hk_stream *s, hk_formula **formula)
{
    char *text = *formula ? (char *)(uintptr_t)hk_formula_text(*formula) : NULL;
    bool there = text != NULL;
    HK_STREAM(s, there);
    if (!there || s->status != HK_OK) return;
    hk_put_text(s, &text);
    if (!s->reading) return;
    if (s->status == HK_OK) s->status = hk_formula_create(text, formula);
    hk_free(text);
}

static void put_path(hk_stream *s, hk_path *p)
{
    HK_STREAM(s, p->axis);
    HK_STREAM(s, p->center);
    for (int i = 0; i < 3; i++) put_formula(s, &p->translate[i]);
    put_formula(s, &p->degrees);
}

static void put_obstacle(hk_stream *s, hk_obstacle *o)
{
    int moves = o->move_count;
    hk_put_text(s, &o->name);
    HK_STREAM(s, o->shape);
    HK_STREAM(s, o->friction);
    HK_STREAM(s, o->point);
    HK_STREAM(s, o->normal);
    HK_STREAM(s, o->radius);
    HK_STREAM(s, o->vertex_count);
    HK_STREAM(s, o->edge_count);
    HK_STREAM(s, o->triangle_count);
    HK_STREAM(s, o->way);
    HK_STREAM(s, moves);
    HK_STREAM(s, o->key_count);
    PUT_ARRAY(s, o->rest, 3 * (int64_t)o->vertex_count);
    PUT_ARRAY(s, o->edges, 2 * (int64_t)o->edge_count);
    PUT_ARRAY(s, o->triangles, 3 * (int64_t)o->triangle_count);
    PUT_ARRAY(s, o->keys, o->key_count);
    if (s->reading && s->status == HK_OK) {
        o->moves = HK_ZEROS(hk_motion, moves);
        if (!o->moves) s->status = HK_NO_MEMORY;
        o->move_count = s->status == HK_OK ? moves : 0;
    }
    for (int k = 0; k < o->move_count && s->status == HK_OK; k++) put_motion(s, &o->moves[k]);
    put_path(s, &o->path);
}

static void put_obstacles(hk_stream *s, hk_model_contact *c)
{
    int count = c->obstacle_count;
    HK_STREAM(s, count);
    if (s->reading && s->status == HK_OK) {
        c->obstacles = HK_ZEROS(hk_obstacle, count);
        if (!c->obstacles) s->status = HK_NO_MEMORY;
        c->obstacle_count = s->status == HK_OK ? count : 0;
    }
    for (int k = 0; k < c->obstacle_count && s->status == HK_OK; k++)
        put_obstacle(s, &c->obstacles[k]);
}

// Everything but the arrays.
static void put_settings(hk_stream *s, hk_model_contact *c)
{
    hk_model_contact values = *c;
    HK_STREAM(s, values);
    if (!s->reading || s->status != HK_OK) return;
    values.bodies = NULL, values.obstacles = NULL, values.sides = NULL, values.between = NULL;
    values.obstacle_count = 0;
    *c = values;
}

void hk_put_contact(hk_stream *s, hk_model_contact **contact)
{
    bool there = *contact != NULL;
    HK_STREAM(s, there);
    if (!there || s->status != HK_OK) return;
    if (s->reading) *contact = HK_NEW(hk_model_contact);
    hk_model_contact *c = *contact;
    if (!c) {
        s->status = HK_NO_MEMORY;
        return;
    }
    put_settings(s, c);
    put_obstacles(s, c);
    PUT_ARRAY(s, c->bodies, c->body_count);
    PUT_ARRAY(s, c->sides, c->body_count + c->obstacle_count);
    PUT_ARRAY(s, c->between, (int64_t)c->kind_count * c->kind_count);
}

void hk_put_surface(hk_stream *s, hk_part_surface **surface)
{
    bool there = *surface != NULL;
    HK_STREAM(s, there);
    if (!there || s->status != HK_OK) return;
    if (s->reading) *surface = HK_NEW(hk_part_surface);
    hk_part_surface *p = *surface;
    if (!p) {
        s->status = HK_NO_MEMORY;
        return;
    }
    HK_STREAM(s, p->point_count);
    HK_STREAM(s, p->edge_count);
    HK_STREAM(s, p->triangle_count);
    HK_STREAM(s, p->mean_edge);
    PUT_ARRAY(s, p->vertices, p->point_count);
    PUT_ARRAY(s, p->area, p->point_count);
    PUT_ARRAY(s, p->end_common, p->point_count);
    PUT_ARRAY(s, p->edges, 2 * (int64_t)p->edge_count);
    PUT_ARRAY(s, p->edge_area, p->edge_count);
    PUT_ARRAY(s, p->triangles, 3 * (int64_t)p->triangle_count);
    PUT_ARRAY(s, p->triangle_common, 6 * (int64_t)p->triangle_count);
}
