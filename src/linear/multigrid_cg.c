#include "linear/multigrid_cg.h"

#include <math.h>

enum { MOST_ITERATIONS = 500 };

struct hk_multigrid_cg {
    const hk_pattern *pattern;
    const double *lower;
    hk_multigrid *multigrid;
    int32_t *row;                                              // [count] itself
    double *residual, *solved, *before, *direction, *product;  // [count][4]
};

hk_status hk_multigrid_cg_create(const hk_pattern *pattern, const double *lower, int threads,
                                 hk_multigrid_cg **solver)
{
    hk_multigrid_cg *s = HK_NEW(hk_multigrid_cg);
    if (!s) return HK_NO_MEMORY;
    size_t size = 4 * (size_t)pattern->count;
    s->pattern = pattern;
    s->lower = lower;
    s->row = HK_ARRAY(int32_t, pattern->count);
    s->residual = HK_ZEROS(double, size);
    s->solved = HK_ZEROS(double, size);
    s->before = HK_ZEROS(double, size);
    s->direction = HK_ZEROS(double, size);
    s->product = HK_ZEROS(double, size);
    bool complete = s->row && s->residual && s->solved && s->before && s->direction && s->product;
    hk_status status =
        complete ? hk_multigrid_create(pattern, lower, threads, &s->multigrid) : HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_multigrid_cg_free(s);
        return status;
    }
    for (int k = 0; k < pattern->count; k++) s->row[k] = k;
    *solver = s;
    return HK_OK;
}

void hk_multigrid_cg_free(hk_multigrid_cg *s)
{
    if (!s) return;
    hk_multigrid_free(s->multigrid);
    hk_free(s->row);
    hk_free(s->residual);
    hk_free(s->solved);
    hk_free(s->before);
    hk_free(s->direction);
    hk_free(s->product);
    hk_free(s);
}

static void multiply(const hk_multigrid_cg *s, const double *x, double *y)
{
    const hk_pattern *p = s->pattern;
    for (int64_t c = 0; c < p->count; c++) {
        double diagonal = s->lower[hk_pattern_column(p, (int)c, 0)];
        for (int i = 0; i < 3; i++) y[4 * c + i] = diagonal * x[4 * c + i];
    }
    for (int64_t c = 0; c < p->count; c++) {
        const double *below = s->lower + hk_pattern_column(p, (int)c, 0) + 1;
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            double a = below[k - p->start[c]];
            int64_t r = p->row[k];
            for (int i = 0; i < 3; i++) {
                y[4 * r + i] += a * x[4 * c + i];
                y[4 * c + i] += a * x[4 * r + i];
            }
        }
    }
}

// Of each of the three columns.
static void dot(const hk_multigrid_cg *s, const double *a, const double *b, double sum[3])
{
    for (int i = 0; i < 3; i++) sum[i] = 0;
    for (int64_t k = 0; k < s->pattern->count; k++)
        for (int i = 0; i < 3; i++) sum[i] += a[4 * k + i] * b[4 * k + i];
}

// to = a + factor × b
static void combine(const hk_multigrid_cg *s, const double *a, const double factor[3],
                    const double *b, double *to)
{
    for (int64_t k = 0; k < s->pattern->count; k++)
        for (int i = 0; i < 3; i++) to[4 * k + i] = a[4 * k + i] + factor[i] * b[4 * k + i];
}

// b without the rows that are out.
static void begin(const hk_multigrid_cg *s, const double *b, double *x)
{
    const hk_pattern *p = s->pattern;
    for (int64_t k = 0; k < p->count; k++) {
        bool in = s->lower[hk_pattern_column(p, (int)k, 0)] > 0;
        for (int i = 0; i < 3; i++) {
            s->residual[4 * k + i] = in ? b[4 * k + i] : 0;
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
        memcpy(s->before, s->residual, 4 * sizeof(double) * (size_t)s->pattern->count);
        combine(s, x, alpha, s->direction, x);
        combine(s, s->residual, minus, s->product, s->residual);
    }
    return n;
}
