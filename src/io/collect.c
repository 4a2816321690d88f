#include "io/collect.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mesh/quadratic.h"

static const struct {
    int dimension, corners;
    const char *one, *many;
} g_shapes[HK_ELEMENT_SHAPES] = {
    [HK_ELEMENT_POINT] = {0, 1, "point", "points"},
    [HK_ELEMENT_LINE] = {1, 2, "line", "lines"},
    [HK_ELEMENT_TRIANGLE] = {2, 3, "triangle", "triangles"},
    [HK_ELEMENT_QUAD] = {2, 4, "quadrangle", "quadrangles"},
    [HK_ELEMENT_TET] = {3, 4, "tetrahedron", "tetrahedra"},
    [HK_ELEMENT_HEX] = {3, 8, "hexahedron", "hexahedra"},
    [HK_ELEMENT_PRISM] = {3, 6, "prism", "prisms"},
    [HK_ELEMENT_PYRAMID] = {3, 5, "pyramid", "pyramids"},
    [HK_ELEMENT_OTHER] = {-1, 0, "element of unknown type", "elements of unknown type"},
};

int hk_element_dimension(hk_element_shape shape)
{
    return g_shapes[shape].dimension;
}
int hk_element_corners(hk_element_shape shape)
{
    return g_shapes[shape].corners;
}
const char *hk_element_name(hk_element_shape shape)
{
    return g_shapes[shape].one;
}

// ---------------------------------------------------------------- vertices

hk_status hk_collect_vertex(hk_collect *collect, int64_t id, const double position[3])
{
    size_t count = collect->soup.vertex_count;
    HK_TRY(hk_reserve((void **)&collect->ids, count, sizeof(int64_t), &collect->id_capacity,
                      count + 1));
    HK_TRY(hk_soup_vertices(&collect->soup, 1, position));
    collect->ids[count] = id;
    return HK_OK;
}

hk_status hk_collect_number(hk_collect *collect, int *duplicate)
{
    return hk_idmap_new((int)collect->soup.vertex_count, collect->ids, &collect->vertices,
                        duplicate);
}

void hk_collect_id_range(const hk_collect *collect, int64_t *least, int64_t *most)
{
    *least = INT64_MAX;
    *most = INT64_MIN;
    for (size_t i = 0; i < collect->soup.vertex_count; ++i) {
        if (collect->ids[i] < *least) *least = collect->ids[i];
        if (collect->ids[i] > *most) *most = collect->ids[i];
    }
}

// ---------------------------------------------------------------- groups

static size_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);  // FNV-1a
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ (hash >> 29));
}

static size_t group_slot(const hk_collect *collect, int dimension, int64_t tag)
{
    const int64_t key[2] = {dimension, tag};
    size_t mask = collect->slot_count - 1, slot = hash_bytes(key, sizeof key) & mask;
    for (; collect->group_slots[slot] >= 0; slot = (slot + 1) & mask) {
        const hk_collect_group *group = &collect->groups[collect->group_slots[slot]];
        if (group->dimension == dimension && group->tag == tag) break;
    }
    return slot;
}

static hk_status grow_slots(hk_collect *collect)
{
    if (2 * (collect->group_count + 1) <= collect->slot_count) return HK_OK;
    size_t count = collect->slot_count ? 2 * collect->slot_count : 32;
    int32_t *slots = HK_ARRAY(int32_t, count);
    if (!slots) return HK_NO_MEMORY;
    memset(slots, 0xff, count * sizeof(int32_t));
    hk_free(collect->group_slots);
    collect->group_slots = slots;
    collect->slot_count = count;
    for (size_t g = 0; g < collect->group_count; ++g)
        slots[group_slot(collect, collect->groups[g].dimension, collect->groups[g].tag)] =
            (int32_t)g;
    return HK_OK;
}

