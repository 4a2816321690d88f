// How far surfaces may move without passing through each other.
//
// Between the closest points of two convex things (a vertex and a triangle, two edges) lies a slab
// across the line that joins them, with the one on one side and the other on the other. As long as
// their corners, moving along straight lines, leave the slab a part of its thickness, neither can
// have come through to the other side: no collision in time needs to be computed. Things whose ways
// are in boxes that do not overlap (ways.c) cannot meet at all.
#include <float.h>
#include <math.h>

#include "contact/contacts.h"
#include "contact/quick.h"
#include "contact/slab.h"

// Part of a gap that a step may close.
#define SHARE HK_GAP_TO_CLOSE
// Part of the contact distance that free points leave, which go by themselves: many hops would take
// all of a gap.
#define LEFT           HK_GAP_LEFT
#define LEFT_BY_DRIVEN 0.02

// How the corners of a pair move along the line between its closest points.
typedef struct hk_approach {
    double gap;       // m
    double room[4];   // m, from the corner to its side of the slab
    double speed[4];  // m, by which its move takes it towards the other side
    bool binds;       // whether it may be in the way of any part of the moves (find_approaches)
} hk_approach;

static hk_approach approach_of(const hk_contacts *c, const hk_way_pair *k)
{
    hk_approach to = {0};
    double x[4][3];
    int firsts = hk_pair_firsts(k->kind);
    hk_contact_corners(c->x, k->point, x);
    hk_closest at;
    quick_closest(k->kind, (const double(*)[3])x, at.c, at.w);
    at.square = closest_dot(at.w, at.w);
    double distance = pair_distance(k->kind, &at, (const double(*)[3])x);
    if (!(distance > k->thickness)) return to;
    hk_slab s = slab_between(k->kind, (const double(*)[3])x, at.c, at.w, distance);
    to.gap = fmin(distance, s.first - s.second) - k->thickness;
    if (!(to.gap > 0)) return to;
    for (int v = 0; v < 4; v++) {
        const double *move = c->move + 3 * (size_t)k->point[v];
        bool first = v < firsts;
        to.room[v] = first ? s.height[v] - s.first : s.second - s.height[v];
        to.speed[v] = (first ? -1 : 1) * closest_dot(s.normal, move);
        if (k->kind == HK_VERTEX_PLANE && !first) to.room[v] = 0;  // it is flat
    }
    return to;
}

// The fraction of the moves, at most `most`, that leaves the slab a part of the gap, and `left` of
// it, m.
static double fraction_by_slab(const hk_contacts *c, const hk_way_pair *k, double left, double most)
{
    hk_approach a = approach_of(c, k);
    int firsts = hk_pair_firsts(k->kind);
    if (!(a.gap > 0)) return 0;
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double speed = a.speed[u] + a.speed[v], gap = fmin(SHARE * a.gap, a.gap - left);
            double room = fmax(0, gap) + a.room[u] + a.room[v];
            if (speed * most > room) most = room / speed;
        }
    return most;
}

// Advances at the most, and the part of a distance that each may use up.
enum { MOST_ADVANCES = 256 };
#define ADVANCE 0.9

// Corners and moves of a pair, less the mean of the latter.
static void relative_moves(const hk_contacts *c, const int32_t point[4], double x[4][3],
                           double move[4][3])
{
    hk_contact_corners(c->x, point, x);
    hk_contact_corners(c->move, point, move);
    for (int i = 0; i < 3; i++) {
        double mean = 0.25 * (move[0][i] + move[1][i] + move[2][i] + move[3][i]);
        for (int v = 0; v < 4; v++) move[v][i] -= mean;
    }
}

// What rounding of positions may take from a gap, m.
static double rounding_of(double x[4][3], double move[4][3])
{
    double most = 0;
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) most = fmax(most, fabs(x[v][i]) + fabs(move[v][i]));
    return 32 * DBL_EPSILON * most;
}

