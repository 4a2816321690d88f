// Krylov solvers on matrices with known answers: definite, indefinite, not symmetric, singular; by
// blocks and matrix-free; and what stops them.
#include "bodies.h"
#include "core/base.h"
#include "linear/block_sparse.h"
#include <math.h>

enum { ROWS = 60 };  // of blocks

// ---------------------------------------------------------------- matrices

// A chain of blocks: each is coupled to the next and to the one ten further.
static hk_pattern chain(int rows)
{
    hk_pattern p = {.count = rows};
    p.start = HK_ZEROS(int64_t, rows + 1);
    p.row = HK_ZEROS(int32_t, 2 * rows);
    for (int c = 0; c < rows; c++) {
        p.start[c + 1] = p.start[c];
        if (c + 1 < rows) p.row[p.start[c + 1]++] = c + 1;
        if (c + 10 < rows) p.row[p.start[c + 1]++] = c + 10;
    }
    return p;
}

// Symmetric numbers whose diagonal blocks are `shift` more than dominant.
static hk_block_sparse *symmetric(const hk_pattern *p, double shift, int threads)
{
    hk_block_sparse *m;
    uint64_t seed = 7;
    CHECK_OK(hk_block_sparse_create(p, threads, &m));
    for (int c = 0; c < p->count; c++) {
        double own[9] = {4 + shift, 0.3, 0.1, 0.3, 4.5 + shift, 0, 0.1, 0, 5 + shift};
        hk_block_sparse_add(m, c, c, own);
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            double block[9], turned[9];
            for (int i = 0; i < 9; i++) block[i] = (i % 4 == 0 ? -1 : 0) + 0.2 * noise(&seed);
            for (int i = 0; i < 9; i++) turned[i] = block[3 * (i % 3) + i / 3];
            hk_block_sparse_add(m, p->row[k], c, block);
            hk_block_sparse_add(m, c, p->row[k], turned);
        }
    }
    return m;
}

// Wind along the chain.
static void add_wind(const hk_pattern *p, double speed, hk_block_sparse *m)
{
    const double up[9] = {speed, 0, 0, 0, speed, 0, 0, 0, speed};
    double down[9];
    for (int i = 0; i < 9; i++) down[i] = -up[i];
    for (int c = 0; c + 1 < p->count; c++) {
        hk_block_sparse_add(m, c, c + 1, up);
        hk_block_sparse_add(m, c + 1, c, down);
    }
}

static void fill_vector(uint64_t seed, int rows, double *x)
{
    for (int k = 0; k < 4 * rows; k++) x[k] = k % 4 < 3 ? noise(&seed) : 0;
}

static double distance(const double *a, const double *b, int rows)
{
    double sum = 0, size = 0;
    for (int k = 0; k < 4 * rows; k++) sum += (a[k] - b[k]) * (a[k] - b[k]), size += b[k] * b[k];
    return sqrt(sum / size);
}

// ---------------------------------------------------------------- known answers

typedef struct outcome {
    hk_krylov_report report;
    double error;  // relative to the answer
} outcome;

static outcome solve(hk_krylov_method method, const hk_operator *a, int threads,
                     const hk_krylov_limits *limits, double *x)
{
    int rows = (int)(a->size / 4);
    double *answer = calloc((size_t)a->size, sizeof(double));
    double *b = calloc((size_t)a->size, sizeof(double));
    hk_krylov *k;
    outcome to;
    fill_vector(3, rows, answer);
    a->apply(a->context, answer, b);
    for (int i = 0; i < 4 * rows; i++) x[i] = 0;
    CHECK_OK(hk_krylov_create(method, a->size, threads, &k));
    hk_krylov_solve(k, a, b, limits, x, &to.report);
    to.error = distance(x, answer, rows);
    hk_krylov_free(k);
    free(answer);
    free(b);
    return to;
}

