// A patch that stays in the shared memory of its block for a whole time step (law_persistent.cu),
// and what goes to and fro between such blocks.
#ifndef HK_PERSISTENT_PATCH_H
#define HK_PERSISTENT_PATCH_H

#include "gpu/patch.h"

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

// Tags of positions have eight bits, beside the fine bits (fine.h). That is enough to tell
// iterations apart: what lies in a buffer is of the last one but one, or from the end of the step
// before, a few tags ago.
enum { TAG_SHIFT = 24 };

static __device__ __forceinline__ void publish(float4 *to, float4 q, unsigned tag)
{
    unsigned bits = (__float_as_uint(q.w) & ((1u << TAG_SHIFT) - 1)) | tag << TAG_SHIFT;
    unsigned long long low = __float_as_uint(q.x) | (unsigned long long)__float_as_uint(q.y) << 32;
    unsigned long long high = __float_as_uint(q.z) | (unsigned long long)bits << 32;
    word_write(to, low, high);
}

static __device__ __forceinline__ float4 await(const float4 *from, unsigned tag)
{
    unsigned long long low, high;
    do word_read(from, low, high);
    while ((unsigned)(high >> (32 + TAG_SHIFT)) != (tag & 0xff));
    return make_float4(__uint_as_float((unsigned)low), __uint_as_float((unsigned)(low >> 32)),
                       __uint_as_float((unsigned)high), __uint_as_float((unsigned)(high >> 32)));
}

// ---------------------------------------------------------------- a patch that stays

struct held_patch {
    patch b;  // with the slots of this thread's group
    int group, groups;
    int thread, threads;       // of the block; those of the first group own vertices
    uint4 *item;               // [most_items]
    float4 *shape0, *shape1;   // [most_items]
    float *shape2;             // [most_items]
    float4 *part;              // [groups − 1][most_own] what the other groups have for a vertex
    hk_gpu_round_data *round;  // [most_rounds]
    uint16_t *count, *base;    // [most_rounds][own], [most_rounds][slices of own]
    hk_gpu_batch *batch;       // of this thread's group
};

static __device__ __forceinline__ void group_sync(const held_patch &r)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + r.group), "n"((int)THREADS) : "memory");
}

// The room of a block: bytes_of (persistent.cu) measures the same.
static __device__ __forceinline__ held_patch held_patch_of(const hk_gpu_persistent_args &args,
                                                           float4 *room)
{
    const hk_gpu_model &m = args.a.model;
    held_patch r;
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
    r.shape1 = r.shape0 + args.most_items;
    r.part = r.shape1 + args.most_items;
    r.shape2 = (float *)(r.part + (r.groups - 1) * args.most_own);
    hk_gpu_batch *batches = (hk_gpu_batch *)(r.shape2 + args.most_items);
    r.batch = batches + r.group;
    r.round = (hk_gpu_round_data *)(batches + r.groups);
    r.count = (uint16_t *)(r.round + args.most_rounds);
    r.base = r.count + args.most_rounds * args.most_own;
    return r;
}

// Brings what never changes.
static __device__ __forceinline__ void settle_in(const hk_gpu_persistent_args &args,
                                                 const held_patch &r)
{
    const hk_gpu_model &m = args.a.model;
    const patch &b = r.b;
    int slices = (b.own + WARP - 1) / WARP;
    for (int k = r.thread; k < b.items; k += r.threads) {
        packed p;
        fetch(m, b.item + k, p);
        r.item[k] = p.item;
        r.shape0[k] = p.shape0;
        r.shape1[k] = p.shape1;
        r.shape2[k] = p.shape2;
    }
    for (int n = 0; n < b.rounds; n++) {
        hk_gpu_round_data round = m.rounds[b.round + n];
        if (r.thread == 0) r.round[n] = round;
        for (int k = r.thread; k < b.own; k += r.threads)
            r.count[n * b.own + k] = m.count[round.counts + k];
        for (int k = r.thread; k < slices; k += r.threads)
            r.base[n * slices + k] = m.base[round.bases + k];
    }
    if (threadIdx.x == 0) b.slot[HK_KERNEL_ZERO_SLOT] = make_float4(0, 0, 0, 0);
    if (b.rounds > r.group) load_batch(m, m.rounds[b.round + r.group].batch, r.batch);
}

