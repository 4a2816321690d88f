// Vertex block descent (solver/vbd.c) on the device: a kernel for every colour of a sweep
// (law_vbd.cu), then the acceleration; every few sweeps a check of the energy by the kernels of
// `descent`, and the decision what comes of it. Nothing waits for the host.
#include "gpu/device.h"
#include "gpu/fine.h"
#include "gpu/terms.h"
#include "gpu/vbd_kernels.h"
#include "gpu/vertex_math.h"

extern "C" {
#include "gpu/vertex_blocks.h"
#include "solver/vbd.h"
#include "term/vertex_blocks.h"
}

#include <stdio.h>

enum { THREADS = 256 };

struct vbd {
    hk_gpu_vbd_args args;  // what all sweeps share
    float *term_sums;  // [9][count] room for those of terms beside tets; NULL: there were none yet
    const hk_gpu_vbd_kernels *kernels;
    int ways;  // of the kernels: by how many threads
    int colour_count;
    int32_t *colour_start;  // [colour_count + 1] vertices
    int32_t *colour_of;     // [vertex_count] in Morton order, −1: none
    hk_gpu_vbd_control *control[2];
    int at;             // which of them is that of now, while launches are recorded
    float4 *q;          // the state
    float4 *last;       // of the acceleration: Nesterov's x̄ before the momentum, Chebyshev's x⁻
    float4 *before;     // q before the sweep: Chebyshev's, and where elements may be blended
    int vertex_blocks;  // of kernels over vertices
    hk_gpu_control *checking[2];  // where elements may be blended: before and after a check
    // With viscous damping:
    const int *pair_start, *pair;  // as vertex_blocks.h has them
    float *drag;                   // [9][near_count]
};

static vbd *own(const hk_gpu *g)
{
    return (vbd *)g->own;
}

// ---------------------------------------------------------------- kernels over the vertices

// What they share.
struct walk_args {
    hk_vbd_rules rules;
    const hk_gpu_settings *common;
    const hk_gpu_vbd_control *now;
    hk_gpu_vbd_control *next;      // may be `now` where one thread alone touches it
    const hk_gpu_control *chosen;  // the start of the step
    const double *sums;            // of a check
    int sweeps;                    // since the last one, or the number of this one
    int vertex_count;
    float4 *q, *last, *before;
    float4 *good[2];
    // Where elements may be blended:
    hk_gpu_control *checking[2];
    bool blends, first, due;  // due: there is a check after the next sweep, whatever happens
    int patch_count, item_count;
    float *blend, *good_blend[2];  // as in hk_gpu_args
    int *blended, *good_blended[2];
};

static __global__ void __launch_bounds__(THREADS) begin_kernel(const __grid_constant__ walk_args a)
{
    cudaGridDependencySynchronize();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v < a.vertex_count) a.q[v] = a.last[v] = a.before[v] = a.good[a.chosen->good][v];
    if (v > 0) return;
    hk_gpu_vbd_control c = *a.now;
    vbd_control_begin(&c, a.chosen);
    *a.next = c;
}

// The scale of the forces at the start, and whether there is anything to do. One thread.
static __global__ void start_kernel(const __grid_constant__ walk_args a)
{
    cudaGridDependencySynchronize();
    hk_gpu_vbd_control c = *a.now;
    control_start(a.common, &c.shared, a.sums);
    *a.next = c;
}

// After a sweep x̄: Chebyshev's x⁺ = ω (x̄ − x⁻) + x⁻, or Nesterov's x̄ + m (x̄ − x̄⁻).
static __global__ void __launch_bounds__(THREADS)
    accelerate_kernel(const __grid_constant__ walk_args a)
{
    __shared__ float weight;
    cudaGridDependencySynchronize();
    const hk_gpu_vbd_control *c = a.now;
    int kind = vbd_acceleration(&a.rules, &c->vbd);
    bool plain = kind == HK_ACCELERATION_NONE, nesterov = kind == HK_ACCELERATION_NESTEROV;
    if (c->shared.state != HK_GPU_GOING || (plain && !a.blends)) return;
    if (threadIdx.x == 0) weight = (float)vbd_control_weight(&a.rules, c, a.sweeps);
    int v = blockIdx.x * THREADS + threadIdx.x;
    bool mine = v < a.vertex_count;
    float4 q = mine ? a.q[v] : make_float4(0, 0, 0, 0), last = mine ? a.last[v] : q;
    __syncthreads();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!mine) return;
    if (plain) {
        a.before[v] = q;
        return;
    }
    float w = weight;
    float4 to = fine_place(fine_plus(fine_of(nesterov ? q : last), w, fine_minus(q, last)));
    a.q[v] = to;
    a.last[v] = nesterov ? q : a.before[v];
    if (!nesterov || a.blends) a.before[v] = to;
}

