// The two constant matrices of an inverse problem, made once for a loaded shape x:
//
//   K  the stiffness of x as if it were the rest shape. Elsewhere ∂f/∂X is about K F, so that
//      dX = −F⁻¹ K⁻¹ f is nearly Newton's step, F being the mean around each vertex.
//   L  the Laplacian of x, one unknown per vertex: it puts X together from what a rotation–strain
//      step wants of every tet.
//
// After an edit of x the factor of K is that of an older shape, until another is made: it is warped
// (warp.h). L is cheap, and always that of x.
//
// There are two ways to solve with them:
//
//   direct     both are factored in double and solved with in single precision
//   multigrid  conjugate gradients with multigrid, to a fixed part of the right-hand side: for
//              meshes that are too large for a factor of K, and for builds without direct solvers.
//              K of a new shape costs little then, and is not warped
//
// Solutions are corrections, of which the next evaluation of f, in double, shows what they left.
#ifndef HK_PRECONDITION_H
#define HK_PRECONDITION_H

#include "design/inverse.h"
#include "term/assembly.h"

typedef enum hk_made {
    HK_MADE,
    HK_SINGULAR,  // K is: what is held does not hold the bodies
    HK_NOT_MADE   // go_on() did not want to; all is as it was
} hk_made;

typedef struct hk_precondition hk_precondition;

// One of the two ways. Vectors are [vertex_count][4] in Morton order; solutions may be their
// right-hand sides, and are not written at held vertices.
typedef struct hk_precondition_way {
    bool can_warp;
    hk_status (*create)(hk_precondition *precondition);  // and its assembly
    void (*free)(hk_precondition *precondition);
    hk_status (*factor_stiffness)(hk_precondition *precondition, hk_made *made);
    // From the numbers of L in `values`.
    hk_status (*factor_laplacian)(hk_precondition *precondition, hk_made *made);
    hk_status (*solve_stiffness)(hk_precondition *precondition, const double *from, double *to);
    void (*solve_laplacian)(hk_precondition *precondition, const double *from, double *to);
} hk_precondition_way;

extern const hk_precondition_way hk_by_direct, hk_by_multigrid;

struct hk_precondition {
    hk_inverse *inverse;
    const hk_precondition_way *way;
    void *state;            // of the way
    hk_assembly *assembly;  // pattern of both, in an order that suits the way; borrowed from it
    hk_pattern scalar;      // that of L; borrows its arrays
    double *values;         // of L
    int32_t *entry;         // [tet_count][10] of a pair of corners in L, -1: held
    double *right;          // [vertex_count][4]
    double *attached;  // [vertex_count] what attachments add to the diagonal of L; NULL: nothing
    double *x0;        // [vertex_count][4] the loaded shape that K is of
    struct hk_warp *warp;               // NULL: not needed yet
    double *between;                    // [vertex_count][4] of the old shape, while K is warped
    bool has_stiffness, has_laplacian;  // of x; that of K may be of x0
    bool warped;
    int factorisations;            // of K, so far
    bool (*go_on)(void *context);  // asked between parts of a factorisation; NULL: nobody
    void *context;
};

hk_status hk_precondition_create(hk_inverse *inverse, const hk_precondition_way *way,
                                 hk_precondition **precondition);
void hk_precondition_free(hk_precondition *precondition);
// The loaded shape of the inverse problem is another one.
void hk_precondition_forget(hk_precondition *precondition);
// Makes what is not there yet of K and L.
hk_status hk_precondition_factor(hk_precondition *precondition, hk_made *made);
// The same with K⁻¹ from the factor of an older shape, where there is one.
bool hk_precondition_can_warp(const hk_precondition *precondition);
hk_status hk_precondition_warp(hk_precondition *precondition, hk_made *made);

// to = K⁻¹ from and L⁻¹ from, 0 at held vertices; to may be from.
void hk_precondition_laplacian(hk_precondition *precondition, const double *from, double *to);
hk_status hk_precondition_stiffness(hk_precondition *precondition, const double *from, double *to);
// x' = x + length × step + L⁻¹ (what the rotation–strain step has beyond that). Returns the largest
// entry of the exponents; where it is beyond `most`, nothing else is done.
double hk_precondition_step(hk_precondition *precondition, const double *X, const double *step,
                            double length, double most, double *moved);

#endif
