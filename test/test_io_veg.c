// Vega .veg.
#include "io_text.h"

#define FIVE "*VERTICES\n5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n"
#define GOOD                                                                                  \
    "# Vega mesh\r\n\r\n" FIVE "\n*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n2 2 3 4 5\n\n"            \
    "*MATERIAL BODY\nENU, 1000, 1E7, 0.45\n\n*REGION\nallElements, BODY\n*SET both\n 1, 2,\n" \
    "*SET tip\n2\n"

static hk_mesh *read_good(const char *text)
{
    hk_mesh *mesh = NULL;
    if (hk_veg_format.read("m.veg", text, strlen(text), &mesh) != HK_OK) fail_msg("%s", hk_error());
    return mesh;
}

static void a_mesh_with_sets(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good(GOOD);
    static const int32_t tets[] = {0, 1, 2, 3, 1, 2, 3, 4}, both[] = {0, 1}, tip[] = {1};
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->tet_count, 2);
    assert_memory_equal(mesh->tets, tets, sizeof tets);
    assert_int_equal(mesh->group_count, 2);
    assert_group(mesh, "both", 3, 2, both);
    assert_group(mesh, "tip", 3, 1, tip);
    assert_int_equal(mesh->note_count, 1);
    assert_note(mesh, "skipped what is not needed: *MATERIAL, *REGION");
    hk_mesh_free(mesh);
}

static void numbers_may_begin_with_0(void **state)
{
    (void)state;
    hk_mesh *mesh = read_good("*VERTICES\n4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n"
                              "*ELEMENTS TETS\n1 4 0\n0 0 1 2 3");
    static const int32_t tets[] = {0, 1, 2, 3};
    assert_memory_equal(mesh->tets, tets, sizeof tets);
    hk_mesh_free(mesh);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const bad_file bad[] = {
        {"", "m.veg:1: the file ends without *VERTICES"},
        {FIVE, "the file ends without *ELEMENTS"},
        {"VERTICES\n", "m.veg:1: expected a section such as *VERTICES, found \"VERTICES\""},
        {"\x7f\x45LF\x02", "m.veg:1: expected a section"},
        {"*VERTICES\n5\n", "m.veg:2: the number of vertices is 5, but"},
        {"*VERTICES\n0\n", "m.veg:2: the line ends where their dimension was expected"},
        {"*VERTICES\n1 2 0 0\n1 0 0    \n", "m.veg:2: vertices of dimension 2: only 3 can be read"},
        {"*VERTICES\n-1 3 0 0\n", "it must not be negative"},
        {"*VERTICES\n1000000000000000000 3 0 0\n", "room for"},
        {"*VERTICES\n1 3 0 0\n1 0 0\n*ELEMENTS\n",
         "m.veg:3: vertex 1: the line ends where its z coordinate was expected"},
        {"*VERTICES\n1 3 0 0\n1 0 nan 0\n",
         "m.veg:3: vertex 1: expected its y coordinate, a finite number, found \"nan\""},
        {"*VERTICES\n2 3 0 0\n1 0 0 0\n1 0 0 0\n",
         "vertex 1 is defined twice: the second time as vertex 2"},
        {FIVE FIVE, "m.veg:8: a second *VERTICES section"},
        {"*ELEMENTS\nTET\n", "*ELEMENTS must come after *VERTICES"},
        {FIVE "*ELEMENTS\nWEDGE\n",
         "m.veg:9: expected TET or CUBIC after *ELEMENTS, found \"WEDGE\""},
        {FIVE "*ELEMENTS\nTET\n1 5 0\n1 1 2 3 4 5\n",
         "m.veg:10: a tetrahedron cannot have 5 nodes"},
        {FIVE "*ELEMENTS\nTET\n1 4 0\n1 1 2 3 6\n",
         "m.veg:11: element 1: names vertex 6, but the vertices are 1 to 5"},
        {FIVE "*ELEMENTS\nTET\n1 4 0\n1 1 2 3\n",
         "element 1: the line ends where a vertex of the element"},
        {FIVE "*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n1 2 3 4 5\n", "element 1 is defined twice"},
        {FIVE "*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n*SET x\n",
         "m.veg:12: expected an element number, an integer, found \"*SET\""},
        {FIVE "*SET x\n1\n", "*SET must come after *ELEMENTS"},
        {FIVE "*ELEMENTS\nTET\n1 4 0\n1 1 2 3 4\n*SET x\n1, 7\n",
         "m.veg:13: set \"x\" names element 7, which is not defined"},
        {FIVE "*ELEMENTS\nTET\n1 4 0\n1 1 2 3 4\n*SET x\n1, y\n",
         "expected an element number, an integer, found \"y\""},
        {FIVE "*ELEMENTS\nCUBIC\n1 8 0\n1 1 2 3 4 5 1 2 3\n*SET x\n1\n",
         "m.veg: its volume elements are 1 hexahedron"},
        {"*INCLUDE x.node\n", "m.veg:1: *INCLUDE can be followed only from a file on disk"},
    };
    for (int i = 0; i < HK_COUNT_OF(bad); i++)
        assert_refused(hk_veg_format.read, "m.veg", bad[i].text, strlen(bad[i].text),
                       bad[i].message);
}

