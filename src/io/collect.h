// Vertices by their numbers in the file, elements of many shapes and tagged groups on their way
// into a mesh. What cannot be simulated is counted and told in the mesh's notes.
#ifndef HK_COLLECT_H
#define HK_COLLECT_H

#include "io/soup.h"

typedef enum hk_element_shape {
    HK_ELEMENT_POINT = 0,
    HK_ELEMENT_LINE,
    HK_ELEMENT_TRIANGLE,
    HK_ELEMENT_QUAD,
    HK_ELEMENT_TET,
    HK_ELEMENT_HEX,
    HK_ELEMENT_PRISM,
    HK_ELEMENT_PYRAMID,
    HK_ELEMENT_OTHER,  // of a type that the reader does not know
    HK_ELEMENT_SHAPES
} hk_element_shape;
int hk_element_dimension(hk_element_shape shape);     // 0 … 3; -1 for HK_ELEMENT_OTHER
int hk_element_corners(hk_element_shape shape);       // 0 for HK_ELEMENT_OTHER
const char *hk_element_name(hk_element_shape shape);  // "tetrahedron"

// A group under construction. What a group of points or lines holds is their vertices.
typedef struct hk_collect_group {
    int dimension;  // of its elements in the file, 0 … 3
    int64_t tag;    // its number in the file
    char *name;     // NULL: its tag after the prefix of its dimension
    int32_t *items;
    size_t count, room;
} hk_collect_group;

typedef struct hk_collect {
    const char *name;  // of the file, for messages
    hk_soup soup;
    int64_t *ids;  // [soup.vertex_count] numbers of the vertices in the file
    size_t id_capacity;
    hk_idmap *vertices;  // made by hk_collect_number
    int64_t left_out[HK_ELEMENT_SHAPES];
    int64_t high_order[HK_ELEMENT_SHAPES];  // read by their corners
    int64_t split_faces;                    // quadratic triangles
    int64_t split_quads;
    char skipped[200];  // parts of the file that are not read
    int64_t merged[4];  // by dimension: elements listed once a group
    hk_collect_group *groups;
    size_t group_count, group_capacity;
    int32_t *group_slots;  // hash of (dimension, tag)
    size_t slot_count;
    const char *prefix[4];  // of unnamed groups, by dimension; NULL: none
    bool drop_lone_groups;  // the only unnamed group of a dimension says nothing
    bool merge_repeats;     // an element is listed once for every group that it belongs to
} hk_collect;

hk_status hk_collect_vertex(hk_collect *collect, int64_t id, const double position[3]);
// After the last vertex. If HK_BAD_INPUT, *duplicate is the place of a number used twice.
hk_status hk_collect_number(hk_collect *collect, int *duplicate);
// The vertex of that number in the file, -1 if there is none.
static inline int hk_collect_find(const hk_collect *collect, int64_t id)
{
    return hk_idmap_find(collect->vertices, id);
}
// " 1 to 8" or so: what numbers vertices have, for messages about unknown ones.
void hk_collect_id_range(const hk_collect *collect, int64_t *least, int64_t *most);

// Finds or makes the group of that tag.
hk_status hk_collect_group_of(hk_collect *collect, int dimension, int64_t tag, int *group);
hk_status hk_collect_name_group(hk_collect *collect, int group, const char *name, size_t length);
hk_status hk_collect_join(hk_collect *collect, int group, int32_t item);
// Corners are vertices (not their numbers in the file). `groups` are of the shape's dimension.
hk_status hk_collect_element(hk_collect *collect, hk_element_shape shape, bool high_order,
                             const int32_t *corners, int group_count, const int *groups);

// A quadratic tet, ten nodes in the order of mesh/quadratic.h, or triangle, six.
hk_status hk_collect_quadratic(hk_collect *collect, hk_element_shape shape, const int32_t *nodes,
                               int group_count, const int *groups);

// A section or keyword that is not read, for a note. Repeated ones are told once.
void hk_collect_skipped(hk_collect *collect, const char *word, size_t length);

// The mesh with its groups (tets first, then by tag) and notes. Fails if there is nothing to
// simulate: no element, or volume elements of which none is a tetrahedron.
hk_status hk_collect_mesh(hk_collect *collect, hk_mesh **mesh);
void hk_collect_free(hk_collect *collect);

#endif
