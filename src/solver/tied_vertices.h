// Constraints for methods that keep their state in passes over vertices (vertex_pass.h). A step
// that each vertex takes by itself, −D⁻¹g, becomes −J (JᵀDJ)⁻¹ Jᵀg where the manifold comes as near
// to it as it can, measured by D: vertices move as if nothing tied them, and are brought back.
#ifndef HK_TIED_VERTICES_H
#define HK_TIED_VERTICES_H

#include "solver/manifold.h"
#include "solver/vertex_pass.h"

typedef struct hk_tied_vertices {
    hk_vertices *vertices;      // borrowed
    hk_manifold *manifold;      // NULL: nothing is tied, and all of this does nothing
    double *before, *now, *to;  // [vertex_count][4] m
    double *weight;             // [vertex_count][4] D, N/m
    // Where something is in the way (hk_guard_ops): trees and cavities go their ways as units.
    bool guarded;
    bool shortened;  // since it was last asked, some unit much
    int units;
    int32_t *unit;           // [vertex_count] -1: none
    double *length;          // [units] parts of the way
    uint8_t *outside;        // [units]
    double *part, *inverse;  // [vertex_count][4] of hk_tied_soften
} hk_tied_vertices;

hk_status hk_tied_init(hk_tied_vertices *t, hk_vertices *vertices);
void hk_tied_release(hk_tied_vertices *t);
// Keeps q, on the manifold, for …
void hk_tied_before(hk_tied_vertices *t);
// … what became of it: q goes back to the manifold.
void hk_tied_after(hk_tied_vertices *t);
// Whether regions have kept something from its way, so that new ones are worth while.
bool hk_tied_shortened(hk_tied_vertices *t);
// Contacts change gradients where they are, so that a step is that of a vertex by itself
// (hk_terms_precondition). What is tied is no such thing: its gradients have to be whole. From
// before to after that these are taken back, and the diagonal is larger instead, until …
void hk_tied_keep_gradient(hk_tied_vertices *t);
void hk_tied_soften(hk_tied_vertices *t);
// … the step is done.
void hk_tied_restore(hk_tied_vertices *t);
// The part of a vector that leads along the manifold at rest, by 1/inverse.
void hk_tied_at_rest(hk_tied_vertices *t, const double *inverse, double *vector);
// A step of the tied vertices alone, with the others at rest: along −J (JᵀDJ)⁻¹ Jᵀg as far as the
// slope falls. Careful: shorter where ε does not fall.
typedef struct hk_tied_calls {
    void (*gradient)(void *context);  // evaluates that of the elements at q
    double (*energy)(void *context);  // ε there
    void *context;
} hk_tied_calls;
void hk_tied_step(hk_tied_vertices *t, const hk_tied_calls *calls, bool careful);

#endif
