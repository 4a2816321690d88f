#include "term/tet.h"

#include <math.h>
#include <stdlib.h>

#include "math/mat3.h"
#include "term/scalar.h"

// ---------------------------------------------------------------- packing

// The tets of one batch in the order of their first vertex along the Morton curve.
typedef struct tet_list {
    int count;
    int32_t *tets;  // [count] model's numbers
} tet_list;

static int32_t first_place(const hk_model *m, int tet)
{
    const int32_t *c = m->tets + 4 * (int64_t)tet;
    int32_t first = m->place[c[0]];
    for (int k = 1; k < 4; k++) first = m->place[c[k]] < first ? m->place[c[k]] : first;
    return first;
}

// A stable counting sort by first_place.
static hk_status list_tets(const hk_model *m, int material, tet_list *list)
{
    int32_t *start = HK_ZEROS(int32_t, m->vertex_count + 1);
    if (!start) return HK_NO_MEMORY;
    list->count = 0;
    for (int t = 0; t < m->tet_count; t++)
        if (m->tet_material[t] == material && !hk_model_is_quadratic(m, t) &&
            !hk_model_is_rigid(m, t)) {
            start[first_place(m, t) + 1]++;
            list->count++;
        }
    for (int v = 0; v < m->vertex_count; v++) start[v + 1] += start[v];
    list->tets = HK_ARRAY(int32_t, list->count);
    if (list->tets)
        for (int t = 0; t < m->tet_count; t++)
            if (m->tet_material[t] == material && !hk_model_is_quadratic(m, t) &&
                !hk_model_is_rigid(m, t))
                list->tets[start[first_place(m, t)]++] = t;
    hk_free(start);
    return list->tets ? HK_OK : HK_NO_MEMORY;
}

const int hk_tet_pairs[HK_TET_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1},
                                           {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}};

void hk_corner_inverse(const double *const corner[4], double inverse[9])
{
    double e[3][3];  // edges
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) e[k][i] = corner[k + 1][i] - corner[0][i];
    double det = 0;
    for (int k = 0; k < 3; k++) {
        const double *a = e[(k + 1) % 3], *b = e[(k + 2) % 3];
        inverse[3 * k + 0] = a[1] * b[2] - a[2] * b[1];
        inverse[3 * k + 1] = a[2] * b[0] - a[0] * b[2];
        inverse[3 * k + 2] = a[0] * b[1] - a[1] * b[0];
    }
    for (int i = 0; i < 3; i++) det += e[0][i] * inverse[i];
    for (int k = 0; k < 9; k++) inverse[k] /= det;
}

void hk_rest_inverse(const hk_model *m, int tet, double inverse[9])
{
    const double *corner[4];
    for (int c = 0; c < 4; c++) corner[c] = m->rest + 3 * (int64_t)m->tets[4 * (int64_t)tet + c];
    hk_corner_inverse(corner, inverse);
}

// With the rest edges e₁, e₂, e₃ the axes are those along e₁ and e₁ × e₂ and the one in between: a
// right-handed frame Q, so that determinants stay what they are. inverse × Q is an upper triangle.
static void turn_to_edges(const hk_model *m, int tet, const double inverse[9], double upper[6])
{
    const int32_t *corner = m->tets + 4 * (int64_t)tet;
    vec3 at[3], axis[3];
    for (int c = 0; c < 3; c++) {
        const double *X = m->rest + 3 * (int64_t)corner[c];
        at[c] = v3_set(X[0], X[1], X[2]);
    }
    vec3 first = v3_sub(at[1], at[0]), normal = v3_cross(first, v3_sub(at[2], at[0]));
    axis[0] = v3_scale(first, 1 / v3_norm(first));
    axis[2] = v3_scale(normal, 1 / v3_norm(normal));
    axis[1] = v3_cross(axis[2], axis[0]);
    for (int row = 0, q = 0; row < 3; row++) {
        const double *g = inverse + 3 * row;
        for (int column = row; column < 3; column++)
            upper[q++] = v3_dot(v3_set(g[0], g[1], g[2]), axis[column]);
    }
}

static hk_status allocate_batch(hk_tet_batch *b, const hk_lane_table *lanes)
{
    size_t workspace = (size_t)b->blocks * (size_t)lanes->lanes, size = (size_t)lanes->scalar_size;
    b->vertex = HK_ARRAY(int32_t, 4 * workspace);
    b->slot = HK_ARRAY(uint16_t, 4 * workspace);
    b->tet = HK_ARRAY(int32_t, workspace);
    b->inverse = hk_alloc(9 * workspace, size);
    b->volume = hk_alloc(workspace, size);
    b->element = hk_alloc((size_t)b->element_values * workspace, size);
    bool by_edges = lanes->edges.energy && b->law == HK_LAW_stvk;
    if (by_edges) b->edge_inverse = hk_alloc(6 * workspace, size);
    bool complete = (b->edge_inverse || !by_edges) && b->vertex && b->slot && b->tet &&
                    b->inverse && b->volume && b->element;
    if (b->blend_law.upper > 0) {
        b->blend = hk_calloc(workspace, size);
        b->blended = HK_ZEROS(uint8_t, b->blocks);
        complete = complete && b->blend && b->blended;
    }
    return complete ? HK_OK : HK_NO_MEMORY;
}

