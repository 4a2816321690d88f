// Contact and friction (src/contact): always in double precision, whatever the list has. The term
// of a list in single precision has the contacts of the one in double.
#include <math.h>
#include <stdio.h>

#include "term/contact.h"

#include "contact/touches.h"

typedef struct contact_term {
    hk_term base;
    hk_contacts *contacts;  // borrowed in single precision; NULL there: not yet
    bool guided;            // by regions (hk_region_ops)
    bool paused;
} contact_term;

static contact_term *own(hk_term *term)
{
    return (contact_term *)term;
}

static hk_contacts *contacts_of(const hk_term *term)
{
    return ((const contact_term *)term)->contacts;
}

hk_contacts *hk_terms_contacts(const hk_terms *terms)
{
    const hk_term *term = hk_terms_find(terms, &hk_contact_term);
    return term ? contacts_of(term) : NULL;
}

static bool in_model(const hk_model *m)
{
    return m->contact && m->contact->when == HK_CONTACT_DURING &&
           m->contact->law != HK_CONTACT_SPRING_DAMPER;
}

static bool is_single(const hk_term *term)
{
    return term->list->precision == HK_SINGLE;
}

static hk_places places_of(const hk_term *term, const void *x)
{
    return (hk_places){(void *)x, is_single(term) ? term->list->frame->base : NULL};
}

static void contact_free(hk_term *term)
{
    if (!is_single(term)) hk_contacts_free(contacts_of(term));
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

static hk_status contact_follow(hk_term *term, const hk_term *from)
{
    own(term)->contacts = contacts_of(from);
    return HK_OK;
}

static bool contact_active(const hk_term *term)
{
    const contact_term *t = (const contact_term *)term;
    return t->contacts && !t->paused && (t->guided || !is_single(term));
}

// ---------------------------------------------------------------- events

// Friction is that of the state before the step, with obstacles where they were then.
static hk_status contact_begin_step(hk_term *term, const hk_step_begin *step)
{
    hk_contacts *c = contacts_of(term);
    if (!c) return HK_OK;
    c->status = HK_OK;
    c->pushed = false;
    hk_contacts_end_friction(c);
    hk_contacts_count_as(c, step->pose ? 1 : step->contact);
    if (step->pose) return HK_OK;
    if (c->direct) {
        hk_contacts_keep(c, step->state);
        memcpy(c->from, c->kept, 3 * sizeof(double) * (size_t)c->point_count);
        return HK_OK;
    }
    size_t bytes = 4 * sizeof(double) * (size_t)c->model->vertex_count;
    bool euler = memcmp(step->from, step->state, bytes) == 0;
    euler = hk_partition_all(c->model->partition, euler);
    return hk_contacts_begin_friction(c, step->state, step->h, euler);
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
    if (!own(term)->guided) {
        hk_contacts_add_gradient(contacts_of(term), x, gradient, energy);
        return;
    }
    hk_places at = places_of(term, x);
    if (energy) *energy = hk_touches_energy(contacts_of(term), &at);
    hk_touches_add_gradient(contacts_of(term), &at, gradient);
}

static void contact_add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    if (!own(term)->guided) hk_contacts_add_diagonal(contacts_of(term), x, diagonal);
}

