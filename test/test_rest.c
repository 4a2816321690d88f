// Rest shapes: there and back for every material and several bodies, all methods alike, and the
// cases that have no answer.
#include "bodies.h"

#include "design/rest_solver.h"
#include "model/model.h"

// ---------------------------------------------------------------- bodies

typedef enum shape { CANTILEVER, CURVED, MIXED, SHAPES } shape;
static const char *const shape_names[] = {"cantilever", "helix", "two materials"};

static double stiffness_for(shape which, const char *material)
{
    double factor = strcmp(material, "arap") == 0 ? 1.6 : 1;
    return factor * (which == CURVED ? 1.2e5 : which == MIXED ? 7e4 : 8.5e5);
}

static hk_model *make_model(shape which, const char *material, double young, double gravity)
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

static double *copy_of(const double *values, int count)
{
    double *copy = malloc((size_t)count * sizeof *copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

static double farthest(const double *a, const double *b, int vertices)
{
    double most = 0;
    for (int v = 0; v < vertices; v++)
        most = fmax(most, hypot(hypot(a[3 * v] - b[3 * v], a[3 * v + 1] - b[3 * v + 1]),
                                a[3 * v + 2] - b[3 * v + 2]));
    return most;
}

static hk_rest *rest_of(const hk_model *model, const char *method)
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
static double *pose_of(hk_model *model, const char *what)
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

// ---------------------------------------------------------------- there and back

// The mesh is the loaded shape: the pose of its rest shape is the mesh again.
static void pose_of_rest(shape which, const char *material)
{
    char what[96];
    snprintf(what, sizeof what, "%s, %s", shape_names[which], material);
    hk_model *model = make_model(which, material, stiffness_for(which, material), -9.81), *found;
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    if (r.reason != HK_CONVERGED)
        fail_msg("%s: %s, %s (%s)", what, hk_reason_name(r.reason), r.detail, r.attempts);
    assert_true(r.relative_residual <= 1e-8 && r.load_reached == 1 && r.least_j > 0);
    if (!(r.sag > 0.08)) fail_msg("%s sags by only %g m", what, r.sag);
    CHECK_OK(hk_rest_model(rest, &found));
    int n = hk_model_vertex_count(model);
    double *x = pose_of(found, what);
    double off = farthest(x, hk_model_rest_positions(model), n);
    if (!(off <= 1e-8)) fail_msg("%s: the pose of the rest shape is off by %g m", what, off);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// The mesh is the rest shape: the rest shape of its pose is the mesh again.
static void rest_of_pose(shape which, const char *material)
{
    char what[96];
    snprintf(what, sizeof what, "%s, %s", shape_names[which], material);
    hk_model *model = make_model(which, material, stiffness_for(which, material), -9.81), *loaded;
    int n = hk_model_vertex_count(model);
    double *X = copy_of(hk_model_rest_positions(model), 3 * n);
    CHECK_OK(hk_model_copy(model, &loaded));
    double *x = pose_of(model, what);
    double droop = farthest(x, X, n);
    if (!(droop > (which == CANTILEVER ? 0.3 : 0.08)))
        fail_msg("%s droops by only %g m", what, droop);
    CHECK_OK(hk_model_set_rest(loaded, x));
    hk_rest *rest = rest_of(loaded, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    if (r.reason != HK_CONVERGED)
        fail_msg("%s: %s, %s (%s)", what, hk_reason_name(r.reason), r.detail, r.attempts);
    double off = farthest(hk_rest_positions(rest), X, n);
    if (!(off <= 1e-8)) fail_msg("%s: the rest shape of the pose is off by %g m", what, off);
    assert_true(fabs(r.sag - droop) <= 1e-7);
    hk_rest_free(rest);
    hk_model_free(loaded);
    free(x);
    free(X);
}

static void there_and_back(shape which)
{
    for (int m = 0; m < solid_count(); m++) {
        pose_of_rest(which, hk_material_name(m));
        rest_of_pose(which, hk_material_name(m));
    }
}

static void test_cantilever_there_and_back(void **state)
{
    (void)state;
    there_and_back(CANTILEVER);
}

static void test_curved_body_there_and_back(void **state)
{
    (void)state;
    there_and_back(CURVED);
}

static void test_two_materials_there_and_back(void **state)
{
    (void)state;
    there_and_back(MIXED);
}

// ---------------------------------------------------------------- methods

static void test_methods_agree(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        int reuse;
    } ways[] = {
        {"auto", 0}, {"fixed_point", 0}, {"newton_gmres", 0}, {"newton_lu", 1}, {"newton_lu", 3}};
    hk_model *model = make_model(CANTILEVER, "neo_hookean", 8.5e5, -9.81);
    int n = hk_model_vertex_count(model);
    double *first = NULL;
    for (int k = 0; k < 5; k++) {
        hk_rest_def def = hk_default_rest_def();
        def.model = model;
        def.method = ways[k].method;
        def.reuse = ways[k].reuse;
        if (strcmp(def.method, "newton_lu") == 0 && !hk_lu_available()) continue;
        hk_rest *rest = NULL;
        hk_rest_report r;
        CHECK_OK(hk_rest_create(&def, &rest));
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        if (r.reason != HK_CONVERGED)
            fail_msg("%s: %s, %s", def.method, hk_reason_name(r.reason), r.detail);
        if (k > 0) assert_non_null(strstr(r.attempts, def.method));
        if (k == 3) assert_int_equal(r.factorisations, r.iterations);
        if (k == 4) assert_int_equal(r.factorisations, (r.iterations + 2) / 3);
        if (!first) first = copy_of(hk_rest_positions(rest), 3 * n);
        double off = farthest(first, hk_rest_positions(rest), n);
        if (!(off <= 1e-9)) fail_msg("%s is off by %g m", def.method, off);
        // Again from the answer: nothing is left to do, and no matrix is made anew.
        CHECK_OK(hk_rest_solve(rest, first, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_true(r.iterations <= 1);
        hk_rest_free(rest);
    }
    free(first);
    hk_model_free(model);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 8.5e5, 0.45);
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 32, 6, 6), -9.81);
    int n = hk_model_vertex_count(model);
    for (int m = 1; m < 3; m++) {
        double *first = NULL;
        for (int threads = 1; threads <= 2; threads++) {
            hk_rest_def def = hk_default_rest_def();
            def.model = model;
            def.method = hk_rest_method_name(m);
            def.threads = threads;
            hk_rest *rest = NULL;
            hk_rest_report r;
            CHECK_OK(hk_rest_create(&def, &rest));
            CHECK_OK(hk_rest_solve(rest, NULL, &r));
            assert_int_equal(r.reason, HK_CONVERGED);
            if (threads == 1)
                first = copy_of(hk_rest_positions(rest), 3 * n);
            else
                assert_memory_equal(first, hk_rest_positions(rest), 3 * (size_t)n * 8);
            hk_rest_free(rest);
        }
        free(first);
    }
    hk_model_free(model);
}

// The derivative with a component left out converges in more iterations, or not at all (TwoWay
// Figure 2).
static void test_components_matter(void **state)
{
    (void)state;
    hk_model *model = make_model(CANTILEVER, "neo_hookean", 5e5, -9.81);
    int iterations[3];
    static const int components[3] = {HK_WHOLE_JACOBIAN, HK_OF_STRESS | HK_OF_NORMALS,
                                      HK_OF_STRESS | HK_OF_WEIGHT};
    if (!hk_lu_available()) SKIP("this build has no UMFPACK");
    for (int k = 0; k < 3; k++) {
        hk_rest_solver *solver;
        hk_rest_report r;
        CHECK_OK(hk_rest_solver_create(model, 1, &solver));
        solver->settings = (hk_rest_settings){.method = HK_REST_NEWTON_LU,
                                              .tolerance = 1e-9,
                                              .iterations = 40,
                                              .components = components[k]};
        CHECK_OK(hk_rest_solver_run(solver, &r));
        iterations[k] = r.reason == HK_CONVERGED ? r.iterations : 1000;
        hk_rest_solver_free(solver);
    }
    assert_true(iterations[0] < 12);
    assert_true(iterations[1] > iterations[0] && iterations[2] > iterations[0]);
    hk_model_free(model);
}

// ---------------------------------------------------------------- edges

static void test_without_a_load_it_is_the_shape(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();  // and nothing holds it
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 5, 2, 2), 0);
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(r.load_reached == 1 && r.sag == 0 && fabs(r.least_j - 1) < 1e-12 &&
                fabs(r.greatest_stretch - 1) < 1e-12);
    assert_memory_equal(hk_rest_positions(rest), hk_model_rest_positions(model),
                        3 * (size_t)hk_model_vertex_count(model) * 8);
    hk_rest_free(rest);
    hk_model_free(model);
}

