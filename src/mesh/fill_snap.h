// A mesh whose vertices are moved to where they meet the surface better: what fill_snap.c (sharp
// edges) and fill_reach.c (peaks) share.
#ifndef HK_FILL_SNAP_H
#define HK_FILL_SNAP_H

#include "mesh/fill.h"

typedef struct hk_fill_snapper {
    const hk_fill_surface *surface;
    const hk_fill_solid *solid;
    const hk_fill_features *features;
    hk_mesh *mesh;
    double size;
    uint8_t *sharp;  // [vertex_count] 1: on an edge, 2: on a corner
    uint8_t *outer;  // [vertex_count] on the surface of the mesh
    int32_t *first;  // [vertex_count + 1] tets of each vertex
    int32_t *tets;
    int32_t *edges;  // [edge_count][2] of the surface of the mesh
    int edge_count;
    double *normals;  // [vertex_count][3] of the surface there; 0: no surface (a lid)
    int32_t *moved;   // [moved_room] vertices that make room, and where they were
    double *before;   // [moved_room][3]
    size_t moved_count, moved_room, before_room;
} hk_fill_snapper;

// Moves a vertex, which is `sharp` there, if all angles stay good; vertices around make room.
hk_status hk_fill_try_move(hk_fill_snapper *snapper, int vertex, const double x[3], uint8_t sharp,
                           bool *done);

// fill_reach.c: moves vertices to places of the surface that the mesh ends short of.
hk_status hk_fill_reach_peaks(hk_fill_snapper *snapper);

#endif
