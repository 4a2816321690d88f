// Which parts of surfaces can touch: boxes in trees, then distances.
#include <math.h>

#include "contact/field.h"
#include "contact/inside.h"
#include "contact/recover.h"

// How far a state reaches that is detected after points have moved, of what they moved: a solve
// slows down as it goes on.
#define REACH_AHEAD 0.3

// Squared sine of the angle below which edges count as parallel (contact/pair.h): at least so much,
// and where both ends of an edge come near to the other one, but never more than the second.
#define PARALLEL      1e-3
#define MOST_PARALLEL 0.25

// ---------------------------------------------------------------- positions

double hk_contacts_gather(hk_contacts *c, const double *x)
{
    double square = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : square)
    for (int p = 0; p < c->point_count; p++) {
        double *to = c->x + 3 * (size_t)p, away[3];
        if (p < c->body_points) memcpy(to, x + 4 * (size_t)c->vertex[p], 3 * sizeof(double));
        closest_minus(to, c->base + 3 * (size_t)p, away);
        double far = closest_dot(away, away);
        square = far > square ? far : square;
    }
    return sqrt(square);
}

// Whether a plane has turned: points far from it have moved farther than its own.
static bool has_turned(const hk_contacts *c)
{
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        size_t at = 3 * (size_t)c->plane_of[k];
        if (c->plane_of[k] < 0) continue;
        for (size_t i = at; i < at + 3; i++)
            if (c->x[i + 3] - c->x[i] != c->base[i + 3] - c->base[i]) return true;
    }
    return false;
}

bool hk_contacts_reach(const hk_contacts *c, double away)
{
    return c->reach >= 0 && away <= c->reach && !has_turned(c);
}

hk_status hk_contacts_see(hk_contacts *c, const double *x)
{
    double away = hk_contacts_gather(c, x);
    if (hk_contacts_reach(c, away)) return HK_OK;
    double least = 0.5 * c->settings->distance, reach = c->reach > 0 ? REACH_AHEAD * away : least;
    return hk_contacts_detect(c, fmin(fmax(least, reach), fmax(least, c->widest)));
}

// ---------------------------------------------------------------- candidates

static bool can_touch(const hk_contacts *c, int32_t first, int32_t second)
{
    int a = c->side[first], b = c->side[second], bodies = c->settings->body_count;
    if (c->fields && (hk_contacts_by_field(c, a) || hk_contacts_by_field(c, b))) return false;
    return (a < bodies || b < bodies) && hk_contact_touches(c->settings, a, b);
}

static bool keep_triangle(const void *context, int32_t first, int32_t second)
{
    const hk_contacts *c = context;
    const int32_t *t = c->triangles + 3 * (size_t)second;
    int32_t p = c->touching[first];
    return p != t[0] && p != t[1] && p != t[2] && can_touch(c, p, t[0]);
}

static bool keep_edge(const void *context, int32_t first, int32_t second)
{
    const hk_contacts *c = context;
    const int32_t *a = c->edges + 2 * (size_t)first, *b = c->edges + 2 * (size_t)second;
    return !hk_share_vertex(2, a, 2, b) && can_touch(c, a[0], b[0]);
}

void hk_contacts_points_of(const hk_contacts *c, hk_pair_kind kind, uint64_t key, int32_t point[4])
{
    bool edges = kind == HK_EDGE_EDGE;
    const int32_t *first =
        edges ? c->edges + 2 * (size_t)hk_key_first(key) : c->touching + hk_key_first(key);
    const int32_t *second = edges ? c->edges + 2 * (size_t)hk_key_second(key)
                                  : c->triangles + 3 * (size_t)hk_key_second(key);
    int firsts = hk_pair_firsts(kind);
    memcpy(point, first, sizeof(int32_t) * (size_t)firsts);
    memcpy(point + firsts, second, sizeof(int32_t) * (size_t)(4 - firsts));
}

