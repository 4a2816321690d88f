// A part as bytes, both ways.
#include "cluster/part_stream.h"
#include "model/conditions.h"
#include "model/sheet.h"

void hk_put_array(hk_stream *s, void *array, int64_t count, size_t size)
{
    void **at = array;
    bool there = *at != NULL;
    HK_STREAM(s, there);
    if (s->status != HK_OK || !there) return;
    if (s->reading) *at = hk_alloc((size_t)count, size);
    if (!*at)
        s->status = HK_NO_MEMORY;
    else
        hk_stream_bytes(s, *at, (size_t)count * size);
}

void hk_put_text(hk_stream *s, char **text)
{
    int64_t length = *text ? (int64_t)strlen(*text) + 1 : 0;
    HK_STREAM(s, length);
    hk_put_array(s, text, length, 1);
}

void hk_put_factor(hk_stream *s, hk_time_factor **factor)
{
    bool there = *factor != NULL;
    HK_STREAM(s, there);
    if (!there || s->status != HK_OK) return;
    int64_t count = 0;
    double over = hk_time_factor_over(*factor);
    char *formula = (char *)(uintptr_t)hk_time_factor_formula(*factor);
    double *table = (double *)(uintptr_t)hk_time_factor_table(*factor, &count);
    HK_STREAM(s, over);
    HK_STREAM(s, count);
    hk_put_text(s, &formula);
    hk_put_array(s, &table, 2 * count, sizeof *table);
    if (!s->reading) return;
    hk_factor_def def = {
        .formula = formula, .table = table, .table_count = (int)count, .over = over};
    if (s->status == HK_OK) s->status = hk_time_factor_create(&def, factor);
    hk_free(formula);
    hk_free(table);
}

static void put_body(hk_stream *s, hk_body *b)
{
    int *const numbers[] = {&b->vertex_start, &b->vertex_count,   &b->tet_start,
                            &b->tet_count,    &b->triangle_start, &b->triangle_count,
                            &b->fix_count,    &b->move_count,     &b->motion_start};
    for (int k = 0; k < HK_COUNT_OF(numbers); k++) HK_STREAM(s, *numbers[k]);
    HK_STREAM(s, b->sheet);
    hk_put_text(s, &b->name);
    int names = b->fix_count + b->move_count;
    if (s->status == HK_OK && s->reading) {
        b->constraint_names = HK_ZEROS(char *, names);
        if (!b->constraint_names) s->status = HK_NO_MEMORY;
    }
    for (int k = 0; k < names && s->status == HK_OK; k++) hk_put_text(s, &b->constraint_names[k]);
}

static void put_bodies(hk_stream *s, hk_model *m)
{
    int count = m->body_count;
    HK_STREAM(s, count);
    if (s->status == HK_OK && s->reading) {
        m->bodies = HK_ZEROS(hk_body, count);
        if (!m->bodies) s->status = HK_NO_MEMORY;
        m->body_count = s->status == HK_OK ? count : 0;
    }
    for (int b = 0; b < m->body_count; b++) put_body(s, &m->bodies[b]);
}

static void put_motions(hk_stream *s, hk_model *m)
{
    HK_STREAM(s, m->motion_count);
    if (s->reading && s->status == HK_OK) {
        m->motions = HK_ZEROS(hk_motion, m->motion_count);
        if (!m->motions) s->status = HK_NO_MEMORY;
    }
    for (int k = 0; k < m->motion_count && s->status == HK_OK; k++) {
        hk_time_factor *factor = m->motions[k].factor;
        HK_STREAM(s, m->motions[k]);
        m->motions[k].factor = factor;  // not the pointer of another process
        hk_put_factor(s, &m->motions[k].factor);
    }
}

static void put_load(hk_stream *s, hk_timed_load *load)
{
    HK_STREAM(s, load->count);
    hk_put_factor(s, &load->factor);
    PUT_ARRAY(s, load->vertex, load->count);
    PUT_ARRAY(s, load->force, 3 * (int64_t)load->count);
}

static void put_conditions(hk_stream *s, hk_model *m)
{
    bool there = m->conditions != NULL;
    HK_STREAM(s, there);
    if (!there || s->status != HK_OK) return;
    if (s->reading) {
        hk_conditions *made;
        s->status = hk_model_need_conditions(m, &made);
    }
    if (s->status != HK_OK) return;
    hk_conditions *c = m->conditions;
    int loads = c->load_count, factors = c->factor_count;
    hk_put_factor(s, &c->gravity);
    HK_STREAM(s, loads);
    HK_STREAM(s, factors);
    if (s->reading && s->status == HK_OK) {
        c->loads = HK_ZEROS(hk_timed_load, loads);
        c->factors = HK_ZEROS(hk_time_factor *, factors);
        if (!c->loads || !c->factors) s->status = HK_NO_MEMORY;
        if (s->status == HK_OK) c->load_count = loads, c->factor_count = factors;
    }
    for (int k = 0; k < c->load_count && s->status == HK_OK; k++) put_load(s, &c->loads[k]);
    for (int k = 0; k < c->factor_count && s->status == HK_OK; k++)
        hk_put_factor(s, &c->factors[k]);
    HK_STREAM(s, c->pressure_count);
    PUT_ARRAY(s, c->pressures, c->pressure_count);
}

