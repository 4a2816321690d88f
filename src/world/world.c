// Worlds: creation, the time step and the pose.
#include "world/world.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

hk_world_def hk_default_world_def(void)
{
    return (hk_world_def){
        .step = 0.01, .integrator = "backward_euler", .solver = hk_default_solver_def()};
}

// ---------------------------------------------------------------- orders

// Small models are a matter for one thread.
static int work_threads(const hk_world *w)
{
    return w->problem ? w->problem->threads : 1;
}

// Reads at random and writes in order: waiting reads overlap, waiting writes do not.
static void publish(hk_world *w)
{
    const int32_t *place = w->model->place;
#pragma omp parallel for schedule(static) num_threads(work_threads(w)) if (work_threads(w) > 1)
    for (int64_t v = 0; v < w->model->vertex_count; v++) {
        int64_t from = 4 * (int64_t)place[v];
        for (int i = 0; i < 3; i++) w->positions[3 * v + i] = w->x[from + i];
        for (int i = 0; i < 3; i++) w->velocities[3 * v + i] = w->v[from + i];
    }
}

static hk_status take_vectors(hk_world *w, const double *given, const char *what, double *to)
{
    for (int64_t k = 0; k < 3 * (int64_t)w->model->vertex_count; k++)
        if (!isfinite(given[k]))
            return hk_fail(HK_BAD_INPUT, "%s of vertex %lld is not finite", what,
                           (long long)(k / 3));
    for (int k = 0; k < w->model->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)k + i] = given[3 * (int64_t)w->model->order[k] + i];
    return HK_OK;
}

// ---------------------------------------------------------------- pieces

// Connected pieces of tets and sheets, by union-find; piece[v] is a representative vertex.
static int32_t find_piece(int32_t *piece, int32_t v)
{
    while (piece[v] != v) v = piece[v] = piece[piece[v]];
    return v;
}

static void join_pieces(int32_t *piece, int32_t v, int32_t w)
{
    int32_t a = find_piece(piece, v), b = find_piece(piece, w);
    if (a != b) piece[a > b ? a : b] = a < b ? a : b;
}

typedef struct pieces {
    int32_t *of;    // [vertex_count]
    int32_t *held;  // [vertex_count] held and attached vertices, at the representative
} pieces;

static void pieces_free(pieces *p)
{
    hk_free(p->of);
    hk_free(p->held);
}

static hk_status pieces_of(const hk_model *m, pieces *p)
{
    p->of = HK_ARRAY(int32_t, m->vertex_count);
    p->held = HK_ZEROS(int32_t, m->vertex_count);
    if (!p->of || !p->held) {
        pieces_free(p);
        return HK_NO_MEMORY;
    }
    for (int v = 0; v < m->vertex_count; v++) p->of[v] = v;
    for (int t = 0; t < m->tet_count; t++)
        for (int c = 1; c < 4; c++)
            join_pieces(p->of, m->tets[4 * (int64_t)t], m->tets[4 * (int64_t)t + c]);
    for (int k = 0; k < m->spring_count; k++)
        join_pieces(p->of, m->springs[k].ends[0], m->springs[k].ends[1]);
    for (int v = 0; v < m->vertex_count; v++) {
        p->of[v] = find_piece(p->of, v);
        p->held[p->of[v]] += m->hold[v] != HK_FREE;
    }
    for (int k = 0; k < m->attachment_count; k++) {
        int32_t v = m->attachments[k].vertex;
        p->held[p->of[v]] += m->hold[v] == HK_FREE;
    }
    return HK_OK;
}

static hk_status look_for_unheld(hk_world *w)
{
    pieces p = {0};
    HK_TRY(pieces_of(w->model, &p));
    // A vertex of no element is no piece: it has no stiffness and no equation.
    for (int v = 0; v < w->model->vertex_count; v++)
        w->unheld |= p.of[v] == v && p.held[v] < 3 && w->model->mass[v] > 0;
    pieces_free(&p);
    return HK_OK;
}

