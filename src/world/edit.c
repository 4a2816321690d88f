// Live edits: what users may change between steps. What a step reads anew every time is just
// changed; for what a model is made of a world takes over an edited copy, and its problem and
// solver are made anew.
#include <math.h>

#include "core/def.h"
#include "model/def.h"
#include "model/constraints.h"
#include "world/world.h"

// ---------------------------------------------------------------- what changes with an edit

// Forces of now are not those of the last step, and work was done from outside.
static void forget_forces(hk_world *w)
{
    w->acceleration_known = w->conserved.known = false;
}

static hk_status take_forces(hk_world *w)
{
    if (w->problem) hk_problem_take_forces(w->problem);
    forget_forces(w);
    return w->gpu ? hk_gpu_set_forces(w->gpu, &w->live) : HK_OK;
}

// The world goes on with `model`, which it owns then; on failure nothing changed.
static hk_status take_model(hk_world *w, hk_model *model)
{
    hk_status status = hk_world_fetch(w);
    hk_model *model_before = w->model;
    hk_problem *problem_before = w->problem;
    void *solver_before = w->solver;
    hk_untorn *untorn_before = w->tears.untorn;
    bool unheld_before = w->unheld;
    if (status == HK_OK) {
        w->model = model;
        w->problem = NULL;
        w->solver = NULL;
        w->tears.untorn = NULL;  // the matrix is of other bodies than these
        status = hk_world_make_solver(w, w->method, &w->settings);
        hk_world_release_contact(w);
        if (status == HK_OK) status = hk_world_check_state(w, w->x);
    }
    if (status != HK_OK) {
        if (w->solver && w->solver != solver_before) w->method->free(w->solver);
        if (w->problem != problem_before) hk_problem_free(w->problem);
        w->model = model_before;
        w->problem = problem_before;
        w->solver = solver_before;
        w->unheld = unheld_before;
        w->tears.untorn = untorn_before;
        hk_model_free(model);
        return status;
    }
    if (solver_before) w->method->free(solver_before);
    hk_problem_free(problem_before);
    hk_model_free(model_before);
    w->tears.untorn = untorn_before;
    hk_world_settle_tears(w);
    forget_forces(w);
    return HK_OK;
}

static hk_status check_body(const hk_world *w, int body, const char *call)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "%s: world is needed", call);
    if (body < 0 || body >= w->model->body_count)
        return hk_fail(HK_BAD_INPUT, "%s: there is no body %d (bodies: 0 to %d)", call, body,
                       w->model->body_count - 1);
    return HK_OK;
}

static hk_status check_vertices(const hk_world *w, int count, const int32_t *vertices,
                                const double *positions, const char *call)
{
    if (!w || count < 0 || (count > 0 && !vertices))
        return hk_fail(HK_BAD_INPUT, "%s: world and vertices are needed", call);
    for (int k = 0; k < count; k++) {
        if (vertices[k] < 0 || vertices[k] >= w->model->vertex_count)
            return hk_fail(HK_BAD_INPUT, "%s: there is no vertex %d (vertices: 0 to %d)", call,
                           vertices[k], w->model->vertex_count - 1);
        if (positions && !hk_is_finite3(positions + 3 * (int64_t)k))
            return hk_fail(HK_BAD_INPUT, "%s: the position of vertex %d is not finite", call,
                           vertices[k]);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- forces

hk_status hk_world_set_gravity(hk_world *w, const double gravity[3])
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !gravity || !hk_is_finite3(gravity))
        return hk_fail(HK_BAD_INPUT, "hk_world_set_gravity: world and finite numbers are needed");
    w->own_gravity = true;
    memcpy(w->live.gravity, gravity, sizeof w->live.gravity);
    return take_forces(w);
}

static hk_status set_loads(hk_world *w, int body, const hk_load_def *loads, int count)
{
    size_t size = 3 * (size_t)w->model->vertex_count;
    const hk_body *b = &w->model->bodies[body];
    double *load = HK_ARRAY(double, size);
    if (!load) return HK_NO_MEMORY;
    memcpy(load, w->live.load ? w->live.load : w->model->load, sizeof(double) * size);
    memset(load + 3 * (int64_t)b->vertex_start, 0, 3 * sizeof(double) * (size_t)b->vertex_count);
    hk_status status = hk_model_add_loads(w->model, body, loads, count, load);
    if (status != HK_OK) {
        hk_free(load);
        return hk_fail_within(status, "body %d (%s)", body, b->name);
    }
    hk_free(w->live.load);
    w->live.load = load;
    w->own_loads = true;
    if (w->live.timed) memset(w->live.timed, 0, sizeof(double) * size);
    return take_forces(w);
}

