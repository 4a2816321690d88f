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
// Checks are the same with sums: every block publishes its own, reads those of all, adds them up in
// the same order and comes to the same decision by itself. All blocks have to be on the device at
// the same time (a cooperative launch).
//
// A block is some groups of threads. A group takes every so many-th round of the patch's elements,
// with slots of its own; then the threads of the first add up the forces of one vertex each.
//
// Elements may be blended (BLENDS): patches watch for it, and do an iteration again, element by
// element, if one is about to be, as law.cu does.
//
// Laws that decompose F are left to law.cu: they have no registers to spare, and their iterations
// are so long that launches hardly matter.
#include "gpu/blend.h"
#include "gpu/iteration.h"
#include "gpu/law_calls.h"
#include "gpu/persistent_patch.h"

enum { STAYS = !LAW_DECOMPOSES, GROUPS = LAW_BLOCKS };

// ---------------------------------------------------------------- what a block knows

// A check adds up the first AT_ONCE sums; the start, and checks of blended elements, all of them.
enum { MOST_SUMS = 8, AT_ONCE = HK_SUM_ELASTIC_FORCE + 1 };
static_assert((int)MOST_SUMS >= (int)HK_SUM_SLOPE && (int)MOST_SUMS <= (int)HK_SUM_WIDTH, "sums");

// What a patch knows of the blend weights in hk_gpu_args.
struct blending {
    int some, good_some[2];  // there are some, now and in the good states; else all of them are 0
    int found;               // in this iteration: BLENDED, WANTED
    int held;                // none decays
};
enum { BLENDED = 1, WANTED = 2 };

// What the threads of a block decide by.
struct decision_data {
    hk_gpu_control c;
    hk_gpu_settings s;
    float2 plan[2];  // α and ω of an iteration
    int state, good, from_good, refresh;
    double part[MOST_SUMS][WARPS * GROUPS];
    double sums[HK_SUM_WIDTH];
    double compared[AT_ONCE];  // elastic energies of the state checked and of the one kept
    blending blending;
    hk_gpu_persistent_args args;  // of the kernel, for functions of their own
};

static __device__ __forceinline__ void begin_blending(const hk_gpu_args &a, blending &s)
{
    s.some = a.blended[blockIdx.x];
    s.found = 0;
    s.held = *a.held;
    for (int k = 0; k < 2; k++) s.good_some[k] = a.good_blended[k][blockIdx.x];
}

static __device__ __forceinline__ void end_blending(const hk_gpu_args &a, const blending &s)
{
    a.blended[blockIdx.x] = s.some;
    for (int k = 0; k < 2; k++) a.good_blended[k][blockIdx.x] = s.good_some[k];
}

// The blend weights of a good state become those of now.
static __device__ __forceinline__ void take_blend(const hk_gpu_args &a, const held_patch &r,
                                                  blending &s, int good)
{
    if (s.some || s.good_some[good])
        for (int k = r.thread; k < r.b.items; k += r.threads)
            a.blend[r.b.item + k] = a.good_blend[good][r.b.item + k];
    __syncthreads();
    if (r.thread == 0) s.some = s.good_some[good];
    __syncthreads();
}

// ---------------------------------------------------------------- elements

// What forces are wanted for. Only the last two want energies; a probe leaves blend weights as
// they are.
enum purpose { TO_MOVE, TO_CHECK, TO_PROBE };

// What the elements of a thread come to, and what it collects for its vertex.
struct outcome {
    float force[3];
    tally found;
};

static __device__ __forceinline__ outcome no_outcome()
{
    outcome o = {{0, 0, 0}, {0, INFINITY, false, false}};
    return o;
}

