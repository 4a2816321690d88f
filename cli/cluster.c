// --backend petsc: another program takes over, which has MPI and PETSc in it; this one starts
// without them.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define PROGRAM "hooke-cluster"

static bool is_wanted(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "pose") != 0)) return false;
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--") == 0) return false;
        if (strcmp(argv[i], "--backend=petsc") == 0) return true;
        if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc && strcmp(argv[i + 1], "petsc") == 0)
            return true;
    }
    return false;
}

int cli_hand_over(int argc, char **argv)
{
    // Beside this program where it was built, in libexec where it is installed.
    static const char *const places[] = {PROGRAM, "../libexec/hooke/" PROGRAM};
    if (!is_wanted(argc, argv)) return -1;
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    int folder = (int)(cli_file_name(own) - own);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        char *path = cli_format("%.*s%s", folder, own, places[i]);
        execv(path, argv);
        bool missing = errno == ENOENT;
        if (!missing) return cli_failure("%s: %s", path, strerror(errno));
        free(path);
    }
    return cli_failure("this installation has no backend petsc: it was built where PETSc and MPI "
                       "were not found (Debian: libpetsc-real-dev)");
}
