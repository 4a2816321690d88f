#include "linear/block_sparse.h"

#include <math.h>

enum { ROWS_FOR_THREADS = 2000 };  // below it is not worth waking them

// ---------------------------------------------------------------- creation

// Both triangles: row r has what is below the diagonal of column r, and its own columns before.
static void fill_pattern(const hk_pattern *p, hk_block_sparse *m)
{
    int64_t *next = m->start + 1;  // [rows + 1]: filling leaves the starts in place
    for (int c = 0; c < p->count; c++) {
        next[c + 1] += 1 + (p->start[c + 1] - p->start[c]);
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) next[p->row[k] + 1]++;
    }
    for (int r = 0; r < p->count; r++) next[r + 1] += next[r];
    // Columns come in rising order, and so do the rows of each: every row is filled in order.
    for (int c = 0; c < p->count; c++) {
        m->diagonal[c] = next[c]++;
        m->column[m->diagonal[c]] = c;
        m->mate[m->diagonal[c]] = m->diagonal[c];
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int64_t lower = next[p->row[k]]++, upper = next[c]++;
            m->column[lower] = c;
            m->column[upper] = p->row[k];
            m->mate[lower] = upper;
            m->mate[upper] = lower;
        }
    }
}

hk_status hk_block_sparse_create(const hk_pattern *pattern, int threads, hk_block_sparse **matrix)
{
    size_t rows = (size_t)pattern->count, blocks = rows + 2 * (size_t)pattern->start[rows];
    hk_block_sparse *m = HK_NEW(hk_block_sparse);
    if (!m) return HK_NO_MEMORY;
    m->rows = pattern->count;
    m->threads = m->rows < ROWS_FOR_THREADS ? 1 : threads;
    m->start = HK_ZEROS(int64_t, rows + 2);
    m->column = HK_ZEROS(int32_t, blocks);
    m->mate = HK_ZEROS(int64_t, blocks);
    m->diagonal = HK_ZEROS(int64_t, rows);
    m->value = HK_ZEROS(double, 9 * blocks + 1);  // products read one number more
    m->inverse = HK_ZEROS(double, 9 * rows);
    if (!m->start || !m->column || !m->mate || !m->diagonal || !m->value || !m->inverse) {
        hk_block_sparse_free(m);
        return HK_NO_MEMORY;
    }
    fill_pattern(pattern, m);
    *matrix = m;
    return HK_OK;
}

void hk_block_sparse_free(hk_block_sparse *m)
{
    if (!m) return;
    hk_free(m->start);
    hk_free(m->column);
    hk_free(m->mate);
    hk_free(m->diagonal);
    hk_free(m->value);
    hk_free(m->inverse);
    hk_free(m);
}

// ---------------------------------------------------------------- numbers

void hk_block_sparse_set(hk_block_sparse *m, const hk_pattern *p, const double *lower)
{
#pragma omp parallel for schedule(static) num_threads(m->threads) if (m->threads > 1)
    for (int c = 0; c < p->count; c++) {
        const double *column[3];
        for (int j = 0; j < 3; j++) column[j] = lower + hk_pattern_column(p, c, j);
        double *block = m->value + 9 * m->diagonal[c];
        for (int j = 0; j < 3; j++)
            for (int i = j; i < 3; i++) block[3 * i + j] = block[3 * j + i] = *column[j]++;
        // The blocks after the diagonal of row c are those below it in column c.
        for (int64_t k = 0; k < p->start[c + 1] - p->start[c]; k++) {
            double *upper = m->value + 9 * (m->diagonal[c] + 1 + k);
            double *below = m->value + 9 * m->mate[m->diagonal[c] + 1 + k];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    below[3 * j + i] = upper[3 * i + j] = column[j][3 * k + i];
        }
    }
}

void hk_block_sparse_add(hk_block_sparse *m, int row, int column, const double block[9])
{
    int64_t low = m->start[row], high = m->start[row + 1];
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (m->column[middle] <= column)
            low = middle;
        else
            high = middle;
    }
    for (int i = 0; i < 9; i++) m->value[hk_block_sparse_at(low, i / 3, i % 3)] += block[i];
}

// ---------------------------------------------------------------- products

typedef double quad __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double))));

// Rows [first, last) of y = A x. Blocks are by columns, so that a row of y is one register; its
// fourth lane is rubbish until the end.
#define ROWS_PRODUCT(NAME, TARGET)                                                          \
    TARGET static void NAME(const hk_block_sparse *m, int first, int last, const double *x, \
                            double *y)                                                      \
    {                                                                                       \
        for (int r = first; r < last; r++) {                                                \
            quad a = {0}, b = {0}, c = {0};                                                 \
            for (int64_t k = m->start[r]; k < m->start[r + 1]; k++) {                       \
                const double *v = m->value + 9 * k, *p = x + 4 * (int64_t)m->column[k];     \
                a += *(const quad *)v * p[0];                                               \
                b += *(const quad *)(v + 3) * p[1];                                         \
                c += *(const quad *)(v + 6) * p[2];                                         \
            }                                                                               \
            a += b + c;                                                                     \
            a[3] = 0;                                                                       \
            *(quad *)(y + 4 * (int64_t)r) = a;                                              \
        }                                                                                   \
    }
