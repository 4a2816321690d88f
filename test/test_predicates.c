// Exact signs and exact meetings, against whole numbers and hulls of lattice points.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contact/meet.h"
#include "contact/predicates.h"

__extension__ typedef __int128 int128;

static uint64_t g_state = 88172645463325252u;
static uint64_t random_bits(void)
{
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    g_state ^= g_state << 17;
    return g_state;
}
static double uniform(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}
static int64_t lattice(int64_t reach)
{
    return (int64_t)(random_bits() % (uint64_t)(2 * reach + 1)) - reach;
}

// ---------------------------------------------------------------- the referee: whole numbers

typedef struct point {
    int64_t x[3];
} point;

static point random_point(int64_t reach)
{
    return (point){{lattice(reach), lattice(reach), lattice(reach)}};
}
static point minus(point a, point b)
{
    return (point){{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]}};
}
static point cross(point a, point b)
{
    return (point){{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2],
                    a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}
static int128 dot(point a, point b)
{
    return (int128)a.x[0] * b.x[0] + (int128)a.x[1] * b.x[1] + (int128)a.x[2] * b.x[2];
}
static int sign_of(int128 x)
{
    return (x > 0) - (x < 0);
}
static bool is_zero(point a)
{
    return a.x[0] == 0 && a.x[1] == 0 && a.x[2] == 0;
}
static int whole_orient(point a, point b, point c, point d)
{
    return sign_of(dot(cross(minus(b, a), minus(c, a)), minus(d, a)));
}
static void to_double(point a, double scale, double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = scale * (double)a.x[i];
}

// ---------------------------------------------------------------- signs

static void check_all_stages(double p[4][3], int expected)
{
    const double *points[4] = {p[0], p[1], p[2], p[3]};
    assert_int_equal(hk_orient3d(p[0], p[1], p[2], p[3]), expected);
    assert_int_equal(hk_orient3d_by_integers(points), expected);
    if (hk_in_expansion_range(points))
        assert_int_equal(hk_orient3d_by_expansions(points), expected);
}

// Whole numbers, many of them in a plane, at scales from the smallest doubles to the largest.
static void test_lattice_signs(void **state)
{
    (void)state;
    static const int reaches[] = {1, 2, 5, 1000, 1 << 20};
    static const int exponents[] = {0, 0, -30, 200, -260, -340, -1050, 280, 400, 1000};
    for (int n = 0; n < 60000; n++) {
        point a[4];
        double p[4][3];
        for (int k = 0; k < 4; k++) a[k] = random_point(reaches[n % 5]);
        if (n % 3 == 0)  // d in the plane of a, b, c
            for (int i = 0; i < 3; i++) a[3].x[i] = a[1].x[i] + a[2].x[i] - a[0].x[i];
        double scale = ldexp(1, exponents[n % 10]);
        for (int k = 0; k < 4; k++) to_double(a[k], scale, p[k]);
        check_all_stages(p, whole_orient(a[0], a[1], a[2], a[3]));
        for (int axis = 0; axis < 3; axis++)
            assert_int_equal(hk_orient2d(axis, p[0], p[1], p[2]),
                             sign_of(cross(minus(a[1], a[0]), minus(a[2], a[0])).x[axis]));
    }
}

// Coordinates whose sizes have nothing to do with one another: the stages are each other's referee.
static void test_mixed_sizes(void **state)
{
    (void)state;
    int decided[3] = {0};
    for (int n = 0; n < 4000; n++) {
        double p[4][3];
        int range = n % 2 ? 200 : 900;
        for (int k = 0; k < 12; k++) {
            int choice = (int)(random_bits() % 8);
            p[k / 3][k % 3] = choice == 0   ? 0
                              : choice == 1 ? 1
                                            : ldexp(uniform() - 0.5, (int)lattice(range));
        }
        const double *points[4] = {p[0], p[1], p[2], p[3]};
        int expected = hk_orient3d_by_integers(points);
        decided[expected + 1]++;
        check_all_stages(p, expected);
    }
    assert_true(decided[0] > 100 && decided[2] > 100);
}

// A point on the plane as rounding leaves it, and its neighbours up to three units in the last
// place away; near the origin and far from it.
static void test_last_place(void **state)
{
    (void)state;
    int counts[3] = {0};
    for (int n = 0; n < 20000; n++) {
        double p[4][3], far = n % 3 == 0 ? 0 : n % 3 == 1 ? 1e3 : 1e9;
        for (int k = 0; k < 9; k++) p[k / 3][k % 3] = far + uniform();
        double s = 2 * uniform() - 0.5, t = 2 * uniform() - 0.5;
        for (int i = 0; i < 3; i++)
            p[3][i] = p[0][i] + s * (p[1][i] - p[0][i]) + t * (p[2][i] - p[0][i]);
        for (int64_t steps = lattice(3); steps != 0; steps += steps > 0 ? -1 : 1)
            p[3][n % 3] = nextafter(p[3][n % 3], steps > 0 ? INFINITY : -INFINITY);
        const double *points[4] = {p[0], p[1], p[2], p[3]};
        int expected = hk_orient3d_by_integers(points);
        counts[expected + 1]++;
        check_all_stages(p, expected);
    }
    assert_true(counts[0] > 1000 && counts[2] > 1000);
}

// Known by hand: one unit in the last place off the plane z = 0.1 and off the plane x = y.
static void test_one_ulp(void **state)
{
    (void)state;
    double a[3] = {0, 0, 0.1}, b[3] = {0.7, 0, 0.1}, c[3] = {0, 0.3, 0.1}, d[3] = {0.2, 0.2, 0.1};
    assert_int_equal(hk_orient3d(a, b, c, d), 0);
    d[2] = nextafter(0.1, 1);
    assert_int_equal(hk_orient3d(a, b, c, d), 1);
    d[2] = nextafter(0.1, 0);
    assert_int_equal(hk_orient3d(a, b, c, d), -1);
    double e[3] = {0.1, 0.1, 5}, f[3] = {0.3, 0.3, -7}, g[3] = {-0.7, -0.7, 2},
           h[3] = {0.9, 0.9, 1};
    assert_int_equal(hk_orient3d(e, f, g, h), 0);
    h[0] = nextafter(0.9, 1);
    int above = hk_orient3d(e, f, g, h);
    h[0] = nextafter(0.9, 0);
    assert_int_equal(above * hk_orient3d(e, f, g, h), -1);
    // A volume that underflows to 0, and one that overflows.
    double tiny[4][3] = {{0, 0, 0}, {0x1p-1074, 0, 0}, {0, 0x1p-1074, 0}, {0, 0, 0x1p-1074}};
    check_all_stages(tiny, 1);
    // A normal that underflow turns: (0.9, −0.6) becomes (1, −1) in units of the smallest number.
    const double u = 0x1p-537, w = 0x1p90;
    double turned[4][3] = {{0, 0, 0}, {0.6 * u, 0.9 * u, 0}, {0, 0, u}, {w, 1.2 * w, 0}};
    check_all_stages(turned, 1);
    double huge[4][3] = {{-1e308, 0, 0}, {1e308, 0, 0}, {0, 1e308, 0}, {0, 0, -1e308}};
    check_all_stages(huge, -1);
}

static void test_symmetry(void **state)
{
    (void)state;
    static const int orders[24][5] = {
        {0, 1, 2, 3, 1},  {0, 1, 3, 2, -1}, {0, 2, 1, 3, -1}, {0, 2, 3, 1, 1},  {0, 3, 1, 2, 1},
        {0, 3, 2, 1, -1}, {1, 0, 2, 3, -1}, {1, 0, 3, 2, 1},  {1, 2, 0, 3, 1},  {1, 2, 3, 0, -1},
        {1, 3, 0, 2, -1}, {1, 3, 2, 0, 1},  {2, 0, 1, 3, 1},  {2, 0, 3, 1, -1}, {2, 1, 0, 3, -1},
        {2, 1, 3, 0, 1},  {2, 3, 0, 1, 1},  {2, 3, 1, 0, -1}, {3, 0, 1, 2, -1}, {3, 0, 2, 1, 1},
        {3, 1, 0, 2, 1},  {3, 1, 2, 0, -1}, {3, 2, 0, 1, -1}, {3, 2, 1, 0, 1}};
    for (int n = 0; n < 2000; n++) {
        double p[4][3], turned[4][3];
        for (int k = 0; k < 9; k++) p[k / 3][k % 3] = uniform();
        for (int i = 0; i < 3; i++)  // close to the plane, or anywhere
            p[3][i] = n % 2 ? uniform() : (p[0][i] + p[1][i] + p[2][i]) / 3;
        int sign = hk_orient3d(p[0], p[1], p[2], p[3]);
        for (int k = 0; k < 24; k++) {
            const int *o = orders[k];
            assert_int_equal(hk_orient3d(p[o[0]], p[o[1]], p[o[2]], p[o[3]]), sign * o[4]);
        }
        // Axes in a circle keep the sign, a mirror turns it round.
        for (int k = 0; k < 12; k++) turned[k / 3][k % 3] = p[k / 3][(k + 1) % 3];
        assert_int_equal(hk_orient3d(turned[0], turned[1], turned[2], turned[3]), sign);
        for (int k = 0; k < 4; k++) turned[k][n % 3] *= -1;
        assert_int_equal(hk_orient3d(turned[0], turned[1], turned[2], turned[3]), -sign);
    }
}

// ---------------------------------------------------------------- hulls of lattice points

// Whether 0 is in the hull of one to four points that are independent of each other; those that are
// not are left to fewer.
static bool holds_zero(int count, const point *p)
{
    const point zero = {{0, 0, 0}};
    if (count == 1) return is_zero(p[0]);
    if (count == 2) return is_zero(cross(p[0], p[1])) && dot(p[0], p[1]) <= 0;
    if (count == 3) {
        point n = cross(minus(p[1], p[0]), minus(p[2], p[0]));
        if (is_zero(n) || dot(n, p[0]) != 0) return false;
        for (int k = 0; k < 3; k++)
            if (dot(cross(p[k], p[(k + 1) % 3]), n) < 0) return false;
        return true;
    }
    int whole = whole_orient(p[0], p[1], p[2], p[3]);
    return whole != 0 && whole * whole_orient(zero, p[1], p[2], p[3]) >= 0 &&
           whole * whole_orient(p[0], zero, p[2], p[3]) >= 0 &&
           whole * whole_orient(p[0], p[1], zero, p[3]) >= 0 &&
           whole * whole_orient(p[0], p[1], p[2], zero) >= 0;
}

static bool search(int count, const point *all, int from, int chosen, point *subset)
{
    if (chosen > 0 && holds_zero(chosen, subset)) return true;
    for (int k = from; k < count && chosen < 4; k++) {
        subset[chosen] = all[k];
        if (search(count, all, k + 1, chosen + 1, subset)) return true;
    }
    return false;
}

// Two hulls meet if that of all differences holds 0, which then is in the hull of four of them.
static bool hulls_meet(int m, const point *a, int n, const point *b)
{
    point differences[9], subset[4];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) differences[n * i + j] = minus(a[i], b[j]);
    return search(m * n, differences, 0, 0, subset);
}