// True if an element is about to be blended; then the outcome is worth nothing.
template <purpose WHY, bool WATCHES>
static __device__ __forceinline__ bool add_forces(const hk_gpu_persistent_args &args,
                                                  const held_patch &r, outcome &o)
{
    const hk_gpu_model &m = args.a.model;
    return go_round<WATCHES>(args, r, o.force, [&](int k) {
        element e;
        element_at(r, k, e);
        mat3 P;
        float psi = law_of(m, *r.batch, (unsigned)(r.b.item + k), e.H, &P);
        put_forces(r.b.slot_address, e, P);
        if (WHY != TO_MOVE && e.counts) count_energy(e, psi, o.found);
        return WATCHES && is_near(*r.batch, m3_gradient(e.H), psi, P);
    });
}

static __device__ __forceinline__ void add_diagonal(const hk_gpu_persistent_args &args,
                                                    const held_patch &r, float diagonal[3])
{
    const hk_gpu_model &m = args.a.model;
    go_round<false>(args, r, diagonal, [&](int k) {
        element e;
        element_at(r, k, e);
        row_forms rows;
        rows_of(m, *r.batch, (unsigned)(r.b.item + k), e.H, &rows);
        put_diagonal(r.b.slot_address, e, rows);
        return false;
    });
}

// ---------------------------------------------------------------- elements that are blended

// Patches that have any, or are about to, are left to functions of their own, so that the others
// keep their registers.
static __device__ __forceinline__ float weight_of(const hk_gpu_args &a, const blending &s,
                                                  unsigned at)
{
    return s.some ? a.blend[at] : 0;
}

// checked_in: the good state of a check.
template <purpose WHY>
static __device__ __noinline__ outcome add_forces_slowly(decision_data &d, int checked_in)
{
    extern __shared__ float4 shared[];
    const hk_gpu_args &a = d.args.a;
    held_patch r = held_patch_of(d.args, shared);
    outcome o = no_outcome();
    go_round<false>(d.args, r, o.force, [&](int k) {
        unsigned at = (unsigned)(r.b.item + k);
        element e;
        element_at(r, k, e);
        mat3 P, F = m3_gradient(e.H);
        float psi = law_of(a.model, *r.batch, at, e.H, &P), l = weight_of(a, d.blending, at);
        update how = {WHY != TO_PROBE && r.batch->upper > 0, d.blending.held != 0};
        bool wants = false;
        l = blend_element(*r.batch, l, how, F, &psi, &P, wants);
        if (WHY != TO_PROBE) {
            a.blend[at] = l;
            if (l > 0) atomicOr(&d.blending.found, wants ? BLENDED | WANTED : BLENDED);
        }
        if (WHY == TO_CHECK) a.good_blend[checked_in][at] = l;
        put_forces(r.b.slot_address, e, P);
        if (WHY != TO_MOVE && e.counts) count_energy(e, psi, o.found);
        return false;
    });
    return o;
}

static __device__ __noinline__ float3 add_diagonal_slowly(decision_data &d)
{
    extern __shared__ float4 shared[];
    const hk_gpu_args &a = d.args.a;
    held_patch r = held_patch_of(d.args, shared);
    float diagonal[3] = {0, 0, 0};
    go_round<false>(d.args, r, diagonal, [&](int k) {
        unsigned at = (unsigned)(r.b.item + k);
        element e;
        element_at(r, k, e);
        row_forms rows;
        rows_of(a.model, *r.batch, at, e.H, &rows);
        float l = weight_of(a, d.blending, at);
        if (l > 0) blend_rows(blend_law_of(*r.batch), l, &rows);
        put_diagonal(r.b.slot_address, e, rows);
        return false;
    });
    return make_float3(diagonal[0], diagonal[1], diagonal[2]);
}

