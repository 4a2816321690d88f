// Every method with every material comes to Newton's answer: a box stretched, twisted and sagging,
// and ten time steps of a swinging beam with h = 1/30 s. The table printed says what was covered.
#include "bodies.h"
#include "failing_alloc.h"
#include "material/material.h"
#include "solver/method.h"
#include "sheets.h"
#include "world/world.h"

typedef struct variant {  // a method with options
    const char *label, *method;
    hk_option options[4];
    int option_count;
    double energy;    // largest relative error in energy, and
    double position;  // of positions, relative to the body's size
} variant;

// What the documentation promises (docs/methods.md).
#define IN_DOUBLE 1e-6, 1e-4
#define IN_SINGLE 5e-6, 1e-4

#define DOUBLE                   \
    {                            \
        "precision", 0, "double" \
    }
#define SINGLE                   \
    {                            \
        "precision", 0, "single" \
    }
#define REFINED               \
    {                         \
        "refinement", 0, "on" \
    }
static const variant CHOSEN[] = {
    {"descent", "descent", {DOUBLE}, 1, IN_DOUBLE},
    {"descent, nesterov", "descent", {DOUBLE, {"acceleration", 0, "nesterov"}}, 2, IN_DOUBLE},
    {"descent, none", "descent", {DOUBLE, {"acceleration", 0, "none"}}, 2, IN_DOUBLE},
    {"descent, single", "descent", {{0}}, 0, IN_SINGLE},
    {"vbd", "vbd", {DOUBLE}, 1, IN_DOUBLE},
    {"vbd, chebyshev", "vbd", {DOUBLE, {"acceleration", 0, "chebyshev"}}, 2, IN_DOUBLE},
    {"vbd, none", "vbd", {DOUBLE, {"acceleration", 0, "none"}}, 2, IN_DOUBLE},
    {"vbd, careful", "vbd", {DOUBLE, {"steps", 0, "careful"}}, 2, IN_DOUBLE},
    {"vbd, single", "vbd", {{0}}, 0, IN_SINGLE},
    {"projective", "projective", {DOUBLE}, 1, IN_DOUBLE},
    {"projective, single", "projective", {{0}}, 0, 5e-6, 2e-4},
    {"admm", "admm", {DOUBLE}, 1, IN_DOUBLE},
    {"admm, single", "admm", {{0}}, 0, IN_SINGLE},
    {"projective, refined", "projective", {DOUBLE, REFINED}, 2, IN_DOUBLE},
    {"admm, refined", "admm", {DOUBLE, REFINED}, 2, IN_DOUBLE},
    {"projective, chebyshev", "projective", {DOUBLE, {"global", 0, "chebyshev"}}, 2, IN_DOUBLE},
    {"projective, gauss_seidel",
     "projective",
     {DOUBLE, {"global", 0, "gauss_seidel"}},
     2,
     IN_DOUBLE},
    {"projective, cg", "projective", {DOUBLE, {"global", 0, "cg"}}, 2, IN_DOUBLE},
    {"projective, multigrid", "projective", {DOUBLE, {"global", 0, "multigrid"}}, 2, IN_DOUBLE},
    {"split", "split", {{0}}, 0, IN_SINGLE},
    {"split, refined", "split", {REFINED}, 1, IN_SINGLE},
    {"nonlinear_cg+jacobi, single", "nonlinear_cg", {SINGLE}, 1, IN_SINGLE},
    {"lbfgs+jacobi, single", "lbfgs", {SINGLE}, 1, IN_SINGLE},
    {"quasi_newton, single", "quasi_newton", {SINGLE}, 1, IN_SINGLE},
    {"gradient_descent", "gradient_descent", {{0}}, 0, IN_DOUBLE},
    {"newton, multigrid", "newton", {{"linear", 0, "multigrid"}}, 1, IN_DOUBLE},
    {"newton, multigrid, projected",
     "newton",
     {{"linear", 0, "multigrid"}, {"projection", 0, "always"}},
     2,
     IN_DOUBLE},
    {"nonlinear_cg", "nonlinear_cg", {{"preconditioner", 0, "none"}}, 1, IN_DOUBLE},
    {"nonlinear_cg+jacobi", "nonlinear_cg", {{0}}, 0, IN_DOUBLE},
    {"lbfgs", "lbfgs", {{"preconditioner", 0, "none"}}, 1, IN_DOUBLE},
    {"lbfgs+jacobi", "lbfgs", {{0}}, 0, IN_DOUBLE},
    {"quasi_newton", "quasi_newton", {{0}}, 0, IN_DOUBLE},
    {"quasi_newton, multigrid", "quasi_newton", {{"global", 0, "multigrid"}}, 1, IN_DOUBLE},
    {"quasi_newton, refined", "quasi_newton", {REFINED}, 1, IN_DOUBLE},
    {"quasi_newton, rest", "quasi_newton", {{"initial", 0, "rest_hessian"}}, 1, IN_DOUBLE},
    {"quasi_newton, updating", "quasi_newton", {{"initial", 0, "updating_hessian"}}, 1, IN_DOUBLE},
    {"quasi_newton, identity", "quasi_newton", {{"initial", 0, "scaled_identity"}}, 1, IN_DOUBLE},
    {"quasi_newton, no memory", "quasi_newton", {{"window", 0, NULL}}, 1, IN_DOUBLE},
};
enum { CHOSEN_COUNT = sizeof CHOSEN / sizeof CHOSEN[0], MOST_VARIANTS = CHOSEN_COUNT + 32 };

