// Worlds: creation, and access to what they have.
#include "world/world.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "core/def.h"
#include "model/conditions.h"
#include "model/constraints.h"
#include "model/contact.h"
#include "model/springs.h"
#include "solver/held_components.h"

static hk_world_def standard_def(void)
{
    return (hk_world_def){.step = 0.01,
                          .integrator = "backward_euler",
                          .beta = 0.25,
                          .gamma = 0.5,
                          .solver = hk_default_solver_def()};
}

void hk_fill_world_def(hk_world_def *def, size_t size)
{
    const hk_world_def standard = standard_def();
    hk_def_fill(&hk_def_world, &standard, def, size);
}

void hk_take_world_def(hk_world_def *def, size_t size, const hk_world_def *from)
{
    const hk_world_def standard = standard_def();
    hk_world_def own = standard;
    if (from && hk_def_take(&hk_def_world, from, &own) != HK_OK)
        hk_log(HK_LOG_WARNING, "hk_copy_world_def: %s", hk_error());
    hk_def_fill(&hk_def_world, &own, def, size);
    if (hk_def_set_beyond(&hk_def_world, &own, &standard, size))
        hk_log(HK_LOG_WARNING,
               "hk_copy_world_def: the program is older than the library (%s), and the copy lacks "
               "what it does not know",
               hk_version());
}

// ---------------------------------------------------------------- vectors

int hk_world_threads_at_work(const hk_world *w)
{
    return w->problem ? w->problem->threads : 1;
}

// Reads at random and writes in order: waiting reads overlap, waiting writes do not.
void hk_world_publish(hk_world *w)
{
    const int32_t *place = w->model->place;
    int threads = hk_world_threads_at_work(w);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t v = 0; v < w->model->vertex_count; v++) {
        int64_t from = 4 * (int64_t)place[v];
        for (int i = 0; i < 3; i++) w->positions[3 * v + i] = w->x[from + i];
        for (int i = 0; i < 3; i++) w->velocities[3 * v + i] = w->v[from + i];
    }
}

hk_status hk_world_take_vectors(const hk_world *w, const double *given, const char *what,
                                double *to)
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
    if (!(isfinite(def->laplacian_damping) && def->laplacian_damping >= 0))
        return hk_fail(HK_BAD_INPUT, "damping: laplacian must be 0 or more (is %g s)",
                       def->laplacian_damping);
    if ((unsigned)def->backend > HK_BACKEND_AUTO)
        return hk_fail(HK_BAD_INPUT, "unknown backend %d", (int)def->backend);
    return HK_OK;
}

// What contact can be simulated with, so far.
static hk_status check_contact(const hk_world *w, const hk_method *method)
{
    const hk_model_contact *c = w->model->contact;
    if (!c) return HK_OK;
    if (c->when == HK_CONTACT_AFTER && w->integrator->extrapolate != 1)
        return hk_fail(HK_UNSUPPORTED,
                       "%s ends beyond its last stage: with \"when\": \"after\" take another "
                       "integrator",
                       w->integrator->name);
    if (c->when == HK_CONTACT_AFTER && c->overlap == HK_OVERLAP_RECOVER)
        return hk_fail(HK_UNSUPPORTED, "contact: \"overlap\": \"recover\" is not there with "
                                       "\"when\": \"after\"");
    bool soft = c->law == HK_CONTACT_PENALTY || c->law == HK_CONTACT_SPRING_DAMPER;
    if (c->when != HK_CONTACT_AFTER && c->law == HK_CONTACT_SPRING_DAMPER && !method->takes_forces)
        return hk_fail(HK_UNSUPPORTED,
                       "the contact law spring_damper is a force and no energy, which method %s "
                       "cannot minimise: take the law two_stage, or method linear_implicit",
                       method->name);
    if (c->when != HK_CONTACT_AFTER && method->takes_forces && !soft)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s takes one linear step, which cannot keep out of barriers: take "
                       "the contact law spring_damper or penalty, or newton or another method",
                       method->name);
    if (c->when != HK_CONTACT_AFTER && !method->guarded && !method->takes_forces)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s does not know of contact: use newton or another method of this "
                       "library, or take \"contact\" and \"obstacles\" out",
                       method->name);
    if (c->when != HK_CONTACT_AFTER && c->law == HK_CONTACT_PENALTY && method->by_regions)
        return hk_fail(
            HK_UNSUPPORTED,
            "method %s knows contact by barriers only: take the law two_stage or log, or "
            "newton, quasi_newton or another method for \"penalty\"",
            method->name);
    if (w->conserve) return hk_fail(HK_UNSUPPORTED, "contact is not simulated with \"conserve\"");
    return HK_OK;
}

