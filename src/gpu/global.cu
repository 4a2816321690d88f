#include "gpu/global.h"

enum { THREADS = 128, WARP = 32, WARPS = 8 };
// The most numbers that an inverse factor may have.
static const int64_t g_most_numbers = 4000000000;

static __device__ __forceinline__ bool is_wanted(const hk_qn_control *c)
{
    return c->accepted && c->base.state == HK_GPU_GOING;
}

// ---------------------------------------------------------------- Chebyshev

// x⁺ = x₋ + ω (w D⁻¹(b − A x) + x − x₋), over x₋ (Golub & Varga 1961). At the first, x₋ = 0.
static __global__ void __launch_bounds__(THREADS)
    sweep_kernel(const hk_gpu_global a, const hk_qn_control *control, const float4 *right,
                 const float4 *x, float4 *before, float omega, bool first)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    int slice = v / WARP, k = 0, last = 0;
    if (v < a.count) {
        k = a.start[slice] + v % WARP;
        last = a.start[slice + 1];
    }
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (v >= a.count || !is_wanted(control)) return;
    float4 b = right[v], q = x[v], old = first ? make_float4(0, 0, 0, 0) : before[v];
    float inverse = a.inverse[v];
    float sum[3] = {inverse * b.x - q.x, inverse * b.y - q.y, inverse * b.z - q.z};
#pragma unroll 4
    for (; k < last; k += WARP) {
        int2 e = __ldg((const int2 *)a.entries + k);
        float4 n = x[e.x];
        float w = __int_as_float(e.y);
        sum[0] -= w * n.x;
        sum[1] -= w * n.y;
        sum[2] -= w * n.z;
    }
    bool free = inverse > 0;
    before[v] =
        make_float4(free ? old.x + omega * (a.chebyshev.first * sum[0] + q.x - old.x) : 0,
                    free ? old.y + omega * (a.chebyshev.first * sum[1] + q.y - old.y) : 0,
                    free ? old.z + omega * (a.chebyshev.first * sum[2] + q.z - old.z) : 0, 0);
}

static hk_status sweep(hk_gpu *g, const hk_gpu_global *a, const hk_qn_control *control,
                       const float4 *right)
{
    int blocks = (a->count + THREADS - 1) / THREADS;
    float omega = 1;
    for (int k = 1; k < a->chebyshev.inner; k++) {
        omega = hk_gpu_omega(&a->chebyshev, k, omega);
        const float4 *x = a->iterate[(k + 1) % 2];
        float4 *before = a->iterate[k % 2];
        bool first = k == 1;
        void *args[] = {(void *)a,       (void *)&control, (void *)&right, (void *)&x,
                        (void *)&before, (void *)&omega,   (void *)&first};
        HK_TRY(hk_gpu_launch_some(g, (const void *)sweep_kernel, blocks, THREADS, args));
    }
    return HK_OK;
}

static hk_status set_up_chebyshev(hk_gpu *g, const hk_gpu_laplacian *l, int inner, hk_gpu_global *a)
{
    size_t n = (size_t)l->count, slices = (size_t)hk_gpu_slices(l);
    static_assert(sizeof(hk_gpu_entry) == sizeof(hk_gpu_entry_data), "entries");
    static_assert(sizeof(hk_gpu_entry) == sizeof(int2), "an entry is one load");
    HK_TRY(hk_gpu_upload(g, l->start, slices + 1, &a->start));
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_entry_data *)l->entries, (size_t)l->start[slices],
                         &a->entries));
    HK_TRY(hk_gpu_upload(g, l->inverse, n, &a->inverse));
    for (int k = 0; k < 2; k++) HK_TRY(hk_gpu_room(g, n, &a->iterate[k]));
    a->chebyshev = hk_gpu_plan_chebyshev(l, inner);
    return HK_OK;
}

// ---------------------------------------------------------------- the inverse factor

