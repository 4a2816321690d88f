// Signed distance fields, as the library has them (include/hooke/sdf.h says what they are).
//
// A dense grid of bricks, 8 × 8 × 8 cells each. Bricks that the band touches have a spline: the
// coefficients of the cubic B-splines at their nodes and one layer around them, in single
// precision. Rounding them to 2⁻²⁴ of the band is far below what the cells leave out, halves the
// memory, and takes nothing from the agreement of value, gradient and Hessian: the function is the
// spline of these very coefficients, evaluated in double, and neighbouring bricks have the same
// ones. All other bricks have the distances at their corners, for a bound.
#ifndef HK_SDF_H
#define HK_SDF_H

#include "core/base.h"
#include "mesh/stuffing.h"

enum {
    HK_BRICK = 8,                    // cells along an edge
    HK_BRICK_NODES = 512,            // that are a brick's own: those of its upper faces are not
    HK_SPLINE_WIDTH = HK_BRICK + 3,  // coefficients along an edge
    HK_SPLINE_SIZE = 11 * 11 * 11
};

struct hk_sdf {
    double origin[3], cell;  // m
    double inverse;          // 1/cell
    double band;             // m
    double low[3], high[3];  // m, bounds of the surface and of its lids
    int bricks[3];
    int threads;
    int32_t *brick;       // [z][y][x] which spline, or −1
    float *coefficients;  // [report.bricks][11][11][11] m, from node −1 of the brick on
    double *corner;       // [z + 1][y + 1][x + 1] m, signed distances at the corners of bricks
    hk_sdf_report report;
};

static inline size_t hk_sdf_brick_at(const hk_sdf *sdf, int x, int y, int z)
{
    return (size_t)x + (size_t)sdf->bricks[0] * ((size_t)y + (size_t)sdf->bricks[1] * (size_t)z);
}
static inline size_t hk_sdf_corner_at(const hk_sdf *sdf, int x, int y, int z)
{
    size_t nx = (size_t)sdf->bricks[0] + 1, ny = (size_t)sdf->bricks[1] + 1;
    return (size_t)x + nx * ((size_t)y + ny * (size_t)z);
}

// The field of a function that is a signed distance itself, of a body between low and high.
hk_status hk_sdf_from_function(const double low[3], const double high[3], hk_distance_fn *distance,
                               const void *context, const hk_sdf_def *def, hk_sdf **sdf);

#endif
