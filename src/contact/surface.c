#include "contact/surface.h"

#include "mesh/facets.h"
#include "mesh/mesh.h"

void hk_surface_free(hk_surface *s)
{
    if (!s) return;
    hk_free(s->triangles);
    hk_free(s->triangle_tets);
    hk_free(s->triangle_edges);
    hk_free(s->numbers);
    hk_free(s->edges);
    hk_free(s->line_edges);
    hk_free(s->bodies);
    hk_free(s);
}

// ---------------------------------------------------------------- triangles

// A triangle is known by its lowest vertex and the other two in order.
static void triangle_key(const int32_t *triangles, int64_t facet, int32_t *low, uint64_t *key)
{
    const int32_t *t = triangles + 3 * facet;
    int32_t a = hk_min_int(t[0], hk_min_int(t[1], t[2]));
    int32_t c = hk_max_int(t[0], hk_max_int(t[1], t[2]));
    int32_t b = (int32_t)((int64_t)t[0] + t[1] + t[2] - a - c);
    *low = a;
    *key = (uint64_t)(uint32_t)b << 32 | (uint32_t)c;
}

static void mark_repeated(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    uint8_t *repeated = context;
    (void)low;
    for (size_t i = 1; i < count; i++) repeated[run[i].item] = 1;
}

// The same set of points twice is not in its own way: the first stays.
static hk_status drop_repeated(hk_surface *s)
{
    uint8_t *repeated = HK_ZEROS(uint8_t, s->triangle_count);
    if (!repeated) return HK_NO_MEMORY;
    hk_status status = hk_visit_facets(s->vertex_count, s->triangle_count, s->triangles,
                                       triangle_key, mark_repeated, repeated);
    int kept = 0;
    for (int t = 0; t < s->triangle_count && status == HK_OK; t++) {
        if (repeated[t]) continue;
        memmove(s->triangles + 3 * (size_t)kept, s->triangles + 3 * (size_t)t, 3 * sizeof(int32_t));
        s->triangle_tets[kept] = s->triangle_tets[t];
        s->numbers[kept++] = t;
    }
    if (status == HK_OK) {
        s->repeated = s->triangle_count - kept;
        s->triangle_count = kept;
    }
    hk_free(repeated);
    return status;
}

static hk_status take_triangles(const hk_surface_def *def, hk_surface *s)
{
    // A mesh that lends the arrays and has a surface made.
    hk_mesh mesh = {.vertex_count = def->vertex_count,
                    .tet_count = def->tet_count,
                    .tets = (int32_t *)def->tets,
                    .middles = (int32_t *)def->middles,
                    .triangle_count = def->triangle_count,
                    .triangles = (int32_t *)def->triangles};
    HK_TRY(hk_mesh_surface(&mesh, &s->triangle_count, NULL, NULL));
    s->triangles = mesh.surface;
    s->triangle_tets = mesh.surface_tets;
    s->numbers = HK_ARRAY(int32_t, s->triangle_count);
    return s->numbers ? drop_repeated(s) : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- edges

// Sides of triangles, three each, then lines. A corner begins a side that ends at the next one.
typedef struct sides {
    hk_surface *surface;
    int32_t *ends;  // [3 triangle_count + line_count][2]
} sides;

static void count_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    sides *s = context;
    (void)low, (void)run, (void)count;
    s->surface->edge_count++;
}

static void take_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    hk_surface *s = ((sides *)context)->surface;
    int32_t edge = s->edge_count++;
    int64_t corners = 3 * (int64_t)s->triangle_count;
    s->edges[2 * (size_t)edge] = low;
    s->edges[2 * (size_t)edge + 1] = (int32_t)(uint32_t)run->key;
    for (size_t i = 0; i < count; i++) {
        int64_t side = run[i].item;
        *(side < corners ? s->triangle_edges + side : s->line_edges + (side - corners)) = edge;
    }
}

// As hk_triangle_edge, of a list of pairs; one without length is no edge.
static void pair_key(const int32_t *ends, int64_t side, int32_t *low, uint64_t *key)
{
    int32_t a = ends[2 * side], b = ends[2 * side + 1];
    *low = a == b ? -1 : hk_min_int(a, b);
    *key = (uint64_t)(uint32_t)hk_max_int(a, b);
}

static hk_status visit_sides(const hk_surface_def *def, sides *s)
{
    const hk_surface *surface = s->surface;
    int64_t corners = 3 * (int64_t)surface->triangle_count, all = corners + def->line_count;
    int32_t *to = s->ends = HK_ARRAY(int32_t, 2 * all);
    if (!s->ends) return HK_NO_MEMORY;
    for (int64_t k = 0; k < corners; k++) {
        *to++ = surface->triangles[k];
        *to++ = surface->triangles[k % 3 == 2 ? k - 2 : k + 1];
    }
    if (def->line_count > 0) memcpy(to, def->lines, 2 * sizeof *to * (size_t)def->line_count);
    HK_TRY(hk_visit_facets(surface->vertex_count, all, s->ends, pair_key, count_edge, s));
    s->surface->edges = HK_ARRAY(int32_t, 2 * (size_t)surface->edge_count);
    if (!surface->edges) return HK_NO_MEMORY;
    s->surface->edge_count = 0;
    return hk_visit_facets(surface->vertex_count, all, s->ends, pair_key, take_edge, s);
}

