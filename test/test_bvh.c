// Trees of boxes: every pair that is near is found, in the same order by any number of threads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contact/bvh.h"
#include "contact/radix.h"
#include "failing_alloc.h"

#define CHECK_OK(call)                                              \
    do {                                                            \
        if ((call) != HK_OK) fail_msg("%s: %s", #call, hk_error()); \
    } while (0)

static uint64_t g_state = 1;
static uint64_t random_bits(void)
{
    g_state = g_state * 6364136223846793005u + 1442695040888963407u;
    return g_state >> 16;
}
static double uniform(void)
{
    return (double)(random_bits() & 0xffffffff) * 0x1p-32;
}

// Kinds of clouds: even, on a lattice (many ties and touching boxes), two far apart, all in one
// place, flat, large and small boxes mixed, far from the origin, as large as doubles can be.
enum { KINDS = 8 };
static void make_boxes(int kind, int count, hk_box *boxes)
{
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) {
            double at = uniform(), size = 0.1 * uniform();
            if (kind == 1) at = (double)(random_bits() % 5), size = (double)(random_bits() % 2);
            if (kind == 2) at += b % 2 ? 1e7 : 0;
            if (kind == 3) at = 0.3, size = 0;
            if (kind == 4 && i == 1) at = 0.1, size = 0;
            if (kind == 5 && b % 20 == 0) size = 0.7;
            if (kind == 6) at += 1e5;
            if (kind == 7) at = (at - 0.5) * 1e308, size *= 1e308;
            boxes[b].low[i] = at;
            boxes[b].high[i] = at + size;
        }
}

// How far apart along the worst axis; at most 0: they overlap.
static double gap(const hk_box *a, const hk_box *b)
{
    double most = -INFINITY;
    for (int i = 0; i < 3; i++)
        most = fmax(most, fmax(b->low[i] - a->high[i], a->low[i] - b->high[i]));
    return most;
}

static double size_of(const hk_box *boxes, int count)
{
    double low = INFINITY, high = -INFINITY;
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) {
            low = fmin(low, boxes[b].low[i] / 2);
            high = fmax(high, boxes[b].high[i] / 2);
        }
    return 2 * (high - low);
}

// Every pair within the radius is there, none that is more than rounding of single precision away,
// and all in order.
static void check_pairs(const hk_pairs *pairs, const hk_box *a, int m, const hk_box *b, int n,
                        double radius, double size, bool equals)
{
    const uint64_t *keys = hk_pairs_keys(pairs);
    size_t next = 0;
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = equals ? i + 1 : 0; j < n; j++) {
            uint64_t key = (uint64_t)(uint32_t)i << 32 | (uint32_t)j;
            bool found = next < pairs->count && keys[next] == key;
            double apart = gap(&a[i], &b[j]);
            if (apart <= radius) assert_true(found);
            if (found) {
                assert_true(apart <= radius + 1e-6 * size);
                assert_int_equal(hk_key_first(keys[next]), i);
                assert_int_equal(hk_key_second(keys[next]), j);
                next++;
            }
        }
    assert_int_equal(next, pairs->count);
}

static void test_against_all_pairs(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 7, 8, 9, 64, 65, 300};
    enum { MOST = 300 };
    static hk_box one[MOST], two[MOST];
    hk_bvh first = {0}, second = {0};
    hk_pairs pairs = {0};
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < HK_COUNT_OF(counts); c++) {
            int n = counts[c], m = MOST - n / 2;
            make_boxes(kind, n, one);
            make_boxes(kind, m, two);
            double size = size_of(one, n) + size_of(two, m);
            double radius = c % 3 == 0 ? 0 : c % 3 == 1 ? 1e-3 : 0.05 * fmin(size, 1e307);
            if (kind == 7) size = INFINITY;  // beyond single precision: no pair is ruled out
            CHECK_OK(hk_bvh_build(&first, one, n, 2));
            CHECK_OK(hk_bvh_build(&second, two, m, 2));
            CHECK_OK(hk_bvh_self_pairs(&first, radius, NULL, NULL, 2, &pairs));
            check_pairs(&pairs, one, n, one, n, radius, size, true);
            CHECK_OK(hk_bvh_tree_pairs(&first, &second, radius, NULL, NULL, 2, &pairs));
            check_pairs(&pairs, one, n, two, m, radius, size, false);
            CHECK_OK(hk_bvh_box_pairs(one, n, &second, radius, NULL, NULL, 2, &pairs));
            check_pairs(&pairs, one, n, two, m, radius, size, false);
        }
    hk_pairs_free(&pairs);
    hk_bvh_free(&first);
    hk_bvh_free(&second);
}

