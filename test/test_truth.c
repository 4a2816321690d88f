// No false word: what a report says of a step is true of the state, for every method, from jelly to
// steel, from a centimetre to a hundred metres.
//
// The residual of a report is compared with one that is evaluated here, in double precision, from
// positions before and after the step. Where ε is convex a residual g bounds the distance to the
// minimiser: inertia alone has w ‖x − x*‖²_M ≤ g·(x − x*), so that ‖x − x*‖_M ≤ h² ‖g‖ / √m with
// the least mass m of a vertex. Newton's state is the minimiser but for its own residual.
#include "bodies.h"

#include "model/model.h"

#define GRAVITY -9.81
#define STEP    0.01
enum { MOST_VERTICES = 256 };

typedef struct stuff {
    const char *name;
    double young, poisson, density;
} stuff;
static const stuff STUFFS[] = {
    {"steel", 200e9, 0.3, 7800}, {"rubber", 1e6, 0.45, 1100}, {"jelly", 1e3, 0.45, 1000}};

typedef enum task { FALLING, HANGING, TWO } task;
static const char *const TASKS[] = {"falling", "hanging", "two bodies"};

typedef struct variant {
    const char *method;
    hk_option option;
    int iterations;  // 0: the method's own
} variant;
#define SINGLE                   \
    {                            \
        "precision", 0, "single" \
    }
#define DOUBLE                   \
    {                            \
        "precision", 0, "double" \
    }
static const variant VARIANTS[] = {
    {.method = "newton"},
    {.method = "quasi_newton"},
    {.method = "quasi_newton", .option = SINGLE},
    {.method = "lbfgs"},
    {.method = "lbfgs", .option = SINGLE},
    {.method = "nonlinear_cg", .option = SINGLE},
    {.method = "gradient_descent", .option = SINGLE},
    {.method = "descent"},
    {.method = "descent", .iterations = 3000},
    {.method = "descent", .option = DOUBLE, .iterations = 3000},
    {.method = "vbd"},
    {.method = "vbd", .iterations = 1000},
    {.method = "admm"},
    {.method = "admm", .iterations = 300},
    {.method = "projective"},
    {.method = "projective", .iterations = 300},
    {.method = "split"},
    {.method = "split", .iterations = 50},
    {.method = "xpbd"},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof VARIANTS[0] };

// ---------------------------------------------------------------- scenes

static hk_body_def bar_of(const variant *v, const stuff *s, double stiffer, hk_mesh *mesh)
{
    bool projective = strcmp(v->method, "projective") == 0;
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of(projective ? "arap" : "corotated", stiffer * s->young, s->poisson);
    body.material.density = s->density;
    return body;
}

// A bar, and in the last task a second one that is a million times stiffer, held beside it.
static hk_model *scene(const variant *v, const stuff *s, double size, task t)
{
    hk_mesh *mesh = box_mesh(size, 0.25 * size, 0.25 * size, 6, 2, 2);
    hk_body_def bodies[2] = {bar_of(v, s, 1, mesh), bar_of(v, s, 1e6, mesh)};
    hk_selector left = select_box(-1e-6 * size, -size, -size, 1e-6 * size, 2 * size, 2 * size);
    for (int b = 0; b < 2 && t != FALLING; b++) {
        bodies[b].fixes = &left;
        bodies[b].fix_count = 1;
    }
    bodies[1].transform.translate[2] = size;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = t == TWO ? 2 : 1;
    def.gravity[1] = GRAVITY;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_world *world_by(hk_model *model, const variant *v)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = STEP;
    def.threads = 1;
    def.solver.method = v->method;
    def.solver.iterations = v->iterations;
    def.solver.options = &v->option;
    def.solver.option_count = v->option.name != NULL;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// ---------------------------------------------------------------- a step, looked at from outside

typedef struct look {
    double residual, scale;  // N
    double noise;            // N, of this evaluation
} look;

static double norm(const double *a, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++) sum += a[k] * a[k];
    return sqrt(sum);
}

