#include "contact/recover.h"

#include <math.h>
#include <stdlib.h>

#include "contact/overlap.h"
#include "mesh/winding.h"

// Part of an overlap that a step takes away.
#define ADVANCE 0.25

// ---------------------------------------------------------------- life

void hk_recovery_free(hk_recovery *r)
{
    if (!r) return;
    hk_free(r->tangles);
    hk_free(r->keys);
    hk_free(r->normal);
    hk_free(r->inside[0]);
    hk_free(r->inside[1]);
    hk_free(r->marked);
    hk_free(r->depth);
    hk_free(r);
}

hk_status hk_contacts_begin_recovery(hk_contacts *c)
{
    size_t points = (size_t)c->point_count;
    if (c->recovery) return HK_OK;
    hk_recovery *r = HK_NEW(hk_recovery);
    if (!r) return HK_NO_MEMORY;
    r->normal = HK_ZEROS(double, 3 * points);
    r->inside[0] = HK_ARRAY(int32_t, points);
    r->inside[1] = HK_ARRAY(int32_t, points);
    r->marked = HK_ZEROS(uint8_t, points);
    r->depth = HK_ARRAY(double, points);
    if (!r->normal || !r->inside[0] || !r->inside[1] || !r->marked || !r->depth) {
        hk_recovery_free(r);
        return HK_NO_MEMORY;
    }
    c->recovery = r;
    c->reach = -1;
    return HK_OK;
}

void hk_contacts_end_recovery(hk_contacts *c)
{
    hk_recovery_free(c->recovery);
    c->recovery = NULL;
    c->slide_count = 0;
    c->reach = -1;
}

static int64_t key_of(int a, int b)
{
    return a < b ? (int64_t)a << 32 | b : (int64_t)b << 32 | a;
}

bool hk_contacts_tangled(const hk_contacts *c, int a, int b)
{
    const hk_recovery *r = c->recovery;
    int64_t key = key_of(a, b);
    size_t low = 0, high = r ? r->key_count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return r && low < r->key_count && r->keys[low] == key;
}

bool hk_contacts_body_tangled(const hk_contacts *c, int body)
{
    const hk_recovery *r = c->recovery;
    for (size_t k = 0; r && k < r->key_count; k++)
        if (r->keys[k] >> 32 == body || (r->keys[k] & 0xffffffff) == body) return true;
    return false;
}

// ---------------------------------------------------------------- what is tangled

static hk_status add_tangle(hk_recovery *r, hk_tangle t)
{
    HK_TRY(
        hk_reserve((void **)&r->tangles, r->count, sizeof *r->tangles, &r->capacity, r->count + 1));
    r->tangles[r->count++] = t;
    return HK_OK;
}

typedef struct collector {
    const hk_contacts *contacts;
    hk_recovery *recovery;
    hk_status status;
} collector;

// Called for triangles that meet, from one thread.
static bool collect(const void *context, int32_t first, int32_t second)
{
    collector *all = *(collector *const *)context;
    const hk_contacts *c = all->contacts;
    const hk_surface *s = c->proof->surface;
    int32_t a = hk_triangle_body(s, first), b = hk_triangle_body(s, second);
    int bodies = c->settings->body_count;
    if ((a >= bodies && b >= bodies) || !hk_contact_touches(c->settings, a, b)) return false;
    hk_tangle t = {.sides = {a, b}, .items = {first, second}};
    if (b < a) t = (hk_tangle){.sides = {b, a}, .items = {second, first}};
    if (all->status == HK_OK) all->status = add_tangle(all->recovery, t);
    return true;
}

static hk_status collect_crossings(hk_contacts *c)
{
    collector all = {c, c->recovery, HK_OK}, *context = &all;
    hk_certificate *certificate = c->proof->certificate;
    hk_findings findings;
    int threads = certificate->threads;
    certificate->threads = 1;
    hk_status status = hk_certificate_run(certificate, c->x, collect, &context, &findings);
    certificate->threads = threads;
    return status == HK_OK ? all.status : status;
}

