// The tree behind winding.h: all that its two files share.
//
// A complete binary tree over the triangles, sorted so that those of a node are neighbours. Nodes
// are numbered as in a heap: the root is 1, the children of k are 2k and 2k + 1. At level l node
// 2^l + i has the triangles from n i / 2^l to n (i + 1) / 2^l.
//
// Everything is in a frame in which the surface has size 1, so that no square or seventh power
// leaves the range of numbers.
#ifndef HK_WINDING_TREE_H
#define HK_WINDING_TREE_H

#include "mesh/winding.h"

// Moments of a cluster about its centre c, over its area with unit normal n, s = x − c:
// ∫ n_i, ∫ n_i s_j and ½ ∫ n_i s_j s_k, symmetric and without traces, which a harmonic function
// does not see.
typedef struct hk_cluster {
    double centre[3], radius, area;
    double dipole[3];
    double second[6];  // xx yy zz xy xz yz, each as often as it occurs in the full tensor
    double third[10];  // xxx yyy zzz xxy xxz xyy yyz xzz yzz xyz, likewise
} hk_cluster;

// A box along axes of its own, the third of which is about the normal of what is in it: seen from
// afar a patch of a smooth surface is as thin as its box, and few others are as near as the
// nearest.
typedef struct hk_winding_box {
    double axes[3][3];
    double low[3], high[3];  // along them
} hk_winding_box;

struct hk_winding_tree {
    int count;  // of triangles
    int depth;  // level of the leaves
    double origin[3], scale;
    double *corners;        // [count][3][3] in the tree's frame
    int32_t *number;        // [count] as the caller has them
    hk_winding_box *boxes;  // [2 << depth]
    hk_cluster *clusters;   // [2 << depth]
    hk_winding_totals totals;
};

static inline int hk_winding_first(const hk_winding_tree *tree, int level, int64_t i)
{
    return (int)(((int64_t)tree->count * i) >> level);
}

static inline bool hk_winding_is_leaf(const hk_winding_tree *tree, int node)
{
    return node >> tree->depth;
}

static inline void hk_winding_to_frame(const hk_winding_tree *tree, const double p[3], double q[3])
{
    for (int i = 0; i < 3; i++) q[i] = (p[i] - tree->origin[i]) * tree->scale;
}

// Fills the clusters of all nodes.
void hk_winding_find_moments(hk_winding_tree *tree, int threads);

#endif
