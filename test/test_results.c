// What a state tells: stress, principal stresses, strain, the largest of them and probes, against
// states whose stress is known.
#include "bodies.h"

typedef struct result_case {
    hk_mesh *mesh;
    hk_model *model;
    hk_world *world;
} result_case;

static result_case make_bar(double x, double y, double z, int nx, int ny, int nz, double poisson,
                            const hk_selector *fixes, const uint8_t *axes, int fix_count,
                            const hk_load_def *load)
{
    result_case c = {.mesh = box_mesh(x, y, z, nx, ny, nz)};
    hk_body_def body = hk_default_body_def();
    body.mesh = c.mesh;
    body.material.model = "stvk";
    body.material.young = 1e6;
    body.material.poisson = poisson;
    body.fixes = fixes;
    body.fix_axes = axes;
    body.fix_count = fix_count;
    body.loads = load;
    body.load_count = load ? 1 : 0;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = 0;
    CHECK_OK(hk_model_create(&def, &c.model));
    hk_world_def w = hk_default_world_def();
    w.model = c.model;
    w.solver.method = "newton";
    w.solver.tolerance = 1e-10;
    CHECK_OK(hk_world_create(&w, &c.world));
    return c;
}

static void release(result_case *c)
{
    hk_world_free(c->world);
    hk_model_free(c->model);
    hk_mesh_free(c->mesh);
}

static double *field(const result_case *c, const char *name, int components)
{
    double *values =
        malloc(sizeof(double) * (size_t)components * (size_t)hk_model_tet_count(c->model));
    CHECK_OK(hk_world_field(c->world, name, values));
    return values;
}

static void near_to(double is, double should, double within, const char *what)
{
    if (!(fabs(is - should) <= within)) fail_msg("%s: is %.12g, should be %.12g", what, is, should);
}

