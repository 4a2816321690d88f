// Selectors: which vertices or tets something applies to.
#include "scene/scene.h"

static hk_status read_box(const hk_node *node, hk_selector *selector)
{
    double corners[2][3];
    int count;
    HK_TRY(hk_node_array(node, 0, &count));
    if (count != 2)
        return hk_node_fail(node, "must be two corners [[x, y, z], [x, y, z]] (has %d item%s)",
                            count, count == 1 ? "" : "s");
    for (int i = 0; i < 2; i++) {
        hk_node corner = hk_node_item(node, i);
        HK_TRY(hk_node_numbers(&corner, 3, HK_ANY_NUMBER, corners[i]));
    }
    for (int k = 0; k < 3; k++) {  // opposite corners, in any order
        bool rising = corners[0][k] <= corners[1][k];
        selector->box[0][k] = corners[rising ? 0 : 1][k];
        selector->box[1][k] = corners[rising ? 1 : 0][k];
    }
    return HK_OK;
}

static hk_status read_sphere(const hk_node *node, hk_selector *selector)
{
    static const char *const keys[] = {"center", "radius"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_numbers(node, "center", HK_REQUIRED, 3, HK_ANY_NUMBER, selector->center));
    return hk_member_number(node, "radius", HK_REQUIRED, HK_NOT_NEGATIVE, &selector->radius);
}

static hk_status read_vertices(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                               hk_selector *selector)
{
    int count;
    HK_TRY(hk_node_array(node, 1, &count));  // an empty list is a mistake of who made it
    int32_t *vertices = HK_ARENA_ARRAY(&scene->arena, int32_t, count);
    if (!vertices) return HK_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(node, i);
        int vertex;
        HK_TRY(hk_node_int(&item, 0, &vertex));
        if (vertex >= hk_mesh_vertex_count(mesh))
            return hk_node_fail(&item,
                                "is no vertex of the mesh: it has %d, numbered from 0 (is %d)",
                                hk_mesh_vertex_count(mesh), vertex);
        vertices[i] = vertex;
    }
    selector->vertices = vertices;
    selector->vertex_count = count;
    return HK_OK;
}

static hk_status read_group(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                            hk_selector *selector)
{
    const char *name;
    HK_TRY(hk_node_text(node, &name));
    int count = hk_mesh_group_count(mesh), which = 0;
    if (count == 0) return hk_node_fail(node, "the mesh has no groups (is \"%.40s\")", name);
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, count);
    if (!names) return HK_NO_MEMORY;
    for (int i = 0; i < count; i++) names[i] = hk_mesh_group_name(mesh, i);
    HK_TRY(hk_node_choice(node, names, count, &which));
    selector->group = names[which];  // the mesh lives as long as the scene
    return HK_OK;
}

static hk_status read_children(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                               hk_selector *selector)
{
    int count;
    HK_TRY(hk_node_array(node, 0, &count));
    hk_selector *children = HK_ARENA_ARRAY(&scene->arena, hk_selector, count);
    if (!children) return HK_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(node, i);
        HK_TRY(hk_read_selector(scene, mesh, &item, &children[i]));
    }
    selector->children = children;
    selector->child_count = count;
    return HK_OK;
}

static hk_status read_child(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                            hk_selector *selector)
{
    hk_selector *child = HK_ARENA_ARRAY(&scene->arena, hk_selector, 1);
    if (!child) return HK_NO_MEMORY;
    HK_TRY(hk_read_selector(scene, mesh, node, child));
    selector->children = child;
    selector->child_count = 1;
    return HK_OK;
}

hk_status hk_read_selector(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                           hk_selector *selector)
{
    static const char *const keys[] = {"box", "sphere", "vertices", "group", "all", "any", "not"};
    static const hk_select_kind kinds[] = {HK_SELECT_BOX,   HK_SELECT_SPHERE, HK_SELECT_VERTICES,
                                           HK_SELECT_GROUP, HK_SELECT_ALL,    HK_SELECT_ANY,
                                           HK_SELECT_NOT};
    hk_node value;
    int which = 0;
    HK_TRY(hk_node_only(node, keys, HK_COUNT_OF(keys), &which, &value));
    *selector = (hk_selector){.kind = kinds[which]};
    switch (selector->kind) {
    case HK_SELECT_BOX: return read_box(&value, selector);
    case HK_SELECT_SPHERE: return read_sphere(&value, selector);
    case HK_SELECT_VERTICES: return read_vertices(scene, mesh, &value, selector);
    case HK_SELECT_GROUP: return read_group(scene, mesh, &value, selector);
    case HK_SELECT_ANY: return read_children(scene, mesh, &value, selector);
    case HK_SELECT_NOT: return read_child(scene, mesh, &value, selector);
    case HK_SELECT_ALL:
    case HK_SELECT_NONE: break;
    }
    return json_is_true(value.json) ? HK_OK : hk_node_fail(&value, "must be true");
}
