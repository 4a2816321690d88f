// The function that every method minimises,
//
//   ε(x) = w/2 ‖x − y‖²_M + E(x) − fᵀ(x − X) + D(x)        (quasistatics: w = 0, D = 0)
//
// over the free vertices, with held vertices given. E and D are a list of terms (term/terms.h), of
// which the problem knows none by name; f are the forces among them that do not depend on x, X the
// rest positions (they only shift ε by a constant, which keeps it small). Damping by the air,
// a/(2h) ‖x − from‖²_M or c/(2h) ‖x − from‖² (Descent eq. 20) with (x − from)/h the velocity after
// the step, joins the inertia term, for both are springs from a vertex to a place; so do dampers of
// terms. Vectors are double[vertex_count][4] in the model's Morton order, the fourth number 0. A
// problem is in double precision; methods look at it through views (view.h).
#ifndef HK_PROBLEM_H
#define HK_PROBLEM_H

#include "model/model.h"
#include "solver/rigid.h"
#include "term/terms.h"

typedef struct hk_problem {
    const hk_model *model;
    int threads;
    int vertex_count;
    int free_count;
    int64_t unknown_vertices;        // the same, of all parts of a model
    struct hk_partition *partition;  // the model's: sums are over all parts; NULL: it is whole
    hk_terms *terms;
    hk_rigid *rigid;               // the bodies that nothing holds
    struct hk_manifold *manifold;  // manifold.h: what constraints leave; NULL: there are none
    uint8_t *held;                 // [vertex_count]
    double
        *masked_force;   // [vertex_count][4] N, of full_force what is left out along these, or NULL
    uint8_t *axes;       // [vertex_count] coordinates that stay, of free vertices; NULL: none
    double *mass;        // [vertex_count] kg
    double *rest;        // [vertex_count][4] X
    double *full_force;  // [vertex_count][4] N, in full
    double *force;       // [vertex_count][4] f: the fraction of it that is at work
    double load_fraction;    // that one
    int64_t forces;          // how often the full ones were another
    double *y;               // [vertex_count][4], with air between y and `from`
    double weight;           // w, 1/s²
    double air;              // c/h, N/m, of damping per vertex
    double drag;             // a/h, 1/s², of damping per mass
    bool damped;             // dampers are at work
    double stiffening;       // by how much damping raises constant matrices, relatively
    double damper_sum;       // N/m, of what dampers add to the inertia
    double *inertia;         // [vertex_count] N/m: (w + a/h) m + Σ c/h, 0 at held vertices
    double *partial;         // sums over runs of vertices, several for each
    double whole_stiffness;  // N/m, ‖k‖ over the stiffnesses of all vertices
    double rounding;    // N, what rounding alone leaves of the gradient's norm, without damping
    double *stiffness;  // [vertex_count] N/m, of the terms at rest: what rounding is made from
    double *extent;     // [vertex_count] m, of the body that it belongs to
    double reach;       // m, from the origin to the farthest vertex at rest
    int spent;          // iterations of this solve that others have taken (precise.h)
    double size;        // m, of the model
    double slow_rate;   // 1/s², E/ρL²: about the square of the slowest frequency
    double energy_rounding;  // J, what rounding may do to ε near the state of rest
    // A vertex-weighted stiffness added where nothing holds a body (quasistatics): kg/s² per
    // vertex.
    double shift;
    bool (*monitor)(void *context, const hk_iteration *iteration);
    void *monitor_context;
    bool watch_energy;  // the monitor wants ε after every iteration, and of the start
    // Of a model that is torn: the bodies as they were, whose constant matrix goes on (untorn.h,
    // borrowed), and for every vertex the one there that it comes from, both in Morton order.
    struct hk_untorn *untorn;
    int32_t *origin;           // [vertex_count]
    double step_time, step_h;  // s, of the step that was begun last
} hk_problem;

// Without damping: hk_damping of its terms is for the owner to set.
// `live` may be NULL, and lives as long as the problem.
hk_status hk_problem_create(const hk_model *model, int threads, const hk_live *live,
                            hk_problem **problem);
void hk_problem_free(hk_problem *problem);
// The model has other rest positions, and is otherwise what it was.
hk_status hk_problem_measure(hk_problem *problem);

// A time step, or a stage of one, that is about to begin.
typedef struct hk_stage_begin {
    double weight;  // w; y is in the problem already
    hk_step_begin terms;
} hk_stage_begin;
hk_status hk_problem_begin_step(hk_problem *p, const hk_stage_begin *stage);
hk_status hk_problem_begin_pose(hk_problem *p);
// Inertia and damping as in the step or pose of another problem, of the same bodies as they are
// when they are torn.
void hk_problem_weigh_like(hk_problem *p, const hk_problem *torn);
// What the quadratic parts of ε are made of: where it is the same as before, so is a Hessian at the
// state of rest.
typedef struct hk_quadratic {
    double weight, shift, air, stiffening, dampers;
} hk_quadratic;
hk_quadratic hk_problem_quadratic(const hk_problem *p);
bool hk_same_quadratic(hk_quadratic a, hk_quadratic b);  // false where one is NAN
// Coordinates that stay (fixes by axis), HK_AXIS_X …, of a vertex that is free.
static inline int hk_problem_axes(const hk_problem *p, int64_t vertex)
{
    return p->axes ? p->axes[vertex] : 0;
}
// 0 along them, of a vector [vertex_count][4].
void hk_problem_mask(const hk_problem *p, double *vector);
// What constraints allow, where there are any. Takes x for the state at which directions are …
void hk_problem_stand(hk_problem *p, const double *x);
// … takes of one what leads along the manifold there …
void hk_problem_tangent(hk_problem *p, double *vector);
// … and puts a state on it, and stands there. False: there is no such state near by.
bool hk_problem_retract(hk_problem *p, double *x);
// The pressures that keep volumes, from the gradient at x; workspace is [vertex_count][4].
void hk_problem_find_pressures(hk_problem *p, const double *x, double *workspace);
// Full forces again from the terms, for these changed; all of them are at work.
void hk_problem_take_forces(hk_problem *p);
// The model's materials have other coefficients, of the same laws, and its vertices other masses.
hk_status hk_problem_take_materials(hk_problem *p);
// Forces at work: a fraction of the full ones.
void hk_problem_set_load(hk_problem *p, double fraction);

// +inf where a material is not defined, never NaN.
double hk_problem_energy(hk_problem *p, const double *x);
// The gradient at all vertices (at held ones it is the reaction), ε, and the scale of the forces at
// work: the largest of the norms of elastic, external and inertia forces. Parts may be NULL.
void hk_problem_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                         double *force_scale);
// The gradient at all vertices as it is without constraints and fixes by axis.
void hk_problem_whole_gradient(hk_problem *p, const double *x, double *gradient);
// Completes gradient and energy of the terms at x by those of inertia and forces.
void hk_problem_add_vertices(hk_problem *p, const double *x, double energy_of_terms,
                             double *gradient, double *energy, double *force_scale);
// Without inertia and damping: the gradient of E − fᵀx.
void hk_problem_force(hk_problem *p, const double *x, double *gradient);
// The Hessian blocks of the terms for hk_assemble, negative eigenvalues × keep.
void hk_problem_blocks(hk_problem *p, const double *x, double keep, double *values);
// Iterations that are left for a solve of this problem, a time step or a pose.
int hk_problem_budget(const hk_problem *p, int of_step, int of_pose);
// Over free vertices.
double hk_problem_dot(hk_problem *p, const double *a, const double *b);

#endif
