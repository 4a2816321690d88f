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

static approach approach_of(const hk_sweep *s, const hk_sweep_pair *k)
{
    const hk_contacts *c = s->contacts;
    approach to = {0};
    double x[4][3];
    int firsts = hk_pair_firsts(k->way.kind);
    hk_closest at;
    hk_contact_corners(c->x, k->way.point, x);
    quick_closest(k->way.kind, (const double(*)[3])x, at.c, at.w);
    at.square = closest_dot(at.w, at.w);
    double distance = pair_distance(k->way.kind, &at, (const double(*)[3])x);
    hk_slab slab = slab_between(k->way.kind, (const double(*)[3])x, at.c, at.w, distance);
    double between = fmin(distance, slab.first - slab.second);
    to.stuck = !(between > 0);
    to.room = hk_sweep_room(between - k->way.thickness, k->width);
    memcpy(to.normal, slab.normal, sizeof to.normal);
    for (int v = 0; v < 4; v++) {
        bool first = v < firsts;
        const double *move = c->move + 3 * (size_t)k->way.point[v];
        to.speed[v] = (first ? -1 : 1) * closest_dot(to.normal, move);
        to.slack[v] = first ? slab.height[v] - slab.first : slab.second - slab.height[v];
        if (k->way.kind == HK_VERTEX_PLANE && !first) to.slack[v] = 0;  // it is flat
    }
    return to;
}

double hk_sweep_fraction(const hk_sweep *s, const hk_sweep_pair *k, double most)
{
    approach a = approach_of(s, k);
    int firsts = hk_pair_firsts(k->way.kind);
    if (a.stuck) return 0;
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double speed = a.speed[u] + a.speed[v], room = a.room + a.slack[u] + a.slack[v];
            if (speed * most > room) most = room / speed;
        }
    return most;
}

// ---------------------------------------------------------------- one pair

typedef enum manner { ALONG, PARTS, ALL } manner;  // what is taken from moves
typedef struct hk_sweep_shortening {
    bool trial;  // margins do not bind: how wide they should be is asked for
    bool left;   // some have
} hk_sweep_shortening;

// By how much more than it was too little for what was asked for a margin is made wider.
#define WIDER 1.5

// Within the margin of the move that was searched for, c->aim, or of a part of it; where that is
// not enough, the point gets a wider margin, or at last has to be loose, and the search is
// repeated.
static void confine(hk_sweep *s, int p, manner how, hk_sweep_shortening *w)
{
    hk_contacts *c = s->contacts;
    double *move = c->move + 3 * (size_t)p, near[3], d[3];
    const double *aim = c->aim + 3 * (size_t)p;
    memcpy(near, aim, sizeof near);
    if (s->loose[p] == 1) {
        double along = closest_dot(move, aim), all = closest_dot(aim, aim);
        double part = along < all ? fmax(along, 0) / all : 1;
        for (int i = 0; i < 3; i++) near[i] *= part;
    }
    closest_minus(move, near, d);
    double square = closest_dot(d, d), margin = 0.999 * s->margin[p];
    if (!(square > margin * margin)) return;
    if (how != ALL && !w->trial) {
        for (int i = 0; i < 3; i++) move[i] = near[i] + margin / sqrt(square) * d[i];
        return;
    }
    double most = 2 * c->settings->distance + sqrt(closest_dot(aim, aim));
    if (w->trial)
        s->wider[p] = fmax(s->wider[p], fmin(most, WIDER * sqrt(square)));
    else
        s->loose[p] = s->loose[p] == 1 ? 1 : 2;
    s->changing[p] = 1;
    s->bodies[s->contacts->side[p]].stale = true;
    w->left = true;
}

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
static bool shorten(hk_sweep *s, const hk_sweep_pair *k, int round, manner how,
                    hk_sweep_shortening *w)
{
    hk_contacts *c = s->contacts;
    int firsts = hk_pair_firsts(k->way.kind);
    approach a = approach_of(s, k);
    double limit[2] = {0, 0}, little = 1e-9 * k->width;
    bool any = false;
    if (!a.stuck && !divide_room(&a, firsts, limit)) return false;
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
        confine(s, p, how, w);
        c->clamped++;
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

// Marks those that would come too near by the moves that were searched for.
static void mark_pairs(hk_sweep *s)
{
    enum { MANY = 4096 };
    int threads = s->count > MANY ? s->contacts->threads : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t k = 0; k < s->count; k++)
        s->pairs[k].way.marked = !hk_sweep_is_safe(s, &s->pairs[k], false, 0);
}

bool hk_sweep_shorten(hk_sweep *s, bool trial)
{
    const hk_contacts *c = s->contacts;
    hk_sweep_shortening w = {.trial = trial};
    bool any = true;
    memset(s->changed, 0, (size_t)c->point_count);
    memset(s->changing, 0, (size_t)c->body_points);
    mark_pairs(s);
    for (int n = 1; n <= (trial ? ROUNDS : MOST_ROUNDS) && any; n++) {
        manner how = n <= ROUNDS ? ALONG : n <= 2 * ROUNDS ? PARTS : ALL;
        any = false;
        for (size_t k = 0; k < s->count; k++) {
            const hk_sweep_pair *pair = &s->pairs[k];
            bool look = n == 1 ? pair->way.marked || is_new(s, pair, n) : is_new(s, pair, n);
            if (look && !hk_sweep_is_safe(s, pair, false, 0)) any |= shorten(s, pair, n, how, &w);
        }
    }
    return !any && !w.left;
}
