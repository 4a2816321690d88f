// `quasi_newton` on the device (solver/quasi_newton.c): L-BFGS over the constant matrix, and with
// an empty memory projective dynamics. An evaluation of ε is this sequence of kernels, which read
// from the control what there is to do for them, or that there is nothing:
//
//   check     (law_exact.cu) energy, residual and elastic gradient at the trial state
//   settle    accepts it, and completes its gradient; or writes the next trial state
//   …         (global.cu) p = A⁻¹ g, where it was accepted
//   remember  goes there: the new pair of the memory, and all inner products
//   combine   the next direction and its first trial state
//
// States are in double precision, and so is what is evaluated there; directions, gradients and the
// memory of L-BFGS are in single. Where elements may be blended or are viscous, elements are
// evaluated in single precision (law.cu); the weights of the former change between settle and …,
// and they are evaluated once more.
#include "gpu/fine.h"
#include "gpu/global.h"
#include "gpu/sums.h"
#include "gpu/terms.h"

#include <stdio.h>

enum { THREADS = HK_SUM_THREADS, MOST_BLOCKS = 528 };
enum { UNROLLED = 48, TURN = 4 };  // evaluations of a graph without a loop; of a turn of the loop

// Device memory of the method; vectors are [vertex_count] in the order of the patches.
struct quasi_newton {
    hk_qn_settings settings;
    hk_gpu_global global;
    hk_gpu_global_live live;
    hk_qn_control *control[3];  // after combine, settle, and new blend weights
    hk_qn_memory *memory;
    hk_gpu_control *gate[2];  // for new blend weights
    double *x, *trial;        // [vertex_count][3]
    float4 *narrow;  // the trial state in single precision, for terms and kernels that want it
    float4 *direction;
    float4 *g, *trial_g, *p;
    float4 *s, *y, *z;  // [window]
    double *partial;    // [blocks][products]
    unsigned *finished;
    int blocks;
};

// ---------------------------------------------------------------- the beginning

static __global__ void begin_kernel(hk_gpu_state s, const hk_gpu_control *from,
                                    hk_qn_control *control, hk_gpu_control *gate, double *x,
                                    double *trial)
{
    cudaGridDependencySynchronize();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v == 0) {
        qn_begin(control, from);
        hk_gpu_control open = {};
        *gate = open;
    }
    if (v >= s.vertex_count) return;
    const double *start = s.exact[from->good ? HK_EXACT_GUESS : HK_EXACT_POSITION];
    for (int64_t i = 3 * (int64_t)v; i < 3 * (int64_t)v + 3; i++) x[i] = trial[i] = start[i];
}

// The displacements of the trial state, as the terms in single precision take them.
static __global__ void narrow_kernel(hk_gpu_state s, const double *trial, float4 *to)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    double o[3];
    frame_place(hk_gpu_frame_of(&s), v, o);
    to[v] = fine_narrow(trial + 3 * (int64_t)v, o);
}

// ---------------------------------------------------------------- the decision

enum { SETTLE_FIRST = 1, SETTLE_BLENDED = 2 };

struct settle_args {
    int count, flags;
    hk_qn_settings settings;
    const hk_gpu_settings *plan;
    const hk_qn_control *now;
    hk_qn_control *next;
    hk_gpu_control *gate;  // or NULL
    const double *sums;
    const double *x, *target;
    const float4 *stiffness, *direction;  // the first as in hk_gpu_args.target: .w
    double *trial;
    float4 *gradient;  // in: of the elements
    hk_gpu_global global;
};

// By all threads of a block.
template <class T> static __device__ __forceinline__ void copy(T *to, const T *from)
{
    static_assert(sizeof(T) % sizeof(int) == 0, "words");
    for (int k = threadIdx.x; k < (int)(sizeof(T) / sizeof(int)); k += THREADS)
        ((int *)to)[k] = ((const int *)from)[k];
}

static __device__ void settle(const settle_args &a, hk_qn_control *c)
{
    if (a.flags & SETTLE_BLENDED)
        qn_blended(a.plan, &a.settings, c, a.sums);
    else
        qn_decide(a.plan, &a.settings, c, a.sums, a.flags & SETTLE_FIRST);
    if (blockIdx.x > 0) return;
    *a.next = *c;
    if (a.gate)
        a.gate->state = c->accepted && c->base.state == HK_GPU_GOING ? HK_GPU_GOING : HK_GPU_SPENT;
}

