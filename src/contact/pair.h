// One contact: a vertex against a triangle or a plane, or an edge against an edge, that repel each
// other,
//
//   E = κ m(c) b(g),   g = ‖w‖ − thickness,
//
// with w the shortest vector between them (closest.h) and b a law (law.h). m is the mollifier of
// nearly parallel edges (Li et al. 2020): with a and b the edges, c = ‖a × b‖² and e a small part
// of its greatest value at rest, m = (2 − c/e) c/e while c < e, and 1 beyond. Without it the
// closest points of edges that turn past each other jump from end to end.
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
} hk_pair;

// Where they are, and what follows from it.
typedef struct hk_pair_state {
    hk_closest closest;
    double distance;     // m, ‖w‖; negative behind a plane
    hk_contact_value b;  // of the gap
    hk_contact_value m;  // of c, m⁻⁴ and m⁻⁸
    double a[3], e[3];   // m, the edges, where m is not 1
    bool mollified;
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
    at->m.energy = 1;
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

HK_RULE hk_pair_state pair_state(const hk_pair *p, const double x[4][3])
{
    hk_pair_state at = {.closest = pair_closest(p->kind, x)};
    at.distance = pair_distance(p->kind, &at.closest, x);
    at.b = contact_value(p->law, p->width, at.distance - p->thickness);
    if (at.b.energy != 0) pair_mollify(p, x, &at);
    return at;
}

// +inf where the gap has closed.
HK_RULE double pair_energy(const hk_pair *p, const hk_pair_state *at)
{
    if (at->b.energy == 0) return 0;
    return at->m.energy > 0 ? p->stiffness * at->m.energy * at->b.energy
                            : (rule_finite(at->b.energy) ? 0 : HUGE_VAL);
}

// The force with which they push, N.
HK_RULE double pair_force(const hk_pair *p, const hk_pair_state *at)
{
    return -p->stiffness * at->m.energy * at->b.slope;
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
        for (int w = 0; w < 4; w++) {
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
HK_RULE void pair_distance_gradient(const hk_pair_state *at, double *to)
{
    double inverse = at->distance != 0 ? 1 / at->distance : 0;
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++) to[3 * u + i] = at->closest.c[u] * at->closest.w[i] * inverse;
}

// ∇E, [12].
HK_RULE void pair_gradient(const hk_pair *p, const hk_pair_state *at, double *g)
{
    double by_c[12];
    pair_distance_gradient(at, g);
    double push = p->stiffness * at->m.energy * at->b.slope;
    for (int k = 0; k < 12; k++) g[k] *= push;
    if (!at->mollified) return;
    pair_parallel_gradient(at, by_c);
    double turn = p->stiffness * at->m.slope * at->b.energy;
    for (int k = 0; k < 12; k++) g[k] += turn * by_c[k];
}

HK_RULE void pair_add_outer(double factor, const double *a, const double *b, double *h)
{
    for (int r = 0; r < 12; r++)
        for (int c = 0; c < 12; c++) h[12 * r + c] += factor * a[r] * b[c];
}

// ∇²E, [12][12]: of what is not κ m b″ ∇‖w‖ ∇‖w‖ᵀ, which is positive, `keep` times (1: exact).
HK_RULE void pair_hessian(const hk_pair *p, const hk_pair_state *at, double keep, double *h)
{
    double by_d[12], by_c[12], k = p->stiffness, inverse = 1 / at->distance;
    for (int i = 0; i < 144; i++) h[i] = 0;
    if (at->b.energy == 0 || at->distance == 0) return;
    pair_distance_gradient(at, by_d);
    double bend = keep * k * at->m.energy * at->b.slope * inverse;
    pair_add_outer(k * at->m.energy * at->b.curvature - bend, by_d, by_d, h);
    if (keep == 0) return;
    closest_add_hessian(&at->closest, bend, h);
    if (!at->mollified) return;
    pair_parallel_gradient(at, by_c);
    double cross = keep * k * at->m.slope * at->b.slope;
    pair_add_outer(cross, by_c, by_d, h);
    pair_add_outer(cross, by_d, by_c, h);
    pair_add_outer(keep * k * at->m.curvature * at->b.energy, by_c, by_c, h);
    pair_add_parallel_hessian(at, keep * k * at->m.slope * at->b.energy, h);
}

// ---------------------------------------------------------------- friction

// Coulomb's friction of a contact with normal, closest points and force of some state before (Li et
// al. 2020): D = μ λ f₀(‖(1 − n nᵀ) u‖), u = Σ c_i (x_i − from_i).
typedef struct hk_friction {
    double c[4];
    double normal[3];
    double most;  // N, μ λ
    double slip;  // m, up to which it sticks
} hk_friction;

HK_RULE void friction_slide(const hk_friction *f, const double x[4][3], const double from[4][3],
                            double to[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] = 0;
        for (int u = 0; u < 4; u++) to[i] += f->c[u] * (x[u][i] - from[u][i]);
    }
    double through = closest_dot(to, f->normal);
    for (int i = 0; i < 3; i++) to[i] -= through * f->normal[i];
}

HK_RULE double friction_energy(const hk_friction *f, const double slide[3])
{
    return f->most * contact_slip(f->slip, sqrt(closest_dot(slide, slide))).energy;
}

HK_RULE void friction_gradient(const hk_friction *f, const double slide[3], double *g)
{
    double push = f->most * contact_slip_ratio(f->slip, sqrt(closest_dot(slide, slide)));
    for (int u = 0; u < 4; u++)
        for (int i = 0; i < 3; i++) g[3 * u + i] = push * f->c[u] * slide[i];
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
HK_RULE void friction_block(const hk_friction *f, const double slide[3], double b[3][3])
{
    double square = closest_dot(slide, slide), length = sqrt(square);
    double ratio = contact_slip_ratio(f->slip, length);
    double bend = square > 0 ? (contact_slip(f->slip, length).curvature - ratio) / square : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            b[i][j] = f->most * (ratio * ((i == j) - f->normal[i] * f->normal[j]) +
                                 bend * slide[i] * slide[j]);
}

#endif
