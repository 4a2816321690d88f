// Which of the compiled kernel tables this CPU can run.
#include "term/lanes.h"

#include <stddef.h>

// HK_GENERIC_LANES comes from cmake/lanes.cmake (HOOKE_WIDE_LANES=OFF).
#if defined(__x86_64__) && !defined(HK_GENERIC_LANES)
#define HK_WIDE_LANES 1
#else
#define HK_WIDE_LANES 0
#endif

extern const hk_lane_table hk_lanes_f64x2_generic, hk_lanes_f32x4_generic;
#if HK_WIDE_LANES
extern const hk_lane_table hk_lanes_f64x4_avx2, hk_lanes_f32x8_avx2;
extern const hk_lane_table hk_lanes_f64x8_avx512, hk_lanes_f32x16_avx512;
#endif

// Widest first.
int hk_lanes_available(const hk_lane_table *tables[], int room)
{
    const hk_lane_table *all[6];
    int count = 0;
#if HK_WIDE_LANES
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        all[count++] = &hk_lanes_f64x8_avx512;
        all[count++] = &hk_lanes_f32x16_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        all[count++] = &hk_lanes_f64x4_avx2;
        all[count++] = &hk_lanes_f32x8_avx2;
    }
#endif
    all[count++] = &hk_lanes_f64x2_generic;
    all[count++] = &hk_lanes_f32x4_generic;
    if (count > room) count = room;
    for (int k = 0; k < count; k++) tables[k] = all[k];
    return count;
}

const hk_lane_table *hk_lanes_best(hk_precision precision)
{
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6);
    size_t size = precision == HK_SINGLE ? sizeof(float) : sizeof(double);
    for (int k = 0; k < count; k++)
        if ((size_t)tables[k]->scalar_size == size) return tables[k];
    return NULL;
}
