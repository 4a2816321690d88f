// Starts that overlap, pushed apart.
//
// While contacts recover there is no guard, pairs of sides that are tangled do not repel each
// other, and all others do so by the penalty law. In place of friction every step has presses: for
// two sides that are tangled all vertices of one that are inside the other are moved in one
// direction, the one in which the overlap shrinks fastest (the sum of the outward areas within it,
// Allard et al. 2010), by a part of its extent. Vertices that go each to the nearest surface would
// tear what is deep inside in two.
#ifndef HK_RECOVER_H
#define HK_RECOVER_H

#include "contact/contacts.h"

typedef struct hk_tangle {  // two sides, and something of each that is in the other
    int32_t sides[2];       // the lower first, which is a body
    int32_t items[2];       // triangles; or a point, and −1
    double out[3];          // m², of an obstacle without triangles: the way out of it
    double depth;           // m, likewise; negative: it is that far from it, and near
} hk_tangle;

typedef struct hk_recovery {
    hk_tangle *tangles;  // [count] by sides
    size_t count, capacity;
    int64_t *keys;  // [key_count] of pairs of sides that are tangled, rising
    size_t key_count, key_capacity;
    double *normal;      // [point_count][3] m², outward
    int32_t *inside[2];  // [point_count] workspace
    uint8_t *marked;     // [point_count] workspace
    double *depth;       // [point_count] m, of the points in inside[0]; INFINITY: it is not known
} hk_recovery;

// From now on contacts are those of recovery.
hk_status hk_contacts_begin_recovery(hk_contacts *contacts);
// It is over, done or not.
void hk_contacts_end_recovery(hk_contacts *contacts);
void hk_recovery_free(hk_recovery *recovery);

// The presses of a step from x, into contacts->slides.
hk_status hk_contacts_find_presses(hk_contacts *contacts, const double *x);
// Whether two sides, or a body and anything, were tangled when presses were last found.
bool hk_contacts_tangled(const hk_contacts *contacts, int a, int b);
bool hk_contacts_body_tangled(const hk_contacts *contacts, int body);

#endif
