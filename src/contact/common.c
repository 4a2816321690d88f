// Which edges and vertices triangles have in common, and which ends edges: the γ of pairs (pair.h).
#include <stdlib.h>

#include "contact/contacts.h"

typedef struct side_of {  // of a triangle
    int32_t low, high;    // points
    int32_t triangle, corner;
} side_of;

static int by_points(const void *a, const void *b)
{
    const side_of *u = a, *v = b;
    if (u->low != v->low) return u->low < v->low ? -1 : 1;
    return u->high != v->high ? (u->high < v->high ? -1 : 1) : 0;
}

static void list_sides(const hk_contacts *c, side_of *sides)
{
    for (int32_t t = 0; t < c->triangle_count; t++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t a = c->triangles[3 * (size_t)t + (size_t)k];
            int32_t b = c->triangles[3 * (size_t)t + (size_t)((k + 1) % 3)];
            sides[3 * (size_t)t + (size_t)k] = (side_of){hk_min_int(a, b), hk_max_int(a, b), t, k};
        }
}

// Edges: 1 − 1/n. Adds Σ (n − 1) over the edges at every point to `excess`.
static void count_edges(hk_contacts *c, const side_of *sides, int32_t *excess)
{
    size_t all = 3 * (size_t)c->triangle_count, end;
    for (size_t k = 0; k < all; k = end) {
        for (end = k; end < all && by_points(&sides[end], &sides[k]) == 0;) end++;
        int n = (int)(end - k);
        for (size_t i = k; i < end; i++)
            c->triangle_common[6 * (size_t)sides[i].triangle + (size_t)sides[i].corner] =
                1 - 1 / (float)n;
        excess[sides[k].low] += n - 1;
        excess[sides[k].high] += n - 1;
    }
}

// Vertices: what is left of 1 by the n triangles and the edges there, divided among the triangles.
static hk_status count_triangles(hk_contacts *c)
{
    int32_t *excess = HK_ZEROS(int32_t, c->point_count), *n = HK_ZEROS(int32_t, c->point_count);
    side_of *sides = HK_ARRAY(side_of, 3 * (size_t)c->triangle_count);
    bool complete = excess && n && sides;
    if (complete) {
        list_sides(c, sides);
        qsort(sides, 3 * (size_t)c->triangle_count, sizeof *sides, by_points);
        count_edges(c, sides, excess);
        for (size_t k = 0; k < 3 * (size_t)c->triangle_count; k++) n[c->triangles[k]]++;
        for (size_t k = 0; k < 3 * (size_t)c->triangle_count; k++) {
            int32_t p = c->triangles[k];
            c->triangle_common[6 * (k / 3) + 3 + k % 3] =
                (float)(1 - n[p] + excess[p]) / (float)n[p];
        }
    }
    hk_free(excess);
    hk_free(n);
    hk_free(sides);
    return complete ? HK_OK : HK_NO_MEMORY;
}

// Ends of edges: 1 − 1/n.
static void count_ends(hk_contacts *c)
{
    for (size_t k = 0; k < 2 * (size_t)c->edge_count; k++) c->end_common[c->edges[k]]++;
    for (int p = 0; p < c->point_count; p++)
        if (c->end_common[p] > 0) c->end_common[p] = 1 - 1 / c->end_common[p];
}

hk_status hk_contacts_count_common(hk_contacts *c)
{
    c->triangle_common = HK_ZEROS(float, 6 * (size_t)c->triangle_count);
    c->end_common = HK_ZEROS(float, c->point_count);
    if (!c->triangle_common || !c->end_common) return HK_NO_MEMORY;
    count_ends(c);
    return c->triangle_count > 0 ? count_triangles(c) : HK_OK;
}
