// 3-vectors and 3×3 matrices over `real`. Matrices are row-major: m[row][column].
#ifndef HK_MAT3_H
#define HK_MAT3_H

#include "math/real.h"

typedef struct vec3 {
    real v[3];
} vec3;
typedef struct mat3 {
    real m[3][3];
} mat3;

HK_INLINE vec3 v3_set(double x, double y, double z)
{
    vec3 a;
    a.v[0] = r_set(x);
    a.v[1] = r_set(y);
    a.v[2] = r_set(z);
    return a;
}
HK_INLINE vec3 v3_add(vec3 a, vec3 b)
{
    for (int i = 0; i < 3; i++) a.v[i] += b.v[i];
    return a;
}
HK_INLINE vec3 v3_sub(vec3 a, vec3 b)
{
    for (int i = 0; i < 3; i++) a.v[i] -= b.v[i];
    return a;
}
HK_INLINE vec3 v3_scale(vec3 a, real s)
{
    for (int i = 0; i < 3; i++) a.v[i] *= s;
    return a;
}
HK_INLINE real v3_dot(vec3 a, vec3 b)
{
    return a.v[0] * b.v[0] + a.v[1] * b.v[1] + a.v[2] * b.v[2];
}
HK_INLINE real v3_norm(vec3 a)
{
    return r_sqrt(v3_dot(a, a));
}
HK_INLINE vec3 v3_cross(vec3 a, vec3 b)
{
    vec3 c;
    c.v[0] = a.v[1] * b.v[2] - a.v[2] * b.v[1];
    c.v[1] = a.v[2] * b.v[0] - a.v[0] * b.v[2];
    c.v[2] = a.v[0] * b.v[1] - a.v[1] * b.v[0];
    return c;
}
HK_INLINE vec3 v3_select(mask m, vec3 a, vec3 b)
{
    for (int i = 0; i < 3; i++) a.v[i] = r_select(m, a.v[i], b.v[i]);
    return a;
}
// A unit vector perpendicular to the unit vector a (Duff et al. 2017).
HK_INLINE vec3 v3_perpendicular(vec3 a)
{
    real x = a.v[0], y = a.v[1], z = a.v[2];
    real sign = r_select(z < 0, r_set(-1), r_set(1));
    real k = -1 / (sign + z);
    vec3 b;
    b.v[0] = 1 + sign * x * x * k;
    b.v[1] = sign * x * y * k;
    b.v[2] = -sign * x;
    return b;
}