// Keeps or undoes the sweeps since the last check. Every block decides for itself, alike.
static __global__ void __launch_bounds__(THREADS) settle_kernel(const __grid_constant__ walk_args a)
{
    __shared__ int decision, good;
    cudaGridDependencySynchronize();
    if (threadIdx.x == 0) {
        hk_gpu_vbd_control c = *a.now;
        decision = 0;
        good = c.shared.good;
        if (c.shared.state == HK_GPU_GOING)
            decision = vbd_control_check(a.common, &a.rules, &c, a.sums, a.sweeps);
        if (blockIdx.x == 0) *a.next = c;
    }
    __syncthreads();
    cudaTriggerProgrammaticLaunchCompletion();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.vertex_count || !decision) return;
    float4 q = decision & HK_VBD_UNDO ? a.good[good][v] : a.q[v];
    if (decision & HK_VBD_UNDO) a.q[v] = q;
    if (decision & HK_VBD_KEEP) a.good[good][v] = q;
    if (decision & HK_VBD_RESTART) a.last[v] = a.before[v] = q;
}

// ---------------------------------------------------------------- where elements may be blended

// There a check is due after every sweep while some are, else every few. Whether it is, the kernels
// of `descent` that check and compare read in checking[0]: their work is to be done as long as it
// goes on.
static __device__ bool some_blended(const walk_args &a, const int *blended)
{
    int some = 0;
    for (int p = threadIdx.x; p < a.patch_count; p += THREADS) some |= blended[p];
    return __syncthreads_or(some);
}

static __device__ void prepare_check(const walk_args &a, const hk_gpu_vbd_control &c)
{
    hk_gpu_control checking = c.shared;
    if (checking.state == HK_GPU_GOING && !(a.due || c.blended)) checking.state = HK_GPU_STALLED;
    *a.checking[0] = checking;
}

// Before the check at the start, which leaves the blend weights with the good state.
static __global__ void before_start_kernel(const __grid_constant__ walk_args a)
{
    cudaGridDependencySynchronize();
    hk_gpu_control checking = a.now->shared;
    checking.from_good = checking.refresh = 0;
    *a.checking[0] = checking;
}

// Keeps or undoes the last sweep, if it was checked, or begins with the first one.
static __global__ void __launch_bounds__(THREADS)
    settle_blended_kernel(const __grid_constant__ walk_args a)
{
    __shared__ int decision, good;
    __shared__ hk_gpu_vbd_control c;
    cudaGridDependencySynchronize();
    if (threadIdx.x == 0) {
        c = *a.now;
        decision = c.undone = 0;
        if (c.shared.state == HK_GPU_GOING && a.first) {
            c.shared = *a.checking[1];
        } else if (c.shared.state == HK_GPU_GOING) {
            vbd_control_advance(&a.rules, &c, 1);
            if (a.checking[0]->state == HK_GPU_GOING)
                decision = vbd_control_take(a.common, &a.rules, &c, a.checking[1]);
        }
        good = c.shared.good;
    }
    __syncthreads();
    if (blockIdx.x == 0) {
        bool some = some_blended(a, c.undone ? a.good_blended[good] : a.blended);
        if (threadIdx.x == 0) {
            c.blended = some;
            *a.next = c;
        }
    }
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.vertex_count || !(decision & HK_VBD_RESTART)) return;
    float4 q = decision & HK_VBD_UNDO ? a.good[good][v] : a.q[v];
    a.q[v] = a.last[v] = a.before[v] = q;
}

