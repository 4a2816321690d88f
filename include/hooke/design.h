/* Two-way shape design: rest shapes of loaded shapes, both of them edited interactively, and
 * materials of observed shapes. A part of hooke.h, which includes it. */
#ifndef HOOKE_DESIGN_H
#define HOOKE_DESIGN_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- rest shapes */

/* The inverse of a pose (after Mukherjee, Wu & Wang 2018): what a model has as its rest shape is
 * taken for the shape under gravity and loads, and the rest shape is found that a pose takes there.
 * Vertices that are held have the same place in both shapes; attachments pull to where their vertex
 * is in the rest shape; the weight follows the rest shape, loads do not. Directions of fibres and
 * axes are those of the rest shape. Nothing that holds the bodies may move, and they have no
 * contact. Of sheets rest lengths are found, not a rest shape, for springs leave that open: those
 * nearest to the lengths in the loaded shape whose forces balance the load; positions stay. Where
 * no rest lengths do that the reason is HK_STALLED, and the report tells how much is left, and
 * where. */
typedef struct hk_rest hk_rest;
typedef struct hk_rest_def {
    size_t def_size; /* set by hk_default_rest_def() */
    const hk_model *model;
    const char *method; /* "auto", …: hk_rest_method_name() lists them */
    double tolerance;   /* on the forces that are left, relative to the load, and on the distance
                           that is left, relative to the size of the model; 0: 1e-8 */
    int iterations;     /* at most, of each attempt; 0: 50 */
    int load_steps;     /* at most, where the full load cannot be taken at once; 0: 60; negative:
                           none */
    int reuse;          /* of "newton_lu": iterations for each factorisation; 0: 1 */
    int threads;        /* 0: all cores; at most 1024. Results do not depend on it */
    const char *linear; /* how its linear systems are solved: "direct" (factors), "multigrid" (for
                           large meshes: memory grows with the mesh), "auto": by the size */
} hk_rest_def;
/* auto */
HK_API void hk_fill_rest_def(hk_rest_def *def, size_t size);
static inline hk_rest_def hk_default_rest_def(void)
{
    hk_rest_def def;
    hk_fill_rest_def(&def, sizeof def);
    return def;
}
HK_API int hk_rest_method_count(void);
HK_API const char *hk_rest_method_name(int method);
HK_API const char *hk_rest_method_summary(int method);

typedef struct hk_rest_report {
    hk_reason reason;  /* HK_LOAD_STEP_LIMIT: there is no rest shape for the whole load; what was
                          found is that of the part load_reached of it */
    char detail[160];  /* where and why, and what to change */
    char attempts[80]; /* "fixed_point, newton_gmres, load steps"; "warped": with an old factor */
    int iterations;    /* in all */
    int linear_iterations;
    int load_steps; /* 1: the full load at once */
    int factorisations;
    double load_reached;      /* fraction of weight and loads that the shape is for */
    double residual;          /* N, Euclidean norm of the forces that are left at free vertices */
    double relative_residual; /* to the norm of the load */
    double correction; /* m, about how far a vertex is from where it should be; NAN: not known */
    double sag;        /* m, the farthest that the load takes a vertex, */
    double least_j;    /* the least volume ratio det F under load, */
    double greatest_stretch;                           /* the largest principal stretch, */
    int sag_vertex, least_j_tet, greatest_stretch_tet; /* and where: numbers over all bodies */
    int overlaps; /* by hk_rest_find_overlaps: pairs of faces of the rest shape, of one body or of
                     two, that meet (hk_intersection): it cannot be made like that */
    double ms;    /* wall time of this call */
    double phase_ms[HK_MOST_PHASES]; /* by hk_phase */
    int32_t overlap_faces[2][3];     /* the first of them: vertices, numbered over all bodies; */
    int32_t overlap_bodies[2];       /* bodies; */
    double overlap_place[3];         /* m, about where */
    int overlap_touches;             /* whether that one only touches */
    int touching;                    /* of all of them, those that only touch */
    double sheet_residual; /* of sheets: what their springs leave of the load on them, relative */
    double least_rest_length;    /* of springs of sheets, over their length in the loaded shape, */
    double greatest_rest_length; /* and the largest */
    int sheet_vertex, pushing_springs; /* where most is left (-1: there is no sheet); springs that
                                          are longer at rest */
    int unstable; /* by hk_rest_find_stability: whether the loaded shape is an unstable equilibrium
                     of bodies of tets, so that what is made goes elsewhere */
    uint64_t reserved[3];
} hk_rest_report;

