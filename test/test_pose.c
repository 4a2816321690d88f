// Equilibrium: the table material × {patch, cantilever, twist} with iterations and residuals; beam
// theory under refinement; quadratic convergence; load stepping; what is refused.
#include "bodies.h"

#include "model/model.h"
#include "solver/method.h"
#include "solver/problem.h"

enum { MATERIALS = 16 };
typedef struct cell {
    int iterations, load_steps;
    double residual, relative;
} cell;
static cell g_table[MATERIALS][3];

// ---------------------------------------------------------------- patch

// A uniform deformation given at the boundary must be found inside, from a disturbed start.
static void patch(int material, double *stretch_error)
{
    static const double A[3][3] = {{1.25, 0.2, -0.1}, {0.05, 0.85, 0.15}, {0.1, -0.1, 0.95}};
    hk_body_def body = hk_default_body_def();
    body.material = material_of(hk_material_name(material), 1e5, 0.4);
    hk_selector inside = select_box(0.01, 0.01, 0.01, 0.99, 0.99, 0.99);
    hk_selector boundary = {.kind = HK_SELECT_NOT, .children = &inside, .child_count = 1};
    body.fixes = &boundary;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 5, 5, 5), 0);
    hk_problem *problem;
    CHECK_OK(hk_problem_create(model, 1, NULL, &problem));
    hk_solver_def solver_def = hk_default_solver_def();
    hk_settings settings;
    CHECK_OK(hk_method_settings(&hk_newton, &solver_def, &settings));
    void *solver;
    CHECK_OK(hk_newton.create(problem, &settings, &solver));
    int n = problem->vertex_count;
    double *x = calloc(4 * (size_t)n, sizeof *x), *exact = calloc(4 * (size_t)n, sizeof *x);
    uint64_t seed = 11;
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) exact[4 * v + i] += A[i][j] * problem->rest[4 * v + j];
            x[4 * v + i] = exact[4 * v + i] + (problem->held[v] ? 0 : 0.03 * noise(&seed));
        }
    hk_solve_report report = {0};
    CHECK_OK(hk_newton.minimise(solver, x, &report));
    if (report.reason != HK_CONVERGED)
        fail_msg("%s: %s, %s", body.material.model, hk_reason_name(report.reason), report.detail);
    *stretch_error = 0;
    for (int k = 0; k < 4 * n; k++) *stretch_error = fmax(*stretch_error, fabs(x[k] - exact[k]));
    g_table[material][0] = (cell){report.iterations, 1, report.residual, report.relative_residual};
    free(x);
    free(exact);
    hk_newton.free(solver);
    hk_problem_free(problem);
    hk_model_free(model);
}

static void test_patch(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        double error;
        patch(m, &error);
        if (!(error <= 1e-7)) fail_msg("%s: off by %g m", hk_material_name(m), error);
    }
}

