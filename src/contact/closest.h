// The shortest vector between a vertex and a triangle, or between two edges: w = Σ c_i x_i over the
// four corners, w pointing from the second to the first, with weights c of the closest points. How
// these move is known, too: they have 0 to 2 free parameters τ, on which c depends linearly.
//
// Where w ⊥ ∂w/∂τ_k (which it is at the closest points), φ = ½‖w‖² as a function of the corners has
//
//   ∇φ = c ⊗ w
//   ∇²φ = c cᵀ ⊗ 1 − Σ_kl a_k (G⁻¹)_kl a_lᵀ,   a_k = c_k′ ⊗ w + c ⊗ w_k,   G_kl = w_k · w_l
//
// with c_k′ = ∂c/∂τ_k and w_k = Σ c_k′,i x_i: one form for all the cases of points, edges and
// triangles. Plain C, for the GPU as well.
#ifndef HK_CONTACT_CLOSEST_H
#define HK_CONTACT_CLOSEST_H

#include "rules/rules.h"

enum { HK_FLAT = -1 };

typedef struct hk_closest {
    double c[4];             // weights of the corners
    double w[3];             // m
    double square;           // m², ‖w‖²
    int free;                // parameters τ; HK_FLAT: w is along one direction, that of a plane
    signed char turn[2][4];  // c_k′, −1, 0 or 1
    double along[2][3];      // m, w_k
} hk_closest;

HK_RULE double closest_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
HK_RULE void closest_minus(const double a[3], const double b[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = a[i] - b[i];
}
HK_RULE void closest_cross(const double a[3], const double b[3], double to[3])
{
    to[0] = a[1] * b[2] - a[2] * b[1];
    to[1] = a[2] * b[0] - a[0] * b[2];
    to[2] = a[0] * b[1] - a[1] * b[0];
}

// Σ weight_i (x_i − x_0), for weights that add up to 0: differences are exact where Σ is not.
HK_RULE void closest_combine(const double x[4][3], const double weight[4], double to[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] = 0;
        for (int v = 1; v < 4; v++) to[i] += weight[v] * (x[v][i] - x[0][i]);
    }
}

HK_RULE void closest_finish(const double x[4][3], hk_closest *at)
{
    closest_combine(x, at->c, at->w);
    at->square = closest_dot(at->w, at->w);
    for (int k = 0; k < at->free; k++) {
        double weight[4];
        for (int v = 0; v < 4; v++) weight[v] = at->turn[k][v];
        closest_combine(x, weight, at->along[k]);
    }
}

// The place 0..1 on the edge a b that is nearest to p; an edge without length is its end a.
HK_RULE double closest_on_edge(const double p[3], const double a[3], const double b[3])
{
    double e[3], d[3];
    closest_minus(b, a, e);
    closest_minus(p, a, d);
    double length = closest_dot(e, e), t = closest_dot(d, e);
    if (!(t > 0) || !(length > 0)) return 0;
    return t >= length ? 1 : t / length;
}

// Takes the point p (corner `point`, weight `sign`) and the edge of corners a and b (weight −sign)
// where that is nearer than what `at` has.
HK_RULE void closest_try_edge(const double x[4][3], int point, int a, int b, double sign,
                              hk_closest *at)
{
    hk_closest here = {.free = 0};
    double t = closest_on_edge(x[point], x[a], x[b]);
    here.c[point] = sign;
    here.c[a] = -sign * (1 - t);
    here.c[b] = -sign * t;
    if (t > 0 && t < 1) {
        here.free = 1;
        here.turn[0][a] = (signed char)sign;
        here.turn[0][b] = (signed char)-sign;
    }
    closest_finish(x, &here);
    if (here.square < at->square) *at = here;
}

// The foot of the perpendicular from corner 0 on the triangle 1 2 3, if it is inside.
HK_RULE int closest_inside(const double x[4][3], hk_closest *at)
{
    double e[3], f[3], d[3], n[3], m[3];
    closest_minus(x[2], x[1], e);
    closest_minus(x[3], x[1], f);
    closest_minus(x[0], x[1], d);
    closest_cross(e, f, n);
    double area = closest_dot(n, n);
    closest_cross(d, f, m);
    double v = closest_dot(m, n);
    closest_cross(e, d, m);
    double w = closest_dot(m, n);
    // A triangle as thin as rounding has no inside that could be told.
    if (!(area > 1e-24 * closest_dot(e, e) * closest_dot(f, f))) return 0;
    if (!(v > 0 && w > 0 && v + w < area)) return 0;
    v /= area;
    w /= area;
    hk_closest here = {
        .c = {1, -(1 - v - w), -v, -w}, .free = 2, .turn = {{0, 1, -1, 0}, {0, 1, 0, -1}}};
    closest_finish(x, &here);
    *at = here;
    return 1;
}

// Corner 0 and the triangle of corners 1 2 3.
HK_RULE hk_closest closest_vertex_triangle(const double x[4][3])
{
    hk_closest at = {.square = HUGE_VAL};
    if (closest_inside(x, &at)) return at;
    closest_try_edge(x, 0, 1, 2, 1, &at);
    closest_try_edge(x, 0, 2, 3, 1, &at);
    closest_try_edge(x, 0, 3, 1, 1, &at);
    return at;
}

// Corner 0 and the plane through corner 1 whose unit normal is corner 2 less corner 1. Also where
// the vertex is behind it.
HK_RULE hk_closest closest_vertex_plane(const double x[4][3])
{
    hk_closest at = {.c = {1, -1, 0, 0}, .free = HK_FLAT};
    double n[3], d[3];
    closest_minus(x[2], x[1], n);
    closest_minus(x[0], x[1], d);
    double height = closest_dot(n, d);
    for (int i = 0; i < 3; i++) at.w[i] = height * n[i];
    at.square = height * height;
    return at;
}

