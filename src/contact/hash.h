// Which vertices of bodies lie inside of tets of other bodies, by spatial hashing (Teschner et al.
// 2003; Split, section on collisions).
#ifndef HK_CONTACT_HASH_H
#define HK_CONTACT_HASH_H

#include "contact/contacts.h"

typedef struct hk_inside {
    int32_t point;     // of hk_contacts
    int32_t body;      // that it is in
    int32_t tet;       // of the model
    double weight[4];  // barycentric
} hk_inside;

typedef struct hk_vertex_hash {
    double cell;        // m
    uint32_t mask;      // number of buckets − 1
    int32_t *start;     // [mask + 2]
    int32_t *items;     // [body_points] by bucket
    int32_t *cells;     // [body_points][3]
    int32_t *last;      // [body_points] the body in which it was found last; −1
    hk_box *bounds;     // [body_count]
    int32_t *visitors;  // [body_count] bodies whose bounds meet those of the one at hand
    int visitor_count;
    hk_inside *found;
    size_t count, capacity;
} hk_vertex_hash;

hk_status hk_vertex_hash_create(const hk_contacts *contacts, hk_vertex_hash *hash);
void hk_vertex_hash_release(hk_vertex_hash *hash);
// At x, [vertex_count][4], which contacts->x has too; by body and tet. A vertex is found once in
// each body.
hk_status hk_vertex_hash_find(const hk_contacts *contacts, const double *x, hk_vertex_hash *hash);

#endif
