// The time step of a world: the stages of its integrator, one after the other.
#include <math.h>
#include <stdio.h>

#include "integrator/damping.h"
#include "model/contact.h"
#include "model/partition.h"
#include "solver/manifold.h"
#include "world/world.h"

enum { RUN = 4096 };  // numbers that a thread takes at a time

// ---------------------------------------------------------------- held vertices

void hk_world_place_axes(const hk_world *w, double *x)
{
    const hk_problem *p = w->problem;
    for (int64_t k = 0; p->axes && k < 4 * (int64_t)p->vertex_count; k++)
        if (p->axes[k / 4] >> k % 4 & 1) x[k] = p->rest[k];
}

// The two ends of a stage, for fractions of the way between.
typedef struct held_path {
    const hk_world *world;
    const double *x;  // [vertex_count][4] where it begins
    double from, to;  // s
} held_path;

static void place_in_time(void *context, double fraction, double *x)
{
    const held_path *path = context;
    const hk_model *m = path->world->model;
    double time = path->from + fraction * (path->to - path->from);
    hk_terms_place(path->world->problem->terms, &(hk_when){.time = time});
    if (path->world->problem->manifold) hk_manifold_aim(path->world->problem->manifold, fraction);
    for (int k = 0; k < m->vertex_count; k++)
        if (path->world->problem->held[k]) {
            int v = m->order[k];
            double end[3];
            // A motion that takes no time at all is taken in parts all the same.
            bool jump = hk_live_held_position(&path->world->live, m, v, time, end);
            for (int i = 0; i < 3; i++) {
                double start = path->x[4 * (int64_t)k + i];
                x[4 * (int64_t)k + i] = jump ? start + fraction * (end[i] - start) : end[i];
            }
        }
    hk_world_place_axes(path->world, x);
}

// ---------------------------------------------------------------- one stage

// As well as rounding lets it be.
static bool is_solved(const hk_solve_report *solved)
{
    return solved->reason == HK_CONVERGED || solved->reason == HK_PRECISION_LIMIT;
}

hk_status hk_world_settle(hk_world *w, hk_solve_report *solved)
{
    enum { MOST_SOLVES = 20 };
    hk_solve s = {w->problem, w->method, &w->settings, w->solver, &w->twin, w->guess};
    for (int n = 0; n < MOST_SOLVES && is_solved(solved); n++) {
        if (!hk_terms_settle(w->problem->terms, w->next)) return HK_OK;
        HK_TRY(hk_solve_precisely(&s, w->next, solved));
    }
    return HK_OK;
}

// With what terms have learnt at the end (friction), as often as they want; once where the solve
// was stopped in the step in which things meet. Without, they would slide through that step as on
// ice, and friction at its limit never takes such a speed away.
static hk_status solve_again(hk_world *w, hk_solve_report *solved)
{
    HK_TRY(hk_world_settle(w, solved));
    hk_solve s = {w->problem, w->method, &w->settings, w->solver, &w->twin, w->guess};
    bool meet = solved->reason == HK_ITERATION_LIMIT && hk_terms_meet(w->problem->terms, w->next);
    for (int n = 1; is_solved(solved) || (n == 1 && meet); n++) {
        if (!hk_terms_again(w->problem->terms, w->next, n)) return HK_OK;
        HK_TRY(hk_solve_precisely(&s, w->next, solved));
    }
    return HK_OK;
}

// From a state to w->next, where the method finds a start and small steps helpful …
static hk_status go_in_parts(hk_world *w, held_path *path, const hk_moment *moment,
                             hk_solve_report *solved)
{
    hk_view *view = w->method->view(w->solver);
    HK_TRY(hk_view_follow(view));
    hk_choose_start(view, &w->settings, moment, w->guess, w->next);
    hk_continuation c = {.problem = w->problem,
                         .method = w->method,
                         .solver = w->solver,
                         .place = place_in_time,
                         .context = path,
                         .good = w->good,
                         .step = w->guess,
                         .from = w->ahead ? path->x : NULL,
                         .ahead = w->ahead,
                         .settings = &w->settings,
                         .twin = &w->twin};
    int parts;
    HK_TRY(hk_continue(&c, w->next, solved, &parts));
    HK_TRY(solve_again(w, solved));
    hk_align_end(w->problem, w->settings.tolerance, w->guess, w->next, solved);
    return HK_OK;
}

// … where it does not …
static hk_status go_directly(hk_world *w, held_path *path, hk_solve_report *solved)
{
    place_in_time(path, 1, w->next);
    hk_solve s = {w->problem, w->method, &w->settings, w->solver, &w->twin, w->guess};
    return hk_solve_precisely(&s, w->next, solved);
}

