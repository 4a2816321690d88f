#include "model/conditions.h"

#include <math.h>

hk_conditions *hk_conditions_retain(hk_conditions *c)
{
    if (c) __atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
    return c;
}

void hk_conditions_free(hk_conditions *c)
{
    if (!c || __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    hk_time_factor_free(c->gravity);
    for (int k = 0; k < c->load_count; k++) {
        hk_time_factor_free(c->loads[k].factor);
        hk_free(c->loads[k].vertex);
        hk_free(c->loads[k].force);
    }
    for (int k = 0; k < c->factor_count; k++) hk_time_factor_free(c->factors[k]);
    hk_free(c->loads);
    hk_free(c->pressures);
    hk_free(c->factors);
    hk_free(c);
}

bool hk_conditions_timed(const hk_conditions *c)
{
    return c && (c->gravity || c->load_count > 0 || c->factor_count > 0);
}

hk_status hk_model_need_conditions(hk_model *m, hk_conditions **conditions)
{
    if (!m->conditions) m->conditions = HK_NEW(hk_conditions);
    if (!m->conditions) return HK_NO_MEMORY;
    if (m->conditions->references == 0) m->conditions->references = 1;
    *conditions = m->conditions;
    return HK_OK;
}

hk_status hk_model_take_gravity_factor(hk_model *m, const hk_factor_def *def)
{
    hk_time_factor *factor;
    hk_conditions *c;
    hk_status status = hk_time_factor_create(def, &factor);
    if (status != HK_OK) return hk_fail_within(status, "gravity");
    if (!factor) return HK_OK;
    status = hk_model_need_conditions(m, &c);
    if (status == HK_OK)
        c->gravity = factor;
    else
        hk_time_factor_free(factor);
    return status;
}

// The vertices of a body that have a force.
static hk_status take_timed(hk_conditions *c, const hk_body *body, hk_time_factor *factor,
                            const double *force)
{
    HK_TRY(hk_reserve((void **)&c->loads, (size_t)c->load_count, sizeof *c->loads,
                      &c->load_capacity, (size_t)c->load_count + 1));
    hk_timed_load *load = &c->loads[c->load_count];
    *load = (hk_timed_load){.factor = hk_time_factor_retain(factor)};
    c->load_count++;
    load->vertex = HK_ARRAY(int32_t, body->vertex_count);
    load->force = HK_ARRAY(double, 3 * (size_t)body->vertex_count);
    if (!load->vertex || !load->force) return HK_NO_MEMORY;
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++) {
        const double *f = force + 3 * (int64_t)v;
        if (f[0] == 0 && f[1] == 0 && f[2] == 0) continue;
        memcpy(load->force + 3 * (int64_t)load->count, f, 3 * sizeof(double));
        load->vertex[load->count++] = v;
    }
    return HK_OK;
}

static hk_status take_pressure(hk_conditions *c, const hk_body *body, hk_mesh *mesh,
                               const uint8_t *chosen, double pressure, hk_time_factor *factor)
{
    int count, taken = 0;
    const int32_t *triangles, *tets;
    HK_TRY(hk_mesh_surface(mesh, &count, &triangles, &tets));
    if (factor) {
        HK_TRY(hk_reserve((void **)&c->factors, (size_t)c->factor_count, sizeof *c->factors,
                          &c->factor_capacity, (size_t)c->factor_count + 1));
        c->factors[c->factor_count++] = hk_time_factor_retain(factor);
    }
    for (int k = 0; k < count; k++) {
        const int32_t *t = triangles + 3 * (int64_t)k;
        if (!(chosen[t[0]] && chosen[t[1]] && chosen[t[2]])) continue;
        HK_TRY(hk_reserve((void **)&c->pressures, (size_t)c->pressure_count, sizeof *c->pressures,
                          &c->pressure_capacity, (size_t)c->pressure_count + 1));
        hk_pressure *p = &c->pressures[c->pressure_count++];
        *p = (hk_pressure){.factor = factor ? c->factor_count - 1 : -1, .pressure = pressure};
        for (int i = 0; i < 3; i++) p->triangle[i] = body->vertex_start + t[i];
        taken++;
    }
    return taken > 0 ? HK_OK : hk_fail(HK_BAD_INPUT, "it selects no whole surface triangle");
}

static hk_status take_both(hk_model *m, const hk_body *body, hk_mesh *mesh, const hk_load_def *load,
                           const uint8_t *chosen, const double *force, hk_time_factor *factor)
{
    hk_conditions *c;
    if (!isfinite(load->pressure)) return hk_fail(HK_BAD_INPUT, "the pressure is not finite");
    HK_TRY(hk_model_need_conditions(m, &c));
    bool forces =
        load->moment != 0 || load->force[0] != 0 || load->force[1] != 0 || load->force[2] != 0;
    if (factor && forces) HK_TRY(take_timed(c, body, factor, force));
    if (load->pressure == 0) return HK_OK;
    return take_pressure(c, body, mesh, chosen, load->pressure, factor);
}

hk_status hk_model_take_condition(hk_model *m, const hk_body *body, hk_mesh *mesh,
                                  const hk_load_def *load, const uint8_t *chosen,
                                  const double *force)
{
    hk_time_factor *factor;
    HK_TRY(hk_time_factor_create(&load->factor, &factor));
    if (!factor && load->pressure == 0) return HK_OK;
    hk_status status = take_both(m, body, mesh, load, chosen, force, factor);
    hk_time_factor_free(factor);
    return status;
}

hk_status hk_body_name_constraints(const hk_body_def *def, hk_body *body)
{
    int count = def->fix_count + def->move_count;
    if (count == 0) return HK_OK;
    body->constraint_names = HK_ZEROS(char *, count);
    if (!body->constraint_names) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        bool moves = k >= def->fix_count;
        const char *const *names = moves ? def->move_names : def->fix_names;
        const char *name = names ? names[moves ? k - def->fix_count : k] : NULL;
        if (name && !(body->constraint_names[k] = hk_strdup(name))) return HK_NO_MEMORY;
    }
    return HK_OK;
}
