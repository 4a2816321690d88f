// VTK legacy files: every layout, what is left out, and what must be refused.
#include "mesh_file_checks.h"

#define HEAD(mode, set) "# vtk DataFile Version 3.0\ntitle\n" mode "\nDATASET " set "\n"
#define GRID            HEAD("ASCII", "UNSTRUCTURED_GRID")
#define POINTS          "POINTS 5 float\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n"
#define CELLS           "CELLS 2 10\n4 0 1 2 3\n4 1 2 3 4\n"
#define TYPES           "CELL_TYPES 2\n10 10\n"

static const double corner_positions[5][3] = {
    {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};

static void check_two_tets(hk_mesh *mesh)
{
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->tet_count, 2);
    assert_memory_equal(mesh->positions, corner_positions, sizeof corner_positions);
    assert_memory_equal(mesh->tets, two_tets, sizeof two_tets);
}

static void text_is_read(void **state)
{
    (void)state;
    hk_mesh *mesh = read_text(hk_vtk_format.read, GRID POINTS CELLS TYPES);
    check_two_tets(mesh);
    assert_int_equal(hk_mesh_note_count(mesh), 0);
    hk_mesh_free(mesh);
    mesh = read_text(hk_vtk_format.read,
                     "# vtk DataFile Version 2.0\r\nt\r\nascii\r\ndataset unstructured_grid\r\n"
                     "FIELD FieldData 1\r\nTIME 1 1 double\r\n0.5\r\n"
                     "points 5 DOUBLE\r\n0 0 0 1 0 0\r\n0 1 0 0 0 1 1 1 1\r\n\r\nCELLS 2 10\r\n"
                     "4 0 1 2 3\r\n4 1 2 3 4\r\ncell_types 2\r\n10\r\n10");
    check_two_tets(mesh);
    hk_mesh_free(mesh);
}

static void put_binary(buffer *b, int real_size, bool offsets)
{
    putf(b, "# vtk DataFile Version %s\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\n",
         offsets ? "5.1" : "2.0");
    putf(b, "POINTS 5 %s\n", real_size == 4 ? "float" : "double");
    for (int i = 0; i < 15; i++) put_real(b, corner_positions[i / 3][i % 3], real_size, true);
    if (offsets) {
        putf(b, "\nMETADATA\nINFORMATION 0\n\nCELLS 3 8\nOFFSETS vtktypeint64\n");
        for (int i = 0; i < 3; i++) put_int(b, (uint64_t)(4 * i), 8, true);
        putf(b, "\nCONNECTIVITY vtktypeint32\n");
        for (int i = 0; i < 8; i++) put_int(b, (uint64_t)two_tets[i / 4][i % 4], 4, true);
    } else {
        putf(b, "\nCELLS 2 10\n");
        for (int i = 0; i < 8; i++) {
            if (i % 4 == 0) put_int(b, 4, 4, true);
            put_int(b, (uint64_t)two_tets[i / 4][i % 4], 4, true);
        }
    }
    putf(b, "\nCELL_TYPES 2\n");
    put_int(b, 10, 4, true);
    put_int(b, 10, 4, true);
    putf(b, "\n");
}

static void binary_is_read(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        buffer b = {0};
        put_binary(&b, variant & 1 ? 8 : 4, variant & 2);
        hk_mesh *mesh = read_bytes(hk_vtk_format.read, b.data, b.size);
        check_two_tets(mesh);
        hk_mesh_free(mesh);
        cut_anywhere(hk_vtk_format.read, b.data, b.size, b.size - 1);
        read_without_memory(hk_vtk_format.read, b.data, b.size);
        drop(&b);
    }
}

static void offsets_are_read_from_text(void **state)
{
    (void)state;
    hk_mesh *mesh =
        read_text(hk_vtk_format.read,
                  "# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n" POINTS
                  "CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n"
                  "0 1 2 3 1 2 3 4\n" TYPES);
    check_two_tets(mesh);
    hk_mesh_free(mesh);
}

static void polygons_become_triangles(void **state)
{
    (void)state;
    hk_mesh *mesh = read_text(hk_vtk_format.read, HEAD("ASCII", "POLYDATA") POINTS
                              "LINES 1 3\n2 0 1\nPOLYGONS 2 9\n3 0 1 2\n4 0 1 4 2\n"
                              "TRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\n");
    const int32_t expected[6][3] = {{0, 1, 2}, {0, 1, 4}, {0, 4, 2},
                                    {0, 1, 2}, {2, 1, 3}, {2, 3, 4}};
    assert_int_equal(mesh->triangle_count, 6);
    assert_memory_equal(mesh->triangles, expected, sizeof expected);
    has_note(mesh, "2 polygons split");
    has_note(mesh, "left out: 1 polyline");
    hk_mesh_free(mesh);
}

