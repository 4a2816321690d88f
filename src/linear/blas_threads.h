// BLAS on one thread, while direct solvers call it: OpenBLAS cuts its products differently for each
// number of threads, and the sums then differ in the last bits. Results must not depend on the
// number of threads.
#ifndef HK_BLAS_THREADS_H
#define HK_BLAS_THREADS_H

void hk_enter_blas(void);
void hk_leave_blas(void);

#endif
