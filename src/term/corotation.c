#include "term/corotation.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "term/instances.h"
#include "term/tet.h"

// HK_GENERIC_LANES comes from cmake/lanes.cmake (HOOKE_WIDE_LANES=OFF).
#if defined(__x86_64__) && !defined(HK_GENERIC_LANES)
#define HK_WIDE_LANES 1
#else
#define HK_WIDE_LANES 0
#endif

extern const hk_corotation_table hk_corotation_f32x4_generic;
#if HK_WIDE_LANES
extern const hk_corotation_table hk_corotation_f32x8_avx2, hk_corotation_f32x16_avx512;
#endif

// Widest first.
int hk_corotation_available(const hk_corotation_table *tables[], int workspace)
{
    const hk_corotation_table *all[3];
    int count = 0;
#if HK_WIDE_LANES
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        all[count++] = &hk_corotation_f32x16_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        all[count++] = &hk_corotation_f32x8_avx2;
#endif
    all[count++] = &hk_corotation_f32x4_generic;
    if (count > workspace) count = workspace;
    for (int k = 0; k < count; k++) tables[k] = all[k];
    return count;
}

const hk_corotation_table *hk_corotation_best(void)
{
    const hk_corotation_table *best;
    hk_corotation_available(&best, 1);
    return best;
}

bool hk_corotation_law(hk_law law, hk_volume_law *volume)
{
    hk_volume_law found = HK_VOLUME_NONE;
    if (law == HK_LAW_corotated)
        found = HK_VOLUME_TRACE;
    else if (law == HK_LAW_fixed_corotated)
        found = HK_VOLUME_J;
    else if (law != HK_LAW_arap)
        return false;
    if (volume) *volume = found;
    return true;
}

bool hk_corotation_can(const hk_material *material, hk_volume_law *volume)
{
    return hk_corotation_law(material->law, volume) && material->strand_modulus == 0 &&
           material->blend_law.upper == 0;
}

bool hk_corotation_mild(const hk_material *material)
{
    hk_volume_law law;
    double mu = material->params.c[0], lambda = material->params.c[1];
    return hk_corotation_can(material, &law) && law == HK_VOLUME_TRACE && lambda <= 10 * mu;
}

// ---------------------------------------------------------------- cutting into patches

// Tets with their centres, to be cut in halves.
typedef struct center {
    float x[3];
    int32_t tet;
} center;

static bool before(const center *a, const center *b, int axis)
{
    return a->x[axis] != b->x[axis] ? a->x[axis] < b->x[axis] : a->tet < b->tet;
}

// Brings the `count` least along the axis to the front (Hoare's selection).
static void select_least(center *all, int64_t size, int64_t count, int axis)
{
    int64_t low = 0, high = size - 1;
    while (low < high) {
        center pivot = all[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (before(&all[i], &pivot, axis)) i++;
            while (before(&pivot, &all[j], axis)) j--;
            if (i > j) break;
            center swap = all[i];
            all[i++] = all[j];
            all[j--] = swap;
        }
        if (count <= j + 1 && count > 0)
            high = j;
        else
            low = i;
        if (count <= low) return;
    }
}

// Halves across the longest extent until patches are left: compact ones have few vertices that
// others have, too.
static void halve(center *all, int64_t size)
{
    if (size <= HK_COROTATION_TETS) return;
    int axis = 0;
    float most = -1;
    for (int i = 0; i < 3; i++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t k = 0; k < size; k++) {
            low = fminf(low, all[k].x[i]);
            high = fmaxf(high, all[k].x[i]);
        }
        if (high - low > most) {
            most = high - low;
            axis = i;
        }
    }
    int64_t patches = (size + HK_COROTATION_TETS - 1) / HK_COROTATION_TETS;
    int64_t left = patches / 2 * HK_COROTATION_TETS;
    select_least(all, size, left, axis);
    halve(all, left);
    halve(all + left, size - left);
}

