// Closest points of a vertex and a triangle, or of two edges, as closest.h has them, without what
// is needed for their derivatives: weights c alone. What is nearly degenerate is left to closest.h.
#ifndef HK_CONTACT_QUICK_H
#define HK_CONTACT_QUICK_H

#include <string.h>

#include "contact/pair.h"

static inline double quick_clamp(double t)
{
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

// Corner 0 and the triangle of corners 1 2 3 (Ericson, Real-Time Collision Detection, 5.1.5);
// false: it is too thin to be sure.
static inline bool quick_vertex_triangle(const double x[4][3], double c[4])
{
    double e[3], f[3], a[3], v = 0, w = 0;
    closest_minus(x[2], x[1], e);
    closest_minus(x[3], x[1], f);
    closest_minus(x[0], x[1], a);
    double ee = closest_dot(e, e), ff = closest_dot(f, f), ef = closest_dot(e, f);
    double area = ee * ff - ef * ef;
    if (!(area > 1e-6 * ee * ff)) return false;
    double d1 = closest_dot(e, a), d2 = closest_dot(f, a);
    double d3 = d1 - ee, d4 = d2 - ef, d5 = d1 - ef, d6 = d2 - ff;
    double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
    if (d1 <= 0 && d2 <= 0) {
        // the first corner
    } else if (d3 >= 0 && d4 <= d3) {
        v = 1;
    } else if (d6 >= 0 && d5 <= d6) {
        w = 1;
    } else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
        v = d1 / (d1 - d3);
    } else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
        w = d2 / (d2 - d6);
    } else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        v = 1 - w;
    } else {
        double inverse = 1 / (va + vb + vc);
        v = vb * inverse;
        w = vc * inverse;
    }
    c[0] = 1;
    c[1] = -(1 - v - w);
    c[2] = -v;
    c[3] = -w;
    return true;
}

// The edges of corners 0 1 and 2 3 (5.1.9 there); false: they are too parallel, or too short.
static inline bool quick_edge_edge(const double x[4][3], double c[4])
{
    double a[3], b[3], d[3];
    closest_minus(x[1], x[0], a);
    closest_minus(x[3], x[2], b);
    closest_minus(x[0], x[2], d);
    double aa = closest_dot(a, a), bb = closest_dot(b, b), ab = closest_dot(a, b);
    double ad = closest_dot(a, d), bd = closest_dot(b, d), sine = aa * bb - ab * ab;
    if (!(sine > 1e-6 * aa * bb)) return false;
    double s = quick_clamp((ab * bd - bb * ad) / sine), t = (ab * s + bd) / bb;
    if (t < 0 || t > 1) {
        t = quick_clamp(t);
        s = quick_clamp((t * ab - ad) / aa);
    }
    c[0] = 1 - s;
    c[1] = s;
    c[2] = -(1 - t);
    c[3] = -t;
    return true;
}

// A corner and an edge, weights c and −c; ‖w‖², w = sign (point − edge).
static inline double quick_point_edge(const double x[4][3], int point, int a, int b, double sign,
                                      double c[4], double w[3])
{
    double e[3], d[3];
    closest_minus(x[b], x[a], e);
    closest_minus(x[point], x[a], d);
    double ee = closest_dot(e, e), de = closest_dot(d, e);
    double t = !(de > 0) || !(ee > 0) ? 0 : de >= ee ? 1 : de / ee;
    for (int v = 0; v < 4; v++) c[v] = 0;
    c[point] = sign;
    c[a] = -sign * (1 - t);
    c[b] = -sign * t;
    for (int i = 0; i < 3; i++) w[i] = sign * (d[i] - t * e[i]);
    return closest_dot(w, w);
}

// Points within both edges; their squared distance, +inf where there are none that rounding could
// tell.
static inline double quick_within_edges(const double x[4][3], double c[4], double w[3])
{
    double a[3], b[3], d[3], cross[3];
    closest_minus(x[1], x[0], a);
    closest_minus(x[3], x[2], b);
    closest_minus(x[0], x[2], d);
    closest_cross(a, b, cross);
    double aa = closest_dot(a, a), bb = closest_dot(b, b), sine = closest_dot(cross, cross);
    if (!(sine > HK_PARALLEL_EDGES * aa * bb)) return HUGE_VAL;
    double ab = closest_dot(a, b), ad = closest_dot(a, d), bd = closest_dot(b, d);
    double s = (ab * bd - bb * ad) / sine, t = (ab * s + bd) / bb;
    s = (ab * t - ad) / aa;
    if (!(s > 0 && s < 1 && t > 0 && t < 1)) return HUGE_VAL;
    c[0] = 1 - s, c[1] = s, c[2] = -(1 - t), c[3] = -t;
    closest_combine(x, c, w);
    return closest_dot(w, w);
}

