// Points of bodies that move with them.
#include <math.h>

#include "mesh/tet_locator.h"
#include "model/model.h"

static void take_nearest(const hk_model *m, const hk_body *body, const double at[3],
                         hk_probe *probe)
{
    double least = INFINITY;
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) sum += pow(m->rest[3 * (int64_t)v + i] - at[i], 2);
        if (sum < least) {
            least = sum;
            probe->vertices[0] = v;
        }
    }
    probe->count = 1;
    probe->weights[0] = 1;
}

static hk_status take_tet(const hk_body *body, const hk_mesh *mesh, const double at[3],
                          hk_probe *probe)
{
    hk_tet_locator locator;
    int tet;
    double unit[3];
    HK_TRY(hk_tet_locator_build(&locator, mesh));
    hk_tet_locator_to_unit(&locator, at, unit);
    if (hk_tet_locator_find(&locator, unit, &tet) <= HK_TOUCHING) {
        hk_tet_locator_weights(&locator, tet, unit, probe->weights);
        probe->count = 4;
        probe->tet = body->tet_start + tet;
        for (int k = 0; k < 4; k++)
            probe->vertices[k] = body->vertex_start + mesh->tets[4 * (int64_t)tet + k];
    }
    hk_tet_locator_release(&locator);
    return HK_OK;
}

hk_status hk_model_probe(const hk_model *m, int number, const double at[3], hk_probe *probe)
{
    if (!m || !at || !probe)
        return hk_fail(HK_BAD_INPUT, "hk_model_probe: model, at and probe are needed");
    if (number < 0 || number >= m->body_count)
        return hk_fail(HK_BAD_INPUT, "hk_model_probe: there is no body %d", number);
    for (int i = 0; i < 3; i++)
        if (!isfinite(at[i])) return hk_fail(HK_BAD_INPUT, "hk_model_probe: at is not finite");
    const hk_body *body = &m->bodies[number];
    hk_probe made = {.body = number, .tet = -1};
    made.reserved[0] = (uint64_t)body->vertex_start + 1;  // hk_world_probe
    if (body->tet_count > 0) {
        hk_mesh *mesh;
        HK_TRY(hk_model_body_mesh(m, number, &mesh));
        hk_status status = take_tet(body, mesh, at, &made);
        hk_mesh_free(mesh);
        if (status != HK_OK) return status;
    }
    if (made.count == 0) take_nearest(m, body, at, &made);
    *probe = made;
    return HK_OK;
}
