// Changes of a model that a world has for itself.
#include <math.h>

#include "mesh/select.h"
#include "model/conditions.h"
#include "model/build.h"
#include "model/contact.h"
#include "model/rope.h"
#include "model/sheet.h"
#include "model/springs.h"

// ---------------------------------------------------------------- copies

// NULL stays NULL.
static bool copy_array(void *array, size_t count, size_t size)
{
    void **at = array, *from = *at;
    *at = NULL;
    if (!from) return true;
    *at = hk_alloc(count, size);
    if (!*at) return false;
    memcpy(*at, from, count * size);
    return true;
}

static bool copy_body(hk_body *body)
{
    int groups = body->group_count;
    body->group_count = 0;
    body->skin = hk_embedding_share(body->skin);
    bool well = copy_array(&body->name, strlen(body->name) + 1, 1);
    int constraints = body->fix_count + body->move_count;
    well = copy_array(&body->constraint_names, (size_t)constraints, sizeof(char *)) && well;
    for (int k = 0; body->constraint_names && k < constraints; k++) {
        char **name = &body->constraint_names[k];
        if (*name) well = copy_array(name, strlen(*name) + 1, 1) && well;
    }
    if (body->start_state)
        well = copy_array(&body->start_state, strlen(body->start_state) + 1, 1) && well;
    if (!copy_array(&body->groups, (size_t)groups, sizeof(hk_group))) return false;
    for (int k = 0; k < groups; k++) {
        hk_group *g = &body->groups[k];
        bool name = copy_array(&g->name, strlen(g->name) + 1, 1);
        bool items = copy_array(&g->items, (size_t)g->count, sizeof(int32_t));
        well = well && name && items;
        body->group_count++;
    }
    return well;
}

static bool copy_term(hk_user_term *t)
{
    size_t count = (size_t)t->def.element_count * (size_t)t->def.vertex_count;
    bool name = copy_array(&t->name, strlen(t->name) + 1, 1);
    bool vertices = copy_array(&t->vertices, count, sizeof(int32_t));
    t->def.name = t->name;
    t->def.vertices = t->vertices;
    return name && vertices;
}

// All pointers are its own afterwards, or NULL.
static bool copy_arrays(hk_model *m)
{
    size_t n = (size_t)m->vertex_count, tets = (size_t)m->tet_count;
    const struct {
        void *array;
        size_t count, size;
    } all[] = {
        {&m->rest, 3 * n, sizeof(double)},
        {&m->velocity, 3 * n, sizeof(double)},
        {&m->mass, n, sizeof(double)},
        {&m->load, 3 * n, sizeof(double)},
        {&m->hold, n, sizeof(int32_t)},
        {&m->fixed_by, 3 * n, sizeof(int32_t)},
        {&m->axes, m->axes ? n : 0, sizeof(uint8_t)},
        {&m->motions, (size_t)m->motion_count, sizeof(hk_motion)},
        {&m->tets, 4 * tets, sizeof(int32_t)},
        {&m->middles, 6 * tets, sizeof(int32_t)},
        {&m->volume, tets, sizeof(double)},
        {&m->tet_material, tets, sizeof(int32_t)},
        {&m->fibre, 3 * tets, sizeof(double)},
        {&m->materials, (size_t)m->material_count, sizeof(hk_material)},
        {&m->triangles, 3 * (size_t)m->triangle_count, sizeof(int32_t)},
        {&m->springs, (size_t)m->spring_count, sizeof(hk_spring)},
        {&m->bends, (size_t)m->bend_count, sizeof(hk_bend)},
        {&m->spring_order, (size_t)m->spring_count, sizeof(int32_t)},
        {&m->bend_order, (size_t)m->bend_count, sizeof(int32_t)},
        {&m->bend_vertices, (size_t)m->bend_entry_count, sizeof(int32_t)},
        {&m->bend_places, (size_t)m->bend_entry_count, sizeof(int32_t)},
        {&m->bend_coefficients, (size_t)m->bend_entry_count, sizeof(double)},
        {&m->attachments, (size_t)m->attachment_count, sizeof(hk_attachment)},
        {&m->shells, (size_t)m->shell_count, sizeof(hk_shell)},
        {&m->hinges, (size_t)m->hinge_count, sizeof(hk_hinge)},
        {&m->lines, 2 * (size_t)m->line_count, sizeof(int32_t)},
        {&m->line_bends, (size_t)m->line_bend_count, sizeof(hk_line_bend)},
        {&m->slack_lines, (size_t)m->slack_line_count, sizeof(hk_slack_line)},
        {&m->spring_factor, (size_t)m->spring_count, sizeof(double)},
        {&m->bend_factor, n, sizeof(double)},
        {&m->order, n, sizeof(int32_t)},
        {&m->place, n, sizeof(int32_t)},
        {&m->bodies, (size_t)m->body_count, sizeof(hk_body)},
        {&m->user_terms, (size_t)m->user_term_count, sizeof(hk_user_term)},
    };
    bool well = true;
    for (int k = 0; k < HK_COUNT_OF(all); k++)
        well = copy_array(all[k].array, all[k].count, all[k].size) && well;
    m->spring_capacity = (size_t)m->spring_count;
    m->bend_capacity = (size_t)m->bend_count;
    m->bend_vertex_capacity = m->bend_coefficient_capacity = (size_t)m->bend_entry_count;
    m->attachment_capacity = (size_t)m->attachment_count;
    m->shell_capacity = (size_t)m->shell_count;
    m->hinge_capacity = (size_t)m->hinge_count;
    m->line_bend_capacity = (size_t)m->line_bend_count;
    m->slack_line_capacity = (size_t)m->slack_line_count;
    for (int b = 0; b < m->body_count && m->bodies; b++) well = copy_body(&m->bodies[b]) && well;
    for (int k = 0; k < m->user_term_count && m->user_terms; k++)
        well = copy_term(&m->user_terms[k]) && well;
    return well;
}

