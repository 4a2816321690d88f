// Triangle surfaces for tests: spheres, tori, boxes, parts of them and soups of several.
#ifndef SURFACES_H
#define SURFACES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hooke/hooke.h"

static const double surfaces_pi = 3.14159265358979323846;

enum { SURFACE_ROOM = 60000 };
typedef struct surface {
    int vertices, count;
    double x[SURFACE_ROOM][3];
    int32_t t[SURFACE_ROOM][3];
} surface;

static inline surface *new_surface(void)
{
    return calloc(1, sizeof(surface));
}

static inline int add_vertex(surface *s, double x, double y, double z)
{
    if (s->vertices == SURFACE_ROOM) abort();
    double *p = s->x[s->vertices];
    p[0] = x;
    p[1] = y;
    p[2] = z;
    return s->vertices++;
}

static inline void add_face(surface *s, int a, int b, int c)
{
    if (s->count == SURFACE_ROOM) abort();
    s->t[s->count][0] = a;
    s->t[s->count][1] = b;
    s->t[s->count++][2] = c;
}

static inline double surface_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

// Rings from the south pole to the latitude `top` (more than π/2: closed); outward.
static inline void add_sphere(surface *s, const double centre[3], double radius, int around,
                              double top)
{
    int rings = around / 2, pole = add_vertex(s, centre[0], centre[1], centre[2] - radius);
    int first = s->vertices;
    bool closed = top > surfaces_pi / 2;
    if (closed) top = surfaces_pi / 2;
    for (int r = 1; r <= rings; r++) {
        double latitude = -surfaces_pi / 2 + (top + surfaces_pi / 2) * r / rings;
        if (closed && r == rings) break;
        for (int k = 0; k < around; k++) {
            double a = 2 * surfaces_pi * k / around, c = cos(latitude);
            add_vertex(s, centre[0] + radius * c * cos(a), centre[1] + radius * c * sin(a),
                       centre[2] + radius * sin(latitude));
        }
    }
    int rows = rings - closed;
    for (int k = 0; k < around; k++) {
        int n = (k + 1) % around;
        add_face(s, pole, first + n, first + k);
        for (int r = 0; r + 1 < rows; r++) {
            int a = first + r * around + k, b = first + r * around + n;
            add_face(s, a, b, b + around);
            add_face(s, a, b + around, a + around);
        }
    }
    if (!closed) return;
    int last = add_vertex(s, centre[0], centre[1], centre[2] + radius);
    for (int k = 0; k < around; k++)
        add_face(s, first + (rows - 1) * around + k, first + (rows - 1) * around + (k + 1) % around,
                 last);
}

// Around the z axis.
static inline void add_torus(surface *s, double large, double small, int around, int across)
{
    int first = s->vertices;
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            double a = 2 * surfaces_pi * i / around, b = 2 * surfaces_pi * j / across;
            double r = large + small * cos(b);
            add_vertex(s, r * cos(a), r * sin(a), small * sin(b));
        }
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            int in = (i + 1) % around, jn = (j + 1) % across;
            int a = first + i * across + j, b = first + in * across + j;
            int c = first + in * across + jn, d = first + i * across + jn;
            add_face(s, a, b, c);
            add_face(s, a, c, d);
        }
}

static inline void add_box(surface *s, const double low[3], const double high[3])
{
    static const int quads[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                    {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    int first = s->vertices;
    for (int k = 0; k < 8; k++)
        add_vertex(s, k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]);
    for (int q = 0; q < 6; q++) {
        add_face(s, first + quads[q][0], first + quads[q][1], first + quads[q][2]);
        add_face(s, first + quads[q][0], first + quads[q][2], first + quads[q][3]);
    }
}

// Signed distance of a box around the origin.
static inline double box_distance(const double half[3], const double p[3])
{
    double out = 0, in = -INFINITY;
    for (int i = 0; i < 3; i++) {
        double d = fabs(p[i]) - half[i];
        if (d > 0) out += d * d;
        in = fmax(in, d);
    }
    return out > 0 ? sqrt(out) : in;
}

static inline void flip_surface(surface *s)
{
    for (int t = 0; t < s->count; t++) {
        int32_t kept = s->t[t][1];
        s->t[t][1] = s->t[t][2];
        s->t[t][2] = kept;
    }
}

// The same triangles once more.
static inline void cover_twice(surface *s)
{
    for (int t = 0, count = s->count; t < count; t++)
        add_face(s, s->t[t][0], s->t[t][1], s->t[t][2]);
}

// Each triangle gets vertices of its own.
static inline surface *unmerged(const surface *s)
{
    surface *u = new_surface();
    for (int t = 0; t < s->count; t++) {
        for (int k = 0; k < 3; k++) {
            const double *p = s->x[s->t[t][k]];
            add_vertex(u, p[0], p[1], p[2]);
        }
        add_face(u, u->vertices - 3, u->vertices - 2, u->vertices - 1);
    }
    return u;
}

static inline void add_random_triangles(surface *s, int count, double size, uint64_t seed)
{
    for (int t = 0; t < count; t++) {
        double c[3];
        for (int i = 0; i < 3; i++) c[i] = 2 * surface_random(&seed) - 1;
        for (int k = 0; k < 3; k++)
            add_vertex(s, c[0] + size * (surface_random(&seed) - 0.5),
                       c[1] + size * (surface_random(&seed) - 0.5),
                       c[2] + size * (surface_random(&seed) - 0.5));
        add_face(s, s->vertices - 3, s->vertices - 2, s->vertices - 1);
    }
}

static inline hk_mesh *surface_mesh(const surface *s)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_from_arrays(s->vertices, s->x[0], 0, NULL, s->count, s->t[0], &mesh) != HK_OK)
        abort();
    return mesh;
}

#endif
