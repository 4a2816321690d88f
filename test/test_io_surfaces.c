// Surface formats: .obj, .stl, .ply. Every variant is read, what is written comes back, and what
// is malformed is refused with a message.
#include <math.h>

#include "mesh_file_checks.h"

// ---------------------------------------------------------------- obj

static void obj_statements_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "# a comment\r\nmtllib a.mtl\no thing\nv 0 0 0\nv 1 0 0 1.0\r\nv 0 1.5e0 \\\n 0\nvt 0 0\n"
        "vn 0 0 1 \\\n v\nv -1 -1 -1 0.5 0.5 0.5 # colour\n\nusemtl C:\\a\\ b\ns off\n"
        "f 1 2 3\nf 1/1 2/1 3/1\nf 1//1 2//1 3//1\nf 1/1/1 2/1/1 3/1/1 4/1/1\nf -4 -3 -1\n"
        "f 1 \\\n2 3\\\n 4 \\\r\n\nf 1 2 5\nv 7 7 7\nl 1 2\n";
    hk_mesh *mesh = read_text(hk_obj_format.read, text);
    const double positions[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1.5, 0}, {-1, -1, -1}, {7, 7, 7}};
    const int32_t triangles[9][3] = {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 2, 3},
                                     {0, 1, 3}, {0, 1, 2}, {0, 2, 3}, {0, 1, 4}};
    assert_int_equal(mesh->vertex_count, 5);
    assert_memory_equal(mesh->positions, positions, sizeof positions);
    assert_int_equal(mesh->triangle_count, 9);
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    assert_int_equal(hk_mesh_note_count(mesh), 2);
    has_note(mesh, "2 polygons split into triangles");
    has_note(mesh, "left out: 1 points, lines");
    hk_mesh_free(mesh);
    cut_anywhere(hk_obj_format.read, text, strlen(text), 60);
    read_without_memory(hk_obj_format.read, text, strlen(text));
}

static void malformed_obj_is_refused(void **state)
{
    (void)state;
#define V "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    const bad_file files[] = {
        {"", "mesh:1: expected faces"},
        {V, "mesh:4: expected faces"},
        {"\x7f"
         "ELF\x02\x01\n",
         "mesh:1: expected a statement of .obj, found \"?ELF??\""},
        {"v 0 0\nf 1 1 1\n", "mesh:1: expected z of a vertex, found the end of the line"},
        {"v 0 0 a\n", "mesh:1: expected z of a vertex"},
        {"v 0 nan 0\n", "mesh:1: expected y of a vertex"},
        {"v inf 0 0\n", "mesh:1: expected x of a vertex"},
        {V "f 1 2\n", "mesh:4: expected at least 3 corners of a face, found 2"},
        {V "f\n", "found 0"},
        {V "f 1 2 x\n", "mesh:4: expected a corner of a face (v, v/vt or v/vt/vn), found \"x\""},
        {V "f 1 2 3a\n", "found \"3a\""},
        {V "f 1 2 /3\n", "found \"/3\""},
        {V "f 1.5 2 3\n", "found \"1.5\""},
        {V "f 1 2 -\n", "found \"-\""},
        {V "f 0 1 2\n", "mesh:4: a corner of a face is vertex 0, but they count from 1"},
        {V "f 1 2 4\n", "mesh:4: a corner of a face is vertex 4, but the file has 3 vertices"},
        {V "f 1 2 -4\n", "mesh:4: a corner of a face is vertex -4, but only 3"},
        {V "f 1 2 1000000000000000000000\n", "mesh:4: a corner of a face is vertex"},
        {V "f 1 2 -99999999999999999999999\n", "mesh:4: a corner of a face is vertex"},
    };
    all_fail(hk_obj_format.read, files, HK_COUNT_OF(files));
    hk_mesh *mesh = read_text(hk_obj_format.read, V "f 1 2 3\nzebra 1\nf 1 2 3");
    has_note(mesh, "1 line passed over that .obj does not know (\"zebra\" in line 5 first)");
    assert_int_equal(mesh->triangle_count, 2);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- stl

#define LOOP(a, b, c)                                                             \
    "facet normal nan 0 0\n outer loop\n vertex " a "\n vertex " b "\n vertex " c \
    "\n endloop\nendfacet\n"

