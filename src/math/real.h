// The number type of the write-once code. Before including, define
//   HK_DOUBLE  1: double, 0: float
//   HK_LANES   1: a scalar; 2, 4, 8, 16: that many lanes (GCC/Clang vector extensions). Best when
//              a `real` fills one register; GCC compares wider ones lane by lane.
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

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if HK_DOUBLE
typedef double scalar;
typedef int64_t scalar_int;
typedef uint64_t scalar_bits;
#define HK_EPSILON         2.220446049250313e-16
#define HK_TINY            1e-290  // far below any square that matters, and its reciprocal is finite
#define HK_SMALLEST_NORMAL DBL_MIN
enum { HK_MANTISSA_BITS = 52, HK_EXPONENT_BIAS = 1023 };
#else
typedef float scalar;
typedef int32_t scalar_int;
typedef uint32_t scalar_bits;
#define HK_EPSILON         1.1920929e-7f
#define HK_TINY            1e-36f
#define HK_SMALLEST_NORMAL FLT_MIN
enum { HK_MANTISSA_BITS = 23, HK_EXPONENT_BIAS = 127 };
#endif

// Under the sanitizers, which check every access, inlining all of it would take minutes to compile.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HK_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HK_SANITIZED 1
#endif

#if defined(__CUDACC__)
#define HK_INLINE static __host__ __device__ __forceinline__ __attribute__((unused))
#elif defined(HK_SANITIZED)
#define HK_INLINE static __attribute__((unused))
#else
#define HK_INLINE static inline __attribute__((always_inline, unused))
#endif

#if HK_LANES == 1
typedef scalar real;
typedef int mask;
typedef scalar_bits real_bits;
#else
typedef scalar real
    __attribute__((vector_size(HK_LANES * sizeof(scalar)), aligned(HK_LANES * sizeof(scalar))));
typedef scalar_int mask __attribute__((vector_size(HK_LANES * sizeof(scalar))));
typedef scalar_bits real_bits __attribute__((vector_size(HK_LANES * sizeof(scalar))));
#endif

// HK_SIMD(op) is the intrinsic for a whole `real` where one register holds it, for what the vector
// extensions cannot say. HK_AVX512, HK_AVX and HK_SSE tell which.
#if HK_LANES * (HK_DOUBLE ? 8 : 4) == 64 && defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define HK_AVX512 1
#if HK_DOUBLE
typedef __m512d hk_register;
#define HK_SIMD(op) _mm512_##op##_pd
#else
typedef __m512 hk_register;
#define HK_SIMD(op) _mm512_##op##_ps
#endif
#elif HK_LANES * (HK_DOUBLE ? 8 : 4) == 32 && defined(__AVX__)
#include <immintrin.h>
#define HK_AVX 1
#if HK_DOUBLE
typedef __m256d hk_register;
#define HK_SIMD(op) _mm256_##op##_pd
#else
typedef __m256 hk_register;
#define HK_SIMD(op) _mm256_##op##_ps
#endif
#elif HK_LANES > 1 && HK_LANES * (HK_DOUBLE ? 8 : 4) == 16 && defined(__SSE2__)
#include <emmintrin.h>
#define HK_SSE 1
#if HK_DOUBLE
typedef __m128d hk_register;
#define HK_SIMD(op) _mm_##op##_pd
#else
typedef __m128 hk_register;
#define HK_SIMD(op) _mm_##op##_ps
#endif
#endif

#if HK_LANES == 1

