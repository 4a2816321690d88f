// Live edits of worlds on the CPU: with every method, a world edited in mid-run goes on as one that
// was built that way; grabs, what they cost, and what is refused.
#include "live.h"
#include "world/world.h"

static const live_case CASES[] = {
    {"newton", "newton", "neo_hookean", NULL, NULL, 100, 1e-9, 0, NULL},
    {"newton, multigrid", "newton", "neo_hookean", "linear", "multigrid", 100, 1e-7, 0, NULL},
    {"descent", "descent", "neo_hookean", NULL, NULL, 2000, 2e-4, 0, NULL},
    {"descent, double", "descent", "neo_hookean", "precision", "double", 6000, 0, 1e-7, NULL},
    {"projective", "projective", "arap", NULL, NULL, 400, 2e-4, 0, NULL},
    {"projective, double", "projective", "arap", "precision", "double", 600, 0, 0, NULL},
    {"projective, chebyshev", "projective", "arap", "global", "chebyshev", 2000, 2e-4, 0, NULL},
    {"projective, gauss_seidel", "projective", "arap", "global", "gauss_seidel", 400, 2e-4, 0,
     NULL},
    {"projective, cg", "projective", "arap", "global", "cg", 400, 2e-4, 0, NULL},
    {"projective, multigrid", "projective", "arap", "global", "multigrid", 400, 2e-4, 0, NULL},
    {"gradient_descent", "gradient_descent", "neo_hookean", NULL, NULL, 20000, 1e-4, 0, NULL},
    {"nonlinear_cg", "nonlinear_cg", "neo_hookean", NULL, NULL, 4000, 0, 0, NULL},
    {"lbfgs", "lbfgs", "neo_hookean", NULL, NULL, 3000, 0, 0, NULL},
    {"quasi_newton", "quasi_newton", "neo_hookean", NULL, NULL, 400, 0, 0, NULL},
    {"quasi_newton, multigrid", "quasi_newton", "neo_hookean", "global", "multigrid", 400, 0, 0,
     NULL},
    {"quasi_newton, rest", "quasi_newton", "neo_hookean", "initial", "rest_hessian", 400, 0, 0,
     NULL},
    {"quasi_newton, updating", "quasi_newton", "neo_hookean", "initial", "updating_hessian", 400, 0,
     0, NULL},
    {"split", "split", "corotated", "multipliers", "reset", 1, 1e-5, 0, NULL},
    {"split, passes", "split", "corotated", "multipliers", "reset", 200, 2e-4, 0, NULL},
    {"admm", "admm", "neo_hookean", NULL, NULL, 2000, 2e-4, 0, NULL},
    {"xpbd", "xpbd", "neo_hookean", NULL, NULL, 0, 1e-5, 0, NULL},
    {"vbd", "vbd", "neo_hookean", NULL, NULL, 1000, 2e-4, 0, NULL},
    {"vbd, double", "vbd", "neo_hookean", "precision", "double", 2000, 0, 0, NULL},
};

static bool is_possible(const live_case *c, live_edit edit)
{
    return strcmp(c->method, "xpbd") != 0 || edit != EDIT_VISCOUS;
}

static void test_edits_are_as_built(void **state)
{
    (void)state;
    for (int k = 0; k < (int)(sizeof CASES / sizeof CASES[0]); k++)
        for (live_edit edit = 0; edit < EDIT_COUNT; edit++) {
            const live_case *c = &CASES[k];
            if (!is_possible(c, edit) || (SANITIZED && (k + (int)edit) % 3 != 0)) continue;
            double most = c->tolerance > 0 ? c->tolerance : 1e-5;
            // Sweeps go through the elements in an order that follows from the first rest
            // positions.
            if (strcmp(c->method, "xpbd") == 0 && edit == EDIT_REST) most = 5e-3;
            double away = live_difference(c, edit, HK_BACKEND_CPU);
            if (getenv("HOOKE_TABLE"))
                printf("%-26s %-10s %9.2e\n", c->label, EDIT_NAMES[edit], away);
            if (!(away < most))
                fail_msg("%s, %s: positions differ by %g of the motion", c->label, EDIT_NAMES[edit],
                         away);
        }
}

