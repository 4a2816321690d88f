// Ways to solve f(x, X) = 0 for the rest shape X, and the order in which they are tried. They share
// the problem (inverse.h), its constant matrices (precondition.h) and a current shape.
//
//   fixed point    X ← RS(X, −F⁻¹ K⁻¹ f): no derivative, one solve with K and one with L
//   newton_gmres   Newton's method; GMRES with F⁻¹ K⁻¹ in front solves for its step
//   load steps     newton_gmres for one load after the other, from none to the full one
//   newton_lu      TwoWay section 4.2: Newton's method with an LU factorisation
//
// RS is a rotation–strain step (rest_lanes.h). The first three measure their progress by ‖K⁻¹ f‖,
// a length: a good first step raises ‖f‖ by orders of magnitude.
#ifndef HK_REST_SOLVER_H
#define HK_REST_SOLVER_H

#include "design/gmres.h"
#include "design/precondition.h"
#include "design/secant.h"
#include "linear/lu.h"
#include "solver/line_search.h"

typedef enum hk_rest_method {
    HK_REST_AUTO,
    HK_REST_FIXED_POINT,
    HK_REST_NEWTON_GMRES,
    HK_REST_NEWTON_LU,
    HK_REST_METHODS
} hk_rest_method;

typedef enum hk_rest_linear {
    HK_REST_LINEAR_AUTO,
    HK_REST_DIRECT,
    HK_REST_MULTIGRID,
    HK_REST_LINEAR_WAYS
} hk_rest_linear;

typedef struct hk_rest_settings {
    hk_rest_method method;
    hk_rest_linear linear;  // how systems with K and L are solved; not to be changed later
    double tolerance;
    int iterations;  // at most, of an attempt
    int load_steps;  // at most; 0: no load stepping
    int reuse;       // of newton_lu: iterations for each factorisation
    int components;  // of ∂f/∂X
    int warp_from;   // free vertices from which on an old factor is warped
} hk_rest_settings;

// A rest shape, and how far it is from the one that is looked for.
typedef struct hk_rest_shape {
    double *X;        // [vertex_count][4] m
    double *force;    // [vertex_count][4] N
    double *pull;     // [vertex_count][4] m, K⁻¹ f
    double residual;  // N, ‖f‖
    double merit;     // m, ‖K⁻¹ f‖
    double length;    // m, the largest of K⁻¹ f
    double least;     // det F̂
    bool sound;       // of a trial: it is a shape, with finite forces
} hk_rest_shape;

typedef struct hk_rest_solver {
    hk_inverse *inverse;
    hk_precondition *precondition;
    bool factored;  // its matrices are those of the loaded shape, K perhaps warped
    hk_rest_settings settings;
    hk_rest_shape now, trial;
    double *step, *right, *good, *before, *older;  // [vertex_count][4]
    hk_secant secant;
    hk_gmres gmres;
    struct hk_rest_lu *lu;  // NULL: not needed yet
    hk_rest_report *report;
    hk_monitor_fn *monitor;
    void *monitor_context;
    bool stopped;         // by the monitor
    double step_length;   // of the last step taken
    int warped_krylov;    // iterations of GMRES with a warped factor, in this run
    double *old_x, *old;  // [vertex_count][4] a loaded shape and its rest shape, found before
    bool has_old;
    bool from_old;  // the run begins with that one, carried over to the present loaded shape
    double phase_s[HK_PHASE_COUNT];
} hk_rest_solver;

hk_status hk_rest_solver_create(const hk_model *model, int threads, hk_rest_solver **solver);
void hk_rest_solver_free(hk_rest_solver *solver);
// `model`, which it was made from, has another loaded shape: what does not depend on that is kept,
// and so is the factor, to be warped. Where it fails it must be called again before all else.
hk_status hk_rest_solver_set_shape(hk_rest_solver *solver, const hk_model *model);
// Makes the matrices of the loaded shape, where they are not there already and the monitor lets it
// do so; fails with words for users where nothing holds the bodies.
hk_status hk_rest_solver_factor(hk_rest_solver *solver);
// Solves from the shape now.X, which may be any; reason, detail and counts of the report are
// filled, and now.X is the best that was found.
hk_status hk_rest_solver_run(hk_rest_solver *solver, hk_rest_report *report);

