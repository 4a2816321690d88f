// The two passes over one supernode, and the making of its numbers, for one instruction set:
// TARGET is its function attribute, NAME(x) its name, LANES the numbers of its registers and VEC
// and DVEC their types; factor.c includes this once for each.

#define INLINE TARGET static inline __attribute__((always_inline))

// One number for every chunk width, so that its loops unroll into registers.
#define FOR_WIDTH(width, call) \
    switch (width) {           \
    case 1: call(1); break;    \
    case 2: call(2); break;    \
    case 3: call(3); break;    \
    case 4: call(4); break;    \
    case 5: call(5); break;    \
    case 6: call(6); break;    \
    case 7: call(7); break;    \
    default: call(8);          \
    }

// ---------------------------------------------------------------- rows to lanes and back

INLINE v4 NAME(row_at)(const float *x, int32_t row)
{
    return *(const v4 *)(x + 4 * (int64_t)row);
}

INLINE void NAME(add_row)(float *x, int32_t row, v4 what)
{
    *(v4 *)(x + 4 * (int64_t)row) += what;
}

#if LANES == 16

#define TWO_ROWS(x, a, b) \
    __builtin_shufflevector(NAME(row_at)(x, a), NAME(row_at)(x, b), 0, 1, 2, 3, 4, 5, 6, 7)

