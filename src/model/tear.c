#include "model/tear.h"

#include <math.h>

#include "core/def.h"

void hk_fill_cut_def(hk_cut_def *def, size_t size)
{
    const hk_cut_def standard = {.body = HK_CUT_ALL, .until = INFINITY};
    hk_def_fill(&hk_def_cut, &standard, def, size);
}

void hk_fill_tearing_def(hk_tearing_def *def, size_t size)
{
    const hk_tearing_def standard = {.cut_count = 0};
    hk_def_fill(&hk_def_tearing, &standard, def, size);
}

hk_tearing *hk_tearing_retain(hk_tearing *t)
{
    if (t) __atomic_add_fetch(&t->references, 1, __ATOMIC_RELAXED);
    return t;
}

void hk_tearing_free(hk_tearing *t)
{
    if (!t || __atomic_sub_fetch(&t->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int k = 0; k < t->cut_count; k++) {
        for (int i = 0; i < t->cuts[k].move_count; i++) hk_motion_release(&t->cuts[k].moves[i]);
        hk_free(t->cuts[k].moves);
    }
    hk_free(t->cuts);
    hk_free(t);
}

static hk_status check_cut(const hk_cut_def *def, int body_count)
{
    if (def->body != HK_CUT_ALL && (def->body < 0 || def->body >= body_count))
        return hk_fail(HK_BAD_INPUT, "there is no body %d", def->body);
    if (def->point_count < 2 || def->point_count > HK_CUT_POINTS)
        return hk_fail(HK_BAD_INPUT, "a blade has 2 to %d points (has %d)", HK_CUT_POINTS,
                       def->point_count);
    for (int k = 0; k < def->point_count; k++)
        if (!hk_is_finite3(def->points[k]))
            return hk_fail(HK_BAD_INPUT, "point %d is not finite", k);
    if (!isfinite(def->from) || !(def->until >= def->from))
        return hk_fail(HK_BAD_INPUT, "it must end after it begins (from %g s until %g s)",
                       def->from, def->until);
    if (def->move_count < 0 || (def->move_count > 0 && !def->moves))
        return hk_fail(HK_BAD_INPUT, "moves is NULL, its count is %d", def->move_count);
    return HK_OK;
}

static hk_status take_cut(const hk_cut_def *def, int body_count, hk_cut *cut)
{
    HK_TRY(check_cut(def, body_count));
    *cut = (hk_cut){
        .body = def->body, .point_count = def->point_count, .from = def->from, .until = def->until};
    memcpy(cut->points, def->points, sizeof cut->points);
    cut->moves = HK_ZEROS(hk_motion, def->move_count);
    if (!cut->moves) return HK_NO_MEMORY;
    for (; cut->move_count < def->move_count; cut->move_count++) {
        hk_status status =
            hk_motion_take(&def->moves[cut->move_count], &cut->moves[cut->move_count]);
        if (status != HK_OK) return hk_fail_within(status, "move %d", cut->move_count);
    }
    return HK_OK;
}

static hk_status take_cuts(const hk_tearing_def *def, int body_count, hk_tearing *t)
{
    if (def->cut_count < 0 || (def->cut_count > 0 && !def->cuts))
        return hk_fail(HK_BAD_INPUT, "tearing: cuts is NULL, its count is %d", def->cut_count);
    t->cuts = HK_ZEROS(hk_cut, def->cut_count);
    if (!t->cuts) return HK_NO_MEMORY;
    for (int k = 0; k < def->cut_count; k++) {
        hk_cut_def own = hk_default_cut_def();
        HK_TRY(hk_def_take_at(&hk_def_cut, def->cuts, k, &own));
        t->cut_count++;
        hk_status status = take_cut(&own, body_count, &t->cuts[k]);
        if (status != HK_OK)
            return hk_fail_within(status, "cut %d%s%s", k, own.name ? ", " : "",
                                  own.name ? own.name : "");
    }
    return HK_OK;
}

hk_status hk_model_take_tearing(const hk_model_def *def, hk_model *m)
{
    if (!def->tearing) return HK_OK;
    hk_tearing_def own = hk_default_tearing_def();
    HK_TRY(hk_def_take(&hk_def_tearing, def->tearing, &own));
    if (own.most < 0)
        return hk_fail(HK_BAD_INPUT, "tearing: most must be 0 or more (is %d)", own.most);
    if (!(isfinite(own.renew) && (own.renew == 0 || own.renew >= 1)))
        return hk_fail(HK_BAD_INPUT, "tearing: renew must be 0 (never), or 1 or more (is %g)",
                       own.renew);
    if (!(isfinite(own.opening) && own.opening >= 0))
        return hk_fail(HK_BAD_INPUT, "tearing: opening must be 0 or more (is %g m)", own.opening);
    m->tearing = HK_NEW(hk_tearing);
    if (!m->tearing) return HK_NO_MEMORY;
    m->tearing->references = 1;
    m->tearing->most = own.most;
    m->tearing->renew = own.renew;
    m->tearing->opening = own.opening;
    return take_cuts(&own, m->body_count, m->tearing);
}

void hk_cut_place(const hk_cut *cut, double time, double points[HK_CUT_POINTS][3])
{
    memcpy(points, cut->points, sizeof cut->points);
    for (int k = 0; k < cut->move_count; k++)
        for (int p = 0; p < cut->point_count; p++) {
            double at[3];
            memcpy(at, points[p], sizeof at);
            hk_motion_apply(&cut->moves[k], hk_motion_fraction(&cut->moves[k], time), at,
                            points[p]);
        }
}

bool hk_model_has_thresholds(const hk_model *m)
{
    for (int k = 0; k < m->material_count; k++)
        if (m->materials[k].tear_stress > 0 || m->materials[k].tear_strain > 0) return true;
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].tet_count == 0 &&
            (m->bodies[b].sheet.tear_stress > 0 || m->bodies[b].sheet.tear_strain > 0))
            return true;
    return false;
}

bool hk_model_tears(const hk_model *m)
{
    return (m->tearing && m->tearing->cut_count > 0) || hk_model_has_thresholds(m);
}