hk_status hk_model_copy(const hk_model *model, hk_model **copy)
{
    hk_model *m = HK_NEW(hk_model);
    if (!m) return HK_NO_MEMORY;
    // But for the references, which others may count meanwhile.
    memcpy(&m->family, &model->family, sizeof *m - offsetof(hk_model, family));
    m->references = 1;
    m->contact = NULL;
    m->conditions = hk_conditions_retain(m->conditions);
    m->point_springs = hk_point_springs_retain(m->point_springs);
    hk_status status = copy_arrays(m) ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; m->motions && k < m->motion_count; k++)
        hk_time_factor_retain(m->motions[k].factor);
    if (status == HK_OK && model->contact)
        status = hk_model_contact_copy(model->contact, &m->contact);
    if (status != HK_OK) {
        hk_model_free(m);
        return status;
    }
    *copy = m;
    return HK_OK;
}

// ---------------------------------------------------------------- what follows from rest positions

hk_status hk_model_copy_middles(const hk_model *m, const hk_body *body, hk_mesh *mesh)
{
    int start = body ? body->tet_start : 0, vertex = body ? body->vertex_start : 0;
    // A body is of one kind, a model need not be.
    bool any = m->middles && (!body || (body->tet_count > 0 && hk_model_is_quadratic(m, start)));
    if (!any) return HK_OK;
    int64_t count = 6 * (int64_t)mesh->tet_count;
    mesh->middles = HK_ARRAY(int32_t, count);
    if (!mesh->middles) return HK_NO_MEMORY;
    for (int64_t k = 0; k < count; k++) {
        int32_t middle = m->middles[6 * (int64_t)start + k];
        mesh->middles[k] = middle < 0 ? -1 : middle - vertex;
    }
    return HK_OK;
}

