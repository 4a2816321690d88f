// Which parts of surfaces can meet on straight ways from one state to another, for a method that
// goes there in one step (split): bodies that are near nothing cost a pass over their points.
//
// Every point has a box around its way, with a margin, and a body the box around these. Parts of
// different bodies, and of obstacles, are looked for where boxes of bodies overlap, with the boxes
// of edges and triangles in a tree. Pairs of one body are known beforehand: as long as no point is
// farther than ρ from where the body as a rigid one would have it, turned by at most θ within the
// step, only those can meet that were nearer to each other than 2ρ/cos(θ/2) when the list was made.
#ifndef HK_SWEEP_H
#define HK_SWEEP_H

#include "contact/contacts.h"

typedef struct hk_sweep hk_sweep;

hk_status hk_sweep_create(hk_contacts *contacts, hk_sweep **sweep);
void hk_sweep_free(hk_sweep *sweep);
// The pairs on ways from x to about `to`, double[vertex_count][4], into contacts->list, and x into
// contacts->x. The list is that of no state: others detect theirs anew.
hk_status hk_sweep_find(hk_sweep *sweep, const double *x, const double *to);
// Takes x towards `to`, each vertex as far as it may go by itself, within the margins of the ways
// that pairs were found for.
hk_status hk_sweep_walk(hk_sweep *sweep, double *x, const double *to);

#endif
