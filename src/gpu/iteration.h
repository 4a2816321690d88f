// What the kernels of an iteration of `descent` share, launched one by one (law.cu) or persistent
// on the device (law_persistent.cu): vertices, and what a check adds up.
#ifndef HK_ITERATION_H
#define HK_ITERATION_H

#include "gpu/law_calls.h"
#include "gpu/patch.h"

// The force of inertia and loads on a vertex.
static __device__ __forceinline__ float3 pull_of(float4 q, float4 target)
{
    return make_float3(target.w * (q.x - target.x), target.w * (q.y - target.y),
                       target.w * (q.z - target.z));
}

// What memory knows of an own vertex.
struct vertex_data {
    float4 target, inverse, last;
};

static __device__ __forceinline__ vertex_data vertex_data_of(const hk_gpu_args &a, int v)
{
    vertex_data d = {a.target[v], a.inverse[v], a.last[v]};
    return d;
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
                                                   float4 target, float3 elastic, bool first,
                                                   double *sums)
{
    float3 pull = pull_of(q, target);
    bool free = target.w > 0;
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
    double x = (double)q.x - target.x, y = (double)q.y - target.y, z = (double)q.z - target.z;
    sums[HK_SUM_QUADRATIC] += 0.5 * target.w * (x * x + y * y + z * z);
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
    float j = m3_det(e.F);
    t.energy += (double)(e.volume * psi);
    if (!(j >= t.least_j)) t.least_j = j;  // also NaN
}

// What an element is asked for.
static __device__ __forceinline__ float law_of(const hk_gpu_model &m, const hk_gpu_batch &batch,
                                               int64_t at, const mat3 &F, mat3 *P)
{
    float values[4];
    values_of(m.element, at, values);
    return law_energy_stress(batch.law, (const hk_law_params *)batch.c, values, &F, P);
}

static __device__ __forceinline__ void rows_of(const hk_gpu_model &m, const hk_gpu_batch &batch,
                                               int64_t at, const mat3 &F, row_forms *rows)
{
    float values[4];
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
