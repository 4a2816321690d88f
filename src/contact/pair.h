// One contact: a vertex against a triangle or a plane, or an edge against an edge, that repel each
// other,
//
//   E = κ m(c) B,   B = b(‖w‖ − thickness) − Σ γ_e b(…) + Σ γ_v b(…),
//
// with w the shortest vector between them (closest.h) and b a law (law.h). m is the mollifier of
// nearly parallel edges (Li et al. 2020): with a and b the edges, c = ‖a × b‖² and e a small part
// of its greatest value at rest, m = (2 − c/e) c/e while c < e, and 1 beyond. Without it the
// closest points of edges that turn past each other jump from end to end.
//
// The sums in B count every contact once. A vertex whose closest point lies on an edge of a surface
// is as near to the two triangles there, and at a vertex to six of them. By inclusion and exclusion
// (triangles, less edges, plus vertices) the sum over all triangles is b of the nearest point, and
// a smooth function of the corners all the same. Each triangle carries its part of the edges and
// vertices that it has in common with others: γ_e = 1 − 1/n at an edge of n triangles, γ_v = 1/n at
// a vertex of n triangles inside a surface, so that such a contact is divided among them. In the
// same way two edges carry γ = 1 − 1/n of an end that n edges have in common.
//
// Corners are double x[4][3]: the vertex, then the triangle; the one edge, then the other; or the
// vertex, a point of the plane, and that point plus the unit normal (the last is of no account).
#ifndef HK_CONTACT_PAIR_H
#define HK_CONTACT_PAIR_H

#include <stdbool.h>

#include "contact/closest.h"
#include "contact/law.h"

typedef enum hk_pair_kind { HK_VERTEX_TRIANGLE, HK_EDGE_EDGE, HK_VERTEX_PLANE } hk_pair_kind;

typedef struct hk_pair {
    hk_pair_kind kind;
    hk_contact_law law;
    double stiffness;  // N/m, κ
    double width;      // m, the gap at which contact begins
    double thickness;  // m, of both sides together, beyond the surfaces
    double parallel;   // m⁴, e of edges; 0: no mollifier
    // γ of the triangle's edges 12, 23 and 31 and of its corners 1, 2 and 3; or of the four ends of
    // edges.
    float common[6];
} hk_pair;

// b of one feature, times its coefficient in B.
typedef struct hk_pair_part {
    hk_closest closest;
    double distance;     // m, ‖w‖; negative behind a plane
    hk_contact_value b;  // of the gap
    double coefficient;
} hk_pair_part;

// Two edges, a point and an edge (4), two points (4).
enum { HK_PAIR_PARTS = 9 };

// Where they are, and what follows from it.
typedef struct hk_pair_state {
    hk_closest closest;  // of the whole: those of the first part
    double distance;     // m
    hk_contact_value b;
    hk_contact_value m;  // of c, m⁻⁴ and m⁻⁸
    double a[3], e[3];   // m, the edges, where m is not 1
    bool mollified;
    double sum, slope;  // m², m: B, and how it changes with all gaps
    int parts;          // 0: they do not touch
    hk_pair_part part[HK_PAIR_PARTS];
} hk_pair_state;

HK_RULE hk_closest pair_closest(hk_pair_kind kind, const double x[4][3])
{
    if (kind == HK_VERTEX_PLANE) return closest_vertex_plane(x);
    return kind == HK_VERTEX_TRIANGLE ? closest_vertex_triangle(x) : closest_edge_edge(x);
}

HK_RULE double pair_distance(hk_pair_kind kind, const hk_closest *at, const double x[4][3])
{
    double length = sqrt(at->square), normal[3];
    if (kind != HK_VERTEX_PLANE) return length;
    closest_minus(x[2], x[1], normal);
    return closest_dot(at->w, normal) < 0 ? -length : length;
}

HK_RULE void pair_mollify(const hk_pair *p, const double x[4][3], hk_pair_state *at)
{
    double cross[3];
    if (p->kind != HK_EDGE_EDGE || !(p->parallel > 0)) return;
    closest_minus(x[1], x[0], at->a);
    closest_minus(x[3], x[2], at->e);
    closest_cross(at->a, at->e, cross);
    double t = closest_dot(cross, cross) / p->parallel;
    if (t >= 1) return;
    at->mollified = true;
    at->m.energy = (2 - t) * t;
    at->m.slope = 2 * (1 - t) / p->parallel;
    at->m.curvature = -2 / (p->parallel * p->parallel);
}

// ---------------------------------------------------------------- parts

// The same closest points, up to rounding.
HK_RULE bool pair_same_feature(const hk_closest *a, const hk_closest *b)
{
    for (int v = 0; v < 4; v++)
        if (!(fabs(a->c[v] - b->c[v]) < 1e-12)) return false;
    return true;
}