static bool obstacles_move(const hk_world *w)
{
    const hk_model_contact *c = w->model->contact;
    for (int k = 0; c && k < c->obstacle_count; k++)
        if (hk_obstacle_moves(&c->obstacles[k])) return true;
    return false;
}

static bool held_vertices_move(const hk_world *w, const held_path *path)
{
    bool any = false;
    for (int64_t k = 0; k < w->model->vertex_count && !any; k++)
        any = w->problem->held[k] &&
              memcmp(w->next + 4 * k, path->x + 4 * k, 3 * sizeof(double)) != 0;
    return hk_partition_any(w->model->partition, any);
}

// The same from a state that nothing has passed through, in parts where things move.
static hk_status go_directly_guarded(hk_world *w, held_path *path, hk_solve_report *solved)
{
    memcpy(w->next, path->x, hk_world_bytes(w));
    place_in_time(path, 1, w->next);
    if (!obstacles_move(w) && !held_vertices_move(w, path)) {
        hk_solve s = {w->problem, w->method, &w->settings, w->solver, &w->twin, w->guess};
        HK_TRY(hk_solve_precisely(&s, w->next, solved));
    } else {
        place_in_time(path, 0, w->next);
        memcpy(w->next, path->x, hk_world_bytes(w));
        hk_continuation c = {.problem = w->problem,
                             .method = w->method,
                             .solver = w->solver,
                             .place = place_in_time,
                             .context = path,
                             .good = w->good,
                             .step = w->guess,
                             .settings = &w->settings,
                             .twin = &w->twin};
        int parts;
        HK_TRY(hk_continue(&c, w->next, solved, &parts));
    }
    return solve_again(w, solved);
}

// … and where it has steps of its own: with the velocities in w->guess.
static hk_status integrate(hk_world *w, held_path *path, hk_solve_report *solved)
{
    size_t bytes = 4 * sizeof(double) * (size_t)w->problem->vertex_count;
    hk_time_step motion = {w->time, w->step, &w->damping, place_in_time, path};
    memcpy(w->next, w->x, bytes);
    memcpy(w->guess, w->v, bytes);
    return w->method->integrate(w->solver, &motion, w->next, w->guess, solved);
}

static void list_known(const hk_world *w, int64_t at, const double *known[HK_KNOWN_COUNT])
{
    const double *const all[HK_KNOWN_COUNT] = {
        [HK_KNOWN_X] = w->x,
        [HK_KNOWN_V] = w->v,
        [HK_KNOWN_A] = w->acceleration,
        [HK_KNOWN_X_BEFORE] = w->x_before,
        [HK_KNOWN_V_BEFORE] = w->v_before,
        [HK_KNOWN_X_STAGE] = w->x_stage,
        [HK_KNOWN_V_STAGE] = w->v_stage,
    };
    for (int k = 0; k < HK_KNOWN_COUNT; k++) known[k] = all[k] ? all[k] + at : NULL;
}

// y, `from` unless that is a vector that there is, and w->next where the state is, if the method
// wants that.
static void combine(hk_world *w, const hk_stage *stage)
{
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    int threads = hk_world_threads_at_work(w);
    bool copy = w->method->direct && !w->method->from_y, plain = hk_stage_plain(stage->from) >= 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < size; k += RUN) {
        int64_t count = size - k < RUN ? size - k : RUN;
        const double *known[HK_KNOWN_COUNT];
        list_known(w, k, known);
        hk_stage_combine(stage->y, known, count, w->problem->y + k);
        if (!plain) hk_stage_combine(stage->from, known, count, w->from + k);
        if (w->y) memcpy(w->y + k, w->problem->y + k, sizeof(double) * (size_t)count);
        if (copy) memcpy(w->next + k, w->x + k, sizeof(double) * (size_t)count);
    }
}

// Where the velocity at the end of a stage is measured from.
static const double *from_of(const hk_world *w, const hk_stage *stage)
{
    const double *known[HK_KNOWN_COUNT];
    int plain = hk_stage_plain(stage->from);
    list_known(w, 0, known);
    return plain >= 0 ? known[plain] : w->from;
}

