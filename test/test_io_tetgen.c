// TetGen's .node and .ele.
#include "io_text.h"

static hk_status read_pair(const char *node, const char *ele, hk_mesh **mesh)
{
    return hk_tetgen_read("m.node", node, strlen(node), "m.ele", ele, strlen(ele), mesh);
}

static hk_mesh *read_good(const char *node, const char *ele)
{
    hk_mesh *mesh = NULL;
    if (read_pair(node, ele, &mesh) != HK_OK) fail_msg("%s", hk_error());
    return mesh;
}

#define FROM_0 "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 1 1 1\n"
#define FROM_1                                                                               \
    "# made by a test\r\n\r\n5 3 2 1 # header\r\n1 0 0 0 9 9.5 1\r\n2 1 0 0 9 9.5 0\r\n\r\n" \
    "3 0 1 0 9 9.5 -2\r\n  4 0 0 1 9 9.5 1 # last\r\n5 1 1 1 9 9.5 0"

static void numbers_begin_with_0_or_1(void **state)
{
    (void)state;
    static const char *const nodes[2] = {FROM_0, FROM_1};
    static const char *const tets[2] = {"2 4 0\n0 0 1 2 3\n1 1 2 3 4\n",
                                        "2 4 1\n1 1 2 3 4 3\n2 2 3 4 5 -7 # end"};
    static const int32_t expected[8] = {0, 1, 2, 3, 1, 2, 3, 4};
    for (int i = 0; i < 2; i++) {
        hk_mesh *mesh = read_good(nodes[i], tets[i]);
        assert_int_equal(mesh->vertex_count, 5);
        assert_int_equal(mesh->tet_count, 2);
        assert_memory_equal(mesh->tets, expected, sizeof expected);
        assert_true(mesh->positions[3] == 1 && mesh->positions[7] == 1 && mesh->positions[14] == 1);
        assert_int_equal(mesh->group_count, i == 0 ? 0 : 4);
        assert_int_equal(mesh->note_count, 0);
        if (i == 1) {
            static const int32_t first[] = {0}, second[] = {1}, boundary[] = {0, 3}, other[] = {2};
            assert_group(mesh, "region 3", 3, 1, first);
            assert_group(mesh, "region -7", 3, 1, second);
            assert_group(mesh, "marker 1", 0, 2, boundary);
            assert_group(mesh, "marker -2", 0, 1, other);
        }
        hk_mesh_free(mesh);
    }
}

static void short_headers_are_enough(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good("4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n", "1\n1 1 2 3 4\n");
    assert_int_equal(mesh->tet_count, 1);
    hk_mesh_free(mesh);
}

static void tets_of_ten_nodes_are_read(void **state)
{
    (void)state;
    // Corners, and the middles of their edges in an order of their own.
    static const int at[10][3] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 0}, {0, 0, 2}, {0, 1, 1},
                                  {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}};
    io_text node = {.size = 0};
    put(&node, "10 3 0 0\n");
    for (int i = 0; i < 10; i++) {
        char line[64];
        const int *x = at[i];
        snprintf(line, sizeof line, "%d %d %d %d\n", i, x[0], x[1], x[2]);
        put(&node, line);
    }
    put_bytes(&node, "", 1);
    hk_mesh *mesh = read_good(node.bytes, "1 10 0\n0 0 1 2 3 4 5 6 7 8 9\n");
    static const int32_t expected[4] = {0, 1, 2, 3};
    assert_memory_equal(mesh->tets, expected, sizeof expected);
    static const int32_t middles[6] = {9, 8, 7, 6, 5, 4};
    assert_non_null(mesh->middles);
    assert_memory_equal(mesh->middles, middles, sizeof middles);
    hk_mesh_free(mesh);
}

