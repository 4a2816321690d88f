// Solves with a constant matrix c L + diag(d), one number for x, y and z alike, that falls into
// components without a connection: the bodies of a scene. Pieces that are equal (bodies made from
// one mesh, wherever they lie and however they are turned, with the same material and held at the
// same vertices) share one factor; all others have a factor together. Pieces are solved in
// parallel, with the same bits for any number of threads.
#ifndef HK_COMPONENTS_H
#define HK_COMPONENTS_H

#include "linear/factor.h"

// One or more components that are equal, or (then there is one copy) all those without an equal.
typedef struct hk_component_shape {
    int count;  // unknowns
    int copies;
    int32_t first;       // where the first copy begins in the vector; the others follow
    int32_t *given;      // [count] the unknown of the first copy, as the caller numbers it
    hk_pattern pattern;  // in elimination order
    double *laplacian, *matrix;
    hk_direct *direct;
    hk_factor *triangle;
} hk_component_shape;

typedef struct hk_components {
    int count, threads;
    int component_count, shape_count;
    hk_component_shape *shapes;  // the one of all components without an equal is the last
    int32_t *place;              // [count] where the caller's unknowns are in the vector
    float *vector;  // [count + what the last one's triangle asks for][4]; NULL: no factor yet
    // For refinement, NULL unless allowed: [count][4] the first solution and the residual, and what
    // the refined solution has beyond the digits of single precision.
    double *first, *residual;
    float *beyond;
} hk_components;

// The lower triangle of L over `pattern` (scalar), in which equal components must be numbered
// alike. `mass` [count] are numbers that have to be equal, too, for d to be so. Nothing is kept of
// the arguments.
hk_status hk_components_create(const hk_pattern *pattern, const double *laplacian,
                               const double *mass, int threads, hk_components **components);
void hk_components_free(hk_components *components);

// Factors scale L + diag(diagonal); `diagonal` is [count] in the caller's numbering.
hk_status hk_components_factor(hk_components *components, double scale, const double *diagonal);
// Solves components->vector in place: float[count][4], the fourth number is not used.
void hk_components_solve(hk_components *components);
// hk_components_refine may be called from now on.
hk_status hk_components_allow_refinement(hk_components *components);
// Solves likewise, and a second time for what the first solution leaves of the right-hand side, in
// double precision. The solution is vector + beyond.
void hk_components_refine(hk_components *components);
// x = A⁻¹ b likewise refined, double[count][4] both. Copies where b is 0 take no time.
void hk_components_solve_wide(hk_components *components, const double *b, double *x);
// Numbers of all factors, as CHOLMOD has them.
int64_t hk_components_factor_size(const hk_components *components);

#endif
