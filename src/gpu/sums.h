// Sums over all vertices in kernels: in double precision and a fixed order, so that they have the
// same bits in every run.
#ifndef HK_GPU_SUMS_H
#define HK_GPU_SUMS_H

#include "gpu/kernels.h"

enum { HK_SUM_THREADS = 256, HK_SUM_WARP = 32, HK_SUM_WARPS = HK_SUM_THREADS / HK_SUM_WARP };

static __device__ __forceinline__ double warp_sum(double a)
{
    for (int k = HK_SUM_WARP / 2; k > 0; k /= 2) a += __shfl_down_sync(~0u, a, k);
    return a;
}

// Of a block of HK_SUM_THREADS: room[0][k], after which all threads may read it.
template <int COUNT>
static __device__ __forceinline__ void block_sums(const double *mine,
                                                  double (&room)[HK_SUM_WARPS][COUNT])
{
    int warp = threadIdx.x / HK_SUM_WARP, lane = threadIdx.x % HK_SUM_WARP;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        double sum = warp_sum(mine[k]);
        if (lane == 0) room[warp][k] = sum;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < COUNT; k += HK_SUM_THREADS) {
        double sum = room[0][k];
        for (int w = 1; w < HK_SUM_WARPS; w++) sum += room[w][k];
        room[0][k] = sum;
    }
    __syncthreads();
}

// The sums over all blocks, in the block that comes last (true), in `total` in shared memory.
// partial: [gridDim.x][COUNT]; finished: 0 before and after.
template <int COUNT>
static __device__ __forceinline__ bool grid_sums(const double *mine, double *partial,
                                                 unsigned *finished, double *total)
{
    __shared__ double room[HK_SUM_WARPS][COUNT];
    __shared__ bool last;
    int warp = threadIdx.x / HK_SUM_WARP, lane = threadIdx.x % HK_SUM_WARP;
    block_sums<COUNT>(mine, room);
    for (int k = threadIdx.x; k < COUNT; k += HK_SUM_THREADS) {
        partial[(int64_t)blockIdx.x * COUNT + k] = room[0][k];
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return false;
    __threadfence();
    for (int k = warp; k < COUNT; k += HK_SUM_WARPS) {
        double sum = 0;
        for (int b = lane; b < (int)gridDim.x; b += HK_SUM_WARP)
            sum += __ldcg(&partial[(int64_t)b * COUNT + k]);
        sum = warp_sum(sum);
        if (lane == 0) total[k] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) *finished = 0;
    return true;
}

#endif