// The energy of this thread's elements, with the larger one of their weights in the two good
// states.
static __device__ __noinline__ double energy_by_larger(decision_data &d)
{
    extern __shared__ float4 shared[];
    const hk_gpu_args &a = d.args.a;
    held_patch r = held_patch_of(d.args, shared);
    double energy = 0;
    float none[3] = {0, 0, 0};
    go_round<false>(d.args, r, none, [&](int k) {
        unsigned at = (unsigned)(r.b.item + k);
        element e;
        element_at(r, k, e);
        if (!e.counts) return false;
        mat3 P, F = m3_gradient(e.H);
        float psi = law_of(a.model, *r.batch, at, e.H, &P), l = 0;
        for (int n = 0; n < 2; n++)
            if (d.blending.good_some[n]) l = fmaxf(l, a.good_blend[n][at]);
        if (l > 0) blend_energy_stress(blend_law_of(*r.batch), l, &F, &psi, &P);
        energy += (double)(e.volume * psi);
        return false;
    });
    return energy;
}

// ---------------------------------------------------------------- all elements

// Forces at the positions in shared memory. checked_in: the good state of a check.
template <purpose WHY, bool BLENDS>
static __device__ __forceinline__ outcome forces_of(const hk_gpu_persistent_args &args,
                                                    const held_patch &r, decision_data &d,
                                                    int checked_in)
{
    outcome o = no_outcome();
    const blending &s = d.blending;
    // Weights that the buffer of a good state still has are to go.
    bool slowly = BLENDS && (s.some || (WHY == TO_CHECK && s.good_some[checked_in]));
    constexpr bool WATCHES = BLENDS && WHY != TO_PROBE;
    if (!slowly) slowly = add_forces<WHY, WATCHES>(args, r, o);
    return BLENDS && slowly ? add_forces_slowly<WHY>(d, checked_in) : o;
}

// `inverse` of the own vertices at the positions in shared memory.
template <bool BLENDS>
static __device__ __forceinline__ void refresh(const hk_gpu_persistent_args &args,
                                               const held_patch &r, decision_data &d)
{
    const hk_gpu_args &a = args.a;
    float diagonal[3] = {0, 0, 0};
    if (BLENDS && d.blending.some) {
        float3 slow = add_diagonal_slowly(d);
        diagonal[0] = slow.x, diagonal[1] = slow.y, diagonal[2] = slow.z;
    } else {
        add_diagonal(args, r, diagonal);
    }
    if (r.thread < r.b.own)
        a.inverse[r.b.first + r.thread] = inverse_of(a, r.b.first + r.thread, diagonal);
    __syncthreads();  // the parts have been read
}

// ---------------------------------------------------------------- checks

// Over the threads of a block.
template <int COUNT>
static __device__ __forceinline__ void reduce(const held_patch &r, const double *mine,
                                              decision_data &d, double *sums)
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
        if (lane == 0) sums[warp] = a;
    }
    __syncthreads();
}

// Over all blocks; `sums` is in shared memory.
template <int COUNT>
static __device__ __forceinline__ void add_up(const hk_gpu_persistent_args &args,
                                              const held_patch &r, const double *mine, int buffer,
                                              unsigned tag, decision_data &d, double *sums)
{
    static_assert(COUNT <= MOST_SUMS && COUNT % AT_ONCE == 0 && COUNT <= WARPS, "sums");
    reduce<COUNT>(r, mine, d, sums);
    uint4 *packet = args.packet[buffer];
    if (r.thread < COUNT)
        word_write(packet + (int64_t)blockIdx.x * HK_SUM_WIDTH + r.thread,
                   (unsigned long long)__double_as_longlong(sums[r.thread]), tag);
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
    __syncthreads();  // sums have been read
    reduce<COUNT>(r, sum, d, sums);
}

// The thread that decides: the last one, which seldom has a vertex or an element.
static __device__ __forceinline__ bool decides(const held_patch &r)
{
    return r.thread == r.threads - 1;
}

static __device__ __forceinline__ void announce(decision_data &d, int next)
{
    d.plan[next & 1] = make_float2(d.c.length, d.c.weight);
    d.state = d.c.state;
    d.good = d.c.good;
    d.from_good = d.c.from_good;
    d.refresh = d.c.refresh;
}

