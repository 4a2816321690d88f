// `descent` (solver/descent.c) in one kernel a time step, for models that fit into the shared
// memories of the device; for one law, HK_GPU_LAW, as law.cu is compiled. A block of threads keeps
// one patch (layout.h) from the first iteration to the last: its elements never leave its shared
// memory, and an iteration reads nothing but the positions of the ghosts.
//
// There is no barrier over the grid. A position goes from the patch that owns the vertex to those
// that read it as one word of 16 bytes with its tag, the number of the iteration, and whoever wants
// it asks until the tag is right. Two buffers are enough: a patch writes q of iteration k + 1 over
// that of k − 1 when it has seen all of its neighbours' q of k, which they wrote after they had
// read that of k − 1; and neighbours are so to each other.
//
// Looks are the same with sums: every block publishes its own, reads those of all, adds them up in
// the same order and comes to the same decision by itself. All blocks have to be on the device at
// the same time (a cooperative launch).
//
// A block is some groups of threads. A group takes every so many-th round of the patch's elements,
// with slots of its own; then the threads of all groups add up the forces of one vertex each.
//
// Laws that decompose F are left to law.cu: they have no registers to spare, and their iterations
// are so long that launches hardly matter.
#include "gpu/iteration.h"
#include "gpu/law_calls.h"
#include "gpu/patch.h"

enum { STAYS = !LAW_DECOMPOSES, GROUPS = LAW_BLOCKS };

// ---------------------------------------------------------------- words with a tag

// 16 bytes that are written and read as one.
static __device__ __forceinline__ void word_write(void *to, unsigned long long low,
                                                  unsigned long long high)
{
    asm volatile("{ .reg .b128 word;\n\t"
                 "mov.b128 word, {%1, %2};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], word; }" ::"l"(to),
                 "l"(low), "l"(high)
                 : "memory");
}

static __device__ __forceinline__ void word_read(const void *from, unsigned long long &low,
                                                 unsigned long long &high)
{
    asm volatile("{ .reg .b128 word;\n\t"
                 "ld.relaxed.gpu.global.b128 word, [%2];\n\t"
                 "mov.b128 {%0, %1}, word; }"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
}

static __device__ __forceinline__ void publish(float4 *to, float4 q, unsigned tag)
{
    unsigned long long low = __float_as_uint(q.x) | (unsigned long long)__float_as_uint(q.y) << 32;
    unsigned long long high = __float_as_uint(q.z) | (unsigned long long)tag << 32;
    word_write(to, low, high);
}

static __device__ __forceinline__ float4 await(const float4 *from, unsigned tag)
{
    unsigned long long low, high;
    do word_read(from, low, high);
    while ((unsigned)(high >> 32) != tag);
    return make_float4(__uint_as_float((unsigned)low), __uint_as_float((unsigned)(low >> 32)),
                       __uint_as_float((unsigned)high), 0);
}

// ---------------------------------------------------------------- a patch that stays

struct resident {
    patch b;  // with the slots of this thread's group
    int group, groups;
    int thread, threads;       // of the block; a thread owns the vertex of its number
    uint4 *item;               // [most_items]
    float4 *shape0;            // [most_items]
    float2 *shape1;            // [most_items]
    float4 *part;              // [groups][most_own] what every group has for a vertex
    hk_gpu_round_data *round;  // [most_rounds]
    uint16_t *count, *base;    // [most_rounds][own], [most_rounds][slices of own]
    hk_gpu_batch *batch;       // of this thread's group
};

static __device__ __forceinline__ void group_sync(const resident &r)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + r.group), "n"((int)THREADS) : "memory");
}

