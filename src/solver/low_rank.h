// Solves with A + Σ s f fᵀ where A has a factor and the sum, of the elements of a world (grabs),
// few parts that change often, by the formula of Woodbury:
//
//   (A + F S Fᵀ)⁻¹ b = y − Z (S⁻¹ + Fᵀ Z)⁻¹ Fᵀ y,    y = A⁻¹ b,  Z = A⁻¹ F
//
// A new part costs a solve, and no factorisation.
#ifndef HK_LOW_RANK_H
#define HK_LOW_RANK_H

#include "solver/problem.h"

enum { HK_PART_VERTICES = 8 };
typedef struct hk_rank_one {  // scale × factor factorᵀ
    int count;
    int32_t row[HK_PART_VERTICES];
    double factor[HK_PART_VERTICES];
    double scale;
} hk_rank_one;

typedef struct hk_low_rank {
    int count;
    size_t room;
    hk_rank_one *parts;  // [count]
    double *solved;      // [count][size] Z
    double *small;       // [count][count] Cholesky's factor of S⁻¹ + Fᵀ Z
    double *coupling;    // [count]
    int64_t size;        // rows
    int64_t version;     // hk_live.shape_version of the parts
    bool known;
} hk_low_rank;

// to = A⁻¹ from, double[size][4]; the fourth numbers are of no account.
typedef hk_status hk_low_rank_solve_fn(void *context, const double *from, double *to);

// Whether the parts are those of the problem's live elements; `forget` after A changed.
bool hk_low_rank_is_current(const hk_low_rank *r, const hk_problem *p);
void hk_low_rank_forget(hk_low_rank *r);
// row[vertex] (Morton order) in vectors of `size` rows, -1: none.
hk_status hk_low_rank_update(hk_low_rank *r, const hk_problem *p, const int32_t *row, int64_t size,
                             hk_low_rank_solve_fn *solve, void *context);
void hk_low_rank_release(hk_low_rank *r);
// From A⁻¹ b to the solution, [size][4].
void hk_low_rank_correct(hk_low_rank *r, double *x);
void hk_low_rank_correct_single(hk_low_rank *r, float *x);

#endif
