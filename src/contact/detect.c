// Which parts of surfaces can touch: boxes in trees, then distances.
#include <math.h>

#include "contact/contacts.h"

// Part of the product of the squared lengths of two edges at rest from which on they count as
// parallel (contact/pair.h).
#define PARALLEL 1e-3

// ---------------------------------------------------------------- positions

double hk_contacts_gather(hk_contacts *c, const double *x)
{
    double square = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : square)
    for (int p = 0; p < c->point_count; p++) {
        double *to = c->x + 3 * (size_t)p, away[3];
        if (p < c->body_points) memcpy(to, x + 4 * (size_t)c->vertex[p], 3 * sizeof(double));
        closest_minus(to, c->base + 3 * (size_t)p, away);
        square = fmax(square, closest_dot(away, away));
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
    double reach = c->reach > 0 ? fmin(2 * away, c->widest) : c->settings->distance;
    return hk_contacts_detect(c, isfinite(reach) ? reach : c->settings->distance);
}

// ---------------------------------------------------------------- candidates

static bool can_touch(const hk_contacts *c, int32_t first, int32_t second)
{
    int a = c->side[first], b = c->side[second], bodies = c->settings->body_count;
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

static hk_status find_candidates(hk_contacts *c, double radius)
{
    hk_primitive_boxes(c->x, c->triangle_count, 3, c->triangles, c->threads, c->boxes);
    HK_TRY(hk_bvh_build(&c->triangle_tree, c->boxes, c->triangle_count, c->threads));
    hk_primitive_boxes(c->x, c->touching_count, 1, c->touching, c->threads, c->boxes);
    HK_TRY(hk_bvh_box_pairs(c->boxes, c->touching_count, &c->triangle_tree, radius, keep_triangle,
                            c, c->threads, &c->triangle_pairs));
    hk_primitive_boxes(c->x, c->edge_count, 2, c->edges, c->threads, c->boxes);
    HK_TRY(hk_bvh_build(&c->edge_tree, c->boxes, c->edge_count, c->threads));
    return hk_bvh_self_pairs(&c->edge_tree, radius, keep_edge, c, c->threads, &c->edge_pairs);
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

static double radius_of(const hk_contacts *c, int side)
{
    const hk_model_contact *s = c->settings;
    return side < s->body_count ? s->bodies[side].thickness / 2
                                : s->obstacles[side - s->body_count].radius;
}

// m² of the surface that a contact stands for; obstacles have none.
static double area_of(const hk_contacts *c, const hk_contact *k, double first, double second)
{
    int bodies = c->settings->body_count;
    if (k->sides[0] >= bodies) return second;
    return k->sides[1] >= bodies || k->pair.kind != HK_EDGE_EDGE ? first : 0.5 * (first + second);
}

// What the pair is like: of one body by its distance at rest.
static void fill_pair(const hk_contacts *c, double area, hk_contact *k)
{
    const hk_model_contact *s = c->settings;
    hk_pair *p = &k->pair;
    p->law = s->law;
    p->width = s->distance;
    p->thickness = radius_of(c, k->sides[0]) + radius_of(c, k->sides[1]);
    if (k->sides[0] == k->sides[1]) {
        double rest[4][3];
        hk_contact_corners(c->rest, k->point, rest);
        double apart = sqrt(pair_closest(p->kind, (const double(*)[3])rest).square);
        p->thickness = fmin(p->thickness, 0.5 * apart);
        p->width = fmin(p->width, 0.5 * (apart - p->thickness));
    }
    p->stiffness = area * hk_contact_modulus(s, k->sides[0], k->sides[1]) / p->width;
}

// Whether it can touch within reach. A pair of one body that coincides at rest never does.
static bool is_near(const hk_contacts *c, const hk_contact *k, double reach)
{
    double x[4][3];
    if (!(k->pair.width > 0)) return false;
    hk_contact_corners(c->x, k->point, x);
    hk_closest at = pair_closest(k->pair.kind, (const double(*)[3])x);
    double gap = pair_distance(k->pair.kind, &at, (const double(*)[3])x) - k->pair.thickness;
    return gap <= k->pair.width + 2 * reach;
}

static void make_triangle_contact(const hk_contacts *c, uint64_t key, hk_contact *k)
{
    const int32_t *t = c->triangles + 3 * (size_t)hk_key_second(key);
    int32_t p = c->touching[hk_key_first(key)];
    *k = (hk_contact){.point = {p, t[0], t[1], t[2]},
                      .sides = {c->side[p], c->side[t[0]]},
                      .pair = {.kind = HK_VERTEX_TRIANGLE}};
    double second = (c->area[t[0]] + c->area[t[1]] + c->area[t[2]]) / 3;
    fill_pair(c, area_of(c, k, c->area[p], second), k);
}

static void make_edge_contact(const hk_contacts *c, uint64_t key, hk_contact *k)
{
    int32_t first = hk_key_first(key), second = hk_key_second(key);
    const int32_t *a = c->edges + 2 * (size_t)first, *b = c->edges + 2 * (size_t)second;
    *k = (hk_contact){.point = {a[0], a[1], b[0], b[1]},
                      .sides = {c->side[a[0]], c->side[b[0]]},
                      .pair = {.kind = HK_EDGE_EDGE}};
    k->pair.parallel =
        PARALLEL * square_length(shape_of(c, a[0]), a) * square_length(shape_of(c, b[0]), b);
    fill_pair(c, area_of(c, k, c->edge_area[first], c->edge_area[second]), k);
}

// Candidates become contacts at `to`, all of them; those that are too far away are marked by a
// width of 0.
typedef void make_fn(const hk_contacts *c, uint64_t key, hk_contact *k);
static void make_contacts(hk_contacts *c, const hk_pairs *pairs, make_fn *make, double reach,
                          hk_contact *to)
{
    const uint64_t *keys = hk_pairs_keys(pairs);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < pairs->count; k++) {
        make(c, keys[k], &to[k]);
        if (!is_near(c, &to[k], reach)) to[k].pair.width = 0;
    }
}

static size_t make_plane_contacts(hk_contacts *c, double reach, hk_contact *to)
{
    size_t count = 0;
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        int32_t plane = c->plane_of[o], side = c->settings->body_count + o;
        for (int32_t p = 0; plane >= 0 && p < c->body_points; p++) {
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            hk_contact k = {.point = {p, plane, plane + 1, plane + 1},
                            .sides = {c->side[p], side},
                            .pair = {.kind = HK_VERTEX_PLANE}};
            fill_pair(c, c->area[p], &k);
            if (!is_near(c, &k, reach)) continue;
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

static hk_status fill_list(hk_contacts *c, double reach)
{
    size_t triangles = c->triangle_pairs.count, edges = c->edge_pairs.count, count = 0;
    size_t planes = make_plane_contacts(c, reach, NULL), all = triangles + edges + planes;
    HK_TRY(hk_reserve((void **)&c->list, 0, sizeof *c->list, &c->capacity, all));
    make_contacts(c, &c->triangle_pairs, make_triangle_contact, reach, c->list);
    make_contacts(c, &c->edge_pairs, make_edge_contact, reach, c->list + triangles);
    make_plane_contacts(c, reach, c->list + triangles + edges);
    for (size_t k = 0; k < all; k++)
        if (c->list[k].pair.width > 0) c->list[count++] = c->list[k];
    c->count = count;
    return hk_contact_uses_fill(&c->uses, c->body_points, c->list, sizeof *c->list, count);
}

hk_status hk_contacts_detect(hk_contacts *c, double reach)
{
    double start = hk_now();
    c->reach = -1;
    c->count = 0;
    for (int64_t k = 0; k < 3 * (int64_t)c->point_count; k++)
        if (!isfinite(c->x[k])) return hk_fail(HK_BAD_INPUT, "contact: a position is not finite");
    HK_TRY(find_candidates(c, c->settings->distance + 2 * (reach + c->radius)));
    HK_TRY(fill_list(c, reach));
    memcpy(c->base, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    c->reach = reach;
    c->detections++;
    c->version++;
    c->detect_s += hk_now() - start;
    return HK_OK;
}
