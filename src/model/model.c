// From body definitions to the immutable model.
#include "model/conditions.h"
#include "model/model.h"

#include <math.h>

#include "mesh/quadratic.h"
#include "mesh/select.h"
#include "model/build.h"
#include "model/constraints.h"
#include "model/contact.h"
#include "model/def.h"
#include "model/rope.h"
#include "model/sheet.h"
#include "model/skin.h"
#include "model/springs.h"
#include "model/tear.h"

// ---------------------------------------------------------------- checks

static bool is_rope(const hk_body_def *body)
{
    const hk_mesh *mesh = body->mesh;
    return mesh->tet_count == 0 && mesh->triangle_count == 0 && mesh->line_count > 0;
}

static bool is_sheet(const hk_body_def *body)
{
    return body->mesh->tet_count == 0 && !is_rope(body);
}

static hk_status check_rope(const hk_body_def *body, const char *model)
{
    if (!hk_is_rope(model))
        return hk_fail(HK_UNSUPPORTED,
                       "its mesh has lines alone: a rope has the material \"rope\", not %s", model);
    if (body->region_count > 0)
        return hk_fail(HK_UNSUPPORTED, "its mesh has lines alone: a rope has no regions");
    return HK_OK;
}

// Tets want a law, sheets a material of sheets, ropes theirs.
static hk_status check_kind(const hk_body_def *body)
{
    const char *model = body->material.model ? body->material.model : "(null)";
    bool for_sheets = hk_is_sheet_material(model);
    if (is_rope(body)) return check_rope(body, model);
    if (is_sheet(body) && body->mesh->triangle_count == 0)
        return hk_fail(HK_BAD_INPUT, "its mesh has no tetrahedra, no triangles and no lines");
    if (hk_is_rope(model))
        return hk_fail(HK_BAD_INPUT, "the material rope is for lines, and its mesh has %s",
                       is_sheet(body) ? "triangles" : "tetrahedra");
    if (is_sheet(body) && !for_sheets)
        return hk_fail(HK_UNSUPPORTED,
                       "its mesh has no tetrahedra: a sheet cannot have the material %s, only "
                       "mass_spring or shell (which has laws of that kind as its \"membrane\"); "
                       "for a solid, fill the surface with tets: \"mesh\": {\"fill\": {\"file\": "
                       "…}} in the scene, or hooke mesh fill SURFACE -o BODY.msh",
                       model);
    if (is_sheet(body) && body->region_count > 0)
        return hk_fail(HK_UNSUPPORTED, "its mesh has no tetrahedra: a sheet has no regions");
    if (!is_sheet(body) && for_sheets)
        return hk_fail(HK_BAD_INPUT,
                       "the material %s is for sheets, and its mesh has %d tetrahedra", model,
                       body->mesh->tet_count);
    return HK_OK;
}

static hk_status check_body(const hk_body_def *body)
{
    if (!body->mesh) return hk_fail(HK_BAD_INPUT, "it has no mesh");
    HK_TRY(check_kind(body));
    if (!hk_is_finite3(body->velocity))
        return hk_fail(HK_BAD_INPUT, "the initial velocity is not finite");
    if (!isnan(body->friction) && !(isfinite(body->friction) && body->friction >= 0))
        return hk_fail(HK_BAD_INPUT, "its friction must be 0 or more (is %g)", body->friction);
    if (!(isfinite(body->thickness) && body->thickness >= 0))
        return hk_fail(HK_BAD_INPUT, "its thickness must be 0 or more (is %g m)", body->thickness);
    if (body->thickness > 0 && body->mesh->tet_count > 0)
        return hk_fail(HK_BAD_INPUT, "only a sheet has a thickness, and its mesh has %d tetrahedra",
                       body->mesh->tet_count);
    return HK_OK;
}

