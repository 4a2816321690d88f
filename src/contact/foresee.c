// Contacts that a step would make, for Newton's method.
//
// A barrier of a millionth of a metre is felt by nobody who is two millionths away. Where bodies
// are about to fall by a millimetre, Newton's direction leads through all of them, the guard lets
// it go a thousandth of its way, the one pair that stopped it begins to push, and the next
// direction is stopped by another. So directions are found with the contacts at their ends: the
// function that is minimised is the quadratic one of ε, and for every pair on the way with its gap
// g = n · Σ c_i (x_i + d_i), normal and closest points being those where the two meet,
//
//   ½ κ (w − g)²  where g < w.
//
// Pairs come and go until they are those of the direction itself (an active set, or Newton's method
// for a function of pieces).
#include <math.h>

#include "contact/contacts.h"

// How far b of the closest points counts among the features of a pair (pair.h): with all of those
// that are the same.
static double part_that_counts(const hk_pair *pair, const double x[4][3], double gap)
{
    hk_pair wide = *pair;
    wide.width = gap * (1 + 1e-9);
    hk_pair_state at = pair_state(&wide, x);
    return at.parts > 0 ? at.m.energy * at.part[0].coefficient : 0;
}

// Closest points along the moves are where the two meet, or else at their end.
static hk_closest meet(const hk_contacts *c, const hk_contact *k, double x[4][3], double *distance)
{
    hk_way_pair way = {.kind = k->pair.kind, .thickness = k->pair.thickness};
    memcpy(way.point, k->point, sizeof way.point);
    if (k->pair.kind == HK_VERTEX_PLANE)
        hk_contact_corners(c->x, k->point, x);
    else
        hk_contacts_advance(c, &way, 0, 1, x);
    hk_closest at = pair_closest(k->pair.kind, (const double(*)[3])x);
    *distance = pair_distance(k->pair.kind, &at, (const double(*)[3])x);
    return at;
}

// Whether a contact that does not push yet would at the end of the moves.
static bool foresee(const hk_contacts *c, const hk_contact *k, hk_foreseen *to)
{
    double x[4][3], start[4][3], apart[3] = {0, 0, 0}, move[3] = {0, 0, 0}, distance;
    double gap = hk_contacts_gap(c, k), width = k->pair.width;
    if (!(gap > width)) return false;
    double closing = hk_contacts_closing(c, k->pair.kind, k->point, true);
    if (closing <= fmin(HK_GAP_TO_CLOSE * gap, gap - width)) return false;
    hk_closest at = meet(c, k, x, &distance);
    if (!(distance > 0)) return false;
    hk_contact_corners(c->x, k->point, start);
    closest_combine((const double(*)[3])start, at.c, apart);
    for (int i = 0; i < 3; i++) {
        to->normal[i] = at.w[i] / distance;
        for (int v = 0; v < 4; v++)
            move[i] += at.c[v] * c->move[3 * (size_t)k->point[v] + (size_t)i];
    }
    to->missing = closest_dot(to->normal, apart) - k->pair.thickness - width;
    if (!(to->missing > 0 && to->missing + closest_dot(to->normal, move) < 0)) return false;
    gap = distance - k->pair.thickness;
    to->stiffness = k->pair.stiffness * part_that_counts(&k->pair, (const double(*)[3])x, gap);
    if (!(to->stiffness > 0) || !isfinite(to->stiffness)) return false;
    memcpy(to->point, k->point, sizeof to->point);
    memcpy(to->c, at.c, sizeof to->c);
    return true;
}

// All pairs that can meet on the way, into c->ahead or in the list.
static hk_status find_ahead(hk_contacts *c, const hk_contact **list, size_t *count)
{
    *list = c->list;
    *count = c->count;
    if (hk_contacts_way_is_listed(c)) return HK_OK;
    c->sweeps++;
    c->together = true;
    hk_status status = hk_contacts_find_pairs(c, hk_contacts_swept_boxes, c->settings->distance);
    c->together = false;
    HK_TRY(status);
    HK_TRY(hk_contacts_make(c, INFINITY, &c->ahead, &c->ahead_capacity, count));
    *list = c->ahead;
    return HK_OK;
}

// Adds them to what is expected: patterns of matrices that are made from then on have room for it.
// What was expected long ago is forgotten.
static hk_status expect(hk_contacts *c)
{
    enum { LISTS = 4 };
    if (c->expected_count > LISTS * c->foreseen_count) c->expected_count = 0;
    size_t all = c->expected_count + c->foreseen_count;
    HK_TRY(hk_reserve((void **)&c->expected, c->expected_count, sizeof *c->expected,
                      &c->expected_capacity, all));
    for (size_t k = 0; k < c->foreseen_count; k++)
        memcpy(c->expected[c->expected_count++], c->foreseen[k].point, sizeof *c->expected);
    return HK_OK;
}

static bool is_same(const hk_foreseen *a, const hk_foreseen *b)
{
    return memcmp(a->point, b->point, sizeof a->point) == 0;
}

// Keeps those of a list that the moves bring into contact; whether they are others than before.
static hk_status choose(hk_contacts *c, const hk_contact *list, size_t count, bool *changed)
{
    size_t chosen = 0, before = c->foreseen_count;
    HK_TRY(hk_reserve((void **)&c->foreseen, before, sizeof *c->foreseen, &c->foreseen_capacity,
                      before + count));
    hk_foreseen *found = c->foreseen + before;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < count; k++)
        if (!foresee(c, &list[k], &found[k])) found[k].stiffness = 0;
    for (size_t k = 0; k < count; k++) {
        hk_foreseen next = found[k];
        if (next.stiffness == 0) continue;
        *changed = *changed || chosen >= before || !is_same(&next, &c->foreseen[chosen]);
        c->foreseen[chosen++] = next;
    }
    *changed = *changed || chosen != before;
    c->foreseen_count = chosen;
    return HK_OK;
}

static bool look(hk_contacts *c, const double *x, const double *step)
{
    const hk_contact *list;
    size_t count;
    bool changed = false;
    hk_contacts_take_step(c, x, step, 1);
    double longest = hk_contacts_longest_move(c);
    if (!isfinite(longest)) return false;
    c->status = find_ahead(c, &list, &count);
    if (c->status == HK_OK) c->status = choose(c, list, count, &changed);
    if (c->status == HK_OK && changed) c->status = expect(c);
    return c->status == HK_OK && changed;
}

bool hk_contacts_foresee(hk_contacts *c, const double *x, const double *step)
{
    if (!hk_contacts_guarded(c)) return false;
    double start = hk_now(), detected = c->detect_s;
    bool changed = look(c, x, step);
    c->guard_s += hk_now() - start - (c->detect_s - detected);
    return changed;
}

void hk_contacts_forget_foreseen(hk_contacts *c)
{
    c->foreseen_count = 0;
}

void hk_contacts_add_foreseen(const hk_contacts *c, double *gradient)
{
    for (size_t k = 0; k < c->foreseen_count; k++) {
        const hk_foreseen *f = &c->foreseen[k];
        for (int v = 0; v < 4; v++) {
            if (f->point[v] >= c->body_points) continue;
            double *to = gradient + 4 * (size_t)c->vertex[f->point[v]];
            for (int i = 0; i < 3; i++) to[i] += f->stiffness * f->missing * f->c[v] * f->normal[i];
        }
    }
}
