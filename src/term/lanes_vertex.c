// Instantiates the kernels over the tets around a vertex, of every law, for one lane type, as
// lanes.c does its own.
#include "material/laws.h"
#include "math/solve3.h"
#include "term/blend.h"
#include "term/tet_lanes.h"

// The block's tets with their first corners at `own`; that corner's shape gradient is minus the sum
// of the others'.
HK_INLINE tet_lanes vertex_load(const hk_tet_batch *batch, const scalar *x, const vec3 *own,
                                int block, vec3 *a)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    const scalar *inverse = (const scalar *)batch->inverse + (int64_t)block * 9 * HK_LANES;
    mat3 edges = tet_edges(batch, x, vertex, *own);
    tet_lanes t;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) t.inverse.m[i][j] = r_load(inverse + (3 * i + j) * HK_LANES);
    tet_deform(batch, edges, t.inverse, &t.F, &t.H);
    *a = shape_gradient(&t, 0);
    return t;
}

typedef struct vertex_sums {
    real value[HK_VERTEX_SUMS];
} vertex_sums;

HK_INLINE vertex_sums sums_load(const scalar *from)
{
    vertex_sums s;
    for (int k = 0; k < HK_VERTEX_SUMS; k++) s.value[k] = r_load(from + k * HK_LANES);
    return s;
}

HK_INLINE void sums_store(scalar *to, const vertex_sums *s)
{
    for (int k = 0; k < HK_VERTEX_SUMS; k++) r_store(to + k * HK_LANES, s->value[k]);
}

// Padding has volume 0 and must not bring in a NaN.
HK_INLINE void sums_add(vertex_sums *s, real volume, vec3 force, mat3 block)
{
    mask counts = volume > 0;
    for (int i = 0, q = 3; i < 3; i++) {
        s->value[i] += r_select(counts, volume * force.v[i], r_zero());
        for (int j = i; j < 3; j++, q++)
            s->value[q] += r_select(counts, volume * block.m[i][j], r_zero());
    }
}

#define HK_EACH_LAW "term/vertex_kernels.inl"
#include "material/each_law.h"

// ---------------------------------------------------------------- vertices

static void pull(const void *x, const int32_t *own, const void *target, const void *force,
                 void *sums)
{
    vertex_sums s = sums_load(sums);
    real stiffness;
    vec3 at = corners_load(x, own), to = corners_load4(target, own, &stiffness);
    vec3 outer = corners_load(force, own);
    for (int i = 0; i < 3; i++) s.value[i] += stiffness * (at.v[i] - to.v[i]) - outer.v[i];
    s.value[3] += stiffness;
    s.value[6] += stiffness;
    s.value[8] += stiffness;
    sums_store(sums, &s);
}

static void solve(const void *sums, double shift, void *step)
{
    vertex_sums s = sums_load(sums);
    real add = r_set(shift), zero = r_zero();
    mat3 H = {{{s.value[3] + add, s.value[4], s.value[5]},
               {zero, s.value[6] + add, s.value[7]},
               {zero, zero, s.value[8] + add}}};
    vec3 d = solve3_downhill(H, (vec3){{s.value[0], s.value[1], s.value[2]}});
    for (int i = 0; i < 3; i++) r_store((scalar *)step + i * HK_LANES, d.v[i]);
}

HK_INLINE vec3 end_of(const scalar *step, const scalar *length, vec3 from)
{
    real l = r_load(length);
    for (int i = 0; i < 3; i++) from.v[i] += l * r_load(step + i * HK_LANES);
    return from;
}

static void move(void *x, const int32_t *own, const void *step, const void *length)
{
    corners_put4(x, own, end_of(step, length, corners_load(x, own)), r_zero());
}

static void reach(const void *x, const int32_t *own, const void *step, const void *length, void *at)
{
    vec3 end = end_of(step, length, corners_load(x, own));
    for (int i = 0; i < 3; i++) r_store((scalar *)at + i * HK_LANES, end.v[i]);
}

#define TABLE_ENTRY(X) [HK_LAW_##X] = {X##_vertex_push, X##_vertex_energy},

extern const hk_vertex_table HK_VERTEX_TABLE;
const hk_vertex_table HK_VERTEX_TABLE = {
    .law = {HK_LAWS(TABLE_ENTRY)},
    .pull = pull,
    .solve = solve,
    .move = move,
    .reach = reach,
};
