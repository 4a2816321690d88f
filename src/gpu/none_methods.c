// Methods and terms have versions for a GPU whatever the build; without CUDA nobody asks them for
// anything.
#include "gpu/gpu.h"

#ifndef HOOKE_CUDA
#define NO_METHOD(name) const hk_gpu_method hk_gpu_##name;
#define NO_TERM(name)   const hk_gpu_term_ops hk_gpu_##name;
HK_GPU_METHODS(NO_METHOD)
HK_GPU_TERMS(NO_TERM)
#endif
