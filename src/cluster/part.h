// A model cut into parts, one for each process: which vertices and elements go where, and the way
// of a part to its process. Nothing here knows MPI.
//
// A vertex is owned by one part (METIS, on the graph of elements). An element goes to the owner of
// its first vertex, and is evaluated there alone, so that energies add up without weights; the
// vertices it needs beyond those are the part's ghosts. (Evaluating elements of the border in every
// part that sees them would save adding gradients over processes, but then an element's energy
// would have to be divided among parts, in every term.)
#ifndef HK_CLUSTER_PART_H
#define HK_CLUSTER_PART_H

#include "contact/contacts.h"
#include "core/stream.h"
#include "model/partition.h"
#include "model/model.h"

typedef struct hk_cluster_part {
    hk_model *model;         // of its own elements; masses and constant forces at its own vertices
    hk_partition partition;  // without its functions
    int32_t *owner;          // [vertex_count] Morton order: the part that owns it
    int64_t whole_vertices, whole_tets, whole_triangles;
} hk_cluster_part;

// Fails, with a name, where the model has something that cannot be cut.
hk_status hk_part_check(const hk_model *whole);
// The pieces that hang together, the same for all parts.
typedef struct hk_part_pieces {
    int count, rigid_count;
    hk_partition_piece *pieces;  // [count]
    int32_t *of;                 // [vertex_count]
    bool unheld;
    int64_t free_count;
} hk_part_pieces;
// For hk_part_source_create.
hk_status hk_part_owners(const hk_model *whole, int count, int32_t *owner);
hk_status hk_part_find_pieces(const hk_model *whole, hk_part_pieces *pieces);
void hk_part_pieces_release(hk_part_pieces *pieces);
// What is cut: a model with the owners of its vertices, its pieces, and its surface where it has
// contact.
typedef struct hk_part_source {
    const hk_model *model;
    int32_t *owner;  // [vertex_count]
    hk_part_pieces pieces;
    hk_part_surface *surface;  // NULL: it has no contact
} hk_part_source;
hk_status hk_part_source_create(const hk_model *whole, int count, hk_part_source *source);
void hk_part_source_release(hk_part_source *source);
hk_status hk_part_cut(const hk_part_source *source, int number, hk_cluster_part *part);
// part_contact.c: what cannot be cut, or NULL; which vertices of the whole model a part needs for
// its surface (`local` becomes 0 there); and the surface, with their numbers in the part.
const char *hk_part_contact_unknown(const hk_model *whole);
void hk_part_surface_vertices(const hk_part_source *source, int number, int32_t *local);
hk_status hk_part_take_contact(const hk_part_source *source, int number, const int32_t *local,
                               hk_cluster_part *part);
// Both ways.
void hk_part_stream(hk_stream *stream, hk_cluster_part *part);
void hk_part_release(hk_cluster_part *part);

#endif
