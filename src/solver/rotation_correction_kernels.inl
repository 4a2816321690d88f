// What rotation_correction.c does in wide registers; included once an instruction set, with TARGET,
// NAME, and LANES, VEC and DVEC for its registers.

// Adds a vertex to the gradient at x, and to what Δ₀ changes of it.
TARGET static inline void NAME(add_entry)(const entry *at, int32_t shift, const int32_t *place,
                                          const float *x, const float *vector, quad now[3],
                                          quad change[3])
{
    quad position = *(const quad *)(x + 4 * (int64_t)place[at->vertex]), moved = {0};
    if (at->unknown >= 0) moved = *(const quad *)(vector + 4 * ((int64_t)at->unknown + shift));
    for (int j = 0; j < 3; j++) {
        now[j] += at->slope[j] * position;
        change[j] += at->slope[j] * moved;
    }
}

// The mean gradients of the clusters at x, and what Δ₀ changes of them. Two sums of each, so that
// additions need not wait for each other.
TARGET static void NAME(measure)(const shape *s, const turner *each, int count,
                                 const int32_t *place, const float *x, const float *vector)
{
    place += each->vertex_start;
    for (int c = 0; c < s->clusters; c++) {
        quad now[3] = {{0}}, change[3] = {{0}}, now2[3] = {{0}}, change2[3] = {{0}};
        int e = s->start[c], end = s->start[c + 1];
        for (; e + 1 < end; e += 2) {
            NAME(add_entry)(&s->entries[e], each->shift, place, x, vector, now, change);
            NAME(add_entry)(&s->entries[e + 1], each->shift, place, x, vector, now2, change2);
        }
        if (e < end) NAME(add_entry)(&s->entries[e], each->shift, place, x, vector, now, change);
        for (int k = 0; k < 9; k++) {
            each->gradient[k * count + c] = now[k % 3][k / 3] + now2[k % 3][k / 3];
            each->change[k * count + c] = change[k % 3][k / 3] + change2[k % 3][k / 3];
        }
    }
}

// The upper triangle of C⁻¹ − √θ B A⁻¹ Bᵀ √θ, whose block cd is ¼ (tr S − Sᵀ), S = R_c τ_cd R_dᵀ
// with rotations that have their √θ; and √θ B Δ₀ in the column behind it.
TARGET static void NAME(fill)(const shape *s, const turner *each, int count, const double *rotation,
                              double *a)
{
    int row = row_of(s), n = 3 * s->clusters;
    for (int c = 0; c < s->clusters; c++) {
        const double *R = rotation + 9 * c, *tau = s->tau + (int64_t)3 * c * n;
        double *to = a + (int64_t)3 * c * row;
        for (int i = 0; i < 3; i++)  // a = R_c τ
            for (int j = 3 * c; j < n; j++)
                to[i * row + j] =
                    R[3 * i] * tau[j] + R[3 * i + 1] * tau[n + j] + R[3 * i + 2] * tau[2 * n + j];
        for (int d = c; d < s->clusters; d++) {
            const double *Q = rotation + 9 * d;
            double S[9], *at = to + 3 * d;
            for (int k = 0; k < 9; k++) {
                const double *left = at + k / 3 * row, *right = Q + 3 * (k % 3);
                S[k] = -0.25 * (left[0] * right[0] + left[1] * right[1] + left[2] * right[2]);
            }
            double trace = S[0] + S[4] + S[8];
            for (int k = 0; k < 9; k++)
                at[k / 3 * row + k % 3] = (k % 4 == 0 ? trace : 0) - S[3 * (k % 3) + k / 3];
        }
        for (int i = 0; i < 3; i++) {
            const float *change = each->change + c;
            int j = (i + 1) % 3, k = (i + 2) % 3;
            double spin = 0;
            for (int e = 0; e < 3; e++)
                spin += R[3 * j + e] * (double)change[(3 * k + e) * count] -
                        R[3 * k + e] * (double)change[(3 * j + e) * count];
            to[i * row + 3 * c + i] += 1 / s->weight[c];
            to[i * row + n] = 0.5 * spin;
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
            for (int j = i / (LANES / 2) * (LANES / 2); j < row; j += LANES / 2)
                *(DVEC *)(to + j) -= factor * *(const DVEC *)(pivot + j);
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        double *at = a + (int64_t)i * row, sum = at[count];
        for (int j = i + 1; j < count; j++) sum -= at[j] * a[(int64_t)j * row + count];
        at[count] = sum / at[i];
    }
    return isfinite(a[count]);
}

// Sums of P × turn over the columns, for 4 registers of rows at most: to[3][BLOCK]. As many sums as
// there are registers for, and each number of the columns read once.
TARGET static inline void NAME(multiply)(const float *from, int columns, const float *turn,
                                         float *to)
{
    enum { PARTS = BLOCK / LANES < 4 ? BLOCK / LANES : 4 };
    VEC sum[3][PARTS] = {{{0}}};
    for (int q = 0; q < columns; q++, from += BLOCK, turn += 4)
#pragma GCC unroll 4
        for (int l = 0; l < PARTS; l++) {
            VEC column = *(const VEC *)(from + LANES * l);
            sum[0][l] += column * turn[0];
            sum[1][l] += column * turn[1];
            sum[2][l] += column * turn[2];
        }
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
#pragma GCC unroll 4
        for (int l = 0; l < PARTS; l++) *(VEC *)(to + BLOCK * i + LANES * l) = sum[i][l];
}

// Adds P × turn to the unknowns of blocks begin … end - 1.
TARGET static void NAME(add)(const shape *s, const turner *each, int begin, int end, float *vector,
                             float *beyond)
{
    int columns = 3 * s->clusters;
    for (int b = begin; b < end; b++) {
        const float *from = s->columns + (int64_t)b * columns * BLOCK;
        _Alignas(64) float sum[3 * BLOCK];
        for (int l = 0; l < BLOCK; l += 4 * LANES)
            NAME(multiply)(from + l, columns, each->turn, sum + l);
        const float *more_x = sum, *more_y = more_x + BLOCK, *more_z = more_y + BLOCK;
        for (int l = 0; l < BLOCK && b * BLOCK + l < s->unknowns; l++) {
            int64_t to = 4 * ((int64_t)s->row[b * BLOCK + l] + each->shift);
            quad more = {more_x[l], more_y[l], more_z[l], 0}, before = *(quad *)(vector + to);
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
