// Substitution in single precision against the direct solver it comes from, for all lanes, and the
// same bits for any number of threads.
#include "bodies.h"

#include "linear/direct.h"
#include "linear/factor.h"
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

// L + a shift of a box held at one end.
static linear_system make(int cells, double shift)
{
    linear_system s = {0};
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    s.model = model_of(&body, box_mesh(1, 1, 1, cells, cells, cells), 0);
    CHECK_OK(hk_problem_create(s.model, 1, NULL, &s.problem));
    CHECK_OK(hk_assembly_create(s.problem->terms, s.problem->held, &s.assembly));
    s.scalar = s.assembly->pattern;
    s.scalar.scalar = true;
    s.matrix = malloc(sizeof(double) * (size_t)hk_pattern_size(&s.scalar));
    double weight = 1;
    hk_laplacian_numbers(s.model, s.assembly->unknown, &s.scalar, &weight, s.matrix);
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
    if (s->assembly) {
        hk_assembly_free(s->assembly);
        hk_problem_free(s->problem);
        hk_model_free(s->model);
    } else {
        hk_pattern_free(&s->scalar);
    }
    free(s->matrix);
}

// Blocks of `size[k]` unknowns on the diagonal, each with the numbers within `band` of it (0: all):
// supernodes of any size, trees that are paths, and forests.
static linear_system make_blocks(const int *size, int count, int band)
{
    linear_system s = {.scalar = {.scalar = true}};
    int64_t entries = 0;
    for (int k = 0; k < count; k++) {
        s.scalar.count += size[k];
        for (int c = 0; c < size[k]; c++) {
            int below = size[k] - 1 - c;
            entries += band && below > band ? band : below;
        }
    }
    s.scalar.start = HK_ZEROS(int64_t, s.scalar.count + 1);
    s.scalar.row = HK_ARRAY(int32_t, entries);
    s.matrix = calloc((size_t)(s.scalar.count + entries), sizeof(double));
    uint64_t seed = 5;
    int column = 0;
    int64_t at = 0;
    for (int k = 0; k < count; k++)
        for (int c = 0; c < size[k]; c++, column++) {
            for (int r = c + 1; r < size[k] && (!band || r <= c + band); r++)
                s.scalar.row[at++] = column + r - c;
            s.scalar.start[column + 1] = at;
        }
    // Diagonally dominant.
    for (int c = 0; c < s.scalar.count; c++)
        s.matrix[hk_pattern_column(&s.scalar, c, 0)] = 0.5 + 0.3 * noise(&seed);
    for (int c = 0; c < s.scalar.count; c++)
        for (int64_t k = s.scalar.start[c]; k < s.scalar.start[c + 1]; k++) {
            double a = noise(&seed);
            int row = s.scalar.row[k];
            s.matrix[hk_pattern_column(&s.scalar, c, 0) + 1 + k - s.scalar.start[c]] = a;
            s.matrix[hk_pattern_column(&s.scalar, c, 0)] += fabs(a);
            s.matrix[hk_pattern_column(&s.scalar, row, 0)] += fabs(a);
        }
    CHECK_OK(hk_direct_create(&s.scalar, &s.direct));
    bool positive;
    CHECK_OK(hk_direct_factor(s.direct, s.matrix, &positive));
    assert_true(positive);
    return s;
}

// Random b, [count][4], and x = A⁻¹ b in double.
static void reference(linear_system *s, double *b, double *x)
{
    int n = s->scalar.count;
    double *plain = calloc(3 * (size_t)n, sizeof(double));
    uint64_t seed = 3;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++) b[4 * k + i] = i < 3 ? noise(&seed) : 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) plain[i * n + k] = b[4 * k + i];
    CHECK_OK(hk_direct_solve(s->direct, plain, plain));
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) x[4 * k + i] = plain[i * n + k];
    free(plain);
}

// Largest difference of x, y, z over the largest number.
static double difference(int n, const double *x, const double *y)
{
    double most = 0, largest = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) {
            most = fmax(most, fabs(x[4 * k + i] - y[4 * k + i]));
            largest = fmax(largest, fabs(x[4 * k + i]));
        }
    return most / largest;
}

// x, y and z one after the other: `one` is [3][count].
static void solve_one_by_one(hk_factor *t, int n, const double *b, const double *exact, float *one)
{
    double most = 0, largest = 0;
    float *v = hk_factor_vector(t);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < n; k++) v[k] = (float)b[4 * k + i];
        hk_factor_solve_one(t);
        memcpy(one + (size_t)i * (size_t)n, v, sizeof(float) * (size_t)n);
        for (int k = 0; k < n; k++) {
            most = fmax(most, fabs((double)v[k] - exact[4 * k + i]));
            largest = fmax(largest, fabs(exact[4 * k + i]));
        }
    }
    if (!(most <= 2e-5 * largest))
        fail_msg("%d unknowns, one by one: off by %g", n, most / largest);
}

