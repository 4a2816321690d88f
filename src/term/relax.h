// Gauss–Seidel over elements: the tets of a term once more, coloured so that those of one colour
// share no vertex. A colour is worked off in wide lanes and by several threads; as nothing is
// shared, the bits are the same for any number of threads. Links (springs, bending, attachments)
// follow one by one.
#ifndef HK_RELAX_H
#define HK_RELAX_H

#include "term/links.h"
#include "term/tet.h"

typedef struct hk_relax {
    const hk_tet_term *term;  // borrowed: its lanes and threads
    hk_links *links;          // borrowed, in the same precision
    int batch_count;
    hk_tet_batch *batches;    // of the term, padded at the end of every colour
    int *colour_count;        // [batch_count]
    int **colour_start;       // [batch_count][colour_count + 1] blocks
    void **multipliers;       // [batch_count] scalar[blocks][9][lanes]
    double *link_multiplier;  // [link_count][3]
    void *x;  // scalar[vertex_count + 1][4]; fourth: inverse mass. The last vertex is
              // that of padding
} hk_relax;

// `recovery`: Pa, [batch_count], w of the energy w‖F − R‖² that stands in where a law is undefined.
hk_status hk_relax_create(const hk_tet_term *term, hk_links *links, const double *recovery,
                          hk_relax **relax);
void hk_relax_free(hk_relax *relax);
// Before the sweeps of a time step: multipliers begin at 0. A tet's is only kept for the next
// sweep: `several` says whether there is one.
void hk_relax_begin(hk_relax *relax, bool several);
// One sweep over all constraints of a time step h, on relax->x.
void hk_relax_sweep(hk_relax *relax, double h, bool several);

#endif
