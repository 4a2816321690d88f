#include "linear/block_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

// Unaligned: rows of blocks begin anywhere.
typedef float f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double d4 __attribute__((vector_size(32)));
typedef double d4u __attribute__((vector_size(32), aligned(8), may_alias));

#define TARGET
#define NAME(x)  x##_generic
#define WIDEN(f) __builtin_convertvector(f, d4)
#include "linear/block_kernels.inl"
#undef TARGET
#undef NAME
#undef WIDEN
#ifdef __x86_64__
#define TARGET  __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
// GCC makes two conversions and a merge of the generic one.
#define WIDEN(f) ((d4)_mm256_cvtps_pd((__m128)(f)))
#include "linear/block_kernels.inl"
#undef TARGET
#undef NAME
#undef WIDEN
#endif

#define KERNELS(x)                                                                    \
    {                                                                                 \
        .name = #x, .product = product_##x, .smooth = smooth_##x, .relax = relax_##x, \
        .multiply = multiply_##x, .multiply_exact = multiply_exact_##x,               \
    }
static const hk_block_kernels KERNELS_GENERIC = KERNELS(generic);
#ifdef __x86_64__
static const hk_block_kernels KERNELS_AVX2 = KERNELS(avx2);
#endif

int hk_block_kernels_available(const hk_block_kernels *kernels[], int room)
{
    int count = 0;
    if (count < room) kernels[count++] = &KERNELS_GENERIC;
#ifdef __x86_64__
    __builtin_cpu_init();
    bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (wide && count < room) kernels[count++] = &KERNELS_AVX2;
#endif
    return count;
}

const hk_block_kernels *hk_block_kernels_best(void)
{
    const hk_block_kernels *kernels[2];
    return kernels[hk_block_kernels_available(kernels, 2) - 1];
}
