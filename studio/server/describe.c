// The messages `scene` and `topology`.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

static json_t *body_loads(const st_session *s, int b)
{
    json_t *list = json_array();
    const st_body_edits *body = &s->edits.bodies[b];
    for (int k = 0; k < body->load_count; ++k) {
        const hk_load_def *load = &body->loads[k].def;
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:b}", "force", st_json_vector(load->force, 3),
                                        "pressure", st_json_real(load->pressure), "added",
                                        (int)(body->loads[k].vertices != NULL)));
    }
    return list;
}

static json_t *describe_bodies(const st_session *s, const hk_model *model)
{
    json_t *list = json_array();
    const double *masses = hk_model_masses(model);
    for (int b = 0; b < s->edits.body_count; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        const st_part *part = &s->surface.parts[b];
        json_t *regions = json_array();
        double mass = 0;
        for (int r = 0; r < body->region_count; ++r) {
            const char *own = body->regions[r].name;
            char *name = own ? st_copy(own) : st_format("region %d", r);
            json_array_append_new(regions,
                                  json_pack("{s:s, s:o, s:b}", "name", name, "material",
                                            st_material_json(&body->regions[r].material), "added",
                                            (int)(body->regions[r].vertices != NULL)));
            free(name);
        }
        for (int v = 0; v < part->model_count; ++v) mass += masses[part->model_start + v];
        char *name = body->def->name ? st_copy(body->def->name) : st_format("body %d", b);
        json_array_append_new(
            list, json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:[i,i]}", "name",
                            st_json_text(name), "sheet", (int)part->sheet, "rope", (int)part->rope,
                            "material", st_material_json(&body->material), "regions", regions,
                            "loads", body_loads(s, b), "mass", st_json_real(mass), "model_vertices",
                            part->model_start, part->model_count));
        free(name);
    }
    return list;
}

static json_t *describe_damping(const hk_damping *d)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "air", d->air, "viscous", d->viscous, "ether",
                     d->ether, "pbd", d->pbd, "air_per_vertex", d->air_per_vertex);
}

void st_tell_scene(st_session *s, int client, bool edited)
{
    const hk_model *model = NULL;
    if (!s->mode->world_model(s, &model)) return;
    const hk_world_def *world = hk_scene_world(s->scene.def);
    hk_solver_def solver = st_solver_def(&s->edits.solver);
    double contact = hk_model_contact_distance(model);
    char *title = st_scene_title(s->scene.name);
    json_t *object = json_pack("{s:s, s:o, s:o, s:s, s:i, s:b, s:b}", "type", "scene", "path",
                               st_json_text(s->scene.name), "title", st_json_text(title), "mode",
                               s->mode->name, "generation", (int)s->generation, "writable",
                               (int)s->scene.writable, "edited", (int)edited);
    json_t *more =
        json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:O}", "vertices",
                  hk_model_vertex_count(model), "tets", hk_model_tet_count(model), "triangles",
                  hk_model_triangle_count(model), "lines", hk_model_line_count(model), "step",
                  s->edits.step, "end", s->edits.step * hk_scene_steps(s->scene.def), "integrator",
                  world->integrator ? world->integrator : "backward_euler", "gravity",
                  st_json_vector(s->edits.gravity, 3), "damping",
                  describe_damping(&s->edits.damping), "solver", st_solver_json(&solver), "contact",
                  contact > 0 ? json_pack("{s:f}", "distance", contact) : json_null(), "bodies",
                  describe_bodies(s, model), "notes", s->scene.notes);
    json_object_update(object, more);
    json_decref(more);
    if (!edited) json_object_set_new(object, "text", json_stringn(s->scene.text, s->scene.length));
    s->mode->describe(s, object);
    free(title);
    st_send(s->hub, client, object);
}

// ---------------------------------------------------------------- topology

static json_t *range(int first, int count)
{
    return json_pack("[i,i]", first, count);
}

