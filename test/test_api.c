// The edges of the public interface: NULL and numbers that are none through every function, the
// smallest worlds, starts that are inside out, many threads at once, and the base below it all.
#include "bodies.h"

#include <pthread.h>

#include "core/base.h"
#include "failing_alloc.h"
#include "material/material.h"

#define REFUSED(call)                                                    \
    do {                                                                 \
        hk_fail(HK_OK, "%s", "");                                        \
        hk_status status_ = (call);                                      \
        if (status_ != HK_BAD_INPUT) fail_msg("%s: %d", #call, status_); \
        if (strlen(hk_error()) < 5) fail_msg("%s: no message", #call);   \
    } while (0)

static hk_world *small_world(const char *material, bool held)
{
    hk_selector wall = select_box(0, 0, 0, 0, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material.model = material;
    body.fixes = &wall;
    body.fix_count = held;
    return world_of(model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), held ? -9.81 : 0), 0.01, 1);
}

// ---------------------------------------------------------------- NULL

static void test_null_is_refused(void **state)
{
    (void)state;
    hk_world *world = small_world("neo_hookean", true);
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1), *no_mesh = NULL;
    hk_model *no_model = NULL;
    hk_world *no_world = NULL;
    hk_scene *no_scene = NULL;
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_BOX);
    hk_model_def model_def = hk_default_model_def();
    hk_world_def world_def = hk_default_world_def();
    double numbers[81];
    int32_t tet[4] = {0, 1, 2, 3};
    REFUSED(hk_mesh_make(NULL, &no_mesh));
    REFUSED(hk_mesh_make(&mesh_def, NULL));
    REFUSED(hk_mesh_from_arrays(4, NULL, 0, NULL, 0, NULL, &no_mesh));
    REFUSED(hk_mesh_from_arrays(4, numbers, 1, NULL, 0, NULL, &no_mesh));
    REFUSED(hk_mesh_from_arrays(4, numbers, 0, NULL, 1, NULL, &no_mesh));
    REFUSED(hk_mesh_from_arrays(4, numbers, 1, tet, 0, NULL, NULL));
    REFUSED(hk_mesh_from_arrays(-4, numbers, 1, tet, 0, NULL, &no_mesh));
    REFUSED(hk_mesh_load(NULL, &no_mesh));
    REFUSED(hk_mesh_load("no.msh", NULL));
    REFUSED(hk_mesh_save(NULL, "no.vtu", NULL, 0));
    REFUSED(hk_mesh_save(mesh, NULL, NULL, 0));
    REFUSED(hk_mesh_save(mesh, "no.vtu", NULL, 1));
    REFUSED(hk_series_save(NULL, numbers, NULL, 0));
    REFUSED(hk_series_save("no.pvd", NULL, NULL, 1));
    REFUSED(hk_mesh_surface(NULL, NULL, NULL, NULL));
    REFUSED(hk_mesh_set_positions(NULL, numbers));
    REFUSED(hk_mesh_set_positions(mesh, NULL));
    REFUSED(hk_mesh_check(NULL, NULL));
    REFUSED(hk_mesh_check(mesh, NULL));
    REFUSED(hk_model_create(NULL, &no_model));
    REFUSED(hk_model_create(&model_def, NULL));
    REFUSED(hk_world_create(NULL, &no_world));
    REFUSED(hk_world_create(&world_def, NULL));
    REFUSED(hk_world_create(&world_def, &no_world));
    REFUSED(hk_world_step(NULL, NULL));
    REFUSED(hk_world_pose(NULL, NULL));
    REFUSED(hk_world_set_time(NULL, 0));
    REFUSED(hk_world_set_positions(NULL, numbers));
    REFUSED(hk_world_set_positions(world, NULL));
    REFUSED(hk_world_set_velocities(NULL, numbers));
    REFUSED(hk_world_set_velocities(world, NULL));
    REFUSED(hk_world_energy(NULL, NULL, NULL));
    REFUSED(hk_world_field(NULL, "J", numbers));
    REFUSED(hk_world_field(world, NULL, numbers));
    REFUSED(hk_world_field(world, "J", NULL));
    REFUSED(hk_world_mesh(NULL, &no_mesh));
    REFUSED(hk_world_mesh(world, NULL));
    REFUSED(hk_world_save(NULL, "no.vtu"));
    REFUSED(hk_world_save(world, NULL));
    REFUSED(hk_world_save_points(NULL, "no.csv"));
    REFUSED(hk_world_save_points(world, NULL));
    REFUSED(hk_scene_load(NULL, NULL, 0, &no_scene));
    REFUSED(hk_scene_load("no.json", NULL, 0, NULL));
    REFUSED(hk_scene_parse(NULL, 0, NULL, NULL, 0, &no_scene));
    REFUSED(hk_scene_parse("{}", 2, NULL, NULL, 0, NULL));
    REFUSED(hk_scene_parse("{}", 2, NULL, NULL, 1, &no_scene));
    assert_true(!no_mesh && !no_model && !no_world && !no_scene);
    // What may be NULL is.
    CHECK_OK(hk_world_step(world, NULL));
    CHECK_OK(hk_world_pose(world, NULL));
    CHECK_OK(hk_world_energy(world, NULL, NULL));
    CHECK_OK(hk_mesh_surface(mesh, NULL, NULL, NULL));
    hk_mesh_free(mesh);
    hk_world_free(world);
}

