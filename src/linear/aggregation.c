#include "linear/aggregation.h"

enum { OUT = -1, UNDECIDED = -2 };

// True: nobody next to the row has a group.
static bool may_be_root(const hk_graph *g, const int32_t *group, int row)
{
    for (int64_t k = g->start[row]; k < g->start[row + 1]; k++)
        if (group[g->neighbour[k]] >= 0) return false;
    return true;
}

// Of rows with at least so many neighbours; `count` groups are there already.
static int make_roots(const hk_graph *g, double neighbours, int32_t *group, int32_t *size,
                      int count)
{
    for (int row = 0; row < g->count; row++) {
        if ((double)(g->start[row + 1] - g->start[row]) < neighbours) continue;
        if (group[row] != UNDECIDED || !may_be_root(g, group, row)) continue;
        group[row] = count;
        size[count] = 1;
        for (int64_t k = g->start[row]; k < g->start[row + 1]; k++) {
            if (group[g->neighbour[k]] != UNDECIDED) continue;
            group[g->neighbour[k]] = count;
            size[count]++;
        }
        count++;
    }
    return count;
}

// The smallest group next to a row; UNDECIDED: there is none.
static int32_t smallest_near(const hk_graph *g, const int32_t *group, const int32_t *size, int row)
{
    int32_t best = UNDECIDED;
    for (int64_t k = g->start[row]; k < g->start[row + 1]; k++) {
        int32_t near = group[g->neighbour[k]];
        if (near >= 0 && (best < 0 || size[near] < size[best])) best = near;
    }
    return best;
}

// After make_roots every undecided row has a neighbour in a group.
static void join_rest(const hk_graph *g, int32_t *group, int32_t *size, int32_t *joins)
{
    for (int row = 0; row < g->count; row++) {
        joins[row] = UNDECIDED;
        if (group[row] != UNDECIDED) continue;
        joins[row] = smallest_near(g, group, size, row);
        if (joins[row] >= 0) size[joins[row]]++;
    }
    for (int row = 0; row < g->count; row++)
        if (joins[row] >= 0) group[row] = joins[row];
}

static hk_status aggregate(const hk_graph *g, double first, int32_t *group, int *group_count)
{
    int32_t *size = HK_ARRAY(int32_t, g->count), *joins = HK_ARRAY(int32_t, g->count);
    if (!size || !joins) {
        hk_free(size);
        hk_free(joins);
        return HK_NO_MEMORY;
    }
    for (int row = 0; row < g->count; row++) group[row] = group[row] < 0 ? OUT : UNDECIDED;
    int count = first > 0 ? make_roots(g, first, group, size, 0) : 0;
    *group_count = make_roots(g, 0, group, size, count);
    join_rest(g, group, size, joins);
    hk_free(size);
    hk_free(joins);
    return HK_OK;
}

hk_status hk_aggregate(const hk_graph *g, int32_t *group, int *group_count)
{
    return aggregate(g, 0, group, group_count);
}

hk_status hk_aggregate_large(const hk_graph *g, int32_t *group, int *group_count)
{
    double average = g->count > 0 ? (double)g->start[g->count] / g->count : 0;
    return aggregate(g, average, group, group_count);
}