const double *hk_part_direction(const hk_model *m, int tet, int part)
{
    if (part < HK_AXES_PART) return m->fibre + 3 * (int64_t)tet;
    return m->materials[m->tet_material[tet]].axis_directions[part - HK_AXES_PART];
}

bool hk_has_part(const hk_material *material, int part)
{
    if (part == HK_FIBRE_PART) return material->fibre_stiffness > 0;
    return part < HK_AXES_PART + material->axis_count;
}

// Shape gradients and volume of number k of a batch; beyond its tets there is padding.
static void measure_tet(const hk_model *m, int k, const hk_lane_table *lanes, hk_tet_batch *b)
{
    int width = lanes->lanes, size = lanes->scalar_size;
    int64_t block = k / width, lane = k % width;
    int tet = b->tet[k];
    double inverse[9];
    hk_rest_inverse(m, tet, inverse);
    for (int q = 0; q < 9; q++)
        hk_store_scalar(b->inverse, size, (block * 9 + q) * width + lane, inverse[q]);
    if (b->edge_inverse) {
        double upper[6];
        turn_to_edges(m, tet, inverse, upper);
        for (int q = 0; q < 6; q++)
            hk_store_scalar(b->edge_inverse, size, (block * 6 + q) * width + lane, upper[q]);
    }
    hk_store_scalar(b->volume, size, k, k >= b->count ? 0 : m->volume[tet]);
}

static void pack_tet(const hk_model *m, const tet_list *list, int k, int part,
                     const hk_lane_table *lanes, hk_tet_batch *b)
{
    int width = lanes->lanes, size = lanes->scalar_size;
    int64_t block = k / width, lane = k % width;
    int tet = list->tets[k >= list->count ? list->count - 1 : k];
    b->tet[k] = tet;
    measure_tet(m, k, lanes, b);
    for (int c = 0; c < 4; c++)
        b->vertex[(block * 4 + c) * width + lane] = m->place[m->tets[4 * (int64_t)tet + c]];
    for (int q = 0; q < b->element_values; q++)
        hk_store_scalar(b->element, size, (block * b->element_values + q) * width + lane,
                        hk_part_direction(m, tet, part)[q]);
}

hk_law_part hk_material_part(const hk_material *material, int part)
{
    // Strands stand being crushed: only the law converts.
    if (part == HK_LAW_PART)
        return (hk_law_part){material->law, material->params, material->blend_law};
    hk_law_part strands = {.law = HK_LAW_fibre};
    strands.params = part == HK_FIBRE_PART ? hk_fibre_params(material->fibre_stiffness)
                                           : hk_strand_params(&material->axes[part - HK_AXES_PART]);
    return strands;
}

// The tets of one material under its own law, or the strands in them.
static hk_status add_batch(const hk_model *m, int material, int part, hk_tet_term *term)
{
    tet_list list = {0};
    HK_TRY(list_tets(m, material, &list));
    if (list.count == 0) {
        hk_free(list.tets);
        return HK_OK;
    }
    hk_tet_batch *b = &term->batches[term->batch_count++];
    hk_law_part source = hk_material_part(&m->materials[material], part);
    b->law = source.law;
    b->part = part;
    b->params = source.params;
    b->blend_law = source.blend_law;
    b->element_values = hk_law_describe(b->law)->element_values;
    b->count = list.count;
    b->blocks = (list.count + term->lanes->lanes - 1) / term->lanes->lanes;
    hk_status status = allocate_batch(b, term->lanes);
    for (int k = 0; k < b->blocks * term->lanes->lanes && status == HK_OK; k++)
        pack_tet(m, &list, k, part, term->lanes, b);
    hk_free(list.tets);
    return status;
}

void hk_tet_take_materials(hk_tet_term *term)
{
    const hk_model *m = term->model;
    for (int q = 0; q < term->batch_count; q++) {
        hk_tet_batch *b = &term->batches[q];
        hk_law_part source = hk_material_part(&m->materials[m->tet_material[b->tet[0]]], b->part);
        b->params = source.params;
        b->blend_law = source.blend_law;
    }
}

