// The machine: what hooke works with here.
#include <stdlib.h>

#include "cli.h"
#include "libraries.h"

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
