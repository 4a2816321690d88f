#include "contact/contacts.h"

#include "contact/field.h"
#include "contact/inside.h"
#include "contact/overlap.h"
#include "contact/recover.h"

#include <math.h>

#include "contact/touches.h"

// Reaches that are worth while, in edges: beyond that lists grow with the cube. And ways that are
// searched at once.
#define WIDEST_REACH 0.1
#define LONGEST_WAY  2

// ---------------------------------------------------------------- points

// Bodies are connected by number, not by shape.
static hk_status make_surface(const hk_model *m, hk_surface **surface)
{
    int32_t *bodies = HK_ARRAY(int32_t, m->vertex_count);
    if (!bodies) return HK_NO_MEMORY;
    for (int b = 0; b < m->body_count; b++)
        for (int v = 0; v < m->bodies[b].vertex_count; v++)
            bodies[m->bodies[b].vertex_start + v] = b;
    hk_surface_def def = {.vertex_count = m->vertex_count,
                          .tet_count = m->tet_count,
                          .tets = m->tets,
                          .middles = m->middles,
                          .triangle_count = m->triangle_count,
                          .triangles = m->triangles,
                          .line_count = m->line_count,
                          .lines = m->lines,
                          .bodies = bodies};
    hk_status status = hk_surface_create(&def, surface);
    hk_free(bodies);
    return status;
}

static void mark_points(hk_contacts *c, int64_t count, const int32_t *vertices)
{
    for (int64_t k = 0; k < count; k++) c->point_of[c->model->place[vertices[k]]] = 0;
}

// Those that are marked, in their order, and those of the obstacles; edges and triangles of bodies
// have been counted.
static void number_points(hk_contacts *c)
{
    for (int k = 0; k < c->model->vertex_count; k++)
        if (c->point_of[k] == 0) c->point_of[k] = c->body_points++;
    c->point_count = c->body_points;
    c->edge_count = c->body_edges;
    c->triangle_count = c->body_triangles;
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        const hk_obstacle *o = &c->settings->obstacles[k];
        c->point_count += o->shape == HK_OBSTACLE_PLANE ? 2 : o->vertex_count;
        c->edge_count += o->edge_count;
        c->triangle_count += o->triangle_count;
    }
}

static hk_status allocate(hk_contacts *c)
{
    size_t points = (size_t)c->point_count, obstacles = (size_t)c->settings->obstacle_count;
    int boxes = hk_max_int(c->point_count, hk_max_int(c->edge_count, c->triangle_count));
    c->vertex = HK_ARRAY(int32_t, c->body_points);
    c->side = HK_ARRAY(int32_t, points);
    c->rest = HK_ARRAY(double, 3 * (size_t)c->body_points);
    c->area = HK_ZEROS(double, points);
    c->edges = HK_ARRAY(int32_t, 2 * (size_t)c->edge_count);
    c->triangles = HK_ARRAY(int32_t, 3 * (size_t)c->triangle_count);
    c->lines = HK_ARRAY(int32_t, 2 * (size_t)c->line_count);
    c->edge_area = HK_ZEROS(double, c->edge_count);
    c->touching = HK_ARRAY(int32_t, points);
    c->plane_of = HK_ARRAY(int32_t, obstacles);
    c->start_of = HK_ARRAY(int32_t, obstacles);
    c->placed = HK_ZEROS(hk_placement, obstacles);
    c->x = HK_ZEROS(double, 3 * points + 1);
    c->base = HK_ZEROS(double, 3 * points);
    c->from = HK_ZEROS(double, 3 * points + 1);
    c->kept = HK_ZEROS(double, 3 * points);
    c->seen = HK_ZEROS(double, 3 * points);
    c->aim = HK_ZEROS(double, 3 * points);
    c->move = HK_ZEROS(double, 3 * points);
    c->part = HK_ZEROS(double, c->body_points);
    c->side_part = HK_ZEROS(double, c->settings->body_count);
    c->body_of = HK_ARRAY(int32_t, c->model->vertex_count);
    c->boxes = HK_ARRAY(hk_box, boxes);
    c->uses.start = HK_ZEROS(int64_t, c->body_points + 1);
    c->slide_uses.start = HK_ZEROS(int64_t, c->body_points + 1);
    bool complete = c->vertex && c->side && c->rest && c->area && c->edges && c->triangles &&
                    c->lines && c->edge_area && c->touching && c->plane_of && c->start_of &&
                    c->placed && c->x && c->base && c->from && c->kept && c->seen && c->aim &&
                    c->move && c->part && c->side_part && c->body_of && c->boxes && c->uses.start &&
                    c->slide_uses.start;
    if (c->model->partition) c->shared = HK_ARRAY(double, 4 * (size_t)c->model->vertex_count);
    return complete && (c->shared || !c->model->partition) ? HK_OK : HK_NO_MEMORY;
}