static void check(hk_krylov_method method, hk_block_sparse *m, bool is_symmetric, bool jacobi,
                  double most)
{
    double x[4 * ROWS];
    hk_krylov_limits limits = {.tolerance = 1e-11, .iterations = 2000};
    hk_operator a = hk_block_sparse_operator(m, is_symmetric, jacobi);
    hk_block_sparse_invert_diagonal(m);
    outcome to = solve(method, &a, 1, &limits, x);
    if (to.report.reason != HK_KRYLOV_CONVERGED || !(to.error < most) ||
        !(to.report.relative <= 1e-11))
        fail_msg("%s%s: %s after %d iterations and %d restarts, residual %.1e, error %.1e",
                 hk_krylov_name(method), jacobi ? ", Jacobi" : "",
                 hk_krylov_reason_name(to.report.reason), to.report.iterations, to.report.restarts,
                 to.report.relative, to.error);
}

static void test_positive(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, 1, 1);
    for (hk_krylov_method method = 0; method < HK_KRYLOV_METHODS; method++)
        for (int jacobi = 0; jacobi < 2; jacobi++) check(method, m, true, jacobi, 1e-9);
    check(HK_KRYLOV_QMR, m, false, true, 1e-9);  // with products of the transposed matrix as well
    hk_block_sparse_free(m);
    hk_pattern_free(&p);
}

// As many eigenvalues below 0 as above.
static void test_indefinite(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, -4.3, 1);
    const hk_krylov_method able[] = {HK_KRYLOV_MINRES, HK_KRYLOV_QMR};
    for (int k = 0; k < 2; k++)
        for (int jacobi = 0; jacobi < 2; jacobi++) check(able[k], m, true, jacobi, 1e-6);
    check(HK_KRYLOV_QMR, m, false, false, 1e-6);
    hk_block_sparse_free(m);
    hk_pattern_free(&p);
}

static void test_not_symmetric(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, 1, 1);
    add_wind(&p, 2.5, m);
    for (int jacobi = 0; jacobi < 2; jacobi++) {
        check(HK_KRYLOV_QMR, m, false, jacobi, 1e-8);
        check(HK_KRYLOV_BICGSTAB, m, false, jacobi, 1e-8);
    }
    hk_block_sparse_free(m);
    hk_pattern_free(&p);
}

// Without a preconditioner QMR of a symmetric matrix is MINRES, iteration by iteration.
static void test_qmr_is_minres(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, -4.3, 1);
    hk_operator a = hk_block_sparse_operator(m, true, false);
    for (int n = 1; n <= 20; n++) {
        double x[4 * ROWS], y[4 * ROWS];
        hk_krylov_limits limits = {.tolerance = 0, .iterations = n};
        solve(HK_KRYLOV_QMR, &a, 1, &limits, x);
        outcome to = solve(HK_KRYLOV_MINRES, &a, 1, &limits, y);
        assert_int_equal(to.report.reason, HK_KRYLOV_ITERATIONS);
        assert_int_equal(to.report.iterations, n);
        assert_true(distance(x, y, ROWS) < 1e-9);
    }
    hk_block_sparse_free(m);
    hk_pattern_free(&p);
}

// The residuals of MINRES never rise.
static void test_minres_descends(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, -4.3, 1);
    hk_operator a = hk_block_sparse_operator(m, true, false);
    double x[4 * ROWS], before = INFINITY;
    for (int n = 1; n <= 30; n++) {
        hk_krylov_limits limits = {.tolerance = 0, .iterations = n};
        outcome to = solve(HK_KRYLOV_MINRES, &a, 1, &limits, x);
        assert_true(to.report.residual <= before * (1 + 1e-12));
        before = to.report.residual;
    }
    assert_true(before < 0.5);
    hk_block_sparse_free(m);
    hk_pattern_free(&p);
}

// ---------------------------------------------------------------- matrix-free, and what breaks
// down

// Turns by a quarter in the plane: skew, with no product along anything.
static void quarter_turn(void *context, const double *x, double *y)
{
    (void)context;
    y[0] = -x[1], y[1] = x[0], y[2] = x[2], y[3] = 0;
}

static void turn_back(void *context, const double *x, double *y)
{
    (void)context;
    y[0] = x[1], y[1] = -x[0], y[2] = x[2], y[3] = 0;
}