// After the check of iteration k. compared: elastic energies were, too.
static __device__ __noinline__ void decide(decision_data &d, int k, int budget, bool compared)
{
    hk_gpu_control &c = d.c;
    c.from_good = c.refresh = 0;
    double quadratic = d.sums[HK_SUM_QUADRATIC], kept = c.energy - c.elastic;
    if (k == 0)
        control_start(&d.s, &c, d.sums);
    else if (compared)
        control_check(&d.s, &c, d.sums, d.compared[0] + quadratic, d.compared[1] + kept);
    else
        control_check(&d.s, &c, d.sums, control_energy(d.sums), c.energy);
    if (k < budget) {
        c.iterations++;
        control_advance(&d.s, &c, k);
    }
    announce(d, k + 1);
}

// After iteration k without a check.
static __device__ __noinline__ void go_on(decision_data &d, int k)
{
    d.c.iterations++;
    control_advance(&d.s, &d.c, k);
    d.plan[(k + 1) & 1] = make_float2(d.c.length, d.c.weight);
}

// As compare_kernel (law.cu): the energies of the state checked and of the one that was kept, by
// one function, into d.compared. The positions are those checked before and afterwards.
static __device__ __forceinline__ void compare(const hk_gpu_persistent_args &args,
                                               const held_patch &r, decision_data &d, unsigned tag)
{
    const hk_gpu_args &a = args.a;
    const float4 *state[2] = {a.good[1 - d.good], a.good[d.good]};
    double sums[AT_ONCE] = {0};
    meet(args.packet[2], r, tag | 1ull << 32);  // all have written it; there may be another one
    for (int which = 0; which < 2; which++) {
        take_state(a.model, r, state[which]);
        sums[which] = energy_by_larger(d);
    }
    take_state(a.model, r, state[0]);
    add_up<AT_ONCE>(args, r, sums, 3, tag, d, d.compared);
}

// ---------------------------------------------------------------- the start

// Energy at a state and whether all J are positive there, in d.sums as control_fit wants them.
template <bool BLENDS>
static __device__ __forceinline__ void probe(const hk_gpu_persistent_args &args,
                                             const held_patch &r, decision_data &d,
                                             const float4 *state, int buffer, unsigned tag)
{
    enum { TURNED = HK_SUM_RESIDUAL };  // threads with an element that is inside out
    const hk_gpu_args &a = args.a;
    take_state(a.model, r, state);
    outcome o = forces_of<TO_PROBE, BLENDS>(args, r, d, 0);
    double sums[HK_SUM_WIDTH] = {0};
    sums[HK_SUM_ELASTIC] = o.found.energy;
    if (r.thread < r.b.own) {
        int v = r.b.first + r.thread;
        vertex_sums(a, v, r.b.position[r.thread], pull_data_of(a, v),
                    make_float3(o.force[0], o.force[1], o.force[2]), false, sums);
    }
    sums[TURNED] = o.found.least_j > 0 ? 0 : 1;
    add_up<AT_ONCE>(args, r, sums, buffer, tag, d, d.sums);
    if (r.thread == 0) d.sums[HK_SUM_LEAST_J] = d.sums[TURNED] > 0 ? -1 : 1;
    __syncthreads();
}

// As choose_kernel (vertex.cu) for kinds that need no more than energies.
template <bool BLENDS>
static __device__ __forceinline__ void choose_start(const hk_gpu_persistent_args &args,
                                                    const held_patch &r, decision_data &d,
                                                    unsigned tag)
{
    __shared__ double at_position[HK_SUM_WIDTH];
    const hk_gpu_args &a = args.a;
    bool compares = args.kind == HK_START_AUTO, guesses = args.kind != HK_START_POSITION;
    for (int which = compares ? 0 : 1; which < (guesses ? 2 : 0); which++) {
        probe<BLENDS>(args, r, d, a.good[which], which, tag + which);
        if (which == 0 && r.thread < HK_SUM_WIDTH) at_position[r.thread] = d.sums[r.thread];
        __syncthreads();
    }
    if (decides(r)) {
        bool fit = guesses && control_fit(args.kind, d.sums, compares ? at_position : nullptr);
        control_begin(&d.s, &d.c, fit);
        announce(d, 0);
    }
    __syncthreads();
}

