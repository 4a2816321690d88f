// Energy, residual and gradient of one law, HK_GPU_LAW, at a state in double precision, for methods
// that go below what single precision can tell. Positions in single precision err by 3e-8 of the
// body, and what that does to forces grows with the square of the number of elements along it:
// ten million tets of rubber could not feel their weight. Here positions, rest shapes and stresses
// are in double precision; only what the elements contribute to their corners is rounded, once it
// is known. One block of threads works on one patch (layout.h).
#define HK_GPU_EXACT 1
#include "gpu/law_calls.h"
#include "gpu/patch.h"

// A vertex in shared memory: where it is, and where it is at rest.
struct exact_vertex {
    double x[3], rest[3];
};
static_assert(sizeof(exact_vertex) == 16 * HK_GPU_EXACT_ROOM, "kernels.h");

static __device__ __forceinline__ void load_vertices(const hk_gpu_exact_args &a, const patch &b,
                                                     const reads &r, exact_vertex *to)
{
    for (int l = threadIdx.x, n = 0; l < b.locals; l += THREADS, n++) {
        int v = n < READS ? r.vertex[n] : global_vertex(a.model, b, l);
        for (int i = 0; i < 3; i++) {
            to[l].x[i] = a.state[3 * (int64_t)v + i];
            to[l].rest[i] = a.rest[3 * (int64_t)v + i];
        }
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
    unsigned corner[4], slot[4];
    bool counts;
    mat3 shape;     // shape gradients of corners 1, 2, 3 in its rows, 1/m
    double volume;  // m³
    mat3 F;
};

static __device__ __forceinline__ exact_element open_element(const uint4 &item,
                                                             const exact_vertex *vertices)
{
    exact_element e;
    unsigned word[4] = {item.x, item.y, item.z, item.w};
    for (int c = 0; c < 4; c++) {
        unsigned corner = word[c / 2], slot = word[2 + c / 2];
        e.corner[c] = (c % 2 ? corner >> 16 : corner) & 0x7fff;
        e.slot[c] = (c % 2 ? slot >> 12 : slot << 4) & 0xffff0;
    }
    e.counts = word[0] & 0x8000;
    const exact_vertex &o = vertices[e.corner[0]];
    vec3 rest[3];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) rest[c].v[i] = vertices[e.corner[c + 1]].rest[i] - o.rest[i];
    // Rows of the inverse of the matrix of rest edges.
    double det = 0;
    for (int c = 0; c < 3; c++) {
        const vec3 &p = rest[(c + 1) % 3], &q = rest[(c + 2) % 3];
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            e.shape.m[c][i] = p.v[j] * q.v[k] - p.v[k] * q.v[j];
        }
        if (c == 0)
            for (int i = 0; i < 3; i++) det += rest[0].v[i] * e.shape.m[0][i];
    }
    double inverse = 1 / det;
    e.volume = fabs(det) / 6;
    e.F = m3_zero();
    for (int c = 0; c < 3; c++) {
        const exact_vertex &p = vertices[e.corner[c + 1]];
        for (int i = 0; i < 3; i++) e.shape.m[c][i] *= inverse;
        for (int i = 0; i < 3; i++) {
            double edge = p.x[i] - o.x[i];
            for (int j = 0; j < 3; j++) e.F.m[i][j] += edge * e.shape.m[c][j];
        }
    }
    return e;
}

