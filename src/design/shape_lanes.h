// Element kernels of shape modification (modify.h) and shape initialisation (initialise.h), in
// double precision, one table per lane type (see cmake/lanes.cmake).
//
// The batches (term/lanes.h) are those of a reference shape; gradients G of all shapes are taken by
// its coordinates, and every pass leaves v (T − G) ∇N in the slots of the corners, T being what a
// tet wants its gradient to be. One constant matrix, the Laplacian of the reference shape, then
// serves whatever shapes there are.
#ifndef HK_SHAPE_LANES_H
#define HK_SHAPE_LANES_H

#include "term/lanes.h"

// As rigid as possible: T = R G(base), with R the rotation that brings G(base) nearest to G(x).
typedef struct hk_rigid_pass {
    const double *base, *x;  // [vertex_count][4]
    const double *at;        // where G is: x itself, or x with some vertices moved on
    double *turn;            // [blocks][4][lanes] quaternions of R, from the last pass
} hk_rigid_pass;

// The deformation from `from` to `to` is like that of an old pair of shapes (TwoWay eq. 16).
typedef struct hk_similar_pass {
    const double *old_from, *old_to, *from;
    const double *to;  // where G is
    bool upright;      // `axis`, a unit vector, is where loads point to; else there is no such
    double axis[3];
    double *turn;  // [blocks][8][lanes] quaternions of old_from → old_to, and of old_from → from
    bool known;    // those of the old pair are what they are to be
} hk_similar_pass;

// The deformation from `from` to `to` has principal stretches within bounds (TwoWay eq. 17).
typedef struct hk_limit_pass {
    const double *from, *to;
    double least, most;
} hk_limit_pass;

typedef struct hk_shape_table {
    const char *name;
    // Returns Σ v/2 ‖T − G‖².
    double (*rigid)(const hk_tet_batch *batch, const hk_rigid_pass *pass, int first, int last,
                    double *slots);
    void (*similar)(const hk_tet_batch *batch, const hk_similar_pass *pass, int first, int last,
                    double *slots);
    // Returns how many tets are out of bounds.
    int (*limit)(const hk_tet_batch *batch, const hk_limit_pass *pass, int first, int last,
                 double *slots);
    // The least and the greatest stretch from `from` to `to`, negative where it is inside out;
    // bounds of the pass are of no account.
    void (*range)(const hk_tet_batch *batch, const hk_limit_pass *pass, int first, int last,
                  double range[2]);
} hk_shape_table;

#endif
