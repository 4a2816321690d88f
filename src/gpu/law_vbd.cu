// Sweeps of `vbd` (solver/vbd.c) over the vertices of one colour, for one law, HK_GPU_LAW, as
// law.cu is compiled. A few threads share the work of a vertex: each takes some of the elements
// around it, gradients and Hessian blocks are added up among them in a fixed order, and the vertex
// takes a step of Newton's method. No two vertices of a colour share an element, so positions
// change in place, and the bits are the same in every run.
#include "gpu/fine.h"
#include "gpu/law_choice.h"
#include "gpu/vertex_math.h"
#include "gpu/vbd_kernels.h"
#include "math/solve3.h"

enum { THREADS = HK_GPU_VBD_THREADS, SUMS = 9, MOST_HALVINGS = 10 };

// ---------------------------------------------------------------- the law

#if ANY_LAW
#define CASE(X) \
    case HK_LAW_##X: X##_vertex(p, element, *H, *a, force, block); break;
static __device__ __noinline__ void law_vertex(int law, const hk_law_params *p,
                                               const float *element, const mat3 *H, const vec3 *a,
                                               vec3 *force, mat3 *block)
{
    switch (law) {
        HK_LAWS(CASE)
    }
}
#undef CASE
#define CASE(X) \
    case HK_LAW_##X: return X##_energy(p, element, *H);
static __device__ __noinline__ float law_energy(int law, const hk_law_params *p,
                                                const float *element, const mat3 *H)
{
    switch (law) {
        HK_LAWS(CASE)
    }
    return 0;
}
#undef CASE
#else
static __device__ __forceinline__ void law_vertex(int, const hk_law_params *p, const float *element,
                                                  const mat3 *H, const vec3 *a, vec3 *force,
                                                  mat3 *block)
{
    JOIN(HK_GPU_LAW, _vertex)(p, element, *H, *a, force, block);
}
static __device__ __forceinline__ float law_energy(int, const hk_law_params *p,
                                                   const float *element, const mat3 *H)
{
    return JOIN(HK_GPU_LAW, _energy)(p, element, *H);
}
#endif

// ---------------------------------------------------------------- one element

// What an element brings from memory: vertex_blocks.h.
struct packed {
    float4 word[3];
};

// With offsets of 32 bits: there are fewer than 2^28 items.
static __device__ __forceinline__ packed fetch(const hk_gpu_vbd_args &a, unsigned at)
{
    packed p;
    for (int k = 0; k < 3; k++) p.word[k] = *(const float4 *)((const char *)a.word[k] + 16 * at);
    return p;
}

// The seldom blended element, out of the way of the others.
static __device__ __noinline__ void blend(const hk_gpu_batch *batch, float l, const mat3 *H,
                                          const vec3 *a, vec3 *force, mat3 *block)
{
    mat3 F = m3_gradient(*H);
    blend_vertex((const hk_blend_law *)&batch->upper, l, &F, a, force, block);
}

// An element as its first corner sees it.
struct element {
    mat3 shape;       // shape gradients of the other corners in rows, 1/m
    float4 place[3];  // where these corners are
    float volume;
    float values[4];
    const hk_gpu_batch *batch;
};

static __device__ __forceinline__ void unpack(const hk_gpu_vbd_args &a, const float4 *q,
                                              unsigned at, const packed &p, element &e)
{
    float4 b = p.word[0], c = p.word[1], d = p.word[2];
    e.place[0] = q[__float_as_int(d.y)];
    e.place[1] = q[__float_as_int(d.z)];
    e.place[2] = q[__float_as_int(d.w)];
    e.shape = {{{b.x, b.y, b.z}, {b.w, c.x, c.y}, {c.z, c.w, d.x}}};
    e.volume = 1 / fabsf(6 * m3_det(e.shape));
    e.batch = a.batches + (a.batch ? a.batch[at] : 0);
    float4 values = a.element ? a.element[at] : make_float4(0, 0, 0, 0);
    e.values[0] = values.x, e.values[1] = values.y, e.values[2] = values.z, e.values[3] = 0;
}

// The displacement gradient.
static __device__ __forceinline__ mat3 gradient_at(const element &e, const hk_fine &own)
{
    mat3 H = m3_zero();
    for (int c = 0; c < 3; c++) {
        float3 d = fine_minus(fine_of(e.place[c]), own);
        const float edge[3] = {d.x, d.y, d.z};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) H.m[i][j] += edge[i] * e.shape.m[c][j];
    }
    return H;
}

