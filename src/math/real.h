// The number type of the write-once code. Before including, define
//   HK_DOUBLE  1: double, 0: float
//   HK_LANES   1: a scalar; 4, 8, 16: that many lanes (GCC/Clang vector extensions)
// A translation unit has one `real`. Material and math files use only + − × ÷, comparisons and the
// primitives below; comparisons give a `mask`, combined with & | and r_not, used by r_select.
// There are no branches on lanes.
#ifndef HK_REAL_H
#define HK_REAL_H

#ifndef HK_DOUBLE
#define HK_DOUBLE 1
#endif
#ifndef HK_LANES
#define HK_LANES 1
#endif

#include <math.h>
#include <stdint.h>
#include <string.h>
#if HK_LANES > 1 && defined(__AVX__)
#include <immintrin.h>
#endif

#if HK_DOUBLE
typedef double scalar;
typedef int64_t scalar_int;
#define HK_EPSILON 2.220446049250313e-16
#define HK_TINY    1e-290 // far below any square that matters, and its reciprocal is finite
#else
typedef float scalar;
typedef int32_t scalar_int;
#define HK_EPSILON 1.1920929e-7f
#define HK_TINY    1e-36f
#endif

#define HK_INLINE static inline __attribute__((always_inline, unused))

#if HK_LANES == 1
typedef scalar real;
typedef int mask;
#else
typedef scalar real __attribute__((vector_size(HK_LANES * sizeof(scalar)), aligned(HK_LANES * sizeof(scalar))));
typedef scalar_int mask __attribute__((vector_size(HK_LANES * sizeof(scalar))));
#endif

#if HK_LANES == 1

HK_INLINE real r_set(double a) { return (scalar)a; }
HK_INLINE real r_select(mask m, real a, real b) { return m ? a : b; }
HK_INLINE mask r_not(mask m) { return !m; }
HK_INLINE int r_any(mask m) { return m; }
HK_INLINE scalar r_lane(real a, int lane) { (void)lane; return a; }
HK_INLINE real r_load(const scalar *a) { return *a; }
HK_INLINE void r_store(scalar *to, real a) { *to = a; }
HK_INLINE double r_sum(real a) { return a; }
#if HK_DOUBLE
HK_INLINE real r_abs(real a) { return fabs(a); }
HK_INLINE real r_sqrt(real a) { return sqrt(a); }
HK_INLINE real r_log(real a) { return log(a); }
HK_INLINE real r_exp(real a) { return exp(a); }
#else
HK_INLINE real r_abs(real a) { return fabsf(a); }
HK_INLINE real r_sqrt(real a) { return sqrtf(a); }
HK_INLINE real r_log(real a) { return logf(a); }
HK_INLINE real r_exp(real a) { return expf(a); }
#endif

#else // lanes

HK_INLINE real r_set(double a) { return (scalar)a - (real){0}; }
HK_INLINE real r_select(mask m, real a, real b)
{
    return (real)(((mask)a & m) | ((mask)b & ~m));
}
HK_INLINE mask r_not(mask m) { return ~m; }
HK_INLINE int r_any(mask m)
{
    scalar_int any = 0;
    for (int l = 0; l < HK_LANES; l++) any |= m[l];
    return any != 0;
}
HK_INLINE scalar r_lane(real a, int lane) { return a[lane]; }
HK_INLINE real r_load(const scalar *a) { return *(const real *)a; }
HK_INLINE void r_store(scalar *to, real a) { *(real *)to = a; }
HK_INLINE double r_sum(real a)
{
    double sum = 0;
    for (int l = 0; l < HK_LANES; l++) sum += (double)a[l];
    return sum;
}
HK_INLINE real r_abs(real a)
{
    // Clears the sign bit.
    mask sign = (mask)(r_set(-0.0));
    return (real)((mask)a & ~sign);
}

