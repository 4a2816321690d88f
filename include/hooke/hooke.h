/* Hooke: how elastic bodies move and where they come to rest.
 *
 * This is the whole public interface of libhooke.
 *
 *   hk_mesh   a mesh of tetrahedra or, for sheets, of triangles, from a file, a generator or arrays
 *   hk_embedding  a fine surface that a mesh of tetrahedra carries along
 *   hk_model  bodies = meshes + materials + constraints + loads; obstacles; may serve many worlds
 *   hk_world  a model in motion: positions, velocities, a solver and its workspace
 *   hk_rest   the rest shape that sags into a given one; hk_design: both shapes, edited live
 *   hk_fit    the materials with which a model sags into an observed shape
 *   hk_analysis  energy, gradient, Hessian and linear systems at any state
 *   hk_scene  a JSON scene file, which yields the definitions of a model and of a world
 *
 * Conventions
 *   - SI units, angles in degrees. Vectors are double[3]; arrays of them are double[n][3], flat.
 *   - Everything a user creates starts from a definition: `hk_xxx_def d = hk_default_xxx_def();`
 *     Definitions and what they point to need to live only until the create call returns, except
 *     where a comment says otherwise.
 *   - A call that can fail returns hk_status. If it is not HK_OK, hk_error() says in this thread
 *     what is wrong, where, and what to do; outputs are untouched and nothing leaks.
 *     A needed argument that is NULL is such a failure; calls without a status that only look at an
 *     object take NULL and answer 0, NULL or "", and those that free it do nothing.
 *   - "Did not converge" is not a failed call. It is told by hk_step_report.reason.
 *   - The library never prints, exits or aborts. Different objects may be used from different
 *     threads at the same time; one object from one thread at a time.
 *
 * How this interface grows, so that a program need not be compiled again for a newer library
 *   - A definition begins with its size, def_size, which hk_default_xxx_def() sets (or
 *     `{.def_size = sizeof(hk_xxx_def), …}`, which leaves all else 0). New fields come at its end:
 *     the library reads the first def_size bytes and takes its defaults for what lies beyond. A
 *     program newer than the library is served, too, as long as it leaves the new fields alone.
 *   - All elements of an array of definitions have the size of the first (hk_def_at).
 *   - Structs that stand by value in others or that the library writes into the memory of a caller
 *     (hk_material_def, hk_motion_def, hk_key_def, hk_formula_def, hk_between_def, hk_solver_def;
 *     hk_mesh_report, hk_intersection, hk_intersection_report, hk_energy, hk_step_report,
 *     hk_iteration, hk_rest_report, hk_fit_report, hk_design_view, hk_sdf_report,
 *     hk_filling_report, hk_contact_report, hk_obstacle_load, hk_reaction, hk_greatest, hk_probe,
 *     hk_spring_state)
 *     keep their size:
 *     new fields are taken from `reserved`, which is 0.
 *   - Structs that only the library makes, one at a time (hk_output_def, hk_option_info,
 *     hk_machine_info, hk_fit_parameter), get new fields at their end. A definition that the
 * library made may be longer or shorter than the program's: look at it through its pointer, and
 * copy it with hk_copy_xxx_def().
 *   - All others are plain values that stay as they are: hk_allocator, hk_field, hk_defect,
 *     hk_parameter, hk_curve, hk_invertible, hk_custom_law, hk_selector, hk_transform, hk_option,
 *     hk_damping.
 *     Enumerations get new values at their end.
 */
#ifndef HOOKE_H
#define HOOKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HK_VERSION_MAJOR 0
#define HK_VERSION_MINOR 1
#define HK_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define HK_API __attribute__((visibility("default")))
#else
#define HK_API
#endif

/* ---------------------------------------------------------------- status, version, hooks */

typedef enum hk_status {
    HK_OK = 0,
    HK_BAD_INPUT,   /* a definition, a file's content or an argument is wrong */
    HK_IO_ERROR,    /* a file cannot be opened, read or written */
    HK_NO_MEMORY,   /* an allocation failed */
    HK_UNSUPPORTED, /* a valid request that this build or this method cannot serve */
    HK_INTERNAL     /* a library below failed in a way that should not happen: please report */
} hk_status;

#define HK_SCENE_VERSION 1 /* of scene files, which may say it: "version"; newer are refused */
/* "0.1.0" */
HK_API const char *hk_version(void);
/* The message of the last failed call in this thread, never NULL; "" before the first failure. */
HK_API const char *hk_error(void);
/* "ok", "bad input", … */
HK_API const char *hk_status_name(hk_status status);

/* Where memory comes from. `alloc` returns a block aligned to at least `alignment` (a power of
 * two) or NULL; `release` takes what alloc gave. One for the process: set it before any other call;
 * NULL restores the default. Scene files are read through it too; SuiteSparse and METIS keep to
 * malloc, because they may be in use by others in the process. (METIS also draws from rand() while
 * a world is created.) */
typedef struct hk_allocator {
    void *(*alloc)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *block);
    void *context;
} hk_allocator;
HK_API void hk_set_allocator(const hk_allocator *allocator);

/* Messages that are not errors: repairs of a mesh, a fallback taken. NULL (the default) drops
 * them. One hook for the process: set it before other threads use the library. It is called from
 * the thread that called the library, never from another. */
typedef enum hk_log_level { HK_LOG_DEBUG = 0, HK_LOG_INFO, HK_LOG_WARNING } hk_log_level;
typedef void hk_log_fn(void *context, hk_log_level level, const char *message);
HK_API void hk_set_log(hk_log_fn *fn, void *context);

/* What the library found on this machine and works with. Texts are never NULL. */
typedef struct hk_machine_info {
    const char *single_lanes;     /* "f32x16_avx512": element kernels of this many lanes */
    const char *double_lanes;     /* "f64x8_avx512" */
    int threads;                  /* of a world that asks for all cores */
    uint64_t memory;              /* bytes of the machine; 0: not known */
    const char *direct_solver;    /* "CHOLMOD 3.0.14"; "": this build has none */
    const char *blas;             /* "OpenBLAS 0.3.21"; "": none, or one that does not say */
    const char *blas_core;        /* the processor that its kernels are for, "Haswell"; "" */
    const char *blas_core_wanted; /* see below; "": nothing to be done */
    const char *warning;          /* one line for users, of what makes it slow here; "" */
} hk_machine_info;
/* Found at the first call. OpenBLAS may take a processor that is newer than itself for a very old
 * one, and factorisations are then several times slower. It can be put right only before OpenBLAS
 * is loaded: by OPENBLAS_CORETYPE, set to blas_core_wanted, in the environment that the program is
 * started in. (The program `hooke` starts itself anew for that.) Unless OPENBLAS_CORETYPE asks for
 * this core, `warning` also goes to the log, when the first direct solver is made. */
