// Where things are that move as held vertices do, in kernels (model/model.c on the host).
#ifndef HK_GPU_MOTION_H
#define HK_GPU_MOTION_H

#include "gpu/vertex.h"

static __device__ __forceinline__ const hk_gpu_stage &stage_of(const hk_gpu_state &s)
{
    return s.stages[(s.clock->past ? HK_GPU_MOST_STAGES : 0) + s.stage];
}

// Where the stage is in the step, a part of its way from beginning to end.
static __device__ __forceinline__ double fraction_of(const hk_gpu_state &s, double part)
{
    const hk_gpu_stage &stage = stage_of(s);
    return stage.begin + part * (stage.of.until - stage.begin);
}

// Rodrigues' rotation about the centre, then the translation, both in proportion.
static __device__ inline void move_point(const hk_gpu_motion &m, double part, const double *rest,
                                         double x[3])
{
    double angle = m.degrees * part * (3.14159265358979323846 / 180), c, s;
    sincos(angle, &s, &c);
    double r[3], along = 0;
    for (int i = 0; i < 3; i++) r[i] = rest[i] - m.center[i];
    const double *a = m.axis;
    for (int i = 0; i < 3; i++) along += a[i] * r[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        x[i] = m.center[i] + c * r[i] + s * (a[j] * r[k] - a[k] * r[j]) + (1 - c) * along * a[i] +
               part * m.translate[i];
    }
}

// At a fraction of the present step.
static __device__ inline void place_point(const hk_gpu_state &s, const hk_gpu_motion &m,
                                          double fraction, const double *rest, double to[3])
{
    double time = s.clock->time + fraction * s.step;
    move_point(m, m.over > 0 ? fmin(1.0, fmax(0.0, time / m.over)) : 1, rest, to);
}

#endif