static void other_cells_are_left_out_and_noted(void **state)
{
    (void)state;
    hk_mesh *mesh = read_text(hk_vtk_format.read, GRID POINTS
                              "CELLS 6 30\n4 0 1 2 3\n3 0 1 2\n4 0 1 2 3\n5 0 1 2 3 4\n2 0 1\n"
                              "6 0 1 2 3 4 0\nCELL_TYPES 6\n10 5 8 14 3 99\n");
    assert_int_equal(mesh->tet_count, 1);
    const int32_t expected[3][3] = {{0, 1, 2}, {0, 1, 3}, {0, 3, 2}};  // a pixel goes row by row
    assert_int_equal(mesh->triangle_count, 3);
    assert_memory_equal(mesh->triangles, expected, sizeof expected);
    has_note(mesh, "1 line, 1 pyramid, 1 cell of VTK type 99");
    hk_mesh_free(mesh);
}

static void integers_of_cells_become_groups(void **state)
{
    (void)state;
    static const char *const files[] = {
        GRID POINTS CELLS TYPES "POINT_DATA 5\nSCALARS h float 1\nLOOKUP_TABLE default\n"
                                "1 2 3 4 5\nVECTORS u float\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                "CELL_DATA 2\nSCALARS Region int\nLOOKUP_TABLE default\n7 -3\n",
        GRID POINTS CELLS TYPES "CELL_DATA 2\nFIELD FieldData 2\nweight 1 2 double\n1.5 2.5\n"
                                "gmsh:physical 1 2 int\n7 -3\n"};
    for (int i = 0; i < HK_COUNT_OF(files); i++) {
        hk_mesh *mesh = read_text(hk_vtk_format.read, files[i]);
        assert_int_equal(hk_mesh_group_count(mesh), 2);
        const hk_group *group = hk_mesh_find_group(mesh, "7");
        assert_non_null(group);
        assert_int_equal(group->dimension, 3);
        assert_int_equal(group->count, 1);
        assert_int_equal(group->items[0], 0);
        group = hk_mesh_find_group(mesh, "-3");
        assert_non_null(group);
        assert_int_equal(group->items[0], 1);
        has_note(mesh, i == 0 ? "2 arrays of point and cell data left out"
                              : "1 array of point and cell data left out");
        hk_mesh_free(mesh);
        read_without_memory(hk_vtk_format.read, files[i], strlen(files[i]));
    }
}

static void broken_data_do_not_spoil_the_mesh(void **state)
{
    (void)state;
    hk_mesh *mesh = read_text(hk_vtk_format.read, GRID POINTS CELLS TYPES
                              "CELL_DATA 2\nSCALARS region int\nLOOKUP_TABLE default\n7 x\n");
    check_two_tets(mesh);
    assert_int_equal(hk_mesh_group_count(mesh), 0);
    has_note(mesh, "data left out");
    has_note(mesh, "mesh:19");
    hk_mesh_free(mesh);
}

