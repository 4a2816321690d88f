// Energies and forces of what pushes around a centre (touches.h), iteration after iteration.
#include <math.h>

#include "contact/push_lanes.h"
#include "term/lanes.h"

enum { RUN = 128 };  // contacts whose energies are added up one after the other

// ---------------------------------------------------------------- energies

typedef double quad __attribute__((vector_size(32), aligned(8)));

static double gap_at(const hk_touches *t, const hk_push *k)
{
    quad sum = k->c[0] * *(const quad *)(t->away + 4 * (size_t)k->point[0]);
    for (int v = 1; v < 4; v++) sum += k->c[v] * *(const quad *)(t->away + 4 * (size_t)k->point[v]);
    sum *= *(const quad *)k->normal;
    return k->reduced + (sum[0] + sum[1] + sum[2]);
}

// The energy of what has slid since the step began, or has come nearer.
static double slide_energy(const hk_contacts *c, int64_t n)
{
    const hk_touches *t = c->touches;
    const hk_slide *s = &c->slides[n];
    quad sum = *(const quad *)(t->slid + 4 * n);
    for (int v = 0; v < 4; v++)
        sum += s->friction.c[v] * *(const quad *)(t->away + 4 * (size_t)s->point[v]);
    double through = sum[0] * s->friction.normal[0] + sum[1] * s->friction.normal[1] +
                     sum[2] * s->friction.normal[2];
    double slide[3];
    for (int i = 0; i < 3; i++) slide[i] = sum[i] - through * s->friction.normal[i];
    return friction_energy(&s->friction, slide, through < 0 ? through : 0);
}

static double push_energy(const hk_contacts *c, int64_t n)
{
    const hk_push *k = &c->touches->push[n];
    return k->stiffness * contact_value(c->settings->law, k->width, gap_at(c->touches, k)).energy;
}

// By runs, so that threads do not count.
static double sum_energies(hk_contacts *c, int64_t count,
                           double energy_of(const hk_contacts *, int64_t))
{
    hk_touches *t = c->touches;
    int64_t runs = (count + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t n = r * RUN; n < count && n < (r + 1) * RUN; n++) sum += energy_of(c, n);
        t->partial[r] = sum;
    }
    double energy = 0;
    for (int64_t r = 0; r < runs; r++) energy += t->partial[r];
    return energy;
}

hk_status hk_touches_reserve_sums(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t most = t->push_count > c->slide_count ? t->push_count : c->slide_count;
    return hk_reserve((void **)&t->partial, 0, sizeof *t->partial, &t->partial_capacity,
                      most / RUN + 1);
}

double hk_touches_slides_energy(hk_contacts *c)
{
    return sum_energies(c, (int64_t)c->slide_count, slide_energy);
}

double hk_touches_near_energy(hk_contacts *c)
{
    hk_touches *t = c->touches;
    double energy = sum_energies(c, (int64_t)t->push_count, push_energy);
    energy += hk_touches_slides_energy(c);
    for (size_t p = 0; p < (size_t)c->body_points && t->turns; p++) {
        double since[3];
        closest_minus(t->away + 4 * p, t->at_away + 4 * p, since);
        energy += closest_dot(t->turning + 3 * p, since);
    }
    return energy;
}

// ---------------------------------------------------------------- blocks

// For each vertex a block that bounds its part of the matrix.
static void find_blocks(const hk_contacts *c, const hk_push_table *kernels)
{
    hk_touches *t = c->touches;
    int64_t slots = (int64_t)t->slot_count;
#pragma omp parallel num_threads(c->threads) if (slots > RUN)
    {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < slots; n += RUN)
            kernels->stiffen(c, n, hk_min_int64(n + RUN, slots));
#pragma omp for schedule(static)
        for (int m = 0; m < t->touched_count; m += RUN)
            kernels->block(c, m, hk_min_int(m + RUN, t->touched_count));
    }
    t->blocks = true;
    t->blocked = kernels;
    t->prepared = NULL;
    t->blocks_moved = 0;
}

// ---------------------------------------------------------------- iterations

const hk_push_table *hk_push_kernels(const hk_places *q)
{
    return hk_lanes_best(q->base ? HK_SINGLE : HK_DOUBLE_PRECISION)->push;
}

static int64_t blocks_of(const hk_touches *t, const hk_push_table *kernels)
{
    return ((int64_t)t->slot_count + kernels->lanes - 1) / kernels->lanes;
}