HK_INLINE mat3 m3_zero(void)
{
    mat3 a;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] = r_zero();
    return a;
}
HK_INLINE mat3 m3_identity(void)
{
    mat3 a = m3_zero();
    for (int i = 0; i < 3; i++) a.m[i][i] = r_set(1);
    return a;
}
// a + s 1
HK_INLINE mat3 m3_add_identity(mat3 a, real s)
{
    for (int i = 0; i < 3; i++) a.m[i][i] += s;
    return a;
}
// F = 1 + H, and back.
HK_INLINE mat3 m3_gradient(mat3 H)
{
    return m3_add_identity(H, r_set(1));
}
HK_INLINE mat3 m3_displacement(mat3 F)
{
    return m3_add_identity(F, r_set(-1));
}
HK_INLINE mat3 m3_diagonal(vec3 d)
{
    mat3 a = m3_zero();
    for (int i = 0; i < 3; i++) a.m[i][i] = d.v[i];
    return a;
}
// The matrix of x ↦ w × x.
HK_INLINE mat3 m3_skew(vec3 w)
{
    mat3 a = m3_zero();
    a.m[2][1] = w.v[0];
    a.m[1][2] = -w.v[0];
    a.m[0][2] = w.v[1];
    a.m[2][0] = -w.v[1];
    a.m[1][0] = w.v[2];
    a.m[0][1] = -w.v[2];
    return a;
}
HK_INLINE mat3 m3_select(mask m, mat3 a, mat3 b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] = r_select(m, a.m[i][j], b.m[i][j]);
    return a;
}
// The symmetric matrix with the upper triangle of a.
HK_INLINE mat3 m3_from_upper(mat3 a)
{
    a.m[1][0] = a.m[0][1];
    a.m[2][0] = a.m[0][2];
    a.m[2][1] = a.m[1][2];
    return a;
}
HK_INLINE mat3 m3_add(mat3 a, mat3 b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] += b.m[i][j];
    return a;
}
HK_INLINE mat3 m3_sub(mat3 a, mat3 b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] -= b.m[i][j];
    return a;
}
HK_INLINE mat3 m3_scale(mat3 a, real s)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] *= s;
    return a;
}
// a + s b
HK_INLINE mat3 m3_add_scaled(mat3 a, real s, mat3 b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] += s * b.m[i][j];
    return a;
}
HK_INLINE mat3 m3_transpose(mat3 a)
{
    mat3 t;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) t.m[i][j] = a.m[j][i];
    return t;
}
HK_INLINE mat3 m3_mul(mat3 a, mat3 b)
{
    mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return c;
}
// aᵀ b
HK_INLINE mat3 m3_tmul(mat3 a, mat3 b)
{
    mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a.m[0][i] * b.m[0][j] + a.m[1][i] * b.m[1][j] + a.m[2][i] * b.m[2][j];
    return c;
}
// a bᵀ
HK_INLINE mat3 m3_mult(mat3 a, mat3 b)
{
    mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a.m[i][0] * b.m[j][0] + a.m[i][1] * b.m[j][1] + a.m[i][2] * b.m[j][2];
    return c;
}
// a diag(s)
HK_INLINE mat3 m3_scale_columns(mat3 a, vec3 s)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] *= s.v[j];
    return a;
}
// (a + aᵀ)/2
HK_INLINE mat3 m3_symmetric(mat3 a)
{
    return m3_scale(m3_add(a, m3_transpose(a)), r_set(0.5));
}
HK_INLINE vec3 m3_apply(mat3 a, vec3 x)
{
    vec3 y;
    for (int i = 0; i < 3; i++)
        y.v[i] = a.m[i][0] * x.v[0] + a.m[i][1] * x.v[1] + a.m[i][2] * x.v[2];
    return y;
}
// aᵀ x
HK_INLINE vec3 m3_tapply(mat3 a, vec3 x)
{
    vec3 y;
    for (int i = 0; i < 3; i++)
        y.v[i] = a.m[0][i] * x.v[0] + a.m[1][i] * x.v[1] + a.m[2][i] * x.v[2];
    return y;
}
// Σ a_ij b_ij
HK_INLINE real m3_dot(mat3 a, mat3 b)
{
    real sum = r_zero();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += a.m[i][j] * b.m[i][j];
    return sum;
}
// max |a_ij|
HK_INLINE real m3_max_abs(mat3 a)
{
    real largest = r_zero();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) largest = r_max(r_abs(a.m[i][j]), largest);
    return largest;
}
HK_INLINE real m3_trace(mat3 a)
{
    return a.m[0][0] + a.m[1][1] + a.m[2][2];
}
HK_INLINE vec3 m3_column(mat3 a, int j)
{
    vec3 c;
    for (int i = 0; i < 3; i++) c.v[i] = a.m[i][j];
    return c;
}
HK_INLINE void m3_set_column(mat3 *a, int j, vec3 c)
{
    for (int i = 0; i < 3; i++) a->m[i][j] = c.v[i];
}
// The cofactor matrix, ∂ det(a)/∂a.
HK_INLINE mat3 m3_cofactor(mat3 a)
{
    mat3 c;
    for (int i = 0; i < 3; i++) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c.m[i][j] = a.m[i1][j1] * a.m[i2][j2] - a.m[i1][j2] * a.m[i2][j1];
        }
    }
    return c;
}
HK_INLINE real m3_det(mat3 a)
{
    return a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]) +
           a.m[0][1] * (a.m[1][2] * a.m[2][0] - a.m[1][0] * a.m[2][2]) +
           a.m[0][2] * (a.m[1][0] * a.m[2][1] - a.m[1][1] * a.m[2][0]);
}
HK_INLINE mat3 m3_inverse(mat3 a)
{
    return m3_scale(m3_transpose(m3_cofactor(a)), 1 / m3_det(a));
}
// a bᵀ of vectors
HK_INLINE mat3 m3_outer(vec3 a, vec3 b)
{
    mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c.m[i][j] = a.v[i] * b.v[j];
    return c;
}

#endif
