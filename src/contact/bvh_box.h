// Boxes in single precision that hold those in double, and eight comparisons at once.
#ifndef HK_BVH_BOX_H
#define HK_BVH_BOX_H

#include <math.h>

#include "contact/bvh.h"

// The nearest float lies within half a unit in the last place; one unit or two below it lies a
// number that is less than x, with half a unit to spare for the rounding of what x was made from.
// Beyond single precision bounds are far, but bounds.
static inline float hk_round_down(double x)
{
    if (x < -3e38) return -INFINITY;
    float f = (float)(x > 3e38 ? 3e38 : x);
    return f - (fabsf(f) * 0x1p-23f + 1e-37f);
}
static inline float hk_round_up(double x)
{
    return -hk_round_down(-x);
}

// The eight boxes of a group, each enlarged by `radius` and moved.
static inline void hk_bvh_enlarge(const hk_bvh_group *group, double radius, const double shift[3],
                                  hk_bvh_group *result)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < HK_BVH_WIDTH; k++) {
            result->low[i][k] = hk_round_down((double)group->low[i][k] + shift[i] - radius);
            result->high[i][k] = hk_round_up((double)group->high[i][k] + shift[i] + radius);
        }
}

typedef float hk_float4 __attribute__((vector_size(16)));
typedef float hk_float4u __attribute__((vector_size(16), aligned(4)));
typedef int32_t hk_int4 __attribute__((vector_size(16)));

static inline unsigned hk_four_bits(hk_int4 mask)
{
#ifdef __SSE__
    return (unsigned)__builtin_ia32_movmskps((hk_float4)mask);
#else
    mask &= (hk_int4){1, 2, 4, 8};
    return (unsigned)(mask[0] | mask[1] | mask[2] | mask[3]);
#endif
}

// Which of the eight boxes overlap a box, one bit each. (Comparisons with NaN are false.)
static inline unsigned hk_bvh_overlaps(const hk_bvh_group *group, const float low[3],
                                       const float high[3])
{
    unsigned bits = 0;
    for (int half = 0; half < 2; half++) {
        hk_int4 mask = {-1, -1, -1, -1};
        for (int i = 0; i < 3; i++) {
            hk_float4 l = *(const hk_float4 *)(group->low[i] + 4 * half);
            hk_float4 h = *(const hk_float4 *)(group->high[i] + 4 * half);
            hk_float4 from = {low[i], low[i], low[i], low[i]};
            hk_float4 to = {high[i], high[i], high[i], high[i]};
            mask &= (l <= to) & (h >= from);
        }
        bits |= hk_four_bits(mask) << 4 * half;
    }
    return bits;
}

#endif
