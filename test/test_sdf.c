// Signed distance fields: exact distances, orders of convergence, derivatives that agree, two of
// them continuous; input, files, the same bits for any number of threads.
#include <stdio.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "mesh/winding.h"
#include "sdf_fields.h"

// ---------------------------------------------------------------- distances, orders

// The largest errors of value and gradient at points of the band, less than 0.2 from the surface.
static void errors(hk_distance_fn *exact, double cell, double worst[2])
{
    const double low[3] = {-1.4, -1.4, -1}, high[3] = {1.4, 1.4, 1};
    hk_sdf_def def = with(cell, 0.2, 2);
    hk_sdf *sdf = NULL;
    uint64_t seed = 9;
    if (hk_sdf_from_function(low, high, exact, NULL, &def, &sdf) != HK_OK)
        fail_msg("%s", hk_error());
    worst[0] = worst[1] = 0;
    for (int k = 0; k < 4000;) {
        double p[3], g[3], step = 1e-5;
        random_point(&seed, 1.6, p);
        double d = exact(NULL, p);
        if (fabs(d) > 0.2) continue;
        k++;
        assert_true(hk_sdf_covers(sdf, p));
        worst[0] = fmax(worst[0], fabs(hk_sdf_value(sdf, p, g, NULL) - d));
        for (int i = 0; i < 3; i++) {
            double a[3] = {p[0], p[1], p[2]}, b[3] = {p[0], p[1], p[2]};
            a[i] -= step;
            b[i] += step;
            double slope = (exact(NULL, b) - exact(NULL, a)) / (2 * step);
            worst[1] = fmax(worst[1], fabs(g[i] - slope));
        }
    }
    hk_sdf_free(sdf);
}

// Order 4 for values and 3 for gradients where the distance is smooth; where it has kinks, inside a
// box, order 1 of what is rounded there.
static void test_orders(void **state)
{
    (void)state;
    double coarse[2], fine[2];
    hk_distance_fn *smooth[] = {ball, ring};
    for (int k = 0; k < 2; k++) {
        errors(smooth[k], 0.1, coarse);
        errors(smooth[k], 0.05, fine);
        if (!(log2(coarse[0] / fine[0]) > 3.5 && log2(coarse[1] / fine[1]) > 2.6))
            fail_msg("orders %g and %g: errors %g %g, then %g %g", log2(coarse[0] / fine[0]),
                     log2(coarse[1] / fine[1]), coarse[0], coarse[1], fine[0], fine[1]);
        assert_true(fine[0] < 1e-4 && fine[1] < 2e-3);
    }
    errors(box, 0.1, coarse);
    errors(box, 0.05, fine);
    assert_true(fine[0] < 0.5 * 0.05 && coarse[0] / fine[0] > 1.7);
}

// Of triangles, at nodes and between: against the distance from the same triangles.
static void check_against_triangles(const surface *s, hk_distance_fn *exact, double facets)
{
    hk_winding_tree *tree = NULL;
    assert_int_equal(hk_winding_tree_create(s->vertices, s->x[0], s->count, s->t[0], 2, &tree),
                     HK_OK);
    double cell = 0.07, worst = 0;
    hk_sdf *sdf = field_of(s, cell, 0.2, NULL);
    uint64_t seed = 21;
    for (int k = 0; k < 3000; k++) {
        double p[3], g[3];
        random_point(&seed, 1.6, p);
        double d = hk_winding_nearest(tree, p, INFINITY, NULL).distance, e = exact(NULL, p);
        double f = hk_sdf_value(sdf, p, g, NULL);
        if (fabs(e) > 3 * facets) assert_int_equal(f < 0, e < 0);
        if (!hk_sdf_covers(sdf, p)) {  // a bound, and a direction
            assert_true(fabs(f) >= 0.2 && fabs(f) <= d * (1 + 1e-12));
            assert_true(fabs(norm(g) - 1) < 1e-12 || norm(g) == 0);
            continue;
        }
        if (d < 0.2) worst = fmax(worst, fabs(fabs(f) - d));
    }
    if (!(worst < facets)) fail_msg("off by %g", worst);
    hk_sdf_free(sdf);
    hk_winding_tree_free(tree);
}

static void test_triangles(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 120, 1.6);
    check_against_triangles(s, ball, 1.5e-3);
    memset(s, 0, sizeof *s);
    add_torus(s, 1, 0.4, 120, 50);
    check_against_triangles(s, ring, 3e-3);
    memset(s, 0, sizeof *s);
    add_box(s, (double[3]){-0.7, -0.5, -0.4}, (double[3]){0.7, 0.5, 0.4});
    check_against_triangles(s, box, 0.4 * 0.07);
    free(s);
}

