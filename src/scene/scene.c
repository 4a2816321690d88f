// A scene file: one JSON text becomes the definitions of a model and of a world.
#include "scene/scene.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <strings.h>

#include "integrator/integrator.h"
#include "io/io.h"

// ---------------------------------------------------------------- time, output

// The least number of steps that reach the end; a hair of rounding does not cost a step.
static hk_status steps_until(const hk_node *node, double end, double step, int *steps)
{
    double exact = end / step, whole = round(exact);
    double count = fabs(exact - whole) <= 1e-9 * fmax(1, whole) ? whole : ceil(exact);
    if (!(count <= INT_MAX))
        return hk_node_fail(node, "is %.3g steps of %.3g s: too many", count, step);
    *steps = (int)count;
    return HK_OK;
}

// {"newmark": {"beta": …, "gamma": …}}
static hk_status read_newmark(hk_scene *scene, const hk_node *node)
{
    static const char *const kinds[] = {"newmark"}, *const keys[] = {"beta", "gamma"};
    static const hk_range range = {.low = 0, .high = 1, .low_excluded = true};
    hk_node own;
    int which;
    HK_TRY(hk_node_only(node, kinds, HK_COUNT_OF(kinds), &which, &own));
    HK_TRY(hk_node_keys(&own, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(&own, "beta", HK_OPTIONAL, range, &scene->world.beta));
    HK_TRY(hk_member_number(&own, "gamma", HK_OPTIONAL, range, &scene->world.gamma));
    scene->world.integrator = hk_newmark.name;
    return HK_OK;
}

static hk_status read_integrator(hk_scene *scene, const hk_node *time)
{
    hk_node node;
    const char *name;
    const hk_integrator *integrator;
    if (!hk_node_member(time, "integrator", &node)) return HK_OK;
    if (json_is_object(node.json)) return read_newmark(scene, &node);
    HK_TRY(hk_node_text(&node, &name));
    hk_status status = hk_integrator_find(name, &integrator);
    if (status != HK_OK) return hk_node_fail_within(&node, status);
    scene->world.integrator = integrator->name;
    return HK_OK;
}

static hk_status read_time(hk_scene *scene, const hk_node *root)
{
    static const char *const keys[] = {"step", "steps", "end", "integrator", "conserve"};
    hk_node node, end, steps;
    double until = 1;  // s
    if (!hk_node_member(root, "time", &node))
        return steps_until(root, until, scene->world.step, &scene->steps);
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(&node, "step", HK_OPTIONAL, HK_POSITIVE, &scene->world.step));
    HK_TRY(read_integrator(scene, &node));
    HK_TRY(hk_member_bool(&node, "conserve", HK_OPTIONAL, &scene->world.conserve));
    bool has_steps = hk_node_member(&node, "steps", &steps);
    bool has_end = hk_node_member(&node, "end", &end);
    if (has_steps && has_end)
        return hk_node_fail(&end, "\"steps\" is given too: only one of them may be");
    if (has_steps) return hk_node_int(&steps, 0, &scene->steps);
    if (has_end) HK_TRY(hk_node_number(&end, HK_NOT_NEGATIVE, &until));
    return steps_until(has_end ? &end : &node, until, scene->world.step, &scene->steps);
}

// Frames are .vtu files, which a .pvd collects: a name that promises another format is a mistake.
static hk_status check_series_name(const hk_node *output, const char *path)
{
    hk_node node;
    if (!path || !hk_node_member(output, "vtu", &node)) return HK_OK;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    bool known = dot && (strcasecmp(dot, ".pvd") == 0 || strcasecmp(dot, ".vtu") == 0);
    if (!dot || known || !isalpha((unsigned char)dot[1])) return HK_OK;
    return hk_node_fail(&node,
                        "is the name of a series of .vtu files: it ends in .pvd, in .vtu or in "
                        "nothing, not in \"%.20s\" (hooke render makes .glb, pictures and films "
                        "of it, hooke mesh convert other meshes)",
                        dot);
}

static hk_status read_probe(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, void *item)
{
    static const char *const keys[] = {"name", "body", "at"};
    hk_probe_def *probe = item;
    (void)mesh;
    *probe = (hk_probe_def){0};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_text(node, "name", HK_REQUIRED, &scene->arena, &probe->name));
    HK_TRY(hk_member_text(node, "body", HK_OPTIONAL, &scene->arena, &probe->body));
    return hk_member_numbers(node, "at", HK_REQUIRED, 3, HK_ANY_NUMBER, probe->at);
}

// Results are told by these names.
static hk_status check_probe_names(const hk_node *output, const hk_probe_def *probes, int count)
{
    hk_node list;
    for (int a = 1; a < count; a++)
        for (int b = 0; b < a; b++) {
            if (strcmp(probes[a].name, probes[b].name) != 0) continue;
            hk_node_member(output, "probes", &list);
            hk_node item = hk_node_item(&list, a);
            return hk_node_fail(&item, "probe %d is called \"%.100s\", too", b, probes[a].name);
        }
    return HK_OK;
}