// What the integrator wants to know of the past.
static hk_status allocate_past(hk_world *w)
{
    const hk_integrator *i = w->integrator;
    // Where something is in the way of an extrapolation it is a stage of its own (step.c).
    bool beyond = i->extrapolate != 1 && w->model->contact;
    const struct {
        bool wanted;
        double **vector;
    } all[] = {{i->positions, &w->x_before},
               {i->accelerations, &w->acceleration},
               {i->accelerations, &w->y},
               {i->stages > 1, &w->x_stage},
               {i->stages > 1, &w->v_stage},
               {i != &hk_backward_euler, &w->from},
               {beyond, &w->x_stage},
               {beyond, &w->v_stage},
               {w->model->contact != NULL, &w->ahead}};
    for (int k = 0; k < HK_COUNT_OF(all); k++) {
        if (!all[k].wanted) continue;
        *all[k].vector = HK_ZEROS(double, 4 * (size_t)w->model->vertex_count);
        if (!*all[k].vector) return HK_NO_MEMORY;
    }
    return HK_OK;
}

void hk_world_forget_past(hk_world *w)
{
    w->step_before = 0;
    w->acceleration_known = w->conserved.known = false;
}

static hk_status allocate_state(hk_world *w, const double *positions)
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
    HK_TRY(allocate_past(w));
    HK_TRY(hk_world_take_vectors(w, positions, "the position", w->x));
    HK_TRY(hk_world_take_vectors(w, w->model->velocity, "the velocity", w->v));
    memcpy(w->v_before, w->v, 4 * sizeof(double) * n);  // there is no acceleration yet
    hk_world_publish(w);
    return HK_OK;
}

static hk_status create_problem(hk_world *w)
{
    hk_problem *p;
    HK_TRY(hk_model_is_unheld(w->model, &w->live, &w->unheld));
    HK_TRY(hk_problem_create(w->model, w->threads, &w->live, &p));
    p->terms->damping = w->damping;
    p->terms->laplacian = w->laplacian_damping;
    p->monitor = w->monitor;
    p->monitor_context = w->monitor_context;
    p->watch_energy = w->watch_energy;
    w->problem = p;
    HK_TRY(hk_world_tell_origins(w, p));
    if (w->model->contact || w->model->point_springs)
        hk_terms_place(p->terms, &(hk_when){.time = w->time});
    return HK_OK;
}

hk_status hk_world_need_problem(hk_world *w)
{
    if (!w->problem) HK_TRY(create_problem(w));
    if (w->gpu) hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});  // steps did not
    return HK_OK;
}

void hk_world_update_description(hk_world *w)
{
    const hk_model *m = w->model;
    char where[96], solver[256];
    if (w->gpu) {
        snprintf(where, sizeof where, "cuda: %s", w->method->name);
        hk_gpu_describe(w->gpu, solver, sizeof solver);
    } else {
        snprintf(where, sizeof where, "%d threads, %s lanes", w->problem->threads,
                 hk_lanes_best(HK_DOUBLE_PRECISION)->name);
        w->method->describe(w->solver, solver, sizeof solver);
    }
    snprintf(w->description, sizeof w->description,
             "%d vertices, %d tets, %d links, %d bodies; %s, step %g s; %s; %s", m->vertex_count,
             m->tet_count, m->spring_count + m->bend_count + m->hinge_count + m->attachment_count,
             m->body_count, w->integrator->name, w->step, where, solver);
}

// Terms that join all vertices of a surface.
static hk_status check_rank_one(const hk_model *m, const hk_method *method)
{
    for (int k = 0; k < hk_term_kinds() && !method->takes_rank_one; k++) {
        const hk_term_ops *term = hk_term_kind(k);
        if (!term->visit_rank_one || !term->in_model(m)) continue;
        return hk_fail(
            HK_UNSUPPORTED,
            "method %s cannot have %s, which joins all vertices of a surface: use newton, "
            "quasi_newton, lbfgs, nonlinear_cg or descent, or %s",
            method->name, term->name, term->advice);
    }
    return HK_OK;
}