static hk_status count_bodies(const hk_model_def *def, hk_model *model)
{
    int64_t vertices = 0, tets = 0, triangles = 0, lines = 0, materials = 0, motions = 0;
    for (int b = 0; b < def->body_count; b++) {
        const hk_body_def *body = &def->bodies[b];
        hk_status status = check_body(body);
        if (status != HK_OK)
            return hk_fail_within(status, "body %d (%s)", b, body->name ? body->name : "unnamed");
        vertices += body->mesh->vertex_count;
        tets += body->mesh->tet_count;
        materials += 1 + body->region_count;
        if (is_sheet(body)) triangles += body->mesh->triangle_count;
        if (is_rope(body)) lines += body->mesh->line_count;
        motions += (int64_t)body->move_count + body->attachment_count;
    }
    if (vertices > INT32_MAX / 16 || tets > INT32_MAX / 16 || triangles > INT32_MAX / 16 ||
        lines > INT32_MAX / 16)
        return hk_fail(HK_UNSUPPORTED,
                       "too large: %lld vertices, %lld tets, %lld triangles, %lld lines in all",
                       (long long)vertices, (long long)tets, (long long)triangles,
                       (long long)lines);
    model->vertex_count = (int)vertices;
    model->tet_count = (int)tets;
    model->triangle_count = (int)triangles;
    model->line_count = (int)lines;
    model->material_count = (int)materials;
    model->motion_count = (int)motions;
    return HK_OK;
}

