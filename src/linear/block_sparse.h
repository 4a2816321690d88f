// Sparse matrices of 3×3 blocks in double, by block rows, symmetric or not, over a pattern that is
// symmetric; vectors are double[rows][4], whose fourth numbers are 0.
#ifndef HK_BLOCK_SPARSE_H
#define HK_BLOCK_SPARSE_H

#include "linear/krylov.h"
#include "linear/pattern.h"

typedef struct hk_block_sparse {
    int rows;
    int threads;
    int64_t *start;     // [rows + 1]
    int32_t *column;    // [blocks] ascending in a row, the diagonal among them
    int64_t *mate;      // [blocks] the block (j, i) of block (i, j)
    int64_t *diagonal;  // [rows] which block that is
    double *value;      // [blocks][9] by columns
    double *inverse;    // [rows][9] of the diagonal blocks, for Jacobi's preconditioner
} hk_block_sparse;

// Where number (i, j) of a block is among the values.
static inline int64_t hk_block_sparse_at(int64_t block, int i, int j)
{
    return 9 * block + 3 * j + i;
}

// The matrix of a pattern (lower triangle), all 0.
hk_status hk_block_sparse_create(const hk_pattern *pattern, int threads, hk_block_sparse **matrix);
void hk_block_sparse_free(hk_block_sparse *matrix);
// The symmetric matrix whose lower triangle is `lower`, as hk_assemble leaves it.
void hk_block_sparse_set(hk_block_sparse *m, const hk_pattern *pattern, const double *lower);
// Adds to block (row, column), which the pattern has; `block` is by rows.
void hk_block_sparse_add(hk_block_sparse *m, int row, int column, const double block[9]);

void hk_block_sparse_apply(const hk_block_sparse *m, const double *x, double *y);
void hk_block_sparse_apply_transposed(const hk_block_sparse *m, const double *x, double *y);
// The inverses of the diagonal blocks as they are; what is not positive definite is taken for its
// symmetric part with eigenvalues by their size, so that the preconditioner is positive definite.
void hk_block_sparse_invert_diagonal(hk_block_sparse *m);
void hk_block_sparse_precondition(const hk_block_sparse *m, const double *r, double *z);
// For krylov.h; symmetric: products with Aᵀ are not needed.
hk_operator hk_block_sparse_operator(hk_block_sparse *m, bool symmetric, bool preconditioned);

#endif
