// "copies" and "array": one body of a scene becomes several, which share its mesh.
//
// What selectors mean is found once, where the body itself stands, and is the same vertices and
// tets in every copy: a copy is held where the original is held.
#include <math.h>
#include <stdio.h>

#include "core/rotation.h"
#include "core/vector.h"
#include "mesh/mesh.h"
#include "mesh/select.h"
#include "scene/scene.h"

enum { MOST_COPIES = 1000000 };

// ---------------------------------------------------------------- where they stand

// `to` := first `from`, then `next`.
static hk_status append_transform(const hk_node *node, const hk_transform *from,
                                  const hk_transform *next, hk_transform *to)
{
    double axes[2][3] = {{0}}, p[4], q[4], R[3][3];
    if (!hk_unit3(from->axis, axes[0]) || !hk_unit3(next->axis, axes[1]))
        return hk_node_fail(node, "the axis of a rotation has no direction");
    hk_rotation_matrix(axes[1], next->degrees, R);
    *to = *from;
    to->scale = from->scale * next->scale;
    for (int i = 0; i < 3; i++) {
        const double *t = from->translate;
        to->translate[i] =
            next->scale * (R[i][0] * t[0] + R[i][1] * t[1] + R[i][2] * t[2]) + next->translate[i];
    }
    // One turn alone stays as it was written.
    if (next->degrees == 0) return HK_OK;
    memcpy(to->axis, next->axis, sizeof to->axis);
    to->degrees = next->degrees;
    if (from->degrees == 0) return HK_OK;
    hk_rotation_quaternion(axes[0], from->degrees, p);
    hk_rotation_quaternion(axes[1], next->degrees, q);
    hk_quaternion_product(q, p, q);
    hk_quaternion_turn(q, to->axis, &to->degrees);
    return HK_OK;
}

static hk_status read_copies(hk_scene *scene, const hk_node *node, hk_copies *copies)
{
    HK_TRY(hk_node_array(node, 1, &copies->count));
    copies->transforms = HK_ARENA_ARRAY(&scene->arena, hk_transform, copies->count);
    if (!copies->transforms) return HK_NO_MEMORY;
    for (int k = 0; k < copies->count; k++) {
        hk_node item = hk_node_item(node, k);
        copies->transforms[k] = (hk_transform){.scale = 1, .axis = {0, 1, 0}};
        HK_TRY(hk_read_transform(&item, &copies->transforms[k]));
    }
    return HK_OK;
}

static hk_status read_array(hk_scene *scene, const hk_node *node, hk_copies *copies)
{
    static const char *const keys[] = {"count", "step"};
    hk_node counts;
    int n[3];
    double step[3];
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_node_need(node, "count", &counts));
    HK_TRY(hk_node_ints(&counts, 3, 1, n));
    HK_TRY(hk_member_numbers(node, "step", HK_REQUIRED, 3, HK_ANY_NUMBER, step));
    double total = (double)n[0] * n[1] * n[2];
    if (total > MOST_COPIES)
        return hk_node_fail(&counts, "makes too many copies (%g, at most %d)", total, MOST_COPIES);
    copies->count = (int)total;
    copies->transforms = HK_ARENA_ARRAY(&scene->arena, hk_transform, copies->count);
    if (!copies->transforms) return HK_NO_MEMORY;
    for (int k = 0; k < copies->count; k++) {
        int at[3] = {k % n[0], k / n[0] % n[1], k / n[0] / n[1]};
        copies->transforms[k] = (hk_transform){
            .scale = 1,
            .axis = {0, 1, 0},
            .translate = {at[0] * step[0], at[1] * step[1], at[2] * step[2]},
        };
    }
    return HK_OK;
}

hk_status hk_read_copies(hk_scene *scene, const hk_node *body, hk_copies *copies)
{
    hk_node list, array;
    bool listed = hk_node_member(body, "copies", &list);
    bool arrayed = hk_node_member(body, "array", &array);
    *copies = (hk_copies){.count = 1};
    if (listed && arrayed)
        return hk_node_fail(&array, "\"copies\" is given too: only one of them may be");
    if (listed) return read_copies(scene, &list, copies);
    return arrayed ? read_array(scene, &array, copies) : HK_OK;
}

// ---------------------------------------------------------------- what selectors mean

