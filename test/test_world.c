// Dynamics: free fall, momentum, first-order convergence in time, prescribed motion, the same bits
// for any number of threads, reports, and what is refused.
#include "bodies.h"

static void step(hk_world *world, int count)
{
    for (int k = 0; k < count; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
    }
}

static void momentum(const hk_world *world, double p[3], double l[3])
{
    const hk_model *model = hk_world_model(world);
    const double *m = hk_model_masses(model), *x = hk_world_positions(world);
    const double *v = hk_world_velocities(world);
    memset(p, 0, 3 * sizeof *p);
    memset(l, 0, 3 * sizeof *l);
    for (int k = 0; k < hk_model_vertex_count(model); k++)
        for (int i = 0; i < 3; i++) {
            int a = (i + 1) % 3, b = (i + 2) % 3;
            p[i] += m[k] * v[3 * k + i];
            l[i] += m[k] * (x[3 * k + a] * v[3 * k + b] - x[3 * k + b] * v[3 * k + a]);
        }
}

// Backward Euler falls exactly y = −g h² k(k+1)/2, without deforming.
static void test_free_fall(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of(hk_material_name(m), 1e5, 0.3);
        body.velocity[0] = 2;
        hk_world *world = world_of(model_of(&body, box_mesh(1, 0.5, 0.5, 3, 2, 2), -9.81), 0.01, 1);
        step(world, 20);
        const hk_model *model = hk_world_model(world);
        for (int v = 0; v < hk_model_vertex_count(model); v++) {
            const double *X = hk_model_rest_positions(model) + 3 * v;
            const double *x = hk_world_positions(world) + 3 * v;
            assert_true(fabs(x[0] - X[0] - 0.4) < 1e-7);
            assert_true(fabs(x[1] - X[1] + 9.81 * 1e-4 * 20 * 21 / 2) < 1e-7);
            assert_true(fabs(x[2] - X[2]) < 1e-7);
            assert_true(fabs(hk_world_velocities(world)[3 * v + 1] + 9.81 * 0.2) < 1e-6);
        }
        assert_true(fabs(hk_world_time(world) - 0.2) < 1e-12);
        hk_world_free(world);
    }
}

// A free body that wobbles: linear momentum stays. Backward Euler changes angular momentum by
// h Σ m v′ × v, which is all it may change by: elastic forces have no moment, Σ x′ × m (v′ − v) =
// 0.
static void test_momentum(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 2e4, 0.4);
    body.velocity[2] = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 0.4, 0.4, 5, 2, 2), 0), 0.01, 1);
    const hk_model *model = hk_world_model(world);
    int n = hk_model_vertex_count(model);
    double *v = malloc(3 * (size_t)n * 8), p0[3], p[3], l[3];
    uint64_t seed = 2;
    for (int k = 0; k < 3 * n; k++) v[k] = hk_world_velocities(world)[k] + 0.8 * noise(&seed);
    CHECK_OK(hk_world_set_velocities(world, v));
    momentum(world, p0, l);
    double size = sqrt(p0[0] * p0[0] + p0[1] * p0[1] + p0[2] * p0[2]);
    for (int k = 0; k < 30; k++) {
        double before[3], expected[3] = {0};
        momentum(world, p, before);
        memcpy(v, hk_world_velocities(world), 3 * (size_t)n * 8);
        step(world, 1);
        momentum(world, p, l);
        const double *m = hk_model_masses(model), *now = hk_world_velocities(world);
        for (int q = 0; q < n; q++)
            for (int i = 0; i < 3; i++) {
                int a = 3 * q + (i + 1) % 3, b = 3 * q + (i + 2) % 3;
                expected[i] += 0.01 * m[q] * (now[a] * v[b] - now[b] * v[a]);
            }
        for (int i = 0; i < 3; i++) {
            if (!(fabs(p[i] - p0[i]) < 1e-6 * size))
                fail_msg("momentum %d: %g, was %g", i, p[i], p0[i]);
            if (!(fabs(l[i] - before[i] - expected[i]) < 1e-6 * size))
                fail_msg("angular momentum %d: changed by %g, not %g", i, l[i] - before[i],
                         expected[i]);
        }
    }
    free(v);
    hk_world_free(world);
}

static hk_world *swing(double h, int threads)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 2e5, 0.4);
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    return world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81), h, threads);
}

static double tip(double h, double end)
{
    hk_world *world = swing(h, 1);
    step(world, (int)lround(end / h));
    const hk_model *model = hk_world_model(world);
    int last = hk_model_vertex_count(model) - 1;
    double y = hk_world_positions(world)[3 * last + 1];
    hk_world_free(world);
    return y;
}

