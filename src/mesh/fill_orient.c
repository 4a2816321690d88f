// The triangles of a surface as they are filled: each once, and turned as their neighbours are.
#include <math.h>

#include "mesh/facets.h"
#include "mesh/fill.h"
#include "mesh/rim.h"

// ---------------------------------------------------------------- once each

static void order(int32_t v[3])
{
    for (int i = 1; i < 3; i++)
        for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
            int32_t kept = v[j];
            v[j] = v[j - 1];
            v[j - 1] = kept;
        }
}

static size_t hash_triangle(const int32_t v[3])
{
    uint64_t hash = 0;
    for (int k = 0; k < 3; k++) {
        hash = (hash ^ (uint64_t)(uint32_t)v[k]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (size_t)hash;
}

static bool same_corners(const int32_t *triangle, const int32_t sorted[3])
{
    int32_t own[3] = {triangle[0], triangle[1], triangle[2]};
    order(own);
    return own[0] == sorted[0] && own[1] == sorted[1] && own[2] == sorted[2];
}

// Triangles that are there already, in whatever sense, are left out.
static hk_status take_once(const int32_t *first, int count, const int32_t *triangles,
                           hk_fill_surface *s)
{
    size_t size = 16;
    while (size < 2 * (size_t)count) size *= 2;
    int32_t *table = HK_ARRAY(int32_t, size);
    if (!table) return HK_NO_MEMORY;
    memset(table, 0xff, size * sizeof *table);  // −1: free
    for (int t = 0; t < count; t++) {
        int32_t *own = s->triangles + 3 * (size_t)s->count, sorted[3];
        for (int k = 0; k < 3; k++) sorted[k] = own[k] = first[triangles[3 * (size_t)t + k]];
        order(sorted);
        if (sorted[0] == sorted[1] || sorted[1] == sorted[2]) {
            s->flat++;
            continue;
        }
        size_t slot = hash_triangle(sorted) & (size - 1);
        while (table[slot] >= 0 && !same_corners(s->triangles + 3 * (size_t)table[slot], sorted))
            slot = (slot + 1) & (size - 1);
        if (table[slot] >= 0)
            s->repeated++;
        else
            table[slot] = s->count++;
    }
    hk_free(table);
    return HK_OK;
}

// ---------------------------------------------------------------- neighbours

static void join_triangles(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    hk_fill_surface *s = context;
    (void)low;
    if (count != 2) return;
    s->neighbours[run[0].item] = (int32_t)(run[1].item / 3);
    s->neighbours[run[1].item] = (int32_t)(run[0].item / 3);
}

// Whether two neighbours go along the edge from corner k of triangle t in the same direction.
static bool goes_along(const hk_fill_surface *s, int t, int k, int other)
{
    const int32_t *v = s->triangles + 3 * (size_t)t, *u = s->triangles + 3 * (size_t)other;
    for (int j = 0; j < 3; j++)
        if (u[j] == v[k] && u[(j + 1) % 3] == v[(k + 1) % 3]) return true;
    return false;
}

enum { UNSEEN = -1, AS_IT_IS = 0, TURNED = 1 };

// Goes through all triangles that hang together with the first one; turns those that do not agree
// with it, or all others, whichever are fewer. `list` has room for all triangles.
static void agree(hk_fill_surface *s, int first, int8_t *sense, int32_t *list)
{
    int count = 1;
    int64_t turned = 0;
    list[0] = first;
    sense[first] = AS_IT_IS;
    for (int k = 0; k < count; k++)
        for (int e = 0; e < 3; e++) {
            int t = list[k], other = s->neighbours[3 * (size_t)t + (size_t)e];
            if (other < 0 || sense[other] != UNSEEN) continue;
            sense[other] = (int8_t)(sense[t] ^ goes_along(s, t, e, other));
            turned += sense[other];
            list[count++] = other;
        }
    int8_t wrong = 2 * turned > count ? AS_IT_IS : TURNED;
    for (int k = 0; k < count; k++) sense[list[k]] = sense[list[k]] == wrong;
    s->turned += wrong == TURNED ? turned : count - turned;
}

static hk_status turn_alike(hk_fill_surface *s)
{
    int8_t *sense = HK_ARRAY(int8_t, s->count);
    int32_t *list = HK_ARRAY(int32_t, s->count);
    hk_status status = sense && list ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        memset(sense, UNSEEN, (size_t)s->count);
        for (int t = 0; t < s->count; t++)
            if (sense[t] == UNSEEN) agree(s, t, sense, list);
        for (int t = 0; t < s->count; t++) {
            if (sense[t] == AS_IT_IS) continue;
            // Corners 0 and 1 change places: edges 1 and 2 do.
            int32_t *v = s->triangles + 3 * (size_t)t, *n = s->neighbours + 3 * (size_t)t;
            int32_t corner = v[0], beyond = n[1];
            v[0] = v[1];
            v[1] = corner;
            n[1] = n[2];
            n[2] = beyond;
        }
    }
    hk_free(sense);
    hk_free(list);
    return status;
}

static hk_status take(int triangle_count, const int32_t *triangles, hk_fill_surface *s)
{
    int32_t *first = HK_ARRAY(int32_t, s->vertex_count);
    s->triangles = HK_ARRAY(int32_t, 3 * (size_t)triangle_count);
    hk_status status = first && s->triangles ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_merge_vertices(s->vertex_count, s->positions, first);
    if (status == HK_OK) status = take_once(first, triangle_count, triangles, s);
    hk_free(first);
    HK_TRY(status);
    if (s->count == 0) return hk_fail(HK_BAD_INPUT, "the surface has no triangles with an area");
    size_t edges = 3 * (size_t)s->count;
    s->neighbours = HK_ARRAY(int32_t, edges);
    s->idle = HK_ZEROS(uint8_t, s->count);
    if (!s->neighbours || !s->idle) return HK_NO_MEMORY;
    memset(s->neighbours, 0xff, edges * sizeof *s->neighbours);
    HK_TRY(hk_visit_facets(s->vertex_count, (int64_t)edges, s->triangles, hk_triangle_edge,
                           join_triangles, s));
    return turn_alike(s);
}

hk_status hk_fill_take_surface(int vertex_count, const double *positions, int triangle_count,
                               const int32_t *triangles, hk_fill_surface *surface)
{
    *surface = (hk_fill_surface){.vertex_count = vertex_count, .positions = positions};
    hk_status status = take(triangle_count, triangles, surface);
    if (status != HK_OK) hk_fill_surface_release(surface);
    return status;
}

void hk_fill_surface_release(hk_fill_surface *surface)
{
    hk_free(surface->triangles);
    hk_free(surface->neighbours);
    hk_free(surface->idle);
    *surface = (hk_fill_surface){0};
}
