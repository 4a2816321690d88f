// "bodies": meshes with materials, and what holds, moves and loads them.
#include "scene/scene.h"

#include <stdio.h>

enum { MOST_BODIES = 10000000 };

hk_status hk_read_list(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, const char *key,
                       size_t size, hk_read_item_fn *read, void **items, int *count)
{
    hk_node list;
    if (!hk_node_member(node, key, &list)) return HK_OK;
    int number;
    HK_TRY(hk_node_array(&list, 0, &number));
    char *array = hk_arena_alloc(&scene->arena, (size_t)number, size);
    if (!array) return HK_NO_MEMORY;
    for (int i = 0; i < number; i++) {
        hk_node item = hk_node_item(&list, i);
        HK_TRY(read(scene, mesh, &item, array + (size_t)i * size));
    }
    *items = array;
    *count = number;
    return HK_OK;
}

static hk_status read_select(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                             hk_selector *selector)
{
    hk_node select;
    HK_TRY(hk_node_need(node, "select", &select));
    return hk_read_selector(scene, mesh, &select, selector);
}

static hk_status read_region(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"select", "material", "rigid", "name"};
    hk_region_def *region = item;
    *region = hk_default_region_def();
    hk_node material;
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(read_select(scene, mesh, node, &region->select));
    HK_TRY(hk_member_flag(node, "rigid", &region->rigid));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &region->name));
    HK_TRY(hk_node_need(node, "material", &material));
    return hk_read_material(scene, &material, &region->material);
}

typedef struct scene_fix {
    hk_selector select;
    uint8_t axes;
    const char *name;
} scene_fix;

// "x", "xy" … or ["x", "y"]
static hk_status read_axis_letters(const hk_node *node, const char *letters, uint8_t *axes)
{
    for (const char *c = letters; *c; c++) {
        if (*c < 'x' || *c > 'z')
            return hk_node_fail(node, "must be made of the axes x, y and z (is \"%.40s\")",
                                letters);
        *axes |= (uint8_t)(1 << (*c - 'x'));
    }
    return HK_OK;
}

static hk_status read_axes(const hk_node *node, uint8_t *axes)
{
    hk_node list;
    const char *letters;
    if (!hk_node_member(node, "axes", &list)) return HK_OK;
    *axes = 0;
    if (json_is_array(list.json)) {
        int count;
        HK_TRY(hk_node_array(&list, 1, &count));
        for (int i = 0; i < count; i++) {
            hk_node item = hk_node_item(&list, i);
            HK_TRY(hk_node_text(&item, &letters));
            HK_TRY(read_axis_letters(&item, letters, axes));
        }
    } else {
        HK_TRY(hk_node_text(&list, &letters));
        HK_TRY(read_axis_letters(&list, letters, axes));
    }
    return *axes ? HK_OK : hk_node_fail(&list, "must have at least one of the axes x, y and z");
}

// A selector, or {"select", "axes", "name"}.
static hk_status read_fix(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"select", "axes", "name"};
    scene_fix *fix = item;
    hk_node select;
    fix->axes = HK_ALL_AXES;
    if (!json_is_object(node->json) || !hk_node_member(node, "select", &select))
        return hk_read_selector(scene, mesh, node, &fix->select);
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &fix->name));
    HK_TRY(read_axes(node, &fix->axes));
    return hk_read_selector(scene, mesh, &select, &fix->select);
}

static hk_status read_fixes(hk_scene *scene, const hk_node *node, hk_body_def *body)
{
    void *items = NULL;
    int count = 0;
    HK_TRY(
        hk_read_list(scene, body->mesh, node, "fix", sizeof(scene_fix), read_fix, &items, &count));
    const scene_fix *fixes = items;
    hk_selector *selects = HK_ARENA_ARRAY(&scene->arena, hk_selector, count);
    uint8_t *axes = HK_ARENA_ARRAY(&scene->arena, uint8_t, count);
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, count);
    if (count > 0 && (!selects || !axes || !names)) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        selects[k] = fixes[k].select;
        axes[k] = fixes[k].axes;
        names[k] = fixes[k].name;
    }
    body->fixes = selects;
    body->fix_axes = axes;
    body->fix_names = names;
    body->fix_count = count;
    return HK_OK;
}

