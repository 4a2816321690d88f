#include "gpu/fine.h"
#include "gpu/motion.h"

enum { THREADS = 256, WARP = 32 };

static int blocks_for(int count)
{
    return (count + THREADS - 1) / THREADS;
}

// ---------------------------------------------------------------- where held vertices are

// The state at the beginning of the stage, and the velocities before that.
static __device__ __forceinline__ const double *positions_of(const hk_gpu_state &s)
{
    return s.known[s.stage > 0 ? HK_KNOWN_X_STAGE : HK_KNOWN_X];
}
static __device__ __forceinline__ const double *velocities_of(const hk_gpu_state &s)
{
    return s.known[s.stage > 0 ? HK_KNOWN_V_STAGE : HK_KNOWN_V];
}
static __device__ __forceinline__ const double *velocities_before(const hk_gpu_state &s)
{
    return s.known[s.stage > 0 ? HK_KNOWN_V : HK_KNOWN_V_BEFORE];
}

// Of a held vertex at the end of the stage, or a part of the way there; or at the end of the step.
static __device__ void held_place(const hk_gpu_state &s, int v, bool end_of_step, double to[3])
{
    int hold = s.hold[v];
    const double *rest = s.rest + 3 * (int64_t)v;
    if (hold == HK_GPU_TARGETED) {
        for (int i = 0; i < 3; i++) to[i] = s.targets[3 * (int64_t)v + i];
        if (end_of_step) return;
    } else if (hold < 0) {
        for (int i = 0; i < 3; i++) to[i] = rest[i];
        return;
    } else {
        const hk_gpu_motion &m = s.motions[hold];
        place_point(s, m, end_of_step ? 1 : fraction_of(s, s.part), rest, to);
        if (m.over > 0 || end_of_step) return;
    }
    // A motion that takes no time at all is taken in parts all the same.
    const double *from = positions_of(s) + 3 * (int64_t)v;
    for (int i = 0; i < 3; i++) to[i] = from[i] + s.part * (to[i] - from[i]);
}

static __device__ __forceinline__ bool is_free(const hk_gpu_state &s, int v)
{
    return s.hold[v] == -1;
}

// ---------------------------------------------------------------- the beginning of a stage

static __device__ void combine(const hk_gpu_state &s, const double *coefficient, int64_t at,
                               double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = 0;
    for (int k = 0; k < HK_KNOWN_COUNT; k++) {
        double c = coefficient[k];
        if (c == 0) continue;
        for (int i = 0; i < 3; i++) to[i] += c * s.known[k][at + i];
    }
}

// The part 0..1 of the external acceleration that the last step had (Chen et al. 2024).
static __device__ double external_part(const hk_gpu_state &s, double length, int v)
{
    double along = 0, square = 0;
    const double *now = velocities_of(s), *before = velocities_before(s);
    for (int64_t i = 3 * (int64_t)v; i < 3 * (int64_t)v + 3; i++) {
        along += s.external[i] * (now[i] - before[i]) / length;
        square += s.external[i] * s.external[i];
    }
    return start_external_part(s.mass[v], along, square);
}

static __device__ __forceinline__ void write_exact(const hk_gpu_state &s, int which, int v,
                                                   const double x[3])
{
    double *to = s.exact[which];
    for (int i = 0; i < 3 && to; i++) to[3 * (int64_t)v + i] = x[i];
}

static __device__ __forceinline__ void write_target(const hk_gpu_begun &to, int v, float4 place,
                                                    float stiffness)
{
    to.target_bits[v] = fine_word(place.w);
    to.target[v] = make_float4(place.x, place.y, place.z, stiffness);
}