// ---- on ways: boxes around those of bodies that fly along overlap their neighbours', though
// nothing comes nearer. Where all go the same part of their ways, what counts is how the two
// move relative to each other.

static void extent_of(const double *values, const int32_t *points, int count, size_t i,
                      double range[2])
{
    range[0] = range[1] = values[3 * (size_t)points[0] + i];
    for (int k = 1; k < count; k++) {
        double value = values[3 * (size_t)points[k] + i];
        range[0] = value < range[0] ? value : range[0];
        range[1] = value > range[1] ? value : range[1];
    }
}

// Whether two can come as near as `near` to each other along every axis.
static bool can_meet(const hk_contacts *c, int first_count, const int32_t *first, int second_count,
                     const int32_t *second)
{
    double near = c->search_radius + hk_contact_radius(c->settings, c->side[first[0]]) +
                  hk_contact_radius(c->settings, c->side[second[0]]);
    for (size_t i = 0; i < 3; i++) {
        double x[2], y[2], u[2], v[2];
        extent_of(c->x, first, first_count, i, x);
        extent_of(c->x, second, second_count, i, y);
        extent_of(c->move, first, first_count, i, u);
        extent_of(c->move, second, second_count, i, v);
        double rounding = 1e-15 * (fabs(x[0]) + fabs(x[1]) + fabs(y[0]) + fabs(y[1]));
        double low = y[0] - x[1] + fmin(0, v[0] - u[1]), high = y[1] - x[0] + fmax(0, v[1] - u[0]);
        if (low > near + rounding || high < -near - rounding) return false;
    }
    return true;
}

static bool keep_triangle_on_way(const void *context, int32_t first, int32_t second)
{
    const hk_contacts *c = context;
    return keep_triangle(context, first, second) &&
           can_meet(c, 1, c->touching + first, 3, c->triangles + 3 * (size_t)second);
}

static bool keep_edge_on_way(const void *context, int32_t first, int32_t second)
{
    const hk_contacts *c = context;
    return keep_edge(context, first, second) &&
           can_meet(c, 2, c->edges + 2 * (size_t)first, 2, c->edges + 2 * (size_t)second);
}

// Boxes of what is thicker than its surface, each by its own radius: a ball among the obstacles
// must not widen the search for everything else.
static void find_boxes(hk_contacts *c, hk_contact_boxes_fn *boxes, int count, int corners,
                       const int32_t *primitives)
{
    boxes(c, count, corners, primitives, c->boxes);
    if (!(c->radius > 0)) return;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < count; p++) {
        int side = c->side[primitives[(size_t)corners * (size_t)p]];
        double radius = hk_contact_radius(c->settings, side);
        for (int i = 0; i < 3; i++) {
            c->boxes[p].low[i] -= radius;
            c->boxes[p].high[i] += radius;
        }
    }
}

hk_status hk_contacts_find_pairs(hk_contacts *c, hk_contact_boxes_fn *boxes, double radius)
{
    bool way = boxes == hk_contacts_swept_boxes && c->together;
    c->search_radius = radius;
    find_boxes(c, boxes, c->triangle_count, 3, c->triangles);
    HK_TRY(hk_bvh_build(&c->triangle_tree, c->boxes, c->triangle_count, c->threads));
    find_boxes(c, boxes, c->touching_count, 1, c->touching);
    HK_TRY(hk_bvh_box_pairs(c->boxes, c->touching_count, &c->triangle_tree, radius,
                            way ? keep_triangle_on_way : keep_triangle, c, c->threads,
                            &c->triangle_pairs));
    find_boxes(c, boxes, c->edge_count, 2, c->edges);
    HK_TRY(hk_bvh_build(&c->edge_tree, c->boxes, c->edge_count, c->threads));
    return hk_bvh_self_pairs(&c->edge_tree, radius, way ? keep_edge_on_way : keep_edge, c,
                             c->threads, &c->edge_pairs);
}

