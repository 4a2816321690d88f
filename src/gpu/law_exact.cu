// Energy, residual and gradient of one law, HK_GPU_LAW, at a state in double precision, for methods
// that go below what single precision can tell. Positions in single precision err by 3e-8 of the
// body, and what that does to forces grows with the square of the number of elements along it:
// ten million tets of rubber could not feel their weight. Here positions, rest shapes and stresses
// are in double precision; only what the elements contribute to their corners is rounded, once it
// is known. One block of threads works on one patch (layout.h).
#define HK_GPU_EXACT 1
#include "gpu/law_calls.h"
#include "gpu/patch.h"
#include "gpu/split_math.h"

// The one law with a pressure that `split` bounds.
#define IS_BOUNDED_corotated 1
#define IS_BOUNDED_any       1
#define MAY_BE_BOUNDED       JOIN(IS_BOUNDED_, HK_GPU_LAW)

// A vertex in shared memory.
struct exact_vertex {
    double x[3];
};
static_assert(sizeof(exact_vertex) == HK_GPU_EXACT_VERTEX, "kernels.h");

static __device__ __forceinline__ int vertex_room(const patch &b)
{
    return (HK_GPU_EXACT_VERTEX * b.locals + 15) / 16;
}

static __device__ __forceinline__ void load_vertices(const hk_gpu_exact_args &a, const patch &b,
                                                     const reads &r, exact_vertex *to)
{
    for (int l = threadIdx.x, n = 0; l < b.locals; l += THREADS, n++) {
        int v = n < READS ? r.vertex[n] : global_vertex(a.model, b, l);
        for (int i = 0; i < 3; i++) to[l].x[i] = a.state[3 * (int64_t)v + i];
    }
}

static __device__ __forceinline__ void load_exact_batch(const hk_gpu_exact_args &a, int number,
                                                        hk_gpu_exact_batch *batch)
{
    const int *from = (const int *)&a.batches[number];
    for (int k = threadIdx.x; k < (int)(sizeof *batch / sizeof(int)); k += THREADS)
        ((int *)batch)[k] = from[k];
}

// ---------------------------------------------------------------- one element

struct exact_element {
    unsigned corner[4], slot[4];  // the latter × 16: bytes
    bool counts;
    float narrow[3][3];  // shape gradients of corners 1, 2, 3 in its rows, 1/m
    double volume;       // m³
    mat3 F;
};

static __device__ __forceinline__ void open_item(const uint4 &item, exact_element &e)
{
    unsigned word[4] = {item.x, item.y, item.z, item.w};
    for (int c = 0; c < 4; c++) {
        unsigned corner = word[c / 2], slot = word[2 + c / 2];
        e.corner[c] = (c % 2 ? corner >> 16 : corner) & 0x7fff;
        e.slot[c] = (c % 2 ? slot >> 12 : slot << 4) & 0xffff0;
    }
    e.counts = word[0] & 0x8000;
}

static __device__ __forceinline__ void find_gradient(const hk_gpu_exact_args &a, int64_t at,
                                                     const exact_vertex *vertices, exact_element &e)
{
    double numbers[2 * HK_GPU_EXACT_SHAPE];
    for (int k = 0; k < HK_GPU_EXACT_SHAPE; k++) {
        double2 pair = a.shapes[k * a.item_count + at];
        numbers[2 * k] = pair.x, numbers[2 * k + 1] = pair.y;
    }
    const exact_vertex &o = vertices[e.corner[0]];
    e.volume = numbers[9];
    e.F = m3_zero();
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) {
            double edge = vertices[e.corner[c + 1]].x[i] - o.x[i];
            for (int j = 0; j < 3; j++) e.F.m[i][j] += edge * numbers[3 * c + j];
            e.narrow[c][i] = (float)numbers[3 * c + i];
        }
}

// Forces volume P Bᵀ of corners 1..3, and minus their sum at corner 0. Stresses are known now, and
// a rounding error is relative to them: single precision will do.
static __device__ __forceinline__ void leave_forces(unsigned slots, const exact_element &e,
                                                    const float stress[3][3])
{
    float sum[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++) {
        float f[3];
        for (int i = 0; i < 3; i++) {
            f[i] = stress[i][0] * e.narrow[c][0] + stress[i][1] * e.narrow[c][1] +
                   stress[i][2] * e.narrow[c][2];
            sum[i] -= f[i];
        }
        shared_write(slots, e.slot[c + 1], f[0], f[1], f[2]);
    }
    shared_write(slots, e.slot[0], sum[0], sum[1], sum[2]);
}

// The slots of this thread's vertex.
static __device__ __forceinline__ void collect_exact(const patch &b, share_of_round s,
                                                     double sum[3])
{
    unsigned before = (1u << threadIdx.x % WARP) - 1;
    for (int k = 0; __any_sync(~0u, s.count > k); k++) {
        unsigned with = __ballot_sync(~0u, s.count > k);
        int slot = s.count > k ? s.base + __popc(with & before) : HK_KERNEL_ZERO_SLOT;
        float4 f = shared_read(b.slot_address + 16 * slot);
        s.base += __popc(with) + HK_KERNEL_SKEW;
        sum[0] += f.x, sum[1] += f.y, sum[2] += f.z;
    }
}