static hk_status collect_behind_planes(hk_contacts *c)
{
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        if (c->plane_of[o] < 0) continue;
        const double *plane = c->x + 3 * (size_t)c->plane_of[o];
        int32_t side = c->settings->body_count + o;
        for (int32_t p = 0; p < c->body_points; p++) {
            double away[3];
            hk_tangle t = {.sides = {c->side[p], side}, .items = {p, -1}};
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            closest_minus(c->x + 3 * (size_t)p, plane, away);
            closest_minus(plane + 3, plane, t.out);
            t.depth = -closest_dot(away, t.out);
            if (t.depth > -c->settings->distance) HK_TRY(add_tangle(c->recovery, t));
        }
    }
    return HK_OK;
}

// What is nearer to a point or an edge of an obstacle than its radius.
static hk_status collect_in_round(hk_contacts *c, const double *x)
{
    int bodies = c->settings->body_count;
    HK_TRY(hk_contacts_see(c, x));
    for (size_t k = 0; k < c->count; k++) {
        const hk_contact *at = &c->list[k];
        bool first = at->sides[0] < bodies;
        int32_t side = first ? at->sides[1] : at->sides[0];
        if (side < bodies || at->pair.kind == HK_VERTEX_PLANE || !(at->pair.thickness > 0))
            continue;
        double corners[4][3];
        hk_contact_corners(c->x, at->point, corners);
        hk_closest closest = pair_closest(at->pair.kind, (const double(*)[3])corners);
        double distance = sqrt(closest.square), depth = at->pair.thickness - distance;
        if (!(depth > -c->settings->distance)) continue;
        for (int i = 0; i < 4; i++) {
            if (at->point[i] >= c->body_points) continue;
            hk_tangle t = {.sides = {first ? at->sides[0] : at->sides[1], side},
                           .items = {at->point[i], -1},
                           .depth = depth};
            double scale = distance > 0 ? (first ? 1 : -1) / distance : 0;
            for (int j = 0; j < 3; j++) t.out[j] = scale * closest.w[j];
            HK_TRY(add_tangle(c->recovery, t));
        }
    }
    return HK_OK;
}