// ---------------------------------------------------------------- a time step

// q of the next iteration (as `move` in law.cu); a.down holds what it needs of the one before.
static __device__ __forceinline__ float4 move(const hk_gpu_args &a, const decision_data &d, int k,
                                              int v, const pull_data &to, float4 q, float3 elastic)
{
    float2 plan = d.plan[k & 1];
    float4 inverse = a.inverse[v], before = a.down[v];
    float3 pull = pull_of(q, to);
    hk_fine down =
        step_down(q, plan.x, inverse,
                  make_float3(elastic.x + pull.x, elastic.y + pull.y, elastic.z + pull.z));
    hk_fine last = fine_of(before);
    float w = plan.y;
    if (d.s.rules.acceleration == HK_ACCELERATION_NESTEROV) {
        float4 here = fine_place(down);
        a.down[v] = here;
        return w == 0 ? here : extrapolate(down, w, down, last);
    }
    a.down[v] = q;
    return w == 1 ? fine_place(down) : extrapolate(last, w, down, last);
}

// At the end of an iteration's forces, by one thread: whether the patch has blended elements in
// one of the states that are checked, and whether some want to be.
template <bool CHECK>
static __device__ __forceinline__ int note_blend(blending &s, int good, int checked_in)
{
    int wanted = s.found & WANTED;
    s.some = s.found & BLENDED;
    s.found = 0;
    bool any = s.some || s.good_some[good];
    if (CHECK) s.good_some[checked_in] = s.some;
    return wanted | (any ? BLENDED : 0);
}

// The sums of a check over all blocks, and what it makes of them.
template <bool BLENDS>
static __device__ __forceinline__ void check(const hk_gpu_persistent_args &args,
                                             const held_patch &r, decision_data &d, int k,
                                             int buffer, unsigned tag, double *sums, int found)
{
    // Patches with blended elements, and with such as want to be; nobody asks for other sums there.
    enum { BLENDING = HK_SUM_ELASTIC_FORCE + 1, WANTING };
    bool compared = false;
    if (k == 0) {
        add_up<MOST_SUMS>(args, r, sums, buffer, tag, d, d.sums);
    } else if (BLENDS) {
        sums[BLENDING] = (found & BLENDED) != 0;
        sums[WANTING] = (found & WANTED) != 0;
        add_up<MOST_SUMS>(args, r, sums, buffer, tag, d, d.sums);
        compared = d.sums[BLENDING] > 0;
        if (decides(r)) d.blending.held = d.sums[WANTING] > 0;
        if (compared) compare(args, r, d, tag);
    } else {
        add_up<AT_ONCE>(args, r, sums, buffer, tag, d, d.sums);
    }
    if (decides(r)) decide(d, k, args.budget, compared);
    __syncthreads();
}

