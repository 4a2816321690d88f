// Signed distance fields of surfaces of every kind: what is inside, what is assumed, and soups.
#include "mesh/winding.h"
#include "sdf_fields.h"

// ---------------------------------------------------------------- inside of what?

static void check_ball(const hk_sdf *sdf, double tolerance)
{
    uint64_t seed = 31;
    for (int k = 0; k < 500; k++) {
        double p[3];
        random_point(&seed, 1.3, p);
        double d = ball(NULL, p);
        if (fabs(d) < 0.2) CHECK_NEAR(hk_sdf_value(sdf, p, NULL, NULL), d, tolerance);
        if (fabs(d) > tolerance) assert_int_equal(hk_sdf_value(sdf, p, NULL, NULL) < 0, d < 0);
    }
}

static void test_orientations(void **state)
{
    (void)state;
    hk_sdf_report report;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 48, 1.6);
    hk_sdf *sdf = field_of(s, 0.1, 0.2, &report);
    check_ball(sdf, 5e-3);
    assert_int_equal(report.flipped, 0);
    assert_true(report.rim == 0 && report.openness == 0);
    assert_true(report.least_winding < 0.01 && report.greatest_winding > 0.99);
    CHECK_NEAR(report.least, -1, 0.3);  // the deepest node
    CHECK_NEAR(report.volume, 4.19, 0.05);
    hk_sdf_free(sdf);

    flip_surface(s);
    sdf = field_of(s, 0.1, 0.2, &report);
    check_ball(sdf, 5e-3);
    assert_int_equal(report.flipped, 1);
    assert_true(report.volume < 0 && report.greatest_winding > 0.99);
    hk_sdf_free(sdf);
    flip_surface(s);

    // The same bits from vertices that are not shared; and covered twice.
    surface *u = unmerged(s);
    sdf = field_of(u, 0.1, 0.2, &report);
    assert_true(report.rim == 0);
    check_ball(sdf, 5e-3);
    hk_sdf_free(sdf);
    free(u);
    cover_twice(s);
    sdf = field_of(s, 0.1, 0.2, &report);
    check_ball(sdf, 5e-3);
    assert_true(report.greatest_winding > 1.9 && report.openness == 0);
    assert_int_equal(report.inner_triangles, 0);
    hk_sdf_free(sdf);
    free(s);
}

// Half a sphere without a lid gets one, and the field is as continuous there as elsewhere.
static void test_open_bowl(void **state)
{
    (void)state;
    hk_sdf_report report;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 60, 0);
    for (int flipped = 0; flipped < 2; flipped++) {
        hk_sdf *sdf = field_of(s, 0.08, 0.2, &report);
        assert_int_equal(report.flipped, flipped);
        assert_true(report.rim > 6 && report.openness > 0.4 && report.lid_triangles > 100);
        assert_true(value(sdf, 0, 0, -0.5) < 0 && value(sdf, 0, 0, 0.5) > 0);
        assert_true(value(sdf, 0.9, 0, 0.3) > 0 && value(sdf, 0, 0, -1.2) > 0);
        // By symmetry the lid is flat in the middle.
        for (double x = -0.6; x < 0.61; x += 0.1) {
            double g[3], p[3] = {x, 0.1, 0.02};
            CHECK_NEAR(hk_sdf_value(sdf, p, g, NULL), 0.02, 0.03);
            CHECK_NEAR(norm(g), 1, 0.1);
            assert_true(g[2] > 0.9);
        }
        for (double z = -0.15; z < 0.16; z += 0.05) CHECK_NEAR(value(sdf, 0, 0, z), z, 0.03);
        CHECK_NEAR(value(sdf, 0, 0, -0.9), -0.1, 0.005);
        hk_sdf_free(sdf);
        flip_surface(s);
    }
    free(s);
}

// Of two spheres that overlap only the outer parts count.
static void test_overlap(void **state)
{
    (void)state;
    hk_sdf_report report;
    surface *s = new_surface();
    const double a[3] = {-0.4, 0, 0}, b[3] = {0.4, 0, 0};
    add_sphere(s, a, 0.7, 48, 1.6);
    add_sphere(s, b, 0.7, 48, 1.6);
    hk_sdf *sdf = field_of(s, 0.06, 0.25, &report);
    assert_true(report.inner_triangles > 100 && report.greatest_winding > 1.9);
    assert_true(report.rim == 0);
    uint64_t seed = 2;
    for (int k = 0; k < 1000; k++) {
        double p[3];
        random_point(&seed, 1.2, p);
        double to_a[3] = {p[0] + 0.4, p[1], p[2]}, to_b[3] = {p[0] - 0.4, p[1], p[2]};
        double d = fmin(norm(to_a), norm(to_b)) - 0.7, f = hk_sdf_value(sdf, p, NULL, NULL);
        if (fabs(d) > 0.02) assert_int_equal(f < 0, d < 0);
        // Deep inside the union is at least as deep as in each of them.
        if (d < -0.02 && d > -0.25) assert_true(f < d + 0.03);
        if (d > 0 && d < 0.25) CHECK_NEAR(f, d, 0.02);
    }
    // On the sphere that lies within the other there is nothing.
    assert_true(value(sdf, 0.3, 0, 0) < -0.2 && value(sdf, -0.3, 0, 0) < -0.2);
    hk_sdf_free(sdf);
    free(s);
}