// ---------------------------------------------------------------- grabs

// A point of a surface triangle, pulled.
static hk_grab_def point_of_surface(const hk_model *m, double stiffness)
{
    int n = hk_model_vertex_count(m);
    hk_grab_def def = hk_default_grab_def();
    // The last corner of the bar and its neighbours along y and z.
    def.count = 3;
    def.vertices[0] = n - 1;
    const double *rest = hk_model_rest_positions(m), *corner = rest + 3 * (int64_t)(n - 1);
    for (int v = 0; v < n - 1; v++) {
        const double *x = rest + 3 * (int64_t)v;
        if (x[0] != corner[0]) continue;
        if (x[2] == corner[2] && fabs(x[1] - corner[1] + 0.125) < 1e-9) def.vertices[1] = v;
        if (x[1] == corner[1] && fabs(x[2] - corner[2] + 0.125) < 1e-9) def.vertices[2] = v;
    }
    def.weights[0] = 0.5, def.weights[1] = 0.2, def.weights[2] = 0.3;
    def.stiffness = stiffness;
    memcpy(def.target, LIVE_PLACE, sizeof def.target);
    return def;
}

// At rest the force of the grab is what holds the end of the bar: −∇E − f at its vertices, shared
// by the weights.
static void test_force_of_a_grab(void **state)
{
    (void)state;
    hk_world *w = live_world(&CASES[0], HK_BACKEND_CPU, NO_EDIT);
    const hk_model *m = hk_world_model(w);
    hk_grab_def def = point_of_surface(m, 300);
    int grab;
    CHECK_OK(hk_world_grab(w, &def, &grab));
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    double force[3], at[3] = {0}, size = 0;
    const double *x = hk_world_positions(w);
    CHECK_OK(hk_world_grab_force(w, grab, force));
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) at[i] += def.weights[k] * x[3 * def.vertices[k] + i];
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(force[i] - 300 * (LIVE_PLACE[i] - at[i])) < 1e-10);
        size += force[i] * force[i];
    }
    assert_true(size > 1);
    // All other forces on the body: gravity, the load and the reaction of the wall.
    int n = hk_model_vertex_count(m);
    double *gradient = malloc(3 * sizeof(double) * (size_t)n), sum[3] = {0, 4, 0};
    CHECK_OK(hk_world_energy(w, NULL, gradient));
    for (int v = 0; v < n; v++) {
        sum[1] -= 9.81 * hk_model_masses(m)[v];
        for (int i = 0; i < 3 && hk_model_rest_positions(m)[3 * v] == 0; i++)
            sum[i] += gradient[3 * v + i];
    }
    for (int i = 0; i < 3; i++)
        if (!(fabs(sum[i] + force[i]) < 1e-5))
            fail_msg("direction %d: %g N hold the bar, the grab has %g", i, -sum[i], force[i]);
    free(gradient);
    hk_world_free(w);
}

// Dragged about, let go, grabbed at two places: always as with Newton.
static void drag(hk_world *w)
{
    const hk_model *m = hk_world_model(w);
    hk_grab_def def = point_of_surface(m, 500);
    int first, second, third;
    CHECK_OK(hk_world_grab(w, &def, &first));
    for (int k = 0; k < 6; k++) {
        double target[3] = {1 + 0.02 * k, 0.1 + 0.03 * k, 0.1 * k};
        CHECK_OK(hk_world_move_grab(w, first, target));
        if (k == 2) {
            def.vertices[0] = 0, def.count = 1, def.weights[0] = 1;
            def.vertices[0] = hk_model_vertex_count(m) / 2;
            def.target[1] = -0.2;
            def.stiffness = 150;
            CHECK_OK(hk_world_grab(w, &def, &second));
            assert_int_not_equal(first, second);
        }
        if (k == 3) {  // vertices that no element joins
            hk_grab_def mean = point_of_surface(m, 300);
            mean.vertices[1] = hk_model_vertex_count(m) / 3;
            mean.vertices[2] = hk_model_vertex_count(m) / 2 + 3;
            CHECK_OK(hk_world_grab(w, &mean, &third));
        }
        if (k == 4) {
            CHECK_OK(hk_world_release_grab(w, first));
            CHECK_OK(hk_world_grab(w, &def, &first));
        }
        CHECK_OK(hk_world_step(w, NULL));
    }
}

