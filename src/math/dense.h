// Small dense matrices in double precision, n × n by rows: for what has too few of them to be worth
// a library.
#ifndef HK_DENSE_H
#define HK_DENSE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// The lower triangle of a symmetric matrix becomes Cholesky's factor; false: it is not positive.
static inline bool hk_dense_factor(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[n * i + j];
            for (int k = 0; k < j; k++) sum -= a[n * i + k] * a[n * j + k];
            if (i == j && !(sum > 0)) return false;
            a[n * i + j] = i == j ? sqrt(sum) : sum / a[n * j + j];
        }
    return true;
}

// b becomes the solution, with such a factor.
static inline void hk_dense_solve(const double *factor, int n, double *b)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) b[i] -= factor[n * i + k] * b[k];
        b[i] /= factor[n * i + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= factor[n * k + i] * b[k];
        b[i] /= factor[n * i + i];
    }
}

// A symmetric positive definite matrix becomes its inverse (Gauss and Jordan, in place); false: it
// is not positive.
static inline bool hk_dense_invert(double *a, int n, int threads)
{
    (void)threads;
    for (int64_t k = 0; k < n; k++) {
        double *pivot = a + n * k, inverse = 1 / pivot[k];
        if (!(pivot[k] > 0 && inverse < 1e300)) return false;
        for (int j = 0; j < n; j++) pivot[j] *= inverse;
        pivot[k] = inverse;
#pragma omp parallel for schedule(static) num_threads(threads) if (n > 200)
        for (int64_t i = 0; i < n; i++) {
            if (i == k) continue;
            double *row = a + n * i, factor = row[k];
            row[k] = 0;
            for (int j = 0; j < n; j++) row[j] -= factor * pivot[j];
        }
    }
    return true;
}

// One of Jacobi's rotations: makes a_pq 0, and turns the columns of v along.
static inline void hk_dense_rotate(double *a, double *v, int n, int p, int q)
{
    double off = a[n * p + q];
    if (off == 0) return;
    double theta = (a[n * q + q] - a[n * p + p]) / (2 * off);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = a[n * k + p], y = a[n * k + q];
        a[n * k + p] = c * x - s * y;
        a[n * k + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[n * p + k], y = a[n * q + k];
        a[n * p + k] = c * x - s * y;
        a[n * q + k] = s * x + c * y;
        x = v[n * k + p], y = v[n * k + q];
        v[n * k + p] = c * x - s * y;
        v[n * k + q] = s * x + c * y;
    }
}

// A symmetric matrix becomes diagonal, v its eigenvectors by columns.
static inline void hk_dense_diagonalise(double *a, double *v, int n)
{
    enum { SWEEPS = 30 };
    double size = 0;
    for (int k = 0; k < n * n; k++) {
        v[k] = k % (n + 1) == 0;
        size += a[k] * a[k];
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) off += a[n * i + j] * a[n * i + j];
        if (!(off > 1e-32 * size)) return;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) hk_dense_rotate(a, v, n, p, q);
    }
}

// Negative eigenvalues of h × keep; a and v are workspace of n × n.
static inline void hk_dense_project(double *h, int n, double keep, double *a, double *v)
{
    for (int k = 0; k < n * n; k++) a[k] = h[k];
    hk_dense_diagonalise(a, v, n);
    for (int k = 0; k < n; k++) {
        double more = (keep - 1) * a[n * k + k];
        if (!(more > 0)) continue;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) h[n * i + j] += more * v[n * i + k] * v[n * j + k];
    }
}

#endif
