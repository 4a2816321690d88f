// Short versions of scenes/contact, by Newton's method and two others: every step is proven free of
// intersections, and nothing is turned inside out.
#include <string.h>

#include "bodies.h"
#include "core/base.h"

#define OK(call)                                                   \
    do {                                                           \
        if ((call) != HK_OK) fail_msg("%s: %s", name, hk_error()); \
    } while (0)

enum { MOST_SETS = 4 };

typedef struct short_scene {
    const char *name;
    int steps;
    bool touches;                 // within them
    const char *sets[MOST_SETS];  // fewer bodies, coarser meshes, a start nearer to what happens
} short_scene;

static const short_scene g_scenes[] = {
    {"slope", 4, true, {"time.step=0.025"}},
    {"spikes", 6, true, {"time.step=0.025"}},
    {"stack", 3, true, {"bodies.0.array.count=[1,3,1]"}},
    {"chain", 3, false, {"bodies.0.mesh.torus.cells=[2,10]", "bodies.1.mesh.torus.cells=[2,10]"}},
    {"mat-twist", 3, false, {"bodies.0.mesh.box.cells=[12,1,12]"}},
    {"rod-twist", 3, false, {"bodies.0.mesh.box.cells=[20,1,1]"}},
    {"card-house", 2, false, {"bodies.0.mesh.box.cells=[1,3,2]", "solver.iterations=20"}},
    {"funnel",
     6,
     true,
     {"bodies.0.mesh.sphere.cells=3", "bodies.0.initial={\"velocity\":[0,-8,0]}",
      "solver.iterations=4"}},
    {"squeeze-out",
     6,
     true,
     {"bodies.0.mesh.sphere.cells=3", "bodies.0.initial={\"velocity\":[0,-8,0]}",
      "solver.iterations=4"}},
};

static const char *const g_methods[] = {"newton", "quasi_newton", "vbd"};

// Whether anything touched in any step.
static bool march(const char *name, hk_world *world, int steps)
{
    bool touched = false;
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        hk_contact_report contact;
        OK(hk_world_step(world, &report));
        OK(hk_world_contact(world, &contact));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, step %d: %s", name, k, report.detail);
        if (!contact.certified) fail_msg("%s, step %d is not certified", name, k);
        touched = touched || contact.pairs > 0;
    }
    return touched;
}

static hk_world *begin(const short_scene *s, const char *method, hk_scene **scene, hk_model **model)
{
    char path[256], name[128], solver[64];
    const char *sets[MOST_SETS + 2];
    int count = 0;
    snprintf(path, sizeof path, "../scenes/contact/%s.json", s->name);
    snprintf(name, sizeof name, "%s by %s", s->name, method);
    snprintf(solver, sizeof solver, "solver.method=%s", method);
    for (int k = 0; k < MOST_SETS && s->sets[k]; k++) sets[count++] = s->sets[k];
    sets[count++] = solver;
    sets[count++] = "contact.certify=true";
    hk_world *world = NULL;
    OK(hk_scene_load(path, sets, count, scene));
    OK(hk_model_create(hk_scene_model(*scene), model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(*scene));
    def.model = *model;
    OK(hk_world_create(&def, &world));
    return world;
}

static void end(hk_world *world, hk_model *model, hk_scene *scene)
{
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

static void run(const short_scene *s, const char *method)
{
    char name[128];
    hk_scene *scene;
    hk_model *model;
    snprintf(name, sizeof name, "%s by %s", s->name, method);
    hk_world *world = begin(s, method, &scene, &model);
    bool touched = march(name, world, s->steps);
    if (!touched && s->touches) fail_msg("%s: nothing touched", name);
    end(world, model, scene);
}

static void test_scenes(void **state)
{
    (void)state;
    for (int k = 0; k < HK_COUNT_OF(g_scenes); k++)
        for (int m = 0; m < HK_COUNT_OF(g_methods); m++) run(&g_scenes[k], g_methods[m]);
}

// Blocks that would fall by a thousand times the thickness of their skin are stopped by all of
// their contacts at once, not by one after the other.
static void test_thin_skin(void **state)
{
    (void)state;
    const short_scene s = {"stack",
                           2,
                           true,
                           {"bodies.0.array={\"count\": [1, 3, 1], \"step\": [0, 0.200003, 0]}",
                            "bodies.0.transform={\"translate\": [0, 2e-6, 0]}",
                            "contact.distance=1e-6", "solver={\"tolerance\": 1e-6}"}};
    hk_scene *scene;
    hk_model *model;
    hk_world *world = begin(&s, "newton", &scene, &model);
    for (int k = 0; k < s.steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        if (report.reason != HK_CONVERGED) fail_msg("step %d: %s", k, report.detail);
        assert_true(report.iterations < 50);
    }
    end(world, model, scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes),
                                       cmocka_unit_test(test_thin_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
