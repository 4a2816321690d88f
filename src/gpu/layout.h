// How a model lies in the memory of a GPU. Vertices are cut into patches, compact pieces of at most
// `patch_size` vertices; one block of threads does everything for one patch: it reads the positions
// of the patch's own vertices and of the ghosts around them, computes every element that touches an
// own vertex (elements at the border are computed by several blocks), adds up the forces of the own
// vertices in a fixed order, and moves them. So an iteration is one kernel without atomics.
//
// An item is one element with one law: a tet of a material, or the strands in it. The items of a
// patch come in rounds; a round computes its items and leaves the forces of their corners in slots
// of shared memory, from where the threads of the vertices collect them.
#ifndef HK_LAYOUT_H
#define HK_LAYOUT_H

#include "term/tet.h"

enum {
    HK_GPU_NO_SLOT = 0,    // nobody wants it
    HK_GPU_ZERO_SLOT = 1,  // holds 0
    HK_GPU_FIRST_SLOT = 2,
    HK_GPU_COUNTS = 0x8000,
    HK_GPU_SLICE = 32,  // vertices whose slots are interleaved: a warp reads them side by side
    HK_GPU_SKEW = 1     // unused slots between them: the slots of a vertex lie in different banks
};
enum { HK_GPU_SHAPE_PARTS = 3 };

typedef struct hk_gpu_item {
    // Vertices of the patch: own ones first, then ghosts. HK_GPU_COUNTS is added to the first
    // corner in the one patch where the element's energy counts.
    uint16_t corner[4];
    uint16_t slot[4];  // of the corners at own vertices; else HK_GPU_NO_SLOT
} hk_gpu_item;

// Where the parts of a patch begin, and how many there are.
typedef struct hk_gpu_patch {
    int32_t vertex, own;    // own vertices
    int32_t ghost, locals;  // ghosts; own vertices and ghosts together
    int32_t item, round, rounds, items;
} hk_gpu_patch;

// Items [first, last) of the patch, all of one batch.
typedef struct hk_gpu_round {
    int32_t first, last;
    int32_t batch;
    int32_t counts;  // where the numbers of corners of its own vertices begin in `count`
    int32_t bases;   // where the first slots of its slices begin in `base`
} hk_gpu_round;

// How a model is cut.
typedef struct hk_gpu_cut {
    int patch_size;  // own vertices of a patch, at most
    int round_size;  // items of a round, at most
    // Of shared memory for a patch, 16 bytes each: its vertices, and the slots of a round. There
    // are as many rounds as that takes, all but; 0: no limit.
    int room;
    int vertex_bytes;  // of a vertex in that; 0: 16
    int groups;        // that take rounds in turn: a batch of a patch has a multiple of them
    // Patches of equal work instead of equal numbers of vertices: as many, some larger than
    // patch_size.
    bool even;
} hk_gpu_cut;

typedef struct hk_gpu_layout {
    int users;  // others that it serves, too
    hk_gpu_cut cut;
    int vertex_count, patch_count, batch_count;
    // Of a patch, at most: own vertices, these and ghosts together, items, rounds.
    int most_own, most_locals, most_items, most_rounds;
    int most_slots;        // of a round
    int most_room;         // of a patch, as in hk_gpu_cut
    hk_law_part *batches;  // [batch_count] one law with its coefficients each
    int32_t *place;  // [vertex_count] the vertex here → its place in the model's Morton order
    hk_gpu_patch *patches;   // [patch_count] the numbers below of one patch together
    int32_t *body_of_patch;  // [patch_count]
    int32_t *vertex_start;   // [patch_count + 1] own vertices are [start, next start)
    int32_t *ghost_start;    // [patch_count + 1] in `ghost`
    int32_t *ghost;          // vertices here
    int32_t *item_start;     // [patch_count + 1]
    hk_gpu_item *items;      // [item_count]
    // Rest shapes, [item_count] of hk_gpu_shape_width each: the inverse of the matrix of rest
    // edges, row by row.
    float *shape[HK_GPU_SHAPE_PARTS];
    int32_t *item_tet;     // [item_count] in the model
    float *element;        // [item_count][4] a direction of the rest state; or NULL
    int32_t *round_start;  // [patch_count + 1]
    hk_gpu_round *rounds;
    uint16_t *count;  // corners of an own vertex in a round
    uint16_t *base;   // first slot of a slice of own vertices in a round
    int64_t count_size, base_size;
    bool blends;  // some batch does
} hk_gpu_layout;

// Of the tets: other terms have their own (terms.h). threads 0: all cores.
hk_status hk_gpu_layout_create(const hk_model *model, const hk_gpu_cut *cut, int threads,
                               hk_gpu_layout **layout);
void hk_gpu_layout_free(hk_gpu_layout *layout);
// patches.c: body_of_patch, vertex_start, place, patch_count and most_own; part of the above.
hk_status hk_gpu_cut_patches(const hk_model *model, hk_gpu_layout *layout);
// The law of all batches; HK_LAW_COUNT: there are several, or none.
int hk_gpu_layout_law(const hk_gpu_layout *layout);
// Floats of an item in array k of its shape.
static inline int hk_gpu_shape_width(int k)
{
    return k < 2 ? 4 : 1;
}

#endif
