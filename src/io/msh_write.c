// Gmsh .msh, version 2.2, text: elements with physical groups, fields as $NodeData, $ElementData.
//
// An element of this version has one physical tag. One that is in several groups is listed again
// for each further group, as Gmsh itself does; the reader makes it one element again.
#include "io/msh.h"

#include <inttypes.h>

#include "mesh/quadratic.h"

enum {
    TYPE_TRIANGLE = 2,
    TYPE_TET = 4,
    TYPE_QUADRATIC_TRIANGLE = 9,
    TYPE_QUADRATIC_TET = 11,
    TYPE_POINT = 15
};

// The tag that a name such as "7" stands for (the reader's name of an unnamed group); 0: none.
static int32_t tag_of_name(const char *name)
{
    int64_t tag = 0;
    if (name[0] < '1' || name[0] > '9') return 0;
    for (; *name; ++name) {
        if (*name < '0' || *name > '9' || tag > INT32_MAX) return 0;
        tag = 10 * tag + (*name - '0');
    }
    return tag <= INT32_MAX ? (int32_t)tag : 0;
}

// tags[g] for every group: its number if its name is one, else one that is not taken.
// Returns how many groups need their name written.
static int choose_tags(const hk_mesh *mesh, int32_t *tags)
{
    int32_t most = 0;
    int named = 0;
    for (int g = 0; g < mesh->group_count; ++g) {
        tags[g] = tag_of_name(mesh->groups[g].name);
        // Leave room above for the named ones.
        if (tags[g] > INT32_MAX - mesh->group_count) tags[g] = 0;
        if (tags[g] > most) most = tags[g];
        named += tags[g] == 0;
    }
    for (int g = 0; g < mesh->group_count; ++g)
        if (tags[g] == 0) tags[g] = ++most;
    return named;
}

// In quotes. A quote or a line end inside would end the name.
static void write_quoted(hk_out *out, const char *name)
{
    hk_out_bytes(out, "\"", 1);
    for (const char *c = name; *c; ++c)
        hk_out_bytes(out, *c == '"' ? "'" : *c == '\n' || *c == '\r' ? " " : c, 1);
    hk_out_bytes(out, "\"\n", 2);
}

static void write_names(hk_out *out, const hk_mesh *mesh, const int32_t *tags, int named)
{
    if (named == 0) return;
    hk_out_text(out, "$PhysicalNames\n%d\n", named);
    for (int g = 0; g < mesh->group_count; ++g) {
        const hk_group *group = &mesh->groups[g];
        if (tag_of_name(group->name) == tags[g]) continue;
        hk_out_text(out, "%d %" PRId32 " ", group->dimension, tags[g]);
        write_quoted(out, group->name);
    }
    hk_out_text(out, "$EndPhysicalNames\n");
}

static void write_element(hk_out *out, int64_t number, int type, int32_t tag,
                          const int32_t *corners, int corner_count)
{
    hk_out_text(out, "%" PRId64 " %d 2 %" PRId32 " %" PRId32, number, type, tag, tag);
    for (int i = 0; i < corner_count; ++i) hk_out_text(out, " %" PRId32, corners[i] + 1);
    hk_out_text(out, "\n");
}

// The first group of every element of the dimension, -1: none. Returns how many further
// memberships there are.
static int64_t first_groups(const hk_mesh *mesh, int dimension, int count, int32_t *first)
{
    int64_t further = 0;
    memset(first, 0xff, (size_t)count * sizeof(int32_t));
    for (int g = 0; g < mesh->group_count; ++g) {
        const hk_group *group = &mesh->groups[g];
        if (group->dimension != dimension) continue;
        for (int32_t i = 0; i < group->count; ++i) {
            if (first[group->items[i]] < 0)
                first[group->items[i]] = g;
            else
                ++further;
        }
    }
    return further;
}