double hk_contacts_triangle_area(const hk_contacts *c, const int32_t triangle[3])
{
    const double *x[3];
    for (int k = 0; k < 3; k++) x[k] = c->rest + 3 * (size_t)triangle[k];
    double e[3], f[3], n[3];
    closest_minus(x[1], x[0], e);
    closest_minus(x[2], x[0], f);
    closest_cross(e, f, n);
    return 0.5 * sqrt(closest_dot(n, n));
}

// A rope shows its length times its diameter.
static void take_lines(hk_contacts *c, const hk_surface *s)
{
    const hk_model *m = c->model;
    for (int k = 0; k < c->line_count; k++) {
        int32_t *to = c->lines + 2 * (size_t)k;
        double d[3];
        for (int i = 0; i < 2; i++) to[i] = c->point_of[m->place[m->lines[2 * (size_t)k + i]]];
        closest_minus(c->rest + 3 * (size_t)to[0], c->rest + 3 * (size_t)to[1], d);
        double area = 2 * hk_model_line_radius(m, k) * sqrt(closest_dot(d, d));
        for (int i = 0; i < 2; i++) c->area[to[i]] += area / 2;
        c->edge_area[s->line_edges[k]] += area;
    }
}

static void take_points(hk_contacts *c)
{
    const hk_model *m = c->model;
    for (int b = 0; b < m->body_count; b++)
        for (int v = 0; v < m->bodies[b].vertex_count; v++)
            c->body_of[m->place[m->bodies[b].vertex_start + v]] = b;
    for (int k = 0; k < m->vertex_count; k++) {
        int32_t p = c->point_of[k];
        if (p < 0) continue;
        c->vertex[p] = k;
        c->side[p] = c->body_of[k];
        memcpy(c->rest + 3 * (size_t)p, m->rest + 3 * (size_t)m->order[k], 3 * sizeof(double));
        for (int i = 0; i < 3 && m->apart; i++)
            c->rest[3 * (size_t)p + (size_t)i] += m->apart[3 * (size_t)m->order[k] + (size_t)i];
    }
}

// A third of every triangle belongs to each of its corners, and to each of its edges. Sheets have
// two sides, but touch with one at a time.
static void take_bodies(hk_contacts *c, const hk_surface *s)
{
    const hk_model *m = c->model;
    take_points(c);
    for (int64_t k = 0; k < 2 * (int64_t)s->edge_count; k++)
        c->edges[k] = c->point_of[m->place[s->edges[k]]];
    for (int t = 0; t < s->triangle_count; t++) {
        int32_t *to = c->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) to[k] = c->point_of[m->place[s->triangles[3 * (size_t)t + k]]];
        double area = hk_contacts_triangle_area(c, to);
        for (int k = 0; k < 3; k++) {
            c->area[to[k]] += area / 3;
            c->edge_area[s->triangle_edges[3 * (size_t)t + k]] += area / 3;
        }
    }
    take_lines(c, s);
    for (int p = 0; p < c->body_points; p++) c->touching[c->touching_count++] = p;
}

static hk_status take_surface(hk_contacts *c)
{
    hk_surface *s;
    HK_TRY(make_surface(c->model, &s));
    c->body_edges = s->edge_count;
    c->body_triangles = s->triangle_count;
    c->line_count = s->line_count;
    mark_points(c, 3 * (int64_t)s->triangle_count, s->triangles);
    mark_points(c, 2 * (int64_t)c->model->line_count, c->model->lines);
    number_points(c);
    hk_status status = allocate(c);
    if (status == HK_OK) take_bodies(c, s);
    hk_surface_free(s);
    return status;
}