static hk_status allocate_model(hk_model *m)
{
    m->bodies = HK_ZEROS(hk_body, m->body_count);
    m->rest = HK_ARRAY(double, 3 * (size_t)m->vertex_count);
    m->velocity = HK_ZEROS(double, 3 * (size_t)m->vertex_count);
    m->mass = HK_ZEROS(double, m->vertex_count);
    m->load = HK_ZEROS(double, 3 * (size_t)m->vertex_count);
    m->hold = HK_ARRAY(int32_t, m->vertex_count);
    m->fixed_by = HK_ARRAY(int32_t, 3 * (size_t)m->vertex_count);
    m->motions = HK_ZEROS(hk_motion, m->motion_count);
    m->tets = HK_ARRAY(int32_t, 4 * (size_t)m->tet_count);
    m->volume = HK_ARRAY(double, m->tet_count);
    m->tet_material = HK_ZEROS(int32_t, m->tet_count);
    m->materials = HK_ZEROS(hk_material, m->material_count);
    m->triangles = HK_ARRAY(int32_t, 3 * (size_t)m->triangle_count);
    m->lines = HK_ARRAY(int32_t, 2 * (size_t)m->line_count);
    m->order = HK_ARRAY(int32_t, m->vertex_count);
    m->place = HK_ARRAY(int32_t, m->vertex_count);
    bool complete = m->bodies && m->rest && m->velocity && m->mass && m->load && m->hold &&
                    m->fixed_by && m->motions && m->tets && m->volume && m->tet_material &&
                    m->materials && m->triangles && m->lines && m->order && m->place;
    return complete ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- one body

// A place to build a body: the transformed mesh and room for selections.
typedef struct builder {
    hk_model *model;
    hk_body *body;
    const hk_body_def *def;
    hk_mesh *mesh;        // transformed copy
    uint8_t *chosen;      // [max(vertex_count, tet_count)]
    int32_t *tet_region;  // [tet_count] 0: the body's material, r + 1: region r
    int first_material, first_motion;
} builder;

static hk_status copy_middles(builder *b)
{
    hk_model *m = b->model;
    if (!b->mesh->middles) return HK_OK;
    if (hk_mesh_is_mixed(b->mesh))
        return hk_fail(HK_UNSUPPORTED,
                       "its mesh has linear and quadratic tets, which do not fit where they meet: "
                       "set \"order\": 1 or 2 in the mesh, or use hooke mesh convert --order");
    if (!m->middles) {
        size_t count = HK_MIDDLES * (size_t)m->tet_count;
        m->middles = HK_ARRAY(int32_t, count);
        if (!m->middles) return HK_NO_MEMORY;
        memset(m->middles, 0xff, count * sizeof(int32_t));
    }
    int32_t *to = m->middles + HK_MIDDLES * (int64_t)b->body->tet_start;
    for (int64_t k = 0; k < HK_MIDDLES * (int64_t)b->mesh->tet_count; k++)
        to[k] = b->mesh->middles[k] + b->body->vertex_start;
    return HK_OK;
}

static void copy_geometry(builder *b)
{
    hk_model *m = b->model;
    memcpy(m->rest + 3 * (int64_t)b->body->vertex_start, b->mesh->positions,
           3 * sizeof(double) * (size_t)b->mesh->vertex_count);
    for (int v = 0; v < b->mesh->vertex_count; v++) {
        m->hold[b->body->vertex_start + v] = HK_FREE;
    }
    for (int64_t k = 0; k < 3 * (int64_t)b->mesh->vertex_count; k++)
        m->fixed_by[3 * (int64_t)b->body->vertex_start + k] = -1;
    for (int64_t k = 0; k < 4 * (int64_t)b->mesh->tet_count; k++)
        m->tets[4 * (int64_t)b->body->tet_start + k] = b->mesh->tets[k] + b->body->vertex_start;
}

static hk_status copy_groups(const hk_mesh *mesh, hk_body *body)
{
    body->groups = HK_ZEROS(hk_group, mesh->group_count);
    if (!body->groups) return HK_NO_MEMORY;
    for (int k = 0; k < mesh->group_count; k++) {
        hk_group *to = &body->groups[body->group_count++];
        *to = mesh->groups[k];
        to->name = hk_strdup(mesh->groups[k].name);
        to->items = HK_ARRAY(int32_t, to->count);
        if (!to->name || !to->items) return HK_NO_MEMORY;
        memcpy(to->items, mesh->groups[k].items, sizeof(int32_t) * (size_t)to->count);
    }
    return HK_OK;
}

static hk_status measure_quadratic(hk_model *m, const hk_body *body, int t)
{
    int32_t node[HK_QUADRATIC_NODES];
    const double *at[HK_QUADRATIC_NODES];
    double least;
    hk_quadratic_nodes(m->tets + 4 * (int64_t)t, m->middles + HK_MIDDLES * (int64_t)t, node);
    for (int a = 0; a < HK_QUADRATIC_NODES; a++) at[a] = m->rest + 3 * (int64_t)node[a];
    m->volume[t] = hk_quadratic_volume(at, &least);
    if (isfinite(m->volume[t]) && least > 1e-6) return HK_OK;
    return hk_fail(
        HK_BAD_INPUT,
        "quadratic tet %d is folded: its map is turned inside out at a quadrature point, "
        "because nodes lie far from the middles of its edges; `hooke mesh check` lists "
        "all of them, `hooke mesh convert --order 1` makes its edges straight",
        t - body->tet_start);
}

hk_status hk_model_measure_tets(hk_model *m, const hk_body *body)
{
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++) {
        const int32_t *c = m->tets + 4 * (int64_t)t;
        const double *p[4];
        for (int k = 0; k < 4; k++) p[k] = m->rest + 3 * (int64_t)c[k];
        double volume = hk_tet_volume6(p[0], p[1], p[2], p[3]) / 6;
        int first = body->vertex_start;
        if (!(volume > 0 && isfinite(volume) && hk_tet_quality(p[0], p[1], p[2], p[3]) > 1e-9))
            return hk_fail(HK_BAD_INPUT,
                           "tet %d (vertices %d %d %d %d) has no sound volume (%g m3): it cannot "
                           "be simulated; `hooke mesh check` lists all of them",
                           t - body->tet_start, c[0] - first, c[1] - first, c[2] - first,
                           c[3] - first, volume);
        m->volume[t] = volume;
        if (hk_model_is_quadratic(m, t)) HK_TRY(measure_quadratic(m, body, t));
    }
    return HK_OK;
}

