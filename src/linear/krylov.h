// Krylov solvers for A x = b, in double: A as products, so that it may be a sparse matrix
// (block_sparse.h) or none at all; symmetric or not, definite or not.
//
//   cg        conjugate gradients (Hestenes & Stiefel 1952), for symmetric positive definite A
//   minres    Paige & Saunders 1975, for symmetric A: the least residual
//   bicgstab  van der Vorst 1992, any A
//   qmr       quasi-minimal residuals by coupled two-term recurrences (Freund & Nachtigal 1994),
//             any A; without the transposed product A is taken for symmetric, and one product an
//             iteration does
//
// A solve ends by its tolerance, after so many iterations, or at a time of the clock, whichever
// comes first (Extreme, section 4.1), and x is as good as it got. The bits do not depend on the
// number of threads.
#ifndef HK_KRYLOV_H
#define HK_KRYLOV_H

#include "core/base.h"

typedef enum hk_krylov_method {
    HK_KRYLOV_CG,
    HK_KRYLOV_MINRES,
    HK_KRYLOV_BICGSTAB,
    HK_KRYLOV_QMR,
    HK_KRYLOV_METHODS
} hk_krylov_method;

typedef struct hk_operator {
    int64_t size;  // numbers in a vector
    // y = A x
    void (*apply)(void *context, const double *x, double *y);
    // y = Aᵀ x; NULL: A is symmetric
    void (*apply_transposed)(void *context, const double *x, double *y);
    // z = M⁻¹ r, with M symmetric and positive definite; NULL: none
    void (*precondition)(void *context, const double *r, double *z);
    void *context;
} hk_operator;

typedef struct hk_krylov_limits {
    double tolerance;  // of ‖b − A x‖, relative to ‖b‖
    int iterations;    // at most
    double until;      // s, of hk_now: no iteration begins that would end later, as far as the last
                       // ones tell; 0: whenever
} hk_krylov_limits;

typedef enum hk_krylov_reason {
    HK_KRYLOV_CONVERGED,
    HK_KRYLOV_ITERATIONS,
    HK_KRYLOV_TIME,
    HK_KRYLOV_BREAKDOWN,   // the recurrence divides by nothing, also when begun anew
    HK_KRYLOV_ROUNDING,    // the recurrence has converged, but what is left does not shrink
    HK_KRYLOV_NOT_FINITE,  // A or b is not finite; x is as it was when last it was
} hk_krylov_reason;

typedef struct hk_krylov_report {
    hk_krylov_reason reason;
    int iterations;
    int restarts;      // after breakdowns, or where rounding led the recurrence astray
    bool indefinite;   // CG met a direction along which A is not positive
    double residual;   // ‖b − A x‖, evaluated, not what the recurrence has
    double relative;   // of ‖b‖; 0 where that is 0
    double longest_s;  // s, the longest iteration
} hk_krylov_report;

typedef struct hk_krylov hk_krylov;

const char *hk_krylov_name(hk_krylov_method method);
const char *hk_krylov_reason_name(hk_krylov_reason reason);

// Workspace for vectors of so many numbers; a solve allocates nothing.
hk_status hk_krylov_create(hk_krylov_method method, int64_t size, int threads, hk_krylov **krylov);
void hk_krylov_free(hk_krylov *krylov);
// From x on.
void hk_krylov_solve(hk_krylov *krylov, const hk_operator *a, const double *b,
                     const hk_krylov_limits *limits, double *x, hk_krylov_report *report);

#endif
