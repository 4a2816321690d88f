// The scenes with springs and seams that come along, with fewer elements and steps: contact holds,
// seams close, strings carry what hangs on them.
#include "bodies.h"

static hk_world *open_scene(const char *path, const char *const *sets, int count, int *steps)
{
    hk_scene *scene;
    hk_model *model;
    hk_world *w;
    CHECK_OK(hk_scene_load(path, sets, count, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &w));
    *steps = hk_scene_steps(scene);
    hk_model_free(model);
    hk_scene_free(scene);
    return w;
}

static void run(hk_world *w, int steps)
{
    hk_step_report r;
    for (int n = 0; n < steps; n++) {
        CHECK_OK(hk_world_step(w, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("step %d: %s, %s", n, hk_reason_name(r.reason), r.detail);
    }
}

static void test_seam(void **state)
{
    (void)state;
    static const char *const sets[] = {"bodies.0.mesh.sheet.cells=[9,8]",
                                       "bodies.1.mesh.sheet.cells=[6,5]", "time.end=1.2",
                                       "time.step=0.02", "contact.certify=true"};
    int steps;
    hk_world *w = open_scene("../scenes/seam.json", sets, SANITIZED ? 4 : 5, &steps);
    int count = hk_model_point_spring_count(hk_world_model(w));
    assert_int_equal(count, 2 * 9);
    run(w, SANITIZED ? 5 : steps);
    for (int k = 0; k < count; k++) {
        hk_spring_state now;
        CHECK_OK(hk_world_spring_state(w, k, &now));
        double apart = 0;
        for (int i = 0; i < 3; i++) apart += pow(now.ends[1][i] - now.ends[0][i], 2);
        assert_true(fabs(sqrt(apart) - now.length) < 1e-12);
        if (!SANITIZED && !(now.length < 0.05 && now.rest == 0.008))
            fail_msg("spring %d: %g m", k, now.length);
    }
    hk_world_free(w);
}

static void test_hammock(void **state)
{
    (void)state;
    static const char *const sets[] = {"bodies.0.mesh.sheet.cells=[12,6]",
                                       "bodies.1.mesh.sphere.cells=4", "damping.air=6",
                                       "time.step=0.02", "contact.certify=true"};
    int steps;
    hk_world *w = open_scene("../scenes/hammock.json", sets, SANITIZED ? 4 : 5, &steps);
    const hk_model *m = hk_world_model(w);
    run(w, SANITIZED ? 3 : steps);
    // All of the weight hangs on the strings once it is at rest.
    double up = 0, weight = 0;
    for (int v = 0; v < hk_model_vertex_count(m); v++) weight += 9.81 * hk_model_masses(m)[v];
    for (int k = 0; k < hk_model_point_spring_count(m); k++) {
        hk_spring_state now;
        CHECK_OK(hk_world_spring_state(w, k, &now));
        assert_true(now.tension >= 0);
        up += now.tension * (now.ends[0][1] - now.ends[1][1]) / now.length;
    }
    if (!SANITIZED && !(fabs(up / weight - 1) < 0.1)) fail_msg("%g N of %g N", up, weight);
    hk_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seam), cmocka_unit_test(test_hammock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
