// The constraints of tets for XPBD: the tets of a term once more, coloured so that those of one
// colour share no vertex. A colour is worked off in wide lanes and by several threads; as nothing
// is shared, the bits are the same for any number of threads.
#include <math.h>

#include "term/tet.h"

enum { CHUNK = 4 };  // blocks that a thread takes at a time

typedef struct tet_relax {
    const hk_tet_term *term;  // its lanes and threads
    int batch_count;
    hk_tet_batch *batches;  // of the term, padded at the end of every colour
    int *colour_count;      // [batch_count]
    int **colour_start;     // [batch_count][colour_count + 1] blocks
    void **multipliers;     // [batch_count] scalar[blocks][9][lanes]
} tet_relax;

static void release(void *state)
{
    tet_relax *r = state;
    if (!r) return;
    for (int q = 0; q < r->batch_count; q++) {
        hk_tet_batch *b = &r->batches[q];
        hk_free(b->vertex);
        hk_free(b->inverse);
        hk_free(b->volume);
        hk_free(b->element);
        hk_free(b->blend);
        hk_free(b->blended);
        hk_free(r->colour_start[q]);
        hk_free(r->multipliers[q]);
    }
    hk_free(r->batches);
    hk_free(r->colour_count);
    hk_free(r->colour_start);
    hk_free(r->multipliers);
    hk_free(r);
}

// ---------------------------------------------------------------- colours

// Where corner c of tet k stands in a batch's vertices.
static int64_t corner_at(int width, int k, int c)
{
    return ((int64_t)(k / width) * 4 + c) * width + k % width;
}

typedef struct colouring {
    int32_t *order;  // [count] tets of the batch by colour
    int32_t *left;   // [count] those without one
    int32_t *mark;   // [vertex_count] the last colour that took the vertex
    int32_t *end;    // [count] of every colour in `order`
    int colours;
} colouring;

static void colouring_release(colouring *c)
{
    hk_free(c->order);
    hk_free(c->left);
    hk_free(c->mark);
    hk_free(c->end);
}

static bool take(const hk_tet_batch *b, int width, int32_t tet, int32_t colour, int32_t *mark)
{
    for (int c = 0; c < 4; c++)
        if (mark[b->vertex[corner_at(width, tet, c)]] == colour) return false;
    for (int c = 0; c < 4; c++) mark[b->vertex[corner_at(width, tet, c)]] = colour;
    return true;
}

