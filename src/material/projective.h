// The energies of projective dynamics, ψ = a‖F − R‖² + b‖F − S‖² + c‖F − L‖²: the distances to the
// nearest rotation R, to the nearest S with det S = 1 (QuasiNewton, projections on SO(3) and
// SL(3)), and to the nearest L whose stretches lie within [low, high] (Bouaziz et al. 2014).
// With F = U Σ Vᵀ all three are U p Vᵀ for some stretches p, and ∂/∂σ_i of ‖σ − p‖² is
// 2(σ_i − p_i): p, being the nearest, does not add to first order.

// The point nearest to σ₀ ≥ σ₁ ≥ |σ₂| with p₀p₁p₂ = 1. With a multiplier m,
//   p_i − σ_i = m / p_i   or   p_i² − σ_i p_i = m.
// All p are positive, and as p is nearest only p₂ may be the lesser of the two roots: t = p₂ gives
// m = t (t − σ₂) and p₀, p₁ as the greater roots, so one equation P(t) = p₀ p₁ t = 1 is left.
typedef struct sl3_point {
    vec3 p;
    real m;
    vec3 d;  // 2 p_i − σ_i, the root of the discriminant; d₂ has a sign
    real a;  // 1/p₀d₀ + 1/p₁d₁
    real q;  // t P′/P = 1 + a t d₂; positive at a local minimum of the distance
} sl3_point;

enum { SL3_STEPS = 60 };                                // far more than are taken
#define SL3_LEAST (scalar)(HK_DOUBLE ? 1e-150 : 1e-18)  // its square is a number

HK_INLINE sl3_point sl3_at(const real *s, real t)
{
    sl3_point r;
    r.p.v[2] = t;
    r.d.v[2] = 2 * t - s[2];
    r.m = t * (t - s[2]);
    for (int i = 0; i < 2; i++) {
        // σ_i² + 4m = (2t − σ₂)² + σ_i² − σ₂²: no cancellation.
        real square = r.d.v[2] * r.d.v[2] + (s[i] - s[2]) * (s[i] + s[2]);
        r.d.v[i] = r_sqrt(r_max(square, r_set(SL3_LEAST * SL3_LEAST)));
        r.p.v[i] = 0.5f * (s[i] + r.d.v[i]);
    }
    r.a = 1 / (r.p.v[0] * r.d.v[0]) + 1 / (r.p.v[1] * r.d.v[1]);
    r.q = 1 + r.a * t * r.d.v[2];
    return r;
}

// Newton's method for P(t) = 1 between low (P ≤ 1) and high (P ≥ 1), from one of these ends. Where
// a step leaves the bracket the middle (of its logarithm) is taken instead: what is found is a
// minimum of the distance, never the maximum between two of them. Each lane is as it would be
// alone.
HK_INLINE real sl3_solve(const real *s, real low, real high, real t, mask active)
{
    const scalar close = 4 * (scalar)HK_EPSILON;
    for (int k = 0; k < SL3_STEPS && r_any(active); k++) {
        sl3_point r = sl3_at(s, t);
        real product = r.p.v[0] * r.p.v[1] * t;
        active = active & (r_abs(product - 1) > close) & (high - low > t * (scalar)HK_EPSILON);
        low = r_select(product < 1, t, low);
        high = r_select(product > 1, t, high);
        // t − t (P − 1)/P q, written without the difference of large numbers.
        real next = t * (product * (r.q - 1) + 1) / (product * r.q);
        mask inside = (next >= low) & (next <= high);
        next = r_select(active, r_select(inside, next, r_sqrt(low) * r_sqrt(high)), t);
        active = active & (r_abs(next - t) > (scalar)HK_EPSILON * t);
        t = next;
    }
    return t;
}

HK_INLINE real sl3_distance2(const sl3_point *r)
{
    real sum = r_zero();
    for (int i = 0; i < 3; i++) {
        real e = r->m / r->p.v[i];
        sum += e * e;
    }
    return sum;
}

// Compressed or inverted, σ lies outside of the convex set p₀p₁p₂ ≥ 1: one solution, P is convex
// and rises from max(0, σ₂) to bounds that follow from p₀ ≥ σ₀ and p₁ ≥ σ₁, t. Swollen, it lies
// inside, p_i ≤ σ_i; far from rest (from σ = 1.9 if all are equal) there are two minima, one with
// t < σ₂/2, which needs σ₀σ₁σ₂ > 2 since t ≥ 1/σ₀σ₁.
HK_SHARED void sl3_nearest(const vec3 *stretch, sl3_point *nearest)
{
    const real *s = stretch->v;
    real least = r_set(HK_TINY), area = r_max(s[0] * s[1], least), volume = area * s[2];
    real bottom = r_max(1 / area, least);
    mask swollen = volume > 1;
    real high = r_select(swollen, s[2], r_min(bottom, 1 / r_sqrt(r_max(s[0], least))));
    high = r_min(high, r_set(1));
    real low = r_select(swollen, bottom, r_max(s[2], least));
    *nearest = sl3_at(s, sl3_solve(s, low, high, high, volume == volume));
    mask far = volume > 2;
    if (!r_any(far)) return;
    sl3_point other = sl3_at(s, sl3_solve(s, low, high, low, far));
    far = far & (sl3_distance2(&other) < sl3_distance2(nearest));
    for (int i = 0; i < 3; i++) {
        nearest->p.v[i] = r_select(far, other.p.v[i], nearest->p.v[i]);
        nearest->d.v[i] = r_select(far, other.d.v[i], nearest->d.v[i]);
    }
    nearest->m = r_select(far, other.m, nearest->m);
    nearest->a = r_select(far, other.a, nearest->a);
    nearest->q = r_select(far, other.q, nearest->q);
}

