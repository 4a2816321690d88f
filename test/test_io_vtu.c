// VTK XML files: every way to store an array, what is written comes back, and what is refused.
#include "mesh_file_checks.h"

// ---------------------------------------------------------------- a writer of every variant

typedef enum storage { ASCII = 0, INLINE, INLINE_HEADER_APART, RAW, ENCODED, STORAGES } storage;

typedef struct variant {
    storage where;
    bool big_endian, compressed;
    int header;  // bytes
} variant;

// A zlib stream that stores its data as they are.
static void put_zlib(buffer *b, const char *data, size_t size)
{
    put(b, "\x78\x01\x01", 3);
    put_int(b, size, 2, false);
    put_int(b, ~(uint64_t)size, 2, false);
    put(b, data, size);
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < size; i++) {
        low = (low + (unsigned char)data[i]) % 65521;
        high = (high + low) % 65521;
    }
    put_int(b, (uint64_t)high << 16 | low, 4, true);
}

// Header and body of one array, as they are before any encoding.
static void pack(const variant *v, const buffer *numbers, buffer *header, buffer *body)
{
    if (!v->compressed) {
        put_int(header, numbers->size, v->header, v->big_endian);
        put(body, numbers->data, numbers->size);
        return;
    }
    const size_t block = 16;
    size_t count = (numbers->size + block - 1) / block;
    put_int(header, count, v->header, v->big_endian);
    put_int(header, block, v->header, v->big_endian);
    put_int(header, numbers->size % block, v->header, v->big_endian);
    for (size_t i = 0; i < count; i++) {
        size_t before = body->size, left = numbers->size - i * block;
        put_zlib(body, numbers->data + i * block, left < block ? left : block);
        put_int(header, body->size - before, v->header, v->big_endian);
    }
}

typedef struct array {
    const char *type, *name;
    int components, size, count;
    bool real;
} array;

static double number_of(int which, int i)
{
    const int32_t ends[] = {4, 8}, types[] = {10, 10}, regions[] = {3, -4};
    switch (which) {
    case 0: return two_positions[i / 3][i % 3];
    case 1: return two_tets[i / 4][i % 4];
    case 2: return ends[i];
    case 3: return types[i];
    default: return regions[i];
    }
}

static const array arrays[] = {{"Float64", "Points", 3, 8, 15, true},
                               {"Int64", "connectivity", 1, 8, 8, false},
                               {"Int32", "offsets", 1, 4, 2, false},
                               {"UInt8", "types", 1, 1, 2, false},
                               {"Int16", "region", 1, 2, 2, false}};

static void put_array(const variant *v, int which, buffer *b, buffer *appended)
{
    const array *a = &arrays[which];
    static const char *const formats[] = {"ascii", "binary", "binary", "appended", "appended"};
    putf(b, "<DataArray type=\"%s\" Name='%s' NumberOfComponents=\"%d\" format=\"%s\"", a->type,
         a->name, a->components, formats[v->where]);
    buffer numbers = {0}, header = {0}, body = {0};
    for (int i = 0; i < a->count; i++) {
        double value = number_of(which, i);
        if (v->where == ASCII)
            putf(&numbers, i % 6 == 5 ? "%.17g\n" : "%.17g ", value);
        else if (a->real)
            put_real(&numbers, value, a->size, v->big_endian);
        else
            put_int(&numbers, (uint64_t)(int64_t)value, a->size, v->big_endian);
    }
    if (v->where != ASCII) pack(v, &numbers, &header, &body);
    if (v->where == RAW || v->where == ENCODED)
        putf(b, " offset=\"%zu\"/>\n", appended->size);
    else
        putf(b, ">\n");
    buffer *target = v->where == RAW || v->where == ENCODED ? appended : b;
    if (v->where == ASCII) {
        put(b, numbers.data, numbers.size);
    } else if (v->where == RAW) {
        put(target, header.data, header.size);
        put(target, body.data, body.size);
    } else if (v->compressed || v->where == INLINE_HEADER_APART) {
        put_base64(target, header.data, header.size);
        put_base64(target, body.data, body.size);
    } else {
        put(&header, body.data, body.size);
        put_base64(target, header.data, header.size);
    }
    // ParaView writes such things after the numbers.
    if (target == b)
        putf(b, "\n<InformationKey name=\"L2_NORM_RANGE\"><Value index=\"0\">\n7\n</Value>"
                "</InformationKey></DataArray>\n");
    drop(&numbers);
    drop(&header);
    drop(&body);
}

