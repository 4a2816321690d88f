// Cuts meshes by a plane. The cut is made in the rest shape, so that all frames show the same
// material, and its vertices are carried along by the edges they lie on.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "film.h"

void film_cut_free(film_cut *cut)
{
    free(cut->ends);
    free(cut->weights);
    *cut = (film_cut){0};
}

double *film_cut_values(const film_cut *cut, const double *values, int width)
{
    size_t first = (size_t)cut->first * (size_t)width;
    double *all = cli_realloc(NULL, first + (size_t)cut->count * (size_t)width, sizeof(double));
    memcpy(all, values, first * sizeof(double));
    for (int i = 0; i < cut->count; ++i) {
        const double *a = values + (size_t)width * (size_t)cut->ends[2 * i];
        const double *b = values + (size_t)width * (size_t)cut->ends[2 * i + 1];
        double *to = all + first + (size_t)width * (size_t)i, t = cut->weights[i];
        for (int k = 0; k < width; ++k) to[k] = (1 - t) * a[k] + t * b[k];
    }
    return all;
}

// ---------------------------------------------------------------- the plane

bool film_parse_plane(const char *text, film_plane *plane)
{
    *plane = (film_plane){{0, 0, 0}, 0};
    bool minus = text[0] == '-';
    const char *at = text + (minus || text[0] == '+');
    char *end = NULL;
    if (*at >= 'x' && *at <= 'z' && at[1] == '=') {
        plane->normal[*at - 'x'] = minus ? -1 : 1;
        plane->offset = strtod(at + 2, &end);
        if (minus) plane->offset = -plane->offset;
        return end != at + 2 && *end == '\0' && isfinite(plane->offset);
    }
    for (int k = 0; k < 4; ++k) {
        const char *number = k == 0 ? text : end + 1;
        double value = strtod(number, &end);
        char expected = k < 2 ? ',' : k == 2 ? '=' : '\0';
        if (end == number || *end != expected || !isfinite(value)) return false;
        *(k < 3 ? &plane->normal[k] : &plane->offset) = value;
    }
    return plane->normal[0] != 0 || plane->normal[1] != 0 || plane->normal[2] != 0;
}

// Distances along the normal, positive where things are cut away. Those of vertices that lie in the
// plane but for rounding are 0.
static double *heights_of(const double *x, int count, const film_plane *plane)
{
    double *heights = cli_realloc(NULL, (size_t)count, sizeof(double));
    double largest = 0, low = INFINITY, high = -INFINITY;
    const double *n = plane->normal;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int i = 0; i < count; ++i) {
        heights[i] = -plane->offset;
        for (int k = 0; k < 3; ++k) {
            heights[i] += n[k] * x[3 * (size_t)i + (size_t)k];
            low = fmin(low, x[3 * (size_t)i + (size_t)k]);
            high = fmax(high, x[3 * (size_t)i + (size_t)k]);
        }
    }
    largest = 1e-6 * length * (high - low);
    for (int i = 0; i < count; ++i)
        if (fabs(heights[i]) <= largest) heights[i] = 0;
    return heights;
}

// ---------------------------------------------------------------- vertices and triangles

typedef struct cutter {
    const double *x, *heights;
    const film_plane *plane;
    film_cut *cut;
    int capacity;
    int32_t *slots;  // [mask + 1] vertices of the cut by the edge they lie on, -1: free
    uint32_t mask;
    int32_t *triangles;
    int triangle_count, triangle_capacity;
} cutter;

static uint32_t slot_of(const cutter *c, int32_t low, int32_t high)
{
    uint64_t mixed = ((uint64_t)(uint32_t)low << 32 | (uint32_t)high) * 0x9E3779B97F4A7C15u;
    uint32_t i = (uint32_t)(mixed >> 32) & c->mask;
    while (c->slots[i] >= 0 &&
           (c->cut->ends[2 * c->slots[i]] != low || c->cut->ends[2 * c->slots[i] + 1] != high))
        i = (i + 1) & c->mask;
    return i;
}

static void grow_table(cutter *c)
{
    uint32_t size = c->slots ? 2 * (c->mask + 1) : 1024;
    c->slots = cli_realloc(c->slots, size, sizeof(int32_t));
    c->mask = size - 1;
    memset(c->slots, 0xff, size * sizeof(int32_t));
    for (int32_t i = 0; i < c->cut->count; ++i)
        c->slots[slot_of(c, c->cut->ends[2 * i], c->cut->ends[2 * i + 1])] = i;
}

// Where the edge from a vertex that stays to one that is cut away meets the plane.
static int32_t vertex_on(cutter *c, int32_t stays, int32_t goes)
{
    film_cut *cut = c->cut;
    if (c->heights[stays] == 0) return stays;
    int32_t low = stays < goes ? stays : goes, high = stays < goes ? goes : stays;
    if (!c->slots || 2 * (uint32_t)cut->count >= c->mask) grow_table(c);
    uint32_t slot = slot_of(c, low, high);
    if (c->slots[slot] >= 0) return cut->first + c->slots[slot];
    if (cut->count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 256;
        cut->ends = cli_realloc(cut->ends, 2 * (size_t)c->capacity, sizeof(int32_t));
        cut->weights = cli_realloc(cut->weights, (size_t)c->capacity, sizeof(double));
    }
    cut->ends[2 * cut->count] = low, cut->ends[2 * cut->count + 1] = high;
    cut->weights[cut->count] = c->heights[low] / (c->heights[low] - c->heights[high]);
    c->slots[slot] = cut->count;
    return cut->first + cut->count++;
}

