// The equilibrium of a model whose materials take other values again and again, or whose rest shape
// does, and its linear response: what those need who look for materials, or edit rest shapes. The
// patterns of all matrices are analysed once.
//
// The gradient g(x; p) of energy and loads vanishes at a pose x(p). With K = ∂g/∂x there, the pose
// follows a parameter by dx/dp = −K⁻¹ ∂g/∂p, and a function Φ(x) of it by dΦ/dp = λᵀ ∂g/∂p with
// the adjoint state λ = −K⁻¹ ∂Φ/∂x: one solve for all parameters.
#ifndef HK_EQUILIBRIUM_H
#define HK_EQUILIBRIUM_H

#include "solver/continuation.h"
#include "solver/newton_matrix.h"

typedef struct hk_equilibrium {
    hk_model *model;  // its own
    hk_problem *problem;
    hk_settings settings;
    void *solver;                    // Newton's method
    hk_newton_matrix *matrix;        // of the response; NULL: not needed yet
    double *diagonal;                // [vertex_count] of K, beside what elements add
    bool unheld;                     // some component has fewer than three held vertices
    double *x;                       // [vertex_count][4] the pose, in Morton order
    double *gradient, *step, *good;  // [vertex_count][4] workspace
    double correction;  // m, what one more step would move a vertex by, root mean square
    int poses, iterations, factorisations;
    double phase_s[HK_PHASE_COUNT];
} hk_equilibrium;

// Takes the model over, in any case. The tolerance is that of poses, relative to the forces at
// work.
hk_status hk_equilibrium_create(hk_model *model, int threads, double tolerance,
                                hk_equilibrium **equilibrium);
void hk_equilibrium_free(hk_equilibrium *e);
// The model's materials have other coefficients: masses and forces follow.
hk_status hk_equilibrium_take_materials(hk_equilibrium *e);
// The model has another rest shape, [vertex_count][3], and the gravity and loads of `loads`, a
// model of the same bodies; x stays. Not for models with pieces that can move freely. Where it
// fails it must be called again before all else.
hk_status hk_equilibrium_set_shape(hk_equilibrium *e, const double *positions,
                                   const hk_model *loads);
// The pose from `start` (NULL: from rest). `found`: x is an equilibrium; else the report says why
// there is none, and x is where the search ended.
hk_status hk_equilibrium_find(hk_equilibrium *e, const double *start, hk_solve_report *report,
                              bool *found);
// K at x, factored, and x corrected by one step with it. `stable`: K is positive definite.
hk_status hk_equilibrium_linearise(hk_equilibrium *e, bool *stable);
// −K⁻¹ gradient at free vertices, 0 at held ones.
hk_status hk_equilibrium_respond(hk_equilibrium *e, const double *gradient, double *response);
// ‖g‖ over free vertices at x, and relative to the forces at work.
double hk_equilibrium_residual(hk_equilibrium *e, double *relative);

#endif
