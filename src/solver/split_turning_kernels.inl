// What split_turning.c does in wide registers; included once an instruction set, with TARGET and
// NAME.

// The mean gradients of the clusters at x, and what Δ₀ changes of them.
TARGET static void NAME(measure)(const shape *s, const turner *each, int count,
                                 const int32_t *place, const float *x, const float *vector)
{
    place += each->vertex_start;
    for (int c = 0; c < s->clusters; c++) {
        quad now[3] = {{0}}, change[3] = {{0}};
        for (int e = s->start[c]; e < s->start[c + 1]; e++) {
            const entry *at = &s->entries[e];
            quad position = *(const quad *)(x + 4 * (int64_t)place[at->vertex]);
            for (int j = 0; j < 3; j++) now[j] += at->slope[j] * position;
            if (at->unknown < 0) continue;
            quad moved = *(const quad *)(vector + 4 * ((int64_t)at->unknown + each->shift));
            for (int j = 0; j < 3; j++) change[j] += at->slope[j] * moved;
        }
        for (int k = 0; k < 9; k++) {
            each->gradient[k * count + c] = now[k % 3][k / 3];
            each->change[k * count + c] = change[k % 3][k / 3];
        }
    }
}

// Solves the symmetric system in the upper triangle of a[count][row], with the right-hand side in
// column `count`, in place; false: a pivot is not above `least`.
TARGET static bool NAME(eliminate)(int count, int row, double least, double *a)
{
    for (int k = 0; k < count; k++) {
        const double *pivot = a + (int64_t)k * row;
        if (!(pivot[k] > least)) return false;
        double inverse = 1 / pivot[k];
        for (int i = k + 1; i < count; i++) {
            double *to = a + (int64_t)i * row, factor = pivot[i] * inverse;
            for (int j = i & ~7; j < row; j += 8)
                *(d8 *)(to + j) -= factor * *(const d8 *)(pivot + j);
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        double *at = a + (int64_t)i * row, sum = at[count];
        for (int j = i + 1; j < count; j++) sum -= at[j] * a[(int64_t)j * row + count];
        at[count] = sum / at[i];
    }
    return isfinite(a[count]);
}

// Adds P × turn to the unknowns of blocks begin … end - 1.
TARGET static void NAME(add)(const shape *s, const turner *each, int begin, int end, float *vector,
                             float *beyond)
{
    int columns = 3 * s->clusters;
    for (int b = begin; b < end; b++) {
        const float *from = s->columns + (int64_t)b * columns * BLOCK;
        v16 sum[3] = {{0}};
        for (int q = 0; q < columns; q++) {
            v16 column = *(const v16 *)(from + (int64_t)q * BLOCK);
            for (int i = 0; i < 3; i++) sum[i] += column * each->turn[4 * q + i];
        }
        for (int l = 0; l < BLOCK && b * BLOCK + l < s->unknowns; l++) {
            int64_t to = 4 * ((int64_t)s->row[b * BLOCK + l] + each->shift);
            quad more = {sum[0][l], sum[1][l], sum[2][l], 0}, before = *(quad *)(vector + to);
            quad after = before + more;
            // What rounding lost of the sum (Dekker's; one of the two may be the larger).
            if (beyond) {
                quad back = after - before;
                *(quad *)(beyond + to) += (before - (after - back)) + (more - back);
            }
            *(quad *)(vector + to) = after;
        }
    }
}