static __global__ void begin_kernel(hk_gpu_state s, int kind, const float4 *reached,
                                    hk_gpu_begun to)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    int64_t at = 3 * (int64_t)v;
    int body = s.body[v], anchor = s.anchor[body];
    const hk_gpu_stage &stage = stage_of(s);
    const double *here = positions_of(s), *speed = velocities_of(s);
    double o[3], x[3], y[3], from[3], first[3];
    for (int i = 0; i < 3; i++) {
        double origin = here[3 * (int64_t)anchor + i];
        if (v == anchor) s.origin[3 * body + i] = origin;
        o[i] = origin + (s.rest[at + i] - s.rest[3 * (int64_t)anchor + i]);  // as frame_place
        x[i] = here[at + i];
    }
    if (v == 0) *s.rate = (float)(s.viscous / stage.of.h);
    combine(s, stage.of.from, at, from);
    if (to.before) to.before[v] = fine_narrow(x, o);
    if (to.from) to.from[v] = fine_narrow(from, o);
    if (!is_free(s, v)) {
        held_place(s, v, false, x);
        to.position[v] = to.guess[v] = fine_narrow(x, o);
        write_target(to, v, to.position[v], 0);
        to.velocity[v] = to.velocity_before[v] = make_float4(0, 0, 0, 0);
        for (int k = HK_EXACT_POSITION; k <= HK_EXACT_TARGET; k++) write_exact(s, k, v, x);
        return;
    }
    // Inertia pulls to y, air to where velocities are measured from, and forces displace what they
    // pull to.
    combine(s, stage.of.y, at, y);
    double inertia = s.mass[v] * stage.of.weight;
    double air = (s.drag * s.mass[v] + s.air) / stage.of.h, all = inertia + air;
    double pull = kind == HK_START_ADAPTIVE
                      ? stage.length * stage.length * external_part(s, stage.length, v) / s.mass[v]
                      : 0;
    const double *before = velocities_before(s);
    for (int i = 0; i < 3; i++) {
        y[i] = (inertia * y[i] + air * from[i] + s.external[at + i]) / all;
        first[i] = x[i] + stage.start_a * speed[at + i] + stage.start_b * before[at + i] +
                   pull * s.external[at + i];
    }
    write_target(to, v, fine_narrow(y, o), (float)all);
    to.position[v] = reached ? reached[v] : fine_narrow(x, o);
    if (reached) fine_widen(reached[v], o, x);
    write_exact(s, HK_EXACT_POSITION, v, x);
    write_exact(s, HK_EXACT_GUESS, v, first);
    write_exact(s, HK_EXACT_TARGET, v, y);
    to.guess[v] = fine_narrow(first, o);
    to.velocity[v] = make_float4((float)speed[at], (float)speed[at + 1], (float)speed[at + 2], 0);
    to.velocity_before[v] =
        make_float4((float)before[at], (float)before[at + 1], (float)before[at + 2], 0);
}

void hk_gpu_begin(const hk_gpu_state *s, int kind, const float4 *reached, const hk_gpu_begun *to,
                  cudaStream_t stream)
{
    begin_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, kind, reached, *to);
}

// The guess x + a v + b v_before.
static __device__ void guess_ahead(const hk_gpu_state &s, int v, double a, double b, float4 *guess)
{
    int64_t at = 3 * (int64_t)v;
    const double *here = positions_of(s) + at, *speed = velocities_of(s) + at,
                 *before = velocities_before(s) + at;
    double x[3], o[3];
    for (int i = 0; i < 3; i++) x[i] = here[i] + a * speed[i] + b * before[i];
    frame_place(hk_gpu_frame_of(&s), v, o);
    guess[v] = fine_narrow(x, o);
    write_exact(s, HK_EXACT_GUESS, v, x);
}

static __device__ double probe_time(double size, double speed)
{
    return speed > 0 ? start_probe_time(1, size, sqrt(speed)) : 0;
}

static __global__ void probe_start_kernel(hk_gpu_state s, double size, const double *speed,
                                          bool before, float4 *guess)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count || !is_free(s, v)) return;
    double h = probe_time(size, speed[before]);
    guess_ahead(s, v, before ? 0 : h, before ? h : 0, guess);
}

