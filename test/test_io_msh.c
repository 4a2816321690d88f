// Gmsh .msh: every variant of the format says the same mesh; writing and reading come back.
#include "io_text.h"

#include <math.h>

// Two tets that share a face, over five nodes whose numbers have gaps.
static const int NODES[5] = {10, 20, 30, 45, 7};
static const double POSITIONS[5][3] = {
    {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1.5, 1.25, 0.1}};
static const int TETS[2][4] = {{10, 20, 30, 45}, {20, 30, 45, 7}};
static const int32_t EXPECTED_TETS[8] = {0, 1, 2, 3, 1, 2, 3, 4};

static hk_mesh *read_good(const io_text *text)
{
    hk_mesh *mesh = NULL;
    if (hk_msh_format.read("good.msh", text->bytes, text->size, &mesh) != HK_OK)
        fail_msg("%s", hk_error());
    return mesh;
}

static void assert_two_tets(const hk_mesh *mesh)
{
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->tet_count, 2);
    assert_memory_equal(mesh->positions, POSITIONS, sizeof POSITIONS);
    assert_memory_equal(mesh->tets, EXPECTED_TETS, sizeof EXPECTED_TETS);
    static const int32_t second[] = {1}, first[] = {0}, shell[] = {0}, tips[] = {0, 4};
    assert_int_equal(mesh->group_count, 4);
    assert_group(mesh, "soft core", 3, 1, first);
    assert_group(mesh, "2", 3, 1, second);
    assert_group(mesh, "shell", 2, 1, shell);
    assert_group(mesh, "tips", 0, 2, tips);
    assert_int_equal(mesh->triangle_count, 1);
}

static void put_names(io_text *text)
{
    put(text, "$PhysicalNames\n3\n3 1 \"soft core\"\n2 9 \"shell\"\n0 4 \"tips\"\n"
              "$EndPhysicalNames\n");
}

// ---------------------------------------------------------------- 2.2

static void put_v2_text(io_text *text, const char *newline)
{
    char line[128];
    const char *head[] = {"$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", "5"};
    for (int i = 0; i < HK_COUNT_OF(head); i++) {
        put(text, head[i]);
        put(text, newline);
    }
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "%d %.17g %.17g %.17g%s", NODES[i], POSITIONS[i][0],
                 POSITIONS[i][1], POSITIONS[i][2], newline);
        put(text, line);
    }
    const char *tail[] = {"$EndNodes",
                          "$Elements",
                          "5",
                          "1 4 2 1 1 10 20 30 45",
                          "2 4 3 2 1 0 20 30 45 7",
                          "3 2 2 9 1 10 20 30",
                          "4 15 2 4 1 10",
                          "5 15 2 4 2 7",
                          "$EndElements"};
    for (int i = 0; i < HK_COUNT_OF(tail); i++) {
        put(text, tail[i]);
        put(text, newline);
    }
}

static void put_v2_binary(io_text *text)
{
    put(text, "$MeshFormat\n2.2 1 8\n");
    put_int(text, 1);
    put(text, "\n$EndMeshFormat\n");
    put_names(text);
    put(text, "$Nodes\n5\n");
    for (int i = 0; i < 5; i++) {
        put_int(text, NODES[i]);
        for (int k = 0; k < 3; k++) put_real(text, POSITIONS[i][k]);
    }
    put(text, "\n$EndNodes\n$Elements\n5\n");
    const int blocks[] = {4, 2, 2, 1,  1,  1,  10, 20, 30, 45, 2, 2, 1,  20, 30, 45, 7, 2, 1, 2,
                          3, 9, 1, 10, 20, 30, 15, 1,  2,  4,  4, 1, 10, 15, 1,  1,  5, 4, 7};
    for (int i = 0; i < HK_COUNT_OF(blocks); i++) put_int(text, blocks[i]);
    put(text, "\n$EndElements\n");
}

