// The function that every method minimises,
//
//   ε(x) = w/2 ‖x − y‖²_M + E(x) − fᵀ(x − X) + D(x)        (quasistatics: w = 0, D = 0)
//
// over the free vertices, with held vertices given. E is the elastic energy, f gravity and loads, X
// the rest positions (they only shift ε by a constant, which keeps it small). D is the damping of a
// time step h from x_t: that of the air, c/(2h) ‖x − x_t‖² (Descent eq. 20), which joins the
// inertia term, for both are springs from a vertex to a place; and that of the elements
// (term/viscosity.h). Vectors are double[vertex_count][4] in the model's Morton order, the fourth
// number 0.
#ifndef HK_PROBLEM_H
#define HK_PROBLEM_H

#include "model/model.h"
#include "term/links.h"
#include "term/tet.h"
#include "term/viscosity.h"

typedef struct hk_problem {
    const hk_model *model;
    int threads;
    int vertex_count;
    int free_count;
    hk_tet_term *tets;
    hk_links *links;
    uint8_t *held;            // [vertex_count]
    double *mass;             // [vertex_count] kg
    double *rest;             // [vertex_count][4] X
    double *full_force;       // [vertex_count][4] N, gravity and loads in full
    double *force;            // [vertex_count][4] f: the share of it that is at work
    double *y;                // [vertex_count][4], with air between y and x_t
    double weight;            // w, 1/s²
    double air;               // c/h, N/m
    double viscous;           // β/h of the viscosity; 0: there is none
    double *inertia;          // [vertex_count] N/m: w m + c/h, 0 at held vertices
    hk_viscosity *viscosity;  // NULL: never used
    double *partial;          // sums over runs of vertices, room for several
    double rounding;          // N, what rounding alone leaves of the gradient's norm
    double size;              // m, of the model
    double slow_rate;         // 1/s², E/ρL²: about the square of the slowest frequency
    double energy_rounding;   // J, what rounding may do to ε near the state of rest
    // A vertex-weighted stiffness added where nothing holds a body (quasistatics): kg/s² a vertex.
    double shift;
    bool (*monitor)(void *context, const hk_iteration *iteration);
    void *monitor_context;
    // Single precision, for methods that ask for it; else NULL. Positions are relative to the body.
    hk_tet_term *single;  // the one in use, or NULL: double precision
    hk_tet_term *single_term;
    hk_links *single_links;
    double single_rounding[2], double_rounding[2];  // of gradient and energy
    float *single_x, *single_gradient;              // [vertex_count][4] workspace
    int32_t *body_of;                               // [vertex_count]
    double *origin;                                 // [body_count][3] m
    bool watch_energy;     // the monitor wants ε after every iteration, and of the start
    double load_fraction;  // told to the monitor
} hk_problem;

hk_status hk_problem_create(const hk_model *model, int threads, hk_problem **problem);
void hk_problem_free(hk_problem *problem);

// Makes the problem evaluate elements in single (or again in double) precision: hk_problem_gradient
// and what comes with it. hk_problem_energy stays in double.
hk_status hk_problem_use_precision(hk_problem *p, hk_precision precision);
// The elements in the precision in use.
hk_tet_term *hk_problem_elements(hk_problem *p);
// Positions in single precision, relative to where hk_problem_center last saw each body.
void hk_problem_center(hk_problem *p, const double *x);
void hk_problem_narrow(const hk_problem *p, const double *x, float *to);
void hk_problem_widen(const hk_problem *p, const float *x, double *to);

// The elements alone, with viscosity, in the precision of the method: x, gradient and diagonal are
// float (relative to the bodies) if the problem is in single precision. energy may be NULL. The
// second: without viscosity.
void hk_problem_elastic_gradient(hk_problem *p, const void *x, void *gradient, double *energy);
void hk_problem_element_gradient(hk_problem *p, const void *x, void *gradient, double *energy);
void hk_problem_elastic_diagonal(hk_problem *p, const void *x, void *diagonal);

// The inertia of a time step towards y; 0 for a pose. No damping.
void hk_problem_set_weight(hk_problem *p, double weight);
// Viscous damping may be set from now on.
hk_status hk_problem_allow_viscosity(hk_problem *p);
// After hk_problem_set_weight: damping of a time step h from x, which moves y.
void hk_problem_set_damping(hk_problem *p, const hk_damping *damping, double h, const double *x);
// What the quadratic parts of ε are made of: where it is the same as before, so is a Hessian at the
// state of rest.
typedef struct hk_quadratic {
    double weight, shift, air, viscous;
} hk_quadratic;
hk_quadratic hk_problem_quadratic(const hk_problem *p);
bool hk_same_quadratic(hk_quadratic a, hk_quadratic b);  // false where one is NAN
// Forces at work: `share` of the full ones.
void hk_problem_set_load(hk_problem *p, double share);

// +inf where a material is not defined, never NaN.
double hk_problem_energy(hk_problem *p, const double *x);
// The gradient at all vertices (at held ones it is the reaction), ε, and the scale of the forces at
// work: the largest of the norms of elastic, external and inertia forces. Parts may be NULL.
void hk_problem_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                         double *force_scale);
// The gradient of the augmented function of ADMM over x, after its local step (hk_tet_admm_local).
void hk_problem_split_gradient(hk_problem *p, const hk_tet_duals *duals, bool fresh,
                               const double *x, double *gradient, double *force_scale);
// The same, and the diagonal of the elements with viscosity, in double precision whatever the
// method uses.
void hk_problem_exact_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                               double *force_scale);
// Without inertia and damping: the gradient of E − fᵀx.
void hk_problem_force(hk_problem *p, const double *x, double *gradient);
void hk_problem_exact_diagonal(hk_problem *p, const double *x, double *diagonal);
// The smallest det F of all tets; +inf without tets.
double hk_problem_least_j(hk_problem *p, const double *x);
// Invertible model conversion: brings it up to date at x; true: ε is another function now.
bool hk_problem_update_blend(hk_problem *p, const double *x);
// Over free vertices.
double hk_problem_dot(hk_problem *p, const double *a, const double *b);

// ---------------------------------------------------------------- tets and links together

// E(x): +inf where a material is not defined, never NaN.
double hk_problem_elastic(hk_problem *p, const double *x);
// The links in the precision in use.
hk_links *hk_problem_links(hk_problem *p);
// Targets of attachments in single precision: relative to the bodies, as positions are.
void hk_problem_center_targets(hk_problem *p);
// The Hessian blocks of E for hk_assemble, negative eigenvalues × keep; hk_problem_stiffness_size
// numbers. The second adds those of viscosity.
int64_t hk_problem_stiffness_size(const hk_problem *p);
void hk_problem_elastic_stiffness(hk_problem *p, const double *x, double keep, double *values);
void hk_problem_stiffness(hk_problem *p, const double *x, double keep, double *values);
// Puts the targets of attachments where they are at `time`, or at a share 0..1 of their motion.
void hk_problem_place_targets(hk_problem *p, double time);
void hk_problem_place_targets_at(hk_problem *p, double share);
// Adds the stiffness of links at every vertex (model's numbers, N/m); returns Σ w × size², J.
double hk_link_scales(const hk_model *model, double *stiffness);
// The least of w over the springs of sheets, +inf without sheets.
double hk_softest_spring(const hk_model *model);

#endif
