// "tear" of a material, and "tearing": blades and settings.
#include "scene/scene.h"

#include <math.h>

hk_status hk_read_tear(const hk_node *material, hk_material_def *def)
{
    static const char *const keys[] = {"stress", "strain"};
    hk_node node;
    if (!hk_node_member(material, "tear", &node)) return HK_OK;
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(&node, "stress", HK_OPTIONAL, HK_POSITIVE, &def->tear_stress));
    HK_TRY(hk_member_number(&node, "strain", HK_OPTIONAL, HK_POSITIVE, &def->tear_strain));
    if (def->tear_stress > 0 || def->tear_strain > 0) return HK_OK;
    return hk_node_fail(&node, "needs \"stress\" (Pa) or \"strain\"");
}

static hk_status read_points(const hk_node *cut, hk_cut_def *def)
{
    hk_node points;
    HK_TRY(hk_node_need(cut, "points", &points));
    HK_TRY(hk_node_array(&points, 2, &def->point_count));
    if (def->point_count > HK_CUT_POINTS)
        return hk_node_fail(&points, "must have %d points at most (has %d)", HK_CUT_POINTS,
                            def->point_count);
    for (int k = 0; k < def->point_count; k++) {
        hk_node point = hk_node_item(&points, k);
        HK_TRY(hk_node_numbers(&point, 3, HK_ANY_NUMBER, def->points[k]));
    }
    return HK_OK;
}

static hk_status read_body(const hk_scene *scene, const hk_node *cut, int *body)
{
    hk_node node;
    const char *name;
    int found = 0;
    if (!hk_node_member(cut, "body", &node)) return HK_OK;
    HK_TRY(hk_node_text(&node, &name));
    for (int b = 0; b < scene->model.body_count; b++)
        if (strcmp(scene->model.bodies[b].name, name) == 0 && found++ == 0) *body = b;
    if (found == 1) return HK_OK;
    return found ? hk_node_fail(&node, "%d bodies are called \"%.60s\"", found, name)
                 : hk_node_fail(&node, "there is no body \"%.60s\"", name);
}

static hk_status read_move(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"rotate", "translate", "over", "factor"};
    (void)mesh;
    hk_motion_def *motion = item;
    *motion = hk_default_move_def().motion;
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    return hk_read_motion(scene, node, motion);
}

static hk_status read_cut(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name", "body", "points", "moves", "from", "until"};
    (void)mesh;
    hk_cut_def *cut = item;
    void *moves = NULL;
    *cut = hk_default_cut_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &cut->name));
    HK_TRY(read_body(scene, node, &cut->body));
    HK_TRY(read_points(node, cut));
    HK_TRY(hk_read_list(scene, NULL, node, "moves", sizeof(hk_motion_def), read_move, &moves,
                        &cut->move_count));
    cut->moves = moves;
    HK_TRY(hk_member_number(node, "from", HK_OPTIONAL, HK_NOT_NEGATIVE, &cut->from));
    HK_TRY(hk_member_number(node, "until", HK_OPTIONAL, HK_NOT_NEGATIVE, &cut->until));
    if (!(cut->until >= cut->from)) return hk_node_fail(node, "ends before it begins");
    return HK_OK;
}

static const hk_range RENEW = {1, INFINITY, false, true};

hk_status hk_read_tearing(hk_scene *scene, const hk_node *root)
{
    static const char *const keys[] = {"cuts", "most", "renew", "opening"};
    hk_node node;
    void *cuts = NULL;
    if (!hk_node_member(root, "tearing", &node)) return HK_OK;
    hk_tearing_def *def = HK_ARENA_ARRAY(&scene->arena, hk_tearing_def, 1);
    if (!def) return HK_NO_MEMORY;
    *def = hk_default_tearing_def();
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_read_list(scene, NULL, &node, "cuts", sizeof(hk_cut_def), read_cut, &cuts,
                        &def->cut_count));
    def->cuts = cuts;
    HK_TRY(hk_member_int(&node, "most", HK_OPTIONAL, 1, &def->most));
    HK_TRY(hk_member_number(&node, "renew", HK_OPTIONAL, RENEW, &def->renew));
    HK_TRY(hk_member_number(&node, "opening", HK_OPTIONAL, HK_POSITIVE, &def->opening));
    scene->model.tearing = def;
    return HK_OK;
}
