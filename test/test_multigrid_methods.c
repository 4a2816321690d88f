// quasi_newton and projective with multigrid instead of a factor, held to Newton's answer.
#include "bodies.h"

typedef struct method_case {
    const char *method, *material;
} method_case;
static const method_case METHODS[] = {
    {"quasi_newton", "neo_hookean"}, {"quasi_newton", "corotated"}, {"projective", "arap"}};
enum { METHOD_COUNT = sizeof METHODS / sizeof METHODS[0] };

// Bars of 20 × 4 × 4 cells one above the other, held at their left ends; 500 free vertices each.
static hk_model *bars(const char *material, int count)
{
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 20, 4, 4);
    hk_selector wall = select_box(0, -1, -1, 0, 9, 1);
    hk_body_def bodies[3];
    for (int k = 0; k < count; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].material = material_of(material, k == 1 ? 1e6 : 2e5, 0.3);
        bodies[k].transform.translate[1] = k;
        bodies[k].fixes = &wall;
        bodies[k].fix_count = 1;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = count;
    def.gravity[1] = -9.81;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_world *world_with(const hk_model *model, const char *method, int threads)
{
    hk_world_def def = hk_default_world_def();
    const hk_option options[] = {{"precision", 0, "double"}, {"global", 0, "multigrid"}};
    def.model = model;
    def.step = 1.0 / 60;
    def.threads = threads;
    def.solver.method = method;
    def.solver.tolerance = 1e-8;
    def.solver.iterations = 3000;
    if (strcmp(method, "newton") != 0) {
        def.solver.options = options;
        def.solver.option_count = 2;
    }
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

static void check_converged(const hk_step_report *r)
{
    if (r->reason != HK_CONVERGED)
        fail_msg("%s: %s, %.1e", hk_reason_name(r->reason), r->detail, r->relative_residual);
}

// Six steps, the last three of them with the end of a bar pulled.
static void take_steps(hk_world *world, bool grabbed)
{
    for (int k = 0; k < 6; k++) {
        if (grabbed && k == 3) {
            hk_grab_def def = hk_default_grab_def();
            const double *rest = hk_model_rest_positions(hk_world_model(world));
            while (rest[3 * def.vertices[0]] < 1) def.vertices[0]++;
            def.stiffness = 500;
            memcpy(def.target, rest + 3 * def.vertices[0], sizeof def.target);
            def.target[1] += 0.1;
            int grab;
            CHECK_OK(hk_world_grab(world, &def, &grab));
        }
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        check_converged(&r);
    }
}

// Residuals of 1e-8 leave positions within 1e-6 of the motion.
static void check_steps(int bodies, bool grabbed)
{
    for (int k = 0; k < METHOD_COUNT; k++) {
        hk_model *model = bars(METHODS[k].material, bodies);
        hk_world *newton = world_with(model, "newton", 1);
        hk_world *world = world_with(model, METHODS[k].method, 1);
        take_steps(newton, grabbed);
        take_steps(world, grabbed);
        double off = relative_distance(world, newton);
        if (!(off < 1e-6)) fail_msg("%s: %.1e", METHODS[k].method, off);
        hk_world_free(newton);
        hk_world_free(world);
        hk_model_free(model);
    }
}

static void test_steps(void **state)
{
    (void)state;
    check_steps(1, false);
}

static void test_steps_of_several_bodies(void **state)
{
    (void)state;
    check_steps(3, false);
}

static void test_steps_with_grabs(void **state)
{
    (void)state;
    check_steps(1, true);
}

// A pose has no inertia: a residual of 1e-8 leaves 1e-5 of the motion.
static void test_poses(void **state)
{
    (void)state;
    for (int k = 0; k < METHOD_COUNT; k++) {
        hk_model *model = bars(METHODS[k].material, 1);
        hk_world *newton = world_with(model, "newton", 1);
        hk_world *world = world_with(model, METHODS[k].method, 1);
        hk_step_report r;
        CHECK_OK(hk_world_pose(newton, &r));
        check_converged(&r);
        CHECK_OK(hk_world_pose(world, &r));
        check_converged(&r);
        double off = relative_distance(world, newton);
        if (!(off < 1e-5)) fail_msg("%s: %.1e", METHODS[k].method, off);
        hk_world_free(newton);
        hk_world_free(world);
        hk_model_free(model);
    }
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    for (int k = 0; k < METHOD_COUNT; k++) {
        hk_model *model = bars(METHODS[k].material, 1);
        hk_world *one = world_with(model, METHODS[k].method, 1);
        hk_world *three = world_with(model, METHODS[k].method, 3);
        take_steps(one, true);
        take_steps(three, true);
        assert_memory_equal(hk_world_positions(one), hk_world_positions(three),
                            3 * sizeof(double) * (size_t)hk_model_vertex_count(model));
        hk_world_free(one);
        hk_world_free(three);
        hk_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_steps_of_several_bodies),
        cmocka_unit_test(test_steps_with_grabs),
        cmocka_unit_test(test_poses),
        cmocka_unit_test(test_same_bits_for_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
