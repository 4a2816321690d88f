// What a world shows: fields, meshes and files.
#include <stdio.h>

#include "io/io.h"
#include "world/world.h"

// The fields that there are, and how files have them.
typedef struct known_field {
    const char *name;
    hk_field_site site;
    int components;
    int result;      // hk_tet_result, of tets
    bool on_demand;  // in files that are asked to have it
} known_field;
static const known_field g_fields[] = {
    {"displacement", HK_ON_VERTICES, 3, 0, false},
    {"velocity", HK_ON_VERTICES, 3, 0, false},
    {"von_mises", HK_ON_TETS, 1, HK_TET_VON_MISES, false},
    {"J", HK_ON_TETS, 1, HK_TET_J, false},
    {"stress", HK_ON_TETS, 9, HK_TET_STRESS, true},
    {"principal_stress", HK_ON_TETS, 3, HK_TET_PRINCIPAL, true},
    {"strain", HK_ON_TETS, 9, HK_TET_STRAIN, true},
    {"reaction", HK_ON_VERTICES, 3, 0, true},
    {"contact_force", HK_ON_VERTICES, 3, 0, false},
};
enum { FIELDS = HK_COUNT_OF(g_fields) };

hk_status hk_world_field(hk_world *w, const char *name, double *values)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !name || !values)
        return hk_fail(HK_BAD_INPUT, "hk_world_field: world, name and values are needed");
    HK_TRY(hk_world_fetch(w));
    size_t size = 3 * (size_t)w->model->vertex_count;
    for (int k = 0; k < FIELDS; k++)
        if (g_fields[k].site == HK_ON_TETS && strcmp(name, g_fields[k].name) == 0)
            return hk_world_tet_result(w, (hk_tet_result)g_fields[k].result, g_fields[k].components,
                                       values);
    if (strcmp(name, "velocity") == 0) {
        memcpy(values, w->velocities, size * sizeof(double));
        return HK_OK;
    }
    if (strcmp(name, "displacement") == 0) {
        for (size_t k = 0; k < size; k++) values[k] = w->positions[k] - w->model->rest[k];
        return HK_OK;
    }
    if (strcmp(name, "reaction") == 0) return hk_world_find_reactions(w, NULL, values);
    if (strcmp(name, "contact_force") == 0) return hk_world_contact_forces(w, values);
    return hk_fail(HK_BAD_INPUT,
                   "no field \"%s\" (known: displacement, velocity, von_mises, J, stress, "
                   "principal_stress, strain, reaction, contact_force)",
                   name);
}

// One group a body, so that they can be told apart in the file.
static hk_status name_bodies(const hk_model *m, hk_mesh *mesh)
{
    for (int b = 0; b < m->body_count && m->body_count > 1; b++) {
        hk_group *group;
        const hk_body *body = &m->bodies[b];
        bool sheet = body->tet_count == 0;
        if (body->line_count > 0) {
            HK_TRY(hk_mesh_add_group(mesh, body->name, 0, body->vertex_count, &group));
            for (int32_t k = 0; k < group->count; k++) group->items[k] = body->vertex_start + k;
            continue;
        }
        HK_TRY(hk_mesh_add_group(mesh, body->name, sheet ? 2 : 3,
                                 sheet ? body->triangle_count : body->tet_count, &group));
        for (int32_t k = 0; k < group->count; k++)
            group->items[k] = (sheet ? body->triangle_start : body->tet_start) + k;
    }
    return HK_OK;
}

hk_status hk_world_mesh(const hk_world *w, hk_mesh **mesh)
{
    if (!w || !mesh) return hk_fail(HK_BAD_INPUT, "hk_world_mesh: world and mesh are needed");
    HK_TRY(hk_world_fetch_positions(w));
    const hk_model *m = w->model;
    hk_mesh *made;
    HK_TRY(hk_mesh_new(m->vertex_count, m->tet_count, m->triangle_count, &made));
    memcpy(made->positions, w->positions, 3 * sizeof(double) * (size_t)m->vertex_count);
    memcpy(made->tets, m->tets, 4 * sizeof(int32_t) * (size_t)m->tet_count);
    memcpy(made->triangles, m->triangles, 3 * sizeof(int32_t) * (size_t)m->triangle_count);
    hk_status status = hk_model_copy_middles(m, NULL, made);
    if (status == HK_OK && m->line_count > 0)
        status = hk_mesh_set_lines(made, m->line_count, m->lines);
    if (status == HK_OK) status = name_bodies(m, made);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

static bool is_asked_for(const char *name, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (names[k] && strcmp(names[k], name) == 0) return true;
    return false;
}

// Whether a file has a field: those of every file, of contact where there is any, and those that
// are asked for.
static bool is_wanted(const hk_world *w, const known_field *field, const char *const *names,
                      int count)
{
    if (strcmp(field->name, "contact_force") == 0) return w->model->contact != NULL;
    return !field->on_demand || is_asked_for(field->name, names, count);
}

static hk_status check_names(const char *const *names, int count)
{
    if (count < 0 || (count > 0 && !names))
        return hk_fail(HK_BAD_INPUT, "hk_world_save_fields: names are needed");
    for (int n = 0; n < count; n++) {
        bool known = false;
        for (int k = 0; k < FIELDS; k++)
            known |= names[n] && strcmp(names[n], g_fields[k].name) == 0;
        if (!known)
            return hk_fail(HK_BAD_INPUT,
                           "no field \"%s\" (known: stress, principal_stress, strain, "
                           "reaction)",
                           names[n] ? names[n] : "");
    }
    return HK_OK;
}

hk_status hk_world_save(hk_world *w, const char *path)
{
    return hk_world_save_fields(w, path, NULL, 0);
}

hk_status hk_world_save_fields(hk_world *w, const char *path, const char *const *names,
                               int name_count)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !path) return hk_fail(HK_BAD_INPUT, "hk_world_save: world and path are needed");
    HK_TRY(check_names(names, name_count));
    int count = 0;
    hk_mesh *mesh = NULL;
    hk_status status = hk_world_mesh(w, &mesh);
    hk_field fields[FIELDS];
    double *values[FIELDS] = {0};
    for (int k = 0; k < FIELDS && status == HK_OK; k++) {
        const known_field *f = &g_fields[k];
        if (!is_wanted(w, f, names, name_count)) continue;
        int sites = f->site == HK_ON_TETS ? w->model->tet_count : w->model->vertex_count;
        values[count] = HK_ARRAY(double, (size_t)sites *(size_t)f->components);
        status = values[count] ? hk_world_field(w, f->name, values[count]) : HK_NO_MEMORY;
        fields[count] = (hk_field){f->name, f->site, f->components, values[count]};
        count++;
    }
    if (status == HK_OK) status = hk_mesh_save(mesh, path, fields, count);
    for (int k = 0; k < FIELDS; k++) hk_free(values[k]);
    hk_mesh_free(mesh);
    return status;
}

hk_status hk_world_save_points(const hk_world *w, const char *path)
{
    if (!w || !path)
        return hk_fail(HK_BAD_INPUT, "hk_world_save_points: world and path are needed");
    HK_TRY(hk_world_fetch_positions(w));
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_out_text(out, "vertex,x,y,z\n");
    for (int v = 0; v < w->model->vertex_count; v++) {
        const double *x = w->positions + 3 * (int64_t)v;
        hk_out_text(out, "%d,%.17g,%.17g,%.17g\n", v, x[0], x[1], x[2]);
    }
    return hk_out_commit(out);
}
