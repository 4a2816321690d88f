// Instantiates the local steps of every law for one lane type, as lanes.c does its kernels.
#include "material/laws.h"
#include "material/prox.h"
#include "term/blend.h"
#include "term/tet_lanes.h"

HK_INLINE mat3 load_nine(const scalar *from)
{
    mat3 a;
    for (int k = 0; k < 9; k++) a.m[k / 3][k % 3] = r_load(from + k * HK_LANES);
    return a;
}

HK_INLINE void store_nine(scalar *to, mat3 a)
{
    for (int k = 0; k < 9; k++) r_store(to + k * HK_LANES, a.m[k / 3][k % 3]);
}

// ---------------------------------------------------------------- ADMM

// The dual p − z for p = 1 + H.
HK_SHARED void prox_isotropic(const prox_law *law, real k, const mat3 *H, mat3 *dual)
{
    vec3 q, s;
    svd3 f = law_strains(*H, &q);
    prox_strains(law, k, &q, &s);
    *dual = principal_stress(&f, v3_sub(q, s));
}

// z = p + (t − q) y aᵀ/q with q = ‖y‖, y = p a: only the length along the strand changes.
HK_SHARED void prox_strand(const prox_law *law, const real *element, real k, const mat3 *H,
                           mat3 *dual)
{
    vec3 a = {{element[0], element[1], element[2]}}, y, q = v3_set(0, 0, 0), t;
    real stretch;
    q.v[0] = fibre_strain(a, *H, &y, &stretch);
    prox_strains(law, k, &q, &t);
    real along = (q.v[0] - r_max(t.v[0], r_set(-1))) * r_reciprocal_or_zero(stretch);
    *dual = m3_outer(v3_scale(y, along), a);
}

HK_INLINE prox_law law_of_block(const hk_tet_batch *batch, int block, stretch_law *law)
{
    prox_law l = {.law = law,
                  .params = &batch->params,
                  .isotropic = batch->law != HK_LAW_fibre,
                  .blended = is_blended(batch, block)};
    if (l.blended) {
        l.share = blend_share(batch, block);
        l.stiffness = l.share * r_set(batch->blend_law.stiffness);
    }
    return l;
}

// What a lane of a block has of a law of the user's own.
HK_INLINE hk_custom_blend custom_of_lane(const hk_tet_batch *batch, int block, int lane)
{
    double weight = is_blended(batch, block) ? (double)r_lane(blend_share(batch, block), lane) : 0;
    return (hk_custom_blend){&batch->params.custom, weight, batch->blend_law.stiffness};
}

HK_SHARED void prox_custom(const hk_tet_batch *batch, int block, double k, const mat3 *H,
                           mat3 *dual)
{
    for (int l = 0; l < HK_LANES; l++) {
        hk_custom_blend blend = custom_of_lane(batch, block, l);
        double from[9], to[9];
        custom_gradient(H, l, from);
        hk_custom_prox(&blend, k, from, to);
        for (int q = 0; q < 9; q++)
            r_set_lane(&dual->m[q / 3][q % 3], l, (scalar)(from[q] - to[q]));
    }
}

// The first u, P/weight, where the law is defined.
HK_INLINE mat3 first_dual(mat3 P, real weight)
{
    mat3 u;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real value = P.m[i][j] / weight;
            u.m[i][j] = r_select(r_abs(value) < r_set(HUGE_VALF), value, r_zero());
        }
    return u;
}

// ---------------------------------------------------------------- XPBD

typedef struct tet_corners {
    vec3 x[4];
    real w[4];  // inverse masses
    mat3 inverse, F, H;
} tet_corners;

HK_INLINE tet_corners corners_of(const hk_tet_batch *batch, const scalar *x, int block)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    tet_corners t;
    for (int c = 0; c < 4; c++) t.x[c] = corners_load4(x, vertex + c * HK_LANES, &t.w[c]);
    mat3 edges = tet_edges(batch, x, vertex, t.x[0]);
    t.inverse = load_nine((const scalar *)batch->inverse + (int64_t)block * 9 * HK_LANES);
    tet_deform(batch, edges, t.inverse, &t.F, &t.H);
    return t;
}