static int by_sides(const void *first, const void *second)
{
    const hk_tangle *a = first, *b = second;
    for (int k = 0; k < 2; k++)
        if (a->sides[k] != b->sides[k]) return a->sides[k] < b->sides[k] ? -1 : 1;
    for (int k = 0; k < 2; k++)
        if (a->items[k] != b->items[k]) return a->items[k] < b->items[k] ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

// ---------------------------------------------------------------- one pair of sides

typedef struct overlap {
    int32_t sides[2];
    int counts[2];  // of points in recovery->inside
    int deep;       // of those of the first side: the others are out already, and near
    double direction[3];
    double extent;  // m
} overlap;

static bool is_closed(const hk_contacts *c, int side)
{
    int bodies = c->settings->body_count;
    return side >= bodies || c->model->bodies[side].tet_count > 0;
}

static hk_status make_tree(const hk_contacts *c, int side, hk_winding_tree **tree)
{
    const hk_surface *s = c->proof->surface;
    int32_t *triangles = HK_ARRAY(int32_t, 3 * (size_t)s->triangle_count);
    int count = 0;
    *tree = NULL;
    if (!triangles) return HK_NO_MEMORY;
    for (int t = 0; t < s->triangle_count; t++)
        if (hk_triangle_body(s, t) == side)
            memcpy(triangles + 3 * (size_t)count++, s->triangles + 3 * (size_t)t,
                   3 * sizeof(int32_t));
    hk_status status = HK_OK;
    if (count > 0)
        status = hk_winding_tree_create(c->point_count, c->x, count, triangles, c->threads, tree);
    hk_free(triangles);
    return status;
}

static void add_scaled(double to[3], double scale, const double v[3])
{
    for (int i = 0; i < 3; i++) to[i] += scale * v[i];
}

// Points of sides[k] that are inside the other one.
static hk_status find_inside(hk_contacts *c, overlap *o, int k, double exit[3])
{
    hk_recovery *r = c->recovery;
    hk_winding_tree *tree;
    int other = o->sides[1 - k];
    o->counts[k] = 0;
    if (!is_closed(c, other)) return HK_OK;
    HK_TRY(make_tree(c, other, &tree));
    if (!tree) return HK_OK;
    const hk_winding_totals *all = hk_winding_tree_totals(tree);
    double sign = all->volume < 0 ? -1 : 1;
    for (int32_t p = 0; p < c->point_count; p++) {
        const double *x = c->x + 3 * (size_t)p;
        bool near = c->side[p] == o->sides[k];
        for (int i = 0; i < 3; i++) near = near && x[i] >= all->low[i] && x[i] <= all->high[i];
        if (!near || sign * hk_winding_beside(tree, x, 0.5 * sign, 1e-3).number <= 0.5) continue;
        hk_nearest nearest = hk_winding_nearest(tree, x, INFINITY, NULL);
        double away[3];
        closest_minus(nearest.point, x, away);
        add_scaled(exit, k == 0 ? 1 : -1, away);
        o->extent = fmax(o->extent, nearest.distance);
        r->inside[k][o->counts[k]++] = p;
    }
    hk_winding_tree_free(tree);
    return HK_OK;
}

// Corners of the triangles of sides[k] that cross something, each once.
static void take_corners(hk_contacts *c, overlap *o, int k, const hk_tangle *tangles, size_t count)
{
    hk_recovery *r = c->recovery;
    o->counts[k] = 0;
    for (size_t n = 0; n < count; n++) {
        const int32_t *t = c->proof->surface->triangles + 3 * (size_t)tangles[n].items[k];
        for (int i = 0; i < 3; i++) {
            if (r->marked[t[i]]) continue;
            r->marked[t[i]] = 1;
            r->inside[k][o->counts[k]++] = t[i];
        }
    }
    for (int n = 0; n < o->counts[k]; n++) r->marked[r->inside[k][n]] = 0;
}

static bool make_unit(double v[3], double least)
{
    double length = sqrt(closest_dot(v, v));
    if (!(length > least)) return false;
    for (int i = 0; i < 3; i++) v[i] /= length;
    return true;
}

// In which the first side leaves the second: outward areas within the overlap, ways out of it, or
// from middle to middle; what tells anything.
static void choose_direction(const hk_contacts *c, overlap *o, const double exit[3])
{
    const hk_recovery *r = c->recovery;
    double *d = o->direction, areas = 0, middle[2][3] = {{0}};
    for (int k = 0; k < 2; k++)
        for (int n = 0; n < o->counts[k]; n++) {
            int32_t p = r->inside[k][n];
            const double *normal = r->normal + 3 * (size_t)p;
            add_scaled(middle[k], 1.0 / o->counts[k], c->x + 3 * (size_t)p);
            if (!is_closed(c, o->sides[k])) continue;
            add_scaled(d, k == 0 ? -1 : 1, normal);
            areas += sqrt(closest_dot(normal, normal));
        }
    if (make_unit(d, 1e-3 * areas)) return;
    memcpy(d, exit, 3 * sizeof(double));
    if (make_unit(d, 1e-12)) return;
    for (int n = 0; n < o->counts[0]; n++)
        add_scaled(d, 1, r->normal + 3 * (size_t)r->inside[0][n]);
    if (make_unit(d, 1e-12)) return;
    closest_minus(middle[0], middle[1], d);
    if (!make_unit(d, 1e-12)) d[1] = 1;
}

static void measure_extent(const hk_contacts *c, overlap *o)
{
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 2; k++)
        for (int n = 0; n < o->counts[k]; n++) {
            double at = closest_dot(o->direction, c->x + 3 * (size_t)c->recovery->inside[k][n]);
            low = fmin(low, at);
            high = fmax(high, at);
        }
    if (high > low) o->extent = fmax(o->extent, high - low);
}