// The blend weights that belong to the state that was kept; and what the next check needs to know,
// which all of the kernel before it reads.
static __global__ void __launch_bounds__(THREADS)
    restore_kernel(const __grid_constant__ walk_args a)
{
    cudaGridDependencySynchronize();
    if (blockIdx.x == 0 && threadIdx.x == 0) prepare_check(a, *a.now);
    if (!a.now->undone) return;
    int good = a.now->shared.good, stride = (int)gridDim.x * THREADS;
    for (int k = (int)(blockIdx.x * THREADS + threadIdx.x); k < a.item_count; k += stride)
        a.blend[k] = a.good_blend[good][k];
    for (int p = (int)(blockIdx.x * THREADS + threadIdx.x); p < a.patch_count; p += stride)
        a.blended[p] = a.good_blended[good][p];
}

// ---------------------------------------------------------------- viscous damping

// The elements' ∂P/∂F before the step (viscosity_kernel of law.cu) as blocks of a sparse matrix: a
// thread adds up what the elements of a vertex and its neighbour bring.
struct drag_args {
    hk_gpu_vbd_args vertex_blocks;
    const int *pair_start, *pair;
    float *drag;  // [9][near_count]
    const float *viscosity;
    int64_t item_count;  // of the layout
    const float *rate;   // r
};

static __device__ void load4(const float4 *from, float *to)
{
    float4 a = *from;
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
}

static __global__ void __launch_bounds__(THREADS) drag_kernel(const __grid_constant__ drag_args a)
{
    cudaGridDependencySynchronize();
    int n = blockIdx.x * THREADS + threadIdx.x;
    if (n >= a.vertex_blocks.near_count) return;
    float K[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int p = a.pair_start[n]; p < a.pair_start[n + 1]; p++) {
        int at = a.pair[p] / 4, corner = a.pair[p] % 4;
        float B[12], own[3], other[3];
        for (int k = 0; k < 3; k++) load4(a.vertex_blocks.word[k] + at, B + 4 * k);
        vertex_shape(B, 0, own);
        vertex_shape(B, corner, other);
        float volume = *a.rate * vertex_volume(B);
        for (int j = 0; j < 3; j++) own[j] *= volume;
        const float *plane = a.viscosity + a.vertex_blocks.twin[at];
        for (int j = 0; j < 3; j++)
            for (int l = j; l < 3; l++) {
                float block[9];
                for (int k = 0; k < 9; k++, plane += a.item_count) block[k] = *plane;
                vertex_add_block(j, l, block, own, other, K);
            }
    }
    for (int k = 0; k < 9; k++) a.drag[(int64_t)k * a.vertex_blocks.near_count + n] = K[k];
}

// ---------------------------------------------------------------- launches

static hk_status launch(const hk_gpu *g, const void *kernel, int blocks, int threads,
                        const void *args)
{
    void *parameters[] = {(void *)args};
    return hk_gpu_launch_some(g, kernel, blocks, threads, parameters);
}

static walk_args walk_args_of(const hk_gpu *g)
{
    const vbd *w = own(g);
    walk_args a = {};
    a.rules = w->args.rules;
    a.common = g->device_settings;
    a.now = w->control[w->at];
    a.next = w->control[1 - w->at];
    a.chosen = g->control[0];
    a.sums = g->probe[0];
    a.vertex_count = g->model->vertex_count;
    a.q = w->q;
    a.last = w->last;
    a.before = w->before;
    a.blends = g->blends;
    a.patch_count = g->layout->patch_count;
    a.item_count = g->layout->item_start[g->layout->patch_count];
    a.blend = g->args.blend;
    a.blended = g->args.blended;
    for (int k = 0; k < 2; k++) {
        a.good[k] = g->args.good[k];
        a.checking[k] = w->checking[k];
        a.good_blend[k] = g->args.good_blend[k];
        a.good_blended[k] = g->args.good_blended[k];
    }
    return a;
}

