// Fits of materials to observed shapes: errors among the observations, wrong files and names, and
// what cannot be told.
#include "fit_bars.h"

#include <unistd.h>

#include "mesh_file_checks.h"

// ---------------------------------------------------------------- bad data

// One point in twelve is grossly wrong, to one side: they are named, and do no harm.
static void test_outliers_are_named(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        bar b;
        int count, wrong = 0;
        make_bar(&b, "neo_hookean", 6e5, 3);
        double *x = observe(&b, &count);
        uint8_t *moved = calloc((size_t)count, 1);
        if (noisy) add_noise(x, count, 1e-3, 3);
        uint64_t seed = 11;
        for (int v = 5; v < count; v += 12) {
            if (b.mesh && hk_mesh_positions(b.mesh)[3 * v] == 0) continue;
            x[3 * v + 1] += 0.05 + 0.04 * noise(&seed);
            moved[v] = 1;
            wrong++;
        }
        b.body.material.young = 2e6;
        hk_fit *fit = fit_of(&b, "young");
        hk_fit_report r;
        aim(fit, x, count);
        CHECK_OK(hk_fit_solve(fit, &r));
        expect_converged(&r, "outliers");
        assert_int_equal(r.outliers, wrong);
        double last = INFINITY;
        for (int k = 0; k < r.outliers; k++) {
            int vertex = hk_fit_outliers(fit)[k];
            assert_true(moved[vertex] && hk_fit_distances(fit)[vertex] <= last);
            last = hk_fit_distances(fit)[vertex];
        }
        if (noisy)
            assert_true(fabs(value_of(fit, 0) - 6e5) <= 3 * deviation_of(fit, 0));
        else
            expect_near(value_of(fit, 0), 6e5, 1e-6, "with outliers");
        hk_fit_free(fit);
        // With all of them the error is many times what it should be.
        hk_fit_def def = hk_default_fit_def();
        def.model = &b.model;
        def.outlier = -1;
        CHECK_OK(hk_fit_create(&def, &fit));
        aim(fit, x, count);
        CHECK_OK(hk_fit_solve(fit, &r));
        assert_true(r.outliers == 0 && fabs(value_of(fit, 0) - 6e5) > 1e-3 * 6e5);
        hk_fit_free(fit);
        free(x);
        free(moved);
        hk_mesh_free(b.mesh);
    }
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// Every third vertex, from a file.
static void test_missing_points(void **state)
{
    (void)state;
    bar b;
    int count, given = 0, held = 0;
    make_bar(&b, "neo_hookean", 6e5, 2);
    double *x = observe(&b, &count);
    char *path = temporary_path("seen.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "vertex,x,y,z\n");
    for (int v = count - 1; v >= 0; v -= 3, given++) {
        fprintf(file, "%d,%.17g,%.17g,%.17g\n", v, x[3 * v], x[3 * v + 1], x[3 * v + 2]);
        held += hk_mesh_positions(b.mesh)[3 * v] == 0;
    }
    fclose(file);
    b.body.material.young = 1e5;
    hk_fit *fit = fit_of(&b, "young");
    hk_fit_report r;
    assert_int_equal(hk_fit_solve(fit, &r), HK_BAD_INPUT);  // no target yet
    CHECK_OK(hk_fit_load_target(fit, path));
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "missing points");
    expect_near(value_of(fit, 0), 6e5, 1e-6, "missing points");
    assert_true(r.held == held && r.observed == given - held && r.missing > r.observed);
    int seen = 0;
    for (int v = 0; v < count; v++) seen += isfinite(hk_fit_distances(fit)[v]);
    assert_int_equal(seen, given);
    hk_fit_free(fit);
    remove_path(path);
    free(x);
    hk_mesh_free(b.mesh);
}

static void expect_refused(hk_fit *fit, const char *path, const char *text, const char *words)
{
    write_text(path, text);
    assert_int_equal(hk_fit_load_target(fit, path), HK_BAD_INPUT);
    if (!strstr(hk_error(), words)) fail_msg("'%s' lacks '%s'", hk_error(), words);
}

