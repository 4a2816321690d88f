// Exact signs of volumes and areas: on which side of a plane or a line a point lies.
//
// The answers are those of real arithmetic on the coordinates as they are stored, for all finite
// doubles: rounding, cancellation, overflow and underflow have no say in them. Three stages, each
// asked only where the one before cannot tell:
//
//   filter      the determinant in double, with a bound of its rounding error
//   expansions  sums of doubles that do not overlap (Shewchuk 1997), for coordinates that are 0 or
//               between 2^-250 (5e-76) and 2^300 (2e90) in size
//   integers    all coordinates in units of 2^-1074, as whole numbers of 33 words
//
// The rounding mode must be that of every C program at its start, to nearest.
#ifndef HK_PREDICATES_H
#define HK_PREDICATES_H

#include <stdbool.h>

// The sign (−1, 0, 1) of (b − a) · ((c − a) × (d − a)): 1 for a tet of positive volume, 0 exactly
// if the four points lie in a plane.
int hk_orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);

// The sign of the area of a, b, c seen along coordinate axis 0, 1 or 2 (x, y, z): that of the
// component `axis` of (b − a) × (c − a). All three are 0 exactly if the points lie on a line.
int hk_orient2d(int axis, const double a[3], const double b[3], const double c[3]);

// The sign of (tip − point) · (x − point): on which side of the plane through `point` across
// tip − point x lies.
int hk_dot_sign(const double point[3], const double tip[3], const double x[3]);

// The plane of a triangle, to ask for many points: hk_plane_side is hk_orient3d(a, b, c, d).
typedef struct hk_plane {
    const double *a, *b, *c;
    double normal[3];  // (b − a) × (c − a), as rounded
    double
        permanent[3];  // the same with all terms positive: what its rounding error is relative to
    bool ordinary;     // neither overflow nor underflow can spoil the filter
    bool exact_zero;   // a product of 0 has a factor 0
} hk_plane;
hk_plane hk_plane_of(const double a[3], const double b[3], const double c[3]);
int hk_plane_side(const hk_plane *plane, const double d[3]);

// ---- the stages alone, for tests: the sign of hk_orient3d by expansions (within their range), and
// by integers
bool hk_in_expansion_range(const double *const points[4]);
int hk_orient3d_by_expansions(const double *const points[4]);
int hk_orient3d_by_integers(const double *const points[4]);

#endif
