// "joints" of rigid parts, and "constraints" of vertices.
#include "scene/scene.h"

// Names of two rigid parts, or "world".
static hk_status read_between(hk_scene *scene, const hk_node *node, hk_joint_def *joint)
{
    hk_node list;
    int count;
    HK_TRY(hk_node_need(node, "between", &list));
    HK_TRY(hk_node_array(&list, 2, &count));
    if (count != 2)
        return hk_node_fail(&list, "must have two names of rigid parts (has %d)", count);
    for (int k = 0; k < 2; k++) {
        hk_node item = hk_node_item(&list, k);
        const char *name;
        HK_TRY(hk_node_text(&item, &name));
        joint->parts[k] = NULL;
        if (strcmp(name, "world") == 0) continue;
        joint->parts[k] = hk_arena_text(&scene->arena, name, strlen(name));
        if (!joint->parts[k]) return HK_NO_MEMORY;
    }
    if (!joint->parts[0] && !joint->parts[1])
        return hk_node_fail(&list, "joins the world with itself");
    return HK_OK;
}

static hk_status read_joint(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name", "kind", "between", "at", "axis"};
    const char *kinds[HK_JOINT_KINDS];
    hk_joint_def *joint = item;
    (void)mesh;
    for (int k = 0; k < HK_JOINT_KINDS; k++) kinds[k] = hk_joint_kind_name(k);
    *joint = hk_default_joint_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &joint->name));
    HK_TRY(hk_member_choice(node, "kind", HK_REQUIRED, kinds, HK_JOINT_KINDS, &joint->kind));
    HK_TRY(read_between(scene, node, joint));
    bool turns = joint->kind == HK_JOINT_BALL || joint->kind == HK_JOINT_HINGE;
    bool along = joint->kind == HK_JOINT_HINGE || joint->kind == HK_JOINT_SLIDER;
    HK_TRY(hk_member_numbers(node, "at", turns ? HK_REQUIRED : HK_OPTIONAL, 3, HK_ANY_NUMBER,
                             joint->at));
    return hk_member_direction(node, "axis", along ? HK_REQUIRED : HK_OPTIONAL, joint->axis);
}

hk_status hk_read_joints(hk_scene *scene, const hk_node *root)
{
    void *joints = NULL;
    HK_TRY(hk_read_list(scene, NULL, root, "joints", sizeof(hk_joint_def), read_joint, &joints,
                        &scene->model.joint_count));
    scene->model.joints = joints;
    return HK_OK;
}

// ---------------------------------------------------------------- constraints of vertices

static hk_status read_axis(const hk_node *node, hk_constraint_def *c)
{
    bool optional =
        c->kind == HK_KEEP_SPHERE || c->kind == HK_KEEP_TOGETHER || c->kind == HK_KEEP_VOLUME;
    hk_need need = optional ? HK_OPTIONAL : HK_REQUIRED;
    return hk_member_direction(node, "axis", need, c->axis);
}

// Of a volume: what it is, and how it changes.
static hk_status read_volume(hk_scene *scene, const hk_node *node, hk_constraint_def *c)
{
    static const char *const keys[] = {"volume", "factor"};
    hk_node child;
    for (int k = 0; k < HK_COUNT_OF(keys) && c->kind != HK_KEEP_VOLUME; k++)
        if (hk_node_member(node, keys[k], &child))
            return hk_node_fail(&child, "is of what keeps a volume (\"kind\": \"volume\")");
    HK_TRY(hk_member_number(node, "volume", HK_OPTIONAL, HK_POSITIVE, &c->volume));
    return hk_read_factor(scene, node, "factor", &c->factor);
}

static hk_status read_constraint(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                                 void *item)
{
    static const char *const keys[] = {"name", "kind", "body",   "select", "other",
                                       "at",   "axis", "volume", "factor"};
    const char *kinds[HK_CONSTRAINT_KINDS];
    hk_constraint_def *c = item;
    hk_node child;
    for (int k = 0; k < HK_CONSTRAINT_KINDS; k++) kinds[k] = hk_constraint_kind_name(k);
    *c = hk_default_constraint_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &c->name));
    HK_TRY(hk_member_choice(node, "kind", HK_REQUIRED, kinds, HK_CONSTRAINT_KINDS, &c->kind));
    HK_TRY(hk_find_body(scene, node, &c->body));
    mesh = scene->model.bodies[c->body].mesh;
    HK_TRY(read_volume(scene, node, c));
    // Of a volume all of the body's surface, if nothing else is said.
    if (c->kind != HK_KEEP_VOLUME) HK_TRY(hk_node_need(node, "select", &child));
    if (hk_node_member(node, "select", &child))
        HK_TRY(hk_read_selector(scene, mesh, &child, &c->select));
    bool round = c->kind == HK_KEEP_SPHERE || c->kind == HK_KEEP_CYLINDER;
    HK_TRY(
        hk_member_numbers(node, "at", round ? HK_REQUIRED : HK_OPTIONAL, 3, HK_ANY_NUMBER, c->at));
    HK_TRY(read_axis(node, c));
    bool periodic = c->kind == HK_KEEP_PERIODIC;
    if (!hk_node_member(node, "other", &child))
        return periodic ? hk_node_need(node, "other", &child) : HK_OK;
    if (!periodic) return hk_node_fail(&child, "is of what is periodic");
    return hk_read_selector(scene, mesh, &child, &c->other);
}

hk_status hk_read_constraints(hk_scene *scene, const hk_node *root)
{
    void *constraints = NULL;
    HK_TRY(hk_read_list(scene, NULL, root, "constraints", sizeof(hk_constraint_def),
                        read_constraint, &constraints, &scene->model.constraint_count));
    scene->model.constraints = constraints;
    return HK_OK;
}
