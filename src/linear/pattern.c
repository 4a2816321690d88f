#include "linear/pattern.h"

void hk_pattern_free(hk_pattern *pattern)
{
    hk_free(pattern->start);
    hk_free(pattern->row);
    *pattern = (hk_pattern){0};
}

int64_t hk_pattern_size(const hk_pattern *pattern)
{
    int64_t below = pattern->start[pattern->count];
    return pattern->scalar ? pattern->count + below : 6 * (int64_t)pattern->count + 9 * below;
}

static void multiply_column(const hk_pattern *p, const double *values, int b, int c,
                            const double *x, double *y)
{
    const double *v = values + hk_pattern_column(p, b, c);
    double own = x[3 * b + c], sum = 0;
    for (int r = c; r < 3; r++, v++) {
        if (r > c) {
            y[3 * b + r] += *v * own;
            sum += *v * x[3 * b + r];
        } else {
            sum += *v * own;
        }
    }
    for (int64_t k = p->start[b]; k < p->start[b + 1]; k++)
        for (int r = 0; r < 3; r++, v++) {
            y[3 * (int64_t)p->row[k] + r] += *v * own;
            sum += *v * x[3 * (int64_t)p->row[k] + r];
        }
    y[3 * b + c] += sum;
}

void hk_pattern_multiply(const hk_pattern *pattern, const double *values, const double *x,
                         double *y)
{
    memset(y, 0, 3 * sizeof(double) * (size_t)pattern->count);
    for (int b = 0; b < pattern->count; b++)
        for (int c = 0; c < 3; c++) multiply_column(pattern, values, b, c, x, y);
}
