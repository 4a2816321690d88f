// Quadratic tets (mesh/quadratic.h) with a material: E = Σ over elements and quadrature points of
// w det J ψ(F), F = Σ_a x_a ⊗ ∇N_a at the point.
//
// A point is handed to the kernels of linear tets (tet.h) as a tet of its own, whose rest edges are
// the axes and whose edges are the columns of F: its forces are then the columns of w det J P, and
// its stiffness is w det J ∂P/∂F. So every law, its projection, fibres and axes are what they are
// for linear tets, in wide lanes. In double precision.
#ifndef HK_QUADRATIC_TETS_H
#define HK_QUADRATIC_TETS_H

#include "mesh/quadratic.h"
#include "term/tet.h"

enum {
    HK_QUADRATIC_PAIRS = HK_QUADRATIC_NODES * (HK_QUADRATIC_NODES + 1) / 2,
    HK_QUADRATIC_STIFFNESS = 9 * HK_QUADRATIC_PAIRS
};

typedef struct hk_quadratic_term {
    hk_term base;
    const hk_model *model;
    int threads;
    int count;        // elements
    int32_t *tet;     // [count] their numbers in the model
    int32_t *node;    // [count][10] vertices in Morton order
    double *slope;    // [count][4][10][3] ∇N at the points, 1/m
    hk_model points;  // the points as tets: what of a model hk_tet_term_create reads
    hk_tet_term *laws;
    double *edge;          // [points][4][4] the first corner, 0, and the columns of F
    double *force;         // [points][4][4] of these corners
    double *part;          // [count][10][3] the gradient of every element
    int32_t *start;        // [vertex_count + 1] in `at`
    int32_t *at;           // the nodes at every vertex, element × 10 + number
    double *stiffness;     // of the points, as hk_tet_stiffness has it
    int32_t *entry_start;  // [points + 1] in `entry`
    int64_t *entry;        // where in `stiffness` the parts of a point's material begin
} hk_quadratic_term;

// The means of P and F over the points of every quadratic tet, [tet_count][9] in the model's
// numbering; others stay as they are.
void hk_quadratic_stress(hk_quadratic_term *term, const double *x, double *P, double *F);

#endif
