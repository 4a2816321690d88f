// Sheets that begin free of sag: rest lengths for which the springs balance the load in the shape
// of the mesh, worlds that stay there under every method, and shapes for which there are none.
#include "failing_alloc.h"
#include "sheets.h"

#include "model/model.h"

// ---------------------------------------------------------------- sheets

static const hk_selector g_left = {.kind = HK_SELECT_BOX, .box = {{-9, -9, -9}, {1e-6, 9, 9}}};

// Cloth of 1 m by 1 m in the plane y = 0; what holds it is for the caller to say.
static hk_body_def cloth_body(double bending)
{
    hk_body_def body = hk_default_body_def();
    body.name = "cloth";
    body.material = cloth_of(300, bending, 0.2);
    return body;
}

static double *copy_of(const double *values, int count)
{
    double *copy = malloc((size_t)count * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

// The mesh of a sheet that hangs by its corners at z = 0: drawn in, posed, and what its springs
// were like forgotten.
static hk_mesh *hanging_mesh(int cells, const int32_t corners[2], double bending)
{
    hk_mesh *mesh = sheet_mesh(1, 1, cells, cells);
    hk_selector pins = {.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
    hk_move_def moves[2] = {hk_default_move_def(), hk_default_move_def()};
    for (int k = 0; k < 2; k++) {
        moves[k].select = pins;
        moves[k].select.vertices = corners + k;
        moves[k].select.vertex_count = 1;
        moves[k].motion.translate[0] = k ? -0.1 : 0.1;
    }
    hk_body_def body = cloth_body(bending);
    body.moves = moves;
    body.move_count = 2;
    hk_mesh *copy = sheet_mesh(1, 1, cells, cells);
    hk_world *world = world_of(model_of(&body, mesh, -9.81), 0.01, 2);
    hk_solver_def solver = hk_default_solver_def();
    solver.iterations = 3000;
    CHECK_OK(hk_world_set_solver(world, &solver));
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED) fail_msg("pose: %s, %s", hk_reason_name(r.reason), r.detail);
    CHECK_OK(hk_mesh_set_positions(copy, hk_world_positions(world)));
    hk_world_free(world);
    return copy;
}

// A curtain that hangs straight down from its edge at x = 0.
static void hang_down(const double from[3], double to[3])
{
    to[0] = 0;
    to[1] = -from[0];
    to[2] = from[2];
}

static hk_mesh *curtain_mesh(int cells)
{
    hk_mesh *mesh = sheet_mesh(1, 1, cells, cells);
    bend_mesh(mesh, hang_down);
    return mesh;
}

static const hk_selector g_top = {.kind = HK_SELECT_BOX, .box = {{-9, -1e-6, -9}, {9, 9, 9}}};

// ---------------------------------------------------------------- rest lengths

static hk_rest *rest_of(const hk_model *model, int threads, hk_rest_report *report)
{
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.threads = threads;
    hk_rest *rest = NULL;
    CHECK_OK(hk_rest_create(&def, &rest));
    CHECK_OK(hk_rest_solve(rest, NULL, report));
    return rest;
}

// One cell that hangs from its upper edge: the springs at its sides carry the weight of the lower
// corners, and those across carry nothing.
static void test_one_cell(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(0);
    body.fixes = &g_top;
    body.fix_count = 1;
    hk_model *model = model_of(&body, curtain_mesh(1), -9.81), *found = NULL;
    hk_rest_report r;
    hk_rest *rest = rest_of(model, 1, &r);
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(r.sheet_residual < 1e-8 && r.pushing_springs == 0);
    CHECK_OK(hk_rest_model(rest, &found));
    const double *x = hk_model_rest_positions(found), *mass = hk_model_masses(found);
    int upright = 0;
    for (int k = 0; k < found->spring_count; k++) {
        const hk_spring *s = &found->springs[k];
        const double *a = x + 3 * s->ends[0], *b = x + 3 * s->ends[1];
        double length = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
        double tension = s->stiffness * (length - s->rest), expected = 0;
        if (fabs(a[1] - b[1]) > 0.5 && fabs(a[2] - b[2]) < 0.5) {
            expected = 9.81 * mass[a[1] < b[1] ? s->ends[0] : s->ends[1]];
            upright++;
        }
        if (!(fabs(tension - expected) < 1e-8))
            fail_msg("spring %d: %g N in place of %g N", k, tension, expected);
    }
    assert_int_equal(upright, 2);
    hk_model_free(found);
    hk_rest_free(rest);
    hk_model_free(model);
}

// The pose of the model found is the shape; its springs all pull, and are sound.
static void check_pose(hk_rest *rest, const hk_model *model)
{
    hk_model *found = NULL;
    CHECK_OK(hk_rest_model(rest, &found));
    for (int k = 0; k < found->spring_count; k++) assert_true(found->springs[k].rest > 0);
    for (int k = 0; k < found->bend_count; k++) assert_true(found->bends[k].rest >= 0);
    hk_world *world = world_of(found, 0.01, 2);
    hk_step_report step;
    CHECK_OK(hk_world_pose(world, &step));
    assert_true(step.reason == HK_CONVERGED || step.reason == HK_PRECISION_LIMIT);
    const double *x = hk_world_positions(world), *y = hk_model_rest_positions(model);
    double most = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(model); k++) most = fmax(most, fabs(x[k] - y[k]));
    if (!(most < 1e-3)) fail_msg("the pose is %g m off", most);
    hk_world_free(world);
}

static void test_hanging_cloth(void **state)
{
    (void)state;
    enum { CELLS = 10 };
    static const int32_t corners[2] = {0, CELLS};
    for (int k = 0; k < 2; k++) {
        hk_body_def body = cloth_body(k ? 2e-4 : 0);
        hk_selector pins = {.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
        body.fixes = &pins;
        body.fix_count = 1;
        hk_model *model = model_of(&body, hanging_mesh(CELLS, corners, k ? 2e-4 : 0), -9.81);
        hk_rest_report r;
        hk_rest *rest = rest_of(model, 2, &r);
        assert_true(r.sheet_residual <= 1e-3 && r.least_rest_length > 0.9);
        assert_true(r.pushing_springs > 0 && r.greatest_rest_length < 1.1);
        assert_non_null(strstr(r.attempts, "rest lengths"));
        const double *X = hk_rest_positions(rest), *x = hk_model_rest_positions(model);
        assert_memory_equal(X, x, 3 * sizeof(double) * (size_t)hk_model_vertex_count(model));
        check_pose(rest, model);
        hk_rest_free(rest);
        hk_model_free(model);
    }
}

// Any number of threads finds the same.
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(1e-4);
    body.fixes = &g_top;
    body.fix_count = 1;
    hk_model *model = model_of(&body, curtain_mesh(12), -9.81), *found[2];
    for (int k = 0; k < 2; k++) {
        hk_rest_report r;
        hk_rest *rest = rest_of(model, k ? 4 : 1, &r);
        CHECK_OK(hk_rest_model(rest, &found[k]));
        hk_rest_free(rest);
    }
    for (int k = 0; k < found[0]->spring_count; k++)
        assert_true(found[0]->springs[k].rest == found[1]->springs[k].rest);
    for (int k = 0; k < 2; k++) hk_model_free(found[k]);
    hk_model_free(model);
}

// ---------------------------------------------------------------- shapes that cannot be balanced

// Flat and level, held all around: springs pull within the plane, the load across it.
static void test_level_sheet(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(1e-3);
    hk_selector inner = select_box(0.01, -1, 0.01, 0.99, 1, 0.99);
    hk_selector border = {.kind = HK_SELECT_NOT, .children = &inner, .child_count = 1};
    body.fixes = &border;
    body.fix_count = 1;
    hk_model *model = model_of(&body, sheet_mesh(1, 1, 6, 6), -9.81);
    hk_rest_report r;
    hk_rest *rest = rest_of(model, 1, &r);
    assert_int_equal(r.reason, HK_STALLED);
    assert_true(fabs(r.sheet_residual - 1) < 1e-9 && r.sheet_vertex >= 0);
    assert_true(fabs(r.least_rest_length - 1) < 1e-9 && fabs(r.greatest_rest_length - 1) < 1e-9);
    assert_non_null(strstr(r.detail, "body 0 (cloth): no rest lengths balance 100 % of its load"));
    assert_non_null(strstr(r.detail, "draw a shape that hangs"));
    hk_rest_free(rest);
    hk_model_free(model);
}

static void stand_up(const double from[3], double to[3])
{
    to[0] = 0;
    to[1] = from[0];
    to[2] = from[2];
}

// Upright on its lower edge: only springs that push could hold it, and it would fall.
static void test_standing_sheet(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(1e-6);
    hk_selector floor = select_box(-1, -1, -1, 1, 1e-6, 2);
    body.fixes = &floor;
    body.fix_count = 1;
    hk_mesh *mesh = sheet_mesh(1, 1, 5, 5);
    bend_mesh(mesh, stand_up);
    hk_model *model = model_of(&body, mesh, -9.81);
    hk_rest_report r;
    hk_rest *rest = rest_of(model, 1, &r);
    assert_int_equal(r.reason, HK_STALLED);
    assert_true(r.sheet_residual < 1e-8 && r.pushing_springs > 0);
    assert_non_null(strstr(r.detail, "it buckles"));
    hk_rest_free(rest);
    hk_model_free(model);
}

// In the air without anything that holds it.
static void test_falling_sheet(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(1e-4);
    hk_model *model = model_of(&body, curtain_mesh(4), -9.81);
    hk_rest_report r;
    hk_rest *rest = rest_of(model, 1, &r);
    assert_int_equal(r.reason, HK_STALLED);
    assert_true(r.sheet_residual > 0.5 && r.sheet_residual <= 1);
    assert_non_null(strstr(r.detail, "hold it in more places"));
    hk_rest_free(rest);
    hk_model_free(model);
}

// So soft that no rest length is short enough.
static void test_too_soft_a_sheet(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(0);
    body.material = cloth_of(0.1, 0, 0.2);
    body.fixes = &g_top;
    body.fix_count = 1;
    hk_model *model = model_of(&body, curtain_mesh(5), -9.81);
    hk_rest_report r;
    hk_rest *rest = rest_of(model, 1, &r);
    assert_int_equal(r.reason, HK_STALLED);
    assert_true(r.sheet_residual > 0.1 && r.least_rest_length >= 0.1 - 1e-12);
    hk_rest_free(rest);
    hk_model_free(model);
}

// ---------------------------------------------------------------- worlds that stay

static const struct {
    const char *method;
    double most;  // m/s
    double tolerance;
    int iterations;
} g_methods[] = {
    {"newton", 1e-9, 1e-10, 0}, {"quasi_newton", 1e-6, 1e-8, 200}, {"projective", 1e-6, 1e-8, 500},
    {"lbfgs", 1e-6, 1e-8, 500}, {"descent", 1e-4, 1e-6, 2000},     {"vbd", 1e-3, 1e-6, 2000},
    {"xpbd", 5e-2, 0, 200},
};

static double fastest(const hk_world *world)
{
    const double *v = hk_world_velocities(world);
    double most = 0;
    for (int k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++)
        most = fmax(most, hypot(hypot(v[3 * k], v[3 * k + 1]), v[3 * k + 2]));
    return most;
}

// The largest speed in so many steps; without rest lengths it would be metres per second.
static double speed_in_steps(const hk_model *model, int method, int steps)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.01;
    def.threads = 2;
    def.solver.method = g_methods[method].method;
    def.solver.tolerance = g_methods[method].tolerance;
    def.solver.iterations = g_methods[method].iterations;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    double most = 0;
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        most = fmax(most, fastest(world));
    }
    hk_world_free(world);
    return most;
}

