// Numbers and words out of text, and the map of file numbers.
#include "io_text.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static hk_scan scan_of(const char *text)
{
    return hk_scan_begin("t", text, strlen(text), '#');
}

static void reals_are_the_nearest_doubles(void **state)
{
    (void)state;
    static const char *const texts[] = {"0",
                                        "-0",
                                        "1",
                                        "+1.5",
                                        ".5",
                                        "5.",
                                        "-.25e1",
                                        "1e22",
                                        "1e23",
                                        "123456789012345678",
                                        "0.1",
                                        "0.30000000000000004",
                                        "9007199254740993",
                                        "9007199254740992.5",
                                        "1.7976931348623157e308",
                                        "2.2250738585072011e-308",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "1e-400",
                                        "0e999999999999999999999",
                                        "8.41470984807896504875657228695e-01",
                                        "0.000000000000000000000000000000000001",
                                        "100000000000000000000000000000000000000",
                                        "17976931348623157e292"};
    for (int i = 0; i < HK_COUNT_OF(texts); i++) {
        hk_scan scan = scan_of(texts[i]);
        double value, expected = strtod(texts[i], NULL);
        assert_int_equal(hk_scan_real(&scan, "a number", &value), HK_OK);
        assert_memory_equal(&value, &expected, sizeof value);
    }
}

static void random_reals_are_the_nearest_doubles(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double expected, value;
        memcpy(&expected, &random, sizeof expected);
        if (!isfinite(expected)) continue;
        char text[64];
        snprintf(text, sizeof text, "%.*g", i % 22 + 1, expected);
        expected = strtod(text, NULL);
        hk_scan scan = scan_of(text);
        if (isinf(expected)) {
            assert_int_equal(hk_scan_real(&scan, "a number", &value), HK_BAD_INPUT);
            continue;
        }
        assert_int_equal(hk_scan_real(&scan, "a number", &value), HK_OK);
        assert_memory_equal(&value, &expected, sizeof value);
    }
}

// Exactly half way between two doubles, and a hair above, 800 digits later.
static void very_long_numbers_round_correctly(void **state)
{
    (void)state;
    char text[1200];
    int length = snprintf(text, sizeof text, "9007199254740993.");
    memset(text + length, '0', 1000);
    strcpy(text + length + 1000, "");
    hk_scan scan = scan_of(text);
    double value;
    assert_int_equal(hk_scan_real(&scan, "a number", &value), HK_OK);
    assert_true(value == 9007199254740992.0);
    strcpy(text + length + 999, "1");
    scan = scan_of(text);
    assert_int_equal(hk_scan_real(&scan, "a number", &value), HK_OK);
    assert_true(value == 9007199254740994.0);
}

static void fortran_exponents_are_read(void **state)
{
    (void)state;
    hk_scan scan = scan_of("1.5D+02 2d0");
    double a, b;
    assert_int_equal(hk_scan_real(&scan, "a number", &a), HK_OK);
    assert_int_equal(hk_scan_real(&scan, "a number", &b), HK_OK);
    assert_true(a == 150 && b == 2);
}

static void what_is_not_a_number_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"nan", "inf",   "-Infinity", "1e",   "1e+",
                                        "--1", ".",     "1.2.3",     "0x10", "1,5",
                                        "abc", "1e400", "-1e400",    "e5",   "\x01\xff"};
    for (int i = 0; i < HK_COUNT_OF(texts); i++) {
        char text[64];
        snprintf(text, sizeof text, "\n  %s 7", texts[i]);
        hk_scan scan = scan_of(text);
        double value = 42;
        assert_int_equal(hk_scan_real(&scan, "the width", &value), HK_BAD_INPUT);
        assert_true(value == 42);
        assert_contains(hk_error(), "t:2: expected the width");
    }
    assert_contains(hk_error(), "found \"??\"");
    hk_scan scan = scan_of("  \n# only a comment");
    double value;
    assert_int_equal(hk_scan_real(&scan, "the width", &value), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "t:2: the file ends where the width was expected");
}

static void integers_must_fit(void **state)
{
    (void)state;
    hk_scan scan = scan_of("9223372036854775807 -9223372036854775808 +12 # 5\r\n0");
    int64_t value;
    assert_int_equal(hk_scan_int(&scan, "a number", &value), HK_OK);
    assert_true(value == INT64_MAX);
    assert_int_equal(hk_scan_int(&scan, "a number", &value), HK_OK);
    assert_true(value == INT64_MIN);
    assert_int_equal(hk_scan_int(&scan, "a number", &value), HK_OK);
    assert_int_equal(value, 12);
    assert_false(hk_scan_more_on_line(&scan));
    assert_int_equal(hk_scan_int(&scan, "a number", &value), HK_OK);
    assert_int_equal(value, 0);
    assert_int_equal(scan.line, 2);
    static const char *const bad[] = {
        "9223372036854775808", "-9223372036854775809", "1.0", "-", "1e3", "12a", ""};
    for (int i = 0; i < HK_COUNT_OF(bad); i++) {
        scan = scan_of(bad[i]);
        assert_int_equal(hk_scan_int(&scan, "a number", &value), HK_BAD_INPUT);
    }
}