// Stress and stiffness of a block.
typedef struct response {
    mat3 P;
    mat3 u, v;     // singular vectors of F; of a strand the direction F a in a column of u
    mat3 scaling;  // as in principal_stiffness, for a strand only the first number
    real flip[3], twist[3];
} response;

// The law over strains, with what replaces it where it is not defined: the energy w Σ (σᵢ − 1)²
// of projective dynamics, which leads back.
HK_INLINE void form_at(const hk_tet_batch *batch, const prox_law *law, const vec3 *e,
                       stretch_form *form)
{
    law->law(law->params, e, form);
    if (law->blended) prox_blend(law, e, form);
    real most = r_abs(form->value), w = r_set(2 * batch->blend_law.stiffness);
    for (int i = 0; i < 3; i++) most += r_abs(form->d.v[i]) + r_abs(form->dd.m[i][i]);
    mask good = most < r_set(HUGE_VALF);
    if (r_all(good)) return;
    for (int i = 0; i < 3; i++) {
        form->d.v[i] = r_select(good, form->d.v[i], w * e->v[i]);
        for (int j = 0; j < 3; j++)
            form->dd.m[i][j] = r_select(good, form->dd.m[i][j], i == j ? w : r_zero());
    }
}

HK_SHARED void respond(const hk_tet_batch *batch, const prox_law *law, const mat3 *H, response *r)
{
    vec3 e;
    svd3 f = law_strains(*H, &e);
    stretch_form form;
    form_at(batch, law, &e, &form);
    r->u = f.u;
    r->v = f.v;
    r->scaling = form.dd;
    r->P = principal_stress(&f, form.d);
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        real gap = e.v[i] - e.v[j];
        mask close = r_abs(gap) < (scalar)(HK_DOUBLE ? 1e-5 : 1e-2);
        real middle = 0.5f * (form.dd.m[i][i] + form.dd.m[j][j]) - form.dd.m[i][j];
        real slope = (form.d.v[i] - form.d.v[j]) / r_select(close, r_set(1), gap);
        r->flip[k] = r_max(r_select(close, middle, slope), r_zero());
        r->twist[k] =
            r_max(guarded_ratio(form.d.v[i] + form.d.v[j], f.s.v[i] + f.s.v[j]), r_zero());
    }
}

// δ : ∂P/∂F : δ in the frame of the stretches (law.h), where positive.
HK_INLINE real curvature(const response *r, const mat3 *delta)
{
    mat3 D = m3_mul(m3_tmul(r->u, *delta), r->v);
    real sum = r_zero();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += r->scaling.m[i][j] * D.m[i][i] * D.m[j][j];
    sum = r_max(sum, r_zero());
    for (int k = 0; k < 3; k++) {
        real a = D.m[(k + 1) % 3][(k + 2) % 3], b = D.m[(k + 2) % 3][(k + 1) % 3];
        sum += 0.5f * (r->flip[k] * (a + b) * (a + b) + r->twist[k] * (a - b) * (a - b));
    }
    return sum;
}

// Strands: P = φ′ n aᵀ.
HK_SHARED void respond_strand(const hk_tet_batch *batch, const prox_law *law, const real *element,
                              const mat3 *H, response *r)
{
    vec3 a = {{element[0], element[1], element[2]}}, y, e = v3_set(0, 0, 0);
    real stretch;
    e.v[0] = fibre_strain(a, *H, &y, &stretch);
    stretch_form form;
    form_at(batch, law, &e, &form);
    real inverse = r_reciprocal_or_zero(stretch);
    vec3 n = v3_scale(y, inverse);
    r->P = m3_outer(v3_scale(n, form.d.v[0]), a);
    m3_set_column(&r->u, 0, n);
    r->scaling.m[0][0] = r_max(form.dd.m[0][0], r_zero());
    r->twist[0] = r_max(form.d.v[0] * inverse, r_zero());
}

