// Forces of the contacts that push around a centre (touches.h), iteration after iteration.
#include <math.h>

#include "contact/push_lanes.h"
#include "contact/quick.h"
#include "term/lanes.h"

enum { RUN = 128 };  // contacts whose energies are added up one after the other

// ---------------------------------------------------------------- at a centre

static hk_status reserve(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t runs = t->near_count / RUN + 1, pushes = HK_PAIR_PARTS * RUN * runs;
    size_t slides = c->slide_count, slots = pushes + slides, number = sizeof(double);
    HK_TRY(hk_reserve((void **)&t->run, 0, sizeof *t->run, &t->run_capacity, runs));
    HK_TRY(hk_reserve((void **)&t->push, 0, sizeof *t->push, &t->push_capacity, pushes));
    HK_TRY(hk_reserve((void **)&t->bend, 0, number, &t->bend_capacity, pushes));
    HK_TRY(hk_reserve((void **)&t->pull, 0, number, &t->pull_capacity, slides));
    HK_TRY(hk_reserve((void **)&t->slid, 0, 4 * number, &t->slid_capacity, slides));
    return hk_reserve((void **)&t->partial, 0, number, &t->partial_capacity, slots / RUN + 2);
}

// What the slots of another centre may be kept in.
static hk_status reserve_slots(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t slides = c->slide_count, slots = t->push_count + slides;
    size_t point = 4 * sizeof(int32_t), number = sizeof(double);
    HK_TRY(hk_reserve((void **)&t->slot_point, 0, point, &t->slot_capacity, slots));
    HK_TRY(hk_reserve((void **)&t->drag_point, 0, point, &t->drag_point_capacity, slides));
    HK_TRY(hk_reserve((void **)&t->drag_slot, 0, sizeof(int32_t), &t->drag_slot_capacity, slides));
    HK_TRY(hk_reserve((void **)&t->used_bend, 0, number, &t->used_bend_capacity, t->push_count));
    return hk_reserve((void **)&t->used_pull, 0, number, &t->used_pull_capacity, slides);
}

// What nearly parallel edges add to the forces stays as it is until the next centre.
static void add_turn(const hk_contacts *c, const hk_touch *k)
{
    hk_touches *t = c->touches;
    double x[4][3], g[12];
    if (k->pair.kind != HK_EDGE_EDGE || !(k->gap < k->pair.width)) return;
    hk_contact_corners(t->centre, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    if (!at.mollified) return;
    double turn = k->pair.stiffness * at.m.slope * at.sum;
    pair_parallel_gradient(&at, g);
    for (int i = 0; i < 12; i++)
        if (k->point[i / 3] < c->body_points)
            t->turning[3 * (size_t)k->point[i / 3] + (size_t)(i % 3)] += turn * g[i];
}

// Σ |c| over corners of bodies. The matrix c cᵀ of them is bounded by the diagonal |c| Σ |c|.
static double spread_of(const hk_contacts *c, const int32_t point[4], const double weight[4])
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        if (point[v] < c->body_points) sum += fabs(weight[v]);
    return sum;
}

static void fill_push(const hk_contacts *c, const hk_touch *k, const quick_part *part,
                      double mollifier, hk_push *to)
{
    memcpy(to->point, k->point, sizeof to->point);
    memcpy(to->c, part->c, sizeof to->c);
    for (int i = 0; i < 3; i++) to->normal[i] = part->w[i] / part->distance;
    to->normal[3] = 0;
    to->spread = spread_of(c, to->point, to->c);
    to->gap = part->distance - k->pair.thickness;
    to->width = k->pair.width;
    to->stiffness = k->pair.stiffness * mollifier * part->coefficient;
}