static void standing_boxes(const hk_contacts *c, int count, int corners, const int32_t *primitives,
                           hk_box *boxes)
{
    hk_primitive_boxes(c->x, count, corners, primitives, c->threads, boxes);
}

// ---------------------------------------------------------------- contacts

static double square_length(const double *x, const int32_t *edge)
{
    double e[3];
    closest_minus(x + 3 * (size_t)edge[0], x + 3 * (size_t)edge[1], e);
    return closest_dot(e, e);
}

static const double *shape_of(const hk_contacts *c, int32_t point)
{
    return point < c->body_points ? c->rest : c->x;  // obstacles do not change theirs
}

// Two bodies meet with vertices and with edges, from either side. So that the energy over an area
// is that of one skin, each of the four kinds of contact has a quarter of it. (Edges of meshes that
// lie on each other at random cross about 2.2 times.)
#define QUARTER 0.25

static bool is_body(const hk_contacts *c, int side)
{
    return side < c->settings->body_count;
}

// An obstacle with a radius is a sphere or a capsule: one point or edge for all of its surface, and
// what counts is the surface of the body, whatever of it is near.
static bool is_round(const hk_contacts *c, int side)
{
    return !is_body(c, side) && hk_contact_radius(c->settings, side) > 0;
}

// Whether the soft constraint has one of its vertices, which knows which way is out.
static bool is_inside(const hk_contacts *c, const hk_contact *k)
{
    bool inside = false;
    for (int i = 0; i < 4; i++)
        inside = inside || (k->point[i] < c->body_points && c->insides->marked[k->point[i]]);
    return inside && k->sides[0] != k->sides[1] && k->sides[1] < c->settings->body_count;
}

// What the pair is like: of one body by its distance at rest.
static void fill_pair(const hk_contacts *c, double area, hk_contact *k)
{
    const hk_model_contact *s = c->settings;
    hk_pair *p = &k->pair;
    p->law = c->recovery ? HK_CONTACT_PENALTY : s->law;
    p->width = s->distance;
    p->thickness = hk_contact_radius(s, k->sides[0]) + hk_contact_radius(s, k->sides[1]);
    if (k->sides[0] == k->sides[1]) {
        double apart = hk_contacts_rest_distance(c, p->kind, k->point);
        p->thickness = fmin(p->thickness, 0.5 * apart);
        p->width = fmin(p->width, 0.5 * (apart - p->thickness));
    }
    p->stiffness = area * hk_contacts_modulus(c, k->sides[0], k->sides[1]) / p->width;
    if (c->insides && is_inside(c, k)) p->stiffness = 0;
    if (c->recovery && hk_contacts_tangled(c, k->sides[0], k->sides[1])) p->stiffness = 0;
}

// How much nearer to each other two can come, m: where points move by `reach` at the most, or,
// where that is infinite, along contacts->move.
static double closing_of(const hk_contacts *c, hk_pair_kind kind, const int32_t point[4],
                         double reach)
{
    return isfinite(reach) ? 2 * reach : hk_contacts_closing(c, kind, point, true);
}

// Whether a pair with so much between the two can touch within reach. One of one body that
// coincides at rest never does.
static bool is_near(const hk_contacts *c, const hk_contact *k, double distance, double reach)
{
    return k->pair.width > 0 && distance - k->pair.thickness <=
                                    k->pair.width + closing_of(c, k->pair.kind, k->point, reach);
}

// m² of the surface that a vertex and a triangle stand for: obstacles have none.
static double triangle_contact_area(const hk_contacts *c, const hk_contact *k)
{
    const int32_t *t = k->point + 1;
    double mean = (c->area[t[0]] + c->area[t[1]] + c->area[t[2]]) / 3;
    if (is_round(c, k->sides[0])) return hk_contacts_triangle_area(c, t);
    if (!is_body(c, k->sides[0])) return QUARTER * mean;
    return (is_body(c, k->sides[1]) ? QUARTER : 1) * c->area[k->point[0]];
}