static buffer vtu_of(const variant *v)
{
    buffer b = {0}, appended = {0};
    putf(&b,
         "<?xml version=\"1.0\"?>\n<!-- <VTKFile> -->\n<VTKFile type=\"UnstructuredGrid\" "
         "version=\"1.0\" byte_order=\"%s\" header_type=\"UInt%d\"%s>\n<UnstructuredGrid>\n"
         "<FieldData><DataArray type=\"String\" Name=\"s\">1 2</DataArray></FieldData>\n"
         "<Piece NumberOfPoints=\"5\" NumberOfCells=\"2\">\n<PointData>\n"
         "<DataArray type=\"Float32\" Name=\"h\" format=\"ascii\">1 2 3 4 5</DataArray>\n"
         "</PointData>\n<CellData>\n",
         v->big_endian ? "BigEndian" : "LittleEndian", 8 * v->header,
         v->compressed ? " compressor=\"vtkZLibDataCompressor\"" : "");
    put_array(v, 4, &b, &appended);
    putf(&b, "</CellData>\n<Points>\n");
    put_array(v, 0, &b, &appended);
    putf(&b, "</Points>\n<Cells>\n");
    for (int i = 1; i < 4; i++) put_array(v, i, &b, &appended);
    putf(&b, "</Cells>\n</Piece>\n</UnstructuredGrid>\n");
    if (appended.size) {
        putf(&b, "<AppendedData encoding=\"%s\">\n  _", v->where == RAW ? "raw" : "base64");
        put(&b, appended.data, appended.size);
        putf(&b, "\n</AppendedData>\n");
    }
    putf(&b, "</VTKFile>\n");
    drop(&appended);
    return b;
}

static void every_variant_is_read(void **state)
{
    (void)state;
    int read = 0;
    for (int i = 0; i < 8 * STORAGES; i++) {
        variant v = {(storage)(i / 8), i & 1, i & 2, i & 4 ? 8 : 4};
        if (v.where == ASCII && i % 8) continue;
        if (v.where == INLINE_HEADER_APART && v.compressed) continue;
        buffer b = vtu_of(&v);
        hk_mesh *mesh = read_bytes(hk_vtu_format.read, b.data, b.size);
        assert_int_equal(mesh->vertex_count, 5);
        assert_int_equal(mesh->tet_count, 2);
        assert_int_equal(mesh->triangle_count, 0);
        assert_memory_equal(mesh->positions, two_positions, sizeof two_positions);
        assert_memory_equal(mesh->tets, two_tets, sizeof two_tets);
        assert_int_equal(hk_mesh_note_count(mesh), 0);
        assert_int_equal(hk_mesh_group_count(mesh), 2);
        const hk_group *group = hk_mesh_find_group(mesh, "-4");
        assert_non_null(group);
        assert_int_equal(group->count, 1);
        assert_int_equal(group->items[0], 1);
        hk_mesh_free(mesh);
        cut_anywhere(hk_vtu_format.read, b.data, b.size, v.where < RAW ? b.size - 1 : b.size / 2);
        read_without_memory(hk_vtu_format.read, b.data, b.size);
        drop(&b);
        read++;
    }
    assert_int_equal(read, 1 + 8 + 4 + 8 + 8);
}

