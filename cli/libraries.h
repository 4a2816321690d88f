// A BLAS that does not know the processor, and threads that wait too long for each other.
#ifndef HK_CLI_LIBRARIES_H
#define HK_CLI_LIBRARIES_H

// Set by a program that starts itself anew: what OpenBLAS took the processor for.
#define TAKEN_FOR "HOOKE_BLAS_TOOK_CPU_FOR"
#define CORETYPE  "OPENBLAS_CORETYPE"
// How often a thread of GNU's OpenMP looks whether there is work before it goes to sleep. Left
// alone it looks for 13 ms, and where other programs want the cores everyone waits for threads that
// wait: a step of 8 ms took 4 s. So many are a tenth of a millisecond, longer than the pauses of a
// step.
#define SPINS     "GOMP_SPINCOUNT"
#define FEW_SPINS "2000"

// The first thing that a program does: may start it anew.
void cli_correct_libraries(char **argv);

#endif
