// Rigid parts and joints with contact: five seconds of bodies that fall on each other and on a
// slope, without intersections; a rigid brick slides as Coulomb has it; skins go along.
#include "rigid_bodies.h"

static const char fall[] =
    "{\"time\": {\"step\": 0.01, \"end\": 5}, \"solver\": {\"method\": \"newton\"},"
    " \"contact\": {\"friction\": 0.3, \"certify\": true},"
    " \"obstacles\": [{\"plane\": {\"point\": [0, 0, 0], \"normal\": [0.02, 1, 0]}}],"
    " \"joints\": [{\"kind\": \"hinge\", \"between\": [\"upper\", \"lower\"], \"at\": [0.6, 0.2, "
    "0.1],"
    "  \"axis\": [0, 0, 1]}],"
    " \"bodies\": [{\"name\": \"arm\","
    "  \"mesh\": {\"box\": {\"size\": [1.2, 0.2, 0.2], \"cells\": [12, 2, 2]}},"
    "  \"transform\": {\"translate\": [0, 0.1, 0]},"
    "  \"material\": {\"model\": \"arap\", \"young\": 3e4, \"poisson\": 0.3},"
    "  \"regions\": [{\"name\": \"upper\", \"rigid\": true,"
    "    \"select\": {\"box\": [[0.05, -1, -1], [0.45, 1, 1]]},"
    "    \"material\": {\"model\": \"arap\", \"young\": 1e5, \"poisson\": 0.3, \"density\": 1500}},"
    "   {\"name\": \"lower\", \"rigid\": true,"
    "    \"select\": {\"box\": [[0.75, -1, -1], [1.15, 1, 1]]},"
    "    \"material\": {\"model\": \"arap\", \"young\": 1e5, \"poisson\": 0.3, \"density\": "
    "1500}}]},"
    " {\"name\": \"brick\", \"rigid\": true,"
    "  \"mesh\": {\"box\": {\"size\": [0.2, 0.2, 0.2], \"cells\": [2, 2, 2]}},"
    "  \"transform\": {\"rotate\": {\"axis\": [0, 0, 1], \"degrees\": 30},"
    "   \"translate\": [0.55, 0.5, 0.03]},"
    "  \"material\": {\"model\": \"arap\", \"young\": 1e5, \"poisson\": 0.3}},"
    " {\"name\": \"cube\", \"mesh\": {\"box\": {\"size\": [0.2, 0.2, 0.2], \"cells\": [2, 2, 2]}},"
    "  \"transform\": {\"rotate\": {\"axis\": [0, 0, 1], \"degrees\": 10},"
    "   \"translate\": [0.2, 0.9, 0.03]},"
    "  \"material\": {\"model\": \"arap\", \"young\": 1e5, \"poisson\": 0.3}}]}";

static hk_world *open_scene_with(const char *text, const char *set, const char *more, int *steps)
{
    const char *sets[] = {set, more};
    hk_scene *scene;
    hk_model *model;
    hk_world *w;
    CHECK_OK(hk_scene_parse(text, strlen(text), "scene", sets, !set ? 0 : more ? 2 : 1, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &w));
    *steps = hk_scene_steps(scene);
    hk_model_free(model);
    hk_scene_free(scene);
    return w;
}

static hk_world *open_scene(const char *text, const char *set, int *steps)
{
    return open_scene_with(text, set, NULL, steps);
}

// Every step is certified: one that ended with an intersection would fail.
static void march(hk_world *w, const char *label, int steps)
{
    double deformed = 0, apart = 0;
    for (int n = 0; n < steps; n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, step %d: %s %s", label, n, hk_reason_name(r.reason), r.detail);
        deformed = fmax(deformed, deformation_of(w));
        apart = fmax(apart, joint_error_of(w));
    }
    print_message("%-16s deformed by %.1e, joints apart by %.1e m\n", label, deformed, apart);
    assert_true(deformed < 1e-12 && apart < 1e-12);
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(w)); k++)
        assert_true(isfinite(hk_world_positions(w)[k]));
}

static void test_fall(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "lbfgs", "projective",
                                          "admm",   "descent",      "vbd"};
    for (int k = 0; k < (SANITIZED ? 1 : 7); k++) {
        char set[64];
        int steps;
        snprintf(set, sizeof set, "solver.method=%s", methods[k]);
        hk_world *w = open_scene(fall, set, &steps);
        // All five seconds under Newton's method, the fall and the first bounces under others.
        march(w, methods[k], SANITIZED ? 20 : k == 0 ? steps : 45);
        hk_world_free(w);
    }
}