static void test_dragging_as_with_newton(void **state)
{
    (void)state;
    for (int k = 1; k < (int)(sizeof CASES / sizeof CASES[0]); k++) {
        live_case c = CASES[k], exact = CASES[0];
        bool inexact = strcmp(c.method, "xpbd") == 0 || strcmp(c.label, "split") == 0;
        exact.material = c.material;
        hk_world *w = live_world(&c, HK_BACKEND_CPU, NO_EDIT);
        hk_world *truth = live_world(&exact, HK_BACKEND_CPU, NO_EDIT);
        drag(w);
        drag(truth);
        double away = relative_distance(w, truth), most = c.tolerance > 0 ? c.tolerance : 1e-5;
        if (getenv("HOOKE_TABLE")) printf("dragged, %-26s %9.2e\n", c.label, away);
        if (inexact) most = 0.2;  // of what one solve and volume constraints leave
        if (!(away < most)) fail_msg("%s: positions differ by %g of the motion", c.label, away);
        hk_world_free(w);
        hk_world_free(truth);
    }
}

// Neither a grab nor a target makes a constant matrix be factored again.
static void test_grabs_factor_nothing(void **state)
{
    (void)state;
    const char *const methods[] = {"quasi_newton", "projective", "admm", "split"};
    for (int k = 0; k < 4; k++) {
        live_case c = {
            methods[k], methods[k], k == 3 ? "corotated" : k == 1 ? "arap" : "neo_hookean",
            NULL,       NULL,       20,
            0,          0,          NULL};
        hk_world *w = live_world(&c, HK_BACKEND_CPU, NO_EDIT);
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        assert_true(r.phase_ms[HK_PHASE_FACTOR] > 0);
        CHECK_OK(hk_world_step(w, &r));
        void *solver = w->solver;
        live_apply(&c, EDIT_TARGETS, w);
        live_apply(&c, EDIT_GRAVITY, w);
        live_apply(&c, EDIT_FORCES, w);
        CHECK_OK(hk_world_step(w, &r));
        assert_true(r.phase_ms[HK_PHASE_FACTOR] == 0);
        live_apply(&c, EDIT_GRAB, w);
        CHECK_OK(hk_world_step(w, &r));
        assert_true(r.phase_ms[HK_PHASE_FACTOR] == 0);
        assert_ptr_equal(w->solver, solver);
        hk_world_free(w);
    }
}

// ---------------------------------------------------------------- integrators, sheets, models

static void test_integrators(void **state)
{
    (void)state;
    for (int k = 0; k < hk_integrator_count(); k++)
        for (live_edit edit = 0; edit < EDIT_COUNT; edit++) {
            if (SANITIZED && (k + (int)edit) % 3 != 0) continue;
            hk_model *models[2] = {live_model(&CASES[0], NO_EDIT), live_model(&CASES[0], NO_EDIT)};
            hk_world *w[2];
            for (int i = 0; i < 2; i++) {
                hk_world_def def = hk_default_world_def();
                def.model = models[i];
                def.step = 0.02;
                def.integrator = hk_integrator_name(k);
                CHECK_OK(hk_world_create(&def, &w[i]));
                hk_model_free(models[i]);
            }
            // Both are edited alike, but one has its solver made anew after that: nothing that an
            // edit should have changed is left in the other's.
            for (int i = 0; i < 2; i++) live_steps(&CASES[0], edit, w[i], 2);
            for (int i = 0; i < 2; i++) live_apply(&CASES[0], edit, w[i]);
            hk_solver_def same = hk_default_solver_def();
            CHECK_OK(hk_world_set_solver(w[1], &same));  // made anew, but for what it kept
            for (int i = 0; i < 2; i++) live_steps(&CASES[0], edit, w[i], 3);
            double away = relative_distance(w[0], w[1]);
            if (!(away < 1e-9))
                fail_msg("%s, %s: %g", hk_integrator_name(k), EDIT_NAMES[edit], away);
            for (int i = 0; i < 2; i++) hk_world_free(w[i]);
        }
}