// trial = x + length × direction
static __device__ __forceinline__ void go_ahead(const double *x, double length, float4 d, int v,
                                                double *trial)
{
    int64_t at = 3 * (int64_t)v;
    trial[at] = x[at] + length * d.x;
    trial[at + 1] = x[at + 1] + length * d.y;
    trial[at + 2] = x[at + 2] + length * d.z;
}

// Every block comes to the same decision.
static __global__ void __launch_bounds__(THREADS)
    settle_kernel(const __grid_constant__ settle_args a)
{
    __shared__ bool accepted, shorter;
    __shared__ double length;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    __shared__ hk_qn_control c;
    copy(&c, a.now);
    __syncthreads();
    if (threadIdx.x == 0) {
        settle(a, &c);
        bool going = c.base.state == HK_GPU_GOING;
        accepted = going && c.accepted;
        shorter = going && !c.accepted && !c.redirect && !(a.flags & SETTLE_BLENDED);
        length = c.length;
    }
    __syncthreads();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.count) return;
    if (shorter) go_ahead(a.x, length, a.direction[v], v, a.trial);
    if (!accepted) return;
    float4 f = a.gradient[v];
    double w = a.stiffness[v].w;
    const double *q = a.trial + 3 * (int64_t)v, *t = a.target + 3 * (int64_t)v;
    float4 g = make_float4(0, 0, 0, 0);
    if (w > 0)
        g = make_float4((float)(f.x + w * (q[0] - t[0])), (float)(f.y + w * (q[1] - t[1])),
                        (float)(f.z + w * (q[2] - t[2])), 0);
    // Where blend weights are about to change it will be evaluated once more.
    if (a.gate && !(a.flags & (SETTLE_FIRST | SETTLE_BLENDED))) return;
    a.gradient[v] = g;
    hk_gpu_global_give(a.global, v, g);
}

// ---------------------------------------------------------------- the memory

struct remember_args {
    int count;
    int window;
    const hk_qn_control *now;
    hk_qn_control *next;
    hk_qn_memory *memory;
    double *x;
    float4 *g, *p;
    const double *trial;
    const float4 *trial_g, *trial_p;
    float4 *s, *y, *z;
    double *partial;
    unsigned *finished;
};

// Sums of these are in double precision.
static __device__ __forceinline__ float dot(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static __device__ __forceinline__ float4 minus(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, 0);
}
// A vector of three doubles.
struct place {
    double x, y, z;
};
static __device__ __forceinline__ place place_at(const double *a, int v)
{
    const double *p = a + 3 * (int64_t)v;
    place here = {__ldcs(p), __ldcs(p + 1), __ldcs(p + 2)};
    return here;
}
static __device__ __forceinline__ void put_at(double *a, int v, place here)
{
    double *p = a + 3 * (int64_t)v;
    p[0] = here.x, p[1] = here.y, p[2] = here.z;
}

// Goes to the trial state at one vertex, and adds its products. M: slots that the sums have room
// for. All that is read is on its way before anything is written.
template <int M>
static __device__ __forceinline__ void remember_vertex(const remember_args &a, unsigned used,
                                                       int slot, int v, double *sums)
{
    const float4 none = make_float4(0, 0, 0, 0);
    place q = place_at(a.trial, v), x = place_at(a.x, v);
    float4 g = a.trial_g[v], p = a.trial_p[v], g0 = a.g[v], p0 = a.p[v];
    float4 olds[M], oldy[M];
#pragma unroll
    for (int i = 0; i < M; i++) {
        bool old = used >> i & 1 && i != slot;
        olds[i] = old ? a.s[(int64_t)i * a.count + v] : none;
        oldy[i] = old ? a.y[(int64_t)i * a.count + v] : none;
    }
    float4 s = make_float4((float)(q.x - x.x), (float)(q.y - x.y), (float)(q.z - x.z), 0);
    float4 y = minus(g, g0), z = minus(p, p0);
    double *single = sums + HK_QN_KINDS * M;
    single[HK_QN_GP] += dot(g, p);
    single[HK_QN_SS] += dot(s, s);
    single[HK_QN_YY] += dot(y, y);
    single[HK_QN_SY] += dot(s, y);
    single[HK_QN_YZ] += dot(y, z);
#pragma unroll
    for (int i = 0; i < M; i++) {
        float4 si = i == slot ? s : olds[i], yi = i == slot ? y : oldy[i];
        sums[HK_QN_SG * M + i] += dot(si, g);
        sums[HK_QN_YP * M + i] += dot(yi, p);
        sums[HK_QN_YS * M + i] += dot(yi, s);
    }
    put_at(a.x, v, q);
    a.g[v] = g;
    a.p[v] = p;
    if (slot < 0) return;
    int64_t at = (int64_t)slot * a.count + v;
    a.s[at] = s;
    a.y[at] = y;
    a.z[at] = z;
}

