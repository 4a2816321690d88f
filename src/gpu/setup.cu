// Set-up on the device: buffers, the diagonal at rest, and the longest stable step length, which
// `descent` finds by a power iteration (solver/descent.c).
#include "gpu/device.h"
#include "gpu/terms.h"

extern "C" {
#include "term/terms.h"
}

#include <stdlib.h>

enum { POWER_ITERATIONS = 20, DISPLACED = 256 };

// ---------------------------------------------------------------- the model

static hk_gpu_batch narrow_batch(const hk_law_part *part)
{
    hk_gpu_batch b = {};
    for (int k = 0; k < HK_LAW_COEFFICIENTS; k++) b.c[k] = (float)part->params.c[k];
    for (int c = 0; c < 3; c++) {
        const hk_law_curve *from = &part->params.curves[c];
        b.curves[c].powers = from->powers;
        b.curves[c].knots = from->knots;
        b.curves[c].value = (float)from->value;
        b.curves[c].slope = (float)from->slope;
        for (int k = 0; k < HK_CURVE_POWERS; k++) b.curves[c].power[k] = (float)from->power[k];
        for (int k = 0; k < HK_CURVE_KNOTS; k++) {
            b.curves[c].knot[k] = (float)from->knot[k];
            b.curves[c].jump[k] = (float)from->jump[k];
        }
    }
    b.upper = (float)part->blend_law.upper;
    b.lower = (float)part->blend_law.lower;
    b.decay = (float)part->blend_law.decay;
    b.stiffness = (float)part->blend_law.stiffness;
    b.modulus = (float)part->blend_law.modulus;
    b.steps_only = part->blend_law.steps_only;
    b.law = part->law;
    return b;
}

static hk_gpu_exact_batch exact_batch(const hk_law_part *part)
{
    hk_gpu_exact_batch b = {};
    for (int k = 0; k < HK_LAW_COEFFICIENTS; k++) b.c[k] = part->params.c[k];
    for (int c = 0; c < 3; c++) {
        const hk_law_curve *from = &part->params.curves[c];
        b.curves[c].powers = from->powers;
        b.curves[c].knots = from->knots;
        b.curves[c].value = from->value;
        b.curves[c].slope = from->slope;
        for (int k = 0; k < HK_CURVE_POWERS; k++) b.curves[c].power[k] = from->power[k];
        for (int k = 0; k < HK_CURVE_KNOTS; k++) {
            b.curves[c].knot[k] = from->knot[k];
            b.curves[c].jump[k] = from->jump[k];
        }
    }
    b.law = part->law;
    return b;
}

static hk_status upload_exact_batches(hk_gpu *g)
{
    const hk_gpu_layout *l = g->layout;
    hk_gpu_exact_batch *batches =
        (hk_gpu_exact_batch *)hk_alloc((size_t)l->batch_count, sizeof *batches);
    if (!batches) return HK_NO_MEMORY;
    for (int q = 0; q < l->batch_count; q++) batches[q] = exact_batch(&l->batches[q]);
    hk_status status = hk_gpu_upload(g, batches, (size_t)l->batch_count, &g->exact_batches);
    hk_free(batches);
    return status;
}

// Rest shapes in double precision, made on the device.
static hk_status make_exact_shapes(hk_gpu *g)
{
    int64_t items = g->layout->item_start[g->layout->patch_count];
    HK_TRY(hk_gpu_alloc(g, HK_GPU_EXACT_SHAPE * (size_t)items, &g->exact_shapes));
    hk_gpu_exact_args a = {};
    a.model = g->args.model;
    a.shapes = g->exact_shapes;
    a.item_count = items;
    a.rest = g->state.rest;
    return hk_gpu_launch_exact(g, g->exact_kernels->shapes, &a);
}

static hk_status upload_batches(hk_gpu *g)
{
    const hk_gpu_layout *l = g->layout;
    hk_gpu_batch *batches = (hk_gpu_batch *)hk_alloc((size_t)l->batch_count, sizeof *batches);
    if (!batches) return HK_NO_MEMORY;
    for (int q = 0; q < l->batch_count; q++) batches[q] = narrow_batch(&l->batches[q]);
    hk_status status = hk_gpu_upload(g, batches, (size_t)l->batch_count, &g->args.model.batches);
    hk_free(batches);
    return status;
}

