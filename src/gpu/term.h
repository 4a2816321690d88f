// What a term has for the GPU.
#ifndef HK_GPU_TERM_H
#define HK_GPU_TERM_H

#include "core/base.h"
#include "gpu/list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_gpu hk_gpu;
struct hk_gpu_args;
struct hk_gpu_vbd_args;

// The version of a term for the GPU, hk_term_ops.device; all but `create` and `free` launch
// kernels. What is evaluated is evaluated where the launch that follows is (args), at every vertex;
// the first term of a list overwrites what was there, the others add.
typedef struct hk_gpu_term_ops {
    hk_status (*create)(hk_gpu *gpu, void **term);  // *term stays NULL: the model has nothing of it
    void (*free)(void *term);
    int (*parts)(const void *term);  // in which it gives its energy
    // At the beginning of a stage of a time step; or NULL.
    hk_status (*begin)(hk_gpu *gpu, void *term);
    hk_status (*gradient)(hk_gpu *gpu, void *term, const struct hk_gpu_args *args, bool first,
                          double *energy);
    hk_status (*diagonal)(hk_gpu *gpu, void *term, const struct hk_gpu_args *args, bool first);
    // Gradient and block of the vertices of one colour, args->term_sums.
    hk_status (*sums)(hk_gpu *gpu, void *term, const struct hk_gpu_vbd_args *args, bool first);
    // Of a term whose elements are a world's: takes over what changed of them, with `shape` in more
    // than their values. Else NULL.
    hk_status (*refresh)(hk_gpu *gpu, void *term, bool shape);
} hk_gpu_term_ops;
// hk_gpu_builtin_term is of the terms that the kernels have anyway: tets, viscosity, and forces
// that do not depend on positions.
#define HK_GPU_DECLARE(name) extern const hk_gpu_term_ops hk_gpu_##name;
HK_GPU_TERMS(HK_GPU_DECLARE)
#undef HK_GPU_DECLARE

#ifdef __cplusplus
}
#endif

#endif
