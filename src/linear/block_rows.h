// Sparse matrices of small dense blocks, by block rows: the Hessian (3×3 a pair of vertices), its
// coarser versions (6×6) and what goes between them (3×6, 6×3). Blocks are stored in single
// precision, which halves the traffic that products are made of; vectors and sums are in double.
// The diagonal of a square matrix is kept apart, in double, and takes up what rounding the other
// blocks of its row removed: rows sum up exactly, so that a rigid shift of a body meets no force
// that only rounding made. (On a bar of a million tets such forces are as large as the loads.)
#ifndef HK_BLOCK_ROWS_H
#define HK_BLOCK_ROWS_H

#include "linear/pattern.h"

typedef struct hk_block_kernels hk_block_kernels;

typedef struct hk_block_rows {
    int rows, columns;  // in blocks
    int height, width;  // of a block: 3 or 6
    int threads;
    int64_t *start;    // [rows + 1]
    int32_t *column;   // [blocks] ascending in a row; without the diagonal where it is apart
    float *value;      // [blocks][width][height], by columns
    double *diagonal;  // [rows][width][height]; NULL: it is not apart
    const hk_block_kernels *kernels;
} hk_block_rows;

// Vectors over blocks of 3 (or 6) numbers are double[count][4] (or [8]).
static inline int hk_block_stride(int size)
{
    return size == 3 ? 4 : 8;
}

void hk_block_rows_release(hk_block_rows *m);  // frees the arrays, not the struct
// `start` has been filled; allocates the rest.
hk_status hk_block_rows_allocate(hk_block_rows *m, bool with_diagonal);

// The matrix of a pattern of 3×3 blocks, without numbers yet.
hk_status hk_block_rows_create(const hk_pattern *pattern, int threads, hk_block_rows *m,
                               int32_t **source);
// Takes the numbers of a lower triangle; `source` is that of creation.
void hk_block_rows_set(hk_block_rows *m, const hk_pattern *pattern, const int32_t *source,
                       const double *lower);

// y = base + sign A x; base may be NULL (zero) and may be y.
void hk_block_product(const hk_block_rows *a, double sign, const double *base, const double *x,
                      double *y);
// y = A x, and the product of x and y; `partial` is workspace.
double hk_block_product_dot(const hk_block_rows *a, const double *x, double *y, double *partial);
// One step of an iteration over the inverses [rows][size][size] of the diagonal blocks.
typedef struct hk_block_relax {
    int size;
    const float *inverse;
    double keep, weight;
} hk_block_relax;
// step = weight D⁻¹ r, y = step
void hk_block_relax_rows(const hk_block_rows *a, const hk_block_relax *rule, const double *r,
                         double *step, double *y);
// step = keep step + weight D⁻¹ (b − A x), y = x + step; y may not be x. With `partial` the product
// of b and y comes back.
double hk_block_smooth(const hk_block_rows *a, const hk_block_relax *rule, const double *b,
                       const double *x, double *step, double *y, double *partial);
// x += length p, r −= length q; returns ‖r‖².
double hk_block_go_along(const hk_block_rows *a, double length, const double *p, const double *q,
                         double *x, double *r, double *partial);
// Over the numbers of two vectors, in runs of fixed length.
double hk_block_dot(const hk_block_rows *a, const double *x, const double *y, double *partial);
int64_t hk_block_partials(int rows);  // numbers that `partial` has

// ---- products of matrices
// The pattern of C = A B; `diagonal`: it is a square one whose diagonal is apart.
hk_status hk_block_multiply_pattern(const hk_block_rows *a, const hk_block_rows *b, bool diagonal,
                                    hk_block_rows *c);
// Its numbers. `marker` is [threads][columns of C], all −1 before and after; `sums` is [threads]
// × hk_block_sums numbers.
void hk_block_multiply(const hk_block_rows *a, const hk_block_rows *b, hk_block_rows *c,
                       int32_t *marker, double *sums);
int64_t hk_block_sums(const hk_block_rows *c);
// The pattern of Bᵀ, and for each of its blocks the one of B that it is the transpose of.
hk_status hk_block_transpose_pattern(const hk_block_rows *b, hk_block_rows *t, int32_t **source);
void hk_block_transpose(const hk_block_rows *b, const int32_t *source, hk_block_rows *t);

#endif
