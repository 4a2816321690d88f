// Moving corners between memory (four numbers a vertex) and lanes. With AVX the 4×4 transposes are
// done in registers, 128 (float) or 256 (double) bits a vertex; no gather or scatter instruction.
#ifndef HK_CORNERS_H
#define HK_CORNERS_H

#include "math/mat3.h"

#if !HK_DOUBLE && HK_LANES == 16 && defined(__AVX512F__)

// Four vertices in the four 128-bit quarters.
HK_INLINE __m512 corner_quarters(const float *x, const int32_t *index)
{
    __m512 r = _mm512_castps128_ps512(_mm_load_ps(x + 4 * (int64_t)index[0]));
    r = _mm512_insertf32x4(r, _mm_load_ps(x + 4 * (int64_t)index[4]), 1);
    r = _mm512_insertf32x4(r, _mm_load_ps(x + 4 * (int64_t)index[8]), 2);
    return _mm512_insertf32x4(r, _mm_load_ps(x + 4 * (int64_t)index[12]), 3);
}

HK_INLINE vec3 corners_load(const scalar *x, const int32_t *index)
{
    __m512 a = corner_quarters(x, index), b = corner_quarters(x, index + 1);
    __m512 c = corner_quarters(x, index + 2), d = corner_quarters(x, index + 3);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);  // x x y y
    __m512 zab = _mm512_unpackhi_ps(a, b), zcd = _mm512_unpackhi_ps(c, d);
    vec3 r;
    r.v[0] = (real)_mm512_shuffle_ps(ab, cd, 0x44);
    r.v[1] = (real)_mm512_shuffle_ps(ab, cd, 0xEE);
    r.v[2] = (real)_mm512_shuffle_ps(zab, zcd, 0x44);
    return r;
}

// With the fourth number of each vertex.
HK_INLINE vec3 corners_load4(const scalar *x, const int32_t *index, real *fourth)
{
    __m512 a = corner_quarters(x, index), b = corner_quarters(x, index + 1);
    __m512 c = corner_quarters(x, index + 2), d = corner_quarters(x, index + 3);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);
    __m512 zab = _mm512_unpackhi_ps(a, b), zcd = _mm512_unpackhi_ps(c, d);
    vec3 r;
    r.v[0] = (real)_mm512_shuffle_ps(ab, cd, 0x44);
    r.v[1] = (real)_mm512_shuffle_ps(ab, cd, 0xEE);
    r.v[2] = (real)_mm512_shuffle_ps(zab, zcd, 0x44);
    *fourth = (real)_mm512_shuffle_ps(zab, zcd, 0xEE);
    return r;
}

HK_INLINE void corner_put_quarters(float *x, const int32_t *index, __m512 v)
{
    _mm_store_ps(x + 4 * (int64_t)index[0], _mm512_castps512_ps128(v));
    _mm_store_ps(x + 4 * (int64_t)index[4], _mm512_extractf32x4_ps(v, 1));
    _mm_store_ps(x + 4 * (int64_t)index[8], _mm512_extractf32x4_ps(v, 2));
    _mm_store_ps(x + 4 * (int64_t)index[12], _mm512_extractf32x4_ps(v, 3));
}

// Back to the vertices, each of which is in one lane only.
HK_INLINE void corners_put4(scalar *to, const int32_t *index, vec3 v, real fourth)
{
    __m512 x = (__m512)v.v[0], y = (__m512)v.v[1], z = (__m512)v.v[2], w = (__m512)fourth;
    __m512 xy = _mm512_unpacklo_ps(x, y), zw = _mm512_unpacklo_ps(z, w);
    __m512 xy2 = _mm512_unpackhi_ps(x, y), zw2 = _mm512_unpackhi_ps(z, w);
    corner_put_quarters(to, index, _mm512_shuffle_ps(xy, zw, 0x44));
    corner_put_quarters(to, index + 1, _mm512_shuffle_ps(xy, zw, 0xEE));
    corner_put_quarters(to, index + 2, _mm512_shuffle_ps(xy2, zw2, 0x44));
    corner_put_quarters(to, index + 3, _mm512_shuffle_ps(xy2, zw2, 0xEE));
}

