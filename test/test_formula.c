// Formulas of t: what they come to, against C, and what is said of those that are wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/formula.h"
#include "failing_alloc.h"

static hk_formula *compile(const char *text)
{
    hk_formula *formula = NULL;
    if (hk_formula_create(text, &formula) != HK_OK) fail_msg("%s", hk_error());
    return formula;
}

static double value(const char *text, double t)
{
    hk_formula *formula = compile(text);
    double result = hk_formula_value(formula, t);
    hk_formula_free(formula);
    return result;
}

static void expect(const char *text, double t, double wanted)
{
    double got = value(text, t);
    if (!(got == wanted || (isnan(got) && isnan(wanted))))
        fail_msg("%s at t = %g: %.17g, not %.17g", text, t, got, wanted);
}

static void values(void **state)
{
    (void)state;
    expect("1", 0, 1);
    expect("  1.5e3 ", 0, 1500);
    expect(".5", 0, 0.5);
    expect("5.", 0, 5);
    expect("0.1", 0, 0.1);
    expect("123456789.123456789e-7", 0, 123456789.123456789e-7);
    expect("1e-400", 0, 0);
    expect("t", 3.25, 3.25);
    expect("pi", 0, 3.14159265358979323846);
    expect("1+2*3", 0, 7);
    expect("(1+2)*3", 0, 9);
    expect("10-4-3", 0, 3);
    expect("24/4/3", 0, 2);
    expect("2^3^2", 0, 512);
    expect("-2^2", 0, -4);
    expect("2^-1", 0, 0.5);
    expect("--3", 0, 3);
    expect("2*-3", 0, -6);
    expect("+4", 0, 4);
    expect("1-+1", 0, 0);
    expect("!0 + !5", 0, 1);
    expect("1 < 2", 0, 1);
    expect("1 > 2", 0, 0);
    expect("2 <= 2", 0, 1);
    expect("2 >= 3", 0, 0);
    expect("2 == 2 && 3 != 4", 0, 1);
    expect("0 || 3", 0, 1);
    expect("0 && 1 || 1", 0, 1);
    expect("t<1?10:20", 0.5, 10);
    expect("t<1?10:20", 1, 20);
    expect("t<1?1:t<2?2:3", 1.5, 2);
    expect("t<1?t<0.5?1:2:3", 0.7, 2);
    expect("t ? 1/t : 7", 0, 7);
    expect("abs(-3) + floor(2.7) + floor(-0.5)", 0, 4);
    expect("min(3, 1, 2)", 0, 1);
    expect("max(3, 1, 2, 9)", 0, 9);
    expect("clamp(t, 0, 1)", 7, 1);
    expect("clamp(t, 0, 1)", -7, 0);
    expect("clamp(t, 0, 1)", 0.25, 0.25);
    expect("step(1, t)", 0.999, 0);
    expect("step(1, t)", 1, 1);
    expect("sqrt(t)", 2, sqrt(2));
    expect("exp(log(t))", 1, 1);
    expect("sin(t)*cos(t)+tan(t)", 0.3, sin(0.3) * cos(0.3) + tan(0.3));
    expect("1/t", 0, INFINITY);
    expect("sqrt(-1)", 0, NAN);
    expect("min(sqrt(-1), 1)", 0, NAN);
    expect("max(1, sqrt(-1))", 0, NAN);
    expect("clamp(0/0, 0, 1)", 0, NAN);
}