// Sag, stretches and where, of a model whose rest shape is the loaded shape (rest_measure.c);
// workspace is [2 tet_count].
void hk_rest_measure(const hk_model *model, const double *rest, int threads, double *workspace,
                     hk_rest_report *report);

// Where the rest shape meets itself (rest_overlaps.c): filled into the report. For all rest shapes
// of models with these elements; warm calls take no memory.
typedef struct hk_rest_overlaps hk_rest_overlaps;
hk_status hk_rest_overlaps_create(const hk_model *model, int threads, hk_rest_overlaps **overlaps);
void hk_rest_overlaps_free(hk_rest_overlaps *overlaps);
hk_status hk_rest_overlaps_find(hk_rest_overlaps *overlaps, const double *positions,
                                hk_rest_report *report);
// Gravity and loads of another model of the same bodies, from the next loaded shape on.
void hk_rest_take_loads(hk_rest *rest, const hk_model *model);

// A piece of the bodies that fixes and attachments do not hold (rest_holds.c): one of its vertices,
// or -1.
hk_status hk_rest_find_loose(const hk_model *model, int *vertex);

// ---- what the attempts share (rest_step.c)

// Forces and lengths of a shape; false: it is not one, or nothing is finite there.
bool hk_rest_evaluate(hk_rest_solver *solver, hk_rest_shape *shape);
// Its two halves: the force, and K⁻¹ of it where there is a factor.
bool hk_rest_evaluate_force(hk_rest_solver *solver, hk_rest_shape *shape);
bool hk_rest_evaluate_pull(hk_rest_solver *solver, hk_rest_shape *shape);
// Whether `now` is good enough.
bool hk_rest_converged(const hk_rest_solver *solver, double tolerance);
// Goes along `step` by a rotation–strain step that lowers the merit, of at least `shortest` of it.
bool hk_rest_advance(hk_rest_solver *solver, double shortest);
// The trial `length` of the way along `step`, a rotation–strain step; where that would be too long,
// it and `length` are shorter. False: not even that is possible.
bool hk_rest_try(hk_rest_solver *solver, double *length);
void hk_rest_take_trial(hk_rest_solver *solver);  // it is `now` then
// Tells the monitor; false: it wants to stop.
bool hk_rest_tell(hk_rest_solver *solver, int linear_iterations);
// Asks the monitor within an iteration; false: it wants to stop. The context is a hk_rest_solver.
bool hk_rest_go_on(void *context);

// ---- the attempts: HK_CONVERGED, or why not
typedef enum hk_rest_end {
    HK_REST_DONE,
    HK_REST_SLOW,    // others are faster
    HK_REST_STUCK,   // no step lowers the merit
    HK_REST_SPENT,   // iterations
    HK_REST_STOPPED  // by the monitor
} hk_rest_end;
hk_status hk_rest_fixed_point(hk_rest_solver *solver, hk_rest_end *end);
hk_status hk_rest_newton_gmres(hk_rest_solver *solver, double tolerance, int most,
                               hk_rest_end *end);
hk_status hk_rest_load_steps(hk_rest_solver *solver, hk_rest_end *end);
hk_status hk_rest_newton_lu(hk_rest_solver *solver, hk_rest_end *end);
// step = −(∂f/∂X)⁻¹ f at `now` by an LU factorisation, unless that is singular.
hk_status hk_rest_lu_step(hk_rest_solver *solver, bool *regular);
// Goes along it as far as the same factor says that it leads on.
hk_status hk_rest_lu_advance(hk_rest_solver *solver, double shortest, bool *advanced);
void hk_rest_lu_free(struct hk_rest_lu *lu);
// The matrices, K of an older shape where it may be warped (rest_matrices.c). `made` is false, with
// the report filled, where there are none.
hk_status hk_rest_prepare(hk_rest_solver *solver, bool may_warp, bool *made);
// Adds to what the report says was tried.
void hk_rest_note(hk_rest_report *report, const char *attempt);

#endif
