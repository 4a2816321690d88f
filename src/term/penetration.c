// Vertices inside obstacles, by the law "spring_damper" (contact/spring_damper.h): a force of place
// and velocity that is no energy's, for methods that take such forces.
#include "term/penetration.h"

typedef struct penetration_term {
    hk_term base;
    hk_spring_damper law;
    hk_vertex_force *force;  // [vertex_count]
    bool *inside;            // [vertex_count]
} penetration_term;

static penetration_term *own(hk_term *term)
{
    return (penetration_term *)term;
}

hk_spring_damper *hk_terms_spring_damper(const hk_terms *terms)
{
    hk_term *term = hk_terms_find(terms, &hk_penetration_term);
    return term ? &own(term)->law : NULL;
}

static bool in_model(const hk_model *m)
{
    return m->contact && m->contact->when == HK_CONTACT_DURING &&
           m->contact->law == HK_CONTACT_SPRING_DAMPER;
}

static void penetration_free(hk_term *term)
{
    hk_spring_damper_release(&own(term)->law);
    hk_free(own(term)->force);
    hk_free(own(term)->inside);
    hk_free(term);
}

static hk_status allocate(const hk_terms *list, penetration_term *t)
{
    HK_TRY(hk_spring_damper_init(list->model, list->threads, &t->law));
    t->force = HK_ZEROS(hk_vertex_force, list->vertex_count);
    t->inside = HK_ZEROS(bool, list->vertex_count);
    return t->force && t->inside ? HK_OK : HK_NO_MEMORY;
}

static hk_status penetration_create(const hk_terms *list, hk_term **term)
{
    penetration_term *t = HK_NEW(penetration_term);
    if (!t) return HK_NO_MEMORY;
    hk_status status = allocate(list, t);
    if (status != HK_OK) {
        penetration_free(&t->base);
        return status;
    }
    *term = &t->base;
    return HK_OK;
}

static hk_status penetration_begin_step(hk_term *term, const hk_step_begin *step)
{
    hk_spring_damper_begin(&own(term)->law, step->pose ? 0 : step->h);
    return HK_OK;
}

static void penetration_place(hk_term *term, const hk_when *when)
{
    hk_spring_damper *law = &own(term)->law;
    law->contacts->status =
        hk_spring_damper_place(law, when->by_fraction, when->fraction, when->time);
}

// No method minimises it.
static bool penetration_active(const hk_term *term)
{
    (void)term;
    return false;
}

static double penetration_energy(hk_term *term, const void *x)
{
    return term->list->precision == HK_SINGLE ? 0 : hk_spring_damper_energy(&own(term)->law, x);
}

static void penetration_visit(hk_term *term, const double *x, const double *ahead,
                              hk_vertex_force_fn *visit, void *context)
{
    penetration_term *t = own(term);
    const hk_contacts *c = t->law.contacts;
    int count = term->list->vertex_count, threads = term->list->threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < count; k++) {
        hk_vertex_force *f = &t->force[k];
        f->vertex = k;
        int64_t at = 4 * (int64_t)k;
        t->inside[k] =
            hk_spring_damper_force(&t->law, c->body_of[k], x + at, ahead ? ahead + at : NULL,
                                   f->force, f->by_place, f->by_velocity);
    }
    for (int k = 0; k < count; k++)
        if (t->inside[k]) visit(context, &t->force[k]);
}

const hk_term_ops hk_penetration_term = {
    .name = "contact by springs and dampers",
    .part = HK_PART_CONTACT,
    .advice = "use linear_implicit",
    .in_model = in_model,
    .create = penetration_create,
    .free = penetration_free,
    .begin_step = penetration_begin_step,
    .place = penetration_place,
    .active = penetration_active,
    .energy = penetration_energy,
    .visit_forces = penetration_visit,
};
