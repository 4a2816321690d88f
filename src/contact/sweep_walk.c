// How far bodies may go on the ways that pairs were found for.
#include "contact/sweep_parts.h"

// Searches, each with wider margins for points that had left theirs in the one before.
enum { MOST_SEARCHES = 10 };
// So often what bodies do to themselves by this is searched for.
enum { OWN_ROUNDS = 4 };

static int root_of(const int32_t *parent, int b)
{
    while (parent[b] != b) b = parent[b];
    return b;
}

// Which bodies go the same part of their ways: those whose boxes overlap.
static void join_bodies(hk_sweep *s)
{
    for (int b = 0; b < s->body_count; b++) {
        s->parent[b] = b;
        s->part[b] = 1;
    }
    for (size_t k = 0; k < s->task_count; k++) {
        const int32_t *side = s->tasks[k].sides;
        if (side[1] >= s->body_count) continue;
        int a = root_of(s->parent, side[0]), b = root_of(s->parent, side[1]);
        s->parent[hk_max_int(a, b)] = hk_min_int(a, b);
    }
}

// The part of its way on which a body does not come in its own.
static hk_status free_part(hk_sweep *s, int b, void *off)
{
    return hk_sweep_fraction_of_self(s, b, ((const double *)off)[b], &s->bodies[b].slow);
}

typedef struct walk {
    double *x;
    const double *to;
    double *off;  // [body_count] m, how far moves are from those that were looked for
} walk;

// Pairs of bodies with themselves that others, or shortening them, brought together join the list;
// whether there were any.
static hk_status add_own(hk_sweep *s, const walk *w, bool *any)
{
    *any = false;
    HK_TRY(hk_sweep_each_body(s, free_part, w->off));
    for (int b = 0; b < s->body_count; b++) {
        hk_sweep_own own = {.sweep = s, .found = &s->found[0]};
        if (s->bodies[b].slow >= 1) continue;
        own.found->count = 0;
        HK_TRY(hk_sweep_search_own(s, b, &own));
        HK_TRY(hk_reserve((void **)&s->pairs, s->count, sizeof *s->pairs, &s->room,
                          s->count + own.found->count));
        memcpy(s->pairs + s->count, own.found->list, own.found->count * sizeof *s->pairs);
        s->count += own.found->count;
        *any |= own.found->count > 0;
    }
    return HK_OK;
}

// What shortening one by one does not settle (`off` is NULL: how far bodies may go is known): all
// that hangs together goes the same part of its way. The same part of all ways leaves them where
// they were looked for.
static hk_status shorten_together(hk_sweep *s, bool settled, const double *off)
{
    hk_contacts *c = s->contacts;
    int bodies = s->body_count;
    join_bodies(s);
    for (size_t k = 0; k < s->count && !settled; k++) {
        const int32_t *side = s->pairs[k].sides;
        if (hk_sweep_is_safe(s, &s->pairs[k], false, 0)) continue;
        int root = root_of(s->parent, side[0] < bodies ? side[0] : side[1]);
        s->part[root] = hk_sweep_fraction(s, &s->pairs[k], s->part[root]);
    }
    if (off) HK_TRY(hk_sweep_each_body(s, free_part, (void *)off));
    for (int b = 0; b < bodies; b++) {
        int root = root_of(s->parent, b);
        s->part[root] = fmin(s->part[root], s->bodies[b].slow);
    }
    for (int b = 0; b < bodies; b++) {
        double part = s->part[root_of(s->parent, b)];
        s->bodies[b].slow = part;
        if (part >= 1) continue;
        s->bodies[b].followed = false;
        c->clamped += s->bodies[b].points[1] - s->bodies[b].points[0];
        for (int p = 3 * s->bodies[b].points[0]; p < 3 * s->bodies[b].points[1]; p++)
            c->move[p] *= part;
    }
    return HK_OK;
}

// Points by their moves, and what is inside as all of the body.
static hk_status move_body(hk_sweep *s, int b, void *context)
{
    const walk *w = context;
    const hk_contacts *c = s->contacts;
    const hk_body *body = &c->model->bodies[b];
    double slow = s->bodies[b].slow, *x = w->x;
    for (int64_t k = body->vertex_start; k < body->vertex_start + body->vertex_count; k++) {
        int64_t at = 4 * (int64_t)c->model->place[k], p = c->point_of[at / 4];
        for (int64_t i = 0; i < 3; i++)
            x[at + i] += p < 0 ? slow * (w->to[at + i] - x[at + i]) : c->move[3 * p + i];
        if (p >= 0) memcpy(s->end + 3 * p, x + at, 3 * sizeof *x);
    }
    hk_sweep_pass(s, &s->bodies[b]);
    return HK_OK;
}

static hk_status take_moves(hk_sweep *s, int b, void *context)
{
    const walk *w = context;
    hk_contacts *c = s->contacts;
    double largest = 0;
    for (int p = s->bodies[b].points[0]; p < s->bodies[b].points[1]; p++) {
        double *move = c->move + 3 * (size_t)p, before[3], d[3];
        memcpy(before, move, sizeof before);
        closest_minus(w->to + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, move);
        closest_minus(move, before, d);
        double square = closest_dot(d, d);
        if (square > largest) largest = square;
    }
    w->off[b] = sqrt(largest);
    return HK_OK;
}

hk_status hk_sweep_walk(hk_sweep *s, double *x, const double *to)
{
    hk_contacts *c = s->contacts;
    walk w = {x, to, c->side_part};
    double start = hk_now();
    size_t bytes = 3 * sizeof(double) * (size_t)c->body_points;
    bool settled = false;
    HK_TRY(hk_sweep_each_body(s, take_moves, &w));
    memcpy(c->aim, c->move, bytes);
    bool known = false;  // how far bodies may go
    for (int n = 0, rounds = 0; n < MOST_SEARCHES && !settled; n++) {
        bool any = false;
        if (n > 0) memcpy(c->move, c->aim, bytes);
        HK_TRY(hk_sweep_search_ways(s, n > 0 ? HK_SWEEP_AGAIN : HK_SWEEP_GUARD));
        if (n == 0) HK_TRY(hk_sweep_add_selves(s));
        settled = hk_sweep_shorten(s, n == 0);
        if (!settled || rounds++ == OWN_ROUNDS) continue;
        // A point that was shortened is farther off than its body was.
        for (int p = 0; p < c->body_points; p++)
            if (s->changed[p]) w.off[c->side[p]] = INFINITY;
        HK_TRY(add_own(s, &w, &any));
        settled = known = !any;
    }
    for (int p = 0; p < c->body_points; p++) {
        if (s->changed[p]) w.off[c->side[p]] = INFINITY;
        // What was in the way of others will be so in the next step.
        s->loose[p] = s->loose[p] && s->changed[p];
        s->wider[p] = s->changed[p] ? 0.5 * s->wider[p] : 0;
    }
    // The same part of all ways leaves them where they were looked for.
    if (!settled) memcpy(c->move, c->aim, bytes);
    HK_TRY(shorten_together(s, settled, known ? NULL : w.off));
    HK_TRY(hk_sweep_each_body(s, move_body, &w));
    c->guard_s += hk_now() - start;
    return HK_OK;
}