static void counts_must_have_room(void **state)
{
    (void)state;
    static const bad_file bad[] = {
        {"-1 ", "t:1: the number of nodes is -1: it must not be negative"},
        {"1000000000000000000 1 2 3", "the rest of the file has room for 2 at most"},
        {"4 1 2 3", "room for 2 at most"},
    };
    int count = -1;
    for (int i = 0; i < HK_COUNT_OF(bad); i++) {
        hk_scan scan = scan_of(bad[i].text);
        assert_int_equal(hk_scan_count(&scan, "the number of nodes", 3, &count), HK_BAD_INPUT);
        assert_contains(hk_error(), bad[i].message);
    }
    assert_int_equal(count, -1);
    hk_scan scan = scan_of("3 1 2 3");
    assert_int_equal(hk_scan_count(&scan, "the number of nodes", 2, &count), HK_OK);
    assert_int_equal(count, 3);
    scan = scan_of("3000000000");
    assert_int_equal(hk_scan_count(&scan, "the number of nodes", 0, &count), HK_BAD_INPUT);
}

static void words_lines_and_comments(void **state)
{
    (void)state;
    hk_scan scan = scan_of("# head\nalpha,beta gamma#x\n delta rest\nend");
    const char *word;
    size_t length;
    assert_false(hk_scan_accept(&scan, "alpha"));
    assert_true(hk_scan_accept(&scan, "alpha,beta"));
    assert_true(hk_scan_accept(&scan, "gamma"));
    assert_int_equal(hk_scan_line_end(&scan), HK_OK);
    assert_int_equal(hk_scan_on_line(&scan, "a word"), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "t:2: the line ends where a word was expected");
    assert_int_equal(hk_scan_word(&scan, "a word", &word, &length), HK_OK);
    assert_true(length == 5 && memcmp(word, "delta", 5) == 0);
    scan.item = "node";
    scan.number = 7;
    assert_int_equal(hk_scan_line_end(&scan), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "t:3: node 7: expected the end of the line, found \"rest\"");
    hk_scan_skip_line(&scan);
    assert_int_equal(scan.line, 4);
    assert_true(hk_scan_accept(&scan, "end"));
    assert_false(hk_scan_more(&scan));
    scan = scan_of("alpha,,beta");
    scan.separator = ',';
    assert_true(hk_scan_accept(&scan, "alpha"));
    assert_true(hk_scan_accept(&scan, "beta"));
}

static void numbers_map_to_places(void **state)
{
    (void)state;
    static const int64_t dense[] = {7, 3, 4, 5, 9}, sparse[] = {INT64_MIN, 5, INT64_MAX, -7, 0};
    const int64_t *const lists[] = {dense, sparse};
    for (int l = 0; l < 2; l++) {
        hk_idmap *map = NULL;
        int duplicate = 99;
        assert_int_equal(hk_idmap_new(5, lists[l], &map, &duplicate), HK_OK);
        assert_int_equal(duplicate, -1);
        for (int i = 0; i < 5; i++) assert_int_equal(hk_idmap_find(map, lists[l][i]), i);
        static const int64_t unknown[] = {1, 6, 100, -1, INT64_MAX - 1, INT64_MIN + 1};
        for (int i = 0; i < HK_COUNT_OF(unknown); i++)
            assert_int_equal(hk_idmap_find(map, unknown[i]), -1);
        hk_idmap_free(map);
    }
    hk_idmap *map = NULL;
    assert_int_equal(hk_idmap_new(0, NULL, &map, NULL), HK_OK);
    assert_int_equal(hk_idmap_find(map, 0), -1);
    hk_idmap_free(map);
}

static void a_number_used_twice_is_told(void **state)
{
    (void)state;
    static const int64_t dense[] = {1, 2, 3, 2}, sparse[] = {1, 1000000, 5, 1000000};
    hk_idmap *map = NULL;
    int duplicate = -1;
    assert_int_equal(hk_idmap_new(4, dense, &map, &duplicate), HK_BAD_INPUT);
    assert_int_equal(duplicate, 3);
    assert_int_equal(hk_idmap_new(4, sparse, &map, &duplicate), HK_BAD_INPUT);
    assert_int_equal(duplicate, 3);
    assert_null(map);
    assert_contains(hk_error(), "1000000");
}

static void many_sparse_numbers(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    int64_t *ids = malloc(COUNT * sizeof *ids);
    assert_non_null(ids);
    for (int i = 0; i < COUNT; i++) ids[i] = (int64_t)i * 1000003 * 4096;
    hk_idmap *map;
    assert_int_equal(hk_idmap_new(COUNT, ids, &map, NULL), HK_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(hk_idmap_find(map, ids[i]), i);
        assert_int_equal(hk_idmap_find(map, ids[i] + 1), -1);
    }
    hk_idmap_free(map);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_are_the_nearest_doubles),
        cmocka_unit_test(random_reals_are_the_nearest_doubles),
        cmocka_unit_test(very_long_numbers_round_correctly),
        cmocka_unit_test(fortran_exponents_are_read),
        cmocka_unit_test(what_is_not_a_number_is_named),
        cmocka_unit_test(integers_must_fit),
        cmocka_unit_test(counts_must_have_room),
        cmocka_unit_test(words_lines_and_comments),
        cmocka_unit_test(numbers_map_to_places),
        cmocka_unit_test(a_number_used_twice_is_told),
        cmocka_unit_test(many_sparse_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
