#include "contact/meet.h"

#include <math.h>
#include <stddef.h>

// ---------------------------------------------------------------- within one plane

static bool between(double a, double b, double x)
{
    return (a <= x && x <= b) || (b <= x && x <= a);
}

// Whether r, on the line pq seen along `axis`, is on the segment.
static bool in_reach(int axis, const double p[3], const double q[3], const double r[3])
{
    for (int i = 0; i < 3; i++)
        if (i != axis && !between(p[i], q[i], r[i])) return false;
    return true;
}

// Segments pq and rs seen along an axis.
static bool segments_meet_along(int axis, const double p[3], const double q[3], const double r[3],
                                const double s[3])
{
    int r_side = hk_orient2d(axis, p, q, r), s_side = hk_orient2d(axis, p, q, s);
    if (r_side * s_side > 0) return false;
    int p_side = hk_orient2d(axis, r, s, p), q_side = hk_orient2d(axis, r, s, q);
    if (p_side * q_side > 0) return false;
    if (r_side * s_side < 0 && p_side * q_side < 0) return true;
    return (r_side == 0 && in_reach(axis, p, q, r)) || (s_side == 0 && in_reach(axis, p, q, s)) ||
           (p_side == 0 && in_reach(axis, r, s, p)) || (q_side == 0 && in_reach(axis, r, s, q));
}

static bool segments_meet(const double p[3], const double q[3], const double r[3],
                          const double s[3])
{
    if (hk_orient3d(p, q, r, s) != 0) return false;
    for (int axis = 0; axis < 3; axis++)
        if (hk_orient2d(axis, p, q, r) || hk_orient2d(axis, p, q, s) ||
            hk_orient2d(axis, r, s, p))  // their plane is seen from its side: nothing is lost
            return segments_meet_along(axis, p, q, r, s);
    // All on one line: they meet if they do along every axis.
    for (int i = 0; i < 3; i++)
        if (fmax(p[i], q[i]) < fmin(r[i], s[i]) || fmax(r[i], s[i]) < fmin(p[i], q[i]))
            return false;
    return true;
}

// The first axis along which a triangle has an area, and the sign of that; 3 if it has none.
static int find_view(const double a[3], const double b[3], const double c[3], int *sign)
{
    for (int axis = 2; axis >= 0; axis--)
        if ((*sign = hk_orient2d(axis, a, b, c)) != 0) return axis;
    return 3;
}

static bool triangle_holds(int axis, int sign, const double a[3], const double b[3],
                           const double c[3], const double p[3])
{
    return sign * hk_orient2d(axis, a, b, p) >= 0 && sign * hk_orient2d(axis, b, c, p) >= 0 &&
           sign * hk_orient2d(axis, c, a, p) >= 0;
}

// Segment and triangle in one plane, or a triangle without area.
static bool meet_in_plane(const double p[3], const double q[3], const double a[3],
                          const double b[3], const double c[3])
{
    int sign, axis = find_view(a, b, c, &sign);
    if (axis == 3)
        return segments_meet(p, q, a, b) || segments_meet(p, q, b, c) || segments_meet(p, q, c, a);
    // A segment that does not meet the edges is inside or outside with both ends.
    return triangle_holds(axis, sign, a, b, c, p) || segments_meet_along(axis, p, q, a, b) ||
           segments_meet_along(axis, p, q, b, c) || segments_meet_along(axis, p, q, c, a);
}

// ---------------------------------------------------------------- edges and triangles

// For p and q on different sides of the triangle's plane, or one of them in it.
static hk_meeting through_plane(const double p[3], const double q[3], int p_side, int q_side,
                                const double a[3], const double b[3], const double c[3])
{
    // The signs of the barycentric coordinates of where the line pq meets the plane.
    int ab = hk_orient3d(p, q, a, b), bc = hk_orient3d(p, q, b, c);
    if (ab * bc < 0) return HK_APART;
    int ca = hk_orient3d(p, q, c, a);
    if (ab * ca < 0 || bc * ca < 0) return HK_APART;
    return p_side * q_side * ab * bc * ca != 0 ? HK_CROSSING : HK_TOUCHING;
}

hk_meeting hk_segment_triangle(const double p[3], const double q[3], const double a[3],
                               const double b[3], const double c[3])
{
    hk_plane plane = hk_plane_of(a, b, c);
    int p_side = hk_plane_side(&plane, p), q_side = hk_plane_side(&plane, q);
    if (p_side * q_side > 0) return HK_APART;
    if (p_side == 0 && q_side == 0) return meet_in_plane(p, q, a, b, c) ? HK_TOUCHING : HK_APART;
    return through_plane(p, q, p_side, q_side, a, b, c);
}

