// Moves of points are shortened, one pair after the other, until none comes too near.
//
// A pair takes from the corners that come nearer what they have towards the other side, and leaves
// them what goes along it. What that does not settle loses parts of whole moves, and at last all of
// them: a pair of which no corner comes nearer is apart whatever others ask for, so there always is
// an end.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// How the corners of a pair move along the slab between its sides.
typedef struct approach {
    double normal[3];
    double speed[4];  // m, by which a corner goes towards the other side,
    double slack[4];  // m, of which so much is behind the slab
    double room;      // m, of the slab, for both sides
    bool stuck;       // there is no slab
} approach;

// On the rest of their ways from that time on, where the pair is then.
static approach approach_of(const hk_sweep *s, const hk_sweep_pair *k, double time)
{
    const hk_contacts *c = s->contacts;
    approach to = {0};
    double x[4][3];
    int firsts = hk_pair_firsts(k->way.kind);
    hk_closest at;
    hk_contact_corners(c->x, k->way.point, x);
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++)
            x[v][i] += time * c->move[3 * (size_t)k->way.point[v] + (size_t)i];
    quick_closest(k->way.kind, (const double(*)[3])x, at.c, at.w);
    at.square = closest_dot(at.w, at.w);
    double distance = pair_distance(k->way.kind, &at, (const double(*)[3])x);
    hk_slab slab = slab_between(k->way.kind, (const double(*)[3])x, at.c, at.w, distance);
    double between = fmin(distance, slab.first - slab.second);
    to.stuck = !(between > 0);
    // On the way what may be taken of the gap has been taken.
    to.room = time > 0 ? 0 : hk_sweep_room(between - k->way.thickness, k->width);
    memcpy(to.normal, slab.normal, sizeof to.normal);
    for (int v = 0; v < 4; v++) {
        bool first = v < firsts;
        const double *move = c->move + 3 * (size_t)k->way.point[v];
        to.speed[v] = (first ? -1 : 1) * (1 - time) * closest_dot(to.normal, move);
        to.slack[v] = first ? slab.height[v] - slab.first : slab.second - slab.height[v];
        if (k->way.kind == HK_VERTEX_PLANE && !first) to.slack[v] = 0;  // it is flat
    }
    return to;
}

// ---------------------------------------------------------------- one pair

typedef enum manner { ALONG, PARTS, ALL } manner;  // what is taken from moves
// How far the two sides may go beyond their side of the slab: what there is of it is divided among
// those that come nearer; one that draws back leaves more to the other.
static bool divide_room(const approach *a, int firsts, double limit[2])
{
    double over[2] = {-INFINITY, -INFINITY};
    for (int v = 0; v < 4; v++) {
        double by = a->speed[v] - a->slack[v];
        if (by > over[v >= firsts]) over[v >= firsts] = by;
    }
    if (over[0] + over[1] <= a->room) return false;
    for (int i = 0; i < 2; i++)
        limit[i] = over[i] <= 0       ? over[i]
                   : over[1 - i] <= 0 ? a->room - over[1 - i]
                                      : a->room * over[i] / (over[0] + over[1]);
    return true;
}

// Takes from the moves of corners that would come too near; whether any did.
static bool shorten(hk_sweep *s, const hk_sweep_pair *k, int round, manner how)
{
    hk_contacts *c = s->contacts;
    int firsts = hk_pair_firsts(k->way.kind);
    double limit[2] = {0, 0}, little = 1e-9 * k->width, time;
    bool any = false;
    if (!hk_sweep_stops(s, k, &time)) return false;
    // What slides is stopped by what it runs into, not by what it would have passed.
    if (how != ALONG) time = 0;
    approach a = approach_of(s, k, time);
    bool near = a.stuck || divide_room(&a, firsts, limit);
    if (!near && time > 0) {
        a = approach_of(s, k, 0);
        near = a.stuck || divide_room(&a, firsts, limit);
    }
    if (!near) return false;
    for (int v = 0; v < 4; v++) {
        int32_t p = k->way.point[v];
        double *move = c->move + 3 * (size_t)p, to = a.slack[v] + limit[v >= firsts];
        if (p >= c->body_points || (a.speed[v] <= to && !a.stuck)) continue;
        if (how == ALL && move[0] == 0 && move[1] == 0 && move[2] == 0) continue;
        // A little more than that, so that rounding does not bring it up again.
        double by = a.speed[v] - 0.999 * to + little, side = v < firsts ? 1 : -1;
        double part = how == ALL || a.stuck || !(to > 0) ? 0 : 0.999 * to / a.speed[v];
        for (int i = 0; i < 3; i++)
            move[i] = how == ALONG ? move[i] + side * by * a.normal[i] : part * move[i];
        s->changed[p] = (uint8_t)round;
        s->shortened[p] = s->changing[p] = 1;
        s->bodies[c->side[p]].stale = s->bodies[c->side[p]].unproven = true;
        any = true;
    }
    return any;
}

// ---------------------------------------------------------------- all pairs

// Rounds of each manner.
enum { ROUNDS = 8, MOST_ROUNDS = 250 };

// Whether a way of it was shortened since the pair was last looked at.
static bool is_new(const hk_sweep *s, const hk_sweep_pair *k, int round)
{
    const int32_t *p = k->way.point;
    const uint8_t *changed = s->changed;
    uint8_t last = changed[p[0]];
    for (int v = 1; v < 4; v++)
        if (changed[p[v]] > last) last = changed[p[v]];
    return last > 0 && last + 1 >= round;
}

void hk_sweep_shorten(hk_sweep *s, size_t fresh, bool all)
{
    const hk_contacts *c = s->contacts;
    bool any = true;
    memset(s->changed, 0, (size_t)c->point_count);
    for (int n = 1; n <= MOST_ROUNDS && any; n++) {
        manner how = all ? ALL : n <= ROUNDS ? ALONG : n <= 2 * ROUNDS ? PARTS : ALL;
        any = false;
        for (size_t k = n == 1 ? fresh : 0; k < s->count; k++) {
            const hk_sweep_pair *pair = &s->pairs[k];
            if ((n == 1 || is_new(s, pair, n)) && !hk_sweep_is_safe(s, pair, 0))
                any |= shorten(s, pair, n, how);
        }
    }
}
