// Method `descent` and its step length: more iterations than a time step needs do no harm, neither
// to the step itself nor to those that follow.
#include "bodies.h"
#include "gpu/control.h"

#define STEP    0.02
#define GRAVITY (-9.81)

static hk_model *beam(double fibre_stiffness)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.material = material_of("neo_hookean", 1e5, 0.35);
    body.material.fibre_stiffness = fibre_stiffness;
    body.material.fibre_direction[0] = 1;
    body.material.fibre_direction[1] = 0.5;
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.3, 0.3, 8, 3, 3), GRAVITY);
}

static hk_world *beam_world(double fibre_stiffness, double viscous, const char *method,
                            int iterations)
{
    hk_model *model = beam(fibre_stiffness);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = STEP;
    def.damping.viscous = viscous;
    def.solver.method = method;
    def.solver.iterations = iterations;
    def.solver.tolerance = 1e-7;  // less than single precision comes to: rounding ends the steps
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void move_on(hk_world *world)
{
    for (int k = 0; k < 8; k++) CHECK_OK(hk_world_step(world, NULL));
}

// Where iterations are left after ε has come down to rounding, α shrinks; if the limit comes before
// it is too short to go on with, the next step must not begin with what it was then.
static void check_budgets(double fibre_stiffness, double viscous)
{
    static const int budgets[] = {100, 200, 400, 800, 1600, 3000};
    hk_world *newton = beam_world(fibre_stiffness, viscous, "newton", 50);
    move_on(newton);
    for (int k = 0; k < (int)(sizeof budgets / sizeof budgets[0]); k++) {
        hk_world *world = beam_world(fibre_stiffness, viscous, "descent", budgets[k]);
        move_on(world);
        double away = relative_distance(world, newton);
        if (!(away < 5e-6))
            fail_msg("fibres %g, viscous %g, %d iterations: %g from Newton's motion",
                     fibre_stiffness, viscous, budgets[k], away);
        hk_world_free(world);
    }
    hk_world_free(newton);
}

static void test_budgets_with_fibres(void **state)
{
    (void)state;
    check_budgets(3e5, 0);
}

static void test_budgets_with_viscosity(void **state)
{
    (void)state;
    check_budgets(0, 0.02);
}

// ε of the first step from rest.
static double first_energy(int iterations)
{
    hk_world *world = beam_world(3e5, 0, "descent", iterations);
    const hk_model *m = hk_world_model(world);
    hk_step_report report;
    CHECK_OK(hk_world_step(world, &report));
    const double *x = hk_world_positions(world), *rest = hk_model_rest_positions(m);
    const double *mass = hk_model_masses(m);
    double sum = report.energy.elastic;
    for (int k = 0; k < 3 * hk_model_vertex_count(m); k++) {
        double moved = x[k] - rest[k] - (k % 3 == 1 ? STEP * STEP * GRAVITY : 0);
        sum += mass[k / 3] / (2 * STEP * STEP) * moved * moved;
    }
    hk_world_free(world);
    return sum;
}

// The walk of a smaller budget is the beginning of that of a larger one: what it ends with is what
// a check of the longer walk had kept. Budgets that end between two checks, too.
static void test_no_check_is_lost(void **state)
{
    (void)state;
    double kept = first_energy(8);
    for (int check = 16; check < 1300; check += check < 320 ? 8 : 72) {
        double between = first_energy(check - 3), energy = first_energy(check);
        double rounding = 1e-11 * fabs(kept);
        if (!(between <= kept + rounding && energy <= kept + rounding))
            fail_msg("%d iterations: energies %.15g, three less %.15g, before %.15g", check, energy,
                     between, kept);
        kept = energy;
    }
}

// ---------------------------------------------------------------- the decisions on the device

static const hk_gpu_settings g_settings = {.rules = {.check = 8,
                                                     .acceleration = HK_ACCELERATION_NONE,
                                                     .shrink = 0.7,
                                                     .shortest = 1e-5,
                                                     .tolerance = 1e-7,
                                                     .longest = 0.8},
                                           .rounding = 1,
                                           .noise = 1};

static void check_at(hk_gpu_control *c, double energy, double residual)
{
    double sums[HK_SUM_WIDTH] = {
        [HK_SUM_QUADRATIC] = energy, [HK_SUM_RESIDUAL] = residual * residual};
    control_check(&g_settings, c, sums, energy, c->energy);
}

static void begin_at(hk_gpu_control *c, double energy, double residual)
{
    double sums[HK_SUM_WIDTH] = {[HK_SUM_QUADRATIC] = energy,
                                 [HK_SUM_RESIDUAL] = residual * residual,
                                 [HK_SUM_INERTIA_FORCE] = 1e10};
    control_begin(&g_settings, c, 0);
    control_start(&g_settings, c, sums);
}

// A step that makes headway with the longest α, then checks that only rounding decides.
static void test_control_forgets_rounding(void **state)
{
    (void)state;
    hk_gpu_control c = {0};
    begin_at(&c, 1e6, 1e5);
    check_at(&c, 1e3, 1e3);
    check_at(&c, 0, 20);
    assert_true(c.descent.length == g_settings.rules.longest);
    for (int k = 0; k < 20; k++) check_at(&c, 0, 50);
    check_at(&c, 0, 20);
    assert_int_equal(c.state, HK_GPU_GOING);
    assert_true(c.descent.length < 1e-2 * g_settings.rules.longest);
    c.descent.patience = 64;
    begin_at(&c, 1e6, 1e5);  // the iterations were spent
    assert_true(c.descent.length == g_settings.rules.longest);
    assert_int_equal(c.descent.patience, 2);

    begin_at(&c, 0, 20);  // and from a start where nothing is left to be done
    while (c.state == HK_GPU_GOING) check_at(&c, 0, 50);
    assert_int_equal(c.state, HK_GPU_LIMITED);
    begin_at(&c, 1e6, 1e5);
    assert_true(c.descent.length == g_settings.rules.longest);
}

// Far above rounding, an α that had to become shorter goes on to the next step.
static void test_control_carries_length(void **state)
{
    (void)state;
    hk_gpu_control c = {0};
    begin_at(&c, 1e6, 1e5);
    for (int k = 0; k < 6; k++) check_at(&c, 2e6, 2e5);
    check_at(&c, 9e5, 9e4);
    double carried = c.descent.length;
    assert_true(carried < 0.2 * g_settings.rules.longest);
    c.descent.patience = 16;
    begin_at(&c, 1e6, 1e5);
    assert_true(fabs(c.descent.length - carried / g_settings.rules.shrink) < 1e-12);
    assert_int_equal(c.descent.patience, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budgets_with_fibres),
        cmocka_unit_test(test_budgets_with_viscosity),
        cmocka_unit_test(test_no_check_is_lost),
        cmocka_unit_test(test_control_forgets_rounding),
        cmocka_unit_test(test_control_carries_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