static hk_status upload_shapes(hk_gpu *g, float *const from[HK_GPU_SHAPE_PARTS], size_t items,
                               hk_gpu_shapes *to)
{
    const float *part[HK_GPU_SHAPE_PARTS];
    for (int k = 0; k < HK_GPU_SHAPE_PARTS; k++)
        HK_TRY(hk_gpu_upload(g, from[k], items * hk_gpu_shape_width(k), &part[k]));
    *to = {(const float4 *)part[0], (const float4 *)part[1], part[2]};
    return HK_OK;
}

// Kernels read those of a patch's first round before they know whether it has one: a patch of a
// sheet has none.
static hk_status upload_counts(hk_gpu *g, const uint16_t *from, size_t count, const uint16_t **to)
{
    enum { MOST_OWN = 1024 };
    uint16_t *made;
    HK_TRY(hk_gpu_alloc(g, count + MOST_OWN, &made));
    HK_CUDA(cudaMemcpy(made, from, count * sizeof *from, cudaMemcpyHostToDevice));
    *to = made;
    return HK_OK;
}

static hk_status upload_layout(hk_gpu *g)
{
    const hk_gpu_layout *l = g->layout;
    hk_gpu_model *m = &g->args.model;
    size_t patches = (size_t)l->patch_count, items = (size_t)l->item_start[l->patch_count];
    size_t ghosts = (size_t)l->ghost_start[l->patch_count];
    static_assert(sizeof(hk_gpu_item) == sizeof(uint4), "an item is one load");
    static_assert((int)HK_KERNEL_ZERO_SLOT == (int)HK_GPU_ZERO_SLOT &&
                      (int)HK_KERNEL_SKEW == (int)HK_GPU_SKEW,
                  "slots");
    static_assert(sizeof(hk_gpu_patch) == sizeof(hk_gpu_patch_data), "patches");
    static_assert(sizeof(hk_gpu_round) == sizeof(hk_gpu_round_data), "rounds");
    m->vertex_count = l->vertex_count;
    m->patch_count = l->patch_count;
    m->most_slots = l->most_slots;
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_patch_data *)l->patches, patches, &m->patches));
    HK_TRY(hk_gpu_upload(g, l->vertex_start, patches + 1, &g->state.vertex_start));
    HK_TRY(hk_gpu_upload(g, l->ghost, ghosts, &m->ghost));
    HK_TRY(upload_shapes(g, l->shape, items, &m->shape));
    HK_TRY(hk_gpu_upload(g, (const uint4 *)l->items, items, &m->items));
    if (l->element) HK_TRY(hk_gpu_upload(g, (const float4 *)l->element, items, &m->element));
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_round_data *)l->rounds,
                         (size_t)l->round_start[l->patch_count] + 1, &m->rounds));
    HK_TRY(upload_counts(g, l->count, (size_t)l->count_size, &m->count));
    HK_TRY(upload_counts(g, l->base, (size_t)l->base_size, &m->base));
    if (g->exact) HK_TRY(upload_exact_batches(g));
    return upload_batches(g);
}

// ---------------------------------------------------------------- the vertices

// [vertex_count] numbers of a vertex each, in the order of the patches.
struct vertex_data {
    double *rest, *external, *mass, *x, *v;
    int *hold, *body;
    float4 *force;
};

static void gather_vertices(const hk_gpu *g, vertex_data *d)
{
    const hk_model *m = g->model;
    const hk_gpu_layout *l = g->layout;
    for (int p = 0; p < l->patch_count; p++)
        for (int k = l->vertex_start[p]; k < l->vertex_start[p + 1]; k++) {
            int vertex = m->order[l->place[k]];
            d->mass[k] = m->mass[vertex];
            d->hold[k] = hk_live_target(g->live, vertex) ? HK_GPU_TARGETED : m->hold[vertex];
            d->body[k] = l->body_of_patch[p];
            for (int i = 0; i < 3; i++) {
                int64_t to = 3 * (int64_t)k + i, from = 3 * (int64_t)vertex + i;
                d->rest[to] = d->x[to] = m->rest[from];
                d->v[to] = m->velocity[from];
                d->external[to] = m->mass[vertex] * hk_live_gravity(g->live, m)[i] +
                                  hk_live_load(g->live, m, from);
            }
            const double *f = d->external + 3 * (int64_t)k;
            d->force[k] = make_float4((float)f[0], (float)f[1], (float)f[2], (float)d->mass[k]);
        }
}

