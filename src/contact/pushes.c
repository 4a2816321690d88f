// Forces of the contacts that push around a centre (touches.h), iteration after iteration.
#include <math.h>

#include "contact/touches.h"

enum { RUN = 128 };  // contacts whose energies are added up one after the other

// By how much contacts may become stiffer before the blocks are made anew.
#define STIFFER 1.5

// ---------------------------------------------------------------- at a centre

static hk_status reserve(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t count = HK_PAIR_PARTS * t->near_count, slides = c->slide_count;
    HK_TRY(hk_reserve((void **)&t->push, 0, sizeof *t->push, &t->push_capacity, count));
    HK_TRY(hk_reserve((void **)&t->force, 0, 4 * sizeof(double), &t->force_capacity, count));
    HK_TRY(hk_reserve((void **)&t->used, 0, sizeof(double), &t->used_capacity, count));
    HK_TRY(hk_reserve((void **)&t->weight, 0, sizeof(double), &t->weight_capacity, 4 * count));
    HK_TRY(hk_reserve((void **)&t->drag, 0, 4 * sizeof(double), &t->drag_capacity, slides));
    HK_TRY(hk_reserve((void **)&t->slid, 0, 4 * sizeof(double), &t->slid_capacity, slides));
    HK_TRY(hk_reserve((void **)&t->slide_weight, 0, sizeof(double), &t->slide_weight_capacity,
                      4 * slides));
    HK_TRY(hk_reserve((void **)&t->partial, 0, sizeof(double), &t->partial_capacity,
                      (count + slides) / RUN + 2));
    return hk_reserve((void **)&t->used_drag, 0, sizeof(double), &t->used_drag_capacity, slides);
}

// What nearly parallel edges add to the forces stays as it is until the next centre.
static void add_turn(const hk_contacts *c, const hk_touch *k, const hk_pair_state *at)
{
    hk_touches *t = c->touches;
    double g[12], turn = k->pair.stiffness * at->m.slope * at->sum;
    pair_parallel_gradient(at, g);
    for (int i = 0; i < 12; i++)
        if (k->point[i / 3] < c->body_points)
            t->turning[3 * (size_t)k->point[i / 3] + (size_t)(i % 3)] += turn * g[i];
    t->turns = true;
}

// The features of a contact that push, or may before the next centre: those that are within its
// width and a margin.
static void add_pushes(const hk_contacts *c, const hk_touch *k, double margin)
{
    hk_touches *t = c->touches;
    double x[4][3];
    hk_pair wide = k->pair;
    hk_contact_corners(t->centre, k->point, x);
    wide.width += margin;
    hk_pair_state at = pair_state(&wide, (const double(*)[3])x);
    for (int n = 0; n < at.parts; n++) {
        const hk_pair_part *part = &at.part[n];
        hk_push *to = &t->push[t->push_count];
        if (part->coefficient == 0 || part->distance == 0) continue;
        memcpy(to->point, k->point, sizeof to->point);
        memcpy(to->c, part->closest.c, sizeof to->c);
        for (int i = 0; i < 3; i++) to->normal[i] = part->closest.w[i] / part->distance;
        to->normal[3] = 0;
        to->gap = part->distance - k->pair.thickness;
        to->width = k->pair.width;
        to->stiffness = k->pair.stiffness * at.m.energy * part->coefficient;
        if (to->gap < t->least) t->least = to->gap;
        t->push_count++;
    }
    if (!at.mollified || !(k->gap < k->pair.width)) return;
    at = pair_state(&k->pair, (const double(*)[3])x);
    add_turn(c, k, &at);
}

static void fill_pushes(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    double margin = fmax(3 * t->motion, 0.02 * c->settings->distance);
    if (t->turns) memset(t->turning, 0, 3 * sizeof(double) * (size_t)c->body_points);
    t->turns = false;
    t->push_count = 0;
    t->least = INFINITY;
    for (size_t n = 0; n < t->near_count; n++) {
        const hk_touch *k = &t->touch[t->near[n]];
        if (k->gap < k->pair.width + margin) add_pushes(c, k, margin);
    }
}

static void fill_weights(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t uses = t->push_uses.start[c->body_points];
    for (int64_t k = 0; k < uses; k++)
        t->weight[k] = t->push[t->push_uses.use[k] / 4].c[t->push_uses.use[k] % 4];
}

static bool has_slides(const hk_contacts *c, int p)
{
    return c->slide_count > 0 && c->slide_uses.start[p] < c->slide_uses.start[p + 1];
}

static void list_touched(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    t->touched_count = 0;
    for (int p = 0; p < c->body_points; p++)
        if (t->push_uses.start[p] < t->push_uses.start[p + 1] || has_slides(c, p))
            t->touched[t->touched_count++] = p;
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
    int64_t uses = count > 0 ? c->slide_uses.start[c->body_points] : 0;
    for (int64_t k = 0; k < uses; k++)
        t->slide_weight[k] =
            c->slides[c->slide_uses.use[k] / 4].friction.c[c->slide_uses.use[k] % 4];
}

