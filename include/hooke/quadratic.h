/* Meshes of quadratic tets. A part of hooke.h, which includes it. */
#ifndef HOOKE_QUADRATIC_H
#define HOOKE_QUADRATIC_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tets are linear (order 1, four corners) or quadratic (order 2, and a node in the middle of each
 * edge, which bends as far as quadratic functions do: `docs/accuracy.md`). Files that hold
 * quadratic ones give such a mesh. Setting the order adds nodes on straight edges, for all tets,
 * groups and values at vertices, or takes those that are no corners away. A mesh for which memory
 * ran out on the way is only good to be freed. */
HK_API hk_status hk_mesh_set_order(hk_mesh *mesh, int order);
HK_API int hk_mesh_order(const hk_mesh *mesh); /* 2 if some of its tets are quadratic */
/* [tet_count][6] the nodes between corners 01 12 20 03 13 23, of vertices of the mesh; NULL where
 * all tets are linear, -1 for those that are. */
HK_API const int32_t *hk_mesh_middles(const hk_mesh *mesh);
HK_API hk_status hk_mesh_set_middles(hk_mesh *mesh, const int32_t *middles);

#ifdef __cplusplus
}
#endif

#endif