template <int M>
static __global__ void __launch_bounds__(THREADS)
    remember_kernel(const __grid_constant__ remember_args a)
{
    enum { COUNT = HK_QN_KINDS * M + HK_QN_SINGLES };
    __shared__ double total[COUNT];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    bool accepted = a.now->accepted, going = a.now->base.state == HK_GPU_GOING;
    int first = blockIdx.x * THREADS + threadIdx.x, stride = gridDim.x * THREADS;
    if (!accepted || !going) {
        if (first == 0) *a.next = *a.now;
        // The last one that was accepted is where the step ends.
        for (int v = first; accepted && v < a.count; v += stride)
            put_at(a.x, v, place_at(a.trial, v));
        return;
    }
    int slot = a.now->slot;
    unsigned used = slot >= 0 ? 1u << slot : 0;
    for (int k = 0; k < a.now->count; k++) used |= 1u << a.now->pair[k];
    double sums[COUNT] = {0};
    for (int v = first; v < a.count; v += stride) remember_vertex<M>(a, used, slot, v, sums);
    if (!grid_sums<COUNT>(sums, a.partial, a.finished, total)) return;
    // In shared memory: one thread alone would wait for every number of them.
    __shared__ hk_qn_dots d;
    __shared__ hk_qn_control c;
    __shared__ hk_qn_memory memory;
    copy(&c, a.now);
    copy(&memory, a.memory);
    if (threadIdx.x < HK_QN_KINDS * M) d.of[threadIdx.x / M][threadIdx.x % M] = total[threadIdx.x];
    if (threadIdx.x < HK_QN_SINGLES) d.single[threadIdx.x] = total[HK_QN_KINDS * M + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) qn_direct(&c, &memory, &d, M);
    __syncthreads();
    copy(a.next, &c);
    copy(a.memory, &memory);
}

// ---------------------------------------------------------------- the direction

struct combine_args {
    int count;
    const hk_qn_control *now;
    const hk_qn_memory *memory;
    const double *x;
    const float4 *p, *s, *z;
    float4 *direction;
    double *trial;
    bool loops;
    cudaGraphConditionalHandle loop;  // that goes on while the walk does
};

static __global__ void __launch_bounds__(THREADS)
    combine_kernel(const __grid_constant__ combine_args a)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    bool going = a.now->base.state == HK_GPU_GOING;
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v == 0 && a.loops) cudaGraphSetConditional(a.loop, going);
    if (!going || !a.now->redirect || v >= a.count) return;
    float4 p = a.p[v];
    float d[3] = {-p.x, -p.y, -p.z};
    for (int k = 0; k < a.now->count; k++) {
        int i = a.now->pair[k];
        int64_t at = (int64_t)i * a.count + v;
        float4 z = a.z[at], s = a.s[at];
        float of_z = a.memory->of_z[i], of_s = a.memory->of_s[i];
        d[0] += of_z * z.x + of_s * s.x;
        d[1] += of_z * z.y + of_s * s.y;
        d[2] += of_z * z.z + of_s * s.z;
    }
    float4 whole = a.direction[v] = make_float4(d[0], d[1], d[2], 0);
    go_ahead(a.x, 1, whole, v, a.trial);
}

// ---------------------------------------------------------------- an evaluation

static int blocks_for(int count)
{
    return (count + THREADS - 1) / THREADS;
}

static hk_status begin(hk_gpu *g, const quasi_newton *q)
{
    void *args[] = {(void *)&g->state,   (void *)&g->control[0], (void *)&q->control[0],
                    (void *)&q->gate[0], (void *)&q->x,          (void *)&q->trial};
    return hk_gpu_launch_some(g, (const void *)begin_kernel, blocks_for(g->model->vertex_count),
                              THREADS, args);
}

static hk_status launch_narrow(hk_gpu *g, const double *state, float4 *narrow)
{
    void *args[] = {(void *)&g->state, (void *)&state, (void *)&narrow};
    return hk_gpu_launch_some(g, (const void *)narrow_kernel, blocks_for(g->model->vertex_count),
                              THREADS, args);
}