static look look_at(hk_world *world, const double *x, const double *v)
{
    static double gradient[3 * MOST_VERTICES], elastic[3 * MOST_VERTICES];
    static double external[3 * MOST_VERTICES], inertia[3 * MOST_VERTICES], whole[3 * MOST_VERTICES];
    const hk_model *m = hk_world_model(world);
    const double *to = hk_world_positions(world), *mass = hk_model_masses(m);
    int count = 3 * hk_model_vertex_count(m);
    assert_true(count <= 3 * MOST_VERTICES);
    double noise = 0;
    CHECK_OK(hk_world_energy(world, NULL, gradient));
    for (int k = 0; k < count; k++) {
        bool held = m->hold[k / 3] != HK_FREE;
        external[k] = k % 3 == 1 ? mass[k / 3] * GRAVITY : 0;
        elastic[k] = gradient[k] + external[k];
        inertia[k] = held ? 0 : mass[k / 3] * (to[k] - x[k] - STEP * v[k]) / (STEP * STEP);
        whole[k] = held ? 0 : gradient[k] + inertia[k];
        noise = fmax(noise, mass[k / 3] / (STEP * STEP) * fabs(to[k]));
    }
    double scale = fmax(norm(elastic, count), fmax(norm(external, count), norm(inertia, count)));
    return (look){norm(whole, count), scale, 4e-16 * noise * sqrt(count)};
}

// ‖a − b‖_M and the least mass.
static double distance(const hk_world *a, const hk_world *b, double *least)
{
    const hk_model *m = hk_world_model(a);
    const double *x = hk_world_positions(a), *y = hk_world_positions(b);
    const double *mass = hk_model_masses(m);
    double sum = 0;
    *least = INFINITY;
    for (int k = 0; k < 3 * hk_model_vertex_count(m); k++) {
        sum += mass[k / 3] * (x[k] - y[k]) * (x[k] - y[k]);
        *least = fmin(*least, mass[k / 3]);
    }
    return sqrt(sum);
}

static double tolerance_of(const char *method)
{
    return strcmp(method, "newton") == 0 ? 1e-8 : strcmp(method, "split") == 0 ? 1e-4 : 1e-6;
}

// What the report says is so.
static void check_words(const char *what, const variant *v, const hk_step_report *r, look at)
{
    double tolerance = tolerance_of(v->method), allowed = 0.05 * at.residual + 2 * at.noise;
    if (r->reason == HK_FIXED_WORK) {
        assert_true(isnan(r->residual) && isnan(r->relative_residual));
        return;
    }
    // Single precision tells its residual within its rounding, where it did not go beyond.
    if (!(fabs(r->residual - at.residual) <= allowed))
        fail_msg("%s: %s says %g N, it is %g N (%s)", what, hk_reason_name(r->reason), r->residual,
                 at.residual, r->detail);
    if (!(fabs(r->relative_residual * at.scale - at.residual) <= 0.05 * at.residual + 2 * at.noise))
        fail_msg("%s: %s says relative %g, it is %g", what, hk_reason_name(r->reason),
                 r->relative_residual, at.residual / at.scale);
    if (r->reason == HK_CONVERGED &&
        !(at.residual <= tolerance * at.scale + 2 * at.noise && r->relative_residual <= tolerance))
        fail_msg("%s: converged with a relative residual of %g", what, at.residual / at.scale);
    if (r->reason == HK_PRECISION_LIMIT &&
        !(r->relative_residual > tolerance &&
          at.residual <= 10 * r->rounding + tolerance * at.scale + 2 * at.noise))
        fail_msg("%s: precision limit at %g N, rounding %g N", what, at.residual, r->rounding);
}

// Two steps by Newton, then the same third one by both.
static void check_case(const variant *v, const stuff *s, double size, task t, int counts[])
{
    static const variant truth = {.method = "newton"};
    static double x[3 * MOST_VERTICES], velocity[3 * MOST_VERTICES];
    hk_model *model = scene(v, s, size, t);
    hk_world *newton = world_by(model, &truth), *world = world_by(model, v);
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
    hk_step_report r, best;
    char what[160];
    snprintf(what, sizeof what, "%s%s%s, %d iterations, %s, %g m, %s", v->method,
             v->option.text ? " " : "", v->option.text ? v->option.text : "", v->iterations,
             s->name, size, TASKS[t]);
    for (int k = 0; k < 2; k++) CHECK_OK(hk_world_step(newton, &best));
    CHECK_OK(hk_world_copy_state(world, newton));
    memcpy(x, hk_world_positions(newton), bytes);
    memcpy(velocity, hk_world_velocities(newton), bytes);
    CHECK_OK(hk_world_step(newton, &best));
    CHECK_OK(hk_world_step(world, &r));
    if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
        fail_msg("%s: %s, %s", what, hk_reason_name(r.reason), r.detail);
    look at = look_at(world, x, velocity);
    check_words(what, v, &r, at);
    double least, far = distance(world, newton, &least);
    double residual = at.residual + best.residual + at.noise;
    double bound = 2 * STEP * STEP * residual / sqrt(least) + 1e-14 * size * sqrt(least);
    if (r.reason != HK_FIXED_WORK && !(far <= bound))
        fail_msg("%s: %s, but off by %g (at most %g)", what, hk_reason_name(r.reason), far, bound);
    counts[r.reason]++;
    hk_world_free(world);
    hk_world_free(newton);
    hk_model_free(model);
}