static void version_2_text(void **state)
{
    (void)state;
    static const char *const newlines[] = {"\n", "\r\n", " \n\n"};
    for (int i = 0; i < HK_COUNT_OF(newlines); i++) {
        io_text text = {.size = 0};
        put_v2_text(&text, newlines[i]);
        put_names(&text);
        hk_mesh *mesh = read_good(&text);
        assert_two_tets(mesh);
        assert_int_equal(mesh->note_count, 0);
        hk_mesh_free(mesh);
    }
}

static void version_2_binary_in_both_byte_orders(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        io_text text = {.swapped = swapped};
        put_v2_binary(&text);
        hk_mesh *mesh = read_good(&text);
        assert_two_tets(mesh);
        hk_mesh_free(mesh);
    }
}

static void parametric_nodes_of_version_2(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, "$MeshFormat\n2.1 0 8\n$EndMeshFormat\n$ParametricNodes\n3\n1 0 0 0 0 1\n"
               "2 1 0 0 1 1 0.5\n3 0 1 0 2 1 0.5 0.25\n$EndParametricNodes\n$Elements\n1\n"
               "1 2 0 1 2 3\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    assert_int_equal(mesh->triangle_count, 1);
    assert_true(mesh->positions[7] == 1);
    assert_int_equal(mesh->group_count, 0);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- 4.1

static void put_v4_text(io_text *text)
{
    put(text, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n");
    put_names(text);
    put(text, "$Entities\n2 1 1 2\n1 0 0 0 1 4 \n2 1 1 1 1 4 \n1 0 0 0 1 1 1 0 2 1 -2 \n"
              "1 0 0 0 1 1 1 1 -9 1 1 \n1 0 0 0 1 1 1 1 1 1 1 \n2 0 0 0 1 1 1 1 2 1 1 \n"
              "$EndEntities\n");
    // Three blocks, one of them empty, one with parameters.
    put(text, "$Nodes\n3 5 7 45\n0 1 0 0\n2 1 1 2\n10\n20\n0 0 0 0.5 0.25\n1 0 0 1 1\n"
              "3 1 0 3\n30\n45\n7\n0 1 0\n0 0 1\n1.5 1.25 0.1\n$EndNodes\n");
    put(text, "$Elements\n5 5 1 5\n3 1 4 1\n1 10 20 30 45\n3 2 4 1\n2 20 30 45 7\n"
              "2 1 2 1\n3 10 20 30\n0 1 15 1\n4 10\n0 2 15 1\n5 7\n$EndElements\n");
}

static void put_v4_entity(io_text *text, int dimension, int tag, int physical)
{
    put_int(text, tag);
    for (int k = 0; k < (dimension ? 6 : 3); k++) put_real(text, dimension == 3 ? INFINITY : k);
    put_size(text, physical != 0);
    if (physical) put_int(text, physical);
    if (dimension == 0) return;
    put_size(text, 1);
    put_int(text, -1);
}

static void put_v4_block(io_text *text, int dimension, int tag, int kind, uint64_t count)
{
    put_int(text, dimension);
    put_int(text, tag);
    put_int(text, kind);
    put_size(text, count);
}

static void put_v4_nodes(io_text *text)
{
    put(text, "$Nodes\n");
    const uint64_t counts[4] = {2, 5, 7, 45};
    for (int i = 0; i < 4; i++) put_size(text, counts[i]);
    for (int block = 0; block < 2; block++) {
        int first = block ? 2 : 0, last = block ? 5 : 2;
        put_v4_block(text, block ? 3 : 1, 1, block == 0, (uint64_t)(last - first));
        for (int i = first; i < last; i++) put_size(text, (uint64_t)NODES[i]);
        for (int i = first; i < last; i++) {
            for (int k = 0; k < 3; k++) put_real(text, POSITIONS[i][k]);
            if (block == 0) put_real(text, 0.5);
        }
    }
    put(text, "\n$EndNodes\n");
}

static void put_v4_binary(io_text *text)
{
    put(text, "$MeshFormat\n4.1 1 8\n");
    put_int(text, 1);
    put(text, "\n$EndMeshFormat\n");
    put_names(text);
    put(text, "$Entities\n");
    const uint64_t counts[4] = {2, 1, 1, 2};
    for (int i = 0; i < 4; i++) put_size(text, counts[i]);
    put_v4_entity(text, 0, 1, 4);
    put_v4_entity(text, 0, 2, 4);
    put_v4_entity(text, 1, 1, 0);
    put_v4_entity(text, 2, 1, 9);
    put_v4_entity(text, 3, 1, 1);
    put_v4_entity(text, 3, 2, 2);
    put(text, "\n$EndEntities\n");
    put_v4_nodes(text);
    put(text, "$Elements\n");
    const uint64_t totals[4] = {5, 5, 1, 5};
    for (int i = 0; i < 4; i++) put_size(text, totals[i]);
    for (int t = 0; t < 2; t++) {
        put_v4_block(text, 3, t + 1, 4, 1);
        put_size(text, (uint64_t)t + 1);
        for (int k = 0; k < 4; k++) put_size(text, (uint64_t)TETS[t][k]);
    }
    put_v4_block(text, 2, 1, 2, 1);
    put_size(text, 3);
    for (int k = 0; k < 3; k++) put_size(text, (uint64_t)TETS[0][k]);
    for (int p = 0; p < 2; p++) {
        put_v4_block(text, 0, p + 1, 15, 1);
        put_size(text, (uint64_t)p + 4);
        put_size(text, p ? 7 : 10);
    }
    put(text, "\n$EndElements\n");
}

static void version_4_text(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put_v4_text(&text);
    hk_mesh *mesh = read_good(&text);
    assert_two_tets(mesh);
    hk_mesh_free(mesh);
}

static void version_4_binary_in_both_byte_orders(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        io_text text = {.swapped = swapped};
        put_v4_binary(&text);
        hk_mesh *mesh = read_good(&text);
        assert_two_tets(mesh);
        hk_mesh_free(mesh);
    }
}

// An entity may be in several groups, which then share its elements.
static void groups_of_version_4_may_overlap(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 2 5 6 0\n"
               "$EndEntities\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
               "$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    static const int32_t only[] = {0};
    assert_int_equal(mesh->group_count, 2);
    assert_group(mesh, "5", 3, 1, only);
    assert_group(mesh, "6", 3, 1, only);
    hk_mesh_free(mesh);
}

// Elements of a partitioned mesh refer to its parts; their groups are those of the parts.
static void parts_of_version_4_have_groups(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 1 5 0\n"
               "$EndEntities\n$PartitionedEntities\n2\n1\n9 1\n1 0 0 2\n7 0 1 1 2 0 0 0 0\n"
               "1 3 1 1 1 0 0 0 1 1 1 1 6 0\n2 3 1 2 1 2 0 0 0 1 1 1 2 6 -6 1 7\n"
               "$EndPartitionedEntities\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n"
               "0 1 0\n0 0 1\n$EndNodes\n$Elements\n2 2 1 2\n3 1 4 1\n1 1 2 3 4\n3 2 4 1\n"
               "2 1 3 4 2\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    static const int32_t both[] = {0, 1};
    assert_int_equal(mesh->group_count, 1);
    assert_group(mesh, "6", 3, 2, both);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- what cannot be simulated

#define HEAD "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define CUBE                                                                               \
    "$Nodes\n10\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n" \
    "9 2 2 2\n10 3 3 3\n$EndNodes\n"

static void other_elements_are_counted(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, HEAD "$Comments\nhello\n$EndComments\n" CUBE
                    "$Elements\n8\n1 4 0 1 2 4 5\n2 5 2 3 3 1 2 3 4 5 6 7 8\n3 6 0 1 2 3 5 6 7\n"
                    "4 7 0 1 2 3 4 5\n5 3 2 8 8 1 2 3 4\n6 1 2 0 0 1 2\n7 1 2 6 6 2 3\n"
                    "8 77 2 0 0 1 2 3 4 5 6 7 8 9\n$EndElements\n"
                    "$Periodic\n0\n$EndPeriodic\n$NodeData\n$EndNodeData\n");
    hk_mesh *mesh = read_good(&text);
    assert_int_equal(mesh->tet_count, 1);
    assert_int_equal(mesh->triangle_count, 2);
    static const int32_t halves[] = {0, 1}, ends[] = {1, 2}, triangles[] = {0, 1, 2, 0, 2, 3};
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    assert_group(mesh, "8", 2, 2, halves);
    assert_group(mesh, "6", 0, 2, ends);
    assert_note(mesh, "left out 1 element of unknown type, 1 pyramid, 1 prism, 1 hexahedron and 1 "
                      "line: only tetrahedra are simulated");
    assert_note(mesh, "1 quadrangle split into triangles");
    assert_note(mesh, "skipped what is not needed: $Periodic, $NodeData");
    assert_note(mesh, "5 vertices belong to no tetrahedron or triangle");
    assert_note(mesh, "left out 1 group without elements");
    hk_mesh_free(mesh);
}

static void second_order_tets_are_read(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, HEAD CUBE "$Elements\n1\n1 11 2 1 1 1 2 4 5 3 6 7 8 9 10\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    static const int32_t corners[] = {0, 1, 3, 4};
    assert_memory_equal(mesh->tets, corners, sizeof corners);
    // Gmsh has the nodes between corners 2 3 and 1 3 in this order, the mesh the other way round.
    static const int32_t middles[] = {2, 5, 6, 7, 9, 8};
    assert_non_null(mesh->middles);
    assert_memory_equal(mesh->middles, middles, sizeof middles);
    hk_mesh_free(mesh);
}

static void a_surface_alone_is_a_mesh(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, HEAD CUBE "$Elements\n1\n1 2 0 1 2 3\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    assert_int_equal(mesh->tet_count, 0);
    assert_int_equal(mesh->triangle_count, 1);
    hk_mesh_free(mesh);
}

// Gmsh lists an element once for every physical group; it is still one element.
static void elements_listed_for_several_groups_are_merged(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    put(&text, HEAD CUBE "$Elements\n6\n1 4 2 1 1 1 2 4 5\n2 4 2 2 1 1 2 4 5\n3 4 2 1 1 2 3 4 7\n"
                         "4 4 2 1 1 2 3 4 7\n5 2 2 3 1 1 2 3\n6 2 2 4 1 1 2 3\n$EndElements\n");
    hk_mesh *mesh = read_good(&text);
    static const int32_t all[] = {0, 1, 2}, one[] = {0};
    // Tets 3 and 4 are the same in the same group: a defect that must be seen, not hidden.
    assert_int_equal(mesh->tet_count, 3);
    assert_int_equal(mesh->triangle_count, 1);
    assert_group(mesh, "1", 3, 3, all);
    assert_group(mesh, "2", 3, 1, one);
    assert_group(mesh, "3", 2, 1, one);
    assert_group(mesh, "4", 2, 1, one);
    assert_note(mesh, "merged 1 tetrahedron and 1 triangle listed again for a further group");
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- writing

static hk_mesh *make_grouped_mesh(void)
{
    hk_mesh *mesh = NULL;
    hk_group *group;
    assert_int_equal(hk_mesh_new(5, 2, 1, &mesh), HK_OK);
    memcpy(mesh->positions, POSITIONS, sizeof POSITIONS);
    mesh->positions[0] = 1.0 / 3;
    memcpy(mesh->tets, EXPECTED_TETS, sizeof EXPECTED_TETS);
    memcpy(mesh->triangles, EXPECTED_TETS, 3 * sizeof(int32_t));
    assert_int_equal(hk_mesh_add_group(mesh, "all \"of\" it", 3, 2, &group), HK_OK);
    memcpy(group->items, (int32_t[]){0, 1}, 8);
    assert_int_equal(hk_mesh_add_group(mesh, "7", 3, 1, &group), HK_OK);
    group->items[0] = 1;
    assert_int_equal(hk_mesh_add_group(mesh, "face", 2, 1, &group), HK_OK);
    group->items[0] = 0;
    assert_int_equal(hk_mesh_add_group(mesh, "tips", 0, 2, &group), HK_OK);
    memcpy(group->items, (int32_t[]){4, 2}, 8);
    return mesh;
}

static void written_and_read_again(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%sround.msh", folder);
    hk_mesh *mesh = make_grouped_mesh(), *again = NULL;
    const double heat[5] = {1, 2, 3, 4, 0.1}, stress[6] = {1, 2, 3, 4, 5, 6};
    const hk_field fields[] = {{"heat", HK_ON_VERTICES, 1, heat},
                               {"stress", HK_ON_TETS, 3, stress}};
    assert_int_equal(hk_mesh_save(mesh, path, fields, 2), HK_OK);
    hk_bytes bytes;
    assert_int_equal(hk_bytes_load(path, &bytes), HK_OK);
    assert_contains(bytes.data, "$NodeData\n1\n\"heat\"\n1\n0\n3\n0\n1\n5\n1 1\n");
    assert_contains(bytes.data, "5 0.10000000000000001\n$EndNodeData\n");
    assert_contains(bytes.data,
                    "$ElementData\n1\n\"stress\"\n1\n0\n3\n0\n3\n2\n1 1 2 3\n2 4 5 6\n");
    hk_bytes_free(&bytes);
    if (hk_mesh_load(path, &again) != HK_OK) fail_msg("%s", hk_error());
    assert_int_equal(again->vertex_count, 5);
    assert_memory_equal(again->positions, mesh->positions, sizeof POSITIONS);
    assert_int_equal(again->tet_count, 2);
    assert_memory_equal(again->tets, mesh->tets, sizeof EXPECTED_TETS);
    assert_int_equal(again->triangle_count, 1);
    static const int32_t all[] = {0, 1}, second[] = {1}, tips[] = {4, 2};
    assert_int_equal(again->group_count, 4);
    assert_group(again, "all 'of' it", 3, 2, all);
    assert_group(again, "7", 3, 1, second);
    assert_group(again, "face", 2, 1, all);
    assert_group(again, "tips", 0, 2, tips);
    hk_mesh_free(again);
    hk_mesh_free(mesh);
    remove_folder(folder);
}

static void writing_survives_failing_allocations(void **state)
{
    (void)state;
    const char *folder = make_folder();
    char path[256];
    snprintf(path, sizeof path, "%sround.msh", folder);
    hk_mesh *mesh = make_grouped_mesh();
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = hk_mesh_save(mesh, path, NULL, 0);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        assert_int_equal(access(path, F_OK) == 0, !reached);
        if (!reached) break;
    }
    hk_mesh_free(mesh);
    remove_folder(folder);
}

// ---------------------------------------------------------------- cut and starved

static void every_prefix_is_survived(void **state)
{
    (void)state;
    io_text texts[4] = {{.size = 0}};
    put_v2_text(&texts[0], "\n");
    put_v2_binary(&texts[1]);
    put_v4_text(&texts[2]);
    put_v4_binary(&texts[3]);
    for (int i = 0; i < 4; i++) try_all_prefixes(hk_msh_format.read, texts[i].bytes, texts[i].size);
}

static void reading_survives_failing_allocations(void **state)
{
    (void)state;
    io_text texts[3] = {{.size = 0}};
    put_v2_text(&texts[0], "\n");
    put_v4_text(&texts[1]);
    put_v4_binary(&texts[2]);
    for (int i = 0; i < 3; i++)
        try_failing_allocations(hk_msh_format.read, texts[i].bytes, texts[i].size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_text),
        cmocka_unit_test(version_2_binary_in_both_byte_orders),
        cmocka_unit_test(parametric_nodes_of_version_2),
        cmocka_unit_test(version_4_text),
        cmocka_unit_test(version_4_binary_in_both_byte_orders),
        cmocka_unit_test(groups_of_version_4_may_overlap),
        cmocka_unit_test(parts_of_version_4_have_groups),
        cmocka_unit_test(other_elements_are_counted),
        cmocka_unit_test(second_order_tets_are_read),
        cmocka_unit_test(a_surface_alone_is_a_mesh),
        cmocka_unit_test(elements_listed_for_several_groups_are_merged),
        cmocka_unit_test(written_and_read_again),
        cmocka_unit_test(writing_survives_failing_allocations),
        cmocka_unit_test(every_prefix_is_survived),
        cmocka_unit_test(reading_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
