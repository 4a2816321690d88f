// The machine: what hooke works with here, and a BLAS that does not know the processor.
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli.h"

// Set by a hooke that starts itself anew: what OpenBLAS took the processor for.
#define TAKEN_FOR "HOOKE_BLAS_TOOK_CPU_FOR"
#define CORETYPE  "OPENBLAS_CORETYPE"

// OpenBLAS chooses its kernels when it is loaded, which is before main. Where it chose badly the
// program is started anew in the same process, with the choice in its environment. What the user
// chose stays, and there is no second attempt.
void cli_correct_blas(char **argv)
{
    const hk_machine_info *machine = hk_machine();
    if (!machine->blas_core_wanted[0] || getenv(CORETYPE) || getenv(TAKEN_FOR)) return;
    // Without an interpreter of its own /proc/self/exe is not this program, but the dynamic linker
    // that was called to run it.
    if (getauxval(AT_BASE) == 0) return;
    if (setenv(CORETYPE, machine->blas_core_wanted, 1) == 0 &&
        setenv(TAKEN_FOR, machine->blas_core, 1) == 0)
        execv("/proc/self/exe", argv);
    unsetenv(CORETYPE);
    unsetenv(TAKEN_FOR);
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
    printf("threads        %d\n", machine->threads);
    if (machine->memory > 0)
        printf("memory         %.1f GiB\n", (double)machine->memory / (1024.0 * 1024.0 * 1024.0));
    printf("direct solver  %s\n", machine->direct_solver[0] ? machine->direct_solver : "none");
    if (machine->blas[0]) print_blas(machine);
    printf("GPU            %s%s\n", found ? "" : "none: ", gpu);
    if (machine->warning[0]) printf("\nWarning: %s.\n", machine->warning);
}
