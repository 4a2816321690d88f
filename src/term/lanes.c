// Instantiates the element kernels of every law for one lane type. Compiled several times, with
// HK_DOUBLE, HK_LANES, HK_LANE_TABLE and HK_LANE_NAME set by cmake/lanes.cmake.
#include "term/lanes.h"

#include "material/laws.h"
#include "math/mat3.h"
#include "term/blend.h"
#include "term/tet_store.h"

#define HK_EACH_LAW "term/tet_kernels.inl"
#include "material/each_law.h"
#if HK_DOUBLE
#include "term/stvk_edges.inl"
#endif

static double least_j(const hk_tet_batch *batch, const void *x, int first, int last)
{
    real least = r_set(INFINITY);
    for (int b = first; b < last; b++) {
        real j = m3_det(tet_load(batch, x, b).F);
        least = r_select(j >= least, least, j);  // also NaN
    }
    double result = INFINITY;
    for (int l = 0; l < HK_LANES; l++) {
        double j = (double)r_lane(least, l);
        if (!(j >= result)) result = j;
    }
    return result;
}

static void set_start(const hk_tet_batch *batch, int first, int last)
{
    for (int b = first; b < last; b++) {
        const int32_t *vertex = batch->vertex + (int64_t)b * 4 * HK_LANES;
        scalar *to = (scalar *)batch->start + (int64_t)b * 9 * HK_LANES;
        vec3 corner = corners_load(batch->base, vertex);
        mat3 edges;
        for (int c = 0; c < 3; c++)
            m3_set_column(&edges, c,
                          v3_sub(corners_load(batch->base, vertex + (c + 1) * HK_LANES), corner));
        mat3 H = m3_mul(edges, tet_inverse(batch, b));
        for (int k = 0; k < 9; k++) r_store(to + k * HK_LANES, H.m[k / 3][k % 3]);
    }
}

typedef scalar quad __attribute__((vector_size(4 * sizeof(scalar))));

static void sum_patch(const void *slots, const uint16_t *start, const int32_t *target, int count,
                      void *vertices, void *shared)
{
    const quad *from = slots;
    quad *direct = vertices, *partial = shared;
    for (int k = 0; k < count; k++) {
        quad sum = {0};
        for (int s = start[k]; s < start[k + 1]; s++) sum += from[s];
        *(target[k] >= 0 ? direct + target[k] : partial - 1 - target[k]) = sum;
    }
}

static void sum_shared(const void *shared, const int32_t *start, const int32_t *vertex, int first,
                       int last, void *vertices)
{
    const quad *from = shared;
    quad *to = vertices;
    for (int k = first; k < last; k++) {
        quad sum = {0};
        for (int32_t s = start[k]; s < start[k + 1]; s++) sum += from[s];
        to[vertex[k]] = sum;
    }
}

#define TABLE_ENTRY(X)                                                           \
    [HK_LAW_##X] = {X##_batch_energy,    X##_batch_gradient, X##_batch_diagonal, \
                    X##_batch_stiffness, X##_batch_stress,   X##_batch_update_blend},

extern const hk_local_table HK_LOCAL_TABLE;
extern const hk_vertex_table HK_VERTEX_TABLE;
extern const struct hk_push_table HK_PUSH_TABLE;
#if HK_DOUBLE
extern const struct hk_rest_table HK_REST_TABLE;
extern const struct hk_shape_table HK_SHAPE_TABLE;
extern const struct hk_feature_table HK_FEATURE_TABLE;
extern const struct hk_shell_table HK_SHELL_TABLE;
#endif
extern const hk_lane_table HK_LANE_TABLE;
const hk_lane_table HK_LANE_TABLE = {
    .name = HK_LANE_NAME,
    .lanes = HK_LANES,
    .scalar_size = sizeof(scalar),
    .law = {HK_LAWS(TABLE_ENTRY)},
#if HK_DOUBLE
    .edges = {edge_batch_energy, edge_batch_gradient, stvk_batch_diagonal, edge_batch_stiffness,
              stvk_batch_stress, edge_batch_update_blend},
#endif
    .least_j = least_j,
    .set_start = set_start,
    .sum_patch = sum_patch,
    .sum_shared = sum_shared,
    .local = &HK_LOCAL_TABLE,
    .vertex = &HK_VERTEX_TABLE,
    .push = &HK_PUSH_TABLE,
#if HK_DOUBLE
    .rest = &HK_REST_TABLE,
    .shape = &HK_SHAPE_TABLE,
    .feature = &HK_FEATURE_TABLE,
    .shell = &HK_SHELL_TABLE,
#endif
};
