// Before main of every benchmark: BLAS and OpenMP as in the command line, so that its numbers are
// those that users see.
#include "cli/libraries.h"

__attribute__((constructor)) static void start(int argc, char **argv)
{
    (void)argc;
    cli_correct_libraries(argv);
}
