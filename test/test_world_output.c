// What a world shows: fields against closed forms, energies against their sums, the gradient
// against differences, meshes and files.
#include "bodies.h"

#include <unistd.h>

// A body under a uniform deformation F, with a load and gravity.
static hk_world *deformed(const hk_material_def *material, const double F[9])
{
    static const double gravity[3] = {1, -9.81, 2};
    hk_load_def pull = {.def_size = sizeof(hk_load_def),
                        .select = select_box(1, 0, 0, 1, 1, 1),
                        .force = {3, 5, -7}};
    hk_selector wall = select_box(0, 0, 0, 0, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = *material;
    body.loads = &pull;
    body.load_count = 1;
    body.fixes = &wall;
    body.fix_count = 1;
    body.velocity[1] = 2;
    body.mesh = box_mesh(1, 1, 1, 2, 2, 2);
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    memcpy(def.gravity, gravity, sizeof gravity);
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free((hk_mesh *)(uintptr_t)body.mesh);
    hk_world *world = world_of(model, 0.01, 1);
    int n = hk_model_vertex_count(model);
    const double *X = hk_model_rest_positions(model);
    double *x = malloc(24 * (size_t)n);
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 3; i++)
            x[3 * v + i] = F[3 * i] * X[3 * v] + F[3 * i + 1] * X[3 * v + 1] +
                           F[3 * i + 2] * X[3 * v + 2] + 0.1 * i;
    CHECK_OK(hk_world_set_positions(world, x));
    free(x);
    return world;
}

static double determinant(const double f[9])
{
    return f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
           f[2] * (f[3] * f[7] - f[4] * f[6]);
}

// Uniaxial: σ₀₀ − σ₁₁ with σ = P Fᵀ/J. Shear of neo-Hookean: σ = μ (B − 1), B = F Fᵀ, so that
// σ₀₀ = μ g², σ₀₁ = μ g, and von Mises is √(σ₀₀² + 3 σ₀₁²). Growth: no von Mises stress.
static void test_von_mises_closed_forms(void **state)
{
    (void)state;
    hk_material_def def = material_of("neo_hookean", 1e5, 0.4);
    double mu = 1e5 / 2.8, lambda = 1e5 * 0.4 / (1.4 * 0.2), s = 1.3, g = 0.4;
    double states[3][9] = {
        {s, 0, 0, 0, 1, 0, 0, 0, 1}, {1, g, 0, 0, 1, 0, 0, 0, 1}, {s, 0, 0, 0, s, 0, 0, 0, s}};
    double uniaxial = (mu * (s * s - 1) + lambda * log(s)) / s - lambda * log(s) / s;
    double expected[3] = {uniaxial, sqrt(mu * mu * (g * g * g * g + 3 * g * g)), 0};
    for (int k = 0; k < 3; k++) {
        hk_world *world = deformed(&def, states[k]);
        double stress[40], J[40];
        CHECK_OK(hk_world_field(world, "von_mises", stress));
        CHECK_OK(hk_world_field(world, "J", J));
        for (int t = 0; t < 40; t++) {
            if (!(fabs(stress[t] - expected[k]) < 1e-8 * 1e5))
                fail_msg("state %d: %.12g Pa, not %.12g", k, stress[t], expected[k]);
            assert_true(fabs(J[t] - determinant(states[k])) < 1e-12);
        }
        hk_world_free(world);
    }
}

// The same whatever the body's orientation, for all materials, fibres included.
static void test_fields_do_not_depend_on_rotation(void **state)
{
    (void)state;
    double F[9] = {1.2, 0.1, 0, -0.1, 0.9, 0.2, 0, 0.05, 1.1}, RF[9];
    double c = cos(0.7), s = sin(0.7), R[9] = {c, 0, s, 0, 1, 0, -s, 0, c};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            RF[3 * i + j] = R[3 * i] * F[j] + R[3 * i + 1] * F[3 + j] + R[3 * i + 2] * F[6 + j];
    for (int m = 0; m < solid_count(); m++) {
        hk_material_def def = material_of(hk_material_name(m), 1e5, 0.3);
        def.fibre_stiffness = 2e5;
        double P[9], expected[9] = {0}, stress[40], turned[40];
        CHECK_OK(hk_material_evaluate(&def, F, false, NULL, P, NULL));
        for (int i = 0; i < 9; i++)
            for (int l = 0; l < 3; l++)
                expected[i] += P[3 * (i / 3) + l] * F[3 * (i % 3) + l] / determinant(F);
        double a = expected[0] - expected[4], b = expected[4] - expected[8],
               d = expected[8] - expected[0];
        double mises = sqrt(0.5 * (a * a + b * b + d * d) +
                            3 * (expected[1] * expected[1] + expected[2] * expected[2] +
                                 expected[5] * expected[5]));
        hk_world *plain = deformed(&def, F), *rotated = deformed(&def, RF);
        CHECK_OK(hk_world_field(plain, "von_mises", stress));
        CHECK_OK(hk_world_field(rotated, "von_mises", turned));
        for (int t = 0; t < 40; t++) {
            assert_true(fabs(stress[t] - mises) < 1e-9 * 1e5);
            assert_true(fabs(turned[t] - mises) < 1e-9 * 1e5);
        }
        hk_world_free(plain);
        hk_world_free(rotated);
    }
}

