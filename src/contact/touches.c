#include "contact/touches.h"

#include <math.h>

#include "contact/quick.h"
#include "contact/slab.h"

enum { RUN = 128 };  // contacts that are worth more than one thread

// Part of a gap that both sides together may take between two centres.
#define SHARE 0.9
// Part of the width of a contact that they always leave. Iterations that are truncated one after
// the other would close a gap to nothing, and barriers that are logarithms hardly resist.
#define LEFT 1e-5
// Part of the reach of a list that points may use; the rest is for rounding.
#define REACHED 0.95

// ---------------------------------------------------------------- creation

hk_status hk_touches_create(const hk_contacts *c, hk_touches **touches)
{
    hk_touches *t = HK_NEW(hk_touches);
    if (!t) return HK_NO_MEMORY;
    *touches = t;
    t->version = -1;
    t->slotted_pushes = SIZE_MAX;
    t->centre = HK_ZEROS(double, 3 * (size_t)c->point_count);
    t->away = HK_ZEROS(double, 4 * (size_t)c->point_count);
    t->origin = HK_ZEROS(double, 4 * (size_t)c->body_points);
    t->touched = HK_ZEROS(int32_t, c->body_points);
    t->ball = HK_ZEROS(double, c->body_points);
    t->soft = HK_ZEROS(double, c->body_points);
    t->block = HK_ZEROS(double, 6 * (size_t)c->body_points);
    t->turning = HK_ZEROS(double, 3 * (size_t)c->body_points);
    t->uses.start = HK_ZEROS(int64_t, c->body_points + 1);
    t->slot_uses.start = HK_ZEROS(int64_t, c->body_points + 1);
    bool complete = t->centre && t->away && t->origin && t->touched && t->ball && t->soft &&
                    t->block && t->turning && t->slot_uses.start && t->uses.start;
    return complete ? HK_OK : HK_NO_MEMORY;  // contacts frees them
}

void hk_touches_free(hk_touches *t)
{
    if (!t) return;
    void *const arrays[] = {
        t->origin,        t->touched,    t->centre,     t->away,       t->gap,
        t->touch,         t->near,       t->uses.start, t->uses.use,   t->ball,
        t->soft,          t->push,       t->run,        t->turning,    t->slid,
        t->partial,       t->slot_point, t->drag_slot,  t->drag_point, t->slot_uses.start,
        t->slot_uses.use, t->lean_push,  t->lean_drag,  t->corner,     t->bend,
        t->used_bend,     t->pull,       t->used_pull,  t->block,      t->impulse};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
    hk_free(t);
}

static hk_status reserve_list(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(hk_reserve((void **)&t->gap, 0, sizeof(double), &t->gap_capacity, c->count));
    HK_TRY(hk_reserve((void **)&t->touch, 0, sizeof(hk_touch), &t->touch_capacity, c->count));
    return hk_reserve((void **)&t->near, 0, sizeof *t->near, &t->near_capacity, c->count);
}

// ---------------------------------------------------------------- where points are

// Into contacts->x; the farthest that points are from where they were detected, and from the
// centre.
static double gather(hk_contacts *c, const hk_places *q, double *moved)
{
    const hk_touches *t = c->touches;
    double base = 0, centre = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : base, centre)
    for (int p = 0; p < c->point_count; p++) {
        double *to = c->x + 3 * (size_t)p, d[3];
        for (int i = 0; i < 3 && p < c->body_points; i++)
            to[i] = hk_place_of(q, 4 * (int64_t)c->vertex[p] + i);
        closest_minus(to, c->base + 3 * (size_t)p, d);
        base = fmax(base, closest_dot(d, d));
        closest_minus(to, t->centre + 3 * (size_t)p, d);
        centre = fmax(centre, closest_dot(d, d));
    }
    *moved = sqrt(centre);
    return sqrt(base);
}

// A list that serves for as long as points move as they did. Where that is farther than lists are
// worth while, for a part of it.
static hk_status need_list(hk_contacts *c, double away, double motion)
{
    double wanted = fmin(motion, 0.5 * c->widest);
    if (hk_contacts_reach(c, (away + wanted) / REACHED)) return HK_OK;
    double reach = fmin(fmax(6 * wanted, 0.5 * c->settings->distance), c->widest);
    return hk_contacts_detect(c, reach);
}

// ---------------------------------------------------------------- contacts at the centre