typedef struct element_list {
    int dimension, type, corners, count;
    const int32_t *elements;  // [count][corners]
    const int32_t *middles;   // [count][6] of tets that are quadratic; NULL: none is
    const uint8_t *faces;     // [count] of triangles, or NULL: 1 the first of the four of a face of
                              // quadratic tets, 2 the others
    int32_t *first;           // [count] group or -1
    int64_t further;
} element_list;

// One of a list; of the four triangles of a face of quadratic tets the first stands for all.
static void write_listed(hk_out *out, const element_list *list, int e, int32_t tag, int64_t *number)
{
    const int32_t *corners = list->elements + (size_t)list->corners * (size_t)e;
    int32_t nodes[HK_QUADRATIC_NODES];
    if (list->middles && list->middles[HK_MIDDLES * (size_t)e] >= 0) {
        hk_quadratic_nodes(corners, list->middles + HK_MIDDLES * (size_t)e, nodes);
        hk_msh_exchange_middles(nodes);
        write_element(out, ++*number, TYPE_QUADRATIC_TET, tag, nodes, HK_QUADRATIC_NODES);
    } else if (list->faces && list->faces[e] == 1) {
        hk_is_split_face((const int32_t(*)[3])corners, nodes);
        write_element(out, ++*number, TYPE_QUADRATIC_TRIANGLE, tag, nodes, 6);
    } else if (!list->faces || list->faces[e] == 0) {
        write_element(out, ++*number, list->type, tag, corners, list->corners);
    }
}

// Every element once, tagged with its first group.
static void write_once(hk_out *out, const element_list *list, const int32_t *tags, int64_t *number)
{
    for (int e = 0; e < list->count; ++e)
        write_listed(out, list, e, list->first[e] < 0 ? 0 : tags[list->first[e]], number);
}

// The memberships that are not the first of their element.
static void write_again(hk_out *out, const hk_mesh *mesh, const element_list *list,
                        const int32_t *tags, int64_t *number)
{
    for (int g = 0; g < mesh->group_count; ++g) {
        const hk_group *group = &mesh->groups[g];
        if (group->dimension != list->dimension) continue;
        for (int32_t i = 0; i < group->count; ++i)
            if (list->first[group->items[i]] != g)
                write_listed(out, list, group->items[i], tags[g], number);
    }
}

// The four triangles of a face are one element, if they are in the same groups.
static void find_faces(const hk_mesh *mesh, uint8_t *faces)
{
    for (int t = 0; t + 4 <= mesh->triangle_count; ++t) {
        int32_t four[4][3], node[6];
        memcpy(four, mesh->triangles + 3 * (size_t)t, sizeof four);
        if (!hk_is_split_face((const int32_t(*)[3])four, node)) continue;
        faces[t] = 1;
        memset(faces + t + 1, 2, 3);
        t += 3;
    }
    for (int g = 0; g < mesh->group_count; ++g) {
        const hk_group *group = &mesh->groups[g];
        if (group->dimension != 2) continue;
        // A group that has a part of a face takes it apart.
        for (int32_t i = 0; i < group->count;) {
            int32_t first = group->items[i], whole = 1;
            while (whole < 4 && i + whole < group->count &&
                   group->items[i + whole] == first + whole)
                ++whole;
            if (faces[first] == 1 && whole == 4) {
                i += 4;
                continue;
            }
            while (faces[first] == 2) --first;
            if (faces[first] == 1) memset(faces + first, 0, 4);
            ++i;
        }
    }
}

// Triangles that are not written because the first of their face stands for them.
static int64_t merged_triangles(const hk_mesh *mesh, const element_list *triangles)
{
    int64_t merged = 0;
    for (int t = 0; t < mesh->triangle_count && triangles->faces; ++t)
        merged += triangles->faces[t] == 2;
    for (int g = 0; g < mesh->group_count && triangles->faces; ++g)
        for (int32_t i = 0; i < mesh->groups[g].count && mesh->groups[g].dimension == 2; ++i) {
            int32_t t = mesh->groups[g].items[i];
            merged += triangles->faces[t] == 2 && triangles->first[t] != g;
        }
    return merged;
}