// The room of a block: bytes_of (resident.cu) measures the same.
static __device__ __forceinline__ resident resident_of(const hk_gpu_resident_args &args,
                                                       float4 *room)
{
    const hk_gpu_model &m = args.a.model;
    resident r;
    r.b = patch_of(m, room);
    r.group = threadIdx.y;
    r.groups = blockDim.y;
    r.thread = threadIdx.x + THREADS * threadIdx.y;
    r.threads = THREADS * blockDim.y;
    float4 *slots = r.b.slot;
    r.b.slot = slots + r.group * m.most_slots;
    r.b.slot_address += 16 * r.group * m.most_slots;
    r.item = (uint4 *)(slots + r.groups * m.most_slots);
    r.shape0 = (float4 *)(r.item + args.most_items);
    r.part = r.shape0 + args.most_items;
    r.shape1 = (float2 *)(r.part + r.groups * args.most_own);
    hk_gpu_batch *batches = (hk_gpu_batch *)(r.shape1 + args.most_items);
    r.batch = batches + r.group;
    r.round = (hk_gpu_round_data *)(batches + r.groups);
    r.count = (uint16_t *)(r.round + args.most_rounds);
    r.base = r.count + args.most_rounds * args.most_own;
    return r;
}

// Brings what never changes.
static __device__ __forceinline__ void settle_in(const hk_gpu_resident_args &args,
                                                 const resident &r)
{
    const hk_gpu_model &m = args.a.model;
    const patch &b = r.b;
    int slices = (b.own + WARP - 1) / WARP;
    for (int k = r.thread; k < b.items; k += r.threads) {
        packed p;
        fetch(m, b.item + k, p);
        r.item[k] = p.item;
        r.shape0[k] = p.shape0;
        r.shape1[k] = make_float2(p.shape1.x, p.shape1.y);
    }
    for (int n = 0; n < b.rounds; n++) {
        hk_gpu_round_data round = m.rounds[b.round + n];
        if (r.thread == 0) r.round[n] = round;
        for (int k = r.thread; k < b.own; k += r.threads)
            r.count[n * b.own + k] = m.count[round.counts + k];
        for (int k = r.thread; k < slices; k += r.threads)
            r.base[n * slices + k] = m.base[round.bases + k];
    }
    if (threadIdx.x == 0) b.slot[1] = make_float4(0, 0, 0, 0);
    if (b.rounds > r.group) load_batch(m, m.rounds[b.round + r.group].batch, r.batch);
}

// Of vertex v of the patch in round n.
static __device__ __forceinline__ share_of_round share_in(const resident &r, int n, int v)
{
    int slices = (r.b.own + WARP - 1) / WARP;
    share_of_round s = {0, 0};
    if (v < r.b.own) s.count = r.count[n * r.b.own + v];
    if ((v & ~(WARP - 1)) < r.b.own) s.base = r.base[n * slices + v / WARP];
    return s;
}

static __device__ __forceinline__ void element_at(const hk_gpu_model &m, const resident &r, int k,
                                                  element &e)
{
    packed p = {r.item[k], r.shape0[k], make_float4(r.shape1[k].x, r.shape1[k].y, 0, 0)};
    unpack(p, true, e);
    e.F = gradient_of<true>(e, r.b.position_address);
}

// Adds up what the groups have for the vertex of this thread.
static __device__ __forceinline__ void join(const hk_gpu_resident_args &args, const resident &r,
                                            float sum[3])
{
    if (r.thread >= r.b.own) return;
    if (r.group > 0) sum[0] = sum[1] = sum[2] = 0;
    for (int g = r.group > 0 ? 0 : 1; g < min(r.groups, r.b.rounds); g++) {
        float4 part = r.part[g * args.most_own + r.thread];
        sum[0] += part.x, sum[1] += part.y, sum[2] += part.z;
    }
}

// The sums of a round for all vertices: those of the first THREADS in registers, others in `part`.
static __device__ __forceinline__ void collect_round(const hk_gpu_resident_args &args,
                                                     const resident &r, int n, float sum[3])
{
    collect(r.b, share_in(r, n, threadIdx.x), sum);
    for (int v = threadIdx.x + THREADS; v - (int)threadIdx.x < r.b.own; v += THREADS) {
        float4 *part = &r.part[r.group * args.most_own + v];
        float more[3] = {0, 0, 0};
        collect(r.b, share_in(r, n, v), more);
        if (v >= r.b.own) continue;
        if (n > r.group) more[0] += part->x, more[1] += part->y, more[2] += part->z;
        *part = make_float4(more[0], more[1], more[2], 0);
    }
}

