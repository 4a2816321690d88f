#include "gpu/vertex.h"

enum { THREADS = 256, WARP = 32 };

static int blocks_for(int count)
{
    return (count + THREADS - 1) / THREADS;
}

// ---------------------------------------------------------------- where held vertices are

// Rodrigues' rotation about the centre, then the translation, both in proportion (model.c).
static __device__ void move_point(const hk_gpu_motion &m, double share, const double *rest,
                                  double x[3])
{
    double angle = m.degrees * share * (3.14159265358979323846 / 180), c, s;
    sincos(angle, &s, &c);
    double r[3], along = 0;
    for (int i = 0; i < 3; i++) r[i] = rest[i] - m.center[i];
    const double *a = m.axis;
    for (int i = 0; i < 3; i++) along += a[i] * r[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        x[i] = m.center[i] + c * r[i] + s * (a[j] * r[k] - a[k] * r[j]) + (1 - c) * along * a[i] +
               share * m.translate[i];
    }
}

// Of a held vertex at the end of the step, or a share of the way there.
static __device__ void held_place(const hk_gpu_state &s, int v, double to[3])
{
    int hold = s.hold[v];
    const double *rest = s.rest + 3 * (int64_t)v;
    if (hold < 0) {
        for (int i = 0; i < 3; i++) to[i] = rest[i];
        return;
    }
    const hk_gpu_motion &m = s.motions[hold];
    double time = s.clock->time + s.share * s.step;
    move_point(m, m.over > 0 ? fmin(1.0, fmax(0.0, time / m.over)) : 1, rest, to);
    if (m.over > 0) return;
    // A motion that takes no time at all is taken in shares all the same.
    for (int i = 0; i < 3; i++) {
        double from = s.x[3 * (int64_t)v + i];
        to[i] = from + s.share * (to[i] - from);
    }
}

static __device__ __forceinline__ bool is_free(const hk_gpu_state &s, int v)
{
    return s.hold[v] == -1;
}

// ---------------------------------------------------------------- the beginning of a step

static __device__ __forceinline__ float4 narrow(const double a[3], const double o[3], float w)
{
    return make_float4((float)(a[0] - o[0]), (float)(a[1] - o[1]), (float)(a[2] - o[2]), w);
}

// The share 0..1 of the external acceleration that the last step had (Chen et al. 2024).
static __device__ double external_share(const hk_gpu_state &s, int v)
{
    double along = 0, square = 0;
    for (int64_t i = 3 * (int64_t)v; i < 3 * (int64_t)v + 3; i++) {
        along += s.external[i] * (s.v[i] - s.v_before[i]) / s.step;
        square += s.external[i] * s.external[i];
    }
    return square > 0 ? fmin(fmax(s.mass[v] * along / square, 0.0), 1.0) : 0;
}

static __global__ void begin_kernel(hk_gpu_state s, hk_gpu_start start, const float4 *from,
                                    float4 *target, float4 *position, float4 *guess,
                                    float4 *velocity)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    int64_t at = 3 * (int64_t)v;
    int body = s.body[v], anchor = s.anchor[body];
    double o[3], x[3], y[3], first[3];
    for (int i = 0; i < 3; i++) {
        o[i] = s.x[3 * (int64_t)anchor + i];
        if (v == anchor) s.origin[3 * body + i] = o[i];
    }
    if (!is_free(s, v)) {
        held_place(s, v, x);
        position[v] = guess[v] = target[v] = narrow(x, o, 0);
        velocity[v] = make_float4(0, 0, 0, 0);
        return;
    }
    // Inertia pulls to y, air to x, and forces displace what they pull to.
    double inertia = s.mass[v] / (s.step * s.step), air = s.air / s.step, all = inertia + air;
    double pull = start.adaptive ? s.step * s.step * external_share(s, v) / s.mass[v] : 0;
    for (int i = 0; i < 3; i++) {
        double speed = s.v[at + i];
        x[i] = s.x[at + i];
        y[i] = (inertia * (x[i] + s.step * speed) + air * x[i] + s.external[at + i]) / all;
        first[i] =
            x[i] + start.a * speed + start.b * s.v_before[at + i] + pull * s.external[at + i];
    }
    target[v] = narrow(y, o, (float)all);
    position[v] = from ? from[v] : narrow(x, o, 0);
    guess[v] = narrow(first, o, 0);
    velocity[v] = make_float4((float)s.v[at], (float)s.v[at + 1], (float)s.v[at + 2], 0);
}

void hk_gpu_begin(const hk_gpu_state *s, hk_gpu_start start, const float4 *from, float4 *target,
                  float4 *position, float4 *guess, float4 *velocity, cudaStream_t stream)
{
    begin_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, start, from, target,
                                                                      position, guess, velocity);
}

// The d that minimises ε(x + d v) as far as the slopes at x and x + h v tell (Descent eq. 10).
static __global__ void optimise_kernel(hk_gpu_state s, const double *at_position,
                                       const double *at_guess, float4 *guess)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count || !is_free(s, v)) return;
    double slope = at_position[HK_SUM_SLOPE];
    double curvature = (at_guess[HK_SUM_SLOPE] - slope) / s.step;
    double d = curvature > 0 ? -slope / curvature : s.step;
    if (!(fabs(d) <= 10 * s.step)) d = s.step;
    double x[3];
    for (int i = 0; i < 3; i++) x[i] = s.x[3 * (int64_t)v + i] + d * s.v[3 * (int64_t)v + i];
    guess[v] = narrow(x, s.origin + 3 * s.body[v], 0);
}

void hk_gpu_optimise(const hk_gpu_state *s, const double *at_position, const double *at_guess,
                     float4 *guess, cudaStream_t stream)
{
    optimise_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, at_position, at_guess,
                                                                         guess);
}

