#include "gpu/vertex_blocks.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "term/vertex_blocks.h"

// Items of 16 bytes have offsets of 32 bits on the device.
#define MOST_ITEMS ((int64_t)1 << 28)

// What is known of the model while the vertex blocks are made.
typedef struct maker {
    const hk_model *model;
    const hk_live *live;
    const hk_gpu_layout *layout;
    hk_gpu_vertex_blocks *vertex_blocks;
    bool viscous;
    int threads;
    int32_t *number;       // [vertex_count] model's vertex → the vertex here
    int32_t *first_batch;  // [material_count + 1] the batches of a material
    int64_t *tet_start;    // [vertex_count + 1] here, in `tet`
    int32_t *tet;          // [4 tet_count] in the model
} maker;

static void maker_release(maker *w)
{
    hk_free(w->number);
    hk_free(w->first_batch);
    hk_free(w->tet_start);
    hk_free(w->tet);
}

void hk_gpu_vertex_blocks_free(hk_gpu_vertex_blocks *s)
{
    if (!s) return;
    hk_colouring_release(&s->colours);
    hk_free(s->start);
    for (int k = 0; k < HK_GPU_VERTEX_WORDS; k++) hk_free(s->word[k]);
    hk_free(s->tet);
    hk_free(s->batch);
    hk_free(s->element);
    hk_free(s->twin);
    hk_free(s->noise);
    hk_free(s->near_start);
    hk_free(s->near);
    hk_free(s->pair_start);
    hk_free(s->pair);
    hk_free(s);
}

// ---------------------------------------------------------------- numbers

// Batches are numbered as the layout does it: by the materials that are used, and their parts.
static hk_status number_batches(maker *w)
{
    const hk_model *m = w->model;
    w->first_batch = HK_ZEROS(int32_t, m->material_count + 1);
    if (!w->first_batch) return HK_NO_MEMORY;
    for (int t = 0; t < m->tet_count; t++) w->first_batch[m->tet_material[t] + 1] = 1;
    for (int k = 0; k < m->material_count; k++) {
        int parts = 0;
        for (int part = 0; part < HK_LAW_PARTS; part++)
            parts += hk_has_part(&m->materials[k], part);
        w->first_batch[k + 1] = w->first_batch[k] + (w->first_batch[k + 1] ? parts : 0);
    }
    if (w->first_batch[m->material_count] > UINT16_MAX)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %d laws with coefficients are too many",
                       w->first_batch[m->material_count]);
    return HK_OK;
}

static hk_status number_vertices(maker *w)
{
    const hk_model *m = w->model;
    w->number = HK_ARRAY(int32_t, m->vertex_count);
    if (!w->number) return HK_NO_MEMORY;
    for (int k = 0; k < m->vertex_count; k++) w->number[m->order[w->layout->place[k]]] = k;
    return HK_OK;
}

// The tets at every vertex, ascending.
static hk_status list_tets(maker *w)
{
    const hk_model *m = w->model;
    int64_t corners = 4 * (int64_t)m->tet_count;
    w->tet_start = HK_ZEROS(int64_t, m->vertex_count + 1);
    w->tet = HK_ARRAY(int32_t, corners);
    if (!w->tet_start || !w->tet) return HK_NO_MEMORY;
    for (int64_t k = 0; k < corners; k++) w->tet_start[w->number[m->tets[k]] + 1]++;
    for (int v = 0; v < m->vertex_count; v++) w->tet_start[v + 1] += w->tet_start[v];
    for (int64_t k = 0; k < corners; k++)
        w->tet[w->tet_start[w->number[m->tets[k]]]++] = (int32_t)(k / 4);
    // Filling moved every start to the next one's place.
    for (int v = m->vertex_count; v > 0; v--) w->tet_start[v] = w->tet_start[v - 1];
    w->tet_start[0] = 0;
    return HK_OK;
}

// ---------------------------------------------------------------- colours

// Along the Morton curve greedy colours are fewer than along the patches: 6 of a box, not 9.
static hk_status colour(maker *w)
{
    const hk_model *m = w->model;
    uint8_t *held = HK_ARRAY(uint8_t, m->vertex_count);
    if (!held) return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++) held[m->place[v]] = m->hold[v] != HK_FREE;
    hk_status status = hk_colour_vertices(m, w->live, held, &w->vertex_blocks->colours);
    hk_free(held);
    return status;
}