// Whether the closest points are within both sides, and everything else that they have in common
// with others is far, so that B (pair.h) is b of these alone. An end or a corner is never nearer
// than the edge that it is of.
static bool is_alone(const hk_pair *p, const double c[4], const double x[4][3])
{
    if (p->kind == HK_VERTEX_PLANE) return true;
    if (p->kind == HK_VERTEX_TRIANGLE)
        return c[1] < 0 && c[2] < 0 && c[3] < 0 && pair_far_from_edge(p, x, 0, 1, 2) &&
               pair_far_from_edge(p, x, 0, 2, 3) && pair_far_from_edge(p, x, 0, 3, 1);
    return c[0] > 0 && c[1] > 0 && c[2] < 0 && c[3] < 0 && pair_far_from_edge(p, x, 0, 2, 3) &&
           pair_far_from_edge(p, x, 1, 2, 3) && pair_far_from_edge(p, x, 2, 0, 1) &&
           pair_far_from_edge(p, x, 3, 0, 1);
}

// The mollifier of nearly parallel edges; whether it is at work.
static bool mollifies(const hk_pair *p, const double x[4][3], double *mollifier)
{
    hk_pair_state at;
    at.m.energy = 1;
    at.mollified = false;
    pair_mollify(p, x, &at);
    *mollifier = at.m.energy;
    return at.mollified;
}

// The features of a contact that push, or may before the next centre: those that are within its
// width and a margin.
static void find_features(const hk_contacts *c, const hk_touch *k, double margin, hk_push *to,
                          hk_push_run *run)
{
    double x[4][3], mollifier;
    hk_pair wide = k->pair;
    quick_parts parts = {.count = 1};
    quick_part *whole = &parts.part[0];
    hk_contact_corners(c->touches->centre, k->point, x);
    wide.width += margin;
    whole->coefficient = 1;
    whole->distance = k->gap + k->pair.thickness;
    memcpy(whole->c, k->c, sizeof k->c);
    for (int i = 0; i < 3; i++) whole->w[i] = whole->distance * k->normal[i];
    bool mollified = mollifies(&k->pair, (const double(*)[3])x, &mollifier);
    if (!is_alone(&wide, k->c, (const double(*)[3])x)) {
        quick_part first = *whole;
        quick_find_parts(&k->pair, (const double(*)[3])x, &first, wide.width + wide.thickness,
                         &parts);
    }
    for (int n = 0; n < parts.count; n++) {
        hk_push *push = to + run->pushes;
        if (parts.part[n].coefficient == 0 || parts.part[n].distance == 0) continue;
        fill_push(c, k, &parts.part[n], mollifier, push);
        run->energy += push->stiffness * contact_value(wide.law, push->width, push->gap).energy;
        if (push->gap < run->least) run->least = push->gap;
        run->pushes++;
    }
    run->turns |= mollified && k->gap < k->pair.width;
    if (!(k->gap > 0)) run->energy = INFINITY;  // also where features take some of it off
}

// Every run of near contacts writes from a place of its own; then they are moved together.
static void fill_pushes(const hk_contacts *c, double *energy)
{
    hk_touches *t = c->touches;
    double margin = fmax(3 * t->motion, 0.02 * c->settings->distance);
    int64_t count = (int64_t)t->near_count, runs = (count + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        hk_push_run run = {.least = INFINITY};
        for (int64_t n = r * RUN; n < count && n < (r + 1) * RUN; n++) {
            const hk_touch *k = &t->touch[t->near[n]];
            if (k->gap < k->pair.width + margin)
                find_features(c, k, margin, t->push + HK_PAIR_PARTS * RUN * r, &run);
        }
        t->run[r] = run;
    }
    t->push_count = 0;
    t->least = INFINITY;
    for (int64_t r = 0; r < runs; r++) {
        const hk_push_run *run = &t->run[r];
        memmove(t->push + t->push_count, t->push + HK_PAIR_PARTS * RUN * r,
                sizeof *t->push * (size_t)run->pushes);
        t->push_count += (size_t)run->pushes;
        t->least = fmin(t->least, run->least);
        *energy += run->energy;
    }
}

