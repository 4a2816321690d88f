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

HK_SHARED void prox_isotropic(const prox_law *law, real k, const mat3 *p, mat3 *z)
{
    svd3 f = law_svd(*p);
    vec3 s;
    prox_stretches(law, k, &f.s, &s);
    *z = m3_mult(m3_scale_columns(f.u, s), f.v);
}

// z = p + (t − q) y aᵀ/q with q = ‖y‖, y = p a: only the length along the strand changes.
HK_SHARED void prox_strand(const prox_law *law, const real *element, real k, const mat3 *p, mat3 *z)
{
    vec3 a = {{element[0], element[1], element[2]}}, y = m3_apply(*p, a);
    vec3 q = v3_set(0, 0, 0), t;
    q.v[0] = r_sqrt(v3_dot(y, y));
    prox_stretches(law, k, &q, &t);
    real along = (r_max(t.v[0], r_zero()) - q.v[0]) * r_reciprocal_or_zero(q.v[0]);
    *z = m3_add(*p, m3_outer(v3_scale(y, along), a));
}

HK_INLINE prox_law law_of_block(const hk_tet_batch *batch, int block, stretch_law *law)
{
    prox_law l = {.law = law,
                  .params = &batch->params,
                  .isotropic = batch->law != HK_LAW_fibre,
                  .blended = is_blended(batch, block)};
    if (l.blended) {
        l.share = blend_share(batch, block);
        l.stiffness = l.share * r_set(batch->conversion.stiffness);
    }
    return l;
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

#define SPLIT(X)                                                                         \
    static void X##_split(const hk_tet_batch *batch, const void *x, int first, int last, \
                          double weight, bool fresh, void *u, void *slots)               \
    {                                                                                    \
        real k = r_set(weight);                                                          \
        for (int b = first; b < last; b++) {                                             \
            scalar *own = (scalar *)u + (int64_t)(b - first) * 9 * HK_LANES;             \
            const real *element = tet_element(batch, b);                                 \
            tet_lanes t = tet_load(batch, x, b);                                         \
            mat3 dual, gap = m3_zero();                                                  \
            if (fresh) {                                                                 \
                mat3 P = X##_stress(&batch->params, element, t.F);                       \
                if (is_blended(batch, b)) P = blend_stress(batch, b, t.F, P);            \
                dual = first_dual(P, k);                                                 \
            } else {                                                                     \
                mat3 p = m3_add(t.F, load_nine(own)), z;                                 \
                prox_law law = law_of_block(batch, b, X##_stretches);                    \
                if (HK_LAW_##X == HK_LAW_fibre)                                          \
                    prox_strand(&law, element, k, &p, &z);                               \
                else                                                                     \
                    prox_isotropic(&law, k, &p, &z);                                     \
                dual = m3_sub(p, z);                                                     \
                gap = m3_sub(t.F, z);                                                    \
            }                                                                            \
            store_nine(own, dual);                                                       \
            store_forces(batch, b, &t, m3_scale(m3_add(gap, dual), k), slots);           \
        }                                                                                \
    }
HK_LAWS(SPLIT)

#define TABLE_ENTRY(X) [HK_LAW_##X] = {X##_split},

extern const hk_local_table HK_LOCAL_TABLE;
const hk_local_table HK_LOCAL_TABLE = {.law = {HK_LAWS(TABLE_ENTRY)}};
