// The angle φ by which the direction turns from a = x₁ − x₀ to b = x₂ − x₁, 0 … π, with gradient
// and Hessian. Included after mat3.h, in double precision.
//
// With the unit vectors u and v, c = u·v = cos φ and s = ‖u × v‖ = sin φ, φ is a function of c:
// φ′ = −1/s, which has no limit where the rope is straight, but an energy f(φ) whose slope vanishes
// there is a smooth function of c. So what is needed are ∇c and ∇²c,
//
//   ∂c/∂a = (v − c u)/‖a‖ = (u × v) × u/‖a‖,   ∂c/∂b = v × (u × v)/‖b‖,
//   ∂²c/∂a² = −(w uᵀ + u wᵀ + c (I − u uᵀ))/‖a‖²  with w = v − c u,  b alike,
//   ∂²c/∂a∂b = (I − u uᵀ)(I − v vᵀ)/(‖a‖‖b‖).
#ifndef HK_TURN_H
#define HK_TURN_H

#include <stdbool.h>

#include "math/mat3.h"

typedef struct turn {
    vec3 u, v, w, z;  // z = u − c v
    double a, b;      // lengths
    double c, s, angle;
} turn;

static inline turn turn_of(const vec3 p[3])
{
    turn t;
    vec3 a = v3_sub(p[1], p[0]), b = v3_sub(p[2], p[1]);
    t.a = v3_norm(a);
    t.b = v3_norm(b);
    t.u = v3_scale(a, 1 / t.a);
    t.v = v3_scale(b, 1 / t.b);
    vec3 n = v3_cross(t.u, t.v);
    t.w = v3_cross(n, t.u);
    t.z = v3_cross(t.v, n);
    t.c = v3_dot(t.u, t.v);
    t.s = v3_norm(n);
    t.angle = atan2(t.s, t.c);
    return t;
}

// f′ and f″ of f(c) = ½ (φ − rest)². At the tips of its cones, a rope folded upon itself, and a
// straight one that has a rest angle, there is no direction, and they are 0.
static inline void turn_slopes(const turn *t, double rest, double *first, double *second)
{
    double s = t->s, c = t->c, q = t->angle * t->angle;
    // Near φ = 0: φ/sin φ = 1 + φ²/6 + 7φ⁴/360 + …, (sin φ − φ cos φ)/sin³ φ = ⅓ + 2φ²/15 + 2φ⁴/63
    // + …
    bool small = t->angle < 1e-2;
    double inverse = s > 1e-12 ? 1 / s : 0;
    *first = -(small ? 1 + q / 6 + 7 * q * q / 360 : t->angle * inverse);
    *second = small ? 1.0 / 3 + 2 * q / 15 + 2 * q * q / 63
                    : (s - t->angle * c) * inverse * inverse * inverse;
    if (rest == 0) return;
    *first += rest * inverse;
    *second += rest * c * inverse * inverse * inverse;
}

// ∂c/∂x of the three points.
static inline void turn_gradient(const turn *t, vec3 g[3])
{
    g[0] = v3_scale(t->w, -1 / t->a);
    g[2] = v3_scale(t->z, 1 / t->b);
    g[1] = v3_scale(v3_add(g[0], g[2]), -1);
}

static inline mat3 turn_outer(vec3 a, vec3 b)
{
    mat3 m;
    for (int i = 0; i < 9; i++) m.m[i / 3][i % 3] = a.v[i / 3] * b.v[i % 3];
    return m;
}

// ∂²c of (a, a), (a, b) and (b, b).
static inline void turn_hessian(const turn *t, mat3 *aa, mat3 *ab, mat3 *bb)
{
    mat3 uu = turn_outer(t->u, t->u), vv = turn_outer(t->v, t->v), uv = turn_outer(t->u, t->v);
    mat3 uw = turn_outer(t->u, t->w), vz = turn_outer(t->v, t->z);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double one = i == j;
            aa->m[i][j] = -(uw.m[i][j] + uw.m[j][i] + t->c * (one - uu.m[i][j])) / (t->a * t->a);
            bb->m[i][j] = -(vz.m[i][j] + vz.m[j][i] + t->c * (one - vv.m[i][j])) / (t->b * t->b);
            ab->m[i][j] = (one - uu.m[i][j] - vv.m[i][j] + t->c * uv.m[i][j]) / (t->a * t->b);
        }
}

#endif
