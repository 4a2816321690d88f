// Bodies whose rest shapes are looked for, and what tests of that share.
#ifndef TEST_REST_BODIES_H
#define TEST_REST_BODIES_H

#include "bodies.h"

typedef enum shape { CANTILEVER, CURVED, MIXED } shape;

static inline double stiffness_for(shape which, const char *material)
{
    double factor = strcmp(material, "arap") == 0 ? 1.6 : 1;
    return factor * (which == CURVED ? 1.2e5 : which == MIXED ? 7e4 : 8.5e5);
}

static inline hk_model *make_model(shape which, const char *material, double young, double gravity)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, young, 0.45);
    hk_selector wall = select_box(-1e-6, -1, -1, 1e-6, 2, 2);
    hk_region_def region = hk_default_region_def();
    body.fixes = &wall;
    body.fix_count = 1;
    hk_mesh *mesh;
    if (which == CURVED) {
        hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_HELIX);
        def.radius = 0.2;
        def.pitch = 0.2;
        def.turns = 0.5;
        def.thickness = 0.1;
        def.strands = 1;
        def.cells[0] = 3;
        CHECK_OK(hk_mesh_make(&def, &mesh));
        const double *x = hk_mesh_positions(mesh);
        double low = x[1];
        for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) low = fmin(low, x[3 * v + 1]);
        wall = select_box(-1, low - 1, -1, 1, low + 0.06, 1);
    } else {
        mesh = box_mesh(1, 0.2, 0.2, 15, 3, 3);
    }
    if (which == MIXED) {
        region.select = select_box(-1, -1, -1, 0.55, 2, 2);
        region.material = material_of(material, 100 * young, 0.45);
        body.regions = &region;
        body.region_count = 1;
    }
    return model_of(&body, mesh, gravity);
}

static inline double *copy_of(const double *values, int count)
{
    double *copy = malloc((size_t)count * sizeof *copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

static inline double farthest(const double *a, const double *b, int vertices)
{
    double most = 0;
    for (int v = 0; v < vertices; v++)
        most = fmax(most, hypot(hypot(a[3 * v] - b[3 * v], a[3 * v + 1] - b[3 * v + 1]),
                                a[3 * v + 2] - b[3 * v + 2]));
    return most;
}

static inline hk_rest *rest_of(const hk_model *model, const char *method)
{
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.method = method;
    def.threads = 2;
    hk_rest *rest = NULL;
    CHECK_OK(hk_rest_create(&def, &rest));
    return rest;
}

// The pose of a model from its rest shape; frees the model.
static inline double *pose_of(hk_model *model, const char *what)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = 2;
    def.solver.tolerance = 1e-11;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED && r.reason != HK_PRECISION_LIMIT)
        fail_msg("%s: pose: %s, %s", what, hk_reason_name(r.reason), r.detail);
    double *x = copy_of(hk_world_positions(world), 3 * hk_model_vertex_count(model));
    hk_world_free(world);
    hk_model_free(model);
    return x;
}

#endif
