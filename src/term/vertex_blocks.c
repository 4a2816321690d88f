#include "term/vertex_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "term/scalar.h"

enum { MOST_HALVINGS = 10 };
enum {
    WINDOW = 32
};  // groups among whose vertices those with equally many tets are brought together

void hk_vertex_blocks_free(hk_vertex_blocks *s)
{
    if (!s) return;
    for (int q = 0; q < s->batch_count; q++) {
        hk_tet_batch *b = &s->batches[q];
        hk_free(b->vertex);
        hk_free(b->tet);
        hk_free(b->inverse);
        hk_free(b->volume);
        hk_free(b->element);
        hk_free(b->blend);
        hk_free(b->blended);
        hk_free(s->block_start[q]);
    }
    hk_colouring_release(&s->colours);
    hk_free(s->batches);
    hk_free(s->block_start);
    hk_free(s->colour_start);
    hk_free(s->colour_of);
    hk_free(s->own);
    hk_free(s->noise);
    hk_free(s);
}

// ---------------------------------------------------------------- colours

// The vertices of elements, counted (member is NULL) or listed.
typedef struct clique_list {
    int64_t count, members;
    int64_t *start;
    int32_t *member;
} clique_list;

static void list_clique(void *context, const hk_stencil *s)
{
    clique_list *c = context;
    for (int k = 0; k < s->count && c->member; k++) c->member[c->members + k] = s->vertex[k];
    c->members += s->count;
    c->count++;
    if (c->start) c->start[c->count] = c->members;
}

typedef struct fitter {
    const int32_t *colour_of;
    bool fits;
} fitter;

static void fit_clique(void *context, const hk_stencil *s)
{
    fitter *f = context;
    for (int a = 0; a < s->count; a++)
        for (int b = 0; b < a; b++) {
            int32_t colour = f->colour_of[s->vertex[a]];
            if (colour >= 0 && colour == f->colour_of[s->vertex[b]]) f->fits = false;
        }
}

bool hk_colours_fit(const hk_model *model, const hk_live *live, const int32_t *colour_of)
{
    fitter f = {colour_of, true};
    hk_live_stencils(model, live, fit_clique, &f);
    return f.fits;
}

hk_status hk_colour_vertices(const hk_model *m, const hk_live *live, const uint8_t *held,
                             hk_colouring *colouring)
{
    clique_list c = {0};
    hk_model_stencils(m, list_clique, &c);
    hk_live_stencils(m, live, list_clique, &c);
    c.start = HK_ZEROS(int64_t, c.count + 1);
    c.member = HK_ARRAY(int32_t, c.members);
    hk_status status = c.start && c.member ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        c.count = c.members = 0;
        hk_model_stencils(m, list_clique, &c);
        hk_live_stencils(m, live, list_clique, &c);
        hk_graph graph;
        status = hk_graph_create(m->vertex_count, c.count, c.start, c.member, &graph);
        if (status == HK_OK) {
            status = hk_colour_graph(graph.count, graph.start, graph.neighbour, held, colouring);
            hk_graph_release(&graph);
        }
    }
    hk_free(c.start);
    hk_free(c.member);
    return status;
}

// ---------------------------------------------------------------- corners by vertex

typedef struct corner {
    int32_t tet;  // number in its batch
    int8_t corner;
} corner;

// The corners of a batch at every vertex.
typedef struct corner_lists {
    int32_t *start;  // [vertex_count + 1]
    corner *corner;  // [start[vertex_count]] in the order of the batch
} corner_lists;

static void lists_free(corner_lists *lists, int count)
{
    for (int q = 0; q < count && lists; q++) {
        hk_free(lists[q].start);
        hk_free(lists[q].corner);
    }
    hk_free(lists);
}

static int32_t vertex_of(const hk_tet_term *term, const hk_tet_batch *b, int tet, int c)
{
    int width = term->lanes->lanes;
    return b->vertex[((int64_t)(tet / width) * 4 + c) * width + tet % width];
}

