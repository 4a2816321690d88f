// What the Krylov solvers share: vectors, and when to stop.
#ifndef HK_KRYLOV_PARTS_H
#define HK_KRYLOV_PARTS_H

#include <math.h>

#include "linear/krylov.h"

enum { HK_KRYLOV_VECTORS = 13 };

struct hk_krylov {
    hk_krylov_method method;
    int64_t size;
    int threads;
    double *vector[HK_KRYLOV_VECTORS];  // [size] each; the last is for residuals
    double *kept;                       // [size] the last x that was finite
    double *partial;                    // [runs]
    // ---- of the solve at hand
    const hk_operator *a;
    const double *b;
    double *x;
    const hk_krylov_limits *limits;
    hk_krylov_report *report;
    double goal;       // ‖r‖ that is small enough
    double iteration;  // s, when the present one began
};

// How an attempt ended.
typedef enum hk_krylov_end {
    HK_KRYLOV_DONE,    // the report says why
    HK_KRYLOV_BROKEN,  // begin anew
} hk_krylov_end;

// An attempt goes from k->x with the residual r = b − A x, which it may overwrite.
typedef hk_krylov_end hk_krylov_attempt(hk_krylov *k, double *r);
hk_krylov_attempt hk_krylov_cg, hk_krylov_minres, hk_krylov_bicgstab, hk_krylov_qmr;

double hk_krylov_dot(const hk_krylov *k, const double *a, const double *b);
// y = y + factor x
void hk_krylov_add(const hk_krylov *k, double factor, const double *x, double *y);
// y = x + factor y
void hk_krylov_onto(const hk_krylov *k, const double *x, double factor, double *y);
// The same; returns the norm of y.
double hk_krylov_onto_norm(const hk_krylov *k, const double *x, double factor, double *y);
// d = η p + keep d and s = A d likewise; x += d, r −= s. Returns the norm of r.
typedef struct hk_krylov_direction {
    const double *p, *Ap;
    double *d, *s;
} hk_krylov_direction;
double hk_krylov_step(const hk_krylov *k, const hk_krylov_direction *to, double eta, double keep,
                      double *r);
// y = factor x
void hk_krylov_scale(const hk_krylov *k, double factor, const double *x, double *y);
// z = M⁻¹ r, a copy where there is no M.
void hk_krylov_precondition(const hk_krylov *k, const double *r, double *z);
void hk_krylov_apply(const hk_krylov *k, const double *x, double *y);
// ‖b − A x‖, evaluated; r is left with it.
double hk_krylov_true_residual(const hk_krylov *k, double *r);

// Called after every iteration with the residual that the recurrence has: whether that was the
// last one.
bool hk_krylov_stops(hk_krylov *k, double residual);

static inline double hk_krylov_norm(const hk_krylov *k, const double *a)
{
    return sqrt(hk_krylov_dot(k, a, a));
}

#endif
