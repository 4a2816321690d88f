// Systems of Newton's matrices solved as exactly as rounding allows, by multigrid, too, which has
// the matrix in single precision.
#include "fit_bars.h"

#include "model/model.h"
#include "solver/newton_matrix.h"

// ‖g + H d‖/‖g‖ over free vertices.
static double left_of(hk_newton_matrix *matrix, const double *x, const double *g, const double *d)
{
    hk_problem *p = matrix->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    double *r = malloc(size * sizeof *r);
    memcpy(r, g, size * sizeof *r);
    hk_newton_matrix_add_product(matrix, x, 1, d, r);
    double left = sqrt(hk_problem_dot(p, r, r) / hk_problem_dot(p, g, g));
    free(r);
    return left;
}

// Forces that bend the bar, for which its matrix is at its worst, and forces that vary from vertex
// to vertex.
static void fill(const hk_problem *p, bool rough, double *g)
{
    uint64_t seed = 7;
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++) {
            double value = rough ? noise(&seed) : i == 1;
            g[4 * k + i] = p->held[k] ? 0 : value;
        }
}

static void test_multigrid_solves_exactly(void **state)
{
    (void)state;
    bar b;
    hk_model *model = NULL;
    hk_problem *p = NULL;
    make_bar(&b, "neo_hookean", 6e5, 3);
    b.body.material.poisson = 0.45;
    CHECK_OK(hk_model_create(&b.model, &model));
    CHECK_OK(hk_problem_create(model, 1, NULL, &p));
    size_t size = 4 * (size_t)p->vertex_count;
    double *g = calloc(size, sizeof *g), *d = malloc(size * sizeof *d);
    double *zero = calloc((size_t)p->vertex_count, sizeof *zero), phase_s[HK_PHASE_COUNT] = {0};
    for (int way = 0; way < 2; way++) {
        hk_newton_matrix *matrix = NULL;
        bool positive;
        if (way == 0 && !hk_direct_available()) continue;
        CHECK_OK(hk_newton_matrix_create(p, way == 1, &matrix));
        CHECK_OK(hk_newton_matrix_set(matrix, p->rest, 1, 1, zero, phase_s, &positive));
        assert_true(positive);
        for (int rough = 0; rough < 2; rough++) {
            fill(p, rough, g);
            CHECK_OK(hk_newton_matrix_solve_exactly(matrix, g, d, phase_s, &positive));
            double left = left_of(matrix, p->rest, g, d);
            // A bar that bends has forces that nearly cancel: the rounding of those is left.
            if (!positive || !(left <= 5e-11))
                fail_msg("%s: %g is left", way ? "multigrid" : "direct", left);
        }
        // Without a right-hand side there is nothing to solve.
        memset(g, 0, size * sizeof *g);
        CHECK_OK(hk_newton_matrix_solve_exactly(matrix, g, d, phase_s, &positive));
        assert_true(positive && hk_problem_dot(p, d, d) == 0);
        hk_newton_matrix_free(matrix);
    }
    free(g);
    free(d);
    free(zero);
    hk_problem_free(p);
    hk_model_free(model);
    hk_mesh_free(b.mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multigrid_solves_exactly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
