// Shells in worlds: every method comes to Newton's answer, with every law in the plane; bits for
// any number of threads; contact.
#include "failing_alloc.h"
#include "sheets.h"
#include "solver/method.h"
#include "world/world.h"

typedef struct variant {
    const char *label, *method;
    hk_option options[2];
    int option_count;
    double energy, position;
} variant;

#define DOUBLE                   \
    {                            \
        "precision", 0, "double" \
    }
static const variant VARIANTS[] = {
    {"descent", "descent", {DOUBLE}, 1, 1e-6, 1e-4},
    {"descent, single", "descent", {{0}}, 0, 1e-5, 2e-4},
    {"vbd", "vbd", {DOUBLE}, 1, 1e-6, 1e-4},
    {"vbd, single", "vbd", {{0}}, 0, 1e-5, 2e-4},
    {"projective", "projective", {DOUBLE}, 1, 1e-6, 1e-4},
    {"projective, single", "projective", {{0}}, 0, 1e-5, 2e-4},
    {"admm", "admm", {DOUBLE}, 1, 1e-5, 2e-4},
    {"newton, multigrid", "newton", {{"linear", 0, "multigrid"}}, 1, 1e-6, 1e-4},
    {"newton, projected", "newton", {{"projection", 0, "always"}}, 1, 1e-6, 1e-4},
    {"nonlinear_cg", "nonlinear_cg", {{0}}, 0, 1e-6, 1e-4},
    {"lbfgs", "lbfgs", {{0}}, 0, 1e-6, 1e-4},
    {"gradient_descent", "gradient_descent", {{0}}, 0, 1e-6, 1e-4},
    {"quasi_newton", "quasi_newton", {{0}}, 0, 1e-6, 1e-4},
    {"quasi_newton, single", "quasi_newton", {{"precision", 0, "single"}}, 1, 1e-5, 2e-4},
    {"quasi_newton, rest", "quasi_newton", {{"initial", 0, "rest_hessian"}}, 1, 1e-6, 1e-4},
    {"quasi_newton, updating", "quasi_newton", {{"initial", 0, "updating_hessian"}}, 1, 1e-6, 1e-4},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof VARIANTS[0] };

static hk_material_def shell_of(const char *membrane, const char *form)
{
    hk_material_def def = hk_default_material_def();
    def.model = "shell";
    def.membrane = membrane;
    def.bending_form = form;
    def.young = 1e5;
    def.poisson = 0.3;
    def.thickness = 5e-3;
    def.density = 60;
    if (strcmp(membrane, "orthotropic") == 0) {
        def.parameters[def.parameter_count++] = (hk_parameter){"warp", 500};
        def.parameters[def.parameter_count++] = (hk_parameter){"weft", 300};
        def.parameters[def.parameter_count++] = (hk_parameter){"shear", 100};
    }
    def.parameters[def.parameter_count++] = (hk_parameter){"bending", 5e-3};
    return def;
}

// A sheet that hangs from two corners, which come closer.
static hk_model *hanging(const char *membrane, const char *form, int cells)
{
    int32_t held[1] = {0}, moved[1] = {cells};
    hk_selector fix = {.kind = HK_SELECT_VERTICES, .vertices = held, .vertex_count = 1};
    hk_move_def move = hk_default_move_def();
    move.select = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = moved, .vertex_count = 1};
    move.motion.translate[0] = -0.1;
    move.motion.over = 0.1;
    hk_body_def body = hk_default_body_def();
    body.material = shell_of(membrane, form);
    body.fixes = &fix;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = 1;
    return model_of(&body, sheet_mesh(1, 1, cells, cells), -9.81);
}

static hk_world *world_by(hk_model *model, const variant *v, int threads)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.threads = threads;
    if (v) {
        def.solver.method = v->method;
        def.solver.options = v->options;
        def.solver.option_count = v->option_count;
        def.solver.iterations = 100000;
        def.solver.tolerance = v->energy > 1e-6 ? 1e-5 : 1e-6;
    }
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static hk_world *run(const variant *v, const char *membrane, const char *form, int steps,
                     int *iterations, double *energy)
{
    hk_world *world = world_by(hanging(membrane, form, 5), v, 1);
    *iterations = 0;
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        bool ended = r.reason == HK_STALLED && v && v->energy > 1e-6;
        if (r.reason != HK_CONVERGED && !ended)
            fail_msg("%s, %s, %s: step %d: %s, %s", v ? v->label : "newton", membrane, form, k,
                     hk_reason_name(r.reason), r.detail);
        *iterations += r.iterations;
        *energy = r.energy.elastic + r.energy.gravity;
    }
    return world;
}

static bool supports(const variant *v, const char *membrane, const char *form)
{
    bool plain = strcmp(membrane, "arap") == 0 && strcmp(form, "cotangent") == 0;
    return strcmp(v->method, "projective") != 0 || plain;
}

static void check_refused(const variant *v, const char *membrane, const char *form)
{
    hk_model *model = hanging(membrane, form, 3);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.solver.method = v->method;
    hk_world *world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "quasi_newton"));
    hk_model_free(model);
}