static void test_looking_at_null(void **state)
{
    (void)state;
    assert_int_equal(hk_mesh_vertex_count(NULL), 0);
    assert_int_equal(hk_mesh_tet_count(NULL), 0);
    assert_int_equal(hk_mesh_triangle_count(NULL), 0);
    assert_null(hk_mesh_positions(NULL));
    assert_null(hk_mesh_tets(NULL));
    assert_null(hk_mesh_triangles(NULL));
    assert_int_equal(hk_mesh_group_count(NULL), 0);
    assert_null(hk_mesh_group_name(NULL, 0));
    assert_int_equal(hk_mesh_note_count(NULL), 0);
    assert_null(hk_mesh_note(NULL, 0));
    assert_int_equal(hk_model_vertex_count(NULL), 0);
    assert_int_equal(hk_model_tet_count(NULL), 0);
    assert_int_equal(hk_model_body_count(NULL), 0);
    assert_int_equal(hk_model_body_start(NULL, 1), 0);
    assert_null(hk_model_rest_positions(NULL));
    assert_null(hk_model_masses(NULL));
    hk_world_set_monitor(NULL, NULL, NULL);
    assert_null(hk_world_model(NULL));
    assert_true(hk_world_time(NULL) == 0);
    assert_true(hk_world_setup_ms(NULL) == 0);
    assert_null(hk_world_positions(NULL));
    assert_null(hk_world_velocities(NULL));
    assert_string_equal(hk_world_describe(NULL), "");
    assert_int_equal(hk_world_threads(NULL), 0);
    assert_string_equal(hk_world_method(NULL), "");
    assert_non_null(hk_world_backend(NULL));
    assert_null(hk_scene_model(NULL));
    assert_null(hk_scene_world(NULL));
    assert_null(hk_scene_output(NULL));
    assert_int_equal(hk_scene_steps(NULL), 0);
    hk_mesh_free(NULL);
    hk_model_free(NULL);
    hk_world_free(NULL);
    hk_scene_free(NULL);
    hk_set_log(NULL, NULL);
    hk_set_allocator(NULL);
}

// Lists have ends, enumerations have bounds.
static void test_beyond_the_lists(void **state)
{
    (void)state;
    assert_true(hk_method_count() >= 11);
    assert_string_equal(hk_method_name(0), "newton");
    assert_true(strlen(hk_method_summary(0)) > 5);
    assert_true(hk_method_option_count(0) > 0);
    assert_non_null(hk_method_option(0, 0)->name);
    for (int k = 0; k < 2; k++) {
        int beyond = k ? hk_method_count() : -1;
        assert_null(hk_method_name(beyond));
        assert_null(hk_method_summary(beyond));
        assert_int_equal(hk_method_option_count(beyond), 0);
        assert_null(hk_method_option(beyond, 0));
        assert_null(hk_method_option(0, k ? hk_method_option_count(0) : -1));
    }
    for (int k = -1; k < 12; k++) {
        assert_true(strlen(hk_status_name((hk_status)k)) > 0);
        assert_true(strlen(hk_reason_name((hk_reason)k)) > 0);
        assert_true(strlen(hk_phase_name((hk_phase)k)) > 0);
    }
    assert_int_equal(hk_reason_outcome(HK_CONVERGED), HK_OUTCOME_CONVERGED);
    assert_int_equal(hk_reason_outcome(HK_STOPPED), HK_OUTCOME_STOPPED);
    assert_int_equal(hk_reason_outcome(HK_FIXED_WORK), HK_OUTCOME_STOPPED);
    assert_int_equal(hk_reason_outcome(HK_PRECISION_LIMIT), HK_OUTCOME_STOPPED);
    assert_string_equal(hk_reason_name(HK_PRECISION_LIMIT), "precision limit");
    assert_int_equal(hk_reason_outcome(HK_NOT_HELD), HK_OUTCOME_FAILED);
    hk_mesh_def def = hk_default_mesh_def((hk_shape)77);
    hk_mesh *mesh = NULL;
    REFUSED(hk_mesh_make(&def, &mesh));
}