// The tets of a body that have one material, patch after patch; returns their count.
static int64_t order_tets(const hk_model *m, const hk_body *body, int material, center *all)
{
    int64_t count = 0;
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++) {
        if (m->tet_material[t] != material) continue;
        center *c = &all[count++];
        c->tet = t;
        for (int i = 0; i < 3; i++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += m->rest[3 * (int64_t)m->tets[4 * (int64_t)t + k] + i];
            c->x[i] = (float)(0.25 * sum);
        }
    }
    halve(all, count);
    return count;
}

// ---------------------------------------------------------------- a patch

// Room to build one patch after the other.
typedef struct builder {
    const hk_model *model;
    double length;
    center *order;        // [tet_count]
    hk_instance *copies;  // [body_count]
    int32_t *first;       // [body_count + 1] the first patch of a body
    int32_t *place;       // [vertex_count] in the patch at hand, -1 elsewhere
    uint8_t *used;        // [HK_COROTATION_TETS groups][HK_COROTATION_VERTICES]
    int *fill;            // [HK_COROTATION_TETS] tets of a group
    int32_t *degree;      // [HK_COROTATION_VERTICES]
    int32_t *rank;        // [HK_COROTATION_TETS] tets in the order in which they choose their group
    // How much of the arrays of the result is in use:
    int64_t vertices, blocks, groups;
} builder;

static void builder_release(builder *b)
{
    hk_free(b->order);
    hk_free(b->copies);
    hk_free(b->first);
    hk_free(b->place);
    hk_free(b->used);
    hk_free(b->fill);
    hk_free(b->degree);
    hk_free(b->rank);
}

static hk_status builder_init(builder *b, const hk_model *m, double length)
{
    *b = (builder){.model = m, .length = length};
    b->order = HK_ARRAY(center, m->tet_count);
    b->copies = HK_ARRAY(hk_instance, m->body_count);
    b->first = HK_ZEROS(int32_t, m->body_count + 1);
    b->place = HK_ARRAY(int32_t, m->vertex_count);
    b->used = HK_ARRAY(uint8_t, (size_t)HK_COROTATION_TETS * HK_COROTATION_VERTICES);
    b->fill = HK_ARRAY(int, HK_COROTATION_TETS);
    b->degree = HK_ARRAY(int32_t, HK_COROTATION_VERTICES);
    b->rank = HK_ARRAY(int32_t, HK_COROTATION_TETS);
    if (!b->copies || !b->first || !b->order || !b->place || !b->used || !b->fill || !b->degree ||
        !b->rank)
        return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++) b->place[v] = -1;
    hk_find_instances(m, b->copies);
    return HK_OK;
}

static int32_t corner_of(const builder *b, const center *tet, int c)
{
    return b->model->place[b->model->tets[4 * (int64_t)tet->tet + c]];
}

// Vertices of the patch in the order of the Morton curve.
static int ascending(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) -
           (*(const int32_t *)a < *(const int32_t *)b);
}

static void number_vertices(builder *b, const center *tets, int count, hk_corotation_patch *p,
                            int32_t *vertex)
{
    for (int t = 0; t < count; t++)
        for (int c = 0; c < 4; c++) {
            int32_t v = corner_of(b, &tets[t], c);
            if (b->place[v] >= 0) continue;
            b->place[v] = 0;
            vertex[p->vertex_count++] = v;
        }
    qsort(vertex, (size_t)p->vertex_count, sizeof *vertex, ascending);
    for (int k = 0; k < p->vertex_count; k++) b->place[vertex[k]] = k;
}

// Blocks: lane l has tets l × blocks, l × blocks + 1, …, so that neighbours are one after the
// other in a lane. Padding are copies without volume.
static void fill_blocks(builder *b, const center *tets, int count, int lanes,
                        const hk_corotation_patch *p, uint16_t *index, float *rest)
{
    double volume_unit = b->length * b->length * b->length;
    for (int block = 0; block < p->blocks; block++)
        for (int l = 0; l < lanes; l++) {
            int t = l * p->blocks + block;
            const center *tet = &tets[hk_min_int(t, count - 1)];
            double inverse[9];
            hk_rest_inverse(b->model, tet->tet, inverse);
            for (int c = 0; c < 4; c++)
                index[((int64_t)block * 4 + c) * lanes + l] =
                    (uint16_t)(2 * b->place[corner_of(b, tet, c)]);
            float *to = rest + (int64_t)block * 10 * lanes + l;
            for (int k = 0; k < 9; k++) to[k * lanes] = (float)(inverse[k] * b->length);
            to[9 * lanes] = t < count ? (float)(b->model->volume[tet->tet] / volume_unit) : 0.0f;
        }
}

