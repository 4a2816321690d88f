// One pass of `split` on the device (solver/split.c, without volume constraints). A step is this
// sequence of kernels, none of which waits for the host:
//
//   begin     y, where inertia and air alone would take the bodies
//   check     (law_exact.cu) the gradient g of all terms at y
//   right     r = f − g
//   …         (multigrid.cu) z = V r, a cycle, and
//   product   w = A z, with the sums that conjugate gradients need, and their decision
//   move      D and r: these three some times over, until the residual is small enough
//   measure   a block per cluster: its mean gradient at y, what D changes of it, its rotation
//   turn      a block per body: the dense system of its clusters (rotation_correction.h)
//   finish    x = y + D + P turn
//   end       fixed work, or not finite
//
// y, x and what is small and dense are in double precision; D, r and the cycles in single. Several
// passes are left to `quasi_newton`.
#include "gpu/global.h"
#include "gpu/motion.h"
#include "gpu/split_math.h"
#include "gpu/sums.h"
#include "gpu/terms.h"
#include "term/cluster_rotation.h"

extern "C" {
#include "gpu/clusters.h"
#include "solver/split.h"
}

#include <stdio.h>

enum { THREADS = HK_SUM_THREADS, WARP = 32, MOST_BLOCKS = 528 };
// Iterations of conjugate gradients: a cycle leaves about a fifth of the error; every vertex that
// is grabbed may cost one more.
enum { ITERATIONS = 12, MOST_MORE = 12 };
// Numbers of a system that shared memory holds.
enum { SHARED_UNKNOWNS = 72, SHARED_NUMBERS = SHARED_UNKNOWNS * (SHARED_UNKNOWNS + 1) };
enum { MOST_LIVE_ENTRIES = 4096 };

struct split_control {
    hk_qn_control gate;  // of the cycles, and of the check: going while there is something to do
    hk_cg cg;
    int lost;  // there is nothing to do: the stage before failed
    int bad;   // a position is not finite
};

// Entries of the matrix that live elements add, row by row.
struct split_live {
    const int *row;  // [vertex_count] 1 + the number of a row; 0: it has none
    const int *start;
    const int2 *entries;  // column and value
};

// A as its diagonal times D⁻¹A (laplacian.h).
struct split_rows {
    const int *start;
    const int2 *entries;
    const float *diagonal, *surplus;
    split_live live;
};

struct split_clusters {
    const hk_gpu_turner *turners;
    const int *start;
    const hk_gpu_cluster_entry *entries;
    const double *inverse_weight;
    const int *slot;
    const float *columns;
    const double *tau;
    double *rotation, *change;  // [clusters][9]
    double *turn;               // [clusters][3][3]
    double *system;             // of bodies with more unknowns than SHARED_UNKNOWNS
};

// Vectors are [vertex_count] in the order of the patches.
struct split {
    hk_gpu_multigrid multigrid;
    split_rows rows;
    int live_rows;
    int *live_row, *live_start;  // of split_live, to be written
    int2 *live_entries;
    int live_marked[HK_GPU_MOST_RAISED];  // rows at present
    split_clusters clusters;
    int cluster_count;  // 0: nothing turns
    split_control *control;
    double *y, *x;  // [vertex_count][3]
    float4 *gradient, *narrow;
    float4 *r, *w, *p, *s, *moved;  // the last: D
    double *partial;
    unsigned *finished;
    int blocks;
};

static int blocks_for(int count)
{
    return (count + THREADS - 1) / THREADS;
}

static __device__ __forceinline__ bool is_going(const split_control *c)
{
    return c->gate.base.state == HK_GPU_GOING;
}

// ---------------------------------------------------------------- y

static __global__ void begin_kernel(hk_gpu_state s, const hk_gpu_control *from,
                                    split_control *control, double *y)
{
    cudaGridDependencySynchronize();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v == 0) {
        qn_begin(&control->gate, from);
        control->gate.accepted = 1;
        cg_begin(&control->cg);
        control->lost = from->state != HK_GPU_GOING;
        control->bad = 0;
    }
    if (v >= s.vertex_count) return;
    // What forces displace is taken back.
    const hk_gpu_stage &stage = stage_of(s);
    double all = s.mass[v] * stage.of.weight + (s.drag * s.mass[v] + s.air) / stage.of.h;
    bool free = s.hold[v] == -1;
    for (int64_t i = 3 * (int64_t)v; i < 3 * (int64_t)v + 3; i++)
        y[i] = s.exact[HK_EXACT_TARGET][i] - (free ? s.external[i] / all : 0);
}

