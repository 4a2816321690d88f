// Contact of one pass of split: bodies go where the solve takes them, forces of contacts that this
// would violate are found beside the factor, and the guard (hk_contacts_walk) has the last word.
//
// A pair with normal n, gap g and displacement u of its closest points against each other since
// the step began asks for n·u ≥ w/2 − g, w the distance at which contact begins, and with Coulomb's
// friction for no sliding: its force f = λ n + t has |t| ≤ μ λ. The forces minimise
//
//   ½ fᵀ N A⁻¹ Nᵀ f − fᵀ r
//
// over these cones (r: what u lacks without them) by steps along projected gradients, scaled by
// the diagonal, each as long as is best along it: one solve each. Forces are kept from step to
// step, so that what lies needs one.
#ifndef HK_SPLIT_CONTACT_H
#define HK_SPLIT_CONTACT_H

#include "contact/sweep.h"
#include "solver/problem.h"

typedef struct hk_split_pair {
    hk_contact contact;
    int32_t unknown[4];  // of its corners, -1: none
    double c[4];
    double n[3];
    double lacks;      // m, that n·u has to be
    double friction;   // μ
    double soft;       // m/N, about what a force moves it by
    double force[3];   // N, on the first side
    double change[3];  // N, of the step that is tried
} hk_split_pair;

typedef struct hk_split_contact {
    hk_contacts *contacts;  // of the contact term; NULL: there is none
    hk_sweep *sweep;
    float *total;    // [free_count][4] displacements, in the units of the elements
    double *target;  // [vertex_count][4] m
    float *soft;     // [free_count] m/N, about (A⁻¹)_vv
    hk_split_pair *pairs;
    size_t count, room;
    int64_t *table;  // [table_size] pairs by hashes; -1: none
    size_t table_size, table_room;
} hk_split_contact;

struct hk_split;
hk_status hk_split_contact_init(struct hk_split *s);
void hk_split_contact_release(struct hk_split *s);
// A is another one.
void hk_split_contact_prepare(struct hk_split *s);
// Adds the forces of the step before to the right-hand side of one from x, which is a good state.
void hk_split_contact_begin(struct hk_split *s, const double *x, float *right);
// From the solution in the vector of the components to that with contact.
hk_status hk_split_contact_solve(struct hk_split *s, const double *x);

#endif
