// Whether what is held holds every piece of the bodies: three vertices that are not in one line.
#include <math.h>

#include "design/rest_solver.h"
#include "solver/held_components.h"

// Off the line by less than this part of its length counts as on it.
#define IN_LINE 1e-6

typedef struct holds {
    const hk_model *model;
    hk_held_components components;
    uint8_t *held;         // [vertex_count] by fixes or attachments
    int32_t *first, *far;  // [vertex_count] of a component, at its representative; -1: none
    double *reach;  // [vertex_count] the same: m from `first` to `far`, then m² off that line
} holds;

static const double *place_of(const holds *h, int32_t v)
{
    return h->model->rest + 3 * (int64_t)v;
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

// ‖(b − a) × (c − a)‖
static double area(const double *a, const double *b, const double *c)
{
    double u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = b[i] - a[i];
        v[i] = c[i] - a[i];
    }
    double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

// The held vertex of each component that is farthest from its first one, then the area that a third
// one spans with both.
static void measure(holds *h)
{
    const hk_model *m = h->model;
    for (int v = 0; v < m->vertex_count; v++) h->first[v] = h->far[v] = -1;
    for (int v = 0; v < m->vertex_count; v++) {
        int32_t c = h->components.of[v];
        if (h->held[v] && h->first[c] < 0) h->first[c] = v;
    }
    for (int v = 0; v < m->vertex_count; v++) {
        int32_t c = h->components.of[v];
        if (!h->held[v]) continue;
        double away = distance(place_of(h, v), place_of(h, h->first[c]));
        if (h->far[c] >= 0 && !(away > h->reach[c])) continue;
        h->far[c] = v;
        h->reach[c] = away;
    }
    for (int v = 0; v < m->vertex_count; v++) h->reach[v] = 0;
    for (int v = 0; v < m->vertex_count; v++) {
        int32_t c = h->components.of[v];
        if (h->held[v])
            h->reach[c] = fmax(h->reach[c], area(place_of(h, h->first[c]), place_of(h, h->far[c]),
                                                 place_of(h, v)));
    }
}

static int find(holds *h)
{
    const hk_model *m = h->model;
    for (int v = 0; v < m->vertex_count; v++) h->held[v] = m->hold[v] != HK_FREE;
    for (int k = 0; k < m->attachment_count; k++) h->held[m->attachments[k].vertex] = 1;
    measure(h);
    for (int v = 0; v < m->vertex_count; v++) {
        if (h->components.of[v] != v || !(m->mass[v] > 0)) continue;
        if (h->first[v] < 0) return v;
        double length = distance(place_of(h, h->first[v]), place_of(h, h->far[v]));
        if (!(h->reach[v] > IN_LINE * length * length)) return v;
    }
    return -1;
}

hk_status hk_rest_find_loose(const hk_model *m, int *vertex)
{
    holds h = {.model = m};
    HK_TRY(hk_held_components_find(m, NULL, &h.components));
    h.held = HK_ZEROS(uint8_t, m->vertex_count);
    h.first = HK_ARRAY(int32_t, m->vertex_count);
    h.far = HK_ARRAY(int32_t, m->vertex_count);
    h.reach = HK_ZEROS(double, m->vertex_count);
    hk_status status = h.held && h.first && h.far && h.reach ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) *vertex = find(&h);
    hk_held_components_release(&h.components);
    hk_free(h.held);
    hk_free(h.first);
    hk_free(h.far);
    hk_free(h.reach);
    return status;
}