static void fill_turning(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t runs = ((int64_t)t->near_count + RUN - 1) / RUN;
    if (t->turns) memset(t->turning, 0, 3 * sizeof(double) * (size_t)c->body_points);
    t->turns = false;
    for (int64_t r = 0; r < runs; r++) {
        t->turns |= t->run[r].turns;
        for (size_t n = (size_t)(r * RUN), end = n + RUN; n < t->near_count && n < end; n++)
            if (t->run[r].turns) add_turn(c, &t->touch[t->near[n]]);
    }
}

// ---------------------------------------------------------------- slots

// Whether the slots are of these pushes and slides.
static bool are_slotted(const hk_contacts *c)
{
    const hk_touches *t = c->touches;
    if (t->slotted_pushes != t->push_count || t->slotted_drags != c->slide_count) return false;
    for (size_t n = 0; n < t->push_count; n++)
        if (memcmp(t->slot_point + 4 * n, t->push[n].point, 4 * sizeof(int32_t)) != 0) return false;
    for (size_t n = 0; n < c->slide_count; n++)
        if (memcmp(t->drag_point + 4 * n, c->slides[n].point, 4 * sizeof(int32_t)) != 0)
            return false;
    return true;
}

// A push with these corners; -1: there is none.
static int32_t find_slot(const hk_contacts *c, const int32_t point[4])
{
    const hk_touches *t = c->touches;
    int v = 0;
    while (v < 3 && point[v] >= c->body_points) v++;
    if (point[v] >= c->body_points) return -1;
    for (int64_t k = t->slot_uses.start[point[v]]; k < t->slot_uses.start[point[v] + 1]; k++) {
        int64_t slot = t->slot_uses.use[k] / 4;
        if (memcmp(t->slot_point + 4 * slot, point, 4 * sizeof(int32_t)) == 0) return (int32_t)slot;
    }
    return -1;
}

static hk_status fill_slot_uses(hk_contacts *c)
{
    hk_touches *t = c->touches;
    return hk_touches_fill_uses(c, t->slot_point, 4 * sizeof(int32_t), NULL, t->slot_count,
                                &t->slot_uses);
}

static hk_status fill_slots(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(reserve_slots(c));
    t->slot_count = t->slotted_pushes = t->push_count;
    t->slotted_drags = c->slide_count;
    for (size_t n = 0; n < t->push_count; n++)
        memcpy(t->slot_point + 4 * n, t->push[n].point, 4 * sizeof(int32_t));
    HK_TRY(fill_slot_uses(c));
    for (size_t n = 0; n < c->slide_count; n++) {
        const int32_t *point = c->slides[n].point;
        memcpy(t->drag_point + 4 * n, point, 4 * sizeof(int32_t));
        t->drag_slot[n] = find_slot(c, point);
        if (t->drag_slot[n] >= 0) continue;
        t->drag_slot[n] = (int32_t)t->slot_count;
        memcpy(t->slot_point + 4 * t->slot_count++, point, 4 * sizeof(int32_t));
    }
    return t->slot_count > t->push_count ? fill_slot_uses(c) : HK_OK;
}

static void list_touched(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    t->touched_count = 0;
    for (int p = 0; p < c->body_points; p++)
        if (t->slot_uses.start[p] < t->slot_uses.start[p + 1]) t->touched[t->touched_count++] = p;
}

// How far points may be from where blocks were made, relative to the least gap, that these are
// kept.
#define BLOCKS_NEAR 0.01

// Slots of this centre. As long as the same things push, so are the slots, and the blocks as long
// as they are near.
static hk_status find_slots(hk_contacts *c, double moved)
{
    hk_touches *t = c->touches;
    t->kernels = NULL;
    t->blocks_moved += moved;
    bool same = are_slotted(c);
    t->blocks = t->blocks && same && t->blocks_moved < BLOCKS_NEAR * t->least;
    if (same) return HK_OK;
    t->slotted_pushes = SIZE_MAX;  // until it is complete
    HK_TRY(fill_slots(c));
    list_touched(c);
    return HK_OK;
}