hk_status hk_collect_group_of(hk_collect *collect, int dimension, int64_t tag, int *group)
{
    HK_TRY(grow_slots(collect));
    size_t slot = group_slot(collect, dimension, tag);
    if (collect->group_slots[slot] < 0) {
        size_t count = collect->group_count;
        if (count >= INT_MAX) return hk_no_memory();
        HK_TRY(hk_reserve((void **)&collect->groups, count, sizeof(hk_collect_group),
                          &collect->group_capacity, count + 1));
        collect->groups[count] = (hk_collect_group){.dimension = dimension, .tag = tag};
        collect->group_slots[slot] = (int32_t)count;
        collect->group_count = count + 1;
    }
    *group = collect->group_slots[slot];
    return HK_OK;
}

hk_status hk_collect_name_group(hk_collect *collect, int group, const char *name, size_t length)
{
    char *copy = hk_strndup(name, length);
    if (!copy) return HK_NO_MEMORY;
    hk_free(collect->groups[group].name);
    collect->groups[group].name = copy;
    return HK_OK;
}

hk_status hk_collect_join(hk_collect *collect, int group, int32_t item)
{
    hk_collect_group *joined = &collect->groups[group];
    HK_TRY(hk_reserve((void **)&joined->items, joined->count, sizeof(int32_t), &joined->room,
                      joined->count + 1));
    joined->items[joined->count++] = item;
    return HK_OK;
}

// ---------------------------------------------------------------- elements

static hk_status join_all(hk_collect *collect, int group_count, const int *groups, int32_t item)
{
    for (int g = 0; g < group_count; ++g) HK_TRY(hk_collect_join(collect, groups[g], item));
    return HK_OK;
}

hk_status hk_collect_element(hk_collect *collect, hk_element_shape shape, bool high_order,
                             const int32_t *corners, int group_count, const int *groups)
{
    hk_soup *soup = &collect->soup;
    int32_t tet = (int32_t)soup->tet_count, triangle = (int32_t)soup->triangle_count;
    collect->high_order[shape] += high_order;
    switch (shape) {
    case HK_ELEMENT_TET:
        HK_TRY(hk_soup_tet(soup, corners));
        return join_all(collect, group_count, groups, tet);
    case HK_ELEMENT_TRIANGLE:
        HK_TRY(hk_soup_triangle(soup, corners[0], corners[1], corners[2]));
        return join_all(collect, group_count, groups, triangle);
    case HK_ELEMENT_QUAD:
        HK_TRY(hk_soup_triangle(soup, corners[0], corners[1], corners[2]));
        HK_TRY(hk_soup_triangle(soup, corners[0], corners[2], corners[3]));
        ++collect->split_quads;
        HK_TRY(join_all(collect, group_count, groups, triangle));
        return join_all(collect, group_count, groups, triangle + 1);
    case HK_ELEMENT_POINT:
    case HK_ELEMENT_LINE:
        for (int i = 0; i < g_shapes[shape].corners; ++i)
            HK_TRY(join_all(collect, group_count, groups, corners[i]));
        collect->left_out[shape] += group_count == 0;
        return HK_OK;
    default: ++collect->left_out[shape]; return HK_OK;
    }
}

hk_status hk_collect_quadratic(hk_collect *collect, hk_element_shape shape, const int32_t *nodes,
                               int group_count, const int *groups)
{
    hk_soup *soup = &collect->soup;
    int32_t tet = (int32_t)soup->tet_count, triangle = (int32_t)soup->triangle_count;
    if (shape == HK_ELEMENT_TET) {
        HK_TRY(hk_soup_quadratic(soup, nodes));
        return join_all(collect, group_count, groups, tet);
    }
    HK_TRY(hk_soup_quadratic_face(soup, nodes));
    collect->split_faces++;
    for (int k = 0; k < 4; k++) HK_TRY(join_all(collect, group_count, groups, triangle + k));
    return HK_OK;
}

// ---------------------------------------------------------------- repeated elements

// Finds or enters element e in a hash of elements by their corners: the first of its kind.
static size_t first_alike(int32_t *slots, size_t mask, const int32_t *elements, size_t corners,
                          size_t e)
{
    size_t bytes = corners * sizeof(int32_t);
    size_t slot = hash_bytes(elements + corners * e, bytes) & mask;
    for (; slots[slot] >= 0; slot = (slot + 1) & mask)
        if (memcmp(elements + corners * (size_t)slots[slot], elements + corners * e, bytes) == 0)
            return (size_t)slots[slot];
    slots[slot] = (int32_t)e;
    return e;
}

