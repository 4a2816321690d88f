// What the benchmarks share: medians of repeated runs, and the facts of the machine.
#ifndef HK_BENCH_H
#define HK_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base.h"

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median seconds of one call of `work`: at least `seconds` in all and five calls, after a warm-up.
static inline double bench_median(void (*work)(void *), void *context, double seconds)
{
    enum { MOST = 2000 };
    static double times[MOST];
    int count = 0;
    work(context);
    for (double start = hk_now(); count < MOST && (count < 5 || hk_now() - start < seconds);) {
        double begin = hk_now();
        work(context);
        times[count++] = hk_now() - begin;
    }
    qsort(times, (size_t)count, sizeof times[0], bench_compare);
    return times[count / 2];
}

// CPU seconds of all threads of the program: on a machine that others use they tell more than the
// clock on the wall.
static inline double bench_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void bench_machine(void)
{
    char line[256], model[128] = "unknown CPU";
    int cores = 0;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        cores += strncmp(line, "processor", 9) == 0;
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
            snprintf(model, sizeof model, "%.100s", strchr(line, ':') + 2);
    }
    if (f) fclose(f);
    model[strcspn(model, "\n")] = '\0';
    printf("machine: %s, %d cores; hooke %s, compiler %s\n", model, cores, hk_version(),
           __VERSION__);
}

// Stops the program with the library's message.
static inline void bench_check(hk_status status)
{
    if (status == HK_OK) return;
    fprintf(stderr, "bench: %s\n", hk_error());
    exit(1);
}

// FOLDER/NAME with the text, the folder made if need be; the program ends if that fails.
static inline void bench_write(const char *folder, const char *name, const char *text)
{
    char path[1024];
    mkdir(folder, 0777);  // whether it is there now, fopen will tell
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "bench: cannot write %s\n", path);
        exit(1);
    }
    printf("wrote %s\n", path);
}

// A box of about `tets` tets (five a cell), or the mesh of a file.
static inline hk_mesh *bench_mesh(const char *path, int tets)
{
    hk_mesh *mesh = NULL;
    if (path) {
        bench_check(hk_mesh_load(path, &mesh));
        return mesh;
    }
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    int n = 1;
    while (5 * n * n * n < tets) n++;
    for (int i = 0; i < 3; i++) {
        def.size[i] = 1;
        def.cells[i] = n;
    }
    bench_check(hk_mesh_make(&def, &mesh));
    return mesh;
}

// Of 100 kPa, by its name; "spline_drawn" is `spline` with curves through control points.
static inline hk_material_def bench_material(const char *name, double poisson)
{
    static const double f[][2] = {{0.1, -9e4}, {0.4, -5e4}, {0.7, -2.2e4}, {1, 0},
                                  {1.4, 3e4},  {1.8, 7e4},  {2.4, 1.5e5},  {3.2, 3e5}};
    static const double g[][2] = {{0.2, -8e3}, {0.6, -3e3}, {1, 0}, {1.5, 3e3}, {2.5, 9e3}};
    static const double h[][2] = {{0.1, -3e5}, {0.5, -1e5}, {0.8, -3e4},
                                  {1, 0},      {1.3, 5e4},  {2, 2e5}};
    hk_material_def material = hk_default_material_def();
    material.model = name;
    material.young = 1e5;
    material.poisson = poisson;
    if (strcmp(name, "spline_drawn") != 0) return material;
    material.model = "spline";
    material.f = (hk_curve){f[0], HK_COUNT_OF(f)};
    material.g = (hk_curve){g[0], HK_COUNT_OF(g)};
    material.h = (hk_curve){h[0], HK_COUNT_OF(h)};
    return material;
}

// A bar of size × size/4 × size/4 with `across` cells over its width and four times as many along
// it, clamped at x = 0, under gravity.
static inline hk_model *bench_bar(double size, int across, hk_material_def material)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    hk_selector wall = {.kind = HK_SELECT_BOX};
    for (int i = 0; i < 3; i++) {
        shape.size[i] = i == 0 ? size : size / 4;
        shape.cells[i] = i == 0 ? 4 * across : across;
        wall.box[0][i] = -size;
        wall.box[1][i] = i == 0 ? 1e-6 * size : size;
    }
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_make(&shape, &mesh));
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material;
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = -9.81;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// A body of the mesh with the tenth (or another share) of it held that lies lowest along x.
static inline hk_model *bench_model(const hk_mesh *mesh, const char *material, double poisson,
                                    double held, bool invertible)
{
    const double *x = hk_mesh_positions(mesh);
    double low = x[0], high = x[0];
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        low = x[3 * v] < low ? x[3 * v] : low;
        high = x[3 * v] > high ? x[3 * v] : high;
    }
    hk_selector wall = {.kind = HK_SELECT_BOX,
                        .box = {{low, -1e9, -1e9}, {low + held * (high - low), 1e9, 1e9}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = bench_material(material, poisson);
    if (invertible) body.material.invertible = hk_default_invertible();
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    return model;
}

static inline hk_model *bench_held_model(const hk_mesh *mesh, const char *material, double poisson,
                                         double held)
{
    return bench_model(mesh, material, poisson, held, false);
}

#endif
