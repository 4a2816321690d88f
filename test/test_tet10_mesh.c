// Meshes of quadratic tets: orders, surfaces, files and the order of nodes in them, skins.
#include "quadratic_bodies.h"

static void check_same(const hk_mesh *a, const hk_mesh *b)
{
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->tet_count, b->tet_count);
    assert_int_equal(a->triangle_count, b->triangle_count);
    assert_memory_equal(a->positions, b->positions, 24 * (size_t)a->vertex_count);
    assert_memory_equal(a->tets, b->tets, 16 * (size_t)a->tet_count);
    assert_int_equal(a->middles != NULL, b->middles != NULL);
    if (a->middles) assert_memory_equal(a->middles, b->middles, 24 * (size_t)a->tet_count);
    if (a->triangle_count)
        assert_memory_equal(a->triangles, b->triangles, 12 * (size_t)a->triangle_count);
}

static void test_orders(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 2, 2, 2), *before, *surface;
    CHECK_OK(hk_mesh_copy(mesh, &before));
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    assert_int_equal(hk_mesh_order(mesh), 2);
    hk_mesh_report report;
    CHECK_OK(hk_mesh_check(mesh, &report));
    assert_true(report.simulable);
    assert_int_equal(report.components, 1);
    assert_int_equal(report.unreferenced.count + report.duplicate_vertices.count, 0);
    assert_true(fabs(report.volume - 1) < 1e-12 && fabs(report.area - 6) < 1e-12);
    int count, linear;
    const int32_t *triangles, *tets;
    CHECK_OK(hk_mesh_surface(mesh, &count, &triangles, &tets));
    CHECK_OK(hk_mesh_surface(before, &linear, &triangles, &tets));
    assert_int_equal(count, 4 * linear);
    CHECK_OK(hk_mesh_outside(mesh, &surface));
    CHECK_OK(hk_mesh_check(surface, &report));
    assert_int_equal(report.open_edges.count, 0);
    hk_mesh_free(surface);
    CHECK_OK(hk_mesh_set_order(mesh, 1));
    check_same(mesh, before);
    // Mirrored: corners are turned, and their middles with them.
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    hk_transform mirror = {.scale = -1};
    CHECK_OK(hk_mesh_transform(mesh, &mirror));
    CHECK_OK(hk_mesh_check(mesh, &report));
    assert_true(report.simulable && fabs(report.volume - 1) < 1e-12);
    hk_mesh_free(mesh);
    hk_mesh_free(before);
}

static void round_trip(const char *path)
{
    hk_mesh *mesh = box_mesh(1, 1, 1, 2, 1, 1), *read;
    hk_group *group;
    CHECK_OK(hk_mesh_add_group(mesh, "half", 3, 2, &group));
    group->items[0] = 1;
    group->items[1] = 4;
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    bend_edges(mesh, 0.02);
    CHECK_OK(hk_mesh_save(mesh, path, NULL, 0));
    CHECK_OK(hk_mesh_load(path, &read));
    check_same(mesh, read);
    assert_int_equal(hk_mesh_group_count(read), 1);
    assert_int_equal(read->groups[0].count, 2);
    hk_mesh_free(read);
    hk_mesh_free(mesh);
    remove(path);
}

static void test_files(void **state)
{
    (void)state;
    round_trip("tet10_test.msh");
    round_trip("tet10_test.vtu");
}

