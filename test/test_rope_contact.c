// Contact of ropes with obstacles, solids, sheets and themselves, and of sheets that are sewn
// together on a figure: nothing passes through anything, which is proven at every step.
#include "ropes.h"
#include "sheets.h"

typedef struct touching {
    const char *label, *method;
    int iterations;
} touching;

static void step_without_intersection(hk_world *world, const char *label, int steps,
                                      int64_t *touched, double *least)
{
    *touched = 0;
    *least = INFINITY;
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        hk_contact_report c;
        CHECK_OK(hk_world_step(world, &r));
        CHECK_OK(hk_world_contact(world, &c));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s: step %d: %s", label, k, r.detail);
        if (!c.certified) fail_msg("%s: step %d: something intersects", label, k);
        *touched += c.pairs;
        *least = fmin(*least, c.least_gap);
        const double *x = hk_world_positions(world);
        for (int v = 0; v < 3 * hk_model_vertex_count(hk_world_model(world)); v++)
            assert_true(isfinite(x[v]));
    }
}

static hk_world *contact_world(hk_model_def *def, const char *method, int iterations)
{
    hk_contact_def contact = hk_default_contact_def();
    contact.certify = 1;
    contact.friction = 0.3;
    def->contact = &contact;
    def->gravity[1] = -9.81;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(def, &model));
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    world_def.step = 0.01;
    world_def.threads = 1;
    world_def.damping.air = 0.5;
    world_def.solver.method = method;
    if (iterations > 0) world_def.solver.iterations = iterations;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&world_def, &world));
    hk_model_free(model);
    return world;
}

static const touching METHODS[] = {{"newton", "newton", 0},
                                   {"quasi_newton", "quasi_newton", 0},
                                   {"lbfgs", "lbfgs", 100},
                                   {"descent", "descent", 50},
                                   {"vbd", "vbd", 50}};

// A rope falls over a bar, which it cannot pass, and comes to lie there or slides off.
static void test_rope_over_a_bar(void **state)
{
    (void)state;
    for (int m = 0; m < 5; m++) {
        hk_body_def body = hk_default_body_def();
        hk_mesh *mesh = rope_mesh(1, 30);
        body.mesh = mesh;
        body.material = rope_of(400, 2e-3, 0.2, "hinges", false);
        body.transform.translate[0] = -0.5;
        body.transform.translate[1] = 0.06;
        hk_obstacle_def bar = hk_default_obstacle_def();
        bar.shape = HK_OBSTACLE_CAPSULE;
        bar.radius = 0.03;
        bar.from[2] = -0.3;
        bar.to[2] = 0.3;
        hk_model_def def = hk_default_model_def();
        def.bodies = &body;
        def.body_count = 1;
        def.obstacles = &bar;
        def.obstacle_count = 1;
        hk_world *world = contact_world(&def, METHODS[m].method, METHODS[m].iterations);
        int64_t touched;
        double least;
        step_without_intersection(world, METHODS[m].label, 100, &touched, &least);
        double low = 0;
        for (int v = 0; v <= 30; v++) low = fmin(low, hk_world_positions(world)[3 * v + 1]);
        print_message("a rope over a bar by %s: %lld contacts, %.2g m left, its end is at %.3f m\n",
                      METHODS[m].label, (long long)touched, least, low);
        // Its axis stays two radii away from that of the bar.
        assert_true(touched > 100 && least > 0 && low < -0.3);
        const double *x = hk_world_positions(world) + 3 * 15;
        assert_true(hypot(x[0], x[1]) > 0.035);
        hk_world_free(world);
        hk_mesh_free(mesh);
    }
}

