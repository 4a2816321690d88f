// Sparse matrices of 3×3 blocks: the product against the dense matrix, elimination orders, factors
// and solutions against a dense solve, and matrices that are not positive.
#include "bodies.h"

#include <pthread.h>

#include "linear/direct.h"
#include "linear/pattern.h"

// ---------------------------------------------------------------- matrices to try

// The graph of a grid of nx × ny × nz blocks, each joined to its neighbours along the axes and the
// diagonals of a cell; `place` gives the number of a block (NULL: as they come).
static hk_pattern grid(int nx, int ny, int nz, const int32_t *place)
{
    int n = nx * ny * nz;
    uint8_t *joined = calloc((size_t)n * (size_t)n, 1);
    for (int k = 0; k < n * 27; k++) {
        int a = k / 27, step = k % 27, x = a % nx, y = a / nx % ny, z = a / nx / ny;
        int u = x + step % 3 - 1, v = y + step / 3 % 3 - 1, w = z + step / 9 - 1;
        if (u < 0 || v < 0 || w < 0 || u >= nx || v >= ny || w >= nz) continue;
        int b = u + nx * (v + ny * w), i = place ? place[a] : a, j = place ? place[b] : b;
        if (i > j) joined[(size_t)j * (size_t)n + (size_t)i] = 1;
    }
    // Freed by hk_pattern_free, so allocated as it expects.
    hk_pattern p = {.count = n, .start = HK_ZEROS(int64_t, n + 1)};
    p.row = HK_ARRAY(int32_t, 14 * n);
    for (int c = 0; c < n; c++) {
        p.start[c + 1] = p.start[c];
        for (int r = c + 1; r < n; r++)
            if (joined[(size_t)c * (size_t)n + (size_t)r]) p.row[p.start[c + 1]++] = r;
    }
    free(joined);
    return p;
}

// Random numbers off the diagonal; on it what makes the matrix dominant, or `diagonal` if not 0.
static double *fill(const hk_pattern *p, double diagonal, uint64_t seed)
{
    double *values = malloc((size_t)hk_pattern_size(p) * sizeof *values);
    for (int64_t k = 0; k < hk_pattern_size(p); k++) values[k] = noise(&seed);
    for (int b = 0; b < p->count; b++)
        for (int c = 0; c < 3; c++)
            values[hk_pattern_column(p, b, c)] = diagonal != 0 ? diagonal : 90 + noise(&seed);
    return values;
}

static double *dense_of(const hk_pattern *p, const double *values)
{
    size_t n = 3 * (size_t)p->count;
    double *dense = calloc(n * n, sizeof *dense);
    for (int b = 0; b < p->count; b++)
        for (int c = 0; c < 3; c++) {
            const double *v = values + hk_pattern_column(p, b, c);
            size_t column = 3 * (size_t)b + (size_t)c;
            for (int r = c; r < 3; r++, v++) {
                size_t row = 3 * (size_t)b + (size_t)r;
                dense[row * n + column] = dense[column * n + row] = *v;
            }
            for (int64_t k = p->start[b]; k < p->start[b + 1]; k++)
                for (int r = 0; r < 3; r++, v++) {
                    size_t row = 3 * (size_t)p->row[k] + (size_t)r;
                    dense[row * n + column] = dense[column * n + row] = *v;
                }
        }
    return dense;
}

// Gauss with the largest pivot; the matrix is used up.
static void dense_solve(double *a, int n, const double *b, double *x)
{
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        for (int j = 0; j < n; j++) {
            double kept = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = kept;
        }
        double kept = x[k];
        x[k] = x[best];
        x[best] = kept;
        for (int i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            x[i] -= f * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) x[k] -= a[k * n + j] * x[j];
        x[k] /= a[k * n + k];
    }
}

// ---------------------------------------------------------------- pattern

static void test_layout_is_the_lower_triangle(void **state)
{
    (void)state;
    hk_pattern p = grid(3, 2, 2, NULL);
    int64_t at = 0;
    for (int b = 0; b < p.count; b++)
        for (int c = 0; c < 3; c++) {
            assert_int_equal(hk_pattern_column(&p, b, c), at);
            at += 3 - c + 3 * (p.start[b + 1] - p.start[b]);
        }
    assert_int_equal(hk_pattern_size(&p), at);
    hk_pattern_free(&p);
    assert_null(p.start);
    assert_null(p.row);
}

static void test_product_is_that_of_the_dense_matrix(void **state)
{
    (void)state;
    hk_pattern p = grid(4, 3, 2, NULL);
    int n = 3 * p.count;
    double *values = fill(&p, 0, 1), *dense = dense_of(&p, values), x[96], y[96];
    assert_true(n <= 96);
    uint64_t seed = 2;
    for (int k = 0; k < n; k++) x[k] = noise(&seed);
    hk_pattern_multiply(&p, values, x, y);
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += dense[i * n + j] * x[j];
        assert_true(fabs(sum - y[i]) <= 1e-12 * 100);
    }
    free(values);
    free(dense);
    hk_pattern_free(&p);
}

