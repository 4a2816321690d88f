#include "linear/rows.h"

enum { RUN = 1024 };  // rows in a partial sum

// ---------------------------------------------------------------- structure

static void count_entries(const hk_pattern *p, hk_rows *r)
{
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            r->start[c + 1]++;
            r->start[p->row[k] + 1]++;
        }
    for (int c = 0; c < p->count; c++) r->start[c + 1] += r->start[c];
}

static void fill_entries(const hk_pattern *p, hk_rows *r, int64_t *next)
{
    memcpy(next, r->start, sizeof(int64_t) * (size_t)p->count);
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int64_t at = hk_pattern_column(p, c, 0) + 1 + k - p->start[c];
            int row = p->row[k];
            r->column[next[c]] = row;
            r->source[next[c]++] = at;
            r->column[next[row]] = c;
            r->source[next[row]++] = at;
        }
}

static hk_status build(const hk_pattern *p, hk_rows *r)
{
    size_t count = (size_t)p->count, entries = 2 * (size_t)p->start[p->count];
    r->start = HK_ZEROS(int64_t, count + 1);
    r->column = HK_ARRAY(int32_t, entries);
    r->value = HK_ARRAY(double, entries);
    r->source = HK_ARRAY(int64_t, entries);
    r->diagonal = HK_ARRAY(double, count);
    r->partial = HK_ARRAY(double, count / RUN + 1);
    for (int k = 0; k < HK_COUNT_OF(r->workspace); k++) {
        r->workspace[k] = HK_ARRAY(double, 3 * count);
        if (!r->workspace[k]) return HK_NO_MEMORY;
    }
    int64_t *next = HK_ARRAY(int64_t, count);
    bool complete = r->start && r->column && r->value && r->source && r->diagonal && r->partial;
    if (!complete || !next) {
        hk_free(next);
        return HK_NO_MEMORY;
    }
    count_entries(p, r);
    fill_entries(p, r, next);
    hk_free(next);
    return hk_colour_graph(r->count, r->start, r->column, NULL, &r->colours);
}

hk_status hk_rows_create(const hk_pattern *pattern, int threads, hk_rows **rows)
{
    hk_rows *r = HK_NEW(hk_rows);
    if (!r) return HK_NO_MEMORY;
    r->count = pattern->count;
    r->threads = threads;
    hk_status status = build(pattern, r);
    if (status != HK_OK) {
        hk_rows_free(r);
        return status;
    }
    *rows = r;
    return HK_OK;
}

void hk_rows_free(hk_rows *r)
{
    if (!r) return;
    hk_free(r->start);
    hk_free(r->column);
    hk_free(r->value);
    hk_free(r->diagonal);
    hk_free(r->source);
    hk_colouring_release(&r->colours);
    hk_free(r->partial);
    for (int k = 0; k < HK_COUNT_OF(r->workspace); k++) hk_free(r->workspace[k]);
    hk_free(r);
}

void hk_rows_set(hk_rows *r, const hk_pattern *pattern, const double *lower)
{
    for (int64_t k = 0; k < r->start[r->count]; k++) r->value[k] = lower[r->source[k]];
    for (int i = 0; i < r->count; i++) r->diagonal[i] = lower[hk_pattern_column(pattern, i, 0)];
}

// ---------------------------------------------------------------- products

// The row's product with x without the diagonal.
static inline void off_diagonal(const hk_rows *r, int i, const double *x, double sum[3])
{
    sum[0] = sum[1] = sum[2] = 0;
    for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
        const double *other = x + 3 * (int64_t)r->column[k];
        for (int c = 0; c < 3; c++) sum[c] += r->value[k] * other[c];
    }
}

void hk_rows_multiply(const hk_rows *r, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int i = 0; i < r->count; i++) {
        double sum[3];
        off_diagonal(r, i, x, sum);
        for (int c = 0; c < 3; c++)
            y[3 * (int64_t)i + c] = sum[c] + r->diagonal[i] * x[3 * (int64_t)i + c];
    }
}

static void sweep_colour(const hk_rows *r, int colour, const double *b, double *x)
{
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int k = r->colours.start[colour]; k < r->colours.start[colour + 1]; k++) {
        int i = r->colours.item[k];
        double sum[3];
        off_diagonal(r, i, x, sum);
        for (int c = 0; c < 3; c++)
            x[3 * (int64_t)i + c] = (b[3 * (int64_t)i + c] - sum[c]) / r->diagonal[i];
    }
}

void hk_rows_sweep(const hk_rows *r, const double *b, double *x)
{
    for (int colour = 0; colour < r->colours.colour_count; colour++) sweep_colour(r, colour, b, x);
    for (int colour = r->colours.colour_count - 2; colour >= 0; colour--)
        sweep_colour(r, colour, b, x);
}

// ---------------------------------------------------------------- conjugate gradients

static double dot(hk_rows *r, const double *a, const double *b)
{
    int runs = (r->count + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int n = 0; n < runs; n++) {
        double sum = 0;
        for (int64_t k = 3 * (int64_t)n * RUN; k < 3 * (int64_t)hk_min_int((n + 1) * RUN, r->count);
             k++)
            sum += a[k] * b[k];
        r->partial[n] = sum;
    }
    double sum = 0;
    for (int n = 0; n < runs; n++) sum += r->partial[n];
    return sum;
}

static void precondition(const hk_rows *r, const double *from, double *to)
{
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int i = 0; i < r->count; i++)
        for (int c = 0; c < 3; c++)
            to[3 * (int64_t)i + c] = from[3 * (int64_t)i + c] / r->diagonal[i];
}

// to = to × scale + from × share
static void combine(const hk_rows *r, double scale, double share, const double *from, double *to)
{
    int64_t size = 3 * (int64_t)r->count;
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int64_t k = 0; k < size; k++) to[k] = scale * to[k] + share * from[k];
}

void hk_rows_cg(hk_rows *r, const double *b, int iterations, double *x)
{
    double *residual = r->workspace[0], *scaled = r->workspace[1], *direction = r->workspace[2],
           *product = r->workspace[3];
    size_t bytes = 3 * sizeof(double) * (size_t)r->count;
    memset(x, 0, bytes);
    memcpy(residual, b, bytes);
    precondition(r, residual, scaled);
    memcpy(direction, scaled, bytes);
    double z = dot(r, residual, scaled);
    for (int n = 0; n < iterations && z > 0; n++) {
        hk_rows_multiply(r, direction, product);
        double curvature = dot(r, direction, product);
        if (!(curvature > 0)) break;
        double length = z / curvature;
        combine(r, 1, length, direction, x);
        combine(r, 1, -length, product, residual);
        precondition(r, residual, scaled);
        double next = dot(r, residual, scaled);
        combine(r, next / z, 1, scaled, direction);
        z = next;
    }
}