static void test_vertex_fields(void **state)
{
    (void)state;
    static const double F[9] = {1.1, 0, 0, 0, 1, 0, 0, 0, 1};
    hk_material_def def = hk_default_material_def();
    hk_world *world = deformed(&def, F);
    double u[81], v[81];
    CHECK_OK(hk_world_field(world, "displacement", u));
    CHECK_OK(hk_world_field(world, "velocity", v));
    const double *X = hk_model_rest_positions(hk_world_model(world));
    for (int k = 0; k < 27; k++) {
        assert_true(fabs(u[3 * k] - 0.1 * X[3 * k]) < 1e-15);
        assert_true(fabs(u[3 * k + 1] - 0.1) < 1e-15 && fabs(u[3 * k + 2] - 0.2) < 1e-15);
    }
    assert_memory_equal(v, hk_world_velocities(world), sizeof v);
    hk_world_free(world);
}

// A flat tet has J = 0 and no Cauchy stress; an inverted one a negative J. Nothing is NaN.
static void test_fields_of_flat_and_inverted_tets(void **state)
{
    (void)state;
    static const double flat[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    static const double mirrored[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1};
    for (int m = 0; m < solid_count(); m++)
        for (int k = 0; k < 2; k++) {
            hk_material_def def = material_of(hk_material_name(m), 1e5, 0.3);
            hk_world *world = deformed(&def, k ? mirrored : flat);
            double stress[40], J[40];
            CHECK_OK(hk_world_field(world, "von_mises", stress));
            CHECK_OK(hk_world_field(world, "J", J));
            for (int t = 0; t < 40; t++) {
                assert_true(isfinite(stress[t]));
                assert_true(fabs(J[t] + k) < 1e-12);
            }
            hk_energy e;
            CHECK_OK(hk_world_energy(world, &e, NULL));
            assert_false(isnan(e.elastic) || isnan(e.total));
            hk_world_free(world);
        }
}

static void test_energies(void **state)
{
    (void)state;
    static const double F[9] = {1.2, 0.1, 0, -0.1, 0.9, 0.2, 0, 0.05, 1.1};
    hk_material_def def = material_of("stvk", 1e5, 0.3);
    hk_world *world = deformed(&def, F);
    hk_energy e;
    double density;
    CHECK_OK(hk_world_energy(world, &e, NULL));
    CHECK_OK(hk_material_evaluate(&def, F, false, &density, NULL, NULL));
    assert_true(fabs(e.elastic - density) < 1e-10 * density);  // of 1 m³
    const hk_model *model = hk_world_model(world);
    const double *x = hk_world_positions(world), *m = hk_model_masses(model);
    double gravity = 0, kinetic = 0, load = 0;
    for (int v = 0; v < 27; v++) {
        const double *X = hk_model_rest_positions(model) + 3 * v;
        gravity -= m[v] * (x[3 * v] - 9.81 * x[3 * v + 1] + 2 * x[3 * v + 2]);
        if (X[0] > 0) kinetic += m[v] * 2;  // ½ m 2²; held vertices stand
        if (X[0] == 1)
            load -=
                (3 * (x[3 * v] - X[0]) + 5 * (x[3 * v + 1] - X[1]) - 7 * (x[3 * v + 2] - X[2])) / 9;
    }
    assert_true(fabs(e.gravity - gravity) < 1e-9);
    assert_true(fabs(e.kinetic - kinetic) < 1e-9);
    assert_true(fabs(e.load - load) < 1e-12);
    assert_true(fabs(e.total - e.elastic - e.gravity - e.load - e.kinetic) < 1e-9);
    hk_world_free(world);
}

// At all vertices, held ones too; and asking for it does not disturb the steps that follow.
static void test_gradient_by_differences(void **state)
{
    (void)state;
    static const double F[9] = {1.2, 0.1, 0, -0.1, 0.9, 0.2, 0, 0.05, 1.1};
    for (int m = 0; m < solid_count(); m++) {
        hk_material_def def = material_of(hk_material_name(m), 1e5, 0.3);
        def.fibre_stiffness = 5e4;
        hk_world *world = deformed(&def, F);
        double g[81], x[81], error = 0, scale = 0;
        memcpy(x, hk_world_positions(world), sizeof x);
        uint64_t seed = 4;
        for (int k = 0; k < 81; k++) x[k] += 0.02 * noise(&seed);
        CHECK_OK(hk_world_set_positions(world, x));
        CHECK_OK(hk_world_energy(world, NULL, g));
        for (int k = 0; k < 81; k++) {
            double side[2], h = 1e-5;
            for (int q = 0; q < 2; q++) {
                hk_energy e;
                double was = x[k];
                x[k] = was + (q ? -h : h);
                CHECK_OK(hk_world_set_positions(world, x));
                CHECK_OK(hk_world_energy(world, &e, NULL));
                side[q] = e.elastic + e.gravity + e.load;
                x[k] = was;
            }
            double d = (side[0] - side[1]) / (2 * h) - g[k];
            error += d * d;
            scale += g[k] * g[k];
        }
        if (!(error < 1e-12 * scale))
            fail_msg("%s: %.1e", hk_material_name(m), sqrt(error / scale));
        hk_world_free(world);
    }
}

static void test_asking_changes_nothing(void **state)
{
    (void)state;
    static const double F[9] = {1.1, 0, 0, 0, 1, 0, 0, 0, 1};
    hk_material_def def = material_of("neo_hookean", 1e5, 0.4);
    hk_world *asked = deformed(&def, F), *left = deformed(&def, F);
    for (int k = 0; k < 3; k++) {
        double g[81], J[40];
        hk_energy e;
        hk_step_report r;
        CHECK_OK(hk_world_energy(asked, &e, g));
        CHECK_OK(hk_world_field(asked, "J", J));
        CHECK_OK(hk_world_step(asked, &r));
        CHECK_OK(hk_world_step(left, &r));
        assert_memory_equal(hk_world_positions(asked), hk_world_positions(left), 81 * 8);
        assert_memory_equal(hk_world_velocities(asked), hk_world_velocities(left), 81 * 8);
    }
    hk_world_free(asked);
    hk_world_free(left);
}

// The mesh of a world has its positions and a group a body; points are read back bit by bit.
static void test_mesh_and_points(void **state)
{
    (void)state;
    hk_mesh *box = box_mesh(1, 1, 1, 1, 1, 1);
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    for (int b = 0; b < 2; b++) {
        bodies[b].mesh = box;
        bodies[b].name = b ? "upper" : "lower";
        bodies[b].transform.translate[1] = 2.0 / 3 * b * 3;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(box);
    hk_world *world = world_of(model, 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    hk_mesh *mesh;
    CHECK_OK(hk_world_mesh(world, &mesh));
    assert_int_equal(hk_mesh_group_count(mesh), 2);
    assert_string_equal(hk_mesh_group_name(mesh, 1), "upper");
    assert_memory_equal(hk_mesh_positions(mesh), hk_world_positions(world), 16 * 24);
    hk_mesh_free(mesh);
    char path[] = "/tmp/hooke-points-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    CHECK_OK(hk_world_save_points(world, path));
    FILE *in = fopen(path, "r");
    char line[256];
    assert_non_null(fgets(line, sizeof line, in));
    assert_string_equal(line, "vertex,x,y,z\n");
    for (int v = 0; v < 16; v++) {
        int number;
        double x[3];
        assert_non_null(fgets(line, sizeof line, in));
        assert_int_equal(sscanf(line, "%d,%lf,%lf,%lf", &number, &x[0], &x[1], &x[2]), 4);
        assert_int_equal(number, v);
        assert_memory_equal(x, hk_world_positions(world) + 3 * v, sizeof x);
    }
    assert_null(fgets(line, sizeof line, in));
    fclose(in);
    unlink(path);
    hk_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_von_mises_closed_forms),
        cmocka_unit_test(test_fields_do_not_depend_on_rotation),
        cmocka_unit_test(test_vertex_fields),
        cmocka_unit_test(test_fields_of_flat_and_inverted_tets),
        cmocka_unit_test(test_energies),
        cmocka_unit_test(test_gradient_by_differences),
        cmocka_unit_test(test_asking_changes_nothing),
        cmocka_unit_test(test_mesh_and_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