void hk_gpu_probe_start(const hk_gpu_state *s, double size, const double *speed, bool before,
                        float4 *guess, cudaStream_t stream)
{
    probe_start_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, size, speed, before,
                                                                            guess);
}

struct probes {
    const double *at[3];
};

static __global__ void optimise_kernel(hk_gpu_state s, double size, const double *speed, probes p,
                                       float4 *guess)
{
    static_assert((int)HK_SUM_SLOPE_BEFORE == (int)HK_SUM_SLOPE + 1, "slopes");
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count || !is_free(s, v)) return;
    double a, b;
    start_best_times(p.at[0] + HK_SUM_SLOPE, p.at[1] + HK_SUM_SLOPE, probe_time(size, speed[0]),
                     p.at[2] + HK_SUM_SLOPE, probe_time(size, speed[1]), stage_of(s).length, &a,
                     &b);
    guess_ahead(s, v, a, b, guess);
}

void hk_gpu_optimise(const hk_gpu_state *s, double size, const double *speed,
                     double *const probe[3], float4 *guess, cudaStream_t stream)
{
    probes p = {{probe[0], probe[1], probe[2]}};
    optimise_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, size, speed, p, guess);
}

static __global__ void choose_kernel(const hk_gpu_settings *settings, hk_gpu_control *control,
                                     int kind, const double *at_position, const double *at_guess)
{
    bool fit = kind != HK_START_POSITION &&
               control_fit(kind, at_guess, kind == HK_START_AUTO ? at_position : nullptr);
    hk_gpu_control c = *control;
    control_begin(settings, &c, fit);
    *control = c;
}

void hk_gpu_choose(const hk_gpu_settings *settings, hk_gpu_control *control, int kind,
                   const double *at_position, const double *at_guess, cudaStream_t stream)
{
    choose_kernel<<<1, 1, 0, stream>>>(settings, control, kind, at_position, at_guess);
}

// ---------------------------------------------------------------- the end of a stage

static __device__ __forceinline__ bool is_kept(const hk_gpu_control *c)
{
    return c->state != HK_GPU_UNDEFINED && c->state != HK_GPU_NOT_FINITE;
}

// Where a vertex is at the end of the stage.
static __device__ void end_place(const hk_gpu_state &s, int v, const float4 *good, double x[3])
{
    if (!is_free(s, v)) {
        held_place(s, v, false, x);
        return;
    }
    if (s.exact[HK_EXACT_SOLUTION]) {
        for (int i = 0; i < 3; i++) x[i] = s.exact[HK_EXACT_SOLUTION][3 * (int64_t)v + i];
        return;
    }
    double o[3];
    frame_place(hk_gpu_frame_of(&s), v, o);
    fine_widen(good[v], o, x);
}

static __global__ void end_stage_kernel(hk_gpu_state s, const hk_gpu_control *control,
                                        const float4 *good0, const float4 *good1)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count || !is_kept(control)) return;
    int64_t at = 3 * (int64_t)v;
    const hk_gpu_stage &stage = stage_of(s);
    double x[3], from[3];
    end_place(s, v, control->good ? good1 : good0, x);
    combine(s, stage.of.from, at, from);
    for (int i = 0; i < 3; i++) {
        s.known[HK_KNOWN_X_STAGE][at + i] = x[i];
        s.known[HK_KNOWN_V_STAGE][at + i] = (x[i] - from[i]) / stage.of.h;
    }
}

// After a stage that failed there is no other; iterations count for the step.
static __global__ void pass_on_kernel(hk_gpu_control *control, hk_gpu_control *of_stage)
{
    control->lost = !is_kept(control);
    *of_stage = *control;
}

void hk_gpu_end_stage(const hk_gpu_state *s, hk_gpu_control *control, hk_gpu_control *of_stage,
                      float4 *const good[2], cudaStream_t stream)
{
    end_stage_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, control, good[0],
                                                                          good[1]);
    pass_on_kernel<<<1, 1, 0, stream>>>(control, of_stage);
}

