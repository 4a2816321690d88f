// Rigid parts: every optimising method comes to Newton's answer, nothing deforms, momentum holds.
#include "failing_alloc.h"
#include "rigid_bodies.h"

static void test_methods(void **state)
{
    (void)state;
    hk_model *model = arm_model(true, -9.81, NULL, 0);
    for (int k = 0; k < VARIANT_COUNT; k++)
        if (!SANITIZED || k % 5 == 0)
            compare_steps(model, &VARIANTS[k], SANITIZED ? 2 : 10, 1.0 / 30);
    hk_model_free(model);
}

static void test_poses(void **state)
{
    (void)state;
    hk_model *model = arm_model(true, -9.81, NULL, 0);
    hk_world *newton = world_by(model, 0.01, NULL);
    hk_step_report r;
    CHECK_OK(hk_world_pose(newton, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(deformation_of(newton) < 1e-12);
    for (int k = 0; k < VARIANT_COUNT; k++) {
        bool slow = strcmp(VARIANTS[k].method, "gradient_descent") == 0 ||
                    strcmp(VARIANTS[k].method, "admm") == 0;
        if (slow || (SANITIZED && k % 5)) continue;
        hk_world *own = world_by(model, 0.01, &VARIANTS[k]);
        CHECK_OK(hk_world_pose(own, &r));
        double apart = relative_distance(own, newton);
        print_message("%-26s %.1e from newton, %d iterations, %s\n", VARIANTS[k].label, apart,
                      r.iterations, hk_reason_name(r.reason));
        if (!(apart < 1e-3) || !(deformation_of(own) < 1e-12))
            fail_msg("%s: %g, deformed by %g", VARIANTS[k].label, apart, deformation_of(own));
        hk_world_free(own);
    }
    hk_world_free(newton);
    hk_model_free(model);
}

// ---------------------------------------------------------------- momentum

// Of all bodies: Σ m v and Σ x × m v, and how large their parts are.
typedef struct momenta {
    double linear[3], angular[3], size, turn;
} momenta;

static momenta momenta_of(const hk_world *w, const double *v)
{
    const hk_model *m = hk_world_model(w);
    const double *x = hk_world_positions(w), *mass = hk_model_masses(m);
    momenta sum = {.size = 0};
    for (int k = 0; k < hk_model_vertex_count(m); k++)
        for (int i = 0; i < 3; i++) {
            int a = 3 * k + (i + 1) % 3, b = 3 * k + (i + 2) % 3;
            double turn = mass[k] * (x[a] * v[b] - x[b] * v[a]);
            sum.linear[i] += mass[k] * v[3 * k + i];
            sum.angular[i] += turn;
            sum.size += fabs(mass[k] * v[3 * k + i]);
            sum.turn += fabs(turn);
        }
    return sum;
}

// A free arm that tumbles and is bent. Backward Euler keeps Σ x₁ × m v exactly, x₁ where the step
// ends, as it does without rigid parts; BDF2 keeps angular
// momentum as well as it does there, and better with smaller steps.
static void tumble(const char *integrator, double step, double *worst)
{
    hk_model *model = arm_model(false, 0, NULL, 0);
    int count = hk_model_vertex_count(model);
    const double *rest = hk_model_rest_positions(model);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.integrator = integrator;
    def.solver.tolerance = 1e-12;
    hk_world *w = NULL;
    CHECK_OK(hk_world_create(&def, &w));
    double *v = calloc(3 * (size_t)count, sizeof *v),
           *before = calloc(3 * (size_t)count, sizeof *v);
    for (int k = 0; k < count; k++) {
        v[3 * k] = 0.3 - 2 * rest[3 * k + 1];
        v[3 * k + 1] = 0.1 + 2 * rest[3 * k] + sin(5 * rest[3 * k]);
        v[3 * k + 2] = 3 * (rest[3 * k + 1] - 0.1);
    }
    CHECK_OK(hk_world_set_velocities(w, v));
    hk_step_report r;
    CHECK_OK(hk_world_step(w, &r));
    momenta start = momenta_of(w, hk_world_velocities(w));
    bool backward = strcmp(integrator, "backward_euler") == 0;
    *worst = 0;
    for (double time = 0; time < 0.4; time += step) {
        memcpy(before, hk_world_velocities(w), 3 * sizeof(double) * (size_t)count);
        CHECK_OK(hk_world_step(w, &r));
        momenta now = momenta_of(w, hk_world_velocities(w)), then = momenta_of(w, before);
        assert_true(deformation_of(w) < 1e-12);
        for (int i = 0; i < 3; i++) {
            double moved = fabs(now.linear[i] - start.linear[i]);
            double turned = fabs(now.angular[i] - (backward ? then : start).angular[i]);
            if (!(moved < 1e-11 * start.size)) fail_msg("momentum: %g of %g", moved, start.size);
            *worst = fmax(*worst, turned / start.turn);
        }
    }
    free(v);
    free(before);
    hk_world_free(w);
    hk_model_free(model);
}

static void test_momentum(void **state)
{
    (void)state;
    double worst, fine;
    tumble("backward_euler", 0.02, &worst);
    print_message("backward_euler: angular momentum to %.1e\n", worst);
    assert_true(worst < 1e-9);
    tumble("bdf2", 0.02, &worst);
    tumble("bdf2", 0.005, &fine);
    print_message("bdf2: angular momentum to %.1e, with a quarter of the step %.1e\n", worst, fine);
    assert_true(worst < 1e-3 && fine < worst / 3);
}

// ---------------------------------------------------------------- bits, states

static void test_threads(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "descent", "vbd", "admm"};
    for (int k = 0; k < (int)(sizeof methods / sizeof *methods); k++) {
        hk_world *w[2];
        for (int n = 0; n < 2; n++) {
            hk_world_def def = hk_default_world_def();
            hk_model *model = arm_model(true, -9.81, NULL, 0);
            def.model = model;
            def.threads = n ? 3 : 1;
            def.solver.method = methods[k];
            CHECK_OK(hk_world_create(&def, &w[n]));
            for (int s = 0; s < 4; s++) CHECK_OK(hk_world_step(w[n], NULL));
            hk_model_free(model);
        }
        size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(w[0]));
        assert_memory_equal(hk_world_positions(w[0]), hk_world_positions(w[1]), bytes);
        hk_world_free(w[0]);
        hk_world_free(w[1]);
    }
}