// Of a part of a model.
static hk_status take_part(hk_contacts *c, const hk_part_surface *s)
{
    const hk_model *m = c->model;
    c->body_edges = s->edge_count;
    c->body_triangles = s->triangle_count;
    mark_points(c, s->point_count, s->vertices);
    number_points(c);
    HK_TRY(allocate(c));
    take_points(c);
    for (int k = 0; k < s->point_count; k++)
        c->area[c->point_of[m->place[s->vertices[k]]]] = s->area[k];
    for (int64_t k = 0; k < 2 * (int64_t)s->edge_count; k++)
        c->edges[k] = c->point_of[m->place[s->edges[k]]];
    for (int64_t k = 0; k < 3 * (int64_t)s->triangle_count; k++)
        c->triangles[k] = c->point_of[m->place[s->triangles[k]]];
    if (s->edge_count > 0)
        memcpy(c->edge_area, s->edge_area, sizeof(double) * (size_t)s->edge_count);
    for (int p = 0; p < c->body_points; p++)
        if (hk_contacts_counts(c, p)) c->touching[c->touching_count++] = p;
    return HK_OK;
}

static void take_part_common(hk_contacts *c, const hk_part_surface *s)
{
    for (int k = 0; k < s->point_count; k++)
        c->end_common[c->point_of[c->model->place[s->vertices[k]]]] = s->end_common[k];
    if (s->triangle_count > 0)
        memcpy(c->triangle_common, s->triangle_common,
               6 * sizeof(float) * (size_t)s->triangle_count);
}

static void take_obstacles(hk_contacts *c)
{
    int32_t point = c->body_points, edge = c->body_edges, triangle = c->body_triangles;
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        const hk_obstacle *o = &c->settings->obstacles[k];
        bool plane = o->shape == HK_OBSTACLE_PLANE;
        int count = plane ? 2 : o->vertex_count;
        c->start_of[k] = point;
        c->plane_of[k] = plane ? point : -1;
        for (int e = 0; e < 2 * o->edge_count; e++)
            c->edges[2 * (size_t)edge + (size_t)e] = point + o->edges[e];
        for (int t = 0; t < 3 * o->triangle_count; t++)
            c->triangles[3 * (size_t)triangle + (size_t)t] = point + o->triangles[t];
        for (int p = 0; p < count; p++) {
            c->side[point + p] = c->settings->body_count + k;
            if (!plane) c->touching[c->touching_count++] = point + p;
        }
        point += count;
        edge += o->edge_count;
        triangle += o->triangle_count;
    }
}

// ---------------------------------------------------------------- creation

double hk_contacts_mean_edge(const hk_contacts *c)
{
    double sum = 0;
    for (int k = 0; k < c->body_edges; k++) {
        const int32_t *e = c->edges + 2 * (size_t)k;
        double d[3];
        closest_minus(c->rest + 3 * (size_t)e[0], c->rest + 3 * (size_t)e[1], d);
        sum += sqrt(closest_dot(d, d));
    }
    return c->body_edges > 0 ? sum / c->body_edges : 0;
}

static void find_scales(hk_contacts *c)
{
    const hk_model_contact *s = c->settings;
    for (int k = 0; k < s->body_count + s->obstacle_count; k++) {
        double radius = hk_contact_radius(s, k);
        if (radius > c->radius) c->radius = radius;
    }
    const hk_partition *g = c->model->partition;
    double edge = g ? g->surface->mean_edge : hk_contacts_mean_edge(c);
    c->widest = fmax(s->distance, WIDEST_REACH * edge);
    c->longest = fmax(s->distance, LONGEST_WAY * edge);
    c->reach = -1;
    c->gap_version = c->block_version = -1;
    c->scale = 1;
    c->blocking[0] = c->blocking[1] = -1;
}

static hk_status build_surface(hk_contacts *c)
{
    const hk_partition *g = c->model->partition;
    c->point_of = HK_ARRAY(int32_t, c->model->vertex_count);
    if (!c->point_of) return HK_NO_MEMORY;
    for (int k = 0; k < c->model->vertex_count; k++) c->point_of[k] = -1;
    HK_TRY(g ? take_part(c, g->surface) : take_surface(c));
    take_obstacles(c);
    find_scales(c);
    HK_TRY(hk_contacts_count_common(c));
    if (g) take_part_common(c, g->surface);
    return HK_OK;
}