// A piece that nothing holds and that is pulled somewhere has no equilibrium. Returns a vertex of
// it, or -1.
static hk_status find_falling(const hk_world *w, int *vertex)
{
    const hk_model *m = w->model;
    pieces p = {0};
    HK_TRY(pieces_of(m, &p));
    double *net = HK_ZEROS(double, 4 * (size_t)m->vertex_count);  // force and Σ |force|
    if (!net) {
        pieces_free(&p);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < m->vertex_count; k++) {
        const double *f = w->problem->full_force + 4 * (int64_t)k;
        double *sum = net + 4 * (int64_t)p.of[m->order[k]];
        for (int i = 0; i < 3; i++) sum[i] += f[i];
        sum[3] += fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
    }
    *vertex = -1;
    for (int v = 0; v < m->vertex_count && *vertex < 0; v++) {
        const double *f = net + 4 * (int64_t)v;
        double pull = fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
        if (p.of[v] == v && p.held[v] == 0 && m->mass[v] > 0 && pull > 1e-12 * f[3]) *vertex = v;
    }
    hk_free(net);
    pieces_free(&p);
    return HK_OK;
}

// ---------------------------------------------------------------- creation

// Beyond this OpenMP may fail to start them, and then it ends the process.
enum { MOST_THREADS = 1024 };

static hk_status check_def(const hk_world_def *def)
{
    if (!def->model) return hk_fail(HK_BAD_INPUT, "hk_world_def: model is needed");
    if (!(isfinite(def->step) && def->step > 0))
        return hk_fail(HK_BAD_INPUT, "the time step must be greater than 0 (is %g)", def->step);
    if (def->threads < 0 || def->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "threads must be from 0 to %d (is %d)", MOST_THREADS,
                       def->threads);
    HK_TRY(hk_damping_check(&def->damping));
    if ((unsigned)def->backend > HK_BACKEND_AUTO)
        return hk_fail(HK_BAD_INPUT, "unknown backend %d", (int)def->backend);
    return HK_OK;
}

static hk_status allocate_state(hk_world *w)
{
    size_t n = (size_t)w->model->vertex_count;
    w->x = HK_ZEROS(double, 4 * n);
    w->v = HK_ZEROS(double, 4 * n);
    w->v_before = HK_ZEROS(double, 4 * n);
    w->next = HK_ZEROS(double, 4 * n);
    w->good = HK_ZEROS(double, 4 * n);
    w->guess = HK_ZEROS(double, 4 * n);
    w->positions = HK_ARRAY(double, 3 * n);
    w->velocities = HK_ARRAY(double, 3 * n);
    if (!w->x || !w->v || !w->v_before || !w->next || !w->good || !w->guess || !w->positions ||
        !w->velocities)
        return HK_NO_MEMORY;
    HK_TRY(take_vectors(w, w->model->rest, "rest position", w->x));
    HK_TRY(take_vectors(w, w->model->velocity, "the velocity", w->v));
    memcpy(w->v_before, w->v, 4 * sizeof(double) * n);  // there is no acceleration yet
    publish(w);
    return HK_OK;
}

static hk_status create_problem(hk_world *w)
{
    hk_problem *p;
    HK_TRY(look_for_unheld(w));
    HK_TRY(hk_problem_create(w->model, w->threads, &p));
    hk_status status = w->damping.viscous > 0 ? hk_problem_allow_viscosity(p) : HK_OK;
    if (status != HK_OK) {
        hk_problem_free(p);
        return status;
    }
    p->monitor = w->monitor;
    p->monitor_context = w->monitor_context;
    p->watch_energy = w->watch_energy;
    w->problem = p;
    return HK_OK;
}

hk_status hk_world_need_problem(hk_world *w)
{
    if (!w->problem) HK_TRY(create_problem(w));
    if (w->gpu) hk_problem_place_targets(w->problem, w->time);  // steps did not
    return HK_OK;
}

static void describe(hk_world *w)
{
    const hk_model *m = w->model;
    char where[96], solver[256];
    if (w->gpu) {
        snprintf(where, sizeof where, "cuda: %s", w->method->name);
        hk_gpu_describe(w->gpu, solver, sizeof solver);
    } else {
        snprintf(where, sizeof where, "%d threads, %s lanes", w->problem->threads,
                 w->problem->tets->lanes->name);
        w->method->describe(w->solver, solver, sizeof solver);
    }
    snprintf(w->description, sizeof w->description,
             "%d vertices, %d tets, %d links, %d bodies; %s, step %g s; %s; %s", m->vertex_count,
             m->tet_count, m->spring_count + m->bend_count + m->attachment_count, m->body_count,
             w->integrator->name, w->step, where, solver);
}

