#include "mesh/rim.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/facets.h"
#include "mesh/sort.h"

// ---------------------------------------------------------------- vertices in the same place

static uint64_t hash_place(const double p[3])
{
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        double x = p[i] + 0.0;  // −0 is 0
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool same_place(const double a[3], const double b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// Different places of one hash are told apart, as long as they come one after the other; else an
// edge too many is taken for the rim, which does no harm.
hk_status hk_merge_vertices(int count, const double *positions, int32_t *first)
{
    hk_keyed *order = HK_ARRAY(hk_keyed, count), *scratch = HK_ARRAY(hk_keyed, count);
    if (order && scratch) {
        for (int v = 0; v < count; v++)
            order[v] = (hk_keyed){hash_place(positions + 3 * (size_t)v), v};
        hk_sort_keyed(order, scratch, (size_t)count);
        for (int k = 0; k < count; k++) {
            int32_t v = (int32_t)order[k].item, before = k > 0 ? (int32_t)order[k - 1].item : v;
            bool same = same_place(positions + 3 * (size_t)v, positions + 3 * (size_t)before);
            first[v] = k > 0 && same ? first[before] : v;
        }
    }
    hk_status status = order && scratch ? HK_OK : HK_NO_MEMORY;
    hk_free(order);
    hk_free(scratch);
    return status;
}

// ---------------------------------------------------------------- edges

typedef struct search {
    const double *positions;
    const int32_t *triangles;  // [triangle_count][3] merged
    hk_rim *rim;
    size_t capacity;
    hk_status status;
} search;

static void add_edge(search *s, int32_t a, int32_t b, int64_t times)
{
    hk_rim *rim = s->rim;
    if (s->status != HK_OK) return;
    s->status = hk_reserve((void **)&rim->edges, (size_t)rim->count, 2 * sizeof(int32_t),
                           &s->capacity, (size_t)rim->count + 1);
    if (s->status != HK_OK) return;
    const double *p = s->positions + 3 * (size_t)a, *q = s->positions + 3 * (size_t)b;
    double e[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    rim->edges[2 * (size_t)rim->count] = a;
    rim->edges[2 * (size_t)rim->count++ + 1] = b;
    rim->length += (double)times * sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
}

// All uses of one edge.
static void count_uses(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    search *s = context;
    int64_t balance = 0;
    for (size_t k = 0; k < count; k++) {
        int64_t corner = run[k].item;
        balance += s->triangles[corner] == low ? 1 : -1;
    }
    if (balance != 0) add_edge(s, low, (int32_t)(run->key & 0xffffffffu), llabs(balance));
}

hk_status hk_rim_find(int vertex_count, const double *positions, int triangle_count,
                      const int32_t *triangles, hk_rim *rim)
{
    *rim = (hk_rim){0};
    search s = {.positions = positions, .rim = rim};
    int64_t corners = 3 * (int64_t)triangle_count;
    int32_t *first = HK_ARRAY(int32_t, vertex_count), *merged = HK_ARRAY(int32_t, corners);
    hk_status status = first && merged ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_merge_vertices(vertex_count, positions, first);
    if (status == HK_OK) {
        for (int64_t k = 0; k < corners; k++) merged[k] = first[triangles[k]];
        s.triangles = merged;
        status = hk_visit_facets(vertex_count, corners, merged, hk_triangle_edge, count_uses, &s);
        if (status == HK_OK) status = s.status;
    }
    hk_free(first);
    hk_free(merged);
    if (status != HK_OK) hk_rim_free(rim);
    return status;
}

void hk_rim_free(hk_rim *rim)
{
    hk_free(rim->edges);
    *rim = (hk_rim){0};
}