static void test_nothing(void **state)
{
    (void)state;
    hk_box box = {{0, 0, 0}, {1, 1, 1}};
    hk_bvh empty = {0}, one = {0};
    hk_pairs pairs = {0};
    CHECK_OK(hk_bvh_build(&empty, NULL, 0, 2));
    CHECK_OK(hk_bvh_build(&one, &box, 1, 2));
    CHECK_OK(hk_bvh_self_pairs(&empty, 1, NULL, NULL, 2, &pairs));
    assert_int_equal(pairs.count, 0);
    CHECK_OK(hk_bvh_tree_pairs(&empty, &one, 1, NULL, NULL, 2, &pairs));
    assert_int_equal(pairs.count, 0);
    CHECK_OK(hk_bvh_tree_pairs(&one, &empty, 1, NULL, NULL, 2, &pairs));
    assert_int_equal(pairs.count, 0);
    CHECK_OK(hk_bvh_box_pairs(NULL, 0, &one, 1, NULL, NULL, 2, &pairs));
    assert_int_equal(pairs.count, 0);
    hk_bvh_refit(&empty, NULL, 2);
    hk_pairs_free(&pairs);
    hk_bvh_free(&empty);
    hk_bvh_free(&one);
}

// Boxes that touch in one coordinate to the last bit, and those one unit in the last place closer,
// far from the origin, where single precision does not tell them apart.
static void test_last_place(void **state)
{
    (void)state;
    hk_box boxes[2] = {{{1e6, 0, 0}, {1e6 + 0.1, 1, 1}}, {{1e6 + 0.1, 0, 0}, {1e6 + 0.2, 1, 1}}};
    hk_bvh tree = {0};
    hk_pairs pairs = {0};
    for (int k = 0; k < 2; k++) {
        CHECK_OK(hk_bvh_build(&tree, boxes, 2, 1));
        CHECK_OK(hk_bvh_self_pairs(&tree, 0, NULL, NULL, 1, &pairs));
        assert_int_equal(pairs.count, 1);
        boxes[1].low[0] = nextafter(boxes[1].low[0], 0);
    }
    // A radius that just reaches.
    boxes[1].low[0] = boxes[0].high[0] + 0.25;
    boxes[1].high[0] += 1;
    double reach = boxes[1].low[0] - boxes[0].high[0];
    CHECK_OK(hk_bvh_build(&tree, boxes, 2, 1));
    CHECK_OK(hk_bvh_self_pairs(&tree, reach, NULL, NULL, 1, &pairs));
    assert_int_equal(pairs.count, 1);
    CHECK_OK(hk_bvh_self_pairs(&tree, 0.999 * reach, NULL, NULL, 1, &pairs));
    assert_int_equal(pairs.count, 0);
    hk_pairs_free(&pairs);
    hk_bvh_free(&tree);
}

static bool are_odd(const void *context, int32_t first, int32_t second)
{
    return (first + second) % 2 == *(const int *)context;
}

