// Contact by the methods with a constant matrix: quasi_newton, projective, admm and split come to
// Newton's answer, never factor again because of contacts, hold and slide on a slope as Coulomb has
// it, give the same bits for any number of threads, and let nothing pass through anything.
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

// ---------------------------------------------------------------- bodies

typedef struct pile {
    const char *method, *material;
    double passes;    // of split; 0: its own
    int cubes;        // above each other, `gap` apart
    double side;      // m, of a cube
    double gap;       // m
    double slope;     // of the floor, degrees about z
    double friction;  // with everything
    double young;
    double step;      // s
    double press;     // m/s, of a plate above that comes down; 0: there is none
    const char *law;  // NULL: the usual
    int threads;
    int iterations;  // at most; 0: as many as it takes
} pile;

static const pile g_usual = {.cubes = 2, .side = 0.2, .gap = 3e-3, .young = 1e5, .step = 0.01};

typedef struct entry {
    const char *method, *material;
    double passes;
} entry;

// To the minimiser.
static const entry g_entries[] = {{"quasi_newton", "neo_hookean", 0},
                                  {"projective", "arap", 0},
                                  {"admm", "corotated", 0},
                                  {"split", "corotated", 3000}};
enum { ENTRIES = (int)(sizeof g_entries / sizeof g_entries[0]) };

static pile with(const entry *e, pile p)
{
    p.method = e->method;
    p.material = e->material;
    p.passes = e->passes;
    return p;
}

static void place(const pile *p, hk_mesh *mesh, int k, hk_body_def *body)
{
    double turn = p->slope * acos(-1.0) / 180, up = p->gap + k * (p->side + p->gap);
    *body = hk_default_body_def();
    body->mesh = mesh;
    body->material.model = p->material;
    body->material.young = p->young;
    body->material.poisson = 0.3;
    body->transform.axis[2] = 1;
    body->transform.axis[1] = 0;
    body->transform.degrees = p->slope;
    body->transform.translate[0] = -up * sin(turn) + 0.065 * p->side * k;
    body->transform.translate[1] = up * cos(turn);
    body->transform.translate[2] = 0.085 * p->side * k;
}

static hk_model *make_model(const pile *p)
{
    enum { MOST = 3 };
    hk_mesh *mesh;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) shape.size[i] = p->side, shape.cells[i] = 2;
    OK(hk_mesh_make(&shape, &mesh));
    hk_body_def bodies[MOST];
    for (int k = 0; k < p->cubes; k++) place(p, mesh, k, &bodies[k]);
    double turn = p->slope * acos(-1.0) / 180;
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    obstacles[0].name = "floor";
    obstacles[0].normal[0] = -sin(turn);
    obstacles[0].normal[1] = cos(turn);
    obstacles[1].name = "plate";
    obstacles[1].point[1] = p->cubes * (p->side + p->gap) + p->gap;
    obstacles[1].normal[1] = -1;
    hk_motion_def down = {.axis = {0, 1, 0}, .translate = {0, -p->press, 0}, .over = 1};
    obstacles[1].moves = &down;
    obstacles[1].move_count = 1;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 1e-3;
    contact.friction = p->friction;
    contact.slip_speed = 1e-5;
    if (p->law) contact.law = p->law;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = p->cubes;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = p->press > 0 ? 2 : 1;
    hk_model *model;
    OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_world *make_world(const pile *p)
{
    hk_model *model = make_model(p);
    hk_world_def settings = hk_default_world_def();
    // In single precision a second solver goes on in double, with a factor of its own.
    bool split = strcmp(p->method, "split") == 0, newton = strcmp(p->method, "newton") == 0;
    hk_option option = {.name = "precision", .text = "double"};
    if (split) option = (hk_option){.name = "passes", .number = p->passes};
    settings.model = model;
    settings.step = p->step;
    settings.threads = p->threads;
    settings.solver.method = p->method;
    if (!split || p->passes > 0) settings.solver.tolerance = 1e-6;
    if (!split) settings.solver.iterations = p->iterations > 0 ? p->iterations : 3000;
    settings.solver.options = &option;
    settings.solver.option_count = split ? p->passes > 0 : !newton;
    hk_world *world = NULL;
    OK(hk_world_create(&settings, &world));
    hk_model_free(model);
    return world;
}