HK_INLINE real r_sqrt(real a)
{
#if HK_DOUBLE && HK_LANES == 8 && defined(__AVX512F__)
    return (real)_mm512_sqrt_pd((__m512d)a);
#elif HK_DOUBLE && HK_LANES == 4 && defined(__AVX__)
    return (real)_mm256_sqrt_pd((__m256d)a);
#elif !HK_DOUBLE && HK_LANES == 16 && defined(__AVX512F__)
    return (real)_mm512_sqrt_ps((__m512)a);
#elif !HK_DOUBLE && HK_LANES == 8 && defined(__AVX__)
    return (real)_mm256_sqrt_ps((__m256)a);
#else
    real r = a;
    for (int l = 0; l < HK_LANES; l++) r[l] = HK_DOUBLE ? (scalar)sqrt(a[l]) : (scalar)sqrtf((float)a[l]);
    return r;
#endif
}

#if HK_DOUBLE
// Full accuracy matters more than speed here: libm, lane by lane.
HK_INLINE real r_log(real a)
{
    real r = a;
    for (int l = 0; l < HK_LANES; l++) r[l] = log(a[l]);
    return r;
}
HK_INLINE real r_exp(real a)
{
    real r = a;
    for (int l = 0; l < HK_LANES; l++) r[l] = exp(a[l]);
    return r;
}
#else
// ln(a) for normal positive a: a = 2^e m with m in [√½, √2), ln m = 2 artanh(s), s = (m−1)/(m+1).
// The odd series in s (|s| ≤ 0.1716) is cut after s⁹: error < 1e-9 relative. Below or at 0: −inf
// or NaN as libm has it.
HK_INLINE real r_log(real a)
{
    mask bits = (mask)a;
    mask e = (bits - 0x3f3504f3) >> 23; // exponent relative to √½
    real m = (real)(bits - (e << 23));
    real s = (m - 1) / (m + 1);
    real z = s * s;
    real series = z * (0.66666666667f + z * (0.4f + z * (0.28571428571f + z * 0.22222222222f)));
    real exponent = __builtin_convertvector(e, real);
    // ln 2 in two parts, the first exact in products with small integers.
    real r = exponent * 0.693145751953125f + (exponent * 1.42860682e-6f + (s * 2 + s * series));
    r = r_select(a > 0, r, r_set(NAN));
    r = r_select(a == 0, r_set(-INFINITY), r);
    return r_select(a == r_set(INFINITY), a, r);
}
// exp(a) = 2^n exp(r), |r| ≤ ½ ln 2, Taylor to r⁷; overflows to inf, underflows to 0.
HK_INLINE real r_exp(real a)
{
    real x = r_select(a > 89.0f, r_set(89.0), a);
    x = r_select(x < -104.0f, r_set(-104.0), x);
    real t = x * 1.44269504f;
    // Round to nearest through an integer conversion that truncates.
    mask n = __builtin_convertvector(t + r_select(t < 0, r_set(-0.5), r_set(0.5)), mask);
    real k = __builtin_convertvector(n, real);
    real r = (x - k * 0.693145751953125f) - k * 1.42860682e-6f;
    real p = 1 + r * (1 + r * (0.5f + r * (0.166666667f + r * (4.16666667e-2f + r * (8.33333333e-3f + r * (1.38888889e-3f + r * 1.98412698e-4f))))));
    // Two halves of the power, so that results near overflow and denormals come out right.
    mask n1 = n >> 1, n2 = n - n1;
    real s1 = (real)((n1 + 127) << 23), s2 = (real)((n2 + 127) << 23);
    real y = p * s1 * s2;
    y = r_select(a > 88.72284f, r_set(INFINITY), y);
    y = r_select(a < -103.97f, r_set(0), y);
    return r_select(a == a, y, a);
}
#endif

#endif // lanes

HK_INLINE real r_min(real a, real b) { return r_select(a < b, a, b); }
HK_INLINE real r_max(real a, real b) { return r_select(a > b, a, b); }
HK_INLINE real r_zero(void) { return r_set(0); }
// 1/a where |a| is not tiny, 0 elsewhere.
HK_INLINE real r_reciprocal_or_zero(real a)
{
    mask fine = r_abs(a) > (scalar)HK_TINY;
    return r_select(fine, 1 / r_select(fine, a, r_set(1)), r_zero());
}

#endif
