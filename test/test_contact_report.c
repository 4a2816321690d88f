// What is told of contact: forces that balance, certificates, states that are refused and starts
// that are pushed apart; and contact with every integrator.
#include <string.h>

#include "bodies.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g: tolerance %g", a, b, tolerance);
}

#define OK(call)                                                    \
    do {                                                            \
        if ((call) != HK_OK) fail_msg("%s: %s", #call, hk_error()); \
    } while (0)

// ---------------------------------------------------------------- worlds

typedef struct setting {
    int cubes;            // of 0.2 m
    double places[2][3];  // m, of their low corners
    double turn;          // degrees about z
    double speed[3];      // m/s
    bool sheet;           // in place of cubes, at height places[0][1]
    double floor;         // m, its height; NAN: there is none
    double ball[4];       // m, centre and radius; 0: there is none
    double drop;  // m, by which a box above goes down in 0.5 s, from 0.5 m on; 0: there is none
    hk_contact_def contact;
    const char *integrator, *method;
    double step;
    double gravity;
    bool block;  // a box whose top is at height 0
} setting;

static setting usual(void)
{
    setting s = {.cubes = 1, .floor = 0, .contact = hk_default_contact_def(), .step = 0.01};
    s.contact.distance = 1e-3;
    s.contact.friction = 0.3;
    s.integrator = "backward_euler";
    s.method = "newton";
    s.gravity = -9.81;
    return s;
}

static hk_mesh *make_mesh(const setting *s)
{
    hk_mesh *mesh;
    hk_mesh_def shape = hk_default_mesh_def(s->sheet ? HK_SHAPE_SHEET : HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) {
        shape.size[i] = s->sheet ? 0.5 : 0.2;
        shape.cells[i] = s->sheet ? 8 : 2;
    }
    OK(hk_mesh_make(&shape, &mesh));
    return mesh;
}

static int add_obstacles(const setting *s, hk_obstacle_def *to, hk_motion_def *motion)
{
    int count = 0;
    if (!isnan(s->floor)) {
        to[count] = hk_default_obstacle_def();
        to[count].point[1] = s->floor;
        to[count++].name = "floor";
    }
    if (s->block) {
        to[count] = hk_default_obstacle_def();
        to[count].shape = HK_OBSTACLE_BOX;
        for (int i = 0; i < 3; i++) {
            to[count].min[i] = -1;
            to[count].max[i] = i == 1 ? 0 : 1;
        }
        to[count++].name = "block";
    }
    if (s->ball[3] > 0) {
        to[count] = hk_default_obstacle_def();
        to[count].shape = HK_OBSTACLE_SPHERE;
        memcpy(to[count].center, s->ball, sizeof to[count].center);
        to[count].radius = s->ball[3];
        to[count++].name = "ball";
    }
    if (s->drop > 0) {
        to[count] = hk_default_obstacle_def();
        to[count].shape = HK_OBSTACLE_BOX;
        for (int i = 0; i < 3; i++) {
            to[count].min[i] = i == 1 ? 0.5 : -0.4;
            to[count].max[i] = 0.6;
        }
        *motion = (hk_motion_def){.axis = {0, 1, 0}, .translate = {0, -s->drop, 0}, .over = 0.5};
        to[count].moves = motion;
        to[count].move_count = 1;
        to[count++].name = "press";
    }
    return count;
}

static hk_status try_world(const setting *s, hk_world **world)
{
    hk_mesh *mesh = make_mesh(s);
    hk_body_def bodies[2];
    for (int k = 0; k < s->cubes; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].name = k ? "upper" : "lower";
        bodies[k].mesh = mesh;
        bodies[k].material.young = 1e5;
        bodies[k].material.poisson = 0.4;
        if (s->sheet) {
            bodies[k].material.model = "mass_spring";
            bodies[k].material.density = 1;
            bodies[k].material.parameters[0] = (hk_parameter){"stretch", 100};
            bodies[k].material.parameter_count = 1;
        }
        memcpy(bodies[k].velocity, s->speed, sizeof bodies[k].velocity);
        memcpy(bodies[k].transform.translate, s->places[k], 3 * sizeof(double));
        bodies[k].transform.axis[1] = 0;
        bodies[k].transform.axis[2] = 1;
        bodies[k].transform.degrees = s->turn;
    }
    hk_obstacle_def obstacles[4];
    hk_motion_def motion;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = s->cubes;
    def.contact = &s->contact;
    def.obstacles = obstacles;
    def.obstacle_count = add_obstacles(s, obstacles, &motion);
    def.gravity[1] = s->gravity;
    hk_model *model;
    OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_world_def settings = hk_default_world_def();
    settings.model = model;
    settings.step = s->step;
    settings.threads = 1;
    settings.integrator = s->integrator;
    settings.solver.method = s->method;
    settings.solver.tolerance = 1e-9;
    settings.solver.iterations = 1000;
    hk_status status = hk_world_create(&settings, world);
    hk_model_free(model);
    return status;
}

