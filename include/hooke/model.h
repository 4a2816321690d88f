/* Bodies and models, and the skins that they carry along. A part of hooke.h, which includes it. */
#ifndef HOOKE_MODEL_H
#define HOOKE_MODEL_H

#include <hooke/material.h>
#include <hooke/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
