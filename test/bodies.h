// Bodies that several tests use.
#ifndef TEST_BODIES_H
#define TEST_BODIES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooke/hooke.h"
#include "skipping.h"

// Under sanitizers everything takes many times as long: long tests then take a selection.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

// With HOOKE_SMALL=1 in the environment the tests on a GPU have small bodies and few steps, for
// tools under which everything takes a thousand times as long (docs/gpu.md).
static inline bool wants_small(void)
{
    const char *small = getenv("HOOKE_SMALL");
    return small && strcmp(small, "0") != 0;
}

#define CHECK_OK(call)                                              \
    do {                                                            \
        if ((call) != HK_OK) fail_msg("%s: %s", #call, hk_error()); \
    } while (0)

static inline hk_mesh *box_mesh(double x, double y, double z, int nx, int ny, int nz)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    double size[3] = {x, y, z};
    int cells[3] = {nx, ny, nz};
    memcpy(def.size, size, sizeof size);
    memcpy(def.cells, cells, sizeof cells);
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    return mesh;
}

static inline hk_selector select_box(double x0, double y0, double z0, double x1, double y1,
                                     double z1)
{
    hk_selector s = {.kind = HK_SELECT_BOX, .box = {{x0, y0, z0}, {x1, y1, z1}}};
    return s;
}

static inline hk_material_def material_of(const char *model, double young, double poisson)
{
    hk_material_def def = hk_default_material_def();
    def.model = model;
    def.young = young;
    def.poisson = poisson;
    return def;
}

// Of the materials those for tets, which come first.
static inline int solid_count(void)
{
    int count = 0;
    while (hk_material_kind(count) == HK_FOR_SOLIDS) count++;
    return count;
}

// A model of one body; frees the mesh.
static inline hk_model *model_of(hk_body_def *body, hk_mesh *mesh, double gravity)
{
    body->mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 1;
    def.gravity[1] = gravity;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// A world over the model; the world keeps it.
static inline hk_world *world_of(hk_model *model, double step, int threads)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = threads;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

// Of two worlds over equal models, relative to the motion of b.
static inline double relative_distance(const hk_world *a, const hk_world *b)
{
    const hk_model *m = hk_world_model(b);
    const double *x = hk_world_positions(a), *y = hk_world_positions(b);
    const double *rest = hk_model_rest_positions(m);
    double difference = 0, motion = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(m); k++) {
        assert_true(isfinite(x[k]));
        difference += (x[k] - y[k]) * (x[k] - y[k]);
        motion += (y[k] - rest[k]) * (y[k] - rest[k]);
    }
    return sqrt(difference / motion);
}

// A repeatable number in [−1, 1).
static inline double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*seed / 9223372036854775808.0;
}

#endif
