// Laws that users write: a neo-Hookean one against the built-in one in every method, derivatives by
// finite differences, a law that is not isotropic, regions, what is refused.
#include "bodies.h"

#include <stdatomic.h>

#include "core/base.h"

// ---------------------------------------------------------------- neo_hookean once more

typedef struct lame {
    double mu, lambda;
    atomic_int calls;
} lame;

static lame lame_of(double young, double poisson)
{
    return (lame){.mu = young / (2 * (1 + poisson)),
                  .lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson))};
}

// det F, and the matrix of cofactors ∂J/∂F.
static double cofactors(const double F[9], double C[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            C[3 * i + j] = F[3 * a + c] * F[3 * b + d] - F[3 * a + d] * F[3 * b + c];
        }
    return F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
}

static double rubber_energy(void *context, const double F[9])
{
    lame *m = context;
    double C[9], J = cofactors(F, C), I = 0;
    m->calls++;
    if (!(J > 0)) return INFINITY;
    for (int k = 0; k < 9; k++) {
        if (!isfinite(F[k])) fail_msg("called with F[%d] = %g", k, F[k]);
        I += F[k] * F[k];
    }
    double l = log(J);
    return m->mu / 2 * (I - 3) - m->mu * l + m->lambda / 2 * l * l;
}

static void rubber_stress(void *context, const double F[9], double P[9])
{
    const lame *m = context;
    double C[9], J = cofactors(F, C);
    if (!(J > 0)) fail_msg("a stress was asked for where there is none");
    for (int k = 0; k < 9; k++) P[k] = m->mu * F[k] + (m->lambda * log(J) - m->mu) / J * C[k];
}

static void rubber_hessian(void *context, const double F[9], double H[81])
{
    const lame *m = context;
    double C[9], J = cofactors(F, C), l = log(J);
    double first = (m->lambda * l - m->mu) / J, second = (m->lambda * (1 - l) + m->mu) / (J * J);
    for (int k = 0; k < 81; k++) H[k] = second * C[k / 9] * C[k % 9] + (k % 10 == 0 ? m->mu : 0);
    // ∂²J/∂F_ij∂F_kl = ε_ikm ε_jln F_mn
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                for (int q = 0; q < 3; q++) {
                    if (i == k || j == q) continue;
                    int m3 = 3 - i - k, n = 3 - j - q;
                    double sign = ((k - i + 3) % 3 == 1 ? 1 : -1) * ((q - j + 3) % 3 == 1 ? 1 : -1);
                    H[9 * (3 * i + j) + 3 * k + q] += first * sign * F[3 * m3 + n];
                }
}

static hk_material_def rubber(lame *context, double young, double poisson)
{
    hk_material_def def = material_of("custom", young, poisson);
    *context = lame_of(young, poisson);
    def.custom = (hk_custom_law){rubber_energy, rubber_stress, rubber_hessian, context};
    return def;
}

// ---------------------------------------------------------------- one deformation gradient

static void random_gradient(uint64_t *seed, double size, double F[9])
{
    for (int k = 0; k < 9; k++) F[k] = (k % 4 == 0) + size * noise(seed);
}

static void test_evaluations_agree(void **state)
{
    (void)state;
    lame context;
    hk_material_def own = rubber(&context, 2e5, 0.4),
                    built_in = material_of("neo_hookean", 2e5, 0.4);
    hk_material_def differenced = own;
    differenced.custom.hessian = NULL;
    uint64_t seed = 5;
    double worst = 0, worst_difference = 0;
    for (int n = 0; n < 300; n++) {
        double F[9], e[3], P[3][9], H[3][81];
        random_gradient(&seed, 0.6, F);
        bool projected = n % 2;
        CHECK_OK(hk_material_evaluate(&own, F, projected, &e[0], P[0], H[0]));
        CHECK_OK(hk_material_evaluate(&built_in, F, projected, &e[1], P[1], H[1]));
        CHECK_OK(hk_material_evaluate(&differenced, F, projected, &e[2], P[2], H[2]));
        assert_true(isinf(e[0]) == isinf(e[1]) && e[2] == e[0]);
        double scale = 1;
        for (int k = 0; k < 81; k++) scale = fmax(scale, fabs(H[1][k]));
        if (isfinite(e[0])) assert_true(fabs(e[0] - e[1]) < 1e-12 * scale);
        for (int k = 0; k < 9; k++) assert_true(fabs(P[0][k] - P[1][k]) < 1e-12 * scale);
        for (int k = 0; k < 81; k++) {
            worst = fmax(worst, fabs(H[0][k] - H[1][k]) / scale);
            worst_difference = fmax(worst_difference, fabs(H[2][k] - H[1][k]) / scale);
        }
    }
    printf("stiffness: %.1e from the built-in law, by differences %.1e\n", worst, worst_difference);
    assert_true(worst < 1e-10);
    assert_true(worst_difference < 1e-4);  // where J is nearly 0
}

