#include "cluster/part.h"

#include "model/conditions.h"
#include "model/contact.h"
#include "model/sheet.h"
#include "model/springs.h"
#include "model/tear.h"

hk_status hk_part_check(const hk_model *m)
{
    const char *what = NULL;
    if (m->point_springs) what = "springs between points and seams";
    if (m->constraints) what = "rigid parts, joints and constraints";
    if (hk_model_tears(m)) what = "tearing and cutting";
    if (m->line_count > 0) what = "ropes";
    if (m->user_term_count > 0) what = "terms of a program";
    if (m->conditions && m->conditions->gas_count > 0) what = "gas in closed surfaces";
    // Its dampers at a vertex are from triangles of several parts.
    if (m->conditions && m->conditions->wind_count > 0) what = "wind";
    for (int k = 0; k < m->material_count; k++)
        if (m->materials[k].law == HK_LAW_custom) what = "materials of a program";
    for (int b = 0; b < m->body_count; b++) {
        if (m->bodies[b].sag_free) what = "bodies that begin free of sag (\"sag_free\")";
        if (m->bodies[b].start_posed || m->bodies[b].start_state)
            what = "bodies that begin in a state of their own (\"initial\")";
    }
    if (what) return hk_fail(HK_UNSUPPORTED, "backend petsc has no %s: use backend cpu", what);
    what = hk_part_contact_unknown(m);
    return what ? hk_fail(HK_UNSUPPORTED, "backend petsc: %s", what) : HK_OK;
}

// ---------------------------------------------------------------- what a part has

typedef struct chosen {
    int count;
    int32_t *at;  // [count] numbers in the whole model, ascending
} chosen;

typedef struct cut {
    const hk_part_source *source;
    const hk_model *whole;
    const int32_t *owner;
    const hk_part_pieces *pieces;
    int number;
    hk_cluster_part *part;
    hk_model *model;
    int32_t *local;  // [whole vertices] number in the part, -1: it has it not
    chosen vertices, tets, triangles, springs, bends, attachments, shells, hinges, pressures;
} cut;

static const int32_t *vertices_of(const void *first, size_t stride, int64_t element)
{
    return (const int32_t *)((const char *)first + (size_t)element * stride);
}

// The elements whose first vertex is the part's; all of their vertices are its, too.
static hk_status choose(cut *c, int count, const void *first, size_t stride, int vertices,
                        chosen *to)
{
    for (int k = 0; k < count; k++)
        to->count += c->owner[*vertices_of(first, stride, k)] == c->number;
    to->at = HK_ARRAY(int32_t, to->count);
    if (!to->at) return HK_NO_MEMORY;
    for (int k = 0, n = 0; k < count; k++) {
        const int32_t *v = vertices_of(first, stride, k);
        if (c->owner[*v] != c->number) continue;
        to->at[n++] = k;
        for (int i = 0; i < vertices; i++) c->local[v[i]] = 0;
    }
    return HK_OK;
}

static hk_status choose_bends(cut *c)
{
    const hk_model *m = c->whole;
    int32_t *first = HK_ARRAY(int32_t, m->bend_count);
    if (!first) return HK_NO_MEMORY;
    for (int k = 0; k < m->bend_count; k++) first[k] = m->bend_vertices[m->bends[k].start];
    hk_status status = choose(c, m->bend_count, first, sizeof *first, 1, &c->bends);
    hk_free(first);
    for (int k = 0; k < c->bends.count && status == HK_OK; k++) {
        const hk_bend *b = &m->bends[c->bends.at[k]];
        for (int i = 0; i < b->count; i++) c->local[m->bend_vertices[b->start + i]] = 0;
    }
    return status;
}

