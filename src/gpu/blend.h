// Blended elements (material/blend.h) in the kernels of `descent`. An element's blend weight is
// found in the model's axes: all copies of an element that is inside out are to find the same.
#ifndef HK_GPU_BLEND_H
#define HK_GPU_BLEND_H

#include "gpu/law_calls.h"

static __device__ __forceinline__ const hk_blend_law *blend_law_of(const hk_gpu_batch &batch)
{
    return (const hk_blend_law *)&batch.upper;
}

// Whether the law is of use: it has not overflowed, nor is it about to. (So much energy is a
// thousand times what turning the element inside out takes.)
static __device__ __forceinline__ bool is_sane(const hk_blend_law *c, float psi, const mat3 &P)
{
    float sum = 0;
    for (int k = 0; k < 9; k++) sum += P.m[k / 3][k % 3];
    return sum - sum == 0 && psi < 1e4f * c->stiffness;
}

// Whether an element without a blend weight may be about to be given one.
static __device__ __forceinline__ bool is_near(const hk_gpu_batch &batch, const mat3 &F, float psi,
                                               const mat3 &P)
{
    const hk_blend_law *c = blend_law_of(batch);
    return batch.upper > 0 && (!is_sane(c, psi, P) || !blend_far(c, F));
}

// How blend weights are brought up to date: held, none decays, as some element of the model wanted
// one at the last check.
struct update {
    bool on, held;
};

// The weight of an element that had l, and what it makes of energy and stress. Where the law is not
// sane nothing of it may take part. Sets `wants` if the element wants one.
static __device__ __forceinline__ float blend_element(const hk_gpu_batch &batch, float l,
                                                      update how, const mat3 &F, float *psi,
                                                      mat3 *P, bool &wants)
{
    const hk_blend_law *c = blend_law_of(batch);
    bool broken = how.on && !is_sane(c, *psi, *P);
    if (l == 0 && !broken && (!how.on || blend_far(c, F))) return 0;
    svd3 f = law_svd(F);
    if (how.on) {
        float wanted = broken ? 1 : blend_wanted_of(c, f.s);
        l = blend_next(c, l, wanted, how.held || !blend_bounded(c, F, *psi));
        wants |= wanted > 0;
    }
    if (l > 0) blend_energy_stress_of(c, l, &F, &f, psi, P);
    return l;
}

#endif
