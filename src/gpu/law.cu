// The element kernels of one law, HK_GPU_LAW (cmake/cuda.cmake compiles this file once for each,
// and once as `any` for models of several laws). One block of threads works on one patch: layout.h.
//
// An iteration of `descent` (solver/descent.c) is one kernel. Every block reads the positions of
// its patch and of the ghosts around it, and writes the new ones of its own vertices; the order of
// all sums is fixed, so that the bits are the same in every run.
#include "gpu/blend.h"
#include "gpu/iteration.h"
#include "gpu/law_calls.h"
#include "gpu/patch.h"

// ---------------------------------------------------------------- blended elements

// Where the blend weights of the state come from that an iteration begins with.
struct blend_source {
    const float *from;
    bool some;   // an element of the patch has one
    bool write;  // all of them are to be written
    bool keep;   // and to the good state that is checked
    bool held;   // none decays
};

// What an iteration needs to know of the control.
struct plan {
    int state, good, from_good, refresh;
    float length, weight;
};

static __device__ __forceinline__ plan plan_of(const hk_gpu_control *c)
{
    plan p = {c->state, c->good, c->from_good, c->refresh, c->length, c->weight};
    return p;
}

static __device__ __forceinline__ blend_source blend_of(const hk_gpu_args &a, const plan &c)
{
    blend_source s = {nullptr, false, false, false, false};
    if (!a.blend) return s;
    s.held = *a.held;
    bool now = a.blended[blockIdx.x] != 0;
    if (c.from_good && !a.state) {
        s.from = a.good_blend[c.good];
        s.some = a.good_blended[c.good][blockIdx.x] != 0;
        s.write = s.some || now;
    } else {
        s.from = a.blend;
        s.some = s.write = now;
    }
    return s;
}

// ---------------------------------------------------------------- viscous damping

// D = r/2 (F − F₀) : C : (F − F₀), F − F₀ = H − H₀, with C the projected ∂P/∂F of the state before
// the step and F₀ where velocities are measured from, mostly that state (term/viscosity.h has the
// same as a sparse matrix). Of every item C is stored as the six blocks ∂P_ij/∂F_kl, (i, k), for j
// ≤ l, and H₀: planes of one number per item.
enum { VISCOUS_BLOCKS = 6, VISCOUS_PLANES = 9 * VISCOUS_BLOCKS + 9 };
static_assert((int)VISCOUS_PLANES == (int)HK_GPU_VISCOUS_PLANES, "kernels.h");

static __device__ __forceinline__ float plane(const hk_gpu_args &a, int k, int64_t at)
{
    return a.viscosity[(int64_t)k * a.item_count + at];
}

static __device__ __noinline__ void add_viscosity(const hk_gpu_args &a, int64_t at, const mat3 &H,
                                                  float *psi, mat3 *P)
{
    mat3 d, s = m3_zero();
    float rate = *a.rate;
    for (int k = 0; k < 9; k++)
        d.m[k / 3][k % 3] = H.m[k / 3][k % 3] - plane(a, 9 * VISCOUS_BLOCKS + k, at);
    for (int j = 0, n = 0; j < 3; j++)
        for (int l = j; l < 3; l++, n++)
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) {
                    float block = plane(a, 9 * n + 3 * i + k, at);
                    s.m[i][j] += block * d.m[k][l];
                    if (l > j) s.m[k][l] += block * d.m[i][j];
                }
    *psi += 0.5f * rate * m3_dot(s, d);
    *P = m3_add(*P, m3_scale(s, rate));
}

// The order of row_forms: 00 11 22 12 02 01; that of the blocks: 00 01 02 11 12 22.
static __device__ __noinline__ void add_viscous_rows(const hk_gpu_args &a, int64_t at,
                                                     row_forms *rows)
{
    const int number[6] = {0, 3, 5, 4, 2, 1};
    float rate = *a.rate;
    for (int i = 0; i < 3; i++)
        for (int q = 0; q < 6; q++) rows->d[i][q] += rate * plane(a, 9 * number[q] + 4 * i, at);
}

