// Elimination orders.
#include "linear/pattern.h"

#ifdef HOOKE_DIRECT
#include <metis.h>
#include <pthread.h>

// METIS draws from the process' one rand() and sets signal handlers while it works: two orderings
// at the same time would disturb each other, and the results with them.
static pthread_mutex_t g_metis = PTHREAD_MUTEX_INITIALIZER;
#endif

// The full graph (both directions, no loops) of a lower pattern.
typedef struct graph {
    int count;
    int32_t *start, *neighbour;
} graph;

static void graph_free(graph *g)
{
    hk_free(g->start);
    hk_free(g->neighbour);
}

static hk_status graph_of(const hk_pattern *p, graph *g)
{
    int64_t edges = 2 * p->start[p->count];
    if (edges > INT32_MAX) return hk_fail(HK_UNSUPPORTED, "too large for the direct solver");
    g->count = p->count;
    g->start = HK_ZEROS(int32_t, p->count + 2);
    g->neighbour = HK_ARRAY(int32_t, edges);
    if (!g->start || !g->neighbour) {
        graph_free(g);
        return HK_NO_MEMORY;
    }
    // Shifted by two, so that filling leaves the starts where they belong.
    for (int b = 0; b < p->count; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            g->start[b + 2]++;
            g->start[p->row[k] + 2]++;
        }
    for (int b = 0; b < p->count; b++) g->start[b + 2] += g->start[b + 1];
    for (int b = 0; b < p->count; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            g->neighbour[g->start[b + 1]++] = p->row[k];
            g->neighbour[g->start[p->row[k] + 1]++] = b;
        }
    return HK_OK;
}

// METIS has nothing to do for a handful of blocks, or where no block touches another.
enum { SMALLEST_DISSECTION = 32 };

static hk_status dissect(const graph *g, int32_t *order)
{
    for (int b = 0; b < g->count; b++) order[b] = b;
#ifdef HOOKE_DIRECT
    if (g->count < SMALLEST_DISSECTION || g->start[g->count] == 0) return HK_OK;
    idx_t *inverse = HK_ARRAY(idx_t, g->count);
    if (!inverse) return HK_NO_MEMORY;
    idx_t options[METIS_NOPTIONS], count = g->count;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    _Static_assert(sizeof(idx_t) == sizeof(int32_t), "METIS with 32-bit indices");
    pthread_mutex_lock(&g_metis);
    int done = METIS_NodeND(&count, g->start, g->neighbour, NULL, options, order, inverse);
    pthread_mutex_unlock(&g_metis);
    hk_free(inverse);
    if (done == METIS_ERROR_MEMORY) return hk_no_memory();
    if (done != METIS_OK) return hk_fail(HK_INTERNAL, "METIS_NodeND failed (%d)", done);
#endif
    return HK_OK;
}

// Liu's elimination tree of the graph taken in `order`, with path compression.
static void elimination_tree(const graph *g, const int32_t *order, const int32_t *place,
                             int32_t *parent, int32_t *ancestor)
{
    for (int j = 0; j < g->count; j++) {
        parent[j] = ancestor[j] = -1;
        int b = order[j];
        for (int32_t k = g->start[b]; k < g->start[b + 1]; k++) {
            int32_t i = place[g->neighbour[k]];
            while (i != -1 && i < j) {
                int32_t next = ancestor[i];
                ancestor[i] = j;
                if (next == -1) parent[i] = j;
                i = next;
            }
        }
    }
}

// Children before parents, subtrees contiguous; no recursion.
static void postorder(int count, const int32_t *parent, int32_t *head, int32_t *next,
                      int32_t *stack, int32_t *post)
{
    for (int j = 0; j < count; j++) head[j] = -1;
    for (int j = count - 1; j >= 0; j--)
        if (parent[j] != -1) {
            next[j] = head[parent[j]];
            head[parent[j]] = j;
        }
    int done = 0;
    for (int root = 0; root < count; root++) {
        if (parent[root] != -1) continue;
        int depth = 0;
        stack[0] = root;
        while (depth >= 0) {
            int j = stack[depth], child = head[j];
            if (child == -1) {
                post[done++] = j;
                depth--;
            } else {
                head[j] = next[child];
                stack[++depth] = child;
            }
        }
    }
}

static hk_status postorder_blocks(const graph *g, int32_t *order)
{
    size_t n = (size_t)g->count;
    int32_t *workspace = HK_ARRAY(int32_t, 6 * n + 1);
    if (!workspace) return HK_NO_MEMORY;
    int32_t *place = workspace, *parent = workspace + n, *head = workspace + 2 * n,
            *next = workspace + 3 * n;
    int32_t *stack = workspace + 4 * n, *post = workspace + 5 * n;
    for (int k = 0; k < g->count; k++) place[order[k]] = k;
    elimination_tree(g, order, place, parent, head);
    postorder(g->count, parent, head, next, stack, post);
    memcpy(place, order, n * sizeof(int32_t));
    for (int k = 0; k < g->count; k++) order[k] = place[post[k]];
    hk_free(workspace);
    return HK_OK;
}

hk_status hk_order_blocks(const hk_pattern *pattern, int32_t *order)
{
    graph g = {0};
    HK_TRY(graph_of(pattern, &g));
    hk_status status = dissect(&g, order);
    if (status == HK_OK) status = postorder_blocks(&g, order);
    graph_free(&g);
    return status;
}
