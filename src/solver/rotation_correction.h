// Lets bodies of method split turn as easily as they do: takes the false inertia of turning out of
// the constant matrix, cluster by cluster.
//
// With rotations held, A = M/h² + L, L = Σ_e K_e D_eᵀ D_e (K_e: volume × stiffness), resists
// turning as it resists stretching. The second derivative of the energy itself is at most
//   Σ_e K_e (|δF|² − 2|s_e|²),   s_e = ½ Σ_j (R e_j) × (δF e_j)   the spin of an element,
// for |δF|² is that of stretching and 2|s|² that of turning. The elements of a body are gathered
// into clusters, with one rotation R_c each, and what is taken out is the energy of the clusters'
// mean spins s_c: Σ K_e |s_e|² ≥ W_c |s_c|² (Jensen), W_c = Σ K_e. So
//   A − Σ_c 2 W_c B_cᵀ B_c,   s_c = B_c u = ½ Σ_j (R_c e_j) × Σ_v g_cj(v) u_v,
//   g_cj(v) = Σ_{e in c} K_e ∂_j φ_v / W_c
// is still at least the second derivative: a step with it lowers ε as surely as one with A does.
// Only R_c changes from step to step: with the constants P = A⁻¹ g and τ = gᵀ P of Sherman,
// Morrison & Woodbury the solution follows from that with A,
//   Δ = Δ₀ + A⁻¹ Bᵀ z,   (C⁻¹ − B A⁻¹ Bᵀ) z = B Δ₀,   C = 2 W_c,
// where a body of k clusters has a dense system of 3k unknowns.
//
// R_c is the rotation of the cluster's mean gradient. C is smaller (θ) where its elements do not
// turn alike or are inside out (the mean gradient is short then), and where it is stretched:
// tension resists turning.
#ifndef HK_ROTATION_CORRECTION_H
#define HK_ROTATION_CORRECTION_H

#include "linear/components.h"
#include "model/model.h"
#include "term/corotation_lanes.h"

typedef struct hk_rotation_correction hk_rotation_correction;

// x = A⁻¹ b, double[count][4] both, as exactly as double precision can tell.
typedef hk_status hk_rotation_solve_fn(void *context, const double *b, double *x);

typedef struct hk_rotation_correction_def {
    const hk_model *model;
    hk_components *components;  // solves with A; kept. NULL: what follows does, and nobody applies
                                // the correction here
    hk_rotation_solve_fn *solve;
    void *context;
    int count;                // rows of vectors
    const int32_t *unknown;   // [vertex_count] by Morton order, where it is in the vector; kept
    const double *stiffness;  // [material_count] K_e over volume, N/m²
    const uint8_t *turns;     // [material_count] bodies of other materials are left as they are
    const hk_corotation_table *table;
    double length;  // m, the unit of positions
    int clusters;   // of a body, at most
    int threads;
} hk_rotation_correction_def;

hk_status hk_rotation_correction_create(const hk_rotation_correction_def *def,
                                        hk_rotation_correction **turning);
void hk_rotation_correction_free(hk_rotation_correction *turning);
// P and τ for the factor that the pieces have now.
hk_status hk_rotation_correction_prepare(hk_rotation_correction *turning);
// x: float[vertex_count][4] where rotations are taken, the vector of the pieces Δ₀ on entry.
void hk_rotation_correction_apply(hk_rotation_correction *turning, const float *x);

// A vertex of a cluster.
typedef struct hk_rotation_entry {
    int32_t vertex;   // in the body, as the user numbers it
    int32_t unknown;  // of the first copy; -1: held
    float slope[3];   // g_cj × length
} hk_rotation_entry;

// The correction of a body, for those who apply it elsewhere (gpu/split.cu).
enum { HK_ROTATION_BLOCK = 32 };  // vertices in a block of columns
typedef struct hk_rotation_body {
    int body, clusters, unknowns;
    int32_t shift;         // of its unknowns from those of the entries and rows
    const double *weight;  // [clusters] 2 W_c, J
    const int32_t *start;  // [clusters + 1] in entries
    const hk_rotation_entry *entries;
    const int32_t *row;    // [unknowns] where they are in the vector, ascending
    const float *columns;  // [blocks][3 clusters][HK_ROTATION_BLOCK] P / length
    const double *tau;     // [3 clusters][3 clusters]
} hk_rotation_body;
int hk_rotation_correction_bodies(const hk_rotation_correction *turning);
hk_rotation_body hk_rotation_correction_body(const hk_rotation_correction *turning, int which);
// The clusters of all bodies.
int hk_rotation_correction_clusters(const hk_rotation_correction *turning);

#endif
