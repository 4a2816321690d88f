// From the Hessian blocks of the tets to the global matrix over the free vertices: a fixed pattern
// in elimination order, and for each of its blocks the list of what adds up to it. Summing by
// target, not by element, needs no locks and gives the same bits for any number of threads.
#ifndef HK_ASSEMBLY_H
#define HK_ASSEMBLY_H

#include "linear/pattern.h"
#include "term/tet.h"

typedef struct hk_assembly {
    hk_pattern pattern;     // over the free vertices, in elimination order
    int32_t *unknown;       // [vertex_count] block of a vertex (Morton order), -1 if held
    int32_t *vertex;        // [pattern.count] the vertex (Morton order) of a block
    int64_t *source_start;  // [blocks + 1]: per block column the diagonal block, then the others
    int64_t *source;  // where a 3×3 block begins in the stiffness values, ×2, +1: transposed
    int lanes;
    int threads;
} hk_assembly;

// held: [vertex_count] in Morton order, nonzero for eliminated vertices.
hk_status hk_assembly_create(const hk_tet_term *term, const uint8_t *held, hk_assembly **assembly);
void hk_assembly_free(hk_assembly *assembly);

// values (hk_pattern_size numbers) = Σ stiffness + diag(weight), with weight [vertex_count] in
// Morton order, added to the three diagonal entries of a vertex.
void hk_assemble(const hk_assembly *assembly, const double *stiffness, const double *weight,
                 double *values);

#endif