// After a check, or instead of one.
static hk_status settle_blended(hk_gpu *g, bool first, bool due)
{
    vbd *w = own(g);
    walk_args a = walk_args_of(g);
    a.first = first;
    HK_TRY(launch(g, (const void *)settle_blended_kernel, w->vertex_blocks, THREADS, &a));
    w->at = 1 - w->at;
    a = walk_args_of(g);
    a.due = due;
    int blocks = hk_min_int(1024, (a.item_count + THREADS - 1) / THREADS);
    return launch(g, (const void *)restore_kernel, hk_max_int(1, blocks), THREADS, &a);
}

// The check of `descent`, which brings the blend weights up to date.
static hk_status check_blended(hk_gpu *g, bool first, bool due)
{
    vbd *w = own(g);
    hk_gpu_args a = g->args;
    a.q = w->q;
    a.last = w->last;
    a.moved = w->before;  // not written: it moves nothing
    a.now = w->checking[0];
    a.next = w->checking[1];
    a.flags = HK_CHECK_LAST | (first ? HK_CHECK_FIRST : HK_CHECK_DEFER);
    HK_TRY(hk_gpu_launch_forces(g, g->kernels->check[1], &a));
    if (!first) HK_TRY(hk_gpu_launch(g, g->kernels->compare, &a));
    return settle_blended(g, first, due);
}

// Whether there is a check after sweep k, from 1.
static bool is_due(const hk_gpu *g, int k)
{
    return k % own(g)->args.rules.check == 0 || k == g->settings.iterations;
}

static hk_status begin_drag(const hk_gpu *g)
{
    const vbd *w = own(g);
    if (!w->drag || w->args.near_count == 0) return HK_OK;
    drag_args a = {w->args,           w->pair_start,      w->pair,     w->drag,
                   g->args.viscosity, g->args.item_count, g->args.rate};
    return launch(g, (const void *)drag_kernel, (w->args.near_count + THREADS - 1) / THREADS,
                  THREADS, &a);
}

// `end` is where the step before left its control.
static hk_status begin(hk_gpu *g, int end)
{
    vbd *w = own(g);
    HK_TRY(begin_drag(g));
    walk_args a = walk_args_of(g);
    a.now = w->control[end];
    HK_TRY(launch(g, (const void *)begin_kernel, w->vertex_blocks, THREADS, &a));
    w->at = 1 - w->at;
    if (g->blends) {
        a = walk_args_of(g);
        HK_TRY(launch(g, (const void *)before_start_kernel, 1, 1, &a));
        return check_blended(g, true, is_due(g, 1));
    }
    HK_TRY(hk_gpu_probe(g, w->q, HK_CHECK_FIRST, nullptr, g->probe[0]));
    a = walk_args_of(g);
    HK_TRY(launch(g, (const void *)start_kernel, 1, 1, &a));
    w->at = 1 - w->at;
    return HK_OK;
}

// Number `k` since the last check.
static hk_status sweep(hk_gpu *g, int k)
{
    vbd *w = own(g);
    hk_gpu_vbd_args a = w->args;
    int vertices = HK_GPU_VBD_THREADS / (HK_GPU_VBD_FEWEST << w->ways);  // of a block
    a.control = w->control[w->at];
    for (int n = 0; n < w->colour_count; n++) {
        a.first = w->colour_start[n];
        a.last = w->colour_start[n + 1];
        if (a.first == a.last) continue;
        if (a.term_sums) HK_TRY(hk_gpu_term_sums(g, &a));
        HK_TRY(launch(g, w->kernels->sweep[g->general][w->ways],
                      (a.last - a.first + vertices - 1) / vertices, HK_GPU_VBD_THREADS, &a));
    }
    if (a.rules.acceleration == HK_ACCELERATION_NONE && !g->blends) return HK_OK;
    walk_args accelerated = walk_args_of(g);
    accelerated.sweeps = k;
    return launch(g, (const void *)accelerate_kernel, w->vertex_blocks, THREADS, &accelerated);
}

