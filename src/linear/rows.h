// Symmetric matrices with one number for each pair of unknowns, by rows, and iterations over them
// that serve three right-hand sides at once: vectors are double[count][3]. All give the same bits
// for any number of threads.
#ifndef HK_ROWS_H
#define HK_ROWS_H

#include "linear/colouring.h"
#include "linear/pattern.h"

typedef struct hk_rows {
    int count;
    int threads;
    int64_t *start;        // [count + 1] entries of a row, without the diagonal
    int32_t *column;       // [entries]
    double *value;         // [entries]
    double *diagonal;      // [count]
    int64_t *source;       // [entries] where a value stands in the lower triangle
    hk_colouring colours;  // rows of one colour do not touch each other
    double *partial;       // sums over runs of rows
    double *workspace[4];  // [count][3] workspace of the conjugate gradients
} hk_rows;

// The pattern is a scalar one.
hk_status hk_rows_create(const hk_pattern *pattern, int threads, hk_rows **rows);
void hk_rows_free(hk_rows *rows);
// Takes the numbers of a lower triangle (hk_pattern_size of the pattern).
void hk_rows_set(hk_rows *rows, const hk_pattern *pattern, const double *lower);

// y = A x
void hk_rows_multiply(const hk_rows *rows, const double *x, double *y);
// x ← one symmetric Gauss–Seidel sweep of A x = b, colour by colour and back.
void hk_rows_sweep(const hk_rows *rows, const double *b, double *x);
// x ← `iterations` conjugate gradients of A x = b from x = 0, preconditioned by the diagonal.
void hk_rows_cg(hk_rows *rows, const double *b, int iterations, double *x);

#endif
