// "contact" and "obstacles": what touches what, and how.
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>

#include "contact/obstacle.h"
#include "model/contact.h"

// ---------------------------------------------------------------- contact

static hk_status read_law(const hk_node *node, hk_contact_def *contact)
{
    const char *names[HK_CONTACT_LAWS];
    int law = -1;
    for (int k = 0; k < HK_CONTACT_LAWS; k++) names[k] = hk_contact_law_name(k);
    HK_TRY(hk_member_choice(node, "law", HK_OPTIONAL, names, HK_CONTACT_LAWS, &law));
    if (law >= 0) contact->law = names[law];
    return HK_OK;
}

static hk_status read_choices(const hk_node *node, hk_contact_def *contact)
{
    static const char *const overlaps[] = {"refuse", "recover"}, *const whens[] = {"during",
                                                                                   "after"};
    int overlap = 0, when = 0;
    bool self = contact->self, certify = contact->certify;
    HK_TRY(read_law(node, contact));
    HK_TRY(hk_member_choice(node, "overlap", HK_OPTIONAL, overlaps, 2, &overlap));
    HK_TRY(hk_member_choice(node, "when", HK_OPTIONAL, whens, 2, &when));
    HK_TRY(hk_member_bool(node, "self", HK_OPTIONAL, &self));
    HK_TRY(hk_member_bool(node, "certify", HK_OPTIONAL, &certify));
    contact->overlap = (hk_overlap)overlap;
    contact->when = (hk_contact_when)when;
    contact->self = self;
    contact->certify = certify;
    return HK_OK;
}

// {"bodies": [a, b], "friction": 0.5} or {"bodies": [a, b], "ignore": true}
static hk_status read_between(hk_scene *scene, const hk_node *node, hk_between_def *entry)
{
    static const char *const keys[] = {"bodies", "friction", "ignore"};
    const char *names[2] = {NULL, NULL};
    hk_node pair;
    int count;
    bool ignore = false;
    *entry = (hk_between_def){.friction = NAN};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_node_need(node, "bodies", &pair));
    HK_TRY(hk_node_array(&pair, 0, &count));
    if (count != 2)
        return hk_node_fail(&pair, "must be two names [\"a\", \"b\"] (has %d item%s)", count,
                            count == 1 ? "" : "s");
    for (int k = 0; k < 2; k++) {
        hk_node item = hk_node_item(&pair, k);
        HK_TRY(hk_node_text(&item, &names[k]));
        names[k] = hk_arena_text(&scene->arena, names[k], strlen(names[k]));
        if (!names[k]) return HK_NO_MEMORY;
    }
    HK_TRY(hk_member_number(node, "friction", HK_OPTIONAL, HK_NOT_NEGATIVE, &entry->friction));
    HK_TRY(hk_member_bool(node, "ignore", HK_OPTIONAL, &ignore));
    if (json_object_size(node->json) != 2)
        return hk_node_fail(node, "must have exactly one of friction, ignore");
    entry->a = names[0];
    entry->b = names[1];
    entry->ignore = ignore;
    return HK_OK;
}

static hk_status read_betweens(hk_scene *scene, const hk_node *node, hk_contact_def *contact)
{
    hk_node list;
    int count;
    if (!hk_node_member(node, "between", &list)) return HK_OK;
    HK_TRY(hk_node_array(&list, 0, &count));
    hk_between_def *entries = HK_ARENA_ARRAY(&scene->arena, hk_between_def, count);
    if (!entries) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        hk_node item = hk_node_item(&list, k);
        HK_TRY(read_between(scene, &item, &entries[k]));
    }
    contact->between = entries;
    contact->between_count = count;
    return HK_OK;
}

