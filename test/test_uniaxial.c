// Blocks under uniaxial stress: simulated, they stretch as the law alone says.
#include "bodies.h"

#include "../bench/uniaxial.h"

#define YOUNG   1e5
#define POISSON 0.3

static hk_solver_def exact_newton(void)
{
    hk_solver_def solver = hk_default_solver_def();
    solver.tolerance = 1e-10;
    return solver;
}

// The closed form itself, where it can be written down: for stvk P = E/2 (λ³ − λ) and
// ν² = 1 − ν₀ (λ² − 1), for arap P = 2μ (λ − 1), for corotated P = E (λ − 1).
static void closed_form_is_right(void **state)
{
    (void)state;
    for (double stretch = 0.6; stretch < 1.85; stretch += 0.3) {
        uniaxial u = {0, 0};
        hk_material_def law = material_of("stvk", YOUNG, POISSON);
        CHECK_OK(uniaxial_solve(&law, stretch, &u));
        double expected = YOUNG / 2 * (stretch * stretch * stretch - stretch);
        assert_true(fabs(u.stress - expected) < 1e-9 * YOUNG);
        assert_true(fabs(u.across - sqrt(1 - POISSON * (stretch * stretch - 1))) < 1e-12);
        law = material_of("arap", YOUNG, POISSON);
        CHECK_OK(uniaxial_solve(&law, stretch, &u));
        assert_true(fabs(u.stress - YOUNG / (1 + POISSON) * (stretch - 1)) < 1e-9 * YOUNG);
        law = material_of("corotated", YOUNG, POISSON);
        CHECK_OK(uniaxial_solve(&law, stretch, &u));
        assert_true(fabs(u.stress - YOUNG * (stretch - 1)) < 1e-9 * YOUNG);
        assert_true(fabs(u.across - (1 - POISSON * (stretch - 1))) < 1e-12);
    }
}

static void check_stretch(const hk_material_def *law, double stretch, const hk_solver_def *solver,
                          double tolerance)
{
    uniaxial u = {0, 0};
    double found = NAN;
    hk_step_report report;
    CHECK_OK(uniaxial_solve(law, stretch, &u));
    assert_true((u.stress > 0) == (stretch > 1));
    CHECK_OK(uniaxial_simulate(law, &u, solver, &found, &report));
    if (report.reason != HK_CONVERGED || !(fabs(found / stretch - 1) < tolerance))
        fail_msg("%s, %s: stretch %.9g where the law says %.9g (%s)", solver->method, law->model,
                 found, stretch, hk_reason_name(report.reason));
}

static void newton_follows_the_law(void **state)
{
    (void)state;
    static const double stretches[] = {0.7, 0.9, 1.2, 1.6};
    hk_solver_def solver = exact_newton();
    for (int k = 0; k < solid_count(); k++)
        for (int i = 0; i < 4; i++) {
            hk_material_def law = material_of(hk_material_name(k), YOUNG, POISSON);
            check_stretch(&law, stretches[i], &solver, 1e-6);
        }
}

// Other methods come to the same curve.
static void other_methods_follow_the_law(void **state)
{
    (void)state;
    static const char *const methods[] = {"quasi_newton", "lbfgs", "nonlinear_cg"};
    static const char *const laws[] = {"neo_hookean", "neo_hookean_wy", "mooney_rivlin", "fung"};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 2; i++) {
                hk_solver_def solver = {.def_size = sizeof(hk_solver_def),
                                        .method = methods[m],
                                        .iterations = 5000,
                                        .tolerance = 1e-8};
                hk_material_def law = material_of(laws[k], YOUNG, POISSON);
                check_stretch(&law, i ? 1.4 : 0.8, &solver, 1e-6);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_is_right),
        cmocka_unit_test(newton_follows_the_law),
        cmocka_unit_test(other_methods_follow_the_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
