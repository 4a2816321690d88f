// Gmsh .msh files that are wrong: each is refused with a message that says where and what.
#include "io_text.h"

#include <math.h>

#define V2      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define V4      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES   "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
#define NODES_4 "$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"
#define TETS    "$Elements\n1\n1 4 0 1 2 3 4\n$EndElements\n"

static const bad_file g_headers[] = {
    {"", "bad.msh:1: the file ends without a section $MeshFormat"},
    {"\n\n  \n", "bad.msh:4: the file ends without a section $MeshFormat"},
    {"hello",
     "bad.msh:1: expected a section such as $MeshFormat, found \"hello\": not a Gmsh mesh"},
    {"$Nodes\n", "bad.msh:1: $Nodes stands before $MeshFormat"},
    {"$NOD\n1\n", "format 1 is not read"},
    {"$MeshFormat\n4.0 0 8\n$EndMeshFormat\n",
     "bad.msh:2: Gmsh format 4 is not read: save the mesh as version 2.2 or 4.1"},
    {"$MeshFormat\n3 0 8\n", "Gmsh format 3 is not read"},
    {"$MeshFormat\nx 0 8\n",
     "bad.msh:2: expected the version of the format, a finite number, found \"x\""},
    {"$MeshFormat\n2.2 7 8\n", "expected 0 (text) or 1 (binary) after the version, found 7"},
    {"$MeshFormat\n2.2 0 16\n", "numbers of 16 bytes are not read"},
    {"$MeshFormat\n2.2 0\n", "bad.msh:2: the line ends where the size of numbers (8) was expected"},
    {"$MeshFormat\n2.2 0 8\n$Nodes\n",
     "bad.msh:3: expected $EndMeshFormat after what the section announces, found \"$Nodes\""},
    {"$MeshFormat\n2.2 1 8\n\x02\n\n\n",
     "bad.msh: byte 24: expected the number 1 that tells the byte order"},
    {V2 V2, "bad.msh:4: a second $MeshFormat section"},
    {V2, "the file ends without a section $Nodes"},
    {V2 NODES, "the file ends without a section $Elements"},
    {V2 TETS, "bad.msh:4: $Elements must come after $Nodes"},
    {V2 NODES NODES, "bad.msh:11: a second $Nodes section"},
    {V2 NODES TETS TETS, "a second $Elements section"},
    {V2 NODES "$Stuff\n1 2 3\n", "bad.msh:11: section $Stuff is not ended by $EndStuff"},
    {V2 NODES "$\n", "expected a section such as $Elements, found \"$\""},
    {V2 "$PhysicalNames\n1\n7 1 \"x\"\n",
     "bad.msh:6: the dimension of a physical group is 0 to 3, not 7"},
    {V2 "$PhysicalNames\n1\n3 1\n", "bad.msh:6: the line ends where the name of a physical group"},
    {V2 "$PhysicalNames\n99\n3 1 \"x\"\n", "the number of physical names is 99, but"},
};

static const bad_file g_nodes[] = {
    {V2 "$Nodes\n", "bad.msh:5: the file ends where the number of nodes was expected"},
    {V2 "$Nodes\nfour\n", "bad.msh:5: expected the number of nodes, an integer, found \"four\""},
    {V2 "$Nodes\n-4\n", "bad.msh:5: the number of nodes is -4: it must not be negative"},
    {V2 "$Nodes\n1000000000000000000\n1 0 0 0\n",
     "the number of nodes is 1000000000000000000, but the rest of the file has room for"},
    {V2 "$Nodes\n99999999999999999999\n", "an integer of at most 64 bits"},
    {V2 "$Nodes\n2\n1 0 0 0\n", "the number of nodes is 2, but the rest"},
    {V2 "$Nodes\n2\n1 0 0 0\n\n\n\n\n\n\n\n", "the file ends where a node number was expected"},
    {V2 "$Nodes\n1\n1 0 0\n$EndNodes\n",
     "bad.msh:6: node 1: the line ends where its z coordinate was expected"},
    {V2 "$Nodes\n1\n1 0 0 0 0\n$EndNodes\n",
     "bad.msh:6: node 1: expected the end of the line, found \"0\""},
    {V2 "$Nodes\n1\n1 0 nan 0\n$EndNodes\n",
     "bad.msh:6: node 1: expected its y coordinate, a finite number, found \"nan\""},
    {V2 "$Nodes\n1\n1 inf 0 0\n$EndNodes\n", "node 1: expected its x coordinate"},
    {V2 "$Nodes\n1\n1 1e999 0 0\n$EndNodes\n", "found \"1e999\""},
    {V2 "$Nodes\n1\n1.5 0 0 0\n$EndNodes\n", "expected a node number, an integer, found \"1.5\""},
    {V2 "$Nodes\n2\n5 0 0 0\n5 1 0 0\n$EndNodes\n",
     "node 5 is defined twice: the second time as node 2 of $Nodes"},
    {V2 "$Nodes\n1\n1 0 0 0\n2 0 0 0\n$EndNodes\n",
     "bad.msh:7: expected $EndNodes after what the section announces, found \"2\""},
    {V4 "$Nodes\n1 4 1 4\n3 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 0\n$EndNodes\n",
     "the blocks have 3 nodes, but the section announces 4"},
    {V4 "$Nodes\n1 2 1 4\n3 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 0\n$EndNodes\n",
     "a block of 3 nodes, but the section has 2 left"},
    {V4 "$Nodes\n1 1 1 1\n9 1 0 1\n1\n0 0 0\n", "the dimension of a block is 0 to 3, not 9"},
    {V4 "$Nodes\n1 1 1 1\n3 1 5 1\n1\n0 0 0\n",
     "whether the nodes are parametric (0 or 1), found 5"},
    {V4 "$Nodes\n1 1 1 1\n3 1 1 1\n1\n0 0 0\n$EndNodes\n",
     "node 1: the line ends where its parameter u was expected"},
    {V4 "$Nodes\n1000000000000 1 1 1\n", "the number of blocks is 1000000000000, but"},
    {V4 "$Nodes\n1 -1 1 1\n", "the number of nodes is -1: it must not be negative"},
};

