/* Filling surfaces with tets. A part of hooke.h, which includes it. */
#ifndef HOOKE_FILL_H
#define HOOKE_FILL_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- filling surfaces */

/* A mesh of tets for the body that a surface encloses. Any triangles will do: inside is where they
 * wind around a point more than ½ times, in either sense. They may be open (inside then ends where
 * the number is ½), intersect themselves, be there twice or face inwards. What was assumed is in
 * the report and in the notes of the mesh. A surface that encloses nothing is an error, unless
 * `thickness` makes a shell of it. */
typedef struct hk_filling_def {
    size_t def_size;    /* set by hk_default_filling_def() */
    double size;        /* m, edge of the tets at the surface; 0: by `cells` */
    double grade;       /* growth of edges towards the inside, m per m from the surface, 0 to 1; 0:
                           all alike. The default is 0.5 */
    double thickness;   /* m; more than 0: the body is all that is within half of it from the
                           triangles, a shell */
    double sharp_angle; /* degrees: edges of the surface that turn by more are kept; 180: none. The
                           default is 40 */
    double least_part;  /* pieces that have less than this part of the volume of the largest one
                           are left out, and counted; the default is 0.01 */
    int cells;          /* along the longest side of the surface's bounds; 0: chosen. 40, or more
                           for closed bodies that are thin, and more where the surface is not
                           met to half an edge otherwise */
    int threads;        /* 0: all cores; at most 1024. The mesh does not depend on it */
} hk_filling_def;
HK_API void hk_fill_filling_def(hk_filling_def *def, size_t size);
static inline hk_filling_def hk_default_filling_def(void)
{
    hk_filling_def def;
    hk_fill_filling_def(&def, sizeof def);
    return def;
}

/* How it went, and what was assumed of the surface. */
typedef struct hk_filling_report {
    int vertices, tets;      /* of the mesh */
    int surface_triangles;   /* of the mesh */
    int pieces;              /* parts of it that no faces join */
    int64_t triangles;       /* of the surface that was given, and of them: */
    int64_t flat_triangles;  /* without area */
    int64_t repeated;        /* there before, with the same corners: taken once */
    int64_t turned;          /* turned to agree with their neighbours */
    int64_t inner_triangles; /* whose middle has inside on both sides: no border of the body */
    int64_t outer_triangles; /* whose middle has outside on both sides: they enclose nothing */
    int64_t left_out;        /* tets in pieces that are too small */
    double left_out_volume;  /* m³ */
    int flipped;             /* 1: the triangles face inwards */
    int rough;   /* 1: sharp edges are closer to each other than tets are large: none are kept */
    int closed;  /* 1: all edges have a neighbour */
    int levels;  /* of sizes: the largest tets are 2^(levels − 1) times the smallest */
    double size; /* m, edge of the tets at the surface */
    double rim;  /* m, length of edges without a neighbour */
    double area, volume; /* m², m³ of the triangles; the volume is NaN where they are open or
                            intersect each other */
    double mesh_volume;  /* m³ */
    double least_angle, greatest_angle; /* degrees, dihedral angles */
    double least_plain_angle;           /* of tets without a vertex on a sharp edge */
    double sharp_length;                /* m, sharp edges along the border of the body, */
    double sharp_kept;                  /* the part of them that edges of the mesh follow, 0 to 1 */
    double distance;  /* m, Hausdorff distance of the surface of the mesh and the border of
                         what is inside, measured at vertices and middles of triangles */
    double lost_area; /* m² of the surface farther than size/2 from the mesh */
    double ms;        /* wall time */
    uint64_t reserved[16];
} hk_filling_report;

/* Of the outer triangles of a mesh (hk_mesh_surface), which is not needed afterwards. `report` may
 * be NULL. */
HK_API hk_status hk_mesh_fill(const hk_mesh *surface, const hk_filling_def *def, hk_mesh **mesh,
                              hk_filling_report *report);

#ifdef __cplusplus
}
#endif
#endif
