// Where two triangles meet, to be told: in double, near enough to find it.
#include <math.h>

#include "contact/certificate.h"
#include "contact/meet.h"

typedef struct vector {
    double v[3];
} vector;

static vector minus(const double a[3], const double b[3])
{
    return (vector){{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
}
static vector cross(vector a, vector b)
{
    return (vector){{a.v[1] * b.v[2] - a.v[2] * b.v[1], a.v[2] * b.v[0] - a.v[0] * b.v[2],
                     a.v[0] * b.v[1] - a.v[1] * b.v[0]}};
}
static double dot(vector a, vector b)
{
    return a.v[0] * b.v[0] + a.v[1] * b.v[1] + a.v[2] * b.v[2];
}

// Cuts the part [from, to] of a segment to where a linear function, given at its ends, is not
// negative.
static void cut(double at_start, double at_end, double *from, double *to)
{
    double zero = at_start / (at_start - at_end);
    if (at_start < 0 && at_end > 0) *from = fmax(*from, zero);
    if (at_start > 0 && at_end < 0) *to = fmin(*to, zero);
}

// The middle of what segment pq has within triangle abc (in one plane), or where it goes through.
static void find_place(const double *p, const double *q, const double *const corners[3],
                       double place[3])
{
    vector normal = cross(minus(corners[1], corners[0]), minus(corners[2], corners[0]));
    double from = 0, to = 1;
    double p_side = dot(normal, minus(p, corners[0])), q_side = dot(normal, minus(q, corners[0]));
    hk_plane plane = hk_plane_of(corners[0], corners[1], corners[2]);
    bool passes = hk_plane_side(&plane, p) != 0 || hk_plane_side(&plane, q) != 0;
    for (int k = 0; k < 3 && !passes; k++) {
        const double *a = corners[k], *b = corners[k == 2 ? 0 : k + 1];
        vector inward = cross(normal, minus(b, a));
        cut(dot(inward, minus(p, a)), dot(inward, minus(q, a)), &from, &to);
    }
    double along = passes ? p_side / (p_side - q_side) : 0.5 * (from + to);
    if (!(along >= 0 && along <= 1)) along = 0.5;
    for (int i = 0; i < 3; i++) place[i] = (1 - along) * p[i] + along * q[i];
}

// The place on the first edge of the one that meets the other.
static bool find_on_edges(const double *x, const int32_t s[3], const int32_t t[3], bool crossing,
                          double place[3])
{
    const double *corners[3];
    for (int k = 0; k < 3; k++) corners[k] = x + 3 * (size_t)t[k];
    for (int k = 0; k < 3; k++) {
        const int32_t edge[2] = {s[k], s[k == 2 ? 0 : k + 1]};
        const double *p = x + 3 * (size_t)edge[0], *q = x + 3 * (size_t)edge[1];
        int shared[2] = {-1, -1};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++)
                if (edge[i] == t[j]) shared[i] = j;
        if (shared[0] >= 0 && shared[1] >= 0) continue;
        hk_meeting met;
        if (shared[0] < 0 && shared[1] < 0) {
            met = hk_segment_triangle(p, q, corners[0], corners[1], corners[2]);
        } else {
            int j = shared[0] >= 0 ? shared[0] : shared[1];
            met = hk_edge_at_corner(corners[j], shared[0] >= 0 ? q : p, corners[(j + 1) % 3],
                                    corners[(j + 2) % 3]);
        }
        if (met == HK_APART || (crossing && met != HK_CROSSING)) continue;
        find_place(p, q, corners, place);
        return true;
    }
    return false;
}

void hk_certificate_describe(const hk_certificate *c, const double *x, const hk_findings *findings,
                             int k, hk_intersection *intersection)
{
    const hk_surface *s = c->surface;
    hk_intersection found = {.touching = findings->first_touches[k]};
    const int32_t pair[2] = {hk_key_first(findings->first[k]), hk_key_second(findings->first[k])};
    for (int i = 0; i < 2; i++) {
        memcpy(found.faces[i], s->triangles + 3 * (size_t)pair[i], sizeof found.faces[i]);
        found.triangles[i] = s->numbers[pair[i]];
        found.bodies[i] = hk_triangle_body(s, pair[i]);
    }
    bool crossing = !found.touching;
    if (!find_on_edges(x, found.faces[0], found.faces[1], crossing, found.place))
        find_on_edges(x, found.faces[1], found.faces[0], crossing, found.place);
    *intersection = found;
}
