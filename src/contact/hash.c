#include "contact/hash.h"

#include <math.h>

hk_status hk_vertex_hash_create(const hk_contacts *c, hk_vertex_hash *h)
{
    const hk_model_contact *s = c->settings;
    size_t points = (size_t)c->body_points;
    uint32_t size = 16;
    while (size < 2 * points && size < 1u << 30) size *= 2;
    *h = (hk_vertex_hash){.mask = size - 1};
    for (int b = 0; b < s->body_count; b++) h->cell += s->bodies[b].edge / s->body_count;
    h->start = HK_ARRAY(int32_t, (size_t)size + 1);
    h->items = HK_ARRAY(int32_t, points);
    h->cells = HK_ARRAY(int32_t, 3 * points);
    h->last = HK_ARRAY(int32_t, points);
    h->bounds = HK_ARRAY(hk_box, s->body_count);
    h->visitors = HK_ARRAY(int32_t, s->body_count);
    if (h->start && h->items && h->cells && h->last && h->bounds && h->visitors) return HK_OK;
    hk_vertex_hash_release(h);
    return HK_NO_MEMORY;
}

void hk_vertex_hash_release(hk_vertex_hash *h)
{
    hk_free(h->start);
    hk_free(h->items);
    hk_free(h->cells);
    hk_free(h->last);
    hk_free(h->bounds);
    hk_free(h->visitors);
    hk_free(h->found);
    *h = (hk_vertex_hash){0};
}

// ---------------------------------------------------------------- filling

static int32_t cell_of(const hk_vertex_hash *h, double x)
{
    return (int32_t)fmin(fmax(floor(x / h->cell), -1e9), 1e9);
}

static uint32_t bucket_of(const hk_vertex_hash *h, const int32_t cell[3])
{
    return ((uint32_t)cell[0] * 73856093u ^ (uint32_t)cell[1] * 19349663u ^
            (uint32_t)cell[2] * 83492791u) &
           h->mask;
}

static void fill(const hk_contacts *c, hk_vertex_hash *h)
{
    memset(h->start, 0, sizeof(int32_t) * ((size_t)h->mask + 2));
    for (int b = 0; b < c->settings->body_count; b++)
        for (int i = 0; i < 3; i++)
            h->bounds[b].low[i] = INFINITY, h->bounds[b].high[i] = -INFINITY;
    for (int p = 0; p < c->body_points; p++) {
        const double *x = c->x + 3 * (size_t)p;
        int32_t *cell = h->cells + 3 * (size_t)p;
        hk_box *box = &h->bounds[c->side[p]];
        for (int i = 0; i < 3; i++) {
            cell[i] = cell_of(h, x[i]);
            box->low[i] = fmin(box->low[i], x[i]);
            box->high[i] = fmax(box->high[i], x[i]);
        }
        h->start[bucket_of(h, cell) + 1]++;
        h->last[p] = -1;
    }
    for (uint32_t k = 0; k <= h->mask; k++) h->start[k + 1] += h->start[k];
    // From the last to the first, so that every start ends where it belongs.
    for (int p = c->body_points; p-- > 0;)
        h->items[--h->start[bucket_of(h, h->cells + 3 * (size_t)p) + 1]] = p;
    for (uint32_t k = 0; k <= h->mask; k++) h->start[k] = h->start[k + 1];
    h->start[h->mask + 1] = c->body_points;
}

// ---------------------------------------------------------------- tets

typedef struct tet {
    int32_t body, number;
    double corner[4][3];
    double inverse[3][3];  // of the edges from corner 0, rows
    double low[3], high[3];
} tet;

static bool prepare(tet *t)
{
    double e[3][3], n[3][3];
    for (int k = 0; k < 3; k++) closest_minus(t->corner[k + 1], t->corner[0], e[k]);
    for (int k = 0; k < 3; k++) closest_cross(e[(k + 1) % 3], e[(k + 2) % 3], n[k]);
    double volume = closest_dot(e[0], n[0]);
    if (!(fabs(volume) > 0) || !isfinite(1 / volume)) return false;
    for (int i = 0; i < 3; i++) {
        t->low[i] = t->high[i] = t->corner[0][i];
        for (int k = 0; k < 3; k++) {
            t->inverse[k][i] = n[k][i] / volume;
            t->low[i] = fmin(t->low[i], t->corner[k + 1][i]);
            t->high[i] = fmax(t->high[i], t->corner[k + 1][i]);
        }
    }
    return true;
}

