// The constants of the spin correction (spin_correction.h): clusters of elements, the vectors g of
// their mean gradients, P = A⁻¹ g and τ = gᵀ P. Whoever solves with A makes P.
#ifndef HK_SPIN_BODIES_H
#define HK_SPIN_BODIES_H

#include "model/model.h"

enum { HK_SPIN_MOST = 64 };  // clusters of a body

// A vertex of a cluster: those inside one of uniform stiffness have slopes of 0 and are not listed.
typedef struct hk_spin_entry {
    int32_t vertex;  // Morton order
    double slope[3];
} hk_spin_entry;

typedef struct hk_spin_body {
    int body;  // of the model
    int clusters, unknowns;
    double *weight;  // [clusters] W_c, J
    int32_t *start;  // [clusters + 1] in entries
    hk_spin_entry *entries;
    int32_t *vertex;  // [unknowns] free ones, Morton order
    float *columns;   // [unknowns][3 clusters] P
    double *tau;      // [3 clusters][3 clusters]
} hk_spin_body;

typedef struct hk_spin_bodies {
    int count;  // of those that have clusters
    hk_spin_body *body;
} hk_spin_bodies;

// x = A⁻¹ right, [vertex_count][4] in Morton order, 0 at held vertices.
typedef hk_status hk_spin_solve(void *context, const double *right, double *x);

// At most `clusters` of a body; held is [vertex_count] in Morton order, stiffness [material_count],
// the weights of A, N/m². On failure the caller releases it.
hk_status hk_spin_bodies_init(hk_spin_bodies *s, const hk_model *model, const uint8_t *held,
                              const double *stiffness, int clusters);
void hk_spin_bodies_release(hk_spin_bodies *s);
// P and τ.
hk_status hk_spin_bodies_solve(hk_spin_bodies *s, const hk_model *model, const uint8_t *held,
                               hk_spin_solve *solve, void *context);

#endif
