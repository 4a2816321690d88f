// The inverse problem (TwoWay section 4): the forces f(x, X) on the free vertices of a loaded shape
// x as a function of the rest shape X, and its derivative. Vertices that are held have the same
// place in both shapes. Vectors are double[vertex_count][4] in the model's Morton order, 0 at held
// vertices.
//
// Tets and their weight are in rest_tets.h; other terms come through their table (hk_rest_ops).
// Forces of terms that have no such entry do not depend on X: loads (TwoWay section 6, the statue)
// and users' terms.
#ifndef HK_INVERSE_H
#define HK_INVERSE_H

#include "design/rest_tets.h"
#include "solver/problem.h"

typedef struct hk_inverse {
    hk_model *model;      // its own: the rest shape is x, and there are no users' terms
    hk_problem *problem;  // of that model
    hk_rest_tets *tets;
    const double *x;   // [vertex_count][4]
    double *constant;  // [vertex_count][4] N, what does not depend on X, in full
    double load;       // fraction of weight and constant forces that is at work
    double scale;      // N, ‖weight and constant forces‖ at X = x, in full
    double *X;         // where it was linearised last; NULL: never
} hk_inverse;

// Fails with words for users where what holds the bodies moves.
hk_status hk_inverse_check_holds(const hk_model *model);
// Fails with words for users where no rest shape can be looked for.
hk_status hk_inverse_create(const hk_model *model, int threads, hk_inverse **inverse);
hk_status hk_inverse_check(const hk_model *model);  // whether that is so
void hk_inverse_free(hk_inverse *inverse);
// `model`, which it was made from, has another loaded shape. Only memory can be lacking; then it
// must be called again.
hk_status hk_inverse_set_shape(hk_inverse *inverse, const hk_model *model);

void hk_inverse_set_load(hk_inverse *inverse, double fraction);
// f(X), 0 at held vertices. False: a tet is inside out in X, or a force is not finite.
bool hk_inverse_force(hk_inverse *inverse, const double *X, double *force, double *least_det);
hk_status hk_inverse_linearise(hk_inverse *inverse, const double *X, int components);
// force = ∂f/∂X displacement; both 0 at held vertices.
void hk_inverse_product(hk_inverse *inverse, const double *displacement, double *force);
// All blocks ∂f_a/∂X_b (Morton order), held vertices among them.
void hk_inverse_visit(const hk_inverse *inverse, hk_block_fn *visit, void *context);

double hk_inverse_norm(hk_inverse *inverse, const double *vector);  // over free vertices

#endif
