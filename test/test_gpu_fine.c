// Positions with more bits than a float (gpu/fine.h), on the host.
#include "gpu/fine.h"
#include "bodies.h"

static double value_of(float high, hk_fine_bits bits, int i)
{
    return (double)high + (double)HK_FINE_UNIT * (double)fine_units(high, bits, i);
}

// A number without pattern in −1 … 1.
static double number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*seed / 0x1p63;
}

static void test_more_bits(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int k = 0; k < 300000; k++) {
        double x = ldexp(number(&seed), k % 60 - 40);
        float high = (float)x;
        hk_fine_bits bits = fine_settle(&high, (float)(x - (double)high), k % 3);
        assert_true(bits >> 24 == 0);
        double error = fabs(value_of(high, bits, k % 3) - x);
        // Half a unit of 2⁻³²; 127 instead of 128 at the end of the range makes it a whole one.
        if (error > fabs(x) * 0x1p-31)
            fail_msg("%.17g became %.17g", x, value_of(high, bits, k % 3));
    }
}

// Steps far below a float's resolution add up.
static void test_small_steps(void **state)
{
    (void)state;
    float high = 0.7f, step = 1e-9f;
    hk_fine_bits bits = 0;
    double x = (double)high;
    for (int k = 0; k < 100000; k++) {
        float low = HK_FINE_UNIT * fine_units(high, bits, 1) + step;
        bits = fine_settle(&high, low, 1);
        x += (double)step;
    }
    // Each step rounds to 2⁻³³, always the same way.
    assert_true(fabs(value_of(high, bits, 1) - x) < 100000 * 0x1p-33);
    assert_true(value_of(high, bits, 1) > 0.7 + 0.8e-4);
}

static void test_zero_and_signs(void **state)
{
    (void)state;
    float high = 0;
    hk_fine_bits bits = fine_settle(&high, 0, 0);
    assert_true(high == 0 && bits == 0 && value_of(high, bits, 0) == 0);
    high = 1;  // across zero
    bits = fine_settle(&high, -1 - 0x1p-20f, 2);
    assert_true(fabs(value_of(high, bits, 2) + 0x1p-20) < 0x1p-50);
    // What is not finite stays so.
    high = 1;
    fine_settle(&high, INFINITY, 0);
    assert_false(isfinite(high));
    high = NAN;
    fine_settle(&high, 1, 0);
    assert_true(isnan(high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_bits),
        cmocka_unit_test(test_small_steps),
        cmocka_unit_test(test_zero_and_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
