// Where a slide is at contacts->x.
#ifndef HK_CONTACT_SLIDE_H
#define HK_CONTACT_SLIDE_H

#include "contact/contacts.h"

// What has slid across the normal; returns what of it brings the two nearer (friction_slide).
static inline double slide_of(const hk_contacts *c, const hk_slide *s, double slide[3])
{
    double x[4][3], from[4][3];
    hk_contact_corners(c->x, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    return friction_slide(&s->friction, (const double(*)[3])x, (const double(*)[3])from, slide);
}

// What a press still lacks, m.
static inline double slide_missing(const hk_contacts *c, const hk_slide *s)
{
    double x[4][3], from[4][3];
    hk_contact_corners(c->x, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    return press_missing(&s->friction, (const double(*)[3])x, (const double(*)[3])from);
}

#endif