// ---------------------------------------------------------------- conjugate gradients

struct cg_args {
    int count;
    split_rows rows;
    split_control *control;
    const float *root;
    float4 *right;  // of the cycle: scaled by root
    const float4 *z, *gradient;
    float4 *w, *r, *p, *s, *moved;
    const double *external;
    const int *hold;
    double *partial;
    unsigned *finished;
};

static __device__ __forceinline__ void give_right(const cg_args &a, int v, float4 r)
{
    float root = a.root[v];
    a.right[v] = make_float4(root * r.x, root * r.y, root * r.z, 0);
}

static __global__ void __launch_bounds__(THREADS) right_kernel(const __grid_constant__ cg_args a)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.count || !is_going(a.control)) return;
    const float4 none = make_float4(0, 0, 0, 0);
    const double *f = a.external + 3 * (int64_t)v;
    float4 g = a.gradient[v], r = none;
    if (a.hold[v] == -1)
        r = make_float4((float)(f[0] - g.x), (float)(f[1] - g.y), (float)(f[2] - g.z), 0);
    a.r[v] = r;
    a.p[v] = a.s[v] = a.moved[v] = none;
    give_right(a, v, r);
}

// Entries as differences: what is small against the diagonal is not lost in the rounding of large
// entries that cancel.
static __device__ __forceinline__ float4 row_product(const split_rows &m, int v, const float4 *x)
{
    float4 own = x[v];
    float diagonal = m.diagonal[v], surplus = m.surplus[v];
    float sum[3] = {surplus * own.x, surplus * own.y, surplus * own.z};
    int last = m.start[v / WARP + 1];
#pragma unroll 4
    for (int k = m.start[v / WARP] + v % WARP; k < last; k += WARP) {
        int2 e = __ldg(m.entries + k);
        float4 n = x[e.x];
        float w = __int_as_float(e.y);
        sum[0] += w * (n.x - own.x);
        sum[1] += w * (n.y - own.y);
        sum[2] += w * (n.z - own.z);
    }
    for (int i = 0; i < 3; i++) sum[i] *= diagonal;
    int row = m.live.row ? m.live.row[v] : 0;
    for (int k = row > 0 ? m.live.start[row - 1] : 0; row > 0 && k < m.live.start[row]; k++) {
        int2 e = m.live.entries[k];
        float4 n = x[e.x];
        float w = __int_as_float(e.y);
        sum[0] += w * n.x, sum[1] += w * n.y, sum[2] += w * n.z;
    }
    return make_float4(sum[0], sum[1], sum[2], 0);
}

static __device__ __forceinline__ double dot(float4 a, float4 b)
{
    return (double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z;
}

static __global__ void __launch_bounds__(THREADS) product_kernel(const __grid_constant__ cg_args a)
{
    __shared__ double total[2];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (!is_going(a.control)) return;
    double sums[2] = {0, 0};
    for (int v = blockIdx.x * THREADS + threadIdx.x; v < a.count; v += gridDim.x * THREADS) {
        float4 z = a.z[v], w = row_product(a.rows, v, a.z);
        a.w[v] = w;
        sums[0] += dot(a.r[v], z);
        sums[1] += dot(z, w);
    }
    if (!grid_sums<2>(sums, a.partial, a.finished, total)) return;
    if (threadIdx.x == 0 && !cg_advance(&a.control->cg, total[0], total[1]))
        a.control->gate.base.state = HK_GPU_SPENT;
}

static __global__ void __launch_bounds__(THREADS) move_kernel(const __grid_constant__ cg_args a)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.count || !is_going(a.control)) return;
    float alpha = (float)a.control->cg.alpha, beta = (float)a.control->cg.beta;
    float4 z = a.z[v], w = a.w[v], p = a.p[v], s = a.s[v], d = a.moved[v], r = a.r[v];
    p = make_float4(z.x + beta * p.x, z.y + beta * p.y, z.z + beta * p.z, 0);
    s = make_float4(w.x + beta * s.x, w.y + beta * s.y, w.z + beta * s.z, 0);
    d = make_float4(d.x + alpha * p.x, d.y + alpha * p.y, d.z + alpha * p.z, 0);
    r = make_float4(r.x - alpha * s.x, r.y - alpha * s.y, r.z - alpha * s.z, 0);
    a.p[v] = p;
    a.s[v] = s;
    a.moved[v] = d;
    a.r[v] = r;
    give_right(a, v, r);
}