static void test_states(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "descent",
                                          "vbd",    "lbfgs",        NULL};
    for (int k = 0; k < (int)(sizeof methods / sizeof *methods); k++) {
        variant v = VARIANTS[0];  // Newton's method by multigrid
        if (methods[k]) v = (variant){methods[k], methods[k], {{0}}, 0, 0};
        hk_model *model = arm_model(true, -9.81, NULL, 0);
        hk_world *a = world_by(model, 0.02, &v), *b = world_by(model, 0.02, &v);
        for (int s = 0; s < 5; s++) CHECK_OK(hk_world_step(a, NULL));
        CHECK_OK(hk_world_save_state(a, "rigid_parts.state"));
        CHECK_OK(hk_world_load_state(b, "rigid_parts.state"));
        remove("rigid_parts.state");
        for (int s = 0; s < 5; s++) {
            CHECK_OK(hk_world_step(a, NULL));
            CHECK_OK(hk_world_step(b, NULL));
        }
        size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
        assert_memory_equal(hk_world_positions(a), hk_world_positions(b), bytes);
        assert_memory_equal(hk_world_velocities(a), hk_world_velocities(b), bytes);
        hk_world_free(a);
        hk_world_free(b);
        hk_model_free(model);
    }
}

// A grab pulls at a bone and at the tissue beside it, comes and goes: as under Newton's method.
static void test_grab(void **state)
{
    (void)state;
    static const char *const methods[] = {"quasi_newton", "lbfgs",   "projective",
                                          "admm",         "descent", "vbd"};
    hk_model *model = arm_model(true, -9.81, NULL, 0);
    int32_t bone = hk_model_rigid_part_vertices(model, 1, NULL)[3], soft = -1;
    for (int v = 0; v < hk_model_vertex_count(model) && soft < 0; v++)
        if (fabs(hk_model_rest_positions(model)[3 * v] - 0.6) < 1e-9) soft = v;
    hk_grab_def def = hk_default_grab_def();
    def.count = 2;
    def.vertices[0] = bone, def.vertices[1] = soft;
    def.weights[0] = 0.7, def.weights[1] = 0.3;
    def.stiffness = 3000;
    def.target[0] = 0.9, def.target[1] = 0.5, def.target[2] = 0.2;
    for (int k = 0; k < (int)(sizeof methods / sizeof *methods); k++) {
        variant v = {methods[k], methods[k], {{0}}, 0, 0};
        hk_world *w[2] = {world_by(model, 0.02, &v), world_by(model, 0.02, NULL)};
        for (int n = 0; n < 2; n++) {
            int grab;
            hk_step_report r;
            CHECK_OK(hk_world_step(w[n], NULL));
            CHECK_OK(hk_world_grab(w[n], &def, &grab));
            for (int s = 0; s < 5; s++) CHECK_OK(hk_world_step(w[n], NULL));
            CHECK_OK(hk_world_release_grab(w[n], grab));
            CHECK_OK(hk_world_step(w[n], &r));
            assert_int_equal(r.reason, HK_CONVERGED);
        }
        double apart = relative_distance(w[0], w[1]);
        if (!(apart < 1e-5)) fail_msg("%s: %g from newton", methods[k], apart);
        assert_true(deformation_of(w[0]) < 1e-12);
        hk_world_free(w[0]);
        hk_world_free(w[1]);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- holds

// What holds enough of a part holds all of it, and a move turns it as it is.
static void test_held(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 10, 2, 2);
    hk_region_def bone = hk_default_region_def();
    bone.select = select_box(-1, -1, -1, 0.45, 1, 1);
    bone.rigid = 1;
    bone.name = "bone";
    bone.material = material_of("arap", 1e5, 0.3);
    hk_move_def move = hk_default_move_def();
    move.select = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    move.motion.axis[1] = 0, move.motion.axis[2] = 1;
    move.motion.degrees = 90;
    move.motion.over = 0.2;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("arap", 1e5, 0.3);
    body.regions = &bone;
    body.region_count = 1;
    body.moves = &move;
    body.move_count = 1;
    hk_world *w = world_of(model_of(&body, mesh, 0), 0.02, 1);
    for (int k = 0; k < 15; k++) CHECK_OK(hk_world_step(w, NULL));
    hk_rigid_state s;
    CHECK_OK(hk_world_rigid_state(w, 0, &s));
    assert_true(fabs(s.rotation[0][0]) < 1e-12 && fabs(s.rotation[1][0] - 1) < 1e-12);
    assert_true(s.deformation < 1e-12);
    int32_t vertex = hk_model_rigid_part_vertices(hk_world_model(w), 0, NULL)[0];
    assert_int_equal(hk_world_fix(w, 1, &vertex, NULL), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "bone"));
    hk_world_free(w);
}

