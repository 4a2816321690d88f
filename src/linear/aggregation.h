// Groups of neighbouring unknowns: what becomes one unknown on the next coarser level of a
// multigrid hierarchy.
#ifndef HK_AGGREGATION_H
#define HK_AGGREGATION_H

#include "core/base.h"

// Who is connected to whom, symmetric, without the diagonal.
typedef struct hk_graph {
    int count;
    const int64_t *start;      // [count + 1]
    const int32_t *neighbour;  // [start[count]]
} hk_graph;

// Roots are an independent set at distance two, taken greedily in the order of the rows; their
// neighbours join them, and the rest joins a neighbour's group, the smallest. Every row with
// group[row] ≥ 0 on entry gets a group 0 .. *group_count − 1; rows with −1 stay out.
hk_status hk_aggregate(const hk_graph *graph, int32_t *group, int *group_count);
// Rows with more than the average number of neighbours are tried as roots first: groups are larger
// and more alike. (In boxes of five tets a cell every other vertex has 18 neighbours, the rest six;
// in this order half as many groups come out.)
hk_status hk_aggregate_large(const hk_graph *graph, int32_t *group, int *group_count);

#endif