typedef struct ranked {
    int32_t vertex, work;
} ranked;

static int by_number(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

static int by_work(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->work != b->work) return a->work > b->work ? -1 : 1;
    return by_number(left, right);
}

// The vertices of a colour with their numbers here, neighbours near each other, and with as much
// work as those beside them: these share a warp.
static void sort_colour(const maker *w, int colour, ranked *workspace)
{
    enum { WINDOW = 128 };
    hk_colouring *c = &w->vertex_blocks->colours;
    int32_t *item = c->item + c->start[colour];
    int count = c->start[colour + 1] - c->start[colour];
    for (int k = 0; k < count; k++) {
        int32_t v = w->number[w->model->order[item[k]]];
        workspace[k] = (ranked){v, (int32_t)(w->tet_start[v + 1] - w->tet_start[v])};
    }
    qsort(workspace, (size_t)count, sizeof *workspace, by_number);
    for (int k = 0; k < count; k += WINDOW)
        qsort(workspace + k, (size_t)hk_min_int(WINDOW, count - k), sizeof *workspace, by_work);
    for (int k = 0; k < count; k++) item[k] = workspace[k].vertex;
}

static hk_status sort_colours(const maker *w)
{
    const hk_colouring *c = &w->vertex_blocks->colours;
    ranked *workspace = HK_ARRAY(ranked, c->start[c->colour_count]);
    if (!workspace) return HK_NO_MEMORY;
    for (int k = 0; k < c->colour_count; k++) sort_colour(w, k, workspace);
    hk_free(workspace);
    return HK_OK;
}

// ---------------------------------------------------------------- items

static int batches_of(const maker *w, int tet)
{
    const int32_t *first = w->first_batch + w->model->tet_material[tet];
    return first[1] - first[0];
}

static hk_status count_items(maker *w)
{
    hk_gpu_vertex_blocks *s = w->vertex_blocks;
    s->count = s->colours.start[s->colours.colour_count];
    s->start = HK_ZEROS(int32_t, s->count + 1);
    if (!s->start) return HK_NO_MEMORY;
    int64_t items = 0;
    for (int k = 0; k < s->count; k++) {
        int32_t v = s->colours.item[k];
        for (int64_t i = w->tet_start[v]; i < w->tet_start[v + 1]; i++)
            items += batches_of(w, w->tet[i]);
        if (items >= MOST_ITEMS)
            return hk_fail(HK_UNSUPPORTED,
                           "backend \"cuda\": method vbd: %d elements are too many for one device; "
                           "use descent",
                           w->model->tet_count);
        s->start[k + 1] = (int32_t)items;
    }
    return HK_OK;
}

static hk_status allocate_items(maker *w)
{
    hk_gpu_vertex_blocks *s = w->vertex_blocks;
    size_t items = (size_t)s->start[s->count];
    for (int k = 0; k < HK_GPU_VERTEX_WORDS; k++) {
        s->word[k] = HK_ARRAY(float, 4 * items);
        if (!s->word[k]) return HK_NO_MEMORY;
    }
    s->tet = HK_ARRAY(int32_t, items);
    s->noise = HK_ARRAY(float, s->count);
    if (!s->tet || !s->noise) return HK_NO_MEMORY;
    if (w->layout->batch_count > 1) {
        s->batch = HK_ARRAY(uint16_t, items);
        if (!s->batch) return HK_NO_MEMORY;
    }
    if (w->layout->element) {
        s->element = HK_ZEROS(float, 4 * items);
        if (!s->element) return HK_NO_MEMORY;
    }
    if (w->layout->blends || w->viscous) {
        s->twin = HK_ARRAY(int32_t, items);
        if (!s->twin) return HK_NO_MEMORY;
    }
    return HK_OK;
}

static float *word_of(const hk_gpu_vertex_blocks *s, int64_t at, int number)
{
    return s->word[number / 4] + 4 * at + number % 4;
}

void hk_gpu_vertex_item(const hk_gpu_vertex_blocks *s, int64_t at, float B[9], int32_t other[3])
{
    for (int k = 0; k < 9; k++) B[k] = *word_of(s, at, k);
    memcpy(other, word_of(s, at, HK_GPU_VERTEX_OTHERS), 3 * sizeof(int32_t));
}

