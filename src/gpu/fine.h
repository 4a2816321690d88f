// Positions of the kernels in single precision to about 1e-10 of the body instead of 6e-8: of three
// coordinates in a word of 16 bytes the fourth number is free, and holds eight more bits of each.
// What a float drops of a position of the body is that much; differences of positions along an edge
// are taken of both parts, and come out as exact as a float of the edge's own size.
//
// A coordinate is high + low with low = b 2⁻⁸ ulp(high), b a signed byte. The top byte is free for
// others (the tags of persistent_patch.h). Plain C, so that the host's tests can run it.
#ifndef HK_GPU_FINE_H
#define HK_GPU_FINE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "rules/rules.h"

// The bits of the fourth number.
typedef uint32_t hk_fine_bits;

// Low parts are kept as low / HK_FINE_UNIT: the byte × the binade of high.
#define HK_FINE_UNIT 0x1p-31f

HK_RULE uint32_t fine_word(float a)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(a);
#else
    uint32_t word;
    memcpy(&word, &a, sizeof word);
    return word;
#endif
}

HK_RULE float fine_float(uint32_t word)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(word);
#else
    float a;
    memcpy(&a, &word, sizeof a);
    return a;
#endif
}

// The power of two at or below |high|; 0 for 0.
HK_RULE float fine_binade(float high)
{
    return fine_float(fine_word(high) & 0x7f800000u);
}

// The byte of coordinate i, −128 … 127.
HK_RULE float fine_byte(hk_fine_bits bits, int i)
{
    return (float)(int8_t)(bits >> (8 * i));
}

HK_RULE float fine_units(float high, hk_fine_bits bits, int i)
{
    return fine_byte(bits, i) * fine_binade(high);
}

// high + low of a coordinate, rounded: `high` becomes the nearest float, and the byte is returned
// in its place of the bits.
HK_RULE hk_fine_bits fine_settle(float *high, float low, int i)
{
    float a = *high, sum = a + low, of_low = sum - a;
    float rest = (a - (sum - of_low)) + (low - of_low);  // exactly a + low − sum (Knuth)
    // 1/binade, exactly; a power of two more than what overflows would.
    float inverse = fine_float(0x7f000000u - (fine_word(sum) & 0x7f800000u));
    float bytes = rest * inverse * (1 / HK_FINE_UNIT);
    bytes = fminf(fmaxf(bytes, -128.f), 127.f);
    *high = sum;
    return ((uint32_t)(int32_t)rintf(bytes) & 0xffu) << (8 * i);
}

#ifdef __CUDACC__

// A position, or where inertia pulls to.
struct hk_fine {
    float high[3], units[3];
};

static __host__ __device__ __forceinline__ hk_fine fine_of(float4 q, hk_fine_bits bits)
{
    hk_fine f = {{q.x, q.y, q.z}, {}};
    for (int i = 0; i < 3; i++) f.units[i] = fine_units(f.high[i], bits, i);
    return f;
}

static __host__ __device__ __forceinline__ hk_fine fine_of(float4 q)
{
    return fine_of(q, fine_word(q.w));
}

static __host__ __device__ __forceinline__ float4 fine_place(hk_fine f)
{
    hk_fine_bits bits = 0;
    for (int i = 0; i < 3; i++) bits |= fine_settle(&f.high[i], HK_FINE_UNIT * f.units[i], i);
    return make_float4(f.high[0], f.high[1], f.high[2], fine_float(bits));
}

static __device__ __forceinline__ float3 fine_minus(const hk_fine &a, const hk_fine &b)
{
    float d[3];
    for (int i = 0; i < 3; i++)
        d[i] = (a.high[i] - b.high[i]) + HK_FINE_UNIT * (a.units[i] - b.units[i]);
    return make_float3(d[0], d[1], d[2]);
}

static __device__ __forceinline__ float3 fine_minus(float4 a, float4 b)
{
    return fine_minus(fine_of(a), fine_of(b));
}

// a + t d
static __device__ __forceinline__ hk_fine fine_plus(hk_fine a, float t, float3 d)
{
    float scale = t * (1 / HK_FINE_UNIT);
    a.units[0] += scale * d.x;
    a.units[1] += scale * d.y;
    a.units[2] += scale * d.z;
    return a;
}

// a − o in double precision, rounded.
static __device__ __forceinline__ float4 fine_narrow(const double a[3], const double o[3])
{
    hk_fine f;
    for (int i = 0; i < 3; i++) {
        double d = a[i] - o[i];
        f.high[i] = (float)d;
        f.units[i] = (float)((d - f.high[i]) * (1 / HK_FINE_UNIT));
    }
    return fine_place(f);
}

// o + q
static __host__ __device__ __forceinline__ void fine_widen(float4 q, const double o[3],
                                                           double to[3])
{
    hk_fine f = fine_of(q);
    for (int i = 0; i < 3; i++)
        to[i] = o[i] + ((double)f.high[i] + (double)HK_FINE_UNIT * f.units[i]);
}

#endif

#endif