// ---------------------------------------------------------------- numbers that are none

static void test_numbers_that_are_none(void **state)
{
    (void)state;
    hk_world *world = small_world("neo_hookean", true);
    hk_model *model = (hk_model *)(uintptr_t)hk_world_model(world);
    double before[81], bad[81];
    memcpy(before, hk_world_positions(world), sizeof before);
    for (int k = 0; k < 2; k++) {
        memcpy(bad, before, sizeof bad);
        bad[80] = k ? INFINITY : NAN;
        REFUSED(hk_world_set_positions(world, bad));
        REFUSED(hk_world_set_velocities(world, bad));
        REFUSED(hk_world_set_time(world, bad[80]));
        assert_memory_equal(before, hk_world_positions(world), sizeof before);
        assert_true(hk_world_time(world) == 0);
        hk_world_def def = hk_default_world_def();
        hk_world *none = NULL;
        def.model = model;
        def.step = bad[80];
        REFUSED(hk_world_create(&def, &none));
        def.step = 0.01;
        def.solver.tolerance = bad[80];
        REFUSED(hk_world_create(&def, &none));
    }
    hk_world_def def = hk_default_world_def();
    hk_world *none = NULL;
    def.model = model;
    def.threads = 100000;
    REFUSED(hk_world_create(&def, &none));
    def.threads = -1;
    REFUSED(hk_world_create(&def, &none));
    def.threads = 1;
    def.backend = (hk_backend)9;
    REFUSED(hk_world_create(&def, &none));
    def.backend = HK_BACKEND_CPU;
    def.solver.option_count = 1;
    REFUSED(hk_world_create(&def, &none));
    def.solver.option_count = -1;
    REFUSED(hk_world_create(&def, &none));
    def.solver.option_count = 0;
    def.solver.iterations = -1;
    REFUSED(hk_world_create(&def, &none));
    def.solver.iterations = 0;
    def.integrator = NULL;
    REFUSED(hk_world_create(&def, &none));
    def = hk_default_world_def();
    def.model = model;
    def.solver.method = NULL;
    REFUSED(hk_world_create(&def, &none));
    assert_null(none);
    hk_world_free(world);
}

// Velocities so large that a step cannot be finite: told, and the state kept.
static void test_absurd_velocities(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        hk_world *world = small_world(hk_material_name(m), true);
        double v[81], x[81];
        for (int k = 0; k < 81; k++) v[k] = k % 2 ? 1e200 : -1e200;
        memcpy(x, hk_world_positions(world), sizeof x);
        CHECK_OK(hk_world_set_velocities(world, v));
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        for (int k = 0; k < 81; k++) assert_true(isfinite(hk_world_positions(world)[k]));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            assert_memory_equal(x, hk_world_positions(world), sizeof x);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- small and strange worlds

static void test_single_tet(void **state)
{
    (void)state;
    static const double X[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int32_t tet[4] = {0, 1, 2, 3}, base[3] = {0, 1, 2};
    for (int m = 0; m < solid_count(); m++)
        for (int held = 0; held < 2; held++) {
            hk_mesh *mesh = NULL;
            CHECK_OK(hk_mesh_from_arrays(4, X, 1, tet, 0, NULL, &mesh));
            hk_selector fix = {.kind = HK_SELECT_VERTICES, .vertices = base, .vertex_count = 3};
            hk_body_def body = hk_default_body_def();
            body.material = material_of(hk_material_name(m), 1e6, 0.3);
            body.fixes = &fix;
            body.fix_count = held;
            hk_world *world = world_of(model_of(&body, mesh, -9.81), 0.01, 4);
            hk_step_report r;
            for (int k = 0; k < 3; k++) {
                CHECK_OK(hk_world_step(world, &r));
                assert_int_equal(r.reason, HK_CONVERGED);
            }
            CHECK_OK(hk_world_pose(world, &r));
            assert_int_equal(r.reason, held ? HK_CONVERGED : HK_NOT_HELD);
            hk_world_free(world);
        }
}

static void test_all_vertices_held(void **state)
{
    (void)state;
    hk_selector all = {.kind = HK_SELECT_ALL};
    hk_move_def turn = {
        .def_size = sizeof(hk_move_def),
        .select = select_box(1, 0, 0, 1, 1, 1),
        .motion = {.axis = {1, 0, 0}, .center = {1, 0.5, 0.5}, .degrees = 20, .over = 1}};
    hk_body_def body = hk_default_body_def();
    body.fixes = &all;
    body.fix_count = 1;
    body.moves = &turn;
    body.move_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), -9.81), 0.5, 1);
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(r.residual == 0 && r.relative_residual == 0 && r.iterations == 0);
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(strlen(hk_world_describe(world)) > 10);
    hk_world_free(world);
}

