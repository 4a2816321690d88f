#include "contact/patches.h"

#include <math.h>
#include <stdlib.h>

// What patches are made of: triangles, and edges and points that are part of none.
typedef struct unit {
    double middle[3];
    int32_t corner[3];
    int count;      // of corners
    int32_t which;  // triangle, edge or point
} unit;

typedef struct maker {
    const hk_contacts *c;
    hk_patches *p;
    unit *units;
    int unit_count;
    int32_t *start;    // [point_count + 1] of a point's edges in `from`
    int32_t *from;     // [edge_count] edges by their first point
    uint8_t *taken;    // [point_count] points that have a patch,
    uint8_t *in_edge;  // [edge_count] edges that have one
    int32_t *seen;     // [point_count] the last patch that had it as a corner
    int nodes, patches;
    int32_t points, edges, triangles, corners;
} maker;

void hk_patches_free(hk_patches *p)
{
    if (!p) return;
    hk_free(p->root);
    hk_free(p->other);
    hk_free(p->patches);
    hk_free(p->node);
    hk_free(p->points);
    hk_free(p->edges);
    hk_free(p->triangles);
    hk_free(p->corners);
    hk_free(p->box);
    hk_free(p->point);
    hk_free(p);
}

static void release(maker *m)
{
    hk_free(m->units);
    hk_free(m->start);
    hk_free(m->from);
    hk_free(m->taken);
    hk_free(m->in_edge);
    hk_free(m->seen);
}

// Every unit is in one patch, and there are at most as many patches as units.
static hk_status allocate(maker *m)
{
    const hk_contacts *c = m->c;
    hk_patches *p = m->p;
    size_t points = (size_t)c->point_count, edges = (size_t)c->edge_count;
    size_t triangles = (size_t)c->triangle_count, units = points + edges + triangles;
    p->side_count = c->settings->body_count + c->settings->obstacle_count;
    p->root = HK_ZEROS(int32_t, p->side_count + 1);
    p->other = HK_ARRAY(int32_t, 2 * units + 1);
    p->patches = HK_ZEROS(hk_patch, units + 1);
    p->node = HK_ZEROS(int32_t, units + 1);
    p->points = HK_ARRAY(int32_t, points + 1);
    p->edges = HK_ARRAY(int32_t, edges + 1);
    p->triangles = HK_ARRAY(int32_t, triangles + 1);
    p->corners = HK_ARRAY(int32_t, 3 * triangles + 2 * edges + points + 1);
    p->point = HK_ZEROS(hk_patch_box, points + 1);
    m->units = HK_ARRAY(unit, units + 1);
    m->start = HK_ZEROS(int32_t, points + 2);
    m->from = HK_ARRAY(int32_t, edges + 1);
    m->taken = HK_ZEROS(uint8_t, points + 1);
    m->in_edge = HK_ZEROS(uint8_t, edges + 1);
    m->seen = HK_ARRAY(int32_t, points + 1);
    bool complete = p->root && p->other && p->patches && p->node && p->points && p->edges &&
                    p->triangles && p->corners && p->point && m->units && m->start && m->from &&
                    m->taken && m->in_edge && m->seen;
    return complete ? HK_OK : HK_NO_MEMORY;
}

static void list_edges(maker *m)
{
    const hk_contacts *c = m->c;
    for (int e = 0; e < c->edge_count; e++) m->start[c->edges[2 * (size_t)e] + 2]++;
    for (int p = 0; p < c->point_count; p++) m->start[p + 2] += m->start[p + 1];
    for (int e = 0; e < c->edge_count; e++) m->from[m->start[c->edges[2 * (size_t)e] + 1]++] = e;
    for (int p = 0; p < c->point_count; p++) m->seen[p] = -1;
}

static int32_t edge_between(const maker *m, int32_t a, int32_t b)
{
    for (int turn = 0; turn < 2; turn++) {
        int32_t from = turn ? b : a, to = turn ? a : b;
        for (int32_t k = m->start[from]; k < m->start[from + 1]; k++)
            if (m->c->edges[2 * (size_t)m->from[k] + 1] == to) return m->from[k];
    }
    return -1;
}

static void add_unit(maker *m, int32_t which, const int32_t *corner, int count)
{
    const hk_contacts *c = m->c;
    unit *u = &m->units[m->unit_count++];
    *u = (unit){.count = count, .which = which};
    for (int k = 0; k < count; k++) {
        const double *at = (corner[k] < c->body_points ? c->rest : c->x) + 3 * (size_t)corner[k];
        u->corner[k] = corner[k];
        for (int i = 0; i < 3; i++) u->middle[i] += at[i] / count;
    }
}

