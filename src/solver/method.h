// A method minimises the problem's function over the free vertices. Each is one file with an ops
// table, and one line in list.h. Its options are named once, in the table; the C API, scene
// files, the command line and its help all read them there.
#ifndef HK_METHOD_H
#define HK_METHOD_H

#include "core/stream.h"
#include "gpu/list.h"
#include "rules/start.h"
#include "solver/list.h"
#include "solver/view.h"

// The values of a method's options, in the order of its table; words as their index.
enum { HK_MAX_OPTIONS = 40 };
typedef struct hk_method hk_method;
typedef struct hk_settings {
    const hk_method *method;
    int iterations;       // of a time step
    int pose_iterations;  // of a pose
    double tolerance;
    double option[HK_MAX_OPTIONS];
} hk_settings;
// An option by its name, as other files than the method's own read it; a word as its index. NAN:
// the method has none of that name.
double hk_setting(const hk_settings *settings, const char *name);
// The word of such an option; NULL: there is none.
const char *hk_setting_word(const hk_settings *settings, const char *name);

typedef struct hk_solve_report {
    hk_reason reason;
    char detail[160];
    int iterations;
    int linear_iterations;  // of the linear solves in them; 0 where these are direct
    double energy;          // J, up to a constant; INFINITY if there is none
    double residual, relative_residual;
    double rounding;  // N, estimated, of the residual's norm; NAN: it is far above
    double phase_s[HK_PHASE_COUNT];
} hk_solve_report;

// Of two solves the report is of the one that ended worse, with the work of both, which `second`
// has already.
void hk_join_reports(const hk_solve_report *first, hk_solve_report *second);

// What is known of a state.
typedef struct hk_evaluation {
    double energy;    // ε, J; relative where a method keeps its state in the precision of elements
    double residual;  // N, norm of the gradient over free vertices
    double scale;     // N, of the forces at work
    double elastic;   // J, that of the elements (checkpoint.h)
    double exact;     // J, relative in double precision; NAN: not evaluated (checkpoint.h)
    hk_excess excess;  // where the residual is near rounding (limit.h); else all of it is beyond
} hk_evaluation;

// A time step for methods that integrate it themselves.
typedef struct hk_time_step {
    double time;  // s, at its beginning
    double step;  // s
    const hk_damping *damping;
    // Puts held vertices (into x) and what moves among the terms where it is at a fraction 0..1 of
    // it.
    void (*place)(void *context, double fraction, double *x);
    void *context;
} hk_time_step;