static void add_triangle(cutter *c, int32_t a, int32_t b, int32_t d)
{
    if (a == b || b == d || a == d) return;
    if (c->triangle_count == c->triangle_capacity) {
        c->triangle_capacity = c->triangle_capacity ? 2 * c->triangle_capacity : 1024;
        c->triangles = cli_realloc(c->triangles, 3 * (size_t)c->triangle_capacity, sizeof(int32_t));
    }
    memcpy(c->triangles + 3 * (size_t)c->triangle_count++, (int32_t[]){a, b, d},
           3 * sizeof(int32_t));
}

// What is left of a triangle, which keeps its winding.
static void cut_triangle(cutter *c, const int32_t *v)
{
    int32_t polygon[4];
    int count = 0;
    for (int i = 0; i < 3; ++i) {
        int32_t a = v[i], b = v[(i + 1) % 3];
        bool stays = !(c->heights[a] > 0), next = !(c->heights[b] > 0);
        if (stays) polygon[count++] = a;
        if (stays != next) polygon[count++] = stays ? vertex_on(c, a, b) : vertex_on(c, b, a);
    }
    for (int i = 2; i < count; ++i) add_triangle(c, polygon[0], polygon[i - 1], polygon[i]);
}

static void place_of(const cutter *c, int32_t v, double place[3])
{
    int own = v - c->cut->first;
    for (int k = 0; k < 3; ++k) {
        if (own < 0) {
            place[k] = c->x[3 * (size_t)v + (size_t)k];
            continue;
        }
        size_t a = (size_t)c->cut->ends[2 * own], b = (size_t)c->cut->ends[2 * own + 1];
        double t = c->cut->weights[own];
        place[k] = (1 - t) * c->x[3 * a + (size_t)k] + t * c->x[3 * b + (size_t)k];
    }
}

// A triangle of the cut faces, turned so that it faces what was cut away.
static void add_facing(cutter *c, int32_t a, int32_t b, int32_t d)
{
    double p[3], q[3], r[3], side = 0;
    place_of(c, a, p);
    place_of(c, b, q);
    place_of(c, d, r);
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        side +=
            c->plane->normal[k] * ((q[i] - p[i]) * (r[j] - p[j]) - (q[j] - p[j]) * (r[i] - p[i]));
    }
    if (side >= 0)
        add_triangle(c, a, b, d);
    else
        add_triangle(c, a, d, b);
}

// The face that the plane leaves in a tet: three or four corners.
static void cut_tet(cutter *c, const int32_t *v)
{
    int32_t stay[4], go[4];
    int stays = 0, goes = 0;
    for (int i = 0; i < 4; ++i)
        if (c->heights[v[i]] > 0)
            go[goes++] = v[i];
        else
            stay[stays++] = v[i];
    if (stays == 1 || goes == 1) {
        int32_t corner[3];
        for (int i = 0; i < 3 && stays > 0 && goes > 0; ++i)
            corner[i] = stays == 1 ? vertex_on(c, stay[0], go[i]) : vertex_on(c, stay[i], go[0]);
        if (stays > 0 && goes > 0) add_facing(c, corner[0], corner[1], corner[2]);
    } else if (stays == 2) {
        int32_t corner[4] = {vertex_on(c, stay[0], go[0]), vertex_on(c, stay[0], go[1]),
                             vertex_on(c, stay[1], go[1]), vertex_on(c, stay[1], go[0])};
        add_facing(c, corner[0], corner[1], corner[2]);
        add_facing(c, corner[0], corner[2], corner[3]);
    }
}

// ---------------------------------------------------------------- meshes

// Returns false when nothing is left.
static bool cut_mesh(cutter *c, const hk_mesh *mesh, int outside, const int32_t *outer,
                     const int32_t *outer_tets)
{
    const int32_t *tets = hk_mesh_tets(mesh);
    bool left = false;
    for (int i = 0; i < hk_mesh_vertex_count(mesh); ++i) left = left || c->heights[i] < 0;
    if (!left) return false;
    for (int i = 0; i < outside; ++i) {
        const int32_t *v = outer + 3 * (size_t)i;
        bool within = c->heights[v[0]] == 0 && c->heights[v[1]] == 0 && c->heights[v[2]] == 0;
        // A face in the plane belongs to what is cut away when its tet does.
        const int32_t *t =
            within && outer_tets && outer_tets[i] >= 0 ? tets + 4 * (size_t)outer_tets[i] : NULL;
        bool gone = false;
        for (int k = 0; k < 4 && t; ++k) gone = gone || c->heights[t[k]] > 0;
        if (!gone) cut_triangle(c, v);
    }
    for (int i = 0; i < hk_mesh_tet_count(mesh); ++i) cut_tet(c, tets + 4 * (size_t)i);
    return c->triangle_count > 0;
}

int film_clip(hk_mesh *mesh, const double *positions, const film_plane *plane, const char *name,
              hk_mesh **clipped, film_cut *cut)
{
    int outside, vertices = hk_mesh_vertex_count(mesh), result = -1;
    const int32_t *outer, *outer_tets;
    if (hk_mesh_surface(mesh, &outside, &outer, &outer_tets) != HK_OK)
        return cli_failure("%s: %s", name, hk_error());
    double *heights = heights_of(positions, vertices, plane);
    *cut = (film_cut){.first = vertices};
    cutter c = {.x = positions, .heights = heights, .plane = plane, .cut = cut};
    if (!cut_mesh(&c, mesh, outside, outer, outer_tets)) {
        result = cli_failure("%s: --clip leaves nothing to draw", name);
    } else {
        double *all = film_cut_values(cut, positions, 3);
        if (hk_mesh_from_arrays(vertices + cut->count, all, 0, NULL, c.triangle_count, c.triangles,
                                clipped) != HK_OK)
            result = cli_failure("%s: %s", name, hk_error());
        free(all);
    }
    free(heights);
    free(c.slots);
    free(c.triangles);
    return result;
}