HK_API const hk_machine_info *hk_machine(void);
/* Whether there is a GPU that backend "cuda" can use; `text` is its name and memory, or why there
 * is none. It may take long: the driver is woken up. */
HK_API bool hk_machine_gpu(char *text, size_t size);

/* Writes a file as the library writes all of its own: missing folders are made; the file is there
 * whole or not at all, the old one until then; a link stays a link, and what it leads to is
 * replaced; permissions stay; a device or a pipe is written to. A file that nobody may write
 * (chmod a-w) is not replaced, whoever asks. */
HK_API hk_status hk_file_save(const char *path, const void *data, size_t size);
/* Whether that would be possible, before long work. Missing folders are made. */
HK_API hk_status hk_file_check(const char *path);

/* Definition k of an array, whose elements may be longer or shorter than this header has them. */
static inline const void *hk_def_at(const void *definitions, int k)
{
    return (const char *)definitions + (size_t)k * *(const size_t *)definitions;
}

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

/* ---------------------------------------------------------------- materials */

typedef struct hk_parameter {
    const char *name;
    double value;
} hk_parameter;

/* A function of one variable: control points {s, value} of a natural cubic spline, or polynomial
 * coefficients c₀, c₁, … of powers of (s − 1). */
typedef struct hk_curve {
    const double *values; /* spline: [count][2]; polynomial: [count] */
    int count;            /* 0: the default curve made from E and ν */
} hk_curve;

/* Invertible model conversion (Wang & Yang 2016, section 5.1): elements whose least stretch falls
 * from `upper` to `lower` turn from their own law to projective dynamics, stiffness × Σ (σ − 1)²,
 * so that flat and inverted ones recover. Nothing changes as long as all stretches are larger. */
typedef struct hk_invertible {
    double upper;     /* usually 0.15; 0: as the material has it (on in time
                         steps for "stvk", off for others);
                         negative: off */
    double lower;     /* usually 0.05 */
    double decay;     /* most by which a blend weight falls in an iteration; usually 0.05 */
    double stiffness; /* Pa; 0: from the material */
} hk_invertible;
HK_API hk_invertible hk_default_invertible(void); /* 0.15, 0.05, 0.05, 0 */

/* A law of the user's own, the model "custom", at a deformation gradient F (row-major 3×3) of any
 * finite numbers, flat and inverted ones included. The functions may be called from several threads
 * at once, at any F in any order, as long as a model or a world lives that was made with them. They
 * must not call the library. All in double precision, whatever precision a method has. */
typedef struct hk_custom_law {
    /* Energy density, J/m³; INFINITY (or NAN) where the law is not defined. */
    double (*energy)(void *context, const double F[9]);
    /* The first Piola–Kirchhoff stress ∂ψ/∂F, Pa, [3][3]; only asked for where the energy is
     * finite.
     */
    void (*stress)(void *context, const double F[9], double P[9]);
    /* ∂P/∂F, Pa, [9][9], index 3·row + column on both sides; only asked for where the energy is
     * finite, and made positive semidefinite by the library where a method wants that. NULL:
     * central differences of the stress, to about 9 digits for 18 stresses. */
    void (*hessian)(void *context, const double F[9], double H[81]);
    void *context; /* passed to all of them */
} hk_custom_law;

enum { HK_MAX_PARAMETERS = 8 };
typedef struct hk_material_def {
    size_t def_size;   /* set by hk_default_material_def() */
    const char *model; /* "neo_hookean", "corotated", …: hk_material_name() lists them; of a sheet
                          "shell", or "mass_spring", which takes density and parameters only; of a
                          rope "rope", which takes young, density, bending_form and parameters;
                          "custom", which is not in the list, takes `custom`, density, and young and
                          poisson, from which methods have their scales */
    double young;      /* Pa; NAN: all coefficients come by name */
    double poisson;    /* - */
    double density;    /* kg/m³; of mass_spring kg/m² */
    hk_parameter parameters[HK_MAX_PARAMETERS]; /* coefficients by name; they replace those from
                                                   E and ν */
    int parameter_count;
    hk_curve f, g, h; /* "spline" gives f′, g′, h′; "polynomial" f, g, h */
    hk_curve axes[3]; /* the same laws, orthotropic: a function of its own of the stretch along each
                         material axis, beside f and given as f is; count 0: none */
    double axis_directions[3][3];   /* of the rest shape, after the transform; by default x, y, z */
    double fibre_stiffness;         /* Pa, added along the fibre; 0: none */
    double fibre_direction[3];      /* of the rest shape, after the body's transform; need not have
                                       length 1 */
    const double *fibre_directions; /* [tets of the body][3], or NULL for one direction */
    hk_invertible invertible;       /* all 0: as the material has it */
    hk_custom_law custom;           /* of the model "custom", on the CPU only; copied */
    double viscous;   /* s: Rayleigh's damping of what is made of it, beside hk_damping.viscous */
    double thickness; /* m, of "shell" */
    /* of "shell", in its plane: "stvk", "neo_hookean", "corotated", "arap", "orthotropic"; NULL:
     * stvk. hk_membrane_name() lists them */
    const char *membrane;
    const char *bending_form; /* of "shell" and "rope": "hinges", "cotangent", "none"; NULL:
                                 hinges */
    double warp_direction[3]; /* of "shell": of the rest shape, after the transform; all 0: x */
    /* Where it tears (docs/tearing.md): above this largest principal stress (Cauchy's, Pa; not of
     * "mass_spring") or this largest stretch less 1; 0: never */
    double tear_stress, tear_strain;
    uint64_t reserved[7];
} hk_material_def;

/* neo_hookean, 1 MPa, 0.45, 1000 kg/m³ */
HK_API void hk_fill_material_def(hk_material_def *def, size_t size);
static inline hk_material_def hk_default_material_def(void)
{
    hk_material_def def;
    hk_fill_material_def(&def, sizeof def);
    return def;
}

