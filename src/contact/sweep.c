#include "contact/sweep_parts.h"

// The margin of a way: a part of its length, and a part of the distance at which contact begins.
#define MARGIN_OF_WAY      0.25
#define MARGIN_OF_DISTANCE 1.0

// ---------------------------------------------------------------- creation

static void widen_run(int run[2], int k)
{
    if (run[1] == 0) run[0] = k;
    run[1] = k + 1;
}

static void find_runs(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    for (int p = 0; p < c->body_points; p++) widen_run(s->bodies[c->side[p]].points, p);
    for (int e = 0; e < c->body_edges; e++)
        widen_run(s->bodies[c->side[c->edges[2 * (size_t)e]]].edges, e);
    for (int t = 0; t < c->body_triangles; t++)
        widen_run(s->bodies[c->side[c->triangles[3 * (size_t)t]]].triangles, t);
}

hk_status hk_sweep_create(hk_contacts *c, hk_sweep **sweep)
{
    hk_sweep *s = HK_NEW(hk_sweep);
    if (!s) return HK_NO_MEMORY;
    s->contacts = c;
    s->body_count = c->settings->body_count;
    s->obstacle_count = c->settings->obstacle_count;
    size_t bodies = (size_t)s->body_count, obstacles = (size_t)s->obstacle_count;
    s->bodies = HK_ZEROS(hk_sweep_body, bodies);
    s->obstacle_box = HK_ZEROS(hk_box, obstacles + 1);
    s->meets = HK_ZEROS(uint8_t, bodies * (bodies + obstacles));
    s->box = HK_ZEROS(hk_box, c->point_count);
    s->local = HK_ZEROS(hk_box, c->body_points);
    s->base = HK_ZEROS(double, 3 * (size_t)c->body_points);
    s->points = HK_ARRAY(int32_t, c->point_count);
    s->edges = HK_ARRAY(int32_t, c->edge_count + 1);
    s->triangles = HK_ARRAY(int32_t, c->triangle_count + 1);
    s->changed = HK_ZEROS(uint8_t, c->point_count);
    s->parent = HK_ARRAY(int32_t, bodies + 1);
    s->part = HK_ARRAY(double, bodies + 1);
    if (!s->bodies || !s->obstacle_box || !s->meets || !s->box || !s->local || !s->base ||
        !s->points || !s->edges || !s->triangles || !s->changed || !s->parent || !s->part) {
        hk_sweep_free(s);
        return HK_NO_MEMORY;
    }
    find_runs(s);
    *sweep = s;
    return HK_OK;
}

void hk_sweep_free(hk_sweep *s)
{
    if (!s) return;
    for (int b = 0; s->bodies && b < s->body_count; b++) hk_free(s->bodies[b].self);
    hk_free(s->bodies);
    hk_free(s->obstacle_box);
    hk_free(s->meets);
    hk_free(s->box);
    hk_free(s->local);
    hk_free(s->base);
    hk_free(s->points);
    hk_free(s->edges);
    hk_free(s->triangles);
    hk_free(s->changed);
    hk_free(s->parent);
    hk_free(s->part);
    hk_free(s);
}

// ---------------------------------------------------------------- boxes

// Around the ways of a body's points; c->move is where they go, less where they are.
static void find_body_box(hk_sweep *s, hk_sweep_body *body)
{
    hk_contacts *c = s->contacts;
    body->box = HK_BOX_OF_NOTHING;
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *x = c->x + 3 * (size_t)p, *move = c->move + 3 * (size_t)p;
        double margin = MARGIN_OF_DISTANCE * c->settings->distance +
                        MARGIN_OF_WAY * sqrt(closest_dot(move, move));
        for (int i = 0; i < 3; i++) {
            double to = x[i] + move[i];
            s->box[p].low[i] = fmin(x[i], to) - margin;
            s->box[p].high[i] = fmax(x[i], to) + margin;
        }
        hk_box_surround(&body->box, &s->box[p]);
    }
}