// ---------------------------------------------------------------- order

// Blocks in the factor of the graph taken in `order`: symbolic elimination, the slow and sure way.
static int64_t fill_of(const hk_pattern *p, const int32_t *order)
{
    int n = p->count;
    int32_t *place = malloc((size_t)n * sizeof *place);
    for (int k = 0; k < n; k++) place[order[k]] = k;
    uint8_t *joined = calloc((size_t)n * (size_t)n, 1);
    for (int b = 0; b < n; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            int i = place[b], j = place[p->row[k]];
            joined[i * n + j] = joined[j * n + i] = 1;
        }
    int64_t count = 0;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            if (!joined[k * n + i]) continue;
            count++;
            for (int j = k + 1; j < n; j++)
                if (joined[k * n + j] && i != j) joined[i * n + j] = 1;
        }
    free(place);
    free(joined);
    return count;
}

static void check_permutation(const int32_t *order, int n)
{
    uint8_t *seen = calloc((size_t)n + 1, 1);
    for (int k = 0; k < n; k++) {
        assert_true(order[k] >= 0 && order[k] < n);
        assert_false(seen[order[k]]);
        seen[order[k]] = 1;
    }
    free(seen);
}

static void test_order_is_a_permutation_with_little_fill(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1},   {2, 1, 1}, {5, 1, 1}, {3, 3, 3},
                                   {12, 12, 1}, {8, 8, 4}, {40, 1, 1}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        hk_pattern p = grid(sizes[s][0], sizes[s][1], sizes[s][2], NULL);
        int32_t *order = malloc((size_t)p.count * sizeof *order);
        int32_t *natural = malloc((size_t)p.count * sizeof *natural);
        for (int k = 0; k < p.count; k++) natural[k] = k;
        CHECK_OK(hk_order_blocks(&p, order));
        check_permutation(order, p.count);
        int64_t ordered = fill_of(&p, order), plain = fill_of(&p, natural);
        // A chain has no fill in its natural order; dissection costs it some.
        int64_t most = sizes[s][1] == 1 ? 2 * plain : plain;
        if (ordered > most)
            fail_msg("%d x %d x %d: %lld blocks, %lld as they come", sizes[s][0], sizes[s][1],
                     sizes[s][2], (long long)ordered, (long long)plain);
        free(order);
        free(natural);
        hk_pattern_free(&p);
    }
}

static void test_order_of_nothing_and_of_strangers(void **state)
{
    (void)state;
    int64_t start[65] = {0};
    int32_t order[64] = {0}, row[1] = {0};
    hk_pattern none = {.count = 0, .start = start, .row = row};
    CHECK_OK(hk_order_blocks(&none, order));
    hk_pattern apart = {.count = 64, .start = start, .row = row};  // no block touches another
    CHECK_OK(hk_order_blocks(&apart, order));
    check_permutation(order, 64);
}

typedef struct ordering {
    const hk_pattern *pattern;
    int32_t order[512];
} ordering;

static void *order_often(void *context)
{
    ordering *o = context;
    for (int k = 0; k < 20; k++)
        if (hk_order_blocks(o->pattern, o->order) != HK_OK) return context;
    return NULL;
}

