#include "contact/touches.h"

#include <math.h>

#include "contact/push_lanes.h"
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
    size_t points = (size_t)c->point_count, body = (size_t)c->body_points;
    t->centre = HK_ZEROS(double, 3 * points);
    t->away = HK_ZEROS(double, 4 * points);
    t->at = HK_ZEROS(double, 4 * points);
    t->at_away = HK_ZEROS(double, 4 * points);
    t->other_at = HK_ZEROS(double, 4 * points);
    t->other_away = HK_ZEROS(double, 4 * points);
    t->lean_origin = HK_ZEROS(double, 4 * points);
    t->lean_away = HK_ZEROS(double, 4 * points);
    t->lean_soft = HK_ZEROS(double, body);
    t->lean_block = HK_ZEROS(double, 12 * body);
    t->touched = HK_ZEROS(int32_t, body);
    t->origin = HK_ZEROS(double, 4 * body);
    t->ball = HK_ZEROS(double, body);
    t->soft = HK_ZEROS(double, body);
    t->block = HK_ZEROS(double, 6 * body);
    t->turning = HK_ZEROS(double, 3 * body);
    t->uses.start = HK_ZEROS(int64_t, body + 1);
    t->slot_uses.start = HK_ZEROS(int64_t, body + 1);
    bool complete = t->centre && t->away && t->at && t->at_away && t->other_at && t->other_away &&
                    t->lean_origin && t->lean_away && t->lean_soft && t->lean_block && t->origin &&
                    t->touched && t->ball && t->soft && t->block && t->turning &&
                    t->slot_uses.start && t->uses.start;
    return complete ? HK_OK : HK_NO_MEMORY;  // contacts frees them
}

void hk_touches_free(hk_touches *t)
{
    if (!t) return;
    void *const arrays[] = {t->origin,
                            t->touched,
                            t->centre,
                            t->away,
                            t->gap,
                            t->touch,
                            t->near,
                            t->ball,
                            t->uses.start,
                            t->uses.use,
                            t->soft,
                            t->push,
                            t->run,
                            t->turning,
                            t->slid,
                            t->partial,
                            t->slot_point,
                            t->slot_drag,
                            t->drag_slot,
                            t->drag_point,
                            t->at,
                            t->at_away,
                            t->other_at,
                            t->other_away,
                            t->scratch,
                            t->candidate,
                            t->candidate_pair,
                            t->lean,
                            t->lean_origin,
                            t->lean_away,
                            t->lean_soft,
                            t->lean_block,
                            t->slot_force,
                            t->bend,
                            t->used_bend,
                            t->pull,
                            t->used_pull,
                            t->slot_block,
                            t->block,
                            t->impulse,
                            t->slot_uses.start,
                            t->slot_uses.use};
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

// Into contacts->x; the farthest that points are from where they were detected, from the centre,
// and from where was found what pushes.
typedef struct motions {
    double base, centre, found;  // m
} motions;

static motions gather(hk_contacts *c, const hk_places *q)
{
    const hk_touches *t = c->touches;
    double base = 0, centre = 0, found = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max \
                                                                            : base, centre, found)
    for (int p = 0; p < c->point_count; p++) {
        double *to = c->x + 3 * (size_t)p, d[3];
        for (int i = 0; i < 3 && p < c->body_points; i++)
            to[i] = hk_place_of(q, 4 * (int64_t)c->vertex[p] + i);
        closest_minus(to, c->base + 3 * (size_t)p, d);
        base = fmax(base, closest_dot(d, d));
        closest_minus(to, t->centre + 3 * (size_t)p, d);
        centre = fmax(centre, closest_dot(d, d));
        closest_minus(to, t->at + 4 * (size_t)p, d);
        found = fmax(found, closest_dot(d, d));
    }
    return (motions){sqrt(base), sqrt(centre), sqrt(found)};
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
    t->nearest = INFINITY;
    for (size_t k = 0; k < c->count; k++) {
        if (!(t->gap[k] < t->limit)) continue;
        if (t->gap[k] < t->nearest) t->nearest = t->gap[k];
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

void hk_touches_begin(hk_contacts *c)
{
    c->touches->crowded = c->touches->ended = true;
    c->touches->found = c->touches->placed = false;
    // A state that is read from a file has none of those of the solve before.
    c->touches->blocks = false;
}

// From the beginning of the step to the centre.
static hk_status find_slid(hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->slide_count;
    HK_TRY(hk_reserve((void **)&t->slid, 0, 4 * sizeof(double), &t->slid_capacity, (size_t)count));
#pragma omp parallel for schedule(static) num_threads(c->threads) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        const hk_slide *s = &c->slides[n];
        double *to = t->slid + 4 * n;
        to[0] = to[1] = to[2] = to[3] = 0;
        for (int v = 0; v < 4; v++)
            for (size_t i = 0, at = 3 * (size_t)s->point[v]; i < 3; i++)
                to[i] += s->friction.c[v] * (t->centre[at + i] - c->from[at + i]);
    }
    return HK_OK;
}

// How far gaps count as near.
static void choose_limit(const hk_contacts *c, double motion, bool other)
{
    hk_touches *t = c->touches;
    double distance = c->settings->distance;
    double margin = fmin(fmax(0.25 * distance, 4 * t->motion), 2 * distance);
    if (motion > 0) margin = fmax(margin, 2 * t->motion);  // nothing may be missed
    // A little more is better than another list.
    if (other || margin > t->limit - distance || margin < 0.25 * (t->limit - distance))
        t->limit = distance + margin;
}

static hk_status center(hk_contacts *c, const motions *m, double motion)
{
    hk_touches *t = c->touches;
    bool first = t->version < 0;
    double moved = first ? 0 : m->centre;
    double lately = t->ended ? 0 : t->found && !first ? m->found : moved;
    if (!isfinite(m->base) || !isfinite(moved))
        return hk_fail(HK_BAD_INPUT, "contact: a position is not finite");
    t->motion = fmax(fmax(lately, motion), 0.5 * t->motion);
    t->blocks_moved += t->ended ? moved : lately;
    HK_TRY(need_list(c, m->base, fmax(motion, 2 * t->motion)));
    bool other = t->version != c->version;
    choose_limit(c, motion, other);
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
    HK_TRY(find_slid(c));
    HK_TRY(hk_touches_list_candidates(c));
    t->found = t->crowded = t->ended = false;
    t->version = c->version;
    t->centres++;
    return HK_OK;
}

hk_status hk_touches_recall(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t bytes = 3 * sizeof(double) * (size_t)c->point_count;
    HK_TRY(reserve_list(c));
    memcpy(c->aim, c->x, bytes);
    memcpy(c->x, t->centre, bytes);
    for (size_t k = 0; k < c->count; k++) {
        t->touch[k].firsts = 0;
        if (t->gap[k] < t->limit) t->gap[k] = measure(c, k);
    }
    memcpy(c->x, c->aim, bytes);
    t->near_count = 0;
    list_near(c);
    HK_TRY(hk_touches_fill_uses(c, t->touch, sizeof *t->touch, t->near, t->near_count, &t->uses));
    return hk_touches_list_candidates(c);
}

// The centre in the places' own numbers.
static void set_origin(const hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
    const hk_push_table *kernels = hk_push_kernels(q);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->point_count; p += RUN) {
        int last = hk_min_int(p + RUN, c->point_count);
        kernels->begin(c, q->x, p, last);
        for (int64_t k = p; k < last && k < c->body_points; k++)
            for (int64_t i = 0, at = 4 * (int64_t)c->vertex[k]; i < 3; i++)
                t->origin[4 * k + i] = c->x[3 * k + i] - (q->base ? q->base[at + i] : 0);
    }
    t->placed = true;
}

