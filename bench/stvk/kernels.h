// Other forms of stvk for bench_stvk, once per lane type and instruction set.
#ifndef HK_BENCH_STVK_KERNELS_H
#define HK_BENCH_STVK_KERNELS_H

#include "term/lanes.h"

enum { STVK_MATRIX = 27 };  // 21 numbers of C and six squared rest lengths

typedef struct stvk_forms {
    const char *name;        // of the lane table
    hk_tet_kernels tensors;  // as a law of invariants, like the others
    // Energy and forces along the edges (Kikuuwe et al. 2009), V ψ = ½ (s − s⁰)ᵀ C (s − s⁰) in
    // squared edge lengths s, of positions x; constants are scalar[blocks][STVK_MATRIX][lanes]. In
    // single precision displacements would need fifteen numbers more: what it leaves out is in its
    // favour.
    void (*matrix)(const hk_tet_batch *batch, const void *constants, const void *x, int first,
                   int last, void *slots, double *energy);
} stvk_forms;

#endif
