// Methods that move every vertex or every element by itself (descent, vbd, xpbd) with contact: they
// come to Newton's answer, what lies on a slope obeys Coulomb, nothing passes through anything
// however few iterations there are, and the bits do not depend on threads.
#include "contact_bodies.h"

typedef struct way {
    const char *method;
    const char *precision;  // NULL: the method has no such option
    int substeps;           // of xpbd; 0: of another method
    int iterations;         // 0: as usual
} way;

typedef struct scene {
    int cubes, cells;  // above each other, `gap` apart
    double gap;        // m
    double slope;      // of the floor, degrees about z
    double friction;
    double young;       // Pa
    double speed;       // m/s, of the second cube, downwards
    double rises;       // m/s, of the floor
    double tolerance;   // 0: 1e-6
    const char *law;    // NULL: the usual one
    bool turned, held;  // cubes lie askew; the lowest is fixed at the bottom, 5 mm above the floor
    int threads;        // 0: one
} scene;

enum { MOST = 6 };
#define STEP 0.01

static void place_cube(const scene *s, int k, const hk_mesh *mesh, hk_body_def *body)
{
    double turn = s->slope * acos(-1.0) / 180, up = s->gap + k * (0.2 + s->gap);
    *body = hk_default_body_def();
    body->mesh = mesh;
    body->material = material_of("neo_hookean", s->young, 0.4);
    body->transform.axis[2] = 1;
    body->transform.axis[1] = 0;
    body->transform.degrees = s->slope;
    body->transform.translate[0] = -up * sin(turn) + 0.013 * k;
    body->transform.translate[1] = up * cos(turn);
    body->transform.translate[2] = 0.017 * k;
    if (k == 1) body->velocity[1] = -s->speed;
    if (!s->turned) return;
    uint64_t seed = 77 + (uint64_t)k;
    for (int i = 0; i < 3; i++) {
        body->transform.axis[i] = noise(&seed);
        body->velocity[i] = 1.5 * noise(&seed) - (i == 1) * 2;
    }
    body->transform.degrees = 180 * noise(&seed);
    body->transform.translate[1] = 0.4 + 0.42 * k;
}

static hk_model *make_model(const scene *s)
{
    hk_mesh *mesh = box_mesh(0.2, 0.2, 0.2, s->cells, s->cells, s->cells);
    hk_body_def bodies[MOST];
    for (int k = 0; k < s->cubes; k++) place_cube(s, k, mesh, &bodies[k]);
    hk_selector end = select_box(-0.01, -1, -1, 0.01, 1, 1);
    if (s->held) {
        bodies[0].fixes = &end;
        bodies[0].fix_count = 1;
    }
    double turn = s->slope * acos(-1.0) / 180;
    hk_obstacle_def floor = hk_default_obstacle_def();
    floor.name = "floor";
    floor.normal[0] = -sin(turn);
    floor.normal[1] = cos(turn);
    hk_motion_def rise = {.axis = {0, 1, 0}, .translate = {0, s->rises, 0}, .over = 1};
    floor.moves = &rise;
    floor.move_count = s->rises != 0;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 1e-3;
    contact.friction = s->friction;
    contact.slip_speed = 1e-4;
    if (s->law) contact.law = s->law;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = s->cubes;
    def.contact = &contact;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_world *make_world(const scene *s, const way *w)
{
    hk_option options[2];
    int count = 0;
    if (w->precision) options[count++] = (hk_option){.name = "precision", .text = w->precision};
    if (w->substeps) options[count++] = (hk_option){.name = "substeps", .number = w->substeps};
    hk_world_def def = hk_default_world_def();
    def.model = make_model(s);
    def.step = STEP;
    def.threads = s->threads ? s->threads : 1;
    def.solver.method = w->method;
    def.solver.tolerance = s->tolerance > 0 ? s->tolerance : 1e-6;
    def.solver.iterations = w->iterations;
    def.solver.options = options;
    def.solver.option_count = count;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free((hk_model *)def.model);
    return world;
}

static void march(hk_world *world, const way *w, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        bool took = report.reason != HK_NOT_FINITE && report.reason != HK_INVERTED;
        if (!took) fail_msg("%s: %s", w->method, report.detail);
        assert_apart(world, w->method);
    }
}

// ---------------------------------------------------------------- Newton's answer