static void find_obstacle_boxes(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    for (int o = 0; o < s->obstacle_count; o++) {
        const hk_obstacle *obstacle = &c->settings->obstacles[o];
        s->obstacle_box[o] = HK_BOX_OF_NOTHING;
        if (c->plane_of[o] >= 0) continue;
        for (int p = c->start_of[o]; p < c->start_of[o] + obstacle->vertex_count; p++) {
            for (int i = 0; i < 3; i++) {
                s->box[p].low[i] = c->x[3 * (size_t)p + (size_t)i] - obstacle->radius;
                s->box[p].high[i] = c->x[3 * (size_t)p + (size_t)i] + obstacle->radius;
            }
            hk_box_surround(&s->obstacle_box[o], &s->box[p]);
        }
    }
}

static hk_box primitive_box(const hk_sweep *s, const int32_t *points, int count)
{
    hk_box box = s->box[points[0]];
    for (int k = 1; k < count; k++) hk_box_surround(&box, &s->box[points[k]]);
    return box;
}

// ---------------------------------------------------------------- who is near whom

static void find_meetings(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    int sides = s->body_count + s->obstacle_count;
    for (int a = 0; a < s->body_count; a++)
        for (int b = a; b < sides; b++) {
            const hk_box *other =
                b < s->body_count ? &s->bodies[b].box : &s->obstacle_box[b - s->body_count];
            bool near = a != b && hk_box_overlap(&s->bodies[a].box, other) &&
                        hk_contact_touches(c->settings, a, b);
            s->meets[(size_t)a * (size_t)sides + (size_t)b] = near;
            if (b < s->body_count) s->meets[(size_t)b * (size_t)sides + (size_t)a] = near;
        }
}

// Whether a box of side a is in one of those that a may meet.
static bool is_near(const hk_sweep *s, int a, const hk_box *box)
{
    int sides = s->body_count + s->obstacle_count;
    if (a >= s->body_count) {
        for (int b = 0; b < s->body_count; b++)
            if (s->meets[(size_t)b * (size_t)sides + (size_t)a] &&
                hk_box_overlap(box, &s->bodies[b].box))
                return true;
        return false;
    }
    const uint8_t *meets = s->meets + (size_t)a * (size_t)sides;
    for (int b = 0; b < sides; b++) {
        if (!meets[b]) continue;
        const hk_box *other =
            b < s->body_count ? &s->bodies[b].box : &s->obstacle_box[b - s->body_count];
        if (hk_box_overlap(box, other)) return true;
    }
    return false;
}

static bool meets_any(const hk_sweep *s, int a)
{
    int sides = s->body_count + s->obstacle_count;
    for (int b = 0; b < sides; b++)
        if (s->meets[(size_t)a * (size_t)sides + (size_t)b]) return true;
    return false;
}

static int collect(const hk_sweep *s, int side, int first, int last, const int32_t *list,
                   int corners, int32_t *to, int count)
{
    for (int k = first; k < last; k++) {
        hk_box box = primitive_box(s, list + (size_t)corners * (size_t)k, corners);
        if (is_near(s, side, &box)) to[count++] = k;
    }
    return count;
}

// What is near something else than its own body. Points that are touched are all but planes'.
static void collect_all(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    s->point_count = s->edge_count = s->triangle_count = 0;
    for (int b = 0; b < s->body_count; b++) {
        const hk_sweep_body *body = &s->bodies[b];
        if (!meets_any(s, b)) continue;
        s->point_count = collect(s, b, body->points[0], body->points[1], c->touching, 1, s->points,
                                 s->point_count);
        s->edge_count =
            collect(s, b, body->edges[0], body->edges[1], c->edges, 2, s->edges, s->edge_count);
        s->triangle_count = collect(s, b, body->triangles[0], body->triangles[1], c->triangles, 3,
                                    s->triangles, s->triangle_count);
    }
    int point = c->body_points, edge = c->body_edges, triangle = c->body_triangles;
    for (int o = 0; o < s->obstacle_count; o++) {
        const hk_obstacle *obstacle = &c->settings->obstacles[o];
        int side = s->body_count + o;
        if (c->plane_of[o] >= 0) continue;
        s->point_count = collect(s, side, point, point + obstacle->vertex_count, c->touching, 1,
                                 s->points, s->point_count);
        s->edge_count = collect(s, side, edge, edge + obstacle->edge_count, c->edges, 2, s->edges,
                                s->edge_count);
        s->triangle_count = collect(s, side, triangle, triangle + obstacle->triangle_count,
                                    c->triangles, 3, s->triangles, s->triangle_count);
        point += obstacle->vertex_count;
        edge += obstacle->edge_count;
        triangle += obstacle->triangle_count;
    }
}

