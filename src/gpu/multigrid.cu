#include "gpu/multigrid.h"

enum { THREADS = 256, WARP = 32 };

// ---------------------------------------------------------------- rows

// Entries of a row times x, this thread's share of them: LANES threads have a row.
template <int LANES>
static __device__ __forceinline__ float3 add_row(const hk_gpu_rows &m, int row, int lane,
                                                 const float4 *x, float3 sum)
{
    int last = m.start[row + 1];
#pragma unroll 4
    for (int k = m.start[row] + lane; k < last; k += LANES) {
        int2 e = __ldg(m.entries + k);
        float w = __int_as_float(e.y);
        float4 n = x[e.x];
        sum.x += w * n.x, sum.y += w * n.y, sum.z += w * n.z;
    }
    return sum;
}

template <int LANES> static __device__ __forceinline__ float3 add_lanes(float3 a)
{
#pragma unroll
    for (int n = LANES / 2; n > 0; n /= 2) {
        a.x += __shfl_xor_sync(~0u, a.x, n);
        a.y += __shfl_xor_sync(~0u, a.y, n);
        a.z += __shfl_xor_sync(~0u, a.z, n);
    }
    return a;
}

// b' = Pᵀ S b
template <int LANES>
static __global__ void __launch_bounds__(THREADS)
    down_kernel(hk_gpu_rows down, int count, const float4 *from, float4 *to,
                const hk_qn_control *control)
{
    int thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!qn_wants_direction(control)) return;
    float3 sum = make_float3(0, 0, 0);
    if (row < count) sum = add_row<LANES>(down, row, lane, from, sum);
    sum = add_lanes<LANES>(sum);
    if (row < count && lane == 0) to[row] = make_float4(sum.x, sum.y, sum.z, 0);
}

// x = ω (b + S b) + S P x'; root: on the first level.
template <int LANES>
static __global__ void __launch_bounds__(THREADS)
    up_kernel(hk_gpu_level l, const float4 *coarse, const float *root, const hk_qn_control *control)
{
    int thread = blockIdx.x * THREADS + threadIdx.x, row = thread / LANES, lane = thread % LANES;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!qn_wants_direction(control)) return;
    float3 sum = make_float3(0, 0, 0);
    if (row < l.count) {
        sum = add_row<LANES>(l.smooth, row, lane, l.right, sum);
        if (coarse) sum = add_row<LANES>(l.up, row, lane, coarse, sum);
    }
    sum = add_lanes<LANES>(sum);
    if (row >= l.count || lane > 0) return;
    float4 b = l.right[row];
    float scale = root ? root[row] : 1;
    l.solution[row] = make_float4(scale * (sum.x + l.own * b.x), scale * (sum.y + l.own * b.y),
                                  scale * (sum.z + l.own * b.z), 0);
}

// A block has four rows, which share what they read of the right-hand side; rows are filled up to
// multiples of four.
enum { DENSE_ROWS = 4 };
static __global__ void __launch_bounds__(THREADS)
    dense_kernel(const float *dense, int count, const float4 *from, float4 *to, const float *root,
                 const hk_qn_control *control)
{
    __shared__ float3 part[THREADS / WARP][DENSE_ROWS];
    int first = DENSE_ROWS * blockIdx.x, width = (count + 3) / 4;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!qn_wants_direction(control)) return;
    float3 sum[DENSE_ROWS] = {};
    for (int k = threadIdx.x; k < width; k += THREADS) {
        const float4 *n = from + 4 * k;
        float4 a = n[0], b = n[1], c = n[2], d = n[3];
#pragma unroll
        for (int r = 0; r < DENSE_ROWS; r++) {
            float4 w =
                __ldg((const float4 *)dense + (int64_t)width * min(first + r, count - 1) + k);
            sum[r].x += w.x * a.x + w.y * b.x + w.z * c.x + w.w * d.x;
            sum[r].y += w.x * a.y + w.y * b.y + w.z * c.y + w.w * d.y;
            sum[r].z += w.x * a.z + w.y * b.z + w.z * c.z + w.w * d.z;
        }
    }
#pragma unroll
    for (int r = 0; r < DENSE_ROWS; r++) {
        float3 whole = add_lanes<WARP>(sum[r]);
        if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP][r] = whole;
    }
    __syncthreads();
    int row = first + threadIdx.x;
    if (threadIdx.x >= DENSE_ROWS || row >= count) return;
    float3 all = part[0][threadIdx.x];
    for (int w = 1; w < THREADS / WARP; w++) {
        float3 more = part[w][threadIdx.x];
        all.x += more.x, all.y += more.y, all.z += more.z;
    }
    float scale = root ? root[row] : 1;
    to[row] = make_float4(scale * all.x, scale * all.y, scale * all.z, 0);
}

// ---------------------------------------------------------------- the cycle

static int blocks_for(int rows, int lanes)
{
    return (int)(((int64_t)rows * lanes + THREADS - 1) / THREADS);
}

static hk_status launch_down(hk_gpu *g, const hk_gpu_level *l, const hk_gpu_level *next,
                             const hk_qn_control *control)
{
    static const void *const kernels[] = {
        (const void *)down_kernel<4>, (const void *)down_kernel<8>, (const void *)down_kernel<16>,
        (const void *)down_kernel<32>};
    void *args[] = {(void *)&l->down, (void *)&next->count, (void *)&l->right, (void *)&next->right,
                    (void *)&control};
    return hk_gpu_launch_some(g, kernels[l->down_lanes],
                              blocks_for(next->count, 4 << l->down_lanes), THREADS, args);
}