static void test_backward_euler_is_first_order(void **state)
{
    (void)state;
    double y[4];
    for (int k = 0; k < 4; k++) y[k] = tip(0.02 / (1 << k), 0.16);
    double order[2];
    for (int k = 0; k < 2; k++) order[k] = log2((y[k] - y[k + 1]) / (y[k + 1] - y[k + 2]));
    printf("backward Euler: tip %.6f %.6f %.6f %.6f, observed orders %.2f %.2f\n", y[0], y[1], y[2],
           y[3], order[0], order[1]);
    assert_true(order[0] > 0.7 && order[0] < 1.4);
    assert_true(order[1] > 0.85 && order[1] < 1.2);
}

// Energy only falls (backward Euler damps), and a swinging beam ends where the pose is.
static void test_energy_falls_to_the_pose(void **state)
{
    (void)state;
    hk_world *world = swing(0.1, 1), *still = swing(0.1, 1);
    hk_energy before, after;
    CHECK_OK(hk_world_energy(world, &before, NULL));
    for (int k = 0; k < 200; k++) {
        step(world, 1);
        CHECK_OK(hk_world_energy(world, &after, NULL));
        assert_true(after.total <= before.total + 1e-6 * fabs(before.elastic + before.gravity));
        before = after;
    }
    hk_step_report r;
    CHECK_OK(hk_world_pose(still, &r));
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(world)); k++)
        assert_true(fabs(hk_world_positions(world)[k] - hk_world_positions(still)[k]) < 1e-4);
    hk_world_free(world);
    hk_world_free(still);
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    // Large enough that threads are used at all.
    double *first = NULL;
    for (int threads = 1; threads <= 4; threads *= 2) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of("mooney_rivlin", 2e5, 0.45);
        hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
        body.fixes = &wall;
        body.fix_count = 1;
        hk_world *world =
            world_of(model_of(&body, box_mesh(1, 0.3, 0.3, 20, 7, 7), -9.81), 0.02, threads);
        step(world, 2);
        hk_step_report r;
        CHECK_OK(hk_world_pose(world, &r));
        size_t bytes = 24 * (size_t)hk_model_vertex_count(hk_world_model(world));
        if (!first) {
            first = malloc(bytes);
            memcpy(first, hk_world_positions(world), bytes);
        }
        if (memcmp(first, hk_world_positions(world), bytes) != 0)
            fail_msg("%d threads give other bits", threads);
        hk_world_free(world);
    }
    free(first);
}

static void test_prescribed_motion(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector left = select_box(0, 0, 0, 0, 1, 1);
    hk_move_def turn = {.def_size = sizeof(hk_move_def),
                        .select = select_box(1, 0, 0, 1, 1, 1),
                        .motion = {.axis = {2, 0, 0},
                                   .center = {1, 0.5, 0.5},
                                   .degrees = 40,
                                   .translate = {0.1, 0, 0},
                                   .over = 0.1}};
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &turn;
    body.move_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 3, 3, 3), 0), 0.02, 1);
    const hk_model *model = hk_world_model(world);
    for (int k = 1; k <= 8; k++) {
        step(world, 1);
        double share = fmin(1, 0.2 * k), a = 40 * share * M_PI / 180;
        for (int v = 0; v < hk_model_vertex_count(model); v++) {
            const double *X = hk_model_rest_positions(model) + 3 * v;
            const double *x = hk_world_positions(world) + 3 * v;
            if (X[0] < 1e-9) assert_memory_equal(x, X, 24);
            if (X[0] < 1 - 1e-9) continue;
            double y = X[1] - 0.5, z = X[2] - 0.5;
            assert_true(fabs(x[0] - 1 - 0.1 * share) < 1e-12);
            assert_true(fabs(x[1] - 0.5 - cos(a) * y + sin(a) * z) < 1e-12);
            assert_true(fabs(x[2] - 0.5 - sin(a) * y - cos(a) * z) < 1e-12);
        }
    }
    hk_world_free(world);
}