// Gmsh 2.2 lists an element once for every physical group that it belongs to. The copies, equal
// corners in a different group, become one element in several groups. owner[e] is the group of
// element e or -1 and becomes its new number; returns how many elements are left.
static size_t merge_elements(int32_t *elements, int32_t *middles, size_t corners, size_t count,
                             int32_t *owner, int32_t *slots, size_t mask)
{
    // The elements move only after all comparisons: slots refer to the old places. An owner
    // below -1 marks a copy: of element -2 - owner.
    for (size_t e = 0; e < count; ++e) {
        if (owner[e] < 0) continue;
        size_t first = first_alike(slots, mask, elements, corners, e);
        if (first != e && owner[first] != owner[e]) owner[e] = -2 - (int32_t)first;
    }
    size_t kept = 0;
    for (size_t e = 0; e < count; ++e) {
        if (owner[e] < -1) {
            owner[e] = owner[-2 - owner[e]];
            continue;
        }
        memmove(elements + corners * kept, elements + corners * e, corners * sizeof(int32_t));
        if (middles)
            memmove(middles + HK_MIDDLES * kept, middles + HK_MIDDLES * e,
                    HK_MIDDLES * sizeof(int32_t));
        owner[e] = (int32_t)kept++;
    }
    return kept;
}

static hk_status merge_repeats(hk_collect *collect, int dimension, size_t corners,
                               int32_t *elements, int32_t *middles, size_t *count)
{
    size_t groups = 0, places = 16;
    for (size_t g = 0; g < collect->group_count; ++g)
        groups += collect->groups[g].dimension == dimension && collect->groups[g].count > 0;
    if (groups < 2) return HK_OK;
    while (places < 2 * *count) places *= 2;
    int32_t *owner = HK_ARRAY(int32_t, *count), *slots = HK_ARRAY(int32_t, places);
    if (!owner || !slots) {
        hk_free(owner);
        hk_free(slots);
        return HK_NO_MEMORY;
    }
    memset(owner, 0xff, *count * sizeof(int32_t));
    memset(slots, 0xff, places * sizeof(int32_t));
    for (size_t g = 0; g < collect->group_count; ++g)
        if (collect->groups[g].dimension == dimension)
            for (size_t i = 0; i < collect->groups[g].count; ++i)
                owner[collect->groups[g].items[i]] = (int32_t)g;
    size_t kept = merge_elements(elements, middles, corners, *count, owner, slots, places - 1);
    for (size_t g = 0; g < collect->group_count; ++g)
        if (collect->groups[g].dimension == dimension)
            for (size_t i = 0; i < collect->groups[g].count; ++i)
                collect->groups[g].items[i] = owner[collect->groups[g].items[i]];
    collect->merged[dimension] = (int64_t)(*count - kept);
    *count = kept;
    hk_free(owner);
    hk_free(slots);
    return HK_OK;
}

// ---------------------------------------------------------------- notes

void hk_collect_skipped(hk_collect *collect, const char *word, size_t length)
{
    char listed[64];
    hk_quoted quoted = hk_quote(word, length);
    if (strstr(collect->skipped, quoted.text)) return;
    snprintf(listed, sizeof listed, "%s%s", collect->skipped[0] ? ", " : "", quoted.text);
    size_t used = strlen(collect->skipped), more = strlen(listed);
    if (used + more < sizeof collect->skipped) memcpy(collect->skipped + used, listed, more + 1);
}

// "12 hexahedra, 3 prisms and 1 line" of those shapes whose dimension is at least `least`.
static void list_shapes(const int64_t counts[HK_ELEMENT_SHAPES], int least, char *text, size_t room)
{
    int parts = 0, done = 0;
    for (int s = 0; s < HK_ELEMENT_SHAPES; ++s)
        parts += counts[s] > 0 && g_shapes[s].dimension >= least;
    size_t used = 0;
    text[0] = '\0';
    for (int s = HK_ELEMENT_SHAPES - 1; s >= 0; --s) {
        if (counts[s] <= 0 || g_shapes[s].dimension < least) continue;
        const char *between = done == 0 ? "" : done == parts - 1 ? " and " : ", ";
        int length = snprintf(text + used, room - used, "%s%" PRId64 " %s", between, counts[s],
                              counts[s] == 1 ? g_shapes[s].one : g_shapes[s].many);
        if (length < 0 || (size_t)length >= room - used) return;
        used += (size_t)length;
        ++done;
    }
}