// Threads, the capacity at the start, and whether the tree is new make no difference.
static void test_same_bits(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static hk_box boxes[COUNT], moved[COUNT];
    static const int threads[] = {1, 2, 7};
    const int odd = 1;
    make_boxes(0, COUNT, boxes);
    for (int b = 0; b < COUNT; b++)
        for (int i = 0; i < 3; i++) boxes[b].high[i] = boxes[b].low[i] + 0.03 * uniform();
    hk_pairs expected = {0}, filtered = {0};
    hk_bvh tree = {0};
    CHECK_OK(hk_bvh_build(&tree, boxes, COUNT, 1));
    CHECK_OK(hk_bvh_self_pairs(&tree, 0, NULL, NULL, 1, &expected));
    CHECK_OK(hk_bvh_self_pairs(&tree, 0, are_odd, &odd, 1, &filtered));
    assert_true(expected.count > 5000);
    assert_in_range(filtered.count, expected.count / 3, 2 * expected.count / 3);
    for (int k = 0; k < 3; k++) {
        hk_bvh other = {0};
        hk_pairs pairs = {0};
        // Elsewhere first, then here again: the tree is a worse one, the pairs are the same.
        for (int b = 0; b < COUNT; b++) moved[b] = boxes[COUNT - 1 - b];
        CHECK_OK(hk_bvh_build(&other, k == 0 ? boxes : moved, COUNT, threads[k]));
        assert_memory_equal(other.origin, tree.origin, sizeof tree.origin);
        hk_bvh_refit(&other, boxes, threads[k]);
        CHECK_OK(hk_bvh_self_pairs(&other, 0, NULL, NULL, threads[k], &pairs));
        assert_int_equal(pairs.count, expected.count);
        assert_memory_equal(hk_pairs_keys(&pairs), hk_pairs_keys(&expected),
                            expected.count * sizeof(uint64_t));
        // The list began with no capacity at all. Once more with a little.
        hk_pairs_free(&pairs);
        CHECK_OK(hk_radix_reserve(&pairs.radix, 100, false, 1));
        CHECK_OK(hk_bvh_self_pairs(&other, 0, are_odd, &odd, threads[k], &pairs));
        assert_int_equal(pairs.count, filtered.count);
        assert_memory_equal(hk_pairs_keys(&pairs), hk_pairs_keys(&filtered),
                            filtered.count * sizeof(uint64_t));
        hk_pairs_free(&pairs);
        hk_bvh_free(&other);
    }
    hk_pairs_free(&expected);
    hk_pairs_free(&filtered);
    hk_bvh_free(&tree);
}

// A warm step takes no memory, and one that fails for want of it leaves nothing behind and works
// the next time.
static void test_memory(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static hk_box boxes[COUNT];
    make_boxes(0, COUNT, boxes);
    for (int n = 1;; n++) {
        hk_bvh tree = {0};
        hk_pairs pairs = {0};
        failing_alloc_install(n);
        hk_status status = hk_bvh_build(&tree, boxes, COUNT, 3);
        if (status == HK_OK) status = hk_bvh_self_pairs(&tree, 0.01, NULL, NULL, 3, &pairs);
        int calls = failing_alloc_count();
        bool reached = calls >= n;
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        CHECK_OK(hk_bvh_build(&tree, boxes, COUNT, 3));
        CHECK_OK(hk_bvh_self_pairs(&tree, 0.01, NULL, NULL, 3, &pairs));
        int warm = failing_alloc_count();
        CHECK_OK(hk_bvh_build(&tree, boxes, COUNT, 3));
        hk_bvh_refit(&tree, boxes, 3);
        CHECK_OK(hk_bvh_self_pairs(&tree, 0.01, NULL, NULL, 3, &pairs));
        CHECK_OK(hk_bvh_self_pairs(&tree, 0, NULL, NULL, 2, &pairs));
        assert_int_equal(failing_alloc_count(), warm);
        hk_pairs_free(&pairs);
        hk_bvh_free(&tree);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
    }
}

// The sort alone: stable, and by any number of threads.
static void test_sort(void **state)
{
    (void)state;
    enum { COUNT = 30000 };
    hk_radix radix = {0};
    for (int kind = 0; kind < 4; kind++)
        for (int threads = 1; threads < 6; threads += 2) {
            CHECK_OK(hk_radix_reserve(&radix, COUNT, true, threads));
            for (uint32_t k = 0; k < COUNT; k++) {
                uint64_t key = random_bits() << 16 ^ random_bits();
                if (kind == 1) key %= 50;
                if (kind == 2) key = key << 60 | 12345;
                if (kind == 3) key = 7;
                radix.keys[k] = key;
                radix.items[k] = k;
            }
            hk_radix_sort(&radix, COUNT, true, threads);
            for (int k = 1; k < COUNT; k++)
                assert_true(
                    radix.keys[k - 1] < radix.keys[k] ||
                    (radix.keys[k - 1] == radix.keys[k] && radix.items[k - 1] < radix.items[k]));
        }
    hk_radix_free(&radix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_pairs),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_last_place),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