// Far outside, and where there is no point at all.
static void test_far(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 40, 1.6);
    hk_sdf *sdf = field_of(s, 0.05, 0.2, NULL);
    double g[3], h[9];
    double f = hk_sdf_value(sdf, (double[3]){100, 0, 0}, g, h);
    CHECK_NEAR(f, 99, 1e-9);
    CHECK_NEAR(g[0], 1, 1e-12);
    for (int k = 0; k < 9; k++) assert_true(h[k] == 0);
    assert_true(value(sdf, 0, 0, 0) < -0.2 && value(sdf, 0, 0, 0) > -1.01);
    assert_true(!hk_sdf_covers(sdf, zero));
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        double p[3] = {0, bad[k], 0};
        assert_true(hk_sdf_value(sdf, p, g, h) == INFINITY);
        assert_true(g[0] == 0 && g[1] == 0 && g[2] == 0 && h[4] == 0);
    }
    hk_sdf_free(sdf);
    free(s);
}

// ---------------------------------------------------------------- derivatives

// Value, gradient and Hessian by differences, at random points and across borders of cells and
// bricks.
static void test_derivatives(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_torus(s, 1, 0.4, 60, 24);
    hk_sdf_report report;
    // The third derivative jumps between cells, by about 1/cell²: what the second differs by is
    // that times the step.
    double cell = 0.07, steps[2] = {1e-5, 1e-8};
    hk_sdf *sdf = field_of(s, cell, 0.2, &report);
    uint64_t seed = 4;
    for (int k = 0, checked = 0; checked < 400; k++) {
        double p[3], g[3], h[9];
        random_point(&seed, 1.6, p);
        // Every second one on a plane between bricks, every fourth on two of them.
        for (int i = 0; i < 3; i++)
            if (k % 2 && (i == k / 2 % 3 || (k % 4 == 3 && i == (k / 2 + 1) % 3)))
                p[i] = report.bounds[0][i] +
                       8 * cell * round((p[i] - report.bounds[0][i]) / (8 * cell));
        if (fabs(ring(NULL, p)) > 0.19) continue;
        checked++;
        hk_sdf_value(sdf, p, g, h);
        for (int i = 0; i < 6; i++) {
            double step = steps[i / 3], a[3] = {p[0], p[1], p[2]}, b[3] = {p[0], p[1], p[2]};
            double ga[3], gb[3];
            a[i % 3] -= step;
            b[i % 3] += step;
            double low = hk_sdf_value(sdf, a, ga, NULL), high = hk_sdf_value(sdf, b, gb, NULL);
            double wide = b[i % 3] - a[i % 3];
            if (i < 3) CHECK_NEAR((high - low) / wide, g[i], 1e-6);
            for (int j = 0; i >= 3 && j < 3; j++)
                CHECK_NEAR(cell * (gb[j] - ga[j]) / wide, cell * h[3 * (i - 3) + j], 1e-6);
        }
        assert_true(h[1] == h[3] && h[2] == h[6] && h[5] == h[7]);
    }
    hk_sdf_free(sdf);
    free(s);
}

// From both sides of every border the same value, gradient and Hessian: within a millionth of a
// cell they change by no more than what a bounded third derivative allows.
static void test_two_continuous_derivatives(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_box(s, (double[3]){-0.7, -0.5, -0.4}, (double[3]){0.7, 0.5, 0.4});
    hk_sdf_report report;
    double cell = 0.05, little = 1e-6 * cell;
    hk_sdf *sdf = field_of(s, cell, 0.15, &report);
    uint64_t seed = 8;
    for (int checked = 0; checked < 2000;) {
        double p[3];
        random_point(&seed, 0.9, p);
        if (fabs(box(NULL, p)) > 0.14) continue;
        int axis = checked % 3, borders = checked % 2 ? 8 : 1;
        double wide = borders * cell, from = report.bounds[0][axis];
        p[axis] = from + wide * round((p[axis] - from) / wide);
        if (fabs(box(NULL, p)) > 0.14) continue;
        checked++;
        double q[3] = {p[0], p[1], p[2]}, ga[3], gb[3], ha[9], hb[9];
        p[axis] -= little;
        q[axis] += little;
        double a = hk_sdf_value(sdf, p, ga, ha), b = hk_sdf_value(sdf, q, gb, hb);
        CHECK_NEAR(a, b, 4 * little);
        for (int i = 0; i < 3; i++) CHECK_NEAR(ga[i], gb[i], 1e-5);
        for (int i = 0; i < 9; i++) CHECK_NEAR(ha[i] * cell, hb[i] * cell, 2e-5);
    }
    hk_sdf_free(sdf);
    free(s);
}

