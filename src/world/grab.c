// Grabs: a point of a body on a spring, whose other end a user moves.
#include <math.h>

#include "core/def.h"
#include "world/world.h"

void hk_fill_grab_def(hk_grab_def *def, size_t size)
{
    const hk_grab_def standard = {.count = 1, .weights = {1}};
    hk_def_fill(&hk_def_grab, &standard, def, size);
}

// ---------------------------------------------------------------- checks

static hk_status check(const hk_world *w, const hk_grab_def *def)
{
    double sum = 0;
    if (def->count < 1 || def->count > HK_GRAB_VERTICES)
        return hk_fail(HK_BAD_INPUT, "a grab has 1 to %d vertices (this one: %d)", HK_GRAB_VERTICES,
                       def->count);
    for (int k = 0; k < def->count; k++) {
        if (def->vertices[k] < 0 || def->vertices[k] >= w->model->vertex_count)
            return hk_fail(HK_BAD_INPUT, "a grab: there is no vertex %d (vertices: 0 to %d)",
                           def->vertices[k], w->model->vertex_count - 1);
        for (int l = 0; l < k; l++)
            if (def->vertices[k] == def->vertices[l])
                return hk_fail(HK_BAD_INPUT, "a grab has vertex %d twice", def->vertices[k]);
        sum += def->weights[k];
    }
    if (!(fabs(sum - 1) <= 1e-6))
        return hk_fail(HK_BAD_INPUT, "the weights of a grab must add up to 1 (they are %g)", sum);
    if (!(isfinite(def->stiffness) && def->stiffness > 0))
        return hk_fail(HK_BAD_INPUT, "the stiffness of a grab must be greater than 0 (is %g N/m)",
                       def->stiffness);
    if (!hk_is_finite3(def->target))
        return hk_fail(HK_BAD_INPUT, "the target of a grab is not finite");
    return HK_OK;
}

static hk_status find_grab(const hk_world *w, int grab, const char *call)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "%s: world is needed", call);
    if (grab < 0 || grab >= w->live.grab_count || !w->live.grabs[grab].held)
        return hk_fail(HK_BAD_INPUT, "%s: there is no grab %d", call, grab);
    return HK_OK;
}

// ---------------------------------------------------------------- edits

// The elements of the world changed; with `shape` in more than where they pull to.
static hk_status take_grabs(hk_world *w, bool shape)
{
    w->live.version++;
    if (shape) w->live.shape_version++;
    w->acceleration_known = w->conserved.known = false;
    if (w->problem) HK_TRY(hk_terms_refresh(w->problem->terms));
    if (!w->gpu) return HK_OK;
    bool fits;
    HK_TRY(hk_gpu_set_grabs(w->gpu, &w->live, &fits));
    return fits ? HK_OK : hk_world_make_solver(w, w->method, &w->settings);
}

static int free_number(const hk_live *live)
{
    int k = 0;
    while (k < live->grab_count && live->grabs[k].held) k++;
    return k;
}

hk_status hk_world_grab(hk_world *w, const hk_grab_def *given, int *grab)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !given || !grab)
        return hk_fail(HK_BAD_INPUT, "hk_world_grab: world, def and grab are needed");
    hk_grab_def own = hk_default_grab_def(), *def = &own;
    HK_TRY(hk_def_take(&hk_def_grab, given, &own));
    HK_TRY(check(w, def));
    hk_live *live = &w->live;
    int number = free_number(live);
    HK_TRY(hk_reserve((void **)&live->grabs, (size_t)live->grab_count, sizeof(hk_grab),
                      &live->grab_capacity, (size_t)number + 1));
    hk_grab made = {.held = true, .count = def->count, .stiffness = def->stiffness};
    memcpy(made.vertex, def->vertices, sizeof made.vertex);
    memcpy(made.weight, def->weights, sizeof made.weight);
    memcpy(made.target, def->target, sizeof made.target);
    int count = live->grab_count;
    if (number == count) live->grab_count++;
    live->grabs[number] = made;
    hk_status status = take_grabs(w, true);
    if (status != HK_OK) {
        live->grabs[number].held = false;
        live->grab_count = count;
        live->version++;
        live->shape_version++;
        return status;
    }
    *grab = number;
    return HK_OK;
}

hk_status hk_world_move_grab(hk_world *w, int grab, const double target[3])
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(find_grab(w, grab, "hk_world_move_grab"));
    if (!target || !hk_is_finite3(target))
        return hk_fail(HK_BAD_INPUT, "hk_world_move_grab: a finite target is needed");
    memcpy(w->live.grabs[grab].target, target, 3 * sizeof(double));
    return take_grabs(w, false);
}

hk_status hk_world_release_grab(hk_world *w, int grab)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(find_grab(w, grab, "hk_world_release_grab"));
    w->live.grabs[grab].held = false;
    return take_grabs(w, true);
}

hk_status hk_world_grab_force(const hk_world *w, int grab, double force[3])
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(find_grab(w, grab, "hk_world_grab_force"));
    if (!force) return hk_fail(HK_BAD_INPUT, "hk_world_grab_force: force is needed");
    HK_TRY(hk_world_fetch_positions(w));
    const hk_grab *g = &w->live.grabs[grab];
    for (int i = 0; i < 3; i++) {
        double at = 0;
        for (int k = 0; k < g->count; k++)
            at += g->weight[k] * w->positions[3 * (int64_t)g->vertex[k] + i];
        force[i] = g->stiffness * (g->target[i] - at);
    }
    return HK_OK;
}
