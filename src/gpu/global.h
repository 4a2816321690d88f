// p ≈ A⁻¹ g on the device with the constant matrix A of QuasiNewton (laplacian.h): by a cycle of
// multigrid, or by a fixed number of Chebyshev iterations over Jacobi's. Both are linear functions
// of g, symmetric and positive definite.
#ifndef HK_GPU_GLOBAL_H
#define HK_GPU_GLOBAL_H

#include "gpu/multigrid.h"
#include "gpu/spin.h"

extern "C" {
#include "gpu/laplacian.h"
}

struct hk_gpu_entry_data {
    int column;
    float value;
};
struct hk_gpu_global {
    int count;  // vertices
    hk_gpu_multigrid multigrid;
    hk_gpu_spins spins;  // what it does not know of turning
    bool cycles;         // with it; else the iterations below
    bool exact;          // no memory of L-BFGS makes up for a poor solve
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

// The matrix of the stage with the most inertia, with these weights of the materials; and its
// hierarchy on the device.
hk_gpu_matrix hk_gpu_constant_matrix(const hk_gpu *g, const double *weight);
hk_status hk_gpu_matrix_multigrid(hk_gpu *g, const hk_gpu_matrix *matrix, hk_gpu_multigrid *to);

hk_status hk_gpu_global_create(hk_gpu *g, hk_gpu_global *global);
// About it, to be appended to a line.
void hk_gpu_global_describe(const hk_gpu_global *global, char *text, size_t size);
// After live elements came, went or changed: their rows are bounded by their sums. A cycle takes
// them into account by its scale alone, which is enough for L-BFGS; without that, Chebyshev's
// iterations stand in as long as there are any.
hk_status hk_gpu_global_take_live(hk_gpu *g, hk_gpu_global *global, hk_gpu_global_live *live);
// Where p will be, after the kernels of hk_gpu_global_solve; held vertices are 0.
float4 *hk_gpu_global_solution(const hk_gpu_global *global);
// The kernels, which do nothing unless a state was accepted and the walk goes on. `right` is what
// hk_gpu_global_give was given.
hk_status hk_gpu_global_solve(hk_gpu *g, const hk_gpu_global *global, const hk_qn_control *control,
                              const float4 *right);

// The right-hand side at a vertex.
static __device__ __forceinline__ void hk_gpu_global_give(const hk_gpu_global &a, int v, float4 b)
{
    bool cycles = a.cycles;
    float w = cycles ? a.multigrid.root[v] : a.chebyshev.first * a.inverse[v];
    (cycles ? a.multigrid.level[0].right : a.iterate[0])[v] =
        make_float4(w * b.x, w * b.y, w * b.z, 0);
}

#endif