static void test_bad_files(void **state)
{
    (void)state;
    bar b;
    make_bar(&b, "neo_hookean", 6e5, 1);
    hk_fit *fit = fit_of(&b, "young,poisson");
    char *path = temporary_path("bad.csv");
    expect_refused(fit, path, "vertex,x,y,z\n5,1,2,nan\n", ":2: ");
    expect_refused(fit, path, "vertex,x,y,z\n5,1,2,3\n99,1,2,3\n", ":3: there is no vertex 99");
    expect_refused(fit, path, "5,1,2,3\n6,0,0,0\n5,1,2,3\n", ":3: vertex 5 is there already");
    expect_refused(fit, path, "vertex,x,y,z\n5,1,2\n", ":2: ");
    expect_refused(fit, path, "vertex,x,y,z\n5,1,2,3,4\n", ":2: ");
    expect_refused(fit, path, "x,y,z\n1,2,3\n", ":1: ");
    expect_refused(fit, path, "vertex,x,y,z\n", "no rows");
    expect_refused(fit, path, "vertex,x,y,z\n0,0,0,0\n", "free to move");
    remove_path(path);
    path = temporary_path("other.msh");
    hk_mesh *other = box_mesh(1, 1, 1, 2, 2, 2);
    CHECK_OK(hk_mesh_save(other, path, NULL, 0));
    assert_int_equal(hk_fit_load_target(fit, path), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "27 vertices"));
    // A mesh of the right size does.
    CHECK_OK(hk_mesh_save(b.mesh, path, NULL, 0));
    CHECK_OK(hk_fit_load_target(fit, path));
    assert_int_equal(hk_fit_load_target(fit, "/nowhere/x.csv"), HK_IO_ERROR);
    hk_mesh_free(other);
    remove_path(path);
    double far[3] = {0, INFINITY, 0}, near[6] = {0};
    int32_t twice[2] = {20, 20}, beyond = 1000;
    assert_int_equal(hk_fit_set_target(fit, 1, twice, far), HK_BAD_INPUT);
    assert_int_equal(hk_fit_set_target(fit, 2, twice, near), HK_BAD_INPUT);
    assert_int_equal(hk_fit_set_target(fit, 1, &beyond, near), HK_BAD_INPUT);
    hk_fit_free(fit);
    hk_mesh_free(b.mesh);
}

static void expect_no_fit(const bar *b, const char *vary, const char *words)
{
    hk_fit_def def = hk_default_fit_def();
    hk_fit *fit = NULL;
    def.model = &b->model;
    def.vary = vary;
    hk_status status = hk_fit_create(&def, &fit);
    if (status == HK_OK || fit) fail_msg("'%s' is taken", vary);
    if (!strstr(hk_error(), words)) fail_msg("'%s': '%s' lacks '%s'", vary, hk_error(), words);
}

static void test_bad_names(void **state)
{
    (void)state;
    bar b;
    make_bar(&b, "neo_hookean", 6e5, 1);
    add_region(&b, 0, 0.5, 1e6);
    expect_no_fit(&b, "", "name what is to be found");
    expect_no_fit(&b, "poisson,,density", "missing between two commas");
    expect_no_fit(&b, "yuong", "no \"yuong\" to vary in material neo_hookean");
    expect_no_fit(&b, "young", "not the same in all materials");
    expect_no_fit(&b, "bodies.1.young", "no body or region");
    expect_no_fit(&b, "bodies.box.young", "no body or region");
    expect_no_fit(&b, "bodies.0.regions.1.young", "no body or region");
    expect_no_fit(&b, "bodies.young", "expected bodies.0.young");
    expect_no_fit(&b, "bodies.0.regions.young", "expected bodies.0.young");
    expect_no_fit(&b, "poisson,bodies.0.poisson", "the same number");
    expect_no_fit(&b, "fibre.stiffness", "greater than 0");
    b.body.material.young = b.body.material.poisson = NAN;
    b.body.material.parameter_count = 2;
    b.body.material.parameters[0] = (hk_parameter){"mu", 3e5};
    b.body.material.parameters[1] = (hk_parameter){"lambda", 0};
    expect_no_fit(&b, "bodies.0.young", "come by name");
    expect_no_fit(&b, "bodies.0.lambda", "not 0");
    b.body.sag_free = 1;
    expect_no_fit(&b, "bodies.0.mu", "the loaded one as the target");
    hk_mesh_free(b.mesh);
    assert_int_equal(hk_fit_create(NULL, NULL), HK_BAD_INPUT);
    hk_fit_def def = hk_default_fit_def();
    hk_fit *fit;
    assert_int_equal(hk_fit_create(&def, &fit), HK_BAD_INPUT);
}

// ---------------------------------------------------------------- what cannot be told

// Under its weight alone a shape tells E/ρ, neither of the two.
static void test_young_and_density_are_not_told_apart(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        bar b;
        int count;
        make_bar(&b, "neo_hookean", 6e5, 2);
        double *x = observe(&b, &count);
        if (noisy) add_noise(x, count, 1e-3, 8);
        b.body.material.young = 2e6;
        hk_fit *fit = fit_of(&b, "young,poisson,density");
        hk_fit_report r;
        aim(fit, x, count);
        CHECK_OK(hk_fit_solve(fit, &r));
        assert_int_equal(r.reason, HK_UNDETERMINED);
        assert_int_equal(hk_reason_outcome(r.reason), HK_OUTCOME_STOPPED);
        assert_int_equal(r.undetermined, 2);
        assert_non_null(strstr(r.detail, "young and density cannot be told apart"));
        assert_non_null(strstr(r.detail, "young by +1 % and density by +1 %"));
        assert_true(isinf(deviation_of(fit, 0)) && isinf(deviation_of(fit, 2)));
        assert_true(isfinite(deviation_of(fit, 1)) && isinf(hk_fit_covariance(fit)[1]));
        assert_true(r.relative_gradient <= 1e-6);
        expect_near(value_of(fit, 0) / value_of(fit, 2), 600, noisy ? 0.02 : 1e-5, "E/rho");
        hk_fit_free(fit);
        free(x);
        hk_mesh_free(b.mesh);
    }
}