hk_status hk_world_make_solver(hk_world *w, const hk_method *method, const hk_settings *settings)
{
    hk_settings own = *settings;  // they may be the world's
    hk_gpu *gpu;
    void *solver = NULL;
    if (!method->takes_quadratic) {
        char what[64];
        snprintf(what, sizeof what, "method %s", method->name);
        HK_TRY(hk_model_need_linear(w->model, what));
    }
    HK_TRY(check_rank_one(w->model, method));
    HK_TRY(hk_world_find_gpu(w, method, settings, &gpu));
    if (!gpu) {
        HK_TRY(hk_world_need_problem(w));
        HK_TRY(method->create(w->problem, settings, &solver));
    }
    hk_twin_release(&w->twin);
    if (w->solver) w->method->free(w->solver);
    hk_gpu_free(w->gpu);
    w->method = method;
    w->settings = own;
    w->gpu = gpu;
    w->solver = solver;
    hk_world_update_description(w);
    return HK_OK;
}

// Fixes by axis.
// Rigid parts, joints and constraints of vertices.
static hk_status check_constraints(const hk_world *w, const hk_method *method)
{
    const hk_model *m = w->model;
    if (!m->constraints) return HK_OK;
    if (!method->takes_constraints)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s cannot have rigid parts, joints and constraints of vertices: use "
                       "newton, quasi_newton or another method that minimises the energy",
                       method->name);
    // Constraints hold where a stage ends: where the step goes on beyond that, or by accelerations,
    // turns would lose their order.
    if (w->integrator->accelerations || w->integrator->extrapolate != 1)
        return hk_fail(HK_UNSUPPORTED,
                       "%s is not there with rigid parts, joints and constraints of vertices: take "
                       "backward_euler or bdf2",
                       w->integrator->name);
    if (w->conserve)
        return hk_fail(HK_UNSUPPORTED,
                       "\"conserve\" knows of no rigid parts, joints and constraints of vertices");
    if (m->contact && m->contact->when == HK_CONTACT_AFTER)
        return hk_fail(HK_UNSUPPORTED,
                       "contact that is put right after steps (\"when\": \"after\") moves single "
                       "vertices, which rigid parts and constraints tie: leave \"when\" out");
    return HK_OK;
}

static hk_status check_axes(const hk_world *w, const hk_method *method)
{
    if (!w->model->axes) return HK_OK;
    if (method->whole_vertices)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s holds whole vertices, and no single axes of them: use newton, "
                       "quasi_newton or another method for fixes with \"axes\"",
                       method->name);
    if (w->conserve) return hk_fail(HK_UNSUPPORTED, "\"conserve\" knows of no fixes with \"axes\"");
    return HK_OK;
}

static hk_status take_solver(hk_world *w, const hk_solver_def *def)
{
    const hk_method *method;
    hk_settings settings;
    HK_TRY(hk_method_find(def->method, &method));
    HK_TRY(hk_method_settings(method, def, &settings));
    if (method->integrate && w->integrator != &hk_backward_euler)
        return hk_fail(HK_UNSUPPORTED, "method %s takes its own steps, of backward_euler (not %s)",
                       method->name, w->integrator->name);
    HK_TRY(check_contact(w, method));
    HK_TRY(check_axes(w, method));
    HK_TRY(check_constraints(w, method));
    return hk_world_make_solver(w, method, &settings);
}

// Only what nothing does work on keeps its energy.
hk_status hk_world_check_conserving(const hk_world *w)
{
    const hk_damping *d = &w->damping;
    bool damped = d->air > 0 || d->air_per_vertex > 0 || d->viscous > 0 || d->ether > 0 ||
                  d->pbd > 0 || w->laplacian_damping > 0 || hk_model_viscous(w->model) > 0;
    if (w->model->conditions && w->model->conditions->wind_count > 0)
        return hk_fail(HK_UNSUPPORTED, "energy cannot be conserved in wind");
    if (damped)
        return hk_fail(HK_UNSUPPORTED, "energy cannot be conserved with damping: take one of them");
    for (int k = 0; k < w->model->attachment_count; k++)
        if (w->model->attachments[k].damping > 0)
            return hk_fail(HK_UNSUPPORTED,
                           "energy cannot be conserved with attachments that have damping");
    if (hk_point_springs_do_work(w->model->point_springs))
        return hk_fail(HK_UNSUPPORTED, "energy cannot be conserved with springs that have damping, "
                                       "may break, or change their rest length");
    for (int k = 0; k < w->model->motion_count; k++)
        if (hk_motion_moves(&w->model->motions[k]))
            return hk_fail(HK_UNSUPPORTED,
                           "energy cannot be conserved where vertices or attachments are moved");
    return HK_OK;
}

