/* Meshes: from files, generators and arrays; their defects and intersections. A part of hooke.h,
 * which includes it. */
#ifndef HOOKE_MESH_H
#define HOOKE_MESH_H

#include <hooke/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- meshes */

typedef struct hk_mesh hk_mesh;

typedef enum hk_shape {
    HK_SHAPE_BOX = 0,  /* size[3], cells[3]; min corner at the origin */
    HK_SHAPE_CYLINDER, /* radius, length, cells = {across, along}; axis x from the origin */
    HK_SHAPE_SPHERE,   /* radius, cells = {across}; centre at the origin */
    HK_SHAPE_HELIX,    /* radius, pitch, turns, thickness, strands, cells = {across a strand} */
    HK_SHAPE_SHEET,    /* size = {x, z}, cells = {x, z}: triangles in the plane y = 0 */
    HK_SHAPE_FIGURE,   /* height, cells = {over the height}; a creature that stands on y = 0 */
    HK_SHAPE_TORUS,   /* radius of the centre line, thickness of the tube, cells = {across the tube,
                         around}; centre at the origin, around the y axis */
    HK_SHAPE_PYRAMID, /* size: base x × z around the origin, apex at height y; two tets */
    HK_SHAPE_WEDGE,   /* a block of an arch: radius (inner), thickness (outward), degrees, length
                         along z, cells = {around, outward, along z}; around the z axis, its middle
                         over +y */
    HK_SHAPE_FUNNEL,  /* a cone of inner radius `radius` at the top, y = height, and `neck` at
                         y = 0, a pipe of `length` below it (0: none), a wall of `thickness`,
                         cells = {around, along}; around the y axis */
    HK_SHAPE_ROPE     /* a line of cells = {along} segments: along x from the origin to `length`, or
                         through `points` */
} hk_shape;

typedef struct hk_mesh_def {
    size_t def_size; /* set by hk_default_mesh_def() */
    hk_shape shape;
    double size[3];   /* m */
    int cells[3];     /* divisions */
    double radius;    /* m */
    double length;    /* m */
    double pitch;     /* m along the axis per turn */
    double turns;     /* - */
    double thickness; /* m, diameter of a strand or a tube; of a wall */
    int strands;      /* - */
    double height;    /* m */
    double neck;      /* m */
    double degrees;
    const double *points; /* [point_count][3] m, of a rope; NULL: it is straight */
    int point_count;      /* 2 or more */
    int reserved_int;
} hk_mesh_def;

/* hk_fill_xxx_def fills the first `size` bytes of a definition: for hk_default_xxx_def and other
 * languages. */
HK_API void hk_fill_mesh_def(hk_mesh_def *def, size_t size, hk_shape kind);
static inline hk_mesh_def hk_default_mesh_def(hk_shape kind)
{
    hk_mesh_def def;
    hk_fill_mesh_def(&def, sizeof def, kind);
    return def;
}
HK_API hk_status hk_mesh_make(const hk_mesh_def *def, hk_mesh **mesh);

/* Copies the arrays. tets or triangles may be NULL with count 0. Tets of opposite winding are
 * turned and counted (hk_mesh_note). */
HK_API hk_status hk_mesh_from_arrays(int vertex_count, const double *positions, int tet_count,
                                     const int32_t *tets, int triangle_count,
                                     const int32_t *triangles, hk_mesh **mesh);

/* The formats of mesh files, one for each ending. */
typedef struct hk_mesh_format {
    const char *ending; /* ".msh"; NULL: there is none of that number */
    bool reads, writes;
    bool surface; /* what is written holds no tets, but their surface */
} hk_mesh_format;
HK_API int hk_mesh_format_count(void);
HK_API hk_mesh_format hk_mesh_format_at(int number);

/* Reads a mesh in the format that the path's ending says (.msh: Gmsh 2.2, 4.1; .node and .ele: both
 * files). */
HK_API hk_status hk_mesh_load(const char *path, hk_mesh **mesh);

/* Values to write beside a mesh. */
typedef enum hk_field_site { HK_ON_VERTICES = 0, HK_ON_TETS } hk_field_site;
typedef struct hk_field {
    const char *name;
    hk_field_site site;
    int components;       /* 1, 3 or 9 */
    const double *values; /* [count of the site][components] */
} hk_field;

/* Writes a mesh in the format that the path's ending says (.msh: 2.2), whole or not at all.
 * Formats that cannot hold fields ignore them (.glb colours by the first scalar vertex field). */
HK_API hk_status hk_mesh_save(const hk_mesh *mesh, const char *path, const hk_field *fields,
                              int field_count);

/* Writes a ParaView collection that names `files` (relative to it) at `times`. */
HK_API hk_status hk_series_save(const char *path, const double *times, const char *const *files,
                                int count);

/* Adds one file to a collection that hk_series_save or this wrote, in place: it costs the same
 * however long the series is, and the collection is valid before and after. Where it is not as
 * Hooke writes it, or is no plain file, it is an error. */
HK_API hk_status hk_series_append(const char *path, double time, const char *file);