static void check_all(const char *membrane, const char *form)
{
    // The energy that errors are relative to grows with the square of the time.
    int iterations, steps = SANITIZED ? 2 : 8;
    double energy, truth, room = SANITIZED ? 16 : 1;
    hk_world *newton = run(NULL, membrane, form, steps, &iterations, &truth);
    print_message("%s, %s: newton %d", membrane, form, iterations);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        if (!supports(&VARIANTS[v], membrane, form)) {
            check_refused(&VARIANTS[v], membrane, form);
            continue;
        }
        hk_world *world = run(&VARIANTS[v], membrane, form, steps, &iterations, &energy);
        const double *x = hk_world_positions(world), *y = hk_world_positions(newton);
        double away = 0, off = fabs(energy - truth) / fabs(truth);
        for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(world)); k++)
            away = fmax(away, fabs(x[k] - y[k]));
        print_message(", %s %d (%.0e, %.0e)", VARIANTS[v].label, iterations, off, away);
        if (!(off <= room * VARIANTS[v].energy && away <= VARIANTS[v].position))
            fail_msg("%s, %s, %s: energy off by %g, positions by %g", VARIANTS[v].label, membrane,
                     form, off, away);
        hk_world_free(world);
    }
    print_message("\n");
    hk_world_free(newton);
}

static void test_methods_agree_with_newton(void **state)
{
    (void)state;
    for (int k = 0; k < hk_membrane_count(); k++)
        if (!SANITIZED || k == 2) check_all(hk_membrane_name(k), "hinges");
    check_all("arap", "cotangent");
}

static void test_split_is_refused(void **state)
{
    (void)state;
    variant split = {.label = "split", .method = "split"};
    check_refused(&split, "arap", "hinges");
}

// XPBD with many sweeps takes the steps of backward Euler.
static void test_xpbd(void **state)
{
    (void)state;
    static const variant xpbd = {"xpbd", "xpbd", {DOUBLE, {"substeps", 1, NULL}}, 2, 1e-6, 1e-4};
    hk_world *a = world_by(hanging("corotated", "hinges", 4), &xpbd, 1);
    hk_world *b = world_by(hanging("corotated", "hinges", 4), NULL, 1);
    hk_solver_def solver = hk_default_solver_def();
    solver.method = "xpbd";
    solver.options = xpbd.options;
    solver.option_count = 2;
    solver.iterations = 3000;
    CHECK_OK(hk_world_set_solver(a, &solver));
    hk_step_report r;
    for (int k = 0; k < 4; k++) {
        CHECK_OK(hk_world_step(a, &r));
        CHECK_OK(hk_world_step(b, &r));
    }
    double away = relative_distance(a, b);
    print_message("xpbd is within %.1e of the motion\n", away);
    assert_true(away < 1e-4);
    hk_world_free(a);
    hk_world_free(b);
}

static void check_threads(const variant *v)
{
    static const int threads[] = {1, 2, 7};
    double *first = NULL;
    for (int t = 0; t < 3; t++) {
        hk_world *world = world_by(hanging("stvk", "hinges", SANITIZED ? 12 : 40), v, threads[t]);
        hk_solver_def solver = hk_default_solver_def();
        solver.method = v->method;
        solver.options = v->options;
        solver.option_count = v->option_count;
        solver.iterations = 4;
        CHECK_OK(hk_world_set_solver(world, &solver));
        hk_step_report r;
        for (int k = 0; k < 2; k++) CHECK_OK(hk_world_step(world, &r));
        size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(world));
        if (!first) {
            first = malloc(bytes);
            memcpy(first, hk_world_positions(world), bytes);
        }
        if (memcmp(first, hk_world_positions(world), bytes) != 0)
            fail_msg("%s: %d threads give other bits", v->label, threads[t]);
        hk_world_free(world);
    }
    free(first);
}

static void test_threads(void **state)
{
    (void)state;
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (strcmp(VARIANTS[v].method, "projective") != 0) check_threads(&VARIANTS[v]);
    variant newton = {.label = "newton", .method = "newton"};
    check_threads(&newton);
}

static void test_warm_steps_allocate_nothing(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "lbfgs", "quasi_newton", "descent", "vbd"};
    for (int m = 0; m < 5; m++) {
        failing_alloc_install(0);
        variant v = {.label = methods[m], .method = methods[m], .energy = 1e-5};
        hk_world *world = world_by(hanging("neo_hookean", "hinges", 6), &v, 1);
        hk_step_report r;
        int allocating = 0;
        for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(world, &r));
        for (int k = 0; k < 6; k++) {
            int before = failing_alloc_count();
            CHECK_OK(hk_world_step(world, &r));
            allocating += failing_alloc_count() != before;
        }
        if (allocating > 1) fail_msg("%s: %d warm steps allocate", methods[m], allocating);
        hk_world_free(world);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_agree_with_newton),
        cmocka_unit_test(test_split_is_refused),
        cmocka_unit_test(test_xpbd),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_warm_steps_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
