// What the kernels of `split` compute (split.cu). Plain C, so that the host's tests can run it.
#ifndef HK_GPU_SPLIT_MATH_H
#define HK_GPU_SPLIT_MATH_H

#include "rules/spin.h"

// ---------------------------------------------------------------- conjugate gradients

// A D = b with the preconditioner z = V r, and w = A z: one sum over the vertices an iteration
// (Chronopoulos & Gear 1989),
//
//   β = r·z / (r·z)₋,  α = r·z / (z·w − β r·z / α₋)
//   p = z + β p,  s = w + β s,  D += α p,  r −= α s
typedef struct hk_cg {
    double first, rz;    // r·z at the start, and of the last iteration
    double alpha, beta;  // of this one
    int iterations;
    int failed;  // the numbers are not finite
} hk_cg;

// √(r·z) is the error of D in the norm of A, but for how well V stands for A⁻¹.
#define HK_CG_TOLERANCE 1e-6

HK_RULE void cg_begin(hk_cg *c)
{
    c->first = c->rz = c->alpha = c->beta = 0;
    c->iterations = c->failed = 0;
}

// From the sums of an iteration to its coefficients; 0: it is over, without them.
HK_RULE int cg_advance(hk_cg *c, double rz, double zw)
{
    if (!rule_finite(rz) || !rule_finite(zw)) {
        c->failed = 1;
        return 0;
    }
    int first = c->iterations == 0;
    if (first) c->first = rz;
    if (!(rz > HK_CG_TOLERANCE * HK_CG_TOLERANCE * c->first)) return 0;
    double beta = first ? 0 : rz / c->rz, below = first ? zw : zw - beta * rz / c->alpha;
    if (!(below > 0)) return 0;
    c->beta = beta;
    c->alpha = rz / below;
    c->rz = rz;
    c->iterations++;
    return 1;
}

// ---------------------------------------------------------------- the rotation correction

// What the columns of a cluster are multiplied with, [3][3].
HK_RULE void turn_columns(const double *R, const double z[3], double *turn)
{
    for (int k = 0; k < 9; k++) turn[k] = spin_turn(R, z, k % 3, k / 3);
}

// The symmetric system of a body is the upper triangle of a[n][n + 1], with its right-hand side in
// the last column. These are the parts of it that one of so many threads does; all have to be done
// before the next call of any.
HK_RULE void turn_fill(int clusters, const double *rotation, const double *change,
                       const double *tau, const double *inverse_weight, double *a, int thread,
                       int threads)
{
    int n = 3 * clusters, row = n + 1;
    for (int pair = thread; pair < clusters * clusters; pair += threads) {
        int c = pair / clusters, d = pair % clusters;
        double block[9];
        if (d < c) continue;
        spin_block(tau + 3 * c * n + 3 * d, n, rotation + 9 * c, rotation + 9 * d, block);
        for (int k = 0; k < 9; k++) a[(3 * c + k / 3) * row + 3 * d + k % 3] = -block[k];
        if (d > c) continue;
        for (int i = 0; i < 3; i++) {
            a[(3 * c + i) * row + 3 * c + i] += inverse_weight[c];
            a[(3 * c + i) * row + n] = spin_of(rotation + 9 * c, change + 9 * c, 3, i);
        }
    }
}

// Row k is taken out of those below it.
HK_RULE void turn_eliminate(int n, int k, double *a, int thread, int threads)
{
    int row = n + 1, left = n - 1 - k;
    const double *pivot = a + k * row;
    double inverse = 1 / pivot[k];
    for (int m = thread; m < left * (left + 1); m += threads) {
        int i = k + 1 + m / (left + 1), j = k + 1 + m % (left + 1);
        if (j >= i) a[i * row + j] -= pivot[i] * inverse * pivot[j];
    }
}

// Unknown k is known: its right-hand side over its pivot. It goes into the rows above.
HK_RULE void turn_substitute(int n, int k, double *a, int thread, int threads)
{
    int row = n + 1;
    double known = a[k * row + n] / a[k * row + k];
    for (int j = thread; j < k; j += threads) a[j * row + n] -= a[j * row + k] * known;
}
HK_RULE double turn_unknown(int n, int k, const double *a)
{
    return a[k * (n + 1) + n] / a[k * (n + 1) + k];
}

// ---------------------------------------------------------------- pressure

// Tension of `corotated` is bounded, and elements that are nearly flat or inside out have less
// pressure or none (trace_pressure in term/corotation_lanes.c, which tells why); without λ > 0
// there is none. Its stress is P = 2μ F + c R with c = p − 2μ and the pressure p = λ tr(RᵀF − I),
// so that R need not be known: P − 2μ F has the norm √3 |c|, and a determinant of the sign of c.
HK_RULE void split_bound_stress(double mu, double lambda, const double *F, double *P)
{
    double Q[9], square = 0;
    for (int k = 0; k < 9; k++) {
        Q[k] = P[k] - 2 * mu * F[k];
        square += Q[k] * Q[k];
    }
    double turned = Q[0] * (Q[4] * Q[8] - Q[5] * Q[7]) + Q[1] * (Q[5] * Q[6] - Q[3] * Q[8]) +
                    Q[2] * (Q[3] * Q[7] - Q[4] * Q[6]);
    double J = F[0] * (F[4] * F[8] - F[5] * F[7]) + F[1] * (F[5] * F[6] - F[3] * F[8]) +
               F[2] * (F[3] * F[7] - F[4] * F[6]);
    double c = (turned < 0 ? -1 : 1) * sqrt(square / 3), pressure = c + 2 * mu;
    double inside = lambda > 0 ? fmin(fmax(5 * J, 0.0), 1.0) : 0;
    double bounded = fmin(pressure, 2 * mu) * inside;
    // Where c is 0 the pressure is at its bound, and R is not known.
    if (bounded == pressure || !(fabs(c) > 1e-9 * mu)) return;
    for (int k = 0; k < 9; k++) P[k] += (bounded - pressure) / c * Q[k];
}

#endif
