// The time step of a world.
#include "world/world.h"

// The two ends of a step, for fractions of the way between.
typedef struct held_path {
    const hk_world *world;
    double from, to;  // s
} held_path;

static void place_in_time(void *context, double fraction, double *x)
{
    const held_path *path = context;
    const hk_model *m = path->world->model;
    double time = path->from + fraction * (path->to - path->from);
    hk_terms_place(path->world->problem->terms, &(hk_when){.time = time});
    for (int k = 0; k < m->vertex_count; k++)
        if (path->world->problem->held[k]) {
            int v = m->order[k];
            double end[3];
            hk_model_held_position(m, v, time, end);
            // A motion that takes no time at all is taken in parts all the same.
            bool jump = m->hold[v] >= 0 && m->motions[m->hold[v]].over == 0;
            for (int i = 0; i < 3; i++) {
                double start = path->world->x[4 * (int64_t)k + i];
                x[4 * (int64_t)k + i] = jump ? start + fraction * (end[i] - start) : end[i];
            }
        }
}

// From the state to w->next, where the method finds a start and small steps helpful …
static hk_status go_in_parts(hk_world *w, held_path *path, hk_solve_report *solved)
{
    hk_view *view = w->method->view(w->solver);
    hk_moment moment = {w->step, w->x, w->v, w->v_before};
    HK_TRY(hk_view_follow(view));
    hk_choose_start(view, &w->settings, &moment, w->guess, w->next);
    hk_continuation c = {.problem = w->problem,
                         .method = w->method,
                         .solver = w->solver,
                         .place = place_in_time,
                         .context = path,
                         .good = w->good,
                         .step = w->guess};
    int parts;
    return hk_continue(&c, w->next, solved, &parts);
}

// … where it does not …
static hk_status go_directly(hk_world *w, held_path *path, hk_solve_report *solved)
{
    place_in_time(path, 1, w->next);
    return w->method->minimise(w->solver, w->next, solved);
}

// … and where it has steps of its own: with the velocities in w->guess.
static hk_status integrate(hk_world *w, held_path *path, hk_solve_report *solved)
{
    size_t bytes = 4 * sizeof(double) * (size_t)w->problem->vertex_count;
    hk_time_step motion = {w->step, &w->damping, place_in_time, path};
    memcpy(w->next, w->x, bytes);
    memcpy(w->guess, w->v, bytes);
    return w->method->integrate(w->solver, &motion, w->next, w->guess, solved);
}

static hk_status take_step(hk_world *w, hk_solve_report *solved)
{
    held_path path = {w, w->time, w->time + w->step};
    if (w->method->integrate) return integrate(w, &path, solved);
    return w->method->direct ? go_directly(w, &path, solved) : go_in_parts(w, &path, solved);
}

enum { RUN = 4096 };  // numbers that a thread takes at a time

// y, and w->next where the state is, if the method wants that; returns the weight.
static double begin_step(hk_world *w)
{
    double *y = w->problem->y, weight = 0;
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    bool copy = w->method->direct && !w->method->from_y;
#pragma omp parallel for schedule(static)                                         \
    num_threads(hk_world_threads_at_work(w)) if (hk_world_threads_at_work(w) > 1) \
        lastprivate(weight)
    for (int64_t k = 0; k < size; k += RUN) {
        int64_t count = size - k < RUN ? size - k : RUN;
        weight = w->integrator->predict(w->step, count, w->x + k, w->v + k, y + k);
        if (copy) memcpy(w->next + k, w->x + k, sizeof(double) * (size_t)count);
    }
    return weight;
}

static void find_velocities(hk_world *w)
{
    int64_t size = 4 * (int64_t)w->model->vertex_count;
#pragma omp parallel for schedule(static) \
    num_threads(hk_world_threads_at_work(w)) if (hk_world_threads_at_work(w) > 1)
    for (int64_t k = 0; k < size; k += RUN)
        w->integrator->velocity(w->step, size - k < RUN ? size - k : RUN, w->x + k, w->next + k,
                                w->v + k);
}

// w->next becomes the state.
static void end_step(hk_world *w)
{
    hk_swap_vectors(&w->v, &w->v_before);
    if (w->method->integrate)
        hk_swap_vectors(&w->v, &w->guess);
    else
        find_velocities(w);
    hk_swap_vectors(&w->x, &w->next);
    hk_damp_velocities(w->model, &w->damping, w->step, w->x, w->v);
    w->time += w->step;
    hk_world_publish(w);
}

hk_status hk_world_step(hk_world *w, hk_step_report *report)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_step: world is needed");
    double start = hk_now();
    hk_solve_report solved = {0};
    if (w->gpu) {
        HK_TRY(hk_world_step_on_gpu(w, report != NULL, &solved));
        return hk_world_fill_report(w, &solved, HK_OF_STEP, start, report);
    }
    hk_problem *p = w->problem;
    hk_stage_begin stage = {.weight = begin_step(w),
                            .terms = {.h = w->step, .from = w->x, .state = w->x}};
    p->terms->damping = w->damping;
    HK_TRY(hk_problem_begin_step(p, &stage));
    p->shift = 0;
    hk_problem_set_load(p, 1);
    hk_terms_place(p->terms, &(hk_when){.time = w->time + w->step});
    HK_TRY(take_step(w, &solved));
    // Stopped on the way, held vertices are not where they should be: that is no step.
    if (hk_world_usable(w, &solved) && solved.reason != HK_STOPPED)
        end_step(w);
    else
        hk_terms_place(p->terms, &(hk_when){.time = w->time});
    return hk_world_fill_report(w, &solved, HK_OF_STEP, start, report);
}