// ---------------------------------------------------------------- sums

// What a vertex adds to them; it leaves its gradient.
static __device__ __forceinline__ void
take_vertex(const hk_gpu_exact_args &a, int v, const double *x, const double force[3], double *sums)
{
    double elastic[3] = {force[0], force[1], force[2]}, stiffness = a.stiffness[v].w;
    if (a.term_gradient) {
        float4 term = a.term_gradient[v];
        elastic[0] += term.x, elastic[1] += term.y, elastic[2] += term.z;
    }
    a.gradient[v] = make_float4((float)elastic[0], (float)elastic[1], (float)elastic[2], 0);
    double pull[3];
    for (int i = 0; i < 3; i++) {
        double away = x[i] - a.target[3 * (int64_t)v + i];
        pull[i] = stiffness * away;
        double all = elastic[i] + pull[i];
        sums[HK_SUM_QUADRATIC] += 0.5 * pull[i] * away;
        sums[HK_SUM_ELASTIC_FORCE] += elastic[i] * elastic[i];
        if (stiffness > 0) sums[HK_SUM_RESIDUAL] += all * all;
    }
    if (!(a.flags & HK_CHECK_FIRST)) return;
    float4 external = a.force[v];
    const double outside[3] = {external.x, external.y, external.z};
    for (int i = 0; i < 3; i++) {
        double inertia = pull[i] + outside[i];
        sums[HK_SUM_EXTERNAL_FORCE] += outside[i] * outside[i];
        if (stiffness > 0) sums[HK_SUM_INERTIA_FORCE] += inertia * inertia;
    }
}

static __device__ __forceinline__ double combined(int k, double a, double b)
{
    return k != HK_SUM_LEAST_J ? a + b : !(b >= a) ? b : a;  // also NaN
}

// Into shared[0][k] for k < HK_SUM_WIDTH, in a fixed order.
static __device__ __forceinline__ void block_sums(const double *mine, int count,
                                                  double (*shared)[HK_SUM_WIDTH])
{
#pragma unroll
    for (int k = 0; k <= HK_SUM_LEAST_J; k++) {
        if (k >= count) break;
        double s = mine[k];
        for (int n = WARP / 2; n > 0; n /= 2) s = combined(k, s, __shfl_down_sync(~0u, s, n));
        if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP][k] = s;
    }
    __syncthreads();
    if ((int)threadIdx.x < count) {
        double s = shared[0][threadIdx.x];
        for (int w = 1; w < WARPS; w++) s = combined(threadIdx.x, s, shared[w][threadIdx.x]);
        shared[0][threadIdx.x] = s;
    }
    __syncthreads();
}

