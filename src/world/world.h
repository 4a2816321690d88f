// A world: a model in motion, with its solver.
#ifndef HK_WORLD_H
#define HK_WORLD_H

#include "gpu/gpu.h"
#include "integrator/damping.h"
#include "integrator/integrator.h"
#include "model/model.h"
#include "solver/continuation.h"
#include "solver/method.h"
#include "solver/problem.h"
#include "solver/start.h"

struct hk_world {
    hk_model *model;
    int threads;
    double step;  // s
    const hk_integrator *integrator;
    hk_damping damping;
    const hk_method *method;
    hk_settings settings;
    hk_backend backend;   // as it was asked for
    hk_gpu *gpu;          // takes the time steps and has the state; NULL: the CPU does
    hk_problem *problem;  // with a GPU NULL until something needs it, and so is the solver
    void *solver;
    hk_monitor_fn *monitor;
    void *monitor_context;
    bool watch_energy;
    double *good, *guess;  // [vertex_count][4] workspace of the continuation
    bool unheld;           // some component has fewer than three held vertices
    // State, in the model's Morton order [vertex_count][4]; with a GPU a copy, which may be older …
    double time;
    double *x, *v, *next;
    double *v_before;  // velocities before the last step
    // … and in the users' order [vertex_count][3].
    double *positions, *velocities;
    bool old_positions, old_velocities;  // the GPU has newer ones
    bool told_pose;                      // that poses are found on the CPU
    bool no_energy;                      // in reports of time steps
    double setup_ms;
    char description[512];
};

// The problem of a world, with attachments as they are now.
hk_status hk_world_need_problem(hk_world *w);

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

// ---------------------------------------------------------------- reports (report.c)

hk_status hk_world_find_energy(hk_world *w, hk_energy *energy);
enum { HK_OF_STEP = -1 };  // in place of the load steps of a pose
hk_status hk_world_fill_report(hk_world *w, const hk_solve_report *solved, int load_steps,
                               double start, hk_step_report *report);
// A solve that did not end in finite numbers keeps the state.
bool hk_world_usable(const hk_world *w, const hk_solve_report *report);

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
// To the GPU, if there is one.
hk_status hk_world_write_state(hk_world *w, const double *x, const double *v,
                               const double *v_before);

#endif
