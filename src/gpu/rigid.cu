// Free bodies of `descent` and `vbd` are put where they are best as rigid ones (rules/rigid.h)
// before a step iterates, as on the CPU (solver/align.c): both of its starts, in the shape that
// they have. A thread block takes a run of vertices, and another one the runs of a body; all sums
// are in a fixed order.
#include "gpu/device.h"
#include "gpu/fine.h"
#include "gpu/sums.h"

extern "C" {
#include "solver/rigid.h"
}

enum { THREADS = HK_SUM_THREADS, WARP = HK_SUM_WARP, RUN = 1024, STARTS = 2 };
// Numbers of a sum: weight, Σ w x, Σ w y and vertices that are held; or moments.
enum { NUMBERS = 9, WEIGHT = 0, FROM = 1, TO = 4, HELD = 7 };

struct run {
    int first, last, body;
};

struct hk_gpu_rigid {
    int body_count, run_count;
    const int *vertex;        // by bodies, with the numbers of the patches
    const run *runs;          // [run_count]
    const int *body_start;    // [body_count + 1] runs
    uint8_t *grabbed;         // [body_count] and so not free
    double *partial;          // [STARTS][run_count][NUMBERS]
    hk_rigid_motion *motion;  // [STARTS][body_count]
    hk_rigid *of;             // host
};

struct rigid_args {
    hk_gpu_rigid r;
    hk_gpu_frame frame;
    const float4 *target;
    const uint32_t *target_bits;
    float4 *start[STARTS];
};

static __device__ void place_of(const rigid_args &a, int start, int v, double x[3])
{
    double o[3];
    frame_place(a.frame, v, o);
    fine_widen(a.start[start][v], o, x);
}

static __device__ float target_of(const rigid_args &a, int v, double y[3])
{
    float4 t = a.target[v];
    double o[3];
    frame_place(a.frame, v, o);
    fine_widen(make_float4(t.x, t.y, t.z, fine_float(a.target_bits[v])), o, y);
    return t.w;
}

static __device__ void add_vertex(const rigid_args &a, int start, int v,
                                  const hk_rigid_motion *about, double *sum)
{
    const double none[3] = {0, 0, 0};  // targets are where forces pull, too
    double x[3], y[3], w = target_of(a, v, y);
    place_of(a, start, v, x);
    hk_rigid_sums s = {};
    if (about) {
        rigid_add_moment(&s, about, w, x, y, none);
        for (int k = 0; k < 9; k++) sum[k] += s.moment[k];
        return;
    }
    rigid_add(&s, w, x, y, none);
    sum[WEIGHT] += s.weight;
    for (int i = 0; i < 3; i++) {
        sum[FROM + i] += s.from[i];
        sum[TO + i] += s.to[i];
    }
    if (!(w > 0)) sum[HELD] += 1;
}

template <bool MOMENTS>
static __global__ void __launch_bounds__(THREADS) sum_kernel(const __grid_constant__ rigid_args a)
{
    __shared__ double room[HK_SUM_WARPS][NUMBERS];
    int start = blockIdx.y;
    run r = a.r.runs[blockIdx.x];
    double sum[NUMBERS] = {0};
    const hk_rigid_motion *about = MOMENTS ? a.r.motion + start * a.r.body_count + r.body : nullptr;
    for (int k = r.first + threadIdx.x; k < r.last; k += THREADS)
        add_vertex(a, start, a.r.vertex[k], about, sum);
    block_sums<NUMBERS>(sum, room);
    if (threadIdx.x >= NUMBERS) return;
    a.r.partial[((int64_t)start * a.r.run_count + blockIdx.x) * NUMBERS + threadIdx.x] =
        room[0][threadIdx.x];
}

static __device__ void find_translation(const rigid_args &a, int body, const double *sum,
                                        hk_rigid_motion *m)
{
    hk_rigid_sums s = {};
    bool free = sum[HELD] == 0 && !a.r.grabbed[body];
    s.weight = free ? sum[WEIGHT] : 0;  // without a weight it stays where it is
    for (int i = 0; i < 3; i++) {
        s.from[i] = sum[FROM + i];
        s.to[i] = sum[TO + i];
    }
    rigid_translation(&s, m);
    m->turns = free;
}

static __device__ void find_turn(const double *sum, hk_rigid_motion *m)
{
    hk_rigid_sums s = {};
    bool free = m->turns;
    for (int k = 0; k < 9; k++) s.moment[k] = sum[k];
    m->turns = 0;
    if (free) rigid_best_turn(&s, m);
}

template <bool MOMENTS>
static __global__ void __launch_bounds__(WARP) motion_kernel(const __grid_constant__ rigid_args a)
{
    int body = blockIdx.x, start = blockIdx.y;
    double sum[NUMBERS] = {0};
    for (int k = a.r.body_start[body] + threadIdx.x; k < a.r.body_start[body + 1]; k += WARP)
        for (int n = 0; n < NUMBERS; n++)
            sum[n] += a.r.partial[((int64_t)start * a.r.run_count + k) * NUMBERS + n];
    for (int n = 0; n < NUMBERS; n++) sum[n] = warp_sum(sum[n]);
    if (threadIdx.x > 0) return;
    hk_rigid_motion *m = a.r.motion + start * a.r.body_count + body;
    if (MOMENTS)
        find_turn(sum, m);
    else
        find_translation(a, body, sum, m);
}

