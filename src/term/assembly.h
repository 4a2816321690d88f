// From the Hessian blocks of terms to the global matrix over the free vertices: a fixed pattern in
// elimination order, and for each of its blocks the list of what adds up to it. Summing by target,
// not by element, needs no locks and gives the same bits for any number of threads.
#ifndef HK_ASSEMBLY_H
#define HK_ASSEMBLY_H

#include "linear/pattern.h"
#include "term/terms.h"

// A part factor × B of the matrix, from the one block B of a stencil with factors.
typedef struct hk_factored_part {
    int64_t block;  // where B begins in the values of the terms
    double factor;
} hk_factored_part;

// The sources of a term are numbers from `first` on: of dense blocks 2 × where they begin in the
// values of the terms, + 1 where transposed; of factored ones the numbers of their parts.
typedef struct hk_assembly_term {
    int64_t first;
    int stride;               // of dense blocks
    hk_factored_part *parts;  // NULL: they are dense
} hk_assembly_term;

// Pairs of vertices (Morton order) that a pattern joins.
typedef struct hk_joined {
    size_t count, room;
    int32_t (*pairs)[2];
} hk_joined;

typedef struct hk_assembly {
    const hk_joined *joined;  // while it is created; NULL: none are given
    hk_pattern pattern;       // over the free vertices, in elimination order
    int32_t *unknown;         // [vertex_count] block of a vertex (Morton order), -1 if held
    int32_t *vertex;          // [pattern.count] the vertex (Morton order) of a block
    int64_t *source_start;    // [blocks + 1]: per block column the diagonal block, then the others
    int64_t *source;          // by term, then in the order of its stencils
    int term_count;           // those that have stencils
    hk_assembly_term *terms;  // [term_count + 1]
    int threads;
} hk_assembly;

// held: [vertex_count] in Morton order, nonzero for eliminated vertices; NULL: none, and blocks are
// in Morton order, which is no order to eliminate in but a good one for products.
hk_status hk_assembly_create(const hk_terms *terms, const uint8_t *held, hk_assembly **assembly);
// In Morton order all the same: for products, not for elimination.
// Takes coordinates that stay (axes is [vertex_count] of HK_AXIS_X …, or NULL: none) out of a
// matrix of blocks: rows and columns are 0 but for the diagonal.
void hk_assembly_hold_axes(const hk_assembly *assembly, const uint8_t *axes, double *lower);
hk_status hk_assembly_create_unordered(const hk_terms *terms, const uint8_t *held,
                                       hk_assembly **assembly);
// The same with what `joined` has in the place of the elements of a world that there are now; NULL:
// with those.
hk_status hk_assembly_create_joined(const hk_terms *terms, const uint8_t *held, bool ordered,
                                    const hk_joined *joined, hk_assembly **assembly);
// All pairs of a pattern, for that; they are the caller's to free.
hk_status hk_assembly_list_joined(const hk_assembly *assembly, hk_joined *joined);
void hk_assembly_free(hk_assembly *assembly);

// values (hk_pattern_size numbers) = Σ blocks + diag(weight), with the blocks of hk_terms_blocks
// and weight [vertex_count] in Morton order, added to the three diagonal entries of a vertex.
void hk_assemble(const hk_assembly *assembly, const double *blocks, const double *weight,
                 double *values);
// Elements of a world have a place in the pattern as they are when the assembly is created. Whether
// those of now have one.
bool hk_assembly_has_live(const hk_assembly *assembly, const hk_terms *terms);
// Adds them (hk_terms_visit_blocks) to such values; false: one of them has no place.
bool hk_assemble_live(const hk_assembly *assembly, hk_terms *terms, const double *x, double keep,
                      double *values);

#endif
