// A block of tets in lanes: what the element kernels load and store.
#ifndef HK_TET_LANES_H
#define HK_TET_LANES_H

#include "term/corners.h"
#include "term/lanes.h"

// One block: deformation gradient and what a corner's shape gradient needs.
typedef struct tet_lanes {
    mat3 inverse;  // rows are the shape gradients of corners 1, 2, 3
    mat3 F, H;     // H = F − 1, not rounded as F is
} tet_lanes;

// The edges of corners 1, 2, 3 from corner 0, which is at `first`: of displacements where the batch
// has a base.
HK_INLINE mat3 tet_edges(const hk_tet_batch *batch, const scalar *x, const int32_t *vertex,
                         vec3 first)
{
    const scalar *base = HK_DOUBLE ? NULL : batch->base;
    mat3 edges;
    for (int c = 0; c < 3; c++)
        m3_set_column(&edges, c, v3_sub(corners_load(x, vertex + (c + 1) * HK_LANES), first));
    if (!base) return edges;
    vec3 start = corners_load(base, vertex);
    for (int c = 0; c < 3; c++) {
        vec3 moved = v3_sub(corners_load(base, vertex + (c + 1) * HK_LANES), start);
        m3_set_column(&edges, c, v3_add(moved, m3_column(edges, c)));
    }
    return edges;
}

// F and H of these edges.
HK_INLINE void tet_deform(const hk_tet_batch *batch, mat3 edges, mat3 inverse, mat3 *F, mat3 *H)
{
    mat3 D = m3_mul(edges, inverse);
    bool displaced = !HK_DOUBLE && batch->base;
    *F = displaced ? m3_gradient(D) : D;
    *H = displaced ? D : m3_displacement(D);
}

// The same where F − 1 of the base is at hand: a stream is faster than another four corners.
HK_INLINE mat3 tet_displacement(const hk_tet_batch *batch, const scalar *x, int block, mat3 inverse)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    const scalar *start = (const scalar *)batch->start + (int64_t)block * 9 * HK_LANES;
    vec3 first = corners_load(x, vertex);
    mat3 edges;
    for (int c = 0; c < 3; c++)
        m3_set_column(&edges, c, v3_sub(corners_load(x, vertex + (c + 1) * HK_LANES), first));
    mat3 H = m3_mul(edges, inverse);
    for (int k = 0; k < 9; k++) H.m[k / 3][k % 3] += r_load(start + k * HK_LANES);
    return H;
}

HK_INLINE mat3 tet_inverse(const hk_tet_batch *batch, int block)
{
    const scalar *from = (const scalar *)batch->inverse + (int64_t)block * 9 * HK_LANES;
    mat3 inverse;
    for (int k = 0; k < 9; k++) inverse.m[k / 3][k % 3] = r_load(from + k * HK_LANES);
    return inverse;
}

HK_INLINE tet_lanes tet_load(const hk_tet_batch *batch, const scalar *x, int block)
{
    tet_lanes t;
    t.inverse = tet_inverse(batch, block);
    if (!HK_DOUBLE && batch->start) {
        t.H = tet_displacement(batch, x, block, t.inverse);
        t.F = m3_gradient(t.H);
        return t;
    }
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    mat3 edges = tet_edges(batch, x, vertex, corners_load(x, vertex));
    tet_deform(batch, edges, t.inverse, &t.F, &t.H);
    return t;
}

HK_INLINE real tet_volume(const hk_tet_batch *batch, int block)
{
    return r_load((const scalar *)batch->volume + (int64_t)block * HK_LANES);
}

HK_INLINE const real *tet_element(const hk_tet_batch *batch, int block)
{
    return (const real *)batch->element + (int64_t)block * batch->element_values;
}

HK_INLINE vec3 shape_gradient(const tet_lanes *t, int corner)
{
    vec3 a;
    for (int j = 0; j < 3; j++)
        a.v[j] = corner > 0 ? t->inverse.m[corner - 1][j]
                            : -(t->inverse.m[0][j] + t->inverse.m[1][j] + t->inverse.m[2][j]);
    return a;
}

// volume × ψ summed over lanes; padding has volume 0 and must not turn an inf into a NaN.
HK_INLINE double weighted_sum(real volume, real psi)
{
    return r_sum(r_select(volume > 0, volume * psi, r_zero()));
}

// Forces of corners 1..3, and minus their sum at corner 0.
HK_INLINE void store_corner_forces(const hk_tet_batch *batch, int block, mat3 forces, scalar *slots)
{
    const uint16_t *slot = batch->slot + (int64_t)block * 4 * HK_LANES;
    vec3 origin = {{r_zero(), r_zero(), r_zero()}};
    for (int c = 0; c < 3; c++) {
        vec3 f = m3_column(forces, c);
        origin = v3_sub(origin, f);
        corners_store(slots, slot + (c + 1) * HK_LANES, f);
    }
    corners_store(slots, slot, origin);
}

// volume P Bᵀ
HK_INLINE void store_forces(const hk_tet_batch *batch, int block, const tet_lanes *t, mat3 P,
                            scalar *slots)
{
    mat3 forces = m3_mult(m3_scale(P, tet_volume(batch, block)), t->inverse);
    store_corner_forces(batch, block, forces, slots);
}

#endif