// What they read, in the precision of the positions.
static hk_status fill_lean(hk_contacts *c, const hk_push_table *kernels)
{
    hk_touches *t = c->touches;
    int64_t blocks = blocks_of(t, kernels);
    size_t slots = (size_t)(blocks * kernels->lanes), number = sizeof(double);
    size_t bytes = kernels->block_size * (size_t)blocks;
    HK_TRY(hk_reserve(&t->lean, 0, 1, &t->lean_capacity, bytes));
    HK_TRY(hk_reserve(&t->slot_force, 0, 16 * number, &t->slot_force_capacity, slots));
    HK_TRY(hk_reserve(&t->bend, 0, number, &t->bend_capacity, slots));
    HK_TRY(hk_reserve(&t->pull, 0, number, &t->pull_capacity, slots));
    HK_TRY(hk_reserve(&t->slot_block, 0, 24 * number, &t->slot_block_capacity, slots));
    bool kept = slots <= t->used_bend_capacity && slots <= t->used_pull_capacity;
    HK_TRY(hk_reserve(&t->used_bend, 0, number, &t->used_bend_capacity, slots));
    HK_TRY(hk_reserve(&t->used_pull, 0, number, &t->used_pull_capacity, slots));
    t->blocks = t->blocks && kept && kernels == t->blocked;
    if (!t->blocks && slots > 0) {
        memset(t->used_bend, 0, number * slots);
        memset(t->used_pull, 0, number * slots);
    }
#pragma omp parallel for schedule(static) num_threads(c->threads) if (blocks > RUN / 8)
    for (int64_t b = 0; b < blocks; b++) kernels->fill(c, b, b + 1);
    t->kernels = kernels;
    return HK_OK;
}

static bool find_forces(const hk_contacts *c, const hk_push_table *kernels, void *gradient)
{
    const hk_touches *t = c->touches;
    int64_t blocks = blocks_of(t, kernels), run = RUN / kernels->lanes;
    int stiffer = 0, touched = t->touched_count;
#pragma omp parallel num_threads(c->threads) reduction(| : stiffer) if (blocks > run)
    {
#pragma omp for schedule(static)
        for (int64_t b = 0; b < blocks; b += run)
            stiffer |= kernels->force(c, b, hk_min_int64(b + run, blocks));
#pragma omp for schedule(static)
        for (int m = 0; m < touched; m += RUN)
            kernels->gather(c, m, hk_min_int(m + RUN, touched), gradient);
    }
    return stiffer;
}

static void find_away(const hk_contacts *c, const hk_push_table *kernels, const hk_places *q)
{
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p += RUN)
        for (int k = p, end = hk_min_int(p + RUN, c->body_points); k < end; k++)
            k = kernels->place(c, q->x, k, end);
}

void hk_touches_add_gradient(hk_contacts *c, const hk_places *q, void *gradient)
{
    hk_touches *t = c->touches;
    const hk_push_table *kernels = hk_push_kernels(q);
    if (t->version < 0) return;
    double energy = 0;
    if (!t->found) c->status = hk_touches_find_pushes(c, &energy);
    if (c->status == HK_OK && t->kernels != kernels) c->status = fill_lean(c, kernels);
    if (c->status != HK_OK) {
        t->version = -1;
        return;
    }
    if (!t->placed) find_away(c, kernels, q);
    t->placed = false;
    bool stiffer = find_forces(c, kernels, gradient);
    if (stiffer || !t->blocks) find_blocks(c, kernels);
}

static void prepare(const hk_contacts *c, const hk_touch_step *step)
{
    hk_touches *t = c->touches;
    double least = 1;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(min : least)
    for (int m = 0; m < t->touched_count; m += RUN)
        least = fmin(least, t->kernels->prepare(c, step, m, hk_min_int(m + RUN, t->touched_count)));
    t->least_part = least;
    t->prepared = t->kernels;
}

double hk_touches_precondition(hk_contacts *c, const hk_touch_step *step)
{
    const hk_touches *t = c->touches;
    if (t->version < 0 || !t->kernels) return 1;
    if (step->renewed || t->prepared != t->kernels) prepare(c, step);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int m = 0; m < t->touched_count; m += RUN)
        t->kernels->precondition(c, step, m, hk_min_int(m + RUN, t->touched_count));
    return t->least_part;
}