/* All materials by number, those for solids first. */
HK_API int hk_material_count(void);
HK_API const char *hk_material_name(int material);
HK_API const char *hk_material_summary(int material);
/* Names of the material's own parameters, NULL-terminated. */
HK_API const char *const *hk_material_parameters(int material);
/* What a material is for: solids (tets) have laws of a deformation gradient; sheets (triangles) do
 * not. "mass_spring" is of sheets: its parameters are stretch (N/m, required) and bending (N·m, 0
 * unless given). So is "shell", triangles with a thickness and a law in their plane
 * (docs/shells.md): young, poisson, thickness and density, or the parameters warp, weft, shear
 * (N/m), bending (N·m) and area_density (kg/m²); limit (Pa), low and high limit its stretches;
 * `axes` are strands along directions in it. HK_FOR_NOTHING: there is no such material. */
typedef enum hk_material_use {
    HK_FOR_NOTHING = 0,
    HK_FOR_SOLIDS,
    HK_FOR_SHEETS,
    HK_FOR_ROPES
} hk_material_use;
HK_API hk_material_use hk_material_kind(int material);
/* The laws in the plane of a "shell". */
HK_API int hk_membrane_count(void);
HK_API const char *hk_membrane_name(int law);
HK_API const char *hk_membrane_summary(int law);

/* Energy density, stress and stiffness of one deformation gradient (row-major 3×3): what the
 * solvers use, in double precision. Any output may be NULL. hessian is ∂P/∂F, [9][9], row-major
 * with index 3·row + column on both sides; `projected` makes it positive semidefinite.
 * energy is INFINITY where the law is not defined (then the rest is 0). */
HK_API hk_status hk_material_evaluate(const hk_material_def *def, const double F[9], bool projected,
                                      double *energy, double stress[9], double hessian[81]);

/* ---------------------------------------------------------------- bodies and models */

typedef enum hk_select_kind {
    HK_SELECT_ALL = 0,
    HK_SELECT_NONE,
    HK_SELECT_BOX,
    HK_SELECT_SPHERE,
    HK_SELECT_VERTICES,
    HK_SELECT_GROUP,
    HK_SELECT_ANY, /* of the children */
    HK_SELECT_NOT  /* the one child */
} hk_select_kind;

/* Chosen on the initial positions (after the transform), tolerance 1e-9 of the body's size. A tet
 * is selected when its four vertices are, or when a group lists it. */
typedef struct hk_selector {
    hk_select_kind kind;
    double box[2][3];
    double center[3], radius;
    const int32_t *vertices; /* numbers within the body, from 0 */
    int vertex_count;
    const char *group;
    const struct hk_selector *children;
    int child_count;
} hk_selector;

typedef struct hk_transform { /* scale, then rotate about the origin, then translate */
    double scale;
    double axis[3], degrees;
    double translate[3];
} hk_transform;

/* A number as a function of the time t in s, by which something is multiplied: a formula, "sin(2 *
 * pi * t)"; a table of times and values, linear between them and constant before and after; or a
 * ramp from 0 to 1 over `over` seconds. All 0: it is 1. In poses it is 1, whatever it is. */
typedef struct hk_factor_def {
    const char *formula;
    const double *table; /* [table_count][2], times rising */
    int64_t table_count;
    double over; /* s */
} hk_factor_def;

/* A turn about an axis through a centre, then a translation. */
typedef struct hk_motion_def {
    double axis[3], center[3], degrees; /* the axis need not have length 1 */
    double translate[3];
    double over; /* s: the full value is reached linearly after this time; 0: at once */
    /* How much of it is done as a function of the time, in place of `over` (see hk_factor_def). */
    const char *formula;
    const double *table;
    int64_t table_count;
    uint64_t reserved[5];
} hk_motion_def;

typedef struct hk_move_def { /* vertices that follow a prescribed path */
    size_t def_size;         /* set by hk_default_move_def() */
    hk_selector select;
    hk_motion_def motion;
} hk_move_def;
/* all vertices, no motion, axis y */
HK_API void hk_fill_move_def(hk_move_def *def, size_t size);
static inline hk_move_def hk_default_move_def(void)
{
    hk_move_def def;
    hk_fill_move_def(&def, sizeof def);
    return def;
}

/* Springs of rest length 0 that hold each selected vertex to its own rest position, or to where
 * that goes by the motion: softly, where fixes and moves are exact. */
typedef struct hk_attach_def {
    size_t def_size; /* set by hk_default_attach_def() */
    hk_selector select;
    double stiffness; /* N/m for each vertex */
    hk_motion_def motion;
    double damping; /* N s/m for each vertex, of a damper beside the spring; with a stiffness */
} hk_attach_def;
/* all vertices, 0 N/m, no motion, axis y, no damper */
HK_API void hk_fill_attach_def(hk_attach_def *def, size_t size);
static inline hk_attach_def hk_default_attach_def(void)
{
    hk_attach_def def;
    hk_fill_attach_def(&def, sizeof def);
    return def;
}

typedef enum hk_distribution { HK_EVENLY = 0, HK_BY_AREA } hk_distribution;
typedef struct hk_load_def {
    size_t def_size; /* set by hk_default_load_def() */
    hk_selector select;
    hk_distribution distribution; /* every selected vertex the same, or by its surface area */
    double force[3];              /* N, in all; vertices of no element take no part */
    /* Pa, on surface triangles whose three vertices are selected, against their outside; it follows
     * them as they move. Of a sheet: from the side that its triangles' normals point to. */
    double pressure;
    /* N m about the axis through `center`, by forces along axis × (X − center) in proportion to
     * that and to the share of a vertex in the distribution, X the rest positions. The forces stay
     * what they are as the body moves. They add up to 0 where `center` is the middle of the
     * vertices. */
    double moment, axis[3], center[3];
    hk_factor_def factor; /* of all of them */
    /* Wind, m/s, on surface triangles whose three vertices are selected, in time steps: with drag
     * along the flow and lift along the normal (docs/shells.md); the factor is one of the velocity.
     * air_density 0: none */
    double wind[3];
    double air_density; /* kg/m³ */
    double drag, lift;  /* - */
    /* Gas in a closed surface, of which all vertices are selected: its absolute pressure in the
     * rest shape, Pa, p V = const, and that outside. gas 0: none. The factor is one of the amount
     * of gas. */
    double gas, outside;
} hk_load_def;
/* all vertices, evenly, 0 N */
HK_API void hk_fill_load_def(hk_load_def *def, size_t size);
static inline hk_load_def hk_default_load_def(void)
{
    hk_load_def def;
    hk_fill_load_def(&def, sizeof def);
    return def;
}