static void stl_text_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "solid a b c\n" LOOP("0 0 0", "1 0 0", "0 1 0") LOOP("-0 0 0", "0 1 0", "0 0 1.0")
            LOOP("0 0 0", "0 0 0", "1 0 0") "endsolid a b c\nSOLID second\r\n" LOOP(
                "1 0 0", "0 1 0", "0 0 1") "ENDSOLID";
    hk_mesh *mesh = read_text(hk_stl_format.read, text);
    const int32_t triangles[3][3] = {{0, 1, 2}, {0, 2, 3}, {1, 2, 3}};
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->triangle_count, 3);
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    has_note(mesh, "left out: 1 triangle whose corners coincide");
    hk_mesh_free(mesh);
    cut_anywhere(hk_stl_format.read, text, strlen(text), 200);
    read_without_memory(hk_stl_format.read, text, strlen(text));
}

static void put_stl(buffer *b, const char *header, uint32_t announced, int triangles)
{
    char head[80] = {0};
    snprintf(head, sizeof head, "%s", header);
    put(b, head, sizeof head);
    put_int(b, announced, 4, false);
    for (int i = 0; i < triangles; i++) {
        for (int k = 0; k < 3; k++) put_int(b, 0x7fc00000, 4, false);  // a normal of NaN
        for (int k = 0; k < 9; k++)
            put_real(b, two_positions[two_triangles[i % 4][k / 3]][k % 3], 4, false);
        put_int(b, 0xffff, 2, false);
    }
}

static void stl_bytes_are_read(void **state)
{
    (void)state;
    static const char *const headers[] = {"binary", "solid in spite of being binary"};
    for (int i = 0; i < 2; i++) {
        buffer b = {0};
        put_stl(&b, headers[i], 4, 4);
        hk_mesh *mesh = read_bytes(hk_stl_format.read, b.data, b.size);
        assert_int_equal(mesh->vertex_count, 4);
        assert_int_equal(mesh->triangle_count, 4);
        assert_true(mesh->positions[3 * 3 + 2] == (double)(float)(1.0 / 3));
        assert_int_equal(hk_mesh_note_count(mesh), 0);
        hk_mesh_free(mesh);
        cut_anywhere(hk_stl_format.read, b.data, b.size, b.size);
        read_without_memory(hk_stl_format.read, b.data, b.size);
        put(&b, "tail", 4);
        mesh = read_bytes(hk_stl_format.read, b.data, b.size);
        has_note(mesh, "4 bytes after the last triangle");
        hk_mesh_free(mesh);
        drop(&b);
    }
}

static void many_vertices_are_merged(void **state)
{
    (void)state;
    enum { SIDE = 60 };
    buffer b = {0};
    char head[80] = "grid";
    put(&b, head, sizeof head);
    put_int(&b, 2 * SIDE * SIDE, 4, false);
    for (int i = 0; i < 2 * SIDE * SIDE; i++) {
        int x = i / 2 % SIDE, y = i / 2 / SIDE;
        const int corners[2][3][2] = {{{0, 0}, {1, 0}, {1, 1}}, {{0, 0}, {1, 1}, {0, 1}}};
        for (int k = 0; k < 3; k++) put_real(&b, 0, 4, false);
        for (int k = 0; k < 3; k++) {
            put_real(&b, 0.1 * (x + corners[i & 1][k][0]), 4, false);
            put_real(&b, -0.1 * (y + corners[i & 1][k][1]), 4, false);
            put_real(&b, 0, 4, false);
        }
        put_int(&b, 0, 2, false);
    }
    hk_mesh *mesh = read_bytes(hk_stl_format.read, b.data, b.size);
    assert_int_equal(mesh->vertex_count, (SIDE + 1) * (SIDE + 1));
    assert_int_equal(mesh->triangle_count, 2 * SIDE * SIDE);
    hk_mesh_free(mesh);
    drop(&b);
}

static void malformed_stl_is_refused(void **state)
{
    (void)state;
    const bad_file files[] = {
        {"", "mesh: byte 0: the file ends within the header"},
        {"solid\n", "mesh:2: the file ends where endsolid was expected"},
        {"solid\nendsolid\n", "mesh: expected triangles, found none"},
        {"solid\nfacet\nouter loop\nvertex 0 0 x\n", "mesh:4: expected a coordinate"},
        {"solid\nfacet\nouter loop\nvertex 0 0 inf\n", "mesh:4: expected a coordinate"},
        {"solid\nfacet\nouter loop\nvertex 0 0 0\nendloop\n",
         "mesh:5: expected vertex, found \"endloop\""},
        {"solid\nfacet\ninner loop\n", "mesh:3: expected outer, found \"inner\""},
        {"solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nvertex 1 1 1\n",
         "mesh:7: expected endloop"},
        {"solid\nouter\n", "mesh:2: expected facet or endsolid, found \"outer\""},
        {"solid\nendsolid\nmore\n", "mesh:3: expected solid, found \"more\""},
        {"solid\n" LOOP("0 0 0", "0 0 0", "0 0 0") "endsolid", "only some whose corners coincide"},
        {"this is neither a text nor a binary STL file, but it is long enough to hold the header "
         "of one",
         "mesh: byte 80: "},
    };
    all_fail(hk_stl_format.read, files, HK_COUNT_OF(files));
    buffer b = {0};
    put_stl(&b, "x", 0xffffffff, 2);
    read_fails(hk_stl_format.read, b.data, b.size,
               "byte 80: 4294967295 triangles need 214748364834 bytes");
    drop(&b);
    put_stl(&b, "x", 2, 2);
    memcpy(b.data + 84 + 50 + 12 + 4, "\0\0\x80\x7f", 4);  // infinity
    read_fails(hk_stl_format.read, b.data, b.size, "byte 150: expected a finite number");
    drop(&b);
}