static __device__ __forceinline__ void leave_forces(unsigned slots, const exact_element &e,
                                                    const mat3 &P)
{
    double sum[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++) {
        double f[3];
        for (int i = 0; i < 3; i++) {
            f[i] = 0;
            for (int j = 0; j < 3; j++) f[i] += P.m[i][j] * e.shape.m[c][j];
            f[i] *= e.volume;
            sum[i] -= f[i];
        }
        shared_write(slots, e.slot[c + 1], (float)f[0], (float)f[1], (float)f[2]);
    }
    shared_write(slots, e.slot[0], (float)sum[0], (float)sum[1], (float)sum[2]);
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
static __device__ __forceinline__ void take_vertex(const hk_gpu_exact_args &a, int v,
                                                   const double *x, const double force[3],
                                                   double *sums)
{
    double elastic[3] = {force[0], force[1], force[2]}, stiffness = a.stiffness[v].w;
    if (a.term_gradient) {
        float4 term = a.term_gradient[v];
        elastic[0] += term.x, elastic[1] += term.y, elastic[2] += term.z;
    }
    a.gradient[v] = make_float4((float)elastic[0], (float)elastic[1], (float)elastic[2], 0);
    float4 external = a.force[v];
    const double outside[3] = {external.x, external.y, external.z};
    for (int i = 0; i < 3; i++) {
        double away = x[i] - a.target[3 * (int64_t)v + i], pull = stiffness * away;
        sums[HK_SUM_ELASTIC_FORCE] += elastic[i] * elastic[i];
        sums[HK_SUM_EXTERNAL_FORCE] += outside[i] * outside[i];
        if (!(stiffness > 0)) continue;
        double all = elastic[i] + pull, inertia = pull + outside[i];
        sums[HK_SUM_INERTIA_FORCE] += inertia * inertia;
        sums[HK_SUM_RESIDUAL] += all * all;
        sums[HK_SUM_QUADRATIC] += 0.5 * pull * away;
    }
}

static __device__ __forceinline__ double combined(int k, double a, double b)
{
    return k != HK_SUM_LEAST_J ? a + b : !(b >= a) ? b : a;  // also NaN
}

// Into shared[0][k] for k < HK_SUM_WIDTH, in a fixed order.
static __device__ __forceinline__ void block_sums(const double *mine,
                                                  double (*shared)[HK_SUM_WIDTH])
{
    for (int k = 0; k <= HK_SUM_LEAST_J; k++) {
        double s = mine[k];
        for (int n = WARP / 2; n > 0; n /= 2) s = combined(k, s, __shfl_down_sync(~0u, s, n));
        if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP][k] = s;
    }
    __syncthreads();
    if ((int)threadIdx.x <= HK_SUM_LEAST_J) {
        double s = shared[0][threadIdx.x];
        for (int w = 1; w < WARPS; w++) s = combined(threadIdx.x, s, shared[w][threadIdx.x]);
        shared[0][threadIdx.x] = s;
    }
    __syncthreads();
}

// True in the block that comes last; then shared[0] holds the sums over all patches.
static __device__ bool all_sums(const hk_gpu_exact_args &a, const double *mine,
                                double (*shared)[HK_SUM_WIDTH])
{
    __shared__ bool last;
    block_sums(mine, shared);
    if ((int)threadIdx.x <= HK_SUM_LEAST_J) {
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
        for (int k = 0; k <= HK_SUM_LEAST_J; k++)
            sum[k] = combined(k, sum[k], __ldcg(&a.partial[(int64_t)p * HK_SUM_WIDTH + k]));
    __syncthreads();
    block_sums(sum, shared);
    return true;
}

static __device__ void conclude(const hk_gpu_exact_args &a, const double *sums)
{
    double terms = 0;
    for (int k = 0; k < a.term_parts && a.term_energy; k++) terms += a.term_energy[k];
    for (int k = 0; k < HK_SUM_WIDTH; k++) a.probe[k] = k == HK_SUM_TERMS ? terms : sums[k];
    *a.finished = 0;
}

// ---------------------------------------------------------------- the kernel

static __global__ void __launch_bounds__(THREADS, LAW_DECOMPOSES ? 1 : 2)
    exact_kernel(const __grid_constant__ hk_gpu_exact_args a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_exact_batch batch;
    __shared__ double totals[WARPS][HK_SUM_WIDTH];
    const hk_gpu_model &m = a.model;
    patch b = patch_of(m, shared);
    exact_vertex *vertices = (exact_vertex *)shared;
    b.slot = shared + HK_GPU_EXACT_ROOM * b.locals;
    b.slot_address = b.position_address + 16 * HK_GPU_EXACT_ROOM * b.locals;
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
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            int64_t at = (int64_t)b.item + i;
            exact_element e = open_element(m.items[at], vertices);
            float values[4];
            values_of(m.element, at, values);
            double element[4] = {values[0], values[1], values[2], values[3]};
            mat3 P;
            double psi =
                law_energy_stress(batch.law, (const hk_law_params *)batch.c, element, &e.F, &P);
            leave_forces(b.slot_address, e, P);
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
    if (all_sums(a, sums, totals) && threadIdx.x == 0) conclude(a, totals[0]);
}

extern "C" const void *const JOIN(hk_gpu_exact_, HK_GPU_LAW) = (const void *)exact_kernel;