ROWS_PRODUCT(rows_generic, )
#ifdef __x86_64__
ROWS_PRODUCT(rows_avx2, __attribute__((target("avx2,fma"))))
#endif

typedef void rows_fn(const hk_block_sparse *m, int first, int last, const double *x, double *y);
static rows_fn *best_rows(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return rows_avx2;
#endif
    return rows_generic;
}

void hk_block_sparse_apply(const hk_block_sparse *m, const double *x, double *y)
{
    enum { ROWS = 256 };  // that a thread takes at a time
    rows_fn *rows = best_rows();
#pragma omp parallel for schedule(static) num_threads(m->threads) if (m->threads > 1)
    for (int r = 0; r < m->rows; r += ROWS)
        rows(m, r, r + ROWS < m->rows ? r + ROWS : m->rows, x, y);
}

void hk_block_sparse_apply_transposed(const hk_block_sparse *m, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(m->threads) if (m->threads > 1)
    for (int r = 0; r < m->rows; r++) {
        double a = 0, b = 0, c = 0;
        for (int64_t k = m->start[r]; k < m->start[r + 1]; k++) {
            const double *v = m->value + 9 * m->mate[k], *p = x + 4 * (int64_t)m->column[k];
            a += v[0] * p[0] + v[1] * p[1] + v[2] * p[2];
            b += v[3] * p[0] + v[4] * p[1] + v[5] * p[2];
            c += v[6] * p[0] + v[7] * p[1] + v[8] * p[2];
        }
        *(quad *)(y + 4 * (int64_t)r) = (quad){a, b, c, 0};
    }
}

// ---------------------------------------------------------------- Jacobi's preconditioner

// One of Jacobi's rotations: a becomes diagonal in rows p and q, v turns along.
static void turn(double a[3][3], double v[3][3], int p, int q)
{
    if (a[p][q] == 0) return;
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < 3; i++) {
        double ip = a[i][p], iq = a[i][q];
        a[i][p] = c * ip - s * iq, a[i][q] = s * ip + c * iq;
    }
    for (int i = 0; i < 3; i++) {
        double pi = a[p][i], qi = a[q][i];
        a[p][i] = c * pi - s * qi, a[q][i] = s * pi + c * qi;
        double vp = v[i][p], vq = v[i][q];
        v[i][p] = c * vp - s * vq, v[i][q] = s * vp + c * vq;
    }
}

// |A|⁻¹ of the symmetric part, with eigenvalues no smaller than a part of the greatest.
static void invert(const double block[9], double inverse[9])
{
    double a[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, most = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = 0.5 * (block[3 * i + j] + block[3 * j + i]);
    for (int sweep = 0; sweep < 8; sweep++) turn(a, v, 0, 1), turn(a, v, 0, 2), turn(a, v, 1, 2);
    for (int i = 0; i < 3; i++) most = fmax(most, fabs(a[i][i]));
    for (int i = 0; i < 9; i++) inverse[i] = 0;
    for (int k = 0; k < 3; k++) {
        double value = fmax(fabs(a[k][k]), 1e-8 * most), over = value > 0 ? 1 / value : 1;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) inverse[3 * i + j] += over * v[i][k] * v[j][k];
    }
}

void hk_block_sparse_invert_diagonal(hk_block_sparse *m)
{
#pragma omp parallel for schedule(static) num_threads(m->threads) if (m->threads > 1)
    for (int r = 0; r < m->rows; r++)
        invert(m->value + 9 * m->diagonal[r], m->inverse + 9 * (int64_t)r);
}

void hk_block_sparse_precondition(const hk_block_sparse *m, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(m->threads) if (m->threads > 1)
    for (int64_t r = 0; r < m->rows; r++) {
        const double *v = m->inverse + 9 * r, *p = x + 4 * r;
        for (int i = 0; i < 3; i++)
            y[4 * r + i] = v[3 * i] * p[0] + v[3 * i + 1] * p[1] + v[3 * i + 2] * p[2];
        y[4 * r + 3] = 0;
    }
}

// ---------------------------------------------------------------- for krylov.h

static void apply(void *context, const double *x, double *y)
{
    hk_block_sparse_apply(context, x, y);
}

static void apply_transposed(void *context, const double *x, double *y)
{
    hk_block_sparse_apply_transposed(context, x, y);
}

static void precondition(void *context, const double *r, double *z)
{
    hk_block_sparse_precondition(context, r, z);
}

hk_operator hk_block_sparse_operator(hk_block_sparse *m, bool symmetric, bool preconditioned)
{
    return (hk_operator){.size = 4 * (int64_t)m->rows,
                         .apply = apply,
                         .apply_transposed = symmetric ? NULL : apply_transposed,
                         .precondition = preconditioned ? precondition : NULL,
                         .context = m};
}
