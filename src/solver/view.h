// A problem in the precision of a method, which owns the view: making one changes nothing outside
// it. In double precision the terms are the problem's own. In single precision they are others, and
// positions are displacements from the state that hk_view_begin last saw. What changes in the
// problem's terms (targets, blend weights, damping) the view's follow.
#ifndef HK_VIEW_H
#define HK_VIEW_H

#include "core/stream.h"
#include "solver/problem.h"

typedef struct hk_view {
    hk_problem *problem;
    bool single;
    hk_terms *terms;
    // As of the last evaluation:
    double rounding;         // N, of the gradient's norm, without damping
    double energy_rounding;  // J
    double *noise;  // [body_count] m, of single precision at strains of about 1: × stiffness, what
                    // rounding does
    int32_t *body_of;  // [vertex_count] of single precision
    double away;       // how far bodies are from the origin, relative to rest; at least 1
    double strained;   // relative to that of bodies strained by about 1
    // Of single precision:
    hk_frame frame;
    double law_rounding;         // N, what the terms' own arithmetic leaves of the gradient's norm
    double law_energy_rounding;  // J, and of the energy,
    double law_energy;           // J, at a state of this energy
    double law_strain;           // and this strain (hk_terms_base_strain)
    double base_strain;          // that of the base
    double energy, reach;        // J, m: of the last evaluation, and its largest displacement
    float *x, *gradient;         // [vertex_count][4] workspace
    float *settled;              // [vertex_count][4] x at the last hk_view_update
    double *touching;  // [vertex_count][4] N/m, workspace: of contact; NULL: there is none
    double remainder;  // m, the largest displacement of a state that just became the base
} hk_view;

hk_status hk_view_create(hk_problem *problem, hk_precision precision, hk_view **view);
void hk_view_free(hk_view *view);
size_t hk_view_scalar_size(const hk_view *view);

// What rounding alone leaves of the gradient's norm in this step, N, over all bodies: a bound for
// estimates by the vertex.
double hk_view_rounding(const hk_view *view);

// How a gradient at x compares with what rounding may do to it, which is estimated vertex by
// vertex: a stiff body must not hide what is wrong with a soft one.
typedef struct hk_excess {
    double rounding;  // N, the estimate's norm
    double beyond;  // N, norm of what the gradient has beyond HK_ROUNDING_LIMIT times the estimate
                    // at each vertex
    double far;     // N, the same beyond HK_ROUNDING_MARGIN times
    bool idle;      // no forces are at work but rounding errors: there are no external ones, and
                    // those of terms and inertia are below the margin at every vertex
} hk_excess;
// epsilon: rounding of the positions that inertia forces are made of.
hk_excess hk_view_excess(const hk_view *view, const double *x, const double *gradient,
                         double epsilon);

// The terms as those of the problem are now.
hk_status hk_view_follow(hk_view *view);
// Displacements are from x; the terms follow.
hk_status hk_view_center(hk_view *view, const double *x);
// A solve begins at x: that, and terms are brought up to date.
hk_status hk_view_begin(hk_view *view, const double *x);
// Brings the terms up to date at x; true: ε is another function now. Where x is far from the base
// in comparison with what it moved since the last update it becomes the base, and what was
// evaluated from the old one is to be evaluated again, too.
bool hk_view_update(hk_view *view, const double *x);

// Positions in single precision.
void hk_view_narrow(const hk_view *view, const double *x, float *to);
void hk_view_widen(const hk_view *view, const float *x, double *to);

// As hk_problem_gradient, the terms in the precision of the view. Those of displacements, which are
// not rounded as positions are, stay in double.
void hk_view_gradient(hk_view *view, const double *x, double *gradient, double *energy,
                      double *force_scale);
// The same of the augmented function of ADMM (hk_terms_admm_gradient).
void hk_view_admm_gradient(hk_view *view, void *const *duals, bool fresh, const double *x,
                           double *gradient, double *force_scale);
// All terms, without inertia and forces, in the precision of the view: x, gradient and diagonal are
// scalars of it. The energy may be NULL.
void hk_view_elements(hk_view *view, const void *x, void *gradient, double *energy);
void hk_view_diagonal(hk_view *view, const void *x, void *diagonal);
// For methods that keep displacements themselves: these are up to `reach`, m. Sets what rounding
// of them does.
void hk_view_reach(hk_view *view, double reach);

// What the next solve takes over from the last one, to a file and back.
void hk_view_remember(hk_view *v, hk_stream *stream);

#endif
