// Viscous damping (Rayleigh's, lagged): the energy of a time step
//
//   D(x) = r/2 (x − from)ᵀ K (x − from),     r = β/h,
//
// with K the Hessian of E at the state before the step, its negative eigenvalues removed, and
// (x − from)/h the velocity after it. It is quadratic, so it costs a product with a sparse matrix
// that is assembled once per step. Ties to something outside the bodies have no part in it: damping
// them would hold back what is carried along. What is left does not resist translations, and
// changes no linear momentum.
//
// It is there in every list, and costs nothing until a step asks for it.
#ifndef HK_VISCOSITY_H
#define HK_VISCOSITY_H

#include "term/assembly.h"

typedef struct hk_viscosity {
    hk_term base;
    int threads;
    int vertex_count;
    double rate;            // r, 1; 0: not at work
    double reference;       // s, β of the matrix (damping_parts.h)
    double most;            // 1, by how much it raises constant matrices
    double *laplacian;      // the blocks of L, or NULL
    unsigned version;       // of K, raised with every step that has one
    hk_assembly *assembly;  // over all vertices, in their own order; NULL: never used
    double *stiffness;      // the blocks of the list at the state before, for Hessians of methods
    double *matrix;         // [hk_pattern_size] K
    double *no_weight;      // [vertex_count] zeros
    // K once more by rows without its diagonal blocks, so that a thread can sum a row by itself.
    int64_t *start;    // [vertex_count + 1]
    int32_t *column;   // [start[vertex_count]] ascending in a row
    int64_t *below;    // beside column: the block below the diagonal that it is, or mirrors
    double *blocks;    // beside column: [9] row-major
    double *diagonal;  // [vertex_count][4] of K
    double *from;      // [vertex_count][4]
    int32_t *anchor;   // [vertex_count] one vertex for all that K connects
    void *step;        // scalar[vertex_count][4] x − from relative to the anchor
    double *partial;   // energies of runs of vertices
    // In single precision all of that is the term of the list in double, but for:
    const struct hk_viscosity *exact;
    float *single_blocks;  // of that version
} hk_viscosity;

#endif