// σ − p, from the strains e of σ. Near rest these are small differences, and are found again: with
// p_i − 1 = (e_i + w/(1 + √(1 + w)))/2, w = e_i(2 + e_i) + 4m, Newton's method for p₀p₁p₂ − 1 = 0
// over m has all digits of m.
HK_INLINE vec3 sl3_distances(const vec3 *e, const sl3_point *r)
{
    real size = r_max(r_max(r_abs(e->v[0]), r_abs(e->v[1])), r_abs(e->v[2]));
    mask near = size < (scalar)0.05;
    real m = r_select(near, r_min(r_max(r->m, -3 * size), 3 * size), r_zero());
    vec3 p, result;
    for (int step = 0; step < 3; step++) {
        vec3 d;
        for (int i = 0; i < 3; i++) {
            real strain = r_select(near, e->v[i], r_zero()), w = strain * (2 + strain) + 4 * m;
            d.v[i] = r_sqrt(1 + w);
            p.v[i] = 0.5f * (strain + w / (1 + d.v[i]));
        }
        if (step == 2) break;
        real excess = p.v[0] + (1 + p.v[0]) * (p.v[1] + p.v[2] + p.v[1] * p.v[2]);
        real slope = r_zero();
        for (int i = 0; i < 3; i++) slope += 1 / ((1 + p.v[i]) * d.v[i]);
        m -= excess / ((1 + excess) * slope);
    }
    for (int i = 0; i < 3; i++) result.v[i] = r_select(near, -m / (1 + p.v[i]), -r->m / r->p.v[i]);
    return result;
}

// Adds b times the second derivatives of the squared distance. From p_i² − σ_i p_i = m and
// Σ dp_i/p_i = 0:  ∂p_i/∂σ_j = δ_ij p_i/d_i − 1/(d_i d_j S) with S = Σ 1/p_k d_k = q/(t d₂), here
// without a division by d₂. Of the pairs, (p_i − p_j)/(σ_i − σ_j) = p_ip_j/(p_ip_j + m) and
// (p_i + p_j)/(σ_i + σ_j) = p_ip_j/(p_ip_j − m), with p_ip_j = 1/p_k.
HK_INLINE void sl3_stiffness(const sl3_point *r, real b, mat3 *scaling, real flip[3], real twist[3])
{
    const real *p = r->p.v, *d = r->d.v;
    real over = 1 / r_max(r->q, r_set(HK_DOUBLE ? 1e-9 : 1e-4)), t = p[2], b2 = 2 * b;
    for (int i = 0; i < 2; i++) {
        scaling->m[i][i] += b2 * (1 - p[i] / d[i] + d[2] * t * over / (d[i] * d[i]));
        real mixed = b2 * t * over / d[i];
        scaling->m[i][2] += mixed;
        scaling->m[2][i] += mixed;
    }
    real mixed = b2 * d[2] * t * over / (d[0] * d[1]);
    scaling->m[0][1] += mixed;
    scaling->m[1][0] += mixed;
    scaling->m[2][2] += b2 * (1 - r->a * t * t * over);
    for (int k = 0; k < 3; k++) {
        real x = r->m * p[k];
        flip[k] += guarded_ratio(b2 * x, 1 + x);
        twist[k] -= guarded_ratio(b2 * x, 1 - x);
    }
}

// ½ ∂/∂σ of the squared distance to [low, high], at σ = 1 + e.
HK_INLINE real excess_of(const hk_law_params *p, real e)
{
    return e - r_min(r_max(e, r_set(p->c[3] - 1)), r_set(p->c[4] - 1));
}

HK_INLINE void limit_stiffness(const hk_law_params *p, const real *s, mat3 *scaling, real flip[3],
                               real twist[3])
{
    real c2 = r_set(2 * p->c[2]), e[3];
    for (int i = 0; i < 3; i++) {
        e[i] = excess_of(p, s[i] - 1);
        scaling->m[i][i] += r_select(e[i] == 0, r_zero(), c2);
    }
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        real difference = s[i] - s[j];
        mask close = r_abs(difference) < (scalar)(HK_DOUBLE ? 1e-9 : 1e-4);
        real middle = r_select(excess_of(p, 0.5f * (s[i] + s[j]) - 1) == 0, r_zero(), r_set(1));
        real slope = (e[i] - e[j]) / r_select(close, r_set(1), difference);
        flip[k] += c2 * r_select(close, middle, slope);
        twist[k] += guarded_ratio(c2 * (e[i] + e[j]), s[i] + s[j]);
    }
}