hk_status hk_model_body_mesh(const hk_model *m, int number, hk_mesh **mesh)
{
    const hk_body *body = &m->bodies[number];
    hk_mesh *made;
    HK_TRY(hk_mesh_new(body->vertex_count, body->tet_count, body->triangle_count, &made));
    memcpy(made->positions, m->rest + 3 * (int64_t)body->vertex_start,
           3 * sizeof(double) * (size_t)body->vertex_count);
    for (int64_t k = 0; k < 4 * (int64_t)body->tet_count; k++)
        made->tets[k] = m->tets[4 * (int64_t)body->tet_start + k] - body->vertex_start;
    hk_status status = hk_model_copy_middles(m, body, made);
    for (int64_t k = 0; k < 3 * (int64_t)body->triangle_count; k++)
        made->triangles[k] =
            m->triangles[3 * (int64_t)body->triangle_start + k] - body->vertex_start;
    if (status == HK_OK && body->line_count)
        status =
            hk_mesh_set_lines(made, body->line_count, m->lines + 2 * (int64_t)body->line_start);
    for (int64_t k = 0; k < 2 * (int64_t)made->line_count; k++)
        made->lines[k] -= body->vertex_start;
    for (int k = 0; k < body->group_count && status == HK_OK; k++) {
        const hk_group *from = &body->groups[k];
        hk_group *to;
        status = hk_mesh_add_group(made, from->name, from->dimension, from->count, &to);
        if (status == HK_OK) memcpy(to->items, from->items, sizeof(int32_t) * (size_t)from->count);
    }
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

static hk_status measure_thin(hk_model *m, int number)
{
    hk_mesh *mesh;
    HK_TRY(hk_model_body_mesh(m, number, &mesh));
    const hk_body *body = &m->bodies[number];
    hk_status status = body->line_count > 0 ? hk_model_add_rope(m, body, mesh, &body->sheet)
                                            : hk_model_add_sheet(m, body, mesh, &body->sheet);
    hk_mesh_free(mesh);
    return status;
}

static void forget_links(hk_model *m)
{
    m->spring_count = m->bend_count = m->bend_entry_count = 0;
    m->shell_count = m->hinge_count = 0;
    m->line_bend_count = m->slack_line_count = 0;
    m->sheet_mass = 0;
    hk_free(m->spring_order);
    hk_free(m->bend_order);
    hk_free(m->bend_places);
    m->spring_order = m->bend_order = m->bend_places = NULL;
}

static void scale_lengths(hk_model *m)
{
    if (!m->spring_factor) return;
    for (int k = 0; k < m->spring_count; k++) m->springs[k].rest *= m->spring_factor[k];
    for (int k = 0; k < m->bend_count; k++)
        m->bends[k].rest *= m->bend_factor[m->bend_vertices[m->bends[k].start]];
}

// Volumes, masses, springs and bends, from rest positions and materials.
static hk_status measure(hk_model *m)
{
    memset(m->mass, 0, sizeof(double) * (size_t)m->vertex_count);
    forget_links(m);
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        hk_status status = HK_OK;
        if (body->tet_count > 0) {
            status = hk_model_measure_tets(m, body);
            if (status == HK_OK) hk_model_add_masses(m, body);
        } else {
            status = measure_thin(m, b);
        }
        if (status != HK_OK) return hk_fail_within(status, "body %d (%s)", b, body->name);
    }
    scale_lengths(m);
    HK_TRY(hk_model_order_links(m));
    return hk_model_measure_contact(m);
}

// ---------------------------------------------------------------- edits

hk_status hk_model_set_rest(hk_model *m, const double *rest)
{
    for (int64_t k = 0; k < 3 * (int64_t)m->vertex_count; k++)
        if (!isfinite(rest[k]))
            return hk_fail(HK_BAD_INPUT, "the rest position of vertex %lld is not finite",
                           (long long)(k / 3));
    memcpy(m->rest, rest, 3 * sizeof(double) * (size_t)m->vertex_count);
    return measure(m);
}

void hk_model_weigh_tets(hk_model *m)
{
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        if (body->tet_count == 0) continue;
        memset(m->mass + body->vertex_start, 0, sizeof(double) * (size_t)body->vertex_count);
        hk_model_add_masses(m, body);
    }
}

hk_status hk_model_set_length_factors(hk_model *m, const double *spring, const double *bend)
{
    size_t springs = sizeof(double) * (size_t)m->spring_count;
    size_t bends = sizeof(double) * (size_t)m->vertex_count;
    if (!m->spring_factor) m->spring_factor = HK_ARRAY(double, m->spring_count);
    if (!m->bend_factor) m->bend_factor = HK_ARRAY(double, m->vertex_count);
    if (!m->spring_factor || !m->bend_factor) return HK_NO_MEMORY;
    memcpy(m->spring_factor, spring, springs);
    memcpy(m->bend_factor, bend, bends);
    return measure(m);
}