static bool same_place(const double a[3], const double b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// Segments vd and vb: whether they meet elsewhere than in v.
static bool same_direction(const double v[3], const double d[3], const double b[3])
{
    if (same_place(v, d) || same_place(v, b)) return true;
    for (int axis = 0; axis < 3; axis++)
        if (hk_orient2d(axis, v, d, b) != 0) return false;
    for (int i = 0; i < 3; i++)
        if (d[i] != v[i]) return (d[i] > v[i]) == (b[i] > v[i]);
    return true;
}

// The same for points in one plane.
static bool meet_at_corner(const double v[3], const double d[3], const double b[3],
                           const double c[3])
{
    int sign, axis = find_view(v, b, c, &sign);
    if (axis == 3)
        return same_direction(v, d, b) || same_direction(v, d, c) || segments_meet(v, d, b, c);
    // Towards d the edge runs within the angle at v, or along one of its sides.
    return sign * hk_orient2d(axis, v, b, d) >= 0 && sign * hk_orient2d(axis, v, d, c) >= 0;
}

hk_meeting hk_edge_at_corner(const double v[3], const double d[3], const double b[3],
                             const double c[3])
{
    if (hk_orient3d(v, b, c, d) != 0) return HK_APART;
    return meet_at_corner(v, d, b, c) ? HK_TOUCHING : HK_APART;
}

// ---------------------------------------------------------------- two triangles

typedef struct corners {
    const double *x[3];
    int twin[3];  // the corner of the other triangle that is the same vertex, or −1
    int shared;   // how many of them are
    int side[3];  // of the other triangle's plane
} corners;

static void find_twins(const int32_t s[3], const int32_t t[3], corners *one, corners *two)
{
    for (int i = 0; i < 3; i++) one->twin[i] = two->twin[i] = -1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (s[i] == t[j]) {
                one->twin[i] = j;
                two->twin[j] = i;
            }
    one->shared = (one->twin[0] >= 0) + (one->twin[1] >= 0) + (one->twin[2] >= 0);
    two->shared = (two->twin[0] >= 0) + (two->twin[1] >= 0) + (two->twin[2] >= 0);
}

// The sides of the corners of s; whether those that are not shared lie strictly on one.
static bool find_sides(corners *s, const corners *t)
{
    hk_plane plane = hk_plane_of(t->x[0], t->x[1], t->x[2]);
    int least = 1, most = -1;
    for (int i = 0; i < 3; i++) {
        s->side[i] = 0;
        if (s->twin[i] >= 0) continue;
        s->side[i] = hk_plane_side(&plane, s->x[i]);
        if (s->side[i] < least) least = s->side[i];
        if (s->side[i] > most) most = s->side[i];
        if (least <= 0 && most >= 0) {  // undecided: the edges need all sides
            for (i++; i < 3; i++) s->side[i] = s->twin[i] >= 0 ? 0 : hk_plane_side(&plane, s->x[i]);
            return false;
        }
    }
    return true;
}

// An edge from corner i of s to the next, and triangle t.
static hk_meeting edge_meets(const corners *s, int i, const corners *t)
{
    int j = i == 2 ? 0 : i + 1;
    if (s->twin[i] >= 0 && s->twin[j] >= 0) return HK_APART;
    if (s->twin[i] >= 0 || s->twin[j] >= 0) {
        int v = s->twin[i] >= 0 ? i : j, far = v == i ? j : i, k = s->twin[v];
        if (s->side[far] != 0) return HK_APART;
        const double *b = t->x[k == 2 ? 0 : k + 1], *c = t->x[k == 0 ? 2 : k - 1];
        return meet_at_corner(s->x[v], s->x[far], b, c) ? HK_TOUCHING : HK_APART;
    }
    const double *p = s->x[i], *q = s->x[j], *a = t->x[0], *b = t->x[1], *c = t->x[2];
    if (s->side[i] * s->side[j] > 0) return HK_APART;
    if (s->side[i] == 0 && s->side[j] == 0)
        return meet_in_plane(p, q, a, b, c) ? HK_TOUCHING : HK_APART;
    return through_plane(p, q, s->side[i], s->side[j], a, b, c);
}

// Within one plane: whether the line of an edge of s has all of t strictly on its outer side, apart
// from the ends of that edge. This settles nearly all neighbours on a flat face.
static bool edge_separates(const corners *s, const corners *t)
{
    int sign, axis = find_view(s->x[0], s->x[1], s->x[2], &sign);
    if (axis == 3) return false;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, k = 0;
        // A shared corner that the edge does not have is not outside.
        if (s->twin[3 - i - j] >= 0) continue;
        while (k < 3 &&
               (t->twin[k] >= 0 || sign * hk_orient2d(axis, s->x[i], s->x[j], t->x[k]) < 0))
            k++;
        if (k == 3) return true;
    }
    return false;
}

static bool lies_in_plane(const corners *s)
{
    return s->side[0] == 0 && s->side[1] == 0 && s->side[2] == 0;
}

// Two triangles that meet beyond what they share do so on an edge of one of them: the common part
// is convex and ends on edges. Where the triangles share a vertex, the part that begins there ends
// on an edge opposite to it, or runs along an edge from it, which then lies in both planes. Where
// they share an edge, they are folded onto one another, and one of the other edges lies within the
// angle between two of the other triangle.
hk_meeting hk_triangles_meet(const double *x, const int32_t s[3], const int32_t t[3])
{
    corners one, two;
    find_twins(s, t, &one, &two);
    if (one.shared == 3 || two.shared == 3) return HK_APART;
    for (int i = 0; i < 3; i++) {
        one.x[i] = x + 3 * (ptrdiff_t)s[i];
        two.x[i] = x + 3 * (ptrdiff_t)t[i];
    }
    if (find_sides(&one, &two) || find_sides(&two, &one)) return HK_APART;
    if (lies_in_plane(&one) && (edge_separates(&one, &two) || edge_separates(&two, &one)))
        return HK_APART;
    hk_meeting found = HK_APART;
    for (int i = 0; i < 6 && found != HK_CROSSING; i++) {
        hk_meeting here = i < 3 ? edge_meets(&one, i, &two) : edge_meets(&two, i - 3, &one);
        if (here > found) found = here;
    }
    return found;
}
