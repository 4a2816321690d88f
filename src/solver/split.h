// What the parts of method split share (split.c: one time step as the document has it;
// rotation_correction.c: what a body turns beyond that; split_passes.c: several passes, to the
// minimiser).
//
// Positions are ξ = (x − origin of the body)/length in single precision. A step begins at y, where
// inertia alone would take the body (with air: a little back), η in these units.
#ifndef HK_SPLIT_H
#define HK_SPLIT_H

#include "linear/components.h"
#include "solver/low_rank.h"
#include "solver/method.h"
#include "solver/rotation_correction.h"
#include "solver/line_search.h"
#include "solver/split_contact.h"
#include "term/corotation.h"

// L-BFGS remembers so many steps.
enum { HK_SPLIT_WINDOW = 8 };

typedef struct hk_split_passes {
    float *u;         // [free_count][4] ξ − η of the unknowns
    float *trial;     // the same of the state that is tried
    float *gradient;  // ∇ε there …
    float *before;    // … and at the last state
    float *solved;    // A⁻¹ ∇ε
    float *direction;
    // Steps s, changes of the gradient y, and z = A⁻¹ y
    float *s[HK_SPLIT_WINDOW], *y[HK_SPLIT_WINDOW], *z[HK_SPLIT_WINDOW];
    double sy[HK_SPLIT_WINDOW];
    int count, newest;
    double *partial;  // sums over runs of unknowns
} hk_split_passes;

typedef struct hk_split {
    hk_problem *problem;
    hk_view *view;
    hk_settings settings;
    int32_t *unknown;   // [vertex_count] where a vertex is in vectors over the unknowns, -1: held
    int32_t *vertex;    // [free_count] and back
    double *diagonal;   // [free_count] M/h² as the users number vertices
    int32_t *numbered;  // [free_count] the vertices in that order
    hk_components *components;  // A = M/h² + L
    hk_quadratic factored;      // of A; NAN: none yet
    hk_quadratic recalled;      // of the A that a state of a file was with; NAN: none
    hk_corotation *elements;
    hk_rotation_correction *correction;  // NULL: none
    double *stiffness;                   // [material_count] N/m², that of L
    double length;                       // m, the unit
    int32_t *body;                       // [vertex_count]
    int32_t *middle;                     // [body_count] the vertex that positions are relative to
    double *origin;                      // [body_count][4] m, where it is
    float *inverse;                      // [vertex_count] 1/inertia, m/N; 0 at held vertices
    float *load;            // [free_count][4] forces at work, in the units of the elements …
    double loaded;          // … as they were at this fraction of them; NAN: never
    int64_t loaded_forces;  // hk_problem.forces of then
    hk_low_rank live;       // elements of a world, beside A
    float *x;               // [vertex_count][4] ξ, and 1/inertia
    float *start;           // [vertex_count][4] η, for several passes, else NULL
    // [vertex_count][4] in double: for the monitor, links and viscosity, and their forces. The
    // last is NULL if there are none.
    double *wide_x, *wide_gradient;
    const double *before;  // x of the call at hand: the state before the step, held vertices moved
    hk_split_passes passes;
    double stiffest;  // 1 + 3λ/2μ, the largest of all materials, where L has only 2μ
    void *pose;       // the solver that poses are left to; NULL: none yet
    void *guarded;    // and that of several passes with contact
    hk_split_contact contact;
} hk_split;

// What the settings come to: passes of a time step, and clusters of a body that turn (0: none do).
int hk_split_pass_count(const hk_settings *settings);
int hk_split_clusters(const hk_settings *settings);

hk_status hk_split_passes_init(hk_split *s);
void hk_split_passes_release(hk_split *s);
// What L-BFGS has learnt, to a file and back.
void hk_split_passes_remember(hk_split *s, hk_stream *stream);
// From y, with at most `count` passes.
void hk_split_descend(hk_split *s, int count, hk_solve_report *report);
// Adds the forces of all terms but the tets at s->x, with a sign, to a vector over the unknowns;
// returns their energy, in units of the elements.
double hk_split_add_others(hk_split *s, float sign, float *to);
// Solves the vector of the components in place, with refinement if that is asked for.
void hk_split_solve(hk_split *s);
// ε at the state in s->x, in double precision; NAN unless the monitor wants to know it.
double hk_split_energy(hk_split *s);
// Counts an iteration and tells the monitor; false: stop.
bool hk_split_tell(hk_split *s, double energy, double residual, double relative, double length,
                   hk_solve_report *report);

#endif