static void expect_loose(const hk_selector *fixes, int count, const char *words)
{
    hk_body_def body = hk_default_body_def();
    body.name = "plank";
    body.fixes = fixes;
    body.fix_count = count;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 5, 2, 2), -9.81);
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_NOT_HELD);
    assert_non_null(strstr(r.detail, words));
    assert_true(r.load_reached == 0);
    assert_memory_equal(hk_rest_positions(rest), hk_model_rest_positions(model),
                        3 * (size_t)hk_model_vertex_count(model) * 8);
    hk_rest_free(rest);
    hk_model_free(model);
}

static void test_bodies_that_nothing_holds(void **state)
{
    (void)state;
    hk_selector one = select_box(0, 0, 0, 0, 0, 0), line = select_box(0, 0, 0, 1, 0, 0);
    expect_loose(NULL, 0, "plank");
    expect_loose(&one, 1, "fix at least three vertices");
    expect_loose(&line, 1, "not all in one line");
}

// Poisson's ratio 0.49: there and back all the same.
static void test_nearly_incompressible(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 8.5e5, 0.49);
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 15, 3, 3), -9.81), *found;
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    CHECK_OK(hk_rest_model(rest, &found));
    double *x = pose_of(found, "0.49");
    assert_true(farthest(x, hk_model_rest_positions(model), hk_model_vertex_count(model)) <= 1e-8);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// Ten times the weight, and a hundred times: either a shape in equilibrium, or one for a part of
