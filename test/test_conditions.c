// Fixes by axis, pressures, torques and functions of the time: every method comes to Newton's
// answer with them, and forces are in balance.
#include "bodies.h"
#include "model/conditions.h"
#include "term/terms.h"
#include "world/world.h"

static const hk_selector LEFT = {.kind = HK_SELECT_BOX, .box = {{-1e-6, -1, -1}, {1e-6, 1, 1}}};
static const hk_selector RIGHT = {.kind = HK_SELECT_BOX,
                                  .box = {{0.399999, -1, -1}, {0.400001, 1, 1}}};
static const hk_selector BOTTOM = {.kind = HK_SELECT_BOX, .box = {{-1, -1e-6, -1}, {1, 1e-6, 1}}};
static const hk_selector TOP = {.kind = HK_SELECT_BOX,
                                .box = {{-1, 0.099999, -1}, {1, 0.100001, 1}}};
static const hk_selector BACK = {.kind = HK_SELECT_BOX, .box = {{-1, -1, -1e-6}, {1, 1, 1e-6}}};
static const hk_selector ALL = {.kind = HK_SELECT_ALL};

typedef struct setup {
    const char *method, *material, *option, *word;
    int iterations;
    double tolerance;  // of positions, relative to the motion
    bool poses;
} setup;

static const setup SETUPS[] = {
    {"descent", "neo_hookean", "precision", "double", 20000, 1e-5, true},
    {"descent", "neo_hookean", NULL, NULL, 5000, 1e-3, false},
    {"projective", "arap", "precision", "double", 8000, 1e-5, true},
    {"gradient_descent", "neo_hookean", NULL, NULL, 40000, 1e-4, false},
    {"nonlinear_cg", "neo_hookean", NULL, NULL, 5000, 1e-5, true},
    {"lbfgs", "neo_hookean", NULL, NULL, 5000, 1e-5, true},
    {"quasi_newton", "neo_hookean", NULL, NULL, 600, 1e-5, true},
    {"quasi_newton", "neo_hookean", "initial", "rest_hessian", 600, 1e-5, true},
    {"quasi_newton", "neo_hookean", "global", "multigrid", 600, 1e-5, true},
    {"admm", "neo_hookean", NULL, NULL, 3000, 1e-3, true},
    {"vbd", "neo_hookean", NULL, NULL, 3000, 1e-3, true},
};

// What a world is made of beside the bar of 0.4 × 0.1 × 0.1 m.
typedef struct conditions {
    hk_selector fixes[4];
    uint8_t axes[4];
    const char *names[4];
    int fix_count;
    hk_load_def loads[3];
    int load_count;
    double gravity[3];
    hk_factor_def gravity_factor;
    hk_move_def move;
    int move_count;
} conditions;

static hk_world *make(const conditions *c, const setup *s, const char *method, double step)
{
    hk_model *model;
    hk_world *world;
    hk_mesh *mesh = box_mesh(0.4, 0.1, 0.1, 6, 2, 2);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = s->material;
    body.material.young = 1e5;
    body.material.poisson = 0.3;
    body.material.density = 1000;
    body.fixes = c->fixes;
    body.fix_axes = c->axes;
    body.fix_names = c->names;
    body.fix_count = c->fix_count;
    body.loads = c->loads;
    body.load_count = c->load_count;
    body.moves = &c->move;
    body.move_count = c->move_count;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    memcpy(def.gravity, c->gravity, sizeof def.gravity);
    def.gravity_factor = c->gravity_factor;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world_def w = hk_default_world_def();
    w.model = model;
    w.step = step;
    w.threads = 2;
    w.solver.method = method;
    bool own = method == s->method;
    w.solver.iterations = own ? s->iterations : 200;
    w.solver.tolerance = own && s->tolerance > 1e-4 ? 1e-6 : 1e-9;
    hk_option option = {.name = s->option, .text = s->word};
    if (own && s->option) {
        w.solver.options = &option;
        w.solver.option_count = 1;
    }
    CHECK_OK(hk_world_create(&w, &world));
    hk_model_free(model);
    hk_mesh_free(mesh);
    return world;
}

static double distance(const hk_world *a, const hk_world *b)
{
    const hk_model *m = hk_world_model(a);
    const double *x = hk_world_positions(a), *y = hk_world_positions(b);
    const double *rest = hk_model_rest_positions(m);
    double away = 0, moved = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(m); k++) {
        away += (x[k] - y[k]) * (x[k] - y[k]);
        moved += (y[k] - rest[k]) * (y[k] - rest[k]);
    }
    return sqrt(away / moved);
}