#if ANY_LAW
#define CASE(X)                                                \
    case HK_LAW_##X: {                                         \
        X##_stiffness s = X##_stiffness_of(p, element, *F, 0); \
        X##_inner(&s, axes, blocks);                           \
        break;                                                 \
    }
static __device__ __noinline__ void law_blocks(int law, const hk_law_params *p,
                                               const float *element, const mat3 *F,
                                               const mat3 *axes, mat3 blocks[6])
{
    switch (law) {
        HK_LAWS(CASE)
    }
}
#undef CASE
#else
static __device__ __forceinline__ void law_blocks(int, const hk_law_params *p, const float *element,
                                                  const mat3 *F, const mat3 *axes, mat3 blocks[6])
{
    JOIN(HK_GPU_LAW, _stiffness) s = JOIN(HK_GPU_LAW, _stiffness_of)(p, element, *F, 0);
    JOIN(HK_GPU_LAW, _inner)(&s, axes, blocks);
}
#endif

// Fills the planes, C at a.state and H₀ at a.from.
static __global__ void __launch_bounds__(THREADS)
    viscosity_kernel(const __grid_constant__ hk_gpu_args a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_batch batch;
    const hk_gpu_model &m = a.model;
    cudaGridDependencySynchronize();
    patch b = patch_of(m, shared);
    load_positions(m, b, reads_of(m, b), a.state, b.position);
    load_positions(m, b, reads_of(m, b), a.from, b.slot);
    mat3 axes = m3_identity();
    for (int r = 0; r < b.rounds; r++) {
        hk_gpu_round_data round = m.rounds[b.round + r];
        __syncthreads();
        load_batch(m, round.batch, &batch);
        __syncthreads();
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            int64_t at = (int64_t)b.item + i;
            packed item;
            element e;
            fetch(m, (unsigned)at, item);
            unpack(item, e);
            mat3 F = m3_gradient(gradient_of(e, b.position_address));
            float values[4];
            values_of(m.element, at, values);
            mat3 blocks[6];
            law_blocks(batch.law, (const hk_law_params *)batch.c, values, &F, &axes, blocks);
            float l = a.blend && a.blended[blockIdx.x] ? a.blend[at] : 0;
            for (int n = 0; n < VISCOUS_BLOCKS; n++)
                for (int k = 0; k < 9; k++) {
                    // Blocks 0, 3 and 5 are those with j = l; own_part as in material/blend.h.
                    bool same = k % 4 == 0 && (n == 0 || n == 3 || n == 5);
                    float value = own_part(l, blocks[n].m[k / 3][k % 3]);
                    a.viscosity[(int64_t)(9 * n + k) * a.item_count + at] =
                        value + (same ? 2 * l * batch.stiffness : 0);
                }
            mat3 from = gradient_of(e, b.slot_address);
            for (int k = 0; k < 9; k++)
                a.viscosity[(int64_t)(9 * VISCOUS_BLOCKS + k) * a.item_count + at] =
                    from.m[k / 3][k % 3];
        }
    }
}

// ---------------------------------------------------------------- sums over all patches

// Into room[0 .. HK_SUM_WIDTH) for thread 0.
static __device__ __forceinline__ void block_sums(const double *mine, int count,
                                                  double (*shared)[HK_SUM_WIDTH])
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k <= HK_SUM_LEAST_J; k++) {
        if (k >= count) break;
        double a = k == HK_SUM_LEAST_J ? warp_least(mine[k]) : warp_sum(mine[k]);
        if (lane == 0) shared[warp][k] = a;
    }
    __syncthreads();
    if ((int)threadIdx.x < count) {
        int k = threadIdx.x;
        double a = shared[0][k];
        for (int w = 1; w < WARPS; w++)
            a = k != HK_SUM_LEAST_J ? a + shared[w][k] : !(shared[w][k] >= a) ? shared[w][k] : a;
        shared[0][k] = a;
    }
    __syncthreads();
}

// The energy of the terms beside tets, for thread 0.
static __device__ double term_sum(const hk_gpu_args &a)
{
    __shared__ double part[WARPS];
    double sum = 0;
    for (int k = threadIdx.x; k < a.term_parts; k += THREADS) sum += a.term_energy[k];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = part[0];
    for (int w = 1; w < WARPS; w++) sum += part[w];
    return sum;
}

