#include "contact/touches.h"

#include <math.h>

enum { RUN = 128 };  // contacts whose energies are added up one after the other

// Part of a gap that both sides together may take between two centres.
#define SHARE 0.9
// Part of the reach of a list that points may use; the rest is for rounding.
#define REACHED 0.95

// ---------------------------------------------------------------- creation

hk_status hk_touches_create(const hk_contacts *c, hk_touches **touches)
{
    hk_touches *t = HK_NEW(hk_touches);
    if (!t) return HK_NO_MEMORY;
    *touches = t;
    t->version = -1;
    t->centre = HK_ZEROS(double, 3 * (size_t)c->point_count);
    t->away = HK_ZEROS(double, 3 * (size_t)c->point_count);
    t->ball = HK_ZEROS(double, c->body_points);
    t->soft = HK_ZEROS(double, c->body_points);
    t->block = HK_ZEROS(double, 6 * (size_t)c->body_points);
    t->uses.start = HK_ZEROS(int64_t, c->body_points + 1);
    bool complete = t->centre && t->away && t->ball && t->soft && t->block && t->uses.start;
    return complete ? HK_OK : HK_NO_MEMORY;  // contacts frees them
}

void hk_touches_free(hk_touches *t)
{
    if (!t) return;
    void *const arrays[] = {t->centre,     t->away,     t->gap,     t->touch,  t->near, t->turns,
                            t->uses.start, t->uses.use, t->ball,    t->soft,   t->push, t->bend,
                            t->drag,       t->block,    t->partial, t->impulse};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
    hk_free(t);
}

static hk_status reserve_list(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(hk_reserve((void **)&t->gap, 0, sizeof(double), &t->gap_capacity, c->count));
    HK_TRY(hk_reserve((void **)&t->touch, 0, sizeof(hk_touch), &t->touch_capacity, c->count));
    HK_TRY(hk_reserve((void **)&t->near, 0, sizeof *t->near, &t->near_capacity, c->count));
    HK_TRY(hk_reserve((void **)&t->partial, 0, sizeof(double), &t->partial_capacity,
                      (c->count + c->slide_count) / RUN + 2));
    return hk_reserve((void **)&t->drag, 0, 4 * sizeof(double), &t->drag_capacity, c->slide_count);
}

static hk_status reserve_near(hk_touches *t)
{
    HK_TRY(hk_reserve((void **)&t->push, 0, sizeof(double), &t->push_capacity, t->near_count));
    return hk_reserve((void **)&t->bend, 0, sizeof(double), &t->bend_capacity, t->near_count);
}

// ---------------------------------------------------------------- where points are

// Into contacts->x; the farthest that points are from where they were detected, and from the
// centre.
static double gather(hk_contacts *c, const hk_places *q, double *moved)
{
    const hk_touches *t = c->touches;
    double base = 0, centre = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : base, centre)
    for (int p = 0; p < c->point_count; p++) {
        double *to = c->x + 3 * (size_t)p, d[3];
        for (int i = 0; i < 3 && p < c->body_points; i++)
            to[i] = hk_place_of(q, 4 * (int64_t)c->vertex[p] + i);
        closest_minus(to, c->base + 3 * (size_t)p, d);
        base = fmax(base, closest_dot(d, d));
        closest_minus(to, t->centre + 3 * (size_t)p, d);
        centre = fmax(centre, closest_dot(d, d));
    }
    *moved = sqrt(centre);
    return sqrt(base);
}

// A list that serves for as long as points move as they did. Where that is farther than lists are
// worth while, for a part of it.
static hk_status need_list(hk_contacts *c, double away, double motion)
{
    double wanted = fmin(motion, 0.5 * c->widest);
    if (hk_contacts_reach(c, (away + wanted) / REACHED)) return HK_OK;
    double reach = fmin(fmax(4 * wanted, 0.5 * c->settings->distance), c->widest);
    return hk_contacts_detect(c, reach);
}

// ---------------------------------------------------------------- contacts at the centre

// How far corners are from their sides of the slab, and what they may take of it: half, or all
// where the other side stands still.
static void find_rooms(const hk_contacts *c, const hk_contact *k, const double x[4][3],
                       hk_touch *to)
{
    double height[4], side[2] = {0, 0};
    // Relative to one corner: differences are exact where far coordinates are not.
    for (int v = 0; v < 4; v++) {
        double d[3];
        closest_minus(x[v], x[0], d);
        height[v] = closest_dot(to->normal, d);
        side[v >= to->firsts] += fabs(to->c[v]) * height[v];
    }
    for (int v = 0; v < 4; v++) {
        bool first = v < to->firsts, alone = k->sides[first] >= c->settings->body_count;
        double room = fmax(0, first ? height[v] - side[0] : side[1] - height[v]);
        if (k->pair.kind == HK_VERTEX_PLANE && !first) room = 0;  // it is flat
        to->room[v] = (alone ? SHARE : 0.5 * SHARE) * fmax(0, to->gap) + room;
    }
}

