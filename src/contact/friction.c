// Friction and damping of a step: Coulomb's, with forces and directions of a state before (Li et
// al. 2020).
#include <math.h>

#include "contact/damping.h"
#include "contact/field.h"
#include "contact/inside.h"
#include "contact/quick.h"
#include "contact/recover.h"
#include "contact/touches.h"

// The longest slip up to which friction sticks, of the contact distance. Where edges of bodies lie
// upon each other, they slip off sideways with a force λ/d for every metre: friction must be
// stiffer than that, 2 μ λ/slip, or blocks that stand upon blocks of the same shape are not stable.
#define LONGEST_SLIP 0.1

// What resists that a contact is compressed, N/m: κ τ/h, with κ the stiffness that has made its
// force so far.
static double damping_of(const hk_contacts *c, const hk_contact *k, double distance, double force)
{
    const hk_model_contact *s = c->settings;
    double frequency = hk_contact_frequency(s, k->sides[0], k->sides[1]);
    double time = contact_damping_time(s->damping_ratio, frequency, c->step);
    double depth = k->pair.width - (distance - k->pair.thickness);
    return depth > 0 ? force / depth * time / c->step : 0;
}

// Whether any two sides have a skin that is to be damped in such a step.
static bool is_damped(const hk_contacts *c)
{
    const hk_model_contact *s = c->settings;
    double least = INFINITY;
    for (int b = 0; b < s->body_count; b++) least = fmin(least, hk_contact_slowest(s, b));
    return c->euler && contact_damping_time(s->damping_ratio, least, c->step) > 0;
}

// N, the most that friction of a contact can be; and what make_slide needs besides.
static double most_friction(const hk_contacts *c, const hk_contact *k, double *force,
                            quick_part *whole)
{
    double x[4][3];
    hk_contact_corners(c->x, k->point, x);
    *force = quick_force(&k->pair, (const double(*)[3])x, whole);
    if (!(*force > 0) || !isfinite(*force)) *force = 0;
    return hk_contact_friction(c->settings, k->sides[0], k->sides[1]) * *force;
}

static bool make_slide(const hk_contacts *c, const hk_contact *k, double slip, hk_slide *to)
{
    double force;
    quick_part whole;
    if (!(hk_contact_friction(c->settings, k->sides[0], k->sides[1]) > 0) && !c->damped)
        return false;
    to->friction.most = most_friction(c, k, &force, &whole);
    if (force == 0) return false;
    to->friction.slip = slip;
    to->friction.damping = c->damped ? damping_of(c, k, whole.distance, force) : 0;
    if (!(to->friction.most > 0) && !(to->friction.damping > 0)) return false;
    memcpy(to->point, k->point, sizeof to->point);
    memcpy(to->sides, k->sides, sizeof to->sides);
    to->press = false;
    memcpy(to->friction.c, whole.c, sizeof to->friction.c);
    for (int i = 0; i < 3; i++) to->friction.normal[i] = whole.w[i] / whole.distance;
    return true;
}

// Those of all contacts, in their order.
static void make_slides(hk_contacts *c, double slip)
{
    double nearer = hk_contacts_nearer(c);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < c->count; k++) {
        bool slides =
            !hk_contacts_apart(c, k, nearer) && make_slide(c, &c->list[k], slip, &c->slides[k]);
        c->slides[k].contact = slides ? k : SIZE_MAX;
    }
    for (size_t k = 0; k < c->count; k++)
        if (c->slides[k].contact == k) c->slides[c->slide_count++] = c->slides[k];
    c->listed_slides = c->slide_count;
    c->slide_version = c->version;
}

bool hk_contacts_meet(hk_contacts *c, const double *x)
{
    double known = 0, most = 0, force;
    quick_part whole;
    for (size_t k = 0; k < c->slide_count; k++) known += c->slides[k].friction.most;
    c->status = hk_contacts_see(c, x);
    double nearer = hk_contacts_nearer(c);
    for (size_t k = 0; k < c->count && c->status == HK_OK; k++)
        if (!hk_contacts_apart(c, k, nearer)) most += most_friction(c, &c->list[k], &force, &whole);
    return most > 2 * known;
}

void hk_contacts_end_friction(hk_contacts *c)
{
    c->slide_count = c->listed_slides = 0;
    c->slide_rounds++;
    c->expected_count = 0;
    c->step = 0;
    if (c->insides) hk_insides_clear(c);
}

hk_status hk_contacts_begin_friction(hk_contacts *c, const double *x, double step, bool euler)
{
    c->step = step;
    c->euler = euler;
    c->damped = is_damped(c);
    hk_contacts_gather(c, x);
    memcpy(c->from, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    return hk_contacts_renew_friction(c, x);
}

hk_status hk_contacts_renew_friction(hk_contacts *c, const double *x)
{
    double slip = fmin(c->settings->slip_speed * c->step, LONGEST_SLIP * c->settings->distance);
    c->slide_rounds++;
    if (c->recovery) return hk_contacts_find_presses(c, x);
    c->slide_count = c->listed_slides = 0;
    HK_TRY(hk_contacts_see(c, x));
    HK_TRY(hk_reserve((void **)&c->slides, 0, sizeof *c->slides, &c->slide_capacity, c->count));
    make_slides(c, slip);
    if (c->fields) HK_TRY(hk_fields_add_slides(c, slip));
    bool soft = c->settings->law == HK_CONTACT_PENALTY && c->settings->body_count > 1;
    if (soft) HK_TRY(hk_insides_add_presses(c, x));
    return hk_contact_uses_fill(&c->slide_uses, c->body_points, c->slides, sizeof *c->slides,
                                c->slide_count);
}
