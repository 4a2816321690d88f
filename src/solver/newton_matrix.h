// The matrix of Newton's method over the free vertices, and how its systems are solved: by a direct
// factorisation, or by conjugate gradients with multigrid, which need only as much memory as the
// matrix itself has.
#ifndef HK_NEWTON_MATRIX_H
#define HK_NEWTON_MATRIX_H

#include "core/stream.h"
#include "linear/block_multigrid.h"
#include "linear/direct.h"
#include "solver/problem.h"
#include "term/assembly.h"

typedef struct hk_newton_matrix {
    hk_problem *problem;
    bool by_multigrid;
    hk_assembly *assembly;
    struct hk_reduction *reduction;  // reduction.h: to the unknowns of constraints; NULL: none
    double *whole_gradient;          // [vertex_count][4] for their curvature, or NULL
    double *lower;                   // [hk_pattern_size]
    double *blocks;                  // [hk_terms_block_size] of the elements
    double keep;                     // with which they were found
    bool lost;                       // they are no longer there (hk_partition_matrix_ops.borrow)
    // One of these, the first two not without free vertices.
    hk_direct *direct;
    hk_block_multigrid *multigrid;
    struct hk_partition *partition;  // or this has it, with those of the other parts,
    void *of_partition;              // as that
    hk_block_rows rows;              // for multigrid, from `lower`
    int32_t *source;
    double *right;     // [3 free_count]; for multigrid [free_count][4]
    double *solution;  // the same, for multigrid
    double *position;  // the same, for multigrid
    double *sum;       // [2][3 free_count], for multigrid: an exact solution so far, and K times it
    int cg_iterations;  // of the last solve
    // Coarser levels are made anew only where iterations have been wasted by old ones.
    bool has_levels;         // there are some
    bool fresh;              // they are of this very matrix
    double rate;             // −log ‖r‖ an iteration when they were
    double wasted;           // iterations since then
    hk_quadratic quadratic;  // of the problem that they are of
    double *of_levels;       // [hk_pattern_size] `lower` when they were made, for states in files
} hk_newton_matrix;

hk_status hk_newton_matrix_create(hk_problem *problem, bool by_multigrid,
                                  hk_newton_matrix **matrix);
void hk_newton_matrix_free(hk_newton_matrix *matrix);

// The Hessian of the terms at x, negative eigenvalues × keep (those of elements of a world ×
// loose), and `diagonal` [vertex_count]. Phases are added to phase_s. `positive`: it can be solved
// with.
hk_status hk_newton_matrix_set(hk_newton_matrix *matrix, const double *x, double keep, double loose,
                               const double *diagonal, double *phase_s, bool *positive);
double hk_newton_matrix_largest(const hk_newton_matrix *matrix);  // of its diagonal
// direction = −H⁻¹ gradient at free vertices, 0 at held ones; by multigrid up to a residual of
// `tolerance` relative to the gradient. `positive` is false where the matrix turns out not to be.
hk_status hk_newton_matrix_solve(hk_newton_matrix *matrix, double tolerance, const double *gradient,
                                 double *direction, double *phase_s, bool *positive);
// The same as exactly as rounding in double allows. Multigrid has the matrix in single precision:
// what is left of the gradient in double is solved for again, until nothing is gained.
hk_status hk_newton_matrix_solve_exactly(hk_newton_matrix *matrix, const double *gradient,
                                         double *direction, double *phase_s, bool *positive);
// force += H step of the last matrix, with elements of the world but without the diagonal.
void hk_newton_matrix_add_product(hk_newton_matrix *matrix, const double *x, double keep,
                                  const double *step, double *force);

// Pattern and levels as they came about, to a file and back: it may be another matrix then.
void hk_newton_matrix_remember(hk_newton_matrix **matrix, hk_stream *stream);

#endif