static bool has_area(point a, point b, point c)
{
    return !is_zero(cross(minus(b, a), minus(c, a)));
}

static bool crosses(const point s[2], const point t[3])
{
    int p = whole_orient(t[0], t[1], t[2], s[0]), q = whole_orient(t[0], t[1], t[2], s[1]);
    int ab = whole_orient(s[0], s[1], t[0], t[1]), bc = whole_orient(s[0], s[1], t[1], t[2]);
    int ca = whole_orient(s[0], s[1], t[2], t[0]);
    return p * q < 0 && ab * bc > 0 && bc * ca > 0;
}

// Lattices so small that most cases are degenerate in some way, at several scales; the answer does
// not depend on the order of the ends and corners.
static void test_segment_and_triangle(void **state)
{
    (void)state;
    int counts[3] = {0}, without_area = 0;
    for (int n = 0; n < 20000; n++) {
        point s[2], t[3];
        double p[5][3], scale = n % 4 == 1 ? 0x1p-400 : n % 4 == 2 ? 0x1p300 : 1;
        for (int k = 0; k < 2; k++) s[k] = random_point(1 + n % 4);
        for (int k = 0; k < 3; k++) t[k] = random_point(1 + n % 4);
        if (n % 5 == 0)
            for (int k = 0; k < 5; k++) (k < 2 ? &s[k] : &t[k - 2])->x[n % 3] = 1;
        for (int k = 0; k < 5; k++) to_double(k < 2 ? s[k] : t[k - 2], scale, p[k]);
        hk_meeting expected = crosses(s, t)            ? HK_CROSSING
                              : hulls_meet(2, s, 3, t) ? HK_TOUCHING
                                                       : HK_APART;
        counts[expected]++;
        without_area += !has_area(t[0], t[1], t[2]);
        for (int turn = 0; turn < 3; turn++) {
            const double *a = p[2 + turn], *b = p[2 + (turn + 1) % 3], *c = p[2 + (turn + 2) % 3];
            assert_int_equal(hk_segment_triangle(p[0], p[1], a, b, c), expected);
            assert_int_equal(hk_segment_triangle(p[1], p[0], a, c, b), expected);
        }
    }
    assert_true(counts[0] > 1000 && counts[1] > 1000 && counts[2] > 200 && without_area > 500);
}

