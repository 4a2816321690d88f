// What a model is made of, for those who show it (hooke/inspect.h).
#include <string.h>

#include "core/vector.h"
#include "mesh/select.h"
#include "model/conditions.h"
#include "model/model.h"

hk_status hk_model_holds(const hk_model *model, uint8_t *holds)
{
    if (!model || !holds) return hk_fail(HK_BAD_INPUT, "hk_model_holds: an argument is NULL");
    for (int v = 0; v < model->vertex_count; v++) {
        int32_t hold = model->hold[v];
        uint8_t axes = model->axes ? model->axes[v] : 0;
        holds[v] = hold == HK_FREE ? axes : hold == HK_FIXED ? HK_ALL_AXES : HK_MOVED;
    }
    for (int a = 0; a < model->attachment_count; a++)
        holds[model->attachments[a].vertex] |= HK_TIED;
    return HK_OK;
}

// A third of the force on a triangle to each corner, against its outside.
static void add_pressure(const hk_model *model, const hk_pressure *pressure, double *forces)
{
    const double *x[3];
    for (int k = 0; k < 3; k++) x[k] = model->rest + 3 * (int64_t)pressure->triangle[k];
    double a[3], b[3];
    for (int i = 0; i < 3; i++) a[i] = x[1][i] - x[0][i], b[i] = x[2][i] - x[0][i];
    const double normal[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                              a[0] * b[1] - a[1] * b[0]};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            forces[3 * (int64_t)pressure->triangle[k] + i] -= pressure->pressure * normal[i] / 6;
}

hk_status hk_model_load_forces(const hk_model *model, double *forces)
{
    if (!model || !forces)
        return hk_fail(HK_BAD_INPUT, "hk_model_load_forces: an argument is NULL");
    memcpy(forces, model->load, sizeof(double) * 3 * (size_t)model->vertex_count);
    const hk_conditions *conditions = model->conditions;
    for (int k = 0; conditions && k < conditions->pressure_count; k++)
        add_pressure(model, &conditions->pressures[k], forces);
    return HK_OK;
}

hk_status hk_model_select(const hk_model *model, int body, const hk_selector *selector,
                          uint8_t *vertices, uint8_t *tets)
{
    if (!model || !selector) return hk_fail(HK_BAD_INPUT, "hk_model_select: an argument is NULL");
    if (body < 0 || body >= model->body_count)
        return hk_fail(HK_BAD_INPUT, "hk_model_select: there is no body %d; there are %d", body,
                       model->body_count);
    hk_mesh *mesh = NULL;
    HK_TRY(hk_model_body_mesh(model, body, &mesh));
    hk_status status = vertices ? hk_select_vertices(mesh, selector, vertices) : HK_OK;
    if (status == HK_OK && tets) status = hk_select_tets(mesh, selector, tets);
    hk_mesh_free(mesh);
    return status;
}

int hk_model_body_tet_count(const hk_model *model, int body)
{
    return model && body >= 0 && body < model->body_count ? model->bodies[body].tet_count : 0;
}

int hk_model_vertex_count(const hk_model *model)
{
    return model ? model->vertex_count : 0;
}
int hk_model_tet_count(const hk_model *model)
{
    return model ? model->tet_count : 0;
}
int hk_model_triangle_count(const hk_model *model)
{
    return model ? model->triangle_count : 0;
}
int hk_model_spring_count(const hk_model *model)
{
    return model ? model->spring_count : 0;
}
int hk_model_body_count(const hk_model *model)
{
    return model ? model->body_count : 0;
}
int hk_model_body_start(const hk_model *model, int body)
{
    if (!model || body < 0) return 0;
    return body < model->body_count ? model->bodies[body].vertex_start : model->vertex_count;
}
const double *hk_model_rest_positions(const hk_model *model)
{
    return model ? model->rest : NULL;
}
const double *hk_model_masses(const hk_model *model)
{
    return model ? model->mass : NULL;
}