static void compare(const conditions *c, const setup *s, bool pose)
{
    hk_world *w = make(c, s, s->method, 0.01), *truth = make(c, s, "newton", 0.01);
    hk_step_report r;
    for (int k = 0; k < (pose ? 1 : 3); k++) {
        CHECK_OK(pose ? hk_world_pose(w, &r) : hk_world_step(w, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s: %s, %s", s->method, hk_reason_name(r.reason), r.detail);
        CHECK_OK(pose ? hk_world_pose(truth, &r) : hk_world_step(truth, &r));
        if (r.reason != HK_CONVERGED && r.reason != HK_PRECISION_LIMIT)
            fail_msg("newton: %s, %s", hk_reason_name(r.reason), r.detail);
    }
    double away = distance(w, truth);
    if (getenv("HOOKE_TABLE"))
        printf("%-18s %-12s %-5s %9.2e\n", s->method, s->word ? s->word : "",
               pose ? "pose" : "steps", away);
    if (!(away < s->tolerance))
        fail_msg("%s, %s: %g of the motion from newton", s->method, pose ? "pose" : "steps", away);
    hk_world_free(w);
    hk_world_free(truth);
}

static void compare_methods(const conditions *c)
{
#ifndef HOOKE_DIRECT
    (void)c;
    SKIP("%s", "this build has no direct solver");
#else
    for (int k = 0; k < (int)(sizeof SETUPS / sizeof SETUPS[0]); k++) {
        compare(c, &SETUPS[k], false);
        if (SETUPS[k].poses) compare(c, &SETUPS[k], true);
    }
#endif
}

static hk_load_def force_on(hk_selector select, double x, double y, double z)
{
    hk_load_def load = hk_default_load_def();
    load.select = select;
    load.distribution = HK_BY_AREA;
    load.force[0] = x, load.force[1] = y, load.force[2] = z;
    return load;
}

// Symmetry: an eighth of a bar.
static conditions eighth(void)
{
    conditions c = {.fixes = {LEFT, BOTTOM, BACK},
                    .axes = {HK_AXIS_X, HK_AXIS_Y, HK_AXIS_Z},
                    .names = {"wall", NULL, "back"},
                    .fix_count = 3,
                    .loads = {force_on(RIGHT, 100, 0, 0)},
                    .load_count = 1};
    return c;
}

static const setup NEWTON = {"newton", "neo_hookean", NULL, NULL, 200, 1e-5, true};

// ---------------------------------------------------------------- fixes by axis

static void test_axes_in_all_methods(void **state)
{
    (void)state;
    conditions c = eighth();
    c.loads[1] = force_on(TOP, 10, -20, 5);
    c.load_count = 2;
    c.gravity[1] = -9.81;
    compare_methods(&c);
}

static void test_linear_implicit(void **state)
{
    (void)state;
    conditions c = eighth();
    c.loads[0].force[0] = 1e-3;
    setup s = {"linear_implicit", "neo_hookean", "accuracy", NULL, 500, 1e-4, false};
    s.option = NULL;
    compare(&c, &s, false);
}

// Uniform tension: the same stretch everywhere, and rollers that let the cross-section shrink.
static void test_rollers_slide(void **state)
{
    (void)state;
    conditions c = eighth();
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    const double *x = hk_world_positions(w), *X = hk_model_rest_positions(hk_world_model(w));
    double along = 0, across = 0;
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(w)); v++) {
        if (X[3 * v] > 0.39) along = x[3 * v] / X[3 * v];
        if (X[3 * v + 1] > 0.09) across = x[3 * v + 1] / X[3 * v + 1];
    }
    assert_true(along > 1.08 && across < 0.98);
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(w)); v++) {
        assert_true(fabs(x[3 * v] - along * X[3 * v]) < 1e-9);
        assert_true(fabs(x[3 * v + 1] - across * X[3 * v + 1]) < 1e-9);
        assert_true(fabs(x[3 * v + 2] - across * X[3 * v + 2]) < 1e-9);
        if (X[3 * v] == 0) assert_true(x[3 * v] == 0);
    }
    hk_reaction found[3];
    assert_int_equal(hk_model_constraint_count(hk_world_model(w)), 3);
    CHECK_OK(hk_world_reactions(w, found, NULL));
    assert_string_equal(found[0].name, "wall");
    assert_true(fabs(found[0].force[0] + 100) < 1e-5 && found[0].force[1] == 0);
    assert_true(fabs(found[1].force[1]) < 1e-5 && fabs(found[2].force[2]) < 1e-5);
    hk_world_free(w);
}