static void test_breakdown(void **state)
{
    (void)state;
    hk_operator a = {.size = 4, .apply = quarter_turn, .apply_transposed = turn_back};
    double b[4] = {1, 0, 0, 0}, x[4];
    hk_krylov_limits limits = {.tolerance = 1e-12, .iterations = 50};
    for (hk_krylov_method method = 0; method < HK_KRYLOV_METHODS; method++) {
        hk_krylov *k;
        hk_krylov_report report;
        for (int i = 0; i < 4; i++) x[i] = 0;
        CHECK_OK(hk_krylov_create(method, 4, 1, &k));
        hk_krylov_solve(k, &a, b, &limits, x, &report);
        for (int i = 0; i < 4; i++) assert_true(isfinite(x[i]));
        bool right = fabs(x[0]) < 1e-9 && fabs(x[1] + 1) < 1e-9;
        // Whoever says that it has converged has.
        if (report.reason == HK_KRYLOV_CONVERGED) assert_true(right);
        if (method >= HK_KRYLOV_BICGSTAB) assert_true(report.relative <= 1 + 1e-12);
        hk_krylov_free(k);
    }
}

static void test_matrix_free(void **state)
{
    (void)state;
    hk_operator a = {.size = 4, .apply = quarter_turn, .apply_transposed = turn_back};
    double x[4];
    hk_krylov_limits limits = {.tolerance = 1e-12, .iterations = 50};
    outcome to = solve(HK_KRYLOV_QMR, &a, 1, &limits, x);
    assert_int_equal(to.report.reason, HK_KRYLOV_CONVERGED);
    assert_true(to.error < 1e-10);
}

static void blow_up(void *context, const double *x, double *y)
{
    int *calls = context;
    for (int i = 0; i < 4; i++) y[i] = ++*calls > 12 ? NAN : (2 + i) * x[i];
}

static void test_not_finite(void **state)
{
    (void)state;
    for (hk_krylov_method method = 0; method < HK_KRYLOV_METHODS; method++) {
        int calls = 0;
        hk_operator a = {.size = 4, .apply = blow_up, .context = &calls};
        double b[4] = {1, 2, 3, 0}, x[4] = {0};
        hk_krylov_limits limits = {.tolerance = 0, .iterations = 50};
        hk_krylov *k;
        hk_krylov_report report;
        CHECK_OK(hk_krylov_create(method, 4, 1, &k));
        hk_krylov_solve(k, &a, b, &limits, x, &report);
        assert_int_equal(report.reason, HK_KRYLOV_NOT_FINITE);
        for (int i = 0; i < 4; i++) assert_true(isfinite(x[i]));
        hk_krylov_free(k);
    }
}

// Nothing to do, and nothing that can be done: b = 0, and a matrix that is 0.
static void zero(void *context, const double *x, double *y)
{
    (void)context, (void)x;
    for (int i = 0; i < 4; i++) y[i] = 0;
}

static void test_nothing(void **state)
{
    (void)state;
    hk_operator a = {.size = 4, .apply = zero};
    hk_krylov_limits limits = {.tolerance = 1e-8, .iterations = 50};
    for (hk_krylov_method method = 0; method < HK_KRYLOV_METHODS; method++)
        for (int n = 0; n < 2; n++) {
            double b[4] = {n, 0, 0, 0}, x[4] = {1, 2, 3, 0};
            hk_krylov *k;
            hk_krylov_report report;
            CHECK_OK(hk_krylov_create(method, 4, 1, &k));
            hk_krylov_solve(k, &a, b, &limits, x, &report);
            if (n == 0)
                assert_int_equal(report.reason, HK_KRYLOV_CONVERGED);
            else
                assert_int_not_equal(report.reason, HK_KRYLOV_CONVERGED);
            for (int i = 0; i < 4; i++) assert_true(isfinite(x[i]));
            hk_krylov_free(k);
        }
}

// ---------------------------------------------------------------- time, and threads

typedef struct slow {
    hk_block_sparse *matrix;
    double seconds;
} slow;

static void apply_slowly(void *context, const double *x, double *y)
{
    const slow *s = context;
    double end = hk_now() + s->seconds;
    hk_block_sparse_apply(s->matrix, x, y);
    while (hk_now() < end) continue;
}