// A box or a sphere becomes a list of the vertices in it.
static hk_status pin_selector(hk_scene *scene, const hk_mesh *mesh, const hk_selector *from,
                              hk_selector *to)
{
    *to = *from;
    if (from->kind == HK_SELECT_ANY || from->kind == HK_SELECT_NOT) {
        hk_selector *children = HK_ARENA_ARRAY(&scene->arena, hk_selector, from->child_count);
        if (!children) return HK_NO_MEMORY;
        for (int k = 0; k < from->child_count; k++)
            HK_TRY(pin_selector(scene, mesh, &from->children[k], &children[k]));
        to->children = children;
    }
    if (from->kind != HK_SELECT_BOX && from->kind != HK_SELECT_SPHERE) return HK_OK;
    uint8_t *chosen = HK_ARENA_ARRAY(&scene->arena, uint8_t, mesh->vertex_count);
    if (!chosen) return HK_NO_MEMORY;
    HK_TRY(hk_select_vertices(mesh, from, chosen));
    int count = 0;
    for (int v = 0; v < mesh->vertex_count; v++) count += chosen[v];
    int32_t *vertices = HK_ARENA_ARRAY(&scene->arena, int32_t, count);
    if (!vertices) return HK_NO_MEMORY;
    *to = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = vertices, .vertex_count = count};
    for (int v = 0, k = 0; v < mesh->vertex_count; v++)
        if (chosen[v]) vertices[k++] = v;
    return HK_OK;
}

static hk_status pin(hk_scene *scene, const hk_mesh *mesh, hk_selector *selector)
{
    bool by_place = selector->kind == HK_SELECT_BOX || selector->kind == HK_SELECT_SPHERE;
    hk_selector pinned;
    HK_TRY(pin_selector(scene, mesh, selector, &pinned));
    if (by_place && pinned.vertex_count == 0)
        return hk_select_none(mesh,
                              "a selector selects no vertex of the body, before it is copied");
    *selector = pinned;
    return HK_OK;
}

// The lists are the scene's own (hk_read_list): they may be written to.
static hk_status pin_lists(hk_scene *scene, const hk_mesh *mesh, const hk_body_def *body)
{
    for (int k = 0; k < body->region_count; k++)
        HK_TRY(pin(scene, mesh, &((hk_region_def *)body->regions)[k].select));
    for (int k = 0; k < body->fix_count; k++)
        HK_TRY(pin(scene, mesh, &((hk_selector *)body->fixes)[k]));
    for (int k = 0; k < body->move_count; k++)
        HK_TRY(pin(scene, mesh, &((hk_move_def *)body->moves)[k].select));
    for (int k = 0; k < body->load_count; k++)
        HK_TRY(pin(scene, mesh, &((hk_load_def *)body->loads)[k].select));
    for (int k = 0; k < body->attachment_count; k++)
        HK_TRY(pin(scene, mesh, &((hk_attach_def *)body->attachments)[k].select));
    return HK_OK;
}

static hk_status pin_selectors(hk_scene *scene, const hk_body_def *body)
{
    hk_mesh *mesh;
    HK_TRY(hk_mesh_copy(body->mesh, &mesh));
    hk_status status = hk_mesh_transform(mesh, &body->transform);
    if (status == HK_OK) status = pin_lists(scene, mesh, body);
    hk_mesh_free(mesh);
    return status;
}

// ---------------------------------------------------------------- the copies

static hk_status name_copy(hk_scene *scene, const char *name, int number, const char **to)
{
    size_t length = strlen(name);
    char *text = HK_ARENA_ARRAY(&scene->arena, char, length + 16);
    if (!text) return HK_NO_MEMORY;
    snprintf(text, length + 16, "%s.%d", name, number);
    *to = text;
    return HK_OK;
}

hk_status hk_make_copies(hk_scene *scene, const hk_node *node, const hk_copies *copies,
                         hk_body_def *bodies)
{
    if (!copies->transforms) return HK_OK;
    const hk_body_def original = bodies[0];
    hk_status status = pin_selectors(scene, &original);
    if (status != HK_OK) return hk_node_fail_within(node, status);
    for (int k = 0; k < copies->count; k++) {
        bodies[k] = original;
        HK_TRY(name_copy(scene, original.name, k, &bodies[k].name));
        HK_TRY(append_transform(node, &original.transform, &copies->transforms[k],
                                &bodies[k].transform));
    }
    return HK_OK;
}