static hk_status take_solver(hk_world *w, const hk_solver_def *def)
{
    const hk_method *method;
    hk_settings settings;
    hk_gpu *gpu;
    void *solver = NULL;
    HK_TRY(hk_method_find(def->method, &method));
    HK_TRY(hk_method_settings(method, def, &settings));
    if (method->march && w->integrator != &hk_backward_euler)
        return hk_fail(HK_UNSUPPORTED, "method %s takes its own steps, of backward_euler (not %s)",
                       method->name, w->integrator->name);
    HK_TRY(hk_world_find_gpu(w, method, &settings, &gpu));
    if (!gpu) {
        HK_TRY(hk_world_need_problem(w));
        HK_TRY(method->create(w->problem, &settings, &solver));
    }
    if (w->solver) w->method->free(w->solver);
    hk_gpu_free(w->gpu);
    w->method = method;
    w->settings = settings;
    w->gpu = gpu;
    w->solver = solver;
    describe(w);
    return HK_OK;
}

static hk_status build(const hk_world_def *def, hk_world *w)
{
    HK_TRY(hk_integrator_find(def->integrator, &w->integrator));
    w->step = def->step;
    w->damping = def->damping;
    w->threads = def->threads ? def->threads : omp_get_num_procs();
    w->backend = def->backend;
    HK_TRY(allocate_state(w));
    return take_solver(w, &def->solver);
}

hk_status hk_world_create(const hk_world_def *def, hk_world **world)
{
    if (!def || !world) return hk_fail(HK_BAD_INPUT, "hk_world_create: def and world are needed");
    HK_TRY(check_def(def));
    double start = hk_now();
    hk_world *w = HK_NEW(hk_world);
    if (!w) return HK_NO_MEMORY;
    w->model = (hk_model *)(uintptr_t)def->model;  // only its count of references changes
    hk_model_retain(w->model);
    hk_status status = build(def, w);
    if (status != HK_OK) {
        hk_world_free(w);
        return status;
    }
    w->setup_ms = 1e3 * (hk_now() - start);
    *world = w;
    return HK_OK;
}

void hk_world_free(hk_world *w)
{
    if (!w) return;
    if (w->solver) w->method->free(w->solver);
    hk_gpu_free(w->gpu);
    hk_problem_free(w->problem);
    hk_model_free(w->model);
    hk_free(w->x);
    hk_free(w->v);
    hk_free(w->v_before);
    hk_free(w->next);
    hk_free(w->good);
    hk_free(w->guess);
    hk_free(w->positions);
    hk_free(w->velocities);
    hk_free(w);
}

// ---------------------------------------------------------------- energies and reports

// On the CPU, with attachments where they are now: after a pose at the end of their motion.
static hk_energy energies(hk_world *w)
{
    const hk_model *m = w->model;
    hk_energy e = {.elastic = hk_problem_elastic(w->problem, w->x)};
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            int64_t k = 3 * (int64_t)v + i;
            e.gravity -= m->mass[v] * m->gravity[i] * w->positions[k];
            e.load -= m->load[k] * (w->positions[k] - m->rest[k]);
            e.kinetic += 0.5 * m->mass[v] * w->velocities[k] * w->velocities[k];
        }
    e.total = e.elastic + e.gravity + e.load + e.kinetic;
    return e;
}

static hk_status find_energy(hk_world *w, hk_energy *energy)
{
    if (w->gpu) return hk_gpu_energy(w->gpu, energy);
    *energy = energies(w);
    return HK_OK;
}

enum { OF_STEP = -1 };  // in place of the load steps of a pose