static void check_worlds_stay(const hk_model *model, const char *what, int steps)
{
    for (int k = 0; k < HK_COUNT_OF(g_methods); k++) {
        double most = speed_in_steps(model, k, SANITIZED ? 3 : steps);
        if (!(most < g_methods[k].most))
            fail_msg("%s, %s: %g m/s", what, g_methods[k].method, most);
    }
}

static void test_hanging_cloth_stays(void **state)
{
    (void)state;
    enum { CELLS = 8 };
    static const int32_t corners[2] = {0, CELLS};
    hk_body_def body = cloth_body(2e-4);
    hk_selector pins = {.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
    body.fixes = &pins;
    body.fix_count = 1;
    body.sag_free = 1;
    hk_model *model = model_of(&body, hanging_mesh(CELLS, corners, 2e-4), -9.81);
    check_worlds_stay(model, "hanging cloth", 50);
    hk_model_free(model);
}

// A push dies down: the cloth is in a minimum of its energy, not on a summit.
static void test_hanging_cloth_is_stable(void **state)
{
    (void)state;
    enum { CELLS = 8 };
    static const int32_t corners[2] = {0, CELLS};
    hk_body_def body = cloth_body(2e-4);
    hk_selector pins = {.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
    body.fixes = &pins;
    body.fix_count = 1;
    body.sag_free = 1;
    body.velocity[0] = body.velocity[2] = 1e-3;
    hk_model *model = model_of(&body, hanging_mesh(CELLS, corners, 2e-4), -9.81);
    hk_world *world = world_of(model, 0.01, 2);
    int count = 3 * hk_model_vertex_count(hk_world_model(world));
    double *start = copy_of(hk_world_positions(world), count), most = 0;
    for (int k = 0; k < (SANITIZED ? 10 : 200); k++) CHECK_OK(hk_world_step(world, NULL));
    for (int k = 0; k < count; k++)
        most = fmax(most, fabs(hk_world_positions(world)[k] - start[k]));
    if (!(most < 5e-4 && fastest(world) < 5e-3))
        fail_msg("%g m away, and %g m/s fast", most, fastest(world));
    free(start);
    hk_world_free(world);
}

static void test_scaled_curtain_stays(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(1e-4);
    body.fixes = &g_top;
    body.fix_count = 1;
    body.sag_free = 1;
    body.transform.scale = 0.4;
    body.transform.degrees = 30;
    hk_model *model = model_of(&body, curtain_mesh(8), -9.81);
    check_worlds_stay(model, "curtain", 50);
    hk_model_free(model);
}

// A load and an attachment on the sheet, a bar beside it, and a sheet that sags as ever.
static hk_model *mixed_model(void)
{
    hk_mesh *bar = box_mesh(0.6, 0.15, 0.15, 6, 2, 2), *curtain = curtain_mesh(6);
    hk_body_def bodies[2] = {hk_default_body_def(), cloth_body(1e-4)};
    hk_load_def load = hk_default_load_def();
    hk_attach_def attach = hk_default_attach_def();
    load.select = select_box(-1, -1.001, -1, 1, -0.999, 2);
    load.force[1] = -0.5;
    attach.select = select_box(-1, -0.6, 0.4, 1, -0.4, 0.6);
    attach.stiffness = 20;
    bodies[0].mesh = bar;
    bodies[0].material = material_of("arap", 2e5, 0.4);
    bodies[0].fixes = &g_left;
    bodies[1].mesh = curtain;
    bodies[1].fixes = &g_top;
    bodies[1].transform.translate[1] = 0;
    bodies[1].loads = &load;
    bodies[1].load_count = 1;
    bodies[1].attachments = &attach;
    bodies[1].attachment_count = 1;
    for (int b = 0; b < 2; b++) {
        bodies[b].fix_count = 1;
        bodies[b].sag_free = 1;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(bar);
    hk_mesh_free(curtain);
    return model;
}

static void test_sheet_and_solid_stay(void **state)
{
    (void)state;
    hk_model *model = mixed_model();
    check_worlds_stay(model, "sheet and bar", 30);
    hk_model_free(model);
}

// What was found for the sheet is there still when another body gets another material.
static void test_edits_keep_rest_lengths(void **state)
{
    (void)state;
    hk_model *model = mixed_model();
    int first = hk_model_body_start(model, 1), end = hk_model_vertex_count(model);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = 1;
    def.solver.tolerance = 1e-10;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_material_def soft = material_of("neo_hookean", 5e4, 0.4);
    CHECK_OK(hk_world_set_material(world, 0, NULL, &soft));
    double *before = copy_of(hk_world_positions(world), 3 * end), most = 0;
    for (int k = 0; k < 10; k++) CHECK_OK(hk_world_step(world, NULL));
    for (int k = 3 * first; k < 3 * end; k++)
        most = fmax(most, fabs(hk_world_positions(world)[k] - before[k]));
    if (!(most < 1e-9)) fail_msg("the sheet moved by %g m", most);
    assert_true(fastest(world) > 0.01);  // the bar does sag now
    free(before);
    hk_world_free(world);
    hk_model_free(model);
}

static int g_warnings;
static char g_warning[256];

static void keep_warning(void *context, hk_log_level level, const char *message)
{
    (void)context;
    if (level != HK_LOG_WARNING) return;
    g_warnings++;
    snprintf(g_warning, sizeof g_warning, "%s", message);
}

// A world is made all the same, and the log is told.
static void test_what_is_left_is_told(void **state)
{
    (void)state;
    hk_body_def body = cloth_body(0);
    hk_selector wall = select_box(-1, -1, -1, 1e-6, 1, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    body.sag_free = 1;
    hk_model *model = model_of(&body, sheet_mesh(1, 1, 4, 4), -9.81);
    g_warnings = 0;
    hk_set_log(keep_warning, NULL);
    hk_world *world = world_of(model, 0.01, 1);
    hk_set_log(NULL, NULL);
    assert_int_equal(g_warnings, 1);
    assert_non_null(strstr(g_warning, "a start that sags: body 0 (cloth)"));
    CHECK_OK(hk_world_step(world, NULL));
    assert_true(fastest(world) > 0.05);
    hk_world_free(world);
}

// Springs that push, the pose beside the mesh and all: nothing leaks, whatever fails.
static void test_out_of_memory(void **state)
{
    (void)state;
    static const int32_t corners[2] = {0, 3};
    hk_body_def body = cloth_body(2e-4);
    hk_selector pins = {.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
    body.fixes = &pins;
    body.fix_count = 1;
    body.sag_free = 1;
    hk_model *model = model_of(&body, hanging_mesh(3, corners, 2e-4), -9.81);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = 1;
    for (int n = 1;; n += SANITIZED ? 7 : 1) {
        failing_alloc_install(n);
        hk_world *world = NULL;
        hk_status status = hk_world_create(&def, &world);
        bool reached = failing_alloc_count() >= n;
        hk_world_free(world);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
        assert_null(world);
    }
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_cell),
        cmocka_unit_test(test_hanging_cloth),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_level_sheet),
        cmocka_unit_test(test_standing_sheet),
        cmocka_unit_test(test_falling_sheet),
        cmocka_unit_test(test_too_soft_a_sheet),
        cmocka_unit_test(test_hanging_cloth_stays),
        cmocka_unit_test(test_hanging_cloth_is_stable),
        cmocka_unit_test(test_scaled_curtain_stays),
        cmocka_unit_test(test_sheet_and_solid_stay),
        cmocka_unit_test(test_edits_keep_rest_lengths),
        cmocka_unit_test(test_what_is_left_is_told),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