// The tet as vertex v sees it. The others keep their order, which may mirror the tet: F is the
// same.
static void fill_shape(const maker *w, int32_t v, int tet, int64_t at)
{
    const hk_model *m = w->model;
    const int32_t *vertex = m->tets + 4 * (int64_t)tet;
    const double *corner[4];
    int32_t other[3];
    double inverse[9];
    for (int c = 0, others = 0; c < 4; c++) {
        const double *rest = m->rest + 3 * (int64_t)vertex[c];
        if (w->number[vertex[c]] == v) {
            corner[0] = rest;
        } else {
            other[others++] = w->number[vertex[c]];
            corner[others] = rest;
        }
    }
    hk_corner_inverse(corner, inverse);
    for (int k = 0; k < 9; k++) *word_of(w->vertex_blocks, at, k) = (float)inverse[k];
    memcpy(word_of(w->vertex_blocks, at, HK_GPU_VERTEX_OTHERS), other, sizeof other);
}

static void fill_vertex(const maker *w, int k)
{
    const hk_model *m = w->model;
    hk_gpu_vertex_blocks *s = w->vertex_blocks;
    int32_t v = s->colours.item[k];
    int64_t at = s->start[k];
    double energy = 0;
    for (int64_t i = w->tet_start[v]; i < w->tet_start[v + 1]; i++) {
        int tet = w->tet[i], batch = w->first_batch[m->tet_material[tet]];
        const hk_material *material = &m->materials[m->tet_material[tet]];
        energy += (material->modulus + material->strand_modulus) * m->volume[tet];
        for (int part = 0; part < HK_LAW_PARTS; part++) {
            if (!hk_has_part(material, part)) continue;
            fill_shape(w, v, tet, at);
            s->tet[at] = tet;
            if (s->batch) s->batch[at] = (uint16_t)batch;
            for (int j = 0; j < 3 && s->element && part != HK_LAW_PART; j++)
                s->element[4 * at + j] = (float)hk_part_direction(m, tet, part)[j];
            batch++;
            at++;
        }
    }
    // Some ulps of the stiffness, which the parts of an energy have (term/vertex_blocks.c).
    s->noise[k] = (float)(8 * 1.2e-7 * energy);
}

// The items of the layout, listed by tet and part: several patches may have one, any will do.
static void list_layout(const maker *w, const int64_t *part_start, int32_t *twin_of)
{
    const hk_gpu_layout *l = w->layout;
    for (int p = 0; p < l->patch_count; p++)
        for (int r = l->round_start[p]; r < l->round_start[p + 1]; r++)
            for (int k = l->rounds[r].first; k < l->rounds[r].last; k++) {
                int32_t item = l->item_start[p] + k, tet = l->item_tet[item];
                int part = l->rounds[r].batch - w->first_batch[w->model->tet_material[tet]];
                twin_of[part_start[tet] + part] = item;
            }
}

static hk_status find_twins(const maker *w)
{
    const hk_model *m = w->model;
    hk_gpu_vertex_blocks *s = w->vertex_blocks;
    if (!s->twin) return HK_OK;
    int64_t *part_start = HK_ZEROS(int64_t, (int64_t)m->tet_count + 1);
    hk_status status = part_start ? HK_OK : HK_NO_MEMORY;
    for (int t = 0; t < m->tet_count && status == HK_OK; t++)
        part_start[t + 1] = part_start[t] + batches_of(w, t);
    int32_t *twin_of = part_start ? HK_ZEROS(int32_t, part_start[m->tet_count]) : NULL;
    if (!twin_of) status = HK_NO_MEMORY;
    if (status == HK_OK) {
        list_layout(w, part_start, twin_of);
        for (int64_t at = 0; at < s->start[s->count]; at++) {
            int tet = s->tet[at], first = w->first_batch[m->tet_material[tet]];
            s->twin[at] = twin_of[part_start[tet] + (s->batch ? s->batch[at] - first : 0)];
        }
    }
    hk_free(part_start);
    hk_free(twin_of);
    return status;
}

// ---------------------------------------------------------------- neighbours

// Another vertex of an item.
typedef struct corner {
    int32_t vertex, pair;
} corner;

