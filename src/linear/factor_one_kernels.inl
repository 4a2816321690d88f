// The two passes over one supernode for one right-hand side, and for one instruction set (see
// factor_kernels.inl, which has them for three, and the layout of the numbers).

// sums[LANES] += T × the unknowns `in` of a chunk: a column's numbers are `stride` apart. Two sums,
// because each waits for its last.
#define DEFINE_SPREAD(name, vec)                                                              \
    INLINE void NAME(name)(const int width, const int stride, bool first, const float *value, \
                           const float *in, float *sums)                                      \
    {                                                                                         \
        vec even = {0}, odd = {0};                                                            \
        if (!first) even = *(vec *)sums;                                                      \
        _Pragma("GCC unroll 8") for (int c = 0; c < width; c++)                               \
        {                                                                                     \
            if (c % 2 == 0)                                                                   \
                even += *(const vec *)(value + stride * c) * in[c];                           \
            else                                                                              \
                odd += *(const vec *)(value + stride * c) * in[c];                            \
        }                                                                                     \
        *(vec *)sums = even + odd;                                                            \
    }
DEFINE_SPREAD(spread_one_lanes, VEC)
#if LANES == 16
DEFINE_SPREAD(spread_one_half, v8)
#endif
#undef DEFINE_SPREAD

// sums[block][16] += T × the unknowns of a chunk of `width` columns.
INLINE void NAME(spread_one)(const int width, bool first, const float *value, int blocks, bool half,
                             const float *own, float *sums)
{
    float in[CHUNK];
    for (int c = 0; c < width; c++) in[c] = own[c];
    for (int b = 0; b < blocks; b++, value += ROWS * width, sums += ROWS)
        for (int l = 0; l < ROWS; l += LANES)
            NAME(spread_one_lanes)(width, ROWS, first, value + l, in, sums + l);
    if (!half) return;
#if LANES == 16
    NAME(spread_one_half)(width, HALF, first, value, in, sums);
#else
    for (int l = 0; l < HALF; l += LANES)
        NAME(spread_one_lanes)(width, HALF, first, value + l, in, sums + l);
#endif
}

// The sum over the lanes.
INLINE float NAME(total)(VEC a)
{
#if LANES == 16
    v8 half = __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES == 8
    v8 half = a;
#endif
#if LANES >= 8
    v4 four = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
              __builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
    v4 four = a;
#endif
    return (four[0] + four[2]) + (four[1] + four[3]);
}

// own[width] += Tᵀ × rows[block][16] for a chunk of columns.
INLINE void NAME(collect_one)(const int width, const float *value, int blocks, bool half,
                              const float *rows, float *own)
{
    VEC sum[CHUNK];
#pragma GCC unroll 8
    for (int c = 0; c < width; c++) sum[c] = (VEC){0};
    for (int b = 0; b < blocks; b++, value += ROWS * width, rows += ROWS)
        for (int l = 0; l < ROWS; l += LANES) {
            VEC at = *(const VEC *)(rows + l);
#pragma GCC unroll 8
            for (int c = 0; c < width; c++) sum[c] += *(const VEC *)(value + ROWS * c + l) * at;
        }
#if LANES == 16
    if (half) {
        v16 at = NAME(widen)(*(const v8 *)rows);
#pragma GCC unroll 8
        for (int c = 0; c < width; c++)
            sum[c] += NAME(widen)(*(const v8 *)(value + HALF * c)) * at;
    }
#else
    for (int l = 0; half && l < HALF; l += LANES) {
        VEC at = *(const VEC *)(rows + l);
#pragma GCC unroll 8
        for (int c = 0; c < width; c++) sum[c] += *(const VEC *)(value + HALF * c + l) * at;
    }
#endif
#pragma GCC unroll 8
    for (int c = 0; c < width; c++) own[c] += NAME(total)(sum[c]);
}

// ---------------------------------------------------------------- nodes

INLINE void NAME(forward_one_narrow)(const int columns, const node *n, const float *value,
                                     const int32_t *row, float *x)
{
    float in[NARROW];
    for (int c = 0; c < columns; c++) in[c] = x[n->first + c];
    for (int r = 0; r < n->rows; r += HALF, value += HALF * columns)
        for (int l = 0; l < HALF; l++)
            for (int c = 0; c < columns; c++) x[row[r + l]] += value[HALF * c + l] * in[c];
}

INLINE void NAME(backward_one_narrow)(const int columns, const node *n, const float *value,
                                      const int32_t *row, float *x)
{
    float sum[NARROW] = {0};
    for (int r = 0; r < n->rows; r += HALF, value += HALF * columns)
        for (int l = 0; l < HALF; l++)
            for (int c = 0; c < columns; c++) sum[c] += value[HALF * c + l] * x[row[r + l]];
    for (int c = 0; c < columns; c++) x[n->first + c] += sum[c];
}

TARGET static void NAME(forward_one)(const node *n, const float *value, const int32_t *row,
                                     float *x, float *workspace)
{
    value += n->value;
    row += n->row;
    int columns = n->last - n->first;
    if (columns <= NARROW) {
        if (columns == 1) NAME(forward_one_narrow)(1, n, value, row, x);
        if (columns == 2) NAME(forward_one_narrow)(2, n, value, row, x);
        return;
    }
    int blocks = n->rows / ROWS;
    bool half = n->rows % ROWS != 0;
    const float *in = x + n->first;
    for (int at = 0; at < columns; at += CHUNK) {
        int width = columns - at < CHUNK ? columns - at : CHUNK, skip = at / ROWS;
        float *sums = workspace + ROWS * skip;
#define SPREAD(w)                                                      \
    at == 0 ? NAME(spread_one)(w, true, value, blocks, half, in, sums) \
            : NAME(spread_one)(w, false, value, blocks - skip, half, in + at, sums)
        FOR_WIDTH(width, SPREAD)
#undef SPREAD
        value += width * (n->rows - ROWS * skip);
    }
    for (int r = 0; r < n->rows; r++) x[row[r]] += workspace[r];
}

TARGET static void NAME(backward_one)(const node *n, const float *value, const int32_t *row,
                                      float *x, float *workspace)
{
    value += n->value;
    row += n->row;
    int columns = n->last - n->first;
    if (columns <= NARROW) {
        if (columns == 1) NAME(backward_one_narrow)(1, n, value, row, x);
        if (columns == 2) NAME(backward_one_narrow)(2, n, value, row, x);
        return;
    }
    int blocks = n->rows / ROWS;
    bool half = n->rows % ROWS != 0;
    for (int r = 0; r < n->rows; r++) workspace[r] = x[row[r]];
    float *own = x + n->first;
    for (int at = 0; at < columns; at += CHUNK) {
        int width = columns - at < CHUNK ? columns - at : CHUNK, skip = at / ROWS;
#define COLLECT(w) \
    NAME(collect_one)(w, value, blocks - skip, half, workspace + ROWS * skip, own + at)
        FOR_WIDTH(width, COLLECT)
#undef COLLECT
        value += width * (n->rows - ROWS * skip);
    }
}
