// Winding numbers and nearest triangles of any soup: exact where that is known, within the bound of
// the error everywhere, at any size, the same for any number of threads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "contact/closest.h"
#include "failing_alloc.h"
#include "mesh/rim.h"
#include "mesh/winding.h"
#include "surfaces.h"

static const double zero[3];

static hk_winding_tree *tree_of(const surface *s, int threads)
{
    hk_winding_tree *tree = NULL;
    if (hk_winding_tree_create(s->vertices, s->x[0], s->count, s->t[0], threads, &tree) != HK_OK)
        fail_msg("%s", hk_error());
    return tree;
}

static double number(const hk_winding_tree *tree, double x, double y, double z)
{
    return hk_winding_number(tree, (double[3]){x, y, z}, 0).number;
}

static void random_point(uint64_t *state, double size, double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = size * (2 * surface_random(state) - 1);
}

#define CHECK_NEAR(a, b, tolerance)                                                         \
    do {                                                                                    \
        double a_ = (a), b_ = (b);                                                          \
        if (!(fabs(a_ - b_) <= (tolerance))) fail_msg("%s = %.17g, not %.17g", #a, a_, b_); \
    } while (0)

// ---------------------------------------------------------------- winding numbers

static void test_one_triangle(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_face(s, add_vertex(s, 1, 0, 0), add_vertex(s, 0, 1, 0), add_vertex(s, 0, 0, 1));
    hk_winding_tree *tree = tree_of(s, 1);
    CHECK_NEAR(number(tree, 0, 0, 0), 1.0 / 8, 1e-15);  // an octant
    // Close above and below it, half of everything.
    CHECK_NEAR(number(tree, 1.0 / 3 - 1e-9, 1.0 / 3, 1.0 / 3), 0.5, 1e-8);
    CHECK_NEAR(number(tree, 1.0 / 3 + 1e-9, 1.0 / 3, 1.0 / 3), -0.5, 1e-8);
    assert_true(fabs(number(tree, 1.0 / 3, 1.0 / 3, 1.0 / 3)) <= 0.5);
    assert_true(number(tree, 1, 0, 0) == 0);  // at a corner, and in its plane
    assert_true(number(tree, 2, -0.5, -0.5) == 0);
    hk_winding_tree_free(tree);
    free(s);
}

static void test_boxes(void **state)
{
    (void)state;
    const double low[3] = {-1, -2, -3}, high[3] = {1, 2, 3};
    surface *s = new_surface();
    add_box(s, low, high);
    hk_winding_tree *tree = tree_of(s, 1);
    const hk_winding_totals *totals = hk_winding_tree_totals(tree);
    CHECK_NEAR(totals->volume, 48, 1e-12);
    CHECK_NEAR(totals->area, 88, 1e-12);
    CHECK_NEAR(number(tree, 0.9, -1.9, 2.9), 1, 1e-14);
    CHECK_NEAR(number(tree, 1.1, 0, 0), 0, 1e-14);
    CHECK_NEAR(number(tree, 1, 0.3, 0.2), 0.5, 1e-14);  // in a face
    hk_winding_tree_free(tree);
    cover_twice(s);
    tree = tree_of(s, 1);
    CHECK_NEAR(number(tree, 0.5, 0, 0), 2, 1e-14);
    hk_winding_tree_free(tree);
    flip_surface(s);
    tree = tree_of(s, 1);
    CHECK_NEAR(number(tree, 0.5, 0, 0), -2, 1e-14);
    CHECK_NEAR(hk_winding_tree_totals(tree)->volume, -96, 1e-12);
    hk_winding_tree_free(tree);
    free(s);
}

// On its axis an open bowl fills a known solid angle.
static void test_open_bowl(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 200, 0);
    hk_winding_tree *tree = tree_of(s, 2);
    for (double z = -0.75; z < 2; z += 0.5) {
        double disc = (1 - fabs(z) / sqrt(1 + z * z)) / 2;  // the lid, seen from there
        CHECK_NEAR(number(tree, 0, 0, z), z < 0 ? 1 - disc : disc, 1e-3);
    }
    assert_true(hk_winding_tree_totals(tree)->volume > 1);
    hk_winding_tree_free(tree);
    free(s);
}

