// Time integrators: their orders, what they do to energies and momenta, and that every method that
// minimises ε takes the same steps with them.
#include <complex.h>

#include "bodies.h"
#include "integrator/integrator.h"
#include "linear/direct.h"
#include "solver/method.h"

static hk_world *make_world(hk_model *model, const char *integrator, const char *method,
                            double step, bool conserve)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = 1;
    def.integrator = integrator;
    def.conserve = conserve;
    def.solver.method = method;
    def.solver.tolerance = 1e-10;
    def.solver.iterations = 200;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

static void run(hk_world *world, int steps)
{
    hk_step_report report;
    for (int k = 0; k < steps; k++) {
        CHECK_OK(hk_world_step(world, &report));
        // With tiny steps the tolerance is below what rounding leaves.
        if (!(report.relative_residual < 1e-8) && report.reason != HK_PRECISION_LIMIT)
            fail_msg("%s: %s, relative residual %.1e", hk_world_describe(world),
                     hk_reason_name(report.reason), report.relative_residual);
    }
}

// ---------------------------------------------------------------- order

// A soft bar held at one end, swinging from where it is straight.
static hk_model *swing(void)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    body.material = material_of("neo_hookean", 2e5, 0.3);
    body.velocity[1] = 0.5;
    return model_of(&body, box_mesh(0.4, 0.1, 0.1, 3, 1, 1), -9.81);
}

static double *positions_after(hk_model *model, const char *integrator, double time, int steps)
{
    hk_world *world = make_world(model, integrator, "newton", time / steps, false);
    run(world, steps);
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
    double *x = malloc(bytes);
    memcpy(x, hk_world_positions(world), bytes);
    hk_world_free(world);
    return x;
}

static double distance(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int k = 0; k < 3 * count; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

static void test_orders(void **state)
{
    (void)state;
    const double time = 0.12;
    hk_model *model = swing();
    int count = hk_model_vertex_count(model);
    double *truth = positions_after(model, "trbdf2", time, 1024);
    for (int k = 0; k < hk_integrator_count(); k++) {
        double error[3];
        for (int n = 0; n < 3; n++) {
            double *x = positions_after(model, hk_integrator_name(k), time, 64 << n);
            error[n] = distance(x, truth, count);
            free(x);
        }
        double order = log2(error[1] / error[2]);
        const hk_integrator *integrator;
        CHECK_OK(hk_integrator_find(hk_integrator_name(k), &integrator));
        printf("%-18s error %.2e %.2e %.2e, order %.2f\n", hk_integrator_name(k), error[0],
               error[1], error[2], order);
        if (!(fabs(order - integrator->order) < 0.15))
            fail_msg("%s: order %.2f, expected %d", integrator->name, order, integrator->order);
    }
    free(truth);
    hk_model_free(model);
}

// ---------------------------------------------------------------- free fall

static hk_model *free_box(double gravity)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("corotated", 1e5, 0.3);
    body.velocity[0] = 2;
    return model_of(&body, box_mesh(0.2, 0.1, 0.1, 2, 1, 1), gravity);
}