static __global__ void choose_kernel(const hk_gpu_settings *settings, hk_gpu_control *control,
                                     int kind, const double *at_position, const double *at_guess)
{
    bool fit = kind != HK_GPU_START_POSITION &&
               control_fit(at_guess, kind == HK_GPU_START_AUTO ? at_position : nullptr);
    hk_gpu_control c = *control;
    control_begin(settings, &c, fit);
    *control = c;
}

void hk_gpu_choose(const hk_gpu_settings *settings, hk_gpu_control *control, int kind,
                   const double *at_position, const double *at_guess, cudaStream_t stream)
{
    choose_kernel<<<1, 1, 0, stream>>>(settings, control, kind, at_position, at_guess);
}

// ---------------------------------------------------------------- the end of a step

static __device__ __forceinline__ bool is_kept(const hk_gpu_control *c)
{
    return c->state != HK_GPU_UNDEFINED && c->state != HK_GPU_NOT_FINITE;
}

static __global__ void finish_kernel(hk_gpu_state s, const hk_gpu_control *control,
                                     const float4 *good0, const float4 *good1, double *out)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    int64_t at = 3 * (int64_t)v, to = 3 * (int64_t)s.place[v];
    bool kept = is_kept(control);
    double x[3];
    if (is_free(s, v)) {
        float4 q = (control->good ? good1 : good0)[v];
        const double *o = s.origin + 3 * s.body[v];
        x[0] = o[0] + q.x, x[1] = o[1] + q.y, x[2] = o[2] + q.z;
    } else {
        held_place(s, v, x);
    }
    for (int i = 0; i < 3; i++) {
        double before = s.x[at + i], speed = s.v[at + i];
        out[to + i] = kept ? x[i] : before;
        if (!kept) continue;
        double next = (x[i] - before) / s.step;
        s.v_before[at + i] = speed;
        s.v[at + i] = is_free(s, v) ? s.keep * next : next;
        s.x[at + i] = x[i];
    }
}

// The time is read by all of finish_kernel, hence a kernel of its own.
static __global__ void tick_kernel(hk_gpu_clock *clock, const hk_gpu_control *control, double step)
{
    if (is_kept(control)) {
        clock->time += step;
        clock->steps_kept++;
    } else {
        clock->steps_lost++;
    }
}

// ---------------------------------------------------------------- sums over patches

static __device__ double block_sum(double a)
{
    __shared__ double room[THREADS / WARP];
    for (int k = WARP / 2; k > 0; k /= 2) a += __shfl_down_sync(~0u, a, k);
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = a;
    __syncthreads();
    double sum = room[0];
    for (int w = 1; w < THREADS / WARP; w++) sum += room[w];
    return sum;
}

// Σ m, m x, m v, m x × v, m x xᵀ of a patch, x relative to the body's origin.
static __global__ void moments_kernel(hk_gpu_state s)
{
    int p = blockIdx.x;
    double sum[HK_MOMENTS] = {0};
    for (int v = s.vertex_start[p] + threadIdx.x; v < s.vertex_start[p + 1]; v += THREADS) {
        int64_t at = 3 * (int64_t)v;
        const double *o = s.origin + 3 * s.body[v], *w = s.v + at;
        double m = s.mass[v], x[3];
        for (int i = 0; i < 3; i++) x[i] = s.x[at + i] - o[i];
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
    double *speed = s.v + 3 * (int64_t)v, r[3];
    for (int i = 0; i < 3; i++) r[i] = s.x[3 * (int64_t)v + i] - c[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        speed[i] += s.rigid * (u[i] + w[j] * r[k] - w[k] * r[j] - speed[i]);
        speed[i] *= s.keep;
    }
}

void hk_gpu_finish(const hk_gpu_state *s, const hk_gpu_control *control, float4 *const good[2],
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
        float share = a.good_share[good][k];
        a.share[k] = a.good_share[1 - good][k] = share;
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
            double weight = s.mass[v] * s.gravity[i];
            sum[0] += 0.5 * s.mass[v] * s.v[at] * s.v[at];
            sum[1] -= weight * s.x[at];
            sum[2] -= (s.external[at] - weight) * (s.x[at] - s.rest[at]);
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

// ---------------------------------------------------------------- set-up

static __global__ void narrow_kernel(hk_gpu_state s, const double *x, bool of_rest, float4 *to)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    int body = s.body[v];
    const double *o = of_rest ? s.rest + 3 * (int64_t)s.anchor[body] : s.origin + 3 * body;
    to[v] = narrow(x + 3 * (int64_t)v, o, 0);
}

void hk_gpu_rest_state(const hk_gpu_state *s, float4 *to, cudaStream_t stream)
{
    narrow_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, s->rest, true, to);
}

void hk_gpu_narrow(const hk_gpu_state *s, float4 *to, cudaStream_t stream)
{
    narrow_kernel<<<blocks_for(s->vertex_count), THREADS, 0, stream>>>(*s, s->x, false, to);
}

struct matrix {
    double m[9];
};

static __global__ void bend_kernel(hk_gpu_state s, matrix M, float4 *to)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.vertex_count) return;
    const double *x = s.rest + 3 * (int64_t)v, *o = s.rest + 3 * (int64_t)s.anchor[s.body[v]];
    double y[3], none[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        y[i] = M.m[3 * i] * (x[0] - o[0]) + M.m[3 * i + 1] * (x[1] - o[1]) +
               M.m[3 * i + 2] * (x[2] - o[2]);
    to[v] = narrow(y, none, 0);
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
    float4 r = rest[k], d = v[k];
    q[k] = make_float4(r.x + length * d.x, r.y + length * d.y, r.z + length * d.z, 0);
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