// What corners may take of the slab that is free between the two sides, half of it or all where the
// other side stands still, and what they are away from it. Where rounding leaves no slab that could
// be told, nobody moves.
static void find_rooms(const hk_slab *s, hk_touch *to)
{
    double slab = s->first - s->second - to->pair.thickness, left = LEFT * to->pair.width;
    if (slab > to->gap) slab = to->gap;
    double free = fmin(slab, (slab - left) / SHARE);
    for (int v = 0; v < 4; v++) {
        double beyond = v < to->firsts ? s->height[v] - s->first : s->second - s->height[v];
        if (to->pair.kind == HK_VERTEX_PLANE && v >= to->firsts) beyond = 0;  // it is flat
        to->room[v] = slab > 0 ? to->part_of[v] * fmax(0, free) + beyond : -INFINITY;
    }
}

// What does not change with the centre.
static void fill_touch(const hk_contacts *c, const hk_contact *k, hk_touch *to)
{
    memcpy(to->point, k->point, sizeof to->point);
    to->firsts = hk_pair_firsts(k->pair.kind);
    to->pair = k->pair;
    to->friction = hk_contact_friction(c->settings, k->sides[0], k->sides[1]);
    for (int v = 0; v < 4; v++)
        to->part_of[v] = k->sides[v < to->firsts] >= c->settings->body_count ? SHARE : 0.5 * SHARE;
}

// The gap of a contact, and where it is near the rest of it.
static double measure(const hk_contacts *c, size_t number)
{
    hk_touches *t = c->touches;
    const hk_contact *k = &c->list[number];
    const hk_pair *pair = &k->pair;
    hk_touch *to = &t->touch[number];
    double x[4][3], w[3];
    hk_contact_corners(c->x, k->point, x);
    quick_closest(pair->kind, (const double(*)[3])x, to->c, w);
    hk_closest near;
    near.square = closest_dot(w, w);
    memcpy(near.w, w, sizeof w);
    double distance = pair_distance(pair->kind, &near, (const double(*)[3])x);
    double gap = distance - pair->thickness;
    if (!(gap < t->limit)) return gap;
    if (to->firsts == 0) fill_touch(c, k, to);
    to->gap = gap;
    hk_slab slab = slab_between(pair->kind, (const double(*)[3])x, to->c, w, distance);
    memcpy(to->normal, slab.normal, sizeof to->normal);
    find_rooms(&slab, to);
    return gap;
}

// Closest points of the contacts that may be near: the others have come nearer by twice the motion
// at the most.
static void measure_all(hk_contacts *c, double moved)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->count;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (count > RUN)
    for (int64_t k = 0; k < count; k++) {
        t->gap[k] -= 2 * moved;
        if (t->gap[k] < t->limit) t->gap[k] = measure(c, (size_t)k);
    }
}

// ---------------------------------------------------------------- the near ones

// Their numbers; whether these are others than before.
static bool list_near(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t count = 0;
    bool same = true;
    for (size_t k = 0; k < c->count; k++) {
        if (!(t->gap[k] < t->limit)) continue;
        same = same && count < t->near_count && t->near[count] == k;
        t->near[count++] = k;
    }
    same = same && count == t->near_count;
    t->near_count = count;
    return !same;
}

hk_status hk_touches_fill_uses(const hk_contacts *c, const void *list, size_t stride,
                               const size_t *chosen, size_t count, hk_contact_uses *u)
{
    int points = c->body_points;
    int64_t total = 0;
    memset(u->start, 0, sizeof(int64_t) * ((size_t)points + 1));
    for (size_t n = 0; n < count; n++) {
        size_t at = chosen ? chosen[n] : n;
        const int32_t *point = (const int32_t *)((const char *)list + stride * at);
        for (int v = 0; v < 4; v++)
            if (point[v] < points) u->start[point[v] + 1]++, total++;
    }
    HK_TRY(hk_reserve((void **)&u->use, 0, sizeof *u->use, &u->capacity, (size_t)total));
    for (int p = 0; p < points; p++) u->start[p + 1] += u->start[p];
    // From the last to the first, so that every start ends where it belongs.
    for (size_t n = count; n-- > 0;) {
        size_t at = chosen ? chosen[n] : n;
        const int32_t *point = (const int32_t *)((const char *)list + stride * at);
        for (int v = 3; v >= 0; v--)
            if (point[v] < points) u->use[--u->start[point[v] + 1]] = 4 * (int64_t)n + v;
    }
    for (int p = 0; p < points; p++) u->start[p] = u->start[p + 1];
    u->start[points] = total;
    return HK_OK;
}