static void test_free_fall(void **state)
{
    (void)state;
    const double h = 0.01, g = -9.81;
    const int steps = 50;
    hk_model *model = free_box(g);
    for (int k = 0; k < hk_integrator_count(); k++) {
        const char *name = hk_integrator_name(k);
        hk_world *world = make_world(model, name, "newton", h, false);
        run(world, steps);
        double t = steps * h, exact = 0.5 * g * t * t, expected = exact;
        // Backward Euler is ahead by half a step's way; what needs a step before, as BDF2 does, by
        // what its first step, one of those, is: ½ g h² at once, and what comes of it.
        const hk_integrator *integrator;
        CHECK_OK(hk_integrator_find(name, &integrator));
        if (strcmp(name, "backward_euler") == 0) expected = exact + 0.5 * g * h * t;
        double way = hk_world_positions(world)[1] - hk_model_rest_positions(model)[1];
        double across = hk_world_positions(world)[0] - hk_model_rest_positions(model)[0];
        double allowed = integrator->positions ? fabs(g) * h * h : 1e-12;
        if (!(fabs(way - expected) <= allowed && fabs(across - 2 * t) < 1e-12))
            fail_msg("%s: fell %.15g m, expected %.15g", name, way, expected);
        hk_world_free(world);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- vibration

// One tet on four equal springs to where it is: shifted as a whole, it swings by one frequency, and
// the problem is linear.
static hk_model *oscillator(double *omega)
{
    static const double x[12] = {0, 0, 0, 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1};
    static const int32_t tet[4] = {0, 1, 2, 3};
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(4, x, 1, tet, 0, NULL, &mesh));
    hk_body_def body = hk_default_body_def();
    body.material = material_of("corotated", 1e4, 0.3);
    hk_attach_def tie = {.def_size = sizeof(hk_attach_def),
                         .select = {.kind = HK_SELECT_ALL},
                         .stiffness = 2,
                         .motion = {.axis = {1, 0, 0}}};
    body.attachments = &tie;
    body.attachment_count = 1;
    hk_model *model = model_of(&body, mesh, 0);
    *omega = sqrt(tie.stiffness / hk_model_masses(model)[0]);
    return model;
}

static double energy_of(hk_world *world)
{
    hk_energy energy;
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    return energy.elastic + energy.kinetic;
}

// By how much the amplitude changes in a step, |R(iωh)|.
static double amplification(const char *name, double wh)
{
    double complex z = I * wh;
    if (strcmp(name, "backward_euler") == 0) return cabs(1 / (1 - z));
    if (strcmp(name, "bdf2") == 0) {  // 3/2 r² − 2 r + 1/2 = z r², the larger root
        double complex a = 1.5 - z, root = csqrt(4 - 2 * a);
        return fmax(cabs((2 + root) / (2 * a)), cabs((2 - root) / (2 * a)));
    }
    if (strcmp(name, "trbdf2") == 0) return cabs((12 + 5 * z) / (12 - 7 * z + z * z));
    bool keeps = strcmp(name, "implicit_midpoint") == 0 || strcmp(name, "newmark") == 0;
    return keeps ? 1 : NAN;  // not known
}

static void test_energy_of_a_vibration(void **state)
{
    (void)state;
    enum { PER_PERIOD = 32, PERIODS = 1000 };
    double omega, shift[12];
    hk_model *model = oscillator(&omega);
    const double h = 2 * acos(-1) / omega / PER_PERIOD;
    for (int k = 0; k < hk_integrator_count(); k++) {
        const char *name = hk_integrator_name(k);
        double rate = amplification(name, omega * h);
        if (isnan(rate)) continue;
        // Where it decays, while there is something left.
        int periods =
            rate < 1 ? (int)fmin(PERIODS, ceil(log(1e-3) / log(rate) / PER_PERIOD)) : PERIODS;
        hk_world *world = make_world(model, name, "newton", h, false);
        memcpy(shift, hk_model_rest_positions(model), sizeof shift);
        for (int v = 0; v < 4; v++) shift[3 * v + 1] += 0.01;
        CHECK_OK(hk_world_set_positions(world, shift));
        run(world, PER_PERIOD);  // BDF2 begins with another method
        double first = energy_of(world), low = first, high = first;
        for (int n = 1; n < periods; n++) {
            run(world, PER_PERIOD);
            low = fmin(low, energy_of(world));
            high = fmax(high, energy_of(world));
        }
        double found = pow(energy_of(world) / first, 0.5 / ((periods - 1.0) * PER_PERIOD));
        printf("%-18s %4d periods: energy %.6f to %.6f of the first, a step keeps %.9f (theory "
               "%.9f)\n",
               name, periods, low / first, high / first, found, rate);
        if (rate == 1)
            assert_true(low > (1 - 1e-6) * first && high < (1 + 1e-6) * first);
        else
            assert_true(fabs(log(found) - log(rate)) < 2e-3 * fabs(log(rate)));
        hk_world_free(world);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- momenta

static void momenta_of(const hk_world *world, double linear[3], double angular[3])
{
    const hk_model *m = hk_world_model(world);
    const double *x = hk_world_positions(world), *v = hk_world_velocities(world);
    const double *mass = hk_model_masses(m);
    for (int i = 0; i < 3; i++) linear[i] = angular[i] = 0;
    for (int k = 0; k < hk_model_vertex_count(m); k++)
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            linear[i] += mass[k] * v[3 * k + i];
            angular[i] += mass[k] * (x[3 * k + j] * v[3 * k + l] - x[3 * k + l] * v[3 * k + j]);
        }
}

// Turning, and stretched: it vibrates.
static void set_spinning(hk_world *world)
{
    const hk_model *m = hk_world_model(world);
    int count = hk_model_vertex_count(m);
    const double *rest = hk_model_rest_positions(m);
    double *x = malloc(24 * (size_t)count), *v = malloc(24 * (size_t)count);
    for (int k = 0; k < count; k++) {
        const double *X = rest + 3 * k;
        x[3 * k] = 1.1 * X[0], x[3 * k + 1] = X[1], x[3 * k + 2] = X[2];
        v[3 * k] = -3 * X[1] + 0.5, v[3 * k + 1] = 3 * X[0], v[3 * k + 2] = 1 * X[1];
    }
    CHECK_OK(hk_world_set_positions(world, x));
    CHECK_OK(hk_world_set_velocities(world, v));
    free(x), free(v);
}

static void test_momenta(void **state)
{
    (void)state;
    hk_model *model = free_box(0);
    for (int k = 0; k < hk_integrator_count(); k++) {
        const char *name = hk_integrator_name(k);
        hk_world *world = make_world(model, name, "newton", 0.005, false);
        double linear[2][3], angular[2][3];
        set_spinning(world);
        momenta_of(world, linear[0], angular[0]);
        run(world, 200);
        momenta_of(world, linear[1], angular[1]);
        double spin = fabs(angular[1][2] / angular[0][2]);
        printf("%-18s angular momentum after 1 s: %.6f of the first\n", name, spin);
        for (int i = 0; i < 3; i++) assert_true(fabs(linear[1][i] - linear[0][i]) < 1e-11);
        // The midpoint rule keeps it exactly; backward Euler loses it as it loses energy.
        double allowed = strcmp(name, "implicit_midpoint") == 0 ? 1e-9
                         : strcmp(name, "backward_euler") == 0  ? 0.2
                                                                : 0.03;
        assert_true(fabs(spin - 1) < allowed);
        hk_world_free(world);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- conservation

static void test_conservation(void **state)
{
    (void)state;
    hk_model *model = free_box(-9.81);
    for (int k = 0; k < hk_integrator_count(); k++) {
        const char *name = hk_integrator_name(k);
        hk_world *world = make_world(model, name, "newton", 0.005, true);
        double linear[2][3], angular[2][3];
        hk_energy energy[2];
        set_spinning(world);
        CHECK_OK(hk_world_energy(world, &energy[0], NULL));
        momenta_of(world, linear[0], angular[0]);
        run(world, 400);
        CHECK_OK(hk_world_energy(world, &energy[1], NULL));
        momenta_of(world, linear[1], angular[1]);
        double scale = energy[0].elastic + energy[0].kinetic;
        printf("%-18s conserving: energy changes by %.1e\n", name,
               (energy[1].total - energy[0].total) / scale);
        assert_true(fabs(energy[1].total - energy[0].total) < 1e-9 * scale);
        double mass = 0;
        for (int v = 0; v < hk_model_vertex_count(model); v++) mass += hk_model_masses(model)[v];
        double fall = -9.81 * mass * 2;
        assert_true(fabs(linear[1][0] - linear[0][0]) < 1e-9 * fabs(fall));
        assert_true(fabs(linear[1][1] - linear[0][1] - fall) < 1e-9 * fabs(fall));
        hk_world_free(world);
    }
    hk_model_free(model);
    // A swing that is held keeps its energy, and goes on swinging.
    model = swing();
    hk_world *world = make_world(model, "backward_euler", "newton", 0.01, true);
    hk_energy first, last;
    CHECK_OK(hk_world_energy(world, &first, NULL));
    run(world, 300);
    CHECK_OK(hk_world_energy(world, &last, NULL));
    assert_true(fabs(last.total - first.total) < 1e-8 * (first.kinetic + last.elastic));
    hk_world_free(world);
    // What does work, or is damped, is refused.
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.conserve = true;
    def.damping.air_per_vertex = 0.1;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "damping"));
    hk_model_free(model);
}

// ---------------------------------------------------------------- methods

// Steps with damping and a moved end, by every method that minimises, against Newton's.
static hk_model *moved_bar(const char *material)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = select_box(0.399, -1, -1, 1, 1, 1),
                        .motion = {.axis = {1, 0, 0}, .translate = {0, 0.05, 0}, .over = 0.05}};
    body.fixes = &wall;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = 1;
    body.material = material_of(material, 2e5, 0.3);
    return model_of(&body, box_mesh(0.4, 0.1, 0.1, 5, 2, 2), -9.81);
}