// Σ |c| over corners of bodies. The matrix c cᵀ of them is bounded by the diagonal |c| Σ |c|.
static double spread_of(const hk_contacts *c, const int32_t point[4], const double weight[4])
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        if (point[v] < c->body_points) sum += fabs(weight[v]);
    return sum;
}

// The energy of a contact, J, its gap, and where it is near the rest of it.
static double measure(const hk_contacts *c, size_t number, double *gap)
{
    hk_touches *t = c->touches;
    const hk_contact *k = &c->list[number];
    hk_touch *to = &t->touch[number];
    double x[4][3];
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    *gap = at.distance - k->pair.thickness;
    if (!(*gap < t->limit)) return 0;
    memcpy(to->point, k->point, sizeof to->point);
    memcpy(to->c, at.closest.c, sizeof to->c);
    to->firsts = hk_contact_firsts(k);
    to->turn = at.mollified ? 0 : -1;  // (only of those that push)
    to->gap = *gap;
    to->pair = k->pair;
    to->friction = hk_contact_friction(c->settings, k->sides[0], k->sides[1]);
    if (at.b.energy == 0) pair_mollify(&k->pair, (const double(*)[3])x, &at);
    to->part = at.m.energy;
    for (int i = 0; i < 3; i++) to->normal[i] = at.closest.w[i] / at.distance;
    to->spread = spread_of(c, to->point, to->c);
    find_rooms(c, k, (const double(*)[3])x, to);
    return pair_energy(&k->pair, &at);
}

static double slide_of(const hk_contacts *c, const double *x, const hk_slide *s, double slide[3])
{
    double at[4][3], from[4][3];
    hk_contact_corners(x, s->point, at);
    hk_contact_corners(c->from, s->point, from);
    friction_slide(&s->friction, (const double(*)[3])at, (const double(*)[3])from, slide);
    return sqrt(closest_dot(slide, slide));
}

// Closest points of the contacts that may be near: the others have come nearer by twice the motion
// at the most. Returns the energy.
static double measure_all(hk_contacts *c, double moved)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->count, all = count + (int64_t)c->slide_count;
    int64_t runs = (all + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0, slide[3];
        for (int64_t k = r * RUN; k < all && k < (r + 1) * RUN; k++) {
            if (k >= count) {
                const hk_slide *s = &c->slides[k - count];
                slide_of(c, c->x, s, slide);
                sum += friction_energy(&s->friction, slide);
                continue;
            }
            t->gap[k] -= 2 * moved;
            if (t->gap[k] < t->limit) sum += measure(c, (size_t)k, &t->gap[k]);
        }
        t->partial[r] = sum;
    }
    double energy = 0;
    for (int64_t r = 0; r < runs; r++) energy += t->partial[r];
    return energy;
}

// ---------------------------------------------------------------- the near ones

// Their numbers; whether these are others than before.
static bool list_near(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t count = 0;
    bool same = true;
    for (size_t k = 0; k < c->count; k++) {
        if (!(t->gap[k] < t->limit)) continue;
        same = same && count < t->near_count && t->near[count] == k;
        t->near[count++] = k;
    }
    same = same && count == t->near_count;
    t->near_count = count;
    return !same;
}

static hk_status fill_uses(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    hk_contact_uses *u = &t->uses;
    int points = c->body_points;
    int64_t total = 0;
    memset(u->start, 0, sizeof(int64_t) * ((size_t)points + 1));
    for (size_t n = 0; n < t->near_count; n++)
        for (int v = 0; v < 4; v++) {
            int32_t p = t->touch[t->near[n]].point[v];
            if (p < points) u->start[p + 1]++, total++;
        }
    HK_TRY(hk_reserve((void **)&u->use, 0, sizeof *u->use, &u->capacity, (size_t)total));
    for (int p = 0; p < points; p++) u->start[p + 1] += u->start[p];
    // From the last to the first, so that every start ends where it belongs.
    for (size_t n = t->near_count; n-- > 0;)
        for (int v = 3; v >= 0; v--) {
            int32_t p = t->touch[t->near[n]].point[v];
            if (p < points) u->use[--u->start[p + 1]] = 4 * (int64_t)n + v;
        }
    for (int p = 0; p < points; p++) u->start[p] = u->start[p + 1];
    u->start[points] = total;
    return HK_OK;
}