// A start inside out: laws with a barrier say so and keep it, the others find back.
static void test_inverted_start(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        const char *name = hk_material_name(m);
        bool barrier = hk_law_describe((hk_law)m)->barrier;
        for (int pose = 0; pose < 2; pose++) {
            hk_world *world = small_world(name, true);
            double x[81], before[81];
            memcpy(x, hk_world_positions(world), sizeof x);
            for (int v = 0; v < 27; v++)
                if (x[3 * v] == 0.5) x[3 * v] = 1.3;  // the middle beyond the end
            CHECK_OK(hk_world_set_positions(world, x));
            memcpy(before, hk_world_positions(world), sizeof before);
            hk_energy e;
            CHECK_OK(hk_world_energy(world, &e, NULL));
            assert_int_equal(e.elastic == INFINITY, barrier);
            hk_step_report r;
            CHECK_OK(pose ? hk_world_pose(world, &r) : hk_world_step(world, &r));
            if (barrier) {
                assert_int_equal(hk_reason_outcome(r.reason), HK_OUTCOME_FAILED);
                assert_non_null(strstr(r.detail, "tet"));
                assert_memory_equal(before, hk_world_positions(world), sizeof before);
                assert_true(hk_world_time(world) == 0);
            } else {
                assert_true(r.reason == HK_CONVERGED || r.reason == HK_ITERATION_LIMIT ||
                            r.reason == HK_LOAD_STEP_LIMIT);
                for (int k = 0; k < 81; k++) assert_true(isfinite(hk_world_positions(world)[k]));
            }
            hk_world_free(world);
        }
    }
}