static const way g_newton = {.method = "newton", .iterations = 300};

static void compare(const scene *s, const way *w, int steps, double tolerance)
{
    hk_world *a = make_world(s, &g_newton), *b = make_world(s, w);
    march(a, &g_newton, steps);
    march(b, w, steps);
    double apart = farthest_scaled(a, b, 1);
    if (!(apart <= tolerance))
        fail_msg("%s (%s): %g m from Newton's", w->method, w->precision ? w->precision : "", apart);
    hk_world_free(a);
    hk_world_free(b);
}

// A stack that falls on the floor, with and without friction. States are about 0.4 m in size and
// tolerances 1e-6: they agree to 1e-7 m, and those of friction, which is measured against slips of
// 1e-6 m, as well.
static void test_answer(void **state)
{
    (void)state;
    static const way ways[] = {{"descent", "single", 0, 3000},
                               {"descent", "double", 0, 3000},
                               {"vbd", "single", 0, 3000},
                               {"vbd", "double", 0, 3000}};
    scene s = {.cubes = 2, .cells = 2, .gap = 3e-3, .young = 1e5};
    scene rubs = {
        .cubes = 1, .cells = 2, .gap = 9.98e-4, .slope = -20, .friction = 0.3, .young = 1e6};
    scene log = s;
    log.law = "log";
    for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
        compare(&s, &ways[k], 5, 1e-7);
        compare(&rubs, &ways[k], 4, 1e-6);
        if (k % 2 == 0) compare(&log, &ways[k], 4, 1e-6);
    }
}

// xpbd solves backward Euler of its substeps: with one substep and many sweeps it is Newton's
// answer where contact is with planes, whose normals do not turn. Between bodies normals are those
// of the state before, and nearly parallel edges do not turn each other.
static void test_xpbd_answer(void **state)
{
    (void)state;
    scene one = {.cubes = 1, .cells = 2, .gap = 3e-3, .young = 1e5};
    compare(&one, &(way){"xpbd", "double", 1, 150}, 5, 1e-8);
    compare(&one, &(way){"xpbd", "single", 1, 150}, 5, 1e-7);
    scene two = {.cubes = 2, .cells = 2, .gap = 3e-3, .young = 1e5};
    compare(&two, &(way){"xpbd", "double", 1, 150}, 5, 1e-4);
}

// What is held at one end and lies on the floor with the other.
static void test_pose(void **state)
{
    (void)state;
    static const way ways[] = {{"descent", "single", 0, 0}, {"vbd", "single", 0, 0}};
    scene s = {.cubes = 1, .cells = 2, .gap = 2e-3, .young = 2e4, .held = true, .friction = 0.5};
    hk_world *newton = make_world(&s, &g_newton);
    hk_step_report report;
    CHECK_OK(hk_world_pose(newton, &report));
    assert_int_equal(report.reason, HK_CONVERGED);
    double low = lowest(newton);
    assert_true(low > 0 && low < 1e-3);  // it does lie there
    for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
        hk_world *world = make_world(&s, &ways[k]);
        CHECK_OK(hk_world_pose(world, &report));
        assert_true(report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT);
        double apart = farthest_scaled(newton, world, 1);
        if (!(apart < 1e-6)) fail_msg("%s: %g m from Newton's pose", ways[k].method, apart);
        hk_world_free(world);
    }
    hk_world_free(newton);
}

// ---------------------------------------------------------------- friction

static void mean_velocity(const hk_world *world, double mean[3])
{
    int n = hk_model_vertex_count(hk_world_model(world));
    const double *mass = hk_model_masses(hk_world_model(world));
    double all = 0;
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (int v = 0; v < n; v++) {
        all += mass[v];
        for (int i = 0; i < 3; i++) mean[i] += mass[v] * hk_world_velocities(world)[3 * v + i];
    }
    for (int i = 0; i < 3; i++) mean[i] /= all;
}

static double speed_along(const hk_world *world, double angle)
{
    double v[3];
    mean_velocity(world, v);
    return v[0] * cos(angle) - v[1] * sin(angle);
}