// The energy and its derivatives by the stretches, from the strains e.
HK_INLINE real projective_forces(const hk_law_params *p, const vec3 *e, const sl3_point *r, vec3 *d)
{
    real a = r_set(p->c[0]), b = r_set(p->c[1]), c = r_set(p->c[2]), sum = r_zero();
    vec3 grow = sl3_distances(e, r);
    for (int i = 0; i < 3; i++) {
        real turn = e->v[i], over = excess_of(p, turn);
        sum += a * (turn * turn) + b * (grow.v[i] * grow.v[i]) + c * (over * over);
        d->v[i] = 2 * (a * turn + b * grow.v[i] + c * over);
    }
    return sum;
}

HK_INLINE real projective_energy_stress(const hk_law_params *p, const real *element, mat3 H,
                                        mat3 *P)
{
    (void)element;
    vec3 e, d;
    svd3 f = law_strains(H, &e);
    sl3_point r;
    sl3_nearest(&f.s, &r);
    real sum = projective_forces(p, &e, &r, &d);
    *P = principal_stress(&f, d);
    return sum;
}
HK_ENERGY_AND_STRESS(projective)

enum { projective_decomposes = 1 };
typedef principal_stiffness projective_stiffness;

HK_INLINE principal_stiffness projective_stiffness_at(const hk_law_params *p, svd3 f,
                                                      const sl3_point *r, double keep)
{
    const real *s = f.s.v;
    real a2 = r_set(2 * p->c[0]), flip[3], twist[3];
    mat3 scaling = m3_scale(m3_identity(), a2);
    for (int k = 0; k < 3; k++) {
        flip[k] = a2;
        twist[k] = a2 - guarded_ratio(2 * a2, s[(k + 1) % 3] + s[(k + 2) % 3]);
    }
    sl3_stiffness(r, r_set(p->c[1]), &scaling, flip, twist);
    limit_stiffness(p, s, &scaling, flip, twist);
    return principal_stiffness_of(f, scaling, flip, twist, keep);
}

HK_INLINE principal_stiffness projective_stiffness_of(const hk_law_params *p, const real *element,
                                                      mat3 F, double keep)
{
    (void)element;
    svd3 f = law_svd(F);
    sl3_point r;
    sl3_nearest(&f.s, &r);
    return projective_stiffness_at(p, f, &r, keep);
}
HK_PRINCIPAL_BLOCKS(projective)

HK_INLINE void projective_vertex(const hk_law_params *p, const real *element, mat3 H, vec3 a,
                                 vec3 *force, mat3 *block)
{
    (void)element;
    vec3 e;
    svd3 f = law_strains(H, &e);
    sl3_point r;
    sl3_nearest(&f.s, &r);
    principal_stiffness s = projective_stiffness_at(p, f, &r, 1);
    stretch_form form;
    projective_forces(p, &e, &r, &form.d);
    principal_vertex(&s, &form, a, force, block);
}

// e in the order of svd3.
HK_SHARED void projective_stretches(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    sl3_point r;
    vec3 s = {{1 + e->v[0], 1 + e->v[1], 1 + e->v[2]}};
    sl3_nearest(&s, &r);
    real flip[3], twist[3];
    for (int k = 0; k < 3; k++) flip[k] = twist[k] = r_zero();
    form->value = projective_forces(p, e, &r, &form->d);
    form->dd = m3_scale(m3_identity(), r_set(2 * p->c[0]));
    sl3_stiffness(&r, r_set(p->c[1]), &form->dd, flip, twist);
    limit_stiffness(p, s.v, &form->dd, flip, twist);
}

HK_INLINE row_forms projective_diagonal(const hk_law_params *p, const real *element, mat3 F)
{
    principal_stiffness s = projective_stiffness_of(p, element, F, 1);
    row_forms rows;
    principal_rows(&s, &rows);
    return rows;
}

#ifdef HK_DESCRIBE_LAWS
// In small strain the distance to det = 1 is |tr ε|/√3, so b = 3λ/2 gives λ/2 (tr ε)².
static void projective_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = 1.5 * lambda;
    p->c[2] = 0;
    p->c[3] = 0.95;
    p->c[4] = 1.05;
}
static hk_status projective_check(const hk_law_params *p)
{
    if (p->c[3] <= 1 && p->c[4] >= 1) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "material projective: low must be at most 1 (is %g) and high at "
                   "least 1 (is %g)",
                   p->c[3], p->c[4]);
}
static double projective_projective(const hk_law_params *p)
{
    return 2 * (p->c[0] + p->c[1] + p->c[2]);
}
static const hk_law_info projective_info = {
    .name = "projective",
    .summary = "the energies of projective dynamics: rotation, volume, limits of stretch",
    .formula = "so3 |F-R|^2 + sl3 |F-S|^2 + limit |F-L|^2",
    .parameters = {"so3", "sl3", "limit", "low", "high"},
    .positive = 1,
    .any_sign = 2,
    .optional = 4 | 8 | 16,
    .projective = projective_projective,
    .from_lame = projective_from_lame,
    .check = projective_check,
};
#endif
