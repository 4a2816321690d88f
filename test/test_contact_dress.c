// Descent's dress stand-in, in short: a coarse sheet that falls on the figure in substeps of 40
// iterations, certified, and that its shoulders hold up.
#include "contact_bodies.h"

static void test_dress(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "bodies.0.mesh.sheet.cells=[24,24]", "obstacles.0.mesh.figure.cells=12",
        "bodies.0.transform.translate=[-0.6,1.01,-0.6]", "bodies.0.initial={\"velocity\":[0,-1,0]}",
        "contact.certify=true"};
    hk_scene *scene;
    hk_model *model;
    hk_world *world = NULL;
    CHECK_OK(hk_scene_load("../scenes/contact/dress.json", sets, 5, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &world));
    int64_t pairs = 0;
    for (int k = 0; k < (SANITIZED ? 12 : 40); k++) {
        hk_step_report report;
        hk_contact_report contact;
        CHECK_OK(hk_world_step(world, &report));
        CHECK_OK(hk_world_contact(world, &contact));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) fail_msg("%s", report.detail);
        assert_true(contact.certified);
        pairs = contact.pairs > pairs ? contact.pairs : pairs;
    }
    assert_true(pairs > 5);
    // Its edges have fallen, its middle is held by the head.
    double low = INFINITY, high = -INFINITY;
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        low = fmin(low, hk_world_positions(world)[3 * v + 1]);
        high = fmax(high, hk_world_positions(world)[3 * v + 1]);
    }
    if (!(SANITIZED || (high > 0.95 && low < high - 0.1))) fail_msg("from %g to %g m", low, high);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
