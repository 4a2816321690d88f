// Who owns which vertex: METIS on the graph that the elements make of the vertices.
#include <metis.h>
#include <stdlib.h>

#include "cluster/part.h"
#include "term/terms.h"

// Below so many vertices for each part the order along the Morton curve is cut into equal runs.
enum { FEW = 16 };

typedef struct graph {
    const int32_t *order;
    idx_t *start;   // [vertex_count + 1]
    idx_t *to;      // NULL: only counted
    idx_t *weight;  // [vertex_count] elements at a vertex, the work of its owner
} graph;

static void visit(void *context, const hk_stencil *s)
{
    graph *g = context;
    for (int a = 0; a < s->count; a++) {
        int32_t v = g->order[s->vertex[a]];
        if (!g->to) {
            g->start[v + 1] += s->count - 1;
            g->weight[v]++;
            continue;
        }
        for (int b = 0; b < s->count; b++)
            if (b != a) g->to[g->start[v]++] = g->order[s->vertex[b]];
    }
}

static int by_number(const void *left, const void *right)
{
    idx_t a = *(const idx_t *)left, b = *(const idx_t *)right;
    return a < b ? -1 : a > b;
}

// Rows without repetitions, in place. `start` has moved to the rows' ends while they were filled.
static void tidy(graph *g, int count)
{
    idx_t first = 0, to = 0;
    for (int v = 0; v < count; v++) {
        idx_t end = g->start[v], row = to;
        qsort(g->to + first, (size_t)(end - first), sizeof *g->to, by_number);
        for (idx_t k = first; k < end; k++)
            if (g->to[k] != v && (to == row || g->to[to - 1] != g->to[k])) g->to[to++] = g->to[k];
        first = end;
        g->start[v] = row;
    }
    g->start[count] = to;
}

static hk_status build(const hk_model *m, graph *g)
{
    size_t n = (size_t)m->vertex_count;
    g->order = m->order;
    g->start = HK_ZEROS(idx_t, n + 1);
    g->weight = HK_ARRAY(idx_t, n);
    if (!g->start || !g->weight) return HK_NO_MEMORY;
    for (size_t v = 0; v < n; v++) g->weight[v] = 1;
    hk_model_stencils(m, visit, g);
    for (size_t v = 0; v < n; v++) g->start[v + 1] += g->start[v];
    g->to = HK_ARRAY(idx_t, g->start[n]);
    if (!g->to) return HK_NO_MEMORY;
    hk_model_stencils(m, visit, g);
    tidy(g, m->vertex_count);
    return HK_OK;
}

static hk_status partition(graph *g, idx_t vertices, idx_t parts, int32_t *owner)
{
    idx_t constraints = 1, cut, options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    int (*method)(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, real_t *,
                  real_t *, idx_t *, idx_t *, idx_t *) =
        parts > 8 ? METIS_PartGraphKway : METIS_PartGraphRecursive;
    int result = method(&vertices, &constraints, g->start, g->to, g->weight, NULL, NULL, &parts,
                        NULL, NULL, options, &cut, owner);
    if (result == METIS_ERROR_MEMORY) return hk_no_memory();
    return result == METIS_OK
               ? HK_OK
               : hk_fail(HK_INTERNAL, "METIS cannot cut the model into %d parts", (int)parts);
}

hk_status hk_part_owners(const hk_model *m, int count, int32_t *owner)
{
    _Static_assert(sizeof(idx_t) == sizeof(int32_t), "METIS with 32-bit numbers");
    if (count == 1 || m->vertex_count < FEW * (int64_t)count) {
        for (int64_t k = 0; k < m->vertex_count; k++)
            owner[m->order[k]] = (int32_t)(k * count / m->vertex_count);
        return HK_OK;
    }
    graph g = {0};
    hk_status status = build(m, &g);
    if (status == HK_OK) status = partition(&g, m->vertex_count, count, owner);
    hk_free(g.start);
    hk_free(g.to);
    hk_free(g.weight);
    return status;
}
