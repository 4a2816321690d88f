#include "gpu/spin.h"
#include "gpu/sums.h"

extern "C" {
#include "rules/spin.h"
}

enum { THREADS = HK_SUM_THREADS, WARP = HK_SUM_WARP, WARPS = HK_SUM_WARPS };
enum { CHUNK = 1024, MOST_RUNS = 528 };
enum { COLUMNS = 3 * HK_SPIN_MOST, SMALL = 48 };
enum { CYCLES = 3 };      // solves for P, as on the CPU
enum { FEW_BODIES = 4 };  // that the last block of a kernel takes care of

// ---------------------------------------------------------------- rotations

// A block for every cluster: its mean gradient, rotation and compliance.
static __global__ void __launch_bounds__(THREADS)
    rotation_kernel(const __grid_constant__ hk_gpu_spins s, const double *x)
{
    __shared__ double room[HK_SUM_WARPS][9];
    cudaGridDependencySynchronize();
    int at = blockIdx.x, cluster = at % s.most, body = at / s.most;
    if (cluster >= s.clusters[body]) return;
    double F[9] = {0};
    for (int e = s.entry_start[at] + threadIdx.x; e < s.entry_start[at + 1]; e += THREADS) {
        const double *p = x + 3 * (int64_t)s.entry_vertex[e],
                     *slope = s.entry_slope + 3 * (int64_t)e;
        for (int i = 0; i < 9; i++) F[i] += p[i / 3] * slope[i % 3];
    }
    block_sums<9>(F, room);
    if (threadIdx.x > 0) return;
    double R[9];
    s.compliance[at] = spin_compliance(s.weight[at], spin_rotation(room[0], R));
    for (int i = 0; i < 9; i++) s.rotation[9 * (int64_t)at + i] = R[i];
}

// C⁻¹ − B Q, block by block.
static __device__ void fill_matrix(const hk_gpu_spins &s, int body, double *a)
{
    int clusters = s.clusters[body], width = 3 * s.most;
    const double *tau = s.tau + (int64_t)body * width * width;
    const double *rotation = s.rotation + 9 * (int64_t)body * s.most;
    for (int cd = threadIdx.x; cd < clusters * clusters; cd += THREADS) {
        int c = cd / clusters, d = cd % clusters;
        double block[9];
        spin_block(tau + 3 * c * width + 3 * d, width, rotation + 9 * c, rotation + 9 * d, block);
        for (int i = 0; i < 9; i++) {
            double own = c == d && i % 4 == 0 ? s.compliance[body * s.most + c] : 0;
            a[(3 * c + i / 3) * width + 3 * d + i % 3] = own - block[i];
        }
    }
    __syncthreads();
}

// The inverse of a positive definite matrix of n rows in place, by Gauss and Jordan; false in all
// threads: a pivot is not above `least`.
static __device__ bool invert(double *a, int n, int width, double least)
{
    for (int k = 0; k < n; k++) {
        double pivot = a[k * width + k];
        if (!(pivot > least)) return false;
        for (int ij = threadIdx.x; ij < n * n; ij += THREADS) {
            int i = ij / n, j = ij % n;
            if (i != k && j != k) a[i * width + j] -= a[i * width + k] * a[k * width + j] / pivot;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += THREADS) {
            if (i == k) continue;
            a[k * width + i] /= pivot;
            a[i * width + k] /= -pivot;
        }
        if (threadIdx.x == 0) a[k * width + k] = 1 / pivot;
        __syncthreads();
    }
    return true;
}

// Small ones in shared memory.
static __global__ void __launch_bounds__(THREADS)
    matrix_kernel(const __grid_constant__ hk_gpu_spins s)
{
    __shared__ double room[SMALL * SMALL];
    cudaGridDependencySynchronize();
    int body = blockIdx.x, n = 3 * s.clusters[body], width = 3 * s.most;
    double *to = s.inverse + (int64_t)body * width * width, least = 1e300;
    double *a = width <= SMALL ? room : to;
    for (int c = 0; c < s.clusters[body]; c++)
        least = fmin(least, 1e-9 / s.weight[body * s.most + c]);
    fill_matrix(s, body, a);
    bool corrects = invert(a, n, width, least);
    __syncthreads();
    for (int k = threadIdx.x; k < n * width; k += THREADS) to[k] = corrects ? a[k] : 0;
}