// How far points may go by the contacts that are not near, and at least by all.
static void find_balls(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    double share = 0.5 * SHARE;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) {
        double d[3], near = INFINITY, far = INFINITY;
        closest_minus(c->x + 3 * (size_t)p, c->base + 3 * (size_t)p, d);
        for (int64_t k = c->uses.start[p]; k < c->uses.start[p + 1]; k++) {
            double gap = t->gap[c->uses.use[k] / 4];
            if (gap < near) near = gap;
            if (gap >= t->limit && gap < far) far = gap;
        }
        double ball = REACHED * c->reach - sqrt(closest_dot(d, d));
        ball = share * far < ball ? share * far : ball;
        if (!(ball > 0)) ball = 0;
        t->ball[p] = ball;
        t->soft[p] = near > 0 ? (share * near < ball ? share * near : ball) : 0;
    }
}

// ---------------------------------------------------------------- centres

static hk_status center(hk_contacts *c, double away, double moved, double motion, double *energy)
{
    hk_touches *t = c->touches;
    double distance = c->settings->distance;
    if (t->version < 0) moved = 0;
    if (!isfinite(away) || !isfinite(moved))
        return hk_fail(HK_BAD_INPUT, "contact: a position is not finite");
    t->motion = fmax(fmax(moved, motion), 0.5 * t->motion);
    HK_TRY(need_list(c, away, fmax(motion, 2 * t->motion)));
    bool other = t->version != c->version;
    double margin = fmin(fmax(0.25 * distance, 4 * t->motion), 2 * distance);
    if (motion > 0) margin = fmax(margin, 2 * t->motion);  // nothing may be missed
    // A little more is better than another list.
    if (other || margin > t->limit - distance || margin < 0.25 * (t->limit - distance))
        t->limit = distance + margin;
    if (other) t->near_count = 0;
    HK_TRY(reserve_list(c));
    for (size_t k = 0; k < c->count && other; k++) {
        t->gap[k] = -INFINITY;
        t->touch[k].firsts = 0;
    }
    measure_all(c, moved);
    bool changed = list_near(c) || other;
    if (changed)
        HK_TRY(
            hk_touches_fill_uses(c, t->touch, sizeof *t->touch, t->near, t->near_count, &t->uses));
    find_balls(c);
    memcpy(t->centre, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    memset(t->away, 0, 4 * sizeof(double) * (size_t)c->point_count);
    t->placed = true;
    t->version = c->version;
    t->centres++;
    return hk_touches_find_pushes(c, moved, energy);
}

double hk_touches_center(hk_contacts *c, const hk_places *q, double motion)
{
    double moved, energy = INFINITY, away = gather(c, q, &moved);
    // Obstacles may begin to move at any time.
    if (motion > 0 && c->settings->obstacle_count > 0)
        motion = fmax(motion, 2 * c->settings->distance);
    c->status = center(c, away, moved, motion, &energy);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t p = 0; p < c->body_points; p++)
        for (int64_t i = 0, at = 4 * (int64_t)c->vertex[p]; i < 3; i++)
            c->touches->origin[4 * p + i] = c->x[3 * p + i] - (q->base ? q->base[at + i] : 0);
    if (c->status != HK_OK) c->touches->version = -1;
    return c->status == HK_OK ? energy : INFINITY;
}

double hk_touches_moved(const hk_contacts *c)
{
    const hk_touches *t = c->touches;
    double square = 0;
    if (t->version < 0 || t->version != c->version) return INFINITY;
    for (int p = 0; p < c->point_count; p++) {
        double d[3];
        closest_minus(c->x + 3 * (size_t)p, t->centre + 3 * (size_t)p, d);
        double far = closest_dot(d, d);
        square = far > square ? far : square;
    }
    return sqrt(square);
}

// Displacements from the centre relative to the least gap, from which on energies are evaluated
// anew: their errors go with the square, 1/2 (M/g)².
#define NEAR_SINGLE 1e-4
#define NEAR_DOUBLE 1e-6

double hk_touches_energy(hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
    double square = 0, near = q->base ? NEAR_SINGLE : NEAR_DOUBLE;
    if (t->version < 0 || t->version != c->version) return hk_touches_center(c, q, 0);
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : square)
    for (int p = 0; p < c->body_points; p++) {
        double *d = t->away + 4 * (size_t)p;
        hk_place_away(c, q, p, d);
        square = fmax(square, closest_dot(d, d));
    }
    if (!(square <= near * near * t->least * t->least)) return hk_touches_center(c, q, 0);
    t->placed = true;
    return hk_touches_near_energy(c);
}
