// Where the diagonals and Hessian blocks of a block of tets go.
#ifndef HK_TET_STORE_H
#define HK_TET_STORE_H

#include "material/law.h"
#include "term/tet_lanes.h"

HK_INLINE void store_diagonal(const hk_tet_batch *batch, int block, const tet_lanes *t,
                              const row_forms *rows, scalar *slots)
{
    const uint16_t *slot = batch->slot + (int64_t)block * 4 * HK_LANES;
    real volume = tet_volume(batch, block);
    for (int c = 0; c < 4; c++) {
        vec3 a = shape_gradient(t, c), d;
        for (int i = 0; i < 3; i++) d.v[i] = volume * row_form_value(rows, i, a);
        corners_store(slots, slot + c * HK_LANES, d);
    }
}

HK_INLINE void store_pair(scalar *values, int pair, mat3 block)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r_store(values + (9 * pair + 3 * i + j) * HK_LANES, block.m[i][j]);
}

// From the six blocks of corners 1..3 to all ten: the rows and columns of an element's Hessian sum
// to zero.
HK_SHARED void store_stiffness(scalar *values, const mat3 inner[6])
{
    static const int number[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    mat3 corner = m3_zero();
    for (int b = 0; b < 3; b++) {
        mat3 sum = m3_zero();  // −H_0b = Σ_a H_ab
        for (int a = 0; a < 3; a++) {
            mat3 h = inner[number[a][b]];
            sum = m3_add(sum, a <= b ? h : m3_transpose(h));
        }
        corner = m3_add(corner, sum);
        store_pair(values, 1 + b, m3_scale(sum, r_set(-1)));
    }
    store_pair(values, 0, corner);
    for (int q = 0; q < 6; q++) store_pair(values, 4 + q, inner[q]);
}

#endif
