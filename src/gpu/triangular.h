// Rest shapes with six numbers instead of nine. The matrix B of shape gradients of an element,
// turned by a rotation Q of its rest frame, is an upper triangular U = B Q, and F Q is as good as F
// for an isotropic law; directions in the element turn with it, by Qᵀ.
#ifndef HK_TRIANGULAR_H
#define HK_TRIANGULAR_H

#include <math.h>
#include <string.h>

static inline double hk_dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// By Gram and Schmidt on the rows of B, the last one first. q[k] is column k of Q.
static inline void hk_make_triangular(const double b[9], double u[3][3], double q[3][3])
{
    memset(u, 0, 9 * sizeof(double));
    for (int k = 2; k > 0; k--) {
        double row[3] = {b[3 * k], b[3 * k + 1], b[3 * k + 2]};
        for (int j = 2; j > k; j--) {
            u[k][j] = hk_dot3(b + 3 * k, q[j]);
            for (int i = 0; i < 3; i++) row[i] -= u[k][j] * q[j][i];
        }
        u[k][k] = sqrt(hk_dot3(row, row));
        for (int i = 0; i < 3; i++) q[k][i] = row[i] / u[k][k];
    }
    for (int i = 0; i < 3; i++) {  // a rotation, whatever the order of the corners
        int j = (i + 1) % 3, k = (i + 2) % 3;
        q[0][i] = q[1][j] * q[2][k] - q[1][k] * q[2][j];
    }
    for (int k = 0; k < 3; k++) u[0][k] = hk_dot3(b, q[k]);
}

#endif