// Faces with groups: six nodes each in the file, four triangles in the mesh.
static void test_faces_in_files(void **state)
{
    (void)state;
    static const double x[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    static const int32_t tets[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}},
                         faces[2][3] = {{0, 2, 1}, {0, 1, 3}};
    hk_mesh *mesh, *read;
    hk_group *group;
    CHECK_OK(hk_mesh_from_arrays(5, &x[0][0], 2, &tets[0][0], 2, &faces[0][0], &mesh));
    for (int g = 0; g < 2; g++) {
        CHECK_OK(hk_mesh_add_group(mesh, g ? "both" : "floor", 2, g + 1, &group));
        for (int k = 0; k <= g; k++) group->items[k] = k;
    }
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    assert_int_equal(mesh->triangle_count, 8);
    CHECK_OK(hk_mesh_save(mesh, "tet10_faces.msh", NULL, 0));
    CHECK_OK(hk_mesh_load("tet10_faces.msh", &read));
    check_same(mesh, read);
    assert_int_equal(read->group_count, 2);
    assert_int_equal(read->groups[0].count, 4);
    assert_int_equal(read->groups[1].count, 8);
    CHECK_OK(hk_mesh_set_order(read, 1));
    assert_int_equal(read->triangle_count, 2);
    assert_int_equal(read->groups[1].count, 2);
    hk_mesh_free(read);
    hk_mesh_free(mesh);
    remove("tet10_faces.msh");
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// The same element in three files, each with its own order of the nodes.
static void test_node_orders(void **state)
{
    (void)state;
    // Nodes 5 to 10 between corners 12 23 31 14 24 34 (counted from 1).
    static const char nodes[] = "1 0 0 0\n2 2 0 0\n3 0 2 0\n4 0 0 2\n5 1 0 0\n6 1 1 0\n7 0 1 0\n"
                                "8 0 0 1\n9 1 0 1\n10 0 1 1\n";
    char text[1000];
    snprintf(text, sizeof text,
             "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n%s$EndNodes\n$Elements\n1\n"
             "1 11 2 0 0 1 2 3 4 5 6 7 8 10 9\n$EndElements\n",
             nodes);
    write_text("tet10_order.msh", text);
    snprintf(text, sizeof text, "10 3 0 0\n%s", nodes);
    write_text("tet10_order.node", text);
    write_text("tet10_order.ele", "1 10 0\n1 1 2 3 4 10 8 9 7 6 5\n");
    static const char *const paths[] = {"tet10_order.msh", "tet10_order.node"};
    for (int k = 0; k < 2; k++) {
        hk_mesh *mesh;
        CHECK_OK(hk_mesh_load(paths[k], &mesh));
        assert_int_equal(hk_mesh_order(mesh), 2);
        for (int m = 0; m < 6; m++) assert_int_equal(mesh->middles[m], 4 + m);
        hk_mesh_report report;
        CHECK_OK(hk_mesh_check(mesh, &report));
        assert_true(report.simulable && fabs(report.volume - 8.0 / 6) < 1e-12);
        hk_mesh_free(mesh);
    }
    remove("tet10_order.msh");
    remove("tet10_order.node");
    remove("tet10_order.ele");
}

// Eight linear tets for each quadratic one fill the same volume, and a skin follows the middles.
static void test_skin(void **state)
{
    (void)state;
    hk_mesh *mesh = quadratic_box(1, 1, 1, 1, 1, 1), *split, *surface;
    CHECK_OK(hk_mesh_split_quadratic(mesh, &split));
    assert_int_equal(split->tet_count, 40);
    for (int t = 0; t < 40; t++) {
        const double *p[4];
        for (int c = 0; c < 4; c++) p[c] = split->positions + 3 * split->tets[4 * t + c];
        assert_true(hk_tet_volume6(p[0], p[1], p[2], p[3]) > 1e-3);
    }
    hk_mesh_report report;
    CHECK_OK(hk_mesh_check(split, &report));
    assert_true(report.simulable && fabs(report.volume - 1) < 1e-12);
    assert_int_equal(report.non_manifold.count, 0);
    CHECK_OK(hk_mesh_outside(mesh, &surface));
    hk_embedding *skin;
    CHECK_OK(hk_embedding_create(mesh, surface, 1, &skin));
    bend_edges(mesh, 0.05);
    double *x = malloc(3 * sizeof *x * (size_t)surface->vertex_count);
    hk_mesh *bent;
    CHECK_OK(hk_embedding_apply(skin, 3, mesh->positions, x));
    CHECK_OK(hk_mesh_outside(mesh, &bent));
    for (int k = 0; k < 3 * surface->vertex_count; k++)
        assert_true(fabs(x[k] - bent->positions[k]) < 1e-9);
    free(x);
    hk_embedding_free(skin);
    hk_mesh_free(mesh), hk_mesh_free(split), hk_mesh_free(surface), hk_mesh_free(bent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_faces_in_files), cmocka_unit_test(test_node_orders),
        cmocka_unit_test(test_skin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