static int by_vertex(const void *left, const void *right)
{
    const corner *a = left, *b = right;
    if (a->vertex != b->vertex) return a->vertex < b->vertex ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

// The other corners of the items of vertex k by vertices; returns how many vertices these are.
static int list_corners(const hk_gpu_vertex_blocks *s, int k, corner *list)
{
    int count = 0, vertices = 0;
    for (int32_t at = s->start[k]; at < s->start[k + 1]; at++) {
        float B[9];
        int32_t other[3];
        hk_gpu_vertex_item(s, at, B, other);
        for (int c = 0; c < 3; c++) list[count++] = (corner){other[c], 4 * at + c + 1};
    }
    qsort(list, (size_t)count, sizeof *list, by_vertex);
    for (int n = 0; n < count; n++) vertices += n == 0 || list[n].vertex != list[n - 1].vertex;
    return vertices;
}

static void write_neighbours(hk_gpu_vertex_blocks *s, int k, corner *list)
{
    int32_t at = s->near_start[k], pair = 3 * s->start[k];
    list_corners(s, k, list);
    for (int n = 0; n < 3 * (s->start[k + 1] - s->start[k]); n++) {
        if (n == 0 || list[n].vertex != list[n - 1].vertex) {
            s->near[at] = list[n].vertex;
            s->pair_start[at++] = pair + n;
        }
        s->pair[pair + n] = list[n].pair;
    }
}

static hk_status find_neighbours(const maker *w)
{
    hk_gpu_vertex_blocks *s = w->vertex_blocks;
    if (!w->viscous) return HK_OK;
    int most = 0;
    for (int k = 0; k < s->count; k++) most = hk_max_int(most, s->start[k + 1] - s->start[k]);
    corner *workspace = HK_ARRAY(corner, 3 * (int64_t)most * w->threads);
    s->near_start = HK_ZEROS(int32_t, s->count + 1);
    s->pair = HK_ARRAY(int32_t, 3 * (int64_t)s->start[s->count]);
    hk_status status = workspace && s->near_start && s->pair ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
#pragma omp parallel for schedule(static) num_threads(w->threads)
        for (int k = 0; k < s->count; k++)
            s->near_start[k + 1] =
                list_corners(s, k, workspace + 3 * (int64_t)most * omp_get_thread_num());
        for (int k = 0; k < s->count; k++) s->near_start[k + 1] += s->near_start[k];
        s->near = HK_ARRAY(int32_t, s->near_start[s->count]);
        s->pair_start = HK_ARRAY(int32_t, s->near_start[s->count] + 1);
        if (!s->near || !s->pair_start) status = HK_NO_MEMORY;
    }
    if (status == HK_OK) {
#pragma omp parallel for schedule(static) num_threads(w->threads)
        for (int k = 0; k < s->count; k++)
            write_neighbours(s, k, workspace + 3 * (int64_t)most * omp_get_thread_num());
        s->pair_start[s->near_start[s->count]] = 3 * s->start[s->count];
    }
    hk_free(workspace);
    return status;
}

static hk_status make(maker *w)
{
    HK_TRY(number_batches(w));
    HK_TRY(number_vertices(w));
    HK_TRY(list_tets(w));
    HK_TRY(colour(w));
    HK_TRY(sort_colours(w));
    HK_TRY(count_items(w));
    HK_TRY(allocate_items(w));
#pragma omp parallel for schedule(static) num_threads(w->threads)
    for (int k = 0; k < w->vertex_blocks->count; k++) fill_vertex(w, k);
    HK_TRY(find_twins(w));
    return find_neighbours(w);
}

hk_status hk_gpu_vertex_blocks_create(const hk_model *model, const hk_live *live,
                                      const hk_gpu_layout *layout, bool viscous, int threads,
                                      hk_gpu_vertex_blocks **blocks)
{
    hk_gpu_vertex_blocks *s = HK_NEW(hk_gpu_vertex_blocks);
    if (!s) return HK_NO_MEMORY;
    maker w = {.model = model,
               .live = live,
               .layout = layout,
               .vertex_blocks = s,
               .viscous = viscous,
               .threads = threads > 0 ? threads : omp_get_num_procs()};
    hk_status status = make(&w);
    maker_release(&w);
    if (status != HK_OK) {
        hk_gpu_vertex_blocks_free(s);
        return status;
    }
    *blocks = s;
    return HK_OK;
}
