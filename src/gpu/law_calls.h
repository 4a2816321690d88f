// The law of this translation unit, by the same names for all. Energies and stresses are those of
// a displacement gradient H = F − 1.
#ifndef HK_LAW_CALLS_H
#define HK_LAW_CALLS_H

#include "gpu/law_choice.h"

#if ANY_LAW
#define CASE(X) \
    case HK_LAW_##X: return X##_energy_stress(p, element, *H, P);
static __device__ __noinline__ real law_energy_stress(int law, const hk_law_params *p,
                                                      const real *element, const mat3 *H, mat3 *P)
{
    switch (law) {
        HK_LAWS(CASE)
    }
    return 0;
}
#undef CASE
#define CASE(X) \
    case HK_LAW_##X: *rows = X##_diagonal(p, element, *F); break;
static __device__ __noinline__ void law_rows(int law, const hk_law_params *p, const real *element,
                                             const mat3 *F, row_forms *rows)
{
    switch (law) {
        HK_LAWS(CASE)
    }
}
#undef CASE
#else
static __device__ __forceinline__ real law_energy_stress(int, const hk_law_params *p,
                                                         const real *element, const mat3 *H,
                                                         mat3 *P)
{
    return JOIN(HK_GPU_LAW, _energy_stress)(p, element, *H, P);
}
static __device__ __forceinline__ void law_rows(int, const hk_law_params *p, const real *element,
                                                const mat3 *F, row_forms *rows)
{
    *rows = JOIN(HK_GPU_LAW, _diagonal)(p, element, *F);
}
#endif

#endif
