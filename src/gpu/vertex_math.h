// What the kernels of `vbd` do with an item of the vertex blocks (vertex_blocks.h) beside its law.
// Plain C, so that the host's tests can run it.
#ifndef HK_GPU_VERTEX_MATH_H
#define HK_GPU_VERTEX_MATH_H

#include "rules/rules.h"

// A vector of the item's frame as the model has it, Q a, with Q as the unit quaternion x, y, z, w:
// a + 2 w u × a + 2 u × (u × a). The rows of F Q become those of F.
HK_RULE void vertex_turn(const float *turn, const float *a, float *to)
{
    float c[3];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = 2 * (turn[j] * a[k] - turn[k] * a[j]);
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        to[i] = a[i] + turn[3] * c[i] + (turn[j] * c[k] - turn[k] * c[j]);
    }
}

// Shape gradients of corner c of an item, 0 its own, in the model's frame, 1/m. word0 and word1 as
// vertex_blocks.h has them.
HK_RULE void vertex_shape(const float *word0, const float *word1, const float *turn, int c,
                          float *shape)
{
    const float row[3][3] = {
        {word0[0], word0[1], word0[2]}, {0, word0[3], word1[0]}, {0, 0, word1[1]}};
    float a[3];
    for (int j = 0; j < 3; j++) a[j] = c > 0 ? row[c - 1][j] : -(row[0][j] + row[1][j] + row[2][j]);
    vertex_turn(turn, a, shape);
}

HK_RULE float vertex_volume(const float *word0, const float *word1)
{
    return 1 / fabsf(6 * word0[0] * word0[3] * word1[1]);
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