// Goes over the rounds of this group: `take` leaves something in the slots of every element. What
// they add up to at the vertex of this thread is in `sum` in the end; then nobody reads positions
// any more.
template <class Take>
static __device__ __forceinline__ void go_round(const hk_gpu_resident_args &args, const resident &r,
                                                float sum[3], Take take)
{
    const hk_gpu_model &m = args.a.model;
    int batch = r.b.rounds > r.group ? r.round[r.group].batch : -1, first = batch;
    for (int n = r.group; n < r.b.rounds; n += r.groups) {
        hk_gpu_round_data round = r.round[n];
        if (n > r.group) group_sync(r);  // slots have been read
        if (round.batch != batch) {
            load_batch(m, round.batch, r.batch);
            batch = round.batch;
            group_sync(r);
        }
        for (int k = round.first + threadIdx.x; k < round.last; k += THREADS) take(k);
        group_sync(r);
        collect_round(args, r, n, sum);
    }
    if (batch != first) {  // for the next time
        group_sync(r);
        load_batch(m, first, r.batch);
    }
    if (r.group > 0 && (int)threadIdx.x < r.b.own)
        r.part[r.group * args.most_own + threadIdx.x] = make_float4(sum[0], sum[1], sum[2], 0);
    __syncthreads();
    join(args, r, sum);
}

// Forces of the elements at the positions in shared memory, and their energies if LOOK.
template <bool LOOK>
static __device__ __forceinline__ void add_forces(const hk_gpu_resident_args &args,
                                                  const resident &r, float force[3], tally &found)
{
    const hk_gpu_model &m = args.a.model;
    go_round(args, r, force, [&](int k) {
        element e;
        element_at(m, r, k, e);
        float values[4];
        values_of(m, (int64_t)r.b.item + k, values);
        mat3 P;
        float psi =
            law_energy_stress(r.batch->law, (const hk_law_params *)r.batch->c, values, &e.F, &P);
        put_forces<true>(r.b, e, P);
        if (LOOK && e.counts) {
            float j = m3_det(e.F);
            found.energy += (double)(e.volume * psi);
            if (!(j >= found.least_j)) found.least_j = j;  // also NaN
        }
    });
}

// `inverse` of the own vertices at the positions in shared memory.
static __device__ __forceinline__ void refresh(const hk_gpu_resident_args &args, const resident &r)
{
    const hk_gpu_args &a = args.a;
    float diagonal[3] = {0, 0, 0};
    go_round(args, r, diagonal, [&](int k) {
        element e;
        element_at(a.model, r, k, e);
        float values[4];
        values_of(a.model, (int64_t)r.b.item + k, values);
        row_forms rows;
        law_rows(r.batch->law, (const hk_law_params *)r.batch->c, values, &e.F, &rows);
        put_diagonal(r.b, e, rows);
    });
    if (r.thread < r.b.own)
        a.inverse[r.b.first + r.thread] = inverse_of(a, r.b.first + r.thread, diagonal);
    __syncthreads();  // the parts have been read
}

// ---------------------------------------------------------------- positions

// Of own vertices and ghosts, from a state that all blocks know to be there.
static __device__ __forceinline__ void take_state(const hk_gpu_model &m, const resident &r,
                                                  const float4 *from)
{
    for (int k = r.thread; k < r.b.locals; k += r.threads)
        r.b.position[k] = __ldcg(from + global_vertex(m, r.b, k));
    __syncthreads();
}

// The ghosts of an iteration, from the last thread but a warp on: the first ones move vertices
// meanwhile, the last one plans ahead.
static __device__ __forceinline__ void await_ghosts(const hk_gpu_model &m, const resident &r,
                                                    const float4 *from, unsigned tag)
{
    int ghosts = r.b.locals - r.b.own, turn = r.threads - WARP - 1 - r.thread;
    for (int k = turn < 0 ? turn + r.threads : turn; k < ghosts; k += r.threads)
        r.b.position[r.b.own + k] = await(from + m.ghost[r.b.ghost + k], tag);
}

