// Attachments with dampers: every method has the force −k (x − X) − c (ẋ − Ẋ), and ε and its
// gradient are of one potential.
#include <math.h>
#include <string.h>

#include "bodies.h"
#include "core/base.h"
#include "world/world.h"

// One tet, whose vertices have equal masses, and each its spring and damper: it moves as a point.
static const double g_corners[] = {0, 0, 0, 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1};
static const int32_t g_tet[] = {0, 1, 2, 3};
#define STIFFNESS 200.0
#define DAMPING   3.0
#define DENSITY   1000.0
#define OVER      0.05

enum { STEPS = SANITIZED ? 3 : 8 };

typedef struct damped_case {
    const char *method, *material;
    hk_option options[2];
    int iterations;
    double error;  // of positions, m
} damped_case;

static const damped_case g_cases[] = {
    {"newton", "neo_hookean", {{0}}, 100, 1e-9},
    {"descent", "neo_hookean", {{"precision", 0, "double"}}, 20000, 1e-7},
    {"gradient_descent", "neo_hookean", {{0}}, 20000, 1e-7},
    {"nonlinear_cg", "neo_hookean", {{0}}, 5000, 1e-8},
    {"lbfgs", "neo_hookean", {{0}}, 5000, 1e-8},
    {"quasi_newton", "neo_hookean", {{0}}, 1000, 1e-8},
    {"projective", "arap", {{"precision", 0, "double"}}, 5000, 1e-7},
    {"split", "corotated", {{0}}, 300, 1e-6},
    {"admm", "neo_hookean", {{0}}, 3000, 1e-6},
    {"vbd", "neo_hookean", {{"precision", 0, "double"}}, 3000, 1e-7},
    {"xpbd", "neo_hookean", {{"precision", 0, "double"}, {"substeps", 1, NULL}}, 3000, 1e-7},
    {"linear_implicit",
     "stvk",
     {{"accuracy", 1e-12, NULL}, {"correction_velocity", 0, NULL}},
     300,
     1e-7},
};

