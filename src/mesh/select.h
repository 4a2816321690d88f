// Which vertices and tets of a mesh a selector means (see hk_selector).
#ifndef HK_SELECT_H
#define HK_SELECT_H

#include "mesh/mesh.h"

hk_status hk_select_vertices(const hk_mesh *mesh, const hk_selector *selector,
                             uint8_t *chosen);  // [vertex_count] 0 or 1
hk_status hk_select_tets(const hk_mesh *mesh, const hk_selector *selector,
                         uint8_t *chosen);  // [tet_count] 0 or 1

// Fails with `what` and where the vertices are: most boxes that select none were meant for another
// scale or place.
hk_status hk_select_none(const hk_mesh *mesh, const char *what);

#endif
