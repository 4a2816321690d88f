// Where there is no CUDA: no device is ever found, and nothing can be created.
#include "gpu/gpu.h"

#ifndef HOOKE_CUDA

#include <stdio.h>

#define NO_BACKEND "this build has no CUDA backend"

bool hk_gpu_found(char *why, size_t size)
{
    if (why) snprintf(why, size, "%s", NO_BACKEND);
    return false;
}

bool hk_gpu_device(char *text, size_t size)
{
    return hk_gpu_found(text, size);
}

hk_status hk_gpu_create(const hk_gpu_def *def, hk_gpu **gpu)
{
    (void)def;
    (void)gpu;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

void hk_gpu_free(hk_gpu *gpu)
{
    (void)gpu;
}

void hk_gpu_describe(const hk_gpu *gpu, char *text, size_t size)
{
    (void)gpu;
    if (size > 0) text[0] = '\0';
}

hk_status hk_gpu_write_state(hk_gpu *gpu, const double *const known[HK_KNOWN_COUNT],
                             double step_before)
{
    (void)gpu;
    (void)known;
    (void)step_before;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_step(hk_gpu *gpu, double time, hk_solve_report *report)
{
    (void)gpu;
    (void)time;
    (void)report;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_set_forces(hk_gpu *gpu, const hk_live *live)
{
    (void)gpu;
    (void)live;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_set_targets(hk_gpu *gpu, const hk_live *live, int count, const int32_t *vertices)
{
    (void)gpu;
    (void)live;
    (void)count;
    (void)vertices;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_set_grabs(hk_gpu *gpu, const hk_live *live, bool *fits)
{
    (void)fits;
    (void)gpu;
    (void)live;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_read_positions(hk_gpu *gpu, double *x)
{
    (void)gpu;
    (void)x;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_read_state(hk_gpu *gpu, double *const known[HK_KNOWN_COUNT])
{
    (void)gpu;
    (void)known;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_energy(hk_gpu *gpu, hk_energy *energy)
{
    (void)gpu;
    (void)energy;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

hk_status hk_gpu_evaluate(hk_gpu *gpu, double *x, double *energy, double *gradient,
                          double *diagonal)
{
    (void)gpu;
    (void)x;
    (void)energy;
    (void)gradient;
    (void)diagonal;
    return hk_fail(HK_UNSUPPORTED, NO_BACKEND);
}

#endif
