// Bodies that go past each other by many contact distances, and by most of a triangle, in a step of
// split with one pass: they are stopped by what they run into, not by what they pass.
#include "bodies.h"

enum { PLATE, BLOCK, BODIES };
#define STEP 0.02

// A block of 0.2 m, 3 m/s along a plate with edges of 0.1 m that is held.
static hk_world *make_world(int threads)
{
    hk_mesh *mesh[BODIES] = {box_mesh(3, 0.1, 0.6, 30, 1, 6), box_mesh(0.2, 0.2, 0.2, 3, 3, 3)};
    const double place[BODIES][3] = {{0, -0.1, -0.2}, {0.31, 0.002, 0.013}};
    hk_body_def bodies[BODIES];
    hk_selector all = select_box(-1, -1, -1, 4, 1, 1);
    for (int b = 0; b < BODIES; b++) {
        bodies[b] = hk_default_body_def();
        bodies[b].mesh = mesh[b];
        bodies[b].material.model = "corotated";
        bodies[b].material.young = 1e6;
        bodies[b].material.poisson = 0.3;
        bodies[b].material.density = 1000;
        for (int i = 0; i < 3; i++) bodies[b].transform.translate[i] = place[b][i];
    }
    bodies[PLATE].fixes = &all;
    bodies[PLATE].fix_count = 1;
    bodies[BLOCK].velocity[0] = 3;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 2e-3;
    contact.friction = 0;
    contact.certify = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = BODIES;
    def.contact = &contact;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    world_def.step = STEP;
    world_def.threads = threads;
    world_def.solver.method = "split";
    hk_world *world;
    CHECK_OK(hk_world_create(&world_def, &world));
    hk_model_free(model);
    for (int b = 0; b < BODIES; b++) hk_mesh_free(mesh[b]);
    return world;
}

// Where the middle of the block is along the plate; nothing intersects on the way.
static double slide(int threads, int steps)
{
    hk_world *world = make_world(threads);
    int plate = 31 * 2 * 7, block = 4 * 4 * 4;
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        if (report.reason != HK_FIXED_WORK) fail_msg("step %d: %s", k, report.detail);
    }
    const double *x = hk_world_positions(world);
    double middle = 0;
    for (int v = plate; v < plate + block; v++) middle += x[3 * v] / block;
    hk_world_free(world);
    return middle;
}

// Without friction nothing stops it: what bends where it falls on the plate takes a little.
static void test_slides(void **state)
{
    (void)state;
    enum { STEPS = 24 };
    double from = 0.41, far = slide(1, STEPS) - from, free = 3 * STEPS * STEP;
    printf("a block goes %.3f m along a plate, %.3f m without one\n", far, free);
    assert_true(far > 0.9 * free && far < 1.01 * free);
    assert_true(slide(3, STEPS) - from == far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
