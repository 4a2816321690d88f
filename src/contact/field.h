// Signed distances from obstacles, and the soft constraint that is made of them.
//
// Planes, spheres and capsules have theirs in closed form, all others a field of cubic splines
// (sdf.h) in the frame in which they were defined. With the penalty law vertices are kept out of
// the latter by
//
//   E = κ ½ (width − φ(x))²  where φ < width,  κ = A E_c/width,
//
// for a vertex that is deep inside knows from φ which way is out, and pairs of a vertex and a
// triangle do not. Energy, gradient and Hessian are those of one function within the band of the
// field, and a direction and a bound beyond it.
#ifndef HK_FIELD_H
#define HK_FIELD_H

#include "contact/contacts.h"

// Fields of the obstacles that have triangles; nothing where they are there already.
hk_status hk_contacts_make_fields(hk_contacts *contacts);
void hk_fields_free(hk_sdf **fields, int count);

// The distance of a point from an obstacle where it is now, m, its gradient and (unless that is
// NULL) its Hessian, 1/m.
double hk_contacts_distance(const hk_contacts *contacts, int obstacle, const double x[3],
                            double gradient[3], double *hessian);
// Whether a side is an obstacle that vertices meet by its field, and not by pairs.
static inline bool hk_contacts_by_field(const hk_contacts *c, int side)
{
    int o = side - c->settings->body_count;
    return c->fields && o >= 0 && c->fields[o] && c->settings->law == HK_CONTACT_PENALTY;
}

// A vertex that touches a field.
typedef struct hk_field_contact {
    int32_t point, obstacle;
    double distance;    // m
    double normal[3];   // the gradient
    double hessian[9];  // 1/m
    double stiffness;   // N/m
} hk_field_contact;
typedef void hk_field_fn(void *context, const hk_field_contact *at);
// All of them at contacts->x, one after the other.
void hk_contacts_visit_fields(const hk_contacts *contacts, bool hessians, hk_field_fn *visit,
                              void *context);

// ---- the energy at contacts->x
double hk_fields_energy(const hk_contacts *contacts);
void hk_fields_add_gradient(const hk_contacts *contacts, double *gradient);  // [vertex_count][4]
void hk_fields_visit_blocks(const hk_contacts *contacts, double keep, hk_contact_block_fn *visit,
                            void *context);
// Slides of friction beside those that there are.
hk_status hk_fields_add_slides(hk_contacts *contacts, double slip);

#endif
