// Constraints of vertices: planes, lines, surfaces, displacements that are one, with every method.
#include "rigid_bodies.h"

static hk_constraint_def keep(hk_constraint_kind kind, double x0, double x1, double ax, double ay,
                              double az)
{
    hk_constraint_def c = hk_default_constraint_def();
    c.kind = kind;
    c.select = select_box(x0, -1, -1, x1, 1, 1);
    c.axis[0] = ax, c.axis[1] = ay, c.axis[2] = az;
    c.at[0] = 0.6, c.at[1] = -2;
    return c;
}

static hk_model *bar(const hk_constraint_def *keeps, int count, bool held, bool bone,
                     const double gravity[3])
{
    hk_mesh *mesh = box_mesh(1.2, 0.2, 0.2, 12, 2, 2);
    hk_selector fix = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    hk_region_def rigid = hk_default_region_def();
    rigid.select = select_box(0.35, -1, -1, 0.85, 1, 1);
    rigid.rigid = 1;
    rigid.material = material_of("arap", 1e5, 0.3);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("arap", 3e4, 0.3);
    body.fixes = &fix;
    body.fix_count = held;
    body.regions = &rigid;
    body.region_count = bone;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    memcpy(def.gravity, gravity, sizeof def.gravity);
    def.constraints = keeps;
    def.constraint_count = count;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static const double DOWN[3] = {0, -9.81, 0};

static void test_methods(void **state)
{
    (void)state;
    enum { KINDS = HK_KEEP_PERIODIC + 1 };  // volumes: test_volumes.c
    hk_constraint_def keeps[KINDS] = {
        keep(HK_KEEP_PLANE, 1.15, 2, 1, 2, 3),    keep(HK_KEEP_LINE, 1.15, 2, 1, 3, 0),
        keep(HK_KEEP_SPHERE, 1.15, 2, 0, 0, 0),   keep(HK_KEEP_CYLINDER, 1.15, 2, 0, 0, 1),
        keep(HK_KEEP_TOGETHER, 1.15, 2, 0, 0, 0), keep(HK_KEEP_PERIODIC, 0.05, 2, 0, 0, 0)};
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == HK_KEEP_PERIODIC) {
            keeps[kind].select = select_box(0.05, -1, -1, 2, 1, 1e-6);
            keeps[kind].other = select_box(0.05, -1, 0.2 - 1e-6, 2, 1, 1);
            keeps[kind].axis[2] = 0.2;
        }
        hk_model *model = bar(&keeps[kind], 1, true, kind % 2 && kind != HK_KEEP_PERIODIC, DOWN);
        print_message("%s\n", hk_constraint_kind_name(kind));
        for (int k = 0; k < VARIANT_COUNT; k++) {
            if (SANITIZED ? k % 7 != kind : k % 2 != kind % 2 && kind != HK_KEEP_PLANE) continue;
            compare_steps(model, &VARIANTS[k], SANITIZED ? 2 : 6, 1.0 / 30);
        }
        hk_model_free(model);
    }
}

// How far a vertex is from what it keeps to.
static double off(const hk_constraint_def *c, const double *X, const double *x)
{
    double d[3], D[3], along = 0, Along = 0, u = 0, norm = 0, r = 0, R = 0, line = 0;
    for (int i = 0; i < 3; i++) norm += c->axis[i] * c->axis[i];
    for (int i = 0; i < 3; i++) {
        double a = norm > 0 ? c->axis[i] / sqrt(norm) : 0;
        d[i] = x[i] - c->at[i], D[i] = X[i] - c->at[i];
        along += d[i] * a, Along += D[i] * a;
        u += (x[i] - X[i]) * a;
    }
    for (int i = 0; i < 3; i++) {
        double a = norm > 0 ? c->axis[i] / sqrt(norm) : 0;
        bool round = c->kind == HK_KEEP_CYLINDER;
        r += pow(d[i] - (round ? along * a : 0), 2);
        R += pow(D[i] - (round ? Along * a : 0), 2);
        line += pow(x[i] - X[i] - u * a, 2);
    }
    if (c->kind == HK_KEEP_PLANE) return fabs(u);
    if (c->kind == HK_KEEP_LINE) return sqrt(line);
    return fabs(sqrt(r) - sqrt(R));
}

// Where they are kept to, by every kind, over many steps; a body on rollers slides as theory has
// it.
static void test_kept(void **state)
{
    (void)state;
    hk_constraint_def keeps[] = {
        keep(HK_KEEP_PLANE, -1, 0.05, 1, 2, 3), keep(HK_KEEP_LINE, -1, 0.05, 1, 3, 0),
        keep(HK_KEEP_SPHERE, -1, 0.05, 0, 0, 0), keep(HK_KEEP_CYLINDER, -1, 0.05, 0, 0, 1)};
    for (int n = 0; n < 4; n++) {
        hk_model *model = bar(&keeps[n], 1, false, true, DOWN);
        hk_world *w = world_by(model, 0.02, NULL);
        const double *X = hk_model_rest_positions(model);
        for (int s = 0; s < 40; s++) {
            hk_step_report r;
            CHECK_OK(hk_world_step(w, &r));
            if (r.reason != HK_CONVERGED) fail_msg("step %d: %s", s, r.detail);
            const double *x = hk_world_positions(w);
            for (int v = 0; v < hk_model_vertex_count(model); v++)
                if (X[3 * v] < 0.05 && !(off(&keeps[n], X + 3 * v, x + 3 * v) < 1e-13))
                    fail_msg("%s: vertex %d is off by %g m", hk_constraint_kind_name(keeps[n].kind),
                             v, off(&keeps[n], X + 3 * v, x + 3 * v));
        }
        hk_world_free(w);
        hk_model_free(model);
    }
    // All of a body on one slope: each vertex falls along it with g sin².
    hk_constraint_def slope = keep(HK_KEEP_PLANE, -1, 2, 1, 1, 0);
    hk_model *model = bar(&slope, 1, false, false, DOWN);
    hk_world *w = world_by(model, 0.01, NULL);
    for (int s = 0; s < 10; s++) CHECK_OK(hk_world_step(w, NULL));
    double fallen = hk_world_positions(w)[1] - hk_model_rest_positions(model)[1];
    assert_true(fabs(fallen / (-55e-4 * 9.81 / 2) - 1) < 1e-9);
    hk_world_free(w);
    hk_model_free(model);
}

