// Joints: every kind with every method, pendulums as theory has them, and what is refused.
#include "rigid_bodies.h"

static hk_joint_def joint_of(hk_joint_kind kind, const char *a, const char *b, double x, double y,
                             double z)
{
    hk_joint_def j = hk_default_joint_def();
    j.kind = kind;
    j.parts[0] = a;
    j.parts[1] = b;
    j.at[0] = x, j.at[1] = y, j.at[2] = z;
    j.axis[0] = 0.1, j.axis[1] = 0.2, j.axis[2] = 1;
    return j;
}

// Two bones in soft tissue that a joint ties, and one of them to the world.
static void test_methods(void **state)
{
    (void)state;
    for (int kind = 0; kind < HK_JOINT_KINDS; kind++) {
        hk_joint_def joints[2] = {joint_of(kind, "upper", "lower", 0.6, 0.1, 0.1),
                                  joint_of(HK_JOINT_BALL, NULL, "upper", 0.05, 0.1, 0.1)};
        hk_model *model = arm_model(kind > 0, -9.81, joints, 1 + (kind != HK_JOINT_SLIDER));
        print_message("%s\n", hk_joint_kind_name(kind));
        for (int k = 0; k < VARIANT_COUNT; k++) {
            bool chosen = kind == HK_JOINT_HINGE || k % 3 == kind % 3;
            if (SANITIZED ? k % 7 == 0 : chosen)
                compare_steps(model, &VARIANTS[k], SANITIZED ? 2 : 6, 1.0 / 30);
        }
        hk_model_free(model);
    }
}

// ---------------------------------------------------------------- pendulums

static hk_model *chain_model(int links, hk_joint_def *joints, double gravity)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    hk_mesh *mesh = box_mesh(0.3, 0.1, 0.1, 3, 1, 1);
    hk_body_def bodies[4];
    for (int k = 0; k < links; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].name = names[k];
        bodies[k].mesh = mesh;
        bodies[k].rigid = 1;
        bodies[k].material = material_of("arap", 1e5, 0.3);
        bodies[k].transform.translate[0] = 0.3 * k;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = links;
    def.gravity[1] = gravity;
    def.joints = joints;
    def.joint_count = links;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// A rigid box on a hinge: small swings about the lower equilibrium have the period
// 2π √(I/(m g d)), I and d about the hinge by the vertices' masses.
static void test_pendulum(void **state)
{
    (void)state;
    hk_joint_def j = joint_of(HK_JOINT_HINGE, NULL, "a", 0.02, 0.05, 0.05);
    j.axis[0] = j.axis[1] = 0;
    hk_model *model = chain_model(1, &j, 0);
    const double *X = hk_model_rest_positions(model), *mass = hk_model_masses(model);
    double inertia = 0, moment = 0;
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        double x = X[3 * v] - j.at[0], y = X[3 * v + 1] - j.at[1];
        inertia += mass[v] * (x * x + y * y);
        moment += mass[v] * x;
    }
    hk_model_free(model);
    // Gravity along the box: it hangs, and is pushed a little.
    double period = 2 * acos(-1.0) * sqrt(inertia / (9.81 * moment));
    for (int fine = 1; fine <= 2; fine++) {
        hk_mesh *mesh = box_mesh(0.3, 0.1, 0.1, 3, 1, 1);
        hk_body_def body = hk_default_body_def();
        body.name = "a";
        body.mesh = mesh;
        body.rigid = 1;
        body.material = material_of("arap", 1e5, 0.3);
        hk_model_def with = hk_default_model_def();
        with.bodies = &body;
        with.body_count = 1;
        with.gravity[0] = 9.81, with.gravity[1] = 0;
        with.joints = &j;
        with.joint_count = 1;
        hk_model *m = NULL;
        CHECK_OK(hk_model_create(&with, &m));
        hk_mesh_free(mesh);
        hk_world_def wd = hk_default_world_def();
        wd.model = m;
        wd.step = period / (100 * fine);
        wd.integrator = "bdf2";
        wd.solver.tolerance = 1e-10;
        hk_world *w = NULL;
        CHECK_OK(hk_world_create(&wd, &w));
        double *v = calloc(3 * (size_t)hk_model_vertex_count(m), sizeof *v);
        for (int k = 0; k < hk_model_vertex_count(m); k++) {
            v[3 * k] = -0.2 * (hk_model_rest_positions(m)[3 * k + 1] - j.at[1]);
            v[3 * k + 1] = 0.2 * (hk_model_rest_positions(m)[3 * k] - j.at[0]);
        }
        CHECK_OK(hk_world_set_velocities(w, v));
        free(v);
        // From one zero crossing of the turn upwards to the next.
        double last = 0, crossed[2] = {0};
        int found = 0;
        for (int n = 1; found < 2 && n < 1000; n++) {
            hk_joint_state s;
            CHECK_OK(hk_world_step(w, NULL));
            CHECK_OK(hk_world_joint_state(w, 0, &s));
            assert_true(s.error < 1e-13 && deformation_of(w) < 1e-12);
            if (last < 0 && s.turn >= 0)
                crossed[found++] = (n - s.turn / (s.turn - last)) * wd.step;
            last = s.turn;
        }
        double measured = crossed[1] - crossed[0], off = fabs(measured / period - 1);
        print_message("period %.6f s of %.6f s\n", measured, period);
        assert_true(off < (fine == 1 ? 4e-3 : 1e-3));
        hk_world_free(w);
        hk_model_free(m);
    }
}

