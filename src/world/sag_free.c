// Worlds that begin free of sag: the meshes of some bodies are what their rest shapes sag into.
#include "world/world.h"

// Its accuracy bounds the motion that is left at the start.
#define TOLERANCE 1e-10

static bool any_sag_free(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].sag_free) return true;
    return false;
}

// The model of the inverse problem: bodies that rest as they are do not take part, and what moves
// has not begun to.
static hk_status hold_still(const hk_model *model, hk_model **still)
{
    hk_model *m;
    HK_TRY(hk_model_copy(model, &m));
    for (int k = 0; k < m->motion_count; k++) m->motions[k] = (hk_motion){.axis = {0, 1, 0}};
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            if (!body->sag_free || m->hold[v] != HK_FREE) m->hold[v] = HK_FIXED;
    }
    *still = m;
    return HK_OK;
}

static hk_status solve(hk_rest *rest)
{
    hk_rest_report report;
    HK_TRY(hk_rest_solve(rest, NULL, &report));
    if (report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "no start free of sag (%s): %s", hk_reason_name(report.reason),
                   report.detail);
}

static hk_status find_rest(hk_world *w, const hk_model *still, hk_model *found)
{
    hk_rest_def def = hk_default_rest_def();
    hk_rest *rest;
    def.model = still;
    def.threads = w->threads;
    def.tolerance = TOLERANCE;
    HK_TRY(hk_rest_create(&def, &rest));
    hk_status status = solve(rest);
    if (status == HK_OK) status = hk_model_set_rest(found, hk_rest_positions(rest));
    hk_rest_free(rest);
    return status;
}

hk_status hk_world_find_rest(hk_world *w, double **loaded)
{
    if (!any_sag_free(w->model)) return HK_OK;
    hk_model *still = NULL, *found = NULL;
    size_t count = 3 * (size_t)w->model->vertex_count;
    double *start = HK_ARRAY(double, count);
    hk_status status = start ? hold_still(w->model, &still) : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_model_copy(w->model, &found);
    if (status == HK_OK) status = find_rest(w, still, found);
    hk_model_free(still);
    if (status != HK_OK) {
        hk_model_free(found);
        hk_free(start);
        return status;
    }
    memcpy(start, w->model->rest, count * sizeof(double));
    for (int b = 0; b < found->body_count; b++) found->bodies[b].sag_free = false;
    hk_model_free(w->model);
    w->model = found;
    *loaded = start;
    return HK_OK;
}