// Rubber with a stiff direction, not a multiple of the stretches: ψ + k/4 (‖F a‖² − 1)².
typedef struct muscle {
    lame base;
    double k, a[3];
} muscle;

static double along(const muscle *m, const double F[9], double y[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        y[i] = F[3 * i] * m->a[0] + F[3 * i + 1] * m->a[1] + F[3 * i + 2] * m->a[2];
        sum += y[i] * y[i];
    }
    return sum;
}

static double muscle_energy(void *context, const double F[9])
{
    muscle *m = context;
    double y[3], s = along(m, F, y);
    return rubber_energy(&m->base, F) + m->k / 4 * (s - 1) * (s - 1);
}

static void muscle_stress(void *context, const double F[9], double P[9])
{
    muscle *m = context;
    double y[3], s = along(m, F, y);
    rubber_stress(&m->base, F, P);
    for (int k = 0; k < 9; k++) P[k] += m->k * (s - 1) * y[k / 3] * m->a[k % 3];
}

static void muscle_hessian(void *context, const double F[9], double H[81])
{
    muscle *m = context;
    double y[3], s = along(m, F, y);
    rubber_hessian(&m->base, F, H);
    for (int p = 0; p < 9; p++)
        for (int q = 0; q < 9; q++)
            H[9 * p + q] += m->a[p % 3] * m->a[q % 3] * m->k *
                            (2 * y[p / 3] * y[q / 3] + (p / 3 == q / 3 ? s - 1 : 0));
}

static hk_material_def muscle_of(muscle *context)
{
    hk_material_def def = material_of("custom", 2e5, 0.4);
    *context = (muscle){.base = lame_of(2e5, 0.4), .k = 4e5, .a = {0.6, 0.8, 0}};
    def.custom = (hk_custom_law){muscle_energy, muscle_stress, muscle_hessian, context};
    return def;
}

static void test_finite_differences(void **state)
{
    (void)state;
    lame rubber_context;
    muscle muscle_context;
    hk_material_def laws[3] = {rubber(&rubber_context, 2e5, 0.4), muscle_of(&muscle_context)};
    laws[2] = laws[1];
    laws[2].fibre_stiffness = 1e5;
    uint64_t seed = 11;
    for (int n = 0; n < 90; n++) {
        const hk_material_def *law = &laws[n % 3];
        double F[9], e[2], P[9], H[81], side[2][9], step = 1e-6;
        random_gradient(&seed, 0.25, F);
        CHECK_OK(hk_material_evaluate(law, F, false, NULL, P, H));
        for (int k = 0; k < 9; k++) {
            double at = F[k];
            for (int s = 0; s < 2; s++) {
                F[k] = at + (s ? step : -step);
                CHECK_OK(hk_material_evaluate(law, F, false, &e[s], side[s], NULL));
            }
            F[k] = at;
            assert_true(fabs((e[1] - e[0]) / (2 * step) - P[k]) < 1e-1);
            for (int i = 0; i < 9; i++)
                assert_true(fabs((side[1][i] - side[0][i]) / (2 * step) - H[9 * i + k]) < 1);
        }
    }
}