static void put_vertices(hk_stream *s, hk_model *m)
{
    int64_t n = m->vertex_count;
    PUT_ARRAY(s, m->rest, 3 * n);
    PUT_ARRAY(s, m->velocity, 3 * n);
    PUT_ARRAY(s, m->mass, n);
    PUT_ARRAY(s, m->load, 3 * n);
    PUT_ARRAY(s, m->hold, n);
    PUT_ARRAY(s, m->axes, n);
    PUT_ARRAY(s, m->fixed_by, 3 * n);
    PUT_ARRAY(s, m->order, n);
    PUT_ARRAY(s, m->place, n);
}

static void put_elements(hk_stream *s, hk_model *m)
{
    int64_t tets = m->tet_count;
    PUT_ARRAY(s, m->tets, 4 * tets);
    PUT_ARRAY(s, m->middles, 6 * tets);
    PUT_ARRAY(s, m->volume, tets);
    PUT_ARRAY(s, m->tet_material, tets);
    PUT_ARRAY(s, m->fibre, 3 * tets);
    PUT_ARRAY(s, m->materials, m->material_count);
    PUT_ARRAY(s, m->triangles, 3 * (int64_t)m->triangle_count);
    PUT_ARRAY(s, m->springs, m->spring_count);
    PUT_ARRAY(s, m->bends, m->bend_count);
    PUT_ARRAY(s, m->bend_vertices, m->bend_entry_count);
    PUT_ARRAY(s, m->bend_coefficients, m->bend_entry_count);
    PUT_ARRAY(s, m->attachments, m->attachment_count);
    PUT_ARRAY(s, m->shells, m->shell_count);
    PUT_ARRAY(s, m->hinges, m->hinge_count);
}

static void put_model(hk_stream *s, hk_model *m)
{
    int *const counts[] = {&m->vertex_count,     &m->tet_count,        &m->material_count,
                           &m->triangle_count,   &m->spring_count,     &m->bend_count,
                           &m->bend_entry_count, &m->attachment_count, &m->shell_count,
                           &m->hinge_count,      &m->unreferenced};
    for (int k = 0; k < HK_COUNT_OF(counts); k++) HK_STREAM(s, *counts[k]);
    HK_STREAM(s, m->family);
    HK_STREAM(s, m->gravity);
    HK_STREAM(s, m->sheet_mass);
    put_vertices(s, m);
    put_elements(s, m);
    put_motions(s, m);
    put_bodies(s, m);
    put_conditions(s, m);
    hk_put_contact(s, &m->contact);
}

static void put_partition(hk_stream *s, hk_cluster_part *p)
{
    hk_partition *g = &p->partition;
    HK_STREAM(s, g->leads);
    HK_STREAM(s, g->vertex_count);
    HK_STREAM(s, g->piece_count);
    HK_STREAM(s, g->rigid_count);
    HK_STREAM(s, g->free_count);
    HK_STREAM(s, g->unheld);
    int64_t n = g->vertex_count;
    PUT_ARRAY(s, g->mine, n);
    PUT_ARRAY(s, g->piece, n);
    PUT_ARRAY(s, g->vertex, n);
    PUT_ARRAY(s, g->tet, p->model->tet_count);
    PUT_ARRAY(s, g->first, 2 * (int64_t)p->model->body_count);
    PUT_ARRAY(s, g->pieces, g->piece_count);
    PUT_ARRAY(s, p->owner, n);
    hk_put_surface(s, &g->surface);
}

void hk_part_stream(hk_stream *s, hk_cluster_part *p)
{
    if (s->reading) {
        *p = (hk_cluster_part){.model = HK_NEW(hk_model)};
        if (!p->model) {
            s->status = HK_NO_MEMORY;
            return;
        }
        p->model->references = 1;
    }
    HK_STREAM(s, p->whole_vertices);
    HK_STREAM(s, p->whole_tets);
    HK_STREAM(s, p->whole_triangles);
    put_model(s, p->model);
    put_partition(s, p);
    if (s->reading && s->status == HK_OK) s->status = hk_model_order_links(p->model);
    if (s->reading && s->status != HK_OK) hk_part_release(p);
}