// ---------------------------------------------------------------- ply

static const char ply_head[] =
    "ply\nformat %s 1.0\ncomment element vertex 9\nobj_info x\nelement material 0\n"
    "property int a\nelement vertex 4\nproperty uchar red\nproperty %s z\nproperty float32 x\n"
    "property list uchar short extra\nproperty double y\nelement face 3\nproperty float quality\n"
    "property list uint8 %s vertex_%s\nelement edge 2\nproperty int a\nend_header\n";

static void check_ply(hk_mesh *mesh)
{
    const double positions[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int32_t triangles[3][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}};
    assert_int_equal(mesh->vertex_count, 4);
    assert_memory_equal(mesh->positions, positions, sizeof positions);
    assert_int_equal(mesh->triangle_count, 3);
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    has_note(mesh, "1 polygon split");
    has_note(mesh, "left out: 1 face of fewer than 3 corners");
    has_note(mesh, "left out: 2 of the element \"edge\"");
    hk_mesh_free(mesh);
}

static void ply_text_is_read(void **state)
{
    (void)state;
    buffer b = {0};
    putf(&b, ply_head, "ascii", "int", "int", "indices");
    size_t head = b.size;
    putf(&b, "9 0 0 0 0\r\n9 0 1 2 5 6 0\n\n9 0 0 1 5 1\n  9 1 0 0 0\n1.5 3 0 2 1\n2 4 0 1 3 2\n"
             "3 2 0 1\n7\n8");
    check_ply(read_bytes(hk_ply_format.read, b.data, b.size));
    cut_anywhere(hk_ply_format.read, b.data, b.size, b.size - 1);
    read_without_memory(hk_ply_format.read, b.data, b.size);
    assert_true(head < b.size);
    drop(&b);
}

static void put_ply(buffer *b, bool big, int z_size, int index_size)
{
    putf(b, ply_head, big ? "binary_big_endian" : "binary_little_endian",
         z_size == 8 ? "double" : "float", index_size == 4 ? "uint" : "ushort", "index");
    const double p[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < 4; i++) {
        put_int(b, 9, 1, big);
        put_real(b, p[i][2], z_size, big);
        put_real(b, p[i][0], 4, big);
        put_int(b, (uint64_t)i, 1, big);
        for (int k = 0; k < i; k++) put_int(b, 77, 2, big);
        put_real(b, p[i][1], 8, big);
    }
    const int faces[3][5] = {{3, 0, 2, 1}, {4, 0, 1, 3, 2}, {2, 0, 1}};
    for (int i = 0; i < 3; i++) {
        put_real(b, 0.5, 4, big);
        put_int(b, (uint64_t)faces[i][0], 1, big);
        for (int k = 0; k < faces[i][0]; k++)
            put_int(b, (uint64_t)faces[i][k + 1], index_size, big);
    }
    put_int(b, 7, 4, big);
    put_int(b, 8, 4, big);
}

static void ply_bytes_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        buffer b = {0};
        put_ply(&b, i & 1, i & 2 ? 8 : 4, i & 4 ? 4 : 2);
        check_ply(read_bytes(hk_ply_format.read, b.data, b.size));
        cut_anywhere(hk_ply_format.read, b.data, b.size, b.size);
        read_without_memory(hk_ply_format.read, b.data, b.size);
        drop(&b);
    }
}