// What is expected of triangles 0 1 2 and t of the points v, by hulls alone. Those that share a
// vertex meet beyond it where the side opposite to it of one of them meets the other; those that
// share an edge where one is folded onto the other.
static bool expect_meeting(const point *v, const int32_t t[3], int shared)
{
    const point other[3] = {v[t[0]], v[t[1]], v[t[2]]};
    if (shared == 0) return hulls_meet(3, v, 3, other);
    if (shared == 1)  // vertex 0 is the one
        return hulls_meet(2, v + 1, 3, other) || hulls_meet(2, other + 1, 3, v);
    point edge = minus(v[1], v[0]);  // vertices 0 and 1
    point one = cross(edge, minus(v[2], v[0])), two = cross(edge, minus(other[2], v[0]));
    return is_zero(cross(one, two)) && dot(one, two) > 0;
}

static hk_meeting meet_in_any_order(const double *x, const int32_t s[3], const int32_t t[3])
{
    hk_meeting met = hk_triangles_meet(x, s, t);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int32_t one[3] = {s[i], s[(i + 1) % 3], s[(i + 2) % 3]};
            const int32_t two[3] = {t[j], t[(j + 2) % 3], t[(j + 1) % 3]};
            assert_int_equal(hk_triangles_meet(x, one, two), met);
            assert_int_equal(hk_triangles_meet(x, two, one), met);
        }
    return met;
}