static hk_status upload_vertices(hk_gpu *g, const vertex_data *d)
{
    size_t n = (size_t)g->model->vertex_count;
    hk_gpu_state *s = &g->state;
    HK_TRY(hk_gpu_upload(g, d->rest, 3 * n, &s->rest));
    HK_TRY(hk_gpu_upload(g, d->external, 3 * n, &s->external));
    HK_TRY(hk_gpu_upload(g, d->mass, n, &s->mass));
    HK_TRY(hk_gpu_upload(g, d->hold, n, &s->hold));
    HK_TRY(hk_gpu_upload(g, d->body, n, &s->body));
    HK_TRY(hk_gpu_upload(g, g->layout->place, n, &s->place));
    HK_TRY(hk_gpu_upload(g, d->x, 3 * n, (const double **)&s->known[HK_KNOWN_X]));
    HK_TRY(hk_gpu_upload(g, d->v, 3 * n, (const double **)&s->known[HK_KNOWN_V]));
    HK_TRY(hk_gpu_upload(g, d->v, 3 * n, (const double **)&s->known[HK_KNOWN_V_BEFORE]));
    return hk_gpu_upload(g, d->force, n, &g->args.force);
}

static hk_status set_up_vertices(hk_gpu *g)
{
    size_t n = (size_t)g->model->vertex_count;
    vertex_data d = {(double *)hk_alloc(3 * n, 8), (double *)hk_alloc(3 * n, 8),
                     (double *)hk_alloc(n, 8),     (double *)hk_alloc(3 * n, 8),
                     (double *)hk_alloc(3 * n, 8), (int *)hk_alloc(n, 4),
                     (int *)hk_alloc(n, 4),        (float4 *)hk_alloc(n, sizeof(float4))};
    hk_status status = HK_NO_MEMORY;
    if (d.rest && d.external && d.mass && d.x && d.v && d.hold && d.body && d.force) {
        gather_vertices(g, &d);
        status = upload_vertices(g, &d);
    }
    hk_free(d.rest);
    hk_free(d.external);
    hk_free(d.mass);
    hk_free(d.x);
    hk_free(d.v);
    hk_free(d.hold);
    hk_free(d.body);
    hk_free(d.force);
    return status;
}

// ---------------------------------------------------------------- the bodies

// The vertex nearest to the middle of a body's box: positions are relative to where it is.
static int find_anchor(const hk_gpu *g, int first, int last)
{
    const hk_model *m = g->model;
    double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, least = 1e300;
    for (int k = first; k < last; k++)
        for (int i = 0; i < 3; i++) {
            double x = m->rest[3 * (int64_t)m->order[g->layout->place[k]] + i];
            low[i] = fmin(low[i], x);
            high[i] = fmax(high[i], x);
        }
    int anchor = first;
    for (int k = first; k < last; k++) {
        double square = 0;
        for (int i = 0; i < 3; i++) {
            double x = m->rest[3 * (int64_t)m->order[g->layout->place[k]] + i];
            square += (x - (low[i] + high[i]) / 2) * (x - (low[i] + high[i]) / 2);
        }
        if (square < least) {
            least = square;
            anchor = k;
        }
    }
    return anchor;
}

static hk_status set_up_bodies(hk_gpu *g)
{
    const hk_model *m = g->model;
    const hk_gpu_layout *l = g->layout;
    size_t bodies = (size_t)m->body_count;
    int *anchor = (int *)hk_calloc(bodies, sizeof(int));
    int *patch = (int *)hk_calloc(bodies + 1, sizeof(int));
    hk_gpu_motion *motions =
        (hk_gpu_motion *)hk_calloc((size_t)m->motion_count + 1, sizeof *motions);
    hk_status status = HK_NO_MEMORY;
    if (anchor && patch && motions) {
        for (int p = 0; p < l->patch_count; p++) patch[l->body_of_patch[p] + 1] = p + 1;
        for (int b = 0; b < m->body_count; b++) {
            if (patch[b + 1] == 0) patch[b + 1] = patch[b];
            anchor[b] = find_anchor(g, l->vertex_start[patch[b]], l->vertex_start[patch[b + 1]]);
        }
        for (int k = 0; k < m->motion_count; k++) {
            const hk_motion *from = &m->motions[k];
            for (int i = 0; i < 3; i++) {
                motions[k].axis[i] = from->axis[i];
                motions[k].center[i] = from->center[i];
                motions[k].translate[i] = from->translate[i];
            }
            motions[k].degrees = from->degrees;
            motions[k].over = from->over;
        }
        status = hk_gpu_upload(g, anchor, bodies, &g->state.anchor);
        if (status == HK_OK) status = hk_gpu_upload(g, patch, bodies + 1, &g->state.body_patch);
        if (status == HK_OK)
            status = hk_gpu_upload(g, motions, (size_t)m->motion_count + 1, &g->state.motions);
    }
    hk_free(anchor);
    hk_free(patch);
    hk_free(motions);
    return status;
}

