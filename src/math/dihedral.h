// The angle between two triangles (x₀, x₁, x₂) and (x₁, x₀, x₃) at their common edge e = x₁ − x₀,
// with its exact derivatives, over `real`: 0 where they are flat, positive where the normals
// N = e × (x₂ − x₀) lean away from each other … −π to π.
//
// One triangle at a time: lifting its tip by δ along the unit normal n turns it by δ/h, h its
// height over the edge. With g = n/h = ‖e‖ N/‖N‖² and the place s of the foot of the tip along the
// edge,
//
//   ∂θ/∂x_i = Σ over both triangles c_i g,   c = (1 − s, s, −1) for the ends and the tip,
//
// and the Hessian follows by the product rule (the same as that of Tamstorf & Grinspun 2013):
//   ∂g = (ê·∂e) n/(‖e‖ h) + ‖e‖/‖N‖² (1 − 2 n nᵀ) ∂N,   ∂N = ∂e × a + e × ∂a,   a = x₂ − x₀
//   ∂s = (e·∂a + a·∂e)/‖e‖² − 2 s (e·∂e)/‖e‖².
// Flat triangles have no normal: what divides by their area becomes 0.
#ifndef HK_DIHEDRAL_H
#define HK_DIHEDRAL_H

#include "math/mat3.h"

#if HK_DOUBLE && HK_LANES > 1

// t is the lesser of |sine| and |cosine| by the greater, 0 … 1; beyond tan(π/8) it is turned back
// by π/4. There arctan(t)/t is, to 2e-18, a polynomial in t² of degree 11, by Chebyshev's
// interpolation.
HK_INLINE real dihedral_atan2(real sine, real cosine)
{
    static const double c[12] = {
        -0.017803896394812563193, 0.037963903161110833033, -0.050350497953124393166,
        0.058468667522751389837,  -0.06662950246036791267, 0.07692045194561481467,
        -0.090908968014728134434, 0.11111110744657099602,  -0.14285714279244968487,
        0.19999999999940837328,   -0.33333333333333120948, 0.99999999999999999874};
    const double quarter = 0.78539816339744830962;  // π/4
    real y = r_abs(sine), x = r_abs(cosine);
    mask steep = y > x;
    real top = r_select(steep, x, y), bottom = r_select(steep, y, x);
    mask wide = top > r_set(0.41421356237309504880) * bottom;
    real below = r_select(wide, top + bottom, bottom);
    mask some = below > r_zero();
    real t = r_select(wide, top - bottom, top) / r_select(some, below, r_set(1)), z = t * t;
    real sum = r_set(c[0]);
    for (int k = 1; k < 12; k++) sum = sum * z + r_set(c[k]);
    real angle = r_select(some, t * sum, r_zero());
    angle = r_select(wide, angle + r_set(quarter), angle);
    angle = r_select(steep, r_set(2 * quarter) - angle, angle);
    angle = r_select(cosine < r_zero(), r_set(4 * quarter) - angle, angle);
    return r_copysign(angle, sine);
}

#else

// Lane by lane.
HK_INLINE real dihedral_atan2(real sine, real cosine)
{
    real angle = r_zero();
    for (int l = 0; l < HK_LANES; l++)
        r_set_lane(&angle, l, (scalar)atan2((double)r_lane(sine, l), (double)r_lane(cosine, l)));
    return angle;
}

#endif

typedef struct dihedral_side {
    vec3 e, a, normal;    // e, a and N
    real length2, area2;  // ‖e‖², ‖N‖²
    vec3 g;
    real s;
} dihedral_side;

HK_INLINE dihedral_side dihedral_side_of(vec3 from, vec3 to, vec3 tip)
{
    dihedral_side d;
    d.e = v3_sub(to, from);
    d.a = v3_sub(tip, from);
    d.normal = v3_cross(d.e, d.a);
    d.length2 = v3_dot(d.e, d.e);
    d.area2 = v3_dot(d.normal, d.normal);
    d.g = v3_scale(d.normal, r_sqrt(d.length2) * r_reciprocal_or_zero(d.area2));
    d.s = v3_dot(d.a, d.e) * r_reciprocal_or_zero(d.length2);
    return d;
}

// Sides of (0, 1, 2) and (1, 0, 3).
HK_INLINE void dihedral_sides(const vec3 x[4], dihedral_side side[2])
{
    side[0] = dihedral_side_of(x[0], x[1], x[2]);
    side[1] = dihedral_side_of(x[1], x[0], x[3]);
}