// The state becomes that at the end of the step.
static __device__ void take_vertex(const hk_gpu_state &s, int v, const float4 *good, double x[3])
{
    int64_t at = 3 * (int64_t)v;
    bool free = is_free(s, v);
    const hk_gpu_stage &stage = stage_of(s);
    double y[3], from[3], held[3], far = s.extrapolate;
    double *a = s.known[HK_KNOWN_A], *earlier = s.known[HK_KNOWN_X_BEFORE];
    end_place(s, v, good, x);
    combine(s, stage.of.from, at, from);
    if (a) combine(s, stage.of.y, at, y);
    if (!free && far != 1) held_place(s, v, true, held);
    for (int i = 0; i < 3; i++) {
        double before = s.known[HK_KNOWN_X][at + i], speed = s.known[HK_KNOWN_V][at + i];
        double next = (x[i] - from[i]) / stage.of.h;
        if (a) a[at + i] = free ? stage.of.weight * (x[i] - y[i]) : 0;
        if (far != 1) {
            x[i] = free ? far * x[i] + (1 - far) * before : held[i];
            next = free ? far * next + (1 - far) * speed : next;
        }
        if (!free) next = (x[i] - before) / s.step;
        if (earlier) earlier[at + i] = before;
        s.known[HK_KNOWN_V_BEFORE][at + i] = speed;
        s.known[HK_KNOWN_V][at + i] = free ? s.keep * next : next;
        s.known[HK_KNOWN_X][at + i] = x[i];
    }
}

static __global__ void finish_kernel(hk_gpu_state s, const hk_gpu_control *control,
                                     const float4 *good0, const float4 *good1, double *out)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    double x[3];
    if (is_kept(control))
        take_vertex(s, v, control->good ? good1 : good0, x);
    else
        for (int i = 0; i < 3; i++) x[i] = s.known[HK_KNOWN_X][3 * (int64_t)v + i];
    for (int i = 0; i < 3; i++) out[3 * (int64_t)s.place[v] + i] = x[i];
}

// The time is read by all of finish_kernel, hence a kernel of its own.
static __global__ void tick_kernel(hk_gpu_clock *clock, hk_gpu_control *control, double step)
{
    if (is_kept(control)) {
        clock->time += step;
        clock->past = 1;
        clock->steps_kept++;
    } else {
        clock->steps_lost++;
    }
    control->lost = 0;
}

// ---------------------------------------------------------------- sums over patches

static __device__ double block_sum(double a)
{
    __shared__ double shared[THREADS / WARP];
    for (int k = WARP / 2; k > 0; k /= 2) a += __shfl_down_sync(~0u, a, k);
    __syncthreads();
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = a;
    __syncthreads();
    double sum = shared[0];
    for (int w = 1; w < THREADS / WARP; w++) sum += shared[w];
    return sum;
}

// Σ m, m x, m v, m x × v, m x xᵀ of a patch, x relative to the body's origin.
static __global__ void moments_kernel(hk_gpu_state s)
{
    int p = blockIdx.x;
    double sum[HK_MOMENTS] = {0};
    for (int v = s.vertex_start[p] + threadIdx.x; v < s.vertex_start[p + 1]; v += THREADS) {
        int64_t at = 3 * (int64_t)v;
        const double *o = s.origin + 3 * s.body[v], *w = s.known[HK_KNOWN_V] + at;
        double m = s.mass[v], x[3];
        for (int i = 0; i < 3; i++) x[i] = s.known[HK_KNOWN_X][at + i] - o[i];
        sum[0] += m;
        for (int i = 0, q = 10; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            sum[1 + i] += m * x[i];
            sum[4 + i] += m * w[i];
            sum[7 + i] += m * (x[j] * w[k] - x[k] * w[j]);
            for (int l = i; l < 3; l++) sum[q++] += m * x[i] * x[l];
        }
    }
    for (int k = 0; k < HK_MOMENTS; k++) {
        double all = block_sum(sum[k]);
        if (threadIdx.x == 0) s.moments[(int64_t)p * HK_MOMENTS + k] = all;
    }
}