static hk_status read_field_name(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                                 void *item)
{
    static const char *const names[] = {"stress", "principal_stress", "strain", "reaction"};
    int which;
    (void)scene;
    (void)mesh;
    HK_TRY(hk_node_choice(node, names, HK_COUNT_OF(names), &which));
    *(const char **)item = names[which];
    return HK_OK;
}

static hk_status read_output(hk_scene *scene, const hk_node *root)
{
    static const char *const keys[] = {"every",  "vtu",        "points",    "stats", "skin",
                                       "probes", "probe_file", "reactions", "fields"};
    hk_node node;
    if (!hk_node_member(root, "output", &node)) return HK_OK;
    hk_output_def *output = &scene->output;
    hk_arena *arena = &scene->arena;
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(&node, "every", HK_OPTIONAL, HK_NOT_NEGATIVE, &output->every));
    HK_TRY(hk_member_text(&node, "vtu", HK_OPTIONAL, arena, &output->vtu));
    HK_TRY(check_series_name(&node, output->vtu));
    HK_TRY(hk_member_text(&node, "points", HK_OPTIONAL, arena, &output->points));
    HK_TRY(hk_member_text(&node, "stats", HK_OPTIONAL, arena, &output->stats));
    HK_TRY(hk_member_text(&node, "skin", HK_OPTIONAL, arena, &output->skin));
    HK_TRY(hk_member_text(&node, "probe_file", HK_OPTIONAL, arena, &output->probe_file));
    HK_TRY(hk_member_text(&node, "reactions", HK_OPTIONAL, arena, &output->reactions));
    void *probes = NULL, *fields = NULL;
    HK_TRY(hk_read_list(scene, NULL, &node, "fields", sizeof(char *), read_field_name, &fields,
                        &output->field_count));
    output->fields = fields;
    HK_TRY(hk_read_list(scene, NULL, &node, "probes", sizeof(hk_probe_def), read_probe, &probes,
                        &output->probe_count));
    output->probes = probes;
    return check_probe_names(&node, output->probes, output->probe_count);
}

// ---------------------------------------------------------------- the whole

static hk_status read_backend(hk_scene *scene, const hk_node *root)
{
    static const char *const words[] = {"cpu", "cuda", "auto"};
    static const hk_backend backends[] = {HK_BACKEND_CPU, HK_BACKEND_CUDA, HK_BACKEND_AUTO};
    hk_node node;
    int which;
    if (!hk_node_member(root, "backend", &node)) return HK_OK;
    HK_TRY(hk_node_choice(&node, words, HK_COUNT_OF(words), &which));
    scene->world.backend = backends[which];
    return HK_OK;
}

static hk_status read_damping(const hk_node *root, hk_world_def *world)
{
    static const char *const keys[] = {"air", "air_per_vertex", "viscous", "ether",
                                       "pbd", "laplacian"};
    hk_damping *damping = &world->damping;
    double *const values[] = {&damping->air,     &damping->air_per_vertex,
                              &damping->viscous, &damping->ether,
                              &damping->pbd,     &world->laplacian_damping};
    hk_node node;
    if (!hk_node_member(root, "damping", &node)) return HK_OK;
    HK_TRY(hk_node_keys(&node, keys, HK_COUNT_OF(keys)));
    for (int k = 0; k < HK_COUNT_OF(keys); k++)
        HK_TRY(hk_member_number(&node, keys[k], HK_OPTIONAL, HK_NOT_NEGATIVE, values[k]));
    return HK_OK;
}

// A file of a later version may mean something else by the same keys.
static hk_status check_version(const hk_node *root)
{
    hk_node node;
    int version = HK_SCENE_VERSION;
    if (!hk_node_member(root, "version", &node)) return HK_OK;
    HK_TRY(hk_node_int(&node, 1, &version));
    if (version <= HK_SCENE_VERSION) return HK_OK;
    return hk_node_fail(&node,
                        "is newer than what Hooke %s knows (scenes of version %d): take a "
                        "newer Hooke",
                        hk_version(), HK_SCENE_VERSION);
}

// [x, y, z], or {"value": [x, y, z], "factor", "over"}.
static hk_status read_gravity(hk_scene *scene, const hk_node *root)
{
    static const char *const keys[] = {"value", "factor", "over"};
    hk_node gravity;
    hk_factor_def *factor = &scene->model.gravity_factor;
    if (!hk_node_member(root, "gravity", &gravity)) return HK_OK;
    if (!json_is_object(gravity.json))
        return hk_node_numbers(&gravity, 3, HK_ANY_NUMBER, scene->model.gravity);
    HK_TRY(hk_node_keys(&gravity, keys, HK_COUNT_OF(keys)));
    HK_TRY(
        hk_member_numbers(&gravity, "value", HK_REQUIRED, 3, HK_ANY_NUMBER, scene->model.gravity));
    HK_TRY(hk_read_factor(scene, &gravity, "factor", factor));
    return hk_member_number(&gravity, "over", HK_OPTIONAL, HK_NOT_NEGATIVE, &factor->over);
}