static hk_status list_corners(const hk_tet_term *term, const hk_tet_batch *b, corner_lists *lists)
{
    if (b->count > INT32_MAX / 4)
        return hk_fail(HK_UNSUPPORTED, "too large: %d tets of one material", b->count);
    lists->start = HK_ZEROS(int32_t, (size_t)term->vertex_count + 1);
    lists->corner = HK_ARRAY(corner, 4 * (size_t)b->count);
    if (!lists->start || !lists->corner) return HK_NO_MEMORY;
    for (int k = 0; k < b->count; k++)
        for (int c = 0; c < 4; c++) lists->start[vertex_of(term, b, k, c) + 1]++;
    for (int v = 0; v < term->vertex_count; v++) lists->start[v + 1] += lists->start[v];
    for (int k = 0; k < b->count; k++)
        for (int c = 0; c < 4; c++) {
            int32_t at = lists->start[vertex_of(term, b, k, c)]++;
            lists->corner[at] = (corner){k, (int8_t)c};
        }
    // Filling moved every start to the next one's place.
    for (int v = term->vertex_count; v > 0; v--) lists->start[v] = lists->start[v - 1];
    lists->start[0] = 0;
    return HK_OK;
}

static int corner_count(const corner_lists *lists, int v)
{
    return lists->start[v + 1] - lists->start[v];
}

// ---------------------------------------------------------------- groups

typedef struct candidate {
    int32_t batch, count, vertex;  // its first batch, corners in all
} candidate;

static int by_work(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->batch != b->batch) return a->batch < b->batch ? -1 : 1;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

static candidate describe(const hk_vertex_blocks *s, const corner_lists *lists, int32_t vertex)
{
    candidate c = {s->batch_count, 0, vertex};
    for (int q = s->batch_count - 1; q >= 0; q--) {
        int count = corner_count(&lists[q], vertex);
        c.count += count;
        if (count > 0) c.batch = q;
    }
    return c;
}

// The vertices of a colour, neighbours near each other, and with as much work as those beside them.
static void sort_colour(const hk_vertex_blocks *s, const corner_lists *lists, int colour,
                        candidate *workspace)
{
    int first = s->colours.start[colour], count = s->colours.start[colour + 1] - first;
    int window = WINDOW * s->term->lanes->lanes;
    for (int k = 0; k < count; k++) workspace[k] = describe(s, lists, s->colours.item[first + k]);
    for (int k = 0; k < count; k += window)
        qsort(workspace + k, (size_t)hk_min_int(window, count - k), sizeof *workspace, by_work);
}

static hk_status form_groups(hk_vertex_blocks *s, const corner_lists *lists)
{
    int width = s->term->lanes->lanes, colours = s->colours.colour_count;
    s->colour_start = HK_ZEROS(int32_t, (size_t)colours + 1);
    candidate *workspace = HK_ARRAY(candidate, s->colours.start[colours]);
    if (s->colour_start && workspace)
        for (int k = 0; k < colours; k++)
            s->colour_start[k + 1] =
                s->colour_start[k] +
                (s->colours.start[k + 1] - s->colours.start[k] + width - 1) / width;
    if (s->colour_start) s->group_count = s->colour_start[colours];
    s->own = HK_ARRAY(int32_t, (size_t)s->group_count * (size_t)width);
    if (!s->colour_start || !workspace || !s->own) {
        hk_free(workspace);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < colours; k++) {
        sort_colour(s, lists, k, workspace);
        int count = s->colours.start[k + 1] - s->colours.start[k];
        int32_t *own = s->own + (int64_t)s->colour_start[k] * width;
        int lanes = (s->colour_start[k + 1] - s->colour_start[k]) * width;
        for (int l = 0; l < lanes; l++) own[l] = workspace[hk_min_int(l, count - 1)].vertex;
    }
    hk_free(workspace);
    return HK_OK;
}

// ---------------------------------------------------------------- packing

static hk_status allocate_batch(hk_tet_batch *b, const hk_lane_table *lanes)
{
    size_t workspace = (size_t)b->blocks * (size_t)lanes->lanes, size = (size_t)lanes->scalar_size;
    b->vertex = HK_ARRAY(int32_t, 4 * workspace);
    b->tet = HK_ARRAY(int32_t, workspace);
    b->inverse = hk_alloc(9 * workspace, size);
    b->volume = hk_alloc(workspace, size);
    b->element = hk_alloc((size_t)b->element_values * workspace, size);
    bool complete = b->vertex && b->tet && b->inverse && b->volume && b->element;
    if (b->blend_law.upper > 0) {
        b->blend = hk_calloc(workspace, size);
        b->blended = HK_ZEROS(uint8_t, b->blocks);
        complete = complete && b->blend && b->blended;
    }
    return complete ? HK_OK : HK_NO_MEMORY;
}