static hk_status read_move(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name", "select", "rotate", "translate", "over", "factor"};
    hk_move_def *move = item;
    *move = hk_default_move_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(read_select(scene, mesh, node, &move->select));
    return hk_read_motion(scene, node, &move->motion);
}

static hk_status read_attach(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"select",    "stiffness", "rotate",
                                       "translate", "over",      "factor"};
    hk_attach_def *attach = item;
    *attach = hk_default_attach_def();
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(read_select(scene, mesh, node, &attach->select));
    HK_TRY(hk_member_number(node, "stiffness", HK_REQUIRED, HK_NOT_NEGATIVE, &attach->stiffness));
    HK_TRY(hk_member_number(node, "damping", HK_OPTIONAL, HK_NOT_NEGATIVE, &attach->damping));
    return hk_read_motion(scene, node, &attach->motion);
}

// {"axis", "center", "moment"}
static hk_status read_torque(const hk_node *node, hk_load_def *load)
{
    static const char *const keys[] = {"axis", "center", "moment"};
    hk_node torque;
    if (!hk_node_member(node, "torque", &torque)) return HK_OK;
    HK_TRY(hk_node_keys(&torque, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_direction(&torque, "axis", HK_REQUIRED, load->axis));
    HK_TRY(hk_member_numbers(&torque, "center", HK_REQUIRED, 3, HK_ANY_NUMBER, load->center));
    return hk_member_number(&torque, "moment", HK_REQUIRED, HK_ANY_NUMBER, &load->moment);
}

// {"velocity", "density", "drag", "lift"}
static hk_status read_wind(const hk_node *node, hk_load_def *load)
{
    static const char *const keys[] = {"velocity", "density", "drag", "lift"};
    hk_node wind;
    if (!hk_node_member(node, "wind", &wind)) return HK_OK;
    HK_TRY(hk_node_keys(&wind, keys, HK_COUNT_OF(keys)));
    load->air_density = 1.2;
    load->drag = load->lift = 1;
    HK_TRY(hk_member_numbers(&wind, "velocity", HK_REQUIRED, 3, HK_ANY_NUMBER, load->wind));
    HK_TRY(hk_member_number(&wind, "density", HK_OPTIONAL, HK_POSITIVE, &load->air_density));
    HK_TRY(hk_member_number(&wind, "drag", HK_OPTIONAL, HK_NOT_NEGATIVE, &load->drag));
    return hk_member_number(&wind, "lift", HK_OPTIONAL, HK_NOT_NEGATIVE, &load->lift);
}

// {"pressure", "outside"}
static hk_status read_gas(const hk_node *node, hk_load_def *load)
{
    static const char *const keys[] = {"pressure", "outside"};
    hk_node gas;
    if (!hk_node_member(node, "gas", &gas)) return HK_OK;
    HK_TRY(hk_node_keys(&gas, keys, HK_COUNT_OF(keys)));
    load->outside = 101325;
    HK_TRY(hk_member_number(&gas, "pressure", HK_REQUIRED, HK_POSITIVE, &load->gas));
    return hk_member_number(&gas, "outside", HK_OPTIONAL, HK_NOT_NEGATIVE, &load->outside);
}

static hk_status read_load(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"select",     "force",  "pressure", "torque", "over",
                                       "distribute", "factor", "wind",     "gas"};
    static const char *const words[] = {"evenly", "area"};
    static const char *const kinds[] = {"force", "pressure", "torque", "wind", "gas"};
    hk_load_def *load = item;
    *load = hk_default_load_def();
    int distribution = 0, found = 0;
    hk_node child;
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    for (int k = 0; k < HK_COUNT_OF(kinds); k++) found += hk_node_member(node, kinds[k], &child);
    HK_TRY(read_select(scene, mesh, node, &load->select));
    if (found == 0) return hk_node_need(node, "force", &child);
    HK_TRY(hk_member_numbers(node, "force", HK_OPTIONAL, 3, HK_ANY_NUMBER, load->force));
    HK_TRY(hk_member_number(node, "pressure", HK_OPTIONAL, HK_ANY_NUMBER, &load->pressure));
    HK_TRY(read_torque(node, load));
    HK_TRY(read_wind(node, load));
    HK_TRY(read_gas(node, load));
    HK_TRY(hk_read_factor(scene, node, "factor", &load->factor));
    HK_TRY(hk_member_number(node, "over", HK_OPTIONAL, HK_NOT_NEGATIVE, &load->factor.over));
    HK_TRY(hk_member_choice(node, "distribute", HK_OPTIONAL, words, 2, &distribution));
    load->distribution = distribution == 0 ? HK_EVENLY : HK_BY_AREA;
    return HK_OK;
}