// What is left out is no more than what it says, for soups of every kind.
static void test_error_bound(void **state)
{
    (void)state;
    uint64_t seed = 7;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 120, 40);
    add_random_triangles(s, 2000, 0.3, 5);
    hk_winding_tree *tree = tree_of(s, 2);
    double most = 0;
    for (int k = 0; k < 200; k++) {
        double p[3];
        random_point(&seed, k % 2 ? 1.5 : 5, p);
        hk_winding exact = hk_winding_number(tree, p, 0);
        assert_true(exact.error == 0);
        for (double tolerance = 1; tolerance > 1e-6; tolerance /= 10) {
            hk_winding w = hk_winding_number(tree, p, tolerance);
            assert_true(w.error <= tolerance);
            CHECK_NEAR(w.number, exact.number, w.error + 1e-12);
            most = fmax(most, fabs(w.number - exact.number));
        }
        hk_winding w = hk_winding_beside(tree, p, 0.5, 1e-3);
        if (w.error > 1e-3) assert_int_equal(w.number > 0.5, exact.number > 0.5);
    }
    assert_true(most > 1e-9);  // moments were used
    hk_winding_tree_free(tree);
    free(s);
}

static void test_same_at_any_size(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 60, 20);
    hk_winding_tree *tree = tree_of(s, 1);
    const double scales[] = {1e-30, 1e-3, 1e3, 1e30};
    for (int k = 0; k < 4; k++) {
        surface *scaled = new_surface();
        *scaled = *s;
        for (int v = 0; v < s->vertices; v++)
            for (int i = 0; i < 3; i++) scaled->x[v][i] *= scales[k];
        hk_winding_tree *other = tree_of(scaled, 1);
        uint64_t seed = 3;
        for (int n = 0; n < 50; n++) {
            double p[3], q[3];
            random_point(&seed, 1.5, p);
            for (int i = 0; i < 3; i++) q[i] = scales[k] * p[i];
            CHECK_NEAR(hk_winding_number(other, q, 1e-3).number,
                       hk_winding_number(tree, p, 1e-3).number, 2e-3);
            double d = hk_winding_nearest(tree, p, INFINITY, NULL).distance;
            CHECK_NEAR(hk_winding_nearest(other, q, INFINITY, NULL).distance / scales[k], d, 1e-12);
        }
        hk_winding_tree_free(other);
        free(scaled);
    }
    hk_winding_tree_free(tree);
    free(s);
}

// ---------------------------------------------------------------- nearest

static void check_nearest(const surface *s, double size)
{
    hk_winding_tree *tree = tree_of(s, 2);
    hk_nearest hint = {.triangle = -1};
    uint64_t seed = 11;
    for (int k = 0; k < 300; k++) {
        double p[3], least = INFINITY, x[4][3];
        random_point(&seed, size, p);
        for (int t = 0; t < s->count; t++) {
            memcpy(x[0], p, sizeof x[0]);
            for (int c = 0; c < 3; c++) memcpy(x[c + 1], s->x[s->t[t][c]], sizeof x[0]);
            least = fmin(least, sqrt(closest_vertex_triangle((const double(*)[3])x).square));
        }
        hk_nearest found = hk_winding_nearest(tree, p, INFINITY, NULL);
        CHECK_NEAR(found.distance, least, 1e-12);
        double d[3] = {found.point[0] - p[0], found.point[1] - p[1], found.point[2] - p[2]};
        CHECK_NEAR(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), least, 1e-12);
        assert_true(found.triangle >= 0 && found.triangle < s->count);
        hk_nearest hinted = hk_winding_nearest(tree, p, INFINITY, &hint);
        assert_true(hinted.distance == found.distance);
        hint = found;
        assert_true(hk_winding_nearest(tree, p, least, NULL).distance == found.distance);
        if (least > 1e-9)
            assert_int_equal(hk_winding_nearest(tree, p, 0.999 * least, NULL).triangle, -1);
    }
    hk_winding_tree_free(tree);
}

static void test_nearest(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 30, 12);
    check_nearest(s, 2);
    memset(s, 0, sizeof *s);
    add_random_triangles(s, 500, 0.4, 1);
    check_nearest(s, 1.5);
    // Points, edges, slivers, and triangles on top of each other.
    memset(s, 0, sizeof *s);
    int a = add_vertex(s, 0, 0, 0), b = add_vertex(s, 1, 0, 0), c = add_vertex(s, 0.5, 1e-14, 0);
    int d = add_vertex(s, 0.25, 0, 0), e = add_vertex(s, 0, 1, 0.5);
    add_face(s, a, a, a);
    add_face(s, a, b, b);
    add_face(s, a, b, c);
    add_face(s, a, d, b);
    for (int k = 0; k < 20; k++) add_face(s, a, b, e);
    check_nearest(s, 1.5);
    free(s);
}