static json_t *topology_bodies(const st_session *s)
{
    json_t *list = json_array();
    for (int b = 0; b < s->surface.body_count; ++b) {
        const st_part *p = &s->surface.parts[b];
        const char *name = s->edits.bodies[b].def->name;
        char *plain = name ? st_copy(name) : st_format("body %d", b);
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o, s:b, s:b}", "name", st_json_text(plain),
                                        "vertices", range(p->first_vertex, p->vertex_count),
                                        "triangles", range(p->first_triangle, p->triangle_count),
                                        "skin", (int)(p->skin != NULL), "sheet", (int)p->sheet));
        free(plain);
    }
    return list;
}

static bool obstacle_moves(const hk_model_def *def, int k)
{
    const hk_obstacle_def *o = hk_def_at(def->obstacles, k);
    const hk_formula_def *f = &o->formula;
    return o->move_count > 0 || o->key_count > 0 || f->degrees || f->translate[0] ||
           f->translate[1] || f->translate[2];
}

static bool is_plane(const hk_model_def *def, int k)
{
    const hk_obstacle_def *o = hk_def_at(def->obstacles, k);
    return o->shape == HK_OBSTACLE_PLANE;
}

static json_t *topology_obstacles(const st_session *s, const hk_model *model)
{
    json_t *list = json_array();
    const hk_model_def *def = hk_scene_model(s->scene.def);
    for (int k = 0; k < s->surface.obstacle_count; ++k) {
        const st_obstacle *o = &s->surface.obstacles[k];
        const char *name = hk_model_obstacle_name(model, k);
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:b, s:b}", "name", st_json_text(name ? name : ""),
                            "vertices", range(o->first_vertex, o->vertex_count), "triangles",
                            range(o->first_triangle, o->triangle_count), "plane",
                            (int)is_plane(def, k), "moves", (int)obstacle_moves(def, k)));
    }
    return list;
}

static char *modulus_text(double young)
{
    if (!isfinite(young)) return st_copy("");
    if (young >= 1e9) return st_format("%.3g GPa", young / 1e9);
    if (young >= 1e6) return st_format("%.3g MPa", young / 1e6);
    if (young >= 1e3) return st_format("%.3g kPa", young / 1e3);
    return st_format("%.3g Pa", young);
}

static void add_material(json_t *list, const hk_material_def *material, int body)
{
    char *modulus = modulus_text(material->young);
    char *label = st_format("%s %s", material->model, modulus);
    json_t *object = st_material_json(material);
    json_object_set_new(object, "label", st_json_text(label));
    json_object_set_new(object, "body", json_integer(body));
    json_array_append_new(list, object);
    free(label);
    free(modulus);
}

static json_t *topology_materials(const st_session *s)
{
    json_t *list = json_array();
    for (int b = 0; b < s->edits.body_count; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        add_material(list, &body->material, b);
        for (int r = 0; r < body->region_count; ++r)
            add_material(list, &body->regions[r].material, b);
    }
    return list;
}

void st_tell_topology(st_session *s, int client)
{
    const hk_model *model = NULL;
    if (!s->mode->world_model(s, &model)) return;
    json_t *shapes = json_array();
    for (int i = 0; i < s->mode->shape_count; ++i)
        json_array_append_new(shapes, json_string(s->mode->shapes[i]));
    json_t *object = json_pack(
        "{s:s, s:i, s:[o,o], s:f, s:o, s:o, s:o, s:o, s:o, s:i}", "type", "topology", "topology",
        (int)s->topology, "bounds", st_json_vector(s->surface.bounds[0], 3),
        st_json_vector(s->surface.bounds[1], 3), "size", s->surface.size, "origin",
        st_json_vector(s->surface.origin, 3), "shapes", shapes, "bodies", topology_bodies(s),
        "obstacles", topology_obstacles(s, model), "materials", topology_materials(s), "springs",
        s->mode->springs ? hk_model_point_spring_count(model) : 0);
    st_send(s->hub, client, object);
    st_send_message(s->hub, client, st_topology_message(s));
    s->dirty = true;
}
