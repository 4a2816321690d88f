// Singular values of 3×3 matrices, with rotations on both sides.
//
// One-sided Jacobi: the columns of b = a V are turned against each other, pair by pair, until all
// are orthogonal; then b = U diag(s). Working on a itself rather than on aᵀa keeps small singular
// values accurate relative to their own size.
#ifndef HK_SVD_H
#define HK_SVD_H

#include "math/eigen3.h"

// a = U diag(s) Vᵀ with U and V rotations and s₀ ≥ s₁ ≥ |s₂|; s₂ carries the sign of det a.
typedef struct svd3 {
    mat3 u;
    vec3 s;
    mat3 v;
} svd3;

// Columns count as orthogonal when the cosine between them is below this: what rounding leaves.
#define HK_SVD_COSINE (4 * (scalar)HK_EPSILON)
// Products of columns below the root of this count as 0, the largest entry being about 1. (Parallel
// columns stay parallel while one of them shrinks by ε a sweep: something must end that.)
#define HK_SVD_FLOOR (scalar)(HK_DOUBLE ? 1e-96 : 1e-34)

// Where columns with squared lengths pp, qq and product pq are not orthogonal or not in order.
HK_INLINE mask svd3_pair_open(real pp, real qq, real pq)
{
    const scalar cosine2 = HK_SVD_COSINE * HK_SVD_COSINE;
    return (pq * pq > cosine2 * pp * qq + HK_SVD_FLOOR) | (pp < qq * (1 - HK_SVD_COSINE));
}

HK_INLINE real m3_column_dot(mat3 a, int p, int q)
{
    return a.m[0][p] * a.m[0][q] + a.m[1][p] * a.m[1][q] + a.m[2][p] * a.m[2][q];
}

HK_INLINE void svd3_turn(mat3 *b, mat3 *v, int p, int q)
{
    real pp = m3_column_dot(*b, p, p), qq = m3_column_dot(*b, q, q), pq = m3_column_dot(*b, p, q);
    real c, s;
    jacobi_angle(svd3_pair_open(pp, qq, pq), pp, qq, pq, &c, &s);
    m3_turn_columns(b, p, q, c, s);
    m3_turn_columns(v, p, q, c, s);
}

// Where the columns are not yet orthogonal and in order.
HK_INLINE mask svd3_open(mat3 b)
{
    real g00 = m3_column_dot(b, 0, 0), g11 = m3_column_dot(b, 1, 1), g22 = m3_column_dot(b, 2, 2);
    return svd3_pair_open(g00, g11, m3_column_dot(b, 0, 1)) |
           svd3_pair_open(g00, g22, m3_column_dot(b, 0, 2)) |
           svd3_pair_open(g11, g22, m3_column_dot(b, 1, 2));
}

// U and s from orthogonal columns b in order of length. Columns too short to have a direction get
// one, so U is a rotation for every rank.
HK_INLINE void svd3_left(mat3 b, mat3 *u, vec3 *s)
{
    vec3 b0 = m3_column(b, 0), b1 = m3_column(b, 1), b2 = m3_column(b, 2);
    real n0 = v3_dot(b0, b0);
    mask zero0 = r_not(n0 > HK_SVD_FLOOR);
    vec3 u0 =
        v3_select(zero0, v3_set(1, 0, 0), v3_scale(b0, r_rsqrt(r_select(zero0, r_set(1), n0))));
    // Column 0 has left nothing but rounding in column 1, or column 1 is all rounding.
    vec3 rest = v3_sub(b1, v3_scale(u0, v3_dot(u0, b1)));
    real n1 = v3_dot(rest, rest);
    mask zero1 = r_not(n1 > r_max(v3_dot(b1, b1) * (scalar)0.015625, r_set(HK_SVD_FLOOR)));
    vec3 u1 = v3_scale(rest, r_rsqrt(r_select(zero1, r_set(1), n1)));
    if (r_any(zero1)) u1 = v3_select(zero1, v3_perpendicular(u0), u1);
    vec3 u2 = v3_cross(u0, u1);
    m3_set_column(u, 0, u0);
    m3_set_column(u, 1, u1);
    m3_set_column(u, 2, u2);
    // Equal values may be out of order by rounding. (Written so that NaN stays.)
    real s0 = r_abs(v3_dot(u0, b0)), s1 = r_abs(v3_dot(u1, b1)), s2 = v3_dot(u2, b2);
    s1 = r_select(s1 > s0, s0, s1);
    s2 = r_select(s2 > s1, s1, r_select(s2 < -s1, -s1, s2));
    s->v[0] = s0;
    s->v[1] = s1;
    s->v[2] = s2;
}