// A state's file, relative to the folder of the scene file unless it is absolute.
static hk_status read_state(hk_scene *scene, const hk_node *node, hk_body_def *body)
{
    hk_node state;
    const char *file;
    if (!hk_node_member(node, "state", &state)) return HK_OK;
    HK_TRY(hk_node_text(&state, &file));
    const hk_source *source = node->source;
    size_t folder = file[0] == '/' ? 0 : source->folder_length, length = strlen(file);
    char *path = HK_ARENA_ARRAY(&scene->arena, char, folder + length + 1);
    if (!path) return HK_NO_MEMORY;
    memcpy(path, source->name, folder);
    memcpy(path + folder, file, length + 1);
    body->start_state = path;
    return HK_OK;
}

static hk_status read_initial(hk_scene *scene, const hk_node *node, hk_body_def *body)
{
    static const char *const keys[] = {"velocity", "rest", "pose", "state"};
    static const char *const rests[] = {"mesh", "solve"};
    hk_node initial;
    if (!hk_node_member(node, "initial", &initial)) return HK_OK;
    HK_TRY(hk_node_keys(&initial, keys, HK_COUNT_OF(keys)));
    bool posed = false;
    HK_TRY(hk_member_choice(&initial, "rest", HK_OPTIONAL, rests, 2, &body->sag_free));
    HK_TRY(hk_member_bool(&initial, "pose", HK_OPTIONAL, &posed));
    HK_TRY(read_state(scene, &initial, body));
    body->start_posed = posed;
    if (body->sag_free + posed + (body->start_state != NULL) > 1)
        return hk_node_fail(&initial, "can have one of \"rest\": \"solve\", \"pose\" and "
                                      "\"state\": each says where the body begins");
    return hk_member_numbers(&initial, "velocity", HK_OPTIONAL, 3, HK_ANY_NUMBER, body->velocity);
}

static hk_status read_name(hk_scene *scene, const hk_node *node, int number, hk_body_def *body)
{
    char name[32];
    int length = snprintf(name, sizeof name, "body%d", number);
    body->name = hk_arena_text(&scene->arena, name, (size_t)length);
    if (!body->name) return HK_NO_MEMORY;
    return hk_member_text(node, "name", HK_OPTIONAL, &scene->arena, &body->name);
}

// Which body, this one or an earlier one, has what this one asks for under `key`, "mesh" or "skin":
// those that ask in the same words get one mesh. `number` counts the bodies of the file, of which
// copies are none.
static int owner_of(const hk_node *node, const char *key, int number, hk_mesh *const *meshes)
{
    const json_t *own = json_object_get(node->json, key);
    for (int i = 0; i < number; i++) {
        const json_t *other = json_object_get(json_array_get(node->parent->json, (size_t)i), key);
        if (meshes[i] && json_equal(other, own)) return i;
    }
    return number;
}

static hk_status read_meshes(hk_scene *scene, const hk_node *node, int number, hk_body_def *body)
{
    hk_node mesh, skin;
    HK_TRY(hk_node_need(node, "mesh", &mesh));
    int owner = owner_of(node, "mesh", number, scene->meshes);
    if (owner == number)
        HK_TRY(hk_read_mesh(&mesh, &scene->meshes[number], &scene->filled[number]));
    body->mesh = scene->meshes[owner];
    body->skin = scene->filled[owner];
    if (!hk_node_member(node, "skin", &skin)) return HK_OK;
    owner = owner_of(node, "skin", number, scene->skins);
    if (owner == number) HK_TRY(hk_read_mesh(&skin, &scene->skins[number], NULL));
    body->skin = scene->skins[owner];
    return HK_OK;
}

