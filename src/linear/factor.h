// Forward and backward substitution with a factor L Lᵀ in single precision, for x, y and z at once,
// made for many solves with one factor (Split Algorithm 2; projective dynamics; quasi-Newton).
//
// The factor is converted once from the supernodes of a direct solver into what a solve streams:
// each supernode is one dense trapezoid (its diagonal block inverted, and what is below it times
// that inverse) in blocks of 16 rows by 8 columns. Both passes read every number exactly once, an
// index once for all columns. Vectors have four numbers an unknown, so that 16 scattered rows are
// 16 loads, turned into lanes in registers.
//
// Subtrees of the elimination tree are independent: they are solved in parallel and meet in the
// supernodes at the top. Which subtrees these are, and the order in which their contributions are
// added, does not depend on the number of threads: the bits are always the same.
#ifndef HK_FACTOR_H
#define HK_FACTOR_H

#include "linear/direct.h"

typedef struct hk_factor hk_factor;

// Analyses and converts the factor that `direct` holds now.
hk_status hk_factor_create(const hk_direct *direct, int threads, hk_factor **triangle);
void hk_factor_free(hk_factor *triangle);
// Creates *triangle, or fills it if it is there.
hk_status hk_factor_update(const hk_direct *direct, int threads, hk_factor **triangle);
// The same with a factor that another has made.
hk_status hk_factor_update_from(const hk_supernodes *supernodes, int threads, hk_factor **triangle);
// Takes the numbers of a new factorisation of the same pattern.
hk_status hk_factor_fill(hk_factor *triangle, const hk_direct *direct);

// The vector to solve in place: float[count][4] in elimination order, the fourth number is not
// used.
float *hk_factor_vector(hk_factor *triangle);
void hk_factor_solve(hk_factor *triangle);
// The same for one right-hand side: the vector is float[count], at the same place.
void hk_factor_solve_one(hk_factor *triangle);
// The same for a vector of the caller's, which has hk_factor_extra more unknowns at its end as
// room to work in; and by the calling thread alone, one vector each for threads of one team of at
// most as many as the triangle has.
int64_t hk_factor_extra(const hk_factor *triangle);
void hk_factor_solve_in(const hk_factor *triangle, float *x);
void hk_factor_solve_alone(const hk_factor *triangle, float *x);
// to = A⁻¹ from, for vectors double[][4] in which unknown k stands at place[k]; to may be from.
void hk_factor_apply(hk_factor *triangle, const int32_t *place, const double *from, double *to);
// x = A⁻¹ b, double[count][4] in elimination order, for the matrix that was factored: a solve in
// single precision, and a second one for what b − A x, in double, still is (one step of iterative
// refinement). x must not be b; the fourth numbers are not used.
void hk_factor_refine(hk_factor *triangle, const hk_pattern *pattern, const double *values,
                      const double *b, double *x);
// r −= A x, in the same layout.
void hk_factor_subtract(const hk_factor *triangle, const hk_pattern *pattern, const double *values,
                        const double *x, double *r);
// Uses the widest registers that the machine has, of at most so many lanes (4, 8, 16), and says
// how many: for tests and measurements, a new triangle has the widest already.
int hk_factor_use_lanes(hk_factor *triangle, int most_lanes);
// Bytes that one pass streams.
int64_t hk_factor_bytes(const hk_factor *triangle);

#endif
