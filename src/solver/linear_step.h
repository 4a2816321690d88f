// The linear system of one step of backward Euler, expanded at the state before it (Extreme eq. 17
// to 19), in displacements Δ = T v and newtons:
//
//   A Δ = b,   A = (1 + β/T) K + (1/T² + α/T) M − K_H − B_H/T,   b = −∇ε(x) + h
//
// K is the exact stiffness of all terms, indefinite where it is; h, K_H and B_H are forces that are
// no energy's with their derivatives (hk_vertex_force). Damping of the scene, by air and viscosity,
// is in ε. Held vertices move as they are told. A is the document's A_k times (T + β)/T.
#ifndef HK_LINEAR_STEP_H
#define HK_LINEAR_STEP_H

#include "linear/block_sparse.h"
#include "linear/lu.h"
#include "solver/problem.h"
#include "term/assembly.h"

typedef struct hk_linear_step_def {
    hk_krylov_method krylov;
    bool direct;          // LU in place of that
    bool preconditioned;  // by the inverses of the diagonal blocks
    double alpha, beta;   // 1/s, s: Rayleigh's damping (Extreme eq. 6)
} hk_linear_step_def;

typedef struct hk_linear_step {
    hk_problem *problem;
    hk_linear_step_def def;
    double h;  // T, s
    hk_assembly *assembly;
    double *blocks, *lower;    // of elements, and of A as it is assembled
    double *weight;            // [vertex_count] N/m: inertia, air and α
    double *touching;          // [vertex_count][9] N/m: −K_H − B_H/T
    double *coupling;          // [vertex_count][4] N: what held vertices that move add to AΔ
    double *held_step;         // [vertex_count][4] m, workspace
    bool coupled;              // some do
    hk_block_sparse *matrix;   // A over the free vertices
    double *right, *solution;  // [rows][4]
    hk_krylov *krylov;
    hk_lu *lu;  // of A by columns
    int32_t *column_start, *row;
    double *column_value;
    int64_t *column_source;  // in matrix->value
    double *flat;            // [2][3 rows]
} hk_linear_step;

hk_status hk_linear_step_init(hk_problem *problem, const hk_linear_step_def *def,
                              hk_linear_step *step);
void hk_linear_step_release(hk_linear_step *step);

// A at x for a step of h seconds; adds h, the forces that are no energy's, to `force`,
// [vertex_count][4].
hk_status hk_linear_step_set(hk_linear_step *step, double h, const double *x, double *force,
                             double *phase_s);
// The same A with those forces that are at work at `ahead`; they are added to `force`.
void hk_linear_step_touch(hk_linear_step *step, const double *x, const double *ahead,
                          double *force);
// A Δ = force at the x of the matrix, from the Δ given on; at held vertices it is prescribed.
// Direct solves report one iteration. With a singular matrix the reason is HK_KRYLOV_BREAKDOWN.
hk_status hk_linear_step_solve(hk_linear_step *step, const double *x, const double *force,
                               const hk_krylov_limits *limits, double *delta,
                               hk_krylov_report *report, double *phase_s);
// AΔ at free vertices; what is at held ones is of no use.
void hk_linear_step_product(hk_linear_step *step, const double *delta, double *to);
// What αM, βK and forces that are no energy's add to A, times Δ, at free vertices, from AΔ.
void hk_linear_step_beyond_energy(const hk_linear_step *step, const double *delta,
                                  const double *product, double *to);
double hk_linear_step_trace(const hk_linear_step *step, int vertex);  // of its block in A, N/m

#endif