// From the beginning of the step to the centre.
static void find_slid(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->slide_count;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        const hk_slide *s = &c->slides[n];
        double *to = t->slid + 4 * n;
        to[0] = to[1] = to[2] = to[3] = 0;
        for (int v = 0; v < 4; v++)
            for (size_t i = 0, at = 3 * (size_t)s->point[v]; i < 3; i++)
                to[i] += s->friction.c[v] * (t->centre[at + i] - c->from[at + i]);
    }
}

static double slides_energy(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    double energy = 0;
    for (size_t n = 0; n < c->slide_count; n++) {
        const hk_friction *f = &c->slides[n].friction;
        double slide[3], through = closest_dot(t->slid + 4 * n, f->normal);
        for (size_t i = 0; i < 3; i++) slide[i] = t->slid[4 * n + i] - through * f->normal[i];
        energy += friction_energy(f, slide, through < 0 ? through : 0);
    }
    return energy;
}

hk_status hk_touches_find_pushes(hk_contacts *c, double moved, double *energy)
{
    HK_TRY(reserve(c));
    *energy = 0;
    fill_pushes(c, energy);
    fill_turning(c);
    find_slid(c);
    *energy += slides_energy(c);
    return find_slots(c, moved);
}

// ---------------------------------------------------------------- energies

typedef double quad __attribute__((vector_size(32), aligned(8)));

static double gap_at(const hk_touches *t, const hk_push *k)
{
    quad sum = k->c[0] * *(const quad *)(t->away + 4 * (size_t)k->point[0]);
    for (int v = 1; v < 4; v++) sum += k->c[v] * *(const quad *)(t->away + 4 * (size_t)k->point[v]);
    sum *= *(const quad *)k->normal;
    return k->gap + (sum[0] + sum[1] + sum[2]);
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

double hk_touches_near_energy(hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)t->push_count, all = count + (int64_t)c->slide_count;
    int64_t runs = (all + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t n = r * RUN; n < all && n < (r + 1) * RUN; n++) {
            if (n >= count) {
                sum += slide_energy(c, n - count);
                continue;
            }
            const hk_push *k = &t->push[n];
            sum += k->stiffness * contact_value(c->settings->law, k->width, gap_at(t, k)).energy;
        }
        t->partial[r] = sum;
    }
    double energy = 0;
    for (int64_t r = 0; r < runs; r++) energy += t->partial[r];
    for (size_t p = 0; p < (size_t)c->body_points && t->turns; p++)
        energy += closest_dot(t->turning + 3 * p, t->away + 4 * p);
    return energy;
}

// ---------------------------------------------------------------- forces

static void find_away(const hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) hk_place_away(c, q, p, t->away + 4 * (size_t)p);
}

// ---------------------------------------------------------------- blocks

// Adds `along` n nᵀ + `across` (1 − n nᵀ).
static void add_block(double along, double across, const double n[3], double block[6])
{
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++, k++)
            block[k] += (along - across) * n[i] * n[j] + (i == j ? across : 0);
}

static void sum_blocks(const hk_contacts *c, int p, double block[6])
{
    const hk_touches *t = c->touches;
    for (int64_t k = t->slot_uses.start[p]; k < t->slot_uses.start[p + 1]; k++) {
        size_t n = (size_t)t->slot_uses.use[k] / 4, v = (size_t)t->slot_uses.use[k] % 4;
        if (n >= t->push_count || t->used_bend[n] == 0) continue;
        const hk_push *push = &t->push[n];
        add_block(fabs(push->c[v]) * push->spread * t->used_bend[n], 0, push->normal, block);
    }
    if (c->slide_count == 0) return;
    // Of friction that of a spring with the same force: Coulomb's is below it on both sides.
    for (int64_t k = c->slide_uses.start[p]; k < c->slide_uses.start[p + 1]; k++) {
        int64_t n = c->slide_uses.use[k] / 4, v = c->slide_uses.use[k] % 4;
        const hk_friction *f = &c->slides[n].friction;
        double spread = fabs(f->c[v]) * spread_of(c, c->slides[n].point, f->c);
        add_block(spread * f->damping, spread * t->used_pull[n], f->normal, block);
    }
}

