// The surface and the report, on sound meshes and on one broken mesh for each defect.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "mesh/mesh.h"

// 0 … 3 the corner of a cube, 4 its far corner, 5 … 7 to spare.
static const double points[8][3] = {{0, 0, 0}, {1, 0, 0},  {0, 1, 0},  {0, 0, 1},
                                    {1, 1, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};

static hk_mesh *make(int vertices, const double positions[][3], int tet_count,
                     const int32_t tets[][4])
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_from_arrays(vertices, positions[0], tet_count, tets[0], 0, NULL, &mesh) != HK_OK)
        fail_msg("%s", hk_error());
    return mesh;
}

static hk_mesh *make_surface(int vertices, const double positions[][3], int count,
                             const int32_t triangles[][3])
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_from_arrays(vertices, positions[0], 0, NULL, count, triangles[0], &mesh) != HK_OK)
        fail_msg("%s", hk_error());
    return mesh;
}

static hk_mesh_report check(hk_mesh *mesh)
{
    hk_mesh_report report;
    if (hk_mesh_check(mesh, &report) != HK_OK) fail_msg("%s", hk_error());
    return report;
}

static int64_t defects(const hk_mesh_report *r)
{
    return r->turned.count + r->flat.count + r->duplicate_tets.count + r->duplicate_vertices.count +
           r->unreferenced.count + r->non_manifold.count + r->open_edges.count +
           r->not_finite.count;
}

static void a_sound_mesh_is_ready(void **state)
{
    (void)state;
    const int32_t tets[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}};
    hk_mesh *mesh = make(5, points, 2, tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(defects(&r), 0);
    assert_true(r.simulable);
    assert_string_equal(r.verdict, "ready to simulate");
    assert_int_equal(r.vertices, 5);
    assert_int_equal(r.tets, 2);
    assert_int_equal(r.components, 1);
    assert_true(fabs(r.volume - 0.5) < 1e-15);  // 1/6 + 1/3
    assert_true(fabs(r.area - 1.5 * (1 + sqrt(3))) < 1e-14);
    assert_int_equal(r.worst_tet, 0);
    assert_true(fabs(r.worst_quality - 12 * cbrt(0.25) / 9) < 1e-14);
    assert_true(fabs(r.mean_quality - (r.worst_quality + 1) / 2) < 1e-14);
    for (int i = 0; i < 3; i++) assert_true(r.bounds[0][i] == 0 && r.bounds[1][i] == 1);
    hk_mesh_free(mesh);
}

static void the_surface_is_outward_in_the_order_of_tets(void **state)
{
    (void)state;
    const int32_t tets[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}};
    hk_mesh *mesh = make(5, points, 2, tets);
    int count;
    const int32_t *triangles, *behind, *again;
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, &behind), HK_OK);
    const int32_t expected[6][3] = {{0, 3, 2}, {0, 1, 3}, {0, 2, 1},
                                    {2, 3, 4}, {1, 4, 3}, {1, 2, 4}};
    const int32_t expected_tets[6] = {0, 0, 0, 1, 1, 1};
    assert_int_equal(count, 6);
    assert_memory_equal(triangles, expected, sizeof expected);
    assert_memory_equal(behind, expected_tets, sizeof expected_tets);
    assert_int_equal(hk_mesh_surface(mesh, NULL, &again, NULL), HK_OK);
    assert_ptr_equal(again, triangles);
    hk_mesh_free(mesh);

    const int32_t stored[2][3] = {{2, 1, 0}, {1, 2, 4}};
    mesh = make_surface(5, points, 2, stored);
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, &behind), HK_OK);
    assert_int_equal(count, 2);
    assert_memory_equal(triangles, stored, sizeof stored);
    assert_int_equal(behind[0], -1);
    assert_int_equal(behind[1], -1);
    hk_mesh_free(mesh);
}

