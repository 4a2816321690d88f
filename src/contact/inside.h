// Vertices inside of other bodies, and where on the surface they belong, by Split's way: hashing
// finds the tet that a vertex is in, which gives its place in the rest shape; the signed distance
// field of that leads to the nearest point of the surface there; and that point, deformed, is it.
#ifndef HK_CONTACT_INSIDE_H
#define HK_CONTACT_INSIDE_H

#include "contact/hash.h"

typedef struct hk_rest_shape {  // of a body, made when something is first found in it
    hk_sdf *sdf;
    struct hk_winding_tree *tree;
    int32_t *triangles;  // [count][3] points
} hk_rest_shape;

typedef struct hk_projection {
    int32_t point[4];  // the vertex, and the triangle where it belongs
    double c[4];       // n · Σ c x is how far it is outside
    double normal[3];  // n, of the triangle as it is deformed
    double friction;
} hk_projection;

typedef struct hk_insides {
    int body_count;
    hk_vertex_hash hash;
    hk_rest_shape *shapes;  // [body_count]
    hk_projection *list;
    size_t count, capacity;
    uint8_t *marked;  // [body_points] whether the soft constraint has it
} hk_insides;

hk_status hk_insides_create(const hk_contacts *contacts, hk_insides **insides);
void hk_insides_free(hk_insides *insides);
// At x, [vertex_count][4], which contacts->x has, too.
hk_status hk_insides_find(const hk_contacts *contacts, const double *x, hk_insides *insides);

// The soft constraint of the penalty law between bodies (QuasiNewton): while a vertex is inside,
// E = ½ κ (width − s)², s = n · Σ c x, with n and c of the state x, beside the slides of friction.
// Pairs of such a vertex do not push.
hk_status hk_insides_add_presses(hk_contacts *contacts, const double *x);
void hk_insides_clear(hk_contacts *contacts);  // there are none

#endif