HK_API hk_status hk_rest_create(const hk_rest_def *def, hk_rest **rest);
HK_API void hk_rest_free(hk_rest *rest);
/* From `start`, [vertex_count][3]. NULL: after hk_rest_set_shape from the last rest shape that was
 * found, carried over to the new loaded shape; else from the loaded shape itself. A start in which
 * a tet is inside out is not used. Matrices of the loaded shape are kept for the next call, and
 * serve other loaded shapes as far as they can. A solve that does not converge is told by the
 * report; the positions are the best that were found. */
HK_API hk_status hk_rest_solve(hk_rest *rest, const double *start, hk_rest_report *report);
/* The rest shape, [vertex_count][3]: the pointer stays valid until `rest` is freed. At first it is
 * the loaded shape. */
HK_API const double *hk_rest_positions(const hk_rest *rest);
/* Looks, exactly, for faces of the rest shape that meet: overlaps, touching and overlap_… of the
 * report, the rest of which stays. For those who want to make it; a solve does not do so. */
HK_API hk_status hk_rest_find_overlaps(hk_rest *rest, hk_rest_report *report);
/* Looks whether bodies of tets stay in the loaded shape, or would leave it at a touch (a column
 * that is too slender): `unstable` of the report, and `detail` where that is empty. It takes a
 * factorisation, so that a solve does not do it. */
HK_API hk_status hk_rest_find_stability(hk_rest *rest, hk_rest_report *report);
/* Another loaded shape, [vertex_count][3], for the next solve; held vertices go with it. */
HK_API hk_status hk_rest_set_shape(hk_rest *rest, const double *positions);
/* Makes the factor of the current loaded shape now, for the solves to come: worth while when a
 * drag settles. Where it is at hand already nothing is done. The monitor is asked between parts of
 * the work (`iteration` 0, numbers NAN); false leaves all as it was. */
HK_API hk_status hk_rest_refactor(hk_rest *rest);
/* A copy of the model with the rest shape found, masses and all: the pose of a world made from it
 * is the loaded shape. */
HK_API hk_status hk_rest_model(const hk_rest *rest, hk_model **model);
/* Called after every iteration, in the thread that solves, and now and then within one (`iteration`
 * is 0 then, and the numbers are NAN); return false to stop with the best shape so far. `energy` is
 * NAN. */
HK_API void hk_rest_set_monitor(hk_rest *rest, hk_monitor_fn *fn, void *context);
HK_API double hk_rest_setup_ms(const hk_rest *rest); /* what creation took */
HK_API int hk_rest_threads(const hk_rest *rest);

/* ---------------------------------------------------------------- fitting */

/* Estimates of material parameters from an observed shape: those values are found with which the
 * pose of a model comes nearest to observed places of its vertices, Σ ‖x − target‖² least. Vertices
 * need not all be observed; gross errors among them are found and left out. Every parameter has a
 * standard deviation, from the scatter of the observations about the pose. */
typedef struct hk_fit hk_fit;
typedef struct hk_fit_def {
    size_t def_size; /* set by hk_default_fit_def() */
    /* Definitions, as hk_scene_model() has them: the values to vary begin as they are there. What
     * users' terms and laws point to is needed as long as the fit lives. */
    const hk_model_def *model;
    /* What is to be found, separated by commas. "young": of all bodies and regions, which must have
     * the same value; "bodies.0.young": of the material of body 0; "bodies.0.regions.1.young": of a
     * region. A body may be called by its name, and * in place of a number means one parameter for
     * each. Beside young: poisson, density, fibre.stiffness, and the material's own parameters by
     * their names (mu, s0, …). */
    const char *vary;
    double tolerance; /* on the gradient of the misfit, relative (hk_fit_report); 0: 1e-6 */
    double outlier;   /* observations that are so many standard deviations off are left out; 0: 5;
                         negative: none are */
    int iterations;   /* at most; 0: 60 */
    int threads;      /* 0: all cores; at most 1024. Results do not depend on it */
} hk_fit_def;
/* young */
HK_API void hk_fill_fit_def(hk_fit_def *def, size_t size);
static inline hk_fit_def hk_default_fit_def(void)
{
    hk_fit_def def;
    hk_fill_fit_def(&def, sizeof def);
    return def;
}

