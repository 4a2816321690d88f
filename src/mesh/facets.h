// Which elements share a facet: the faces of tets, the edges of triangles.
#ifndef HK_FACETS_H
#define HK_FACETS_H

#include "core/base.h"
#include "mesh/sort.h"

// A facet is known by its lowest vertex and the others in order, packed into a key. Facet f of a
// tet mesh is face f % 4 (opposite that corner) of tet f / 4; of a triangle mesh edge f % 3 (from
// that corner to the next) of triangle f / 3.
typedef void hk_facet_fn(const int32_t *elements, int64_t facet, int32_t *low, uint64_t *key);
void hk_tet_face(const int32_t *tets, int64_t facet, int32_t *low, uint64_t *key);
void hk_triangle_edge(const int32_t *triangles, int64_t facet, int32_t *low, uint64_t *key);

// All facets with the same vertices: run[i].item are their numbers, rising.
typedef void hk_run_fn(void *context, int32_t low, const hk_keyed *run, size_t count);

// Visits every run of equal facets once, in the order of (lowest vertex, key). Facets that repeat a
// vertex are left out. Indices must be in range. Linear time, and deterministic.
hk_status hk_visit_facets(int vertex_count, int64_t facet_count, const int32_t *elements,
                          hk_facet_fn *facet, hk_run_fn *visit, void *context);

// The corners of face f of a tet, outward for a tet of positive volume.
extern const int hk_tet_faces[4][3];

#endif
