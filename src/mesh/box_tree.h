// A tree of boxes over items in space (tets, triangles, points), to find those near a point without
// looking at all of them. Items are sorted along a Morton curve and cut into runs, one for each
// leaf of a complete binary tree: nothing in it depends on threads or on luck.
#ifndef HK_BOX_TREE_H
#define HK_BOX_TREE_H

#include "core/base.h"

typedef struct hk_box {
    double low[3], high[3];
} hk_box;

typedef struct hk_box_tree {
    int item_count;
    int leaf_count;  // a power of two
    int32_t *items;  // [item_count] by leaf
    hk_box *boxes;   // [item_count] theirs
    hk_box *nodes;   // [2 leaf_count − 1]: the children of k are 2 k + 1 and 2 k + 2
} hk_box_tree;

// Of at least one item; the boxes are finite.
hk_status hk_box_tree_build(hk_box_tree *tree, int item_count, const hk_box *boxes);
void hk_box_tree_release(hk_box_tree *tree);

// Calls `visit` for items whose boxes are not farther than √(*reach2) from the point, those of
// nearer leaves first. It may lower *reach2, to a negative number where it has seen enough.
typedef void hk_box_tree_fn(void *context, int32_t item);
void hk_box_tree_visit(const hk_box_tree *tree, const double point[3], const double *reach2,
                       hk_box_tree_fn *visit, void *context);

#endif
