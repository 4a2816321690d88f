// Rest shapes where it is hard: bodies that are too heavy or not held, starts that are none, and
// what users are told.
#include "rest_bodies.h"

#include "design/rest_solver.h"
#include "model/model.h"

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

// ---------------------------------------------------------------- folds

// A short bar, so heavy that its branch of solutions folds back.
static hk_model *heavy_bar(const char *material, double poisson, double gravity)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 8.5e5, poisson);
    hk_selector wall = select_box(-1e-6, -1, -1, 1e-6, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), gravity);
}

// The fraction of the load that the report says there is no rest shape beyond.
static double told_fold(const hk_rest_report *r)
{
    double percent = 0;
    assert_int_equal(r->reason, HK_LOAD_STEP_LIMIT);
    if (sscanf(r->detail, "no rest shape beyond %lf %% of the load (solutions fold", &percent) != 1)
        fail_msg("\"%s\" (%s)", r->detail, r->attempts);
    assert_non_null(strstr(r->detail, "make it stiffer or lighter"));
    return percent / 100;
}

// The fold is where it is told to be: just below there is a rest shape, and a body a little heavier
// than that has a fold in the same place.
static void test_folds_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *material;
        double poisson, gravity;
    } bars[] = {{"stvk", 0.45, -98.1}, {"stable_neo_hookean", 0.3, -392.4}};
    for (int k = 0; k < (SANITIZED ? 1 : 2); k++) {
        hk_model *model = heavy_bar(bars[k].material, bars[k].poisson, bars[k].gravity);
        hk_rest *rest = rest_of(model, "auto");
        hk_rest_report r;
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        double fold = told_fold(&r);
        assert_true(fold > 0.1 && fold < 0.9);
        assert_true(r.load_reached < 1.002 * fold && r.load_reached > 0.99 * fold);
        assert_true(r.relative_residual < 1e-5 && r.least_j > 0);
        double *X = copy_of(hk_rest_positions(rest), 3 * hk_model_vertex_count(model));
        hk_rest_free(rest);
        hk_model_free(model);

        model = heavy_bar(bars[k].material, bars[k].poisson, 0.995 * fold * bars[k].gravity);
        rest = rest_of(model, "newton_gmres");
        CHECK_OK(hk_rest_solve(rest, X, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        hk_rest_free(rest);
        hk_model_free(model);

        model = heavy_bar(bars[k].material, bars[k].poisson, 1.05 * fold * bars[k].gravity);
        rest = rest_of(model, "auto");
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        double again = 1.05 * told_fold(&r);
        if (!(fabs(again - 1) < 3e-3)) fail_msg("a fold at %g, and one at %g of it", fold, again);
        hk_rest_free(rest);
        hk_model_free(model);
        free(X);
    }
}

// Whatever is spent is told, with what to do.
static void test_budgets_are_told(void **state)
{
    (void)state;
    hk_model *model = heavy_bar("neo_hookean", 0.45, -392.4);
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.load_steps = 3;
    hk_rest *rest = NULL;
    hk_rest_report r;
    CHECK_OK(hk_rest_create(&def, &rest));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_true(r.reason == HK_LOAD_STEP_LIMIT && r.load_steps == 3 && r.load_reached < 1);
    assert_non_null(strstr(r.detail, "allow more"));
    hk_rest_free(rest);
    def.load_steps = -1;
    def.iterations = 2;
    CHECK_OK(hk_rest_create(&def, &rest));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_true(r.reason != HK_CONVERGED && r.detail[0] && r.load_steps == 1);
    hk_rest_free(rest);
    hk_model_free(model);
}

// A pose from a little beside the loaded shape; how far from it that ends, m.
static double leaves_by(const hk_rest *rest, const hk_model *model)
{
    int n = hk_model_vertex_count(model);
    const double *x = hk_model_rest_positions(model);
    hk_world_def def = hk_default_world_def();
    hk_world *world = NULL;
    hk_model *made = NULL;
    hk_step_report r;
    double *beside = copy_of(x, 3 * n);
    CHECK_OK(hk_rest_model(rest, &made));
    def.model = made;
    def.solver.tolerance = 1e-9;
    CHECK_OK(hk_world_create(&def, &world));
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 3 && model->hold[v] == HK_FREE; i++)
            beside[3 * v + i] += 1e-5 * ((7 * v + 3 * i) % 5 - 2);
    CHECK_OK(hk_world_set_positions(world, beside));
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    double away = farthest(hk_world_positions(world), x, n);
    free(beside);
    hk_world_free(world);
    hk_model_free(made);
    return away;
}

// A rest shape may balance a load that the body does not bear: that is told.
static void test_unstable_shapes_are_told(void **state)
{
    (void)state;
    for (int heavy = 0; heavy < 2; heavy++) {
        hk_model *model = make_model(CANTILEVER, "neo_hookean", 8.5e5, heavy ? -98.1 : -9.81);
        hk_rest *rest = rest_of(model, "auto");
        hk_rest_report r;
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_int_equal(r.unstable, 0);  // nobody has asked
        CHECK_OK(hk_rest_find_stability(rest, &r));
        assert_int_equal(r.unstable, heavy);
        assert_true((strstr(r.detail, "unstable") != NULL) == heavy);
        double away = leaves_by(rest, model);
        if (heavy != (away > 0.1)) fail_msg("unstable: %d; it leaves by %g m", heavy, away);
        hk_rest_free(rest);
        hk_model_free(model);
    }
    hk_rest_report r;
    assert_int_equal(hk_rest_find_stability(NULL, &r), HK_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_load_it_is_the_shape),
        cmocka_unit_test(test_bodies_that_nothing_holds),
        cmocka_unit_test(test_nearly_incompressible),
        cmocka_unit_test(test_heavy_bodies),
        cmocka_unit_test(test_start_that_is_inside_out),
        cmocka_unit_test(test_folds_are_told),
        cmocka_unit_test(test_budgets_are_told),
        cmocka_unit_test(test_unstable_shapes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