// the load, with words on what to do; always finite.
static void test_heavy_bodies(void **state)
{
    (void)state;
    int short_of_it = 0;
    for (int k = 0; k < 4; k++) {
        double factor = k < 2 ? 10 : 100;
        const char *material = k % 2 ? "neo_hookean" : "stable_neo_hookean";
        hk_model *model = make_model(CANTILEVER, material, 8.5e5, -9.81 * factor);
        int n = hk_model_vertex_count(model);
        hk_rest *rest = rest_of(model, "auto");
        hk_rest_report r;
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        for (int i = 0; i < 3 * n; i++) assert_true(isfinite(hk_rest_positions(rest)[i]));
        assert_true(isfinite(r.sag) && isfinite(r.least_j) && r.least_j > 0);
        if (r.reason == HK_CONVERGED) {
            assert_true(r.load_reached == 1 && r.relative_residual <= 1e-8);
        } else {
            assert_int_equal(r.reason, HK_LOAD_STEP_LIMIT);
            assert_true(r.load_reached > 0 && r.load_reached < 1 && r.relative_residual < 1e-4);
            assert_non_null(strstr(r.detail, "stiffer"));
            assert_non_null(strstr(r.attempts, "load steps"));
            short_of_it++;
            // It is the rest shape of a body that weighs that much less.
            hk_model *lighter =
                make_model(CANTILEVER, material, 8.5e5, -9.81 * factor * r.load_reached);
            hk_inverse *p;
            double least, *force = HK_ZEROS(double, 4 * (size_t)n);
            double *X = HK_ZEROS(double, 4 * (size_t)n);
            CHECK_OK(hk_inverse_create(lighter, 1, &p));
            for (int v = 0; v < n; v++)
                memcpy(X + 4 * (size_t)lighter->place[v], hk_rest_positions(rest) + 3 * v, 24);
            assert_true(hk_inverse_force(p, X, force, &least));
            assert_true(hk_inverse_norm(p, force) <= 1e-4 * p->scale);
            hk_free(force);
            hk_free(X);
            hk_inverse_free(p);
            hk_model_free(lighter);
        }
        hk_rest_free(rest);
        hk_model_free(model);
    }
    assert_true(short_of_it > 0);
}