static void odd_regions_are_noted(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good(FROM_0, "2 4 1\n0 0 1 2 3 1.5\n1 1 2 3 4 2\n");
    assert_int_equal(mesh->group_count, 1);
    assert_note(mesh, "the region attribute of 1 tets is not an integer");
    hk_mesh_free(mesh);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *node, *ele, *message;
    } bad[] = {
        {"", "", "m.node:1: the file ends where the number of nodes was expected"},
        {"x 3 0 0", "", "m.node:1: expected the number of nodes, an integer, found \"x\""},
        {"1 2 0 0\n0 0 0\n", "", "m.node:1: nodes of dimension 2: only 3 can be read"},
        {"1 3 0 5\n0 0 0 0\n", "",
         "m.node:1: the number of boundary markers is 5: expected 0 or 1"},
        {"1 3 -1 0\n0 0 0 0\n", "", "expected the number of attributes, found -1"},
        {"1 3 0 0 0\n0 0 0 0\n", "", "m.node:1: expected the end of the line"},
        {"-1 3 0 0\n", "", "it must not be negative"},
        {"1000000000000000000 3 0 0\n", "", "room for"},
        {"1 3 0 0\n7 0 0\n", "",
         "m.node:2: node 7: the line ends where its z coordinate was expected"},
        {"1 3 0 0\n7 0 0 nan\n", "",
         "node 7: expected its z coordinate, a finite number, found \"nan\""},
        {"1 3 0 1\n7 0 0 0\n", "", "node 7: the line ends where its boundary marker was expected"},
        {"1 3 0 0\n7 0 0 0 1\n", "", "node 7: expected the end of the line, found \"1\""},
        {"2 3 0 0\n7 0 0 0\n7 1 0 0\n", "", "node 7 is defined twice: the second time as node 2"},
        {"1 3 0 0\n0 0 0 0\n1 0 0 0\n", "", "m.node:3: more follows after the last node"},
        {FROM_0, "", "m.ele:1: the file ends where the number of tets was expected"},
        {FROM_0, "1 5 0\n0 0 1 2 3 4\n", "m.ele:1: tets of 5 nodes: expected 4 or 10"},
        {FROM_0, "1 4 0\n0 0 1 2 5\n", "m.ele:2: tet 0: names node 5, but the nodes are 0 to 4"},
        {FROM_0, "1 4 0\n0 0 1 2\n",
         "m.ele:2: tet 0: the line ends where a node of the tet was expected"},
        {FROM_0, "1 4 1\n0 0 1 2 3\n",
         "tet 0: the line ends where an attribute of the tet was expected"},
        {FROM_0, "1 4 0\n0 0 1 2 3\n0 0 1 2 3\n", "m.ele:3: more follows after the last tet"},
        {FROM_0, "2 4 0\n0 0 1 2 3    \n\n\n\n\n", "the file ends where a tet number was expected"},
        {FROM_0, "0 4 0\n", "m.ele: has no tetrahedra and no triangles, only 5 vertices"},
        {"0 3 0 0\n", "1 4 0\n0 0 0 0 0\n", "names node 0, but the .node file has no nodes"},
    };
    for (int i = 0; i < HK_COUNT_OF(bad); i++) {
        hk_mesh *mesh = NULL;
        assert_int_equal(read_pair(bad[i].node, bad[i].ele, &mesh), HK_BAD_INPUT);
        assert_null(mesh);
        assert_contains(hk_error(), bad[i].message);
    }
}

// The whole pair out of one text, for the helpers that know one file: the .node, a '@', the .ele.
static hk_status read_joined(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    const char *split = memchr(data, '@', size);
    size_t first = split ? (size_t)(split - data) : size;
    size_t second = split ? size - first - 1 : 0;
    return hk_tetgen_read(name, data, first, name, split ? split + 1 : data, second, mesh);
}

static void cut_files_and_failing_allocations_are_survived(void **state)
{
    (void)state;
    static const char joined[] = FROM_1 "@2 4 1\n1 1 2 3 4 3\n2 2 3 4 5 -7\n";
    try_all_prefixes(read_joined, joined, sizeof joined - 1);
    try_failing_allocations(read_joined, joined, sizeof joined - 1);
}

static void the_partner_is_found(void **state)
{
    (void)state;
    const char *folder = make_folder();
    static const char *const endings[2] = {"pair.node", "pair.ele"};
    save_text(folder, "pair.node", FROM_0);
    save_text(folder, "pair.ele", "2 4 0\n0 0 1 2 3\n1 1 2 4 3\n");
    char path[256];
    for (int i = 0; i < 2; i++) {
        hk_mesh *mesh = NULL;
        snprintf(path, sizeof path, "%s%s", folder, endings[i]);
        if (hk_mesh_load(path, &mesh) != HK_OK) fail_msg("%s", hk_error());
        assert_int_equal(mesh->tet_count, 2);
        assert_note(mesh, "1 tet turned");
        hk_mesh_free(mesh);
    }
    snprintf(path, sizeof path, "%spair.ele", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%spair.node", folder);
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_load(path, &mesh), HK_IO_ERROR);
    assert_contains(hk_error(), "pair.ele: No such file");
    assert_null(mesh);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_begin_with_0_or_1),
        cmocka_unit_test(short_headers_are_enough),
        cmocka_unit_test(tets_of_ten_nodes_are_read),
        cmocka_unit_test(odd_regions_are_noted),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(cut_files_and_failing_allocations_are_survived),
        cmocka_unit_test(the_partner_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
