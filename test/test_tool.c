// A tool in a scripted hand: what it feels is smooth, balanced and stable.
#include <pthread.h>
#include <stdatomic.h>

#include "bodies.h"

#define SERVO 1e-3  // s
enum { PER_STEP = 30 };

typedef struct bench {
    hk_model *model;
    hk_world *world;
    hk_tool *tool;
} bench;

// A soft block whose foot is anchored, and a ball (or a rod along z) above its middle.
static bench make_bench(bool rod, double middle)
{
    hk_contact_def contact = hk_default_contact_def();
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    hk_body_def body = hk_default_body_def();
    hk_attach_def anchors = hk_default_attach_def();
    hk_mesh *mesh = box_mesh(0.1, 0.06, 0.1, 10, 6, 10);
    contact.law = "spring_damper";
    contact.normal_stiffness = 1e3;
    contact.normal_damping = 10;
    contact.drag = 1e3;
    obstacles[0].name = "floor";
    obstacles[1].name = "probe";
    obstacles[1].shape = rod ? HK_OBSTACLE_CAPSULE : HK_OBSTACLE_SPHERE;
    double from[3] = {middle, 0.091, -0.05}, to[3] = {middle, 0.091, 0.15};
    double center[3] = {middle, 0.091, 0.05};
    memcpy(obstacles[1].from, from, sizeof from);
    memcpy(obstacles[1].to, to, sizeof to);
    memcpy(obstacles[1].center, center, sizeof center);
    obstacles[1].radius = 0.03;
    anchors.select = select_box(-1, -1, -1, 1, 1e-6, 1);
    anchors.stiffness = 1e5;
    body.mesh = mesh;
    body.material = material_of("stvk", 5e4, 0.4);
    body.attachments = &anchors;
    body.attachment_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = 2;
    bench b;
    CHECK_OK(hk_model_create(&def, &b.model));
    hk_mesh_free(mesh);
    hk_world_def world = hk_default_world_def();
    world.model = b.model;
    world.step = PER_STEP * SERVO;
    world.threads = 1;
    world.solver.method = "linear_implicit";
    hk_option options[] = {{.name = "beta", .number = 0.002},
                           {.name = "contact_passes", .number = 3},
                           {.name = "correction_velocity", .number = 0}};
    world.solver.iterations = 300;
    world.solver.options = options;
    world.solver.option_count = 3;
    CHECK_OK(hk_world_create(&world, &b.world));
    hk_tool_def tool = hk_default_tool_def();
    tool.obstacle = "probe";
    CHECK_OK(hk_tool_create(b.world, &tool, &b.tool));
    return b;
}