// ---------------------------------------------------------------- the clusters

struct turn_args {
    int vertex_count;
    split_clusters c;
    split_control *control;
    const int *hold, *body;
    const double *y;
    const float4 *moved;
    double *x;
    bool turns;
};

static __global__ void __launch_bounds__(THREADS)
    measure_kernel(const __grid_constant__ turn_args a)
{
    enum { GRADIENT = 0, CHANGE = 9, COUNT = 18 };
    __shared__ double room[HK_SUM_WARPS][COUNT];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (a.control->lost) return;
    int first = a.c.start[blockIdx.x], last = a.c.start[blockIdx.x + 1];
    double sums[COUNT] = {0};
    // Slopes add up to 0 but for rounding: positions are relative to that of one of them.
    const double *o = a.y + 3 * (int64_t)a.c.entries[first < last ? first : 0].vertex;
    for (int e = first + threadIdx.x; e < last; e += THREADS) {
        hk_gpu_cluster_entry entry = a.c.entries[e];
        const double *at = a.y + 3 * (int64_t)entry.vertex;
        float4 d = a.moved[entry.vertex];
        const double place[3] = {at[0] - o[0], at[1] - o[1], at[2] - o[2]};
        const double moved[3] = {d.x, d.y, d.z};
#pragma unroll
        for (int k = 0; k < 9; k++) {
            sums[GRADIENT + k] += place[k / 3] * entry.slope[k % 3];
            sums[CHANGE + k] += moved[k / 3] * entry.slope[k % 3];
        }
    }
    block_sums<COUNT>(sums, room);
    if (threadIdx.x < 9) a.c.change[9 * blockIdx.x + threadIdx.x] = room[0][CHANGE + threadIdx.x];
    if (threadIdx.x > 0) return;
    mat3 F;
    for (int k = 0; k < 9; k++) F.m[k / 3][k % 3] = room[0][GRADIENT + k];
    mat3 R = cluster_rotation(F);
    for (int k = 0; k < 9; k++) a.c.rotation[9 * blockIdx.x + k] = R.m[k / 3][k % 3];
}

// False: a pivot is not positive.
static __device__ bool solve_system(int n, double least, double *a)
{
    for (int k = 0; k < n; k++) {
        __syncthreads();
        if (!(a[k * (n + 1) + k] > least)) return false;  // all threads see the same
        turn_eliminate(n, k, a, threadIdx.x, THREADS);
    }
    for (int k = n - 1; k > 0; k--) {
        __syncthreads();
        turn_substitute(n, k, a, threadIdx.x, THREADS);
    }
    __syncthreads();
    return rule_finite(turn_unknown(n, 0, a));
}

static __global__ void __launch_bounds__(THREADS) turn_kernel(const __grid_constant__ turn_args a)
{
    __shared__ double room[SHARED_NUMBERS];
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    hk_gpu_turner t = a.c.turners[blockIdx.x];
    if (a.control->lost || t.clusters == 0) return;
    int n = 3 * t.clusters;
    double *system = n <= SHARED_UNKNOWNS ? room : a.c.system + t.system;
    const double *rotation = a.c.rotation + 9 * (int64_t)t.first;
    const double *inverse = a.c.inverse_weight + t.first;
    turn_fill(t.clusters, rotation, a.c.change + 9 * (int64_t)t.first, a.c.tau + t.tau, inverse,
              system, threadIdx.x, THREADS);
    double least = INFINITY;
    for (int c = 0; c < t.clusters; c++) least = fmin(least, 1e-9 * inverse[c]);
    bool turns = solve_system(n, least, system);
    for (int c = threadIdx.x; c < t.clusters; c += THREADS) {
        double z[3], turn[9];
        for (int i = 0; i < 3; i++) z[i] = turns ? turn_unknown(n, 3 * c + i, system) : 0;
        turn_columns(rotation + 9 * c, z, turn);
        for (int k = 0; k < 9; k++) a.c.turn[9 * (int64_t)(t.first + c) + k] = turn[k];
    }
}