// What nearly parallel edges add to the forces stays as it is until the next centre.
static hk_status find_turns(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t count = 0;
    for (size_t n = 0; n < t->near_count; n++) count += t->touch[t->near[n]].turn >= 0;
    HK_TRY(hk_reserve((void **)&t->turns, 0, sizeof *t->turns, &t->turn_capacity, count));
    count = 0;
    for (size_t n = 0; n < t->near_count; n++) {
        hk_touch *touch = &t->touch[t->near[n]];
        const hk_pair *pair = &touch->pair;
        double x[4][3], *to = t->turns[count];
        if (touch->turn < 0) continue;
        hk_contact_corners(c->x, touch->point, x);
        hk_pair_state at = pair_state(pair, (const double(*)[3])x);
        pair_parallel_gradient(&at, to);
        for (int k = 0; k < 12; k++) to[k] *= pair->stiffness * at.m.slope * at.b.energy;
        touch->turn = (int32_t)count++;
    }
    t->turn_count = count;
    return HK_OK;
}

// How far points may go by the contacts that are not near, and at least by all.
static void find_balls(const hk_contacts *c)
{
    hk_touches *t = c->touches;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) {
        double d[3], soft = INFINITY;
        closest_minus(c->x + 3 * (size_t)p, c->base + 3 * (size_t)p, d);
        double ball = fmax(0, REACHED * c->reach - sqrt(closest_dot(d, d)));
        for (int64_t k = c->uses.start[p]; k < c->uses.start[p + 1]; k++) {
            size_t number = (size_t)c->uses.use[k] / 4;
            if (t->gap[number] < t->limit)
                soft = fmin(soft, t->touch[number].room[c->uses.use[k] % 4]);
            else
                ball = fmin(ball, 0.5 * SHARE * t->gap[number]);
        }
        t->ball[p] = ball;
        t->soft[p] = fmin(soft, ball);
    }
}

// ---------------------------------------------------------------- centres

static hk_status center(hk_contacts *c, double away, double moved, double motion, double *energy)
{
    hk_touches *t = c->touches;
    double distance = c->settings->distance;
    if (t->version < 0) moved = 0;
    if (!isfinite(away) || !isfinite(moved))
        return hk_fail(HK_BAD_INPUT, "contact: a position is not finite");
    t->motion = fmax(fmax(moved, motion), 0.5 * t->motion);
    HK_TRY(need_list(c, away, fmax(motion, 2 * t->motion)));
    bool other = t->version != c->version;
    double limit = distance + fmin(fmax(0.25 * distance, 4 * t->motion), 2 * distance);
    if (motion > 0) limit = fmax(limit, distance + 2 * t->motion);  // nothing may be missed
    t->limit = limit;
    HK_TRY(reserve_list(c));
    for (size_t k = 0; k < c->count && other; k++) t->gap[k] = -INFINITY;
    *energy = measure_all(c, moved);
    if (list_near(c) || other) HK_TRY(fill_uses(c));
    HK_TRY(find_turns(c));
    HK_TRY(reserve_near(t));
    find_balls(c);
    memcpy(t->centre, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    t->version = c->version;
    return HK_OK;
}

double hk_touches_center(hk_contacts *c, const hk_places *q, double motion)
{
    double moved, energy = INFINITY, away = gather(c, q, &moved);
    c->status = center(c, away, moved, motion, &energy);
    if (c->status != HK_OK) c->touches->version = -1;
    return c->status == HK_OK ? energy : INFINITY;
}

// ---------------------------------------------------------------- forces

static void find_away(const hk_contacts *c, const hk_places *q)
{
    hk_touches *t = c->touches;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->point_count; p++) {
        size_t at = 3 * (size_t)p;
        bool body = p < c->body_points;
        for (size_t i = 0; i < 3; i++)
            t->away[at + i] =
                (body ? hk_place_of(q, 4 * (int64_t)c->vertex[p] + (int64_t)i) : c->x[at + i]) -
                t->centre[at + i];
    }
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

// Along the normals.
static void find_pushes(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    hk_contact_law law = c->settings->law;
    int64_t count = (int64_t)t->near_count;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        const hk_touch *k = &t->touch[t->near[n]];
        double gap = k->gap;
        for (int v = 0; v < 4; v++)
            gap += k->c[v] * closest_dot(k->normal, t->away + 3 * (size_t)k->point[v]);
        slopes_of(law, k->pair.width, gap, &t->push[n], &t->bend[n]);
        t->push[n] *= k->part * k->pair.stiffness;
        t->bend[n] *= k->part * k->pair.stiffness;
    }
}

