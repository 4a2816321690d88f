// Finds which corners of a surface share a normal.
#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// Unit normals of the triangles, 0 for one without area. Edges are halved and scaled first, so that
// huge and tiny meshes neither overflow nor vanish.
static void face_normals(const double *x, int count, const int32_t *triangles, float *normals)
{
    for (int t = 0; t < count; ++t) {
        const int32_t *v = triangles + 3 * t;
        double e[2][3], largest = 0;
        for (int i = 0; i < 2; ++i) {
            for (int k = 0; k < 3; ++k) {
                e[i][k] = 0.5 * x[3 * v[i + 1] + k] - 0.5 * x[3 * v[0] + k];
                largest = fmax(largest, fabs(e[i][k]));
            }
        }
        float *n = normals + 3 * t;
        n[0] = n[1] = n[2] = 0;
        if (largest == 0) continue;
        double a[3], b[3];
        for (int k = 0; k < 3; ++k) a[k] = e[0][k] / largest, b[k] = e[1][k] / largest;
        double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                       a[0] * b[1] - a[1] * b[0]};
        double length = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
        if (length > 1e-12)
            for (int k = 0; k < 3; ++k) n[k] = (float)(c[k] / length);
    }
}

// ---------------------------------------------------------------- which corners belong together

static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void unite(int32_t *parent, int32_t a, int32_t b)
{
    a = find_root(parent, a), b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

// Edges seen so far, by open addressing: slot → the latest half edge 3·triangle + k (the one
// opposite corner k) or -1.
typedef struct edge_table {
    int32_t *slots;
    uint32_t mask;
} edge_table;

static edge_table edge_table_new(int triangle_count)
{
    uint32_t size = 16;
    while (size < 6u * (uint32_t)triangle_count && size < 1u << 31) size *= 2;
    edge_table table = {cli_realloc(NULL, size, sizeof(int32_t)), size - 1};
    memset(table.slots, 0xff, size * sizeof(int32_t));
    return table;
}

static void edge_ends(const shape *s, int32_t half_edge, int32_t *low, int32_t *high)
{
    const int32_t *v = s->triangles + half_edge / 3 * 3;
    int k = half_edge % 3;
    int32_t a = v[(k + 1) % 3], b = v[(k + 2) % 3];
    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

// The slot of the half edge's edge: empty, or holding an earlier half edge of the same edge.
static int32_t *edge_slot(const edge_table *table, const shape *s, int32_t half_edge)
{
    int32_t low, high;
    edge_ends(s, half_edge, &low, &high);
    uint64_t mixed = ((uint64_t)(uint32_t)low << 32 | (uint32_t)high) * 0x9E3779B97F4A7C15u;
    for (uint32_t i = (uint32_t)(mixed >> 32) & table->mask;; i = (i + 1) & table->mask) {
        int32_t *slot = &table->slots[i];
        if (*slot < 0) return slot;
        int32_t other_low, other_high;
        edge_ends(s, *slot, &other_low, &other_high);
        if (other_low == low && other_high == high) return slot;
    }
}

static bool smooth_across(const float *a, const float *b)
{
    static const float limit = 0.81915204f;  // cos of SHAPE_CREASE_DEGREES
    float product = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    bool flat = (a[0] == 0 && a[1] == 0 && a[2] == 0) || (b[0] == 0 && b[1] == 0 && b[2] == 0);
    return flat || product > limit;
}

// The corner of triangle `t` at vertex `v`.
static int32_t corner_at(const shape *s, int32_t t, int32_t v)
{
    for (int k = 0; k < 2; ++k)
        if (s->triangles[3 * t + k] == v) return 3 * t + k;
    return 3 * t + 2;
}

// Unites the corners across smooth edges in `parent` and marks the sharp ones.
static void join_corners(shape *s, const float *normals, int32_t *parent)
{
    edge_table table = edge_table_new(s->triangle_count);
    for (int32_t h = 0; h < 3 * s->triangle_count; ++h) {
        int32_t *slot = edge_slot(&table, s, h), other = *slot, t = h / 3;
        *slot = h;
        s->sharp[t] |= (uint8_t)(1 << h % 3);  // until a smooth neighbour is found
        if (other < 0) continue;
        int32_t u = other / 3;
        if (!smooth_across(normals + 3 * t, normals + 3 * u)) {
            s->sharp[t] |= (uint8_t)(8 << h % 3), s->sharp[u] |= (uint8_t)(8 << other % 3);
            continue;
        }
        s->sharp[t] &= (uint8_t) ~(1 << h % 3), s->sharp[u] &= (uint8_t) ~(1 << other % 3);
        int32_t ends[2];
        edge_ends(s, h, &ends[0], &ends[1]);
        for (int e = 0; e < 2; ++e)
            unite(parent, corner_at(s, t, ends[e]), corner_at(s, u, ends[e]));
    }
    free(table.slots);
    // What has neither a smooth nor a sharp neighbour is a border.
    for (int t = 0; t < s->triangle_count; ++t) {
        int alone = s->sharp[t] & 7, creased = s->sharp[t] >> 3;
        if (alone & ~creased) s->open = true;
        s->sharp[t] = (uint8_t)(alone | creased);
    }
}

void shape_build(shape *s, int vertex_count, const double *positions, int triangle_count,
                 const int32_t *triangles)
{
    size_t corners = 3 * (size_t)triangle_count;
    *s = (shape){.vertex_count = vertex_count, .triangle_count = triangle_count};
    s->triangles = cli_realloc(NULL, corners, sizeof(int32_t));
    s->points = cli_realloc(NULL, corners, sizeof(int32_t));
    s->point_vertex = cli_realloc(NULL, corners, sizeof(int32_t));
    s->sharp = cli_realloc(NULL, (size_t)triangle_count, 1);
    if (triangle_count == 0) return;
    memcpy(s->triangles, triangles, corners * sizeof(int32_t));
    memset(s->sharp, 0, (size_t)triangle_count);
    float *normals = cli_realloc(NULL, corners, sizeof(float));
    int32_t *parent = cli_realloc(NULL, corners, sizeof(int32_t));
    face_normals(positions, triangle_count, triangles, normals);
    for (size_t i = 0; i < corners; ++i) parent[i] = (int32_t)i;
    join_corners(s, normals, parent);
    // Roots are the smallest of their set, so they are numbered before they are asked for.
    for (size_t i = 0; i < corners; ++i) {
        int32_t root = find_root(parent, (int32_t)i);
        if (root == (int32_t)i) {
            s->point_vertex[s->point_count] = triangles[i];
            s->points[i] = s->point_count++;
        } else {
            s->points[i] = s->points[root];
        }
    }
    free(parent);
    free(normals);
}

void shape_free(shape *s)
{
    free(s->triangles);
    free(s->points);
    free(s->point_vertex);
    free(s->sharp);
    *s = (shape){0};
}

// ---------------------------------------------------------------- normals

static float normalise(float v[3])
{
    float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (length > 0)
        for (int k = 0; k < 3; ++k) v[k] /= length;
    return length;
}

void shape_normals(const shape *s, const float *positions, float *normals)
{
    memset(normals, 0, 3 * (size_t)s->point_count * sizeof(float));
    for (int t = 0; t < s->triangle_count; ++t) {
        const int32_t *v = s->triangles + 3 * t;
        float edge[3][3], n[3];
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k)
                edge[i][k] = positions[3 * v[(i + 1) % 3] + k] - positions[3 * v[i] + k];
        for (int i = 0; i < 3; ++i) normalise(edge[i]);
        for (int k = 0; k < 3; ++k) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            n[k] = edge[0][a] * edge[1][b] - edge[0][b] * edge[1][a];
        }
        if (normalise(n) == 0) continue;
        for (int i = 0; i < 3; ++i) {
            const float *out = edge[i], *in = edge[(i + 2) % 3];
            float cosine = -(out[0] * in[0] + out[1] * in[1] + out[2] * in[2]);
            float angle = acosf(fminf(fmaxf(cosine, -1), 1));
            float *sum = normals + 3 * s->points[3 * t + i];
            for (int k = 0; k < 3; ++k) sum[k] += angle * n[k];
        }
    }
    for (int i = 0; i < s->point_count; ++i)
        if (normalise(normals + 3 * i) == 0) normals[3 * i + 1] = 1;
}
