// Connected components of a model: what hangs together by tets, springs or any other elements, and
// how it is held.
#include "solver/held_components.h"

#include <math.h>

#include "model/constraints.h"
#include "model/partition.h"

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

// Parts hang together, and those on joints with what they are tied to. Joints to what stands still
// and constraints of vertices hold a little.
static void join_parts(const hk_model *m, int32_t *of)
{
    const hk_constraints *c = m->constraints;
    for (int k = 0; c && k < c->part_count; k++) {
        const hk_part *part = &c->parts[k];
        for (int i = 1; i < part->count; i++)
            join(of, c->vertices[part->start], c->vertices[part->start + i]);
        if (part->parent >= 0)
            join(of, c->vertices[part->start], c->vertices[c->parts[part->parent].start]);
    }
}

static void count_parts(const hk_model *m, hk_held_components *c)
{
    for (int k = 0; m->constraints && k < m->constraints->part_count; k++) {
        const hk_part *part = &m->constraints->parts[k];
        bool alone = part->parent < 0;
        bool free = !alone || part->freedom == HK_MOVES_FREELY || part->freedom == HK_IS_HELD;
        bool by_joint = alone && part->joint >= 0;
        if (!free || by_joint) c->held[c->of[m->constraints->vertices[part->start]]]++;
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
    join_parts(m, c->of);
    for (int v = 0; v < m->vertex_count; v++) {
        c->of[v] = find(c->of, v);
        c->held[c->of[v]] += m->hold[v] != HK_FREE || (m->axes && m->axes[v]);
    }
    hk_model_stencils(m, count_tie, &f);
    count_parts(m, c);
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

// ---------------------------------------------------------------- fixes by axis

// What a coordinate that is held does to the six rigid motions of its component: the Gram matrix of
// (eᵢ, r × eᵢ), r from the origin in units of the model's size.
static void add_held_axes(const hk_model *m, int vertex, double size, double gram[36])
{
    int axes = m->hold[vertex] != HK_FREE ? HK_ALL_AXES : m->axes[vertex];
    const double *at = m->rest + 3 * (int64_t)vertex;
    for (int i = 0; i < 3; i++) {
        if (!(axes >> i & 1)) continue;
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double row[6] = {0};
        row[i] = 1;
        row[3 + j] = at[k] / size;
        row[3 + k] = -at[j] / size;
        for (int e = 0; e < 36; e++) gram[e] += row[e / 6] * row[e % 6];
    }
}

static int rank_of(double gram[36])
{
    double most = 0;
    for (int k = 0; k < 6; k++) most = fmax(most, gram[7 * k]);
    int rank = 0;
    for (; rank < 6; rank++) {
        int pivot = -1;
        for (int k = 0; k < 6; k++)
            if (pivot < 0 || gram[7 * k] > gram[7 * pivot]) pivot = k;
        double by = gram[7 * pivot];
        if (!(by > 1e-10 * most)) break;
        double column[6];
        for (int k = 0; k < 6; k++) column[k] = gram[6 * k + pivot];
        for (int e = 0; e < 36; e++) gram[e] -= column[e / 6] * column[e % 6] / by;
    }
    return rank;
}

static double size_of(const hk_model *m)
{
    double size = 0;
    for (int64_t k = 0; k < 3 * (int64_t)m->vertex_count; k++) size = fmax(size, fabs(m->rest[k]));
    return size > 0 ? size : 1;
}

// Components that fixes by axis hold are held as far as these keep them from moving rigidly; the
// others are judged by their number of held vertices.
static hk_status count_axes(const hk_model *m, hk_held_components *c)
{
    int count = 0;
    int32_t *number = HK_ARRAY(int32_t, m->vertex_count);
    for (int v = 0; number && v < m->vertex_count; v++) number[v] = c->of[v] == v ? count++ : -1;
    double *gram = HK_ZEROS(double, 36 * (size_t)count);
    uint8_t *partly = HK_ZEROS(uint8_t, count);
    bool complete = number && gram && partly;
    double size = size_of(m);
    for (int v = 0; v < m->vertex_count && complete; v++) {
        int at = number[c->of[v]];
        add_held_axes(m, v, size, gram + 36 * (size_t)at);
        partly[at] |= m->hold[v] == HK_FREE && m->axes[v];
    }
    for (int v = 0; v < m->vertex_count && complete; v++)
        if (c->of[v] == v && partly[number[v]] && rank_of(gram + 36 * (size_t)number[v]) < 6)
            c->held[v] = hk_min_int(c->held[v], 2);
    hk_free(number);
    hk_free(gram);
    hk_free(partly);
    return complete ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_model_is_unheld(const hk_model *m, const hk_live *live, bool *unheld)
{
    if (m->partition) {
        *unheld = m->partition->unheld;
        return HK_OK;
    }
    hk_held_components c = {0};
    HK_TRY(hk_held_components_find(m, live, &c));
    hk_status status = m->axes ? count_axes(m, &c) : HK_OK;
    *unheld = false;
    // A vertex of no element is no component: it has no stiffness and no equation.
    for (int v = 0; v < m->vertex_count; v++)
        *unheld |= c.of[v] == v && c.held[v] < 3 && m->mass[v] > 0;
    hk_held_components_release(&c);
    return status;
}

// A component that fixes by axis alone hold, and nothing along an axis that it is pulled along.
static void find_sliding(const hk_model *m, const hk_held_components *c, const double *net,
                         int *vertex)
{
    for (int v = 0; v < m->vertex_count && *vertex < 0; v++) {
        if (c->of[v] != v || c->held[v] == 0 || !(m->mass[v] > 0)) continue;
        int axes = 0, partly = 0;
        for (int u = v; u < m->vertex_count; u++) {
            if (c->of[u] != v) continue;
            axes |= m->hold[u] != HK_FREE ? HK_ALL_AXES : m->axes[u];
            partly += m->hold[u] == HK_FREE && m->axes[u];
        }
        bool by_axes_alone = partly == c->held[v];
        for (int i = 0; i < 3 && by_axes_alone; i++)
            if (!(axes >> i & 1) && fabs(net[4 * (int64_t)v + i]) > 1e-12 * net[4 * (int64_t)v + 3])
                *vertex = v;
    }
}

// Whether nothing holds a piece against such a net force and Σ |force|.
static bool falls(const hk_partition_piece *piece, const double *net)
{
    double least = 1e-12 * net[3];
    if (piece->held == 0) return fabs(net[0]) + fabs(net[1]) + fabs(net[2]) > least;
    for (int i = 0; i < 3 && piece->by_axes; i++)
        if (!(piece->axes >> i & 1) && fabs(net[i]) > least) return true;
    return false;
}

// The same of a part of a model, which was told of the pieces: the number of one.
static hk_status find_falling_piece(const hk_model *m, const double *force, int *piece)
{
    hk_partition *g = m->partition;
    double *net = HK_ZEROS(double, 4 * (size_t)g->piece_count);
    if (!net) return HK_NO_MEMORY;
    for (int k = 0; k < m->vertex_count; k++) {
        const double *f = force + 4 * (int64_t)k;
        double *sum = net + 4 * (int64_t)g->piece[m->order[k]];
        for (int i = 0; i < 3 && g->mine[k]; i++) sum[i] += f[i];
        if (g->mine[k]) sum[3] += fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
    }
    hk_partition_sum(g, net, 4 * g->piece_count);
    *piece = -1;
    for (int n = 0; n < g->piece_count && *piece < 0; n++)
        if (falls(&g->pieces[n], net + 4 * (int64_t)n)) *piece = n;
    hk_free(net);
    return HK_OK;
}

hk_status hk_model_find_falling(const hk_model *m, const hk_live *live, const double *force,
                                int *vertex)
{
    if (m->partition) return find_falling_piece(m, force, vertex);
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
    if (m->axes && *vertex < 0) find_sliding(m, &c, net, vertex);
    hk_free(net);
    hk_held_components_release(&c);
    return HK_OK;
}