HK_INLINE real dihedral_of_sides(const dihedral_side side[2])
{
    vec3 turned = v3_cross(side[0].normal, side[1].normal);
    real length = r_sqrt(side[0].length2);
    real sine = v3_dot(turned, side[0].e) * r_reciprocal_or_zero(length);
    return dihedral_atan2(sine, v3_dot(side[0].normal, side[1].normal));
}

HK_INLINE real dihedral_angle(const vec3 x[4])
{
    dihedral_side side[2];
    dihedral_sides(x, side);
    return dihedral_of_sides(side);
}

HK_INLINE void dihedral_gradient(const dihedral_side side[2], vec3 g[4])
{
    const dihedral_side *a = &side[0], *b = &side[1];
    g[0] = v3_add(v3_scale(a->g, 1 - a->s), v3_scale(b->g, b->s));
    g[1] = v3_add(v3_scale(a->g, a->s), v3_scale(b->g, 1 - b->s));
    g[2] = v3_scale(a->g, r_set(-1));
    g[3] = v3_scale(b->g, r_set(-1));
}

// ∂g/∂(from, to, tip) and ∂s/∂(from, to, tip) of one side.
HK_INLINE void dihedral_turns(const dihedral_side *d, mat3 dg[3], vec3 ds[3])
{
    real of_area = r_reciprocal_or_zero(d->area2), of_length = r_reciprocal_or_zero(d->length2);
    real length = r_sqrt(d->length2);
    // ‖e‖/‖N‖² (1 − 2 N Nᵀ/‖N‖²)
    mat3 m = m3_scale(m3_outer(d->normal, d->normal), -2 * length * of_area * of_area);
    m = m3_add_identity(m, length * of_area);
    mat3 by_e = m3_mul(m, m3_scale(m3_skew(d->a), r_set(-1))), by_a = m3_mul(m, m3_skew(d->e));
    // (ê·∂e) N/‖N‖² = (N/(‖N‖² ‖e‖)) eᵀ ∂e
    by_e = m3_add_scaled(by_e, of_area * length * of_length, m3_outer(d->normal, d->e));
    dg[0] = m3_scale(m3_add(by_e, by_a), r_set(-1));
    dg[1] = by_e;
    dg[2] = by_a;
    ds[2] = v3_scale(d->e, of_length);
    ds[1] = v3_scale(v3_sub(d->a, v3_scale(d->e, 2 * d->s)), of_length);
    ds[0] = v3_scale(v3_add(ds[1], ds[2]), r_set(-1));
}

// The block of the Hessian at two of the four vertices.
HK_INLINE void dihedral_hessian(const dihedral_side side[2], mat3 h[4][4])
{
    static const int corner[2][3] = {{0, 1, 2}, {1, 0, 3}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) h[i][j] = m3_zero();
    for (int t = 0; t < 2; t++) {
        mat3 dg[3];
        vec3 ds[3];
        const dihedral_side *d = &side[t];
        real c[3] = {1 - d->s, d->s, r_set(-1)}, sign[3] = {r_set(-1), r_set(1), r_zero()};
        dihedral_turns(d, dg, ds);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                mat3 *to = &h[corner[t][i]][corner[t][j]];
                *to = m3_add_scaled(*to, c[i], dg[j]);
                *to = m3_add_scaled(*to, sign[i], m3_outer(d->g, ds[j]));
            }
    }
}

// The one of a vertex with itself.
HK_INLINE mat3 dihedral_own_block(const dihedral_side side[2], int vertex)
{
    static const int corner_of[2][4] = {{0, 1, 2, -1}, {1, 0, -1, 2}};
    mat3 h = m3_zero();
    for (int t = 0; t < 2; t++) {
        mat3 dg[3];
        vec3 ds[3];
        const dihedral_side *d = &side[t];
        real c[3] = {1 - d->s, d->s, r_set(-1)}, sign[3] = {r_set(-1), r_set(1), r_zero()};
        int k = corner_of[t][vertex];
        if (k < 0) continue;
        dihedral_turns(d, dg, ds);
        h = m3_add_scaled(h, c[k], dg[k]);
        h = m3_add_scaled(h, sign[k], m3_outer(d->g, ds[k]));
    }
    return h;
}

#endif