// A patch of any shape under tension: σ = F/A in the direction of the force, 0 across.
static void test_tension(void **state)
{
    (void)state;
    hk_selector fixes[3] = {select_box(-1e-6, -1, -1, 1e-6, 1, 1),
                            select_box(-1, -1e-6, -1, 1, 1e-6, 1),
                            select_box(-1, -1, -1e-6, 1, 1, 1e-6)};
    const uint8_t axes[3] = {HK_AXIS_X, HK_AXIS_Y, HK_AXIS_Z};
    hk_load_def load = hk_default_load_def();
    load.select = select_box(0.299999, -1, -1, 0.300001, 1, 1);
    load.distribution = HK_BY_AREA;
    load.force[0] = 10;
    result_case c = make_bar(0.3, 0.1, 0.1, 3, 2, 2, 0.3, fixes, axes, 3, &load);
    hk_step_report r;
    CHECK_OK(hk_world_pose(c.world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    double *stress = field(&c, "stress", 9), *principal = field(&c, "principal_stress", 3);
    double *strain = field(&c, "strain", 9), *mises = field(&c, "von_mises", 1);
    const double *x = hk_world_positions(c.world), *X = hk_model_rest_positions(c.model);
    double across = 1, along = 1;
    for (int v = 0; v < hk_model_vertex_count(c.model); v++) {
        if (X[3 * v + 1] > 0.09) across = x[3 * v + 1] / X[3 * v + 1];
        if (X[3 * v] > 0.29) along = x[3 * v] / X[3 * v];
    }
    double sigma = 10 / (0.01 * across * across);
    for (int t = 0; t < hk_model_tet_count(c.model); t++) {
        for (int k = 0; k < 9; k++)
            near_to(stress[9 * t + k], k == 0 ? sigma : 0, 1e-5 * sigma, "stress");
        near_to(principal[3 * t], sigma, 1e-5 * sigma, "principal stress");
        near_to(principal[3 * t + 2], 0, 1e-5 * sigma, "principal stress");
        near_to(mises[t], sigma, 1e-5 * sigma, "von Mises stress");
        near_to(strain[9 * t], 0.5 * (along * along - 1), 1e-9, "strain along");
        near_to(strain[9 * t + 4], 0.5 * (across * across - 1), 1e-9, "strain across");
    }
    hk_greatest g;
    CHECK_OK(hk_world_greatest(c.world, &g));
    near_to(g.von_mises, sigma, 1e-5 * sigma, "the largest");
    assert_true(g.tet >= 0 && g.von_mises_body == 0 && g.displacement_place[0] > 0.29);
    free(stress), free(principal), free(strain), free(mises);
    release(&c);
}

// Simple shear x += γ y: τ = G γ to first order, von Mises √3 τ, principal ± τ.
static void test_shear(void **state)
{
    (void)state;
    result_case c = make_bar(0.1, 0.1, 0.1, 2, 2, 2, 0.25, NULL, NULL, 0, NULL);
    double shear = 1e-6, tau = shear * 1e6 / (2 * 1.25);
    int n = hk_model_vertex_count(c.model);
    double *x = malloc(3 * sizeof(double) * (size_t)n);
    memcpy(x, hk_model_rest_positions(c.model), 3 * sizeof(double) * (size_t)n);
    for (int v = 0; v < n; v++) x[3 * v] += shear * x[3 * v + 1];
    CHECK_OK(hk_world_set_positions(c.world, x));
    double *stress = field(&c, "stress", 9), *principal = field(&c, "principal_stress", 3);
    double *strain = field(&c, "strain", 9), *mises = field(&c, "von_mises", 1);
    for (int t = 0; t < hk_model_tet_count(c.model); t++) {
        near_to(stress[9 * t + 1], tau, 1e-5 * tau, "shear");
        near_to(stress[9 * t + 3], tau, 1e-5 * tau, "shear");
        near_to(principal[3 * t], tau, 1e-5 * tau, "principal");
        near_to(principal[3 * t + 1], 0, 1e-5 * tau, "principal");
        near_to(principal[3 * t + 2], -tau, 1e-5 * tau, "principal");
        near_to(mises[t], sqrt(3) * tau, 1e-5 * tau, "von Mises");
        near_to(strain[9 * t + 1], shear / 2, 1e-5 * shear, "strain");
    }
    // A probe moves with the tet that it lies in; outside of all it is the nearest vertex.
    hk_probe probe;
    double at[3];
    CHECK_OK(hk_model_probe(c.model, 0, (double[3]){0.03, 0.07, 0.02}, &probe));
    assert_true(probe.count == 4 && probe.tet >= 0);
    CHECK_OK(hk_world_probe(c.world, &probe, at));
    near_to(at[0], 0.03 + shear * 0.07, 1e-15, "probe");
    near_to(at[1], 0.07, 1e-15, "probe");
    CHECK_OK(hk_model_probe(c.model, 0, (double[3]){0.2, 0.2, 0.2}, &probe));
    assert_true(probe.count == 1 && probe.tet == -1);
    assert_int_equal(hk_model_probe(c.model, 1, at, &probe), HK_BAD_INPUT);
    free(x), free(stress), free(principal), free(strain), free(mises);
    release(&c);
}

// Pure bending moment and shear force of a cantilever: σ = M y / I inside, on a fine mesh, where
// the constant stress of a tet is that of its middle.
static void test_cantilever(void **state)
{
    (void)state;
    hk_selector wall = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    hk_load_def load = hk_default_load_def();
    load.select = select_box(0.999999, -1, -1, 1.000001, 1, 1);
    load.distribution = HK_BY_AREA;
    load.force[1] = -0.1;
    int fine = SANITIZED ? 4 : 6;
    result_case c = make_bar(1, 0.1, 0.1, 10 * fine, fine, fine, 0, &wall, NULL, 1, &load);
    hk_step_report r;
    CHECK_OK(hk_world_pose(c.world, &r));
    assert_true(r.reason == HK_CONVERGED || r.reason == HK_PRECISION_LIMIT);
    double *stress = field(&c, "stress", 9), inertia = pow(0.1, 4) / 12, sum = 0, theory = 0;
    const double *X = hk_model_rest_positions(c.model);
    for (int t = 0; t < hk_model_tet_count(c.model); t++) {
        double middle[3] = {0};
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 3; i++) middle[i] += X[3 * hk_mesh_tets(c.mesh)[4 * t + k] + i] / 4;
        if (middle[0] < 0.3 || middle[0] > 0.7) continue;
        double arm = middle[1] - 0.05;
        // Least squares over all tets of the middle: the slope of the stress.
        theory += arm * arm * (1 - middle[0]);
        sum += stress[9 * t] * arm;
    }
    double ratio = sum / (theory * 0.1 / inertia);
    if (getenv("HOOKE_TABLE")) printf("bending stress / theory %.4f\n", ratio);
    assert_true(ratio > 0.85 && ratio < 1.05);
    hk_reaction wall_reaction;
    CHECK_OK(hk_world_reactions(c.world, &wall_reaction, NULL));
    near_to(wall_reaction.force[1], 0.1, 1e-8, "reaction");
    near_to(wall_reaction.moment[2], 0.1 * 1, 2e-3 * 0.1, "moment");
    free(stress);
    release(&c);
}

static void test_unknown_field(void **state)
{
    (void)state;
    result_case c = make_bar(0.1, 0.1, 0.1, 1, 1, 1, 0.25, NULL, NULL, 0, NULL);
    double values[1000];
    assert_int_equal(hk_world_field(c.world, "stresses", values), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "principal_stress"));
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tension),
        cmocka_unit_test(test_shear),
        cmocka_unit_test(test_cantilever),
        cmocka_unit_test(test_unknown_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