static int g_warnings;
static void count_warnings(void *context, hk_log_level level, const char *message)
{
    (void)context;
    g_warnings += level == HK_LOG_WARNING && strstr(message, "inside out");
}

// A mirrored start is not used, and a scattered one neither.
static void test_start_that_is_inside_out(void **state)
{
    (void)state;
    hk_model *model = make_model(CANTILEVER, "neo_hookean", 8.5e5, -9.81);
    int n = hk_model_vertex_count(model);
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    double *X = copy_of(hk_rest_positions(rest), 3 * n), *start = copy_of(X, 3 * n);
    for (int v = 0; v < n; v++) start[3 * v] *= -1;
    g_warnings = 0;
    hk_set_log(count_warnings, NULL);
    CHECK_OK(hk_rest_solve(rest, start, &r));
    hk_set_log(NULL, NULL);
    assert_int_equal(g_warnings, 1);
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(farthest(X, hk_rest_positions(rest), n) <= 1e-9);
    start[7] = NAN;
    assert_int_equal(hk_rest_solve(rest, start, &r), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "not finite"));
    free(X);
    free(start);
    hk_rest_free(rest);
    hk_model_free(model);
}

// Loads that do not depend on the rest shape, springs of a user's own, and attachments in the place
// of a fix: there and back.
static double spring_energy(void *context, int element, const double *x)
{
    (void)context, (void)element;
    return 0.5 * 30 * ((x[0] - 1) * (x[0] - 1) + x[1] * x[1] + x[2] * x[2]);
}
static void spring_gradient(void *context, int element, const double *x, double *g)
{
    (void)context, (void)element;
    for (int i = 0; i < 3; i++) g[i] = 30 * (x[i] - (i == 0));
}
static void spring_hessian(void *context, int element, const double *x, double *h)
{
    (void)context, (void)element, (void)x;
    for (int i = 0; i < 9; i++) h[i] = i % 4 == 0 ? 30 : 0;
}

static void test_loads_and_attachments(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 8.5e5, 0.4);
    hk_attach_def attach = hk_default_attach_def();
    attach.select = select_box(0, -1, -1, 0.2, 2, 2);
    attach.stiffness = 2000;
    hk_load_def load = hk_default_load_def();
    load.select = select_box(1, -1, -1, 1, 2, 2);
    load.force[1] = -5;
    load.force[2] = 4;
    body.attachments = &attach;
    body.attachment_count = 1;
    body.loads = &load;
    body.load_count = 1;
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 15, 3, 3);
    int32_t end = hk_mesh_vertex_count(mesh) - 1;
    hk_term_def spring = hk_default_term_def();
    spring.name = "spring";
    spring.element_count = spring.vertex_count = 1;
    spring.vertices = &end;
    spring.stiffness = 30;
    spring.tie = true;
    spring.energy = spring_energy;
    spring.gradient = spring_gradient;
    spring.hessian = spring_hessian;
    hk_model_def def = hk_default_model_def();
    body.mesh = mesh;
    def.bodies = &body;
    def.body_count = 1;
    def.terms = &spring;
    def.term_count = 1;
    hk_model *model = NULL, *found;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s, %s", hk_reason_name(r.reason), r.detail);
    CHECK_OK(hk_rest_model(rest, &found));
    double *x = pose_of(found, "attached");
    double off = farthest(x, hk_model_rest_positions(model), hk_model_vertex_count(model));
    if (!(off <= 1e-8)) fail_msg("off by %g m", off);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// ---------------------------------------------------------------- worlds without sag

static double farthest_from_start(hk_world *world, int steps)
{
    int n = hk_model_vertex_count(hk_world_model(world));
    double *start = copy_of(hk_world_positions(world), 3 * n), most = 0;
    for (int k = 0; k < steps; k++) {
        CHECK_OK(hk_world_step(world, NULL));
        most = fmax(most, farthest(start, hk_world_positions(world), n));
    }
    free(start);
    return most;
}

