#include "design/curves.h"

#include <sys/stat.h>

#include "bench.h"

FILE *curve_file(const char *folder, const char *name)
{
    char path[512];
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "bench: cannot write %s\n", path);
        exit(1);
    }
    fprintf(file, "solver,iteration,seconds,relative_residual\n");
    return file;
}

void curve_begin(curve *c, FILE *file, const char *solver, double longest)
{
    *c = (curve){.file = file, .solver = solver, .start = bench_cpu(), .longest = longest};
}

bool curve_add(curve *c, double relative_residual, double enough)
{
    double seconds = bench_cpu() - c->start;
    fprintf(c->file, "%s,%d,%.4f,%.6g\n", c->solver, c->iteration++, seconds, relative_residual);
    c->last = relative_residual;
    return seconds < c->longest && relative_residual > enough;
}

void curve_end(const curve *c)
{
    printf("  %-34s %5d iterations, %7.2f s, residual %.2e\n", c->solver, c->iteration - 1,
           bench_cpu() - c->start, c->last);
    fflush(c->file);
}
