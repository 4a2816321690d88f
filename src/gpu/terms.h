// Terms beside tets on the device (hk_gpu_term_ops): what they add up to goes into buffers that the
// kernels of the elements add to their own.
#ifndef HK_GPU_TERMS_H
#define HK_GPU_TERMS_H

#include "gpu/device.h"
#include "gpu/vbd_kernels.h"

extern "C" {
#include "term/terms.h"
}

bool hk_gpu_model_has_terms(const hk_model *model);
hk_status hk_gpu_create_terms(hk_gpu *g);
void hk_gpu_free_terms(hk_gpu *g);
// The elements of the world (g->live) changed, with `shape` in more than their values.
hk_status hk_gpu_refresh_terms(hk_gpu *g, bool shape);
// hk_terms_visit_weights of the world's elements; vertices are in Morton order.
hk_status hk_gpu_visit_live_weights(hk_gpu *g, hk_weight_fn *visit, void *context);
// At the beginning of a stage, after hk_gpu_begin.
hk_status hk_gpu_begin_terms(hk_gpu *g);
// Before a launch with these arguments.
hk_status hk_gpu_term_gradients(hk_gpu *g, const hk_gpu_args *args);
hk_status hk_gpu_term_diagonals(hk_gpu *g, const hk_gpu_args *args);
// Before the sweep over the vertices of one colour.
hk_status hk_gpu_term_sums(hk_gpu *g, const hk_gpu_vbd_args *args);

// ---------------------------------------------------------------- for the terms

// A list that terms of the CPU can be made for, to read their elements.
static inline hk_terms hk_gpu_host_list(const hk_gpu *g)
{
    hk_terms list = {};
    list.model = g->model;
    list.precision = HK_DOUBLE_PRECISION;
    list.threads = 1;
    list.vertex_count = g->model->vertex_count;
    list.live = g->live;
    return list;
}

enum { HK_TERM_THREADS = 256 };
static inline int hk_term_blocks(int count)
{
    return (count + HK_TERM_THREADS - 1) / HK_TERM_THREADS;
}

// Where a launch is: NULL if it will have nothing to do.
static __device__ __forceinline__ const float4 *hk_term_state(const hk_gpu_args &a)
{
    bool probe = a.flags & HK_CHECK_PROBE;
    if (a.state) return probe && a.now && a.now->state != HK_GPU_GOING ? nullptr : a.state;
    if (a.now->state != HK_GPU_GOING) return nullptr;
    return a.now->from_good ? a.good[a.now->good] : a.q;
}

// The sum over a block, for thread 0.
static __device__ inline double hk_term_block_sum(double a)
{
    enum { WARP = 32, WARPS = HK_TERM_THREADS / WARP };
    __shared__ double part[WARPS];
    for (int k = WARP / 2; k > 0; k /= 2) a += __shfl_down_sync(~0u, a, k);
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = a;
    __syncthreads();
    double sum = part[0];
    for (int w = 1; w < WARPS; w++) sum += part[w];
    return sum;
}

static __device__ __forceinline__ void hk_term_put(float4 *to, bool first, const float sum[3])
{
    float4 old = first ? make_float4(0, 0, 0, 0) : *to;
    *to = make_float4(old.x + sum[0], old.y + sum[1], old.z + sum[2], 0);
}

// Gradient and block of the n-th vertex of a sweep.
static __device__ __forceinline__ void hk_term_put_sums(const hk_gpu_vbd_args &a, int n, bool first,
                                                        const float sum[9])
{
    for (int i = 0; i < 9; i++) {
        float *to = &a.term_sums[(int64_t)i * a.count + n];
        *to = first ? sum[i] : *to + sum[i];
    }
}

#endif
