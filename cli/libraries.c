// The command line and the benchmarks start with BLAS and OpenMP as they should be.
#include "libraries.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "hooke/hooke.h"

#define ANEW "HOOKE_STARTED_ANEW"

static bool correct_blas(void)
{
    const hk_machine_info *machine = hk_machine();
    if (!machine->blas_core_wanted[0] || getenv(CORETYPE) || getenv(TAKEN_FOR)) return false;
    return setenv(CORETYPE, machine->blas_core_wanted, 1) == 0 &&
           setenv(TAKEN_FOR, machine->blas_core, 1) == 0;
}

static bool correct_waiting(void)
{
    if (getenv(SPINS) || getenv("OMP_WAIT_POLICY")) return false;
    return setenv(SPINS, FEW_SPINS, 1) == 0;
}

// OpenBLAS chooses its kernels when it is loaded, and OpenMP how to wait, which is before main. The
// program is started anew in the same process, with better choices in its environment. What the
// user chose stays, and there is no second attempt.
void cli_correct_libraries(char **argv)
{
    // Without an interpreter of its own /proc/self/exe is not this program, but the dynamic linker
    // that was called to run it.
    if (getenv(ANEW) || getauxval(AT_BASE) == 0) return;
    bool blas = correct_blas(), waiting = correct_waiting();
    if (!blas && !waiting) return;
    if (setenv(ANEW, "1", 1) == 0) execv("/proc/self/exe", argv);
    if (blas) unsetenv(CORETYPE), unsetenv(TAKEN_FOR);
    if (waiting) unsetenv(SPINS);
    unsetenv(ANEW);
}