// With `a` of the terms beside tets.
static hk_status check_exactly(hk_gpu *g, const hk_gpu_point *at, hk_gpu_args *a)
{
    a->now = at->control;
    if (hk_gpu_has_terms(g)) HK_TRY(hk_gpu_term_gradients(g, a));
    hk_gpu_exact_args e = {};
    e.model = g->args.model;
    e.batches = g->exact_batches;
    e.shapes = g->exact_shapes;
    e.item_count = g->layout->item_start[g->layout->patch_count];
    e.now = at->control;
    e.flags = a->flags;
    e.bounded = at->bounded;
    e.state = at->state;
    e.rest = g->state.rest;
    e.target = g->state.exact[HK_EXACT_TARGET];
    e.stiffness = g->args.target;
    e.force = g->args.force;
    e.gradient = at->gradient;
    e.probe = g->probe[0];
    e.term_gradient = g->args.term_gradient;
    e.term_energy = g->args.term_energy;
    e.term_parts = g->args.term_parts;
    e.partial = g->args.partial;
    e.finished = g->args.finished;
    return hk_gpu_launch_exact(g, g->exact_kernels->check, &e);
}

hk_status hk_gpu_check_at(hk_gpu *g, const hk_gpu_point *at)
{
    hk_gpu_args a = g->args;
    a.flags = HK_CHECK_PROBE | HK_CHECK_GRADIENT | (at->first ? HK_CHECK_FIRST : 0);
    a.state = at->narrow;
    if (!g->exact || hk_gpu_has_terms(g)) HK_TRY(launch_narrow(g, at->state, at->narrow));
    if (g->exact) return check_exactly(g, at, &a);
    a.gradient = at->gradient;
    a.probe = g->probe[0];
    a.now = at->control;
    return hk_gpu_launch_forces(g, g->kernels->check[g->general], &a);
}

// At the trial state; `control` says whether anybody wants to know.
static hk_status check(hk_gpu *g, const quasi_newton *q, hk_gpu_control *control, bool first)
{
    hk_gpu_point at = {q->trial, q->narrow, q->trial_g, control, first, false};
    return hk_gpu_check_at(g, &at);
}

// New blend weights at the trial state: the part of a check that is no probe. What it writes beside
// them nobody reads.
static hk_status blend(hk_gpu *g, const quasi_newton *q)
{
    hk_gpu_args a = g->args;
    HK_TRY(launch_narrow(g, q->trial, q->narrow));
    a.flags = HK_CHECK_LAST | HK_CHECK_DEFER;
    a.q = q->narrow;
    a.now = q->gate[0];
    a.next = q->gate[1];
    return hk_gpu_launch_forces(g, g->kernels->check[1], &a);
}

static hk_status launch_settle(hk_gpu *g, const quasi_newton *q, int flags)
{
    settle_args a = {};
    bool blended = flags & SETTLE_BLENDED;
    a.count = g->model->vertex_count;
    a.flags = flags;
    a.settings = q->settings;
    a.plan = g->device_settings;
    a.now = q->control[blended ? 1 : 0];
    a.next = q->control[blended ? 2 : 1];
    a.gate = g->blends ? q->gate[0] : nullptr;
    a.sums = g->probe[0];
    a.x = q->x;
    a.target = g->state.exact[HK_EXACT_TARGET];
    a.stiffness = g->args.target;
    a.direction = q->direction;
    a.trial = q->trial;
    a.gradient = q->trial_g;
    a.global = q->global;
    void *args[] = {&a};
    return hk_gpu_launch_some(g, (const void *)settle_kernel, blocks_for(a.count), THREADS, args);
}

static hk_status launch_remember(hk_gpu *g, const quasi_newton *q, const hk_qn_control *now)
{
    remember_args a = {};
    a.count = g->model->vertex_count;
    a.window = q->settings.window;
    a.now = now;
    a.next = q->control[0];
    a.memory = q->memory;
    a.x = q->x;
    a.g = q->g;
    a.p = q->p;
    a.trial = q->trial;
    a.trial_g = q->trial_g;
    a.trial_p = hk_gpu_global_solution(&q->global);
    a.s = q->s;
    a.y = q->y;
    a.z = q->z;
    a.partial = q->partial;
    a.finished = q->finished;
    const void *kernel = a.window == 0   ? (const void *)remember_kernel<1>
                         : a.window <= 5 ? (const void *)remember_kernel<5>
                                         : (const void *)remember_kernel<HK_QN_MOST>;
    void *args[] = {&a};
    return hk_gpu_launch_some(g, kernel, q->blocks, THREADS, args);
}

