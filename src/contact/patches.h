// The surface of every side as a tree of patches: a few triangles that lie beside each other, with
// the edges and points that belong to them and to no other patch. The tree is made once, its boxes
// follow the points. Two sides are searched for each other by going down both of their trees.
#ifndef HK_PATCHES_H
#define HK_PATCHES_H

#include "contact/bvh_box.h"
#include "contact/contacts.h"

enum { HK_PATCH_TRIANGLES = 8 };

// The fourth numbers are 0.
typedef struct hk_patch_box {
    hk_float4 low, high;
} hk_patch_box;

typedef struct hk_patch {  // runs in the lists below
    int32_t points[2], edges[2], triangles[2];
    int32_t corners[2];  // all points of its triangles and edges
} hk_patch;

typedef struct hk_patches {
    int side_count, count;  // count: of patches
    int32_t *root;   // [side_count + 1] where the nodes of a side begin; of a plane there are none
    int32_t *other;  // [nodes] the second child, the first is the next node; −1 − patch: a leaf
    hk_patch *patches;
    int32_t *node;  // [patches]
    int32_t *points, *edges, *triangles, *corners;
    hk_patch_box *box;    // [nodes]
    hk_patch_box *point;  // [point_count] boxes that the others follow from
} hk_patches;

hk_status hk_patches_create(const hk_contacts *contacts, hk_patches **patches);
void hk_patches_free(hk_patches *patches);
// Boxes of the nodes of a side from those of its points.
void hk_patches_refit(hk_patches *patches, int side);
// All patches of two sides whose boxes overlap, with those of the first side made larger by `more`
// (NULL: by nothing); of one side every two once, and each with itself. With `only`, [nodes], not
// NULL at least one of two nodes is to be marked.
typedef hk_status hk_patch_fn(void *context, int32_t first, int32_t second);
hk_status hk_patches_meet(const hk_patches *patches, int first, int second,
                          const hk_patch_box *more, const uint8_t *only, hk_patch_fn *visit,
                          void *context);

static inline bool hk_patch_overlap(const hk_patch_box *a, const hk_patch_box *b)
{
    return hk_four_bits((a->low > b->high) | (b->low > a->high)) == 0;
}

static inline void hk_patch_surround(hk_patch_box *box, const hk_patch_box *other)
{
    hk_int4 low = other->low<box->low, high = other->high> box->high;
    box->low = (hk_float4)(((hk_int4)other->low & low) | ((hk_int4)box->low & ~low));
    box->high = (hk_float4)(((hk_int4)other->high & high) | ((hk_int4)box->high & ~high));
}

static inline hk_patch_box hk_patch_round(const double low[3], const double high[3])
{
    return (hk_patch_box){{hk_round_down(low[0]), hk_round_down(low[1]), hk_round_down(low[2]), 0},
                          {hk_round_up(high[0]), hk_round_up(high[1]), hk_round_up(high[2]), 0}};
}

#endif
