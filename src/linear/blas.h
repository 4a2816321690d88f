// Which BLAS works below the direct solver, and whether it knows the processor.
//
// OpenBLAS has kernels for many processors and chooses by family and model when it is loaded. One
// that is newer than the library may be taken for a Prescott of 2004, and factorisations are then
// several times slower than they could be. The environment variable OPENBLAS_CORETYPE, read when
// OpenBLAS is loaded, overrules it.
#ifndef HK_BLAS_H
#define HK_BLAS_H

#include <stdbool.h>

typedef struct hk_cpu_features {
    bool avx, avx2, fma;
    bool avx512;  // F, DQ, BW, VL and CD
    bool amd;
} hk_cpu_features;

// Of the running processor, as far as the operating system lets programs use them.
hk_cpu_features hk_find_cpu_features(void);

// What OPENBLAS_CORETYPE should be on a processor with these features; NULL: `core`, the one that
// OpenBLAS works with, is not clearly too old for it, or not known here.
const char *hk_better_blas_core(const hk_cpu_features *cpu, const char *core);

typedef struct hk_blas {
    char name[64];       // "OpenBLAS 0.3.21"; "" if it cannot be asked
    char core[32];       // "Haswell"; ""
    char wanted[32];     // what OPENBLAS_CORETYPE should be; "": the core is right, or cannot be
                         // changed
    char warning[256];   // that it is slow, and what to do; ""
    bool is_users_wish;  // OPENBLAS_CORETYPE says that the core is to be this one
} hk_blas;

// For the same in words: `coretype` is the value of OPENBLAS_CORETYPE or NULL, and `config` what
// OpenBLAS says about its build.
void hk_describe_blas(const hk_cpu_features *cpu, const char *config, const char *core,
                      const char *coretype, hk_blas *blas);
// Found once for the process.
const hk_blas *hk_blas_in_use(void);

#endif