// One of two bodies begins free of sag: it stays where it is, and the other falls.
static void test_worlds_begin_free_of_sag(void **state)
{
    (void)state;
    hk_selector wall = select_box(0, -1, -5, 0, 2, 5);
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 12, 2, 2);
    hk_body_def bodies[2];
    for (int b = 0; b < 2; b++) {
        bodies[b] = hk_default_body_def();
        bodies[b].mesh = mesh;
        bodies[b].material = material_of("neo_hookean", 8.5e5, 0.45);
        bodies[b].fixes = &wall;
        bodies[b].fix_count = 1;
        bodies[b].transform.translate[2] = 2 * b;
        bodies[b].sag_free = b == 0;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    double left[2];
    for (int count = 1; count <= 2; count++) {
        hk_model *model = NULL;
        def.body_count = count;
        CHECK_OK(hk_model_create(&def, &model));
        hk_world *world = world_of(model, 0.02, 2);
        int n = hk_mesh_vertex_count(mesh);
        assert_memory_equal(hk_world_positions(world), hk_mesh_positions(mesh), 3 * (size_t)n * 8);
        const double *rest = hk_model_rest_positions(hk_world_model(world));
        assert_true(farthest(rest, hk_mesh_positions(mesh), n) > 0.2);
        if (count == 2)
            assert_true(farthest(rest + 3 * n, hk_world_positions(world) + 3 * n, n) == 0);
        left[count - 1] = farthest_from_start(world, 10);
        hk_world_free(world);
    }
    if (!(left[0] < 1e-6)) fail_msg("it moves by %g m", left[0]);
    assert_true(left[1] > 0.01);
    // Where there is no rest shape, there is no world, and it says why.
    hk_model *model = NULL;
    hk_world_def world_def = hk_default_world_def();
    hk_world *world = NULL;
    bodies[0].fix_count = 0;
    CHECK_OK(hk_model_create(&def, &model));
    world_def.model = model;
    assert_int_equal(hk_world_create(&world_def, &world), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "fix at least three vertices"));
    assert_null(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
}