typedef struct hk_fit_parameter {
    const char *name; /* as in `vary` */
    double start, value;
    double deviation; /* standard deviation; INFINITY: the observations do not tell it, or it ended
                         at the end of its range */
} hk_fit_parameter;

typedef struct hk_fit_report {
    hk_reason reason;
    char detail[400]; /* where and why, and what to change; may be a warning of a fit that has
                         converged */
    int iterations;   /* of the fit */
    int poses;        /* found for it, with so many iterations in all */
    int pose_iterations;
    int factorisations;
    int observed;     /* vertices that count: observed and not held */
    int missing;      /* vertices that are neither held nor observed */
    int held;         /* observed, but held: these tell nothing of the material */
    int outliers;     /* of those that are observed, left out */
    int undetermined; /* parameters that the observations do not tell, or not from each other */
    int sag_vertex, held_vertex;
    double rms;           /* m, of the distances from the pose to the observations */
    double noise;         /* m, estimated standard deviation of a coordinate of them */
    double sag;           /* m, how far an observed vertex goes from rest at most (sag_vertex) */
    double held_distance; /* m, of an observed vertex that is held, from its place at most */
    double relative_gradient; /* of the misfit, largest over the parameters: ∂Φ/∂p relative to
                                 ‖∂x/∂p‖ (‖x − target‖ + 1e-3 ‖x − rest‖); by adjoints */
    double residual;          /* N, of the pose */
    double relative_residual;
    double ms;                       /* wall time of this call */
    double phase_ms[HK_MOST_PHASES]; /* by hk_phase */
    uint64_t reserved[16];
} hk_fit_report;

HK_API hk_status hk_fit_create(const hk_fit_def *def, hk_fit **fit);
HK_API void hk_fit_free(hk_fit *fit);
/* Observed places of vertices, numbered over all bodies: positions is [count][3] m. */
HK_API hk_status hk_fit_set_target(hk_fit *fit, int count, const int32_t *vertices,
                                   const double *positions);
/* The same from a file: .csv with rows vertex,x,y,z (hk_world_save_points), of all vertices or of
 * some; or a mesh that has as many vertices as the model, in the same order. */
HK_API hk_status hk_fit_load_target(hk_fit *fit, const char *path);
/* From the values of the definition. A fit that does not converge is told by the report; the values
 * are the best that were found. */
HK_API hk_status hk_fit_solve(hk_fit *fit, hk_fit_report *report);

HK_API int hk_fit_parameter_count(const hk_fit *fit);
HK_API const hk_fit_parameter *hk_fit_parameter_at(const hk_fit *fit, int parameter);
/* Covariances of the values, [parameter_count][parameter_count]; INFINITY where a deviation is. */
HK_API const double *hk_fit_covariance(const hk_fit *fit);
/* "bodies.0.material.young=1.25e6": the values as a scene takes them (hk_scene_load), one line for
 * each material; NULL: there is no such line. */
HK_API const char *hk_fit_setting(const hk_fit *fit, int line);
/* The pose, [vertex_count][3] m. */
HK_API const double *hk_fit_positions(const hk_fit *fit);
/* How far it is from the observations, [vertex_count] m; NAN where there is none. */
HK_API const double *hk_fit_distances(const hk_fit *fit);
/* The vertices that were left out, [report.outliers], the farthest first. */
HK_API const int32_t *hk_fit_outliers(const hk_fit *fit);
/* A copy of the model with the materials found. */
HK_API hk_status hk_fit_model(const hk_fit *fit, hk_model **model);

/* For optimisers of one's own: the pose at these values, [parameter_count]; half the sum of the
 * squared distances to all observations that are not held, m²; and its derivative by every value
 * (the adjoint of the equilibrium: one linear system for all of them). `gradient` may be NULL.
 * HK_UNSUPPORTED: there is no stable pose at these values. */
HK_API hk_status hk_fit_misfit(hk_fit *fit, const double *values, double *misfit, double *gradient);
/* Derivatives of the pose by every value, [parameter_count][vertex_count][3] m, where
 * hk_fit_solve or hk_fit_misfit was last. */
HK_API hk_status hk_fit_sensitivity(hk_fit *fit, double *sensitivity);