static hk_status fill_report(hk_world *w, const hk_solve_report *solved, int load_steps,
                             double start, hk_step_report *report)
{
    if (!report) return HK_OK;
    double ms = 1e3 * (hk_now() - start);  // energies are no part of the step
    hk_energy energy = {NAN, NAN, NAN, NAN, NAN};
    if (load_steps != OF_STEP)
        energy = energies(w);
    else if (!w->no_energy)
        HK_TRY(find_energy(w, &energy));
    hk_step_report r = {
        .reason = solved->reason,
        .iterations = solved->iterations,
        .load_steps = load_steps == OF_STEP ? 1 : load_steps,
        .time = w->time,
        .residual = solved->residual,
        .relative_residual = solved->relative_residual,
        .energy = energy,
        .ms = ms,
    };
    memcpy(r.detail, solved->detail, sizeof r.detail);
    double named = 0;
    for (int k = 0; k < HK_PHASE_OTHER; k++) {
        r.phase_ms[k] = 1e3 * solved->phase_s[k];
        named += r.phase_ms[k];
    }
    r.phase_ms[HK_PHASE_OTHER] = fmax(0, r.ms - named);
    *report = r;
    return HK_OK;
}

// A solve that did not end in finite numbers keeps the state. A method that marches goes through
// states where a material is not defined.
static bool usable(const hk_world *w, const hk_solve_report *report)
{
    return report->reason != HK_NOT_FINITE && report->reason != HK_INVERTED &&
           (w->method->march || isfinite(report->energy));
}

// ---------------------------------------------------------------- the time step

// The two ends of a step, for the shares of the way between.
typedef struct held_path {
    const hk_world *world;
    double from, to;  // s
} held_path;

static void place_in_time(void *context, double share, double *x)
{
    const held_path *path = context;
    const hk_model *m = path->world->model;
    double time = path->from + share * (path->to - path->from);
    hk_problem_place_targets(path->world->problem, time);
    for (int k = 0; k < m->vertex_count; k++)
        if (path->world->problem->held[k]) {
            int v = m->order[k];
            double end[3];
            hk_model_held_position(m, v, time, end);
            // A motion that takes no time at all is taken in shares all the same.
            bool jump = m->hold[v] >= 0 && m->motions[m->hold[v]].over == 0;
            for (int i = 0; i < 3; i++) {
                double start = path->world->x[4 * (int64_t)k + i];
                x[4 * (int64_t)k + i] = jump ? start + share * (end[i] - start) : end[i];
            }
        }
}

// From the state to w->next, where the method finds a start and small steps helpful …
static hk_status go_by_shares(hk_world *w, held_path *path, hk_solve_report *solved)
{
    hk_moment moment = {w->step, w->x, w->v, w->v_before};
    hk_choose_start(w->problem, &w->settings, &moment, w->guess, w->next);
    hk_continuation c = {.problem = w->problem,
                         .method = w->method,
                         .solver = w->solver,
                         .place = place_in_time,
                         .context = path,
                         .good = w->good,
                         .step = w->guess};
    int shares;
    return hk_continue(&c, w->next, solved, &shares);
}

// … where it does not …
static hk_status go_directly(hk_world *w, held_path *path, hk_solve_report *solved)
{
    place_in_time(path, 1, w->next);
    return w->method->minimise(w->solver, w->next, solved);
}

// … and where it has steps of its own: with the velocities in w->guess.
static hk_status march(hk_world *w, held_path *path, hk_solve_report *solved)
{
    size_t bytes = 4 * sizeof(double) * (size_t)w->problem->vertex_count;
    hk_time_step motion = {w->step, &w->damping, place_in_time, path};
    memcpy(w->next, w->x, bytes);
    memcpy(w->guess, w->v, bytes);
    return w->method->march(w->solver, &motion, w->next, w->guess, solved);
}

static hk_status take_step(hk_world *w, hk_solve_report *solved)
{
    held_path path = {w, w->time, w->time + w->step};
    if (w->method->march) return march(w, &path, solved);
    return w->method->direct ? go_directly(w, &path, solved) : go_by_shares(w, &path, solved);
}

enum { RUN = 4096 };  // numbers that a thread takes at a time

