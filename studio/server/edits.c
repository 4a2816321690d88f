#include "edits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- beginning

static void begin_body(st_body_edits *body, const hk_body_def *def)
{
    *body = (st_body_edits){.def = def, .material = def->material};
    body->vertex_count = hk_mesh_vertex_count(def->mesh);
    body->holds = st_alloc((size_t)body->vertex_count, 1);
    body->region_count = def->region_count;
    body->regions = st_alloc(ST_MAX_REGIONS + (size_t)def->region_count, sizeof *body->regions);
    for (int r = 0; r < def->region_count; ++r) {
        const hk_region_def *region = hk_def_at(def->regions, r);
        body->regions[r] = (st_region){.material = region->material,
                                       .select = region->select,
                                       .name = region->name,
                                       .rigid = region->rigid};
    }
    body->load_count = def->load_count;
    body->loads = st_alloc(ST_MAX_LOADS + (size_t)def->load_count, sizeof *body->loads);
    for (int k = 0; k < def->load_count; ++k) {
        const hk_load_def *load = hk_def_at(def->loads, k);
        body->loads[k].def = *load;
    }
}

void st_edits_begin(st_edits *edits, const st_scene *scene)
{
    const hk_model_def *model = hk_scene_model(scene->def);
    const hk_world_def *world = hk_scene_world(scene->def);
    *edits = (st_edits){.scene = scene, .body_count = model->body_count};
    edits->bodies = st_alloc((size_t)model->body_count, sizeof *edits->bodies);
    for (int b = 0; b < model->body_count; ++b)
        begin_body(&edits->bodies[b], hk_def_at(model->bodies, b));
    memcpy(edits->gravity, model->gravity, sizeof edits->gravity);
    edits->step = world->step;
    edits->damping = world->damping;
    st_copy_solver(&edits->solver, &world->solver);
}

void st_edits_clear_loads(st_body_edits *body)
{
    for (int k = 0; k < body->load_count; ++k) free(body->loads[k].vertices);
    body->load_count = 0;
    body->loads_changed = true;
}

static int32_t *copy_vertices(const int32_t *vertices, int count)
{
    int32_t *copy = st_alloc((size_t)count, sizeof *copy);
    memcpy(copy, vertices, sizeof *copy * (size_t)count);
    return copy;
}

static void copy_selected(hk_selector *select, int32_t **vertices)
{
    if (!*vertices) return;
    *vertices = copy_vertices(*vertices, select->vertex_count);
    select->vertices = *vertices;
}

static void copy_body(st_body_edits *to, const st_body_edits *from)
{
    size_t regions = ST_MAX_REGIONS + (size_t)from->def->region_count;
    size_t loads = ST_MAX_LOADS + (size_t)from->def->load_count;
    *to = *from;
    to->holds = st_alloc((size_t)from->vertex_count, 1);
    memcpy(to->holds, from->holds, (size_t)from->vertex_count);
    to->regions = st_alloc(regions, sizeof *to->regions);
    memcpy(to->regions, from->regions, sizeof *to->regions * (size_t)from->region_count);
    for (int r = 0; r < to->region_count; ++r)
        copy_selected(&to->regions[r].select, &to->regions[r].vertices);
    to->loads = st_alloc(loads, sizeof *to->loads);
    memcpy(to->loads, from->loads, sizeof *to->loads * (size_t)from->load_count);
    for (int k = 0; k < to->load_count; ++k)
        copy_selected(&to->loads[k].def.select, &to->loads[k].vertices);
}

void st_edits_copy(st_edits *to, const st_edits *from)
{
    *to = *from;
    to->bodies = st_alloc((size_t)from->body_count, sizeof *to->bodies);
    for (int b = 0; b < from->body_count; ++b) copy_body(&to->bodies[b], &from->bodies[b]);
}

void st_edits_free(st_edits *edits)
{
    for (int b = 0; b < edits->body_count; ++b) {
        st_body_edits *body = &edits->bodies[b];
        for (int r = 0; r < body->region_count; ++r) free(body->regions[r].vertices);
        st_edits_clear_loads(body);
        free(body->regions);
        free(body->loads);
        free(body->holds);
    }
    free(edits->bodies);
    *edits = (st_edits){.scene = NULL};
}