/* Called after every iteration of the fit, and after those of its poses (with the same number);
 * return false to stop with the best values so far. `residual` is the root mean square of the
 * distances (m), relative_residual the relative gradient, `energy` half the sum of their squares
 * (m²). */
HK_API void hk_fit_set_monitor(hk_fit *fit, hk_monitor_fn *fn, void *context);
HK_API double hk_fit_setup_ms(const hk_fit *fit); /* what creation took */
HK_API int hk_fit_threads(const hk_fit *fit);

/* ---------------------------------------------------------------- interactive design */

/* Two shapes of a model that belong together, the rest shape and the loaded shape, for editors that
 * call sixty times a second (after Mukherjee, Wu & Wang 2018, section 5). An edit of either shape
 * makes that shape the given one, and the other follows:
 *
 *   preview     hk_design_preview: a frame of the edited shape, which follows its handles as
 *               rigidly as it can, and a guess of the other shape. Real time.
 *   refinement  a thread in the background solves for the other shape, with hk_rest or by a pose.
 * It begins when a preview finds the edited shape settled, and a new edit cancels it.
 *
 * Threads. One thread at a time may call what edits, previews, waits, undoes or frees. From any
 * thread, at any time between creation and free: hk_design_snapshot, hk_design_vertex_count. None
 * of them waits for the refinement (but hk_design_wait and hk_design_free: the refinement is
 * cancelled, and ends with the step at which it is). The refinement runs at a lower priority where
 * the system has such.
 *
 * Vertices are numbered over all bodies. Held vertices have the same place in both shapes. Bodies
 * of tets only, and nothing that holds them may move. Selectors mean the shape that the model has.
 */
typedef struct hk_design hk_design;

typedef enum hk_design_side { HK_LOADED_SHAPE = 0, HK_REST_SHAPE } hk_design_side;

typedef struct hk_design_def {
    size_t def_size; /* set by hk_default_design_def() */
    const hk_model *model;
    hk_design_side given; /* what the rest positions of the model are; the other shape follows */
    int threads;          /* 0: all cores; at most 1024. Results do not depend on it */
    double tolerance;     /* of the refinement, as hk_rest_def has it; 0: 1e-6 */
    int steps;            /* of the edited shape per preview, 1 to 100; 0: 3 */
    int undo_mb;          /* memory for undoing, MiB; the oldest edits are forgotten; 0: 256 */
} hk_design_def;
/* the loaded shape is given */
HK_API void hk_fill_design_def(hk_design_def *def, size_t size);
static inline hk_design_def hk_default_design_def(void)
{
    hk_design_def def;
    hk_fill_design_def(&def, sizeof def);
    return def;
}
HK_API hk_status hk_design_create(const hk_design_def *def, hk_design **design);
HK_API void hk_design_free(hk_design *design); /* also while it refines */
HK_API int hk_design_vertex_count(const hk_design *design);

typedef enum hk_design_state {
    HK_DESIGN_PREVIEW = 0, /* the shape that follows is a guess */
    HK_DESIGN_REFINING,    /* it still is, and a better one is on its way */
    HK_DESIGN_CONVERGED,   /* both shapes are in equilibrium, to the tolerance */
    HK_DESIGN_FAILED /* there is none, or it was not found: `reason` and `detail` tell why. The
                        shape that follows is the best that was found, or still the guess */
} hk_design_state;
HK_API const char *hk_design_state_name(hk_design_state state); /* "preview", … */

/* Both shapes at one moment, and how they stand. Set `loaded` and `rest` before the call, to arrays
 * [vertex_count][3] or NULL; all else is filled. */
typedef struct hk_design_view {
    double *loaded, *rest;
    hk_design_state state;
    hk_design_side given; /* the shape that is given; the other follows */
    uint64_t
        version; /* counts edits, undos among them: two views of one version are of one design */
    uint64_t sequence;        /* counts changes of what a snapshot shows */
    hk_reason reason;         /* of the last refinement of this version */
    char detail[160];         /* where and why it failed, and what to change */
    int iterations;           /* of it */
    double relative_residual; /* of the forces that are left, to the load; NAN: not known */
    double load_reached;      /* fraction of the load that the rest shape is for */
    double sag;               /* m, the farthest that the load takes a vertex */
    double least_j;           /* the least volume ratio under load; NAN: not known, as the next */
    double greatest_stretch;  /* the largest principal stretch */
    int handles;              /* that are held */
    int out_of_bounds;        /* tets of the last preview whose stretches were limited */
    double preview_ms;        /* of the last preview, */
    double refine_ms;         /* and of the last refinement that ended by itself */
    uint64_t reserved[16];
} hk_design_view;
HK_API hk_status hk_design_snapshot(hk_design *design, hk_design_view *view);

