#include "design/initialise.h"

#include <math.h>

#include "core/vector.h"

// Stretches from one shape to the other that need no reason; a pair that has others widens them by
// a tenth.
#define LEAST_STRETCH 0.6
#define MOST_STRETCH  1.7
#define MARGIN        1.1
// ρ = k₁/(k₀ + k₁): limits weigh ten times as much as the similarity.
#define PULL (10.0 / 11)
// Layers of held vertices that yield, and the weights of the first, relative to the diagonal of the
// Laplacian; those of the next are ten times as large. Springs have that of the second.
enum { LAYERS = 2 };
#define RELAXED 2
#define STEEPER 10
// Passes after which the rotations of a pair are exact.
enum { PASSES_TO_TURN = 2 };

// ---------------------------------------------------------------- creation

static hk_status build(hk_initialise *s)
{
    const hk_reference *r = s->reference;
    size_t n = 4 * (size_t)r->vertex_count, patches = (size_t)r->tets->patch_count;
    HK_TRY(hk_poisson_create(r, &s->poisson));
    s->held = HK_ZEROS(uint8_t, r->vertex_count);
    s->fixed = HK_ZEROS(uint8_t, r->vertex_count);
    s->weight = HK_ZEROS(double, r->vertex_count);
    s->old_from = HK_ZEROS(double, n);
    s->old_to = HK_ZEROS(double, n);
    s->right = HK_ZEROS(double, n);
    s->shift = HK_ZEROS(double, n);
    s->sum = HK_ZEROS(double, n);
    s->turns = hk_reference_new_turns(r, 2);
    s->count = HK_ZEROS(int, patches);
    s->range = hk_calloc(patches, sizeof *s->range);
    bool well = s->held && s->fixed && s->weight && s->old_from && s->old_to && s->right &&
                s->shift && s->sum && s->turns && s->count && s->range;
    return well ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_initialise_create(const hk_reference *reference, hk_initialise **initialise)
{
    hk_initialise *s = HK_NEW(hk_initialise);
    if (!s) return HK_NO_MEMORY;
    s->reference = reference;
    s->bounds[0] = LEAST_STRETCH;
    s->bounds[1] = MOST_STRETCH;
    hk_status status = build(s);
    if (status != HK_OK) {
        hk_initialise_free(s);
        return status;
    }
    *initialise = s;
    return HK_OK;
}

void hk_initialise_free(hk_initialise *s)
{
    if (!s) return;
    hk_poisson_free(s->poisson);
    hk_free(s->held);
    hk_free(s->fixed);
    hk_free(s->weight);
    hk_free(s->old_from);
    hk_free(s->old_to);
    hk_free(s->turns);
    hk_free(s->right);
    hk_free(s->shift);
    hk_free(s->sum);
    hk_free(s->count);
    hk_free(s->range);
    hk_free(s);
}

// ---------------------------------------------------------------- what is given

// fixed[v]: how many edges a held vertex is from free ones, at most LAYERS + 1; 0 of those.
static void find_depths(hk_initialise *s)
{
    const hk_reference *r = s->reference;
    for (int v = 0; v < r->vertex_count; v++) s->fixed[v] = s->held[v] == 1 ? LAYERS + 1 : 0;
    for (int layer = 0; layer < LAYERS; layer++)
        for (int v = 0; v < r->vertex_count; v++) {
            if (s->fixed[v] != layer) continue;
            for (int k = r->neighbour_start[v]; k < r->neighbour_start[v + 1]; k++) {
                uint8_t *other = &s->fixed[r->neighbour[k]];
                if (*other > layer + 1) *other = (uint8_t)(layer + 1);
            }
        }
}

// From depths to who stays and the weights of those who yield.
static void relax(hk_initialise *s, uint8_t *deepest)
{
    const hk_reference *r = s->reference;
    memset(deepest, 0, (size_t)r->vertex_count);
    for (int v = 0; v < r->vertex_count; v++) {
        uint8_t *most = &deepest[r->component[v]];
        if (s->fixed[v] > *most) *most = s->fixed[v];
    }
    for (int v = 0; v < r->vertex_count; v++) {
        int depth = s->fixed[v];
        s->fixed[v] = depth > 0 && depth == deepest[r->component[v]];
        s->weight[v] = 0;
        if (depth > 0 && !s->fixed[v])
            s->weight[v] = r->diagonal[v] * RELAXED * pow(STEEPER, depth - 1);
        if (s->held[v] == HK_ATTACHED) s->weight[v] = r->diagonal[v] * RELAXED * STEEPER;
    }
}

hk_status hk_initialise_hold(hk_initialise *s, const uint8_t *held)
{
    size_t n = (size_t)s->reference->vertex_count;
    uint8_t *deepest = HK_ARRAY(uint8_t, n);
    if (!deepest) return HK_NO_MEMORY;
    memcpy(s->held, held, n);
    find_depths(s);
    relax(s, deepest);
    hk_free(deepest);
    return hk_poisson_factor(s->poisson, s->fixed, s->weight, 0, NULL);
}

void hk_initialise_set_load(hk_initialise *s, const double direction[3])
{
    s->similar.upright = direction && hk_unit3(direction, s->similar.axis);
}

typedef struct pass {
    hk_initialise *s;
    hk_similar_pass similar;
    hk_limit_pass limit;
} pass;

static const hk_tet_batch *batch_of(const hk_initialise *s, const hk_tet_patch *patch)
{
    return &s->reference->tets->batches[patch->batch];
}

static void find_bounds(hk_initialise *s)
{
    const hk_tet_term *tets = s->reference->tets;
    hk_limit_pass pair = {.from = s->old_from, .to = s->old_to};
#pragma omp parallel for schedule(static) num_threads(tets->threads)
    for (int k = 0; k < tets->patch_count; k++) {
        const hk_tet_patch *patch = &tets->patches[k];
        s->range[k][0] = LEAST_STRETCH * MARGIN;
        s->range[k][1] = MOST_STRETCH / MARGIN;
        s->reference->kernels->range(batch_of(s, patch), &pair, patch->first, patch->last,
                                     s->range[k]);
    }
    s->bounds[0] = LEAST_STRETCH;
    s->bounds[1] = MOST_STRETCH;
    for (int k = 0; k < tets->patch_count; k++) {
        s->bounds[0] = fmin(s->bounds[0], s->range[k][0] / MARGIN);
        s->bounds[1] = fmax(s->bounds[1], s->range[k][1] * MARGIN);
    }
    if (!(s->bounds[0] > 0)) s->bounds[0] = 0.01;  // the pair is no good, but the next may be
}

void hk_initialise_set_pair(hk_initialise *s, const double *from, const double *to)
{
    size_t bytes = 4 * sizeof(double) * (size_t)s->reference->vertex_count;
    memcpy(s->old_from, from, bytes);
    memcpy(s->old_to, to, bytes);
    hk_reference_reset_turns(s->reference, 2, s->turns);
    memset(s->shift, 0, bytes);
    s->shifted = false;
    s->passes = 0;
    find_bounds(s);
}

// ---------------------------------------------------------------- a frame

static void fill_similar(void *context, int k, void *slots)
{
    pass *p = context;
    const hk_tet_patch *patch = &p->s->reference->tets->patches[k];
    if (hk_reference_skips(p->s->reference, patch, slots)) return;
    hk_similar_pass similar = p->similar;
    similar.turn = p->s->turns + hk_reference_turns(p->s->reference, patch->batch, 2);
    p->s->reference->kernels->similar(batch_of(p->s, patch), &similar, patch->first, patch->last,
                                      slots);
}

static void fill_limit(void *context, int k, void *slots)
{
    pass *p = context;
    const hk_tet_patch *patch = &p->s->reference->tets->patches[k];
    p->s->count[k] = 0;
    if (hk_reference_skips(p->s->reference, patch, slots)) return;
    p->s->count[k] = p->s->reference->kernels->limit(batch_of(p->s, patch), &p->limit, patch->first,
                                                     patch->last, slots);
}

// Held vertices have the same place in both shapes. Of a piece that nothing holds one vertex is
// where the pair has it.
static void place_held(hk_initialise *s, const double *from, double *to)
{
    for (int64_t v = 0; v < s->reference->vertex_count; v++)
        for (int64_t i = 4 * v; i < 4 * v + 3 && s->poisson->held[v]; i++)
            to[i] = s->fixed[v] ? from[i] : from[i] + (s->old_to[i] - s->old_from[i]);
}

// `to` becomes the shape whose deformation is like that of the pair.
static void solve_similar(hk_initialise *s, const double *from, double *to)
{
    const hk_reference *r = s->reference;
    pass p = {.s = s, .similar = s->similar};
    p.similar.old_from = s->old_from;
    p.similar.old_to = s->old_to;
    p.similar.from = from;
    p.similar.to = to;
    p.similar.known = s->passes >= PASSES_TO_TURN;
    if (!p.similar.known) s->passes++;
    place_held(s, from, to);
    hk_tet_gather(r->tets, fill_similar, &p, s->right);
    for (int64_t v = 0; v < r->vertex_count; v++)
        for (int64_t i = 4 * v; i < 4 * v + 3 && s->weight[v] > 0; i++)
            s->right[i] += s->weight[v] * (from[i] - to[i]);
    hk_poisson_solve(s->poisson, s->right, s->right);
    for (int64_t i = 0; i < 4 * (int64_t)r->vertex_count; i++) to[i] += s->right[i];
}

int hk_initialise_predict(hk_initialise *s, const double *from, double *to)
{
    const hk_reference *r = s->reference;
    int64_t size = 4 * (int64_t)r->vertex_count;
    solve_similar(s, from, to);
    for (int64_t i = 0; i < size; i++) s->sum[i] = to[i] + s->shift[i];
    pass p = {.s = s,
              .limit = {.from = from, .to = s->sum, .least = s->bounds[0], .most = s->bounds[1]}};
    hk_tet_gather(r->tets, fill_limit, &p, s->right);
    int out = 0;
    for (int k = 0; k < r->tets->patch_count; k++) out += s->count[k];
    if (out == 0 && !s->shifted) return 0;
    s->shifted = true;
    hk_poisson_solve(s->poisson, s->right, s->right);
    for (int64_t i = 0; i < size; i++) {
        s->shift[i] = PULL * (s->shift[i] + s->right[i]);
        to[i] += s->shift[i];
    }
    return out;
}