static void damage_is_noticed_or_harmless(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        variant v = {RAW, false, i, 4};
        buffer b = vtu_of(&v);
        for (size_t at = 0; at < b.size; at++) {
            char before = b.data[at];
            b.data[at] = (char)~before;
            hk_mesh *mesh = NULL;
            if (hk_vtu_format.read("mesh", b.data, b.size, &mesh) == HK_OK) {
                assert_int_equal(hk_mesh_finish(mesh, "mesh"), HK_OK);
                hk_mesh_free(mesh);
            }
            b.data[at] = before;
        }
        drop(&b);
    }
}

// ---------------------------------------------------------------- pieces, triangles

#define FILE_(attributes, pieces)                                                   \
    "<VTKFile type=\"UnstructuredGrid\" " attributes "><UnstructuredGrid>\n" pieces \
    "</UnstructuredGrid></VTKFile>\n"
#define PIECE(points, cells, position, connectivity, offsets, types)                         \
    "<Piece NumberOfPoints=\"" points "\" NumberOfCells=\"" cells "\">\n<Points><DataArray " \
    "type=\"Float32\" NumberOfComponents=\"3\" format=\"ascii\">\n" position                 \
    "</DataArray></Points>\n<Cells>\n<DataArray type=\"Int32\" "                             \
    "Name=\"connectivity\">" connectivity                                                    \
    "</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\">" offsets                      \
    "</DataArray>\n<DataArray type=\"UInt8\" Name=\"types\">" types                          \
    "</DataArray>\n</Cells></Piece>\n"
#define FOUR "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"

static void pieces_are_joined(void **state)
{
    (void)state;
    hk_mesh *mesh = read_text(
        hk_vtu_format.read,
        FILE_("", PIECE("4", "1", FOUR, "0 1 2 3", "4", "10") PIECE("0", "0", "", "", "", "")
                      PIECE("4", "3", FOUR, "0 1 2 3  0 1 2  0 1", "4 7 9", "10 5 3")));
    const int32_t tets[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}}, triangle[3] = {4, 5, 6};
    assert_int_equal(mesh->vertex_count, 8);
    assert_int_equal(mesh->tet_count, 2);
    assert_memory_equal(mesh->tets, tets, sizeof tets);
    assert_int_equal(mesh->triangle_count, 1);
    assert_memory_equal(mesh->triangles, triangle, sizeof triangle);
    has_note(mesh, "left out: 1 line");
    hk_mesh_free(mesh);
}

