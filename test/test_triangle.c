// Substitution in single precision against the direct solver it comes from, and the same bits for
// any number of threads.
#include "bodies.h"

#include "linear/direct.h"
#include "linear/triangle.h"
#include "term/assembly.h"
#include "term/laplacian.h"
#include "solver/problem.h"

typedef struct system {
    hk_model *model;
    hk_problem *problem;
    hk_assembly *assembly;
    hk_pattern scalar;
    hk_direct *direct;
    double *matrix;
} linear_system;

// M + L of a box held at one end (and, with `pieces`, of a second box that is free).
static linear_system make(int cells, double shift)
{
    linear_system s = {0};
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    s.model = model_of(&body, box_mesh(1, 1, 1, cells, cells, cells), 0);
    CHECK_OK(hk_problem_create(s.model, 1, &s.problem));
    CHECK_OK(hk_assembly_create(s.problem->tets, s.problem->links, s.problem->held, &s.assembly));
    s.scalar = s.assembly->pattern;
    s.scalar.scalar = true;
    s.matrix = malloc(sizeof(double) * (size_t)hk_pattern_size(&s.scalar));
    double weight = 1;
    hk_laplacian_fill(s.model, s.problem->links, s.assembly, &s.scalar, &weight, s.matrix);
    for (int b = 0; b < s.scalar.count; b++) s.matrix[hk_pattern_column(&s.scalar, b, 0)] += shift;
    CHECK_OK(hk_direct_create(&s.scalar, &s.direct));
    bool positive;
    CHECK_OK(hk_direct_factor(s.direct, s.matrix, &positive));
    assert_true(positive);
    return s;
}

static void drop(linear_system *s)
{
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_problem_free(s->problem);
    hk_model_free(s->model);
    free(s->matrix);
}

static void compare(linear_system *s, int threads, float *bits)
{
    int n = s->scalar.count;
    hk_triangle *t;
    CHECK_OK(hk_triangle_create(s->direct, threads, &t));
    double *b = malloc(3 * sizeof(double) * (size_t)n);
    float *x = hk_triangle_vector(t);
    uint64_t seed = 3;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) {
            b[i * n + k] = noise(&seed);
            x[4 * k + i] = (float)b[i * n + k];
        }
    hk_triangle_solve(t);
    CHECK_OK(hk_direct_solve(s->direct, b, b));
    double most = 0, largest = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) {
            most = fmax(most, fabs(b[i * n + k] - (double)x[4 * k + i]));
            largest = fmax(largest, fabs(b[i * n + k]));
        }
    if (!(most <= 2e-5 * largest)) fail_msg("%d unknowns: off by %g of %g", n, most, largest);
    if (bits && threads == 1) memcpy(bits, x, 4 * sizeof(float) * (size_t)n);
    if (bits && threads > 1) assert_memory_equal(bits, x, 4 * sizeof(float) * (size_t)n);
    free(b);
    hk_triangle_free(t);
}

static void test_agrees_with_direct(void **state)
{
    (void)state;
    for (int cells = 1; cells <= 12; cells += cells < 4 ? 1 : 4) {
        linear_system s = make(cells, 0.05);
        float *bits = malloc(4 * sizeof(float) * (size_t)(s.scalar.count + 1));
        for (int threads = 1; threads <= 3; threads++) compare(&s, threads, bits);
        free(bits);
        drop(&s);
    }
}

// New numbers in the same pattern.
static void test_refill(void **state)
{
    (void)state;
    linear_system s = make(6, 0.05);
    hk_triangle *t;
    CHECK_OK(hk_triangle_create(s.direct, 1, &t));
    for (int64_t k = 0; k < hk_pattern_size(&s.scalar); k++) s.matrix[k] *= 4;
    bool positive;
    CHECK_OK(hk_direct_factor(s.direct, s.matrix, &positive));
    float *x = hk_triangle_vector(t);
    float *first = malloc(4 * sizeof(float) * (size_t)s.scalar.count);
    for (int k = 0; k < 4 * s.scalar.count; k++) x[k] = k % 4 < 3;
    hk_triangle_solve(t);
    memcpy(first, x, 4 * sizeof(float) * (size_t)s.scalar.count);
    CHECK_OK(hk_triangle_fill(t, s.direct));
    for (int k = 0; k < 4 * s.scalar.count; k++) x[k] = k % 4 < 3;
    hk_triangle_solve(t);
    for (int k = 0; k < 4 * s.scalar.count; k++)
        if (k % 4 < 3) assert_true(fabsf(4 * x[k] - first[k]) <= 1e-5f * fabsf(first[k]));
    free(first);
    hk_triangle_free(t);
    drop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_direct),
        cmocka_unit_test(test_refill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
