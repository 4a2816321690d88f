// The inner loops over blocks (linear/block_rows.h), for one instruction set.
#ifndef HK_BLOCK_KERNELS_H
#define HK_BLOCK_KERNELS_H

#include "linear/block_rows.h"

struct hk_block_kernels {
    const char *name;
    // Rows [first, last) of y = base + sign A x.
    void (*product)(const hk_block_rows *a, int first, int last, double sign, const double *base,
                    const double *x, double *y);
    // Rows [first, last) of hk_block_smooth and of hk_block_relax_rows.
    void (*smooth)(const hk_block_rows *a, const hk_block_relax *rule, int first, int last,
                   const double *b, const double *x, double *step, double *y);
    void (*relax)(const hk_block_relax *rule, int first, int last, const double *r, double *step,
                  double *y);
    // sums += A B for blocks of height × width and width × 6 numbers by columns; sums has six
    // columns of 4 (or 8) numbers.
    void (*multiply)(int height, int width, const float *a, const float *b, double *sums);
    void (*multiply_exact)(int height, int width, const double *a, const float *b, double *sums);
};

// The best of this CPU, and all that it can run, the best last; returns the count.
const hk_block_kernels *hk_block_kernels_best(void);
int hk_block_kernels_available(const hk_block_kernels *kernels[], int room);

#endif