// Solves the symmetric I ω = L; a body that is a line or a point keeps no spin about it
// (damping.c).
static __device__ void solve_spin(const double I[3][3], const double L[3], double spin[3])
{
    double C[3][3], det = 0, trace = I[0][0] + I[1][1] + I[2][2];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const double *a = I[(i + 1) % 3], *b = I[(i + 2) % 3];
            C[i][k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        }
    for (int i = 0; i < 3; i++) det += I[0][i] * C[0][i];
    bool sound = det > 1e-12 * trace * trace * trace;
    for (int i = 0; i < 3; i++)
        spin[i] = sound ? (C[0][i] * L[0] + C[1][i] * L[1] + C[2][i] * L[2]) / det : 0;
}

// Centre, velocity and spin of a body from the moments of its patches.
static __global__ void rigid_kernel(hk_gpu_state s)
{
    int b = blockIdx.x;
    __shared__ double all[HK_MOMENTS];
    for (int k = 0; k < HK_MOMENTS; k++) {
        double part = 0;
        for (int p = s.body_patch[b] + threadIdx.x; p < s.body_patch[b + 1]; p += THREADS)
            part += s.moments[(int64_t)p * HK_MOMENTS + k];
        part = block_sum(part);
        if (threadIdx.x == 0) all[k] = part;
    }
    if (threadIdx.x > 0) return;
    double m = all[0], c[3], u[3], L[3], xx[3][3], I[3][3];
    for (int i = 0, q = 10; i < 3; i++) {
        c[i] = m > 0 ? all[1 + i] / m : 0;
        u[i] = m > 0 ? all[4 + i] / m : 0;
        for (int l = i; l < 3; l++) xx[i][l] = xx[l][i] = all[q++];
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        L[i] = all[7 + i] - m * (c[j] * u[k] - c[k] * u[j]);
        for (int l = 0; l < 3; l++) xx[i][l] -= m * c[i] * c[l];
    }
    double trace = xx[0][0] + xx[1][1] + xx[2][2];
    for (int i = 0; i < 3; i++)
        for (int l = 0; l < 3; l++) I[i][l] = (i == l ? trace : 0) - xx[i][l];
    double *to = s.body_motion + 9 * b, spin[3];
    solve_spin(I, L, spin);
    for (int i = 0; i < 3; i++) {
        to[i] = c[i] + s.origin[3 * b + i];
        to[3 + i] = u[i];
        to[6 + i] = spin[i];
    }
}

// v ← v + k (v_rigid − v) (Müller et al. 2007, section 3.5).
static __global__ void stiffen_kernel(hk_gpu_state s, const hk_gpu_control *control)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count || !is_free(s, v) || !is_kept(control)) return;
    const double *c = s.body_motion + 9 * s.body[v], *u = c + 3, *w = c + 6;
    double *speed = s.known[HK_KNOWN_V] + 3 * (int64_t)v, r[3];
    for (int i = 0; i < 3; i++) r[i] = s.known[HK_KNOWN_X][3 * (int64_t)v + i] - c[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        speed[i] += s.rigid * (u[i] + w[j] * r[k] - w[k] * r[j] - speed[i]);
        speed[i] *= s.keep;
    }
}

void hk_gpu_finish(const hk_gpu_state *s, hk_gpu_control *control, float4 *const good[2],
                   double *out, cudaStream_t stream)
{
    int blocks = blocks_for(s->vertex_count);
    hk_gpu_state state = *s;
    bool rigid = s->rigid > 0;
    if (rigid) state.keep = 1;  // ether comes after it
    finish_kernel<<<blocks, THREADS, 0, stream>>>(state, control, good[0], good[1], out);
    tick_kernel<<<1, 1, 0, stream>>>(s->clock, control, s->step);
    if (!rigid) return;
    moments_kernel<<<s->patch_count, THREADS, 0, stream>>>(state);
    rigid_kernel<<<s->body_count, THREADS, 0, stream>>>(state);
    stiffen_kernel<<<blocks, THREADS, 0, stream>>>(*s, control);
}