hk_status hk_world_set_loads(hk_world *w, int body, const hk_load_def *loads, int count)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_body(w, body, "hk_world_set_loads"));
    if (count < 0 || (count > 0 && !loads))
        return hk_fail(HK_BAD_INPUT, "hk_world_set_loads: loads are needed");
    void *own = NULL;
    hk_status taken = hk_take_loads(loads, count, &own);
    if (taken == HK_OK) taken = set_loads(w, body, own, count);
    hk_free(own);
    return taken;
}

hk_status hk_world_set_forces(hk_world *w, const double *forces)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_set_forces: world is needed");
    int64_t size = 3 * (int64_t)w->model->vertex_count;
    for (int64_t k = 0; k < size && forces; k++)
        if (!isfinite(forces[k]))
            return hk_fail(HK_BAD_INPUT,
                           "hk_world_set_forces: the force at vertex %lld is not "
                           "finite",
                           (long long)(k / 3));
    if (!w->live.force) w->live.force = HK_ARRAY(double, size);
    if (!w->live.force) return HK_NO_MEMORY;
    if (forces)
        memcpy(w->live.force, forces, sizeof(double) * (size_t)size);
    else
        memset(w->live.force, 0, sizeof(double) * (size_t)size);
    return take_forces(w);
}

// ---------------------------------------------------------------- time step and damping

hk_status hk_world_set_step(hk_world *w, double step)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_set_step: world is needed");
    if (!(isfinite(step) && step > 0))
        return hk_fail(HK_BAD_INPUT, "the time step must be greater than 0 (is %g)", step);
    double before = w->step;
    if (step == before) return HK_OK;
    w->step = step;
    hk_status status = w->gpu ? hk_world_make_solver(w, w->method, &w->settings) : HK_OK;
    if (status != HK_OK) w->step = before;
    hk_world_update_description(w);
    return status;
}

static bool same_damping(const hk_damping *a, const hk_damping *b)
{
    return a->air == b->air && a->air_per_vertex == b->air_per_vertex && a->viscous == b->viscous &&
           a->ether == b->ether && a->pbd == b->pbd;
}

hk_status hk_world_set_damping(hk_world *w, const hk_damping *damping)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !damping)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_damping: world and damping are needed");
    HK_TRY(hk_damping_check(damping));
    hk_damping before = w->damping;
    if (same_damping(damping, &before)) return HK_OK;
    w->damping = *damping;
    if (w->problem) w->problem->terms->damping = *damping;
    hk_status status = w->conserve ? hk_world_check_conserving(w) : HK_OK;
    // Not every method can have viscous damping; a GPU has it among what it was set up with.
    bool turned = (damping->viscous > 0) != (before.viscous > 0);
    if (status == HK_OK && (w->gpu || turned))
        status = hk_world_make_solver(w, w->method, &w->settings);
    if (status != HK_OK) {
        w->damping = before;
        if (w->problem) w->problem->terms->damping = before;
        return status;
    }
    forget_forces(w);
    return HK_OK;
}

// ---------------------------------------------------------------- held vertices

static hk_status need_targets(hk_world *w)
{
    int64_t size = 3 * (int64_t)w->model->vertex_count;
    if (w->live.target) return HK_OK;
    w->live.target = HK_ARRAY(double, size);
    if (!w->live.target) return HK_NO_MEMORY;
    for (int64_t k = 0; k < size; k++) w->live.target[k] = NAN;
    return HK_OK;
}

hk_status hk_world_set_targets(hk_world *w, int count, const int32_t *vertices,
                               const double *positions)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_vertices(w, count, vertices, positions, "hk_world_set_targets"));
    if (count > 0 && !positions)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_targets: positions are needed");
    for (int k = 0; k < count; k++)
        if (w->model->hold[vertices[k]] == HK_FREE)
            return hk_fail(HK_BAD_INPUT,
                           "hk_world_set_targets: vertex %d is not held: fix it first, or grab it",
                           vertices[k]);
    if (w->conserve)
        return hk_fail(HK_UNSUPPORTED, "energy cannot be conserved where vertices are moved");
    HK_TRY(need_targets(w));
    for (int k = 0; k < count; k++)
        memcpy(w->live.target + 3 * (int64_t)vertices[k], positions + 3 * (int64_t)k,
               3 * sizeof(double));
    forget_forces(w);
    return w->gpu ? hk_gpu_set_targets(w->gpu, &w->live, count, vertices) : HK_OK;
}