// ---------------------------------------------------------------- regions and loads

static bool is_same_material(const hk_material_def *a, const hk_material_def *b)
{
    json_t *x = st_material_json(a), *y = st_material_json(b);
    bool same = json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

// Strokes of a brush with one material are one region.
static bool extend_region(st_region *region, const int32_t *vertices, int count)
{
    int before = region->select.vertex_count;
    if (count > 1 << 22 || before > 1 << 22) return false;
    region->vertices =
        st_realloc(region->vertices, (size_t)(before + count), sizeof *region->vertices);
    memcpy(region->vertices + before, vertices, sizeof *vertices * (size_t)count);
    region->select.vertices = region->vertices;
    region->select.vertex_count = before + count;
    return true;
}

void st_edits_add_region(st_body_edits *body, const int32_t *vertices, int count,
                         const hk_material_def *material)
{
    st_region *last = body->region_count > 0 ? &body->regions[body->region_count - 1] : NULL;
    body->regions_changed = true;
    if (last && last->vertices && is_same_material(&last->material, material) &&
        extend_region(last, vertices, count))
        return;
    if (body->region_count - body->def->region_count >= ST_MAX_REGIONS) return;
    st_region region = {.material = *material, .vertices = copy_vertices(vertices, count)};
    region.select.kind = HK_SELECT_VERTICES;
    region.select.vertices = region.vertices;
    region.select.vertex_count = count;
    body->regions[body->region_count++] = region;
}

void st_edits_add_load(st_body_edits *body, const int32_t *vertices, int count,
                       const hk_load_def *load)
{
    if (body->load_count - body->def->load_count >= ST_MAX_LOADS) return;
    st_load added = {.def = *load, .vertices = copy_vertices(vertices, count)};
    added.def.select = (hk_selector){
        .kind = HK_SELECT_VERTICES, .vertices = added.vertices, .vertex_count = count};
    body->loads[body->load_count++] = added;
    body->loads_changed = true;
}

hk_load_def *st_edits_loads(const st_body_edits *body)
{
    hk_load_def *loads = st_alloc((size_t)body->load_count + 1, sizeof *loads);
    for (int k = 0; k < body->load_count; ++k) loads[k] = body->loads[k].def;
    return loads;
}

// ---------------------------------------------------------------- a model with all of them

enum { MAX_BLOCKS = 8 };
typedef struct body_arrays {  // what a definition points to
    void *blocks[MAX_BLOCKS];
    int count;
} body_arrays;

static void *keep(body_arrays *arrays, void *block)
{
    arrays->blocks[arrays->count++] = block;
    return block;
}

static int32_t *held_so(const st_body_edits *edits, st_hold hold, int *count)
{
    int32_t *vertices = st_alloc((size_t)edits->vertex_count, sizeof *vertices);
    *count = 0;
    for (int v = 0; v < edits->vertex_count; ++v)
        if (edits->holds[v] == hold) vertices[(*count)++] = v;
    return vertices;
}

// Each fix of the scene without those that were freed: not (not it, or freed).
static void edit_fixes(const st_body_edits *edits, hk_body_def *body, body_arrays *arrays)
{
    int fixed_count, freed_count, n = edits->def->fix_count;
    int32_t *fixed = keep(arrays, held_so(edits, ST_HOLD_FIXED, &fixed_count));
    int32_t *freed = keep(arrays, held_so(edits, ST_HOLD_FREED, &freed_count));
    hk_selector *fixes = keep(arrays, st_alloc((size_t)n + 1, sizeof *fixes));
    hk_selector *parts = keep(arrays, st_alloc(3 * (size_t)n + 1, sizeof *parts));
    uint8_t *axes = keep(arrays, st_alloc((size_t)n + 1, 1));
    const char **names = keep(arrays, st_alloc((size_t)n + 1, sizeof *names));
    for (int k = 0; k < n; ++k) {
        hk_selector *part = parts + 3 * k;
        part[0] = (hk_selector){
            .kind = HK_SELECT_NOT, .children = &edits->def->fixes[k], .child_count = 1};
        part[1] = (hk_selector){
            .kind = HK_SELECT_VERTICES, .vertices = freed, .vertex_count = freed_count};
        part[2] = (hk_selector){.kind = HK_SELECT_ANY, .children = part, .child_count = 2};
        fixes[k] = (hk_selector){.kind = HK_SELECT_NOT, .children = &part[2], .child_count = 1};
        if (freed_count == 0) fixes[k] = edits->def->fixes[k];
        axes[k] = edits->def->fix_axes ? edits->def->fix_axes[k] : HK_ALL_AXES;
        names[k] = edits->def->fix_names ? edits->def->fix_names[k] : NULL;
    }
    if (fixed_count > 0) {
        fixes[n] = (hk_selector){
            .kind = HK_SELECT_VERTICES, .vertices = fixed, .vertex_count = fixed_count};
        axes[n++] = HK_ALL_AXES;
    }
    body->fixes = fixes;
    body->fix_count = n;
    body->fix_axes = axes;
    body->fix_names = names;
}

static void edit_body(const st_body_edits *edits, hk_body_def *body, body_arrays *arrays)
{
    *body = *edits->def;
    body->material = edits->material;
    hk_region_def *regions =
        keep(arrays, st_alloc((size_t)edits->region_count + 1, sizeof *regions));
    for (int r = 0; r < edits->region_count; ++r) {
        regions[r] = hk_default_region_def();
        regions[r].select = edits->regions[r].select;
        regions[r].material = edits->regions[r].material;
        regions[r].name = edits->regions[r].name;
        regions[r].rigid = edits->regions[r].rigid;
    }
    body->regions = regions;
    body->region_count = edits->region_count;
    body->loads = keep(arrays, st_edits_loads(edits));
    body->load_count = edits->load_count;
    if (edits->holds_changed) edit_fixes(edits, body, arrays);
}

static bool material_tears(const hk_material_def *def)
{
    return def->tear_stress > 0 || def->tear_strain > 0;
}

bool st_edits_tear(const st_edits *edits)
{
    const hk_model_def *def = hk_scene_model(edits->scene->def);
    bool tears = def->tearing && def->tearing->cut_count > 0;
    for (int b = 0; b < edits->body_count; ++b) {
        const st_body_edits *body = &edits->bodies[b];
        tears |= material_tears(&body->material);
        for (int r = 0; r < body->region_count; ++r)
            tears |= material_tears(&body->regions[r].material);
    }
    return tears;
}

bool st_edits_model(const st_edits *edits, bool contact, hk_model **model, st_why *why)
{
    size_t n = (size_t)edits->body_count;
    hk_body_def *bodies = st_alloc(n, sizeof *bodies);
    body_arrays *arrays = st_alloc(n, sizeof *arrays);
    hk_model_def def = *hk_scene_model(edits->scene->def);
    for (size_t b = 0; b < n; ++b) edit_body(&edits->bodies[b], &bodies[b], &arrays[b]);
    def.bodies = bodies;
    memcpy(def.gravity, edits->gravity, sizeof def.gravity);
    if (edits->gravity_changed) def.gravity_factor = (hk_factor_def){.over = 0};
    if (!contact) {
        def.contact = NULL;
        def.obstacles = NULL;
        def.obstacle_count = 0;
    }
    st_scene_enter(edits->scene);
    bool good = hk_model_create(&def, model) == HK_OK || st_fail_library(why);
    st_scene_leave();
    for (size_t b = 0; b < n; ++b)
        for (int i = 0; i < arrays[b].count; ++i) free(arrays[b].blocks[i]);
    free(arrays);
    free(bodies);
    return good;
}

hk_world_def st_edits_world(const st_edits *edits, int threads)
{
    hk_world_def def = hk_copy_world_def(hk_scene_world(edits->scene->def));
    def.step = edits->step;
    def.damping = edits->damping;
    def.solver = st_solver_def(&edits->solver);
    if (threads >= 0)
        def.threads = threads;
    else if (def.threads ==
             0)  // a core is left for the browser, without which they wait for each other
        def.threads = hk_machine()->threads > 1 ? hk_machine()->threads - 1 : 1;
    return def;
}
