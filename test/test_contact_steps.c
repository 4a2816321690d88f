// Worlds with contact: what lies stays where it is, what slides obeys Coulomb, what collides keeps
// its momentum, methods agree, and nothing passes through anything.
#include <string.h>

#include "bodies.h"
#include "contact/contacts.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g: tolerance %g", a, b, tolerance);
}

#define OK(call)                                                    \
    do {                                                            \
        if ((call) != HK_OK) fail_msg("%s: %s", #call, hk_error()); \
    } while (0)

// ---------------------------------------------------------------- bodies

typedef struct pile {
    int cubes;        // above each other, `gap` apart
    double gap;       // m
    double slope;     // of the floor, degrees about z
    double friction;  // with everything
    double speed;     // m/s, of the second cube, downwards
    bool floor;       // else there is nothing below, and no gravity
    const char *method;
    double young;
    const char *law;
} pile;

static hk_world *make_world(const pile *p)
{
    enum { MOST = 3 };
    hk_mesh *mesh;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) shape.size[i] = 0.2, shape.cells[i] = 2;
    OK(hk_mesh_make(&shape, &mesh));
    hk_body_def bodies[MOST];
    double turn = p->slope * acos(-1.0) / 180;
    for (int k = 0; k < p->cubes; k++) {
        double up = p->gap + k * (0.2 + p->gap);
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].material.young = p->young;
        bodies[k].material.poisson = 0.4;
        bodies[k].transform.axis[2] = 1;
        bodies[k].transform.axis[1] = 0;
        bodies[k].transform.degrees = p->slope;
        bodies[k].transform.translate[0] = -up * sin(turn) + 0.013 * k;
        bodies[k].transform.translate[1] = up * cos(turn);
        bodies[k].transform.translate[2] = 0.017 * k;
        if (k == 1) bodies[k].velocity[1] = -p->speed;
    }
    hk_obstacle_def floor = hk_default_obstacle_def();
    floor.name = "floor";
    floor.normal[0] = -sin(turn);
    floor.normal[1] = cos(turn);
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 1e-3;
    contact.friction = p->friction;
    contact.slip_speed = 1e-4;
    if (p->law) contact.law = p->law;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = p->cubes;
    def.contact = &contact;
    def.obstacles = &floor;
    def.obstacle_count = p->floor;
    if (!p->floor) def.gravity[1] = 0;
    hk_model *model;
    hk_world *world = NULL;
    OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_world_def settings = hk_default_world_def();
    settings.model = model;
    settings.step = 0.01;
    settings.solver.method = p->method;
    settings.solver.tolerance = 1e-6;
    settings.solver.iterations = 3000;
    OK(hk_world_create(&settings, &world));
    hk_model_free(model);
    return world;
}

// Takes steps, and looks at every state: nothing intersects, nothing is below the floor.
static void march(hk_world *world, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        hk_intersection_report found;
        hk_mesh *mesh;
        OK(hk_world_step(world, &report));
        assert_true(report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT);
        OK(hk_world_mesh(world, &mesh));
        OK(hk_mesh_intersections(mesh, 1, &found));
        assert_true(found.count == 0);
        hk_mesh_free(mesh);
    }
}

static void mean_of(const hk_world *world, const double *vectors, double mean[3])
{
    int n = hk_model_vertex_count(hk_world_model(world));
    const double *mass = hk_model_masses(hk_world_model(world));
    double all = 0;
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (int v = 0; v < n; v++) {
        all += mass[v];
        for (int i = 0; i < 3; i++) mean[i] += mass[v] * vectors[3 * v + i];
    }
    for (int i = 0; i < 3; i++) mean[i] /= all;
}

// ---------------------------------------------------------------- tests