static hk_world *sheet_world(double stretch, double density, double scale)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_SHEET);
    hk_mesh *mesh;
    shape.size[0] = shape.size[1] = 0.5;
    shape.cells[0] = shape.cells[1] = 5;
    CHECK_OK(hk_mesh_make(&shape, &mesh));
    double x[3 * 36];
    for (int k = 0; k < 3 * 36; k++) x[k] = scale * hk_mesh_positions(mesh)[k];
    CHECK_OK(hk_mesh_set_positions(mesh, x));
    hk_body_def body = hk_default_body_def();
    hk_selector edge = select_box(-1, -1, -1, 1e-9, 1, 1);
    body.material = hk_default_material_def();
    body.material.model = "mass_spring";
    body.material.density = density;
    body.material.parameters[0] = (hk_parameter){"stretch", stretch};
    body.material.parameters[1] = (hk_parameter){"bending", 1e-3};
    body.material.parameter_count = 2;
    body.fixes = &edge;
    body.fix_count = 1;
    return world_of(model_of(&body, mesh, -9.81), 0.02, 1);
}

static void test_sheets(void **state)
{
    (void)state;
    for (int edit = 0; edit < 2; edit++) {
        hk_world *edited = sheet_world(100, 0.3, 1);
        hk_world *built = edit ? sheet_world(100, 0.3, 1.1) : sheet_world(300, 0.5, 1);
        for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(edited, NULL));
        CHECK_OK(hk_world_set_positions(built, hk_world_positions(edited)));
        CHECK_OK(hk_world_set_velocities(built, hk_world_velocities(edited)));
        hk_material_def material = hk_default_material_def();
        material.model = "mass_spring";
        material.density = 0.5;
        material.parameters[0] = (hk_parameter){"stretch", 300};
        material.parameters[1] = (hk_parameter){"bending", 1e-3};
        material.parameter_count = 2;
        if (edit)
            CHECK_OK(hk_world_set_rest_positions(edited,
                                                 hk_model_rest_positions(hk_world_model(built))));
        else
            CHECK_OK(hk_world_set_material(edited, 0, NULL, &material));
        for (int k = 0; k < 3; k++) {
            CHECK_OK(hk_world_step(edited, NULL));
            CHECK_OK(hk_world_step(built, NULL));
        }
        assert_true(relative_distance(edited, built) < 1e-9);
        hk_world_free(edited);
        hk_world_free(built);
    }
}

// A model serves other worlds as before, and states go from one edited copy to another.
static void test_models_are_shared(void **state)
{
    (void)state;
    hk_model *model = live_model(&CASES[0], NO_EDIT);
    hk_world_def def = hk_default_world_def();
    hk_world *a, *b;
    def.model = model;
    CHECK_OK(hk_world_create(&def, &a));
    CHECK_OK(hk_world_create(&def, &b));
    hk_model_free(model);
    double mass = hk_model_masses(hk_world_model(b))[40];
    live_apply(&CASES[0], EDIT_MATERIAL, a);
    assert_ptr_not_equal(hk_world_model(a), hk_world_model(b));
    assert_true(hk_model_masses(hk_world_model(b))[40] == mass);
    assert_true(fabs(hk_model_masses(hk_world_model(a))[40] / mass - 0.7) < 1e-12);
    CHECK_OK(hk_world_step(a, NULL));
    CHECK_OK(hk_world_copy_state(b, a));
    assert_memory_equal(hk_world_positions(a), hk_world_positions(b),
                        3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(b)));
    hk_world_free(a);
    hk_world_free(b);
}

// ---------------------------------------------------------------- what is refused

static void expect(hk_status status, const char *words)
{
    assert_int_not_equal(status, HK_OK);
    if (!strstr(hk_error(), words)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), words);
}

// What a world says of itself is up to date.
static void test_description(void **state)
{
    (void)state;
    hk_world *w = live_world(&CASES[0], HK_BACKEND_CPU, NO_EDIT);
    assert_non_null(strstr(hk_world_describe(w), "step 0.02 s"));
    CHECK_OK(hk_world_set_step(w, 0.005));
    assert_non_null(strstr(hk_world_describe(w), "step 0.005 s"));
    hk_world_free(w);
}