static void cut_files_and_failing_allocations_are_survived(void **state)
{
    (void)state;
    try_all_prefixes(hk_veg_format.read, GOOD, sizeof GOOD - 1);
    try_failing_allocations(hk_veg_format.read, GOOD, sizeof GOOD - 1);
}

static void included_files_are_read(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "part.node",
              "5 3 0 1\n1 0 0 0 1\n2 1 0 0 1\n3 0 1 0 1\n4 0 0 1 0\n5 1 1 1 0");
    save_text(folder, "part.ele", "2 4 0\n1 1 2 3 4\n2 2 3 4 5\n");
    save_text(folder, "m.veg",
              "*VERTICES\n*INCLUDE part.node\n*ELEMENTS\nTET\n"
              "  *INCLUDE \"part.ele\" # tets\n*SET s\n2\n");
    save_text(folder, "missing.veg", "*VERTICES\n*INCLUDE none.node\n");
    save_text(folder, "nested.veg", "*VERTICES\n*INCLUDE m.veg\n");
    save_text(folder, "absolute.veg", "*INCLUDE /etc/passwd\n");
    char path[256];
    hk_mesh *mesh = NULL;
    snprintf(path, sizeof path, "%sm.veg", folder);
    if (hk_mesh_load(path, &mesh) != HK_OK) fail_msg("%s", hk_error());
    static const int32_t tip[] = {1};
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->tet_count, 2);
    assert_group(mesh, "s", 3, 1, tip);
    hk_mesh_free(mesh);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = hk_mesh_load(path, &mesh);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (!reached) break;
    }
    snprintf(path, sizeof path, "%smissing.veg", folder);
    assert_int_equal(hk_mesh_load(path, &mesh), HK_IO_ERROR);
    assert_contains(hk_error(), "missing.veg:2: cannot open");
    assert_contains(hk_error(), "none.node");
    snprintf(path, sizeof path, "%snested.veg", folder);
    assert_int_equal(hk_mesh_load(path, &mesh), HK_BAD_INPUT);
    assert_contains(hk_error(), "nested.veg (with its includes):2:");
    snprintf(path, sizeof path, "%sabsolute.veg", folder);
    assert_int_equal(hk_mesh_load(path, &mesh), HK_BAD_INPUT);
    assert_contains(hk_error(), "absolute.veg:1: *INCLUDE wants a file name relative to the .veg");
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mesh_with_sets),
        cmocka_unit_test(numbers_may_begin_with_0),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(cut_files_and_failing_allocations_are_survived),
        cmocka_unit_test(included_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