/* One frame: a few steps of the edited shape towards its handles, and a guess of the shape that
 * follows; where nothing has changed it does nothing. When the edited shape has settled, the
 * refinement begins. */
HK_API hk_status hk_design_preview(hk_design *design);
/* Previews until the edited shape has settled, then waits for the refinement, at most so many
 * seconds in all (negative: as long as it takes). *state (may be NULL) is what it came to. The same
 * edits, each waited for, give the same bits. */
HK_API hk_status hk_design_wait(hk_design *design, double seconds, hk_design_state *state);
/* A copy of the model with the rest shape as it is. */
HK_API hk_status hk_design_model(hk_design *design, hk_model **model);

/* ---- edits. Each takes effect with the next preview; one that fails leaves all as it was. */

/* A point or a region to drag. Several may be held at a time, all of one shape. */
typedef struct hk_handle_def {
    size_t def_size; /* set by hk_default_handle_def() */
    hk_design_side side;
    int count;
    const int32_t *vertices; /* [count] */
    const double *weights;   /* NULL: all vertices move as one, exactly; else [count], 1 to 4 of
                                them, which add up to 1: the point Σ weight × vertex of a tet */
} hk_handle_def;
/* no vertices, of the loaded shape */
HK_API void hk_fill_handle_def(hk_handle_def *def, size_t size);
static inline hk_handle_def hk_default_handle_def(void)
{
    hk_handle_def def;
    hk_fill_handle_def(&def, sizeof def);
    return def;
}
/* `handle` is a number for the calls below. Vertices that are held may be taken along: they are
 * held where they are put. */
HK_API hk_status hk_design_grab(hk_design *design, const hk_handle_def *def, int *handle);
/* A point goes to `target`, a region with its centre. */
HK_API hk_status hk_design_drag(hk_design *design, int handle, const double target[3]);
/* A region goes to where the affine map A p + t takes its vertices from where they were when it was
 * grabbed; transform is [3][4], row-major, A before t. */
HK_API hk_status hk_design_drag_frame(hk_design *design, int handle, const double transform[12]);
/* The shape stays as the last preview has it. */
HK_API hk_status hk_design_release(hk_design *design, int handle);
/* Another shape altogether, [vertex_count][3]. Handles are released. */
HK_API hk_status hk_design_set_shape(hk_design *design, hk_design_side side,
                                     const double *positions);
/* Vertices are held from now on where they are in the given shape, or are so no longer. */
HK_API hk_status hk_design_fix(hk_design *design, int count, const int32_t *vertices);
HK_API hk_status hk_design_unfix(hk_design *design, int count, const int32_t *vertices);
/* The material of a body, or (region is not NULL) of the tets that are selected. */
HK_API hk_status hk_design_set_material(hk_design *design, int body, const hk_selector *region,
                                        const hk_material_def *material);
HK_API hk_status hk_design_set_gravity(hk_design *design, const double gravity[3]);
/* The loads on a body, in place of all that it had. */
HK_API hk_status hk_design_set_loads(hk_design *design, int body, const hk_load_def *loads,
                                     int count);

/* ---- undoing. An edit is one call, but for those of a handle: grabbing, dragging and releasing it
 * are one together, unless something else comes between. */

/* Begins a new edit, with a name; without it edits are called "drag", "fix", … */
HK_API hk_status hk_design_mark(hk_design *design, const char *name);
/* Both shapes are as they were, handles and all; refined ones need no refinement. Fails where there
 * is nothing to undo or redo. */
HK_API hk_status hk_design_undo(hk_design *design);
HK_API hk_status hk_design_redo(hk_design *design);
/* What would be undone or redone; NULL: nothing. Valid until the next edit. */
HK_API const char *hk_design_undo_name(const hk_design *design);
HK_API const char *hk_design_redo_name(const hk_design *design);

#ifdef __cplusplus
}
#endif
#endif
