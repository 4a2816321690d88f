// A linear bounding volume hierarchy over axis-aligned boxes: which boxes lie near which others.
//
// Boxes are sorted along a Morton curve (stable, so that boxes of equal codes keep their order) and
// taken eight by eight; so are the boxes around those groups of eight, and so on up to one group.
// No pointers: group g of a level holds the boxes around groups 8g … 8g + 7 of the level below. A
// refit writes the same groups with other boxes and takes a few passes over memory.
//
// Boxes are kept in single precision, relative to the middle of all boxes and rounded outward, so
// that every pair of boxes that overlap, or are within the radius asked for, is found; so are some
// that are apart by less than 1e-6 of the size of everything. Whoever asks decides exactly.
//
// Pairs come sorted by key: the same bits for any number of threads, and for any tree with the same
// origin, whether built for these boxes or refitted.
#ifndef HK_BVH_H
#define HK_BVH_H

#include "contact/radix.h"

typedef struct hk_box {
    double low[3], high[3];  // m, finite
} hk_box;

enum { HK_BVH_WIDTH = 8, HK_BVH_LEVELS = 11 };  // 8^11 > 2^31

typedef struct hk_bvh_group {
    float low[3][HK_BVH_WIDTH], high[3][HK_BVH_WIDTH];  // of those that do not exist: NaN
} __attribute__((aligned(64))) hk_bvh_group;

typedef struct hk_bvh {
    int count;   // boxes
    int levels;  // 0: no boxes
    int group_count[HK_BVH_LEVELS];
    hk_bvh_group *groups[HK_BVH_LEVELS];  // [group_count]; level 0 holds the boxes themselves
    int32_t *items;                       // [count] the box in each place of level 0
    double origin[3];
    hk_bvh_group *storage;
    size_t storage_capacity, item_capacity;
    hk_radix radix;
} hk_bvh;

void hk_bvh_free(hk_bvh *bvh);
// Builds the tree; an all-zero hk_bvh is an empty one. No memory is taken for no more boxes than
// before.
hk_status hk_bvh_build(hk_bvh *bvh, const hk_box *boxes, int count, int threads);
// Other boxes in the same tree, which stays good as long as neighbours stay neighbours.
void hk_bvh_refit(hk_bvh *bvh, const hk_box *boxes, int threads);

// ---------------------------------------------------------------- queries

// Called for every pair, in any order, from several threads at once; `thread` counts from 0.
typedef void hk_pair_fn(void *context, int thread, int32_t first, int32_t second);
// All pairs of boxes of one tree, first < second, that are at most `radius` (m) apart along every
// axis.
void hk_bvh_visit_self(const hk_bvh *bvh, double radius, hk_pair_fn *visit, void *context,
                       int threads);
// Pairs of a box of `bvh` and one of `other`, built with the same origin or not.
void hk_bvh_visit_tree(const hk_bvh *bvh, const hk_bvh *other, double radius, hk_pair_fn *visit,
                       void *context, int threads);
// Pairs of a box of the array and one of the tree.
void hk_bvh_visit_boxes(const hk_box *boxes, int count, const hk_bvh *bvh, double radius,
                        hk_pair_fn *visit, void *context, int threads);

// Lists of pairs, sorted by key = first << 32 | second. They grow as they must: a query that does
// not fit is taken again, and nothing is dropped.
typedef struct hk_pairs {
    size_t count;
    hk_radix radix;  // its keys
    void *batches;   // [batch_count] of the threads
    int batch_count;
} hk_pairs;
// Which pairs to keep; called from several threads at once. NULL: all.
typedef bool hk_pair_filter(const void *context, int32_t first, int32_t second);

static inline const uint64_t *hk_pairs_keys(const hk_pairs *pairs)
{
    return pairs->radix.keys;
}
static inline int32_t hk_key_first(uint64_t key)
{
    return (int32_t)(key >> 32);
}
static inline int32_t hk_key_second(uint64_t key)
{
    return (int32_t)(uint32_t)key;
}
void hk_pairs_free(hk_pairs *pairs);
hk_status hk_bvh_self_pairs(const hk_bvh *bvh, double radius, hk_pair_filter *filter,
                            const void *context, int threads, hk_pairs *pairs);
hk_status hk_bvh_tree_pairs(const hk_bvh *bvh, const hk_bvh *other, double radius,
                            hk_pair_filter *filter, const void *context, int threads,
                            hk_pairs *pairs);
hk_status hk_bvh_box_pairs(const hk_box *boxes, int count, const hk_bvh *bvh, double radius,
                           hk_pair_filter *filter, const void *context, int threads,
                           hk_pairs *pairs);

#endif
