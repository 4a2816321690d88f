// The step of Newton's method in three unknowns, made to lead downhill: −H⁻¹ g, where H is positive
// definite; else its eigenvalues count by their size.
#ifndef HK_SOLVE3_H
#define HK_SOLVE3_H

#include "math/eigen3.h"

// It is seldom needed, and long.
#if defined(__CUDACC__)
#define HK_SELDOM static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define HK_SELDOM static __attribute__((noinline, unused))
#endif

// No eigenvalue counts as less than a part of the largest.
HK_SELDOM void solve3_by_eigenvalues(const mat3 *H, const vec3 *g, vec3 *step)
{
    const scalar least_share = (scalar)1e-3;
    vec3 values;
    mat3 v;
    eigen3_of(*H, &values, &v);
    real largest = r_max(r_abs(values.v[0]), r_abs(values.v[2]));
    real least = r_max(least_share * largest, r_set(HK_SMALLEST_NORMAL));
    *step = v3_set(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        vec3 e = m3_column(v, k);
        real along = v3_dot(e, *g) / r_max(r_abs(values.v[k]), least);
        *step = v3_sub(*step, v3_scale(e, along));
    }
}

// By LDLᵀ where its pivots are far enough from 0. Only the upper triangle of H is read. A step that
// is not finite is none.
HK_INLINE vec3 solve3_downhill(mat3 H, vec3 g)
{
    const scalar least_share = (scalar)1e-4;
    real xx = H.m[0][0], yy = H.m[1][1], zz = H.m[2][2];
    real xy = H.m[0][1], xz = H.m[0][2], yz = H.m[1][2];
    vec3 d;
    real least = least_share * (r_abs(xx) + r_abs(yy) + r_abs(zz));
    real p = 1 / xx, ly = xy * p, lz = xz * p;
    real second = yy - ly * xy, across = yz - ly * xz, q = 1 / second, lw = across * q;
    real third = zz - lz * xz - lw * across;
    real b = g.v[1] - ly * g.v[0], c = g.v[2] - lz * g.v[0] - lw * b;
    d.v[2] = -c / third;
    d.v[1] = -b * q - lw * d.v[2];
    d.v[0] = -g.v[0] * p - ly * d.v[1] - lz * d.v[2];
    mask good = (xx > least) & (second > least) & (third > least);
    if (!r_all(good)) {
        vec3 other;
        H = m3_from_upper(H);
        solve3_by_eigenvalues(&H, &g, &other);
        d = v3_select(good, d, other);
    }
    real size = r_abs(d.v[0]) + r_abs(d.v[1]) + r_abs(d.v[2]);
    return v3_select(size < r_set(HUGE_VALF), d, v3_set(0, 0, 0));
}

#endif
