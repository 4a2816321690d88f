// The rim of a surface: its edges that triangles do not use as often in one direction as in the
// other. Without a rim the surface is closed, however it intersects itself, and its winding numbers
// are integers. Vertices in the same place are one.
//
// With a rim they change at a rate of at most L/(4πD²) at a distance D from it, if L is its length
// (Biot and Savart's law: the gradient of the solid angle is an integral over the rim alone).
#ifndef HK_RIM_H
#define HK_RIM_H

#include "core/base.h"

typedef struct hk_rim {
    double length;  // m; an edge counts as often as it is missing
    int count;
    int32_t *edges;  // [count][2] vertices
} hk_rim;

hk_status hk_rim_find(int vertex_count, const double *positions, int triangle_count,
                      const int32_t *triangles, hk_rim *rim);
void hk_rim_free(hk_rim *rim);

// The first vertex in the place of each: first[count].
hk_status hk_merge_vertices(int count, const double *positions, int32_t *first);

#endif
