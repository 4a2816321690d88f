// Energy and forces of contacts and of friction.
#include <math.h>

#include "contact/feature_lanes.h"
#include "contact/field.h"
#include "contact/slide.h"
#include "contact/touches.h"
#include "term/lanes.h"

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
        hk_reserve((void **)&c->partial, 0, sizeof(double), &c->partial_capacity, all / RUN + 4);
    return c->status == HK_OK;
}

// ---------------------------------------------------------------- sums over contacts and slides

static double evaluate_press(const hk_contacts *c, const hk_slide *s, double *gradient)
{
    double missing = slide_missing(c, s);
    if (gradient) press_gradient(&s->friction, missing, gradient);
    return 0.5 * s->friction.most * missing * missing;
}

// The energy of a slide; its forces where `gradient` is not NULL.
static double evaluate_slide(const hk_contacts *c, const hk_feature_table *kernels,
                             const hk_slide *s, double *gradient)
{
    if (s->press) return evaluate_press(c, s, gradient);
    return kernels->slide(&s->friction, s->point, c->x, c->from, gradient);
}

// Of runs [0, runs), one after the other.
static double sum_of(const double *partial, int64_t runs)
{
    double sum = 0;
    for (int64_t r = 0; r < runs; r++) sum += partial[r];
    return sum;
}

// All slides: the energy, and forces of their corners behind those of contacts where that is
// wanted.
static double sweep_slides(hk_contacts *c, bool forces)
{
    const hk_feature_table *kernels = hk_lanes_best(HK_DOUBLE_PRECISION)->feature;
    int64_t all = (int64_t)c->slide_count, runs = (all + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t k = r * RUN; k < all && k < (r + 1) * RUN; k++)
            sum += evaluate_slide(c, kernels, &c->slides[k],
                                  forces ? c->force + 12 * (c->count + (size_t)k) : NULL);
        c->partial[r] = sum;
    }
    return sum_of(c->partial, runs);
}

// How far points are from where something is known of gaps, m.
typedef struct known_since {
    double nearer;  // hk_contacts_nearer
    double moved;   // from a centre (touches.h), if there is one
} known_since;

// The contacts of a block that may push. Gaps of the others are brought up to date.
static unsigned find_near(hk_contacts *c, size_t block, const known_since *since)
{
    unsigned near = hk_contacts_near_in_block(c, block, since->nearer);
    size_t first = c->block_first[block];
    for (int l = 0; l < c->block[block].count; l++) {
        size_t number = first + (size_t)l;
        if (hk_touches_apart(c, number, since->moved)) near &= ~(1u << l);
        if (!(near >> l & 1u)) c->gap[number] -= since->nearer;
    }
    return near;
}

// The energy of a contact; `plain`: as the kernels found it.
static double take_contact(hk_contacts *c, const hk_feature_table *kernels, size_t number, int lane,
                           bool plain, const hk_feature_forces *found, double *gradient)
{
    const hk_contact *k = &c->list[number];
    double x[4][3];
    if (!plain) {
        hk_contact_corners(c->x, k->point, x);
        return kernels->evaluate_one(&k->pair, (const double(*)[3])x, gradient, &c->gap[number]);
    }
    c->gap[number] = found->gap[lane];
    for (int i = 0; i < 12 && gradient; i++) gradient[i] = found->gradient[i][lane];
    return found->energy[lane];
}

static double sweep_block(hk_contacts *c, const hk_feature_table *kernels, size_t block,
                          const known_since *since, bool forces)
{
    const hk_feature_block *b = &c->block[block];
    size_t first = c->block_first[block];
    unsigned near = find_near(c, block, since), plain = 0;
    double *gradients = forces ? c->force + 12 * first : NULL, sum = 0;
    hk_feature_forces found;
    if (near) plain = kernels->evaluate(b, c->list[first].pair.law, c->x, &found);
    for (int l = 0; l < b->count; l++) {
        double *gradient = forces ? gradients + 12 * l : NULL;
        if (near >> l & 1u)
            sum +=
                take_contact(c, kernels, first + (size_t)l, l, plain >> l & 1u, &found, gradient);
        else if (forces)
            memset(gradient, 0, 12 * sizeof(double));
    }
    return sum;
}

// All contacts, likewise.
static double sweep_contacts(hk_contacts *c, bool forces)
{
    enum { RUN_BLOCKS = RUN / HK_FEATURE_LANES };
    const hk_feature_table *kernels = hk_lanes_best(HK_DOUBLE_PRECISION)->feature;
    known_since since = {hk_contacts_nearer(c), hk_touches_moved(c)};
    int64_t blocks = (int64_t)c->block_count, runs = (blocks + RUN_BLOCKS - 1) / RUN_BLOCKS;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t b = r * RUN_BLOCKS; b < blocks && b < (r + 1) * RUN_BLOCKS; b++)
            sum += sweep_block(c, kernels, (size_t)b, &since, forces);
        c->partial[r] = sum;
    }
    return sum_of(c->partial, runs);
}

static double sweep(hk_contacts *c, bool forces)
{
    double energy = sweep_contacts(c, forces);
    energy += sweep_slides(c, forces);
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
    if (see(c, x) && (c->fields || !hk_touches_know_energy(c, &energy))) {
        energy = INFINITY;
        bool told = !c->fields && hk_touches_tell_energy(c, &energy);
        if (!told) c->status = hk_contacts_need_blocks(c);
        if (c->status == HK_OK) energy = told ? energy + sweep_slides(c, false) : sweep(c, false);
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
    if (see(c, x)) c->status = hk_contacts_need_blocks(c);
    if (c->status != HK_OK) {
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