// Tets at busy vertices choose first, which fills the groups better.
static void rank_tets(builder *b, const center *tets, int count, int vertex_count)
{
    memset(b->degree, 0, sizeof *b->degree * (size_t)vertex_count);
    for (int t = 0; t < count; t++)
        for (int c = 0; c < 4; c++) b->degree[b->place[corner_of(b, &tets[t], c)]]++;
    int at = 0;
    for (int most = 4 * HK_COROTATION_TETS; most > 0 && at < count;) {
        int next = 0;  // the largest weight below `most`
        for (int t = 0; t < count; t++) {
            int weight = 0;
            for (int c = 0; c < 4; c++)
                weight = hk_max_int(weight, b->degree[b->place[corner_of(b, &tets[t], c)]]);
            if (weight == most) b->rank[at++] = t;
            if (weight < most) next = hk_max_int(next, weight);
        }
        most = next;
    }
}

// The first group that has a lane left and none of the tet's vertices.
static void fill_groups(builder *b, const center *tets, int count, int lanes,
                        hk_corotation_patch *p, uint16_t *index, uint16_t *place, float *volume)
{
    double volume_unit = b->length * b->length * b->length;
    int places = p->vertex_count;
    rank_tets(b, tets, count, places);
    for (int k = 0; k < count; k++) {
        const center *tet = &tets[b->rank[k]];
        int32_t corner[4];
        for (int c = 0; c < 4; c++) corner[c] = b->place[corner_of(b, tet, c)];
        int g = 0;
        for (; g < p->groups; g++) {
            const uint8_t *used = b->used + (size_t)g * (size_t)places;
            if (b->fill[g] < lanes && !used[corner[0]] && !used[corner[1]] && !used[corner[2]] &&
                !used[corner[3]])
                break;
        }
        uint8_t *used = b->used + (size_t)g * (size_t)places;
        if (g == p->groups) {
            p->groups++;
            b->fill[g] = 0;
            memset(used, 0, (size_t)places);
            for (int l = 0; l < 4 * lanes; l++)
                index[(int64_t)g * 4 * lanes + l] = (uint16_t)(2 * places);
            for (int l = 0; l < lanes; l++) {
                volume[(int64_t)g * lanes + l] = 0;
                place[(int64_t)g * lanes + l] = (uint16_t)(p->blocks * lanes);
            }
        }
        int lane = b->fill[g]++;
        for (int c = 0; c < 4; c++) {
            used[corner[c]] = 1;
            index[((int64_t)g * 4 + c) * lanes + lane] = (uint16_t)(2 * corner[c]);
        }
        // Tet t stands in block t % blocks, lane t / blocks (fill_blocks).
        int t = b->rank[k];
        place[(int64_t)g * lanes + lane] = (uint16_t)(t % p->blocks * lanes + t / p->blocks);
        volume[(int64_t)g * lanes + lane] = (float)(6 * b->model->volume[tet->tet] / volume_unit);
    }
}

// ---------------------------------------------------------------- all patches

static int patches_of(int64_t tets)
{
    return (int)((tets + HK_COROTATION_TETS - 1) / HK_COROTATION_TETS);
}

// Also those that borrow nothing, and how many tets they have.
static hk_status count_patches(const builder *b, hk_corotation *e, int64_t *own_tets)
{
    const hk_model *m = b->model;
    int32_t *count = HK_ZEROS(int32_t, m->material_count);
    if (!count) return HK_NO_MEMORY;
    *own_tets = 0;
    for (int body = 0; body < m->body_count; body++) {
        const hk_body *at = &m->bodies[body];
        b->first[body] = e->patch_count;
        for (int t = at->tet_start; t < at->tet_start + at->tet_count; t++)
            count[m->tet_material[t]]++;
        for (int t = at->tet_start; t < at->tet_start + at->tet_count; t++) {
            e->patch_count += patches_of(count[m->tet_material[t]]);
            count[m->tet_material[t]] = 0;
        }
        if (b->copies[body].original != body) continue;
        e->own_count += e->patch_count - b->first[body];
        *own_tets += at->tet_count;
    }
    b->first[m->body_count] = e->patch_count;
    hk_free(count);
    return HK_OK;
}

