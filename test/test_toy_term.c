// A toy term, plane_springs.h, in one file and one line: every method comes to Newton's answer with
// it, in time steps and poses, on the CPU and, where there is a device, on the GPU.
#include "live.h"
#include "gpu/gpu.h"
#include "plane_springs.h"
#include "solver/problem.h"

typedef struct toy_case {
    const char *label, *method, *material, *option, *word;
    int iterations;
    double tolerance;  // of positions, relative to the motion
    bool poses;        // as well; in single precision projective ends at 1e-3 there, with any term
} toy_case;

static const toy_case CASES[] = {
    {"descent", "descent", "neo_hookean", NULL, NULL, 3000, 2e-5, true},
    {"descent, double", "descent", "neo_hookean", "precision", "double", 20000, 1e-7, true},
    {"projective", "projective", "arap", NULL, NULL, 8000, 2e-5, false},
    {"projective, double", "projective", "arap", "precision", "double", 8000, 1e-7, true},
    {"projective, chebyshev", "projective", "arap", "global", "chebyshev", 8000, 2e-5, false},
    {"projective, gauss_seidel", "projective", "arap", "global", "gauss_seidel", 8000, 2e-5, false},
    {"projective, cg", "projective", "arap", "global", "cg", 8000, 2e-5, false},
    {"gradient_descent", "gradient_descent", "neo_hookean", NULL, NULL, 20000, 1e-6, false},
    {"nonlinear_cg", "nonlinear_cg", "neo_hookean", NULL, NULL, 5000, 1e-7, true},
    {"lbfgs", "lbfgs", "neo_hookean", NULL, NULL, 5000, 1e-7, true},
    {"quasi_newton", "quasi_newton", "neo_hookean", NULL, NULL, 600, 1e-7, true},
    {"quasi_newton, rest", "quasi_newton", "neo_hookean", "initial", "rest_hessian", 600, 1e-7,
     true},
    {"split, passes", "split", "corotated", NULL, NULL, 300, 2e-5, true},
    {"admm", "admm", "neo_hookean", NULL, NULL, 3000, 2e-5, true},
    {"vbd", "vbd", "neo_hookean", NULL, NULL, 2000, 2e-5, true},
    {"vbd, careful", "vbd", "neo_hookean", "steps", "careful", 2000, 2e-5, true},
    // One solve: how near it comes is its own, not the term's.
    {"split", "split", "corotated", NULL, NULL, 1, 0.2, false},
    {"xpbd", "xpbd", "neo_hookean", "precision", "double", 3000, 1e-9, false},
};

static hk_world *toy_world(const toy_case *c, hk_backend backend, const char *method)
{
    live_case shape = {c->label,     method,
                       c->material,  method == c->method ? c->option : NULL,
                       c->word,      method == c->method ? c->iterations : 200,
                       c->tolerance, 1e-9,
                       NULL};
    return live_world(&shape, backend, NO_EDIT);
}

static double run(const toy_case *c, hk_backend backend, const char *against, bool pose)
{
    hk_world *w = toy_world(c, backend, c->method);
    hk_world *truth = toy_world(c, HK_BACKEND_CPU, against);
    hk_step_report r;
    for (int k = 0; k < (pose ? 1 : SANITIZED ? 3 : 8); k++) {
        CHECK_OK(pose ? hk_world_pose(w, &r) : hk_world_step(w, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s: %s, %s", c->label, hk_reason_name(r.reason), r.detail);
        CHECK_OK(pose ? hk_world_pose(truth, &r) : hk_world_step(truth, &r));
    }
    double away = relative_distance(w, truth);
    if (getenv("HOOKE_TABLE"))
        printf("%-26s %-5s %-6s %9.2e\n", c->label, hk_world_backend(w), pose ? "pose" : "steps",
               away);
    hk_world_free(w);
    hk_world_free(truth);
    return away;
}

static void check(const toy_case *c, hk_backend backend, const char *against, bool pose)
{
    double away = run(c, backend, against, pose);
    if (!(away < c->tolerance))
        fail_msg("%s, %s: %g of the motion from %s", c->label, pose ? "pose" : "steps", away,
                 against);
}

static void need_newton(void)
{
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
}

static void test_methods_come_to_newtons_answer(void **state)
{
    (void)state;
    need_newton();
    for (int k = 0; k < (int)(sizeof CASES / sizeof CASES[0]); k++) {
        check(&CASES[k], HK_BACKEND_CPU, "newton", false);
        if (CASES[k].poses) check(&CASES[k], HK_BACKEND_CPU, "newton", true);
    }
}

// Newton's own answer: forces are in balance, and the springs are among them.
static void test_balance(void **state)
{
    (void)state;
    need_newton();
    hk_world *w = toy_world(&CASES[0], HK_BACKEND_CPU, "newton");
    const hk_model *m = hk_world_model(w);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    int n = hk_model_vertex_count(m);
    double *gradient = malloc(3 * sizeof(double) * (size_t)n), sum[3] = {0, -4, 0}, springs = 0;
    CHECK_OK(hk_world_energy(w, NULL, gradient));
    for (int v = 0; v < n; v++) {
        sum[1] += 9.81 * hk_model_masses(m)[v];
        for (int i = 0; i < 3 && hk_model_rest_positions(m)[3 * v] == 0; i++)
            sum[i] -= gradient[3 * v + i];
        const double *x = hk_world_positions(w) + 3 * v;
        double force = 300 * (0.6 * x[0] + 0.8 * x[1] - 0.35);
        if (v % 10 != 0) continue;
        sum[0] += 0.6 * force, sum[1] += 0.8 * force;
        springs += fabs(force);
    }
    assert_true(springs > 10);
    for (int i = 0; i < 3; i++)
        if (!(fabs(sum[i]) < 1e-5 * springs)) fail_msg("direction %d: %g N are left", i, sum[i]);
    free(gradient);
    hk_world_free(w);
}

static void test_on_the_gpu(void **state)
{
    (void)state;
    static const toy_case cases[] = {
        {"descent", "descent", "neo_hookean", NULL, NULL, 800, 2e-4, false},
        {"vbd", "vbd", "neo_hookean", NULL, NULL, 200, 2e-4, false},
        {"vbd, careful", "vbd", "neo_hookean", "steps", "careful", 200, 2e-4, false},
        {"quasi_newton", "quasi_newton", "neo_hookean", NULL, NULL, 200, 2e-4, false},
        {"projective", "projective", "arap", "global", "chebyshev", 800, 2e-4, false},
    };
    char why[256];
    if (!hk_gpu_found(why, sizeof why)) SKIP("%s", why);
    for (int k = 0; k < (int)(sizeof cases / sizeof cases[0]); k++)
        check(&cases[k], HK_BACKEND_CUDA, "lbfgs", false);  // without a direct solver, too
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_methods_come_to_newtons_answer),
        cmocka_unit_test(test_on_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