// True in the block that comes last; then room[0] holds the first `count` sums over all patches.
static __device__ bool all_sums(const hk_gpu_args &a, const double *mine, int count,
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
        for (int k = 0; k <= HK_SUM_LEAST_J; k++) {
            if (k >= count) break;
            double part = __ldcg(&a.partial[(int64_t)p * HK_SUM_WIDTH + k]);
            if (k != HK_SUM_LEAST_J)
                sum[k] += part;
            else if (!(part >= sum[k]))
                sum[k] = part;
        }
    __syncthreads();
    block_sums(sum, count, shared);
    if (threadIdx.x == 0) *a.finished = 0;
    return true;
}

// ---------------------------------------------------------------- an iteration

// q⁺ = ω (q − α P g − last) + last (Descent section 4.3); Nesterov: d + m (d − last).
static __device__ __forceinline__ void move(const hk_gpu_args &a, const plan &c, int v,
                                            const vertex_data &d, float4 q, float3 g)
{
    hk_fine down = step_down(q, c.length, d.inverse, g);
    float w = c.weight;
    if (a.settings->rules.acceleration == HK_ACCELERATION_NESTEROV) {
        float4 here = fine_place(down), last = a.down[v];
        if (w == 0) last = here;
        a.down[v] = here;
        a.moved[v] = extrapolate(down, w, down, fine_of(last));
        return;
    }
    hk_fine last = fine_of(d.last);
    a.moved[v] = w == 1 ? fine_place(down) : extrapolate(last, w, down, last);
}

// The end of a check, in one block.
static __device__ void conclude(const hk_gpu_args &a, const double *sums)
{
    if (a.flags & HK_CHECK_PROBE) {
        for (int k = 0; k < HK_SUM_WIDTH; k++) a.probe[k] = sums[k];
        return;
    }
    hk_gpu_control c = *a.now;
    if (a.blend) *a.held = sums[HK_SUM_WANTING] > 0;  // all blocks have read it
    c.from_good = c.refresh = 0;
    for (int k = 0; k < HK_SUM_WIDTH; k++) c.sums[k] = sums[k];
    bool defers = a.flags & HK_CHECK_DEFER;
    if ((a.flags & HK_CHECK_SETTLE) && sums[HK_SUM_BLENDED] == 0) defers = false;
    c.undecided = defers;
    if (a.flags & HK_CHECK_FIRST)
        control_start(a.settings, &c, sums);
    else if (!defers)
        control_check(a.settings, &c, sums, control_energy(sums), c.energy);
    if (!(a.flags & HK_CHECK_LAST)) {
        c.iterations++;
        if (!defers) control_advance(a.settings, &c, a.iteration);
    }
    *a.next = c;
}

// The control of the iteration after this one.
static __device__ __noinline__ void go_on(const hk_gpu_args &a)
{
    hk_gpu_control c = *a.now;
    c.from_good = c.refresh = 0;
    c.iterations++;
    control_advance(a.settings, &c, a.iteration);
    *a.next = c;
}

// Where an iteration is.
struct place {
    bool probe;
    plan c;
    blend_source blend;
    int checked_in;  // which good state a check writes: that of the start is in its place already
};

// Patches without any have weights of 0.
template <bool CHECK>
static __device__ __forceinline__ void write_blend(const hk_gpu_args &a, const place &here,
                                                   int64_t at, float l)
{
    if (here.probe) return;
    if (here.blend.write || l > 0) a.blend[at] = l;
    if (CHECK && (here.blend.keep || l > 0)) a.good_blend[here.checked_in][at] = l;
}

// Forces of one element into its slots. WATCHES: false if it is about to be blended, and
// nothing was done.
template <bool CHECK, bool WATCHES>
static __device__ __forceinline__ bool take_element(const hk_gpu_args &a, const patch &b,
                                                    const hk_gpu_batch &batch, int64_t at,
                                                    element &e, tally &t)
{
    e.H = gradient_of(e, b.position_address);
    mat3 P;
    float psi = law_of(a.model, batch, at, e.H, &P);
    if (WATCHES && is_near(batch, m3_gradient(e.H), psi, P)) return false;
    put_forces(b.slot_address, e, P);
    if (CHECK && e.counts) count_energy(e, psi, t);
    return true;
}

