// Edits of a design but for handles: each works on a copy of its state, which becomes the state
// when all went well.
#include <math.h>

#include "core/def.h"
#include "core/vector.h"
#include "design/design.h"
#include "model/def.h"

// ---------------------------------------------------------------- what edits share

hk_status hk_edit_begin(hk_design *d, const char *call, const char *name, int handle, hk_edit *edit)
{
    *edit = (hk_edit){.design = d, .name = name, .handle = handle};
    if (!d) return hk_fail(HK_BAD_INPUT, "%s: design is needed", call);
    hk_design_take_up(d);
    HK_TRY(hk_history_reserve(&d->history));
    return hk_design_point_copy(d, &d->now, &edit->next);
}

hk_status hk_edit_end(hk_edit *edit, hk_status status)
{
    hk_design *d = edit->design;
    if (status != HK_OK) {
        hk_design_point_release(&edit->next);
        return status;
    }
    hk_design_point before = d->now;
    d->now = (hk_design_point){0};
    edit->next.refined = false;
    hk_design_go_to(d, &edit->next);
    hk_history_enter(d, edit, &before);
    return HK_OK;
}

static size_t vector_bytes(const hk_edit *edit)
{
    return 4 * sizeof(double) * (size_t)edit->design->reference->vertex_count;
}

void hk_edit_rebase(hk_edit *edit)
{
    hk_design_point *p = &edit->next;
    memcpy(p->base, p->shape[p->given], vector_bytes(edit));
    p->settled = true;
}

hk_status hk_edit_give(hk_edit *edit, hk_design_side side)
{
    hk_design_point *p = &edit->next;
    if (side != HK_LOADED_SHAPE && side != HK_REST_SHAPE)
        return hk_fail(HK_BAD_INPUT, "there is no shape %d: it is the loaded one or the rest shape",
                       (int)side);
    if (p->given == side) return HK_OK;
    for (int k = 0; k < p->handle_count; k++)
        if (p->handles[k].held)
            return hk_fail(HK_BAD_INPUT,
                           "handles hold the other shape: release them before you edit this one");
    p->given = side;
    hk_edit_rebase(edit);
    return HK_OK;
}

hk_status hk_edit_model(hk_edit *edit, hk_model **model)
{
    HK_TRY(hk_model_copy(edit->next.model, model));
    hk_model_free(edit->next.model);
    edit->next.model = *model;
    return HK_OK;
}

static hk_status check_body(const hk_design *d, int body, const char *call)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "%s: design is needed", call);
    int count = d->now.model->body_count;
    if (body >= 0 && body < count) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "%s: there is no body %d (bodies: 0 to %d)", call, body,
                   count - 1);
}

// ---------------------------------------------------------------- shapes

hk_status hk_design_set_shape(hk_design *d, hk_design_side side, const double *positions)
{
    hk_edit edit;
    if (!positions) return hk_fail(HK_BAD_INPUT, "hk_design_set_shape: positions are needed");
    for (int64_t v = 0; d && v < d->reference->vertex_count; v++)
        if (!hk_is_finite3(positions + 3 * v))
            return hk_fail(HK_BAD_INPUT, "hk_design_set_shape: vertex %lld is not finite",
                           (long long)v);
    HK_TRY(hk_edit_begin(d, "hk_design_set_shape", "shape", -1, &edit));
    hk_design_point *p = &edit.next;
    for (int k = 0; k < p->handle_count; k++) hk_handle_release(&p->handles[k]);
    hk_status status = hk_edit_give(&edit, side);
    if (status == HK_OK) {
        hk_reference_take(d->reference, positions, p->shape[side]);
        hk_edit_rebase(&edit);
    }
    return hk_edit_end(&edit, status);
}

// ---------------------------------------------------------------- what is held

static hk_status check_vertices(const hk_design *d, int count, const int32_t *vertices,
                                const char *call)
{
    if (!d || count < 1 || !vertices)
        return hk_fail(HK_BAD_INPUT, "%s: design and vertices are needed", call);
    for (int k = 0; k < count; k++)
        if (vertices[k] < 0 || vertices[k] >= d->reference->vertex_count)
            return hk_fail(HK_BAD_INPUT, "%s: there is no vertex %d (vertices: 0 to %d)", call,
                           vertices[k], d->reference->vertex_count - 1);
    return HK_OK;
}