double hk_contacts_advance(const hk_contacts *c, const hk_way_pair *k, double left, double most,
                           double x[4][3])
{
    double move[4][3], weight[4], w[3], origin[3], done = 0, keep = 0;
    double longest = hk_contacts_closing(c, k->kind, k->point, true);
    relative_moves(c, k->point, x, move);
    double rounding = rounding_of(x, move);
    // Relative to one corner: differences are exact where far coordinates are not.
    memcpy(origin, x[0], sizeof origin);
    for (int v = 0; v < 4; v++) closest_minus(x[v], origin, x[v]);
    for (int n = 0; n < MOST_ADVANCES; n++) {
        quick_closest(k->kind, (const double(*)[3])x, weight, w);
        double gap = sqrt(closest_dot(w, w)) - k->thickness;
        if (n == 0) keep = fmax(fmax((1 - SHARE) * gap, left), rounding);
        if (!(gap > keep)) break;
        double step = ADVANCE * (gap - (n == 0 ? keep : 0)) / longest;
        bool last = !(done + step < most);
        if (last) step = most - done;
        for (int v = 0; v < 4; v++)
            for (int i = 0; i < 3; i++) x[v][i] += step * move[v][i];
        if (!last) {
            done += step;
            continue;
        }
        quick_closest(k->kind, (const double(*)[3])x, weight, w);
        if (sqrt(closest_dot(w, w)) - k->thickness >= keep) done = most;
        break;
    }
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) x[v][i] += origin[i];
    return done;
}

// What slides along a surface comes near to the edges of its triangles one after the other, and
// slabs between them stand across its way. So where they do not let a pair go on, it is followed:
// from place to place, by less than the distance that there is (additive CCD, Li et al. 2021).
static double fraction_up_to(const hk_contacts *c, const hk_way_pair *k, double left, double most)
{
    double x[4][3], fraction = fraction_by_slab(c, k, left, most);
    if (fraction >= most || k->kind == HK_VERTEX_PLANE) return fraction;
    return fmax(fraction, hk_contacts_advance(c, k, left, most, x));
}

static double fraction_of(const hk_contacts *c, const hk_way_pair *k)
{
    return fraction_up_to(c, k, 0, 1);
}

// By slabs alone: what they allow is good for any part of the moves, of either side by itself.
double hk_contacts_fraction(const hk_contacts *c, const hk_way_pair *pair, double most)
{
    return fraction_by_slab(c, pair, 0, most);
}

// Of all pairs, or of those that `known` does not say to be in nobody's way.
static double least_fraction(const hk_contacts *c, double left, const hk_approach *known)
{
    double least = 1;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(min : least)
    for (size_t k = 0; k < c->swept_count; k++) {
        if (known && !known[k].binds) continue;
        double fraction = fraction_up_to(c, &c->swept[k], left, 1);
        least = fraction < least ? fraction : least;
    }
    return hk_partition_min_of(c->model->partition, least);
}

// ---------------------------------------------------------------- moves

bool hk_contacts_guarded(const hk_contacts *c)
{
    return c->settings->law != HK_CONTACT_PENALTY && !c->recovery;
}

// Time since `start`, without detections; those had taken `detected` by then.
static void count_time(hk_contacts *c, double start, double detected)
{
    c->guard_s += hk_now() - start - (c->detect_s - detected);
}

static bool all_well(const hk_contacts *c)
{
    return hk_partition_all(c->model->partition, c->status == HK_OK);
}

static void scale_moves(hk_contacts *c, double factor)
{
    for (size_t k = 0; k < 3 * (size_t)c->point_count; k++) c->move[k] *= factor;
}

// Finds what can meet, on as much of the way as is searched at once: which fraction of it; 0: it is
// none. `together`: all points go the same fraction of their moves.
static double begin_way(hk_contacts *c, bool together)
{
    hk_partition *g = c->model->partition;
    double longest = hk_partition_max_of(g, hk_contacts_longest_move(c)), part = 1;
    if (!isfinite(longest)) return 0;
    if (longest > c->longest) part = c->longest / longest;
    if (part < 1) scale_moves(c, part);
    c->together = together;
    c->status = hk_contacts_search_way(c);
    c->together = false;
    return all_well(c) ? part : 0;
}

void hk_contacts_take_step(hk_contacts *c, const double *x, const double *step, double length)
{
    hk_contacts_gather(c, x);
    memset(c->move, 0, 3 * sizeof(double) * (size_t)c->point_count);
    for (int p = 0; p < c->body_points; p++)
        for (size_t i = 0; i < 3; i++)
            c->move[3 * (size_t)p + i] = length * step[4 * (size_t)c->vertex[p] + i];
}

