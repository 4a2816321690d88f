// Supernodal Cholesky factorisation by fronts (Duff & Reid 1983), with several threads: every
// supernode is eliminated in a dense matrix of its own, its front, and hands what is left to its
// parent. Subtrees of the elimination tree are independent of each other. The order of all sums is
// that of the tree: the bits are the same for any number of threads.
#ifndef HK_FRONTS_H
#define HK_FRONTS_H

#include "linear/direct.h"

typedef struct hk_fronts hk_fronts;

// For the pattern that `direct` has analysed; both must outlive it.
hk_status hk_fronts_create(const hk_direct *direct, const hk_pattern *pattern, int threads,
                           hk_fronts **fronts);
void hk_fronts_free(hk_fronts *fronts);
// values: the lower triangle, as hk_direct_factor has it.
hk_status hk_fronts_factor(hk_fronts *fronts, const double *values, bool *positive);
// From now on factorisations ask between fronts, in the thread that called, whether to go on; NULL:
// nobody is asked. Where the answer was no, `positive` is false, and the second tells.
void hk_fronts_watch(hk_fronts *fronts, bool (*go_on)(void *context), void *context);
bool hk_fronts_stopped(const hk_fronts *fronts);
// The factor, as that of hk_direct_supernodes; valid until the next factorisation.
hk_supernodes hk_fronts_supernodes(const hk_fronts *fronts);

#endif