// Adds a feature to B, if it is near enough. Where it is the same as one that is there already, as
// it is on the edge or the vertex where the closest point lies, the two are one.
HK_RULE void pair_add_part(const hk_pair *p, const hk_closest *closest, double coefficient,
                           hk_pair_state *at)
{
    double reach = p->width + p->thickness;
    if (coefficient == 0 || !(closest->square < reach * reach)) return;
    for (int k = 0; k < at->parts; k++)
        if (pair_same_feature(&at->part[k].closest, closest)) {
            at->part[k].coefficient += coefficient;
            return;
        }
    hk_pair_part *part = &at->part[at->parts++];
    part->closest = *closest;
    part->distance = sqrt(closest->square);
    part->b = contact_value(p->law, p->width, part->distance - p->thickness);
    part->coefficient = coefficient;
}

HK_RULE hk_closest pair_point_edge(const double x[4][3], int point, int a, int b, double sign)
{
    hk_closest at = {.square = HUGE_VAL};
    closest_try_edge(x, point, a, b, sign, &at);
    return at;
}

HK_RULE hk_closest pair_point_point(const double x[4][3], int first, int second)
{
    hk_closest at = {.free = 0};
    at.c[first] = 1;
    at.c[second] = -1;
    closest_finish(x, &at);
    return at;
}

// Whether a point is too far from an edge for sure. Told without its closest point: most features
// of a contact are.
HK_RULE bool pair_far_from_edge(const hk_pair *p, const double x[4][3], int point, int a, int b)
{
    double e[3], d[3], reach = p->width + p->thickness;
    closest_minus(x[b], x[a], e);
    closest_minus(x[point], x[a], d);
    double dd = closest_dot(d, d), de = closest_dot(d, e), ee = closest_dot(e, e);
    // What rounding may have taken from the square.
    double most = reach * reach * (1 + 1e-9) + 1e-14 * (dd + ee);
    if (!(de > 0)) return dd > most;
    if (de >= ee) return dd - 2 * de + ee > most;
    return dd * ee - de * de > most * ee;
}

HK_RULE bool pair_far_from_point(const hk_pair *p, const double x[4][3], int first, int second)
{
    double d[3], reach = p->width + p->thickness;
    closest_minus(x[first], x[second], d);
    return closest_dot(d, d) > reach * reach * (1 + 1e-9);
}

HK_RULE void pair_add_triangle_parts(const hk_pair *p, const double x[4][3], hk_pair_state *at)
{
    for (int k = 0; k < 3; k++) {
        int a = 1 + k, b = 1 + (k + 1) % 3;
        if (p->common[k] == 0 || pair_far_from_edge(p, x, 0, a, b)) continue;
        hk_closest edge = pair_point_edge(x, 0, a, b, 1);
        pair_add_part(p, &edge, -(double)p->common[k], at);
    }
    for (int k = 0; k < 3; k++) {
        if (p->common[3 + k] == 0 || pair_far_from_point(p, x, 0, 1 + k)) continue;
        hk_closest corner = pair_point_point(x, 0, 1 + k);
        pair_add_part(p, &corner, p->common[3 + k], at);
    }
}

HK_RULE void pair_add_edge_parts(const hk_pair *p, const double x[4][3], hk_pair_state *at)
{
    for (int k = 0; k < 4; k++) {
        if (p->common[k] == 0 || pair_far_from_edge(p, x, k, k < 2 ? 2 : 0, k < 2 ? 3 : 1))
            continue;
        hk_closest end = k < 2 ? pair_point_edge(x, k, 2, 3, 1) : pair_point_edge(x, k, 0, 1, -1);
        pair_add_part(p, &end, -(double)p->common[k], at);
    }
    for (int k = 0; k < 4; k++) {
        int first = k / 2, second = 2 + k % 2;
        double both = (double)p->common[first] * p->common[second];
        if (both == 0 || pair_far_from_point(p, x, first, second)) continue;
        hk_closest ends = pair_point_point(x, first, second);
        pair_add_part(p, &ends, both, at);
    }
}

// Of corners that are near enough: B is over all features within reach.
HK_RULE void pair_add_parts(const hk_pair *p, const double x[4][3], hk_pair_state *at)
{
    hk_pair_part *first = &at->part[0];
    first->closest = at->closest;
    first->distance = at->distance;
    first->b = at->b;
    first->coefficient = 1;
    at->parts = 1;
    if (p->kind == HK_VERTEX_TRIANGLE) pair_add_triangle_parts(p, x, at);
    if (p->kind == HK_EDGE_EDGE) pair_add_edge_parts(p, x, at);
    for (int k = 0; k < at->parts; k++) {
        at->sum += at->part[k].coefficient * at->part[k].b.energy;
        at->slope += at->part[k].coefficient * at->part[k].b.slope;
    }
}