// On a slope of 26.565°, tan 1/2, what has settled does not become faster with a friction of 0.5,
// and with 0.49 by g (sin − 0.49 cos) = 0.0877 m/s²; with 0.6 it stays where it is.
static void test_slope(void **state)
{
    (void)state;
    static const way ways[] = {
        {"descent", NULL, 0, 1500}, {"vbd", NULL, 0, 300}, {"xpbd", NULL, 5, 4}};
    enum { SETTLE = 15, STEPS = 25 };
    double angle = 26.565 * acos(-1.0) / 180;
    for (int k = 0; k < 3 * (int)(sizeof ways / sizeof *ways); k++) {
        static const double frictions[] = {0.5, 0.49, 0.6};
        scene s = {.cubes = 1,
                   .cells = 2,
                   .gap = 9.98e-4,
                   .slope = -26.565,
                   .friction = frictions[k % 3],
                   .young = 1e6};
        const way *w = &ways[k / 3];
        hk_world *world = make_world(&s, w);
        march(world, w, SETTLE);
        double before = speed_along(world, angle);
        march(world, w, STEPS);
        double after = speed_along(world, angle), t = STEPS * STEP;
        double expected = k % 3 == 1 ? 9.81 * (sin(angle) - 0.49 * cos(angle)) * t : 0;
        if (k % 3 == 2) before = 0, expected = 0;
        if (!(fabs(after - before - expected) < 0.15 * 0.0877 * t))
            fail_msg("%s, friction %g: from %g to %g m/s", w->method, s.friction, before, after);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- what must never happen

// Bodies that fly about and fall on each other, with few iterations and with many.
static void test_tumble(void **state)
{
    (void)state;
    static const way ways[] = {{"descent", NULL, 0, 0}, {"descent", "double", 0, 16},
                               {"vbd", NULL, 0, 0},     {"vbd", "double", 0, 4},
                               {"xpbd", NULL, 5, 1},    {"xpbd", "double", 2, 3}};
    for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
        scene s = {
            .cubes = 4, .cells = 2, .young = k % 2 ? 2e5 : 2e4, .friction = 0.3, .turned = true};
        hk_world *world = make_world(&s, &ways[k]);
        for (int n = 0; n < (SANITIZED ? 10 : 24); n++) {
            march(world, &ways[k], 1);
            if (!(lowest(world) > 0)) fail_msg("%s: %g m below", ways[k].method, lowest(world));
        }
        hk_world_free(world);
    }
}

// A floor that rises at 2 m/s takes the cube with it.
static void test_rising_floor(void **state)
{
    (void)state;
    static const way ways[] = {{"descent", NULL, 0, 0}, {"vbd", NULL, 0, 0}, {"xpbd", NULL, 5, 1}};
    for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
        scene s = {.cubes = 1, .cells = 2, .gap = 2e-3, .young = 1e5, .rises = 2};
        hk_world *world = make_world(&s, &ways[k]);
        for (int n = 1; n <= 10; n++) {
            march(world, &ways[k], 1);
            double height = 2 * hk_world_time(world);
            if (!(lowest(world) > height))
                fail_msg("%s: %g m, the floor is at %g m", ways[k].method, lowest(world), height);
        }
        assert_true(fabs(hk_world_time(world) - 10 * STEP) < 1e-12);
        hk_world_free(world);
    }
}

static void test_threads(void **state)
{
    (void)state;
    static const way ways[] = {
        {"descent", NULL, 0, 100}, {"vbd", NULL, 0, 40}, {"xpbd", NULL, 2, 2}};
    static const int threads[] = {1, 2, 7};
    for (int k = 0; k < (int)(sizeof ways / sizeof *ways); k++) {
        hk_world *worlds[3];
        for (int t = 0; t < 3; t++) {
            scene s = {.cubes = 2,
                       .cells = 3,
                       .gap = 2e-3,
                       .young = 1e5,
                       .friction = 0.3,
                       .speed = 0.5,
                       .threads = threads[t]};
            worlds[t] = make_world(&s, &ways[k]);
            march(worlds[t], &ways[k], 4);
        }
        size_t bytes =
            3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(worlds[0]));
        for (int t = 1; t < 3; t++)
            assert_memory_equal(hk_world_positions(worlds[0]), hk_world_positions(worlds[t]),
                                bytes);
        for (int t = 0; t < 3; t++) hk_world_free(worlds[t]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),  cmocka_unit_test(test_xpbd_answer),
        cmocka_unit_test(test_pose),    cmocka_unit_test(test_slope),
        cmocka_unit_test(test_tumble),  cmocka_unit_test(test_rising_floor),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
