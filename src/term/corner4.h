// Corners of tets in a small array float[][4]: 16 bytes a vertex, turned into lanes in registers
// where there are AVX or AVX-512, and back. Beside corners.h: the fourth number counts, results
// are added, and indices are short: twice the place in the array, which the machine's addresses can
// scale to bytes without an instruction.
#ifndef HK_CORNER4_H
#define HK_CORNER4_H

#include "math/mat3.h"

typedef struct corner4 {
    vec3 x;
    real w;
} corner4;

#if defined(__SSE2__)
#include <immintrin.h>

HK_INLINE void quad_copy(float *to, const float *from)
{
    _mm_store_ps(to, _mm_load_ps(from));
}
HK_INLINE void quad_zero(float *to)
{
    _mm_store_ps(to, _mm_setzero_ps());
}
HK_INLINE void quad_add(float *to, __m128 v)
{
    _mm_store_ps(to, _mm_add_ps(_mm_load_ps(to), v));
}

#else

HK_INLINE void quad_copy(float *to, const float *from)
{
    memcpy(to, from, 4 * sizeof(float));
}
HK_INLINE void quad_zero(float *to)
{
    memset(to, 0, 4 * sizeof(float));
}

#endif

#if HK_LANES == 16 && defined(__AVX512F__)

HK_INLINE __m512 quarters_load(const float *x, const uint16_t *index)
{
    __m512 r = _mm512_castps128_ps512(_mm_load_ps(x + 2 * (size_t)index[0]));
    r = _mm512_insertf32x4(r, _mm_load_ps(x + 2 * (size_t)index[4]), 1);
    r = _mm512_insertf32x4(r, _mm_load_ps(x + 2 * (size_t)index[8]), 2);
    return _mm512_insertf32x4(r, _mm_load_ps(x + 2 * (size_t)index[12]), 3);
}

HK_INLINE corner4 corner4_load(const float *x, const uint16_t *index)
{
    __m512 a = quarters_load(x, index), b = quarters_load(x, index + 1);
    __m512 c = quarters_load(x, index + 2), d = quarters_load(x, index + 3);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);  // x x y y
    __m512 zab = _mm512_unpackhi_ps(a, b), zcd = _mm512_unpackhi_ps(c, d);
    corner4 r;
    r.x.v[0] = (real)_mm512_shuffle_ps(ab, cd, 0x44);
    r.x.v[1] = (real)_mm512_shuffle_ps(ab, cd, 0xEE);
    r.x.v[2] = (real)_mm512_shuffle_ps(zab, zcd, 0x44);
    r.w = (real)_mm512_shuffle_ps(zab, zcd, 0xEE);
    return r;
}

// The four corners of lanes 4q + k in quarter q of v[k].
typedef struct quads {
    __m512 v[4];
} quads;

HK_INLINE quads quads_of(vec3 a, real w)
{
    __m512 x = (__m512)a.v[0], y = (__m512)a.v[1], z = (__m512)a.v[2];
    __m512 xy = _mm512_unpacklo_ps(x, y), zw = _mm512_unpacklo_ps(z, (__m512)w);
    __m512 xy2 = _mm512_unpackhi_ps(x, y), zw2 = _mm512_unpackhi_ps(z, (__m512)w);
    quads q;
    q.v[0] = _mm512_shuffle_ps(xy, zw, 0x44);
    q.v[1] = _mm512_shuffle_ps(xy, zw, 0xEE);
    q.v[2] = _mm512_shuffle_ps(xy2, zw2, 0x44);
    q.v[3] = _mm512_shuffle_ps(xy2, zw2, 0xEE);
    return q;
}

HK_INLINE void corner4_store(float *to, const uint16_t *index, corner4 a)
{
    quads q = quads_of(a.x, a.w);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        _mm_store_ps(to + 2 * (size_t)index[k], _mm512_castps512_ps128(q.v[k]));
        _mm_store_ps(to + 2 * (size_t)index[k + 4], _mm512_extractf32x4_ps(q.v[k], 1));
        _mm_store_ps(to + 2 * (size_t)index[k + 8], _mm512_extractf32x4_ps(q.v[k], 2));
        _mm_store_ps(to + 2 * (size_t)index[k + 12], _mm512_extractf32x4_ps(q.v[k], 3));
    }
}

HK_INLINE void corner_add(float *to, const uint16_t *index, vec3 a)
{
    quads q = quads_of(a, r_zero());
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        quad_add(to + 2 * (size_t)index[k], _mm512_castps512_ps128(q.v[k]));
        quad_add(to + 2 * (size_t)index[k + 4], _mm512_extractf32x4_ps(q.v[k], 1));
        quad_add(to + 2 * (size_t)index[k + 8], _mm512_extractf32x4_ps(q.v[k], 2));
        quad_add(to + 2 * (size_t)index[k + 12], _mm512_extractf32x4_ps(q.v[k], 3));
    }
}

#elif HK_LANES == 8 && defined(__AVX__)

