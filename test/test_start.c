// Where a time step starts from (Descent section 4.4), and what the monitor is told about it.
#include "bodies.h"

typedef struct seen {
    double start, end;  // ε of iteration 0 and of the last
    int iterations;
} seen;

static bool note(void *context, const hk_iteration *it)
{
    seen *s = context;
    if (it->iteration == 0) s->start = it->energy;
    s->end = it->energy;
    s->iterations = it->iteration;
    return true;
}

static hk_world *starting(const hk_model *model, const char *start, double eta)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.threads = 1;
    const hk_option options[] = {{"start", 0, start}, {"eta", eta, NULL}};
    def.solver.options = options;
    def.solver.option_count = 2;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

static hk_world *falling(const char *start, double eta, bool held)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e5, 0.3);
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = held;
    body.velocity[0] = held ? 0 : 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.3, 0.3, 4, 2, 2), -9.81);
    hk_world *world = starting(model, start, eta);
    hk_model_free(model);
    return world;
}

static seen step(hk_world *world)
{
    seen s = {0};
    hk_step_report r;
    hk_world_set_monitor(world, note, &s);
    hk_world_watch_energy(world, true);
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    return s;
}

// A spring so weak that nobody feels it: the body counts as tied, and is not put where a free one
// is best.
static void tie(hk_world *world)
{
    hk_grab_def grab = hk_default_grab_def();
    grab.stiffness = 1e-12;
    int number;
    CHECK_OK(hk_world_grab(world, &grab, &number));
}

// A body in free fall has a constant acceleration: from the second step on the guess with η = 1 is
// the solution, the others are not.
static void test_free_fall(void **state)
{
    (void)state;
    const char *const starts[] = {"position", "velocity", "acceleration"};
    double last[3];
    for (int k = 0; k < 3; k++) {
        hk_world *world = falling(starts[k], 1, false);
        tie(world);
        step(world);
        seen s = step(world);
        assert_true(k == 2 ? s.iterations == 0 : s.iterations > 0);
        last[k] = s.start;
        hk_world_free(world);
    }
    assert_true(last[2] < last[1] && last[1] < last[0]);
}

// Where nothing ties it every start is the solution, for it is moved there as a rigid body.
static void test_aligned(void **state)
{
    (void)state;
    const char *const starts[] = {"auto",         "position",  "velocity",
                                  "acceleration", "optimised", "adaptive"};
    for (int k = 0; k < 6; k++) {
        hk_world *world = falling(starts[k], 0.5, false);
        for (int n = 0; n < 3; n++) assert_int_equal(step(world).iterations, 0);
        hk_world_free(world);
    }
}

// The adaptive start takes as much of gravity as the last step had: all of it in free fall, where
// it is the solution, and nothing in the first step.
static void test_adaptive(void **state)
{
    (void)state;
    hk_world *world = falling("adaptive", 0, false), *going = falling("velocity", 0, false);
    tie(world);
    tie(going);
    seen a = step(world), b = step(going);
    assert_true(a.start == b.start && a.iterations > 0);
    for (int k = 0; k < 3; k++) {
        seen s = step(world);
        assert_int_equal(s.iterations, 0);
        assert_true(s.start < step(going).start);
    }
    hk_world_free(world);
    hk_world_free(going);
}

// η keeps a share of the acceleration: with 0 it is the start "velocity", to the last bit.
static void test_eta(void **state)
{
    (void)state;
    hk_world *a = falling("acceleration", 0, true), *b = falling("velocity", 0, true);
    for (int k = 0; k < 4; k++) {
        seen x = step(a), y = step(b);
        assert_true(x.start == y.start && x.iterations == y.iterations);
    }
    hk_world_free(a);
    hk_world_free(b);
}

// The optimised step is the best along the velocity: no worse than position and velocity.
static void test_optimised(void **state)
{
    (void)state;
    hk_world *best = falling("optimised", 0, true);
    hk_world *still = starting(hk_world_model(best), "position", 0);
    hk_world *going = starting(hk_world_model(best), "velocity", 0);
    step(best);
    for (int k = 0; k < 6; k++) {
        CHECK_OK(hk_world_copy_state(still, best));
        CHECK_OK(hk_world_copy_state(going, best));
        double a = step(still).start, b = step(going).start, c = step(best).start;
        assert_true(c <= fmin(a, b) + 1e-3 * fabs(a - b));
    }
    hk_world_free(best);
    hk_world_free(still);
    hk_world_free(going);
}

// All starts lead to the same motion.
static void test_same_answer(void **state)
{
    (void)state;
    const char *const starts[] = {"auto",         "position",  "velocity",
                                  "acceleration", "optimised", "adaptive"};
    double first[3] = {0};
    for (int k = 0; k < 6; k++) {
        hk_world *world = falling(starts[k], 0.9, true);
        for (int n = 0; n < 10; n++) step(world);
        const double *x =
            hk_world_positions(world) + 3 * (hk_model_vertex_count(hk_world_model(world)) - 1);
        for (int i = 0; i < 3; i++) {
            if (k == 0) first[i] = x[i];
            assert_true(fabs(x[i] - first[i]) < 1e-6);
        }
        hk_world_free(world);
    }
}

// A world goes on as the one it was copied from, and changes its method on the way.
static void test_copy_and_change(void **state)
{
    (void)state;
    hk_world *a = falling("acceleration", 0.9, true), *b = NULL;
    for (int k = 0; k < 3; k++) step(a);
    hk_world_def def = hk_default_world_def();
    def.model = hk_world_model(a);
    def.step = 1.0 / 30;
    def.threads = 1;
    def.solver.method = "descent";
    CHECK_OK(hk_world_create(&def, &b));
    CHECK_OK(hk_world_copy_state(b, a));
    assert_true(hk_world_time(b) == hk_world_time(a));
    hk_solver_def wrong = hk_default_solver_def();
    wrong.method = "newtron";
    assert_int_equal(hk_world_set_solver(b, &wrong), HK_BAD_INPUT);
    assert_string_equal(hk_world_method(b), "descent");
    hk_solver_def same = hk_default_solver_def();
    const hk_option options[] = {{"start", 0, "acceleration"}, {"eta", 0.9, NULL}};
    same.options = options;
    same.option_count = 2;
    CHECK_OK(hk_world_set_solver(b, &same));
    assert_string_equal(hk_world_method(b), "newton");
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(a));
    for (int k = 0; k < 3; k++) {
        step(a);
        step(b);
        assert_memory_equal(hk_world_positions(a), hk_world_positions(b), bytes);
    }
    hk_world *other = falling("auto", 0, true);
    assert_int_equal(hk_world_copy_state(other, a), HK_BAD_INPUT);
    hk_world_free(other);
    hk_world_free(a);
    hk_world_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_fall),       cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_adaptive),        cmocka_unit_test(test_eta),
        cmocka_unit_test(test_optimised),       cmocka_unit_test(test_same_answer),
        cmocka_unit_test(test_copy_and_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
