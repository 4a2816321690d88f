// Sparse matrices by rows, for setting things up: products and transposes.
#ifndef HK_SPARSE_H
#define HK_SPARSE_H

#include "linear/pattern.h"

typedef struct hk_sparse {
    int rows, columns;
    int64_t *start;   // [rows + 1]
    int32_t *column;  // [start[rows]]
    double *value;
} hk_sparse;

void hk_sparse_free(hk_sparse *matrix);  // frees the arrays, not the struct

// The whole of a symmetric matrix, both triangles and the diagonal, from the numbers of a scalar
// pattern.
hk_status hk_sparse_from_lower(const hk_pattern *pattern, const double *lower, hk_sparse *matrix);
hk_status hk_sparse_transpose(const hk_sparse *matrix, hk_sparse *transposed);
// product = a b; its bits do not depend on the number of threads.
hk_status hk_sparse_multiply(const hk_sparse *a, const hk_sparse *b, int threads,
                             hk_sparse *product);

#endif