static void free_bench(bench *b)
{
    hk_tool_free(b->tool);
    hk_world_free(b->world);
    hk_model_free(b->model);
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

// ---------------------------------------------------------------- a hand at 1 kHz

// Down into the block, to and fro, and up again.
static void hand_at(double t, const hk_tool_pose *start, hk_tool_pose *hand)
{
    double down = t < 1 ? 0.03 * t : t < 2 ? 0.03 : 0.03 * fmax(0, 3 - t);
    *hand = *start;
    hand->position[1] -= down;
    hand->position[0] += t > 1 && t < 2 ? 0.006 * sin(2 * acos(-1) * (t - 1)) : 0;
}

// When a step arrives the force goes on as it went: no jump of more than 5 % of the greatest force.
static void test_forces_do_not_jump(void **state)
{
    (void)state;
    bench b = make_bench(false, 0.05);
    hk_tool_pose start, hand;
    double last[3] = {0}, most = 0, jump = 0, torque[3], force[3];
    CHECK_OK(hk_tool_where(b.tool, &start));
    for (int k = 0; k < 3200; k++) {
        bool arrives = k % PER_STEP == 0;
        if (arrives) CHECK_OK(hk_tool_step(b.tool, NULL));
        hand_at(k * SERVO, &start, &hand);
        CHECK_OK(hk_tool_servo(b.tool, &hand, SERVO, force, torque));
        double change[3] = {force[0] - last[0], force[1] - last[1], force[2] - last[2]};
        assert_true(isfinite(norm(force)) && isfinite(norm(torque)));
        if (arrives) jump = fmax(jump, norm(change));
        most = fmax(most, norm(force));
        memcpy(last, force, sizeof last);
    }
    if (!(most > 1 && most < 50)) fail_msg("the greatest force is %g N", most);
    if (!(jump < 0.05 * most)) fail_msg("a jump of %g N; the greatest force is %g N", jump, most);
    // Up in the air there is nothing to feel.
    if (!(norm(force) < 1e-3 * most)) fail_msg("%g N in the air", norm(force));
    free_bench(&b);
}

// A hand that rests: it feels what the bodies feel, and the coupling has the length for it.
static void test_balance(void **state)
{
    (void)state;
    bench b = make_bench(true, 0.05);
    hk_tool_pose start, hand, where;
    double force[3], torque[3];
    CHECK_OK(hk_tool_where(b.tool, &start));
    for (int k = 0; k < 6000; k++) {
        if (k % PER_STEP == 0) CHECK_OK(hk_tool_step(b.tool, NULL));
        hand = start;
        hand.position[1] -= 0.03 * fmin(1, k * SERVO);
        CHECK_OK(hk_tool_servo(b.tool, &hand, SERVO, force, torque));
    }
    hk_obstacle_load load;
    CHECK_OK(hk_world_obstacle_load(b.world, 1, &load));
    CHECK_OK(hk_tool_where(b.tool, &where));
    double stretched = where.position[1] - hand.position[1];
    assert_true(force[1] > 0.5);
    if (!(fabs(force[1] - load.force[1]) < 0.01 * force[1]))
        fail_msg("the hand feels %g N, the tool %g N", force[1], load.force[1]);
    if (!(fabs(force[1] - 500 * stretched) < 1e-3 * force[1]))
        fail_msg("%g N over %g m", force[1], stretched);
    free_bench(&b);
}

// A rod that presses one side is turned.
static void test_torque(void **state)
{
    (void)state;
    bench b = make_bench(true, 0.05);
    hk_tool_pose start, hand;
    double force[3], torque[3];
    CHECK_OK(hk_tool_where(b.tool, &start));
    hand = start;
    hand.position[1] -= 0.02;
    hand.position[2] += 0.09;  // its end presses
    for (int k = 0; k < 3000; k++) {
        if (k % PER_STEP == 0) CHECK_OK(hk_tool_step(b.tool, NULL));
        CHECK_OK(hk_tool_servo(b.tool, &hand, SERVO, force, torque));
    }
    hk_tool_pose where;
    CHECK_OK(hk_tool_where(b.tool, &where));
    // Pushed up at its −z end: turned about +x.
    assert_true(force[1] > 0.05 && torque[0] > 1e-3);
    assert_true(where.quaternion[1] > 1e-4 && fabs(torque[1]) + fabs(torque[2]) < torque[0]);
    free_bench(&b);
}

// ---------------------------------------------------------------- two threads

typedef struct servo {
    bench *b;
    hk_tool_pose start;
    atomic_bool stop;
    int calls;
    double most;
    bool finite;
} servo;

static void *run_servo(void *context)
{
    servo *s = context;
    double force[3], torque[3];
    s->finite = true;
    while (!atomic_load(&s->stop)) {
        hk_tool_pose hand;
        hand_at(fmod(s->calls * SERVO, 3), &s->start, &hand);
        if (hk_tool_servo(s->b->tool, &hand, SERVO, force, torque) != HK_OK) s->finite = false;
        s->finite = s->finite && isfinite(norm(force));
        s->most = fmax(s->most, norm(force));
        s->calls++;
    }
    return NULL;
}

static void test_two_threads(void **state)
{
    (void)state;
    bench b = make_bench(false, 0.05);
    servo s = {.b = &b};
    pthread_t thread;
    CHECK_OK(hk_tool_where(b.tool, &s.start));
    atomic_init(&s.stop, false);
    assert_int_equal(pthread_create(&thread, NULL, run_servo, &s), 0);
    for (int k = 0; k < (SANITIZED ? 5 : 30); k++) {
        hk_step_report report;
        CHECK_OK(hk_tool_step(b.tool, &report));
        assert_true(hk_reason_outcome(report.reason) != HK_OUTCOME_FAILED);
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    assert_true(s.calls > 0 && s.finite);
    free_bench(&b);
}

static void test_refusals(void **state)
{
    (void)state;
    bench b = make_bench(false, 0.05);
    hk_tool_def def = hk_default_tool_def();
    hk_tool *tool = NULL;
    hk_tool_pose hand = {.quaternion = {0}};
    double force[3], torque[3];
    def.obstacle = "spoon";
    assert_int_equal(hk_tool_create(b.world, &def, &tool), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "spoon"));
    def.obstacle = "probe";
    def.stiffness = 0;
    assert_int_equal(hk_tool_create(b.world, &def, &tool), HK_BAD_INPUT);
    assert_int_equal(hk_tool_servo(b.tool, &hand, SERVO, force, torque), HK_BAD_INPUT);
    hand.quaternion[0] = 1;
    assert_int_equal(hk_tool_servo(b.tool, &hand, 0, force, torque), HK_BAD_INPUT);
    hk_solver_def solver = hk_default_solver_def();
    solver.method = "newton";
    assert_int_not_equal(hk_world_set_solver(b.world, &solver), HK_OK);
    free_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forces_do_not_jump),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_torque),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
