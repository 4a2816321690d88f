// Selectors: each kind on vertices and on tets, tolerance, combinations, and what is refused.
#include "bodies.h"

#include "failing_alloc.h"
#include "mesh/select.h"

enum { VERTICES = 27, TETS = 40 };

// The unit cube of 2 × 2 × 2 cells with a group of tets, one of triangles and one of vertices.
static hk_mesh *grouped_cube(void)
{
    hk_mesh *box = box_mesh(1, 1, 1, 2, 2, 2), *mesh;
    assert_int_equal(hk_mesh_vertex_count(box), VERTICES);
    assert_int_equal(hk_mesh_tet_count(box), TETS);
    static const int32_t triangles[] = {0, 1, 3, 1, 3, 4};
    CHECK_OK(hk_mesh_from_arrays(VERTICES, hk_mesh_positions(box), TETS, hk_mesh_tets(box), 2,
                                 triangles, &mesh));
    hk_mesh_free(box);
    hk_group *group;
    CHECK_OK(hk_mesh_add_group(mesh, "core", 3, 2, &group));
    group->items[0] = 3;
    group->items[1] = 17;
    CHECK_OK(hk_mesh_add_group(mesh, "skin", 2, 1, &group));
    group->items[0] = 1;
    CHECK_OK(hk_mesh_add_group(mesh, "pins", 0, 2, &group));
    group->items[0] = 5;
    group->items[1] = 26;
    return mesh;
}

static int count_vertices(const hk_mesh *mesh, const hk_selector *s, uint8_t *chosen)
{
    memset(chosen, 0xa5, VERTICES);
    CHECK_OK(hk_select_vertices(mesh, s, chosen));
    int count = 0;
    for (int v = 0; v < VERTICES; v++) {
        assert_true(chosen[v] <= 1);
        count += chosen[v];
    }
    return count;
}

static int count_tets(const hk_mesh *mesh, const hk_selector *s, uint8_t *chosen)
{
    memset(chosen, 0xa5, TETS);
    CHECK_OK(hk_select_tets(mesh, s, chosen));
    int count = 0;
    for (int t = 0; t < TETS; t++) {
        assert_true(chosen[t] <= 1);
        count += chosen[t];
    }
    return count;
}

static void test_all_and_none(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    hk_selector all = {.kind = HK_SELECT_ALL}, none = {.kind = HK_SELECT_NONE};
    assert_int_equal(count_vertices(mesh, &all, chosen), VERTICES);
    assert_int_equal(count_tets(mesh, &all, chosen), TETS);
    assert_int_equal(count_vertices(mesh, &none, chosen), 0);
    assert_int_equal(count_tets(mesh, &none, chosen), 0);
    hk_mesh_free(mesh);
}

static void test_box_and_its_tolerance(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    hk_selector face = select_box(1, 0, 0, 1, 1, 1);
    assert_int_equal(count_vertices(mesh, &face, chosen), 9);
    for (int v = 0; v < VERTICES; v++)
        assert_int_equal(chosen[v], hk_mesh_positions(mesh)[3 * v] == 1);
    assert_int_equal(count_tets(mesh, &face, chosen), 0);  // none has four vertices on a face
    // 1e-9 of the body's size, not more.
    hk_selector near = select_box(1 + 0.9e-9, 0, 0, 2, 1, 1);
    assert_int_equal(count_vertices(mesh, &near, chosen), 9);
    hk_selector off = select_box(1 + 1.1e-9, 0, 0, 2, 1, 1);
    assert_int_equal(count_vertices(mesh, &off, chosen), 0);
    // Half of the cells, five tets each; and a half-space.
    hk_selector half = select_box(0, 0, 0, 0.5, 1, 1);
    assert_int_equal(count_vertices(mesh, &half, chosen), 18);
    assert_int_equal(count_tets(mesh, &half, chosen), 20);
    hk_selector space = select_box(-INFINITY, -INFINITY, -INFINITY, 0.5, INFINITY, INFINITY);
    assert_int_equal(count_tets(mesh, &space, chosen), 20);
    hk_mesh_free(mesh);
}

