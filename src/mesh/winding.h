// Where a point lies with respect to a surface of which nothing is known: a soup of triangles,
// open, self-intersecting, covered twice, of any orientation. Two questions, one tree: how far the
// nearest triangle is, and how often the surface winds around the point.
//
// The generalized winding number (Jacobson et al. 2013) is the solid angle that the triangles fill,
// with their signs, over 4π: for a closed surface the number of times that it encloses the point,
// +1 inside one whose triangles are counterclockwise seen from outside. For an open surface it is a
// smooth function away from it, near 1 inside and near 0 outside; ½ is where a lid would be.
//
// Far clusters of triangles are evaluated by their moments (Barill et al. 2018), and the error has
// a bound, not an estimate: with ρ the radius of a cluster over its distance R and A its area,
//
//   |error| ≤ Σ A/(4πR²) ρ³ (4 − 3ρ)/(1 − ρ)²
//
// (winding.c derives it). Clusters are opened until the sum is as small as the caller asks for.
//
// Queries take no memory and may come from any number of threads at once.
#ifndef HK_WINDING_H
#define HK_WINDING_H

#include "core/base.h"

typedef struct hk_winding_tree hk_winding_tree;

// Copies what it needs. The same tree, to the last bit, for any number of threads. Fails if there
// are no triangles, or a corner does not exist or is not finite.
hk_status hk_winding_tree_create(int vertex_count, const double *positions, int triangle_count,
                                 const int32_t *triangles, int threads, hk_winding_tree **tree);
void hk_winding_tree_free(hk_winding_tree *tree);

// What there is to know of the whole surface.
typedef struct hk_winding_totals {
    double low[3], high[3];  // m, bounds
    double area;             // m²
    double volume;           // m³, signed: negative if the triangles face inwards. For an open
                             // surface that of the cone over its rim with the centroid as apex
    int64_t flat;            // triangles without area, which count for distances alone
} hk_winding_totals;
const hk_winding_totals *hk_winding_tree_totals(const hk_winding_tree *tree);

typedef struct hk_nearest {
    double distance;  // m; INFINITY: nothing within reach
    int triangle;     // −1: nothing
    double point[3];  // m, the nearest point of it
    int place;        // of the triangle in the tree
} hk_nearest;
// The nearest triangle, if it is not farther than `within`, m (INFINITY: wherever it is); of
// several at the same distance the one that is come to first. `hint` is what was found at a point
// near by, or NULL; it saves time, and changes nothing else.
hk_nearest hk_winding_nearest(const hk_winding_tree *tree, const double point[3], double within,
                              const hk_nearest *hint);

// Where the segment between two points passes through triangles, 0 at `from` and 1 at `to`, in no
// order: one that passes through an edge meets both triangles there. Returns how many there are, of
// which the first `room` are listed.
int hk_winding_crossings(const hk_winding_tree *tree, const double from[3], const double to[3],
                         double *at, int room);

typedef struct hk_winding {
    double number;
    double error;  // a bound of it
} hk_winding;
// The winding number with an error of at most `tolerance` (0: all triangles one by one). In the
// plane of a triangle, and so in it, that triangle counts 0: the mean of both sides.
hk_winding hk_winding_number(const hk_winding_tree *tree, const double point[3], double tolerance);
// The same, but less exact where it does not matter: the error is at most `tolerance`, or less than
// the distance of the number from `level`, so that the side of it is certain.
hk_winding hk_winding_beside(const hk_winding_tree *tree, const double point[3], double level,
                             double tolerance);

#endif