// No direction has a negative curvature, and where there was none nothing changes.
static void test_projection(void **state)
{
    (void)state;
    muscle context;
    hk_material_def law = muscle_of(&context);
    uint64_t seed = 3;
    int indefinite = 0;
    for (int n = 0; n < 200; n++) {
        double F[9], e, exact[81], raised[81];
        random_gradient(&seed, 0.5, F);
        CHECK_OK(hk_material_evaluate(&law, F, false, &e, NULL, exact));
        CHECK_OK(hk_material_evaluate(&law, F, true, &e, NULL, raised));
        double least = INFINITY, below = INFINITY;
        for (int t = 0; t < 400; t++) {
            double d[9], both[2] = {0};
            for (int k = 0; k < 9; k++) d[k] = noise(&seed);
            for (int k = 0; k < 81; k++) {
                both[0] += exact[k] * d[k / 9] * d[k % 9];
                both[1] += raised[k] * d[k / 9] * d[k % 9];
            }
            least = fmin(least, both[1]);
            below = fmin(below, both[0]);
            assert_true(both[1] >= both[0] - 1e-3);
        }
        assert_true(least >= -1e-3);
        if (below < -1) indefinite++;
    }
    assert_true(indefinite > 10);
}

// ---------------------------------------------------------------- motion

typedef struct variant {
    const char *method, *precision;
    double steps, pose;  // how close; 0: it has none
    int iterations;      // of a step, where more would enlarge rounding errors
} variant;

// Mostly they are within 1e-14 in double and 1e-6 in single precision; where a method decides by a
// comparison, rounding may make it decide otherwise.
static const variant VARIANTS[] = {
    {"newton", NULL, 1e-12, 1e-12, 0},
    {"descent", "double", 1e-9, 1e-6, 0},
    {"descent", "single", 2e-4, 1e-3, 0},
    {"gradient_descent", "double", 1e-9, 0, 1},
    {"gradient_descent", "single", 2e-4, 0, 1},
    {"nonlinear_cg", "double", 1e-9, 1e-6, 0},
    {"nonlinear_cg", "single", 2e-4, 1e-3, 0},
    {"lbfgs", "double", 1e-9, 1e-6, 0},
    {"lbfgs", "single", 2e-4, 1e-3, 0},
    {"quasi_newton", "double", 1e-9, 1e-6, 0},
    {"quasi_newton", "single", 2e-4, 1e-3, 0},
    {"admm", "double", 1e-9, 1e-6, 0},
    {"admm", "single", 2e-4, 1e-3, 0},
    {"vbd", "double", 1e-9, 1e-6, 0},
    {"vbd", "single", 2e-4, 1e-3, 0},
    {"xpbd", "double", 1e-9, 0, 0},
    {"xpbd", "single", 2e-4, 0, 0},
};

static hk_world *beam(const hk_material_def *material, const variant *v, int threads)
{
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_move_def move = hk_default_move_def();
    move.select = select_box(1, -1, -1, 1, 2, 2);
    move.motion.degrees = 30;
    move.motion.axis[0] = 1, move.motion.axis[1] = 0;
    move.motion.translate[0] = -0.1;
    move.motion.over = 0.1;
    hk_body_def body = hk_default_body_def();
    body.material = *material;
    body.fixes = &wall;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = 1;
    hk_option precision = {.name = "precision", .text = v->precision};
    hk_world_def def = hk_default_world_def();
    hk_model *model = model_of(&body, box_mesh(1, 0.3, 0.3, 6, 2, 2), -9.81);
    def.model = model;
    def.threads = threads;
    def.solver.iterations = v->iterations;
    def.solver.method = v->method;
    def.solver.options = &precision;
    def.solver.option_count = v->precision != NULL;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void test_every_method_moves_alike(void **state)
{
    (void)state;
    lame context;
    hk_material_def own = rubber(&context, 2e5, 0.4),
                    built_in = material_of("neo_hookean", 2e5, 0.4);
    for (int k = 0; k < HK_COUNT_OF(VARIANTS); k++) {
        const variant *v = &VARIANTS[k];
        hk_world *a = beam(&own, v, 2), *b = beam(&built_in, v, 2);
        for (int n = 0; n < (SANITIZED ? 3 : 10); n++) {
            CHECK_OK(hk_world_step(a, NULL));
            CHECK_OK(hk_world_step(b, NULL));
        }
        double distance = relative_distance(a, b);
        printf("%s %s: ten steps %.1e", v->method, v->precision ? v->precision : "", distance);
        if (!(distance <= v->steps)) fail_msg("%s: %g > %g", v->method, distance, v->steps);
        if (v->pose > 0) {
            hk_step_report ra, rb;
            CHECK_OK(hk_world_pose(a, &ra));
            CHECK_OK(hk_world_pose(b, &rb));
            distance = relative_distance(a, b);
            printf(", pose %.1e (%s)", distance, hk_reason_name(ra.reason));
            if (!(distance <= v->pose)) fail_msg("%s: %g > %g", v->method, distance, v->pose);
            assert_int_not_equal(hk_reason_outcome(ra.reason), HK_OUTCOME_FAILED);
        }
        printf("\n");
        hk_world_free(a);
        hk_world_free(b);
    }
}

// The same bits for any number of threads, as with all laws.
static void test_threads(void **state)
{
    (void)state;
    static const variant methods[] = {{.method = "newton"}, {.method = "admm"}, {.method = "vbd"}};
    muscle context;
    hk_material_def law = muscle_of(&context);
    for (int k = 0; k < HK_COUNT_OF(methods); k++) {
        hk_world *a = beam(&law, &methods[k], 1), *b = beam(&law, &methods[k], 4);
        for (int n = 0; n < 3; n++) {
            CHECK_OK(hk_world_step(a, NULL));
            CHECK_OK(hk_world_step(b, NULL));
        }
        assert_memory_equal(hk_world_positions(a), hk_world_positions(b),
                            3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(a)));
        hk_world_free(a);
        hk_world_free(b);
    }
}

