// Two parts on their ways, followed from slab to slab.
//
// The slab between closest points stands across the way of what only slides past: a vertex that
// goes along a surface by more than a triangle would run into the slabs between it and all the
// triangles ahead. So a pair goes on to where a part of the slab is left, as every corner moves
// along its normal, and has a new slab there. While there is something of one of them the sides are
// apart; the last one tells how they meet.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// Slabs of a way, and what is left of one beside what has to be when the next is made.
enum { MOST_SLABS = 16 };
#define NEXT_SLAB 0.1
// A pair is not followed nearer than this, relative to what has to be left.
#define CLOSE 1.05

typedef struct place {  // of a pair on its way
    double x[4][3], c[4];
    double distance, gap;
    hk_slab slab;
} place;

static void find_place(const double x[4][3], const double move[4][3], double time,
                       const hk_way_pair *way, place *at)
{
    hk_closest near;
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) at->x[v][i] = x[v][i] + time * move[v][i];
    quick_closest(way->kind, (const double(*)[3])at->x, at->c, near.w);
    near.square = closest_dot(near.w, near.w);
    memcpy(near.c, at->c, sizeof near.c);
    at->distance = pair_distance(way->kind, &near, (const double(*)[3])at->x);
    at->slab = slab_between(way->kind, (const double(*)[3])at->x, at->c, near.w, at->distance);
    at->gap = fmin(at->distance, at->slab.first - at->slab.second) - way->thickness;
}

// How much longer the slab leaves so much of itself.
static double slab_lasts(const place *at, const double move[4][3], const hk_way_pair *way,
                         double left)
{
    int firsts = hk_pair_firsts(way->kind), last = way->kind == HK_VERTEX_PLANE ? 2 : 4;
    double speed[4], least = INFINITY;
    for (int v = 0; v < last; v++) speed[v] = closest_dot(at->slab.normal, move[v]);
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < last; v++) {
            double nearer = speed[v] - speed[u];
            double room = at->slab.height[u] - at->slab.height[v] - way->thickness - left;
            if (nearer * least > room) least = room > 0 ? room / nearer : 0;
        }
    return least;
}

// Where the gap of a pair has come down to `floor` (m, more than 0), or the end, 1; false: the end.
static bool follow(const double x[4][3], const double move[4][3], const hk_way_pair *way,
                   double floor, double *time, place *at)
{
    for (int n = 0; n < MOST_SLABS; n++) {
        find_place(x, move, *time, way, at);
        if (!(at->gap > CLOSE * floor)) return true;
        if (*time >= 1) return false;
        *time += slab_lasts(at, move, way, floor + NEXT_SLAB * (at->gap - floor));
        if (*time > 1) *time = 1;
    }
    find_place(x, move, *time, way, at);
    return true;
}

// ---------------------------------------------------------------- the guard

bool hk_sweep_stops(const hk_sweep *s, const hk_sweep_pair *k, double *time)
{
    const hk_contacts *c = s->contacts;
    double x[4][3], move[4][3];
    place at;
    *time = 0;
    if (k->way.kind == HK_VERTEX_PLANE) return true;  // its slab is the same all the way
    hk_contact_corners(c->x, k->way.point, x);
    hk_contact_corners(c->move, k->way.point, move);
    find_place((const double(*)[3])x, (const double(*)[3])move, 0, &k->way, &at);
    double floor = at.gap - hk_sweep_room(at.gap, k->width);
    if (!(at.gap > CLOSE * floor)) return true;
    return follow((const double(*)[3])x, (const double(*)[3])move, &k->way, floor, time, &at);
}

// ---------------------------------------------------------------- forces

bool hk_sweep_meet(const hk_contacts *c, const double move[4][3], hk_sweep_pair *k)
{
    double x[4][3], driven = 0, out = 0;
    place at;
    hk_contact_corners(c->x, k->way.point, x);
    for (int v = 0; v < 4; v++) driven = fmax(driven, hk_sweep_driven(c, k->way.point[v]));
    find_place((const double(*)[3])x, move, 0, &k->way, &at);
    double floor = 0.5 * fmin(at.gap, k->width);
    bool meets = true;
    k->time = k->nearer = 0;
    if (at.gap > 0 && driven == 0)
        meets = follow((const double(*)[3])x, move, &k->way, floor, &k->time, &at);
    if (at.distance != 0) {
        memcpy(k->c, at.c, sizeof k->c);
        memcpy(k->n, at.slab.normal, sizeof k->n);
    }
    k->distance = 0;
    for (int v = 0; v < 4; v++) {
        k->distance += k->c[v] * closest_dot(k->n, x[v]);
        out += k->c[v] * closest_dot(k->n, move[v]);
    }
    k->nearer = fmax(0, -out);
    if (driven > 0)
        return k->distance - k->way.thickness + out < HK_SWEEP_AHEAD * k->width + driven;
    return meets || at.gap < HK_SWEEP_AHEAD * k->width;
}

// ---------------------------------------------------------------- who is nearest