static hk_status take_stage(hk_world *w, int number, const hk_stage *stage, double begin,
                            hk_solve_report *solved)
{
    hk_problem *p = w->problem;
    bool first = number == 0;
    double h = (stage->until - begin) * w->step;
    combine(w, stage);
    hk_stage_begin terms = {.weight = stage->weight,
                            .terms = {.h = stage->h,
                                      .from = from_of(w, stage),
                                      .state = first ? w->x : w->x_stage,
                                      .velocity = first ? w->v : w->v_stage,
                                      .contact = stage->contact,
                                      .time = w->time + stage->until * w->step}};
    p->terms->damping = w->damping;
    HK_TRY(hk_world_check_time(w, w->time + stage->until * w->step));
    HK_TRY(hk_world_take_time(w, w->time + stage->until * w->step));
    HK_TRY(hk_problem_begin_step(p, &terms));
    p->shift = 0;
    hk_problem_set_load(p, 1);
    held_path path = {w, terms.terms.state, w->time + begin * w->step,
                      w->time + stage->until * w->step};
    // Where something is in the way, things stay where they are until bodies have gone ahead.
    bool guarded = hk_terms_guarded(p->terms);
    hk_terms_place(p->terms, &(hk_when){.time = guarded ? path.from : path.to});
    if (p->manifold) {
        hk_manifold_begin_volumes(p->manifold, path.x, path.to);
        hk_manifold_aim(p->manifold, guarded ? 0 : 1);
    }
    if (w->method->integrate) return integrate(w, &path, solved);
    if (w->method->direct && guarded) return go_directly_guarded(w, &path, solved);
    if (w->method->direct) return go_directly(w, &path, solved);
    hk_moment moment = {h, first ? w->x : w->x_stage, first ? w->v : w->v_stage,
                        first ? w->v_before : w->v};
    return go_in_parts(w, &path, &moment, solved);
}

// v = (x − from)/h
static void find_velocities(const hk_world *w, const hk_stage *stage, const double *x, double *v)
{
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    int threads = hk_world_threads_at_work(w);
    const double *from = from_of(w, stage);
    double rate = 1 / stage->h;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < size; k++) v[k] = (x[k] - from[k]) * rate;
}

// ---------------------------------------------------------------- accelerations

static void add_damping_force(void *context, const hk_damper *d)
{
    const hk_world *w = context;
    for (int i = 0; i < 3; i++) {
        int64_t k = 4 * (int64_t)d->vertex + i;
        w->next[k] += d->coefficient * (d->velocity[i] - w->v[k]);
    }
}

// M a = f − ∇E − c v − β K v at the state, without contact (newmark.c). Damping is as if a step had
// ended here.
hk_status hk_world_find_accelerations(hk_world *w)
{
    hk_problem *p = w->problem;
    int64_t size = 4 * (int64_t)p->vertex_count;
    for (int64_t k = 0; k < size; k++) w->from[k] = w->x[k] - w->step * w->v[k];
    hk_stage_begin here = {.weight = 1 / (w->step * w->step),
                           .terms = {.h = w->step,
                                     .from = w->from,
                                     .state = w->x,
                                     .velocity = w->v,
                                     .contact = 1,
                                     .time = w->time}};
    p->terms->damping = w->damping;
    HK_TRY(hk_world_take_time(w, w->time));
    HK_TRY(hk_problem_begin_step(p, &here));
    hk_problem_set_load(p, 1);
    hk_terms_place(p->terms, &(hk_when){.time = w->time});
    hk_terms_gradient(p->terms, w->x, HK_ALL_TERMS, w->guess, NULL);
    hk_partition_share(p->partition, w->guess);
    memset(w->next, 0, sizeof(double) * (size_t)size);
    hk_terms_add_moving_gradient(p->terms, w->x, w->next);
    if (w->model->contact) hk_partition_share(p->partition, w->next);
    hk_terms_visit_dampers(p->terms, w->time, w->step, add_damping_force, w);
    for (int64_t k = 0; k < size; k++) {
        double drag = hk_damping_drag(&w->damping, p->mass[k / 4]);
        double force = p->force[k] - (w->guess[k] - w->next[k]) - drag * w->v[k];
        bool moves = k % 4 < 3 && !p->held[k / 4] && p->mass[k / 4] > 0;
        w->acceleration[k] = moves ? force / p->mass[k / 4] : 0;
    }
    for (int64_t k = 0; k < size; k++)
        if (!isfinite(w->acceleration[k])) w->acceleration[k] = 0;  // not defined here
    hk_problem_mask(p, w->acceleration);
    w->acceleration_known = true;
    return HK_OK;
}

// a = w (x − y), which is M⁻¹ times the forces at the end of the stage, but for those of contact.
static hk_status keep_accelerations(hk_world *w, const hk_stage *stage)
{
    const hk_problem *p = w->problem;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        w->acceleration[k] = p->held[k / 4] ? 0 : stage->weight * (w->next[k] - w->y[k]);
    return hk_world_leave_out_contact(w, stage->contact);
}