static hk_status choose_elements(cut *c)
{
    const hk_model *m = c->whole;
    const hk_conditions *conditions = m->conditions;
    HK_TRY(choose(c, m->tet_count, m->tets, 4 * sizeof *m->tets, 4, &c->tets));
    for (int64_t k = 0; k < c->tets.count && m->middles; k++)
        for (int i = 0; i < 6; i++) {
            int32_t v = m->middles[6 * (int64_t)c->tets.at[k] + i];
            if (v >= 0) c->local[v] = 0;
        }
    HK_TRY(choose(c, m->triangle_count, m->triangles, 3 * sizeof *m->triangles, 3, &c->triangles));
    HK_TRY(choose(c, m->spring_count, m->springs ? m->springs->ends : NULL, sizeof *m->springs, 2,
                  &c->springs));
    HK_TRY(choose_bends(c));
    HK_TRY(choose(c, m->attachment_count, m->attachments ? &m->attachments->vertex : NULL,
                  sizeof *m->attachments, 1, &c->attachments));
    HK_TRY(choose(c, m->shell_count, m->shells ? m->shells->vertex : NULL, sizeof *m->shells, 3,
                  &c->shells));
    HK_TRY(choose(c, m->hinge_count, m->hinges ? m->hinges->vertex : NULL, sizeof *m->hinges, 4,
                  &c->hinges));
    if (!conditions) return HK_OK;
    return choose(c, conditions->pressure_count,
                  conditions->pressures ? conditions->pressures->triangle : NULL,
                  sizeof *conditions->pressures, 3, &c->pressures);
}

