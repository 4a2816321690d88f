// Worlds whose time steps are taken on a GPU. The state is there; the world's arrays are a copy
// that is brought up to date when somebody looks at it.
#include <stdio.h>

#include "model/conditions.h"
#include "model/tear.h"
#include "world/world.h"

// ---------------------------------------------------------------- which worlds

static void list_methods(char *list, size_t size)
{
    list[0] = '\0';
    for (int k = 0; k < hk_method_count(); k++) {
        const hk_method *method;
        if (hk_method_find(hk_method_name(k), &method) != HK_OK || !method->gpu) continue;
        size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", method->name);
    }
}

// Why steps of this method cannot be taken on a GPU. False: they can.
static bool is_refused(const hk_world *w, const hk_method *method, const hk_settings *settings,
                       char *why, size_t size)
{
    if (!hk_gpu_found(why, size)) return true;
    if (!method->gpu) {
        char known[256];
        list_methods(known, sizeof known);
        snprintf(why, size, "method %s has no version for the GPU (%s have one)", method->name,
                 known);
        return true;
    }
    if (method->suits_gpu && method->suits_gpu(settings, w->model) != HK_OK) {
        snprintf(why, size, "%s", hk_error());
        return true;
    }
    for (int k = 0; k < w->model->material_count; k++) {
        if (w->model->materials[k].law != HK_LAW_custom) continue;
        snprintf(why, size, "the material custom has no version for the GPU");
        return true;
    }
    bool by_time = hk_conditions_timed(w->model->conditions);
    for (int k = 0; k < w->model->motion_count; k++) by_time |= w->model->motions[k].factor != NULL;
    if (by_time) {
        snprintf(why, size, "functions of the time have no version for the GPU");
        return true;
    }
    if (w->laplacian_damping > 0 || hk_model_viscous(w->model) > 0) {
        snprintf(why, size,
                 "viscous damping of materials and laplacian damping have no version "
                 "for the GPU");
        return true;
    }
    if (hk_model_tears(w->model) || w->tears.whole) {
        snprintf(why, size, "tearing has no version for the GPU");
        return true;
    }
    if (w->model->axes) {
        snprintf(why, size, "fixes by axis have no version for the GPU");
        return true;
    }
    if (w->model->constraints) {
        snprintf(why, size, "rigid parts, joints and constraints have no version for the GPU");
        return true;
    }
    if (w->model->contact) {
        snprintf(why, size, "contact has no version for the GPU");
        return true;
    }
    for (int k = 0; k < hk_term_kinds(); k++) {
        const hk_term_ops *term = hk_term_kind(k);
        if (term->device || (term->in_model && !term->in_model(w->model))) continue;
        snprintf(why, size, "%s have no version for the GPU", term->name);
        return true;
    }
    return false;
}

// A new one stands at the model's initial state, as a new world does.
static hk_status create_at_state(hk_world *w, const hk_method *method, const hk_settings *settings,
                                 hk_gpu **gpu)
{
    hk_gpu_def def = {.model = w->model,
                      .method = method,
                      .settings = settings,
                      .integrator = w->integrator,
                      .beta = w->beta,
                      .gamma = w->gamma,
                      .step = w->step,
                      .damping = w->damping,
                      .live = &w->live,
                      .like = w->gpu};
    hk_gpu *made;
    HK_TRY(hk_gpu_create(&def, &made));
    const double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_X] = w->x,
                                           [HK_KNOWN_V] = w->v,
                                           [HK_KNOWN_A] = w->acceleration,
                                           [HK_KNOWN_X_BEFORE] = w->x_before,
                                           [HK_KNOWN_V_BEFORE] = w->v_before};
    bool is_new = !w->method;
    hk_status status = is_new ? HK_OK : hk_gpu_write_state(made, known, w->step_before);
    if (status != HK_OK) {
        hk_gpu_free(made);
        return status;
    }
    *gpu = made;
    return HK_OK;
}

static void tell_choice(const hk_gpu *gpu)
{
    char text[256];
    hk_gpu_describe(gpu, text, sizeof text);
    hk_log(HK_LOG_INFO, "backend auto: using the GPU (%s)", text);
}

hk_status hk_world_find_gpu(hk_world *w, const hk_method *method, const hk_settings *settings,
                            hk_gpu **gpu)
{
    *gpu = NULL;
    // Whatever takes the next steps goes on from the state as it is.
    HK_TRY(hk_world_fetch(w));
    if (w->backend == HK_BACKEND_CPU) return HK_OK;
    bool must = w->backend == HK_BACKEND_CUDA;
    char why[512];
    if (is_refused(w, method, settings, why, sizeof why)) {
        if (must)
            return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %s; use \"cpu\" or \"auto\"", why);
        hk_log(HK_LOG_INFO, "backend auto: %s, using the CPU", why);
        return HK_OK;
    }
    hk_status status = create_at_state(w, method, settings, gpu);
    if (status == HK_OK && !must) tell_choice(*gpu);
    if (status == HK_OK || must || status == HK_BAD_INPUT) return status;
    hk_log(HK_LOG_WARNING, "backend auto: %s; using the CPU", hk_error());
    return HK_OK;
}