// The same order every time, also when other threads order at the same time.
static void test_order_is_repeatable(void **state)
{
    (void)state;
    hk_pattern p = grid(8, 8, 8, NULL);
    static ordering first, others[4];
    first.pattern = &p;
    assert_null(order_often(&first));
    pthread_t threads[4];
    for (int k = 0; k < 4; k++) {
        others[k].pattern = &p;
        assert_int_equal(pthread_create(&threads[k], NULL, order_often, &others[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        void *failed;
        pthread_join(threads[k], &failed);
        assert_null(failed);
        assert_memory_equal(others[k].order, first.order, sizeof first.order);
    }
    hk_pattern_free(&p);
}

// ---------------------------------------------------------------- direct

typedef struct linear_system {
    hk_pattern pattern;
    hk_direct *direct;
    int n;
} linear_system;

static linear_system make_system(int nx, int ny, int nz)
{
    hk_pattern natural = grid(nx, ny, nz, NULL);
    int32_t *order = malloc((size_t)natural.count * sizeof *order);
    int32_t *place = malloc((size_t)natural.count * sizeof *place);
    CHECK_OK(hk_order_blocks(&natural, order));
    for (int k = 0; k < natural.count; k++) place[order[k]] = k;
    hk_pattern_free(&natural);
    linear_system s = {.pattern = grid(nx, ny, nz, place)};
    s.n = 3 * s.pattern.count;
    free(order);
    free(place);
    return s;
}

static double *vector_of(int n, uint64_t seed)
{
    double *v = malloc((size_t)n * sizeof *v);
    for (int k = 0; k < n; k++) v[k] = noise(&seed);
    return v;
}

static void test_solution_is_that_of_a_dense_solve(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {4, 4, 4}, {6, 5, 3}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        linear_system s = make_system(sizes[k][0], sizes[k][1], sizes[k][2]);
        CHECK_OK(hk_direct_create(&s.pattern, &s.direct));
        assert_true(hk_direct_factor_size(s.direct) >= (int64_t)s.n * 2);
        // Twice: other numbers are factored with the same analysis.
        for (uint64_t round = 0; round < 2; round++) {
            double *values = fill(&s.pattern, 0, 5 + round), *b = vector_of(s.n, 9 + round);
            double *x = malloc((size_t)s.n * 8), *expected = malloc((size_t)s.n * 8);
            double *dense = dense_of(&s.pattern, values);
            bool positive = false;
            CHECK_OK(hk_direct_factor(s.direct, values, &positive));
            assert_true(positive);
            CHECK_OK(hk_direct_solve(s.direct, b, x));
            dense_solve(dense, s.n, b, expected);
            for (int i = 0; i < s.n; i++) assert_true(fabs(x[i] - expected[i]) <= 1e-13);
            // In place, with the same bits.
            CHECK_OK(hk_direct_solve(s.direct, b, b));
            assert_memory_equal(b, x, (size_t)s.n * 8);
            free(values);
            free(b);
            free(x);
            free(expected);
            free(dense);
        }
        hk_direct_free(s.direct);
        hk_pattern_free(&s.pattern);
    }
}

// A matrix that is not positive is told, and the next one that is can be solved.
static void test_not_positive_is_reported(void **state)
{
    (void)state;
    linear_system s = make_system(5, 4, 3);
    CHECK_OK(hk_direct_create(&s.pattern, &s.direct));
    double *good = fill(&s.pattern, 0, 3), *b = vector_of(s.n, 4), *x = malloc((size_t)s.n * 8);
    double *r = malloc((size_t)s.n * 8);
    bool positive = true;
    double *negative = fill(&s.pattern, -1, 3), *weak = fill(&s.pattern, 0.5, 3);
    CHECK_OK(hk_direct_factor(s.direct, negative, &positive));
    assert_false(positive);
    CHECK_OK(hk_direct_factor(s.direct, weak, &positive));
    assert_false(positive);
    // Negative in the last unknown only.
    memcpy(weak, good, (size_t)hk_pattern_size(&s.pattern) * 8);
    weak[hk_pattern_size(&s.pattern) - 1] = -90;
    positive = true;
    CHECK_OK(hk_direct_factor(s.direct, weak, &positive));
    assert_false(positive);
    CHECK_OK(hk_direct_factor(s.direct, good, &positive));
    assert_true(positive);
    CHECK_OK(hk_direct_solve(s.direct, b, x));
    hk_pattern_multiply(&s.pattern, good, x, r);
    for (int i = 0; i < s.n; i++) assert_true(fabs(r[i] - b[i]) <= 1e-12);
    free(good);
    free(negative);
    free(weak);
    free(b);
    free(x);
    free(r);
    hk_direct_free(s.direct);
    hk_pattern_free(&s.pattern);
}

static void test_factors_are_repeatable(void **state)
{
    (void)state;
    linear_system s = make_system(8, 7, 5);
    double *values = fill(&s.pattern, 0, 1), *b = vector_of(s.n, 2);
    double *first = malloc((size_t)s.n * 8), *x = malloc((size_t)s.n * 8);
    for (int round = 0; round < 4; round++) {
        bool positive;
        CHECK_OK(hk_direct_create(&s.pattern, &s.direct));
        CHECK_OK(hk_direct_factor(s.direct, values, &positive));
        CHECK_OK(hk_direct_solve(s.direct, b, round ? x : first));
        if (round) assert_memory_equal(x, first, (size_t)s.n * 8);
        hk_direct_free(s.direct);
    }
    free(values);
    free(b);
    free(first);
    free(x);
    hk_pattern_free(&s.pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_is_the_lower_triangle),
        cmocka_unit_test(test_product_is_that_of_the_dense_matrix),
        cmocka_unit_test(test_order_is_a_permutation_with_little_fill),
        cmocka_unit_test(test_order_of_nothing_and_of_strangers),
        cmocka_unit_test(test_order_is_repeatable),
        cmocka_unit_test(test_solution_is_that_of_a_dense_solve),
        cmocka_unit_test(test_not_positive_is_reported),
        cmocka_unit_test(test_factors_are_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