// Fills start and list with what is beside points: `each` numbers of `count` things with as many
// corners, a thing itself (each: 0) or the other corner.
static hk_status list_around(int points, const int32_t *corners, int corner_count, int count,
                             bool other, int32_t **start, int32_t **list)
{
    *start = HK_ZEROS(int32_t, points + 2);
    *list = HK_ARRAY(int32_t, (size_t)corner_count * (size_t)count + 1);
    if (!*start || !*list) return HK_NO_MEMORY;
    for (int k = 0; k < corner_count * count; k++) (*start)[corners[k] + 2]++;
    for (int p = 0; p < points; p++) (*start)[p + 2] += (*start)[p + 1];
    for (int k = 0; k < corner_count * count; k++)
        (*list)[(*start)[corners[k] + 1]++] = other ? corners[k ^ 1] : k / corner_count;
    return HK_OK;
}

hk_status hk_sweep_list_around(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    HK_TRY(list_around(c->point_count, c->edges, 2, c->edge_count, true, &s->ring_start, &s->ring));
    return list_around(c->point_count, c->triangles, 3, c->triangle_count, false, &s->fan_start,
                       &s->fan);
}

typedef struct looking {  // from the closest point of a side to the other one
    const hk_contacts *contacts;
    double time, from[3], to[3];
} looking;

// Closest points that are at the border of what they are of are nearest to each other only if what
// is beside it draws back from the other side; by more than this it does not.
#define LEAN 0.1

static bool leans(const looking *l, int32_t point)
{
    const double *x = l->contacts->x + 3 * (size_t)point;
    const double *move = l->contacts->move + 3 * (size_t)point;
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = x[i] + l->time * move[i] - l->from[i];
    double along = closest_dot(d, l->to);
    return along > 0 && along * along > LEAN * LEAN * closest_dot(d, d);
}

static bool side_leans(const hk_sweep *s, const looking *l, const int32_t *corner, int count)
{
    const hk_contacts *c = s->contacts;
    if (count == 1)
        for (int k = s->ring_start[corner[0]]; k < s->ring_start[corner[0] + 1]; k++)
            if (leans(l, s->ring[k])) return true;
    if (count != 2) return false;
    for (int k = s->fan_start[corner[0]]; k < s->fan_start[corner[0] + 1]; k++) {
        const int32_t *t = c->triangles + 3 * (size_t)s->fan[k];
        for (int v = 0; v < 3; v++) {
            int32_t a = t[(v + 1) % 3], b = t[(v + 2) % 3];
            bool beside = (a == corner[0] && b == corner[1]) || (a == corner[1] && b == corner[0]);
            if (beside && leans(l, t[v])) return true;
        }
    }
    return false;
}

bool hk_sweep_is_nearest(const hk_sweep *s, const hk_sweep_pair *k, double time)
{
    const hk_contacts *c = s->contacts;
    int firsts = hk_pair_firsts(k->way.kind);
    if (k->way.kind == HK_VERTEX_PLANE) return true;
    for (int side = 0; side < 2; side++) {
        looking l = {.contacts = c, .time = time};
        int32_t corner[3];
        int count = 0;
        for (int v = side ? firsts : 0; v < (side ? 4 : firsts); v++) {
            size_t p = 3 * (size_t)k->way.point[v];
            for (size_t i = 0; i < 3; i++)
                l.from[i] += fabs(k->c[v]) * (c->x[p + i] + time * c->move[p + i]);
            if (fabs(k->c[v]) > 1e-3) corner[count++] = k->way.point[v];
        }
        for (int i = 0; i < 3; i++) l.to[i] = side ? k->n[i] : -k->n[i];
        if (side_leans(s, &l, corner, count)) return false;
    }
    return true;
}

// ---------------------------------------------------------------- who comes first

// What met something else before, and would be in there by now, meets nothing: deeper than this,
// relative to the width of contacts.
#define INSIDE 0.25

// When corners of bodies first meet something, and by how much they go on, m.
static void find_arrivals(hk_sweep *s)
{
    for (size_t k = 0; k < s->count; k++)
        for (int v = 0; v < 4; v++) s->arrival[s->pairs[k].way.point[v]] = (hk_sweep_arrival){1, 0};
    for (size_t k = 0; k < s->count; k++) {
        const hk_sweep_pair *pair = &s->pairs[k];
        for (int v = 0; v < 4; v++) {
            int32_t p = pair->way.point[v];
            if (p >= s->contacts->body_points || fabs(pair->c[v]) < 0.1) continue;
            if (pair->time < s->arrival[p].time)
                s->arrival[p] = (hk_sweep_arrival){pair->time, pair->nearer};
        }
    }
}

void hk_sweep_drop_late(hk_sweep *s)
{
    size_t count = 0;
    find_arrivals(s);
    for (size_t k = 0; k < s->count; k++) {
        const hk_sweep_pair *pair = &s->pairs[k];
        double depth[2] = {0, 0};
        for (int v = 0; v < 4; v++) {
            hk_sweep_arrival first = s->arrival[pair->way.point[v]];
            if (pair->time > first.time)
                depth[v >= hk_pair_firsts(pair->way.kind)] +=
                    fabs(pair->c[v]) * first.nearer * (pair->time - first.time);
        }
        if (fmax(depth[0], depth[1]) > INSIDE * pair->width) continue;
        s->pairs[count++] = *pair;
    }
    s->count = count;
}
