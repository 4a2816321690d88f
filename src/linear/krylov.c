#include "linear/krylov_parts.h"

enum { RUN = 4096 };                   // numbers in a partial sum
enum { NUMBERS_FOR_THREADS = 40000 };  // below it is not worth waking them
enum { MOST_RESTARTS = 8 };
// Part of the iterations between two looks at where x is, which cost a vector.
enum { KEEP_EVERY = 16 };

const char *hk_krylov_name(hk_krylov_method method)
{
    static const char *const names[] = {"cg", "minres", "bicgstab", "qmr"};
    return method >= 0 && method < HK_KRYLOV_METHODS ? names[method] : "unknown";
}

const char *hk_krylov_reason_name(hk_krylov_reason reason)
{
    static const char *const names[] = {"converged", "iteration limit", "time limit",
                                        "breakdown", "rounding",        "not finite"};
    return reason <= HK_KRYLOV_NOT_FINITE ? names[reason] : "unknown";
}

// ---------------------------------------------------------------- creation

hk_status hk_krylov_create(hk_krylov_method method, int64_t size, int threads, hk_krylov **krylov)
{
    hk_krylov *k = HK_NEW(hk_krylov);
    if (!k) return HK_NO_MEMORY;
    k->method = method;
    k->size = size;
    k->threads = size < NUMBERS_FOR_THREADS ? 1 : threads;
    k->kept = HK_ZEROS(double, size);
    k->partial = HK_ZEROS(double, size / RUN + 1);
    bool complete = k->kept && k->partial;
    for (int n = 0; n < HK_KRYLOV_VECTORS; n++) {
        k->vector[n] = HK_ZEROS(double, size);
        complete = complete && k->vector[n];
    }
    if (!complete) {
        hk_krylov_free(k);
        return HK_NO_MEMORY;
    }
    *krylov = k;
    return HK_OK;
}

void hk_krylov_free(hk_krylov *k)
{
    if (!k) return;
    for (int n = 0; n < HK_KRYLOV_VECTORS; n++) hk_free(k->vector[n]);
    hk_free(k->kept);
    hk_free(k->partial);
    hk_free(k);
}

// ---------------------------------------------------------------- vectors

double hk_krylov_dot(const hk_krylov *k, const double *a, const double *b)
{
    int64_t runs = (k->size + RUN - 1) / RUN;
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t r = 0; r < runs; r++) {
        int64_t end = (r + 1) * RUN < k->size ? (r + 1) * RUN : k->size;
        double part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = r * RUN; i < end; i++) part += a[i] * b[i];
        k->partial[r] = part;
    }
    for (int64_t r = 0; r < runs; r++) sum += k->partial[r];
    return sum;
}

void hk_krylov_add(const hk_krylov *k, double factor, const double *x, double *y)
{
#pragma omp parallel for simd schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t i = 0; i < k->size; i++) y[i] += factor * x[i];
}

void hk_krylov_onto(const hk_krylov *k, const double *x, double factor, double *y)
{
#pragma omp parallel for simd schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t i = 0; i < k->size; i++) y[i] = x[i] + factor * y[i];
}

double hk_krylov_onto_norm(const hk_krylov *k, const double *x, double factor, double *y)
{
    int64_t runs = (k->size + RUN - 1) / RUN;
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t n = 0; n < runs; n++) {
        int64_t end = (n + 1) * RUN < k->size ? (n + 1) * RUN : k->size;
        double part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = n * RUN; i < end; i++) {
            y[i] = x[i] + factor * y[i];
            part += y[i] * y[i];
        }
        k->partial[n] = part;
    }
    for (int64_t n = 0; n < runs; n++) sum += k->partial[n];
    return sqrt(sum);
}

double hk_krylov_step(const hk_krylov *k, const hk_krylov_direction *to, double eta, double keep,
                      double *r)
{
    int64_t runs = (k->size + RUN - 1) / RUN;
    const double *p = to->p, *Ap = to->Ap;
    double *d = to->d, *s = to->s, *x = k->x, sum = 0;
#pragma omp parallel for schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t n = 0; n < runs; n++) {
        int64_t end = (n + 1) * RUN < k->size ? (n + 1) * RUN : k->size;
        double part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = n * RUN; i < end; i++) {
            d[i] = eta * p[i] + keep * d[i];
            s[i] = eta * Ap[i] + keep * s[i];
            x[i] += d[i];
            r[i] -= s[i];
            part += r[i] * r[i];
        }
        k->partial[n] = part;
    }
    for (int64_t n = 0; n < runs; n++) sum += k->partial[n];
    return sqrt(sum);
}

