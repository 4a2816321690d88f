// What the versions of Gmsh's format share: a cursor that reads the same records from text and
// from bytes, the types of elements, and the elements themselves.
#ifndef HK_MSH_H
#define HK_MSH_H

#include "io/collect.h"

hk_status hk_msh_write(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count);

typedef struct hk_msh_entity {
    int first, count;  // its physical groups, in `entity_groups`
} hk_msh_entity;

typedef struct hk_msh {
    hk_scan scan;      // the cursor, in text and in bytes
    const char *data;  // the file's first byte, for offsets in messages
    bool binary, swap;
    bool in_record;  // of text: the next value must stand on this line
    bool wide_ids;   // of bytes: element and node numbers are size_t (4.1), not int (2.2)
    int size_bytes;  // of bytes: of a size_t
    bool has_nodes, has_elements;
    hk_collect collect;
    // Of 4.1: which physical groups the elements of an entity belong to.
    hk_idmap *entity_map;  // of dimension · 2³² + tag
    hk_msh_entity *entities;
    size_t entity_count, entity_capacity;
    int64_t *entity_keys;  // [entity_count]
    size_t key_capacity;
    int *entity_groups;
    size_t entity_group_count, entity_group_capacity;
} hk_msh;

// Fails with "name:line: …" in text, "name: byte N: …" in bytes.
hk_status hk_msh_fail(const hk_msh *msh, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The values of one record stand on one line of a text.
void hk_msh_record(hk_msh *msh);
hk_status hk_msh_record_end(hk_msh *msh);
hk_status hk_msh_int(hk_msh *msh, const char *what, int64_t *value);
hk_status hk_msh_size(hk_msh *msh, const char *what, int64_t *value);
hk_status hk_msh_real(hk_msh *msh, const char *what, double *value);
// Moves past a real that is not needed, whatever it is.
hk_status hk_msh_skip_real(hk_msh *msh, const char *what);
// A count that the rest of the file has room for, of records of so many bytes at least. In bytes
// it is a size_t.
hk_status hk_msh_count(hk_msh *msh, const char *what, size_t text_bytes, size_t binary_bytes,
                       int *count);
// The same for a count that is text in both kinds of file.
hk_status hk_msh_text_count(hk_msh *msh, const char *what, size_t text_bytes, size_t binary_bytes,
                            int *count);
// Whether the rest of the file has room for `count` records.
hk_status hk_msh_room(const hk_msh *msh, const char *what, int64_t count, size_t text_bytes,
                      size_t binary_bytes);

// After the last node: makes the map of their numbers.
hk_status hk_msh_nodes_end(hk_msh *msh);

typedef struct hk_msh_type {
    int nodes;
    hk_element_shape shape;
    bool high_order;
} hk_msh_type;
// An unknown type has 0 nodes and the shape HK_ELEMENT_OTHER.
hk_msh_type hk_msh_type_of(int64_t type);
// The nodes of one element, up to the end of its record; text of an unknown type is skipped.
hk_status hk_msh_element(hk_msh *msh, hk_msh_type type, int group_count, const int *groups);

// Sections, after their first line up to the one that ends them.
hk_status hk_msh_v2_nodes(hk_msh *msh, bool parametric);
hk_status hk_msh_v2_elements(hk_msh *msh);
hk_status hk_msh_v4_entities(hk_msh *msh, bool partitioned);
hk_status hk_msh_v4_nodes(hk_msh *msh);
hk_status hk_msh_v4_elements(hk_msh *msh);

// Gmsh has the last two nodes of a quadratic tet, between corners 2 3 and 1 3, in this order; VTK
// and mesh/quadratic.h have them the other way round.
void hk_msh_exchange_middles(int32_t nodes[10]);

#endif
