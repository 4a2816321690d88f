// The certificate on states that meet, or do not, by one unit in the last place.
#include "bodies.h"

#include "contact/certificate.h"
#include "contact/meet.h"
#include "failing_alloc.h"
#include "mesh/mesh.h"

// ---------------------------------------------------------------- meshes

// Several meshes in one, each a group of its name.
static hk_mesh *unite(int count, hk_mesh **parts, const char *const *names)
{
    int vertices = 0, tets = 0, triangles = 0;
    hk_mesh *whole;
    for (int p = 0; p < count; p++) {
        vertices += parts[p]->vertex_count;
        tets += parts[p]->tet_count;
        triangles += parts[p]->triangle_count;
    }
    CHECK_OK(hk_mesh_new(vertices, tets, triangles, &whole));
    vertices = tets = triangles = 0;
    for (int p = 0; p < count; p++) {
        const hk_mesh *m = parts[p];
        memcpy(whole->positions + 3 * vertices, m->positions,
               3 * (size_t)m->vertex_count * sizeof(double));
        for (int k = 0; k < 4 * m->tet_count; k++)
            whole->tets[4 * tets + k] = vertices + m->tets[k];
        for (int k = 0; k < 3 * m->triangle_count; k++)
            whole->triangles[3 * triangles + k] = vertices + m->triangles[k];
        if (names && m->tet_count) {
            hk_group *group;
            CHECK_OK(hk_mesh_add_group(whole, names[p], 3, m->tet_count, &group));
            for (int k = 0; k < m->tet_count; k++) group->items[k] = tets + k;
        }
        vertices += m->vertex_count;
        tets += m->tet_count;
        triangles += m->triangle_count;
        hk_mesh_free(parts[p]);
    }
    return whole;
}

static hk_mesh *surface_mesh(int vertices, const double (*x)[3], int count,
                             const int32_t (*triangles)[3])
{
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(vertices, x[0], 0, NULL, count, triangles[0], &mesh));
    return mesh;
}

static hk_mesh *turned(hk_mesh *mesh, double degrees, double x, double y, double z)
{
    hk_transform t = {.scale = 1, .axis = {1, 2, 3}, .degrees = degrees, .translate = {x, y, z}};
    CHECK_OK(hk_mesh_transform(mesh, &t));
    return mesh;
}

static hk_intersection_report look(const hk_mesh *mesh)
{
    hk_intersection_report report, again;
    CHECK_OK(hk_mesh_intersections(mesh, 1, &report));
    static const int threads[] = {0, 2, 7};
    for (int k = 0; k < 3; k++) {
        CHECK_OK(hk_mesh_intersections(mesh, threads[k], &again));
        assert_memory_equal(&again, &report, sizeof report);
    }
    return report;
}

static int64_t count_and_free(hk_mesh *mesh)
{
    hk_intersection_report report = look(mesh);
    hk_mesh_free(mesh);
    return report.count;
}

// ---------------------------------------------------------------- bodies of tets

// Sound meshes are free, lattices and turned ones alike, flat faces and all.
static void test_sound_meshes(void **state)
{
    (void)state;
    for (int shape = HK_SHAPE_BOX; shape <= HK_SHAPE_FIGURE; shape++)
        for (int turn = 0; turn < 2; turn++) {
            hk_mesh_def def = hk_default_mesh_def((hk_shape)shape);
            hk_mesh *mesh;
            CHECK_OK(hk_mesh_make(&def, &mesh));
            if (turn) turned(mesh, 37, 0.3, -5, 2);
            hk_intersection_report report = look(mesh);
            int triangles;
            CHECK_OK(hk_mesh_surface(mesh, &triangles, NULL, NULL));
            assert_int_equal(report.triangles, triangles);
            assert_int_equal(report.count, 0);
            hk_mesh_free(mesh);
        }
}

// A box above another: one unit in the last place apart, touching, one unit deep.
static hk_mesh *stacked(double height, double shift)
{
    const char *names[2] = {"floor", "load"};
    hk_mesh *parts[2] = {box_mesh(1, 0.3, 1, 3, 2, 3), box_mesh(1, 1, 1, 2, 2, 2)};
    for (int v = 0; v < parts[1]->vertex_count; v++) {
        double *x = parts[1]->positions + 3 * v;
        x[0] += shift;
        x[2] += shift;
        x[1] = x[1] == 0 ? height : height + x[1];
    }
    return unite(2, parts, names);
}

