// Loading and saving by the path's ending.
#include "io_text.h"

#define TET                                                                                 \
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n" \
    "$EndNodes\n$Elements\n1\n1 4 0 1 2 4 3\n$EndElements\n"

static void formats_are_found_by_their_ending(void **state)
{
    (void)state;
    static const char *const known[] = {"a.msh", "A.MSH", "dir.obj/b.Node", "x.ele", "x.tar.glb"};
    static const char *const unknown[] = {"", "msh", "a.mshx", "dir.msh/b", "a.msh.gz", "a."};
    for (int i = 0; i < HK_COUNT_OF(known); i++) assert_non_null(hk_format_for(known[i]));
    for (int i = 0; i < HK_COUNT_OF(unknown); i++) assert_null(hk_format_for(unknown[i]));
    assert_true(hk_mesh_format_count() >= 11);
    for (int i = 0; i < hk_mesh_format_count(); i++) {
        hk_mesh_format format = hk_mesh_format_at(i);
        char path[32];
        snprintf(path, sizeof path, "x%s", format.ending);
        const hk_format *found = hk_format_for(path);
        assert_non_null(found);
        assert_true(format.reads || format.writes);
        assert_int_equal(format.reads, found->read || found->load);
        assert_int_equal(format.writes, found->write != NULL);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(format.ending, hk_mesh_format_at(k).ending);
    }
    assert_null(hk_mesh_format_at(-1).ending);
    assert_null(hk_mesh_format_at(hk_mesh_format_count()).ending);
}

// The message lists the endings that can be read or written, in their order, and no others.
static void check_list(const char *message, bool writing)
{
    const char *list = strstr(message, "the formats are ");
    assert_non_null(list);
    list += strlen("the formats are ");
    for (int i = 0; i < hk_mesh_format_count(); i++) {
        hk_mesh_format format = hk_mesh_format_at(i);
        if (!(writing ? format.writes : format.reads)) continue;
        size_t length = strlen(format.ending);
        if (strncmp(list, format.ending, length) != 0) fail_msg("%s in %s", format.ending, message);
        list += length;
        if (strncmp(list, ", ", 2) == 0) list += 2;
    }
    assert_string_equal(list, "");
}

static void unknown_endings_list_the_known_ones(void **state)
{
    (void)state;
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_load("thing.step", &mesh), HK_UNSUPPORTED);
    assert_contains(hk_error(), "thing.step: cannot read a mesh as \".step\"; the formats are "
                                ".msh, .node, .ele");
    check_list(hk_error(), false);
    assert_int_equal(hk_mesh_load("thing", &mesh), HK_UNSUPPORTED);
    assert_contains(hk_error(), "thing: cannot read a mesh without an ending; the formats are");
    assert_int_equal(hk_mesh_load("thing.glb", &mesh), HK_UNSUPPORTED);
    assert_null(mesh);
    assert_int_equal(hk_mesh_new(0, 0, 0, &mesh), HK_OK);
    assert_int_equal(hk_mesh_save(mesh, "thing.veg", NULL, 0), HK_UNSUPPORTED);
    assert_contains(hk_error(), "thing.veg: cannot write a mesh as \".veg\"; the formats are ");
    check_list(hk_error(), true);
    hk_mesh_free(mesh);
}

static void a_loaded_mesh_is_finished(void **state)
{
    (void)state;
    const char *folder = make_folder();
    save_text(folder, "one.MSH", TET);
    char path[256];
    snprintf(path, sizeof path, "%sone.MSH", folder);
    hk_mesh *mesh = NULL;
    if (hk_mesh_load(path, &mesh) != HK_OK) fail_msg("%s", hk_error());
    static const int32_t turned[] = {0, 1, 2, 3};
    assert_memory_equal(mesh->tets, turned, sizeof turned);
    assert_note(mesh, "1 tet turned");
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
    snprintf(path, sizeof path, "%snone.msh", folder);
    assert_int_equal(hk_mesh_load(path, &mesh), HK_IO_ERROR);
    assert_contains(hk_error(), "No such file");
    remove_folder(folder);
}

static void wrong_arguments_are_told(void **state)
{
    (void)state;
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_load(NULL, &mesh), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_load("a.msh", NULL), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_save(NULL, "a.msh", NULL, 0), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_new(1, 0, 0, &mesh), HK_OK);
    assert_int_equal(hk_mesh_save(mesh, NULL, NULL, 0), HK_BAD_INPUT);
    const double value = 1;
    const struct {
        hk_field field;
        const char *message;
    } bad[] = {{{"f", HK_ON_VERTICES, 2, &value}, "field \"f\" has 2 components, not 1, 3 or 9"},
               {{NULL, HK_ON_VERTICES, 1, &value}, "field 0 has no name"},
               {{"f", HK_ON_VERTICES, 1, NULL}, "field 0 has no values"},
               {{"f", (hk_field_site)5, 1, &value}, "field \"f\" is on site 5"}};
    for (int i = 0; i < HK_COUNT_OF(bad); i++) {
        assert_int_equal(hk_mesh_save(mesh, "unwritten.msh", &bad[i].field, 1), HK_BAD_INPUT);
        assert_contains(hk_error(), bad[i].message);
    }
    assert_int_not_equal(access("unwritten.msh", F_OK), 0);
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_found_by_their_ending),
        cmocka_unit_test(unknown_endings_list_the_known_ones),
        cmocka_unit_test(a_loaded_mesh_is_finished),
        cmocka_unit_test(wrong_arguments_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
