// Solves with A + C, where A is a constant matrix that can be solved with (a factor, a cycle of
// multigrid, L-BFGS over one of these) and C = Nᵀ K N the stiffness of what touches now: contacts
// and their friction (contact/rows.h), which come and go within a solve. A is never factored again
// because of them.
//
// The unknowns are forces λ, one for each row of N:
//
//   (K⁻¹ + N A⁻¹ Nᵀ) λ = N A⁻¹ b,   (A + C)⁻¹ b = A⁻¹ (b − Nᵀ λ)
//
// by conjugate gradients, preconditioned by an estimate of the diagonal. Stiffnesses of barriers
// differ by many orders; here they are bounded by those of the bodies, and the softest, not the
// stiffest, are easy. An iteration is one solve with A. Where nothing touches it is the one for
// A⁻¹ b.
#ifndef HK_CONTACT_PCG_H
#define HK_CONTACT_PCG_H

#include "contact/rows.h"
#include "solver/problem.h"

typedef struct hk_contact_pcg {
    hk_problem *problem;
    double tolerance;  // of the duality gap, relative to bᵀd
    int most;          // iterations
    int iterations;    // that were made since the caller set this to 0
    // ---- N and K
    int count;
    hk_contact_row *rows;
    size_t row_room;
    // ---- vectors over the rows
    double *diagonal;                                 // m/N
    double *residual, *solved, *direction, *product;  // m, N, N, m
    double *force;                                    // N, λ
    size_t vector_room;
    double *given, *moved;  // [vertex_count][4] b and A⁻¹ Nᵀ direction
    hk_status status;
} hk_contact_pcg;

// q := A⁻¹ q, [vertex_count][4], 0 at held vertices; symmetric and positive definite.
typedef hk_status hk_inverse_fn(void *context, double *q);

// Nothing is allocated where the problem has no such terms. On failure the caller releases it.
hk_status hk_contact_pcg_init(hk_contact_pcg *c, hk_problem *problem);
void hk_contact_pcg_release(hk_contact_pcg *c);
// Takes C at x.
hk_status hk_contact_pcg_set(hk_contact_pcg *c, const double *x);
// q := (A + C)⁻¹ q; `square` (may be NULL) gets qᵀA q of the result, J.
hk_status hk_contact_pcg_solve(hk_contact_pcg *c, hk_inverse_fn *inverse, void *context, double *q,
                               double *square);

#endif
