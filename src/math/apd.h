// The nearest rotation by following it: Newton's method from the rotation of the last time step,
// the "analytic polar decomposition" of Split (section 3.3, Algorithm 3). A warm start that is off
// by 10° is exact to single precision after two steps of about 150 operations each, one of them a
// division; there is no square root and no trigonometry.
//
// With R(ω) = q exp([ω]ₓ) and M = qᵀF the energy ½‖R − F‖² is, up to a constant, −tr(exp([ω]ₓ)ᵀM):
//   g = (M₁₂ − M₂₁, M₂₀ − M₀₂, M₀₁ − M₁₀),   H = tr(M) 1 − sym(M)      (Split eq. 24, 25)
// and Δω = −H⁻¹g (eq. 22). At the nearest rotation M is the symmetric stretch and H has the
// eigenvalues sᵢ + sⱼ, which are positive although the smallest stretch may be negative: inverted
// elements need no care, and the other points with g = 0 are no minima.
//
// Along a turn about one axis the energy is A − B cos θ − C sin θ, with C/B = ‖Δω‖ for Newton's
// axis, so the lowest point is θ = atan ‖Δω‖ rather than ‖Δω‖. The step goes there, but for terms
// of order ‖Δω‖⁵, by shortening Δω before the Cayley map; this makes the first step from 10° about
// thirty times as accurate as Split's, for two operations. (Convergence is cubic, by the symmetry
// of the energy about its minimum.)
//
// Far from the minimum H may be indefinite or nearly singular. Such lanes take H + σ1, σ from a
// bound of the smallest eigenvalue, in place of Split's clamp of ‖Δω‖ to π. Every step then lowers
// the energy, for it turns the right way by less than twice the θ of the lowest point.
#ifndef HK_APD_H
#define HK_APD_H

#include "math/mat3.h"

// A unit quaternion, w + x i + y j + z k.
typedef struct quat {
    real x, y, z, w;
} quat;

HK_INLINE quat quat_identity(void)
{
    quat q;
    q.x = q.y = q.z = r_zero();
    q.w = r_set(1);
    return q;
}
// First b, then a.
HK_INLINE quat quat_mul(quat a, quat b)
{
    quat c;
    c.x = a.w * b.x + a.x * b.w + (a.y * b.z - a.z * b.y);
    c.y = a.w * b.y + a.y * b.w + (a.z * b.x - a.x * b.z);
    c.z = a.w * b.z + a.z * b.w + (a.x * b.y - a.y * b.x);
    c.w = a.w * b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
    return c;
}
HK_INLINE quat quat_select(mask m, quat a, quat b)
{
    a.x = r_select(m, a.x, b.x);
    a.y = r_select(m, a.y, b.y);
    a.z = r_select(m, a.z, b.z);
    a.w = r_select(m, a.w, b.w);
    return a;
}
// To unit length from nearly there: a step of Newton's method for 1/√n at n = 1.
HK_INLINE quat quat_polish(quat q)
{
    real n = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    real s = (scalar)1.5 - (scalar)0.5 * n;
    q.x *= s;
    q.y *= s;
    q.z *= s;
    q.w *= s;
    return q;
}
HK_INLINE mat3 quat_rotation(quat q)
{
    real x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
    real xx = q.x * x2, yy = q.y * y2, zz = q.z * z2;
    real xy = q.x * y2, xz = q.x * z2, yz = q.y * z2;
    real wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
    mat3 r;
    r.m[0][0] = 1 - (yy + zz);
    r.m[0][1] = xy - wz;
    r.m[0][2] = xz + wy;
    r.m[1][0] = xy + wz;
    r.m[1][1] = 1 - (xx + zz);
    r.m[1][2] = yz - wx;
    r.m[2][0] = xz - wy;
    r.m[2][1] = yz + wx;
    r.m[2][2] = 1 - (xx + yy);
    return r;
}
// cay(4 v/d), the turn about v by 4 atan(‖v‖/d), with one division; d and v not both 0.
HK_INLINE quat quat_cayley_ratio(vec3 v, real d)
{
    real vv = v3_dot(v, v), dd = d * d;
    real inverse = 1 / (dd + vv), s = 2 * d * inverse;
    quat q;
    q.x = s * v.v[0];
    q.y = s * v.v[1];
    q.z = s * v.v[2];
    q.w = (dd - vv) * inverse;
    return q;
}
// The Cayley map (Split eq. 27, which prints a turn twice as large): the turn about ω by
// 4 atan(‖ω‖/4) = ‖ω‖ − ‖ω‖³/48 + …, always a unit quaternion.
HK_INLINE quat quat_cayley(vec3 omega)
{
    return quat_cayley_ratio(v3_scale(omega, r_set(0.25)), r_set(1));
}

