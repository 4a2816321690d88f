// The methods that bench_polar compares, compiled once a lane type and instruction set.
#ifndef HK_BENCH_POLAR_H
#define HK_BENCH_POLAR_H

#include <stdbool.h>

// Rotations of `blocks` blocks of matrices, from the quaternions of the last time step.
// f, r: float[blocks][9][lanes], row-major; start, q: float[blocks][4][lanes], x y z w. Methods
// without a start leave q alone and those without steps ignore them.
typedef void (*polar_kernel)(const float *f, const float *start, int blocks, int steps, float *q,
                             float *r);

typedef struct polar_method {
    const char *name;
    polar_kernel run;
    bool steps;          // needs a number of steps
    double document_ms;  // 800,000 matrices in Split's Table 4; 0: not there
} polar_method;

typedef struct polar_table {
    const char *name;  // "f32x16_avx512"
    int lanes;
    const polar_method *methods;
    int method_count;
} polar_table;

extern const polar_table polar_f32_generic, polar_f32x4_generic, polar_f32x8_avx2,
    polar_f32x16_avx512;

#endif