// Without gravity, and where only held vertices move the body, E has no influence.
static void test_nothing_to_tell(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 6e5, 2);
    double *x = observe(&b, &count);
    b.model.gravity[1] = 0;
    hk_fit *fit = fit_of(&b, "young");
    hk_fit_report r;
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_int_equal(r.reason, HK_UNDETERMINED);
    assert_non_null(strstr(r.detail, "needs gravity"));
    assert_true(isinf(deviation_of(fit, 0)) && value_of(fit, 0) == 6e5 && isfinite(r.rms));
    hk_fit_free(fit);
    hk_move_def move = hk_default_move_def();
    move.select = select_box(1, -1, -1, 1, 2, 2);
    move.motion.translate[1] = 0.1;
    b.body.moves = &move;
    b.body.move_count = 1;
    fit = fit_of(&b, "young");
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_int_equal(r.reason, HK_UNDETERMINED);
    assert_non_null(strstr(r.detail, "young: no influence"));
    hk_fit_free(fit);
    // A region whose vertices are all held.
    b.body.move_count = 0;
    b.model.gravity[1] = -9.81;
    b.wall = select_box(0, -1, -1, 0.4, 2, 2);
    add_region(&b, 0, 0.3, 1e6);
    fit = fit_of(&b, "bodies.0.young,bodies.0.regions.0.young");
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_int_equal(r.reason, HK_UNDETERMINED);
    assert_non_null(strstr(r.detail, "bodies.0.regions.0.young: no influence"));
    assert_true(isfinite(deviation_of(fit, 0)) && isinf(deviation_of(fit, 1)));
    hk_fit_free(fit);
    // All of them.
    b.wall = select_box(-1, -1, -1, 2, 2, 2);
    fit = fit_of(&b, "bodies.0.young");
    int32_t vertex = count - 1;
    assert_int_equal(hk_fit_set_target(fit, 1, &vertex, x), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "free to move"));
    hk_fit_free(fit);
    // Nothing that holds it.
    b.body.fix_count = 0;
    fit = fit_of(&b, "bodies.0.young");
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_int_equal(r.reason, HK_NOT_HELD);
    assert_non_null(strstr(r.detail, "fix at least three"));
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

// A target that was moved away from what holds the body is warned of.
static void test_target_in_other_coordinates(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 6e5, 2);
    double *x = observe(&b, &count);
    for (int v = 0; v < count; v++) x[3 * v] += 0.3;
    hk_fit *fit = fit_of(&b, "young");
    hk_fit_report r;
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_true(fabs(r.held_distance - 0.3) < 1e-9 && r.held_vertex >= 0);
    assert_true(hk_reason_outcome(r.reason) != HK_OUTCOME_FAILED);
    if (r.reason == HK_CONVERGED) assert_non_null(strstr(r.detail, "same coordinates"));
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

// ν beyond what is allowed ends at the end of its range, and says so; never NaN.
static void test_ends_of_ranges(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 6e5, 1);
    b.body.material.poisson = 0.499999;
    double *x = observe(&b, &count);
    b.body.material.poisson = 0.45;
    hk_fit *fit = fit_of(&b, "young,poisson");
    hk_fit_report r;
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_true(value_of(fit, 1) <= 0.49999 && value_of(fit, 1) > 0.499);
    assert_true(isfinite(value_of(fit, 0)) && isfinite(r.rms));
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

static bool stop_soon(void *context, const hk_iteration *iteration)
{
    int *calls = context;
    assert_true(!(iteration->residual < 0));
    return ++*calls < 8;
}

static void test_stopping(void **state)
{
    (void)state;
    bar b;
    int count, calls = 0;
    make_bar(&b, "neo_hookean", 6e5, 2);
    double *x = observe(&b, &count);
    b.body.material.young = 6e7;
    hk_fit *fit = fit_of(&b, "young");
    hk_fit_report r;
    aim(fit, x, count);
    hk_fit_set_monitor(fit, stop_soon, &calls);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    assert_int_equal(calls, 8);
    assert_true(value_of(fit, 0) <= 6e7 && value_of(fit, 0) > 5e5);
    hk_fit_set_monitor(fit, NULL, NULL);
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "after a stop");
    hk_fit_free(fit);
    // A budget.
    hk_fit_def def = hk_default_fit_def();
    def.model = &b.model;
    def.iterations = 1;
    CHECK_OK(hk_fit_create(&def, &fit));
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    assert_true(r.reason == HK_ITERATION_LIMIT && r.iterations == 1);
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outliers_are_named),
        cmocka_unit_test(test_missing_points),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_young_and_density_are_not_told_apart),
        cmocka_unit_test(test_nothing_to_tell),
        cmocka_unit_test(test_target_in_other_coordinates),
        cmocka_unit_test(test_ends_of_ranges),
        cmocka_unit_test(test_stopping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