HK_INLINE __m256 halves_load(const float *x, const uint16_t *index)
{
    __m256 r = _mm256_castps128_ps256(_mm_load_ps(x + 2 * (size_t)index[0]));
    return _mm256_insertf128_ps(r, _mm_load_ps(x + 2 * (size_t)index[4]), 1);
}

HK_INLINE corner4 corner4_load(const float *x, const uint16_t *index)
{
    __m256 a = halves_load(x, index), b = halves_load(x, index + 1);
    __m256 c = halves_load(x, index + 2), d = halves_load(x, index + 3);
    __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    __m256 zab = _mm256_unpackhi_ps(a, b), zcd = _mm256_unpackhi_ps(c, d);
    corner4 r;
    r.x.v[0] = (real)_mm256_shuffle_ps(ab, cd, 0x44);
    r.x.v[1] = (real)_mm256_shuffle_ps(ab, cd, 0xEE);
    r.x.v[2] = (real)_mm256_shuffle_ps(zab, zcd, 0x44);
    r.w = (real)_mm256_shuffle_ps(zab, zcd, 0xEE);
    return r;
}

typedef struct quads {
    __m256 v[4];
} quads;

HK_INLINE quads quads_of(vec3 a, real w)
{
    __m256 x = (__m256)a.v[0], y = (__m256)a.v[1], z = (__m256)a.v[2];
    __m256 xy = _mm256_unpacklo_ps(x, y), zw = _mm256_unpacklo_ps(z, (__m256)w);
    __m256 xy2 = _mm256_unpackhi_ps(x, y), zw2 = _mm256_unpackhi_ps(z, (__m256)w);
    quads q;
    q.v[0] = _mm256_shuffle_ps(xy, zw, 0x44);
    q.v[1] = _mm256_shuffle_ps(xy, zw, 0xEE);
    q.v[2] = _mm256_shuffle_ps(xy2, zw2, 0x44);
    q.v[3] = _mm256_shuffle_ps(xy2, zw2, 0xEE);
    return q;
}

HK_INLINE void corner4_store(float *to, const uint16_t *index, corner4 a)
{
    quads q = quads_of(a.x, a.w);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        _mm_store_ps(to + 2 * (size_t)index[k], _mm256_castps256_ps128(q.v[k]));
        _mm_store_ps(to + 2 * (size_t)index[k + 4], _mm256_extractf128_ps(q.v[k], 1));
    }
}

HK_INLINE void corner_add(float *to, const uint16_t *index, vec3 a)
{
    quads q = quads_of(a, r_zero());
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        quad_add(to + 2 * (size_t)index[k], _mm256_castps256_ps128(q.v[k]));
        quad_add(to + 2 * (size_t)index[k + 4], _mm256_extractf128_ps(q.v[k], 1));
    }
}

#else  // any machine

HK_INLINE corner4 corner4_load(const float *x, const uint16_t *index)
{
    union {
        real wide[4];
        scalar lane[4][HK_LANES];
    } r;
    for (int l = 0; l < HK_LANES; l++)
        for (int i = 0; i < 4; i++) r.lane[i][l] = x[2 * (size_t)index[l] + (size_t)i];
    corner4 c;
    for (int i = 0; i < 3; i++) c.x.v[i] = r.wide[i];
    c.w = r.wide[3];
    return c;
}

HK_INLINE void corner4_store(float *to, const uint16_t *index, corner4 a)
{
    union {
        real wide[4];
        scalar lane[4][HK_LANES];
    } r = {{a.x.v[0], a.x.v[1], a.x.v[2], a.w}};
    for (int l = 0; l < HK_LANES; l++)
        for (int i = 0; i < 4; i++) to[2 * (size_t)index[l] + (size_t)i] = r.lane[i][l];
}

HK_INLINE void corner_add(float *to, const uint16_t *index, vec3 a)
{
    union {
        real wide[3];
        scalar lane[3][HK_LANES];
    } r = {{a.v[0], a.v[1], a.v[2]}};
    for (int l = 0; l < HK_LANES; l++)
        for (int i = 0; i < 3; i++) to[2 * (size_t)index[l] + (size_t)i] += r.lane[i][l];
}

#endif

// One number a lane from here and there; padding comes last and twice, which does no harm.
HK_INLINE real numbers_load(const float *from, const uint16_t *index)
{
    union {
        real wide;
        scalar lane[HK_LANES];
    } r;
    for (int l = 0; l < HK_LANES; l++) r.lane[l] = from[index[l]];
    return r.wide;
}

HK_INLINE void numbers_store(float *to, const uint16_t *index, real a)
{
    union {
        real wide;
        scalar lane[HK_LANES];
    } r = {a};
    for (int l = 0; l < HK_LANES; l++) to[index[l]] = r.lane[l];
}

HK_INLINE vec3 corner_load(const float *x, const uint16_t *index)
{
    return corner4_load(x, index).x;
}

#endif
