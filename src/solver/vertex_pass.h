// Passes over the vertices in the precision of the elements, for methods that keep their state in
// it. Vectors are scalar[vertex_count][4].
#ifndef HK_VERTEX_PASS_H
#define HK_VERTEX_PASS_H

#include "solver/view.h"

// A state and what moves it.
typedef struct hk_vertices {
    hk_view *view;              // borrowed
    const hk_problem *problem;  // that it is of
    void *q;                    // positions (in single precision from the view's base)
    void *last;                 // positions one iteration ago (Nesterov: before its extrapolation)
    void *gradient;             // of the elements
    void *inverse;              // of the diagonal of the Hessian; 0 at held vertices
    void *target;     // where inertia and forces pull, and in the fourth place how stiffly (N/m)
    void *force;      // N, where there is no inertia to carry it
    double *floor;    // [vertex_count] N/m, what `inverse` takes for the least diagonal; or NULL
    double rounding;  // N, what rounding of q leaves of inertia forces, over all vertices
} hk_vertices;

typedef struct hk_vertex_sums {
    double energy;  // J, of inertia and forces; relative, for comparisons within a solve
    double square;  // N², of the gradient over free vertices
    double reach;   // m, the largest |q|
} hk_vertex_sums;

hk_status hk_vertices_init(hk_vertices *v, hk_view *view);
void hk_vertices_release(hk_vertices *v);
size_t hk_vertices_bytes(const hk_vertices *v);  // of one vector

// Positions and targets from the problem, and positions back at free vertices.
void hk_vertices_load(hk_vertices *v, const double *x);
void hk_vertices_store(const hk_vertices *v, const void *q, double *x);
// Puts one number a vertex, × factor, into `inverse`.
void hk_vertices_fill(hk_vertices *v, const double *diagonal, double factor);
// The diagonal of the elements, in `inverse`, becomes the inverse of the whole diagonal. Entries
// that are not positive count by their size, but none as less than `floor`.
void hk_vertices_invert(hk_vertices *v);
// The parts of inertia and forces at q, with the gradient of the elements at hand. (The view learns
// how large displacements are.)
hk_vertex_sums hk_vertices_measure(const hk_vertices *v);
// The whole gradient there, double[vertex_count][4], and what positions are rounded to, relatively.
void hk_vertices_whole_gradient(const hk_vertices *v, double *gradient);
double hk_vertices_epsilon(const hk_vertices *v);
// The norms of elastic, external and inertia forces at q, the largest.
double hk_vertices_scale(const hk_vertices *v);
// q⁺ = ω (q − α P g − last) + last, and last⁺ = q.
void hk_vertices_step(hk_vertices *v, double length, double omega);
// q⁺ = d + m (d − last) with d = q − α P g, and last⁺ = d.
void hk_vertices_step_momentum(hk_vertices *v, double length, double momentum);
// The same for methods that have moved q to d themselves: q⁺ = ω (d − last) + last, after which
// `before`, what q was before, is the last; and q⁺ = d + m (d − last), after which d is.
void hk_vertices_accelerate(hk_vertices *v, const void *before, double omega);
void hk_vertices_extrapolate(hk_vertices *v, double momentum);

#endif