// Triangles without area have no winding number, not even for points on them.
static void test_flat_triangles(void **state)
{
    (void)state;
    const double low[3] = {-1, -1, -1}, high[3] = {1, 1, 1};
    surface *s = new_surface();
    add_box(s, low, high);
    int a = add_vertex(s, -0.5, 0, 0), b = add_vertex(s, 0.5, 0, 0), c = add_vertex(s, 0.125, 0, 0);
    add_face(s, a, b, c);
    add_face(s, a, b, b);
    add_face(s, a, a, a);
    hk_winding_tree *tree = tree_of(s, 1);
    assert_int_equal(hk_winding_tree_totals(tree)->flat, 3);
    for (double x = -0.75; x <= 0.75; x += 0.125) CHECK_NEAR(number(tree, x, 0, 0), 1, 1e-14);
    CHECK_NEAR(hk_winding_nearest(tree, (double[3]){0.25, 0.25, 0}, INFINITY, NULL).distance, 0.25,
               1e-15);
    hk_winding_tree_free(tree);
    free(s);
}

// ---------------------------------------------------------------- the rim

static double rim_length(const surface *s)
{
    hk_rim rim;
    if (hk_rim_find(s->vertices, s->x[0], s->count, s->t[0], &rim) != HK_OK)
        fail_msg("%s", hk_error());
    double length = rim.length;
    assert_int_equal(rim.count > 0, length > 0);
    hk_rim_free(&rim);
    return length;
}

static void test_rim(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 30, 12);
    assert_true(rim_length(s) == 0);
    surface *u = unmerged(s);
    assert_true(rim_length(u) == 0);
    free(u);
    cover_twice(s);
    assert_true(rim_length(s) == 0);
    memset(s, 0, sizeof *s);
    add_sphere(s, zero, 1, 100, 0);
    CHECK_NEAR(rim_length(s), 200 * sin(surfaces_pi / 100), 1e-12);
    cover_twice(s);
    CHECK_NEAR(rim_length(s), 400 * sin(surfaces_pi / 100), 1e-12);
    flip_surface(s);
    CHECK_NEAR(rim_length(s), 400 * sin(surfaces_pi / 100), 1e-12);
    free(s);
}

// ---------------------------------------------------------------- input, threads, memory

static void test_bad_input(void **state)
{
    (void)state;
    double x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {NAN, 0, 0}};
    int32_t good[3] = {0, 1, 2}, beyond[3] = {0, 1, 4}, below[3] = {0, -1, 2}, nan[3] = {0, 1, 3};
    hk_winding_tree *tree = NULL;
    assert_int_equal(hk_winding_tree_create(4, x[0], 0, good, 1, &tree), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "no triangles"));
    assert_int_equal(hk_winding_tree_create(4, x[0], 1, beyond, 1, &tree), HK_BAD_INPUT);
    assert_int_equal(hk_winding_tree_create(4, x[0], 1, below, 1, &tree), HK_BAD_INPUT);
    assert_int_equal(hk_winding_tree_create(4, x[0], 1, nan, 1, &tree), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "not finite"));
    x[1][0] = 1e200;
    assert_int_equal(hk_winding_tree_create(4, x[0], 1, good, 1, &tree), HK_BAD_INPUT);
    assert_null(tree);
}

static void test_threads(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 90, 40);
    add_random_triangles(s, 1500, 0.3, 2);
    hk_winding_tree *one = tree_of(s, 1);
    for (int threads = 2; threads <= 7; threads += 5) {
        hk_winding_tree *more = tree_of(s, threads);
        uint64_t seed = 5;
        for (int k = 0; k < 200; k++) {
            double p[3];
            random_point(&seed, 1.5, p);
            hk_winding a = hk_winding_beside(one, p, 0.5, 1e-3);
            hk_winding b = hk_winding_beside(more, p, 0.5, 1e-3);
            assert_memory_equal(&a, &b, sizeof a);
            hk_nearest c = hk_winding_nearest(one, p, INFINITY, NULL);
            hk_nearest d = hk_winding_nearest(more, p, INFINITY, NULL);
            assert_true(c.distance == d.distance);
            assert_int_equal(c.triangle, d.triangle);
        }
        hk_winding_tree_free(more);
    }
    hk_winding_tree_free(one);
    free(s);
}

static hk_status make_and_free(const surface *s)
{
    hk_winding_tree *tree = NULL;
    hk_rim rim;
    hk_status status = hk_winding_tree_create(s->vertices, s->x[0], s->count, s->t[0], 1, &tree);
    hk_winding_tree_free(tree);
    if (status != HK_OK) return status;
    status = hk_rim_find(s->vertices, s->x[0], s->count, s->t[0], &rim);
    if (status == HK_OK) hk_rim_free(&rim);
    return status;
}

static void test_without_memory(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 20, 0);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = make_and_free(s);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_triangle),     cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_open_bowl),        cmocka_unit_test(test_error_bound),
        cmocka_unit_test(test_same_at_any_size), cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_flat_triangles),   cmocka_unit_test(test_rim),
        cmocka_unit_test(test_bad_input),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