static void test_one_ulp(void **state)
{
    (void)state;
    assert_int_equal(count_and_free(stacked(nextafter(0.3, 1), 0)), 0);
    assert_int_equal(count_and_free(stacked(nextafter(0.3, 1), 0.1)), 0);
    for (int k = 0; k < 2; k++) {  // on the lattice, and off it
        double shift = k ? 0.1 : 0;
        hk_mesh *mesh = stacked(0.3, shift);
        hk_intersection_report on = look(mesh);
        assert_true(on.count > 8);
        assert_int_equal(on.touching, on.count);
        assert_int_equal(on.listed, HK_DEFECT_LIST);
        assert_true(on.first[0].touching);
        assert_true(fabs(on.first[0].place[1] - (0.3)) < 1e-12);
        hk_mesh_free(mesh);
    }
    hk_mesh *mesh = stacked(nextafter(0.3, 0), 0.1);
    hk_intersection_report in = look(mesh);
    assert_true(in.count > in.touching);
    for (int k = 0; k < in.listed; k++) {
        const hk_intersection *first = &in.first[k];
        assert_true(first->triangles[0] < first->triangles[1]);
        assert_int_equal(first->bodies[0], 0);
        assert_int_equal(first->bodies[1], 1);
        assert_string_equal(first->names[0], "floor");
        assert_string_equal(first->names[1], "load");
        assert_true(fabs(first->place[1] - (0.3)) < 1e-12);
        if (k > 0) assert_true(first->triangles[0] >= in.first[k - 1].triangles[0]);
        int count;
        const int32_t *triangles;
        CHECK_OK(hk_mesh_surface(mesh, &count, &triangles, NULL));
        for (int i = 0; i < 2; i++)
            assert_memory_equal(first->faces[i], triangles + 3 * first->triangles[i],
                                sizeof first->faces[i]);
    }
    hk_mesh_free(mesh);
}

// Turned about odd angles: what was free stays free while the gap is more than rounding, and what
// went through goes through, with the place where it does.
static void test_turned_boxes(void **state)
{
    (void)state;
    for (int k = 1; k < 8; k++) {
        assert_int_equal(count_and_free(turned(stacked(0.3 + 1e-14, 0.1), 41 * k, 0, 0, 0)), 0);
        hk_mesh *mesh = turned(stacked(0.3 - 1e-9, 0.1), 41 * k, 0, 0, 0);
        hk_intersection_report report = look(mesh);
        assert_true(report.count > report.touching && !report.first[0].touching);
        // The place, turned back, is at the common height.
        hk_mesh *point;
        const int32_t corners[3] = {0, 0, 0};
        CHECK_OK(hk_mesh_from_arrays(1, report.first[0].place, 0, NULL, 1, corners, &point));
        turned(point, -41 * k, 0, 0, 0);
        assert_true(fabs(point->positions[1] - 0.3) < 1e-8);
        hk_mesh_free(point);
        hk_mesh_free(mesh);
    }
}

// One body wholly inside another: their surfaces do not meet, and that is what is told.
static void test_one_inside_another(void **state)
{
    (void)state;
    hk_mesh *parts[2] = {box_mesh(3, 3, 3, 2, 2, 2),
                         turned(box_mesh(1, 1, 1, 2, 2, 2), 0, 1, 1, 1)};
    assert_int_equal(count_and_free(unite(2, parts, NULL)), 0);
}

// ---------------------------------------------------------------- sheets

// A strip of three triangles, wound up so that the last vertex comes near the first triangle.
static hk_mesh *strip(double x, double y, double z)
{
    const double p[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1.5, 1.5, 1}, {x, y, z}};
    const int32_t t[3][3] = {{0, 1, 2}, {1, 3, 2}, {2, 3, 4}};
    return surface_mesh(5, p, 3, t);
}

