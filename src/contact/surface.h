// The collision surface of a mesh or a model: its triangles, edges and vertices, each with the body
// that it belongs to. Built once; positions come with every question.
//
// Triangles are numbered as hk_mesh_surface does it: the outer faces of the tets, in the order of
// the tets and within a tet in the order of hk_tet_faces, then the triangles of sheets in their own
// order; so those of a body are in one run of each, and messages say "face (12, 5, 8)", its
// vertices. Edges are numbered in the order of (lower vertex, higher vertex), vertices as they are.
#ifndef HK_SURFACE_H
#define HK_SURFACE_H

#include "contact/bvh.h"

typedef struct hk_surface_def {
    int vertex_count;
    int tet_count;
    const int32_t *tets;     // [tet_count][4]
    const int32_t *middles;  // [tet_count][6] of quadratic tets (mesh/quadratic.h), or NULL
    int triangle_count;
    const int32_t *triangles;  // [triangle_count][3] of sheets; faces of tets among them are left
    int line_count;
    const int32_t *lines;   // [line_count][2] of ropes: edges without triangles
    const int32_t *bodies;  // [vertex_count] or NULL: connected components are the bodies,
                            // numbered in the order of their lowest vertices
} hk_surface_def;

typedef struct hk_surface {
    int vertex_count;  // of the mesh, not only of its surface
    int triangle_count;
    int32_t *triangles;       // [triangle_count][3], outward
    int32_t *triangle_tets;   // [triangle_count] the tet behind it, −1: of a sheet
    int32_t *triangle_edges;  // [triangle_count][3] from corner k to the next
    int32_t *numbers;         // [triangle_count] as hk_mesh_surface counts them: more, where a
                              // sheet has a triangle twice
    int repeated;             // triangles with the vertices of an earlier one: left out
    int edge_count;
    int32_t *edges;  // [edge_count][2], rising
    int line_count;
    int32_t *line_edges;  // [line_count] the edge that a line is
    int32_t *bodies;      // [vertex_count]
} hk_surface;

hk_status hk_surface_create(const hk_surface_def *def, hk_surface **surface);
void hk_surface_free(hk_surface *surface);

static inline int32_t hk_triangle_body(const hk_surface *surface, int32_t triangle)
{
    return surface->bodies[surface->triangles[3 * (size_t)triangle]];
}
static inline int32_t hk_edge_body(const hk_surface *surface, int32_t edge)
{
    return surface->bodies[surface->edges[2 * (size_t)edge]];
}

// Whether primitives of m and n vertices have one in common. Most that come here do: no branches.
static inline bool hk_share_vertex(int m, const int32_t *a, int n, const int32_t *b)
{
    int shared = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) shared |= a[i] == b[j];
    return shared;
}

// The boxes around `count` primitives of `corners` vertices at x[vertex_count][3].
void hk_primitive_boxes(const double *x, int count, int corners, const int32_t *primitives,
                        int threads, hk_box *boxes);

#endif