static void certify(const hk_world *world)
{
    hk_intersection_report found;
    hk_mesh *mesh;
    OK(hk_world_mesh(world, &mesh));
    OK(hk_mesh_intersections(mesh, 1, &found));
    assert_true(found.count == 0);
    hk_mesh_free(mesh);
}

// Takes steps, and looks at every state: nothing intersects, nothing is below the floor, and no
// matrix is factored but in the first step.
static void march(hk_world *world, int steps, bool first, bool apart)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        OK(hk_world_step(world, &report));
        // The steps of ADMM's own line search end a little early where friction holds.
        bool near = strcmp(hk_world_method(world), "admm") == 0 && report.reason == HK_STALLED &&
                    report.relative_residual < 1e-4;
        if (report.reason != HK_CONVERGED && report.reason != HK_PRECISION_LIMIT &&
            report.reason != HK_FIXED_WORK && !near)
            fail_msg("%s, step %d: %s, %s", hk_world_method(world), k,
                     hk_reason_name(report.reason), report.detail);
        if ((k > 0 || !first) && report.phase_ms[HK_PHASE_FACTOR] != 0)
            fail_msg("%s factors in step %d", hk_world_method(world), k);
        if (apart) certify(world);
    }
}

static int number_count(const hk_world *world)
{
    return 3 * hk_model_vertex_count(hk_world_model(world));
}

static double largest_difference(const hk_world *a, const hk_world *b)
{
    double largest = 0;
    for (int k = 0; k < number_count(a); k++)
        largest = fmax(largest, fabs(hk_world_positions(a)[k] - hk_world_positions(b)[k]));
    return largest;
}

// ---------------------------------------------------------------- tests

// Two cubes fall on a floor and on each other: after each step positions agree with Newton's to
// 2e-6 m, a hundred-thousandth of a cube, with both laws and with the soft constraint.
static void test_newton(void **state)
{
    (void)state;
    static const char *const laws[] = {"two_stage", "log", "penalty"};
    for (int k = 0; k < ENTRIES; k++)
        for (int law = 0; law < (k == 0 ? 3 : 1); law++) {
            pile p = with(&g_entries[k], g_usual), exact = p;
            p.law = exact.law = laws[law];
            exact.method = "newton";
            exact.passes = 0;
            hk_world *world = make_world(&p), *newton = make_world(&exact);
            for (int s = 0; s < 5; s++) {
                march(newton, 1, true, law < 2);
                march(world, 1, s == 0, law < 2);
                assert_near(largest_difference(world, newton), 0, 2e-6);
            }
            hk_world_free(world);
            hk_world_free(newton);
        }
}

// A step of quasi_newton with contact takes tens of iterations to 1e-6, as one of bodies that swing
// does; where L-BFGS had to learn the barrier it took hundreds.
static void test_iterations(void **state)
{
    (void)state;
    pile p = with(&g_entries[0], g_usual);
    hk_world *world = make_world(&p);
    for (int s = 0; s < 8; s++) {
        hk_step_report report;
        OK(hk_world_step(world, &report));
        assert_in_range(report.iterations, 0, 60);
    }
    hk_world_free(world);
}

// A stiff cube on a slope of 26.565 degrees, tan = 0.5: it holds with a friction of 0.5, and slides
// with 0.49. In 0.4 s that is 7 mm.
static double slide(const entry *e, double friction, int iterations)
{
    pile p = with(e, g_usual);
    p.iterations = iterations;
    double angle = atan(0.5);
    p.cubes = 1;
    p.side = 1;
    p.gap = 1e-3;
    p.young = 1e9;
    p.step = 0.025;
    p.slope = -angle * 180 / acos(-1.0);
    p.friction = friction;
    hk_world *world = make_world(&p);
    const double *x = hk_world_positions(world);
    double from = 0, to = 0;
    int count = number_count(world) / 3;
    for (int v = 0; v < count; v++) from += x[3 * v] * cos(angle) - x[3 * v + 1] * sin(angle);
    if (iterations == 0) march(world, 16, true, true);
    for (int k = 0; k < 16 && iterations > 0; k++) OK(hk_world_step(world, NULL));
    x = hk_world_positions(world);
    for (int v = 0; v < count; v++) to += x[3 * v] * cos(angle) - x[3 * v + 1] * sin(angle);
    hk_world_free(world);
    return (to - from) / count;
}