static hk_status launch_up(hk_gpu *g, const hk_gpu_level *l, const float4 *coarse,
                           const float *root, const hk_qn_control *control)
{
    static const void *const kernels[] = {(const void *)up_kernel<4>, (const void *)up_kernel<8>,
                                          (const void *)up_kernel<16>, (const void *)up_kernel<32>};
    void *args[] = {(void *)l, (void *)&coarse, (void *)&root, (void *)&control};
    return hk_gpu_launch_some(g, kernels[l->up_lanes], blocks_for(l->count, 4 << l->up_lanes),
                              THREADS, args);
}

static hk_status launch_dense(hk_gpu *g, const float *dense, const hk_gpu_level *l,
                              const float *root, const hk_qn_control *control)
{
    void *args[] = {(void *)&dense,       (void *)&l->count, (void *)&l->right,
                    (void *)&l->solution, (void *)&root,     (void *)&control};
    return hk_gpu_launch_some(g, (const void *)dense_kernel,
                              (l->count + DENSE_ROWS - 1) / DENSE_ROWS, THREADS, args);
}

hk_status hk_gpu_multigrid_cycle(hk_gpu *g, const hk_gpu_multigrid *m, const hk_qn_control *control)
{
    int last = m->count - 1;
    const hk_gpu_level *l = m->level;
    for (int k = 0; k < last; k++) HK_TRY(launch_down(g, &l[k], &l[k + 1], control));
    const float *root = last == 0 ? m->root : nullptr;
    if (m->dense)
        HK_TRY(launch_dense(g, m->dense, &l[last], root, control));
    else
        HK_TRY(launch_up(g, &l[last], nullptr, root, control));
    for (int k = last - 1; k >= 0; k--)
        HK_TRY(launch_up(g, &l[k], l[k + 1].solution, k == 0 ? m->root : nullptr, control));
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static void pack(const hk_sparse *m, int *start, int2 *entries)
{
    for (int r = 0; r <= m->rows; r++) start[r] = (int)m->start[r];
    for (int64_t k = 0; k < m->start[m->rows]; k++) {
        float value = (float)m->value[k];
        entries[k].x = m->column[k];
        memcpy(&entries[k].y, &value, sizeof value);
    }
}

static hk_status upload_rows(hk_gpu *g, const hk_sparse *m, hk_gpu_rows *to)
{
    if (!m->start) return HK_OK;
    size_t rows = (size_t)m->rows + 1, entries = (size_t)m->start[m->rows];
    if (entries > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": the constant matrix is too large");
    int *start = HK_ARRAY(int, rows);
    int2 *packed = HK_ARRAY(int2, entries);
    hk_status status = start && packed ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        pack(m, start, packed);
        status = hk_gpu_upload(g, start, rows, &to->start);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, packed, entries, &to->entries);
    hk_free(start);
    hk_free(packed);
    return status;
}

// Threads for a row, 4 << this: about four entries for each, more of them where rows are few.
static int lanes_for(double entries, int rows)
{
    int lanes = 0;
    double each = rows < 20000 ? 2 : rows > 100000 ? 5 : 4;
    while (lanes < 3 && entries > each * (4 << lanes)) lanes++;
    return lanes;
}

static double entries_of(const hk_sparse *m)
{
    return m->start && m->rows > 0 ? (double)m->start[m->rows] / m->rows : 0;
}

static hk_status upload_level(hk_gpu *g, const hk_level *from, hk_gpu_level *l)
{
    l->count = from->count;
    l->own = (float)from->own;
    l->up_lanes = lanes_for(entries_of(&from->smooth) + entries_of(&from->up), l->count);
    l->down_lanes = lanes_for(entries_of(&from->down), from->down.rows);
    HK_TRY(upload_rows(g, &from->smooth, &l->smooth));
    HK_TRY(upload_rows(g, &from->down, &l->down));
    HK_TRY(upload_rows(g, &from->up, &l->up));
    HK_TRY(
        hk_gpu_alloc(g, (size_t)l->count + 4, &l->right));  // the dense kernel reads four at once
    return hk_gpu_alloc(g, (size_t)l->count, &l->solution);
}

static hk_status upload_narrow(hk_gpu *g, const double *from, size_t count, const float **to)
{
    float *narrow = HK_ARRAY(float, count);
    if (!narrow) return HK_NO_MEMORY;
    for (size_t k = 0; k < count; k++) narrow[k] = (float)from[k];
    hk_status status = hk_gpu_upload(g, narrow, count, to);
    hk_free(narrow);
    return status;
}

// Rows filled up with zeros to multiples of four numbers.
static hk_status upload_dense(hk_gpu *g, const hk_hierarchy *h, hk_gpu_multigrid *m)
{
    size_t n = (size_t)h->level[h->count - 1].count, width = (n + 3) / 4 * 4;
    float *rows = HK_ZEROS(float, n *width);
    if (!rows) return HK_NO_MEMORY;
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < n; k++) rows[width * r + k] = (float)h->dense[n * r + k];
    hk_status status = hk_gpu_upload(g, rows, n * width, &m->dense);
    hk_free(rows);
    return status;
}

hk_status hk_gpu_multigrid_create(hk_gpu *g, const hk_hierarchy *h, hk_gpu_multigrid *m)
{
    m->count = h->count;
    m->complexity = hk_hierarchy_complexity(h);
    HK_TRY(upload_narrow(g, h->root, (size_t)h->level[0].count, &m->root));
    for (int k = 0; k < h->count; k++) HK_TRY(upload_level(g, &h->level[k], &m->level[k]));
    if (!h->dense) return HK_OK;
    return upload_dense(g, h, m);
}
