// Contact and friction (src/contact): always in double precision, whatever the list has. A list in
// single precision has the term for its place alone.
#include <math.h>
#include <stdio.h>

#include "contact/contacts.h"
#include "term/terms.h"

typedef struct contact_term {
    hk_term base;
    hk_contacts *contacts;  // NULL in single precision
} contact_term;

static hk_contacts *contacts_of(const hk_term *term)
{
    return ((const contact_term *)term)->contacts;
}

static bool in_model(const hk_model *m)
{
    return m->contact && m->contact->when == HK_CONTACT_DURING;
}

static void contact_free(hk_term *term)
{
    hk_contacts_free(contacts_of(term));
    hk_free(term);
}

static hk_status contact_create(const hk_terms *list, hk_term **term)
{
    contact_term *t = HK_NEW(contact_term);
    if (!t) return HK_NO_MEMORY;
    hk_status status = HK_OK;
    if (list->precision != HK_SINGLE)
        status = hk_contacts_create(list->model, list->threads, &t->contacts);
    if (status != HK_OK) {
        hk_free(t);
        return status;
    }
    *term = &t->base;
    return HK_OK;
}

static bool contact_active(const hk_term *term)
{
    return contacts_of(term) != NULL;
}

// ---------------------------------------------------------------- events

// Friction is that of the state before the step, with obstacles where they were then.
static hk_status contact_begin_step(hk_term *term, const hk_step_begin *step)
{
    hk_contacts *c = contacts_of(term);
    if (!c) return HK_OK;
    c->status = HK_OK;
    hk_contacts_end_friction(c);
    if (step->pose) return HK_OK;
    if (c->direct) {
        hk_contacts_keep(c, step->state);
        memcpy(c->from, c->kept, 3 * sizeof(double) * (size_t)c->point_count);
        return HK_OK;
    }
    return hk_contacts_begin_friction(c, step->state, step->h);
}

static void contact_place(hk_term *term, const hk_when *when)
{
    hk_contacts *c = contacts_of(term);
    if (c) c->status = hk_contacts_place(c, when->by_fraction, when->fraction, when->time);
}

// ---------------------------------------------------------------- the energy

static double contact_energy(hk_term *term, const void *x)
{
    hk_contacts *c = contacts_of(term);
    return c ? hk_contacts_energy(c, x) : 0;
}

static void contact_add_gradient(hk_term *term, const void *x, void *gradient, double *energy)
{
    hk_contacts_add_gradient(contacts_of(term), x, gradient, energy);
}

static void contact_add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    hk_contacts_add_diagonal(contacts_of(term), x, diagonal);
}

static void contact_visit_blocks(hk_term *term, const double *x, double keep, hk_block_fn *visit,
                                 void *context)
{
    if (contacts_of(term)) hk_contacts_visit_blocks(contacts_of(term), x, keep, visit, context);
}

typedef struct stencil_visit {
    hk_stencil_fn *visit;
    void *context;
} stencil_visit;

static void visit_vertices(void *context, const int32_t *vertices, int count)
{
    const stencil_visit *v = context;
    hk_stencil stencil = {.vertex = vertices, .count = count};
    v->visit(v->context, &stencil);
}

static void contact_moving_stencils(const hk_term *term, hk_stencil_fn *visit, void *context)
{
    stencil_visit v = {visit, context};
    if (contacts_of(term)) hk_contacts_visit_vertices(contacts_of(term), visit_vertices, &v);
}

static void contact_visit_rows(hk_term *term, const double *x, hk_contact_row_fn *visit,
                               void *context)
{
    if (contacts_of(term)) hk_contacts_visit_rows(contacts_of(term), x, visit, context);
}

static int64_t contact_version(const hk_term *term)
{
    return contacts_of(term) ? contacts_of(term)->version : 0;
}

// ---------------------------------------------------------------- the guard

static hk_status contact_check(hk_term *term, const double *x)
{
    return hk_contacts_check(contacts_of(term), x);
}

static double contact_limit(hk_term *term, const double *x, const double *step, double length)
{
    hk_contacts *c = contacts_of(term);
    return c ? hk_contacts_limit(c, x, step, length) : length;
}

static bool contact_walk(hk_term *term, double *x, const double *to)
{
    return hk_contacts_walk(contacts_of(term), x, to);
}

static void contact_keep(hk_term *term, const double *x)
{
    hk_contacts_keep(contacts_of(term), x);
}

static bool contact_passes(hk_term *term, const double *x)
{
    return hk_contacts_passes(contacts_of(term), x);
}

// Friction by the forces that the last solve found.
static bool contact_again(hk_term *term, const double *x, int solves)
{
    hk_contacts *c = contacts_of(term);
    if (!(c->step > 0) || solves > c->settings->friction_passes) return false;
    c->status = hk_contacts_renew_friction(c, x);
    return c->status == HK_OK && c->slide_count > 0;
}

static const hk_guard_ops g_guard = {.check = contact_check,
                                     .limit = contact_limit,
                                     .walk = contact_walk,
                                     .keep = contact_keep,
                                     .passes = contact_passes,
                                     .again = contact_again};

const hk_term_ops hk_contact_term = {
    .name = "contact",
    .part = HK_PART_CONTACT,
    .of_displacement = true,
    .advice = "use newton, quasi_newton, projective, admm, split, lbfgs, nonlinear_cg or "
              "gradient_descent",
    .in_model = in_model,
    .create = contact_create,
    .free = contact_free,
    .begin_step = contact_begin_step,
    .place = contact_place,
    .active = contact_active,
    .energy = contact_energy,
    .add_gradient = contact_add_gradient,
    .add_diagonal = contact_add_diagonal,
    .visit_blocks = contact_visit_blocks,
    .moving_stencils = contact_moving_stencils,
    .version = contact_version,
    .visit_rows = contact_visit_rows,
    .guard = &g_guard,
};

hk_contacts *hk_terms_contacts(const hk_terms *terms)
{
    const hk_term *term = hk_terms_find(terms, &hk_contact_term);
    return term ? contacts_of(term) : NULL;
}