HK_API void hk_mesh_free(hk_mesh *mesh);

/* The file it was loaded from, of a filled surface that of the surface; NULL for other meshes. */
HK_API const char *hk_mesh_path(const hk_mesh *mesh);
HK_API int hk_mesh_vertex_count(const hk_mesh *mesh);
HK_API int hk_mesh_tet_count(const hk_mesh *mesh);
HK_API int hk_mesh_triangle_count(const hk_mesh *mesh);       /* as stored in the file */
HK_API const double *hk_mesh_positions(const hk_mesh *mesh);  /* [vertex_count][3] m */
HK_API const int32_t *hk_mesh_tets(const hk_mesh *mesh);      /* [tet_count][4] */
HK_API const int32_t *hk_mesh_triangles(const hk_mesh *mesh); /* [triangle_count][3] */
HK_API int hk_mesh_group_count(const hk_mesh *mesh);
HK_API const char *hk_mesh_group_name(const hk_mesh *mesh, int group);
/* The values that the file has beside the mesh (.vtu), as they are in it; they live as long as the
 * mesh. {0}: there is none of that number. */
HK_API int hk_mesh_field_count(const hk_mesh *mesh);
HK_API hk_field hk_mesh_field(const hk_mesh *mesh, int field);
/* What was repaired or left out while reading: one sentence each, e.g. "12 tets turned". */
HK_API int hk_mesh_note_count(const hk_mesh *mesh);
HK_API const char *hk_mesh_note(const hk_mesh *mesh, int note);
/* The outer triangles of the tets, outward, then the stored triangles that are no faces of tets
 * because a corner belongs to none: all those of a surface mesh. The arrays belong to the mesh.
 * `tets[i]` is the tet behind triangle i, -1 if there is none. */
HK_API hk_status hk_mesh_surface(hk_mesh *mesh, int *triangle_count, const int32_t **triangles,
                                 const int32_t **tets);
/* Moves the vertices in place. */
HK_API hk_status hk_mesh_set_positions(hk_mesh *mesh, const double *positions);

enum { HK_DEFECT_LIST = 8 };
typedef struct hk_defect {
    int64_t count;
    int64_t first[HK_DEFECT_LIST]; /* the numbers of the first few, from 0 */
} hk_defect;

typedef struct hk_mesh_report {
    int vertices, tets, triangles, groups, components;
    double bounds[2][3];                /* min and max corner, m */
    double volume, area;                /* m³ of the tets, m² of the surface */
    double worst_quality, mean_quality; /* 1 for a regular tet, 0 for a flat one */
    int64_t worst_tet;
    hk_defect turned; /* tets: were wound the other way when read, and turned */
    hk_defect flat;   /* tets: (nearly) zero volume; of a surface mesh, triangles without area */
    hk_defect duplicate_tets;
    hk_defect duplicate_vertices; /* same place as an earlier vertex */
    hk_defect unreferenced;       /* vertices of no element */
    hk_defect non_manifold;       /* faces of more than two tets, or surface edges of more than two
                                     triangles: the numbers are the first vertex of each */
    hk_defect open_edges;         /* surface meshes: edges of one triangle */
    hk_defect not_finite;         /* vertices */
    bool simulable;               /* has tets, or else triangles (a sheet), all of them sound */
    const char *verdict;          /* one sentence */
    uint64_t reserved[16];
} hk_mesh_report;
HK_API hk_status hk_mesh_check(hk_mesh *mesh, hk_mesh_report *report);

/* Two faces of a surface that meet: they have a point in common that is not a vertex or an edge of
 * both. Decided exactly, for the coordinates as they are. */
typedef struct hk_intersection {
    int32_t triangles[2]; /* their numbers in hk_mesh_surface(), rising */
    int32_t faces[2][3];  /* their vertices */
    int32_t bodies[2];    /* of a mesh: connected components, in the order of their lowest
                             vertices; of a model: its bodies */
    const char *names[2]; /* of bodies; of a mesh, the first group of tets that it is in. Or NULL */
    double place[3];      /* m, about where they meet */
    bool touching;        /* they meet in an edge or a vertex of one of them, or within one plane;
                             if not, an edge goes through the inside of the other face */
    uint64_t reserved[4];
} hk_intersection;
typedef struct hk_intersection_report {
    int64_t count;    /* pairs of faces that meet; 0: proven that there are none */
    int64_t touching; /* of them, those that do not cross */
    int triangles;    /* of the surface */
    int listed;
    hk_intersection first[HK_DEFECT_LIST]; /* those of the lowest numbers */
    uint64_t reserved[8];
} hk_intersection_report;
/* Of the surface, hk_mesh_surface(), with itself, whichever bodies its parts belong to. A body that
 * lies wholly inside another does not meet its surface. Names live as long as the mesh.
 * threads: 0: all cores; the report does not depend on it. */
HK_API hk_status hk_mesh_intersections(const hk_mesh *mesh, int threads,
                                       hk_intersection_report *report);

#ifdef __cplusplus
}
#endif
#endif
