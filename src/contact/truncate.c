// Regions of points around a centre (touches.h): half-spaces of the near contacts, and a ball.
#include <math.h>

#include "contact/push_lanes.h"

// Part of a gap, and of a ball, by which rounding may take a point out of its region: a tenth of
// the gap is nobody's.
#define ROUNDING 0.02
// Part of the points that have to be outside before a new centre is worth while.
#define MANY 0.01

enum { RUN = 256 };  // points that a thread takes at a time

static bool is_guarded(const hk_contacts *c)
{
    return c->settings->law != HK_CONTACT_PENALTY;
}

// By how much a point that is `d` away from the centre has gone too far towards the other side of a
// contact, m.
static double excess_of(const hk_touch *k, int v, const double d[3])
{
    double towards = closest_dot(k->normal, d);
    return (v < k->firsts ? -towards : towards) - k->room[v];
}

// Whether it is in its region, but for a part `slack` of gaps and ball.
static bool is_inside(const hk_contacts *c, int p, const double d[3], double slack)
{
    const hk_touches *t = c->touches;
    double square = closest_dot(d, d), ball = (1 + slack) * t->ball[p];
    if (square <= t->soft[p] * t->soft[p]) return true;
    if (!(square <= ball * ball)) return false;
    for (int64_t k = t->uses.start[p]; k < t->uses.start[p + 1]; k++) {
        const hk_touch *touch = &t->touch[t->near[t->uses.use[k] / 4]];
        if (excess_of(touch, (int)(t->uses.use[k] % 4), d) > slack * touch->gap) return false;
    }
    return true;
}

// The part of the way from `a` to `d`, a in the region, that is in it.
static double part_inside(const hk_contacts *c, int p, const double a[3], const double d[3])
{
    const hk_touches *t = c->touches;
    double way[3], part = 1;
    closest_minus(d, a, way);
    // |a + s way| = ball
    double ww = closest_dot(way, way), aw = closest_dot(a, way), ball = t->ball[p];
    double rest = ball * ball - closest_dot(a, a);
    if (!(ww > 0) || !isfinite(ww)) return 0;
    if (ww + 2 * aw > rest) part = rest > 0 ? fmin(1, (sqrt(aw * aw + ww * rest) - aw) / ww) : 0;
    for (int64_t k = t->uses.start[p]; k < t->uses.start[p + 1]; k++) {
        const hk_touch *touch = &t->touch[t->near[t->uses.use[k] / 4]];
        int v = (int)(t->uses.use[k] % 4);
        double here = excess_of(touch, v, a), there = excess_of(touch, v, d);
        if (there <= 0) continue;
        part = here < 0 ? fmin(part, here / (here - there)) : 0;
    }
    return part;
}

// Into the half-spaces one after the other: what goes along them is kept.
static void project(const hk_contacts *c, int p, double d[3])
{
    const hk_touches *t = c->touches;
    double length = sqrt(closest_dot(d, d));
    for (int i = 0; i < 3 && length > t->ball[p]; i++) d[i] *= t->ball[p] / length;
    for (int64_t k = t->uses.start[p]; k < t->uses.start[p + 1]; k++) {
        const hk_touch *touch = &t->touch[t->near[t->uses.use[k] / 4]];
        int v = (int)(t->uses.use[k] % 4);
        double excess = excess_of(touch, v, d);
        if (!(excess > 0)) continue;
        if (v < touch->firsts) excess = -excess;
        for (int i = 0; i < 3; i++) d[i] -= excess * touch->normal[i];
    }
}

// Puts a point at `d` from the centre. Where rounding takes it out of its region, to the centre
// itself.
static void put(const hk_contacts *c, int p, const double d[3], const hk_places *q)
{
    const double *centre = c->touches->centre + 3 * (size_t)p;
    int64_t at = 4 * (int64_t)c->vertex[p];
    double rounded[3];
    for (int i = 0; i < 3; i++) hk_place_put(q, at + i, centre[i] + d[i]);
    hk_place_away(c, q, p, rounded);
    for (int i = 0; i < 3 && !is_inside(c, p, rounded, ROUNDING); i++)
        hk_place_put(q, at + i, centre[i]);
}

// Back into its region, if it has left it; whether it had.
static bool truncate(const hk_contacts *c, int p, const hk_places *q)
{
    static const double zero[3] = {0, 0, 0};
    double on[3];
    hk_place_away(c, q, p, on);
    if (is_inside(c, p, on, ROUNDING)) return false;
    project(c, p, on);
    double part = is_inside(c, p, on, 0) ? 1 : part_inside(c, p, zero, on);
    for (int i = 0; i < 3; i++) on[i] = isfinite(on[i]) ? part * on[i] : 0;
    put(c, p, on, q);
    return true;
}

bool hk_touches_truncate(hk_contacts *c, const hk_places *q)
{
    int count = 0;
    if (!is_guarded(c) || c->touches->version < 0) return false;
    const hk_push_table *kernels = hk_push_kernels(q);
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(+ : count)
    for (int first = 0; first < c->body_points; first += RUN)
        for (int p = first, last = hk_min_int(first + RUN, c->body_points); p < last; p++) {
            p = kernels->place(c, q->x, p, last);
            if (p == last || !truncate(c, p, q)) continue;
            kernels->place(c, q->x, p, p + 1);
            count++;
        }
    c->touches->placed = true;
    c->touches->crowded |= count > 0;
    return count > MANY * c->body_points;
}

bool hk_touches_inside(const hk_contacts *c, int vertex, const hk_places *q)
{
    int32_t p = c->point_of[vertex];
    double d[3];
    if (p < 0 || !is_guarded(c) || c->touches->version < 0) return true;
    hk_place_away(c, q, p, d);
    return is_inside(c, p, d, ROUNDING);
}

bool hk_touches_truncate_vertex(const hk_contacts *c, int vertex, const hk_places *from,
                                const hk_places *q)
{
    int32_t p = c->point_of[vertex];
    double a[3], d[3];
    if (p < 0 || !is_guarded(c) || c->touches->version < 0) return false;
    hk_place_away(c, q, p, d);
    if (is_inside(c, p, d, ROUNDING)) return false;
    hk_place_away(c, from, p, a);
    double part = part_inside(c, p, a, d);
    for (int i = 0; i < 3; i++) d[i] = part > 0 ? a[i] + part * (d[i] - a[i]) : a[i];
    put(c, p, d, q);
    return true;
}