static void malformed_files_are_refused(void **state)
{
    (void)state;
#define ONE(position, connectivity, offsets, types) \
    FILE_("", PIECE("4", "1", position, connectivity, offsets, types))
#define RAW_FILE(array, appended)                                                          \
    "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt32\"><UnstructuredGrid>"         \
    "<Piece NumberOfPoints=\"1\" NumberOfCells=\"0\"><Points><DataArray type=\"Float32\" " \
    "NumberOfComponents=\"3\" " array "</Points></Piece></UnstructuredGrid>\n" appended
    const bad_file files[] = {
        {"", "mesh:1: expected <VTKFile>"},
        {"just text\n", "expected <VTKFile>"},
        {"<html>\n", "mesh:1: expected <VTKFile>, found <html>"},
        {"<VTKFile type=\"PolyData\">", "expected type=\"UnstructuredGrid\", found \"PolyData\""},
        {"<VTKFile>", "expected type=\"UnstructuredGrid\""},
        {"<VTKFile type=\"UnstructuredGrid\" byte_order=\"Middle\">",
         "byte_order, found \"Middle\""},
        {"<VTKFile type=\"UnstructuredGrid\" header_type=\"Int8\">", "header_type, found \"Int8\""},
        {"<VTKFile type=\"UnstructuredGrid\">\n", "mesh:2: the file ends where </VTKFile>"},
        {"<VTKFile type=\"UnstructuredGrid", "the value of \"type\" has no closing quote"},
        {"<VTKFile type=UnstructuredGrid>", "expected the value of \"type\" in quotes"},
        {"<VTKFile type>", "expected '=' after the attribute \"type\""},
        {"<VTKFile ?>", "expected an attribute or '>', found \"?\""},
        {"<!-- no end", "mesh:1: expected '-->' to end a comment"},
        {"<VTKFile type=\"UnstructuredGrid\">\n</Piece>",
         "mesh:2: expected </VTKFile>, found </Piece>"},
        {"<VTKFile type=\"UnstructuredGrid\"/>", "expected a <Piece>"},
        {FILE_("", "<Piece NumberOfCells=\"1\"/>"),
         "mesh:2: expected the attribute NumberOfPoints"},
        {FILE_("", "<Piece NumberOfPoints=\"many\" NumberOfCells=\"1\"/>"),
         "whole number as NumberOfPoints"},
        {FILE_("", "<Piece NumberOfPoints=\"-1\" NumberOfCells=\"1\"/>"),
         "whole number as NumberOfPoints"},
        {FILE_("", "<Piece NumberOfPoints=\"1000000000000000000\" NumberOfCells=\"1\"/>"),
         "mesh:2: more than"},
        {FILE_("", "<Piece NumberOfPoints=\"1000000000\" NumberOfCells=\"1\"/>"),
         "more than a file of"},
        {FILE_("", "<Piece NumberOfPoints=\"4\" NumberOfCells=\"1\"/>"),
         "expected the array of <Points>"},
        {ONE("0 0 0 1 0 0 0 1 0 0 0", "0 1 2 3", "4", "10"), "the file ends where a coordinate"},
        {ONE("0 0 0 1 0 0 0 1 0 0 0 1 1", "0 1 2 3", "4", "10"),
         "points: expected 12 numbers, found more"},
        {ONE("0 0 0\n1 0 nan\n0 1 0 0 0 1", "0 1 2 3", "4", "10"), "mesh:5: expected a coordinate"},
        {ONE(FOUR, "0 1 2 4", "4", "10"), "mesh:10: connectivity: expected 0 to 3, found 4"},
        {ONE(FOUR, "0 1 2 -1", "4", "10"), "found -1"},
        {ONE(FOUR, "0 1 2", "4", "10"), "expected 4 numbers (connectivity), but only"},
        {ONE(FOUR, "0 1 2 3", "4 5", "10"), "offsets: expected 1 numbers, found more"},
        {ONE(FOUR, "0 1 2 3", "1000000", "10"), "expected 1000000 numbers (connectivity)"},
        {ONE(FOUR, "0 1 2", "3", "10"), "cell 0 is a tet of 3 corners, expected 4"},
        {ONE(FOUR, "0 1 2 3", "4", "1000"), "types: expected 0 to 255, found 1000"},
        {ONE(FOUR, "0", "1", "1"), "expected tets, triangles or lines, found 1 point"},
        {ONE(FOUR, "0 1 2 3 0", "5", "14"), "found only 1 pyramid"},
        {FILE_("", PIECE("4", "2", FOUR, "0 1 2 3 0 1 2 3", "8 4", "10 10")),
         "offset 1 is smaller"},
        {RAW_FILE("format=\"zip\"/>", "</VTKFile>"), "as format, found \"zip\""},
        {RAW_FILE("format=\"appended\"/>", "</VTKFile>"), "expected the attribute offset"},
        {RAW_FILE("format=\"appended\" offset=\"0\"/>", "</VTKFile>"),
         "the file has no <AppendedData>"},
        {RAW_FILE("format=\"appended\" offset=\"99\"/>", "<AppendedData encoding=\"raw\">_x"),
         "begins at offset 99"},
        {RAW_FILE("format=\"appended\" offset=\"0\"/>", "<AppendedData encoding=\"raw\">x"),
         "mesh:2: expected '_'"},
        {RAW_FILE("format=\"appended\" offset=\"0\"/>", "<AppendedData>_x"),
         "expected raw or base64"},
        {RAW_FILE("format=\"appended\" offset=\"0\"/>", "<AppendedData encoding=\"raw\">_xyz"),
         "mesh: byte 270: points: expected the size"},
        {RAW_FILE("format=\"appended\" offset=\"0\"/>", "<AppendedData encoding=\"raw\">_abcdefgh"),
         "expected 12 bytes, the header says 1684234849"},
        {RAW_FILE("format=\"binary\">DAAAAAAA</DataArray>", "</VTKFile>"),
         "the data are cut short"},
        {RAW_FILE("format=\"binary\">DAAAAAAAAAAAAAAA*AAAAAAA</DataArray>", "</VTKFile>"),
         "mesh:1: points: expected base64"},
        {RAW_FILE("format=\"binary\">DAAAAAAAwH8AAAAAAAAAAA==</DataArray>", "</VTKFile>"),
         "found NaN as number 0"},
        {"<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkLZ4DataCompressor\"><UnstructuredGrid>"
         "<Piece NumberOfPoints=\"1\" NumberOfCells=\"0\"><Points><DataArray type=\"Float32\" "
         "NumberOfComponents=\"3\" format=\"binary\">DAAAAAAA</DataArray></Points></Piece>"
         "</UnstructuredGrid></VTKFile>",
         "compressed by vtkLZ4DataCompressor cannot be read: save"},
    };
    all_fail(hk_vtu_format.read, files, HK_COUNT_OF(files));
}