typedef struct hk_region_def {
    size_t def_size;    /* set by hk_default_region_def() */
    hk_selector select; /* of tets */
    hk_material_def material;
    const char *name; /* of the rigid part that it is; NULL: that of the body and its number */
    int rigid;        /* 1: it moves as a rigid body does (constraints.h) */
    int reserved_int;
} hk_region_def;
/* all tets, the default material */
HK_API void hk_fill_region_def(hk_region_def *def, size_t size);
static inline hk_region_def hk_default_region_def(void)
{
    hk_region_def def;
    hk_fill_region_def(&def, sizeof def);
    return def;
}

typedef struct hk_body_def {
    size_t def_size; /* set by hk_default_body_def() */
    const char *name;
    const hk_mesh *mesh; /* copied by hk_model_create; without tets its triangles are a sheet */
    hk_transform transform;
    hk_material_def material;
    const hk_region_def *regions; /* the last one that selects a tet wins */
    int region_count;
    const hk_selector *fixes;
    int fix_count;
    const hk_move_def *moves;
    int move_count;
    const hk_load_def *loads;
    int load_count;
    const hk_attach_def *attachments;
    int attachment_count;
    double velocity[3]; /* initial, m/s */
    int sag_free; /* 1: the mesh is the shape under gravity and loads, in which worlds begin, at
                     rest; they find its rest shape as hk_rest does when they are created. 0: the
                     mesh is the rest shape */
    int reserved_int;
    const hk_mesh *skin; /* a fine surface that the tets carry along (hk_model_skin), in the place
                            of the mesh: the transform is that of both; of a mesh of tets its
                            outside is taken. Copied; NULL: none */
    double friction;  /* -, in contact; where both have their own, the geometric mean counts; NAN:
                         that of what it touches, or else the contact's */
    double thickness; /* m, of a sheet in contact: half of it on either side; of a rope, 0: its
                         diameter */
    int start_posed;  /* 1: worlds begin where the body is in equilibrium under gravity and loads,
                         held where its fixes and moves begin; bodies without it stay where they
                         are meanwhile */
    int reserved_int2;
    const char *start_state; /* a file of hk_world_save_state: worlds begin with the positions and
                                velocities that the body of this name has there (or of this number,
                                where it has no name). NULL: none */
    /* Axes that a fix holds, [fix_count], a sum of HK_AXIS_X, HK_AXIS_Y and HK_AXIS_Z: a roller or
     * a plane of symmetry. Vertices stay at these coordinates of their rest positions and are free
     * along the others; several fixes of a vertex add up. NULL: all three */
    const uint8_t *fix_axes;
    const char *const *fix_names;  /* [fix_count], for results; NULL, or entries: none */
    const char *const *move_names; /* [move_count] */
    int rigid; /* 1: all of it but its regions moves as a rigid body does (constraints.h) */
    int reserved_int3;
} hk_body_def;
enum { HK_AXIS_X = 1, HK_AXIS_Y = 2, HK_AXIS_Z = 4, HK_ALL_AXES = 7 };
HK_API void hk_fill_body_def(hk_body_def *def, size_t size);
static inline hk_body_def hk_default_body_def(void)
{
    hk_body_def def;
    hk_fill_body_def(&def, sizeof def);
    return def;
}

/* An energy of the user's own, Σ over elements of a few vertices each: beside those of the bodies,
 * for every method, on the CPU. The functions are given the number of an element and the positions
 * of its vertices, x[vertices][3], in double precision; they may be called from several threads at
 * once, and must live as long as the model. */
enum { HK_MAX_TERM_VERTICES = 8 };
typedef struct hk_term_def {
    size_t def_size;  /* set by hk_default_term_def() */
    const char *name; /* for messages */
    int element_count;
    int vertex_count;        /* of an element, 1 to HK_MAX_TERM_VERTICES */
    const int32_t *vertices; /* [element_count][vertex_count], numbered over all bodies */
    double stiffness;        /* N/m: at least the largest eigenvalue of the Hessian of an element;
                                what constant matrices assume of it */
    bool tie;                /* it ties bodies to something outside: to hold them in poses, and
                                without part in viscous damping */
    double (*energy)(void *context, int element, const double *x); /* J; INFINITY: not defined */
    void (*gradient)(void *context, int element, const double *x, double *gradient); /* as x, N */
    /* [3 vertices][3 vertices], symmetric, N/m; it need not be positive. */
    void (*hessian)(void *context, int element, const double *x, double *hessian);
    void *context;
    /* The same for `count` elements from number `first` on, in one call, from one thread: x is
     * [count][vertex_count][3], energy [count], gradient as x, hessian one after the other; what is
     * NULL is not asked for. With it the three functions above may be NULL. */
    void (*batch)(void *context, int first, int count, const double *x, double *energy,
                  double *gradient, double *hessian);
} hk_term_def;
HK_API void hk_fill_term_def(hk_term_def *def, size_t size);
static inline hk_term_def hk_default_term_def(void)
{
    hk_term_def def;
    hk_fill_term_def(&def, sizeof def);
    return def;
}

struct hk_contact_def; /* contact.h */
struct hk_obstacle_def;
struct hk_spring_def; /* links.h */
struct hk_seam_def;
struct hk_joint_def; /* constraints.h */
struct hk_constraint_def;
struct hk_tearing_def; /* tear.h */

typedef struct hk_model hk_model;
typedef struct hk_model_def {
    size_t def_size; /* set by hk_default_model_def() */
    const hk_body_def *bodies;
    int body_count;
    int term_count;
    const hk_term_def *terms;
    double gravity[3]; /* m/s² */
    /* NULL and no obstacles: bodies pass through each other and through themselves. */
    const struct hk_contact_def *contact;
    const struct hk_obstacle_def *obstacles;
    int obstacle_count;
    int reserved_int;
    hk_factor_def gravity_factor;
    const struct hk_spring_def *springs; /* between points of bodies */
    const struct hk_seam_def *seams;
    int spring_count, seam_count;
    const struct hk_joint_def *joints;           /* of rigid parts */
    const struct hk_constraint_def *constraints; /* of vertices */
    int joint_count, constraint_count;
    const struct hk_tearing_def *tearing; /* cuts and settings (tear.h); NULL: none */
} hk_model_def;
/* gravity 0, −9.81, 0; no contact */
HK_API void hk_fill_model_def(hk_model_def *def, size_t size);
static inline hk_model_def hk_default_model_def(void)
{
    hk_model_def def;
    hk_fill_model_def(&def, sizeof def);
    return def;
}
HK_API hk_status hk_model_create(const hk_model_def *def, hk_model **model);
HK_API void hk_model_free(hk_model *model); /* worlds made from it keep it alive */