static void test_scenes_begin_free_of_sag(void **state)
{
    (void)state;
    static const char text[] =
        "{\"time\": {\"step\": 0.02, \"steps\": 5}, \"bodies\": [{\"mesh\": {\"box\": "
        "{\"size\": [1, 0.2, 0.2], \"cells\": [8, 2, 2]}}, \"material\": {\"model\": "
        "\"neo_hookean\", \"young\": 8.5e5, \"poisson\": 0.4, \"density\": 1000}, "
        "\"fix\": [{\"box\": [[0, -1, -1], [0, 1, 1]]}], \"initial\": {\"rest\": \"solve\"}}]}";
    static const char *const wrong[] = {"bodies.0.initial.rest=yes"};
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    CHECK_OK(hk_scene_parse(text, strlen(text), "scene", NULL, 0, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world *world = world_of(model, 0.02, 1);
    assert_true(farthest_from_start(world, 5) < 1e-6);
    hk_world_free(world);
    hk_scene_free(scene);
    scene = NULL;
    assert_int_equal(hk_scene_parse(text, strlen(text), "scene", wrong, 1, &scene), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "solve"));
}

// ---------------------------------------------------------------- the interface

static bool stop_after_two(void *context, const hk_iteration *iteration)
{
    *(int *)context = iteration->iteration;
    return iteration->iteration < 2;
}

static void test_monitor_and_another_shape(void **state)
{
    (void)state;
    hk_model *model = make_model(CANTILEVER, "neo_hookean", 8.5e5, -9.81), *found;
    int n = hk_model_vertex_count(model), seen = 0;
    hk_rest *rest = rest_of(model, "auto");
    hk_rest_report r;
    hk_rest_set_monitor(rest, stop_after_two, &seen);
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    assert_int_equal(seen, 2);
    hk_rest_set_monitor(rest, NULL, NULL);
    // A shape that is bent upwards, and its own model for comparison.
    double *x = copy_of(hk_model_rest_positions(model), 3 * n);
    for (int v = 0; v < n; v++) x[3 * v + 1] += 0.2 * x[3 * v] * x[3 * v];
    CHECK_OK(hk_rest_set_shape(rest, x));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    // The same bits as those of a new one, which has inherited nothing.
    hk_model *bent;
    hk_rest_report first;
    CHECK_OK(hk_model_copy(model, &bent));
    CHECK_OK(hk_model_set_rest(bent, x));
    hk_rest *fresh = rest_of(bent, "auto");
    CHECK_OK(hk_rest_solve(fresh, NULL, &first));
    assert_int_equal(first.iterations, r.iterations);
    assert_memory_equal(hk_rest_positions(fresh), hk_rest_positions(rest), 3 * (size_t)n * 8);
    hk_rest_free(fresh);
    hk_model_free(bent);
    CHECK_OK(hk_rest_model(rest, &found));
    double *again = pose_of(found, "bent");
    assert_true(farthest(again, x, n) <= 1e-8);
    // What is no shape is refused, and nothing changes.
    double *before = copy_of(hk_rest_positions(rest), 3 * n);
    for (int v = 0; v < n; v++) x[3 * v + 1] = 0;
    assert_int_equal(hk_rest_set_shape(rest, x), HK_BAD_INPUT);
    assert_memory_equal(before, hk_rest_positions(rest), 3 * (size_t)n * 8);
    free(before);
    free(again);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

static void expect_refusal(const hk_rest_def *def, hk_status status, const char *words)
{
    hk_rest *rest = NULL;
    assert_int_equal(hk_rest_create(def, &rest), status);
    if (!strstr(hk_error(), words)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), words);
    assert_null(rest);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    hk_model *model = make_model(CANTILEVER, "neo_hookean", 8.5e5, -9.81);
    hk_rest_def def = hk_default_rest_def();
    expect_refusal(&def, HK_BAD_INPUT, "a model is needed");
    def.model = model;
    def.method = "magic";
    expect_refusal(&def, HK_BAD_INPUT, "known: auto, fixed_point");
    def.method = "auto";
    def.tolerance = -1;
    expect_refusal(&def, HK_BAD_INPUT, "tolerance");
    def.tolerance = 0;
    def.threads = -1;
    expect_refusal(&def, HK_BAD_INPUT, "threads");
    hk_model_free(model);

    hk_body_def sheet = hk_default_body_def();
    sheet.name = "flag";
    sheet.material.model = "mass_spring";
    sheet.material.young = NAN;
    sheet.material.parameters[0] = (hk_parameter){"stretch", 100};
    sheet.material.parameter_count = 1;
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_SHEET);
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&mesh_def, &mesh));
    model = model_of(&sheet, mesh, -9.81);
    def = hk_default_rest_def();
    def.model = model;
    expect_refusal(&def, HK_UNSUPPORTED, "(flag) is a sheet");
    hk_model_free(model);

    hk_body_def turned = hk_default_body_def();
    hk_move_def move = hk_default_move_def();
    move.select = select_box(0, -1, -1, 0, 1, 1);
    move.motion.degrees = 30;
    turned.moves = &move;
    turned.move_count = 1;
    model = model_of(&turned, box_mesh(1, 0.2, 0.2, 5, 2, 2), -9.81);
    def.model = model;
    expect_refusal(&def, HK_UNSUPPORTED, "moves");
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cantilever_there_and_back),
        cmocka_unit_test(test_curved_body_there_and_back),
        cmocka_unit_test(test_two_materials_there_and_back),
        cmocka_unit_test(test_methods_agree),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_components_matter),
        cmocka_unit_test(test_without_a_load_it_is_the_shape),
        cmocka_unit_test(test_bodies_that_nothing_holds),
        cmocka_unit_test(test_nearly_incompressible),
        cmocka_unit_test(test_heavy_bodies),
        cmocka_unit_test(test_start_that_is_inside_out),
        cmocka_unit_test(test_loads_and_attachments),
        cmocka_unit_test(test_worlds_begin_free_of_sag),
        cmocka_unit_test(test_scenes_begin_free_of_sag),
        cmocka_unit_test(test_monitor_and_another_shape),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
