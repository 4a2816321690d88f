// What the kernels of an iteration of `descent` share, launched one by one (law.cu) or persistent
// on the device (law_persistent.cu): vertices, and what a check adds up.
#ifndef HK_ITERATION_H
#define HK_ITERATION_H

#include "gpu/law_calls.h"
#include "gpu/patch.h"

// Where inertia and loads pull a vertex, and how stiffly.
struct pull_data {
    float4 target;
    hk_fine_bits bits;
};

static __device__ __forceinline__ pull_data pull_data_of(const hk_gpu_args &a, int v)
{
    pull_data p = {a.target[v], a.target_bits[v]};
    return p;
}

// How far a vertex is from there.
static __device__ __forceinline__ float3 away_of(float4 q, const pull_data &p)
{
    return fine_minus(fine_of(q), fine_of(p.target, p.bits));
}

// The force of inertia and loads on a vertex.
static __device__ __forceinline__ float3 pull_of(float4 q, const pull_data &p)
{
    float3 away = away_of(q, p);
    float w = p.target.w;
    return make_float3(w * away.x, w * away.y, w * away.z);
}

// What memory knows of an own vertex.
struct vertex_data {
    pull_data pull;
    float4 inverse, last;
};

static __device__ __forceinline__ vertex_data vertex_data_of(const hk_gpu_args &a, int v)
{
    vertex_data d = {pull_data_of(a, v), a.inverse[v], a.last[v]};
    return d;
}

// q − α P g, before it is rounded.
static __device__ __forceinline__ hk_fine step_down(float4 q, float length, float4 inverse,
                                                    float3 g)
{
    return fine_plus(fine_of(q), -length,
                     make_float3(inverse.x * g.x, inverse.y * g.y, inverse.z * g.z));
}

// from + t (to − last)
static __device__ __forceinline__ float4 extrapolate(const hk_fine &from, float t,
                                                     const hk_fine &to, const hk_fine &last)
{
    return fine_place(fine_plus(from, t, fine_minus(to, last)));
}

// The preconditioner of a vertex with this diagonal of the elements; 0 where it is held.
static __device__ __forceinline__ float4 inverse_of(const hk_gpu_args &a, int v,
                                                    const float diagonal[3])
{
    float stiffness = a.target[v].w, least = a.least ? a.least[v] : 0, inverse[3];
    for (int i = 0; i < 3; i++) {
        float whole = fmaxf(fabsf(diagonal[i] + stiffness), least);
        inverse[i] = stiffness > 0 && whole > 0 ? 1 / whole : 0;
    }
    return make_float4(inverse[0], inverse[1], inverse[2], 0);
}

// What one vertex adds to the sums of a check; first: of that at the start of a step.
static __device__ __forceinline__ void vertex_sums(const hk_gpu_args &a, int v, float4 q,
                                                   const pull_data &p, float3 elastic, bool first,
                                                   double *sums)
{
    float3 pull = pull_of(q, p), away = away_of(q, p);
    bool free = p.target.w > 0;
    sums[HK_SUM_ELASTIC_FORCE] += (double)elastic.x * elastic.x + (double)elastic.y * elastic.y +
                                  (double)elastic.z * elastic.z;
    if (first) {
        float4 f = a.force[v];
        double x = pull.x + f.x, y = pull.y + f.y, z = pull.z + f.z;
        sums[HK_SUM_EXTERNAL_FORCE] += (double)f.x * f.x + (double)f.y * f.y + (double)f.z * f.z;
        if (free) sums[HK_SUM_INERTIA_FORCE] += x * x + y * y + z * z;
    }
    if (!free) return;
    double gx = (double)elastic.x + pull.x, gy = (double)elastic.y + pull.y,
           gz = (double)elastic.z + pull.z;
    sums[HK_SUM_RESIDUAL] += gx * gx + gy * gy + gz * gz;
    double x = away.x, y = away.y, z = away.z;
    sums[HK_SUM_QUADRATIC] += 0.5 * p.target.w * (x * x + y * y + z * z);
    if (a.slope) {
        float4 s = a.slope[v];
        sums[HK_SUM_SLOPE] += gx * s.x + gy * s.y + gz * s.z;
        s = a.slope_before[v];
        sums[HK_SUM_SLOPE_BEFORE] += gx * s.x + gy * s.y + gz * s.z;
    }
}

// What a thread finds in its elements beside their forces.
struct tally {
    double energy;  // J
    float least_j;
    bool some;   // an element is blended
    bool wants;  // one wants to be
};

static __device__ __forceinline__ void count_energy(const element &e, float psi, tally &t)
{
    float j = m3_det(m3_gradient(e.H));
    t.energy += (double)(e.volume * psi);
    if (!(j >= t.least_j)) t.least_j = j;  // also NaN
}

// What an element is asked for.
static __device__ __forceinline__ float law_of(const hk_gpu_model &m, const hk_gpu_batch &batch,
                                               int64_t at, const mat3 &H, mat3 *P)
{
    float values[4];
    values_of(m.element, at, values);
    return law_energy_stress(batch.law, (const hk_law_params *)batch.c, values, &H, P);
}

static __device__ __forceinline__ void rows_of(const hk_gpu_model &m, const hk_gpu_batch &batch,
                                               int64_t at, const mat3 &H, row_forms *rows)
{
    float values[4];
    mat3 F = m3_gradient(H);
    values_of(m.element, at, values);
    law_rows(batch.law, (const hk_law_params *)batch.c, values, &F, rows);
}

static __device__ __forceinline__ double warp_sum(double a)
{
    for (int k = WARP / 2; k > 0; k /= 2) a += __shfl_down_sync(~0u, a, k);
    return a;
}
static __device__ __forceinline__ double warp_least(double a)
{
    for (int k = WARP / 2; k > 0; k /= 2) {
        double other = __shfl_down_sync(~0u, a, k);
        if (!(other >= a)) a = other;  // also NaN
    }
    return a;
}

#endif
