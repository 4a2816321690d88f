// Vectors of three numbers, in double.
#ifndef HK_VECTOR_H
#define HK_VECTOR_H

#include <math.h>
#include <stdbool.h>

static inline bool hk_is_finite3(const double v[3])
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

// v / ‖v‖. False, with `unit` untouched, if v has no direction: zero, infinite or NaN.
static inline bool hk_unit3(const double v[3], double unit[3])
{
    double largest = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
    if (!hk_is_finite3(v) || largest == 0) return false;
    // Divided by the largest component first: the squares of tiny or huge ones stay in range.
    double u[3] = {v[0] / largest, v[1] / largest, v[2] / largest};
    double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    for (int i = 0; i < 3; i++) unit[i] = u[i] / length;
    return true;
}

#endif