hk_status hk_touches_find_pushes(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(reserve(c));
    fill_pushes(c);
    HK_TRY(hk_touches_fill_uses(c, t->push, sizeof *t->push, NULL, t->push_count, &t->push_uses));
    fill_weights(c);
    list_touched(c);
    find_slid(c);
    t->blocks = false;
    return HK_OK;
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

// What has slid since the step began, and its length; of a press what is missing, along the normal.
static double slide_at(const hk_contacts *c, int64_t n, double slide[3])
{
    const hk_touches *t = c->touches;
    const hk_slide *s = &c->slides[n];
    quad sum = *(const quad *)(t->slid + 4 * n);
    for (int v = 0; v < 4; v++)
        sum += s->friction.c[v] * *(const quad *)(t->away + 4 * (size_t)s->point[v]);
    double through = sum[0] * s->friction.normal[0] + sum[1] * s->friction.normal[1] +
                     sum[2] * s->friction.normal[2];
    if (s->press) {
        double missing = fmax(0, s->friction.slip - through);
        for (int i = 0; i < 3; i++) slide[i] = -missing * s->friction.normal[i];
        return missing;
    }
    for (int i = 0; i < 3; i++) slide[i] = sum[i] - through * s->friction.normal[i];
    return sqrt(closest_dot(slide, slide));
}

// The energy of a slide, and the stiffness of a spring with its force.
static double slide_energy(const hk_slide *s, double length)
{
    if (s->press) return press_energy(&s->friction, length);
    return s->friction.most * contact_slip(s->friction.slip, length).energy;
}
static double slide_pull(const hk_slide *s, double length)
{
    if (s->press) return s->friction.most;
    return s->friction.most * contact_slip_ratio(s->friction.slip, length);
}

double hk_touches_near_energy(hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)t->push_count, all = count + (int64_t)c->slide_count;
    int64_t runs = (all + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0, slide[3];
        for (int64_t n = r * RUN; n < all && n < (r + 1) * RUN; n++) {
            if (n >= count) {
                sum += slide_energy(&c->slides[n - count], slide_at(c, n - count, slide));
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

// b′ and b″, without the energy.
static void slopes_of(hk_contact_law law, double width, double gap, double *slope, double *bend)
{
    *slope = *bend = 0;
    if (gap >= width) return;
    if (law == HK_CONTACT_LOG) {
        hk_contact_value b = contact_value(law, width, gap);
        *slope = b.slope;
        *bend = b.curvature;
    } else if (law == HK_CONTACT_PENALTY || gap >= 0.5 * width) {
        *slope = gap - width;
        *bend = 1;
    } else {
        *slope = -0.25 * width * width / gap;
        *bend = -*slope / gap;
    }
}

// Along the normals; true: some have become much stiffer than the blocks have them.
static bool push_all(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    hk_contact_law law = c->settings->law;
    int64_t count = (int64_t)t->push_count;
    int stiffer = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) \
    reduction(|                                                   \
              : stiffer) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        const hk_push *k = &t->push[n];
        double slope, bend, *to = t->force + 4 * n;
        slopes_of(law, k->width, gap_at(t, k), &slope, &bend);
        *(quad *)to = slope * k->stiffness * *(const quad *)k->normal;
        to[3] = bend * k->stiffness;
        stiffer |= t->blocks && to[3] > STIFFER * t->used[n];
    }
    return stiffer;
}

static bool drag_all(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->slide_count;
    int stiffer = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) \
    reduction(|                                                   \
              : stiffer) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        double slide[3], *to = t->drag + 4 * n;
        double pull = slide_pull(&c->slides[n], slide_at(c, n, slide));
        for (int i = 0; i < 3; i++) to[i] = pull * slide[i];
        to[3] = pull;
        stiffer |= t->blocks && pull > STIFFER * t->used_drag[n];
    }
    return stiffer;
}

static void add(void *gradient, bool single, int64_t at, const double g[3])
{
    for (int i = 0; i < 3; i++)
        if (single)
            ((float *)gradient)[at + i] = (float)((double)((float *)gradient)[at + i] + g[i]);
        else
            ((double *)gradient)[at + i] += g[i];
}

static void add_forces(const hk_contacts *c, const hk_places *q, void *gradient)
{
    const hk_touches *t = c->touches;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int m = 0; m < t->touched_count; m++) {
        int p = t->touched[m];
        quad g = {0, 0, 0, 0};
        int64_t first = t->push_uses.start[p], last = t->push_uses.start[p + 1];
        for (int64_t k = first; k < last; k++)
            g += t->weight[k] * *(const quad *)(t->force + (t->push_uses.use[k] & ~(int64_t)3));
        int64_t end = c->slide_count > 0 ? c->slide_uses.start[p + 1] : 0;
        for (int64_t k = end > 0 ? c->slide_uses.start[p] : 0; k < end; k++) {
            int64_t use = c->slide_uses.use[k];
            g += t->slide_weight[k] * *(const quad *)(t->drag + (use & ~(int64_t)3));
        }
        for (int i = 0; i < 3 && t->turns; i++) g[i] += t->turning[3 * (size_t)p + (size_t)i];
        const double sum[3] = {g[0], g[1], g[2]};
        add(gradient, q->base != NULL, 4 * (int64_t)c->vertex[p], sum);
    }
}