// y, and w->next where the state is, if the method wants that; returns the weight.
static double begin_step(hk_world *w)
{
    double *y = w->problem->y, weight = 0;
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    bool copy = w->method->direct && !w->method->from_y;
#pragma omp parallel for schedule(static) num_threads(work_threads(w)) if (work_threads(w) > 1) \
    lastprivate(weight)
    for (int64_t k = 0; k < size; k += RUN) {
        int64_t count = size - k < RUN ? size - k : RUN;
        weight = w->integrator->predict(w->step, count, w->x + k, w->v + k, y + k);
        if (copy) memcpy(w->next + k, w->x + k, sizeof(double) * (size_t)count);
    }
    return weight;
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

static void find_velocities(hk_world *w)
{
    int64_t size = 4 * (int64_t)w->model->vertex_count;
#pragma omp parallel for schedule(static) num_threads(work_threads(w)) if (work_threads(w) > 1)
    for (int64_t k = 0; k < size; k += RUN)
        w->integrator->velocity(w->step, size - k < RUN ? size - k : RUN, w->x + k, w->next + k,
                                w->v + k);
}

// w->next becomes the state.
static void end_step(hk_world *w)
{
    swap(&w->v, &w->v_before);
    if (w->method->march)
        swap(&w->v, &w->guess);
    else
        find_velocities(w);
    swap(&w->x, &w->next);
    hk_damp_velocities(w->model, &w->damping, w->step, w->x, w->v);
    w->time += w->step;
    publish(w);
}

hk_status hk_world_step(hk_world *w, hk_step_report *report)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_step: world is needed");
    double start = hk_now();
    hk_solve_report solved = {0};
    if (w->gpu) {
        HK_TRY(hk_world_step_on_gpu(w, report != NULL, &solved));
        return fill_report(w, &solved, OF_STEP, start, report);
    }
    hk_problem *p = w->problem;
    hk_problem_set_weight(p, begin_step(w));
    hk_problem_set_damping(p, &w->damping, w->step, w->x);
    p->shift = 0;
    hk_problem_set_load(p, 1);
    hk_problem_place_targets(p, w->time + w->step);
    HK_TRY(take_step(w, &solved));
    // Stopped on the way, held vertices are not where they should be: that is no step.
    if (usable(w, &solved) && solved.reason != HK_STOPPED)
        end_step(w);
    else
        hk_problem_place_targets(p, w->time);
    return fill_report(w, &solved, OF_STEP, start, report);
}

// ---------------------------------------------------------------- the pose

static void place_in_pose(void *context, double share, double *x)
{
    const hk_world *w = context;
    const hk_model *m = w->model;
    for (int k = 0; k < m->vertex_count; k++)
        if (w->problem->held[k])
            hk_model_held_position_at(m, m->order[k], share, x + 4 * (int64_t)k);
    hk_problem_set_load(w->problem, share);
    hk_problem_place_targets_at(w->problem, share);
}

// A tenth of a millionth of the stiffness, so that free rotations do not make the matrix singular.
static double rigid_shift(const hk_world *w)
{
    const hk_model *m = w->model;
    double least = hk_softest_spring(m);
    for (int t = 0; t < m->tet_count; t++)
        least = fmin(least, m->materials[m->tet_material[t]].modulus * cbrt(m->volume[t]));
    return w->unheld ? 1e-7 * least : 0;
}

static hk_status report_falling(hk_world *w, int vertex, double start, hk_step_report *report)
{
    const hk_model *m = w->model;
    hk_solve_report solved = {.reason = HK_NOT_HELD};
    int body = 0;
    while (body + 1 < m->body_count && m->bodies[body + 1].vertex_start <= vertex) body++;
    snprintf(solved.detail, sizeof solved.detail,
             "body %d (%.40s): nothing holds the piece with vertex %d against its load", body,
             m->bodies[body].name, vertex - m->bodies[body].vertex_start);
    return fill_report(w, &solved, 0, start, report);
}

// A pose is found on the CPU, from the state that the GPU has.
static hk_status prepare_pose(hk_world *w)
{
    HK_TRY(hk_world_fetch(w));
    HK_TRY(hk_world_need_problem(w));
    if (!w->solver) HK_TRY(w->method->create(w->problem, &w->settings, &w->solver));
    if (w->gpu && !w->told_pose)
        hk_log(HK_LOG_INFO, "poses are found on the CPU, by the same method");
    w->told_pose = true;
    return HK_OK;
}

