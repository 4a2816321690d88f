// As much of cmocka as the tests use, for targets that it is not installed for: cross-compiled
// builds (tools/aarch64.sh). A failed check ends its test by longjmp, as there.
#ifndef HK_CROSS_CMOCKA_H
#define HK_CROSS_CMOCKA_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long hk_cross_number;

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
};

enum { HK_CROSS_FAILED = 1, HK_CROSS_SKIPPED };

static jmp_buf hk_cross_back;

static inline __attribute__((noreturn, format(printf, 3, 4))) void
hk_cross_fail(const char *file, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("ERROR: ");
    vprintf(format, list);
    va_end(list);
    printf("\n%s:%d: error: Failure!\n", file, line);
    longjmp(hk_cross_back, HK_CROSS_FAILED);
}

#define cmocka_unit_test(f) \
    {                       \
#f, f, NULL, NULL   \
    }
#define cmocka_unit_test_setup_teardown(f, s, t) \
    {                                            \
#f, f, s, t                              \
    }

#define print_message(...) printf(__VA_ARGS__)
#define skip()             longjmp(hk_cross_back, HK_CROSS_SKIPPED)
#define fail_msg(...)      hk_cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()             fail_msg("%s", "fail()")
#define HK_CROSS_CHECK(c)             \
    do {                              \
        if (!(c)) fail_msg("%s", #c); \
    } while (0)

#define assert_true(c)                   HK_CROSS_CHECK(c)
#define assert_false(c)                  HK_CROSS_CHECK(!(c))
#define assert_null(p)                   HK_CROSS_CHECK((p) == NULL)
#define assert_non_null(p)               HK_CROSS_CHECK((p) != NULL)
#define assert_ptr_equal(a, b)           HK_CROSS_CHECK((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b)       HK_CROSS_CHECK((const void *)(a) != (const void *)(b))
#define assert_int_equal(a, b)           HK_CROSS_CHECK((hk_cross_number)(a) == (hk_cross_number)(b))
#define assert_int_not_equal(a, b)       HK_CROSS_CHECK((hk_cross_number)(a) != (hk_cross_number)(b))
#define assert_string_equal(a, b)        HK_CROSS_CHECK(strcmp((a), (b)) == 0)
#define assert_string_not_equal(a, b)    HK_CROSS_CHECK(strcmp((a), (b)) != 0)
#define assert_memory_equal(a, b, n)     HK_CROSS_CHECK(memcmp((a), (b), (n)) == 0)
#define assert_memory_not_equal(a, b, n) HK_CROSS_CHECK(memcmp((a), (b), (n)) != 0)
#define assert_float_equal(a, b, e)      HK_CROSS_CHECK(fabs((double)(a) - (double)(b)) <= (double)(e))
#define assert_in_range(v, low, high)                                \
    HK_CROSS_CHECK((hk_cross_number)(v) >= (hk_cross_number)(low) && \
                   (hk_cross_number)(v) <= (hk_cross_number)(high))

static inline int hk_cross_run(const struct CMUnitTest *t)
{
    void *state = NULL;
    printf("[ RUN      ] %s\n", t->name);
    fflush(stdout);
    int end = setjmp(hk_cross_back);
    if (end == 0) {
        if (t->setup) t->setup(&state);
        t->test(&state);
    }
    if (t->teardown && end != HK_CROSS_FAILED) t->teardown(&state);
    printf("[  %s ] %s\n",
           end == 0                  ? "     OK"
           : end == HK_CROSS_SKIPPED ? "SKIPPED"
                                     : "FAILED",
           t->name);
    return end == HK_CROSS_FAILED;
}

static inline int hk_cross_run_all(const struct CMUnitTest *tests, int count)
{
    int failed = 0;
    for (int k = 0; k < count; k++) failed += hk_cross_run(&tests[k]);
    printf("[==========] %d test(s) run, %d failed.\n", count, failed);
    return failed;
}
#define cmocka_run_group_tests(tests, setup, teardown) \
    ((void)(setup), (void)(teardown),                  \
     hk_cross_run_all(tests, (int)(sizeof(tests) / sizeof((tests)[0]))))

#endif