hk_status hk_gpu_spins_turn(hk_gpu *g, const hk_gpu_spins *s, const double *x)
{
    if (s->body_count == 0) return HK_OK;
    void *rotations[] = {(void *)s, (void *)&x}, *matrices[] = {(void *)s};
    HK_TRY(hk_gpu_launch_some(g, (const void *)rotation_kernel, s->body_count * s->most, THREADS,
                              rotations));
    return hk_gpu_launch_some(g, (const void *)matrix_kernel, s->body_count, THREADS, matrices);
}

// ---------------------------------------------------------------- solves

// u = Pᵀ q of a body from its runs, [3][n], in a fixed order.
static __device__ void add_runs(const hk_gpu_spins &s, int body, int n, double *u)
{
    __shared__ double part[3 * COLUMNS];
    int groups = max(1, THREADS / (3 * n));
    for (int at = threadIdx.x; at < groups * 3 * n; at += THREADS) {
        double sum = 0;
        for (int r = s.run_start[body] + at / (3 * n); r < s.run_start[body + 1]; r += groups)
            sum += __ldcg(&s.partial[9 * (int64_t)s.most * r + at % (3 * n)]);
        part[at] = sum;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 3 * n; k += THREADS) {
        double sum = 0;
        for (int group = 0; group < groups; group++) sum += part[group * 3 * n + k];
        u[k % 3 * n + k / 3] = sum;
    }
    __syncthreads();
}

// z = (C⁻¹ − B Q)⁻¹ Qᵀ q, and what columns are multiplied with.
static __device__ void solve_body(const hk_gpu_spins &s, int body)
{
    __shared__ double u[3 * COLUMNS], spin[COLUMNS], z[COLUMNS];
    int n = 3 * s.clusters[body], width = 3 * s.most;
    const double *rotation = s.rotation + 9 * (int64_t)body * s.most;
    const double *inverse = s.inverse + (int64_t)body * width * width;
    add_runs(s, body, n, u);
    for (int i = threadIdx.x; i < n; i += THREADS)
        spin[i] = spin_of(rotation + 9 * (i / 3), u + i / 3 * 3, n, i % 3);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += THREADS) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += inverse[k * width + i] * spin[k];
        z[i] = sum;
    }
    __syncthreads();
    float *turn = s.turn + 3 * (int64_t)width * body;
    for (int k = threadIdx.x; k < 3 * n; k += THREADS) {
        int i = k / n, p = k % n;
        turn[i * width + p] = (float)spin_turn(rotation + 9 * (p / 3), z + p / 3 * 3, i, p % 3);
    }
    __syncthreads();
}

// Pᵀ q over the vertices of a run: a warp has every so many-th column. Of few bodies the last block
// solves, too.
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ hk_gpu_spins s, const hk_qn_control *control,
                  const float4 *right)
{
    __shared__ float4 q[CHUNK];
    __shared__ double sums[COLUMNS][3];
    hk_gpu_spin_run run = s.runs[blockIdx.x];
    int n = 3 * s.clusters[run.body], warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int k = threadIdx.x; k < 3 * n; k += THREADS) sums[k / 3][k % 3] = 0;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!qn_wants_direction(control)) return;
    for (int first = run.first; first < run.last; first += CHUNK) {
        int count = min(CHUNK, run.last - first);
        __syncthreads();
        for (int k = threadIdx.x; k < count; k += THREADS) q[k] = right[first + k];
        __syncthreads();
        for (int p = warp; p < n; p += WARPS) {
            const float *column = s.columns + (int64_t)p * s.vertex_count + first;
            float sum[3] = {0, 0, 0};
            for (int k = lane; k < count; k += WARP) {
                float w = column[k];
                float4 b = q[k];
                sum[0] += w * b.x, sum[1] += w * b.y, sum[2] += w * b.z;
            }
            for (int i = 0; i < 3; i++) {
                double all = warp_sum(sum[i]);
                if (lane == 0) sums[p][i] += all;
            }
        }
    }
    __syncthreads();
    double *to = s.partial + 9 * (int64_t)s.most * blockIdx.x;
    for (int k = threadIdx.x; k < 3 * n; k += THREADS) {
        to[k] = sums[k / 3][k % 3];
        __threadfence();
    }
    if (s.body_count > FEW_BODIES) return;
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(s.finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int body = 0; body < s.body_count; body++) solve_body(s, body);
    if (threadIdx.x == 0) *s.finished = 0;
}

static __global__ void __launch_bounds__(THREADS)
    solve_kernel(const __grid_constant__ hk_gpu_spins s, const hk_qn_control *control)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (qn_wants_direction(control)) solve_body(s, blockIdx.x);
}

