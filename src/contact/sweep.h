// Which parts of surfaces can meet on straight ways from one state to another, for a method that
// goes there in one step (split): bodies that are near nothing cost a pass over their points.
//
// Every point has a box around its way, with a margin, and a body the box around these. Where boxes
// of bodies, and of obstacles, overlap, their parts are looked for with the trees of patches.h; of
// what is found the pairs that are too far from each other for their ways are left out. Pairs of
// one body are known beforehand: as long as no point is farther than ρ from where the body as a
// rigid one would have it, turned by at most θ within the step, only those can meet that were
// nearer to each other than 2ρ/cos(θ/2) when the list was made (sweep_self.c).
#ifndef HK_SWEEP_H
#define HK_SWEEP_H

#include "contact/contacts.h"

typedef struct hk_sweep hk_sweep;

typedef struct hk_sweep_pair {
    hk_way_pair way;
    int32_t sides[2];
    double width;     // m, at which contact begins
    double c[4];      // of the closest points …
    double n[3];      // … from the second to the first, unit
    double distance;  // m, between them; the gap is less by the thickness
    // Of those that are searched for forces: when on the way they meet, or 1, with closest points
    // and normal as they are then, the distance along that normal where the way begins, and by how
    // much it shrinks on all of the way, m.
    double time, nearer;
} hk_sweep_pair;

hk_status hk_sweep_create(hk_contacts *contacts, hk_sweep **sweep);
void hk_sweep_free(hk_sweep *sweep);
// Takes x, double[vertex_count][4], into contacts->x.
void hk_sweep_take(hk_sweep *sweep, const double *x);
// The pairs on ways from there to about `to`.
hk_status hk_sweep_find(hk_sweep *sweep, const double *to);
const hk_sweep_pair *hk_sweep_pairs(const hk_sweep *sweep, size_t *count);
// Where on ways from contacts->x by `move` a pair meets, or how near it is at the end (time, c, n,
// distance, nearer); false: it does not come nearer than is looked after.
bool hk_sweep_meet(const hk_contacts *contacts, const double move[4][3], hk_sweep_pair *pair);
// Whether nothing beside the closest points of a pair is nearer to the other side, at that time of
// ways by contacts->move: else the contact is one of others.
bool hk_sweep_is_nearest(const hk_sweep *sweep, const hk_sweep_pair *pair, double time);
// Closest points of a pair at contacts->x; false: they coincide.
bool hk_sweep_measure(const hk_contacts *contacts, hk_sweep_pair *pair);
// Takes x towards `to`, each vertex as far as it may go by itself.
hk_status hk_sweep_walk(hk_sweep *sweep, double *x, const double *to);
#endif