static hk_status build(hk_contacts *c)
{
    HK_TRY(build_surface(c));
    if (c->settings->law == HK_CONTACT_PENALTY) HK_TRY(hk_contacts_make_fields(c));
    HK_TRY(hk_touches_create(c, &c->touches));
    return hk_contacts_place(c, false, 0, 0);
}

static hk_status create(const hk_model *model, int threads, hk_status made(hk_contacts *),
                        hk_contacts **contacts)
{
    hk_contacts *c = HK_NEW(hk_contacts);
    if (!c) return HK_NO_MEMORY;
    c->model = model;
    c->settings = model->contact;
    c->threads = threads;
    hk_status status = made(c);
    if (status != HK_OK) {
        hk_contacts_free(c);
        return status;
    }
    *contacts = c;
    return HK_OK;
}

hk_status hk_contacts_create(const hk_model *model, int threads, hk_contacts **contacts)
{
    return create(model, threads, build, contacts);
}

hk_status hk_contacts_create_surface(const hk_model *model, hk_contacts **contacts)
{
    return create(model, 1, build_surface, contacts);
}

void hk_contacts_free(hk_contacts *c)
{
    if (!c) return;
    void *const arrays[] = {c->kept,           c->aim,
                            c->move,           c->part,
                            c->vertex,         c->point_of,
                            c->side,           c->rest,
                            c->area,           c->edges,
                            c->triangles,      c->edge_area,
                            c->touching,       c->plane_of,
                            c->start_of,       c->x,
                            c->base,           c->from,
                            c->boxes,          c->uses.start,
                            c->uses.use,       c->force,
                            c->partial,        c->slides,
                            c->list,           c->slide_uses.start,
                            c->slide_uses.use, c->triangle_common,
                            c->swept,          c->approaches,
                            c->side_part,      c->body_of,
                            c->end_common,     c->placed,
                            c->ahead,          c->foreseen,
                            c->expected,       c->gap,
                            c->seen,           c->lines,
                            c->block,          c->block_first,
                            c->shared};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
    hk_fields_free(c->fields, c->settings->obstacle_count);
    hk_insides_free(c->insides);
    hk_recovery_free(c->recovery);
    hk_contact_proof_free(c->proof);
    hk_bvh_free(&c->triangle_tree);
    hk_bvh_free(&c->edge_tree);
    hk_free(c->pushes);
    hk_pairs_free(&c->triangle_pairs);
    hk_pairs_free(&c->edge_pairs);
    hk_contacts_free_blocks(c->blocks);
    hk_touches_free(c->touches);
    hk_free(c);
}

// ---------------------------------------------------------------- energies

double hk_contacts_modulus(const hk_contacts *c, int a, int b)
{
    return c->scale * hk_contact_modulus(c->settings, a, b);
}

void hk_contacts_count_as(hk_contacts *c, double scale)
{
    double ratio = scale / c->scale;
    if (scale == c->scale) return;
    for (size_t k = 0; k < c->count; k++) c->list[k].pair.stiffness *= ratio;
    for (size_t k = 0; k < c->slide_count; k++) {
        c->slides[k].friction.most *= ratio;
        c->slides[k].friction.damping *= ratio;
    }
    for (size_t k = 0; k < c->push_count; k++)
        for (int i = 0; i < 12; i++) c->pushes[k].gradient[i] *= ratio;
    c->scale = scale;
    c->block_version = -1;
    c->slide_rounds++;
    if (c->touches) c->touches->version = -1;
}

// ---------------------------------------------------------------- obstacles

void hk_contacts_put(hk_contacts *c, int obstacle, const hk_placement *at)
{
    const hk_obstacle *o = &c->settings->obstacles[obstacle];
    double *to = c->x + 3 * (size_t)c->start_of[obstacle];
    c->placed[obstacle] = *at;
    if (c->plane_of[obstacle] < 0) {
        hk_obstacle_vertices(o, at, to);
        return;
    }
    hk_obstacle_plane(o, at, to, to + 3);
    for (int i = 0; i < 3; i++) to[3 + i] += to[i];
}

hk_status hk_contacts_place(hk_contacts *c, bool by_fraction, double fraction, double time)
{
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        const hk_obstacle *o = &c->settings->obstacles[k];
        hk_placement at;
        HK_TRY(by_fraction ? hk_obstacle_place_at(o, fraction, time, &at)
                           : hk_obstacle_place(o, time, &at));
        hk_contacts_put(c, k, &at);
    }
    return HK_OK;
}
