// Moves vertices of a mesh onto the sharp edges of the surface that it fills.
//
// An edge of the mesh's surface whose ends are on different sides of a sharp edge cuts a chamfer.
// One of the two goes onto the sharp edge, the nearest first; corners come before edges. A move is
// taken back if it makes a dihedral angle too small or too large, even after the vertices around
// have made room.
#include <math.h>

#include "mesh/fill_snap.h"
#include "mesh/rim.h"
#include "mesh/sort.h"

typedef hk_fill_snapper snapper;

// The least sine of a dihedral angle that a move may leave: 11°, a little more than what
// stuffing.c promises elsewhere.
static const double LEAST_SINE = 0.1908;
// How far a vertex may be moved, in sizes.
static const double FARTHEST = 0.9;
enum { ROUNDS = 3, SWEEPS = 3 };

static double *position(const snapper *s, int v)
{
    return s->mesh->positions + 3 * (size_t)v;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

// ---------------------------------------------------------------- quality

// The least sine of the dihedral angles around a vertex, negative if a tet is inverted; or anything
// that is not above `enough`, if it is not.
static double worst_sine(const snapper *s, int v, double enough)
{
    double worst = 1, limit = enough > 0 ? enough * enough : -1;
    for (int k = s->first[v]; k < s->first[v + 1]; k++) {
        const int32_t *t = s->mesh->tets + 4 * (size_t)s->tets[k];
        double cosines[6];
        if (!hk_fill_tet_cosines(position(s, t[0]), position(s, t[1]), position(s, t[2]),
                                 position(s, t[3]), cosines))
            return -1;
        for (int e = 0; e < 6; e++) worst = fmin(worst, 1 - cosines[e] * cosines[e]);
        if (worst <= limit) break;
    }
    return sqrt(fmax(worst, 0));
}

static bool is_good(const snapper *s, int v)
{
    return worst_sine(s, v, LEAST_SINE) > LEAST_SINE;
}

// Where a vertex may go that is wanted at x: those on the surface stay on it.
static bool allowed_place(const snapper *s, int v, double x[3])
{
    if (s->sharp[v] == 2) return false;
    if (!s->outer[v]) return true;
    const hk_winding_tree *tree = s->sharp[v] ? s->features->tree : s->solid->surface;
    if (!s->sharp[v] && s->normals[3 * (size_t)v] == 0 && s->normals[3 * (size_t)v + 1] == 0 &&
        s->normals[3 * (size_t)v + 2] == 0)
        return false;  // on a lid
    hk_nearest found = hk_winding_nearest(tree, x, s->size, NULL);
    if (found.triangle < 0) return false;
    // Not over a sharp edge.
    double n[3];
    if (!s->sharp[v] && (!hk_fill_normal(s->surface, found.triangle, n) ||
                         !(dot(n, s->normals + 3 * (size_t)v) > 0.75)))
        return false;
    memcpy(x, found.point, sizeof found.point);
    return true;
}

// Tries places around a vertex for one that is better.
static void improve(snapper *s, int v)
{
    double *p = position(s, v), best[3], best_sine = worst_sine(s, v, -1);
    memcpy(best, p, sizeof best);
    for (double step = 0.2 * s->size; step > 0.04 * s->size; step /= 2) {
        double around[3];
        memcpy(around, best, sizeof around);
        for (int k = 0; k < 26; k++) {
            int code = k < 13 ? k : k + 1;
            double d[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1}, x[3];
            double length = sqrt(dot(d, d));
            for (int i = 0; i < 3; i++) x[i] = around[i] + step / length * d[i];
            if (!allowed_place(s, v, x)) continue;
            memcpy(p, x, sizeof x);
            double sine = worst_sine(s, v, best_sine);
            if (!(sine > best_sine)) continue;
            best_sine = sine;
            memcpy(best, x, sizeof best);
        }
    }
    memcpy(p, best, sizeof best);
}

// ---------------------------------------------------------------- moves

static hk_status remember(snapper *s, int v)
{
    for (size_t k = 0; k < s->moved_count; k++)
        if (s->moved[k] == v) return HK_OK;
    HK_TRY(hk_reserve((void **)&s->moved, s->moved_count, sizeof *s->moved, &s->moved_room,
                      s->moved_count + 1));
    HK_TRY(hk_reserve((void **)&s->before, s->moved_count, 3 * sizeof *s->before, &s->before_room,
                      s->moved_count + 1));
    s->moved[s->moved_count] = v;
    memcpy(s->before + 3 * s->moved_count++, position(s, v), 3 * sizeof(double));
    return HK_OK;
}

static hk_status remember_around(snapper *s, int v)
{
    s->moved_count = 0;
    HK_TRY(remember(s, v));
    for (int k = s->first[v]; k < s->first[v + 1]; k++)
        for (int c = 0; c < 4; c++)
            HK_TRY(remember(s, s->mesh->tets[4 * (size_t)s->tets[k] + (size_t)c]));
    return HK_OK;
}

hk_status hk_fill_try_move(snapper *s, int v, const double x[3], uint8_t sharp, bool *done)
{
    uint8_t was = s->sharp[v];
    *done = true;
    HK_TRY(remember_around(s, v));
    memcpy(position(s, v), x, 3 * sizeof(double));
    s->sharp[v] = sharp;
    for (int sweep = 0; sweep <= SWEEPS; sweep++) {
        bool good = true;
        for (size_t k = 0; k < s->moved_count; k++) {
            if (is_good(s, s->moved[k])) continue;
            good = false;
            if (sweep < SWEEPS) improve(s, s->moved[k]);
        }
        if (good) return HK_OK;
    }
    for (size_t k = 0; k < s->moved_count; k++)
        memcpy(position(s, s->moved[k]), s->before + 3 * k, 3 * sizeof(double));
    s->sharp[v] = was;
    *done = false;
    return HK_OK;
}

// ---------------------------------------------------------------- what there is

static hk_status list_tets(snapper *s)
{
    const hk_mesh *m = s->mesh;
    size_t corners = 4 * (size_t)m->tet_count;
    s->first = HK_ZEROS(int32_t, (size_t)m->vertex_count + 2);
    s->tets = HK_ARRAY(int32_t, corners);
    if (!s->first || !s->tets) return HK_NO_MEMORY;
    int32_t *next = s->first + 1;  // where the tets of a vertex go; becomes where the next begin
    for (size_t k = 0; k < corners; k++) next[m->tets[k] + 1]++;
    for (int v = 0; v < m->vertex_count; v++) next[v + 1] += next[v];
    for (size_t k = 0; k < corners; k++) s->tets[next[m->tets[k]]++] = (int32_t)(k / 4);
    return HK_OK;
}

static hk_status list_edges(snapper *s)
{
    int count;
    const int32_t *triangles;
    HK_TRY(hk_mesh_surface(s->mesh, &count, &triangles, NULL));
    s->edges = HK_ARRAY(int32_t, 6 * (size_t)count);
    s->outer = HK_ZEROS(uint8_t, s->mesh->vertex_count);
    if (!s->edges || !s->outer) return HK_NO_MEMORY;
    for (size_t t = 0; t < (size_t)count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t a = triangles[3 * t + k], b = triangles[3 * t + (k + 1) % 3];
            s->outer[a] = 1;
            if (a > b) continue;  // its neighbour has it the other way around
            s->edges[2 * (size_t)s->edge_count] = a;
            s->edges[2 * (size_t)s->edge_count++ + 1] = b;
        }
    return HK_OK;
}

static hk_status find_normals(snapper *s)
{
    s->normals = HK_ZEROS(double, 3 * (size_t)s->mesh->vertex_count);
    if (!s->normals) return HK_NO_MEMORY;
#pragma omp parallel for schedule(dynamic, 256) num_threads(s->solid->threads)
    for (int v = 0; v < s->mesh->vertex_count; v++) {
        if (!s->outer[v]) continue;
        hk_nearest found =
            hk_winding_nearest(s->solid->surface, position(s, v), 1e-5 * s->size, NULL);
        if (found.triangle >= 0)
            hk_fill_normal(s->surface, found.triangle, s->normals + 3 * (size_t)v);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- corners

static hk_status snap_corners(snapper *s)
{
    const hk_fill_features *f = s->features;
    hk_winding_tree *tree;
    if (f->corner_count == 0) return HK_OK;
    HK_TRY(hk_fill_edge_tree(s->mesh->vertex_count, s->mesh->positions, s->edge_count, s->edges, 1,
                             &tree));
    hk_status status = HK_OK;
    for (int c = 0; c < f->corner_count && status == HK_OK; c++) {
        const double *x = s->surface->positions + 3 * (size_t)f->corners[c];
        hk_nearest found = hk_winding_nearest(tree, x, FARTHEST * s->size, NULL);
        if (found.triangle < 0) continue;
        const int32_t *e = s->edges + 2 * (size_t)found.triangle;
        int near = distance(position(s, e[0]), x) <= distance(position(s, e[1]), x) ? 0 : 1;
        for (int k = 0; k < 2; k++) {
            int v = e[near ^ k];
            bool done = false;
            if (s->sharp[v] == 2 || distance(position(s, v), x) > FARTHEST * s->size) continue;
            status = hk_fill_try_move(s, v, x, 2, &done);
            if (done || status != HK_OK) break;
        }
    }
    hk_winding_tree_free(tree);
    return status;
}

// ---------------------------------------------------------------- edges

// Whether a sharp edge passes between the ends of an edge, neither of which is on one.
static bool straddles(const snapper *s, const int32_t *edge)
{
    const double *m = s->normals + 3 * (size_t)edge[0], *n = s->normals + 3 * (size_t)edge[1];
    if (s->sharp[edge[0]] || s->sharp[edge[1]]) return false;
    bool lid_m = dot(m, m) == 0, lid_n = dot(n, n) == 0;
    if (lid_m || lid_n) return lid_m != lid_n;
    return dot(m, n) < s->features->most_cosine;
}

static bool is_straddling(const snapper *s, const int32_t *first, const int32_t *list, int v)
{
    for (int k = first[v]; k < first[v + 1]; k++)
        if (straddles(s, s->edges + 2 * (size_t)list[k])) return true;
    return false;
}

// The edges of each vertex, as list_tets does tets.
static hk_status list_edges_of(const snapper *s, int32_t **first, int32_t **list)
{
    size_t count = (size_t)s->mesh->vertex_count;
    *first = HK_ZEROS(int32_t, count + 2);
    *list = HK_ARRAY(int32_t, 2 * (size_t)s->edge_count);
    if (!*first || !*list) return HK_NO_MEMORY;
    int32_t *next = *first + 1;
    for (size_t k = 0; k < 2 * (size_t)s->edge_count; k++) next[s->edges[k] + 1]++;
    for (size_t v = 0; v < count; v++) next[v + 1] += next[v];
    for (size_t k = 0; k < 2 * (size_t)s->edge_count; k++)
        (*list)[next[s->edges[k]]++] = (int32_t)(k / 2);
    return HK_OK;
}

// Vertices that straddle, by their distance from the sharp edge, in micro-sizes.
static int list_candidates(const snapper *s, const int32_t *first, const int32_t *list,
                           hk_keyed *order)
{
    int count = 0;
    for (int v = 0; v < s->mesh->vertex_count; v++) {
        if (!s->outer[v] || s->sharp[v] || !is_straddling(s, first, list, v)) continue;
        double reach = FARTHEST * s->size;
        double d = hk_winding_nearest(s->features->tree, position(s, v), reach, NULL).distance;
        if (d <= reach) order[count++] = (hk_keyed){(uint64_t)(1e6 * d / s->size), v};
    }
    return count;
}

static bool is_corner(const snapper *s, int32_t vertex)
{
    const hk_fill_features *f = s->features;
    int low = 0, high = f->corner_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (f->corners[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->corner_count && f->corners[low] == vertex;
}

// Whether a place on a sharp edge is a corner, which belongs to one vertex alone.
static bool is_at_corner(const snapper *s, const hk_nearest *place)
{
    for (int k = 0; k < 2; k++) {
        int32_t end = s->features->edges[2 * (size_t)place->triangle + (size_t)k];
        if (distance(place->point, s->surface->positions + 3 * (size_t)end) < 1e-6 * s->size &&
            is_corner(s, end))
            return true;
    }
    return false;
}

// Moves a vertex to the nearest place on a sharp edge, or to one beside it where that fails.
static hk_status move_onto_edge(snapper *s, int v, bool *done)
{
    static const double beside[] = {0, 0.25, -0.25, 0.5, -0.5};  // sizes along the edge
    const hk_winding_tree *tree = s->features->tree;
    double reach = FARTHEST * s->size, along[3], x[3];
    hk_nearest found = hk_winding_nearest(tree, position(s, v), reach, NULL);
    *done = false;
    if (found.triangle < 0) return HK_OK;
    const int32_t *e = s->features->edges + 2 * (size_t)found.triangle;
    for (int i = 0; i < 3; i++)
        along[i] = s->surface->positions[3 * (size_t)e[1] + (size_t)i] -
                   s->surface->positions[3 * (size_t)e[0] + (size_t)i];
    if (!hk_unit3(along, along)) return HK_OK;
    for (int k = 0; k < HK_COUNT_OF(beside) && !*done; k++) {
        for (int i = 0; i < 3; i++) x[i] = found.point[i] + beside[k] * s->size * along[i];
        hk_nearest there = hk_winding_nearest(tree, x, s->size, NULL);
        if (there.triangle < 0 || distance(there.point, position(s, v)) > s->size ||
            is_at_corner(s, &there))
            continue;
        HK_TRY(hk_fill_try_move(s, v, there.point, 1, done));
    }
    return HK_OK;
}

static hk_status snap_round(snapper *s, const int32_t *first, const int32_t *list, hk_keyed *order,
                            hk_keyed *scratch, int *moved)
{
    int count = list_candidates(s, first, list, order);
    hk_sort_keyed(order, scratch, (size_t)count);
    *moved = 0;
    for (int k = 0; k < count; k++) {
        int v = (int)order[k].item;
        bool done;
        if (!is_straddling(s, first, list, v)) continue;
        HK_TRY(move_onto_edge(s, v, &done));
        *moved += done;
    }
    return HK_OK;
}

static hk_status snap_edges(snapper *s)
{
    int32_t *first = NULL, *list = NULL;
    size_t count = (size_t)s->mesh->vertex_count;
    hk_keyed *order = HK_ARRAY(hk_keyed, count), *scratch = HK_ARRAY(hk_keyed, count);
    hk_status status = order && scratch ? list_edges_of(s, &first, &list) : HK_NO_MEMORY;
    int moved = 1;
    for (int round = 0; round < ROUNDS && moved > 0 && status == HK_OK; round++)
        status = snap_round(s, first, list, order, scratch, &moved);
    hk_free(first);
    hk_free(list);
    hk_free(order);
    hk_free(scratch);
    return status;
}

// Two vertices may have gone to the same place, from both sides of a crease: one of them goes back
// a little.
static hk_status part_vertices(snapper *s)
{
    const double back = 0.02;
    int32_t *same = HK_ARRAY(int32_t, s->mesh->vertex_count);
    if (!same) return HK_NO_MEMORY;
    hk_status status = hk_merge_vertices(s->mesh->vertex_count, s->mesh->positions, same);
    for (int v = 0; v < s->mesh->vertex_count && status == HK_OK; v++) {
        double middle[3] = {0}, *p = position(s, v);
        int count = 4 * (s->first[v + 1] - s->first[v]);
        if (same[v] == v || count == 0) continue;
        for (int k = s->first[v]; k < s->first[v + 1]; k++)
            for (int c = 0; c < 4; c++)
                for (int i = 0; i < 3; i++)
                    middle[i] += position(s, s->mesh->tets[4 * (size_t)s->tets[k] + (size_t)c])[i];
        for (int i = 0; i < 3; i++) p[i] += back * (middle[i] / count - p[i]);
    }
    hk_free(same);
    return status;
}

// ---------------------------------------------------------------- what is kept

// Sharp edges in steps of a quarter of a size: those that are near the surface of the mesh count,
// and are kept where an edge of the mesh between two vertices on them is.
static void measure_kept(const snapper *s, const hk_winding_tree *all, const hk_winding_tree *on,
                         double *length, double *kept)
{
    const hk_fill_features *f = s->features;
    double near = 0;
    *length = 0;
    for (int64_t k = 0; k < f->count; k++) {
        const double *p = s->surface->positions + 3 * (size_t)f->edges[2 * k];
        const double *q = s->surface->positions + 3 * (size_t)f->edges[2 * k + 1];
        int parts = (int)fmin(ceil(4 * distance(p, q) / s->size), 1e6);
        double part = distance(p, q) / parts;
        for (int i = 0; i < parts; i++) {
            double at = (i + 0.5) / parts, x[3];
            for (int c = 0; c < 3; c++) x[c] = p[c] + at * (q[c] - p[c]);
            if (hk_winding_nearest(all, x, s->size, NULL).triangle < 0) continue;
            *length += part;
            if (on && hk_winding_nearest(on, x, 0.05 * s->size, NULL).triangle >= 0) near += part;
        }
    }
    *kept = *length > 0 ? near / *length : 1;
}

static hk_status find_kept(snapper *s, double *length, double *kept)
{
    const hk_mesh *m = s->mesh;
    hk_winding_tree *all = NULL, *on = NULL;
    int count = 0;
    HK_TRY(hk_fill_edge_tree(m->vertex_count, m->positions, s->edge_count, s->edges, 1, &all));
    for (int64_t k = 0; k < s->edge_count; k++)
        if (s->sharp[s->edges[2 * k]] && s->sharp[s->edges[2 * k + 1]])
            memmove(s->edges + 2 * (int64_t)count++, s->edges + 2 * k, 2 * sizeof(int32_t));
    hk_status status = HK_OK;
    if (count > 0)
        status = hk_fill_edge_tree(m->vertex_count, m->positions, count, s->edges, 1, &on);
    if (status == HK_OK) measure_kept(s, all, on, length, kept);
    hk_winding_tree_free(all);
    hk_winding_tree_free(on);
    return status;
}

hk_status hk_fill_snap(const hk_fill_surface *surface, const hk_fill_solid *solid,
                       const hk_fill_features *features, hk_mesh *mesh, uint8_t *sharp,
                       double *length, double *kept)
{
    snapper s = {.surface = surface,
                 .solid = solid,
                 .features = features,
                 .mesh = mesh,
                 .size = solid->size,
                 .sharp = sharp};
    hk_status status = list_tets(&s);
    if (status == HK_OK) status = list_edges(&s);
    if (status == HK_OK) status = find_normals(&s);
    if (status == HK_OK && features->tree) status = snap_corners(&s);
    if (status == HK_OK && features->tree) status = snap_edges(&s);
    if (status == HK_OK) status = hk_fill_reach_peaks(&s);
    if (status == HK_OK) status = part_vertices(&s);
    if (status == HK_OK) status = find_kept(&s, length, kept);
    hk_free(s.outer);
    hk_free(s.first);
    hk_free(s.tets);
    hk_free(s.edges);
    hk_free(s.normals);
    hk_free(s.moved);
    hk_free(s.before);
    return status;
}