static hk_status read_scene(hk_scene *scene, const hk_node *root)
{
    static const char *const keys[] = {
        "$schema", "version",   "time",   "gravity", "solver", "damping", "threads",     "backend",
        "contact", "obstacles", "bodies", "springs", "seams",  "joints",  "constraints", "output"};
    hk_node node, contact;
    const char *schema;
    HK_TRY(hk_node_keys(root, keys, HK_COUNT_OF(keys)));
    if (hk_node_member(root, "$schema", &node)) HK_TRY(hk_node_text(&node, &schema));
    HK_TRY(check_version(root));
    HK_TRY(read_time(scene, root));
    HK_TRY(read_gravity(scene, root));
    if (hk_node_member(root, "solver", &node))
        HK_TRY(hk_read_solver(scene, &node, &scene->world.solver));
    HK_TRY(read_damping(root, &scene->world));
    HK_TRY(hk_member_int(root, "threads", HK_OPTIONAL, 0, &scene->world.threads));
    HK_TRY(read_backend(scene, root));
    HK_TRY(read_output(scene, root));
    bool has_contact = hk_node_member(root, "contact", &contact);
    if (has_contact) HK_TRY(hk_read_contact(scene, &contact));
    // Last, because meshes take the longest to read.
    HK_TRY(hk_node_need(root, "bodies", &node));
    HK_TRY(hk_read_bodies(scene, &node));
    HK_TRY(hk_read_springs(scene, root));
    HK_TRY(hk_read_seams(scene, root));
    HK_TRY(hk_read_joints(scene, root));
    HK_TRY(hk_read_constraints(scene, root));
    if (hk_node_member(root, "obstacles", &node)) HK_TRY(hk_read_obstacles(scene, &node));
    return has_contact ? hk_check_contact_names(scene, &contact) : HK_OK;
}

// `in_folder`: mesh files are relative to the folder that `name` lies in.
static hk_status open_scene(const char *text, size_t length, const char *name, bool in_folder,
                            const char *const *sets, int set_count, hk_scene **scene)
{
    hk_scene *made = HK_NEW(hk_scene);
    if (!made) return HK_NO_MEMORY;
    made->model = hk_default_model_def();
    made->world = hk_default_world_def();
    const char *slash = in_folder ? strrchr(name, '/') : NULL;
    hk_source source = {.name = name,
                        .text = text,
                        .length = length,
                        .folder_length = slash ? (size_t)(slash - name) + 1 : 0};
    hk_status status = hk_source_open(&source, sets, set_count);
    if (status == HK_OK) {
        hk_node root = hk_node_root(&source);
        status = read_scene(made, &root);
    }
    hk_source_close(&source);
    if (status == HK_OK)
        *scene = made;
    else
        hk_scene_free(made);
    return status;
}

static hk_status check_sets(const char *const *sets, int set_count)
{
    if (set_count < 0) return hk_fail(HK_BAD_INPUT, "the number of overrides is %d", set_count);
    if (set_count > 0 && !sets) return hk_fail(HK_BAD_INPUT, "the list of overrides is NULL");
    return HK_OK;
}

hk_status hk_scene_load(const char *path, const char *const *sets, int set_count, hk_scene **scene)
{
    if (!path || !scene) return hk_fail(HK_BAD_INPUT, "hk_scene_load: an argument is NULL");
    HK_TRY(check_sets(sets, set_count));
    hk_bytes bytes;
    HK_TRY(hk_bytes_load(path, &bytes));
    hk_status status = open_scene(bytes.data, bytes.size, path, true, sets, set_count, scene);
    hk_bytes_free(&bytes);
    return status;
}

hk_status hk_scene_parse(const char *text, size_t length, const char *name, const char *const *sets,
                         int set_count, hk_scene **scene)
{
    if (!text || !scene) return hk_fail(HK_BAD_INPUT, "hk_scene_parse: an argument is NULL");
    HK_TRY(check_sets(sets, set_count));
    return open_scene(text, length, name ? name : "scene", false, sets, set_count, scene);
}

void hk_scene_free(hk_scene *scene)
{
    if (!scene) return;
    for (int i = 0; i < scene->mesh_count; i++) {
        hk_mesh_free(scene->meshes[i]);
        hk_mesh_free(scene->skins[i]);
        hk_mesh_free(scene->filled[i]);
    }
    for (int i = 0; i < scene->obstacle_mesh_count; i++) hk_mesh_free(scene->obstacle_meshes[i]);
    hk_arena_free(&scene->arena);
    hk_free(scene);
}

const hk_model_def *hk_scene_model(const hk_scene *scene)
{
    return scene ? &scene->model : NULL;
}
const hk_world_def *hk_scene_world(const hk_scene *scene)
{
    return scene ? &scene->world : NULL;
}
const hk_output_def *hk_scene_output(const hk_scene *scene)
{
    return scene ? &scene->output : NULL;
}
int hk_scene_steps(const hk_scene *scene)
{
    return scene ? scene->steps : 0;
}
