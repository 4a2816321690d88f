// A library to be loaded before OpenBLAS (LD_PRELOAD) by test/cli_test.sh: OpenBLAS then seems to
// take any processor for a Prescott, unless OPENBLAS_CORETYPE says otherwise, or even then
// (OLD_BLAS_STUBBORN). Every program that loads it adds a line to the file OLD_BLAS_LOADS.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

char *openblas_get_corename(void);
char *openblas_get_corename(void)
{
    static char prescott[] = "Prescott";
    if (!getenv("OPENBLAS_CORETYPE") || getenv("OLD_BLAS_STUBBORN")) return prescott;
    char *(*true_name)(void);
    *(void **)&true_name = dlsym(RTLD_NEXT, "openblas_get_corename");
    return true_name();
}

__attribute__((constructor)) static void count_load(void)
{
    const char *path = getenv("OLD_BLAS_LOADS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fputs("loaded\n", file);
    fclose(file);
}