static hk_status build(const hk_world_def *def, hk_world *w)
{
    HK_TRY(hk_integrator_find(def->integrator, &w->integrator));
    HK_TRY(hk_integrator_check(w->integrator, def->beta, def->gamma));
    w->beta = def->beta;
    w->gamma = def->gamma;
    w->conserve = def->conserve;
    w->step = def->step;
    w->damping = def->damping;
    w->laplacian_damping = def->laplacian_damping;
    w->threads = def->threads ? def->threads : omp_get_num_procs();
    w->backend = def->backend;
    if (w->conserve) HK_TRY(hk_world_check_conserving(w));
    double *loaded = NULL;
    HK_TRY(hk_world_find_rest(w, &loaded));
    hk_status status = allocate_state(w, loaded ? loaded : w->model->rest);
    hk_free(loaded);
    HK_TRY(status);
    HK_TRY(hk_world_take_start(w));
    HK_TRY(take_solver(w, &def->solver));
    return hk_world_check_start(w);
}

hk_status hk_world_create(const hk_world_def *def, hk_world **world)
{
    if (!def || !world) return hk_fail(HK_BAD_INPUT, "hk_world_create: def and world are needed");
    hk_world_def own = standard_def();
    HK_TRY(hk_def_take(&hk_def_world, def, &own));
    HK_TRY(check_def(&own));
    double start = hk_now();
    hk_world *w = HK_NEW(hk_world);
    if (!w) return HK_NO_MEMORY;
    w->model = (hk_model *)(uintptr_t)own.model;  // only its count of references changes
    hk_model_retain(w->model);
    hk_live_init(&w->live, w->model);
    hk_status status = hk_world_make_springs(w);
    if (status == HK_OK) status = build(&own, w);
    if (status != HK_OK) {
        hk_world_free(w);
        return status;
    }
    w->setup_ms = 1e3 * (hk_now() - start);
    *world = w;
    return HK_OK;
}

hk_status hk_world_check_idle(const hk_world *w, const char *call)
{
    if (!w || !w->at_work) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "%s: the world is at work: callbacks may look at it, but not change or evaluate "
                   "it",
                   call);
}

void hk_world_free(hk_world *w)
{
    if (!w) return;
    if (w->at_work) {
        hk_log(HK_LOG_WARNING, "hk_world_free: the world is at work, and stays");
        return;
    }
    hk_twin_release(&w->twin);
    if (w->solver) w->method->free(w->solver);
    hk_gpu_free(w->gpu);
    hk_world_release_contact(w);
    hk_problem_free(w->problem);
    hk_tears_release(&w->tears);
    hk_live_release(&w->live);
    hk_model_free(w->model);
    hk_free(w->x);
    hk_free(w->v);
    hk_free(w->v_before);
    hk_free(w->next);
    hk_free(w->good);
    hk_free(w->ahead);
    hk_free(w->guess);
    hk_free(w->x_before);
    hk_free(w->acceleration);
    hk_free(w->y);
    hk_free(w->x_stage);
    hk_free(w->v_stage);
    hk_free(w->from);
    hk_free(w->positions);
    hk_free(w->velocities);
    hk_free(w);
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
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !solver)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_solver: world and solver are needed");
    return take_solver(w, solver);
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
    if (!w) return "";
    // A method may have changed its mind since the last time.
    hk_world_update_description((hk_world *)(uintptr_t)w);
    return w->description;
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
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !isfinite(time))
        return hk_fail(HK_BAD_INPUT, "hk_world_set_time: world and a finite time are needed");
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = time});
    hk_status status = hk_world_check_state(w, w->x);  // obstacles may be elsewhere then
    if (status == HK_OK) w->time = time;
    if (status != HK_OK) hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    return status;
}

hk_status hk_world_set_positions(hk_world *w, const double *positions)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_positions: world and positions are needed");
    HK_TRY(hk_world_fetch_velocities(w));
    HK_TRY(hk_world_take_vectors(w, positions, "the position", w->next));
    HK_TRY(hk_world_check_state(w, w->next));
    const double *known[HK_KNOWN_COUNT] = {
        [HK_KNOWN_X] = w->next, [HK_KNOWN_V] = w->v, [HK_KNOWN_V_BEFORE] = w->v_before};
    HK_TRY(hk_world_write_state(w, known, 0));
    hk_swap_vectors(&w->x, &w->next);
    hk_world_forget_past(w);
    hk_world_publish(w);
    return HK_OK;
}

