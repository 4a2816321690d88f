// A world: a model in motion, with its solver.
#ifndef HK_WORLD_H
#define HK_WORLD_H

#include "contact/after.h"
#include "gpu/gpu.h"
#include "integrator/damping.h"
#include "integrator/integrator.h"
#include "model/model.h"
#include "solver/align.h"
#include "solver/continuation.h"
#include "solver/method.h"
#include "solver/problem.h"
#include "world/tear.h"

// What a world keeps that conserves.
typedef struct hk_conserved {
    bool known;
    int count;  // of numbers: 1, the energy, or 7
    double energy, linear[3], angular[3];
} hk_conserved;

// What contact has cost.
typedef struct hk_contact_work {
    int64_t clamped, detections;
    double detect_s, pairs_s, guard_s, proof_s;
} hk_contact_work;

typedef struct hk_world_contacts {
    hk_contact_work before, work;  // until the step or pose that was last, and of it
    hk_contact_measure measure;
    bool measured;  // it is that of the state
    bool certified, recovering;
    hk_after *after;  // what puts things right after a step; or NULL
    void *recoverer;  // the solver of Newton's method for that
    int recovery_steps;
    double recovered_time;  // s; NAN
} hk_world_contacts;

struct hk_world {
    hk_model *model;
    int threads;
    double step;  // s
    const hk_integrator *integrator;
    double beta, gamma;  // of Newmark
    bool conserve;       // energy and momenta are put right after every step
    hk_damping damping;
    double laplacian_damping;  // s
    hk_live live;              // what users changed since it was made
    const hk_method *method;
    hk_settings settings;
    hk_backend backend;   // as it was asked for
    hk_gpu *gpu;          // takes the time steps and has the state; NULL: the CPU does
    hk_problem *problem;  // with a GPU NULL until something needs it, and so is the solver
    void *solver;
    hk_twin twin;  // of that, in double precision
    hk_monitor_fn *monitor;
    void *monitor_context;
    bool watch_energy;
    double *good, *guess;  // [vertex_count][4] workspace of the continuation
    double *ahead;         // [vertex_count][4] the same, where something may be in the way; or NULL
    bool own_gravity, own_loads;  // were set, and are no longer functions of the time
    bool unheld;                  // some component has fewer than three held vertices
    // State, in the model's Morton order [vertex_count][4]; with a GPU a copy, which may be older …
    double time;
    double *x, *v, *next;
    double *v_before;  // velocities before the last step
    // What integrators need beside that, else NULL.
    double *x_before;      // positions before the last step
    double *acceleration;  // as far as it is known
    bool acceleration_known;
    double step_before;         // s, of the last step; 0: there is none that counts
    double *x_stage, *v_stage;  // at the end of the first stage
    double *from, *y;           // of a stage
    hk_conserved conserved;
    hk_world_contacts contact;
    // … and in the users' order [vertex_count][3].
    double *positions, *velocities;
    hk_tears tears;
    bool old_positions, old_velocities;  // the GPU has newer ones
    bool told_pose;                      // that poses are found on the CPU
    bool no_energy;                      // in reports of time steps
    bool at_work;                        // so that callbacks of users may run
    double setup_ms;
    char description[512];
};

// Fails where a callback calls what must not be called while the world is at work. `call` is the
// function's name; without a world it has nothing to say.
hk_status hk_world_check_idle(const hk_world *w, const char *call);
// M a = f − ∇E − c v − β K v at the state (step.c).
hk_status hk_world_find_accelerations(hk_world *w);
// Makes what takes the steps of a method, in place of what there is; on failure that stays.
hk_status hk_world_make_solver(hk_world *w, const hk_method *method, const hk_settings *settings);
// The line of hk_world_describe, again.
void hk_world_update_description(hk_world *w);
// Fails where a world that conserves energy cannot.
hk_status hk_world_check_conserving(const hk_world *w);
// Vertex after vertex, in the users' order, as a vector of the world's.
hk_status hk_world_take_vectors(const hk_world *w, const double *given, const char *what,
                                double *to);
// The problem of a world, with attachments as they are now.
hk_status hk_world_need_problem(hk_world *w);

// The state was changed from outside: what came before it does not count any more.
void hk_world_forget_past(hk_world *w);
static inline size_t hk_world_bytes(const hk_world *w)  // of a vector
{
    return 4 * sizeof(double) * (size_t)w->model->vertex_count;
}
// conserve.c: before a step of a world that conserves, and at its end.
void hk_world_begin_conserving(hk_world *w);
hk_status hk_world_conserve(hk_world *w);