static void test_two_triangles(void **state)
{
    (void)state;
    static const int32_t others[3][3] = {{3, 4, 5}, {0, 4, 5}, {0, 1, 5}};
    int counts[3][3] = {{0}};
    for (int n = 0; n < 12000; n++) {
        int shared = n % 3;
        const int32_t s[3] = {0, 1, 2}, *t = others[shared];
        point v[6];
        double x[6][3];
        for (int k = 0; k < 6; k++) v[k] = random_point(1 + n / 3 % 4);
        if (n % 5 == 0)
            for (int k = 0; k < 6; k++) v[k].x[n % 3] = 0;
        for (int k = 0; k < 6; k++) to_double(v[k], 0.1, x[k]);
        hk_meeting met = meet_in_any_order(x[0], s, t);
        bool areas = has_area(v[0], v[1], v[2]) && has_area(v[t[0]], v[t[1]], v[t[2]]);
        // Multiples of 0.1 are not in a plane where whole numbers are: exact ones for comparison.
        for (int k = 0; k < 6; k++) to_double(v[k], 0.125, x[k]);
        met = meet_in_any_order(x[0], s, t);
        if (!areas && shared > 0) continue;  // then also vertices in one place count
        counts[shared][met]++;
        assert_int_equal(met != HK_APART, expect_meeting(v, t, shared));
    }
    assert_true(counts[0][0] > 300 && counts[0][1] > 300 && counts[0][2] > 300);
    assert_true(counts[1][0] > 300 && counts[1][1] > 100 && counts[1][2] > 50);
    assert_true(counts[2][0] > 300 && counts[2][1] > 100 && counts[2][2] == 0);
}

// Triangles without area that share vertices: pinned down one by one.
static void test_flat_neighbours(void **state)
{
    (void)state;
    const double x[][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 1, 0},
                           {0, 0, 1}, {0, 0, 0}, {1, 1, 0}, {-1, 0, 0}};
#define MEET(a, b, c, d, e, f) meet_in_any_order(x[0], (int32_t[]){a, b, c}, (int32_t[]){d, e, f})
    // 0 1 2 lies on a line. Its vertex 1 is on the edge 0 2 of a neighbour.
    assert_int_equal(MEET(0, 1, 2, 0, 2, 3), HK_TOUCHING);
    // Vertex 5 is where vertex 0 is.
    assert_int_equal(MEET(0, 1, 3, 5, 4, 7), HK_TOUCHING);
    assert_int_equal(MEET(0, 1, 3, 0, 4, 5), HK_TOUCHING);
    // A line that begins at the shared vertex and goes elsewhere, and one that comes back.
    assert_int_equal(MEET(0, 1, 2, 0, 3, 4), HK_APART);
    assert_int_equal(MEET(0, 1, 2, 0, 7, 4), HK_APART);
    assert_int_equal(MEET(0, 1, 2, 7, 1, 4), HK_TOUCHING);
    // The same triangle, and the same the other way round.
    assert_int_equal(MEET(0, 1, 3, 0, 1, 3), HK_APART);
    assert_int_equal(MEET(0, 1, 3, 3, 1, 0), HK_APART);
    // Two triangles of a square are no fold; turned over the diagonal they are.
    assert_int_equal(MEET(0, 1, 6, 0, 6, 3), HK_APART);
    assert_int_equal(MEET(0, 1, 6, 0, 1, 3), HK_TOUCHING);
#undef MEET
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lattice_signs), cmocka_unit_test(test_mixed_sizes),
        cmocka_unit_test(test_last_place),    cmocka_unit_test(test_one_ulp),
        cmocka_unit_test(test_symmetry),      cmocka_unit_test(test_segment_and_triangle),
        cmocka_unit_test(test_two_triangles), cmocka_unit_test(test_flat_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