// Corner `at` of the batch's tet with that corner first, into a lane of a block.
static void pack_corner(const hk_model *m, const hk_tet_term *term, const hk_tet_batch *from,
                        corner at, bool padding, hk_tet_batch *to, int64_t block, int lane)
{
    int width = term->lanes->lanes, size = term->lanes->scalar_size, others = 0;
    int32_t tet = from->tet[at.tet];
    double a[12];  // shape gradients
    hk_rest_inverse(m, tet, a + 3);
    for (int j = 0; j < 3; j++) a[j] = -(a[3 + j] + a[6 + j] + a[9 + j]);
    to->tet[block * width + lane] = tet;
    to->vertex[block * 4 * width + lane] = vertex_of(term, from, at.tet, at.corner);
    for (int c = 0; c < 4; c++) {
        if (c == at.corner) continue;
        for (int j = 0; j < 3; j++)
            hk_store_scalar(to->inverse, size, (block * 9 + 3 * others + j) * width + lane,
                            a[3 * c + j]);
        others++;
        to->vertex[(block * 4 + others) * width + lane] = vertex_of(term, from, at.tet, c);
    }
    hk_store_scalar(to->volume, size, block * width + lane, padding ? 0 : m->volume[tet]);
    for (int q = 0; q < to->element_values; q++) {
        int64_t source = ((int64_t)(at.tet / width) * to->element_values + q) * width;
        int64_t target = (block * to->element_values + q) * width + lane;
        memcpy((char *)to->element + target * size,
               (const char *)from->element + (source + at.tet % width) * size, (size_t)size);
    }
}

// A lane with fewer tets than others of its group is padded with a tet of volume 0.
static void pack_group(const hk_model *m, const hk_vertex_blocks *s, const corner_lists *lists,
                       int q, int group)
{
    int width = s->term->lanes->lanes;
    for (int l = 0; l < width; l++) {
        int v = s->own[(int64_t)group * width + l], count = corner_count(lists, v);
        const corner *own = lists->corner + lists->start[v];
        for (int k = 0; k < s->block_start[q][group + 1] - s->block_start[q][group]; k++)
            pack_corner(m, s->term, &s->term->batches[q],
                        count > 0 ? own[hk_min_int(k, count - 1)] : lists->corner[0], k >= count,
                        &s->batches[q], s->block_start[q][group] + k, l);
    }
}

static hk_status pack_batch(const hk_model *m, hk_vertex_blocks *s, const corner_lists *lists,
                            int q)
{
    const hk_tet_batch *from = &s->term->batches[q];
    int width = s->term->lanes->lanes;
    int32_t *start = s->block_start[q] = HK_ZEROS(int32_t, (size_t)s->group_count + 1);
    if (!start) return HK_NO_MEMORY;
    for (int g = 0; g < s->group_count; g++) {
        int most = 0;
        for (int l = 0; l < width; l++)
            most = hk_max_int(most, corner_count(lists, s->own[(int64_t)g * width + l]));
        start[g + 1] = start[g] + most;
    }
    hk_tet_batch *b = &s->batches[q];
    *b = (hk_tet_batch){.law = from->law,
                        .params = from->params,
                        .count = start[s->group_count] * width,
                        .blocks = start[s->group_count],
                        .element_values = from->element_values,
                        .base = from->base,
                        .blend_law = from->blend_law};
    HK_TRY(allocate_batch(b, s->term->lanes));
#pragma omp parallel for schedule(static) num_threads(s->term->threads)
    for (int g = 0; g < s->group_count; g++) pack_group(m, s, lists, q, g);
    return HK_OK;
}

// An energy is known to some ulps of the stiffness, which its parts have; it is 0 at rest.
static hk_status estimate_noise(const hk_model *m, hk_vertex_blocks *s)
{
    int width = s->term->lanes->lanes, size = s->term->lanes->scalar_size;
    double ulp = size == (int)sizeof(float) ? 1.2e-7 : 2.2e-16;
    double *sum = HK_ZEROS(double, m->vertex_count);
    s->noise = hk_alloc((size_t)s->group_count * (size_t)width, (size_t)size);
    if (!sum || !s->noise) {
        hk_free(sum);
        return HK_NO_MEMORY;
    }
    for (int t = 0; t < m->tet_count; t++) {
        if (hk_model_is_rigid(m, t)) continue;
        const hk_material *material = &m->materials[m->tet_material[t]];
        double energy = (material->modulus + material->strand_modulus) * m->volume[t];
        for (int c = 0; c < 4; c++) sum[m->place[m->tets[4 * (int64_t)t + c]]] += energy;
    }
    for (int64_t k = 0; k < (int64_t)s->group_count * width; k++)
        hk_store_scalar(s->noise, size, k, 8 * ulp * sum[s->own[k]]);
    hk_free(sum);
    return HK_OK;
}