// The same with all that there may be.
template <bool CHECK>
static __device__ __forceinline__ void take_slowly(const hk_gpu_args &a, const patch &b,
                                                   const place &here, const hk_gpu_batch &batch,
                                                   unsigned at, tally &t)
{
    packed item;
    element e;
    fetch(a.model, at, item);
    unpack(item, e);
    e.H = gradient_of(e, b.position_address);
    mat3 P, F = m3_gradient(e.H);
    float psi = law_of(a.model, batch, at, e.H, &P);
    if (a.blend) {
        float l = here.blend.some ? here.blend.from[at] : 0;
        update how = {batch.upper > 0 && !here.probe, here.blend.held};
        l = blend_element(batch, l, how, F, &psi, &P, t.wants);
        write_blend<CHECK>(a, here, at, l);
        t.some |= l > 0;
    }
    if (a.viscosity) add_viscosity(a, at, e.H, &psi, &P);
    put_forces(b.slot_address, e, P);
    if (CHECK && e.counts) count_energy(e, psi, t);
}

// The end of an iteration at an own vertex.
template <bool CHECK>
static __device__ __forceinline__ void take_vertex(const hk_gpu_args &a, const place &here, int v,
                                                   const vertex_data &data, float4 q,
                                                   float3 elastic, double *sums)
{
    if (CHECK) vertex_sums(a, v, q, data.pull, elastic, a.flags & HK_CHECK_FIRST, sums);
    if (here.probe) {
        if (a.flags & HK_CHECK_GRADIENT)
            a.gradient[v] = make_float4(elastic.x, elastic.y, elastic.z, 0);
        return;
    }
    float3 pull = pull_of(q, data.pull);
    float3 g = make_float3(elastic.x + pull.x, elastic.y + pull.y, elastic.z + pull.z);
    if (!(CHECK && (a.flags & HK_CHECK_LAST))) move(a, here.c, v, data, q, g);
    if (here.c.from_good) ((float4 *)a.q)[v] = q;  // `last` of the next iteration
    if (CHECK && !(a.flags & HK_CHECK_FIRST)) a.good[here.checked_in][v] = q;
}

// False: there is nothing to do. Positions are read meanwhile: where it goes on from is hardly ever
// anything but q.
template <bool CHECK, bool GENERAL>
static __device__ __forceinline__ bool find_place(const hk_gpu_args &a, const patch &b,
                                                  const reads &reading, place &here)
{
    here.probe = CHECK && (a.flags & HK_CHECK_PROBE);
    here.c = {};
    here.blend = {};
    load_positions(a.model, b, reading, here.probe ? a.state : a.q, b.position);
    if (here.probe && a.now && a.now->state != HK_GPU_GOING) return false;
    if (!here.probe) {
        here.c = plan_of(a.now);
        if (here.c.state != HK_GPU_GOING) {
            if (blockIdx.x == 0 && threadIdx.x == 0) *a.next = *a.now;
            return false;
        }
    }
    here.checked_in = CHECK && (a.flags & HK_CHECK_FIRST) ? here.c.good : 1 - here.c.good;
    if (GENERAL) here.blend = blend_of(a, here.c);
    if (GENERAL && CHECK && a.blend && !here.probe)
        here.blend.keep = here.blend.some || a.good_blended[here.checked_in][blockIdx.x];
    if (here.c.from_good) load_positions(a.model, b, reading, a.good[here.c.good], b.position);
    return true;
}