static void a_wrong_checksum_is_refused(void **state)
{
    (void)state;
    variant v = {RAW, false, true, 4};
    buffer b = vtu_of(&v);
    const char *stream = NULL;  // the first zlib stream: its two bytes of data end at 5 + 2 + 2 + 2
    for (size_t i = 0; i + 2 < b.size && !stream; i++)
        if (memcmp(b.data + i, "\x78\x01\x01", 3) == 0) stream = b.data + i;
    assert_non_null(stream);
    size_t at = (size_t)(stream - b.data);
    char stored[] = "mesh: byte";
    b.data[at + 8] ^= 1;
    // Regions are not needed, so damage there costs only the groups.
    hk_mesh *mesh = read_bytes(hk_vtu_format.read, b.data, b.size);
    assert_int_equal(hk_mesh_group_count(mesh), 0);
    hk_mesh_free(mesh);
    for (at += 3; memcmp(b.data + at, "\x78\x01\x01", 3) != 0; at++) {
    }
    b.data[at + 8] ^= 1;
    read_fails(hk_vtu_format.read, b.data, b.size, "the checksum is wrong");
    read_fails(hk_vtu_format.read, b.data, b.size, stored);
    drop(&b);
}

// ---------------------------------------------------------------- writing

static const double heights[5] = {1.5, -2, 3.25, 1.0 / 3, 5};
static const double motions[5][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1e-300, 0, 0}, {0, 0, -1}};
static const double stresses[2] = {1e6, 2e6};
static const hk_field all_fields[] = {{"height", HK_ON_VERTICES, 1, heights},
                                      {"u <\"&'>", HK_ON_VERTICES, 3, motions[0]},
                                      {"von_mises", HK_ON_TETS, 1, stresses}};

// Where the numbers of the array with this attribute begin in a file that Hooke wrote.
static const char *numbers_of(const hk_bytes *bytes, const char *name, uint64_t expected_size)
{
    const char *at = strstr(bytes->data, name);
    assert_non_null(at);
    const char *offset = strstr(at, "offset=\"");
    const char *line_end = strchr(at, '\n');
    assert_non_null(offset);
    assert_true(offset < line_end);
    const char *appended = strstr(bytes->data, "<AppendedData encoding=\"raw\">\n_");
    assert_non_null(appended);
    const char *begin = strchr(appended, '_') + 1 + strtoull(offset + 8, NULL, 10);
    uint64_t size;
    assert_true(begin + sizeof size + expected_size < bytes->data + bytes->size);
    memcpy(&size, begin, sizeof size);
    assert_int_equal(size, expected_size);
    return begin + sizeof size;
}

