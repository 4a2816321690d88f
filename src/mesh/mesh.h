// The mesh that files, generators and users' arrays become. It knows no physics.
#ifndef HK_MESH_H
#define HK_MESH_H

#include "core/base.h"
#include "core/vector.h"

// A named set of elements, as a physical group of a .msh.
typedef struct hk_group {
    char *name;
    int dimension;  // 3: tets, 2: triangles, 0: vertices
    int32_t count;
    int32_t *items;  // [count] numbers of elements of that dimension, from 0
} hk_group;

struct hk_mesh {
    char *path;  // the file it was read from, or NULL
    int vertex_count;
    double *positions;  // [vertex_count][3] m
    int tet_count;
    int32_t *tets;  // [tet_count][4], positive volume after hk_mesh_finish
    // [tet_count][6] the nodes in the middles of their edges (mesh/quadratic.h), −1 where a tet is
    // linear; NULL: all are. Stored triangles of faces of quadratic tets are four each.
    int32_t *middles;
    int triangle_count;
    int32_t *triangles;  // [triangle_count][3] as stored in the file
    int line_count;
    int32_t *lines;  // [line_count][2] segments of ropes, in the order in which they run on
    int group_count;
    hk_group *groups;
    int field_count;
    hk_field *fields;  // [field_count] values that a file has beside it, with names of their own
    int note_count;
    char **notes;  // [note_count] what was repaired or left out
    // Filled by hk_mesh_finish:
    hk_defect turned;  // tets that were wound the other way
    // Made on demand by hk_mesh_surface:
    int surface_count;
    int32_t *surface;        // [surface_count][3] outward, then sheets; NULL: not made yet
    int32_t *surface_tets;   // [surface_count], −1 for sheets
    hk_defect shared_faces;  // faces of more than two tets, each by its lowest vertex
    // Written by hk_mesh_check; its report points here.
    char verdict[256];
};

// An empty mesh with room for the given counts; positions and elements are cleared.
hk_status hk_mesh_new(int vertex_count, int tet_count, int triangle_count, hk_mesh **mesh);
// Adds a group with `count` items, uninitialised; the name is copied. `*group` is valid until the
// next group is added.
hk_status hk_mesh_add_group(hk_mesh *mesh, const char *name, int dimension, int32_t count,
                            hk_group **group);
// Gives a mesh segments of lines, which are copied.
hk_status hk_mesh_set_lines(hk_mesh *mesh, int count, const int32_t *lines);
// Adds values beside the mesh; the name is copied, the values are taken over where it succeeds.
hk_status hk_mesh_add_field(hk_mesh *mesh, const char *name, hk_field_site site, int components,
                            double *values);
// The group of that name, or NULL.
const hk_group *hk_mesh_find_group(const hk_mesh *mesh, const char *name);
hk_status hk_mesh_add_note(hk_mesh *mesh, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// To be called once by whoever filled a mesh: checks that indices are in range and positions
// finite (names the first offender otherwise), turns tets of negative volume and notes how many.
// `name` (a file's name, say) begins the error messages. Frees nothing on failure.
hk_status hk_mesh_finish(hk_mesh *mesh, const char *name);
hk_status hk_mesh_copy(const hk_mesh *mesh, hk_mesh **copy);
// Scale, then rotate, then translate. A negative scale mirrors through the origin: tets and
// triangles are turned with it, so that volumes stay positive and triangles keep facing outward.
hk_status hk_mesh_transform(hk_mesh *mesh, const hk_transform *transform);

// Marks the stored triangles that are no faces of tets because a corner belongs to none: sheets.
// loose is [triangle_count]; their count is returned through `count`.
hk_status hk_mesh_loose_triangles(const hk_mesh *mesh, uint8_t *loose, int *count);

// A mesh of the triangles of hk_mesh_surface alone, with the vertices that they have, in the order
// in which they come.
hk_status hk_mesh_outside(const hk_mesh *mesh, hk_mesh **outside);

// Fails unless every element and group item names a vertex or element that exists.
hk_status hk_mesh_check_indices(const hk_mesh *mesh, const char *name);
// Counts a defect and keeps its number if it is among the first few.
void hk_defect_add(hk_defect *defect, int64_t number);

// Six times the signed volume of the tet with corners a, b, c, d.
double hk_tet_volume6(const double a[3], const double b[3], const double c[3], const double d[3]);
// 1 for a regular tet, 0 for a flat one, negative for an inverted one, the same at any scale:
// ±12 (3 |V|)^{2/3} / Σ edge². A tet whose corners are all in one place (or not finite) has 0.
double hk_tet_quality(const double a[3], const double b[3], const double c[3], const double d[3]);
// The area, m², and 4√3 area / Σ edge²: 1 for a regular triangle, 0 for one without area (or not
// finite).
double hk_triangle_area(const double a[3], const double b[3], const double c[3]);
double hk_triangle_quality(const double a[3], const double b[3], const double c[3]);

// An order of the vertices along a Morton (z) curve: order[k] is the vertex that comes k-th.
// Coincident vertices keep their order; vertices that are not finite come last.
hk_status hk_morton_order(int count, const double *positions, int32_t *order);

#endif
