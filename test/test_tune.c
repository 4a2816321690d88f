// hooke tune: what a trial measures, and how the text of a scene is changed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene_text.h"
#include "tune.h"

static const char g_scene[] =
    "{\"time\": {\"step\": 0.0333, \"steps\": 8},"
    " \"solver\": {\"method\": \"descent\", \"iterations\": 30},"
    " \"bodies\": [{\"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [5, 1, 1]}},"
    "   \"material\": {\"model\": \"neo_hookean\", \"young\": 1e6, \"poisson\": 0.4,"
    "                \"density\": 1000},"
    "   \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}";

static const tune_phases g_trials[] = {
    {1, {30}, {0.5}}, {2, {8, 22}, {0.9, 0.9999}}, {1, {30}, {0.9999}}, {2, {3, 27}, {0.5, 0.99}}};
enum { TRIALS = sizeof g_trials / sizeof g_trials[0] };

static void begin(tune_bench *bench, hk_scene **scene, hk_model **model, int samples)
{
    char why[512];
    assert_int_equal(hk_scene_parse(g_scene, strlen(g_scene), "test", NULL, 0, scene), HK_OK);
    assert_int_equal(hk_model_create(hk_scene_model(*scene), model), HK_OK);
    if (!tune_bench_begin(bench, *scene, *model, 1, samples, 8, why, sizeof why))
        fail_msg("%s", why);
    assert_int_equal(bench->sample_count, samples);
}

static void end(tune_bench *bench, hk_scene *scene, hk_model *model)
{
    tune_bench_free(bench);
    hk_model_free(model);
    hk_scene_free(scene);
}

// ε of the state that the trial ended in, up to a constant: with backward Euler x − y = h (v − v₀).
static double energy_of_trial(tune_bench *bench)
{
    hk_energy energy;
    assert_int_equal(hk_world_energy(bench->trial, &energy, NULL), HK_OK);
    const double *after = hk_world_velocities(bench->trial);
    const double *before = hk_world_velocities(bench->samples[0].state);
    const double *mass = hk_model_masses(bench->model);
    double sum = energy.elastic + energy.gravity + energy.load;
    for (int k = 0; k < 3 * hk_model_vertex_count(bench->model); ++k)
        sum += 0.5 * mass[k / 3] * (after[k] - before[k]) * (after[k] - before[k]);
    return sum;
}

// The error is that of the state which is kept, also where descent took the last iterations back.
static void test_error_is_of_the_end_state(void **state)
{
    (void)state;
    tune_bench bench;
    hk_scene *scene;
    hk_model *model;
    begin(&bench, &scene, &model, 1);
    double unit = bench.samples[0].start - bench.samples[0].least, error[TRIALS], cost;
    double energy[TRIALS];
    assert_true(unit > 0);
    for (int i = 0; i < TRIALS; ++i) {
        assert_true(tune_measure(&bench, &g_trials[i], &error[i], &cost));
        energy[i] = energy_of_trial(&bench) / unit;
        assert_true(error[i] > 0 && error[i] < 1);
        assert_true(fabs(cost - log10(error[i])) < 1e-12);
        assert_true(fabs((error[i] - error[0]) - (energy[i] - energy[0])) < 1e-9);
    }
    assert_true(fabs(error[0] - error[1]) > 1e-3);
    end(&bench, scene, model);
}

static void test_costs_do_not_depend_on_history(void **state)
{
    (void)state;
    tune_bench bench;
    hk_scene *scene;
    hk_model *model;
    begin(&bench, &scene, &model, 3);
    double first[TRIALS], again, errors[3];
    for (int i = 0; i < TRIALS; ++i)
        assert_true(tune_measure(&bench, &g_trials[i], errors, &first[i]));
    for (int i = TRIALS - 1; i >= 0; --i) {
        assert_true(tune_measure(&bench, &g_trials[i], errors, &again));
        assert_true(again == first[i]);
    }
    end(&bench, scene, model);
}