// ---------------------------------------------------------------- input, threads, memory, files

static void test_bad_input(void **state)
{
    (void)state;
    hk_sdf *sdf = NULL;
    hk_mesh *mesh = NULL;
    hk_sdf_def def = hk_default_sdf_def();
    double x[3] = {0, 0, 0};
    int32_t point[3] = {0, 0, 0};
    assert_int_equal(hk_sdf_create(NULL, &def, &sdf), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_from_arrays(1, x, 0, NULL, 0, NULL, &mesh), HK_OK);
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "no triangles"));
    hk_mesh_free(mesh);
    assert_int_equal(hk_mesh_from_arrays(1, x, 0, NULL, 1, point, &mesh), HK_OK);
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "single point"));
    def.cell = 0.1;  // with a size it is the field of a point
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_OK);
    CHECK_NEAR(value(sdf, 0.1, 0.1, 0.1), sqrt(0.03), 0.01);
    hk_sdf_free(sdf);
    hk_mesh_free(mesh);

    surface *s = new_surface();
    add_sphere(s, zero, 1, 12, 1.6);
    mesh = surface_mesh(s);
    const double wrong[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        def = with(wrong[k], 0, 1);
        assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
        def = with(0, wrong[k], 1);
        assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
    }
    def = with(1e-4, 0, 1);
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "larger cells"));
    def = with(0, 0, -1);
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_BAD_INPUT);
    // NULL is the defaults.
    assert_int_equal(hk_sdf_create(mesh, NULL, &sdf), HK_OK);
    hk_sdf_report report;
    hk_sdf_describe(sdf, &report);
    CHECK_NEAR(report.cell, 0.02, 1e-9);
    CHECK_NEAR(report.band, 0.06, 1e-9);
    assert_int_equal(hk_sdf_save(sdf, "field.vtk"), HK_BAD_INPUT);
    hk_sdf_free(sdf);
    hk_mesh_free(mesh);
    free(s);
}

// A mesh of tets is known by its surface.
static void test_tets(void **state)
{
    (void)state;
    hk_mesh *mesh = NULL;
    hk_sdf *sdf = NULL;
    hk_mesh_def box_def = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) {
        box_def.size[i] = 1;
        box_def.cells[i] = 3;
    }
    assert_int_equal(hk_mesh_make(&box_def, &mesh), HK_OK);
    hk_sdf_def def = with(0.05, 0.2, 1);
    assert_int_equal(hk_sdf_create(mesh, &def, &sdf), HK_OK);
    CHECK_NEAR(value(sdf, 0.5, 0.5, 0.9), -0.1, 1e-6);
    CHECK_NEAR(value(sdf, 0.5, 1.1, 0.5), 0.1, 1e-6);
    assert_true(value(sdf, 0.5, 0.5, 0.5) < 0);
    hk_sdf_free(sdf);
    hk_mesh_free(mesh);
}

// Open, overlapping, with lids, inner parts and a grid that grows: everything at once.
static surface *everything(void)
{
    surface *s = new_surface();
    const double a[3] = {-0.4, 0, 0}, b[3] = {0.4, 0, 0};
    add_sphere(s, a, 0.7, 16, 1.6);
    add_sphere(s, b, 0.7, 16, 0.2);
    int first = s->vertices;
    add_vertex(s, -1, -1, 1);
    add_vertex(s, 1, -1, 1);
    add_vertex(s, 0, 1, 1);
    for (int k = 0; k < 3; k++) add_face(s, first, first + 1, first + 2);
    return s;
}

