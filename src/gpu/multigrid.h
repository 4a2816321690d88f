// A V-cycle over a hierarchy (linear/hierarchy.h) on the device: two kernels a level, and one for
// the coarsest.
#ifndef HK_GPU_MULTIGRID_H
#define HK_GPU_MULTIGRID_H

#include "gpu/device.h"
#include "gpu/quasi_newton.h"

extern "C" {
#include "linear/hierarchy.h"
}

// Rows of a sparse matrix: entries [start[r], start[r + 1]) are column and value.
struct hk_gpu_rows {
    const int *start;
    const int2 *entries;
};

struct hk_gpu_level {
    int count;
    float own;
    hk_gpu_rows smooth, down, up;
    float4 *right, *solution;
};

struct hk_gpu_multigrid {
    int count;  // levels; 0: there is none
    const float *root;
    const float *dense;  // [n][n] of the last level, or NULL
    hk_gpu_level level[HK_MOST_LEVELS];
    double complexity;
};

hk_status hk_gpu_multigrid_create(hk_gpu *g, const hk_hierarchy *hierarchy,
                                  hk_gpu_multigrid *multigrid);
// The kernels, which do nothing unless a state was accepted and the walk goes on.
hk_status hk_gpu_multigrid_cycle(hk_gpu *g, const hk_gpu_multigrid *multigrid,
                                 const hk_qn_control *control);

#endif