static const bad_file g_elements[] = {
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 5\n$EndElements\n",
     "bad.msh:13: element 1: this tetrahedron names node 5, which is not defined (nodes are 1 to "
     "4)"},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 0\n$EndElements\n", "names node 0"},
    {V2 NODES "$Elements\n1\n8 4 0 1 2 3 -1\n$EndElements\n",
     "element 8: this tetrahedron names node -1"},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3\n$EndElements\n",
     "bad.msh:13: element 1: the line ends where a node of the element was expected"},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 4 4\n$EndElements\n",
     "element 1: expected the end of the line, found \"4\""},
    {V2 NODES "$Elements\n1\n1 4 -2 1 2 3 4\n$EndElements\n",
     "element 1: expected its number of tags, found -2"},
    {V2 NODES "$Elements\n1\n1 4 1000000000 1 2 3 4\n$EndElements\n",
     "expected its number of tags"},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 x\n$EndElements\n",
     "element 1: expected a node of the element, an integer, found \"x\""},
    {V2 NODES "$Elements\n2\n1 4 0 1 2 3 4\n$EndElements\n",
     "bad.msh:14: expected an element number, an integer, found \"$EndElements\""},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 4\n2 4 0 1 2 3 4\n$EndElements\n",
     "bad.msh:14: expected $EndElements after what the section announces"},
    {V2 NODES "$Elements\n1\n1 4 0 1 2 3 4\n", "the file ends where $EndElements was expected"},
    {V2 NODES "$Elements\n5000000000000\n", "the number of elements is 5000000000000, but"},
    {V2 NODES "$Elements\n0\n$EndElements\n",
     "bad.msh: has no tetrahedra and no triangles, only 4 vertices"},
    {V2 NODES "$Elements\n1\n1 15 0 1\n$EndElements\n",
     "has no tetrahedra and no triangles, only 4 vertices and 1 point"},
    {V2 NODES "$Elements\n2\n1 7 0 1 2 3 4 1\n2 2 0 1 2 3\n$EndElements\n",
     "bad.msh: its volume elements are 1 pyramid, and only tetrahedra can be simulated"},
    {V2 "$Nodes\n0\n$EndNodes\n" TETS, "names node 1, but there are no nodes"},
    {V4 NODES_4 "$Elements\n1 1 1 1\n2 1 4 1\n1 1 2 3 4\n$EndElements\n",
     "a tetrahedron has dimension 3, but the block says 2"},
    {V4 NODES_4 "$Elements\n1 2 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n",
     "the blocks have 1 elements, but the section announces 2"},
    {V4 NODES_4 "$Elements\n1 1 1 1\n3 1 4 2\n1 1 2 3 4\n2 1 2 3 4\n$EndElements\n",
     "a block of 2 elements, but the section has 1 left"},
    {V4 NODES_4 "$Elements\n1 1 1 1\n3 99999999999 4 1\n1 1 2 3 4\n$EndElements\n",
     "the entity of a block, 99999999999, is out of range"},
    {V4 NODES_4 "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 9\n$EndElements\n",
     "bad.msh:19: element 1: this tetrahedron names node 9"},
    {V4 "$Entities\n0 0 0 2\n1 0 0 0 1 1 1 0 0\n1 0 0 0 1 1 1 0 0\n$EndEntities\n",
     "an entity is defined twice"},
    {V4 "$Entities\n0 0 0 1\n1 0 0 0 1 1 1 999999\n",
     "volume 1: its number of physical groups is 999999, but"},
    {V4 "$Entities\n0 0 0 1\n1 0 0 0 1 1 1\n$EndEntities\n",
     "volume 1: the line ends where its number of physical groups"},
};

