// Models whose bodies are torn: vertices come apart along the borders of elements. Elements keep
// their numbers, materials and shapes at rest; what hangs on a vertex goes with its elements.
#ifndef HK_MODEL_SPLIT_H
#define HK_MODEL_SPLIT_H

#include "model/model.h"

// Which elements share a facet, and what has come apart: neighbours across a torn facet are none.
typedef struct hk_adjacency {
    int tet_count, triangle_count;
    int32_t *tet;       // [tet_count][4] behind the face opposite a corner; -1: none
    int32_t *triangle;  // [triangle_count][3] behind the edge from a corner to the next; -1: none
} hk_adjacency;

// Of an untorn model. Fails where an edge of a sheet has more than two triangles.
hk_status hk_adjacency_make(const hk_model *model, hk_adjacency *adjacency);
void hk_adjacency_release(hk_adjacency *adjacency);
hk_status hk_adjacency_copy(const hk_adjacency *from, hk_adjacency *to);
// Tears a facet: both sides have no neighbour there any more. False: there was none.
bool hk_adjacency_tear_tet(hk_adjacency *adjacency, int tet, int face);
bool hk_adjacency_tear_triangle(hk_adjacency *adjacency, int triangle, int edge);

// How the vertices of a model come apart. Corners that are new are numbered from the model's
// vertex_count on.
typedef struct hk_splitting {
    int extra_count;
    int32_t *origin;     // [extra_count] the vertex of the model that it comes from; body by body
    int32_t *tets;       // [tet_count][4]
    int32_t *triangles;  // [triangle_count][3]
} hk_splitting;

// The vertices around which elements hang together by no facet any more, of those that are marked
// [vertex_count]: the part with the lowest element keeps the vertex, every other one has a new one.
hk_status hk_model_find_splitting(const hk_model *model, const hk_adjacency *adjacency,
                                  const uint8_t *marked, hk_splitting *splitting);
void hk_splitting_release(hk_splitting *splitting);

// A model with these vertices apart. Masses are those of the elements; loads and attachments are
// divided among the vertices that come from one by their masses, holds are those of it; springs,
// seams, pressures, winds, users' terms and skins go with the element that they lie in. Gas
// escapes from a surface that is torn open. `from` is [vertex_count of the torn model], the vertex
// that each comes from, and the caller's to free.
hk_status hk_model_split(const hk_model *model, const hk_splitting *splitting, hk_model **torn,
                         int32_t **from);

// How far vertices that come from one are drawn back into their own elements, which lie at x
// [vertex_count][3], each by `part` of its mean edge, or by so many metres; 0 at others, held ones
// among them. `from` is that of the model.
hk_status hk_model_draw_back(const hk_model *torn, const int32_t *from, int from_count,
                             const double *x, double part, double metres, double *by);

// ---- what follows the elements (split_follow.c)
typedef struct hk_follower {
    const hk_model *model;  // before
    const hk_splitting *splitting;
    int32_t *number;        // [vertex_count + extra_count] in the torn model
    uint8_t *apart;         // [vertex_count] it has new ones
    int32_t *start, *list;  // the elements of every vertex: tets, then triangles
} hk_follower;
hk_status hk_follower_make(const hk_model *model, const hk_splitting *splitting, hk_follower *f);
void hk_follower_release(hk_follower *f);
// Vertices of one element where there is one that has them all, else those that kept their place.
void hk_follow(const hk_follower *f, int count, const int32_t *vertices, int32_t *to);
// Conditions, springs between points, users' terms, groups and skins of the torn model, which has
// those of the model yet. share[torn vertex] is its part of the mass.
hk_status hk_follow_all(const hk_follower *f, const double *share, const int32_t *from,
                        hk_model *torn);

#endif