static hk_world *make_world(const setting *s)
{
    hk_world *world = NULL;
    OK(try_world(s, &world));
    return world;
}

static hk_contact_report report_of(hk_world *world)
{
    hk_contact_report report;
    OK(hk_world_contact(world, &report));
    return report;
}

static int size_of(const hk_world *world)
{
    return hk_model_vertex_count(hk_world_model(world));
}

static double mass_of(const hk_world *world)
{
    double all = 0;
    for (int v = 0; v < size_of(world); v++) all += hk_model_masses(hk_world_model(world))[v];
    return all;
}

static double *copy_of(const hk_world *world, const double *vectors)
{
    size_t bytes = 3 * sizeof(double) * (size_t)size_of(world);
    double *copy = malloc(bytes);
    memcpy(copy, vectors, bytes);
    return copy;
}

// ---------------------------------------------------------------- forces

// A cube at rest: the floor carries its weight, at its middle, and so says every list of it.
static void test_weight(void **state)
{
    (void)state;
    setting s = usual();
    s.places[0][1] = 5e-4;
    s.contact.certify = 1;
    hk_world *world = make_world(&s);
    hk_step_report step;
    OK(hk_world_pose(world, &step));
    assert_int_equal(step.reason, HK_CONVERGED);
    double weight = mass_of(world) * 9.81, sum[3] = {0};
    hk_obstacle_load load;
    OK(hk_world_obstacle_load(world, 0, &load));
    assert_near(load.force[1], -weight, 1e-6 * weight);
    assert_near(load.force[0], 0, 1e-6 * weight);
    assert_near(load.torque[0], 0.1 * weight, 1e-3 * weight);  // the cube may turn a little
    assert_near(load.torque[2], -0.1 * weight, 1e-3 * weight);
    double *force = malloc(3 * sizeof(double) * (size_t)size_of(world));
    OK(hk_world_field(world, "contact_force", force));
    for (int k = 0; k < 3 * size_of(world); k++) sum[k % 3] += force[k];
    for (int i = 0; i < 3; i++) assert_near(sum[i], -load.force[i], 1e-9 * weight);
    free(force);
    hk_contact_report r = report_of(world);
    assert_true(r.pairs == 9 && r.candidates >= 9 && r.certified == 1);
    assert_true(r.least_gap > 0 && r.least_gap < 1e-3);
    assert_true(r.detections > 0 && r.energy > 0 && step.energy.contact == r.energy);
    assert_true(isnan(r.recovered_time) && r.recovering == 0);
    hk_world_free(world);
}

// The force of a step is what changes the momentum in it, friction and all, and so is the torque.
static void test_momentum(void **state)
{
    (void)state;
    setting s = usual();
    s.places[0][1] = 2e-3;
    s.speed[0] = 0.5;
    s.speed[1] = -1;
    hk_world *world = make_world(&s);
    int n = size_of(world);
    const double *mass = hk_model_masses(hk_world_model(world));
    bool touched = false;
    for (int k = 0; k < 8; k++) {
        double *before = copy_of(world, hk_world_velocities(world)), rate[3] = {0}, spin[3] = {0};
        OK(hk_world_step(world, NULL));
        const double *x = hk_world_positions(world), *v = hk_world_velocities(world);
        for (int p = 0; p < n; p++) {
            double f[3];
            for (int i = 0; i < 3; i++) {
                f[i] = mass[p] * ((v[3 * p + i] - before[3 * p + i]) / s.step + (i == 1) * 9.81);
                rate[i] += f[i];
            }
            for (int i = 0; i < 3; i++)
                spin[i] += x[3 * p + (i + 1) % 3] * f[(i + 2) % 3] -
                           x[3 * p + (i + 2) % 3] * f[(i + 1) % 3];
        }
        hk_obstacle_load load;
        OK(hk_world_obstacle_load(world, 0, &load));
        double scale = mass_of(world) * 9.81;
        touched = touched || load.force[1] < -scale;
        for (int i = 0; i < 3; i++) {
            assert_near(load.force[i], -rate[i], 1e-6 * scale);
            assert_near(load.torque[i], -spin[i], 1e-6 * scale);
        }
        free(before);
    }
    assert_true(touched);
    hk_world_free(world);
}

// ---------------------------------------------------------------- certificates and refusals