// The same through the public interface: forces on a face of a stretched, sheared or grown box are
// the closed-form stress times the area, and inner vertices feel none.
static void test_patch_forces(void **state)
{
    (void)state;
    static const double F[3][9] = {{1.3, 0, 0, 0, 1, 0, 0, 0, 1},
                                   {1, 0.4, 0, 0, 1, 0, 0, 0, 1},
                                   {1.2, 0, 0, 0, 1.2, 0, 0, 0, 1.2}};
    static const double axis[] = {0, 0, 5e4, 1e4};
    for (int m = 0; m <= solid_count(); m++) {
        // The last one is orthotropic, with a fibre on top.
        const char *name = m < solid_count() ? hk_material_name(m) : "polynomial";
        hk_body_def body = hk_default_body_def();
        body.material = material_of(name, 1e5, 0.4);
        if (m == solid_count()) {
            body.material.axes[0] = (hk_curve){axis, 4};
            body.material.axes[1] = (hk_curve){axis, 3};
            body.material.axis_directions[1][0] = 0.7;
            body.material.fibre_stiffness = 3e4;
        }
        hk_model *model = model_of(&body, box_mesh(0.5, 0.4, 0.3, 4, 3, 3), 0);
        hk_world *world = world_of(model, 0.01, 1);
        int n = hk_model_vertex_count(model);
        const double *X = hk_model_rest_positions(model);
        double *x = malloc(3 * (size_t)n * 8), *g = malloc(3 * (size_t)n * 8);
        for (int c = 0; c < 3; c++) {
            double P[9], face[3] = {0};
            CHECK_OK(hk_material_evaluate(&body.material, F[c], false, NULL, P, NULL));
            for (int v = 0; v < n; v++)
                for (int i = 0; i < 3; i++)
                    x[3 * v + i] = F[c][3 * i] * X[3 * v] + F[c][3 * i + 1] * X[3 * v + 1] +
                                   F[c][3 * i + 2] * X[3 * v + 2];
            CHECK_OK(hk_world_set_positions(world, x));
            CHECK_OK(hk_world_energy(world, NULL, g));
            for (int v = 0; v < n; v++) {
                bool right = X[3 * v] > 0.5 - 1e-9;
                bool inner = X[3 * v] > 1e-9 && !right && X[3 * v + 1] > 1e-9 &&
                             X[3 * v + 1] < 0.4 - 1e-9 && X[3 * v + 2] > 1e-9 &&
                             X[3 * v + 2] < 0.3 - 1e-9;
                for (int i = 0; i < 3; i++) {
                    if (right) face[i] += g[3 * v + i];
                    if (inner) assert_true(fabs(g[3 * v + i]) < 1e-8);
                }
            }
            for (int i = 0; i < 3; i++)
                if (!(fabs(face[i] - P[3 * i] * 0.4 * 0.3) < 1e-7))
                    fail_msg("%s: force %g, not %g", name, face[i], P[3 * i] * 0.12);
        }
        free(x);
        free(g);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- cantilever and twist

static void pose(hk_world *world, int material, int column)
{
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED)
        fail_msg("%s: %s, %s", hk_material_name(material), hk_reason_name(r.reason), r.detail);
    assert_true(r.relative_residual <= 1e-8);
    g_table[material][column] = (cell){r.iterations, r.load_steps, r.residual, r.relative_residual};
}

static hk_world *cantilever(const char *material, double young, int threads)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, young, 0.45);
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    return world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 24, 5, 5), -9.81), 0.01, threads);
}

static void test_cantilever_droops_by_a_third(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        bool arap = strcmp(hk_material_name(m), "arap") == 0;
        hk_world *world = cantilever(hk_material_name(m), arap ? 1.4e6 : 8.5e5, 2);
        pose(world, m, 1);
        const double *X = hk_model_rest_positions(hk_world_model(world));
        const double *x = hk_world_positions(world);
        double droop = 0;
        for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
            droop = fmax(droop, X[3 * v + 1] - x[3 * v + 1]);
        if (!(droop > 0.3 && droop < 0.45)) fail_msg("%s droops by %g", hk_material_name(m), droop);
        hk_world_free(world);
    }
}

static hk_world *twisted_cube(const char *material, double degrees)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 1e6, 0.4);
    hk_selector left = select_box(0, 0, 0, 0, 1, 1);
    hk_move_def turn = {.def_size = sizeof(hk_move_def),
                        .select = select_box(1, 0, 0, 1, 1, 1),
                        .motion = {.axis = {1, 0, 0}, .center = {1, 0.5, 0.5}, .degrees = degrees}};
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &turn;
    body.move_count = 1;
    return world_of(model_of(&body, box_mesh(1, 1, 1, 6, 6, 6), 0), 0.01, 2);
}

static void test_twist_by_90_degrees(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        hk_world *world = twisted_cube(hk_material_name(m), 90);
        pose(world, m, 2);
        // Nothing is inside out (StVK crumples: it does not resist that), and the middle has turned
        // half way.
        bool crumples = strcmp(hk_material_name(m), "stvk") == 0;
        const hk_model *model = hk_world_model(world);
        double *J = malloc((size_t)hk_model_tet_count(model) * 8);
        CHECK_OK(hk_world_field(world, "J", J));
        for (int t = 0; t < hk_model_tet_count(model); t++)
            if (!(J[t] > 0) && !crumples)
                fail_msg("%s: J of tet %d is %g", hk_material_name(m), t, J[t]);
        free(J);
        const double *X = hk_model_rest_positions(model), *x = hk_world_positions(world);
        double turn = 0;
        int count = 0;
        for (int v = 0; v < hk_model_vertex_count(model); v++) {
            if (fabs(X[3 * v] - 0.5) > 1e-9) continue;
            double a[2] = {X[3 * v + 1] - 0.5, X[3 * v + 2] - 0.5};
            double b[2] = {x[3 * v + 1] - 0.5, x[3 * v + 2] - 0.5};
            if (hypot(a[0], a[1]) < 0.2) continue;
            turn += atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]) * 180 / M_PI;
            count++;
        }
        if (!(fabs(turn / count - 45) < 3))
            fail_msg("%s: turned by %g", hk_material_name(m), turn / count);
        hk_world_free(world);
    }
}

