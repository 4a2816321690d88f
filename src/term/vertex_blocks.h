// Gauss–Seidel over vertices, for methods that move one vertex at a time with all others at rest:
// the tets of a list of terms once more, sorted by the vertex that they lie around, and what the
// other terms say of a vertex. Vertices are coloured so that those of one colour share no element;
// `lanes` vertices of a colour are worked off together, a lane each, and the groups of a colour by
// several threads. As nothing is shared, the bits are the same for any number of threads.
//
// Every free vertex has a lane of one group. Groups that are not full have copies of their last
// vertex: these come to the same bits.
#ifndef HK_VERTEX_BLOCKS_H
#define HK_VERTEX_BLOCKS_H

#include "linear/colouring.h"
#include "term/tet.h"

typedef struct hk_vertex_blocks {
    const hk_terms *terms;    // borrowed
    const hk_tet_term *term;  // the tets among them: their lanes and threads
    hk_colouring colours;     // of the free vertices
    int32_t *colour_of;       // [vertex_count]; -1: held
    int group_count;
    int32_t *colour_start;  // [colour_count + 1] groups
    int32_t *own;           // [group_count][lanes] vertices
    int batch_count;
    hk_tet_batch *batches;  // of the term; see hk_vertex_kernels
    int32_t **block_start;  // [batch_count][group_count + 1]
    void *noise;  // scalar[group_count][lanes] J, what rounding does to the energy around a vertex
                  // where strains are about 1
} hk_vertex_blocks;

// Colours of the vertices that are not held (Morton order), such that no element has two vertices
// of one colour.
hk_status hk_colour_vertices(const hk_model *model, const hk_live *live, const uint8_t *held,
                             hk_colouring *colouring);
// Whether elements of the world join no vertices of one colour; colour_of is [vertex_count], -1:
// none.
bool hk_colours_fit(const hk_model *model, const hk_live *live, const int32_t *colour_of);

hk_status hk_vertex_blocks_create(const hk_terms *terms, const uint8_t *held,
                                  hk_vertex_blocks **blocks);
void hk_vertex_blocks_free(hk_vertex_blocks *blocks);
// Takes the blend weights of tets (hk_blend_ops).
void hk_vertex_blocks_write_blend(hk_vertex_blocks *blocks, const float *weight);

// What moves the vertices. Arrays are scalar[vertex_count][4].
typedef struct hk_vertex_forces {
    const void *target;   // where inertia pulls, and in the fourth place how stiffly (N/m)
    const void *force;    // N
    double shift;         // N/m, added to every block
    const uint8_t *axes;  // [vertex_count] HK_AXIS_X …: coordinates that stay; NULL: none
} hk_vertex_forces;

typedef struct hk_vertex_sweep {
    double length;  // of the steps: 1 is Newton's
    // A vertex whose energy does not fall takes a shorter step, or none: the sum never rises, but
    // for rounding.
    bool careful;
    // Where vertices are taken to be, so that all move at once (Jacobi's iteration); NULL: each
    // sees where the ones before it went (Gauss–Seidel's).
    const void *from;
    double noise;  // what rounding does to energies, relative to bodies strained by about 1
    // Where vertices are before the sweep, for terms with regions (hk_region_ops): no vertex leaves
    // its own. NULL: there are none.
    const void *before;
} hk_vertex_sweep;

// One sweep: vertex after vertex takes a step of Newton's method on its own 3×3 block of the
// Hessian, made positive definite.
void hk_vertex_blocks_sweep(const hk_vertex_blocks *blocks, const hk_vertex_forces *forces,
                            const hk_vertex_sweep *sweep, void *x);

#endif