static void test_sheet(void **state)
{
    (void)state;
    const double least = 0x1p-1074;
    assert_int_equal(count_and_free(strip(0.2, 0.2, 0.5)), 0);
    assert_int_equal(count_and_free(strip(0.2, 0.2, least)), 0);
    hk_mesh *mesh = strip(0.2, 0.2, 0);
    hk_intersection_report touch = look(mesh);
    hk_mesh_free(mesh);
    assert_int_equal(touch.count, 1);
    assert_int_equal(touch.touching, 1);
    assert_int_equal(touch.first[0].triangles[0], 0);
    assert_int_equal(touch.first[0].triangles[1], 2);
    assert_int_equal(touch.first[0].bodies[1], 0);
    assert_null(touch.first[0].names[0]);
    mesh = strip(0.2, 0.2, -least);
    hk_intersection_report through = look(mesh);
    hk_mesh_free(mesh);
    assert_int_equal(through.count, 1);
    assert_int_equal(through.touching, 0);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(through.first[0].place[i] - (touch.first[0].place[i])) < 1e-9);
    assert_true(fabs(through.first[0].place[2] - (0)) < 1e-9);
}

// Two triangles with an edge in common, opened by an angle: free down to the smallest one, a fold
// when it is 0; triangles that share a vertex likewise.
static void test_folds(void **state)
{
    (void)state;
    const int32_t hinge[2][3] = {{0, 1, 2}, {1, 0, 3}}, fan[2][3] = {{0, 1, 2}, {0, 3, 4}};
    for (int side = 0; side < 2; side++) {
        double y = side ? 0.9 : 0.3, ulp = nextafter(y, 1) - y;
        double p[4][3] = {{0, 0, 0}, {1, 0, 0}, {0.3, 0.7, 0}, {0.4, y, 0}};
        assert_int_equal(count_and_free(surface_mesh(4, (const double(*)[3])p, 2, hinge)), 1);
        p[3][2] = ulp * 0x1p-900;
        assert_int_equal(count_and_free(surface_mesh(4, (const double(*)[3])p, 2, hinge)), 0);
        p[3][2] = 0, p[3][1] = -y;  // unfolded
        assert_int_equal(count_and_free(surface_mesh(4, (const double(*)[3])p, 2, hinge)), 0);
    }
    double q[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.5, 0.5, 0}, {2, 2, 1}};
    assert_int_equal(count_and_free(surface_mesh(5, (const double(*)[3])q, 2, fan)), 1);
    q[3][2] = 0x1p-1074;
    assert_int_equal(count_and_free(surface_mesh(5, (const double(*)[3])q, 2, fan)), 0);
    // Along the edge 0 1, beyond its end; then beside it by the last place.
    memcpy(q[3], (double[3]){3, 0, 0}, sizeof q[3]);
    assert_int_equal(count_and_free(surface_mesh(5, (const double(*)[3])q, 2, fan)), 1);
    q[3][1] = -0x1p-1074;
    assert_int_equal(count_and_free(surface_mesh(5, (const double(*)[3])q, 2, fan)), 0);
    q[3][1] = 0x1p-1074;
    assert_int_equal(count_and_free(surface_mesh(5, (const double(*)[3])q, 2, fan)), 1);
}

// A triangle that is there twice is one set of points; a vertex twice in one place is a touch.
static void test_repeated(void **state)
{
    (void)state;
    const double p[6][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}, {-1, 0, 0}, {0, -1, 0}};
    const int32_t twice[3][3] = {{0, 1, 2}, {2, 1, 0}, {3, 4, 5}};
    hk_mesh *mesh = surface_mesh(6, p, 3, twice);
    hk_intersection_report report = look(mesh);
    assert_int_equal(report.triangles, 2);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.touching, 1);
    assert_int_equal(report.first[0].triangles[1], 2);  // as hk_mesh_surface counts
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- many

static uint64_t g_state = 7;
static double uniform(void)
{
    g_state = g_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(g_state >> 11) * 0x1p-53;
}

