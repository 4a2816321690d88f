// Secants of fixed-point iterations: linear ones end in as many steps as there are different rates,
// and the bits do not depend on threads.
#include "bodies.h"

#include "design/secant.h"

enum { SIZE = 40000 };

// d(X) = rate (goal − X), with a rate of each number's own.
static double find_step(const double *X, int rates, double *step)
{
    double square = 0;
    for (int k = 0; k < SIZE; k++) {
        double rate = 0.3 + 1.2 * (k % rates) / rates;
        step[k] = rate * (sin(k) - X[k]);
        square += step[k] * step[k];
    }
    return sqrt(square);
}

// Iterations until the step is 1e-10 of the first.
static int iterate(int rates, int window, int threads, double *X)
{
    double *step = malloc(SIZE * sizeof *step), first = 0;
    hk_secant secant;
    hk_secant_init(&secant, SIZE, threads, window);
    memset(X, 0, SIZE * sizeof *X);
    int n = 0;
    for (; n < 100; n++) {
        double length = find_step(X, rates, step);
        bool improved;
        if (n == 0) first = length;
        if (length <= 1e-10 * first) break;
        CHECK_OK(hk_secant_improve(&secant, X, step, &improved));
        assert_int_equal(improved, n > 0);
        for (int k = 0; k < SIZE; k++) X[k] += step[k];
    }
    hk_secant_release(&secant);
    free(step);
    return n;
}

static void test_few_rates_take_few_steps(void **state)
{
    (void)state;
    double *X = malloc(SIZE * sizeof *X);
    for (int rates = 1; rates <= 4; rates++) {
        int n = iterate(rates, HK_SECANT_MOST, 1, X);
        if (n > rates + 1) fail_msg("%d rates took %d steps", rates, n);
        for (int k = 0; k < SIZE; k++) assert_true(fabs(X[k] - sin(k)) < 1e-9);
    }
    // A window that is too small goes on, more slowly, and full ones do no harm.
    int narrow = iterate(6, 2, 1, X), wide = iterate(6, HK_SECANT_MOST, 1, X);
    assert_true(wide <= 8 && narrow > wide && narrow < 60);
    free(X);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    double *one = malloc(SIZE * sizeof *one), *two = malloc(SIZE * sizeof *two);
    assert_int_equal(iterate(5, 3, 1, one), iterate(5, 3, 2, two));
    assert_memory_equal(one, two, SIZE * sizeof *one);
    free(one);
    free(two);
}

// What was is not used after it was forgotten: the next step stays as it is.
static void test_forgetting(void **state)
{
    (void)state;
    double *X = calloc(SIZE, sizeof *X), *step = malloc(SIZE * sizeof *step);
    hk_secant secant;
    bool improved;
    hk_secant_init(&secant, SIZE, 1, 4);
    CHECK_OK(hk_secant_reserve(&secant));
    for (int n = 0; n < 3; n++) {
        find_step(X, 3, step);
        CHECK_OK(hk_secant_improve(&secant, X, step, &improved));
        for (int k = 0; k < SIZE; k++) X[k] += step[k];
    }
    assert_true(improved);
    hk_secant_forget(&secant);
    double length = find_step(X, 3, step), after = 0;
    CHECK_OK(hk_secant_improve(&secant, X, step, &improved));
    for (int k = 0; k < SIZE; k++) after += step[k] * step[k];
    assert_false(improved);
    assert_true(sqrt(after) == length);
    // The same X again has no difference to learn from, and no step becomes NaN.
    CHECK_OK(hk_secant_improve(&secant, X, step, &improved));
    assert_false(improved);
    hk_secant_release(&secant);
    free(X);
    free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rates_take_few_steps),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_forgetting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