// All tets around one vertex: one bucket holds nearly every face.
static void a_fan_is_no_problem(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    double(*positions)[3] = malloc((COUNT + 2) * sizeof *positions);
    int32_t(*tets)[4] = malloc(COUNT * sizeof *tets);
    memset(positions, 0, 2 * sizeof *positions);
    positions[1][1] = 1;
    for (int i = 0; i < COUNT; i++) {
        double angle = 2 * 3.14159265358979324 * i / COUNT;
        positions[i + 2][0] = cos(angle);
        positions[i + 2][1] = 0;
        positions[i + 2][2] = -sin(angle);
        const int32_t tet[4] = {0, 1, i + 2, (i + 1) % COUNT + 2};
        memcpy(tets[i], tet, sizeof tet);
    }
    hk_mesh *mesh =
        make(COUNT + 2, (const double(*)[3])positions, COUNT, (const int32_t(*)[4])tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(defects(&r), 0);
    assert_int_equal(mesh->surface_count, 2 * COUNT);
    hk_mesh_free(mesh);
    free(positions);
    free(tets);
}

static void turned_tets_are_told(void **state)
{
    (void)state;
    const int32_t tets[2][4] = {{0, 1, 2, 3}, {2, 1, 3, 4}};
    hk_mesh *mesh = make(5, points, 2, tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(r.turned.count, 1);
    assert_int_equal(r.turned.first[0], 1);
    assert_int_equal(defects(&r), 1);
    assert_true(r.simulable);
    hk_mesh_free(mesh);
}

static void flat_and_inverted_tets_cannot_be_simulated(void **state)
{
    (void)state;
    const int32_t tets[3][4] = {{0, 1, 2, 3}, {1, 5, 2, 6}, {1, 2, 2, 4}};
    hk_mesh *mesh = make(7, points, 3, tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(r.flat.count, 2);
    assert_int_equal(r.flat.first[0], 1);
    assert_int_equal(r.flat.first[1], 2);
    assert_false(r.simulable);
    assert_string_equal(r.verdict, "cannot be simulated: 2 flat tets (first: 1)");
    assert_true(r.worst_quality == 0);
    assert_int_equal(r.worst_tet, 1);
    hk_mesh_free(mesh);

    const int32_t one[1][4] = {{0, 1, 2, 3}};
    mesh = make(4, points, 1, one);
    double moved[4][3];
    memcpy(moved, points, sizeof moved);
    moved[3][2] = -1;
    assert_int_equal(hk_mesh_set_positions(mesh, moved[0]), HK_OK);
    r = check(mesh);
    assert_false(r.simulable);
    assert_string_equal(r.verdict, "cannot be simulated: 1 inverted tet (first: 0)");
    // Thin, but not flat: a sliver of quality 1e-5 is a matter of taste, not of rounding.
    moved[3][2] = 1e-7;
    assert_int_equal(hk_mesh_set_positions(mesh, moved[0]), HK_OK);
    assert_true(check(mesh).simulable);
    hk_mesh_free(mesh);
}

static void duplicate_tets_cannot_be_simulated(void **state)
{
    (void)state;
    const int32_t tets[4][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}, {3, 2, 1, 0}, {0, 1, 2, 3}};
    hk_mesh *mesh = make(5, points, 4, tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(r.duplicate_tets.count, 2);
    assert_int_equal(r.duplicate_tets.first[0], 2);
    assert_int_equal(r.duplicate_tets.first[1], 3);
    assert_int_equal(r.duplicate_vertices.count, 0);
    assert_false(r.simulable);
    assert_string_equal(r.verdict, "cannot be simulated: 2 duplicate tets (first: 2)");
    hk_mesh_free(mesh);
}

static void duplicate_and_unreferenced_vertices_are_told(void **state)
{
    (void)state;
    const double positions[8][3] = {{0, 0, 0},    {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                    {-0.0, 1, 0}, {5, 5, 5}, {0, 1, 0}, {6, 6, 6}};
    const int32_t tets[1][4] = {{0, 1, 2, 3}};
    hk_mesh *mesh = make(8, positions, 1, tets);
    hk_mesh_report r = check(mesh);
    assert_int_equal(r.duplicate_vertices.count, 2);
    assert_int_equal(r.duplicate_vertices.first[0], 4);  // −0 and 0 are one place
    assert_int_equal(r.duplicate_vertices.first[1], 6);
    assert_int_equal(r.unreferenced.count, 4);
    assert_int_equal(r.unreferenced.first[0], 4);
    assert_int_equal(r.unreferenced.first[3], 7);
    assert_int_equal(r.components, 1);
    assert_true(r.simulable);
    assert_string_equal(r.verdict, "ready to simulate, but it has 4 unreferenced vertices, held "
                                   "still (first: 4), 2 duplicate vertices (first: 4)");
    hk_mesh_free(mesh);
}

static void shared_faces_and_edges_are_told(void **state)
{
    (void)state;
    // Three tets on the face 1 2 3.
    const int32_t three[3][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}, {5, 1, 2, 3}};
    hk_mesh *mesh = make(6, points, 3, three);
    hk_mesh_report r = check(mesh);
    assert_true(r.non_manifold.count >= 1);
    assert_int_equal(r.non_manifold.first[0], 1);
    assert_true(r.simulable);
    assert_non_null(strstr(r.verdict, "non-manifold"));
    hk_mesh_free(mesh);
    // Two tets that share only the edge 0 3.
    const int32_t hinge[2][4] = {{0, 1, 2, 3}, {0, 5, 6, 3}};
    mesh = make(7, points, 2, hinge);
    r = check(mesh);
    assert_int_equal(r.non_manifold.count, 1);
    assert_int_equal(r.non_manifold.first[0], 0);
    assert_int_equal(r.components, 1);
    hk_mesh_free(mesh);
}

static void components_are_counted(void **state)
{
    (void)state;
    double positions[12][3];
    int32_t tets[3][4];
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 4; v++) {
            tets[2 - c][v] = 4 * c + v;
            for (int i = 0; i < 3; i++) positions[4 * c + v][i] = points[v][i] + 3 * c;
        }
    hk_mesh *mesh = make(12, (const double(*)[3])positions, 3, (const int32_t(*)[4])tets);
    assert_int_equal(check(mesh).components, 3);
    hk_mesh_free(mesh);
}

static void surfaces_are_judged_by_their_edges(void **state)
{
    (void)state;
    const int32_t closed[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
    hk_mesh *mesh = make_surface(4, points, 4, closed);
    hk_mesh_report r = check(mesh);
    assert_int_equal(defects(&r), 0);
    assert_true(r.simulable);
    assert_string_equal(r.verdict, "ready to simulate as a sheet (mass_spring)");
    assert_int_equal(r.worst_tet, -1);
    assert_true(r.volume == 0);
    assert_true(fabs(r.area - (1.5 + sqrt(3) / 2)) < 1e-14);
    hk_mesh_free(mesh);

    mesh = make_surface(4, points, 3, closed);
    r = check(mesh);
    assert_int_equal(r.open_edges.count, 3);
    assert_int_equal(r.open_edges.first[0], 0);
    assert_int_equal(r.open_edges.first[2], 2);
    hk_mesh_free(mesh);

    const int32_t book[3][3] = {{0, 1, 2}, {0, 1, 3}, {0, 1, 6}};
    mesh = make_surface(7, points, 3, book);
    r = check(mesh);
    assert_int_equal(r.non_manifold.count, 1);
    assert_int_equal(r.non_manifold.first[0], 0);
    assert_int_equal(r.open_edges.count, 6);
    assert_int_equal(r.unreferenced.count, 2);
    hk_mesh_free(mesh);

    const int32_t needle[2][3] = {{0, 1, 2}, {0, 1, 1}};
    mesh = make_surface(4, points, 2, needle);
    r = check(mesh);
    assert_int_equal(r.flat.count, 1);
    assert_int_equal(r.flat.first[0], 1);
    assert_false(r.simulable);
    assert_string_equal(r.verdict, "cannot be simulated: 1 flat triangle (first: 1)");
    hk_mesh_free(mesh);
}

// Meshes that no one finished: check must survive them.
static void unfinished_meshes_are_survived(void **state)
{
    (void)state;
    hk_mesh *mesh;
    hk_mesh_report r;
    assert_int_equal(hk_mesh_new(0, 0, 0, &mesh), HK_OK);
    r = check(mesh);
    assert_false(r.simulable);
    assert_string_equal(r.verdict, "an empty mesh: it has no tets and no triangles");
    hk_mesh_free(mesh);

    assert_int_equal(hk_mesh_new(8, 1, 1, &mesh), HK_OK);
    memcpy(mesh->positions, points, sizeof points);
    const int32_t tet[4] = {0, 1, 2, 3};
    memcpy(mesh->tets, tet, sizeof tet);
    mesh->positions[3 * 3] = NAN;
    mesh->positions[3 * 7 + 1] = -INFINITY;
    r = check(mesh);
    assert_int_equal(r.not_finite.count, 2);
    assert_int_equal(r.not_finite.first[0], 3);
    assert_int_equal(r.not_finite.first[1], 7);
    assert_int_equal(r.flat.count, 1);
    assert_false(r.simulable);
    assert_true(isfinite(r.volume) && isfinite(r.area) && isfinite(r.mean_quality));
    assert_true(r.bounds[0][0] == -1 && r.bounds[1][0] == 1 && r.bounds[1][2] == 1);
    assert_non_null(strstr(r.verdict, "2 vertices that are not finite (first: 3)"));
    mesh->tets[2] = 8;
    hk_mesh_report untouched = r;
    assert_int_equal(hk_mesh_check(mesh, &r), HK_BAD_INPUT);
    assert_memory_equal(&r, &untouched, sizeof r);
    assert_non_null(strstr(hk_error(), "tet 0"));
    hk_mesh_free(mesh);

    // As many NaN or coincident vertices must not make the search for duplicates quadratic.
    enum { MANY = 300000 };
    assert_int_equal(hk_mesh_new(2 * MANY, 0, 0, &mesh), HK_OK);
    for (int i = 0; i < 3 * MANY; i++) mesh->positions[i] = NAN;
    r = check(mesh);
    assert_int_equal(r.not_finite.count, MANY);
    assert_int_equal(r.duplicate_vertices.count, MANY - 1);
    assert_int_equal(r.duplicate_vertices.first[0], MANY + 1);
    hk_mesh_free(mesh);

    assert_int_equal(hk_mesh_check(NULL, &r), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_surface(NULL, NULL, NULL, NULL), HK_BAD_INPUT);
}

static void a_failed_check_leaves_the_report(void **state)
{
    (void)state;
    const hk_mesh_def def = {.def_size = sizeof(hk_mesh_def),
                             .shape = HK_SHAPE_BOX,
                             .size = {1, 1, 1},
                             .cells = {3, 3, 3}};
    for (int n = 1;; n++) {
        hk_mesh *mesh;
        hk_mesh_report report, untouched;
        memset(&report, 0x5a, sizeof report);
        untouched = report;
        failing_alloc_install(0);
        assert_int_equal(hk_mesh_make(&def, &mesh), HK_OK);
        int before = failing_alloc_count();
        atomic_store(&failing_alloc_fail_at, before + n);
        hk_status status = hk_mesh_check(mesh, &report);
        bool reached = failing_alloc_count() >= before + n;
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (reached) {
            assert_memory_equal(&report, &untouched, sizeof report);
            // Nothing half-made stays behind: the second try succeeds.
            assert_int_equal(hk_mesh_check(mesh, &report), HK_OK);
        }
        assert_true(report.simulable);
        hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_mesh_is_ready),
        cmocka_unit_test(the_surface_is_outward_in_the_order_of_tets),
        cmocka_unit_test(a_fan_is_no_problem),
        cmocka_unit_test(turned_tets_are_told),
        cmocka_unit_test(flat_and_inverted_tets_cannot_be_simulated),
        cmocka_unit_test(duplicate_tets_cannot_be_simulated),
        cmocka_unit_test(duplicate_and_unreferenced_vertices_are_told),
        cmocka_unit_test(shared_faces_and_edges_are_told),
        cmocka_unit_test(components_are_counted),
        cmocka_unit_test(surfaces_are_judged_by_their_edges),
        cmocka_unit_test(unfinished_meshes_are_survived),
        cmocka_unit_test(a_failed_check_leaves_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