// Rows a, b, c, d of the vector side by side.
INLINE v16 NAME(four_rows)(const float *x, int32_t a, int32_t b, int32_t c, int32_t d)
{
    v8 low = TWO_ROWS(x, a, b), high = TWO_ROWS(x, c, d);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

#define UNPACK_LOW_HALF(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define UNPACK_HIGH_HALF(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define PAIRS_LOW_HALF(a, b)   __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PAIRS_HIGH_HALF(a, b)  __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define UNPACK_LOW(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define UNPACK_HIGH(a, b) \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define PAIRS_LOW(a, b) \
    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define PAIRS_HIGH(a, b) \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define QUARTER(a, k) __builtin_shufflevector(a, a, 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3)

// 16 rows of the vector into lanes: to[3][16].
INLINE void NAME(gather)(const float *x, const int32_t *row, float *to)
{
    v16 a = NAME(four_rows)(x, row[0], row[4], row[8], row[12]);
    v16 b = NAME(four_rows)(x, row[1], row[5], row[9], row[13]);
    v16 c = NAME(four_rows)(x, row[2], row[6], row[10], row[14]);
    v16 d = NAME(four_rows)(x, row[3], row[7], row[11], row[15]);
    v16 ab = UNPACK_LOW(a, b), cd = UNPACK_LOW(c, d);
    *(v16 *)to = PAIRS_LOW(ab, cd);
    *(v16 *)(to + ROWS) = PAIRS_HIGH(ab, cd);
    *(v16 *)(to + 2 * ROWS) = PAIRS_LOW(UNPACK_HIGH(a, b), UNPACK_HIGH(c, d));
}

// The same for 8 rows.
INLINE void NAME(gather_half)(const float *x, const int32_t *row, float *to)
{
    v8 a = TWO_ROWS(x, row[0], row[4]), b = TWO_ROWS(x, row[1], row[5]);
    v8 c = TWO_ROWS(x, row[2], row[6]), d = TWO_ROWS(x, row[3], row[7]);
    v8 ab = UNPACK_LOW_HALF(a, b), cd = UNPACK_LOW_HALF(c, d);
    *(v8 *)to = PAIRS_LOW_HALF(ab, cd);
    *(v8 *)(to + ROWS) = PAIRS_HIGH_HALF(ab, cd);
    *(v8 *)(to + 2 * ROWS) = PAIRS_LOW_HALF(UNPACK_HIGH_HALF(a, b), UNPACK_HIGH_HALF(c, d));
}

INLINE void NAME(add_four_rows)(float *x, const int32_t *row, v16 what)
{
    NAME(add_row)(x, row[0], QUARTER(what, 0));
    NAME(add_row)(x, row[4], QUARTER(what, 1));
    NAME(add_row)(x, row[8], QUARTER(what, 2));
    NAME(add_row)(x, row[12], QUARTER(what, 3));
}

// Lanes from[3][16] added to 16 rows of the vector.
INLINE void NAME(scatter)(float *x, const int32_t *row, const float *from)
{
    v16 fx = *(const v16 *)from, fy = *(const v16 *)(from + ROWS);
    v16 fz = *(const v16 *)(from + 2 * ROWS), zero = {0};
    v16 xy = UNPACK_LOW(fx, fy), zw = UNPACK_LOW(fz, zero);
    NAME(add_four_rows)(x, row, PAIRS_LOW(xy, zw));
    NAME(add_four_rows)(x, row + 1, PAIRS_HIGH(xy, zw));
    xy = UNPACK_HIGH(fx, fy), zw = UNPACK_HIGH(fz, zero);
    NAME(add_four_rows)(x, row + 2, PAIRS_LOW(xy, zw));
    NAME(add_four_rows)(x, row + 3, PAIRS_HIGH(xy, zw));
}

INLINE void NAME(add_two_rows)(float *x, const int32_t *row, v8 what)
{
    NAME(add_row)(x, row[0], QUARTER(what, 0));
    NAME(add_row)(x, row[4], QUARTER(what, 1));
}

INLINE void NAME(scatter_half)(float *x, const int32_t *row, const float *from)
{
    v8 fx = *(const v8 *)from, fy = *(const v8 *)(from + ROWS);
    v8 fz = *(const v8 *)(from + 2 * ROWS), zero = {0};
    v8 xy = UNPACK_LOW_HALF(fx, fy), zw = UNPACK_LOW_HALF(fz, zero);
    NAME(add_two_rows)(x, row, PAIRS_LOW_HALF(xy, zw));
    NAME(add_two_rows)(x, row + 1, PAIRS_HIGH_HALF(xy, zw));
    xy = UNPACK_HIGH_HALF(fx, fy), zw = UNPACK_HIGH_HALF(fz, zero);
    NAME(add_two_rows)(x, row + 2, PAIRS_LOW_HALF(xy, zw));
    NAME(add_two_rows)(x, row + 3, PAIRS_HIGH_HALF(xy, zw));
}

#else

// 4 rows of the vector into lanes, and back.
INLINE void NAME(gather_four)(const float *x, const int32_t *row, float *to)
{
    v4 a = NAME(row_at)(x, row[0]), b = NAME(row_at)(x, row[1]);
    v4 c = NAME(row_at)(x, row[2]), d = NAME(row_at)(x, row[3]);
    v4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
       cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    *(v4 *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(v4 *)(to + ROWS) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(v4 *)(to + 2 * ROWS) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
}

INLINE void NAME(gather)(const float *x, const int32_t *row, float *to)
{
    for (int l = 0; l < ROWS; l += 4) NAME(gather_four)(x, row + l, to + l);
}
INLINE void NAME(gather_half)(const float *x, const int32_t *row, float *to)
{
    for (int l = 0; l < HALF; l += 4) NAME(gather_four)(x, row + l, to + l);
}

INLINE void NAME(scatter_four)(float *x, const int32_t *row, const float *from)
{
    v4 fx = *(const v4 *)from, fy = *(const v4 *)(from + ROWS), fz = *(const v4 *)(from + 2 * ROWS);
    v4 zero = {0};
    v4 xy = __builtin_shufflevector(fx, fy, 0, 4, 1, 5);
    v4 zw = __builtin_shufflevector(fz, zero, 0, 4, 1, 5);
    NAME(add_row)(x, row[0], __builtin_shufflevector(xy, zw, 0, 1, 4, 5));
    NAME(add_row)(x, row[1], __builtin_shufflevector(xy, zw, 2, 3, 6, 7));
    xy = __builtin_shufflevector(fx, fy, 2, 6, 3, 7);
    zw = __builtin_shufflevector(fz, zero, 2, 6, 3, 7);
    NAME(add_row)(x, row[2], __builtin_shufflevector(xy, zw, 0, 1, 4, 5));
    NAME(add_row)(x, row[3], __builtin_shufflevector(xy, zw, 2, 3, 6, 7));
}

INLINE void NAME(scatter)(float *x, const int32_t *row, const float *from)
{
    for (int l = 0; l < ROWS; l += 4) NAME(scatter_four)(x, row + l, from + l);
}
INLINE void NAME(scatter_half)(float *x, const int32_t *row, const float *from)
{
    for (int l = 0; l < HALF; l += 4) NAME(scatter_four)(x, row + l, from + l);
}

#endif

// ---------------------------------------------------------------- chunks

// sums[3][16] += T × the unknowns `in` of a chunk, for LANES rows: a column's numbers are `stride`
// apart.
#define DEFINE_SPREAD(name, vec)                                                              \
    INLINE void NAME(name)(const int width, const int stride, bool first, const float *value, \
                           float in[3][CHUNK], float *sums)                                   \
    {                                                                                         \
        vec sx = {0}, sy = {0}, sz = {0};                                                     \
        if (!first) {                                                                         \
            sx = *(vec *)sums;                                                                \
            sy = *(vec *)(sums + ROWS);                                                       \
            sz = *(vec *)(sums + 2 * ROWS);                                                   \
        }                                                                                     \
        _Pragma("GCC unroll 8") for (int c = 0; c < width; c++)                               \
        {                                                                                     \
            vec l = *(const vec *)(value + stride * c);                                       \
            IN_REGISTER(l);                                                                   \
            sx += l * in[0][c];                                                               \
            sy += l * in[1][c];                                                               \
            sz += l * in[2][c];                                                               \
        }                                                                                     \
        *(vec *)sums = sx;                                                                    \
        *(vec *)(sums + ROWS) = sy;                                                           \
        *(vec *)(sums + 2 * ROWS) = sz;                                                       \
    }
DEFINE_SPREAD(spread_lanes, VEC)
#if LANES == 16
DEFINE_SPREAD(spread_half, v8)
#endif
#undef DEFINE_SPREAD

// sums[block][3][16] += T × the unknowns of a chunk of `width` columns.
INLINE void NAME(spread)(const int width, bool first, const float *value, int blocks, bool half,
                         const float *own, float *sums)
{
    float in[3][CHUNK];
    for (int c = 0; c < width; c++)
        for (int i = 0; i < 3; i++) in[i][c] = own[4 * c + i];
    for (int b = 0; b < blocks; b++, value += ROWS * width, sums += 3 * ROWS)
        for (int l = 0; l < ROWS; l += LANES)
            NAME(spread_lanes)(width, ROWS, first, value + l, in, sums + l);
    if (!half) return;
#if LANES == 16
    NAME(spread_half)(width, HALF, first, value, in, sums);
#else
    for (int l = 0; l < HALF; l += LANES)
        NAME(spread_lanes)(width, HALF, first, value + l, in, sums + l);
#endif
}

#if LANES == 16

// Quarters of x, of y and of z summed up: x, y, z, z in each quarter.
INLINE v16 NAME(fold)(v16 x, v16 y, v16 z)
{
    v16 xy = UNPACK_LOW(x, y) + UNPACK_HIGH(x, y), zz = UNPACK_LOW(z, z) + UNPACK_HIGH(z, z);
    return PAIRS_LOW(xy, zz) + PAIRS_HIGH(xy, zz);
}

// The sums of the quarters of a, b, c, d, side by side.
INLINE v16 NAME(fold_four)(v16 a, v16 b, v16 c, v16 d)
{
    v16 ab =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    v16 cd =
        __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(c, d, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    return __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
                                   27) +
           __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
}

INLINE v16 NAME(widen)(v8 a)
{
    v8 zero = {0};
    return __builtin_shufflevector(a, zero, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// own[width] += Tᵀ × rows[block][3][16] for a chunk of columns.
INLINE void NAME(collect)(const int width, const float *value, int blocks, bool half,
                          const float *rows, float *own)
{
    v16 ax[CHUNK], ay[CHUNK], az[CHUNK];
#pragma GCC unroll 8
    for (int c = 0; c < CHUNK; c++) ax[c] = ay[c] = az[c] = (v16){0};
    value += (int64_t)ROWS * width * blocks;
    rows += 3 * ROWS * blocks;
    if (half) {
        v16 rx = NAME(widen)(*(const v8 *)rows), ry = NAME(widen)(*(const v8 *)(rows + ROWS));
        v16 rz = NAME(widen)(*(const v8 *)(rows + 2 * ROWS));
#pragma GCC unroll 8
        for (int c = width - 1; c >= 0; c--) {
            v16 l = NAME(widen)(*(const v8 *)(value + HALF * c));
            ax[c] += l * rx;
            ay[c] += l * ry;
            az[c] += l * rz;
        }
    }
    for (int b = 0; b < blocks; b++) {
        value -= ROWS * width;
        rows -= 3 * ROWS;
        v16 rx = *(const v16 *)rows, ry = *(const v16 *)(rows + ROWS);
        v16 rz = *(const v16 *)(rows + 2 * ROWS);
#pragma GCC unroll 8
        for (int c = width - 1; c >= 0; c--) {
            v16 l = *(const v16 *)(value + ROWS * c);
            IN_REGISTER(l);
            __builtin_prefetch(value + ROWS * c - AHEAD, 0, 2);
            ax[c] += l * rx;
            ay[c] += l * ry;
            az[c] += l * rz;
        }
    }
    v16 low = NAME(fold)(NAME(fold_four)(ax[0], ax[1], ax[2], ax[3]),
                         NAME(fold_four)(ay[0], ay[1], ay[2], ay[3]),
                         NAME(fold_four)(az[0], az[1], az[2], az[3]));
    if (width >= 4) {
        *(v16u *)own += low;
        low = NAME(fold)(NAME(fold_four)(ax[4], ax[5], ax[6], ax[7]),
                         NAME(fold_four)(ay[4], ay[5], ay[6], ay[7]),
                         NAME(fold_four)(az[4], az[5], az[6], az[7]));
        own += 16;
    }
    if (width % 4 > 0) *(v4 *)own += QUARTER(low, 0);
    if (width % 4 > 1) *(v4 *)(own + 4) += QUARTER(low, 1);
    if (width % 4 > 2) *(v4 *)(own + 8) += QUARTER(low, 2);
    if (width == CHUNK) *(v16u *)own += low;
}

#else

// Four columns at a time: their sums fit into 16 registers.
enum { NAME(GROUP) = 4 };

INLINE v4 NAME(fold)(VEC a)
{
#if LANES == 8
    return __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
#else
    return a;
#endif
}

// own += the sums over the lanes of x, y and z.
INLINE void NAME(add_sums)(VEC x, VEC y, VEC z, float *own)
{
    v4 fx = NAME(fold)(x), fy = NAME(fold)(y), fz = NAME(fold)(z), zero = {0};
    v4 xy =
        __builtin_shufflevector(fx, fy, 0, 4, 1, 5) + __builtin_shufflevector(fx, fy, 2, 6, 3, 7);
    v4 zw = __builtin_shufflevector(fz, zero, 0, 4, 1, 5) +
            __builtin_shufflevector(fz, zero, 2, 6, 3, 7);
    *(v4 *)own +=
        __builtin_shufflevector(xy, zw, 0, 1, 4, 5) + __builtin_shufflevector(xy, zw, 2, 3, 6, 7);
}

INLINE void NAME(collect_lanes)(const int width, const int stride, const float *value,
                                const float *rows, VEC acc[][3])
{
    VEC rx = *(const VEC *)rows, ry = *(const VEC *)(rows + ROWS);
    VEC rz = *(const VEC *)(rows + 2 * ROWS);
#pragma GCC unroll 4
    for (int c = 0; c < width; c++) {
        VEC l = *(const VEC *)(value + stride * c);
        IN_REGISTER(l);
        acc[c][0] += l * rx;
        acc[c][1] += l * ry;
        acc[c][2] += l * rz;
    }
}

// own[first .. last) += Tᵀ × rows for some columns of a chunk.
INLINE void NAME(collect_group)(const int first, const int last, const int width,
                                const float *value, int blocks, bool half, const float *rows,
                                float *own)
{
    const int count = last - first;
    VEC acc[NAME(GROUP)][3];
#pragma GCC unroll 4
    for (int c = 0; c < count; c++) acc[c][0] = acc[c][1] = acc[c][2] = (VEC){0};
    for (int b = 0; b < blocks; b++, value += ROWS * width, rows += 3 * ROWS)
        for (int l = 0; l < ROWS; l += LANES)
            NAME(collect_lanes)(count, ROWS, value + ROWS * first + l, rows + l, acc);
    for (int l = 0; half && l < HALF; l += LANES)
        NAME(collect_lanes)(count, HALF, value + HALF * first + l, rows + l, acc);
#pragma GCC unroll 4
    for (int c = 0; c < count; c++)
        NAME(add_sums)(acc[c][0], acc[c][1], acc[c][2], own + 4 * (first + c));
}

// own[width] += Tᵀ × rows[block][3][16] for a chunk of columns.
INLINE void NAME(collect)(const int width, const float *value, int blocks, bool half,
                          const float *rows, float *own)
{
    const int low = width < NAME(GROUP) ? width : NAME(GROUP);
    NAME(collect_group)(0, low, width, value, blocks, half, rows, own);
    if (width > low) NAME(collect_group)(low, width, width, value, blocks, half, rows, own);
}

#endif

// ---------------------------------------------------------------- narrow nodes

// Few columns: row by row, without lanes.
INLINE void NAME(forward_narrow)(const int columns, const node *n, const float *value,
                                 const int32_t *row, float *x)
{
    v4 in[NARROW];
    for (int c = 0; c < columns; c++) in[c] = NAME(row_at)(x, n->first + c);
    for (int r = 0; r < n->rows; r += HALF, value += HALF * columns)
#pragma GCC unroll 8
        for (int l = 0; l < HALF; l++) {
            v4 sum = value[l] * in[0];
            for (int c = 1; c < columns; c++) sum += value[HALF * c + l] * in[c];
            NAME(add_row)(x, row[r + l], sum);
        }
}

INLINE void NAME(backward_narrow)(const int columns, const node *n, const float *value,
                                  const int32_t *row, float *x)
{
    v4 sum[NARROW][2];
    for (int c = 0; c < columns; c++) sum[c][0] = sum[c][1] = (v4){0};
    for (int r = 0; r < n->rows; r += HALF, value += HALF * columns)
#pragma GCC unroll 8
        for (int l = 0; l < HALF; l++) {
            v4 at = NAME(row_at)(x, row[r + l]);
            for (int c = 0; c < columns; c++) sum[c][l & 1] += value[HALF * c + l] * at;
        }
    for (int c = 0; c < columns; c++) NAME(add_row)(x, n->first + c, sum[c][0] + sum[c][1]);
}

// ---------------------------------------------------------------- nodes

// Between the passes: x = Δ⁻² x for the node's own unknowns.
TARGET static void NAME(rescale)(const node *n, const float *scale, float *x)
{
    for (int64_t c = n->first; c < n->last; c++) *(v4 *)(x + 4 * c) *= scale[c];
}

TARGET static void NAME(forward)(const node *n, const float *value, const int32_t *row, float *x,
                                 float *workspace)
{
    value += n->value;
    row += n->row;
    int columns = n->last - n->first;
    if (columns <= NARROW) {
        if (columns == 1) NAME(forward_narrow)(1, n, value, row, x);
        if (columns == 2) NAME(forward_narrow)(2, n, value, row, x);
        return;
    }
    int blocks = n->rows / ROWS;
    bool half = n->rows % ROWS != 0;
    const float *in = x + 4 * (int64_t)n->first;
    for (int at = 0; at < columns; at += CHUNK) {
        int width = columns - at < CHUNK ? columns - at : CHUNK, skip = at / ROWS;
        float *sums = workspace + 3 * ROWS * skip;
#define SPREAD(w)                                                  \
    at == 0 ? NAME(spread)(w, true, value, blocks, half, in, sums) \
            : NAME(spread)(w, false, value, blocks - skip, half, in + 4 * (int64_t)at, sums)
        FOR_WIDTH(width, SPREAD)
#undef SPREAD
        value += width * (n->rows - ROWS * skip);
    }
    for (int b = 0; b < blocks; b++) NAME(scatter)(x, row + ROWS * b, workspace + 3 * ROWS * b);
    if (half) NAME(scatter_half)(x, row + ROWS * blocks, workspace + 3 * ROWS * blocks);
}

TARGET static void NAME(backward)(const node *n, const float *value, const int32_t *row, float *x,
                                  float *workspace)
{
    value += n->value;
    row += n->row;
    int columns = n->last - n->first;
    if (columns <= NARROW) {
        if (columns == 1) NAME(backward_narrow)(1, n, value, row, x);
        if (columns == 2) NAME(backward_narrow)(2, n, value, row, x);
        return;
    }
    int blocks = n->rows / ROWS;
    bool half = n->rows % ROWS != 0;
    for (int b = 0; b < blocks; b++) NAME(gather)(x, row + ROWS * b, workspace + 3 * ROWS * b);
    if (half) NAME(gather_half)(x, row + ROWS * blocks, workspace + 3 * ROWS * blocks);
    float *own = x + 4 * (int64_t)n->first;
    value += n->value_count;
    for (int at = (columns - 1) / CHUNK * CHUNK; at >= 0; at -= CHUNK) {
        int width = columns - at < CHUNK ? columns - at : CHUNK, skip = at / ROWS;
        const float *rows = workspace + 3 * ROWS * skip;
        value -= width * (n->rows - ROWS * skip);
#define COLLECT(w) NAME(collect)(w, value, blocks - skip, half, rows, own + 4 * (int64_t)at)
        FOR_WIDTH(width, COLLECT)
#undef COLLECT
    }
}

#include "linear/factor_one_kernels.inl"

// ---------------------------------------------------------------- numbers

// `lanes` rows (16 or 8) × `width` columns of the product −strip × inverse: strip[k][16] are rows
// of the supernode, inverse[k][MOST_COLUMNS] is lower triangular, so k begins at the chunk.
TARGET static void NAME(product)(const double *strip, const double *inverse, int columns, int at,
                                 int width, int lanes, float *to)
{
    for (int part = 0; part < lanes; part += LANES / 2) {
        DVEC sum[CHUNK];
#pragma GCC unroll 8
        for (int c = 0; c < CHUNK; c++) sum[c] = (DVEC){0};
        for (int k = at; k < columns; k++) {
            DVEC a = *(const DVEC *)(strip + ROWS * k + part);
            const double *m = inverse + (int64_t)k * MOST_COLUMNS + at;
#pragma GCC unroll 8
            for (int c = 0; c < CHUNK; c++) sum[c] -= a * m[c];
        }
        for (int c = 0; c < width; c++)
            for (int l = 0; l < LANES / 2; l++) to[lanes * c + part + l] = (float)sum[c][l];
    }
}

// r −= A x for x, y and z; the lower triangle of A in compressed columns.
TARGET static void NAME(subtract_product)(const hk_pattern *p, const double *values,
                                          const double *x, double *r)
{
    for (int64_t c = 0; c < p->count; c++) {
        const double *column = values + p->start[c] + c, *own = x + 4 * c;
        double sum[4], in[4];
        for (int i = 0; i < 4; i++) {
            in[i] = own[i];
            sum[i] = column[0] * in[i];
        }
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            double a = *++column;
            const double *other = x + 4 * (int64_t)p->row[k];
            double *to = r + 4 * (int64_t)p->row[k];
            for (int i = 0; i < 4; i++) {
                sum[i] += a * other[i];
                to[i] -= a * in[i];
            }
        }
        for (int i = 0; i < 4; i++) r[4 * c + i] -= sum[i];
    }
}

#undef INLINE
#undef FOR_WIDTH
#if LANES == 16
#undef UNPACK_LOW
#undef UNPACK_HIGH
#undef PAIRS_LOW
#undef PAIRS_HIGH
#undef QUARTER
#undef TWO_ROWS
#undef UNPACK_LOW_HALF
#undef UNPACK_HIGH_HALF
#undef PAIRS_LOW_HALF
#undef PAIRS_HIGH_HALF
#endif
