// "springs" and "seams": between points of bodies.
#include "scene/scene.h"

// ---------------------------------------------------------------- what they join

hk_status hk_find_body(const hk_scene *scene, const hk_node *node, int *body)
{
    const char *name;
    hk_node key;
    int found = 0;
    HK_TRY(hk_node_need(node, "body", &key));
    HK_TRY(hk_node_text(&key, &name));
    for (int b = 0; b < scene->model.body_count; b++)
        if (strcmp(scene->model.bodies[b].name, name) == 0 && found++ == 0) *body = b;
    if (found == 1) return HK_OK;
    return found ? hk_node_fail(&key, "%d bodies are called \"%.60s\"", found, name)
                 : hk_node_fail(&key, "there is no body \"%.60s\"", name);
}

static hk_status read_vertex(const hk_scene *scene, const hk_node *node, int *vertex,
                             const hk_point_def *point)
{
    int count = hk_mesh_vertex_count(scene->model.bodies[point->body].mesh);
    HK_TRY(hk_node_int(node, 0, vertex));
    if (*vertex < count) return HK_OK;
    return hk_node_fail(node, "is no vertex of the body: it has %d, numbered from 0 (is %d)", count,
                        *vertex);
}

static hk_status read_mean(const hk_scene *scene, const hk_node *node, const hk_node *point,
                           hk_point_def *to)
{
    hk_node weights;
    HK_TRY(hk_node_array(node, 1, &to->count));
    if (to->count > HK_POINT_VERTICES)
        return hk_node_fail(node, "must have %d vertices at most (has %d)", HK_POINT_VERTICES,
                            to->count);
    HK_TRY(hk_node_need(point, "weights", &weights));
    HK_TRY(hk_node_numbers(&weights, to->count, HK_ANY_NUMBER, to->weights));
    for (int k = 0; k < to->count; k++) {
        hk_node item = hk_node_item(node, k);
        HK_TRY(read_vertex(scene, &item, &to->vertices[k], to));
    }
    return HK_OK;
}

// [x, y, z] of the world; or {"body", and "vertex", "at", "nearest", or "vertices" and "weights"}.
static hk_status read_point(const hk_scene *scene, const hk_node *node, hk_point_def *to)
{
    static const char *const keys[] = {"vertex", "at", "nearest", "vertices", "weights", "body"};
    enum { KINDS = 4 };
    hk_node child;
    int given = 0, which = 0;
    *to = (hk_point_def){.body = HK_THE_WORLD};
    if (json_is_array(node->json)) return hk_node_numbers(node, 3, HK_ANY_NUMBER, to->at);
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_find_body(scene, node, &to->body));
    for (int k = 0; k < KINDS; k++)
        if (hk_node_member(node, keys[k], &child)) {
            which = k;
            given++;
        }
    if (given != 1)
        return hk_node_fail(node, "must have exactly one of vertex, at, nearest, vertices");
    if (which != 3 && hk_node_member(node, "weights", &child))
        return hk_node_fail(&child, "are those of \"vertices\"");
    hk_node_member(node, keys[which], &child);
    if (which == 3) return read_mean(scene, &child, node, to);
    if (which > 0) {
        to->nearest = which == 2;
        return hk_node_numbers(&child, 3, HK_ANY_NUMBER, to->at);
    }
    to->count = 1;
    to->weights[0] = 1;
    return read_vertex(scene, &child, &to->vertices[0], to);
}

static hk_status need_point(const hk_scene *scene, const hk_node *node, const char *key,
                            hk_point_def *to)
{
    hk_node child;
    HK_TRY(hk_node_need(node, key, &child));
    return read_point(scene, &child, to);
}

// What both have.
static hk_status read_time(hk_scene *scene, const hk_node *node, hk_factor_def *factor)
{
    HK_TRY(hk_read_factor(scene, node, "factor", factor));
    HK_TRY(hk_member_number(node, "over", HK_OPTIONAL, HK_NOT_NEGATIVE, &factor->over));
    if ((factor->formula || factor->table) && factor->over > 0)
        return hk_node_fail(node, "has \"factor\" and \"over\": a function of the time takes the "
                                  "place of the ramp");
    return HK_OK;
}