static hk_status change_holds(hk_design *d, const char *call, const char *name, int32_t hold,
                              int count, const int32_t *vertices)
{
    hk_edit edit;
    hk_model *model;
    HK_TRY(hk_edit_begin(d, call, name, -1, &edit));
    hk_status status = hk_edit_model(&edit, &model);
    for (int k = 0; k < count && status == HK_OK; k++) model->hold[vertices[k]] = hold;
    return hk_edit_end(&edit, status);
}

hk_status hk_design_fix(hk_design *d, int count, const int32_t *vertices)
{
    HK_TRY(check_vertices(d, count, vertices, "hk_design_fix"));
    return change_holds(d, "hk_design_fix", "fix", HK_FIXED, count, vertices);
}

hk_status hk_design_unfix(hk_design *d, int count, const int32_t *vertices)
{
    HK_TRY(check_vertices(d, count, vertices, "hk_design_unfix"));
    for (int k = 0; k < count; k++)
        if (!(d->now.model->mass[vertices[k]] > 0))
            return hk_fail(HK_BAD_INPUT,
                           "hk_design_unfix: vertex %d belongs to no element and stays held",
                           vertices[k]);
    return change_holds(d, "hk_design_unfix", "unfix", HK_FREE, count, vertices);
}

// ---------------------------------------------------------------- materials and loads

hk_status hk_design_set_material(hk_design *d, int body, const hk_selector *region,
                                 const hk_material_def *material)
{
    hk_edit edit;
    hk_model *model;
    HK_TRY(check_body(d, body, "hk_design_set_material"));
    if (!material) return hk_fail(HK_BAD_INPUT, "hk_design_set_material: material is needed");
    HK_TRY(hk_def_check(&hk_def_material, material));
    HK_TRY(hk_edit_begin(d, "hk_design_set_material", "material", -1, &edit));
    hk_status status = hk_edit_model(&edit, &model);
    if (status == HK_OK) status = hk_model_set_material(model, body, region, material);
    if (status != HK_OK)
        status = hk_fail_within(status, "body %d (%s)", body, d->now.model->bodies[body].name);
    return hk_edit_end(&edit, status);
}

hk_status hk_design_set_gravity(hk_design *d, const double gravity[3])
{
    hk_edit edit;
    hk_model *model;
    if (!gravity || !hk_is_finite3(gravity))
        return hk_fail(HK_BAD_INPUT, "hk_design_set_gravity: finite numbers are needed");
    HK_TRY(hk_edit_begin(d, "hk_design_set_gravity", "gravity", -1, &edit));
    hk_status status = hk_edit_model(&edit, &model);
    if (status == HK_OK) memcpy(model->gravity, gravity, sizeof model->gravity);
    return hk_edit_end(&edit, status);
}

static hk_status replace_loads(hk_model *m, int body, const hk_load_def *loads, int count)
{
    const hk_body *b = &m->bodies[body];
    void *own = NULL;
    memset(m->load + 3 * (int64_t)b->vertex_start, 0, 3 * sizeof(double) * (size_t)b->vertex_count);
    hk_status status = hk_take_loads(loads, count, &own);
    if (status == HK_OK) status = hk_model_add_loads(m, body, own, count, m->load);
    hk_free(own);
    return status == HK_OK ? HK_OK : hk_fail_within(status, "body %d (%s)", body, b->name);
}

hk_status hk_design_set_loads(hk_design *d, int body, const hk_load_def *loads, int count)
{
    hk_edit edit;
    hk_model *model;
    HK_TRY(check_body(d, body, "hk_design_set_loads"));
    if (count < 0 || (count > 0 && !loads))
        return hk_fail(HK_BAD_INPUT, "hk_design_set_loads: loads are needed");
    HK_TRY(hk_edit_begin(d, "hk_design_set_loads", "loads", -1, &edit));
    hk_status status = hk_edit_model(&edit, &model);
    if (status == HK_OK) status = replace_loads(model, body, loads, count);
    return hk_edit_end(&edit, status);
}