static hk_status launch_combine(hk_gpu *g, const quasi_newton *q,
                                const cudaGraphConditionalHandle *loop)
{
    combine_args a = {};
    a.count = g->model->vertex_count;
    a.now = q->control[0];
    a.memory = q->memory;
    a.x = q->x;
    a.p = q->p;
    a.s = q->s;
    a.z = q->z;
    a.direction = q->direction;
    a.trial = q->trial;
    a.loops = loop != nullptr;
    if (loop) a.loop = *loop;
    void *args[] = {&a};
    return hk_gpu_launch_some(g, (const void *)combine_kernel, blocks_for(a.count), THREADS, args);
}

static hk_status evaluate(hk_gpu *g, const quasi_newton *q, bool first,
                          const cudaGraphConditionalHandle *loop)
{
    if (g->blends && first) HK_TRY(blend(g, q));
    HK_TRY(check(g, q, &q->control[0]->base, first));
    HK_TRY(launch_settle(g, q, first ? SETTLE_FIRST : 0));
    const hk_qn_control *now = q->control[1];
    if (g->blends && !first) {
        HK_TRY(blend(g, q));
        HK_TRY(check(g, q, q->gate[0], false));
        HK_TRY(launch_settle(g, q, SETTLE_BLENDED));
        now = q->control[2];
    }
    HK_TRY(hk_gpu_global_solve(g, &q->global, now, q->trial_g));
    HK_TRY(launch_remember(g, q, now));
    return launch_combine(g, q, loop);
}

// ---------------------------------------------------------------- the loop

static hk_status capture_turn(hk_gpu *g, const quasi_newton *q, cudaGraph_t body,
                              const cudaGraphConditionalHandle *loop)
{
    HK_CUDA(cudaStreamBeginCaptureToGraph(g->stream, body, nullptr, nullptr, 0,
                                          cudaStreamCaptureModeThreadLocal));
    hk_status status = HK_OK;
    for (int k = 0; k < TURN && status == HK_OK; k++)
        status = evaluate(g, q, false, k == TURN - 1 ? loop : nullptr);
    cudaError_t error = cudaStreamEndCapture(g->stream, &body);
    HK_TRY(status);
    HK_CUDA(error);
    return HK_OK;
}