hk_status hk_read_contact(hk_scene *scene, const hk_node *node)
{
    static const char *const keys[] = {
        "distance", "stiffness",   "friction",         "slip_speed",     "friction_passes",
        "self",     "law",         "overlap",          "certify",        "when",
        "between",  "restitution", "normal_stiffness", "normal_damping", "drag"};
    hk_contact_def *contact = HK_ARENA_ARRAY(&scene->arena, hk_contact_def, 1);
    if (!contact) return HK_NO_MEMORY;
    *contact = hk_default_contact_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "distance", HK_OPTIONAL, HK_NOT_NEGATIVE, &contact->distance));
    HK_TRY(hk_member_number(node, "stiffness", HK_OPTIONAL, HK_NOT_NEGATIVE, &contact->stiffness));
    HK_TRY(hk_member_number(node, "friction", HK_OPTIONAL, HK_NOT_NEGATIVE, &contact->friction));
    HK_TRY(hk_member_number(node, "slip_speed", HK_OPTIONAL, HK_POSITIVE, &contact->slip_speed));
    HK_TRY(hk_member_int(node, "friction_passes", HK_OPTIONAL, 0, &contact->friction_passes));
    HK_TRY(hk_member_number(node, "restitution", HK_OPTIONAL, (hk_range){.high = 1},
                            &contact->restitution));
    HK_TRY(hk_member_number(node, "normal_stiffness", HK_OPTIONAL, HK_NOT_NEGATIVE,
                            &contact->normal_stiffness));
    HK_TRY(hk_member_number(node, "normal_damping", HK_OPTIONAL, HK_NOT_NEGATIVE,
                            &contact->normal_damping));
    HK_TRY(hk_member_number(node, "drag", HK_OPTIONAL, HK_NOT_NEGATIVE, &contact->drag));
    HK_TRY(read_choices(node, contact));
    HK_TRY(read_betweens(scene, node, contact));
    scene->model.contact = contact;
    return HK_OK;
}

// ---------------------------------------------------------------- names of both

static bool is_named(const hk_scene *scene, const char *name)
{
    for (int b = 0; b < scene->model.body_count; b++)
        if (hk_contact_name_matches(name, scene->model.bodies[b].name)) return true;
    for (int k = 0; k < scene->model.obstacle_count; k++)
        if (hk_contact_name_matches(name, scene->model.obstacles[k].name)) return true;
    return false;
}

hk_status hk_check_contact_names(const hk_scene *scene, const hk_node *contact)
{
    hk_node list, pair;
    int count = 0;
    if (!hk_node_member(contact, "between", &list)) return HK_OK;
    HK_TRY(hk_node_array(&list, 0, &count));
    for (int k = 0; k < count; k++) {
        hk_node entry = hk_node_item(&list, k);
        HK_TRY(hk_node_need(&entry, "bodies", &pair));
        for (int end = 0; end < 2; end++) {
            hk_node item = hk_node_item(&pair, end);
            const char *name;
            HK_TRY(hk_node_text(&item, &name));
            if (!is_named(scene, name))
                return hk_node_fail(&item, "there is no body and no obstacle \"%.60s\"", name);
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- shapes of obstacles

static hk_status read_plane(const hk_node *node, hk_obstacle_def *o)
{
    static const char *const keys[] = {"point", "normal"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_numbers(node, "point", HK_OPTIONAL, 3, HK_ANY_NUMBER, o->point));
    return hk_member_direction(node, "normal", HK_REQUIRED, o->normal);
}

static hk_status read_box(const hk_node *node, hk_obstacle_def *o)
{
    static const char *const keys[] = {"min", "max"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_numbers(node, "min", HK_REQUIRED, 3, HK_ANY_NUMBER, o->min));
    return hk_member_numbers(node, "max", HK_REQUIRED, 3, HK_ANY_NUMBER, o->max);
}

static hk_status read_sphere(const hk_node *node, hk_obstacle_def *o)
{
    static const char *const keys[] = {"center", "radius"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_numbers(node, "center", HK_REQUIRED, 3, HK_ANY_NUMBER, o->center));
    return hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &o->radius);
}

// Of a cylinder "sides" as well.
static hk_status read_swept(const hk_node *node, hk_obstacle_def *o)
{
    static const char *const keys[] = {"from", "to", "radius", "sides"};
    bool cylinder = o->shape == HK_OBSTACLE_CYLINDER;
    HK_TRY(hk_node_keys(node, keys, cylinder ? 4 : 3));
    HK_TRY(hk_member_numbers(node, "from", HK_REQUIRED, 3, HK_ANY_NUMBER, o->from));
    HK_TRY(hk_member_numbers(node, "to", HK_REQUIRED, 3, HK_ANY_NUMBER, o->to));
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &o->radius));
    return cylinder ? hk_member_int(node, "sides", HK_OPTIONAL, 3, &o->sides) : HK_OK;
}