// Extreme eq. 34, in metres: the path of a plate.
static void the_plate_of_extreme(void **state)
{
    (void)state;
    static const char *const x = "t < 1 ? 0 : t < 6 ? 0.1*sin(2*pi*(t-1)/1.3) :"
                                 " 0.1*sin(2*pi*5/1.3)";
    static const char *const y = "t < 1 ? 0.02 + 0.3*(1-t) : t < 6 ?"
                                 " max(0, 0.02 - 0.1*sin(2*pi*(t-1))) : 0.02 + 0.3*(t-6)";
    hk_formula *fx = compile(x), *fy = compile(y), *copy = NULL;
    assert_int_equal(hk_formula_copy(fy, &copy), HK_OK);
    assert_string_equal(hk_formula_text(copy), y);
    const double pi = 3.14159265358979323846;
    for (double t = 0; t <= 8; t += 1.0 / 128) {
        double wx = t < 1 ? 0 : 0.1 * sin(2 * pi * (fmin(t, 6) - 1) / 1.3);
        double wy = t < 1   ? 0.02 + 0.3 * (1 - t)
                    : t < 6 ? fmax(0, 0.02 - 0.1 * sin(2 * pi * (t - 1)))
                            : 0.02 + 0.3 * (t - 6);
        assert_true(fabs(hk_formula_value(fx, t) - wx) < 1e-15);
        assert_true(fabs(hk_formula_value(fy, t) - wy) < 1e-15);
        assert_true(hk_formula_value(copy, t) == hk_formula_value(fy, t));
    }
    assert_false(hk_formula_is_constant(fx));
    hk_formula_free(fx);
    hk_formula_free(fy);
    hk_formula_free(copy);
    hk_formula *constant = compile("2*pi");
    assert_true(hk_formula_is_constant(constant));
    hk_formula_free(constant);
}

static void refuse(const char *text, const char *part)
{
    hk_formula *formula = NULL;
    assert_int_equal(hk_formula_create(text, &formula), HK_BAD_INPUT);
    assert_null(formula);
    if (!strstr(hk_error(), part))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, hk_error(), part);
}

static void wrong_formulas_say_where(void **state)
{
    (void)state;
    refuse("20+*3", "formula \"20+*3\": column 4: ");
    refuse("", "column 1: the formula ends");
    refuse("1+", "column 3: the formula ends");
    refuse("(1", "column 3: a ) is missing");
    refuse("1)", "column 2: an operator or the end");
    refuse("1 2", "column 3");
    refuse("x", "column 1: unknown name \"x\"");
    refuse("sine(t)", "unknown name \"sine\"");
    refuse("sin t", "column 5: sin takes a value in parentheses");
    refuse("sin(1, 2)", "sin takes 1 value");
    refuse("min(1)", "min takes 2 values or more");
    refuse("clamp(t, 1)", "clamp takes 3 values");
    refuse("t ? 1", "column 6: the : of a ? is missing");
    refuse("1 = 2", "column 3");
    refuse("1 & 2", "column 3");
    refuse("1e", "column 3: the exponent has no digits");
    refuse("1e999", "column 1: the number is too large");
    refuse(".", "column 1: a digit is missing");
    refuse("1.2.3", "column 4");
    refuse("π·t", "column 1");
    refuse("t − 1", "column 3");  // a minus that is none
    refuse("1\n+", "formula \"1?+\"");
    char deep[2000];
    memset(deep, '(', sizeof deep);
    deep[1999] = '\0';
    refuse(deep, "nested too deeply");
    memset(deep, '-', 1998);
    deep[1998] = '1';
    refuse(deep, "nested too deeply");
    char longest[5001];
    memset(longest, '1', 5000);
    longest[5000] = '\0';
    refuse(longest, "longer than 4096");
    longest[100] = '\0';
    refuse(longest, "too many digits");
}

// Whatever compiles needs no more values at once than there is room for.
static void involved_formulas(void **state)
{
    (void)state;
    char text[4000] = "";
    int length = 0;
    double sum = 0;
    for (int k = 0; k < 500; k++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", k ? "+" : "", k);
        sum += k;
    }
    expect(text, 0, sum);
    length = 0;
    for (int k = 0; k < 50; k++) length += snprintf(text + length, 8, "1+(");
    text[length++] = 't';
    for (int k = 0; k < 50; k++) text[length++] = ')';
    text[length] = '\0';
    expect(text, 3, 53);
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_formula *formula = NULL, *copy = NULL;
        hk_status status = hk_formula_create("1+t", &formula);
        if (status == HK_OK) status = hk_formula_copy(formula, &copy);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        hk_formula_free(formula);
        hk_formula_free(copy);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(the_plate_of_extreme),
        cmocka_unit_test(wrong_formulas_say_where),
        cmocka_unit_test(involved_formulas),
        cmocka_unit_test(no_failed_allocation_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
