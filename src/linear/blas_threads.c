#include "linear/blas_threads.h"

#ifdef HOOKE_DIRECT

#include <pthread.h>

// OpenBLAS' own; its headers differ between distributions.
extern void openblas_set_num_threads(int threads);
extern int openblas_get_num_threads(void);

// The number of BLAS threads belongs to the process: who comes first sets it to one, who leaves
// last sets it back.
static pthread_mutex_t g_blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int g_blas_users, g_blas_threads;

void hk_enter_blas(void)
{
    pthread_mutex_lock(&g_blas_lock);
    if (g_blas_users++ == 0) {
        g_blas_threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&g_blas_lock);
}

void hk_leave_blas(void)
{
    pthread_mutex_lock(&g_blas_lock);
    if (--g_blas_users == 0) openblas_set_num_threads(g_blas_threads);
    pthread_mutex_unlock(&g_blas_lock);
}

#endif
