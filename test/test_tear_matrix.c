// The constant matrix of torn bodies: the operator that stands in for its inverse is symmetric and
// positive definite, and equivalent to it; tearing a large body costs no factorisation.
#include "solver/constant_matrix.h"
#include "tear_worlds.h"
#include "world/world.h"

// Column c of what a solver applies, [vertex_count][4] in Morton order.
static void apply_to_unit(hk_constant_matrix *m, int c, double *to)
{
    memset(to, 0, 4 * sizeof(double) * (size_t)m->problem->vertex_count);
    to[4 * (int64_t)c] = 1;
    CHECK_OK(hk_constant_matrix_apply(m, to, to));
}

// Whether Cholesky's factor exists; a is overwritten by it.
static bool is_positive(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

static void the_operator_is_definite(void **state)
{
    (void)state;
    const char *sets[] = {"tearing={}", "bodies.0.mesh.box.cells=[6, 2, 2]",
                          "solver.method=quasi_newton", "solver.turning=0", NULL};
    for (int cuts = 1; cuts <= 3; cuts++) {
        hk_world *w = tear_world(TEAR_BAR, sets);
        tear_steps(w, 1);
        for (int k = 0; k < cuts; k++) cut_across(w, 0.17 + 0.09 * k);
        tear_steps(w, 1);
        hk_constant_matrix *m = w->method->matrix(w->solver);
        assert_non_null(m->base);
        const hk_problem *p = w->problem;
        int n = 0, count = p->vertex_count;
        int *list = malloc(sizeof(int) * (size_t)count);
        for (int v = 0; v < count; v++)
            if (!p->held[v]) list[n++] = v;
        double *b = malloc(sizeof(double) * (size_t)(n * n)), *column = malloc(32 * (size_t)count);
        for (int c = 0; c < n; c++) {
            apply_to_unit(m, list[c], column);
            for (int r = 0; r < n; r++) b[r * n + c] = column[4 * list[r]];
        }
        double largest = 0, apart = 0;
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++) {
                largest = fmax(largest, fabs(b[r * n + c]));
                apart = fmax(apart, fabs(b[r * n + c] - b[c * n + r]));
            }
        assert_true(apart < 1e-5 * largest);  // the factor is in single precision
        assert_true(is_positive(b, n));
        free(list);
        free(b);
        free(column);
        hk_world_free(w);
    }
}

// 54,150 tets that are shaken; the cut goes through half of the body.
static const char large[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"gravity\": [0, 0, 0], \"threads\": 1,"
    " \"solver\": {\"method\": \"quasi_newton\", \"tolerance\": 1e-4},"
    " \"bodies\": [{\"name\": \"jelly\","
    " \"mesh\": {\"box\": {\"size\": [0.4, 0.2, 0.2], \"cells\": [30, 19, 19]}},"
    " \"material\": {\"model\": \"neo_hookean\", \"young\": 3e4, \"poisson\": 0.4,"
    "  \"density\": 1000},"
    " \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}],"
    " \"move\": [{\"select\": {\"box\": [[0.399, -1, -1], [0.401, 1, 1]]},"
    "  \"translate\": [0.01, 0.04, 0], \"factor\": \"sin(20*t)\"}]}]}";

// Corners of squares that reach through the body: two triangles each.
static const double HALF[18] = {0.2, 0.1, -1, 0.2, 1, -1, 0.2, 1,   1,
                                0.2, 0.1, -1, 0.2, 1, 1,  0.2, 0.1, 1};
static const double ACROSS[18] = {0.2, -1, -1, 0.2, 1, -1, 0.2, 1,  1,
                                  0.2, -1, -1, 0.2, 1, 1,  0.2, -1, 1};
// Along (1, −1, 0), with jagged sides.
static const double DIAGONAL[18] = {-0.8, 1.1, -1, 1.2, -0.9, -1, 1.2,  -0.9, 1,
                                    -0.8, 1.1, -1, 1.2, -0.9, 1,  -0.8, 1.1,  1};
// And one along the body, which crosses the one across.
static const double CROSS[36] = {0.2, -1,  -1, 0.2, 1,   -1, 0.2, 1,   1,  0.2, -1,  -1,
                                 0.2, 1,   1,  0.2, -1,  1,  -1,  0.1, -1, 1,   0.1, -1,
                                 1,   0.1, 1,  -1,  0.1, -1, 1,   0.1, 1,  -1,  0.1, 1};

static void a_large_body_tears_without_a_factorisation(void **state)
{
    (void)state;
    enum { BEFORE = 3, AFTER = 8 };
    static const struct {
        const char *label;
        const double *corners;
        int count;
    } cuts[] = {
        {"half", HALF, 2}, {"whole", ACROSS, 2}, {"diagonal", DIAGONAL, 2}, {"cross", CROSS, 4}};
    hk_world *untorn = tear_world(large, NULL);
    tear_steps(untorn, BEFORE);
    int of_untorn = tear_steps(untorn, AFTER);
    hk_world_free(untorn);
    for (int k = 0; k < (SANITIZED ? 1 : 4); k++) {
        hk_world *torn = tear_world(large, NULL);
        assert_int_equal(hk_model_tet_count(hk_world_model(torn)), 54150);
        double mass = hk_model_mass(torn->model);
        tear_steps(torn, BEFORE);
        CHECK_OK(hk_world_cut(torn, HK_CUT_ALL, cuts[k].count, cuts[k].corners));
        int of_torn = tear_steps(torn, AFTER);
        hk_tear_report told = tears_of(torn);
        print_message("%s cut: %d vertices more, %d iterations, %d of the untorn body: %.2f x\n",
                      cuts[k].label, told.vertices, of_torn, of_untorn,
                      (double)of_torn / of_untorn);
        assert_true(told.vertices > 100);
        assert_int_equal(told.factorisations, 0);
        assert_true(of_torn <= 1.5 * of_untorn);
        double sum = 0;
        for (int v = 0; v < torn->model->vertex_count; v++) sum += torn->model->mass[v];
        assert_true(fabs(sum - mass) < 1e-12 * mass);
        hk_world_free(torn);
    }
}

static void the_matrix_is_renewed_where_that_is_asked_for(void **state)
{
    (void)state;
    const char *sets[] = {"solver.method=quasi_newton", "tearing.renew=1", NULL};
    hk_world *w = tear_world(TEAR_BAR, sets);
    tear_steps(w, 40);
    hk_tear_report told = tears_of(w);
    assert_true(told.renewals >= 1);
    assert_int_equal(told.factorisations, told.renewals);
    hk_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operator_is_definite),
        cmocka_unit_test(a_large_body_tears_without_a_factorisation),
        cmocka_unit_test(the_matrix_is_renewed_where_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
