// Meshes from arrays: finishing, groups, notes, copies, transforms, running out of memory.
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "mesh/mesh.h"

static const double tet_positions[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
static const int32_t two_tets[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}};  // both positive
static const int32_t one_turned[2][4] = {{0, 1, 2, 3}, {1, 3, 2, 4}};

static hk_mesh *make(const int32_t tets[2][4])
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 2, tets[0], 0, NULL, &mesh), HK_OK);
    return mesh;
}

static double volume6(const hk_mesh *mesh, int tet)
{
    const double *p[4];
    for (int c = 0; c < 4; c++) p[c] = mesh->positions + 3 * mesh->tets[4 * tet + c];
    return hk_tet_volume6(p[0], p[1], p[2], p[3]);
}

static void assert_message_has(const char *part)
{
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), part);
}

static void arrays_are_copied(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    assert_int_equal(hk_mesh_vertex_count(mesh), 5);
    assert_int_equal(hk_mesh_tet_count(mesh), 2);
    assert_int_equal(hk_mesh_triangle_count(mesh), 0);
    assert_memory_equal(hk_mesh_positions(mesh), tet_positions, sizeof tet_positions);
    assert_memory_equal(hk_mesh_tets(mesh), two_tets, sizeof two_tets);
    assert_int_equal(hk_mesh_note_count(mesh), 0);
    assert_int_equal(hk_mesh_group_count(mesh), 0);
    assert_null(hk_mesh_note(mesh, 0));
    assert_null(hk_mesh_group_name(mesh, -1));
    hk_mesh_free(mesh);
    hk_mesh_free(NULL);
}

