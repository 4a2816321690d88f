// Which tet of a mesh a point lies in, or which is the nearest to it. The answer depends on the
// point alone: not on threads, nor on what was asked before.
#ifndef HK_TET_LOCATOR_H
#define HK_TET_LOCATOR_H

#include "mesh/box_tree.h"
#include "mesh/mesh.h"

// All in units of the size of the mesh from its centre, whatever that is: squares and cubes stay in
// range.
typedef struct hk_tet_locator {
    const hk_mesh *mesh;
    double centre[3], size;  // m, half the largest extent
    double *x;               // [vertex_count][3]
    double (*inverse)[9];    // [tet_count] of the edges from corner 0, as columns
    double *height2;         // [tet_count][4] squares of the heights above the faces
    hk_box_tree tree;
    int32_t *sound;  // [sound_count] the tets that are not flat: those that can be found
    int sound_count;
} hk_tet_locator;

// A point this near to a tet, in units, lies in it.
#define HK_TOUCHING 1e-9

// The mesh must outlive it; its indices are in range. Fails where no tet can be found.
hk_status hk_tet_locator_build(hk_tet_locator *locator, const hk_mesh *mesh);
void hk_tet_locator_release(hk_tet_locator *locator);

void hk_tet_locator_to_unit(const hk_tet_locator *locator, const double p[3], double unit[3]);
// The tet that has a point (in units), or the nearest one, and the distance from it in units. Of
// tets that are equally near, as all around an edge are, it is the one that the point is least
// beyond.
double hk_tet_locator_find(const hk_tet_locator *locator, const double p[3], int *tet);
// Barycentric coordinates of a point in a tet that was found: Σ w x is the point to the last
// digits, even where the tet is thin.
void hk_tet_locator_weights(const hk_tet_locator *locator, int tet, const double p[3], double w[4]);

#endif