// A law that is not isotropic has the same equilibrium in all methods that converge.
static void test_direction(void **state)
{
    (void)state;
    static const char *const methods[] = {"quasi_newton", "lbfgs", "admm", "vbd"};
    muscle context;
    hk_material_def law = muscle_of(&context);
    const variant newton = {.method = "newton"};
    hk_world *exact = beam(&law, &newton, 1);
    hk_step_report report;
    CHECK_OK(hk_world_pose(exact, &report));
    assert_int_equal(report.reason, HK_CONVERGED);
    for (int k = 0; k < HK_COUNT_OF(methods); k++) {
        const variant v = {.method = methods[k], .precision = "double"};
        hk_world *world = beam(&law, &v, 1);
        hk_solver_def solver = hk_default_solver_def();
        hk_option precision = {.name = "precision", .text = "double"};
        solver.method = methods[k];
        solver.iterations = 20000;
        solver.tolerance = 1e-7;
        solver.options = &precision;
        solver.option_count = 1;
        CHECK_OK(hk_world_set_solver(world, &solver));
        CHECK_OK(hk_world_pose(world, &report));
        double distance = relative_distance(world, exact);
        printf("%s: %s after %d, %.1e from newton\n", methods[k], hk_reason_name(report.reason),
               report.iterations, distance);
        assert_true(distance < 1e-4);
        hk_world_free(world);
    }
    hk_world_free(exact);
}

// Beside built-in laws, with conversion, fibres; a copy of the functions lives in the model.
static hk_world *mixed(const hk_material_def *body_law, const hk_material_def *region_law,
                       const char *method)
{
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_material_def *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *region_law;
    hk_region_def region = hk_default_region_def();
    region.select = select_box(0.5, -1, -1, 2, 2, 2);
    region.material = *copy;
    hk_body_def body = hk_default_body_def();
    body.material = *body_law;
    body.regions = &region;
    body.region_count = 1;
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.3, 0.3, 6, 2, 2), -9.81);
    memset(copy, 0xff, sizeof *copy);
    memset(&region, 0xff, sizeof region);
    free(copy);
    hk_world *world = world_of(model, 0.01, 2);
    hk_solver_def solver = hk_default_solver_def();
    solver.method = method;
    CHECK_OK(hk_world_set_solver(world, &solver));
    return world;
}

// The outer part of it.
static void turn_inside_out(hk_world *world)
{
    size_t count = (size_t)hk_model_vertex_count(hk_world_model(world));
    double *x = malloc(3 * sizeof(double) * count);
    assert_non_null(x);
    memcpy(x, hk_model_rest_positions(hk_world_model(world)), 3 * sizeof(double) * count);
    for (size_t v = 0; v < count; v++)
        if (x[3 * v] > 0.7) x[3 * v] = 1.4 - x[3 * v];
    CHECK_OK(hk_world_set_positions(world, x));
    free(x);
}