// ‖a × b‖² of the two edges, less than which part of the product of their squared lengths counts as
// parallel: there is a whole family of closest points.
#define HK_PARALLEL_EDGES 1e-20

// The edges of corners 0 1 and 2 3.
HK_RULE hk_closest closest_edge_edge(const double x[4][3])
{
    hk_closest at = {.square = HUGE_VAL};
    double a[3], b[3], d[3];
    closest_minus(x[1], x[0], a);
    closest_minus(x[3], x[2], b);
    closest_minus(x[0], x[2], d);
    double aa = closest_dot(a, a), bb = closest_dot(b, b), ab = closest_dot(a, b);
    double ad = closest_dot(a, d), bd = closest_dot(b, d), cross[3];
    closest_cross(a, b, cross);
    double sine = closest_dot(cross, cross);
    if (sine > HK_PARALLEL_EDGES * aa * bb) {
        // The one nearest to the other: rounding of both by themselves would leave them apart.
        double s = (ab * bd - bb * ad) / sine, t = (ab * s + bd) / bb;
        s = (ab * t - ad) / aa;
        if (s > 0 && s < 1 && t > 0 && t < 1) {
            hk_closest here = {
                .c = {1 - s, s, -(1 - t), -t}, .free = 2, .turn = {{-1, 1, 0, 0}, {0, 0, 1, -1}}};
            closest_finish(x, &here);
            at = here;
        }
    }
    // Beside ends of edges; near to parallel, rounding may have found an inside that is farther.
    if (at.free == 2 && sine > 1e-8 * aa * bb) return at;
    closest_try_edge(x, 0, 2, 3, 1, &at);
    closest_try_edge(x, 1, 2, 3, 1, &at);
    closest_try_edge(x, 2, 0, 1, -1, &at);
    closest_try_edge(x, 3, 0, 1, -1, &at);
    return at;
}

// G⁻¹ of the free parameters; 0: they are not independent.
HK_RULE int closest_gram_inverse(const hk_closest *at, double g[2][2])
{
    double a = closest_dot(at->along[0], at->along[0]);
    if (at->free == 1) {
        g[0][0] = 1 / a;
        return a > 0;
    }
    double b = closest_dot(at->along[0], at->along[1]);
    double c = closest_dot(at->along[1], at->along[1]), det = a * c - b * b;
    g[0][0] = c / det;
    g[0][1] = g[1][0] = -b / det;
    g[1][1] = a / det;
    return det > 0;
}

// ---------------------------------------------------------------- matrices of four corners

// Symmetric matrices [12][12] are added up in the blocks on and above the diagonal.
HK_RULE int closest_first_column(int row)
{
    return 3 * (row / 3);
}

// Adds `factor` × a bᵀ (of a sum that is symmetric).
HK_RULE void closest_add_outer(double factor, const double *a, const double *b, double *h)
{
    for (int r = 0; r < 12; r++) {
        double scaled = factor * a[r];
        for (int c = closest_first_column(r); c < 12; c++) h[12 * r + c] += scaled * b[c];
    }
}

// Adds c cᵀ ⊗ (along n nᵀ + all 1).
HK_RULE void closest_add_factored(const double weight[4], double along, double all,
                                  const double n[3], double *h)
{
    for (int u = 0; u < 4; u++)
        for (int v = u; v < 4; v++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    h[12 * (3 * u + i) + 3 * v + j] +=
                        weight[u] * weight[v] * (along * n[i] * n[j] + (i == j ? all : 0));
}

// The blocks below the diagonal are those above it.
HK_RULE void closest_mirror(double *h)
{
    for (int r = 0; r < 12; r++)
        for (int c = 0; c < closest_first_column(r); c++) h[12 * r + c] = h[12 * c + r];
}

// Adds `factor` × ∇²φ, and `along` × the square of ∇‖w‖.
HK_RULE void closest_add_hessian(const hk_closest *at, double factor, double along, double *h)
{
    double g[2][2] = {{0}}, a[2][12], b[12], n[3], length = sqrt(at->square);
    for (int i = 0; i < 3; i++) n[i] = length > 0 ? at->w[i] / length : 0;
    if (at->free == HK_FLAT) {
        closest_add_factored(at->c, along + factor, 0, n, h);
        return;
    }
    closest_add_factored(at->c, along, factor, n, h);
    if (at->free == 0 || !closest_gram_inverse(at, g)) return;
    for (int k = 0; k < at->free; k++)
        for (int u = 0; u < 4; u++)
            for (int i = 0; i < 3; i++)
                a[k][3 * u + i] = at->turn[k][u] * at->w[i] + at->c[u] * at->along[k][i];
    if (at->free == 1) {
        closest_add_outer(-factor * g[0][0], a[0], a[0], h);
        return;
    }
    // Σ g_kl a_k a_lᵀ = (a₀ + t a₁) g₀₀ (a₀ + t a₁)ᵀ + a₁ (g₁₁ − t g₀₁) a₁ᵀ, t = g₀₁/g₀₀.
    double t = g[0][1] / g[0][0];
    for (int k = 0; k < 12; k++) b[k] = a[0][k] + t * a[1][k];
    closest_add_outer(-factor * g[0][0], b, b, h);
    closest_add_outer(-factor * (g[1][1] - t * g[0][1]), a[1], a[1], h);
}

#endif