// Materials that no tet has any more give way.
static void drop_unused_materials(hk_model *m, int32_t *number)
{
    int count = 0;
    for (int k = 0; k < m->material_count; k++) number[k] = -1;
    for (int t = 0; t < m->tet_count; t++) number[m->tet_material[t]] = 0;
    for (int k = 0; k < m->material_count; k++) {
        if (number[k] < 0) continue;
        m->materials[count] = m->materials[k];
        number[k] = count++;
    }
    for (int t = 0; t < m->tet_count; t++) m->tet_material[t] = number[m->tet_material[t]];
    m->material_count = hk_max_int(count, 1);
}

static hk_status add_material(hk_model *m, const hk_material *material)
{
    hk_material *more = HK_ZEROS(hk_material, m->material_count + 1);
    if (!more) return HK_NO_MEMORY;
    memcpy(more, m->materials, sizeof *more * (size_t)m->material_count);
    more[m->material_count++] = *material;
    hk_free(m->materials);
    m->materials = more;
    return HK_OK;
}

static hk_status choose_tets(const hk_model *m, int number, const hk_selector *select,
                             uint8_t *chosen)
{
    int count = m->bodies[number].tet_count, found = 0;
    memset(chosen, 1, (size_t)count);
    if (!select) return HK_OK;
    hk_mesh *mesh;
    HK_TRY(hk_model_body_mesh(m, number, &mesh));
    hk_status status = hk_select_tets(mesh, select, chosen);
    hk_mesh_free(mesh);
    HK_TRY(status);
    for (int t = 0; t < count; t++) found += chosen[t];
    return found > 0 ? HK_OK : hk_fail(HK_BAD_INPUT, "the selector selects no tet");
}

static hk_status assign(hk_model *m, const hk_body *body, const uint8_t *chosen,
                        const hk_material_def *def)
{
    hk_material material;
    HK_TRY(hk_material_resolve(def, &material));
    HK_TRY(add_material(m, &material));
    for (int t = 0; t < body->tet_count; t++) {
        if (!chosen[t]) continue;
        m->tet_material[body->tet_start + t] = m->material_count - 1;
        if (material.fibre_stiffness > 0) HK_TRY(hk_model_set_fibre(m, body, def, t));
    }
    int32_t *number = HK_ARRAY(int32_t, m->material_count);
    if (!number) return HK_NO_MEMORY;
    drop_unused_materials(m, number);
    hk_free(number);
    return HK_OK;
}

hk_status hk_model_set_material(hk_model *m, int number, const hk_selector *select,
                                const hk_material_def *def)
{
    hk_body *body = &m->bodies[number];
    if (body->tet_count == 0) {
        if (select)
            return hk_fail(HK_UNSUPPORTED,
                           "a sheet or a rope has one material: no regions can be selected");
        if (hk_is_rope(def->model) != (body->line_count > 0))
            return hk_fail(HK_BAD_INPUT, "the material %s is not for %s", def->model,
                           body->line_count > 0 ? "ropes" : "sheets");
        HK_TRY(hk_sheet_material_resolve(def, &body->sheet));
        return measure(m);
    }
    uint8_t *chosen = HK_ARRAY(uint8_t, body->tet_count);
    if (!chosen) return HK_NO_MEMORY;
    hk_status status = choose_tets(m, number, select, chosen);
    if (status == HK_OK) status = assign(m, body, chosen, def);
    hk_free(chosen);
    return status == HK_OK ? measure(m) : status;
}

hk_status hk_model_add_loads(const hk_model *m, int number, const hk_load_def *loads, int count,
                             double *load)
{
    hk_mesh *mesh;
    HK_TRY(hk_model_body_mesh(m, number, &mesh));
    hk_status status = hk_model_take_loads(m, NULL, &m->bodies[number], mesh, loads, count, load);
    hk_mesh_free(mesh);
    return status;
}