static void test_sphere(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    hk_selector s = {.kind = HK_SELECT_SPHERE, .center = {0.5, 0.5, 0.5}, .radius = 0.5};
    assert_int_equal(count_vertices(mesh, &s, chosen), 7);  // the middle and those of the faces
    s.radius = 0;
    assert_int_equal(count_vertices(mesh, &s, chosen), 1);
    s.radius = 2;
    assert_int_equal(count_tets(mesh, &s, chosen), TETS);
    hk_mesh_free(mesh);
}

static void test_listed_vertices(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    const int32_t *tet = hk_mesh_tets(mesh) + 4 * 7;
    hk_selector s = {.kind = HK_SELECT_VERTICES, .vertices = tet, .vertex_count = 4};
    assert_int_equal(count_vertices(mesh, &s, chosen), 4);
    assert_int_equal(count_tets(mesh, &s, chosen), 1);
    assert_int_equal(chosen[7], 1);
    static const int32_t twice[] = {3, 3};
    s.vertices = twice;
    s.vertex_count = 2;
    assert_int_equal(count_vertices(mesh, &s, chosen), 1);
    s.vertex_count = 0;
    assert_int_equal(count_vertices(mesh, &s, chosen), 0);
    hk_mesh_free(mesh);
}

static void test_groups(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    hk_selector core = {.kind = HK_SELECT_GROUP, .group = "core"};
    // Exactly the listed tets, not those whose vertices happen to be in them.
    assert_int_equal(count_tets(mesh, &core, chosen), 2);
    assert_true(chosen[3] && chosen[17]);
    count_vertices(mesh, &core, chosen);
    for (int c = 0; c < 4; c++) {
        assert_true(chosen[hk_mesh_tets(mesh)[4 * 3 + c]]);
        assert_true(chosen[hk_mesh_tets(mesh)[4 * 17 + c]]);
    }
    hk_selector skin = {.kind = HK_SELECT_GROUP, .group = "skin"};
    assert_int_equal(count_vertices(mesh, &skin, chosen), 3);
    assert_true(chosen[1] && chosen[3] && chosen[4]);
    assert_int_equal(count_tets(mesh, &skin, chosen), 0);
    hk_selector pins = {.kind = HK_SELECT_GROUP, .group = "pins"};
    assert_int_equal(count_vertices(mesh, &pins, chosen), 2);
    assert_true(chosen[5] && chosen[26]);
    hk_mesh_free(mesh);
}

static void test_any_and_not(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    uint8_t chosen[TETS];
    hk_selector parts[2] = {select_box(0, 0, 0, 0, 1, 1),
                            {.kind = HK_SELECT_GROUP, .group = "pins"}};
    hk_selector any = {.kind = HK_SELECT_ANY, .children = parts, .child_count = 2};
    assert_int_equal(count_vertices(mesh, &any, chosen), 11);
    hk_selector not_any = {.kind = HK_SELECT_NOT, .children = &any, .child_count = 1};
    assert_int_equal(count_vertices(mesh, &not_any, chosen), VERTICES - 11);
    hk_selector core = {.kind = HK_SELECT_GROUP, .group = "core"};
    hk_selector rest = {.kind = HK_SELECT_NOT, .children = &core, .child_count = 1};
    assert_int_equal(count_tets(mesh, &rest, chosen), TETS - 2);
    hk_selector twice = {.kind = HK_SELECT_NOT, .children = &rest, .child_count = 1};
    assert_int_equal(count_tets(mesh, &twice, chosen), 2);
    assert_true(chosen[3] && chosen[17]);
    hk_selector of_nothing = {.kind = HK_SELECT_ANY};
    assert_int_equal(count_vertices(mesh, &of_nothing, chosen), 0);
    hk_mesh_free(mesh);
}

