// Shape modification (TwoWay section 5, "another quasistatic simulator, which allows the user to
// modify the shapes by adding new fix constraints"): some vertices are put somewhere, and the shape
// follows as rigidly as possible,
//
//   E(x) = Σ v/2 ‖G(x) − R G(base)‖² + Σ ties,
//
// gradients and volumes by the reference shape, R the nearest rotations, `base` the shape from
// which a drag began. A step is one of projective dynamics, a local one in lanes and a global one
// with a factor that depends on what is held alone, and Anderson acceleration over the last few
// (Peng et al. 2018): a step that it made and that raised E is taken back to the plain one.
#ifndef HK_MODIFY_H
#define HK_MODIFY_H

#include "design/poisson.h"
#include "design/secant.h"

enum { HK_MODIFY_WINDOW = 5 };

// A tie of hk_poisson_factor and where it pulls to.
typedef struct hk_modify_tie {
    hk_poisson_tie tie;
    double target[3];
} hk_modify_tie;

typedef struct hk_modify {
    const hk_reference *reference;
    hk_poisson *poisson;
    double *base;   // [vertex_count][4]
    double *turns;  // one per tet
    double *right;  // [vertex_count][4]
    hk_secant secant;
    bool mixed;       // the last step was accelerated
    double energy;    // before the last step
    double *partial;  // [patches]
    int tie_count;
    hk_modify_tie *ties;  // [tie_count] of the caller, as they were when it was factored
} hk_modify;

// The reference must outlive it.
hk_status hk_modify_create(const hk_reference *reference, hk_modify **modify);
void hk_modify_free(hk_modify *modify);

// The shape to be kept, [vertex_count][4].
void hk_modify_set_base(hk_modify *modify, const double *base);
// What is held, [vertex_count] in Morton order, and what is tied: a factorisation. The ties must
// live until the next call; their targets may change.
hk_status hk_modify_hold(hk_modify *modify, const uint8_t *held, int tie_count,
                         hk_modify_tie *ties);
// Targets changed, or x did.
void hk_modify_restart(hk_modify *modify);
// One step of x; held vertices go to `goal`, [vertex_count][4]. Returns the longest way of a
// vertex, m.
double hk_modify_step(hk_modify *modify, const double *goal, double *x);

#endif