// Room for the most that patches can need; groups are cut to size at the end.
static hk_status allocate(const hk_model *m, int64_t own_tets, hk_corotation *e)
{
    size_t lanes = (size_t)e->table->lanes, patches = (size_t)e->patch_count;
    size_t blocks = (size_t)m->tet_count / lanes + patches, corners = 4 * (size_t)m->tet_count;
    size_t own_blocks = (size_t)own_tets / lanes + (size_t)e->own_count;
    e->patches = HK_ZEROS(hk_corotation_patch, patches);
    e->lender = HK_ARRAY(int32_t, patches);
    e->vertex = HK_ARRAY(int32_t, corners);
    e->target = HK_ARRAY(int32_t, corners);
    e->index = HK_ARRAY(uint16_t, 4 * lanes * own_blocks);
    e->rest = HK_ARRAY(float, 10 * lanes * own_blocks);
    e->quaternion = HK_ZEROS(float, 4 * lanes * blocks);
    e->quaternion_count = (int64_t)(4 * lanes * blocks);
    e->multiplier_count = (int64_t)(lanes * (blocks + patches));
    e->multiplier = HK_ZEROS(float, lanes *(blocks + patches));
    e->partial = HK_ARRAY(double, patches);
    e->workspace = HK_ARRAY(float, (size_t)e->threads *HK_COROTATION_ROOM);
    return e->patches && e->lender && e->vertex && e->target && e->index && e->rest &&
                   e->quaternion && e->multiplier && e->partial && e->workspace
               ? HK_OK
               : HK_NO_MEMORY;
}

// Grows the arrays of groups so that another patch has room.
static hk_status reserve_groups(hk_corotation *e, builder *b, size_t capacity[3])
{
    size_t lanes = (size_t)e->table->lanes, have = (size_t)b->groups;
    size_t need = have + HK_COROTATION_TETS;
    HK_TRY(hk_reserve((void **)&e->group_index, have, 4 * lanes * sizeof(uint16_t), &capacity[0],
                      need));
    HK_TRY(hk_reserve((void **)&e->group_tet, have, lanes * sizeof(uint16_t), &capacity[2], need));
    return hk_reserve((void **)&e->group_volume, have, lanes * sizeof(float), &capacity[1], need);
}

static hk_status build_patch(builder *b, hk_corotation *e, const center *tets, int count,
                             hk_corotation_patch *p, size_t capacity[3])
{
    int lanes = e->table->lanes;
    int32_t *vertex = e->vertex + b->vertices;
    number_vertices(b, tets, count, p, vertex);
    p->blocks = (count + lanes - 1) / lanes;
    fill_blocks(b, tets, count, lanes, p, e->index + 4 * lanes * b->blocks,
                e->rest + 10 * lanes * b->blocks);
    if (p->law != HK_VOLUME_NONE && p->lambda > 0) {
        HK_TRY(reserve_groups(e, b, capacity));
        fill_groups(b, tets, count, lanes, p, e->group_index + 4 * lanes * b->groups,
                    e->group_tet + lanes * b->groups, e->group_volume + lanes * b->groups);
    }
    for (int k = 0; k < p->vertex_count; k++) b->place[vertex[k]] = -1;
    b->vertices += p->vertex_count;
    b->blocks += p->blocks;
    b->groups += p->groups;
    return HK_OK;
}

// The patches of a copy.
static void copy_patches(builder *b, hk_corotation *e, int body)
{
    const hk_model *m = b->model;
    int original = b->copies[body].original, patch = b->first[body];
    int shift = m->bodies[body].vertex_start - m->bodies[original].vertex_start;
    const int32_t *from = e->vertex;
    for (int k = 0; k < b->first[original]; k++) from += e->patches[k].vertex_count;
    for (int k = b->first[original]; k < b->first[original + 1]; k++) {
        e->lender[patch] = k;
        e->patches[patch++] = e->patches[k];
        for (int v = 0; v < e->patches[k].vertex_count; v++)
            e->vertex[b->vertices++] = m->place[m->order[*from++] + shift];
    }
}