static __global__ void __launch_bounds__(THREADS)
    add_kernel(const __grid_constant__ hk_gpu_spins s, const hk_qn_control *control, float4 *to)
{
    __shared__ float turn[3][COLUMNS];
    hk_gpu_spin_run run = s.runs[blockIdx.x];
    int n = 3 * s.clusters[run.body], width = 3 * s.most;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!qn_wants_direction(control)) return;
    for (int k = threadIdx.x; k < 3 * n; k += THREADS)
        turn[k / n][k % n] = s.turn[3 * (int64_t)width * run.body + k / n * width + k % n];
    __syncthreads();
    for (int v = run.first + threadIdx.x; v < run.last; v += THREADS) {
        float4 t = to[v];
#pragma unroll 4
        for (int p = 0; p < n; p++) {
            float w = s.columns[(int64_t)p * s.vertex_count + v];
            t.x += w * turn[0][p], t.y += w * turn[1][p], t.z += w * turn[2][p];
        }
        to[v] = t;
    }
}

hk_status hk_gpu_spins_correct(hk_gpu *g, const hk_gpu_spins *s, const hk_qn_control *control,
                               const float4 *q, float4 *t)
{
    if (s->body_count == 0) return HK_OK;
    void *gather[] = {(void *)s, (void *)&control, (void *)&q};
    void *solve[] = {(void *)s, (void *)&control};
    void *add[] = {(void *)s, (void *)&control, (void *)&t};
    HK_TRY(hk_gpu_launch_some(g, (const void *)gather_kernel, s->run_count, THREADS, gather));
    if (s->body_count > FEW_BODIES)
        HK_TRY(hk_gpu_launch_some(g, (const void *)solve_kernel, s->body_count, THREADS, solve));
    return hk_gpu_launch_some(g, (const void *)add_kernel, s->run_count, THREADS, add);
}

// ---------------------------------------------------------------- creation

struct solving {
    const hk_gpu_matrix *matrix;
    const hk_gpu_triangle *numbers;
    hk_multigrid *multigrid;
};

static hk_status solve_well(void *context, const double *right, double *x)
{
    const solving *s = (const solving *)context;
    return hk_gpu_triangle_solve(s->matrix, s->numbers, s->multigrid, CYCLES, right, x);
}

static hk_status upload_runs(hk_gpu *g, const hk_spin_bodies *from, hk_gpu_spins *s)
{
    int n = g->model->vertex_count, chunks = (n + CHUNK - 1) / CHUNK, count = 0;
    int size = CHUNK * ((chunks + MOST_RUNS - 1) / MOST_RUNS);
    hk_gpu_spin_run *runs = HK_ARRAY(hk_gpu_spin_run, chunks + from->count);
    int *start = HK_ARRAY(int, from->count + 1);
    hk_status status = runs && start ? HK_OK : HK_NO_MEMORY;
    for (int b = 0; b < from->count && status == HK_OK; b++) {
        // The vertices of a body follow each other in the order of the patches.
        const hk_body *body = &g->model->bodies[from->body[b].body];
        int first = n;
        for (int k = 0; k < body->vertex_count; k++)
            first = hk_min_int(first, g->number[g->model->place[body->vertex_start + k]]);
        start[b] = count;
        for (int v = first; v < first + body->vertex_count; v += size)
            runs[count++] = {v, hk_min_int(v + size, first + body->vertex_count), b};
        start[b + 1] = count;
    }
    s->run_count = count;
    if (status == HK_OK) status = hk_gpu_upload(g, runs, (size_t)count, &s->runs);
    if (status == HK_OK) status = hk_gpu_upload(g, start, (size_t)from->count + 1, &s->run_start);
    hk_free(runs);
    hk_free(start);
    return status;
}

static hk_status upload_columns(hk_gpu *g, const hk_spin_bodies *from, hk_gpu_spins *s)
{
    size_t n = (size_t)g->model->vertex_count, count = 3 * (size_t)s->most * n;
    float *columns = HK_ZEROS(float, count);
    if (!columns) return HK_NO_MEMORY;
    for (int b = 0; b < from->count; b++) {
        const hk_spin_body *body = &from->body[b];
        int width = 3 * body->clusters;
        for (int64_t k = 0; k < body->unknowns; k++)
            for (int p = 0; p < width; p++)
                columns[p * n + g->number[body->vertex[k]]] = body->columns[k * width + p];
    }
    hk_status status = hk_gpu_upload(g, columns, count, &s->columns);
    hk_free(columns);
    return status;
}

// Entries, weights and τ, with room for `most` clusters of every body.
struct spin_tables {
    int *clusters, *start, *vertex;
    double *slope, *weight, *tau;
};

