// Fits of materials to observed shapes: derivatives against differences of whole poses, values that
// are found again, and honest deviations.
#include "fit_bars.h"

#include "model/model.h"

// ---------------------------------------------------------------- derivatives

// The misfit at values, a relative step away in one of them.
static double misfit_near(hk_fit *fit, int vertices, const double *values, int k, double step,
                          double *positions)
{
    double moved[8], misfit;
    memcpy(moved, values, (size_t)hk_fit_parameter_count(fit) * sizeof *values);
    moved[k] += step;
    CHECK_OK(hk_fit_misfit(fit, moved, &misfit, NULL));
    memcpy(positions, hk_fit_positions(fit), 3 * (size_t)vertices * sizeof *positions);
    return misfit;
}

// Fourth order, so that the differences of poses are good to more digits than they are held to.
static void check_derivatives(const bar *b, const char *vary, const double *x, int count)
{
    hk_fit *fit = fit_of(b, vary);
    aim(fit, x, count);
    int n = hk_fit_parameter_count(fit), size = 3 * count;
    double values[8], gradient[8], misfit, *near[4], *slopes;
    slopes = malloc((size_t)(n * size) * sizeof *slopes);
    for (int k = 0; k < 4; k++) near[k] = malloc((size_t)size * sizeof *near[k]);
    for (int k = 0; k < n; k++) values[k] = hk_fit_parameter_at(fit, k)->start;
    CHECK_OK(hk_fit_misfit(fit, values, &misfit, gradient));
    CHECK_OK(hk_fit_sensitivity(fit, slopes));
    assert_true(misfit > 0);
    for (int k = 0; k < n; k++) {
        double h = 2e-3 * fabs(values[k]), sign[4] = {8, -8, -1, 1}, way[4] = {1, -1, 2, -2};
        double difference = 0, off = 0, length = 0, by_rows = 0;
        for (int i = 0; i < 4; i++)
            difference +=
                sign[i] * misfit_near(fit, count, values, k, way[i] * h, near[i]) / (12 * h);
        for (int i = 0; i < size; i++) {
            double slope = 0;
            for (int j = 0; j < 4; j++) slope += sign[j] * near[j][i] / (12 * h);
            off += pow(slope - slopes[k * size + i], 2);
            length += pow(slope, 2);
        }
        CHECK_OK(hk_fit_misfit(fit, values, &misfit, NULL));
        for (int i = 0; i < size; i++)
            by_rows += slopes[k * size + i] * (hk_fit_positions(fit)[i] - x[i]);
        const char *name = hk_fit_parameter_at(fit, k)->name, *law = b->body.material.model;
        if (!(fabs(gradient[k] - difference) <= 1e-6 * fabs(difference)))
            fail_msg("%s, %s: adjoint gradient %.12g, by differences %.12g", law, name, gradient[k],
                     difference);
        if (!(off <= 1e-12 * length))
            fail_msg("%s, %s: sensitivities are off by %g", law, name, sqrt(off / length));
        if (!(fabs(by_rows - gradient[k]) <= 1e-8 * fabs(gradient[k])))
            fail_msg("%s, %s: adjoint %.12g, forward %.12g", law, name, gradient[k], by_rows);
    }
    for (int k = 0; k < 4; k++) free(near[k]);
    free(slopes);
    hk_fit_free(fit);
}

// Of every law by E, ν and density, with a fibre, too.
static void test_derivatives_of_materials(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m += is_slow() ? 2 : 1) {
        const char *law = hk_material_name(m);
        bar b;
        int count;
        make_bar(&b, law, 6e5, 2);
        b.body.material.fibre_stiffness = 2e5;
        pull_end(&b, 2, -5, 3);
        double *x = observe(&b, &count);
        b.body.material.young = 7.5e5;
        b.body.material.poisson = 0.35;
        // A law that resists no change of volume has none of ν but by its stiffness.
        check_derivatives(&b, "young,poisson,density,fibre.stiffness", x, count);
        free(x);
        hk_mesh_free(b.mesh);
    }
}

// By region, and by the coefficients of laws.
static void test_derivatives_of_regions_and_coefficients(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "fung", 6e5, 2);
    add_region(&b, 0.4, 0.6, 3e6);
    add_region(&b, 0.6, 1, 4e5);
    double *x = observe(&b, &count);
    b.body.material.young = 7e5;
    b.regions[1].material.young = 5e5;
    check_derivatives(&b, "bodies.0.young,bodies.bar.regions.*.young,bodies.0.regions.1.density", x,
                      count);
    check_derivatives(&b, "bodies.0.s0,bodies.0.s1,bodies.0.s2,bodies.0.s3", x, count);
    free(x);
    hk_mesh_free(b.mesh);
    make_bar(&b, "neo_hookean", 6e5, 2);
    x = observe(&b, &count);
    b.body.material.young = b.body.material.poisson = NAN;
    b.body.material.parameter_count = 2;
    b.body.material.parameters[0] = (hk_parameter){"mu", 3e5};
    b.body.material.parameters[1] = (hk_parameter){"lambda", 5e5};
    check_derivatives(&b, "mu,lambda", x, count);
    free(x);
    hk_mesh_free(b.mesh);
}