static hk_status count_unreferenced(const hk_soup *soup, int64_t *unreferenced)
{
    char *seen = HK_ZEROS(char, soup->vertex_count);
    if (!seen) return HK_NO_MEMORY;
    for (size_t i = 0; i < 4 * soup->tet_count; ++i) seen[soup->tets[i]] = 1;
    for (size_t i = 0; i < HK_MIDDLES * soup->tet_count && soup->middles; ++i)
        if (soup->middles[i] >= 0) seen[soup->middles[i]] = 1;
    for (size_t i = 0; i < 3 * soup->triangle_count; ++i) seen[soup->triangles[i]] = 1;
    *unreferenced = 0;
    for (size_t v = 0; v < soup->vertex_count; ++v) *unreferenced += !seen[v];
    hk_free(seen);
    return HK_OK;
}

static hk_status add_notes(const hk_collect *collect, hk_mesh *mesh)
{
    char text[320];
    list_shapes(collect->left_out, -1, text, sizeof text);
    if (text[0]) HK_TRY(hk_mesh_add_note(mesh, "left out %s: only tetrahedra are simulated", text));
    if (collect->split_quads)
        HK_TRY(hk_mesh_add_note(mesh, "%" PRId64 " %s split into triangles", collect->split_quads,
                                collect->split_quads == 1 ? "quadrangle" : "quadrangles"));
    // Of left out shapes the order does not matter.
    int64_t by_corners[HK_ELEMENT_SHAPES] = {0};
    by_corners[HK_ELEMENT_TET] = collect->high_order[HK_ELEMENT_TET];
    by_corners[HK_ELEMENT_TRIANGLE] = collect->high_order[HK_ELEMENT_TRIANGLE];
    // Merged copies were counted, too.
    if (by_corners[HK_ELEMENT_TET] > mesh->tet_count) by_corners[HK_ELEMENT_TET] = mesh->tet_count;
    if (by_corners[HK_ELEMENT_TRIANGLE] > mesh->triangle_count)
        by_corners[HK_ELEMENT_TRIANGLE] = mesh->triangle_count;
    by_corners[HK_ELEMENT_QUAD] = collect->high_order[HK_ELEMENT_QUAD];
    list_shapes(by_corners, 0, text, sizeof text);
    if (text[0])
        HK_TRY(hk_mesh_add_note(mesh, "%s of higher order: only the corners are used", text));
    int64_t merged[HK_ELEMENT_SHAPES] = {0};
    merged[HK_ELEMENT_TET] = collect->merged[3];
    merged[HK_ELEMENT_TRIANGLE] = collect->merged[2];
    list_shapes(merged, 0, text, sizeof text);
    if (text[0]) HK_TRY(hk_mesh_add_note(mesh, "merged %s listed again for a further group", text));
    if (collect->skipped[0])
        HK_TRY(hk_mesh_add_note(mesh, "skipped what is not needed: %s", collect->skipped));
    int64_t unreferenced;
    HK_TRY(count_unreferenced(&collect->soup, &unreferenced));
    if (unreferenced)
        HK_TRY(hk_mesh_add_note(mesh, "%" PRId64 " %s to no tetrahedron or triangle", unreferenced,
                                unreferenced == 1 ? "vertex belongs" : "vertices belong"));
    return HK_OK;
}

// ---------------------------------------------------------------- the mesh

static hk_status check_content(const hk_collect *collect)
{
    if (collect->soup.tet_count > 0) return HK_OK;
    char text[320];
    list_shapes(collect->left_out, 3, text, sizeof text);
    if (text[0])
        return hk_fail(HK_UNSUPPORTED,
                       "%s: its volume elements are %s, and only tetrahedra can be simulated: "
                       "mesh the volume with tetrahedra",
                       collect->name, text);
    if (collect->soup.triangle_count > 0) return HK_OK;
    list_shapes(collect->left_out, -1, text, sizeof text);
    return hk_fail(HK_BAD_INPUT, "%s: has no tetrahedra and no triangles, only %zu vertices%s%s",
                   collect->name, collect->soup.vertex_count, text[0] ? " and " : "", text);
}