HK_INLINE void corner_store_quarters(float *to, const uint16_t *index, __m512 v)
{
    _mm_store_ps(to + 4 * (size_t)index[0], _mm512_castps512_ps128(v));
    _mm_store_ps(to + 4 * (size_t)index[4], _mm512_extractf32x4_ps(v, 1));
    _mm_store_ps(to + 4 * (size_t)index[8], _mm512_extractf32x4_ps(v, 2));
    _mm_store_ps(to + 4 * (size_t)index[12], _mm512_extractf32x4_ps(v, 3));
}

HK_INLINE void corners_store(scalar *to, const uint16_t *index, vec3 v)
{
    __m512 x = (__m512)v.v[0], y = (__m512)v.v[1], z = (__m512)v.v[2], w = _mm512_setzero_ps();
    __m512 xy = _mm512_unpacklo_ps(x, y), zw = _mm512_unpacklo_ps(z, w);
    __m512 xy2 = _mm512_unpackhi_ps(x, y), zw2 = _mm512_unpackhi_ps(z, w);
    corner_store_quarters(to, index, _mm512_shuffle_ps(xy, zw, 0x44));
    corner_store_quarters(to, index + 1, _mm512_shuffle_ps(xy, zw, 0xEE));
    corner_store_quarters(to, index + 2, _mm512_shuffle_ps(xy2, zw2, 0x44));
    corner_store_quarters(to, index + 3, _mm512_shuffle_ps(xy2, zw2, 0xEE));
}

#elif !HK_DOUBLE && HK_LANES == 8 && defined(__AVX__)

HK_INLINE __m256 corner_halves(const float *x, const int32_t *index)
{
    __m256 r = _mm256_castps128_ps256(_mm_load_ps(x + 4 * (int64_t)index[0]));
    return _mm256_insertf128_ps(r, _mm_load_ps(x + 4 * (int64_t)index[4]), 1);
}

HK_INLINE vec3 corners_load(const scalar *x, const int32_t *index)
{
    __m256 a = corner_halves(x, index), b = corner_halves(x, index + 1);
    __m256 c = corner_halves(x, index + 2), d = corner_halves(x, index + 3);
    __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    __m256 zab = _mm256_unpackhi_ps(a, b), zcd = _mm256_unpackhi_ps(c, d);
    vec3 r;
    r.v[0] = (real)_mm256_shuffle_ps(ab, cd, 0x44);
    r.v[1] = (real)_mm256_shuffle_ps(ab, cd, 0xEE);
    r.v[2] = (real)_mm256_shuffle_ps(zab, zcd, 0x44);
    return r;
}

HK_INLINE vec3 corners_load4(const scalar *x, const int32_t *index, real *fourth)
{
    __m256 a = corner_halves(x, index), b = corner_halves(x, index + 1);
    __m256 c = corner_halves(x, index + 2), d = corner_halves(x, index + 3);
    __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    __m256 zab = _mm256_unpackhi_ps(a, b), zcd = _mm256_unpackhi_ps(c, d);
    vec3 r;
    r.v[0] = (real)_mm256_shuffle_ps(ab, cd, 0x44);
    r.v[1] = (real)_mm256_shuffle_ps(ab, cd, 0xEE);
    r.v[2] = (real)_mm256_shuffle_ps(zab, zcd, 0x44);
    *fourth = (real)_mm256_shuffle_ps(zab, zcd, 0xEE);
    return r;
}

HK_INLINE void corner_put_halves(float *x, const int32_t *index, __m256 v)
{
    _mm_store_ps(x + 4 * (int64_t)index[0], _mm256_castps256_ps128(v));
    _mm_store_ps(x + 4 * (int64_t)index[4], _mm256_extractf128_ps(v, 1));
}

