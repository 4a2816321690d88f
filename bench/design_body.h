// The body of the benchmarks of design: a mesh from a file or the generated figure, held at listed
// vertices or by its feet.
#ifndef HK_BENCH_DESIGN_BODY_H
#define HK_BENCH_DESIGN_BODY_H

#include <math.h>

#include "bench.h"

typedef struct bench_body {
    const char *mesh, *fix;  // files, or NULL
    double young, poisson;
} bench_body;

static inline hk_mesh *bench_body_mesh(const bench_body *o)
{
    hk_mesh *mesh = NULL;
    if (o->mesh) {
        bench_check(hk_mesh_load(o->mesh, &mesh));
        return mesh;
    }
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_FIGURE);
    def.height = 0.3;
    def.cells[0] = 60;
    bench_check(hk_mesh_make(&def, &mesh));
    return mesh;
}

static inline int32_t *bench_read_fix(const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", count) != 1 || *count < 1) {
        fprintf(stderr, "bench: cannot read %s\n", path);
        exit(1);
    }
    int32_t *vertices = malloc(sizeof *vertices * (size_t)*count);
    for (int k = 0; k < *count; k++)
        if (fscanf(file, "%d", &vertices[k]) != 1) *count = k;
    fclose(file);
    return vertices;
}

static inline hk_model *bench_body_model(const bench_body *o, const hk_mesh *mesh)
{
    const double *x = hk_mesh_positions(mesh);
    double low = x[1], high = x[1];
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        low = fmin(low, x[3 * v + 1]);
        high = fmax(high, x[3 * v + 1]);
    }
    hk_selector held = {.kind = HK_SELECT_BOX,
                        .box = {{-1e9, -1e9, -1e9}, {1e9, low + 0.05 * (high - low), 1e9}}};
    int32_t *vertices = NULL;
    if (o->fix) {
        vertices = bench_read_fix(o->fix, &held.vertex_count);
        held.kind = HK_SELECT_VERTICES;
        held.vertices = vertices;
    }
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.young = o->young;
    body.material.poisson = o->poisson;
    body.fixes = &held;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    free(vertices);
    return model;
}

#endif
