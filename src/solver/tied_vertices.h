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
} hk_tied_vertices;

hk_status hk_tied_init(hk_tied_vertices *t, hk_vertices *vertices);
void hk_tied_release(hk_tied_vertices *t);
// Keeps q, on the manifold, for …
void hk_tied_before(hk_tied_vertices *t);
// … what became of it: q goes back to the manifold.
void hk_tied_after(hk_tied_vertices *t);
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
