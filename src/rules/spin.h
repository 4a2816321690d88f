// The spin correction of a constant matrix (solver/spin_correction.h), what it needs of one cluster
// or two: its rotation, and the blocks of C⁻¹ − B Q. Matrices are row by row.
#ifndef HK_RULES_SPIN_H
#define HK_RULES_SPIN_H

#include "rules/rigid.h"

// The rotation R of a mean gradient F, and how far the cluster turns as one: 1 where its elements
// are turned alike and not stretched (tension resists turning), 0 where they are inside out.
HK_RULE double spin_rotation(const double F[9], double R[9])
{
    hk_rigid_sums sums;
    hk_rigid_motion motion;
    double stretch = 0;
    sums.weight = 1;
    motion.turns = 0;
    for (int i = 0; i < 9; i++) {
        sums.moment[i] = F[i];
        motion.turn[i] = 0;
    }
    rigid_best_turn(&sums, &motion);
    for (int i = 0; i < 9; i++) {
        R[i] = motion.turn[i] + (i % 4 == 0);
        stretch += R[i] * F[i] / 3;
    }
    if (!(stretch > 0)) return 0;
    return stretch < 1 ? stretch * stretch : 1 / (stretch * stretch);
}

// 1/C of a cluster with the weight W_c.
HK_RULE double spin_compliance(double weight, double alike)
{
    return 1 / (2 * weight * fmax(alike, 1e-3));
}

// ¼ Σ_jk τ_jk (R e_j) × (· × S e_k), the block of B Q for clusters with rotations R and S:
// a × (z × b) = z (a·b) − b (a·z). Rows of τ have `width` numbers.
HK_RULE void spin_block(const double *tau, int width, const double *R, const double *S,
                        double block[9])
{
    for (int i = 0; i < 9; i++) block[i] = 0;
    for (int jk = 0; jk < 9; jk++) {
        int j = jk / 3, k = jk % 3;
        double t = 0.25 * tau[j * width + k], dot = 0;
        for (int i = 0; i < 3; i++) dot += R[3 * i + j] * S[3 * i + k];
        for (int i = 0; i < 9; i++)
            block[i] += t * ((i % 4 == 0 ? dot : 0) - S[3 * (i / 3) + k] * R[3 * (i % 3) + j]);
    }
}

// ½ Σ_a (R e_a) × u_a, component i, of u = Pᵀ q: u[3 i + a] of a cluster at stride `width`.
HK_RULE double spin_of(const double *R, const double *u, int width, int i)
{
    int j = (i + 1) % 3, k = (i + 2) % 3;
    double sum = 0;
    for (int a = 0; a < 3; a++)
        sum += 0.5 * (R[3 * j + a] * u[k * width + a] - R[3 * k + a] * u[j * width + a]);
    return sum;
}

// ½ z × R e_a, component i: what column a of a cluster is multiplied with.
HK_RULE double spin_turn(const double *R, const double *z, int i, int a)
{
    int j = (i + 1) % 3, k = (i + 2) % 3;
    return 0.5 * (z[j] * R[3 * k + a] - z[k] * R[3 * j + a]);
}

#endif
