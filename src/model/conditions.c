#include "model/conditions.h"

#include <math.h>

#include "core/vector.h"
#include "mesh/rim.h"

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
    hk_free(c->winds);
    hk_free(c->gases);
    hk_free(c->gas_triangles);
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

// -1: none.
static hk_status take_factor(hk_conditions *c, hk_time_factor *factor, int32_t *number)
{
    *number = -1;
    if (!factor) return HK_OK;
    HK_TRY(hk_reserve((void **)&c->factors, (size_t)c->factor_count, sizeof *c->factors,
                      &c->factor_capacity, (size_t)c->factor_count + 1));
    *number = c->factor_count;
    c->factors[c->factor_count++] = hk_time_factor_retain(factor);
    return HK_OK;
}

// What acts on surface triangles whose three vertices are chosen.
typedef struct surface_load {
    hk_conditions *conditions;
    const hk_body *body;
    const hk_load_def *def;
    int32_t factor;
} surface_load;
typedef hk_status take_triangle_fn(const surface_load *load, const int32_t triangle[3]);

static hk_status take_surface(const surface_load *load, hk_mesh *mesh, const uint8_t *chosen,
                              take_triangle_fn *take)
{
    int count, taken = 0;
    const int32_t *triangles, *tets;
    HK_TRY(hk_mesh_surface(mesh, &count, &triangles, &tets));
    for (int k = 0; k < count; k++) {
        const int32_t *t = triangles + 3 * (int64_t)k;
        int32_t own[3];
        if (!(chosen[t[0]] && chosen[t[1]] && chosen[t[2]])) continue;
        for (int i = 0; i < 3; i++) own[i] = load->body->vertex_start + t[i];
        HK_TRY(take(load, own));
        taken++;
    }
    return taken > 0 ? HK_OK : hk_fail(HK_BAD_INPUT, "it selects no whole surface triangle");
}

static hk_status take_pressure(const surface_load *load, const int32_t triangle[3])
{
    hk_conditions *c = load->conditions;
    HK_TRY(hk_reserve((void **)&c->pressures, (size_t)c->pressure_count, sizeof *c->pressures,
                      &c->pressure_capacity, (size_t)c->pressure_count + 1));
    hk_pressure *p = &c->pressures[c->pressure_count++];
    *p = (hk_pressure){.factor = load->factor, .pressure = load->def->pressure};
    memcpy(p->triangle, triangle, sizeof p->triangle);
    return HK_OK;
}

static hk_status take_wind(const surface_load *load, const int32_t triangle[3])
{
    hk_conditions *c = load->conditions;
    HK_TRY(hk_reserve((void **)&c->winds, (size_t)c->wind_count, sizeof *c->winds,
                      &c->wind_capacity, (size_t)c->wind_count + 1));
    hk_wind *w = &c->winds[c->wind_count++];
    *w = (hk_wind){.factor = load->factor,
                   .density = load->def->air_density,
                   .drag = load->def->drag,
                   .lift = load->def->lift};
    memcpy(w->velocity, load->def->wind, sizeof w->velocity);
    memcpy(w->triangle, triangle, sizeof w->triangle);
    return HK_OK;
}

static hk_status check_wind(const hk_load_def *load)
{
    if (!(isfinite(load->air_density) && load->air_density >= 0))
        return hk_fail(HK_BAD_INPUT, "the density of the air must be 0 or more (is %g kg/m3)",
                       load->air_density);
    if (!hk_is_finite3(load->wind))
        return hk_fail(HK_BAD_INPUT, "the velocity of the wind is not finite");
    if (!(isfinite(load->drag) && isfinite(load->lift) && load->drag >= 0 && load->lift >= 0))
        return hk_fail(HK_BAD_INPUT, "drag and lift of the wind must be 0 or more (are %g and %g)",
                       load->drag, load->lift);
    return HK_OK;
}

static hk_status take_gas_triangle(const surface_load *load, const int32_t triangle[3])
{
    hk_conditions *c = load->conditions;
    size_t count = 3 * (size_t)c->gas_triangle_count;
    HK_TRY(hk_reserve((void **)&c->gas_triangles, count, sizeof(int32_t), &c->gas_triangle_capacity,
                      count + 3));
    memcpy(c->gas_triangles + count, triangle, 3 * sizeof(int32_t));
    c->gas_triangle_count++;
    return HK_OK;
}