// A chain of four links on balls swings for two seconds: joints hold, and the answer of Newton's
// method is found in few iterations, for the curvature of joints belongs to its Hessian.
static void test_chain(void **state)
{
    (void)state;
    hk_joint_def joints[4] = {joint_of(HK_JOINT_BALL, NULL, "a", 0, 0.05, 0.05),
                              joint_of(HK_JOINT_HINGE, "a", "b", 0.3, 0.05, 0.05),
                              joint_of(HK_JOINT_BALL, "c", "b", 0.6, 0.05, 0.05),
                              joint_of(HK_JOINT_HINGE, "c", "d", 0.9, 0.05, 0.05)};
    hk_model *model = chain_model(4, joints, -9.81);
    hk_world *w = world_by(model, 0.02, NULL);
    int most = 0;
    for (int n = 0; n < 100; n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        if (r.reason != HK_CONVERGED) fail_msg("step %d: %s", n, r.detail);
        most = r.iterations > most ? r.iterations : most;
        assert_true(joint_error_of(w) < 1e-12 && deformation_of(w) < 1e-12);
    }
    print_message("%d iterations at most\n", most);
    assert_true(most <= 8);
    hk_world_free(w);
    static const char *const methods[] = {"quasi_newton", "lbfgs", "descent", "vbd", "admm"};
    for (int k = 0; k < 5; k++) {
        variant v = {methods[k], methods[k], {{0}}, 0, 1e-4};
        compare_steps(model, &v, 10, 0.02);
    }
    hk_model_free(model);
}

static void test_slide(void **state)
{
    (void)state;
    // Along an inclined axis through the world it falls with g times the sine.
    hk_joint_def j = joint_of(HK_JOINT_SLIDER, NULL, "a", 0, 0, 0);
    j.axis[0] = 1, j.axis[1] = -1, j.axis[2] = 0;
    hk_model *model = chain_model(1, &j, -9.81);
    hk_world *w = world_by(model, 0.01, NULL);
    for (int n = 0; n < 10; n++) CHECK_OK(hk_world_step(w, NULL));
    hk_joint_state s;
    CHECK_OK(hk_world_joint_state(w, 0, &s));
    // Backward Euler: h² (1 + 2 + …) of the acceleration along it.
    double expected = 55 * 1e-4 * 9.81 / sqrt(2);
    assert_true(fabs(s.slide / expected - 1) < 1e-9 && s.error < 1e-13 && s.turn == 0);
    hk_world_free(w);
    hk_model_free(model);
}

