// Viscous damping of tets and links (Rayleigh's, lagged): the energy of a time step
//
//   D(x) = r/2 (x − x_t)ᵀ K (x − x_t),     r = β/h,
//
// with K the Hessian of E at the state x_t before the step, its negative eigenvalues removed. It is
// quadratic, so it costs a product with a sparse matrix that is assembled once a step. Attachments
// have no part in it: they tie a body to something outside, and damping them would hold back what
// is carried along. What is left does not resist translations, and changes no linear momentum.
//
// Vectors are scalar[vertex_count][4] in the model's Morton order, the fourth number 0. Only
// creation allocates; results have the same bits for any number of threads.
#ifndef HK_VISCOSITY_H
#define HK_VISCOSITY_H

#include "term/assembly.h"
#include "term/links.h"
#include "term/tet.h"

typedef struct hk_viscosity {
    hk_tet_term *tets;  // both borrowed, in double precision
    hk_links *links;
    int threads;
    int vertex_count;
    double rate;            // r, 1
    hk_assembly *assembly;  // over all vertices, in their own order
    double *stiffness;      // blocks of tets and links at x_t, for Hessians of methods
    double *matrix;         // [hk_pattern_size] K
    double *no_weight;      // [vertex_count] zeros
    // K once more by rows without its diagonal blocks, so that a thread can sum a row by itself.
    int64_t *start;        // [vertex_count + 1]
    int32_t *column;       // [start[vertex_count]] ascending in a row
    int64_t *below;        // beside column: the block below the diagonal that it is, or mirrors
    double *blocks;        // beside column: [9] row-major
    float *single_blocks;  // the same; NULL: not asked for
    double *diagonal;      // [vertex_count][4] of K
    double *before;        // [vertex_count][4] x_t
    int32_t *anchor;       // [vertex_count] one vertex for all that K connects
    void *step;            // scalar[vertex_count][4] x − x_t relative to the anchor
    double *partial;       // energies of runs of vertices
} hk_viscosity;

hk_status hk_viscosity_create(hk_tet_term *tets, hk_links *links, hk_viscosity **viscosity);
void hk_viscosity_free(hk_viscosity *viscosity);
// Makes the functions for single precision usable.
hk_status hk_viscosity_allow_single(hk_viscosity *viscosity);

// Before a time step from x.
void hk_viscosity_begin(hk_viscosity *viscosity, const double *x, double rate);

double hk_viscosity_energy(hk_viscosity *viscosity, const double *x);
// The energy may be NULL.
void hk_viscosity_add_gradient(hk_viscosity *viscosity, const double *x, double *gradient,
                               double *energy);
void hk_viscosity_add_diagonal(const hk_viscosity *viscosity, double *diagonal);
// r K as blocks of tets and links, to what hk_assemble takes.
void hk_viscosity_add_stiffness(const hk_viscosity *viscosity, double *values);

// In single precision x is relative to origin[body_of[vertex]].
typedef struct hk_single_frame {
    const double *origin;    // [][3]
    const int32_t *body_of;  // [vertex_count]
} hk_single_frame;
void hk_viscosity_add_gradient_single(hk_viscosity *viscosity, const hk_single_frame *frame,
                                      const float *x, float *gradient, double *energy);
void hk_viscosity_add_diagonal_single(const hk_viscosity *viscosity, float *diagonal);

#endif