// A jump that inverts tets at once is still made, in shares; one that cannot be made leaves the
// state as it was and says why.
static void test_violent_motion(void **state)
{
    (void)state;
    for (int impossible = 0; impossible < 2; impossible++) {
        hk_body_def body = hk_default_body_def();
        hk_selector left = select_box(0, 0, 0, 0, 1, 1);
        hk_move_def push = {.def_size = sizeof(hk_move_def),
                            .select = select_box(1, 0, 0, 1, 1, 1),
                            .motion = {.translate = {impossible ? -1.2 : -0.6, 0, 0}}};
        body.fixes = &left;
        body.fix_count = 1;
        body.moves = &push;
        body.move_count = 1;
        hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 4, 4, 4), 0), 0.01, 1);
        int n = hk_model_vertex_count(hk_world_model(world));
        double *before = malloc(24 * (size_t)n);
        memcpy(before, hk_world_positions(world), 24 * (size_t)n);
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (impossible) {
            assert_int_equal(hk_reason_outcome(r.reason), HK_OUTCOME_FAILED);
            assert_true(strlen(r.detail) > 0);
            assert_memory_equal(before, hk_world_positions(world), 24 * (size_t)n);
            assert_true(hk_world_time(world) == 0);
        } else if (r.reason != HK_CONVERGED) {
            fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
        }
        free(before);
        hk_world_free(world);
    }
}

static bool stop_at_two(void *context, const hk_iteration *it)
{
    (void)context;
    return it->iteration < 2;
}

static void test_budget_and_monitor(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    body.material.young = 1e5;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.1;
    def.solver.iterations = 1;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_ITERATION_LIMIT);
    assert_int_equal(r.iterations, 1);
    assert_non_null(strstr(r.detail, "1 iterations"));
    hk_world_free(world);
    def.solver.iterations = 0;
    CHECK_OK(hk_world_create(&def, &world));
    hk_world_set_monitor(world, stop_at_two, NULL);
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    hk_world_free(world);
    // A time step that is stopped is not made.
    CHECK_OK(hk_world_create(&def, &world));
    hk_world_set_monitor(world, stop_at_two, NULL);
    size_t bytes = 24 * (size_t)hk_model_vertex_count(model);
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    assert_true(hk_world_time(world) == 0);
    assert_memory_equal(hk_world_positions(world), hk_model_rest_positions(model), bytes);
    hk_world_free(world);
    hk_model_free(model);
}

static void expect_refusal(hk_status status, const char *fragment)
{
    if (status == HK_OK) fail_msg("accepted: %s", fragment);
    if (!strstr(hk_error(), fragment)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), fragment);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 1, 1, 1), 0);
    hk_world *world = NULL;
    hk_world_def def = hk_default_world_def();
    expect_refusal(hk_world_create(&def, &world), "model");
    def.model = model;
    def.step = 0;
    expect_refusal(hk_world_create(&def, &world), "time step");
    def.step = 0.01;
    def.integrator = "rk4";
    expect_refusal(hk_world_create(&def, &world), "known: backward_euler");
    def.integrator = "backward_euler";
    def.solver.method = "magic";
    expect_refusal(hk_world_create(&def, &world), "known: newton");
    def.solver.method = "newton";
    def.solver.tolerance = 2;
    expect_refusal(hk_world_create(&def, &world), "tolerance");
    def.solver.tolerance = 0;
    hk_option option = {.name = "projection", .text = "never"};
    def.solver.options = &option;
    def.solver.option_count = 1;
    expect_refusal(hk_world_create(&def, &world), "auto, always");
    option.name = "speed";
    expect_refusal(hk_world_create(&def, &world), "no option \"speed\"");
    def.solver.option_count = 0;
    def.backend = HK_BACKEND_CUDA;
    expect_refusal(hk_world_create(&def, &world), "backend \"cuda\"");
    def.backend = HK_BACKEND_AUTO;
    CHECK_OK(hk_world_create(&def, &world));
    double bad[24] = {NAN};
    expect_refusal(hk_world_set_positions(world, bad), "vertex 0");
    double values[24];
    expect_refusal(hk_world_field(world, "colour", values), "known: displacement");
    hk_world_free(world);
    hk_model_free(model);
    // Selections that select nothing, groups that are not there.
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_selector nowhere = select_box(5, 5, 5, 6, 6, 6);
    body.mesh = mesh;
    body.fixes = &nowhere;
    body.fix_count = 1;
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = &body;
    model_def.body_count = 1;
    expect_refusal(hk_model_create(&model_def, &model), "fix 0: it selects no vertex");
    nowhere = (hk_selector){.kind = HK_SELECT_GROUP, .group = "bone"};
    expect_refusal(hk_model_create(&model_def, &model), "no group \"bone\"");
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_fall),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_backward_euler_is_first_order),
        cmocka_unit_test(test_energy_falls_to_the_pose),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_prescribed_motion),
        cmocka_unit_test(test_violent_motion),
        cmocka_unit_test(test_budget_and_monitor),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
