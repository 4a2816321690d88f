// The machine: what hooke works with here, a BLAS that does not know the processor, and threads
// that wait too long for each other.
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli.h"

// Set by a hooke that starts itself anew: what OpenBLAS took the processor for.
#define TAKEN_FOR "HOOKE_BLAS_TOOK_CPU_FOR"
#define CORETYPE  "OPENBLAS_CORETYPE"
// How often a thread of GNU's OpenMP looks whether there is work before it goes to sleep. Left
// alone it looks for 13 ms, and where other programs want the cores everyone waits for threads that
// wait: a step of 8 ms took 4 s. So many are a tenth of a millisecond, longer than the pauses of a
// step.
#define SPINS     "GOMP_SPINCOUNT"
#define FEW_SPINS "2000"
#define ANEW      "HOOKE_STARTED_ANEW"

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

static void print_blas(const hk_machine_info *machine)
{
    const char *coretype = getenv(CORETYPE), *before = getenv(TAKEN_FOR);
    printf("BLAS           %s", machine->blas);
    if (machine->blas_core[0]) printf(", core %s", machine->blas_core);
    if (before && coretype)
        printf(" (hooke set %s=%s: left alone, it takes this processor for %s)", CORETYPE, coretype,
               before);
    else if (coretype)
        printf(" (%s=%s)", CORETYPE, coretype);
    printf("\n");
}

void cli_print_machine(void)
{
    const hk_machine_info *machine = hk_machine();
    char gpu[256];
    bool found = hk_machine_gpu(gpu, sizeof gpu);
    printf("lanes          %s in single precision, %s in double\n", machine->single_lanes,
           machine->double_lanes);
    const char *spins = getenv(SPINS), *policy = getenv("OMP_WAIT_POLICY");
    printf("threads        %d", machine->threads);
    if (spins) printf(", which soon go to sleep while they wait (%s=%s)", SPINS, spins);
    if (policy) printf(" (OMP_WAIT_POLICY=%s)", policy);
    printf("\n");
    if (machine->memory > 0)
        printf("memory         %.1f GiB\n", (double)machine->memory / (1024.0 * 1024.0 * 1024.0));
    printf("direct solver  %s\n", machine->direct_solver[0] ? machine->direct_solver : "none");
    if (machine->blas[0]) print_blas(machine);
    printf("GPU            %s%s\n", found ? "" : "none: ", gpu);
    if (machine->warning[0]) printf("\nWarning: %s.\n", machine->warning);
}