hk_status hk_model_set_fibre(hk_model *m, const hk_body *body, const hk_material_def *def, int t)
{
    if (!m->fibre) {
        m->fibre = HK_ZEROS(double, 3 * (size_t)m->tet_count);
        if (!m->fibre) return HK_NO_MEMORY;
    }
    const double *d =
        def->fibre_directions ? def->fibre_directions + 3 * (int64_t)t : def->fibre_direction;
    if (!hk_unit3(d, m->fibre + 3 * (int64_t)(body->tet_start + t)))
        return hk_fail(HK_BAD_INPUT, "material %s: the fibre direction of tet %d has no length",
                       def->model, t);
    return HK_OK;
}

static const hk_material_def *region_material(const hk_body_def *def, int region)
{
    return region == 0 ? &def->material : &def->regions[region - 1].material;
}

// Blend weights are those of linear tets: quadratic ones stay with their law.
static hk_status keep_law(hk_material *material)
{
    if (material->blend_law.upper > 0 && !material->blend_law.steps_only)
        return hk_fail(HK_UNSUPPORTED,
                       "quadratic tets cannot be \"invertible\": leave it out, or use linear tets "
                       "(\"order\": 1 in the mesh)");
    material->blend_law = (hk_blend_law){0};
    return HK_OK;
}

static hk_status assign_materials(builder *b)
{
    hk_model *m = b->model;
    for (int r = 0; r <= b->def->region_count; r++) {
        hk_status status =
            hk_material_resolve(region_material(b->def, r), &m->materials[b->first_material + r]);
        if (status == HK_OK && b->mesh->middles)
            status = keep_law(&m->materials[b->first_material + r]);
        if (status != HK_OK) return r ? hk_fail_within(status, "region %d", r - 1) : status;
    }
    memset(b->tet_region, 0, sizeof(int32_t) * (size_t)b->mesh->tet_count);
    for (int r = 0; r < b->def->region_count; r++) {
        hk_status status = hk_select_tets(b->mesh, &b->def->regions[r].select, b->chosen);
        int count = 0;
        for (int t = 0; t < b->mesh->tet_count && status == HK_OK; t++)
            if (b->chosen[t]) {
                b->tet_region[t] = r + 1;
                count++;
            }
        if (status == HK_OK && count == 0) status = hk_fail(HK_BAD_INPUT, "it selects no tet");
        if (status != HK_OK) return hk_fail_within(status, "region %d", r);
    }
    for (int t = 0; t < b->mesh->tet_count; t++) {
        int material = b->first_material + b->tet_region[t];
        m->tet_material[b->body->tet_start + t] = material;
        if (m->materials[material].fibre_stiffness > 0)
            HK_TRY(hk_model_set_fibre(m, b->body, region_material(b->def, b->tet_region[t]), t));
    }
    return HK_OK;
}

void hk_model_add_masses(hk_model *m, const hk_body *body)
{
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++) {
        double mass = m->materials[m->tet_material[t]].density * m->volume[t];
        // Row sums would be negative at corners. In proportion to ∫ N² (Hinton, Rock & Zienkiewicz
        // 1976) they are 1/36 and 4/27.
        if (hk_model_is_quadratic(m, t)) {
            for (int k = 0; k < 4; k++) m->mass[m->tets[4 * (int64_t)t + k]] += mass / 36;
            for (int k = 0; k < HK_MIDDLES; k++)
                m->mass[m->middles[HK_MIDDLES * (int64_t)t + k]] += 4 * mass / 27;
            continue;
        }
        double quarter = mass / 4;
        for (int k = 0; k < 4; k++) m->mass[m->tets[4 * (int64_t)t + k]] += quarter;
    }
}

