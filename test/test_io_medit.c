// Medit .mesh.
#include "io_text.h"

#define HEAD "MeshVersionFormatted 2\nDimension 3\n"
#define FIVE "Vertices\n5\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n1 1 1 1\n"
#define GOOD                                                                               \
    "# a comment\nMeshVersionFormatted\n1\n\nDimension\n3\nVertices 5\n0 0 0 1\n1 0 0 1\n" \
    "0 1 0 2\n0 0 1 1\n1 1 1 1\nCorners\n1\n1\nTetrahedra\n2\n1 2 3 4 7\n2 3 4 5 -8\n"     \
    "Triangles\n1\n1 2 3 5\nRidges\n0\nNormals\n1\n0.5 -1e-3 .5\nEnd\nwhatever follows"

static hk_mesh *read_good(const char *text)
{
    hk_mesh *mesh = NULL;
    if (hk_medit_format.read("m.mesh", text, strlen(text), &mesh) != HK_OK)
        fail_msg("%s", hk_error());
    return mesh;
}

static void a_mesh_with_references(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good(GOOD);
    static const int32_t tets[] = {0, 1, 2, 3, 1, 2, 3, 4}, triangles[] = {0, 1, 2};
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->tet_count, 2);
    assert_int_equal(mesh->triangle_count, 1);
    assert_memory_equal(mesh->tets, tets, sizeof tets);
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    assert_true(mesh->positions[3] == 1 && mesh->positions[14] == 1);
    static const int32_t first[] = {0}, second[] = {1}, ones[] = {0, 1, 3, 4}, two[] = {2};
    assert_group(mesh, "7", 3, 1, first);
    assert_group(mesh, "-8", 3, 1, second);
    assert_group(mesh, "1", 0, 4, ones);
    assert_group(mesh, "2", 0, 1, two);
    // The one reference of the triangles tells nothing apart.
    assert_int_equal(mesh->group_count, 4);
    assert_note(mesh, "skipped what is not needed: Corners, Ridges, Normals");
    hk_mesh_free(mesh);
}

static void other_elements_are_counted(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good(HEAD FIVE "Tetrahedra\n1\n1 2 3 4 0\nPyramids\n1\n1 2 3 4 5 0\n"
                                        "Edges\n2\n1 2 0\n2 3 0\nQuadrilaterals\n1\n1 2 3 4 0\n"
                                        "TetrahedraP2\n1\n2 3 4 5 1 1 1 1 1 1 0\n");
    assert_int_equal(mesh->tet_count, 2);
    assert_int_equal(mesh->triangle_count, 2);
    assert_int_equal(mesh->group_count, 0);
    assert_note(mesh, "left out 1 pyramid and 2 lines: only tetrahedra are simulated");
    assert_note(mesh, "1 quadrangle split into triangles");
    assert_note(mesh, "1 tetrahedron of higher order");
    hk_mesh_free(mesh);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const bad_file bad[] = {
        {"", "m.mesh:1: the file ends where MeshVersionFormatted was expected"},
        {"MFEM mesh v1.0", "expected MeshVersionFormatted, found \"MFEM\": not a Medit mesh"},
        {"\x01\x02\x03 junk", "m.mesh:1: expected MeshVersionFormatted, found \"???\""},
        {"MeshVersionFormatted x", "m.mesh:1: expected the version of the format"},
        {"MeshVersionFormatted 2\nDimension 2\n",
         "m.mesh:2: a mesh of dimension 2: only 3 can be read"},
        {HEAD, "m.mesh:3: the file ends without Vertices"},
        {HEAD "Tetrahedra\n1\n1 2 3 4 0\n", "m.mesh:3: Tetrahedra must come after Vertices"},
        {HEAD "Vertices\n-3\n", "m.mesh:4: the number of vertices is -3: it must not be negative"},
        {HEAD "Vertices\n1000000000000000000\n0 0 0 0\n", "the rest of the file has room for"},
        {HEAD "Vertices\n2\n0 0 0 0\n0 0 inf 0\n",
         "m.mesh:6: vertex 2: expected its z coordinate, a finite number, found \"inf\""},
        {HEAD "Vertices\n1\n0 0 0 0\nVertices\n1\n0 0 0 0\n",
         "m.mesh:6: a second list of Vertices"},
        {HEAD "Vertices\n2\n0 0 0 0\nTetrahedra\n0\n",
         "m.mesh:6: vertex 2: expected its x coordinate, a finite number, found \"Tetrahedra\""},
        {HEAD FIVE "5 5 5 5\n",
         "m.mesh:10: expected a keyword, found \"5\": is the count before wrong?"},
        {HEAD FIVE "Tetrahedra\n1\n1 2 3 6 0\n",
         "m.mesh:12: tetrahedron 1: names vertex 6, but there are 5, numbered from 1"},
        {HEAD FIVE "Tetrahedra\n1\n0 1 2 3 0\n", "tetrahedron 1: names vertex 0"},
        {HEAD FIVE "Tetrahedra\n2\n1 2 3 4 0\nEnd      \n",
         "m.mesh:13: tetrahedron 2: expected a vertex number, an integer, found \"End\""},
        {HEAD FIVE "Tetrahedra\n1\n1 2 3 4.5 0\n",
         "tetrahedron 1: expected a vertex number, an integer, found \"4.5\""},
        {HEAD FIVE "Tetrahedra\n99999999\n1 2 3 4 0\n",
         "the number of Tetrahedra is 99999999, but"},
        {HEAD FIVE "Tetrahedra\n0\nEnd\n", "has no tetrahedra and no triangles, only 5 vertices"},
        {HEAD FIVE "Pyramids\n1\n1 2 3 4 5 0\nEnd\n", "m.mesh: its volume elements are 1 pyramid"},
    };
    for (int i = 0; i < HK_COUNT_OF(bad); i++)
        assert_refused(hk_medit_format.read, "m.mesh", bad[i].text, strlen(bad[i].text),
                       bad[i].message);
}

static void cut_files_and_failing_allocations_are_survived(void **state)
{
    (void)state;
    try_all_prefixes(hk_medit_format.read, GOOD, sizeof GOOD - 1);
    try_failing_allocations(hk_medit_format.read, GOOD, sizeof GOOD - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mesh_with_references),
        cmocka_unit_test(other_elements_are_counted),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(cut_files_and_failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