HK_RULE hk_pair_state pair_state(const hk_pair *p, const double x[4][3])
{
    hk_pair_state at;  // parts are filled as far as there are any
    at.closest = pair_closest(p->kind, x);
    at.distance = pair_distance(p->kind, &at.closest, x);
    at.b = contact_value(p->law, p->width, at.distance - p->thickness);
    at.m = (hk_contact_value){1, 0, 0};
    at.mollified = false;
    at.sum = at.slope = 0;
    at.parts = 0;
    if (at.b.energy == 0) return at;
    pair_mollify(p, x, &at);
    pair_add_parts(p, x, &at);
    return at;
}

// +inf where the gap has closed.
HK_RULE double pair_energy(const hk_pair *p, const hk_pair_state *at)
{
    if (at->b.energy == 0) return 0;
    if (!rule_finite(at->b.energy)) return HUGE_VAL;
    return at->m.energy > 0 ? p->stiffness * at->m.energy * at->sum : 0;
}

// The force with which they push, N.
HK_RULE double pair_force(const hk_pair *p, const hk_pair_state *at)
{
    return at->parts > 0 ? -p->stiffness * at->m.energy * at->slope : 0;
}

// ∇c over the corners, [12].
HK_RULE void pair_parallel_gradient(const hk_pair_state *at, double *to)
{
    double aa = closest_dot(at->a, at->a), ee = closest_dot(at->e, at->e);
    double ae = closest_dot(at->a, at->e);
    for (int i = 0; i < 3; i++) {
        double by_a = 2 * (ee * at->a[i] - ae * at->e[i]);
        double by_e = 2 * (aa * at->e[i] - ae * at->a[i]);
        to[i] = -by_a;
        to[3 + i] = by_a;
        to[6 + i] = -by_e;
        to[9 + i] = by_e;
    }
}

// Adds `factor` × ∇²c.
HK_RULE void pair_add_parallel_hessian(const hk_pair_state *at, double factor, double *h)
{
    static const int edge[4] = {0, 0, 1, 1};
    static const double sign[4] = {-1, 1, -1, 1};
    const double *v[2] = {at->a, at->e};
    double ae = closest_dot(at->a, at->e);
    for (int u = 0; u < 4; u++)
        for (int w = u; w < 4; w++) {
            const double *p = v[edge[u]], *q = v[edge[w]], *o = v[1 - edge[u]];
            bool same = edge[u] == edge[w];
            double part = 2 * factor * sign[u] * sign[w];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double one = i == j ? closest_dot(o, o) : 0;
                    double block = same ? one - o[i] * o[j]
                                        : 2 * p[i] * q[j] - q[i] * p[j] - (i == j ? ae : 0);
                    h[12 * (3 * u + i) + 3 * w + j] += part * block;
                }
        }
}

// ∇‖w‖ = c ⊗ w/‖w‖, [12].
HK_RULE void pair_distance_gradient(const hk_pair_part *part, double *to)
{
    const hk_closest *at = &part->closest;
    double inverse = part->distance != 0 ? 1 / part->distance : 0;
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++) to[3 * u + i] = at->c[u] * at->w[i] * inverse;
}

// ∇B, [12].
HK_RULE void pair_sum_gradient(const hk_pair_state *at, double *g)
{
    double by_d[12];
    for (int i = 0; i < 12; i++) g[i] = 0;
    for (int k = 0; k < at->parts; k++) {
        pair_distance_gradient(&at->part[k], by_d);
        double slope = at->part[k].coefficient * at->part[k].b.slope;
        for (int i = 0; i < 12; i++) g[i] += slope * by_d[i];
    }
}

// ∇E, [12].
HK_RULE void pair_gradient(const hk_pair *p, const hk_pair_state *at, double *g)
{
    double by_c[12];
    pair_sum_gradient(at, g);
    for (int i = 0; i < 12; i++) g[i] *= p->stiffness * at->m.energy;
    if (!at->mollified) return;
    pair_parallel_gradient(at, by_c);
    double turn = p->stiffness * at->m.slope * at->sum;
    for (int k = 0; k < 12; k++) g[k] += turn * by_c[k];
}

// Adds `factor` × ∇²b of a part.
HK_RULE void pair_add_part_hessian(const hk_pair_part *part, double factor, double *h)
{
    if (part->distance == 0) return;
    double bend = factor * part->b.slope / part->distance;
    closest_add_hessian(&part->closest, bend, factor * part->b.curvature - bend, h);
}

// Σ κ m b″ over the features, all of them as if they were the closest points, which they nearly
// are: what one triangle adds to its neighbours' and takes from them is of the same vertex.
// (Leaving out what it takes would make a vertex over the corner of six triangles seven times as
// stiff.)
HK_RULE double pair_positive_stiffness(const hk_pair *p, const hk_pair_state *at)
{
    double sum = 0;
    for (int n = 0; n < at->parts; n++) sum += at->part[n].coefficient * at->part[n].b.curvature;
    return sum > 0 ? p->stiffness * at->m.energy * sum : 0;
}

