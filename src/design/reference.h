// What both steps of a preview share, modify.h and initialise.h: the tets of a reference shape in
// lanes, and the pattern, the ordering and the numbers of its Laplacian over all vertices.
//
// TwoWay's eq. 19 has the gradients of the new shape in its matrix, which changes with every frame.
// Here all gradients are taken by the coordinates of one reference shape, the one that a design
// began with: what a tet wants is carried there (a gradient by x times ∂x/∂reference), and the
// matrix depends on what is held alone. Its solution is the same where the wishes of the tets agree
// with each other; elsewhere a tet counts by how it was in the reference shape.
#ifndef HK_REFERENCE_H
#define HK_REFERENCE_H

#include "design/shape_lanes.h"
#include "linear/factor.h"
#include "linear/fronts.h"
#include "term/tet.h"

typedef struct hk_reference {
    hk_model *model;  // its own
    int threads;
    int vertex_count;
    hk_tet_term *tets;
    const hk_shape_table *kernels;
    hk_pattern pattern;         // scalar, over all vertices, in elimination order
    int32_t *unknown, *vertex;  // [vertex_count] of a vertex (Morton order), and back
    hk_direct *direct;          // has analysed it
    double *laplacian;          // [hk_pattern_size]
    double *diagonal;           // [vertex_count] of it, Morton order
    int32_t *component;         // [vertex_count] a vertex of the piece, Morton order
    int32_t *neighbour_start;   // [vertex_count + 1] neighbours by edges, Morton order
    int32_t *neighbour;
    double size;  // m, of all bodies
} hk_reference;

hk_status hk_reference_create(const hk_model *model, int threads, hk_reference **reference);
void hk_reference_free(hk_reference *reference);

// [vertex_count][3] in the users' order to [vertex_count][4] in Morton order, and back.
void hk_reference_take(const hk_reference *reference, const double *users, double *vector);
void hk_reference_give(const hk_reference *reference, const double *vector, double *users);

// Quaternions for all tets, `each` per tet, none turned; NULL: no memory. Those of batch q begin at
// hk_reference_turns(…, q, each) × 4 × lanes.
double *hk_reference_new_turns(const hk_reference *reference, int each);
void hk_reference_reset_turns(const hk_reference *reference, int each, double *turns);
int64_t hk_reference_turns(const hk_reference *reference, int batch, int each);

// Whether a patch is of fibres, whose tets are those of their material once more: then its slots
// are 0.
bool hk_reference_skips(const hk_reference *reference, const hk_tet_patch *patch, double *slots);

#endif
