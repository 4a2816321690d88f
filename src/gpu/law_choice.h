// The law of a translation unit that cmake/cuda.cmake compiles once for each, HK_GPU_LAW, and once
// as `any`: its functions over `float`, or over `double` in units that define HK_GPU_EXACT, and its
// coefficients as batches hold them.
#ifndef HK_LAW_CHOICE_H
#define HK_LAW_CHOICE_H

#ifdef HK_GPU_EXACT
#define HK_DOUBLE 1
#define HK_PARAM  double
#else
#define HK_DOUBLE 0
#define HK_PARAM  float
#endif
#define HK_LANES    1
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define IS_LAW_any  1
#define ANY_LAW     JOIN(IS_LAW_, HK_GPU_LAW)
#if !ANY_LAW  // there are few calls of each decomposition
#define HK_SHARED static __host__ __device__ __forceinline__ __attribute__((unused))
#endif
#include "gpu/kernels.h"
#include "material/blend.h"
#include "material/laws.h"

// Laws that decompose F want more registers: so many blocks of threads on a multiprocessor.
#if ANY_LAW
enum { LAW_DECOMPOSES = 1, LAW_BLOCKS = 2 };
#else
enum { LAW_DECOMPOSES = JOIN(HK_GPU_LAW, _decomposes), LAW_BLOCKS = LAW_DECOMPOSES ? 3 : 4 };
#endif

#ifdef HK_GPU_EXACT
static_assert(offsetof(hk_gpu_exact_batch, law) == sizeof(hk_law_params), "hk_gpu_exact_batch");
#else
static_assert(offsetof(hk_gpu_batch, upper) == sizeof(hk_law_params), "hk_gpu_batch");
static_assert(offsetof(hk_gpu_batch, law) - offsetof(hk_gpu_batch, upper) == sizeof(hk_blend_law),
              "hk_gpu_batch");
#endif

#endif