// ∇²E, [12][12], `keep` times, and the rest of it as the matrix above, which is positive: 1 exact,
// 0 projected. The blocks on and above the diagonal; those below it are 0.
HK_RULE void pair_upper_hessian(const hk_pair *p, const hk_pair_state *at, double keep, double *h)
{
    double by_b[12], by_c[12], k = p->stiffness;
    for (int i = 0; i < 144; i++) h[i] = 0;
    if (keep != 1 && at->parts > 0 && at->distance != 0) {
        pair_distance_gradient(&at->part[0], by_b);
        closest_add_outer((1 - keep) * pair_positive_stiffness(p, at), by_b, by_b, h);
    }
    if (keep == 0) return;
    for (int n = 0; n < at->parts; n++)
        pair_add_part_hessian(&at->part[n], keep * k * at->m.energy * at->part[n].coefficient, h);
    if (!at->mollified) return;
    pair_sum_gradient(at, by_b);
    pair_parallel_gradient(at, by_c);
    double cross = keep * k * at->m.slope;
    closest_add_outer(cross, by_c, by_b, h);
    closest_add_outer(cross, by_b, by_c, h);
    closest_add_outer(keep * k * at->m.curvature * at->sum, by_c, by_c, h);
    pair_add_parallel_hessian(at, keep * k * at->m.slope * at->sum, h);
}

HK_RULE void pair_hessian(const hk_pair *p, const hk_pair_state *at, double keep, double *h)
{
    pair_upper_hessian(p, at, keep, h);
    closest_mirror(h);
}

// ---------------------------------------------------------------- friction

// Coulomb's friction of a contact with normal, closest points and force of some state before (Li et
// al. 2020): D = μ λ f₀(‖(1 − n nᵀ) u‖), u = Σ c_i (x_i − from_i); and what damps it along n.
typedef struct hk_friction {
    double c[4];
    double normal[3];
    double most;     // N, μ λ
    double slip;     // m, up to which it sticks
    double damping;  // N/m, of what brings the two nearer to each other (damping.h)
} hk_friction;

// u across the normal; returns what of it is along the normal and brings them nearer, negative or
// 0.
HK_RULE double friction_slide(const hk_friction *f, const double x[4][3], const double from[4][3],
                              double to[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] = 0;
        for (int u = 0; u < 4; u++) to[i] += f->c[u] * (x[u][i] - from[u][i]);
    }
    double through = closest_dot(to, f->normal);
    for (int i = 0; i < 3; i++) to[i] -= through * f->normal[i];
    return through < 0 ? through : 0;
}

HK_RULE double friction_energy(const hk_friction *f, const double slide[3], double nearer)
{
    return f->most * contact_slip(f->slip, sqrt(closest_dot(slide, slide))).energy +
           0.5 * f->damping * nearer * nearer;
}

HK_RULE void friction_gradient(const hk_friction *f, const double slide[3], double nearer,
                               double *g)
{
    double push = f->most * contact_slip_ratio(f->slip, sqrt(closest_dot(slide, slide)));
    double resist = f->damping * nearer;
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++)
            g[3 * u + i] = f->c[u] * (push * slide[i] + resist * f->normal[i]);
}

// A press in the same numbers (recover.h): it pushes along the normal, with the stiffness `most`
// (N/m), until u has gone as far as `slip` (m). What is still missing of that:
HK_RULE double press_missing(const hk_friction *f, const double x[4][3], const double from[4][3])
{
    double gone = 0;
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++) gone += f->c[u] * f->normal[i] * (x[u][i] - from[u][i]);
    return gone < f->slip ? f->slip - gone : 0;
}

HK_RULE void press_gradient(const hk_friction *f, double missing, double *g)
{
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++) g[3 * u + i] = -f->most * missing * f->c[u] * f->normal[i];
}

// The 3×3 matrix B of the Hessian c cᵀ ⊗ B, which is positive semidefinite.
HK_RULE void friction_block(const hk_friction *f, const double slide[3], double nearer,
                            double b[3][3])
{
    double square = closest_dot(slide, slide), length = sqrt(square);
    double ratio = contact_slip_ratio(f->slip, length), resist = nearer < 0 ? f->damping : 0;
    double bend = square > 0 ? (contact_slip(f->slip, length).curvature - ratio) / square : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            b[i][j] = f->most * (ratio * ((i == j) - f->normal[i] * f->normal[j]) +
                                 bend * slide[i] * slide[j]) +
                      resist * f->normal[i] * f->normal[j];
}

#endif