static void test_search_improves(void **state)
{
    (void)state;
    tune_bench bench;
    hk_scene *scene;
    hk_model *model;
    tune_found found;
    begin(&bench, &scene, &model, 2);
    for (int count = 1; count <= 4; count += 3) {
        tune_search(&bench, &hk_scene_world(scene)->solver, count, 60, &found);
        assert_int_equal(found.end, TUNE_NO_CHANGE_HELPS);
        assert_true(found.cost_after < found.cost_before - 0.1);
        assert_in_range(found.after.count, 1, count);
        int sum = 0;
        for (int i = 0; i < found.after.count; ++i) sum += found.after.length[i];
        assert_int_equal(sum, 30);
    }
    end(&bench, scene, model);
}

static void test_phases(void **state)
{
    (void)state;
    tune_phases all = {4, {8, 0, 16, 100}, {0.5, 0.7, 0.9, 0.97}};
    tune_phases cut = tune_phases_fit(&all, 20), filled = tune_phases_fit(&all, 200);
    tune_phases none = tune_phases_fit(&(tune_phases){.count = 8}, 96);
    assert_true(tune_phases_equal(&cut, &(tune_phases){2, {8, 12}, {0.5, 0.9}}));
    assert_true(tune_phases_equal(&filled, &(tune_phases){3, {8, 16, 176}, {0.5, 0.9, 0.97}}));
    assert_true(tune_phases_equal(&none, &(tune_phases){1, {96}, {0}}));
    assert_true(tune_rate(0.5) == 0.5 && tune_rate(2) == 0 && tune_rate(0) == 0.99998);
    assert_true(tune_rate(0.00123456) == 0.99877);
    char *text = tune_phases_text(&filled);
    assert_string_equal(text, "[[8, 0.5], [16, 0.9], [176, 0.97]]");
    free(text);
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;  // NULL: there is no place for phases
    } cases[] = {
        {"{\"solver\": {}}", "{\"solver\": {\"phases\": [[9, 0.5]]}}"},
        {"{\"solver\":{\"rho1\":0}}", "{\"solver\":{\"phases\": [[9, 0.5]]}}"},
        {"{\"solver\": {\"a\": 1}}", "{\"solver\": {\"a\": 1, \"phases\": [[9, 0.5]]}}"},
        {"{\"solver\": {\n\t\"a\" : 1\n}}",
         "{\"solver\": {\n\t\"a\" : 1,\n\t\"phases\" : [[9, 0.5]]\n}}"},
        {"{\"x\": {\"solver\": {\"phases\": 1}, \"y\": \"\\\"{\"},\r\n\"solver\": {\"phases\":7 , "
         "\"b\": [{}]} }\r\n",
         "{\"x\": {\"solver\": {\"phases\": 1}, \"y\": \"\\\"{\"},\r\n\"solver\": {\"phases\":[[9, "
         "0.5]] , \"b\": [{}]} }\r\n"},
        {"{\"solver\": {\"rho1\": 0.3, \"a\": 1e0, \"length12\": 4, \"rhombus\": [1]}}",
         "{\"solver\": {\"a\": 1e0, \"rhombus\": [1], \"phases\": [[9, 0.5]]}}"},
        {"{\"solver\": 3}", NULL},
        {"{}", NULL},
        {"[]", NULL},
        {"{\"solver\": {", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char why[256] = "";
        size_t length;
        char *text = cli_text_with_phases(cases[i].from, strlen(cases[i].from), "[[9, 0.5]]",
                                          &length, why, sizeof why);
        if (cases[i].to) {
            assert_non_null(text);
            assert_string_equal(text, cases[i].to);
            assert_int_equal(length, strlen(text));
        } else {
            assert_null(text);
            assert_true(why[0] != '\0');
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_is_of_the_end_state),
        cmocka_unit_test(test_costs_do_not_depend_on_history),
        cmocka_unit_test(test_search_improves),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