// ---------------------------------------------------------------- the integrator

static void fill_stages(const hk_gpu *g, double before, hk_gpu_stage *to)
{
    hk_integrator_settings settings = {g->step, before, g->beta, g->gamma};
    double begin = 0, eta = hk_setting(&g->settings, "eta");
    for (int k = 0; k < g->integrator->stages; k++) {
        g->integrator->stage(&settings, k, &to[k].of);
        to[k].begin = begin;
        to[k].length = (to[k].of.until - begin) * g->step;
        start_factors(g->start, to[k].length, eta, &to[k].start_a, &to[k].start_b);
        begin = to[k].of.until;
    }
}

static hk_gpu_stage extreme_stage(const hk_gpu *g, int sign)
{
    hk_gpu_stage all[HK_GPU_MOST_STAGES] = {};
    int best = 0;
    fill_stages(g, g->step, all);
    for (int k = 1; k < g->integrator->stages; k++)
        if (sign * all[k].of.weight > sign * all[best].of.weight) best = k;
    return all[best];
}

hk_gpu_stage hk_gpu_heaviest_stage(const hk_gpu *g)
{
    return extreme_stage(g, 1);
}

hk_gpu_stage hk_gpu_lightest_stage(const hk_gpu *g)
{
    return extreme_stage(g, -1);
}

static hk_status write_stages(hk_gpu *g, const hk_gpu_stage *stages, int count)
{
    HK_CUDA(cudaMemcpyAsync(g->stages, stages, sizeof *stages * (size_t)count,
                            cudaMemcpyHostToDevice, g->stream));
    return HK_OK;
}

hk_status hk_gpu_upload_stages(hk_gpu *g, double before)
{
    hk_gpu_stage all[2 * HK_GPU_MOST_STAGES] = {};
    fill_stages(g, 0, all);
    fill_stages(g, before, all + HK_GPU_MOST_STAGES);
    g->step_before = before;
    return write_stages(g, all, 2 * HK_GPU_MOST_STAGES);
}

// For set-up: all stages of a step are this one.
static hk_status pretend_stage(hk_gpu *g, hk_gpu_stage stage)
{
    hk_gpu_stage all[2 * HK_GPU_MOST_STAGES];
    for (int k = 0; k < 2 * HK_GPU_MOST_STAGES; k++) all[k] = stage;
    return write_stages(g, all, 2 * HK_GPU_MOST_STAGES);
}

static hk_status take_history(hk_gpu *g)
{
    size_t n = 3 * (size_t)g->model->vertex_count;
    double **known = g->state.known;
    if (g->integrator->stages > HK_GPU_MOST_STAGES)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": integrator %s has too many stages",
                       g->integrator->name);
    if (g->integrator->accelerations) HK_TRY(hk_gpu_alloc(g, n, &known[HK_KNOWN_A]));
    if (g->integrator->positions) HK_TRY(hk_gpu_alloc(g, n, &known[HK_KNOWN_X_BEFORE]));
    if (g->integrator->stages > 1) {
        HK_TRY(hk_gpu_alloc(g, n, &known[HK_KNOWN_X_STAGE]));
        HK_TRY(hk_gpu_alloc(g, n, &known[HK_KNOWN_V_STAGE]));
    }
    HK_TRY(hk_gpu_alloc(g, 2 * HK_GPU_MOST_STAGES, &g->stages));
    g->state.stages = g->stages;
    return HK_OK;
}

// ---------------------------------------------------------------- buffers

static hk_status take_blend(hk_gpu *g)
{
    size_t patches = (size_t)g->layout->patch_count;
    size_t items = (size_t)g->layout->item_start[g->layout->patch_count];
    hk_gpu_args *a = &g->args;
    HK_TRY(hk_gpu_alloc(g, items, &a->blend));
    HK_TRY(hk_gpu_alloc(g, patches, &a->blended));
    HK_TRY(hk_gpu_alloc(g, 1, &a->held));
    for (int k = 0; k < 2; k++) {
        HK_TRY(hk_gpu_alloc(g, items, &a->good_blend[k]));
        HK_TRY(hk_gpu_alloc(g, patches, &a->good_blended[k]));
    }
    return HK_OK;
}