// The arrays do not move any more.
static void point(const builder *b, hk_corotation *e)
{
    int64_t lanes = e->table->lanes, vertices = 0, blocks = 0, own_blocks = 0, groups = 0;
    for (int k = 0; k < e->patch_count; k++) {
        hk_corotation_patch *p = &e->patches[k];
        const hk_corotation_patch *lender = &e->patches[e->lender[k]];
        bool own = e->lender[k] == k;
        p->vertex = e->vertex + vertices;
        p->target = e->target + vertices;
        p->quaternion = e->quaternion + 4 * lanes * blocks;
        p->multiplier = e->multiplier + lanes * (blocks + k);  // a block for padding in each
        p->index = own ? e->index + 4 * lanes * own_blocks : lender->index;
        p->rest = own ? e->rest + 10 * lanes * own_blocks : lender->rest;
        p->group_index = own ? e->group_index + 4 * lanes * groups : lender->group_index;
        p->group_volume = own ? e->group_volume + lanes * groups : lender->group_volume;
        p->group_tet = own ? e->group_tet + lanes * groups : lender->group_tet;
        vertices += p->vertex_count;
        blocks += p->blocks;
        own_blocks += own ? p->blocks : 0;
        groups += own ? p->groups : 0;
    }
    for (int body = 0; body < b->model->body_count; body++)
        for (int k = b->first[body]; k < b->first[body + 1]; k++)
            for (int64_t l = 0; l < 4 * lanes * e->patches[k].blocks; l++)
                e->patches[k].quaternion[l] = (float)b->copies[body].turn[l / lanes % 4];
}

static hk_status build_material(builder *b, hk_corotation *e, const hk_body *body, int material,
                                size_t capacity[3], int *patch)
{
    const hk_material *of = &b->model->materials[material];
    int64_t count = order_tets(b->model, body, material, b->order);
    for (int64_t at = 0; at < count; at += HK_COROTATION_TETS) {
        hk_corotation_patch *p = &e->patches[*patch];
        hk_corotation_can(of, &p->law);
        p->mild = hk_corotation_mild(of);
        p->mu = (float)(of->params.c[0] * b->length);
        p->lambda = p->law == HK_VOLUME_NONE ? 0 : (float)(of->params.c[1] * b->length);
        int size = (int)(count - at < HK_COROTATION_TETS ? count - at : HK_COROTATION_TETS);
        HK_TRY(build_patch(b, e, b->order + at, size, p, capacity));
        e->lender[*patch] = *patch;
        ++*patch;
    }
    return HK_OK;
}

static hk_status build_patches(builder *b, hk_corotation *e)
{
    const hk_model *m = b->model;
    size_t capacity[3] = {0};
    HK_TRY(reserve_groups(e, b, capacity));
    for (int body = 0; body < m->body_count; body++) {
        const hk_body *at = &m->bodies[body];
        int patch = b->first[body], low = m->material_count, high = -1;
        if (b->copies[body].original != body) {
            copy_patches(b, e, body);
            continue;
        }
        for (int t = at->tet_start; t < at->tet_start + at->tet_count; t++) {
            low = hk_min_int(low, m->tet_material[t]);
            high = hk_max_int(high, m->tet_material[t]);
        }
        for (int k = low; k <= high; k++) HK_TRY(build_material(b, e, at, k, capacity, &patch));
    }
    point(b, e);
    return HK_OK;
}

// ---------------------------------------------------------------- sums