// Waits for all blocks; what they wrote before is seen by all afterwards. Seldom.
static __device__ __forceinline__ void meet(uint4 *packet, const resident &r, unsigned tag)
{
    __threadfence();
    __syncthreads();
    if (r.thread == 0) word_write(packet + blockIdx.x, 0, tag);
    for (int p = r.thread; p < (int)gridDim.x; p += r.threads) {
        unsigned long long value, seen;
        do word_read(packet + p, value, seen);
        while (seen != tag);
    }
    __threadfence();
    __syncthreads();
}

// ---------------------------------------------------------------- looks

enum { MOST_SUMS = HK_SUM_SLOPE, AT_ONCE = 3 };

// What the threads of a block decide by.
struct council {
    hk_gpu_control c;
    hk_gpu_settings s;
    float2 plan[2];  // α and ω of an iteration
    int state, good, from_good, refresh;
    double part[MOST_SUMS][WARPS * GROUPS];
    double sums[HK_SUM_WIDTH];
};

// Over the threads of a block, into d.sums.
template <int COUNT>
static __device__ __forceinline__ void reduce(const resident &r, const double *mine, council &d)
{
    int warp = r.thread / WARP, lane = r.thread % WARP, warps = r.threads / WARP;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        double a = warp_sum(mine[k]);
        if (lane == 0) d.part[k][warp] = a;
    }
    __syncthreads();
    if (warp < COUNT) {
        double a = warp_sum(lane < warps ? d.part[warp][lane] : 0);
        if (lane == 0) d.sums[warp] = a;
    }
    __syncthreads();
}

// Over all blocks, into d.sums.
template <int COUNT>
static __device__ __forceinline__ void add_up(const hk_gpu_resident_args &args, const resident &r,
                                              const double *mine, int buffer, unsigned tag,
                                              council &d)
{
    static_assert(COUNT <= MOST_SUMS && COUNT % AT_ONCE == 0 && COUNT <= WARPS, "sums");
    reduce<COUNT>(r, mine, d);
    uint4 *packet = args.packet[buffer];
    if (r.thread < COUNT)
        word_write(packet + (int64_t)blockIdx.x * HK_SUM_WIDTH + r.thread,
                   (unsigned long long)__double_as_longlong(d.sums[r.thread]), tag);
    double sum[COUNT] = {0};
    for (int p = r.thread; p < (int)gridDim.x; p += r.threads)
#pragma unroll
        for (int k = 0; k < COUNT; k += AT_ONCE) {
            const uint4 *from = packet + (int64_t)p * HK_SUM_WIDTH + k;
            unsigned long long value[AT_ONCE], seen[AT_ONCE];
            bool all;
            do {
                all = true;
                for (int n = 0; n < AT_ONCE; n++) word_read(from + n, value[n], seen[n]);
                for (int n = 0; n < AT_ONCE; n++) all &= seen[n] == tag;
            } while (!all);
            for (int n = 0; n < AT_ONCE; n++)
                sum[k + n] += __longlong_as_double((long long)value[n]);
        }
    __syncthreads();  // d.sums has been read
    reduce<COUNT>(r, sum, d);
}

// The thread that decides: the last one, which seldom has a vertex or an element.
static __device__ __forceinline__ bool presides(const resident &r)
{
    return r.thread == r.threads - 1;
}

static __device__ __forceinline__ void announce(council &d, int next)
{
    d.plan[next & 1] = make_float2(d.c.length, d.c.weight);
    d.state = d.c.state;
    d.good = d.c.good;
    d.from_good = d.c.from_good;
    d.refresh = d.c.refresh;
}