/* Counts over all bodies; vertices of body b are numbered from hk_model_body_start(model, b). */
HK_API int hk_model_vertex_count(const hk_model *model);
HK_API int hk_model_tet_count(const hk_model *model);
HK_API int hk_model_triangle_count(const hk_model *model); /* of sheets */
HK_API int hk_model_spring_count(const hk_model *model);   /* edges of sheets */
HK_API int hk_model_body_count(const hk_model *model);
HK_API int hk_model_body_start(const hk_model *model, int body);
HK_API const double *hk_model_rest_positions(const hk_model *model); /* [vertex_count][3] m */
HK_API const double *hk_model_masses(const hk_model *model);         /* [vertex_count] kg */

/* ---------------------------------------------------------------- skins */

/* A surface that is carried along by a mesh of tets: each of its vertices is bound to the tet that
 * it lies in, or to the nearest one, by barycentric coordinates, and follows it affinely. Vertices
 * of the surface at one place stay at one place: what is watertight stays so. Immutable. */
typedef struct hk_embedding hk_embedding;
/* The surface lies with the mesh as both are given, and is copied; of a mesh of tets the outside is
 * taken. threads: 0 is all cores; nothing depends on their number. */
HK_API hk_status hk_embedding_create(const hk_mesh *mesh, const hk_mesh *surface, int threads,
                                     hk_embedding **embedding);
HK_API void hk_embedding_free(hk_embedding *embedding);
/* The surface as it was bound. */
HK_API const hk_mesh *hk_embedding_surface(const hk_embedding *embedding);
/* What the mesh has at its vertices, [vertex_count][components], positions with 3 or any other
 * values, at the vertices of the surface. */
HK_API hk_status hk_embedding_apply(const hk_embedding *embedding, int components,
                                    const double *values, double *carried);
/* How many vertices of the surface lie in no tet; the largest distance of one, m, and which that is
 * (-1: none); both may be NULL. */
HK_API int hk_embedding_outside(const hk_embedding *embedding, double *farthest, int *vertex);

/* The skin of a body, bound to the vertices of that body alone; NULL: it has none. It lives as long
 * as the model. */
HK_API const hk_embedding *hk_model_skin(const hk_model *model, int body);
/* A mesh of triangles, the surface of all bodies at `positions`, [vertex_count][3]: skins, of
 * bodies without one the outside of their tets, and the triangles of sheets unless they are left
 * out. */
HK_API hk_status hk_model_surface(const hk_model *model, const double *positions, bool sheets,
                                  hk_mesh **mesh);

/* ---------------------------------------------------------------- worlds */

/* An option of a method by its name, as in the scene file: a number or a word. */
typedef struct hk_option {
    const char *name;
    double number;
    const char *text; /* NULL for a number */
} hk_option;

typedef struct hk_solver_def {
    size_t def_size;    /* set by hk_default_solver_def() */
    const char *method; /* "newton", … */
    int iterations;     /* at most, per time step (per load step of a pose); 0: method's default */
    double tolerance;   /* on the gradient norm, relative to the forces at work; 0: default */
    const hk_option *options;
    int option_count;
    uint64_t reserved[16];
} hk_solver_def;
/* newton */
HK_API void hk_fill_solver_def(hk_solver_def *def, size_t size);
static inline hk_solver_def hk_default_solver_def(void)
{
    hk_solver_def def;
    hk_fill_solver_def(&def, sizeof def);
    return def;
}

HK_API int hk_method_count(void);
HK_API const char *hk_method_name(int method);
HK_API const char *hk_method_summary(int method);
/* What a definition that leaves iterations and tolerance 0 gets, for poses or for time steps. */
HK_API hk_solver_def hk_method_defaults(int method, bool pose);
typedef struct hk_option_info {
    const char *name;
    const char *help;
    const char *const *words;          /* allowed words, NULL-terminated; NULL for a number */
    double minimum, maximum, fallback; /* for a number; for words fallback is an index */
} hk_option_info;
HK_API int hk_method_option_count(int method);
HK_API const hk_option_info *hk_method_option(int method, int option);

/* What takes the time steps. CUDA is refused (HK_UNSUPPORTED) where the build, the machine or the
 * method has no version for an NVIDIA GPU, and says which methods have one; AUTO takes the CPU
 * there and tells the log why. hk_world_backend says what it came to. */
typedef enum hk_backend { HK_BACKEND_CPU = 0, HK_BACKEND_CUDA, HK_BACKEND_AUTO } hk_backend;

/* Damping beside that of the integrator; all 0 (off) by default. The first two are energies of the
 * step, the other two change velocities after it. */
typedef struct hk_damping {
    double air;     /* 1/s, a force -air m v: energy air/(2 h) |x - x_t|^2_M; the same motion on any
                       mesh */
    double viscous; /* s, Rayleigh's: energy viscous/(2 h) (x - x_t)·K (x - x_t), K the stiffness at
                       the state before the step, made positive */
    double ether;   /* 1/s: velocities decay as exp(-ether t) */
    double pbd;     /* 1/s: so does the part of each body's motion that is not rigid */
    double air_per_vertex; /* N s/m at every vertex, whatever its mass: energy
                              air_per_vertex/(2 h) |x - x_t|^2; more on finer meshes */
} hk_damping;

typedef struct hk_world hk_world;
typedef struct hk_world_def {
    size_t def_size; /* set by hk_default_world_def() */
    const hk_model *model;
    double step;            /* s, the time step */
    const char *integrator; /* "backward_euler", …: hk_integrator_name() lists them */
    double beta, gamma;     /* of "newmark" */
    bool conserve; /* after every step the state goes to the nearest one that has the energy of the
                      beginning and, if nothing holds the bodies, the momenta (Dinev et al. 2018).
                      Not with damping, and not where vertices or attachments move. */
    hk_solver_def solver;
    int threads; /* 0: all cores; at most 1024. Results do not depend on it */
    hk_backend backend;
    hk_damping damping;
    double laplacian_damping; /* s: damping by the constant stiffness that projective dynamics has
                                 (Li et al. 2018), energy laplacian_damping/(2 h) (x - x_t)·L (x -
                                 x_t); it slows rotations, too */
} hk_world_def;
/* 0.01 s, backward Euler, Newton */
HK_API void hk_fill_world_def(hk_world_def *def, size_t size);
static inline hk_world_def hk_default_world_def(void)
{
    hk_world_def def;
    hk_fill_world_def(&def, sizeof def);
    return def;
}
/* A copy of a definition that the library made (hk_scene_world). The log is warned where the
 * program is older than the library and the definition has something set that the copy cannot hold.
 */