// A soft floor lets things through: the certificate says so, and the state stays.
static void test_certificate(void **state)
{
    (void)state;
    setting s = usual();
    s.places[0][1] = 2e-2;
    s.speed[1] = -1;
    s.contact.law = "penalty";
    s.contact.stiffness = 10;
    s.contact.certify = 1;
    hk_world *world = make_world(&s);
    hk_step_report step = {.reason = HK_CONVERGED};
    int steps = 0;
    double *before = NULL;
    for (; steps < 20 && step.reason == HK_CONVERGED; steps++) {
        free(before);
        before = copy_of(world, hk_world_positions(world));
        OK(hk_world_step(world, &step));
        assert_true(report_of(world).certified == (step.reason == HK_CONVERGED));
    }
    assert_int_equal(step.reason, HK_INTERSECTION);
    assert_true(steps > 1);
    assert_non_null(strstr(step.detail, "obstacle floor"));
    assert_memory_equal(before, hk_world_positions(world),
                        3 * sizeof(double) * (size_t)size_of(world));
    assert_int_equal(hk_reason_outcome(HK_INTERSECTION), HK_OUTCOME_FAILED);
    free(before);
    hk_world_free(world);
}

// States that a user sets are looked at; where they overlap nothing changes.
static void test_states(void **state)
{
    (void)state;
    setting s = usual();
    s.places[0][1] = 0.1;
    s.drop = 0.4;
    hk_world *world = make_world(&s);
    int n = size_of(world);
    double *first = copy_of(world, hk_world_positions(world)), *low = copy_of(world, first);
    for (int v = 0; v < n; v++) low[3 * v + 1] -= 0.15;
    assert_int_equal(hk_world_set_positions(world, low), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "body 0 (lower)"));
    assert_non_null(strstr(hk_error(), "obstacle floor"));
    assert_memory_equal(first, hk_world_positions(world), 3 * sizeof(double) * (size_t)n);
    // A time at which the press is where the cube is.
    assert_int_equal(hk_world_set_time(world, 0.4), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "press"));
    assert_true(hk_world_time(world) == 0);
    // A vertex that is to go through the floor.
    const double below[3] = {0, -0.5, 0};
    const int32_t vertex = 0;
    hk_step_report step;
    OK(hk_world_fix(world, 1, &vertex, below));
    OK(hk_world_step(world, &step));
    assert_int_equal(step.reason, HK_INTERSECTION);
    assert_non_null(strstr(step.detail, "floor"));
    assert_memory_equal(first, hk_world_positions(world), 3 * sizeof(double) * (size_t)n);
    OK(hk_world_unfix(world, 1, &vertex));
    OK(hk_world_step(world, &step));
    assert_int_equal(step.reason, HK_CONVERGED);
    free(first);
    free(low);
    hk_world_free(world);
}

// ---------------------------------------------------------------- recovery

// Steps until nothing overlaps, and a few more, which are certified.
static void recover(const setting *s, int most)
{
    setting refused = *s;
    hk_world *world = NULL;
    refused.contact.overlap = HK_OVERLAP_REFUSE;
    assert_int_equal(try_world(&refused, &world), HK_BAD_INPUT);
    world = make_world(s);
    hk_contact_report r = report_of(world);
    assert_int_equal(r.recovering, 1);
    hk_step_report step;
    int steps = 0;
    for (; r.recovering && steps <= most; steps++) {
        OK(hk_world_step(world, &step));
        assert_int_equal(step.reason, HK_CONVERGED);
        r = report_of(world);
        assert_int_equal(r.recovery_steps, steps + 1);
    }
    if (r.recovering) fail_msg("not apart after %d steps", steps);
    assert_near(r.recovered_time, steps * s->step, 1e-9);
    double speed = 0;
    for (int k = 0; k < 4; k++) {
        OK(hk_world_step(world, &step));
        assert_int_equal(report_of(world).certified, 1);
    }
    for (int k = 0; k < 3 * size_of(world); k++)
        speed = fmax(speed, fabs(hk_world_velocities(world)[k]));
    assert_true(speed < 2);  // nothing explodes
    assert_int_equal(report_of(world).recovery_steps, steps);
    hk_world_free(world);
}

static void test_recovery(void **state)
{
    (void)state;
    setting cubes = usual();
    cubes.contact.overlap = HK_OVERLAP_RECOVER;
    cubes.contact.certify = 1;
    setting floor = cubes, sheet = cubes;
    cubes.cubes = 2;
    cubes.floor = NAN;
    cubes.gravity = 0;
    cubes.places[1][0] = 0.1;  // half of it, and the lattices do not coincide
    cubes.places[1][1] = 0.02;
    cubes.places[1][2] = 0.03;
    recover(&cubes, 30);
    floor.places[0][1] = -0.1;
    recover(&floor, 30);
    setting block = floor;
    block.block = true;
    block.floor = NAN;
    block.places[0][1] = -0.05;
    block.turn = 10;
    recover(&block, 30);
    sheet.sheet = true;
    sheet.floor = NAN;
    sheet.contact.self = 0;
    sheet.places[0][1] = 0.03;
    sheet.ball[0] = sheet.ball[2] = 0.25;
    sheet.ball[3] = 0.1;
    recover(&sheet, 40);
    // A pose of what overlaps is one of what was pushed apart first.
    hk_world *world = make_world(&floor);
    hk_step_report step;
    OK(hk_world_pose(world, &step));
    assert_int_equal(step.reason, HK_CONVERGED);
    hk_contact_report r = report_of(world);
    assert_true(r.certified == 1 && r.recovering == 0 && r.recovery_steps > 1);
    hk_world_free(world);
}