static hk_status take_buffers(hk_gpu *g)
{
    size_t n = (size_t)g->model->vertex_count, patches = (size_t)g->layout->patch_count;
    size_t bodies = (size_t)g->model->body_count;
    hk_gpu_args *a = &g->args;
    for (int k = 0; k < 3; k++) HK_TRY(hk_gpu_alloc(g, n, &g->q[k]));
    for (int k = 0; k < 2; k++) {
        HK_TRY(hk_gpu_alloc(g, n, &a->good[k]));
        HK_TRY(hk_gpu_alloc(g, 1, &g->control[k]));
        HK_TRY(hk_gpu_alloc(g, 3 * n, &g->staging[k]));
        HK_CUDA(cudaMallocHost((void **)&g->pinned[k], 3 * n * sizeof(double)));
    }
    for (int k = 0; k < 3; k++) HK_TRY(hk_gpu_alloc(g, HK_SUM_WIDTH, &g->probe[k]));
    HK_TRY(hk_gpu_alloc(g, n, &a->down));
    HK_TRY(hk_gpu_alloc(g, n, (float4 **)&a->target));
    HK_TRY(hk_gpu_alloc(g, n, (uint32_t **)&a->target_bits));
    HK_TRY(hk_gpu_alloc(g, n, &a->inverse));
    HK_TRY(hk_gpu_alloc(g, n, &g->velocity));
    HK_TRY(hk_gpu_alloc(g, n, &g->velocity_before));
    HK_TRY(hk_gpu_alloc(g, n, &g->reached));
    HK_TRY(hk_gpu_alloc(g, 1, &g->of_stage));
    HK_TRY(hk_gpu_alloc(g, 2, &g->speed));
    HK_TRY(hk_gpu_alloc(g, 1, &g->state.rate));
    HK_TRY(hk_gpu_alloc(g, n, &g->least));
    HK_TRY(hk_gpu_alloc(g, patches * HK_SUM_WIDTH, &a->partial));
    HK_TRY(hk_gpu_alloc(g, 1, &a->finished));
    HK_TRY(hk_gpu_alloc(g, 1, &g->device_settings));
    HK_TRY(hk_gpu_alloc(g, patches * HK_MOMENTS, &g->state.moments));
    HK_TRY(hk_gpu_alloc(g, 9 * bodies, &g->state.body_motion));
    HK_TRY(hk_gpu_alloc(g, 3 * bodies, &g->state.origin));
    HK_TRY(hk_gpu_alloc(g, 1, &g->state.clock));
    HK_CUDA(cudaMallocHost((void **)&g->final, sizeof *g->final));
    HK_CUDA(cudaMallocHost((void **)&g->final_stage, sizeof *g->final_stage));
    HK_CUDA(cudaMallocHost((void **)&g->clock, sizeof *g->clock));
    a->settings = g->device_settings;
    a->last = g->q[0];  // probes read it, too
    a->rate = g->state.rate;
    if (g->damping.viscous > 0) {
        HK_TRY(hk_gpu_alloc(g, n, &g->before));
        HK_TRY(hk_gpu_alloc(g, n, &g->from));
        a->from = g->from;
        a->item_count = g->layout->item_start[g->layout->patch_count];
        HK_TRY(hk_gpu_alloc(g, (size_t)a->item_count * HK_GPU_VISCOUS_PLANES, &a->viscosity));
    }
    return g->layout->blends ? take_blend(g) : HK_OK;
}

static void set_up_state(hk_gpu *g)
{
    hk_gpu_state *s = &g->state;
    s->vertex_count = g->model->vertex_count;
    s->patch_count = g->layout->patch_count;
    s->body_count = g->model->body_count;
    s->step = g->step;
    s->air = g->damping.air_per_vertex;
    s->drag = g->damping.air;
    s->keep = exp(-g->damping.ether * g->step);
    s->rigid = g->damping.pbd > 0 ? -expm1(-g->damping.pbd * g->step) : 0;
    s->part = 1;
    s->viscous = g->damping.viscous;
    s->stage_count = g->integrator->stages;
    s->extrapolate = g->integrator->extrapolate;
    for (int i = 0; i < 3; i++) s->gravity[i] = hk_live_gravity(g->live, g->model)[i];
    double start = hk_setting(&g->settings, "start");
    if (!isnan(start)) g->start = (int)start;  // else it is the method's
}

// ---------------------------------------------------------------- the diagonal at rest

// The diagonal of projective dynamics (projective.c), in the order of the patches.
struct diagonal_sum {
    const int32_t *number;  // [vertex_count] along the Morton curve → of the patches
    double *diagonal;
};