static hk_status number_colours(hk_vertex_blocks *s, int vertex_count)
{
    const hk_colouring *c = &s->colours;
    s->colour_of = HK_ARRAY(int32_t, vertex_count);
    if (!s->colour_of) return HK_NO_MEMORY;
    for (int v = 0; v < vertex_count; v++) s->colour_of[v] = -1;
    for (int k = 0; k < c->colour_count; k++)
        for (int i = c->start[k]; i < c->start[k + 1]; i++) s->colour_of[c->item[i]] = k;
    return HK_OK;
}

static hk_status build(const hk_model *m, const uint8_t *held, hk_vertex_blocks *s)
{
    size_t count = (size_t)s->term->batch_count;
    HK_TRY(hk_colour_vertices(m, s->terms->live, held, &s->colours));
    HK_TRY(number_colours(s, m->vertex_count));
    s->batches = HK_ZEROS(hk_tet_batch, count);
    s->block_start = HK_ZEROS(int32_t *, count);
    corner_lists *lists = HK_ZEROS(corner_lists, count);
    hk_status status = s->batches && s->block_start && lists ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) s->batch_count = (int)count;
    for (int q = 0; q < s->batch_count && status == HK_OK; q++)
        status = list_corners(s->term, &s->term->batches[q], &lists[q]);
    if (status == HK_OK) status = form_groups(s, lists);
    for (int q = 0; q < s->batch_count && status == HK_OK; q++)
        status = pack_batch(m, s, &lists[q], q);
    lists_free(lists, (int)count);
    return status == HK_OK ? estimate_noise(m, s) : status;
}

hk_status hk_vertex_blocks_create(const hk_terms *terms, const uint8_t *held,
                                  hk_vertex_blocks **blocks)
{
    hk_vertex_blocks *s = HK_NEW(hk_vertex_blocks);
    if (!s) return HK_NO_MEMORY;
    s->terms = terms;
    s->term = (const hk_tet_term *)hk_terms_find(terms, &hk_tets_term);
    hk_status status = build(terms->model, held, s);
    if (status != HK_OK) {
        hk_vertex_blocks_free(s);
        return status;
    }
    *blocks = s;
    return HK_OK;
}

void hk_vertex_blocks_write_blend(hk_vertex_blocks *s, const float *weight)
{
    int width = s->term->lanes->lanes;
    for (int q = 0; q < s->batch_count; q++) {
        const hk_tet_batch *b = &s->batches[q];
        if (!b->blend) continue;
#pragma omp parallel for schedule(static) num_threads(s->term->threads)
        for (int block = 0; block < b->blocks; block++) {
            b->blended[block] = 0;
            for (int64_t k = (int64_t)block * width; k < (int64_t)(block + 1) * width; k++) {
                hk_store_scalar(b->blend, s->term->lanes->scalar_size, k,
                                (double)weight[b->tet[k]]);
                if (weight[b->tet[k]] > 0) b->blended[block] = HK_BLENDED;
            }
        }
    }
}

// ---------------------------------------------------------------- sweeps

#define SCALAR  float
#define NAME(x) x##_f32
#include "term/vertex_blocks_kernels.inl"
#undef SCALAR
#undef NAME
#define SCALAR  double
#define NAME(x) x##_f64
#include "term/vertex_blocks_kernels.inl"
#undef SCALAR
#undef NAME

void hk_vertex_blocks_sweep(const hk_vertex_blocks *blocks, const hk_vertex_forces *forces,
                            const hk_vertex_sweep *sweep, void *x)
{
    if (blocks->term->lanes->scalar_size == (int)sizeof(float))
        sweep_f32(blocks, forces, sweep, x);
    else
        sweep_f64(blocks, forces, sweep, x);
}