// The volume under the triangles, as seen from the first vertex.
static double volume_of(const hk_mesh *mesh, const int32_t *triangles, int count, int first)
{
    const double *o = mesh->positions + 3 * (int64_t)(triangles[0] - first);
    double sum = 0;
    for (int k = 0; k < count; k++) {
        const double *x[3];
        for (int i = 0; i < 3; i++)
            x[i] = mesh->positions + 3 * (int64_t)(triangles[3 * (int64_t)k + i] - first);
        sum += hk_tet_volume6(o, x[0], x[1], x[2]) / 6;
    }
    return sum;
}

static hk_status check_closed(const hk_mesh *mesh, const hk_conditions *c, const hk_gas *gas,
                              int first)
{
    hk_rim rim;
    int32_t *own = HK_ARRAY(int32_t, 3 * (size_t)gas->triangle_count);
    if (!own) return HK_NO_MEMORY;
    for (int64_t k = 0; k < 3 * (int64_t)gas->triangle_count; k++)
        own[k] = c->gas_triangles[3 * (int64_t)gas->triangle_start + k] - first;
    hk_status status =
        hk_rim_find(mesh->vertex_count, mesh->positions, gas->triangle_count, own, &rim);
    hk_free(own);
    HK_TRY(status);
    int open = rim.count;
    int32_t at = open > 0 ? rim.edges[0] : -1;
    hk_rim_free(&rim);
    if (open > 0)
        return hk_fail(HK_BAD_INPUT,
                       "gas needs a closed surface, and this one has %d open edges, one at vertex "
                       "%d",
                       open, at);
    if (!(gas->volume > 0))
        return hk_fail(HK_BAD_INPUT,
                       "gas needs a surface whose triangles face outwards (its volume is %g m3)",
                       gas->volume);
    return HK_OK;
}

static hk_status take_gas(const surface_load *load, hk_mesh *mesh, const uint8_t *chosen)
{
    hk_conditions *c = load->conditions;
    const hk_load_def *def = load->def;
    int first = load->body->vertex_start;
    if (!(isfinite(def->gas) && def->gas > 0 && isfinite(def->outside) && def->outside >= 0))
        return hk_fail(HK_BAD_INPUT,
                       "the pressure of gas must be above 0 and that outside 0 or more (are %g and "
                       "%g Pa)",
                       def->gas, def->outside);
    HK_TRY(hk_reserve((void **)&c->gases, (size_t)c->gas_count, sizeof *c->gases, &c->gas_capacity,
                      (size_t)c->gas_count + 1));
    hk_gas *gas = &c->gases[c->gas_count];
    *gas = (hk_gas){.triangle_start = c->gas_triangle_count,
                    .factor = load->factor,
                    .pressure = def->gas,
                    .outside = def->outside};
    HK_TRY(take_surface(load, mesh, chosen, take_gas_triangle));
    gas->triangle_count = c->gas_triangle_count - gas->triangle_start;
    gas->volume = volume_of(mesh, c->gas_triangles + 3 * (int64_t)gas->triangle_start,
                            gas->triangle_count, first);
    c->gas_count++;
    return check_closed(mesh, c, gas, first);
}

static hk_status take_all(hk_model *m, const hk_body *body, hk_mesh *mesh, const hk_load_def *def,
                          const uint8_t *chosen, const double *force, hk_time_factor *factor)
{
    surface_load load = {.body = body, .def = def};
    if (!isfinite(def->pressure)) return hk_fail(HK_BAD_INPUT, "the pressure is not finite");
    HK_TRY(check_wind(def));
    HK_TRY(hk_model_need_conditions(m, &load.conditions));
    bool forces =
        def->moment != 0 || def->force[0] != 0 || def->force[1] != 0 || def->force[2] != 0;
    if (factor && forces) HK_TRY(take_timed(load.conditions, body, factor, force));
    if (def->pressure == 0 && def->air_density == 0 && def->gas == 0) return HK_OK;
    HK_TRY(take_factor(load.conditions, factor, &load.factor));
    if (def->pressure != 0) HK_TRY(take_surface(&load, mesh, chosen, take_pressure));
    if (def->air_density > 0) HK_TRY(take_surface(&load, mesh, chosen, take_wind));
    return def->gas != 0 ? take_gas(&load, mesh, chosen) : HK_OK;
}

hk_status hk_model_take_condition(hk_model *m, const hk_body *body, hk_mesh *mesh,
                                  const hk_load_def *load, const uint8_t *chosen,
                                  const double *force)
{
    hk_time_factor *factor;
    HK_TRY(hk_time_factor_create(&load->factor, &factor));
    if (!factor && load->pressure == 0 && load->air_density == 0 && load->gas == 0) return HK_OK;
    hk_status status = take_all(m, body, mesh, load, chosen, force, factor);
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