// A cube on a slope of 20 degrees holds with a friction above tan 20° = 0.364, and slides with
// g (sin − μ cos) below it.
static void test_slope(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        pile p = {1, 5e-4, -20, k ? 0.2 : 0.4, 0, true, "newton", 1e6, NULL};
        hk_world *world = make_world(&p);
        double from[3], to[3], angle = 20 * acos(-1.0) / 180, t = 0.3;
        march(world, 5);
        mean_of(world, hk_world_positions(world), from);
        double speed[3];
        mean_of(world, hk_world_velocities(world), speed);
        march(world, 30);
        mean_of(world, hk_world_positions(world), to);
        double along = (to[0] - from[0]) * cos(angle) - (to[1] - from[1]) * sin(angle);
        double start = speed[0] * cos(angle) - speed[1] * sin(angle);
        double slides = 9.81 * (sin(angle) - p.friction * cos(angle)) * t * (t + 0.01) / 2;
        if (k)
            assert_near(along, start * t + slides, 0.02 * slides);
        else
            assert_near(along, 0, 2e-4);
        hk_world_free(world);
    }
}

// Two cubes that meet in free flight keep their momentum.
static void test_momentum(void **state)
{
    (void)state;
    pile p = {2, 5e-3, 0, 0.3, 1, false, "newton", 1e5, NULL};
    hk_world *world = make_world(&p);
    double before[3], after[3], least = INFINITY;
    mean_of(world, hk_world_velocities(world), before);
    for (int k = 0; k < 15; k++) {
        march(world, 1);
        hk_energy e;
        OK(hk_world_energy(world, &e, NULL));
        least = fmin(least, e.kinetic);
    }
    mean_of(world, hk_world_velocities(world), after);
    for (int i = 0; i < 3; i++) assert_near(after[i], before[i], 1e-6);
    assert_true(least < 3.5);  // of 4 J: they did meet
    hk_world_free(world);
}

// A stack falls on a floor by every method that knows contact, to the same place.
static void test_methods(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "lbfgs", "nonlinear_cg"};
    double *reference = NULL;
    for (int k = 0; k < 4; k++) {
        pile p = {2, 3e-3, 0, 0, 0, true, methods[k], 1e5, k == 1 ? NULL : "two_stage"};
        hk_world *world = make_world(&p);
        int n = 3 * hk_model_vertex_count(hk_world_model(world));
        for (int s = 0; s < 5; s++) march(world, 1);
        if (!reference) {
            reference = malloc(sizeof(double) * (size_t)n);
            memcpy(reference, hk_world_positions(world), sizeof(double) * (size_t)n);
        }
        for (int i = 0; i < n; i++) {
            assert_near(hk_world_positions(world)[i], reference[i], 1e-5);
            if (i % 3 == 1) assert_true(hk_world_positions(world)[i] > 0);
        }
        hk_world_free(world);
    }
    free(reference);
}

// What overlaps from the start is refused with names, and so are integrators that know no contact.
static void test_refusals(void **state)
{
    (void)state;
    hk_mesh *mesh;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) shape.size[i] = 0.2, shape.cells[i] = 1;
    OK(hk_mesh_make(&shape, &mesh));
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    for (int k = 0; k < 2; k++) {
        bodies[k].name = k ? "upper" : "lower";
        bodies[k].mesh = mesh;
        for (int i = 0; i < 3; i++) bodies[k].transform.translate[i] = 0.05 * k + (i == 1) * 0.01;
    }
    hk_obstacle_def floor = hk_default_obstacle_def();
    floor.name = "floor";
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    for (int k = 0; k < 3; k++) {
        hk_model *model;
        hk_world *world = NULL;
        if (k == 1) bodies[1].transform.translate[1] = 0.3, bodies[0].transform.translate[1] = -0.1;
        if (k == 2) bodies[0].transform.translate[1] = 0.01;
        OK(hk_model_create(&def, &model));
        hk_world_def settings = hk_default_world_def();
        settings.model = model;
        if (k == 2) settings.conserve = 1;
        assert_int_not_equal(hk_world_create(&settings, &world), HK_OK);
        static const char *const words[] = {"body 1 (upper)", "obstacle floor", "conserve"};
        assert_non_null(strstr(hk_error(), words[k]));
        hk_model_free(model);
    }
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