HK_INLINE real strand_curvature(const response *r, const real *element, const mat3 *delta)
{
    vec3 a = {{element[0], element[1], element[2]}}, y = m3_apply(*delta, a);
    real along = v3_dot(m3_column(r->u, 0), y);
    real across = r_max(v3_dot(y, y) - along * along, r_zero());
    return r->scaling.m[0][0] * along * along + r->twist[0] * across;
}

// Laws of the user's own, whose stress need not go with the stretches.
HK_SHARED void respond_custom(const hk_tet_batch *batch, int block, const mat3 *H, mat3 *P,
                              custom_stiffness *form)
{
    for (int l = 0; l < HK_LANES; l++) {
        hk_custom_blend blend = custom_of_lane(batch, block, l);
        double f[9], stress[9], h[81];
        custom_gradient(H, l, f);
        hk_custom_response(&blend, f, stress, h);
        for (int q = 0; q < 9; q++) r_set_lane(&P->m[q / 3][q % 3], l, (scalar)stress[q]);
        for (int q = 0; q < 81; q++) r_set_lane(&form->h[q / 9][q % 9], l, (scalar)h[q]);
    }
}

HK_INLINE real custom_curvature(const custom_stiffness *form, const mat3 *delta)
{
    real sum = r_zero();
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            sum += form->h[i][j] * delta->m[i / 3][i % 3] * delta->m[j / 3][j % 3];
    return r_max(sum, r_zero());
}

// How the corners of a block are to move: by −τ d, d = w f with the forces f = volume R Bᵀ.
typedef struct corner_step {
    vec3 d[4];
    real sum;    // Σ w f²
    mat3 delta;  // the change of F by d
} corner_step;

HK_INLINE corner_step step_of(const tet_corners *t, real volume, mat3 R)
{
    mat3 forces = m3_mult(m3_scale(R, volume), t->inverse), edges;
    corner_step s;
    vec3 first = v3_set(0, 0, 0);
    s.sum = r_zero();
    for (int c = 1; c < 4; c++) {
        vec3 f = m3_column(forces, c - 1);
        first = v3_sub(first, f);
        s.d[c] = v3_scale(f, t->w[c]);
        s.sum += v3_dot(f, s.d[c]);
    }
    s.d[0] = v3_scale(first, t->w[0]);
    s.sum += v3_dot(first, s.d[0]);
    for (int c = 0; c < 3; c++) m3_set_column(&edges, c, v3_sub(s.d[c + 1], s.d[0]));
    s.delta = m3_mul(edges, t->inverse);
    return s;
}

// A tet has a multiplier Π, the stress that has acted on its corners so far; it is to become P(F).
// What is missing, R = P − Π, is a constraint along one direction of F with the compliance of the
// tet in that direction; by XPBD's eq. 18
//
//   τ = Σ w f² / (Σ w f²/h² + volume δ:∂P/∂F:δ),     Π ← Π + τ R/h².
//
// (A scalar constraint √(2 volume ψ) would go too far in a tet whose modes differ in stiffness, and
// its direction would change from sweep to sweep, which multipliers of XPBD do not follow.)

HK_INLINE real relax_corners(const hk_tet_batch *batch, int block, const tet_corners *t,
                             const corner_step *s, real whole, scalar *x)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    mask moves = (whole > r_set(HK_SMALLEST_NORMAL)) & (whole < r_set(HUGE_VALF));
    real length = r_select(moves, s->sum / r_select(moves, whole, r_set(1)), r_zero());
    for (int c = 0; c < 4; c++) {
        vec3 moved = v3_select(moves, v3_sub(t->x[c], v3_scale(s->d[c], length)), t->x[c]);
        corners_put4(x, vertex + c * HK_LANES, moved, t->w[c]);
    }
    return length;
}

#define HK_EACH_LAW "term/local_kernels.inl"
#include "material/each_law.h"

#define TABLE_ENTRY(X) [HK_LAW_##X] = {X##_admm_local, X##_relax},

extern const hk_local_table HK_LOCAL_TABLE;
const hk_local_table HK_LOCAL_TABLE = {.law = {HK_LAWS(TABLE_ENTRY)}};