static void test_words(void **state)
{
    (void)state;
    static const double sizes[] = {0.01, 1, 100};
    int counts[HK_PRECISION_LIMIT + 1] = {0}, number = 0;
    for (int v = 0; v < VARIANT_COUNT; v++)
        for (int s = 0; s < 3; s++)
            for (int z = 0; z < 3; z++)
                for (int t = FALLING; t <= TWO; t++)
                    if (!SANITIZED || number++ % 7 == 0)
                        check_case(&VARIANTS[v], &STUFFS[s], sizes[z], (task)t, counts);
    for (int k = 0; k <= HK_PRECISION_LIMIT; k++)
        if (counts[k]) printf("%s: %d\n", hk_reason_name((hk_reason)k), counts[k]);
    assert_true(counts[HK_CONVERGED] > 0 && counts[HK_ITERATION_LIMIT] > 0);
}

// ---------------------------------------------------------------- what went wrong once

static double lowest(const hk_world *world, int body)
{
    const hk_model *m = hk_world_model(world);
    int end = body + 1 < hk_model_body_count(m) ? hk_model_body_start(m, body + 1)
                                                : hk_model_vertex_count(m);
    double y = INFINITY;
    for (int v = hk_model_body_start(m, body); v < end; v++)
        y = fmin(y, hk_world_positions(world)[3 * v + 1]);
    return y;
}

// A free bar of steel falls as far as Galilei has it, with the budgets that methods have.
static void test_free_steel_falls(void **state)
{
    (void)state;
    static const variant free_bar[] = {{.method = "newton"},
                                       {.method = "quasi_newton"},
                                       {.method = "descent"},
                                       {.method = "descent", .iterations = 4000},
                                       {.method = "vbd"},
                                       {.method = "vbd", .iterations = 2000},
                                       {.method = "admm"},
                                       {.method = "admm", .iterations = 1000},
                                       {.method = "projective", .iterations = 200}};
    int steps = SANITIZED ? 3 : 20;
    for (size_t k = 0; k < sizeof free_bar / sizeof free_bar[0]; k++) {
        const variant *v = &free_bar[k];
        hk_mesh *mesh = box_mesh(1, 0.1, 0.1, 10, 1, 1);
        hk_body_def body = bar_of(v, &STUFFS[0], 1, mesh);
        hk_model *model = model_of(&body, mesh, GRAVITY);
        hk_world *world = world_by(model, v);
        hk_model_free(model);
        double fall = 0, worst = 0;
        bool done = true;
        for (int n = 0; n < steps; n++) {
            hk_step_report r;
            CHECK_OK(hk_world_step(world, &r));
            done = done && (r.reason == HK_CONVERGED || r.reason == HK_PRECISION_LIMIT);
            worst = fmax(worst, r.relative_residual);
            fall += (n + 1) * -GRAVITY * STEP * STEP;
        }
        double right = fabs(lowest(world, 0) + fall) / fall;
        printf("%s, %d iterations: %s, residual %.1e, off by %.1e of the fall\n", v->method,
               v->iterations, done ? "done" : "not done", worst, right);
        assert_true(done && right < 1e-9);
        hk_world_free(world);
    }
}

// A stiff body elsewhere in the scene takes nothing from what a soft one does.
static void test_beside_a_stiff_body(void **state)
{
    (void)state;
    static const variant methods[] = {{.method = "descent", .iterations = 1000},
                                      {.method = "vbd", .iterations = 400},
                                      {.method = "admm", .iterations = 400},
                                      {.method = "quasi_newton", .option = SINGLE},
                                      {.method = "projective", .iterations = 400}};
    const stuff soft = {"soft", 1e4, 0.4, 1000};
    for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
        hk_world *world[2];
        for (int both = 0; both < 2; both++) {
            hk_model *model = scene(&methods[k], &soft, 1, both ? TWO : HANGING);
            world[both] = world_by(model, &methods[k]);
            hk_model_free(model);
        }
        for (int n = 0; n < (SANITIZED ? 3 : 15); n++)
            for (int both = 0; both < 2; both++) {
                hk_step_report r;
                CHECK_OK(hk_world_step(world[both], &r));
            }
        double alone = lowest(world[0], 0), beside = lowest(world[1], 0);
        printf("%s: lowest at %g alone, %g beside\n", methods[k].method, alone, beside);
        assert_true(alone < (SANITIZED ? -1e-3 : -0.05));
        assert_true(fabs(alone - beside) < 0.01 * fabs(alone));
        hk_world_free(world[0]);
        hk_world_free(world[1]);
    }
}

