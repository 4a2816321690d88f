#include "linear/multigrid_cg.h"

#include <math.h>

enum { MOST_ITERATIONS = 500, RUN = 4096 };  // rows in a partial sum
enum { ROWS_FOR_THREADS = 10000 };           // below it is not worth waking them

struct hk_multigrid_cg {
    hk_sparse matrix;
    int threads;
    hk_multigrid *multigrid;
    int32_t *row;                                              // [rows] itself
    double *partial;                                           // [runs][3]
    double *residual, *solved, *before, *direction, *product;  // [rows][4]
};

static int run_count(const hk_multigrid_cg *s)
{
    return (s->matrix.rows + RUN - 1) / RUN;
}

static hk_status fill(hk_multigrid_cg *s, const hk_pattern *pattern, const double *lower,
                      int threads)
{
    size_t size = 4 * (size_t)pattern->count;
    HK_TRY(hk_sparse_from_lower(pattern, lower, &s->matrix));
    double **vectors[] = {&s->residual, &s->solved, &s->before, &s->direction, &s->product};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) {
        *vectors[k] = HK_ZEROS(double, size);
        if (!*vectors[k]) return HK_NO_MEMORY;
    }
    s->row = HK_ARRAY(int32_t, pattern->count);
    s->partial = HK_ARRAY(double, 3 * (size_t)run_count(s));
    if (!s->row || !s->partial) return HK_NO_MEMORY;
    for (int k = 0; k < pattern->count; k++) s->row[k] = k;
    return hk_multigrid_create(pattern, lower, threads, &s->multigrid);
}

hk_status hk_multigrid_cg_create(const hk_pattern *pattern, const double *lower, int threads,
                                 hk_multigrid_cg **solver)
{
    hk_multigrid_cg *s = HK_NEW(hk_multigrid_cg);
    if (!s) return HK_NO_MEMORY;
    s->threads = pattern->count < ROWS_FOR_THREADS ? 1 : threads;
    hk_status status = fill(s, pattern, lower, threads);
    if (status != HK_OK) {
        hk_multigrid_cg_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

void hk_multigrid_cg_free(hk_multigrid_cg *s)
{
    if (!s) return;
    hk_sparse_free(&s->matrix);
    hk_multigrid_free(s->multigrid);
    hk_free(s->row);
    hk_free(s->partial);
    hk_free(s->residual);
    hk_free(s->solved);
    hk_free(s->before);
    hk_free(s->direction);
    hk_free(s->product);
    hk_free(s);
}

// y = A x
static void multiply(const hk_multigrid_cg *s, const double *x, double *y)
{
    const hk_sparse *m = &s->matrix;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t r = 0; r < m->rows; r++) {
        double sum[3] = {0};
        for (int64_t k = m->start[r]; k < m->start[r + 1]; k++)
            for (int i = 0; i < 3; i++) sum[i] += m->value[k] * x[4 * (int64_t)m->column[k] + i];
        for (int i = 0; i < 3; i++) y[4 * r + i] = sum[i];
    }
}

// Of each of the three columns, with the same bits for any number of threads.
static void dot(const hk_multigrid_cg *s, const double *a, const double *b, double sum[3])
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int run = 0; run < run_count(s); run++) {
        double part[3] = {0};
        int64_t last = hk_min_int((run + 1) * RUN, s->matrix.rows);
        for (int64_t k = (int64_t)run * RUN; k < last; k++)
            for (int i = 0; i < 3; i++) part[i] += a[4 * k + i] * b[4 * k + i];
        for (int i = 0; i < 3; i++) s->partial[3 * run + i] = part[i];
    }
    for (int i = 0; i < 3; i++) sum[i] = 0;
    for (int k = 0; k < 3 * run_count(s); k++) sum[k % 3] += s->partial[k];
}

// to = a + factor × b
static void combine(const hk_multigrid_cg *s, const double *a, const double factor[3],
                    const double *b, double *to)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->matrix.rows; k++)
        for (int i = 0; i < 3; i++) to[4 * k + i] = a[4 * k + i] + factor[i] * b[4 * k + i];
}

static bool is_out(const hk_sparse *m, int64_t row)
{
    for (int64_t k = m->start[row]; k < m->start[row + 1]; k++)
        if (m->column[k] == row) return !(m->value[k] > 0);
    return true;
}

// b without the rows that are out.
static void begin(const hk_multigrid_cg *s, const double *b, double *x)
{
    for (int64_t k = 0; k < s->matrix.rows; k++) {
        bool out = is_out(&s->matrix, k);
        for (int i = 0; i < 3; i++) {
            s->residual[4 * k + i] = out ? 0 : b[4 * k + i];
            x[4 * k + i] = s->direction[4 * k + i] = s->before[4 * k + i] = 0;
        }
    }
}

// 0 where a column is done: it stays as it is then.
static double ratio(bool going, double above, double below)
{
    return going && below > 0 && isfinite(above / below) ? above / below : 0;
}

// A cycle in single precision is a linear function but for rounding: β of Polak and Ribière, which
// does not mind that.
int hk_multigrid_cg_solve(hk_multigrid_cg *s, double tolerance, const double *b, double *x)
{
    double first[3], square[3], rz[3], rz_before[3] = {0}, least[3];
    begin(s, b, x);
    dot(s, s->residual, s->residual, first);
    for (int i = 0; i < 3; i++) least[i] = first[i];
    int n = 0, since[3] = {0};
    for (; n < MOST_ITERATIONS; n++) {
        double alpha[3], beta[3], minus[3], change[3], pq[3];
        bool going[3], any = false;
        dot(s, s->residual, s->residual, square);
        for (int i = 0; i < 3; i++) {
            since[i] = square[i] < least[i] ? 0 : since[i] + 1;
            least[i] = fmin(least[i], square[i]);
            going[i] = square[i] > tolerance * tolerance * first[i] && since[i] < 20;
            any |= going[i];
        }
        if (!any) break;
        hk_multigrid_apply(s->multigrid, s->row, s->residual, s->solved);
        dot(s, s->residual, s->solved, rz);
        dot(s, s->before, s->solved, change);
        for (int i = 0; i < 3; i++) beta[i] = ratio(going[i], rz[i] - change[i], rz_before[i]);
        combine(s, s->solved, beta, s->direction, s->direction);
        multiply(s, s->direction, s->product);
        dot(s, s->direction, s->product, pq);
        for (int i = 0; i < 3; i++) {
            alpha[i] = ratio(going[i], rz[i], pq[i]);
            minus[i] = -alpha[i];
            rz_before[i] = rz[i];
        }
        memcpy(s->before, s->residual, 4 * sizeof(double) * (size_t)s->matrix.rows);
        combine(s, x, alpha, s->direction, x);
        combine(s, s->residual, minus, s->product, s->residual);
    }
    return n;
}
