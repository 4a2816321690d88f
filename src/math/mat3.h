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
HK_INLINE vec3 m3_apply(mat3 a, vec3 x)
{
    vec3 y;
    for (int i = 0; i < 3; i++)
        y.v[i] = a.m[i][0] * x.v[0] + a.m[i][1] * x.v[1] + a.m[i][2] * x.v[2];
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
HK_INLINE real m3_trace(mat3 a) { return a.m[0][0] + a.m[1][1] + a.m[2][2]; }
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