// What constraints tie cannot be held one by one.
static hk_status check_untied(const hk_world *w, int count, const int32_t *vertices)
{
    for (int k = 0; k < count; k++) {
        int part = hk_model_part_of(w->model, vertices[k]);
        if (part < 0) continue;
        const char *name = w->model->constraints->parts[part].name;
        return hk_fail(
            HK_UNSUPPORTED,
            "vertex %d is one of %s%s: such vertices are not fixed or let go one by one; "
            "grab it, or make a model with another fix or joint",
            vertices[k], name ? "the rigid part " : "a constraint", name ? name : "");
    }
    return HK_OK;
}

// Holds or lets go; `to` is where vertices go, NULL: nowhere.
static hk_status change_holds(hk_world *w, int count, const int32_t *vertices, int32_t hold,
                              const double *to)
{
    hk_model *model;
    HK_TRY(check_untied(w, count, vertices));
    HK_TRY(need_targets(w));
    size_t bytes = 3 * sizeof(double) * (size_t)w->model->vertex_count;
    double *before = hk_alloc(bytes, 1);
    if (!before) return HK_NO_MEMORY;
    hk_status status = hk_model_copy(w->model, &model);
    if (status == HK_OK) {
        memcpy(before, w->live.target, bytes);
        for (int k = 0; k < count; k++) {
            model->hold[vertices[k]] = hold;
            for (int i = 0; i < 3; i++)
                w->live.target[3 * (int64_t)vertices[k] + i] = to ? to[3 * (int64_t)k + i] : NAN;
        }
        status = take_model(w, model);
        if (status != HK_OK) memcpy(w->live.target, before, bytes);
    }
    hk_free(before);
    return status;
}

hk_status hk_world_fix(hk_world *w, int count, const int32_t *vertices, const double *positions)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_vertices(w, count, vertices, positions, "hk_world_fix"));
    if (count == 0) return HK_OK;
    if (positions) return change_holds(w, count, vertices, HK_FIXED, positions);
    HK_TRY(hk_world_fetch(w));
    double *here = HK_ARRAY(double, 3 * (size_t)count);
    if (!here) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++)
        memcpy(here + 3 * (int64_t)k, w->positions + 3 * (int64_t)vertices[k], 3 * sizeof(double));
    hk_status status = change_holds(w, count, vertices, HK_FIXED, here);
    hk_free(here);
    return status;
}

hk_status hk_world_unfix(hk_world *w, int count, const int32_t *vertices)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_vertices(w, count, vertices, NULL, "hk_world_unfix"));
    for (int k = 0; k < count; k++)
        if (!(w->model->mass[vertices[k]] > 0))
            return hk_fail(HK_BAD_INPUT,
                           "hk_world_unfix: vertex %d belongs to no element and stays held",
                           vertices[k]);
    return count > 0 ? change_holds(w, count, vertices, HK_FREE, NULL) : HK_OK;
}

// ---------------------------------------------------------------- what bodies are made of

hk_status hk_world_set_material(hk_world *w, int body, const hk_selector *region,
                                const hk_material_def *material)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_body(w, body, "hk_world_set_material"));
    if (!material) return hk_fail(HK_BAD_INPUT, "hk_world_set_material: material is needed");
    HK_TRY(hk_def_check(&hk_def_material, material));
    hk_model *model;
    HK_TRY(hk_model_copy(w->model, &model));
    hk_status status = hk_model_set_material(model, body, region, material);
    if (status == HK_OK) return take_model(w, model);
    hk_model_free(model);
    return hk_fail_within(status, "body %d (%s)", body, w->model->bodies[body].name);
}

hk_status hk_world_set_rest_positions(hk_world *w, const double *positions)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_world_set_rest_positions: world and positions are needed");
    hk_model *model;
    HK_TRY(hk_model_copy(w->model, &model));
    hk_status status = hk_model_set_rest(model, positions);
    if (status == HK_OK) return take_model(w, model);
    hk_model_free(model);
    return status;
}