// ---------------------------------------------------------------- the end

static __device__ __forceinline__ void add_turn(const turn_args &a, int v, double x[3])
{
    int slot = a.c.slot[v];
    if (slot < 0) return;
    hk_gpu_turner t = a.c.turners[a.body[v]];
    int columns = 3 * t.clusters;
    const double *turn = a.c.turn + 9 * (int64_t)t.first;
    const float *from = a.c.columns + t.columns +
                        (int64_t)(slot / HK_GPU_COLUMN_BLOCK) * columns * HK_GPU_COLUMN_BLOCK +
                        slot % HK_GPU_COLUMN_BLOCK;
#pragma unroll 4
    for (int q = 0; q < columns; q++) {
        double column = __ldg(from + q * HK_GPU_COLUMN_BLOCK);
        for (int i = 0; i < 3; i++) x[i] += column * turn[3 * q + i];
    }
}

static __global__ void __launch_bounds__(THREADS) finish_kernel(const __grid_constant__ turn_args a)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= a.vertex_count || a.control->lost) return;
    float4 d = a.moved[v];
    double x[3] = {d.x, d.y, d.z};
    bool free = a.hold[v] == -1;
    if (a.turns && free) add_turn(a, v, x);
    for (int i = 0; i < 3; i++) {
        double to = a.y[3 * (int64_t)v + i] + (free ? x[i] : 0);
        a.x[3 * (int64_t)v + i] = to;
        if (!rule_finite(to)) atomicOr(&a.control->bad, 1);
    }
}

static __global__ void end_kernel(const split_control *from, hk_gpu_control *control)
{
    cudaGridDependencySynchronize();
    if (from->lost) return;
    bool bad = from->bad || from->cg.failed;
    control->state = bad ? HK_GPU_NOT_FINITE : HK_GPU_FIXED_WORK;
    control->iterations = 1;
    control->linear = from->cg.iterations;
}

// ---------------------------------------------------------------- the step

static hk_status launch_begin(hk_gpu *g, const split *s)
{
    const hk_gpu_control *from = g->control[0];
    void *args[] = {(void *)&g->state, (void *)&from, (void *)&s->control, (void *)&s->y};
    return hk_gpu_launch_some(g, (const void *)begin_kernel, blocks_for(g->model->vertex_count),
                              THREADS, args);
}

static cg_args cg_args_of(const hk_gpu *g, const split *s)
{
    cg_args a = {};
    a.count = g->model->vertex_count;
    a.rows = s->rows;
    if (s->live_rows == 0) a.rows.live.row = nullptr;
    a.control = s->control;
    a.root = s->multigrid.root;
    a.right = s->multigrid.level[0].right;
    a.z = s->multigrid.level[0].solution;
    a.gradient = s->gradient;
    a.w = s->w;
    a.r = s->r;
    a.p = s->p;
    a.s = s->s;
    a.moved = s->moved;
    a.external = g->state.external;
    a.hold = g->state.hold;
    a.partial = s->partial;
    a.finished = s->finished;
    return a;
}

static hk_status launch_solve(hk_gpu *g, const split *s)
{
    cg_args a = cg_args_of(g, s);
    void *args[] = {&a};
    int blocks = blocks_for(a.count);
    int iterations = ITERATIONS + (s->live_rows < MOST_MORE ? s->live_rows : (int)MOST_MORE);
    HK_TRY(hk_gpu_launch_some(g, (const void *)right_kernel, blocks, THREADS, args));
    for (int k = 0; k < iterations; k++) {
        HK_TRY(hk_gpu_multigrid_cycle(g, &s->multigrid, &s->control->gate));
        HK_TRY(hk_gpu_launch_some(g, (const void *)product_kernel, s->blocks, THREADS, args));
        HK_TRY(hk_gpu_launch_some(g, (const void *)move_kernel, blocks, THREADS, args));
    }
    return HK_OK;
}