// Rows that not exactly one patch adds to get partial sums, patch by patch.
static hk_status share_rows(hk_corotation *e, int64_t entries, const int32_t *row, int row_count)
{
    int32_t *uses = HK_ZEROS(int32_t, row_count);
    if (!uses) return HK_NO_MEMORY;
    for (int64_t k = 0; k < entries; k++)
        if (row[e->vertex[k]] >= 0) uses[row[e->vertex[k]]]++;
    for (int r = 0; r < row_count; r++) e->shared_count += uses[r] != 1;
    e->shared_row = HK_ARRAY(int32_t, e->shared_count);
    e->shared_start = HK_ARRAY(int32_t, e->shared_count + 1);
    hk_status status = e->shared_row && e->shared_start ? HK_OK : HK_NO_MEMORY;
    int32_t next = 1;
    int at = 0;
    for (int r = 0; r < row_count && status == HK_OK; r++) {
        int32_t count = uses[r];
        uses[r] = -1;  // from now on: the next partial sum
        if (count == 1) continue;
        e->shared_row[at] = r;
        e->shared_start[at++] = next;
        uses[r] = next;
        next += count;
    }
    if (status == HK_OK) {
        e->shared_start[at] = next;
        e->shared = HK_ZEROS(float, 4 * (size_t)next);
        if (!e->shared) status = HK_NO_MEMORY;
    }
    for (int64_t k = 0; k < entries && status == HK_OK; k++) {
        int32_t r = row[e->vertex[k]];
        e->target[k] = r < 0 ? -1 : uses[r] < 0 ? r : -1 - uses[r]++;
    }
    hk_free(uses);
    return status;
}

// ---------------------------------------------------------------- colours

// Colours `first` to `first` + 63 for the patches that have none; returns how many were used.
static int color_round(const hk_corotation *e, int first, uint64_t *taken, int32_t *color)
{
    int most = 0;
    for (int k = 0; k < e->patch_count; k++) {
        const hk_corotation_patch *p = &e->patches[k];
        if (color[k] >= 0 || p->groups == 0) continue;
        uint64_t all = 0;
        for (int v = 0; v < p->vertex_count; v++) all |= taken[p->vertex[v]];
        if (!~all) continue;
        int free = __builtin_ctzll(~all);
        for (int v = 0; v < p->vertex_count; v++) taken[p->vertex[v]] |= (uint64_t)1 << free;
        color[k] = first + free;
        most = hk_max_int(most, free + 1);
    }
    return most;
}

static hk_status list_colors(hk_corotation *e, const int32_t *color)
{
    e->colour_start = HK_ZEROS(int32_t, e->colour_count + 1);
    e->coloured = HK_ARRAY(int32_t, e->patch_count);
    if (!e->colour_start || !e->coloured) return HK_NO_MEMORY;
    int at = 0;
    for (int c = 0; c < e->colour_count; c++) {
        for (int k = 0; k < e->patch_count; k++)
            if (color[k] == c) e->coloured[at++] = k;
        e->colour_start[c + 1] = at;
    }
    return HK_OK;
}

static hk_status color_patches(hk_corotation *e, int vertex_count)
{
    uint64_t *taken = HK_ARRAY(uint64_t, vertex_count);
    int32_t *color = HK_ARRAY(int32_t, e->patch_count);
    hk_status status = taken && color ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < e->patch_count && status == HK_OK; k++) color[k] = -1;
    for (int used = 64; used == 64 && status == HK_OK; e->colour_count += used) {
        memset(taken, 0, sizeof *taken * (size_t)vertex_count);
        used = color_round(e, e->colour_count, taken, color);
    }
    if (status == HK_OK) status = list_colors(e, color);
    hk_free(taken);
    hk_free(color);
    return status;
}

// ---------------------------------------------------------------- creation

static hk_status build(const hk_model *m, double length, const int32_t *row, int row_count,
                       hk_corotation *e)
{
    builder b = {0};
    int64_t own_tets = 0;
    hk_status status = builder_init(&b, m, length);
    if (status == HK_OK) status = count_patches(&b, e, &own_tets);
    if (status == HK_OK) status = allocate(m, own_tets, e);
    if (status == HK_OK) status = build_patches(&b, e);
    if (status == HK_OK) status = share_rows(e, b.vertices, row, row_count);
    builder_release(&b);
    return status == HK_OK ? color_patches(e, m->vertex_count) : status;
}