// ---------------------------------------------------------------- memory

static const char small_arm[] =
    "{\"time\": {\"step\": 0.02, \"steps\": 2},"
    " \"joints\": [{\"name\": \"j\", \"kind\": \"hinge\", \"between\": [\"world\", \"a\"],"
    "  \"at\": [0, 0, 0], \"axis\": [0, 0, 1]}],"
    " \"constraints\": [{\"name\": \"c\", \"kind\": \"plane\", \"body\": \"bar\","
    "  \"select\": {\"box\": [[0.9, -1, -1], [2, 1, 1]]}, \"axis\": [1, 1, 0]}],"
    " \"bodies\": [{\"name\": \"bar\","
    "  \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [5, 1, 1]}},"
    "  \"material\": {\"model\": \"arap\", \"young\": 1e4, \"poisson\": 0.3},"
    "  \"regions\": [{\"name\": \"a\", \"rigid\": true,"
    "   \"select\": {\"box\": [[-1, -1, -1], [0.5, 1, 1]]},"
    "   \"material\": {\"model\": \"arap\", \"young\": 1e4, \"poisson\": 0.3}}]}]}";

static hk_status open_small(const char *method, hk_world **w)
{
    char set[64];
    const char *sets[] = {set};
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    snprintf(set, sizeof set, "solver.method=%s", method);
    hk_status status = hk_scene_parse(small_arm, strlen(small_arm), "arm", sets, 1, &scene);
    if (status == HK_OK) status = hk_model_create(hk_scene_model(scene), &model);
    if (status == HK_OK) {
        hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
        def.model = model;
        def.threads = 1;
        status = hk_world_create(&def, w);
    }
    hk_model_free(model);
    hk_scene_free(scene);
    return status;
}