// ---------------------------------------------------------------- the step

// Positions at the end of the step, from those at the end of the last stage in w->next; held
// vertices are where they are then.
static void extrapolate_positions(const hk_world *w, double far, double *to)
{
    const hk_problem *p = w->problem;
    const hk_model *m = w->model;
    for (int k = 0; k < p->vertex_count; k++) {
        int64_t at = 4 * (int64_t)k;
        double held[3];
        if (p->held[k]) hk_live_held_position(&w->live, m, m->order[k], w->time + w->step, held);
        for (int i = 0; i < 3; i++)
            to[at + i] = p->held[k] ? held[i] : far * w->next[at + i] + (1 - far) * w->x[at + i];
        to[at + 3] = 0;
    }
}

// Whether the integrator ends beyond its last stage where something may be in the way.
static bool goes_beyond(const hk_world *w)
{
    return w->integrator->extrapolate != 1 && hk_terms_guarded(w->problem->terms);
}

// Whether nothing is in the way from the end of the last stage, in w->next, straight on to the end
// of the step.
static bool is_free_beyond(hk_world *w, const hk_stage *stage)
{
    enum { PARTS = 16 };
    hk_terms *terms = w->problem->terms;
    double rest = (1 - stage->until) * w->step, middle = w->time + stage->until * w->step;
    bool is_free = true;
    extrapolate_positions(w, w->integrator->extrapolate, w->good);
    hk_terms_keep(terms, w->next);
    for (int k = 1; k <= PARTS && is_free; k++) {
        double part = (double)k / PARTS;
        for (int64_t i = 0; i < 4 * (int64_t)w->model->vertex_count; i++)
            w->guess[i] = k == PARTS ? w->good[i] : w->next[i] + part * (w->good[i] - w->next[i]);
        hk_terms_place(terms, &(hk_when){.time = middle + part * rest});
        is_free = hk_terms_passes(terms, w->guess);
        if (is_free) hk_terms_keep(terms, w->guess);
    }
    if (!is_free) hk_terms_place(terms, &(hk_when){.time = middle});
    return is_free;
}

// Positions and velocities at the end of the step.
static void extrapolate(hk_world *w, double far)
{
    const hk_problem *p = w->problem;
    extrapolate_positions(w, far, w->next);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        w->v[k] = p->held[k / 4] ? (w->next[k] - w->x[k]) / w->step
                                 : far * w->v[k] + (1 - far) * w->v_before[k];
}

// (x − from)/h is the velocity along a chord. Of it stays what leads along the manifold, nearest by
// mass: neither momentum nor angular momentum change.
static void keep_velocities(hk_world *w)
{
    hk_manifold_stand(w->problem->manifold, w->x);
    hk_manifold_tangent_by_mass(w->problem->manifold, w->v);
}

// w->next, the end of the last stage, becomes the state, `far` times as far.
static hk_status end_step(hk_world *w, const hk_stage *stage, double far)
{
    hk_problem_find_pressures(w->problem, w->next, w->good);
    hk_swap_vectors(&w->v, &w->v_before);
    if (w->method->integrate)
        hk_swap_vectors(&w->v, &w->guess);
    else
        find_velocities(w, stage, w->next, w->v);
    if (w->acceleration) HK_TRY(keep_accelerations(w, stage));
    if (w->integrator != &hk_backward_euler) extrapolate(w, far);
    hk_swap_vectors(&w->x, &w->next);
    if (w->x_before) memcpy(w->x_before, w->next, hk_world_bytes(w));
    w->step_before = w->step;
    w->time += w->step;
    if (w->conserve) HK_TRY(hk_world_conserve(w));
    if (w->conserve) w->acceleration_known = false;  // of another state than this
    hk_damp_velocities(w->model, &w->damping, w->step, w->x, w->v);
    hk_world_place_axes(w, w->x);
    hk_problem_mask(w->problem, w->v);
    if (w->problem->manifold) keep_velocities(w);
    if (w->acceleration) hk_problem_mask(w->problem, w->acceleration);
    hk_world_break_springs(w);
    hk_world_publish(w);
    return HK_OK;
}

static bool goes_on(const hk_world *w, const hk_solve_report *solved)
{
    return hk_world_usable(w, solved) && solved->reason != HK_STOPPED;
}