static int compare_groups(const void *left, const void *right)
{
    const hk_collect_group *a = left, *b = right;
    if (a->dimension != b->dimension) return a->dimension > b->dimension ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

// A vertex may come with several points and lines of the group: each is kept once.
static size_t keep_once(int32_t *items, size_t count, int32_t *mark, int32_t group)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (mark[items[i]] == group) continue;
        mark[items[i]] = group;
        items[kept++] = items[i];
    }
    return kept;
}

static hk_status add_group(const hk_collect *collect, const hk_collect_group *group, hk_mesh *mesh)
{
    char by_tag[96];
    const char *prefix = collect->prefix[group->dimension];
    snprintf(by_tag, sizeof by_tag, "%s%" PRId64, prefix ? prefix : "", group->tag);
    hk_group *added;
    HK_TRY(hk_mesh_add_group(mesh, group->name ? group->name : by_tag,
                             group->dimension >= 2 ? group->dimension : 0, (int32_t)group->count,
                             &added));
    memcpy(added->items, group->items, group->count * sizeof(int32_t));
    return HK_OK;
}

static hk_status add_groups(hk_collect *collect, hk_mesh *mesh)
{
    if (collect->group_count == 0) return HK_OK;
    qsort(collect->groups, collect->group_count, sizeof(hk_collect_group), compare_groups);
    size_t of_dimension[4] = {0}, empty = 0;
    const hk_collect_group *first_empty = NULL;
    int32_t *mark = HK_ARRAY(int32_t, collect->soup.vertex_count);
    if (!mark) return HK_NO_MEMORY;
    memset(mark, 0xff, collect->soup.vertex_count * sizeof(int32_t));
    for (size_t g = 0; g < collect->group_count; ++g) {
        hk_collect_group *group = &collect->groups[g];
        if (group->dimension < 2)
            group->count = keep_once(group->items, group->count, mark, (int32_t)g);
        ++of_dimension[group->dimension];
    }
    hk_free(mark);
    for (size_t g = 0; g < collect->group_count; ++g) {
        const hk_collect_group *group = &collect->groups[g];
        if (group->count > INT32_MAX) return hk_no_memory();
        bool lone =
            collect->drop_lone_groups && !group->name && of_dimension[group->dimension] == 1;
        if (group->count == 0) {
            if (empty++ == 0) first_empty = group;
        } else if (!lone) {
            HK_TRY(add_group(collect, group, mesh));
        }
    }
    if (empty == 0) return HK_OK;
    const char *name = first_empty->name ? first_empty->name : "";
    return hk_mesh_add_note(mesh, "left out %zu %s without elements, the first is \"%.60s\" (%lld)",
                            empty, empty == 1 ? "group" : "groups", name,
                            (long long)first_empty->tag);
}

hk_status hk_collect_mesh(hk_collect *collect, hk_mesh **mesh)
{
    HK_TRY(check_content(collect));
    hk_soup *soup = &collect->soup;
    if (collect->merge_repeats) {
        HK_TRY(merge_repeats(collect, 3, 4, soup->tets, soup->middles, &soup->tet_count));
        HK_TRY(merge_repeats(collect, 2, 3, soup->triangles, NULL, &soup->triangle_count));
    }
    hk_mesh *made = NULL;
    HK_TRY(hk_soup_mesh(soup, &made));
    hk_status status = add_groups(collect, made);
    if (status == HK_OK) status = add_notes(collect, made);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

void hk_collect_free(hk_collect *collect)
{
    for (size_t g = 0; g < collect->group_count; ++g) {
        hk_free(collect->groups[g].name);
        hk_free(collect->groups[g].items);
    }
    hk_free(collect->groups);
    hk_free(collect->group_slots);
    hk_free(collect->ids);
    hk_idmap_free(collect->vertices);
    hk_soup_free(&collect->soup);
    *collect = (hk_collect){0};
}