double hk_contacts_limit(hk_contacts *c, const double *x, const double *step, double length)
{
    if (!hk_contacts_guarded(c)) return length;
    double start = hk_now(), detected = c->detect_s;
    hk_contacts_take_step(c, x, step, length);
    double part = begin_way(c, true);
    if (part > 0) part *= least_fraction(c, 0, NULL);
    c->clamped += part < 1 && (!c->model->partition || c->model->partition->leads);
    count_time(c, start, detected);
    return length * part;
}

// ---------------------------------------------------------------- every body by itself

// What two corners take beyond their room is taken back from the bodies that come nearer.
static void shorten_sides(hk_contacts *c, const hk_way_pair *k)
{
    hk_approach a = approach_of(c, k);
    int firsts = hk_pair_firsts(k->kind), bodies = c->settings->body_count;
    int side[2] = {c->side[k->point[0]], c->side[k->point[firsts]]};
    double part[2] = {side[0] < bodies ? c->side_part[side[0]] : 1,
                      side[1] < bodies ? c->side_part[side[1]] : 1};
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double speed[2] = {part[0] * a.speed[u], part[1] * a.speed[v]};
            double room = SHARE * fmax(0, a.gap) + a.room[u] + a.room[v], free = 0;
            for (int i = 0; i < 2; i++)
                if (speed[i] > 0) free += speed[i];
            if (speed[0] + speed[1] <= room || !(free > 0)) continue;
            double given = speed[0] + speed[1] - free;
            for (int i = 0; i < 2; i++)
                if (speed[i] > 0) part[i] *= fmax(0, room - given) / free;
        }
    for (int i = 0; i < 2; i++)
        if (side[i] < bodies) c->side_part[side[i]] = fmin(c->side_part[side[i]], part[i]);
}

enum { SWEEPS = 3 };

void hk_contacts_shorten(hk_contacts *c, const double *x, double *step)
{
    if (!hk_contacts_guarded(c)) return;
    double start = hk_now(), detected = c->detect_s;
    hk_contacts_take_step(c, x, step, 1);
    double most = begin_way(c, false);
    for (int b = 0; b < c->settings->body_count; b++) c->side_part[b] = 1;
    for (int n = 0; n < SWEEPS; n++)
        for (size_t k = 0; k < c->swept_count; k++) shorten_sides(c, &c->swept[k]);
    // Against obstacles, which are all that a part may have, a pair bounds a body by itself.
    hk_partition_min(c->model->partition, c->side_part, c->settings->body_count);
    for (int k = 0; k < c->model->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            step[4 * (size_t)k + (size_t)i] *= most * c->side_part[c->body_of[k]];
    count_time(c, start, detected);
}

// ---------------------------------------------------------------- every point by itself

// Points that others move, held vertices and obstacles, go where they must; the others make way, or
// stay behind as far as they have to. part[p] is what a point takes of its move.

static bool is_driven(const hk_contacts *c, const uint8_t *held, int32_t point)
{
    return point >= c->body_points || (held && held[c->vertex[point]]);
}

// What two corners take beyond their room is taken back from those that are free and come nearer.
static void shorten_two(hk_contacts *c, const uint8_t *held, const hk_way_pair *k,
                        const hk_approach *a, int u, int v)
{
    int32_t point[2] = {k->point[u], k->point[v]};
    double speed[2] = {a->speed[u], a->speed[v]}, free = 0, given = 0;
    double most = fmin(SHARE * a->gap, a->gap - LEFT * c->settings->distance);
    double room = fmax(0, most) + a->room[u] + a->room[v];
    bool yields[2];
    for (int i = 0; i < 2; i++) {
        if (point[i] < c->body_points) speed[i] *= c->part[point[i]];
        yields[i] = speed[i] > 0 && !is_driven(c, held, point[i]);
        *(yields[i] ? &free : &given) += speed[i];
    }
    if (free + given <= room || !(free > 0)) return;
    for (int i = 0; i < 2; i++)
        if (yields[i]) c->part[point[i]] *= fmax(0, room - given) / free;
}

static void shorten(hk_contacts *c, const uint8_t *held, const hk_way_pair *k, const hk_approach *a)
{
    int firsts = hk_pair_firsts(k->kind);
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) shorten_two(c, held, k, a, u, v);
}