// Methods that keep vertices in regions of their own come to Newton's answer where what is tied
// touches: on and after the impact, without friction, which is lagged.
static void test_regions(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "descent", "vbd"};
    hk_world *truth = NULL;
    for (int k = 0; k < (SANITIZED ? 0 : 3); k++) {
        char set[128];
        int steps;
        snprintf(set, sizeof set,
                 k ? "solver={\"method\": \"%s\", \"iterations\": 20000,"
                     " \"tolerance\": 1e-7}"
                   : "solver={\"method\": \"%s\"}",
                 methods[k]);
        hk_world *w = open_scene_with(fall, set, "contact.friction=0", &steps);
        march(w, methods[k], 30);
        if (k == 0) {
            truth = w;
            continue;
        }
        hk_step_report r;
        double apart = relative_distance(w, truth);
        CHECK_OK(hk_world_step(w, &r));
        print_message("%s: %.1e from newton, %d iterations, %s %s\n", methods[k], apart,
                      r.iterations, hk_reason_name(r.reason), r.detail);
        assert_true(apart < 1e-6);
        hk_world_free(w);
    }
    hk_world_free(truth);
}

// On a slope of 30 degrees with friction 0.3 a brick slides with g (sin − μ cos).
static void test_slide(void **state)
{
    (void)state;
    static const char scene[] =
        "{\"time\": {\"step\": 0.005, \"end\": 0.4}, \"gravity\": [4.905, -8.4957, 0],"
        " \"contact\": {\"friction\": 0.3, \"distance\": 1e-3, \"friction_passes\": 5},"
        " \"obstacles\": [{\"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 1, 0]}}],"
        " \"bodies\": [{\"rigid\": true,"
        "  \"mesh\": {\"box\": {\"size\": [0.3, 0.05, 0.3], \"cells\": [4, 1, 4]}},"
        "  \"transform\": {\"translate\": [0, 0.0006, 0]},"
        "  \"material\": {\"young\": 1e5, \"poisson\": 0.3}}]}";
    int steps;
    hk_world *w = open_scene(scene, NULL, &steps);
    march(w, "slide", steps);
    hk_rigid_state s;
    CHECK_OK(hk_world_rigid_state(w, 0, &s));
    double expected = 0.4 * (4.905 - 0.3 * 8.4957);
    print_message("slides with %.4f m/s of %.4f m/s\n", s.velocity[0], expected);
    assert_true(fabs(s.velocity[0] / expected - 1) < 0.02);
    hk_world_free(w);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const sets[] = {"solver.method=xpbd", "contact.when=after",
                                       "time.integrator=implicit_midpoint",
                                       "time.integrator=newmark"};
    for (int k = 0; k < (int)(sizeof sets / sizeof *sets); k++) {
        hk_scene *scene;
        hk_model *model;
        hk_world *w = NULL;
        CHECK_OK(hk_scene_parse(fall, strlen(fall), "scene", &sets[k], 1, &scene));
        CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
        hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
        def.model = model;
        assert_int_equal(hk_world_create(&def, &w), HK_UNSUPPORTED);
        if (!strstr(hk_error(), "rigid parts")) fail_msg("%s: %s", sets[k], hk_error());
        hk_model_free(model);
        hk_scene_free(scene);
    }
}

// A skin follows: of a rigid body as a rigid body.
static void test_skin(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(0.3, 0.1, 0.1, 3, 1, 1), *skin;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_SPHERE);
    shape.radius = 0.04;
    shape.cells[0] = 4;
    CHECK_OK(hk_mesh_make(&shape, &skin));
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.skin = skin;
    body.rigid = 1;
    body.name = "a";
    body.material = material_of("arap", 1e5, 0.3);
    hk_joint_def j = hk_default_joint_def();
    j.parts[1] = "a";
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.joints = &j;
    def.joint_count = 1;
    hk_model *model = NULL;
    hk_status status = hk_model_create(&def, &model);
    if (status != HK_OK) fail_msg("%s", hk_error());
    hk_mesh_free(mesh);
    hk_mesh_free(skin);
    hk_world *w = world_of(model, 0.02, 1);
    for (int k = 0; k < 20; k++) CHECK_OK(hk_world_step(w, NULL));
    assert_true(deformation_of(w) < 1e-12 && joint_error_of(w) < 1e-13);
    // Distances within the skin stay what they were, while the body has turned.
    hk_mesh *before, *now;
    CHECK_OK(hk_model_surface(hk_world_model(w), hk_model_rest_positions(hk_world_model(w)), true,
                              &before));
    CHECK_OK(hk_model_surface(hk_world_model(w), hk_world_positions(w), true, &now));
    const double *X = hk_mesh_positions(before), *x = hk_mesh_positions(now);
    double moved = 0;
    for (int v = 1; v < hk_mesh_vertex_count(now); v++) {
        double was = 0, is = 0;
        for (int i = 0; i < 3; i++) {
            was += pow(X[3 * v + i] - X[i], 2);
            is += pow(x[3 * v + i] - x[i], 2);
            moved = fmax(moved, fabs(x[3 * v + i] - X[3 * v + i]));
        }
        assert_true(fabs(sqrt(is) - sqrt(was)) < 1e-7);
    }
    assert_true(moved > 0.05);
    hk_mesh_free(before);
    hk_mesh_free(now);
    hk_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fall), cmocka_unit_test(test_regions),
                                       cmocka_unit_test(test_slide), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