// A crowd of triangles: the tree finds what all pairs have.
static void test_crowd(void **state)
{
    (void)state;
    enum { COUNT = 600 };
    static double p[3 * COUNT][3];
    static int32_t t[COUNT][3];
    for (int v = 0; v < 3 * COUNT; v++)
        for (int i = 0; i < 3; i++)
            p[v][i] = v % 3 == 0 ? uniform() : p[v - v % 3][i] + 0.4 * (uniform() - 0.5);
    for (int k = 0; k < 3 * COUNT; k++) t[k / 3][k % 3] = k;
    int64_t expected = 0;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t a = 0; a < COUNT; a++)
        for (uint32_t b = a + 1; b < COUNT; b++)
            if (hk_triangles_meet(p[0], t[a], t[b]) != HK_APART) {
                expected++;
                if (lowest == UINT64_MAX) lowest = (uint64_t)a << 32 | b;
            }
    assert_true(expected > 50);
    hk_mesh *mesh = surface_mesh(3 * COUNT, (const double(*)[3])p, COUNT, (const int32_t(*)[3])t);
    hk_intersection_report report = look(mesh);
    assert_int_equal(report.count, expected);
    assert_int_equal(report.first[0].triangles[0], hk_key_first(lowest));
    assert_int_equal(report.first[0].triangles[1], hk_key_second(lowest));
    hk_mesh_free(mesh);
}

static bool different_bodies(const void *context, int32_t first, int32_t second)
{
    const hk_surface *s = context;
    return hk_triangle_body(s, first) != hk_triangle_body(s, second);
}

// The surface of a given numbering of bodies, a filter, and warm runs without memory.
static void test_certificate(void **state)
{
    (void)state;
    hk_mesh *mesh = stacked(nextafter(0.3, 0), 0.1);
    int32_t *bodies = HK_ZEROS(int32_t, mesh->vertex_count);
    hk_surface_def def = {.vertex_count = mesh->vertex_count,
                          .tet_count = mesh->tet_count,
                          .tets = mesh->tets,
                          .bodies = bodies};
    hk_surface *surface;
    hk_certificate *certificate;
    hk_findings all, some;
    CHECK_OK(hk_surface_create(&def, &surface));
    // Two closed surfaces: F − E + V = 2 each, and 3 F = 2 E.
    assert_int_equal(2 * surface->edge_count, 3 * surface->triangle_count);
    for (int t = 0; t < surface->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            const int32_t *c = surface->triangles + 3 * t;
            const int32_t *e = surface->edges + 2 * surface->triangle_edges[3 * t + k];
            int32_t a = c[k], b = c[(k + 1) % 3];
            assert_true(e[0] == hk_min_int(a, b) && e[1] == hk_max_int(a, b));
            assert_int_equal(hk_edge_body(surface, surface->triangle_edges[3 * t + k]), 0);
        }
    CHECK_OK(hk_certificate_create(surface, 2, &certificate));
    CHECK_OK(hk_certificate_run(certificate, mesh->positions, NULL, NULL, &all));
    failing_alloc_install(0);
    CHECK_OK(hk_certificate_run(certificate, mesh->positions, different_bodies, surface, &some));
    assert_int_equal(failing_alloc_count(), 0);
    failing_alloc_remove();
    assert_true(all.count > 0);
    assert_int_equal(some.count, 0);  // all are of body 0
    double kept = mesh->positions[3];
    mesh->positions[3] = NAN;
    assert_int_equal(hk_certificate_run(certificate, mesh->positions, NULL, NULL, &some),
                     HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "vertex 1 is not finite"));
    mesh->positions[3] = kept;
    hk_certificate_free(certificate);
    hk_surface_free(surface);
    hk_free(bodies);
    hk_mesh_free(mesh);
}

static void test_bad_calls(void **state)
{
    (void)state;
    hk_intersection_report report;
    hk_mesh *mesh = strip(0.2, 0.2, 0);
    assert_int_equal(hk_mesh_intersections(NULL, 0, &report), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_intersections(mesh, 0, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_intersections(mesh, -1, &report), HK_BAD_INPUT);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = hk_mesh_intersections(mesh, 2, &report);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (!reached) break;
    }
    hk_mesh_free(mesh);
    CHECK_OK(hk_mesh_from_arrays(1, (double[3]){0}, 0, NULL, 0, NULL, &mesh));
    assert_int_equal(count_and_free(mesh), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_meshes), cmocka_unit_test(test_one_ulp),
        cmocka_unit_test(test_turned_boxes), cmocka_unit_test(test_one_inside_another),
        cmocka_unit_test(test_sheet),        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_repeated),     cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_certificate),  cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