static hk_status check_sweeps(hk_gpu *g, int sweeps)
{
    vbd *w = own(g);
    hk_gpu_args probe = g->args;
    probe.flags = HK_CHECK_PROBE;
    probe.state = w->q;
    probe.probe = g->probe[0];
    probe.now = &w->control[w->at]->shared;  // after the end there is nothing to check at
    HK_TRY(hk_gpu_launch_forces(g, g->kernels->check[g->general], &probe));
    walk_args a = walk_args_of(g);
    a.sweeps = sweeps;
    HK_TRY(launch(g, (const void *)settle_kernel, w->vertex_blocks, THREADS, &a));
    w->at = 1 - w->at;
    return HK_OK;
}

static hk_status launch_sweeps(hk_gpu *g, hk_gpu_control **last)
{
    vbd *w = own(g);
    int budget = g->settings.iterations, since = 0;
    // It goes to and fro between two places, at every check, and where elements may be blended at
    // every sweep.
    int check = w->args.rules.check, checks = (budget + check - 1) / check;
    w->at = 0;
    HK_TRY(begin(g, (g->blends ? budget : checks) % 2));
    for (int k = 1; k <= budget; k++) {
        HK_TRY(sweep(g, since));
        if (g->blends) {
            HK_TRY(check_blended(g, false, is_due(g, k + 1)));
            continue;
        }
        since++;
        if (!is_due(g, k)) continue;
        HK_TRY(check_sweeps(g, since));
        since = 0;
    }
    *last = &w->control[w->at]->shared;
    return HK_OK;
}

// ---------------------------------------------------------------- set-up

static const hk_gpu_vbd_kernels *choose_kernels(const hk_gpu_layout *l)
{
#define ENTRY(X) &hk_gpu_vbd_kernels_##X,
    static const hk_gpu_vbd_kernels *const tables[] = {HK_LAWS(ENTRY) ENTRY(any)};
#undef ENTRY
    return tables[hk_gpu_layout_law(l)];
}

// Few threads per vertex waste least; where a colour does not fill the device with them, more.
static int choose_ways(const hk_gpu_vertex_blocks *s, int multiprocessors)
{
    enum { BUSY = 512 };  // threads of a multiprocessor
    int64_t threads =
        (int64_t)HK_GPU_VBD_FEWEST * s->count / hk_max_int(1, s->colours.colour_count);
    int ways = 0;
    while (ways < HK_GPU_VBD_WAYS - 1 && (threads << ways) < (int64_t)BUSY * multiprocessors)
        ways++;
    return ways;
}

static hk_status upload_vertex_blocks(hk_gpu *g, const hk_gpu_vertex_blocks *s)
{
    hk_gpu_vbd_args *a = &own(g)->args;
    size_t count = (size_t)s->count, items = (size_t)s->start[s->count];
    HK_TRY(hk_gpu_upload(g, s->colours.item, count, &a->vertex));
    HK_TRY(hk_gpu_upload(g, s->start, count + 1, &a->start));
    for (int k = 0; k < HK_GPU_VERTEX_WORDS; k++)
        HK_TRY(hk_gpu_upload(g, (const float4 *)s->word[k], items, &a->word[k]));
    if (s->batch) HK_TRY(hk_gpu_upload(g, s->batch, items, &a->batch));
    if (s->element) HK_TRY(hk_gpu_upload(g, (const float4 *)s->element, items, &a->element));
    if (s->twin) HK_TRY(hk_gpu_upload(g, s->twin, items, &a->twin));
    return hk_gpu_upload(g, s->noise, count, &a->noise);
}

static hk_status upload_neighbours(hk_gpu *g, const hk_gpu_vertex_blocks *s)
{
    vbd *w = own(g);
    if (!s->near_start) return HK_OK;
    size_t count = (size_t)s->near_start[s->count];
    HK_TRY(hk_gpu_upload(g, s->near_start, (size_t)s->count + 1, &w->args.near_start));
    HK_TRY(hk_gpu_upload(g, s->near, count, &w->args.near));
    HK_TRY(hk_gpu_upload(g, s->pair_start, count + 1, &w->pair_start));
    HK_TRY(hk_gpu_upload(g, s->pair, (size_t)s->pair_start[count], &w->pair));
    HK_TRY(hk_gpu_alloc(g, 9 * count, &w->drag));
    w->args.near_count = (int)count;
    w->args.drag = w->drag;
    w->args.origin = g->from;
    return HK_OK;
}

