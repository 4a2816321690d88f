// GMRES with modified Gram–Schmidt for vectors double[count][4], 0 where nothing is to be solved
// for, and what it found out about A kept for the solves to come, with operators that are nearly
// the same.
//
// A solve ends with A V = V' H for the basis V it went through. With H = Q R this is A U = C for
// U = V R⁻¹ and C = V' Q, the columns of which are orthonormal: A⁻¹ is known there, and is
//
//   P = 1 + (U − C) Cᵀ
//
// on what C spans; elsewhere P changes nothing. Later solves are those of P A x = P b: directions
// in which the preconditioner is poor are gone through once (compare Parks et al. 2006).
#ifndef HK_GMRES_H
#define HK_GMRES_H

#include "solver/problem.h"

enum { HK_GMRES_MOST = 40 };  // iterations, and pairs U, C kept

// The least-squares problem ‖β e₁ − H y‖ of Arnoldi's matrix H, by Givens rotations.
typedef struct hk_hessenberg {
    double r[HK_GMRES_MOST][HK_GMRES_MOST + 1];  // columns
    double cosine[HK_GMRES_MOST], sine[HK_GMRES_MOST];
    double right[HK_GMRES_MOST + 1];
} hk_hessenberg;

typedef struct hk_gmres {
    hk_problem *problem;               // for dot products over its free vertices
    double *basis[HK_GMRES_MOST + 1];  // made when needed
    hk_hessenberg matrix;
    int last;  // iterations of the last solve
    // Pairs of earlier solves, U − C and C: those of a solve are a group, and groups apply in
    // order.
    double *change[HK_GMRES_MOST], *space[HK_GMRES_MOST];
    int kept, group_count;
    int group_end[HK_GMRES_MOST];
    bool (*go_on)(void *context);  // asked after every iteration; NULL: nobody
    void *context;
} hk_gmres;

// to = A from
typedef hk_status hk_operator_fn(void *context, const double *from, double *to);

void hk_gmres_release(hk_gmres *gmres);
// The operators to come are others: nothing of earlier solves is used.
void hk_gmres_forget(hk_gmres *gmres);
// x = A⁻¹ b up to ‖P (b − A x)‖ ≤ tolerance ‖P b‖, from x = 0, in at most `most` iterations; their
// number and what is left. Where go_on() answers no, x is what was found so far.
hk_status hk_gmres_solve(hk_gmres *gmres, hk_operator_fn *apply, void *context, double tolerance,
                         int most, const double *b, double *x, int *iterations, double *left);
// Keeps what the last solve found, as far as there is room.
hk_status hk_gmres_keep(hk_gmres *gmres);

#endif