static double least_j(hk_world *world)
{
    int count = hk_model_tet_count(hk_world_model(world));
    double *j = malloc(sizeof(double) * (size_t)count), least = INFINITY;
    assert_non_null(j);
    CHECK_OK(hk_world_field(world, "J", j));
    for (int t = 0; t < count; t++) least = fmin(least, j[t]);
    free(j);
    return least;
}

static void test_regions(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "xpbd", "admm", "vbd"};
    for (int k = 0; k < HK_COUNT_OF(methods); k++) {
        lame context;
        hk_material_def soft = material_of("corotated", 1e5, 0.3);
        hk_material_def own = rubber(&context, 2e5, 0.4);
        hk_material_def built_in = material_of("neo_hookean", 2e5, 0.4);
        own.fibre_stiffness = built_in.fibre_stiffness = 1e5;
        own.invertible = built_in.invertible = hk_default_invertible();
        hk_world *a = mixed(&soft, &own, methods[k]), *b = mixed(&soft, &built_in, methods[k]);
        for (int n = 0; n < 5; n++) {
            CHECK_OK(hk_world_step(a, NULL));
            CHECK_OK(hk_world_step(b, NULL));
        }
        double distance = relative_distance(a, b);
        printf("%s: %.1e\n", methods[k], distance);
        assert_true(distance < (k ? 1e-4 : 1e-12));
        turn_inside_out(a);
        assert_true(least_j(a) < 0);
        for (int n = 0; n < 100; n++) CHECK_OK(hk_world_step(a, NULL));
        assert_true(least_j(a) > 0);
        hk_world_free(a);
        hk_world_free(b);
    }
}

// ---------------------------------------------------------------- what is refused

static double no_energy(void *context, const double F[9])
{
    (void)context;
    (void)F;
    return NAN;
}

static void test_refusals(void **state)
{
    (void)state;
    lame context;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_material_def good = rubber(&context, 1e5, 0.3);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
#define REFUSE(change, fragment)                                                    \
    do {                                                                            \
        body.material = good;                                                       \
        change;                                                                     \
        assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);              \
        if (!strstr(hk_error(), fragment)) fail_msg("%s: %s", #change, hk_error()); \
    } while (0)
    REFUSE(body.material.custom.energy = NULL, "custom.energy is NULL");
    REFUSE(body.material.custom.stress = NULL, "custom.stress is NULL");
    REFUSE(body.material.custom = (hk_custom_law){0}, "custom.energy is NULL");
    REFUSE(body.material.custom.energy = no_energy, "at rest must be finite");
    REFUSE(body.material.model = "neo_hookean", "only the model \"custom\"");
    REFUSE(body.material.young = NAN, "young must be greater than 0");
    REFUSE((body.material.young = NAN, body.material.poisson = NAN),
           "young must be greater than 0");
    REFUSE(body.material.poisson = 0.5, "poisson");
    REFUSE(body.material.density = 0, "density");
    REFUSE((body.material.parameters[0].name = "mu", body.material.parameter_count = 1),
           "no parameter \"mu\"");
    body.material = good;
    CHECK_OK(hk_model_create(&def, &model));
    // Methods that work with certain laws only.
    static const char *const methods[] = {"split", "projective"};
    for (int k = 0; k < 2; k++) {
        hk_world_def world_def = hk_default_world_def();
        hk_world *world = NULL;
        world_def.model = model;
        world_def.solver.method = methods[k];
        assert_int_equal(hk_world_create(&world_def, &world), HK_UNSUPPORTED);
        assert_non_null(strstr(hk_error(), "custom"));
    }
    hk_model_free(model);
    hk_mesh_free(mesh);
    // It is not in the list, and scenes cannot name it.
    for (int k = 0; k < hk_material_count(); k++)
        assert_string_not_equal(hk_material_name(k), "custom");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluations_agree), cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_projection),        cmocka_unit_test(test_every_method_moves_alike),
        cmocka_unit_test(test_threads),           cmocka_unit_test(test_direction),
        cmocka_unit_test(test_regions),           cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