HK_API void hk_take_world_def(hk_world_def *def, size_t size, const hk_world_def *from);
static inline hk_world_def hk_copy_world_def(const hk_world_def *from)
{
    hk_world_def def;
    hk_take_world_def(&def, sizeof def, from);
    return def;
}
HK_API int hk_integrator_count(void);
HK_API const char *hk_integrator_name(int integrator);
HK_API const char *hk_integrator_summary(int integrator);
HK_API hk_status hk_world_create(const hk_world_def *def, hk_world **world);
HK_API void hk_world_free(hk_world *world);

typedef enum hk_reason {
    HK_CONVERGED = 0,   /* the relative residual is at most the tolerance */
    HK_ITERATION_LIMIT, /* the budget is spent; the state is the best found */
    HK_STALLED,         /* no step length decreases the energy any further */
    HK_NOT_FINITE,      /* the state could not be advanced with finite numbers; it was kept */
    HK_INVERTED,        /* a prescribed motion or start turns an element inside out where the
                           law is not defined; the state was kept */
    HK_NOT_HELD,        /* a pose was asked for a body that nothing holds against its load */
    HK_LOAD_STEP_LIMIT, /* load stepping came to no further progress: the state is the last good
                           one, at the load fraction that `detail` tells */
    HK_STOPPED,         /* the monitor asked to stop */
    HK_FIXED_WORK,      /* the method did what it does in every step, and does not measure how near
                           it came: residuals are NAN */
    HK_PRECISION_LIMIT, /* the residual is as small as rounding allows, and still larger than the
                           tolerance; `rounding` is the estimate of it */
    HK_UNDETERMINED, /* of a fit: the misfit is least, but other values of the parameters give the
                        same shape */
    HK_INTERSECTION  /* something is in the way of a prescribed motion, or the certificate found an
                        intersection; the state was kept */
} hk_reason;
HK_API const char *hk_reason_name(hk_reason reason); /* "converged", "iteration limit", … */
/* Whether the reason counts as done ("converged"), stopped short or failed. */
typedef enum hk_outcome {
    HK_OUTCOME_CONVERGED = 0,
    HK_OUTCOME_STOPPED,
    HK_OUTCOME_FAILED
} hk_outcome;
HK_API hk_outcome hk_reason_outcome(hk_reason reason);

typedef struct hk_energy {
    double elastic; /* J, of tets, sheets, attachments and grabs; INFINITY (and so the total) where
                       a material is not defined */
    double gravity; /* J, 0 at the origin */
    double load;    /* J, 0 at the rest positions */
    double kinetic; /* J */
    double total;   /* J */
    double contact; /* J, of the skins of contact; friction has none */
    uint64_t reserved[7];
} hk_energy;

typedef enum hk_phase {
    HK_PHASE_ELEMENTS = 0, /* energies, forces and stiffness of the elements */
    HK_PHASE_ASSEMBLY,     /* into the global matrix */
    HK_PHASE_FACTOR,
    HK_PHASE_SOLVE,
    HK_PHASE_VOLUME, /* constraints of split */
    HK_PHASE_OTHER,
    HK_PHASE_DETECTION, /* which surfaces are near each other */
    HK_PHASE_PAIRS,     /* energy, forces and stiffness of contact and friction */
    HK_PHASE_GUARD,     /* how far steps may go, and the certificate */
    HK_PHASE_COUNT
} hk_phase;
enum { HK_MOST_PHASES = 16 };
HK_API const char *hk_phase_name(hk_phase phase);

typedef struct hk_step_report {
    hk_reason reason;
    char detail[160];         /* where and why, for people; when converged "", or that the step was
                                 finished in double precision */
    int iterations;           /* in all */
    int load_steps;           /* of a pose: 1 when the full load converged at once */
    double time;              /* s, of the state after the step */
    double residual;          /* N, Euclidean norm of the gradient over free vertices */
    double relative_residual; /* to the norm of the forces at work: what the tolerance bounds; 0
                                 where no force is at work but rounding errors */
    hk_energy energy;
    double ms;                       /* wall time, without that of the energies above */
    double phase_ms[HK_MOST_PHASES]; /* by hk_phase */
    double rounding; /* N, what rounding leaves of the residual, estimated where it is near; else
                        NAN */
    int linear_iterations; /* of the linear solves in them; 0 where these are direct */
    int reserved_int;
    uint64_t reserved[14];
} hk_step_report;

/* Called after every iteration; return false to stop: a pose with the best state so far, a time
 * step with the state before it. What changes the world or evaluates it (step, pose, set, energy)
 * is HK_BAD_INPUT from here and from every other callback while the world is at work, and freeing
 * it does nothing; positions and velocities are still those before the step.
 * Time steps on a GPU are not looked into: it is called once after each, with the iterations of all
 * of it, and false makes the reason HK_STOPPED while the state after the step stays. */
typedef struct hk_iteration {
    int iteration;   /* in this call, from 1 (0: see hk_world_watch_energy) */
    double energy;   /* J, the minimised function; NAN where the method did not need it */
    double residual; /* N, after the iteration; NAN where the method did not need it */
    double relative_residual;
    double step_length;    /* accepted, of the full step */
    bool projected;        /* the stiffness was made positive */
    double load;           /* of a pose: load fraction, 0..1 */
    int linear_iterations; /* of its linear solves; 0 where these are direct */
    int resumed;           /* of a start: iterations that the same solve took in single precision */
    uint64_t reserved[7];
} hk_iteration;
typedef bool hk_monitor_fn(void *context, const hk_iteration *iteration);
HK_API void hk_world_set_monitor(hk_world *world, hk_monitor_fn *fn, void *context);
/* With `always` the monitor is told the energy after every iteration, in double precision, even by
 * methods that need it only now and then (they become slower); and it is called once more, with
 * iteration 0, for the start of every solve, and where one goes on in double precision. */
HK_API void hk_world_watch_energy(hk_world *world, bool always);

/* Energies in reports of time steps cost a pass over all elements in double precision, which takes
 * longer than a whole step of a fast method. With false they are NAN; hk_world_energy has them. */
HK_API void hk_world_report_energy(hk_world *world, bool always);

/* Advances by one time step. On a GPU a call without a report (and without a monitor) returns
 * before the step is done, so that steps queue up; one that fails there leaves the state as it was,
 * and the time goes on. */
HK_API hk_status hk_world_step(hk_world *world, hk_step_report *report);
/* Finds the equilibrium under gravity, loads and the full prescribed motion, starting from the
 * current positions. Velocities become 0 (unless the state was kept). A world on a GPU has its
 * poses found on the CPU, by the same method. */
