// Direct solution of symmetric positive definite systems: the pattern is analysed once, numbers
// are factored again and again.
#ifndef HK_DIRECT_H
#define HK_DIRECT_H

#include "linear/pattern.h"

typedef struct hk_direct hk_direct;

// Whether this build has one.
bool hk_direct_available(void);
// "CHOLMOD 3.0.14"; "" in a build without direct solvers.
const char *hk_direct_name(void);

// The pattern must already be in elimination order (hk_order_blocks) and outlive the solver.
hk_status hk_direct_create(const hk_pattern *pattern, hk_direct **solver);
void hk_direct_free(hk_direct *solver);

// values: the lower triangle, hk_pattern_size numbers. `positive` says whether the matrix is
// positive definite; if not, there is no factor to solve with.
hk_status hk_direct_factor(hk_direct *solver, const double *values, bool *positive);
// b and x are [3 count], or [3][count] for a scalar pattern; x may be b.
hk_status hk_direct_solve(hk_direct *solver, const double *b, double *x);
// The factor L as dense supernodes: columns [first[s], first[s + 1]) share the rows
// row[row_start[s] .. row_start[s + 1]), which begin with those columns themselves; the numbers
// are value[value_start[s] + r + c × rows]. Valid until the next factorisation.
typedef struct hk_supernodes {
    int count;
    const int *first, *row_start, *value_start, *row;
    const double *value;
} hk_supernodes;
hk_status hk_direct_supernodes(const hk_direct *solver, hk_supernodes *supernodes);
// The same before there is a factor, without numbers.
hk_status hk_direct_symbolic(const hk_direct *solver, hk_supernodes *supernodes);
// Numbers stored in the factor, and those of them that the elimination can make nonzero.
int64_t hk_direct_factor_size(const hk_direct *solver);
int64_t hk_direct_factor_nonzeros(const hk_direct *solver);

#endif