// For each vertex a block that bounds its part of the matrix.
static void find_blocks(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    // What does not push yet may do so at any time.
    for (size_t n = 0; n < t->push_count; n++)
        t->used_bend[n] = fmax(0, fmax(t->bend[n], t->push[n].stiffness));
    for (size_t n = 0; n < c->slide_count; n++) t->used_pull[n] = t->pull[n];
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int m = 0; m < t->touched_count; m++) {
        int p = t->touched[m];
        double *block = t->block + 6 * (size_t)p;
        for (int i = 0; i < 6; i++) block[i] = 0;
        sum_blocks(c, p, block);
    }
    t->blocks = true;
    t->blocks_moved = 0;
}

// ---------------------------------------------------------------- iterations

// What they read, in the precision of the positions.
static hk_status fill_lean(hk_contacts *c, const hk_push_table *kernels)
{
    hk_touches *t = c->touches;
    int64_t pushes = (int64_t)t->push_count, drags = (int64_t)c->slide_count;
    HK_TRY(hk_reserve(&t->lean_push, 0, 1, &t->lean_push_capacity,
                      kernels->push_size * t->push_count));
    HK_TRY(hk_reserve(&t->lean_drag, 0, 1, &t->lean_drag_capacity,
                      kernels->drag_size * c->slide_count));
    HK_TRY(hk_reserve(&t->corner, 0, 16 * sizeof(double), &t->corner_capacity, t->slot_count));
#pragma omp parallel for schedule(static) num_threads(c->threads) if (pushes > RUN)
    for (int64_t n = 0; n < pushes; n += RUN)
        kernels->fill_pushes(c, n, n + RUN < pushes ? n + RUN : pushes, t->lean_push);
#pragma omp parallel for schedule(static) num_threads(c->threads) if (drags > RUN)
    for (int64_t n = 0; n < drags; n += RUN)
        kernels->fill_drags(c, n, n + RUN < drags ? n + RUN : drags, t->lean_drag);
    t->kernels = kernels;
    return HK_OK;
}

// Those that push come first: what drags may add to them.
static bool find_forces(const hk_contacts *c, const hk_push_table *kernels, void *gradient)
{
    const hk_touches *t = c->touches;
    int64_t pushes = (int64_t)t->push_count, drags = (int64_t)c->slide_count;
    int stiffer = 0, touched = t->touched_count;
#pragma omp parallel num_threads(c->threads) reduction(| : stiffer) if (pushes + drags > RUN)
    {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < pushes; n += RUN)
            stiffer |= kernels->push(c, n, n + RUN < pushes ? n + RUN : pushes);
#pragma omp for schedule(static)
        for (int64_t n = 0; n < drags; n += RUN)
            stiffer |= kernels->drag(c, n, n + RUN < drags ? n + RUN : drags);
#pragma omp for schedule(static)
        for (int m = 0; m < touched; m += RUN)
            kernels->gather(c, m, hk_min_int(m + RUN, touched), gradient);
    }
    return stiffer;
}

void hk_touches_add_gradient(hk_contacts *c, const hk_places *q, void *gradient)
{
    hk_touches *t = c->touches;
    const hk_push_table *kernels = hk_lanes_best(q->base ? HK_SINGLE : HK_DOUBLE_PRECISION)->push;
    if (t->version < 0) return;
    if (t->kernels != kernels) c->status = fill_lean(c, kernels);
    if (c->status != HK_OK) {
        t->version = -1;
        return;
    }
    if (!t->placed) find_away(c, q);
    t->placed = false;
    bool stiffer = find_forces(c, kernels, gradient);
    if (stiffer || !t->blocks) find_blocks(c);
}

double hk_touches_precondition(hk_contacts *c, const hk_touch_step *step)
{
    const hk_touches *t = c->touches;
    double least = 1;
    if (t->version < 0 || !t->kernels) return 1;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(min : least)
    for (int m = 0; m < t->touched_count; m += RUN)
        least = fmin(least,
                     t->kernels->precondition(c, step, m, hk_min_int(m + RUN, t->touched_count)));
    return least;
}