static __global__ void settle_kernel(hk_gpu_args a, int64_t item_count,
                                     const hk_gpu_control *control)
{
    int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int good = control->good;
    if (!is_kept(control)) return;
    if (k < item_count) {
        float weight = a.good_blend[good][k];
        a.blend[k] = a.good_blend[1 - good][k] = weight;
    }
    if (k < a.model.patch_count)
        a.blended[k] = a.good_blended[1 - good][k] = a.good_blended[good][k];
}

void hk_gpu_settle(const hk_gpu_args *args, int64_t item_count, const hk_gpu_control *control,
                   cudaStream_t stream)
{
    int blocks = (int)((item_count + THREADS - 1) / THREADS);
    settle_kernel<<<blocks, THREADS, 0, stream>>>(*args, item_count, control);
}

static __global__ void energy_kernel(hk_gpu_state s)
{
    int p = blockIdx.x;
    double sum[3] = {0, 0, 0};
    for (int v = s.vertex_start[p] + threadIdx.x; v < s.vertex_start[p + 1]; v += THREADS)
        for (int i = 0; i < 3; i++) {
            int64_t at = 3 * (int64_t)v + i;
            double weight = s.mass[v] * s.gravity[i], x = s.known[HK_KNOWN_X][at];
            double speed = s.known[HK_KNOWN_V][at];
            sum[0] += 0.5 * s.mass[v] * speed * speed;
            sum[1] -= weight * x;
            sum[2] -= (s.external[at] - weight) * (x - s.rest[at]);
        }
    for (int k = 0; k < 3; k++) {
        double all = block_sum(sum[k]);
        if (threadIdx.x == 0) s.moments[(int64_t)p * HK_MOMENTS + k] = all;
    }
}

static __global__ void total_kernel(hk_gpu_state s, double *sums)
{
    for (int k = 0; k < 3; k++) {
        double part = 0;
        for (int p = threadIdx.x; p < s.patch_count; p += THREADS)
            part += s.moments[(int64_t)p * HK_MOMENTS + k];
        part = block_sum(part);
        if (threadIdx.x == 0) sums[k] = part;
    }
}

void hk_gpu_energies(const hk_gpu_state *s, double *sums, cudaStream_t stream)
{
    energy_kernel<<<s->patch_count, THREADS, 0, stream>>>(*s);
    total_kernel<<<1, THREADS, 0, stream>>>(*s, sums);
}

// The means of the squares of speeds over free vertices, now and a step before.
enum { SPEED_NOW, SPEED_BEFORE, SPEED_COUNT, SPEED_SUMS };
static __global__ void speed_kernel(hk_gpu_state s)
{
    int p = blockIdx.x;
    double sum[SPEED_SUMS] = {0, 0, 0};
    const double *now = velocities_of(s), *before = velocities_before(s);
    for (int v = s.vertex_start[p] + threadIdx.x; v < s.vertex_start[p + 1]; v += THREADS) {
        if (!is_free(s, v)) continue;
        for (int64_t i = 3 * (int64_t)v; i < 3 * (int64_t)v + 3; i++) {
            sum[SPEED_NOW] += now[i] * now[i];
            sum[SPEED_BEFORE] += before[i] * before[i];
        }
        sum[SPEED_COUNT] += 1;
    }
    for (int k = 0; k < SPEED_SUMS; k++) {
        double all = block_sum(sum[k]);
        if (threadIdx.x == 0) s.moments[(int64_t)p * HK_MOMENTS + k] = all;
    }
}

