// One V-cycle over a hierarchy on the CPU: a symmetric positive definite approximation of A⁻¹ that
// costs a few products with A, for three right-hand sides at once, in single precision. The bits
// do not depend on the number of threads.
#ifndef HK_MULTIGRID_H
#define HK_MULTIGRID_H

#include "linear/hierarchy.h"

typedef struct hk_multigrid hk_multigrid;

hk_status hk_multigrid_create(const hk_pattern *pattern, const double *lower, int threads,
                              hk_multigrid **multigrid);
// From a hierarchy, whose matrices it takes over: nothing of it is of use any more.
hk_status hk_multigrid_take(hk_hierarchy *hierarchy, int threads, hk_multigrid **multigrid);
void hk_multigrid_free(hk_multigrid *multigrid);
// Row r of right-hand side and solution is vertex[r] of double[…][4], its first three numbers; `to`
// may be `from`.
void hk_multigrid_apply(hk_multigrid *multigrid, const int32_t *vertex, const double *from,
                        double *to);
// "5 levels, 1.2 times the entries".
void hk_multigrid_describe(const hk_multigrid *multigrid, char *text, size_t size);

#endif