hk_status hk_corotation_create(const hk_model *model, const hk_corotation_table *table,
                               double length, const int32_t *row, int row_count, int threads,
                               hk_corotation **elements)
{
    hk_corotation *e = HK_NEW(hk_corotation);
    if (!e) return HK_NO_MEMORY;
    e->table = table;
    e->threads = threads;
    hk_status status = build(model, length, row, row_count, e);
    if (status != HK_OK) {
        hk_corotation_free(e);
        return status;
    }
    *elements = e;
    return HK_OK;
}

void hk_corotation_free(hk_corotation *e)
{
    if (!e) return;
    hk_free(e->patches);
    hk_free(e->lender);
    hk_free(e->vertex);
    hk_free(e->target);
    hk_free(e->index);
    hk_free(e->rest);
    hk_free(e->quaternion);
    hk_free(e->group_index);
    hk_free(e->group_tet);
    hk_free(e->group_volume);
    hk_free(e->multiplier);
    hk_free(e->shared_row);
    hk_free(e->shared_start);
    hk_free(e->shared);
    hk_free(e->colour_start);
    hk_free(e->coloured);
    hk_free(e->partial);
    hk_free(e->workspace);
    hk_free(e);
}

// ---------------------------------------------------------------- evaluation

static float *own_workspace(const hk_corotation *e)
{
    return e->workspace + (size_t)omp_get_thread_num() * HK_COROTATION_ROOM;
}

enum { SHARED_RUN = 512 };  // rows that a thread sums up at a time

static void sum_shared(const hk_corotation *e, float *result)
{
    typedef float quad __attribute__((vector_size(16)));
#pragma omp for schedule(static, SHARED_RUN)
    for (int k = 0; k < e->shared_count; k++) {
        quad sum = {0};
        for (int s = e->shared_start[k]; s < e->shared_start[k + 1]; s++)
            sum += *(const quad *)(e->shared + 4 * (int64_t)s);
        *(quad *)(result + 4 * (int64_t)e->shared_row[k]) = sum;
    }
}

static bool has_own_trace(const hk_corotation *e, const hk_corotation_patch *p)
{
    return e->own_trace && p->mild;
}

static hk_pressure pressure_of(const hk_corotation *e, const hk_corotation_patch *p, bool carry)
{
    if (p->groups == 0) return HK_PRESSURE_NONE;
    if (has_own_trace(e, p)) return HK_PRESSURE_TRACE;
    return carry ? HK_PRESSURE_CARRIED : HK_PRESSURE_NONE;
}

void hk_corotation_stretch(hk_corotation *e, bool carry, const float *x, float *result)
{
#pragma omp parallel num_threads(e->threads)
    {
#pragma omp for schedule(static)
        for (int k = 0; k < e->patch_count; k++)
            e->table->stretch(&e->patches[k], pressure_of(e, &e->patches[k], carry), x,
                              own_workspace(e), result, e->shared);
        sum_shared(e, result);
    }
}

void hk_corotation_rotate(hk_corotation *e, const float *x)
{
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int k = 0; k < e->patch_count; k++) e->table->rotate(&e->patches[k], x, own_workspace(e));
}

double hk_corotation_gradient(hk_corotation *e, const float *x, float *result)
{
#pragma omp parallel num_threads(e->threads)
    {
#pragma omp for schedule(static)
        for (int k = 0; k < e->patch_count; k++)
            e->partial[k] =
                e->table->gradient(&e->patches[k], x, own_workspace(e), result, e->shared);
        sum_shared(e, result);
    }
    double energy = 0;
    for (int k = 0; k < e->patch_count; k++) energy += e->partial[k];
    return energy;
}

void hk_corotation_volume(hk_corotation *e, bool carry, float *x, int iterations)
{
#pragma omp parallel num_threads(e->threads)
    for (int n = 0; n < iterations; n++)
        for (int c = 0; c < e->colour_count; c++) {
#pragma omp for schedule(static)
            for (int k = e->colour_start[c]; k < e->colour_start[c + 1]; k++) {
                const hk_corotation_patch *p = &e->patches[e->coloured[k]];
                if (!has_own_trace(e, p))
                    e->table->volume(p, n == 0 && !carry, x, own_workspace(e));
            }
        }
}

void hk_corotation_forget_multipliers(hk_corotation *e)
{
    memset(e->multiplier, 0, sizeof(float) * (size_t)e->multiplier_count);
}