static hk_status read_move_names(hk_scene *scene, const hk_node *node, hk_body_def *body)
{
    hk_node list;
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, body->move_count);
    if (body->move_count == 0 || !hk_node_member(node, "move", &list)) return HK_OK;
    if (!names) return HK_NO_MEMORY;
    for (int k = 0; k < body->move_count; k++) {
        hk_node item = hk_node_item(&list, k);
        names[k] = NULL;
        HK_TRY(hk_member_text(&item, "name", HK_OPTIONAL, &scene->arena, &names[k]));
    }
    body->move_names = names;
    return HK_OK;
}

static hk_status read_lists(hk_scene *scene, const hk_node *node, hk_body_def *body)
{
    const hk_mesh *mesh = body->mesh;
    void *items = NULL;
    HK_TRY(hk_read_list(scene, mesh, node, "regions", sizeof(hk_region_def), read_region, &items,
                        &body->region_count));
    body->regions = items;
    items = NULL;
    HK_TRY(read_fixes(scene, node, body));
    HK_TRY(hk_read_list(scene, mesh, node, "move", sizeof(hk_move_def), read_move, &items,
                        &body->move_count));
    body->moves = items;
    HK_TRY(read_move_names(scene, node, body));
    items = NULL;
    HK_TRY(hk_read_list(scene, mesh, node, "load", sizeof(hk_load_def), read_load, &items,
                        &body->load_count));
    body->loads = items;
    items = NULL;
    HK_TRY(hk_read_list(scene, mesh, node, "attach", sizeof(hk_attach_def), read_attach, &items,
                        &body->attachment_count));
    body->attachments = items;
    return HK_OK;
}

static hk_status read_body(hk_scene *scene, const hk_node *node, int number, hk_body_def *body)
{
    static const char *const keys[] = {
        "name",    "mesh", "skin", "transform", "copies", "array",    "material",  "regions",
        "initial", "fix",  "move", "load",      "attach", "friction", "thickness", "rigid"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    *body = hk_default_body_def();
    HK_TRY(read_name(scene, node, number, body));
    HK_TRY(hk_member_transform(node, &body->transform));
    HK_TRY(hk_member_number(node, "friction", HK_OPTIONAL, HK_NOT_NEGATIVE, &body->friction));
    HK_TRY(hk_member_number(node, "thickness", HK_OPTIONAL, HK_NOT_NEGATIVE, &body->thickness));
    HK_TRY(hk_member_flag(node, "rigid", &body->rigid));
    hk_node material;
    HK_TRY(hk_node_need(node, "material", &material));
    HK_TRY(hk_read_material(scene, &material, &body->material));
    HK_TRY(read_meshes(scene, node, number, body));
    HK_TRY(read_initial(scene, node, body));
    return read_lists(scene, node, body);
}

// How often each body of the file is there, and how many there are in all.
static hk_status read_counts(hk_scene *scene, const hk_node *node, int count, hk_copies *copies,
                             int *total)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(node, i);
        HK_TRY(hk_read_copies(scene, &item, &copies[i]));
        sum += copies[i].count;
    }
    if (sum > MOST_BODIES) return hk_node_fail(node, "there are too many (%lld)", (long long)sum);
    *total = (int)sum;
    return HK_OK;
}

hk_status hk_read_bodies(hk_scene *scene, const hk_node *node)
{
    int count, total = 0;
    HK_TRY(hk_node_array(node, 1, &count));
    hk_copies *copies = HK_ARENA_ARRAY(&scene->arena, hk_copies, count);
    if (!copies) return HK_NO_MEMORY;
    HK_TRY(read_counts(scene, node, count, copies, &total));
    hk_body_def *bodies = HK_ARENA_ARRAY(&scene->arena, hk_body_def, total);
    scene->meshes = HK_ARENA_ARRAY(&scene->arena, hk_mesh *, count);
    scene->skins = HK_ARENA_ARRAY(&scene->arena, hk_mesh *, count);
    scene->filled = HK_ARENA_ARRAY(&scene->arena, hk_mesh *, count);
    if (!bodies || !scene->meshes || !scene->skins || !scene->filled) return HK_NO_MEMORY;
    scene->mesh_count = count;
    for (int i = 0, first = 0; i < count; first += copies[i++].count) {
        hk_node item = hk_node_item(node, i);
        HK_TRY(read_body(scene, &item, i, &bodies[first]));
        HK_TRY(hk_make_copies(scene, &item, &copies[i], &bodies[first]));
    }
    scene->model.bodies = bodies;
    scene->model.body_count = total;
    return HK_OK;
}