static hk_status cut_patches(hk_tet_term *term)
{
    int size = HK_PATCH_TETS / term->lanes->lanes;
    term->stiffness_start = HK_ZEROS(int64_t, term->batch_count + 1);
    if (!term->stiffness_start) return HK_NO_MEMORY;
    for (int q = 0; q < term->batch_count; q++) {
        int blocks = term->batches[q].blocks;
        term->patch_count += (blocks + size - 1) / size;
        term->stiffness_start[q + 1] =
            term->stiffness_start[q] + (int64_t)blocks * HK_TET_STIFFNESS * term->lanes->lanes;
    }
    term->patches = HK_ZEROS(hk_tet_patch, term->patch_count);
    term->partial = HK_ARRAY(double, term->patch_count);
    if (!term->patches || !term->partial) return HK_NO_MEMORY;
    int patch = 0;
    for (int q = 0; q < term->batch_count; q++)
        for (int b = 0; b < term->batches[q].blocks; b += size)
            term->patches[patch++] = (hk_tet_patch){
                .batch = q, .first = b, .last = hk_min_int(b + size, term->batches[q].blocks)};
    return HK_OK;
}

// Where corner c of tet k of a batch stands in its arrays [blocks][4][lanes].
static int64_t corner_index(const hk_tet_term *term, int k, int c)
{
    int width = term->lanes->lanes;
    return ((int64_t)(k / width) * 4 + c) * width + k % width;
}

// The corners of a patch.
typedef struct patch_corner {
    int32_t vertex, order;
    int32_t count;  // of the corners at that vertex
    int64_t at;
} patch_corner;

