// Connected components of a model: what hangs together by tets, springs or any other elements, and
// how it is held.
#include "solver/held_components.h"

#include <math.h>

// Union-find; of[v] is a representative vertex.
static int32_t find(int32_t *of, int32_t v)
{
    while (of[v] != v) v = of[v] = of[of[v]];
    return v;
}

static void join(int32_t *of, int32_t v, int32_t w)
{
    int32_t a = find(of, v), b = find(of, w);
    if (a != b) of[a > b ? a : b] = a < b ? a : b;
}

typedef struct finder {
    const hk_model *model;
    hk_held_components *components;
} finder;

static void join_stencil(void *context, const hk_stencil *s)
{
    const finder *f = context;
    const int32_t *order = f->model->order;
    for (int k = 1; k < s->count; k++)
        join(f->components->of, order[s->vertex[0]], order[s->vertex[k]]);
}

// A tie holds its vertices as being held does.
static void count_tie(void *context, const hk_stencil *s)
{
    const finder *f = context;
    for (int k = 0; k < s->count && s->tie; k++) {
        int32_t v = f->model->order[s->vertex[k]];
        f->components->held[f->components->of[v]] += f->model->hold[v] == HK_FREE;
    }
}

hk_status hk_held_components_find(const hk_model *m, const hk_live *live, hk_held_components *c)
{
    finder f = {m, c};
    c->of = HK_ARRAY(int32_t, m->vertex_count);
    c->held = HK_ZEROS(int32_t, m->vertex_count);
    if (!c->of || !c->held) {
        hk_held_components_release(c);
        return HK_NO_MEMORY;
    }
    for (int v = 0; v < m->vertex_count; v++) c->of[v] = v;
    hk_model_stencils(m, join_stencil, &f);
    for (int v = 0; v < m->vertex_count; v++) {
        c->of[v] = find(c->of, v);
        c->held[c->of[v]] += m->hold[v] != HK_FREE;
    }
    hk_model_stencils(m, count_tie, &f);
    for (int k = 0; live && k < live->grab_count; k++)
        if (live->grabs[k].held) c->held[c->of[live->grabs[k].vertex[0]]]++;
    return HK_OK;
}

void hk_held_components_release(hk_held_components *c)
{
    hk_free(c->of);
    hk_free(c->held);
    *c = (hk_held_components){0};
}

hk_status hk_model_is_unheld(const hk_model *m, const hk_live *live, bool *unheld)
{
    hk_held_components c = {0};
    HK_TRY(hk_held_components_find(m, live, &c));
    *unheld = false;
    // A vertex of no element is no component: it has no stiffness and no equation.
    for (int v = 0; v < m->vertex_count; v++)
        *unheld |= c.of[v] == v && c.held[v] < 3 && m->mass[v] > 0;
    hk_held_components_release(&c);
    return HK_OK;
}

hk_status hk_model_find_falling(const hk_model *m, const hk_live *live, const double *force,
                                int *vertex)
{
    hk_held_components c = {0};
    HK_TRY(hk_held_components_find(m, live, &c));
    double *net = HK_ZEROS(double, 4 * (size_t)m->vertex_count);  // force and Σ |force|
    if (!net) {
        hk_held_components_release(&c);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < m->vertex_count; k++) {
        const double *f = force + 4 * (int64_t)k;
        double *sum = net + 4 * (int64_t)c.of[m->order[k]];
        for (int i = 0; i < 3; i++) sum[i] += f[i];
        sum[3] += fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
    }
    *vertex = -1;
    for (int v = 0; v < m->vertex_count && *vertex < 0; v++) {
        const double *f = net + 4 * (int64_t)v;
        double pull = fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
        if (c.of[v] == v && c.held[v] == 0 && m->mass[v] > 0 && pull > 1e-12 * f[3]) *vertex = v;
    }
    hk_free(net);
    hk_held_components_release(&c);
    return HK_OK;
}