HK_INLINE real r_set(double a)
{
    return (scalar)a;
}
HK_INLINE real r_zero(void)
{
    return 0;
}
HK_INLINE real r_select(mask m, real a, real b)
{
    return m ? a : b;
}
HK_INLINE mask r_not(mask m)
{
    return !m;
}
HK_INLINE int r_any(mask m)
{
    return m;
}
HK_INLINE int r_all(mask m)
{
    return m;
}
HK_INLINE scalar r_lane(real a, int lane)
{
    (void)lane;
    return a;
}
HK_INLINE void r_set_lane(real *a, int lane, scalar value)
{
    (void)lane;
    *a = value;
}
HK_INLINE real r_load(const scalar *a)
{
    return *a;
}
HK_INLINE void r_store(scalar *to, real a)
{
    *to = a;
}
HK_INLINE double r_sum(real a)
{
    return a;
}
HK_INLINE real r_min(real a, real b)
{
    return a < b ? a : b;
}
HK_INLINE real r_max(real a, real b)
{
    return a > b ? a : b;
}
HK_INLINE real_bits r_bits(real a)
{
    real_bits bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
HK_INLINE real r_from_bits(real_bits bits)
{
    real a;
    memcpy(&a, &bits, sizeof a);
    return a;
}
#if HK_DOUBLE
HK_INLINE real r_abs(real a)
{
    return fabs(a);
}
HK_INLINE real r_sqrt(real a)
{
    return sqrt(a);
}
HK_INLINE real r_log(real a)
{
    return log(a);
}
HK_INLINE real r_exp(real a)
{
    return exp(a);
}
#else
HK_INLINE real r_abs(real a)
{
    return fabsf(a);
}
HK_INLINE real r_sqrt(real a)
{
    return sqrtf(a);
}
HK_INLINE real r_log(real a)
{
    return logf(a);
}
HK_INLINE real r_exp(real a)
{
    return expf(a);
}
#endif

#else  // lanes

HK_INLINE real r_set(double a)
{
    return (scalar)a - (real){0};
}
HK_INLINE real r_zero(void)
{
    return (real){0};
}
HK_INLINE real_bits r_bits(real a)
{
    return (real_bits)a;
}
HK_INLINE real r_from_bits(real_bits bits)
{
    return (real)bits;
}
HK_INLINE real r_select(mask m, real a, real b)
{
#if defined(HK_AVX)
    return (real)HK_SIMD(blendv)((hk_register)b, (hk_register)a, (hk_register)m);
#else
    // Two operations under a mask register, a blend where the compiler sees it.
    return (real)((((mask)a ^ (mask)b) & m) ^ (mask)b);
#endif
}
HK_INLINE mask r_not(mask m)
{
    return ~m;
}
// Whether the mask is set in any lane. The lanes of a mask are all ones or all zeros.
HK_INLINE int r_any(mask m)
{
#if defined(HK_AVX512) && HK_DOUBLE
    return _mm512_movepi64_mask((__m512i)m) != 0;
#elif defined(HK_AVX512)
    return _mm512_movepi32_mask((__m512i)m) != 0;
#elif defined(HK_SIMD)
    return HK_SIMD(movemask)((hk_register)m) != 0;
#else
    scalar_int any = 0;
    for (int l = 0; l < HK_LANES; l++) any |= m[l];
    return any != 0;
#endif
}
HK_INLINE int r_all(mask m)
{
    return !r_any(~m);
}
HK_INLINE scalar r_lane(real a, int lane)
{
    return a[lane];
}
HK_INLINE void r_set_lane(real *a, int lane, scalar value)
{
    (*a)[lane] = value;
}
// Both need the alignment of `real`.
HK_INLINE real r_load(const scalar *a)
{
    return *(const real *)a;
}
HK_INLINE void r_store(scalar *to, real a)
{
    *(real *)to = a;
}
// The sum over the lanes, in double and always in the same order.
HK_INLINE double r_sum(real a)
{
    double sum = 0;
    for (int l = 0; l < HK_LANES; l++) sum += (double)a[l];
    return sum;
}
// As in the scalar form, b where one of them is NaN.
HK_INLINE real r_min(real a, real b)
{
#ifdef HK_SIMD
    return (real)HK_SIMD(min)((hk_register)a, (hk_register)b);
#else
    return r_select(a < b, a, b);
#endif
}
HK_INLINE real r_max(real a, real b)
{
#ifdef HK_SIMD
    return (real)HK_SIMD(max)((hk_register)a, (hk_register)b);
#else
    return r_select(a > b, a, b);
#endif
}
HK_INLINE real r_abs(real a)
{
    // Clears the sign bit.
    mask sign = (mask)(r_set(-0.0));
    return (real)((mask)a & ~sign);
}
HK_INLINE real r_sqrt(real a)
{
#ifdef HK_SIMD
    return (real)HK_SIMD(sqrt)((hk_register)a);
#else
    // Through memory, which compilers turn into packed square roots of the registers they have.
    scalar lane[HK_LANES];
    memcpy(lane, &a, sizeof a);
    for (int l = 0; l < HK_LANES; l++)
        lane[l] = HK_DOUBLE ? (scalar)sqrt((double)lane[l]) : (scalar)sqrtf((float)lane[l]);
    memcpy(&a, lane, sizeof a);
    return a;
#endif
}

#if HK_DOUBLE
#define HK_LN2_HIGH    6.93147180369123816490e-01  // 32 bits: exact in products with exponents
#define HK_LN2_LOW     1.90821492927058770002e-10
#define HK_ROUND_MAGIC 6755399441055744.0  // 1.5 · 2^52: adding it rounds to an integer
#define HK_EXP_TOP     709.782712893384
#define HK_EXP_BOTTOM  -745.1332191019412
#else
#define HK_LN2_HIGH    0.693145751953125f
#define HK_LN2_LOW     1.42860682e-6f
#define HK_ROUND_MAGIC 12582912.0f  // 1.5 · 2^23
#define HK_EXP_TOP     88.7228394f
#define HK_EXP_BOTTOM  -103.972084f
#endif

// ln a: a = 2^e m with m in [√½, √2), f = m − 1, s = f/(2 + f), and
//   ln(1 + f) = 2 artanh s = f − f²/2 + s (f²/2 + 2s²/3 + 2s⁴/5 + …),
// whose leading terms are nearly exact. |s| ≤ 0.1716 leaves 2e-9 (float, s¹⁰) or 1e-18 (double,
// s²²) of the series out. Within 1 unit in the last place for all positive a, denormals too.
HK_INLINE real r_log(real a)
{
    const scalar lift = (scalar)((scalar_bits)1 << HK_MANTISSA_BITS);
    const scalar_bits half_root =
        HK_DOUBLE ? (scalar_bits)0x3fe6a09e667f3bcd : (scalar_bits)0x3f3504f3;
    const scalar_bits one = (scalar_bits)HK_EXPONENT_BIAS << HK_MANTISSA_BITS;
    mask denormal = a < (scalar)HK_SMALLEST_NORMAL;
    real_bits bits = r_bits(r_select(denormal, a * lift, a));
    real_bits biased = (bits + (one - half_root)) >> HK_MANTISSA_BITS;  // e + bias, never negative
    real f = r_from_bits(bits - ((biased - HK_EXPONENT_BIAS) << HK_MANTISSA_BITS)) - 1;
    // The integer as a real: in the low bits of a number whose last bit counts ones.
    real e = r_from_bits(biased + r_bits(r_set(HK_ROUND_MAGIC))) -
             (scalar)((scalar)HK_ROUND_MAGIC + HK_EXPONENT_BIAS);
    e = e - r_select(denormal, r_set(HK_MANTISSA_BITS), r_zero());
    real s = f / (2 + f), z = s * s;
#if HK_DOUBLE
    real series = r_set(2.0 / 21);
    series = series * z + 2.0 / 19;
    series = series * z + 2.0 / 17;
    series = series * z + 2.0 / 15;
    series = series * z + 2.0 / 13;
    series = series * z + 2.0 / 11;
    series = series * z + 2.0 / 9;
#else
    real series = r_set(2.0 / 9);
#endif
    series = series * z + (scalar)(2.0 / 7);
    series = series * z + (scalar)(2.0 / 5);
    series = series * z + (scalar)(2.0 / 3);
    real half = f * f * (scalar)0.5;
    real tail = s * (half + z * series) + e * (scalar)HK_LN2_LOW;
    real r = e * (scalar)HK_LN2_HIGH + (f - (half - tail));
    r = r_select(a > 0, r, r_set((double)NAN));
    r = r_select(a == 0, r_set(-(double)INFINITY), r);
    return r_select(a == r_set((double)INFINITY), a, r);
}

// exp a = 2^n exp r, |r| ≤ ½ ln 2, Taylor to r⁷ (float) or r¹³ (double). Overflows to inf,
// underflows through the denormals to 0. Within 1 unit in the last place.
HK_INLINE real r_exp(real a)
{
    real x = r_min(r_max(a, r_set(HK_EXP_BOTTOM - 1)), r_set(HK_EXP_TOP + 1));
    real shifted = x * (scalar)1.4426950408889634 + (scalar)HK_ROUND_MAGIC;
    real k = shifted - (scalar)HK_ROUND_MAGIC;
    real_bits n = r_bits(shifted) - r_bits(r_set(HK_ROUND_MAGIC));
    real r = (x - k * (scalar)HK_LN2_HIGH) - k * (scalar)HK_LN2_LOW;
#if HK_DOUBLE
    real p = r_set(1.0 / 6227020800.0);
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
#else
    real p = r_set(1.0 / 5040.0);
#endif
    p = p * r + (scalar)(1.0 / 720);
    p = p * r + (scalar)(1.0 / 120);
    p = p * r + (scalar)(1.0 / 24);
    p = p * r + (scalar)(1.0 / 6);
    p = p * r + (scalar)0.5;
    p = 1 + (r + r * r * p);
    // 2^n in two factors, so that results near overflow and denormals come out right; n ≥ −2 bias.
    real_bits biased2 = n + 2 * HK_EXPONENT_BIAS;
    real_bits first = biased2 >> 1, second = biased2 - first;
    real y = p * r_from_bits(first << HK_MANTISSA_BITS) * r_from_bits(second << HK_MANTISSA_BITS);
    y = r_select(a > (scalar)HK_EXP_TOP, r_set((double)INFINITY), y);
    y = r_select(a < (scalar)HK_EXP_BOTTOM, r_zero(), y);
    return r_select(a == a, y, a);
}

#endif  // lanes

// The same number, but as one that the compiler knows nothing about. Whether it joins a product and
// a sum to one operation depends on who else uses the product: what is computed from this number
// does not change the bits of what is computed from a.
HK_INLINE real r_apart(real a)
{
#if defined(__CUDACC__)  // fixed choices there
#elif defined(HK_AVX512)
    __asm__("" : "+v"(a));
#elif defined(HK_SIMD)
    __asm__("" : "+x"(a));
#elif defined(__aarch64__) && HK_LANES * (HK_DOUBLE ? 8 : 4) <= 16
    __asm__("" : "+w"(a));
#endif
    return a;
}

// ln(1 + a) with all its digits near a = 0, and in *less what it is less than a, which is a²/2
// there. With s = a/(2 + a) the logarithm is 2 artanh s = 2s + 2s³/3 + …, and a − 2s = a s.
HK_INLINE real r_log1p(real a, real *less)
{
    mask near = (a > (scalar)-0.29) & (a < (scalar)0.41);
    real x = r_select(near, a, r_zero()), s = x / (2 + x), z = s * s;
    real series = r_zero();
    for (int n = HK_DOUBLE ? 21 : 9; n >= 3; n -= 2) series = series * z + (scalar)(2.0 / n);
    real log = s * (2 + z * series), short_of = s * (x - z * series);
    *less = short_of;
    if (r_all(near)) return log;
    real far = r_log(1 + a);
    *less = r_select(near, short_of, a - far);
    return r_select(near, log, far);
}

// exp a − 1 − a, which is a²/2 near a = 0.
HK_INLINE real r_exp_excess(real a)
{
    mask near = r_abs(a) < (scalar)0.5;
    real x = r_select(near, a, r_zero()), series = r_set(1);
    for (int n = HK_DOUBLE ? 17 : 9; n >= 3; n--) series = 1 + x * (scalar)(1.0 / n) * series;
    real excess = (scalar)0.5 * x * x * series;
    if (r_all(near)) return excess;
    return r_select(near, excess, r_exp(a) - 1 - a);
}

// 1/a where |a| is not tiny, 0 elsewhere.
HK_INLINE real r_reciprocal_or_zero(real a)
{
    mask fine = r_abs(a) > (scalar)HK_TINY;
    return r_select(fine, 1 / r_select(fine, a, r_set(1)), r_zero());
}

// |a| with the sign of b.
HK_INLINE real r_copysign(real a, real b)
{
    const scalar_bits sign = (scalar_bits)1 << (8 * sizeof(scalar) - 1);
    return r_from_bits((r_bits(a) & ~sign) | (r_bits(b) & sign));
}

// 2^⌊log₂ a⌋ for a ≥ 0; at least the smallest normal number; inf stays, NaN becomes inf.
HK_INLINE real r_power_of_two(real a)
{
    const scalar_bits exponent = ((scalar_bits)2 * HK_EXPONENT_BIAS + 1) << HK_MANTISSA_BITS;
    a = r_select(a < (scalar)HK_SMALLEST_NORMAL, r_set(HK_SMALLEST_NORMAL), a);
    return r_from_bits(r_bits(a) & exponent);
}

// 1/√a to at least 11 bits, for a > 0 well inside the range of normal numbers. How good an estimate
// instruction is differs from vendor to vendor, within a relative error of 1.5 · 2⁻¹² (rsqrtps) and
// 2⁻¹⁴ (rsqrt14): nothing may rest on its being better. Tests put the worst in its place.
#if !defined(__CUDA_ARCH__) && (defined(HK_AVX512) || (defined(HK_SIMD) && !HK_DOUBLE))
#define HK_ESTIMATES 1
#ifdef HK_AVX512
#define HK_ESTIMATE_ERROR (1.0 / 16384)
#else
#define HK_ESTIMATE_ERROR (1.5 / 4096)
#endif
#ifndef HK_ESTIMATE_RSQRT
#define HK_ESTIMATE_RSQRT(a, estimate) (estimate)
#endif
#endif
HK_INLINE real r_rsqrt_rough(real a)
{
#if defined(__CUDA_ARCH__) && !HK_DOUBLE
    return rsqrtf(a);
#elif defined(__CUDA_ARCH__)
    return rsqrt(a);
#elif defined(HK_ESTIMATES) && defined(HK_AVX512)
    return HK_ESTIMATE_RSQRT(a, (real)HK_SIMD(rsqrt14)((hk_register)a));
#elif defined(HK_ESTIMATES)
    return HK_ESTIMATE_RSQRT(a, (real)HK_SIMD(rsqrt)((hk_register)a));
#else
    return 1 / r_sqrt(a);
#endif
}
// One step of Newton's method for 1/√a: doubles the bits of r.
HK_INLINE real r_rsqrt_step(real a, real r)
{
#ifdef HK_ESTIMATES
    real half = r * (scalar)0.5;
    return r + half * (1 - a * r * r);
#else
    (void)a;
    return r;  // had all bits
#endif
}
// 1/√a within 2 units in the last place, for a > 0 well inside the range of normal numbers: the
// series (1 − e)^(−½) = 1 + e/2 + 3e²/8 + 5e³/16 + 35e⁴/128 … with e = 1 − a r², from the estimate
// r. It ends where the worst estimate leaves far less than a unit: 5.6e-9 (float, rsqrt14: to e, a
// step of Newton's), 1.2e-10 (float, rsqrtps: to e²; to e it would leave 3.4 units), 7e-21 (double,
// rsqrt14: to e⁴; the terms in an order that keeps nobody waiting).
HK_INLINE real r_rsqrt(real a)
{
    real r = r_rsqrt_rough(a);
#if defined(HK_ESTIMATES) && (HK_DOUBLE || !defined(HK_AVX512))
    real e = 1 - a * r * r;
    real series = e * (scalar)0.375 + (scalar)0.5;
    if (HK_DOUBLE) series += e * e * (e * (scalar)0.2734375 + (scalar)0.3125);
    return r + r * e * series;
#else
    return r_rsqrt_step(a, r);
#endif
}

#endif