static hk_world *damped_world(hk_model *model, const char *integrator, const char *method)
{
    hk_world_def def = hk_default_world_def();
    hk_option precision = {.name = "precision", .text = "double"};
    def.model = model;
    def.step = 0.01;
    def.integrator = integrator;
    def.damping = (hk_damping){.air_per_vertex = 0.01, .viscous = 0.002};
    def.solver.method = method;
    def.solver.tolerance = 1e-10;
    def.solver.iterations = 20000;
    const hk_method *m;
    CHECK_OK(hk_method_find(method, &m));
    for (int k = 0; k < m->option_count; k++)
        if (strcmp(m->options[k].name, "precision") == 0) {
            def.solver.options = &precision;
            def.solver.option_count = 1;
        }
    hk_world *world = NULL;
    hk_status status = hk_world_create(&def, &world);
    if (status != HK_OK) assert_int_equal(status, HK_UNSUPPORTED);
    return world;
}

static void test_methods(void **state)
{
    (void)state;
    for (int k = 0; k < hk_integrator_count(); k++)
        for (int m = 0; m < hk_method_count(); m++) {
            const hk_method *method;
            CHECK_OK(hk_method_find(hk_method_name(m), &method));
            if (!method->minimise || method->direct) continue;
            if (SANITIZED && (m + k) % 3 != 0) continue;
            hk_model *model = moved_bar(method == &hk_projective ? "arap" : "corotated");
            hk_world *truth = damped_world(model, hk_integrator_name(k), "newton");
            hk_world *world = damped_world(model, hk_integrator_name(k), method->name);
            hk_step_report report;
            bool possible = world || hk_direct_available();
            for (int n = 0; n < 4 && possible; n++) {
                CHECK_OK(hk_world_step(truth, NULL));
                CHECK_OK(hk_world_step(world, &report));
            }
            double off = possible ? relative_distance(world, truth) : 0;
            if (!(off < 1e-6))
                fail_msg("%s, %s: %.1e from Newton's (%s, relative residual %.1e)",
                         hk_integrator_name(k), method->name, off, hk_reason_name(report.reason),
                         report.relative_residual);
            hk_world_free(truth);
            hk_world_free(world);
            hk_model_free(model);
        }
}

