// What the kernels of `vbd` do with an item of the vertex blocks (vertex_blocks.h) beside its law.
// Plain C, so that the host's tests can run it.
#ifndef HK_GPU_VERTEX_MATH_H
#define HK_GPU_VERTEX_MATH_H

#include "rules/rules.h"

// Shape gradients of corner c of an item, 0 its own, 1/m; B as vertex_blocks.h has it.
HK_RULE void vertex_shape(const float *B, int c, float *shape)
{
    for (int j = 0; j < 3; j++) shape[j] = c > 0 ? B[3 * c - 3 + j] : -(B[j] + B[3 + j] + B[6 + j]);
}

HK_RULE float vertex_volume(const float *B)
{
    return 1 / fabsf(6 * (B[0] * (B[4] * B[8] - B[5] * B[7]) + B[1] * (B[5] * B[6] - B[3] * B[8]) +
                          B[2] * (B[3] * B[7] - B[4] * B[6])));
}

// Viscous damping: the block of K between two corners with shape gradients a and b is
// K_ik = volume Σ a_j C_ijkl b_l, with C = ∂P/∂F stored as blocks C_ijkl, (i, k), for j ≤ l
// (law.cu). Adds what the block of j and l brings.
HK_RULE void vertex_add_block(int j, int l, const float *block, const float *a, const float *b,
                              float *K)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            K[3 * i + k] += block[3 * i + k] * a[j] * b[l];
            if (l > j) K[3 * i + k] += block[3 * k + i] * a[l] * b[j];
        }
}

// What a neighbour adds to gradient and block of a vertex, in the order of the sums of law_vbd.cu:
// its K, and how much farther than the vertex it went in this step. The rows of K add up to 0.
HK_RULE void vertex_drag(const float *K, const float *farther, float *sums)
{
    for (int i = 0, q = 3; i < 3; i++) {
        sums[i] += K[3 * i] * farther[0] + K[3 * i + 1] * farther[1] + K[3 * i + 2] * farther[2];
        for (int j = i; j < 3; j++, q++) sums[q] -= 0.5f * (K[3 * i + j] + K[3 * j + i]);
    }
}

// The change of a quadratic energy with these sums over a step.
HK_RULE float vertex_change(const float *sums, const float *step)
{
    float value = 0;
    for (int i = 0, q = 3; i < 3; i++) {
        value += sums[i] * step[i];
        for (int j = i; j < 3; j++, q++) value += (i == j ? 0.5f : 1) * sums[q] * step[i] * step[j];
    }
    return value;
}

#endif