// ---------------------------------------------------------------- values found again

// E of every law, from three times too much.
static void test_every_material_is_found(void **state)
{
    (void)state;
    // In slow builds those whose derivatives are not checked above.
    for (int m = is_slow(); m < solid_count(); m += is_slow() ? 2 : 1) {
        const char *law = hk_material_name(m);
        bar b;
        int count;
        make_bar(&b, law, 6e5, 2);
        double *x = observe(&b, &count);
        b.body.material.young *= 3;
        hk_fit *fit = fit_of(&b, "young");
        aim(fit, x, count);
        hk_fit_report r;
        CHECK_OK(hk_fit_solve(fit, &r));
        expect_converged(&r, law);
        expect_near(value_of(fit, 0), 6e5, 1e-6, law);
        assert_true(r.outliers == 0 && r.rms < 1e-7 && r.missing == 0 && r.sag > 0.1);
        assert_true(deviation_of(fit, 0) < 1e-3 * 6e5);
        hk_fit_free(fit);
        free(x);
        hk_mesh_free(b.mesh);
    }
}

// More than 100 times too stiff, and too soft.
static void test_far_starts(void **state)
{
    (void)state;
    static const char *const laws[] = {"neo_hookean", "stvk", "corotated", "stable_neo_hookean"};
    for (int m = 0; m < (is_slow() ? 1 : 4); m++) {
        for (int k = 0; k < 2; k++) {
            bar b;
            int count;
            make_bar(&b, laws[m], 6e5, 2);
            double *x = observe(&b, &count);
            b.body.material.young *= k ? 137 : 1.0 / 137;
            hk_fit *fit = fit_of(&b, "young");
            aim(fit, x, count);
            hk_fit_report r;
            CHECK_OK(hk_fit_solve(fit, &r));
            expect_converged(&r, laws[m]);
            expect_near(value_of(fit, 0), 6e5, 1e-6, laws[m]);
            assert_true(hk_fit_parameter_at(fit, 0)->start == b.body.material.young);
            hk_fit_free(fit);
            free(x);
            hk_mesh_free(b.mesh);
        }
    }
}

// Several parameters at once, told apart by a load beside the weight.
static void test_several_parameters(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 6e5, 2);
    pull_end(&b, 0, -10, 8);
    double *x = observe(&b, &count);
    b.body.material.young = 2e6;
    b.body.material.poisson = 0.2;
    b.body.material.density = 700;
    hk_fit *fit = fit_of(&b, " young, poisson ,density");
    aim(fit, x, count);
    hk_fit_report r;
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "three");
    expect_near(value_of(fit, 0), 6e5, 1e-5, "young");
    expect_near(value_of(fit, 1), 0.4, 1e-5, "poisson");
    expect_near(value_of(fit, 2), 1000, 1e-5, "density");
    // The values go into a scene as these lines, and into a model.
    assert_non_null(strstr(hk_fit_setting(fit, 0), "bodies.0.material.young="));
    assert_non_null(strstr(hk_fit_setting(fit, 2), "bodies.0.material.density="));
    assert_null(hk_fit_setting(fit, 3));
    hk_model *found;
    CHECK_OK(hk_fit_model(fit, &found));
    expect_near(found->materials[0].density, 1000, 1e-5, "density of the model");
    hk_model_free(found);
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

static void test_regions_are_found(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "stable_neo_hookean", 6e5, 2);
    add_region(&b, 0.3, 0.5, 5e6);
    add_region(&b, 0.5, 0.8, 1.2e6);
    double *x = observe(&b, &count);
    b.body.material.young = b.regions[0].material.young = b.regions[1].material.young = 1e6;
    hk_fit *fit = fit_of(&b, "bodies.0.young,bodies.0.regions.*.material.young");
    assert_int_equal(hk_fit_parameter_count(fit), 3);
    assert_string_equal(hk_fit_parameter_at(fit, 2)->name, "bodies.0.regions.1.young");
    aim(fit, x, count);
    hk_fit_report r;
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "regions");
    expect_near(value_of(fit, 0), 6e5, 1e-5, "body");
    expect_near(value_of(fit, 1), 5e6, 1e-5, "first region");
    expect_near(value_of(fit, 2), 1.2e6, 1e-5, "second region");
    assert_non_null(strstr(hk_fit_setting(fit, 1), "bodies.0.regions.0.material.young="));
    hk_fit_free(fit);
    // One value for all of them.
    fit = fit_of(&b, "young");
    assert_int_equal(hk_fit_parameter_count(fit), 1);
    assert_non_null(hk_fit_setting(fit, 2));
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