static void malformed_text_is_refused(void **state)
{
    (void)state;
    const bad_file files[] = {
        {"", "mesh:1: expected '# vtk DataFile Version"},
        {"solid", "not a VTK legacy file"},
        {"# vtk DataFile Version 3.0\nt\nBOTH\n",
         "mesh:3: expected ASCII or BINARY, found \"BOTH\""},
        {"# vtk DataFile Version 3.0\nt\n", "ASCII or BINARY"},
        {"# vtk DataFile Version 3.0\nt\nASCII\nPOINTS 3 float\n", "mesh:4: expected DATASET"},
        {HEAD("ASCII", "STRUCTURED_POINTS"), "found \"STRUCTURED_POINTS\""},
        {GRID, "expected POINTS before the end"},
        {GRID "JUNK 1 2\n", "mesh:5: expected POINTS, CELLS or CELL_TYPES, found \"JUNK\""},
        {GRID "POINTS x float\n", "mesh:5: expected the number of points"},
        {GRID "POINTS -3 float\n0 0 0\n", "must not be negative"},
        {GRID "POINTS 1000000000000000000 float\n0 0 0\n", "mesh:5: the number of points"},
        {GRID "POINTS 99999999999999999999999 float\n0 0 0\n", "mesh:5: "},
        {GRID "POINTS 1 quad\n0 0 0\n", "mesh:5: expected a data type"},
        {GRID "POINTS 2 float\n0 0 0\n1 1\n", "mesh:8: the file ends"},
        {GRID "POINTS 1 float\n0 0 zero\n", "mesh:6: expected a coordinate"},
        {GRID "POINTS 1 float\n0 0 nan\n", "mesh:6: expected a coordinate"},
        {GRID "POINTS 1 float\n0 inf 0\n", "mesh:6: expected a coordinate"},
        {GRID "POINTS 1 float\n0 1e999 0\n", "mesh:6: expected a coordinate"},
        {GRID POINTS POINTS, "mesh:11: a second POINTS"},
        {GRID CELLS TYPES, "mesh:5: expected POINTS before the cells"},
        {GRID POINTS, "expected CELLS before the end"},
        {GRID POINTS CELLS, "expected CELL_TYPES before the end"},
        {GRID POINTS TYPES, "mesh:11: expected CELLS before CELL_TYPES"},
        {GRID POINTS "CELLS 1 5\n4 0 1 2 5\nCELL_TYPES 1\n10\n",
         "mesh:12: vertex of a cell: expected 0 to 4, found 5"},
        {GRID POINTS "CELLS 1 5\n4 0 1 2 -1\nCELL_TYPES 1\n10\n", "found -1"},
        {GRID POINTS "CELLS 1 5\n4 0 1 2.5 3\nCELL_TYPES 1\n10\n",
         "mesh:12: expected vertex of a cell"},
        {GRID POINTS "CELLS 1 5\n9 0 1 2 3\nCELL_TYPES 1\n10\n", "mesh:12: cell 0 has 9 corners"},
        {GRID POINTS "CELLS 1 9\n4 0 1 2 3\nCELL_TYPES 1\n10\n",
         "mesh:12: the cells end after 5 numbers, but 9"},
        {GRID POINTS "CELLS 8 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n",
         "8 cells cannot be told by 5 numbers"},
        {GRID POINTS "CELLS 1 5\n-4 0 1 2 3\nCELL_TYPES 1\n10\n", "corners of a cell"},
        {GRID POINTS CELLS "CELL_TYPES 3\n10 10 10\n", "mesh:14: expected 2 cell types"},
        {GRID POINTS CELLS "CELL_TYPES 2\n10 300\n",
         "type of a cell: expected 0 to 255, found 300"},
        {GRID POINTS CELLS "CELL_TYPES 2\n10 5\n",
         "mesh:11: cell 1 of this section is a triangle of 4 corners"},
        {GRID POINTS "CELLS 0 0\nCELL_TYPES 0\n",
         "expected tets, triangles or lines, found no cells"},
        {GRID POINTS "CELLS 1 9\n8 0 1 2 3 0 1 2 3\nCELL_TYPES 1\n12\n", "found only 1 hexahedron"},
        {GRID POINTS "CELLS 3 8\nOFFSETS vtktypeint64\n0 8 4\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 "
                     "2 3 4\n" TYPES,
         "offset 2 is smaller"},
        {GRID POINTS "CELLS 3 8\nOFFSETS vtktypeint64\n0 4 9\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 "
                     "2 3 4\n" TYPES,
         "expected 0 to 8, found 9"},
        {GRID POINTS "CELLS 3 8\nOFFSETS vtktypeint64\n1 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 "
                     "2 3 4\n" TYPES,
         "expected offsets from 0 to 8"},
        {GRID POINTS "CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n0 1 2 3\n", "expected CONNECTIVITY"},
        {HEAD("ASCII", "POLYDATA") POINTS CELLS, "mesh:11: expected POINTS, POLYGONS"},
        {HEAD("ASCII", "POLYDATA") POINTS "POLYGONS 1 3\n2 0 1\n",
         "expected tets, triangles or lines, found 1 polygon"},
    };
    all_fail(hk_vtk_format.read, files, HK_COUNT_OF(files));
    static const char whole[] = GRID POINTS CELLS TYPES;
    cut_anywhere(hk_vtk_format.read, whole, strlen(whole), strlen(whole) - 2);
    read_without_memory(hk_vtk_format.read, whole, strlen(whole));
}

static void malformed_bytes_are_refused(void **state)
{
    (void)state;
    buffer b = {0};
    putf(&b, "%sPOINTS 1 float\n", HEAD("BINARY", "UNSTRUCTURED_GRID"));
    size_t begin = b.size;
    put_real(&b, 0, 4, true);
    put_int(&b, 0x7fc00000, 4, true);  // NaN
    put_real(&b, 0, 4, true);
    char place[64];
    snprintf(place, sizeof place, "mesh: byte %zu: expected a finite number", begin + 4);
    read_fails(hk_vtk_format.read, b.data, b.size, place);
    drop(&b);
    putf(&b, "%sPOINTS 1000 double\nxxxxxxxxxxxxxxxx", HEAD("BINARY", "UNSTRUCTURED_GRID"));
    read_fails(hk_vtk_format.read, b.data, b.size, "mesh:5: the number of points is 1000");
    drop(&b);
    putf(&b, "%sPOINTS 2 double\nxxxxxxxxxxxxxxxx", HEAD("BINARY", "UNSTRUCTURED_GRID"));
    read_fails(hk_vtk_format.read, b.data, b.size, "expected 6 numbers of 8 bytes");
    drop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read),
        cmocka_unit_test(binary_is_read),
        cmocka_unit_test(offsets_are_read_from_text),
        cmocka_unit_test(polygons_become_triangles),
        cmocka_unit_test(other_cells_are_left_out_and_noted),
        cmocka_unit_test(integers_of_cells_become_groups),
        cmocka_unit_test(broken_data_do_not_spoil_the_mesh),
        cmocka_unit_test(malformed_text_is_refused),
        cmocka_unit_test(malformed_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
