// Rest shapes: there and back for every material and several bodies, all methods alike.
#include "rest_bodies.h"

#include "design/rest_solver.h"
#include "linear/direct.h"
#include "model/model.h"

static const char *const shape_names[] = {"cantilever", "helix", "two materials"};

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

// By multigrid in the place of factors: the same rest shapes, there and back, and after an edit.
static void test_multigrid(void **state)
{
    (void)state;
    hk_model *model = make_model(MIXED, "neo_hookean", 7e4, -9.81), *found;
    int n = hk_model_vertex_count(model);
    hk_rest *direct = rest_of(model, "auto"), *multigrid = NULL;
    hk_rest_def def = hk_default_rest_def();
    hk_rest_report r;
    def.model = model;
    def.linear = "multigrid";
    CHECK_OK(hk_rest_create(&def, &multigrid));
    CHECK_OK(hk_rest_solve(direct, NULL, &r));
    CHECK_OK(hk_rest_solve(multigrid, NULL, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s, %s", hk_reason_name(r.reason), r.detail);
    double off = farthest(hk_rest_positions(direct), hk_rest_positions(multigrid), n);
    if (!(off <= 1e-8)) fail_msg("off by %g m", off);
    CHECK_OK(hk_rest_model(multigrid, &found));
    double *x = pose_of(found, "multigrid");
    assert_true(farthest(x, hk_model_rest_positions(model), n) <= 1e-8);
    for (int v = 0; v < n; v++) x[3 * v + 1] += 0.2 * x[3 * v] * x[3 * v];
    CHECK_OK(hk_rest_set_shape(multigrid, x));
    CHECK_OK(hk_rest_set_shape(direct, x));
    CHECK_OK(hk_rest_refactor(multigrid));
    CHECK_OK(hk_rest_solve(direct, NULL, &r));
    CHECK_OK(hk_rest_solve(multigrid, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_null(strstr(r.attempts, "warped"));
    assert_true(farthest(hk_rest_positions(direct), hk_rest_positions(multigrid), n) <= 1e-8);
    free(x);
    hk_rest_free(direct);
    hk_rest_free(multigrid);
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

// ---------------------------------------------------------------- loads

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
    // Contact has no part in it: a floor below changes nothing.
    static const char *const floor[] = {
        "contact={\"distance\": 1e-3}",
        "obstacles=[{\"plane\": {\"point\": [0, -0.1, 0], \"normal\": [0, 1, 0]}}]"};
    CHECK_OK(hk_scene_parse(text, strlen(text), "scene", floor, 2, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    world = world_of(model, 0.02, 1);
    assert_true(farthest_from_start(world, 5) < 1e-6);
    hk_world_free(world);
    hk_scene_free(scene);
}

// ---------------------------------------------------------------- the interface

static bool stop_after_two(void *context, const hk_iteration *iteration)
{
    if (iteration->iteration > 0) *(int *)context = iteration->iteration;
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
    CHECK_OK(hk_rest_refactor(rest));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    // The same bits as those of a new one, which knows of no other shape.
    hk_model *bent;
    hk_rest_report first;
    CHECK_OK(hk_model_copy(model, &bent));
    CHECK_OK(hk_model_set_rest(bent, x));
    hk_rest *fresh = rest_of(bent, "auto");
    CHECK_OK(hk_rest_solve(fresh, NULL, &first));
    assert_true(farthest(hk_rest_positions(fresh), hk_rest_positions(rest), n) <= 1e-9);
    if (hk_direct_available()) {  // multigrid starts from what it knew of the matrix before
        assert_int_equal(first.iterations, r.iterations);
        assert_memory_equal(hk_rest_positions(fresh), hk_rest_positions(rest), 3 * (size_t)n * 8);
    }
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

// A soft bar below a stiff one: drawn apart, it has to be made higher than the other hangs.
static void test_overlaps(void **state)
{
    (void)state;
    hk_selector wall = select_box(-1e-6, -1, -1, 1e-6, 2, 2);
    hk_mesh *meshes[2] = {box_mesh(1, 0.1, 0.1, 12, 2, 2), box_mesh(1, 0.1, 0.1, 12, 2, 2)};
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    for (int b = 0; b < 2; b++) {
        bodies[b].name = b ? "stiff" : "soft";
        bodies[b].mesh = meshes[b];
        bodies[b].material = material_of("neo_hookean", 1e9, 0.4);
        bodies[b].fixes = &wall;
        bodies[b].fix_count = 1;
        bodies[b].transform.translate[1] = 0.12 * b;
        bodies[b].transform.translate[2] = 0.013 * b;
    }
    for (int soft = 0; soft < 2; soft++) {
        if (soft) bodies[0].material.young = 2e6;
        hk_model_def def = hk_default_model_def();
        def.bodies = bodies;
        def.body_count = 2;
        def.gravity[1] = -9.81;
        hk_model *model;
        CHECK_OK(hk_model_create(&def, &model));
        hk_rest *rest = rest_of(model, "auto");
        hk_rest_report r;
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_int_equal(r.overlaps, 0);
        CHECK_OK(hk_rest_find_overlaps(rest, &r));
        assert_true((r.overlaps > 0) == soft && r.touching <= r.overlaps);
        if (soft) {
            int second = hk_model_body_start(model, 1);
            assert_true(r.sag > 0.02);
            assert_int_equal(r.overlap_bodies[0], 0);
            assert_int_equal(r.overlap_bodies[1], 1);
            for (int k = 0; k < 3; k++) {
                assert_true(r.overlap_faces[0][k] < second);
                assert_true(r.overlap_faces[1][k] >= second);
            }
            // On the stiff one, which is nearly where it was drawn.
            assert_true(r.overlap_place[1] > 0.119 && r.overlap_place[1] < 0.221);
        }
        hk_rest_free(rest);
        hk_model_free(model);
    }
    for (int b = 0; b < 2; b++) hk_mesh_free(meshes[b]);
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
    def.linear = "paper";
    expect_refusal(&def, HK_BAD_INPUT, "known: auto, direct, multigrid");
    def.linear = "auto";
    def.tolerance = -1;
    expect_refusal(&def, HK_BAD_INPUT, "tolerance");
    def.tolerance = 0;
    def.threads = -1;
    expect_refusal(&def, HK_BAD_INPUT, "threads");
    hk_model_free(model);

    def.threads = 0;
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
        cmocka_unit_test(test_multigrid),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_components_matter),
        cmocka_unit_test(test_loads_and_attachments),
        cmocka_unit_test(test_worlds_begin_free_of_sag),
        cmocka_unit_test(test_scenes_begin_free_of_sag),
        cmocka_unit_test(test_monitor_and_another_shape),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