static hk_status launch_turn(hk_gpu *g, const split *s)
{
    turn_args a = {};
    a.vertex_count = g->model->vertex_count;
    a.c = s->clusters;
    a.control = s->control;
    a.hold = g->state.hold;
    a.body = g->state.body;
    a.y = s->y;
    a.moved = s->moved;
    a.x = s->x;
    a.turns = s->cluster_count > 0;
    void *args[] = {&a};
    if (a.turns) {
        HK_TRY(
            hk_gpu_launch_some(g, (const void *)measure_kernel, s->cluster_count, THREADS, args));
        HK_TRY(
            hk_gpu_launch_some(g, (const void *)turn_kernel, g->model->body_count, THREADS, args));
    }
    HK_TRY(hk_gpu_launch_some(g, (const void *)finish_kernel, blocks_for(a.vertex_count), THREADS,
                              args));
    void *ends[] = {(void *)&s->control, (void *)&g->control[0]};
    return hk_gpu_launch_some(g, (const void *)end_kernel, 1, 1, ends);
}

static hk_status launch(hk_gpu *g, hk_gpu_control **last)
{
    const split *s = (const split *)g->own;
    HK_TRY(launch_begin(g, s));
    hk_gpu_point at = {s->y, s->narrow, s->gradient, &s->control->gate.base, false, true};
    HK_TRY(hk_gpu_check_at(g, &at));
    HK_TRY(launch_solve(g, s));
    HK_TRY(launch_turn(g, s));
    *last = g->control[0];
    return HK_OK;
}

// ---------------------------------------------------------------- live elements

// The few entries that they add to A, which the preconditioner knows nothing of.
struct live_matrix {
    const hk_gpu *g;
    int rows, entries;
    int row[HK_GPU_MOST_RAISED];  // vertex
    struct live_entry {
        int row, column;  // of the rows above; vertex
        float value;
    } entry[MOST_LIVE_ENTRIES];
    hk_status status;
};

static int find_row(live_matrix *m, int vertex)
{
    int at = 0;
    while (at < m->rows && m->row[at] != vertex) at++;
    if (at == HK_GPU_MOST_RAISED) return -1;
    if (at == m->rows) m->row[m->rows++] = vertex;
    return at;
}

static void add_element(void *context, const hk_weights *w)
{
    live_matrix *m = (live_matrix *)context;
    for (int a = 0; a < w->count; a++) {
        int row = find_row(m, m->g->number[w->vertex[a]]);
        if (row < 0 || m->entries + w->count > MOST_LIVE_ENTRIES) {
            m->status = hk_fail(HK_UNSUPPORTED, "backend \"cuda\": at most %d vertices are grabbed",
                                HK_GPU_MOST_RAISED);
            return;
        }
        for (int b = 0; b < w->count; b++) {
            live_matrix::live_entry *e = &m->entry[m->entries++];
            e->row = row;
            e->column = m->g->number[w->vertex[b]];
            e->value = (float)hk_weight_of(w, a, b);
        }
    }
}