static void fill_tables(const hk_gpu *g, const hk_spin_bodies *from, int most, spin_tables *t)
{
    int width = 3 * most, at = 0;
    for (int b = 0; b < from->count; b++) {
        const hk_spin_body *body = &from->body[b];
        t->clusters[b] = body->clusters;
        for (int c = 0; c < most; c++) {
            t->start[b * most + c] = at;
            if (c >= body->clusters) continue;
            t->weight[b * most + c] = body->weight[c];
            for (int e = body->start[c]; e < body->start[c + 1]; e++, at++) {
                t->vertex[at] = g->number[body->entries[e].vertex];
                for (int i = 0; i < 3; i++)
                    t->slope[3 * (int64_t)at + i] = body->entries[e].slope[i];
            }
        }
        int n = 3 * body->clusters;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                t->tau[((int64_t)b * width + i) * width + j] = body->tau[i * n + j];
    }
    t->start[from->count * most] = at;
}

static hk_status upload_tables(hk_gpu *g, const hk_spin_bodies *from, hk_gpu_spins *s)
{
    size_t bodies = (size_t)from->count, all = bodies * (size_t)s->most, entries = 0;
    size_t square = 9 * all * (size_t)s->most;
    for (int b = 0; b < from->count; b++)
        entries += (size_t)from->body[b].start[from->body[b].clusters];
    spin_tables t = {HK_ARRAY(int, bodies),      HK_ARRAY(int, all + 1),
                     HK_ARRAY(int, entries + 1), HK_ARRAY(double, 3 * entries + 1),
                     HK_ZEROS(double, all),      HK_ZEROS(double, square)};
    hk_status status =
        t.clusters && t.start && t.vertex && t.slope && t.weight && t.tau ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        fill_tables(g, from, s->most, &t);
        status = hk_gpu_upload(g, t.clusters, bodies, &s->clusters);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, t.start, all + 1, &s->entry_start);
    if (status == HK_OK) status = hk_gpu_upload(g, t.vertex, entries, &s->entry_vertex);
    if (status == HK_OK) status = hk_gpu_upload(g, t.slope, 3 * entries, &s->entry_slope);
    if (status == HK_OK) status = hk_gpu_upload(g, t.weight, all, &s->weight);
    if (status == HK_OK) status = hk_gpu_upload(g, t.tau, square, &s->tau);
    hk_free(t.clusters);
    hk_free(t.start);
    hk_free(t.vertex);
    hk_free(t.slope);
    hk_free(t.weight);
    hk_free(t.tau);
    return status;
}

static hk_status upload(hk_gpu *g, const hk_spin_bodies *from, hk_gpu_spins *s)
{
    s->vertex_count = g->model->vertex_count;
    for (int b = 0; b < from->count; b++) s->most = hk_max_int(s->most, from->body[b].clusters);
    HK_TRY(upload_runs(g, from, s));
    HK_TRY(upload_columns(g, from, s));
    HK_TRY(upload_tables(g, from, s));
    size_t all = (size_t)from->count * (size_t)s->most;
    HK_TRY(hk_gpu_alloc(g, 9 * all, &s->rotation));
    HK_TRY(hk_gpu_alloc(g, all, &s->compliance));
    HK_TRY(hk_gpu_alloc(g, 9 * all * (size_t)s->most, &s->inverse));
    HK_TRY(hk_gpu_alloc(g, 9 * (size_t)s->most * (size_t)s->run_count, &s->partial));
    HK_TRY(hk_gpu_alloc(g, 9 * all, &s->turn));
    HK_TRY(hk_gpu_alloc(g, 1, &s->finished));
    s->body_count = from->count;
    return HK_OK;
}

hk_status hk_gpu_spins_create(hk_gpu *g, const hk_gpu_matrix *matrix,
                              const hk_gpu_triangle *numbers, hk_multigrid *multigrid, int clusters,
                              hk_gpu_spins *s)
{
    const hk_model *m = g->model;
    uint8_t *held = HK_ARRAY(uint8_t, m->vertex_count);
    if (!held) return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++) held[m->place[v]] = m->hold[v] != HK_FREE;
    hk_spin_bodies bodies;
    solving with = {matrix, numbers, multigrid};
    hk_status status = hk_spin_bodies_init(&bodies, m, held, matrix->weight, clusters);
    if (status == HK_OK) status = hk_spin_bodies_solve(&bodies, m, held, solve_well, &with);
    if (status == HK_OK && bodies.count > 0) status = upload(g, &bodies, s);
    hk_spin_bodies_release(&bodies);
    hk_free(held);
    return status;
}