static void test_refusals(void **state)
{
    (void)state;
    conditions c = eighth();
    hk_model *model;
    hk_world *world;
    hk_mesh *mesh = box_mesh(0.4, 0.1, 0.1, 2, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = "corotated";
    body.fixes = c.fixes;
    body.fix_axes = c.axes;
    body.fix_count = 3;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world_def w = hk_default_world_def();
    w.model = model;
    for (int k = 0; k < 2; k++) {
        w.solver.method = k == 0 ? "split" : "xpbd";
        assert_int_equal(hk_world_create(&w, &world), HK_UNSUPPORTED);
        assert_non_null(strstr(hk_error(), "axes"));
    }
    hk_model_free(model);
    c.axes[0] = 0;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    // Nothing holds it along z against a force along z.
    c.axes[0] = HK_AXIS_X, c.axes[2] = HK_AXIS_X;
    def.gravity[1] = 0, def.gravity[2] = -1;
    CHECK_OK(hk_model_create(&def, &model));
    w.solver.method = "newton";
    w.model = model;
    CHECK_OK(hk_world_create(&w, &world));
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_NOT_HELD);
    hk_world_free(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- reactions

// In balance with weight and loads; and so are moments about the middle of the wall.
static void test_reactions(void **state)
{
    (void)state;
    conditions c = {.fixes = {LEFT},
                    .axes = {HK_ALL_AXES},
                    .fix_count = 1,
                    .loads = {force_on(RIGHT, 1, -2, 3)},
                    .load_count = 1,
                    .gravity = {0, -9.81, 0}};
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    hk_step_report r;
    hk_reaction found;
    CHECK_OK(hk_world_pose(w, &r));
    CHECK_OK(hk_world_reactions(w, &found, NULL));
    const hk_model *m = hk_world_model(w);
    double weight = 9.81 * 1000 * 0.4 * 0.1 * 0.1;
    assert_true(fabs(found.force[0] + 1) < 1e-5);
    assert_true(fabs(found.force[1] - 2 - weight) < 1e-5);
    assert_true(fabs(found.force[2] + 3) < 1e-5);
    // Moments of the loads where they act now.
    const double *x = hk_world_positions(w);
    double moment[3] = {0};
    for (int v = 0; v < hk_model_vertex_count(m); v++) {
        double f[3], a[3];
        for (int i = 0; i < 3; i++) {
            f[i] = m->load[3 * v + i] + m->mass[v] * m->gravity[i];
            a[i] = x[3 * v + i] - found.center[i];
        }
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            moment[i] += a[j] * f[k] - a[k] * f[j];
        }
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(found.moment[i] + moment[i]) < 1e-5);
    double *each = malloc(3 * sizeof(double) * (size_t)hk_model_vertex_count(m)), sum = 0;
    CHECK_OK(hk_world_reactions(w, NULL, each));
    for (int v = 0; v < hk_model_vertex_count(m); v++) sum += each[3 * v + 1];
    assert_true(fabs(sum - found.force[1]) < 1e-9);
    free(each);
    hk_world_free(w);
}

// ---------------------------------------------------------------- pressure

static conditions pressed(hk_selector where, double pressure)
{
    conditions c = eighth();
    c.loads[0] = hk_default_load_def();
    c.loads[0].select = where;
    c.loads[0].pressure = pressure;
    return c;
}

static void test_pressure_in_all_methods(void **state)
{
    (void)state;
    conditions c = pressed(RIGHT, 3000);
    compare_methods(&c);
}

// On all sides of a free body: no net force, and forces are the derivative of the energy.
static void test_pressure_is_exact(void **state)
{
    (void)state;
    conditions c = pressed(ALL, 2000);
    c.fix_count = 0;
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    const hk_model *m = hk_world_model(w);
    CHECK_OK(hk_world_need_problem(w));
    hk_terms *terms = w->problem->terms;
    hk_term *term = hk_terms_find(terms, &hk_pressure_term);
    assert_non_null(term);
    int n = hk_model_vertex_count(m);
    double *x = calloc(4 * (size_t)n, sizeof *x), *g = calloc(4 * (size_t)n, sizeof *g);
    double *after = calloc(4 * (size_t)n, sizeof *g), *before = calloc(4 * (size_t)n, sizeof *g);
    for (int k = 0; k < 4 * n; k++)
        x[k] = k % 4 < 3 ? w->x[k] * (1 + 0.1 * (k % 4)) + 0.003 * sin(7.0 * k) : 0;
    term->ops->update(term, x);
    term->ops->add_gradient(term, x, g, NULL);
    double sum[3] = {0}, most = 0;
    for (int k = 0; k < 4 * n; k++) {
        if (k % 4 < 3) sum[k % 4] += g[k];
        most = fmax(most, fabs(g[k]));
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(sum[i]) < 1e-12 * n * most);
    double *blocks = calloc((size_t)hk_terms_block_size(terms), sizeof *blocks), h = 1e-6;
    for (int k = 0; k < 4 * n; k += 7) {
        if (k % 4 == 3) continue;
        double at = x[k];
        x[k] = at + h;
        double up = term->ops->energy(term, x);
        x[k] = at - h;
        double down = term->ops->energy(term, x);
        x[k] = at;
        assert_true(fabs((up - down) / (2 * h) - g[k]) < 1e-6 * most + 1e-9);
    }
    // The Hessian in sum: its product with a direction against differences of gradients. Other
    // terms are taken out by the difference with a pressure of 0.
    double *d = calloc(4 * (size_t)n, sizeof *d), *product = calloc(4 * (size_t)n, sizeof *d);
    for (int k = 0; k < 4 * n; k++) d[k] = k % 4 < 3 ? sin(3.0 * k) : 0;
    term->ops->blocks(term, x, 1, HK_FOR_HESSIAN, blocks);
    for (int s = -1; s <= 1; s += 2) {
        for (int k = 0; k < 4 * n; k++) x[k] += s * h * d[k];
        double *to = s > 0 ? after : before;
        term->ops->add_gradient(term, x, to, NULL);
        for (int k = 0; k < 4 * n; k++) x[k] -= s * h * d[k];
    }
    hk_terms alone = *terms;
    hk_term *only[1] = {term};
    int64_t start[2] = {0, term->ops->block_size(term)};
    alone.count = 1, alone.term = only, alone.block_start = start;
    hk_terms_add_product(&alone, blocks, d, product);
    for (int k = 0; k < 4 * n; k++)
        assert_true(fabs((after[k] - before[k]) / (2 * h) - product[k]) < 1e-4 * most / 0.1 + 1e-9);
    double *const all[] = {x, g, after, before, blocks, d, product};
    for (int k = 0; k < 7; k++) free(all[k]);
    hk_world_free(w);
}

// On one end of a clamped bar: the reaction is pressure × the area there is, along its normal.
static void test_pressure_follows(void **state)
{
    (void)state;
    conditions c = pressed(TOP, 400);
    c.fixes[0] = LEFT;
    c.axes[0] = HK_ALL_AXES;
    c.fix_count = 1;
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    const hk_model *m = hk_world_model(w);
    hk_step_report r;
    hk_reaction found;
    CHECK_OK(hk_world_pose(w, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s, %s", hk_reason_name(r.reason), r.detail);
    CHECK_OK(hk_world_reactions(w, &found, NULL));
    const double *x = hk_world_positions(w);
    double force[3] = {0};
    for (int t = 0; t < m->conditions->pressure_count; t++) {
        const int32_t *v = m->conditions->pressures[t].triangle;
        double a[3], b[3];
        for (int i = 0; i < 3; i++) {
            a[i] = x[3 * v[1] + i] - x[3 * v[0] + i];
            b[i] = x[3 * v[2] + i] - x[3 * v[0] + i];
        }
        for (int i = 0; i < 3; i++)
            force[i] -=
                400 * 0.5 * (a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);
    }
    // The bar has bent: what pushed down pushes sideways, too.
    assert_true(force[1] < -10 && fabs(force[0]) > 1);
    for (int i = 0; i < 3; i++)
        if (!(fabs(found.force[i] + force[i]) < 1e-4 * 16))
            fail_msg("direction %d: reaction %g, pressure %g", i, found.force[i], force[i]);
    hk_world_free(w);
}

// ---------------------------------------------------------------- torque

static void test_torque(void **state)
{
    (void)state;
    conditions c = {.fixes = {LEFT}, .axes = {HK_ALL_AXES}, .fix_count = 1, .load_count = 1};
    c.loads[0] = hk_default_load_def();
    c.loads[0].select = RIGHT;
    c.loads[0].moment = 0.05;
    c.loads[0].axis[0] = 2;
    c.loads[0].center[0] = 7, c.loads[0].center[1] = c.loads[0].center[2] = 0.05;
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    const hk_model *m = hk_world_model(w);
    double moment = 0, net[3] = {0};
    for (int v = 0; v < m->vertex_count; v++) {
        const double *f = m->load + 3 * v, *X = m->rest + 3 * v;
        moment += (X[1] - 0.05) * f[2] - (X[2] - 0.05) * f[1];
        for (int i = 0; i < 3; i++) net[i] += f[i];
    }
    assert_true(fabs(moment - 0.05) < 1e-12);
    for (int i = 0; i < 3; i++) assert_true(fabs(net[i]) < 1e-12);
    hk_step_report r;
    hk_reaction found;
    CHECK_OK(hk_world_pose(w, &r));
    CHECK_OK(hk_world_reactions(w, &found, NULL));
    assert_true(fabs(found.moment[0] + 0.05) < 2e-3 * 0.05);
    hk_world_free(w);
}

// ---------------------------------------------------------------- functions of the time

// Of a free body the momentum is the sum of the forces at the ends of the steps.
static void test_functions_of_the_time(void **state)
{
    (void)state;
    static const double table[] = {0, 0, 0.02, 4, 0.03, 4, 0.05, 0};
    conditions c = {
        .loads = {force_on(ALL, 1, 0, 0), force_on(ALL, 0, 1, 0), force_on(ALL, 0, 0, 1)},
        .load_count = 3,
        .gravity = {0, 0, -2},
        .gravity_factor = {.formula = "cos(10*t)"}};
    c.loads[0].factor.formula = "sin(2*pi*t/0.1)";
    c.loads[1].factor = (hk_factor_def){.table = table, .table_count = 4};
    c.loads[2].factor.over = 0.025;
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    const hk_model *m = hk_world_model(w);
    double expected[3] = {0}, momentum[3] = {0}, mass = 4;
    static const double y[] = {2, 4, 4, 2, 0, 0}, z[] = {0.4, 0.8, 1, 1, 1, 1};
    for (int k = 0; k < 6; k++) {
        double t = 0.01 * (k + 1);
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        expected[0] += 0.01 * sin(2 * M_PI * t / 0.1);
        expected[1] += 0.01 * y[k];
        expected[2] += 0.01 * (z[k] - 2 * mass * cos(10 * t));
    }
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) momentum[i] += m->mass[v] * hk_world_velocities(w)[3 * v + i];
    for (int i = 0; i < 3; i++)
        if (!(fabs(momentum[i] - expected[i]) < 1e-8))
            fail_msg("direction %d: momentum %.12g, expected %.12g", i, momentum[i], expected[i]);
    hk_world_free(w);
}

static void test_moves_by_formula(void **state)
{
    (void)state;
    conditions c = {.move_count = 1, .move = hk_default_move_def()};
    c.move.select = LEFT;
    c.move.motion.translate[1] = 0.1;
    c.move.motion.formula = "sin(20*t)";
    hk_world *w = make(&c, &NEWTON, "newton", 0.01);
    for (int k = 1; k <= 5; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        const double *X = hk_model_rest_positions(hk_world_model(w));
        for (int v = 0; v < hk_model_vertex_count(hk_world_model(w)); v++)
            if (X[3 * v] == 0)
                assert_true(fabs(hk_world_positions(w)[3 * v + 1] - X[3 * v + 1] -
                                 0.1 * sin(0.2 * k)) < 1e-12);
    }
    hk_world_free(w);
}

static void test_wrong_functions(void **state)
{
    (void)state;
    static const double table[] = {0, 0, 0, 1};
    hk_time_factor *f;
    assert_int_equal(hk_time_factor_create(&(hk_factor_def){.formula = "2*"}, &f), HK_BAD_INPUT);
    assert_int_equal(hk_time_factor_create(&(hk_factor_def){.table = table, .table_count = 2}, &f),
                     HK_BAD_INPUT);
    assert_int_equal(hk_time_factor_create(&(hk_factor_def){.over = -1}, &f), HK_BAD_INPUT);
    CHECK_OK(hk_time_factor_create(&(hk_factor_def){0}, &f));
    assert_null(f);
    assert_true(hk_time_factor_value(NULL, 3) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes_in_all_methods),
        cmocka_unit_test(test_linear_implicit),
        cmocka_unit_test(test_rollers_slide),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_reactions),
        cmocka_unit_test(test_pressure_in_all_methods),
        cmocka_unit_test(test_pressure_is_exact),
        cmocka_unit_test(test_pressure_follows),
        cmocka_unit_test(test_torque),
        cmocka_unit_test(test_functions_of_the_time),
        cmocka_unit_test(test_moves_by_formula),
        cmocka_unit_test(test_wrong_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
