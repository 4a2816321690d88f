// Ropes as they are drawn: each line a prism with a ring of vertices at either end, cut where it
// runs on into the next one by the plane between the two, so that they meet without a gap.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "surface.h"

enum {
    SIDES = 10,  // the page smooths edges of less than 38°
    AROUND = 2 * SIDES,
    CAP = SIDES - 2
};

// ---------------------------------------------------------------- which there are

// The one vertex that a line runs on to beyond one of its ends; −1: there is none, or several.
static int32_t beyond(const int32_t *lines, const int32_t *first, const int32_t *around, int line,
                      int end)
{
    int32_t v = lines[2 * line + end];
    if (first[v + 1] - first[v] != 2) return -1;
    int32_t other = around[first[v]] == line ? around[first[v] + 1] : around[first[v]];
    return lines[2 * other] == v ? lines[2 * other + 1] : lines[2 * other];
}

void st_tubes_find(const hk_model *model, st_surface *s)
{
    int count = hk_model_line_count(model), n = hk_model_vertex_count(model);
    const int32_t *lines = hk_model_lines(model);
    if (count == 0) return;
    int32_t *first = st_alloc((size_t)n + 2, sizeof *first),
            *around = st_alloc(2 * (size_t)count, sizeof *around);
    for (int k = 0; k < 2 * count; ++k) first[lines[k] + 2]++;
    for (int v = 0; v < n; ++v) first[v + 2] += first[v + 1];
    for (int k = 0; k < 2 * count; ++k) around[first[lines[k] + 1]++] = k / 2;
    s->tubes = st_alloc((size_t)count, sizeof *s->tubes);
    s->tube_count = count;
    for (int k = 0; k < count; ++k) {
        st_tube *tube = &s->tubes[k];
        *tube = (st_tube){.radius = hk_model_line_radius(model, k)};
        for (int end = 0; end < 2; ++end) {
            tube->ends[end] = lines[2 * k + end];
            tube->beyond[end] = beyond(lines, first, around, k, end);
        }
    }
    free(around);
    free(first);
}

int st_tube_vertices(void)
{
    return AROUND;
}

int st_tube_triangles(const st_tube *tube)
{
    return AROUND + (tube->beyond[0] < 0 ? CAP : 0) + (tube->beyond[1] < 0 ? CAP : 0);
}

// ---------------------------------------------------------------- triangles

static uint32_t *put(uint32_t *to, int a, int b, int c)
{
    to[0] = (uint32_t)a, to[1] = (uint32_t)b, to[2] = (uint32_t)c;
    return to + 3;
}

void st_tube_fill(const st_tube *tube, int32_t *vertices, uint32_t *triangles)
{
    int a = tube->first_vertex, b = a + SIDES;
    for (int k = 0; k < SIDES; ++k) {
        int next = (k + 1) % SIDES;
        vertices[a + k] = tube->ends[0];
        vertices[b + k] = tube->ends[1];
        triangles = put(triangles, a + k, a + next, b + next);
        triangles = put(triangles, a + k, b + next, b + k);
    }
    for (int k = 1; k <= CAP && tube->beyond[0] < 0; ++k)
        triangles = put(triangles, a, a + k + 1, a + k);
    for (int k = 1; k <= CAP && tube->beyond[1] < 0; ++k)
        triangles = put(triangles, b, b + k, b + k + 1);
}

// ---------------------------------------------------------------- places

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// From a to b, of length 1; false where they are in one place.
static bool direction(const double *x, int32_t a, int32_t b, double d[3])
{
    for (int i = 0; i < 3; ++i) d[i] = x[3 * (int64_t)b + i] - x[3 * (int64_t)a + i];
    double length = sqrt(dot(d, d));
    if (!(length > 0)) return false;
    for (int i = 0; i < 3; ++i) d[i] /= length;
    return true;
}

// Two directions across d, so that u, v and d are a right-handed system.
static void across(const double d[3], double u[3], double v[3])
{
    int least = fabs(d[0]) <= fabs(d[1]) && fabs(d[0]) <= fabs(d[2]) ? 0
                : fabs(d[1]) <= fabs(d[2])                           ? 1
                                                                     : 2;
    for (int i = 0; i < 3; ++i) u[i] = (i == least) - d[least] * d[i];
    double length = sqrt(dot(u, u));
    for (int i = 0; i < 3; ++i) u[i] /= length;
    for (int i = 0; i < 3; ++i)
        v[i] = d[(i + 1) % 3] * u[(i + 2) % 3] - d[(i + 2) % 3] * u[(i + 1) % 3];
}

// The normal of the plane that a ring lies in: halfway between the line and the one it runs on
// into, but across the line where that turns back by more than two thirds of a half turn.
static void ring_normal(const st_tube *tube, const double *x, int end, const double d[3],
                        double n[3])
{
    const double least = 0.5;
    int32_t at = tube->ends[end], next = tube->beyond[end];
    double e[3], length = 0;
    memcpy(n, d, 3 * sizeof *n);
    if (next < 0 || !(end == 1 ? direction(x, at, next, e) : direction(x, next, at, e))) return;
    for (int i = 0; i < 3; ++i) e[i] += d[i];
    length = sqrt(dot(e, e));
    if (!(length > 0) || dot(e, d) < least * length) return;
    for (int i = 0; i < 3; ++i) n[i] = e[i] / length;
}

void st_tube_place(const st_tube *tube, const double *x, const double origin[3], float *drawn)
{
    double d[3] = {1, 0, 0}, u[3], v[3], n[3];
    if (!direction(x, tube->ends[0], tube->ends[1], d)) d[0] = 1, d[1] = d[2] = 0;
    across(d, u, v);
    float *to = drawn + 3 * (size_t)tube->first_vertex;
    for (int end = 0; end < 2; ++end) {
        const double *middle = x + 3 * (int64_t)tube->ends[end];
        ring_normal(tube, x, end, d, n);
        double lean = 1 / dot(d, n);
        for (int k = 0; k < SIDES; ++k, to += 3) {
            double turn = 2 * M_PI * k / SIDES, p[3];
            for (int i = 0; i < 3; ++i) p[i] = tube->radius * (cos(turn) * u[i] + sin(turn) * v[i]);
            double along = -dot(p, n) * lean;
            for (int i = 0; i < 3; ++i)
                to[i] = (float)(middle[i] + p[i] + along * d[i] - origin[i]);
        }
    }
}