static void contact_visit_blocks(hk_term *term, const double *x, double keep, int threads,
                                 hk_block_fn *visit, void *context)
{
    hk_contacts *c = contacts_of(term);
    if (c) hk_contacts_visit_blocks(c, x, keep, threads, visit, context);
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

static bool contact_foresee(hk_term *term, const double *x, const double *step)
{
    return hk_contacts_foresee(contacts_of(term), x, step);
}

static void contact_forget(hk_term *term)
{
    hk_contacts_forget_foreseen(contacts_of(term));
}

static void contact_add_foreseen(const hk_term *term, double *gradient)
{
    hk_contacts_add_foreseen(contacts_of(term), gradient);
}

static void contact_shorten(hk_term *term, const double *x, double *step)
{
    hk_contacts_shorten(contacts_of(term), x, step);
}

static bool contact_walk(hk_term *term, double *x, const double *to)
{
    return hk_contacts_walk(contacts_of(term), x, to);
}

static void contact_keep(hk_term *term, const double *x)
{
    hk_contacts_keep(contacts_of(term), x);
}

static bool contact_approach(hk_term *term, const uint8_t *held, double *x)
{
    return hk_contacts_approach(contacts_of(term), held, x);
}

static bool contact_passes(hk_term *term, const double *x)
{
    return hk_contacts_passes(contacts_of(term), x);
}

// Friction by the forces that the last solve found.
static bool contact_again(hk_term *term, const double *x, int solves)
{
    hk_contacts *c = contacts_of(term);
    if (!(c->step > 0) || c->recovery || solves > c->settings->friction_passes) return false;
    c->status = hk_contacts_renew_friction(c, x);
    return c->status == HK_OK && c->slide_count > 0;
}

static bool contact_meets(hk_term *term, const double *x)
{
    hk_contacts *c = contacts_of(term);
    return c->step > 0 && !c->recovery && c->settings->friction_passes > 0 &&
           hk_contacts_meet(c, x);
}

static const hk_guard_ops g_guard = {.check = contact_check,
                                     .limit = contact_limit,
                                     .foresee = contact_foresee,
                                     .forget = contact_forget,
                                     .add_foreseen = contact_add_foreseen,
                                     .shorten = contact_shorten,
                                     .walk = contact_walk,
                                     .keep = contact_keep,
                                     .approach = contact_approach,
                                     .passes = contact_passes,
                                     .again = contact_again,
                                     .meets = contact_meets};

// ---------------------------------------------------------------- regions

static void contact_guide(hk_term *term, bool on)
{
    hk_contacts *c = contacts_of(term);
    own(term)->guided = on && c;
    if (on && c) hk_touches_begin(c);
}

static void contact_center(hk_term *term, const void *x, double motion)
{
    hk_places at = places_of(term, x);
    hk_touches_center(contacts_of(term), &at, motion);
}

static bool contact_truncate(hk_term *term, void *x)
{
    hk_places at = places_of(term, x);
    return hk_touches_truncate(contacts_of(term), &at);
}

static bool contact_inside(const hk_term *term, int vertex, const void *x)
{
    hk_places at = places_of(term, x);
    return hk_touches_inside(contacts_of(term), vertex, &at);
}

static bool contact_truncate_vertex(const hk_term *term, int vertex, const void *from, void *x)
{
    hk_places start = places_of(term, from), at = places_of(term, x);
    return hk_touches_truncate_vertex(contacts_of(term), vertex, &start, &at);
}

static double contact_precondition(hk_term *term, const hk_jacobi_step *step)
{
    hk_touch_step own_step = {step->q,     step->inverse,  step->target,
                              step->force, step->gradient, step->renewed};
    return hk_touches_precondition(contacts_of(term), &own_step);
}

static void contact_sweep(hk_term *term, const void *before, const int32_t *colour_of)
{
    contacts_of(term)->touches->before = before;
    contacts_of(term)->touches->colour_of = colour_of;
}

static void contact_pause(hk_term *term, bool on)
{
    own(term)->paused = on;
}

static const hk_region_ops g_regions = {.guide = contact_guide,
                                        .center = contact_center,
                                        .truncate = contact_truncate,
                                        .inside = contact_inside,
                                        .truncate_vertex = contact_truncate_vertex,
                                        .precondition = contact_precondition,
                                        .sweep = contact_sweep,
                                        .pause = contact_pause};

// ---------------------------------------------------------------- one vertex

static bool contact_vertex(const hk_term *term, int vertex, const void *x, double gradient[3],
                           double block[6])
{
    hk_places at = places_of(term, x);
    return contact_active(term) &&
           hk_touches_vertex(contacts_of(term), vertex, &at, gradient, block);
}

static double contact_vertex_energy(const hk_term *term, int vertex, const void *x,
                                    const double step[3])
{
    hk_places at = places_of(term, x);
    return contact_active(term) ? hk_touches_vertex_energy(contacts_of(term), vertex, &at, step)
                                : 0;
}

// ---------------------------------------------------------------- contact after contact

static hk_status contact_create_relax(hk_term *term, void **state)
{
    *state = term;
    return HK_OK;
}

static void contact_free_relax(void *state)
{
    (void)state;
}

static void contact_begin_relax(void *state, bool several)
{
    (void)several;
    hk_contacts *c = contacts_of(state);
    c->status = hk_touches_begin_relax(c);
    if (c->status != HK_OK) c->touches->version = -1;
}

static void contact_relax(void *state, void *x, double h, bool several)
{
    (void)several;
    hk_places at = places_of(state, x);
    hk_touches_relax(contacts_of(state), &at, h);
}

static const hk_relax_ops g_relax = {.create = contact_create_relax,
                                     .free = contact_free_relax,
                                     .begin = contact_begin_relax,
                                     .sweep = contact_relax};

const hk_term_ops hk_contact_term = {
    .name = "contact",
    .part = HK_PART_CONTACT,
    .of_displacement = true,
    .advice = "use newton",
    .in_model = in_model,
    .create = contact_create,
    .free = contact_free,
    .follow = contact_follow,
    .begin_step = contact_begin_step,
    .place = contact_place,
    .active = contact_active,
    .energy = contact_energy,
    .add_gradient = contact_add_gradient,
    .add_diagonal = contact_add_diagonal,
    .visit_blocks = contact_visit_blocks,
    .moving_stencils = contact_moving_stencils,
    .vertex = contact_vertex,
    .vertex_energy = contact_vertex_energy,
    .relax = &g_relax,
    .visit_rows = contact_visit_rows,
    .guard = &g_guard,
    .regions = &g_regions,
};