// What rounding does to the step length at the end of a step is nothing for the next one.
static void test_step_length_after_rounding(void **state)
{
    (void)state;
    hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", NAN, 0.4);
    body.material.parameters[0] = (hk_parameter){"mu", 150e3};
    body.material.parameters[1] = (hk_parameter){"lambda", 600e3};
    body.material.parameter_count = 2;
    body.fixes = &left;
    body.fix_count = 1;
    hk_option precise = DOUBLE;
    hk_world_def def = hk_default_world_def();
    def.model = model_of(&body, box_mesh(1, 0.2, 0.2, 20, 4, 4), GRAVITY);
    def.step = 1.0 / 30;
    def.threads = 1;
    def.solver.method = "descent";
    def.solver.tolerance = 1e-7;
    def.solver.iterations = 5000;
    def.solver.options = &precise;
    def.solver.option_count = 1;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free((hk_model *)def.model);
    for (int n = 0; n < 4; n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        printf("step %d: %s after %d iterations\n", n, hk_reason_name(r.reason), r.iterations);
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_true(r.iterations < 2500);
    }
    hk_world_free(world);
}

// A pose whose iterations are spent keeps what it has come to, and says so; with its own budget it
// comes to the end.
static void test_pose_keeps_what_it_reached(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        variant v = {.method = "quasi_newton", .iterations = k ? 0 : 40};
        hk_model *model = scene(&v, &STUFFS[1], 1, HANGING);
        hk_world *world = world_by(model, &v);
        hk_step_report r;
        CHECK_OK(hk_world_pose(world, &r));
        printf("pose: %s after %d iterations, relative residual %.1e\n", hk_reason_name(r.reason),
               r.iterations, r.relative_residual);
        assert_int_equal(r.reason, k ? HK_CONVERGED : HK_ITERATION_LIMIT);
        assert_true(k || (r.relative_residual > 1e-6 && r.relative_residual < 1e-2));
        assert_true(lowest(world, 0) < -1e-3);
        hk_world_free(world);
        hk_model_free(model);
    }
}

// Forces that overflow are no scale. (With ν < 0 this law has no minimum when it is pulled far.)
static void test_overflow_is_no_convergence(void **state)
{
    (void)state;
    hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1),
                right = select_box(1 - 1e-6, -1, -1, 2, 1, 1);
    hk_move_def pull = {.def_size = sizeof(hk_move_def),
                        .select = right,
                        .motion = {.axis = {1}, .translate = {2, 0, 0}, .over = 1}};
    hk_body_def body = hk_default_body_def();
    body.material = material_of("fixed_corotated", 1e5, -0.1);
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &pull;
    body.move_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 5, 2, 2), 0);
    hk_world *world = world_by(model, &(variant){.method = "newton"});
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    printf("pulled: %s, %g N, %s\n", hk_reason_name(r.reason), r.residual, r.detail);
    assert_true(r.reason != HK_CONVERGED || r.residual < 1);
    assert_true(r.residual < 1e6);
    hk_world_free(world);
    hk_model_free(model);
}

// Where no force is at work, a body that rests or drifts along has converged.
static void test_no_forces(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "descent", "vbd", "admm"};
    for (int k = 0; k < 10; k++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of("corotated", 200e9, 0.3);
        body.material.density = 7800;
        body.velocity[0] = k < 5 ? 0 : 3;
        hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 5, 2, 2), 0);
        hk_world *world = world_by(model, &(variant){.method = methods[k % 5]});
        hk_model_free(model);
        for (int n = 0; n < 5; n++) {
            hk_step_report r;
            CHECK_OK(hk_world_step(world, &r));
            if (r.reason != HK_CONVERGED)
                fail_msg("%s, step %d: %s, %s", methods[k % 5], n, hk_reason_name(r.reason),
                         r.detail);
        }
        hk_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_free_steel_falls),
        cmocka_unit_test(test_beside_a_stiff_body),
        cmocka_unit_test(test_step_length_after_rounding),
        cmocka_unit_test(test_pose_keeps_what_it_reached),
        cmocka_unit_test(test_overflow_is_no_convergence),
        cmocka_unit_test(test_no_forces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
