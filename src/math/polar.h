// The nearest rotation of a 3×3 matrix, and how it and the singular values change with the matrix.
//
// With a = U S Vᵀ, P = Uᵀ da V, dU = U Ω and dV = V Ψ (Ω, Ψ skew), off the diagonal
//   P_ij = Ω_ij s_j − s_i Ψ_ij,  P_ji = −Ω_ij s_i + s_j Ψ_ij,
// so   (Ω − Ψ)_ij = (P_ij − P_ji)/(s_i + s_j)  and  (Ω + Ψ)_ij = (P_ij + P_ji)/(s_j − s_i).
#ifndef HK_POLAR_H
#define HK_POLAR_H

#include "math/svd.h"

// R = U Vᵀ, the rotation nearest to a = R (V S Vᵀ); for a reflected matrix the smallest stretch is
// negative.
HK_INLINE mat3 polar_rotation_of(svd3 s)
{
    return m3_mult(s.u, s.v);
}
HK_INLINE mat3 polar_rotation(mat3 a)
{
    return polar_rotation_of(svd3_of(a));
}

// V S Vᵀ, the symmetric stretch.
HK_INLINE mat3 polar_stretch_of(svd3 s)
{
    return m3_mult(m3_scale_columns(s.v, s.s), s.v);
}

// 1/a, but 0 where |a| is rounding next to the largest singular value.
HK_INLINE real polar_reciprocal(real a, svd3 s)
{
    const scalar rounding = 8 * (scalar)HK_EPSILON;
    mask fine = r_abs(a) > s.s.v[0] * rounding;
    return r_select(fine, 1 / r_select(fine, a, r_set(1)), r_zero());
}

// Entry ij of Ω − Ψ, the turn of R seen from inside.
HK_INLINE real polar_spin(svd3 s, mat3 p, int i, int j)
{
    return (p.m[i][j] - p.m[j][i]) * polar_reciprocal(s.s.v[i] + s.s.v[j], s);
}

// dR for a change da of the matrix whose decomposition is s. R has no derivative where
// s_i + s_j = 0 (rank below 2, or reflected with equal stretches): there, within rounding, the turn
// in the plane ij is taken as 0.
HK_INLINE mat3 polar_derivative(svd3 s, mat3 da)
{
    mat3 p = m3_mul(m3_tmul(s.u, da), s.v);
    vec3 axis;
    axis.v[0] = polar_spin(s, p, 2, 1);
    axis.v[1] = polar_spin(s, p, 0, 2);
    axis.v[2] = polar_spin(s, p, 1, 0);
    return m3_mult(m3_mul(s.u, m3_skew(axis)), s.v);
}

// dU, dS, dV for a change da. For a repeated stretch, s_i = ±s_j within rounding, U and V have no
// derivative in the plane ij: where s_i = s_j their common turn Ω + Ψ is taken as 0, where
// s_i = −s_j their difference Ω − Ψ is. ds is exact to first order for simple stretches.
HK_INLINE void svd3_derivative(svd3 s, mat3 da, mat3 *du, vec3 *ds, mat3 *dv)
{
    mat3 p = m3_mul(m3_tmul(s.u, da), s.v);
    vec3 left, right;
    for (int k = 0; k < 3; k++) {
        int i = (k + 2) % 3, j = (k + 1) % 3;  // skew(axis) has axis_k at row i, column j
        real difference = polar_spin(s, p, i, j);
        real sum = (p.m[i][j] + p.m[j][i]) * polar_reciprocal(s.s.v[j] - s.s.v[i], s);
        left.v[k] = (sum + difference) * (scalar)0.5;
        right.v[k] = (sum - difference) * (scalar)0.5;
        ds->v[k] = p.m[k][k];
    }
    *du = m3_mul(s.u, m3_skew(left));
    *dv = m3_mul(s.v, m3_skew(right));
}

#endif