// A symmetric matrix.
typedef struct sym3 {
    real xx, yy, zz, yz, xz, xy;
} sym3;

HK_INLINE sym3 sym3_cofactor(sym3 h)
{
    sym3 c;
    c.xx = h.yy * h.zz - h.yz * h.yz;
    c.yy = h.xx * h.zz - h.xz * h.xz;
    c.zz = h.xx * h.yy - h.xy * h.xy;
    c.yz = h.xy * h.xz - h.xx * h.yz;
    c.xz = h.xy * h.yz - h.yy * h.xz;
    c.xy = h.xz * h.yz - h.zz * h.xy;
    return c;
}
HK_INLINE vec3 sym3_apply(sym3 h, vec3 x)
{
    vec3 y;
    y.v[0] = h.xx * x.v[0] + h.xy * x.v[1] + h.xz * x.v[2];
    y.v[1] = h.xy * x.v[0] + h.yy * x.v[1] + h.yz * x.v[2];
    y.v[2] = h.xz * x.v[0] + h.yz * x.v[1] + h.zz * x.v[2];
    return y;
}

// The derivatives of the energy by ω for M = RᵀF.
HK_INLINE vec3 apd_gradient(mat3 m)
{
    vec3 g;
    g.v[0] = m.m[1][2] - m.m[2][1];
    g.v[1] = m.m[2][0] - m.m[0][2];
    g.v[2] = m.m[0][1] - m.m[1][0];
    return g;
}
HK_INLINE sym3 apd_hessian(mat3 m)
{
    const scalar half = (scalar)-0.5;
    sym3 h;
    h.xx = m.m[1][1] + m.m[2][2];
    h.yy = m.m[0][0] + m.m[2][2];
    h.zz = m.m[0][0] + m.m[1][1];
    h.yz = half * (m.m[1][2] + m.m[2][1]);
    h.xz = half * (m.m[0][2] + m.m[2][0]);
    h.xy = half * (m.m[0][1] + m.m[1][0]);
    return h;
}

// All below has Σ|Fᵢⱼ| in [1, 2), so the largest stretch is in [0.19, 2).
#define HK_APD_FLOOR (32 * (scalar)HK_EPSILON)          // det H below is rounding
#define HK_APD_LEAST (scalar)(HK_DOUBLE ? 1e-6 : 4e-3)  // least eigenvalue of H + σ1
#define HK_APD_SLOPE (scalar)0.01  // a slope below is none, at a maximum or saddle

// A turn of 4 atan(‖v‖/d) about v.
typedef struct apd_turn {
    vec3 v;
    real d;
} apd_turn;

// The least principal minor of H: negative if and only if an eigenvalue is.
HK_INLINE real apd_least_minor(sym3 h, sym3 cofactor, real det)
{
    real first = r_min(r_min(h.xx, h.yy), h.zz);
    real second = r_min(r_min(cofactor.xx, cofactor.yy), cofactor.zz);
    return r_min(r_min(first, second), det);
}

// A lower bound of the eigenvalues: Gershgorin's, brought closer by steps of Halley's method on
// p(λ) = det(λ1 − H), none of which goes beyond the first root: with aᵢ = 1/(λᵢ − λ) a step is
// 2Σa/((Σa)² + Σa²) ≤ 1/max a. (Near a multiple root rounding would: it is taken off.)
HK_INLINE real apd_least_eigenvalue(sym3 h, sym3 cofactor, real det)
{
    real yz = r_abs(h.yz), xz = r_abs(h.xz), xy = r_abs(h.xy);
    real least = r_min(r_min(h.xx - xy - xz, h.yy - xy - yz), h.zz - xz - yz);
    real trace = h.xx + h.yy + h.zz, minors = cofactor.xx + cofactor.yy + cofactor.zz;
    for (int step = 0; step < 4; step++) {
        real p = r_min(((least - trace) * least + minors) * least - det + HK_APD_FLOOR, r_zero());
        real p1 = (3 * least - 2 * trace) * least + minors, p2 = 6 * least - 2 * trace;
        least -= 2 * p * p1 / r_max(2 * p1 * p1 - p * p2, r_set(HK_APD_FLOOR));
    }
    return least;
}

