// How far bodies may go on the ways that pairs were found for.
#include "contact/sweep_parts.h"

// When ways are searched first, and where that was too little.
static const hk_sweep_margin g_margins[] = {{0.5, 0.05}, {2, 0.5}};

// Within the margin of the move that was searched for, c->aim.
static void confine(const hk_sweep *s, int p)
{
    hk_contacts *c = s->contacts;
    double *move = c->move + 3 * (size_t)p, d[3];
    const double *aim = c->aim + 3 * (size_t)p;
    closest_minus(move, aim, d);
    double square = closest_dot(d, d), margin = 0.999 * hk_sweep_margin_of(c, &s->guard, aim);
    if (!(square > margin * margin)) return;
    for (int i = 0; i < 3; i++) move[i] = aim[i] + margin / sqrt(square) * d[i];
}

// Takes from the moves of corners that would come too near what they have towards the other side;
// whether any did.
static bool shorten(const hk_sweep *s, const hk_sweep_pair *k, int round)
{
    hk_contacts *c = s->contacts;
    double part = hk_contacts_fraction(c, &k->way, 1);
    if (part >= 1) return false;
    part *= 0.999;  // so that rounding does not bring it up again
    for (int v = 0; v < 4; v++) {
        int32_t p = k->way.point[v];
        double *move = c->move + 3 * (size_t)p, side = v < hk_pair_firsts(k->way.kind) ? 1 : -1;
        double towards = -side * closest_dot(k->n, move);
        if (p >= c->body_points || !(towards > 0)) continue;
        for (int i = 0; i < 3; i++) move[i] += side * (1 - part) * towards * k->n[i];
        s->changed[p] = (uint8_t)round;
        confine(s, p);
        c->clamped++;
    }
    return true;
}

enum { ROUNDS = 8 };

// Whether a way of it was shortened since the pair was last looked at.
static bool is_new(const hk_sweep *s, const hk_sweep_pair *k, int round)
{
    const int32_t *p = k->way.point;
    const uint8_t *changed = s->changed;
    uint8_t last = changed[p[0]];
    for (int v = 1; v < 4; v++)
        if (changed[p[v]] > last) last = changed[p[v]];
    return last + 1 >= round;
}

// One by one, each with what the others left; false: they are not settled.
static bool shorten_all(const hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    bool any = true;
    memset(s->changed, 0, (size_t)c->point_count);
    for (int n = 1; n <= ROUNDS && any; n++) {
        any = false;
        for (size_t k = 0; k < s->count; k++) {
            const hk_sweep_pair *pair = &s->pairs[k];
            if (is_new(s, pair, n) && !hk_sweep_is_safe(c, pair, 0)) any |= shorten(s, pair, n);
        }
    }
    return !any;
}

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

// What shortening one by one does not settle: all that hangs together goes the same part of its
// way. The same part of all ways leaves them where they were looked for.
static hk_status shorten_together(hk_sweep *s, bool settled, const double *off)
{
    hk_contacts *c = s->contacts;
    int bodies = s->body_count;
    join_bodies(s);
    for (size_t k = 0; k < s->count && !settled; k++) {
        const int32_t *side = s->pairs[k].sides;
        if (hk_sweep_is_safe(c, &s->pairs[k], 0)) continue;
        int root = root_of(s->parent, side[0] < bodies ? side[0] : side[1]);
        s->part[root] = fmin(s->part[root], hk_contacts_fraction(c, &s->pairs[k].way, 1));
    }
    HK_TRY(hk_sweep_each_body(s, free_part, (void *)off));
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

typedef struct walk {
    double *x;
    const double *to;
    double *off;  // [body_count] m, how far moves are from those that were looked for
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

// Shortens the ways from where bodies are; whether that settled all that was found.
static hk_status shorten_ways(hk_sweep *s, const hk_sweep_margin *margin, bool *settled)
{
    hk_contacts *c = s->contacts;
    size_t bytes = 3 * sizeof(double) * (size_t)c->body_points;
    HK_TRY(hk_sweep_search_ways(s, margin));
    HK_TRY(hk_sweep_add_selves(s));
    memcpy(c->aim, c->move, bytes);
    *settled = shorten_all(s);
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
    for (int n = 0; n < HK_COUNT_OF(g_margins) && !settled; n++) {
        if (n > 0) memcpy(c->move, c->aim, bytes);
        HK_TRY(shorten_ways(s, &g_margins[n], &settled));
    }
    // A point that was shortened is farther off than its body was.
    for (int p = 0; p < c->body_points; p++)
        if (s->changed[p]) w.off[c->side[p]] = INFINITY;
    HK_TRY(shorten_together(s, settled, w.off));
    HK_TRY(hk_sweep_each_body(s, move_body, &w));
    c->guard_s += hk_now() - start;
    return HK_OK;
}