// One colour after the other takes what it can, in the order of the batch.
static hk_status colour_tets(const hk_tet_term *term, const hk_tet_batch *b, colouring *c)
{
    c->order = HK_ARRAY(int32_t, b->count);
    c->left = HK_ARRAY(int32_t, b->count);
    c->mark = HK_ARRAY(int32_t, term->vertex_count);
    c->end = HK_ARRAY(int32_t, b->count);
    if (!c->order || !c->left || !c->mark || !c->end) return HK_NO_MEMORY;
    for (int v = 0; v < term->vertex_count; v++) c->mark[v] = -1;
    for (int k = 0; k < b->count; k++) c->left[k] = k;
    int taken = 0;
    for (int left = b->count; left > 0; c->colours++) {
        int stay = 0;
        for (int k = 0; k < left; k++)
            if (take(b, term->lanes->lanes, c->left[k], c->colours, c->mark))
                c->order[taken++] = c->left[k];
            else
                c->left[stay++] = c->left[k];
        left = stay;
        c->end[c->colours] = taken;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- packing

static hk_status allocate_batch(hk_tet_batch *b, const hk_lane_table *lanes)
{
    size_t workspace = (size_t)b->blocks * (size_t)lanes->lanes, size = (size_t)lanes->scalar_size;
    b->vertex = HK_ARRAY(int32_t, 4 * workspace);
    b->inverse = hk_calloc(9 * workspace, size);
    b->volume = hk_calloc(workspace, size);
    b->element = hk_calloc((size_t)b->element_values * workspace, size);
    bool complete = b->vertex && b->inverse && b->volume && b->element;
    if (b->blend_law.upper > 0) {
        b->blend = hk_calloc(workspace, size);
        b->blended = HK_ZEROS(uint8_t, b->blocks);
        complete = complete && b->blend && b->blended;
    }
    return complete ? HK_OK : HK_NO_MEMORY;
}

// Number `from` of an array [blocks][values][lanes] to number `to` of another.
static void copy_values(const hk_lane_table *lanes, int values, const void *source, int from,
                        void *target, int to)
{
    int width = lanes->lanes;
    size_t size = (size_t)lanes->scalar_size;
    for (int q = 0; q < values; q++) {
        int64_t a = ((int64_t)(from / width) * values + q) * width + from % width;
        int64_t b = ((int64_t)(to / width) * values + q) * width + to % width;
        memcpy((char *)target + b * (int64_t)size, (const char *)source + a * (int64_t)size, size);
    }
}

static void pack(const hk_lane_table *lanes, const hk_tet_batch *from, int tet, hk_tet_batch *to,
                 int place)
{
    for (int c = 0; c < 4; c++)
        to->vertex[corner_at(lanes->lanes, place, c)] =
            from->vertex[corner_at(lanes->lanes, tet, c)];
    copy_values(lanes, 9, from->inverse, tet, to->inverse, place);
    copy_values(lanes, 1, from->volume, tet, to->volume, place);
    copy_values(lanes, from->element_values, from->element, tet, to->element, place);
}

static hk_status pack_colours(tet_relax *r, int q, const colouring *c)
{
    const hk_tet_term *term = r->term;
    const hk_tet_batch *from = &term->batches[q];
    hk_tet_batch *b = &r->batches[q];
    int width = term->lanes->lanes, *start = HK_ZEROS(int, c->colours + 1);
    r->colour_start[q] = start;
    r->colour_count[q] = c->colours;
    if (!start) return HK_NO_MEMORY;
    for (int k = 0; k < c->colours; k++) {
        int count = c->end[k] - (k > 0 ? c->end[k - 1] : 0);
        start[k + 1] = start[k] + (count + width - 1) / width;
    }
    b->blocks = start[c->colours];
    HK_TRY(allocate_batch(b, term->lanes));
    for (int64_t k = 0; k < 4 * (int64_t)b->blocks * width; k++) b->vertex[k] = term->vertex_count;
    for (int k = 0, tet = 0; k < c->colours; k++)
        for (int place = start[k] * width; tet < c->end[k]; tet++, place++)
            pack(term->lanes, from, c->order[tet], b, place);
    r->multipliers[q] =
        hk_calloc(9 * (size_t)b->blocks * (size_t)width, (size_t)term->lanes->scalar_size);
    return r->multipliers[q] ? HK_OK : HK_NO_MEMORY;
}

static hk_status add_batch(tet_relax *r, int q, double recovery)
{
    const hk_tet_batch *from = &r->term->batches[q];
    r->batches[q] = (hk_tet_batch){.law = from->law,
                                   .params = from->params,
                                   .count = from->count,
                                   .element_values = from->element_values,
                                   .base = from->base,
                                   .blend_law = from->blend_law};
    if (!(from->blend_law.upper > 0)) r->batches[q].blend_law.stiffness = recovery;
    colouring c = {0};
    hk_status status = colour_tets(r->term, from, &c);
    if (status == HK_OK) status = pack_colours(r, q, &c);
    colouring_release(&c);
    return status;
}

// ---------------------------------------------------------------- creation

// w of the energy w‖F − R‖² that stands in where a law is undefined, Pa.
static double recovery_of(const hk_tet_term *t, int batch)
{
    const hk_model *m = t->model;
    return 0.5 * m->materials[m->tet_material[t->batches[batch].tet[0]]].modulus;
}

static hk_status build(tet_relax *r)
{
    const hk_tet_term *term = r->term;
    size_t count = (size_t)term->batch_count;
    r->batches = HK_ZEROS(hk_tet_batch, count);
    r->colour_count = HK_ZEROS(int, count);
    r->colour_start = HK_ZEROS(int *, count);
    r->multipliers = HK_ZEROS(void *, count);
    if (!r->batches || !r->colour_count || !r->colour_start || !r->multipliers) return HK_NO_MEMORY;
    // A batch that fails is released with the others.
    for (int q = 0; q < term->batch_count; q++) {
        r->batch_count = q + 1;
        HK_TRY(add_batch(r, q, recovery_of(term, q)));
    }
    return HK_OK;
}

static hk_status create(hk_term *term, void **state)
{
    tet_relax *r = HK_NEW(tet_relax);
    if (!r) return HK_NO_MEMORY;
    r->term = (const hk_tet_term *)term;
    hk_status status = build(r);
    if (status != HK_OK) {
        release(r);
        return status;
    }
    *state = r;
    return HK_OK;
}

// ---------------------------------------------------------------- sweeps

// A tet's multiplier is only kept for the next sweep.
static void begin(void *state, bool several)
{
    tet_relax *r = state;
    const hk_lane_table *lanes = r->term->lanes;
    for (int q = 0; q < r->batch_count && several; q++)
        memset(r->multipliers[q], 0,
               9 * (size_t)r->batches[q].blocks * (size_t)(lanes->lanes * lanes->scalar_size));
}

static void relax_colour(const tet_relax *r, int q, int colour, void *x, double h, bool several)
{
    const hk_lane_table *lanes = r->term->lanes;
    const hk_tet_batch *b = &r->batches[q];
    int first = r->colour_start[q][colour], last = r->colour_start[q][colour + 1];
#pragma omp for schedule(static)
    for (int k = first; k < last; k += CHUNK) {
        char *own = r->multipliers[q];
        own += 9 * (int64_t)k * lanes->lanes * lanes->scalar_size;
        lanes->local->law[b->law].relax(b, x, k, hk_min_int(k + CHUNK, last), h,
                                        several ? own : NULL);
    }
}

static void sweep(void *state, void *x, double h, bool several)
{
    tet_relax *r = state;
#pragma omp parallel num_threads(r->term->threads)
    for (int q = 0; q < r->batch_count; q++)
        for (int colour = 0; colour < r->colour_count[q]; colour++)
            relax_colour(r, q, colour, x, h, several);
    hk_tet_hold_blend(r->batches, r->batch_count);
}

static int colours(const void *state)
{
    const tet_relax *r = state;
    int sum = 0;
    for (int q = 0; q < r->batch_count; q++) sum += r->colour_count[q];
    return sum;
}

const hk_relax_ops hk_tet_relax = {
    .create = create, .free = release, .begin = begin, .sweep = sweep, .colours = colours};
