// Obstacles that move: by keys, by rotation and by a formula. Bodies are proven apart from them
// after every step, and what contact puts on an obstacle is the opposite of what it does to bodies:
// momentum changes by it, and a body at rest weighs what it weighs.
#include "contact_bodies.h"

// Split with one pass finds forces for a part of the steps' equations, and its guard takes back
// what would go through: momentum is not balanced in each step, but what rests weighs what it
// weighs.
static const char *const g_methods[] = {"newton", "descent", "split"};
enum { METHODS = 3, BALANCED = 2 };

static contact_run run_of(int method)
{
    contact_run run = {.method = g_methods[method], .step = 0.01};
    if (method < BALANCED) run.tolerance = 1e-6;
    if (method == 1) run.iterations = 3000;
    return run;
}

typedef struct stage {
    hk_obstacle_def obstacles[2];
    hk_key_def keys[3];
    double friction;
    double height;  // m, of the cube
} stage;

static stage make_stage(void)
{
    stage s = {.height = 9.5e-4, .friction = 0.5};
    for (int k = 0; k < 2; k++) s.obstacles[k] = hk_default_obstacle_def();
    s.obstacles[0].name = "floor";
    s.obstacles[1].name = "thing";
    return s;
}

static hk_world *make_world(stage *s, int method, int obstacles)
{
    hk_mesh *mesh = box_mesh(0.2, 0.2, 0.2, 2, 2, 2);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of(method == 2 ? "corotated" : "neo_hookean", 1e5, 0.3);
    body.transform.translate[0] = 0.05;
    body.transform.translate[1] = s->height;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 1e-3;
    contact.friction = s->friction;
    contact.certify = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = s->obstacles;
    def.obstacle_count = obstacles;
    contact_run run = run_of(method);
    hk_world *world = contact_world(&def, &run);
    hk_mesh_free(mesh);
    return world;
}

// Forces on all obstacles, N, and their torques about the origin, N m.
static void loads_of(hk_world *world, int obstacles, double force[3], double torque[3])
{
    for (int i = 0; i < 3; i++) force[i] = torque[i] = 0;
    for (int k = 0; k < obstacles; k++) {
        hk_obstacle_load l;
        CHECK_OK(hk_world_obstacle_load(world, k, &l));
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, m = (i + 2) % 3;
            force[i] += l.force[i];
            torque[i] += l.torque[i] + l.center[j] * l.force[m] - l.center[m] * l.force[j];
        }
    }
}