static void refuse(const hk_mesh *mesh, const hk_selector *s, const char *fragment)
{
    uint8_t chosen[TETS];
    hk_selector not_s = {.kind = HK_SELECT_NOT, .children = s, .child_count = 1};
    const hk_selector *both[2] = {s, &not_s};
    for (int k = 0; k < 4; k++) {
        hk_status status = k % 2 ? hk_select_tets(mesh, both[k / 2], chosen)
                                 : hk_select_vertices(mesh, both[k / 2], chosen);
        if (status != HK_BAD_INPUT) fail_msg("accepted: %s", fragment);
        if (!strstr(hk_error(), fragment)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), fragment);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    hk_selector s = select_box(0, NAN, 0, 1, 1, 1);
    refuse(mesh, &s, "not a number");
    s = (hk_selector){.kind = HK_SELECT_SPHERE, .radius = NAN};
    refuse(mesh, &s, "radius");
    s.radius = -1;
    refuse(mesh, &s, "radius");
    s.radius = 1;
    s.center[2] = INFINITY;
    refuse(mesh, &s, "center");
    static const int32_t beyond[] = {0, VERTICES}, below[] = {-1};
    s = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = beyond, .vertex_count = 2};
    refuse(mesh, &s, "vertex 27 is out of range");
    s.vertices = below;
    s.vertex_count = 1;
    refuse(mesh, &s, "vertex -1 is out of range");
    s.vertices = NULL;
    refuse(mesh, &s, "NULL");
    s.vertex_count = -1;
    refuse(mesh, &s, "count of -1");
    s = (hk_selector){.kind = HK_SELECT_GROUP, .group = "bone"};
    refuse(mesh, &s, "no group \"bone\" (it has 3, the first is core)");
    s.group = NULL;
    refuse(mesh, &s, "(null)");
    s = (hk_selector){.kind = HK_SELECT_ANY, .child_count = 2};
    refuse(mesh, &s, "NULL");
    s.kind = HK_SELECT_NOT;
    refuse(mesh, &s, "takes one selector (has 2)");
    s.child_count = 1;
    refuse(mesh, &s, "NULL");
    s = (hk_selector){.kind = (hk_select_kind)99};
    refuse(mesh, &s, "unknown kind 99");
    // One that contains itself has no end.
    hk_selector loop = {.kind = HK_SELECT_ANY, .child_count = 1};
    loop.children = &loop;
    refuse(mesh, &loop, "nested too deeply");
    hk_mesh_free(mesh);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    hk_selector half = select_box(0, 0, 0, 0.5, 1, 1);
    hk_selector rest = {.kind = HK_SELECT_NOT, .children = &half, .child_count = 1};
    uint8_t chosen[TETS];
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = hk_select_tets(mesh, &rest, chosen);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
    }
    hk_mesh_free(mesh);
}

// Groups of one name: vertices from the surface, tets from the volume.
static void test_groups_of_one_name(void **state)
{
    (void)state;
    hk_mesh *mesh = grouped_cube();
    hk_group *group;
    CHECK_OK(hk_mesh_add_group(mesh, "3", 3, 2, &group));
    group->items[0] = 1;
    group->items[1] = 2;
    CHECK_OK(hk_mesh_add_group(mesh, "3", 2, 1, &group));
    group->items[0] = 0;
    hk_selector s = {.kind = HK_SELECT_GROUP, .group = "3"};
    uint8_t chosen[TETS];
    assert_int_equal(count_vertices(mesh, &s, chosen), 3);
    assert_true(chosen[0] && chosen[1] && chosen[3]);
    assert_int_equal(count_tets(mesh, &s, chosen), 2);
    assert_true(chosen[1] && chosen[2]);
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_and_none),
        cmocka_unit_test(test_box_and_its_tolerance),
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_listed_vertices),
        cmocka_unit_test(test_groups_of_one_name),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_any_and_not),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
