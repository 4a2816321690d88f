// How far bodies may go. Ways are searched for what comes too near to each other, moves of points
// are shortened until none of that does, and as this changes ways, what was shortened is searched
// again until there is nothing left: two parts come too near only where one of them was shortened
// since they were looked at. Moves only ever become less, and at last points that come too near
// stay where they are, so that there is an end.
#include "contact/sweep_parts.h"

// From then on they do.
enum { PATIENT_SEARCHES = 8 };

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
    double *x = w->x;
    for (int64_t k = body->vertex_start; k < body->vertex_start + body->vertex_count; k++) {
        int64_t at = 4 * (int64_t)c->model->place[k], p = c->point_of[at / 4];
        for (int64_t i = 0; i < 3; i++)
            x[at + i] = p < 0 ? w->to[at + i] : x[at + i] + c->move[3 * p + i];
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
    s->bodies[b].unproven = true;
    return HK_OK;
}

static hk_status find_own(hk_sweep *s, int b, void *off)
{
    s->bodies[b].own_count = 0;
    if (!s->bodies[b].unproven) return HK_OK;
    s->bodies[b].unproven = false;
    HK_TRY(hk_sweep_find_own(s, b, ((const double *)off)[b]));
    // If a point of it is shortened, it is farther off than that.
    ((double *)off)[b] = INFINITY;
    return HK_OK;
}

// What bodies do to themselves by the ways of now joins the list.
static hk_status add_own(hk_sweep *s, const walk *w)
{
    HK_TRY(hk_sweep_each_body(s, find_own, w->off));
    for (int b = 0; b < s->body_count; b++) {
        const hk_sweep_body *body = &s->bodies[b];
        if (body->own_count == 0) continue;
        HK_TRY(hk_reserve((void **)&s->pairs, s->count, sizeof *s->pairs, &s->room,
                          s->count + body->own_count));
        memcpy(s->pairs + s->count, body->own, body->own_count * sizeof *s->pairs);
        s->count += body->own_count;
    }
    return HK_OK;
}

hk_status hk_sweep_walk(hk_sweep *s, double *x, const double *to)
{
    hk_contacts *c = s->contacts;
    walk w = {x, to, c->side_part};
    double start = hk_now();
    size_t points = (size_t)c->body_points, fresh = 0;
    HK_TRY(hk_sweep_each_body(s, take_moves, &w));
    memset(s->shortened, 0, points);
    for (int n = 0; n == 0 || s->count > fresh; n++) {
        fresh = n > 0 ? s->count : 0;
        HK_TRY(hk_sweep_search_ways(s, n > 0 ? HK_SWEEP_AGAIN : HK_SWEEP_GUARD));
        HK_TRY(add_own(s, &w));
        memset(s->changing, 0, points);
        if (s->count > fresh) hk_sweep_shorten(s, fresh, n >= PATIENT_SEARCHES);
    }
    for (size_t p = 0; p < points; p++) c->clamped += s->shortened[p];
    HK_TRY(hk_sweep_each_body(s, move_body, &w));
    c->guard_s += hk_now() - start;
    return HK_OK;
}