// A sheet has no inside, and is an obstacle all the same; so is one triangle. Three sheets on top
// of each other wind more than half around what is before them: the grid makes room for that.
static void test_sheets(void **state)
{
    (void)state;
    hk_sdf_report report;
    surface *s = new_surface();
    add_vertex(s, 0, 0, 0);
    add_vertex(s, 1, 0, 0);
    add_vertex(s, 0, 1, 0);
    add_face(s, 0, 1, 2);
    hk_sdf *sdf = field_of(s, 0.05, 0.2, &report);
    assert_true(report.greatest_winding <= 0.5 && report.least >= -1e-6 && report.openness > 0.3);
    CHECK_NEAR(value(sdf, 0.3, 0.3, 0.1), 0.1, 1e-6);
    CHECK_NEAR(value(sdf, 0.3, 0.3, -0.1), 0.1, 1e-6);
    CHECK_NEAR(value(sdf, 1.1, 0, 0), 0.1, 2e-3);
    hk_sdf_free(sdf);
    add_face(s, 0, 1, 2);
    add_face(s, 0, 1, 2);
    sdf = field_of(s, 0.05, 0.1, &report);
    assert_true(report.greatest_winding > 1 && report.lid_triangles > 0);
    double behind = value(sdf, 0.25, 0.25, -0.1);
    assert_true(behind < -0.05);
    assert_true(value(sdf, 0.25, 0.25, -1.5) > 0 && value(sdf, 0.25, 0.25, 0.1) > 0.05);
    hk_sdf_free(sdf);
    free(s);
}

// Edges of three and more triangles, triangles without area, bodies that touch in a point.
static void test_non_manifold(void **state)
{
    (void)state;
    hk_sdf_report report;
    surface *s = new_surface();
    add_box(s, (double[3]){0, 0, 0}, (double[3]){1, 1, 1});
    add_box(s, (double[3]){1, 1, 0}, (double[3]){2, 2, 1});  // an edge in common
    int a = add_vertex(s, 0, 0.5, 0.5), b = add_vertex(s, -0.5, 0.5, 0.5);
    int c = add_vertex(s, 0, 0.5, 1);
    add_face(s, a, b, c);  // a fin
    add_face(s, a, a, b);
    add_face(s, a, b, b);
    hk_sdf *sdf = field_of(s, 0.05, 0.15, &report);
    assert_int_equal(report.flat_triangles, 2);
    assert_true(report.rim > 1);
    assert_true(value(sdf, 0.5, 0.5, 0.5) < 0 && value(sdf, 1.5, 1.5, 0.5) < 0);
    assert_true(value(sdf, 0.5, 1.5, 0.5) > 0);
    CHECK_NEAR(value(sdf, -0.2, 0.45, 0.55), 0.05, 0.02);
    CHECK_NEAR(value(sdf, 0.9, 0.3, 0.5), -0.1, 0.01);
    hk_sdf_free(sdf);
    free(s);
}

// ---------------------------------------------------------------- soups

// Whatever comes: finite numbers, and distances that change as fast as the place where they are
// smooth.
static void test_soups(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        surface *s = new_surface();
        uint64_t random = seed;
        add_random_triangles(s, 1 + (int)(60 * surface_random(&random)), seed % 3 ? 0.5 : 2, seed);
        if (seed % 4 == 0) {  // triangles that touch, repeat and have no area
            for (int k = 0; k < 40; k++)
                add_face(s, (int)(surface_random(&random) * s->vertices),
                         (int)(surface_random(&random) * s->vertices),
                         (int)(surface_random(&random) * s->vertices));
        }
        hk_winding_tree *tree = NULL;
        assert_int_equal(hk_winding_tree_create(s->vertices, s->x[0], s->count, s->t[0], 2, &tree),
                         HK_OK);
        double cell = 0.09, band = 0.22;
        hk_sdf *sdf = field_of(s, cell, band, NULL);
        int smooth = 0, steep = 0;
        for (int k = 0; k < 1500; k++) {
            double p[3], g[3], h[9];
            random_point(&random, 2, p);
            double f = hk_sdf_value(sdf, p, g, h), length = norm(g);
            assert_true(isfinite(f) && isfinite(length));
            for (int i = 0; i < 9; i++) assert_true(isfinite(h[i]));
            if (!hk_sdf_covers(sdf, p) || fabs(f) > band || fabs(f) < 2 * cell) continue;
            // Smooth: the nearest triangle is the same two cells around.
            hk_nearest here = hk_winding_nearest(tree, p, INFINITY, NULL);
            bool same = fabs(here.distance - fabs(f)) < 0.02;
            for (int n = 0; n < 8; n++) {
                double q[3];
                for (int i = 0; i < 3; i++) q[i] = p[i] + (n >> i & 1 ? 2.5 : -2.5) * cell;
                same &= hk_winding_nearest(tree, q, INFINITY, NULL).triangle == here.triangle;
            }
            smooth += same;
            steep += same && fabs(length - 1) > 0.1;
        }
        // Where a lid is as near as the triangle there is a kink that this does not see.
        if (!(steep <= smooth / 20)) fail_msg("soup %d: %d of %d", (int)seed, steep, smooth);
        hk_sdf_free(sdf);
        hk_winding_tree_free(tree);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orientations), cmocka_unit_test(test_open_bowl),
        cmocka_unit_test(test_overlap),      cmocka_unit_test(test_sheets),
        cmocka_unit_test(test_non_manifold), cmocka_unit_test(test_soups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
