// Solves (L + S) u = b over the vertices of a reference shape that are not held, for x, y and z at
// once: L its Laplacian, S weights of vertices. The pattern has all vertices, and rows of held ones
// are left to themselves, so that holding others is a factorisation of other numbers, without an
// ordering.
#ifndef HK_POISSON_H
#define HK_POISSON_H

#include "design/reference.h"

// A soft tie weight × (Σ factor u)² / 2 of one point of a tet, at vertices in Morton order.
typedef struct hk_poisson_tie {
    int count;
    int32_t vertex[4];
    double factor[4];
    double weight;
} hk_poisson_tie;

typedef struct hk_poisson {
    const hk_reference *reference;
    hk_fronts *fronts;
    hk_factor *factor;
    double *values;
    uint8_t *held;  // [vertex_count] Morton order; pieces that nothing holds have one held here
} hk_poisson;

// The reference must outlive it. There is nothing to solve with before hk_poisson_factor.
hk_status hk_poisson_create(const hk_reference *reference, hk_poisson **poisson);
void hk_poisson_free(hk_poisson *poisson);
// `held` [vertex_count], `weight` [vertex_count] N/m-like units of L (NULL: none), both in Morton
// order. After a failure there is nothing to solve with.
hk_status hk_poisson_factor(hk_poisson *poisson, const uint8_t *held, const double *weight,
                            int tie_count, const hk_poisson_tie *ties);
// to = (L + S)⁻¹ from, double[vertex_count][4], 0 at held vertices; to may be from, which changes.
void hk_poisson_solve(hk_poisson *poisson, double *from, double *to);

#endif
