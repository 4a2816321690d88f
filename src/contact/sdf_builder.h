// What the files that build a signed distance field share.
//
// The order of things: distances and winding numbers at the corners of all bricks; which bricks the
// band touches; samples at their nodes and two layers around them (sdf_sample.c); lids of open
// surfaces, which make more bricks (sdf_lid.c); distances anew where there are lids, or sheets
// inside that are to be left out (sdf_inner.c); coefficients (sdf_build.c).
#ifndef HK_SDF_BUILDER_H
#define HK_SDF_BUILDER_H

#include "contact/sdf.h"
#include "mesh/rim.h"
#include "mesh/winding.h"

// Inside is where the surface winds around a point more than this.
#define HK_SDF_LEVEL 0.5
// To which winding numbers are known where they are no farther from the level.
#define HK_SDF_WINDING 1e-3

// At the nodes of a brick, x fastest; a bit for each node in the words of its z.
typedef struct hk_sdf_samples {
    double distance[HK_BRICK_NODES];  // m, without sign
    float winding[HK_BRICK_NODES];    // on the right side of the level; inherited from a neighbour
                                      // where that is certain
    uint64_t needed[HK_BRICK], done[HK_BRICK];
    uint64_t exact[HK_BRICK];  // the winding number is the node's own, to HK_SDF_WINDING
    int at[3];                 // which brick
} hk_sdf_samples;

// Triangles under construction, each with corners of its own.
typedef struct hk_sdf_triangles {
    double *corners;  // [count][3][3] m
    size_t count, capacity;
} hk_sdf_triangles;

typedef struct hk_sdf_builder {
    hk_sdf *sdf;
    int threads;
    // Where distances come from: a function, or triangles.
    hk_distance_fn *function;
    const void *context;
    const double *positions;   // [][3] m
    const int32_t *triangles;  // [triangle_count][3]
    int triangle_count;
    hk_winding_tree *surface;
    hk_winding_tree *rim;    // its open edges, or NULL
    hk_winding_tree *outer;  // the surface without sheets that lie inside; NULL: all of it
    hk_winding_tree *lid;    // or NULL
    double rim_length;       // m
    double sense;            // −1: the triangles face inwards

    uint8_t *active;  // [bricks] the band touches it
    size_t active_count;
    int32_t *fresh;  // [fresh_count] active ones that were not looked at yet
    size_t fresh_count, fresh_capacity;
    int32_t *sample_of;  // [bricks] or −1
    hk_sdf_samples *samples;
    size_t sample_count, sample_capacity;
    float *corner_winding;  // [corners of bricks]
    double *corner_margin;  // [corners of bricks] workspace
    hk_sdf_triangles lids;
    double openness;
    bool too_small;  // something reaches the bricks at the border
} hk_sdf_builder;

// ---------------------------------------------------------------- sdf_sample.c

// The distance to the surface as it is, or INFINITY beyond `within`. `hint` is updated.
double hk_sdf_distance(const hk_sdf_builder *b, const hk_winding_tree *tree, const double p[3],
                       double within, hk_nearest *hint);
// The winding number, turned around where triangles face inwards.
hk_winding hk_sdf_winding(const hk_sdf_builder *b, const double p[3], double tolerance);
void hk_sdf_sample_corners(hk_sdf_builder *b);
// The samples that the active bricks among `fresh` need.
hk_status hk_sdf_sample_fresh(hk_sdf_builder *b);
// How open the surface is, from what was sampled.
void hk_sdf_find_openness(hk_sdf_builder *b);
// Distances to the outer parts of the surface and to lids.
void hk_sdf_sample_again(hk_sdf_builder *b);
// Of a node, by its numbers in the whole grid; it must have been sampled.
static inline hk_sdf_samples *hk_sdf_sample_at(const hk_sdf_builder *b, const int node[3], int *at)
{
    size_t brick = hk_sdf_brick_at(b->sdf, node[0] >> 3, node[1] >> 3, node[2] >> 3);
    *at = (node[0] & 7) + 8 * (node[1] & 7) + 64 * (node[2] & 7);
    return &b->samples[b->sample_of[brick]];
}
static inline void hk_sdf_node_place(const hk_sdf *sdf, const int node[3], double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = sdf->origin[i] + sdf->cell * node[i];
}

// ---------------------------------------------------------------- sdf_build.c

// Marks a brick; those at the border are too far out.
hk_status hk_sdf_activate(hk_sdf_builder *b, int x, int y, int z);
// Marks the bricks that come within the band of the tree.
hk_status hk_sdf_activate_near(hk_sdf_builder *b, const hk_winding_tree *tree);
hk_status hk_sdf_add_triangle(hk_sdf_triangles *list, const double corners[9]);
hk_status hk_sdf_triangle_tree(const hk_sdf_triangles *list, int threads, hk_winding_tree **tree);
// The whole field; `low` and `high` bound what it is of.
hk_status hk_sdf_build(hk_sdf_builder *b, const double low[3], const double high[3]);

// ---------------------------------------------------------------- sdf_lid.c, sdf_inner.c

hk_status hk_sdf_close_lids(hk_sdf_builder *b);
hk_status hk_sdf_leave_out_inner(hk_sdf_builder *b);

#endif
