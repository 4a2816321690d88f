// From the Hessian blocks of tets and links to the global matrix over the free vertices: a fixed
// pattern in elimination order, and for each of its blocks the list of what adds up to it. Summing
// by target, not by element, needs no locks and gives the same bits for any number of threads.
#ifndef HK_ASSEMBLY_H
#define HK_ASSEMBLY_H

#include "linear/pattern.h"
#include "term/links.h"
#include "term/tet.h"

// A part c_a c_b B of the matrix, from the block B of a link.
typedef struct hk_link_part {
    int64_t block;  // where B begins in the stiffness values
    double factor;
} hk_link_part;

typedef struct hk_assembly {
    hk_pattern pattern;     // over the free vertices, in elimination order
    int32_t *unknown;       // [vertex_count] block of a vertex (Morton order), -1 if held
    int32_t *vertex;        // [pattern.count] the vertex (Morton order) of a block
    int64_t *source_start;  // [blocks + 1]: per block column the diagonal block, then the others
    int64_t *source;  // where a 3×3 block begins in the stiffness values, ×2, +1: transposed; or,
                      // from first_link_source on, a link part
    int64_t first_link_source;
    hk_link_part *link_parts;
    int lanes;
    int threads;
} hk_assembly;

// held: [vertex_count] in Morton order, nonzero for eliminated vertices; NULL: none, and blocks are
// in Morton order, which is no order to eliminate in but a good one for products. `links` may be
// NULL.
hk_status hk_assembly_create(const hk_tet_term *term, const hk_links *links, const uint8_t *held,
                             hk_assembly **assembly);
void hk_assembly_free(hk_assembly *assembly);

// The stiffness of the tets is followed by that of the links, both as their terms give it.
// values (hk_pattern_size numbers) = Σ stiffness + diag(weight), with weight [vertex_count] in
// Morton order, added to the three diagonal entries of a vertex.
void hk_assemble(const hk_assembly *assembly, const double *stiffness, const double *weight,
                 double *values);

#endif