static void test_threads(void **state)
{
    (void)state;
    surface *s = everything();
    hk_mesh *mesh = surface_mesh(s);
    hk_sdf *one = NULL, *more = NULL;
    hk_sdf_def def = with(0.1, 0.2, 1);
    assert_int_equal(hk_sdf_create(mesh, &def, &one), HK_OK);
    assert_true(one->report.lid_triangles > 0 && one->report.inner_triangles > 0);
    for (int threads = 2; threads <= 7; threads += 5) {
        def.threads = threads;
        assert_int_equal(hk_sdf_create(mesh, &def, &more), HK_OK);
        assert_int_equal(one->report.bricks, more->report.bricks);
        assert_memory_equal(one->bricks, more->bricks, sizeof one->bricks);
        assert_memory_equal(one->coefficients, more->coefficients,
                            (size_t)one->report.bricks * HK_SPLINE_SIZE * sizeof(float));
        size_t corners = hk_sdf_corner_at(one, 0, 0, one->bricks[2] + 1);
        assert_memory_equal(one->corner, more->corner, corners * sizeof(double));
        more->report.ms = one->report.ms;
        assert_memory_equal(&one->report, &more->report, sizeof one->report);
        hk_sdf_free(more);
    }
    hk_sdf_free(one);
    hk_mesh_free(mesh);
    free(s);
}

static void test_without_memory(void **state)
{
    (void)state;
    surface *s = everything();
    hk_mesh *mesh = surface_mesh(s);
    hk_sdf_def def = with(0.5, 0.2, 1);
    for (int n = 1;; n++) {
        hk_sdf *sdf = NULL;
        failing_alloc_install(n);
        hk_status status = hk_sdf_create(mesh, &def, &sdf);
        bool reached = failing_alloc_count() >= n;
        hk_sdf_free(sdf);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
        assert_non_null(strstr(hk_error(), "memory"));
    }
    hk_mesh_free(mesh);
    free(s);
}

static void test_queries_take_no_memory(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 12, 1.6);
    hk_sdf *sdf = field_of(s, 0.2, 0.3, NULL);
    failing_alloc_install(1);
    double g[3], h[9];
    for (double x = 0; x < 3; x += 0.1) hk_sdf_value(sdf, (double[3]){x, 0, 0}, g, h);
    assert_int_equal(failing_alloc_count(), 0);
    failing_alloc_remove();
    hk_sdf_free(sdf);
    free(s);
}

static void test_file(void **state)
{
    (void)state;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 24, 1.6);
    hk_sdf_report report;
    hk_sdf *sdf = field_of(s, 0.2, 0.3, &report);
    char path[] = "/tmp/hooke_sdf_XXXXXX.vti";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    if (hk_sdf_save(sdf, path) != HK_OK) fail_msg("%s", hk_error());
    FILE *in = fopen(path, "rb");
    static char text[4 << 20];
    size_t size = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    unlink(path);
    char extent[80];
    const int *n = report.cells;
    snprintf(extent, sizeof extent, "WholeExtent=\"0 %d 0 %d 0 %d\"", n[0], n[1], n[2]);
    assert_non_null(strstr(text, extent));
    assert_non_null(strstr(text, "type=\"ImageData\""));
    // The numbers follow the underscore: their bytes, then all of "distance", then "in_band".
    const char *data = strstr(text, "encoding=\"raw\">\n_") + strlen("encoding=\"raw\">\n_");
    size_t nodes = ((size_t)n[0] + 1) * ((size_t)n[1] + 1) * ((size_t)n[2] + 1), bands = 0;
    uint64_t bytes;
    memcpy(&bytes, data, sizeof bytes);
    assert_int_equal(bytes, nodes * sizeof(float));
    const char *marks = data + 8 + bytes + 8;
    memcpy(&bytes, marks - 8, sizeof bytes);
    assert_int_equal(bytes, nodes);
    for (size_t k = 0; k < nodes; k += 7) {
        size_t x = k % ((size_t)n[0] + 1), y = k / ((size_t)n[0] + 1) % ((size_t)n[1] + 1);
        size_t z = k / ((size_t)n[0] + 1) / ((size_t)n[1] + 1);
        double p[3] = {report.bounds[0][0] + report.cell * (double)x,
                       report.bounds[0][1] + report.cell * (double)y,
                       report.bounds[0][2] + report.cell * (double)z};
        float d;
        memcpy(&d, data + 8 + k * sizeof d, sizeof d);
        CHECK_NEAR(d, hk_sdf_value(sdf, p, NULL, NULL), 1e-6);
        assert_int_equal(marks[k], hk_sdf_covers(sdf, p));
        bands += (size_t)marks[k];
    }
    assert_true(bands > 0 && marks + nodes < text + size);
    assert_int_equal(hk_sdf_save(sdf, "/proc/none/field.vti"), HK_IO_ERROR);
    hk_sdf_free(sdf);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_two_continuous_derivatives),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_tets),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_queries_take_no_memory),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
