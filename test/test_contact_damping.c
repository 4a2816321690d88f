#include "contact_bodies.h"

static double rebound(const char *integrator, const char *method, double young, double step, double stiffness, double distance)
{
    hk_mesh *mesh = box_mesh(0.2, 0.2, 0.2, 2, 2, 2);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("neo_hookean", young, 0.3);
    body.velocity[1] = -1;
    body.transform.translate[1] = 2e-3;
    hk_obstacle_def floor = hk_default_obstacle_def();
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = distance;
    contact.stiffness = stiffness;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    contact_run run = {.method = method, .integrator = integrator, .step = step, .iterations = 100};
    hk_world *world = contact_world(&def, &run);
    double most = 0, v[3];
    for (int k = 0; k * step < 0.06; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        mean_of(world, -1, hk_world_velocities(world), v);
        most = fmax(most, v[1]);
    }
    hk_world_free(world);
    hk_mesh_free(mesh);
    return most;
}

static void test_x(void **state)
{
    (void)state;
    static const char *const integrators[] = {"backward_euler", "bdf2", "newmark", "implicit_midpoint", "trbdf2"};
    static const double youngs[] = {1e5, 1e7, 1e9};
    for (int y = 0; y < 3; y++)
    for (int i = 0; i < 5; i++) {
        printf("E %g %-18s", youngs[y], integrators[i]);
        for (double h = 0.01; h > 3e-5; h /= 10) printf(" h %g: %.3f;", h, rebound(integrators[i], "newton", youngs[y], h, 0, 1e-3));
        printf("\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_x)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