// True in the block that comes last; then shared[0] holds the sums over all patches.
static __device__ bool all_sums(const hk_gpu_exact_args &a, const double *mine, int count,
                                double (*shared)[HK_SUM_WIDTH])
{
    __shared__ bool last;
    block_sums(mine, count, shared);
    if ((int)threadIdx.x < count) {
        a.partial[(int64_t)blockIdx.x * HK_SUM_WIDTH + threadIdx.x] = shared[0][threadIdx.x];
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(a.finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return false;
    __threadfence();
    double sum[HK_SUM_WIDTH] = {0};
    sum[HK_SUM_LEAST_J] = INFINITY;
    for (int p = threadIdx.x; p < (int)gridDim.x; p += THREADS)
#pragma unroll
        for (int k = 0; k <= HK_SUM_LEAST_J; k++)
            if (k < count)
                sum[k] = combined(k, sum[k], __ldcg(&a.partial[(int64_t)p * HK_SUM_WIDTH + k]));
    __syncthreads();
    block_sums(sum, count, shared);
    return true;
}

static __device__ void conclude(const hk_gpu_exact_args &a, const double *sums)
{
    double terms = 0;
    for (int k = 0; k < a.term_parts && a.term_energy; k++) terms += a.term_energy[k];
    for (int k = 0; k < HK_SUM_WIDTH; k++) a.probe[k] = k == HK_SUM_TERMS ? terms : sums[k];
    *a.finished = 0;
}

// ---------------------------------------------------------------- rest shapes

// The rows of the inverse of the matrix of rest edges, and the volume.
static __global__ void __launch_bounds__(THREADS)
    shapes_kernel(const __grid_constant__ hk_gpu_exact_args a)
{
    extern __shared__ float4 shared[];
    cudaGridDependencySynchronize();
    patch b = patch_of(a.model, shared);
    for (int i = threadIdx.x; i < b.items; i += THREADS) {
        int64_t at = (int64_t)b.item + i;
        exact_element e;
        open_item(a.model.items[at], e);
        double rest[4][3], numbers[2 * HK_GPU_EXACT_SHAPE], det = 0;
        for (int c = 0; c < 4; c++) {
            int64_t v = global_vertex(a.model, b, (int)e.corner[c]);
            for (int k = 0; k < 3; k++) rest[c][k] = a.rest[3 * v + k];
        }
        for (int c = 1; c < 4; c++)
            for (int k = 0; k < 3; k++) rest[c][k] -= rest[0][k];
        for (int c = 0; c < 3; c++) {
            const double *p = rest[1 + (c + 1) % 3], *q = rest[1 + (c + 2) % 3];
            for (int k = 0; k < 3; k++) {
                int l = (k + 1) % 3, m = (k + 2) % 3;
                numbers[3 * c + k] = p[l] * q[m] - p[m] * q[l];
            }
        }
        for (int k = 0; k < 3; k++) det += rest[1][k] * numbers[k];
        for (int k = 0; k < 9; k++) numbers[k] /= det;
        numbers[9] = fabs(det) / 6;
        for (int k = 0; k < HK_GPU_EXACT_SHAPE; k++)
            a.shapes[k * a.item_count + at] = make_double2(numbers[2 * k], numbers[2 * k + 1]);
    }
}

// ---------------------------------------------------------------- the kernel

#ifndef EXACT_BLOCKS
#define EXACT_BLOCKS 2
#endif
static __global__ void __launch_bounds__(THREADS, LAW_DECOMPOSES ? 1 : EXACT_BLOCKS)
    exact_kernel(const __grid_constant__ hk_gpu_exact_args a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_exact_batch batch;
    __shared__ double totals[WARPS][HK_SUM_WIDTH];
    const hk_gpu_model &m = a.model;
    patch b = patch_of(m, shared);
    exact_vertex *vertices = (exact_vertex *)shared;
    b.slot = shared + vertex_room(b);
    b.slot_address = b.position_address + 16 * vertex_room(b);
    reads reading = reads_of(m, b);
    if (threadIdx.x == 0) b.slot[HK_KERNEL_ZERO_SLOT] = make_float4(0, 0, 0, 0);
    cudaGridDependencySynchronize();
    if (a.now && a.now->state != HK_GPU_GOING) {
        cudaTriggerProgrammaticLaunchCompletion();
        return;
    }
    load_vertices(a, b, reading, vertices);
    double force[3] = {0, 0, 0}, sums[HK_SUM_WIDTH] = {0};
    sums[HK_SUM_LEAST_J] = INFINITY;
    for (int r = 0; r < b.rounds; r++) {
        hk_gpu_round_data round = m.rounds[b.round + r];
        share_of_round mine = share_in(m, b, round);
        __syncthreads();
        load_exact_batch(a, round.batch, &batch);
        __syncthreads();
        uint4 item = m.items[(int64_t)b.item + min(round.first + (int)threadIdx.x, b.items - 1)];
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            int64_t at = (int64_t)b.item + i;
            exact_element e;
            open_item(item, e);
            find_gradient(a, at, vertices, e);
            if (i + THREADS < round.last) item = m.items[at + THREADS];
            float values[4];
            values_of(m.element, at, values);
            double element[4] = {values[0], values[1], values[2], values[3]};
            mat3 P, H = m3_displacement(e.F);
            double psi =
                law_energy_stress(batch.law, (const hk_law_params *)batch.c, element, &H, &P);
#if MAY_BE_BOUNDED
            if (a.bounded && batch.law == HK_LAW_corotated)
                split_bound_stress(batch.c[0], batch.c[1], &e.F.m[0][0], &P.m[0][0]);
#endif
            float stress[3][3];
            for (int k = 0; k < 9; k++)
                stress[k / 3][k % 3] = (float)(e.volume * P.m[k / 3][k % 3]);
            leave_forces(b.slot_address, e, stress);
            if (!e.counts) continue;
            sums[HK_SUM_ELASTIC] += e.volume * psi;
            sums[HK_SUM_LEAST_J] = combined(HK_SUM_LEAST_J, sums[HK_SUM_LEAST_J], m3_det(e.F));
        }
        __syncthreads();
        collect_exact(b, mine, force);
    }
    cudaTriggerProgrammaticLaunchCompletion();
    if (b.rounds == 0) __syncthreads();
    if ((int)threadIdx.x < b.own)
        take_vertex(a, b.first + threadIdx.x, vertices[threadIdx.x].x, force, sums);
    int count = a.flags & HK_CHECK_FIRST ? HK_SUM_LEAST_J + 1 : HK_SUM_ELASTIC_FORCE + 1;
    if (all_sums(a, sums, count, totals) && threadIdx.x == 0) conclude(a, totals[0]);
}

extern "C" const hk_gpu_exact_kernels JOIN(hk_gpu_exact_, HK_GPU_LAW) = {
    (const void *)shapes_kernel, (const void *)exact_kernel};