static void add_to_diagonal(void *context, const hk_weights *w)
{
    const diagonal_sum *s = (const diagonal_sum *)context;
    for (int a = 0; a < w->count; a++)
        s->diagonal[s->number[w->vertex[a]]] += hk_weight_of(w, a, a);
}

static hk_status constant_diagonal(hk_gpu *g, double *diagonal)
{
    const hk_model *m = g->model;
    double *weight = HK_ARRAY(double, m->material_count);
    hk_status status = weight ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = g->method->weights(&g->settings, m, weight);
    if (status == HK_OK) {
        memset(diagonal, 0, sizeof(double) * (size_t)m->vertex_count);
        diagonal_sum sum = {g->number, diagonal};
        hk_model_weights(m, weight, add_to_diagonal, &sum);
    }
    hk_free(weight);
    return status;
}

// Where the diagonal is constant it is to be no smaller than that of any stage; else the longest
// step length is to be that of the stage where it is shortest.
static hk_gpu_stage setup_stage(const hk_gpu *g)
{
    return g->constant_diagonal ? hk_gpu_heaviest_stage(g) : hk_gpu_lightest_stage(g);
}

struct rest_numbers {
    float4 *inverse, *target;
    float *least;
    double *diagonal;
};

// The least stiffness of a vertex that the preconditioner assumes, and how slow inertia allows the
// slowest mode to be (rest_diagonal in descent.c).
static hk_status measure_diagonal(hk_gpu *g, rest_numbers *r)
{
    size_t n = (size_t)g->model->vertex_count;
    HK_CUDA(cudaMemcpy(r->inverse, g->args.inverse, n * sizeof(float4), cudaMemcpyDeviceToHost));
    HK_CUDA(cudaMemcpy(r->target, g->args.target, n * sizeof(float4), cudaMemcpyDeviceToHost));
    if (g->constant_diagonal) HK_TRY(constant_diagonal(g, r->diagonal));
    g->plan.rules.slowest = 1;
    double squares = 0, viscous = g->damping.viscous / setup_stage(g).of.h;
    for (size_t k = 0; k < n; k++) {
        double stiffness = (double)r->target[k].w;
        float4 p = r->inverse[k];
        if (g->constant_diagonal && stiffness > 0) {
            double whole = (1 + viscous) * r->diagonal[k] + stiffness;
            float inverse = (float)(1 / whole);
            r->inverse[k] = p = make_float4(inverse, inverse, inverse, 0);
        }
        squares += stiffness * stiffness;
        double sum = p.x > 0 ? 1 / (double)p.x + 1 / (double)p.y + 1 / (double)p.z : 0;
        r->least[k] = (float)(sum / 3);
        if (sum > 0) g->plan.rules.slowest = fmin(g->plan.rules.slowest, 3 * stiffness / sum);
    }
    g->plan.rounding = sqrt(3 * squares) * g->reach * 3e-10;  // of positions: fine.h
    HK_CUDA(cudaMemcpy(g->args.inverse, r->inverse, n * sizeof(float4), cudaMemcpyHostToDevice));
    HK_CUDA(cudaMemcpy(g->least, r->least, n * sizeof(float), cudaMemcpyHostToDevice));
    return HK_OK;
}

static hk_status rest_diagonal(hk_gpu *g, const float4 *rest)
{
    size_t n = (size_t)g->model->vertex_count;
    hk_gpu_args a = g->args;
    a.state = rest;
    a.flags = 1;
    a.least = nullptr;
    HK_TRY(hk_gpu_launch_diagonal(g, &a));
    HK_CUDA(cudaStreamSynchronize(g->stream));
    rest_numbers r = {HK_ARRAY(float4, n), HK_ARRAY(float4, n), HK_ARRAY(float, n),
                      HK_ARRAY(double, n)};
    hk_status status = HK_NO_MEMORY;
    if (r.inverse && r.target && r.least && r.diagonal) status = measure_diagonal(g, &r);
    hk_free(r.inverse);
    hk_free(r.target);
    hk_free(r.least);
    hk_free(r.diagonal);
    g->args.least = g->least;
    return status;
}

// ---------------------------------------------------------------- the longest step