static hk_status read_plate(const hk_node *node, hk_obstacle_def *o)
{
    static const char *const keys[] = {"point", "normal", "size", "thickness"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_numbers(node, "point", HK_REQUIRED, 3, HK_ANY_NUMBER, o->point));
    HK_TRY(hk_member_direction(node, "normal", HK_REQUIRED, o->normal));
    HK_TRY(hk_member_numbers(node, "size", HK_REQUIRED, 2, HK_POSITIVE, o->size));
    return hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &o->thickness);
}

typedef struct shape_reader {
    hk_obstacle_shape shape;
    hk_status (*read)(const hk_node *node, hk_obstacle_def *o);  // NULL: a mesh
} shape_reader;

static const shape_reader SHAPES[] = {
    {HK_OBSTACLE_PLANE, read_plane},    {HK_OBSTACLE_BOX, read_box},
    {HK_OBSTACLE_SPHERE, read_sphere},  {HK_OBSTACLE_CAPSULE, read_swept},
    {HK_OBSTACLE_CYLINDER, read_swept}, {HK_OBSTACLE_PLATE, read_plate},
    {HK_OBSTACLE_MESH, NULL},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

// Exactly one of the shapes.
static hk_status read_shape(const hk_node *node, hk_mesh **mesh, hk_obstacle_def *o)
{
    const char *names[SHAPE_COUNT];
    hk_node child, shape;
    int found = -1, count = 0;
    char list[128];
    for (int k = 0; k < SHAPE_COUNT; k++) {
        names[k] = hk_obstacle_shape_name(SHAPES[k].shape);
        if (!hk_node_member(node, names[k], &child)) continue;
        shape = child;
        found = k;
        count++;
    }
    if (count != 1)
        return hk_node_fail(node, "must have exactly one of %s",
                            hk_list_words(names, SHAPE_COUNT, list, sizeof list));
    o->shape = SHAPES[found].shape;
    if (SHAPES[found].read) return SHAPES[found].read(&shape, o);
    HK_TRY(hk_read_mesh(&shape, mesh, NULL));
    o->mesh = *mesh;
    return HK_OK;
}

// ---------------------------------------------------------------- motion of obstacles

static hk_status read_move(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"rotate", "translate", "over", "factor"};
    hk_motion_def *motion = item;
    (void)mesh;
    *motion = hk_default_move_def().motion;
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    return hk_read_motion(scene, node, motion);
}

static hk_status read_key(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"t", "rotate", "translate"};
    hk_key_def *key = item;
    (void)scene;
    (void)mesh;
    *key = (hk_key_def){.axis = {0, 1, 0}};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "t", HK_REQUIRED, HK_ANY_NUMBER, &key->time));
    HK_TRY(hk_read_rotation(node, key->axis, &key->degrees, key->center));
    return hk_member_numbers(node, "translate", HK_OPTIONAL, 3, HK_ANY_NUMBER, key->translate);
}

// Text that is a formula, where it stands.
hk_status hk_member_formula(hk_scene *scene, const hk_node *node, const char *key, hk_need need,
                            const char **text)
{
    hk_node child;
    hk_formula *formula;
    HK_TRY(hk_member_text(node, key, need, &scene->arena, text));
    if (!*text || !hk_node_member(node, key, &child)) return HK_OK;
    hk_status status = hk_formula_create(*text, &formula);
    if (status != HK_OK) return hk_node_fail_within(&child, status);
    hk_formula_free(formula);
    return HK_OK;
}

