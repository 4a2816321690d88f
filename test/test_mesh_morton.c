// The order along the Morton curve, and the sort below it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mesh/mesh.h"
#include "mesh/sort.h"

static uint64_t next_random(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    uint64_t z = *seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void assert_permutation(const int32_t *order, int count)
{
    bool *seen = HK_ZEROS(bool, count);
    for (int k = 0; k < count; k++) {
        assert_in_range(order[k], 0, count - 1);
        assert_false(seen[order[k]]);
        seen[order[k]] = true;
    }
    hk_free(seen);
}

static void sort_is_stable_for_any_length(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    hk_keyed *pairs = HK_ARRAY(hk_keyed, MOST), *scratch = HK_ARRAY(hk_keyed, MOST);
    uint64_t seed = 1;
    const size_t counts[] = {0, 1, 2, 39, 40, 41, 300, MOST};
    const uint64_t masks[] = {0, 7, 0xff00, 0xff000000000000ff, UINT64_MAX};
    for (int c = 0; c < HK_COUNT_OF(counts); c++)
        for (int m = 0; m < HK_COUNT_OF(masks); m++) {
            uint64_t sum = 0;
            for (size_t i = 0; i < counts[c]; i++) {
                pairs[i] = (hk_keyed){next_random(&seed) & masks[m], (int64_t)i};
                sum += pairs[i].key * (i + 1);
            }
            hk_sort_keyed(pairs, scratch, counts[c]);
            for (size_t i = 0; i < counts[c]; i++) {
                sum -= pairs[i].key * (uint64_t)(pairs[i].item + 1);
                if (i == 0) continue;
                assert_true(pairs[i - 1].key < pairs[i].key || (pairs[i - 1].key == pairs[i].key &&
                                                                pairs[i - 1].item < pairs[i].item));
            }
            assert_true(sum == 0);  // every key still has its item
        }
    hk_free(pairs);
    hk_free(scratch);
}

static void cube_corners_come_in_z_order(void **state)
{
    (void)state;
    double corners[8][3];
    for (int c = 0; c < 8; c++)
        for (int i = 0; i < 3; i++) corners[7 - c][i] = c >> i & 1;
    int32_t order[8];
    assert_int_equal(hk_morton_order(8, corners[0], order), HK_OK);
    for (int c = 0; c < 8; c++) assert_int_equal(order[c], 7 - c);
}

// The mean distance between one vertex and the next. In random order it is about 0.66 for points
// in the unit cube, along the curve about the spacing of the points.
static void the_order_is_local(void **state)
{
    (void)state;
    enum { SIDE = 32, COUNT = SIDE * SIDE * SIDE };
    double *points = HK_ARRAY(double, 3 * COUNT);
    int32_t *order = HK_ARRAY(int32_t, COUNT);
    uint64_t seed = 7;
    for (int i = 0; i < 3 * COUNT; i++) points[i] = (double)(next_random(&seed) >> 11) * 0x1p-53;
    assert_int_equal(hk_morton_order(COUNT, points, order), HK_OK);
    assert_permutation(order, COUNT);
    double sum = 0;
    for (int k = 1; k < COUNT; k++) {
        const double *p = points + 3 * order[k], *q = points + 3 * order[k - 1];
        sum += sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                    (p[2] - q[2]) * (p[2] - q[2]));
    }
    assert_true(sum / COUNT < 1.6 / SIDE);
    hk_free(points);
    hk_free(order);
}

static void odd_points_are_harmless(void **state)
{
    (void)state;
    int32_t order[6];
    const double same[6][3] = {{3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}};
    assert_int_equal(hk_morton_order(6, same[0], order), HK_OK);
    for (int k = 0; k < 6; k++) assert_int_equal(order[k], k);
    const double odd[6][3] = {{NAN, 0, 0}, {1e308, 1e308, 1e308}, {0, 0, INFINITY},
                              {0, 0, 0},   {-1e308, 0, 0},        {0, -INFINITY, NAN}};
    assert_int_equal(hk_morton_order(6, odd[0], order), HK_OK);
    const int32_t expected[6] = {4, 3, 1, 0, 2, 5};
    assert_memory_equal(order, expected, sizeof expected);
    assert_int_equal(hk_morton_order(0, NULL, order), HK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_is_stable_for_any_length),
        cmocka_unit_test(cube_corners_come_in_z_order),
        cmocka_unit_test(the_order_is_local),
        cmocka_unit_test(odd_points_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
