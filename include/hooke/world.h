/* Worlds: models in motion, and live edits of them. A part of hooke.h, which includes it. */
#ifndef HOOKE_WORLD_H
#define HOOKE_WORLD_H

#include <hooke/model.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