static hk_status upload_live(const live_matrix *m, split *s)
{
    int start[HK_GPU_MOST_RAISED + 1] = {0}, at = 0, zero = 0;
    int2 *packed = HK_ARRAY(int2, MOST_LIVE_ENTRIES);
    if (!packed) return HK_NO_MEMORY;
    for (int r = 0; r < m->rows; r++) {
        for (int k = 0; k < m->entries; k++) {
            if (m->entry[k].row != r) continue;
            packed[at].x = m->entry[k].column;
            memcpy(&packed[at++].y, &m->entry[k].value, sizeof(float));
        }
        start[r + 1] = at;
    }
    cudaError_t error = cudaSuccess;
    for (int r = 0; r < s->live_rows && error == cudaSuccess; r++)
        error =
            cudaMemcpy(s->live_row + s->live_marked[r], &zero, sizeof zero, cudaMemcpyHostToDevice);
    for (int r = 0; r < m->rows && error == cudaSuccess; r++) {
        int number = r + 1;
        error = cudaMemcpy(s->live_row + m->row[r], &number, sizeof number, cudaMemcpyHostToDevice);
        s->live_marked[r] = m->row[r];
    }
    s->live_rows = m->rows;
    if (error == cudaSuccess)
        error = cudaMemcpy(s->live_start, start, sizeof start, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error =
            cudaMemcpy(s->live_entries, packed, sizeof(int2) * (size_t)at, cudaMemcpyHostToDevice);
    hk_free(packed);
    HK_CUDA(error);
    return HK_OK;
}

static hk_status take_live(hk_gpu *g, split *s)
{
    size_t n = (size_t)g->model->vertex_count;
    HK_TRY(hk_gpu_alloc(g, n, &s->live_row));
    HK_TRY(hk_gpu_alloc(g, HK_GPU_MOST_RAISED + 1, &s->live_start));
    HK_TRY(hk_gpu_alloc(g, MOST_LIVE_ENTRIES, &s->live_entries));
    s->rows.live = {s->live_row, s->live_start, s->live_entries};
    return HK_OK;
}

// Behind the steps that are launched already (hk_gpu_set_grabs waits for them).
static hk_status take_terms(hk_gpu *g)
{
    split *s = (split *)g->own;
    live_matrix *m = HK_NEW(live_matrix);
    if (!m) return HK_NO_MEMORY;
    m->g = g;
    hk_status status = hk_gpu_visit_live_weights(g, add_element, m);
    if (status == HK_OK) status = m->status;
    bool any = m->rows > 0 || s->live_rows > 0;
    if (status == HK_OK && any && !s->live_row) status = take_live(g, s);
    if (status == HK_OK && any) status = upload_live(m, s);
    hk_free(m);
    return status;
}

// ---------------------------------------------------------------- creation

// One matrix serves all stages of all steps.
static hk_status check_integrator(const hk_gpu *g)
{
    hk_integrator_settings settings = {g->step, g->step, g->beta, g->gamma};
    hk_stage first, other;
    bool same = !g->integrator->positions;
    g->integrator->stage(&settings, 0, &first);
    for (int k = 1; k < g->integrator->stages; k++) {
        g->integrator->stage(&settings, k, &other);
        same = same && fabs(other.weight - first.weight) <= 1e-12 * first.weight &&
               fabs(other.h - first.h) <= 1e-12 * first.h;
    }
    if (same) return HK_OK;
    return hk_fail(HK_UNSUPPORTED,
                   "backend \"cuda\": one pass of split has one constant matrix there, and the "
                   "integrator %s would need several; with it split runs on the CPU",
                   g->integrator->name);
}

static hk_status plan(hk_gpu *g)
{
    HK_TRY(g->method->suits_gpu(&g->settings, g->model));
    int passes = hk_split_pass_count(&g->settings);
    g->start = passes > 1 ? HK_START_VELOCITY : HK_START_POSITION;
    g->window = HK_SPLIT_WINDOW;
    HK_TRY(hk_gpu_quasi_newton.plan(g));  // of its set-up
    if (passes == 1) return check_integrator(g);
    g->run = &hk_gpu_quasi_newton;
    g->settings.iterations = passes;
    return HK_OK;
}

static hk_status upload_rows(hk_gpu *g, const hk_gpu_laplacian *l, split_rows *to)
{
    static_assert(sizeof(hk_gpu_entry) == sizeof(int2), "an entry is one load");
    size_t n = (size_t)l->count, slices = (size_t)hk_gpu_slices(l);
    float *diagonal = HK_ARRAY(float, n);
    if (!diagonal) return HK_NO_MEMORY;
    for (size_t k = 0; k < n; k++) diagonal[k] = l->inverse[k] > 0 ? 1 / l->inverse[k] : 0;
    hk_status status = hk_gpu_upload(g, diagonal, n, &to->diagonal);
    hk_free(diagonal);
    HK_TRY(status);
    HK_TRY(hk_gpu_upload(g, l->surplus, n, &to->surplus));
    HK_TRY(hk_gpu_upload(g, l->start, slices + 1, &to->start));
    return hk_gpu_upload(g, (const int2 *)l->entries, (size_t)l->start[slices], &to->entries);
}

static hk_status make_rows(hk_gpu *g, const hk_gpu_matrix *matrix, split *s)
{
    hk_gpu_laplacian *l;
    HK_TRY(hk_gpu_laplacian_create(matrix, &l));
    hk_status status = upload_rows(g, l, &s->rows);
    hk_gpu_laplacian_free(l);
    return status;
}

static hk_status upload_clusters(hk_gpu *g, const hk_gpu_clusters *c, split *s)
{
    split_clusters *to = &s->clusters;
    size_t count = (size_t)c->count;
    s->cluster_count = c->count;
    HK_TRY(hk_gpu_upload(g, c->turners, (size_t)c->body_count, &to->turners));
    HK_TRY(hk_gpu_upload(g, c->start, count + 1, &to->start));
    HK_TRY(hk_gpu_upload(g, c->entries, (size_t)c->start[count], &to->entries));
    HK_TRY(hk_gpu_upload(g, c->inverse_weight, count, &to->inverse_weight));
    HK_TRY(hk_gpu_upload(g, c->slot, (size_t)c->vertex_count, &to->slot));
    HK_TRY(hk_gpu_upload(g, c->columns, (size_t)c->column_count, &to->columns));
    HK_TRY(hk_gpu_upload(g, c->tau, (size_t)c->tau_count, &to->tau));
    HK_TRY(hk_gpu_alloc(g, 9 * count, &to->rotation));
    HK_TRY(hk_gpu_alloc(g, 9 * count, &to->change));
    HK_TRY(hk_gpu_alloc(g, 9 * count, &to->turn));
    return hk_gpu_alloc(g, (size_t)c->system_count, &to->system);
}

static hk_status make_clusters(hk_gpu *g, const hk_gpu_matrix *matrix, split *s)
{
    int most = hk_split_clusters(&g->settings);
    hk_gpu_clusters *c;
    if (most == 0) return HK_OK;
    HK_TRY(hk_gpu_clusters_create(matrix, most, &c));
    hk_status status = c->count > 0 ? upload_clusters(g, c, s) : HK_OK;
    hk_gpu_clusters_free(c);
    return status;
}

static hk_status make_matrix(hk_gpu *g, split *s)
{
    double *weight = HK_ARRAY(double, g->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = g->method->weights(&g->settings, g->model, weight);
    hk_gpu_matrix matrix = hk_gpu_constant_matrix(g, weight);
    if (status == HK_OK) status = hk_gpu_matrix_multigrid(g, &matrix, &s->multigrid);
    if (status == HK_OK) status = make_rows(g, &matrix, s);
    if (status == HK_OK) status = make_clusters(g, &matrix, s);
    hk_free(weight);
    return status;
}

static hk_status set_up(hk_gpu *g)
{
    split *s = HK_NEW(split);
    if (!s) return HK_NO_MEMORY;
    g->own = s;
    size_t n = (size_t)g->model->vertex_count;
    int blocks = blocks_for((int)n);
    s->blocks = blocks < MOST_BLOCKS ? blocks : (int)MOST_BLOCKS;
    for (int k = 0; k < HK_EXACT_COUNT; k++) HK_TRY(hk_gpu_alloc(g, 3 * n, &g->state.exact[k]));
    s->x = g->state.exact[HK_EXACT_SOLUTION];
    s->narrow = g->q[0];
    s->gradient = g->q[1];
    s->moved = g->q[2];
    HK_TRY(hk_gpu_alloc(g, 3 * n, &s->y));
    HK_TRY(hk_gpu_alloc(g, n, &s->r));
    HK_TRY(hk_gpu_alloc(g, n, &s->w));
    HK_TRY(hk_gpu_alloc(g, n, &s->p));
    HK_TRY(hk_gpu_alloc(g, n, &s->s));
    HK_TRY(hk_gpu_alloc(g, 1, &s->control));
    HK_TRY(hk_gpu_alloc(g, 2 * (size_t)s->blocks, &s->partial));
    HK_TRY(hk_gpu_alloc(g, 1, &s->finished));
    return make_matrix(g, s);
}

static void release(hk_gpu *g)
{
    hk_free(g->own);
    g->own = nullptr;
}

static void describe(const hk_gpu *g, char *text, size_t size)
{
    const split *s = (const split *)g->own;
    snprintf(text, size, ", conjugate gradients with multigrid of %d levels, %d clusters turn",
             s->multigrid.count, s->cluster_count);
}

extern "C" const hk_gpu_method hk_gpu_split = {plan,       set_up, release,  nullptr,
                                               take_terms, launch, describe, false};
