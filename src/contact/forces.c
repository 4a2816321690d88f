// Energy and forces of contacts and of friction.
#include <math.h>

#include "contact/field.h"
#include "contact/quick.h"
#include "contact/slide.h"
#include "contact/touches.h"

enum { RUN = 128 };  // contacts whose energies are added up one after the other

// Positions and contacts for them; false: there are none to be had.
static bool see(hk_contacts *c, const double *x)
{
    c->status = hk_contacts_see(c, x);
    if (c->status != HK_OK) return false;
    size_t all = c->count + c->slide_count;
    c->status = hk_reserve((void **)&c->force, 0, 12 * sizeof(double), &c->force_capacity, all);
    if (c->status != HK_OK) return false;
    c->status =
        hk_reserve((void **)&c->partial, 0, sizeof(double), &c->partial_capacity, all / RUN + 2);
    return c->status == HK_OK;
}

// ---------------------------------------------------------------- sums over contacts and slides

static double evaluate_press(const hk_contacts *c, const hk_slide *s, double *gradient)
{
    double missing = slide_missing(c, s);
    if (gradient) press_gradient(&s->friction, missing, gradient);
    return 0.5 * s->friction.most * missing * missing;
}

// How far points are from where something is known of gaps, m.
typedef struct known_since {
    double nearer;  // hk_contacts_nearer
    double moved;   // from a centre (touches.h), if there is one
} known_since;

// The energy of a contact or a slide; its forces where `gradient` is not NULL.
static double evaluate(hk_contacts *c, size_t number, const known_since *since, double *gradient)
{
    double x[4][3], slide[3], nearer;
    if (number >= c->count) {
        const hk_slide *s = &c->slides[number - c->count];
        if (s->press) return evaluate_press(c, s, gradient);
        nearer = slide_of(c, s, slide);
        if (gradient) friction_gradient(&s->friction, slide, nearer, gradient);
        return friction_energy(&s->friction, slide, nearer);
    }
    const hk_contact *k = &c->list[number];
    if (hk_contacts_apart(c, number, since->nearer) || hk_touches_apart(c, number, since->moved)) {
        c->gap[number] -= since->nearer;
        if (gradient) memset(gradient, 0, 12 * sizeof(double));
        return 0;
    }
    hk_contact_corners(c->x, k->point, x);
    return quick_evaluate(&k->pair, (const double(*)[3])x, gradient, &c->gap[number]);
}

// Of those from `first` on, in the order of contacts and slides: the energy, and forces of their
// corners into c->force where that is wanted.
static double sweep_from(hk_contacts *c, size_t first, const known_since *since, bool forces)
{
    int64_t start = (int64_t)first, all = (int64_t)(c->count + c->slide_count);
    int64_t runs = (all - start + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t k = start + r * RUN; k < all && k < start + (r + 1) * RUN; k++)
            sum += evaluate(c, (size_t)k, since, forces ? c->force + 12 * k : NULL);
        c->partial[r] = sum;
    }
    double energy = 0;
    for (int64_t r = 0; r < runs; r++) energy += c->partial[r];
    return energy;
}

static double sweep(hk_contacts *c, bool forces)
{
    known_since since = {hk_contacts_nearer(c), hk_touches_moved(c)};
    double energy = sweep_from(c, 0, &since, forces);
    hk_contacts_keep_gaps(c);
    if (c->fields) energy += hk_fields_energy(c);
    return energy;
}

void hk_contacts_count_pairs(hk_contacts *c, double start, double detected)
{
    c->pairs_s += hk_now() - start - (c->detect_s - detected);
}

double hk_contacts_energy(hk_contacts *c, const double *x)
{
    double start = hk_now(), detected = c->detect_s;
    double energy = INFINITY;
    if (see(c, x)) {
        bool told = !c->fields && hk_touches_tell_energy(c, &energy);
        energy = told ? energy + sweep_from(c, c->count, NULL, false) : sweep(c, false);
    }
    hk_contacts_count_pairs(c, start, detected);
    return energy;
}

static void gather(const hk_contact_uses *u, int64_t p, const double *force, double *to)
{
    for (int64_t k = u->start[p]; k < u->start[p + 1]; k++)
        for (int i = 0; i < 3; i++) to[i] += force[3 * u->use[k] + i];
}

static void add_gradient(hk_contacts *c, const double *x, double *gradient, double *energy)
{
    if (!see(c, x)) {
        if (energy) *energy = INFINITY;
        return;
    }
    double sum = sweep(c, true);
    if (energy) *energy = sum;
    if (c->fields) hk_fields_add_gradient(c, gradient);
    if (c->count + c->slide_count == 0) return;
    const double *slide_force = c->force + 12 * c->count;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) {
        double *to = gradient + 4 * (size_t)c->vertex[p];
        gather(&c->uses, p, c->force, to);
        if (c->slide_count > 0) gather(&c->slide_uses, p, slide_force, to);
    }
}

void hk_contacts_add_gradient(hk_contacts *c, const double *x, double *gradient, double *energy)
{
    double start = hk_now(), detected = c->detect_s;
    add_gradient(c, x, gradient, energy);
    hk_contacts_count_pairs(c, start, detected);
}

// ---------------------------------------------------------------- vertices

static void visit_vertices(const hk_contacts *c, const int32_t point[4],
                           hk_contact_vertices_fn *visit, void *context)
{
    int32_t vertices[4];
    int count = 0;
    for (int k = 0; k < 4; k++)
        if (point[k] < c->body_points) vertices[count++] = c->vertex[point[k]];
    visit(context, vertices, count);
}

void hk_contacts_visit_vertices(const hk_contacts *c, hk_contact_vertices_fn *visit, void *context)
{
    for (size_t k = 0; k < c->count; k++) visit_vertices(c, c->list[k].point, visit, context);
    for (size_t k = 0; k < c->slide_count; k++)
        visit_vertices(c, c->slides[k].point, visit, context);
    for (size_t k = 0; k < c->expected_count; k++)
        visit_vertices(c, c->expected[k], visit, context);
}
