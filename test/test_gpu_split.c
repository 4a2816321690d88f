// One pass of method split on the host as kernels do it (split_on_host.h): it must be the step of
// the CPU's split, to the rounding of single precision.
#include "failing_alloc.h"
#include "split_on_host.h"

// ---------------------------------------------------------------- worlds

// A bar that is held at one end, and a box that flies and turns.
static hk_model *two_bodies(const char *material, double poisson)
{
    hk_body_def body[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body[0].mesh = box_mesh(1, 0.3, 0.3, 10, 3, 3);
    body[0].material = material_of(material, 1e5, poisson);
    body[0].fixes = &wall;
    body[0].fix_count = 1;
    body[1].mesh = box_mesh(0.5, 0.4, 0.3, 4, 4, 4);
    body[1].material = material_of(material, 3e5, poisson);
    body[1].transform.translate[2] = 3;
    body[1].velocity[0] = 0.5;
    body[1].name = "second";
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 2;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    for (int k = 0; k < 2; k++) hk_mesh_free((hk_mesh *)(uintptr_t)body[k].mesh);
    return model;
}

static hk_world *host_world(hk_model *model, const char *method, int turning, double air,
                            double viscous)
{
    hk_option option = {.name = "turning", .number = turning};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.threads = 1;
    def.damping = (hk_damping){.air_per_vertex = air, .viscous = viscous};
    def.solver.method = method;
    def.solver.iterations = 1;
    def.solver.options = &option;
    def.solver.option_count = strcmp(method, "split") == 0;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

// ---------------------------------------------------------------- steps

// A vertex of the free body, and the mean of that and one of the other.
static void grab_two(hk_world *w, double stiffness)
{
    hk_grab_def def = hk_default_grab_def();
    int grab;
    def.vertices[0] = hk_model_vertex_count(hk_world_model(w)) - 1;
    def.stiffness = stiffness;
    for (int i = 0; i < 3; i++)
        def.target[i] = hk_world_positions(w)[3 * def.vertices[0] + i] + 0.03 * (i + 1);
    CHECK_OK(hk_world_grab(w, &def, &grab));
    def.count = 2;
    def.vertices[1] = hk_model_vertex_count(hk_world_model(w)) / 3;
    def.weights[0] = def.weights[1] = 0.5;
    def.stiffness = 300;
    CHECK_OK(hk_world_grab(w, &def, &grab));
}

// Steps of the CPU, each beside one of the device from the same state. Returns the largest
// difference, relative to how far the solve went; *iterations: of the solves, at most.
static double compare_steps(hk_world *world, int turning, int steps, double grab, int *iterations)
{
    double worst = 0;
    CHECK_OK(hk_world_step(world, NULL));
    if (grab > 0) grab_two(world, grab);
    device d = make_device(world, turning);
    size_t bytes = 4 * sizeof(double) * (size_t)d.count;
    double *x = malloc(bytes), *v = malloc(bytes);
    *iterations = 0;
    for (int n = 0; n < steps; n++) {
        memcpy(x, world->x, bytes);
        memcpy(v, world->v, bytes);
        CHECK_OK(hk_world_step(world, NULL));  // viscosity is that of the state before it
        take_step(&d, x, v);
        *iterations = hk_max_int(*iterations, d.cg.iterations);
        worst = fmax(worst, distance_from(&d, world->x));
    }
    free(x);
    free(v);
    free_device(&d);
    return worst;
}

static void test_steps_of_the_cpu(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "the CPU's split needs a direct solver");
#endif
    static const struct {
        const char *material;
        double poisson, air, viscous;
        int turning;
        double grab;  // N/m
    } cases[] = {{"corotated", 0.3, 0, 0, 16, 0},    {"corotated", 0.45, 0, 0, 16, 0},
                 {"corotated", 0.3, 0.5, 0, 4, 0},   {"corotated", -0.2, 0, 0, 16, 0},
                 {"corotated", 0.3, 0, 0.02, 16, 0}, {"arap", 0.3, 0, 0, 16, 0},
                 {"arap", 0.3, 0, 0, 0, 0},          {"corotated", 0.3, 0, 0, 16, 2e3}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        hk_world *world = host_world(two_bodies(cases[k].material, cases[k].poisson), "split",
                                     cases[k].turning, cases[k].air, cases[k].viscous);
        int iterations;
        double off = compare_steps(world, cases[k].turning, 10, cases[k].grab, &iterations);
        printf(
            "%s, nu = %g, air %g, viscous %g, grabs %g, %d clusters: %.1e of the way off, at most "
            "%d iterations\n",
            cases[k].material, cases[k].poisson, cases[k].air, cases[k].viscous, cases[k].grab,
            cases[k].turning, off, iterations);
        assert_true(off < 1e-4);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- solves

// A large and stiff body, so that there are several levels: the solves of set-up, and how many
// iterations a step takes.
static void test_solves(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    for (int k = 0; k < 4; k++) {
        body.material = material_of("corotated", k < 2 ? 1e6 : 1e10, 0.45);
        body.fix_count = k % 2;
        int cells = SANITIZED ? 6 : 12;
        hk_world *world =
            host_world(model_of(&body, box_mesh(1, 0.25, 0.25, 4 * cells, cells, cells), -9.81),
                       "lbfgs", 1, 0, 0);
        CHECK_OK(hk_world_step(world, NULL));
        device d = make_device(world, 1);
        hk_multigrid_cg *cg;
        CHECK_OK(hk_multigrid_cg_create(&d.triangle.pattern, d.triangle.value, 1, &cg));
        double *b = calloc(4 * (size_t)d.count, sizeof(double)),
               *x = calloc(4 * (size_t)d.count, 8);
        uint64_t seed = 3;
        for (int i = 0; i < 4 * d.count; i++) b[i] = noise(&seed);
        int wide = hk_multigrid_cg_solve(cg, 1e-11, b, x);
        // The matrix of the kernels in single precision leaves little of it where bodies are soft,
        // and knows the inertia of a translation however stiff they are.
        double left = 0, all = 0, wrong = 0;
        for (int v = 0; v < d.count; v++) {
            float w[3];
            product(&d, v, x, w);
            for (int i = 0; i < 3 && is_free(&d, v); i++) {
                left += ((double)w[i] - b[4 * v + i]) * ((double)w[i] - b[4 * v + i]);
                all += b[4 * v + i] * b[4 * v + i];
            }
        }
        for (int i = 0; i < 4 * d.count; i++) b[i] = 0.7;
        for (int v = 0; v < d.count && k % 2 == 0; v++) {
            const hk_model *m = world->model;
            double inertia = m->mass[m->order[d.place[v]]] / (world->step * world->step);
            float w[3];
            product(&d, v, b, w);
            wrong = fmax(wrong, fabs((double)w[0] / (0.7 * inertia) - 1));
        }
        if (k < 2) assert_true(sqrt(left / all) < 1e-4);
        assert_true(wrong < 1e-5);
        begin(&d, world->x, world->v);
        solve(&d, 50);
        printf(
            "%d vertices, %g Pa, %s: 1e-11 after %d iterations (%.0e left in single, inertia off "
            "by %.0e); a step takes %d\n",
            d.count, k < 2 ? 1e6 : 1e10, k % 2 ? "held" : "free", wide, sqrt(left / all), wrong,
            d.cg.iterations);
        assert_true(wide < 60);
        assert_true(d.cg.iterations <= 12 && !d.cg.failed);
        hk_multigrid_cg_free(cg);
        free(b);
        free(x);
        free_device(&d);
        hk_world_free(world);
    }
}

// What is made at set-up, at every call that memory may end at.
static void test_out_of_memory(void **state)
{
    (void)state;
    hk_world *world = host_world(two_bodies("corotated", 0.3), "lbfgs", 1, 0, 0);
    device d = make_device(world, 0);
    hk_gpu_matrix matrix = {
        .model = world->model, .place = d.place, .weight = d.weight, .inertia = 2500, .threads = 1};
    for (int n = 1;; n++) {
        hk_gpu_clusters *clusters = NULL;
        failing_alloc_install(n);
        hk_status status = hk_gpu_clusters_create(&matrix, 2, &clusters);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_gpu_clusters_free(clusters);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
    }
    free_device(&d);
    hk_world_free(world);
}

static void test_numbers_that_are_not_finite(void **state)
{
    (void)state;
    hk_cg cg;
    cg_begin(&cg);
    assert_false(cg_advance(&cg, NAN, 1));
    assert_true(cg.failed);
    cg_begin(&cg);
    assert_false(cg_advance(&cg, 0, 0));  // there is nothing to solve
    assert_false(cg.failed);
}

// ---------------------------------------------------------------- pressure

// As trace_pressure of corotation_lanes.c has it, with R known.
static void test_bounded_stress(void **state)
{
    (void)state;
    uint64_t seed = 11;
    const double mu = 3;
    int changed = 0, kept = 0;
    for (int n = 0; n < 4000; n++) {
        double lambda = n % 4 == 0 ? -0.5 : n % 4 == 1 ? 20 : 4, size = n % 3 == 0 ? 3 : 0.4;
        mat3 F, P, Q;
        for (int k = 0; k < 9; k++)
            F.m[k / 3][k % 3] = (k % 4 == 0 ? 1 : 0) + size * (noise(&seed) - 0.5);
        mat3 R = polar_rotation(F);
        double trace = m3_dot(R, F) - 3, J = m3_det(F), pressure = lambda * trace;
        double bounded = fmin(pressure, 2 * mu) * fmax(0, fmin(1, 5 * J)) * (lambda > 0);
        for (int k = 0; k < 9; k++) {
            double stretch = 2 * mu * (F.m[k / 3][k % 3] - R.m[k / 3][k % 3]);
            P.m[k / 3][k % 3] = stretch + pressure * R.m[k / 3][k % 3];
            Q.m[k / 3][k % 3] = stretch + bounded * R.m[k / 3][k % 3];
        }
        if (fabs(pressure - 2 * mu) < 1e-6) continue;
        mat3 before = P;
        split_bound_stress(mu, lambda, &F.m[0][0], &P.m[0][0]);
        for (int k = 0; k < 9; k++)
            assert_true(fabs(P.m[k / 3][k % 3] - Q.m[k / 3][k % 3]) < 1e-9 * (1 + fabs(pressure)));
        if (pressure == bounded) {
            kept++;
            assert_memory_equal(&P, &before, sizeof P);
        }
        changed += pressure != bounded;
    }
    assert_true(changed > 500 && kept > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_the_cpu), cmocka_unit_test(test_solves),
        cmocka_unit_test(test_out_of_memory),    cmocka_unit_test(test_numbers_that_are_not_finite),
        cmocka_unit_test(test_bounded_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