// Points of the first side that are out, but near: they are not to fall in again while the others
// are on their way.
static hk_status add_near(hk_contacts *c, overlap *o)
{
    hk_recovery *r = c->recovery;
    double reach = c->settings->distance;
    hk_winding_tree *tree;
    HK_TRY(make_tree(c, o->sides[1], &tree));
    if (!tree) return HK_OK;
    for (int n = 0; n < o->counts[0]; n++) r->marked[r->inside[0][n]] = 1;
    const hk_winding_totals *all = hk_winding_tree_totals(tree);
    for (int32_t p = 0; p < c->body_points; p++) {
        const double *x = c->x + 3 * (size_t)p;
        bool near = c->side[p] == o->sides[0] && !r->marked[p];
        for (int i = 0; i < 3; i++)
            near = near && x[i] >= all->low[i] - reach && x[i] <= all->high[i] + reach;
        if (!near) continue;
        hk_nearest nearest = hk_winding_nearest(tree, x, reach, NULL);
        if (nearest.triangle < 0) continue;
        r->depth[o->counts[0]] = -nearest.distance;
        r->inside[0][o->counts[0]++] = p;
    }
    for (int n = 0; n < o->counts[0]; n++) r->marked[r->inside[0][n]] = 0;
    hk_winding_tree_free(tree);
    return HK_OK;
}

// Of two sides with triangles.
static hk_status look_at_surfaces(hk_contacts *c, overlap *o, const hk_tangle *t, size_t count)
{
    double exit[3] = {0};
    HK_TRY(find_inside(c, o, 0, exit));
    HK_TRY(find_inside(c, o, 1, exit));
    bool none = o->counts[0] + o->counts[1] == 0;
    for (int k = 0; k < 2; k++)
        if (none) take_corners(c, o, k, t, count);
    choose_direction(c, o, exit);
    if (!none) measure_extent(c, o);  // edges that cross tell nothing of how deep they are
    for (int k = 0; k < 2; k++)
        if (o->counts[k] == 0) take_corners(c, o, k, t, count);
    o->deep = o->counts[0];
    for (int n = 0; n < o->deep; n++) c->recovery->depth[n] = INFINITY;
    return is_closed(c, o->sides[1]) ? add_near(c, o) : HK_OK;
}

// Of a body, and a plane or something round. Every point has its own way to go, so that those that
// are out rest there and wait for the others.
static void look_at_points(hk_contacts *c, overlap *o, const hk_tangle *t, size_t count)
{
    hk_recovery *r = c->recovery;
    o->extent = -INFINITY;
    for (size_t n = 0; n < count; n++) {
        int32_t p = t[n].items[0];
        int last = o->counts[0] - 1;
        add_scaled(o->direction, c->area[p], t[n].out);
        o->extent = fmax(o->extent, t[n].depth);
        if (last < 0 || r->inside[0][last] != p) {
            r->inside[0][++last] = p;
            r->depth[last] = t[n].depth;
        }
        r->depth[last] = fmax(r->depth[last], t[n].depth);
        o->counts[0] = last + 1;
    }
    r->inside[1][0] = c->start_of[o->sides[1] - c->settings->body_count];
    o->counts[1] = 1;
    double exit[3] = {0};
    if (!make_unit(o->direction, 1e-12)) choose_direction(c, o, exit);
}