// A vector without pattern.
static hk_status first_vector(hk_gpu *g, float4 *v)
{
    size_t n = (size_t)g->model->vertex_count;
    float4 *host = HK_ARRAY(float4, n);
    if (!host) return HK_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        float c[3];
        for (int i = 0; i < 3; i++)
            c[i] = (float)(((4 * (uint64_t)g->layout->place[k] + i) * 2654435761u >> 16) % 1001) /
                       500 -
                   1;
        bool free = g->model->hold[g->model->order[g->layout->place[k]]] == HK_FREE;
        host[k] = free ? make_float4(c[0], c[1], c[2], 0) : make_float4(0, 0, 0, 0);
    }
    cudaError_t error = cudaMemcpy(v, host, n * sizeof(float4), cudaMemcpyHostToDevice);
    hk_free(host);
    HK_CUDA(error);
    return HK_OK;
}

static double mean_edge(const hk_gpu *g)
{
    const hk_model *m = g->model;
    double volume = 0, length = 0;
    for (int t = 0; t < m->tet_count; t++) volume += m->volume[t];
    if (m->tet_count > 0) return cbrt(8.5 * volume / m->tet_count);
    for (int k = 0; k < m->spring_count; k++) length += m->springs[k].rest;
    return m->spring_count > 0 ? length / m->spring_count : 0.01 * g->reach;
}

// Buffers that are free before the first step.
struct power_workspace {
    float4 *rest, *v, *q, *base, *gradient;
    double *partial;  // device
    double *host;
};

static hk_status power_iteration(hk_gpu *g, const power_workspace *r, double *eigenvalue)
{
    int n = g->model->vertex_count, blocks = (n + DISPLACED - 1) / DISPLACED;
    double size = 1e-3 * mean_edge(g), norm = 0;
    HK_TRY(hk_gpu_probe(g, r->rest, HK_CHECK_GRADIENT, r->base, g->probe[0]));
    HK_TRY(first_vector(g, r->v));
    norm = sqrt((double)n);
    for (int k = 0; k < POWER_ITERATIONS; k++) {
        float length = (float)(size * sqrt((double)n) / norm);
        hk_gpu_displace(n, r->rest, r->v, length, r->q, g->stream);
        HK_TRY(hk_gpu_probe(g, r->q, HK_CHECK_GRADIENT, r->gradient, g->probe[1]));
        hk_gpu_apply(n, r->gradient, r->base, g->args.inverse, g->args.target,
                     (float)(length * norm), (float)(1 / norm), r->v, r->partial, g->stream);
        HK_CUDA(cudaMemcpyAsync(r->host, r->partial, sizeof(double) * (size_t)blocks,
                                cudaMemcpyDeviceToHost, g->stream));
        HK_CUDA(cudaStreamSynchronize(g->stream));
        double square = 0;
        for (int b = 0; b < blocks; b++) square += r->host[b];
        norm = sqrt(square);  // v was of length 1
        if (!(norm > 0) || !isfinite(norm)) break;
        *eigenvalue = norm;
    }
    return HK_OK;
}

