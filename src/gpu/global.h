// p ≈ A⁻¹ g on the device with the constant matrix A of QuasiNewton (laplacian.h): by a fixed
// number of Chebyshev iterations over Jacobi's, which is a positive definite polynomial of A.
#ifndef HK_GPU_GLOBAL_H
#define HK_GPU_GLOBAL_H

#include "gpu/device.h"
#include "gpu/quasi_newton.h"

extern "C" {
#include "gpu/laplacian.h"
}

struct hk_gpu_entry_data {
    int column;
    float value;
};
struct hk_gpu_global {
    int count;  // vertices
    hk_gpu_chebyshev chebyshev;
    const int *start;
    const hk_gpu_entry_data *entries;
    const float *inverse;  // 1 / a_ii
    float4 *iterate[2];
};
// Rows that live elements raise at present, and what 1 / a_ii is without.
struct hk_gpu_global_live {
    hk_gpu_raised raised;
    float *kept;  // [HK_GPU_MOST_RAISED]
};

// inner 0: as many iterations as the eigenvalues ask for. weight: of the materials.
hk_status hk_gpu_global_create(hk_gpu *g, const double *weight, int inner, hk_gpu_global *global);
// After live elements came, went or changed: their rows are bounded by their sums.
hk_status hk_gpu_global_take_live(hk_gpu *g, const hk_gpu_global *global, hk_gpu_global_live *live);
// Where p will be, after the kernels of hk_gpu_global_solve; held vertices are 0.
float4 *hk_gpu_global_solution(const hk_gpu_global *global);
// The kernels, which do nothing unless a state was accepted and the walk goes on. `right` is what
// hk_gpu_global_give was given.
hk_status hk_gpu_global_solve(hk_gpu *g, const hk_gpu_global *global, const hk_qn_control *control,
                              const float4 *right);

// The right-hand side at a vertex.
static __device__ __forceinline__ void hk_gpu_global_give(const hk_gpu_global &a, int v, float4 b)
{
    float w = a.chebyshev.first * a.inverse[v];
    a.iterate[0][v] = make_float4(w * b.x, w * b.y, w * b.z, 0);
}

#endif