// Gradient and upper triangle of the block of the first corner, added to sums; l is its blend
// weight.
static __device__ __forceinline__ void add_element(const element &e, const hk_fine &own, float l,
                                                   float sums[SUMS])
{
    mat3 block, H = gradient_at(e, own);
    vec3 force, a;
    for (int j = 0; j < 3; j++) a.v[j] = -(e.shape.m[0][j] + e.shape.m[1][j] + e.shape.m[2][j]);
    law_vertex(e.batch->law, (const hk_law_params *)e.batch->c, e.values, &H, &a, &force, &block);
    if (l > 0) blend(e.batch, l, &H, &a, &force, &block);
    for (int i = 0, q = 3; i < 3; i++) {
        sums[i] += e.volume * force.v[i];
        for (int j = i; j < 3; j++, q++) sums[q] += e.volume * block.m[i][j];
    }
}

// ---------------------------------------------------------------- one vertex

struct around {
    int vertex;
    int first, last;  // items
    float noise;
};

// What the neighbours of vertex k, from `lane` on, add to viscous damping: r K (x − x_t) and r K.
template <int LANES>
static __device__ __noinline__ void add_drag(const hk_gpu_vbd_args &a, int k, int lane,
                                             const float4 *from, int vertex, float sums[SUMS])
{
    float3 way = fine_minus(from[vertex], a.origin[vertex]);
    for (int n = a.near_start[k] + lane; n < a.near_start[k + 1]; n += LANES) {
        float3 other = fine_minus(from[a.near[n]], a.origin[a.near[n]]);
        float farther[3] = {other.x - way.x, other.y - way.y, other.z - way.z};
        float K[9];
        for (int i = 0; i < 9; i++) K[i] = a.drag[(int64_t)i * a.near_count + n];
        vertex_drag(K, farther, sums);
    }
}

// In all threads of a vertex, the same bits.
template <int LANES> static __device__ __forceinline__ float share_sum(float a)
{
#pragma unroll
    for (int k = LANES / 2; k > 0; k /= 2) a += __shfl_xor_sync(~0u, a, k);
    return a;
}

template <int LANES>
static __device__ float energy_around(const hk_gpu_vbd_args &a, const around &s, const hk_fine &own)
{
    float sum = 0;
    for (int at = s.first + (int)threadIdx.x % LANES; at < s.last; at += LANES) {
        element e;
        unpack(a, a.q, (unsigned)at, fetch(a, (unsigned)at), e);
        mat3 H = gradient_at(e, own);
        const hk_law_params *p = (const hk_law_params *)e.batch->c;
        sum += e.volume * law_energy(e.batch->law, p, e.values, &H);
    }
    return share_sum<LANES>(sum);
}

// The change of the energy of inertia and loads: w/2 (|x + d − y|² − |x − y|²); away: x − y.
static __device__ __forceinline__ float pull_change(float w, float3 away, float3 d)
{
    return w * (d.x * (away.x + 0.5f * d.x) + d.y * (away.y + 0.5f * d.y) +
                d.z * (away.z + 0.5f * d.z));
}

// The part of the step that does not raise the energy around the vertex; 0: none. `quadratic`: sums
// of viscous damping and other terms, or NULL. All threads of a warp take part as long as one of
// its vertices is looking for its own.
template <int LANES>
static __device__ __noinline__ float careful_length(const hk_gpu_vbd_args &a, const around &s,
                                                    const hk_fine &own, float w, float3 away,
                                                    float3 step, const float *quadratic)
{
    float length = 1, before = energy_around<LANES>(a, s, own);
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
        float3 d = make_float3(length * step.x, length * step.y, length * step.z);
        float after = energy_around<LANES>(a, s, fine_plus(own, 1, d));
        float change = after - before + pull_change(w, away, d);
        if (quadratic) change += vertex_change(quadratic, &d.x);
        bool high = length > 0 && !(change <= s.noise);
        if (!__any_sync(~0u, high)) break;
        if (high) length = halvings < MOST_HALVINGS ? length / 2 : 0;
    }
    return length;
}

