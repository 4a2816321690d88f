// Whether edges and triangles meet, decided exactly (predicates.h).
#ifndef HK_MEET_H
#define HK_MEET_H

#include <stdint.h>

#include "contact/predicates.h"

// Both sets are closed: ends belong to a segment, edges and corners to a triangle.
//   crossing   the inside of the one passes through the inside of the other, in one point
//   touching   they meet in any other way: at an end or an edge, or within one plane
typedef enum hk_meeting { HK_APART = 0, HK_TOUCHING, HK_CROSSING } hk_meeting;

// Segment pq and triangle abc. Segments without length and triangles without area are points and
// segments.
hk_meeting hk_segment_triangle(const double p[3], const double q[3], const double a[3],
                               const double b[3], const double c[3]);

// Edge vd and triangle vbc, which have vertex v in common: whether they meet anywhere else, too,
// which they do only within one plane. A vertex in the same place as v counts.
hk_meeting hk_edge_at_corner(const double v[3], const double d[3], const double b[3],
                             const double c[3]);

// Two triangles of a mesh with positions x[vertex][3], by their vertices; vertices in common are
// known by their numbers. What they have in common by that (a vertex, an edge) is no meeting, all
// else is; three vertices in common make one triangle, which never meets itself.
hk_meeting hk_triangles_meet(const double *x, const int32_t s[3], const int32_t t[3]);

#endif