static void refuse_all(const bad_file *files, int count)
{
    for (int i = 0; i < count; i++)
        assert_refused(hk_msh_format.read, "bad.msh", files[i].text, strlen(files[i].text),
                       files[i].message);
}

static void bad_headers(void **state)
{
    (void)state;
    refuse_all(g_headers, HK_COUNT_OF(g_headers));
}

static void bad_nodes(void **state)
{
    (void)state;
    refuse_all(g_nodes, HK_COUNT_OF(g_nodes));
}

static void bad_elements(void **state)
{
    (void)state;
    refuse_all(g_elements, HK_COUNT_OF(g_elements));
}

static void begin_binary(io_text *text, const char *version)
{
    put(text, "$MeshFormat\n");
    put(text, version);
    put(text, " 1 8\n");
    put_int(text, 1);
    put(text, "\n$EndMeshFormat\n");
}

static void refuse_binary(const io_text *text, const char *message)
{
    assert_refused(hk_msh_format.read, "bad.msh", text->bytes, text->size, message);
}

static void bad_bytes_of_version_2(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    begin_binary(&text, "2.2");
    put(&text, "$Nodes\n1\n");
    size_t node = text.size;
    put_int(&text, 1);
    put_real(&text, 0);
    put_real(&text, NAN);
    put_real(&text, 0);
    put(&text, "\n$EndNodes\n");
    char where[64];
    snprintf(where, sizeof where, "bad.msh: byte %zu: node 1: expected its y coordinate",
             node + 20);
    refuse_binary(&text, where);

    text.size = node + 12;
    put_real(&text, 0);
    put_real(&text, 0);
    put(&text, "\n$EndNodes\n$Elements\n1\n");
    size_t elements = text.size;
    const int unknown[] = {77, 1, 0, 1, 1, 1, 1, 1};
    for (int i = 0; i < HK_COUNT_OF(unknown); i++) put_int(&text, unknown[i]);
    refuse_binary(&text, "element type 77 is unknown, so that its elements cannot be skipped");

    text.size = elements;
    const int lying[] = {4, 1000000, 0, 1, 1, 1, 1, 1};
    for (int i = 0; i < HK_COUNT_OF(lying); i++) put_int(&text, lying[i]);
    refuse_binary(&text, "a block of 1000000 elements, but the section has 1 left");

    text.size = elements;
    const int stray[] = {4, 1, 0, 3, 1, 1, 1, 2};
    for (int i = 0; i < HK_COUNT_OF(stray); i++) put_int(&text, stray[i]);
    refuse_binary(&text, "element 3: this tetrahedron names node 2, which is not defined");
}

static void bad_bytes_of_version_4(void **state)
{
    (void)state;
    io_text text = {.size = 0};
    begin_binary(&text, "4.1");
    put(&text, "$Nodes\n");
    size_t counts = text.size;
    put_size(&text, 1);
    put_size(&text, UINT64_C(1) << 60);
    refuse_binary(&text, "the number of blocks is 1, but the rest of the file has room for 0");
    for (int i = 0; i < 20; i++) put_size(&text, 0);
    refuse_binary(&text, "the number of nodes is 1152921504606846976, but the rest");
    text.size = counts;
    for (int i = 0; i < 20; i++) put_size(&text, UINT64_MAX);
    refuse_binary(&text, "expected the number of blocks, found 18446744073709551615");
}

static void random_bytes_are_refused(void **state)
{
    (void)state;
    char bytes[4096];
    uint32_t random = 1;
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
        static const char *const heads[] = {"", V2, V4, V2 "$Nodes\n",
                                            "$MeshFormat\n2.2 1 8\n\1\0"};
        const char *head = heads[round % HK_COUNT_OF(heads)];
        memcpy(bytes, head, strlen(head));
        assert_refused(hk_msh_format.read, "random", bytes, sizeof bytes, "random:");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_headers),
        cmocka_unit_test(bad_nodes),
        cmocka_unit_test(bad_elements),
        cmocka_unit_test(bad_bytes_of_version_2),
        cmocka_unit_test(bad_bytes_of_version_4),
        cmocka_unit_test(random_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