struct hk_method {
    const char *name;
    const char *summary;
    int iterations;       // default budget
    int pose_iterations;  // that of a pose where it is another, else 0
    double tolerance;     // default
    // Takes a time step as it comes: no first guess is chosen, held vertices go all the way at
    // once, and x is no start but the state before the step.
    bool direct;
    bool from_y;  // and x need not be set but at held vertices
    // Takes forces that are no energy's (hk_terms_visit_forces).
    bool whole_vertices;  // fixes by axis are beyond it
    bool takes_forces;
    // Rigid parts, joints and constraints of vertices (manifold.h).
    bool takes_constraints;
    // Takes quadratic tets, which are there in double precision only.
    bool takes_quadratic;
    // Takes energies that join all vertices of a surface (hk_term_ops.visit_rank_one).
    bool takes_rank_one;
    // Goes no farther along a direction than the terms let it (hk_guard_ops).
    bool guarded;
    // Contact by regions of vertices (hk_region_ops), which are those of barrier laws.
    bool by_regions;
    const hk_option_info *options;
    int option_count;
    hk_status (*create)(hk_problem *problem, const hk_settings *settings, void **solver);
    void (*free)(void *solver);
    // From x (with held vertices in place) to the minimiser; x is changed only to states of lower
    // energy. Phases and iterations are added to the report.
    hk_status (*minimise)(void *solver, double *x, hk_solve_report *report);
    // From x and v to those after a time step (of backward Euler), for methods that do not minimise
    // ε but take smaller steps of their own, else NULL. Such a method has no `minimise`, and no
    // poses.
    hk_status (*integrate)(void *solver, const hk_time_step *step, double *x, double *v,
                           hk_solve_report *report);
    // The linear system of the last step that was integrated; that step, [vertex_count][4]; and
    // where forces that are no energy's were at work in it (NULL: at `from`). NULL: the method has
    // none.
    struct hk_linear_step *(*linear_step)(void *solver, const double **from, const double **delta,
                                          const double **ahead);
    // A guess for how free vertices follow when held ones are displaced by `step` (zero at free
    // vertices on entry). NULL: the method has none.
    hk_status (*follow)(void *solver, const double *x, double *step);
    // The weights of the materials, [material_count] N/m², in its constant matrix
    // (hk_model_weights); fails where a material has none. NULL: it has no such matrix.
    hk_status (*weights)(const hk_settings *settings, const hk_model *model, double *weight);
    // The constant matrix that it goes on with where bodies are torn (untorn.h). NULL, or none: it
    // makes what it needs anew.
    struct hk_constant_matrix *(*matrix)(void *solver);
    // How the method looks at the problem.
    hk_view *(*view)(void *solver);
    // What goes on in double precision where single was not enough (precise.h); NULL: the method
    // itself, if it has an option `precision`. A method with another works in single in time steps.
    const hk_method *finisher;
    // Its version for the GPU (gpu/gpu.h), or NULL.
    const struct hk_gpu_method *gpu;
    // Whether that can do it with these settings: fails with a message if not. NULL: it can.
    hk_status (*suits_gpu)(const hk_settings *settings, const hk_model *model);
    // What it has learnt in earlier solves and goes on from in the next one, beside its view: both
    // ways (core/stream.h). NULL: every solve is like the first.
    void (*remember)(void *solver, hk_stream *stream);
    // One line about what was set up.
    void (*describe)(const void *solver, char *text, size_t size);
};

// Where a time step starts from (Descent section 4.4). These options come first in the tables of
// the methods that have them; the next one is the precision of the elements.
enum { HK_OPTION_START, HK_OPTION_ETA, HK_OPTION_AFTER_START };
enum { HK_OPTION_PRECISION = HK_OPTION_AFTER_START, HK_OPTION_AFTER_PRECISION };
extern const char *const hk_precisions[];  // as hk_precision numbers them
extern const char *const hk_starts[];      // as rules/start.h numbers them
#define HK_START_OPTIONS(usual)                                                                    \
    [HK_OPTION_START] = {.name = "start",                                                          \
                         .help =                                                                   \
                             "first guess of a time step, as if this stayed constant: "            \
                             "position, velocity, acceleration; or the best step along the "       \
                             "last two of these (optimised); velocity and as much of gravity and " \
                             "loads as the last step had (adaptive); auto: velocity, unless "      \
                             "position has less energy",                                           \
                         .words = hk_starts,                                                       \
                         .fallback = (usual)},                                                     \
    [HK_OPTION_ETA] = {.name = "eta",                                                              \
                       .help = "part of the acceleration that the start \"acceleration\" keeps",   \
                       .maximum = 1,                                                               \
                       .fallback = 0.9}

#define HK_PRECISION_OPTION(usual)                                                                \
    [HK_OPTION_PRECISION] = {.name = "precision",                                                 \
                             .help = "of elements and forces: single is faster, and where it is " \
                                     "not enough double goes on",                                 \
                             .words = hk_precisions,                                              \
                             .fallback = (usual)}
// The view that it asks for.
hk_status hk_view_for(hk_problem *problem, const hk_settings *settings, hk_view **view);

hk_status hk_method_find(const char *name, const hk_method **method);
// Checks names, ranges and words of a definition against the method's table.
hk_status hk_method_settings(const hk_method *method, const hk_solver_def *def,
                             hk_settings *settings);

#define HK_GPU_DECLARE(name) extern const struct hk_gpu_method hk_gpu_##name;
HK_GPU_METHODS(HK_GPU_DECLARE)
#undef HK_GPU_DECLARE
#define HK_METHOD_DECLARE(name) extern const hk_method hk_##name;
HK_METHODS(HK_METHOD_DECLARE)
#undef HK_METHOD_DECLARE

#endif
