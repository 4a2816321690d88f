// The two passes over one supernode for one instruction set: TARGET is its function attribute and
// NAME(x) its name; triangle.c includes this once for each.

// a · b summed up over 16 rows, for the columns of a chunk: 8 × 3 sums.
TARGET static void NAME(reduce)(const v16 acc[CHUNK][3], float *to)
{
    for (int c = 0; c < CHUNK; c++)
        for (int i = 0; i < 3; i++) {
            v16 a = acc[c][i];
            v16 b = a + __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4,
                                                5, 6, 7);
            b +=
                __builtin_shufflevector(b, b, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
            b +=
                __builtin_shufflevector(b, b, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
            to[4 * c + i] = b[0] + b[1];
        }
}

// 16 rows of the vector into lanes.
#define GATHER(rows, r)                                                   \
    do {                                                                  \
        _Alignas(64) float lane_[3][ROWS];                                \
        for (int l_ = 0; l_ < ROWS; l_++) {                               \
            const float *at_ = x + 4 * (int64_t)(rows)[l_];               \
            for (int i_ = 0; i_ < 3; i_++) lane_[i_][l_] = at_[i_];       \
        }                                                                 \
        for (int i_ = 0; i_ < 3; i_++) (r)[i_] = *(const v16 *)lane_[i_]; \
    } while (0)

// Adds `blocks` × the columns of a chunk to sums[block][3].
TARGET static void NAME(spread)(const v16 *value, int blocks, const float *x, v16 *sums)
{
    for (int b = 0; b < blocks; b++, value += CHUNK, sums += 3) {
        v16 sx = sums[0], sy = sums[1], sz = sums[2];
        for (int c = 0; c < CHUNK; c++) {
            v16 l = value[c];
            sx += l * x[4 * c];
            sy += l * x[4 * c + 1];
            sz += l * x[4 * c + 2];
        }
        sums[0] = sx;
        sums[1] = sy;
        sums[2] = sz;
    }
}

// The transposed product: sums over the rows of `blocks` for the columns of a chunk.
TARGET static void NAME(collect)(const v16 *value, int blocks, const v16 *rows, float *to)
{
    v16 acc[CHUNK][3] = {{{0}}};
    for (int b = 0; b < blocks; b++, value += CHUNK, rows += 3) {
        v16 rx = rows[0], ry = rows[1], rz = rows[2];
        for (int c = 0; c < CHUNK; c++) {
            v16 l = value[c];
            acc[c][0] += l * rx;
            acc[c][1] += l * ry;
            acc[c][2] += l * rz;
        }
    }
    NAME(reduce)((const v16(*)[3])acc, to);
}

TARGET static void NAME(forward)(const node *n, const float *value, const int32_t *row, float *x,
                                 v16 *room)
{
    _Alignas(64) float own[4 * MOST_COLUMNS];
    int columns = n->last - n->first, chunks = (columns + CHUNK - 1) / CHUNK;
    int inner = (columns + ROWS - 1) / ROWS, blocks = inner + n->blocks;
    const v16 *v = (const v16 *)(value + n->value);
    // Its own unknowns by the inverse of the diagonal block; padding has zeros.
    memset(own, 0, sizeof(float) * 4 * (size_t)(chunks * CHUNK));
    memcpy(own, x + 4 * (int64_t)n->first, sizeof(float) * 4 * (size_t)columns);
    memset(room, 0, sizeof(v16) * 3 * (size_t)blocks);
    for (int k = 0; k < chunks; k++)
        NAME(spread)(v + (int64_t)k * CHUNK * blocks, inner, own + 4 * CHUNK * k, room);
    for (int c = 0; c < columns; c++)
        for (int i = 0; i < 3; i++)
            own[4 * c + i] = x[4 * (int64_t)(n->first + c) + i] =
                room[3 * (c / ROWS) + i][c % ROWS];
    // Then what they leave to the rows below.
    v16 *below = room + 3 * inner;
    for (int k = 0; k < chunks; k++) NAME(spread)
    (v + (int64_t)k * CHUNK * blocks + CHUNK * inner, n->blocks, own + 4 * CHUNK * k, below);
    for (int b = 0; b < n->blocks; b++) {
        const int32_t *rows = row + n->row + ROWS * b;
        for (int l = 0; l < ROWS; l++) {
            float *at = x + 4 * (int64_t)rows[l];
            for (int i = 0; i < 3; i++) at[i] -= below[3 * b + i][l];
        }
    }
}

TARGET static void NAME(backward)(const node *n, const float *value, const int32_t *row, float *x,
                                  v16 *room)
{
    _Alignas(64) float own[4 * MOST_COLUMNS];
    int columns = n->last - n->first, chunks = (columns + CHUNK - 1) / CHUNK;
    int inner = (columns + ROWS - 1) / ROWS, blocks = inner + n->blocks;
    const v16 *v = (const v16 *)(value + n->value);
    v16 *below = room + 3 * inner;
    for (int b = 0; b < n->blocks; b++) GATHER(row + n->row + ROWS * b, below + 3 * b);
    for (int k = 0; k < chunks; k++) NAME(collect)
    (v + (int64_t)k * CHUNK * blocks + CHUNK * inner, n->blocks, below, own + 4 * CHUNK * k);
    memset(room, 0, sizeof(v16) * 3 * (size_t)inner);
    for (int c = 0; c < columns; c++)
        for (int i = 0; i < 3; i++)
            room[3 * (c / ROWS) + i][c % ROWS] =
                x[4 * (int64_t)(n->first + c) + i] - own[4 * c + i];
    for (int k = 0; k < chunks; k++)
        NAME(collect)(v + (int64_t)k * CHUNK * blocks, inner, room, own + 4 * CHUNK * k);
    for (int c = 0; c < columns; c++)
        for (int i = 0; i < 3; i++) x[4 * (int64_t)(n->first + c) + i] = own[4 * c + i];
}
#undef GATHER