// Those above, and all other methods that minimise as they are.
static variant VARIANTS[MOST_VARIANTS];
static int variant_count;

static void collect_variants(void)
{
    memcpy(VARIANTS, CHOSEN, sizeof CHOSEN);
    variant_count = CHOSEN_COUNT;
    for (int m = 0; m < hk_method_count() && variant_count < MOST_VARIANTS; m++) {
        const char *name = hk_method_name(m);
        const hk_method *method;
        CHECK_OK(hk_method_find(name, &method));
        bool chosen = method == &hk_newton || !method->minimise;
        for (int v = 0; v < CHOSEN_COUNT && !chosen; v++)
            chosen = strcmp(CHOSEN[v].method, name) == 0;
        if (!chosen) VARIANTS[variant_count++] = (variant){name, name, {{0}}, 0, IN_SINGLE};
    }
}

enum { STRETCHED, TWISTED, SAGGING, SWINGING, TASKS };
static const char *const TASK_NAMES[TASKS] = {"stretched", "twisted", "sagging", "swinging"};

// A box of 2 × 1 × 1 (or a beam) whose right end is moved, or that hangs under its weight.
static hk_model *task_model(int task, const char *material)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, task == SAGGING || task == SWINGING ? 4e5 : 1e5, 0.35);
    hk_selector left = select_box(0, -1, -1, 0, 2, 2);
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = select_box(2, -1, -1, 2, 2, 2),
                        .motion = {.axis = {1, 0, 0},
                                   .center = {2, 0.5, 0.5},
                                   .degrees = task == TWISTED ? 45 : 0,
                                   .translate = {task == STRETCHED ? 0.6 : 0, 0, 0}}};
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = task == STRETCHED || task == TWISTED;
    return model_of(&body, box_mesh(2, 1, 1, 4, 2, 2),
                    task == SAGGING || task == SWINGING ? -9.81 : 0);
}

typedef struct answer {
    double energy, size;
    int iterations;
    double *x;  // [count]
    int count;
} answer;

// Projective dynamics can do materials that are distances from a set, split corotated ones; all
// others can do all.
static bool supports(const variant *v, hk_law law)
{
    if (strcmp(v->method, "split") == 0)
        return law == HK_LAW_arap || law == HK_LAW_corotated || law == HK_LAW_fixed_corotated;
    return strcmp(v->method, "projective") != 0 || hk_law_describe(law)->projective;
}

static hk_world_def world_def(const hk_model *model, const variant *v)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.threads = 1;
    if (v) {
        def.solver.method = v->method;
        def.solver.options = v->options;
        def.solver.option_count = v->option_count;
        def.solver.iterations = 30000;
        def.solver.tolerance = 1e-6;
    }
    return def;
}

static void check_refused(const char *material, const variant *v)
{
    hk_model *model = task_model(SAGGING, material);
    hk_world_def def = world_def(model, v);
    hk_world *world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_null(world);
    assert_non_null(strstr(hk_error(), material));
    assert_non_null(strstr(hk_error(), "quasi_newton"));
    hk_model_free(model);
}

