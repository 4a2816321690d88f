// A surface that is carried along by the tets it lies in or near: every vertex of it is bound to
// one tet by barycentric coordinates, Σ w_k x_k with Σ w_k = 1. A vertex outside of all tets is
// bound to the nearest one, some of its coordinates are then negative, and it follows the affine
// motion of that tet. Which tet it is depends on the place of the vertex alone: vertices at one
// place stay at one place, so that a watertight surface stays watertight, however its triangles are
// numbered.
#ifndef HK_EMBED_H
#define HK_EMBED_H

#include "mesh/mesh.h"

struct hk_embedding {
    int references;
    int vertex_count;     // of the mesh of tets
    hk_mesh *surface;     // where it was bound, triangles only
    int32_t *corners;     // [surface->vertex_count][4] vertices of the tet
    double *weights;      // [surface->vertex_count][4]
    int outside;          // vertices that lie in no tet,
    double farthest;      // m, the largest distance of one,
    int farthest_vertex;  // and which that is; -1: none
};

// Shares it: freed as often as it was shared and created.
hk_embedding *hk_embedding_share(const hk_embedding *embedding);

#endif