static __global__ void __launch_bounds__(THREADS) move_kernel(const __grid_constant__ rigid_args a)
{
    int start = blockIdx.y;
    run r = a.r.runs[blockIdx.x];
    hk_rigid_motion m = a.r.motion[start * a.r.body_count + r.body];
    for (int k = r.first + threadIdx.x; k < r.last; k += THREADS) {
        int v = a.r.vertex[k];
        double x[3], o[3];
        place_of(a, start, v, x);
        rigid_move(&m, x);
        frame_place(a.frame, v, o);
        a.start[start][v] = fine_narrow(x, o);
    }
}

hk_status hk_gpu_align(hk_gpu *g)
{
    if (!g->rigid) return HK_OK;
    rigid_args a = {*g->rigid,
                    hk_gpu_frame_of(&g->state),
                    g->args.target,
                    g->args.target_bits,
                    {g->args.good[0], g->args.good[1]}};
    dim3 runs((unsigned)a.r.run_count, STARTS), bodies((unsigned)a.r.body_count, STARTS);
    sum_kernel<false><<<runs, THREADS, 0, g->stream>>>(a);
    motion_kernel<false><<<bodies, WARP, 0, g->stream>>>(a);
    sum_kernel<true><<<runs, THREADS, 0, g->stream>>>(a);
    motion_kernel<true><<<bodies, WARP, 0, g->stream>>>(a);
    move_kernel<<<runs, THREADS, 0, g->stream>>>(a);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

// ---------------------------------------------------------------- set-up

static int runs_of(const hk_rigid *of, int body)
{
    return (of->start[body + 1] - of->start[body] + RUN - 1) / RUN;
}

static void list_runs(const hk_rigid *of, run *runs, int *body_start)
{
    body_start[0] = 0;
    for (int b = 0, n = 0; b < of->body_count; b++) {
        for (int k = of->start[b]; k < of->start[b + 1]; k += RUN)
            runs[n++] = {k, hk_min_int(k + RUN, of->start[b + 1]), b};
        body_start[b + 1] = n;
    }
}

static hk_status upload(hk_gpu *g, hk_gpu_rigid *r)
{
    const hk_rigid *of = r->of;
    int count = of->start[of->body_count];
    r->body_count = of->body_count;
    for (int b = 0; b < of->body_count; b++) r->run_count += runs_of(of, b);
    int *vertex = HK_ARRAY(int, count), *body_start = HK_ARRAY(int, r->body_count + 1);
    run *runs = HK_ARRAY(run, r->run_count);
    hk_status status = vertex && body_start && runs ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int k = 0; k < count; k++) vertex[k] = g->number[of->vertex[k]];
        list_runs(of, runs, body_start);
        status = hk_gpu_upload(g, vertex, (size_t)count, &r->vertex);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, runs, (size_t)r->run_count, &r->runs);
    if (status == HK_OK)
        status = hk_gpu_upload(g, body_start, (size_t)r->body_count + 1, &r->body_start);
    hk_free(vertex);
    hk_free(body_start);
    hk_free(runs);
    HK_TRY(status);
    HK_TRY(hk_gpu_alloc(g, (size_t)r->body_count, &r->grabbed));
    HK_TRY(hk_gpu_alloc(g, (size_t)STARTS * r->body_count, &r->motion));
    return hk_gpu_alloc(g, (size_t)STARTS * r->run_count * NUMBERS, &r->partial);
}

hk_status hk_gpu_rigid_create(hk_gpu *g)
{
    hk_rigid *of;
    HK_TRY(hk_rigid_create(g->model, &of));
    if (of->body_count == 0) {
        hk_rigid_free(of);
        return HK_OK;
    }
    g->rigid = HK_NEW(hk_gpu_rigid);
    if (!g->rigid) {
        hk_rigid_free(of);
        return HK_NO_MEMORY;
    }
    g->rigid->of = of;
    HK_TRY(upload(g, g->rigid));
    return hk_gpu_rigid_take_grabs(g);
}

hk_status hk_gpu_rigid_take_grabs(hk_gpu *g)
{
    if (!g->rigid) return HK_OK;
    hk_rigid_mark_grabbed(g->rigid->of, g->live);
    HK_CUDA(cudaMemcpyAsync(g->rigid->grabbed, g->rigid->of->grabbed, (size_t)g->rigid->body_count,
                            cudaMemcpyHostToDevice, g->stream));
    return HK_OK;
}

void hk_gpu_rigid_free(hk_gpu *g)
{
    if (!g->rigid) return;
    hk_rigid_free(g->rigid->of);
    hk_free(g->rigid);
    g->rigid = nullptr;
}
