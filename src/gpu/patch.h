// A patch in the shared memory of its block (layout.h), its elements, and the sums of their forces
// at its own vertices: what the kernels of law.cu are made of.
#ifndef HK_PATCH_H
#define HK_PATCH_H

#include "gpu/fine.h"
#include "gpu/law_choice.h"

enum { THREADS = HK_GPU_THREADS, WARP = 32, WARPS = THREADS / WARP };

// ---------------------------------------------------------------- a patch in shared memory

// Shared memory by its address: pointers to it would be made from the place of the block in its
// cluster at every use.
static __device__ __forceinline__ float4 shared_read(unsigned at)
{
    float4 a;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a.x), "=f"(a.y), "=f"(a.z), "=f"(a.w)
                 : "r"(at));
    return a;
}
// Where the offset is 0, nobody wants it.
static __device__ __forceinline__ void shared_write(unsigned base, unsigned offset, float x,
                                                    float y, float z)
{
    asm volatile("{ .reg .pred wanted;\n\t"
                 "setp.ne.u32 wanted, %1, 0;\n\t"
                 "@wanted st.shared.v4.f32 [%0], {%2, %3, %4, %5}; }" ::"r"(base + offset),
                 "r"(offset), "f"(x), "f"(y), "f"(z), "f"(0.f)
                 : "memory");
}

struct patch {
    int first, own;     // vertices
    int ghost, locals;  // in model.ghost; own vertices and ghosts together
    int item;           // the first
    int round, rounds, items;
    float4 *position;  // [locals]
    float4 *slot;      // of a round
    unsigned position_address, slot_address;
};

static __device__ __forceinline__ patch patch_of(const hk_gpu_model &m, float4 *room)
{
    const int4 *from = (const int4 *)&m.patches[blockIdx.x];
    int4 p = from[0], q = from[1];
    patch b = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
    b.position = room;
    b.slot = room + b.locals;
    b.position_address = (unsigned)__cvta_generic_to_shared(room);
    b.slot_address = b.position_address + 16 * b.locals;
    return b;
}

static __device__ __forceinline__ int global_vertex(const hk_gpu_model &m, const patch &b,
                                                    int local)
{
    return local < b.own ? b.first + local : m.ghost[b.ghost + local - b.own];
}

// The vertices that this thread reads of the patch: known before the kernel before has ended.
enum { READS = 4 };
struct reads {
    int vertex[READS];
};

static __device__ __forceinline__ reads reads_of(const hk_gpu_model &m, const patch &b)
{
    reads r;
#pragma unroll
    for (int n = 0; n < READS; n++) {
        int l = threadIdx.x + n * THREADS;
        r.vertex[n] = l < b.locals ? global_vertex(m, b, l) : -1;
    }
    return r;
}

static __device__ __forceinline__ void load_positions(const hk_gpu_model &m, const patch &b,
                                                      const reads &r, const float4 *from,
                                                      float4 *to)
{
#pragma unroll
    for (int n = 0; n < READS; n++)
        if (r.vertex[n] >= 0) to[threadIdx.x + n * THREADS] = from[r.vertex[n]];
    for (int l = threadIdx.x + READS * THREADS; l < b.locals; l += THREADS)
        to[l] = from[global_vertex(m, b, l)];
}

static __device__ __forceinline__ void load_batch(const hk_gpu_model &m, int number,
                                                  hk_gpu_batch *batch)
{
    const int *from = (const int *)&m.batches[number];
    for (int k = threadIdx.x; k < (int)(sizeof *batch / sizeof(int)); k += THREADS)
        ((int *)batch)[k] = from[k];
}

// ---------------------------------------------------------------- one element

// What an element brings from memory.
struct packed {
    uint4 item;
    float4 shape0, shape1;
    float shape2;
};

// With offsets of 32 bits: the layout has fewer than 2^28 items.
static __device__ __forceinline__ void fetch(const hk_gpu_model &m, unsigned at, packed &p)
{
    p.item = *(const uint4 *)((const char *)m.items + 16 * at);
    p.shape0 = *(const float4 *)((const char *)m.shape.row0 + 16 * at);
    p.shape1 = *(const float4 *)((const char *)m.shape.row1 + 16 * at);
    p.shape2 = *(const float *)((const char *)m.shape.row2 + 4 * at);
}

struct element {
    unsigned corner[4], slot[4];  // × 16: bytes
    bool counts;                  // its energy does, in this patch
    mat3 shape;                   // shape gradients of corners 1, 2, 3 in its rows, 1/m
    float volume;
    mat3 H;  // ∂u/∂X, F = 1 + H
};

