// How far surfaces may move without passing through each other.
//
// Between the closest points of two convex things (a vertex and a triangle, two edges) lies a slab
// across the line that joins them, with the one on one side and the other on the other. As long as
// their corners, moving along straight lines, leave the slab a part of its thickness, neither can
// have come through to the other side: no collision in time needs to be computed. Things that are
// farther apart than the list of contacts reaches cannot meet while no point moves farther than
// that.
#include <math.h>

#include "contact/contacts.h"

// Part of a gap that a step may close.
#define SHARE 0.9

// How the corners of a contact move along the line between its closest points.
typedef struct approach {
    double gap;       // m
    double room[4];   // m, from the corner to its side of the slab
    double speed[4];  // m, by which its move takes it towards the other side
} approach;

static approach approach_of(const hk_contacts *c, const hk_contact *k)
{
    approach to = {0};
    double x[4][3], normal[3], height[4], side[2] = {0, 0};
    int firsts = hk_contact_firsts(k);
    hk_contact_corners(c->x, k->point, x);
    hk_closest at = pair_closest(k->pair.kind, (const double(*)[3])x);
    double distance = pair_distance(k->pair.kind, &at, (const double(*)[3])x);
    to.gap = distance - k->pair.thickness;
    if (!(to.gap > 0)) return to;
    for (int i = 0; i < 3; i++) normal[i] = at.w[i] / distance;
    // Heights are relative to one corner: differences are exact where far coordinates are not.
    for (int v = 0; v < 4; v++) {
        double d[3];
        closest_minus(x[v], x[0], d);
        height[v] = closest_dot(normal, d);
        side[v >= firsts] += fabs(at.c[v]) * height[v];
    }
    for (int v = 0; v < 4; v++) {
        const double *move = c->move + 3 * (size_t)k->point[v];
        bool first = v < firsts;
        to.room[v] = fmax(0, first ? height[v] - side[0] : side[1] - height[v]);
        to.speed[v] = (first ? -1 : 1) * closest_dot(normal, move);
        if (k->pair.kind == HK_VERTEX_PLANE && !first) to.room[v] = 0;  // it is flat
    }
    return to;
}

// The fraction of the moves, at most `most`, that leaves a part of the gap.
double hk_contacts_fraction(const hk_contacts *c, const hk_contact *k, double most)
{
    approach a = approach_of(c, k);
    int firsts = hk_contact_firsts(k);
    if (!(a.gap > 0)) return 0;
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double speed = a.speed[u] + a.speed[v], room = SHARE * a.gap + a.room[u] + a.room[v];
            if (speed * most > room) most = room / speed;
        }
    return most;
}

// ---------------------------------------------------------------- moves

static double longest_move(const hk_contacts *c)
{
    double square = 0;
    for (int p = 0; p < c->point_count; p++) {
        const double *m = c->move + 3 * (size_t)p;
        square = fmax(square, closest_dot(m, m));
    }
    return sqrt(square);
}

// Detects at contacts->x again where the list does not reach as far as the moves go; the fraction
// of them that it reaches.
static double reach_for(hk_contacts *c, double away, double most)
{
    double longest = longest_move(c), wanted = most * longest;
    if (!isfinite(wanted)) return 0;
    if (c->reach >= 0 && away + wanted <= c->reach) return most;
    double reach = fmin(fmax(1.2 * wanted, 0.5 * c->settings->distance), c->widest);
    c->status = hk_contacts_detect(c, reach);
    if (c->status != HK_OK) return 0;
    return wanted <= reach ? most : reach / longest;
}

static void clear_moves(hk_contacts *c)
{
    memset(c->move, 0, 3 * sizeof(double) * (size_t)c->point_count);
}

static bool is_guarded(const hk_contacts *c)
{
    return c->settings->law != HK_CONTACT_PENALTY;
}

