// The constant matrices of a solver: when they are made, when an old factor is warped, and what to
// say where nothing holds the bodies.
#include <stdio.h>

#include "design/rest_solver.h"
#include "linear/direct.h"

// Free vertices up to which a factor of K is usually faster than multigrid.
enum { MOST_FOR_FACTORS = 60000 };

// ---------------------------------------------------------------- what holds the bodies

static void describe_loose(hk_rest_solver *s, int vertex)
{
    const hk_model *m = s->inverse->model;
    int b = 0;
    while (b + 1 < m->body_count && m->bodies[b + 1].vertex_start <= vertex) b++;
    s->report->reason = HK_NOT_HELD;
    snprintf(s->report->detail, sizeof s->report->detail,
             "body %d (%.40s): fix at least three vertices, not all in one line, of the piece with "
             "vertex %d: nothing holds it against its load",
             b, m->bodies[b].name, vertex - m->bodies[b].vertex_start);
}

static void describe_singular(hk_rest_solver *s)
{
    s->report->reason = HK_NOT_HELD;
    snprintf(s->report->detail, sizeof s->report->detail,
             "the stiffness of the loaded shape is singular: fix more vertices, or take another "
             "material");
}

static hk_status make(hk_rest_solver *s, bool may_warp, hk_made *made)
{
    hk_precondition *c = s->precondition;
    int before = c->factorisations;
    c->go_on = hk_rest_go_on;
    c->context = s;
    bool large = s->inverse->problem->free_count >= s->settings.warp_from;
    may_warp = may_warp && large && hk_precondition_can_warp(c);
    HK_TRY(may_warp ? hk_precondition_warp(c, made) : hk_precondition_factor(c, made));
    s->report->factorisations += c->factorisations - before;
    return HK_OK;
}

static const hk_precondition_way *way_of(const hk_rest_solver *s)
{
    hk_rest_linear linear = s->settings.linear;
    bool large = s->inverse->problem->free_count > MOST_FOR_FACTORS || !hk_direct_available();
    if (linear == HK_REST_LINEAR_AUTO) linear = large ? HK_REST_MULTIGRID : HK_REST_DIRECT;
    return linear == HK_REST_MULTIGRID ? &hk_by_multigrid : &hk_by_direct;
}

hk_status hk_rest_prepare(hk_rest_solver *s, bool may_warp, bool *made)
{
    bool for_lu = s->settings.method == HK_REST_NEWTON_LU;
    *made = true;
    if (for_lu ? s->precondition != NULL : s->factored && (may_warp || !s->precondition->warped))
        return HK_OK;
    int loose = -1;
    if (!s->factored) HK_TRY(hk_rest_find_loose(s->inverse->model, &loose));
    *made = loose < 0;
    if (!*made) describe_loose(s, loose);
    if (!*made) return HK_OK;
    double clock = hk_now();
    if (!s->precondition) HK_TRY(hk_precondition_create(s->inverse, way_of(s), &s->precondition));
    s->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    if (for_lu) return HK_OK;
    hk_made how;
    HK_TRY(make(s, may_warp, &how));
    s->phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    *made = how == HK_MADE;
    if (*made) s->factored = true;
    if (how == HK_NOT_MADE) s->report->reason = HK_STOPPED;
    if (how == HK_SINGULAR) describe_singular(s);
    return HK_OK;
}

hk_status hk_rest_solver_factor(hk_rest_solver *s)
{
    hk_rest_report report = {0};
    bool made;
    s->report = &report;
    s->stopped = false;
    hk_status status = hk_rest_prepare(s, false, &made);
    s->report = NULL;
    HK_TRY(status);
    if (report.reason == HK_NOT_HELD) return hk_fail(HK_BAD_INPUT, "%s", report.detail);
    return HK_OK;
}