// After the look of iteration k.
static __device__ __noinline__ void decide(council &d, int k, int budget)
{
    hk_gpu_control &c = d.c;
    c.from_good = c.refresh = 0;
    if (k == 0)
        control_start(&d.s, &c, d.sums);
    else
        control_look(&d.s, &c, d.sums, d.sums[HK_SUM_ELASTIC] + d.sums[HK_SUM_QUADRATIC], c.energy);
    if (k < budget) {
        c.iterations++;
        control_advance(&d.s, &c, k);
    }
    announce(d, k + 1);
}

// After iteration k without a look.
static __device__ __noinline__ void go_on(council &d, int k)
{
    d.c.iterations++;
    control_advance(&d.s, &d.c, k);
    d.plan[(k + 1) & 1] = make_float2(d.c.length, d.c.weight);
}

// ---------------------------------------------------------------- the start

// Energy at a state and whether all J are positive there, in d.sums as control_fit wants them.
static __device__ __forceinline__ void probe(const hk_gpu_resident_args &args, const resident &r,
                                             council &d, const float4 *state, int buffer,
                                             unsigned tag)
{
    enum { TURNED = HK_SUM_RESIDUAL };  // threads with an element that is inside out
    const hk_gpu_args &a = args.a;
    take_state(a.model, r, state);
    float force[3] = {0, 0, 0};
    tally found = {0, INFINITY, false};
    add_forces<true>(args, r, force, found);
    double sums[HK_SUM_WIDTH] = {0};
    sums[HK_SUM_ELASTIC] = found.energy;
    if (r.thread < r.b.own) {
        int v = r.b.first + r.thread;
        vertex_sums(a, v, r.b.position[r.thread], a.target[v],
                    make_float3(force[0], force[1], force[2]), false, sums);
    }
    sums[TURNED] = found.least_j > 0 ? 0 : 1;
    add_up<TURNED + 1>(args, r, sums, buffer, tag, d);
    if (r.thread == 0) d.sums[HK_SUM_LEAST_J] = d.sums[TURNED] > 0 ? -1 : 1;
    __syncthreads();
}

// As choose_kernel (vertex.cu) for kinds that need no more than energies.
static __device__ __forceinline__ void choose_start(const hk_gpu_resident_args &args,
                                                    const resident &r, council &d, unsigned tag)
{
    __shared__ double at_position[HK_SUM_WIDTH];
    const hk_gpu_args &a = args.a;
    bool compares = args.kind == HK_GPU_START_AUTO, guesses = args.kind != HK_GPU_START_POSITION;
    for (int which = compares ? 0 : 1; which < (guesses ? 2 : 0); which++) {
        probe(args, r, d, a.good[which], which, tag + which);
        if (which == 0 && r.thread < HK_SUM_WIDTH) at_position[r.thread] = d.sums[r.thread];
        __syncthreads();
    }
    if (presides(r)) {
        bool fit = guesses && control_fit(d.sums, compares ? at_position : nullptr);
        control_begin(&d.s, &d.c, fit);
        announce(d, 0);
    }
    __syncthreads();
}

// ---------------------------------------------------------------- a time step

// q of the next iteration (as `move` in law.cu); a.down holds what it needs of the one before.
static __device__ __forceinline__ float4 move(const hk_gpu_args &a, const council &d, int k, int v,
                                              float4 target, float4 q, float3 elastic)
{
    float2 plan = d.plan[k & 1];
    float4 inverse = a.inverse[v], last = a.down[v];
    float3 pull = pull_of(q, target);
    float4 down = make_float4(q.x - plan.x * inverse.x * (elastic.x + pull.x),
                              q.y - plan.x * inverse.y * (elastic.y + pull.y),
                              q.z - plan.x * inverse.z * (elastic.z + pull.z), 0);
    float w = plan.y;
    if (d.s.acceleration == HK_GPU_NESTEROV) {
        a.down[v] = down;
        if (w == 0) return down;
        return make_float4(down.x + w * (down.x - last.x), down.y + w * (down.y - last.y),
                           down.z + w * (down.z - last.z), 0);
    }
    a.down[v] = q;
    if (w == 1) return down;
    return make_float4(w * (down.x - last.x) + last.x, w * (down.y - last.y) + last.y,
                       w * (down.z - last.z) + last.z, 0);
}