// A sheet that is folded through itself has no way out: that is told, after some steps.
static void test_no_recovery(void **state)
{
    (void)state;
    setting s = usual();
    s.sheet = true;
    s.floor = NAN;
    s.gravity = 0;
    s.contact.overlap = HK_OVERLAP_RECOVER;
    hk_world *world = make_world(&s);
    assert_int_equal(report_of(world).recovering, 0);
    double *x = copy_of(world, hk_world_positions(world));
    for (int v = 0; v < size_of(world); v++) {
        double beyond = fmax(0, x[3 * v] - 0.25);  // the one half goes back through the other
        x[3 * v] -= 1.9 * beyond;
        x[3 * v + 1] = beyond > 0 ? 0.05 - 0.4 * beyond : 0;
    }
    OK(hk_world_set_positions(world, x));
    free(x);
    assert_int_equal(report_of(world).recovering, 1);
    hk_step_report step = {.reason = HK_CONVERGED};
    int steps = 0;
    for (; steps < 200 && step.reason != HK_INTERSECTION; steps++) OK(hk_world_step(world, &step));
    assert_int_equal(steps, 100);
    assert_non_null(strstr(step.detail, "not apart after 100 steps"));
    assert_non_null(strstr(step.detail, "lower"));
    assert_int_equal(report_of(world).recovering, 1);
    hk_world_free(world);
}

// ---------------------------------------------------------------- integrators

// A cube that falls between a floor and a press, with every integrator.
static void test_integrators(void **state)
{
    (void)state;
    for (int k = 0; k < hk_integrator_count(); k++) {
        setting s = usual();
        s.integrator = hk_integrator_name(k);
        s.places[0][1] = 0.07;
        s.turn = 10;
        s.speed[1] = -0.5;
        s.contact.distance = 2e-3;
        s.contact.certify = 1;
        s.drop = 0.3;
        hk_world *world = make_world(&s);
        double pressed = 0;
        for (int n = 0; n < 50; n++) {
            hk_step_report step;
            OK(hk_world_step(world, &step));
            if (hk_reason_outcome(step.reason) == HK_OUTCOME_FAILED)
                fail_msg("%s, step %d: %s", s.integrator, n, step.detail);
            hk_contact_report r = report_of(world);
            assert_true(r.certified == 1 && r.least_gap > 0);
            hk_obstacle_load load;
            OK(hk_world_obstacle_load(world, 1, &load));
            pressed = fmax(pressed, load.force[1]);
        }
        assert_true(pressed > 20);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- meshes of obstacles

static void test_obstacle_meshes(void **state)
{
    (void)state;
    setting s = usual();
    s.places[0][1] = 0.1;
    s.ball[0] = 1;
    s.ball[3] = 0.1;
    s.drop = 0.1;
    hk_world *world = make_world(&s);
    const hk_model *model = hk_world_model(world);
    const double center[3] = {0.3, 2, -0.1};
    hk_mesh *mesh;
    for (int k = 0; k < 3; k++) {
        OK(hk_model_obstacle_mesh(model, k, 0.5, 2, center, &mesh));
        const double *x = hk_mesh_positions(mesh);
        for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
            const double *p = x + 3 * v;
            if (k == 0) assert_true(p[1] == 0 && fabs(p[0] - 0.3) <= 1 && fabs(p[2] + 0.1) <= 1);
            if (k == 1) assert_near(hypot(hypot(p[0] - 1, p[1]), p[2]), 0.1, 1e-12);
            if (k == 2) assert_true(p[1] > 0.39 && p[1] < 0.51);
        }
        hk_mesh_report report;
        OK(hk_mesh_check(mesh, &report));
        hk_mesh_free(mesh);
    }
    assert_int_equal(hk_model_obstacle_mesh(model, 3, 0, 1, NULL, &mesh), HK_BAD_INPUT);
    assert_int_equal(hk_model_obstacle_mesh(model, 0, 0, 0, NULL, &mesh), HK_BAD_INPUT);
    hk_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight),      cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_certificate), cmocka_unit_test(test_states),
        cmocka_unit_test(test_recovery),    cmocka_unit_test(test_no_recovery),
        cmocka_unit_test(test_integrators), cmocka_unit_test(test_obstacle_meshes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
