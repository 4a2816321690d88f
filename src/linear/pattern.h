// Symmetric sparse matrices with one block row a vertex: blocks of 3×3 numbers, or of one number
// that serves x, y and z alike.
#ifndef HK_PATTERN_H
#define HK_PATTERN_H

#include "core/base.h"

// The blocks strictly below the diagonal, by block column, rows ascending; the diagonal block is
// always there. As numbers the matrix is the lower triangle in compressed columns: block column b
// with k blocks below has columns c = 0, 1, 2 of (3 − c) + 3 k numbers each; a scalar pattern has
// one column of 1 + k numbers.
typedef struct hk_pattern {
    bool scalar;     // one number a block
    int count;       // block rows
    int64_t *start;  // [count + 1]
    int32_t *row;    // [start[count]]
} hk_pattern;

void hk_pattern_free(hk_pattern *pattern);  // frees the arrays, not the struct

// Numbers in the lower triangle.
int64_t hk_pattern_size(const hk_pattern *pattern);
// Where column c of block column b begins.
static inline int64_t hk_pattern_column(const hk_pattern *p, int b, int c)
{
    int64_t before = p->start[b], k = p->start[b + 1] - before;
    if (p->scalar) return b + before;
    static const int diagonal[3] = {0, 3, 5};
    return 6 * (int64_t)b + 9 * before + diagonal[c] + 3 * k * c;
}

// An elimination order with little fill for the graph of `pattern`: nested dissection (METIS),
// then postordered along the elimination tree so that supernodes are contiguous.
// order[k] is the block that is eliminated k-th.
hk_status hk_order_blocks(const hk_pattern *pattern, int32_t *order);

// y = A x for the lower triangle `values` of a pattern of 3×3 blocks; x and y are [3 count].
void hk_pattern_multiply(const hk_pattern *pattern, const double *values, const double *x,
                         double *y);

#endif