static void print_table(void)
{
    printf("material             patch              cantilever            twist\n"
           "                     it  residual N     it/steps residual N   it/steps residual N\n");
    for (int m = 0; m < solid_count(); m++) {
        printf("%-20s", hk_material_name(m));
        for (int c = 0; c < 3; c++)
            printf(" %3d/%d %9.1e   ", g_table[m][c].iterations, g_table[m][c].load_steps,
                   g_table[m][c].residual);
        printf("\n");
    }
}

// ---------------------------------------------------------------- convergence

typedef struct trace {
    int count;
    double relative[128];
    bool projected[128];
} trace;

static bool record(void *context, const hk_iteration *it)
{
    trace *t = context;
    t->relative[t->count] = it->relative_residual;
    t->projected[t->count++] = it->projected;
    return t->count < 128;
}

static void test_newton_converges_quadratically(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    for (int m = 0; m < solid_count(); m++) {
        hk_world *world = cantilever(hk_material_name(m), 1.4e6, 1);
        trace t = {0};
        hk_world_set_monitor(world, record, &t);
        hk_step_report r;
        CHECK_OK(hk_world_pose(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        // The last step uses the exact Hessian, and the number of digits doubles.
        double before = t.relative[t.count - 2], after = t.relative[t.count - 1];
        assert_false(t.projected[t.count - 1]);
        if (!(before < 1e-2 && log(after) <= 1.7 * log(before)))
            fail_msg("%s: %.1e after %.1e", hk_material_name(m), after, before);
        hk_world_free(world);
    }
}

// Sag of a slender cantilever under its own weight, against Timoshenko's beam:
// w = q L⁴/8EI + q L²/2κGA with κ = 5/6; ν = 0, so that the clamped end does not stiffen it.
static double sag(int n)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 1e9, 0);
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 5 * n, n, n), -9.81), 0.01, 2);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    const double *X = hk_model_rest_positions(hk_world_model(world));
    const double *x = hk_world_positions(world);
    double sum = 0;
    int count = 0;
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
        if (X[3 * v] > 1 - 1e-9 && fabs(X[3 * v + 1] - 0.1) < 1e-9) {
            sum += X[3 * v + 1] - x[3 * v + 1];
            count++;
        }
    hk_world_free(world);
    return sum / count;
}

static void test_cantilever_converges_to_beam_theory(void **state)
{
    (void)state;
    double A = 0.04, I = 0.2 * 0.2 * 0.2 * 0.2 / 12, q = 1000 * 9.81 * A, E = 1e9;
    double theory = q / (8 * E * I) + q / (2 * 5.0 / 6 * E / 2 * A);
    double w[3] = {sag(4), sag(8), sag(16)};
    double order = log2((w[1] - w[0]) / (w[2] - w[1]));
    double limit = w[2] + (w[2] - w[1]) / (pow(2, order) - 1);
    printf("cantilever sag / beam theory: %.4f %.4f %.4f, limit %.4f, observed order %.2f\n",
           w[0] / theory, w[1] / theory, w[2] / theory, limit / theory, order);
    assert_true(order > 1.6 && order < 2.4);
    assert_true(fabs(limit / theory - 1) < 0.01);
    assert_true(fabs(w[2] / theory - 1) < 0.05);
}

// ---------------------------------------------------------------- load steps, refusals

static void test_hard_twist_takes_load_steps(void **state)
{
    (void)state;
    hk_world *world = twisted_cube("neo_hookean", 170);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
    assert_true(r.load_steps > 1);
    hk_world_free(world);
}

static void test_impossible_motion_keeps_the_state(void **state)
{
    (void)state;
    // A face pushed through the opposite one: no state of finite energy.
    hk_body_def body = hk_default_body_def();
    hk_selector left = select_box(0, 0, 0, 0, 1, 1);
    hk_move_def push = {.def_size = sizeof(hk_move_def),
                        .select = select_box(1, 0, 0, 1, 1, 1),
                        .motion = {.translate = {-1.5, 0, 0}}};
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &push;
    body.move_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), 0), 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_LOAD_STEP_LIMIT);
    assert_int_equal(hk_reason_outcome(r.reason), HK_OUTCOME_FAILED);
    assert_non_null(strstr(r.detail, "of the way"));
    double *J = malloc((size_t)hk_model_tet_count(hk_world_model(world)) * 8);
    CHECK_OK(hk_world_field(world, "J", J));
    for (int t = 0; t < hk_model_tet_count(hk_world_model(world)); t++) assert_true(J[t] > 0);
    free(J);
    hk_world_free(world);
}