static void test_refusals_change_nothing(void **state)
{
    (void)state;
    hk_world *w = live_world(&CASES[0], HK_BACKEND_CPU, NO_EDIT);
    hk_world *untouched = live_world(&CASES[0], HK_BACKEND_CPU, NO_EDIT);
    int n = hk_model_vertex_count(hk_world_model(w)), grab;
    int32_t last = n - 1, none = n;
    double place[3] = {0}, nan[3] = {0, NAN, 0}, *rest = calloc((size_t)n, 3 * sizeof(double));
    hk_material_def material = hk_default_material_def();
    hk_selector nowhere = select_box(5, 5, 5, 6, 6, 6);
    hk_load_def load = {.def_size = sizeof load, .select = nowhere, .force = {1, 0, 0}};
    hk_grab_def def = hk_default_grab_def();
    expect(hk_world_set_gravity(w, nan), "finite");
    expect(hk_world_set_step(w, -1), "greater than 0");
    expect(hk_world_set_damping(w, &(hk_damping){.air_per_vertex = -1}), "air");
    expect(hk_world_set_loads(w, 0, &load, 1), "selects no vertex");
    expect(hk_world_set_loads(w, 3, &load, 1), "no body 3");
    expect(hk_world_set_targets(w, 1, &last, place), "is not held");
    expect(hk_world_fix(w, 1, &none, NULL), "no vertex");
    expect(hk_world_fix(w, 1, &last, nan), "not finite");
    material.model = "jelly";
    expect(hk_world_set_material(w, 0, NULL, &material), "jelly");
    material.model = "arap";
    expect(hk_world_set_material(w, 0, &nowhere, &material), "selects no tet");
    expect(hk_world_set_rest_positions(w, rest), "no sound volume");
    expect(hk_world_grab(w, &def, &grab), "stiffness");
    def.stiffness = 1;
    def.weights[0] = 0.5;
    expect(hk_world_grab(w, &def, &grab), "add up to 1");
    def.count = 2, def.weights[1] = 0.5, def.vertices[1] = 0;
    expect(hk_world_grab(w, &def, &grab), "twice");
    expect(hk_world_move_grab(w, 0, place), "no grab 0");
    expect(hk_world_release_grab(w, 0), "no grab 0");
    live_steps(&CASES[0], EDIT_GRAB, w, 3);
    live_steps(&CASES[0], EDIT_GRAB, untouched, 3);
    assert_memory_equal(hk_world_positions(w), hk_world_positions(untouched),
                        3 * sizeof(double) * (size_t)n);
    free(rest);
    hk_world_free(w);
    hk_world_free(untouched);
}

// A material that the method cannot do is refused, and the world goes on with its own.
static void test_refused_by_the_method(void **state)
{
    (void)state;
    live_case c = {"split", "split", "corotated", NULL, NULL, 1, 0, 0, NULL};
    hk_world *w = live_world(&c, HK_BACKEND_CPU, NO_EDIT);
    hk_material_def material = material_of("fung", 1e5, 0.3);
    live_steps(&c, EDIT_MATERIAL, w, 1);
    expect(hk_world_set_material(w, 0, NULL, &material), "split");
    live_steps(&c, EDIT_MATERIAL, w, 1);
    c.method = c.label = "xpbd";
    hk_world *x = live_world(&c, HK_BACKEND_CPU, NO_EDIT);
    expect(hk_world_set_damping(x, &(hk_damping){.viscous = 0.1}), "viscous");
    live_steps(&c, EDIT_VISCOUS, x, 1);
    hk_world_free(w);
    hk_world_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edits_are_as_built),
        cmocka_unit_test(test_force_of_a_grab),
        cmocka_unit_test(test_dragging_as_with_newton),
        cmocka_unit_test(test_grabs_factor_nothing),
        cmocka_unit_test(test_integrators),
        cmocka_unit_test(test_sheets),
        cmocka_unit_test(test_models_are_shared),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_refusals_change_nothing),
        cmocka_unit_test(test_refused_by_the_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
