// Sharp edges of a surface: those across which it turns by more than an angle, and those where it
// ends or several sheets meet.
#include <math.h>

#include "mesh/facets.h"
#include "mesh/fill.h"

static const double pi = 3.14159265358979323846;

// Sharp edges that hang together and are no longer than so many sizes are roughness, not features.
static const double SHORTEST = 2;

typedef struct search {
    const hk_fill_surface *surface;
    hk_fill_features *out;
    size_t capacity;
    hk_status status;
} search;

static const double *corner(const hk_fill_surface *s, int t, int k)
{
    return s->positions + 3 * (size_t)s->triangles[3 * (size_t)t + (size_t)k];
}

bool hk_fill_normal(const hk_fill_surface *s, int t, double unit[3])
{
    const double *a = corner(s, t, 0), *b = corner(s, t, 1), *c = corner(s, t, 2);
    double e[3], f[3], n[3];
    for (int i = 0; i < 3; i++) {
        e[i] = b[i] - a[i];
        f[i] = c[i] - a[i];
    }
    n[0] = e[1] * f[2] - e[2] * f[1];
    n[1] = e[2] * f[0] - e[0] * f[2];
    n[2] = e[0] * f[1] - e[1] * f[0];
    return hk_unit3(n, unit);
}

// ---------------------------------------------------------------- edges

static bool is_sharp(const search *s, const hk_keyed *run, size_t count)
{
    double m[3], n[3];
    if (count != 2) return true;
    if (!hk_fill_normal(s->surface, (int)(run[0].item / 3), m) ||
        !hk_fill_normal(s->surface, (int)(run[1].item / 3), n))
        return false;
    return m[0] * n[0] + m[1] * n[1] + m[2] * n[2] < s->out->most_cosine;
}

static void take_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    search *s = context;
    hk_fill_features *f = s->out;
    if (s->status != HK_OK || !is_sharp(s, run, count)) return;
    s->status = hk_reserve((void **)&f->edges, (size_t)f->count, 2 * sizeof(int32_t), &s->capacity,
                           (size_t)f->count + 1);
    if (s->status != HK_OK) return;
    f->edges[2 * (size_t)f->count] = low;
    f->edges[2 * (size_t)f->count++ + 1] = (int32_t)(run->key & 0xffffffffu);
}

static double length_of(const hk_fill_surface *s, const int32_t *edge)
{
    const double *p = s->positions + 3 * (size_t)edge[0], *q = s->positions + 3 * (size_t)edge[1];
    double e[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
}

// Keeps the edges of chains that are long enough.
static hk_status leave_out_short(const hk_fill_surface *s, double shortest, hk_fill_features *f)
{
    int32_t *parents = HK_ARRAY(int32_t, s->vertex_count);
    double *lengths = HK_ZEROS(double, s->vertex_count);
    hk_status status = parents && lengths ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int v = 0; v < s->vertex_count; v++) parents[v] = v;
        for (int64_t k = 0; k < f->count; k++)
            parents[hk_fill_root(parents, f->edges[2 * k])] =
                hk_fill_root(parents, f->edges[2 * k + 1]);
        for (int64_t k = 0; k < f->count; k++)
            lengths[hk_fill_root(parents, f->edges[2 * k])] += length_of(s, f->edges + 2 * k);
        int kept = 0;
        for (int64_t k = 0; k < f->count; k++) {
            if (lengths[hk_fill_root(parents, f->edges[2 * k])] < shortest) continue;
            f->length += length_of(s, f->edges + 2 * k);
            memmove(f->edges + 2 * (int64_t)kept++, f->edges + 2 * k, 2 * sizeof(int32_t));
        }
        f->count = kept;
    }
    hk_free(parents);
    hk_free(lengths);
    return status;
}

// ---------------------------------------------------------------- corners

// Vertices in which edges do not go on: one, or more than two, or two that turn.
static bool is_corner(const hk_fill_surface *s, int v, int degree, const int32_t others[2],
                      double most_cosine)
{
    if (degree != 2) return degree > 0;
    double a[3], b[3];
    for (int i = 0; i < 3; i++) {
        a[i] = s->positions[3 * (size_t)v + (size_t)i] -
               s->positions[3 * (size_t)others[0] + (size_t)i];
        b[i] = s->positions[3 * (size_t)others[1] + (size_t)i] -
               s->positions[3 * (size_t)v + (size_t)i];
    }
    if (!hk_unit3(a, a) || !hk_unit3(b, b)) return false;
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] < most_cosine;
}

static hk_status find_corners(const hk_fill_surface *s, double most_cosine, hk_fill_features *f)
{
    int32_t(*others)[2] = hk_alloc((size_t)s->vertex_count, sizeof *others);
    int32_t *degree = HK_ZEROS(int32_t, s->vertex_count);
    f->corners = HK_ARRAY(int32_t, 2 * (size_t)f->count);
    hk_status status = others && degree && f->corners ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t k = 0; k < 2 * (int64_t)f->count; k++) {
            int32_t v = f->edges[k], other = f->edges[k ^ 1];
            if (degree[v] < 2) others[v][degree[v]] = other;
            degree[v]++;
        }
        for (int v = 0; v < s->vertex_count; v++)
            if (is_corner(s, v, degree[v], others[v], most_cosine))
                f->corners[f->corner_count++] = v;
    }
    hk_free(others);
    hk_free(degree);
    return status;
}

// ---------------------------------------------------------------- the whole

// Edges as triangles without area.
hk_status hk_fill_edge_tree(int vertex_count, const double *positions, int count,
                            const int32_t *edges, int threads, hk_winding_tree **tree)
{
    int32_t *flat = HK_ARRAY(int32_t, 3 * (size_t)count);
    if (!flat) return HK_NO_MEMORY;
    for (size_t k = 0; k < (size_t)count; k++) {
        flat[3 * k] = edges[2 * k];
        flat[3 * k + 1] = flat[3 * k + 2] = edges[2 * k + 1];
    }
    hk_status status = hk_winding_tree_create(vertex_count, positions, count, flat, threads, tree);
    hk_free(flat);
    return status;
}

static hk_status find(search *s, double size, int threads)
{
    const hk_fill_surface *in = s->surface;
    HK_TRY(hk_visit_facets(in->vertex_count, 3 * (int64_t)in->count, in->triangles,
                           hk_triangle_edge, take_edge, s));
    HK_TRY(s->status);
    HK_TRY(leave_out_short(in, SHORTEST * size, s->out));
    if (s->out->count == 0) return HK_OK;
    HK_TRY(find_corners(in, s->out->most_cosine, s->out));
    return hk_fill_edge_tree(in->vertex_count, in->positions, s->out->count, s->out->edges, threads,
                             &s->out->tree);
}

hk_status hk_fill_find_features(const hk_fill_surface *surface, double sharp_angle, double size,
                                int threads, hk_fill_features *features)
{
    *features = (hk_fill_features){0};
    if (!(sharp_angle < 180)) return HK_OK;
    features->most_cosine = cos(sharp_angle * pi / 180);
    search s = {.surface = surface, .out = features};
    hk_status status = find(&s, size, threads);
    if (status != HK_OK) hk_fill_features_release(features);
    return status;
}

void hk_fill_features_release(hk_fill_features *f)
{
    hk_free(f->edges);
    hk_free(f->corners);
    hk_winding_tree_free(f->tree);
    *f = (hk_fill_features){0};
}
