// Worlds that begin free of sag: the meshes of some bodies are what their rest shapes sag into.
#include <math.h>

#include "design/rest.h"
#include "model/contact.h"
#include "world/world.h"

// Its accuracy bounds the motion that is left at the start.
#define TOLERANCE 1e-10
// Sheets whose springs balance all but this part of the load settle a hair's breadth away, …
#define NEARLY 0.05
// … which is no farther than this part of their size.
#define HAIR        0.01
#define DISTURBANCE 1e-4

static bool is_sag_free(const hk_body *body)
{
    return body->sag_free;
}

static bool any_sag_free(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].sag_free) return true;
    return false;
}

static void clear_sag_free(hk_model *m)
{
    for (int b = 0; b < m->body_count; b++) m->bodies[b].sag_free = false;
}

// Bodies that do not take part stay as they are, and what moves has not begun to.
hk_status hk_world_hold_still(const hk_model *model, bool (*takes_part)(const hk_body *body),
                              hk_model **still)
{
    hk_model *m;
    HK_TRY(hk_model_copy(model, &m));
    for (int k = 0; k < m->motion_count; k++) {
        hk_motion_release(&m->motions[k]);
        m->motions[k] = (hk_motion){.axis = {0, 1, 0}};
    }
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            if (!takes_part(body) || m->hold[v] != HK_FREE) m->hold[v] = HK_FIXED;
    }
    *still = m;
    return HK_OK;
}

// ---------------------------------------------------------------- sheets that settle

static double extent(const hk_model *m, const hk_body *body)
{
    double size = 0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++) {
            low = fmin(low, m->rest[3 * v + i]);
            high = fmax(high, m->rest[3 * v + i]);
        }
        size = fmax(size, high - low);
    }
    return size;
}

// How far a body is from its mesh, m.
static double moved(const hk_model *m, const hk_body *body, const double *x)
{
    double most = 0;
    for (int64_t v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++) {
        double d[3];
        for (int i = 0; i < 3; i++) d[i] = x[3 * v + i] - m->rest[3 * v + i];
        most = fmax(most, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
    return most;
}

// Takes the sheets to where a pose has them, if that is near.
static bool take_pose(const hk_model *m, const double *pose, double *start)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].tet_count == 0 && m->bodies[b].sag_free &&
            !(moved(m, &m->bodies[b], pose) <= HAIR * extent(m, &m->bodies[b])))
            return false;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        if (body->tet_count > 0 || !body->sag_free) continue;
        int64_t first = 3 * (int64_t)body->vertex_start;
        memcpy(start + first, pose + first, 3 * sizeof(double) * (size_t)body->vertex_count);
        hk_log(HK_LOG_INFO,
               "body %s begins up to %.2g m from its mesh, where its springs balance the load",
               body->name, moved(m, body, pose));
    }
    return true;
}

// A little off, for a pose to leave a place where it would only seem to rest; the same every time.
static void disturb(const hk_model *m, double *x)
{
    uint64_t seed = 1;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        double some = DISTURBANCE * extent(m, body);
        for (int64_t v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            for (int i = 0; i < 3 && body->tet_count == 0 && m->hold[v] == HK_FREE; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                x[3 * v + i] += some * ((double)(seed >> 11) / 4503599627370496.0 - 1);
            }
    }
}

static hk_status pose_near(hk_world *world, const double *start, hk_step_report *report)
{
    size_t count = 3 * (size_t)world->model->vertex_count;
    double *near = HK_ARRAY(double, count);
    if (!near) return HK_NO_MEMORY;
    memcpy(near, start, count * sizeof(double));
    disturb(world->model, near);
    hk_status status = hk_world_set_positions(world, near);
    hk_free(near);
    return status == HK_OK ? hk_world_pose(world, report) : status;
}

// A pose of what was found, from near where it is to begin.
static hk_status settle(hk_world *w, const hk_rest *rest, hk_model *still, double *start,
                        bool *settled)
{
    hk_world_def def = hk_default_world_def();
    hk_world *world;
    hk_step_report report;
    HK_TRY(hk_rest_apply(rest, still));
    clear_sag_free(still);
    def.model = still;
    def.threads = w->threads;
    def.solver.tolerance = TOLERANCE;
    HK_TRY(hk_world_create(&def, &world));
    hk_status status = pose_near(world, start, &report);
    if (status == HK_OK && (report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT))
        *settled = take_pose(w->model, hk_world_positions(world), start);
    hk_world_free(world);
    return status;
}

// ---------------------------------------------------------------- the rest shape

// What touches at the start does not help to carry bodies.
static void leave_contact_out(hk_model *m)
{
    hk_model_contact_free(m->contact);
    m->contact = NULL;
}

static hk_status solve(hk_world *w, hk_rest *rest, hk_model *still, double *start)
{
    hk_rest_report report;
    HK_TRY(hk_rest_solve(rest, NULL, &report));
    hk_reason solids = hk_rest_solids_reason(rest);
    if (solids != HK_CONVERGED && solids != HK_PRECISION_LIMIT)
        return hk_fail(HK_BAD_INPUT, "no start free of sag (%s): %s", hk_reason_name(solids),
                       report.detail);
    HK_TRY(hk_rest_find_stability(rest, &report));
    if (report.unstable)
        hk_log(HK_LOG_WARNING,
               "a start that does not last: the mesh is an unstable equilibrium of the rest shape "
               "that was found; make bodies stiffer or lighter, or hold them in more places");
    if (report.reason == solids) return HK_OK;
    bool settled = false;
    if (report.sheet_residual < NEARLY) HK_TRY(settle(w, rest, still, start, &settled));
    if (!settled) hk_log(HK_LOG_WARNING, "a start that sags: %s", report.detail);
    return HK_OK;
}

static hk_status find_rest(hk_world *w, hk_model *still, hk_model *found, double *start)
{
    hk_rest_def def = hk_default_rest_def();
    hk_rest *rest;
    def.model = still;
    def.threads = w->threads;
    def.tolerance = TOLERANCE;
    leave_contact_out(still);
    HK_TRY(hk_rest_create(&def, &rest));
    hk_status status = solve(w, rest, still, start);
    if (status == HK_OK) status = hk_rest_apply(rest, found);
    hk_rest_free(rest);
    return status;
}

hk_status hk_world_find_rest(hk_world *w, double **loaded)
{
    if (!any_sag_free(w->model)) return HK_OK;
    hk_model *still = NULL, *found = NULL;
    size_t count = 3 * (size_t)w->model->vertex_count;
    double *start = HK_ARRAY(double, count);
    if (start) memcpy(start, w->model->rest, count * sizeof(double));
    hk_status status = start ? hk_world_hold_still(w->model, is_sag_free, &still) : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_model_copy(w->model, &found);
    if (status == HK_OK) status = find_rest(w, still, found, start);
    hk_model_free(still);
    if (status != HK_OK) {
        hk_model_free(found);
        hk_free(start);
        return status;
    }
    clear_sag_free(found);
    hk_model_free(w->model);
    w->model = found;
    *loaded = start;
    return HK_OK;
}
