// Eigenvalues of symmetric 3×3 matrices by Jacobi's method, and the projection on positive
// semidefinite matrices.
#ifndef HK_EIGEN3_H
#define HK_EIGEN3_H

#include "math/mat3.h"

// Quadratic convergence ends nearly every matrix in 4 to 6 sweeps; the bound only stops what
// rounding keeps exchanging.
enum { HK_JACOBI_SWEEPS = 10 };

// The cosine and sine of the turn that makes [pp pq; pq qq] diagonal with the larger value first;
// 1 and 0 where the mask is not set.
// The eigenvector for the larger value is (d + h, 2pq) or (2pq, h − d) with d = pp − qq and
// h = √(d² + 4pq²), whichever adds positive numbers. Its direction need not be exact, the next
// sweep mends it; its length must be.
HK_INLINE void jacobi_angle(mask open, real pp, real qq, real pq, real *c, real *s)
{
    real d = pp - qq, e = pq + pq;
    mask swap = d < 0;
    d = r_abs(d);
    real h2 = d * d + e * e + (scalar)HK_TINY;
    real inverse = r_rsqrt_rough(h2);
    if (HK_DOUBLE) inverse = r_rsqrt_step(h2, inverse);  // saves a sweep, not so in float
    real along = d + h2 * inverse;
    real unit = r_rsqrt(along * along + e * e);
    along *= unit;
    e *= unit;
    *c = r_select(open, r_select(swap, e, along), r_set(1));
    *s = r_select(open, r_select(swap, along, e), r_zero());
}

// Columns p and q become c p + s q and c q − s p.
HK_INLINE void m3_turn_columns(mat3 *a, int p, int q, real c, real s)
{
    for (int i = 0; i < 3; i++) {
        real x = a->m[i][p], y = a->m[i][q];
        a->m[i][p] = c * x + s * y;
        a->m[i][q] = c * y - s * x;
    }
}

// Where the symmetric matrix, with entries up to 1 or so, is not yet diagonal or not in order, as
// far as rounding lets it.
HK_INLINE mask eigen3_pair_open(mat3 a, int p, int q)
{
    const scalar rounding = 2 * (scalar)HK_EPSILON;
    // The first comparison is written so that NaN spreads.
    return r_not(r_abs(a.m[p][q]) <= rounding) | (a.m[p][p] < a.m[q][q] - rounding);
}

// Turns axes p and q of the symmetric matrix a, p < q, k the third one.
HK_INLINE void eigen3_turn(mat3 *a, mat3 *v, int p, int q, int k)
{
    real pp = a->m[p][p], qq = a->m[q][q], pq = a->m[p][q], pk = a->m[p][k], qk = a->m[q][k];
    real c, s;
    jacobi_angle(eigen3_pair_open(*a, p, q), pp, qq, pq, &c, &s);
    real cc = c * c, ss = s * s, cs = c * s, cross = 2 * cs * pq;
    a->m[p][p] = cc * pp + cross + ss * qq;
    a->m[q][q] = ss * pp - cross + cc * qq;
    a->m[p][q] = a->m[q][p] = (cc - ss) * pq - cs * (pp - qq);
    a->m[p][k] = a->m[k][p] = c * pk + s * qk;
    a->m[q][k] = a->m[k][q] = c * qk - s * pk;
    m3_turn_columns(v, p, q, c, s);
}

// sym = V diag(values) Vᵀ with V a rotation, its columns the eigenvectors, and values in descending
// order. Only the upper triangle of sym is read. Values are accurate relative to the largest one.
HK_INLINE void eigen3_of(mat3 sym, vec3 *values, mat3 *vectors)
{
    mat3 a = m3_from_upper(sym), v = m3_identity();
    // A power of two scales exactly.
    real scale = r_power_of_two(m3_max_abs(a));
    a = m3_scale(a, 1 / scale);
    // Lanes that are done are turned by nothing, so each lane is as it would be alone.
    for (int sweep = 0; sweep < HK_JACOBI_SWEEPS; sweep++) {
        mask open =
            eigen3_pair_open(a, 0, 1) | eigen3_pair_open(a, 0, 2) | eigen3_pair_open(a, 1, 2);
        if (!r_any(open)) break;
        eigen3_turn(&a, &v, 0, 1, 2);
        eigen3_turn(&a, &v, 0, 2, 1);
        eigen3_turn(&a, &v, 1, 2, 0);
    }
    // Equal values may be out of order by rounding. (Written so that NaN stays.)
    real high = a.m[0][0], middle = a.m[1][1], low = a.m[2][2];
    middle = r_select(middle > high, high, middle);
    low = r_select(low > middle, middle, low);
    values->v[0] = high * scale;
    values->v[1] = middle * scale;
    values->v[2] = low * scale;
    *vectors = v;
}

// The nearest positive semidefinite matrix: negative eigenvalues become 0. A matrix that is
// semidefinite already comes back as it is; the others within rounding of the largest value.
HK_INLINE mat3 psd3(mat3 sym)
{
    vec3 values;
    mat3 v, r = m3_zero();
    eigen3_of(sym, &values, &v);
    for (int k = 0; k < 3; k++) {
        real kept = r_select(values.v[k] < 0, r_zero(), values.v[k]);
        for (int i = 0; i < 3; i++)
            for (int j = i; j < 3; j++) r.m[i][j] += kept * v.m[i][k] * v.m[j][k];
    }
    return m3_from_upper(m3_select(values.v[2] < 0, r, sym));
}

#endif