// The graph that is being recorded goes round in turns of a few evaluations while the walk goes on:
// what a short walk does not need costs nothing.
static hk_status record_loop(hk_gpu *g, const quasi_newton *q)
{
    cudaStreamCaptureStatus capturing;
    cudaGraph_t graph;
    const cudaGraphNode_t *before;
    const cudaGraphEdgeData *edges;
    size_t count;
    HK_CUDA(
        cudaStreamGetCaptureInfo(g->stream, &capturing, nullptr, &graph, &before, &edges, &count));
    cudaGraphConditionalHandle loop;
    HK_CUDA(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = loop;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t node;
    HK_CUDA(cudaGraphAddNode(&node, graph, before, nullptr, count, &parameters));
    HK_CUDA(cudaStreamUpdateCaptureDependencies(g->stream, &node, nullptr, 1,
                                                cudaStreamSetCaptureDependencies));
    // The body is recorded on another stream, on which nothing goes on yet.
    cudaStream_t recording = g->stream;
    g->stream = g->copying;
    hk_status status = capture_turn(g, q, parameters.conditional.phGraph_out[0], &loop);
    g->stream = recording;
    return status;
}

static hk_status launch(hk_gpu *g, hk_gpu_control **last)
{
    const quasi_newton *q = (const quasi_newton *)g->own;
    HK_TRY(begin(g, q));
    if (q->global.cycles) HK_TRY(hk_gpu_spins_turn(g, &q->global.spins, q->x));
    HK_TRY(evaluate(g, q, true, nullptr));
    int evaluations = q->settings.budget + q->settings.budget / 4 + 2;
    if (evaluations <= UNROLLED)
        for (int k = 0; k < evaluations; k++) HK_TRY(evaluate(g, q, false, nullptr));
    else
        HK_TRY(record_loop(g, q));
    *last = &q->control[0]->base;
    return HK_OK;
}

// ---------------------------------------------------------------- creation

// The kernels that check are those of `descent`.
static void plan_checks(hk_gpu *g)
{
    g->plan.rules.acceleration = HK_ACCELERATION_NONE;
    g->plan.rules.check = 8;
    g->plan.rules.shrink = 0.7;
    g->plan.rules.shortest = 1e-5;
}

static hk_status plan(hk_gpu *g)
{
    plan_checks(g);
    g->wants_exact = true;
    // Projective dynamics remembers nothing, passes of split what that says.
    double window = hk_setting(&g->settings, "window");
    if (!isnan(window)) g->window = (int)window;
    if (hk_setting(&g->settings, "initial") > 0)
        return hk_fail(HK_UNSUPPORTED,
                       "backend \"cuda\": quasi_newton begins with the Laplacian alone there; with "
                       "another \"initial\" it runs on the CPU");
    if (g->window > HK_QN_MOST)
        return hk_fail(HK_UNSUPPORTED,
                       "backend \"cuda\": quasi_newton remembers at most %d steps there, not %d; "
                       "with a larger \"window\" it runs on the CPU",
                       (int)HK_QN_MOST, g->window);
    return HK_OK;
}

static hk_status take_vectors(hk_gpu *g, quasi_newton *q)
{
    size_t n = (size_t)g->model->vertex_count, window = (size_t)q->settings.window;
    int blocks = blocks_for((int)n);
    q->blocks = blocks < MOST_BLOCKS ? blocks : (int)MOST_BLOCKS;
    size_t products = HK_QN_KINDS * HK_QN_MOST + HK_QN_SINGLES;
    q->narrow = g->q[0];
    q->direction = g->q[2];
    for (int k = 0; k < HK_EXACT_COUNT; k++) HK_TRY(hk_gpu_alloc(g, 3 * n, &g->state.exact[k]));
    q->x = g->state.exact[HK_EXACT_SOLUTION];
    HK_TRY(hk_gpu_alloc(g, 3 * n, &q->trial));
    HK_TRY(hk_gpu_alloc(g, n, &q->g));
    HK_TRY(hk_gpu_alloc(g, n, &q->trial_g));
    HK_TRY(hk_gpu_alloc(g, n, &q->p));
    HK_TRY(hk_gpu_alloc(g, window * n, &q->s));
    HK_TRY(hk_gpu_alloc(g, window * n, &q->y));
    HK_TRY(hk_gpu_alloc(g, window * n, &q->z));
    for (int k = 0; k < 3; k++) HK_TRY(hk_gpu_alloc(g, 1, &q->control[k]));
    for (int k = 0; k < 2; k++) HK_TRY(hk_gpu_alloc(g, 1, &q->gate[k]));
    HK_TRY(hk_gpu_alloc(g, 1, &q->memory));
    HK_TRY(hk_gpu_alloc(g, (size_t)q->blocks * products, &q->partial));
    return hk_gpu_alloc(g, 1, &q->finished);
}

static hk_status set_up(hk_gpu *g)
{
    quasi_newton *q = HK_NEW(quasi_newton);
    if (!q) return HK_NO_MEMORY;
    g->own = q;
    int budget = g->settings.iterations;
    q->settings.window = g->window;
    q->settings.budget = budget;
    q->settings.most = 2 * budget + 64;
    q->settings.blends = g->blends;
    HK_TRY(take_vectors(g, q));
    if (g->exact) {
        // What set-up measured is what single precision does.
        g->plan.exact = 1;
        g->plan.rounding *= 1e-8;
        HK_CUDA(cudaMemcpy(g->device_settings, &g->plan, sizeof g->plan, cudaMemcpyHostToDevice));
    }
    return hk_gpu_global_create(g, &q->global);
}

static void release(hk_gpu *g)
{
    hk_free(g->own);
    g->own = nullptr;
}

static void describe(const hk_gpu *g, char *text, size_t size)
{
    hk_gpu_global_describe(&((const quasi_newton *)g->own)->global, text, size);
}

static hk_status take_terms(hk_gpu *g)
{
    quasi_newton *q = (quasi_newton *)g->own;
    return hk_gpu_global_take_live(g, &q->global, &q->live);
}

extern "C" const hk_gpu_method hk_gpu_quasi_newton = {plan,       set_up, release,  nullptr,
                                                      take_terms, launch, describe, true};