hk_status hk_model_choose(const hk_mesh *mesh, const hk_selector *selector, uint8_t *chosen,
                          int *count)
{
    HK_TRY(hk_select_vertices(mesh, selector, chosen));
    *count = 0;
    for (int v = 0; v < mesh->vertex_count; v++) *count += chosen[v];
    if (*count == 0 && !(selector->kind == HK_SELECT_NONE || selector->kind == HK_SELECT_VERTICES))
        return hk_select_none(mesh, "it selects no vertex");
    return HK_OK;
}

static hk_status choose_for(builder *b, const hk_selector *selector, const char *what, int number,
                            int *count)
{
    hk_status status = hk_model_choose(b->mesh, selector, b->chosen, count);
    return status == HK_OK ? HK_OK : hk_fail_within(status, "%s %d", what, number);
}

static hk_status take_motion(const hk_motion_def *def, const char *what, int number,
                             hk_motion *motion)
{
    hk_status status = hk_motion_take(def, motion);
    return status == HK_OK ? HK_OK : hk_fail_within(status, "%s %d", what, number);
}

// What a fix holds of the vertices that are chosen: where that is all of them a vertex is fixed.
static hk_status take_fix(builder *b, int k)
{
    hk_model *m = b->model;
    int axes = b->def->fix_axes ? b->def->fix_axes[k] : HK_ALL_AXES;
    if (axes < 1 || axes > HK_ALL_AXES)
        return hk_fail(HK_BAD_INPUT, "fix %d: %d is no sum of axes (1 x, 2 y, 4 z)", k, axes);
    if (axes != HK_ALL_AXES && !m->axes) m->axes = HK_ZEROS(uint8_t, m->vertex_count);
    if (axes != HK_ALL_AXES && !m->axes) return HK_NO_MEMORY;
    for (int v = 0; v < b->mesh->vertex_count; v++) {
        int64_t vertex = b->body->vertex_start + v;
        if (!b->chosen[v]) continue;
        for (int i = 0; i < 3; i++)
            if (axes >> i & 1) m->fixed_by[3 * vertex + i] = k;
        if (m->axes) m->axes[vertex] |= (uint8_t)axes;
        if (axes == HK_ALL_AXES || m->axes[vertex] == HK_ALL_AXES) m->hold[vertex] = HK_FIXED;
    }
    return HK_OK;
}

// A prescribed motion wins over a fix, a later one over an earlier one.
static hk_status take_holds(builder *b)
{
    hk_model *m = b->model;
    int count;
    for (int k = 0; k < b->def->fix_count; k++) {
        HK_TRY(choose_for(b, &b->def->fixes[k], "fix", k, &count));
        HK_TRY(take_fix(b, k));
    }
    for (int k = 0; k < b->def->move_count; k++) {
        HK_TRY(choose_for(b, &b->def->moves[k].select, "move", k, &count));
        HK_TRY(take_motion(&b->def->moves[k].motion, "move", k, &m->motions[b->first_motion + k]));
        for (int v = 0; v < b->mesh->vertex_count; v++)
            if (b->chosen[v]) m->hold[b->body->vertex_start + v] = b->first_motion + k;
    }
    return HK_OK;
}

// Vertices of no element have nothing to be held against.
static hk_status take_attachment(builder *b, int k)
{
    hk_model *m = b->model;
    const hk_attach_def *def = &b->def->attachments[k];
    int count, motion = b->first_motion + b->def->move_count + k;
    HK_TRY(take_motion(&def->motion, "attachment", k, &m->motions[motion]));
    if (!(isfinite(def->stiffness) && def->stiffness >= 0))
        return hk_fail(HK_BAD_INPUT, "attachment %d: the stiffness must be 0 or more (is %g)", k,
                       def->stiffness);
    if (!(isfinite(def->damping) && def->damping >= 0))
        return hk_fail(HK_BAD_INPUT, "attachment %d: the damping must be 0 or more (is %g)", k,
                       def->damping);
    if (def->damping > 0 && def->stiffness == 0)
        return hk_fail(HK_BAD_INPUT, "attachment %d: damping needs a stiffness above 0", k);
    HK_TRY(choose_for(b, &def->select, "attachment", k, &count));
    if (def->stiffness == 0) return HK_OK;
    HK_TRY(hk_reserve((void **)&m->attachments, (size_t)m->attachment_count, sizeof(hk_attachment),
                      &m->attachment_capacity, (size_t)m->attachment_count + (size_t)count));
    for (int v = 0; v < b->mesh->vertex_count; v++) {
        int32_t vertex = b->body->vertex_start + v;
        if (b->chosen[v] && m->mass[vertex] > 0)
            m->attachments[m->attachment_count++] =
                (hk_attachment){vertex, motion, def->stiffness, def->damping};
    }
    return HK_OK;
}