// An iteration from the positions in shared memory; the next ones are there afterwards, unless the
// check says otherwise.
template <bool CHECK, bool BLENDS>
static __device__ __forceinline__ void iterate(const hk_gpu_persistent_args &args,
                                               const held_patch &r, decision_data &d, int k,
                                               int checks, unsigned epoch)
{
    const hk_gpu_args &a = args.a;
    unsigned tag = epoch + k + 1;
    int checked_in = k == 0 ? d.good : 1 - d.good;
    constexpr purpose WHY = CHECK ? TO_CHECK : TO_MOVE;
    outcome o = forces_of<WHY, BLENDS>(args, r, d, checked_in);
    double sums[HK_SUM_WIDTH] = {0};
    if (CHECK) sums[HK_SUM_ELASTIC] = o.found.energy;
    bool owns = r.thread < r.b.own;
    int found = 0;
    float4 q = make_float4(0, 0, 0, 0);
    if (owns) {
        int v = r.b.first + r.thread;
        pull_data target = pull_data_of(a, v);
        float3 elastic = make_float3(o.force[0], o.force[1], o.force[2]);
        q = r.b.position[r.thread];
        if (CHECK) {
            vertex_sums(a, v, q, target, elastic, k == 0, sums);
            if (k > 0) a.good[checked_in][v] = q;
        }
        q = move(a, d, k, v, target, q, elastic);
        publish(args.exchange[(k + 1) & 1] + v, q, tag);
    }
    if (BLENDS && decides(r)) found = note_blend<CHECK>(d.blending, d.good, checked_in);
    if (!CHECK && decides(r)) go_on(d, k);
    if (CHECK) {
        check<BLENDS>(args, r, d, k, checks & 1, tag, sums, found);
        if (d.state != HK_GPU_GOING || k == args.budget) return;
    }
    if (CHECK && d.from_good) {
        meet(args.packet[2], r, tag);
        take_state(a.model, r, a.good[d.good]);
        if (BLENDS) take_blend(a, r, d.blending, d.good);
        return;
    }
    if (owns) r.b.position[r.thread] = q;
    await_ghosts(a.model, r, args.exchange[(k + 1) & 1], tag);
    __syncthreads();
}

template <bool BLENDS>
static __device__ __forceinline__ void take_step(const hk_gpu_persistent_args &args)
{
    extern __shared__ float4 shared[];
    __shared__ decision_data d;
    const hk_gpu_args &a = args.a;
    held_patch r = held_patch_of(args, shared);
    settle_in(args, r);
    unsigned epoch = *args.epoch + 2;  // two tags are those of the start
    if (decides(r)) {
        d.c = *a.now;
        d.s = *a.settings;
        d.sums[HK_SUM_TERMS] = 0;  // it has none
        announce(d, 0);
        if (BLENDS) begin_blending(a, d.blending);
        if (BLENDS) d.args = args;
    }
    __syncthreads();
    if (args.kind >= 0) choose_start<BLENDS>(args, r, d, epoch - 1);
    int check = d.s.rules.check, k = 0, checks = 0;
    take_state(a.model, r, a.good[d.good]);
    if (BLENDS) take_blend(a, r, d.blending, d.good);
    if (args.every > 0) refresh<BLENDS>(args, r, d);
    for (; k <= args.budget; k++) {
        if (k % check && k < args.budget) {
            iterate<false, BLENDS>(args, r, d, k, checks, epoch);
            continue;
        }
        iterate<true, BLENDS>(args, r, d, k, checks++, epoch);
        if (d.state != HK_GPU_GOING) break;
        bool due = k > 0 && args.every > 0 && k / args.every != (k - check) / args.every;
        if (k > 0 && k < args.budget && args.every > 0 && (due || d.refresh))
            refresh<BLENDS>(args, r, d);
    }
    if (BLENDS && decides(r)) end_blending(a, d.blending);
    if (blockIdx.x > 0 || !decides(r)) return;
    *a.next = d.c;
    if (BLENDS) *a.held = d.blending.held;
    *args.epoch = epoch + k + 2;
}

template <bool BLENDS>
static __global__ void __launch_bounds__(THREADS *GROUPS, 1)
    persistent_kernel(const __grid_constant__ hk_gpu_persistent_args args)
{
    if (STAYS) take_step<BLENDS>(args);
}

extern "C" const hk_gpu_persistent_kernel JOIN(hk_gpu_persistent_, HK_GPU_LAW) = {
    {(const void *)persistent_kernel<false>, (const void *)persistent_kernel<true>},
    STAYS ? (int)GROUPS : 0};
