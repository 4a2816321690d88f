// The slab between the closest points of two convex things, a vertex and a triangle or two edges:
// the one is on one side of it and the other on the other (guard.c, touches.h).
//
// Its normal is that of the shortest vector w between them. Where the gap is a small part of their
// size, rounding turns w by enough to tilt the slab into one of them: with points known to 1e-17 m
// and a gap of 1e-10 m by 1e-7, which is 1e-8 m at the far end of an edge of 0.1 m. The face, or
// the edges, that the closest points lie on are not as near to each other as the points are, and
// say the normal much better.
#ifndef HK_CONTACT_SLAB_H
#define HK_CONTACT_SLAB_H

#include "contact/pair.h"

typedef struct hk_slab {
    double normal[3];      // from the second side to the first
    double height[4];      // m, of corners along it, over corner 0
    double first, second;  // m, of the lowest of the first side, and the highest of the second
} hk_slab;

static inline void slab_measure(hk_pair_kind kind, const double x[4][3], hk_slab *s)
{
    int firsts = kind == HK_EDGE_EDGE ? 2 : 1, last = kind == HK_VERTEX_PLANE ? 2 : 4;
    s->first = HUGE_VAL;
    s->second = -HUGE_VAL;
    // Relative to one corner: differences are exact where far coordinates are not.
    for (int v = 0; v < 4; v++) {
        double d[3];
        closest_minus(x[v], x[0], d);
        s->height[v] = closest_dot(s->normal, d);
        if (v < firsts)
            s->first = s->height[v] < s->first ? s->height[v] : s->first;
        else if (v < last)
            s->second = s->height[v] > s->second ? s->height[v] : s->second;
    }
}

// Directions within the features that the closest points lie on; how many.
static inline int slab_spans(hk_pair_kind kind, const double c[4], const double x[4][3],
                             double span[2][3])
{
    int count = 0, from = -1;
    for (int v = kind == HK_EDGE_EDGE ? 0 : 1; v < 4; v++) {
        if (kind == HK_EDGE_EDGE && v == 2) from = -1;
        if (!(fabs(c[v]) > 1e-9)) continue;
        if (from >= 0 && count < 2) closest_minus(x[v], x[from], span[count++]);
        if (from < 0) from = v;
    }
    return count;
}

// Across the features; false: they have no direction that is better known than that of w.
static inline bool slab_normal_across(int spans, double span[2][3], const double w[3], double n[3])
{
    double aa = spans > 0 ? closest_dot(span[0], span[0]) : 0;
    if (!(aa > 0)) return false;
    if (spans == 1) {
        double along = closest_dot(span[0], w) / aa;
        for (int i = 0; i < 3; i++) n[i] = w[i] - along * span[0][i];
    } else {
        closest_cross(span[0], span[1], n);
        if (!(closest_dot(n, n) > 1e-12 * aa * closest_dot(span[1], span[1]))) return false;
    }
    double length = sqrt(closest_dot(n, n)) * (closest_dot(n, w) < 0 ? -1 : 1);
    for (int i = 0; i < 3; i++) n[i] /= length;
    return length != 0;
}

// The slab between closest points with weights c, w from the second to the first and `distance` its
// length (negative behind a plane).
static inline hk_slab slab_between(hk_pair_kind kind, const double x[4][3], const double c[4],
                                   const double w[3], double distance)
{
    hk_slab s, other;
    double span[2][3];
    for (int i = 0; i < 3; i++) s.normal[i] = distance != 0 ? w[i] / distance : 0;
    slab_measure(kind, x, &s);
    if (kind == HK_VERTEX_PLANE || s.first - s.second > 0.9 * distance) return s;
    if (!slab_normal_across(slab_spans(kind, c, x, span), span, w, other.normal)) return s;
    slab_measure(kind, x, &other);
    return other.first - other.second > s.first - s.second ? other : s;
}

#endif