// ---------------------------------------------------------------- springs

static hk_status read_spring(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name", "from",   "to",      "stiffness", "rest", "goal",
                                       "over", "factor", "damping", "breaking",  "slack"};
    hk_spring_def *spring = item;
    (void)mesh;
    *spring = hk_default_spring_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &spring->name));
    HK_TRY(need_point(scene, node, "from", &spring->ends[0]));
    HK_TRY(need_point(scene, node, "to", &spring->ends[1]));
    if (spring->ends[0].body == HK_THE_WORLD && spring->ends[1].body == HK_THE_WORLD)
        return hk_node_fail(node, "joins two places of the world: one end must be of a body");
    HK_TRY(hk_member_number(node, "stiffness", HK_REQUIRED, HK_POSITIVE, &spring->stiffness));
    HK_TRY(hk_member_number(node, "rest", HK_OPTIONAL, HK_NOT_NEGATIVE, &spring->rest));
    HK_TRY(hk_member_number(node, "goal", HK_OPTIONAL, HK_NOT_NEGATIVE, &spring->to));
    HK_TRY(read_time(scene, node, &spring->factor));
    HK_TRY(hk_member_number(node, "damping", HK_OPTIONAL, HK_NOT_NEGATIVE, &spring->damping));
    HK_TRY(hk_member_number(node, "breaking", HK_OPTIONAL, HK_NOT_NEGATIVE, &spring->breaking));
    return hk_member_flag(node, "slack", &spring->slack);
}

hk_status hk_read_springs(hk_scene *scene, const hk_node *root)
{
    void *springs = NULL;
    HK_TRY(hk_read_list(scene, NULL, root, "springs", sizeof(hk_spring_def), read_spring, &springs,
                        &scene->model.spring_count));
    scene->model.springs = springs;
    return HK_OK;
}

// ---------------------------------------------------------------- seams

static hk_status read_side(hk_scene *scene, const hk_node *seam, const char *key, hk_side_def *side)
{
    static const char *const keys[] = {"body", "select"};
    hk_node node, select;
    HK_TRY(hk_node_need(seam, key, &node));
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_find_body(scene, &node, &side->body));
    HK_TRY(hk_node_need(&node, "select", &select));
    return hk_read_selector(scene, scene->model.bodies[side->body].mesh, &select, &side->select);
}

static hk_status read_seam(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name",     "from",    "to",     "stiffness",
                                       "distance", "over",    "factor", "damping",
                                       "breaking", "reverse", "slack"};
    hk_seam_def *seam = item;
    (void)mesh;
    *seam = hk_default_seam_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &seam->name));
    HK_TRY(read_side(scene, node, "from", &seam->sides[0]));
    HK_TRY(read_side(scene, node, "to", &seam->sides[1]));
    HK_TRY(hk_member_number(node, "stiffness", HK_REQUIRED, HK_POSITIVE, &seam->stiffness));
    HK_TRY(hk_member_number(node, "distance", HK_OPTIONAL, HK_NOT_NEGATIVE, &seam->to));
    HK_TRY(read_time(scene, node, &seam->factor));
    HK_TRY(hk_member_number(node, "damping", HK_OPTIONAL, HK_NOT_NEGATIVE, &seam->damping));
    HK_TRY(hk_member_number(node, "breaking", HK_OPTIONAL, HK_NOT_NEGATIVE, &seam->breaking));
    HK_TRY(hk_member_flag(node, "reverse", &seam->reverse));
    return hk_member_flag(node, "slack", &seam->slack);
}

hk_status hk_read_seams(hk_scene *scene, const hk_node *root)
{
    void *seams = NULL;
    HK_TRY(hk_read_list(scene, NULL, root, "seams", sizeof(hk_seam_def), read_seam, &seams,
                        &scene->model.seam_count));
    scene->model.seams = seams;
    return HK_OK;
}