static int by_vertex(const void *left, const void *right)
{
    const patch_corner *a = left, *b = right;
    if (a->vertex != b->vertex) return a->vertex < b->vertex ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_count(const void *left, const void *right)
{
    const patch_corner *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return by_vertex(left, right);
}

// Sorted by vertex, vertices with few corners first: loops of equal length that follow each other
// are predicted well. The corners of a vertex are in the order of the tets.
static int list_corners(const hk_tet_term *term, const hk_tet_patch *p, patch_corner *corners)
{
    const hk_tet_batch *b = &term->batches[p->batch];
    int width = term->lanes->lanes, count = 0;
    for (int k = p->first * width; k < hk_min_int(p->last * width, b->count); k++)
        for (int c = 0; c < 4; c++) {
            int64_t at = corner_index(term, k, c);
            corners[count] = (patch_corner){b->vertex[at], count, 0, at};
            count++;
        }
    qsort(corners, (size_t)count, sizeof *corners, by_vertex);
    for (int first = 0, last; first < count; first = last) {
        for (last = first; last < count && corners[last].vertex == corners[first].vertex;) last++;
        for (int s = first; s < last; s++) corners[s].count = last - first;
    }
    qsort(corners, (size_t)count, sizeof *corners, by_count);
    return count;
}

// Gives every corner of the patch its slot, and its vertices their runs of slots; for now the
// target of a vertex is the vertex itself.
static void number_slots(hk_tet_term *term, hk_tet_patch *p, patch_corner *corners)
{
    hk_tet_batch *b = &term->batches[p->batch];
    int width = term->lanes->lanes, count = list_corners(term, p, corners), vertices = 0;
    uint16_t *start = term->patch_start + p->start_at;
    for (int s = 0; s < count; s++) {
        if (s == 0 || corners[s].vertex != corners[s - 1].vertex) {
            start[vertices] = (uint16_t)s;
            term->patch_target[p->target_at + vertices++] = corners[s].vertex;
        }
        b->slot[corners[s].at] = (uint16_t)s;
    }
    start[vertices] = (uint16_t)count;
    p->vertex_count = vertices;
    for (int k = b->count; k < p->last * width; k++)
        for (int c = 0; c < 4; c++) b->slot[corner_index(term, k, c)] = 4 * HK_PATCH_TETS;
}

// Vertices that do not belong to exactly one patch get partial sums, patch by patch.
static hk_status share_vertices(hk_tet_term *term, int64_t target_count, int32_t *uses)
{
    for (int64_t k = 0; k < target_count; k++) uses[term->patch_target[k]]++;
    int32_t partial_count = 0;
    for (int v = 0; v < term->vertex_count; v++) term->shared_count += uses[v] != 1;
    term->shared_vertex = HK_ARRAY(int32_t, term->shared_count);
    term->shared_start = HK_ARRAY(int32_t, term->shared_count + 1);
    if (!term->shared_vertex || !term->shared_start) return HK_NO_MEMORY;
    int shared = 0;
    for (int v = 0; v < term->vertex_count; v++) {
        int32_t count = uses[v];
        uses[v] = -1;  // from now on: the next partial sum
        if (count == 1) continue;
        term->shared_vertex[shared] = v;
        term->shared_start[shared++] = partial_count;
        uses[v] = partial_count;
        partial_count += count;
    }
    term->shared_start[shared] = partial_count;
    for (int64_t k = 0; k < target_count; k++) {
        int32_t *next = &uses[term->patch_target[k]];
        if (*next >= 0) term->patch_target[k] = -1 - (*next)++;
    }
    term->shared = hk_calloc(4 * (size_t)partial_count, (size_t)term->lanes->scalar_size);
    return term->shared ? HK_OK : HK_NO_MEMORY;
}

static hk_status number_patches(hk_tet_term *term)
{
    int64_t corner_count = 0;
    for (int q = 0; q < term->batch_count; q++) corner_count += 4 * (int64_t)term->batches[q].count;
    size_t threads = (size_t)term->threads;
    term->patch_start = HK_ARRAY(uint16_t, corner_count + term->patch_count);
    term->patch_target = HK_ARRAY(int32_t, corner_count);
    term->slots =
        hk_calloc(threads * 4 * (4 * HK_PATCH_TETS + 1), (size_t)term->lanes->scalar_size);
    patch_corner *corners = HK_ARRAY(patch_corner, 4 * HK_PATCH_TETS);
    int32_t *uses = HK_ZEROS(int32_t, term->vertex_count);
    hk_status status = HK_NO_MEMORY;
    if (term->patch_start && term->patch_target && term->slots && corners && uses) {
        int64_t start_at = 0, target_at = 0;
        for (int k = 0; k < term->patch_count; k++) {
            hk_tet_patch *p = &term->patches[k];
            p->start_at = start_at;
            p->target_at = target_at;
            number_slots(term, p, corners);
            start_at += p->vertex_count + 1;
            target_at += p->vertex_count;
        }
        status = share_vertices(term, target_at, uses);
    }
    hk_free(corners);
    hk_free(uses);
    return status;
}

static hk_status build(const hk_model *model, hk_tet_term *term)
{
    term->batches = HK_ZEROS(hk_tet_batch, HK_LAW_PARTS * (size_t)model->material_count);
    if (!term->batches) return HK_NO_MEMORY;
    for (int k = 0; k < model->material_count; k++)
        for (int part = 0; part < HK_LAW_PARTS; part++)
            if (hk_has_part(&model->materials[k], part)) HK_TRY(add_batch(model, k, part, term));
    for (int q = 0; q < term->batch_count && !term->tet_blend; q++)
        if (term->batches[q].blend) {
            term->tet_blend = HK_ZEROS(float, model->tet_count);
            if (!term->tet_blend) return HK_NO_MEMORY;
        }
    HK_TRY(cut_patches(term));
    return number_patches(term);
}

hk_status hk_tet_term_create(const hk_model *model, const hk_lane_table *lanes, int threads,
                             hk_tet_term **term)
{
    hk_tet_term *t = HK_NEW(hk_tet_term);
    if (!t) return HK_NO_MEMORY;
    t->model = model;
    t->lanes = lanes;
    t->threads = threads;
    t->vertex_count = model->vertex_count;
    t->tet_count = model->tet_count;
    hk_status status = build(model, t);
    if (status != HK_OK) {
        hk_tet_term_free(t);
        return status;
    }
    *term = t;
    return HK_OK;
}

void hk_tet_measure(hk_tet_term *term)
{
    for (int q = 0; q < term->batch_count; q++) {
        hk_tet_batch *b = &term->batches[q];
#pragma omp parallel for schedule(static) num_threads(term->threads)
        for (int k = 0; k < b->blocks * term->lanes->lanes; k++)
            measure_tet(term->model, k, term->lanes, b);
    }
}

void hk_tet_term_free(hk_tet_term *term)
{
    if (!term) return;
    for (int q = 0; q < term->batch_count; q++) {
        hk_tet_batch *b = &term->batches[q];
        hk_free(b->vertex);
        hk_free(b->slot);
        hk_free(b->tet);
        hk_free(b->inverse);
        hk_free(b->edge_inverse);
        hk_free(b->start);
        hk_free(b->volume);
        hk_free(b->element);
        hk_free(b->blend);
        hk_free(b->blended);
    }
    hk_free(term->batches);
    hk_free(term->stiffness_start);
    hk_free(term->patches);
    hk_free(term->partial);
    hk_free(term->tet_blend);
    hk_free(term->patch_start);
    hk_free(term->patch_target);
    hk_free(term->shared_vertex);
    hk_free(term->shared_start);
    hk_free(term->shared);
    hk_free(term->slots);
    hk_free(term);
}
