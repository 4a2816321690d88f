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

hk_status hk_read_motion(const hk_node *node, hk_motion_def *motion)
{
    HK_TRY(hk_read_rotation(node, motion->axis, &motion->degrees, motion->center));
    HK_TRY(hk_member_numbers(node, "translate", HK_OPTIONAL, 3, HK_ANY_NUMBER, motion->translate));
    return hk_member_number(node, "over", HK_OPTIONAL, HK_NOT_NEGATIVE, &motion->over);
}