static answer solve(int task, const char *material, const variant *v)
{
    hk_model *model = task_model(task, material);
    hk_world_def def = world_def(model, v);
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    answer a = {.size = 2};
    for (int k = 0; k < (task == SWINGING ? 10 : 1); k++) {
        hk_step_report r;
        CHECK_OK(task == SWINGING ? hk_world_step(world, &r) : hk_world_pose(world, &r));
        // In single precision rounding may end a solve before the residual is what was asked for;
        // where it ends is checked all the same.
        bool ended = r.reason == HK_STALLED && v && v->energy > 1e-6;
        if (r.reason != HK_CONVERGED && !ended)
            fail_msg("%s, %s, %s: %s, %s", v ? v->label : "newton", material, TASK_NAMES[task],
                     hk_reason_name(r.reason), r.detail);
        a.iterations += r.iterations;
        a.energy = r.energy.elastic + r.energy.gravity;
    }
    a.count = 3 * hk_model_vertex_count(hk_world_model(world));
    a.x = malloc((size_t)a.count * sizeof *a.x);
    memcpy(a.x, hk_world_positions(world), (size_t)a.count * sizeof *a.x);
    hk_world_free(world);
    return a;
}

static double farthest(const answer *a, const answer *b)
{
    double most = 0;
    for (int k = 0; k < a->count; k++) most = fmax(most, fabs(a->x[k] - b->x[k]));
    return most;
}

static void test_methods_agree_with_newton(void **state)
{
    (void)state;
    int iterations[MOST_VARIANTS][TASKS] = {0}, materials[MOST_VARIANTS] = {0};
    double worst[MOST_VARIANTS][2] = {0};
    for (int m = 0; m < solid_count(); m++)
        for (int task = 0; task < TASKS; task++) {
            if (SANITIZED && m % 8 != 3) continue;  // stvk and projective
            const char *material = hk_material_name(m);
            answer truth = solve(task, material, NULL);
            for (int v = 0; v < variant_count; v++) {
                if (!supports(&VARIANTS[v], (hk_law)m)) {
                    check_refused(material, &VARIANTS[v]);
                    continue;
                }
                materials[v] += task == 0;
                answer a = solve(task, material, &VARIANTS[v]);
                double energy = fabs(a.energy - truth.energy) / fabs(truth.energy);
                double distance = farthest(&a, &truth) / truth.size;
                worst[v][0] = fmax(worst[v][0], energy);
                worst[v][1] = fmax(worst[v][1], distance);
                if (!(energy <= VARIANTS[v].energy && distance <= VARIANTS[v].position))
                    fail_msg("%s, %s, %s: energy off by %.1e, positions by %.1e", VARIANTS[v].label,
                             material, TASK_NAMES[task], energy, distance);
                iterations[v][task] += a.iterations;
                free(a.x);
            }
            free(truth.x);
        }
    printf("mean iterations                materials stretched   twisted   sagging ten steps; "
           "energy and positions off by at most\n");
    for (int v = 0; v < variant_count; v++) {
        printf("%-30s %9d", VARIANTS[v].label, materials[v]);
        for (int task = 0; task < TASKS; task++)
            printf(" %9.0f", iterations[v][task] / (double)materials[v]);
        printf("   %.1e %.1e\n", worst[v][0], worst[v][1]);
    }
}