// The scene that comes along: the forearm turns about the elbow, and about nothing else.
static void test_elbow(void **state)
{
    (void)state;
    hk_scene *scene;
    hk_model *model;
    hk_world *w;
    CHECK_OK(hk_scene_load("../scenes/elbow.json", NULL, 0, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &w));
    hk_model_free(model);
    hk_scene_free(scene);
    int elbow = hk_model_find_joint(model, "elbow");
    int humerus = hk_model_find_rigid_part(model, "humerus");
    assert_int_equal(hk_model_joint_count(model), 2);
    assert_true(elbow >= 0 && humerus >= 0);
    hk_joint_state s = {.turn = 0};
    double most = 0;
    for (int n = 0; n < (SANITIZED ? 2 : 15); n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        CHECK_OK(hk_world_joint_state(w, elbow, &s));
        assert_true(s.error < 1e-14 && fabs(s.axis[2] - 1) < 1e-14);
        most = fmax(most, fabs(s.turn));
        assert_true(deformation_of(w) < 1e-12);
    }
    print_message("turned by up to %g\n", most);
    assert_true(most > (SANITIZED ? 1e-4 : 0.01));
    hk_rigid_state still;
    CHECK_OK(hk_world_rigid_state(w, humerus, &still));
    for (int i = 0; i < 3; i++) assert_true(fabs(still.rotation[i][i] - 1) < 1e-15);
    hk_world_free(w);
}

// ---------------------------------------------------------------- what is refused

static void refuse(const hk_joint_def *joints, int count, const char *word)
{
    hk_mesh *mesh = box_mesh(0.3, 0.1, 0.1, 3, 1, 1);
    hk_body_def bodies[3];
    static const char *const names[] = {"a", "b", "soft"};
    for (int k = 0; k < 3; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].name = names[k];
        bodies[k].mesh = mesh;
        bodies[k].rigid = k < 2;
        bodies[k].material = material_of("arap", 1e5, 0.3);
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 3;
    def.joints = joints;
    def.joint_count = count;
    hk_model *model = NULL;
    assert_int_not_equal(hk_model_create(&def, &model), HK_OK);
    if (!strstr(hk_error(), word)) fail_msg("\"%s\" is not in: %s", word, hk_error());
    hk_mesh_free(mesh);
}

static void test_refused(void **state)
{
    (void)state;
    hk_joint_def loop[3] = {joint_of(HK_JOINT_BALL, "a", "b", 0, 0, 0),
                            joint_of(HK_JOINT_BALL, "a", "b", 0.1, 0, 0)};
    refuse(loop, 2, "closes a loop");
    loop[1] = joint_of(HK_JOINT_BALL, "a", NULL, 0, 0, 0);
    loop[2] = joint_of(HK_JOINT_BALL, "b", NULL, 0, 0, 0);
    refuse(loop, 3, "closes a loop");
    hk_joint_def one = joint_of(HK_JOINT_BALL, "a", "nobody", 0, 0, 0);
    refuse(&one, 1, "there is no rigid part \"nobody\" (there are: a, b)");
    one = joint_of(HK_JOINT_BALL, "a", "soft", 0, 0, 0);
    refuse(&one, 1, "there is no rigid part \"soft\"");
    one = joint_of(HK_JOINT_BALL, "a", "a", 0, 0, 0);
    refuse(&one, 1, "with itself");
    one = joint_of(HK_JOINT_HINGE, "a", "b", 0, 0, 0);
    one.axis[0] = one.axis[1] = one.axis[2] = 0;
    refuse(&one, 1, "axis has no length");
    one = joint_of(HK_JOINT_HINGE, "a", "b", NAN, 0, 0);
    refuse(&one, 1, "not finite");
    one.kind = 17;
    refuse(&one, 1, "no kind of joint 17");
    // Nothing elastic brings a pendulum to rest.
    one = joint_of(HK_JOINT_BALL, NULL, "a", 0, 0, 0);
    hk_model *pendulum = chain_model(1, &one, -9.81);
    hk_world *hanging = world_by(pendulum, 0.01, NULL);
    assert_int_equal(hk_world_pose(hanging, NULL), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "all is rigid"));
    hk_world_free(hanging);
    hk_model_free(pendulum);
    // Methods that move single vertices or elements.
    static const char *const methods[] = {"xpbd", "split", "linear_implicit"};
    hk_model *model = arm_model(true, -9.81, NULL, 0);
    for (int k = 0; k < 3; k++) {
        hk_world_def def = hk_default_world_def();
        def.model = model;
        def.solver.method = methods[k];
        hk_world *w = NULL;
        assert_int_equal(hk_world_create(&def, &w), HK_UNSUPPORTED);
        assert_non_null(strstr(hk_error(), "rigid parts"));
    }
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods), cmocka_unit_test(test_pendulum),
        cmocka_unit_test(test_chain),   cmocka_unit_test(test_slide),
        cmocka_unit_test(test_elbow),   cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