static void test_unheld_body_has_no_pose(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.name = "stone";
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), -9.81), 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_NOT_HELD);
    assert_non_null(strstr(r.detail, "stone"));
    hk_world_free(world);
}

// Without gravity a free body poses: disturbed, it comes back to its rest shape.
static void test_free_body_relaxes(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 3, 3, 3), 0), 0.01, 1);
    int n = hk_model_vertex_count(hk_world_model(world));
    double *x = malloc(3 * (size_t)n * 8);
    uint64_t seed = 5;
    for (int k = 0; k < 3 * n; k++) x[k] = hk_world_positions(world)[k] + 0.03 * noise(&seed);
    CHECK_OK(hk_world_set_positions(world, x));
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(r.energy.elastic < 1e-9);
    free(x);
    hk_world_free(world);
}

// Hung at one vertex: equilibrium with free rotation.
static void test_body_hung_at_one_vertex(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e6, 0.4);
    static const int32_t corner[1] = {0};
    hk_selector hook = {.kind = HK_SELECT_VERTICES, .vertices = corner, .vertex_count = 1};
    body.fixes = &hook;
    body.fix_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(0.1, 0.3, 0.1, 2, 6, 2), -9.81), 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
    // The centre of mass hangs below the hook.
    const hk_model *model = hk_world_model(world);
    double center[3] = {0}, total = 0;
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        double m = hk_model_masses(model)[v];
        for (int i = 0; i < 3; i++) center[i] += m * hk_world_positions(world)[3 * v + i];
        total += m;
    }
    assert_true(fabs(center[0] / total) < 1e-4 && fabs(center[2] / total) < 1e-4);
    assert_true(center[1] < 0);
    hk_world_free(world);
}

// Reactions carry loads and weight; a load by area stretches a bar evenly.
static void test_reactions_balance_the_load(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stvk", 1e6, 0);
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_load_def pull = {.def_size = sizeof(hk_load_def),
                        .select = select_box(1, 0, 0, 1, 0.2, 0.2),
                        .force = {400, 0, 0},
                        .distribution = HK_BY_AREA};
    body.fixes = &wall;
    body.fix_count = 1;
    body.loads = &pull;
    body.load_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), 0), 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    // ν = 0: P = s E (s² − 1)/2 = 400 N / 0.04 m² all along.
    double s = 1;
    for (int k = 0; k < 50; k++) s -= (s * (s * s - 1) / 2 - 0.01) / ((3 * s * s - 1) / 2);
    const hk_model *model = hk_world_model(world);
    int n = hk_model_vertex_count(model);
    double *g = malloc(3 * (size_t)n * 8), reaction = 0;
    CHECK_OK(hk_world_energy(world, NULL, g));
    for (int v = 0; v < n; v++) {
        const double *X = hk_model_rest_positions(model) + 3 * v;
        assert_true(fabs(hk_world_positions(world)[3 * v] - s * X[0]) < 1e-8);
        if (X[0] < 1e-9) reaction += g[3 * v];
    }
    assert_true(fabs(reaction + 400) < 1e-5);
    free(g);
    hk_world_free(world);
}

static int finish(void **state)
{
    (void)state;
    print_table();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patch),
        cmocka_unit_test(test_patch_forces),
        cmocka_unit_test(test_cantilever_droops_by_a_third),
        cmocka_unit_test(test_twist_by_90_degrees),
        cmocka_unit_test(test_newton_converges_quadratically),
        cmocka_unit_test(test_cantilever_converges_to_beam_theory),
        cmocka_unit_test(test_hard_twist_takes_load_steps),
        cmocka_unit_test(test_impossible_motion_keeps_the_state),
        cmocka_unit_test(test_unheld_body_has_no_pose),
        cmocka_unit_test(test_free_body_relaxes),
        cmocka_unit_test(test_body_hung_at_one_vertex),
        cmocka_unit_test(test_reactions_balance_the_load),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