// An iteration from the positions in shared memory; the next ones are there afterwards, unless the
// look says otherwise.
template <bool LOOK>
static __device__ __forceinline__ void iterate(const hk_gpu_resident_args &args, const resident &r,
                                               council &d, int k, int looks, unsigned epoch)
{
    const hk_gpu_args &a = args.a;
    unsigned tag = epoch + k + 1;
    float force[3] = {0, 0, 0};
    tally found = {0, INFINITY, false};
    add_forces<LOOK>(args, r, force, found);
    double sums[HK_SUM_WIDTH] = {0};
    if (LOOK) sums[HK_SUM_ELASTIC] = found.energy;
    bool owns = r.thread < r.b.own;
    float4 q = make_float4(0, 0, 0, 0);
    if (owns) {
        int v = r.b.first + r.thread;
        float4 target = a.target[v];
        float3 elastic = make_float3(force[0], force[1], force[2]);
        q = r.b.position[r.thread];
        if (LOOK) {
            vertex_sums(a, v, q, target, elastic, k == 0, sums);
            if (k > 0) a.good[1 - d.good][v] = q;
        }
        q = move(a, d, k, v, target, q, elastic);
        publish(args.exchange[(k + 1) & 1] + v, q, tag);
    }
    if (!LOOK && presides(r)) go_on(d, k);
    if (LOOK) {
        if (k == 0)
            add_up<HK_SUM_SLOPE>(args, r, sums, looks & 1, tag, d);
        else
            add_up<HK_SUM_RESIDUAL + 1>(args, r, sums, looks & 1, tag, d);
        if (presides(r)) decide(d, k, args.budget);
        __syncthreads();
        if (d.state != HK_GPU_GOING || k == args.budget) return;
    }
    if (LOOK && d.from_good) {
        meet(args.packet[2], r, tag);
        take_state(a.model, r, a.good[d.good]);
        return;
    }
    if (owns) r.b.position[r.thread] = q;
    await_ghosts(a.model, r, args.exchange[(k + 1) & 1], tag);
    __syncthreads();
}

static __device__ __forceinline__ void take_step(const hk_gpu_resident_args &args)
{
    extern __shared__ float4 room[];
    __shared__ council d;
    const hk_gpu_args &a = args.a;
    resident r = resident_of(args, room);
    settle_in(args, r);
    unsigned epoch = *args.epoch + 2;  // two tags are those of the start
    if (presides(r)) {
        d.c = *a.now;
        d.s = *a.settings;
        announce(d, 0);
    }
    __syncthreads();
    if (args.kind >= 0) choose_start(args, r, d, epoch - 1);
    int check = d.s.check, k = 0, looks = 0;
    take_state(a.model, r, a.good[d.good]);
    if (args.every > 0) refresh(args, r);
    for (; k <= args.budget; k++) {
        if (k % check && k < args.budget) {
            iterate<false>(args, r, d, k, looks, epoch);
            continue;
        }
        iterate<true>(args, r, d, k, looks++, epoch);
        if (d.state != HK_GPU_GOING) break;
        bool due = k > 0 && args.every > 0 && k / args.every != (k - check) / args.every;
        if (k > 0 && k < args.budget && args.every > 0 && (due || d.refresh)) refresh(args, r);
    }
    if (blockIdx.x > 0 || !presides(r)) return;
    *a.next = d.c;
    *args.epoch = epoch + k + 2;
}

static __global__ void __launch_bounds__(THREADS *GROUPS, 1)
    resident_kernel(const __grid_constant__ hk_gpu_resident_args args)
{
    if constexpr (STAYS) take_step(args);
}

extern "C" const hk_gpu_resident_kernel JOIN(hk_gpu_resident_, HK_GPU_LAW) = {
    (const void *)resident_kernel, STAYS ? (int)GROUPS : 0};