// Of vertex v of the patch in round n.
static __device__ __forceinline__ share_of_round share_in(const held_patch &r, int n, int v)
{
    int slices = (r.b.own + WARP - 1) / WARP;
    share_of_round s = {0, 0};
    if (v < r.b.own) s.count = r.count[n * r.b.own + v];
    if ((v & ~(WARP - 1)) < r.b.own) s.base = r.base[n * slices + v / WARP];
    return s;
}

static __device__ __forceinline__ void element_at(const held_patch &r, int k, element &e)
{
    packed p = {r.item[k], r.shape0[k], r.shape1[k], r.shape2[k]};
    unpack(p, e);
    e.H = gradient_of(e, r.b.position_address);
}

// Where this thread's group leaves what it has for the vertex of the thread, or (others) where the
// first one finds it.
static __device__ __forceinline__ float4 *part_of(const hk_gpu_persistent_args &args,
                                                  const held_patch &r, int group)
{
    return &r.part[(group - 1) * args.most_own + threadIdx.x];
}

// Adds up what the groups have for the vertices of the first, unless a thread watches and has seen
// something: true.
template <bool WATCHES>
static __device__ __forceinline__ bool join(const hk_gpu_persistent_args &args, const held_patch &r,
                                            float sum[3], bool seen)
{
    bool owns = (int)threadIdx.x < r.b.own;
    if (r.group > 0 && owns) *part_of(args, r, r.group) = make_float4(sum[0], sum[1], sum[2], 0);
    if (!WATCHES)
        __syncthreads();
    else if (__syncthreads_or(seen))
        return true;
    if (r.group > 0 || !owns) return false;
    for (int g = 1; g < min(r.groups, r.b.rounds); g++) {
        float4 part = *part_of(args, r, g);
        sum[0] += part.x, sum[1] += part.y, sum[2] += part.z;
    }
    return false;
}

// Goes over the rounds of this group: `take` leaves something in the slots of every element. What
// they add up to at an own vertex is in its thread's `sum` in the end; then nobody reads positions
// any more. True: `take` was true for an element of the patch, and the sums are worth nothing.
template <bool WATCHES, class Take>
static __device__ __forceinline__ bool go_round(const hk_gpu_persistent_args &args,
                                                const held_patch &r, float sum[3], Take take)
{
    const hk_gpu_model &m = args.a.model;
    int batch = r.b.rounds > r.group ? r.round[r.group].batch : -1, first = batch;
    bool seen = false;
    for (int n = r.group; n < r.b.rounds; n += r.groups) {
        hk_gpu_round_data round = r.round[n];
        if (n > r.group) group_sync(r);  // slots have been read
        if (round.batch != batch) {
            load_batch(m, round.batch, r.batch);
            batch = round.batch;
            group_sync(r);
        }
        for (int k = round.first + threadIdx.x; k < round.last; k += THREADS) seen |= take(k);
        group_sync(r);
        collect(r.b, share_in(r, n, threadIdx.x), sum);
    }
    if (batch != first) {  // for the next time
        group_sync(r);
        load_batch(m, first, r.batch);
    }
    return join<WATCHES>(args, r, sum, seen);
}

// ---------------------------------------------------------------- positions

// Of own vertices and ghosts, from a state that all blocks know to be there.
static __device__ __forceinline__ void take_state(const hk_gpu_model &m, const held_patch &r,
                                                  const float4 *from)
{
    for (int k = r.thread; k < r.b.locals; k += r.threads)
        r.b.position[k] = __ldcg(from + global_vertex(m, r.b, k));
    __syncthreads();
}

// The ghosts of an iteration, from the last thread but a warp on: the first ones move vertices
// meanwhile, the last one plans ahead.
static __device__ __forceinline__ void await_ghosts(const hk_gpu_model &m, const held_patch &r,
                                                    const float4 *from, unsigned tag)
{
    int ghosts = r.b.locals - r.b.own, turn = r.threads - WARP - 1 - r.thread;
    for (int k = turn < 0 ? turn + r.threads : turn; k < ghosts; k += r.threads)
        r.b.position[r.b.own + k] = await(from + m.ghost[r.b.ghost + k], tag);
}

// Waits for all blocks; what they wrote before is seen by all afterwards. Seldom.
static __device__ __forceinline__ void meet(uint4 *packet, const held_patch &r,
                                            unsigned long long tag)
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

#endif
