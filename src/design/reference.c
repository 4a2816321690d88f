#include "design/reference.h"

#include <math.h>

#include "design/tet_laplacian.h"
#include "solver/held_components.h"
#include "term/laplacian.h"

// ---------------------------------------------------------------- creation

static void number_vertices(hk_reference *r, const int32_t *order)
{
    for (int k = 0; k < r->vertex_count; k++) {
        int32_t v = order ? order[k] : k;
        r->vertex[k] = v;
        r->unknown[v] = k;
    }
}

static hk_status make_pattern(hk_reference *r)
{
    hk_pattern first;
    number_vertices(r, NULL);
    HK_TRY(hk_laplacian_pattern(r->model, r->unknown, r->vertex_count, &first));
    int32_t *order = HK_ARRAY(int32_t, r->vertex_count);
    hk_status status = order ? hk_order_blocks(&first, order) : HK_NO_MEMORY;
    if (status == HK_OK) {
        number_vertices(r, order);
        status = hk_laplacian_pattern(r->model, r->unknown, r->vertex_count, &r->pattern);
    }
    hk_free(order);
    hk_pattern_free(&first);
    return status;
}

static hk_status make_numbers(hk_reference *r)
{
    r->laplacian = HK_ARRAY(double, hk_pattern_size(&r->pattern));
    int32_t *entries = hk_tet_laplacian_entries(r->model, r->unknown, &r->pattern, r->threads);
    bool well = r->laplacian && entries;
    if (well) hk_tet_laplacian_numbers(r->model, &r->pattern, entries, r->laplacian);
    hk_free(entries);
    if (!well) return HK_NO_MEMORY;
    for (int v = 0; v < r->vertex_count; v++)
        r->diagonal[v] = r->laplacian[hk_pattern_column(&r->pattern, r->unknown[v], 0)];
    return HK_OK;
}

static hk_status find_components(hk_reference *r)
{
    const hk_model *m = r->model;
    hk_held_components c;
    HK_TRY(hk_held_components_find(m, NULL, &c));
    for (int v = 0; v < r->vertex_count; v++) r->component[m->place[v]] = m->place[c.of[v]];
    hk_held_components_release(&c);
    return HK_OK;
}

// The pattern by vertices, both ways.
static hk_status list_neighbours(hk_reference *r)
{
    const hk_pattern *p = &r->pattern;
    int32_t *start = HK_ZEROS(int32_t, r->vertex_count + 1);
    r->neighbour_start = start;
    r->neighbour = HK_ARRAY(int32_t, 2 * p->start[p->count]);
    int32_t *next = HK_ARRAY(int32_t, r->vertex_count);
    if (!start || !r->neighbour || !next) {
        hk_free(next);
        return HK_NO_MEMORY;
    }
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            start[r->vertex[c] + 1]++;
            start[r->vertex[p->row[k]] + 1]++;
        }
    for (int v = 0; v < r->vertex_count; v++) start[v + 1] += start[v];
    memcpy(next, start, sizeof *next * (size_t)r->vertex_count);
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t a = r->vertex[c], b = r->vertex[p->row[k]];
            r->neighbour[next[a]++] = b;
            r->neighbour[next[b]++] = a;
        }
    hk_free(next);
    return HK_OK;
}

static double size_of(const hk_model *m)
{
    double low[3], high[3], square = 0;
    for (int i = 0; i < 3; i++) low[i] = high[i] = m->rest[i];
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], m->rest[3 * (int64_t)v + i]);
            high[i] = fmax(high[i], m->rest[3 * (int64_t)v + i]);
        }
    for (int i = 0; i < 3; i++) square += (high[i] - low[i]) * (high[i] - low[i]);
    return sqrt(square);
}

static hk_status build(const hk_model *model, hk_reference *r)
{
    size_t n = (size_t)model->vertex_count;
    HK_TRY(hk_model_copy(model, &r->model));
    r->size = size_of(model);
    r->unknown = HK_ARRAY(int32_t, n);
    r->vertex = HK_ARRAY(int32_t, n);
    r->diagonal = HK_ARRAY(double, n);
    r->component = HK_ARRAY(int32_t, n);
    if (!r->unknown || !r->vertex || !r->diagonal || !r->component) return HK_NO_MEMORY;
    const hk_lane_table *lanes = hk_lanes_best(HK_DOUBLE_PRECISION);
    r->kernels = lanes->shape;
    HK_TRY(hk_tet_term_create(r->model, lanes, r->threads, &r->tets));
    HK_TRY(make_pattern(r));
    HK_TRY(hk_direct_create(&r->pattern, &r->direct));
    HK_TRY(make_numbers(r));
    HK_TRY(list_neighbours(r));
    return find_components(r);
}

hk_status hk_reference_create(const hk_model *model, int threads, hk_reference **reference)
{
    hk_reference *r = HK_NEW(hk_reference);
    if (!r) return HK_NO_MEMORY;
    r->threads = threads;
    r->vertex_count = model->vertex_count;
    hk_status status = build(model, r);
    if (status != HK_OK) {
        hk_reference_free(r);
        return status;
    }
    *reference = r;
    return HK_OK;
}

void hk_reference_free(hk_reference *r)
{
    if (!r) return;
    hk_tet_term_free(r->tets);
    hk_direct_free(r->direct);
    hk_pattern_free(&r->pattern);
    hk_model_free(r->model);
    hk_free(r->unknown);
    hk_free(r->vertex);
    hk_free(r->laplacian);
    hk_free(r->diagonal);
    hk_free(r->component);
    hk_free(r->neighbour_start);
    hk_free(r->neighbour);
    hk_free(r);
}

// ---------------------------------------------------------------- vectors

void hk_reference_take(const hk_reference *r, const double *users, double *vector)
{
    for (int64_t v = 0; v < r->vertex_count; v++) {
        double *to = vector + 4 * (int64_t)r->model->place[v];
        memcpy(to, users + 3 * v, 3 * sizeof(double));
        to[3] = 0;
    }
}

void hk_reference_give(const hk_reference *r, const double *vector, double *users)
{
    for (int64_t v = 0; v < r->vertex_count; v++)
        memcpy(users + 3 * v, vector + 4 * (int64_t)r->model->place[v], 3 * sizeof(double));
}

int64_t hk_reference_turns(const hk_reference *r, int batch, int each)
{
    int64_t blocks = 0;
    for (int q = 0; q < batch; q++) blocks += r->tets->batches[q].blocks;
    return blocks * each * 4 * r->tets->lanes->lanes;
}

void hk_reference_reset_turns(const hk_reference *r, int each, double *turns)
{
    int64_t lanes = r->tets->lanes->lanes, size = hk_reference_turns(r, r->tets->batch_count, each);
    for (int64_t k = 0; k < size; k++) turns[k] = k / lanes % 4 == 3;
}

double *hk_reference_new_turns(const hk_reference *r, int each)
{
    double *turns = HK_ARRAY(double, hk_reference_turns(r, r->tets->batch_count, each));
    if (turns) hk_reference_reset_turns(r, each, turns);
    return turns;
}

bool hk_reference_skips(const hk_reference *r, const hk_tet_patch *patch, double *slots)
{
    if (r->tets->batches[patch->batch].law != HK_LAW_fibre) return false;
    size_t tets = (size_t)(patch->last - patch->first) * (size_t)r->tets->lanes->lanes;
    memset(slots, 0, 16 * sizeof(double) * tets);
    return true;
}