// Edges that are nearly parallel: rounding may have found an inside that is farther than an end.
static inline void quick_nearly_parallel(const double x[4][3], double c[4], double w[3])
{
    double own[4], way[3] = {0, 0, 0}, least = quick_point_edge(x, 0, 2, 3, 1, c, w);
    for (int k = 1; k < 5; k++) {
        int a = k < 2 ? 2 : 0;
        double square = k < 4 ? quick_point_edge(x, k, a, a + 1, k < 2 ? 1 : -1, own, way)
                              : quick_within_edges(x, own, way);
        if (!(square < least)) continue;
        least = square;
        for (int v = 0; v < 4; v++) c[v] = own[v];
        for (int i = 0; i < 3; i++) w[i] = way[i];
    }
}

// Weights of the closest points; w from the second to the first.
static inline void quick_closest(hk_pair_kind kind, const double x[4][3], double c[4], double w[3])
{
    bool edges = kind == HK_EDGE_EDGE, found = edges && quick_edge_edge(x, c);
    if (edges && !found) {
        quick_nearly_parallel(x, c, w);
        return;
    }
    if (kind == HK_VERTEX_TRIANGLE) found = quick_vertex_triangle(x, c);
    if (found) {
        closest_combine(x, c, w);
        return;
    }
    hk_closest at = pair_closest(kind, x);
    for (int v = 0; v < 4; v++) c[v] = at.c[v];
    for (int i = 0; i < 3; i++) w[i] = at.w[i];
}

// As pair_state; what does not touch is told sooner.
static inline hk_pair_state quick_state(const hk_pair *p, const double x[4][3])
{
    hk_closest near;
    quick_closest(p->kind, x, near.c, near.w);
    near.square = closest_dot(near.w, near.w);
    double gap = pair_distance(p->kind, &near, x) - p->thickness;
    if (!(gap > p->width * (1 + 1e-9))) return pair_state(p, x);
    hk_pair_state at;
    at.b = (hk_contact_value){0, 0, 0};
    at.m = (hk_contact_value){1, 0, 0};
    at.mollified = false;
    at.sum = at.slope = 0;
    at.parts = 0;
    return at;
}

// ---------------------------------------------------------------- parts

// A part of B (pair.h).
typedef struct quick_part {
    double c[4];
    double w[3];
    double distance;
    double coefficient;
} quick_part;

typedef struct quick_parts {
    int count;
    double reach;  // m, beyond which there are none
    quick_part part[HK_PAIR_PARTS];
} quick_parts;

static inline void quick_add_part(quick_parts *to, const quick_part *part, double square)
{
    if (!(square < to->reach * to->reach)) return;
    for (int k = 0; k < to->count; k++) {
        const double *c = to->part[k].c;
        double apart = fabs(c[0] - part->c[0]) + fabs(c[1] - part->c[1]) + fabs(c[2] - part->c[2]) +
                       fabs(c[3] - part->c[3]);
        if (!(apart < 1e-12)) continue;
        to->part[k].coefficient += part->coefficient;
        return;
    }
    to->part[to->count] = *part;
    to->part[to->count++].distance = sqrt(square);
}

static inline void quick_add_edge(const double x[4][3], int point, int a, int b, double sign,
                                  double coefficient, quick_parts *to)
{
    quick_part part;
    if (coefficient == 0) return;
    part.coefficient = coefficient;
    double square = quick_point_edge(x, point, a, b, sign, part.c, part.w);
    quick_add_part(to, &part, square);
}

static inline void quick_add_point(const double x[4][3], int first, int second, double coefficient,
                                   quick_parts *to)
{
    quick_part part = {.c = {0, 0, 0, 0}, .coefficient = coefficient};
    if (coefficient == 0) return;
    part.c[first] = 1;
    part.c[second] = -1;
    closest_minus(x[first], x[second], part.w);
    quick_add_part(to, &part, closest_dot(part.w, part.w));
}