static void find_drags(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t count = (int64_t)c->slide_count;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (count > RUN)
    for (int64_t n = 0; n < count; n++) {
        const hk_slide *s = &c->slides[n];
        const hk_friction *f = &s->friction;
        double slide[3] = {0, 0, 0};
        for (int v = 0; v < 4; v++) {
            size_t at = 3 * (size_t)s->point[v];
            for (size_t i = 0; i < 3; i++)
                slide[i] += f->c[v] * (t->centre[at + i] - c->from[at + i] + t->away[at + i]);
        }
        double through = closest_dot(slide, f->normal);
        for (int i = 0; i < 3; i++) slide[i] -= through * f->normal[i];
        double pull = f->most * contact_slip_ratio(f->slip, sqrt(closest_dot(slide, slide)));
        for (int i = 0; i < 3; i++) t->drag[4 * n + i] = pull * slide[i];
        t->drag[4 * n + 3] = pull;
    }
}

// Adds `along` n nᵀ + `across` (1 − n nᵀ).
static void add_block(double along, double across, const double n[3], double block[6])
{
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++, k++)
            block[k] += (along - across) * n[i] * n[j] + (i == j ? across : 0);
}

// At a point: force, and a block that bounds its part of the matrix.
static void sum_contacts(const hk_contacts *c, int p, double g[3], double block[6])
{
    const hk_touches *t = c->touches;
    for (int64_t k = t->uses.start[p]; k < t->uses.start[p + 1]; k++) {
        int64_t n = t->uses.use[k] / 4, v = t->uses.use[k] % 4;
        const hk_touch *touch = &t->touch[t->near[n]];
        if (t->bend[n] == 0 || touch->c[v] == 0) continue;
        double push = touch->c[v] * t->push[n];
        for (int i = 0; i < 3; i++) g[i] += push * touch->normal[i];
        add_block(fabs(touch->c[v]) * touch->spread * t->bend[n], 0, touch->normal, block);
        for (int i = 0; i < 3 && touch->turn >= 0; i++) g[i] += t->turns[touch->turn][3 * v + i];
    }
}

// Of friction that of a spring with the same force: Coulomb's is below it on both sides.
static void sum_slides(const hk_contacts *c, int p, double g[3], double block[6])
{
    const hk_touches *t = c->touches;
    for (int64_t k = c->slide_uses.start[p]; k < c->slide_uses.start[p + 1]; k++) {
        int64_t n = c->slide_uses.use[k] / 4, v = c->slide_uses.use[k] % 4;
        const hk_friction *f = &c->slides[n].friction;
        double spread = spread_of(c, c->slides[n].point, f->c);
        for (int i = 0; i < 3; i++) g[i] += f->c[v] * t->drag[4 * n + i];
        add_block(0, fabs(f->c[v]) * spread * t->drag[4 * n + 3], f->normal, block);
    }
}

static void add(void *gradient, bool single, int64_t at, const double g[3])
{
    for (int i = 0; i < 3; i++)
        if (single)
            ((float *)gradient)[at + i] = (float)((double)((float *)gradient)[at + i] + g[i]);
        else
            ((double *)gradient)[at + i] += g[i];
}

void hk_touches_add_gradient(hk_contacts *c, const hk_places *q, void *gradient)
{
    hk_touches *t = c->touches;
    if (t->version < 0) return;
    find_away(c, q);
    find_pushes(c);
    find_drags(c);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) {
        double g[3] = {0, 0, 0}, *block = t->block + 6 * (size_t)p;
        for (int i = 0; i < 6; i++) block[i] = 0;
        bool slides = c->slide_count > 0 && c->slide_uses.start[p] < c->slide_uses.start[p + 1];
        if (!slides && t->uses.start[p] == t->uses.start[p + 1]) continue;
        sum_contacts(c, p, g, block);
        if (slides) sum_slides(c, p, g, block);
        add(gradient, q->base != NULL, 4 * (int64_t)c->vertex[p], g);
    }
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
    for (int p = 0; p < c->body_points; p++) {
        const double *block = t->block + 6 * (size_t)p;
        if (block[0] + block[3] + block[5] > 0)
            least = fmin(least, precondition(step, 4 * (int64_t)c->vertex[p], block));
    }
    return least;
}
