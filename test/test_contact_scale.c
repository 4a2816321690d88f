// Lengths in another unit give the same motion: with all lengths, speeds and gravity s times as
// large and Young's modulus s² times, a scene is the same one in a unit of 1/s m, and what is chosen
// by itself (distance, stiffness, slip speed) has to follow. By powers of two every number of a
// step is an exact multiple of the other's, and the bits are the same if there is nothing absolute
// anywhere; by 1e-3 and 1e3 roundings differ.
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
        bodies[k].velocity[1] = -1 * s;
        bodies[k].transform.translate[0] = 0.013 * k * s;
        bodies[k].transform.translate[1] = (0.002 + 0.203 * k) * s;
        bodies[k].transform.translate[2] = 0.017 * k * s;
        bodies[k].friction = 0.4;
    }
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    obstacles[0].name = "floor";
    obstacles[1].name = "ball";
    obstacles[1].shape = HK_OBSTACLE_SPHERE;
    obstacles[1].center[0] = 0.32 * s;
    obstacles[1].center[1] = 0.3 * s;
    obstacles[1].center[2] = 0.1 * s;
    obstacles[1].radius = 0.1 * s;
    hk_motion_def left = {.axis = {0, 1, 0}, .translate = {-0.5 * s, 0, 0}, .over = 1};
    obstacles[1].moves = &left;
    obstacles[1].move_count = 1;
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
    double apart;  // m, that a scale by a thousand may make
} entry;

static const entry g_entries[] = {{"newton", "neo_hookean", NULL, 0, 50, 1e-6},
                                  {"descent", "neo_hookean", NULL, 0, 200, 1e-5},
                                  {"vbd", "neo_hookean", NULL, 0, 50, 1e-5},
                                  {"split", "corotated", NULL, 0, 0, 1e-5},
                                  {"split", "corotated", "passes", 200, 0, 1e-5},
                                  {"xpbd", "neo_hookean", "substeps", 4, 0, 1e-5},
                                  {"quasi_newton", "neo_hookean", NULL, 0, 100, 1e-5},
                                  {"projective", "arap", NULL, 0, 100, 1e-5},
                                  {"admm", "corotated", NULL, 0, 100, 1e-5},
                                  {"lbfgs", "neo_hookean", NULL, 0, 100, 1e-5},
                                  {"nonlinear_cg", "neo_hookean", NULL, 0, 100, 1e-5},
                                  {"gradient_descent", "neo_hookean", NULL, 0, 100, 1e-5}};

static contact_run run_of(const entry *e)
{
    contact_run run = {.method = e->method, .step = 0.01, .iterations = e->iterations};
    if (e->option) add_option(&run, e->option, NULL, e->number);
    return run;
}

static void compare(double s)
{
    enum { STEPS = 6 };
    for (int k = 0; k < (int)(sizeof g_entries / sizeof g_entries[0]); k++) {
        const entry *e = &g_entries[k];
        contact_run run = run_of(e);
        hk_world *a = make_world(&run, e->material, 1), *b = make_world(&run, e->material, s);
        for (int n = 0; n < STEPS; n++) {
            char na[64], nb[64]; snprintf(na, 64, "%s 1", e->method); snprintf(nb, 64, "%s %g", e->method, s);
            march_apart(a, na, 1);
            march_apart(b, nb, 1);
            double apart = farthest_scaled(a, b, s);
            printf("%s s %g step %d: %g\n", e->method, s, n, apart);
        }
        hk_world_free(a);
        hk_world_free(b);
    }
}

static void test_thousand(void **state)
{
    (void)state;
    compare(1e-3);
    compare(1e3);
}

static void test_power_of_two(void **state)
{
    (void)state;
    compare(1.0 / 1024);
    compare(1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_power_of_two),
                                       cmocka_unit_test(test_thousand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