HK_API hk_status hk_world_pose(hk_world *world, hk_step_report *report);

HK_API const hk_model *hk_world_model(const hk_world *world);
HK_API double hk_world_time(const hk_world *world);
HK_API hk_status hk_world_set_time(hk_world *world, double time);
HK_API double hk_world_setup_ms(const hk_world *world); /* what creation took */
/* double[vertex_count][3], in the order of the meshes, bodies one after the other. The pointers
 * stay valid and up to date until the world is freed. On a GPU these calls are what brings the
 * values here: call again after a step (the pointers stay the same). Should that fail, the log is
 * told, and the values are the last that were seen. */
HK_API const double *hk_world_positions(const hk_world *world);
HK_API const double *hk_world_velocities(const hk_world *world);
/* Held vertices may be put anywhere, too; the next step or pose takes them back to their places.
 * Where bodies have contact and would overlap, it is an error that names them and the place (unless
 * the model has HK_OVERLAP_RECOVER), as with the calls below that change states, times and shapes.
 */
HK_API hk_status hk_world_set_positions(hk_world *world, const double *positions);
HK_API hk_status hk_world_set_velocities(hk_world *world, const double *velocities);
/* Time, positions, velocities and what else of the past the next step depends on, from another
 * world of the same model (edited or not): both then take the same step, as far as their methods
 * and edits agree. */
HK_API hk_status hk_world_copy_state(hk_world *world, const hk_world *from);

/* Everything that the steps to come depend on, in a file (.hks): position, velocities, the past
 * that integrator, method, contact and friction remember, what users set between steps, the time.
 * A world of the same model, method and settings that loads it takes the same steps, to the last
 * bit, as the one that saved it would have. The file is written whole or not at all. */
HK_API hk_status hk_world_save_state(hk_world *world, const char *path);
/* Fails where the file is damaged, of another version of the format, or of another model than the
 * world's (meshes, materials, constraints, loads, contact, step or integrator); the world is as it
 * was then. With another method or other options it begins without what the method remembers, and
 * the log is told so. Gravity, loads, forces, targets and grabs that users set are part of the
 * state, and take the place of the world's; what edits made of the model (hk_world_fix, materials)
 * must be the same in both. */
HK_API hk_status hk_world_load_state(hk_world *world, const char *path);
/* The same with bytes of the caller's own beside the state, and those of a file: `take` is called
 * once, with no bytes where the file has none. */
HK_API hk_status hk_world_save_state_with(hk_world *world, const char *path, const void *extra,
                                          size_t extra_size);
typedef void hk_take_bytes_fn(void *context, const void *bytes, size_t size);
HK_API hk_status hk_state_extra(const char *path, hk_take_bytes_fn *take, void *context);

/* ---- live edits: changes between steps. Each takes hold with the next step or pose, costs no more
 * than what it makes necessary, and leaves the world as it was where it fails. Vertices are
 * numbered over all bodies (hk_model_body_start). Definitions of a world's model stay as they are:
 * a world that is edited goes on with a model of its own (hk_world_model). */

/* Nothing is made anew for these. */
HK_API hk_status hk_world_set_gravity(hk_world *world, const double gravity[3]);
/* The loads on a body, in place of all that it had. */
HK_API hk_status hk_world_set_loads(hk_world *world, int body, const hk_load_def *loads, int count);
/* A force at every vertex beside gravity and loads, [vertex_count][3] N; NULL: none. */
HK_API hk_status hk_world_set_forces(hk_world *world, const double *forces);
/* Where held vertices (fixed or moved ones) are at the end of the next step, and from then on:
 * positions is [count][3]. What moved them before does so no longer. */
HK_API hk_status hk_world_set_targets(hk_world *world, int count, const int32_t *vertices,
                                      const double *positions);

/* Constant matrices are factored anew, on a GPU the step is set up anew. */
HK_API hk_status hk_world_set_step(hk_world *world, double step);
HK_API hk_status hk_world_set_damping(hk_world *world, const hk_damping *damping);

/* The solver is made anew. Vertices are fixed at `positions`, [count][3]; NULL: where they are. */
HK_API hk_status hk_world_fix(hk_world *world, int count, const int32_t *vertices,
                              const double *positions);
HK_API hk_status hk_world_unfix(hk_world *world, int count, const int32_t *vertices);
/* The material of a body, or (region is not NULL) of the tets that are selected. */
HK_API hk_status hk_world_set_material(hk_world *world, int body, const hk_selector *region,
                                       const hk_material_def *material);
/* [vertex_count][3]: masses follow; the state stays where it is, and fixed vertices go to where
 * they rest now. */
HK_API hk_status hk_world_set_rest_positions(hk_world *world, const double *positions);

/* A spring of rest length 0 from a point of a body, Σ weight × vertex, to a target that is moved:
 * a vertex, a point of a triangle of the surface (its three corners with barycentric weights), of a
 * tet, or a mean of vertices anywhere. A constant matrix is not factored for it; Newton's method
 * has a new pattern where no element joins the vertices. Its energy is among the elastic ones. */
typedef struct hk_grab_def {
    size_t def_size; /* set by hk_default_grab_def() */
    int count;       /* of vertices, 1 to 4 */
    int32_t vertices[4];
    double weights[4]; /* add up to 1 */
    double stiffness;  /* N/m */
    double target[3];  /* m */
} hk_grab_def;
/* one vertex, of weight 1 */
HK_API void hk_fill_grab_def(hk_grab_def *def, size_t size);
static inline hk_grab_def hk_default_grab_def(void)
{
    hk_grab_def def;
    hk_fill_grab_def(&def, sizeof def);
    return def;
}
/* `grab` is a number for the calls below. */
HK_API hk_status hk_world_grab(hk_world *world, const hk_grab_def *def, int *grab);
HK_API hk_status hk_world_move_grab(hk_world *world, int grab, const double target[3]);
/* The force that it exerts on the body at the current state, N. */
HK_API hk_status hk_world_grab_force(const hk_world *world, int grab, double force[3]);
HK_API hk_status hk_world_release_grab(hk_world *world, int grab);

/* Energies, and the gradient of elastic + gravity + load with respect to the positions of all
 * vertices (at held ones it is the reaction); gradient is [vertex_count][3], and each may be NULL.
 */
HK_API hk_status hk_world_energy(hk_world *world, hk_energy *energy, double *gradient);