// {"x": formula, "y": formula, "z": formula, "rotate": {"axis", "center", "degrees": formula}}
static hk_status read_formula(hk_scene *scene, const hk_node *node, hk_formula_def *to)
{
    static const char *const keys[] = {"x", "y", "z", "rotate"};
    static const char *const turns[] = {"axis", "degrees", "center"};
    hk_node rotate;
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    if (json_object_size(node->json) == 0)
        return hk_node_fail(node, "must have at least one of x, y, z, rotate");
    for (int i = 0; i < 3; i++)
        HK_TRY(hk_member_formula(scene, node, keys[i], HK_OPTIONAL, &to->translate[i]));
    if (!hk_node_member(node, "rotate", &rotate)) return HK_OK;
    HK_TRY(hk_node_keys(&rotate, turns, HK_COUNT_OF(turns)));
    HK_TRY(hk_member_direction(&rotate, "axis", HK_REQUIRED, to->axis));
    HK_TRY(hk_member_numbers(&rotate, "center", HK_OPTIONAL, 3, HK_ANY_NUMBER, to->center));
    return hk_member_formula(scene, &rotate, "degrees", HK_REQUIRED, &to->degrees);
}

static hk_status read_ways(hk_scene *scene, const hk_node *node, hk_obstacle_def *o)
{
    static const char *const ways[] = {"move", "keys", "formula"};
    hk_node found[3];
    int count = 0;
    for (int k = 0; k < 3; k++) count += hk_node_member(node, ways[k], &found[count]);
    if (count > 1)
        return hk_node_fail(&found[1], "\"%s\" is given too: only one of them may be",
                            found[0].key);
    if (count == 0) return HK_OK;
    void *items = NULL;
    HK_TRY(hk_read_list(scene, NULL, node, "move", sizeof(hk_motion_def), read_move, &items,
                        &o->move_count));
    o->moves = items;
    items = NULL;
    HK_TRY(hk_read_list(scene, NULL, node, "keys", sizeof(hk_key_def), read_key, &items,
                        &o->key_count));
    o->keys = items;
    return strcmp(found[0].key, "formula") == 0 ? read_formula(scene, &found[0], &o->formula)
                                                : HK_OK;
}

// ---------------------------------------------------------------- obstacles

static hk_status read_obstacle(hk_scene *scene, const hk_node *node, int number, hk_mesh **mesh,
                               hk_obstacle_def *o)
{
    static const char *const keys[] = {"name",     "plane", "box",    "sphere",    "capsule",
                                       "cylinder", "plate", "mesh",   "transform", "friction",
                                       "move",     "keys",  "formula"};
    char name[32];
    int length = snprintf(name, sizeof name, "obstacle%d", number);
    *o = hk_default_obstacle_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    o->name = hk_arena_text(&scene->arena, name, (size_t)length);
    if (!o->name) return HK_NO_MEMORY;
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &o->name));
    HK_TRY(hk_member_number(node, "friction", HK_OPTIONAL, HK_NOT_NEGATIVE, &o->friction));
    HK_TRY(hk_member_transform(node, &o->transform));
    HK_TRY(read_ways(scene, node, o));
    HK_TRY(read_shape(node, mesh, o));
    // What the numbers mean together is checked here, where its place is known.
    hk_obstacle made;
    hk_status status = hk_obstacle_take(o, &made);
    if (status != HK_OK) return hk_node_fail_within(node, status);
    hk_obstacle_release(&made);
    return HK_OK;
}

hk_status hk_read_obstacles(hk_scene *scene, const hk_node *node)
{
    int count;
    HK_TRY(hk_node_array(node, 0, &count));
    hk_obstacle_def *obstacles = HK_ARENA_ARRAY(&scene->arena, hk_obstacle_def, count);
    scene->obstacle_meshes = HK_ARENA_ARRAY(&scene->arena, hk_mesh *, count);
    if (!obstacles || !scene->obstacle_meshes) return HK_NO_MEMORY;
    scene->obstacle_mesh_count = count;
    for (int k = 0; k < count; k++) {
        hk_node item = hk_node_item(node, k);
        HK_TRY(read_obstacle(scene, &item, k, &scene->obstacle_meshes[k], &obstacles[k]));
    }
    scene->model.obstacles = obstacles;
    scene->model.obstacle_count = count;
    return HK_OK;
}
