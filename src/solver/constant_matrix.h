// The constant matrix of projective dynamics, ADMM and quasi-Newton,
//
//   A = (1 + β/h) L + M/h² + c/h,
//
// one unknown a free vertex that serves x, y and z: L the Laplacian of term/laplacian.h, β the
// viscosity, whose Hessian is at most β/h L, c the air. It is factored anew only when the time step
// or the damping changed. Elements that come and go between steps are beside it where it has a
// factor (low_rank.h), and in its numbers where it has none.
//
// Time steps solve with it in single precision (linear/factor.h), poses in double: without
// inertia the system may be too badly conditioned for single. With refinement a time step's
// solution is improved once by what it leaves of the right-hand side, evaluated in double.
//
// A factor of n unknowns has about n^4/3 numbers. For large bodies, and where there is no direct
// solver, a cycle of multigrid stands in for A⁻¹ (linear/multigrid.h): memory and time grow with n.
#ifndef HK_CONSTANT_MATRIX_H
#define HK_CONSTANT_MATRIX_H

#include "linear/factor.h"
#include "linear/multigrid.h"
#include "solver/low_rank.h"
#include "solver/method.h"
#include "term/assembly.h"

typedef struct hk_constant_matrix {
    hk_problem *problem;
    // Fixes by axis: where some vertices have a coordinate that stays, the matrix of this
    // coordinate has other unknowns, and is one of its own.
    struct hk_constant_matrix *by_axis[3];
    uint8_t *held;  // [vertex_count] those of such a matrix, and what rigid parts and
                    // others tie (constant_reduction.h); NULL: the problem's
    struct hk_constant_reduction *reduction;  // NULL: nothing is tied so
    // Of cavities (manifold_cavities.c), where the manifold stood at a version of it; -1: nowhere.
    double *walls;          // [cavities + 1][vertex_count][4] A⁻¹n, and workspace
    double *wall_products;  // [cavities + 1][cavities] Cholesky's factor of n·A⁻¹n, and workspace
    int64_t wall_version;
    hk_assembly *assembly;   // NULL with multigrid
    hk_pattern scalar;       // of the unknowns; borrows the arrays of the assembly's, if any
    const int32_t *unknown;  // [vertex_count] of a vertex (Morton order), -1 if held
    const int32_t *vertex;   // [free_count] of an unknown
    int32_t *own_unknown, *own_vertex;  // these, with multigrid
    bool solves;                        // asked for, and there is something to solve for
    double *laplacian;                  // [hk_pattern_size of scalar] L
    double *matrix;                     // A
    hk_direct *direct;                  // NULL: not asked for, or all vertices are held
    hk_factor *triangle;                // its factor for time steps; NULL: none yet
    hk_multigrid *multigrid;            // instead of a factor, or NULL
    double *right;                      // [3 free_count], of solves in double
    double *given, *found;  // [free_count][4] in elimination order, for refinement, else NULL
    hk_quadratic factored;  // that of A; NAN: none yet
    hk_low_rank live;       // elements of a world, beside A
    double *whole;          // [2][vertex_count][4] workspace of fixes by axis; NULL: not needed yet
    double *tied;           // [2][vertex_count][4] workspace of a manifold; NULL: not needed yet
    int32_t *row;           // [vertex_count] the vertex itself, -1 if held; NULL: not needed yet
    int flags;
    double *weight;          // [material_count]
    int64_t factorisations;  // how often A was factored, or a cycle of multigrid set up for it
    // Of bodies that are torn: that of the bodies as they were, borrowed, and how it is solved with
    // (untorn.h); there are no numbers here then.
    struct hk_constant_matrix *base;
    struct hk_sections *sections;
    bool borrows_sections;
} hk_constant_matrix;

enum {
    HK_MATRIX_FACTORED = 1,   // to be solved with
    HK_MATRIX_REFINED = 2,    // with a step of refinement
    HK_MATRIX_MULTIGRID = 4,  // instead of a factor
    // Of bodies that are torn: that which they had before, where there is one to be solved with.
    HK_MATRIX_KEPT = 8,
};

// How methods with such a matrix solve with it, as their option `global` names it.
enum { HK_GLOBAL_AUTO, HK_GLOBAL_CHEBYSHEV, HK_GLOBAL_MULTIGRID, HK_GLOBAL_FACTOR };
extern const char *const hk_globals[];
// The flag that it comes to on the CPU for so many unknowns.
int hk_constant_matrix_kind(int global, int unknowns);
// Those of a problem; of torn bodies those that they had before.
int hk_constant_matrix_unknowns(const hk_problem *problem);

// weight is [material_count], N/m² of each material in L. On failure the caller releases it.
hk_status hk_constant_matrix_init(hk_constant_matrix *m, hk_problem *problem, const double *weight,
                                  int flags);
void hk_constant_matrix_release(hk_constant_matrix *m);

// Brings A and its factor up to date; adds the time to phases; anew (may be NULL) says whether
// there was anything to do. `method` is who asks, for messages.
hk_status hk_constant_matrix_prepare(hk_constant_matrix *m, const char *method, double *phase_s,
                                     bool *anew);
// to = A⁻¹ from at free vertices, double[vertex_count][4]; at held ones it stays. to may be from.
hk_status hk_constant_matrix_apply(hk_constant_matrix *m, const double *from, double *to);
// x = A⁻¹ b without the elements of a world, from so many solves, each for what those before left
// in double precision. `workspace`, x and b are [vertex_count][4], 0 at held vertices.
hk_status hk_constant_matrix_solve(hk_constant_matrix *m, const double *b, int solves,
                                   double *workspace, double *x);
// direction = −A⁻¹ gradient, 0 at held vertices.
hk_status hk_constant_matrix_descend(hk_constant_matrix *m, const double *gradient,
                                     double *direction);

// Factors a matrix that may be singular to rounding: more and more is added to its diagonal until
// it is positive definite.
hk_status hk_direct_factor_shifted(hk_direct *direct, const hk_pattern *pattern, double *matrix,
                                   const char *method);

// An option of the methods that solve in single precision.
extern const char *const hk_off_on[];
#define HK_REFINEMENT_OPTION                                                                  \
    {                                                                                         \
        .name = "refinement",                                                                 \
        .help = "on: the single-precision solves of a time step are followed by one step of " \
                "iterative refinement, its residual in double precision",                     \
        .words = hk_off_on                                                                    \
    }

#endif