// The step with H + σ1. Where g vanishes at a maximum or saddle any way along the negative
// eigenvalue is down: a fixed slope is added to find it.
HK_INLINE apd_turn apd_far_turn(sym3 h, sym3 cofactor, real det, vec3 g)
{
    real minor = apd_least_minor(h, cofactor, det);
    real eigenvalue = apd_least_eigenvalue(h, cofactor, det);
    eigenvalue = r_select(minor > -HK_APD_FLOOR, r_max(eigenvalue, r_zero()), eigenvalue);
    mask stuck = (minor < (scalar)-1e-3) & (v3_dot(g, g) < HK_APD_SLOPE * HK_APD_SLOPE);
    vec3 slope = v3_scale(v3_set(1, 0.7, 0.4), r_select(stuck, r_set(HK_APD_SLOPE), r_zero()));
    // ‖Δω‖ stays within a few radians.
    real size = r_max(r_max(r_abs(g.v[0]), r_abs(g.v[1])), r_abs(g.v[2])) + slope.v[0];
    real least = r_max(size * (scalar)0.25, r_set(HK_APD_LEAST));
    real shift = r_max(least - eigenvalue, r_zero());
    h.xx += shift;
    h.yy += shift;
    h.zz += shift;
    cofactor = sym3_cofactor(h);
    det = h.xx * cofactor.xx + h.xy * cofactor.xy + h.xz * cofactor.xz;
    vec3 down = sym3_apply(cofactor, g), aside = sym3_apply(cofactor, slope);
    aside = v3_select(v3_dot(g, aside) < 0, v3_scale(aside, r_set(-1)), aside);
    vec3 v = v3_scale(v3_add(down, aside), (scalar)-0.25 / det);
    // tan(atan(‖Δω‖)/4) for all ‖Δω‖ to a tenth: v (1 + 7v²)/(1 + 12v² + 6v⁴), v = Δω/4.
    real vv = v3_dot(v, v);
    apd_turn turn;
    turn.v = v3_scale(v, 1 + 7 * vv);
    turn.d = 1 + vv * (12 + 6 * vv);
    return turn;
}

// Newton's step from R, given M = RᵀF.
typedef struct apd_newton {
    vec3 g;
    sym3 h, cofactor;
    real det, vv, dd;
    apd_turn turn;
} apd_newton;

HK_INLINE apd_newton apd_newton_step(mat3 m)
{
    apd_newton n;
    n.g = apd_gradient(m);
    n.h = apd_hessian(m);
    n.cofactor = sym3_cofactor(n.h);
    n.det = n.h.xx * n.cofactor.xx + n.h.xy * n.cofactor.xy + n.h.xz * n.cofactor.xz;
    // Δω/4 = v/det, shortened to v/det / (1 + 5v²/det²) without a division.
    vec3 v = v3_scale(sym3_apply(n.cofactor, n.g), r_set(-0.25));
    n.vv = v3_dot(v, v);
    n.dd = n.det * n.det;
    n.turn.v = v3_scale(v, n.det);
    n.turn.d = n.dd + 5 * n.vv;
    return n;
}

// The step from R, given M = RᵀF.
HK_INLINE apd_turn apd_step(mat3 m)
{
    apd_newton n = apd_newton_step(m);
    apd_turn turn = n.turn;
    // Positive definite, and ‖Δω‖ below 1.8, where the shortened step is longest.
    mask near = (n.h.xx > 0) & (n.cofactor.zz > 0) & (n.det > HK_APD_FLOOR) & (5 * n.vv < n.dd);
    if (r_any(r_not(near))) {
        apd_turn far = apd_far_turn(n.h, n.cofactor, n.det, n.g);
        turn.v = v3_select(near, turn.v, far.v);
        turn.d = r_select(near, turn.d, far.d);
    }
    return turn;
}