static hk_status take_stages(hk_world *w, hk_stage *stage, hk_solve_report *solved)
{
    hk_integrator_settings settings = {w->step, w->step_before, w->beta, w->gamma};
    double begin = 0;
    for (int k = 0; k < w->integrator->stages; k++) {
        hk_solve_report before = *solved;
        w->integrator->stage(&settings, k, stage);
        HK_TRY(take_stage(w, k, stage, begin, solved));
        if (k > 0) hk_join_reports(&before, solved);
        if (!goes_on(w, solved) || k + 1 == w->integrator->stages) return HK_OK;
        find_velocities(w, stage, w->next, w->guess);
        hk_swap_vectors(&w->x_stage, &w->next);
        hk_swap_vectors(&w->v_stage, &w->guess);
        begin = stage->until;
    }
    return HK_OK;
}

// The rest of the step, from the end of the last stage on, as a step of backward Euler.
static hk_status take_rest(hk_world *w, hk_stage *stage, hk_solve_report *solved)
{
    hk_solve_report before = *solved;
    double begin = stage->until, h = (1 - begin) * w->step;
    find_velocities(w, stage, w->next, w->guess);
    hk_swap_vectors(&w->x_stage, &w->next);
    hk_swap_vectors(&w->v_stage, &w->guess);
    *stage = (hk_stage){.weight = 1 / (h * h),
                        .y = {[HK_KNOWN_X_STAGE] = 1, [HK_KNOWN_V_STAGE] = h},
                        .from = {[HK_KNOWN_X_STAGE] = 1},
                        .h = h,
                        .until = 1,
                        .contact = 1};
    HK_TRY(take_stage(w, 1, stage, begin, solved));
    hk_join_reports(&before, solved);
    return HK_OK;
}

// What has to be known of the end of the step before it becomes the state.
static hk_status prove_end(hk_world *w, hk_stage *stage, double *far, hk_solve_report *solved)
{
    if (!w->model->contact) return HK_OK;
    bool beyond = goes_beyond(w);
    // Forces are those of the middle, where they were at work.
    if (beyond) HK_TRY(hk_world_measure(w, w->next));
    if (beyond && !is_free_beyond(w, stage)) {
        beyond = false;
        *far = 1;
        w->contact.measured = false;
        HK_TRY(take_rest(w, stage, solved));
    }
    return goes_on(w, solved) ? hk_world_certify(w, beyond ? w->good : w->next, solved) : HK_OK;
}

static hk_status take_step(hk_world *w, hk_solve_report *solved)
{
    double far = w->integrator->extrapolate;
    if (w->acceleration && !w->acceleration_known) HK_TRY(hk_world_find_accelerations(w));
    if (w->conserve) hk_world_begin_conserving(w);
    hk_stage stage;
    HK_TRY(take_stages(w, &stage, solved));
    hk_world_count_contact_once(w);
    if (goes_on(w, solved)) HK_TRY(hk_world_correct(w, solved));
    if (goes_on(w, solved)) HK_TRY(prove_end(w, &stage, &far, solved));
    hk_world_name_blocking(w, solved);
    // Stopped on the way, held vertices are not where they should be: that is no step.
    if (goes_on(w, solved)) return end_step(w, &stage, far);
    hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    return HK_OK;
}

hk_status hk_world_take_step(hk_world *w, hk_solve_report *solved)
{
    if (!w->contact.recovering) return take_step(w, solved);
    hk_borrowed held;
    HK_TRY(hk_world_begin_recovery(w, &held));
    hk_status status = take_step(w, solved), ended = hk_world_end_recovery(w, &held, solved);
    return status == HK_OK ? ended : status;
}

// iterations: stay as they are where it was no step.
static hk_status step_and_report(hk_world *w, hk_step_report *report, int *iterations)
{
    double start = hk_now();
    hk_solve_report solved = {0};
    if (w->gpu)
        HK_TRY(hk_world_step_on_gpu(w, report != NULL, &solved));
    else {
        hk_world_begin_contact(w);
        HK_TRY(hk_world_take_step(w, &solved));
        if (goes_on(w, &solved)) *iterations = solved.iterations;
    }
    return hk_world_fill_report(w, &solved, HK_OF_STEP, start, report);
}

hk_status hk_world_step(hk_world *w, hk_step_report *report)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_step: world is needed");
    w->at_work = true;
    int iterations = -1;
    hk_status status = step_and_report(w, report, &iterations);
    if (status == HK_OK && !w->gpu && iterations >= 0) status = hk_world_tear(w, iterations);
    if (status == HK_OK && w->tears.whole) hk_world_publish(w);
    w->at_work = false;
    return status;
}