static void malformed_ply_is_refused(void **state)
{
    (void)state;
#define XYZ     "property float x\nproperty float y\nproperty float z\n"
#define CORNERS "property list uchar int vertex_indices\n"
#define PLY(vertices, faces, body)                                                                \
    "ply\nformat ascii 1.0\nelement vertex " vertices "\n" XYZ "element face " faces "\n" CORNERS \
    "end_header\n" body
    const bad_file files[] = {
        {"", "mesh:1: expected \"ply\""},
        {"plyx\n", "mesh:1: expected \"ply\""},
        {"ply\n", "the file ends where end_header was expected"},
        {"ply\nformat utf8 1.0\n", "mesh:2: expected ascii, binary_little_endian"},
        {"ply\nformat\n", "mesh:2: expected ascii or a binary format, found the end"},
        {"ply\nelephant\n", "mesh:2: expected element, property, comment or end_header"},
        {"ply\nproperty float x\n", "mesh:2: expected an element before"},
        {"ply\nelement vertex\n", "mesh:2: expected how many"},
        {"ply\nelement vertex -4\n", "mesh:2: expected how many of the element (0 to"},
        {"ply\nelement vertex 1000000000000000000\n", "mesh:2: expected how many of the element"},
        {"ply\nelement vertex 4\nelement vertex 4\n", "mesh:3: a second element \"vertex\""},
        {"ply\nelement vertex 4\nproperty real x\n", "mesh:3: expected a type"},
        {"ply\nelement vertex 4\nproperty float\n", "mesh:3: expected the name of a property"},
        {"ply\nelement vertex 4\nproperty float x\nproperty float x\n",
         "mesh:4: a second property \"x\""},
        {"ply\nelement vertex 4\n" XYZ "element face 1\n" CORNERS "end_header\n",
         "expected a line \"format"},
        {"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nelement "
         "face 1\n" CORNERS "end_header\n",
         "mesh:3: expected an element vertex with the property z"},
        {"ply\nformat ascii 1.0\nelement vertex 4\n" XYZ
         "element face 1\nproperty int vertex_indices\nend_header\n",
         "mesh:7: expected an element face with the list"},
        {"ply\nformat ascii 1.0\nelement vertex 4\n" XYZ "end_header\n",
         "expected an element face"},
        {PLY("1000000000", "1", "0 0 0\n"),
         "mesh:3: 1000000000 of the element vertex need at least 6 bytes each"},
        {PLY("3", "1", "0 0 0\n1 0\n0 1 0\n3 0 1 2\n"),
         "mesh:11: vertex 1: expected z, found the end of the line"},
        {PLY("3", "1", "0 0 0\n1 0 0 0\n0 1 0\n3 0 1 2\n"),
         "mesh:11: vertex 1: expected the end of the line"},
        {PLY("3", "1", "0 0 0\n1 0 nan\n0 1 0\n3 0 1 2\n"), "mesh:11: vertex 1: expected z"},
        {PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n"),
         "vertex_indices: expected 0 to 2, found 3"},
        {PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n"),
         "mesh:13: face 0: vertex_indices: expected 0 to 2, found -1"},
        {PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n4 0 1 2\n"),
         "mesh:13: face 0: expected vertex_indices, found the end"},
        {PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n-3 0 1 2\n"), "the length of a list"},
        {PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n1000000000 0 1 2\n"), "expected 1000000000 numbers"},
        {PLY("3", "2", "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"), "face 1: the file ends"},
        {PLY("3", "0", "0 0 0\n1 0 0\n0 1 0\n"), "mesh: expected faces, found none"},
        {PLY("0", "1", "3 0 1 2\n"), "nothing to refer to"},
    };
    all_fail(hk_ply_format.read, files, HK_COUNT_OF(files));
    buffer b = {0};
    putf(&b, "ply\nformat binary_big_endian 1.0\nelement vertex 1\n" XYZ "element face 1\n" CORNERS
             "end_header\n");
    char place[64];
    snprintf(place, sizeof place, "mesh: byte %zu: expected a finite number (z)", b.size + 8);
    put(&b, "\0\0\0\0\0\0\0\0\x7f\x80\0\0\x03\0\0\0", 16);
    read_fails(hk_ply_format.read, b.data, b.size, place);
    drop(&b);
}

// ---------------------------------------------------------------- writing

// The shape's outer triangles and the vertices they use, in order.
static void check_shell(const hk_mesh *back, const hk_mesh *mesh, const int32_t *sources,
                        const int32_t *surface, bool single)
{
    for (int i = 0; i < back->vertex_count; i++)
        for (int k = 0; k < 3; k++) {
            double wanted = mesh->positions[3 * sources[i] + k];
            assert_true(back->positions[3 * i + k] == (single ? (double)(float)wanted : wanted));
        }
    for (int i = 0; i < 3 * back->triangle_count; i++)
        assert_int_equal(sources[back->triangles[i]], surface[i]);
}

static void surfaces_of_tets_come_back(void **state)
{
    (void)state;
    // A cube around its centre: vertex 8 is inside, vertex 0 is not used.
    double positions[10][3];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) positions[i + 1][k] = (i >> k & 1) ? 1.0 / 3 : 0.1;
    for (int k = 0; k < 3; k++) positions[0][k] = 5, positions[9][k] = 0.2;
    static const int32_t quads[6][4] = {{1, 3, 4, 2}, {5, 6, 8, 7}, {1, 2, 6, 5},
                                        {3, 7, 8, 4}, {1, 5, 7, 3}, {2, 4, 8, 6}};
    int32_t tets[12][4];
    for (int i = 0; i < 12; i++) {
        const int32_t *q = quads[i / 2];
        const int32_t tet[4] = {9, q[0], q[i % 2 ? 2 : 1], q[i % 2 ? 3 : 2]};
        memcpy(tets[i], tet, sizeof tet);
    }
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(10, positions[0], 12, tets[0], 0, NULL, &mesh), HK_OK);
    static const char *const names[] = {"a.obj", "a.stl", "a.ply"};
    static const int32_t sources[] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 3; i++) {
        char *path = temporary_path(names[i]);
        save_mesh(mesh, path, NULL, 0);
        assert_null(mesh->surface);  // the mesh was lent, not given
        hk_mesh *back = load_mesh(path);
        assert_int_equal(back->vertex_count, 8);
        assert_int_equal(back->triangle_count, 12);
        hk_mesh_report report;
        assert_int_equal(hk_mesh_check(back, &report), HK_OK);
        assert_int_equal(report.open_edges.count, 0);
        double side = 1.0 / 3 - 0.1;
        assert_true(fabs(report.area - 6 * side * side) < 1e-6);
        if (i != 1) {  // STL numbers vertices as they come
            int count;
            const int32_t *surface, *behind;
            hk_mesh *copy = NULL;
            assert_int_equal(hk_mesh_copy(mesh, &copy), HK_OK);
            assert_int_equal(hk_mesh_surface(copy, &count, &surface, &behind), HK_OK);
            check_shell(back, mesh, sources, surface, false);
            hk_mesh_free(copy);
        }
        hk_mesh_free(back);
        unlink(path);
        save_without_memory(mesh, path, NULL, 0);
        remove_path(path);
    }
    hk_mesh_free(mesh);
}