// Every finite matrix, of any rank and scale. a = U diag(s) Vᵀ holds within a few units in the last
// place of s₀, U and V are orthogonal to the same measure. Values down to 1e-48 s₀ (float: 1e-17)
// that come from the scaling of columns are accurate relative to themselves. Infinite or NaN
// entries make a value NaN.
HK_INLINE svd3 svd3_of(mat3 a)
{
    // A power of two scales exactly.
    real scale = r_power_of_two(m3_max_abs(a));
    mat3 b = m3_scale(a, 1 / scale), v = m3_identity();
    // Lanes that are done are turned by nothing, so each lane is as it would be alone.
    for (int sweep = 0; sweep < HK_JACOBI_SWEEPS && r_any(svd3_open(b)); sweep++) {
        svd3_turn(&b, &v, 0, 1);
        svd3_turn(&b, &v, 0, 2);
        svd3_turn(&b, &v, 1, 2);
    }
    svd3 r;
    svd3_left(b, &r.u, &r.s);
    r.s = v3_scale(r.s, scale);
    r.v = v;
    return r;
}

// C − 1 = FᵀF − 1 of F = 1 + H, without the difference: H + Hᵀ + HᵀH.
HK_INLINE mat3 m3_green(mat3 H)
{
    mat3 A = m3_tmul(H, H);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) A.m[i][j] += H.m[i][j] + H.m[j][i];
    return A;
}

// Of a = 1 + H, with the strains s − 1, which are accurate relative to the largest of them: from
// the eigenvalues c of aᵀa − 1, s − 1 = c/(1 + √(1 + c)). That is no way to small stretches and
// negative ones; where there are such the values are those of svd3_of.
HK_INLINE svd3 svd3_of_displacement(mat3 H, vec3 *strain)
{
    const scalar least = (scalar)-0.75, most = 15;  // stretches of 1/2 and 4
    vec3 c;
    svd3 r;
    eigen3_of(m3_green(H), &c, &r.v);
    mat3 F = m3_gradient(H), turned = m3_mul(F, r.v);
    mask near = (c.v[2] > least) & (c.v[0] < most) & (m3_det(F) > 0);
    for (int k = 0; k < 3; k++) {
        real safe = r_select(near, c.v[k], r_zero());
        r.s.v[k] = r_sqrt(1 + safe);
        strain->v[k] = safe / (1 + r.s.v[k]);
        m3_set_column(&r.u, k, v3_scale(m3_column(turned, k), 1 / r.s.v[k]));
    }
    if (r_all(near)) return r;
    svd3 f = svd3_of(F);
    r.u = m3_select(near, r.u, f.u);
    r.v = m3_select(near, r.v, f.v);
    for (int k = 0; k < 3; k++) strain->v[k] = r_select(near, strain->v[k], f.s.v[k] - 1);
    r.s = v3_select(near, r.s, f.s);
    return r;
}

// svd3_of of two matrices at once. A turn waits for the one before; with two to do the CPU is
// busy: about two thirds of the time of two calls in wide lanes.
HK_INLINE void svd3_of_two(mat3 a0, mat3 a1, svd3 *r0, svd3 *r1)
{
    real scale0 = r_power_of_two(m3_max_abs(a0)), scale1 = r_power_of_two(m3_max_abs(a1));
    mat3 b0 = m3_scale(a0, 1 / scale0), v0 = m3_identity();
    mat3 b1 = m3_scale(a1, 1 / scale1), v1 = m3_identity();
    for (int sweep = 0; sweep < HK_JACOBI_SWEEPS && r_any(svd3_open(b0) | svd3_open(b1)); sweep++) {
        svd3_turn(&b0, &v0, 0, 1);
        svd3_turn(&b1, &v1, 0, 1);
        svd3_turn(&b0, &v0, 0, 2);
        svd3_turn(&b1, &v1, 0, 2);
        svd3_turn(&b0, &v0, 1, 2);
        svd3_turn(&b1, &v1, 1, 2);
    }
    svd3_left(b0, &r0->u, &r0->s);
    r0->s = v3_scale(r0->s, scale0);
    r0->v = v0;
    svd3_left(b1, &r1->u, &r1->s);
    r1->s = v3_scale(r1->s, scale1);
    r1->v = v1;
}

// U diag(s) Vᵀ
HK_INLINE mat3 svd3_product(svd3 s)
{
    return m3_mult(m3_scale_columns(s.u, s.s), s.v);
}

#endif