// Vertices of no element have no mass and no stiffness: they stay where they are.
static void hold_unreferenced(builder *b)
{
    hk_model *m = b->model;
    int count = 0;
    for (int v = b->body->vertex_start; v < b->body->vertex_start + b->body->vertex_count; v++)
        if (!(m->mass[v] > 0)) {
            if (m->hold[v] == HK_FREE) m->hold[v] = HK_FIXED;
            count++;
        }
    if (count)
        hk_log(HK_LOG_INFO, "body %s: %d %s to no %s and %s held still", b->body->name, count,
               count == 1 ? "vertex belongs" : "vertices belong",
               is_rope(b->def)    ? "line"
               : is_sheet(b->def) ? "triangle"
                                  : "tet",
               count == 1 ? "is" : "are");
    m->unreferenced += count;
}

static void take_velocity(builder *b)
{
    hk_model *m = b->model;
    for (int v = b->body->vertex_start; v < b->body->vertex_start + b->body->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            m->velocity[3 * (int64_t)v + i] =
                m->hold[v] == HK_FREE && !(m->axes && m->axes[v] >> i & 1) ? b->def->velocity[i]
                                                                           : 0;
}

static hk_status add_tets(builder *b)
{
    HK_TRY(hk_model_measure_tets(b->model, b->body));
    HK_TRY(assign_materials(b));
    hk_model_add_masses(b->model, b->body);
    return HK_OK;
}

static hk_status add_sheet(builder *b)
{
    HK_TRY(hk_sheet_material_resolve(&b->def->material, &b->body->sheet));
    return hk_model_add_sheet(b->model, b->body, b->mesh, &b->body->sheet);
}

static hk_status add_rope(builder *b)
{
    HK_TRY(hk_sheet_material_resolve(&b->def->material, &b->body->sheet));
    return hk_model_add_rope(b->model, b->body, b->mesh, &b->body->sheet);
}

static hk_status build_body(builder *b)
{
    HK_TRY(hk_mesh_copy(b->def->mesh, &b->mesh));
    HK_TRY(hk_mesh_transform(b->mesh, &b->def->transform));
    int room = hk_max_int(b->mesh->vertex_count, b->mesh->tet_count);
    b->chosen = HK_ARRAY(uint8_t, room);
    b->tet_region = HK_ARRAY(int32_t, b->mesh->tet_count);
    if (!b->chosen || !b->tet_region) return HK_NO_MEMORY;
    copy_geometry(b);
    HK_TRY(copy_middles(b));
    HK_TRY(copy_groups(b->mesh, b->body));
    HK_TRY(is_rope(b->def) ? add_rope(b) : is_sheet(b->def) ? add_sheet(b) : add_tets(b));
    HK_TRY(take_holds(b));
    for (int k = 0; k < b->def->attachment_count; k++) HK_TRY(take_attachment(b, k));
    HK_TRY(hk_model_take_loads(b->model, b->model, b->body, b->mesh, b->def->loads,
                               b->def->load_count, b->model->load));
    hold_unreferenced(b);
    take_velocity(b);
    b->body->sag_free = b->def->sag_free != 0;
    b->body->start_posed = b->def->start_posed != 0;
    if (b->def->start_state) {
        b->body->start_state = hk_strdup(b->def->start_state);
        if (!b->body->start_state) return HK_NO_MEMORY;
    }
    if (b->def->sag_free + b->body->start_posed + (b->def->start_state != NULL) > 1)
        return hk_fail(HK_BAD_INPUT,
                       "of sag_free, start_posed and start_state a body can have one: they all say "
                       "where it begins");
    return hk_model_add_skin(b->body, b->mesh, b->def);
}

// ---------------------------------------------------------------- the model

static hk_status build_bodies(const hk_model_def *def, hk_model *m)
{
    int vertex = 0, tet = 0, triangle = 0, line = 0, material = 0, motion = 0;
    for (int k = 0; k < def->body_count; k++) {
        const hk_body_def *d = &def->bodies[k];
        hk_body *body = &m->bodies[k];
        body->vertex_start = vertex;
        body->vertex_count = d->mesh->vertex_count;
        body->tet_start = tet;
        body->tet_count = d->mesh->tet_count;
        body->triangle_start = triangle;
        body->triangle_count = is_sheet(d) ? d->mesh->triangle_count : 0;
        body->line_start = line;
        body->line_count = is_rope(d) ? d->mesh->line_count : 0;
        body->fix_count = d->fix_count;
        body->move_count = d->move_count;
        body->motion_start = motion;
        body->name = hk_strdup(d->name ? d->name : "body");
        if (!body->name) return HK_NO_MEMORY;
        HK_TRY(hk_body_name_constraints(d, body));
        builder b = {m, body, d, NULL, NULL, NULL, material, motion};
        hk_status status = build_body(&b);
        hk_mesh_free(b.mesh);
        hk_free(b.chosen);
        hk_free(b.tet_region);
        if (status != HK_OK) return hk_fail_within(status, "body %d (%s)", k, body->name);
        vertex += d->mesh->vertex_count;
        tet += d->mesh->tet_count;
        triangle += body->triangle_count;
        line += body->line_count;
        material += 1 + d->region_count;
        motion += d->move_count + d->attachment_count;
    }
    return HK_OK;
}

static hk_status build(const hk_model_def *def, hk_model *m)
{
    static int64_t g_families;
    m->references = 1;
    m->family = __atomic_add_fetch(&g_families, 1, __ATOMIC_RELAXED);
    m->body_count = def->body_count;
    memcpy(m->gravity, def->gravity, sizeof m->gravity);
    HK_TRY(hk_model_take_gravity_factor(m, &def->gravity_factor));
    HK_TRY(count_bodies(def, m));
    HK_TRY(allocate_model(m));
    HK_TRY(build_bodies(def, m));
    for (int b = 0; b < m->body_count; b++) {
        int first = m->bodies[b].vertex_start, count = m->bodies[b].vertex_count;
        HK_TRY(hk_morton_order(count, m->rest + 3 * (int64_t)first, m->order + first));
        for (int k = first; k < first + count; k++) m->order[k] += first;
    }
    for (int k = 0; k < m->vertex_count; k++) m->place[m->order[k]] = k;
    HK_TRY(hk_model_take_terms(def, m));
    HK_TRY(hk_model_order_links(m));
    HK_TRY(hk_model_take_springs(def, m));
    HK_TRY(hk_model_take_constraints(def, m));
    HK_TRY(hk_model_take_tearing(def, m));
    return hk_model_take_contact(def, m);
}

static hk_status create(const hk_model_def *def, hk_model **model)
{
    if (!hk_is_finite3(def->gravity)) return hk_fail(HK_BAD_INPUT, "gravity is not finite");
    hk_model *m = HK_NEW(hk_model);
    if (!m) return HK_NO_MEMORY;
    hk_status status = build(def, m);
    if (status != HK_OK) {
        hk_model_free(m);
        return status;
    }
    *model = m;
    return HK_OK;
}

static void free_body(hk_body *body)
{
    for (int k = 0; k < body->group_count; k++) {
        hk_free(body->groups[k].name);
        hk_free(body->groups[k].items);
    }
    hk_free(body->groups);
    hk_free(body->name);
    for (int k = 0; body->constraint_names && k < body->fix_count + body->move_count; k++)
        hk_free(body->constraint_names[k]);
    hk_free(body->constraint_names);
    hk_free(body->start_state);
    hk_embedding_free(body->skin);
}

hk_status hk_model_create(const hk_model_def *def, hk_model **model)
{
    if (!def || !model) return hk_fail(HK_BAD_INPUT, "hk_model_create: def and model are needed");
    hk_model_input input;
    hk_model *m = NULL;
    hk_status status = hk_model_input_take(def, &input);
    if (status == HK_OK) status = create(&input.def, &m);
    hk_model_input_release(&input);
    if (status == HK_OK) *model = m;
    return status;
}

void hk_model_retain(hk_model *model)
{
    __atomic_add_fetch(&model->references, 1, __ATOMIC_RELAXED);
}

void hk_model_free(hk_model *model)
{
    if (!model) return;
    if (__atomic_sub_fetch(&model->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int b = 0; b < model->body_count && model->bodies; b++) free_body(&model->bodies[b]);
    hk_free(model->bodies);
    hk_free(model->rest);
    hk_free(model->velocity);
    hk_free(model->mass);
    hk_free(model->load);
    hk_free(model->hold);
    hk_free(model->fixed_by);
    hk_free(model->axes);
    for (int k = 0; model->motions && k < model->motion_count; k++)
        hk_motion_release(&model->motions[k]);
    hk_free(model->motions);
    hk_conditions_free(model->conditions);
    hk_point_springs_free(model->point_springs);
    hk_constraints_free(model->constraints);
    hk_tearing_free(model->tearing);
    hk_free(model->tets);
    hk_free(model->middles);
    hk_free(model->volume);
    hk_free(model->tet_material);
    hk_free(model->fibre);
    hk_free(model->materials);
    hk_free(model->triangles);
    hk_free(model->springs);
    hk_free(model->bends);
    hk_free(model->bend_vertices);
    hk_free(model->bend_places);
    hk_free(model->spring_order);
    hk_free(model->bend_order);
    hk_free(model->bend_coefficients);
    hk_free(model->attachments);
    hk_free(model->shells);
    hk_free(model->hinges);
    hk_free(model->lines);
    hk_free(model->line_bends);
    hk_free(model->slack_lines);
    hk_free(model->apart);
    hk_free(model->spring_factor);
    hk_free(model->bend_factor);
    for (int k = 0; k < model->user_term_count && model->user_terms; k++) {
        hk_free(model->user_terms[k].name);
        hk_free(model->user_terms[k].vertices);
    }
    hk_free(model->user_terms);
    hk_model_contact_free(model->contact);
    hk_free(model->order);
    hk_free(model->place);
    hk_free(model);
}

hk_status hk_model_need_linear(const hk_model *model, const char *what)
{
    if (!model->middles) return HK_OK;
    return hk_fail(HK_UNSUPPORTED,
                   "%s cannot have quadratic tets: use method newton, or linear tets (\"order\": 1 "
                   "in the mesh, or hooke mesh convert --order 1)",
                   what);
}

double hk_model_viscous(const hk_model *m)
{
    double most = 0;
    for (int k = 0; k < m->material_count; k++) most = fmax(most, m->materials[k].viscous);
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].tet_count == 0) most = fmax(most, m->bodies[b].sheet.viscous);
    return most;
}

double hk_model_mass(const hk_model *m)
{
    double sum = 0;
    for (int t = 0; t < m->tet_count; t++)
        sum += m->materials[m->tet_material[t]].density * m->volume[t];
    return sum + m->sheet_mass;
}