// The same bits for any number of threads, and the second time.
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 1e7, 6);  // enough for threads to be used
    double *x = observe(&b, &count), first[2];
    add_noise(x, count, 1e-3, 5);
    b.body.material.young = 1.1e7;
    for (int threads = 1; threads <= 2; threads++) {
        hk_fit_def def = hk_default_fit_def();
        hk_fit *fit;
        hk_fit_report r;
        def.model = &b.model;
        def.threads = threads;
        def.iterations = 1;
        CHECK_OK(hk_fit_create(&def, &fit));
        aim(fit, x, count);
        CHECK_OK(hk_fit_solve(fit, &r));
        assert_true(r.iterations == 1 && value_of(fit, 0) != 1.1e7);
        double now[2] = {value_of(fit, 0), deviation_of(fit, 0)};
        if (threads == 1) memcpy(first, now, sizeof now);
        assert_memory_equal(first, now, sizeof now);
        hk_fit_free(fit);
    }
    free(x);
    hk_mesh_free(b.mesh);
}

// ---------------------------------------------------------------- deviations

// 5K tets: without noise to 0.1 % and much better, with 1 mm of it within what is claimed.
static void test_noise_on_many_tets(void **state)
{
    (void)state;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 2e6, is_slow() ? 3 : 6);
    double *x = observe(&b, &count);
    b.body.material.young = 3e6;
    hk_fit *fit = fit_of(&b, "young");
    hk_fit_report r;
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "no noise");
    expect_near(value_of(fit, 0), 2e6, 1e-6, "no noise");
    assert_true(r.held > 0 && r.held_distance < 1e-12);
    add_noise(x, count, 1e-3, 17);
    aim(fit, x, count);
    CHECK_OK(hk_fit_solve(fit, &r));
    expect_converged(&r, "noise");
    assert_true(fabs(value_of(fit, 0) - 2e6) <= 3 * deviation_of(fit, 0));
    assert_true(deviation_of(fit, 0) < 1e-3 * 2e6 && deviation_of(fit, 0) > 1e-6 * 2e6);
    assert_true(r.noise > 0.95e-3 && r.noise < 1.05e-3);
    assert_true(r.rms > 0.95e-3 * sqrt(3) && r.rms < 1.05e-3 * sqrt(3));
    assert_true(r.outliers == 0);
    hk_fit_free(fit);
    free(x);
    hk_mesh_free(b.mesh);
}

// Errors in units of the deviations claimed have variance 1: over many seeds their squares add up
// to about as many. The bounds are those that chance crosses once in a thousand.
static void test_deviations_are_honest(void **state)
{
    (void)state;
    // chi² with so many degrees of freedom: 0.05 % below the first, 0.05 % above the second.
    const struct {
        int seeds;
        double low, high;
    } choices[] = {{24, 7.5, 54}, {8, 0.71, 27.9}}, *bounds = &choices[is_slow()];
    const int seeds = bounds->seeds;
    bar b;
    int count;
    make_bar(&b, "neo_hookean", 6e5, 2);
    double *truth = observe(&b, &count), *x = malloc(3 * (size_t)count * sizeof *x);
    double sums[2] = {0}, cross = 0, correlation = 0;
    b.body.material.young = 8e5;
    b.body.material.poisson = 0.3;
    hk_fit *fit = fit_of(&b, "young,poisson");
    for (int seed = 0; seed < seeds; seed++) {
        memcpy(x, truth, 3 * (size_t)count * sizeof *x);
        add_noise(x, count, 1e-3, 1000 + (uint64_t)seed);
        aim(fit, x, count);
        hk_fit_report r;
        CHECK_OK(hk_fit_solve(fit, &r));
        expect_converged(&r, "a seed");
        double e = (value_of(fit, 0) - 6e5) / deviation_of(fit, 0);
        double v = (value_of(fit, 1) - 0.4) / deviation_of(fit, 1);
        sums[0] += e * e;
        sums[1] += v * v;
        cross += e * v;
        correlation += hk_fit_covariance(fit)[1] / deviation_of(fit, 0) / deviation_of(fit, 1);
    }
    for (int k = 0; k < 2; k++)
        if (!(sums[k] > bounds->low && sums[k] < bounds->high))
            fail_msg("parameter %d: squared errors of %d fits add up to %g deviations²", k, seeds,
                     sums[k]);
    if (!(fabs(cross - correlation) < 3.3 * sqrt(2 * seeds)))
        fail_msg("errors are correlated by %g, %g was claimed", cross / seeds, correlation / seeds);
    hk_fit_free(fit);
    free(x);
    free(truth);
    hk_mesh_free(b.mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives_of_materials),
        cmocka_unit_test(test_derivatives_of_regions_and_coefficients),
        cmocka_unit_test(test_every_material_is_found),
        cmocka_unit_test(test_far_starts),
        cmocka_unit_test(test_several_parameters),
        cmocka_unit_test(test_regions_are_found),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_noise_on_many_tets),
        cmocka_unit_test(test_deviations_are_honest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