static void opposite_winding_is_turned_and_told(void **state)
{
    (void)state;
    hk_mesh *mesh = make(one_turned);
    assert_int_equal(mesh->turned.count, 1);
    assert_int_equal(mesh->turned.first[0], 1);
    assert_int_equal(hk_mesh_note_count(mesh), 1);
    assert_string_equal(hk_mesh_note(mesh, 0), "1 tet turned");
    for (int t = 0; t < 2; t++) assert_true(volume6(mesh, t) > 0);
    hk_mesh_free(mesh);
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    hk_mesh *const untouched = (hk_mesh *)&state;
    hk_mesh *mesh = untouched;
    int32_t tets[2][4];
    memcpy(tets, two_tets, sizeof tets);
    tets[1][2] = 5;
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 2, tets[0], 0, NULL, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("tet 1");
    assert_message_has("vertex 5");
    tets[1][2] = -1;
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 2, tets[0], 0, NULL, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("vertex -1");
    const int32_t triangle[3] = {0, 1, INT32_MAX};
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 0, NULL, 1, triangle, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("triangle 0");
    double positions[5][3];
    memcpy(positions, tet_positions, sizeof positions);
    positions[3][1] = NAN;
    assert_int_equal(hk_mesh_from_arrays(5, positions[0], 2, two_tets[0], 0, NULL, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("vertex 3");
    assert_int_equal(hk_mesh_from_arrays(-1, positions[0], 0, NULL, 0, NULL, &mesh), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_from_arrays(5, NULL, 0, NULL, 0, NULL, &mesh), HK_BAD_INPUT);
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 2, NULL, 0, NULL, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("tets");
    assert_int_equal(hk_mesh_from_arrays(5, tet_positions[0], 0, NULL, 1, NULL, &mesh),
                     HK_BAD_INPUT);
    assert_message_has("triangles");
    assert_ptr_equal(mesh, untouched);
}

static void finish_names_the_file_and_checks_groups(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    hk_group *group;
    assert_int_equal(hk_mesh_add_group(mesh, "bone", 3, 2, &group), HK_OK);
    group->items[0] = 0;
    group->items[1] = 2;
    assert_int_equal(hk_mesh_finish(mesh, "arm.msh"), HK_BAD_INPUT);
    assert_message_has("arm.msh");
    assert_message_has("bone");
    assert_message_has("tet 2");
    group->items[1] = 1;
    assert_int_equal(hk_mesh_finish(mesh, "arm.msh"), HK_OK);
    mesh->positions[4] = INFINITY;
    assert_int_equal(hk_mesh_finish(mesh, "arm.msh"), HK_BAD_INPUT);
    assert_message_has("arm.msh: vertex 1");
    hk_mesh_free(mesh);
}

static void groups_and_notes_grow(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    char name[16];
    for (int g = 0; g < 100; g++) {
        hk_group *group;
        snprintf(name, sizeof name, "g%d", g);
        assert_int_equal(hk_mesh_add_group(mesh, name, 0, 1, &group), HK_OK);
        group->items[0] = g % 5;
        assert_int_equal(hk_mesh_add_note(mesh, "note %d", g), HK_OK);
    }
    assert_int_equal(hk_mesh_group_count(mesh), 100);
    for (int g = 0; g < 100; g++) {
        snprintf(name, sizeof name, "g%d", g);
        assert_string_equal(hk_mesh_group_name(mesh, g), name);
        const hk_group *found = hk_mesh_find_group(mesh, name);
        assert_ptr_equal(found, &mesh->groups[g]);
        assert_int_equal(found->items[0], g % 5);
        snprintf(name, sizeof name, "note %d", g);
        assert_string_equal(hk_mesh_note(mesh, g), name);
    }
    assert_null(hk_mesh_find_group(mesh, "g100"));
    assert_int_equal(hk_mesh_add_group(mesh, "lines", 1, 1, NULL), HK_BAD_INPUT);

    hk_mesh *copy;
    assert_int_equal(hk_mesh_copy(mesh, &copy), HK_OK);
    hk_mesh_free(mesh);
    assert_memory_equal(copy->positions, tet_positions, sizeof tet_positions);
    assert_memory_equal(copy->tets, two_tets, sizeof two_tets);
    assert_int_equal(copy->group_count, 100);
    assert_int_equal(hk_mesh_find_group(copy, "g98")->items[0], 3);
    assert_string_equal(hk_mesh_note(copy, 99), "note 99");
    hk_mesh_free(copy);
}

static void transform_scales_rotates_translates_in_this_order(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    hk_transform t = {.scale = 2, .axis = {0, 0, 3}, .degrees = 90, .translate = {10, 20, 30}};
    assert_int_equal(hk_mesh_transform(mesh, &t), HK_OK);
    // x̂ → 2 x̂ → 2 ŷ; quarter turns are exact.
    const double expected[5][3] = {
        {10, 20, 30}, {10, 22, 30}, {8, 20, 30}, {10, 20, 32}, {8, 22, 32}};
    assert_memory_equal(mesh->positions, expected, sizeof expected);
    hk_mesh_free(mesh);

    mesh = make(two_tets);
    t = (hk_transform){.scale = 1, .axis = {1e-200, 1e-200, 1e-200}, .degrees = -120};
    assert_int_equal(hk_mesh_transform(mesh, &t), HK_OK);
    const double cycled[3] = {0, 0, 1};  // x̂ → ẑ
    for (int i = 0; i < 3; i++) assert_true(fabs(mesh->positions[3 + i] - cycled[i]) < 1e-15);
    hk_mesh_free(mesh);
}

static void negative_scale_keeps_volumes_positive(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    assert_int_equal(hk_mesh_surface(mesh, NULL, NULL, NULL), HK_OK);
    const hk_transform t = {.scale = -1};
    assert_int_equal(hk_mesh_transform(mesh, &t), HK_OK);
    assert_true(mesh->positions[3] == -1);
    for (int i = 0; i < 2; i++) assert_true(volume6(mesh, i) > 0);
    // The surface that was made before is outward still: Σ a · (b × c) / 6 is the volume.
    double volume = 0;
    for (int s = 0; s < mesh->surface_count; s++) {
        const double *p[3];
        for (int c = 0; c < 3; c++) p[c] = mesh->positions + 3 * mesh->surface[3 * s + c];
        volume += hk_tet_volume6((double[3]){0, 0, 0}, p[0], p[1], p[2]) / 6;
    }
    assert_true(fabs(volume - (volume6(mesh, 0) + volume6(mesh, 1)) / 6) < 1e-14);
    hk_mesh_free(mesh);
}

static void impossible_transforms_change_nothing(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    const hk_transform wrong[] = {
        {.scale = 0},
        {.scale = NAN},
        {.scale = 1, .degrees = 10},
        {.scale = 1, .degrees = INFINITY, .axis = {1, 0, 0}},
        {.scale = 1, .degrees = 10, .axis = {NAN, 1, 0}},
        {.scale = 1, .translate = {0, NAN, 0}},
        {.scale = 1.7e308, .translate = {1.7e308, 0, 0}},
    };
    const char *const parts[] = {"scale", "scale", "axis", "rotate", "axis", "translate", "vertex"};
    for (int i = 0; i < HK_COUNT_OF(wrong); i++) {
        assert_int_equal(hk_mesh_transform(mesh, &wrong[i]), HK_BAD_INPUT);
        assert_message_has(parts[i]);
        assert_memory_equal(mesh->positions, tet_positions, sizeof tet_positions);
    }
    hk_mesh_free(mesh);
}

static void positions_can_be_set(void **state)
{
    (void)state;
    hk_mesh *mesh = make(two_tets);
    double moved[5][3];
    memcpy(moved, tet_positions, sizeof moved);
    moved[4][2] = 7;
    assert_int_equal(hk_mesh_set_positions(mesh, moved[0]), HK_OK);
    assert_memory_equal(mesh->positions, moved, sizeof moved);
    assert_int_equal(hk_mesh_set_positions(mesh, hk_mesh_positions(mesh)), HK_OK);
    double wrong[5][3] = {{0}};
    wrong[2][0] = NAN;
    assert_int_equal(hk_mesh_set_positions(mesh, wrong[0]), HK_BAD_INPUT);
    assert_message_has("vertex 2");
    assert_int_equal(hk_mesh_set_positions(mesh, NULL), HK_BAD_INPUT);
    assert_memory_equal(mesh->positions, moved, sizeof moved);
    hk_mesh_free(mesh);
}

static void quality_of_known_tets(void **state)
{
    (void)state;
    const double a[3] = {1, 1, 1}, b[3] = {-1, 1, -1}, c[3] = {1, -1, -1}, d[3] = {-1, -1, 1};
    assert_true(fabs(hk_tet_quality(a, b, c, d) - 1) < 1e-14);
    assert_true(fabs(hk_tet_quality(a, c, b, d) + 1) < 1e-14);
    // Corner of a cube: V = 1/6, Σ edge² = 9.
    const double(*p)[3] = tet_positions;
    assert_true(fabs(hk_tet_quality(p[0], p[1], p[2], p[3]) - 12 * cbrt(0.25) / 9) < 1e-14);
    assert_true(hk_tet_quality(a, b, c, c) == 0);
    assert_true(hk_tet_quality(a, a, a, a) == 0);
    assert_true(hk_tet_quality(a, b, c, (double[3]){NAN, 0, 0}) == 0);
    for (double scale = 1e-150; scale < 1e200; scale *= 1e50) {
        double s[4][3];
        for (int i = 0; i < 3; i++) {
            s[0][i] = scale * a[i];
            s[1][i] = scale * b[i];
            s[2][i] = scale * c[i];
            s[3][i] = scale * d[i];
        }
        assert_true(fabs(hk_tet_quality(s[0], s[1], s[2], s[3]) - 1) < 1e-14);
    }
}

// Everything that a mesh can go through, in one call.
static hk_status whole_life(void)
{
    hk_mesh *mesh = NULL, *copy = NULL;
    hk_group *group;
    hk_mesh_report report;
    int32_t order[5];
    hk_status status = hk_mesh_from_arrays(5, tet_positions[0], 2, one_turned[0], 0, NULL, &mesh);
    if (status == HK_OK) status = hk_mesh_add_group(mesh, "group", 0, 1, &group);
    if (status == HK_OK) group->items[0] = 0;
    if (status == HK_OK) status = hk_mesh_copy(mesh, &copy);
    if (status == HK_OK) status = hk_mesh_surface(mesh, NULL, NULL, NULL);
    if (status == HK_OK) status = hk_mesh_check(copy, &report);
    if (status == HK_OK) status = hk_morton_order(5, copy->positions, order);
    hk_mesh_free(mesh);
    hk_mesh_free(copy);
    return status;
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    int n = 1;
    for (;; n++) {
        failing_alloc_install(n);
        hk_status status = whole_life();
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (!reached) break;
    }
    assert_true(n > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_copied),
        cmocka_unit_test(opposite_winding_is_turned_and_told),
        cmocka_unit_test(wrong_arrays_are_refused),
        cmocka_unit_test(finish_names_the_file_and_checks_groups),
        cmocka_unit_test(groups_and_notes_grow),
        cmocka_unit_test(transform_scales_rotates_translates_in_this_order),
        cmocka_unit_test(negative_scale_keeps_volumes_positive),
        cmocka_unit_test(impossible_transforms_change_nothing),
        cmocka_unit_test(positions_can_be_set),
        cmocka_unit_test(quality_of_known_tets),
        cmocka_unit_test(no_failed_allocation_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
