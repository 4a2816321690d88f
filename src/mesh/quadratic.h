// Quadratic tets: four corners and a node in the middle of each edge, N_c = λ_c (2 λ_c − 1) at
// corners and N_ij = 4 λ_i λ_j at the middles.
#ifndef HK_QUADRATIC_H
#define HK_QUADRATIC_H

#include <hooke/quadratic.h>

#include "mesh/mesh.h"

enum { HK_MIDDLES = 6, HK_QUADRATIC_NODES = 10, HK_QUADRATIC_POINTS = 4 };

// The corners of the edges, in the order of the middles (VTK's): 01 12 20 03 13 23.
extern const int hk_tet_edges[HK_MIDDLES][2];
// The middle between two corners of a tet.
int hk_middle_between(int a, int b);

// The rule of four points that is exact for polynomials of degree 2 (of the reference tet; each has
// a quarter of its volume): the products of shape gradients of a tet with straight edges.
typedef struct hk_quadrature_point {
    double barycentric[4];
    double slope[HK_QUADRATIC_NODES][3];  // ∂N_a/∂(λ₁, λ₂, λ₃), with λ₀ = 1 − λ₁ − λ₂ − λ₃
} hk_quadrature_point;
void hk_quadrature(hk_quadrature_point points[HK_QUADRATIC_POINTS]);
void hk_quadratic_slopes(const double barycentric[4], double slope[HK_QUADRATIC_NODES][3]);
// ∂X/∂(λ₁, λ₂, λ₃), columns, of the ten nodes X; returns its determinant (6 × volume where edges
// are straight).
double hk_quadratic_jacobian(const hk_quadrature_point *point,
                             const double *const node[HK_QUADRATIC_NODES], double jacobian[3][3]);
// The volume by that rule, and the least determinant at its points relative to their mean: 1 where
// edges are straight, 0 or less where the tet is folded.
double hk_quadratic_volume(const double *const node[HK_QUADRATIC_NODES], double *least);

// The nodes of a quadratic tet: corners, then middles.
static inline void hk_quadratic_nodes(const int32_t corners[4], const int32_t middles[HK_MIDDLES],
                                      int32_t node[HK_QUADRATIC_NODES])
{
    memcpy(node, corners, 4 * sizeof *node);
    memcpy(node + 4, middles, HK_MIDDLES * sizeof *node);
}

// The four triangles that a face with nodes in the middles of its edges is split into: those at the
// corners a, b, c, then the one in between.
void hk_split_face(const int32_t corner[3], int32_t ab, int32_t bc, int32_t ca,
                   int32_t triangle[4][3]);
// Whether four triangles that follow each other came from such a face; its corners and middles.
bool hk_is_split_face(const int32_t triangle[4][3], int32_t node[6]);

// Whether a mesh has linear and quadratic tets.
bool hk_mesh_is_mixed(const hk_mesh *mesh);
// Fails unless these are six vertices, or none, of every tet.
hk_status hk_check_middles(const hk_mesh *mesh, const char *name, const int32_t *middles);

// Linear tets over the same vertices in the place of quadratic ones, eight for each.
hk_status hk_mesh_split_quadratic(const hk_mesh *mesh, hk_mesh **split);

// After the last two corners of a tet were exchanged.
void hk_turn_middles(int32_t middles[HK_MIDDLES]);

#endif