static void test_together(void **state)
{
    (void)state;
    hk_constraint_def c = keep(HK_KEEP_TOGETHER, 1.15, 2, 0, 0, 0);
    hk_model *model = bar(&c, 1, true, false, DOWN);
    hk_world *w = world_by(model, 0.02, NULL);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    const double *x = hk_world_positions(w), *X = hk_model_rest_positions(model);
    int first = -1;
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        if (X[3 * v] < 1.15) continue;
        if (first < 0) first = v;
        for (int i = 0; i < 3; i++)
            assert_true(fabs(x[3 * v + i] - X[3 * v + i] - x[3 * first + i] + X[3 * first + i]) <
                        1e-14);
    }
    assert_true(x[3 * first + 1] < X[3 * first + 1] - 1e-3);
    hk_world_free(w);
    hk_model_free(model);
}

// A cube that is periodic along x and z and is sheared by its gravity: nothing depends on x and z,
// for it is a layer without end, and u_y(y) is that of a column.
static void test_periodic(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(0.4, 0.4, 0.4, 4, 4, 4);
    hk_selector fix = select_box(-1, -1e-6, -1, 1, 1e-6, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("neo_hookean", 1e5, 0.3);
    body.fixes = &fix;
    body.fix_count = 1;
    hk_constraint_def c[2] = {hk_default_constraint_def(), hk_default_constraint_def()};
    // One constraint per vertex: edges that are periodic both ways belong to the first one.
    c[0].kind = HK_KEEP_PERIODIC;
    c[0].select = select_box(-1, -1, -1, 1e-6, 1, 1);
    c[0].other = select_box(0.4 - 1e-6, -1, -1, 1, 1, 1);
    c[0].axis[0] = 0.4;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[0] = 3, def.gravity[1] = 0;
    def.constraints = c;
    def.constraint_count = 1;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_world *w = world_by(model, 0.02, NULL);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    const double *x = hk_world_positions(w), *X = hk_model_rest_positions(model);
    // Simple shear of a layer: τ(y) = ρ g (h − y), u = ρ g (h y − y²/2)/μ at its top, where it is
    // exact but for the coarse mesh; without the constraint the sides would bend away.
    double mu = 1e5 / 2.6, top = 1000 * 3 * 0.4 * 0.4 / 2 / mu, most = 0;
    for (int v = 0; v < hk_model_vertex_count(model); v++)
        if (X[3 * v + 1] > 0.39) most = fmax(most, fabs((x[3 * v] - X[3 * v]) / top - 1));
    print_message("shear of the top is off by %.2g at most\n", most);
    assert_true(most < 0.1);
    hk_world_free(w);
    hk_model_free(model);
}

static void refuse(const hk_constraint_def *c, int count, const char *word)
{
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 5, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("arap", 1e5, 0.3);
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.constraints = c;
    def.constraint_count = count;
    hk_model *model = NULL;
    assert_int_not_equal(hk_model_create(&def, &model), HK_OK);
    if (!strstr(hk_error(), word)) fail_msg("\"%s\" is not in: %s", word, hk_error());
    hk_mesh_free(mesh);
}

static void test_refused(void **state)
{
    (void)state;
    hk_constraint_def c[2] = {keep(HK_KEEP_PLANE, -1, 0.05, 1, 0, 0),
                              keep(HK_KEEP_LINE, -1, 0.05, 1, 0, 0)};
    refuse(c, 2, "has another constraint already");
    c[0].axis[0] = 0;
    refuse(c, 1, "its axis has no length");
    c[0] = keep(HK_KEEP_PLANE, 5, 6, 1, 0, 0);
    refuse(c, 1, "no vertex that is free");
    c[0] = keep(HK_KEEP_PLANE, -1, 0.05, 1, 0, 0);
    c[0].body = 3;
    refuse(c, 1, "no body 3");
    c[0].kind = -1;
    refuse(c, 1, "no kind of constraint -1");
    c[0] = keep(HK_KEEP_PERIODIC, -1, 0.05, 0.37, 0, 0);
    c[0].other = select_box(0.9, -1, -1, 2, 1, 1);
    refuse(c, 1, "has no partner");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),  cmocka_unit_test(test_kept),
        cmocka_unit_test(test_together), cmocka_unit_test(test_periodic),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