// Takes steps that are certified. `balanced`: momentum changes by weight and by the forces, to the
// accuracy of the solve.
static void take_steps(hk_world *world, int method, int obstacles, int steps, bool balanced)
{
    double mass = mass_of(world), v[2][3], force[3], torque[3];
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        hk_contact_report contact;
        mean_of(world, -1, hk_world_velocities(world), v[0]);
        CHECK_OK(hk_world_step(world, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, %g s: %s", g_methods[method], hk_world_time(world), report.detail);
        CHECK_OK(hk_world_contact(world, &contact));
        assert_true(contact.certified);
        mean_of(world, -1, hk_world_velocities(world), v[1]);
        loads_of(world, obstacles, force, torque);
        for (int i = 0; i < 3 && balanced; i++) {
            double change = mass * (v[1][i] - v[0][i]) / 0.01, weight = i == 1 ? -9.81 * mass : 0;
            if (!(fabs(change - weight + force[i]) < 1e-3 * 9.81 * mass))
                fail_msg("%s, %g s, axis %d: %g N of inertia, %g N of weight, %g N on obstacles",
                         g_methods[method], hk_world_time(world), i, change, weight, force[i]);
        }
    }
}

// A cube at rest, beside the point of the plane: its weight, and the torque of it.
static void test_weight(void **state)
{
    (void)state;
    for (int method = 0; method < METHODS; method++) {
        stage s = make_stage();
        hk_world *world = make_world(&s, method, 1);
        take_steps(world, method, 1, 40, method < BALANCED);
        double mass = mass_of(world), mean[3], force[3], torque[3], weight = 9.81 * mass;
        mean_of(world, -1, hk_world_positions(world), mean);
        loads_of(world, 1, force, torque);
        double bound = (method < BALANCED ? 2e-3 : 2e-2) * weight;
        if (!(fabs(force[0]) < bound && fabs(force[1] + weight) < bound && fabs(force[2]) < bound))
            fail_msg("%s: (%g, %g, %g) N of %g N", g_methods[method], force[0], force[1], force[2],
                     weight);
        if (!(fabs(torque[0] - mean[2] * weight) < 0.2 * bound &&
              fabs(torque[2] + mean[0] * weight) < 0.2 * bound))
            fail_msg("%s: torque (%g, %g, %g) N m", g_methods[method], torque[0], torque[1],
                     torque[2]);
        hk_world_free(world);
    }
}

// A press comes down by keys, stays, and goes up again.
static void test_keys(void **state)
{
    (void)state;
    for (int method = 0; method < METHODS; method++) {
        stage s = make_stage();
        hk_obstacle_def *press = &s.obstacles[1];
        press->shape = HK_OBSTACLE_BOX;
        for (int i = 0; i < 3; i++) {
            press->min[i] = i == 1 ? 0.203 : -0.3;
            press->max[i] = i == 1 ? 0.3 : 0.5;
        }
        for (int k = 0; k < 3; k++) s.keys[k].axis[1] = 1;
        s.keys[1].time = 0.1;
        s.keys[1].translate[1] = -0.02;
        s.keys[2].time = 0.2;
        s.keys[2].translate[1] = 0.03;
        press->keys = s.keys;
        press->key_count = 3;
        hk_world *world = make_world(&s, method, 2);
        take_steps(world, method, 2, 10, method < BALANCED);
        hk_obstacle_load load;
        CHECK_OK(hk_world_obstacle_load(world, 1, &load));
        if (!(load.force[1] > 20)) fail_msg("%s: %g N", g_methods[method], load.force[1]);
        take_steps(world, method, 2, 10, method < BALANCED);
        CHECK_OK(hk_world_obstacle_load(world, 1, &load));
        assert_true(load.force[1] == 0);  // it has gone
        hk_world_free(world);
    }
}

// A ball is driven into a block by methods that are given too few iterations to make way for it at
// once: it gets there all the same.
static void test_few_iterations(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "projective"};
    for (int k = 0; k < 2; k++) {
        hk_mesh *mesh = box_mesh(0.4, 0.2, 0.4, 6, 3, 6);
        hk_selector bottom = select_box(-1, -1, -1, 1, 1e-3, 1);
        hk_body_def body = hk_default_body_def();
        body.mesh = mesh;
        body.material = material_of(k ? "arap" : "neo_hookean", 1e6, 0.3);
        body.fixes = &bottom;
        body.fix_count = 1;
        hk_key_def keys[2] = {{.axis = {0, 1, 0}}, {.axis = {0, 1, 0}}};
        keys[1].time = 0.1;
        keys[1].translate[1] = -0.1;
        hk_obstacle_def ball = hk_default_obstacle_def();
        ball.shape = HK_OBSTACLE_SPHERE;
        ball.center[0] = ball.center[2] = 0.2;
        ball.center[1] = 0.303;
        ball.radius = 0.1;
        ball.keys = keys;
        ball.key_count = 2;
        hk_contact_def contact = hk_default_contact_def();
        contact.distance = 1e-3;
        hk_model_def def = hk_default_model_def();
        def.bodies = &body;
        def.body_count = 1;
        def.contact = &contact;
        def.obstacles = &ball;
        def.obstacle_count = 1;
        contact_run run = {.method = methods[k], .iterations = 2};
        hk_world *world = contact_world(&def, &run);
        march_apart(world, methods[k], 10);
        hk_world_free(world);
        hk_mesh_free(mesh);
    }
}

// A box under the cube turns about its middle, and takes it along.
static void test_rotation(void **state)
{
    (void)state;
    for (int method = 0; method < METHODS; method++) {
        stage s = make_stage();
        hk_obstacle_def *table = &s.obstacles[0];
        table->shape = HK_OBSTACLE_BOX;
        for (int i = 0; i < 3; i++) {
            table->min[i] = i == 1 ? -0.1 : -0.4;
            table->max[i] = i == 1 ? 0 : 0.5;
        }
        hk_motion_def turn = {.axis = {0, 1, 0}, .degrees = 90, .over = 1};
        table->moves = &turn;
        table->move_count = 1;
        hk_world *world = make_world(&s, method, 1);
        double before[3], after[3];
        mean_of(world, -1, hk_world_positions(world), before);
        take_steps(world, method, 1, 15, method < BALANCED);
        mean_of(world, -1, hk_world_positions(world), after);
        double angle = atan2(before[2], before[0]) - atan2(after[2], after[0]);
        if (!(angle > 0.1 && angle < 0.26))  // 13.5 degrees are 0.236
            fail_msg("%s: turned by %g", g_methods[method], angle);
        hk_world_free(world);
    }
}

// A ball that hits the cube from the side as a sine has it.
static void test_formula(void **state)
{
    (void)state;
    for (int method = 0; method < METHODS; method++) {
        stage s = make_stage();
        hk_obstacle_def *ball = &s.obstacles[1];
        ball->shape = HK_OBSTACLE_SPHERE;
        ball->center[0] = -0.06;
        ball->center[1] = 0.1;
        ball->center[2] = 0.1;
        ball->radius = 0.1;
        ball->formula.translate[0] = "0.03*sin(10*t)";
        ball->formula.axis[1] = 1;
        s.friction = 0.1;
        hk_world *world = make_world(&s, method, 2);
        double before[3], after[3];
        mean_of(world, -1, hk_world_positions(world), before);
        take_steps(world, method, 2, 15, method < BALANCED);
        mean_of(world, -1, hk_world_positions(world), after);
        if (!(after[0] - before[0] > 0.01))
            fail_msg("%s: pushed by %g m", g_methods[method], after[0] - before[0]);
        hk_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight),         cmocka_unit_test(test_keys),
        cmocka_unit_test(test_few_iterations), cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