void hk_krylov_scale(const hk_krylov *k, double factor, const double *x, double *y)
{
#pragma omp parallel for simd schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (int64_t i = 0; i < k->size; i++) y[i] = factor * x[i];
}

void hk_krylov_precondition(const hk_krylov *k, const double *r, double *z)
{
    if (k->a->precondition)
        k->a->precondition(k->a->context, r, z);
    else
        memcpy(z, r, sizeof(double) * (size_t)k->size);
}

void hk_krylov_apply(const hk_krylov *k, const double *x, double *y)
{
    k->a->apply(k->a->context, x, y);
}

double hk_krylov_true_residual(const hk_krylov *k, double *r)
{
    hk_krylov_apply(k, k->x, r);
    hk_krylov_onto(k, k->b, -1, r);
    return hk_krylov_norm(k, r);
}

// ---------------------------------------------------------------- when to stop

// x is kept while the recurrence is finite, so that there is something to go back to.
static void keep(hk_krylov *k)
{
    memcpy(k->kept, k->x, sizeof(double) * (size_t)k->size);
}

bool hk_krylov_stops(hk_krylov *k, double residual)
{
    hk_krylov_report *report = k->report;
    double now = hk_now();
    report->iterations++;
    report->longest_s = fmax(report->longest_s, now - k->iteration);
    k->iteration = now;
    if (!isfinite(residual)) {
        report->reason = HK_KRYLOV_NOT_FINITE;
        return true;
    }
    report->reason = HK_KRYLOV_CONVERGED;
    if (residual <= k->goal) return true;
    report->reason = HK_KRYLOV_ITERATIONS;
    if (report->iterations >= k->limits->iterations) return true;
    report->reason = HK_KRYLOV_TIME;
    if (k->limits->until > 0 && now + report->longest_s > k->limits->until) return true;
    if (report->iterations % KEEP_EVERY == 0) keep(k);
    return false;
}

// ---------------------------------------------------------------- solves

static bool is_finite(const hk_krylov *k, const double *x)
{
    return isfinite(hk_krylov_dot(k, x, x));
}

// Begins anew after a breakdown, or where x is not as near as the recurrence has it, as long as
// that leads on.
static void try_again_and_again(hk_krylov *k, double *r)
{
    static hk_krylov_attempt *const attempts[] = {hk_krylov_cg, hk_krylov_minres,
                                                  hk_krylov_bicgstab, hk_krylov_qmr};
    hk_krylov_report *report = k->report;
    for (double best = INFINITY;; report->restarts++) {
        int before = report->iterations;
        bool broken = attempts[k->method](k, r) == HK_KRYLOV_BROKEN;
        if (!broken && report->reason != HK_KRYLOV_CONVERGED) return;
        double residual = hk_krylov_true_residual(k, r);
        report->reason = isfinite(residual) ? HK_KRYLOV_CONVERGED : HK_KRYLOV_NOT_FINITE;
        if (!(residual > k->goal)) return;
        report->reason = broken ? HK_KRYLOV_BREAKDOWN : HK_KRYLOV_ROUNDING;
        bool leads_on = report->iterations > before && report->restarts < MOST_RESTARTS;
        if (!leads_on || !(residual < (broken ? INFINITY : 0.5 * best))) return;
        best = residual;
    }
}

void hk_krylov_solve(hk_krylov *k, const hk_operator *a, const double *b,
                     const hk_krylov_limits *limits, double *x, hk_krylov_report *report)
{
    *report = (hk_krylov_report){.reason = HK_KRYLOV_CONVERGED};
    k->a = a;
    k->b = b;
    k->x = x;
    k->limits = limits;
    k->report = report;
    k->iteration = hk_now();
    double size = hk_krylov_norm(k, b), *r = k->vector[HK_KRYLOV_VECTORS - 1];
    k->goal = limits->tolerance * size;
    keep(k);
    report->residual = hk_krylov_true_residual(k, r);
    if (!isfinite(report->residual)) {
        report->reason = HK_KRYLOV_NOT_FINITE;
    } else if (report->residual > k->goal) {
        report->reason = limits->iterations > 0 ? HK_KRYLOV_TIME : HK_KRYLOV_ITERATIONS;
        bool late = limits->until > 0 && hk_now() >= limits->until;
        if (limits->iterations > 0 && !late) try_again_and_again(k, r);
        if (!is_finite(k, x)) {
            report->reason = HK_KRYLOV_NOT_FINITE;
            memcpy(x, k->kept, sizeof(double) * (size_t)k->size);
        }
        report->residual = hk_krylov_true_residual(k, r);
    }
    report->relative = size > 0 ? report->residual / size : 0;
}
