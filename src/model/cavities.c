// Closed surfaces whose volume is kept: from their definitions to what the model keeps of them.
#include <math.h>
#include <stdlib.h>

#include "core/def.h"
#include "math/closed_volume.h"
#include "mesh/select.h"
#include "model/constraints.h"

typedef struct taker {
    hk_model *model;
    const hk_constraint_def *def;
    const hk_body *body;
    hk_cavity cavity;
} taker;

static const int32_t *triangles_of(const taker *t)
{
    return t->model->constraints->cavity_triangles + 3 * (int64_t)t->cavity.triangle_start;
}

static hk_status take_triangles(taker *t, hk_mesh *mesh, const uint8_t *chosen)
{
    hk_constraints *c = t->model->constraints;
    int count;
    const int32_t *triangles, *tets;
    HK_TRY(hk_mesh_surface(mesh, &count, &triangles, &tets));
    t->cavity.triangle_start = c->cavity_triangle_count;
    for (int k = 0; k < count; k++) {
        const int32_t *from = triangles + 3 * (int64_t)k;
        if (!(chosen[from[0]] && chosen[from[1]] && chosen[from[2]])) continue;
        size_t size = 3 * (size_t)c->cavity_triangle_count;
        HK_TRY(hk_reserve((void **)&c->cavity_triangles, size, sizeof(int32_t),
                          &c->cavity_triangle_capacity, size + 3));
        for (int i = 0; i < 3; i++)
            c->cavity_triangles[size + (size_t)i] = t->body->vertex_start + from[i];
        c->cavity_triangle_count++;
    }
    t->cavity.triangle_count = c->cavity_triangle_count - t->cavity.triangle_start;
    if (t->cavity.triangle_count > 0) return HK_OK;
    return hk_select_none(mesh, "it selects no whole surface triangle");
}

// ---------------------------------------------------------------- closed?

typedef struct edge {
    int32_t low, high;
    int ways;  // +1 from low to high, −1 back
} edge;

static int by_vertices(const void *a, const void *b)
{
    const edge *e = a, *f = b;
    if (e->low != f->low) return e->low < f->low ? -1 : 1;
    return (e->high > f->high) - (e->high < f->high);
}

// The volume is that of something, and the same from wherever it is seen, if every edge is passed
// both ways as often. Vertices that lie on each other, but are not one, may move apart: they close
// nothing.
static hk_status check_closed(const taker *t)
{
    int64_t count = 3 * (int64_t)t->cavity.triangle_count;
    const int32_t *corner = triangles_of(t);
    edge *edges = HK_ARRAY(edge, count);
    if (!edges) return HK_NO_MEMORY;
    for (int64_t k = 0; k < count; k++) {
        int32_t a = corner[k], b = corner[k - k % 3 + (k + 1) % 3];
        edges[k] = a < b ? (edge){a, b, 1} : (edge){b, a, -1};
    }
    qsort(edges, (size_t)count, sizeof *edges, by_vertices);
    int open = 0;
    int32_t at = -1;
    for (int64_t k = 0, end; k < count; k = end) {
        int ways = 0;
        for (end = k; end < count && by_vertices(&edges[k], &edges[end]) == 0; end++)
            ways += edges[end].ways;
        if (ways == 0) continue;
        if (open++ == 0) at = edges[k].low - t->body->vertex_start;
    }
    hk_free(edges);
    if (open == 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "what keeps a volume is a closed surface whose triangles face one way: of these "
                   "%d triangles %d edges are open, one at vertex %d",
                   t->cavity.triangle_count, open, at);
}

// The surface of a hole faces into it: it is turned round, as closed sheets that face inwards are.
static hk_status measure(taker *t)
{
    hk_model *m = t->model;
    int32_t *corner = m->constraints->cavity_triangles + 3 * (int64_t)t->cavity.triangle_start;
    const double *origin = m->rest + 3 * (int64_t)corner[0];
    double sum = 0, size = 0;
    for (int k = 0; k < t->cavity.triangle_count; k++) {
        double x[9], g[9];
        for (int i = 0; i < 3; i++)
            memcpy(x + 3 * i, m->rest + 3 * (int64_t)corner[3 * k + i], 3 * sizeof(double));
        double part = hk_volume_of_triangle(origin, x, g);
        sum += part;
        size += fabs(part);
    }
    for (int k = 0; k < t->cavity.triangle_count && sum < 0; k++) {
        int32_t swap = corner[3 * k + 1];
        corner[3 * k + 1] = corner[3 * k + 2];
        corner[3 * k + 2] = swap;
    }
    t->cavity.rest = fabs(sum);
    if (t->cavity.rest > 1e-9 * size) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "its surface closes nothing in (its volume is %g m3)", sum);
}