hk_status hk_world_set_velocities(hk_world *w, const double *velocities)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !velocities)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_velocities: world and velocities are needed");
    HK_TRY(hk_world_fetch_positions(w));
    HK_TRY(hk_world_take_vectors(w, velocities, "the velocity", w->next));
    const double *known[HK_KNOWN_COUNT] = {
        [HK_KNOWN_X] = w->x, [HK_KNOWN_V] = w->next, [HK_KNOWN_V_BEFORE] = w->next};
    HK_TRY(hk_world_write_state(w, known, 0));
    hk_swap_vectors(&w->v, &w->next);
    memcpy(w->v_before, w->v, 4 * sizeof(double) * (size_t)w->model->vertex_count);
    hk_world_forget_past(w);
    hk_world_publish(w);
    return HK_OK;
}

// As far as the other world knows what this one needs.
static void copy_past(hk_world *w, const hk_world *from)
{
    size_t bytes = hk_world_bytes(w);
    w->step_before = from->step_before;
    w->conserved = from->conserved;
    w->acceleration_known = from->acceleration && from->acceleration_known;
    if (w->x_before && from->x_before)
        memcpy(w->x_before, from->x_before, bytes);
    else if (w->x_before)
        w->step_before = 0;
    if (w->acceleration && w->acceleration_known)
        memcpy(w->acceleration, from->acceleration, bytes);
}

hk_status hk_world_copy_state(hk_world *w, const hk_world *from)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(hk_world_check_idle(from, __func__));
    if (!w || !from) return hk_fail(HK_BAD_INPUT, "hk_world_copy_state: two worlds are needed");
    if (w->model->family != from->model->family)
        return hk_fail(HK_BAD_INPUT, "hk_world_copy_state: the worlds are of different models");
    if (w->tears.told.events > 0 || from->tears.told.events > 0)
        return hk_fail(HK_UNSUPPORTED,
                       "hk_world_copy_state: bodies are torn: save the state of one world, and "
                       "load it into the other");
    HK_TRY(hk_world_fetch(from));
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = from->time});
    hk_status status = hk_world_check_state(w, from->x);
    if (status != HK_OK) {
        hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
        return status;
    }
    bool past = !w->x_before || from->x_before;
    const double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_X] = from->x,
                                           [HK_KNOWN_V] = from->v,
                                           [HK_KNOWN_A] = from->acceleration,
                                           [HK_KNOWN_X_BEFORE] = from->x_before,
                                           [HK_KNOWN_V_BEFORE] = from->v_before};
    HK_TRY(hk_world_write_state(w, known, past ? from->step_before : 0));
    size_t bytes = hk_world_bytes(w);
    memcpy(w->x, from->x, bytes);
    memcpy(w->v, from->v, bytes);
    memcpy(w->v_before, from->v_before, bytes);
    copy_past(w, from);
    w->time = from->time;
    hk_world_copy_springs(w, from);
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    hk_world_publish(w);
    return HK_OK;
}

hk_status hk_world_find_gradient(hk_world *w, double *gradient)
{
    HK_TRY(hk_world_fetch_positions(w));
    HK_TRY(hk_world_need_problem(w));
    hk_problem *p = w->problem;
    hk_problem_set_load(p, 1);
    hk_problem_force(p, w->x, w->guess);
    for (int64_t k = 0; p->axes && k < 4 * (int64_t)p->vertex_count; k++)
        w->guess[k] -= p->load_fraction * p->masked_force[k];
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            gradient[3 * (int64_t)w->model->order[k] + i] = w->guess[4 * (int64_t)k + i];
    return HK_OK;
}

hk_status hk_world_energy(hk_world *w, hk_energy *energy, double *gradient)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_energy: world is needed");
    hk_energy found = {0};
    w->at_work = true;
    hk_status status = energy ? hk_world_find_energy(w, &found) : HK_OK;
    if (status == HK_OK && gradient) status = hk_world_find_gradient(w, gradient);
    w->at_work = false;
    if (status == HK_OK && energy) *energy = found;
    return status;
}