// A bar with a bit of everything, large enough that threads are used: a clamp that moves, a soft
// pull, viscosity, and a sheet beside it.
static hk_world *deep_bar(const variant *v, int threads)
{
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1), end = select_box(1, -1, -1, 1, 1, 1);
    hk_selector top = select_box(-1, -1, 0, 2, 9, 0);
    hk_move_def move = {.def_size = sizeof move,
                        .select = end,
                        .motion = {.axis = {1, 0, 0}, .degrees = 30, .over = 0.1}};
    hk_attach_def pull = {.def_size = sizeof pull,
                          .select = select_box(0.4, 0.3, -1, 0.6, 0.3, 1),
                          .stiffness = 50,
                          .motion = {.axis = {1}, .translate = {0, 0.1, 0}, .over = 0.1}};
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    bodies[0].mesh = box_mesh(1, 0.3, 0.3, 20, 7, 7);
    bodies[0].material = material_of("arap", 1e6, 0.4);
    bodies[0].fixes = &wall;
    bodies[0].fix_count = 1;
    bodies[0].moves = &move;
    bodies[0].move_count = 1;
    bodies[0].attachments = &pull;
    bodies[0].attachment_count = 1;
    bodies[1].name = "sheet";
    bodies[1].mesh = sheet_mesh(1, 1, 10, 10);
    bodies[1].material = cloth_of(60, 1e-3, 0.5);
    bodies[1].fixes = &top;
    bodies[1].fix_count = 1;
    hk_model_def made = hk_default_model_def();
    made.bodies = bodies;
    made.body_count = 2;
    made.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&made, &model));
    for (int b = 0; b < 2; b++) hk_mesh_free((hk_mesh *)(uintptr_t)bodies[b].mesh);
    hk_world_def def = world_def(model, v);
    def.step = 0.01;
    def.threads = threads;
    def.solver.iterations = strcmp(v->method, "newton") == 0 ? 3 : 12;
    if (strcmp(v->method, "xpbd") != 0) def.damping.viscous = 0.01;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    assert_int_equal(world->problem->threads, threads);
    return world;
}

static void check_threads(const variant *v)
{
    double *first = NULL;
    for (int threads = 1; threads <= 4; threads += threads) {
        hk_world *world = deep_bar(v, threads);
        hk_step_report r;
        for (int k = 0; k < 2; k++) CHECK_OK(hk_world_step(world, &r));
        size_t size = 3 * (size_t)hk_model_vertex_count(hk_world_model(world));
        if (!first) {
            first = malloc(2 * size * sizeof *first);
            memcpy(first, hk_world_positions(world), size * sizeof *first);
            memcpy(first + size, hk_world_velocities(world), size * sizeof *first);
        }
        if (memcmp(first, hk_world_positions(world), size * sizeof *first) != 0 ||
            memcmp(first + size, hk_world_velocities(world), size * sizeof *first) != 0)
            fail_msg("%s: %d threads give other bits", v->label, threads);
        hk_world_free(world);
    }
    free(first);
}

// Bits do not depend on threads: every method as it is, and every variant.
static void test_methods_are_deterministic(void **state)
{
    (void)state;
    for (int m = 0; m < hk_method_count(); m++) {
        variant plain = {.label = hk_method_name(m), .method = hk_method_name(m)};
        check_threads(&plain);
    }
    for (int v = 0; v < variant_count; v++)
        if (VARIANTS[v].option_count > 0) check_threads(&VARIANTS[v]);
}

// A warm step allocates nothing; a method whose set-up fails for want of memory leaks nothing and
// leaves the world with the one it had.
static void test_methods_and_memory(void **state)
{
    (void)state;
    for (int v = 0; v < variant_count; v++) {
        failing_alloc_install(0);
        hk_model *model = task_model(SWINGING, "arap");
        hk_world_def def = world_def(model, NULL);
        hk_world *world;
        CHECK_OK(hk_world_create(&def, &world));
        hk_model_free(model);
        def = world_def(NULL, &VARIANTS[v]);
        def.solver.iterations = 50;
        for (int n = 1;; n++) {
            failing_alloc_next(n);
            hk_status status = hk_world_set_solver(world, &def.solver);
            failing_alloc_next(0);
            if (status == HK_OK) break;
            assert_int_equal(status, HK_NO_MEMORY);
            assert_string_equal(hk_world_method(world), "newton");
        }
        hk_step_report report;
        for (int k = 0; k < 2; k++) CHECK_OK(hk_world_step(world, &report));
        // One of these may be the first that goes on in double precision.
        int allocating = 0;
        for (int k = 0; k < 10; k++) {
            int before = failing_alloc_count();
            CHECK_OK(hk_world_step(world, &report));
            allocating += failing_alloc_count() != before;
        }
        if (allocating > 1) fail_msg("%s: %d warm steps allocate", VARIANTS[v].label, allocating);
        hk_world_free(world);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_agree_with_newton),
        cmocka_unit_test(test_methods_are_deterministic),
        cmocka_unit_test(test_methods_and_memory),
    };
    collect_variants();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