// For every number of lanes: the solution in single precision, also for one right-hand side at a
// time, with a step of refinement, and by hk_factor_apply; and the same bits for any number of
// threads.
static void compare(linear_system *s)
{
    int n = s->scalar.count;
    size_t size = 4 * sizeof(double) * (size_t)n;
    double *b = malloc(size), *exact = malloc(size), *x = malloc(size);
    float *bits = malloc(size / 2), *ones = malloc(size), *one = ones + 4 * (size_t)n;
    int32_t *place = malloc(sizeof(int32_t) * (size_t)n);
    for (int k = 0; k < n; k++) place[k] = n - 1 - k;
    reference(s, b, exact);
    for (int lanes = 4; lanes <= 16; lanes *= 2)
        for (int threads = 1; threads <= 3; threads++) {
            hk_factor *t;
            CHECK_OK(hk_factor_create(s->direct, threads, &t));
            assert_true(hk_factor_use_lanes(t, lanes) <= lanes);
            CHECK_OK(hk_factor_fill(t, s->direct));
            float *v = hk_factor_vector(t);
            for (int k = 0; k < 4 * n; k++) v[k] = k % 4 < 3 ? (float)b[k] : NAN;
            hk_factor_solve(t);
            for (int k = 0; k < 4 * n; k++) {
                if (k % 4 == 3) v[k] = 0;  // means nothing
                x[k] = (double)v[k];
            }
            if (difference(n, exact, x) > 2e-5)
                fail_msg("%d unknowns, %d lanes: off by %g", n, lanes, difference(n, exact, x));
            if (threads == 1) memcpy(bits, v, size / 2);
            assert_memory_equal(bits, v, size / 2);
            solve_one_by_one(t, n, b, exact, one);
            if (threads == 1) memcpy(ones, one, 3 * sizeof(float) * (size_t)n);
            assert_memory_equal(ones, one, 3 * sizeof(float) * (size_t)n);

            hk_factor_refine(t, &s->scalar, s->matrix, b, x);
            if (difference(n, exact, x) > 1e-9)
                fail_msg("%d unknowns, refined: off by %g", n, difference(n, exact, x));
            for (int k = 0; k < n; k++)  // in other units, from and to the same vector
                for (int i = 0; i < 4; i++) x[4 * place[k] + i] = 1e-60 * b[4 * k + i];
            hk_factor_apply(t, place, x, x);
            double *back = malloc(size);
            for (int k = 0; k < n; k++)
                for (int i = 0; i < 4; i++) back[4 * k + i] = 1e60 * x[4 * place[k] + i];
            assert_true(difference(n, exact, back) <= 2e-5);
            free(back);
            hk_factor_free(t);
        }
    free(b);
    free(exact);
    free(x);
    free(bits);
    free(ones);
    free(place);
}

static void test_agrees_with_direct(void **state)
{
    (void)state;
    for (int cells = 1; cells <= 20; cells += cells < 4 ? 1 : 8) {
        linear_system s = make(cells, 0.05);
        compare(&s);
        drop(&s);
    }
}

// Every number of rows and columns that blocks, half blocks and chunks can end with.
static void test_odd_sizes(void **state)
{
    (void)state;
    for (int size = 1; size <= 40; size++)
        for (int band = 0; band <= 21; band += band < 3 ? 1 : 9) {
            linear_system s = make_blocks(&size, 1, band);
            compare(&s);
            drop(&s);
        }
}

// Supernodes so wide that they are cut, beside small ones and single unknowns.
static void test_wide_and_forest(void **state)
{
    (void)state;
    const int sizes[] = {1, 1, 300, 7, 1, 530, 16, 1, 256, 33, 600, 2, 500, 19, 700};
    linear_system s = make_blocks(sizes, HK_COUNT_OF(sizes), 0);
    compare(&s);
    drop(&s);
    int many[200];
    for (int k = 0; k < 200; k++) many[k] = 1 + k % 60;
    s = make_blocks(many, 200, 40);
    compare(&s);
    drop(&s);
}

// New numbers in the same pattern.
static void test_refill(void **state)
{
    (void)state;
    linear_system s = make(6, 0.05);
    hk_factor *t;
    CHECK_OK(hk_factor_create(s.direct, 1, &t));
    for (int64_t k = 0; k < hk_pattern_size(&s.scalar); k++) s.matrix[k] *= 4;
    bool positive;
    CHECK_OK(hk_direct_factor(s.direct, s.matrix, &positive));
    float *x = hk_factor_vector(t);
    float *first = malloc(4 * sizeof(float) * (size_t)s.scalar.count);
    for (int k = 0; k < 4 * s.scalar.count; k++) x[k] = k % 4 < 3;
    hk_factor_solve(t);
    memcpy(first, x, 4 * sizeof(float) * (size_t)s.scalar.count);
    CHECK_OK(hk_factor_fill(t, s.direct));
    for (int k = 0; k < 4 * s.scalar.count; k++) x[k] = k % 4 < 3;
    hk_factor_solve(t);
    for (int k = 0; k < 4 * s.scalar.count; k++)
        if (k % 4 < 3) assert_true(fabsf(4 * x[k] - first[k]) <= 1e-5f * fabsf(first[k]));
    free(first);
    hk_factor_free(t);
    drop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_direct),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_wide_and_forest),
        cmocka_unit_test(test_refill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