void hk_touches_center(hk_contacts *c, const hk_places *q, double motion)
{
    motions moved = gather(c, q);
    // Obstacles may begin to move at any time.
    if (motion > 0 && c->settings->obstacle_count > 0)
        motion = fmax(motion, 2 * c->settings->distance);
    c->status = center(c, &moved, motion);
    if (c->status == HK_OK)
        set_origin(c, q);
    else
        c->touches->version = -1;
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

// Part of the margins, and of the least gap, that points may be away from the centre before a new
// one is worth while.
#define NEAR_CENTRE 0.25

static bool is_near_centre(const hk_touches *t, double moved)
{
    double most = fmin(0.5 * t->candidate_margin, NEAR_CENTRE * t->nearest);
    return !t->crowded && moved <= most;
}

// From the centre to q; the farthest from there, and from where was found what pushes.
static motions find_away(const hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
    double centre = 0, found = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : centre, found)
    for (int p = 0; p < c->body_points; p++) {
        double *d = t->away + 4 * (size_t)p, since[3];
        hk_place_away(c, q, p, d);
        closest_minus(d, t->at_away + 4 * (size_t)p, since);
        centre = fmax(centre, closest_dot(d, d));
        found = fmax(found, closest_dot(since, since));
    }
    return (motions){.centre = sqrt(centre), .found = sqrt(found)};
}

double hk_touches_energy(hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
    double energy, near = q->base ? NEAR_SINGLE : NEAR_DOUBLE;
    if (t->version >= 0 && t->version == c->version) {
        motions moved = find_away(c, q);
        // Where nothing pushes something may begin to.
        bool told = t->found && isfinite(t->least) && moved.found <= near * t->least;
        if (told) return hk_touches_near_energy(c);
        if (is_near_centre(t, moved.centre)) {
            t->motion = fmax(moved.found, 0.5 * t->motion);
            t->blocks_moved += moved.found;
        } else {
            hk_touches_center(c, q, 0);
        }
    } else {
        hk_touches_center(c, q, 0);
    }
    if (c->status == HK_OK) c->status = hk_touches_find_pushes(c, &energy);
    if (c->status != HK_OK) t->version = -1;
    return c->status == HK_OK ? energy : INFINITY;
}