// Stops in time, no more than an iteration later, with the residual that it has.
static void test_time(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    slow s = {symmetric(&p, -4.3, 1), 2e-3};
    hk_operator a = {.size = 4 * ROWS, .apply = apply_slowly, .context = &s};
    double b[4 * ROWS], x[4 * ROWS] = {0};
    hk_krylov *k;
    hk_krylov_report report;
    fill_vector(5, ROWS, b);
    CHECK_OK(hk_krylov_create(HK_KRYLOV_QMR, a.size, 1, &k));
    // The last product is the one that the report's residual wants. A machine that is busy with
    // other things may take the processor away at any time: not always.
    bool in_time = false;
    for (int n = 0; n < 20 && !in_time; n++) {
        memset(x, 0, sizeof x);
        double start = hk_now();
        hk_krylov_limits limits = {.tolerance = 0, .iterations = 100000, .until = start + 0.05};
        hk_krylov_solve(k, &a, b, &limits, x, &report);
        in_time = hk_now() - start <= 0.05 + 2 * report.longest_s;
        assert_int_equal(report.reason, HK_KRYLOV_TIME);
        assert_true(report.iterations >= 1 && report.relative < 1);
    }
    assert_true(in_time);
    hk_krylov_free(k);
    hk_block_sparse_free(s.matrix);
    hk_pattern_free(&p);
}

static void test_threads(void **state)
{
    (void)state;
    enum { MANY = 12000 };
    hk_pattern p = chain(MANY);
    double *x[3];
    const int threads[3] = {1, 2, 7};
    for (hk_krylov_method method = 0; method < HK_KRYLOV_METHODS; method++) {
        for (int n = 0; n < 3; n++) {
            hk_block_sparse *m = symmetric(&p, 1, threads[n]);
            hk_operator a = hk_block_sparse_operator(m, true, true);
            hk_krylov_limits limits = {.tolerance = 1e-10, .iterations = 12};
            hk_block_sparse_invert_diagonal(m);
            x[n] = malloc(sizeof(double) * 4 * MANY);
            solve(method, &a, threads[n], &limits, x[n]);
            if (n > 0) assert_memory_equal(x[0], x[n], sizeof(double) * 4 * MANY);
            hk_block_sparse_free(m);
        }
        for (int n = 0; n < 3; n++) free(x[n]);
    }
    hk_pattern_free(&p);
}

// The lower triangle as assemblies have it gives the same matrix.
static void test_set(void **state)
{
    (void)state;
    hk_pattern p = chain(ROWS);
    hk_block_sparse *m = symmetric(&p, 1, 1), *same;
    double *lower = malloc(sizeof(double) * (size_t)hk_pattern_size(&p));
    for (int c = 0; c < ROWS; c++)
        for (int j = 0; j < 3; j++) {
            double *to = lower + hk_pattern_column(&p, c, j);
            for (int i = j; i < 3; i++) *to++ = m->value[hk_block_sparse_at(m->diagonal[c], i, j)];
            for (int64_t k = m->diagonal[c] + 1; k < m->start[c + 1]; k++)
                for (int i = 0; i < 3; i++) *to++ = m->value[hk_block_sparse_at(m->mate[k], i, j)];
        }
    CHECK_OK(hk_block_sparse_create(&p, 1, &same));
    hk_block_sparse_set(same, &p, lower);
    assert_memory_equal(m->value, same->value, sizeof(double) * 9 * (size_t)m->start[ROWS]);
    double x[4 * ROWS], y[4 * ROWS], z[4 * ROWS], w[3 * ROWS], v[3 * ROWS];
    fill_vector(9, ROWS, x);
    hk_block_sparse_apply(same, x, y);
    hk_block_sparse_apply_transposed(same, x, z);
    for (int k = 0; k < 3 * ROWS; k++) w[k] = x[4 * (k / 3) + k % 3];
    hk_pattern_multiply(&p, lower, w, v);
    for (int k = 0; k < 3 * ROWS; k++) {
        assert_true(fabs(v[k] - y[4 * (k / 3) + k % 3]) < 1e-13);
        assert_true(fabs(v[k] - z[4 * (k / 3) + k % 3]) < 1e-13);
    }
    free(lower);
    hk_block_sparse_free(m);
    hk_block_sparse_free(same);
    hk_pattern_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positive),        cmocka_unit_test(test_indefinite),
        cmocka_unit_test(test_not_symmetric),   cmocka_unit_test(test_qmr_is_minres),
        cmocka_unit_test(test_minres_descends), cmocka_unit_test(test_breakdown),
        cmocka_unit_test(test_matrix_free),     cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_nothing),         cmocka_unit_test(test_time),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
