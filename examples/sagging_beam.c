// A beam held at one end sags under its own weight: the equilibrium, then a look at it.
#include <hooke/hooke.h>
#include <stdio.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

int main(void)
{
    // A mesh: a box of 20 × 4 × 4 cells, one metre long.
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    shape.size[0] = 1, shape.size[1] = shape.size[2] = 0.2;
    shape.cells[0] = 20, shape.cells[1] = shape.cells[2] = 4;
    hk_mesh *mesh = NULL;
    if (hk_mesh_make(&shape, &mesh) != HK_OK) return fail("mesh");

    // A body: soft rubber, held at x = 0.
    hk_selector wall = {.kind = HK_SELECT_BOX, .box = {{0, 0, 0}, {0, 0.2, 0.2}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.young = 8.5e5;
    body.fixes = &wall;
    body.fix_count = 1;

    hk_model_def model_def = hk_default_model_def();  // with gravity
    model_def.bodies = &body;
    model_def.body_count = 1;
    hk_model *model = NULL;
    if (hk_model_create(&model_def, &model) != HK_OK) return fail("model");
    hk_mesh_free(mesh);  // the model has its own copy

    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    hk_world *world = NULL;
    if (hk_world_create(&world_def, &world) != HK_OK) return fail("world");

    hk_step_report report;
    if (hk_world_pose(world, &report) != HK_OK) return fail("pose");
    printf("%s after %d iterations, residual %.1e N\n", hk_reason_name(report.reason),
           report.iterations, report.residual);

    const double *x = hk_world_positions(world);
    int last = hk_model_vertex_count(model) - 1;
    printf("the tip has gone from height 0.200 m to %.3f m\n", x[3 * last + 1]);
    if (hk_world_save(world, "sagging_beam.vtu") != HK_OK) return fail("save");
    printf("wrote sagging_beam.vtu\n");

    hk_world_free(world);
    hk_model_free(model);
    return report.reason != HK_CONVERGED;
}
