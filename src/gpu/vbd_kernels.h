// What the kernels of `vbd` and the host that launches them share.
#ifndef HK_VBD_KERNELS_H
#define HK_VBD_KERNELS_H

#include "gpu/kernels.h"
#include "gpu/vbd_control.h"

// The vertex blocks of a model (vertex_blocks.h), and what moves its vertices.
struct hk_gpu_vbd_args {
    hk_vbd_rules rules;
    const hk_gpu_vbd_control *control;  // as the last check left it
    int first, last;                    // the vertices of this launch: one colour
    int count;
    const int *vertex;      // [count]
    const int *start;       // [count + 1] items
    const float4 *word[3];  // [item_count]
    const uint16_t *batch;  // [item_count]; NULL: there is one
    const float4 *element;  // [item_count] or NULL
    const float *noise;     // [count] J
    const hk_gpu_batch *batches;
    const float4 *target;         // [vertex_count] as in hk_gpu_args, and
    const uint32_t *target_bits;  // so
    float4 *q;                    // [vertex_count] changed in place
    // Where elements may be blended:
    const float4 *before;  // [vertex_count] q before the sweep
    const float *blend;    // as in hk_gpu_args
    // There, and with viscous damping:
    const int *twin;  // [item_count] where the blend weight of an item is, and its viscosity
    // With viscous damping; else NULL:
    const int *near_start, *near;  // [count + 1], [near_count]
    const float *drag;             // [9][near_count] r K of a vertex and its neighbour
    const float4 *origin;          // [vertex_count] where velocities are measured from
    int near_count;
    // Of terms beside tets: [9][count] gradient and block of a vertex, as they are summed up; or
    // NULL.
    float *term_sums;
};

enum {
    HK_GPU_VBD_THREADS = 128,  // of a block
    HK_GPU_VBD_WAYS = 3,       // to share the work of a vertex: by 8 threads, 16 or 32
    HK_GPU_VBD_FEWEST = 8
};

struct hk_gpu_vbd_kernels {
    // All vertices of one colour; [1]: hk_gpu.general.
    const void *sweep[2][HK_GPU_VBD_WAYS];
};

#define HK_GPU_TABLE(X) extern "C" const hk_gpu_vbd_kernels hk_gpu_vbd_kernels_##X;
HK_LAWS(HK_GPU_TABLE)
HK_GPU_TABLE(any)
#undef HK_GPU_TABLE

#endif
