// See kernels.h. HK_POLAR_TABLE and HK_POLAR_NAME come from the build, HK_LANES too.
#define HK_DOUBLE 0
#include "kernels.h"

#include "math/apd.h"
#include "math/polar.h"

static inline mat3 load_matrix(const float *f, int block)
{
    mat3 a;
    for (int i = 0; i < 9; i++) a.m[i / 3][i % 3] = r_load(f + ((long)block * 9 + i) * HK_LANES);
    return a;
}
static inline void store_matrix(float *r, int block, mat3 a)
{
    for (int i = 0; i < 9; i++) r_store(r + ((long)block * 9 + i) * HK_LANES, a.m[i / 3][i % 3]);
}
static inline quat load_quat(const float *start, int block)
{
    const float *p = start + (long)block * 4 * HK_LANES;
    quat q;
    q.x = r_load(p);
    q.y = r_load(p + HK_LANES);
    q.z = r_load(p + 2 * HK_LANES);
    q.w = r_load(p + 3 * HK_LANES);
    return q;
}
static inline void store_quat(float *to, int block, quat q)
{
    float *p = to + (long)block * 4 * HK_LANES;
    r_store(p, q.x);
    r_store(p + HK_LANES, q.y);
    r_store(p + 2 * HK_LANES, q.z);
    r_store(p + 3 * HK_LANES, q.w);
}

static void run_apd(const float *f, const float *start, int blocks, int steps, float *q, float *r)
{
    for (int b = 0; b < blocks; b++) {
        quat turned = apd_rotation(load_matrix(f, b), load_quat(start, b), steps);
        store_quat(q, b, turned);
        store_matrix(r, b, quat_rotation(turned));
    }
}

// Algorithm 3 as it stands (with the Cayley map that turns by ‖Δω‖), without the clamp.
static void run_cayley(const float *f, const float *start, int blocks, int steps, float *q,
                       float *r)
{
    for (int b = 0; b < blocks; b++) {
        mat3 a = load_matrix(f, b);
        quat p = load_quat(start, b);
        for (int step = 0; step < steps; step++) {
            mat3 m = m3_tmul(quat_rotation(p), a);
            sym3 h = apd_hessian(m), c = sym3_cofactor(h);
            real det = h.xx * c.xx + h.xy * c.xy + h.xz * c.xz;
            vec3 v = v3_scale(sym3_apply(c, apd_gradient(m)), r_set(-0.25));
            p = quat_mul(p, quat_cayley_ratio(v, det));
        }
        store_quat(q, b, p);
        store_matrix(r, b, quat_rotation(p));
    }
}

// Müller et al. 2016: the turn ω = Σ rᵢ × aᵢ / (|Σ rᵢ · aᵢ| + ε), from the left.
static inline vec3 spin(mat3 r, mat3 a)
{
    vec3 sum = v3_set(0, 0, 0);
    for (int i = 0; i < 3; i++) sum = v3_add(sum, v3_cross(m3_column(r, i), m3_column(a, i)));
    return v3_scale(sum, 1 / (r_abs(m3_dot(r, a)) + (scalar)1e-9));
}

// The quaternion of exp(ω). In lanes sin(‖ω‖/2)/‖ω‖ and cos(‖ω‖/2) are series of ‖ω‖², good to
// single precision below a turn of 1 a step.
static inline quat exponential(vec3 w)
{
#if HK_LANES == 1
    float n = v3_norm(w), s = n > 1e-9f ? sinf(0.5f * n) / n : 0.5f;
    quat q = {s * w.v[0], s * w.v[1], s * w.v[2], cosf(0.5f * n)};
#else
    real x = v3_dot(w, w) * 0.25f;
    real s = 0.5f + x * (-1.0f / 12 + x * (1.0f / 240 + x * (-1.0f / 10080)));
    quat q;
    q.x = s * w.v[0];
    q.y = s * w.v[1];
    q.z = s * w.v[2];
    q.w = 1 + x * (-0.5f + x * (1.0f / 24 + x * (-1.0f / 720)));
#endif
    return q;
}

static void run_mueller(const float *f, const float *start, int blocks, int steps, float *q,
                        float *r)
{
    for (int b = 0; b < blocks; b++) {
        mat3 a = load_matrix(f, b);
        quat p = load_quat(start, b);
        for (int step = 0; step < steps; step++) {
            p = quat_mul(exponential(spin(quat_rotation(p), a)), p);
            real s = r_rsqrt(p.x * p.x + p.y * p.y + p.z * p.z + p.w * p.w);
            p.x *= s;
            p.y *= s;
            p.z *= s;
            p.w *= s;
        }
        store_quat(q, b, p);
        store_matrix(r, b, quat_rotation(p));
    }
}

static void run_polar(const float *f, const float *start, int blocks, int steps, float *q, float *r)
{
    (void)start, (void)steps, (void)q;
    for (int b = 0; b < blocks; b++) store_matrix(r, b, polar_rotation(load_matrix(f, b)));
}

static void run_svd_pairs(const float *f, const float *start, int blocks, int steps, float *q,
                          float *r)
{
    (void)start, (void)steps, (void)q;
    for (int b = 0; b + 1 < blocks; b += 2) {
        svd3 s0, s1;
        svd3_of_two(load_matrix(f, b), load_matrix(f, b + 1), &s0, &s1);
        store_matrix(r, b, polar_rotation_of(s0));
        store_matrix(r, b + 1, polar_rotation_of(s1));
    }
    if (blocks % 2) store_matrix(r, blocks - 1, polar_rotation(load_matrix(f, blocks - 1)));
}

// Higham 1986: X ← ½(γX + X⁻ᵀ/γ), γ² = ‖X⁻¹‖/‖X‖ (Frobenius).
static void run_newton(const float *f, const float *start, int blocks, int steps, float *q,
                       float *r)
{
    (void)start, (void)q;
    for (int b = 0; b < blocks; b++) {
        mat3 x = load_matrix(f, b);
        for (int step = 0; step < steps; step++) {
            mat3 y = m3_scale(m3_cofactor(x), 1 / m3_det(x));
            real gamma = r_sqrt(r_sqrt(m3_dot(y, y) / m3_dot(x, x)));
            x = m3_add(m3_scale(x, 0.5f * gamma), m3_scale(y, 0.5f / gamma));
        }
        store_matrix(r, b, x);
    }
}

static const polar_method g_methods[] = {
    {"apd", run_apd, true, HK_LANES == 1 ? 73.5 : 18.7},
    {"apd, Cayley alone", run_cayley, true, HK_LANES == 1 ? 73.5 : 18.7},
    {"Müller et al. 2016", run_mueller, true, HK_LANES == 1 ? 384 : 0},
    {"polar.h", run_polar, false, HK_LANES == 1 ? 271 : 40.5},
    {"svd.h, two at once", run_svd_pairs, false, HK_LANES == 1 ? 283 : 40.5},
    {"Newton (Higham 1986)", run_newton, true, HK_LANES == 1 ? 267 : 0},
};

extern const polar_table HK_POLAR_TABLE;
const polar_table HK_POLAR_TABLE = {HK_POLAR_NAME, HK_LANES, g_methods,
                                    sizeof g_methods / sizeof g_methods[0]};
