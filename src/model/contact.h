// What a model knows of contact: settings, obstacles, and what every pair of bodies or obstacles
// has of its own. Immutable, checked, with defaults filled in.
#ifndef HK_MODEL_CONTACT_H
#define HK_MODEL_CONTACT_H

#include "contact/law.h"
#include "contact/obstacle.h"
#include "model/model.h"

// Bodies and obstacles are sides of a contact: bodies first, obstacle k is body_count + k.
typedef struct hk_contact_side {
    double friction;  // its own; NAN: none
    int32_t kind;     // sides that the entries of `between` do not tell apart have the same
} hk_contact_side;

typedef struct hk_contact_body {
    double young;      // Pa, of its softest material; of a sheet stretch / edge
    double edge;       // m, mean length of the edges of its surface at rest
    double diagonal;   // m, of its bounds at rest
    double thickness;  // m, of a sheet, half of it on either side; of a rope its diameter
    double mass;       // kg
} hk_contact_body;

struct hk_model_contact {
    double distance;        // m, d̂: given, or chosen
    double given_distance;  // m; 0: chosen from the rest shape, again when that changes
    double stiffness;       // Pa, E_c; 0: that of the softer body (hk_contact_modulus),
    double hardest;         // Pa, but no more than this
    double friction;        // where neither side has its own
    double slip_speed;      // m/s: given, or chosen
    double given_slip;      // m/s; 0: chosen from the rest shape, as the distance is
    double restitution;     // -
    double damping_ratio;   // -, of the skin under a block as heavy as the bodies (damping.h)
    double normal_stiffness, normal_damping, drag;  // N/m, N s/m, N s/m² (spring_damper.h)
    int friction_passes;
    bool self, certify;
    hk_contact_law law;
    hk_overlap overlap;
    hk_contact_when when;
    int body_count;
    hk_contact_body *bodies;  // [body_count]
    int obstacle_count;
    hk_obstacle *obstacles;  // [obstacle_count]
    hk_contact_side *sides;  // [body_count + obstacle_count]
    int kind_count;
    // [kind_count][kind_count] friction of two kinds; NAN: by the sides' own; negative: they pass
    // through each other.
    double *between;
};

// From the definitions of a model whose bodies are built; leaves NULL where there is no contact.
hk_status hk_model_take_contact(const hk_model_def *def, hk_model *model);
// Young's moduli, sizes and the distance after rest positions or materials have changed.
hk_status hk_model_measure_contact(hk_model *model);
hk_status hk_model_contact_copy(const hk_model_contact *from, hk_model_contact **copy);
void hk_model_contact_free(hk_model_contact *contact);

static inline double hk_contact_entry(const hk_model_contact *c, int a, int b)
{
    return c->between[(size_t)c->sides[a].kind * (size_t)c->kind_count + (size_t)c->sides[b].kind];
}

// Whether sides a and b can touch; a body with itself (a = b) only where `self` is on.
static inline bool hk_contact_touches(const hk_model_contact *c, int a, int b)
{
    return !(hk_contact_entry(c, a, b) < 0) && (a != b || c->self);
}

// m, by which a side is thicker than its surface.
static inline double hk_contact_radius(const hk_model_contact *c, int side)
{
    return side < c->body_count ? c->bodies[side].thickness / 2
                                : c->obstacles[side - c->body_count].radius;
}

// Whether a name of `between` means a body or obstacle: it is its name, or ends in * and is a
// beginning of it.
bool hk_contact_name_matches(const char *pattern, const char *name);
// Coulomb's coefficient between two sides that touch.
double hk_contact_friction(const hk_model_contact *contact, int a, int b);
// E_c between two sides, Pa.
double hk_contact_modulus(const hk_model_contact *contact, int a, int b);
// How stiff the skin between two sides is for their mass: rad/s of a flat block on it.
double hk_contact_frequency(const hk_model_contact *contact, int a, int b);
// The least of those of a body with anything.
double hk_contact_slowest(const hk_model_contact *contact, int body);

#endif
