// The parts of hk_factor: shared by factor.c (numbers and solves) and factor_tree.c (nodes
// and groups), and by nobody else.
#ifndef HK_FACTOR_PARTS_H
#define HK_FACTOR_PARTS_H

#include "linear/factor.h"

// Rows of a block, and of the smaller one that may end a node; columns of a chunk; columns of the
// nodes that are solved without lanes; the most columns of a node.
enum { ROWS = 16, HALF = 8, CHUNK = 8, NARROW = 2, MOST_COLUMNS = 256 };
enum { AHEAD = 2048 };

// A supernode, or a part of a wide one. Its rows are first its own columns, then those below,
// padded to 8 with its first (where the numbers are zero). Chunk k has columns 8 k to 8 k + 7 (the
// last one what is left) and the rows from 16 ⌊k / 2⌋ on: blocks [columns][16], at the end perhaps
// [columns][8]. Narrow nodes have blocks [columns][8] alone.
typedef struct node {
    int32_t first, last;  // columns
    int32_t rows, value_count;
    int32_t parent;      // the node that its first row below belongs to, or -1
    int64_t row, value;  // where its rows and numbers begin
    int source;          // the supernode that it comes from,
    int source_column;   // and which of its columns is the first here
} node;

// Nodes that one thread works on: some subtrees, or a supernode at the top of the tree. What they
// leave to rows outside goes to places of the group's own, which its parent takes up.
typedef struct group {
    int parent;                  // or -1
    int node_begin, node_end;    // in group_node
    int left_begin, left_end;    // in left
    int child_begin, child_end;  // in child
    int64_t weight;
} group;

// The work for one instruction set, see factor_kernels.inl.
typedef void hk_factor_pass(const node *, const float *value, const int32_t *row, float *x,
                            float *workspace);
typedef struct hk_factor_kernels {
    int lanes;
    void (*rescale)(const node *, const float *scale, float *x);
    hk_factor_pass *forward, *backward;          // x, y and z of four numbers
    hk_factor_pass *forward_one, *backward_one;  // one number an unknown
    void (*product)(const double *strip, const double *inverse, int columns, int at, int width,
                    int lanes, float *to);
    void (*subtract_product)(const hk_pattern *, const double *values, const double *x, double *r);
} hk_factor_kernels;

struct hk_factor {
    int count, threads;
    int node_count;
    node *nodes;
    int32_t *row;  // where in x
    float *value;
    float *scale;  // [count] 1 / Lₖₖ²
    int64_t row_count, value_count;

    int group_count;  // parents have lower numbers than their children
    group *groups;
    int32_t *group_node;  // [node_count] by group, ascending
    int32_t *child;       // groups, by parent
    int32_t *left;  // by group: the place in x, of its parent or the parent's own, of each row
    int64_t left_count;

    float *x;          // [count + left_count][4]
    float *workspace;  // [threads][workspace_size]
    int64_t workspace_size;
    double *residual;  // [count][4]
    const hk_factor_kernels *kernels;
};

// Nodes, groups and the places of all rows: everything that depends on the pattern alone.
hk_status hk_factor_plan(hk_factor *triangle, const hk_supernodes *supernodes);

static inline int hk_supernode_rows(const hk_supernodes *s, int k)
{
    return s->row_start[k + 1] - s->row_start[k];
}

#endif