// Whether corners that come nearer, while those that leave stay behind, take more than there is.
static bool may_bind(const hk_contacts *c, const hk_way_pair *k, const hk_approach *a)
{
    double left = fmax(LEFT, LEFT_BY_DRIVEN) * c->settings->distance;
    double most = fmin(SHARE * a->gap, a->gap - left);
    int firsts = hk_pair_firsts(k->kind);
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double speed = fmax(0, a->speed[u]) + fmax(0, a->speed[v]);
            if (!(most > 0 && speed <= most + a->room[u] + a->room[v])) return true;
        }
    return false;
}

static hk_status find_approaches(hk_contacts *c)
{
    HK_TRY(hk_reserve((void **)&c->approaches, 0, sizeof *c->approaches, &c->approach_capacity,
                      c->swept_count));
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < c->swept_count; k++) {
        hk_approach *a = &c->approaches[k];
        *a = approach_of(c, &c->swept[k]);
        a->binds = may_bind(c, &c->swept[k], a);
    }
    return HK_OK;
}

// A point takes as much of its move as all processes that know it let it: a pair with an obstacle
// bounds a point by itself, whatever others say.
static void agree_on_parts(hk_contacts *c)
{
    hk_partition *g = c->model->partition;
    if (!g) return;
    for (int64_t k = 0; k < 4 * (int64_t)c->model->vertex_count; k++) c->shared[k] = 1;
    for (int p = 0; p < c->body_points; p++) c->shared[4 * (size_t)c->vertex[p]] = c->part[p];
    hk_partition_least(g, c->shared);
    for (int p = 0; p < c->body_points; p++) c->part[p] = c->shared[4 * (size_t)c->vertex[p]];
}

// Takes back what leads through something, from one point after the other.
static hk_status shorten_moves(hk_contacts *c, const uint8_t *held)
{
    hk_status status = find_approaches(c);
    for (int p = 0; p < c->body_points; p++) c->part[p] = 1;
    for (int n = 0; n < SWEEPS && status == HK_OK; n++)
        for (size_t k = 0; k < c->swept_count; k++)
            if (c->approaches[k].binds) shorten(c, held, &c->swept[k], &c->approaches[k]);
    agree_on_parts(c);
    for (int p = 0; p < c->body_points; p++)
        for (int i = 0; i < 3; i++) c->move[3 * (size_t)p + (size_t)i] *= c->part[p];
    return status;
}

// From c->x towards c->aim as far as is searched at once and nothing is in the way; which fraction
// of the way of driven points that is.
static double hop(hk_contacts *c, const uint8_t *held)
{
    for (size_t k = 0; k < 3 * (size_t)c->point_count; k++) c->move[k] = c->aim[k] - c->x[k];
    double part = begin_way(c, false);
    if (part > 0) c->status = shorten_moves(c, held);
    if (!(part > 0) || !all_well(c)) return 0;
    double least = least_fraction(c, LEFT_BY_DRIVEN * c->settings->distance, c->approaches);
    part *= least;
    for (int p = 0; p < c->point_count; p++) {
        bool whole = part == 1 && (p >= c->body_points || c->part[p] == 1);
        c->clamped += p < c->body_points && c->part[p] < 1 && hk_contacts_counts(c, p);
        for (size_t i = 3 * (size_t)p; i < 3 * (size_t)p + 3; i++)
            c->x[i] = whole ? c->aim[i] : c->x[i] + least * c->move[i];
    }
    return part;
}

static bool has_arrived(const hk_contacts *c, const uint8_t *held, bool driven)
{
    bool arrived = true;
    for (int p = 0; p < c->point_count && arrived; p++) {
        if (is_driven(c, held, p) != driven) continue;
        for (size_t i = 3 * (size_t)p; i < 3 * (size_t)p + 3; i++)
            arrived = arrived && c->x[i] == c->aim[i];
    }
    return hk_partition_all(c->model->partition, arrived);
}

// Hops at the most; of what free points still lack no more than so many; and what a hop must bring
// driven points forward.
enum { MOST_HOPS = 24, HOPS_FOR_FREE = 3 };
#define SMALLEST_HOP 0.02