static hk_status fill(hk_gpu *g, const hk_gpu_vertex_blocks *s, int multiprocessors)
{
    vbd *w = own(g);
    HK_TRY(upload_vertex_blocks(g, s));
    HK_TRY(upload_neighbours(g, s));
    w->kernels = choose_kernels(g->layout);
    w->ways = choose_ways(s, multiprocessors);
    w->colour_count = s->colours.colour_count;
    w->colour_start = HK_ARRAY(int32_t, w->colour_count + 1);
    if (!w->colour_start) return HK_NO_MEMORY;
    memcpy(w->colour_start, s->colours.start, sizeof(int32_t) * ((size_t)w->colour_count + 1));
    w->colour_of = HK_ARRAY(int32_t, g->model->vertex_count);
    if (!w->colour_of) return HK_NO_MEMORY;
    for (int v = 0; v < g->model->vertex_count; v++) w->colour_of[v] = -1;
    for (int k = 0; k < w->colour_count; k++)
        for (int i = s->colours.start[k]; i < s->colours.start[k + 1]; i++)
            w->colour_of[g->layout->place[s->colours.item[i]]] = k;
    w->q = g->q[0];
    w->last = g->q[1];
    w->before = g->q[2];
    w->vertex_blocks = (g->model->vertex_count + THREADS - 1) / THREADS;
    for (int k = 0; k < 2; k++) {
        HK_TRY(hk_gpu_alloc(g, 1, &w->control[k]));
        HK_TRY(hk_gpu_alloc(g, 1, &w->checking[k]));
    }
    hk_gpu_vbd_args *a = &w->args;
    a->rules = hk_vbd_rules_of(&g->settings);
    a->rules.slowest = vbd_slowest(g->plan.rules.slowest);
    a->count = s->count;
    a->batches = g->args.model.batches;
    a->target = g->args.target;
    a->target_bits = g->args.target_bits;
    a->q = w->q;
    a->before = w->before;
    a->blend = g->args.blend;
    return HK_OK;
}

// The kernels that check work by the rules of `descent`.
static hk_status plan(hk_gpu *g)
{
    hk_vbd_rules rules = hk_vbd_rules_of(&g->settings);
    g->plan.rules.acceleration = rules.acceleration;
    g->plan.rules.check = rules.check;
    g->plan.rules.shrink = 1;
    return HK_OK;
}

static hk_status set_up(hk_gpu *g)
{
    int device, multiprocessors;
    HK_CUDA(cudaGetDevice(&device));
    HK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    g->own = HK_NEW(vbd);
    if (!g->own) return HK_NO_MEMORY;
    hk_gpu_vertex_blocks *blocks;
    HK_TRY(hk_gpu_vertex_blocks_create(g->model, g->live, g->layout, g->damping.viscous > 0, 0,
                                       &blocks));
    hk_status status = fill(g, blocks, multiprocessors);
    hk_gpu_vertex_blocks_free(blocks);
    return status;
}

static void release(hk_gpu *g)
{
    if (!g->own) return;
    hk_free(own(g)->colour_start);
    hk_free(own(g)->colour_of);
    hk_free(g->own);
    g->own = nullptr;
}

static void describe(const hk_gpu *g, char *text, size_t size)
{
    snprintf(text, size, ", %d colours, %d threads per vertex", own(g)->colour_count,
             HK_GPU_VBD_FEWEST << own(g)->ways);
}

static hk_status take_terms(hk_gpu *g)
{
    vbd *w = own(g);
    if (hk_gpu_has_terms(g) && !w->term_sums)
        HK_TRY(hk_gpu_alloc(g, 9 * (size_t)w->args.count, &w->term_sums));
    w->args.term_sums = hk_gpu_has_terms(g) ? w->term_sums : nullptr;
    return HK_OK;
}

static bool fits_live(hk_gpu *g)
{
    return hk_colours_fit(g->model, g->live, own(g)->colour_of);
}

extern "C" const hk_gpu_method hk_gpu_vbd = {plan,       set_up,        release,  fits_live,
                                             take_terms, launch_sweeps, describe, true};