// ---------------------------------------------------------------- patches

static void take_point(maker *m, int32_t point)
{
    if (m->seen[point] != m->patches) m->p->corners[m->corners++] = point;
    m->seen[point] = m->patches;
    if (!m->taken[point]) m->p->points[m->points++] = point;
    m->taken[point] = 1;
}

static void take_edge(maker *m, int32_t edge)
{
    if (edge < 0 || m->in_edge[edge]) return;
    m->p->edges[m->edges++] = edge;
    m->in_edge[edge] = 1;
}

static void make_patch(maker *m, const unit *units, int count)
{
    hk_patch *to = &m->p->patches[m->patches];
    *to = (hk_patch){.points = {m->points},
                     .edges = {m->edges},
                     .triangles = {m->triangles},
                     .corners = {m->corners}};
    for (int k = 0; k < count; k++) {
        const unit *u = &units[k];
        for (int i = 0; i < u->count; i++) take_point(m, u->corner[i]);
        if (u->count == 2) take_edge(m, u->which);
        if (u->count < 3) continue;
        m->p->triangles[m->triangles++] = u->which;
        for (int i = 0; i < 3; i++)
            take_edge(m, edge_between(m, u->corner[i], u->corner[(i + 1) % 3]));
    }
    to->points[1] = m->points;
    to->edges[1] = m->edges;
    to->triangles[1] = m->triangles;
    to->corners[1] = m->corners;
    m->p->node[m->patches] = m->nodes;
    m->p->other[m->nodes++] = -1 - m->patches++;
}

static int by_axis(const unit *a, const unit *b, int axis)
{
    if (a->middle[axis] != b->middle[axis]) return a->middle[axis] < b->middle[axis] ? -1 : 1;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return a->which < b->which ? -1 : a->which > b->which;
}
static int by_x(const void *a, const void *b)
{
    return by_axis(a, b, 0);
}
static int by_y(const void *a, const void *b)
{
    return by_axis(a, b, 1);
}
static int by_z(const void *a, const void *b)
{
    return by_axis(a, b, 2);
}

// Halves, along the longest axis, until what is left is a patch.
static void divide(maker *m, unit *units, int count)
{
    static int (*const order[3])(const void *, const void *) = {by_x, by_y, by_z};
    if (count <= HK_PATCH_TRIANGLES) {
        make_patch(m, units, count);
        return;
    }
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int axis = 0, node = m->nodes++;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], units[k].middle[i]);
            high[i] = fmax(high[i], units[k].middle[i]);
        }
    for (int i = 1; i < 3; i++)
        if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
    qsort(units, (size_t)count, sizeof *units, order[axis]);
    divide(m, units, count / 2);
    m->p->other[node] = m->nodes;
    divide(m, units + count / 2, count - count / 2);
}

// ---------------------------------------------------------------- sides

static void mark_triangles(maker *m)
{
    const hk_contacts *c = m->c;
    for (int t = 0; t < c->triangle_count; t++) {
        const int32_t *corner = c->triangles + 3 * (size_t)t;
        for (int i = 0; i < 3; i++) {
            int32_t e = edge_between(m, corner[i], corner[(i + 1) % 3]);
            if (e >= 0) m->in_edge[e] = 1;
            m->taken[corner[i]] = 1;
        }
    }
}

// Units of all sides, those of a side together: first how many, then where.
static hk_status list_units(maker *m, int32_t *end)
{
    const hk_contacts *c = m->c;
    unit *sorted = HK_ARRAY(unit, (size_t)c->point_count + (size_t)c->edge_count +
                                      (size_t)c->triangle_count + 1);
    if (!sorted) return HK_NO_MEMORY;
    mark_triangles(m);
    for (int t = 0; t < c->triangle_count; t++) add_unit(m, t, c->triangles + 3 * (size_t)t, 3);
    for (int e = 0; e < c->edge_count; e++) {
        const int32_t *corner = c->edges + 2 * (size_t)e;
        if (m->in_edge[e]) continue;
        add_unit(m, e, corner, 2);
        m->taken[corner[0]] = m->taken[corner[1]] = 1;
    }
    for (int k = 0; k < c->touching_count; k++)
        if (!m->taken[c->touching[k]]) add_unit(m, c->touching[k], c->touching + k, 1);
    for (int k = 0; k < m->unit_count; k++) end[c->side[m->units[k].corner[0]] + 1]++;
    for (int s = 0; s < m->p->side_count; s++) end[s + 1] += end[s];
    for (int k = m->unit_count; k-- > 0;)
        sorted[--end[c->side[m->units[k].corner[0]] + 1]] = m->units[k];
    hk_free(m->units);
    m->units = sorted;
    memset(m->taken, 0, (size_t)c->point_count);
    memset(m->in_edge, 0, (size_t)c->edge_count);
    return HK_OK;
}