// ---------------------------------------------------------------- the state

// From the order of the model to that of the users.
static void publish(const hk_world *w, const double *from, double *to)
{
    enum { MANY = 1 << 14 };
    int count = w->model->vertex_count, threads = count < MANY ? 1 : w->threads;
    const int32_t *place = w->model->place;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) to[3 * v + i] = from[4 * (int64_t)place[v] + i];
}

// What is read is kept only when it is whole: the workspace takes it first.
hk_status hk_world_fetch_positions(const hk_world *world)
{
    if (!world->gpu || !world->old_positions) return HK_OK;
    hk_world *w = (hk_world *)(uintptr_t)world;  // its copies are no part of what it is
    HK_TRY(hk_gpu_read_positions(w->gpu, w->next));
    hk_swap_vectors(&w->x, &w->next);
    publish(w, w->x, w->positions);
    w->old_positions = false;
    return HK_OK;
}

hk_status hk_world_fetch_velocities(const hk_world *world)
{
    if (!world->gpu || !world->old_velocities) return HK_OK;
    hk_world *w = (hk_world *)(uintptr_t)world;
    double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_V] = w->guess,
                                     [HK_KNOWN_A] = w->acceleration,
                                     [HK_KNOWN_X_BEFORE] = w->x_before,
                                     [HK_KNOWN_V_BEFORE] = w->good};
    HK_TRY(hk_gpu_read_state(w->gpu, known));
    hk_swap_vectors(&w->v, &w->guess);
    hk_swap_vectors(&w->v_before, &w->good);
    publish(w, w->v, w->velocities);
    w->old_velocities = false;
    return HK_OK;
}

hk_status hk_world_fetch(const hk_world *w)
{
    HK_TRY(hk_world_fetch_positions(w));
    return hk_world_fetch_velocities(w);
}

hk_status hk_world_write_state(hk_world *w, const double *const known[HK_KNOWN_COUNT],
                               double step_before)
{
    if (!w->gpu) return HK_OK;
    HK_TRY(hk_gpu_write_state(w->gpu, known, step_before));
    w->old_positions = w->old_velocities = false;
    return HK_OK;
}

// ---------------------------------------------------------------- the time step

// It cannot look into a step, only at its end.
static bool ask_monitor(const hk_world *w, const hk_solve_report *solved)
{
    hk_iteration end = {.iteration = solved->iterations,
                        .energy = solved->energy,
                        .residual = solved->residual,
                        .relative_residual = solved->relative_residual,
                        .step_length = 1,
                        .load = 1};
    return w->monitor(w->monitor_context, &end);
}

// What the first step needs to know beside the state.
static hk_status begin(hk_world *w)
{
    bool accelerates = w->acceleration && !w->acceleration_known;
    bool conserves = w->conserve && !w->conserved.known;
    if (!accelerates && !conserves) return HK_OK;
    HK_TRY(hk_world_fetch(w));
    HK_TRY(hk_world_need_problem(w));
    if (conserves) hk_world_begin_conserving(w);
    if (!accelerates) return HK_OK;
    HK_TRY(hk_world_find_accelerations(w));
    const double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_A] = w->acceleration};
    return hk_gpu_write_state(w->gpu, known, w->step_before);
}

// The projection is for the CPU.
static hk_status conserve(hk_world *w)
{
    HK_TRY(hk_world_fetch(w));
    HK_TRY(hk_world_need_problem(w));
    HK_TRY(hk_world_conserve(w));
    w->acceleration_known = false;  // of another state than this
    hk_world_publish(w);
    const double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_X] = w->x, [HK_KNOWN_V] = w->v};
    return hk_gpu_write_state(w->gpu, known, w->step_before);
}

hk_status hk_world_step_on_gpu(hk_world *w, bool wait, hk_solve_report *solved)
{
    wait |= w->monitor != NULL || w->conserve;
    HK_TRY(begin(w));
    HK_TRY(hk_gpu_step(w->gpu, w->time, wait ? solved : NULL));
    // Of a step that still goes on nothing is known, but that the state stays if it fails.
    if (wait && hk_reason_outcome(solved->reason) == HK_OUTCOME_FAILED) return HK_OK;
    w->time += w->step;
    w->step_before = w->step;
    w->old_positions = w->old_velocities = true;
    if (w->conserve) HK_TRY(conserve(w));
    if (w->monitor && !ask_monitor(w, solved)) solved->reason = HK_STOPPED;
    return HK_OK;
}