static void make_triangle_contact(const hk_contacts *c, uint64_t key, hk_contact *k)
{
    int32_t triangle = hk_key_second(key);
    if (!is_round(c, k->sides[0]))
        memcpy(k->pair.common, c->triangle_common + 6 * (size_t)triangle, sizeof k->pair.common);
    fill_pair(c, triangle_contact_area(c, k), k);
}

// m² of the surface that two edges stand for.
static double edge_contact_area(const hk_contacts *c, const hk_contact *k, int32_t first,
                                int32_t second)
{
    double area = c->edge_area[first] + c->edge_area[second];
    if (is_round(c, k->sides[0]) || is_round(c, k->sides[1])) return area;
    return QUARTER * (is_body(c, k->sides[0]) && is_body(c, k->sides[1]) ? 0.5 : 1) * area;
}

static double parallel_limit(const hk_contacts *c, const hk_contact *k)
{
    double first = square_length(shape_of(c, k->point[0]), k->point);
    double second = square_length(shape_of(c, k->point[2]), k->point + 2);
    double w = 2 * k->pair.width, sine = w * w / fmin(first, second);
    return fmin(MOST_PARALLEL, fmax(PARALLEL, sine)) * first * second;
}

static void make_edge_contact(const hk_contacts *c, uint64_t key, hk_contact *k)
{
    int32_t first = hk_key_first(key), second = hk_key_second(key);
    if (!is_round(c, k->sides[0]) && !is_round(c, k->sides[1]))
        for (int v = 0; v < 4; v++) k->pair.common[v] = c->end_common[k->point[v]];
    fill_pair(c, edge_contact_area(c, k, first, second), k);
    k->pair.parallel = parallel_limit(c, k);
}

// Who the two are.
static void name_sides(const hk_contacts *c, hk_pair_kind kind, uint64_t key, hk_contact *k)
{
    *k = (hk_contact){.pair = {.kind = kind}};
    hk_contacts_points_of(c, kind, key, k->point);
    k->sides[0] = c->side[k->point[0]];
    k->sides[1] = c->side[k->point[hk_pair_firsts(kind)]];
}

// Whether they can be near, which is seen before anything else: most candidates cannot.
static bool may_be_near(const hk_contacts *c, const hk_contact *k, double distance, double reach)
{
    const hk_model_contact *s = c->settings;
    double thickness = hk_contact_radius(s, k->sides[0]) + hk_contact_radius(s, k->sides[1]);
    return distance - thickness <= s->distance + closing_of(c, k->pair.kind, k->point, reach);
}

// Candidates become contacts at `to`, all of them; those that are too far away are marked by a
// width of 0.
typedef void make_fn(const hk_contacts *c, uint64_t key, hk_contact *k);
static void make_contacts(hk_contacts *c, const hk_pairs *pairs, hk_pair_kind kind, double reach,
                          hk_contact *to)
{
    make_fn *make = kind == HK_EDGE_EDGE ? make_edge_contact : make_triangle_contact;
    const uint64_t *keys = hk_pairs_keys(pairs);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < pairs->count; k++) {
        name_sides(c, kind, keys[k], &to[k]);
        double distance = hk_contacts_pair_distance(c, kind, to[k].point);
        bool near = may_be_near(c, &to[k], distance, reach);
        if (near) make(c, keys[k], &to[k]);
        if (!near || !is_near(c, &to[k], distance, reach)) to[k].pair.width = 0;
    }
}