static bool contains(const tet *t, const double x[3], double weight[4])
{
    double d[3];
    closest_minus(x, t->corner[0], d);
    weight[0] = 1;
    for (int k = 0; k < 3; k++) {
        weight[k + 1] = closest_dot(t->inverse[k], d);
        weight[0] -= weight[k + 1];
    }
    return weight[0] >= 0 && weight[1] >= 0 && weight[2] >= 0 && weight[3] >= 0;
}

static hk_status look_at_point(const hk_contacts *c, const tet *t, int32_t p, hk_vertex_hash *h)
{
    hk_inside in = {.point = p, .body = t->body, .tet = t->number};
    if (c->side[p] == t->body || h->last[p] == t->body) return HK_OK;
    if (!hk_contact_touches(c->settings, c->side[p], t->body)) return HK_OK;
    if (!contains(t, c->x + 3 * (size_t)p, in.weight)) return HK_OK;
    HK_TRY(hk_reserve((void **)&h->found, h->count, sizeof *h->found, &h->capacity, h->count + 1));
    h->last[p] = t->body;
    h->found[h->count++] = in;
    return HK_OK;
}

static hk_status look_into_cell(const hk_contacts *c, const tet *t, const int32_t cell[3],
                                hk_vertex_hash *h)
{
    uint32_t bucket = bucket_of(h, cell);
    for (int32_t k = h->start[bucket]; k < h->start[bucket + 1]; k++) {
        int32_t p = h->items[k];
        if (memcmp(h->cells + 3 * (size_t)p, cell, 3 * sizeof(int32_t)) == 0)
            HK_TRY(look_at_point(c, t, p, h));
    }
    return HK_OK;
}

static hk_status look_into_tet(const hk_contacts *c, const tet *t, hk_vertex_hash *h)
{
    int32_t low[3], high[3], cell[3];
    double cells = 1;
    for (int i = 0; i < 3; i++) {
        low[i] = cell_of(h, t->low[i]);
        high[i] = cell_of(h, t->high[i]);
        cells *= (double)high[i] - low[i] + 1;
    }
    // One that is as large as everything has fewer points than cells.
    for (int32_t p = 0; cells > c->body_points && p < c->body_points; p++)
        HK_TRY(look_at_point(c, t, p, h));
    if (cells > c->body_points) return HK_OK;
    for (cell[2] = low[2]; cell[2] <= high[2]; cell[2]++)
        for (cell[1] = low[1]; cell[1] <= high[1]; cell[1]++)
            for (cell[0] = low[0]; cell[0] <= high[0]; cell[0]++)
                HK_TRY(look_into_cell(c, t, cell, h));
    return HK_OK;
}

static bool meets(const hk_box *a, const double low[3], const double high[3])
{
    for (int i = 0; i < 3; i++)
        if (a->low[i] > high[i] || a->high[i] < low[i]) return false;
    return true;
}

static void list_visitors(const hk_contacts *c, hk_vertex_hash *h, int body)
{
    h->visitor_count = 0;
    for (int b = 0; b < c->settings->body_count; b++)
        if (b != body && hk_contact_touches(c->settings, b, body) &&
            meets(&h->bounds[b], h->bounds[body].low, h->bounds[body].high))
            h->visitors[h->visitor_count++] = b;
}

static bool has_visitor(const hk_vertex_hash *h, const tet *t)
{
    for (int k = 0; k < h->visitor_count; k++)
        if (meets(&h->bounds[h->visitors[k]], t->low, t->high)) return true;
    return false;
}

hk_status hk_vertex_hash_find(const hk_contacts *c, const double *x, hk_vertex_hash *h)
{
    const hk_model *m = c->model;
    h->count = 0;
    fill(c, h);
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        list_visitors(c, h, b);
        for (int k = body->tet_start; h->visitor_count > 0 && k < body->tet_start + body->tet_count;
             k++) {
            tet t = {.body = b, .number = k};
            for (int i = 0; i < 4; i++)
                memcpy(t.corner[i], x + 4 * (size_t)m->place[m->tets[4 * (size_t)k + (size_t)i]],
                       sizeof t.corner[i]);
            if (prepare(&t) && has_visitor(h, &t)) HK_TRY(look_into_tet(c, &t, h));
        }
    }
    return HK_OK;
}