// w->next becomes the state, at rest.
static hk_status keep_pose(hk_world *w)
{
    size_t bytes = 4 * sizeof(double) * (size_t)w->model->vertex_count;
    memset(w->guess, 0, bytes);
    HK_TRY(hk_world_write_state(w, w->next, w->guess, w->guess));
    memcpy(w->x, w->next, bytes);
    memset(w->v, 0, bytes);
    memset(w->v_before, 0, bytes);
    publish(w);
    return HK_OK;
}

hk_status hk_world_pose(hk_world *w, hk_step_report *report)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_pose: world is needed");
    if (!w->method->minimise)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s has time steps only, no poses: use newton, quasi_newton or "
                       "another that minimises the energy",
                       w->method->name);
    double start = hk_now();
    HK_TRY(prepare_pose(w));
    hk_problem *p = w->problem;
    int falling;
    HK_TRY(find_falling(w, &falling));
    if (falling >= 0) return report_falling(w, falling, start, report);
    hk_problem_set_weight(p, 0);
    p->shift = rigid_shift(w);
    memcpy(w->next, w->x, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_continuation c = {p, w->method, w->solver, place_in_pose, w, true, w->good, w->guess};
    hk_solve_report solved = {0};
    int load_steps;
    HK_TRY(hk_continue(&c, w->next, &solved, &load_steps));
    if (usable(w, &solved)) HK_TRY(keep_pose(w));
    return fill_report(w, &solved, load_steps, start, report);
}

// ---------------------------------------------------------------- access

void hk_world_set_monitor(hk_world *w, hk_monitor_fn *fn, void *context)
{
    if (!w) return;
    w->monitor = fn;
    w->monitor_context = context;
    if (!w->problem) return;
    w->problem->monitor = fn;
    w->problem->monitor_context = context;
}

hk_status hk_world_set_solver(hk_world *w, const hk_solver_def *solver)
{
    if (!w || !solver)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_solver: world and solver are needed");
    hk_tet_term *precision = w->problem ? w->problem->single : NULL;
    hk_status status = take_solver(w, solver);
    if (status != HK_OK && w->problem) {
        char message[512];
        snprintf(message, sizeof message, "%s", hk_error());
        // The failed method may have changed the precision already.
        hk_problem_use_precision(w->problem, precision ? HK_SINGLE : HK_DOUBLE_PRECISION);
        return hk_fail(status, "%s", message);
    }
    return status;
}

void hk_world_report_energy(hk_world *w, bool always)
{
    if (w) w->no_energy = !always;
}

void hk_world_watch_energy(hk_world *w, bool always)
{
    if (!w) return;
    w->watch_energy = always;
    if (w->problem) w->problem->watch_energy = always;
}

const hk_model *hk_world_model(const hk_world *w)
{
    return w ? w->model : NULL;
}
double hk_world_time(const hk_world *w)
{
    return w ? w->time : 0;
}
double hk_world_setup_ms(const hk_world *w)
{
    return w ? w->setup_ms : 0;
}
const double *hk_world_positions(const hk_world *w)
{
    if (w && hk_world_fetch_positions(w) != HK_OK) hk_log(HK_LOG_WARNING, "%s", hk_error());
    return w ? w->positions : NULL;
}
const double *hk_world_velocities(const hk_world *w)
{
    if (w && hk_world_fetch_velocities(w) != HK_OK) hk_log(HK_LOG_WARNING, "%s", hk_error());
    return w ? w->velocities : NULL;
}
const char *hk_world_describe(const hk_world *w)
{
    return w ? w->description : "";
}
int hk_world_threads(const hk_world *w)
{
    return w ? w->threads : 0;
}
const char *hk_world_method(const hk_world *w)
{
    return w ? w->method->name : "";
}
const char *hk_world_backend(const hk_world *w)
{
    return w && w->gpu ? "cuda" : "cpu";
}

hk_status hk_world_set_time(hk_world *w, double time)
{
    if (!w || !isfinite(time))
        return hk_fail(HK_BAD_INPUT, "hk_world_set_time: world and a finite time are needed");
    w->time = time;
    if (w->problem) hk_problem_place_targets(w->problem, time);
    return HK_OK;
}

