// Numbers of arrays that are float or double by the precision of a term.
#ifndef HK_SCALAR_H
#define HK_SCALAR_H

#include <stdint.h>

static inline void hk_store_scalar(void *array, int scalar_size, int64_t index, double value)
{
    if (scalar_size == (int)sizeof(double))
        ((double *)array)[index] = value;
    else
        ((float *)array)[index] = (float)value;
}

static inline double hk_load_scalar(const void *array, int scalar_size, int64_t index)
{
    return scalar_size == (int)sizeof(double) ? ((const double *)array)[index]
                                              : (double)((const float *)array)[index];
}

#endif
