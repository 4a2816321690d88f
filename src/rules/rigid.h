// How a free body is best placed as it is, without a change of its shape. Energies of elements do
// not depend on where a body is and how it is turned: of ε only inertia and external forces do,
//
//   Σ w/2 ‖x − y‖² − f·x,
//
// and its minimum over all rigid motions is known: the middle of the x goes to that of the targets
// y + f/w, and the best rotation R makes Rᵀ Σ w (target − middle) (x − middle)ᵀ symmetric.
#ifndef HK_RULES_RIGID_H
#define HK_RULES_RIGID_H

#include "rules/rules.h"

// Sums over the vertices of a body.
typedef struct hk_rigid_sums {
    double weight;     // Σ w
    double from[3];    // Σ w x
    double to[3];      // Σ w y + f
    double moment[9];  // Σ (w (y − middle of the targets) + f) (x − middle)ᵀ, row by row
} hk_rigid_sums;

// x goes to x + shift + turn (x − middle).
typedef struct hk_rigid_motion {
    double middle[3], target[3], shift[3];
    double turn[9];  // R − 1
    int turns;       // false: turn is 0
} hk_rigid_motion;

HK_RULE void rigid_add(hk_rigid_sums *s, double w, const double *x, const double *y,
                       const double *f)
{
    s->weight += w;
    for (int i = 0; i < 3; i++) {
        s->from[i] += w * x[i];
        s->to[i] += w * y[i] + f[i];
    }
}

// The motion without a turn.
HK_RULE void rigid_translation(const hk_rigid_sums *s, hk_rigid_motion *m)
{
    double per = s->weight > 0 ? 1 / s->weight : 0;
    m->turns = 0;
    for (int i = 0; i < 9; i++) m->turn[i] = 0;
    for (int i = 0; i < 3; i++) {
        m->middle[i] = per * s->from[i];
        m->target[i] = per * s->to[i];
        m->shift[i] = m->target[i] - m->middle[i];
    }
}

HK_RULE void rigid_add_moment(hk_rigid_sums *s, const hk_rigid_motion *m, double w, const double *x,
                              const double *y, const double *f)
{
    for (int i = 0; i < 3; i++) {
        double pull = w * (y[i] - m->target[i]) + f[i];
        for (int j = 0; j < 3; j++) s->moment[3 * i + j] += pull * (x[j] - m->middle[j]);
    }
}

// The rotation by ‖w‖ about w (Rodrigues), row by row.
HK_RULE void rigid_rotation(const double w[3], double R[9])
{
    double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], angle = sqrt(square);
    double a = angle > 1e-4 ? sin(angle) / angle : 1 - square / 6;
    double half = angle > 1e-4 ? sin(0.5 * angle) / (0.5 * angle) : 1 - square / 24;
    double b = 0.5 * half * half;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[3 * i + j] = b * w[i] * w[j] + (i == j ? 1 - b * square : 0);
    R[1] -= a * w[2], R[2] += a * w[1], R[5] -= a * w[0];
    R[3] += a * w[2], R[6] -= a * w[1], R[7] += a * w[0];
}

// c = a b or, transposed, a bᵀ.
HK_RULE void rigid_product(const double *a, const double *b, int transposed, double *c)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c[3 * i + j] = 0;
            for (int k = 0; k < 3; k++)
                c[3 * i + j] += a[3 * i + k] * (transposed ? b[3 * j + k] : b[3 * k + j]);
        }
}

// A step towards the rotation that makes S = A Rᵀ symmetric: Newton's, the w with (tr S − S) w =
// the axis of S, by LDLᵀ; where that matrix is not positive definite (R is far off) one along the
// axis that is short enough. 0: nothing has a moment. (A line has none about itself, which a small
// number stands in for.)
HK_RULE int rigid_turn(const double S[9], double w[3])
{
    double size = 0, g[3] = {S[7] - S[5], S[2] - S[6], S[3] - S[1]};
    for (int i = 0; i < 9; i++) size += S[i] * S[i];
    size = sqrt(size);
    if (!(size > 0) || !rule_finite(size)) return 0;
    double least = 1e-9 * size, xx = S[4] + S[8] + least, yy = S[0] + S[8] + least;
    double zz = S[0] + S[4] + least;
    double xy = -0.5 * (S[1] + S[3]), xz = -0.5 * (S[2] + S[6]), yz = -0.5 * (S[5] + S[7]);
    double ly = xy / xx, lz = xz / xx, second = yy - ly * xy, across = yz - ly * xz;
    double lw = across / second, third = zz - lz * xz - lw * across;
    double b = g[1] - ly * g[0], c = g[2] - lz * g[0] - lw * b;
    w[2] = c / third;
    w[1] = b / second - lw * w[2];
    w[0] = g[0] / xx - ly * w[1] - lz * w[2];
    if (xx > 0 && second > 0 && third > 0) return 1;
    for (int i = 0; i < 3; i++) w[i] = 0.5 * g[i] / size;
    return 1;
}

// Completes the motion by the best turn; where that is less than rounding, or not found, there is
// none.
HK_RULE void rigid_best_turn(const hk_rigid_sums *s, hk_rigid_motion *m)
{
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, S[9], step[9], next[9], w[3], size = 0;
    for (int n = 0; n < 40; n++) {
        rigid_product(s->moment, R, 1, S);
        if (!rigid_turn(S, w)) return;
        rigid_rotation(w, step);
        rigid_product(step, R, 0, next);
        for (int i = 0; i < 9; i++) R[i] = next[i];
        if (fabs(w[0]) + fabs(w[1]) + fabs(w[2]) < 1e-12) break;
    }
    for (int i = 0; i < 9; i++) {
        next[i] = R[i] - (i % 4 == 0);
        size += fabs(next[i]);
    }
    if (!(size > 1e-14)) return;
    for (int i = 0; i < 9; i++) m->turn[i] = next[i];
    m->turns = 1;
}

HK_RULE void rigid_move(const hk_rigid_motion *m, double *x)
{
    double r[3];
    for (int i = 0; i < 3; i++) r[i] = x[i] - m->middle[i];
    for (int i = 0; i < 3; i++) {
        x[i] += m->shift[i];
        for (int j = 0; j < 3 && m->turns; j++) x[i] += m->turn[3 * i + j] * r[j];
    }
}

#endif
