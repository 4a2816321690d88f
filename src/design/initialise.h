// Shape initialisation by projective dynamics (TwoWay section 5.1): of two shapes that belong
// together, a rest shape and a loaded one, one was changed, and the other is guessed in one frame.
// `from` is the shape that was changed, `to` the one that follows, in either direction.
//
//   similarity   ∂to/∂from is to be what it was for the last pair of shapes (eq. 16), carried along
//                with what the change turned (shape_lanes.c)
//   limits       principal stretches of ∂to/∂from stay within bounds (eq. 17)
//   holds        held vertices have the same place in both shapes (eq. 18)
//
// Eq. 19 is solved for the similarity in full, by one solve with a constant factor: nothing lags
// behind. The limits are one iteration of projective dynamics per frame beside that: with u the
// solution without limits and d what they add to it, both gradients by the reference shape,
//
//   d ← ρ (d + M⁻¹ Σ v (p(u + d) − G(u + d)) ∇N),     ρ = k₁/(k₀ + k₁)
//
// which is eq. 19's iteration written for the difference; p clamps the stretches. It costs a second
// solve in frames in which some tet is out of bounds, and nothing in others.
#ifndef HK_INITIALISE_H
#define HK_INITIALISE_H

#include "design/poisson.h"

typedef struct hk_initialise {
    const hk_reference *reference;
    hk_poisson *poisson;
    uint8_t *held;                // [vertex_count] as given
    uint8_t *fixed;               // [vertex_count] that do not yield
    double *weight;               // [vertex_count] S of those that do
    double *old_from, *old_to;    // [vertex_count][4] the pair
    double *turns;                // two per tet
    hk_similar_pass similar;      // direction of the load
    double bounds[2];             // of stretches
    double *right, *shift, *sum;  // [vertex_count][4] right-hand sides; d; u + d
    int *count;                   // [patches] tets out of bounds
    double (*range)[2];           // [patches]
    bool shifted;                 // d is not 0
    int passes;                   // since there was another pair
} hk_initialise;

// The reference must outlive it.
hk_status hk_initialise_create(const hk_reference *reference, hk_initialise **initialise);
void hk_initialise_free(hk_initialise *initialise);

// What is held, [vertex_count] in Morton order: 1, or HK_ATTACHED where springs hold it. A
// factorisation.
//
// Where holds are several vertices deep those near free vertices yield, the less the deeper they
// are (TwoWay section 6, Figure 12): a rotation that begins at the border of what is held squeezes
// the tets there, and more than one layer shares that. The deepest layer stays, and so does a layer
// that is the only one. (Solvers put them all back; it is a matter of the tets beside them.)
enum { HK_ATTACHED = 2 };
hk_status hk_initialise_hold(hk_initialise *initialise, const uint8_t *held);
// Where loads point to: the pair of shapes turns along with a turn about it. NULL: there is no such
// direction, and the pair turns along with any.
void hk_initialise_set_load(hk_initialise *initialise, const double direction[3]);
// A pair of shapes that belong together, [vertex_count][4].
void hk_initialise_set_pair(hk_initialise *initialise, const double *from, const double *to);
// `to` is where the last frame left it, or any shape. Returns how many tets are out of bounds.
int hk_initialise_predict(hk_initialise *initialise, const double *from, double *to);

#endif