static bool can_meet(const hk_contacts *c, int32_t first, int32_t second)
{
    int a = c->side[first], b = c->side[second], bodies = c->settings->body_count;
    return a != b && (a < bodies || b < bodies) && hk_contact_touches(c->settings, a, b);
}

static bool keep_triangle(const void *context, int32_t first, int32_t second)
{
    const hk_sweep *s = context;
    const hk_contacts *c = s->contacts;
    return can_meet(c, c->touching[s->points[first]],
                    c->triangles[3 * (size_t)s->triangles[second]]);
}

static bool keep_edge(const void *context, int32_t first, int32_t second)
{
    const hk_sweep *s = context;
    const hk_contacts *c = s->contacts;
    return can_meet(c, c->edges[2 * (size_t)s->edges[first]],
                    c->edges[2 * (size_t)s->edges[second]]);
}

// ---------------------------------------------------------------- the list

static void fill_boxes(const hk_sweep *s, int count, const int32_t *which, const int32_t *list,
                       int corners)
{
#pragma omp parallel for schedule(static) num_threads(s->contacts->threads) if (count > 4096)
    for (int k = 0; k < count; k++)
        s->contacts->boxes[k] =
            primitive_box(s, list + (size_t)corners * (size_t)which[k], corners);
}

static hk_status find_pairs(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    c->triangle_pairs.count = c->edge_pairs.count = 0;
    if (s->triangle_count > 0 && s->point_count > 0) {
        fill_boxes(s, s->triangle_count, s->triangles, c->triangles, 3);
        HK_TRY(hk_bvh_build(&c->triangle_tree, c->boxes, s->triangle_count, c->threads));
        fill_boxes(s, s->point_count, s->points, c->touching, 1);
        HK_TRY(hk_bvh_box_pairs(c->boxes, s->point_count, &c->triangle_tree, 0, keep_triangle, s,
                                c->threads, &c->triangle_pairs));
    }
    if (s->edge_count == 0) return HK_OK;
    fill_boxes(s, s->edge_count, s->edges, c->edges, 2);
    HK_TRY(hk_bvh_build(&c->edge_tree, c->boxes, s->edge_count, c->threads));
    return hk_bvh_self_pairs(&c->edge_tree, 0, keep_edge, s, c->threads, &c->edge_pairs);
}

static void add_pairs(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    double width = c->settings->distance;
    for (size_t k = 0; k < c->triangle_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->triangle_pairs)[k];
        int32_t p = c->touching[s->points[hk_key_first(key)]];
        const int32_t *t = c->triangles + 3 * (size_t)s->triangles[hk_key_second(key)];
        hk_sweep_add(c, (hk_contact){.point = {p, t[0], t[1], t[2]},
                                     .sides = {c->side[p], c->side[t[0]]},
                                     .pair = {.kind = HK_VERTEX_TRIANGLE, .width = width}});
    }
    for (size_t k = 0; k < c->edge_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->edge_pairs)[k];
        const int32_t *e = c->edges + 2 * (size_t)s->edges[hk_key_first(key)];
        const int32_t *f = c->edges + 2 * (size_t)s->edges[hk_key_second(key)];
        hk_sweep_add(c, (hk_contact){.point = {e[0], e[1], f[0], f[1]},
                                     .sides = {c->side[e[0]], c->side[f[0]]},
                                     .pair = {.kind = HK_EDGE_EDGE, .width = width}});
    }
}

// The least height of a box over a plane.
static double height_of(const hk_box *box, const double *point, const double *normal)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += normal[i] * ((normal[i] > 0 ? box->low[i] : box->high[i]) - point[i]);
    return sum;
}