static __global__ void mean_kernel(hk_gpu_state s, double *mean)
{
    double sum[SPEED_SUMS];
    for (int k = 0; k < SPEED_SUMS; k++) {
        double part = 0;
        for (int p = threadIdx.x; p < s.patch_count; p += THREADS)
            part += s.moments[(int64_t)p * HK_MOMENTS + k];
        sum[k] = block_sum(part);
    }
    if (threadIdx.x > 0) return;
    for (int k = 0; k < 2; k++) mean[k] = sum[SPEED_COUNT] > 0 ? sum[k] / sum[SPEED_COUNT] : 0;
}

void hk_gpu_speed(const hk_gpu_state *s, double *speed, cudaStream_t stream)
{
    speed_kernel<<<s->patch_count, THREADS, 0, stream>>>(*s);
    mean_kernel<<<1, THREADS, 0, stream>>>(*s, speed);
}

// ---------------------------------------------------------------- set-up

static __global__ void narrow_kernel(hk_gpu_frame frame, int count, const double *x, float4 *to)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= count) return;
    double o[3];
    frame_place(frame, v, o);
    to[v] = fine_narrow(x + 3 * (int64_t)v, o);
}

void hk_gpu_rest_state(const hk_gpu_state *s, float4 *to, cudaStream_t stream)
{
    cudaMemsetAsync(to, 0, sizeof(float4) * (size_t)s->vertex_count, stream);
}

void hk_gpu_narrow(const hk_gpu_state *s, float4 *to, cudaStream_t stream)
{
    narrow_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(
        hk_gpu_frame_of(s), s->vertex_count, s->known[HK_KNOWN_X], to);
}

struct matrix {
    double m[9];
};

static __global__ void bend_kernel(hk_gpu_state s, matrix M, float4 *to)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    const double *x = s.rest + 3 * (int64_t)v, *o = s.rest + 3 * (int64_t)s.anchor[s.body[v]];
    double y[3], from[3];
    for (int i = 0; i < 3; i++) from[i] = x[i] - o[i];
    for (int i = 0; i < 3; i++)
        y[i] = M.m[3 * i] * from[0] + M.m[3 * i + 1] * from[1] + M.m[3 * i + 2] * from[2];
    to[v] = fine_narrow(y, from);
}

void hk_gpu_bend(const hk_gpu_state *s, const double M[9], float4 *to, cudaStream_t stream)
{
    matrix copy;
    for (int k = 0; k < 9; k++) copy.m[k] = M[k];
    bend_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, copy, to);
}

static __global__ void displace_kernel(int count, const float4 *rest, const float4 *v, float length,
                                       float4 *q)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    float4 d = v[k];
    q[k] = fine_place(fine_plus(fine_of(rest[k]), length, make_float3(d.x, d.y, d.z)));
}

void hk_gpu_displace(int count, const float4 *rest, const float4 *v, float length, float4 *q,
                     cudaStream_t stream)
{
    displace_kernel<<<blocks_for(count), THREADS, 0, stream>>>(count, rest, v, length, q);
}

static __global__ void apply_kernel(int count, const float4 *gradient, const float4 *base,
                                    const float4 *inverse, const float4 *target, float length,
                                    float scale, float4 *v, double *partial)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    double square = 0;
    if (k < count) {
        float4 g = gradient[k], b = base[k], p = inverse[k], u = v[k];
        float w = target[k].w;
        u.x = p.x * ((g.x - b.x) / length + w * scale * u.x);
        u.y = p.y * ((g.y - b.y) / length + w * scale * u.y);
        u.z = p.z * ((g.z - b.z) / length + w * scale * u.z);
        v[k] = u;
        square = (double)u.x * u.x + (double)u.y * u.y + (double)u.z * u.z;
    }
    square = block_sum(square);
    if (threadIdx.x == 0) partial[blockIdx.x] = square;
}

void hk_gpu_apply(int count, const float4 *gradient, const float4 *base, const float4 *inverse,
                  const float4 *target, float length, float scale, float4 *v, double *partial,
                  cudaStream_t stream)
{
    apply_kernel<<<blocks_for(count), THREADS, 0, stream>>>(count, gradient, base, inverse, target,
                                                            length, scale, v, partial);
}