// From the order of the model to that of the users.
void hk_world_publish(hk_world *w);
// Small models are a matter for one thread.
int hk_world_threads_at_work(const hk_world *w);
static inline void hk_swap_vectors(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

// Where bodies are to begin free of sag, the world goes over to a model with the rest shape found,
// and `loaded`, [vertex_count][3] and the caller's to free, is where it begins (sag_free.c).
hk_status hk_world_find_rest(hk_world *w, double **loaded);
// A copy of a model in which only some bodies are free, those without the others' motions.
hk_status hk_world_hold_still(const hk_model *model, bool (*takes_part)(const hk_body *body),
                              hk_model **still);
// Bodies that are to begin in equilibrium, or as they are in a file, are put there (start.c).
hk_status hk_world_take_start(hk_world *w);

// ---------------------------------------------------------------- reports (report.c)

hk_status hk_world_find_energy(hk_world *w, hk_energy *energy);
enum { HK_OF_STEP = -1 };  // in place of the load steps of a pose
hk_status hk_world_fill_report(hk_world *w, const hk_solve_report *solved, int load_steps,
                               double start, hk_step_report *report);
// A solve that did not end in finite numbers keeps the state.
bool hk_world_usable(const hk_world *w, const hk_solve_report *report);

// Solves again from w->next as long as terms have learnt something there (hk_terms_settle).
hk_status hk_world_settle(hk_world *w, hk_solve_report *solved);
// Loads and gravity as of `time`, where they are functions of it; NAN: in full, for poses.
hk_status hk_world_take_time(hk_world *w, double time);
// Fails where a function of the time is not finite then, of obstacles as well.
hk_status hk_world_check_time(const hk_world *w, double time);

// ---- springs between points (springs.c)
hk_status hk_world_make_springs(hk_world *w);
// At the end of a step: those whose tension is too great.
void hk_world_break_springs(hk_world *w);
void hk_world_remember_springs(hk_world *w, struct hk_stream *stream);
void hk_world_copy_springs(hk_world *w, const hk_world *from);
// Coordinates that stay (fixes by axis) to where they rest, in x [vertex_count][4].
void hk_world_place_axes(const hk_world *w, double *x);

// Of elastic energy, gravity, loads and contact, [vertex_count][3].
hk_status hk_world_find_gradient(hk_world *w, double *gradient);

// ---------------------------------------------------------------- results (results.c)

// As hk_world_reactions, of a world that is idle.
hk_status hk_world_find_reactions(hk_world *w, hk_reaction *reactions, double *vertices);
typedef enum hk_tet_result {
    HK_TET_VON_MISES,
    HK_TET_J,
    HK_TET_STRESS,
    HK_TET_PRINCIPAL,
    HK_TET_STRAIN
} hk_tet_result;
// values is [tet_count][components]
hk_status hk_world_tet_result(hk_world *w, hk_tet_result what, int components, double *values);

// ---------------------------------------------------------------- contact (contact.c)

// Around a step or a pose.
void hk_world_begin_contact(hk_world *w);
void hk_world_end_contact(hk_world *w);
// Forces are as they are again, whatever they counted as in a stage (hk_stage).
void hk_world_count_contact_once(hk_world *w);
// Takes forces of contact at w->next, which counted `scale` times, from the accelerations.
hk_status hk_world_leave_out_contact(hk_world *w, double scale);
void hk_world_release_contact(hk_world *w);  // the problem is another
// Fails where bodies overlap at x, with obstacles where they are, unless they are to be pushed
// apart.
hk_status hk_world_check_state(hk_world *w, const double *x);
hk_status hk_world_check_start(hk_world *w);  // of a new world
// Where that is asked for, the proof that nothing intersects at x; else the reason is
// HK_INTERSECTION.
hk_status hk_world_certify(hk_world *w, const double *x, hk_solve_report *solved);
// A step of a start that is to be pushed apart: Newton's method takes it, whatever the world has,
// and what is tangled has no velocity after it. `held` keeps what the world has.
typedef struct hk_borrowed {
    const hk_method *method;
    hk_settings settings;
    void *solver;
    hk_twin twin;
    const hk_integrator *integrator;
} hk_borrowed;
hk_status hk_world_begin_recovery(hk_world *w, hk_borrowed *held);
hk_status hk_world_end_recovery(hk_world *w, hk_borrowed *held, hk_solve_report *solved);
// As many of them as it takes, at one time, before a pose.
hk_status hk_world_recover(hk_world *w, hk_solve_report *solved);
// One time step (step.c).
hk_status hk_world_take_step(hk_world *w, hk_solve_report *solved);

// What is to be put right after a step that ended at w->next is.
hk_status hk_world_correct(hk_world *w, hk_solve_report *solved);
// Who was in whose way, in the report of a step that came to nothing for it.
void hk_world_name_blocking(const hk_world *w, hk_solve_report *solved);
// Forces at x are what reports tell of this state.
hk_status hk_world_measure(hk_world *w, const double *x);
hk_status hk_world_contact_forces(hk_world *w, double *forces);  // [vertex_count][3] N

// ---------------------------------------------------------------- worlds on a GPU (gpu.c)

// What is to take the steps of a method from the world's state on: NULL is the CPU. Fails where the
// world must be on a GPU and cannot.
hk_status hk_world_find_gpu(hk_world *w, const hk_method *method, const hk_settings *settings,
                            hk_gpu **gpu);
// With `wait` it returns at the end of the step, and `solved` tells of it.
hk_status hk_world_step_on_gpu(hk_world *w, bool wait, hk_solve_report *solved);
// Bring the copy of the state up to date; without a GPU it always is.
hk_status hk_world_fetch_positions(const hk_world *w);
hk_status hk_world_fetch_velocities(const hk_world *w);
hk_status hk_world_fetch(const hk_world *w);
// To the GPU, if there is one; vectors and step_before as hk_gpu_write_state has them.
hk_status hk_world_write_state(hk_world *w, const double *const known[HK_KNOWN_COUNT],
                               double step_before);

#endif