// ---------------------------------------------------------------- what is asked for

static void test_refusals(void **state)
{
    (void)state;
    hk_model *model = swing();
    hk_world *world = NULL;
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.integrator = "leapfrog";
    assert_int_equal(hk_world_create(&def, &world), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "trbdf2"));
    def.integrator = "newmark";
    def.beta = 0;
    assert_int_equal(hk_world_create(&def, &world), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "beta"));
    def = hk_default_world_def();
    def.model = model;
    def.integrator = "bdf2";
    def.solver.method = "xpbd";
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    hk_model_free(model);
}

// A step that is cut short changes the step length for BDF2, too: it stays of second order.
static void test_changing_steps(void **state)
{
    (void)state;
    hk_integrator_settings equal = {.step = 0.01, .before = 0.01};
    hk_integrator_settings half = {.step = 0.005, .before = 0.01};
    hk_stage a, b;
    hk_bdf2.stage(&equal, 0, &a);
    assert_float_equal(a.from[HK_KNOWN_X], 4.0 / 3, 1e-15);
    assert_float_equal(a.from[HK_KNOWN_X_BEFORE], -1.0 / 3, 1e-15);
    assert_float_equal(a.h, 0.02 / 3, 1e-15);
    hk_bdf2.stage(&half, 0, &b);
    // Exact for x = t²: x = 0 now, 1e-4 one step earlier.
    double x = 0.005 * 0.005, from = b.from[HK_KNOWN_X_BEFORE] * 1e-4;
    assert_float_equal((x - from) / b.h, 2 * 0.005, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_free_fall),
        cmocka_unit_test(test_energy_of_a_vibration),
        cmocka_unit_test(test_momenta),
        cmocka_unit_test(test_conservation),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_changing_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
