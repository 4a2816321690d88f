// Lengths in another unit give the same motion: with all lengths, speeds and gravity s times as
// large and Young's modulus s² times, a scene is the same one in a unit of 1/s m, and what is
// chosen by itself (distance, stiffness, slip speed) has to follow. By powers of two every number
// of a step is an exact multiple of the other's, and the bits are the same if there is nothing
// absolute anywhere (of coordinates near 0 the last bits may differ); by 1e-3 and 1e3 roundings
// differ.
#include "contact_bodies.h"

static hk_world *make_world(const contact_run *run, const char *material, double s)
{
    hk_mesh *mesh = box_mesh(0.2 * s, 0.2 * s, 0.2 * s, 2, 2, 2);
    hk_body_def bodies[2];
    for (int k = 0; k < 2; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].material = material_of(material, 1e5 * s * s, 0.3);
        bodies[k].velocity[0] = 0.5 * k * s;
        bodies[k].velocity[1] = -0.3 * s;
        bodies[k].transform.translate[0] = 0.013 * k * s;
        bodies[k].transform.translate[1] = (0.002 + 0.203 * k) * s;
        bodies[k].transform.translate[2] = 0.017 * k * s;
        bodies[k].friction = 0.4;
    }
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    obstacles[0].name = "floor";
    obstacles[1].name = "ball";
    obstacles[1].shape = HK_OBSTACLE_SPHERE;
    obstacles[1].center[0] = 0.314 * s;
    obstacles[1].center[1] = 0.3 * s;
    obstacles[1].center[2] = 0.1 * s;
    obstacles[1].radius = 0.1 * s;
    hk_model_def def = hk_default_model_def();
    hk_contact_def contact = hk_default_contact_def();
    def.contact = &contact;
    def.gravity[1] = -9.81 * s;
    def.bodies = bodies;
    def.body_count = 2;
    def.obstacles = obstacles;
    def.obstacle_count = 2;
    hk_world *world = contact_world(&def, run);
    hk_mesh_free(mesh);
    return world;
}

typedef struct entry {
    const char *method, *material, *option;
    double number;
    int iterations;
} entry;

static const entry g_entries[] = {
    {"newton", "neo_hookean", NULL, 0, 30},       {"descent", "neo_hookean", NULL, 0, 48},
    {"vbd", "neo_hookean", NULL, 0, 10},          {"split", "corotated", NULL, 0, 0},
    {"split", "corotated", "passes", 60, 0},      {"xpbd", "neo_hookean", "substeps", 4, 0},
    {"quasi_newton", "neo_hookean", NULL, 0, 20}, {"projective", "arap", NULL, 0, 20},
    {"admm", "corotated", NULL, 0, 20},           {"lbfgs", "neo_hookean", NULL, 0, 20}};
enum { ENTRIES = (int)(sizeof g_entries / sizeof g_entries[0]), STEPS = 3 };

static contact_run run_of(const entry *e)
{
    contact_run run = {.method = e->method, .step = 0.01, .iterations = e->iterations};
    if (e->option) add_option(&run, e->option, NULL, e->number);
    return run;
}

// How far two states are from each other after some steps, m of the first.
static double compare(const entry *e, double s)
{
    contact_run run = run_of(e);
    hk_world *a = make_world(&run, e->material, 1), *b = make_world(&run, e->material, s);
    hk_contact_report touching;
    march_apart(a, e->method, STEPS);
    march_apart(b, e->method, STEPS);
    CHECK_OK(hk_world_contact(b, &touching));
    assert_true(touching.pairs > 0);
    double apart = farthest_scaled(a, b, s);
    hk_world_free(a);
    hk_world_free(b);
    return apart;
}

static void test_power_of_two(void **state)
{
    (void)state;
    for (int k = 0; k < ENTRIES; k++)
        for (int up = 0; up < 2; up++) {
            double apart = compare(&g_entries[k], up ? 1024 : 1.0 / 1024);
            if (apart > 1e-15) fail_msg("%s: %g m apart", g_entries[k].method, apart);
        }
}

// 1e-3 and 1e3: roundings differ, and with them where iterations end that are not converged.
static void test_thousand(void **state)
{
    (void)state;
    static const struct {
        int entry;
        double apart;  // m
    } cases[] = {{0, 1e-8}, {1, 1e-3}, {3, 1e-6}, {5, 1e-7}, {7, 3e-3}};
    for (int k = 0; k < 10; k++) {
        const entry *e = &g_entries[cases[k / 2].entry];
        double apart = compare(e, k % 2 ? 1e3 : 1e-3);
        if (!(apart < cases[k / 2].apart)) fail_msg("%s: %g m apart", e->method, apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_power_of_two),
                                       cmocka_unit_test(test_thousand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
