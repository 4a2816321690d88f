// How far bodies may go on the ways that pairs were found for.
#include "contact/sweep_parts.h"

// Searches, each with wider margins for points that had left theirs in the one before.
enum { MOST_SEARCHES = 10 };

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

// ---------------------------------------------------------------- bodies in their own way

// So often pairs of bodies with themselves are treated like others, before whole bodies slow down.
enum { OWN_ROUNDS = 2 };
// What is left of the free part of a way; what is slower than that stands still.
#define KEPT  0.9
#define STILL 0.1

static hk_status search_self(hk_sweep *s, int b, void *context)
{
    (void)context;
    hk_sweep_body *body = &s->bodies[b];
    if (!body->shortened[0] && !body->shortened[1] && body->free >= 1) return HK_OK;
    return hk_sweep_search_self(s, b);
}

// Where bodies come in their own way.
static hk_status look_at_selves(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    for (int b = 0; b < s->body_count; b++) {
        s->bodies[b].shortened[1] = s->bodies[b].shortened[0];
        s->bodies[b].shortened[0] = false;
    }
    for (int p = 0; p < c->body_points; p++)
        if (s->changed[p]) s->bodies[c->side[p]].shortened[0] = true;
    return hk_sweep_each_body(s, search_self, NULL);
}

// Their pairs that would meet join the list.
static hk_status add_selves(hk_sweep *s, bool *any)
{
    for (int b = 0; b < s->body_count; b++) {
        const hk_sweep_body *body = &s->bodies[b];
        if (body->free >= 1) continue;
        *any = true;
        HK_TRY(hk_reserve((void **)&s->pairs, s->count, sizeof *s->pairs, &s->room,
                          s->count + body->own.count));
        for (size_t k = 0; k < body->own.count; k++)
            if (!hk_sweep_is_safe(s, &body->own.list[k], false, 0))
                s->pairs[s->count++] = body->own.list[k];
    }
    return HK_OK;
}

// Or bodies are slowed down, each by itself. Others are searched for them anew.
static void slow_bodies(hk_sweep *s, bool *any)
{
    hk_contacts *c = s->contacts;
    for (int b = 0; b < s->body_count; b++) {
        hk_sweep_body *body = &s->bodies[b];
        if (body->free >= 1) continue;
        double part = body->slow < STILL ? 0 : KEPT * body->free;
        *any = body->stale = true;
        body->slow *= part;
        for (int p = body->points[0]; p < body->points[1]; p++) {
            for (size_t i = 3 * (size_t)p; i < 3 * (size_t)p + 3; i++) c->aim[i] = part * c->move[i];
            s->changing[p] = s->loose[p] = 1;
        }
        c->clamped += body->points[1] - body->points[0];
    }
}

// What all that does not settle: of what hangs together with it nothing moves.
static hk_status stop_together(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    int bodies = s->body_count;
    for (int b = 0; b < bodies; b++) s->bodies[b].shortened[0] = true;
    HK_TRY(hk_sweep_each_body(s, search_self, NULL));
    join_bodies(s);
    for (size_t k = 0; k < s->count; k++) {
        const int32_t *side = s->pairs[k].sides;
        if (hk_sweep_is_safe(s, &s->pairs[k], false, 0)) continue;
        s->part[root_of(s->parent, side[0] < bodies ? side[0] : side[1])] = 0;
    }
    for (int b = 0; b < bodies; b++)
        if (s->bodies[b].stale || s->bodies[b].free < 1) s->part[root_of(s->parent, b)] = 0;
    for (int b = 0; b < bodies; b++) {
        if (s->part[root_of(s->parent, b)] > 0) continue;
        hk_sweep_body *body = &s->bodies[b];
        body->slow = 0;
        body->ends = body->drifted = false;
        c->clamped += body->points[1] - body->points[0];
        for (int p = 3 * body->points[0]; p < 3 * body->points[1]; p++) c->move[p] = 0;
    }
    return HK_OK;
}

typedef struct walk {
    double *x;
    const double *to;
} walk;

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
    hk_sweep_follow_self(s, b);
    return HK_OK;
}

static hk_status take_moves(hk_sweep *s, int b, void *context)
{
    const walk *w = context;
    hk_contacts *c = s->contacts;
    for (int p = s->bodies[b].points[0]; p < s->bodies[b].points[1]; p++)
        closest_minus(w->to + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p,
                      c->move + 3 * (size_t)p);
    return HK_OK;
}

// Ways on which nothing meets; whether they were found.
static hk_status settle(hk_sweep *s, bool *settled)
{
    hk_contacts *c = s->contacts;
    size_t bytes = 3 * sizeof(double) * (size_t)c->body_points;
    memcpy(c->aim, c->move, bytes);
    *settled = false;
    for (int b = 0; b < s->body_count; b++) {
        s->bodies[b].slow = 1;
        s->bodies[b].free = 0;  // not known
        s->bodies[b].shortened[0] = true;
    }
    for (int n = 0, own = 0; n < MOST_SEARCHES && !*settled; n++) {
        bool any = false;
        if (n > 0) memcpy(c->move, c->aim, bytes);
        HK_TRY(hk_sweep_search_ways(s, n > 0 ? HK_SWEEP_AGAIN : HK_SWEEP_GUARD));
        *settled = hk_sweep_shorten(s, n == 0);
        if (!*settled) continue;
        HK_TRY(look_at_selves(s));
        if (own++ < OWN_ROUNDS)
            HK_TRY(add_selves(s, &any));
        else
            slow_bodies(s, &any);
        *settled = !any;
    }
    return HK_OK;
}

hk_status hk_sweep_walk(hk_sweep *s, double *x, const double *to)
{
    hk_contacts *c = s->contacts;
    walk w = {x, to};
    double start = hk_now();
    bool settled;
    HK_TRY(hk_sweep_each_body(s, take_moves, &w));
    HK_TRY(settle(s, &settled));
    for (int p = 0; p < c->body_points; p++) {
        // What was in the way of others will be so in the next step.
        s->loose[p] = s->loose[p] && s->changed[p];
        s->wider[p] = s->changed[p] ? 0.5 * s->wider[p] : 0;
    }
    if (!settled) HK_TRY(stop_together(s));
    HK_TRY(hk_sweep_each_body(s, move_body, &w));
    c->guard_s += hk_now() - start;
    return HK_OK;
}