static hk_status add_planes(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    for (int o = 0; o < s->obstacle_count; o++) {
        int32_t plane = c->plane_of[o], side = s->body_count + o;
        if (plane < 0) continue;
        double normal[3], *point = c->x + 3 * (size_t)plane;
        closest_minus(point + 3, point, normal);
        for (int b = 0; b < s->body_count; b++) {
            const hk_sweep_body *body = &s->bodies[b];
            double reach = hk_sweep_radius(c, b) + hk_sweep_radius(c, side);
            if (body->points[1] == body->points[0] || !hk_contact_touches(c->settings, b, side) ||
                height_of(&body->box, point, normal) > reach)
                continue;
            size_t most = c->count + (size_t)(body->points[1] - body->points[0]);
            HK_TRY(hk_reserve((void **)&c->list, c->count, sizeof *c->list, &c->capacity, most));
            for (int p = body->points[0]; p < body->points[1]; p++)
                if (height_of(&s->box[p], point, normal) <= reach)
                    hk_sweep_add(c, (hk_contact){.point = {p, plane, plane + 1, plane + 1},
                                                 .sides = {b, side},
                                                 .pair = {.kind = HK_VERTEX_PLANE,
                                                          .width = c->settings->distance}});
        }
    }
    return HK_OK;
}

hk_status hk_sweep_find(hk_sweep *s, const double *x, const double *to)
{
    hk_contacts *c = s->contacts;
    hk_contacts_gather(c, x);
    c->reach = -1;
    c->count = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (c->body_points > 4096)
    for (int p = 0; p < c->body_points; p++) {
        double *move = c->move + 3 * (size_t)p;
        closest_minus(to + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, move);
        // The caller will see that, too.
        if (!isfinite(move[0] + move[1] + move[2])) move[0] = move[1] = move[2] = 0;
    }
    for (int b = 0; b < s->body_count; b++) HK_TRY(hk_sweep_cover_self(s, b));
#pragma omp parallel for schedule(static) num_threads(c->threads) if (s->body_count > 4)
    for (int b = 0; b < s->body_count; b++) find_body_box(s, &s->bodies[b]);
    find_obstacle_boxes(s);
    find_meetings(s);
    collect_all(s);
    HK_TRY(find_pairs(s));
    size_t pairs = c->triangle_pairs.count + c->edge_pairs.count;
    HK_TRY(hk_reserve((void **)&c->list, 0, sizeof *c->list, &c->capacity, pairs));
    add_pairs(s);
    HK_TRY(add_planes(s));
    HK_TRY(hk_sweep_add_selves(s));
    c->version++;
    return HK_OK;
}

// ---------------------------------------------------------------- the way

// The part of a move that stays in the box of the way.
static double part_in_box(const hk_box *box, const double *x, const double *move)
{
    double part = 1;
    for (int i = 0; i < 3; i++) {
        if (x[i] + part * move[i] > box->high[i]) part = (box->high[i] - x[i]) / move[i];
        if (x[i] + part * move[i] < box->low[i]) part = (box->low[i] - x[i]) / move[i];
    }
    return fmax(0, fmin(1, part));
}

static void scale_point(hk_contacts *c, int p, double part)
{
    for (int i = 0; i < 3; i++) c->move[3 * (size_t)p + (size_t)i] *= part;
}

// Takes from the moves of corners that would come too near what they have towards the other side;
// whether any did.
static bool shorten(const hk_sweep *s, const hk_contact *k, int round)
{
    hk_contacts *c = s->contacts;
    double part = hk_contacts_fraction(c, k, 1), x[4][3];
    if (part >= 1) return false;
    part *= 0.999;  // so that rounding does not bring it up again
    hk_contact_corners(c->x, k->point, x);
    hk_closest at = pair_closest(k->pair.kind, (const double(*)[3])x);
    for (int v = 0; v < 4; v++) {
        int32_t p = k->point[v];
        double *move = c->move + 3 * (size_t)p, side = v < hk_pair_firsts(k->pair.kind) ? 1 : -1;
        double towards = -side * closest_dot(at.w, move);
        if (p >= c->body_points || !(towards > 0) || !(at.square > 0)) continue;
        for (int i = 0; i < 3; i++) move[i] += side * (1 - part) * towards / at.square * at.w[i];
        s->changed[p] = (uint8_t)round;
        double inside = part_in_box(&s->box[p], c->x + 3 * (size_t)p, move);
        if (inside < 1) scale_point(c, p, inside);
    }
    return true;
}

