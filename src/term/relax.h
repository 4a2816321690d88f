// Gauss–Seidel over the elements of all terms of a list (XPBD).
#ifndef HK_RELAX_H
#define HK_RELAX_H

#include "term/terms.h"

typedef struct hk_relax {
    hk_terms *terms;  // borrowed
    void **state;     // [terms->count]; NULL: the term has no elements
    void *x;  // scalar[vertex_count + 1][4]; fourth: inverse mass. The last vertex is nobody's
} hk_relax;

// Fails where a term that is wanted has no constraints, naming it; `method` is who asks.
hk_status hk_relax_create(hk_terms *terms, const char *method, hk_relax **relax);
void hk_relax_free(hk_relax *relax);
// Before the sweeps of a time step: multipliers begin at 0. `several`: there is more than one
// sweep.
void hk_relax_begin(hk_relax *relax, bool several);
// One sweep over all constraints of a time step h, on relax->x.
void hk_relax_sweep(hk_relax *relax, double h, bool several);
int hk_relax_colours(const hk_relax *relax);

#endif