// From one time step to the next nearly all elements are near their rotation and of moderate
// stretch: then one step without scaling is enough, and it has the same bits as the one with
// (which is by a power of two). True if that is so in every lane. The test is one number, not
// positive where anything is wrong, and NaN where F is not finite.
HK_INLINE int apd_single_step(mat3 f, quat q, scalar limit, quat *to)
{
    const scalar narrowest = (scalar)0.5, widest = 64;  // of tr H; 6 at rest
    apd_newton n = apd_newton_step(m3_tmul(quat_rotation(q), f));
    real trace = n.h.xx + n.h.yy + n.h.zz;
    real least = r_min(r_min(n.h.xx, n.cofactor.zz), n.dd - 5 * n.vv);
    least = r_min(least, r_min(trace - narrowest, widest - trace));
    // Σ|F| is of the size of tr H here, so this floor is above that of the scaled step.
    least = r_min(least, n.det - HK_APD_FLOOR * trace * trace * trace);
    least = r_min(least, limit * n.turn.d * n.turn.d - v3_dot(n.turn.v, n.turn.v));
    if (!r_all(least > 0)) return 0;
    *to = quat_polish(quat_mul(q, quat_cayley_ratio(n.turn.v, n.turn.d)));
    return 1;
}

// F over a power of two, and where it is finite.
HK_INLINE mat3 apd_scaled(mat3 f, mask *finite)
{
    // The bits of 1: those of 2ᵏ and 2⁻ᵏ add up to twice as many.
    const scalar_bits one = (scalar_bits)HK_EXPONENT_BIAS << HK_MANTISSA_BITS;
    real size = r_zero();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) size += r_abs(f.m[i][j]);
    *finite = size <= (scalar)(HK_DOUBLE ? DBL_MAX : FLT_MAX);
    return m3_scale(f, r_from_bits(2 * one - r_bits(r_power_of_two(size))));
}

// `steps` steps from q towards the rotation nearest to F, the one of polar.h (the smallest stretch
// is negated where F is inverted). One step is enough from a time step to the next; two give all of
// single precision from 10°, three from 90°. The result is a unit quaternion to rounding if q was
// one within 1e-3, after any number of calls.
// - From anywhere the energy goes down to the nearest rotation: in 12 steps for stretches of 0.1 to
//   5 or random entries and turned by any angle, 20 from 180° exactly.
// - More steps where the nearest rotation is nearly not unique: rank 1 within rounding, or inverted
//   with stretches that are nearly equal. There the result is one of the nearest, near q.
// - Where the sum of |Fᵢⱼ| is not finite, q as it is: never NaN.
HK_INLINE quat apd_rotation(mat3 f, quat q, int steps)
{
    quat start = q;
    mask finite;
    f = apd_scaled(f, &finite);
    for (int step = 0; step < steps; step++) {
        apd_turn turn = apd_step(m3_tmul(quat_rotation(q), f));
        q = quat_mul(q, quat_cayley_ratio(turn.v, turn.d));
    }
    return quat_select(finite, quat_polish(q), start);
}

// The same until a step turns by no more than `tolerance` radians in every lane (what is left is
// then about its cube, where the nearest rotation is unique), or `most` steps. Lanes that are done
// stay, so each is as it would be alone. Returns the number of steps in `steps`.
HK_INLINE quat apd_rotation_within(mat3 f, quat q, scalar tolerance, int most, int *steps)
{
    const scalar limit = (scalar)0.0625 * tolerance * tolerance;
    quat start = q;
    mask finite;
    *steps = 1;
    if (most > 0 && apd_single_step(f, q, limit, &q)) return q;
    f = apd_scaled(f, &finite);
    mask open = finite;
    int step = 0;
    for (; step < most && r_any(open); step++) {
        apd_turn turn = apd_step(m3_tmul(quat_rotation(q), f));
        q = quat_select(open, quat_mul(q, quat_cayley_ratio(turn.v, turn.d)), q);
        open = open & (v3_dot(turn.v, turn.v) > limit * turn.d * turn.d);
    }
    *steps = step;
    return quat_select(finite, quat_polish(q), start);
}

#endif
