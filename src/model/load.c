// Loads: forces, moments and what depends on the time or the surface, from their definitions.
#include <math.h>

#include "mesh/select.h"
#include "model/build.h"
#include "model/conditions.h"

// A third of each surface triangle whose three vertices are chosen.
static hk_status area_weights(hk_mesh *mesh, const uint8_t *chosen, double *weight, double *total)
{
    int count;
    const int32_t *triangles, *tets;
    HK_TRY(hk_mesh_surface(mesh, &count, &triangles, &tets));
    *total = 0;
    for (int k = 0; k < count; k++) {
        const int32_t *c = triangles + 3 * (int64_t)k;
        if (!(chosen[c[0]] && chosen[c[1]] && chosen[c[2]])) continue;
        const double *p[3];
        for (int i = 0; i < 3; i++) p[i] = mesh->positions + 3 * (int64_t)c[i];
        double area = hk_triangle_area(p[0], p[1], p[2]);
        for (int c3 = 0; c3 < 3; c3++) weight[c[c3]] += area / 3;
        *total += area;
    }
    return HK_OK;
}

// Workspace of a body's loads.
typedef struct load_taker {
    const hk_model *model;
    const hk_body *body;
    hk_mesh *mesh;
    uint8_t *chosen;  // [vertices of the body]
    double *weight;   // [vertices of the body]
    double total;     // of the weights
} load_taker;

static hk_status weigh_load(load_taker *t, const hk_load_def *load)
{
    const double *mass = t->model->mass + t->body->vertex_start;
    int count = 0;
    HK_TRY(hk_model_choose(t->mesh, &load->select, t->chosen, &count));
    t->total = 0;
    if (load->distribution == HK_BY_AREA) {
        memset(t->weight, 0, sizeof(double) * (size_t)t->mesh->vertex_count);
        HK_TRY(area_weights(t->mesh, t->chosen, t->weight, &t->total));
        if (!(t->total > 0)) return hk_fail(HK_BAD_INPUT, "it selects no whole surface triangle");
        return HK_OK;
    }
    // Vertices of no element take no part, or their share of the force would be lost.
    for (int v = 0; v < t->mesh->vertex_count; v++)
        t->total += t->weight[v] = t->chosen[v] && mass[v] > 0;
    if (count > 0 && t->total == 0)
        return hk_fail(HK_BAD_INPUT, "it selects no vertex of a %s",
                       t->body->tet_count > 0    ? "tet"
                       : t->body->line_count > 0 ? "line"
                                                 : "triangle");
    return HK_OK;
}

// Forces w_v s a × (X_v − c) with Σ w_v s |a × (X_v − c)|² the moment.
static hk_status add_moment(const load_taker *t, const hk_load_def *load, double *to)
{
    double a[3], sum = 0;
    if (load->moment == 0) return HK_OK;
    if (!hk_unit3(load->axis, a)) return hk_fail(HK_BAD_INPUT, "the axis has no length");
    if (!isfinite(load->moment) || !hk_is_finite3(load->center))
        return hk_fail(HK_BAD_INPUT, "the moment or its center is not finite");
    for (int pass = 0; pass < 2; pass++)
        for (int v = 0; v < t->mesh->vertex_count; v++) {
            const double *at = t->mesh->positions + 3 * (int64_t)v;
            double r[3] = {at[0] - load->center[0], at[1] - load->center[1],
                           at[2] - load->center[2]};
            for (int i = 0; i < 3; i++) {
                int j = (i + 1) % 3, k = (i + 2) % 3;
                double arm = a[j] * r[k] - a[k] * r[j];
                if (pass == 0)
                    sum += t->weight[v] * arm * arm;
                else
                    to[3 * (int64_t)(t->body->vertex_start + v) + i] +=
                        load->moment / sum * t->weight[v] * arm;
            }
            if (pass == 0 && v + 1 == t->mesh->vertex_count && !(sum > 0))
                return hk_fail(HK_BAD_INPUT, "all vertices lie on the axis of the moment");
        }
    return HK_OK;
}

static hk_status take_load(load_taker *t, const hk_load_def *load, double *to)
{
    if (!hk_is_finite3(load->force)) return hk_fail(HK_BAD_INPUT, "the force is not finite");
    if (load->distribution != HK_EVENLY && load->distribution != HK_BY_AREA)
        return hk_fail(HK_BAD_INPUT, "unknown distribution %d", (int)load->distribution);
    HK_TRY(weigh_load(t, load));
    for (int v = 0; v < t->mesh->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            to[3 * (int64_t)(t->body->vertex_start + v) + i] +=
                t->total > 0 ? load->force[i] * t->weight[v] / t->total : 0;
    return add_moment(t, load, to);
}

static bool is_constant(const hk_load_def *load)
{
    const hk_factor_def *f = &load->factor;
    return load->pressure == 0 && load->air_density == 0 && load->gas == 0 && !f->formula &&
           f->table_count == 0 && f->over == 0;
}

// `own` is the model while it is made; NULL: of a world, which has constant forces only.
static hk_status take_any_load(load_taker *t, hk_model *own, const hk_load_def *load, double *to)
{
    if (is_constant(load)) return take_load(t, load, to);
    if (!own)
        return hk_fail(
            HK_UNSUPPORTED,
            "pressures, winds and functions of the time are a model's, and cannot be set later");
    size_t size = 3 * (size_t)own->vertex_count;
    double *force = HK_ZEROS(double, size);
    hk_status status = force ? take_load(t, load, force) : HK_NO_MEMORY;
    if (status == HK_OK)
        status = hk_model_take_condition(own, t->body, t->mesh, load, t->chosen, force);
    for (size_t k = 0; k < size && status == HK_OK; k++) to[k] += force[k];
    hk_free(force);
    return status;
}

hk_status hk_model_take_loads(const hk_model *m, hk_model *own, const hk_body *body, hk_mesh *mesh,
                              const hk_load_def *loads, int count, double *to)
{
    if (count == 0) return HK_OK;
    load_taker t = {
        m, body, mesh, HK_ARRAY(uint8_t, mesh->vertex_count), HK_ZEROS(double, mesh->vertex_count),
        0};
    hk_status status = t.weight && t.chosen ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < count && status == HK_OK; k++) {
        status = take_any_load(&t, own, &loads[k], to);
        if (status != HK_OK) status = hk_fail_within(status, "load %d", k);
    }
    hk_free(t.weight);
    hk_free(t.chosen);
    return status;
}
