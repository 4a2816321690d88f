// Where worlds begin: bodies in equilibrium, or as they were in another world.
#include <stdio.h>

#include "world/state.h"

// Its accuracy bounds the motion that is left at the start.
#define TOLERANCE 1e-9

static bool is_posed(const hk_body *body)
{
    return body->start_posed;
}

static bool any(const hk_model *m, bool (*chosen)(const hk_body *body))
{
    for (int b = 0; b < m->body_count; b++)
        if (chosen(&m->bodies[b])) return true;
    return false;
}

// Vectors of a body, [vertex_count][3] as users number them, into one of the world's.
static void put_body(const hk_world *w, const hk_body *body, const double *from, double *to)
{
    for (int k = 0; k < body->vertex_count; k++)
        memcpy(to + 4 * (int64_t)w->model->place[body->vertex_start + k], from + 3 * (int64_t)k,
               3 * sizeof(double));
}

// ---------------------------------------------------------------- equilibria

static void take_pose(const hk_world *w, const hk_world *at)
{
    const hk_model *m = w->model;
    for (int b = 0; b < m->body_count; b++)
        if (is_posed(&m->bodies[b]))
            put_body(w, &m->bodies[b], at->positions + 3 * (int64_t)m->bodies[b].vertex_start,
                     w->x);
}

static hk_status pose_still(const hk_world *w, const hk_model *still)
{
    hk_world_def def = hk_default_world_def();
    hk_world *world;
    hk_step_report report;
    def.model = still;
    def.threads = w->threads;
    def.solver.tolerance = TOLERANCE;
    HK_TRY(hk_world_create(&def, &world));
    hk_status status = hk_world_pose(world, &report);
    if (status == HK_OK && report.reason != HK_CONVERGED && report.reason != HK_PRECISION_LIMIT)
        status =
            hk_fail(HK_BAD_INPUT, "no equilibrium to begin with (%s)%s%s",
                    hk_reason_name(report.reason), report.detail[0] ? ": " : "", report.detail);
    if (status == HK_OK) take_pose(w, world);
    hk_world_free(world);
    return status;
}

static hk_status take_poses(const hk_world *w)
{
    hk_model *still;
    HK_TRY(hk_world_hold_still(w->model, is_posed, &still));
    for (int b = 0; b < still->body_count; b++) {
        hk_body *body = &still->bodies[b];
        hk_free(body->start_state);
        body->start_state = NULL;
        body->start_posed = body->sag_free = false;
    }
    hk_status status = pose_still(w, still);
    hk_model_free(still);
    return status;
}

// ---------------------------------------------------------------- states

// The body of that name; or of that number, where the file has as many as the model.
static const hk_state_body *find_body(const hk_state_file *f, const hk_model *m, int number)
{
    for (int b = 0; b < f->body_count; b++)
        if (strcmp(f->bodies[b].name, m->bodies[number].name) == 0) return &f->bodies[b];
    return f->body_count == m->body_count ? &f->bodies[number] : NULL;
}

static hk_status take_body(const hk_world *w, const hk_state_file *f, int number)
{
    const hk_body *body = &w->model->bodies[number];
    const hk_state_body *from = find_body(f, w->model, number);
    if (!from) return hk_fail(HK_BAD_INPUT, "%s has no body of this name", body->start_state);
    if (from->vertex_count != body->vertex_count)
        return hk_fail(HK_BAD_INPUT, "%s has %d vertices of it, not %d: it is of another mesh",
                       body->start_state, from->vertex_count, body->vertex_count);
    put_body(w, body, f->positions + 3 * (int64_t)from->vertex_start, w->x);
    put_body(w, body, f->velocities + 3 * (int64_t)from->vertex_start, w->v);
    return HK_OK;
}

static hk_status take_state(const hk_world *w, int number)
{
    hk_state_file f;
    hk_status status = hk_state_file_load(w->model->bodies[number].start_state, &f);
    if (status == HK_OK) status = take_body(w, &f, number);
    hk_state_file_release(&f);
    return status == HK_OK
               ? HK_OK
               : hk_fail_within(status, "body %d (%s)", number, w->model->bodies[number].name);
}

hk_status hk_world_take_start(hk_world *w)
{
    const hk_model *m = w->model;
    bool changed = any(m, is_posed);
    if (changed) HK_TRY(take_poses(w));
    for (int b = 0; b < m->body_count; b++) {
        if (!m->bodies[b].start_state) continue;
        HK_TRY(take_state(w, b));
        changed = true;
    }
    if (!changed) return HK_OK;
    memcpy(w->v_before, w->v, hk_world_bytes(w));
    hk_world_publish(w);
    return HK_OK;
}