// The end of an iteration, from the forces on.
template <bool CHECK, bool GENERAL>
static __device__ __forceinline__ void
finish_patch(const hk_gpu_args &a, const patch &b, const place &here, const vertex_data &data,
             float force[3], const tally &found, bool blended)
{
    double sums[HK_SUM_WIDTH] = {0};
    sums[HK_SUM_ELASTIC] = found.energy;
    sums[HK_SUM_LEAST_J] = found.least_j;
    sums[HK_SUM_WANTING] = found.wants;
    if (blended && threadIdx.x == 0) sums[HK_SUM_BLENDED] = 1;
    bool owns = (int)threadIdx.x < b.own;
    if (GENERAL && a.term_gradient && owns) {
        float4 term = a.term_gradient[b.first + threadIdx.x];
        force[0] += term.x, force[1] += term.y, force[2] += term.z;
    }
    if (owns)
        take_vertex<CHECK>(a, here, b.first + threadIdx.x, data, b.position[threadIdx.x],
                           make_float3(force[0], force[1], force[2]), sums);
    if (CHECK) {
        __shared__ double totals[WARPS][HK_SUM_WIDTH];
        bool all = a.blend || (a.flags & (HK_CHECK_FIRST | HK_CHECK_PROBE));
        if (!all_sums(a, sums, all ? HK_SUM_LEAST_J + 1 : HK_SUM_ELASTIC_FORCE + 1, totals)) return;
        double terms = GENERAL && a.term_energy ? term_sum(a) : 0;
        if (threadIdx.x > 0) return;
        totals[0][HK_SUM_TERMS] = terms;
        conclude(a, totals[0]);
    } else if (blockIdx.x == 0 && threadIdx.x == 0) {
        go_on(a);
    }
}

// A patch in which elements are blended or viscous, or are about to be: from the beginning. A
// function of its own, so that the others keep their registers; its arguments are in shared memory.
template <bool CHECK> static __device__ __noinline__ void iterate_slowly(const hk_gpu_args &a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_batch batch;
    const hk_gpu_model &m = a.model;
    patch b = patch_of(m, shared);
    place here;
    find_place<CHECK, true>(a, b, reads_of(m, b), here);
    vertex_data data = {};
    float force[3] = {0, 0, 0};
    tally found = {0, INFINITY, false, false};
    for (int r = 0; r < b.rounds; r++) {
        hk_gpu_round_data round = m.rounds[b.round + r];
        __syncthreads();
        load_batch(m, round.batch, &batch);
        __syncthreads();
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS)
            take_slowly<CHECK>(a, b, here, batch, (unsigned)(b.item + i), found);
        __syncthreads();
        collect(b, share_in(m, b, round), force);
    }
    if ((int)threadIdx.x < b.own) data = vertex_data_of(a, b.first + threadIdx.x);
    bool blended = false;
    if (a.blend && !here.probe) {
        int any = __syncthreads_or(found.some);
        blended = any || a.good_blended[here.c.good][blockIdx.x];
        __syncthreads();  // it has been read
        if (threadIdx.x == 0) {
            a.blended[blockIdx.x] = any;
            if (CHECK) a.good_blended[here.checked_in][blockIdx.x] = any;
        }
    }
    finish_patch<CHECK, true>(a, b, here, data, force, found, blended);
}

// All threads come here together. The arguments of a kernel have an address of their own only in
// memory that may be taken over once the next kernel was let go.
template <bool CHECK> static __device__ __forceinline__ void begin_slowly(const hk_gpu_args &a)
{
    __shared__ hk_gpu_args copy;
    __syncthreads();
    if (threadIdx.x == 0) copy = a;
    __syncthreads();
    iterate_slowly<CHECK>(copy);
}