static void tets_and_fields_come_back(void **state)
{
    (void)state;
    char *path = temporary_path("two.vtu");
    hk_mesh *mesh = two_tet_mesh();
    hk_group *group;
    assert_int_equal(hk_mesh_add_group(mesh, "bone & <flesh>", 3, 1, &group), HK_OK);
    group->items[0] = 1;
    assert_int_equal(hk_mesh_add_group(mesh, "pins", 0, 2, &group), HK_OK);
    group->items[0] = 0;
    group->items[1] = 4;
    save_mesh(mesh, path, all_fields, 3);
    hk_mesh *back = load_mesh(path);
    same_geometry(mesh, back);
    assert_int_equal(hk_mesh_note_count(back), 0);
    assert_int_equal(hk_mesh_group_count(back), 2);
    const hk_group *found = hk_mesh_find_group(back, "bone & <flesh>");
    assert_non_null(found);
    assert_int_equal(found->dimension, 3);
    assert_int_equal(found->count, 1);
    assert_int_equal(found->items[0], 1);
    found = hk_mesh_find_group(back, "pins");
    assert_non_null(found);
    assert_int_equal(found->dimension, 0);
    assert_int_equal(found->count, 2);
    assert_int_equal(found->items[1], 4);

    assert_int_equal(hk_mesh_field_count(back), 3);
    for (int k = 0; k < 3; k++) {
        hk_field field = hk_mesh_field(back, k);
        int sites = field.site == HK_ON_TETS ? 2 : 5;
        assert_string_equal(field.name, all_fields[k].name);
        assert_int_equal(field.site, all_fields[k].site);
        assert_int_equal(field.components, all_fields[k].components);
        assert_memory_equal(field.values, all_fields[k].values,
                            sizeof(double) * (size_t)(sites * field.components));
    }
    assert_null(hk_mesh_field(back, 3).name);

    hk_bytes bytes = load_file(path);
    assert_memory_equal(numbers_of(&bytes, "Name=\"height\"", sizeof heights), heights,
                        sizeof heights);
    assert_memory_equal(numbers_of(&bytes, "Name=\"u &lt;&quot;&amp;&apos;&gt;\"", sizeof motions),
                        motions, sizeof motions);
    assert_memory_equal(numbers_of(&bytes, "Name=\"von_mises\"", sizeof stresses), stresses,
                        sizeof stresses);
    assert_non_null(strstr(bytes.data, "<CellData Scalars=\"von_mises\">"));
    hk_bytes_free(&bytes);
    hk_mesh_free(back);
    unlink(path);
    save_without_memory(mesh, path, all_fields, 3);
    hk_mesh_free(mesh);
    remove_path(path);
}

static void a_surface_is_written_as_triangles(void **state)
{
    (void)state;
    char *path = temporary_path("deep.VTU");
    hk_mesh *mesh = surface_mesh();
    save_mesh(mesh, path, all_fields, 2);
    hk_mesh *back = load_mesh(path);
    same_geometry(mesh, back);
    hk_mesh_free(back);
    hk_mesh_free(mesh);
    remove_path(path);
}

static void tets_are_written_without_their_surface(void **state)
{
    (void)state;
    char *path = temporary_path("both.vtu");
    hk_mesh *mesh = NULL;
    assert_int_equal(
        hk_mesh_from_arrays(5, two_positions[0], 2, two_tets[0], 4, two_triangles[0], &mesh),
        HK_OK);
    save_mesh(mesh, path, NULL, 0);
    hk_mesh *back = load_mesh(path);
    assert_int_equal(back->tet_count, 2);
    assert_int_equal(back->triangle_count, 0);
    hk_mesh_free(back);
    hk_mesh_free(mesh);
    remove_path(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_is_read),
        cmocka_unit_test(damage_is_noticed_or_harmless),
        cmocka_unit_test(pieces_are_joined),
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(a_wrong_checksum_is_refused),
        cmocka_unit_test(tets_and_fields_come_back),
        cmocka_unit_test(a_surface_is_written_as_triangles),
        cmocka_unit_test(tets_are_written_without_their_surface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
