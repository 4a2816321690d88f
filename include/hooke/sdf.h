/* Signed distance fields of surfaces. A part of hooke.h, which includes it. */
#ifndef HOOKE_SDF_H
#define HOOKE_SDF_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- signed distance fields */

/* How far a point is from a surface, negative inside: one function with two continuous derivatives
 * in a band around the surface. Any triangles will do: inside is where they wind around a point
 * more than ½ times, so surfaces may be open (a lid is put where the number is ½), intersect
 * themselves (sheets that lie inside are left out) or be covered twice. If they face inwards, they
 * are taken the other way around, and the report says so. */
typedef struct hk_sdf hk_sdf;
typedef struct hk_sdf_def {
    size_t def_size; /* set by hk_default_sdf_def() */
    double cell;     /* m, edge of a cell; 0: by `cells` */
    double band;     /* m, on both sides of the surface; 0: three cells */
    int cells;       /* along the longest side of the surface's bounds; 0: 100 */
    int threads;     /* 0: all cores; at most 1024. The field does not depend on it */
} hk_sdf_def;
HK_API void hk_fill_sdf_def(hk_sdf_def *def, size_t size); /* all 0 */
static inline hk_sdf_def hk_default_sdf_def(void)
{
    hk_sdf_def def;
    hk_fill_sdf_def(&def, sizeof def);
    return def;
}
/* Of the outer triangles of a mesh (hk_mesh_surface). The mesh is not needed afterwards. */
HK_API hk_status hk_sdf_create(const hk_mesh *surface, const hk_sdf_def *def, hk_sdf **sdf);
HK_API void hk_sdf_free(hk_sdf *sdf);

/* The distance, m, at a point; its gradient[3] and hessian[9], 1/m, unless they are NULL. May be
 * called from many threads at once; takes no memory.
 * Wherever the distance is less than the band, the three are those of one function, a spline; it is
 * exact to the fourth order of the cell where the true distance is smooth, and rounded over about
 * two cells where it is not (edges, points that are as near to several places).
 * Farther away the value is a lower bound of the distance, at least the band, with the right sign;
 * the gradient is a direction away from (inside: towards) the surface, of length 1 or 0, and the
 * Hessian is 0. A point that is not finite is infinitely far outside. */
HK_API double hk_sdf_value(const hk_sdf *sdf, const double point[3], double *gradient,
                           double *hessian);
/* Whether the spline is what counts there; true wherever the distance is less than the band. */
HK_API bool hk_sdf_covers(const hk_sdf *sdf, const double point[3]);

typedef struct hk_sdf_report {
    int cells[3];           /* of the whole grid, band included */
    int flipped;            /* 1: the triangles face inwards, and were taken the other way around */
    double bounds[2][3];    /* m, min and max corner of the grid */
    double cell, band;      /* m */
    int64_t bricks;         /* blocks of 8 × 8 × 8 cells that have a spline */
    int64_t bytes;          /* of memory */
    int64_t triangles;      /* of the surface, and of them: */
    int64_t flat_triangles; /* without area: they count for distances alone */
    int64_t inner_triangles; /* with inside on both sides, wholly or in part: left out there */
    int64_t lid_triangles;   /* put where an open surface winds around a point ½ times */
    double area, volume;     /* m², m³ of the triangles; negative if they face inwards */
    double least, greatest;  /* m, values at the nodes */
    double rim;              /* m, length of edges without a neighbour of the same orientation */
    double openness;         /* how far winding numbers are from integers, 0 to ½; 0: closed */
    double least_winding, greatest_winding; /* at the nodes; inside is where it is above ½ */
    double ms;                              /* wall time of creation */
    uint64_t reserved[16];
} hk_sdf_report;
HK_API hk_status hk_sdf_describe(const hk_sdf *sdf, hk_sdf_report *report);

/* Writes the values at all nodes of the grid as VTK XML image data (.vti), whole or not at all:
 * "distance", single precision, and "in_band", 1 where the spline counts. */
HK_API hk_status hk_sdf_save(const hk_sdf *sdf, const char *path);

#ifdef __cplusplus
}
#endif
#endif