static __device__ __forceinline__ void unpack(const packed &p, element &e)
{
    unsigned word[4] = {p.item.x, p.item.y, p.item.z, p.item.w};
    for (int c = 0; c < 4; c++) {
        unsigned corner = word[c / 2], slot = word[2 + c / 2];
        e.corner[c] = (c % 2 ? corner >> 12 : corner << 4) & 0x7fff0;
        e.slot[c] = (c % 2 ? slot >> 12 : slot << 4) & 0xffff0;
    }
    e.counts = word[0] & 0x8000;
    const float4 a = p.shape0, b = p.shape1;
    e.shape = {{{a.x, a.y, a.z}, {a.w, b.x, b.y}, {b.z, b.w, p.shape2}}};
    e.volume = 1 / fabsf(6 * m3_det(e.shape));
}

// What a law wants to know of its element.
static __device__ __forceinline__ void values_of(const float4 *elements, int64_t at,
                                                 float values[4])
{
    for (int i = 0; i < 4; i++) values[i] = 0;
    if (!elements) return;
    float4 v = elements[at];
    values[0] = v.x, values[1] = v.y, values[2] = v.z;
}

// The displacement gradient: that of small strains keeps all its digits.
static __device__ __forceinline__ mat3 gradient_of(const element &e, unsigned positions)
{
    hk_fine o = fine_of(shared_read(positions + e.corner[0]));
    mat3 H = m3_zero();
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float3 edge = fine_minus(fine_of(shared_read(positions + e.corner[c + 1])), o);
        const float a[3] = {edge.x, edge.y, edge.z};
#pragma unroll
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) {
                float part = e.shape.m[c][j] * a[i];
                H.m[i][j] = c == 0 ? part : H.m[i][j] + part;
            }
    }
    return H;
}

// Forces volume P Bᵀ of corners 1..3, and minus their sum at corner 0, into slots of shared memory.
static __device__ __forceinline__ void put_forces(unsigned slots, const element &e, const mat3 &P)
{
    mat3 stress = m3_scale(P, e.volume);
    vec3 sum = {{0, 0, 0}};
#pragma unroll
    for (int c = 0; c < 3; c++) {
        vec3 f;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            f.v[i] = stress.m[i][2] * e.shape.m[c][2];
#pragma unroll
            for (int j = 1; j >= 0; j--) f.v[i] += stress.m[i][j] * e.shape.m[c][j];
        }
        shared_write(slots, e.slot[c + 1], f.v[0], f.v[1], f.v[2]);
        sum = c == 0 ? f : v3_add(sum, f);
    }
    shared_write(slots, e.slot[0], -sum.v[0], -sum.v[1], -sum.v[2]);
}

static __device__ __forceinline__ void put_diagonal(unsigned slots, const element &e,
                                                    const row_forms &rows)
{
    float scale = e.volume;
    for (int c = 0; c < 4; c++) {
        vec3 a;
        for (int j = 0; j < 3; j++)
            a.v[j] = c > 0 ? e.shape.m[c - 1][j]
                           : -(e.shape.m[0][j] + e.shape.m[1][j] + e.shape.m[2][j]);
        shared_write(slots, e.slot[c], scale * row_form_value(&rows, 0, a),
                     scale * row_form_value(&rows, 1, a), scale * row_form_value(&rows, 2, a));
    }
}

// How many corners of a round this thread's vertex has, and where the slots of its slice begin.
struct share_of_round {
    int count, base;
};

static __device__ __forceinline__ share_of_round share_in(const hk_gpu_model &m, const patch &b,
                                                          const hk_gpu_round_data &round)
{
    int t = threadIdx.x;
    share_of_round s = {0, 0};
    if (t < b.own) s.count = m.count[round.counts + t];
    if ((t & ~(WARP - 1)) < b.own) s.base = m.base[round.bases + t / WARP];
    return s;
}

// COUNT slots of this thread's vertex from the k-th on. All threads of a warp take part; those with
// fewer corners read zeros.
template <int COUNT>
static __device__ __forceinline__ void collect_some(const patch &b, int k, share_of_round &s,
                                                    float sum[3])
{
    unsigned before = (1u << threadIdx.x % WARP) - 1;
    float4 f[COUNT];
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
        unsigned with = __ballot_sync(~0u, s.count > k + n);
        int slot = s.count > k + n ? s.base + __popc(with & before) : HK_KERNEL_ZERO_SLOT;
        f[n] = shared_read(b.slot_address + 16 * slot);
        s.base += __popc(with) + HK_KERNEL_SKEW;
    }
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
        sum[0] += f[n].x;
        sum[1] += f[n].y;
        sum[2] += f[n].z;
    }
}

// The slots of this thread's vertex, added up in their order, several reads at a time.
static __device__ __forceinline__ void collect(const patch &b, share_of_round s, float sum[3])
{
    int k = 0;
    for (; __any_sync(~0u, s.count > k + 2); k += 4) collect_some<4>(b, k, s, sum);
    if (__any_sync(~0u, s.count > k)) collect_some<2>(b, k, s, sum);
}

#endif