static hk_status choose_vertices(cut *c)
{
    const hk_model *m = c->whole;
    for (int v = 0; v < m->vertex_count; v++) {
        if (c->owner[v] == c->number) c->local[v] = 0;
        c->vertices.count += c->local[v] == 0;
    }
    c->vertices.at = HK_ARRAY(int32_t, c->vertices.count);
    if (!c->vertices.at) return HK_NO_MEMORY;
    for (int v = 0, n = 0; v < m->vertex_count; v++) {
        if (c->local[v] < 0) continue;
        c->vertices.at[n] = v;
        c->local[v] = n++;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- copying

// Entries of an array; one that the whole has not stays NULL.
static bool take(const void *from, const chosen *of, size_t size, void *array)
{
    char **to = array;
    if (!from) return true;
    *to = hk_alloc((size_t)of->count, size);
    for (int k = 0; *to && k < of->count; k++)
        memcpy(*to + (size_t)k * size, (const char *)from + (size_t)of->at[k] * size, size);
    return *to != NULL;
}

static void renumber(const cut *c, int32_t *vertices, int64_t count)
{
    for (int64_t k = 0; k < count && vertices; k++)
        if (vertices[k] >= 0) vertices[k] = c->local[vertices[k]];
}

static bool take_vertices(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    const chosen *of = &c->vertices;
    m->vertex_count = of->count;
    bool well = take(w->rest, of, 3 * sizeof(double), &m->rest) &&
                take(w->velocity, of, 3 * sizeof(double), &m->velocity) &&
                take(w->mass, of, sizeof(double), &m->mass) &&
                take(w->load, of, 3 * sizeof(double), &m->load) &&
                take(w->hold, of, sizeof(int32_t), &m->hold) &&
                take(w->axes, of, sizeof(uint8_t), &m->axes) &&
                take(w->fixed_by, of, 3 * sizeof(int32_t), &m->fixed_by);
    m->order = HK_ARRAY(int32_t, of->count);
    m->place = HK_ARRAY(int32_t, of->count);
    if (!well || !m->order || !m->place) return false;
    for (int64_t k = 0; k < of->count; k++) {
        if (c->owner[of->at[k]] == c->number) continue;
        m->mass[k] = 0;
        memset(m->load + 3 * k, 0, 3 * sizeof(double));
    }
    for (int k = 0, n = 0; k < w->vertex_count; k++)
        if (c->local[w->order[k]] >= 0) m->order[n++] = c->local[w->order[k]];
    for (int k = 0; k < of->count; k++) m->place[m->order[k]] = k;
    return true;
}

static bool take_tets(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    const chosen *of = &c->tets;
    m->tet_count = of->count;
    bool well = take(w->tets, of, 4 * sizeof(int32_t), &m->tets) &&
                take(w->middles, of, 6 * sizeof(int32_t), &m->middles) &&
                take(w->volume, of, sizeof(double), &m->volume) &&
                take(w->tet_material, of, sizeof(int32_t), &m->tet_material) &&
                take(w->fibre, of, 3 * sizeof(double), &m->fibre);
    m->triangle_count = c->triangles.count;
    well = well && take(w->triangles, &c->triangles, 3 * sizeof(int32_t), &m->triangles);
    if (!well) return false;
    renumber(c, m->tets, 4 * (int64_t)m->tet_count);
    renumber(c, m->middles, m->middles ? 6 * (int64_t)m->tet_count : 0);
    renumber(c, m->triangles, 3 * (int64_t)m->triangle_count);
    m->material_count = w->material_count;
    m->materials = HK_ZEROS(hk_material, w->material_count);
    if (m->materials)
        memcpy(m->materials, w->materials, sizeof *m->materials * (size_t)w->material_count);
    return m->materials != NULL;
}

static bool take_bends(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    m->bend_count = c->bends.count;
    if (!take(w->bends, &c->bends, sizeof *w->bends, &m->bends)) return false;
    for (int k = 0; k < m->bend_count; k++) m->bend_entry_count += m->bends[k].count;
    m->bend_vertices = HK_ARRAY(int32_t, m->bend_entry_count);
    m->bend_coefficients = HK_ARRAY(double, m->bend_entry_count);
    if (!m->bend_vertices || !m->bend_coefficients) return false;
    for (int k = 0, n = 0; k < m->bend_count; k++) {
        hk_bend *b = &m->bends[k];
        size_t count = (size_t)b->count;
        memcpy(m->bend_vertices + n, w->bend_vertices + b->start, count * sizeof(int32_t));
        memcpy(m->bend_coefficients + n, w->bend_coefficients + b->start, count * sizeof(double));
        b->start = n;
        n += b->count;
    }
    renumber(c, m->bend_vertices, m->bend_entry_count);
    return true;
}

static bool take_links(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    m->spring_count = c->springs.count;
    m->attachment_count = c->attachments.count;
    m->shell_count = c->shells.count;
    m->hinge_count = c->hinges.count;
    if (!take(w->springs, &c->springs, sizeof *w->springs, &m->springs) ||
        !take(w->attachments, &c->attachments, sizeof *w->attachments, &m->attachments) ||
        !take(w->shells, &c->shells, sizeof *w->shells, &m->shells) ||
        !take(w->hinges, &c->hinges, sizeof *w->hinges, &m->hinges) || !take_bends(c))
        return false;
    for (int k = 0; k < m->spring_count; k++) renumber(c, m->springs[k].ends, 2);
    for (int k = 0; k < m->attachment_count; k++) renumber(c, &m->attachments[k].vertex, 1);
    for (int k = 0; k < m->shell_count; k++) renumber(c, m->shells[k].vertex, 3);
    for (int k = 0; k < m->hinge_count; k++) renumber(c, m->hinges[k].vertex, 4);
    if (c->number == 0) m->sheet_mass = w->sheet_mass;
    return true;
}

static bool take_motions(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    m->motion_count = w->motion_count;
    m->motions = HK_ZEROS(hk_motion, w->motion_count);
    for (int k = 0; m->motions && k < w->motion_count; k++) {
        m->motions[k] = w->motions[k];
        hk_time_factor_retain(m->motions[k].factor);
    }
    return m->motions != NULL;
}

// Counts of entries of a body among ascending numbers.
static void count_range(const chosen *of, int first, int count, int *start, int *number)
{
    *start = *number = 0;
    for (int k = 0; k < of->count; k++) {
        *start += of->at[k] < first;
        *number += of->at[k] >= first && of->at[k] < first + count;
    }
}

static bool copy_text(const char *from, char **to)
{
    *to = from ? hk_strdup(from) : NULL;
    return !from || *to;
}

static bool take_bodies(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    m->bodies = HK_ZEROS(hk_body, w->body_count);
    if (!m->bodies) return false;
    m->body_count = w->body_count;
    bool well = true;
    for (int b = 0; b < w->body_count && well; b++) {
        const hk_body *from = &w->bodies[b];
        hk_body *to = &m->bodies[b];
        *to = (hk_body){.sheet = from->sheet,
                        .fix_count = from->fix_count,
                        .move_count = from->move_count,
                        .motion_start = from->motion_start};
        count_range(&c->vertices, from->vertex_start, from->vertex_count, &to->vertex_start,
                    &to->vertex_count);
        count_range(&c->tets, from->tet_start, from->tet_count, &to->tet_start, &to->tet_count);
        count_range(&c->triangles, from->triangle_start, from->triangle_count, &to->triangle_start,
                    &to->triangle_count);
        int names = from->fix_count + from->move_count;
        to->constraint_names = HK_ZEROS(char *, names);
        well = copy_text(from->name, &to->name) && to->constraint_names;
        for (int k = 0; k < names && well && from->constraint_names; k++)
            well = copy_text(from->constraint_names[k], &to->constraint_names[k]);
    }
    return well;
}

// ---------------------------------------------------------------- conditions

static bool take_timed_load(const cut *c, const hk_timed_load *from, hk_timed_load *to)
{
    to->factor = hk_time_factor_retain(from->factor);
    to->vertex = HK_ARRAY(int32_t, from->count);
    to->force = HK_ARRAY(double, 3 * (size_t)from->count);
    if (!to->vertex || !to->force) return false;
    for (int k = 0; k < from->count; k++) {
        if (c->owner[from->vertex[k]] != c->number) continue;
        memcpy(to->force + 3 * (size_t)to->count, from->force + 3 * (size_t)k, 3 * sizeof(double));
        to->vertex[to->count++] = c->local[from->vertex[k]];
    }
    return true;
}

static bool take_conditions(cut *c)
{
    const hk_conditions *w = c->whole->conditions;
    if (!w) return true;
    hk_conditions *own = c->model->conditions = HK_NEW(hk_conditions);
    if (!own) return false;
    own->references = 1;
    own->gravity = hk_time_factor_retain(w->gravity);
    own->loads = HK_ZEROS(hk_timed_load, w->load_count);
    own->factors = HK_ZEROS(hk_time_factor *, w->factor_count);
    if (!own->loads || !own->factors) return false;
    own->load_count = w->load_count;
    bool well = true;
    for (int k = 0; k < w->load_count && well; k++)
        well = take_timed_load(c, &w->loads[k], &own->loads[k]);
    own->factor_count = w->factor_count;
    for (int k = 0; k < w->factor_count; k++)
        own->factors[k] = hk_time_factor_retain(w->factors[k]);
    own->pressure_count = c->pressures.count;
    well = well && take(w->pressures, &c->pressures, sizeof *w->pressures, &own->pressures);
    for (int k = 0; k < own->pressure_count && well; k++)
        renumber(c, own->pressures[k].triangle, 3);
    return well;
}

// ---------------------------------------------------------------- the part

static bool take_partition(cut *c)
{
    const hk_model *m = c->model;
    hk_cluster_part *part = c->part;
    hk_partition *g = &part->partition;
    size_t n = (size_t)m->vertex_count;
    g->leads = c->number == 0;
    g->vertex_count = m->vertex_count;
    g->mine = HK_ARRAY(uint8_t, n);
    part->owner = HK_ARRAY(int32_t, n);
    g->pieces = HK_ARRAY(hk_partition_piece, c->pieces->count);
    g->first = HK_ARRAY(int32_t, 2 * (size_t)m->body_count);
    bool well = take(c->pieces->of, &c->vertices, sizeof(int32_t), &g->piece) && g->mine &&
                part->owner && g->pieces && g->first;
    if (!well) return false;
    for (int b = 0; b < m->body_count; b++) {
        g->first[2 * b] = c->whole->bodies[b].vertex_start;
        g->first[2 * b + 1] = c->whole->bodies[b].tet_start;
    }
    g->vertex = c->vertices.at;
    g->tet = c->tets.at;
    c->vertices.at = c->tets.at = NULL;
    for (size_t v = 0; v < n; v++) {
        part->owner[m->place[v]] = c->owner[g->vertex[v]];
        g->mine[m->place[v]] = c->owner[g->vertex[v]] == c->number;
    }
    g->piece_count = c->pieces->count;
    memcpy(g->pieces, c->pieces->pieces, sizeof *g->pieces * (size_t)g->piece_count);
    g->rigid_count = c->pieces->rigid_count;
    g->free_count = c->pieces->free_count;
    g->unheld = c->pieces->unheld;
    part->whole_vertices = c->whole->vertex_count;
    part->whole_tets = c->whole->tet_count;
    part->whole_triangles = c->whole->triangle_count;
    return true;
}

static hk_status cut_all(cut *c)
{
    const hk_model *w = c->whole;
    hk_model *m = c->model;
    memset(c->local, 0xff, sizeof *c->local * (size_t)w->vertex_count);
    HK_TRY(choose_elements(c));
    hk_part_surface_vertices(c->source, c->number, c->local);
    HK_TRY(choose_vertices(c));
    m->references = 1;
    m->family = w->family;
    memcpy(m->gravity, w->gravity, sizeof m->gravity);
    m->unreferenced = w->unreferenced;
    bool well = take_vertices(c) && take_tets(c) && take_links(c) && take_motions(c) &&
                take_bodies(c) && take_conditions(c);
    HK_TRY(well ? hk_model_order_links(m) : HK_NO_MEMORY);
    if (!take_partition(c)) return HK_NO_MEMORY;
    return hk_part_take_contact(c->source, c->number, c->local, c->part);
}

hk_status hk_part_cut(const hk_part_source *source, int number, hk_cluster_part *part)
{
    *part = (hk_cluster_part){.model = HK_NEW(hk_model)};
    cut c = {.source = source,
             .whole = source->model,
             .owner = source->owner,
             .pieces = &source->pieces,
             .number = number,
             .part = part,
             .model = part->model,
             .local = HK_ARRAY(int32_t, source->model->vertex_count)};
    hk_status status = c.model && c.local ? cut_all(&c) : HK_NO_MEMORY;
    const chosen all[] = {c.vertices,    c.tets,   c.triangles, c.springs,  c.bends,
                          c.attachments, c.shells, c.hinges,    c.pressures};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k].at);
    hk_free(c.local);
    if (status != HK_OK) hk_part_release(part);
    return status;
}

hk_status hk_part_source_create(const hk_model *whole, int count, hk_part_source *source)
{
    *source = (hk_part_source){.model = whole, .owner = HK_ARRAY(int32_t, whole->vertex_count)};
    hk_status status = source->owner ? hk_part_owners(whole, count, source->owner) : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_part_find_pieces(whole, &source->pieces);
    if (status == HK_OK && whole->contact) status = hk_part_surface_create(whole, &source->surface);
    if (status != HK_OK) hk_part_source_release(source);
    return status;
}

void hk_part_source_release(hk_part_source *source)
{
    hk_part_pieces_release(&source->pieces);
    hk_part_surface_free(source->surface);
    hk_free(source->owner);
    *source = (hk_part_source){0};
}

void hk_part_release(hk_cluster_part *p)
{
    hk_model_free(p->model);
    hk_free(p->partition.mine);
    hk_free(p->partition.piece);
    hk_free(p->partition.vertex);
    hk_free(p->partition.tet);
    hk_free(p->partition.first);
    hk_free(p->partition.pieces);
    hk_part_surface_free(p->partition.surface);
    hk_free(p->owner);
    *p = (hk_cluster_part){0};
}