// Ropes across each other, on a cloth that hangs by its corners, on a block: each kind of pair.
static hk_world *pile(const char *method, int iterations, hk_mesh **meshes)
{
    hk_body_def bodies[4];
    for (int k = 0; k < 4; k++) bodies[k] = hk_default_body_def();
    meshes[0] = box_mesh(0.3, 0.1, 0.3, 2, 1, 2);
    meshes[1] = sheet_mesh(0.6, 0.6, 8, 8);
    meshes[2] = meshes[3] = NULL;
    meshes[2] = rope_mesh(0.7, 20);
    bodies[0].mesh = meshes[0];
    bodies[0].material = material_of("neo_hookean", 1e5, 0.4);
    bodies[0].transform.translate[0] = bodies[0].transform.translate[2] = -0.15;
    hk_selector floor = select_box(-1, -1, -1, 1, 1e-6, 1);
    bodies[0].fixes = &floor;
    bodies[0].fix_count = 1;
    bodies[1].mesh = meshes[1];
    bodies[1].material = cloth_of(200, 1e-4, 0.2);
    bodies[1].transform.translate[0] = bodies[1].transform.translate[2] = -0.3;
    bodies[1].transform.translate[1] = 0.13;
    for (int k = 2; k < 4; k++) {
        bodies[k].mesh = meshes[2];
        bodies[k].material = rope_of(400, 2e-3, 0.2, k == 2 ? "hinges" : "cotangent", false);
        bodies[k].transform.axis[1] = 1;
        bodies[k].transform.degrees = k == 2 ? 10 : 80;
        bodies[k].transform.translate[0] = k == 2 ? -0.3 : -0.05;
        bodies[k].transform.translate[1] = k == 2 ? 0.16 : 0.19;
        bodies[k].transform.translate[2] = k == 2 ? 0.05 : 0.33;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 4;
    return contact_world(&def, method, iterations);
}

static void test_ropes_on_cloth_on_a_block(void **state)
{
    (void)state;
    for (int m = 0; m < 5; m++) {
        hk_mesh *meshes[4];
        hk_world *world = pile(METHODS[m].method, METHODS[m].iterations, meshes);
        int64_t touched;
        double least;
        int steps = SANITIZED ? 20 : m < 1 ? 500 : 100;
        step_without_intersection(world, METHODS[m].label, steps, &touched, &least);
        print_message("a pile by %s: %lld contacts, %.2g m left\n", METHODS[m].label,
                      (long long)touched, least);
        assert_true(touched > 100 && least > 0);
        hk_world_free(world);
        for (int k = 0; k < 3; k++) hk_mesh_free(meshes[k]);
    }
}

// A start at which a rope passes through a box is seen, exactly, and refused.
static void test_pierced_start_is_refused(void **state)
{
    (void)state;
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_mesh *box = box_mesh(0.2, 0.2, 0.2, 1, 1, 1), *rope = rope_mesh(1, 1);
    bodies[0].mesh = box;
    bodies[1].mesh = rope;
    bodies[1].material = rope_of(400, 2e-3, 0.2, "hinges", false);
    bodies[1].transform.translate[0] = -0.5;
    bodies[1].transform.translate[1] = bodies[1].transform.translate[2] = 0.09;
    hk_contact_def contact = hk_default_contact_def();
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    def.contact = &contact;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    hk_world *world = NULL;
    assert_int_equal(hk_world_create(&world_def, &world), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "overlap"));
    hk_model_free(model);
    hk_mesh_free(box);
    hk_mesh_free(rope);
}

// ---------------------------------------------------------------- a dress

// Two flat patterns are sewn together on the figure: in fewer and longer steps than the scene has
// them, and nothing passes through anything on the way.
static void test_dress_from_patterns(void **state)
{
    (void)state;
    static const char *const sets[] = {"contact.certify=true", "time.step=0.02",
                                       "solver.iterations=24", "obstacles.0.mesh.figure.cells=16",
                                       "seams.0.over=0.3",     "seams.1.over=0.3",
                                       "seams.2.over=0.3",     "seams.3.over=0.3"};
    hk_scene *scene;
    hk_model *model;
    hk_world *world = NULL;
    CHECK_OK(hk_scene_load("../scenes/dress-patterns.json", sets, 8, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    def.threads = 1;
    CHECK_OK(hk_world_create(&def, &world));
    int64_t touched;
    double least, gap[2] = {0};
    int seams = hk_model_point_spring_count(model), steps = SANITIZED ? 3 : 30;
    for (int n = 0; n < 2; n++) {
        if (n > 0) step_without_intersection(world, "dress", steps, &touched, &least);
        for (int s = 0; s < seams; s++) {
            hk_spring_state now;
            CHECK_OK(hk_world_spring_state(world, s, &now));
            gap[n] += now.length / seams;
        }
    }
    print_message("a dress: seams of %.3f m, in the mean, are %.4f m wide; %lld contacts\n", gap[0],
                  gap[1], (long long)touched);
    assert_true(gap[0] > 0.5 && least > 0);
    assert_true(SANITIZED || (gap[1] < 0.1 * gap[0] && touched > 1000));
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rope_over_a_bar),
        cmocka_unit_test(test_ropes_on_cloth_on_a_block),
        cmocka_unit_test(test_pierced_start_is_refused),
        cmocka_unit_test(test_dress_from_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