static hk_status take_edges(const hk_surface_def *def, hk_surface *s)
{
    size_t corners = 3 * (size_t)s->triangle_count;
    s->line_count = def->line_count;
    s->triangle_edges = HK_ARRAY(int32_t, corners);
    s->line_edges = HK_ARRAY(int32_t, def->line_count);
    if (!s->triangle_edges || !s->line_edges) return HK_NO_MEMORY;
    // A triangle that repeats a vertex has sides that are no edges.
    memset(s->triangle_edges, 0xff, corners * sizeof(int32_t));
    sides all = {.surface = s};
    hk_status status = visit_sides(def, &all);
    hk_free(all.ends);
    return status;
}

// ---------------------------------------------------------------- bodies

static int32_t find_root(int32_t *parents, int32_t v)
{
    while (parents[v] != v) v = parents[v] = parents[parents[v]];
    return v;
}

// The lower root stays, so that a component's root is its lowest vertex.
static void join(int32_t *parents, int count, int corners, const int32_t *elements)
{
    for (int64_t e = 0; e < count; e++)
        for (int k = 1; k < corners; k++) {
            int32_t a = find_root(parents, elements[corners * e]);
            int32_t b = find_root(parents, elements[corners * e + k]);
            parents[hk_max_int(a, b)] = hk_min_int(a, b);
        }
}

// Parents come before their children: one pass replaces them by numbers. Vertices of no element are
// bodies of their own after all others would be; −1 here.
static hk_status number_components(const hk_surface_def *def, int32_t *bodies)
{
    uint8_t *used = HK_ZEROS(uint8_t, def->vertex_count);
    if (!used) return HK_NO_MEMORY;
    for (int64_t k = 0; k < 4 * (int64_t)def->tet_count; k++) used[def->tets[k]] = 1;
    for (int64_t k = 0; k < 3 * (int64_t)def->triangle_count; k++) used[def->triangles[k]] = 1;
    for (int64_t k = 0; k < 2 * (int64_t)def->line_count; k++) used[def->lines[k]] = 1;
    for (int32_t v = 0; v < def->vertex_count; v++) bodies[v] = v;
    join(bodies, def->tet_count, 4, def->tets);
    for (int64_t k = 0; k < 6 * (int64_t)def->tet_count && def->middles; k++)
        if (def->middles[k] >= 0) {
            used[def->middles[k]] = 1;
            join(bodies, 1, 2, (const int32_t[2]){def->tets[4 * (k / 6)], def->middles[k]});
        }
    join(bodies, def->triangle_count, 3, def->triangles);
    join(bodies, def->line_count, 2, def->lines);
    int32_t count = 0;
    for (int32_t v = 0; v < def->vertex_count; v++)
        bodies[v] = !used[v] ? -1 : bodies[v] == v ? count++ : bodies[bodies[v]];
    hk_free(used);
    return HK_OK;
}

static hk_status take_bodies(const hk_surface_def *def, hk_surface *s)
{
    s->bodies = HK_ARRAY(int32_t, def->vertex_count);
    if (!s->bodies) return HK_NO_MEMORY;
    if (!def->bodies) return number_components(def, s->bodies);
    memcpy(s->bodies, def->bodies, (size_t)def->vertex_count * sizeof(int32_t));
    return HK_OK;
}

// ---------------------------------------------------------------- all of it

hk_status hk_surface_create(const hk_surface_def *def, hk_surface **surface)
{
    hk_surface *s = HK_NEW(hk_surface);
    if (!s) return HK_NO_MEMORY;
    s->vertex_count = def->vertex_count;
    hk_status status = take_triangles(def, s);
    if (status == HK_OK) status = take_edges(def, s);
    if (status == HK_OK) status = take_bodies(def, s);
    if (status != HK_OK) {
        hk_surface_free(s);
        return status;
    }
    *surface = s;
    return HK_OK;
}

void hk_primitive_boxes(const double *x, int count, int corners, const int32_t *primitives,
                        int threads, hk_box *boxes)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int p = 0; p < count; p++) {
        const int32_t *v = primitives + (size_t)corners * (size_t)p;
        hk_box box;
        memcpy(box.low, x + 3 * (size_t)v[0], sizeof box.low);
        memcpy(box.high, box.low, sizeof box.high);
        for (int k = 1; k < corners; k++)
            for (int i = 0; i < 3; i++) {
                double at = x[3 * (size_t)v[k] + (size_t)i];
                box.low[i] = at < box.low[i] ? at : box.low[i];
                box.high[i] = at > box.high[i] ? at : box.high[i];
            }
        boxes[p] = box;
    }
}