// ---------------------------------------------------------------- blocks

// Σ |c| over corners of bodies. The matrix c cᵀ of them is bounded by the diagonal |c| Σ |c|.
static double spread_of(const hk_contacts *c, const int32_t point[4], const double weight[4])
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        if (point[v] < c->body_points) sum += fabs(weight[v]);
    return sum;
}

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
    for (int64_t k = t->push_uses.start[p]; k < t->push_uses.start[p + 1]; k++) {
        const hk_push *push = &t->push[t->push_uses.use[k] / 4];
        double bend = t->used[t->push_uses.use[k] / 4], weight = fabs(t->weight[k]);
        if (bend * weight == 0) continue;
        add_block(weight * spread_of(c, push->point, push->c) * bend, 0, push->normal, block);
    }
    if (!has_slides(c, p)) return;
    // Of friction that of a spring with the same force: Coulomb's is below it on both sides.
    for (int64_t k = c->slide_uses.start[p]; k < c->slide_uses.start[p + 1]; k++) {
        int64_t n = c->slide_uses.use[k] / 4, v = c->slide_uses.use[k] % 4;
        const hk_friction *f = &c->slides[n].friction;
        double bend = fabs(f->c[v]) * spread_of(c, c->slides[n].point, f->c) * t->used_drag[n];
        bool press = c->slides[n].press;
        add_block(press ? bend : 0, press ? 0 : bend, f->normal, block);
    }
}

// For each vertex a block that bounds its part of the matrix.
static void find_blocks(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    // What does not push yet may do so at any time.
    for (size_t n = 0; n < t->push_count; n++)
        t->used[n] = fmax(0, fmax(t->force[4 * n + 3], t->push[n].stiffness));
    for (size_t n = 0; n < c->slide_count; n++) t->used_drag[n] = t->drag[4 * n + 3];
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int m = 0; m < t->touched_count; m++) {
        int p = t->touched[m];
        double *block = t->block + 6 * (size_t)p;
        for (int i = 0; i < 6; i++) block[i] = 0;
        sum_blocks(c, p, block);
    }
    t->blocks = true;
}

void hk_touches_add_gradient(hk_contacts *c, const hk_places *q, void *gradient)
{
    hk_touches *t = c->touches;
    if (t->version < 0) return;
    if (!t->placed) find_away(c, q);
    t->placed = false;
    bool stiffer = push_all(c);
    stiffer |= drag_all(c);
    add_forces(c, q, gradient);
    if (stiffer || !t->blocks) find_blocks(c);
}

// ---------------------------------------------------------------- Jacobi's iteration

// (diagonal + block) x = g, which is positive definite, by its Cholesky factor.
static void solve_block(const double diagonal[3], const double block[6], const double g[3],
                        double x[3])
{
    double a = block[0] + diagonal[0], l10 = block[1] / a, l20 = block[2] / a;
    double d1 = block[3] + diagonal[1] - l10 * block[1];
    double b = block[4] - l10 * block[2], l21 = b / d1;
    double d2 = block[5] + diagonal[2] - l20 * block[2] - l21 * b;
    double y1 = g[1] - l10 * g[0], y2 = g[2] - l20 * g[0] - l21 * y1;
    x[2] = y2 / d2;
    x[1] = y1 / d1 - l21 * x[2];
    x[0] = g[0] / a - l10 * x[1] - l20 * x[2];
}

static double load(const void *vector, bool single, int64_t at)
{
    return single ? (double)((const float *)vector)[at] : ((const double *)vector)[at];
}

// The gradient at a vertex becomes the one whose step with the diagonal alone is that of both.
static double precondition(const hk_touch_step *s, int64_t at, const double block[6])
{
    bool single = s->single;
    double pull[3], g[3], diagonal[3], x[3], change[3];
    double inertia = load(s->target, single, at + 3);
    for (int i = 0; i < 3; i++) {
        double inverse = load(s->inverse, single, at + i);
        if (!(inverse > 0)) return 1;  // it is held
        diagonal[i] = 1 / inverse;
        pull[i] = inertia * (load(s->q, single, at + i) - load(s->target, single, at + i)) -
                  load(s->force, single, at + i);
        g[i] = load(s->gradient, single, at + i) + pull[i];
    }
    solve_block(diagonal, block, g, x);
    for (int i = 0; i < 3; i++) change[i] = diagonal[i] * x[i] - g[i];
    add(s->gradient, single, at, change);
    return inertia /
           (fmin(diagonal[0], fmin(diagonal[1], diagonal[2])) + block[0] + block[3] + block[5]);
}

double hk_touches_precondition(hk_contacts *c, const hk_touch_step *step)
{
    const hk_touches *t = c->touches;
    double least = 1;
    if (t->version < 0) return 1;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(min : least)
    for (int m = 0; m < t->touched_count; m++) {
        int p = t->touched[m];
        double part = precondition(step, 4 * (int64_t)c->vertex[p], t->block + 6 * (size_t)p);
        least = part < least ? part : least;
    }
    return least;
}