HK_INLINE void corners_put4(scalar *to, const int32_t *index, vec3 v, real fourth)
{
    __m256 x = (__m256)v.v[0], y = (__m256)v.v[1], z = (__m256)v.v[2], w = (__m256)fourth;
    __m256 xy = _mm256_unpacklo_ps(x, y), zw = _mm256_unpacklo_ps(z, w);
    __m256 xy2 = _mm256_unpackhi_ps(x, y), zw2 = _mm256_unpackhi_ps(z, w);
    corner_put_halves(to, index, _mm256_shuffle_ps(xy, zw, 0x44));
    corner_put_halves(to, index + 1, _mm256_shuffle_ps(xy, zw, 0xEE));
    corner_put_halves(to, index + 2, _mm256_shuffle_ps(xy2, zw2, 0x44));
    corner_put_halves(to, index + 3, _mm256_shuffle_ps(xy2, zw2, 0xEE));
}

HK_INLINE void corner_store_halves(float *to, const uint16_t *index, __m256 v)
{
    _mm_store_ps(to + 4 * (size_t)index[0], _mm256_castps256_ps128(v));
    _mm_store_ps(to + 4 * (size_t)index[4], _mm256_extractf128_ps(v, 1));
}

HK_INLINE void corners_store(scalar *to, const uint16_t *index, vec3 v)
{
    __m256 x = (__m256)v.v[0], y = (__m256)v.v[1], z = (__m256)v.v[2], w = _mm256_setzero_ps();
    __m256 xy = _mm256_unpacklo_ps(x, y), zw = _mm256_unpacklo_ps(z, w);
    __m256 xy2 = _mm256_unpackhi_ps(x, y), zw2 = _mm256_unpackhi_ps(z, w);
    corner_store_halves(to, index, _mm256_shuffle_ps(xy, zw, 0x44));
    corner_store_halves(to, index + 1, _mm256_shuffle_ps(xy, zw, 0xEE));
    corner_store_halves(to, index + 2, _mm256_shuffle_ps(xy2, zw2, 0x44));
    corner_store_halves(to, index + 3, _mm256_shuffle_ps(xy2, zw2, 0xEE));
}

#else  // doubles are memory-bound elsewhere, and other machines: plain loops

HK_INLINE vec3 corners_load(const scalar *x, const int32_t *index)
{
    union {
        real wide[3];
        scalar lane[3][HK_LANES];
    } r;
    for (int l = 0; l < HK_LANES; l++) {
        const scalar *at = x + 4 * (int64_t)index[l];
        for (int i = 0; i < 3; i++) r.lane[i][l] = at[i];
    }
    vec3 v = {{r.wide[0], r.wide[1], r.wide[2]}};
    return v;
}

HK_INLINE vec3 corners_load4(const scalar *x, const int32_t *index, real *fourth)
{
    union {
        real wide[4];
        scalar lane[4][HK_LANES];
    } r;
    for (int l = 0; l < HK_LANES; l++) {
        const scalar *at = x + 4 * (int64_t)index[l];
        for (int i = 0; i < 4; i++) r.lane[i][l] = at[i];
    }
    vec3 v = {{r.wide[0], r.wide[1], r.wide[2]}};
    *fourth = r.wide[3];
    return v;
}

HK_INLINE void corners_put4(scalar *to, const int32_t *index, vec3 v, real fourth)
{
    union {
        real wide[4];
        scalar lane[4][HK_LANES];
    } r = {{v.v[0], v.v[1], v.v[2], fourth}};
    for (int l = 0; l < HK_LANES; l++) {
        scalar *at = to + 4 * (int64_t)index[l];
        for (int i = 0; i < 4; i++) at[i] = r.lane[i][l];
    }
}

HK_INLINE void corners_store(scalar *to, const uint16_t *index, vec3 v)
{
    union {
        real wide[3];
        scalar lane[3][HK_LANES];
    } r = {{v.v[0], v.v[1], v.v[2]}};
    for (int l = 0; l < HK_LANES; l++) {
        scalar *at = to + 4 * (size_t)index[l];
        for (int i = 0; i < 3; i++) at[i] = r.lane[i][l];
        at[3] = 0;
    }
}

#endif
#endif