// ---------------------------------------------------------------- vertices

static hk_status take_vertices(const taker *t)
{
    const hk_model *m = t->model;
    hk_constraints *c = m->constraints;
    bool any = false;
    if (!c->cavity_of) {
        c->cavity_of = HK_ARRAY(int32_t, m->vertex_count);
        if (!c->cavity_of) return HK_NO_MEMORY;
        for (int v = 0; v < m->vertex_count; v++) c->cavity_of[v] = -1;
    }
    const int32_t *corner = triangles_of(t);
    for (int64_t k = 0; k < 3 * (int64_t)t->cavity.triangle_count; k++) {
        int32_t v = corner[k], own = v - t->body->vertex_start, part = c->part_of[v];
        if (part >= 0 && part < c->rigid_count)
            return hk_fail(HK_UNSUPPORTED,
                           "vertex %d is one of the rigid part %s, and what keeps a volume is not "
                           "rigid in part: leave a layer of soft tets between them",
                           own, c->parts[part].name);
        if (part >= 0 || (c->cavity_of[v] >= 0 && c->cavity_of[v] != c->cavity_count))
            return hk_fail(HK_BAD_INPUT, "vertex %d has another constraint already", own);
        c->cavity_of[v] = c->cavity_count;
        any = any || (m->hold[v] == HK_FREE && m->mass[v] > 0);
    }
    return any ? HK_OK : hk_fail(HK_BAD_INPUT, "all vertices of its surface are held");
}

static hk_status take_goal(taker *t)
{
    const hk_constraint_def *def = t->def;
    if (!(isfinite(def->volume) && def->volume >= 0))
        return hk_fail(HK_BAD_INPUT, "its volume must be above 0 (is %g m3)", def->volume);
    t->cavity.volume = def->volume > 0 ? def->volume : t->cavity.rest;
    HK_TRY(hk_time_factor_create(&def->factor, &t->cavity.factor));
    if (!def->name) return HK_OK;
    t->cavity.name = hk_strdup(def->name);
    return t->cavity.name ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_model_take_cavity(hk_model *m, const hk_constraint_def *def, hk_mesh *mesh,
                               const uint8_t *chosen)
{
    hk_constraints *c = m->constraints;
    taker t = {.model = m, .def = def, .body = &m->bodies[def->body]};
    if (!c->cavities) {
        // As many as there are constraints, at most.
        c->cavities = HK_ZEROS(hk_cavity, c->cavity_room);
        if (!c->cavities) return HK_NO_MEMORY;
    }
    HK_TRY(take_triangles(&t, mesh, chosen));
    HK_TRY(check_closed(&t));
    HK_TRY(measure(&t));
    HK_TRY(take_vertices(&t));
    hk_status status = take_goal(&t);
    c->cavities[c->cavity_count++] = t.cavity;
    return status;
}

double hk_cavity_goal(const hk_cavity *c, double time)
{
    return c->volume * (isnan(time) ? 1 : hk_time_factor_value(c->factor, time));
}

// ---------------------------------------------------------------- access

int hk_model_cavity_count(const hk_model *model)
{
    return model && model->constraints ? model->constraints->cavity_count : 0;
}

const char *hk_model_cavity_name(const hk_model *model, int cavity)
{
    bool there = cavity >= 0 && cavity < hk_model_cavity_count(model);
    return there ? model->constraints->cavities[cavity].name : NULL;
}

int hk_model_find_cavity(const hk_model *model, const char *name)
{
    for (int k = 0; name && k < hk_model_cavity_count(model); k++) {
        const char *own = model->constraints->cavities[k].name;
        if (own && strcmp(own, name) == 0) return k;
    }
    return -1;
}
