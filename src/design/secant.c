#include "design/secant.h"

#include <math.h>

#include "math/dense.h"

// Of the diagonal, with columns of length 1: secants that say the same.
#define REGULARISATION 1e-10
// Numbers in a partial sum, which fit into a core's cache with all that is multiplied.
enum { RUN = 1024, SUMS = 2 * HK_SECANT_MOST, SMALLEST_FOR_THREADS = 16384 };

// ---------------------------------------------------------------- creation

void hk_secant_init(hk_secant *s, int64_t size, int threads, int window)
{
    *s = (hk_secant){.size = size,
                     .threads = size < SMALLEST_FOR_THREADS ? 1 : threads,
                     .window = hk_min_int(window, HK_SECANT_MOST)};
}

void hk_secant_release(hk_secant *s)
{
    for (int k = 0; k < HK_SECANT_MOST; k++) {
        hk_free(s->way[k]);
        hk_free(s->change[k]);
    }
    hk_free(s->plain);
    hk_free(s->step);
    hk_free(s->partial);
    *s = (hk_secant){0};
}

void hk_secant_forget(hk_secant *s)
{
    s->count = s->next = 0;
    s->known = false;
}

static int64_t run_count(const hk_secant *s)
{
    return (s->size + RUN - 1) / RUN;
}

static hk_status need(double **vector, int64_t size)
{
    if (!*vector) *vector = HK_ARRAY(double, size);
    return *vector ? HK_OK : HK_NO_MEMORY;
}

// The vectors of one more difference.
static hk_status need_difference(hk_secant *s, int k)
{
    HK_TRY(need(&s->plain, s->size));
    HK_TRY(need(&s->step, s->size));
    HK_TRY(need(&s->partial, SUMS * run_count(s)));
    HK_TRY(need(&s->way[k], s->size));
    return need(&s->change[k], s->size);
}

hk_status hk_secant_reserve(hk_secant *s)
{
    for (int k = 0; k < s->window; k++) HK_TRY(need_difference(s, k));
    return HK_OK;
}

// ---------------------------------------------------------------- a call

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
}

// One run of numbers: the differences to the last call, and the products of all changes with the
// new one and with the step.
static void take_run(const hk_secant *s, const double *X, const double *step, int64_t run, int slot)
{
    int64_t first = run * RUN, count = s->size - first < RUN ? s->size - first : RUN;
    double *plain = s->plain + first, *last = s->step + first, *sums = s->partial + run * SUMS;
    const double *at = X + first, *d = step + first;
    if (slot >= 0) {
        double *way = s->way[slot] + first, *change = s->change[slot] + first;
        for (int64_t k = 0; k < count; k++) {
            way[k] = at[k] + d[k] - plain[k];
            change[k] = d[k] - last[k];
        }
        for (int k = 0; k < s->count; k++) {
            sums[k] = dot(change, s->change[k] + first, count);
            sums[HK_SECANT_MOST + k] = dot(d, s->change[k] + first, count);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        plain[k] = at[k] + d[k];
        last[k] = d[k];
    }
}

// The difference to the last call into the window; along[k] is the product of change k and step.
static hk_status remember(hk_secant *s, const double *X, const double *step,
                          double along[HK_SECANT_MOST])
{
    int slot = s->known ? s->next : -1;
    HK_TRY(need_difference(s, slot < 0 ? 0 : slot));
    if (slot >= 0) s->count = hk_min_int(s->count + 1, s->window);
    int64_t runs = run_count(s);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t run = 0; run < runs; run++) take_run(s, X, step, run, slot);
    s->known = true;
    if (slot < 0) return HK_OK;
    double sums[SUMS] = {0};
    for (int64_t run = 0; run < runs; run++)
        for (int k = 0; k < SUMS; k++)
            if (k % HK_SECANT_MOST < s->count) sums[k] += s->partial[run * SUMS + k];
    for (int k = 0; k < s->count; k++) {
        s->gram[slot][k] = s->gram[k][slot] = sums[k];
        along[k] = sums[HK_SECANT_MOST + k];
    }
    s->next = (s->next + 1) % s->window;
    return HK_OK;
}

// γ, for columns of length 1: they shrink by orders of magnitude from one to the next.
static bool find_weights(const hk_secant *s, double gamma[HK_SECANT_MOST])
{
    double a[HK_SECANT_MOST * HK_SECANT_MOST], length[HK_SECANT_MOST];
    int n = s->count;
    for (int i = 0; i < n; i++) {
        length[i] = sqrt(s->gram[i][i]);
        if (!(length[i] > 0)) return false;
        gamma[i] /= length[i];
        for (int j = 0; j <= i; j++)
            a[n * i + j] = s->gram[i][j] / (length[i] * length[j]) + (i == j ? REGULARISATION : 0);
    }
    if (n == 0 || !hk_dense_factor(a, n)) return false;
    hk_dense_solve(a, n, gamma);
    for (int i = 0; i < n; i++) {
        gamma[i] /= length[i];
        if (!isfinite(gamma[i])) return false;
    }
    return true;
}

hk_status hk_secant_improve(hk_secant *s, const double *X, double *step, bool *improved)
{
    double gamma[HK_SECANT_MOST] = {0};
    HK_TRY(remember(s, X, step, gamma));
    *improved = find_weights(s, gamma);
    if (!*improved) return HK_OK;
    int64_t runs = run_count(s);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t run = 0; run < runs; run++) {
        int64_t first = run * RUN, last = first + RUN < s->size ? first + RUN : s->size;
        for (int i = 0; i < s->count; i++)
            for (int64_t k = first; k < last; k++) step[k] -= gamma[i] * s->way[i][k];
    }
    return HK_OK;
}