// What is static is loaded before the kernel before has ended. GENERAL: elements may be blended,
// or are viscous, or there are other terms.
template <bool CHECK, bool GENERAL>
static __device__ __forceinline__ void iterate(const hk_gpu_args &a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_batch batch;
    const hk_gpu_model &m = a.model;
    patch b = patch_of(m, shared);
    reads reading = reads_of(m, b);
    packed item = {};
    if ((int)threadIdx.x < b.items) fetch(m, b.item + threadIdx.x, item);
    hk_gpu_round_data round = m.rounds[b.round];
    share_of_round mine = share_in(m, b, round);
    load_batch(m, round.batch, &batch);
    if (threadIdx.x == 0) b.slot[HK_KERNEL_ZERO_SLOT] = make_float4(0, 0, 0, 0);
    cudaGridDependencySynchronize();
    place here;
    if (!find_place<CHECK, GENERAL>(a, b, reading, here)) return;
    // Unless no element of the patch is blended, nor was, and none is viscous.
    if (GENERAL &&
        (a.viscosity || here.blend.some || here.blend.write || (CHECK && here.blend.keep))) {
        begin_slowly<CHECK>(a);
        return;
    }

    bool owns = (int)threadIdx.x < b.own;
    vertex_data data = {};
    float force[3] = {0, 0, 0};
    tally found = {0, INFINITY, false, false};
    int blends = 0;
    for (int r = 0; r < b.rounds; r++) {
        if (r > 0) {
            int before = round.batch;
            round = m.rounds[b.round + r];
            mine = share_in(m, b, round);
            if (round.batch != before) load_batch(m, round.batch, &batch);
        }
        __syncthreads();
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            element e;
            unpack(item, e);
            // The next one of this round, or of the one after it, is on its way meanwhile.
            int then = i + THREADS < round.last ? i + THREADS : round.last + (int)threadIdx.x;
            if (then < b.items) fetch(m, b.item + then, item);
            if (!take_element<CHECK, GENERAL>(a, b, batch, (int64_t)b.item + i, e, found))
                blends = 1;
        }
        // A thread that had none of this round has none on its way either.
        if (round.first + (int)threadIdx.x >= round.last && round.last + (int)threadIdx.x < b.items)
            fetch(m, b.item + round.last + threadIdx.x, item);
        if (r == b.rounds - 1 && owns) data = vertex_data_of(a, b.first + threadIdx.x);
        __syncthreads();
        collect(b, mine, force);
    }
    cudaTriggerProgrammaticLaunchCompletion();
    if (GENERAL && __syncthreads_or(blends)) {
        begin_slowly<CHECK>(a);
        return;
    }
    if (b.rounds == 0 && owns) data = vertex_data_of(a, b.first + threadIdx.x);
    bool blended =
        GENERAL && CHECK && a.blend && !here.probe && a.good_blended[here.c.good][blockIdx.x];
    finish_patch<CHECK, GENERAL>(a, b, here, data, force, found, blended);
}

#define KERNEL(name, check, general, blocks)                  \
    static __global__ void __launch_bounds__(THREADS, blocks) \
        name(const __grid_constant__ hk_gpu_args a)           \
    {                                                         \
        iterate<check, general>(a);                           \
    }
// As many blocks of a multiprocessor as leave registers enough for the law.
KERNEL(step_kernel, false, false, LAW_BLOCKS)
KERNEL(roomy_step_kernel, false, false, (LAW_BLOCKS < 3 ? LAW_BLOCKS : 3))
KERNEL(check_kernel, true, false, (LAW_BLOCKS < 3 ? LAW_BLOCKS : 3))
KERNEL(general_step_kernel, false, true, (LAW_BLOCKS < 4 ? 2 : 3))
KERNEL(general_check_kernel, true, true, (LAW_BLOCKS < 4 ? 2 : 3))

// ---------------------------------------------------------------- the diagonal

// Of the state `a.state`, or where the next iteration begins if it is due then: flags > 0, or an
// undone check asks for it.
static __global__ void __launch_bounds__(THREADS)
    diagonal_kernel(const __grid_constant__ hk_gpu_args a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_batch batch;
    const hk_gpu_model &m = a.model;
    cudaGridDependencySynchronize();
    plan c = {};
    if (!a.state) {
        c = plan_of(a.now);
        if (c.state != HK_GPU_GOING || !(a.flags || c.refresh)) return;
    }
    patch b = patch_of(m, shared);
    reads reading = reads_of(m, b);
    if (threadIdx.x == 0) b.slot[HK_KERNEL_ZERO_SLOT] = make_float4(0, 0, 0, 0);
    blend_source blend = blend_of(a, c);
    load_positions(m, b, reading,
                   a.state       ? a.state
                   : c.from_good ? a.good[c.good]
                                 : a.q,
                   b.position);
    float diagonal[3] = {0, 0, 0};
    for (int r = 0; r < b.rounds; r++) {
        hk_gpu_round_data round = m.rounds[b.round + r];
        load_batch(m, round.batch, &batch);
        __syncthreads();
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            int64_t at = (int64_t)b.item + i;
            element e;
            packed item;
            fetch(m, (unsigned)at, item);
            unpack(item, e);
            e.H = gradient_of(e, b.position_address);
            row_forms rows;
            rows_of(m, batch, at, e.H, &rows);
            float l = blend.some ? blend.from[at] : 0;
            if (l > 0) blend_rows(blend_law_of(batch), l, &rows);
            if (a.viscosity) add_viscous_rows(a, at, &rows);
            put_diagonal(b.slot_address, e, rows);
        }
        __syncthreads();
        collect(b, share_in(m, b, round), diagonal);
    }
    if ((int)threadIdx.x >= b.own) return;
    int v = b.first + threadIdx.x;
    if (a.term_diagonal) {
        float4 term = a.term_diagonal[v];
        diagonal[0] += term.x, diagonal[1] += term.y, diagonal[2] += term.z;
    }
    a.inverse[v] = inverse_of(a, v, diagonal);
}