static hk_status make(maker *m)
{
    hk_patches *p = m->p;
    HK_TRY(allocate(m));
    list_edges(m);
    int32_t *end = HK_ZEROS(int32_t, p->side_count + 2);
    hk_status status = end ? list_units(m, end) : HK_NO_MEMORY;
    // Units of side s begin at end[s + 1] by now.
    for (int s = 0; s < p->side_count && status == HK_OK; s++) {
        int32_t first = end[s + 1], last = s + 1 < p->side_count ? end[s + 2] : m->unit_count;
        p->root[s] = m->nodes;
        if (last > first) divide(m, m->units + first, last - first);
    }
    hk_free(end);
    if (status != HK_OK) return status;
    p->root[p->side_count] = m->nodes;
    p->count = m->patches;
    p->box = HK_ZEROS(hk_patch_box, m->nodes + 1);
    return p->box ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_patches_create(const hk_contacts *c, hk_patches **patches)
{
    maker m = {.c = c, .p = HK_NEW(hk_patches)};
    if (!m.p) return HK_NO_MEMORY;
    hk_status status = make(&m);
    release(&m);
    if (status != HK_OK)
        hk_patches_free(m.p);
    else
        *patches = m.p;
    return status;
}

// ---------------------------------------------------------------- boxes and searches

void hk_patches_refit(hk_patches *p, int side)
{
    for (int k = p->root[side + 1] - 1; k >= p->root[side]; k--) {
        if (p->other[k] >= 0) {
            p->box[k] = p->box[k + 1];
            hk_patch_surround(&p->box[k], &p->box[p->other[k]]);
            continue;
        }
        const hk_patch *patch = &p->patches[-1 - p->other[k]];
        hk_patch_box box = p->point[p->corners[patch->corners[0]]];
        for (int i = patch->corners[0] + 1; i < patch->corners[1]; i++)
            hk_patch_surround(&box, &p->point[p->corners[i]]);
        p->box[k] = box;
    }
}

static float size_of(const hk_patch_box *box)
{
    hk_float4 d = box->high - box->low;
    return d[0] + d[1] + d[2];
}

// Trees are as deep as the logarithm of their patches, and every level leaves at most three.
enum { STACK = 256 };

hk_status hk_patches_meet(const hk_patches *p, int first, int second, const hk_patch_box *more,
                          const uint8_t *only, hk_patch_fn *visit, void *context)
{
    const hk_patch_box larger = more ? *more : (hk_patch_box){{0}, {0}};
    int32_t stack[STACK][2];
    int count = 0;
    if (p->root[first] == p->root[first + 1] || p->root[second] == p->root[second + 1])
        return HK_OK;
    stack[count][0] = p->root[first];
    stack[count++][1] = p->root[second];
    while (count > 0) {
        int32_t a = stack[--count][0], b = stack[count][1];
        hk_patch_box box = {p->box[a].low + larger.low, p->box[a].high + larger.high};
        if ((only && !(only[a] | only[b])) || !hk_patch_overlap(&box, &p->box[b])) continue;
        bool leaf[2] = {p->other[a] < 0, p->other[b] < 0};
        if (leaf[0] && leaf[1]) {
            HK_TRY(visit(context, -1 - p->other[a], -1 - p->other[b]));
            continue;
        }
        if (a == b) {
            int32_t child[2] = {a + 1, p->other[a]};
            for (int k = 0; k < 3; k++) {
                stack[count][0] = child[k == 2];
                stack[count++][1] = child[k > 0];
            }
            continue;
        }
        bool down = leaf[1] || (!leaf[0] && size_of(&p->box[a]) > size_of(&p->box[b]));
        for (int k = 0; k < 2; k++) {
            int32_t from = down ? a : b, child = k ? p->other[from] : from + 1;
            stack[count][0] = down ? child : a;
            stack[count++][1] = down ? b : child;
        }
    }
    return HK_OK;
}