// From c->x to c->aim; whether the driven points arrived.
static bool travel(hk_contacts *c, const uint8_t *held)
{
    bool arrived = has_arrived(c, held, true);
    for (int k = 0; k < MOST_HOPS && all_well(c); k++) {
        if (arrived && (k >= HOPS_FOR_FREE || has_arrived(c, held, false))) return true;
        double part = hop(c, held);
        if (!arrived && part < SMALLEST_HOP) return false;
        arrived = has_arrived(c, held, true);
    }
    return arrived;
}

// The surface's vertices are where c->x has them.
static void scatter(const hk_contacts *c, double *x)
{
    for (int p = 0; p < c->body_points; p++)
        memcpy(x + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, 3 * sizeof(double));
}

bool hk_contacts_walk(hk_contacts *c, double *x, const double *to)
{
    size_t bytes = 3 * sizeof(double) * (size_t)c->point_count;
    double start = hk_now(), detected = c->detect_s;
    if (hk_contacts_guarded(c)) {
        hk_contacts_gather(c, to);
        memcpy(c->aim, c->x, bytes);
        hk_contacts_gather(c, x);
        travel(c, NULL);
    }
    // What is inside of bodies is in nobody's way.
    memcpy(x, to, 4 * sizeof(double) * (size_t)c->model->vertex_count);
    if (!hk_contacts_guarded(c)) return true;
    scatter(c, x);
    count_time(c, start, detected);
    return has_arrived(c, NULL, false);
}

// ---------------------------------------------------------------- from the state that was kept

void hk_contacts_keep(hk_contacts *c, const double *x)
{
    hk_contacts_gather(c, x);
    memcpy(c->kept, c->x, 3 * sizeof(double) * (size_t)c->point_count);
}

// The first two that are in each other's way; of several processes, those of the first sides.
static void blame(hk_contacts *c)
{
    double sides = c->settings->body_count + c->settings->obstacle_count, two = sides * sides;
    for (size_t k = 0; k < c->swept_count && two == sides * sides; k++) {
        const hk_way_pair *s = &c->swept[k];
        if (fraction_of(c, s) >= 1) continue;
        two = sides * c->side[s->point[0]] + c->side[s->point[hk_pair_firsts(s->kind)]];
    }
    two = hk_partition_min_of(c->model->partition, two);
    if (two >= sides * sides) return;
    c->blocking[0] = (int32_t)floor(two / sides);
    c->blocking[1] = (int32_t)(two - sides * c->blocking[0]);
}

// c->aim is x with obstacles as they are, c->x what was kept.
static void aim_at(hk_contacts *c, const double *x)
{
    size_t bytes = 3 * sizeof(double) * (size_t)c->point_count;
    hk_contacts_gather(c, x);
    memcpy(c->aim, c->x, bytes);
    memcpy(c->x, c->kept, bytes);
    c->blocking[0] = c->blocking[1] = -1;
}

bool hk_contacts_approach(hk_contacts *c, const uint8_t *held, double *x)
{
    if (!hk_contacts_guarded(c)) return true;
    double start = hk_now(), detected = c->detect_s;
    aim_at(c, x);
    bool arrived = travel(c, held);
    if (!arrived && all_well(c) && hk_contacts_carry(c, held)) {
        memcpy(c->x, c->kept, 3 * sizeof(double) * (size_t)c->point_count);
        arrived = travel(c, held);
    }
    if (!arrived) blame(c);
    scatter(c, x);
    // Obstacles stand where they were placed.
    size_t first = 3 * (size_t)c->body_points, all = 3 * (size_t)c->point_count;
    memcpy(c->x + first, c->aim + first, sizeof(double) * (all - first));
    count_time(c, start, detected);
    return arrived;
}

bool hk_contacts_passes(hk_contacts *c, const double *x)
{
    if (!hk_contacts_guarded(c)) return true;
    double start = hk_now(), detected = c->detect_s, part = 0, least = 1;
    size_t all = 3 * (size_t)c->point_count;
    aim_at(c, x);
    while (part < 1 && least >= 1) {
        for (size_t k = 0; k < all; k++) c->move[k] = c->aim[k] - c->x[k];
        part = begin_way(c, true);
        least = part > 0 ? least_fraction(c, 0, NULL) : 0;
        for (size_t k = 0; k < all && least >= 1; k++) c->x[k] += c->move[k];
    }
    if (least < 1) blame(c);
    memcpy(c->x, c->aim, sizeof(double) * all);
    count_time(c, start, detected);
    return least >= 1;
}