// ---------------------------------------------------------------- comparing blended elements

// Elements that are blended make ε another function at every check. The state checked last and the
// one that was kept are compared by one that is defined at both: with the larger weight of every
// element, now and then. (solver/descent.c begins with the function of now.)
static __global__ void __launch_bounds__(THREADS)
    compare_kernel(const __grid_constant__ hk_gpu_args a)
{
    extern __shared__ float4 shared[];
    __shared__ hk_gpu_batch batch;
    __shared__ double totals[WARPS][HK_SUM_WIDTH];
    cudaGridDependencySynchronize();
    const hk_gpu_model &m = a.model;
    plan c = plan_of(a.next);  // as the check left it
    if (c.state != HK_GPU_GOING || !a.next->undecided) return;
    bool now = a.good_blended[1 - c.good][blockIdx.x], before = a.good_blended[c.good][blockIdx.x];
    patch b = patch_of(m, shared);
    reads reading = reads_of(m, b);
    load_positions(m, b, reading, a.good[1 - c.good], b.position);
    float4 *kept = b.slot;
    load_positions(m, b, reading, a.good[c.good], kept);
    double sums[HK_SUM_WIDTH] = {0};
    int batch_at = -1;
    for (int r = 0; r < b.rounds; r++) {
        hk_gpu_round_data round = m.rounds[b.round + r];
        __syncthreads();
        if (round.batch != batch_at) load_batch(m, round.batch, &batch);
        batch_at = round.batch;
        __syncthreads();
        for (int i = round.first + threadIdx.x; i < round.last; i += THREADS) {
            int64_t at = (int64_t)b.item + i;
            element e;
            packed item;
            fetch(m, (unsigned)at, item);
            unpack(item, e);
            if (!e.counts) continue;
            float l = fmaxf(now ? a.good_blend[1 - c.good][at] : 0,
                            before ? a.good_blend[c.good][at] : 0);
            for (int k = 0; k < 2; k++) {
                mat3 P, H = gradient_of(e, k ? b.slot_address : b.position_address);
                mat3 F = m3_gradient(H);
                float psi = law_of(m, batch, at, H, &P);
                if (l > 0) blend_energy_stress(blend_law_of(batch), l, &F, &psi, &P);
                if (a.viscosity) add_viscosity(a, at, H, &psi, &P);
                sums[k] += (double)(e.volume * psi);
            }
        }
    }
    if (!all_sums(a, sums, 2, totals) || threadIdx.x > 0) return;
    hk_gpu_control next = *a.next;
    double others = next.sums[HK_SUM_QUADRATIC] + next.sums[HK_SUM_TERMS];
    double kept_others = next.energy - next.elastic;
    control_check(a.settings, &next, next.sums, totals[0][0] + others, totals[0][1] + kept_others);
    if (!(a.flags & HK_CHECK_LAST)) control_advance(a.settings, &next, a.iteration);
    *a.next = next;
}

extern "C" const hk_gpu_kernels JOIN(hk_gpu_kernels_, HK_GPU_LAW) = {
    {(const void *)step_kernel, (const void *)general_step_kernel},
    (const void *)roomy_step_kernel,
    {(const void *)check_kernel, (const void *)general_check_kernel},
    (const void *)diagonal_kernel,
    (const void *)compare_kernel,
    (const void *)viscosity_kernel};
