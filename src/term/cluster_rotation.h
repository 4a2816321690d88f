// The rotation of a cluster of elements from its mean gradient F, × √θ. θ (0..1) is how much a
// matrix that is the mean of many is like a rotation in all planes: those of elements that do not
// turn alike are too short, or inside out, those of stretched elements too long
// (solver/rotation_correction.h). Over `real`: lanes of the CPU, a double of the GPU.
#ifndef HK_CLUSTER_ROTATION_H
#define HK_CLUSTER_ROTATION_H

#include "math/polar.h"

HK_INLINE mat3 cluster_rotation(mat3 F)
{
    svd3 s = svd3_of(F);
    // The least and the largest mean of two stretches.
    real low = (scalar)0.5 * (s.s.v[1] + s.s.v[2]), high = (scalar)0.5 * (s.s.v[0] + s.s.v[1]);
    real share = r_min(r_max(r_zero(), low), 1 / r_max(r_set(1), high));
    return m3_scale(polar_rotation_of(s), r_sqrt(share));
}

#endif