// While elements are blended all vertices move at once, half as far (vbd.c). GENERAL: some may be,
// or there is viscous damping, or there are terms beside tets.
template <int LANES, bool GENERAL>
static __device__ __forceinline__ void sweep(const hk_gpu_vbd_args &a)
{
    int lane = threadIdx.x % LANES;
    int k = a.first + (int)(blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES);
    bool real_one = k < a.last;
    k = real_one ? k : a.last - 1;  // the rest of the last block repeats its work
    around s = {a.vertex[k], a.start[k], a.start[k + 1], 0};
    bool viscous = GENERAL && a.drag, quadratic = GENERAL && (a.drag || a.term_sums);
    int at = s.first + lane;
    packed item = {};
    if (at < s.last) item = fetch(a, (unsigned)at);
    cudaGridDependencySynchronize();
    const hk_gpu_vbd_control *control = a.control;
    if (control->shared.state != HK_GPU_GOING) return;
    bool blended = GENERAL && control->blended;
    const float4 *from = blended ? a.before : a.q;
    float4 target = a.target[s.vertex];
    hk_fine own = fine_of(from[s.vertex]);
    float3 away = fine_minus(own, fine_of(target, a.target_bits[s.vertex]));
    float sums[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, drag[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    while (at < s.last) {
        element e;
        unpack(a, from, (unsigned)at, item, e);
        float weight = blended ? a.blend[a.twin[at]] : 0;
        at += LANES;
        if (at < s.last) item = fetch(a, (unsigned)at);  // on its way meanwhile
        add_element(e, own, GENERAL ? weight : 0, sums);
    }
    if (viscous) add_drag<LANES>(a, k, lane, from, s.vertex, drag);
    if (GENERAL && a.term_sums && lane == 0)
        for (int n = 0; n < SUMS; n++) drag[n] += a.term_sums[(int64_t)n * a.count + k];
    cudaTriggerProgrammaticLaunchCompletion();
    __syncwarp();
#pragma unroll
    for (int n = 0; n < SUMS; n++) sums[n] = share_sum<LANES>(sums[n]);
    for (int n = 0; n < SUMS && quadratic; n++) {
        drag[n] = share_sum<LANES>(drag[n]);
        sums[n] += drag[n];
    }
    float w = target.w;
    mat3 H = {{{sums[3] + w, sums[4], sums[5]}, {0, sums[6] + w, sums[7]}, {0, 0, sums[8] + w}}};
    vec3 g = {{sums[0] + w * away.x, sums[1] + w * away.y, sums[2] + w * away.z}};
    vec3 whole = solve3_downhill(H, g);
    float3 step = make_float3(whole.v[0], whole.v[1], whole.v[2]);
    float length = 1;
    if (blended) {
        length = (float)vbd_length(&control->vbd, 1);
    } else if (vbd_is_careful(&a.rules, &control->vbd)) {
        __syncwarp();
        s.noise = a.noise[k];
        length = careful_length<LANES>(a, s, own, w, away, step, quadratic ? drag : nullptr);
    }
    if (lane == 0 && real_one) a.q[s.vertex] = fine_place(fine_plus(own, length, step));
}

// As many blocks of a multiprocessor as leave registers enough for the law.
#ifdef HK_GPU_VBD_BLOCKS  // chosen already
#elif ANY_LAW
#define HK_GPU_VBD_BLOCKS 3
#else
#define HK_GPU_VBD_BLOCKS 4
#endif
#define KERNEL(name, lanes, general, blocks)                  \
    static __global__ void __launch_bounds__(THREADS, blocks) \
        name(const __grid_constant__ hk_gpu_vbd_args a)       \
    {                                                         \
        sweep<lanes, general>(a);                             \
    }
KERNEL(sweep_by_8, HK_GPU_VBD_FEWEST, false, HK_GPU_VBD_BLOCKS)
KERNEL(sweep_by_16, 2 * HK_GPU_VBD_FEWEST, false, HK_GPU_VBD_BLOCKS)
KERNEL(sweep_by_32, 4 * HK_GPU_VBD_FEWEST, false, HK_GPU_VBD_BLOCKS)
KERNEL(general_by_8, HK_GPU_VBD_FEWEST, true, 3)
KERNEL(general_by_16, 2 * HK_GPU_VBD_FEWEST, true, 3)
KERNEL(general_by_32, 4 * HK_GPU_VBD_FEWEST, true, 3)

extern "C" const hk_gpu_vbd_kernels JOIN(hk_gpu_vbd_kernels_, HK_GPU_LAW) = {
    {{(const void *)sweep_by_8, (const void *)sweep_by_16, (const void *)sweep_by_32},
     {(const void *)general_by_8, (const void *)general_by_16, (const void *)general_by_32}}};
