// Peaks: where the surface is farther from the mesh than half a size, as at the ends of thin parts,
// the nearest vertex of the mesh goes there, or as near as tets stay good.
#include <math.h>

#include "mesh/fill_snap.h"
#include "mesh/sort.h"

typedef hk_fill_snapper snapper;

// What is farther than the first, in sizes, is reached for, so that at most the second is left.
static const double FAR = 0.45, LEFT = 0.48;
// How far a vertex may go, in sizes.
static const double FARTHEST = 3;
enum { ROUNDS = 5, PLACES = 5, MOST = 8 };
// A vertex that could go to none of so many peaks is left alone in a round: where a whole part is
// lost there are thousands of them around the same vertices.
enum { PATIENCE = 4 };

typedef struct peak {
    double point[3], distance;
    int triangle;  // of the mesh's surface, the nearest
    bool bridged;  // the triangle's middle is far from the point, which may be near a corner
} peak;

typedef struct peaks {
    peak *list;  // [count]
    size_t count, room;
    int surface_count;
    const int32_t *surface;  // of the mesh
} peaks;

static double distance(const double a[3], const double b[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

// ---------------------------------------------------------------- finding them

static hk_status add_peak(peaks *to, const peak *p)
{
    HK_TRY(hk_reserve((void **)&to->list, to->count, sizeof *p, &to->room, to->count + 1));
    to->list[to->count++] = *p;
    return HK_OK;
}

enum { RUN = 16 };  // triangles that are looked at together

// Points of a grid that are far from the mesh and a border of the body. Counts them, where there is
// no list; `idle` are those that are no border. Returns the greatest distance.
static hk_status mark_grid(const snapper *s, const hk_winding_tree *tree, const hk_fill_grid *g,
                           const double n[3], peaks *out, int *count, int *idle, double *most)
{
    hk_nearest nearest = {.triangle = -1};
    for (int k = 0; k < g->count; k++) {
        peak p = {0};
        hk_fill_grid_point(g, k, p.point);
        nearest =
            hk_winding_nearest(tree, p.point, INFINITY, nearest.triangle < 0 ? NULL : &nearest);
        *most = fmax(*most, nearest.distance);
        if (nearest.distance <= FAR * s->size) continue;
        if (!hk_fill_is_border(s->solid, p.point, n)) {
            ++*idle;
            continue;
        }
        p.distance = nearest.distance;
        p.triangle = nearest.triangle;
        ++*count;
        if (out) HK_TRY(add_peak(out, &p));
    }
    return HK_OK;
}

// Those of a triangle of the surface, at points half a size apart, and where the mesh is not near
// at points between them.
static hk_status mark(const snapper *s, const hk_winding_tree *tree, int t, peaks *out, int *count)
{
    double n[3], most = 0;
    int idle = 0, between = 0;
    if (s->surface->idle[t] || !hk_fill_normal(s->surface, t, n)) return HK_OK;
    hk_fill_grid g = hk_fill_grid_of(s->surface, t, s->size);
    HK_TRY(mark_grid(s, tree, &g, n, out, count, &idle, &most));
    s->surface->idle[t] = idle == g.count;  // inside of another part: that takes long to find out
    if (s->surface->idle[t] || most <= (FAR / 2) * s->size) return HK_OK;
    hk_fill_grid_refine(&g);
    return mark_grid(s, tree, &g, n, out, count, &between, &most);
}

// A triangle of the mesh that passes the surface by, at one of the points of a grid: the point of
// the surface that is nearest to the farthest of them. Returns how far that is.
static hk_status mark_bridge(const snapper *s, int t, const hk_fill_grid *g, const double n[3],
                             peaks *out, double *most)
{
    peak bridge = {.triangle = t, .bridged = true};
    for (int k = 0; k < g->count; k++) {
        double p[3];
        hk_fill_grid_point(g, k, p);
        hk_nearest nearest = hk_winding_nearest(s->solid->surface, p, INFINITY, NULL);
        *most = fmax(*most, nearest.distance);
        if (nearest.distance <= fmax(FAR * s->size, bridge.distance)) continue;
        if (hk_fill_border_distance(s->solid, p, n) < nearest.distance) continue;  // a lid
        bridge.distance = nearest.distance;
        memcpy(bridge.point, nearest.point, sizeof bridge.point);
    }
    return bridge.distance > 0 ? add_peak(out, &bridge) : HK_OK;
}

// What is near a corner is near the border, on which corners are.
static hk_status mark_bridges(const snapper *s, peaks *out)
{
    for (int t = 0; t < out->surface_count; t++) {
        const int32_t *v = out->surface + 3 * (size_t)t;
        hk_fill_grid g = {.parts = 1, .count = 1};
        double middle[3], n[3], radius = 0, most = 0;
        for (int k = 0; k < 3; k++) g.corner[k] = s->mesh->positions + 3 * (size_t)v[k];
        hk_fill_grid_point(&g, 0, middle);
        for (int k = 0; k < 3; k++) radius = fmax(radius, distance(middle, g.corner[k]));
        if (radius <= FAR * s->size || !hk_fill_normal_of(g.corner[0], g.corner[1], g.corner[2], n))
            continue;
        size_t before = out->count;
        HK_TRY(mark_bridge(s, t, &g, n, out, &most));
        if (out->count > before || most <= (FAR / 3) * s->size) continue;
        hk_fill_grid_refine(&g);
        HK_TRY(mark_bridge(s, t, &g, n, out, &most));
    }
    return HK_OK;
}

// Most runs of triangles have none: they are found on all threads, and the others looked at again,
// because memory is taken by one thread.
static hk_status mark_all(const snapper *s, const hk_winding_tree *tree, peaks *all)
{
    int count = s->surface->count, runs = (count - 1) / RUN + 1;
    int *far = HK_ZEROS(int, runs);
    hk_status status = far ? HK_OK : HK_NO_MEMORY;
    if (!far) return status;
#pragma omp parallel for schedule(dynamic) num_threads(s->solid->threads)
    for (int r = 0; r < runs; r++)
        for (int t = r * RUN; t < hk_min_int((r + 1) * RUN, count); t++)
            mark(s, tree, t, NULL, &far[r]);
    for (int r = 0; r < runs; r++)
        for (int t = r * RUN; t < hk_min_int((r + 1) * RUN, count) && far[r] > 0; t++)
            if (status == HK_OK) status = mark(s, tree, t, all, &far[r]);
    hk_free(far);
    return status;
}

// The farthest first.
static hk_status sort_peaks(const snapper *s, peaks *all)
{
    hk_keyed *order = HK_ARRAY(hk_keyed, all->count), *scratch = HK_ARRAY(hk_keyed, all->count);
    peak *sorted = HK_ARRAY(peak, all->count);
    hk_status status = order && scratch && sorted ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (size_t k = 0; k < all->count; k++) {
            double nearness = 1e6 * fmax(0, 1e3 - all->list[k].distance / s->size);
            order[k] = (hk_keyed){(uint64_t)nearness, (int64_t)k};
        }
        hk_sort_keyed(order, scratch, all->count);
        for (size_t k = 0; k < all->count; k++) sorted[k] = all->list[order[k].item];
        hk_free(all->list);
        all->list = sorted;
    } else {
        hk_free(sorted);
    }
    hk_free(order);
    hk_free(scratch);
    return status;
}

static hk_status find_peaks(const snapper *s, peaks *out)
{
    hk_winding_tree *tree = NULL;
    HK_TRY(hk_mesh_surface(s->mesh, &out->surface_count, &out->surface, NULL));
    HK_TRY(hk_winding_tree_create(s->mesh->vertex_count, s->mesh->positions, out->surface_count,
                                  out->surface, s->solid->threads, &tree));
    hk_status status = mark_all(s, tree, out);
    if (status == HK_OK) status = mark_bridges(s, out);
    hk_winding_tree_free(tree);
    return status == HK_OK && out->count > 0 ? sort_peaks(s, out) : status;
}

// ---------------------------------------------------------------- reaching them

typedef struct candidates {
    int vertex[MOST];
    double distance[MOST];
    int count;
} candidates;

// Keeps the nearest.
static void add_candidate(candidates *c, int v, double d)
{
    int at = c->count;
    for (int k = 0; k < c->count; k++)
        if (c->vertex[k] == v) return;
    if (at == MOST && d >= c->distance[MOST - 1]) return;
    at = at < MOST ? c->count++ : MOST - 1;
    for (; at > 0 && c->distance[at - 1] > d; at--) {
        c->vertex[at] = c->vertex[at - 1];
        c->distance[at] = c->distance[at - 1];
    }
    c->vertex[at] = v;
    c->distance[at] = d;
}

// Vertices of the mesh's surface around the triangle that is nearest to a peak.
static void find_candidates(const snapper *s, const peaks *all, const peak *p, candidates *c)
{
    const int32_t *corner = all->surface + 3 * (size_t)p->triangle;
    c->count = 0;
    for (int j = 0; j < 3; j++)
        for (int k = s->first[corner[j]]; k < s->first[corner[j] + 1]; k++)
            for (int i = 0; i < 4; i++) {
                int v = s->mesh->tets[4 * (size_t)s->tets[k] + (size_t)i];
                if (s->outer[v])
                    add_candidate(c, v, distance(s->mesh->positions + 3 * (size_t)v, p->point));
            }
}

// One of the vertices around, the nearest first, goes to the peak or almost.
static hk_status reach(snapper *s, const peaks *all, const peak *p, uint8_t *failed, bool *done)
{
    static const double short_of[PLACES] = {0, 0.25, 0.5, 0.75, 1};  // times LEFT sizes
    candidates c;
    find_candidates(s, all, p, &c);
    *done = !p->bridged && c.distance[0] <= FAR * s->size;
    for (int k = 0; k < c.count && !*done; k++) {
        double from[3];
        memcpy(from, s->mesh->positions + 3 * (size_t)c.vertex[k], sizeof from);
        if (s->sharp[c.vertex[k]] == 2 || c.distance[k] > FARTHEST * s->size) continue;
        if (failed[c.vertex[k]] >= PATIENCE) continue;
        for (int m = 0; m < PLACES && !*done; m++) {
            double back = short_of[m] * LEFT * s->size / c.distance[k], to[3];
            for (int i = 0; i < 3; i++) to[i] = p->point[i] + back * (from[i] - p->point[i]);
            HK_TRY(hk_fill_try_move(s, c.vertex[k], to, 2, done));
        }
        failed[c.vertex[k]] += !*done;
    }
    return HK_OK;
}

hk_status hk_fill_reach_peaks(snapper *s)
{
    if (s->solid->half_thickness > 0) return HK_OK;
    for (int round = 0; round < ROUNDS; round++) {
        peaks all = {0};
        int reached = 0;
        uint8_t *failed = HK_ZEROS(uint8_t, s->mesh->vertex_count);
        hk_status status = failed ? find_peaks(s, &all) : HK_NO_MEMORY;
        for (size_t k = 0; k < all.count && status == HK_OK; k++) {
            bool done;
            status = reach(s, &all, &all.list[k], failed, &done);
            reached += done;
        }
        hk_free(all.list);
        hk_free(failed);
        if (status != HK_OK || reached == 0) return status;
    }
    return HK_OK;
}