// As pair_add_parts, of features within `reach`, with the closest points of the whole at hand.
static inline void quick_find_parts(const hk_pair *p, const double x[4][3], const quick_part *whole,
                                    double reach, quick_parts *to)
{
    to->count = 1;
    to->reach = reach;
    to->part[0] = *whole;
    if (p->kind == HK_VERTEX_TRIANGLE) {
        for (int k = 0; k < 3; k++)
            quick_add_edge(x, 0, 1 + k, 1 + (k + 1) % 3, 1, -(double)p->common[k], to);
        for (int k = 0; k < 3; k++) quick_add_point(x, 0, 1 + k, p->common[3 + k], to);
    } else if (p->kind == HK_EDGE_EDGE) {
        for (int k = 0; k < 4; k++) {
            int a = k < 2 ? 2 : 0;
            quick_add_edge(x, k, a, a + 1, k < 2 ? 1 : -1, -(double)p->common[k], to);
        }
        for (int k = 0; k < 4; k++)
            quick_add_point(x, k / 2, 2 + k % 2, (double)p->common[k / 2] * p->common[2 + k % 2],
                            to);
    }
}

// The force as pair_force has it, N, and the closest points.
static inline double quick_force(const hk_pair *p, const double x[4][3], quick_part *whole)
{
    quick_parts parts;
    hk_pair_state at;
    hk_closest near;
    quick_closest(p->kind, x, whole->c, whole->w);
    memcpy(near.w, whole->w, sizeof near.w);
    near.square = closest_dot(near.w, near.w);
    whole->distance = pair_distance(p->kind, &near, x);
    whole->coefficient = 1;
    if (whole->distance - p->thickness >= p->width) return 0;
    at.m.energy = 1;
    at.mollified = false;
    pair_mollify(p, x, &at);
    quick_find_parts(p, x, whole, p->width + p->thickness, &parts);
    double slope = 0;
    for (int n = 0; n < parts.count; n++) {
        const quick_part *part = &parts.part[n];
        slope += part->coefficient *
                 contact_value(p->law, p->width, part->distance - p->thickness).slope;
    }
    return -p->stiffness * at.m.energy * slope;
}

// The energy as pair_energy has it, J, and its gradient [12] and the gap, m, where they are wanted.
static inline double quick_evaluate(const hk_pair *p, const double x[4][3], double *gradient,
                                    double *gap_found)
{
    quick_part whole = {.coefficient = 1};
    quick_parts parts;
    hk_pair_state at;
    hk_closest near;
    for (int i = 0; i < 12 && gradient; i++) gradient[i] = 0;
    quick_closest(p->kind, x, whole.c, whole.w);
    memcpy(near.w, whole.w, sizeof near.w);
    near.square = closest_dot(near.w, near.w);
    whole.distance = pair_distance(p->kind, &near, x);
    double gap = whole.distance - p->thickness, sum = 0;
    if (gap_found) *gap_found = gap;
    if (gap >= p->width) return 0;
    if (!rule_finite(contact_value(p->law, p->width, gap).energy)) return HUGE_VAL;
    at.m = (hk_contact_value){1, 0, 0};
    at.mollified = false;
    pair_mollify(p, x, &at);
    quick_find_parts(p, x, &whole, p->width + p->thickness, &parts);
    for (int n = 0; n < parts.count; n++) {
        const quick_part *part = &parts.part[n];
        hk_contact_value b = contact_value(p->law, p->width, part->distance - p->thickness);
        sum += part->coefficient * b.energy;
        if (!gradient || part->distance == 0) continue;
        double slope = p->stiffness * at.m.energy * part->coefficient * b.slope / part->distance;
        for (int i = 0; i < 12; i++) gradient[i] += slope * part->c[i / 3] * part->w[i % 3];
    }
    if (gradient && at.mollified) {
        double by_c[12], turn = p->stiffness * at.m.slope * sum;
        pair_parallel_gradient(&at, by_c);
        for (int i = 0; i < 12; i++) gradient[i] += turn * by_c[i];
    }
    return at.m.energy > 0 ? p->stiffness * at.m.energy * sum : 0;
}

#endif