double hk_contacts_limit(hk_contacts *c, const double *x, const double *step, double length)
{
    if (!is_guarded(c)) return length;
    double away = hk_contacts_gather(c, x);
    clear_moves(c);
    for (int p = 0; p < c->body_points; p++)
        memcpy(c->move + 3 * (size_t)p, step + 4 * (size_t)c->vertex[p], 3 * sizeof(double));
    double least = reach_for(c, away, length);
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(min : least)
    for (size_t k = 0; k < c->count; k++)
        least = fmin(least, hk_contacts_fraction(c, &c->list[k], length));
    return least;
}

// ---------------------------------------------------------------- every point by itself

// Part of the distance at which contact begins that a walk leaves of a gap, or all of a smaller
// one: a first guess that closes gaps leaves a solver with nothing but barriers.
#define KEPT 0.1

// What a corner may take of a gap: half of it, or all where the other side stands still.
static void shorten(hk_contacts *c, const hk_contact *k)
{
    approach a = approach_of(c, k);
    int firsts = hk_contact_firsts(k);
    for (int v = 0; v < 4; v++) {
        int32_t p = k->point[v];
        bool alone = k->sides[v < firsts] >= c->settings->body_count;
        double gap = fmax(0, a.gap - KEPT * k->pair.width);
        double room = (alone ? SHARE : 0.5 * SHARE) * gap + a.room[v];
        if (p >= c->body_points) continue;
        if (a.speed[v] * c->part[p] > room) c->part[p] = room / a.speed[v];
    }
}

// Moves from x to `to` as far as each point may go; returns whether all of them arrived.
static bool hop(hk_contacts *c, double *x, const double *to)
{
    bool arrived = true;
    double away = hk_contacts_gather(c, x);
    clear_moves(c);
    for (int p = 0; p < c->body_points; p++) {
        size_t at = 4 * (size_t)c->vertex[p];
        closest_minus(to + at, x + at, c->move + 3 * (size_t)p);
    }
    reach_for(c, away, 1);
    for (int p = 0; p < c->body_points; p++) {
        const double *m = c->move + 3 * (size_t)p;
        double length = sqrt(closest_dot(m, m));
        c->part[p] = length > c->reach ? c->reach / length : 1;
    }
    for (size_t k = 0; k < c->count; k++) shorten(c, &c->list[k]);
    for (int p = 0; p < c->body_points; p++) {
        double *at = x + 4 * (size_t)c->vertex[p];
        for (int i = 0; i < 3; i++) at[i] += c->part[p] * c->move[3 * (size_t)p + (size_t)i];
        arrived = arrived && c->part[p] == 1;
    }
    return arrived;
}

enum { MOST_HOPS = 16 };

bool hk_contacts_walk(hk_contacts *c, double *x, const double *to)
{
    bool arrived = !is_guarded(c);
    for (int k = 0; k < MOST_HOPS && !arrived && c->status == HK_OK; k++) arrived = hop(c, x, to);
    // What is inside of bodies is in nobody's way.
    for (int k = 0; k < c->model->vertex_count; k++)
        if (arrived || c->point_of[k] < 0)
            memcpy(x + 4 * (size_t)k, to + 4 * (size_t)k, 4 * sizeof(double));
    return arrived;
}

// ---------------------------------------------------------------- parts of a way

void hk_contacts_keep(hk_contacts *c, const double *x)
{
    hk_contacts_gather(c, x);
    memcpy(c->kept, c->x, 3 * sizeof(double) * (size_t)c->point_count);
}

bool hk_contacts_passes(hk_contacts *c, const double *x)
{
    if (!is_guarded(c)) return true;
    hk_contacts_gather(c, x);
    size_t bytes = 3 * sizeof(double) * (size_t)c->point_count;
    for (int64_t k = 0; k < 3 * (int64_t)c->point_count; k++) c->move[k] = c->x[k] - c->kept[k];
    // From where they were; then obstacles are again where they are.
    memcpy(c->from_kept, c->x, bytes);
    memcpy(c->x, c->kept, bytes);
    double least = reach_for(c, INFINITY, 1);
    for (size_t k = 0; k < c->count && least >= 1; k++)
        least = fmin(least, hk_contacts_fraction(c, &c->list[k], 1));
    memcpy(c->x, c->from_kept, bytes);
    return least >= 1;
}