static size_t make_plane_contacts(hk_contacts *c, double reach, hk_contact *to)
{
    size_t count = 0;
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        int32_t plane = c->plane_of[o], side = c->settings->body_count + o;
        for (int32_t p = 0; plane >= 0 && p < c->body_points; p++) {
            if (!hk_contacts_counts(c, p)) continue;
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            hk_contact k = {.point = {p, plane, plane + 1, plane + 1},
                            .sides = {c->side[p], side},
                            .pair = {.kind = HK_VERTEX_PLANE}};
            fill_pair(c, c->area[p], &k);
            double distance = hk_contacts_pair_distance(c, HK_VERTEX_PLANE, k.point);
            if (!is_near(c, &k, distance, reach)) continue;
            if (to) to[count] = k;
            count++;
        }
    }
    return count;
}

// ---------------------------------------------------------------- lists

hk_status hk_contact_uses_fill(hk_contact_uses *u, int points, const void *list, size_t size,
                               size_t count)
{
    int64_t total = 0;
    memset(u->start, 0, sizeof(int64_t) * ((size_t)points + 1));
    for (size_t k = 0; k < count; k++) {
        const int32_t *point = (const int32_t *)((const char *)list + k * size);
        for (int i = 0; i < 4; i++)
            if (point[i] < points) u->start[point[i] + 1]++, total++;
    }
    HK_TRY(hk_reserve((void **)&u->use, 0, sizeof *u->use, &u->capacity, (size_t)total));
    for (int p = 0; p < points; p++) u->start[p + 1] += u->start[p];
    // From the last to the first, so that every start ends where it belongs.
    for (size_t k = count; k-- > 0;) {
        const int32_t *point = (const int32_t *)((const char *)list + k * size);
        for (int i = 3; i >= 0; i--)
            if (point[i] < points) u->use[--u->start[point[i] + 1]] = 4 * (int64_t)k + i;
    }
    for (int p = 0; p < points; p++) u->start[p] = u->start[p + 1];
    u->start[points] = total;
    return HK_OK;
}

hk_status hk_contacts_make(hk_contacts *c, double reach, hk_contact **list, size_t *capacity,
                           size_t *count)
{
    size_t triangles = c->triangle_pairs.count, edges = c->edge_pairs.count;
    size_t planes = make_plane_contacts(c, reach, NULL), all = triangles + edges + planes;
    HK_TRY(hk_reserve((void **)list, 0, sizeof **list, capacity, all));
    hk_contact *to = *list;
    make_contacts(c, &c->triangle_pairs, HK_VERTEX_TRIANGLE, reach, to);
    make_contacts(c, &c->edge_pairs, HK_EDGE_EDGE, reach, to + triangles);
    make_plane_contacts(c, reach, to + triangles + edges);
    *count = 0;
    for (size_t k = 0; k < all; k++)
        if (to[k].pair.width > 0) to[(*count)++] = to[k];
    return HK_OK;
}

static hk_status fill_list(hk_contacts *c, double reach)
{
    HK_TRY(hk_contacts_make(c, reach, &c->list, &c->capacity, &c->count));
    HK_TRY(hk_reserve((void **)&c->gap, 0, sizeof *c->gap, &c->gap_capacity, c->count));
    for (size_t k = 0; k < c->count; k++) c->gap[k] = -INFINITY;
    return hk_contact_uses_fill(&c->uses, c->body_points, c->list, sizeof *c->list, c->count);
}

hk_status hk_contacts_detect(hk_contacts *c, double reach)
{
    double start = hk_now();
    c->reach = -1;
    c->count = 0;
    for (int64_t k = 0; k < 3 * (int64_t)c->point_count; k++)
        if (!isfinite(c->x[k])) return hk_fail(HK_BAD_INPUT, "contact: a position is not finite");
    HK_TRY(hk_contacts_find_pairs(c, standing_boxes, c->settings->distance + 2 * reach));
    HK_TRY(fill_list(c, reach));
    memcpy(c->base, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    c->reach = reach;
    c->detections++;
    c->version++;
    hk_contacts_keep_gaps(c);
    c->detect_s += hk_now() - start;
    return HK_OK;
}