// A body far from the origin poses like one at the origin, as far as its coordinates are exact.
static void test_far_from_the_origin(void **state)
{
    (void)state;
    double droop[2];
    for (int far = 0; far < 2; far++) {
        double place = far ? 4096 : 0;
        hk_selector wall = select_box(place, -1, -1, place, 1, 1);
        hk_body_def body = hk_default_body_def();
        body.material = material_of("neo_hookean", 2e5, 0.4);
        body.transform.translate[0] = place;
        body.fixes = &wall;
        body.fix_count = 1;
        hk_world *world =
            world_of(model_of(&body, box_mesh(1, 0.25, 0.25, 8, 2, 2), -9.81), 0.01, 1);
        hk_step_report r;
        CHECK_OK(hk_world_pose(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        droop[far] = 0;
        for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
            droop[far] = fmin(droop[far], hk_world_positions(world)[3 * v + 1]);
        hk_world_free(world);
    }
    assert_true(droop[0] < -0.1);
    assert_true(fabs(droop[1] - droop[0]) < 1e-6);
}

// ---------------------------------------------------------------- threads

typedef struct errand {
    const hk_model *model;
    double x[81];
    bool failed;
} errand;

static void *run_errand(void *context)
{
    errand *e = context;
    hk_world_def def = hk_default_world_def();
    def.model = e->model;
    def.threads = 1;
    for (int k = 0; k < 3; k++) {
        hk_world *world = NULL;
        hk_step_report r;
        e->failed |= hk_world_create(&def, &world) != HK_OK;
        if (e->failed) return NULL;
        for (int q = 0; q < 5; q++) e->failed |= hk_world_step(world, &r) != HK_OK;
        memcpy(e->x, hk_world_positions(world), sizeof e->x);
        hk_world_free(world);
        // Each thread has its own message.
        hk_fail(HK_BAD_INPUT, "message of %p", context);
        char own[64];
        snprintf(own, sizeof own, "message of %p", context);
        e->failed |= strcmp(hk_error(), own) != 0;
    }
    return NULL;
}

// One model serves worlds in several threads at once, with the same results.
static void test_worlds_in_threads(void **state)
{
    (void)state;
    hk_selector wall = select_box(0, 0, 0, 0, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), -9.81);
    static errand errands[4];
    pthread_t threads[4];
    for (int k = 0; k < 4; k++) {
        errands[k].model = model;
        assert_int_equal(pthread_create(&threads[k], NULL, run_errand, &errands[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        assert_false(errands[k].failed);
        assert_memory_equal(errands[k].x, errands[0].x, sizeof errands[0].x);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- the base

static void test_version_and_messages(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", HK_VERSION_MAJOR, HK_VERSION_MINOR,
             HK_VERSION_PATCH);
    assert_string_equal(hk_version(), expected);
    assert_int_equal(hk_fail(HK_IO_ERROR, "file %d", 7), HK_IO_ERROR);
    assert_string_equal(hk_error(), "file 7");
    assert_int_equal(hk_fail_within(HK_IO_ERROR, "scene %s", "a"), HK_IO_ERROR);
    assert_string_equal(hk_error(), "scene a: file 7");
    // Long ones are cut, not overrun.
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hk_fail(HK_BAD_INPUT, "%s", text);
    hk_fail_within(HK_BAD_INPUT, "%s", text);
    assert_true(strlen(hk_error()) < sizeof text);
}

static void keep_message(void *context, hk_log_level level, const char *message)
{
    assert_int_equal(level, HK_LOG_INFO);
    snprintf(context, 64, "%s", message);
}

static void test_log(void **state)
{
    (void)state;
    char kept[64] = "";
    hk_set_log(keep_message, kept);
    hk_log(HK_LOG_INFO, "%d tets turned", 3);
    hk_set_log(NULL, NULL);
    hk_log(HK_LOG_INFO, "nobody hears this");
    assert_string_equal(kept, "3 tets turned");
}

static void test_memory(void **state)
{
    (void)state;
    failing_alloc_install(0);
    assert_null(hk_alloc(SIZE_MAX / 2, 3));  // the product overflows
    assert_null(hk_calloc(SIZE_MAX, SIZE_MAX));
    assert_int_equal(failing_alloc_count(), 0);
    void *empty = hk_alloc(0, 8);
    assert_non_null(empty);
    double *zeros = HK_ZEROS(double, 9);
    assert_true(((uintptr_t)zeros & (HK_ALIGNMENT - 1)) == 0);
    for (int k = 0; k < 9; k++) assert_true(zeros[k] == 0);
    hk_free(empty);
    hk_free(zeros);
    hk_free(NULL);
    int *list = NULL;
    size_t capacity = 0;
    for (size_t count = 0; count < 100; count++) {
        assert_int_equal(hk_reserve((void **)&list, count, sizeof *list, &capacity, count + 1),
                         HK_OK);
        list[count] = (int)count;
    }
    for (int k = 0; k < 100; k++) assert_int_equal(list[k], k);
    // On failure the old array stays.
    assert_int_equal(hk_reserve((void **)&list, 100, sizeof *list, &capacity, SIZE_MAX),
                     HK_NO_MEMORY);
    assert_int_equal(list[99], 99);
    hk_free(list);
    char *copy = hk_strndup("hooke", 4);
    assert_string_equal(copy, "hook");
    hk_free(copy);
    assert_int_equal(failing_alloc_live(), 0);
    // An allocator that is not whole is none.
    hk_set_allocator(&(hk_allocator){0});
    void *block = hk_alloc(1, 1);
    assert_non_null(block);
    hk_free(block);
    failing_alloc_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_is_refused),
        cmocka_unit_test(test_looking_at_null),
        cmocka_unit_test(test_beyond_the_lists),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_absurd_velocities),
        cmocka_unit_test(test_single_tet),
        cmocka_unit_test(test_all_vertices_held),
        cmocka_unit_test(test_inverted_start),
        cmocka_unit_test(test_far_from_the_origin),
        cmocka_unit_test(test_worlds_in_threads),
        cmocka_unit_test(test_version_and_messages),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