static hk_model *one_tet(const char *material, double damping, double way)
{
    hk_mesh *mesh;
    hk_model *model;
    CHECK_OK(hk_mesh_from_arrays(4, g_corners, 1, g_tet, 0, NULL, &mesh));
    hk_attach_def attach = hk_default_attach_def();
    attach.stiffness = STIFFNESS;
    attach.damping = damping;
    attach.motion.translate[0] = way;
    attach.motion.over = OVER;
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = material;
    body.material.young = 1e5;
    body.material.poisson = 0.3;
    body.material.density = DENSITY;
    body.attachments = &attach;
    body.attachment_count = 1;
    body.velocity[1] = 0.4;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    memset(def.gravity, 0, sizeof def.gravity);
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_world *damped_world(const damped_case *c, const char *integrator, double h, double way)
{
    hk_model *model = one_tet(c->material, DAMPING, way);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = h;
    def.integrator = integrator;
    def.solver.method = c->method;
    def.solver.options = c->options;
    def.solver.option_count = !!c->options[0].name + !!c->options[1].name;
    def.solver.iterations = c->iterations;
    def.solver.tolerance = 1e-12;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void step_once(hk_world *world)
{
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
        fail_msg("%s: %s, %s", hk_world_method(world), hk_reason_name(r.reason), r.detail);
}

// m (x' − x − h v)/h² + k (x' − X') + c ((x' − x) − (X' − X))/h = 0 in every step.
static void test_methods_step_as_a_point(void **state)
{
    (void)state;
    const double h = 0.01, way = 0.03, m = DENSITY * 1e-3 / 6 / 4;
    for (int k = 0; k < HK_COUNT_OF(g_cases); k++) {
        const damped_case *c = &g_cases[k];
#ifndef HOOKE_DIRECT
        if (strcmp(c->method, "newton") == 0) continue;
#endif
        hk_world *world = damped_world(c, "backward_euler", h, way);
        double x[3] = {0}, v[3] = {0, 0.4, 0}, place[3] = {0};
        for (int n = 1; n <= STEPS; n++) {
            step_once(world);
            for (int i = 0; i < 3; i++) {
                double to = i == 0 ? way * fmin(1, n * h / OVER) : 0;
                double next = (m * (x[i] + h * v[i]) / (h * h) + STIFFNESS * to +
                               DAMPING * (x[i] + to - place[i]) / h) /
                              (m / (h * h) + STIFFNESS + DAMPING / h);
                v[i] = (next - x[i]) / h;
                x[i] = next;
                place[i] = to;
            }
            const double *now = hk_world_positions(world);
            for (int i = 0; i < 12; i++)
                if (!(fabs(now[i] - g_corners[i] - x[i % 3]) < c->error))
                    fail_msg("%s, step %d: %g instead of %g", c->method, n, now[i] - g_corners[i],
                             x[i % 3]);
        }
        hk_world_free(world);
    }
}

// A vertex that is let go at 0.4 m/s: x = v/ω e^(−δt) sin ωt, by every integrator.
static void test_integrators(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    static const char *const names[] = {"backward_euler", "bdf2", "implicit_midpoint", "newmark",
                                        "trbdf2"};
    const double m = DENSITY * 1e-3 / 6 / 4, end = 0.05;
    double decay = DAMPING / (2 * m), root = STIFFNESS / m - decay * decay;
    double rate = sqrt(fabs(root));
    double exact = 0.4 / rate * exp(-decay * end) * (root > 0 ? sin(rate * end) : sinh(rate * end));
    for (int k = 0; k < HK_COUNT_OF(names); k++) {
        double error[2];
        for (int n = 0; n < 2; n++) {
            int steps = n ? 400 : 200;
            hk_world *world = damped_world(&g_cases[0], names[k], end / steps, 0);
            for (int s = 0; s < steps; s++) step_once(world);
            error[n] = fabs(hk_world_positions(world)[1] - exact) / fabs(exact);
            hk_world_free(world);
        }
        double order = log2(error[0] / error[1]);
        if (!(error[1] < (k == 0 ? 0.1 : 0.01)) || !(order > (k == 0 ? 0.9 : 1.7)))
            fail_msg("%s: errors %g and %g, order %.2f", names[k], error[0], error[1], order);
    }
}

// The gradient of ε is that of differences, and the Hessian of a damper is c/h.
static void test_potential(void **state)
{
    (void)state;
    hk_model *model = one_tet("neo_hookean", DAMPING, 0.03);
    hk_problem *p;
    CHECK_OK(hk_problem_create(model, 1, NULL, &p));
    _Alignas(64) double from[16] = {0};
    _Alignas(64) double x[16] = {0};
    _Alignas(64) double gradient[16], other[16];
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) {
            int at = 4 * model->place[v] + i;
            from[at] = g_corners[3 * v + i] + 0.001 * (v - i);
            x[at] = g_corners[3 * v + i] + 0.002 * (i * v + 1);
        }
    memcpy(p->y, from, sizeof from);
    const double h = 0.01;
    hk_stage_begin stage = {
        .weight = 1 / (h * h),
        .terms = {.h = h, .from = from, .state = from, .contact = 1, .time = 0.02}};
    CHECK_OK(hk_problem_begin_step(p, &stage));
    hk_terms_place(p->terms, &(hk_when){.time = 0.02});
    hk_problem_gradient(p, x, gradient, NULL, NULL);
    for (int k = 0; k < 16; k++) {
        double kept = x[k], e = 1e-6, energy[2];
        if (k % 4 == 3) continue;
        for (int s = 0; s < 2; s++) {
            x[k] = kept + (s ? e : -e);
            energy[s] = hk_problem_energy(p, x);
        }
        x[k] = kept;
        double slope = (energy[1] - energy[0]) / (2 * e);
        if (!(fabs(slope - gradient[k]) < 1e-5 * (1 + fabs(gradient[k]))))
            fail_msg("%d: slope %g, gradient %g", k, slope, gradient[k]);
    }
    // Without dampers, and the force of them alone.
    hk_model *plain = one_tet("neo_hookean", 0, 0.03);
    hk_problem *q;
    CHECK_OK(hk_problem_create(plain, 1, NULL, &q));
    memcpy(q->y, from, sizeof from);
    CHECK_OK(hk_problem_begin_step(q, &stage));
    hk_terms_place(q->terms, &(hk_when){.time = 0.02});
    hk_problem_gradient(q, x, other, NULL, NULL);
    for (int k = 0; k < 16; k++) {
        if (k % 4 == 3) continue;
        double speed = (x[k] - from[k]) / h - (k % 4 == 0 ? 0.03 / OVER : 0);
        if (!(fabs(gradient[k] - other[k] - DAMPING * speed) < 1e-9))
            fail_msg("%d: force %g of a damper at %g m/s", k, gradient[k] - other[k], speed);
        if (!(fabs(p->inertia[k / 4] - q->inertia[k / 4] - DAMPING / h) < 1e-9))
            fail_msg("vertex %d: inertia %g", k / 4, p->inertia[k / 4]);
    }
    hk_problem_free(q);
    hk_problem_free(p);
    hk_model_free(plain);
    hk_model_free(model);
}

static void test_bad_input(void **state)
{
    (void)state;
    hk_mesh *mesh;
    hk_model *model;
    CHECK_OK(hk_mesh_from_arrays(4, g_corners, 1, g_tet, 0, NULL, &mesh));
    hk_attach_def attach = hk_default_attach_def();
    assert_true(attach.damping == 0);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.attachments = &attach;
    body.attachment_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    const double bad[] = {-1, NAN, INFINITY, 2};  // the last one without a spring
    for (int k = 0; k < HK_COUNT_OF(bad); k++) {
        attach.stiffness = k < 3 ? 1 : 0;
        attach.damping = bad[k];
        assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
        assert_non_null(strstr(hk_error(), "damping"));
    }
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_step_as_a_point),
        cmocka_unit_test(test_integrators),
        cmocka_unit_test(test_potential),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
