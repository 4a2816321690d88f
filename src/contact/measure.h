// What contact and friction do at a state, for reports: how much touches, how near it is, and the
// forces upon bodies and obstacles.
#ifndef HK_CONTACT_MEASURE_H
#define HK_CONTACT_MEASURE_H

#include "contact/contacts.h"

// Of an obstacle: the opposite of what it does to bodies, so that momenta balance to rounding.
typedef struct hk_contact_load {
    double force[3];   // N
    double torque[3];  // N m, about the centre
    double center[3];  // m
} hk_contact_load;

typedef struct hk_contact_measure {
    int64_t pairs;           // that push
    double least_gap;        // m
    double energy;           // J, without friction
    double *force;           // [body_points][3] N, upon the points of bodies
    hk_contact_load *loads;  // [obstacle_count]
} hk_contact_measure;

hk_status hk_contact_measure_create(const hk_contacts *contacts, hk_contact_measure *measure);
void hk_contact_measure_release(hk_contact_measure *measure);
// The middle of the bounds of an obstacle where it was defined; the point of a plane. Centres are
// that, moved along.
void hk_contacts_middle(const hk_contacts *contacts, int obstacle, double middle[3]);
// Nothing pushes; centres are where obstacles are.
void hk_contacts_clear_measure(const hk_contacts *contacts, hk_contact_measure *measure);
// At x, with friction and obstacles as they are.
hk_status hk_contacts_measure(hk_contacts *contacts, const double *x, hk_contact_measure *measure);
// Of a part of a model: adds what the other parts have measured.
void hk_contacts_share_measure(hk_contacts *contacts, hk_contact_measure *measure);

#endif