// Every allocation that fails is told, and nothing leaks; a warm step needs none.
static void test_memory(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "vbd", "descent", "lbfgs"};
    for (int k = 0; k < (int)(sizeof methods / sizeof *methods); k++) {
        for (int n = 1;; n += SANITIZED ? 17 : 1) {
            failing_alloc_install(n);
            hk_world *w = NULL;
            hk_status status = open_small(methods[k], &w);
            if (status == HK_OK) status = hk_world_step(w, NULL);
            hk_world_free(w);
            bool reached = failing_alloc_count() >= n;
            int left = failing_alloc_live();
            failing_alloc_remove();
            assert_int_equal(left, 0);
            if (!reached) break;
        }
        failing_alloc_install(0);
        hk_world *w = NULL;
        CHECK_OK(open_small(methods[k], &w));
        for (int s = 0; s < 3; s++) CHECK_OK(hk_world_step(w, NULL));
        int before = failing_alloc_count();
        for (int s = 0; s < 3; s++) CHECK_OK(hk_world_step(w, NULL));
        if (failing_alloc_count() != before)
            fail_msg("%s: a warm step allocates %d times", methods[k],
                     failing_alloc_count() - before);
        hk_world_free(w);
        failing_alloc_remove();
    }
}

// ---------------------------------------------------------------- what is refused

static void refuse(hk_body_def *body, const char *word)
{
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 1;
    hk_model *model = NULL;
    assert_int_not_equal(hk_model_create(&def, &model), HK_OK);
    if (!strstr(hk_error(), word)) fail_msg("\"%s\" is not in: %s", word, hk_error());
}

static void test_refused(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 10, 2, 2);
    hk_region_def bones[2] = {hk_default_region_def(), hk_default_region_def()};
    for (int k = 0; k < 2; k++) {
        bones[k].select = select_box(0.5 * k, -1, -1, 0.5 + 0.5 * k, 1, 1);
        bones[k].rigid = 1;
        bones[k].material = material_of("arap", 1e5, 0.3);
    }
    hk_body_def body = hk_default_body_def();
    body.name = "bar";
    body.mesh = mesh;
    body.material = material_of("arap", 1e5, 0.3);
    body.regions = bones;
    body.region_count = 2;
    refuse(&body, "rigid parts bar.0 and bar.1 have vertex");
    bones[1].select = bones[0].select;
    refuse(&body, "rigid part bar.0 has no tets");
    body.region_count = 1;
    int32_t two[2] = {0, 1};
    hk_selector fix = {.kind = HK_SELECT_VERTICES, .vertices = two, .vertex_count = 2};
    body.fixes = &fix;
    body.fix_count = 1;
    refuse(&body, "use a joint to the world");
    uint8_t axes = HK_AXIS_X;
    body.fix_axes = &axes;
    refuse(&body, "\"axes\"");
    body.fix_count = 0;
    // What knows nothing of them says so.
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world *w = world_by(model, 0.01, NULL);
    hk_analysis *analysis = NULL;
    assert_int_equal(hk_analysis_create(w, &analysis), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "rigid parts"));
    hk_rigid_state s;
    hk_joint_state j;
    assert_int_equal(hk_world_rigid_state(w, 1, &s), HK_BAD_INPUT);
    assert_int_equal(hk_world_joint_state(w, 0, &j), HK_BAD_INPUT);
    hk_world_free(w);
    hk_model_free(model);
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),  cmocka_unit_test(test_poses),
        cmocka_unit_test(test_momentum), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_states),   cmocka_unit_test(test_grab),
        cmocka_unit_test(test_held),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