/* What fixes and moves exert on their vertices at the current state, where bodies of a pose or of a
 * step that converged are in balance with gravity, loads, contact and inertia. A vertex counts for
 * what holds it: the last move that selects it, or else, axis by axis, the last fix. Vertices that
 * hk_world_fix holds count for none. */
typedef struct hk_reaction {
    int body;
    bool moves;       /* a move; if not, a fix */
    int number;       /* among the fixes or moves of the body, from 0 */
    const char *name; /* the model's; NULL: it has none */
    int vertices;     /* how many it holds */
    double force[3];  /* N, of all of them */
    double moment[3]; /* N m about `center` */
    double center[3]; /* m, the mean of its vertices where they are */
    uint64_t reserved[4];
} hk_reaction;
/* Fixes and then moves, body after body. */
HK_API int hk_model_constraint_count(const hk_model *model);
/* reactions is [hk_model_constraint_count], or NULL; vertices is [vertex_count][3] N, 0 at free
 * vertices, or NULL. Viscous damping is left out. The inertia of moved vertices is
 * mass × change of velocity / step, as backward Euler has it; on a GPU it is left out. */
HK_API hk_status hk_world_reactions(hk_world *world, hk_reaction *reactions, double *vertices);

/* The largest displacement from the rest positions and the largest von Mises stress, and where. */
typedef struct hk_greatest {
    double displacement;          /* m */
    int displacement_body;        /* -1: there is none */
    double displacement_place[3]; /* m, of the vertex, where it is */
    double von_mises;             /* Pa, of the Cauchy stress */
    int von_mises_body;           /* -1: there are no tets */
    double von_mises_place[3];    /* m, the middle of the tet, where it is */
    int vertex, tet;              /* their numbers within the body */
    uint64_t reserved[4];
} hk_greatest;
HK_API hk_status hk_world_greatest(hk_world *world, hk_greatest *greatest);

/* A point of a body, given where it is at rest; it moves with the tet that it lies in (of a sheet
 * or outside of all tets: with the nearest vertex). Finds what hk_probe_at needs. */
typedef struct hk_probe {
    int body;
    int count; /* of vertices, 1 or 4 */
    int tet;   /* over all bodies; -1: none */
    int32_t vertices[4];
    double weights[4];
    uint64_t reserved[4];
} hk_probe;
HK_API hk_status hk_model_probe(const hk_model *model, int body, const double at[3],
                                hk_probe *probe);
/* Where it is in a world. */
HK_API hk_status hk_world_probe(const hk_world *world, const hk_probe *probe, double place[3]);

/* Named results at the current state: "displacement" (3 a vertex, m), "velocity" (3 a vertex),
 * "von_mises" (1 a tet, Pa, of the Cauchy stress; 0 where a tet is flat), "J" (1 a tet),
 * "contact_force" (3 a vertex, N, of contact and friction: see hk_world_contact), "reaction" (3 a
 * vertex, N, see hk_world_reactions); per tet: "stress" (9, Pa, the Cauchy stress, row by row),
 * "principal_stress" (3, Pa, of that, the largest first), "strain" (9, the Green strain
 * (FᵀF − 1)/2). */
HK_API hk_status hk_world_field(hk_world *world, const char *name, double *values);
/* A mesh of all bodies at their current positions. */
HK_API hk_status hk_world_mesh(const hk_world *world, hk_mesh **mesh);
/* hk_world_mesh + all fields + hk_mesh_save. */
HK_API hk_status hk_world_save(hk_world *world, const char *path);
/* With more of the fields of hk_world_field: "stress", "principal_stress", "strain", "reaction". */
HK_API hk_status hk_world_save_fields(hk_world *world, const char *path, const char *const *fields,
                                      int count);
/* vertex,x,y,z with 17 significant digits. */
HK_API hk_status hk_world_save_points(const hk_world *world, const char *path);
/* What was actually used: method, options, sizes, lanes and threads or the GPU. Owned by the world.
 */
HK_API const char *hk_world_describe(const hk_world *world);
HK_API int hk_world_threads(const hk_world *world);
HK_API const char *hk_world_method(const hk_world *world);
/* Another method, other options, iterations or tolerance from the next step on; model and state
 * stay. On failure the solver stays as it is. */
HK_API hk_status hk_world_set_solver(hk_world *world, const hk_solver_def *solver);
HK_API const char *hk_world_backend(const hk_world *world);

/* ---------------------------------------------------------------- scenes */

typedef struct hk_scene hk_scene;

typedef struct hk_output_def {
    double every;       /* s between frames; 0: every step */
    const char *vtu;    /* path of a .pvd or NULL */
    const char *points; /* prefix of the .csv files or NULL */
    const char *stats;  /* path of a .json or NULL */
    const char *skin;   /* path of surfaces, cow.obj for cow_0000.obj, cow_0001.obj, …, or NULL */
    const struct hk_probe_def *probes;
    int probe_count;
    const char *probe_file;    /* path of a .csv with a row per time, or NULL */
    const char *reactions;     /* the same of the forces that fixes and moves exert, or NULL */
    const char *const *fields; /* that .vtu files have besides, see hk_world_save_fields */
    int field_count;
} hk_output_def;
typedef struct hk_probe_def { /* only the library makes them */
    const char *name;
    const char *body; /* its name; NULL: the first */
    double at[3];     /* m, at rest */
} hk_probe_def;

/* `sets` are "path=value" overrides, as on the command line. Paths of meshes are relative to the
 * scene file (to the working directory for hk_scene_parse). */
HK_API hk_status hk_scene_load(const char *path, const char *const *sets, int set_count,
                               hk_scene **scene);
HK_API hk_status hk_scene_parse(const char *text, size_t length, const char *name,
                                const char *const *sets, int set_count, hk_scene **scene);
HK_API void hk_scene_free(hk_scene *scene);
/* These live as long as the scene. */
HK_API const hk_model_def *hk_scene_model(const hk_scene *scene);
/* Its model is NULL: take a copy (hk_copy_world_def) and set it. */
HK_API const hk_world_def *hk_scene_world(const hk_scene *scene);
HK_API const hk_output_def *hk_scene_output(const hk_scene *scene);
HK_API int hk_scene_steps(const hk_scene *scene); /* from "steps" or "end" */

#ifdef __cplusplus
}
#endif

#include <hooke/constraints.h>
#include <hooke/contact.h>
#include <hooke/design.h>
#include <hooke/fill.h>
#include <hooke/inspect.h>
#include <hooke/links.h>
#include <hooke/quadratic.h>
#include <hooke/research.h>
#include <hooke/sdf.h>
#include <hooke/tear.h>
#include <hooke/tool.h>
#endif