// Parts of S b: a warp computes some rows over some columns.
static __global__ void __launch_bounds__(WARP *WARPS)
    forward_kernel(const hk_gpu_global a, const hk_qn_control *control)
{
    enum { ROWS = HK_GPU_TASK_ROWS };
    int number = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    hk_gpu_task_data t = {};
    if (number < a.task_count) t = a.tasks[number];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (number >= a.task_count || !is_wanted(control)) return;
    float sum[ROWS][3] = {};
    const float *value = a.value + t.value;
    const float4 *right = a.right + t.column;
#pragma unroll 2
    for (int c = lane; c < t.columns; c += WARP) {
        float4 b = right[c];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (r >= t.rows) break;
            float s = __ldg(value + (int64_t)r * t.width + c);
            sum[r][0] += s * b.x;
            sum[r][1] += s * b.y;
            sum[r][2] += s * b.z;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= t.rows) break;
#pragma unroll
        for (int k = WARP / 2; k > 0; k /= 2)
            for (int i = 0; i < 3; i++) sum[r][i] += __shfl_down_sync(~0u, sum[r][i], k);
        if (lane == 0)
            a.part[(int64_t)number * ROWS + r] = make_float4(sum[r][0], sum[r][1], sum[r][2], 0);
    }
}

static __global__ void __launch_bounds__(THREADS)
    add_kernel(const hk_gpu_global a, const hk_qn_control *control)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (k >= a.free_count || !is_wanted(control)) return;
    float sum[3] = {0, 0, 0};
    int64_t from = a.row_task[k];
    for (int n = 0; n < a.row_parts[k]; n++) {
        float4 p = a.part[from + (int64_t)n * HK_GPU_TASK_ROWS];
        sum[0] += p.x;
        sum[1] += p.y;
        sum[2] += p.z;
    }
    a.middle[k] = make_float4(sum[0], sum[1], sum[2], 0);
}

// Sᵀ y: a block does a tile of columns, each of its warps every eighth row.
static __global__ void __launch_bounds__(WARP *WARPS)
    backward_kernel(const hk_gpu_global a, const hk_qn_control *control)
{
    __shared__ float room[WARPS][3][WARP];
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int column = blockIdx.x * HK_GPU_TILE + lane;
    int begin = a.segment_start[blockIdx.x], end = a.segment_start[blockIdx.x + 1];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!is_wanted(control)) return;
    float sum[3] = {0, 0, 0};
    for (int n = begin; n < end; n++) {
        hk_gpu_segment_data s = a.segments[n];
        if (column < s.first || column >= s.last) continue;
        const float *value = a.value + s.value + column;
#pragma unroll 4
        for (int r = warp; r < s.rows; r += WARPS) {
            float4 y = a.middle[s.row + r];
            float w = __ldg(value + (int64_t)r * s.width);
            sum[0] += w * y.x;
            sum[1] += w * y.y;
            sum[2] += w * y.z;
        }
    }
    for (int i = 0; i < 3; i++) room[warp][i][lane] = sum[i];
    __syncthreads();
    if (warp > 0 || column >= a.free_count) return;
    for (int w = 1; w < WARPS; w++)
        for (int i = 0; i < 3; i++) sum[i] += room[w][i][lane];
    a.solution[a.vertex[column]] = make_float4(sum[0], sum[1], sum[2], 0);
}

static hk_status multiply(hk_gpu *g, const hk_gpu_global *a, const hk_qn_control *control)
{
    void *args[] = {(void *)a, (void *)&control};
    int tiles = (a->free_count + HK_GPU_TILE - 1) / HK_GPU_TILE;
    if (tiles == 0) return HK_OK;
    HK_TRY(hk_gpu_launch_some(g, (const void *)forward_kernel, (a->task_count + WARPS - 1) / WARPS,
                              WARP * WARPS, args));
    HK_TRY(hk_gpu_launch_some(g, (const void *)add_kernel, (a->free_count + THREADS - 1) / THREADS,
                              THREADS, args));
    return hk_gpu_launch_some(g, (const void *)backward_kernel, tiles, WARP * WARPS, args);
}