// Tets come first, so that tet t is element t + 1 and fields can name it.
static void write_elements(hk_out *out, const hk_mesh *mesh, element_list *tets,
                           element_list *triangles, const int32_t *tags)
{
    tets->further = first_groups(mesh, 3, tets->count, tets->first);
    triangles->further = first_groups(mesh, 2, triangles->count, triangles->first);
    int64_t total = tets->count + triangles->count + tets->further + triangles->further;
    total -= merged_triangles(mesh, triangles);
    for (int g = 0; g < mesh->group_count; ++g)
        if (mesh->groups[g].dimension == 0) total += mesh->groups[g].count;
    hk_out_text(out, "$Elements\n%" PRId64 "\n", total);
    int64_t number = 0;
    write_once(out, tets, tags, &number);
    write_once(out, triangles, tags, &number);
    for (int g = 0; g < mesh->group_count; ++g)
        if (mesh->groups[g].dimension == 0)
            for (int32_t i = 0; i < mesh->groups[g].count; ++i)
                write_element(out, ++number, TYPE_POINT, tags[g], &mesh->groups[g].items[i], 1);
    write_again(out, mesh, tets, tags, &number);
    write_again(out, mesh, triangles, tags, &number);
    hk_out_text(out, "$EndElements\n");
}

static void write_field(hk_out *out, const hk_mesh *mesh, const hk_field *field)
{
    bool on_vertices = field->site == HK_ON_VERTICES;
    const char *section = on_vertices ? "NodeData" : "ElementData";
    int count = on_vertices ? mesh->vertex_count : mesh->tet_count;
    hk_out_text(out, "$%s\n1\n", section);
    write_quoted(out, field->name);
    // One real tag, the time; three integers: the time step, the components, the count.
    hk_out_text(out, "1\n0\n3\n0\n%d\n%d\n", field->components, count);
    for (int i = 0; i < count; ++i) {
        hk_out_text(out, "%d", i + 1);
        for (int k = 0; k < field->components; ++k)
            hk_out_text(out, " %.17g",
                        field->values[(size_t)i * (size_t)field->components + (size_t)k]);
        hk_out_text(out, "\n");
    }
    hk_out_text(out, "$End%s\n", section);
}

hk_status hk_msh_write(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count)
{
    int32_t *tags = HK_ARRAY(int32_t, mesh->group_count);
    element_list tets = {3,          TYPE_TET,      4,    mesh->tet_count,
                         mesh->tets, mesh->middles, NULL, HK_ARRAY(int32_t, mesh->tet_count),
                         0};
    uint8_t *faces = mesh->middles ? HK_ZEROS(uint8_t, mesh->triangle_count) : NULL;
    element_list triangles = {2,
                              TYPE_TRIANGLE,
                              3,
                              mesh->triangle_count,
                              mesh->triangles,
                              NULL,
                              faces,
                              HK_ARRAY(int32_t, mesh->triangle_count),
                              0};
    hk_status status = HK_NO_MEMORY;
    if (tags && tets.first && triangles.first && (faces || !mesh->middles)) {
        status = HK_OK;
        if (faces) find_faces(mesh, faces);
        hk_out_text(out, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n");
        write_names(out, mesh, tags, choose_tags(mesh, tags));
        hk_out_text(out, "$Nodes\n%d\n", mesh->vertex_count);
        for (int v = 0; v < mesh->vertex_count; ++v) {
            const double *x = mesh->positions + 3 * (size_t)v;
            hk_out_text(out, "%d %.17g %.17g %.17g\n", v + 1, x[0], x[1], x[2]);
        }
        hk_out_text(out, "$EndNodes\n");
        write_elements(out, mesh, &tets, &triangles, tags);
        for (int f = 0; f < field_count; ++f) write_field(out, mesh, &fields[f]);
    }
    hk_free(tags);
    hk_free(tets.first);
    hk_free(triangles.first);
    hk_free(faces);
    return status;
}
