// What the library found on this machine.
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "linear/blas.h"
#include "linear/direct.h"
#include "term/lanes.h"

static hk_machine_info g_machine;

static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static void find_machine(void)
{
    const hk_blas *blas = hk_blas_in_use();
    g_machine = (hk_machine_info){
        .single_lanes = hk_lanes_best(HK_SINGLE)->name,
        .double_lanes = hk_lanes_best(HK_DOUBLE_PRECISION)->name,
        .threads = omp_get_num_procs(),
        .memory = physical_memory(),
        .direct_solver = hk_direct_name(),
        .blas = blas->name,
        .blas_core = blas->core,
        .blas_core_wanted = blas->wanted,
        .warning = blas->warning,
    };
}

const hk_machine_info *hk_machine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_machine);
    return &g_machine;
}

bool hk_machine_gpu(char *text, size_t size)
{
    char unread[1];
    if (!text || size == 0) return hk_gpu_device(unread, sizeof unread);
    return hk_gpu_device(text, size);
}