static hk_status set_up_inverse(hk_gpu *g, const hk_gpu_inverse *s, hk_gpu_global *a)
{
    size_t n = (size_t)s->count, all = (size_t)g->model->vertex_count;
    int tiles = (s->count + HK_GPU_TILE - 1) / HK_GPU_TILE;
    static_assert(sizeof(hk_gpu_task) == sizeof(hk_gpu_task_data), "tasks");
    static_assert(sizeof(hk_gpu_segment) == sizeof(hk_gpu_segment_data), "segments");
    int *unknown = HK_ARRAY(int, all);
    if (!unknown) return HK_NO_MEMORY;
    for (size_t k = 0; k < all; k++) unknown[k] = -1;
    for (int k = 0; k < s->count; k++) unknown[s->vertex[k]] = k;
    hk_status status = hk_gpu_upload(g, unknown, all, &a->unknown);
    hk_free(unknown);
    HK_TRY(status);
    HK_TRY(hk_gpu_room(g, all, &a->solution));
    if (s->count == 0) return HK_OK;
    a->free_count = s->count;
    a->task_count = s->task_count;
    a->size = s->size;
    HK_TRY(hk_gpu_upload(g, s->vertex, n, &a->vertex));
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_task_data *)s->tasks, (size_t)s->task_count, &a->tasks));
    HK_TRY(hk_gpu_upload(g, s->row_task, n, &a->row_task));
    HK_TRY(hk_gpu_upload(g, s->row_parts, n, &a->row_parts));
    HK_TRY(hk_gpu_upload(g, s->segment_start, (size_t)tiles + 1, &a->segment_start));
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_segment_data *)s->segments, (size_t)s->segment_count,
                         &a->segments));
    HK_TRY(hk_gpu_upload(g, s->value, (size_t)s->size, &a->value));
    HK_TRY(hk_gpu_room(g, n, &a->right));
    HK_TRY(hk_gpu_room(g, n, &a->middle));
    return hk_gpu_room(g, (size_t)s->task_count * HK_GPU_TASK_ROWS, &a->part);
}

// ---------------------------------------------------------------- either

static hk_status create_chebyshev(hk_gpu *g, const hk_gpu_matrix *matrix, int inner,
                                  hk_gpu_global *a)
{
    hk_gpu_laplacian *l;
    HK_TRY(hk_gpu_laplacian_create(matrix, &l));
    hk_status status = set_up_chebyshev(g, l, inner, a);
    hk_gpu_laplacian_free(l);
    return status;
}

static hk_status create_inverse(hk_gpu *g, const hk_gpu_matrix *matrix, int64_t most,
                                hk_gpu_global *a)
{
    hk_gpu_inverse *s;
    HK_TRY(hk_gpu_inverse_create(matrix, most, &s));
    hk_status status = set_up_inverse(g, s, a);
    hk_gpu_inverse_free(s);
    return status;
}

hk_status hk_gpu_global_create(hk_gpu *g, const double *weight, int kind, int inner,
                               hk_gpu_global *a)
{
    hk_gpu_matrix matrix = {
        g->model, g->layout->place, weight, 1 / (g->step * g->step), g->damping.air / g->step, 0};
    a->count = g->model->vertex_count;
    // `auto`: on an H200 Chebyshev's iterations got to 1e-3 sooner in bodies of 58 thousand tets
    // and of 319 thousand, and need no set-up.
    if (kind == HK_GLOBAL_INVERSE) return create_inverse(g, &matrix, g_most_numbers, a);
    return create_chebyshev(g, &matrix, inner, a);
}

// Chebyshev's right-hand side is read again by every iteration.
hk_status hk_gpu_global_solve(hk_gpu *g, const hk_gpu_global *a, const hk_qn_control *control,
                              const float4 *right)
{
    return a->inverse ? sweep(g, a, control, right) : multiply(g, a, control);
}

float4 *hk_gpu_global_solution(const hk_gpu_global *a)
{
    return a->inverse ? a->iterate[(a->chebyshev.inner + 1) % 2] : a->solution;
}