static void surfaces_keep_their_numbers(void **state)
{
    (void)state;
    hk_mesh *mesh = surface_mesh();
    static const char *const names[] = {"a.obj", "a.ply"};
    for (int i = 0; i < 2; i++) {
        char *path = temporary_path(names[i]);
        save_mesh(mesh, path, NULL, 0);
        hk_mesh *back = load_mesh(path);
        same_geometry(mesh, back);  // vertex 4, which no triangle uses, is there too
        hk_mesh_free(back);
        remove_path(path);
    }
    hk_mesh_free(mesh);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(5, two_positions[0], 0, NULL, 0, NULL, &mesh), HK_OK);
    static const char *const names[] = {"a.obj", "a.stl", "a.ply", "a.glb"};
    for (int i = 0; i < 4; i++) {
        char *path = temporary_path(names[i]);
        assert_int_equal(hk_mesh_save(mesh, path, NULL, 0), HK_BAD_INPUT);
        assert_non_null(strstr(hk_error(), "no triangles"));
        remove_path(path);
    }
    hk_mesh_free(mesh);
    mesh = surface_mesh();
    mesh->positions[4] = 1e200;
    for (int i = 1; i < 4; i += 2) {
        char *path = temporary_path(names[i]);
        assert_int_equal(hk_mesh_save(mesh, path, NULL, 0), HK_BAD_INPUT);
        assert_non_null(strstr(hk_error(), "vertex 1 has the coordinate 1e+200"));
        remove_path(path);
    }
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(obj_statements_are_read),
        cmocka_unit_test(malformed_obj_is_refused),
        cmocka_unit_test(stl_text_is_read),
        cmocka_unit_test(stl_bytes_are_read),
        cmocka_unit_test(many_vertices_are_merged),
        cmocka_unit_test(malformed_stl_is_refused),
        cmocka_unit_test(ply_text_is_read),
        cmocka_unit_test(ply_bytes_are_read),
        cmocka_unit_test(malformed_ply_is_refused),
        cmocka_unit_test(surfaces_of_tets_come_back),
        cmocka_unit_test(surfaces_keep_their_numbers),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
