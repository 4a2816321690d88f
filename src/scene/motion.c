// Where things are put and how they are moved: "transform", "rotate", "move".
#include "scene/scene.h"

hk_status hk_read_rotation(const hk_node *node, double axis[3], double *degrees, double *center)
{
    static const char *const keys[] = {"axis", "degrees", "center"};
    hk_node rotate;
    if (!hk_node_member(node, "rotate", &rotate)) return HK_OK;
    HK_TRY(hk_node_keys(&rotate, keys, center ? 3 : 2));
    HK_TRY(hk_member_direction(&rotate, "axis", HK_REQUIRED, axis));
    HK_TRY(hk_member_number(&rotate, "degrees", HK_REQUIRED, HK_ANY_NUMBER, degrees));
    return center ? hk_member_numbers(&rotate, "center", HK_OPTIONAL, 3, HK_ANY_NUMBER, center)
                  : HK_OK;
}

hk_status hk_read_transform(const hk_node *node, hk_transform *transform)
{
    static const char *const keys[] = {"scale", "rotate", "translate"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "scale", HK_OPTIONAL, HK_POSITIVE, &transform->scale));
    HK_TRY(hk_read_rotation(node, transform->axis, &transform->degrees, NULL));
    return hk_member_numbers(node, "translate", HK_OPTIONAL, 3, HK_ANY_NUMBER,
                             transform->translate);
}

hk_status hk_member_transform(const hk_node *node, hk_transform *transform)
{
    hk_node child;
    return hk_node_member(node, "transform", &child) ? hk_read_transform(&child, transform) : HK_OK;
}

// "factor": a formula of the time, or a table [[t, value], …].
hk_status hk_read_factor(hk_scene *scene, const hk_node *node, const char *key, hk_factor_def *to)
{
    hk_node factor;
    if (!hk_node_member(node, key, &factor)) return HK_OK;
    if (json_is_string(factor.json))
        return hk_member_formula(scene, node, key, HK_REQUIRED, &to->formula);
    int count;
    HK_TRY(hk_node_array(&factor, 1, &count));
    double *table = HK_ARENA_ARRAY(&scene->arena, double, 2 * (size_t)count);
    if (!table) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        hk_node entry = hk_node_item(&factor, k);
        HK_TRY(hk_node_numbers(&entry, 2, HK_ANY_NUMBER, table + 2 * (size_t)k));
        if (k > 0 && !(table[2 * k] > table[2 * k - 2]))
            return hk_node_fail(&entry, "must have a later time than the entry before");
    }
    to->table = table;
    to->table_count = count;
    return HK_OK;
}

hk_status hk_read_motion(hk_scene *scene, const hk_node *node, hk_motion_def *motion)
{
    HK_TRY(hk_read_rotation(node, motion->axis, &motion->degrees, motion->center));
    HK_TRY(hk_member_numbers(node, "translate", HK_OPTIONAL, 3, HK_ANY_NUMBER, motion->translate));
    hk_factor_def factor = {0};
    HK_TRY(hk_read_factor(scene, node, "factor", &factor));
    motion->formula = factor.formula;
    motion->table = factor.table;
    motion->table_count = factor.table_count;
    HK_TRY(hk_member_number(node, "over", HK_OPTIONAL, HK_NOT_NEGATIVE, &motion->over));
    if ((motion->formula || motion->table) && motion->over > 0)
        return hk_node_fail(node, "has \"factor\" and \"over\": a function of the time takes the "
                                  "place of the ramp");
    return HK_OK;
}
