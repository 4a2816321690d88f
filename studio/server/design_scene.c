// A design as a scene of its own: meshes in the rest shape that was found, and what is held, loaded
// and made of what by vertices, because boxes mean the shape that the scene had before.
#include <stdlib.h>
#include <string.h>

#include "design.h"

// ---------------------------------------------------------------- meshes

// With the groups that the scene's mesh has: that one is lent the positions.
static bool save_mesh(const hk_mesh *mesh, const double *x, const char *path, st_why *why)
{
    size_t n = 3 * (size_t)hk_mesh_vertex_count(mesh);
    hk_mesh *lent = (hk_mesh *)mesh;
    double *before = st_alloc(n, sizeof *before);
    memcpy(before, hk_mesh_positions(mesh), sizeof *before * n);
    bool good =
        (hk_mesh_set_positions(lent, x) == HK_OK && hk_mesh_save(lent, path, NULL, 0) == HK_OK) ||
        st_fail_library(why);
    hk_mesh_set_positions(lent, before);
    free(before);
    return good;
}

static bool save_skin(const hk_embedding *skin, const double *x, const char *path, st_why *why)
{
    const hk_mesh *surface = hk_embedding_surface(skin);
    int n = hk_mesh_vertex_count(surface);
    double *carried = st_alloc(3 * (size_t)n, sizeof *carried);
    hk_mesh *mesh = NULL;
    bool good = (hk_embedding_apply(skin, 3, x, carried) == HK_OK &&
                 hk_mesh_from_arrays(n, carried, 0, NULL, hk_mesh_triangle_count(surface),
                                     hk_mesh_triangles(surface), &mesh) == HK_OK &&
                 hk_mesh_save(mesh, path, NULL, 0) == HK_OK) ||
                st_fail_library(why);
    hk_mesh_free(mesh);
    free(carried);
    return good;
}

static bool put_meshes(st_session *s, int b, json_t *body, const char *stem, st_why *why)
{
    const st_part *part = &s->surface.parts[b];
    const double *x = s->design->shapes[HK_REST_SHAPE] + 3 * (size_t)part->model_start;
    char *suffix = s->edits.body_count > 1 ? st_format("-%d", b) : st_copy("");
    char *file = st_format("%s-rest%s.msh", stem, suffix);
    char *skin = st_format("%s-rest%s-skin.obj", stem, suffix);
    char *path = st_files_upload(s->files, file, why);
    char *skin_path = path ? st_files_upload(s->files, skin, why) : NULL;
    bool good = skin_path && save_mesh(s->edits.bodies[b].def->mesh, x, path, why) &&
                (!part->skin || save_skin(part->skin, x, skin_path, why));
    if (good) {
        json_object_set_new(body, "mesh", json_pack("{s:s}", "file", file));
        if (part->skin) json_object_set_new(body, "skin", json_pack("{s:s}", "file", skin));
        json_object_del(body, "transform");
    }
    free(skin_path);
    free(path);
    free(skin);
    free(file);
    free(suffix);
    return good;
}

// ---------------------------------------------------------------- selections

static json_t *vertex_list(const uint8_t *chosen, int count)
{
    json_t *list = json_array();
    for (int v = 0; v < count; ++v)
        if (chosen[v]) json_array_append_new(list, json_integer(v));
    return json_pack("{s:o}", "vertices", list);
}

// What a selector means in the shape that the scene has; groups stay groups.
static json_t *selected(st_session *s, int b, const hk_selector *select)
{
    int count = s->surface.parts[b].model_count;
    if (select->kind == HK_SELECT_GROUP) return json_pack("{s:s}", "group", select->group);
    uint8_t *chosen = st_alloc((size_t)count, 1);
    if (hk_model_select(s->design->model, b, select, chosen, NULL) != HK_OK)
        memset(chosen, 0, (size_t)count);
    json_t *list = vertex_list(chosen, count);
    free(chosen);
    return list;
}

static void put_holds(st_session *s, int b, json_t *body)
{
    const st_part *part = &s->surface.parts[b];
    uint8_t *holds = st_alloc((size_t)s->surface.model_vertex_count, 1);
    bool any = false;
    if (hk_model_holds(s->design->model, holds) != HK_OK) holds[0] = 0;
    for (int v = part->model_start; v < part->model_start + part->model_count; ++v) {
        holds[v] = (holds[v] & HK_ALL_AXES) == HK_ALL_AXES;
        any = any || holds[v];
    }
    json_object_del(body, "fix");
    if (any)
        json_object_set_new(
            body, "fix",
            json_pack("[o]", vertex_list(holds + part->model_start, part->model_count)));
    free(holds);
}

// Entries of the scene's list, and those that were added, in the order of the edits.
static void put_selections(st_session *s, int b, json_t *body)
{
    const st_body_edits *edits = &s->edits.bodies[b];
    json_t *regions = json_object_get(body, "regions"), *loads = json_object_get(body, "load");
    for (int r = 0; r < edits->region_count; ++r)
        json_object_set_new(json_array_get(regions, (size_t)r), "select",
                            selected(s, b, &edits->regions[r].select));
    for (int k = 0; k < edits->load_count; ++k)
        json_object_set_new(json_array_get(loads, (size_t)k), "select",
                            selected(s, b, &edits->loads[k].def.select));
}

// ---------------------------------------------------------------- the scene

json_t *st_design_scene(st_session *s, const char *stem, st_why *why)
{
    json_t *root = st_edits_scene(&s->edits, why);
    json_t *bodies = json_object_get(root, "bodies");
    bool good = root != NULL;
    if (good && json_array_size(bodies) != (size_t)s->edits.body_count)
        good = st_fail(why, "the scene makes bodies as copies: their shapes cannot be written");
    if (good && s->design->view.state == HK_DESIGN_FAILED)
        good = st_fail(why, "there is no rest shape to write: %s", s->design->view.detail);
    for (int b = 0; b < s->edits.body_count && good; ++b) {
        json_t *body = json_array_get(bodies, (size_t)b);
        good = put_meshes(s, b, body, stem, why);
        if (!good) break;
        put_holds(s, b, body);
        put_selections(s, b, body);
    }
    if (good) return root;
    json_decref(root);
    return NULL;
}
