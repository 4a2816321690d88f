// The Jacobi preconditioner of Descent section 4.1: the inverse of the diagonal of the Hessian,
// refreshed every so many iterations.
#ifndef HK_JACOBI_H
#define HK_JACOBI_H

#include "solver/line_search.h"

typedef struct hk_jacobi {
    double *inverse;  // [vertex_count][4], 0 at held vertices and in the padding
    int age;          // iterations since the last refresh
} hk_jacobi;

hk_status hk_jacobi_init(hk_jacobi *j, const hk_problem *problem);
void hk_jacobi_release(hk_jacobi *j);
// Evaluates the diagonal at x if it is new or `every` iterations old. Entries that are not positive
// (compressed elements) count by their size.
void hk_jacobi_refresh(hk_jacobi *j, hk_problem *problem, const double *x, bool fresh, int every);
// Without Hessian: one number for all vertices, so that a step of length 1 is about right.
void hk_jacobi_uniform(hk_jacobi *j, hk_problem *problem, const double *x);
// to = inverse × from
void hk_jacobi_apply(const hk_jacobi *j, hk_problem *problem, const double *from, double *to);

// The two options of methods that may use it; they come after those of the start.
enum {
    HK_OPTION_PRECONDITIONER = HK_OPTION_AFTER_PRECISION,
    HK_OPTION_REFRESH,
    HK_OPTION_AFTER_JACOBI
};
extern const char *const hk_preconditioners[];  // "none", "jacobi"
#define HK_JACOBI_OPTIONS                                                                 \
    [HK_OPTION_PRECONDITIONER] = {.name = "preconditioner",                               \
                                  .help = "none, or jacobi: the diagonal of the Hessian", \
                                  .words = hk_preconditioners,                            \
                                  .fallback = 1},                                         \
    [HK_OPTION_REFRESH] = {.name = "refresh",                                             \
                           .help = "iterations between two evaluations of the diagonal",  \
                           .minimum = 1,                                                  \
                           .maximum = 1e6,                                                \
                           .fallback = 1}
// Whether the walk's settings ask for the diagonal.
bool hk_jacobi_wanted(const hk_line_search *search);
// Makes `inverse` what the settings ask for at x.
void hk_jacobi_prepare(hk_jacobi *j, hk_line_search *search, const double *x, bool fresh);

#endif