// What single precision does to forces: a body that was turned has none but rounding errors and
// those of what it is tied to. They grow with the turn, as displacements do; this one stands for
// bodies in motion.
static hk_status measure_rounding(hk_gpu *g, float4 *q)
{
    const double c = cos(0.1), s = sin(0.1),
                 turn[9] = {c, -s, 0, c * s, c * c, -s, s * s, s * c, c};
    double sums[HK_SUM_WIDTH];
    hk_gpu_bend(&g->state, turn, q, g->stream);
    HK_TRY(hk_gpu_probe(g, q, HK_CHECK_NO_TIES | HK_CHECK_UNDAMPED, nullptr, g->probe[0]));
    HK_CUDA(cudaMemcpyAsync(sums, g->probe[0], sizeof sums, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaStreamSynchronize(g->stream));
    g->plan.rounding += 2 * sqrt(sums[HK_SUM_ELASTIC_FORCE]);
    g->plan.noise = 4 * fabs(sums[HK_SUM_ELASTIC]);
    return HK_OK;
}

// What single precision does to the energy: a sheared body has the same one in every direction.
static hk_status measure_noise(hk_gpu *g, float4 *q)
{
    enum { DIRECTIONS = 4 };
    const double shear[9] = {1.05, 0.08, 0, 0, 0.98, 0.05, 0.03, 0, 1.02};
    double energy[DIRECTIONS], most = 0;
    for (int n = 0; n < DIRECTIONS; n++) {
        double c = cos(0.7 * n), s = sin(0.7 * n), turned[9], sums[HK_SUM_WIDTH];
        for (int k = 0; k < 3; k++) {
            // About an axis that is none of the coordinates': first about z, then about x.
            double x = c * shear[k] - s * shear[3 + k], y = s * shear[k] + c * shear[3 + k];
            turned[k] = x;
            turned[3 + k] = c * y - s * shear[6 + k];
            turned[6 + k] = s * y + c * shear[6 + k];
        }
        hk_gpu_bend(&g->state, turned, q, g->stream);
        HK_TRY(hk_gpu_probe(g, q, HK_CHECK_NO_TIES | HK_CHECK_UNDAMPED, nullptr, g->probe[1]));
        HK_CUDA(cudaMemcpyAsync(sums, g->probe[1], sizeof sums, cudaMemcpyDeviceToHost, g->stream));
        HK_CUDA(cudaStreamSynchronize(g->stream));
        energy[n] = sums[HK_SUM_ELASTIC] + sums[HK_SUM_TERMS];
    }
    for (int n = 1; n < DIRECTIONS; n++) most = fmax(most, fabs(energy[n] - energy[0]));
    if (isfinite(most)) g->plan.noise = fmax(g->plan.noise, 4 * most);
    return HK_OK;
}

// Both without damping, which turns and shears would feel.
static hk_status measure_precision(hk_gpu *g, float4 *q)
{
    float *viscosity = g->args.viscosity;
    g->args.viscosity = nullptr;
    hk_status status = measure_rounding(g, q);
    if (status == HK_OK) status = measure_noise(g, q);
    g->args.viscosity = viscosity;
    return status;
}

// Damping as if a step began at rest.
static hk_status damp_rest(hk_gpu *g, const float4 *rest)
{
    if (!g->args.viscosity) return HK_OK;
    size_t bytes = sizeof(float4) * (size_t)g->model->vertex_count;
    HK_CUDA(cudaMemcpyAsync(g->before, rest, bytes, cudaMemcpyDeviceToDevice, g->stream));
    HK_CUDA(cudaMemcpyAsync(g->from, rest, bytes, cudaMemcpyDeviceToDevice, g->stream));
    return hk_gpu_begin_damping(g);
}

static hk_status estimate_length(hk_gpu *g)
{
    int n = g->model->vertex_count, blocks = (n + DISPLACED - 1) / DISPLACED;
    power_workspace r = {g->q[0],         g->q[1], g->q[2], g->args.good[0],
                         g->args.good[1], nullptr, nullptr};
    HK_TRY(hk_gpu_alloc(g, (size_t)blocks, &r.partial));
    hk_gpu_rest_state(&g->state, r.rest, g->stream);
    HK_TRY(damp_rest(g, r.rest));
    HK_TRY(rest_diagonal(g, r.rest));
    r.host = HK_ARRAY(double, blocks);
    if (!r.host) return HK_NO_MEMORY;
    double eigenvalue = 1;
    hk_status status = power_iteration(g, &r, &eigenvalue);
    hk_free(r.host);
    HK_TRY(status);
    HK_TRY(measure_precision(g, r.q));
    g->plan.rules.longest = descent_longest(fmax(1, eigenvalue), g->plan.rules.acceleration);
    return HK_OK;
}

static double reach_of(const hk_model *m)
{
    double reach = 0;
    for (int i = 0; i < 3; i++) {
        double low = 1e300, high = -1e300;
        for (int64_t k = 0; k < m->vertex_count; k++) {
            low = fmin(low, m->rest[3 * k + i]);
            high = fmax(high, m->rest[3 * k + i]);
        }
        reach = fmax(reach, high - low);
    }
    return reach;
}

hk_status hk_gpu_set_up(hk_gpu *g)
{
    g->reach = reach_of(g->model);
    HK_TRY(upload_layout(g));
    HK_TRY(take_buffers(g));
    HK_TRY(set_up_vertices(g));
    if (g->exact) HK_TRY(make_exact_shapes(g));
    HK_TRY(set_up_bodies(g));
    HK_TRY(take_history(g));
    set_up_state(g);
    if (g->live && g->live->target) HK_TRY(hk_gpu_take_targets(g));
    HK_TRY(hk_gpu_create_terms(g));
    HK_TRY(pretend_stage(g, setup_stage(g)));
    HK_TRY(hk_gpu_begin_stage(g, nullptr));  // fills the stiffness of inertia
    HK_TRY(estimate_length(g));
    HK_CUDA(cudaMemcpy(g->device_settings, &g->plan, sizeof g->plan, cudaMemcpyHostToDevice));
    return hk_gpu_upload_stages(g, g->step);
}