static void test_slope(void **state)
{
    (void)state;
    static const entry one_pass = {"split", "corotated", 0};
    for (int k = 0; k <= ENTRIES; k++) {
        const entry *e = k < ENTRIES ? &g_entries[k] : &one_pass;
        double holds = slide(e, 0.5, 0), slides = slide(e, 0.49, 0);
        if (!(fabs(holds) < 1.5e-3)) fail_msg("%s: %g m", e->method, holds);
        if (!(slides > holds + 3e-3)) fail_msg("%s: %g and %g m", e->method, slides, holds);
        // What g (sin − μ cos) makes of 16 steps, less the fall through the gap.
        double exact = 9.81 * (sin(atan(0.5)) - 0.49 * cos(atan(0.5))) * 0.4 * 0.425 / 2;
        assert_near(slides - holds, exact, 0.15 * exact);
    }
}

// The step in which it comes to touch ends at the iteration limit: without friction in that step it
// would go 0.11 m/s from then on, 44 mm in 16 steps.
static void test_slope_of_stopped_steps(void **state)
{
    (void)state;
    static const entry stopped[] = {
        {"admm", "corotated", 0}, {"lbfgs", "neo_hookean", 0}, {"nonlinear_cg", "neo_hookean", 0}};
    static const int iterations[] = {10, 400, 500};
    for (int k = 0; k < 3; k++) {
        double way = slide(&stopped[k], 0.5, iterations[k]);
        if (!(fabs(way) < 1e-2)) fail_msg("%s: %g m", stopped[k].method, way);
    }
}

static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 7};
    static const entry one_pass = {"split", "corotated", 0};
    for (int k = 0; k <= ENTRIES; k++) {
        double *first = NULL;
        for (int t = 0; t < 3; t++) {
            pile p = with(k < ENTRIES ? &g_entries[k] : &one_pass, g_usual);
            p.threads = threads[t];
            p.friction = 0.3;
            hk_world *world = make_world(&p);
            size_t bytes = sizeof(double) * (size_t)number_count(world);
            for (int s = 0; s < 4; s++) OK(hk_world_step(world, NULL));
            if (!first) {
                first = malloc(bytes);
                memcpy(first, hk_world_positions(world), bytes);
            }
            assert_memory_equal(first, hk_world_positions(world), bytes);
            hk_world_free(world);
        }
        free(first);
    }
}

// One pass of split: three cubes fall on each other from some height, and lie; and a plate presses
// them down.
static void test_one_pass(void **state)
{
    (void)state;
    static const entry one_pass = {"split", "corotated", 0};
    for (int k = 0; k < 2; k++) {
        pile p = with(&one_pass, g_usual);
        p.cubes = k ? 2 : 3;
        p.gap = k ? 2e-3 : 0.03;
        p.young = 1e6;
        p.friction = 0.5;
        if (k) p.press = 0.1;
        hk_world *world = make_world(&p);
        march(world, k ? 20 : 60, true, true);
        double top = 0, low = 1;
        for (int v = 1; v < number_count(world); v += 3) {
            top = fmax(top, hk_world_positions(world)[v]);
            low = fmin(low, hk_world_positions(world)[v]);
        }
        assert_true(low > 0 && low < 1e-3);
        if (k == 0) assert_near(top, 0.6, 0.01);
        hk_world_free(world);
    }
}

// Without friction and held by nothing but the floor.
static void test_poses(void **state)
{
    (void)state;
    for (int k = 0; k < ENTRIES; k++) {
        pile p = with(&g_entries[k], g_usual), exact = p;
        p.cubes = exact.cubes = 1;
        p.gap = exact.gap = 5e-4;
        exact.method = "newton";
        exact.passes = 0;
        hk_world *world = make_world(&p), *newton = make_world(&exact);
        hk_step_report report;
        OK(hk_world_pose(newton, &report));
        assert_int_equal(report.reason, HK_CONVERGED);
        OK(hk_world_pose(world, &report));
        if (report.reason != HK_CONVERGED) fail_msg("%s: %s", p.method, report.detail);
        certify(world);
        for (int v = 1; v < number_count(world); v += 3)
            assert_near(hk_world_positions(world)[v], hk_world_positions(newton)[v], 2e-6);
        hk_world_free(world);
        hk_world_free(newton);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newton),  cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_slope),   cmocka_unit_test(test_slope_of_stopped_steps),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_poses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