static hk_status add_presses(hk_contacts *c, const overlap *o)
{
    const hk_recovery *r = c->recovery;
    const hk_model_contact *s = c->settings;
    int count = hk_max_int(o->counts[0], o->counts[1]);
    double area = 0;
    if (o->counts[0] == 0 || o->counts[1] == 0) return HK_OK;
    for (int n = 0; n < o->counts[0]; n++) area += c->area[r->inside[0][n]] / o->counts[0];
    HK_TRY(hk_reserve((void **)&c->slides, c->slide_count, sizeof *c->slides, &c->slide_capacity,
                      c->slide_count + (size_t)count));
    for (int n = 0; n < count; n++) {
        int32_t a = r->inside[0][n % o->counts[0]], b = r->inside[1][n % o->counts[1]];
        hk_slide press = {
            .point = {a, b, b, b}, .sides = {o->sides[0], o->sides[1]}, .press = true};
        press.friction.c[0] = 1;
        press.friction.c[1] = -1;
        memcpy(press.friction.normal, o->direction, sizeof press.friction.normal);
        press.friction.most = area * hk_contacts_modulus(c, o->sides[0], o->sides[1]) / s->distance;
        press.friction.slip = fmin(ADVANCE * o->extent, r->depth[n % o->counts[0]]) + s->distance;
        c->slides[c->slide_count++] = press;
    }
    return HK_OK;
}

// Of one pair of sides; whether it is tangled.
static hk_status press(hk_contacts *c, const hk_tangle *t, size_t count, bool *tangled)
{
    overlap o = {.sides = {t->sides[0], t->sides[1]}};
    bool surfaces = t->items[1] >= 0;
    *tangled = true;
    if (o.sides[0] == o.sides[1]) return HK_OK;  // a body in itself has no way out
    if (surfaces)
        HK_TRY(look_at_surfaces(c, &o, t, count));
    else
        look_at_points(c, &o, t, count);
    *tangled = o.extent >= 0;
    return *tangled ? add_presses(c, &o) : HK_OK;
}

// ---------------------------------------------------------------- all of them

static void find_normals(hk_contacts *c)
{
    double *normal = c->recovery->normal;
    memset(normal, 0, 3 * sizeof(double) * (size_t)c->point_count);
    for (int t = 0; t < c->triangle_count; t++) {
        const int32_t *v = c->triangles + 3 * (size_t)t;
        double e[3], f[3], n[3];
        closest_minus(c->x + 3 * (size_t)v[1], c->x + 3 * (size_t)v[0], e);
        closest_minus(c->x + 3 * (size_t)v[2], c->x + 3 * (size_t)v[0], f);
        closest_cross(e, f, n);
        for (int k = 0; k < 3; k++) add_scaled(normal + 3 * (size_t)v[k], 1.0 / 6, n);
    }
}

hk_status hk_contacts_find_presses(hk_contacts *c, const double *x)
{
    hk_recovery *r = c->recovery;
    r->count = r->key_count = c->slide_count = 0;
    HK_TRY(hk_contacts_need_proof(c));
    hk_contacts_gather(c, x);
    HK_TRY(collect_crossings(c));
    HK_TRY(collect_behind_planes(c));
    HK_TRY(collect_in_round(c, x));
    qsort(r->tangles, r->count, sizeof *r->tangles, by_sides);
    find_normals(c);
    for (size_t k = 0, end; k < r->count; k = end) {
        const hk_tangle *t = &r->tangles[k];
        for (end = k + 1; end < r->count && r->tangles[end].sides[0] == t->sides[0] &&
                          r->tangles[end].sides[1] == t->sides[1];)
            end++;
        HK_TRY(hk_reserve((void **)&r->keys, r->key_count, sizeof *r->keys, &r->key_capacity,
                          r->key_count + 1));
        bool tangled;
        HK_TRY(press(c, t, end - k, &tangled));
        if (tangled) r->keys[r->key_count++] = key_of(t->sides[0], t->sides[1]);
    }
    c->reach = -1;  // others repel each other now
    return hk_contact_uses_fill(&c->slide_uses, c->body_points, c->slides, sizeof *c->slides,
                                c->slide_count);
}