hk_status hk_world_set_positions(hk_world *w, const double *positions)
{
    if (!w || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_positions: world and positions are needed");
    HK_TRY(hk_world_fetch_velocities(w));
    HK_TRY(take_vectors(w, positions, "the position", w->next));
    HK_TRY(hk_world_write_state(w, w->next, w->v, w->v_before));
    swap(&w->x, &w->next);
    publish(w);
    return HK_OK;
}

hk_status hk_world_set_velocities(hk_world *w, const double *velocities)
{
    if (!w || !velocities)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_velocities: world and velocities are needed");
    HK_TRY(hk_world_fetch_positions(w));
    HK_TRY(take_vectors(w, velocities, "the velocity", w->next));
    HK_TRY(hk_world_write_state(w, w->x, w->next, w->next));
    swap(&w->v, &w->next);
    memcpy(w->v_before, w->v, 4 * sizeof(double) * (size_t)w->model->vertex_count);
    publish(w);
    return HK_OK;
}

hk_status hk_world_copy_state(hk_world *w, const hk_world *from)
{
    if (!w || !from) return hk_fail(HK_BAD_INPUT, "hk_world_copy_state: two worlds are needed");
    if (w->model != from->model)
        return hk_fail(HK_BAD_INPUT, "hk_world_copy_state: the worlds are of different models");
    HK_TRY(hk_world_fetch(from));
    HK_TRY(hk_world_write_state(w, from->x, from->v, from->v_before));
    size_t bytes = 4 * sizeof(double) * (size_t)w->model->vertex_count;
    memcpy(w->x, from->x, bytes);
    memcpy(w->v, from->v, bytes);
    memcpy(w->v_before, from->v_before, bytes);
    w->time = from->time;
    if (w->problem) hk_problem_place_targets(w->problem, w->time);
    publish(w);
    return HK_OK;
}

static hk_status find_gradient(hk_world *w, double *gradient)
{
    HK_TRY(hk_world_fetch_positions(w));
    HK_TRY(hk_world_need_problem(w));
    hk_problem *p = w->problem;
    hk_problem_set_load(p, 1);
    hk_problem_force(p, w->x, w->guess);
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            gradient[3 * (int64_t)w->model->order[k] + i] = w->guess[4 * (int64_t)k + i];
    return HK_OK;
}

hk_status hk_world_energy(hk_world *w, hk_energy *energy, double *gradient)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_energy: world is needed");
    hk_energy found = {0};
    if (energy) HK_TRY(find_energy(w, &found));
    if (gradient) HK_TRY(find_gradient(w, gradient));
    if (energy) *energy = found;
    return HK_OK;
}

// ---------------------------------------------------------------- names

const char *hk_reason_name(hk_reason reason)
{
    switch (reason) {
    case HK_CONVERGED: return "converged";
    case HK_ITERATION_LIMIT: return "iteration limit";
    case HK_STALLED: return "stalled";
    case HK_NOT_FINITE: return "not finite";
    case HK_INVERTED: return "inverted";
    case HK_NOT_HELD: return "not held";
    case HK_LOAD_STEP_LIMIT: return "load step limit";
    case HK_STOPPED: return "stopped";
    case HK_FIXED_WORK: return "fixed work";
    }
    return "unknown reason";
}

hk_outcome hk_reason_outcome(hk_reason reason)
{
    switch (reason) {
    case HK_CONVERGED: return HK_OUTCOME_CONVERGED;
    case HK_ITERATION_LIMIT:
    case HK_STALLED:
    case HK_FIXED_WORK:  // no one knows that it has converged
    case HK_STOPPED: return HK_OUTCOME_STOPPED;
    default: return HK_OUTCOME_FAILED;
    }
}

const char *hk_phase_name(hk_phase phase)
{
    static const char *const names[HK_PHASE_COUNT] = {"elements", "assembly", "factor",
                                                      "solve",    "volume",   "other"};
    return phase >= 0 && phase < HK_PHASE_COUNT ? names[phase] : "unknown phase";
}