enum { ROUNDS = 8 };

// Whether a way of it was shortened since the pair was last looked at.
static bool is_new(const hk_sweep *s, const hk_contact *k, int round)
{
    for (int v = 0; v < 4; v++)
        if (s->changed[k->point[v]] + 1 >= round) return true;
    return false;
}

// One by one, each with what the others left; false: they are not settled.
static bool shorten_all(const hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    bool any = true;
    memset(s->changed, 0, (size_t)c->point_count);
    for (int n = 1; n <= ROUNDS && any; n++) {
        any = false;
        for (size_t k = 0; k < c->count; k++)
            if (is_new(s, &c->list[k], n)) any |= shorten(s, &c->list[k], n);
    }
    return !any;
}

static int root_of(const int32_t *parent, int b)
{
    while (parent[b] != b) b = parent[b];
    return b;
}

// What shortening one by one does not settle: all that hangs together goes the same part of its
// way. The same part of all ways leaves them where they were looked for.
static hk_status shorten_together(hk_sweep *s, bool settled)
{
    hk_contacts *c = s->contacts;
    int bodies = s->body_count;
    for (int b = 0; b < bodies; b++) {
        s->parent[b] = b;
        s->part[b] = 1;
    }
    for (size_t k = 0; k < c->count; k++) {
        const int32_t *side = c->list[k].sides;
        if (side[0] >= bodies || side[1] >= bodies) continue;
        int a = root_of(s->parent, side[0]), b = root_of(s->parent, side[1]);
        s->parent[hk_max_int(a, b)] = hk_min_int(a, b);
    }
    for (size_t k = 0; k < c->count && !settled; k++) {
        const int32_t *side = c->list[k].sides;
        int root = root_of(s->parent, side[0] < bodies ? side[0] : side[1]);
        s->part[root] = fmin(s->part[root], hk_contacts_fraction(c, &c->list[k], 1));
    }
    for (int b = 0; b < bodies; b++) {
        int root = root_of(s->parent, b);
        double least;
        HK_TRY(hk_sweep_fraction_of_self(s, &s->bodies[b], &least));
        s->part[root] = fmin(s->part[root], least);
    }
    for (int b = 0; b < bodies; b++) {
        double part = s->part[root_of(s->parent, b)];
        if (part >= 1) continue;
        s->bodies[b].slow *= part;
        for (int p = s->bodies[b].points[0]; p < s->bodies[b].points[1]; p++)
            scale_point(c, p, part);
    }
    return HK_OK;
}

// Points by their moves, and what is inside as all of the body.
static void move_body(const hk_sweep *s, int b, double *x, const double *to)
{
    const hk_contacts *c = s->contacts;
    const hk_body *body = &c->model->bodies[b];
    double slow = s->bodies[b].slow;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (body->vertex_count > 4096)
    for (int64_t k = body->vertex_start; k < body->vertex_start + body->vertex_count; k++) {
        int64_t at = 4 * (int64_t)c->model->place[k], p = c->point_of[at / 4];
        for (int64_t i = 0; i < 3; i++)
            x[at + i] += p < 0 ? slow * (to[at + i] - x[at + i]) : c->move[3 * p + i];
    }
}

hk_status hk_sweep_walk(hk_sweep *s, double *x, const double *to)
{
    hk_contacts *c = s->contacts;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (c->body_points > 4096)
    for (int p = 0; p < c->body_points; p++) {
        double *move = c->move + 3 * (size_t)p;
        closest_minus(to + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, move);
        double part = part_in_box(&s->box[p], c->x + 3 * (size_t)p, move);
        if (part < 1) scale_point(c, p, part);
    }
    for (int p = 3 * c->body_points; p < 3 * c->point_count; p++) c->move[p] = 0;
    for (int b = 0; b < s->body_count; b++) s->bodies[b].slow = 1;
    HK_TRY(shorten_together(s, shorten_all(s)));
    for (int b = 0; b < s->body_count; b++) move_body(s, b, x, to);
    return HK_OK;
}
